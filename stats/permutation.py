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
from itertools import chain, combinations
from operator import mul
from random import Random

from .distributions import add_pmfs, convolve, hypergeometric_pmf
from .results import SAME, Permutation, check_test, mean, numbers, on_grid, stream_of

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
    check_test(alternative, resamples)
    if not values:
        return Permutation(None, None, None, False, "no differences")
    statistic = mean(values)
    if not any(values):
        return Permutation(statistic, None, None, False, "every difference is 0")
    whole, slack = on_grid(values)
    sizes = sorted(abs(value) for value in whole if value)
    observed, both = sum(whole), alternative == "two-sided"
    least = {"greater": observed, "less": -observed, "two-sided": abs(observed)}[alternative]
    share = None if exact is False else _exact_share(sizes, least - slack)
    if share is not None:
        return Permutation(statistic, min(1.0, (1 + both) * share), None, True)
    if exact:
        raise ValueError(f"exact: {len(sizes)} differences without a common unit are too many")
    rng, extreme = stream_of(rng), 0
    for _ in range(resamples):
        total = sum(map(mul, sizes, rng.choices((1, -1), k=len(sizes))))
        extreme += (abs(total) if both else total) >= least - slack
    return Permutation(statistic, (extreme + 1) / (resamples + 1), resamples, False)


def _exact_share(sizes: list[int], least: int) -> float | None:
    """Share of the 2^n choices of signs whose sum is at least `least`; None where too many."""
    if sum(sizes) * (len(sizes) + 1) <= MOST_BITS:
        return _convolved_share(sizes, least)
    if 2 ** -(-len(sizes) // 2) > MOST_SUMS:
        return None
    first, second = [0], [0]
    for size in sizes:
        first, second = second, [total + sign * size for sign in (1, -1) for total in first]
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


# --- permutation within blocks ---

MOST_ASSIGNMENTS = 20_000_000
NO_CHANGE = "every assignment gives the same difference: no block holds both groups and two values"

Blocks = list[tuple[list[int], int]]  # values randomised together, and how many of them fall to x


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
    check_test(alternative, resamples)
    if not x or not y:
        return Permutation(None, None, None, False, "a group is empty")
    statistic, kinds = mean(x) - mean(y), len(set(x + y))
    base = min(x + y)  # a common shift changes no difference, and would coarsen the grid
    whole, slack = on_grid([value - base for value in x + y])
    blocks = _blocks(whole, strata or ([0] * len(x), [0] * len(y)), (len(x), len(y)))
    if all(len(set(values)) == 1 or drawn in (0, len(values)) for values, drawn in blocks):
        why = SAME if kinds == 1 else NO_CHANGE
        return Permutation(statistic, None, None, False, why)
    inner = _inner(blocks, sum(whole[: len(x)]), alternative, slack)
    if exact is not False and kinds == 2:
        return Permutation(statistic, _two_valued_p(blocks, inner), None, True)
    if exact is not False:
        assignments = math.prod(math.comb(len(values), drawn) for values, drawn in blocks)
        if assignments <= (MOST_ASSIGNMENTS if exact else resamples):
            return Permutation(statistic, _enumerated_p(blocks, inner, assignments), None, True)
        if exact:
            raise ValueError(f"exact: {assignments} assignments are too many to enumerate")
    rng, extreme = stream_of(rng), 0
    for _ in range(resamples):
        extreme += sum(sum(rng.sample(*block)) for block in blocks) not in inner
    return Permutation(statistic, (extreme + 1) / (resamples + 1), resamples, False)


def _blocks(whole: list[int], strata: tuple, sizes: tuple[int, int]) -> Blocks:
    for labels, size, name in zip(strata, sizes, "xy", strict=True):
        if len(labels) != size:
            raise ValueError(f"strata: {len(labels)} labels beside {size} values of {name}")
    members: dict[Hashable, list[int]] = {}
    for label, value in zip(chain(*strata), whole, strict=True):
        members.setdefault(label, []).append(value)
    of_x = Counter(strata[0])
    return [(values, of_x[label]) for label, values in members.items()]


def _inner(blocks: Blocks, observed: int, alternative: str, slack: int) -> range:
    """The sums of x, none below 0, that are less extreme than the observed one."""
    centre = sum(Fraction(drawn * sum(values), len(values)) for values, drawn in blocks)
    distance = abs(observed - centre)
    low, high = math.floor(centre - distance) + slack, math.ceil(centre + distance) - slack
    return {
        "greater": range(observed - slack),
        "less": range(observed + slack + 1, sum(sum(values) for values, _ in blocks) + 1),
        "two-sided": range(low + 1, high),
    }[alternative]


def _two_valued_p(blocks: Blocks, inner: range) -> float:
    higher = max(max(values) for values, _ in blocks)  # the lower value is 0
    lowest, chances = 0, [1.0]
    for values, drawn in blocks:
        start, pmf = hypergeometric_pmf(values.count(higher), drawn, len(values))
        lowest += start
        chances = convolve(chances, pmf)
    return min(1.0, math.fsum(
        p for k, p in enumerate(chances, lowest) if higher * k not in inner))  # fmt: skip


def _enumerated_p(blocks: Blocks, inner: range, assignments: int) -> float:
    sums = {0: 1}
    for values, drawn in blocks:
        sums = add_pmfs(sums, Counter(map(sum, combinations(values, drawn))))
    return sum(ways for total, ways in sums.items() if total not in inner) / assignments
