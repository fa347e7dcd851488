"""Bootstrap intervals: percentile and BCa, sampled or computed.

The bootstrap distribution of a mean of few-valued data (0/1, a short scale) is a convolution: it
is computed, and no seed shows in it. Everything else is resampled.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice
from operator import itemgetter
from random import Random
from typing import Any

from .distributions import binomial_pmf, normal_cdf, normal_quantile, self_convolve
from .results import (
    Bootstrap,
    check_choice,
    check_level,
    constant,
    lattice,
    mean,
    numbers,
    squares,
    stream_of,
    too_few,
)

METHODS = ("bca", "percentile")
NAMED = ("mean", "mean_difference", "median")
Statistic = Callable[..., float]
Pmf = dict[int, float]  # whole number → its probability, rising

MOST_POINTS = 400_000  # pairs of values of two distributions: a tenth of a second
MOST_WIDTH = 2_000  # n times the range of the values in their common unit
NEGLIGIBLE = 1e-22

NO_SPREAD = "every value is the same within each group"
NO_WIDTH = "both ends of the interval fall on the same value"
OUTSIDE = "the estimate lies outside its own bootstrap distribution, so BCa has no bias correction"
NO_ACCELERATION = "leaving out any one value changes nothing, so BCa has no acceleration"


def median(values: Sequence[float]) -> float:
    order, middle = sorted(values), len(values) // 2
    return order[middle] if len(order) % 2 else (order[middle - 1] + order[middle]) / 2


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
    of strata, a sequence of sequences: values are resampled within each, and each weighs the same
    (Davison & Hinkley 1997, 3.2). Ties with the estimate count half in BCa's bias correction, the
    acceleration is jackknifed in every sample, percentiles are interpolated. Means of few-valued
    data are computed by convolution: `exact`, and `resamples` None.
    """
    check_level(level)
    check_choice(method, METHODS, "method")
    if resamples < 2:
        raise ValueError(f"resamples: {resamples!r} is fewer than two")
    if isinstance(statistic, str):
        check_choice(statistic, NAMED, "statistic")
        wanted = 2 if statistic == "mean_difference" else 1
        if len(samples) != wanted:
            raise ValueError(f"samples: {statistic!r} needs a tuple of {wanted}")
    elif len(samples) not in (1, 2):
        raise ValueError(f"samples: a tuple of one or two sequences, not of {len(samples)}")
    divisors = None
    if statistic in ("mean", "mean_difference"):
        samples, divisors = _strata(samples)
        statistic = _mean_of(divisors)
    elif statistic == "median":
        samples, statistic = (numbers(samples[0], "samples[0]"),), median
    else:
        samples = tuple(list(sample) for sample in samples)
    value = statistic(*samples) if all(samples) else None
    why = too_few(samples) or (NO_SPREAD if all(map(_alike, samples)) else None)
    if why:
        return Bootstrap(value, None, None, None, None, method, False, why)
    curve = _mean_curve(samples, divisors, resamples, rng) if divisors else None
    exact = curve is not None and curve.exact
    curve = curve or _sampled_curve(samples, statistic, resamples, rng)
    drawn = None if exact else resamples

    def without(why: str) -> Bootstrap:
        return Bootstrap(value, None, None, curve.se or None, drawn, method, exact, why)

    tails = (1 - level) / 2, (1 + level) / 2
    if method == "bca":
        share = curve.below(value)
        if not 0 < share < 1:
            return without(OUTSIDE)
        cubes, spread = (
            _mean_jackknife(samples, divisors) if divisors else _jackknife(samples, statistic)
        )
        if not spread > 0:
            return without(NO_ACCELERATION)
        tails = _bca_tails(normal_quantile(share), cubes / (6 * spread**1.5), tails[0])
    low, high = map(curve.quantile, tails)
    if low == high:
        return without(NO_WIDTH)
    return Bootstrap(value, low, high, curve.se, drawn, method, exact)


def _alike(sample: Sequence[Any]) -> bool:
    return all(value == sample[0] for value in sample)


def _strata(samples: tuple) -> tuple[tuple[list[float], ...], list[int]]:
    """All strata in a row, and what the mean of each is divided by: their number in the sample,
    negative in the second sample."""
    strata: list[list[float]] = []
    divisors: list[int] = []
    for i, (sign, sample) in enumerate(zip((1, -1), samples, strict=False)):
        stratified = isinstance(sample, (list, tuple)) and sample and isinstance(sample[0], list)
        parts = sample if stratified else [sample]
        strata += [numbers(part, f"samples[{i}]") for part in parts]
        divisors += [sign * len(parts)] * len(parts)
    return tuple(strata), divisors


def _mean_of(divisors: list[int]) -> Statistic:
    def statistic(*strata: Sequence[float]) -> float:
        return math.fsum([mean(part) / by for part, by in zip(strata, divisors, strict=True)])

    return statistic


class Curve:
    """A bootstrap distribution: where it lies relative to a value, its quantiles, its spread."""

    def __init__(self, values: list[float], chances: list[float] | None, se: float):
        self.values, self.se, self.exact = values, se, chances is not None
        self.cumulated = list(accumulate(chances)) if chances else None

    def below(self, value: float) -> float:
        """Share below `value`, ties counted half."""
        near = 1e-14 * max(abs(self.values[0]), abs(self.values[-1]))
        left = bisect_left(self.values, value - near)
        right = bisect_right(self.values, value + near)
        if self.cumulated is None:
            return (left + right) / 2 / len(self.values)
        before = [0.0, *self.cumulated]
        return (before[left] + before[right]) / 2 / before[-1]

    def quantile(self, p: float) -> float:
        last = len(self.values) - 1
        if self.cumulated is not None:
            return self.values[min(last, bisect_left(self.cumulated, p * self.cumulated[-1]))]
        place = p * last
        index = min(last - 1, int(place))
        low, high = self.values[index], self.values[index + 1]
        return low + (high - low) * (place - index)


