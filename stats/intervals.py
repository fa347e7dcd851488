"""Intervals for a proportion and for a difference of two proportions.

None of them is a Wald interval: 0/n and n/n get honest widths.
"""

import math

from .distributions import beta_quantile, critical, normal_cdf, solve
from .results import Equivalence, Estimate, Interval
from .samples import check_count, check_level

NO_TRIALS = "no observations"
EMPTY_GROUP = "a group is empty"


def wilson_interval(k: int, n: int, level: float = 0.95) -> Interval:
    """Score interval for a proportion, k successes of n (Wilson 1927)."""
    check_count(k, n)
    z = critical(check_level(level))
    if n == 0:
        return Interval(None, None, NO_TRIALS)
    share, weight = k / n, n + z * z
    centre = (k + z * z / 2) / weight
    half = z * math.sqrt(n * share * (1 - share) + z * z / 4) / weight
    return Interval(0.0 if k == 0 else centre - half, 1.0 if k == n else centre + half)


def clopper_pearson(k: int, n: int, level: float = 0.95) -> Interval:
    """Exact interval for a proportion, by inverting the binomial tails (Clopper & Pearson 1934)."""
    check_count(k, n)
    tail = (1 - check_level(level)) / 2
    if n == 0:
        return Interval(None, None, NO_TRIALS)
    low = 0.0 if k == 0 else beta_quantile(tail, k, n - k + 1)
    high = 1.0 if k == n else 1 - beta_quantile(tail, n - k, k + 1)
    return Interval(low, high)


def newcombe_difference(k1: int, n1: int, k2: int, n2: int, level: float = 0.95) -> Estimate:
    """k1/n1 - k2/n2 by joining two Wilson intervals (Newcombe 1998, method 10)."""
    _check_pair(k1, n1, k2, n2)
    low1, high1, _ = wilson_interval(k1, n1, level)
    low2, high2, _ = wilson_interval(k2, n2, level)
    if 0 in (n1, n2):
        return Estimate(None, None, None, EMPTY_GROUP)
    p1, p2 = k1 / n1, k2 / n2
    value = p1 - p2
    below, above = math.hypot(p1 - low1, high2 - p2), math.hypot(high1 - p1, p2 - low2)
    return Estimate(value, value - below, value + above)


def score_difference(k1: int, n1: int, k2: int, n2: int, level: float = 0.95) -> Estimate:
    """k1/n1 - k2/n2 with the score interval of Miettinen & Nurminen (1985).

    The differences that the score test with variance factor N/(N - 1) does not reject.
    """
    _check_pair(k1, n1, k2, n2)
    z = critical(check_level(level))
    if 0 in (n1, n2):
        return Estimate(None, None, None, EMPTY_GROUP)
    value = k1 / n1 - k2 / n2

    def excess(delta: float) -> float:
        return (value - delta) ** 2 - z * z * score_variance(k1, n1, k2, n2, delta)

    # At the estimate itself the excess is 0 where both groups are all alike: step off that root.
    low = -1.0 if value <= -1 else solve(excess, -1.0, max(-1.0, value - 1e-12))
    high = 1.0 if value >= 1 else solve(excess, min(1.0, value + 1e-12), 1.0)
    return Estimate(value, low, high)


def score_statistic(k1: int, n1: int, k2: int, n2: int, delta: float) -> float:
    """Standard normal score of the hypothesis that the true difference is `delta`."""
    distance = k1 / n1 - k2 / n2 - delta
    spread = math.sqrt(score_variance(k1, n1, k2, n2, delta))
    return distance / spread if spread else math.copysign(math.inf, distance)


def score_variance(k1: int, n1: int, k2: int, n2: int, delta: float) -> float:
    """Variance of the difference at its maximum likelihood under p1 = p2 + delta."""
    p2 = _restricted(k1, n1, k2, n2, delta)
    p1 = min(1.0, max(0.0, p2 + delta))
    total = n1 + n2
    return (p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2) * total / (total - 1)


def _restricted(k1: int, n1: int, k2: int, n2: int, delta: float) -> float:
    """The likeliest p2 where p1 = p2 + delta: the middle root of a cubic, by cosines.

    Coefficients as in Farrington & Manning (1990). One Newton step mends what acos loses.
    """
    a = n1 + n2
    b = (n1 + 2 * n2) * delta - a - k1 - k2
    c = (n2 * delta - a - 2 * k2) * delta + k1 + k2
    d = k2 * delta * (1 - delta)
    third = b / (3 * a)
    twist = third**3 - b * c / (6 * a * a) + d / (2 * a)
    radius = math.copysign(math.sqrt(max(0.0, third * third - c / (3 * a))), twist)
    if radius == 0:
        root = -third
    else:
        angle = (math.pi + math.acos(max(-1.0, min(1.0, twist / radius**3)))) / 3
        root = 2 * radius * math.cos(angle) - third
        slope = (3 * a * root + 2 * b) * root + c
        if slope:
            root -= (((a * root + b) * root + c) * root + d) / slope
    return min(1.0, 1.0 - delta, max(0.0, -delta, root))


def _check_pair(k1: int, n1: int, k2: int, n2: int) -> None:
    check_count(k1, n1, ("k1", "n1"))
    check_count(k2, n2, ("k2", "n2"))


def equivalence_test(k1: int, n1: int, k2: int, n2: int, margin: float) -> Equivalence:
    """Are two proportions closer than `margin`? Two one-sided score tests (Schuirmann 1987).

    `shown` where the 90% score interval lies inside ±margin; p is the larger of the two tests.
    """
    if not 0 < margin < 1:
        raise ValueError(f"margin: {margin!r} is not between 0 and 1")
    value, low, high, why = score_difference(k1, n1, k2, n2, level=0.90)
    if why:
        return Equivalence(None, None, None, None, None, why)
    above = normal_cdf(-score_statistic(k1, n1, k2, n2, -margin))
    below = normal_cdf(score_statistic(k1, n1, k2, n2, margin))
    return Equivalence(value, low, high, max(above, below), -margin < low and high < margin)
