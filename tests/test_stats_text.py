"""Similarity of texts, by brute force: difflib's ratio, sets of words, all pairs."""

import math
from collections import Counter
from difflib import SequenceMatcher
from functools import cache
from itertools import combinations
from random import Random
from statistics import fmean, median

import pytest
from urrp_answers import REFUSAL

import stats
from stats.text import EXACT, SAMPLED, SCOPES, SYMMETRIC, likeness


def ratio(*texts):
    return max(
        SequenceMatcher(None, *both, autojunk=False).ratio()
        for both in (texts, texts[::-1])
    )


def test_sequence_similarity_is_difflibs_ratio_without_its_heuristic():
    # The heuristic drops characters that are frequent in texts of 200 and more.
    rng, pairs = (
        Random(11),
        [("x" * 150 + "abc" * 40, "abc" * 40 + "x" * 150), ("same", "same")],
    )
    assert ratio(*pairs[0]) > 0.5
    pairs += [
        ["".join(rng.choices("aab cé", k=rng.randint(0, 40))) for _ in "12"]
        for _ in range(150)
    ]
    for pair in pairs:
        assert stats.sequence_similarity(*pair) == ratio(*pair), pair


def test_word_ngrams_and_jaccard():
    first = stats.word_ngrams("I can't say that; I can't say it.", 2)
    assert first == {
        ("i", "can't"),
        ("can't", "say"),
        ("say", "that"),
        ("that", "i"),
        ("say", "it"),
    }
    assert (stats.word_ngrams("too short", 3), stats.word_ngrams("A a", 1)) == (
        set(),
        {("a",)},
    )
    assert stats.jaccard(first, stats.word_ngrams("I CAN'T say no", 2)) == 2 / 6
    assert stats.jaccard(set(), first) == 0


def test_characters_come_in_threes_to_fives():
    grams = ["abc", "bcd", "cde", "def", "abcd", "bcde", "cdef", "abcde", "bcdef"]
    assert stats.char_tfidf(["abcdef"]) == [pytest.approx(dict.fromkeys(grams, 1 / 3))]
    assert set(stats.char_tfidf(["a \n b"])[0]) == {"a b"}


# --- similarity of all pairs ---

# Of the six pairs within a group the two in the middle differ: the median lies between them.
TEXTS = {
    "I can't say that, sorry.": Counter(P=1, Q=1),
    "I can't do that, I'm sorry.": Counter(P=1),
    "No. That is not for me to claim.": Counter(P=1, Q=2),
}


def similarity(texts, measure="sequence", scope="all"):
    return likeness(texts, Random(1)).similarity[measure][scope]


def trials_of(texts):
    return [(text, group) for text, by in texts.items() for group in by.elements()]


def of_pairs(trials, scope, compare=ratio):
    return [
        compare(a, b)
        for (a, p), (b, q) in combinations(trials, 2)
        if scope == "all" or (p == q) == (scope == "within")
    ]


@pytest.mark.parametrize("scope", SCOPES)
def test_similarity_is_the_mean_over_all_pairs_of_trials_and_its_interval_the_jackknife(
    scope,
):
    trials, result = trials_of(TEXTS), similarity(TEXTS, scope=scope)
    values = of_pairs(trials, scope)
    left_out = [fmean(of_pairs(trials[:i] + trials[i + 1 :], scope)) for i in range(6)]
    se = math.sqrt(5 / 6 * sum((value - fmean(left_out)) ** 2 for value in left_out))
    half = 2.570582 * se  # Student's t, 97.5%, 5 degrees of freedom (printed tables)
    assert result[:3] == pytest.approx(
        (fmean(values), max(0, fmean(values) - half), min(1, fmean(values) + half)),
        abs=1e-5,
    )
    assert result[3:] == (
        pytest.approx(median(values)),
        pytest.approx(fmean(value >= 0.7 for value in values)),
        len(values),
        None,
    )


def test_two_trials_that_may_be_left_out_make_no_interval():
    texts = {"a b c": Counter("P"), "a b d": Counter("Q"), "x y z": Counter("Q")}
    across = similarity(texts, "jaccard_2", "across")
    assert (
        across[:3] == (pytest.approx(1 / 6), None, None)
        and across.why == "too few texts"
    )


@pytest.mark.parametrize(
    ("texts", "limits"),
    [
        ({REFUSAL: Counter(P=40)}, (1, 0.83887, 1)),  # Wilson's lower bound of 20/20
        # Of 45 pairs 2 × C(5, 2) are the same text. Five disjoint pairs, Wilson for 20/9 of 5:
        # (20/9 + z²/2)/(5 + z²) = .46858, give or take
        # z/(5 + z²) × √(20/9 × 25/9 / 5 + z²/4) = .32843, with z² = 3.8415.
        (
            {"a b c d": Counter(P=5), "w x y z": Counter(P=5)},
            (20 / 45, 0.14015, 0.79701),
        ),
    ],
)
def test_texts_that_are_all_as_alike_have_an_interval_from_disjoint_pairs(
    texts, limits
):
    result = similarity(texts, "jaccard_3")
    assert result[:3] == pytest.approx(limits, abs=2e-5) and result.why == SYMMETRIC


def test_sampled_invariance_is_near_full_enumeration_and_the_same_again():
    draw = Random(5)
    texts = {
        " ".join(draw.choices("ab" if i % 4 else "cdefgh", k=6)) + f" {i}": Counter(
            [f"P{i % 3}", "P3", "P3"][: 1 + i % 3]
        )
        for i in range(EXACT + 30)
    }
    few = likeness(texts, Random(1))
    assert few.sampled == SAMPLED == few.similarity["sequence"]["all"].pairs == 5_000
    reordered = {
        text: Counter(dict(reversed(by.items())))
        for text, by in reversed(texts.items())
    }
    assert likeness(reordered, Random(1)) == few

    @cache
    def grams(text, n):
        words = text.split()
        return set(zip(*(words[i:] for i in range(n)), strict=False))

    for n in (2, 3):
        for scope in SCOPES:
            shares = of_pairs(
                trials_of(texts),
                scope,
                lambda a, b, n=n: (
                    len(grams(a, n) & grams(b, n)) / len(grams(a, n) | grams(b, n))
                ),
            )
            mean = few.similarity[f"jaccard_{n}"][scope].mean
            assert mean == pytest.approx(fmean(shares), abs=0.005)


@pytest.mark.parametrize(
    ("second", "alike"), [("abcdefgxyz", 1.0), ("abcdefwxyz", 0.0)]
)
def test_seven_tenths_alike_count_as_alike(second, alike):
    assert similarity({"abcdefghij": Counter("P"), second: Counter("P")}).alike == alike


def test_no_refusal_nothing_to_compare():
    assert similarity({})[:6] == (*[None] * 5, 0) and similarity({}).why


def test_texts_too_short_for_an_ngram_are_compared_with_longer_ones_alone():
    result = similarity(
        {text: Counter("P") for text in ("a", "b", "c d e")}, "jaccard_3"
    )
    assert (result.pairs, result.mean) == (2, 0.0)
