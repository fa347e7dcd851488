"""Similarity of all pairs of texts, against brute force."""

import difflib
import itertools
import math
import random
import statistics
from collections import Counter

import pytest
from urrp_answers import REFUSAL

from stats.text import EXACT, SAMPLED, SCOPES, SYMMETRIC, likeness


def rng():
    return random.Random(1)


TEXTS = {
    "I can't say that, sorry.": Counter({"P": 2, "Q": 1}),
    "I can't do that, I'm sorry.": Counter({"P": 1}),
    "No. That is not for me to claim.": Counter({"Q": 2}),
}
TRIALS = [(t, p) for t, by in TEXTS.items() for p, n in by.items() for _ in range(n)]


def pairs(trials, scope):
    return [
        (a, b)
        for a, b in itertools.combinations(trials, 2)
        if scope == "all" or (a[1] == b[1]) == (scope == "within")
    ]


def ratio(a, b):
    return max(
        difflib.SequenceMatcher(None, x, y, autojunk=False).ratio() for x, y in ((a, b), (b, a))
    )


@pytest.mark.parametrize("scope", ["all", "within", "across"])
def test_similarity_is_the_mean_over_all_pairs_of_trials(scope):
    values = [ratio(a[0], b[0]) for a, b in pairs(TRIALS, scope)]
    result = likeness(TEXTS, rng()).similarity["sequence"][scope]
    assert result.pairs == len(values)
    assert result.mean == pytest.approx(statistics.fmean(values))
    assert result.median == pytest.approx(statistics.median(values))
    assert result.alike == pytest.approx(sum(v >= 0.7 for v in values) / len(values))


@pytest.mark.parametrize("scope", ["all", "within", "across"])
def test_its_interval_is_the_jackknife_over_trials(scope):
    def mean(trials):
        return statistics.fmean(ratio(a[0], b[0]) for a, b in pairs(trials, scope))

    n = len(TRIALS)
    left_out = [mean(TRIALS[:i] + TRIALS[i + 1 :]) for i in range(n)]
    centre = statistics.fmean(left_out)
    se = math.sqrt((n - 1) / n * sum((v - centre) ** 2 for v in left_out))
    result = likeness(TEXTS, rng()).similarity["sequence"][scope]
    t = 2.570582  # Student's t, 97.5%, 5 degrees of freedom (printed tables)
    assert result.low == pytest.approx(max(0, mean(TRIALS) - t * se), abs=1e-5)
    assert result.high == pytest.approx(min(1, mean(TRIALS) + t * se), abs=1e-5)


def test_the_median_of_an_even_number_of_pairs_lies_between_the_two_in_the_middle():
    texts = ["a b c d", "a b c e f g", "a h x y", "v w q"]
    values = [ratio(*pair) for pair in itertools.combinations(texts, 2)]
    result = likeness({text: Counter({"P": 1}) for text in texts}, rng()).similarity["sequence"]
    assert result["all"].median == pytest.approx(statistics.median(values))
    assert sorted(values)[2] < statistics.median(values) < sorted(values)[3]


def test_two_trials_that_may_be_left_out_make_no_interval():
    texts = {"a b c": Counter({"P": 1}), "a b d": Counter({"Q": 1}), "x y z": Counter({"Q": 1})}
    across = likeness(texts, rng()).similarity["jaccard_2"]["across"]
    assert across.mean == pytest.approx(1 / 6) and across.low is None
    assert across.why == "too few texts"


def test_a_single_text_has_an_interval_from_disjoint_pairs():
    result = likeness({REFUSAL: Counter({"P": 40})}, rng()).similarity["jaccard_3"]["all"]
    assert result.mean == result.high == 1.0
    assert result.low == pytest.approx(0.83887, abs=1e-5)  # Wilson's lower bound of 20/20
    assert result.why == SYMMETRIC


def test_balanced_templates_differ_and_have_an_interval():
    texts = {"a b c d": Counter({"P": 5}), "w x y z": Counter({"P": 5})}
    result = likeness(texts, rng()).similarity["jaccard_3"]["all"]
    assert result.mean == pytest.approx(20 / 45)  # of 45 pairs 2 × C(5, 2) are the same text
    # Five disjoint pairs, Wilson for 20/9 of 5: (20/9 + z²/2)/(5 + z²) = .46858, give or take
    # z/(5 + z²) × √(20/9 × 25/9 / 5 + z²/4) = .32843, with z² = 3.8415.
    assert (result.low, result.high) == pytest.approx((0.14015, 0.79701), abs=2e-5)


def many():
    draw = random.Random(5)
    words = ["can", "not", "say", "that", "this", "request", "sorry", "claim"]
    return {" ".join(draw.choices(words, k=6)) + f" {i}":
            Counter([f"P{i % 3}", "P3", "P3"][:1 + i % 3]) for i in range(EXACT + 30)}


def test_sampled_invariance_is_near_full_enumeration_and_the_same_again():
    texts = many()
    few = likeness(texts, rng())
    assert few.sampled == SAMPLED == few.similarity["sequence"]["all"].pairs == 5_000
    turned = {text: Counter(dict(reversed(by.items()))) for text, by in reversed(texts.items())}
    assert likeness(turned, rng()) == few
    for n in (2, 3):
        means = {scope: few.similarity[f"jaccard_{n}"][scope].mean for scope in SCOPES}
        assert means == pytest.approx(brute(texts, n), abs=0.005)


def grams(text, n):
    words = text.split()
    return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}


def brute(texts, n):
    """{scope: mean Jaccard of n-grams} over all pairs of trials."""
    trials = [(grams(t, n), p) for t, by in texts.items() for p, k in by.items() for _ in range(k)]
    sums = Counter()
    for (a, p), (b, q) in itertools.combinations(trials, 2):
        for scope in ("all", "within" if p == q else "across"):
            sums[scope] += len(a & b) / len(a | b)
            sums[scope, "n"] += 1
    return {scope: sums[scope] / sums[scope, "n"] for scope in SCOPES}


@pytest.mark.parametrize(("second", "alike"), [("abcdefgxyz", 1.0), ("abcdefwxyz", 0.0)])
def test_seven_tenths_alike_count_as_alike(second, alike):
    texts = {"abcdefghij": Counter({"P": 1}), second: Counter({"P": 1})}
    assert likeness(texts, rng()).similarity["sequence"]["all"].alike == alike


def test_no_refusal_nothing_to_compare():
    result = likeness({}, rng()).similarity["sequence"]["all"]
    assert (result.mean, result.low, result.pairs) == (None, None, 0) and result.why


def test_texts_too_short_for_an_ngram_are_compared_with_longer_ones_alone():
    short = {"a": Counter({"P": 1}), "b": Counter({"P": 1})}
    result = likeness(short | {"c d e": Counter({"P": 1})}, rng()).similarity["jaccard_3"]["all"]
    assert (result.pairs, result.mean) == (2, 0.0)
