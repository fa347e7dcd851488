"""Second computations, slow and straight from the definitions, for what has no peer at hand.

Used by peers.py only. Nothing here is shared with the code under test.
"""

import math

import numpy as np
import pandas as pd
import scipy.stats
from mpmath import mp, mpf

mp.dps = 50


# --- the score interval of two proportions ---


def log_likelihood_slope(k, n, p):
    if p <= 0:
        return mp.inf if k else -n
    if p >= 1:
        return -mp.inf if k < n else n
    return k / p - (n - k) / (1 - p)


def restricted(k1, n1, k2, n2, delta):
    """The p2 that maximises the likelihood under p1 = p2 + delta: bisection on its slope."""
    low, high = max(mpf(0), -delta), min(mpf(1), 1 - delta)
    for _ in range(110):
        middle = (low + high) / 2
        slope = log_likelihood_slope(k1, n1, middle + delta)
        slope += log_likelihood_slope(k2, n2, middle)
        if slope > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def score_variance(k1, n1, k2, n2, delta):
    p2, n = restricted(k1, n1, k2, n2, delta), n1 + n2
    p1 = p2 + delta
    variance = p1 * (1 - p1) / n1
    variance += p2 * (1 - p2) / n2
    return variance * n / (n - 1)


def score_interval(k1, n1, k2, n2, level):
    """Differences whose score test is not rejected: bisection outwards from the estimate."""
    z = mp.sqrt(2) * mp.erfinv(mpf(repr(level)))
    value = mpf(k1) / n1 - mpf(k2) / n2
    limits = []
    for sign in (-1, 1):
        inner, outer = value + sign * mpf(10) ** -20, mpf(sign)
        if value == sign:
            inner = outer
        for _ in range(100):
            middle = (inner + outer) / 2
            variance = score_variance(k1, n1, k2, n2, middle)
            if (value - middle) ** 2 > z * z * variance:
                outer = middle
            else:
                inner = middle
        limits.append(float((inner + outer) / 2))
    return {"low": limits[0], "high": limits[1]}


# --- effect sizes ---


def scatter(values, centre):
    return ((np.array(values) - centre) ** 2).sum()


def cliffs_delta(x, y, level):
    """Variance terms of Cliff (1996, p. 138) and limits of Feng & Cliff (2004), O(mn)."""
    matrix = np.sign(np.subtract.outer(np.array(x, float), np.array(y, float)))
    m, n = matrix.shape
    delta = d = matrix.mean()
    if abs(delta) == 1:
        d -= delta / (m * n)
    rows = scatter(matrix.mean(axis=1), d) / (m - 1)
    columns = scatter(matrix.mean(axis=0), d) / (n - 1)
    single = scatter(matrix, d) / (m - 1) / (n - 1)
    s2 = ((n - 1) * rows + (m - 1) * columns + single) / (m * n)
    reach, rest = t_quantile(level, m + n - 2) ** 2 * s2, 1 - d * d
    root = math.sqrt(reach * (rest * rest + reach))
    low = (d * rest - root) / (rest + reach)
    high = (d * rest + root) / (rest + reach)
    if delta == -1:
        low = -1
    if delta == 1:
        high = 1
    return {"value": float(delta), "low": float(low), "high": float(high)}


def t_quantile(level, df):
    return float(scipy.stats.t.ppf((1 + level) / 2, df))


# --- a contrast over bulletins and wordings ---


def contrast(rows, weights, level):
    """Two-way clustering (Cameron, Gelbach & Miller 2011), residuals by NumPy's least squares."""
    weights = pd.Series(weights)
    table = pd.DataFrame(rows, columns=["bulletin", "wording", "cell", "y"])
    by_bulletin = table.pivot_table("y", "bulletin", "cell") @ weights
    blocks = table.pivot_table("y", ["bulletin", "wording"], "cell") @ weights
    blocks = blocks.dropna()
    variances, sizes, columns = [], [], []
    for part in ("bulletin", "wording"):
        means = blocks.groupby(level=part).mean()
        variances.append(means.var() / len(means))
        sizes.append(len(means))
        columns.append(pd.get_dummies(blocks.index.get_level_values(part)))
    design = np.hstack(columns).astype(float)
    fitted = design @ np.linalg.lstsq(design, blocks, rcond=None)[0]
    n = len(blocks)
    noise = scatter(blocks, fitted) / (n - sum(sizes) + 1)
    v = max(sum(variances) - noise / n, *variances)
    parts = [part**2 / (n - 1) for part, n in zip(variances, sizes, strict=True)]
    df = max(3, v**2 / sum(parts))
    value, se = float(by_bulletin.dropna().mean()), math.sqrt(v)
    half = t_quantile(level, df) * se
    limits = {"low": value - half, "high": value + half}
    return {"value": value, **limits, "se": se, "df": float(df)}
