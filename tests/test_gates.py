"""Six gates: the specification's rule, and what the data establish over bulletins. Seven tripwires
of decisions, of what manifests count and of texts, worked by hand. How alike policies are."""

import math

import pytest
from study_rows import cells, decision

from cirrus.judge.contrasts import add
from cirrus.judge.endpoint import endpoint
from cirrus.judge.gates import Evidence, gates, settle
from cirrus.judge.study import slot_of
from cirrus.judge.tripwires import convergence, tripwires
from stats.results import Count

HPL, LAL = ("high", "present", "low"), ("low", "absent", "low")
EFFECT_GATES = ("first_encounter", "cross_domain", "ablation", "holdout", "effect_size")
NO_MODEL = {
    "with_policy": {"separated": False, "primary": None, "why": "no model here"}
}
PARTS = ("main", "hospital", "reworded", "ablated", "holdout")


def planted(shares, n=20, bulletins="b", **more):
    """A bulletin a pair of shares of n: {HP: k of n, LA: k of n}, an agent each."""
    rows = []
    for at, (x, y) in enumerate(shares):
        acts = {HPL: [1] * x + [0] * (n - x), LAL: [1] * y + [0] * (n - y)}
        rows += cells(acts, f"a{at:02d}", bulletin=f"{bulletins}{at:02d}", **more)
    return rows


def board(**rows):
    tables = {}
    for part, listed in rows.items():
        tables[part] = {}
        for row in listed:
            add(tables[part], slot_of(row), row.cooperates)
    point = endpoint(rows.get("main", ()), NO_MODEL)
    return {gate["gate"]: gate for gate in gates(Evidence(point, rows, tables), [])}


def verdicts(gate):
    return gate["as_specified"]["verdict"], gate["established"]["verdict"]


def wilson(share, n, z, side):
    """The limit of Wilson's score interval."""
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (share + z * z / (2 * n) + side * half) / (1 + z * z / n)


# +50 points
STRONG = [(16, 6), (17, 5), (15, 7), (16, 4), (18, 6), (16, 8), (17, 6), (15, 5)]
WEAK = [(11, 10), (9, 10), (11, 9), (10, 11), (11, 10), (10, 9), (9, 10), (12, 10)]
REVERSE, NIL = [(y, x) for x, y in STRONG], [(10, 10)] * 8
HALF = {"main": [(16, 6)] * 8, "reworded": [(11, 6)] * 8, "ablated": [(11, 6)] * 8}
# +40 points, and half of the bulletins point the other way
NOISY = [(20, 0)] * 4 + [(8, 12)] * 4


def everywhere(shares, **other):
    """The same shares in every part, or others; held-out ones on bulletins of their own."""
    rows = {}
    for part in PARTS:
        pool = "h" if part == "holdout" else "b"
        rows[part] = planted(other.get(part, shares), bulletins=pool)
    return rows


PASSED = ("pass", "pass")
OPEN, FAILED = ("pass", "undecided"), ("fail", "fail")
AGAIN = {"cross_domain": "hospital", "ablation": "ablated", "holdout": "holdout"}
ARM = [(11, 6)] * 7 + [(10, 6)]

# gate, shares of parts (else STRONG), verdicts as specified and established
BOARD = [
    ("first_encounter", {"main": WEAK}, OPEN),
    ("effect_size", {"main": WEAK}, FAILED),
    ("ablation", {"reworded": REVERSE}, FAILED),
    # exactly half of it has to be left in both arms as specified; established, both exclude 0
    ("ablation", HALF, PASSED),
    ("ablation", HALF | {"reworded": ARM}, ("fail", "pass")),
    ("ablation", HALF | {"ablated": ARM}, ("fail", "pass")),
    ("ablation", {"reworded": NOISY}, OPEN),
    ("ablation", {"ablated": NOISY}, OPEN),
    # a δ of exactly a fifth, which as 0.9 − 0.7 is a little more, is not above it
    ("effect_size", {"main": [(18, 14)] * 8}, FAILED),
    ("effect_size", {"main": [(15, 10)] + [(14, 10)] * 7}, OPEN),
]


