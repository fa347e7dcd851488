"""Logistic regression: maximum likelihood, Firth's estimate, separation; random intercepts.

Rows alike in every covariate are one pattern, `k` of its `n` outcomes being 1: a few hundred rows
of a designed experiment are a few dozen patterns. What follows is on random intercepts.

**Model.** A row has the linear predictor η = X·β + Z·Λ·u. β are the fixed effects; u are the random
effects, one for each level of each grouping factor, standard normal. Z says which levels a row
has, and Λ holds the standard deviation σ of the factor that a level belongs to.

**Approximation.** The likelihood of β and σ is an integral over u. Its integrand is replaced by a
normal density with the same peak, û, and the same curvature there, H = I + Λ·Zᵀ·W·Z·Λ, where W
holds the binomial weights (Breslow & Clayton 1993; as lme4 with nAGQ = 1, Bates, Mächler, Bolker &
Walker 2015, and glmmTMB, Brooks et al. 2017). The integral is then known:

    -log L(β, σ)  ≈  -ℓ(η) + û'û/2 + log|H|/2

**How it is fitted.** `fit_intercepts` takes four steps:

1. `start`: a first β, σ and û, by alternating least squares.
2. `minimise`: a quasi-Newton search over β and σ together. `Laplace.point` computes -log L and its
   gradient: it looks for û (`Laplace.modes`, Newton's method) and follows what û does when β and σ
   move (Skaug & Fournier 2006).
3. `_without_idle`: standard deviations near 0 are set to 0 where that costs no likelihood.
4. `standard_errors`: from the curvature of -log L at the optimum.

σ is searched without a logarithm, so that 0 is an ordinary point; its sign carries no meaning.

H is sparse: levels without a common row have a 0 there. Levels of the largest factor are numbered
first. Each of them meets few others, so eliminating them is cheap, and what is left is small.
"""

import math
from collections.abc import Sequence
from itertools import accumulate
from operator import mul
from typing import NamedTuple

Upper = list[
    dict[int, float]
]  # row i: {column: value} from the diagonal on; what lacks is 0
STEPS = 100
CLOSE = 1e-7  # the longest step that modes still take
START_SD, LEAST_START_SD = 0.5, 0.1
LEAST_SD = (
    1e-5  # the border of a search, in place of 0: there the slope in a variance is lost
)
DECREMENT = 1e-10  # what the last step of the search may still promise
MOST_STEPS = 300
LONGEST = 10.0  # what one step may change of a linear predictor, or of an SD
SINGULAR = 1e-4  # the SD at which lme4 calls a fit singular
WIDTH, WIDEST = (
    1e-4,
    1e-3,
)  # of a difference: in standard errors; in a predictor or an SD
TINY = 1e-9
FREE = 1e-7  # an SD whose removal costs no more log-likelihood is 0
IDLE = 1e-4  # and is tried where it seems to cost no more than this


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
        ones - trials * (1 + t) / 2
        for t, ones, trials in zip(halves, k, n, strict=True)
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


def fit_fixed(patterns: Patterns, firth: bool = False) -> Fit:
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


def _penalised(
    patterns: Patterns, at: Curve, covariance: list[dict[int, float]]
) -> list[float]:
    residuals = []
    for x, k, n, r, w in zip(*patterns, at.residuals, at.weights, strict=True):
        spread = [
            math.fsum([value * x[j] for j, value in row.items()]) for row in covariance
        ]
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
    basis = _kernel(
        [row for row, ones, all_ in zip(x, k, n, strict=True) if 0 < ones < all_], x
    )
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


def _kernel(
    rows: list[tuple[float, ...]], like: list[tuple[float, ...]]
) -> list[list[float]]:
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
        gram = [
            {j: dot(a, b) for j, b in enumerate(chosen) if j >= i}
            for i, a in enumerate(chosen)
        ]
        wanted = solve(decompose(gram), [-dot(a, total) for a in chosen])
        if min(wanted) > 0:
            return active, wanted
        share = min(w / (w - v) for w, v in zip(weights, wanted, strict=True) if v <= 0)
        weights = [w + share * (v - w) for w, v in zip(weights, wanted, strict=True)]
        positive = [i for i, w in enumerate(weights) if w > 1e-12]
        active, weights = [active[i] for i in positive], [weights[i] for i in positive]
    return active, weights


# --- random intercepts ---


