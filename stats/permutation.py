"""Tests by re-randomisation: permutation within blocks, and sign flips of paired differences with
the interval that is their inversion.

The distribution is computed wherever it has a closed form or few enough values; only what is left
is sampled, and then p is (b + 1)/(m + 1) (Phipson & Smyth 2010). Sums are whole numbers on a
common grid, so a tie is a tie whatever the order of addition.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, combinations, count
from operator import add
from random import Random
from typing import NamedTuple

from .distributions import convolve, hypergeometric_pmf, normal_quantile, self_convolve
from .results import (
    ALTERNATIVES,
    GRID,
    Estimate,
    Permutation,
    check_choice,
    check_level,
    check_resamples,
    constant,
    lattice,
    mean,
    numbers,
    on_grid,
    stream_of,
)

MOST_SUMS = 1 << 17
MOST_BITS = 1 << 25  # of one number that holds a whole distribution
MOST_SUBSETS = 1 << 12  # of one half of the units
MOST_FIELD_BITS = 1 << 22  # of all numbers that count subsets by size and sum
AIMS = (1.002, 0.998, 1.002, None)  # times the goal: from both sides, then the middle


def sign_flip_test(
    differences: Sequence[float],
    alternative: str = "two-sided",
    exact: bool | None = None,
    resamples: int = 100_000,
    rng: Random | int = 0,
) -> Permutation:
    """Is the mean of paired differences 0? Exact given that they are symmetric around 0 if so.

    All 2^n signs. Values of a common unit (0, ±1/3, …) are convolved, at any n; others are split in
    two halves, equal sums of a half merged and pairs of sums counted by sorting, up to about n =
    34; beyond that Monte Carlo. Fisher (1935).
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
    if len(sizes) > 2 * MOST_SUMS.bit_length() and not _repeats(sizes):
        return None
    halves = _signed_sums(sizes[::2]), _signed_sums(sizes[1::2])
    return _share_at_least(halves, least, len(sizes)) if all(halves) else None


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


def _repeats(sizes: list[int]) -> bool:
    """Whether so few sizes are different that a half has few sums, whatever they are."""
    return math.prod(times + 1 for times in Counter(sizes[::2]).values()) <= MOST_SUMS


def _signed_sums(sizes: Iterable[int]) -> Counter | None:
    return _sums([(size, -size) for size in sizes], MOST_SUMS)


def _sums(choices: Iterable[tuple[int, int]], most: int) -> Counter | None:
    """How many of the 2^n choices of one of each two give each sum; None where sums are too many.
    """
    sums = Counter({0: 1})
    for first, second in choices:
        if len(sums) > most // 2:
            return None
        grown: Counter[int] = Counter()
        for total, ways in sums.items():
            grown[total + first] += ways
            grown[total + second] += ways
        sums = grown
    return sums


def _share_at_least(halves: tuple[Counter, Counter], least: int, n: int) -> float:
    first, second = halves
    order = sorted(second)
    # ways[i]: choices of signs of the second half whose sum is among the i largest
    ways = [0, *accumulate(second[total] for total in reversed(order))]
    count = 0
    for total, times in first.items():
        count += times * ways[len(order) - bisect_left(order, least - total)]
    return count / 2**n


def _flipped_p(sizes: list[int], least: int, both: bool, resamples: int, rng: Random) -> float:
    totals = _random_sums([(size, -size) for size in sizes], resamples, rng)
    extreme = sum(total >= least or (both and -total >= least) for total in totals)
    return (extreme + 1) / (resamples + 1)


