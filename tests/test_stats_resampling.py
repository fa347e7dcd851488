"""Resampling and permutation respect the design, and the exact agrees with the sampled."""

import math
import random
from itertools import product

import pytest

import stats
from stats import permutation

RNG = random.Random(8)
REALS = [RNG.gauss(0, 1) for _ in range(30)], [RNG.gauss(0.7, 1) for _ in range(25)]


def test_permutation_stays_within_blocks():
    # Six pairs, each with its 1 on the same side: two of the 2^6 assignments are as extreme.
    pairs = range(6)
    blocked = stats.permutation_test([1] * 6, [0] * 6, strata=(pairs, pairs))
    assert blocked.exact and blocked.p == pytest.approx(2 / 64)
    assert stats.permutation_test([1] * 6, [0] * 6).p == pytest.approx(2 / 924)


def test_a_confound_between_blocks_is_no_effect():
    # One block cooperates, one does not, and x has more of the first: nothing within blocks.
    x, y = [1] * 9 + [0] * 3, [1] * 3 + [0] * 9
    of_x, of_y = ["high"] * 9 + ["low"] * 3, ["high"] * 3 + ["low"] * 9
    assert stats.permutation_test(x, y).p < 0.05
    assert stats.permutation_test(x, y, strata=(of_x, of_y)).p is None
    x[0], y[-1] = 0, 1
    assert stats.permutation_test(x, y, strata=(of_x, of_y)).p > 0.4


def test_exact_for_binary_data_of_any_size():
    x, y = [1] * 2600 + [0] * 2400, [1] * 2400 + [0] * 2600
    result = stats.permutation_test(x, y)
    assert result.exact and result.resamples is None
    assert result.p == pytest.approx(stats.fisher_exact(2600, 5000, 2400, 5000), rel=1e-9)


def test_two_values_need_not_be_zero_and_one():
    x, y = [2.5, 2.5, 1.5, 2.5], [1.5, 1.5, 2.5, 1.5]
    binary = [v > 2 for v in x], [v > 2 for v in y]
    assert stats.permutation_test(x, y).p == stats.permutation_test(*binary).p


def test_decimal_ties_are_ties():
    # 0.1 + 0.2 - 0.3 is 5.6e-17 in floating point and 0 on paper.
    assert stats.sign_flip_test([0.1, 0.2, -0.3]).p == 1
    tied = stats.permutation_test([0.1, 0.2], [0.3, 0.0], resamples=10)
    assert tied.exact and tied.p == 1


@pytest.mark.parametrize(
    ("unit", "shift"), [(1e-12, 0), (1e9, 0), (1, 1e8), (1 / 3, -7), (0.01, 5)]
)
def test_unit_and_origin_do_not_show(unit, shift):
    x, y = [1, 2, 4, 8, 5], [3, 9, 27, 2]
    moved = [v * unit + shift for v in x], [v * unit + shift for v in y]
    assert stats.permutation_test(*moved).p == stats.permutation_test(x, y).p
    reals = [v * unit + shift for v in REALS[0][:8]], [v * unit + shift for v in REALS[1][:7]]
    assert stats.permutation_test(*reals).p == stats.permutation_test(REALS[0][:8], REALS[1][:7]).p
    assert stats.sign_flip_test([v * unit for v in x + [-7]]).p == stats.sign_flip_test(x + [-7]).p


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_monte_carlo_approaches_the_exact_p(alternative):
    x, y = REALS[0][:8], REALS[1][:9]
    exact = stats.permutation_test(x, y, alternative)
    sampled = stats.permutation_test(x, y, alternative, exact=False, resamples=20_000, rng=3)
    assert exact.exact and not sampled.exact and sampled.resamples == 20_000
    assert abs(sampled.p - exact.p) < 4 * (exact.p * (1 - exact.p) / 20_000) ** 0.5 + 1e-4
    for differences in (x, [1, -1, 2, 1, 1, 3, -2, 1]):  # the second has ties
        exact = stats.sign_flip_test(differences, alternative)
        sampled = stats.sign_flip_test(
            differences, alternative, exact=False, resamples=20_000, rng=3
        )
        assert abs(sampled.p - exact.p) < 4 * (exact.p * (1 - exact.p) / 20_000) ** 0.5 + 1e-4


def test_stratified_monte_carlo_stays_within_blocks():
    pairs = range(6)
    sampled = stats.permutation_test(
        [1] * 6, [0] * 6, strata=(pairs, pairs), exact=False, resamples=20_000
    )
    assert abs(sampled.p - 2 / 64) < 0.006


def test_no_monte_carlo_p_is_zero():
    far = [1000 + i / 7 for i in range(20)], [i / 3 for i in range(20)]
    assert stats.permutation_test(*far, exact=False, resamples=199).p == 1 / 200
    flips = stats.sign_flip_test(far[0], exact=False, resamples=199)
    assert flips.p == 1 / 200


def test_one_sided_p_values_follow_the_direction():
    higher, lower = [5, 6, 7, 9], [1, 2, 3, 4]
    assert stats.permutation_test(higher, lower, "greater").p == pytest.approx(1 / 70)
    assert stats.permutation_test(higher, lower, "less").p == 1
    assert stats.permutation_test(lower, higher, "less").p == pytest.approx(1 / 70)
    assert stats.sign_flip_test([1, 2, 4], "greater").p == 1 / 8
    assert stats.sign_flip_test([1, 2, 4], "less").p == 1


