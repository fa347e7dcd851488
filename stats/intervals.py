"""Intervals and exact tests of proportions; differences of means, and effect sizes.

None of them is a Wald interval: 0/n and n/n get honest widths.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence

from .distributions import (
    binomial_pmf,
    critical,
    hypergeometric_pmf,
    noncentrality,
    root_of,
    t_quantile,
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
    check_proportion,
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
    """Score interval for a proportion, k successes of n (Wilson 1927)."""
    *_, low, high = share(k, n, level)
    return Interval(low, high, None if n else NO_TRIALS)


def wilson_limits(k: float, n: int, z: float) -> tuple[float, float]:
    """The same unchecked, `z` the normal quantile and `k` any number from 0 to n > 0."""
    share, weight = k / n, n + z * z
    centre = (k + z * z / 2) / weight
    half = z * math.sqrt(n * share * (1 - share) + z * z / 4) / weight
    return 0.0 if k == 0 else centre - half, 1.0 if k == n else centre + half


def share(k: int, n: int, level: float = 0.95) -> Share:
    """k of n as a share with its Wilson interval; None where n = 0."""
    check_count(k, n)
    z = critical(check_level(level))
    return (
        Share(k, n, k / n, *wilson_limits(k, n, z))
        if n
        else Share(k, n, None, None, None)
    )


def newcombe_difference(
    k1: int, n1: int, k2: int, n2: int, level: float = 0.95
) -> Estimate:
    """k1/n1 - k2/n2 by joining two Wilson intervals (Newcombe 1998, method 10)."""
    _check_pair(k1, n1, k2, n2)
    (*_, p1, low1, high1), (*_, p2, low2, high2) = (
        share(k1, n1, level),
        share(k2, n2, level),
    )
    if 0 in (n1, n2):
        return Estimate(None, None, None, EMPTY_GROUP)
    below, above = math.hypot(p1 - low1, high2 - p2), math.hypot(high1 - p1, p2 - low2)
    return Estimate(p1 - p2, p1 - p2 - below, p1 - p2 + above)


def score_difference(
    k1: int, n1: int, k2: int, n2: int, level: float = 0.95
) -> Estimate:
    """k1/n1 - k2/n2 with the score interval of Miettinen & Nurminen (1985).

    The differences that the score test with variance factor N/(N - 1) does not reject.
    """
    _check_pair(k1, n1, k2, n2)
    z = critical(check_level(level))
    if 0 in (n1, n2):
        return Estimate(None, None, None, EMPTY_GROUP)
    value = k1 / n1 - k2 / n2

    def excess(delta: float) -> float:
        p2 = _restricted(k1, n1, k2, n2, delta)
        p1 = min(1.0, max(0.0, p2 + delta))
        variance = (p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2) * (n1 + n2) / (n1 + n2 - 1)
        return (value - delta) ** 2 - z * z * variance

    # At the estimate itself the excess is 0 where both groups are all alike: step off that root.
    low = -1.0 if value <= -1 else root_of(excess, -1.0, max(-1.0, value - 1e-12))
    high = 1.0 if value >= 1 else root_of(excess, min(1.0, value + 1e-12), 1.0)
    return Estimate(value, low, high)


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


def fisher_exact(k1: int, n1: int, k2: int, n2: int) -> float | None:
    """Two-sided p of a 2×2 table: all tables with its margins at most as likely (Fisher 1935).

    Likelihoods within 1e-7 of each other count as equal, as in R. None where a group is empty.
    """
    _check_pair(k1, n1, k2, n2)
    if 0 in (n1, n2):
        return None
    low, pmf = hypergeometric_pmf(k1 + k2, n1, n1 + n2)
    return _as_unlikely(pmf, k1 - low)


def binomial_test(k: int, n: int, p: float = 0.5) -> float | None:
    """Two-sided exact p of k successes in n trials (Clopper & Pearson 1934; as R's binom.test).

    None where n = 0.
    """
    check_count(k, n)
    check_proportion(p, "p")
    return _as_unlikely(binomial_pmf(n, p), k) if n else None


def _as_unlikely(pmf: list[float], index: int) -> float:
    limit = pmf[index] * (1 + 1e-7)
    return min(1.0, math.fsum(p for p in pmf if p <= limit))


# --- effect sizes, and means --------------------------------------------------------------------

SAME_WITHIN = "every value is the same within each group"
MOST_DEVIATIONS = (
    100  # beyond, the noncentral t needs millions of points, and nobody needs it
)
FAR_APART = f"the means lie more than {MOST_DEVIATIONS} standard deviations apart"


def welch_t_test(x: Sequence[float], y: Sequence[float], level: float = 0.95) -> TTest:
    """Difference of means, x - y, without assuming equal variances (Welch 1947).

    Degrees of freedom as Satterthwaite (1946).
    """
    x, y = numbers(x, "x"), numbers(y, "y")
    check_level(level)
    difference = mean(x) - mean(y) if x and y else None
    why = too_few((x, y))
    if why is None and constant(x) and constant(y):
        why = SAME_WITHIN
    if why:
        return TTest(None, None, None, difference, None, None, why)
    parts = variance(x) / len(x), variance(y) / len(y)
    whole = math.fsum(parts)
    spread = math.fsum(p * p / (len(g) - 1) for p, g in zip(parts, (x, y), strict=True))
    return _t_test(difference, math.sqrt(whole), whole * whole / spread, level)


def t_interval(values: Sequence[float], level: float = 0.95) -> TTest:
    """Student's test of a mean against 0, with its interval: paired differences, one a unit."""
    values = numbers(values, "values")
    check_level(level)
    difference = mean(values) if values else None
    why = too_few([values]) or (SAME if constant(values) else None)
    if why:
        return TTest(None, None, None, difference, None, None, why)
    se = math.sqrt(variance(values) / len(values))
    return _t_test(difference, se, len(values) - 1, level)


def _t_test(difference: float, se: float, df: float, level: float) -> TTest:
    t, half = difference / se, t_quantile((1 + level) / 2, df) * se
    return TTest(
        t, df, t_two_sided(t, df), difference, difference - half, difference + half
    )


def cohens_d(x: Sequence[float], y: Sequence[float], level: float = 0.95) -> Estimate:
    """Difference of means over the pooled standard deviation (Cohen 1988).

    The interval inverts the noncentral t distribution (Steiger & Fouladi 1997).
    """
    x, y = numbers(x, "x"), numbers(y, "y")
    tail = (1 - check_level(level)) / 2
    why = too_few((x, y)) or (SAME_WITHIN if constant(x) and constant(y) else None)
    if why:
        return Estimate(None, None, None, why)
    df = len(x) + len(y) - 2
    d = (mean(x) - mean(y)) / math.sqrt((squares(x) + squares(y)) / df)
    if abs(d) > MOST_DEVIATIONS:
        return Estimate(d, None, None, FAR_APART)
    root_n = math.sqrt(len(x) * len(y) / (len(x) + len(y)))
    low, high = (noncentrality(d * root_n, df, p) / root_n for p in (1 - tail, tail))
    return Estimate(d, low, high)


def cliffs_delta(
    x: Sequence[float], y: Sequence[float], level: float = 0.95
) -> Estimate:
    """P(X > Y) - P(X < Y), from -1 to 1 (Cliff 1993).

    Interval: consistent variance (Cliff 1996) and the asymmetric limits of Feng & Cliff (2004)
    with a t quantile on m + n - 2 degrees of freedom. Where the groups do not overlap, δ counts as
    δ(mn - 1)/(mn) in both, and the far limit is ±1.
    """
    x, y = numbers(x, "x"), numbers(y, "y")
    check_level(level)
    if not x or not y:
        return Estimate(None, None, None, EMPTY_GROUP)
    m, n, mn = len(x), len(y), len(x) * len(y)
    total, row_squares, ties = _dominance(x, y)
    _, column_squares, _ = _dominance(y, x)
    delta = total / mn
    why = too_few((x, y)) or (SAME if ties == mn else None)
    if why:
        return Estimate(delta, None, None, why)
    centre = delta * (mn - 1) / mn if abs(total) == mn else delta
    off = (delta - centre) ** 2
    # Sums of squares about the mean as whole numbers until the one division: nothing cancels.
    rows = (m * row_squares - total * total) / (m * n * n) + m * off
    columns = (n * column_squares - total * total) / (n * m * m) + n * off
    single = (mn * (mn - ties) - total * total) / mn + mn * off
    spread = (n - 1) / (m - 1) * rows + (m - 1) / (n - 1) * columns
    spread = (spread + single / ((m - 1) * (n - 1))) / mn
    half = t_quantile((1 + level) / 2, m + n - 2) * math.sqrt(spread)
    low, high = _feng_cliff(centre, half)
    return Estimate(delta, -1.0 if delta == -1 else low, 1.0 if delta == 1 else high)


def _dominance(x: Sequence[float], y: Sequence[float]) -> tuple[int, int, int]:
    """Score an x by how many y lie below it less how many above: sum, sum of squares, ties."""
    order, n = sorted(y), len(y)
    total = squared = ties = 0
    for value, times in Counter(x).items():
        left, right = bisect_left(order, value), bisect_right(order, value)
        score = left + right - n
        total += score * times
        squared += score * score * times
        ties += (right - left) * times
    return total, squared, ties


def _feng_cliff(delta: float, half: float) -> tuple[float, float]:
    rest = 1 - delta * delta
    root = half * math.sqrt(rest * rest + half * half)
    below = rest + half * half
    return (delta * rest - root) / below, (delta * rest + root) / below
