"""A logistic regression with random intercepts by the Laplace approximation.

With u the standardised random effects, η = X·β + Z·Λ·u and H the curvature in u, minus the log
likelihood is  -ℓ(η) + u'u/2 + log|H|/2  at the modes û(β, σ) (Breslow & Clayton 1993; as lme4 with
nAGQ = 1, Bates, Mächler, Bolker & Walker 2015, and glmmTMB, Brooks et al. 2017). Its gradient
counts what the modes do when the parameters move (Skaug & Fournier 2006). Standard deviations are
parameters as they are, with no logarithm: 0 is an ordinary point, the sign carries no meaning.
"""

import math
from operator import add, mul, sub, truediv
from typing import NamedTuple

from .crossed import (
    Factored,
    Groups,
    Vector,
    collector,
    decompose,
    definite,
    dot,
    inverse,
    picker,
    solve,
)
from .logit import Counts, Curve, combine, cross_products, curve

CLOSE = 1e-7  # the longest step that modes still take
START_SD, LEAST_START_SD = 0.5, 0.1
EVEN = 1e-7  # below this SD the gradient, odd in it, is 0 to every digit that counts
DECREMENT = 1e-10  # what the last step of the search may still promise
MOST_STEPS = 300
LONGEST = 10.0  # what one step may change of a linear predictor, or of an SD
SINGULAR = 1e-4  # the SD at which lme4 calls a fit singular
WIDTH, WIDEST = 1e-4, 1e-3  # of a difference: in standard errors; in a predictor or an SD
TINY = 1e-9
FREE = 1e-7  # an SD whose removal costs no more log-likelihood is 0


class Modes(NamedTuple):
    u: Vector
    value: float  # -ℓ + u'u/2
    at: Curve
    h: Factored
    moves: list[float]  # of the predictors in the last step, which no weight follows


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
    """Cells of rows alike: `k` of `n` are 1; `pattern` is the row of `x`, `groups` the levels."""

    def __init__(
        self,
        x: list[tuple[float, ...]],
        pattern: list[int],
        groups: list[list[int]],
        k: list[int],
        n: list[int],
    ):
        self.x, self.columns = x, len(x[0])
        self.groups, self.counts = Groups(groups), Counts(k, n)
        self.pick_pattern, self.by_pattern = picker(pattern), collector(pattern, len(x))

    def zeros(self) -> Vector:
        return [[0.0] * size for size in self.groups.sizes]

    def predictors(self, beta: list[float], sigma: list[float], u: Vector) -> list[float]:
        fixed = [dot(row, beta) for row in self.x]
        shifts = self.groups.spread(_scaled(sigma, u))
        return list(map(add, self.pick_pattern(fixed), shifts))

    def modes(
        self, beta: list[float], sigma: list[float], u: Vector, close: float = CLOSE
    ) -> Modes:
        """The u that minimises -ℓ + u'u/2: Newton's method from `u`, halved where it overshoots.

        The last, short step moves u and the residuals, but no weight.
        """
        best, step = math.inf, None
        for _ in range(100):
            at = curve(self.predictors(beta, sigma, u), self.counts)
            value = math.fsum(v * v for part in u for v in part) / 2 - at.log_likelihood
            if step and value > best + 1e-10 * abs(best):
                step = [[v / 2 for v in part] for part in step]
                u = _moved(u, step, -1)
                continue
            best = value
            slope = _moved(_scaled(sigma, self.groups.collect(at.residuals)), u, -1)
            h = self.groups.factored(sigma, at.weights)
            step = self.groups.solve(h, slope)
            u = _moved(u, step)
            if all(-close < v < close for part in step for v in part):
                break
        moves = self.groups.spread(_scaled(sigma, step))
        residuals = list(map(sub, at.residuals, map(mul, at.weights, moves)))
        return Modes(u, value, at._replace(residuals=residuals), h, moves)

    def point(self, theta: list[float], u: Vector) -> Point:
        beta, sigma = theta[: self.columns], theta[self.columns :]
        modes = self.modes(beta, sigma, u)
        needed = self.groups.needed(modes.h)
        pulls = self._pulls(modes, needed.leverages)
        value = modes.value + modes.h.log_determinant / 2 + dot(pulls, modes.moves)
        if max(map(abs, modes.moves)) > 1e-3:  # no modes found, so no value
            value = math.inf
        return Point(theta, value, self._gradient(sigma, modes, pulls, needed.diagonal), modes)

    def tangent(self, point: Point, step: list[float]) -> Vector:
        """What the modes do, to first order, when the parameters take a step."""
        modes, sigma = point.modes, point.theta[self.columns :]
        by_sigma = step[self.columns :]
        moves = self.predictors(step[: self.columns], by_sigma, modes.u)
        pulled = list(map(mul, modes.at.weights, moves))
        shares = [change / sd if sd else 0.0 for change, sd in zip(by_sigma, sigma, strict=True)]
        pull = _scaled(sigma, self.groups.collect(pulled))
        return self.groups.solve(modes.h, _moved(_scaled(shares, modes.u), pull, -1))

    def _pulls(self, modes: Modes, leverages: list[float]) -> list[float]:
        """The slope of log|H|/2 in each predictor: the determinant moves with the weights."""
        _, residuals, weights = modes.at
        beside = map(truediv, map(sub, residuals, self.counts.beyond_half), self.counts.n)
        return list(map(mul, map(mul, leverages, weights), beside))

    def _gradient(
        self, sigma: list[float], modes: Modes, pulls: list[float], diagonal: Vector
    ) -> list[float]:
        """By β, then by σ.

        The modes move too: their share is an adjoint solve, t = H⁻¹·Λ·Zᵀ·pulls, so that no
        derivative of a mode is ever formed.
        """
        groups, (_, residuals, weights) = self.groups, modes.at
        t = groups.solve(modes.h, _scaled(sigma, groups.collect(pulls)))
        followed = groups.spread(_scaled(sigma, t))
        slopes = list(map(sub, map(sub, pulls, map(mul, weights, followed)), residuals))
        parts = zip(sigma, modes.u, t, groups.collect(slopes), diagonal, strict=True)
        return combine(self.x, self.by_pattern(slopes)) + [_by_sd(*part) for part in parts]

    def information(self, sigma: list[float], modes: Modes) -> list[list[float]]:
        """Xᵀ·W·X - Gᵀ·H⁻¹·G with G = Λ·Zᵀ·W·X: of β at fixed σ, the modes following."""
        weights = modes.at.weights
        rows = cross_products(self.x, self.by_pattern(weights))
        crossed = [self._crossed(sigma, weights, j) for j in range(self.columns)]
        for i, row in enumerate(rows):
            solved = self.groups.solve(modes.h, crossed[i])
            for j in range(i, self.columns):
                row[j - i] -= _inner(solved, crossed[j])
        return rows

    def _crossed(self, sigma: list[float], weights: list[float], column: int) -> Vector:
        values = [row[column] for row in self.x]
        weighted = list(map(mul, weights, self.pick_pattern(values)))
        return _scaled(sigma, self.groups.collect(weighted))


