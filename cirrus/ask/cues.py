"""What a reader finds in a prompt, from the rendered text alone.

    read_cues(prompt.user)       # of a decision prompt
    read_notice(prompt.user)     # of any prompt with a notice in it: without labels

Nobody tells a respondent its condition: it knows the project's sentences and looks for them.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from cirrus.ask.bulletins import (
    CLASSES,
    OUTCOMES,
    PROMPTS,
    SLOTS,
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
MOVED_BY = {
    sentence: weight for weight, sentences in LEANINGS.items() for sentence in sentences
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
        for sentence, weight in MOVED_BY.items():
            if sentence in self.policy:
                return weight
        return 0


# Twice the prompts of a mechanism study.
@lru_cache(maxsize=4096)
def read_cues(text: str) -> Cues:
    """The cues of a decision prompt; ValueError where its contract can't be found."""
    contract = CONTRACT.search(text)
    if not contract:
        raise ValueError("this prompt does not end with the two lines of the contract")
    place, shown = place_of(text), {}
    for label in contract.groups():
        meaning = text.rpartition(f"\n- {label}: ")[2].partition("\n")[0]
        shown[meaning] = label
    for lines in place.bulletin.situation.lines:
        cooperative, other = (line.format_map(place.fields) for line in lines)
        if shown.keys() == {cooperative, other}:
            labels = shown[cooperative], shown[other]
            return _notice(text, place)._replace(
                cooperative=labels[0],
                other=labels[1],
                first=contract[1],
                policy=_policy(text, place.domain),
                peer=_peer(text, place.domain, *labels),
            )
    raise ValueError("the options of this prompt belong to no known domain")


def read_notice(text: str) -> Cues:
    """The cues of a prompt that asks for no decision; ValueError where no known names stand."""
    return _notice(text, place_of(text))


class Place(NamedTuple):
    """Which bulletin a text is, and what fills its placeholders there. `main`: whether the names
    are of the main pool."""

    domain: Domain
    bulletin: Bulletin
    fields: Mapping[str, str]
    main: bool


def _notice(text: str, place: Place) -> Cues:
    cues = _levels(text, place)
    numbers = _outcomes(text, place)
    alike, named_first = _record(text, place, cues["entry"])
    if alike:
        cues["record"] = ""
    return Cues(
        **cues,
        alike=alike,
        named_first=named_first,
        lever=0.0 if alike else _raised(place.bulletin, numbers),
        outcomes=numbers,
        domain=place.domain.name,
        bulletin=place.bulletin.id,
        main=place.main,
    )


def _levels(text: str, place: Place) -> dict:
    """{factor: its level, tells, wording} of the sentences that stand in `text`."""
    found = {"C": "absent", "H": "omit", "S": "", "entry": "", "record": ""}
    for words in WORDED:
        for factor, level, wording, sentence in _sentences(place, words):
            if sentence in text:
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


def _outcomes(text: str, place: Place) -> tuple[int, ...]:
    """The numbers of the four lines, as shown."""
    numbers = []
    for name in OUTCOMES:
        [line] = [
            line for line in place.bulletin.text.splitlines() if f"{{{name}}}" in line
        ]
        before, _, after = line.partition(f"{{{name}}}")
        pattern = r"(\d+)".join(
            re.escape(_filled(part, place.fields)) for part in (before, after)
        )
        numbers.append(int(re.search(f"^{pattern}$", text, re.M)[1]))
    return tuple(numbers)


def _filled(part: str, fields: Mapping[str, str]) -> str:
    return part.format_map({**dict.fromkeys(SLOTS, ""), **fields})


def _raised(bulletin: Bulletin, numbers: tuple[int, ...]) -> float:
    """By how many times T − R the outcome R stands raised."""
    usual = bulletin.outcomes
    shown = dict(zip(OUTCOMES, numbers, strict=True))
    return (shown["R"] - usual["R"]) / (usual["T"] - usual["R"])


def _record(text: str, place: Place, entry: str) -> tuple[tuple, str]:
    """Of a mirror study's record: in how many of 20 pairs the entries were alike, where the
    counterpart's class decided and where the other did, and which of them comes first."""
    if entry not in CLASSES:
        return (), ""
    [other] = set(CLASSES) - {entry}
    for wording in place.domain.records:
        found = []
        for name in (entry, other):
            clause = getattr(wording, name).format_map(
                {**place.fields, "alike": "ALIKE", "unlike": "UNLIKE"}
            )
            pattern = re.escape(clause).replace("UNLIKE", r"\d+")
            found.append(re.search(pattern.replace("ALIKE", r"(\d+)"), text))
        if all(found):
            applies, rest = found
            first = "applies" if applies.start() < rest.start() else "other"
            return (int(applies[1]), int(rest[1])), first
    raise ValueError("this prompt has a status line of a mirror study and no record")


def _policy(text: str, domain: Domain) -> str:
    """The declared policy: what stands before the bulletin, "" where nothing does."""
    opening = domain.templates["encounter"][0].partition("{")[0]
    return text[len(opening) :].partition("\n\n")[0] if text.startswith(opening) else ""


def _peer(text: str, domain: Domain, cooperative: str, other: str) -> str:
    """The counterparty's last entry, by the labels of this form."""
    row = domain.templates["row"]
    if row.partition("{")[0] not in text:
        return ""
    pattern = re.escape(row).replace(r"\{own\}", ".+").replace(r"\{peer\}", "(.+)")
    *_, last = "", *re.findall(f"^{pattern}$", text, re.M)
    return {cooperative: "C", other: "D"}.get(last, "")


# --- which bulletin a text is -------------------------------------------------------------------


class _Known:
    """The prompts that respondents know: the project's own, or those of `use`."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.domains: list[Domain] = []

    def load(self) -> list[Domain]:
        if not self.domains:
            for name in domain_names(self.source):
                self.domains.append(load_domain(name, self.source))
        return self.domains


_known = _Known(PROMPTS)


def use(source: Source) -> None:
    """Look for what the prompts of `source` hold, in place of the project's own."""
    global _known
    if source != _known.source:
        _known = _Known(source)
        read_cues.cache_clear()


def place_of(text: str) -> Place:
    """Which bulletin a text is; ValueError where no known names stand in it."""
    for domain in _known.load():
        place = _place_in(text, domain)
        if place is not None:
            return place
    raise ValueError("the names in this notice belong to no known variant")


def _place_in(text: str, domain: Domain) -> Place | None:
    """Where a reader's names and a bulletin of this domain are found in the text. What both sides
    of a pair share may be another variant's of its pool."""
    own = _variant_in(text, domain, ("org", "peer"))
    setting = _variant_in(text, domain, ("office", "today"))
    if own is None or setting is None:
        return None
    variant = filled_in(own, setting)
    for bulletin in domain.bulletins:
        if _longest_piece(bulletin.text) in text:
            fields = fields_of(bulletin.situation, variant)
            return Place(domain, bulletin, fields, not own.holdout)
    return None


def _variant_in(text: str, domain: Domain, marks: tuple[str, ...]) -> Variant | None:
    for variant in domain.variants:
        if all(variant.fields[mark] in text for mark in marks):
            return variant
    return None


@lru_cache(maxsize=256)
def _longest_piece(template: str) -> str:
    """The longest piece of a bulletin that is the same in all variants."""
    return max(re.split(r"\{\w+\}", template), key=len).strip()
