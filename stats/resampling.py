"""Resampling: bootstrap intervals, permutation tests within blocks, and sign flips.

A distribution that has a closed form or few enough values is computed, and the result then does not
depend on a seed: how often the higher of two values is drawn in a bootstrap is binomial. Everything
else is sampled. Where `extreme` of m samples are at least as extreme as the data, p is (extreme +
1)/(m + 1) (Phipson & Smyth 2010). Tests add whole numbers on a common grid, so that ties do not
depend on the order of addition.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, chain, combinations, islice
from math import ceil, comb, floor, fsum, lcm, prod, sqrt
from operator import mul
from random import Random
from statistics import median
from typing import Any, NamedTuple

from . import distributions, results
from .results import (
    SAME,
    Bootstrap,
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

# --- bootstrap ---

Statistic = Callable[..., float]
Labels = Sequence[Hashable]

NEGLIGIBLE = 1e-22  # probabilities below this are dropped
BYTE = 256  # values of a byte

EMPTY_GROUP = "a group is empty"
NO_SPREAD = "every value is the same within each group"
FEW_CLUSTERS = "a group has fewer than two different clusters"
OUTSIDE = "the estimate lies outside its own bootstrap distribution, so BCa has no bias correction"
NO_ACCELERATION = (
    "leaving out any one value changes nothing, so BCa has no acceleration"
)
NO_WIDTH = "both ends of the interval fall on the same value"


def bootstrap_ci(
    samples: Sequence[Any],
    statistic: str | Statistic,
    resamples: int = 10_000,
    level: float = 0.95,
    method: str = "bca",
    rng: Random | int = 0,
    clusters: Sequence[Labels] | None = None,
) -> Bootstrap:
    """Bootstrap interval of a statistic of one or two samples (Efron 1987 for BCa).

    `samples` is a tuple of one or two sequences. `statistic` takes them in that order, or is
    "mean", "mean_difference" or "median". In BCa's bias correction ties with the estimate count
    half; its acceleration comes from a jackknife in every sample; percentiles are interpolated. For
    means of two-valued data (0/1) the distribution is computed: `exact` is True and `resamples`
    None.

    `clusters` holds, for each sample, a label beside each value. Values with the same label are
    drawn, and left out, together; a label that stands in both samples is one cluster.
    """
    results.check_level(level)
    check_choice(method, ("bca", "percentile"), "method")
    if resamples < 2:
        raise ValueError(f"resamples: {resamples!r} is fewer than two")
    groups, function = _checked(samples, statistic)
    if not all(groups):
        return _no_bootstrap(None, method, EMPTY_GROUP)
    value = function(*groups)
    scheme = Scheme(groups, function)
    if clusters is not None:
        scheme = _of_clusters(groups, function, clusters)
    why = _no_spread(scheme, clusters is not None)
    if why:
        return _no_bootstrap(value, method, why)
    curve = _curve(scheme, resamples, stream_of(rng))
    exact = curve.resamples is None
    se = curve.se if curve.se > 0 else None
    result = Bootstrap(value, None, None, se, curve.resamples, method, exact)
    tails = [(1 - level) / 2, (1 + level) / 2]
    if method == "bca":
        share = curve.below(value)
        if not 0 < share < 1:
            return result._replace(why=OUTSIDE)
        influence = _jackknife(scheme)
        spread = fsum(u**2 for u in influence)
        if not spread > 0:
            return result._replace(why=NO_ACCELERATION)
        skew = fsum(u**3 for u in influence) / spread**1.5
        bias = distributions.normal_quantile(share)
        tails = [_shifted(tail, bias, skew / 6) for tail in tails]
    low, high = map(curve.quantile, tails)
    if low == high:
        return result._replace(why=NO_WIDTH)
    return result._replace(low=low, high=high)


def _no_bootstrap(value: float | None, method: str, why: str) -> Bootstrap:
    """The result where there is no bootstrap distribution; `why` says the reason."""
    return Bootstrap(value, None, None, None, None, method, False, why)


def _shifted(tail: float, bias: float, acceleration: float) -> float:
    """BCa's tail probability in place of `tail`."""
    z = bias + distributions.normal_quantile(tail)
    return distributions.normal_cdf(bias + z / (1 - acceleration * z))


