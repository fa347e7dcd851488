"""Intervals for a proportion and for a difference of two proportions.

None of them is a Wald interval: 0/n and n/n get honest widths.
"""

import math
from collections import Counter
from collections.abc import Iterable

from .distributions import beta_quantile, critical, normal_cdf, solve
from .results import Equivalence, Estimate, Interval, Share
from .samples import check_count, check_level

NO_TRIALS = "no observations"
EMPTY_GROUP = "a group is empty"
NO_LABELS = "no labels"
PAIRS = {(a, b) for a in (0, 1) for b in (0, 1)}


def wilson_interval(k: int, n: int, level: float = 0.95) -> Interval:
    """Score interval for a proportion, k successes of n (Wilson 1927)."""
    check_count(k, n)
    z = critical(check_level(level))
    if n == 0:
        return Interval(None, None, NO_TRIALS)
    return Interval(*wilson_limits(k, n, z))


def wilson_limits(k: float, n: int, z: float) -> tuple[float, float]:
    """The same unchecked, `z` the normal quantile and `k` any number from 0 to n > 0."""
    share, weight = k / n, n + z * z
    centre = (k + z * z / 2) / weight
    half = z * math.sqrt(n * share * (1 - share) + z * z / 4) / weight
    return 0.0 if k == 0 else centre - half, 1.0 if k == n else centre + half


def share(k: float, n: int, level: float = 0.95) -> Share:
    """k of n as a share with its Wilson interval; None where n = 0.

    `k` may be a sum of n independent probabilities, or of other values from 0 to 1: of all such
    values with a given mean, 0 and 1 vary most, so the interval then covers too often and never
    too seldom.
    """
    check_share(k, n)
    z = critical(check_level(level))
    return Share(k, n, k / n, *wilson_limits(k, n, z)) if n else Share(k, n, None, None, None)


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


def check_share(k: float, n: int, name: str = "k") -> None:
    check_count(n, n, ("n", "n"))
    if not isinstance(k, (int, float)) or not 0 <= k <= n:
        raise ValueError(f"{name}: {k!r} is not from 0 to n = {n!r}")


def prediction_powered_rate(
    labelled: Iterable[tuple[int, int]], k: int, n: int, level: float = 0.95
) -> Estimate:
    """A rate from few true labels and many predicted ones (Angelopoulos et al. 2023).

    `labelled`: (truth, prediction) pairs of 0 and 1 of a random sample; `k` of `n` others are
    predicted 1. The predicted rate plus the mean error of the predictions. Interval: both parts'
    variances, ½ added to each cell of the table of truth and prediction (Agresti & Min 2005) and 2
    to either count of the others (Agresti & Coull 1998): where predictions hardly ever err the
    plain variance is 0 or nearly so, and covers as little as 77% with 100 labels.
    """
    check_count(k, n)
    z, pairs = critical(check_level(level)), Counter(map(tuple, labelled))
    unknown = next((pair for pair in pairs if pair not in PAIRS), None)
    if unknown is not None:
        raise ValueError(f"labelled: {unknown!r} is not a pair of 0 and 1")
    if not pairs or not n:
        return Estimate(None, None, None, NO_LABELS if not pairs else NO_TRIALS)
    labels, missed, invented = pairs.total(), pairs[1, 0], pairs[0, 1]
    value = k / n + (missed - invented) / labels
    total, rate = labels + 2, (k + 2) / (n + 4)
    error, wrong = (missed - invented) / total, (missed + invented + 1) / total
    spread = z * math.sqrt(rate * (1 - rate) / (n + 4) + (wrong - error**2) / total)
    value, low, high = (
        min(1.0, max(0.0, x)) for x in (value, k / n + error - spread, k / n + error + spread)
    )
    return Estimate(value, min(low, value), max(high, value))


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