def _scaled(sigma: list[float], vector: Vector) -> Vector:
    return [[sd * v for v in part] for sd, part in zip(sigma, vector, strict=True)]


def _moved(u: Vector, step: Vector, share: float = 1) -> Vector:
    return [
        [v + share * s for v, s in zip(part, move, strict=True)]
        for part, move in zip(u, step, strict=True)
    ]


def _inner(a: Vector, b: Vector) -> float:
    return math.fsum(dot(x, y) for x, y in zip(a, b, strict=True))


def _by_sd(
    sd: float, u: list[float], t: list[float], slopes: list[float], diagonal: list[float]
) -> float:
    """One σ's slope; at a mode Zᵀ·(y - p) is u/σ, and ∂log|H|/∂σ is the trace of (I - H⁻¹)/σ."""
    if abs(sd) <= EVEN:
        return 0.0
    return dot(u, slopes) + (dot(t, u) + math.fsum(1 - d for d in diagonal)) / sd


def start(
    model: Laplace, beta: list[float], sigma: list[float]
) -> tuple[list[float], Vector, list[list[float]]]:
    """A first β and σ, the modes there, and an inverse Hessian; `sigma`: where to begin.

    β and u by penalised iteratively reweighted least squares at given σ, and σ² by the share of
    its degrees of freedom that the effects use (Schall 1991). Never near 0, where the slope in σ
    vanishes whether 0 is the optimum or not.
    """
    u = model.zeros()
    for _ in range(12):
        modes = model.modes(beta, sigma, u, close=0.05)
        diagonals = model.groups.needed(modes.h).diagonal
        used = [max(TINY, math.fsum(1 - d for d in diagonal)) for diagonal in diagonals]
        information = decompose(model.information(sigma, modes))
        if not definite(information):
            information = decompose(cross_products(model.x, [1.0] * len(model.x)))
        slope = combine(model.x, model.by_pattern(modes.at.residuals))
        step = solve(information, slope)
        beta = [b + s for b, s in zip(beta, step, strict=True)]
        before, u = sigma, modes.u
        sigma = [
            max(LEAST_START_SD, sd * math.sqrt(dot(part, part) / edf))
            for sd, part, edf in zip(sigma, u, used, strict=True)
        ]
        if all(abs(a - b) < 0.05 * a for a, b in zip(before, sigma, strict=True)):
            break
    variances = [
        sd * sd / max(2 * edf * edf / size, 0.5)
        for sd, edf, size in zip(sigma, used, model.groups.sizes, strict=True)
    ]
    return beta + sigma, u, _blocks(inverse(information), variances)