def _bca_tails(bias: float, acceleration: float, tail: float) -> tuple[float, float]:
    shifted = bias + normal_quantile(tail), bias - normal_quantile(tail)
    return tuple(normal_cdf(bias + z / (1 - acceleration * z)) for z in shifted)


def _mean_jackknife(strata: tuple, divisors: list[int]) -> tuple[float, float]:
    """Σ U³/n³ and Σ U²/n², U the influence of a value on the mean: its distance from it."""
    cubes = spread = 0.0
    for values, by in zip(strata, divisors, strict=True):
        centre, n = mean(values), len(values) * by
        cubes += math.fsum((value - centre) ** 3 for value in values) / n**3
        spread += squares(values) / n**2
    return cubes, spread


def _jackknife(samples: tuple, statistic: Statistic) -> tuple[float, float]:
    """The same for any statistic, leaving out one value at a time."""
    cubes = spread = 0.0
    for place, sample in enumerate(samples):
        n = len(sample)
        left_out = [
            statistic(*samples[:place], sample[:i] + sample[i + 1 :], *samples[place + 1 :])
            for i in range(n)
        ]
        if constant(left_out):
            continue
        centre = mean(left_out)
        cubes += math.fsum(((n - 1) * (centre - value)) ** 3 for value in left_out) / n**3
        spread += math.fsum(((n - 1) * (centre - value)) ** 2 for value in left_out) / n**2
    return cubes, spread


def _sampled_curve(
    samples: tuple, statistic: Statistic, resamples: int, rng: Random | int
) -> Curve:
    stream = stream_of(rng)
    draws = zip(*(_draws(sample, stream) for sample in samples), strict=True)
    return _drawn_curve([statistic(*drawn) for drawn in islice(draws, resamples)])


def _drawn_curve(values: list[float]) -> Curve:
    return Curve(sorted(values), None, math.sqrt(squares(values) / (len(values) - 1)))


def _draws(sample: list, rng: Random) -> Iterator[Sequence]:
    """Resamples of `sample`, without end.

    Up to 256 values an index is a random byte (those beyond a multiple of n thrown away): drawing
    and looking up then run outside the interpreter's loop.
    """
    n = len(sample)
    if n > 256:
        while True:
            yield rng.choices(sample, k=n)
    limit = 256 - 256 % n
    residue = bytes(i % n for i in range(256))
    surplus = bytes(range(limit, 256))
    pool = b""
    while True:
        pool += rng.randbytes(1 << 14).translate(residue, surplus)
        whole = len(pool) - len(pool) % n
        for start in range(0, whole, n):
            yield itemgetter(*pool[start : start + n])(sample)
        pool = pool[whole:]


def _mean_curve(
    strata: tuple, divisors: list[int], resamples: int, rng: Random | int
) -> Curve | None:
    """The bootstrap distribution of a mean of few-valued data: by convolution, or from draws of
    each stratum's sum where the strata together have too many values. None for other data."""
    steps = lattice([value for values in strata for value in values])
    if steps is None:
        return None
    whole, scale = steps
    unit = math.lcm(*(by * len(values) for values, by in zip(strata, divisors, strict=True)))
    sums: list[Pmf] = []
    for values, by in zip(strata, divisors, strict=True):
        part, whole = whole[: len(values)], whole[len(values) :]
        distribution = sum_distribution(part)
        if distribution is None:
            return None
        step = unit // (by * len(values))
        sums.append({total * step: p for total, p in distribution.items()})
    together = {0: 1.0}
    for distribution in sums:
        if len(together) * len(distribution) > MOST_POINTS:
            return _drawn_sums(sums, unit * scale, resamples, stream_of(rng))
        merged: Pmf = {}
        for total, chance in together.items():
            for other, p in distribution.items():
                merged[total + other] = merged.get(total + other, 0.0) + chance * p
        together = merged
    se = math.sqrt(
        math.fsum(
            squares(v) / (by * len(v)) ** 2 for v, by in zip(strata, divisors, strict=True)
        )
    )
    keys = sorted(together)
    return Curve([key / (unit * scale) for key in keys], [together[key] for key in keys], se)


def _drawn_sums(sums: list[Pmf], unit: int, resamples: int, rng: Random) -> Curve:
    columns = [
        rng.choices(list(pmf), cum_weights=list(accumulate(pmf.values())), k=resamples)
        for pmf in sums
    ]
    return _drawn_curve([sum(drawn) / unit for drawn in zip(*columns, strict=True)])


def sum_distribution(values: list[int]) -> Pmf | None:
    """Probability of each sum of a resample, rising; None where that is dearer than sampling."""
    counts, n = Counter(values), len(values)
    low, high = min(counts), max(counts)
    step = math.gcd(*(value - low for value in counts)) or 1
    if len(counts) <= 2:
        pmf = binomial_pmf(n, counts[high] / n if high > low else 0.0)
    elif n * (high - low) // step > MOST_WIDTH:
        return None
    else:
        pmf = self_convolve([counts[value] / n for value in range(low, high + 1, step)], n)
    return {n * low + i * step: p for i, p in enumerate(pmf) if p > NEGLIGIBLE}