def totals(places: list[int], size: int, values: list[float]) -> list[float]:
    """The sum of the values at each of `size` places."""
    total = [0.0] * size
    for place, value in zip(places, values, strict=True):
        total[place] += value
    return total


class Modes(NamedTuple):
    u: list[float]
    value: float  # -ℓ + u'u/2, infinite where no modes were found
    at: Curve
    factors: Upper  # of H


class Point(NamedTuple):
    """Minus the log-likelihood at β and σ, and its gradient by both."""

    theta: list[float]
    value: float
    gradient: list[float]
    modes: Modes


class Optimum(NamedTuple):
    beta: list[float]
    sigma: list[float]
    log_likelihood: float
    errors: list[float] | None  # standard errors of beta
    converged: bool


class Laplace:
    """The data: cells of rows alike, of which `k` of `n` are 1. `pattern` is a cell's row of `x`;
    `groups` has a list per factor, each cell's level in it."""

    def __init__(
        self,
        x: list[tuple[float, ...]],
        pattern: list[int],
        groups: list[list[int]],
        k: list[int],
        n: list[int],
    ):
        self.x, self.pattern, self.k, self.n = x, pattern, k, n
        self.columns, self.sizes = len(x[0]), [max(levels) + 1 for levels in groups]
        order = sorted(range(len(groups)), key=lambda f: -self.sizes[f])
        starts = accumulate((self.sizes[f] for f in order), initial=0)
        self.factor_of = [f for f in order for _ in range(self.sizes[f])]
        columns = [
            [start + level for level in groups[f]]
            for start, f in zip(starts, order, strict=False)
        ]
        self.levels = list(zip(*columns, strict=True))

    def by_pattern(self, values: list[float]) -> list[float]:
        """Sums over the cells of each row of `x`."""
        return totals(self.pattern, len(self.x), values)

    def by_factor(self, values: list[float]) -> list[float]:
        """Sums over the levels of each factor."""
        return totals(self.factor_of, len(self.sizes), values)

    def scales(self, sigma: list[float]) -> list[float]:
        """Λ: the standard deviation of each level."""
        return [sigma[f] for f in self.factor_of]

    def spread(self, effects: list[float]) -> list[float]:
        """Z times a number per level: the sum of each cell's levels."""
        return [
            math.fsum([effects[level] for level in levels]) for levels in self.levels
        ]

    def collect(self, values: list[float]) -> list[float]:
        """Zᵀ times a number per cell: the sum of each level's cells."""
        total = [0.0] * len(self.factor_of)
        for levels, value in zip(self.levels, values, strict=True):
            for level in levels:
                total[level] += value
        return total

    def curvature(self, scales: list[float], weights: list[float]) -> Upper:
        """H = I + Λ·Zᵀ·W·Z·Λ."""
        rows: Upper = [{level: 1.0} for level in range(len(scales))]
        for levels, weight in zip(self.levels, weights, strict=True):
            for at, i in enumerate(levels):
                row, share = rows[i], weight * scales[i]
                for j in levels[at:]:
                    row[j] = row.get(j, 0.0) + share * scales[j]
        return rows

    def modes(
        self,
        beta: list[float],
        sigma: list[float],
        u: list[float],
        close: float = CLOSE,
    ) -> Modes:
        """The u that minimises -ℓ + u'u/2: Newton's method from `u`, halved where it overshoots."""
        scales, best, step = self.scales(sigma), math.inf, None
        fixed = [dot(row, beta) for row in self.x]
        for _ in range(100):
            shifts = self.spread(list(map(mul, scales, u)))
            predictors = [
                fixed[p] + shift for p, shift in zip(self.pattern, shifts, strict=True)
            ]
            at = curve(predictors, self.k, self.n)
            value = math.fsum(v * v for v in u) / 2 - at.log_likelihood
            if step and value > best + 1e-10 * abs(best):
                step = [v / 2 for v in step]
                u = [v - s for v, s in zip(u, step, strict=True)]
                continue
            best = value
            factors = decompose(self.curvature(scales, at.weights))
            if step and all(-close < v < close for v in step):
                return Modes(u, value, at, factors)
            pulls = map(mul, scales, self.collect(at.residuals))
            step = solve(factors, [pull - v for pull, v in zip(pulls, u, strict=True)])
            u = [v + s for v, s in zip(u, step, strict=True)]
        return Modes(u, math.inf, at, factors)

    def point(self, theta: list[float], u: list[float]) -> Point:
        """-log L and its gradient; `u` is where the modes are looked for."""
        beta, sigma = theta[: self.columns], theta[self.columns :]
        modes = self.modes(beta, sigma, u)
        value = modes.value + log_determinant(modes.factors) / 2
        return Point(theta, value, self._gradient(sigma, modes), modes)

    def _gradient(self, sigma: list[float], modes: Modes) -> list[float]:
        """By β, then by σ.

        The modes move too: their share is an adjoint solve, t = H⁻¹·Λ·Zᵀ·pulls, so that no
        derivative of a mode is ever formed. At a mode Zᵀ·(y - p) is u/σ, and ∂log|H|/∂σ is the
        trace of (I - H⁻¹)/σ.
        """
        scales, inverted, (_, residuals, weights) = (
            self.scales(sigma),
            inverse(modes.factors),
            modes.at,
        )
        pulls = self._pulls(modes, scales, inverted)
        t = solve(modes.factors, list(map(mul, scales, self.collect(pulls))))
        followed = self.spread(list(map(mul, scales, t)))
        slopes = [
            pull - w * f - r
            for pull, w, f, r in zip(pulls, weights, followed, residuals, strict=True)
        ]
        from_predictors = self.by_factor(list(map(mul, modes.u, self.collect(slopes))))
        from_determinant = self.by_factor(
            [
                v * shift + 1 - inverted[i][i]
                for i, (v, shift) in enumerate(zip(modes.u, t, strict=True))
            ]
        )
        return combine(self.x, self.by_pattern(slopes)) + [
            a + b / sd if sd else 0.0
            for a, b, sd in zip(from_predictors, from_determinant, sigma, strict=True)
        ]

    def _pulls(self, modes: Modes, scales: list[float], inverted: Upper) -> list[float]:
        """The slope of log|H|/2 in each predictor: the determinant moves with the weights.

        aᵀ·H⁻¹·a, with a the cell's row of Z·Λ, is the cell's leverage over its weight.
        """
        pulls = []
        for levels, r, w, k, n in zip(
            self.levels,
            modes.at.residuals,
            modes.at.weights,
            self.k,
            self.n,
            strict=True,
        ):
            leverage = 0.0
            for at, i in enumerate(levels):
                leverage += scales[i] * scales[i] * inverted[i][i]
                for j in levels[at + 1 :]:
                    leverage += 2 * scales[i] * scales[j] * inverted[i][j]
            pulls.append(leverage * w * ((r - k) / n + 0.5))
        return pulls

    def information(self, sigma: list[float], modes: Modes) -> Upper:
        """Of β at fixed σ, the modes following: Xᵀ·W·X - Gᵀ·H⁻¹·G with G = Λ·Zᵀ·W·X. Where that
        leaves nothing, of rows of equal weight."""
        scales, weights = self.scales(sigma), modes.at.weights
        rows = cross_products(self.x, self.by_pattern(weights))
        crossed = []
        for column in zip(*self.x, strict=True):
            values = [
                w * column[place]
                for w, place in zip(weights, self.pattern, strict=True)
            ]
            crossed.append(list(map(mul, scales, self.collect(values))))
        for i, row in enumerate(rows):
            solved = solve(modes.factors, crossed[i])
            for j in row:
                row[j] -= dot(solved, crossed[j])
        if definite(decompose([dict(row) for row in rows])):
            return rows
        return cross_products(self.x, [1.0] * len(self.x))


