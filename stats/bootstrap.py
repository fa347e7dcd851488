"""Bootstrap intervals: percentile and BCa, sampled or computed.

The bootstrap distribution of a mean of few-valued data (0/1, a short scale) is a convolution: it
is computed, and no seed shows in it. Everything else is resampled.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, islice
from operator import truediv
from random import Random
from statistics import median
from typing import NamedTuple

from . import results
from .distributions import add_pmfs, binomial_pmf, normal_cdf, normal_quantile, self_convolve
from .results import Bootstrap, numbers

SAMPLES = {"mean": 1, "mean_difference": 2, "median": 1}  # how many each takes
Statistic = Callable[..., float]
MOST_POINTS = 400_000  # pairs of values of two distributions: a tenth of a second
MOST_WIDTH = 2_000  # n times the range of the values in their common unit
NEGLIGIBLE = 1e-22

NO_SPREAD = "every value is the same within each group"
OUTSIDE = "the estimate lies outside its own bootstrap distribution, so BCa has no bias correction"
NO_ACCELERATION = "leaving out any one value changes nothing, so BCa has no acceleration"


def bootstrap_ci(
    samples: tuple[Sequence, ...],
    statistic: str | Statistic,
    resamples: int = 10_000,
    level: float = 0.95,
    method: str = "bca",
    rng: Random | int = 0,
) -> Bootstrap:
    """Bootstrap interval of a statistic of one or two samples (Efron 1987 for BCa).

    `samples` is a tuple of one or two sequences; `statistic` takes them in that order, or is
    "mean", "mean_difference" or "median". For a mean or a difference of means a sample may consist
    of strata, a sequence of lists: values are resampled within each, and each weighs the same
    (Davison & Hinkley 1997, 3.2). Ties with the estimate count half in BCa's bias correction, the
    acceleration is jackknifed in every sample, percentiles are interpolated. Means of few-valued
    data are computed by convolution: `exact`, and `resamples` None.
    """
    results.check_level(level)
    results.check_choice(method, ("bca", "percentile"), "method")
    if resamples < 2:
        raise ValueError(f"resamples: {resamples!r} is fewer than two")
    samples, statistic, sizes = _read(samples, statistic)
    value = statistic(*samples) if all(samples) else None
    why = results.too_few(samples)
    if why or all(sample.count(sample[0]) == len(sample) for sample in samples):
        return Bootstrap(value, None, None, None, None, method, False, why or NO_SPREAD)
    rng = results.stream_of(rng)
    curve = sizes and _mean_curve(samples, sizes, resamples, rng)
    if not curve:
        draws = zip(*(_draws(sample, rng) for sample in samples), strict=True)
        curve = _sampled([statistic(*drawn) for drawn in islice(draws, resamples)])
    drawn = curve.resamples
    result = Bootstrap(value, None, None, curve.se or None, drawn, method, drawn is None)
    tails = (1 - level) / 2, (1 + level) / 2
    if method == "bca":
        share = curve.below(value)
        if not 0 < share < 1:
            return result._replace(why=OUTSIDE)
        influence = _mean_influence(samples, sizes) if sizes else _jackknife(samples, statistic)
        spread = math.fsum(u**2 for u in influence)
        if not spread > 0:
            return result._replace(why=NO_ACCELERATION)
        acceleration = math.fsum(u**3 for u in influence) / (6 * spread**1.5)
        bias = normal_quantile(share)
        shifted = [bias + normal_quantile(tail) for tail in tails]
        tails = [normal_cdf(bias + z / (1 - acceleration * z)) for z in shifted]
    low, high = map(curve.quantile, tails)
    if low == high:
        return result._replace(why="both ends of the interval fall on the same value")
    return result._replace(low=low, high=high)


def _read(samples: Sequence, statistic: str | Statistic) -> tuple[list, Statistic, list | None]:
    """Samples, the statistic as a function, and of means, whose samples are strata, the sizes: a
    stratum's sum over its size is its part of the statistic."""
    if callable(statistic):
        if len(samples) not in (1, 2):
            raise ValueError(f"samples: a tuple of one or two sequences, not of {len(samples)}")
        return list(map(list, samples)), statistic, None
    results.check_choice(statistic, SAMPLES, "statistic")
    if len(samples) != SAMPLES[statistic]:
        raise ValueError(f"samples: {statistic!r} needs a tuple of {SAMPLES[statistic]}")
    if statistic == "median":
        return [numbers(samples[0], "samples[0]")], median, None
    strata, sizes = [], []
    for i, sample in enumerate(samples):
        stratified = isinstance(sample, (list, tuple)) and sample and isinstance(sample[0], list)
        parts = [numbers(part, f"samples[{i}]") for part in (sample if stratified else [sample])]
        strata += parts
        sizes += [(-1) ** i * len(parts) * len(part) for part in parts]
    return strata, lambda *drawn: math.fsum(map(truediv, map(math.fsum, drawn), sizes)), sizes


