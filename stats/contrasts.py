"""Contrasts of cells over what was drawn: the bulletins, and the wordings of their sentences.

Both are samples of what one wants to speak about, so outcomes are averaged inside a unit first,
and an interval has to cover both. Outcomes lie between 0 and 1.
What decides over several contrasts stands below.
"""

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from .distributions import normal_quantile, t_quantile
from .intervals import wilson_limits
from .results import Bounds, Count, UnitContrast, check_level, check_proportion

Cell = Hashable
Pair = tuple[Hashable, Hashable]  # bulletin, wording
Tally = dict[Pair, dict[Cell, Count]]
Weights = Mapping[Cell, float]
Blocks = Mapping[
    Hashable, list[Count]
]  # the counts of each weighted cell, by pair or unit

BULLETIN, WORDING = 0, 1  # of a pair
NO_UNIT = "no bulletin has an outcome in every cell"
SINGLE_UNIT = "one bulletin only"
LEAST = 1e-12  # a difference smaller than this is what rounding leaves of 0
CONVERGED = 1e-10
LEAST_DF = 3
NOTHING = Count(0, 0, 0)


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
            raise ValueError(
                f"outcome: {value!r} of {pair!r} in {cell!r} is not from 0 to 1"
            )
    total = read.count(1) if set(read) <= {0, 1} else math.fsum(read)
    return Count(total, len(read), len(outcomes) - len(read))


def counted_against(counts: Tally, weights: Weights) -> Tally:
    """The weighted cells as if every missing outcome had come out against the contrast (Manski
    1990)."""
    against: Tally = {pair: {} for pair in counts}
    for pair, cells in counts.items():
        for cell, weight in weights.items():
            if cell in cells:
                k, n, missing = count = cells[cell]
                against[pair][cell] = (
                    Count(k + missing * (weight < 0), n + missing, 0)
                    if missing
                    else count
                )
    return against


def contrast(
    counts: Tally, weights: Weights, level: float = 0.95, bulletins_alone: bool = False
) -> UnitContrast:
    """Σ weight × share over the cells, averaged over the bulletins that have an outcome in each.

    Interval: value ± t × se, se² the variance of the mean over bulletins and wordings; where these
    are crossed its sum over the two, less the noise that both hold (Cameron, Gelbach & Miller
    2011), with Satterthwaite's (1946) degrees of freedom. Where not, the wider of the two. Each
    limit reaches at least as far as the joined score intervals of the pooled cells (Newcombe 1998,
    method 10; for more cells Zou & Donner 2008), and never leaves the possible range.
    `bulletins_alone`: Student's t over bulletins, without that reach, for a condition that
    withholds a claim and must not hold because the interval is wide.

    Missing outcomes stay out of the value and its interval; `bounds` has the limits with each of
    them set against its side. ValueError for no weights, and for a level not between 0 and 1.
    """
    check_level(level)
    if not weights:
        raise ValueError("weights: a contrast of no cells")
    blocks = {
        pair: [cells.get(cell, NOTHING) for cell in weights]
        for pair, cells in counts.items()
    }
    totals = _totals(blocks, BULLETIN)
    by_bulletin = _values(totals, weights)
    used = {
        pair: cells for pair, cells in blocks.items() if pair[BULLETIN] in by_bulletin
    }
    by_wording, units = _values(_totals(used, WORDING), weights), len(by_bulletin)
    value = _rounded(math.fsum(by_bulletin.values()) / units) if units else None
    low = high = se = df = limit_by = None
    if units > 1:
        spread = _spread(_variance(by_bulletin.values()), units - 1, "bulletins", level)
        if not bulletins_alone and 2 <= len(by_wording) < len(used):
            wordings = len(by_wording) - 1, "wordings", level
            spread = _crossed(_values(used, weights), level) or max(
                spread,
                _spread(_variance(by_wording.values()), *wordings),
                key=itemgetter(0),
            )
        pooled = [] if bulletins_alone else [totals[unit] for unit in by_bulletin]
        low, high, limit_by = _limits(value, spread, weights, pooled, level)
        se, df = spread.se, spread.df
    result = UnitContrast(
        value,
        low,
        high,
        se,
        df,
        level,
        limit_by,
        units,
        len(by_wording),
        by_bulletin,
        by_wording,
        bounds=Bounds(low, high),
        why=None if units > 1 else SINGLE_UNIT if units else NO_UNIT,
    )
    if any(count.missing for cells in totals.values() for count in cells):
        against, favouring = (
            contrast(counted_against(counts, sides), weights, level, bulletins_alone)
            for sides in (weights, {cell: -weight for cell, weight in weights.items()})
        )
        result = result._replace(bounds=Bounds(against.low, favouring.high))
    return result


# --- values by unit ------------------------------------------------------------------------------