# --- the four steps ---


def fit_intercepts(model: Laplace, beta: list[float]) -> Optimum:
    """The likeliest β and σ, and standard errors of β; `beta` is where the search begins."""
    theta, u, variances = start(model, beta)
    point, guess, converged = minimise(model, model.point(theta, u), variances)
    point = _without_idle(model, point, guess)
    errors = standard_errors(model, point, guess) if converged else None
    beta, sigma = point.theta[: model.columns], point.theta[model.columns :]
    return Optimum(beta, list(map(abs, sigma)), -point.value, errors, converged)


def start(
    model: Laplace, beta: list[float]
) -> tuple[list[float], list[float], list[float]]:
    """A first β and σ, the modes there, and of each SD the variance of its estimate, as far as that
    follows from its own degrees of freedom; of the SD's square where that is near 0.

    β and u by penalised iteratively reweighted least squares at given σ, and σ² by the share of
    its degrees of freedom that the effects use (Schall 1991).
    """
    sigma, u = [START_SD] * len(model.sizes), [0.0] * len(model.factor_of)
    for _ in range(12):
        modes = model.modes(beta, sigma, u, close=0.05)
        inverted = inverse(modes.factors)
        used = [
            max(TINY, edf)
            for edf in model.by_factor([1 - row[i] for i, row in enumerate(inverted)])
        ]
        slope = combine(model.x, model.by_pattern(modes.at.residuals))
        step = solve(decompose(model.information(sigma, modes)), slope)
        beta = [b + s for b, s in zip(beta, step, strict=True)]
        before, u = sigma, modes.u
        squares = model.by_factor([v * v for v in u])
        sigma = [
            max(LEAST_START_SD, sd * math.sqrt(square / edf))
            for sd, square, edf in zip(sigma, squares, used, strict=True)
        ]
        if all(abs(a - b) < 0.05 * a for a, b in zip(before, sigma, strict=True)):
            break
    small = [sd <= LEAST_START_SD for sd in sigma]
    return beta + sigma, u, list(map(_variance, small, before, used, model.sizes))


