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

from collections.abc import Iterable, Sequence
from math import exp, fsum, inf, log, log1p, sqrt, tanh
from operator import add, le, mul, sub, truediv
from typing import NamedTuple

Vector = Sequence[float]
# Row i: {column: value} from the diagonal on; what lacks is 0.
Upper = list[dict[int, float]]

STEPS = 100
CLOSE = 1e-7  # the longest step that modes still take
START_SD, LEAST_START_SD = 0.5, 0.1
# The border of a search, in place of 0: there the slope in a variance is lost.
LEAST_SD = 1e-5
DECREMENT = 1e-10  # what the last step of the search may still promise
MOST_STEPS = 300
LONGEST = 10.0  # what one step may change of a linear predictor, or of an SD
SINGULAR = 1e-4  # the SD at which lme4 calls a fit singular
WIDTH = 1e-4  # of a difference, in standard errors
WIDEST = 1e-3  # and in a predictor or an SD
TINY = 1e-9
FREE = 1e-7  # an SD whose removal costs no more log-likelihood is 0
IDLE = 1e-4  # and is tried where it seems to cost no more than this


class Patterns(NamedTuple):
    """Rows alike in every covariate: `k` of their `n` outcomes are 1."""

    x: list[tuple[float, ...]]
    k: Vector
    n: Vector


class Curve(NamedTuple):
    """Binomial log-likelihood at linear predictors, and its slope and curvature in each of them."""

    log_likelihood: float
    chances: list[float]
    residuals: list[float]
    weights: list[float]


def curve(predictors: Vector, k: Vector, n: Vector) -> Curve:
    """A chance is (1 + tanh(η/2))/2; a term of the log-likelihood k·η - n·ln(1 + e^η)."""
    rises = [log1p(exp(-abs(eta))) + max(eta, 0.0) for eta in predictors]
    log_likelihood = fsum(map(mul, k, predictors)) - fsum(map(mul, n, rises))
    chances = [(1 + tanh(eta / 2)) / 2 for eta in predictors]
    expected = product(n, chances)
    residuals = list(map(sub, k, expected))
    weights = product(expected, [1 - p for p in chances])
    return Curve(log_likelihood, chances, residuals, weights)


def cross_products(x: Sequence[Vector], weights: Vector) -> Upper:
    """Xᵀ·W·X, no element left out."""
    width = len(x[0])
    rows = [dict.fromkeys(range(i, width), 0.0) for i in range(width)]
    for values, weight in zip(x, weights, strict=True):
        for i, value in enumerate(values):
            row, share = rows[i], weight * value
            for j in range(i, width):
                row[j] += share * values[j]
    return rows


def combine(x: Sequence[Vector], weights: Vector) -> list[float]:
    """Xᵀ·w."""
    total = [0.0] * len(x[0])
    for values, weight in zip(x, weights, strict=True):
        total = plus(total, values, weight)
    return total


class Optimum(NamedTuple):
    """`errors`: standard errors of beta."""

    beta: list[float]
    sigma: list[float]
    log_likelihood: float
    errors: list[float] | None
    converged: bool


def fit_fixed(patterns: Patterns, firth: bool = False) -> Optimum:
    """Newton's method from 0; standard errors from Fisher's information.

    `firth`: maximum of the likelihood times the root of the information's determinant (Firth 1993),
    finite under separation too. The score is Xᵀ(y - p + h(1/2 - p)), h the leverages (Heinze &
    Schemper 2002); the log-likelihood is the penalised one.
    """
    x = patterns.x
    beta = step = [0.0] * len(x[0])
    best, halved = -inf, 0
    for _ in range(STEPS):
        predictors = [dot(row, beta) for row in x]
        at = curve(predictors, patterns.k, patterns.n)
        factors = decompose(cross_products(x, at.weights))
        if not definite(factors):
            break
        value, residuals = at.log_likelihood, at.residuals
        if firth:
            value += log_determinant(factors) / 2
            residuals = _penalised(x, at, factors)
        if value < best - 1e-12 * abs(best) and halved < 30:
            halved += 1
            step = [s / 2 for s in step]
            beta = plus(beta, step, -1)
            continue
        best, halved = value, 0
        step = solve(factors, combine(x, residuals))
        beta = plus(beta, step)
        limits = [1e-10 * (1 + abs(b)) for b in beta]
        if all(map(le, map(abs, step), limits)):
            return Optimum(beta, [], best, _roots(inverse(factors)), True)
    return Optimum(beta, [], best, None, False)


