"""Estimate the difference between experimental conditions, with an interval over texts
(`contrast`), and apply Holm's correction.

A cell is one condition. Bulletins (texts) and sentence wordings were sampled, and
results are to hold beyond them. So outcomes (0 to 1) are averaged within a bulletin,
and the interval covers the variation of both.
"""

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple, TypeVar

from .distributions import normal_quantile, t_quantile
from .intervals import wilson_limits
from .results import Bounds, Count, UnitContrast, check_level, check_proportion

Cell = Hashable
Unit = Hashable  # the name of a bulletin or of a wording
Pair = tuple[Unit, Unit]  # (name of the bulletin, name of the wording); a block
Tally = dict[Pair, dict[Cell, Count]]
Weights = Mapping[Cell, float]
Blocks = Mapping[Pair, list[Count]]  # pair → a count for each weighted cell, in order
Key = TypeVar("Key", bound=Hashable)  # a pair or a unit

BULLETIN, WORDING = 0, 1  # places in a Pair
NO_UNIT = "no bulletin has an outcome in every cell"
SINGLE_UNIT = "one bulletin only"
LEAST = 1e-12  # a smaller difference is taken as 0: it comes from rounding
CONVERGED = 1e-10
LEAST_DF = 3
NOTHING = Count(0, 0, 0)


def tally(rows: Iterable[tuple[Pair, Cell, float | None]]) -> Tally:
    """Count the outcomes of rows ((bulletin, wording), cell, outcome); None is a missing outcome.

    A sum is a whole number exactly where every outcome is 0 or 1. ValueError for an outcome that is
    not from 0 to 1.
    """
    outcomes: dict[Pair, dict[Cell, list[float | None]]] = {}
    for pair, cell, outcome in rows:
        outcomes.setdefault(pair, {}).setdefault(cell, []).append(outcome)
    counts: Tally = {}
    for pair, cells in outcomes.items():
        counts[pair] = {cell: _count(some, pair, cell) for cell, some in cells.items()}
    return counts


def _count(outcomes: list[float | None], pair: Pair, cell: Cell) -> Count:
    """The `Count` of the outcomes of one cell in one block."""
    read = [value for value in outcomes if value is not None]
    kinds = set(read)
    for value in kinds:
        if not 0 <= value <= 1:
            told = f"{value!r} of {pair!r} in {cell!r}"
            raise ValueError(f"outcome: {told} is not from 0 to 1")
    total = read.count(1) if kinds <= {0, 1} else math.fsum(read)
    return Count(total, len(read), len(outcomes) - len(read))


def counted_against(counts: Tally, weights: Weights) -> Tally:
    """The counts of the weighted cells if every missing outcome had gone against the contrast
    (Manski 1990): as 1 in a cell of negative weight, as 0 in the others."""
    against: Tally = {pair: {} for pair in counts}
    for pair, cells in counts.items():
        for cell, weight in weights.items():
            if cell not in cells:
                continue
            count = cells[cell]
            if count.missing:
                k, n, missing = count
                added = missing if weight < 0 else 0
                count = Count(k + added, n + missing, 0)
            against[pair][cell] = count
    return against


def contrast(counts: Tally, weights: Weights, level: float = 0.95) -> UnitContrast:
    """Σ weight × share over the cells, averaged over the bulletins that have an outcome in each
    cell.

    The interval is value ± t × se. se² is the variance of the mean over bulletins and wordings.
    Where bulletins and wordings are crossed, it is the sum of the two variances less the noise that
    both hold (Cameron, Gelbach & Miller 2011), with Satterthwaite's (1946) degrees of freedom.
    Where they are not, one interval is made with each variance, and the wider is taken. A limit is never nearer to the
    value than it would be if every decision were independent (Newcombe 1998, method 10; for more
    than two cells Zou & Donner 2008), and never beyond the possible range.

    Missing outcomes enter neither the value nor its interval; `bounds` has the lower limit with all
    of them counted against the contrast, and the upper one with all of them counted for it.
    ValueError for no weights, and for a level not between 0 and 1.
    """
    check_level(level)
    if not weights:
        raise ValueError("weights: a contrast of no cells")
    result = _of_what_was_read(counts, weights, level)
    if not _missing(counts, weights):
        return result
    opposite = {cell: -weight for cell, weight in weights.items()}
    against = _of_what_was_read(counted_against(counts, weights), weights, level)
    favouring = _of_what_was_read(counted_against(counts, opposite), weights, level)
    return result._replace(bounds=Bounds(against.low, favouring.high))