def _variance(small: bool, sd: float, used: float, size: int) -> float:
    if small:  # what its square has at 0
        return 2 * sd**4 / size * max(size / used - 1, 0.1) ** 2
    return sd * sd / max(2 * used * used / size, 0.5)


class Coordinates:
    """What the search moves: β, and each SD or, where it begins near 0, its square.

    The likelihood is even in an SD and all but linear in a small variance: in the SD a search
    crosses 0 again and again. A variance stays at or above LEAST_SD².
    """

    def __init__(self, theta: list[float], columns: int):
        self.squared = {
            i for i in range(columns, len(theta)) if theta[i] <= LEAST_START_SD
        }

    def of(self, theta: list[float]) -> list[float]:
        return [v * v if i in self.squared else v for i, v in enumerate(theta)]

    def theta(self, place: list[float]) -> list[float]:
        return [
            math.sqrt(max(v, LEAST_SD**2)) if i in self.squared else v
            for i, v in enumerate(place)
        ]

    def derivatives(self, theta: list[float]) -> list[float]:
        """Of β and σ by the coordinates."""
        return [1 / (2 * v) if i in self.squared else 1.0 for i, v in enumerate(theta)]

    def slopes(self, point: Point) -> list[float]:
        return list(map(mul, point.gradient, self.derivatives(point.theta)))

    def border(self, point: Point) -> set[int]:
        return {i for i in self.squared if point.theta[i] < 1.01 * LEAST_SD}


def minimise(
    model: Laplace, point: Point, variances: list[float]
) -> tuple[Point, list[list[float]], bool]:
    """BFGS with halved steps (Nocedal & Wright 2006, chapter 6), at borders by projection:
    (point, an inverse Hessian by β and σ, whether it is an optimum)."""
    coordinates = Coordinates(point.theta, model.columns)
    guess = _first_guess(model, point, variances)
    slopes, border = coordinates.slopes(point), coordinates.border(point)
    for _ in range(MOST_STEPS):
        held = {i for i in border if point.gradient[i] > 0}
        step = [
            0.0
            if i in held
            else -math.fsum(
                h * g
                for j, (h, g) in enumerate(zip(row, slopes, strict=True))
                if j not in held
            )
            for i, row in enumerate(guess)
        ]
        promised = -dot(step, slopes)
        if converged := promised < 2 * DECREMENT:
            break
        new = _line_search(model, coordinates, point, step, slopes)
        if not new:
            converged = promised < 1e-6
            break
        ends = zip(coordinates.of(point.theta), coordinates.of(new.theta), strict=True)
        moved, before = [b - a for a, b in ends], slopes
        point, slopes = new, coordinates.slopes(new)
        change = [
            0.0 if i in held else b - a
            for i, (a, b) in enumerate(zip(before, slopes, strict=True))
        ]
        border_before, border = border, coordinates.border(point)
        guess = (
            _updated(guess, moved, change)
            if border == border_before
            else _first_guess(model, point, variances)
        )
    by = coordinates.derivatives(point.theta)
    guess = [
        [a * b * value for b, value in zip(by, row, strict=True)]
        for a, row in zip(by, guess, strict=True)
    ]
    return point, guess, converged


