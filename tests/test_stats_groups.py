"""The permutation test of k groups: beside the peers' values of test_stats_reference.py, what holds
for any groups, and what is no test."""

import math

import pytest

import stats

SHORT, SHORTER = [1.25, 3.5, -0.75, 2.0], [4.5, 2.25, 6.0]
THREE = [SHORT, SHORTER, [0.5, 2.75]]
REALS = [math.sqrt(n) for n in range(2, 68)]


@pytest.mark.parametrize(
    ("x", "y"), [(SHORT, SHORTER), ([0, 1, 1] * 9, [0, 0, 0, 1] * 7)]
)
def test_two_groups_are_as_far_apart_as_their_means(x, y):
    expected = stats.permutation_test(x, y)
    result = stats.permutation_anova([x, y])
    assert result.exact and result.p == pytest.approx(expected.p, rel=1e-12)


@pytest.mark.parametrize("statistic", ["mean", "rank"])
def test_groups_may_stand_in_any_order_and_unit(statistic):
    expected = stats.permutation_anova(THREE, statistic)
    moved = [[1000 * value - 7 for value in group] for group in reversed(THREE)]
    result = stats.permutation_anova(moved, statistic)
    assert result.statistic == pytest.approx(expected.statistic, rel=1e-6)
    assert result.p == pytest.approx(expected.p, rel=1e-12)


@pytest.mark.parametrize("statistic", ["mean", "rank"])
def test_sampling_approaches_the_exact_p(statistic):
    p = stats.permutation_anova(THREE, statistic).p
    drawn = stats.permutation_anova(
        THREE, statistic, exact=False, resamples=20_000, rng=3
    )
    assert (drawn.exact, drawn.resamples) == (False, 20_000)
    assert abs(drawn.p - p) < 4 * math.sqrt(p * (1 - p) / 20_000) + 1e-4


def test_groups_with_too_many_different_sums_are_sampled():
    many = [REALS[:22], REALS[22:44], REALS[44:]]
    assert stats.permutation_anova(many, resamples=20)[2:4] == (20, False)
    with pytest.raises(ValueError, match="more than 100000 sums"):
        stats.permutation_anova(many, exact=True)


@pytest.mark.parametrize(
    ("groups", "empty", "why"),
    [
        ([[1, 1], [1]], "statistic p", "every value is the same"),
        ([[1, 2], []], "statistic p", "empty"),
        ([[1, 1], [2, 2]], "statistic", "F has no value"),
    ],
)
def test_what_cannot_be_computed_is_none_and_says_why(groups, empty, why):
    result = stats.permutation_anova(groups)
    assert all(getattr(result, name) is None for name in empty.split())
    assert why in result.why


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (([[1, 2]],), "groups: two or more are needed, not 1"),
        (([[1], ["b"]],), "groups.1.: value 0 is 'b', not a finite"),
        (([[1], [2]], "median"), "statistic: 'median' is not one of"),
        (([[1], [2]], "mean", None, 0), "resamples: 0 is not positive"),
    ],
)
def test_wrong_arguments_are_named(arguments, told):
    with pytest.raises(ValueError, match=told):
        stats.permutation_anova(*arguments)
