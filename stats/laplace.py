"""A logistic regression with random intercepts by the Laplace approximation.

With u the standardised random effects, η = X·β + Z·Λ·u and H the curvature in u, minus the log
likelihood is  -ℓ(η) + u'u/2 + log|H|/2  at the modes û(β, σ) (Breslow & Clayton 1993; as lme4 with
nAGQ = 1, Bates, Mächler, Bolker & Walker 2015, and glmmTMB, Brooks et al. 2017). Its gradient
counts what the modes do when the parameters move (Skaug & Fournier 2006). Standard deviations are
parameters as they are, with no logarithm: 0 is an ordinary point, the sign carries no meaning.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate, combinations, pairwise
from operator import add, mul, sub
from typing import NamedTuple

from .logit import (
    Curve,
    Upper,
    combine,
    cross_products,
    curve,
    decompose,
    definite,
    dot,
    inverse,
    solve,
)

Vector = list[list[float]]  # one list a factor, one number a level

CLOSE = 1e-7  # the longest step that modes still take
START_SD, LEAST_START_SD = 0.5, 0.1
LEAST_SD = 1e-5  # the border of a search, in place of 0: there the slope in a variance is lost
EVEN = 1e-7  # below this SD the gradient, odd in it, is 0 to every digit that counts
DECREMENT = 1e-10  # what the last step of the search may still promise
MOST_STEPS = 300
LONGEST = 10.0  # what one step may change of a linear predictor, or of an SD
SINGULAR = 1e-4  # the SD at which lme4 calls a fit singular
WIDTH, WIDEST = 1e-4, 1e-3  # of a difference: in standard errors; in a predictor or an SD
TINY = 1e-9
FREE = 1e-7  # an SD whose removal costs no more log-likelihood is 0
IDLE = 1e-4  # and is tried where it seems to cost no more than this


# --- crossed or nested groups, and the system of their modes ---
# With weights w the matrix is H = I + Λ·Zᵀ·W·Z·Λ. The largest grouping factor's block of it is
# diagonal: it is eliminated, and what is left (the Schur complement of the other factors' levels)
# is small and dense. Only those elements of H⁻¹ are formed that some row of the data needs.

def totals(places: Iterable[int], size: int, values: Iterable[float]) -> list[float]:
    """The sum of the values at each of `size` places."""
    total = [0.0] * size
    for place, value in zip(places, values, strict=True):
        total[place] += value
    return total


class Factored(NamedTuple):
    """H for one set of weights: the eliminated diagonal, its rows beside the rest, the rest."""

    sigma: list[float]
    diagonal: list[float]
    beside: list[float]  # by slot
    rest: Upper
    log_determinant: float


class Groups:
    """Where each row of the data stands in each factor; the first factor is eliminated."""

    def __init__(self, levels: list[list[int]]):
        self.levels = levels
        self.sizes = [max(places) + 1 for places in levels]
        # Where each factor of the rest begins among its columns, and where the last one ends.
        self.starts = list(accumulate(self.sizes[1:], initial=0))
        self.factor_of = [f for f, size in enumerate(self.sizes) for _ in range(size) if f]
        columns = [
            [start + place for place in places]
            for start, places in zip(self.starts, levels[1:], strict=False)
        ]
        self.pairs = list(combinations(enumerate(columns, 1), 2))
        # The columns that each eliminated level meets, in slots that follow it.
        met = sorted({cell for c in columns for cell in zip(levels[0], c, strict=True)})
        slot = {cell: i for i, cell in enumerate(met)}
        self.slots = [[slot[cell] for cell in zip(levels[0], c, strict=True)] for c in columns]
        self.slot_levels = [level for level, _ in met]
        self.slot_columns = [column for _, column in met]
        ends = [bisect_left(self.slot_levels, level) for level in range(self.sizes[0] + 1)]
        self.spans = [slice(*span) for span in pairwise(ends)]

    def spread(self, vector: Vector) -> list[float]:
        """The sum over factors of each row's entry: Z times a vector."""
        total = [0.0] * len(self.levels[0])
        for places, values in zip(self.levels, vector, strict=True):
            total = [t + values[place] for t, place in zip(total, places, strict=True)]
        return total

    def collect(self, values: list[float]) -> Vector:
        """Zᵀ times one number a row."""
        return [totals(*each, values) for each in zip(self.levels, self.sizes, strict=True)]

    def parted(self, values: list[float]) -> Vector:
        """Numbers of the rest's columns, by factor."""
        return [values[start:end] for start, end in pairwise(self.starts)]

    def factored(self, sigma: list[float], weights: list[float]) -> Factored:
        scales, width = [sigma[f] for f in self.factor_of], len(self.factor_of)
        diagonal, *others = [
            [1 + sd * sd * total for total in part]
            for sd, part in zip(sigma, self.collect(weights), strict=True)
        ]
        rest_diagonal = [value for part in others for value in part]
        rest = [[value] + [0.0] * (width - i - 1) for i, value in enumerate(rest_diagonal)]
        for (f, rows), (g, columns) in self.pairs:
            scale = sigma[f] * sigma[g]
            for i, j, weight in zip(rows, columns, weights, strict=True):
                rest[i][j - i] += scale * weight
        cells = [0.0] * len(self.slot_columns)
        for slots in self.slots:
            cells = list(map(add, cells, totals(slots, len(cells), weights)))
        beside = [
            sigma[0] * scales[j] * total for j, total in zip(self.slot_columns, cells, strict=True)
        ]
        for span, d in zip(self.spans, diagonal, strict=True):
            columns, row = self.slot_columns[span], beside[span]
            for at, (i, b) in enumerate(zip(columns, row, strict=True)):
                share, target = b / d, rest[i]
                for j, other in zip(columns[at:], row[at:], strict=True):
                    target[j - i] -= share * other
        decompose(rest)
        log_determinant = math.fsum(map(math.log, diagonal + [row[0] for row in rest]))
        return Factored(sigma, diagonal, beside, rest, log_determinant)

    def solve(self, h: Factored, right: Vector) -> Vector:
        """H⁻¹ times a vector."""
        first = [r / d for r, d in zip(right[0], h.diagonal, strict=True)]
        rest = [value for factor in right[1:] for value in factor]
        pulls = map(mul, h.beside, [first[level] for level in self.slot_levels])
        pulled = totals(self.slot_columns, len(rest), pulls)
        rest = solve(h.rest, list(map(sub, rest, pulled)))
        shifts = map(mul, h.beside, [rest[column] for column in self.slot_columns])
        shifted = totals(self.slot_levels, len(first), shifts)
        first = [v - s / d for v, s, d in zip(first, shifted, h.diagonal, strict=True)]
        return [first, *self.parted(rest)]

    def needed(self, h: Factored) -> tuple[Vector, list[float]]:
        """Of H⁻¹: its diagonal by factor, and aᵀ·H⁻¹·a for each row a of Z·Λ."""
        dense, eliminated, crossing = inverse(h.rest), [], []
        for span, d in zip(self.spans, h.diagonal, strict=True):
            columns, row = self.slot_columns[span], h.beside[span]
            sums = [math.fsum([b * dense[i][j] for j, b in zip(columns, row, strict=True)])
                    for i in columns]  # fmt: skip
            eliminated.append((1 + dot(row, sums) / d) / d)
            crossing += [-2 * s / d for s in sums]
        diagonal = [eliminated, *self.parted([row[i] for i, row in enumerate(dense)])]
        leverages = self.spread(
            [[s * s * x for x in part] for s, part in zip(h.sigma, diagonal, strict=True)]
        )
        scales = [h.sigma[0] * h.sigma[self.factor_of[column]] for column in self.slot_columns]
        crossing = list(map(mul, scales, crossing))
        for slots in self.slots:
            leverages = [x + crossing[slot] for x, slot in zip(leverages, slots, strict=True)]
        for (f, rows), (g, columns) in self.pairs:
            twice = 2 * h.sigma[f] * h.sigma[g]
            cells = zip(leverages, rows, columns, strict=True)
            leverages = [x + twice * dense[i][j] for x, i, j in cells]
        return diagonal, leverages


