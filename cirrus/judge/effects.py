"""Contrasts of the cells, averaged inside a bulletin first and tested over bulletins.

    table = slots((slot, outcome) for …)
    effect(table, "primary")                 {"value": …, "low": …, "high": …, "units": …}
    by(table, "model")                       {model: its primary contrast}

The bulletin is what was drawn, and what one wants to speak beyond; models are a fixed set. Pilot,
tournament, gates and calibration judge by these functions alone.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import stats
from cirrus import ALPHA
from stats.results import Count, UnitContrast

HP, HA, LP, LA = (("high", "present"), ("high", "absent"), ("low", "present"), ("low", "absent"))
LEVELS_OF_H = ("high", "low", "omit")
MIN_BULLETINS = 6      # fewer: the result is about these stimuli
LEVEL = 1 - ALPHA


def cell_name(levels: Iterable[str]) -> str:
    """("high", "present", "low") → "S.high-C.present-H.low"; two levels: without H."""
    return "-".join(f"{factor}.{level}" for factor, level in zip("SCH", levels, strict=False))


def total(outcomes: Iterable[float]) -> float:
    """Their sum: of decisions a whole number, of shares the same on every Python."""
    values = list(outcomes)
    return sum(values) if all(isinstance(value, int) for value in values) else math.fsum(values)


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


def slots(answers: Iterable[tuple[Slot, float | None]]) -> dict[Slot, Count]:
    """Answers counted where they stand; an outcome is from 0 to 1, None where it is missing."""
    table: dict[Slot, Count] = {}
    for slot, outcome in answers:
        count_in(table, slot, outcome)
    return table


def count_in(table: dict[Slot, Count], slot: Slot, outcome: float | None) -> None:
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
        name = cell(slot)
        cells[name] = Count(*map(sum, zip(cells[name], count, strict=True))) if name in cells \
            else count
    return units


# --- one contrast ------------------------------------------------------------------------------

def weights_of(contrast: Contrast, levels: frozenset) -> dict[tuple[str, str, str], float]:
    """The weight of each (S, C, H), over the levels of H that have all cells it needs; empty where
    no level has. `levels`: the cells that occur."""
    needed = [cell for cell, weight in contrast.weights.items() if weight]
    usable = [h for h in LEVELS_OF_H if all((*cell, h) in levels for cell in needed)]
    over = contrast.over_h or dict.fromkeys(usable, 1 / len(usable) if usable else 0)
    if any(h not in usable for h in over):
        return {}
    return {(*cell, h): contrast.weights[cell] * weight
            for h, weight in over.items() for cell in needed}


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
            "least": contrast.least, "bounds": contrast.bounds.asdict(), "why": contrast.why}


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


def differences(table: Slots, factor: str, level: float = LEVEL) -> dict[str, UnitContrast]:
    """How much the primary contrast differs between levels of a factor, pair by pair, inside
    bulletins that hold both: {"L1−L2": …}."""
    def at(slot: Slot) -> Hashable:
        return getattr(slot, factor), _cell(slot)
    out, counts = {}, tally(table, at)
    for a, b in combinations(levels_of(table, factor), 2):
        both = _cells(where(table, **{factor: a})) & _cells(where(table, **{factor: b}))
        weights = _weights("primary", both)
        signed = {(side, cell): sign * weight for side, sign in ((a, 1), (b, -1))
                  for cell, weight in weights.items()}
        out[f"{a}−{b}"] = stats.contrast(counts, signed, level) if signed else NOTHING
    return out


def difference_entries(table: Slots, factor: str) -> dict[str, dict[str, Any]]:
    return {pair: entry(f"effect {pair}", contrast)
            for pair, contrast in differences(table, factor).items()}


# --- is it the act, or its label? ---------------------------------------------------------------

LETTERS = ("L2", "L3")  # schemes whose label is a letter


def label_rule(table: Slots) -> dict[str, Any]:
    """Whether word, letter and place are excluded: the primary contrast established under letters
    alone and in each order, positive in each scheme, and no two schemes established to differ."""
    letters = {slot: count for slot, count in table.items() if slot.scheme in LETTERS}
    schemes, orders = by(table, "scheme"), by(table, "order")
    pairs = difference_entries(table, "scheme")
    checks = {
        "established under letters": bool(letters) and above(effect(letters)),
        "established in each order": len(orders) > 1 and all(map(above, orders.values())),
        "positive in each scheme": len(schemes) > 1 and all(
            (one["value"] or 0) > 0 for one in schemes.values()),
        "no difference of effects between schemes established": not any(
            above(pair) or below(pair) for pair in pairs.values()),
    }
    failed = [name for name, holds in checks.items() if not holds]
    return {"holds": not failed, "why": "; ".join(f"not {name}" for name in failed) or None,
            "schemes": schemes, "orders": orders, "differences": pairs}


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