def _random_sums(choices: list[tuple[int, int]], resamples: int, rng: Random) -> list[int]:
    """Sums of one of each two at random, column by column: a byte and a table add eight of them."""
    totals = [0] * resamples
    for start in range(0, len(choices), 8):
        sums = [0]
        for either in choices[start : start + 8]:
            sums = [total + one for one in either for total in sums]
        table = sums * (256 // len(sums))
        totals = list(map(add, totals, map(table.__getitem__, rng.randbytes(resamples))))
    return totals


def sign_flip_interval(
    differences: Sequence[float],
    level: float = 0.95,
    resamples: int = 20_000,
    rng: Random | int = 0,
) -> Estimate:
    """The means θ that the two-sided sign-flip test of d - θ does not reject, one d a unit.

    Flipping the units of a subset leaves the sum of d - θ as large as it was exactly if the mean
    of the subset is at most θ. So the limits are order statistics of the 2^n - 1 subset means
    (Hartigan 1969), and exclude 0 exactly where the test's p is at most 1 - level. Exact where the
    units share a unit of measurement, at any n, and otherwise up to 24 units (halves of 4,096
    subsets); beyond that the means of `resamples` random subsets. No limits,
    and `why`, where no mean can be excluded (fewer than six units at 95%) or none can be told
    apart.
    """
    values = numbers(differences, "differences")
    check_level(level)
    check_resamples(resamples)
    if not values:
        return Estimate(None, None, None, "no differences")
    if too_few_to_flip(len(values), level):
        why = f"sign flips of {len(values)} units exclude nothing at level {level:g}"
        return Estimate(mean(values), None, None, why)
    stream = stream_of(rng)
    low, high = (flip_limit(values, side, level, resamples, stream) for side in (-1, 1))
    if low == high:
        return Estimate(mean(values), None, None, "every difference is the same")
    return Estimate(mean(values), low, high)


def too_few_to_flip(units: int, level: float) -> bool:
    """Whether no choice of signs is rare enough: fewer than six units at 95%."""
    return not _rank(level, 2 ** min(units, 64))


def flip_limit(
    values: Sequence[float],
    side: int,
    level: float,
    resamples: int = 20_000,
    rng: Random | int = 0,
) -> float:
    """The lower (`side` -1) or upper (1) limit, unchecked: infinite where nothing is excluded, the
    value itself where all are the same."""
    if too_few_to_flip(len(values), level):
        return side * math.inf
    if constant(values):
        return values[0]
    (whole, slack), grid = on_grid(values), lattice(values)
    total, size = _ranked_mean([-side * w for w in whole], level, resamples, stream_of(rng))
    scale = grid[1] if grid else GRID / max(map(abs, values))
    return -side * total / size / scale if abs(total) > slack else 0.0


class Subset(NamedTuple):
    """Subsets of one half of the units that are alike in sum and size, counted."""

    total: int
    size: int
    ways: int


def _rank(level: float, choices: int) -> int:
    """Which of the subset means is the limit: the largest share of choices within the tail."""
    return math.floor((1 - level) / 2 * choices * (1 + 1e-12))


def _ranked_mean(whole: list[int], level: float, resamples: int, rng: Random) -> tuple[int, int]:
    """Sum and size of the subset whose mean is the lower limit."""
    n, base = len(whole), min(whole)
    steps = [value - base for value in whole]
    if sum(steps) * (n + 1) * n <= MOST_FIELD_BITS:
        size, total = _counted(steps, _rank(level, 2**n))
        return total + size * base, size
    one = 1 << sum(steps).bit_length()
    choices = [(0, one + step) for step in steps]  # size and sum as one number
    halves = [_sums(half, MOST_SUBSETS) for half in (choices[::2], choices[1::2])]
    if all(halves):
        first, second = (
            [Subset(key % one, key // one, ways) for key, ways in half.items()] for half in halves
        )
        size, total = _selected(first, second, _rank(level, 2**n), n)
    else:
        drawn = [divmod(key, one) for key in _random_sums(choices, resamples, rng) if key]
        drawn.sort(key=lambda pair: pair[1] / pair[0])
        size, total = drawn[max(0, _rank(level, len(drawn) + 1) - 1)]
    return total + size * base, size


def _counted(steps: list[int], rank: int) -> tuple[int, int]:
    """Size and sum of the subset with the `rank`-th smallest mean, no step being below 0.

    Subsets are counted by size and sum: field s of `ways[j]` holds how many of j units add up to
    s. Fields have n + 1 bits and are added up as in `_convolved_share`. A mean that is tried is
    t/2^k: the sums of j units up to it are those up to t·j >> k.
    """
    n = len(steps)
    bits, ways = n + 1, [1] + [0] * n
    for met, step in enumerate(steps, 1):
        for size in range(met, 0, -1):
            ways[size] += ways[size - 1] << step * bits

    def counted_upto(t: int) -> int:
        return sum(
            (ways[j] & (1 << ((t * j >> k) + 1) * bits) - 1) % ((1 << bits) - 1)
            for j in range(1, n + 1)
        )

    k = n.bit_length() + 1  # then fewer than one sum of each size lies between two neighbours
    low, high, below = -1, max(steps) << k, 0
    while high - low > 1:
        t = (low + high) // 2
        reached = counted_upto(t)
        low, high, below = (low, t, below) if reached >= rank else (t, high, reached)
    between = sorted(
        ((j, s) for j in range(1, n + 1) for s in range((low * j >> k) + 1, (high * j >> k) + 1)),
        key=lambda subset: Fraction(subset[1], subset[0]),
    )
    reached = accumulate(ways[j] >> s * bits & (1 << bits) - 1 for j, s in between)
    return between[bisect_left(list(reached), rank - below)]


def _selected(first: list[Subset], second: list[Subset], rank: int, n: int) -> tuple[int, int]:
    """Size and sum of the subset with the `rank`-th smallest mean, no value being below 0.

    At a θ that is tried the means up to it are counted, half against half; when few are left
    between two such θ they are formed and sorted.
    """
    goal = rank + 1  # the empty subset counts too
    low, high = -1.0, (max(first).total + max(second).total) / n
    below, upto = (_numbers_upto(first, second, theta) for theta in (low, high))
    for turn in count():
        between = [i for i, (a, b) in enumerate(zip(below, upto, strict=True)) if a < b]
        if 2 * len(between) <= len(first) or high - low <= max(1 / n**2, 1e-15 * high):
            break  # two means of whole numbers are no closer than 1/n²
        aim, share = AIMS[turn % 4], 0.5
        if aim:
            reached = [_ways(first, numbers_upto) / 2**n for numbers_upto in (below, upto)]
            share = _normal_share(*reached, aim * goal / 2**n)
        theta = low + (high - low) * share
        numbers_upto = _numbers_upto(first, second, theta)
        if _ways(first, numbers_upto) >= goal:
            high, upto = theta, numbers_upto
        else:
            low, below = theta, numbers_upto
    missing = goal - _ways(first, below)
    found = sorted(_between([first[i] for i in between], second, low, high))
    for _, size, total, ways in found:
        missing -= ways
        if missing <= 0:
            return size, total
    return found[-1][1:3]


def _normal_share(low: float, high: float, wanted: float) -> float:
    """How far between two places a share lies, were the means normal; halfway where the upper one
    has reached all."""
    if high >= 1:
        return 0.5
    a, b, z = map(normal_quantile, (low, high, wanted))
    return min(0.99, max(0.01, (z - a) / (b - a)))


def _ways(first: list[Subset], numbers_upto: list[int]) -> int:
    return sum(subset.ways * n for subset, n in zip(first, numbers_upto, strict=True))


def _numbers_upto(first: list[Subset], second: list[Subset], theta: float) -> list[int]:
    """For each of the first subsets: with how many of the second its mean is at most θ."""
    order = sorted([(total - theta * size, ways) for total, size, ways in second])
    upto = [0, *accumulate([ways for _, ways in order])]
    excesses = [excess for excess, _ in order]
    return [upto[bisect_right(excesses, theta * size - total)] for total, size, _ in first]


def _between(
    chosen: list[Subset], second: list[Subset], low: float, high: float
) -> Iterator[tuple[float, int, int, int]]:
    """Mean, size, sum and number of the unions whose mean is above `low` and at most `high`."""
    order = sorted([(subset.total - high * subset.size, subset) for subset in second])
    excesses = [excess for excess, _ in order]
    reach = (high - low) * max(subset.size for subset in second)
    for total, size, times in chosen:
        room = low * size - total
        start, end = (bisect_right(excesses, x) for x in (room - reach, high * size - total))
        for _, (s, a, ways) in order[start:end]:
            if s - low * a > room:
                yield (total + s) / (size + a), size + a, total + s, times * ways


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
