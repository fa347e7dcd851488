"""Resampling and re-randomisation: what is counted is every choice, what is sampled is near it."""

import math
import random
from fractions import Fraction
from itertools import combinations, product

import pytest

import stats

RNG = random.Random(8)
X = [RNG.gauss(0, 1) for _ in range(30)]
Y = [RNG.gauss(0.7, 1) for _ in range(25)]
ALTERNATIVES = ["two-sided", "greater", "less"]
PAIRS = (range(6), range(6))


def decimals(values):
    return [Fraction(str(value)) for value in values]


def share_as_extreme(totals, observed, centre, alternative):
    if alternative == "greater":
        extreme = [total >= observed for total in totals]
    elif alternative == "less":
        extreme = [total <= observed for total in totals]
    else:
        distance = abs(observed - centre)
        extreme = [abs(total - centre) >= distance for total in totals]
    return sum(extreme) / len(totals)


def permuted_p(x, y, strata, alternative):
    """Every assignment within blocks, in fractions of the decimals."""
    blocks = {}
    for side, (group, labels) in enumerate(zip((x, y), strata, strict=True)):
        for value, label in zip(decimals(group), labels, strict=True):
            blocks.setdefault(label, ([], []))[side].append(value)
    totals, centre = [0], 0
    for of_x, of_y in blocks.values():
        values = of_x + of_y
        here = [sum(drawn) for drawn in combinations(values, len(of_x))]
        totals = [a + b for a, b in product(totals, here)]
        centre += len(of_x) * sum(values) / len(values)
    return share_as_extreme(totals, sum(decimals(x)), centre, alternative)


UNITS = [(1, 0), (1e-12, 0), (1e9, 0), (1, 1e8), (1 / 3, -7), (0.01, 5)]
ASSIGNED = [
    ([1] * 6, [0] * 6, None),
    ([1] * 6, [0] * 6, PAIRS),
    ([1, 2, 4, 8, 5], [3, 9, 27, 2], None),
    ([2.5, 2.5, 1.5, 2.5], [1.5, 1.5, 2.5, 1.5], None),
    ([0.1, 0.2], [0.3, 0.0], None),
    ([5, 6, 7, 9], [1, 2, 3, 4], None),
    (
        [0.3, -1.7, 2.25, 0.8, 1.1, -0.4],
        [1.9, 0.35, -2.2, 0.6, 3.1],
        ("aabbab", "babba"),
    ),
    ([0, 1, 1, 0, 1], [0, 0, 1], ("aabbc", "abc")),
    ([0], [1, 1, 0, 0, 0, 0, 0, 0], None),
]


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(("x", "y", "strata"), ASSIGNED)
def test_permutations_are_counted_whatever_unit_and_origin(x, y, strata, alternative):
    single = "a" * len(x), "a" * len(y)
    expected = permuted_p(x, y, strata or single, alternative)
    for unit, shift in UNITS:
        moved_x = [value * unit + shift for value in x]
        moved_y = [value * unit + shift for value in y]
        result = stats.permutation_test(moved_x, moved_y, alternative, strata)
        assert result.exact and result.p <= 1
        assert result.p == pytest.approx(expected, rel=1e-12)


def test_every_assignment_is_counted_up_to_the_number_of_resamples():
    x, y = [5, 6, 7, 9], [1, 2, 3, 4]  # 70 assignments
    assert stats.permutation_test(x, y, resamples=70).exact
    assert not stats.permutation_test(x, y, resamples=69).exact
    assert stats.permutation_test(x, y, exact=True, resamples=69).exact


SAMPLED = [
    (stats.permutation_test, {"x": X[:8], "y": Y[:9]}),
    (stats.permutation_test, {"x": [1] * 6, "y": [0] * 6, "strata": PAIRS}),
    (stats.permutation_test, {"x": X[:8], "y": Y[:9], "alternative": "less"}),
    (stats.permutation_test, {"x": X[:8], "y": Y[:9], "alternative": "greater"}),
    (stats.sign_flip_test, {"differences": X[:8]}),
    (stats.sign_flip_test, {"differences": X[:8], "alternative": "less"}),
    (stats.sign_flip_test, {"differences": [1, -1, 2, 1, 1, 3, -2, 1]}),
]


@pytest.mark.parametrize(("test", "data"), SAMPLED)
def test_monte_carlo_approaches_the_exact_p(test, data):
    p = test(**data).p
    sampled = test(**data, exact=False, resamples=20_000, rng=3)
    assert (sampled.exact, sampled.resamples) == (False, 20_000)
    error = math.sqrt(p * (1 - p) / 20_000)
    assert abs(sampled.p - p) < 4 * error + 1e-4


