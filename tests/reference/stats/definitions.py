"""Second computations, slow and straight from the definitions, for what has no peer at hand.

Used by peers.py only. Nothing here is shared with the code under test.
"""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import scipy.optimize
import scipy.stats
from mpmath import mp, mpf

mp.dps = 50


def normal_quantile(p):
    return mp.sqrt(2) * mp.erfinv(2 * mpf(p) - 1)


def t_sf(t, df):
    t, df = mpf(t), mpf(df)
    norm = mp.sqrt(df) * mp.beta(df / 2, mpf(1) / 2)
    points = [mpf(0), *[mpf(i) for i in range(1, int(abs(t)) + 1)], abs(t)]
    half = mp.quad(lambda s: (1 + s * s / df) ** (-(df + 1) / 2), points) / norm
    return mpf(1) / 2 - mp.sign(t) * half


def noncentral_t_cdf(t, df, shift):
    """Over x = log u, where the density of u = chi/sqrt(df) is smooth on both sides."""
    t, df, shift = mpf(t), mpf(df), mpf(shift)
    spread = 1 / mp.sqrt(2 * df)
    points = sorted({-90 / df, *[k * spread for k in range(-12, 13)]})

    def weight(x):
        return mp.exp(df * (x - mp.expm1(2 * x) / 2))

    whole = mp.quad(weight, points)
    return mp.quad(lambda x: mp.ncdf(t * mp.exp(x) - shift) * weight(x), points) / whole


def restricted(k1, n1, k2, n2, delta):
    """The p2 that maximises the likelihood under p1 = p2 + delta: bisection on its slope."""

    def slope(p):
        total = mpf(0)
        for k, n, q in ((k1, n1, p + delta), (k2, n2, p)):
            total += (k / q if q > 0 else mp.inf) if k else 0
            total -= ((n - k) / (1 - q) if q < 1 else mp.inf) if n - k else 0
        return total

    low, high = max(mpf(0), -delta), min(mpf(1), 1 - delta)
    for _ in range(110):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return (low + high) / 2


def score_variance(k1, n1, k2, n2, delta):
    p2 = restricted(k1, n1, k2, n2, delta)
    p1, n = p2 + delta, n1 + n2
    return (p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2) * n / (n - 1)


def score_interval(k1, n1, k2, n2, level):
    """Differences whose score test is not rejected: bisection outwards from the estimate."""
    z = -normal_quantile((1 - mpf(repr(level))) / 2)
    value = mpf(k1) / n1 - mpf(k2) / n2
    limits = []
    for sign in (-1, 1):
        inner, outer = value + sign * mpf(10) ** -20, mpf(sign)
        if abs(value) == 1 and sign == mp.sign(value):
            limits.append(outer)
            continue
        for _ in range(100):
            middle = (inner + outer) / 2
            rejected = (value - middle) ** 2 > z * z * score_variance(k1, n1, k2, n2, middle)
            inner, outer = (inner, middle) if rejected else (middle, outer)
        limits.append((inner + outer) / 2)
    return limits


def standardised(x, y, level):
    """Cohen's d and Hedges' g with limits, the noncentrality found by brentq on SciPy's nct."""
    m, n = len(x), len(y)
    df, root = m + n - 2, math.sqrt(m * n / (m + n))
    pooled = math.sqrt(((m - 1) * np.var(x, ddof=1) + (n - 1) * np.var(y, ddof=1)) / df)
    d = (np.mean(x) - np.mean(y)) / pooled
    tail = (1 - level) / 2
    limits = [scipy.optimize.brentq(
        lambda shift, p=p: scipy.stats.nct.cdf(d * root, df, shift) - p,
        d * root - 30, d * root + 30, xtol=1e-13, rtol=1e-14) / root for p in (1 - tail, tail)]
    half = mpf(df) / 2
    j = float(mp.gamma(half) / (mp.sqrt(half) * mp.gamma(half - mpf(1) / 2)))
    return [{"value": float(d * by), "low": float(limits[0] * by), "high": float(limits[1] * by)}
            for by in (1, j)]


def dominance_interval(x, y, quantile):
    """Variance terms of Cliff (1996, p. 138) and limits of Feng & Cliff (2004), O(mn)."""
    matrix = np.sign(np.subtract.outer(np.array(x, float), np.array(y, float)))
    m, n = matrix.shape
    delta = matrix.mean()
    d = delta * (m * n - 1) / (m * n) if abs(delta) == 1 else delta
    rows = ((matrix.mean(axis=1) - d) ** 2).sum() / (m - 1)
    columns = ((matrix.mean(axis=0) - d) ** 2).sum() / (n - 1)
    single = ((matrix - d) ** 2).sum() / ((m - 1) * (n - 1))
    s2 = ((n - 1) * rows + (m - 1) * columns + single) / (m * n)
    root = quantile * math.sqrt(s2) * math.sqrt((1 - d * d) ** 2 + quantile**2 * s2)
    below = 1 - d * d + quantile**2 * s2
    low, high = (d - d**3 - root) / below, (d - d**3 + root) / below
    return delta, low, high, (rows, columns, single)


def _check_published():
    """The example of Hogarty & Kromrey (1999): their variance terms, and the limits that the R
    package effsize records for it (normal quantile)."""
    x, y = [10, 10, 20, 20, 20, 30, 30, 30, 40, 50], [10, 20, 30, 40, 40, 50]
    delta, low, high, terms = dominance_interval(x, y, 1.959963984540054)
    assert delta == -0.25
    assert np.allclose((low, high), (-0.7125351, 0.3639999), atol=5e-8)
    assert np.allclose(terms, (0.2669753, 0.447, 1.0055556), atol=5e-8)


_check_published()


def cliffs_delta(x, y, level):
    quantile = scipy.stats.t.ppf((1 + level) / 2, len(x) + len(y) - 2)
    delta, low, high, _ = dominance_interval(x, y, quantile)
    low, high = (-1.0 if delta == -1 else low), (1.0 if delta == 1 else high)
    return {"value": float(delta), "low": float(low), "high": float(high)}


def exact_bootstrap(x, y):
    """All resamples of every stratum, in fractions; the strata of a side weigh the same."""
    whole, value = {Fraction(0): Fraction(1)}, Fraction(0)
    for sign, side in ((1, x), (-1, y)):
        for stratum in side:
            n, merged, share = len(stratum), {}, Fraction(sign, len(stratum) * len(side))
            value += sum(stratum) * share
            for (total, p), drawn in product(whole.items(), product(stratum, repeat=n)):
                there = total + sum(drawn) * share
                merged[there] = merged.get(there, 0) + p / n**n
            whole = merged
    limits, order = [], sorted(whole.items())
    for tail in (Fraction(1, 40), Fraction(39, 40)):
        limits.append(next(v for i, (v, _) in enumerate(order)
                           if sum(p for _, p in order[: i + 1]) >= tail))
    mean = sum(v * p for v, p in order)
    se = math.sqrt(sum((v - mean) ** 2 * p for v, p in order))
    return {"value": float(value), "low": float(limits[0]), "high": float(limits[1]), "se": se,
            "exact": True}


def two_sided_permutation(x, y):
    """Every assignment of the outcomes to x, in fractions."""
    values, m = x + y, len(x)
    centre = Fraction(m * sum(values), len(values))
    sums = [sum(drawn) for drawn in combinations(values, m)]
    extreme = sum(abs(total - centre) >= abs(sum(x) - centre) for total in sums)
    return extreme / len(sums)
