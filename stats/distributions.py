"""Probabilities and quantiles of the normal, Student's t, noncentral t, beta, chi-squared, binomial
and hypergeometric distributions.

Continuous ones rest on `math.erfc` and the incomplete beta function. Discrete ones are lists of all
probabilities, built from the mode outwards, so that no logarithm of a factorial is needed.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import accumulate
from math import (
    copysign,
    erfc,
    exp,
    expm1,
    fsum,
    gamma,
    hypot,
    inf,
    lgamma,
    log,
    log1p,
    pi,
    sqrt,
)
from operator import mul, truediv
from statistics import NormalDist
from typing import TypeVar

ROOT_2 = sqrt(2)
LOG_ROOT_2PI = log(2 * pi) / 2
EPSILON = 2.0**-52

normal_quantile = NormalDist().inv_cdf  # Wichura (1988), to the last digits


def normal_cdf(z: float) -> float:
    return erfc(-z / ROOT_2) / 2


def critical(level: float) -> float:
    """How many standard errors a normal interval reaches to each side: 1.96 for level .95."""
    return -normal_quantile((1 - level) / 2)


# --- beta and Student's t ---


def log_beta(a: float, b: float) -> float:
    """ln B(a, b). Stirling's formula is used where logarithms of large numbers would cancel."""
    a, b = min(a, b), max(a, b)
    whole = a + b
    if b < 10:
        return lgamma(a) + (lgamma(b) - lgamma(whole))
    of_a = a * log(a / whole)
    of_b = (b - 0.5) * log1p(a / b)
    rest = _beyond_stirling(a) + _beyond_stirling(b) - _beyond_stirling(whole)
    return of_a - of_b - log(a) / 2 + LOG_ROOT_2PI + rest


def _beyond_stirling(x: float) -> float:
    """How much ln Γ(x) exceeds Stirling's (x - 1/2)·ln x - x + ln √2π.

    From x = 10 on by the series 1/12x - 1/360x³ + … (Abramowitz & Stegun 1964, 6.1.41).
    """
    if x < 10:
        stirling = (x - 0.5) * log(x) - x
        return lgamma(x) - stirling - LOG_ROOT_2PI
    series = 0.0
    for divisor in (1188, 1680, 1260, 360, 12):
        series = 1 / divisor - series / (x * x)
    return series / x


def beta_cdf(x: float, a: float, b: float, y: float | None = None) -> float:
    """The regularised incomplete beta function I_x(a, b). Pass `y` = 1 - x where it is known more
    exactly than 1 - x would give it."""
    if y is None:
        y = 1 - x
    if x <= 0 or y <= 0:
        return float(x > 0)
    # Above about the mean the fraction converges faster for 1 - I_y(b, a).
    if x * (a + b + 2) >= a + 1:
        return 1 - _lower_beta(y, x, b, a)
    return _lower_beta(x, y, a, b)


def _lower_beta(x: float, y: float, a: float, b: float) -> float:
    """I_x(a, b) as x^a·y^b / (a·B(a, b)) times a continued fraction."""
    power = a * _log(x, y) + b * _log(y, x)
    front = exp(power - log_beta(a, b)) / a
    return front * _beta_fraction(x, a, b)


def _log(x: float, rest: float) -> float:
    """ln x, computed from `rest` = 1 - x where rest is the smaller and so the more exact."""
    if x < 0.5:
        return log(x)
    return log1p(-rest)


def _beta_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction 1/(1 + d₁/(1 + d₂/(1 + …))) of DLMF 8.17.22, by Lentz's method."""
    c, d, value = inf, 1.0, 1.0
    for k in range(1, 200_000):
        term = _beta_term(k, x, a, b)
        c = 1 + term / c
        d = 1 / (1 + term * d)
        value *= c * d
        if abs(c * d - 1) < EPSILON:
            break
    return value


def _beta_term(k: int, x: float, a: float, b: float) -> float:
    """The coefficient d_k of the continued fraction of I_x(a, b) (DLMF 8.17.22 and
    8.17.23).

        d_2m   =  m·(b - m)·x / ((a + 2m - 1)·(a + 2m))
        d_2m+1 = -(a + m)·(a + b + m)·x / ((a + 2m)·(a + 2m + 1))
    """
    m = k // 2
    below = (a + k - 1) * (a + k)
    if k % 2:
        return -(a + m) * (a + m + b) * x / below
    return m * (b - m) * x / below


def t_sf(t: float, df: float) -> float:
    """P(T > t) for Student's t with `df` degrees of freedom (any positive real)."""
    if t < 0:
        return 1 - t_sf(-t, df)
    if t == 0:
        return 0.5
    whole = df + t * t
    x, y = df / whole, t * t / whole
    return beta_cdf(x, df / 2, 0.5, y) / 2


def t_two_sided(t: float, df: float) -> float:
    """P(|T| >= |t|)."""
    return min(1.0, 2 * t_sf(abs(t), df))


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """The t for which P(T <= t) = p.

    Newton's method solves for ln t in ln P(T > t), which is concave, so it converges from any
    start.
    """
    tail = min(p, 1 - p)
    t = -normal_quantile(tail)
    if t == 0:
        return 0.0
    half = df / 2
    scale = log_beta(half, 0.5) + log(df) / 2
    for _ in range(40):
        beyond = t_sf(t, df)
        fall = (half + 0.5) * log1p(t * t / df)
        slope = t * exp(-fall - scale)
        step = log(beyond / tail) * beyond / slope
        t += t * expm1(step)
        if abs(step) < 1e-9:  # the next step would be about 1e-18
            break
    return copysign(t, p - 0.5)


