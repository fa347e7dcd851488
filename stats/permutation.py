"""Tests by re-randomisation: permuted outcomes, and sign flips of paired differences.

The distribution is computed wherever it has a closed form or few enough values; only what is left
is sampled, and then p is (b + 1)/(m + 1) (Phipson & Smyth 2010). Sums are whole numbers on a
common grid, so a tie is a tie whatever the order of addition.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from operator import add
from random import Random

from .distributions import hypergeometric_pmf
from .results import SAME, Permutation, count_ones, mean, numbers

MOST_BITS = 1 << 25  # of one number that holds a whole distribution
MOST_SUMS = 1 << 17  # of the signs of one half of the units
RESAMPLES = 100_000
SEED = 0
GRID = 1 << 48


def permutation_test(x: Sequence[int], y: Sequence[int]) -> Permutation:
    """Re-randomisation test of mean(x) - mean(y), of outcomes 0 and 1 (Fisher 1935, Pitman 1937).

    Two-sided p: share of assignments at least as far from the null mean as the observed one. The
    ones that fall to x are hypergeometric.
    """
    (k, drawn), (k_y, n_y) = count_ones(x, "x"), count_ones(y, "y")
    if 0 in (drawn, n_y):
        return Permutation(None, None, None, False, "a group is empty")
    ones, n = k + k_y, drawn + n_y
    statistic = k / drawn - k_y / n_y
    if ones in (0, n):
        return Permutation(statistic, None, None, False, SAME)
    low, pmf = hypergeometric_pmf(ones, drawn, n)
    centre = drawn * ones  # n times the null mean of the ones in x
    extreme = (p for i, p in enumerate(pmf, low) if abs(i * n - centre) >= abs(k * n - centre))
    return Permutation(statistic, min(1.0, math.fsum(extreme)), None, True)


# --- sign flips ---

def sign_flip_test(differences: Sequence[float]) -> Permutation:
    """Is the mean of paired differences 0? Exact given that they are symmetric around 0 if so.

    Two-sided p over all 2^n signs. Values of a common unit (0, ±1/3, …) are convolved, at any n;
    others are split in two halves and pairs of sums counted by sorting, up to n = 34; beyond that
    Monte Carlo. Fisher (1935).
    """
    values = numbers(differences, "differences")
    if not values:
        return Permutation(None, None, None, False, "no differences")
    statistic = mean(values)
    if not any(values):
        return Permutation(statistic, None, None, False, "every difference is 0")
    whole, slack = on_grid(values)
    least = abs(sum(whole)) - slack
    sizes = sorted(abs(value) for value in whole if value)
    if sum(sizes) * (len(sizes) + 1) <= MOST_BITS:
        share = _convolved_share(sizes, least)
    elif 2 ** -(-len(sizes) // 2) <= MOST_SUMS:
        share = _counted_share(sizes, least)
    else:
        return Permutation(statistic, _flipped_p(sizes, least), RESAMPLES, False)
    return Permutation(statistic, min(1.0, 2 * share), None, True)


def _convolved_share(sizes: list[int], least: int) -> float:
    """Share of the 2^n choices of signs whose sum is at least `least`.

    By one whole number: field s of it counts the choices whose positive values add up to s. A field
    has n + 1 bits, so 2^n choices fit without a carry, and the fields of a tail add up to the
    tail's remainder by 2^(n + 1) − 1, as the digits of a number by 9.
    """
    n, counts = len(sizes), 1
    for size in sizes:
        counts += counts << size * (n + 1)
    # The sum of all signs is twice the positive ones less the total.
    first = max(0, -(-(least + sum(sizes)) // 2))
    return (counts >> first * (n + 1)) % ((1 << n + 1) - 1) / 2**n


def _counted_share(sizes: list[int], least: int) -> float:
    """The same by the sums of two halves."""
    first, second = map(_signed_sums, (sizes[::2], sizes[1::2]))
    second.sort()
    reached = sum(len(second) - bisect_left(second, least - total) for total in first)
    return reached / 2 ** len(sizes)


def _signed_sums(sizes: list[int]) -> list[int]:
    sums = [0]
    for size in sizes:
        sums = [total + sign * size for sign in (1, -1) for total in sums]
    return sums


def _flipped_p(sizes: list[int], least: int) -> float:
    """Monte Carlo, unit by unit: a random byte and a table add the signs of eight."""
    rng, totals = Random(SEED), [0] * RESAMPLES
    for start in range(0, len(sizes), 8):
        sums = _signed_sums(sizes[start : start + 8])
        table = sums * (256 // len(sums))
        totals = list(map(add, totals, map(table.__getitem__, rng.randbytes(RESAMPLES))))
    return (sum(abs(total) >= least for total in totals) + 1) / (RESAMPLES + 1)


def on_grid(values: Sequence[float]) -> tuple[list[int], int]:
    """Whole numbers proportional to `values`, and how far a sum of them may be off by rounding.

    Exact on a lattice; otherwise a grid of 2^-48 of the largest value, so that sums that tie
    on paper still tie, in whatever order they are added.
    """
    if exact := lattice(values):
        return exact, 0
    largest = max(map(abs, values))
    return [round(value / largest * GRID) for value in values], len(values)


def lattice(values: Sequence[float], largest: int = 10_000) -> list[int] | None:
    """Values in the unit that they are whole numbers of, if there is one: 1/3, 2/3 → [1, 2].

    Rates over few trials and averages over few models have such a unit; on it ties are ties and
    distributions stay small enough to be computed.
    """
    slack = 1e-9 * min(1.0, max(map(abs, values)))

    def whole(value: float) -> bool:
        return abs(value - round(value)) <= slack

    scale = 1
    for value in sorted(set(values)):
        if not whole(value * scale):
            factor = next((d for d in range(2, 1001) if whole(value * scale * d)), largest + 1)
            scale *= factor
            if scale > largest:
                return None
    return [round(value * scale) for value in values]
