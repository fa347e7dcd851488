"""Six gates: the specification's rule, and what the data establish over bulletins. Seven tripwires
of decisions, of what manifests count and of texts, worked by hand. How alike policies are."""

import math
from statistics import stdev

import pytest
from study_rows import cells, decision

from cirrus.judge.contrasts import add
from cirrus.judge.endpoint import endpoint
from cirrus.judge.gates import Evidence, gates, settle
from cirrus.judge.study import slot_of
from cirrus.judge.tripwires import NO_POLICY, convergence, tripwires
from stats.results import Count

HPL, LAL = ("high", "present", "low"), ("low", "absent", "low")
EFFECT_GATES = ("first_encounter", "cross_domain", "ablation", "holdout", "effect_size")
NO_MODEL = {
    "with_policy": {"separated": False, "primary": None, "why": "no model here"}
}
PARTS = ("main", "hospital", "reworded", "ablated", "holdout")


def planted(shares, n=20, bulletins="b", **more):
    """A bulletin a pair of shares of n: {HP: k of n, LA: k of n}, an agent each."""
    return [
        row
        for at, (x, y) in enumerate(shares)
        for row in cells(
            {HPL: [1] * x + [0] * (n - x), LAL: [1] * y + [0] * (n - y)},
            f"a{at:02d}",
            bulletin=f"{bulletins}{at:02d}",
            **more,
        )
    ]


def board(**rows):
    tables = {part: {} for part in rows}
    for part, row in ((part, row) for part, listed in rows.items() for row in listed):
        add(tables[part], slot_of(row), row.cooperates)
    point = endpoint(rows.get("main", ()), NO_MODEL)
    return {gate["gate"]: gate for gate in gates(Evidence(point, rows, tables), [])}


def verdicts(gate):
    return gate["as_specified"]["verdict"], gate["established"]["verdict"]


def wilson(share, n, z, side):
    """The limit of Wilson's score interval."""
    middle = share + z * z / (2 * n)
    return (
        middle + side * z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    ) / (1 + z * z / n)


STRONG = [
    (16, 6),
    (17, 5),
    (15, 7),
    (16, 4),
    (18, 6),
    (16, 8),
    (17, 6),
    (15, 5),
]  # +50 points
WEAK = [(11, 10), (9, 10), (11, 9), (10, 11), (11, 10), (10, 9), (9, 10), (12, 10)]
REVERSE, NIL = [(y, x) for x, y in STRONG], [(10, 10)] * 8
HALF = {"main": [(16, 6)] * 8, "reworded": [(11, 6)] * 8, "ablated": [(11, 6)] * 8}
NOISY = [(20, 0)] * 4 + [
    (8, 12)
] * 4  # +40 points, and half of the bulletins point the other way


def everywhere(shares, **other):
    """The same shares in every part, or others; held-out ones on bulletins of their own."""
    return {
        part: planted(
            other.get(part, shares), bulletins="h" if part == "holdout" else "b"
        )
        for part in PARTS
    }