@pytest.mark.parametrize("most_bits", [0, 1 << 25], ids=["by halves", "convolved"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("x", [[3, -1, 4, 1, -5, 9, 2, 6], [1 / 3, 0.5, -0.25, 1, 0, -1 / 6],
                               [7], [-2, 2], [0, 0, 5], [math.pi, -math.e, 1.5, 0.1]])
def test_sign_flips_are_counted_one_by_one(monkeypatch, x, alternative, most_bits):
    monkeypatch.setattr(permutation, "MOST_BITS", most_bits)
    observed, sums = math.fsum(x), [math.fsum(s * v for s, v in zip(signs, x, strict=True))
                                    for signs in product((1, -1), repeat=len(x))]
    beyond = {"two-sided": lambda total: abs(total) > abs(observed) - 1e-9,
              "greater": lambda total: total > observed - 1e-9,
              "less": lambda total: total < observed + 1e-9}[alternative]
    expected = sum(map(beyond, sums)) / len(sums)
    assert stats.sign_flip_test(x, alternative).p == pytest.approx(expected, rel=1e-12)


def test_many_sign_flips_of_a_common_unit_are_binomial():
    # 300 differences of ±1: the sum is twice a binomial count, less 300.
    expected = 2 * sum(math.comb(300, k) for k in range(170, 301)) / 2**300
    result = stats.sign_flip_test([1] * 170 + [-1] * 130)
    assert result.exact and result.p == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("n", "choices"),
    [(3, [0, 1, 5]), (63, range(25)), (64, [0, 3, 8, 24]), (99, [0] * 50 + [1, 9])],
)
def test_sums_of_resamples_are_those_of_whole_number_arithmetic(n, choices):
    from stats.bootstrap import sum_distribution

    rng = random.Random(n)
    values = [*sorted(set(choices))[:3], *(rng.choice(choices) for _ in range(n - 3))]
    ways = {0: 1}
    for _ in range(n):
        merged = {}
        for total, count in ways.items():
            for value in values:
                merged[total + value] = merged.get(total + value, 0) + count
        ways = merged
    found = sum_distribution(values)
    assert list(found) == sorted(found) and set(found) <= set(ways)
    assert all(abs(found.get(total, 0) - count / n**n) < 1e-15 for total, count in ways.items())


def test_computed_and_sampled_bootstrap_agree():
    x, y = [0, 1, 1, 2, 3, 3, 0, 2, 1, 1] * 2, [0, 0, 1, 0, 2, 0, 1] * 2
    for method in ("bca", "percentile"):
        exact = stats.bootstrap_ci((x, y), "mean_difference", method=method)
        sampled = stats.bootstrap_ci(
            (x, y), lambda a, b: sum(a) / 20 - sum(b) / 14, 20_000, method=method, rng=4
        )
        assert exact.exact and exact.resamples is None and not sampled.exact
        assert exact.low == pytest.approx(sampled.low, abs=0.03)
        assert exact.high == pytest.approx(sampled.high, abs=0.03)
        assert exact.se == pytest.approx(sampled.se, rel=0.03)


def test_strata_are_resampled_apart_and_weigh_the_same():
    first, second = [0, 1, 1, 0, 1, 1, 1, 0], [1, 0, 0, 1]
    for x, y in ((first, second), (REALS[0], REALS[1][:9])):
        for method in ("bca", "percentile"):
            one = stats.bootstrap_ci(([x, y],), "mean", 20_000, method=method, rng=1)
            two = stats.bootstrap_ci(
                (x, y), lambda a, b: sum(a) / len(a) / 2 + sum(b) / len(b) / 2, 20_000,
                method=method, rng=2)  # fmt: skip
            assert one.exact is (x is first) and one.value == pytest.approx(two.value)
            assert one[1:4] == pytest.approx(two[1:4], abs=0.03)
            lower = stats.bootstrap_ci(([[0]], [x, y]), "mean_difference")
            assert lower.value == pytest.approx(-one.value) and lower.why


def test_names_and_functions_give_the_same_interval():
    mean = stats.bootstrap_ci((REALS[0],), "mean", 800, rng=6)
    assert mean[:4] == pytest.approx(
        stats.bootstrap_ci((REALS[0],), lambda x: sum(x) / len(x), 800, rng=6)[:4]
    )
    # More values than a byte has indices: the other way of drawing.
    many = REALS[0] * 10
    assert stats.bootstrap_ci((many,), "mean", 300, rng=6)[:4] == pytest.approx(
        stats.bootstrap_ci((many,), lambda x: sum(x) / len(x), 300, rng=6)[:4]
    )


def test_the_seed_decides_and_a_random_object_moves_on():
    once, again = (stats.bootstrap_ci(REALS, "mean_difference", 200, rng=1) for _ in "ab")
    assert once == again != stats.bootstrap_ci(REALS, "mean_difference", 200, rng=2)
    rng = random.Random(1)
    assert stats.bootstrap_ci(REALS, "mean_difference", 200, rng=rng) == once
    assert stats.bootstrap_ci(REALS, "mean_difference", 200, rng=rng) != once
