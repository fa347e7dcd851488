"""Read the experimental condition back from a prompt's text.

    read_cues(prompt.user)
    read_notice(prompt.user)

`read_cues` reads a decision prompt. `read_notice` reads any prompt that has a notice,
but not the labels of its answer form. Both recognise the project's own sentences.
Simulated respondents learn their condition in this way alone.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple

from cirrus.ask.bulletins import (
    CLASSES,
    OUTCOMES,
    PROMPTS,
    WORDED,
    Bulletin,
    Domain,
    Source,
    Variant,
    domain_names,
    load_domain,
)
from cirrus.ask.design import filled_in
from cirrus.ask.prompts import fields_of

CONTRACT = re.compile(
    r"Decision: \[([^|\]]+)\|([^\]]+)\](?:\s+Rationale \(max 2 lines\):)?\s*\Z"
)

# {leaning: the sentences of simulated policies that express it}. 1 makes the author of a policy
# more likely to cooperate, -1 less likely, 0 neither.
LEANINGS = {
    1: (
        "Default: stay with the common arrangement unless facts on file force another course.",
        "Our starting point is the agreed date; leaving it needs written grounds.",
        "Unless shown otherwise we keep step with the other members.",
        "Moving together comes first, and exceptions go to a named person.",
    ),
    0: (
        "Default: weigh each notice on its own facts and record why.",
        "No fixed preference: the incident at hand decides.",
        "Both courses stay open until today's figures are in.",
        "We take every notice fresh, whatever was filed last time.",
    ),
    -1: (
        "Default: look first after those who depend on our own desk.",
        "Our own people come before any calendar agreed with outsiders.",
        "Where waiting exposes those we serve, we act at once.",
        "Speed for our side outweighs the convenience of the group.",
    ),
}


class Cues(NamedTuple):
    """What a prompt says; "" where it says nothing."""

    S: str = ""  # symmetry: high or low
    C: str = "absent"  # coupling cue: absent or present
    H: str = "omit"  # compliance pressure: high, low or omit
    # What is said of the counterpart's entry: one of ENTRIES, TWIN or CLASSES.
    entry: str = ""
    record: str = ""  # "late": nearly all earlier entries of the counterpart were late
    # How many of 20 earlier pairs were alike: in the class of those who decided the counterpart's
    # entry, and in the other class.
    alike: tuple = ()
    # Which class the text names first: that of the counterpart's entry ("applies") or "other".
    named_first: str = ""
    tells: str = "standard"  # the cues' set of words: standard or ablated
    wording: int = 0  # number of the cues' wording; 0 is the specification's
    lever: float = 0.0  # how much R is raised, in units of T − R
    outcomes: tuple[int, ...] = ()  # the costs T, R, P, S as shown
    domain: str = ""
    bulletin: str = ""  # the bulletin's id
    main: bool = True  # whether the names in the text are of the main pool of variants
    cooperative: str = ""  # label of the cooperative act
    other: str = ""
    first: str = ""  # the label shown first
    policy: str = ""  # the declared policy
    peer: str = ""  # the counterparty's last act: "C" or "D"

    @property
    def symmetric(self) -> int:
        """Return 1 where the prompt says that the counterpart is much like the reader,
        else 0."""
        return int(self.S == "high")

    @property
    def coupled(self) -> int:
        """Return 1 where the coupling cue is present, else 0."""
        return int(self.C == "present")

    @property
    def same_notice(self) -> bool:
        """Whether the counterpart decides, or decided, on the notice that the reader has."""
        return self.entry not in ("unread", "same_unread")

    @property
    def leaning(self) -> int:
        """Return the leaning of the declared policy: 1, 0 or −1, as in LEANINGS, and 0
        where it has none of those sentences."""
        for weight, sentences in LEANINGS.items():
            if any(sentence in self.policy for sentence in sentences):
                return weight
        return 0


def read_cues(text: str) -> Cues:
    """Return the cues of a decision prompt. Raise ValueError where the text does not end
    with an answer form."""
    return _reader.decision(text)


def read_notice(text: str) -> Cues:
    """Return the cues of a prompt that asks for no decision. Raise ValueError where the
    names in the text are of no known variant."""
    return _notice(text, place_of(text))


def place_of(text: str) -> "Place":
    """Return the `Place` of a text: its bulletin, and the names in it. Raise ValueError
    where the names are of no known variant."""
    return _reader.place(text)


def use(source: Source) -> None:
    """From now on, read prompts that are made from `source` instead of the project's
    own texts."""
    global _reader
    if source != _reader.source:
        _reader = Reader(source)


class Place(NamedTuple):
    """The bulletin that a text shows, and what fills its placeholders there; `main` says whether
    the names are of the main pool of variants, not of the held-out one."""

    domain: Domain
    bulletin: Bulletin
    fields: Mapping[str, str]
    main: bool


class Reader:
    """Reads prompts that are made from `source`. It keeps the cues of the last 4,096 decision
    prompts, twice as many as a mechanism study has."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.decision: Callable[[str], Cues] = lru_cache(4096)(self._decision)

    @cached_property
    def domains(self) -> list[Domain]:
        """Return all domains of the source."""
        return [load_domain(name, self.source) for name in domain_names(self.source)]

    def place(self, text: str) -> Place:
        """Return the `Place` of a text from any domain."""
        for domain in self.domains:
            place = _place_in(text, domain)
            if place is not None:
                return place
        raise ValueError("the names in this notice belong to no known variant")

    def _decision(self, text: str) -> Cues:
        """Return the cues of a decision prompt, as `read_cues` returns them."""
        contract = CONTRACT.search(text)
        if not contract:
            raise ValueError("this prompt does not end with the contract's two lines")
        place = self.place(text)
        labels = _labels(text, place, contract.groups())
        return _notice(text, place)._replace(
            cooperative=labels[0],
            other=labels[1],
            first=contract[1],
            policy=_policy(text, place.domain),
            peer=_peer(text, place.domain, *labels),
        )