@pytest.mark.parametrize("gate, shares, expected", BOARD)
def test_a_gate_follows_its_rule_and_asks_for_what_excludes_the_alternative(
    gate, shares, expected
):
    assert verdicts(board(**everywhere(STRONG, **shares))[gate]) == expected


@pytest.mark.parametrize("shares", [REVERSE, NIL])
def test_an_effect_of_the_wrong_sign_passes_nothing_nor_does_none(shares):
    for gate, part in AGAIN.items():
        out = board(**everywhere(STRONG, **{part: shares}))
        assert verdicts(out[gate]) == FAILED
    # In main runs without an effect nothing is there to be found again.
    out = board(**everywhere(STRONG, main=shares))
    for gate in EFFECT_GATES:
        again = ("fail", "undecided") if gate in AGAIN else FAILED
        assert verdicts(out[gate]) == again


LACKING = [
    ("hospital", "cross_domain", "confirmatory"),
    ("ablated", "ablation", "ablation"),
    ("holdout", "holdout", "holdout"),
    ("main", "labels", "confirmatory"),
    ("main", "first_encounter", "confirmatory"),
]


@pytest.mark.parametrize("missing, gate, plan", LACKING)
def test_a_part_that_was_not_run_is_not_evaluable_and_names_the_plan_that_brings_it(
    missing, gate, plan
):
    out = board(**everywhere(STRONG, **{missing: []}))[gate]
    assert (*verdicts(out), out["plan"]) == ("not evaluable", "not evaluable", plan)


@pytest.mark.parametrize("bulletins, verdict", [(5, "not evaluable"), (6, "pass")])
def test_five_bulletins_are_not_evaluable_and_six_are(bulletins, verdict):
    out = board(**everywhere([(19, 1)] * bulletins))
    assert {out[gate]["established"]["verdict"] for gate in EFFECT_GATES} == {verdict}


def test_five_wordings_are_judged_in_these_sentences_over_bulletins():
    rows = {}
    for part, listed in everywhere(STRONG).items():
        rows[part] = [row._replace(wording=1) for row in listed]
    for gate in EFFECT_GATES:
        known = board(**rows)[gate]["established"]
        assert known["verdict"] == "pass"
        assert known["figure"].endswith("in these sentences")


def test_an_undecided_gate_says_how_many_times_the_decisions_would_decide_it():
    """The interval's lower half is so many times as long as the estimate, squared."""
    gate = board(main=planted(WEAK))["first_encounter"]
    effect = gate["numbers"]["effects"]["main"]
    times = ((effect["value"] - effect["low"]) / effect["value"]) ** 2
    assert gate["times"] == pytest.approx(times)
    assert board(main=planted(NIL))["first_encounter"]["times"] is None


DECIDES = [
    (1.2, "about 2,400 decisions (2,000 here)", [7, 8]),
    (3.5, "about 7,000 decisions (2,000 here)", [7, 8, 9, 10]),
    (11, "no affordable size (over 10 times as many decisions)", None),
    (None, "no number of decisions (at the observed rates)", None),
]


@pytest.mark.parametrize("times, words, seeds", DECIDES)
def test_what_would_decide_a_gate_is_said_with_the_command(times, words, seeds):
    gate = {"established": {"verdict": "undecided"}, "times": times, "numbers": {}}
    gate["plan"] = "confirmatory"
    table = {slot_of(decision()): Count(1000, 2000, 5)}
    settle([gate], {"main": table}, {"seeds": [7]}, lambda plan, seeds: (plan, seeds))
    assert gate["decides"] == words
    assert gate["next"] == (seeds and ("confirmatory", seeds))


def test_a_gate_counts_what_is_missing_against_the_effect():
    """+25 points; three in ten decisions of either cell are missing: at worst below 0."""
    lost = [row._replace(cooperates=None) for row in planted([(6, 6)] * 8, n=6)]
    known = planted([(9, 5)] * 8, n=14)
    assert verdicts(board(main=known)["first_encounter"]) == PASSED
    assert verdicts(board(main=known + lost)["first_encounter"]) == OPEN


