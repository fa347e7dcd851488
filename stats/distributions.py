"""Distributions: normal, Student's t, noncentral t, beta, binomial, hypergeometric.

Continuous ones rest on `math.erfc` and an incomplete beta function; discrete ones are whole lists
of probabilities, built from the mode outwards so that no logarithm of a factorial is needed.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

ROOT_2 = math.sqrt(2)
LOG_ROOT_2PI = math.log(2 * math.pi) / 2
EPSILON = 2.0**-52

normal_quantile = NormalDist().inv_cdf  # Wichura (1988), to the last digits


def normal_cdf(z: float) -> float:
    return math.erfc(-z / ROOT_2) / 2


def critical(level: float) -> float:
    """The two-sided normal quantile: 1.96 for level .95."""
    return -normal_quantile((1 - level) / 2)


def log_beta(a: float, b: float) -> float:
    """ln B(a, b); by Stirling's formula where large logarithms would cancel.

    What the formula leaves of ln Γ is a series from 10 on (Abramowitz & Stegun 1964, 6.1.41).
    """
    a, b = min(a, b), max(a, b)
    if b < 10:
        return math.lgamma(a) + (math.lgamma(b) - math.lgamma(a + b))
    out = a * math.log(a / (a + b)) - (b - 0.5) * math.log1p(a / b) - math.log(a) / 2
    for x, sign in ((a, 1), (b, 1), (a + b, -1)):
        y = 1 / (x * x)
        if x < 10:
            rest = math.lgamma(x) - (x - 0.5) * math.log(x) + x - LOG_ROOT_2PI
        else:
            rest = (
                1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))
            ) / x
        out += sign * rest
    return out + LOG_ROOT_2PI


def beta_cdf(x: float, a: float, b: float, y: float | None = None) -> float:
    """Regularised incomplete beta function I_x(a, b); `y` is 1 - x where it is known better.

    Continued fraction of DLMF 8.17.22 by Lentz's method, on the side where it converges fast.
    """
    y = 1 - x if y is None else y
    if x <= 0 or y <= 0:
        return float(x > 0)
    if upper := x >= (a + 1) / (a + b + 2):
        x, y, a, b = y, x, b, a
    # Near 1 the other one, which is small, has more digits of the logarithm.
    log_x = math.log(x) if x < 0.5 else math.log1p(-y)
    log_y = math.log(y) if y < 0.5 else math.log1p(-x)
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 100_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1 / (1 + even * d), 1 + even / c
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1 / (1 + odd * d), 1 + odd / c
        value *= d * c
        if abs(d * c - 1) < EPSILON:
            break
    value = math.exp(a * log_x + b * log_y - log_beta(a, b)) * value / a
    return 1 - value if upper else value


def t_sf(t: float, df: float) -> float:
    """P(T > t) for Student's t with `df` degrees of freedom (any positive real)."""
    if not df > 0:
        raise ValueError(f"df: {df!r} is not positive")
    if t < 0:
        return 1 - t_sf(-t, df)
    whole = df + t * t
    return beta_cdf(df / whole, df / 2, 0.5, t * t / whole) / 2 if t else 0.5


def t_two_sided(t: float, df: float) -> float:
    """P(|T| >= |t|)."""
    return min(1.0, 2 * t_sf(abs(t), df))


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """t with P(T <= t) = p.

    Newton's method on ln P(T > t) over ln t, which is concave, so that it converges from any start.
    """
    tail, scale = min(p, 1 - p), log_beta(df / 2, 0.5) + math.log(df) / 2
    t = -normal_quantile(tail)
    for _ in range(40 if t else 0):
        beyond = t_sf(t, df)
        density = math.exp(-(df + 1) / 2 * math.log1p(t * t / df) - scale)
        step = math.log(beyond / tail) * beyond / (t * density)
        t += t * math.expm1(step)
        if abs(step) < 1e-9:  # the next would be its square
            break
    return math.copysign(t, p - 0.5)


def chi2_sf(x: float, df: int) -> float:
    """P(X > x) for chi-squared with a whole number of degrees of freedom.

    Finite sums (Abramowitz & Stegun 1964, 26.4.4 and 26.4.5).
    """
    if not isinstance(df, int) or df < 1:
        raise ValueError(f"df: {df!r} is not a positive whole number")
    if x <= 0:
        return 1.0
    half = x / 2
    total, power = (0.0, 0.0) if df % 2 == 0 else (math.erfc(math.sqrt(half)), -0.5)
    term = math.exp(-half) * half**power / math.gamma(power + 1)
    if df % 2:
        term, power = term * half / (power + 1), power + 1
    while power < df / 2 - 0.5:
        total += term
        power += 1
        term *= half / power
    return min(1.0, total)


