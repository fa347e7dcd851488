"""What a reader finds in a decision prompt, from the rendered text alone: `read_cues`.

    cues = read_cues(prompt.user)               # as a simulated respondent reads it
    cues == staged(domain, stimulus, "L1", ORDERS[0])   # as the design meant it

Nobody tells a respondent its condition: it knows the project's sentences and looks for them.
"""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NamedTuple

from cirrus.ask.bulletins import FOLDERS, PROMPTS, TELLS, Domain, Source
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
    entry: str           # how the counterparty's entry was made: desk, posted, rule, or ""
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
        return self.entry in ("", "desk")

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
    return Cues(condition.S, condition.C, condition.H,
                stimulus.entry[1] if stimulus.entry else "", words,
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
        for name, org, main in _forms().get(tuple(shown), ()):
            if org not in text:
                continue
            levels, words, wording = read_toggles(text, _domains()[name])
            return Cues(levels.get("S", ""), levels.get("C", "absent"), levels.get("H", "omit"),
                        _entry(text, name), words, wording, name, _bulletin(text, name),
                        cooperative, other, first, main, _declared(text),
                        _peer(text, cooperative, other))
    raise ValueError("the options of this prompt belong to no known domain")


class Setting(NamedTuple):
    """What a reader finds in a notice that asks for no decision. `joint`: the words of its fields
    that name the cooperative window or schedule."""

    mirrors: bool
    joint: str


def read_setting(text: str) -> Setting:
    """The setting of a probe; ValueError where no entry sentence stands in it."""
    for name, domain in _domains().items():
        if entry := _entry(text, name):
            named = (variant.fields.get("pooled", "the regular window")
                     for variant in domain.variants if all(
                         variant.fields[field] in text for field in ("org", "peer", "opening")))
            return Setting(entry == "desk", next(named, "the regular window"))
    raise ValueError("this notice does not say how the counterparty's entry was made")


def read_toggles(text: str, domain: Domain) -> tuple[dict[str, str], str, int]:
    """({factor: level} of the cue sentences in `text`, whose words they are, which wording)."""
    found = {words: _levels(text, toggles) for words, toggles in domain.toggles.items()}
    words = max(found, key=lambda name: len(found[name]))
    return ({factor: level for factor, (level, _) in found[words].items()}, words,
            found[words].get("S", ("", 0))[1])


def _levels(text: str, toggles: dict) -> dict[str, tuple[str, int]]:
    """{factor: (level, wording)} of the sentences that stand in `text`."""
    return {factor: (level, at) for factor, levels in toggles.items()
            for level, wordings in levels.items()
            for at, words in enumerate(wordings) if words and words in text}


def leaning(text: str) -> int:
    """1, 0 or −1, by the sentence that stands in `text`; 0 where none does."""
    return next((weight for sentence, weight in LEANINGS.items() if sentence in text), 0)


def domain_of(system: str) -> Domain:
    """The domain whose strategy system prompt this is; the first where it is nobody's."""
    known = _domains()
    return next((domain for domain in known.values() if any(
        system == phases["strategy"] for phases in domain.systems.values())), known["cvd"])


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
def _forms() -> dict[tuple[str, str], list[tuple[str, str, bool]]]:
    """{(line of the cooperative act, of the other): [(domain, organisation that is addressed,
    whether of a main variant)]}: what one variant pools under, another may keep back under."""
    forms: dict[tuple[str, str], list[tuple[str, str, bool]]] = {}
    for name, domain in _domains().items():
        for variant in domain.variants:
            for lines in zip(*(act.lines for act in domain.acts), strict=True):
                cooperative, other = (line.format_map(variant.fields) for line in lines)
                forms.setdefault((cooperative, other), []).append(
                    (name, variant.fields.get("org", ""), not variant.holdout))
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
def _entries(name: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(version, its pieces between the fields) of every entry sentence."""
    return tuple((version, tuple(_pieces([text]))) for versions in _domains()[name].entries.values()
                 for version, text in versions.items())


def _entry(text: str, name: str) -> str:
    """Which version of an entry sentence stands in `text`, "" where none does."""
    return next((version for version, pieces in _entries(name)
                 if all(piece in text for piece in pieces)), "")


@cache
def _incidents(name: str) -> tuple[tuple[str, str], ...]:
    """(id of a bulletin, its longest piece that is the same in all variants)."""
    return tuple((bulletin.id, max(_pieces([bulletin.text]), key=len).strip())
                 for bulletin in _domains()[name].bulletins)


def _bulletin(text: str, name: str) -> str:
    return next((bulletin for bulletin, piece in _incidents(name) if piece in text), "")


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
