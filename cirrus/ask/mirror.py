"""Costs and pair records of the mirror study, which asks whether a model takes its own
decision as evidence of the counterpart's.

The name of a cell (a condition), such as M18, has a game and a number. In PD the text's
four lines show the costs as usual; in M (the mirror game) they exchange {peer}'s two
entries. The number says in how many of 20 earlier pairs of companies both made the same
entry: 18 or 2. There are two classes of earlier pairs: in "own" each company's own
staff decided, in "contractor" a contractor decided one entry. In a block (one model on
one bulletin, asked in every cell) one class has the rate 18 and the other 2; the text
says both rates, and which class {peer}'s present entry belongs to.

    half_of(3)                        "low": bulletins alternate between two sets of costs
    outcomes(3, 22, "M18", "low")     {"T": 64, "R": 66, "P": 22, "S": 42}
    classes(3, 0)                     ("contractor", "own")
    applies("PD2", "own")             ("contractor", {"own": 18, "contractor": 2})

`classes` gives the class with the high rate and the class named first; `applies` gives
the class that {peer}'s entry belongs to, and how many of the 20 pairs of each class
were alike.

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
EXCHANGED = ("M18", "M2")  # cells whose four lines exchange {peer}'s two entries
LOW_RATE = ("PD2", "M2")  # cells where {peer}'s entry is of the class with the low rate
OTHER_CLASS = {OWN: CONTRACTOR, CONTRACTOR: OWN}
# Sets of costs. Half of the bulletins have the set "high", the others "low". In both, a reader who
# takes its own entry as evidence of {peer}'s gains by a late entry if more than two in three earlier
# pairs were alike. The sets differ in when being late costs more than being early: in "high" it
# costs most if {peer} is early, in "low" if {peer} is late. A reader who merely goes late where that
# is cheap therefore reacts to the rate in opposite ways in the two sets. The cells "near" and "far"
# have sets of their own, in which such evidence makes a late entry pay above a rate of .60 or .80.
BASES = {
    "high": {"T": 30, "R": 32, "P": 52, "S": 70},
    "low": {"T": 30, "R": 50, "P": 72, "S": 74},
    "near": {"T": 30, "R": 32, "P": 50, "S": 57},
    "far": {"T": 30, "R": 32, "P": 35, "S": 42},
}
# {line: the line whose cost it shows in the cells EXCHANGED}
TAKEN_FROM = {"T": "P", "P": "T", "R": "S", "S": "R"}
SCALES = (1, 2, 3)  # factors of the differences between costs
GAMES_RATES = (18, 2)  # how many of 20 pairs were alike, in the two classes
THRESHOLD_RATES = (14, 6)


def half_of(bulletin_number: int) -> str:
    """Return the name of a bulletin's set of costs: "low" for every other bulletin (S − P is less
    than R − T in that set), "high" for the rest (S − P is more)."""
    return "low" if bulletin_number % 2 else "high"


def outcomes(bulletin_number: int, T: int, cell: str, half: str) -> Costs:
    """Return the costs {T, R, P, S} that the four lines of a text show. `T` is the
    bulletin's own least cost; no line shows less, so no cost is below 0.

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
    """Return (the class with the high rate, the class named first) in block k of bulletin b.

    The class with the high rate changes with every block and bulletin. Whether it is named first
    changes with every second block and every second bulletin. So neither goes together with the set
    of costs, which changes with every bulletin.
    """
    high = CLASSES[(b + k) % 2]
    turned = (b // 2 + k // 2) % 2
    return high, OTHER_CLASS[high] if turned else high


def applies(cell: str, high_class: str) -> tuple[str, dict[str, int]]:
    """Return the class that {peer}'s entry belongs to in this cell, and {class: how many of its 20
    pairs were alike}."""
    high, low = GAMES_RATES if cell in GAMES else THRESHOLD_RATES
    other = OTHER_CLASS[high_class]
    peer_class = other if cell in LOW_RATE else high_class
    return peer_class, {high_class: high, other: low}


class Pairs(NamedTuple):
    """What is the same in all texts of a block, in whichever class {peer}'s entry is: the set of
    costs, the class with the high rate, the class named first."""

    half: str
    high_class: str
    named_first: str


class Told(NamedTuple):
    """What the text of one cell says: the class that {peer}'s entry belongs to, and the numbers."""

    applies: str
    mirror: Mirror


def pairs(b: int, k: int) -> Pairs:
    """The `Pairs` of block k of bulletin b of a study, both counted from 0."""
    return Pairs(half_of(b), *classes(b, k))


def told(cell: str, bulletin: Bulletin, pairs: Pairs) -> Told:
    """What the text says in this cell, for this bulletin and a block with these `pairs`."""
    peer, alike = applies(cell, pairs.high_class)
    costs = outcomes(bulletin.number, bulletin.outcomes["T"], cell, pairs.half)
    return Told(peer, Mirror(costs, alike, pairs.named_first))
