"""What a reader finds in a decision prompt, from the rendered text alone: `read_cues`.

    cues = read_cues(prompt.user)               # as a simulated respondent reads it
    cues == staged(domain, stimulus, "L1", ORDERS[0])   # as the design meant it

Nobody tells a respondent its condition: it knows the project's sentences and looks for them.
"""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NamedTuple

from cirrus.ask.bulletins import FOLDERS, NINE, PROMPTS, TELLS, Domain, Source, Variant
from cirrus.ask.prompts import ORDERS, Stimulus, labels, load_domain

CONTRACT = re.compile(
    r"Decision: \[([^|\]]+)\|([^\]]+)\](?:\s+Rationale \(max 2 lines\):)?\s*\Z")
NEGATION = re.compile(r"\b(?:not|never|no|nothing)\b")

# sentence of a policy → how far it moves a reader (in units of leaning)
LEANINGS = {
    "Default: stay with the common arrangement unless facts on file force another course.": 1,
    "Our starting point is the agreed date; leaving it needs written grounds.": 1,
    "Unless shown otherwise we keep step with the other members.": 1,
    "Moving together comes first, and exceptions go to a named person.": 1,
    "Default: weigh each notice on its own facts and record why.": 0,
    "No fixed preference: the incident at hand decides.": 0,
    "Both courses stay open until today's figures are in.": 0,
    "We take every notice fresh, whatever was filed last time.": 0,
    "Default: look first after those who depend on our own desk.": -1,
    "Our own people come before any calendar agreed with outsiders.": -1,
    "Where waiting exposes those we serve, we act at once.": -1,
    "Speed for our side outweighs the convenience of the group.": -1,
}


class Cues(NamedTuple):
    """What stands in a prompt: levels of the cue sentences, their wording, labels and history."""

    S: str               # high or low, "" where nothing is said
    C: str               # absent, or what the cue sentence is: present, reversed, placebo
    H: str               # high, low, or omit
    entry: str           # how the counterpart's entry is made: now, earlier, known, or ""
    tells: str           # whose words the cues are in: standard or ablated
    wording: int         # which of them, the specification's is 0
    domain: str
    bulletin: str        # its id
    cooperative: str     # label of the cooperative act
    other: str
    first: str           # the label shown first
    main: bool = True    # whether the names in the text are of the main pool of variants
    policy: str = ""     # the declared policy
    peer: str = ""       # what the counterparty filed last: "C", "D", "" where nothing is read

    @property
    def symmetric(self) -> int:
        return int(self.S == "high")

    @property
    def coupled(self) -> int:
        return int(self.C == "present")

    @property
    def joint_only(self) -> int:
        """Whether safe-harbour hangs on acting together."""
        return int(self.H == "high")

    @property
    def mirrors(self) -> bool:
        """Whether the counterparty's entry may answer to what moves the reader."""
        return self.entry in ("", "now", "desk")

    @property
    def leaning(self) -> int:
        return leaning(self.policy)

    @property
    def words(self) -> int:
        """How many words the sentences on symmetry and coupling have."""
        return _measures(self.domain, self.tells, self.S, self.C, self.wording)[0]

    @property
    def negated(self) -> bool:
        """Whether one of those sentences says no."""
        return _measures(self.domain, self.tells, self.S, self.C, self.wording)[1]


def staged(domain: Domain, stimulus: Stimulus, scheme: str, order: str) -> Cues:
    """What a reader of this prompt will find, without rendering it."""
    condition, bulletin = stimulus.condition, stimulus.bulletin
    cooperative, other = labels(domain, scheme)
    words = TELLS[stimulus.tells][0]
    wordings = domain.toggles[words]["S"].get(condition.S, ("",))
    return Cues(condition.S, condition.C, condition.H, stimulus.entry, words,
                stimulus.wording % len(wordings), domain.name, bulletin.id, cooperative, other,
                cooperative if order == ORDERS[0] else other, not stimulus.variant.holdout)


# Agents that meet many others read few different forms.
@lru_cache(maxsize=512)
def read_cues(text: str) -> Cues:
    """The cues of a decision prompt; ValueError where its contract can't be found."""
    contract = CONTRACT.match(text, max(0, text.rfind("Decision: [")))
    if not contract:
        raise ValueError("this prompt does not end with the two lines of the contract")
    first, second = contract.groups()
    lines = [text.rpartition(f"\n- {label}: ")[2].partition("\n")[0] for label in (first, second)]
    for (cooperative, other), shown in (((first, second), lines), ((second, first), lines[::-1])):
        for name, variant in _forms().get(tuple(shown), ()):
            if variant.fields.get("org", "") not in text:
                continue
            levels, words, wording = _levels(text, name, variant.id)
            return Cues(levels.get("S", ""), levels.get("C", "absent"), levels.get("H", "omit"),
                        levels.get("entry", ""), words, wording, name,
                        next((known for known, piece in _incidents(name) if piece in text), ""),
                        cooperative, other, first, not variant.holdout, _declared(text),
                        _peer(text, cooperative, other))
    raise ValueError("the options of this prompt belong to no known domain")


class Setting(NamedTuple):
    """What a reader finds in a notice that asks for no decision: how the counterpart's entry is
    made, whether symmetry is said, and a line of the form with the cooperative act."""

    entry: str
    symmetric: bool
    joint: str