# --- the model ---

class Modes(NamedTuple):
    u: Vector
    value: float  # -ℓ + u'u/2, infinite where no modes were found
    at: Curve
    h: Factored


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
        self.groups, self.pattern, self.k, self.n = Groups(groups), pattern, k, n

    def zeros(self) -> Vector:
        return [[0.0] * size for size in self.groups.sizes]

    def by_pattern(self, values: list[float]) -> list[float]:
        return totals(self.pattern, len(self.x), values)

    def predictors(self, beta: list[float], sigma: list[float], u: Vector) -> list[float]:
        fixed = [dot(row, beta) for row in self.x]
        shifts = self.groups.spread(_scaled(sigma, u))
        return [fixed[place] + shift for place, shift in zip(self.pattern, shifts, strict=True)]

    def modes(
        self, beta: list[float], sigma: list[float], u: Vector, close: float = CLOSE
    ) -> Modes:
        """The u that minimises -ℓ + u'u/2: Newton's method from `u`, halved where it overshoots."""
        best, step = math.inf, None
        for _ in range(100):
            at = curve(self.predictors(beta, sigma, u), self.k, self.n)
            value = math.fsum(v * v for part in u for v in part) / 2 - at.log_likelihood
            if step and value > best + 1e-10 * abs(best):
                step = [[v / 2 for v in part] for part in step]
                u = _moved(u, step, -1)
                continue
            best = value
            h = self.groups.factored(sigma, at.weights)
            if step and all(-close < v < close for part in step for v in part):
                return Modes(u, value, at, h)
            slope = _moved(_scaled(sigma, self.groups.collect(at.residuals)), u, -1)
            step = self.groups.solve(h, slope)
            u = _moved(u, step)
        return Modes(u, math.inf, at, h)

    def point(self, theta: list[float], u: Vector) -> Point:
        beta, sigma = theta[: self.columns], theta[self.columns :]
        modes = self.modes(beta, sigma, u)
        diagonal, leverages = self.groups.needed(modes.h)
        pulls = self._pulls(modes, leverages)
        value = modes.value + modes.h.log_determinant / 2
        return Point(theta, value, self._gradient(sigma, modes, pulls, diagonal), modes)

    def _pulls(self, modes: Modes, leverages: list[float]) -> list[float]:
        """The slope of log|H|/2 in each predictor: the determinant moves with the weights."""
        _, residuals, weights = modes.at
        cells = zip(leverages, weights, residuals, self.k, self.n, strict=True)
        return [leverage * w * ((r - k) / n + 0.5) for leverage, w, r, k, n in cells]

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
        values = [self.x[place][column] for place in self.pattern]
        weighted = list(map(mul, weights, values))
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
    model: Laplace, beta: list[float], near: list[float] | None
) -> tuple[list[float], Vector, list[float]]:
    """A first β and σ, the modes there, and of each SD the variance of its estimate, as far as that
    follows from its own degrees of freedom; of the SD's square where that is near 0.

    β and u by penalised iteratively reweighted least squares at given σ, and σ² by the share of
    its degrees of freedom that the effects use (Schall 1991). `near`: where σ is begun, and left.
    """
    sigma = [max(LEAST_SD, sd) for sd in near] if near else [START_SD] * len(model.groups.sizes)
    u = model.zeros()
    for _ in range(12):
        modes = model.modes(beta, sigma, u, close=0.05)
        diagonals, _ = model.groups.needed(modes.h)
        used = [max(TINY, math.fsum(1 - d for d in diagonal)) for diagonal in diagonals]
        slope = combine(model.x, model.by_pattern(modes.at.residuals))
        step = solve(decompose(_information(model, sigma, modes)), slope)
        beta = [b + s for b, s in zip(beta, step, strict=True)]
        before, u = sigma, modes.u
        if near:
            break
        sigma = [
            max(LEAST_START_SD, sd * math.sqrt(dot(part, part) / edf))
            for sd, part, edf in zip(sigma, u, used, strict=True)
        ]
        if all(abs(a - b) < 0.05 * a for a, b in zip(before, sigma, strict=True)):
            break
    small = [sd <= LEAST_START_SD for sd in sigma]
    return beta + sigma, u, list(map(_spread, small, before, used, model.groups.sizes))


