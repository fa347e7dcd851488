"""Similarity of texts: difflib's ratio, sets of words; TF-IDF is in test_stats_reference.py."""

from difflib import SequenceMatcher
from random import Random

import pytest

import stats


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
