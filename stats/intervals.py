"""Intervals and exact tests for proportions, and for differences of means with their effect sizes.

None is a Wald interval (value ± 1.96 se), which would have no width at 0/n and n/n.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from math import acos, copysign, cos, fsum, hypot, pi, sqrt
from typing import NamedTuple

from .distributions import (
    critical,
    hypergeometric_pmf,
    noncentrality,
    root_of,
    t_critical,
    t_two_sided,
)
from .results import (
    SAME,
    Estimate,
    Interval,
    Share,
    TTest,
    check_count,
    check_level,
    constant,
    mean,
    numbers,
    squares,
    too_few,
    variance,
)

NO_TRIALS = "no observations"
EMPTY_GROUP = "a group is empty"


def wilson_interval(k: int, n: int, level: float = 0.95) -> Interval:
    """Wilson's (1927) score interval for a proportion of k successes in n; None where n = 0."""
    check_count(k, n)
    z = critical(check_level(level))
    if n == 0:
        return Interval(None, None, NO_TRIALS)
    return Interval(*wilson_limits(k, n, z))


def wilson_limits(k: float, n: int, z: float) -> tuple[float, float]:
    """`wilson_interval` without checks: `z` is the normal quantile, `k` any number from 0 to n, and
    n > 0."""
    square = z * z
    weight = n + square
    centre = (k + square / 2) / weight
    spread = k * (1 - k / n) + square / 4
    half = z * sqrt(spread) / weight
    low, high = centre - half, centre + half
    if k == 0:
        low = 0.0
    if k == n:
        high = 1.0
    return low, high


def share(k: int, n: int, level: float = 0.95) -> Share:
    """k/n with its Wilson interval; value and limits are None where n = 0."""
    interval = wilson_interval(k, n, level)
    value = None
    if n:
        value = k / n
    return Share(k, n, value, interval.low, interval.high)


def newcombe_difference(
    k1: int, n1: int, k2: int, n2: int, level: float = 0.95
) -> Estimate:
    """k1/n1 - k2/n2, with an interval made of two Wilson intervals (Newcombe 1998, method 10)."""
    _check_pair(k1, n1, k2, n2)
    z = critical(check_level(level))
    if 0 in (n1, n2):
        return Estimate(None, None, None, EMPTY_GROUP)
    p1, p2 = k1 / n1, k2 / n2
    low1, high1 = wilson_limits(k1, n1, z)
    low2, high2 = wilson_limits(k2, n2, z)
    below = hypot(p1 - low1, high2 - p2)
    above = hypot(high1 - p1, p2 - low2)
    value = p1 - p2
    return Estimate(value, value - below, value + above)


def score_difference(
    k1: int, n1: int, k2: int, n2: int, level: float = 0.95
) -> Estimate:
    """k1/n1 - k2/n2 with the score interval of Miettinen & Nurminen (1985).

    It holds the differences that the score test, with variance factor N/(N - 1), does not reject.
    """
    _check_pair(k1, n1, k2, n2)
    z = critical(check_level(level))
    if 0 in (n1, n2):
        return Estimate(None, None, None, EMPTY_GROUP)
    value = k1 / n1 - k2 / n2

    def excess(delta: float) -> float:
        allowed = z * z * _score_variance(k1, n1, k2, n2, delta)
        return (value - delta) ** 2 - allowed

    # Where all outcomes of both groups are alike, the estimate itself is a root: step off it.
    low, high = -1.0, 1.0
    if value > -1:
        low = root_of(excess, -1.0, value - 1e-12)
    if value < 1:
        high = root_of(excess, value + 1e-12, 1.0)
    return Estimate(value, low, high)


def _score_variance(k1: int, n1: int, k2: int, n2: int, delta: float) -> float:
    """The variance of the observed difference if the true one were `delta`.

    It takes the two shares that are most likely among those `delta` apart (restricted
    maximum likelihood), and the factor N/(N - 1) of Miettinen & Nurminen (1985), where
    N = n1 + n2.
    """
    p2 = _restricted(k1, n1, k2, n2, delta)
    p1 = min(1.0, max(0.0, p2 + delta))
    variance = p1 * (1 - p1) / n1
    variance += p2 * (1 - p2) / n2
    total = n1 + n2
    return variance * total / (total - 1)


