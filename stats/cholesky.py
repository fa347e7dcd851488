"""Symmetric positive definite systems, small and dense: L·D·Lᵀ by rows, solutions, the inverse.

A matrix is the list of its upper rows, the one of column i starting on the diagonal. Inner loops
are list comprehensions over whole rows: plain sums in a fixed order, the same on every Python.
"""

Upper = list[list[float]]


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
