"""Contrasts of cells over what was drawn: the bulletins, and the wordings of their sentences.

Both are samples of what one wants to speak about, so outcomes are averaged inside a unit first,
and an interval has to cover both. Outcomes lie between 0 and 1.
What decides over several contrasts stands below.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from .distributions import critical, t_quantile
from .intervals import wilson_limits
from .results import (
    Bounds,
    Count,
    UnitContrast,
    check_choice,
    check_level,
    check_proportion,
    mean,
    variance,
)

Cell = Hashable
Pair = tuple[Hashable, Hashable]  # bulletin, wording
Tally = dict[Pair, dict[Cell, Count]]
Weights = Mapping[Cell, float]

BULLETIN, WORDING = 0, 1  # of a pair
OVER = ("units", "bulletins")
NO_UNIT = "no bulletin has an outcome in every cell"
SINGLE_UNIT = "one bulletin only"
LEAST = 1e-12  # a difference smaller than this is what rounding leaves of 0
CONVERGED = 1e-10
LEAST_DF = 3
NOTHING = Count(0, 0, 0)


class Table(NamedTuple):
    """A tally as columns: one list a cell of the contrast, one entry a pair."""

    pairs: list[Pair]
    weights: list[float]
    k: list[list[float]]
    n: list[list[int]]
    missing: list[list[int]]

    def at(self, rows: list[int]) -> "Table":
        """These rows alone."""
        if len(rows) == len(self.pairs):
            return self
        columns = ([[column[i] for i in rows] for column in part] for part in self[2:])
        return Table([self.pairs[i] for i in rows], self.weights, *columns)


def tally(rows: Iterable[tuple[Pair, Cell, float | None]]) -> Tally:
    """Rows ((bulletin, wording), cell, outcome), counted; None is an outcome that is missing.

    A sum is a whole number exactly where every outcome is 0 or 1. ValueError for an outcome that
    is not from 0 to 1.
    """
    outcomes: dict[Pair, dict[Cell, list]] = {}
    for pair, cell, outcome in rows:
        outcomes.setdefault(pair, {}).setdefault(cell, []).append(outcome)
    return {
        pair: {cell: _count(values, pair, cell) for cell, values in cells.items()}
        for pair, cells in outcomes.items()
    }


def _count(outcomes: list[float | None], pair: Pair, cell: Cell) -> Count:
    read = [value for value in outcomes if value is not None]
    for value in set(read):
        if not 0 <= value <= 1:
            raise ValueError(f"outcome: {value!r} of {pair!r} in {cell!r} is not from 0 to 1")
    total = read.count(1)
    if total + read.count(0) < len(read):
        total = math.fsum(read)
    return Count(total, len(read), len(outcomes) - len(read))


def counted_against(counts: Tally, weights: Weights) -> Tally:
    """The tally as if every missing outcome had come out against the contrast (Manski 1990)."""
    return {
        pair: {
            cell: Count(k + missing * (weights.get(cell, 0) < 0), n + missing, 0)
            for cell, (k, n, missing) in cells.items()
        }
        for pair, cells in counts.items()
    }


def contrast(
    counts: Tally, weights: Weights, level: float = 0.95, over: str = "units"
) -> UnitContrast:
    """Σ weight × share over the cells, averaged over the bulletins that have an outcome in each.

    Interval: value ± t × se, se² the variance of the mean over bulletins and wordings; where these
    are crossed its sum over the two, less the noise that both hold (Cameron, Gelbach & Miller
    2011), with Satterthwaite's (1946) degrees of freedom. Where not, the wider of the two. Each
    limit reaches at least as far as the joined score intervals of the pooled cells (Newcombe 1998,
    method 10; for more cells Zou & Donner 2008), and never leaves the possible range.
    `over="bulletins"`: Student's t over bulletins alone, without that reach, for a condition that
    withholds a claim and must not hold because the interval is wide.

    Missing outcomes stay out of the value and its interval; `bounds` has the limits with each of
    them set against its side. ValueError for no weights, and for a level not between 0 and 1.
    """
    check_level(level)
    check_choice(over, OVER, "over")
    if not weights:
        raise ValueError("weights: a contrast of no cells")
    table = _table(counts, weights)
    result = _contrast(table, weights, level, over)
    if not any(map(any, table.missing)):
        return result
    used = {pair: {c: cells[c] for c in weights if c in cells} for pair, cells in counts.items()}
    against, favouring = (
        _contrast(_table(counted_against(used, sides), weights), weights, level, over)
        for sides in (weights, {cell: -weight for cell, weight in weights.items()})
    )
    return result._replace(bounds=Bounds(against.low, favouring.high))


def _contrast(table: Table, weights: Weights, level: float, over: str) -> UnitContrast:
    """The contrast of what was read."""
    by_bulletin = _by_unit(table, BULLETIN)
    table = table.at([i for i, pair in enumerate(table.pairs) if pair[BULLETIN] in by_bulletin])
    by_wording = _by_unit(table, WORDING)
    result = UnitContrast(
        value=_rounded(mean(list(by_bulletin.values()))) if by_bulletin else None,
        low=None,
        high=None,
        se=None,
        df=None,
        level=level,
        limit_by=None,
        units=len(by_bulletin),
        wordings=len(by_wording),
        by_bulletin=by_bulletin,
        by_wording=by_wording,
        cells=dict(zip(weights, map(_total, table.k, table.n, table.missing), strict=True)),
        bounds=Bounds(None, None),
        why=SINGLE_UNIT if by_bulletin else NO_UNIT,
    )
    if len(by_bulletin) < 2:
        return result
    spread = _spread(result, table, over)
    low, limit_by = _limit(result, weights, spread, -1, over)
    high, _ = _limit(result, weights, spread, 1, over)
    return result._replace(
        low=low,
        high=high,
        se=spread.se,
        df=spread.df,
        limit_by=limit_by,
        bounds=Bounds(low, high),
        why=None,
    )


# --- counts and values by unit -------------------------------------------------------------------

def _table(counts: Tally, weights: Weights) -> Table:
    columns = [[cells.get(cell, NOTHING) for cells in counts.values()] for cell in weights]
    parts = ([[count[part] for count in column] for column in columns] for part in range(3))
    return Table(list(counts), list(weights.values()), *parts)


def _by_unit(table: Table, part: int) -> dict[Hashable, float]:
    """The contrast in each bulletin, or wording, that has a readable outcome in every cell."""
    values = {}
    for unit, rows in _rows_of(table.pairs, part).items():
        counts = [sum([n[i] for i in rows]) for n in table.n]
        if all(counts):
            sums = [math.fsum([k[i] for i in rows]) for k in table.k]
            terms = zip(table.weights, sums, counts, strict=True)
            values[unit] = _rounded(math.fsum([w * k / n for w, k, n in terms]))
    return values


def _blocks(table: Table) -> tuple[list[Pair], list[float]]:
    """The pairs that hold every cell, and the contrast in each."""
    table = table.at([i for i, counts in enumerate(zip(*table.n, strict=True)) if all(counts)])
    cells = zip(table.weights, table.k, table.n, strict=True)
    terms = [[w * k / n for k, n in zip(ks, ns, strict=True)] for w, ks, ns in cells]
    return table.pairs, [_rounded(math.fsum(row)) for row in zip(*terms, strict=True)]


def _rows_of(pairs: list[Pair], part: int) -> dict[Hashable, list[int]]:
    rows: dict[Hashable, list[int]] = {}
    for i, pair in enumerate(pairs):
        rows.setdefault(pair[part], []).append(i)
    return rows


def _total(ks: list[float], ns: list[int], missing: list[int]) -> Count:
    k = sum(ks)
    return Count(k if isinstance(k, int) else math.fsum(ks), sum(ns), sum(missing))


def _rounded(value: float) -> float:
    return value if abs(value) > LEAST else 0.0


# --- the variance of the mean --------------------------------------------------------------------

class Spread(NamedTuple):
    """A value's standard error and the rule behind it; `df` may be None where `se` is 0."""

    se: float
    df: float | None
    rule: str

    def half(self, level: float) -> float:
        """Half the width of the interval at this level."""
        return self.se * t_quantile((1 + level) / 2, self.df) if self.se else 0.0


