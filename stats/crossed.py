"""The random part of a mixed model: crossed or nested groups, and the system of their modes.

With weights w the matrix is H = I + Λ·Zᵀ·W·Z·Λ. The largest grouping factor's block of it is
diagonal: it is eliminated, and what is left (the Schur complement of the other factors' levels) is
small and dense. Only those elements of H⁻¹ are formed that some row of the data needs.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise, product
from operator import add, itemgetter, mul, sub
from typing import NamedTuple

Upper = list[list[float]]  # upper rows, the one of column i starting on the diagonal
Vector = list[list[float]]  # one list a factor, one number a level


def totals(places: Iterable[int], values: Iterable[float], size: int) -> list[float]:
    """The sum of the values at each place, most places having few."""
    found = [0.0] * size
    for place, value in zip(places, values, strict=True):
        found[place] += value
    return found


def collector(places: Sequence[int], size: int) -> Callable[[Sequence[float]], list[float]]:
    """The same where places have many values: those of a place brought together, then added."""
    pick, runs = picker(sorted(range(len(places)), key=places.__getitem__)), spans(places, size)

    def collect(values: Sequence[float]) -> list[float]:
        values = pick(values)
        return [math.fsum(values[run]) for run in runs]

    return collect


def spans(places: Iterable[int], size: int) -> list[slice]:
    """Where the values of each place stand once they are sorted by place."""
    times = Counter(places)
    ends = accumulate((times[place] for place in range(size)), initial=0)
    return [slice(*pair) for pair in pairwise(ends)]


def picker(places: Sequence[int]) -> Callable[[Sequence], tuple]:
    """All these places of a list at once."""
    if len(places) == 1:
        return lambda values: (values[places[0]],)
    return itemgetter(*places) if places else lambda values: ()


class Factored(NamedTuple):
    """H for one set of weights: the eliminated diagonal, its rows beside the rest, the rest."""

    sigma: list[float]
    diagonal: list[float]
    beside: list[float]  # by slot
    rest: Upper
    log_determinant: float


class Needed(NamedTuple):
    """Of H⁻¹: its diagonal by factor, and aᵀ·H⁻¹·a for each row a of Z·Λ."""

    diagonal: Vector
    leverages: list[float]


class Groups:
    """Where each row of the data stands in each factor; the first factor is eliminated."""

    def __init__(self, levels: list[list[int]]):
        self.levels = levels
        self.sizes = [max(places) + 1 for places in levels]
        self.pick = [picker(places) for places in levels]
        self.sums = [collector(*each) for each in zip(levels, self.sizes, strict=True)]
        *ends, self.width = accumulate(self.sizes[1:], initial=0)
        self.starts = [0, *ends]  # of each factor among the columns of the rest
        self.factor_of = [f for f in range(1, len(levels)) for _ in range(self.sizes[f])]
        self._index_neighbours()
        self._index_pairs()

    def _index_neighbours(self) -> None:
        """The columns of the rest that each eliminated level meets, in slots that follow it."""
        columns = [
            [self.starts[f] + place for place in places]
            for f, places in enumerate(self.levels)
            if f
        ]
        met = sorted({cell for c in columns for cell in zip(self.levels[0], c, strict=True)})
        if 2 * len(met) > self.sizes[0] * self.width:  # whole rows are added faster
            met = list(product(range(self.sizes[0]), range(self.width)))
        slot = {cell: i for i, cell in enumerate(met)}
        self.slots = [[slot[cell] for cell in zip(self.levels[0], c, strict=True)] for c in columns]
        self.pick_slots = [picker(s) for s in self.slots]
        levels, self.slot_columns = map(list, zip(*met, strict=True)) if met else ([], [])
        self.pick_level, self.pick_column = picker(levels), picker(self.slot_columns)
        self.by_column = collector(self.slot_columns, self.width)
        self.spans = spans(levels, self.sizes[0])
        self.neighbours = [tuple(self.slot_columns[span]) for span in self.spans]
        self.pick_neighbours = list(map(picker, self.neighbours))

    def _index_pairs(self) -> None:
        """For each two factors of the rest: the pairs of their columns that occur, by row."""
        self.pairs = []
        for f in range(1, len(self.levels)):
            for g in range(f + 1, len(self.levels)):
                both = list(zip(self.levels[f], self.levels[g], strict=True))
                met = sorted(set(both))
                place = {cell: i for i, cell in enumerate(met)}
                cells = [(self.starts[f] + a, self.starts[g] + b) for a, b in met]
                at = [place[cell] for cell in both]
                self.pairs.append((f, g, cells, at, picker(at)))

    def spread(self, vector: Vector) -> list[float]:
        """The sum over factors of each row's entry: Z times a vector."""
        total = self.pick[0](vector[0])
        for pick, values in zip(self.pick[1:], vector[1:], strict=True):
            total = map(add, total, pick(values))
        return list(total)

    def collect(self, values: list[float]) -> Vector:
        """Zᵀ times one number a row."""
        return [add_up(values) for add_up in self.sums]

    def factored(self, sigma: list[float], weights: list[float]) -> Factored:
        scales = [sigma[f] for f in self.factor_of]
        cells = [0.0] * len(self.slot_columns)
        for slots in self.slots:
            for place, weight in zip(slots, weights, strict=True):
                cells[place] += weight
        diagonal = [1 + sigma[0] ** 2 * total for total in self.sums[0](weights)]
        rest = [[0.0] * (self.width - i) for i in range(self.width)]
        own = self.by_column(cells)
        for row, scale, total in zip(rest, scales, own, strict=True):
            row[0] = 1 + scale * scale * total
        for f, g, met, places, _ in self.pairs:
            scale = sigma[f] * sigma[g]
            for (i, j), total in zip(met, totals(places, weights, len(met)), strict=True):
                rest[i][j - i] += scale * total
        beside = list(map(mul, self.pick_column([sigma[0] * scale for scale in scales]), cells))
        for columns, span, d in zip(self.neighbours, self.spans, diagonal, strict=True):
            _subtract(rest, columns, beside[span], d)
        decompose(rest)
        log_determinant = math.fsum(map(math.log, diagonal + [row[0] for row in rest]))
        return Factored(sigma, diagonal, beside, rest, log_determinant)

    def solve(self, h: Factored, right: Vector) -> Vector:
        """H⁻¹ times a vector."""
        first = [r / d for r, d in zip(right[0], h.diagonal, strict=True)]
        rest = [value for factor in right[1:] for value in factor]
        pulled = self.by_column(list(map(mul, h.beside, self.pick_level(first))))
        rest = solve(h.rest, list(map(sub, rest, pulled)))
        back = list(map(mul, h.beside, self.pick_column(rest)))
        shifts = (math.fsum(back[span]) for span in self.spans)
        first = [v - s / d for v, s, d in zip(first, shifts, h.diagonal, strict=True)]
        sizes = zip(self.starts[1:], self.sizes[1:], strict=True)
        return [first, *(rest[start : start + size] for start, size in sizes)]

    def needed(self, h: Factored) -> Needed:
        """What the gradient needs of H⁻¹."""
        dense = inverse(h.rest)
        scales = [h.sigma[f] for f in self.factor_of]
        corner, crossing = [], []
        for i, (columns, pick, d) in enumerate(
            zip(self.neighbours, self.pick_neighbours, h.diagonal, strict=True)
        ):
            row, sums = h.beside[self.spans[i]], [0.0] * len(columns)
            for column, b in zip(columns, row, strict=True):
                sums = [s + b * z for s, z in zip(sums, pick(dense[column]), strict=True)]
            corner.append((1 + dot(row, sums) / d) / d)
            crossing += [-2 * s / d for s in sums]
        crossing = list(map(mul, self.pick_column([h.sigma[0] * s for s in scales]), crossing))
        flat = [row[i] for i, row in enumerate(dense)]
        sizes = zip(self.starts[1:], self.sizes[1:], strict=True)
        diagonal = [corner, *(flat[start : start + size] for start, size in sizes)]
        squares = [[s * s * x for x in d] for s, d in zip(h.sigma, diagonal, strict=True)]
        leverages = self.spread(squares)
        for pick in self.pick_slots:
            leverages = list(map(add, leverages, pick(crossing)))
        for f, g, cells, _, pick in self.pairs:
            twice = 2 * h.sigma[f] * h.sigma[g]
            leverages = list(map(add, leverages, pick([twice * dense[i][j] for i, j in cells])))
        return Needed(diagonal, leverages)


