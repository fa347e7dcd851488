"""Resampling: bootstrap intervals, permutation within blocks, and sign flips of paired differences.

A distribution is computed wherever it has a closed form or few enough values, and then no seed
shows in it: the bootstrap distribution of a mean of few-valued data (0/1, a short scale) is a
convolution. Everything else is sampled; the p of a sampled test is (b + 1)/(m + 1) (Phipson & Smyth
2010). A test's sums are whole numbers on a common grid, so a tie is a tie whatever the order of
addition.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, chain, combinations, islice
from operator import mul, truediv
from random import Random
from statistics import median
from typing import NamedTuple

from . import distributions, results
from .results import (
    SAME,
    Bootstrap,
    Permutation,
    check_test,
    mean,
    numbers,
    on_grid,
    stream_of,
)

# --- bootstrap ---

SAMPLES = {"mean": 1, "mean_difference": 2, "median": 1}  # how many each takes
Statistic = Callable[..., float]
MOST_POINTS = 400_000  # pairs of values of two distributions: a tenth of a second
MOST_WIDTH = 2_000  # n times the range of the values in their common unit
NEGLIGIBLE = 1e-22

NO_SPREAD = "every value is the same within each group"
OUTSIDE = "the estimate lies outside its own bootstrap distribution, so BCa has no bias correction"
NO_ACCELERATION = (
    "leaving out any one value changes nothing, so BCa has no acceleration"
)


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
    rng = stream_of(rng)
    curve = sizes and _mean_curve(samples, sizes, resamples, rng)
    if not curve:
        draws = zip(*(_draws(sample, rng) for sample in samples), strict=True)
        curve = _sampled([statistic(*drawn) for drawn in islice(draws, resamples)])
    drawn = curve.resamples
    result = Bootstrap(
        value, None, None, curve.se or None, drawn, method, drawn is None
    )
    tails = (1 - level) / 2, (1 + level) / 2
    if method == "bca":
        share = curve.below(value)
        if not 0 < share < 1:
            return result._replace(why=OUTSIDE)
        influence = (
            _mean_influence(samples, sizes) if sizes else _jackknife(samples, statistic)
        )
        spread = math.fsum(u**2 for u in influence)
        if not spread > 0:
            return result._replace(why=NO_ACCELERATION)
        acceleration = math.fsum(u**3 for u in influence) / (6 * spread**1.5)
        bias = distributions.normal_quantile(share)
        shifted = [bias + distributions.normal_quantile(tail) for tail in tails]
        tails = [
            distributions.normal_cdf(bias + z / (1 - acceleration * z)) for z in shifted
        ]
    low, high = map(curve.quantile, tails)
    if low == high:
        return result._replace(why="both ends of the interval fall on the same value")
    return result._replace(low=low, high=high)


def _read(
    samples: Sequence, statistic: str | Statistic
) -> tuple[list, Statistic, list | None]:
    """Samples, the statistic as a function, and of means, whose samples are strata, the sizes: a
    stratum's sum over its size is its part of the statistic."""
    if callable(statistic):
        if len(samples) not in (1, 2):
            raise ValueError(
                f"samples: a tuple of one or two sequences, not of {len(samples)}"
            )
        return list(map(list, samples)), statistic, None
    results.check_choice(statistic, SAMPLES, "statistic")
    if len(samples) != SAMPLES[statistic]:
        raise ValueError(
            f"samples: {statistic!r} needs a tuple of {SAMPLES[statistic]}"
        )
    if statistic == "median":
        return [numbers(samples[0], "samples[0]")], median, None
    strata, sizes = [], []
    for i, sample in enumerate(samples):
        stratified = (
            isinstance(sample, (list, tuple)) and sample and isinstance(sample[0], list)
        )
        parts = [
            numbers(part, f"samples[{i}]")
            for part in (sample if stratified else [sample])
        ]
        strata += parts
        sizes += [(-1) ** i * len(parts) * len(part) for part in parts]
    return (
        strata,
        lambda *drawn: math.fsum(map(truediv, map(math.fsum, drawn), sizes)),
        sizes,
    )


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
    return Curve(
        sorted(values), range(1, m + 1), math.sqrt(results.variance(values)), m
    )


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
    centre = values[0] if results.constant(values) else mean(values)
    return [value - centre for value in values]


def _jackknife(samples: list[list], statistic: Statistic) -> list[float]:
    """Influence of each value on the statistic, over n: from leaving it out."""
    influence = []
    for place, sample in enumerate(samples):
        n = len(sample)
        left_out = [
            statistic(
                *samples[:place], sample[:i] + sample[i + 1 :], *samples[place + 1 :]
            )
            for i in range(n)
        ]
        influence += [(1 - n) * change / n for change in _deviations(left_out)]
    return influence


