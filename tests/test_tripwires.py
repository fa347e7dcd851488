"""Tripwires of decisions, of what manifests count and of texts, worked by hand."""

from statistics import stdev

import pytest
from study_rows import decision

from cirrus.judge.gates import NO_POLICY, tripwires

A, B = ("high", "present", "low"), ("low", "absent", "low")


def wires(rows=(), runs=(), texts=()):
    return {wire["tripwire"]: wire for wire in tripwires(rows, runs, dict(texts))}


def counted(decision=None, policy=None, served=("m-1",), upstreams=("p",), role="main"):
    """What manifests count, a run a cell: {cell: {status: answers}}."""
    return [{"role": role, "cell": cell, "statuses": {
        "decision": (decision or {}).get(cell, {}), "policy": (policy or {}).get(cell, {})},
        "served": {"m": dict.fromkeys(served, 1)}, "upstreams": {"m": dict.fromkeys(upstreams, 1)}}
        for cell in dict.fromkeys([*(decision or {}), *(policy or {})] or "a")]


@pytest.mark.parametrize("bad, n, tripped", [
    (4, 100, False),      # 4%, which chance may make of 3%: lower limit 1.4% (two cells, 97.5%)
    (45, 1000, True),     # 3.3%
    (40, 1000, False)])   # 2.8%
def test_unreadable_answers_trip_where_their_lower_limit_is_above_three_percent(bad, n, tripped):
    runs = counted({"a": {"ok": n}, "b": {"ok": n - bad, "refused": bad, "provider_error": n}})
    runs += counted({"b": {"refused": n}}, role="holdout")   # main runs alone
    out = wires(runs=runs)["unreadable"]
    # Wilson at z = 2.241403 (R: qnorm(1 - .0125))
    z2, p = 2.241403 ** 2, bad / n
    low = (p + z2 / (2 * n) - (z2 * (p * (1 - p) + z2 / (4 * n)) / n) ** .5) / (1 + z2 / n)
    assert out["numbers"]["cells"]["b"]["low"] == pytest.approx(low, rel=1e-5)
    assert out["tripped"] is tripped is (low > .03)


@pytest.mark.parametrize("statuses, tripped", [
    *(({"ok": 90, status: 10}, True) for status in NO_POLICY),
    *(({"ok": 97, status: 3}, False) for status in NO_POLICY),
    ({"ok": 90, "short": 10, "not_run": 9}, False), ({"not_run": 1}, None)])
def test_policies_that_are_none_trip_like_unreadable_answers(statuses, tripped):
    assert wires(runs=counted(policy={"a": statuses}))["policies"]["tripped"] is tripped


@pytest.mark.parametrize("cut, n, tripped", [(5, 100, False), (28, 1000, False), (40, 1000, True)])
def test_truncation_trips_where_the_difference_is_established_above_two_points(cut, n, tripped):
    """Newcombe, 95%, one pair: 0 of 1,000 against 2.8% from 1.9, against 4.0% from 2.9 points."""
    out = wires(runs=counted({"a": {"ok": n}, "b": {"ok": n - cut, "truncated": cut}}))
    assert out["truncation"]["tripped"] is tripped
    assert (out["truncation"]["numbers"]["gap"]["low"] > .02) is tripped
    assert out["truncation"]["numbers"]["cells"] == {"a": 0, "b": cut / n}


def test_the_widest_of_three_gaps_is_judged_at_a_third_of_five_percent():
    out = wires(runs=counted({"a": {"ok": 1000}, "b": {"ok": 995, "truncated": 5},
                              "c": {"ok": 960, "truncated": 40}}))["truncation"]
    # Newcombe of 40 and 0 of 1,000 at z = 2.393980 (R: qnorm(1 - .05/6))
    z2, p, n = 2.393980 ** 2, .04, 1000
    least = (p + z2 / (2 * n) - (z2 * (p * (1 - p) + z2 / (4 * n)) / n) ** .5) / (1 + z2 / n)
    most = (z2 / n) / (1 + z2 / n)
    assert out["numbers"]["gap"]["low"] == pytest.approx(p - ((p - least) ** 2 + most ** 2) ** .5)


def test_nothing_answered_is_not_checked_rather_than_fine():
    out = wires(runs=counted({"a": {"not_run": 3}}))
    assert (out["unreadable"]["tripped"], out["truncation"]["tripped"]) == (None, None)
    assert {wire["tripped"] for wire in wires().values()} == {None}