SIGNED = [
    [3, -1, 4, 1, -5, 9, 2, 6],
    [0.5, -0.25, 1, 0, -0.75],
    [7],
    [-2, 2],
    [0, 0, 5],
    [0.1, 0.2, -0.3],
    [math.pi, -math.e, 1.5, 0.1],
    [1000.5, 3000.25, -1.41421356, 3.14159265, 1e-3, 700, -40.125],
]


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("x", SIGNED)
def test_sign_flips_are_counted_whatever_unit(x, alternative):
    totals = [0]
    for value in decimals(x):
        totals = [a + b for a, b in product(totals, (value, -value))]
    expected = share_as_extreme(totals, sum(decimals(x)), 0, alternative)
    for unit in (1, 1e-12, 1e9, 1 / 3):
        result = stats.sign_flip_test([value * unit for value in x], alternative)
        assert result.exact
        assert result.p == pytest.approx(expected, rel=1e-12)


def test_many_sign_flips_of_a_common_unit_are_binomial():
    # 300 differences of ±1: the sum is twice a binomial count, less 300.
    result = stats.sign_flip_test([1, 1, -1] * 57 + [1, -1] * 64 + [1])
    tail = sum(math.comb(300, k) for k in range(179, 301))
    assert result.exact
    assert result.p == pytest.approx(tail / 2**299, rel=1e-12)


def test_sign_flips_are_exact_up_to_34_values_and_sampled_beyond():
    many = X + Y
    assert stats.sign_flip_test(many[:34]).exact
    assert stats.sign_flip_test(many[:35])[2:4] == (100_000, False)


@pytest.mark.parametrize(
    ("unit", "exact"), [(999, True), (1_000, True), (1_100, False)]
)
def test_a_common_unit_is_at_least_a_ten_thousandth(unit, exact):
    values = [1 / unit, 1.1 / unit] * 20
    assert stats.sign_flip_test(values, resamples=9).exact is exact


# --- bootstrap ---


def test_two_values_are_counted_at_any_size():
    # By the normal distribution: the variance of a side is that of its values over their number.
    x, y = [0, 0, 1] * 900, [0.5, 3.5] * 1_000
    single = stats.bootstrap_ci((x,), "mean", method="percentile")
    assert (single.exact, single.resamples) == (True, None)
    assert single.high - single.low == pytest.approx(3.92 * single.se, rel=0.02)
    assert stats.bootstrap_ci((y,), "mean").se == pytest.approx(1.5 / math.sqrt(2_000))
    ones = [value for value in y if value > 1] + [0.5]
    both = stats.bootstrap_ci((y, ones), "mean_difference", method="percentile")
    of_ones = 9 * 1_000 / 1_001**2 / 1_001
    se = math.sqrt(2.25 / 2_000 + of_ones)
    assert both.exact and both.se == pytest.approx(se)
    assert both.high - both.low == pytest.approx(3.92 * se, rel=0.02)


def test_clusters_of_one_are_values_drawn_by_themselves():
    for samples, name in [((X,), "median"), ((X, Y), "mean_difference")]:
        alone = stats.bootstrap_ci(samples, name, 999, rng=4)
        labels = [range(30), range(100, 125)][: len(samples)]
        assert stats.bootstrap_ci(samples, name, 999, rng=4, clusters=labels) == alone


def test_copies_of_a_value_in_a_cluster_add_nothing():
    copies, labels = [], []
    for label, value in enumerate(X):
        copies += [value] * 5
        labels += [label] * 5
    alone = stats.bootstrap_ci((X,), "mean", 999, rng=4)
    again = stats.bootstrap_ci((copies,), "mean", 999, rng=4, clusters=[labels])
    assert again[:6] == pytest.approx(alone[:6])


def test_a_cluster_of_both_samples_is_drawn_with_what_it_has_in_each():
    # Each bulletin is better by 1 in x: drawn together the difference never moves by itself.
    x, labels = [value + 1 for value in X], range(30)
    function = stats.bootstrap_ci(
        (x, X), "mean_difference", 99, clusters=[labels, labels]
    )
    assert function.value == pytest.approx(1)
    assert function.se == pytest.approx(0, abs=1e-12)


def test_a_random_object_moves_on():
    rng = random.Random(1)
    first = stats.bootstrap_ci((X, Y), "mean_difference", 200, rng=rng)
    second = stats.bootstrap_ci((X, Y), "mean_difference", 200, rng=rng)
    assert first == stats.bootstrap_ci((X, Y), "mean_difference", 200, rng=1)
    assert first != second


def test_a_median_of_300_values_has_the_limits_of_its_order_statistics():
    roots = list(map(math.sqrt, range(300)))
    result = stats.bootstrap_ci((roots,), "median", 2_000, rng=5)
    reach = 1.96 * math.sqrt(300 / 4)  # ranks are a binomial's of 300
    ranks = [150 - reach, 150 + reach]
    assert result[1:3] == pytest.approx(list(map(math.sqrt, ranks)), abs=0.1)


ROOTS = [math.sqrt(n) for n in (2, 3, 5, 6, 7, 10, 11, 13)]
LOGS = [math.log(n) for n in (5, 6, 7, 11, 13, 14, 15)]
SHIFTED = [root - 2.2 for root in ROOTS]


def test_a_seed_gives_the_same_sampled_p_on_every_python():
    once = {"exact": False, "resamples": 999, "rng": 5}
    assert stats.permutation_test(ROOTS, LOGS, **once).p == 0.322
    assert stats.sign_flip_test(SHIFTED, **once).p == 0.217
