"""Calibration by enumeration: every outcome, weighted by its probability. Nothing is simulated."""

from itertools import product

import stats
from stats.distributions import binomial_pmf

RATES = [0.05, 0.15, 0.3, 0.5, 0.65, 0.8, 0.95]


def test_the_score_interval_covers_a_difference():
    m, n, coverages = 14, 11, []
    limits = {(a, b): stats.score_difference(a, m, b, n)
              for a in range(m + 1) for b in range(n + 1)}
    for p1, p2 in product(RATES, RATES):
        first, second, delta = binomial_pmf(m, p1), binomial_pmf(n, p2), p1 - p2
        coverages.append(sum(first[a] * second[b] for (a, b), limit in limits.items()
                             if limit.low - 1e-9 <= delta <= limit.high + 1e-9))
    assert min(coverages) >= 0.92
    assert 0.945 < sum(coverages) / len(coverages) < 0.965


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
