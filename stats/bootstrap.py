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
from struct import iter_unpack
from typing import Any

from .distributions import binomial_pmf, normal_cdf, normal_quantile
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
Statistic = Callable[..., float | None]

MOST_POINTS = 400_000  # of a difference of two means: a quarter of a second
MOST_WIDTH = 2_000  # n times the range of the values in their common unit
NEGLIGIBLE = 1e-22

ONE = 1 << 56  # probability 1 in the fixed point of `_power`: cumulated errors stay below 1e-13
HALF, WIDE = 7, 15  # bytes of a fraction, and of a product with room for its carry

NO_SPREAD = "every value is the same within each group"
NO_WIDTH = "both ends of the interval fall on the same value"
OUTSIDE = "the estimate lies outside its own bootstrap distribution, so BCa has no bias correction"
NO_ACCELERATION = "leaving out any one value changes nothing, so BCa has no acceleration"
TOO_RARE = "the statistic is undefined in more than a tenth of the resamples"


def median(values: Sequence[float]) -> float:
    order, middle = sorted(values), len(values) // 2
    return order[middle] if len(order) % 2 else (order[middle - 1] + order[middle]) / 2


def mean_difference(x: Sequence[float], y: Sequence[float]) -> float:
    return math.fsum(x) / len(x) - math.fsum(y) / len(y)


NAMED: dict[str, Statistic] = {
    "mean": mean,
    "mean_difference": mean_difference,
    "median": median,
}


def bootstrap_ci(
    samples: tuple[Sequence[float], ...],
    statistic: str | Statistic,
    resamples: int = 10_000,
    level: float = 0.95,
    method: str = "bca",
    rng: Random | int = 0,
) -> Bootstrap:
    """Bootstrap interval of a statistic of one or two samples (Efron 1987 for BCa).

    `samples` is a tuple of one or two sequences; `statistic` takes them in that order, or is
    "mean", "mean_difference" or "median". Ties with the estimate count half in BCa's bias
    correction, the acceleration is jackknifed in every sample, percentiles are interpolated. Means
    of few-valued data are computed by convolution: `exact`, and `resamples` None.
    """
    if isinstance(statistic, str):
        check_choice(statistic, NAMED, "statistic")
        wanted = 2 if statistic == "mean_difference" else 1
        if len(samples) != wanted:
            raise ValueError(f"samples: {statistic!r} needs a tuple of {wanted}")
        samples = tuple(numbers(s, f"samples[{i}]") for i, s in enumerate(samples))
    else:
        samples = tuple(list(sample) for sample in samples)
    if len(samples) not in (1, 2):
        raise ValueError(f"samples: a tuple of one or two sequences, not of {len(samples)}")
    _check(resamples, level, method)
    compute = NAMED.get(statistic, statistic) if isinstance(statistic, str) else statistic
    value = compute(*samples) if all(samples) else None
    why = too_few(samples) or (NO_SPREAD if all(map(_alike, samples)) else None)
    if why:
        return Bootstrap(value, None, None, None, None, method, False, why)
    jackknife = _mean_jackknife if statistic in ("mean", "mean_difference") else _jackknife
    curve = _exact_curve(samples) if jackknife is _mean_jackknife else None
    exact = curve is not None
    curve = curve or _sampled_curve(samples, compute, resamples, rng)
    influence = None if method == "percentile" else lambda: jackknife(samples, compute)
    return _interval(value, curve, influence, level, method, None if exact else resamples)


def _check(resamples: int, level: float, method: str) -> None:
    check_level(level)
    check_choice(method, METHODS, "method")
    if resamples < 2:
        raise ValueError(f"resamples: {resamples!r} is fewer than two")


def _alike(sample: Sequence[Any]) -> bool:
    return all(value == sample[0] for value in sample)


class Curve:
    """A bootstrap distribution: where it lies relative to a value, its quantiles, its spread."""

    def __init__(self, values: list[float], chances: list[float] | None, se: float, lost: int = 0):
        self.values, self.se, self.lost = values, se, lost
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


def _interval(
    value: float,
    curve: Curve,
    influence: Callable[[], tuple[float, float]] | None,
    level: float,
    method: str,
    resamples: int | None,
) -> Bootstrap:
    exact = resamples is None

    def without(why: str) -> Bootstrap:
        return Bootstrap(value, None, None, curve.se or None, resamples, method, exact, why)

    if curve.lost and curve.lost > resamples / 10:
        return without(TOO_RARE)
    tail = (1 - level) / 2
    tails = tail, 1 - tail
    if influence:
        share = curve.below(value)
        if not 0 < share < 1:
            return without(OUTSIDE)
        cubes, spread = influence()
        if not spread > 0:
            return without(NO_ACCELERATION)
        tails = _bca_tails(normal_quantile(share), cubes / (6 * spread**1.5), tail)
    low, high = map(curve.quantile, tails)
    if low == high:
        return without(NO_WIDTH)
    remark = f"{curve.lost} of {resamples} resamples undefined, left out" if curve.lost else None
    return Bootstrap(value, low, high, curve.se, resamples, method, exact, remark)