@pytest.mark.parametrize(
    "gate, shares, expected",
    [
        *(
            (gate, dict.fromkeys(PARTS, WEAK), ("pass", "undecided"))
            for gate in EFFECT_GATES[:4]
        ),
        ("effect_size", {"main": WEAK}, ("fail", "fail")),
        # an effect of the wrong sign passes nothing, nor does none at all
        *(
            (gate, dict.fromkeys(PARTS, shares), ("fail", "fail"))
            for gate in EFFECT_GATES
            for shares in (REVERSE, NIL)
        ),
        *(
            (gate, {part: shares}, ("fail", "fail"))
            for shares in (REVERSE, NIL)
            for part, gate in (
                ("hospital", "cross_domain"),
                ("reworded", "ablation"),
                ("ablated", "ablation"),
                ("holdout", "holdout"),
            )
        ),
        # in main runs without an effect nothing is there to be found again
        *((gate, {"main": NIL}, ("fail", "undecided")) for gate in EFFECT_GATES[1:4]),
        # exactly half of it has to be left in both arms as specified; established, both exclude 0
        ("ablation", HALF, ("pass", "pass")),
        *(
            ("ablation", HALF | {arm: [(11, 6)] * 7 + [(10, 6)]}, ("fail", "pass"))
            for arm in ("reworded", "ablated")
        ),
        ("ablation", {"reworded": NOISY}, ("pass", "undecided")),
        ("ablation", {"ablated": NOISY}, ("pass", "undecided")),
        # a δ of exactly a fifth, which as 0.9 − 0.7 is a little more, is not above it
        *(
            ("effect_size", {"main": [pair] * 8}, ("fail", "fail"))
            for pair in ((12, 8), (18, 14))
        ),
        ("effect_size", {"main": [(15, 10)] + [(14, 10)] * 7}, ("pass", "undecided")),
        *((gate, {}, ("pass", "pass")) for gate in EFFECT_GATES),
    ],
)
def test_a_gate_follows_its_rule_and_asks_for_what_excludes_the_alternative(
    gate, shares, expected
):
    assert verdicts(board(**everywhere(STRONG, **shares))[gate]) == expected


@pytest.mark.parametrize(
    "missing, gate, plan",
    [
        ("hospital", "cross_domain", "confirmatory"),
        ("reworded", "ablation", "ablation"),
        ("ablated", "ablation", "ablation"),
        ("holdout", "holdout", "holdout"),
        ("main", "labels", "confirmatory"),
        ("main", "first_encounter", "confirmatory"),
        ("main", "holdout", "confirmatory"),
    ],
)
def test_a_part_that_was_not_run_is_not_evaluable_and_names_the_plan_that_brings_it(
    missing, gate, plan
):
    out = board(**everywhere(STRONG, **{missing: []}))[gate]
    assert (*verdicts(out), out["plan"]) == ("not evaluable", "not evaluable", plan)


@pytest.mark.parametrize(
    "part, gate",
    [
        ("main", "first_encounter"),
        ("main", "effect_size"),
        ("hospital", "cross_domain"),
        ("holdout", "holdout"),
        ("ablated", "ablation"),
    ],
)
def test_five_bulletins_are_not_evaluable_and_six_are(part, gate):
    rows = everywhere(STRONG, **{part: [(19, 1)] * 6})
    assert board(**rows)[gate]["established"]["verdict"] == "pass"
    rows[part] = [
        row
        if row.bulletin[1:] != "05"
        else row._replace(bulletin=rows[part][0].bulletin, wording=1)
        for row in rows[part]
    ]
    assert verdicts(board(**rows)[gate])[1] == "not evaluable"


def test_five_wordings_are_judged_in_these_sentences_over_bulletins():
    """Eight bulletins, one sentence: mean 50 points, t(7) = 2.364624 over bulletins."""
    rows = {
        part: [row._replace(wording=1) for row in planted_rows]
        for part, planted_rows in everywhere(STRONG).items()
    }
    out = board(**rows)
    assert [verdicts(out[gate])[1] for gate in EFFECT_GATES] == ["pass"] * 5
    assert all(
        out[gate]["established"]["figure"].endswith("in these sentences")
        for gate in EFFECT_GATES
    )
    many = board(**everywhere(STRONG))["first_encounter"]
    assert "sentences" not in many["established"]["figure"]


@pytest.mark.parametrize(
    "shares, times",
    [
        # the interval's lower half is so many times as long as the estimate, squared
        (WEAK, lambda value, low: ((value - low) / value) ** 2),
        (STRONG, lambda value, low: None),
        (NIL, lambda value, low: None),
    ],
)
def test_an_undecided_gate_says_how_many_times_the_decisions_would_decide_it(
    shares, times
):
    gate = board(main=planted(shares))["first_encounter"]
    effect = gate["numbers"]["effects"]["main"]
    expected = times(effect["value"], effect["low"])
    assert gate["times"] == (None if expected is None else pytest.approx(expected))


