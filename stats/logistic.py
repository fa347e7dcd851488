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
# A symmetric matrix. Row i is {column: value} from the diagonal on; an absent element is 0.
Upper = list[dict[int, float]]

STEPS = 100
CLOSE = 1e-7  # modes are found once a step is shorter than this
START_SD, LEAST_START_SD = 0.5, 0.1  # the first SD in `start`, and the least it returns
# The least SD of a search, not 0: at 0 the slope in a variance cannot be computed.
LEAST_SD = 1e-5
DECREMENT = 1e-10  # a search ends when a step promises less log-likelihood
MOST_STEPS = 300
LONGEST = 10.0  # the most by which a step may change a linear predictor or an SD
SINGULAR = 1e-4  # the SD at which lme4 calls a fit singular
WIDTH = 1e-4  # step of a finite difference, in standard errors of its parameter
WIDEST = 1e-3  # the most by which that step may change a linear predictor or an SD
TINY = 1e-9  # keeps degrees of freedom off 0
FREE = 1e-7  # an SD is set to 0 where that costs at most so much log-likelihood
# Setting an SD to 0 is tried where the curvature predicts that it costs at most this.
IDLE = 1e-4


class Patterns(NamedTuple):
    """The different covariate rows `x`; of the `n[i]` outcomes at x[i], `k[i]` are 1."""

    x: list[tuple[float, ...]]
    k: Vector
    n: Vector


class Curve(NamedTuple):
    """The binomial log-likelihood at some linear predictors, and for each predictor the chance of a
    1, the slope (`residuals`) and minus the curvature (`weights`) of the log-likelihood."""

    log_likelihood: float
    chances: list[float]
    residuals: list[float]
    weights: list[float]


def curve(predictors: Vector, k: Vector, n: Vector) -> Curve:
    """The `Curve` at linear predictors η, where `k` of `n` outcomes are 1.

    The chance 1/(1 + e^-η) is computed as (1 + tanh(η/2))/2, which cannot overflow. The
    log-likelihood is the sum of k·η - n·ln(1 + e^η).
    """
    rises = [log1p(exp(-abs(eta))) + max(eta, 0.0) for eta in predictors]
    log_likelihood = fsum(map(mul, k, predictors)) - fsum(map(mul, n, rises))
    chances = [(1 + tanh(eta / 2)) / 2 for eta in predictors]
    expected = product(n, chances)
    residuals = list(map(sub, k, expected))
    weights = product(expected, [1 - p for p in chances])
    return Curve(log_likelihood, chances, residuals, weights)


def cross_products(x: Sequence[Vector], weights: Vector) -> Upper:
    """Xᵀ·W·X from its diagonal on, where W has `weights` on its diagonal; zeros are stored too."""
    width = len(x[0])
    rows = [dict.fromkeys(range(i, width), 0.0) for i in range(width)]
    for values, weight in zip(x, weights, strict=True):
        for i, value in enumerate(values):
            row, share = rows[i], weight * value
            for j in range(i, width):
                row[j] += share * values[j]
    return rows


def combine(x: Sequence[Vector], weights: Vector) -> list[float]:
    """Xᵀ·w: the sum of the rows of `x`, each times its weight."""
    total = [0.0] * len(x[0])
    for values, weight in zip(x, weights, strict=True):
        total = plus(total, values, weight)
    return total


class Optimum(NamedTuple):
    """Where a search ended: β, the SDs `sigma`, the log-likelihood, and the standard errors of β."""

    beta: list[float]
    sigma: list[float]
    log_likelihood: float
    errors: list[float] | None
    converged: bool


def fit_fixed(patterns: Patterns, firth: bool = False) -> Optimum:
    """Fit β by Newton's method from 0, with standard errors from Fisher's information.

    With `firth` the likelihood is multiplied by the root of the information's determinant (Firth
    1993), so that its maximum is finite under separation too. The score is then Xᵀ(y - p + h(1/2 -
    p)), with h the leverages (Heinze & Schemper 2002), and the log-likelihood is the penalised one.
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
    """The standard errors: the roots of the diagonal."""
    return [sqrt(row[i]) for i, row in enumerate(covariance)]


def _penalised(x: Sequence[Vector], at: Curve, factors: Upper) -> list[float]:
    """The residuals of Firth's score, y - p + h(1/2 - p), where h is a leverage."""
    residuals = []
    parts = zip(x, at.residuals, at.weights, at.chances, strict=True)
    for row, residual, weight, p in parts:
        leverage = weight * dot(row, solve(factors, row))
        residuals.append(residual + leverage * (0.5 - p))
    return residuals


