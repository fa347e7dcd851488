"""Calibration by enumeration: every outcome, weighted by its probability. Nothing is simulated."""

import pytest

import stats
from stats.distributions import binomial_pmf

RATES = [0.05, 0.15, 0.3, 0.5, 0.65, 0.8, 0.95]


def difference_coverages(interval, m, n):
    limits = {(a, b): interval(a, b) for a in range(m + 1) for b in range(n + 1)}
    for p1 in RATES:
        for p2 in RATES:
            first, second, delta = binomial_pmf(m, p1), binomial_pmf(n, p2), p1 - p2
            yield sum(
                first[a] * second[b]
                for (a, b), limit in limits.items()
                if limit.low is not None and limit.low - 1e-9 <= delta <= limit.high + 1e-9
            )


def binary(k, n):
    return [1] * k + [0] * (n - k)


@pytest.mark.parametrize(
    ("name", "interval", "least", "lowest", "highest"),
    [
        ("score", lambda a, b: stats.score_difference(a, 14, b, 11), 0.92, 0.945, 0.965),
        ("newcombe", lambda a, b: stats.newcombe_difference(a, 14, b, 11), 0.88, 0.945, 0.975),
        (
            "cliff",
            lambda a, b: stats.cliffs_delta(binary(a, 14), binary(b, 11)),
            0.3,  # no interval where every value is the same: likely at rates of 5% and 95%
            0.92,
            0.98,
        ),
    ],
)
def test_intervals_of_a_difference_cover(name, interval, least, lowest, highest):
    found = list(difference_coverages(interval, 14, 11))
    assert min(found) >= least, name
    assert lowest < sum(found) / len(found) < highest, name


def test_positive_agreement_covers():
    n, found = 25, []
    for both, one in ((0.3, 0.1), (0.1, 0.1), (0.5, 0.3), (0.05, 0.15)):
        truth, covered, seen = 2 * both / (2 * both + one), 0.0, 0.0
        first = binomial_pmf(n, both)
        for a in range(n + 1):
            second = binomial_pmf(n - a, one / (1 - both))
            for b in range(n - a + 1):
                ratings = [(1, 1)] * a + [(1, 0)] * b + [(0, 0)] * (n - a - b)
                _, low, high, _ = stats.positive_agreement(ratings, 1)
                if low is None:
                    continue
                seen += first[a] * second[b]
                covered += first[a] * second[b] * (low <= truth <= high)
        found.append(covered / seen)
    assert all(0.92 < coverage < 0.99 for coverage in found)
