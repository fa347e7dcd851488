"""Expected values counted by hand."""

import pytest

from pdbench.core import metrics as m

A = "CCDCDDCC"
B = "CDDCCDDC"


def test_cooperation_rates():
    assert m.cooperation_rate(A) == 5 / 8
    assert m.cooperation_rate(B) == 4 / 8
    assert m.cooperation_rate(A + B) == 9 / 16
    assert m.cooperation_rate("") is None


def test_cooperation_over_time():
    assert m.cooperation_over_time(A, B) == [1, 0.5, 0, 1, 0.5, 0, 0.5, 1]


def test_retaliation_and_forgiveness_share_their_denominator():
    # B defects in rounds 1, 2, 5, 6; A answers D, C, C, C.
    assert m.retaliation_rate(A, B) == 1 / 4
    assert m.forgiveness_rate(A, B) == 3 / 4
    # A defects in rounds 2, 4, 5; B answers C, D, D.
    assert m.retaliation_rate(B, A) == 2 / 3
    assert m.forgiveness_rate(B, A) == 1 / 3


def test_rates_without_an_answered_defection_are_null():
    assert m.retaliation_rate("CDCD", "CCCD") is None
    assert m.forgiveness_rate("C", "D") is None


def test_gap_is_what_the_opponent_got_beyond_the_own_points():
    assert m.exploitability_payoff_gap(100, 600) == 500
    assert m.exploitability_payoff_gap(600, 100) == -500


@pytest.mark.parametrize(("a", "b", "k", "threshold", "t"), [
    ("CCCDDD", "CCCDDD", 3, 0.0, 3),
    ("CCCDDD", "CCCDDD", 4, 0.0, None),   # no whole window of four
    ("CCCDDD", "CCCDDD", 4, 0.25, 2),     # CC, DD, DD, DD: 2 of 8
    ("DDDDDD", "DDDDDD", 6, 0.0, 0),
    ("DDDDD", "DDDDD", 6, 0.0, None),     # the match is shorter than the window
    ("DCDCDC", "DDDDDD", 2, 0.25, 0),
    ("CCDDDDDDDD", "CDDDDDDDDC", 10, 0.2, 0),  # exactly at the threshold: 4 of 20
    ("CCDDDDDDDC", "CDDDDDDDDC", 10, 0.2, None),
    ("CDDC", "CDDC", 2, 0.0, 1),          # a recovery later doesn't undo it
])  # fmt: skip
def test_time_to_collapse(a, b, k, threshold, t):
    assert m.time_to_collapse(a, b, k, threshold) == t


def test_defaults_of_collapse_are_the_specifications():
    for defections, t in ((10, 3), (9, 3), (7, None)):  # at most 4 C of 20
        actions = "C" * 5 + "D" * defections
        assert m.time_to_collapse(actions, actions) == t


def test_averages_leave_out_what_is_not_there():
    assert m.mean([1, None, 3]) == 2
    assert m.mean([None]) is None
    assert m.mean_over_time([[1, 0, 1], [0]]) == [0.5, 0, 1]