def _first_guess(
    model: Laplace, point: Point, variances: list[float]
) -> list[list[float]]:
    """An inverse Hessian: the information of β, and of each SD by itself."""
    inverted = inverse(
        decompose(model.information(point.theta[model.columns :], point.modes))
    )
    size = len(point.theta)
    rows = [[row.get(j, 0.0) for j in range(size)] for row in inverted]
    for i, value in enumerate(variances, model.columns):
        rows.append([value if j == i else 0.0 for j in range(size)])
    return rows


def _line_search(
    model: Laplace,
    coordinates: Coordinates,
    point: Point,
    step: list[float],
    slopes: list[float],
) -> Point | None:
    """The first point along halved steps that falls as its slope says, or None."""
    place = coordinates.of(point.theta)
    fixed = [dot(row, step[: model.columns]) for row in model.x]
    share = min(1.0, LONGEST / max(map(abs, fixed + step[model.columns :])))
    while share > 1e-10:
        theta = coordinates.theta(
            [v + share * s for v, s in zip(place, step, strict=True)]
        )
        new = model.point(theta, point.modes.u)
        moved = [b - a for a, b in zip(place, coordinates.of(theta), strict=True)]
        # What a border has cut short may promise nothing any more: then no rise is taken.
        if new.value <= point.value + 1e-4 * min(0.0, dot(moved, slopes)):
            return new
        share /= 2
    return None


def _updated(guess: list[list[float]], step: list[float], change: list[float]) -> list:
    """The inverse Hessian that maps this change of the gradient to this step, nearest to `guess`.

    Where the slope did not rise along the step no such matrix is positive: then it is doubled, so
    that the search leaves a saddle at growing pace.
    """
    curvature, along = dot(step, change), [dot(row, change) for row in guess]
    if curvature <= 1e-3 * math.sqrt(dot(step, step) * dot(change, change)):
        return [[2 * v for v in row] for row in guess] if curvature <= 0 else guess
    scale = (1 + dot(change, along) / curvature) / curvature
    return [
        [
            v + scale * s * t - (s * b + a * t) / curvature
            for v, t, b in zip(row, step, along, strict=True)
        ]
        for row, s, a in zip(guess, step, along, strict=True)
    ]


def _without_idle(model: Laplace, point: Point, guess: list[list[float]]) -> Point:
    """SDs near 0 set to 0 where that costs nothing: those that the search left at its border, then
    each that by its curvature may cost next to nothing."""
    sds = range(model.columns, len(point.theta))
    border = [i for i in sds if abs(point.theta[i]) <= 2 * LEAST_SD]
    near = [
        [i]
        for i in sds
        if i not in border and point.theta[i] ** 2 / (8 * guess[i][i]) <= IDLE
    ]
    for places in [border] * bool(border) + near:
        without = [0.0 if i in places else value for i, value in enumerate(point.theta)]
        new = model.point(without, point.modes.u)
        point = new if new.value <= point.value + FREE else point
    return point


def standard_errors(
    model: Laplace, point: Point, guess: list[list[float]]
) -> list[float] | None:
    """Of β: roots of the diagonal of the inverse Hessian, by differences of the gradient. SDs that
    are 0 are left out."""
    free = [i for i, value in enumerate(point.theta) if i < model.columns or value]
    reach = [max(map(abs, column)) for column in zip(*model.x, strict=True)]
    reach += [1.0] * (len(guess) - model.columns)
    columns = []
    for i in free:
        width = min(WIDTH * math.sqrt(guess[i][i]), WIDEST / reach[i])
        moved = [value + width * (j == i) for j, value in enumerate(point.theta)]
        there = model.point(moved, point.modes.u).gradient
        columns.append([(there[j] - point.gradient[j]) / width for j in free])
    hessian = [
        {j: (columns[i][j] + columns[j][i]) / 2 for j in range(i, len(free))}
        for i in range(len(free))
    ]
    factors = decompose(hessian)
    if not definite(factors):
        return None
    return [
        math.sqrt(row[i]) for i, row in enumerate(inverse(factors)[: model.columns])
    ]


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
    return next(
        (i for i, row in enumerate(rows) if not factors[i][i] > row[i] * slack), None
    )


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
            [weight * inverted[i][j] for j, weight in weights.items()]
        )
    return inverted


def dot(a, b) -> float:
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total