def _roots(covariance: list[dict[int, float]]) -> list[float]:
    return [sqrt(row[i]) for i, row in enumerate(covariance)]


def _penalised(x: Sequence[Vector], at: Curve, factors: Upper) -> list[float]:
    residuals = []
    parts = zip(x, at.residuals, at.weights, at.chances, strict=True)
    for row, residual, weight, p in parts:
        leverage = weight * dot(row, solve(factors, row))
        residuals.append(residual + leverage * (0.5 - p))
    return residuals


# --- separation ---


def separating_direction(patterns: Patterns) -> list[float] | None:
    """Coefficients along which the likelihood rises without end, or None.

    A direction d separates where x·d >= 0 for every 1, <= 0 for every 0, and not always 0 (Albert &
    Anderson 1984). With the sign of each outcome in its row a, there is none exactly if minus the
    sum c of the rows is a combination of them with weights >= 0; the residual of the non-negative
    least squares that looks for these weights is a separating direction where it is not 0.
    """
    mixed: list[Vector] = []
    pure: list[Vector] = []
    for row, ones, trials in zip(*patterns, strict=True):
        if 0 < ones < trials:
            mixed.append(row)
        elif ones:
            pure.append(row)
        else:
            pure.append([-value for value in row])
    # Where outcomes of both kinds occur x·d has to be 0.
    basis = _orthogonal_complement(mixed, len(patterns.x[0]))
    rows = []
    for signed in pure:
        reduced = [dot(signed, direction) for direction in basis]
        size = norm(reduced)
        if size > 1e-9 * norm(signed):
            rows.append([value / size for value in reduced])
    if not rows:
        return None
    residual = _residual_of_cone(rows)
    if residual is None:
        return None
    return combine(basis, residual)


def _orthogonal_complement(rows: Sequence[Vector], width: int) -> list[list[float]]:
    """Orthonormal directions at right angles to `rows`, by Gram and Schmidt."""
    span: list[list[float]] = []
    for row in rows:
        _extend(span, row)
    inside = len(span)
    for i in range(width):
        unit = [0.0] * width
        unit[i] = 1.0
        _extend(span, unit)
    return span[inside:]


def _extend(span: list[list[float]], vector: Vector) -> None:
    """What `vector` adds to the span, if anything, becomes one more unit vector of it."""
    rest = vector
    for _ in range(2):  # the second sweep takes away what rounding left
        for other in span:
            rest = plus(rest, other, -dot(rest, other))
    size = norm(rest)
    if len(span) < len(vector) and size > 1e-9 * norm(vector):
        span.append([value / size for value in rest])


def _residual_of_cone(rows: list[list[float]]) -> list[float] | None:
    """c + Σ w·a at the weights w >= 0 that make it shortest; None where that is 0.

    c is the sum of the rows a. Active sets (Lawson & Hanson 1974, chapter 23).
    """
    total = [fsum(column) for column in zip(*rows, strict=True)]
    weights: dict[int, float] = {}  # row → its weight, where that is not 0
    residual = total
    for _ in range(10 * len(rows)):
        length = norm(residual)
        if length <= 1e-8 * len(rows):
            return None
        slopes = [dot(row, residual) for row in rows]
        worst = slopes.index(min(slopes))
        if slopes[worst] >= -1e-8 * length:
            return residual
        if worst in weights:
            return None
        weights = _feasible(rows, total, weights | {worst: 0.0})
        residual = total
        for i, weight in weights.items():
            residual = plus(residual, rows[i], weight)
    return None


