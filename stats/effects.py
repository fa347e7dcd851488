"""Effect sizes and contrasts of means: Welch's t, Cohen's d and h, Hedges' g, Cliff's δ."""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence

from .distributions import (
    log_gamma_ratio,
    noncentrality,
    t_quantile,
    t_two_sided,
)
from .results import Contrast, Estimate, TTest
from .samples import (
    SAME,
    check_level,
    check_proportion,
    constant,
    mean,
    numbers,
    squares,
    too_few,
    variance,
)

SAME_WITHIN = "every value is the same within each group"
MOST_DEVIATIONS = 100  # beyond, the noncentral t needs millions of points, and nobody needs it
FAR_APART = f"the means lie more than {MOST_DEVIATIONS} standard deviations apart"
CELLS = ((0, 0), (0, 1), (1, 0), (1, 1))


def welch_t_test(x: Sequence[float], y: Sequence[float], level: float = 0.95) -> TTest:
    """Difference of means, x - y, without assuming equal variances (Welch 1947)."""
    x, y = numbers(x, "x"), numbers(y, "y")
    check_level(level)
    difference = mean(x) - mean(y) if x and y else None
    why = too_few((x, y))
    if why is None and constant(x) and constant(y):
        why = SAME_WITHIN
    if why:
        return TTest(None, None, None, difference, None, None, why)
    se, df = _welch([x, y])
    return _t_test(difference, se, df, level)


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
    return TTest(t, df, t_two_sided(t, df), difference, difference - half, difference + half)


def _welch(groups: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Standard error of a ±1 contrast of means and its degrees of freedom (Satterthwaite 1946)."""
    parts = [variance(group) / len(group) for group in groups]
    whole = math.fsum(parts)
    spread = math.fsum(p * p / (len(g) - 1) for p, g in zip(parts, groups, strict=True))
    return math.sqrt(whole), whole * whole / spread


def interaction_contrast(
    cells: Mapping[tuple[int, int], Sequence[float]], level: float = 0.95
) -> Contrast:
    """(11 - 10) - (01 - 00) of the means of a 2×2 design, on the scale of the values.

    `cells` maps (a, b), each 0 or 1, to the values of that cell. Welch-Satterthwaite degrees of
    freedom, no common variance assumed. A cell that is absent counts as empty.
    """
    check_level(level)
    unknown = [key for key in cells if key not in CELLS]
    if unknown:
        raise ValueError(f"cells: {unknown[0]!r} is not one of {', '.join(map(str, CELLS))}")
    groups = [numbers(cells.get(key, ()), f"cells[{key}]") for key in CELLS]
    for key, group in zip(CELLS, groups, strict=True):
        if not group:
            return Contrast(None, None, None, None, None, f"cell {key} is empty")
    m00, m01, m10, m11 = map(mean, groups)
    value = (m11 - m10) - (m01 - m00)
    why = too_few(groups) or (SAME_WITHIN if all(map(constant, groups)) else None)
    if why:
        return Contrast(value, None, None, None, None, why.replace("group", "cell"))
    se, df = _welch(groups)
    test = _t_test(value, se, df, level)
    return Contrast(value, test.low, test.high, df, test.p)


def cohens_d(x: Sequence[float], y: Sequence[float], level: float = 0.95) -> Estimate:
    """Difference of means over the pooled standard deviation (Cohen 1988).

    The interval inverts the noncentral t distribution (Steiger & Fouladi 1997).
    """
    return _standardised(x, y, level, corrected=False)


def hedges_g(x: Sequence[float], y: Sequence[float], level: float = 0.95) -> Estimate:
    """Cohen's d without its small-sample bias: the exact gamma correction of Hedges (1981)."""
    return _standardised(x, y, level, corrected=True)


def _standardised(
    x: Sequence[float], y: Sequence[float], level: float, corrected: bool
) -> Estimate:
    x, y = numbers(x, "x"), numbers(y, "y")
    tail = (1 - check_level(level)) / 2
    why = too_few((x, y)) or (SAME_WITHIN if constant(x) and constant(y) else None)
    if why:
        return Estimate(None, None, None, why)
    df = len(x) + len(y) - 2
    d = (mean(x) - mean(y)) / math.sqrt((squares(x) + squares(y)) / df)
    root_n = math.sqrt(len(x) * len(y) / (len(x) + len(y)))
    scale = hedges_correction(df) if corrected else 1.0
    if abs(d) > MOST_DEVIATIONS:
        return Estimate(d * scale, None, None, FAR_APART)
    low, high = (noncentrality(d * root_n, df, p) / root_n for p in (1 - tail, tail))
    return Estimate(d * scale, low * scale, high * scale)


def hedges_correction(df: float) -> float:
    """J(df) = Γ(df/2) / (sqrt(df/2) Γ((df-1)/2)), below 1; 0 at one degree of freedom."""
    if df <= 1:
        return 0.0
    return math.exp(-log_gamma_ratio((df - 1) / 2, 0.5)) / math.sqrt(df / 2)


def cohens_h(p1: float, p2: float) -> float:
    """Difference of two proportions after the arcsine transformation (Cohen 1988)."""
    check_proportion(p1, "p1")
    check_proportion(p2, "p2")
    return 2 * (math.asin(math.sqrt(p1)) - math.asin(math.sqrt(p2)))


def cliffs_delta(x: Sequence[float], y: Sequence[float], level: float = 0.95) -> Estimate:
    """P(X > Y) - P(X < Y), from -1 to 1 (Cliff 1993).

    Interval: consistent variance (Cliff 1996) and the asymmetric limits of Feng & Cliff (2004)
    with a t quantile on m + n - 2 degrees of freedom. Where the groups do not overlap, δ counts as
    δ(mn - 1)/(mn) in both, and the far limit is ±1.
    """
    x, y = numbers(x, "x"), numbers(y, "y")
    check_level(level)
    if not x or not y:
        return Estimate(None, None, None, "a group is empty")
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
