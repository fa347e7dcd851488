"""Tripwires, on counts worked by hand."""

from statistics import stdev

import pytest
from study_rows import decision

from cirrus.judge import tripwires as t

A, B = ("high", "present", "low"), ("low", "absent", "low")


@pytest.mark.parametrize("bad, n, tripped", [
    (4, 100, False),      # 4%, which chance may make of 3%: lower limit 1.4% (two cells, 97.5%)
    (40, 1000, False),    # 2.8%
    (45, 1000, True),     # 3.3%
    (30, 1000, False)])
def test_unreadable_answers_trip_where_their_lower_limit_is_above_three_percent(bad, n, tripped):
    counts = {"a": {"ok": n}, "b": {"ok": n - bad, "refused": bad, "provider_error": n}}
    out = t.unreadable(counts)
    # Wilson at z = 2.241403 (R: qnorm(1 - .0125))
    z2, p = 2.241403 ** 2, bad / n
    low = (p + z2 / (2 * n) - (z2 * (p * (1 - p) + z2 / (4 * n)) / n) ** .5) / (1 + z2 / n)
    assert out["numbers"]["cells"]["b"]["low"] == pytest.approx(low, rel=1e-5)
    assert out["tripped"] is tripped is (low > .03)


@pytest.mark.parametrize("status", t.NO_POLICY)
def test_policies_that_are_none_trip_like_unreadable_answers(status):
    assert t.unwritten({"a": {"ok": 90, status: 10}})["tripped"] is True
    assert t.unwritten({"a": {"ok": 97, status: 3}})["tripped"] is False
    assert t.unwritten({"a": {"ok": 90, "short": 10, "not_run": 9}})["tripped"] is False
    assert t.unwritten({})["tripped"] is None


@pytest.mark.parametrize("cut, n, tripped", [(5, 100, False), (28, 1000, False), (40, 1000, True)])
def test_truncation_trips_where_the_difference_is_established_above_two_points(cut, n, tripped):
    """Newcombe, 95%, one pair: 0 of 1,000 against 2.8% from 1.9, against 4.0% from 2.9 points."""
    out = t.truncation({"a": {"ok": n}, "b": {"ok": n - cut, "truncated": cut}})
    assert out["tripped"] is tripped
    assert (out["numbers"]["gap"]["low"] > .02) is tripped
    assert out["numbers"]["cells"] == {"a": 0, "b": cut / n}


def test_the_widest_of_three_gaps_is_judged_at_a_third_of_five_percent():
    out = t.truncation({"a": {"ok": 1000}, "b": {"ok": 995, "truncated": 5},
                        "c": {"ok": 960, "truncated": 40}})
    # Newcombe of 40 and 0 of 1,000 at z = 2.393980 (R: qnorm(1 - .05/6))
    z2, p, n = 2.393980 ** 2, .04, 1000
    least = (p + z2 / (2 * n) - (z2 * (p * (1 - p) + z2 / (4 * n)) / n) ** .5) / (1 + z2 / n)
    most = (z2 / n) / (1 + z2 / n)
    assert out["numbers"]["gap"]["low"] == pytest.approx(p - ((p - least) ** 2 + most ** 2) ** .5)
    assert out["figure"].startswith("c against a: 4.0 points")


def test_nothing_answered_is_not_checked_rather_than_fine():
    assert t.unreadable({"a": {"not_run": 3}})["tripped"] is None
    assert t.truncation({"a": {"ok": 3}})["tripped"] is None
    assert t.several([])["tripped"] is None


def pairs(first_taken):
    """One decision a pair, orders alternating."""
    orders = ("cooperative-first", "other-first")
    return [decision(opponent=f"o{at:02d}", first_taken=y, option_order=orders[at % 2])
            for at, y in enumerate(first_taken)]


def test_both_sides_of_a_pair_and_its_runs_share_one_drawn_order():
    """Twenty decisions on two drawn orders: p can't be below 2/4."""
    rows = [decision(agent=a, opponent=b, option_order=order, run=f"r{run}")
            for order, (x, y) in (("cooperative-first", "ab"), ("other-first", "cd"))
            for a, b in ((x, y), (y, x)) for run in range(5)]
    out = t.position(rows)
    assert out["numbers"]["slots"] == 2 and out["numbers"]["p"] == 0.5 and not out["tripped"]


@pytest.mark.parametrize("change, slots", [({"seed": 2}, 4), ({"domain": "hospital"}, 4),
                                           ({"run": "other"}, 2)])
def test_an_order_is_drawn_for_each_seed_and_domain(change, slots):
    rows = pairs([1, 0])
    out = t.position([*rows, *(row._replace(**change) for row in rows)])
    assert out["numbers"]["slots"] == slots


def test_a_single_readable_decision_is_counted_and_none_is_not_checked():
    rows = [row._replace(first_taken=None) for row in pairs([1, 1])]
    assert t.position(rows)["figure"] == "no readable decisions"
    one = t.position([rows[0], rows[1]._replace(first_taken=1)])
    assert (one["numbers"]["k"], one["numbers"]["n"]) == (1, 1)


