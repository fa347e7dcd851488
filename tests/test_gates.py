"""The six gates: the specification's rule, and what the data establish."""

import math

import pytest
from study_rows import cells, decision

from cirrus.judge import gates as g
from cirrus.judge.endpoint import cliffs_delta, effect, verdict

HPL, LAL = ("high", "present", "low"), ("low", "absent", "low")


def planted(shares, n=20, **more):
    """Two agents a pair of shares of n: {HP: k of n, LA: k of n}, one pair a unit."""
    return [row for at, (x, y) in enumerate(shares) for row in cells(
        {HPL: [1] * x + [0] * (n - x), LAL: [1] * y + [0] * (n - y)}, f"a{at:02d}", **more)]


STRONG = [(16, 6), (17, 5), (15, 7), (16, 4), (18, 6), (16, 8), (17, 6), (15, 5)]  # +50 points
WEAK = [(11, 10), (9, 10), (11, 9), (10, 11), (11, 10), (10, 9), (9, 10), (12, 10)]
BY_MODEL = {"with_policy": {"separated": False, "why": None,
                            "primary": {"p": 0.001, "estimate": 2.0}}}


def board(**rows):
    design = effect(rows["main"])
    met, why = verdict(design, BY_MODEL)
    endpoint = {"design": design, "model": BY_MODEL, "delta": cliffs_delta(rows["main"]),
                "met": met, "why": why}
    return {gate["gate"]: gate for gate in g.gates(endpoint, rows)}


def verdicts(gate):
    return gate["as_specified"]["verdict"], gate["established"]["verdict"]


def test_an_effect_in_every_part_passes_every_gate_about_effects():
    rows = planted(STRONG)
    out = board(main=rows, hospital=rows, ablation=rows, holdout=rows)
    for name in ("first_encounter", "cross_domain", "ablation", "holdout", "effect_size"):
        assert verdicts(out[name]) == ("pass", "pass"), name


def test_parts_that_were_not_run_are_not_evaluable_which_is_no_pass():
    out = board(main=planted(STRONG))
    for name in ("labels", "cross_domain", "ablation", "holdout"):
        assert verdicts(out[name]) == ("not evaluable", "not evaluable")
    assert not g.all_pass(list(out.values()))


def test_a_weak_effect_follows_the_rule_and_establishes_nothing():
    weak = planted(WEAK)
    out = board(main=weak, hospital=weak, ablation=weak, holdout=weak)
    for name in ("first_encounter", "cross_domain", "ablation", "holdout"):
        assert verdicts(out[name]) == ("pass", "undecided"), name
    assert verdicts(out["effect_size"]) == ("fail", "fail")


def test_another_sign_in_a_part_fails_it():
    rows, reverse = planted(STRONG), planted([(y, x) for x, y in STRONG])
    out = board(main=rows, hospital=reverse, ablation=reverse, holdout=reverse)
    for name in ("cross_domain", "ablation", "holdout"):
        assert verdicts(out[name]) == ("fail", "fail"), name


def test_ablation_must_leave_half_of_the_effect():
    """+50 points in the main runs; +25 are half of it, +24 are not."""
    main = planted([(16, 6)] * 4 + [(17, 7)] * 4)
    half = planted([(11, 6)] * 4 + [(12, 7)] * 4)
    less = planted([(61, 36), (62, 38), (61, 37), (60, 36)] * 2, n=100)
    assert verdicts(board(main=main, ablation=less)["ablation"]) == ("fail", "fail")
    assert board(main=main, ablation=half)["ablation"]["as_specified"]["verdict"] == "pass"


def test_holdout_is_tested_one_sided_and_hospital_two_sided():
    """Five units of one sign: p = 2/32 two-sided, 1/32 one-sided."""
    five = planted([(16, 6), (17, 6), (15, 6), (16, 7), (18, 6)])
    out = board(main=planted(STRONG), hospital=five, holdout=five)
    assert out["cross_domain"]["numbers"]["p"] == 2 / 32
    assert verdicts(out["cross_domain"]) == ("pass", "undecided")
    assert out["holdout"]["numbers"]["p"] == 1 / 32
    assert verdicts(out["holdout"]) == ("pass", "pass")


def test_the_effect_size_gate_asks_for_the_lower_bound():
    """δ = .25 with units from −.05 to +.55: the estimate passes .2, its lower bound can't."""
    out = board(main=planted([(10, 11), (16, 5), (13, 8), (14, 9), (12, 11), (15, 10), (13, 6),
                              (12, 5)]))
    assert out["effect_size"]["as_specified"]["verdict"] == "pass"
    assert out["effect_size"]["established"]["verdict"] == "undecided"


# --- labels ------------------------------------------------------------------------------------

def schemes(differences, n=100):
    """Units with n decisions a scheme: L1 at 50 + d in a hundred, L2 at 50."""
    return [row for at, d in enumerate(differences) for scheme, k in (("L1", n // 2 + d),
                                                                      ("L2", n // 2))
            for row in cells({HPL: [1] * k + [0] * (n - k)}, f"a{at:02d}", label_scheme=scheme)]


def labels(differences):
    return g.labels({}, {"main": schemes(differences)})


def test_labels_that_make_no_difference_in_many_units_are_established():
    gate = labels([1, -1] * 10)  # sd 1.026 points, 20 units: half-width 1.729133 × .2294 = .397
    pair = gate["numbers"]["pairs"]["L1−L2"]
    assert verdicts(gate) == ("pass", "pass")
    assert pair["high"] == pytest.approx(1.729133 * math.sqrt(20 / 19) / math.sqrt(20) / 100)


def test_two_points_follow_the_rule_three_do_not():
    assert labels([2] * 3 + [3, 1])["as_specified"]["verdict"] == "pass"
    assert labels([3] * 3 + [4, 2])["as_specified"]["verdict"] == "fail"


def test_a_label_that_is_liked_fails_and_a_few_noisy_units_decide_nothing():
    assert verdicts(labels([10, 12, 8, 11, 9])) == ("fail", "fail")
    gate = labels([20, -20, 10, -10])
    assert verdicts(gate) == ("pass", "undecided")
    # sd² = 1000/3 points²; (1.644854 + 1.281552)² × sd² / 2² (R: qnorm)
    assert gate["numbers"]["units_needed"] == math.ceil(2.926406 ** 2 * 1000 / 3 / 4)
    assert f"about {gate['numbers']['units_needed']} units" in gate["established"]["figure"]


def test_one_scheme_only_is_not_evaluable():
    gate = g.labels({}, {"main": [decision(), decision(cooperates=0)]})
    assert verdicts(gate) == ("not evaluable", "not evaluable")
    assert "one label scheme" in gate["as_specified"]["figure"]


def test_decisions_that_never_differ_establish_nothing_about_labels():
    gate = labels([50, 50, 50])  # L1 always, L2 half: the same in each unit, no spread to test on
    assert verdicts(gate) == ("fail", "not evaluable")


def test_a_missing_primary_endpoint_makes_no_gate_pass():
    out = board(main=[])
    assert all(gate["established"]["verdict"] == "not evaluable" for gate in out.values())