def _spread(small: bool, sd: float, used: float, size: int) -> float:
    if small:   # what its square has at 0
        return 2 * sd**4 / size * max(size / used - 1, 0.1) ** 2
    return sd * sd / max(2 * used * used / size, 0.5)


def _information(model: Laplace, sigma: list[float], modes: Modes) -> Upper:
    """Of β; of rows of one weight, where the modes leave it none."""
    matrix = model.information(sigma, modes)
    if definite(decompose([list(row) for row in matrix])):
        return matrix
    return cross_products(model.x, [1.0] * len(model.x))


def fit(model: Laplace, beta: list[float], near: list[float] | None = None) -> Optimum:
    """Quasi-Newton (BFGS) over β and σ together, then standard errors. `near`: the σ of a model
    that this one is part of; then it is begun there, and only its likelihood is wanted."""
    columns = model.columns
    theta, u, spread = start(model, beta, near)
    point, guess, converged = minimise(model, model.point(theta, u), spread)
    point = _without_idle(model, point, guess)
    free = [i for i, value in enumerate(point.theta) if i < columns or value]
    errors = None
    if converged and not near:
        errors = standard_errors(model, point, free, guess)
    sigma = [abs(sd) for sd in point.theta[columns:]]
    beta, errors = point.theta[:columns], errors and errors[:columns]
    return Optimum(beta, sigma, -point.value, errors, converged)


