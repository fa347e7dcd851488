"""A permutation test for two or more groups: an analysis of variance that deals the values anew.

Where the groups can have few different sums p is counted, else sampled. Sums are whole numbers on a
common grid, so that ties do not depend on the order of addition.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from math import comb, fsum, lcm, prod
from operator import sub
from random import Random

from .resampling import EMPTY_GROUP
from .results import (
    SAME,
    Permutation,
    check_choice,
    check_test,
    constant,
    mean,
    numbers,
    on_grid,
    squares,
    stream_of,
)

MOST_TOTALS = 100_000
NO_F = "every value is the same within each group, so F has no value"

Key = tuple[tuple[int, ...], tuple[int, ...]]  # room left in each group, its sum so far


def permutation_anova(
    groups: Sequence[Sequence[float]],
    statistic: str = "mean",
    exact: bool | None = None,
    resamples: int = 100_000,
    rng: Random | int = 0,
) -> Permutation:
    """Test whether two or more groups differ: an analysis of variance by re-randomisation (Fisher
    1935).

    `statistic` is "mean" for F, or "rank" for the H of Kruskal & Wallis (1952), corrected for ties.
    p is the share of the ways to deal all values to groups of these sizes that give at least the
    observed F or H. It is counted where the groups can have at most 100,000 different sums (small
    samples, few-valued data), and sampled otherwise. `exact` True demands a counted p (ValueError
    where the sums are too many), False a sampled one.
    """
    check_choice(statistic, ("mean", "rank"), "statistic")
    check_test("greater", resamples)
    values = [numbers(group, f"groups[{i}]") for i, group in enumerate(groups)]
    if len(values) < 2:
        raise ValueError(f"groups: two or more are needed, not {len(values)}")
    if not all(values):
        return Permutation(None, None, None, False, EMPTY_GROUP)
    pooled = list(chain(*values))
    if constant(pooled):
        return Permutation(None, None, None, False, SAME)
    if statistic == "rank":
        values = _midranks(values, sorted(pooled))
    observed = _analysis_of_variance(values, statistic)
    why = NO_F if observed is None else None
    pooled = list(chain(*values))  # of the ranks, where those are compared
    # From their least value on: a common shift changes no difference, but makes the grid finer.
    base = min(pooled)
    whole, slack = on_grid([value - base for value in pooled])
    sizes = [len(group) for group in values]
    least = _spread(_sums(whole, sizes), sizes)
    # A group's sum is off by `slack` at most, and its square is weighed by lcm / its size: so much
    # less, no deal that ties with the observed one on paper is lost by rounding.
    least -= 2 * slack * lcm(*sizes) * (sum(whole) + len(whole))
    if exact is not False:
        p = _dealt_p(whole, sizes, least)
        if p is not None:
            return Permutation(observed, p, None, True, why)
    if exact:
        raise ValueError(f"exact: the groups can have more than {MOST_TOTALS} sums")
    rng, extreme = stream_of(rng), 0
    for _ in range(resamples):
        rng.shuffle(whole)
        extreme += _spread(_sums(whole, sizes), sizes) >= least
    p = (extreme + 1) / (resamples + 1)
    return Permutation(observed, p, resamples, False, why)


def _midranks(groups: list[list[float]], order: list[float]) -> list[list[float]]:
    """The groups with each value replaced by its rank in `order`; ties get the mean of their ranks."""

    def rank(value: float) -> float:
        return (bisect_left(order, value) + bisect_right(order, value) + 1) / 2

    return [list(map(rank, group)) for group in groups]


def _analysis_of_variance(groups: list[list[float]], statistic: str) -> float | None:
    """F, or None where no value varies within its group. Of ranks H: N - 1 times the share of the
    sum of squares that lies between groups."""
    centre = mean(list(chain(*groups)))
    between = fsum(len(group) * (mean(group) - centre) ** 2 for group in groups)
    within = fsum(map(squares, groups))
    n = sum(map(len, groups))
    if statistic == "rank":
        return (n - 1) * between / (between + within)
    if within == 0:
        return None
    per_group = between / (len(groups) - 1)
    return per_group / (within / (n - len(groups)))


def _sums(whole: list[int], sizes: list[int]) -> list[int]:
    """The sum of each group; `whole` holds the values of one group after those of another."""
    rest = iter(whole)
    return [sum(islice(rest, size)) for size in sizes]


def _spread(sums: Iterable[int], sizes: list[int]) -> int:
    """Return Σ sum²/size over the groups, multiplied by the least common multiple of
    the sizes, which makes it a whole number.

    For given values, F and H rise with this number, so it can stand for either.
    """
    unit, spread = lcm(*sizes), 0
    for total, size in zip(sums, sizes, strict=True):
        spread += unit // size * total * total
    return spread


def _dealt_p(whole: list[int], sizes: list[int], least: int) -> float | None:
    """The share of the ways to deal the values whose `_spread` is at least `least`; None where the
    groups have too many different sums."""
    keys: dict[Key, int] = {(tuple(sizes), (0,) * len(sizes)): 1}
    for value, times in Counter(whole).items():
        after: dict[Key, int] = defaultdict(int)
        for (room, sums), ways in keys.items():
            for split in _splits(times, room):
                left = tuple(map(sub, room, split))
                grown = tuple([s + value * k for s, k in zip(sums, split, strict=True)])
                after[left, grown] += ways * prod(map(comb, room, split))
            if len(after) > MOST_TOTALS:
                return None
        keys = after
    extreme = 0
    for (_, sums), ways in keys.items():
        if _spread(sums, sizes) >= least:
            extreme += ways
    return extreme / sum(keys.values())


def _splits(times: int, room: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every way to put `times` equal values into groups with `room` places left, as the number of
    values that each group gets."""
    if len(room) == 1:
        if times <= room[0]:
            yield (times,)
        return
    for here in range(min(times, room[0]) + 1):
        for rest in _splits(times - here, room[1:]):
            yield (here, *rest)