def test_a_difference_that_is_undecided_needs_its_interval_inside_two_points():
    """No difference, an interval of ± h: (h / 2 points)² times the decisions."""
    gate = label_gate(every(50), every(50), ({}, {}), n=100)
    high = gate["numbers"]["pairs"]["L1−L2"]["high"]
    assert gate["established"]["verdict"] == "undecided"
    assert gate["times"] == pytest.approx((high / 0.02) ** 2, rel=1e-6)


@pytest.mark.parametrize(
    "times, words, seeds",
    [
        (1.2, "about 2,400 decisions (2,000 here)", [7, 8]),
        (3.5, "about 7,000 decisions (2,000 here)", [7, 8, 9, 10]),
        (11, "no affordable size (over 10 times as many decisions)", None),
        (None, "no number of decisions (at the observed rates)", None),
    ],
)
def test_what_would_decide_a_gate_is_said_with_the_command(times, words, seeds):
    gate = {
        "established": {"verdict": "undecided"},
        "plan": "confirmatory",
        "times": times,
        "numbers": {},
    }
    table = {slot_of(decision()): Count(1000, 2000, 5)}
    settle([gate], {"main": table}, {"seeds": [7]}, lambda plan, seeds: (plan, seeds))
    assert gate["decides"] == words
    assert gate["next"] == (seeds and ("confirmatory", seeds))


def test_a_gate_counts_what_is_missing_against_the_effect():
    """+25 points; three in ten decisions of either cell are missing: at worst below 0."""
    lost = [row._replace(cooperates=None) for row in planted([(6, 6)] * 8, n=6)]
    known = planted([(9, 5)] * 8, n=14)
    assert verdicts(board(main=known)["first_encounter"]) == ("pass", "pass")
    assert verdicts(board(main=known + lost)["first_encounter"]) == (
        "pass",
        "undecided",
    )


def test_a_holdout_on_bulletins_of_main_runs_is_not_evaluable():
    gate = board(**everywhere(STRONG) | {"holdout": planted(STRONG)})["holdout"]
    assert verdicts(gate) == ("not evaluable", "not evaluable")
    assert "8 bulletins of the held-out" in gate["established"]["figure"]


# --- labels ------------------------------------------------------------------------------------

SCHEMES, ORDERS = ("L1", "L2", "L3"), ("cooperative-first", "other-first")


