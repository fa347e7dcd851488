"""What a reader finds in a prompt, from the rendered text alone.

    read_cues(prompt.user)       # of a decision prompt
    read_notice(prompt.user)     # of any prompt with a notice in it: without labels

Nobody tells a respondent its condition: it knows the project's sentences and looks for them.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import product
from typing import NamedTuple

from cirrus.ask.bulletins import (
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
from cirrus.ask.prompts import LEVERS, outcomes

CONTRACT = re.compile(
    r"Decision: \[([^|\]]+)\|([^\]]+)\](?:\s+Rationale \(max 2 lines\):)?\s*\Z"
)
# By these a variant's notices are known, as far as all bulletins of its domain have them.
TELLING = ("org", "peer", "office", "today")

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
    """What stands in a prompt; `entry` is the counterpart's. Where nothing is said: ""."""

    S: str  # high or low
    C: str  # present or absent
    H: str  # high, low, or omit
    entry: str  # how it is made: now, earlier, known; who makes it: same, other, person
    tells: str  # whose words the cues are in: standard or ablated
    wording: int  # which of them, the specification's is 0
    lever: float  # by how many times T − R the outcome R stands raised
    outcomes: tuple[
        int, ...
    ]  # T, R, P, S as shown; () where prompts have no outcomes.json
    domain: str
    bulletin: str  # its id
    main: bool  # whether the names in the text are of the main pool of variants
    cooperative: str = ""  # label of the cooperative act
    other: str = ""
    first: str = ""  # the label shown first
    policy: str = ""  # the declared policy
    peer: str = (
        ""  # what the counterparty filed last: "C", "D", "" where nothing is read
    )

    @property
    def symmetric(self) -> int:
        return int(self.S == "high")

    @property
    def coupled(self) -> int:
        return int(self.C == "present")

    @property
    def decides_now(self) -> bool:
        """Whether the counterpart still decides, so that its entry may mirror the reader's."""
        return self.entry in ("", "now")

    @property
    def leaning(self) -> int:
        """1, 0 or −1, by the sentence that stands in the policy; 0 where none does."""
        return next(
            (
                weight
                for weight, sentences in LEANINGS.items()
                if any(sentence in self.policy for sentence in sentences)
            ),
            0,
        )


# Twice the prompts of a mechanism study.
@lru_cache(maxsize=4096)
def read_cues(text: str) -> Cues:
    """The cues of a decision prompt; ValueError where its contract can't be found."""
    contract = CONTRACT.search(text)
    if not contract:
        raise ValueError("this prompt does not end with the two lines of the contract")
    shown = {
        text.rpartition(f"\n- {label}: ")[2].partition("\n")[0]: label
        for label in contract.groups()
    }
    for at in _variants_in(text):
        for lines in _act_lines(at):
            if shown.keys() == {*lines}:
                return _decision(text, at, contract[1], *map(shown.get, lines))
    raise ValueError("the options of this prompt belong to no known domain")


def read_notice(text: str) -> Cues:
    """The cues of a prompt that asks for no decision; ValueError where no known names stand."""
    for at in _variants_in(text):
        return _notice(text, at)
    raise ValueError("the names in this notice belong to no known variant")


def _decision(text: str, at: int, first: str, cooperative: str, other: str) -> Cues:
    return _notice(text, at)._replace(
        cooperative=cooperative,
        other=other,
        first=first,
        policy=_policy(text, at),
        peer=_peer(text, at, cooperative, other),
    )


def _notice(text: str, at: int) -> Cues:
    domain, variant = _variants()[at]
    words, wording, levels = _levels(text, at)
    bulletin = next((known for piece, known in _pieces(at) if piece in text), None)
    lever, numbers = _raised(text, at, bulletin)
    return Cues(
        levels["S"],
        levels.get("C", "absent"),
        levels.get("H", "omit"),
        levels.get("entry", ""),
        words,
        wording,
        lever,
        numbers,
        domain.name,
        bulletin.id if bulletin else "",
        not variant.holdout,
    )