def _feasible(
    rows: list[list[float]], total: list[float], weights: dict[int, float]
) -> dict[int, float]:
    """Least squares on the weighted rows, dropping those whose weight would turn negative."""
    while weights:
        chosen = [rows[i] for i in weights]
        now = list(weights.values())
        columns = list(zip(*chosen, strict=True))
        factors = decompose(cross_products(columns, [1.0] * len(total)))
        wanted = solve(factors, [-dot(row, total) for row in chosen])
        if min(wanted) > 0:
            return dict(zip(weights, wanted, strict=True))
        pairs = zip(now, wanted, strict=True)
        share = min(have / (have - want) for have, want in pairs if want <= 0)
        moved = plus(now, plus(wanted, now, -1), share)
        left = zip(weights, moved, strict=True)
        weights = {i: weight for i, weight in left if weight > 1e-12}
    return weights


# --- random intercepts ---


def totals(places: list[int], size: int, values: Vector) -> list[float]:
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
        self.columns = len(x[0])
        self.sizes = [max(levels) + 1 for levels in groups]
        self.factor_of: list[int] = []
        columns = []
        factors = range(len(groups))
        for factor in sorted(factors, key=self.sizes.__getitem__, reverse=True):
            start = len(self.factor_of)
            columns.append([start + level for level in groups[factor]])
            self.factor_of += [factor] * self.sizes[factor]
        self.levels = list(zip(*columns, strict=True))

    def beta(self, theta: list[float]) -> list[float]:
        return theta[: self.columns]

    def sigma(self, theta: list[float]) -> list[float]:
        return theta[self.columns :]

    def by_pattern(self, values: Vector) -> list[float]:
        """Sums over the cells of each row of `x`."""
        return totals(self.pattern, len(self.x), values)

    def by_factor(self, values: Vector) -> list[float]:
        """Sums over the levels of each factor."""
        return totals(self.factor_of, len(self.sizes), values)

    def scales(self, sigma: list[float]) -> list[float]:
        """Λ: the standard deviation of each level."""
        return [sigma[f] for f in self.factor_of]

    def spread(self, effects: list[float]) -> list[float]:
        """Z times a number per level: the sum of each cell's levels."""
        return [fsum([effects[level] for level in levels]) for levels in self.levels]

    def collect(self, values: Vector) -> list[float]:
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
        scales = self.scales(sigma)
        by_pattern = [dot(row, beta) for row in self.x]
        fixed = [by_pattern[place] for place in self.pattern]
        best, step = inf, [inf]
        for _ in range(STEPS):
            shifts = self.spread(product(scales, u))
            at = curve(list(map(add, fixed, shifts)), self.k, self.n)
            value = dot(u, u) / 2 - at.log_likelihood
            if value > best + 1e-10 * abs(best):
                step = [v / 2 for v in step]
                u = plus(u, step, -1)
                continue
            best = value
            factors = decompose(self.curvature(scales, at.weights))
            if max(map(abs, step)) < close:
                return Modes(u, value, at, factors)
            pulls = product(scales, self.collect(at.residuals))
            step = solve(factors, plus(pulls, u, -1))
            u = plus(u, step)
        return Modes(u, inf, at, factors)

    def point(self, theta: list[float], u: list[float]) -> Point:
        """-log L and its gradient; `u` is where the modes are looked for."""
        beta, sigma = self.beta(theta), self.sigma(theta)
        modes = self.modes(beta, sigma, u)
        value = modes.value + log_determinant(modes.factors) / 2
        return Point(theta, value, self._gradient(sigma, modes), modes)

    def _gradient(self, sigma: list[float], modes: Modes) -> list[float]:
        """By β, then by σ.

        The modes move too: their share is an adjoint solve, t = H⁻¹·Λ·Zᵀ·pulls, so that no
        derivative of a mode is ever formed. At a mode Zᵀ·(y - p) is u/σ, and ∂log|H|/∂σ is the
        trace of (I - H⁻¹)/σ.
        """
        scales, inverted = self.scales(sigma), inverse(modes.factors)
        pulls = self._pulls(scales, inverted, modes.at)
        t = solve(modes.factors, product(scales, self.collect(pulls)))
        followed = product(modes.at.weights, self.spread(product(scales, t)))
        slopes = plus(plus(pulls, followed, -1), modes.at.residuals, -1)
        through_predictors = self.by_factor(product(modes.u, self.collect(slopes)))
        moved = self.by_factor(product(modes.u, t))
        through_determinant = plus(moved, self.freedom(inverted))
        by_sigma = []
        parts = zip(through_predictors, through_determinant, sigma, strict=True)
        for first, second, sd in parts:
            slope = 0.0
            if sd:
                slope = first + second / sd
            by_sigma.append(slope)
        return combine(self.x, self.by_pattern(slopes)) + by_sigma

    def freedom(self, inverted: Upper) -> list[float]:
        """The degrees of freedom that the effects of each factor use: the trace of I - H⁻¹."""
        return self.by_factor([1 - row[i] for i, row in enumerate(inverted)])

    def _pulls(self, scales: list[float], inverted: Upper, at: Curve) -> list[float]:
        """The slope of log|H|/2 in each predictor: the determinant moves with the weights."""
        skews = [0.5 - p for p in at.chances]
        shares = product(self._leverages(scales, inverted), at.weights)
        return product(shares, skews)

    def _leverages(self, scales: list[float], inverted: Upper) -> list[float]:
        """aᵀ·H⁻¹·a, with a the cell's row of Z·Λ: a cell's leverage over its weight."""
        leverages = []
        for levels in self.levels:
            leverage = 0.0
            for at, i in enumerate(levels):
                row, scale = inverted[i], scales[i]
                leverage += scale * scale * row[i]
                for j in levels[at + 1 :]:
                    leverage += 2 * scale * scales[j] * row[j]
            leverages.append(leverage)
        return leverages

    def information(self, sigma: list[float], modes: Modes) -> Upper:
        """Of β at fixed σ, the modes following: Xᵀ·W·X - Gᵀ·H⁻¹·G with G = Λ·Zᵀ·W·X. Where that
        leaves nothing, of rows of equal weight."""
        scales, weights = self.scales(sigma), modes.at.weights
        rows = cross_products(self.x, self.by_pattern(weights))
        crossed = []
        for column in zip(*self.x, strict=True):
            values = [column[place] for place in self.pattern]
            crossed.append(product(scales, self.collect(product(weights, values))))
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
    errors = None
    if converged:
        errors = standard_errors(model, point, guess)
    sigma = [abs(sd) for sd in model.sigma(point.theta)]
    return Optimum(model.beta(point.theta), sigma, -point.value, errors, converged)


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
        freedom = model.freedom(inverse(modes.factors))
        used = [max(TINY, df) for df in freedom]
        slope = combine(model.x, model.by_pattern(modes.at.residuals))
        step = solve(decompose(model.information(sigma, modes)), slope)
        beta = plus(beta, step)
        before, u = sigma, modes.u
        squares = model.by_factor(product(u, u))
        sigma = list(map(_next_sd, before, squares, used))
        changes = list(map(truediv, sigma, before))
        if min(changes) > 0.95 and max(changes) < 1.05:
            break
    variances = list(map(_variance, sigma, before, used, model.sizes))
    return beta + sigma, u, variances