def test_both_sides_of_a_pair_and_its_runs_share_one_drawn_order_of_a_seed_and_domain():
    """Twenty decisions on two drawn orders: p can't be below 2/4."""
    rows = [decision(agent=a, opponent=b, option_order=order, run=f"r{run}")
            for order, (x, y) in (("cooperative-first", "ab"), ("other-first", "cd"))
            for a, b in ((x, y), (y, x)) for run in range(5)]
    out = wires(rows)["position"]
    assert out["numbers"]["slots"] == 2 and out["numbers"]["p"] == 0.5 and not out["tripped"]
    for change in ({"seed": 2}, {"domain": "hospital"}):
        more = [*rows, *(row._replace(**change) for row in rows)]
        assert wires(more)["position"]["numbers"]["slots"] == 4
    unread = [row._replace(first_taken=None) for row in rows]
    assert wires(unread)["position"]["figure"] == "no readable decisions"
    assert wires(rows[:10])["position"]["figure"].startswith("one option order only")
    read = wires([*unread, rows[0]])["position"]["numbers"]
    assert (read["k"], read["n"]) == (1, 1)


def test_missing_decisions_in_one_cell_trip():
    rows = [decision(A, None if at < 12 else 1) for at in range(50)]
    rows += [decision(B, 1) for at in range(50)]
    out = wires(rows)["attrition"]
    # Fisher, 12/50 against 0/50: 2 × C(50,12)/C(100,12) = .00023115; Holm over two equal p
    assert out["tripped"] is True
    cell = out["numbers"]["cells"]["cvd, symmetry + cue, compliance pressure low"]
    assert cell["p_holm"] == pytest.approx(2 * .00023115, rel=1e-3)
    assert wires(rows[:50])["attrition"]["tripped"] is None


@pytest.mark.parametrize("answered, tripped", [(39, False), (40, True)])
def test_exactly_five_percent_is_no_alarm(answered, tripped):
    """One of 1 is missing, none of 39: p = 1/40 in either cell, by Holm 2/40."""
    rows = [decision(A, None), *(decision(B, 1) for _ in range(answered))]
    assert wires(rows)["attrition"]["tripped"] is tripped


SAME, OTHER = "one two three four", "five six seven eight nine"


def overlap(*runs, number=1):
    """Of the policies of runs of one cell, a seed each."""
    return wires(texts={(seed, "cvd", number): {"a": texts}
                        for seed, texts in enumerate(runs)})["overlap"]


def test_identical_policies_are_counted_and_trip_where_the_lower_limit_passes():
    # Pairs 1, 0, 0. Without one policy: 0, 0, 1: pseudo-values 1, 1, −1, which says nothing.
    few = overlap([SAME, SAME, OTHER])
    assert few["numbers"]["cells"]["a"] == {"mean": 1 / 3, "low": 0, "pairs": 3, "identical": 1}
    assert few["tripped"] is False and overlap([SAME] * 4)["tripped"] is True
    assert overlap([SAME] * 4, number=2)["tripped"] is None   # later rounds are not looked at
    # 36 of 45 pairs; pseudo-values 1 nine times and −1: .8 − t(9) × √.4/√10
    low = overlap([SAME] * 9 + [OTHER])["numbers"]["cells"]["a"]["low"]
    assert low == pytest.approx(.8 - .2 * 2.2621571628)
    assert overlap(["", "a b"])["tripped"] is None
    assert overlap(["one two three"] * 3, [SAME])["numbers"]["cells"]["a"]["pairs"] == 3


def test_the_limit_of_overlap_leaves_out_one_policy_of_one_run_at_a_time():
    """SAME and this share one of three 3-grams; runs of six and of three policies, 18 pairs."""
    runs = [SAME] * 5 + ["one two three five"], [SAME] * 3
    rest = [*[(10 + 5 / 3 + 3 - 4 - 1 / 3) / 13] * 5, (10 + 3) / 13,
            *[(10 + 5 / 3 + 3 - 2) / 16] * 3]
    mean = (10 + 5 / 3 + 3) / 18
    half = 2.306004135 * stdev(9 * mean - 8 * one for one in rest) / 3   # t(8)
    assert overlap(*runs)["numbers"]["cells"]["a"] == {
        "mean": pytest.approx(mean), "low": pytest.approx(mean - half), "pairs": 18,
        "identical": 13}


@pytest.mark.parametrize("runs, tripped, figure", [
    (counted() + counted(), False, "one each"),
    (counted() + counted(served=("m-2",)), True, "m: 2 models (m-1, m-2)"),
    (counted(upstreams="pq", role="holdout"), True, "m: 2 providers (p, q)")])
def test_two_models_or_upstreams_behind_one_name_trip(runs, tripped, figure):
    out = wires(runs=runs)["served"]
    assert (out["tripped"], out["figure"]) == (tripped, figure)
