"""Agreement by hand; a missing test among several; the same digits on every Python."""

import math

import pytest

import stats


def test_agreement_ignores_names_and_order_of_labels():
    ratings = [("a", "a"), ("a", "b"), ("b", "b"), ("a", "a"), ("b", "a"), ("c", "c")]
    renamed = [tuple({"a": 9, "b": 4, "c": 7}[label] for label in row) for row in ratings][::-1]
    assert stats.gwet_ac1(ratings)[:7] == pytest.approx(stats.gwet_ac1(renamed)[:7])


def test_positive_agreement_by_hand():
    # Cicchetti & Feinstein (1990): 2a/(2a + b + c) with a, b, c = 40, 9, 6.
    ratings = [(1, 1)] * 40 + [(1, 0)] * 9 + [(0, 1)] * 6 + [(0, 0)] * 45
    estimate = stats.positive_agreement(ratings, 1)
    assert estimate.value == 80 / 95
    assert estimate.low < estimate.value < estimate.high
    assert stats.positive_agreement([(1, 1, 0), (0, 0, None)], 1).value == 0.5


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
    many = [[i % 3 == 0 for i in range(n)] for n in (97, 101, 103)]
    results = {
        "exact": stats.bootstrap_ci([ones], [zeros])[:4],
        "drawn": stats.bootstrap_ci(many, [ones, [0, 1] * 40], 5)[:4],
        "flipped": stats.sign_flip_test([math.sin(i) for i in range(40)])[:2],
        "welch": stats.welch_t_test(x, y)[:6],
        "g": stats.hedges_g(x, y)[:3],
    }
    assert {k: [f"{v:.12g}" for v in values] for k, values in results.items()} == DIGITS


DIGITS = {
    "exact": ["0.333333333333", "0.0833333333333", "0.583333333333", "0.135550147888"],
    "drawn": ["-0.265284775275", "-0.379901908314", "-0.147591240894", "0.0601172666151"],
    "flipped": ["0.0288274561779", "0.794632053679"],
    "welch": ["-0.0462925716911", "39.8252663729", "0.963308419363", "-0.0142521561558",
              "-0.636568401216", "0.608064088904"],
    "g": ["-0.0138241631493", "-0.596487423084", "0.569003161844"],
}
