"""Nothing degenerate comes back as a number, and bad input is named."""

import math
import re

import pytest

import stats

ZEROS, ONES = [0] * 10, [1] * 10
REALS = [math.sqrt(n) for n in range(2, 70)]


@pytest.mark.parametrize(
    ("result", "absent", "words"), [
        (stats.wilson_interval(0, 0), "low high", "no observations"),
        (stats.clopper_pearson(0, 0), "low high", "no observations"),
        (stats.newcombe_difference(0, 0, 3, 10), "value low high", "empty"),
        (stats.score_difference(3, 10, 0, 0), "value low high", "empty"),
        (stats.welch_t_test(ZEROS, ONES), "t df p low high", "every value is the same"),
        (stats.welch_t_test([0.1] * 3, [0.1] * 3), "t df p low high", "every value is the same"),
        (stats.welch_t_test([1], [1, 2]), "t df p low high", "fewer than two"),
        (stats.welch_t_test([], [1, 2]), "t df p difference low high", "empty"),
        (stats.t_interval([0.3] * 5), "t df p low high", "every value is the same"),
        (stats.cohens_d(ZEROS, ONES), "value low high", "every value is the same"),
        (stats.cohens_d([0, 1e-9], [5, 5 + 1e-9]), "low high", "standard deviations apart"),
        (stats.hedges_g([1], [2]), "value low high", "fewer than two"),
        (stats.cliffs_delta(ONES, ONES), "low high", "every value is the same"),
        (stats.cliffs_delta([], ONES), "value low high", "empty"),
        (stats.cliffs_delta([2], [1]), "low high", "fewer than two"),
        (stats.bootstrap_ci((ZEROS, ONES), "mean_difference"), "low high se", "is the same"),
        (stats.bootstrap_ci(([],), "mean"), "value low high se", "empty"),
        (stats.bootstrap_ci(([4],), "mean"), "low high se", "fewer than two"),
        (stats.bootstrap_ci(([5] * 30 + [6],), "median", 200), "low high se", "leaving out"),
        (stats.bootstrap_ci(([5] * 30 + [6],), "median", 200, 0.95, "percentile"), "low high se",
         "same value"),
        (stats.permutation_test(ONES, ONES), "p", "every value is the same"),
        (stats.permutation_test([], ONES), "statistic p", "empty"),
        (stats.permutation_test([1, 0], [0, 1], strata=("ab", "cd")), "p", "no block holds both"),
        (stats.sign_flip_test([]), "statistic p", "no differences"),
        (stats.sign_flip_test([0, 0.0, 0]), "p", "every difference is 0"),
        (stats.gwet_ac1([(1, None), (None, 0)]), "value se low high p chance", "no row has two"),
        (stats.gwet_ac1([(1, 1)] * 9), "value se low high p chance", "every rating is the same"),
        (stats.gwet_ac1([(1, 0)] * 4), "se low high p", "disagrees in the same way"),
        (stats.positive_agreement([(0, 0), (0, 0)], 1), "value low high", "no pair"),
    ])
def test_what_cannot_be_computed_is_absent_and_says_why(result, absent, words):
    missing = {name for name, value in result._asdict().items() if value is None}
    assert missing - {"resamples", "observed"} == set(absent.split())
    assert words in result.why


@pytest.mark.parametrize("estimate", [
    stats.score_difference(0, 10, 10, 10), stats.newcombe_difference(0, 10, 10, 10),
    stats.cliffs_delta(ZEROS, ONES)])
def test_complete_separation_keeps_an_honest_width(estimate):
    assert estimate[:2] == (-1, -1) and -1 < estimate.high < 0


def test_complete_agreement_keeps_an_honest_width():
    agreement = stats.gwet_ac1([(0, 0)] * 12 + [(1, 1)] * 8)
    assert (agreement.value, agreement.high, agreement.se) == (1, 1, None)
    assert 0.5 < agreement.low < 1 and "every row agrees" in agreement.why


def test_without_a_group_there_is_no_share_and_no_p_value():
    assert stats.share(3, 10) == (3, 10, 0.3, *stats.wilson_interval(3, 10)[:2])
    assert stats.share(0, 0) == (0, 0, None, None, None)
    assert stats.fisher_exact(0, 0, 3, 5) is stats.binomial_test(0, 0) is None
    assert stats.jaccard(set(), set()) is stats.mean_cosine([{}]) is None


@pytest.mark.parametrize(
    ("call", "sentence"), [
        (lambda: stats.wilson_interval(11, 10), "k: 11 is more than n = 10"),
        (lambda: stats.wilson_interval(1, -1), "n: -1 is not a count"),
        (lambda: stats.clopper_pearson(1.5, 3), "k: 1.5 is not a count"),
        (lambda: stats.wilson_interval(1, 3, 1.0), "level: 1.0 is not between 0 and 1"),
        (lambda: stats.score_difference(1, 3, 4, 3), "k2: 4 is more than n2 = 3"),
        (lambda: stats.newcombe_difference(1, 3, 1, 3, 95), "level: 95 is not between 0 and 1"),
        (lambda: stats.welch_t_test([1, math.nan], [1, 2]), "x: value 1 is nan, not a finite"),
        (lambda: stats.cliffs_delta([1, 2], [None, 2]), "y: value 0 is None, not a finite"),
        (lambda: stats.cohens_h(1.2, 0.1), "p1: 1.2 is not between 0 and 1"),
        (lambda: stats.bootstrap_ci(([1, 2],), "mode"), "statistic: 'mode' is not one of 'mean'"),
        (lambda: stats.bootstrap_ci(([1, 2],), "mean", method="t"), "method: 't' is not one of"),
        (lambda: stats.bootstrap_ci(([1, 2],), "mean", 1), "resamples: 1 is fewer than two"),
        (lambda: stats.bootstrap_ci(([1, 2],), "mean_difference"), "samples: 'mean_difference'"),
        (lambda: stats.bootstrap_ci(([1],) * 3, max), "samples: a tuple of one or two sequences"),
        (lambda: stats.permutation_test([1], [2], "more"), "alternative: 'more' is not one of"),
        (lambda: stats.permutation_test([1], [2], strata=([0], [])), "strata: 0 labels beside 1"),
        (lambda: stats.permutation_test([1], [2], resamples=0), "resamples: 0 is not positive"),
        (lambda: stats.sign_flip_test([1, math.inf]), "differences: value 1 is inf"),
        (lambda: stats.sign_flip_test(REALS, exact=True), "exact: 68 differences"),
        (lambda: stats.permutation_test(REALS[:34], REALS[34:], exact=True), "are too many"),
        (lambda: stats.fisher_exact(1, 2, 3, 2), "k2: 3 is more than n2 = 2"),
        (lambda: stats.binomial_test(1, 2, 1.5), "p: 1.5 is not between 0 and 1"),
        (lambda: stats.holm([0.1, 1.1]), "p_values: 1.1 is not between 0 and 1"),
        (lambda: stats.char_tfidf(["a"], 4, 3), "low: 4 is not between 1 and high = 3"),
        (lambda: stats.word_ngrams("a", 0), "n: 0 is not positive"),
    ])
def test_bad_input_is_named(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()
