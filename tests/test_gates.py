"""The six gates: the specification's rule, and what the data establish over bulletins."""

import math

import pytest
from study_rows import cells

from cirrus.judge.contrasts import add
from cirrus.judge.endpoint import endpoint
from cirrus.judge.gates import Evidence, gates
from cirrus.judge.study import slot_of

HPL, LAL = ("high", "present", "low"), ("low", "absent", "low")
EFFECT_GATES = ("first_encounter", "cross_domain", "ablation", "holdout", "effect_size")
NO_MODEL = {"with_policy": {"separated": False, "primary": None, "why": "no model here"}}
PARTS = ("main", "hospital", "reworded", "ablated", "holdout")


def planted(shares, n=20, bulletins="b", **more):
    """A bulletin a pair of shares of n: {HP: k of n, LA: k of n}, an agent each."""
    return [row for at, (x, y) in enumerate(shares) for row in cells(
        {HPL: [1] * x + [0] * (n - x), LAL: [1] * y + [0] * (n - y)}, f"a{at:02d}",
        bulletin=f"{bulletins}{at:02d}", **more)]


def board(unfinished=(), **rows):
    tables = {part: {} for part in rows}
    for part, row in ((part, row) for part, listed in rows.items() for row in listed):
        add(tables[part], slot_of(row), row.cooperates)
    point = endpoint(rows.get("main", ()), NO_MODEL)
    return {gate["gate"]: gate for gate in gates(Evidence(point, rows, tables), unfinished)}


def verdicts(gate):
    return gate["as_specified"]["verdict"], gate["established"]["verdict"]


STRONG = [(16, 6), (17, 5), (15, 7), (16, 4), (18, 6), (16, 8), (17, 6), (15, 5)]  # +50 points
WEAK = [(11, 10), (9, 10), (11, 9), (10, 11), (11, 10), (10, 9), (9, 10), (12, 10)]
REVERSE, NIL = [(y, x) for x, y in STRONG], [(10, 10)] * 8
NOISY = [(20, 0)] * 4 + [(8, 12)] * 4   # +40 points, and half of the bulletins point the other way


def everywhere(shares, **other):
    """The same shares in every part, or others; held-out ones on bulletins of their own."""
    return {part: planted(other.get(part, shares), bulletins="h" if part == "holdout" else "b")
            for part in PARTS}


@pytest.mark.parametrize("gate, shares, expected", [
    *((gate, dict.fromkeys(PARTS, WEAK), ("pass", "undecided")) for gate in EFFECT_GATES[:4]),
    ("effect_size", {"main": WEAK}, ("fail", "fail")),
    # an effect of the wrong sign passes nothing, nor does none at all
    *((gate, dict.fromkeys(PARTS, shares), ("fail", "fail")) for gate in EFFECT_GATES
      for shares in (REVERSE, NIL)),
    *((gate, {part: shares}, ("fail", "fail")) for shares in (REVERSE, NIL) for part, gate in (
        ("hospital", "cross_domain"), ("reworded", "ablation"), ("ablated", "ablation"),
        ("holdout", "holdout"))),
    # in main runs without an effect nothing is there to be found again
    *((gate, {"main": NIL}, ("fail", "undecided")) for gate in EFFECT_GATES[1:4]),
    # half of it is left in both arms, of which one does not exclude 0
    ("ablation", {"reworded": NOISY}, ("pass", "undecided")),
    ("ablation", {"ablated": NOISY}, ("pass", "undecided")),
    # a δ of exactly a fifth, which as 0.9 − 0.7 is a little more, is not above it
    *(("effect_size", {"main": [pair] * 8}, ("fail", "fail")) for pair in ((12, 8), (18, 14))),
    ("effect_size", {"main": [(15, 10)] + [(14, 10)] * 7}, ("pass", "undecided")),
    *((gate, {}, ("pass", "pass")) for gate in EFFECT_GATES)])
def test_a_gate_follows_its_rule_and_asks_for_what_excludes_the_alternative(
        gate, shares, expected):
    assert verdicts(board(**everywhere(STRONG, **shares))[gate]) == expected