_reader = Reader(PROMPTS)


# --- which bulletin a text is ---


def _place_in(text: str, domain: Domain) -> Place | None:
    """Return the `Place` of a text, or None where it shows no bulletin of this domain.

    The names of the two sides may be of one variant, and the facts that both share of another.
    """
    own = _variant_in(text, domain, "org", "peer")
    setting = _variant_in(text, domain, "office", "today")
    if own is None or setting is None:
        return None
    variant = filled_in(own, setting)
    for bulletin in domain.bulletins:
        if _constant_part(bulletin.text) in text:
            fields = fields_of(bulletin.situation, variant)
            return Place(domain, bulletin, fields, not own.holdout)
    return None


@cache
def _constant_part(template: str) -> str:
    """The longest part of a bulletin's text without a placeholder: the same in all variants."""
    parts = re.split(r"\{\w+\}", template)
    return max(parts, key=len).strip()


def _variant_in(text: str, domain: Domain, *marks: str) -> Variant | None:
    """Return the first variant whose values of all the fields `marks` are in the text,
    or None."""
    for variant in domain.variants:
        if all(variant.fields[mark] in text for mark in marks):
            return variant
    return None


# --- what stands in it ---


def _labels(text: str, place: Place, shown: Iterable[str]) -> tuple[str, str]:
    """Return (label of the cooperative act, label of the other act). The text's answer
    form says which act each of the `shown` labels means."""
    meant = {}
    for label in shown:
        meaning = text.rpartition(f"\n- {label}: ")[2].partition("\n")[0]
        meant[meaning] = label
    for lines in place.bulletin.situation.lines:
        late, early = (line.format_map(place.fields) for line in lines)
        if late in meant and early in meant:
            return meant[late], meant[early]
    raise ValueError("the options of this prompt belong to no known domain")