def _totals(blocks: Blocks, part: int) -> Blocks:
    """The counts of each bulletin, or wording."""
    groups: dict[Hashable, list[list[Count]]] = {}
    for pair, cells in blocks.items():
        groups.setdefault(pair[part], []).append(cells)
    totals = {}
    for unit, group in groups.items():
        columns = [zip(*counts, strict=True) for counts in zip(*group, strict=True)]
        totals[unit] = [
            Count(math.fsum(k), sum(n), sum(missing)) for k, n, missing in columns
        ]
    return totals


def _values(blocks: Blocks, weights: Weights) -> dict[Hashable, float]:
    """The contrast in each unit that has a readable outcome in every cell."""
    values, parts = {}, list(weights.values())
    for unit, cells in blocks.items():
        terms = [w * k / n for w, (k, n, _) in zip(parts, cells, strict=True) if n]
        if len(terms) == len(parts):
            values[unit] = _rounded(math.fsum(terms))
    return values


def _rounded(value: float) -> float:
    return value if abs(value) > LEAST else 0.0


# --- the variance of the mean --------------------------------------------------------------------


class Spread(NamedTuple):
    """Half the width of an interval, and where it comes from; `df` is None where nothing varies
    between crossed units."""

    half: float
    se: float
    df: float | None
    rule: str


def _spread(variance: float, df: float | None, rule: str, level: float) -> Spread:
    se = _rounded(math.sqrt(variance))
    return Spread(se and se * t_quantile((1 + level) / 2, df), se, df, rule)


def _variance(values: Collection[float]) -> float:
    """The variance of the mean of at least two units."""
    n = len(values)
    centre = math.fsum(values) / n
    return math.fsum([(value - centre) ** 2 for value in values]) / (n - 1) / n


def _crossed(by_block: Mapping[Pair, float], level: float) -> Spread | None:
    """From the value of each block; None where two-way residuals have no degree of freedom.

    These number n - bulletins - wordings + 1 also where few blocks a bulletin split the layout
    into parts: by simulation, that is nearer to the true standard error than one more a part.
    """
    values, n = list(by_block.values()), len(by_block)
    groupings: tuple[dict, dict] = {}, {}
    for i, (bulletin, wording) in enumerate(by_block):
        groupings[BULLETIN].setdefault(bulletin, []).append(i)
        groupings[WORDING].setdefault(wording, []).append(i)
    free = n - sum(map(len, groupings)) + 1
    if not n or free < 1:
        return None
    parts = [
        _variance(
            [
                math.fsum([values[i] for i in rows]) / len(rows)
                for rows in groups.values()
            ]
        )
        for groups in groupings
    ]
    residuals = _residuals(
        values, [rows for groups in groupings for rows in groups.values()]
    )
    noise = math.fsum([e * e for e in residuals]) / (free * n)
    whole = max(math.fsum([*parts, -noise]), *parts)
    by_df = math.fsum(
        [
            part**2 / (len(groups) - 1)
            for part, groups in zip(parts, groupings, strict=True)
        ]
    )
    df = max(LEAST_DF, whole**2 / by_df) if whole > LEAST**2 else None
    return _spread(whole, df, "crossed", level)


def _residuals(values: list[float], groups: list[list[int]]) -> list[float]:
    """Least-squares residuals on all groups: their means are subtracted in turn."""
    left, moved = list(values), math.inf
    while moved > CONVERGED:
        moved = 0.0
        for rows in groups:
            centre = math.fsum([left[i] for i in rows]) / len(rows)
            moved = max(moved, abs(centre))
            for i in rows:
                left[i] -= centre
    return left


def _limits(
    value: float,
    spread: Spread,
    weights: Weights,
    units: list[list[Count]],
    level: float,
) -> tuple[float, float, str]:
    """The limits, and the rule that set the lower. They lie at least as far from the value as if
    every decision of `units`, if any, were drawn by itself."""
    z = normal_quantile((1 + level) / 2)
    squares: tuple[list, list] = [], []
    for weight, counts in zip(weights.values(), zip(*units, strict=True), strict=False):
        k, n = (
            math.fsum([count.k for count in counts]),
            sum([count.n for count in counts]),
        )
        ends = wilson_limits(k, n, z)
        for part, end in zip(squares, ends if weight > 0 else ends[::-1], strict=True):
            part.append((weight * (k / n - end)) ** 2)
    limits, rules = [], []
    for side, part in zip((-1, 1), squares, strict=True):
        pooled = math.sqrt(math.fsum(part))
        reach, rule = (
            (pooled, "pooled") if pooled > spread.half else (spread.half, spread.rule)
        )
        extreme = math.fsum(
            [weight for weight in weights.values() if weight * side > 0]
        )
        beyond = side * (value + side * reach - extreme) > 0
        limits.append(extreme if beyond else _rounded(value + side * reach))
        rules.append("range" if beyond else rule)
    return *limits, rules[0]


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