# --- separation ---


def separating_direction(patterns: Patterns) -> list[float] | None:
    """Coefficients along which the likelihood rises without end, or None where there are none.

    A direction d separates where x·d >= 0 for every 1, x·d <= 0 for every 0, and some x·d is not 0
    (Albert & Anderson 1984). Turn the sign of each row with outcome 0; let a be these rows and c
    their sum. No direction separates exactly if weights >= 0 exist with which the rows a add up to
    -c. Non-negative least squares looks for such weights; if a part of c is left over, that part is
    a separating direction.
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
    # A row with outcomes of both kinds forces x·d = 0, so d lies at right angles to all of them.
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
    """Add to `span` the normalised part of `vector` that is orthogonal to it (Gram-Schmidt), unless
    that part is zero."""
    rest = vector
    for _ in range(2):  # the second sweep removes what rounding left of the first
        for other in span:
            rest = plus(rest, other, -dot(rest, other))
    size = norm(rest)
    if len(span) < len(vector) and size > 1e-9 * norm(vector):
        span.append([value / size for value in rest])


def _residual_of_cone(rows: list[list[float]]) -> list[float] | None:
    """Return the shortest vector c + Σ w·a with all weights w >= 0, or None if its length is 0.

    The a are the rows, and c is their sum. Active sets (Lawson & Hanson 1974, chapter 23).
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
    """Fit by least squares the weights of the rows in `weights`; drop rows whose weight would
    turn negative."""
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
    """The sum of the values at each of `size` places; places[i] says where values[i] belongs."""
    total = [0.0] * size
    for place, value in zip(places, values, strict=True):
        total[place] += value
    return total


class Modes(NamedTuple):
    """The u with the highest integrand at given β and σ, and what was computed there."""

    u: list[float]
    value: float  # -ℓ + u'u/2; infinite where the search for the modes failed
    at: Curve
    factors: Upper  # decompose(H)


class Point(NamedTuple):
    """Minus the log-likelihood at `theta` = β and then σ, and its gradient in the same order."""

    theta: list[float]
    value: float
    gradient: list[float]
    modes: Modes