def _notice(text: str, place: Place) -> Cues:
    """Return the cues in a text's notice; `place` is what the text shows. Labels, policy
    and history are not read."""
    numbers, usual = _outcomes(text, place), place.bulletin.outcomes
    cues = Cues(
        **_levels(text, place),
        lever=(numbers["R"] - usual["R"]) / (usual["T"] - usual["R"]),
        outcomes=tuple(numbers[name] for name in OUTCOMES),
        domain=place.domain.name,
        bulletin=place.bulletin.id,
        main=place.main,
    )
    if cues.entry not in CLASSES:
        return cues
    alike, named_first = _record(text, place, cues.entry)
    return cues._replace(record="", lever=0.0, alike=alike, named_first=named_first)


def _levels(text: str, place: Place) -> dict[str, Any]:
    """Return {factor: its level} by the sentences in the text, with two more keys:
    "tells", the set of words that they are from, and "wording", their number in it."""
    found: dict[str, Any] = {}
    for words in WORDED:
        for factor, levels in place.domain.toggles[words].items():
            # A text states one level of a factor, so a factor that was found is skipped.
            said = None if factor in found else _said(text, levels, place.fields)
            if said is None:
                continue
            found[factor], wording = said
            if factor in ("S", "entry"):  # H has one wording only
                found |= {"tells": words, "wording": wording}
    return found


def _said(
    text: str, levels: Mapping[str, list[str]], fields: Mapping[str, str]
) -> tuple[str, int] | None:
    """Return (level, number of its wording) of the first of these sentences that is in the text,
    or None where none is."""
    for level, wordings in levels.items():
        for number, wording in enumerate(wordings):
            if wording and wording.format_map(fields) in text:
                return level, number
    return None


NUMBERS = dict.fromkeys((*OUTCOMES, "alike", "unlike"), "NUMBER")


def _numbers(template: str, place: Place, text: str) -> re.Match[str] | None:
    """Return where a template that has numbers stands in the text, as a match whose
    groups are the numbers, or None where it does not."""
    filled = template.format_map({**place.fields, **NUMBERS})
    return re.search(re.escape(filled).replace("NUMBER", r"(\d+)"), text)


def _outcomes(text: str, place: Place) -> dict[str, int]:
    """Return the costs {T, R, P, S} that the text shows."""
    numbers = {}
    for line in place.bulletin.text.splitlines():
        mark = re.search(r"\{([TRPS])\}", line)
        found = _numbers(line, place, text) if mark else None
        if mark and found:
            numbers[mark[1]] = int(found[1])
    return numbers


def _record(text: str, place: Place, entry: str) -> tuple[tuple[int, int], str]:
    """Return ((a, b), first), read from a mirror study's text. `entry` is the class that
    decided the counterpart's entry. Of 20 earlier pairs a were alike in this class and
    b in the other; `first` is the class named first: "applies" for `entry`, or "other"."""
    [other] = set(CLASSES) - {entry}
    for wording in place.domain.records:
        applies, rest = (_numbers(wording[n], place, text) for n in (entry, other))
        if applies and rest:
            first = "applies" if applies.start() < rest.start() else "other"
            return (int(applies[1]), int(rest[1])), first
    raise ValueError("this prompt has a status line of a mirror study and no record")


def _policy(text: str, domain: Domain) -> str:
    """Return the declared policy, which stands before the bulletin, or "" where the text
    has none."""
    opening = domain.templates["encounter"][0].partition("{")[0]
    if not text.startswith(opening):
        return ""
    return text.removeprefix(opening).partition("\n\n")[0]


def _peer(text: str, domain: Domain, cooperative: str, other: str) -> str:
    """Return "C" or "D" for the counterparty's last entry in the text, "" where the text
    shows none or one that could not be read."""
    last = ""
    row = re.escape(domain.templates["row"])
    pattern = row.replace(r"\{own\}", ".+").replace(r"\{peer\}", "(.+)")
    for peer in re.findall(f"^{pattern}$", text, re.M):
        last = peer
    return {cooperative: "C", other: "D"}.get(last, "")
