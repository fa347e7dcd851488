"""Tests by re-randomisation: permutation within blocks, and sign flips of paired differences.

The distribution is computed wherever it has a closed form or few enough values; only what is left
is sampled, and then p is (b + 1)/(m + 1) (Phipson & Smyth 2010). Sums are whole numbers on a
common grid, so a tie is a tie whatever the order of addition.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import combinations
from operator import add
from random import Random
from typing import NamedTuple

from .distributions import convolve, hypergeometric_pmf
from .results import (
    ALTERNATIVES,
    Permutation,
    check_choice,
    check_resamples,
    mean,
    numbers,
    on_grid,
    stream_of,
)

MOST_BITS = 1 << 25  # of one number that holds a whole distribution
MOST_SUMS = 1 << 17  # of the signs of one half of the units


def sign_flip_test(
    differences: Sequence[float],
    alternative: str = "two-sided",
    exact: bool | None = None,
    resamples: int = 100_000,
    rng: Random | int = 0,
) -> Permutation:
    """Is the mean of paired differences 0? Exact given that they are symmetric around 0 if so.

    All 2^n signs. Values of a common unit (0, ±1/3, …) are convolved, at any n; others are split in
    two halves and pairs of sums counted by sorting, up to n = 34; beyond that Monte Carlo. Fisher
    (1935).
    """
    values = numbers(differences, "differences")
    check_choice(alternative, ALTERNATIVES, "alternative")
    check_resamples(resamples)
    if not values:
        return Permutation(None, None, None, False, "no differences")
    statistic = mean(values)
    if not any(values):
        return Permutation(statistic, None, None, False, "every difference is 0")
    whole, slack = on_grid(values)
    observed = sum(whole)
    least = {"greater": observed, "less": -observed, "two-sided": abs(observed)}[alternative]
    sizes = sorted(abs(value) for value in whole if value)
    sides = 2 if alternative == "two-sided" else 1
    share = None if exact is False else _exact_share(sizes, least - slack)
    if share is not None:
        return Permutation(statistic, min(1.0, sides * share), None, True)
    if exact:
        raise ValueError(f"exact: {len(sizes)} differences without a common unit are too many")
    p = _flipped_p(sizes, least - slack, sides == 2, resamples, stream_of(rng))
    return Permutation(statistic, p, resamples, False)


def _exact_share(sizes: list[int], least: int) -> float | None:
    """Share of the 2^n choices of signs whose sum is at least `least`; None where too many."""
    if sum(sizes) * (len(sizes) + 1) <= MOST_BITS:
        return _convolved_share(sizes, least)
    if 2 ** -(-len(sizes) // 2) > MOST_SUMS:
        return None
    first, second = map(_signed_sums, (sizes[::2], sizes[1::2]))
    second.sort()
    reached = sum(len(second) - bisect_left(second, least - total) for total in first)
    return reached / 2 ** len(sizes)


def _convolved_share(sizes: list[int], least: int) -> float:
    """By one whole number: field s of it counts the choices whose positive values add up to s.

    A field has n + 1 bits, so 2^n choices fit without a carry, and the fields of a tail add up to
    the tail's remainder by 2^(n + 1) − 1, as the digits of a number by 9.
    """
    n, counts = len(sizes), 1
    for size in sizes:
        counts += counts << size * (n + 1)
    # The sum of all signs is twice the positive ones less the total.
    first = max(0, -(-(least + sum(sizes)) // 2))
    return (counts >> first * (n + 1)) % ((1 << n + 1) - 1) / 2**n


def _signed_sums(sizes: list[int]) -> list[int]:
    sums = [0]
    for size in sizes:
        sums = [total + sign * size for sign in (1, -1) for total in sums]
    return sums


def _flipped_p(sizes: list[int], least: int, both: bool, resamples: int, rng: Random) -> float:
    """Monte Carlo, unit by unit: a random byte and a table add the signs of eight."""
    totals = [0] * resamples
    for start in range(0, len(sizes), 8):
        sums = _signed_sums(sizes[start : start + 8])
        table = sums * (256 // len(sums))
        totals = list(map(add, totals, map(table.__getitem__, rng.randbytes(resamples))))
    extreme = sum(total >= least or (both and -total >= least) for total in totals)
    return (extreme + 1) / (resamples + 1)


# --- permutation within blocks ---

MOST_ASSIGNMENTS = 20_000_000
NO_CHANGE = "every assignment gives the same difference: no block holds both groups and two values"


class Block(NamedTuple):
    """Values that were randomised together, how many of them fell to x, and the sum of those."""

    values: list[int]
    drawn: int
    observed: int


class Region(NamedTuple):
    """Sums that count as extreme: at most `low` or at least `high`."""

    low: float
    high: float

    def holds(self, total: float) -> bool:
        return total <= self.low or total >= self.high


def permutation_test(
    x: Sequence[float],
    y: Sequence[float],
    alternative: str = "two-sided",
    strata: tuple[Sequence[Hashable], Sequence[Hashable]] | None = None,
    exact: bool | None = None,
    resamples: int = 100_000,
    rng: Random | int = 0,
) -> Permutation:
    """Re-randomisation test of mean(x) - mean(y) (Fisher 1935, Pitman 1937).

    Two-sided p: share of assignments at least as far from the null mean as the observed one.
    `strata`: block labels beside x and beside y; assignments move only within blocks. Two-valued
    data of any size: exact, by convolving hypergeometric distributions over the blocks. Otherwise
    every assignment where there are at most `resamples`, else Monte Carlo. `exact` True demands
    the former (ValueError beyond 20 million assignments), False the latter.
    """
    x, y = numbers(x, "x"), numbers(y, "y")
    check_choice(alternative, ALTERNATIVES, "alternative")
    check_resamples(resamples)
    if not x or not y:
        return Permutation(None, None, None, False, "a group is empty")
    statistic, kinds = mean(x) - mean(y), len(set(x + y))
    blocks, slack = _blocks(x, y, strata)
    if all(len(set(b.values)) == 1 or b.drawn in (0, len(b.values)) for b in blocks):
        why = "every value is the same" if kinds == 1 else NO_CHANGE
        return Permutation(statistic, None, None, False, why)
    region = _region(blocks, alternative, slack)
    assignments = 0
    if kinds > 2:
        assignments = math.prod(math.comb(len(b.values), b.drawn) for b in blocks)
    if exact is None:
        exact = assignments <= resamples
    if not exact:
        p = _shuffled_p(blocks, region, resamples, stream_of(rng))
        return Permutation(statistic, p, resamples, False)
    if kinds == 2:
        return Permutation(statistic, _two_valued_p(blocks, region), None, True)
    if assignments > MOST_ASSIGNMENTS:
        raise ValueError(f"exact: {assignments} assignments are too many to enumerate")
    return Permutation(statistic, _enumerated_p(blocks, region, assignments), None, True)


def _blocks(x: list[float], y: list[float], strata: tuple | None) -> tuple[list[Block], int]:
    base = min(x + y)  # a common shift changes no difference, and would coarsen the grid
    whole, slack = on_grid([value - base for value in x + y])
    of_x, of_y = strata if strata is not None else ([0] * len(x), [0] * len(y))
    for labels, group, name in ((of_x, x, "x"), (of_y, y, "y")):
        if len(labels) != len(group):
            raise ValueError(f"strata: {len(labels)} labels beside {len(group)} values of {name}")
    members: dict[Hashable, tuple[list[int], list[int]]] = {}
    for i, (label, value) in enumerate(zip([*of_x, *of_y], whole, strict=True)):
        members.setdefault(label, ([], []))[i >= len(x)].append(value)
    return [Block(a + b, len(a), sum(a)) for a, b in members.values()], slack


def _region(blocks: list[Block], alternative: str, slack: int) -> Region:
    observed = sum(block.observed for block in blocks)
    centre = sum(Fraction(b.drawn * sum(b.values), len(b.values)) for b in blocks)
    distance = abs(observed - centre)
    return {
        "greater": Region(-math.inf, observed - slack),
        "less": Region(observed + slack, math.inf),
        "two-sided": Region(
            math.floor(centre - distance) + slack, math.ceil(centre + distance) - slack
        ),
    }[alternative]


def _two_valued_p(blocks: list[Block], region: Region) -> float:
    high = max(max(block.values) for block in blocks)  # the lower value is 0
    lowest, chances = 0, [1.0]
    for values, drawn, _ in blocks:
        start, pmf = hypergeometric_pmf(values.count(high), drawn, len(values))
        lowest += start
        chances = convolve(chances, pmf)
    extreme = (p for k, p in enumerate(chances, lowest) if region.holds(high * k))
    return min(1.0, math.fsum(extreme))


def _enumerated_p(blocks: list[Block], region: Region, assignments: int) -> float:
    sums = Counter({0: 1})
    for block in blocks:
        drawn = Counter(map(sum, combinations(block.values, block.drawn)))
        merged: Counter[int] = Counter()
        for total, ways in sums.items():
            for more, times in drawn.items():
                merged[total + more] += ways * times
        sums = merged
    return sum(ways for total, ways in sums.items() if region.holds(total)) / assignments


def _shuffled_p(blocks: list[Block], region: Region, resamples: int, rng: Random) -> float:
    extreme = 0
    for _ in range(resamples):
        total = sum(sum(rng.sample(block.values, block.drawn)) for block in blocks)
        extreme += region.holds(total)
    return (extreme + 1) / (resamples + 1)
