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
REVERSE, NIL = [(y, x) for x, y in STRONG], [(10, 10)] * 8
PARTS = ("main", "hospital", "reworded", "ablated", "holdout")


def everywhere(shares, **other):
    """The same shares in every part, or others; held-out ones on bulletins of their own."""
    return {part: planted(other.get(part, shares), bulletins="h" if part == "holdout" else "b")
            for part in PARTS}


# +40 points, but four of eight bulletins point the other way: 16 of 128 choices of signs are as far
NOISY = [(20, 0)] * 4 + [(8, 12)] * 4


@pytest.mark.parametrize("gate, shares, expected", [
    *((gate, dict.fromkeys(PARTS, WEAK), ("pass", "undecided")) for gate in EFFECT_GATES[:4]),
    ("effect_size", {"main": WEAK}, ("fail", "fail")),
    # an effect of the wrong sign passes nothing, nor does none at all
    *((gate, dict.fromkeys(PARTS, shares), ("fail", "fail")) for gate in EFFECT_GATES
      for shares in (REVERSE, NIL)),
    *((gate, {part: shares}, ("fail", "fail")) for shares in (REVERSE, NIL) for part, gate in (
        ("hospital", "cross_domain"), ("reworded", "ablation"), ("ablated", "ablation"),
        ("holdout", "holdout"))),
    # in main runs without an effect nothing is there to be replicated
    *((gate, {"main": NIL}, ("fail", said)) for gate, said in (
        ("cross_domain", "undecided"), ("holdout", "undecided"), ("ablation", "fail"))),
    # half of it is left in both arms, of which one does not exclude 0
    ("ablation", {"reworded": NOISY}, ("pass", "undecided")),
    ("ablation", {"ablated": NOISY}, ("pass", "undecided")),
    # next to nothing
    ("first_encounter", {"main": [(11, 10)] * 4 + [(10, 10)] * 4}, ("pass", "undecided")),
    # a δ of exactly a fifth, which as 0.9 − 0.7 is a little more, is not above it
    *(("effect_size", {"main": [pair] * 8}, ("fail", "fail")) for pair in (
        (4, 0), (12, 8), (14, 10), (18, 14))),
    ("effect_size", {"main": [(15, 10)] + [(14, 10)] * 7}, ("pass", "undecided"))])
def test_a_gate_follows_its_rule_and_asks_for_what_excludes_the_alternative(
        gate, shares, expected):
    assert verdicts(board(**everywhere(STRONG, **shares))[gate]) == expected


@pytest.mark.parametrize("missing, gate, plan", [
    ("hospital", "cross_domain", "confirmatory"), ("reworded", "ablation", "ablation"),
    ("ablated", "ablation", "ablation"), ("holdout", "holdout", "holdout"),
    ("main", "labels", "confirmatory")])
def test_a_part_that_was_not_run_is_not_evaluable_and_names_the_plan_that_brings_it(
        missing, gate, plan):
    out = board(**everywhere(STRONG, **{missing: []}))[gate]
    assert (*verdicts(out), out["next"]) == ("not evaluable", "not evaluable", plan)


@pytest.mark.parametrize("part, gate, plan", [
    ("hospital", "cross_domain", "confirmatory"), ("ablated", "ablation", "ablation"),
    ("holdout", "holdout", "holdout")])
def test_a_part_without_a_cell_of_the_contrast_is_not_evaluable_and_says_so(part, gate, plan):
    rows = everywhere(STRONG)
    rows[part] = [row for row in rows[part] if row.S == "high"]
    out = board(**rows)[gate]
    assert (*verdicts(out), out["next"]) == ("not evaluable", "not evaluable", plan)
    assert "no level of H holds every cell" in out["established"]["figure"]


@pytest.mark.parametrize("gate", ["cross_domain", "ablation", "holdout"])
def test_without_an_effect_of_main_runs_over_bulletins_they_are_what_is_lacking(gate):
    """No main runs; main runs whose two cells never meet on a bulletin."""
    nothing = board(**everywhere(STRONG, main=[]))[gate]
    assert verdicts(nothing) == ("not evaluable", "not evaluable")
    apart = [row._replace(bulletin=row.bulletin + row.S) for row in planted(STRONG)]
    never = board(**everywhere(STRONG) | {"main": apart})[gate]
    assert verdicts(never) == ("pass", "not evaluable")
    assert nothing["next"] == never["next"] == "confirmatory"
    assert nothing["established"]["figure"] == "no primary effect"


@pytest.mark.parametrize("part, gate", [("main", "first_encounter"), ("main", "effect_size"),
                                        ("hospital", "cross_domain"), ("holdout", "holdout"),
                                        ("ablated", "ablation")])
def test_five_bulletins_are_not_evaluable_and_six_are(part, gate):
    out = board(**everywhere(STRONG, **{part: [(19, 1)] * 5}))[gate]
    assert (out["established"]["verdict"], out["next"] is None) == ("not evaluable", False)
    out = board(**everywhere(STRONG, **{part: [(19, 1)] * 6}))[gate]
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
    out = board(**everywhere(STRONG) | {"holdout": planted(STRONG)})["holdout"]
    assert verdicts(out) == ("not evaluable", "not evaluable")
    assert "8 bulletins of the held-out runs are those of main runs" in out["established"]["figure"]


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
    assert verdicts(label_gate(SAME, SAME)) == ("pass", "pass")


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
    said, figure = g._label_verdict({"L1−L2": INSIDE | rate}, {"L1−L2": INSIDE | effect})
    assert said == verdict
    if verdict != "not evaluable" and (rate or effect):
        assert figure.startswith("effect " if effect else "L1")
        assert f"±{10 if effect else 2}" in figure


def test_the_figure_is_that_of_the_pair_that_lies_furthest_out_by_its_own_margin():
    """−3 of ±2 points is further than −11 of ±10."""
    open_ = {"L1−L2": INSIDE | {"low": -.03, "high": .001}}, {
        "L1−L2": INSIDE | {"low": -.11, "high": .05}}
    assert g._label_verdict(*open_)[1].startswith("L1−L2: ")


def test_schemes_that_no_bulletin_shares_have_no_difference():
    rows = study_of(SAME, SAME, n=20)
    gate = board(main=[row._replace(bulletin=row.bulletin + row.label_scheme) for row in rows])
    pair = gate["labels"]["numbers"]["pairs"]["L1−L2"]
    assert (pair["value"], pair["units"], pair["why"]) == (None, 0, "no bulletin holds both")


def test_one_scheme_only_and_five_bulletins_are_not_evaluable():
    assert "only one label scheme" in label_gate({"L1": 1}, {"L1": 1})["as_specified"]["figure"]
    assert label_gate({"L1": 20, "L2": 20}, {"L1": 5, "L2": 6}, n=50)[
        "numbers"]["rates"] == {"L1": .25, "L2": .26}
    assert verdicts(label_gate(SAME, SAME, bulletins=5)) == ("pass", "not evaluable")