def _subtract(rest: Upper, columns: tuple[int, ...], row: list[float], d: float) -> None:
    """rest -= row·rowᵀ / d, `row` standing in `columns`."""
    if len(columns) == len(rest):
        for i, b in enumerate(row):
            share = b / d
            rest[i] = [x - share * y for x, y in zip(rest[i], row[i:], strict=True)]
        return
    for a, i in enumerate(columns):
        share, target = row[a] / d, rest[i]
        for j, b in zip(columns[a:], row[a:], strict=True):
            target[j - i] -= share * b


def decompose(rows: Upper) -> Upper:
    """D on the diagonal and D·Lᵀ above it, in place of `rows` (Golub & Van Loan 2013, 4.1).

    Stops at a diagonal element that is not positive, and leaves it: `definite` tells.
    """
    size = len(rows)
    for j in range(size):
        pivot = rows[j]
        d = pivot[0]
        if not d > 0:
            break
        for i in range(j + 1, size):
            factor = pivot[i - j] / d
            if factor:
                rows[i] = [x - factor * y for x, y in zip(rows[i], pivot[i - j :], strict=True)]
    return rows


def definite(factors: Upper) -> bool:
    return all(row[0] > 0 for row in factors)


def dependent(rows: Upper, slack: float = 1e-9) -> int | None:
    """The first column that is a combination of those before it, to a relative `slack`."""
    least = [row[0] * slack for row in rows]
    rows = [list(row) for row in rows]
    for j, pivot in enumerate(rows):
        if not pivot[0] > least[j]:
            return j
        for i in range(j + 1, len(rows)):
            factor = pivot[i - j] / pivot[0]
            rows[i] = [x - factor * y for x, y in zip(rows[i], pivot[i - j :], strict=True)]
    return None