class Scale:
    """What the search moves: β, and each SD or, where it begins near 0, its square.

    The likelihood is even in an SD and all but linear in a small variance: in the SD a search
    crosses 0 again and again. A variance stays at or above LEAST_SD².
    """

    def __init__(self, theta: list[float], columns: int):
        self.small = {i for i in range(columns, len(theta)) if theta[i] <= LEAST_START_SD}

    def into(self, theta: list[float]) -> list[float]:
        return [v * v if i in self.small else v for i, v in enumerate(theta)]

    def out(self, where: list[float]) -> list[float]:
        return [math.sqrt(max(v, LEAST_SD**2)) if i in self.small else v
                for i, v in enumerate(where)]

    def slopes(self, point: Point) -> list[float]:
        return [g / (2 * v) if i in self.small else g
                for i, (g, v) in enumerate(zip(point.gradient, point.theta, strict=True))]

    def border(self, point: Point) -> set[int]:
        return {i for i in self.small if point.theta[i] < 1.01 * LEAST_SD}


def _guess(model: Laplace, point: Point, spread: list[float]) -> list[list[float]]:
    """An inverse Hessian: the information of β, and of each SD by itself."""
    matrix = _information(model, point.theta[model.columns :], point.modes)
    rows = [row + [0.0] * len(spread) for row in inverse(decompose(matrix))]
    for i, value in enumerate(spread):
        rows.append([0.0] * len(point.theta))
        rows[-1][model.columns + i] = value
    return rows


def minimise(
    model: Laplace, point: Point, spread: list[float]
) -> tuple[Point, list[list[float]], bool]:
    """BFGS with halved steps (Nocedal & Wright 2006, chapter 6), at borders by projection:
    (point, an inverse Hessian by β and σ, whether it is an optimum)."""
    scale = Scale(point.theta, model.columns)
    guess, where = _guess(model, point, spread), scale.into(point.theta)
    slopes, border = scale.slopes(point), scale.border(point)
    for _ in range(MOST_STEPS):
        held = {i for i in border if point.gradient[i] > 0}
        step = [0.0 if i in held else -math.fsum(
            h * g for j, (h, g) in enumerate(zip(row, slopes, strict=True)) if j not in held)
            for i, row in enumerate(guess)]
        promised = -dot(step, slopes)
        converged = promised < 2 * DECREMENT
        if converged:
            break
        fixed = [dot(row, step[: model.columns]) for row in model.x]
        share = min(1.0, LONGEST / max(map(abs, fixed + step[model.columns :])))
        while share > 1e-10:
            there = scale.out([w + share * s for w, s in zip(where, step, strict=True)])
            new = model.point(there, point.modes.u)
            moved = [b - a for a, b in zip(where, scale.into(there), strict=True)]
            # What a border has cut short may promise nothing any more: then no rise is taken.
            if new.value <= point.value + 1e-4 * min(0.0, dot(moved, slopes)):
                break
            share /= 2 if new.value < point.value + promised else 4
        else:
            converged = promised < 1e-6
            break
        change = [0.0 if i in held else b - a
                  for i, (a, b) in enumerate(zip(slopes, scale.slopes(new), strict=True))]
        point, where, slopes = new, scale.into(there), scale.slopes(new)
        before, border = border, scale.border(point)
        guess = (_updated(guess, moved, change) if border == before
                 else _guess(model, point, spread))
    by = [1 / (2 * v) if i in scale.small else 1.0 for i, v in enumerate(point.theta)]
    inverse_hessian = [[a * b * value for b, value in zip(by, row, strict=True)]
                       for a, row in zip(by, guess, strict=True)]  # by SDs, from one by variances
    return point, inverse_hessian, converged


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
    near = [[i] for i in sds if i not in border
            and point.theta[i] ** 2 / (8 * guess[i][i]) <= IDLE]
    for places in [border] * bool(border) + near:
        without = [0.0 if i in places else value for i, value in enumerate(point.theta)]
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
        moved = [value + width * (j == i) for j, value in enumerate(point.theta)]
        there = model.point(moved, point.modes.u).gradient
        columns.append([(there[j] - point.gradient[j]) / width for j in free])
    hessian = [
        [(columns[i][j] + columns[j][i]) / 2 for j in range(i, len(free))] for i in range(len(free))
    ]
    factors = decompose(hessian)
    if not definite(factors):
        return None
    return [math.sqrt(row[i]) for i, row in enumerate(inverse(factors))]