def _mean_difference(x: Sequence[float], y: Sequence[float]) -> float:
    return mean(x) - mean(y)


NAMED: dict[str, Statistic] = {
    "mean": mean,
    "mean_difference": _mean_difference,
    "median": median,
}


def _checked(
    samples: Sequence[Any], statistic: str | Statistic
) -> tuple[list[list[Any]], Statistic]:
    """The samples as lists, and the statistic as a function; ValueError where they do not fit."""
    if not isinstance(statistic, str):
        if len(samples) not in (1, 2):
            raise ValueError(
                f"samples: a tuple of one or two sequences, not of {len(samples)}"
            )
        return list(map(list, samples)), statistic
    check_choice(statistic, NAMED, "statistic")
    wanted = 1 + (statistic == "mean_difference")
    if len(samples) != wanted:
        raise ValueError(f"samples: {statistic!r} needs a tuple of {wanted}")
    groups = [numbers(sample, f"samples[{i}]") for i, sample in enumerate(samples)]
    return groups, NAMED[statistic]


class Scheme(NamedTuple):
    """The units to draw with replacement within each stratum, and the statistic of a draw.

    A stratum is a sample; of clusters, all that occur in the same set of samples.
    """

    strata: list[list[Any]]
    statistic: Statistic


def _of_clusters(
    groups: list[list[Any]], statistic: Statistic, clusters: Sequence[Labels]
) -> Scheme:
    """The scheme that draws whole clusters. Those that stand in the same samples are a stratum, so
    that no sample comes out empty."""
    if len(clusters) != len(groups):
        raise ValueError(
            f"clusters: {len(clusters)} lists of labels beside {len(groups)} samples"
        )
    members: dict[Hashable, list[list[Any]]] = {}
    for place, (group, labels) in enumerate(zip(groups, clusters, strict=True)):
        if len(labels) != len(group):
            told = f"{len(labels)} labels beside {len(group)} values"
            raise ValueError(f"clusters[{place}]: {told}")
        for value, label in zip(group, labels, strict=True):
            if label not in members:
                members[label] = [[] for _ in groups]
            members[label][place].append(value)
    strata: dict[tuple[bool, ...], list[list[list[Any]]]] = {}
    for cluster in members.values():
        present = tuple(map(bool, cluster))
        strata.setdefault(present, []).append(cluster)

    def pooled(*drawn: list[list[list[Any]]]) -> float:
        groups = zip(*chain(*drawn), strict=True)
        return statistic(*[list(chain(*group)) for group in groups])

    return Scheme(list(strata.values()), pooled)


def _no_spread(scheme: Scheme, clustered: bool) -> str | None:
    """Why the scheme has no bootstrap distribution, or None where it has one."""
    why = results.too_few(scheme.strata)
    if not why and all(part.count(part[0]) == len(part) for part in scheme.strata):
        why = NO_SPREAD
    if why and clustered:
        why = FEW_CLUSTERS
    return why


class Curve(NamedTuple):
    """A bootstrap distribution: its values in rising order, and for each the probability (or the
    number of draws) up to it."""

    values: list[float]
    cumulated: Sequence[float]
    se: float
    resamples: int | None  # None where the distribution was computed

    def below(self, value: float) -> float:
        """The share of the distribution below `value`; ties count half."""
        near = 1e-14 * max(map(abs, self.values))
        before = [0, *self.cumulated]
        left = before[bisect_left(self.values, value - near)]
        right = before[bisect_right(self.values, value + near)]
        return (left + right) / 2 / before[-1]

    def quantile(self, p: float) -> float:
        """The `p` quantile of the distribution, interpolated where it consists of draws."""
        if self.resamples is None:
            reached = p * self.cumulated[-1]
            return self.values[bisect_left(self.cumulated, reached)]
        place = p * (len(self.values) - 1)
        index = min(len(self.values) - 2, int(place))
        low, high = self.values[index], self.values[index + 1]
        return low + (high - low) * (place - index)


