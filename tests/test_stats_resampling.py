"""Sign flips and the bootstrap: what is counted is every choice, and what is sampled is near it."""

import math
import random
from itertools import product

import pytest

import stats

RNG = random.Random(8)
REALS = [RNG.gauss(0.3, 1) for _ in range(40)]


@pytest.mark.parametrize("x", [
    [3, -1, 4, 1, -5, 9, 2, 6], [1 / 3, 0.5, -0.25, 1, 0, -1 / 6], [7], [-2, 2], [0, 0, 5],
    [math.pi, -math.e, 1.5, 0.1], [0.1, 0.2, -0.3],
    [1000.5, 3000.25, -math.sqrt(2), math.pi, 1e-3, 700, -40.125]])
@pytest.mark.parametrize("unit", [1, 1e-12, 1e9, 1 / 3])
def test_sign_flips_are_counted(x, unit):
    observed = abs(math.fsum(x))
    sums = [math.fsum(s * v for s, v in zip(signs, x, strict=True))
            for signs in product((1, -1), repeat=len(x))]
    expected = sum(abs(total) > observed - 1e-9 for total in sums) / len(sums)
    assert stats.sign_flip_test([v * unit for v in x]).p == pytest.approx(expected, rel=1e-12)


def test_many_sign_flips_of_a_common_unit_are_binomial():
    # 300 differences of ±1: the sum is twice a binomial count, less 300.
    expected = 2 * sum(math.comb(300, k) for k in range(170, 301)) / 2**300
    result = stats.sign_flip_test([1] * 170 + [-1] * 130)
    assert result.exact and result.p == pytest.approx(expected, rel=1e-12)


def test_sign_flips_are_exact_up_to_34_values_and_sampled_beyond():
    assert stats.sign_flip_test(REALS[:34]).exact
    sampled = stats.sign_flip_test(REALS[:35])
    assert not sampled.exact and sampled.resamples == 100_000
    assert sampled == stats.sign_flip_test(REALS[:35])
    # By the normal distribution: the sum of random signs has the variance Σd².
    z = abs(sum(REALS[:35])) / math.sqrt(sum(v * v for v in REALS[:35]))
    assert sampled.p == pytest.approx(math.erfc(z / math.sqrt(2)), abs=0.02)


def test_no_sampled_p_is_zero():
    assert stats.sign_flip_test([1000 + abs(v) for v in REALS]).p == 1 / 100_001


def test_outcomes_are_permuted_exactly_at_any_size():
    x, y = [1] * 2600 + [0] * 2400, [1] * 2400 + [0] * 2600
    result = stats.permutation_test(x, y)  # the groups are of one size: as Fisher's exact test
    assert (result.exact, result.resamples, result.statistic) == (True, None, 0.52 - 0.48)
    assert result.p == pytest.approx(stats.fisher_exact(2600, 5000, 2400, 5000), rel=1e-9)


def test_where_sums_are_too_many_the_bootstrap_draws_them():
    x, y = [[i % 3 == 0 for i in range(n)] for n in (97, 101, 103)], [[0, 1] * 40, [0, 0, 1] * 41]
    first, again, other = (stats.bootstrap_ci(x, y, rng) for rng in (1, random.Random(1), 2))
    assert first == again != other
    assert (first.exact, first.resamples) == (False, 10_000)
    # By the normal distribution: the variance of a side is that of its strata over their number².
    parts = [(sum(s) / len(s) * (1 - sum(s) / len(s)) / len(s), len(side))
             for side in (x, y) for s in side]
    se = math.sqrt(sum(variance / n**2 for variance, n in parts))
    assert first.se == pytest.approx(se, rel=0.03)
    assert (first.low, first.high) == pytest.approx(
        (first.value - 1.96 * se, first.value + 1.96 * se), abs=0.06 * se)