def label_gate(high, low, other=None, n=200, bulletins=10):
    """`high`, `low`: {scheme: k of n} of either cell on each bulletin; `other`: the two where the
    other act stands first, the same unless given."""
    return board(
        main=[
            row
            for at in range(bulletins)
            for order, rates in zip(
                ORDERS, ((high, low), other or (high, low)), strict=True
            )
            for cell, by_scheme in zip((HPL, LAL), rates, strict=True)
            for scheme, k in by_scheme.items()
            for row in cells(
                {cell: [1] * k + [0] * (n - k)},
                "a",
                bulletin=f"b{at}",
                label_scheme=scheme,
                option_order=order,
            )
        ]
    )["labels"]


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
    either side, each as far as Wilson's limit of one half; z(.95) = 1.6449."""
    gate = label_gate(every(n // 2), every(n // 2), ({}, {}), n=n)
    reach = wilson(0.5, 10 * n, 1.6448536, 1) - 0.5
    assert gate["numbers"]["pairs"]["L1−L2"]["high"] == pytest.approx(reach)
    assert (reach < 0.02, gate["established"]["verdict"]) == (
        verdict == "pass",
        verdict,
    )


@pytest.mark.parametrize("bulletins, verdict", [(8, "undecided"), (9, "fail")])
def test_a_difference_fails_where_its_interval_lies_wholly_outside_at_5_percent_over_3(
    bulletins, verdict
):
    """Six points, 100 decisions a bulletin, scheme and cell; z(1 − .05/6) = 2.3940."""
    more = every(25) | {"L1": 28}
    gate = label_gate(more, more, n=50, bulletins=bulletins)
    ends = (
        0.56 - wilson(0.56, 100 * bulletins, 2.3939798, -1),
        wilson(0.5, 100 * bulletins, 2.3939798, 1) - 0.5,
    )
    least = 0.06 - math.sqrt(sum(end * end for end in ends) / 2)
    assert gate["numbers"]["pairs"]["L1−L2"]["least"] == pytest.approx(least, rel=1e-5)
    assert (least > 0.02, *verdicts(gate)) == (verdict == "fail", "fail", verdict)


@pytest.mark.parametrize(
    "rates, figure",
    [
        # +20 points under the first scheme and −20 under the second; cooperation is one half
        (
            (SAME | {"L1": 120, "L2": 80}, SAME | {"L1": 80, "L2": 120}),
            "L1 − L2: +40.0 points",
        ),
        ((every(140), every(60), (SAME, SAME)), "cooperative-first − other-first: +40"),
    ],
)
def test_an_effect_that_hangs_on_label_or_order_fails_though_rates_are_equal(
    rates, figure
):
    gate = label_gate(*rates)
    assert verdicts(gate) == ("pass", "fail")
    assert gate["established"]["figure"].startswith(f"effect, {figure}")


def test_a_single_scheme_five_bulletins_and_schemes_apart_are_not_evaluable():
    assert (
        "only one label scheme"
        in label_gate({"L1": 1}, {"L1": 1})["as_specified"]["figure"]
    )
    assert verdicts(label_gate(SAME, SAME, bulletins=5)) == ("pass", "not evaluable")
    rows = [
        row._replace(bulletin=row.bulletin + scheme)
        for scheme in SCHEMES
        for row in planted(NIL, label_scheme=scheme)
    ]
    assert verdicts(board(main=rows)["labels"]) == ("pass", "not evaluable")


# --- tripwires ---------------------------------------------------------------------------------


def wires(rows=(), runs=(), texts=()):
    return {wire["tripwire"]: wire for wire in tripwires(rows, runs, dict(texts))}


def counted(decision=None, policy=None, served=("m-1",), upstreams=("p",), role="main"):
    """What manifests count, a run a cell: {cell: {status: answers}}."""
    return [
        {
            "role": role,
            "cell": cell,
            "statuses": {
                "decision": (decision or {}).get(cell, {}),
                "policy": (policy or {}).get(cell, {}),
            },
            "served": {"m": dict.fromkeys(served, 1)},
            "upstreams": {"m": dict.fromkeys(upstreams, 1)},
        }
        for cell in dict.fromkeys([*(decision or {}), *(policy or {})] or "a")
    ]


@pytest.mark.parametrize(
    "bad, n, tripped",
    [
        (
            4,
            100,
            False,
        ),  # 4%, which chance may make of 3%: lower limit 1.4% (two cells, 97.5%)
        (45, 1000, True),  # 3.3%
        (40, 1000, False),
    ],
)  # 2.8%
def test_unreadable_answers_trip_where_their_lower_limit_is_above_three_percent(
    bad, n, tripped
):
    runs = counted(
        {"a": {"ok": n}, "b": {"ok": n - bad, "refused": bad, "provider_error": n}}
    )
    runs += counted({"b": {"refused": n}}, role="holdout")  # main runs alone
    out = wires(runs=runs)["unreadable"]
    low = wilson(bad / n, n, 2.241403, -1)  # R: qnorm(1 - .0125)
    assert out["numbers"]["cells"]["b"].low == pytest.approx(low, rel=1e-5)
    assert out["tripped"] is tripped is (low > 0.03)
    assert out["alert"] is (bad / n > 0.03)  # as specified, on the estimate


@pytest.mark.parametrize(
    "statuses, tripped",
    [
        *(({"ok": 90, status: 10}, True) for status in NO_POLICY),
        *(({"ok": 97, status: 3}, False) for status in NO_POLICY),
        ({"ok": 90, "short": 10, "not_run": 9}, False),
        ({"not_run": 1}, None),
    ],
)
def test_policies_that_are_none_trip_like_unreadable_answers(statuses, tripped):
    assert wires(runs=counted(policy={"a": statuses}))["policies"]["tripped"] is tripped


@pytest.mark.parametrize(
    "cut, n, z, tripped",
    [
        ([0, 5], 100, 1.959964, False),
        ([0, 28], 1000, 1.959964, False),
        ([0, 40], 1000, 1.959964, True),
        ([0, 5, 40], 1000, 2.393980, True),
    ],
)  # R: qnorm(1 - .05/6)
def test_truncation_trips_where_the_widest_difference_is_established_above_two_points(
    cut, n, z, tripped
):
    """Newcombe's limit of the highest share against none; pairs of cells share 5%."""
    out = wires(
        runs=counted(
            {
                cell: {"ok": n - k, "truncated": k}
                for cell, k in zip("abc", cut, strict=False)
            }
        )
    )["truncation"]
    most = cut[-1] / n
    low = most - math.hypot(most - wilson(most, n, z, -1), wilson(0, n, z, 1))
    assert out["numbers"]["gap"]["low"] == pytest.approx(low, rel=1e-5)
    assert out["tripped"] is tripped is (low > 0.02)
    assert out["alert"] is (most > 0.02)
    assert list(out["numbers"]["cells"].values()) == [k / n for k in cut]


def test_nothing_answered_is_not_checked_rather_than_fine():
    out = wires(runs=counted({"a": {"not_run": 3}}))
    assert (out["unreadable"]["tripped"], out["truncation"]["tripped"]) == (None, None)
    assert {wire["tripped"] for wire in wires().values()} == {None}


def test_both_sides_of_a_pair_and_its_runs_share_a_drawn_order_of_a_seed_and_domain():
    """Twenty decisions on two drawn orders: p can't be below 2/4."""
    rows = [
        decision(agent=a, opponent=b, option_order=order, run=f"r{run}")
        for order, (x, y) in (("cooperative-first", "ab"), ("other-first", "cd"))
        for a, b in ((x, y), (y, x))
        for run in range(5)
    ]
    out = wires(rows)["position"]
    assert (
        out["numbers"]["slots"] == 2
        and out["numbers"]["p"] == 0.5
        and not out["tripped"]
    )
    for change in ({"seed": 2}, {"domain": "hospital"}):
        more = [*rows, *(row._replace(**change) for row in rows)]
        assert wires(more)["position"]["numbers"]["slots"] == 4
    unread = [row._replace(first_taken=None) for row in rows]
    assert wires(unread)["position"]["figure"] == "no readable decisions"
    assert wires(rows[:10])["position"]["figure"].startswith("one option order only")
    read = wires([*unread, rows[0]])["position"]["numbers"]
    assert (read["k"], read["n"]) == (1, 1)


@pytest.mark.parametrize(
    "missing, n, others, p, tripped",
    [
        # Fisher, 12/50 against 0/50: 2 × C(50,12)/C(100,12); 1 of 1 against 0 of 39: 1/40
        (12, 50, 50, 0.00023115, True),
        (1, 1, 39, 1 / 40, False),
        (1, 1, 40, 1 / 41, True),
    ],
)
def test_missing_decisions_in_a_cell_trip_below_five_percent(
    missing, n, others, p, tripped
):
    rows = [decision(HPL, None if at < missing else 1) for at in range(n)]
    out = wires(rows + [decision(LAL, 1)] * others)["attrition"]
    cell = out["numbers"]["cells"]["cvd, symmetry + cue, compliance pressure low"]
    assert cell == {
        "missing": missing,
        "n": n,
        "p_holm": pytest.approx(2 * p, rel=1e-3),
    }
    assert out["tripped"] is tripped and wires(rows)["attrition"]["tripped"] is None


ALIKE, OTHER = "one two three four", "five six seven eight nine"


def overlap(*runs, number=1):
    """Of the policies of runs of one cell, a seed each."""
    return wires(
        texts={(seed, "cvd", number): {"a": texts} for seed, texts in enumerate(runs)}
    )["overlap"]


def test_identical_policies_are_counted_and_trip_where_the_lower_limit_passes():
    # Pairs 1, 0, 0. Without one policy: 0, 0, 1: pseudo-values 1, 1, −1, which says nothing.
    few = overlap([ALIKE, ALIKE, OTHER])
    assert few["numbers"]["cells"]["a"]._asdict() == {
        "mean": 1 / 3,
        "low": 0,
        "pairs": 3,
        "identical": 1,
    }
    assert (few["alert"], few["tripped"]) == (True, False)  # 0.33 > 0.3
    assert overlap([ALIKE] * 4)["tripped"] is True
    assert (
        overlap([ALIKE] * 4, number=2)["tripped"] is None
    )  # later rounds are not looked at
    assert overlap(["", "a b"])["tripped"] is None
    assert overlap(["one two three"] * 3, [ALIKE])["numbers"]["cells"]["a"].pairs == 3


def test_the_limit_of_overlap_leaves_out_a_policy_at_a_time():
    """ALIKE and this share one of three 3-grams; runs of six and of three policies, 18 pairs."""
    runs = [ALIKE] * 5 + ["one two three five"], [ALIKE] * 3
    rest = [
        *[(10 + 5 / 3 + 3 - 4 - 1 / 3) / 13] * 5,
        (10 + 3) / 13,
        *[(10 + 5 / 3 + 3 - 2) / 16] * 3,
    ]
    mean = (10 + 5 / 3 + 3) / 18
    half = 2.306004135 * stdev(9 * mean - 8 * left for left in rest) / 3  # t(8)
    assert overlap(*runs)["numbers"]["cells"]["a"]._asdict() == {
        "mean": pytest.approx(mean),
        "low": pytest.approx(mean - half),
        "pairs": 18,
        "identical": 13,
    }


@pytest.mark.parametrize(
    "runs, tripped, figure",
    [
        (counted() + counted(), False, "one each"),
        (counted() + counted(served=("m-2",)), True, "m: 2 models (m-1, m-2)"),
        (counted(upstreams="pq", role="holdout"), True, "m: 2 providers (p, q)"),
    ],
)
def test_two_models_or_upstreams_behind_a_name_trip(runs, tripped, figure):
    out = wires(runs=runs)["served"]
    assert (out["tripped"], out["figure"]) == (tripped, figure)


# --- convergence: equal texts have cosine 1, texts without a common 3-gram 0 ---------------------

A, B = "publish together at the agreed hour", "xxyyzz qqwwvv kkjjhh"


@pytest.mark.parametrize(
    ("texts", "within", "between"),
    [
        ([{"a": [A, A], "b": [B, B]}], 1, 0),
        ([{"a": [A, A], "b": [A, A, A]}], 1, 1),
        ([{"a": [A], "b": [B]}], None, 0),
        ([{"a": [A, A]}], 1, None),
        ([{"a": [A, A], "b": [B]}, {"a": [A, B], "b": [B]}], 1 / 2, (0 + 1 / 2) / 2),
    ],
)
def test_similarity_within_and_between_cells_is_averaged_over_seeds(
    texts, within, between
):
    [row] = convergence({(seed, "cvd", 2): cells for seed, cells in enumerate(texts)})
    known = None not in (within, between)
    assert row["round"] == 2 and (row["difference"] is not None) is known
    for key, value in (("within", within), ("between", between)):
        assert row[key] == (value if value is None else pytest.approx(value, abs=1e-12))