class Laplace:
    """The data, and the approximated likelihood of β and σ on them.

    The data are cells of like rows: `k[i]` of the `n[i]` outcomes of cell i are 1, its covariates
    are x[pattern[i]], and groups[f][i] is its level of grouping factor f.
    """

    def __init__(
        self,
        x: list[tuple[float, ...]],
        pattern: list[int],
        groups: list[list[int]],
        k: list[int],
        n: list[int],
    ):
        """Number the levels of all factors consecutively from 0, the largest factor's first.

        `levels[i]` holds the numbers of cell i's levels, one for each factor, and
        `factor_of[number]` the factor of a level. `columns` is the number of covariates.
        """
        self.x, self.pattern, self.k, self.n = x, pattern, k, n
        self.columns = len(x[0])
        self.sizes = [max(levels) + 1 for levels in groups]
        self.factor_of: list[int] = []
        numbered = []  # for each factor, the level numbers of all cells
        factors = range(len(groups))
        for factor in sorted(factors, key=self.sizes.__getitem__, reverse=True):
            start = len(self.factor_of)
            numbered.append([start + level for level in groups[factor]])
            self.factor_of += [factor] * self.sizes[factor]
        self.levels = list(zip(*numbered, strict=True))

    def beta(self, theta: list[float]) -> list[float]:
        """The part of `theta` that is β."""
        return theta[: self.columns]

    def sigma(self, theta: list[float]) -> list[float]:
        """The part of `theta` that is σ, an SD for each factor."""
        return theta[self.columns :]

    def by_pattern(self, values: Vector) -> list[float]:
        """One number per cell, summed for each row of `x`."""
        return totals(self.pattern, len(self.x), values)

    def by_factor(self, values: Vector) -> list[float]:
        """Sum `values`, which has one number for each level, over the levels of each
        factor."""
        return totals(self.factor_of, len(self.sizes), values)

    def scales(self, sigma: list[float]) -> list[float]:
        """The diagonal of Λ: for each level the standard deviation of its factor."""
        return [sigma[f] for f in self.factor_of]

    def spread(self, effects: list[float]) -> list[float]:
        """Z·effects: for each cell the sum of its levels' effects."""
        return [fsum([effects[level] for level in levels]) for levels in self.levels]

    def collect(self, values: Vector) -> list[float]:
        """Zᵀ·values: for each level the sum over its cells."""
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
        """The u that minimises -ℓ + u'u/2, by Newton's method from `u`; a step that overshoots is
        halved. The value is inf where the method does not converge."""
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
        """-log L and its gradient at `theta`; the search for the modes begins at `u`."""
        beta, sigma = self.beta(theta), self.sigma(theta)
        modes = self.modes(beta, sigma, u)
        value = modes.value + log_determinant(modes.factors) / 2
        return Point(theta, value, self._gradient(sigma, modes), modes)

    def _gradient(self, sigma: list[float], modes: Modes) -> list[float]:
        """The gradient of -log L by β, then by σ.

        The modes move with β and σ. Their part of the gradient comes from solving once for t =
        H⁻¹·Λ·Zᵀ·pulls (an adjoint), so that no mode has to be differentiated. At a mode Zᵀ·(y - p)
        is u/σ, and ∂log|H|/∂σ is the trace of (I - H⁻¹)/σ.
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
        """For each factor, how many degrees of freedom its effects use: its part of the trace of I
        - H⁻¹."""
        return self.by_factor([1 - row[i] for i, row in enumerate(inverted)])

    def _pulls(self, scales: list[float], inverted: Upper, at: Curve) -> list[float]:
        """For each cell, the slope of log|H|/2 in its predictor: H changes with the weights."""
        skews = [0.5 - p for p in at.chances]
        shares = product(self._leverages(scales, inverted), at.weights)
        return product(shares, skews)

    def _leverages(self, scales: list[float], inverted: Upper) -> list[float]:
        """For each cell aᵀ·H⁻¹·a, where a is its row of Z·Λ: its leverage divided by its weight."""
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
        """The information matrix of β at fixed σ: Xᵀ·W·X - Gᵀ·H⁻¹·G with G = Λ·Zᵀ·W·X.

        Where that is not positive definite, Xᵀ·X in its place.
        """
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
    """The likeliest β and σ, with standard errors of β; the search begins at `beta`."""
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
    """A first β and σ together, the modes there, and for each SD the variance of its estimate.

    β and u come from penalised iteratively reweighted least squares at given σ. σ² is Σu² over the
    degrees of freedom that the effects use (Schall 1991), from which its variance follows too.
    Where an SD is near 0 the variance is that of its square, see `Coordinates`.
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
    """Schall's step: the SD at which the effects are as large as their degrees of freedom say."""
    return max(LEAST_START_SD, sd * sqrt(square / used))


def _variance(sd: float, before: float, used: float, size: int) -> float:
    """The variance of an SD's estimate; that of its square where the SD is near 0."""
    square = before * before
    if sd <= LEAST_START_SD:  # the variance of the square, at 0
        square *= max(size / used - 1, 0.1)
        return 2 * square * square / size
    return square / max(2 * used * used / size, 0.5)


class Coordinates:
    """The numbers that the search moves: β, and each SD or, where it starts near 0, its square.

    The likelihood does not depend on the sign of an SD, and is nearly a straight line in a small
    variance: a search in the SD would cross 0 again and again. A variance stays at or above
    LEAST_SD².
    """

    def __init__(self, theta: list[float], columns: int):
        """Choose the coordinates for a search that starts at `theta`, which holds `columns` numbers
        of β."""
        sds = range(columns, len(theta))
        self.squared = {i for i in sds if theta[i] <= LEAST_START_SD}

    def of(self, theta: list[float]) -> list[float]:
        """The coordinates of `theta`."""
        place = list(theta)
        for i in self.squared:
            place[i] = theta[i] * theta[i]
        return place

    def theta(self, place: list[float]) -> list[float]:
        """β and σ at these coordinates."""
        theta = list(place)
        for i in self.squared:
            theta[i] = sqrt(max(place[i], LEAST_SD**2))
        return theta

    def derivatives(self, theta: list[float]) -> list[float]:
        """For each element of `theta`, its derivative by its own coordinate."""
        derivatives = [1.0] * len(theta)
        for i in self.squared:
            derivatives[i] = 1 / (2 * theta[i])
        return derivatives

    def slopes(self, point: Point) -> list[float]:
        """The gradient by the coordinates."""
        return product(point.gradient, self.derivatives(point.theta))

    def border(self, point: Point) -> set[int]:
        """The places of the SDs that are held at their least value."""
        near = 1.01 * LEAST_SD
        return {i for i in self.squared if point.theta[i] < near}


