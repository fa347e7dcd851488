"""Contrasts of cells over units: the unit is what was drawn, and what one wants to speak beyond.

Outcomes are averaged within a unit and a cell first; a contrast {cell: weight} gives each unit one
number, and what is said of the contrast is said of those. Outcomes lie between 0 and 1.
What decides over several of them stands below.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from .distributions import critical, t_quantile, t_two_sided
from .intervals import wilson_limits
from .permutation import flip_limit, sign_flip_test, too_few_to_flip
from .results import (
    Bounds,
    Contrast,
    Count,
    UnitContrast,
    check_level,
    check_proportion,
    squares,
)

Unit = Cell = Hashable
Tally = dict[Unit, dict[Cell, Count]]
Weights = Mapping[Cell, float]

NO_UNIT = "no unit has an outcome in every cell"
TOO_FEW = "sign flips of {} units exclude nothing: the interval is the possible range"
SIDES = (-1, 1)
NO_CONTRAST = UnitContrast(
    None, None, None, None, {}, [], None, None, [], {}, Bounds(None, None, None, None), NO_UNIT
)
LEAST = 1e-12  # a difference smaller than this is what rounding leaves of 0


def tally(rows: Iterable[tuple[Unit, Cell, float | None]]) -> Tally:
    """Rows (unit, cell, outcome), counted; an outcome is from 0 to 1, or None where it is missing.

    A sum is a whole number exactly where every outcome is 0 or 1.
    """
    outcomes: dict[Unit, dict[Cell, list]] = {}
    for unit, cell, outcome in rows:
        outcomes.setdefault(unit, {}).setdefault(cell, []).append(outcome)
    return {
        unit: {cell: _count(values, unit, cell) for cell, values in cells.items()}
        for unit, cells in outcomes.items()
    }


def _count(outcomes: list[float | None], unit: Unit, cell: Cell) -> Count:
    read = [value for value in outcomes if value is not None]
    for value in set(read):
        if not 0 <= value <= 1:
            raise ValueError(f"outcome: {value!r} of {unit!r} in {cell!r} is not from 0 to 1")
    total = read.count(1)
    if total + read.count(0) < len(read):
        total = math.fsum(read)
    return Count(total, len(read), len(outcomes) - len(read))


def contrast(counts: Tally, weights: Weights, level: float = 0.95) -> UnitContrast:
    """Σ weight × share over the cells, averaged over the units that have an outcome in each.

    Interval: a union. The means that the sign-flip test over units does not reject say how far
    units differ, and cover too seldom where units differ skewly or not at all. So it reaches at
    least as far as one more unit could move the value, and, where outcomes are 0 or 1, as
    Newcombe's score interval of the pooled counts (1998, method 10; for more than two cells Zou &
    Donner 2008); stated beliefs have no answers whose sampling that would count. It never leaves
    the possible range and never has zero width.

    p: the sign-flip test's, None where every difference is 0. Missing outcomes stay out of the
    value; `bounds` counts them against it and for it.
    """
    check_level(level)
    compared = _compared(counts, weights)
    incomplete = [unit for unit in counts if unit not in compared.differences]
    if not compared.differences:
        return NO_CONTRAST._replace(incomplete=incomplete)
    differences, values = compared.differences, compared.values
    value, low, high = _mean(values), *(_limit(compared, level, side) for side in SIDES)
    least = without = None
    if len(values) > 1:
        without = max(differences, key=differences.__getitem__)
        least = _rounded((math.fsum(values) - differences[without]) / (len(values) - 1))
    bounds = Bounds(value, value, low, high)
    if any(each[cell].missing for each in counts.values() for cell in weights if cell in each):
        bounds = _bounds(counts, weights, level)
    return UnitContrast(
        value=value,
        low=low,
        high=high,
        p=sign_flip_test(values).p,
        differences=differences,
        against=[unit for unit, difference in differences.items() if difference * value < 0],
        least=least,
        without=without,
        incomplete=incomplete,
        cells=compared.cells,
        bounds=bounds,
        why=TOO_FEW.format(len(values)) if too_few_to_flip(len(values), level) else None,
    )


def counted_against(counts: Tally, weights: Weights) -> Tally:
    """The tally as if every missing outcome had come out against the contrast (Manski 1990)."""
    return {
        unit: {
            cell: Count(k + missing * (weights.get(cell, 0) < 0), n + missing, 0)
            for cell, (k, n, missing) in cells.items()
        }
        for unit, cells in counts.items()
    }


def log_odds_contrast(counts: Tally, weights: Weights, level: float = 0.95) -> Contrast:
    """Σ weight × log((k + ½)/(n - k + ½)) of the cells' totals, by the jackknife over units.

    Half a success and half a failure are added to each total (Haldane 1956, Anscombe 1956);
    Student's t on units - 1 degrees of freedom (Tukey 1958). A cell whose outcomes are all alike
    is alike without any one unit too: the jackknife sees nothing of it, so the variance of its
    log-odds, 1/(k + ½) + 1/(n - k + ½) (Gart & Zweifel 1967), is added.
    """
    check_level(level)
    _, differences, cells = compared = _compared(counts, weights)
    if len(differences) < 2:
        return Contrast(
            None, None, None, None, None, "fewer than two units" if differences else NO_UNIT
        )
    nothing = dict.fromkeys(cells, Count(0, 0, 0))
    value, *left_out = (
        _log_odds(compared, without)
        for without in [nothing, *(counts[unit] for unit in differences)]
    )
    unseen = [
        weights[cell] ** 2 * (1 / (k + 0.5) + 1 / (n - k + 0.5))
        for cell, (k, n, _) in cells.items()
        if min(k, n - k) < 0.5
    ]
    df = len(differences) - 1
    se = math.sqrt(squares(left_out) * df / (df + 1) + math.fsum(unseen))
    if se <= LEAST:
        return Contrast(value, None, None, df, None, "every unit says the same")
    half = t_quantile((1 + level) / 2, df) * se
    return Contrast(value, value - half, value + half, df, t_two_sided(value / se, df))


class Compared(NamedTuple):
    """A contrast's weights, its value in each unit that has all cells, and the cells' totals."""

    weights: Weights
    differences: dict[Unit, float]
    cells: dict[Cell, Count]

    @property
    def values(self) -> list[float]:
        return list(self.differences.values())


def _compared(counts: Tally, weights: Weights) -> Compared:
    if not weights:
        raise ValueError("weights: a contrast of no cells")
    complete = [
        unit
        for unit, cells in counts.items()
        if all(cell in cells and cells[cell].n for cell in weights)
    ]
    differences = {
        unit: _rounded(
            math.fsum(w * counts[unit][c].k / counts[unit][c].n for c, w in weights.items())
        )
        for unit in complete
    }
    totals = {cell: _total([counts[unit][cell] for unit in complete]) for cell in weights}
    return Compared(weights, differences, totals)


def _total(counts: list[Count]) -> Count:
    ks, ns, missing = zip(*counts, strict=True) if counts else ((), (), ())
    whole = all(isinstance(k, int) for k in ks)
    return Count(sum(ks) if whole else math.fsum(ks), sum(ns), sum(missing))


def _rounded(value: float) -> float:
    return value if abs(value) > LEAST else 0.0


def _mean(values: list[float]) -> float:
    return _rounded(math.fsum(values) / len(values))


def _limit(compared: Compared, level: float, side: int) -> float:
    """The limit that lies further out, within what is possible."""
    reach = max(
        side * flip_limit(compared.values, side, level), side * _least_reach(compared, level, side)
    )
    return side * min(side * _extreme(compared.weights, side), reach)


def _least_reach(compared: Compared, level: float, side: int) -> float:
    """The limit if units did not differ: by one more unit, and by the score interval of 0 and 1."""
    weights, values, cells = compared.weights, compared.values, compared.cells
    one_more = (math.fsum(values) + _extreme(weights, side)) / (len(values) + 1)
    if not all(isinstance(count.k, int) for count in cells.values()):
        return one_more
    z, value, reaches = critical(level), 0.0, []
    for cell, weight in weights.items():
        k, n, _ = cells[cell]
        value += weight * k / n
        reaches.append(max(side * weight * (limit - k / n) for limit in wilson_limits(k, n, z)))
    return side * max(side * one_more, side * value + math.hypot(*reaches))


def _extreme(weights: Weights, side: int) -> float:
    """The smallest or the largest value that the contrast of one unit can have."""
    return float(sum(weight for weight in weights.values() if weight * side > 0))


def _bounds(counts: Tally, weights: Weights, level: float) -> Bounds:
    ends, limits = [], []
    for side in SIDES:
        imputed = counted_against(counts, {c: -side * weight for c, weight in weights.items()})
        compared = _compared(imputed, weights)
        ends.append(_mean(compared.values))
        limits.append(_limit(compared, level, side))
    return Bounds(*ends, *limits)


def _log_odds(compared: Compared, without: Mapping[Cell, Count]) -> float:
    return math.fsum(
        compared.weights[cell]
        * math.log((k - without[cell].k + 0.5) / (n - without[cell].n - k + without[cell].k + 0.5))
        for cell, (k, n, _) in compared.cells.items()
    )


# --- several tests -----------------------------------------------------------------------------

def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values in the given order (Holm 1979). None, no test, stays None, uncounted."""
    for p in p_values:
        if p is not None:
            check_proportion(p, "p_values")
    order = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, i) in enumerate(order):
        largest = max(largest, min(1.0, p * (len(order) - rank)))
        adjusted[i] = largest
    return adjusted
