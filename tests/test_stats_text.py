"""Similarity of texts against the standard library's difflib, and by hand."""

import difflib
import random
from itertools import combinations
from pathlib import Path

import pytest

import stats

WORDS = (Path(__file__).parents[1] / "LICENSE").read_text(encoding="utf-8").split()


def difflib_ratio(a, b):
    return max(
        difflib.SequenceMatcher(None, first, second, autojunk=False).ratio()
        for first, second in ((a, b), (b, a))
    )


def test_sequence_similarity_is_difflibs_ratio():
    rng = random.Random(11)
    for _ in range(150):
        a, b = ("".join(rng.choices("aab cé", k=rng.randint(0, 40))) for _ in "12")
        assert stats.sequence_similarity(a, b) == difflib_ratio(a, b), (a, b)


def test_long_texts_are_not_distorted():
    # The default heuristic drops characters that are frequent in texts of 200 and more.
    a, b = "x" * 150 + "abc" * 40, "abc" * 40 + "x" * 150
    assert stats.sequence_similarity(a, b) == difflib_ratio(a, b) > 0.5


def test_word_ngrams_and_jaccard():
    first = stats.word_ngrams("I can't say that; I can't say it.", 2)
    assert first == {("i", "can't"), ("can't", "say"), ("say", "that"), ("that", "i"),
                     ("say", "it")}
    assert stats.word_ngrams("too short", 3) == set()
    assert stats.jaccard(first, stats.word_ngrams("I CAN'T say no", 2)) == 2 / 6
    assert stats.jaccard(set(), first) == 0


def test_mean_cosine_is_the_mean_over_all_pairs():
    vectors = stats.char_tfidf([" ".join(WORDS[i : i + 12]) for i in range(0, 90, 6)] + [""])
    cosines = [sum(a[gram] * b[gram] for gram in a.keys() & b.keys())
               for a, b in combinations(vectors, 2)]
    mean = sum(cosines) / len(cosines)
    assert stats.mean_cosine(vectors) == pytest.approx(mean, abs=1e-12)


def test_character_ngrams_weigh_by_count_and_rarity():
    """N = 2: "a" stands in one text, "b" in both: 2 × (ln(3/2) + 1) and 1 × (ln(3/3) + 1)."""
    first, second = stats.char_tfidf(["aaB", "b"], 1, 1)
    assert first == pytest.approx({"a": 0.942155, "b": 0.335176}, abs=1e-6)
    assert second == {"b": 1.0}


def test_characters_come_in_threes_to_fives():
    grams = ["abc", "bcd", "cde", "def", "abcd", "bcde", "cdef", "abcde", "bcdef"]
    assert stats.char_tfidf(["abcdef"]) == [pytest.approx(dict.fromkeys(grams, 1 / 3))]
    assert set(stats.char_tfidf(["a \n b"])[0]) == {"a b"}