def minimise(
    model: Laplace, point: Point, variances: list[float]
) -> tuple[Point, list[list[float]], bool]:
    """Search from `point` for the minimum: (the last point, an inverse Hessian by β and σ, whether
    it is an optimum).

    BFGS with halved steps (Nocedal & Wright 2006, chapter 6); at a border the step is projected
    onto it.
    """
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
    """A first inverse Hessian, block-diagonal: the inverse information for β, and for
    each SD its own variance."""
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
    """Halve the step until it lowers -log L as much as the slope demands (Armijo's
    rule); return the point there, or None where no step does."""
    place = coordinates.of(point.theta)
    changes = [dot(row, model.beta(step)) for row in model.x]
    changes += model.sigma(step)
    share = min(1.0, LONGEST / max(map(abs, changes)))
    while share > 1e-10:
        theta = coordinates.theta(plus(place, step, share))
        new = model.point(theta, point.modes.u)
        moved = plus(coordinates.of(theta), place, -1)
        # A step cut short by a border may point uphill: then the value must not rise.
        promised = min(0.0, dot(moved, slopes))
        if new.value <= point.value + 1e-4 * promised:
            return new
        share /= 2
    return None


def _updated(
    guess: list[list[float]], step: list[float], change: list[float]
) -> list[list[float]]:
    """The inverse Hessian nearest to `guess` that turns this change of the gradient into this step.

    Where the slope did not rise along the step, no positive definite matrix does so. Then `guess` is
    doubled, so that the search leaves a saddle at a growing pace.
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
    """The point with SDs near 0 set to 0, where that costs no likelihood.

    It tries all SDs at once that the search left at its lower end, then one by one those whose
    removal, by the curvature, would cost almost no likelihood.
    """
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
    """The standard errors of β, or None where the Hessian is not positive definite.

    The Hessian comes from differences of the gradient; an SD that is 0 has no row in it.
    """
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
    """The sum of a[i]·b[i]. It is added up in order, since `sum` rounds differently from Python
    3.12 on."""
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
    """Two vectors multiplied element by element."""
    return list(map(mul, a, b))


def zeroed(a: Vector, places: Iterable[int]) -> list[float]:
    """A copy with 0 at these places."""
    copy = list(a)
    for place in places:
        copy[place] = 0.0
    return copy


def decompose(rows: Upper) -> Upper:
    """Turn `rows`, in place, into D on the diagonal and D·Lᵀ above it (Golub & Van Loan 2013, 4.1).

    It stops at a diagonal element that is not positive and leaves it there, which `definite` finds.
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
    """Whether the decomposed matrix is positive definite."""
    return all(value > 0 for value in _diagonal(factors))


def log_determinant(factors: Upper) -> float:
    """The logarithm of the determinant of the decomposed matrix."""
    return fsum(map(log, _diagonal(factors)))


def dependent(rows: Upper, slack: float = 1e-9) -> int | None:
    """The place of the first column that is a combination of earlier ones, to a relative `slack`;
    None where every column adds something."""
    factors = decompose([dict(row) for row in rows])
    for i, row in enumerate(rows):
        if not factors[i][i] > row[i] * slack:
            return i
    return None


def solve(factors: Upper, right: Vector) -> list[float]:
    """The x for which A·x = right; `factors` is `decompose(A)`."""
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
    """The elements of the inverse at the places where `factors` has elements, on both sides of the
    diagonal.

    They are computed from the last row up (Takahashi, Fagan & Chen 1973).
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