@lru_cache(
    maxsize=64
)  # both ends of an interval, of d and of g, ask for the same curve
def noncentral_t_curve(t: float, df: float) -> Callable[[float], float]:
    """The noncentral t CDF at a fixed `t` as a function of the noncentrality.

    P(T <= t) is the mean of Φ(t·U - shift) over U = chi_df / sqrt(df). In x = log U the density is
    smooth and falls off at both ends, so the trapezoid rule with n points is off by exp(-cn): the
    width below is chosen for an error under 1e-13.
    """
    steepest = t * (1 + 3 / math.sqrt(2 * df))
    width = min(0.1, 0.6 / math.sqrt(steepest * steepest + 2 * df))
    points = [0.0]
    for direction in (width, -width):
        x = direction
        while df * (x - math.expm1(2 * x) / 2) > -36:
            points.append(x)
            x += direction
    weights = [math.exp(df * (x - math.expm1(2 * x) / 2)) for x in points]
    scale = 2 * math.fsum(weights)
    pairs = [
        (w / scale, t * math.exp(x) / ROOT_2)
        for w, x in zip(weights, points, strict=True)
    ]

    def cdf(shift: float) -> float:
        centre = shift / ROOT_2
        return math.fsum([w * math.erfc(centre - v) for w, v in pairs])

    return cdf


@lru_cache(maxsize=64)
def noncentrality(t: float, df: float, p: float) -> float:
    """The noncentrality under which P(T <= t) = p."""
    cdf = noncentral_t_curve(t, df)
    spread = math.sqrt(1 + t * t / (2 * df))
    guess = t - normal_quantile(p) * spread
    low = high = guess
    while cdf(low) < p:
        low -= spread
    while cdf(high) > p:
        high += spread
    return root_of(lambda shift: cdf(shift) - p, low, high)


def _from_ratios(ratios: list[float]) -> list[float]:
    """Probabilities whose neighbours stand in these falling ratios p[i+1] / p[i]."""
    mode = next((i for i, ratio in enumerate(ratios) if ratio < 1), len(ratios))
    up, down = [1.0], []
    for ratio in ratios[mode:]:
        up.append(up[-1] * ratio)
    weight = 1.0
    for ratio in reversed(ratios[:mode]):
        weight /= ratio
        down.append(weight)
    weights = down[::-1] + up
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def binomial_pmf(n: int, p: float) -> list[float]:
    """P(K = k) for k = 0 … n."""
    if p in (0, 1):
        return [float(k == n * p) for k in range(n + 1)]
    odds = p / (1 - p)
    return _from_ratios([(n - k) / (k + 1) * odds for k in range(n)])


def hypergeometric_pmf(marked: int, drawn: int, total: int) -> tuple[int, list[float]]:
    """Of `drawn` from `total` without replacement, how many are marked: lowest count, P's."""
    low, high = max(0, drawn + marked - total), min(marked, drawn)
    rest = total - marked - drawn + 1
    ratios = [
        (marked - k) * (drawn - k) / ((k + 1) * (rest + k)) for k in range(low, high)
    ]
    return low, _from_ratios(ratios)


def convolve(a: list[float], b: list[float]) -> list[float]:
    """Probabilities of the sum of two independent counts."""
    short, long = sorted((a, b), key=len)
    width = len(long)
    out = [0.0] * (len(a) + len(b) - 1)
    for i, weight in enumerate(short):
        out[i : i + width] = [
            o + weight * p for o, p in zip(out[i : i + width], long, strict=True)
        ]
    return out


def self_convolve(pmf: list[float], times: int) -> list[float]:
    """Probabilities of the sum of `times` independent counts of one distribution."""
    if times == 1:
        return pmf
    half = self_convolve(pmf, times // 2)
    whole = convolve(half, half)
    return convolve(whole, pmf) if times % 2 else whole


def add_pmfs(a: dict[int, float], b: dict[int, float]) -> dict[int, float]:
    """The distribution of the sum of two independent numbers; each is a value → its weight."""
    out: dict[int, float] = {}
    for value, weight in a.items():
        for other, times in b.items():
            out[value + other] = out.get(value + other, 0) + weight * times
    return out


def root_of(f: Callable[[float], float], a: float, b: float) -> float:
    """The root of `f` between `a` and `b`, where it changes sign, to the last digits.

    Chandrupatla (1997): inverse quadratic interpolation where it is safe, else bisection.
    """
    fa, fb = f(a), f(b)
    if fa == 0 or fb == 0:
        return a if fa == 0 else b
    part = 0.5
    for _ in range(200):
        x = a + part * (b - a)
        fx = f(x)
        if (fx > 0) == (fa > 0):
            c, fc = a, fa
        else:
            c, fc, b, fb = b, fb, a, fa
        a, fa = x, fx
        best, value = (a, fa) if abs(fa) < abs(fb) else (b, fb)
        least = (EPSILON * abs(best) + 1e-300) / abs(b - a)
        if value == 0 or least > 0.5:
            break
        along, height = (a - b) / (c - b), (fa - fb) / (fc - fb)
        if 1 - math.sqrt(1 - along) < height < math.sqrt(along):
            part = fa / (fb - fa) * fc / (fb - fc)
            part += (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        else:
            part = 0.5
        part = min(1 - least, max(least, part))
    return best
