"""Tests by re-randomisation: permutation within blocks.

The distribution is computed wherever it has a closed form or few enough values; only what is left
is sampled, and then p is (b + 1)/(m + 1) (Phipson & Smyth 2010). Sums are whole numbers on a
common grid, so a tie is a tie whatever the order of addition.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from itertools import combinations
from random import Random
from typing import NamedTuple

from .distributions import hypergeometric_pmf
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
    statistic = mean(x) - mean(y)
    blocks, slack = _blocks(x, y, strata)
    if all(len(set(block.values)) == 1 or not _free(block) for block in blocks):
        same = len(set(x + y)) == 1
        return Permutation(
            statistic, None, None, False, "every value is the same" if same else NO_CHANGE
        )
    region = _region(blocks, alternative, slack)
    two_valued = len(set(x + y)) == 2
    assignments = 0 if two_valued else math.prod(_assignments(block) for block in blocks)
    if exact is None:
        exact = assignments <= resamples
    if not exact:
        p = _shuffled_p(blocks, region, resamples, stream_of(rng))
        return Permutation(statistic, p, resamples, False)
    if two_valued:
        return Permutation(statistic, _two_valued_p(blocks, region), None, True)
    if assignments > MOST_ASSIGNMENTS:
        raise ValueError(f"exact: {assignments} assignments are too many to enumerate")
    return Permutation(statistic, _enumerated_p(blocks, region, assignments), None, True)


def _assignments(block: Block) -> int:
    return math.comb(len(block.values), block.drawn)


def _free(block: Block) -> bool:
    return 0 < block.drawn < len(block.values)


def _blocks(x: list[float], y: list[float], strata: tuple | None) -> tuple[list[Block], int]:
    base = min(x + y)  # a common shift changes no difference, and would coarsen the grid
    whole, slack = on_grid([value - base for value in x + y])
    of_x, of_y = strata if strata is not None else ([0] * len(x), [0] * len(y))
    for labels, group, name in ((of_x, x, "x"), (of_y, y, "y")):
        if len(labels) != len(group):
            raise ValueError(f"strata: {len(labels)} labels beside {len(group)} values of {name}")
    members: dict[Hashable, tuple[list[int], list[int]]] = {}
    for label, value in zip(of_x, whole[: len(x)], strict=True):
        members.setdefault(label, ([], []))[0].append(value)
    for label, value in zip(of_y, whole[len(x) :], strict=True):
        members.setdefault(label, ([], []))[1].append(value)
    return [Block(a + b, len(a), sum(a)) for a, b in members.values()], slack


def _region(blocks: list[Block], alternative: str, slack: int) -> Region:
    """Extreme sums of x, the null mean in the middle: a rational number, so in common fractions."""
    observed = sum(block.observed for block in blocks)
    scale = math.lcm(*(len(block.values) for block in blocks))
    centre = sum(b.drawn * sum(b.values) * (scale // len(b.values)) for b in blocks)
    distance = abs(observed * scale - centre)
    return {
        "greater": Region(-math.inf, observed - slack),
        "less": Region(observed + slack, math.inf),
        "two-sided": Region(
            (centre - distance) // scale + slack, -((-centre - distance) // scale) - slack
        ),
    }[alternative]


def _two_valued_p(blocks: list[Block], region: Region) -> float:
    low, high = min(min(b.values) for b in blocks), max(max(b.values) for b in blocks)
    kinds = Counter((b.values.count(high), b.drawn, len(b.values)) for b in blocks)
    lowest, chances = 0, [1.0]
    for (marked, drawn, total), times in sorted(kinds.items()):
        start, pmf = hypergeometric_pmf(marked, drawn, total)
        lowest += start * times
        chances = convolve(chances, self_convolve(pmf, times))
    base = low * sum(block.drawn for block in blocks)
    sums = (base + (high - low) * (lowest + i) for i in range(len(chances)))
    return min(1.0, math.fsum(p for p, s in zip(chances, sums, strict=True) if region.holds(s)))


def convolve(a: list[float], b: list[float]) -> list[float]:
    """Probabilities of the sum of two independent counts."""
    short, long = sorted((a, b), key=len)
    width = len(long)
    out = [0.0] * (len(a) + len(b) - 1)
    for i, weight in enumerate(short):
        out[i : i + width] = [o + weight * p for o, p in zip(out[i : i + width], long, strict=True)]
    return out


def self_convolve(pmf: list[float], times: int) -> list[float]:
    """Probabilities of the sum of `times` independent counts of one distribution."""
    if times == 1:
        return pmf
    half = self_convolve(pmf, times // 2)
    whole = convolve(half, half)
    return convolve(whole, pmf) if times % 2 else whole


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
    fixed = sum(block.observed for block in blocks if not _free(block))
    drawers = [_drawer(block, rng.random) for block in blocks if _free(block)]
    low, high = region
    extreme = 0
    for _ in range(resamples):
        total = fixed
        for draw in drawers:
            total += draw()
        extreme += total <= low or total >= high
    return (extreme + 1) / (resamples + 1)


def _drawer(block: Block, random: Callable[[], float]) -> Callable[[], int]:
    """Sum of a random subset: the first steps of a Fisher-Yates shuffle of the smaller side."""
    pool, size = list(block.values), len(block.values)
    small = min(block.drawn, size - block.drawn)
    whole = sum(pool)
    places = [(i, size - i) for i in range(small)]

    def draw() -> int:
        total = 0
        for i, left in places:
            j = i + int(random() * left)
            value = pool[j]
            pool[j] = pool[i]
            pool[i] = value
            total += value
        return total

    return draw if small == block.drawn else lambda: whole - draw()