@pytest.mark.parametrize("missing, gate, plan", [
    ("hospital", "cross_domain", "confirmatory"), ("reworded", "ablation", "ablation"),
    ("ablated", "ablation", "ablation"), ("holdout", "holdout", "holdout"),
    ("main", "labels", "confirmatory"), ("main", "first_encounter", "confirmatory"),
    ("main", "holdout", "confirmatory")])
def test_a_part_that_was_not_run_is_not_evaluable_and_names_the_plan_that_brings_it(
        missing, gate, plan):
    out = board(**everywhere(STRONG, **{missing: []}))[gate]
    assert (*verdicts(out), out["next"]) == ("not evaluable", "not evaluable", plan)


@pytest.mark.parametrize("part, gate", [
    ("main", "first_encounter"), ("main", "effect_size"), ("hospital", "cross_domain"),
    ("holdout", "holdout"), ("ablated", "ablation")])
@pytest.mark.parametrize("changed", [{}, {"wording": 3}])
def test_five_bulletins_or_wordings_are_not_evaluable_and_six_are(part, gate, changed):
    rows = everywhere(STRONG, **{part: [(19, 1)] * 6})
    assert board(**rows)[gate]["established"]["verdict"] == "pass"
    rows[part] = [row if row.bulletin[1:] != "05" else row._replace(
        **changed or {"bulletin": rows[part][0].bulletin, "wording": 1}) for row in rows[part]]
    out = board(**rows)[gate]
    assert (out["established"]["verdict"], out["next"] is None) == ("not evaluable", False)


def test_a_gate_counts_what_is_missing_against_the_effect():
    """+25 points; three in ten decisions of either cell are missing: at worst below 0."""
    lost = [row._replace(cooperates=None) for row in planted([(6, 6)] * 8, n=6)]
    known = planted([(9, 5)] * 8, n=14)
    assert verdicts(board(main=known)["first_encounter"]) == ("pass", "pass")
    assert verdicts(board(main=known + lost)["first_encounter"]) == ("pass", "undecided")


def test_of_an_unfinished_study_no_gate_is_evaluable_nor_is_a_holdout_on_main_bulletins():
    nothing = ("not evaluable", "not evaluable")
    out = board(["1 run unfinished"], **everywhere(STRONG)).values()
    assert {(*verdicts(gate), gate["next"]) for gate in out} == {(*nothing, None)}
    same = board(**everywhere(STRONG) | {"holdout": planted(STRONG)})["holdout"]
    assert verdicts(same) == nothing and "8 bulletins of the held-out" in (
        same["established"]["figure"])


@pytest.mark.parametrize("arm", ["reworded", "ablated"])
def test_as_specified_ablation_must_leave_half_of_the_effect(arm):
    """+50 points in the main runs: +25 are half of it, +24 are not; both exclude 0."""
    half, less = planted([(11, 6)] * 4 + [(12, 7)] * 4), planted([(61, 37)] * 8, n=100)
    rows = {"main": planted([(16, 6)] * 4 + [(17, 7)] * 4), "reworded": half, "ablated": half}
    assert verdicts(board(**rows)["ablation"]) == ("pass", "pass")
    assert verdicts(board(**rows | {arm: less})["ablation"]) == ("fail", "pass")


# --- labels ------------------------------------------------------------------------------------

SCHEMES, ORDERS = ("L1", "L2", "L3"), ("cooperative-first", "other-first")


def label_gate(high, low, n=200, bulletins=10, orders=ORDERS):
    """`high`, `low`: {scheme: k of n} of either cell, on each bulletin and in each order."""
    return board(main=[row for at in range(bulletins) for order in orders
                       for cell, rates in ((HPL, high), (LAL, low)) for scheme, k in rates.items()
                       for row in cells({cell: [1] * k + [0] * (n - k)}, "a", bulletin=f"b{at}",
                                        label_scheme=scheme, option_order=order)])["labels"]


SAME = dict.fromkeys(SCHEMES, 100)