def _missing(counts: Tally, weights: Weights) -> bool:
    """Whether a weighted cell has a missing outcome."""
    for cells in counts.values():
        for cell in weights:
            if cell in cells and cells[cell].missing:
                return True
    return False


def _of_what_was_read(counts: Tally, weights: Weights, level: float) -> UnitContrast:
    """The contrast of the outcomes that are not missing."""
    blocks = {}
    for pair, cells in counts.items():
        blocks[pair] = [cells.get(cell, NOTHING) for cell in weights]
    totals = _totals(blocks, BULLETIN)
    by_bulletin = _values(totals, weights)
    used = {pair: cells for pair, cells in blocks.items() if pair[0] in by_bulletin}
    by_wording = _values(_totals(used, WORDING), weights)
    units = len(by_bulletin)
    result = UnitContrast(
        value=None,
        low=None,
        high=None,
        se=None,
        df=None,
        level=level,
        limit_by=None,
        units=units,
        wordings=len(by_wording),
        by_bulletin=by_bulletin,
        by_wording=by_wording,
        bounds=Bounds(None, None),
    )
    if units == 0:
        return result._replace(why=NO_UNIT)
    value = _rounded(math.fsum(by_bulletin.values()) / units)
    if units == 1:
        return result._replace(value=value, why=SINGLE_UNIT)
    spread = _over_units(used, by_bulletin, by_wording, weights, level)
    pooled = [totals[unit] for unit in by_bulletin]
    low, high, limit_by = _limits(value, spread, weights, pooled, level)
    return result._replace(
        value=value,
        low=low,
        high=high,
        se=spread.se,
        df=spread.df,
        limit_by=limit_by,
        bounds=Bounds(low, high),
    )


# --- values by unit ------------------------------------------------------------------------------


def _totals(blocks: Blocks, part: int) -> dict[Unit, list[Count]]:
    """Add up the counts of each bulletin (`part` BULLETIN), or of each wording (`part` WORDING)."""
    groups: dict[Unit, list[list[Count]]] = {}
    for pair, cells in blocks.items():
        groups.setdefault(pair[part], []).append(cells)
    totals = {}
    for unit, group in groups.items():
        totals[unit] = [_total(column) for column in zip(*group, strict=True)]
    return totals


def _total(counts: Sequence[Count]) -> Count:
    """The sum of several counts, field by field."""
    k, n, missing = zip(*counts, strict=True)
    return Count(math.fsum(k), sum(n), sum(missing))


def _values(blocks: Mapping[Key, list[Count]], weights: Weights) -> dict[Key, float]:
    """Σ weight × share of each unit that has an outcome in every cell; other units are left out."""
    values: dict[Key, float] = {}
    for unit, cells in blocks.items():
        if all(count.n for count in cells):
            pairs = zip(weights.values(), cells, strict=True)
            terms = [weight * count.k / count.n for weight, count in pairs]
            values[unit] = _rounded(math.fsum(terms))
    return values


def _rounded(value: float) -> float:
    return value if abs(value) > LEAST else 0.0


# --- the variance of the mean --------------------------------------------------------------------


class Spread(NamedTuple):
    """Half the width of an interval, its standard error and degrees of freedom, and the `rule` that
    it follows. `df` is None where no value differs between crossed units."""

    half: float
    se: float
    df: float | None
    rule: str


def _over_units(
    used: Blocks,
    by_bulletin: Mapping[Unit, float],
    by_wording: Mapping[Unit, float],
    weights: Weights,
    level: float,
) -> Spread:
    """The interval over bulletins; over wordings too, where a bulletin was read in several of them."""
    bulletins = _over(by_bulletin.values(), "bulletins", level)
    if not 2 <= len(by_wording) < len(used):
        return bulletins
    crossed = _crossed(_values(used, weights), level)
    if crossed is not None:
        return crossed
    wordings = _over(by_wording.values(), "wordings", level)
    return max(bulletins, wordings, key=attrgetter("half"))


def _over(values: Collection[float], rule: str, level: float) -> Spread:
    """The interval for the mean of `values`, taken as independent; `rule` names it."""
    return _spread(_variance(values), len(values) - 1, rule, level)


def _spread(variance: float, df: float | None, rule: str, level: float) -> Spread:
    """Turn the variance of a mean into a `Spread`: its standard error, and the half
    width of its t interval with `df` degrees of freedom. The half width is 0 if the
    variance is."""
    se = _rounded(math.sqrt(variance))
    half = 0.0
    if se:
        half = se * t_quantile((1 + level) / 2, df)
    return Spread(half, se, df, rule)


