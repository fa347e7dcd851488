"""The six gates: the specification's rule, and what the data establish over bulletins."""

import math

import pytest
from study_rows import cells

from cirrus.judge import gates as g
from cirrus.judge.effects import slots
from cirrus.judge.endpoint import cliffs_delta, effect
from cirrus.judge.study import slot_of

HPL, LAL = ("high", "present", "low"), ("low", "absent", "low")
EFFECT_GATES = ("first_encounter", "cross_domain", "ablation", "holdout", "effect_size")


def planted(shares, n=20, bulletins="b", **more):
    """A bulletin a pair of shares of n: {HP: k of n, LA: k of n}, an agent each."""
    return [row for at, (x, y) in enumerate(shares) for row in cells(
        {HPL: [1] * x + [0] * (n - x), LAL: [1] * y + [0] * (n - y)}, f"a{at:02d}",
        bulletin=f"{bulletins}{at:02d}", **more)]


def evidence(**rows):
    tables = {part: slots((slot_of(row), row.cooperates) for row in listed)
              for part, listed in rows.items()}
    main = rows.get("main", ())
    return g.Evidence({"design": effect(main), "delta": cliffs_delta(main)}, rows, tables)


def board(**rows):
    return {gate["gate"]: gate for gate in g.gates(evidence(**rows))}


def verdicts(gate):
    return gate["as_specified"]["verdict"], gate["established"]["verdict"]


STRONG = [(16, 6), (17, 5), (15, 7), (16, 4), (18, 6), (16, 8), (17, 6), (15, 5)]  # +50 points
WEAK = [(11, 10), (9, 10), (11, 9), (10, 11), (11, 10), (10, 9), (9, 10), (12, 10)]


def everywhere(shares, **other):
    """The same shares in every part, held-out ones on bulletins of their own."""
    parts = {name: planted(shares) for name in ("main", "hospital", "reworded", "ablated")}
    return parts | {"holdout": planted(shares, bulletins="h")} | other


def test_an_effect_in_every_part_passes_every_gate_about_effects():
    out = board(**everywhere(STRONG))
    assert {name: verdicts(out[name]) for name in EFFECT_GATES} == dict.fromkeys(
        EFFECT_GATES, ("pass", "pass"))


def test_a_weak_effect_follows_the_rule_and_establishes_nothing():
    out = board(**everywhere(WEAK))
    for name in ("first_encounter", "cross_domain", "ablation", "holdout"):
        assert verdicts(out[name]) == ("pass", "undecided"), name
    assert verdicts(out["effect_size"]) == ("fail", "fail")


def test_an_effect_of_the_wrong_sign_passes_nothing():
    out = board(**everywhere([(y, x) for x, y in STRONG]))
    assert {verdicts(out[name]) for name in EFFECT_GATES} == {("fail", "fail")}


@pytest.mark.parametrize("part, gate", [
    ("hospital", "cross_domain"), ("reworded", "ablation"), ("ablated", "ablation"),
    ("holdout", "holdout")])
def test_another_sign_in_one_part_fails_its_gate(part, gate):
    reverse = planted([(y, x) for x, y in STRONG], bulletins="h" if part == "holdout" else "b")
    assert verdicts(board(**everywhere(STRONG, **{part: reverse}))[gate]) == ("fail", "fail")


@pytest.mark.parametrize("missing, gate, plan", [
    ("hospital", "cross_domain", "confirmatory"), ("reworded", "ablation", "ablation"),
    ("ablated", "ablation", "ablation"), ("holdout", "holdout", "holdout"),
    ("main", "labels", "confirmatory")])
def test_a_part_that_was_not_run_is_not_evaluable_and_names_the_plan_that_brings_it(
        missing, gate, plan):
    out = board(**everywhere(STRONG, **{missing: []}))[gate]
    assert (*verdicts(out), out["next"]) == ("not evaluable", "not evaluable", plan)


@pytest.mark.parametrize("part, gate", [("main", "first_encounter"), ("main", "effect_size"),
                                        ("hospital", "cross_domain"), ("holdout", "holdout"),
                                        ("ablated", "ablation")])
def test_five_bulletins_are_not_evaluable_and_six_are(part, gate):
    few = planted([(19, 1)] * 5, bulletins="h" if part == "holdout" else "b")
    six = planted([(19, 1)] * 6, bulletins="h" if part == "holdout" else "b")
    out = board(**everywhere(STRONG, **{part: few}))[gate]
    assert (out["established"]["verdict"], out["next"] is None) == ("not evaluable", False)
    out = board(**everywhere(STRONG, **{part: six}))[gate]
    assert out["established"]["verdict"] == "pass" and out["next"] is None


def test_no_primary_data_make_no_gate_pass():
    out = board(main=[])
    assert all(gate["established"]["verdict"] == "not evaluable" for gate in out.values())
    strong = list(board(**everywhere(STRONG)).values())[1:]
    assert {gate["established"]["verdict"] for gate in strong} == {"pass"}


# --- thresholds --------------------------------------------------------------------------------