def _restricted(k1: int, n1: int, k2: int, n2: int, delta: float) -> float:
    """The maximum-likelihood p2 under p1 = p2 + delta: the middle root of a cubic, by cosines.

    Coefficients as in Farrington & Manning (1990). A Newton step restores the digits that acos
    loses.
    """
    a, k = n1 + n2, k1 + k2
    b = (a + n2) * delta - a - k
    slope_at_0 = n2 * delta - a - 2 * k2
    c = slope_at_0 * delta + k
    d = k2 * delta * (1 - delta)
    third = b / (3 * a)
    twist = third**3 - b * c / (6 * a * a) + d / (2 * a)
    square = third * third - c / (3 * a)
    radius = copysign(sqrt(max(0.0, square)), twist)
    root = -third
    if radius:
        cosine = max(-1.0, min(1.0, twist / radius**3))
        angle = (pi + acos(cosine)) / 3
        root += 2 * radius * cos(angle)
        slope = (3 * a * root + 2 * b) * root + c
        if slope:
            root -= (((a * root + b) * root + c) * root + d) / slope
    return min(1.0, 1.0 - delta, max(0.0, -delta, root))


def _check_pair(k1: int, n1: int, k2: int, n2: int) -> None:
    check_count(k1, n1, ("k1", "n1"))
    check_count(k2, n2, ("k2", "n2"))


def fisher_exact(k1: int, n1: int, k2: int, n2: int) -> float | None:
    """Fisher's (1935) exact test: the two-sided p of two groups, k1 of n1 and k2 of n2.

    p sums the probabilities of all tables with the same margins that are at most as likely as this
    one. Likelihoods within 1e-7 of each other count as equal, as in R. None where a group is empty.
    """
    _check_pair(k1, n1, k2, n2)
    if 0 in (n1, n2):
        return None
    pmf = hypergeometric_pmf(k1 + k2, n1, n1 + n2)
    limit = pmf[k1] * (1 + 1e-7)
    return min(1.0, fsum(p for p in pmf.values() if p <= limit))


# --- effect sizes, and means --------------------------------------------------------------------

SAME_WITHIN = "every value is the same within each group"
# Above this the noncentral t would need millions of points.
MOST_DEVIATIONS = 100
FAR_APART = f"the means lie more than {MOST_DEVIATIONS} standard deviations apart"


def welch_t_test(x: Sequence[float], y: Sequence[float], level: float = 0.95) -> TTest:
    """Difference of means, x - y, without assuming equal variances (Welch 1947).

    Degrees of freedom as Satterthwaite (1946).
    """
    x, y = numbers(x, "x"), numbers(y, "y")
    check_level(level)
    if not x or not y:
        return _no_test(None, EMPTY_GROUP)
    difference = mean(x) - mean(y)
    why = _no_deviation(x, y)
    if why:
        return _no_test(difference, why)
    whole = by_df = 0.0
    for group in (x, y):
        square = variance(group) / len(group)
        whole += square
        by_df += square * square / (len(group) - 1)
    return _t_test(difference, sqrt(whole), whole * whole / by_df, level)


def t_interval(values: Sequence[float], level: float = 0.95) -> TTest:
    """Student's test of whether a mean is 0, with its interval; for paired differences, one per
    unit."""
    values = numbers(values, "values")
    check_level(level)
    if not values:
        return _no_test(None, EMPTY_GROUP)
    difference, n = mean(values), len(values)
    why = too_few([values])
    if why is None and constant(values):
        why = SAME
    if why:
        return _no_test(difference, why)
    return _t_test(difference, sqrt(variance(values) / n), n - 1, level)


def _no_test(difference: float | None, why: str) -> TTest:
    return TTest(None, None, None, difference, None, None, why)


def _t_test(difference: float, se: float, df: float, level: float) -> TTest:
    """The test of a difference with standard error `se` and `df` degrees of freedom."""
    t = difference / se
    half = t_critical(level, df) * se
    low, high = difference - half, difference + half
    return TTest(t, df, t_two_sided(t, df), difference, low, high)


def _no_deviation(x: list[float], y: list[float]) -> str | None:
    """Why there is no standard deviation within the groups, in words, or None where there is one."""
    why = too_few((x, y))
    if why is None and constant(x) and constant(y):
        return SAME_WITHIN
    return why