def solve(factors: Upper, right: list[float]) -> list[float]:
    """x with A·x = right, `factors` being `decompose(A)`."""
    size, x = len(factors), list(right)
    for i, row in enumerate(factors):
        share = x[i] / row[0]
        if share:
            x[i + 1 :] = [v - share * y for v, y in zip(x[i + 1 :], row[1:], strict=True)]
        x[i] = share
    for i in range(size - 1, -1, -1):
        row, rest = factors[i], 0.0
        for y, v in zip(row[1:], x[i + 1 :], strict=True):
            rest += y * v
        x[i] -= rest / row[0]
    return x


def inverse(factors: Upper) -> list[list[float]]:
    """The whole inverse, from the last row up (Takahashi, Fagan & Chen 1973)."""
    found: list[list[float]] = []  # rows from the last one up, their columns from the last one down
    for row in reversed(factors):
        d = row[0]
        new = [0.0] * len(found)
        weights = [y / d for y in row[:0:-1]]
        for weight, below in zip(weights, found, strict=True):
            if weight:
                new = [x - weight * z for x, z in zip(new, below, strict=True)]
        corner = 1 / d
        for weight, z in zip(weights, new, strict=True):
            corner -= weight * z
        for below, z in zip(found, new, strict=True):
            below.append(z)
        found.append([*new, corner])
    return [row[::-1] for row in reversed(found)]


def dot(a, b) -> float:
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total