def _mean_influence(strata: list[list[float]], sizes: list[int]) -> list[float]:
    return [
        change / size
        for part, size in zip(strata, sizes, strict=True)
        for change in _deviations(part)
    ]


def _mean_curve(
    strata: list, sizes: list[int], resamples: int, rng: Random
) -> Curve | None:
    """The bootstrap distribution of a mean of few-valued data: by convolution, or from draws of
    each stratum's sum where the strata together have too many values. None for other data."""
    steps = results.lattice(list(chain(*strata)))
    if steps is None:
        return None
    scale, unit = steps[1], math.lcm(*sizes)
    sums = [
        _sum_pmf([round(value * scale) for value in values], unit // size)
        for values, size in zip(strata, sizes, strict=True)
    ]
    if None in sums:
        return None
    together = {0: 1.0}
    for pmf in sums:
        if len(together) * len(pmf) > MOST_POINTS:
            columns = [
                rng.choices(list(part), part.values(), k=resamples) for part in sums
            ]
            return _sampled(
                [sum(row) / (unit * scale) for row in zip(*columns, strict=True)]
            )
        together = distributions.add_pmfs(together, pmf)
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
    pmf = (
        distributions.binomial_pmf(n, shares[1])
        if len(shares) == 2
        else distributions.self_convolve(shares, n)
    )
    return {
        (n * low + i * step) * times: p for i, p in enumerate(pmf) if p > NEGLIGIBLE
    }


# --- sign flips ---

MOST_BITS = 1 << 25  # of one number that holds a whole distribution
MOST_SUMS = 1 << 17  # of the signs of one half of the units


def sign_flip_test(
    differences: Sequence[float],
    alternative: str = "two-sided",
    exact: bool | None = None,
    resamples: int = 100_000,
    rng: Random | int = 0,
) -> Permutation:
    """Is the mean of paired differences 0? Exact given that they are symmetric around 0 if so.

    All 2^n signs. Values of a common unit (0, ±1/3, …) are convolved, at any n; others are split in
    two halves and pairs of sums counted by sorting, up to n = 34; beyond that Monte Carlo. Fisher
    (1935).
    """
    values = numbers(differences, "differences")
    check_test(alternative, resamples)
    if not values:
        return Permutation(None, None, None, False, "no differences")
    statistic = mean(values)
    if not any(values):
        return Permutation(statistic, None, None, False, "every difference is 0")
    whole, slack = on_grid(values)
    sizes = sorted(abs(value) for value in whole if value)
    observed, both = sum(whole), alternative == "two-sided"
    least = {"greater": observed, "less": -observed, "two-sided": abs(observed)}[
        alternative
    ]
    share = None if exact is False else _exact_share(sizes, least - slack)
    if share is not None:
        return Permutation(statistic, min(1.0, (1 + both) * share), None, True)
    if exact:
        raise ValueError(
            f"exact: {len(sizes)} differences without a common unit are too many"
        )
    rng, extreme = stream_of(rng), 0
    for _ in range(resamples):
        total = sum(map(mul, sizes, rng.choices((1, -1), k=len(sizes))))
        extreme += (abs(total) if both else total) >= least - slack
    return Permutation(statistic, (extreme + 1) / (resamples + 1), resamples, False)


def _exact_share(sizes: list[int], least: int) -> float | None:
    """Share of the 2^n choices of signs whose sum is at least `least`; None where too many."""
    if sum(sizes) * (len(sizes) + 1) <= MOST_BITS:
        return _convolved_share(sizes, least)
    if 2 ** -(-len(sizes) // 2) > MOST_SUMS:
        return None
    first, second = [0], [0]
    for size in sizes:
        first, second = (
            second,
            [total + sign * size for sign in (1, -1) for total in first],
        )
    second.sort()
    reached = sum(len(second) - bisect_left(second, least - total) for total in first)
    return reached / 2 ** len(sizes)


def _convolved_share(sizes: list[int], least: int) -> float:
    """By one whole number: field s of it counts the choices whose positive values add up to s.

    A field has n + 1 bits, so 2^n choices fit without a carry, and the fields of a tail add up to
    the tail's remainder by 2^(n + 1) − 1, as the digits of a number by 9.
    """
    n, counts = len(sizes), 1
    for size in sizes:
        counts += counts << size * (n + 1)
    # The sum of all signs is twice the positive ones less the total.
    first = max(0, -(-(least + sum(sizes)) // 2))
    return (counts >> first * (n + 1)) % ((1 << n + 1) - 1) / 2**n


# --- permutation within blocks ---

MOST_ASSIGNMENTS = 20_000_000
NO_CHANGE = "every assignment gives the same difference: no block holds both groups and two values"

Blocks = list[
    tuple[list[int], int]
]  # values randomised together, and how many of them fall to x


def permutation_test(
    x: Sequence[float],
    y: Sequence[float],
    alternative: str = "two-sided",
    strata: tuple[Sequence[Hashable], Sequence[Hashable]] | None = None,
    exact: bool | None = None,
    resamples: int = 100_000,
    rng: Random | int = 0,
) -> Permutation:
    """Re-randomisation test of mean(x) - mean(y) (Fisher 1935, Pitman 1937).

    Two-sided p: share of assignments at least as far from the null mean as the observed one.
    `strata`: block labels beside x and beside y; assignments move only within blocks. Two-valued
    data of any size: exact, by convolving hypergeometric distributions over the blocks. Otherwise
    every assignment where there are at most `resamples`, else Monte Carlo. `exact` True demands
    the former (ValueError beyond 20 million assignments), False the latter.
    """
    x, y = numbers(x, "x"), numbers(y, "y")
    check_test(alternative, resamples)
    if not x or not y:
        return Permutation(None, None, None, False, "a group is empty")
    statistic, kinds = mean(x) - mean(y), len(set(x + y))
    base = min(
        x + y
    )  # a common shift changes no difference, and would coarsen the grid
    whole, slack = on_grid([value - base for value in x + y])
    blocks = _blocks(whole, strata or ([0] * len(x), [0] * len(y)), (len(x), len(y)))
    if all(
        len(set(values)) == 1 or drawn in (0, len(values)) for values, drawn in blocks
    ):
        why = SAME if kinds == 1 else NO_CHANGE
        return Permutation(statistic, None, None, False, why)
    inner = _inner(blocks, sum(whole[: len(x)]), alternative, slack)
    if exact is not False and kinds == 2:
        return Permutation(statistic, _two_valued_p(blocks, inner), None, True)
    if exact is not False:
        assignments = math.prod(
            math.comb(len(values), drawn) for values, drawn in blocks
        )
        if assignments <= (MOST_ASSIGNMENTS if exact else resamples):
            return Permutation(
                statistic, _enumerated_p(blocks, inner, assignments), None, True
            )
        if exact:
            raise ValueError(
                f"exact: {assignments} assignments are too many to enumerate"
            )
    rng, extreme = stream_of(rng), 0
    for _ in range(resamples):
        extreme += sum(sum(rng.sample(*block)) for block in blocks) not in inner
    return Permutation(statistic, (extreme + 1) / (resamples + 1), resamples, False)


def _blocks(whole: list[int], strata: tuple, sizes: tuple[int, int]) -> Blocks:
    for labels, size, name in zip(strata, sizes, "xy", strict=True):
        if len(labels) != size:
            raise ValueError(
                f"strata: {len(labels)} labels beside {size} values of {name}"
            )
    members: dict[Hashable, list[int]] = {}
    for label, value in zip(chain(*strata), whole, strict=True):
        members.setdefault(label, []).append(value)
    of_x = Counter(strata[0])
    return [(values, of_x[label]) for label, values in members.items()]


def _inner(blocks: Blocks, observed: int, alternative: str, slack: int) -> range:
    """The sums of x, none below 0, that are less extreme than the observed one."""
    centre = sum(Fraction(drawn * sum(values), len(values)) for values, drawn in blocks)
    distance = abs(observed - centre)
    low, high = (
        math.floor(centre - distance) + slack,
        math.ceil(centre + distance) - slack,
    )
    return {
        "greater": range(observed - slack),
        "less": range(
            observed + slack + 1, sum(sum(values) for values, _ in blocks) + 1
        ),
        "two-sided": range(low + 1, high),
    }[alternative]


def _two_valued_p(blocks: Blocks, inner: range) -> float:
    higher = max(max(values) for values, _ in blocks)  # the lower value is 0
    lowest, chances = 0, [1.0]
    for values, drawn in blocks:
        start, pmf = distributions.hypergeometric_pmf(
            values.count(higher), drawn, len(values)
        )
        lowest += start
        chances = distributions.convolve(chances, pmf)
    return min(
        1.0,
        math.fsum(p for k, p in enumerate(chances, lowest) if higher * k not in inner),
    )


def _enumerated_p(blocks: Blocks, inner: range, assignments: int) -> float:
    sums = {0: 1}
    for values, drawn in blocks:
        sums = distributions.add_pmfs(
            sums, Counter(map(sum, combinations(values, drawn)))
        )
    return sum(ways for total, ways in sums.items() if total not in inner) / assignments