def test_ablation_must_leave_half_of_the_effect_in_both_arms():
    """+50 points in the main runs: +25 are half of it, +24 are not."""
    main = planted([(16, 6)] * 4 + [(17, 7)] * 4)
    half, less = planted([(11, 6)] * 4 + [(12, 7)] * 4), planted([(61, 37)] * 8, n=100)
    assert verdicts(board(main=main, reworded=half, ablated=half)["ablation"]) == ("pass", "pass")
    for arms in ({"reworded": less, "ablated": half}, {"reworded": half, "ablated": less}):
        assert verdicts(board(main=main, **arms)["ablation"]) == ("fail", "fail")


def test_holdout_is_tested_one_sided_and_hospital_two_sided():
    """Six bulletins, the smallest against the rest: of 64 sign choices two are as far on the one
    side (p = 2/64 < .05), four on both (4/64 > .05)."""
    six = [(15, 6), (15, 6), (16, 6), (15, 7), (16, 7), (9, 10)]
    out = board(main=planted(STRONG), hospital=planted(six), holdout=planted(six, bulletins="h"))
    assert verdicts(out["cross_domain"]) == ("pass", "undecided")
    assert verdicts(out["holdout"]) == ("pass", "pass")


def test_held_out_runs_on_main_bulletins_are_no_holdout():
    out = board(**everywhere(STRONG, holdout=planted(STRONG)))["holdout"]
    assert verdicts(out) == ("not evaluable", "not evaluable")
    assert "8 bulletins of the held-out runs are those of main runs" in out["established"]["figure"]


def test_the_effect_size_gate_asks_for_the_lower_limit():
    """δ = .25 with bulletins from −.05 to +.55: the estimate passes .2, its lower limit can't."""
    out = board(main=planted([(10, 11), (16, 5), (13, 8), (14, 9), (12, 11), (15, 10), (13, 6),
                              (12, 5)]))
    assert verdicts(out["effect_size"]) == ("pass", "undecided")


@pytest.mark.parametrize("k, specified", [(60, "fail"), (61, "pass")])
def test_a_delta_of_exactly_a_fifth_does_not_pass(k, specified):
    rows = planted([(k, 40)] * 8, n=100)
    assert board(main=rows)["effect_size"]["as_specified"]["verdict"] == specified


def test_missing_decisions_are_counted_against_the_first_encounter():
    """+20 points over 20 bulletins of 100 a cell; 40 more that are missing in one cell, had they
    cooperated, leave 60 − 80/140 = +3."""
    whole = planted([(60, 40)] * 20, n=100)
    holes = whole + [row._replace(cooperates=None) for row in planted([(0, 40)] * 20, 40)
                     if row.S == "low"]
    assert board(main=whole)["first_encounter"]["established"]["verdict"] == "pass"
    assert board(main=holes)["first_encounter"]["established"]["verdict"] == "undecided"


# --- labels ------------------------------------------------------------------------------------

def labelled(rates, n=400, bulletins=10, cell=HPL, order="cooperative-first"):
    """{scheme: k of n} on each of ten bulletins."""
    return [row for at in range(bulletins) for scheme, k in rates.items() for row in cells(
        {cell: [1] * k + [0] * (n - k)}, "a", bulletin=f"b{at}", label_scheme=scheme,
        option_order=order)]


def study_of(rates_hp, rates_la, **more):
    return [row for order in ("cooperative-first", "other-first")
            for cell, rates in ((HPL, rates_hp), (LAL, rates_la))
            for row in labelled(rates, cell=cell, order=order, **more)]


SAME = {"L1": 200, "L2": 200, "L3": 200}


def label_gate(rates_hp, rates_la, **more):
    return board(main=study_of(rates_hp, rates_la, **more))["labels"]


def test_labels_that_make_no_difference_in_many_decisions_are_established():
    gate = label_gate(SAME, SAME)
    assert verdicts(gate) == ("pass", "pass")
    # 8,000 decisions a scheme and cell at one half: MOVER of four Wilson intervals, 90%
    wilson = 1.644854 * math.sqrt(.25 / 8000) / math.sqrt(1 + 1.644854 ** 2 / 8000)
    pair = gate["numbers"]["pairs"]["L1−L2"]
    assert pair["high"] == pytest.approx(math.sqrt(4 * (wilson / 2) ** 2), rel=1e-3)


def test_a_respondent_that_never_varies_passes_and_one_that_follows_the_word_fails():
    always, never = dict.fromkeys(SAME, 400), dict.fromkeys(SAME, 0)
    assert verdicts(label_gate(always, never)) == ("pass", "pass")
    assert verdicts(label_gate(always | {"L1": 0}, never)) == ("fail", "fail")


def test_an_exact_bound_is_clopper_and_pearson_s():
    """0 of 8,000 in either cell: two cells of weight 1/2, each up to 1 − .05^(1/8000)."""
    never = dict.fromkeys(SAME, 0)
    pair = label_gate(never, never)["numbers"]["pairs"]["L1−L2"]
    assert pair["high"] == pytest.approx(math.sqrt(2) / 2 * (1 - .05 ** (1 / 8000)), rel=1e-6)