def cohens_d(x: Sequence[float], y: Sequence[float], level: float = 0.95) -> Estimate:
    """The difference of means over the pooled standard deviation (Cohen 1988).

    The limits are the d for which the observed t is just as extreme as `level` allows, by the
    noncentral t distribution (Steiger & Fouladi 1997).
    """
    x, y = numbers(x, "x"), numbers(y, "y")
    tail = (1 - check_level(level)) / 2
    why = _no_deviation(x, y)
    if why:
        return Estimate(None, None, None, why)
    m, n = len(x), len(y)
    df = m + n - 2
    pooled = sqrt((squares(x) + squares(y)) / df)
    d = (mean(x) - mean(y)) / pooled
    if abs(d) > MOST_DEVIATIONS:
        return Estimate(d, None, None, FAR_APART)
    root_n = sqrt(m * n / (m + n))
    low = noncentrality(d * root_n, df, 1 - tail) / root_n
    high = noncentrality(d * root_n, df, tail) / root_n
    return Estimate(d, low, high)


def cliffs_delta(
    x: Sequence[float], y: Sequence[float], level: float = 0.95
) -> Estimate:
    """P(X > Y) - P(X < Y), from -1 to 1 (Cliff 1993).

    The interval has Cliff's (1996) consistent variance and the asymmetric limits of Feng & Cliff
    (2004), with a t quantile on m + n - 2 degrees of freedom. Where the groups do not overlap, δ =
    ±1 would give no width: then δ(mn - 1)/(mn) replaces it in both formulas, and the far limit is
    ±1.
    """
    x, y = numbers(x, "x"), numbers(y, "y")
    check_level(level)
    if not x or not y:
        return Estimate(None, None, None, EMPTY_GROUP)
    m, n = len(x), len(y)
    pairs = m * n
    of_x, of_y = _dominance(x, y), _dominance(y, x)
    delta = centre = of_x.total / pairs
    why = too_few((x, y))
    if why is None and of_x.ties == pairs:
        why = SAME
    if why:
        return Estimate(delta, None, None, why)
    if abs(delta) == 1:
        centre = delta * (pairs - 1) / pairs
    off = (delta - centre) ** 2
    rows = _scatter(of_x.squares, of_x.total, m) / n**2 + m * off
    columns = _scatter(of_y.squares, of_y.total, n) / m**2 + n * off
    single = _scatter(pairs - of_x.ties, of_x.total, pairs) + pairs * off
    df_x, df_y = m - 1, n - 1
    spread = df_y / df_x * rows + df_x / df_y * columns
    spread += single / (df_x * df_y)
    se = sqrt(spread / pairs)
    low, high = _feng_cliff(centre, t_critical(level, df_x + df_y) * se)
    if delta == -1:
        low = -1.0
    if delta == 1:
        high = 1.0
    return Estimate(delta, low, high)


class Dominance(NamedTuple):
    """Sum and sum of squares of the scores of one group's values, and the number of ties.

    A value's score is how many of the other group's values lie below it, less how many lie above.
    """

    total: int
    squares: int
    ties: int


def _dominance(x: Sequence[float], y: Sequence[float]) -> Dominance:
    """The `Dominance` of `x` over `y`."""
    order = sorted(y)
    total = squared = ties = 0
    for value, times in Counter(x).items():
        below, up_to = bisect_left(order, value), bisect_right(order, value)
        score = below + up_to - len(order)
        total += score * times
        squared += score * score * times
        ties += (up_to - below) * times
    return Dominance(total, squared, ties)


def _scatter(squares: int, total: int, n: int) -> float:
    """The sum of the squared deviations of n whole numbers from their mean. It takes their sum of
    squares and their sum, and divides only once, so that no digits cancel."""
    return (n * squares - total * total) / n


def _feng_cliff(delta: float, half: float) -> tuple[float, float]:
    """Feng & Cliff's (2004) limits around `delta`; `half` is the quantile times the standard error."""
    rest, square = 1 - delta * delta, half * half
    centre = delta * rest
    root = half * sqrt(rest * rest + square)
    below = rest + square
    return (centre - root) / below, (centre + root) / below