def t_critical(level: float, df: float) -> float:
    """How many standard errors a t interval reaches to each side: 2.57 for level .95 and df 5."""
    return t_quantile((1 + level) / 2, df)


def chi2_sf(x: float, df: int) -> float:
    """P(X > x) for chi-squared with a whole number of degrees of freedom.

    It is a finite sum (Abramowitz & Stegun 1964, 26.4.4 and 26.4.5).
    """
    if x <= 0:
        return 1.0
    half = x / 2
    total = power = 0.0
    if df % 2:
        total, power = erfc(sqrt(half)), 0.5
    scale = exp(-half) / gamma(power + 1)
    term = scale * half**power
    while power < df / 2:
        total += term
        power += 1
        term *= half / power
    return min(1.0, total)


# --- noncentral t ---


@lru_cache(maxsize=64)  # both ends of an interval need the same curve
def noncentral_t_curve(t: float, df: float) -> Callable[[float], float]:
    """A function that maps a noncentrality to P(T <= t) of the noncentral t, for this `t` and `df`.

    P(T <= t) is the mean of Φ(t·U - noncentrality) over U = chi_df / sqrt(df). It is an integral
    over x = ln U, where the density is smooth and falls off at both ends. There the error of the
    trapezoid rule shrinks exponentially as its points come closer.
    """
    # The SD of x is about 1/root. Within three of them t·U rises by `steepest` at most.
    root = sqrt(2 * df)
    steepest = t * (1 + 3 / root)
    # The integrand changes over 1/hypot(steepest, root). A step of 0.6 of that length, and of 0.1
    # at most, keeps the error of the trapezoid rule below 1e-13.
    width = min(0.1, 0.6 / hypot(steepest, root))
    points = [0.0, *_until_negligible(width, df), *_until_negligible(-width, df)]
    weights = [exp(_log_chi_density(x, df)) for x in points]
    scale = 2 * fsum(weights)  # erfc(z / √2) is 2·Φ(-z)
    chances = [weight / scale for weight in weights]
    centres = [t * exp(x) / ROOT_2 for x in points]

    def cdf(shift: float) -> float:
        shifted = shift / ROOT_2
        tails = [erfc(shifted - centre) for centre in centres]
        return fsum(map(mul, chances, tails))

    return cdf


def _log_chi_density(x: float, df: float) -> float:
    """The log density of x = ln(chi_df / sqrt(df)) at `x`, less its value at the peak, x = 0."""
    return df * (x - expm1(2 * x) / 2)


def _until_negligible(width: float, df: float) -> list[float]:
    """The multiples of `width`, from the first on, where the density is above e^-36 of its peak."""
    points = []
    x = width
    while _log_chi_density(x, df) > -36:  # e^-36 is about 2^-52, a float's last bit
        points.append(x)
        x += width
    return points


def noncentrality(t: float, df: float, p: float) -> float:
    """The noncentrality for which P(T <= t) = p."""
    cdf = noncentral_t_curve(t, df)
    spread = hypot(1, t / sqrt(2 * df))
    low = high = t - normal_quantile(p) * spread
    while cdf(low) < p:
        low -= spread
    while cdf(high) > p:
        high += spread
    return root_of(lambda shift: cdf(shift) - p, low, high)


# --- counts ---


def _from_ratios(ratios: list[float]) -> list[float]:
    """Probabilities that sum to 1, given the ratios p[i+1] / p[i] of neighbours, which must fall."""
    mode = sum(ratio >= 1 for ratio in ratios)
    below = list(accumulate(reversed(ratios[:mode]), truediv, initial=1.0))
    above = accumulate(ratios[mode:], mul, initial=1.0)
    weights = [*reversed(below[1:]), *above]
    total = fsum(weights)
    return [weight / total for weight in weights]


def binomial_pmf(n: int, p: float) -> list[float]:
    """The list of P(K = k) for k = 0 … n."""
    if p == 1:
        return [0.0] * n + [1.0]
    odds = p / (1 - p)
    return _from_ratios([(n - k) / (k + 1) * odds for k in range(n)])


def hypergeometric_pmf(marked: int, drawn: int, total: int) -> dict[int, float]:
    """{count: probability} of how many marked items a sample has.

    `drawn` items are taken without replacement from `total`, of which `marked` are marked.
    """
    low = max(0, drawn + marked - total)
    unmarked = total - marked - drawn
    ratios = []
    for k in range(low, min(marked, drawn)):
        odds = (marked - k) / (k + 1)
        ratios.append(odds * (drawn - k) / (unmarked + k + 1))
    return dict(enumerate(_from_ratios(ratios), low))


Weight = TypeVar("Weight", int, float)


def add_pmfs(a: Mapping[int, Weight], b: Mapping[int, Weight]) -> dict[int, Weight]:
    """The distribution of the sum of two independent whole numbers; each is a map of value to
    probability, or to a number of ways."""
    out: dict[int, Weight] = {}
    for value, weight in a.items():
        for other, times in b.items():
            total = value + other
            out[total] = out.get(total, 0) + weight * times
    return out


# --- equations ---


def root_of(f: Callable[[float], float], a: float, b: float) -> float:
    """The x between `a` and `b` where `f` is 0, to the last digit, by bisection; `f` must change
    sign between them."""
    rises = f(a) < 0
    middle = (a + b) / 2
    while middle not in (a, b):
        if (f(middle) < 0) == rises:
            a = middle
        else:
            b = middle
        middle = (a + b) / 2
    return middle
