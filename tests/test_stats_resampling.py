"""Resampling and re-randomisation: what is counted is every choice, what is sampled is near it."""

import math
import random
from fractions import Fraction
from itertools import combinations, product
from statistics import pstdev

import pytest

import stats

RNG = random.Random(8)
X = [RNG.gauss(0, 1) for _ in range(30)]
Y = [RNG.gauss(0.7, 1) for _ in range(25)]
ALTERNATIVES = ["two-sided", "greater", "less"]


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


UNITS = [(1, 0), (1e-12, 0), (1 / 3, -7), (0.01, 5)]
REALS = [0.3, -1.7, 2.25, 0.8, 1.1, -0.4], [1.9, 0.35, -2.2, 0.6, 3.1]
ASSIGNED = [
    ([1, 1, 1, 1], [0, 0, 0, 0], ("abcd", "abcd")),
    ([0.1, 0.2], [0.3, 0.0], ("aa", "aa")),  # a tie on paper
    (*REALS, ("aabbab", "babba")),
    ([0, 1, 1, 0, 1], [0, 0, 1], ("aabbc", "abc")),
    ([0], [1, 1, 0, 0, 0], ("a", "aaaaa")),
]


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(("x", "y", "strata"), ASSIGNED)
def test_permutations_are_counted_whatever_unit_and_origin(x, y, strata, alternative):
    expected = permuted_p(x, y, strata, alternative)
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


TWO_BLOCKS = {"x": X[:8], "y": Y[:9], "strata": ("abababab", "ababababa")}
SAMPLED = [
    (stats.permutation_test, TWO_BLOCKS),
    (stats.sign_flip_test, {"differences": X[:8]}),
]


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(("test", "data"), SAMPLED)
def test_monte_carlo_approaches_the_exact_p(test, data, alternative):
    p = test(**data, alternative=alternative).p
    drawn = {"exact": False, "resamples": 20_000, "rng": 3}
    sampled = test(**data, **drawn, alternative=alternative)
    assert (sampled.exact, sampled.resamples) == (False, 20_000)
    error = math.sqrt(p * (1 - p) / 20_000)
    assert abs(sampled.p - p) < 4 * error + 1e-4


SIGNED = [
    [3, -1, 4, 1, -5, 9, 2, 6],
    [-2, 2],
    [0, 0, 5],
    [0.1, 0.2, -0.3],
    [1000.5, 3000.25, -1.41421356, 3.14159265, 1e-3, 700, -40.125],
]


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("x", SIGNED)
def test_sign_flips_are_counted_whatever_unit(x, alternative):
    totals = [0]
    for value in decimals(x):
        totals = [a + b for a, b in product(totals, (value, -value))]
    expected = share_as_extreme(totals, sum(decimals(x)), 0, alternative)
    for unit, _ in UNITS:
        result = stats.sign_flip_test([value * unit for value in x], alternative)
        assert result.exact
        assert result.p == pytest.approx(expected, rel=1e-12)


def test_many_sign_flips_of_a_common_unit_are_binomial():
    # 300 differences of ±1: the sum is twice a binomial count, less 300.
    result = stats.sign_flip_test([1] * 179 + [-1] * 121)
    tail = sum(math.comb(300, k) for k in range(179, 301))
    assert result.exact
    assert result.p == pytest.approx(tail / 2**299, rel=1e-12)


def test_sign_flips_are_exact_up_to_34_values_and_sampled_beyond():
    many = X + Y
    assert stats.sign_flip_test(many[:34]).exact
    assert stats.sign_flip_test(many[:35])[2:4] == (100_000, False)


@pytest.mark.parametrize(("unit", "exact"), [(1_000, True), (1_100, False)])
def test_a_common_unit_is_at_least_a_ten_thousandth(unit, exact):
    values = [1 / unit, 1.1 / unit] * 20
    assert stats.sign_flip_test(values, resamples=9).exact is exact


# --- bootstrap ---


