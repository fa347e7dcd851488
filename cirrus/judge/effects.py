"""Contrasts of the cells, averaged inside a bulletin first and tested over bulletins.

    table = slots((slot, outcome) for …)
    effect(table, "primary")                 {"value": …, "low": …, "high": …, "units": …}
    by(table, "model")                       {model: its primary contrast}
Models are a fixed set.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import stats
from cirrus.ask.prompts import cell_name
from stats.results import Count, UnitContrast

HP, HA, LP, LA = (("high", "present"), ("high", "absent"), ("low", "present"), ("low", "absent"))
ALPHA = 0.05  # of every test and of every interval's complement
LEVELS_OF_H = ("high", "low", "omit")
MIN_BULLETINS = 6      # fewer: the result is about these stimuli
LEVEL = 1 - ALPHA


NAMES = {cell: cell_name(cell) for cell in (HP, HA, LP, LA)}


class Contrast(NamedTuple):
    """Weights of the four S×C cells. `over_h`: weights of the levels of H, None: their mean."""

    label: str
    weights: Mapping[tuple[str, str], float]
    over_h: Mapping[str, float] | None = None


CONTRASTS: dict[str, Contrast] = {
    "primary": Contrast("S high with C present − S low with C absent", {HP: 1, LA: -1}),
    "S": Contrast("symmetry: S high − S low", {HP: .5, HA: .5, LP: -.5, LA: -.5}),
    "C": Contrast("coupling cue: C present − C absent", {HP: .5, LP: .5, HA: -.5, LA: -.5}),
    "S_at_C_present": Contrast("symmetry where the cue is present", {HP: 1, LP: -1}),
    "S_at_C_absent": Contrast("symmetry where the cue is absent", {HA: 1, LA: -1}),
    "C_at_S_high": Contrast("coupling cue where symmetry is high", {HP: 1, HA: -1}),
    "C_at_S_low": Contrast("coupling cue where symmetry is low", {LP: 1, LA: -1}),
    "SxC": Contrast("S×C: (present − absent at S high) − (… at S low)",
                    {HP: 1, HA: -1, LP: -1, LA: 1}),
    "H": Contrast("compliance pressure: H high − H low", dict.fromkeys((HP, HA, LP, LA), .25),
                  {"high": 1, "low": -1}),
}
SIMPLE = ("S_at_C_present", "S_at_C_absent", "C_at_S_high", "C_at_S_low")


class Slot(NamedTuple):
    """Where an answer stands. `unit`: its bulletin."""

    unit: Hashable
    S: str
    C: str
    H: str
    model: str
    scheme: str
    order: str
    round: int = 1


Slots = Mapping[Slot, Count]
NONE_YET = Count(0, 0, 0)


def slots(answers: Iterable[tuple[Slot, int | None]]) -> dict[Slot, Count]:
    """Answers counted where they stand; an outcome is 1 or 0, None where it is missing."""
    table: dict[Slot, Count] = {}
    for slot, outcome in answers:
        count_in(table, slot, outcome)
    return table


def count_in(table: dict[Slot, Count], slot: Slot, outcome: int | None) -> None:
    """One more answer."""
    k, n, missing = table.get(slot, NONE_YET)
    table[slot] = (Count(k, n, missing + 1) if outcome is None else
                   Count(k + outcome, n + 1, missing))


def where(table: Slots, **levels: Any) -> dict[Slot, Count]:
    """The slots of these levels, such as H="low"."""
    return {slot: count for slot, count in table.items()
            if all(getattr(slot, name) == level for name, level in levels.items())}


def levels_of(table: Slots, name: str) -> list:
    return sorted({getattr(slot, name) for slot in table})


def units_of(table: Slots) -> set:
    return {slot.unit for slot in table}


def tally(table: Slots, cell: Callable[[Slot], Hashable]) -> dict[Hashable, dict[Hashable, Count]]:
    """{unit: {cell: counts}}, for the contrasts of `stats`."""
    units: dict[Hashable, dict[Hashable, Count]] = {}
    for slot, count in table.items():
        cells = units.setdefault(slot.unit, {})
        add(cells, cell(slot), count)
    return units


def add(cells: dict[Hashable, Count], name: Hashable, count: Count) -> None:
    """Counts beside those that are there."""
    cells[name] = Count(*map(sum, zip(cells[name], count, strict=True))) if name in cells else count


def unread(missing: int) -> dict[str, Any]:
    """The entry of a cell without a readable decision."""
    return {"k": 0, "n": 0, "missing": missing, "mean": None, "low": None, "high": None,
            "why": "no readable decision"}


class OnDemand(Mapping):
    """Entries that are computed when they are first read, by functions without arguments."""

    def __init__(self, makers: Mapping[str, Callable[[], Any]]) -> None:
        self._makers, self._made = makers, {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def whole(part: Any) -> Any:
    """All entries of a part, and of what stands in it, as plain dictionaries."""
    return {name: whole(part[name]) for name in part} if isinstance(part, Mapping) else part


# --- one contrast ------------------------------------------------------------------------------

def weights_of(contrast: Contrast, levels: frozenset) -> dict[tuple[str, str, str], float]:
    """The weight of each (S, C, H), over the levels of H that have all cells it needs; empty where
    no level has. `levels`: the cells that occur."""
    usable = [h for h in LEVELS_OF_H if all((*cell, h) in levels for cell in contrast.weights)]
    over = contrast.over_h or dict.fromkeys(usable, 1 / len(usable) if usable else 0)
    if any(h not in usable for h in over):
        return {}
    return {(*cell, h): weight * share
            for h, share in over.items() for cell, weight in contrast.weights.items()}


_weights = cache(lambda name, levels: weights_of(CONTRASTS[name], levels))


def _cell(slot: Slot) -> tuple[str, str, str]:
    return slot.S, slot.C, slot.H


def _cells(table: Slots) -> frozenset:
    return frozenset(map(_cell, table))


def found(table: Slots, name: str = "primary", level: float = LEVEL) -> UnitContrast:
    """The contrast as `stats` gives it."""
    weights = _weights(name, _cells(table))
    return stats.contrast(tally(table, _cell), weights, level) if weights else NOTHING


NOTHING = stats.contrast({}, {HP: 1}, LEVEL)._replace(
    why="no level of H has every cell that this contrast needs")


def entry(label: str, contrast: UnitContrast) -> dict[str, Any]:
    """A contrast as the analysis keeps it: value, 95% interval, and how many bulletins disagree."""
    return {"label": label, "value": contrast.value, "low": contrast.low, "high": contrast.high,
            "units": len(contrast.differences), "against": len(contrast.against),
            "least": contrast.least, "bounds": contrast.bounds._asdict(), "why": contrast.why}


def effect(table: Slots, name: str = "primary") -> dict[str, Any]:
    """One contrast over bulletins."""
    return entry(CONTRASTS[name].label, found(table, name))


def tested(table: Slots, name: str = "primary") -> dict[str, Any]:
    """The same with the p of its sign-flip test."""
    contrast = found(table, name)
    return entry(CONTRASTS[name].label, contrast) | {"p": contrast.p}


def by(table: Slots, factor: str, judge: Callable[[Slots], dict] = effect) -> dict[Any, dict]:
    """The primary contrast at each level of a factor: model, scheme, order, round, H."""
    return {level: judge(where(table, **{factor: level})) for level in levels_of(table, factor)}


def between_schemes(table: Slots) -> dict[str, dict[str, Any]]:
    """How much the primary contrast differs between label schemes, pair by pair, inside bulletins
    that hold both: {"L1−L2": …}."""
    out, counts = {}, tally(table, lambda slot: (slot.scheme, _cell(slot)))
    for a, b in combinations(levels_of(table, "scheme"), 2):
        both = _cells(where(table, scheme=a)) & _cells(where(table, scheme=b))
        signed = {(side, cell): sign * weight for side, sign in ((a, 1), (b, -1))
                  for cell, weight in _weights("primary", both).items()}
        out[f"{a}−{b}"] = entry(f"effect {a}−{b}", stats.contrast(counts, signed, LEVEL)
                                if signed else NOTHING)
    return out


# --- is it the act, or its label? ---------------------------------------------------------------

LETTERS = ("L2", "L3")  # schemes whose label is a letter


def label_rule(table: Slots) -> dict[str, Any]:
    """`labels_excluded` of the primary contrast."""
    letters = {slot: count for slot, count in table.items() if slot.scheme in LETTERS}
    return labels_excluded(effect(letters), by(table, "scheme"), by(table, "order"),
                           between_schemes(table))


def labels_excluded(letters: Mapping[str, Any], schemes: Mapping[str, Mapping],
                    orders: Mapping[str, Mapping], differences: Mapping[str, Mapping],
                    ) -> dict[str, Any]:
    """Whether word, letter and place are excluded: a contrast established under letters alone and
    in each order, positive in each scheme, and no two schemes established to differ."""
    checks = {
        "established under letters": above(letters),
        "established in each order": len(orders) > 1 and all(map(above, orders.values())),
        "positive in each scheme": len(schemes) > 1 and all(
            (one["value"] or 0) > 0 for one in schemes.values()),
        "without a difference between schemes": not any(
            above(one) or below(one) for one in differences.values())}
    failed = [name for name, holds in checks.items() if not holds]
    return {"holds": not failed, "why": "; ".join(f"not {name}" for name in failed) or None,
            "schemes": schemes, "orders": orders, "differences": differences}


# --- what the words need -----------------------------------------------------------------------

def above(contrast: Mapping[str, Any], least: float = 0) -> bool:
    """Whether a contrast is established: its lower limit lies above `least`."""
    return contrast["low"] is not None and contrast["low"] > least


def below(contrast: Mapping[str, Any]) -> bool:
    return contrast["high"] is not None and contrast["high"] < 0


def certain(contrast: Mapping[str, Any], least: float = 0) -> bool:
    """Established with every missing decision counted against it (Manski 1990)."""
    lowest = contrast["bounds"]["lowest"]
    return above(contrast, least) and lowest is not None and lowest > least


def corner(table: Slots, cell: tuple[str, str]) -> Count:
    """One S×C cell of the table: cooperative, readable, missing."""
    counts = [count for slot, count in table.items() if cell == (slot.S, slot.C)]
    return Count(*map(sum, zip(*counts, strict=True))) if counts else NONE_YET


def around(share: float, over: UnitContrast) -> dict[str, Any]:
    """The interval of a share of decisions: that over bulletins, which weigh alike in it, drawn out
    to the share where unequal numbers of decisions put it outside."""
    if over.low is None:
        return {"low": None, "high": None, "why": over.why}
    return {"low": min(over.low, share), "high": max(over.high, share), "why": over.why}


def average(values: Iterable[float | None]) -> float | None:
    """Of the known values; None without one."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