def _variance(values: Collection[float]) -> float:
    """The variance of the mean of at least two values."""
    n = len(values)
    centre = math.fsum(values) / n
    return math.fsum([(value - centre) ** 2 for value in values]) / (n - 1) / n


def _crossed(by_block: Mapping[Pair, float], level: float) -> Spread | None:
    """The interval over crossed bulletins and wordings; None where no degree of freedom is left for
    the noise.

    The noise has n - bulletins - wordings + 1 degrees of freedom. Few blocks may fall into parts
    that share no bulletin and no wording; each further part would add a degree, but by simulation
    the standard error is less exact with it.
    """
    values, n = list(by_block.values()), len(by_block)
    bulletins, wordings = _groups(by_block, BULLETIN), _groups(by_block, WORDING)
    free = n - len(bulletins) - len(wordings) + 1
    if not n or free < 1:
        return None
    vb = _variance([_mean_at(rows, values) for rows in bulletins])
    vw = _variance([_mean_at(rows, values) for rows in wordings])
    residuals = _residuals(values, [*bulletins, *wordings])
    vr = math.fsum([e * e for e in residuals]) / (free * n)
    whole = max(math.fsum([vb, vw, -vr]), vb, vw)
    df = None
    if whole > LEAST**2:
        by_df = math.fsum([vb**2 / (len(bulletins) - 1), vw**2 / (len(wordings) - 1)])
        df = max(LEAST_DF, whole**2 / by_df)
    return _spread(whole, df, "crossed", level)


def _groups(by_block: Mapping[Pair, float], part: int) -> list[list[int]]:
    """The numbers of the blocks of each bulletin (`part` BULLETIN), or of each wording."""
    groups: dict[Unit, list[int]] = {}
    for number, pair in enumerate(by_block):
        groups.setdefault(pair[part], []).append(number)
    return list(groups.values())


def _mean_at(rows: list[int], values: list[float]) -> float:
    """The mean of `values` at these places."""
    return math.fsum([values[row] for row in rows]) / len(rows)


def _residuals(values: list[float], groups: list[list[int]]) -> list[float]:
    """What least squares on all groups leaves of the values: the means of the groups are subtracted
    in turn until they no longer move."""
    left, moved = list(values), math.inf
    while moved > CONVERGED:
        moved = 0.0
        for rows in groups:
            centre = _mean_at(rows, left)
            moved = max(moved, abs(centre))
            for row in rows:
                left[row] -= centre
    return left


# --- limits --------------------------------------------------------------------------------------


def _limits(
    value: float,
    spread: Spread,
    weights: Weights,
    units: list[list[Count]],
    level: float,
) -> tuple[float, float, str]:
    """The lower and the upper limit, and the name of the rule that set the lower one."""
    below, above = _pooled(weights, units, normal_quantile((1 + level) / 2))
    least = math.fsum([weight for weight in weights.values() if weight < 0])
    most = math.fsum([weight for weight in weights.values() if weight > 0])
    low, rule = _limit(value, -1, spread, below, least)
    high, _ = _limit(value, 1, spread, above, most)
    return low, high, rule


def _pooled(
    weights: Weights, units: list[list[Count]], z: float
) -> tuple[float, float]:
    """How far below and above the value the limits would lie if every decision were independent."""
    below, above = [], []
    columns = zip(*units, strict=True)
    for weight, counts in zip(weights.values(), columns, strict=True):
        k, n, _ = _total(counts)
        low, high = wilson_limits(k, n, z)
        down, up = weight * (k / n - low), weight * (k / n - high)
        if weight < 0:
            down, up = up, down
        below.append(down**2)
        above.append(up**2)
    return math.sqrt(math.fsum(below)), math.sqrt(math.fsum(above))


def _limit(
    value: float, side: int, spread: Spread, pooled: float, extreme: float
) -> tuple[float, str]:
    """The limit on one side (-1 below, 1 above), and the rule that set it. No value can lie beyond
    `extreme`."""
    reach, rule = spread.half, spread.rule
    if pooled > reach:
        reach, rule = pooled, "pooled"
    limit = value + side * reach
    if side * (limit - extreme) > 0:
        return extreme, "range"
    return _rounded(limit), rule


# --- several tests -------------------------------------------------------------------------------


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's (1979) adjusted p-values, in the given order. None, where a test was not possible,
    stays None and does not count as a test."""
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