class Curve(NamedTuple):
    """A bootstrap distribution: its values, rising, and the probability or number up to each."""

    values: list[float]
    cumulated: Sequence[float]
    se: float
    resamples: int | None  # None where they are all of them

    def below(self, value: float) -> float:
        """Share below `value`, ties counted half."""
        near = 1e-14 * max(abs(self.values[0]), abs(self.values[-1]))
        before = [0, *self.cumulated]
        left = before[bisect_left(self.values, value - near)]
        right = before[bisect_right(self.values, value + near)]
        return (left + right) / 2 / before[-1]

    def quantile(self, p: float) -> float:
        if self.resamples is None:
            return self.values[bisect_left(self.cumulated, p * self.cumulated[-1])]
        place = p * (len(self.values) - 1)
        index = min(len(self.values) - 2, int(place))
        low, high = self.values[index : index + 2]
        return low + (high - low) * (place - index)


def _sampled(values: list[float]) -> Curve:
    m = len(values)
    return Curve(sorted(values), range(1, m + 1), math.sqrt(results.variance(values)), m)


def _draws(sample: list, rng: Random) -> Iterator[list]:
    """Resamples of `sample`, without end; up to 256 values by random bytes, which is faster."""
    n = len(sample)
    while n > 256:
        yield rng.choices(sample, k=n)
    whole = 256 - 256 % n  # bytes from here on would favour the first values
    values, surplus = [sample[i % n] for i in range(whole)], bytes(range(whole, 256))
    pool = b""
    while True:
        if len(pool) < n:
            pool += rng.randbytes(1 << 14).translate(None, surplus)
        yield [values[byte] for byte in pool[:n]]
        pool = pool[n:]


def _deviations(values: list[float]) -> list[float]:
    centre = values[0] if results.constant(values) else results.mean(values)
    return [value - centre for value in values]


def _jackknife(samples: list[list], statistic: Statistic) -> list[float]:
    """Influence of each value on the statistic, over n: from leaving it out."""
    influence = []
    for place, sample in enumerate(samples):
        n = len(sample)
        left_out = [
            statistic(*samples[:place], sample[:i] + sample[i + 1 :], *samples[place + 1 :])
            for i in range(n)
        ]
        influence += [(1 - n) * change / n for change in _deviations(left_out)]
    return influence


def _mean_influence(strata: list[list[float]], sizes: list[int]) -> list[float]:
    return [change / size for part, size in zip(strata, sizes, strict=True)
            for change in _deviations(part)]


def _mean_curve(strata: list, sizes: list[int], resamples: int, rng: Random) -> Curve | None:
    """The bootstrap distribution of a mean of few-valued data: by convolution, or from draws of
    each stratum's sum where the strata together have too many values. None for other data."""
    steps = results.lattice(list(chain(*strata)))
    if steps is None:
        return None
    scale, unit = steps[1], math.lcm(*sizes)
    sums = [_sum_pmf([round(value * scale) for value in values], unit // size)
            for values, size in zip(strata, sizes, strict=True)]
    if None in sums:
        return None
    together = {0: 1.0}
    for pmf in sums:
        if len(together) * len(pmf) > MOST_POINTS:
            columns = [rng.choices(list(part), part.values(), k=resamples) for part in sums]
            return _sampled([sum(row) / (unit * scale) for row in zip(*columns, strict=True)])
        together = add_pmfs(together, pmf)
    totals, chances = zip(*sorted(together.items()), strict=True)
    values = [total / (unit * scale) for total in totals]
    se = math.hypot(*_mean_influence(strata, sizes))
    return Curve(values, list(accumulate(chances)), se, None)


def _sum_pmf(values: list[int], times: int) -> dict[int, float] | None:
    """Probability of a resample's sum, `times` it; None where that is dearer than sampling."""
    counts, n = Counter(values), len(values)
    low, high = min(counts), max(counts)
    step = math.gcd(*(value - low for value in counts)) or 1
    if len(counts) > 2 and n * (high - low) // step > MOST_WIDTH:
        return None
    shares = [counts[value] / n for value in range(low, high + 1, step)]
    pmf = binomial_pmf(n, shares[1]) if len(shares) == 2 else self_convolve(shares, n)
    return {(n * low + i * step) * times: p for i, p in enumerate(pmf) if p > NEGLIGIBLE}