def test_one_order_only_is_not_checked():
    rows = [decision(opponent=f"o{at}") for at in range(12)]
    out = t.position(rows)
    assert out["tripped"] is None and out["figure"].startswith("one option order only")


def test_missing_decisions_in_one_cell_trip():
    rows = [decision(A, None if at < 12 else 1) for at in range(50)]
    rows += [decision(B, 1) for at in range(50)]
    out = t.attrition(rows)
    # Fisher, 12/50 against 0/50: 2 × C(50,12)/C(100,12) = .00023115; Holm over two equal p
    assert out["tripped"] is True
    cell = out["numbers"]["cells"]["cvd, symmetry + cue, compliance pressure low"]
    assert cell["p_holm"] == pytest.approx(2 * .00023115, rel=1e-3)


@pytest.mark.parametrize("answered, tripped", [(39, False), (40, True)])
def test_exactly_five_percent_is_no_alarm(answered, tripped):
    """One of 1 is missing, none of 39: p = 1/40 in either cell, by Holm 2/40."""
    rows = [decision(A, None), *(decision(B, 1) for _ in range(answered))]
    assert t.attrition(rows)["tripped"] is tripped


def test_the_most_unusual_cell_is_named_and_one_cell_is_not_checked():
    cells = [(A, 12), (B, 3), (("high", "absent", "low"), 3)]
    rows = [decision(cell, None if at < lost else 1) for cell, lost in cells for at in range(50)]
    assert t.attrition(rows)["figure"].startswith(
        "18 of 150 missing; most unusual: 12 of 50 in cvd, symmetry + cue, compliance pressure low")
    assert t.attrition(rows[:50])["tripped"] is None


SAME, OTHER = "one two three four", "five six seven eight nine"


def overlap(*runs, number=1):
    """Of the policies of runs of one cell, a seed each."""
    return t.overlap({(seed, "cvd", number): {"a": texts} for seed, texts in enumerate(runs)})


def test_identical_policies_are_counted_and_trip_where_the_lower_limit_passes():
    out = t.overlap({(1, "cvd", 1): {"a": [SAME, SAME, OTHER], "b": [SAME, OTHER]}})
    # cell a: pairs 1, 0, 0. Without one policy: 0, 0, 1: pseudo-values 1, 1, −1, which says nothing
    assert out["numbers"]["cells"]["a"] == {"mean": 1 / 3, "low": 0, "pairs": 3, "identical": 1}
    assert out["tripped"] is False
    assert overlap([SAME] * 4)["tripped"] is True
    assert overlap([SAME] * 4, number=2)["tripped"] is None   # later rounds are not looked at
    # 36 of 45 pairs; pseudo-values 1 nine times and −1: .8 − t(9) × √.4/√10
    most = overlap([SAME] * 9 + [OTHER])
    assert most["tripped"] is True
    assert most["numbers"]["cells"]["a"]["low"] == pytest.approx(.8 - .2 * 2.2621571628)
    assert overlap(["", "a b"])["tripped"] is None


def test_three_words_are_enough_and_a_run_of_one_policy_has_no_pairs():
    out = overlap(["one two three"] * 3, [SAME])
    assert out["tripped"] is True and out["numbers"]["cells"]["a"]["pairs"] == 3


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


def test_equal_policies_of_two_runs_are_no_overlap():
    """Runs of a cell under two seeds: only agents of one run are compared."""
    assert overlap([SAME, OTHER], [SAME, OTHER])["tripped"] is False


def answered(served=("m-1",), upstreams=("p",), role="main", cell="a", **statuses):
    """What a run's manifest counts."""
    return {"role": role, "cell": cell, "statuses": statuses,
            "served": {"m": dict.fromkeys(served, 1)},
            "upstreams": {"m": dict.fromkeys(upstreams, 1)}}


@pytest.mark.parametrize("runs, tripped, figure", [
    ([answered(), answered()], False, "one each"),
    ([answered(("m-1", "m-2"))], True, "m: 2 models (m-1, m-2)"),
    ([answered(), answered(("m-2",))], True, "m: 2 models (m-1, m-2)"),
    ([answered(upstreams="pq", role="holdout")], True, "m: 2 providers (p, q)")])
def test_two_models_or_upstreams_behind_one_name_trip(runs, tripped, figure):
    out = t.several(runs)
    assert (out["tripped"], out["figure"]) == (tripped, figure)


def test_statuses_are_counted_by_cell_over_the_main_runs():
    runs = [answered(policy={"ok": 2}), answered(policy={"ok": 1, "short": 1}),
            answered(policy={"ok": 1}, cell="b"), answered(policy={"ok": 9}, role="holdout")]
    assert t.statuses_of(runs, "policy") == {"a": {"ok": 3, "short": 1}, "b": {"ok": 1}}