def _next_sd(sd: float, square: float, used: float) -> float:
    return max(LEAST_START_SD, sd * sqrt(square / used))


def _variance(sd: float, before: float, used: float, size: int) -> float:
    square = before * before
    if sd <= LEAST_START_SD:  # what its square has at 0
        square *= max(size / used - 1, 0.1)
        return 2 * square * square / size
    return square / max(2 * used * used / size, 0.5)


class Coordinates:
    """What the search moves: β, and each SD or, where it begins near 0, its square.

    The likelihood is even in an SD and all but linear in a small variance: in the SD a search
    crosses 0 again and again. A variance stays at or above LEAST_SD².
    """

    def __init__(self, theta: list[float], columns: int):
        sds = range(columns, len(theta))
        self.squared = {i for i in sds if theta[i] <= LEAST_START_SD}

    def of(self, theta: list[float]) -> list[float]:
        place = list(theta)
        for i in self.squared:
            place[i] = theta[i] * theta[i]
        return place

    def theta(self, place: list[float]) -> list[float]:
        theta = list(place)
        for i in self.squared:
            theta[i] = sqrt(max(place[i], LEAST_SD**2))
        return theta

    def derivatives(self, theta: list[float]) -> list[float]:
        """Of β and σ by the coordinates."""
        derivatives = [1.0] * len(theta)
        for i in self.squared:
            derivatives[i] = 1 / (2 * theta[i])
        return derivatives

    def slopes(self, point: Point) -> list[float]:
        return product(point.gradient, self.derivatives(point.theta))

    def border(self, point: Point) -> set[int]:
        near = 1.01 * LEAST_SD
        return {i for i in self.squared if point.theta[i] < near}