@pytest.mark.parametrize("k, specified", [(208, "pass"), (209, "fail")])
def test_two_points_follow_the_rule_more_do_not(k, specified):
    high = {"L1": k, "L2": 200, "L3": 200}
    assert label_gate(high, high)["as_specified"]["verdict"] == specified


def test_a_difference_fails_only_where_its_interval_lies_wholly_outside():
    """3 points with 300 decisions a scheme and bulletin: neither inside nor wholly outside ±2."""
    few = dict.fromkeys(SAME, 50) | {"L1": 53}
    gate = label_gate(few, few, n=100)
    assert verdicts(gate) == ("fail", "undecided")
    assert "decisions a scheme would decide" in gate["established"]["figure"]
    more = SAME | {"L1": 216}
    assert verdicts(label_gate(more, more)) == ("fail", "fail")


def test_an_effect_that_hangs_on_the_label_fails_though_rates_are_equal():
    """HP − LA is +20 under L1 and −20 under L2; cooperation is one half under all."""
    high, low = SAME | {"L1": 240, "L2": 160}, SAME | {"L1": 160, "L2": 240}
    gate = label_gate(high, low)
    assert verdicts(gate) == ("pass", "fail") and "effect L1−L2" in gate["established"]["figure"]


def test_an_effect_that_hangs_on_the_order_fails():
    first, second = "cooperative-first", "other-first"
    rows = [row for order, (x, y) in ((first, (280, 120)), (second, (200, 200)))
            for cell, k in ((HPL, x), (LAL, y))
            for row in labelled(dict.fromkeys(SAME, k), cell=cell, order=order)]
    gate = board(main=rows)["labels"]
    assert verdicts(gate) == ("pass", "fail")
    assert f"effect {first}−{second}" in gate["established"]["figure"]


INSIDE = {"value": 0.0, "low": -.0199, "high": .0199, "least": -.03, "most": .03, "units": 6}


@pytest.mark.parametrize("rate, effect, verdict", [
    ({}, {}, "pass"), ({"low": -.02}, {}, "undecided"), ({"high": .02}, {}, "undecided"),
    ({"high": .05, "least": .02}, {}, "undecided"), ({"high": .05, "least": .0201}, {}, "fail"),
    ({"low": -.05, "most": -.02}, {}, "undecided"), ({"low": -.05, "most": -.0201}, {}, "fail"),
    ({}, {"low": -.0999, "high": .0999}, "pass"), ({}, {"low": -.1}, "undecided"),
    ({}, {"high": .1}, "undecided"), ({}, {"high": .2, "least": .1}, "undecided"),
    ({}, {"high": .2, "least": .1001}, "fail"), ({}, {"low": -.2, "most": -.1001}, "fail"),
    ({"units": 5}, {}, "not evaluable"), ({}, {"units": 5}, "not evaluable"),
    ({"value": None}, {}, "not evaluable"), ({}, {"value": None}, "not evaluable")])
def test_the_label_gate_on_either_side_of_its_margins(rate, effect, verdict):
    said, figure = g._label_verdict({"L1−L2": INSIDE | rate}, {"L1−L2": INSIDE | effect}, 1234)
    assert said == verdict
    assert ("at least 1,234 decisions a scheme would decide" in figure) == (verdict == "undecided")
    if verdict != "not evaluable" and (rate or effect):
        assert figure.startswith("effect " if effect else "L1")
        assert f"±{10 if effect else 2}" in figure


@pytest.mark.parametrize("shares, gate, expected", [
    ([(10, 10)] * 8, "first_encounter", ("fail", "fail")),
    ([(10, 10)] * 8, "cross_domain", ("fail", "fail")),
    ([(10, 10)] * 8, "holdout", ("fail", "fail")),
    ([(11, 10)] * 4 + [(10, 10)] * 4, "first_encounter", ("pass", "undecided")),
    ([(14, 10)] * 8, "effect_size", ("fail", "fail")),
    ([(15, 10)] + [(14, 10)] * 7, "effect_size", ("pass", "undecided"))])
def test_an_effect_of_nothing_fails_and_one_of_next_to_nothing_is_undecided(
        shares, gate, expected):
    assert verdicts(board(**everywhere(shares))[gate]) == expected


def test_one_scheme_only_and_five_bulletins_are_not_evaluable():
    assert "only one label scheme" in label_gate({"L1": 1}, {"L1": 1})["as_specified"]["figure"]
    assert verdicts(label_gate(SAME, SAME, bulletins=5)) == ("pass", "not evaluable")


def test_a_gate_names_what_was_enough_by_effect(monkeypatch):
    assert g.ENOUGH.keys() <= g.GATES.keys() and g.enough("another") == "not calibrated"
    assert g.enough("labels") == "more than 10 agents × 10 rounds"
    monkeypatch.setitem(g.ENOUGH, "labels", {30: 10, 57: 4})
    assert g.enough("labels") == (
        "+30 points: 10 agents × 10 rounds; +57 points: 4 agents × 10 rounds")