def _spread(result: UnitContrast, table: Table, over: str) -> Spread:
    """Over bulletins and wordings at once where they are crossed, else over the wider of the two;
    where no wording is repeated, wordings are in the bulletins."""
    bulletins = _of_means(result.by_bulletin.values(), "bulletins")
    if over == "bulletins":
        return bulletins
    crossed = _crossed(*_blocks(table))
    if crossed or not 2 <= result.wordings < len(table.pairs):
        return crossed or bulletins
    wordings = _of_means(result.by_wording.values(), "wordings")
    return max(bulletins, wordings, key=lambda spread: spread.half(result.level))


def _of_means(values: Iterable[float], rule: str) -> Spread:
    values = list(values)
    return Spread(math.sqrt(variance(values) / len(values)), len(values) - 1, rule)


def _crossed(pairs: list[Pair], values: list[float]) -> Spread | None:
    """From the value of each pair; None where two-way residuals have no degree of freedom.

    These number n - bulletins - wordings + 1 also where few blocks a bulletin split the layout
    into parts: by simulation, that is nearer to the true standard error than one more a part.
    """
    groupings = [list(_rows_of(pairs, part).values()) for part in (BULLETIN, WORDING)]
    n, units = len(values), [len(groups) for groups in groupings]
    free = n - sum(units) + 1
    if not n or free < 1:
        return None
    parts = [
        variance([mean([values[i] for i in rows]) for rows in groups]) / len(groups)
        for groups in groupings
    ]
    noise = math.fsum([e * e for e in _residuals(values, groupings)]) / (free * n)
    total = max(math.fsum([*parts, -noise]), *parts)
    se = _rounded(math.sqrt(total))
    if not se:
        return Spread(se, None, "crossed")
    by_df = math.fsum([part**2 / (unit - 1) for part, unit in zip(parts, units, strict=True)])
    return Spread(se, max(LEAST_DF, total**2 / by_df), "crossed")