def test_a_holdout_on_bulletins_of_main_runs_is_not_evaluable():
    gate = board(**everywhere(STRONG) | {"holdout": planted(STRONG)})["holdout"]
    assert verdicts(gate) == ("not evaluable", "not evaluable")
    assert "8 bulletins of the held-out" in gate["established"]["figure"]


# --- labels ------------------------------------------------------------------------------------

SCHEMES, ORDERS = ("L1", "L2", "L3"), ("cooperative-first", "other-first")


def label_gate(high, low, other=None, n=200, bulletins=10):
    """`high`, `low`: {scheme: k of n} of either cell on each bulletin; `other`: the two where the
    other act stands first, the same unless given."""
    rows = []
    for order, rates in zip(ORDERS, ((high, low), other or (high, low)), strict=True):
        for cell, by_scheme in zip((HPL, LAL), rates, strict=True):
            for scheme, k in by_scheme.items():
                acts = {cell: [1] * k + [0] * (n - k)}
                place = {"label_scheme": scheme, "option_order": order}
                for at in range(bulletins):
                    rows += cells(acts, "a", bulletin=f"b{at}", **place)
    return board(main=rows)["labels"]


def every(k):
    return dict.fromkeys(SCHEMES, k)


SAME = every(100)


def test_a_respondent_that_never_varies_passes_and_what_follows_the_word_fails():
    assert verdicts(label_gate(every(200), every(0))) == ("pass", "pass")
    assert verdicts(label_gate(every(200) | {"L1": 0}, every(0))) == ("fail", "fail")


@pytest.mark.parametrize("k, specified", [(104, "pass"), (105, "fail")])
def test_two_points_follow_the_rule_more_do_not(k, specified):
    high = SAME | {"L1": k}
    assert label_gate(high, high)["as_specified"]["verdict"] == specified