def _bca_tails(bias: float, acceleration: float, tail: float) -> tuple[float, float]:
    shifted = bias + normal_quantile(tail), bias - normal_quantile(tail)
    return tuple(normal_cdf(bias + z / (1 - acceleration * z)) for z in shifted)


def _mean_jackknife(samples: tuple, _: Statistic) -> tuple[float, float]:
    """Σ U³/n³ and Σ U²/n², U the influence of a value on the mean: its distance from it.

    The second sample of a difference counts negative.
    """
    cubes = spread = 0.0
    for sign, sample in zip((1, -1), samples, strict=False):
        centre, n = mean(sample), len(sample)
        cubes += sign * math.fsum((value - centre) ** 3 for value in sample) / n**3
        spread += squares(sample) / n**2
    return cubes, spread


def _jackknife(samples: tuple, statistic: Statistic) -> tuple[float, float]:
    """The same for any statistic, leaving out one value (or group) at a time."""
    cubes = spread = 0.0
    for place, sample in enumerate(samples):
        n, left_out = len(sample), []
        for i in range(n):
            rest = sample[:i] + sample[i + 1 :]
            result = statistic(*samples[:place], rest, *samples[place + 1 :])
            if result is None:
                return 0.0, 0.0
            left_out.append(result)
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
    draws = islice(zip(*(_draws(sample, stream) for sample in samples), strict=True), resamples)
    if statistic is mean:
        values = [math.fsum(sample) / len(sample) for (sample,) in draws]
    else:
        values = [statistic(*drawn) for drawn in draws]
    known = sorted(value for value in values if value is not None)
    if len(known) < 2:
        return Curve([0.0, 0.0], None, 0.0, resamples)
    se = math.sqrt(squares(known) / (len(known) - 1))
    return Curve(known, None, se, resamples - len(known))


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


def _exact_curve(samples: tuple) -> Curve | None:
    """The bootstrap distribution of a mean, or of a difference of means, by convolution."""
    found = lattice([value for sample in samples for value in sample])
    if found is None:
        return None
    whole, scale = found
    first = whole[: len(samples[0])]
    sums = sum_distribution(first)
    if sums is None:
        return None
    se = math.sqrt(math.fsum(squares(sample) / len(sample) ** 2 for sample in samples))
    if len(samples) == 1:
        unit = scale * len(first)
        return Curve([total / unit for total in sums], list(sums.values()), se)
    second = whole[len(first) :]
    others = sum_distribution(second)
    if others is None or len(sums) * len(others) > MOST_POINTS:
        return None
    common = math.lcm(len(first), len(second))
    a, b = common // len(first), common // len(second)
    merged: dict[int, float] = {}
    for total, chance in sums.items():
        for other, other_chance in others.items():
            key = a * total - b * other
            merged[key] = merged.get(key, 0.0) + chance * other_chance
    keys = sorted(merged)
    return Curve([key / (scale * common) for key in keys], [merged[key] for key in keys], se)


def sum_distribution(values: list[int]) -> dict[int, float] | None:
    """Probability of each sum of a resample, rising; None where that is dearer than sampling."""
    counts, n = Counter(values), len(values)
    low, high = min(counts), max(counts)
    step = math.gcd(*(value - low for value in counts)) or 1
    if len(counts) <= 2:
        first, pmf = 0, binomial_pmf(n, counts[high] / n if high > low else 0.0)
    elif n * (high - low) // step > MOST_WIDTH:
        return None
    else:
        one = b"".join(
            [(counts[v] * ONE // n).to_bytes(WIDE, "little") for v in range(low, high + 1, step)]
        )
        first, packed = _power((0, one), n)
        pmf = [weight / ONE for (weight,) in iter_unpack(f"<Q{WIDE - 8}x", packed)]
    start = n * low + first * step
    return {start + i * step: p for i, p in enumerate(pmf) if p > NEGLIGIBLE}


def _power(packed: tuple[int, bytes], times: int) -> tuple[int, bytes]:
    """The distribution of a sum of `times` independent counts.

    A distribution is its lowest count and its probabilities in fixed point, `WIDE` bytes each. Read
    as one large number it convolves by one multiplication (Kronecker 1882), which Python does in
    less than quadratic time. Tails below the fixed point's last digit fall away.
    """
    if times == 1:
        return packed
    half = _power(packed, times // 2)
    whole = _product(half, half)
    return _product(whole, packed) if times % 2 else whole


def _product(a: tuple[int, bytes], b: tuple[int, bytes]) -> tuple[int, bytes]:
    first = int.from_bytes(a[1], "little")
    second = first if b is a else int.from_bytes(b[1], "little")
    size = len(a[1]) + len(b[1]) - WIDE
    raw, rest = (first * second).to_bytes(size, "little"), bytes(HALF)
    raw = b"".join([raw[i : i + WIDE - HALF] + rest for i in range(HALF, size, WIDE)])
    empty = (size - len(raw.lstrip(b"\0"))) // WIDE
    filled = -(-len(raw.rstrip(b"\0")) // WIDE)
    return a[0] + b[0] + empty, raw[empty * WIDE : filled * WIDE]