def _levels(text: str, at: int) -> tuple[str, int, dict[str, str]]:
    """Whose words the sentences in `text` are, which wording, {factor: level}."""
    words, wording = next(
        (words, wording)
        for words in WORDED
        for sentences in _sentences(at, words)["S"].values()
        for wording, sentence in enumerate(sentences)
        if sentence in text
    )
    return (
        words,
        wording,
        {
            factor: level
            for factor, levels in _sentences(at, words).items()
            for level, sentences in levels.items()
            if sentences[wording % len(sentences)] in text
        },
    )


def _raised(
    text: str, at: int, bulletin: Bulletin | None
) -> tuple[float, tuple[int, ...]]:
    """By how many times T − R the outcome R stands raised, and the outcomes as shown."""
    rows = _outcome_rows(at, bulletin.number) if bulletin and bulletin.outcomes else {}
    return next((rows[line] for line in text.splitlines() if line in rows), (0.0, ()))


def _policy(text: str, at: int) -> str:
    """The declared policy: what stands before the bulletin, "" where nothing does."""
    opening = _variants()[at][0].templates["encounter"][0].partition("{")[0]
    return text[len(opening) :].partition("\n\n")[0] if text.startswith(opening) else ""


def _peer(text: str, at: int, cooperative: str, other: str) -> str:
    """The counterparty's last entry, by the labels of this form."""
    row = _variants()[at][0].templates["row"]
    if row.partition("{")[0] not in text:
        return ""
    pattern = re.escape(row).replace(r"\{own\}", ".+").replace(r"\{peer\}", "(.+)")
    *_, last = "", *re.findall(f"^{pattern}$", text, re.M)
    return {cooperative: "C", other: "D"}.get(last, "")


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
def _variants() -> tuple[tuple[Domain, Variant], ...]:
    """As notices have them: with the shared facts of their own, or of another of the pool."""
    found = []
    for name in domain_names(_source):
        domain = load_domain(name, _source)
        for own, setting in product(domain.variants, repeat=2):
            if own.holdout == setting.holdout:
                found.append((domain, filled_in(own, setting)))
    return tuple(found)


def _variants_in(text: str) -> Iterator[int]:
    """Where in `_variants` those stand whose names are in the text."""
    return (
        at for at in range(len(_variants())) if all(mark in text for mark in _marks(at))
    )


@cache
def _marks(at: int) -> list[str]:
    """What of a variant stands in every notice."""
    domain, variant = _variants()[at]
    return [
        variant.fields[name]
        for name in TELLING
        if all(f"{{{name}}}" in bulletin.text for bulletin in domain.bulletins)
    ]


@cache
def _act_lines(at: int) -> list[tuple[str, ...]]:
    """(line of the cooperative act, of the other) in every wording."""
    domain, variant = _variants()[at]
    return [
        tuple(line.format_map(variant.fields) for line in lines)
        for lines in zip(*(act.lines for act in domain.acts), strict=True)
    ]


@cache
def _sentences(at: int, words: str) -> dict[str, dict[str, list[str]]]:
    """{factor: {level: its sentences}}, as a variant's prompts may hold them."""
    domain, variant = _variants()[at]
    return {
        factor: {
            level: [text.format_map(variant.fields) for text in texts]
            for level, texts in levels.items()
            if any(texts)
        }
        for factor, levels in domain.toggles[words].items()
    }


@cache
def _pieces(at: int) -> list[tuple[str, Bulletin]]:
    """The longest piece of each bulletin that is the same in all variants."""
    return [
        (max(re.split(r"\{\w+\}", bulletin.text), key=len).strip(), bulletin)
        for bulletin in _variants()[at][0].bulletins
    ]


@cache
def _outcome_rows(at: int, number: int) -> dict[str, tuple[float, tuple[int, ...]]]:
    """{line with R as a lever raises it: (by how many times T − R, T, R, P and S then)}."""
    domain, variant = _variants()[at]
    bulletin = domain.bulletins[number - 1]
    line = next(line for line in bulletin.text.splitlines() if "{R}" in line)
    fields = dict.fromkeys(SLOTS, "") | variant.fields
    return {
        line.format_map(fields | numbers): (raised, tuple(numbers.values()))
        for level, raised in enumerate((0.0, *LEVERS))
        for numbers in (outcomes(bulletin, level),)
    }