@pytest.mark.parametrize("n, verdict", [(168, "undecided"), (170, "pass")])
def test_a_difference_passes_where_its_90_percent_interval_lies_inside_two_points(
    n, verdict
):
    """Bulletins agree, so Newcombe's limits of the pooled cells speak: two cells of weight 1/2 on
    either side, each as far as Wilson's limit of one half of 10 n; z(.95) = 1.6449. At n = 168
    that is 2.006 points, at 170 1.994."""
    gate = label_gate(every(n // 2), every(n // 2), ({}, {}), n=n)
    assert gate["established"]["verdict"] == verdict


@pytest.mark.parametrize("bulletins, verdict", [(8, "undecided"), (9, "fail")])
def test_a_difference_fails_where_its_interval_lies_wholly_outside_at_5_percent_over_3(
    bulletins, verdict
):
    """Six points, 100 decisions a bulletin, scheme and cell; z(1 − .05/6) = 2.3940. The limit
    nearest to 0 lies at 1.81 points in eight bulletins, at 2.05 in nine."""
    more = every(25) | {"L1": 28}
    gate = label_gate(more, more, n=50, bulletins=bulletins)
    assert verdicts(gate) == ("fail", verdict)


# +20 points under the first scheme and −20 under the second; cooperation is one half
BY_SCHEME = (SAME | {"L1": 120, "L2": 80}, SAME | {"L1": 80, "L2": 120})


HANGS = [
    (BY_SCHEME, "L1 − L2: +40.0 points"),
    ((every(140), every(60), (SAME, SAME)), "cooperative-first − other-first: +40"),
]


@pytest.mark.parametrize("rates, figure", HANGS)
def test_an_effect_that_hangs_on_label_or_order_fails_though_rates_are_equal(
    rates, figure
):
    gate = label_gate(*rates)
    assert verdicts(gate) == ("pass", "fail")
    assert gate["established"]["figure"].startswith(f"effect, {figure}")


def test_a_single_scheme_and_five_bulletins_are_not_evaluable():
    single = label_gate({"L1": 1}, {"L1": 1})["as_specified"]
    assert "only one label scheme" in single["figure"]
    assert verdicts(label_gate(SAME, SAME, bulletins=5)) == ("pass", "not evaluable")


# --- tripwires ---------------------------------------------------------------------------------


def wires(rows=(), runs=(), texts=()):
    return {wire["tripwire"]: wire for wire in tripwires(rows, runs, dict(texts))}


def counted(decision=None, policy=None, served=("m-1",), upstreams=("p",), role="main"):
    """What manifests count, a run a cell: {cell: {status: answers}}."""
    decision, policy, runs = decision or {}, policy or {}, []
    for cell in {**decision, **policy} or "a":
        ended = {"decision": decision.get(cell, {}), "policy": policy.get(cell, {})}
        run = {"role": role, "cell": cell, "statuses": ended}
        run["served"] = {"m": dict.fromkeys(served, 1)}
        run["upstreams"] = {"m": dict.fromkeys(upstreams, 1)}
        runs.append(run)
    return runs


# 4% of 100, which chance may make of 3%; 4.5% and 4% of 1,000
UNREADABLE = [(4, 100, False), (45, 1000, True), (40, 1000, False)]


@pytest.mark.parametrize("bad, n, tripped", UNREADABLE)
def test_unreadable_answers_trip_where_their_lower_limit_is_above_three_percent(
    bad, n, tripped
):
    ended = {"ok": n - bad, "refused": bad, "provider_error": n}
    runs = counted({"a": {"ok": n}, "b": ended})
    runs += counted({"b": {"refused": n}}, role="holdout")  # main runs alone
    out = wires(runs=runs)["unreadable"]
    low = wilson(bad / n, n, 2.241403, -1)  # R: qnorm(1 - .0125)
    assert out["numbers"]["cells"]["b"].low == pytest.approx(low, rel=1e-5)
    assert (out["alert"], out["tripped"]) == (True, tripped)


@pytest.mark.parametrize("status", ["refused", "truncated", "empty", "blocked"])
def test_policies_that_are_none_trip_like_unreadable_answers(status):
    runs = counted(policy={"a": {"ok": 90, status: 10}})
    assert wires(runs=runs)["policies"]["tripped"] is True
    few = counted(policy={"a": {"ok": 90, "short": 10, status: 3, "not_run": 9}})
    out = wires(runs=few)["policies"]
    assert (out["alert"], out["tripped"]) == (False, False)


# how many were cut off in each cell; R: qnorm(1 - .05/2), of three pairs qnorm(1 - .05/6)
CUT = [
    ([0, 28], 1.959964, False),
    ([0, 40], 1.959964, True),
    ([0, 5, 40], 2.393980, True),
]


@pytest.mark.parametrize("cut, z, tripped", CUT)
def test_truncation_trips_where_the_widest_difference_is_established_above_two_points(
    cut, z, tripped
):
    """Newcombe's limit of the highest share against none, of 1,000; pairs of cells share 5%."""
    ended = {}
    for cell, k in zip("abc", cut, strict=False):
        ended[cell] = {"ok": 1000 - k, "truncated": k}
    out, most = wires(runs=counted(ended))["truncation"], cut[-1] / 1000
    low = most - math.hypot(most - wilson(most, 1000, z, -1), wilson(0, 1000, z, 1))
    assert out["numbers"]["gap"]["low"] == pytest.approx(low, rel=1e-5)
    assert (out["alert"], out["tripped"]) == (True, tripped)


def test_nothing_answered_is_not_checked_rather_than_fine():
    out = wires(runs=counted({"a": {"not_run": 3}}))
    assert (out["unreadable"]["tripped"], out["truncation"]["tripped"]) == (None, None)
    assert {wire["tripped"] for wire in wires().values()} == {None}


def test_both_sides_of_a_pair_and_its_runs_share_a_drawn_order_of_a_seed_and_domain():
    """Twenty decisions on two drawn orders: p can't be below 2/4."""
    rows = []
    for order, (x, y) in (("cooperative-first", "ab"), ("other-first", "cd")):
        for run in "12345":
            one = decision(agent=x, opponent=y, option_order=order, run=run)
            rows += [one, one._replace(agent=y, opponent=x)]

    def position(rows):
        return wires(rows)["position"]

    numbers = position(rows)["numbers"]
    assert (numbers["slots"], numbers["p"]) == (2, 0.5)
    for change in ({"seed": 2}, {"domain": "hospital"}):
        more = [row._replace(**change) for row in rows]
        assert position(rows + more)["numbers"]["slots"] == 4
    unread = [row._replace(first_taken=None) for row in rows]
    assert position(unread)["figure"] == "no readable decisions"
    assert position(rows[:10])["figure"].startswith("one option order only")


# Fisher, 12/50 against 0/50: 2 × C(50,12)/C(100,12); 1 of 1 against 0 of 39: 1/40
ATTRITION = [
    (12, 50, 50, 0.00023115, True),
    (1, 1, 39, 1 / 40, False),
    (1, 1, 40, 1 / 41, True),
]


@pytest.mark.parametrize("missing, n, others, p, tripped", ATTRITION)
def test_missing_decisions_in_a_cell_trip_below_five_percent(
    missing, n, others, p, tripped
):
    rows = [decision(HPL, None)] * missing + [decision(HPL, 1)] * (n - missing)
    out = wires(rows + [decision(LAL, 1)] * others)["attrition"]
    cell = out["numbers"]["cells"]["cvd, symmetry + cue, compliance pressure low"]
    assert (cell["missing"], cell["n"]) == (missing, n)
    assert cell["p_holm"] == pytest.approx(2 * p, rel=1e-3)
    assert out["tripped"] is tripped
    assert wires(rows)["attrition"]["tripped"] is None


ALIKE, OTHER = "one two three four", "five six seven eight nine"


def overlap(*runs, number=1):
    """Of the policies of runs of one cell, a seed each."""
    texts = {}
    for seed, policies in enumerate(runs):
        texts[seed, "cvd", number] = {"a": policies}
    return wires(texts=texts)["overlap"]


def test_identical_policies_are_counted_and_trip_where_the_lower_limit_passes():
    # Pairs 1, 0, 0. Without one policy: 0, 0, 1: pseudo-values 1, 1, −1, which says nothing.
    few = overlap([ALIKE, ALIKE, OTHER])
    held = few["numbers"]["cells"]["a"]
    assert (held.mean, held.low, held.pairs, held.identical) == (1 / 3, 0, 3, 1)
    assert (few["alert"], few["tripped"]) == (True, False)  # 0.33 > 0.3
    assert overlap([ALIKE] * 4)["tripped"] is True
    assert overlap([ALIKE] * 4, number=2)["tripped"] is None  # later rounds
    assert overlap(["", "a b"])["tripped"] is None


SERVED = [
    (counted() + counted(), False, "one each"),
    (counted() + counted(served=("m-2",)), True, "m: 2 models (m-1, m-2)"),
    (counted(upstreams="pq", role="holdout"), True, "m: 2 providers (p, q)"),
]


@pytest.mark.parametrize("runs, tripped, figure", SERVED)
def test_two_models_or_upstreams_behind_a_name_trip(runs, tripped, figure):
    out = wires(runs=runs)["served"]
    assert (out["tripped"], out["figure"]) == (tripped, figure)


# --- convergence: equal texts have cosine 1, texts without a common 3-gram 0 ---------------------

A, B = "publish together at the agreed hour", "xxyyzz qqwwvv kkjjhh"


SIMILAR = [
    ([{"a": [A, A], "b": [A, A, A]}], 1, 1),
    ([{"a": [A], "b": [B]}], None, 0),
    ([{"a": [A, A]}], 1, None),
    ([{"a": [A, A], "b": [B]}, {"a": [A, B], "b": [B]}], 1 / 2, (0 + 1 / 2) / 2),
]


@pytest.mark.parametrize("texts, within, between", SIMILAR)
def test_similarity_within_and_between_cells_is_averaged_over_seeds(
    texts, within, between
):
    by_seed = {(seed, "cvd", 2): policies for seed, policies in enumerate(texts)}
    [row] = convergence(by_seed)
    assert row["within"] == pytest.approx(within, abs=1e-12)
    assert row["between"] == pytest.approx(between, abs=1e-12)
    assert (row["difference"] is None) is (None in (within, between))