def test_a_respondent_that_never_varies_passes_and_one_that_follows_the_word_fails():
    always, never = dict.fromkeys(SCHEMES, 200), dict.fromkeys(SCHEMES, 0)
    assert verdicts(label_gate(always, never)) == ("pass", "pass")
    assert verdicts(label_gate(always | {"L1": 0}, never)) == ("fail", "fail")


@pytest.mark.parametrize("k, specified", [(104, "pass"), (105, "fail")])
def test_two_points_follow_the_rule_more_do_not(k, specified):
    high = SAME | {"L1": k}
    assert label_gate(high, high)["as_specified"]["verdict"] == specified


def wilson(share, n, z, side):
    """The limit of Wilson's score interval."""
    middle = share + z * z / (2 * n)
    return (middle + side * z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))) / (
        1 + z * z / n)


@pytest.mark.parametrize("n, verdict", [(168, "undecided"), (170, "pass")])
def test_a_difference_passes_where_its_90_percent_interval_lies_inside_two_points(n, verdict):
    """Bulletins agree, so Newcombe's limits of the pooled cells speak: two cells of weight 1/2 on
    either side, each as far as Wilson's limit of one half; z(.95) = 1.6449."""
    gate = label_gate(dict.fromkeys(SCHEMES, n // 2), dict.fromkeys(SCHEMES, n // 2), n=n,
                      orders=ORDERS[:1])
    reach = wilson(.5, 10 * n, 1.6448536, 1) - .5
    assert gate["numbers"]["pairs"]["L1−L2"]["high"] == pytest.approx(reach)
    assert (reach < .02, gate["established"]["verdict"]) == (verdict == "pass", verdict)


@pytest.mark.parametrize("bulletins, verdict", [(8, "undecided"), (9, "fail")])
def test_a_difference_fails_where_its_interval_lies_wholly_outside_at_5_percent_over_3(
        bulletins, verdict):
    """Six points, 100 decisions a bulletin, scheme and cell; z(1 − .05/6) = 2.3940."""
    more = dict.fromkeys(SCHEMES, 25) | {"L1": 28}
    gate = label_gate(more, more, n=50, bulletins=bulletins)
    ends = (.56 - wilson(.56, 100 * bulletins, 2.3939798, -1),
            wilson(.5, 100 * bulletins, 2.3939798, 1) - .5)
    least = .06 - math.sqrt(sum(end * end for end in ends) / 2)
    assert gate["numbers"]["pairs"]["L1−L2"]["least"] == pytest.approx(least, rel=1e-5)
    assert (least > .02, *verdicts(gate)) == (verdict == "fail", "fail", verdict)


def test_an_effect_that_hangs_on_the_label_fails_though_rates_are_equal():
    """+20 points under the first scheme and −20 under the second; cooperation is one half."""
    gate = label_gate(SAME | {"L1": 120, "L2": 80}, SAME | {"L1": 80, "L2": 120})
    assert verdicts(gate) == ("pass", "fail")
    assert gate["established"]["figure"].startswith("effect, L1 − L2: +40.0 points")


def test_an_effect_that_hangs_on_the_order_fails():
    rows = [row for order, (x, y) in zip(ORDERS, ((140, 60), (100, 100)), strict=True)
            for at in range(10) for scheme in SCHEMES for row in cells(
                {HPL: [1] * x + [0] * (200 - x), LAL: [1] * y + [0] * (200 - y)}, "a",
                bulletin=f"b{at}", label_scheme=scheme, option_order=order)]
    gate = board(main=rows)["labels"]
    assert verdicts(gate) == ("pass", "fail")
    assert gate["established"]["figure"].startswith("effect, cooperative-first − other-first: +40")


def test_one_scheme_only_five_bulletins_and_schemes_apart_are_not_evaluable():
    assert "only one label scheme" in label_gate({"L1": 1}, {"L1": 1})["as_specified"]["figure"]
    assert verdicts(label_gate(SAME, SAME, bulletins=5)) == ("pass", "not evaluable")
    rows = [row._replace(bulletin=row.bulletin + scheme) for scheme in SCHEMES
            for row in planted(NIL, label_scheme=scheme)]
    assert verdicts(board(main=rows)["labels"]) == ("pass", "not evaluable")
