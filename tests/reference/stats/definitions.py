"""Second computations, slow and straight from the definitions, for what has no peer at hand.

Used by peers.py only. Nothing here is shared with the code under test.
"""

import math
from fractions import Fraction
from itertools import product

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
            rejected = (value - middle) ** 2 > z * z * score_variance(
                k1, n1, k2, n2, middle
            )
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
    limits = [
        scipy.optimize.brentq(
            lambda shift, p=p: scipy.stats.nct.cdf(d * root, df, shift) - p,
            d * root - 30,
            d * root + 30,
            xtol=1e-13,
            rtol=1e-14,
        )
        / root
        for p in (1 - tail, tail)
    ]
    half = mpf(df) / 2
    j = float(mp.gamma(half) / (mp.sqrt(half) * mp.gamma(half - mpf(1) / 2)))
    return [
        {
            "value": float(d * by),
            "low": float(limits[0] * by),
            "high": float(limits[1] * by),
        }
        for by in (1, j)
    ]


def cliffs_delta(x, y, level):
    """Variance terms of Cliff (1996, p. 138) and limits of Feng & Cliff (2004), O(mn)."""
    matrix = np.sign(np.subtract.outer(np.array(x, float), np.array(y, float)))
    m, n = matrix.shape
    delta, quantile = matrix.mean(), scipy.stats.t.ppf((1 + level) / 2, m + n - 2)
    d = delta * (m * n - 1) / (m * n) if abs(delta) == 1 else delta
    rows = ((matrix.mean(axis=1) - d) ** 2).sum() / (m - 1)
    columns = ((matrix.mean(axis=0) - d) ** 2).sum() / (n - 1)
    single = ((matrix - d) ** 2).sum() / ((m - 1) * (n - 1))
    s2 = ((n - 1) * rows + (m - 1) * columns + single) / (m * n)
    root = quantile * math.sqrt(s2) * math.sqrt((1 - d * d) ** 2 + quantile**2 * s2)
    below = 1 - d * d + quantile**2 * s2
    low, high = ((d - d**3 + sign * root) / below for sign in (-1, 1))
    low, high = (-1.0 if delta == -1 else low), (1.0 if delta == 1 else high)
    return {"value": float(delta), "low": float(low), "high": float(high)}


def exact_bootstrap(samples, method, level):
    """All n^n resamples of each sample, in fractions; BCa by its formulas."""
    samples = [[Fraction(str(v)) for v in sample] for sample in samples]
    curves = []
    for sample in samples:
        curve = {}
        for drawn in product(sample, repeat=len(sample)):
            mean = sum(drawn) / len(sample)
            curve[mean] = curve.get(mean, 0) + Fraction(1, len(sample) ** len(sample))
        curves.append(curve)
    whole = curves[0]
    if len(curves) == 2:
        whole = {}
        for (a, p), (b, q) in product(curves[0].items(), curves[1].items()):
            whole[a - b] = whole.get(a - b, 0) + p * q
    means = [sum(sample) / len(sample) for sample in samples]
    value = means[0] - (means[1] if len(means) == 2 else 0)
    tails = (1 - level) / 2, (1 + level) / 2
    if method == "bca":
        share = sum(p for v, p in whole.items() if v < value) + whole.get(value, 0) / 2
        bias = scipy.stats.norm.ppf(float(share))
        cubes = spread = 0
        for sign, sample in zip((1, -1), samples, strict=False):
            n = len(sample)
            left_out = [sign * (sum(sample) - v) / Fraction(n - 1) for v in sample]
            centre = sum(left_out) / n
            cubes += sum(((n - 1) * (centre - v)) ** 3 for v in left_out) / n**3
            spread += sum(((n - 1) * (centre - v)) ** 2 for v in left_out) / n**2
        a = float(cubes) / 6 / float(spread) ** 1.5
        z = [bias + scipy.stats.norm.ppf(tail) for tail in tails]
        tails = [scipy.stats.norm.cdf(bias + v / (1 - a * v)) for v in z]
    limits, total = [], Fraction(0)
    order = sorted(whole.items())
    for tail in tails:
        total = Fraction(0)
        for v, p in order:
            total += p
            if total >= tail:
                limits.append(float(v))
                break
    mean = sum(v * p for v, p in order)
    se = math.sqrt(sum((v - mean) ** 2 * p for v, p in order))
    return {
        "value": float(value),
        "low": limits[0],
        "high": limits[1],
        "se": se,
        "exact": True,
    }