def read_setting(text: str) -> Setting:
    """The setting of a probe; ValueError where no status line stands in it."""
    name, levels = read_levels(text)
    if "entry" not in levels:
        raise ValueError("this notice does not say how the counterpart's entry is made")
    return Setting(levels["entry"], levels.get("S") == "high", _domains()[name].acts[0].lines[0])


def read_levels(text: str) -> tuple[str, dict[str, str]]:
    """(domain, {S, C, H, entry: level}) of the sentences that stand in a notice."""
    return next(((name, _levels(text, name, variant.id)[0]) for name, domain in _domains().items()
                 for variant in domain.variants
                 if all(variant.fields.get(name, "") in text for name in ("org", "peer"))),
                ("", {}))


def _levels(text: str, name: str, variant: str) -> tuple[dict[str, str], str, int]:
    """({factor: level} of the sentences in `text`, whose words they are, which wording)."""
    found = {words: {factor: (level, at) for factor, level, at, sentence in sentences
                     if sentence in text} for words, sentences in _sentences(name, variant).items()}
    words = max(found, key=lambda name: len(found[name]))
    return ({factor: level for factor, (level, _) in found[words].items()}, words,
            found[words].get("S", ("", 0))[1])


def leaning(text: str) -> int:
    """1, 0 or −1, by the sentence that stands in `text`; 0 where none does."""
    return next((weight for sentence, weight in LEANINGS.items() if sentence in text), 0)


# --- what the prompt files hold, in the form in which it is looked for -------------------------

_source: Source = PROMPTS


def use(source: Source) -> None:
    """Look for what the prompts of `source` hold, in place of the project's own."""
    global _source
    if source != _source:
        _source = source
        for known in globals().values():
            if hasattr(known, "cache_clear"):
                known.cache_clear()


@cache
def _domains() -> dict[str, Domain]:
    return {name: load_domain(name, _source) for name in FOLDERS}


@cache
def _forms() -> dict[tuple[str, str], list[tuple[str, Variant]]]:
    """{(line of the cooperative act, of the other): [(domain, variant)]}: what one variant pools
    under, another may keep back under."""
    forms: dict[tuple[str, str], list[tuple[str, Variant]]] = {}
    for name, domain in _domains().items():
        for variant in domain.variants:
            for lines in zip(*(act.lines for act in domain.acts), strict=True):
                cooperative, other = (line.format_map(variant.fields) for line in lines)
                forms.setdefault((cooperative, other), []).append((name, variant))
    return forms


@cache
def _rows() -> tuple[tuple[str, re.Pattern], ...]:
    """How an earlier entry of the pair stands in a prompt, by domain: its first words, a row."""
    rows = [domain.templates["row"] for domain in _domains().values()]
    return tuple((row.partition("{")[0], re.compile("^" + re.escape(row).replace(
        r"\{own\}", "(.+)").replace(r"\{peer\}", "(.+)") + "$", re.M)) for row in rows)


def _peer(text: str, cooperative: str, other: str) -> str:
    """The counterparty's last entry, by the labels of this form."""
    entries = [row for opening, pattern in _rows() if opening in text
               for row in pattern.findall(text)]
    return {cooperative: "C", other: "D"}.get(entries[-1][1], "") if entries else ""


def _pieces(texts: Iterable[str]) -> list[str]:
    return [piece for text in texts for piece in re.split(r"\{\w+\}", text)]


@cache
def _sentences(name: str, variant: str) -> dict[str, list[tuple[str, str, int, str]]]:
    """{words: (factor, level, wording, sentence)} of all that a variant's prompts may say."""
    domain = _domains()[name]
    fields = next(v.fields for v in domain.variants if v.id == variant)
    made = {level: tuple(frame[level] for frame in domain.entries.values()) for level in NINE}
    factors = {words: toggles | {"entry": domain.statuses[words] | made}
            for words, toggles in domain.toggles.items()}
    return {words: [(factor, level, at, text.format_map(fields))
                    for factor, levels in listed.items() for level, texts in levels.items()
                    for at, text in enumerate(texts) if text] for words, listed in factors.items()}


@cache
def _incidents(name: str) -> tuple[tuple[str, str], ...]:
    """(id of a bulletin, its longest piece that is the same in all variants)."""
    return tuple((bulletin.id, max(_pieces([bulletin.text]), key=len).strip())
                 for bulletin in _domains()[name].bulletins)


def _declared(text: str) -> str:
    """The declared policy: what stands before the bulletin, "" where nothing does."""
    opening = next((words for domain in _domains().values() if text.startswith(
        words := domain.templates["encounter"][0].partition("{")[0])), "")
    return text[len(opening):].partition("\n\n")[0] if opening else ""


@cache
def _measures(name: str, words: str, S: str, C: str, wording: int) -> tuple[int, bool]:
    toggles = _domains()[name].toggles[words]
    sentences = [wordings[wording % len(wordings)] for factor, level in (("S", S), ("C", C))
                 if (wordings := toggles[factor].get(level, ()))]
    return (sum(len(sentence.split()) for sentence in sentences),
            any(NEGATION.search(sentence.lower()) for sentence in sentences))
