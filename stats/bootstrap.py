"""The bootstrap interval of a difference of shares, computed wherever it can be."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from random import Random

from .distributions import binomial_pmf
from .results import Bootstrap, count_ones, squares, too_few

Strata = Sequence[Sequence[int]]
Pmf = dict[int, float]  # whole number → its probability, rising

TAILS = 0.025, 0.975
RESAMPLES = 10_000
MOST_POINTS = 400_000  # pairs of values of two distributions: a tenth of a second
NEGLIGIBLE = 1e-22

NO_SPREAD = "every value is the same within each group"


def bootstrap_ci(x: Strata, y: Strata, rng: Random | int = 0) -> Bootstrap:
    """95% percentile interval of a difference of two shares, x - y (Efron 1987).

    A side consists of strata, lists of 0 and 1: outcomes are redrawn within a stratum, and a side
    is the mean of its strata (Davison & Hinkley 1997, 3.2). The ones of a resample are binomial, so
    the distribution of the difference is computed: `exact`, and `resamples` None. Where the strata
    together have too many values, the ones of each are drawn from `rng`. ValueError for an outcome
    that is neither 0 nor 1.
    """
    counts = [(*count_ones(stratum, name), sign * len(side))
              for name, side, sign in (("x", x, 1), ("y", y, -1)) for stratum in side]
    value = math.fsum([k / n / by for k, n, by in counts]) if all(n for _, n, _ in counts) else None
    why = too_few([*x, *y]) or (NO_SPREAD if all(k in (0, n) for k, n, _ in counts) else None)
    if why:
        return Bootstrap(value, None, None, None, None, "percentile", False, why)
    unit = math.lcm(*(n * by for _, n, by in counts))
    parts = [_ones(k, n, unit // (n * by)) for k, n, by in counts]
    together = _sums(parts)
    if together:
        se = math.sqrt(math.fsum(k * (n - k) / n / (n * by) ** 2 for k, n, by in counts))
        low, high = (_quantile(together, p) / unit for p in TAILS)
        return Bootstrap(value, low, high, se, None, "percentile", True)
    values = _drawn(parts, unit, rng if isinstance(rng, Random) else Random(rng))
    se = math.sqrt(squares(values) / (RESAMPLES - 1))
    low, high = (_interpolated(values, p) for p in TAILS)
    return Bootstrap(value, low, high, se, RESAMPLES, "percentile", False)


def _ones(k: int, n: int, step: int) -> Pmf:
    """The ones of a resample, `step` for each."""
    return {i * step: p for i, p in enumerate(binomial_pmf(n, k / n)) if p > NEGLIGIBLE}


def _sums(parts: list[Pmf]) -> Pmf | None:
    """The distribution of the sum of independent numbers; None where it has too many values."""
    together: Pmf = {0: 1.0}
    for part in parts:
        if len(together) * len(part) > MOST_POINTS:
            return None
        merged: Pmf = {}
        for total, chance in together.items():
            for other, p in part.items():
                merged[total + other] = merged.get(total + other, 0.0) + chance * p
        together = merged
    return dict(sorted(together.items()))


def _quantile(pmf: Pmf, p: float) -> int:
    cumulated = list(accumulate(pmf.values()))
    return list(pmf)[bisect_left(cumulated, p * cumulated[-1])]


def _drawn(parts: list[Pmf], unit: int, rng: Random) -> list[float]:
    columns = [rng.choices(list(pmf), cum_weights=list(accumulate(pmf.values())), k=RESAMPLES)
               for pmf in parts]
    return sorted(sum(row) / unit for row in zip(*columns, strict=True))


def _interpolated(values: list[float], p: float) -> float:
    place = p * (len(values) - 1)
    low, high = values[int(place)], values[int(place) + 1]
    return low + (high - low) * (place - int(place))
