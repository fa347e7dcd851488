"""Nothing degenerate comes back as a number, and bad input is named."""

import math
import re

import pytest

import stats

ZEROS, ONES = [0] * 10, [1] * 10
LAST, BOTH = [5] * 30 + [6], "two-sided"
REALS = [math.sqrt(n) for n in range(2, 70)]
APART = {("a", 1): {"x": stats.Count(1, 1, 0)}, ("b", 1): {"y": stats.Count(1, 1, 0)}}
SINGLE = {("a", 1): {"x": stats.Count(1, 1, 0)}, ("a", 2): {"x": stats.Count(1, 1, 0)}}
SAME = "every value is the same"
NO_TEST, NO_LIMITS = "t df p low high", "low high"
ONE_CLUSTER = ([1, 2, 3, 4],), "mean", 99, 0.9, "bca", 0, ["aaaa"]
NOBODY = ([1, 2], []), "mean_difference", 99, 0.9, "bca", 0, ["ab", ""]

# Function, its arguments, the fields that are absent, words of the reason.
ABSENT = [
    ("wilson_interval", (0, 0), NO_LIMITS, "no observations"),
    ("newcombe_difference", (0, 0, 3, 10), "value low high", "empty"),
    ("score_difference", (3, 10, 0, 0), "value low high", "empty"),
    ("welch_t_test", (ZEROS, ONES), NO_TEST, SAME),
    ("welch_t_test", ([1], [1, 2]), NO_TEST, "fewer than two"),
    ("welch_t_test", ([], [1, 2]), "t df p difference low high", "empty"),
    ("t_interval", ([0.3] * 5,), NO_TEST, SAME),
    ("cohens_d", (ZEROS, ONES), "value low high", SAME),
    ("cohens_d", ([0, 1e-9], [5, 5 + 1e-9]), NO_LIMITS, "standard deviations apart"),
    ("cliffs_delta", (ONES, ONES), NO_LIMITS, SAME),
    ("cliffs_delta", ([], ONES), "value low high", "empty"),
    ("cliffs_delta", ([2], [1]), NO_LIMITS, "fewer than two"),
    ("bootstrap_ci", ((ZEROS, ONES), "mean_difference"), "low high se", "is the same"),
    ("bootstrap_ci", (([4],), "mean"), "low high se", "fewer than two"),
    ("bootstrap_ci", ((LAST,), "median", 200), "low high se", "leaving out"),
    ("bootstrap_ci", ((LAST,), max, 20, 0.2, "percentile"), NO_LIMITS, "same value"),
    ("bootstrap_ci", ONE_CLUSTER, "low high se", "two different clusters"),
    ("bootstrap_ci", NOBODY, "value low high se", "empty"),
    ("permutation_test", (ONES, ONES), "p", SAME),
    ("permutation_test", ([], ONES), "statistic p", "empty"),
    ("permutation_test", ([1, 0], [0, 1], BOTH, ("ab", "cd")), "p", "no block holds"),
    ("sign_flip_test", ([],), "statistic p", "no differences"),
    ("sign_flip_test", ([0, 0.0, 0],), "p", "every difference is 0"),
    ("gwet_ac1", ([(1, None)],), "value se low high p chance", "no row has two"),
    ("gwet_ac1", ([(1, 1)] * 9,), "value se low high p chance", "every rating is"),
    ("gwet_ac1", ([(1, 0)] * 4,), "se low high p", "disagrees in the same way"),
    ("positive_agreement", ([(0, 0), (0, 0)], 1), "value low high", "no pair"),
    ("contrast", (APART, {"x": 1, "y": -1}), "value low high se df limit_by", "no bul"),
    ("contrast", (SINGLE, {"x": 1}), "low high se df limit_by", "one bulletin only"),
]


@pytest.mark.parametrize(("name", "arguments", "absent", "words"), ABSENT)
def test_what_cannot_be_computed_is_absent_and_says_why(name, arguments, absent, words):
    result = getattr(stats, name)(*arguments)
    missing = {field for field, value in result._asdict().items() if value is None}
    assert missing - {"resamples", "observed"} == set(absent.split())
    assert words in result.why


@pytest.mark.parametrize("name", ["score_difference", "newcombe_difference"])
def test_groups_in_the_other_order_mirror_the_interval(name):
    function = getattr(stats, name)
    there = function(10, 10, 0, 10)
    back = function(0, 10, 10, 10)
    assert back.value == -there.value
    assert back.low == pytest.approx(-there.high)
    assert back.high == pytest.approx(-there.low)


