"""What the mirror study deals: four outcomes, and a record of earlier pairs.

    half_of(3)                        "low": the outcomes that the four games of a bulletin have
    outcomes(3, 22, "M18", "low")     {"T": 64, "R": 66, "P": 22, "S": 42}
    classes(3, 0)                     ("contractor", "own")
    applies("PD2", "own")             ("contractor", {"own": 18, "contractor": 2})

Outcomes are costs of the reader, by line. T: you early, {peer} late; R: both late; P: both early;
S: you late, {peer} early. The record says how many of 20 earlier pairs made the same entry as each
other, where each company's own staff decided and where a contractor decided one. Bulletins are
counted from 0 in the order in which they are dealt, and so are the blocks of a bulletin.
"""

from typing import NamedTuple

from cirrus.ask.bulletins import CLASSES, OUTCOMES, Bulletin
from cirrus.ask.prompts import Mirror

Costs = dict[str, int]

OWN, CONTRACTOR = CLASSES
GAMES = ("PD18", "PD2", "M18", "M2")
CELLS = {
    "PD18": "18 of 20 alike",
    "PD2": "2 of 20 alike",
    "M18": "18 of 20 alike, lines exchanged",
    "M2": "2 of 20 alike, lines exchanged",
    "near": "14 of 20 alike, 12 needed",
    "far": "14 of 20 alike, 16 needed",
}
EXCHANGED = ("M18", "M2")  # {peer}'s two entries are, in the four lines
LOW_RATE = ("PD2", "M2")  # {peer} is of the class with the low rate
OTHER_CLASS = {OWN: CONTRACTOR, CONTRACTOR: OWN}
# Taken as evidence, late pays above one rate, two in three, in both halves. What the late entry
# costs by itself differs: in the high half more where {peer} is early, in the low half more where
# it is late. Who goes late where that is cheap therefore follows the rate one way in one half and
# the other way in the other. In near late pays above .60, in far above .80.
BASES = {
    "high": {"T": 30, "R": 32, "P": 52, "S": 70},
    "low": {"T": 30, "R": 50, "P": 72, "S": 74},
    "near": {"T": 30, "R": 32, "P": 50, "S": 57},
    "far": {"T": 30, "R": 32, "P": 35, "S": 42},
}
# The line that has the number where {peer}'s two entries are exchanged.
TAKEN_FROM = {"T": "P", "P": "T", "R": "S", "S": "R"}
SCALES = (1, 2, 3)
GAMES_RATES = (18, 2)
THRESHOLD_RATES = (14, 6)


def half_of(bulletin_number: int) -> str:
    """Every other bulletin has P − S above T − R, the rest below."""
    return "low" if bulletin_number % 2 else "high"


def outcomes(bulletin_number: int, T: int, cell: str, half: str) -> Costs:
    """The numbers of the four lines. `T`: the least of the bulletin's own, so that none is below 0.

    The scale goes round by threes, so that both halves have each.
    """
    base = BASES[half if cell in GAMES else cell]
    scale = SCALES[bulletin_number % len(SCALES)]
    costs = {}
    for line in OUTCOMES:
        source = TAKEN_FROM[line] if cell in EXCHANGED else line
        costs[line] = T + scale * (base[source] - base["T"])
    return costs


def classes(b: int, k: int) -> tuple[str, str]:
    """The class with the high rate, and the class named first, in block k of bulletin b.

    The first changes from block to block, whether it is named first from pair to pair (of bulletins
    and of blocks). So neither goes together with a half, which changes from bulletin to bulletin.
    """
    high = CLASSES[(b + k) % 2]
    turned = (b // 2 + k // 2) % 2
    return high, OTHER_CLASS[high] if turned else high


def applies(cell: str, high_class: str) -> tuple[str, dict[str, int]]:
    """The class that decided {peer}'s entry, and of each class how many of 20 pairs were alike."""
    high, low = GAMES_RATES if cell in GAMES else THRESHOLD_RATES
    other = OTHER_CLASS[high_class]
    peer_class = other if cell in LOW_RATE else high_class
    return peer_class, {high_class: high, other: low}


class Pairs(NamedTuple):
    """What the texts of a block tell of earlier pairs, whichever class decided {peer}'s entry."""

    half: str
    high_class: str
    named_first: str


class Told(NamedTuple):
    """What one cell tells: the class that decided {peer}'s entry, and the numbers."""

    applies: str
    mirror: Mirror


def pairs(b: int, k: int) -> Pairs:
    """Of block k of the b-th bulletin of a study, both counted from 0."""
    return Pairs(half_of(b), *classes(b, k))


def told(cell: str, bulletin: Bulletin, pairs: Pairs) -> Told:
    peer, alike = applies(cell, pairs.high_class)
    costs = outcomes(bulletin.number, bulletin.outcomes["T"], cell, pairs.half)
    return Told(peer, Mirror(costs, alike, pairs.named_first))
