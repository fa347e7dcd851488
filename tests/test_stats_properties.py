"""What must hold whatever the numbers: symmetry, invariance, order, the same digits everywhere."""

import math
import random

import pytest

import stats

RNG = random.Random(20)
PAIRS = [
    ([RNG.gauss(0, 1) for _ in range(m)], [RNG.gauss(0.4, 2) for _ in range(n)])
    for m, n in ((2, 5), (9, 9), (24, 23), (40, 31))
]
PAIRS += [
    ([RNG.randint(0, 1) for _ in range(24)], [RNG.randint(0, 1) for _ in range(24)]),
    ([RNG.randint(1, 5) for _ in range(12)], [RNG.randint(2, 6) for _ in range(30)]),
]
TABLES = [(3, 10, 7, 12), (0, 9, 4, 20), (24, 24, 20, 24), (1, 2, 30, 300), (0, 5, 0, 8)]


def near(a, b, tolerance=1e-10):
    return abs(a - b) <= tolerance * max(1, abs(b))


@pytest.mark.parametrize("function", [stats.newcombe_difference, stats.score_difference])
def test_swapped_groups_turn_the_sign(function):
    for k1, n1, k2, n2 in TABLES:
        here, there = function(k1, n1, k2, n2), function(k2, n2, k1, n1)
        assert near(here.value, -there.value)
        assert near(here.low, -there.high) and near(here.high, -there.low)
        assert -1 <= here.low <= here.value <= here.high <= 1


@pytest.mark.parametrize(
    "function", [stats.cohens_d, stats.hedges_g, stats.cliffs_delta, stats.welch_t_test]
)
def test_swapped_samples_turn_the_sign(function):
    for x, y in PAIRS:
        here, there = function(x, y), function(y, x)
        assert near(here[0], -there[0])
        assert near(here.low, -there.high) and near(here.high, -there.low)


@pytest.mark.parametrize("function", [stats.cohens_d, stats.hedges_g, stats.cliffs_delta])
def test_effect_sizes_have_no_unit(function):
    for x, y in PAIRS:
        moved = function([3 * v + 7 for v in x], [3 * v + 7 for v in y])
        assert all(near(a, b, 1e-8) for a, b in zip(function(x, y)[:3], moved[:3], strict=True))


def test_wider_level_wider_interval():
    x, y = PAIRS[2]
    functions = [
        lambda level: stats.wilson_interval(5, 24, level),
        lambda level: stats.clopper_pearson(5, 24, level),
        lambda level: stats.score_difference(5, 24, 9, 24, level),
        lambda level: stats.newcombe_difference(5, 24, 9, 24, level),
        lambda level: stats.welch_t_test(x, y, level),
        lambda level: stats.cohens_d(x, y, level),
        lambda level: stats.cliffs_delta(x, y, level),
        lambda level: stats.bootstrap_ci((PAIRS[5][0],), "mean", level=level),
    ]
    for function in functions:
        narrow, wide = function(0.8), function(0.99)
        assert wide.low < narrow.low < narrow.high < wide.high


def test_order_of_the_data_changes_nothing():
    x, y = PAIRS[3]
    shuffled = random.Random(1).sample(x, len(x))
    for function in (stats.welch_t_test, stats.cohens_d, stats.cliffs_delta):
        assert function(x, y) == function(shuffled, y)


def test_agreement_ignores_names_and_order_of_labels():
    ratings = [("a", "a"), ("a", "b"), ("b", "b"), ("a", "a"), ("b", "a"), ("c", "c")]
    renamed = [tuple({"a": 9, "b": 4, "c": 7}[label] for label in row) for row in ratings][::-1]
    pairs = zip(stats.gwet_ac1(ratings)[:7], stats.gwet_ac1(renamed)[:7], strict=True)
    assert all(near(u, v) for u, v in pairs)


def test_positive_agreement_by_hand():
    # Cicchetti & Feinstein (1990): 2a/(2a + b + c) with a, b, c = 40, 9, 6.
    ratings = [(1, 1)] * 40 + [(1, 0)] * 9 + [(0, 1)] * 6 + [(0, 0)] * 45
    estimate = stats.positive_agreement(ratings, 1)
    assert estimate.value == 80 / 95
    assert estimate.low < estimate.value < estimate.high
    assert stats.positive_agreement([(1, 1, 0), (0, 0, None)], 1).value == 0.5


def test_labels_that_may_occur_lower_chance_agreement():
    ratings = [("a", "a"), ("a", "b"), ("b", "b"), ("b", "b")]
    seen, possible = stats.gwet_ac1(ratings), stats.gwet_ac1(ratings, labels="abcd")
    assert possible.chance < seen.chance and possible.value > seen.value


def test_holm_keeps_order_and_never_adjusts_downwards():
    raw = [0.04, None, 0.001, 0.2, 0.03]
    adjusted = stats.holm(raw)
    assert adjusted == pytest.approx([0.09, None, 0.004, 0.2, 0.09])
    assert stats.holm([]) == []


def results_that_lean_on_sums_and_seeds():
    x = [math.sqrt(2 + i * i % 17) for i in range(24)]
    y = [math.sqrt(1 + i * i % 23) for i in range(20)]
    ones, zeros = [1] * 17 + [0] * 7, [1] * 9 + [0] * 15
    differences = [a - b for a, b in zip(x, y, strict=False)]
    return {
        "bca": stats.bootstrap_ci((x, y), "mean_difference", 500, rng=5)[:4],
        "exact": stats.bootstrap_ci((ones, zeros), "mean_difference")[:4],
        "median": stats.bootstrap_ci((list(map(math.sqrt, range(300))),), "median", 50, rng=5)[:4],
        "permuted": stats.permutation_test(x, y, exact=False, resamples=999, rng=5)[:2],
        "flipped": stats.sign_flip_test(differences, exact=False, resamples=999, rng=5)[:2],
        "welch": stats.welch_t_test(x, y)[:6],
        "g": stats.hedges_g(x, y)[:3],
    }


def test_the_same_digits_on_every_python():
    found = results_that_lean_on_sums_and_seeds()
    assert {k: [f"{v:.12g}" for v in values] for k, values in found.items()} == DIGITS


DIGITS = {
    "bca": ["-0.0142521561558", "-0.573262743786", "0.555033509681", "0.292117629231"],
    "exact": ["0.333333333333", "0.0416666666667", "0.583333333333", "0.135550147888"],
    "median": ["12.2270021648", "11.4289708967", "12.9435291489", "0.42078435186"],
    "permuted": ["-0.0142521561558", "0.971"],
    "flipped": ["-0.0709138452681", "0.778"],
    "welch": ["-0.0462925716911", "39.8252663729", "0.963308419363", "-0.0142521561558",
              "-0.636568401216", "0.608064088904"],
    "g": ["-0.0138241631493", "-0.596487423084", "0.569003161844"],
}
