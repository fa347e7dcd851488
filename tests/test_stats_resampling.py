"""Resampling and re-randomisation: what is counted is every choice, what is sampled is near it."""

import math
import random
from bisect import bisect_left
from collections import Counter
from fractions import Fraction
from itertools import accumulate, combinations, product

import pytest

import stats

RNG = random.Random(8)
REALS = [RNG.gauss(0, 1) for _ in range(30)], [RNG.gauss(0.7, 1) for _ in range(25)]
ALTERNATIVES = ["two-sided", "greater", "less"]
PAIRS = (range(6), range(6))
UNITS = [(1, 0), (1e-12, 0), (1e9, 0), (1, 1e8), (1 / 3, -7), (0.01, 5)]


def share_as_extreme(totals, observed, centre, alternative):
    beyond = {
        "two-sided": lambda total: abs(total - centre) >= abs(observed - centre),
        "greater": lambda total: total >= observed,
        "less": lambda total: total <= observed,
    }
    return sum(map(beyond[alternative], totals)) / len(totals)


def permuted_p(x, y, strata, alternative):
    """Every assignment within blocks, in fractions of the decimals."""
    blocks = {}
    for group, labels in zip(
        (x, y), strata or ([0] * len(x), [0] * len(y)), strict=True
    ):
        for value, label in zip(group, labels, strict=True):
            blocks.setdefault(label, ([], []))[group is y].append(Fraction(str(value)))
    sums = [
        [sum(drawn) for drawn in combinations(a + b, len(a))]
        for a, b in blocks.values()
    ]
    centre = sum(Fraction(len(a)) * sum(a + b) / len(a + b) for a, b in blocks.values())
    return share_as_extreme(
        [sum(parts) for parts in product(*sums)],
        sum(sum(a) for a, _ in blocks.values()),
        centre,
        alternative,
    )


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(
    ("x", "y", "strata"),
    [
        ([1] * 6, [0] * 6, None),
        ([1] * 6, [0] * 6, PAIRS),
        ([1, 2, 4, 8, 5], [3, 9, 27, 2], None),
        ([2.5, 2.5, 1.5, 2.5], [1.5, 1.5, 2.5, 1.5], None),
        ([0.1, 0.2], [0.3, 0.0], None),
        ([5, 6, 7, 9], [1, 2, 3, 4], None),
        (REALS[0][:6], REALS[1][:5], ("aabbab", "babba")),
        ([0, 1, 1, 0, 1], [0, 0, 1], ("aabbc", "abc")),
        ([0], [1, 1, 0, 0, 0, 0, 0, 0], None),
    ],
)
def test_permutations_are_counted_whatever_unit_and_origin(x, y, strata, alternative):
    expected = permuted_p(x, y, strata, alternative)
    for unit, shift in UNITS:
        moved = [v * unit + shift for v in x], [v * unit + shift for v in y]
        result = stats.permutation_test(*moved, alternative, strata)
        assert result.exact and 1 >= result.p == pytest.approx(expected, rel=1e-12)


def test_every_assignment_is_counted_up_to_the_number_of_resamples():
    x, y = [5, 6, 7, 9], [1, 2, 3, 4]  # 70 assignments
    assert stats.permutation_test(x, y, resamples=70).exact
    assert not stats.permutation_test(x, y, resamples=69).exact
    assert stats.permutation_test(x, y, exact=True, resamples=69).exact


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(
    ("test", "data"),
    [
        (stats.permutation_test, {"x": REALS[0][:8], "y": REALS[1][:9]}),
        (stats.permutation_test, {"x": [1] * 6, "y": [0] * 6, "strata": PAIRS}),
        (stats.sign_flip_test, {"differences": REALS[0][:8]}),
        (stats.sign_flip_test, {"differences": [1, -1, 2, 1, 1, 3, -2, 1]}),
    ],
)
def test_monte_carlo_approaches_the_exact_p(test, data, alternative):
    p = test(**data, alternative=alternative).p
    sampled = test(
        **data, alternative=alternative, exact=False, resamples=20_000, rng=3
    )
    assert not sampled.exact and sampled.resamples == 20_000
    assert abs(sampled.p - p) < 4 * (p * (1 - p) / 20_000) ** 0.5 + 1e-4


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(
    "x",
    [
        [3, -1, 4, 1, -5, 9, 2, 6],
        [0.5, -0.25, 1, 0, -0.75],
        [7],
        [-2, 2],
        [0, 0, 5],
        [0.1, 0.2, -0.3],
        [math.pi, -math.e, 1.5, 0.1],
        [1000.5, 3000.25, -1.41421356, 3.14159265, 1e-3, 700, -40.125],
    ],
)
def test_sign_flips_are_counted_whatever_unit(x, alternative):
    values = [Fraction(str(v)) for v in x]
    totals = [
        sum(s * v for s, v in zip(signs, values, strict=True))
        for signs in product((1, -1), repeat=len(x))
    ]
    expected = share_as_extreme(totals, sum(values), 0, alternative)
    for unit in (1, 1e-12, 1e9, 1 / 3):
        result = stats.sign_flip_test([v * unit for v in x], alternative)
        assert result.exact and result.p == pytest.approx(expected, rel=1e-12)