def _residuals(values: list[float], groupings: list[list[list[int]]]) -> list[float]:
    """Least-squares residuals on both groupings: their means are subtracted in turn."""
    left, moved = list(values), math.inf
    while moved > CONVERGED:
        moved = 0.0
        for rows in (rows for groups in groupings for rows in groups):
            centre = mean([left[i] for i in rows])
            moved = max(moved, abs(centre))
            for i in rows:
                left[i] -= centre
    return left


# --- limits --------------------------------------------------------------------------------------

def _limit(
    result: UnitContrast, weights: Weights, spread: Spread, side: int, over: str
) -> tuple[float, str]:
    """The lower (`side` -1) or upper (1) limit, and the rule that set it."""
    reach, rule = spread.half(result.level), spread.rule
    pooled = _score_reach(result, weights, side) if over == "units" else 0.0
    if pooled > reach:
        reach, rule = pooled, "pooled"
    limit = result.value + side * reach
    extreme = math.fsum([weight for weight in weights.values() if weight * side > 0])
    return (extreme, "range") if side * (limit - extreme) > 0 else (_rounded(limit), rule)


def _score_reach(result: UnitContrast, weights: Weights, side: int) -> float:
    """How far a limit lies from the value if every decision were drawn by itself."""
    z, squares = critical(result.level), []
    for cell, weight in weights.items():
        k, n, _ = result.cells[cell]
        limit = wilson_limits(k, n, z)[weight * side > 0]
        squares.append((weight * (k / n - limit)) ** 2)
    return math.sqrt(math.fsum(squares))


# --- several tests -------------------------------------------------------------------------------

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
