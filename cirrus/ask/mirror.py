"""Costs and pair records of the mirror study, which asks whether a model takes its own
decision as evidence of the counterpart's.

A cell's name, such as M18, has a game and a number. In PD the four lines show the costs
as usual; in M (the mirror game) {peer}'s two entries are exchanged in them. The number
says in how many of 20 earlier pairs the two companies made the same entry: 18 or 2.
There are two classes of earlier pairs: "own", in which each company's own staff
decided, and "contractor", in which a contractor decided one entry. In a block one class
has the rate 18 and the other 2; the text says both rates, and which class applies to
{peer}'s present entry.

    half_of(3)                        "low": bulletins alternate between two sets of costs
    outcomes(3, 22, "M18", "low")     {"T": 64, "R": 66, "P": 22, "S": 42}
    classes(3, 0)                     ("contractor", "own")
    applies("PD2", "own")             ("contractor", {"own": 18, "contractor": 2})

`classes` gives the class with the high rate and the class named first; `applies` gives
the class that decided {peer}'s entry, and how many of the 20 pairs of each class were
alike.

Outcomes are costs of the reader, one in each line of the text. T: you early, {peer}
late; R: both late; P: both early; S: you late, {peer} early. Bulletins are counted from
0 in the order in which they are dealt, and so are the blocks of a bulletin.
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
EXCHANGED = ("M18", "M2")  # the four lines exchange {peer}'s two entries
LOW_RATE = ("PD2", "M2")  # {peer}'s entry is made by the class with the low rate
OTHER_CLASS = {OWN: CONTRACTOR, CONTRACTOR: OWN}
# A reader who takes its own entry as evidence of {peer}'s gains by the late entry where the rate of
# like pairs is above two in three, in both halves. What the late entry costs at a given entry of
# {peer} differs: in the high half it costs more where {peer} is early, in the low half where {peer}
# is late. So a reader who goes late where that is cheap reacts to the rate in opposite ways in the
# two halves. In the cell near, evidence makes late pay above a rate of .60, in far above .80.
BASES = {
    "high": {"T": 30, "R": 32, "P": 52, "S": 70},
    "low": {"T": 30, "R": 50, "P": 72, "S": 74},
    "near": {"T": 30, "R": 32, "P": 50, "S": 57},
    "far": {"T": 30, "R": 32, "P": 35, "S": 42},
}
# {line: the line whose number it takes} where {peer}'s two entries are exchanged.
TAKEN_FROM = {"T": "P", "P": "T", "R": "S", "S": "R"}
SCALES = (1, 2, 3)  # factors of the differences between costs
GAMES_RATES = (18, 2)  # of 20 pairs, in the two classes
THRESHOLD_RATES = (14, 6)


def half_of(bulletin_number: int) -> str:
    """Which set of costs a bulletin has: every other one "low", where S − P is less than R − T, the
    rest "high", where it is more."""
    return "low" if bulletin_number % 2 else "high"


def outcomes(bulletin_number: int, T: int, cell: str, half: str) -> Costs:
    """Return the costs {T, R, P, S} that the four lines of a text show. `T` is the
    least cost of the bulletin's own, so that no cost falls below 0.

    Scales repeat every three bulletins, and halves every two, so each scale meets both
    halves.
    """
    base = BASES[half if cell in GAMES else cell]
    scale = SCALES[bulletin_number % len(SCALES)]
    costs = {}
    for line in OUTCOMES:
        source = TAKEN_FROM[line] if cell in EXCHANGED else line
        costs[line] = T + scale * (base[source] - base["T"])
    return costs


def classes(b: int, k: int) -> tuple[str, str]:
    """(the class with the high rate, the class named first) in block k of bulletin b.

    The class with the high rate changes from block to block; whether it is named first changes from
    pair to pair, of bulletins and of blocks. So neither coincides with the half, which changes from
    bulletin to bulletin.
    """
    high = CLASSES[(b + k) % 2]
    turned = (b // 2 + k // 2) % 2
    return high, OTHER_CLASS[high] if turned else high


def applies(cell: str, high_class: str) -> tuple[str, dict[str, int]]:
    """Return the class that decided {peer}'s entry in this cell, and {class: how many of its 20
    pairs were alike}."""
    high, low = GAMES_RATES if cell in GAMES else THRESHOLD_RATES
    other = OTHER_CLASS[high_class]
    peer_class = other if cell in LOW_RATE else high_class
    return peer_class, {high_class: high, other: low}


class Pairs(NamedTuple):
    """What all texts of a block say of earlier pairs, whichever class decided {peer}'s entry."""

    half: str
    high_class: str
    named_first: str


class Told(NamedTuple):
    """What the text of one cell says: the class that decided {peer}'s entry, and the numbers."""

    applies: str
    mirror: Mirror


def pairs(b: int, k: int) -> Pairs:
    """The `Pairs` of block k of the b-th bulletin of a study, both counted from 0."""
    return Pairs(half_of(b), *classes(b, k))


def told(cell: str, bulletin: Bulletin, pairs: Pairs) -> Told:
    """What the text of this cell says about this bulletin in a block with these `pairs`."""
    peer, alike = applies(cell, pairs.high_class)
    costs = outcomes(bulletin.number, bulletin.outcomes["T"], cell, pairs.half)
    return Told(peer, Mirror(costs, alike, pairs.named_first))