def _blocks(matrix: list[list[float]], diagonal: list[float]) -> list[list[float]]:
    """`matrix` and then a diagonal, zeros beside them."""
    width = len(matrix)
    rows = [row + [0.0] * len(diagonal) for row in matrix]
    for i, value in enumerate(diagonal):
        row = [0.0] * (width + len(diagonal))
        row[width + i] = value
        rows.append(row)
    return rows


def fit(model: Laplace, beta: list[float], near: list[float] | None = None) -> Optimum:
    """Quasi-Newton (BFGS) over β and σ together, then standard errors. `near`: the σ of a model
    that this one is part of; then it is begun there, and only its likelihood is wanted."""
    columns = model.columns
    begin = [max(LEAST_START_SD, sd) for sd in near or [START_SD] * len(model.groups.sizes)]
    theta, u, guess = start(model, beta, begin)
    point, guess, converged = minimise(model, model.point(theta, u), guess)
    point = _without_idle(model, point)
    free = [i for i, value in enumerate(point.theta) if i < columns or value]
    errors = None
    if converged and not near:
        errors = standard_errors(model, point, free, guess)
    sigma = [abs(sd) for sd in point.theta[columns:]]
    beta, errors = point.theta[:columns], errors and errors[:columns]
    return Optimum(beta, sigma, -point.value, errors, converged)


def minimise(
    model: Laplace, point: Point, guess: list[list[float]]
) -> tuple[Point, list[list[float]], bool]:
    """BFGS with halved steps (Nocedal & Wright 2006, chapter 6); `guess` is an inverse Hessian."""
    for _ in range(MOST_STEPS):
        step = [-dot(row, point.gradient) for row in guess]
        promised = -dot(step, point.gradient)
        if promised < 2 * DECREMENT:
            return point, guess, True
        fixed = [dot(row, step[: model.columns]) for row in model.x]
        share = min(1.0, LONGEST / max(map(abs, fixed + step[model.columns :])))
        while share > 1e-10:
            new = _stepped(model, point, [share * s for s in step])
            if new.value <= point.value - 1e-4 * share * promised:
                break
            share /= 2 if new.value < point.value + promised else 4
        else:
            return point, guess, promised < 1e-6
        step = [b - a for a, b in zip(point.theta, new.theta, strict=True)]
        change = [b - a for a, b in zip(point.gradient, new.gradient, strict=True)]
        point, guess = new, _updated(guess, step, change)
    return point, guess, False


def _stepped(model: Laplace, point: Point, step: list[float]) -> Point:
    """The point a step away, its modes sought from the tangent where that can be trusted."""
    shift, u = model.tangent(point, step), point.modes.u
    if all(-1 < v < 1 for part in shift for v in part):
        u = _moved(u, shift)
    return model.point([t + s for t, s in zip(point.theta, step, strict=True)], u)


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


def _without_idle(model: Laplace, point: Point) -> Point:
    """SDs near 0 set to 0 where that costs nothing."""
    for i in range(model.columns, len(point.theta)):
        if abs(point.theta[i]) <= LEAST_START_SD:
            without = [*point.theta[:i], 0.0, *point.theta[i + 1 :]]
            new = model.point(without, point.modes.u)
            point = new if new.value <= point.value + FREE else point
    return point


def standard_errors(
    model: Laplace, point: Point, free: list[int], guess: list[list[float]]
) -> list[float] | None:
    """Roots of the diagonal of the inverse Hessian, by differences of the gradient."""
    reach = [max(map(abs, column)) for column in zip(*model.x, strict=True)]
    reach += [1.0] * (len(guess) - model.columns)
    columns = []
    for i in free:
        width = min(WIDTH * math.sqrt(guess[i][i]), WIDEST / reach[i])
        step = [width * (j == i) for j in range(len(guess))]
        there = _stepped(model, point, step).gradient
        columns.append([(there[j] - point.gradient[j]) / width for j in free])
    hessian = [
        [(columns[i][j] + columns[j][i]) / 2 for j in range(i, len(free))] for i in range(len(free))
    ]
    factors = decompose(hessian)
    if not definite(factors):
        return None
    return [math.sqrt(row[i]) for i, row in enumerate(inverse(factors))]
