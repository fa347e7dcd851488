"""Similarity of texts, by brute force: difflib's ratio, sets of words, all pairs."""

import math
from collections import Counter
from difflib import SequenceMatcher
from itertools import combinations
from random import Random
from statistics import fmean, median

import pytest
from urrp_answers import REFUSAL

import stats
from stats.text import EXACT, SAMPLED, SCOPES, SYMMETRIC, likeness


def ratio(a, b):
    there = SequenceMatcher(None, a, b, autojunk=False).ratio()
    back = SequenceMatcher(None, b, a, autojunk=False).ratio()
    return max(there, back)


def test_sequence_similarity_is_difflibs_ratio_without_its_heuristic():
    # The heuristic drops characters that are frequent in texts of 200 and more.
    frequent = "x" * 150 + "abc" * 40, "abc" * 40 + "x" * 150
    assert stats.sequence_similarity(*frequent) == ratio(*frequent) > 0.5
    assert stats.sequence_similarity("same", "same") == 1
    rng = Random(11)
    for _ in range(150):
        a = "".join(rng.choices("aab cé", k=rng.randint(0, 40)))
        b = "".join(rng.choices("aab cé", k=rng.randint(0, 40)))
        assert stats.sequence_similarity(a, b) == ratio(a, b), (a, b)


def test_word_ngrams_and_jaccard():
    first = stats.word_ngrams("I can't say that; I can't say it.", 2)
    pairs = ["i can't", "can't say", "say that", "that i", "say it"]
    assert first == {tuple(pair.split()) for pair in pairs}
    assert stats.word_ngrams("too short", 3) == set()
    assert stats.word_ngrams("A a", 1) == {("a",)}
    assert stats.jaccard(first, stats.word_ngrams("I CAN'T say no", 2)) == 2 / 6
    assert stats.jaccard(set(), first) == 0


def test_characters_come_in_threes_to_fives():
    grams = ["abc", "bcd", "cde", "def", "abcd", "bcde", "cdef", "abcde", "bcdef"]
    assert stats.char_tfidf(["abcdef"]) == [pytest.approx(dict.fromkeys(grams, 1 / 3))]
    assert set(stats.char_tfidf(["a \n b"])[0]) == {"a b"}


# --- similarity of all pairs ---

# Of the six pairs within a group the two in the middle differ: the median lies between them.
TRIALS = [
    ("I can't say that, sorry.", "P"),
    ("I can't say that, sorry.", "Q"),
    ("I can't do that, I'm sorry.", "P"),
    ("No. That is not for me to claim.", "P"),
    ("No. That is not for me to claim.", "Q"),
    ("No. That is not for me to claim.", "Q"),
]


def counted(trials):
    texts = {}
    for text, group in trials:
        texts.setdefault(text, Counter())[group] += 1
    return texts


def similarity(trials, measure="sequence", scope="all"):
    return likeness(counted(trials), Random(1)).similarity[measure][scope]


def of_pairs(trials, scope, compare=ratio):
    values = []
    for (a, p), (b, q) in combinations(trials, 2):
        if scope == "all" or (p == q) == (scope == "within"):
            values.append(compare(a, b))
    return values


@pytest.mark.parametrize("scope", SCOPES)
def test_similarity_is_the_mean_over_all_pairs_of_trials(scope):
    values, result = of_pairs(TRIALS, scope), similarity(TRIALS, scope=scope)
    assert result.mean == pytest.approx(fmean(values))
    assert result.median == pytest.approx(median(values))
    assert result.alike == pytest.approx(fmean(value >= 0.7 for value in values))
    assert (result.pairs, result.why) == (len(values), None)


@pytest.mark.parametrize("scope", SCOPES)
def test_its_interval_is_the_jackknife_over_trials(scope):
    left_out = []
    for i in range(6):
        rest = TRIALS[:i] + TRIALS[i + 1 :]
        left_out.append(fmean(of_pairs(rest, scope)))
    centre, result = fmean(left_out), similarity(TRIALS, scope=scope)
    se = math.sqrt(5 / 6 * sum((value - centre) ** 2 for value in left_out))
    half = 2.570582 * se  # Student's t, 97.5%, 5 degrees of freedom (printed tables)
    assert result.low == pytest.approx(max(0, result.mean - half), abs=1e-5)
    assert result.high == pytest.approx(min(1, result.mean + half), abs=1e-5)


def test_two_trials_that_may_be_left_out_make_no_interval():
    trials = [("a b c", "P"), ("a b d", "Q"), ("x y z", "Q")]
    across = similarity(trials, "jaccard_2", "across")
    assert across.mean == pytest.approx(1 / 6)
    assert (across.low, across.high, across.why) == (None, None, "too few texts")


SYMMETRICAL = [
    ([(REFUSAL, "P")] * 40, (1, 0.83887, 1)),  # Wilson's lower bound of 20/20
    # Of 45 pairs 2 × C(5, 2) are the same text. Five disjoint pairs, Wilson for 20/9 of 5:
    # (20/9 + z²/2)/(5 + z²) = .46858, give or take
    # z/(5 + z²) × √(20/9 × 25/9 / 5 + z²/4) = .32843, with z² = 3.8415.
    ([("a b c d", "P"), ("w x y z", "P")] * 5, (20 / 45, 0.14015, 0.79701)),
]


@pytest.mark.parametrize(("trials", "limits"), SYMMETRICAL)
def test_texts_that_are_all_as_alike_have_an_interval_from_disjoint_pairs(
    trials, limits
):
    result = similarity(trials, "jaccard_3")
    assert result[:3] == pytest.approx(limits, abs=2e-5)
    assert result.why == SYMMETRIC


def many_trials():
    draw = Random(5)
    for i in range(EXACT + 30):
        letters = "ab" if i % 4 else "cdefgh"
        text = " ".join(draw.choices(letters, k=6)) + f" {i}"
        yield text, f"P{i % 3}"
        for _ in range(i % 3):
            yield text, "P3"


def shared_pairs_of_words(a, b):
    return stats.jaccard(stats.word_ngrams(a, 2), stats.word_ngrams(b, 2))


def test_sampled_invariance_is_near_full_enumeration():
    trials = list(many_trials())
    few = likeness(counted(trials), Random(1))
    assert few.sampled == SAMPLED == 5_000
    for scope in SCOPES:
        expected = fmean(of_pairs(trials, scope, shared_pairs_of_words))
        mean = few.similarity["jaccard_2"][scope].mean
        assert mean == pytest.approx(expected, abs=0.005)


def test_the_order_of_trials_does_not_show_in_a_sample():
    trials = list(many_trials())
    reordered = likeness(counted(trials[::-1]), Random(1), ["jaccard_3"])
    assert reordered == likeness(counted(trials), Random(1), ["jaccard_3"])


ALIKE = [("abcdefgxyz", 1.0), ("abcdefwxyz", 0.0)]


@pytest.mark.parametrize(("second", "alike"), ALIKE)
def test_seven_tenths_alike_count_as_alike(second, alike):
    assert similarity([("abcdefghij", "P"), (second, "P")]).alike == alike


def test_no_refusal_nothing_to_compare():
    result = similarity([])
    assert (result.mean, result.low, result.pairs) == (None, None, 0)
    assert result.why == "no two texts to compare"


def test_texts_too_short_for_an_ngram_are_compared_with_longer_ones_alone():
    result = similarity([("a", "P"), ("b", "P"), ("c d e", "P")], "jaccard_3")
    assert (result.pairs, result.mean) == (2, 0.0)
