"""Agreement by hand and by enumeration; a missing test among several; the same digits on every
Python."""

import math

import pytest

import stats
from stats.distributions import binomial_pmf


@pytest.mark.parametrize("interval", [
    lambda level: stats.newcombe_difference(5, 24, 9, 24, level),
    lambda level: stats.t_interval([1, 3, 4, 8], level),
    lambda level: stats.gwet_ac1([(0, 0), (0, 1), (1, 1), (1, 1)] * 9, level),
    lambda level: stats.positive_agreement([(0, 0), (0, 1), (1, 1), (1, 1)] * 9, 1, level)])
def test_wider_level_wider_interval(interval):
    narrow, wide = interval(0.8), interval(0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_positive_agreement_by_hand():
    # Cicchetti & Feinstein (1990): 2a/(2a + b + c) with a, b, c = 40, 9, 6.
    ratings = [(1, 1)] * 40 + [(1, 0)] * 9 + [(0, 1)] * 6 + [(0, 0)] * 45
    estimate = stats.positive_agreement(ratings, 1)
    assert estimate.value == 80 / 95
    assert estimate.low < estimate.value < estimate.high
    assert stats.positive_agreement([(1, 1, 0), (0, 0, None)], 1).value == 0.5


def test_positive_agreement_covers():
    n, result = 25, []
    for both, single in ((0.3, 0.1), (0.1, 0.1), (0.5, 0.3), (0.05, 0.15)):
        truth, covered, seen = 2 * both / (2 * both + single), 0.0, 0.0
        first = binomial_pmf(n, both)
        for a in range(n + 1):
            second = binomial_pmf(n - a, single / (1 - both))
            for b in range(n - a + 1):
                ratings = [(1, 1)] * a + [(1, 0)] * b + [(0, 0)] * (n - a - b)
                _, low, high, _ = stats.positive_agreement(ratings, 1)
                if low is None:
                    continue
                seen += first[a] * second[b]
                covered += first[a] * second[b] * (low <= truth <= high)
        result.append(covered / seen)
    assert all(0.92 < coverage < 0.99 for coverage in result)


def test_labels_that_may_occur_lower_chance_agreement():
    ratings = [("a", "a"), ("a", "b"), ("b", "b"), ("b", "b")]  # 3/8 of the labels are a
    assert stats.gwet_ac1(ratings).chance == 2 * 3 / 8 * 5 / 8
    assert stats.gwet_ac1(ratings, labels="abcd").chance == pytest.approx(2 * 3 / 8 * 5 / 8 / 3)


def test_holm_keeps_order_and_never_adjusts_downwards():
    adjusted = stats.holm([0.04, None, 0.001, 0.2, 0.03])
    assert adjusted == pytest.approx([0.09, None, 0.004, 0.2, 0.09])
    assert stats.holm([]) == []


def test_the_same_digits_on_every_python():
    x = [math.sqrt(2 + i * i % 17) for i in range(24)]
    y = [math.sqrt(1 + i * i % 23) for i in range(20)]
    ones, zeros = [1] * 17 + [0] * 7, [1] * 9 + [0] * 15
    differences = [a - b for a, b in zip(x, y, strict=False)]
    results = {
        "bca": stats.bootstrap_ci((x, y), "mean_difference", 500, rng=5)[:4],
        "exact": stats.bootstrap_ci((ones, zeros), "mean_difference")[:4],
        "median": stats.bootstrap_ci((list(map(math.sqrt, range(300))),), "median", 50, rng=5)[:4],
        "permuted": stats.permutation_test(x, y, exact=False, resamples=999, rng=5)[:2],
        "flipped": stats.sign_flip_test(differences, exact=False, resamples=999, rng=5)[:2],
    }
    assert {k: [f"{v:.12g}" for v in values] for k, values in results.items()} == DIGITS


DIGITS = {
    "bca": ["-0.0142521561558", "-0.573262743786", "0.555033509681", "0.292117629231"],
    "exact": ["0.333333333333", "0.0416666666667", "0.583333333333", "0.135550147888"],
    "median": ["12.2270021648", "11.4289708967", "12.9435291489", "0.42078435186"],
    "permuted": ["-0.0142521561558", "0.971"],
    "flipped": ["-0.0709138452681", "0.781"],
}
