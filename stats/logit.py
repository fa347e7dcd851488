"""Logistic regression on covariate patterns: maximum likelihood, Firth's estimate, separation.

Rows alike in every covariate are one pattern, `k` of its `n` outcomes being 1: a few hundred rows
of a designed experiment are a few dozen patterns.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

Upper = list[dict[int, float]]  # row i: {column: value} from the diagonal on; what lacks is 0
STEPS = 100


class Patterns(NamedTuple):
    x: list[tuple[float, ...]]
    k: list[int]
    n: list[int]


class Curve(NamedTuple):
    """Binomial log-likelihood at linear predictors, and its slope and curvature in each of them."""

    log_likelihood: float
    residuals: list[float]
    weights: list[float]


def curve(predictors: Sequence[float], k: Sequence[int], n: Sequence[int]) -> Curve:
    """By t = tanh(η/2): p = (1 + t)/2, p(1 - p) = (1 - t²)/4."""
    halves = [math.tanh(eta / 2) for eta in predictors]
    logs = [
        ones * eta - trials * (max(eta, 0.0) + math.log1p(math.exp(-abs(eta))))
        for eta, ones, trials in zip(predictors, k, n, strict=True)
    ]
    residuals = [
        ones - trials * (1 + t) / 2 for t, ones, trials in zip(halves, k, n, strict=True)
    ]
    weights = [trials * (1 - t * t) / 4 for t, trials in zip(halves, n, strict=True)]
    return Curve(math.fsum(logs), residuals, weights)


def cross_products(x: list[tuple[float, ...]], weights: Sequence[float]) -> Upper:
    """Xᵀ·W·X, no element left out."""
    width = len(x[0])
    rows = [dict.fromkeys(range(i, width), 0.0) for i in range(width)]
    for values, weight in zip(x, weights, strict=True):
        for i, value in enumerate(values):
            share = weight * value
            for j in range(i, width):
                rows[i][j] += share * values[j]
    return rows


def combine(x: list[tuple[float, ...]], weights: Sequence[float]) -> list[float]:
    """Xᵀ·w."""
    total = [0.0] * len(x[0])
    for values, weight in zip(x, weights, strict=True):
        total = [t + weight * v for t, v in zip(total, values, strict=True)]
    return total


class Fit(NamedTuple):
    beta: list[float]
    covariance: list[dict[int, float]] | None
    log_likelihood: float
    converged: bool


def fitted(patterns: Patterns, firth: bool = False) -> Fit:
    """Newton's method from 0; the covariance is the inverse of Fisher's information.

    `firth`: maximum of the likelihood times the root of the information's determinant (Firth 1993),
    finite under separation too. The score is Xᵀ(y - p + h(1/2 - p)), h the leverages (Heinze &
    Schemper 2002); the log-likelihood is the penalised one.
    """
    x, k, n = patterns
    beta, step = [0.0] * len(x[0]), [0.0] * len(x[0])
    best, halved, converged = -math.inf, 0, False
    for _ in range(STEPS):
        at = curve([dot(row, beta) for row in x], k, n)
        factors = decompose(cross_products(x, at.weights))
        if not definite(factors):
            break
        value = at.log_likelihood
        if firth:
            value += log_determinant(factors) / 2
        if value < best - 1e-12 * abs(best) and halved < 30:
            halved += 1
            step = [s / 2 for s in step]
            beta = [b - s for b, s in zip(beta, step, strict=True)]
            continue
        best, halved, residuals = value, 0, at.residuals
        if firth:
            residuals = _penalised(patterns, at, inverse(factors))
        step = solve(factors, combine(x, residuals))
        beta = [b + s for b, s in zip(beta, step, strict=True)]
        if all(abs(s) <= 1e-10 * (1 + abs(b)) for s, b in zip(step, beta, strict=True)):
            converged = True
            break
    return Fit(beta, inverse(factors) if converged else None, best, converged)


def _penalised(patterns: Patterns, at: Curve, covariance: list[dict[int, float]]) -> list[float]:
    residuals = []
    for x, k, n, r, w in zip(*patterns, at.residuals, at.weights, strict=True):
        spread = [math.fsum([value * x[j] for j, value in row.items()]) for row in covariance]
        leverage = w * dot(x, spread)
        residuals.append(r + leverage * (0.5 - (k - r) / n))
    return residuals


def separating_direction(patterns: Patterns) -> list[float] | None:
    """Coefficients along which the likelihood rises without end, or None.

    A direction d separates where x·d >= 0 for every 1, <= 0 for every 0, and not always 0 (Albert &
    Anderson 1984). With the sign of each outcome in its row a, there is none exactly if minus the
    sum c of the rows is a combination of them with weights >= 0; the residual of the non-negative
    least squares that looks for these weights is a separating direction where it is not 0.
    """
    x, k, n = patterns
    basis = _kernel([row for row, ones, all_ in zip(x, k, n, strict=True) if 0 < ones < all_], x)
    if not basis:
        return None
    rows = []
    for row, ones in zip(x, k, strict=True):
        sign = 1 if ones else -1
        reduced = [sign * dot(row, b) for b in basis]
        size = math.sqrt(dot(reduced, reduced))
        if size > 1e-9 * math.sqrt(dot(row, row)):
            rows.append([v / size for v in reduced])
    if not rows:
        return None
    residual = _residual_of_cone(rows)
    if residual is None:
        return None
    direction = [0.0] * len(x[0])
    for weight, b in zip(residual, basis, strict=True):
        direction = [d + weight * v for d, v in zip(direction, b, strict=True)]
    return direction


def _kernel(rows: list[tuple[float, ...]], like: list[tuple[float, ...]]) -> list[list[float]]:
    """Orthonormal directions at right angles to `rows`: Gram and Schmidt, each swept twice."""
    width = len(like[0])
    span: list[list[float]] = []
    units = [[float(i == j) for j in range(width)] for i in range(width)]
    for complement, vectors in ((False, rows), (True, units)):
        start = len(span)
        for vector in vectors:
            rest = list(vector)
            for _ in "ab":
                for other in span:
                    along = dot(rest, other)
                    rest = [r - along * o for r, o in zip(rest, other, strict=True)]
            size = math.sqrt(dot(rest, rest))
            if size > 1e-9 * math.sqrt(dot(vector, vector)) and len(span) < width:
                span.append([r / size for r in rest])
        if complement:
            return span[start:]
    return []


def _residual_of_cone(rows: list[list[float]]) -> list[float] | None:
    """c + Σ w·a at the weights w >= 0 that make it shortest; None where that is 0.

    c is the sum of the rows a. Active sets (Lawson & Hanson 1974, chapter 23).
    """
    total = [math.fsum(column) for column in zip(*rows, strict=True)]
    active: list[int] = []
    weights: list[float] = []
    residual = total
    for _ in range(10 * len(rows)):
        length = math.sqrt(dot(residual, residual))
        if length <= 1e-8 * len(rows):
            return None
        slopes = [dot(row, residual) for row in rows]
        worst = min(range(len(rows)), key=lambda i: (slopes[i], i))
        if slopes[worst] >= -1e-8 * length:
            return residual
        if worst in active:
            return None
        active.append(worst)
        weights.append(0.0)
        active, weights = _feasible(rows, total, active, weights)
        residual = total
        for i, weight in zip(active, weights, strict=True):
            residual = [r + weight * a for r, a in zip(residual, rows[i], strict=True)]
    return None


def _feasible(
    rows: list[list[float]], total: list[float], active: list[int], weights: list[float]
) -> tuple[list[int], list[float]]:
    """Least squares on the active rows, dropping those whose weight would turn negative."""
    while active:
        chosen = [rows[i] for i in active]
        gram = [{j: dot(a, b) for j, b in enumerate(chosen) if j >= i}
                for i, a in enumerate(chosen)]
        wanted = solve(decompose(gram), [-dot(a, total) for a in chosen])
        if min(wanted) > 0:
            return active, wanted
        share = min(w / (w - v) for w, v in zip(weights, wanted, strict=True) if v <= 0)
        weights = [w + share * (v - w) for w, v in zip(weights, wanted, strict=True)]
        positive = [i for i, w in enumerate(weights) if w > 1e-12]
        active, weights = [active[i] for i in positive], [weights[i] for i in positive]
    return active, weights


# --- systems of symmetric matrices ---

def decompose(rows: Upper) -> Upper:
    """D on the diagonal and D·Lᵀ above it, in place of `rows` (Golub & Van Loan 2013, 4.1).

    Stops at a diagonal element that is not positive, and leaves it: `definite` tells.
    """
    for i, pivot in enumerate(rows):
        if not pivot[i] > 0:
            break
        columns = sorted(pivot)[1:]
        for at, j in enumerate(columns):
            factor, row = pivot[j] / pivot[i], rows[j]
            for k in columns[at:]:
                row[k] = row.get(k, 0.0) - factor * pivot[k]
    return rows


def definite(factors: Upper) -> bool:
    return all(row[i] > 0 for i, row in enumerate(factors))


def log_determinant(factors: Upper) -> float:
    return math.fsum(math.log(row[i]) for i, row in enumerate(factors))


def dependent(rows: Upper, slack: float = 1e-9) -> int | None:
    """The first column that is a combination of those before it, to a relative `slack`."""
    factors = decompose([dict(row) for row in rows])
    return next((i for i, row in enumerate(rows) if not factors[i][i] > row[i] * slack), None)


def solve(factors: Upper, right: list[float]) -> list[float]:
    """x with A·x = right, `factors` being `decompose(A)`."""
    x = list(right)
    for i, row in enumerate(factors):
        x[i] /= row[i]
        for j, value in row.items():
            if j > i:
                x[j] -= x[i] * value
    for i in range(len(x) - 1, -1, -1):
        row = factors[i]
        x[i] -= math.fsum([value * x[j] for j, value in row.items() if j > i]) / row[i]
    return x


def inverse(factors: Upper) -> list[dict[int, float]]:
    """The elements of the inverse where `factors` has any, and those opposite to them.

    From the last row up (Takahashi, Fagan & Chen 1973).
    """
    inverted: list[dict[int, float]] = [{} for _ in factors]
    for i in range(len(factors) - 1, -1, -1):
        diagonal = factors[i][i]
        weights = {j: value / diagonal for j, value in factors[i].items() if j > i}
        for j in weights:
            column = inverted[j]
            value = -math.fsum([weight * column[k] for k, weight in weights.items()])
            inverted[i][j] = column[i] = value
        inverted[i][i] = 1 / diagonal - math.fsum(
            [weight * inverted[i][j] for j, weight in weights.items()])
    return inverted


def dot(a, b) -> float:
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total
