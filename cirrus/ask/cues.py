"""What a reader finds in a prompt, from the rendered text alone.

    read_cues(prompt.user)       # of a decision prompt
    read_notice(prompt.user)     # of any prompt with a notice in it: without labels

Nobody tells a respondent its condition: it knows the project's sentences and looks for them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
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

# how far a policy moves its reader (in units of leaning) → sentences that do
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
    """What stands in a prompt; where nothing is said, ""."""

    S: str = ""  # high or low
    C: str = "absent"  # or present
    H: str = "omit"  # high or low
    entry: str = (
        ""  # what is said of the counterpart's: due, read, unread, known; who makes it
    )
    record: str = ""  # "late" where nearly all of its earlier entries were
    alike: tuple = ()  # of 20 pairs: where the counterpart's class decided, where the other did
    named_first: str = ""  # whose pairs are told first: "applies", or "other"
    tells: str = "standard"  # whose words the cues are in, or ablated
    wording: int = 0  # which of them, the specification's is 0
    lever: float = 0.0  # by how many times T − R the outcome R stands raised
    outcomes: tuple[int, ...] = ()  # T, R, P, S as shown, which are costs
    domain: str = ""
    bulletin: str = ""  # its id
    main: bool = True  # whether the names in the text are of the main pool of variants
    cooperative: str = ""  # label of the cooperative act
    other: str = ""
    first: str = ""  # the label shown first
    policy: str = ""  # the declared policy
    peer: str = ""  # what the counterparty filed last: "C", "D"

    @property
    def symmetric(self) -> int:
        return int(self.S == "high")

    @property
    def coupled(self) -> int:
        return int(self.C == "present")

    @property
    def same_notice(self) -> bool:
        """Whether the counterpart decides, or decided, on the notice that the reader has."""
        return self.entry not in ("unread", "same_unread")

    @property
    def leaning(self) -> int:
        """1, 0 or −1, by the sentence that stands in the policy; 0 where none does."""
        for weight, sentences in LEANINGS.items():
            if any(sentence in self.policy for sentence in sentences):
                return weight
        return 0


def read_cues(text: str) -> Cues:
    """The cues of a decision prompt; ValueError where its contract can't be found."""
    return _reader.decision(text)


def read_notice(text: str) -> Cues:
    """The cues of a prompt that asks for no decision; ValueError where no known names stand."""
    return _notice(text, place_of(text))


def place_of(text: str) -> "Place":
    """Which bulletin a text is; ValueError where no known names stand in it."""
    return _reader.place(text)


def use(source: Source) -> None:
    """Look for what the prompts of `source` hold, in place of the project's own."""
    global _reader
    if source != _reader.source:
        _reader = Reader(source)


class Place(NamedTuple):
    """Which bulletin a text is, and what fills its placeholders there. `main`: whether the names
    are of the main pool."""

    domain: Domain
    bulletin: Bulletin
    fields: Mapping[str, str]
    main: bool


class Reader:
    """Knows the prompts of `source`, and remembers the decision prompts that it has read: twice
    those of a mechanism study."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.decision: Callable[[str], Cues] = lru_cache(4096)(self._decision)

    @cached_property
    def domains(self) -> list[Domain]:
        return [load_domain(name, self.source) for name in domain_names(self.source)]

    def place(self, text: str) -> Place:
        for domain in self.domains:
            place = _place_in(text, domain)
            if place is not None:
                return place
        raise ValueError("the names in this notice belong to no known variant")

    def _decision(self, text: str) -> Cues:
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
    """Where a reader's names and a bulletin of this domain are found in the text. What both sides
    of a pair share may be another variant's of its pool."""
    own = _variant_in(text, domain, "org", "peer")
    setting = _variant_in(text, domain, "office", "today")
    if own is None or setting is None:
        return None
    variant = filled_in(own, setting)
    for bulletin in domain.bulletins:
        pieces = re.split(r"\{\w+\}", bulletin.text)  # the same in all variants
        if max(pieces, key=len).strip() in text:
            fields = fields_of(bulletin.situation, variant)
            return Place(domain, bulletin, fields, not own.holdout)
    return None


def _variant_in(text: str, domain: Domain, *marks: str) -> Variant | None:
    for variant in domain.variants:
        if all(variant.fields[mark] in text for mark in marks):
            return variant
    return None


# --- what stands in it ---


def _labels(text: str, place: Place, shown: Iterable[str]) -> tuple[str, str]:
    """The labels of the cooperative act and of the other, by what the form says of each."""
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
    """{factor: its level, tells, wording} of the sentences that stand in `text`."""
    found: dict[str, Any] = {}
    for words in WORDED:
        for factor, level, wording, sentence in _sentences(place, words):
            if sentence not in text:
                continue
            found[factor] = level
            if factor in ("S", "entry"):  # compliance has one wording
                found |= {"tells": words, "wording": wording}
    return found


def _sentences(place: Place, words: str) -> Iterator[tuple[str, str, int, str]]:
    """(factor, level, wording, sentence) of all that may stand here."""
    for factor, levels in place.domain.toggles[words].items():
        for level, wordings in levels.items():
            for number, wording in enumerate(wordings):
                if wording:
                    yield factor, level, number, wording.format_map(place.fields)


NUMBERS = dict.fromkeys((*OUTCOMES, "alike", "unlike"), "NUMBER")


def _numbers(template: str, place: Place, text: str) -> re.Match[str] | None:
    """Where a template of the prompts stands in the text, with the numbers that fill it."""
    filled = template.format_map({**place.fields, **NUMBERS})
    return re.search(re.escape(filled).replace("NUMBER", r"(\d+)"), text)


def _outcomes(text: str, place: Place) -> dict[str, int]:
    """The numbers of the four lines, as shown."""
    numbers = {}
    for line in place.bulletin.text.splitlines():
        mark = re.search(r"\{([TRPS])\}", line)
        found = _numbers(line, place, text) if mark else None
        if mark and found:
            numbers[mark[1]] = int(found[1])
    return numbers


def _record(text: str, place: Place, entry: str) -> tuple[tuple[int, int], str]:
    """Of a mirror study's record: in how many of 20 pairs the entries were alike, where the
    counterpart's class decided and where the other did, and which of them comes first."""
    [other] = set(CLASSES) - {entry}
    for wording in place.domain.records:
        applies, rest = (_numbers(wording[n], place, text) for n in (entry, other))
        if applies and rest:
            first = "applies" if applies.start() < rest.start() else "other"
            return (int(applies[1]), int(rest[1])), first
    raise ValueError("this prompt has a status line of a mirror study and no record")


def _policy(text: str, domain: Domain) -> str:
    """The declared policy: what stands before the bulletin, "" where nothing does."""
    opening = domain.templates["encounter"][0].partition("{")[0]
    if not text.startswith(opening):
        return ""
    return text.removeprefix(opening).partition("\n\n")[0]


def _peer(text: str, domain: Domain, cooperative: str, other: str) -> str:
    """The counterparty's last entry, by the labels of this form."""
    last = ""
    row = re.escape(domain.templates["row"])
    pattern = row.replace(r"\{own\}", ".+").replace(r"\{peer\}", "(.+)")
    for peer in re.findall(f"^{pattern}$", text, re.M):
        last = peer
    return {cooperative: "C", other: "D"}.get(last, "")