def minimise(
    model: Laplace, point: Point, variances: list[float]
) -> tuple[Point, list[list[float]], bool]:
    """BFGS with halved steps (Nocedal & Wright 2006, chapter 6), at borders by projection:
    (point, an inverse Hessian by β and σ, whether it is an optimum)."""
    coordinates = Coordinates(point.theta, model.columns)
    guess = _first_guess(model, point, variances)
    slopes, border = coordinates.slopes(point), coordinates.border(point)
    converged = False
    for _ in range(MOST_STEPS):
        held = {i for i in border if point.gradient[i] > 0}
        free = zeroed(slopes, held)
        step = zeroed([-dot(row, free) for row in guess], held)
        promised = -dot(step, slopes)
        if promised < 2 * DECREMENT:
            converged = True
            break
        new = _line_search(model, coordinates, point, step, slopes)
        if new is None:
            converged = promised < 1e-6
            break
        moved = plus(coordinates.of(new.theta), coordinates.of(point.theta), -1)
        before, slopes = slopes, coordinates.slopes(new)
        point = new
        change = zeroed(plus(slopes, before, -1), held)
        border_before, border = border, coordinates.border(point)
        if border == border_before:
            guess = _updated(guess, moved, change)
        else:
            guess = _first_guess(model, point, variances)
    by = coordinates.derivatives(point.theta)
    rows = []
    for scale, row in zip(by, guess, strict=True):
        rows.append([scale * v for v in product(by, row)])
    return point, rows, converged


def _first_guess(
    model: Laplace, point: Point, variances: list[float]
) -> list[list[float]]:
    """An inverse Hessian: the information of β, and of each SD by itself."""
    information = model.information(model.sigma(point.theta), point.modes)
    size = len(point.theta)
    rows = []
    for entries in inverse(decompose(information)):
        rows.append([entries.get(j, 0.0) for j in range(size)])
    for i, value in enumerate(variances, model.columns):
        row = [0.0] * size
        row[i] = value
        rows.append(row)
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
    changes = [dot(row, model.beta(step)) for row in model.x]
    changes += model.sigma(step)
    share = min(1.0, LONGEST / max(map(abs, changes)))
    while share > 1e-10:
        theta = coordinates.theta(plus(place, step, share))
        new = model.point(theta, point.modes.u)
        moved = plus(coordinates.of(theta), place, -1)
        # What a border has cut short may promise nothing any more: then no rise is taken.
        promised = min(0.0, dot(moved, slopes))
        if new.value <= point.value + 1e-4 * promised:
            return new
        share /= 2
    return None


def _updated(
    guess: list[list[float]], step: list[float], change: list[float]
) -> list[list[float]]:
    """The inverse Hessian that maps this change of the gradient to this step, nearest to `guess`.

    Where the slope did not rise along the step no such matrix is positive: then it is doubled, so
    that the search leaves a saddle at growing pace.
    """
    curvature = dot(step, change)
    if curvature <= 0:
        return [plus(row, row) for row in guess]
    if curvature <= 1e-3 * norm(step) * norm(change):
        return guess
    along = [dot(row, change) for row in guess]
    scale = (1 + dot(change, along) / curvature) / curvature
    rows = []
    for row, s, a in zip(guess, step, along, strict=True):
        row = plus(row, step, scale * s - a / curvature)
        rows.append(plus(row, along, -s / curvature))
    return rows