def test_many_sign_flips_of_a_common_unit_are_binomial():
    # 300 differences of ±1: the sum is twice a binomial count, less 300.
    expected = 2 * sum(math.comb(300, k) for k in range(170, 301)) / 2**300
    result = stats.sign_flip_test([1] * 170 + [-1] * 130)
    assert result.exact and result.p == pytest.approx(expected, rel=1e-12)


def test_sign_flips_are_exact_up_to_34_values_and_sampled_beyond():
    many = [*REALS[0], *REALS[1]]
    assert stats.sign_flip_test(many[:34]).exact
    assert stats.sign_flip_test(many[:35])[2:4] == (100_000, False)


@pytest.mark.parametrize(
    ("n", "choices"),
    [
        (3, [0, 1, 5]),
        (63, range(25)),
        (64, [0, 3, 8, 24]),
        (99, [0] * 50 + [1, 9]),
        (40, [10, 60]),
    ],
)
def test_the_distribution_of_a_mean_is_that_of_whole_number_arithmetic(n, choices):
    rng = random.Random(n)
    values = [*sorted(set(choices))[:2], *(rng.choice(choices) for _ in range(n - 2))]
    ways = Counter({0: 1})
    for _ in range(n):
        ways, before = Counter(), ways
        for (total, count), value in product(before.items(), values):
            ways[total + value] += count
    upto = list(accumulate(ways[total] for total in sorted(ways)))
    for level in (0.5, 0.8, 0.9, 0.99, 0.999):
        result = stats.bootstrap_ci((values,), "mean", 2, level, "percentile")
        low, high = (
            sorted(ways)[bisect_left(upto, Fraction(tail) * n**n)] / n
            for tail in ((1 - level) / 2, (1 + level) / 2)
        )
        assert (result.exact, result.low, result.high) == (True, low, high)


@pytest.mark.parametrize(
    ("scale", "exact"), [(9_990, True), (10_000, True), (11_000, False)]
)
def test_a_common_unit_is_at_least_a_ten_thousandth(scale, exact):
    values = [0, 1 / (scale // 10), 1 / (scale // 10) + 1 / scale]
    assert stats.bootstrap_ci((values,), "mean", 2).exact is exact


def test_strata_are_resampled_apart_and_weigh_the_same():
    for x, y in (([0, 1, 1, 0, 1, 1, 1, 0], [1, 0, 0, 1]), (REALS[0], REALS[1][:9])):
        for method in ("bca", "percentile"):
            strata = stats.bootstrap_ci(([x, y],), "mean", 20_000, method=method, rng=1)
            function = stats.bootstrap_ci(
                (x, y),
                lambda a, b: sum(a) / len(a) / 2 + sum(b) / len(b) / 2,
                20_000,
                method=method,
                rng=2,
            )
            assert strata.exact is (x is not REALS[0])
            assert strata[:4] == pytest.approx(function[:4], abs=0.03)


def test_where_sums_are_too_many_the_bootstrap_draws_them():
    assert stats.bootstrap_ci(([0, 1] * 2_000,), "mean").exact  # two values never are
    x, y = (
        [[int(i % 3 == 0) for i in range(n)] for n in (97, 101, 103)],
        [[0, 1] * 40, [0, 1] * 41],
    )
    drawn = stats.bootstrap_ci((x, y), "mean_difference", method="percentile")
    assert (drawn.exact, drawn.resamples) == (False, 10_000)
    # By the normal distribution: a side's variance is that of its strata over their number².
    se = math.sqrt(
        sum(
            sum(s) * (len(s) - sum(s)) / len(s) ** 3 / len(side) ** 2
            for side in (x, y)
            for s in side
        )
    )
    assert drawn.se == pytest.approx(se, rel=0.03)
    limits = drawn.value - 1.96 * se, drawn.value + 1.96 * se
    assert drawn[1:3] == pytest.approx(limits, abs=0.06 * se)


def test_a_random_object_moves_on():
    rng = random.Random(1)
    first, second = (
        stats.bootstrap_ci(REALS, "mean_difference", 200, rng=rng) for _ in "ab"
    )
    assert first == stats.bootstrap_ci(REALS, "mean_difference", 200, rng=1) != second


def test_a_median_of_300_values_has_the_limits_of_its_order_statistics():
    result = stats.bootstrap_ci(
        (list(map(math.sqrt, range(300))),), "median", 2_000, rng=5
    )
    ranks = (150 + z * math.sqrt(300 / 4) for z in (-1.96, 1.96))  # a binomial's of 300
    assert result[1:3] == pytest.approx([math.sqrt(rank) for rank in ranks], abs=0.1)


def test_a_seed_gives_the_same_sampled_p_on_every_python():
    x = [math.sqrt(2 + i * i % 17) for i in range(24)]
    y = [math.sqrt(1 + i * i % 23) for i in range(20)]
    differences = [a - b for a, b in zip(x, y, strict=False)]
    results = (
        stats.permutation_test(x, y, exact=False, resamples=999, rng=5),
        stats.sign_flip_test(differences, exact=False, resamples=999, rng=5),
    )
    assert [result.p for result in results] == [0.971, 0.781]