@pytest.mark.parametrize("x", [[1, 0, 1, 1, 1], [1] * 5, [0] * 5])
def test_two_values_are_counted_as_if_every_resample_were_drawn(x):
    y = [0, 0, 1]
    pairs = product(product(x, repeat=5), product(y, repeat=3))
    means = sorted(Fraction(sum(a), 5) - Fraction(sum(b), 3) for a, b in pairs)
    for level in (0.5, 0.9):
        limits = []
        for tail in ((1 - level) / 2, (1 + level) / 2):
            limits.append(float(means[math.ceil(tail * len(means)) - 1]))
        counted = {"method": "percentile", "level": level}
        result = stats.bootstrap_ci((x, y), "mean_difference", **counted)
        assert result[1:3] == pytest.approx(limits)
        assert result.se == pytest.approx(pstdev(map(float, means)))


def test_two_values_are_counted_at_any_size():
    # By the normal distribution: the variance of a mean is that of its values over their number.
    x, y = [0, 0, 1] * 900, [0, 1] * 1_001
    of_x, of_y = 2 / 9 / 2_700, 1 / 4 / 2_002
    far = {"method": "percentile", "level": 0.999}
    single = stats.bootstrap_ci((x,), "mean", **far)
    both = stats.bootstrap_ci((x, y), "mean_difference", **far)
    for result, variance in [(single, of_x), (both, of_x + of_y)]:
        assert (result.exact, result.resamples) == (True, None)
        assert result.se == pytest.approx(math.sqrt(variance))
        assert result.high - result.low == pytest.approx(6.581 * result.se, rel=0.02)


def test_two_values_may_be_any_two():
    # What is true of 0 and 1 is true of −2.5 and 1.5 = 4 × 0 − 2.5 and 4 × 1 − 2.5.
    ones, twos = [0, 1, 1, 1, 0], [0, 0, 1]
    moved = [[4 * value - 2.5 for value in group] for group in (ones, twos)]
    plain = stats.bootstrap_ci((ones, twos), "mean_difference")
    result = stats.bootstrap_ci(moved, "mean_difference")
    assert result[:4] == pytest.approx([4 * value for value in plain[:4]])
    lower = stats.bootstrap_ci((ones,), "mean").low
    assert stats.bootstrap_ci((moved[0],), "mean").low == pytest.approx(4 * lower - 2.5)


def test_clusters_of_one_are_values_drawn_by_themselves():
    for samples, name in [((X,), "median"), ((X, Y), "mean_difference")]:
        alone = stats.bootstrap_ci(samples, name, 999, rng=4)
        labels = [range(30), range(100, 125)][: len(samples)]
        assert stats.bootstrap_ci(samples, name, 999, rng=4, clusters=labels) == alone


def test_a_cluster_of_both_samples_is_drawn_with_what_it_has_in_each():
    # Each bulletin is better by 1 in x: drawn together the difference never moves by itself.
    x, labels = [value + 1 for value in X], range(30)
    together = {"clusters": [labels, labels]}
    result = stats.bootstrap_ci((x, X), "mean_difference", 99, **together)
    assert result.value == pytest.approx(1)
    assert result.se == pytest.approx(0, abs=1e-12)


def test_a_random_object_moves_on():
    rng = random.Random(1)
    first = stats.bootstrap_ci((X, Y), "mean_difference", 200, rng=rng)
    second = stats.bootstrap_ci((X, Y), "mean_difference", 200, rng=rng)
    assert first == stats.bootstrap_ci((X, Y), "mean_difference", 200, rng=1)
    assert first != second


def test_a_median_of_300_values_has_the_limits_of_its_order_statistics():
    result = stats.bootstrap_ci((range(300),), "median", 2_000, rng=5)
    reach = 1.96 * math.sqrt(300 / 4)  # ranks are a binomial's of 300
    assert result[1:3] == pytest.approx([150 - reach, 150 + reach], abs=2)


ROOTS = [math.sqrt(n) for n in (2, 3, 5, 6, 7, 10, 11, 13)]
LOGS = [math.log(n) for n in (5, 6, 7, 11, 13, 14, 15)]


def test_a_seed_gives_the_same_sampled_p_on_every_python():
    once = {"exact": False, "resamples": 999, "rng": 5}
    assert stats.permutation_test(ROOTS, LOGS, **once).p == 0.322
    shifted = [root - 2.2 for root in ROOTS]
    assert stats.sign_flip_test(shifted, **once).p == 0.217