def _curve(scheme: Scheme, resamples: int, rng: Random) -> Curve:
    """The bootstrap distribution of a scheme: computed for means of two values, else sampled."""
    if scheme.statistic in (mean, _mean_difference):
        kinds = sorted(set(chain(*scheme.strata)))
        if len(kinds) == 2:
            return _two_valued_curve(scheme.strata, *kinds)
    draws = zip(*[_draws(stratum, rng) for stratum in scheme.strata], strict=True)
    values = sorted(scheme.statistic(*drawn) for drawn in islice(draws, resamples))
    se = sqrt(results.variance(values))
    return Curve(values, range(1, resamples + 1), se, resamples)


def _two_valued_curve(samples: list[list[float]], low: float, high: float) -> Curve:
    """The bootstrap distribution of the mean of one sample, or the difference of two means, of the
    values `low` and `high`. It is the sum of binomial counts, in units that all counts share."""
    unit = lcm(*map(len, samples))
    chances: dict[int, float] = {0: 1.0}
    for sample, sign in zip(samples, (1, -1), strict=False):
        n = len(sample)
        pmf = distributions.binomial_pmf(n, sample.count(high) / n)
        counted = {}
        for k, chance in enumerate(pmf):
            if chance > NEGLIGIBLE:
                counted[sign * k * (unit // n)] = chance
        chances = distributions.add_pmfs(chances, counted)
    order = sorted(chances)
    least = low if len(samples) == 1 else 0.0  # in a difference the lower value cancels
    values = [least + (high - low) * total / unit for total in order]
    variance = fsum(squares(sample) / len(sample) ** 2 for sample in samples)
    cumulated = list(accumulate(chances[total] for total in order))
    return Curve(values, cumulated, sqrt(variance), None)


def _draws(sample: list[Any], rng: Random) -> Iterator[list[Any]]:
    """Resamples of `sample` without end. Up to 256 values are chosen by random bytes, which is
    faster."""
    n = len(sample)
    if n > BYTE:
        while True:
            yield rng.choices(sample, k=n)
    whole = BYTE - BYTE % n  # bytes from here on would favour the first values
    values = sample * (whole // n)
    surplus = bytes(range(whole, BYTE))
    pool = b""
    while True:
        if len(pool) < n:
            pool += rng.randbytes(1 << 14).translate(None, surplus)
        yield [values[byte] for byte in pool[:n]]
        pool = pool[n:]


def _jackknife(scheme: Scheme) -> list[float]:
    """Return each unit's influence on the statistic, stratum by stratum.

    Leaving out each of a stratum's n units in turn gives n values of the statistic. A unit's
    influence is (n - 1)/n times the mean of these values less its own value.
    """
    influence = []
    for place, stratum in enumerate(scheme.strata):
        n = len(stratum)
        left_out = []
        for i in range(n):
            rest = list(scheme.strata)
            rest[place] = stratum[:i] + stratum[i + 1 :]
            left_out.append(scheme.statistic(*rest))
        if not constant(left_out):  # else every influence is 0 and adds to no sum
            centre = mean(left_out)
            influence += [(1 - n) * (value - centre) / n for value in left_out]
    return influence


# --- sign flips ---

MOST_STEPS = 1 << 24  # of counting sums one by one: two seconds at most
MOST_HALVED = 34  # differences of which either half has at most 131,072 sums


def sign_flip_test(
    differences: Sequence[float],
    alternative: str = "two-sided",
    exact: bool | None = None,
    resamples: int = 100_000,
    rng: Random | int = 0,
) -> Permutation:
    """Test whether the mean of paired differences is 0; exact if they are then symmetric around 0
    (Fisher 1935).

    p is the share of the 2^n choices of signs that are at least as extreme as the data. They are
    counted where the differences are small multiples of a common unit (0, ±1/3, …), and for up to
    34 differences of any kind. Otherwise signs are sampled. `exact` True demands an exact p
    (ValueError where it has none), False a sampled one.
    """
    values = numbers(differences, "differences")
    check_test(alternative, resamples)
    if not values:
        return _no_test(None, "no differences")
    statistic = mean(values)
    if not any(values):
        return _no_test(statistic, "every difference is 0")
    whole, slack = on_grid(values)
    sizes = sorted(abs(value) for value in whole if value)
    both = alternative == "two-sided"
    least = sum(whole)
    if alternative == "less" or (both and least < 0):
        least = -least
    least -= slack
    share = None
    if exact is not False:
        share = _exact_share(sizes, least)
    if share is not None:
        p = min(1.0, 2 * share) if both else share
        return Permutation(statistic, p, None, True)
    if exact:
        raise ValueError(
            f"exact: {len(sizes)} differences without a common unit are too many"
        )
    rng, n, extreme = stream_of(rng), len(sizes), 0
    for _ in range(resamples):
        signs = rng.choices((1, -1), k=n)
        total = sum(map(mul, sizes, signs))
        if both:
            total = abs(total)
        extreme += total >= least
    return _sampled_test(statistic, extreme, resamples)


def _no_test(statistic: float | None, why: str) -> Permutation:
    """The result where no test is possible; `why` says the reason."""
    return Permutation(statistic, None, None, False, why)


def _sampled_test(statistic: float, extreme: int, resamples: int) -> Permutation:
    """The result of a test where `extreme` of the samples were at least as extreme as the data."""
    p = (extreme + 1) / (resamples + 1)
    return Permutation(statistic, p, resamples, False)


def _exact_share(sizes: list[int], least: int) -> float | None:
    """The share of the 2^n choices of signs whose sum is at least `least`; None where they are too
    many to count.

    Small sums are counted one by one. Otherwise the sums of one half of the sizes are compared with
    those of the other.
    """
    n = len(sizes)
    reached = 0
    if n * sum(sizes) <= MOST_STEPS:
        ways: dict[int, int] = {0: 1}
        for size in sizes:
            ways = distributions.add_pmfs(ways, {size: 1, -size: 1})
        reached = sum(times for total, times in ways.items() if total >= least)
    elif n <= MOST_HALVED:
        first, second = _signed_sums(sizes[::2]), sorted(_signed_sums(sizes[1::2]))
        for total in first:
            reached += len(second) - bisect_left(second, least - total)
    else:
        return None
    return reached / (1 << n)


def _signed_sums(sizes: list[int]) -> list[int]:
    """The sum of the sizes for each choice of their signs."""
    sums = [0]
    for size in sizes:
        more = [total + size for total in sums]
        less = [total - size for total in sums]
        sums = more + less
    return sums


# --- permutation within blocks ---

MOST_ASSIGNMENTS = 20_000_000
NO_CHANGE = "every assignment gives the same difference: no block holds both groups and two values"


class Block(NamedTuple):
    """Values that were randomised together; `drawn` of them went to x."""

    values: list[int]
    drawn: int


def permutation_test(
    x: Sequence[float],
    y: Sequence[float],
    alternative: str = "two-sided",
    strata: tuple[Labels, Labels] | None = None,
    exact: bool | None = None,
    resamples: int = 100_000,
    rng: Random | int = 0,
) -> Permutation:
    """Test mean(x) - mean(y) by re-randomising who got into x (Fisher 1935, Pitman 1937).

    The two-sided p is the share of assignments whose difference is at least as far from its mean
    over all assignments as the observed one. `strata` holds block labels beside x and beside y;
    values then move only within their block. For two-valued data p is exact at any size, by
    convolving a hypergeometric distribution for each block. Other data are enumerated where there
    are at most `resamples` assignments, and sampled otherwise. `exact` True demands an exact p
    (ValueError beyond 20 million assignments), False a sampled one.
    """
    x, y = numbers(x, "x"), numbers(y, "y")
    check_test(alternative, resamples)
    if not x or not y:
        return _no_test(None, EMPTY_GROUP)
    statistic = mean(x) - mean(y)
    pooled = x + y
    # From their least value on: a common shift changes no difference, but makes the grid finer.
    base = min(pooled)
    whole, slack = on_grid([value - base for value in pooled])
    if strata is None:
        strata = [0] * len(x), [0] * len(y)
    blocks = _blocks(whole, strata, (len(x), len(y)))
    if constant(pooled):
        return _no_test(statistic, SAME)
    if not any(map(_may_change, blocks)):
        return _no_test(statistic, NO_CHANGE)
    inner = _inner(blocks, sum(whole[: len(x)]), alternative, slack)
    if exact is not False:
        p = _exact_p(blocks, inner, MOST_ASSIGNMENTS if exact else resamples)
        if p is not None:
            return Permutation(statistic, p, None, True)
    if exact:
        raise ValueError(
            f"exact: {_assignments(blocks)} assignments are too many to enumerate"
        )
    rng, extreme = stream_of(rng), 0
    for _ in range(resamples):
        total = 0
        for values, drawn in blocks:
            total += sum(rng.sample(values, drawn))
        extreme += total not in inner
    return _sampled_test(statistic, extreme, resamples)


def _blocks(
    whole: list[int], strata: tuple[Labels, Labels], sizes: tuple[int, int]
) -> list[Block]:
    """The blocks of x and y by their labels; `whole` has the values of x, then those of y."""
    for labels, size, name in zip(strata, sizes, "xy", strict=True):
        if len(labels) != size:
            raise ValueError(
                f"strata: {len(labels)} labels beside {size} values of {name}"
            )
    members: dict[Hashable, list[int]] = {}
    for label, value in zip(chain(*strata), whole, strict=True):
        members.setdefault(label, []).append(value)
    of_x = Counter(strata[0])
    return [Block(values, of_x[label]) for label, values in members.items()]


def _may_change(block: Block) -> bool:
    """Whether another assignment of the block can change the sum of x."""
    return not constant(block.values) and 0 < block.drawn < len(block.values)


def _assignments(blocks: list[Block]) -> int:
    """How many assignments the blocks have."""
    return prod(comb(len(block.values), block.drawn) for block in blocks)


def _inner(blocks: list[Block], observed: int, alternative: str, slack: int) -> range:
    """The range of those sums of x that are less extreme than the observed one."""
    if alternative == "greater":
        return range(observed - slack)
    if alternative == "less":
        most = sum(sum(block.values) for block in blocks)
        return range(observed + slack + 1, most + 1)
    centre = Fraction(0)
    for values, drawn in blocks:
        centre += Fraction(drawn * sum(values), len(values))
    distance = abs(observed - centre)
    low, high = floor(centre - distance), ceil(centre + distance)
    return range(low + slack + 1, high - slack)


def _exact_p(blocks: list[Block], inner: range, most: int) -> float | None:
    """p over all assignments; None where the data are many-valued and have more than `most` of
    them."""
    kinds = set(chain(*[block.values for block in blocks]))
    if len(kinds) == 2:
        return _two_valued_p(blocks, inner, max(kinds))
    assignments = _assignments(blocks)
    if assignments > most:
        return None
    sums: dict[int, float] = {0: 1}
    for values, drawn in blocks:
        ways = Counter(map(sum, combinations(values, drawn)))
        sums = distributions.add_pmfs(sums, ways)
    extreme = sum(ways for total, ways in sums.items() if total not in inner)
    return extreme / assignments


def _two_valued_p(blocks: list[Block], inner: range, higher: int) -> float:
    """p where each value is 0 or `higher`: it depends only on how many of x are `higher`."""
    chances: dict[int, float] = {0: 1.0}
    for values, drawn in blocks:
        marked = values.count(higher)
        pmf = distributions.hypergeometric_pmf(marked, drawn, len(values))
        chances = distributions.add_pmfs(chances, pmf)
    extreme = [p for k, p in chances.items() if higher * k not in inner]
    return min(1.0, fsum(extreme))