def test_without_a_group_there_is_no_share_and_no_p_value():
    assert stats.share(0, 0) == (0, 0, None, None, None)
    assert stats.fisher_exact(0, 0, 3, 5) is None
    assert stats.jaccard(set(), set()) is None
    assert stats.mean_cosine([{}]) is None


SHORT = ([1, 2],), "mean", 9, 0.9, "bca", 0, ["abc"]
TWO = ([1, 2],), "mean", 9, 0.9, "bca", 0, ["a", "b"]
UNCOUNTED = REALS[:34], REALS[34:], BOTH, None, True

# Function, its arguments, how the complaint begins.
BAD = [
    ("wilson_interval", (11, 10), "k: 11 is more than n = 10"),
    ("wilson_interval", (1, -1), "n: -1 is not a count"),
    ("score_difference", (1, 3, 4, 3), "k2: 4 is more than n2 = 3"),
    ("fisher_exact", (1, 2, 3, 2), "k2: 3 is more than n2 = 2"),
    ("welch_t_test", ([1, math.nan], [1, 2]), "x: value 1 is nan, not a finite"),
    ("cliffs_delta", ([1, 2], [None, 2]), "y: value 0 is None, not a finite"),
    ("bootstrap_ci", (([1, 2],), "mode"), "statistic: 'mode' is not one of 'mean'"),
    ("bootstrap_ci", (([1, 2],), "mean", 9, 0.9, "t"), "method: 't' is not one of"),
    ("bootstrap_ci", (([1, 2],), "mean", 1), "resamples: 1 is fewer than two"),
    ("bootstrap_ci", (([1, 2],), "mean_difference"), "samples: 'mean_difference'"),
    ("bootstrap_ci", (([1],) * 3, max), "samples: a tuple of one or two sequences"),
    ("bootstrap_ci", SHORT, "clusters[0]: 3 labels beside 2"),
    ("bootstrap_ci", TWO, "clusters: 2 lists of labels beside 1"),
    ("permutation_test", ([1], [2], "more"), "alternative: 'more' is not one of"),
    ("permutation_test", ([1], [2], BOTH, ([0], [])), "strata: 0 labels beside 1"),
    ("permutation_test", ([1], [2], BOTH, None, None, 0), "resamples: 0 is not"),
    ("permutation_test", UNCOUNTED, "are too many"),
    ("sign_flip_test", ([1, math.inf],), "differences: value 1 is inf"),
    ("sign_flip_test", (REALS, BOTH, True), "exact: 68 differences"),
    ("holm", ([0.1, 1.1],), "p_values: 1.1 is not between 0 and 1"),
    ("char_tfidf", (["a"], 4, 3), "low: 4 is not between 1 and high = 3"),
    ("word_ngrams", ("a", 0), "n: 0 is not positive"),
    ("tally", ([("a", "x", 2)],), "outcome: 2 of 'a' in 'x' is not from 0 to 1"),
    ("tally", ([("a", "x", math.nan)],), "outcome: nan of 'a'"),
    ("contrast", ({}, {}), "weights: a contrast of no cells"),
]


@pytest.mark.parametrize(("name", "arguments", "sentence"), BAD)
def test_bad_input_is_named(name, arguments, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        getattr(stats, name)(*arguments)


LEVELLED = {
    "share": (1, 3),
    "wilson_interval": (1, 3),
    "newcombe_difference": (1, 3, 2, 3),
    "score_difference": (1, 3, 2, 3),
    "welch_t_test": ([1, 2], [3, 5]),
    "cohens_d": ([1, 2], [3, 5]),
    "cliffs_delta": ([1, 2], [3, 5]),
    "t_interval": ([1, 2],),
    "gwet_ac1": ([(1, 1), (1, 0)],),
    "positive_agreement": ([(1, 1), (1, 0)],),
    "bootstrap_ci": (([1, 2],), "mean"),
    "contrast": ({}, {"x": 1}),
}


@pytest.mark.parametrize("name", LEVELLED)
def test_a_level_lies_between_0_and_1(name):
    for level in (0, 1):
        with pytest.raises(ValueError, match=f"level: {level} is not between 0 and 1"):
            getattr(stats, name)(*LEVELLED[name], level=level)