def _without_idle(model: Laplace, point: Point, guess: list[list[float]]) -> Point:
    """SDs near 0 set to 0 where that costs nothing: those that the search left at its border, then
    each that by its curvature may cost next to nothing."""
    border, candidates = [], []
    for i in range(model.columns, len(point.theta)):
        sd = abs(point.theta[i])
        if sd <= 2 * LEAST_SD:
            border.append(i)
        elif sd * sd <= 8 * guess[i][i] * IDLE:
            candidates.append([i])
    if border:
        candidates.insert(0, border)
    for places in candidates:
        new = model.point(zeroed(point.theta, places), point.modes.u)
        if new.value <= point.value + FREE:
            point = new
    return point


def standard_errors(
    model: Laplace, point: Point, guess: list[list[float]]
) -> list[float] | None:
    """Of β: roots of the diagonal of the inverse Hessian, by differences of the gradient. SDs that
    are 0 are left out."""
    reach = [max(map(abs, column)) for column in zip(*model.x, strict=True)]
    reach += [1.0] * len(model.sizes)
    free = [i for i, value in enumerate(point.theta) if value or i < model.columns]
    columns = []
    for i in free:
        width = min(WIDTH * sqrt(guess[i][i]), WIDEST / reach[i])
        moved = list(point.theta)
        moved[i] += width
        there = model.point(moved, point.modes.u)
        change = plus(there.gradient, point.gradient, -1)
        columns.append([change[j] / width for j in free])
    hessian: Upper = []
    for i, column in enumerate(columns):
        opposite = [other[i] for other in columns]
        halves = enumerate(plus(column, opposite))
        hessian.append({j: both / 2 for j, both in halves if j >= i})
    factors = decompose(hessian)
    if not definite(factors):
        return None
    return _roots(inverse(factors)[: model.columns])


# --- vectors, and systems of symmetric matrices ---


def dot(a: Vector, b: Vector) -> float:
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total


def norm(a: Vector) -> float:
    return sqrt(dot(a, a))


def plus(a: Vector, b: Vector, times: float = 1.0) -> list[float]:
    """a + times·b."""
    return [x + times * y for x, y in zip(a, b, strict=True)]


def product(a: Vector, b: Vector) -> list[float]:
    """Element by element."""
    return list(map(mul, a, b))


def zeroed(a: Vector, places: Iterable[int]) -> list[float]:
    """A copy with 0 at these places."""
    copy = list(a)
    for place in places:
        copy[place] = 0.0
    return copy


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


def _diagonal(rows: Upper) -> list[float]:
    return [row[i] for i, row in enumerate(rows)]


def definite(factors: Upper) -> bool:
    return all(value > 0 for value in _diagonal(factors))


def log_determinant(factors: Upper) -> float:
    return fsum(map(log, _diagonal(factors)))


def dependent(rows: Upper, slack: float = 1e-9) -> int | None:
    """The first column that is a combination of those before it, to a relative `slack`."""
    factors = decompose([dict(row) for row in rows])
    for i, row in enumerate(rows):
        if not factors[i][i] > row[i] * slack:
            return i
    return None


def solve(factors: Upper, right: Vector) -> list[float]:
    """x with A·x = right, `factors` being `decompose(A)`."""
    x = list(right)
    for i, row in enumerate(factors):
        x[i] /= row[i]
        for j, value in row.items():
            if j > i:
                x[j] -= x[i] * value
    for i in reversed(range(len(x))):
        row = factors[i]
        beside = fsum([value * x[j] for j, value in row.items() if j > i])
        x[i] -= beside / row[i]
    return x


def inverse(factors: Upper) -> list[dict[int, float]]:
    """The elements of the inverse where `factors` has any, and those opposite to them.

    From the last row up (Takahashi, Fagan & Chen 1973).
    """
    inverted: list[dict[int, float]] = [{} for _ in factors]
    for i in reversed(range(len(factors))):
        row, diagonal = inverted[i], factors[i][i]
        weights = {j: value / diagonal for j, value in factors[i].items() if j > i}
        for j in weights:
            column = inverted[j]
            terms = [weight * column[k] for k, weight in weights.items()]
            row[j] = column[i] = -fsum(terms)
        terms = [weight * row[j] for j, weight in weights.items()]
        row[i] = 1 / diagonal - fsum(terms)
    return inverted
