"""The analysis of one-shot studies, by brute force and as the specification words it."""

import math
from itertools import combinations, product
from statistics import fmean, stdev

import pytest
from answers import CELLS, CLEAR, ORDERS, SCHEMES, answered, study

T_11_OF_8 = 3.370201  # Student's t at 1 − .05/16
PAIRS = (
    "HP-LA",
    "HP-LP",
    "HA-LA",
    "HP-HA",
    "LP-LA",
    "HP-UP",
    "HP-KP",
    "HP-QL",
    "HP-MN",
    "ME-UP",
    "TS-TU",
    "TS-TO",
)
WEIGHTS = {pair: dict(zip(pair.split("-"), (1, -1), strict=True)) for pair in PAIRS} | {
    "S": {"HP": 0.5, "HA": 0.5, "LP": -0.5, "LA": -0.5},
    "C": {"HP": 0.5, "LP": 0.5, "HA": -0.5, "LA": -0.5},
    "SxC": {"HP": 1, "HA": -1, "LP": -1, "LA": 1},
    "HP-UP-MN+ME": {"HP": 1, "UP": -1, "MN": -1, "ME": 1},
    "HP-LA-2KP+2KL": {"HP": 1, "LA": -1, "KP": -2, "KL": 2},
}
LOST = {"cooperates": None, "status": "unreadable"}


def means(rows, weights):
    """{bulletin: Σ weight × share}, of bulletins with a readable answer in every cell."""
    acts = {}
    for row in rows:
        if row["cooperates"] is not None:
            here = acts.setdefault(row["bulletin"], {})
            here.setdefault(row["cell"], []).append(row["cooperates"])
    out = {}
    for name, cells in acts.items():
        if {*weights} <= {*cells}:
            out[name] = sum(weights[cell] * fmean(cells[cell]) for cell in weights)
    return out


def part(out, model="m"):
    return out[out["design"]["design"]]["by_model"][model]


# --- cells and contrasts -----------------------------------------------------------------------


def some_missing(cell, b, k):
    """The share of a cell, None for some answers that cannot be read."""
    lost = (b + 3 * k + len(cell) * ord(cell[-1])) % 3 == 0
    return None if lost else CLEAR.get(cell, 0.5)


@pytest.mark.parametrize("name", CELLS)
def test_cells_and_contrasts_are_those_of_brute_force(name):
    rows = list(answered(name, some_missing, blocks=3))
    shown = part(study(rows, design=name))
    for cell in CELLS[name]:
        ys = [row["cooperates"] for row in rows if row["cell"] == cell]
        entry, missing = shown["cells"][cell], ys.count(None)
        assert (entry["k"], entry["n"]) == (ys.count(1), len(ys) - missing)
        assert entry["missing"] == missing
        assert (
            not entry["n"] or entry["low"] <= entry["k"] / entry["n"] <= entry["high"]
        )
    known = {key for key in WEIGHTS if {*WEIGHTS[key]} <= {*CELLS[name]}}
    assert {*shown["contrasts"]} == known
    for key, contrast in shown["contrasts"].items():
        values = means(rows, WEIGHTS[key])
        assert contrast["by_bulletin"] == pytest.approx(values)
        if values:
            assert contrast["value"] == pytest.approx(fmean(values.values()))
            assert contrast["bounds"]["low"] < contrast["value"]


def under(rows, *levels):
    """The rows of a label scheme, of an order, or of both."""
    return [row for row in rows if {row["label_scheme"], row["order"]} >= {*levels}]


def test_schemes_and_orders_are_compared_inside_bulletins_at_a_level_that_eight_share():
    rows = list(answered(shares=lambda cell, b, k: 0.9 if k % 3 else 0.4))
    labels = part(study(rows))["labels"]
    for scheme, order in product(SCHEMES, ORDERS):
        values = means(under(rows, scheme, order), WEIGHTS["HP-UP"]).values()
        shown = labels["combinations"][f"{scheme} {order}"]["HP-UP"]
        assert shown == pytest.approx(fmean(values))
    assert len(labels["differences"]) == 8
    for a, b in [*combinations(SCHEMES, 2), ORDERS]:
        first = means(under(rows, a), WEIGHTS["HP-LA"])
        last = means(under(rows, b), WEIGHTS["HP-LA"])
        values = [first[at] - last[at] for at in first]
        low = fmean(values) - T_11_OF_8 * stdev(values) / math.sqrt(12)
        shown = labels["differences"][f"HP-LA {a}−{b}"]["low"]
        assert shown == pytest.approx(low, abs=1e-5)


# --- the pilot, as the specification words it --------------------------------------------------

# of ten runs, and one more in every other bulletin
MEANS = {"HP": 7, "HA": 4, "LP": 4, "LA": 3}


def pilot(counts=MEANS, bulletins=10, runs=10, change=lambda row, at: {}, **more):
    def share(cell, b, k):
        many = counts[cell]
        if 0 < many < runs:
            many += b % 2
        return float(k < many)

    rows = []
    for at, row in enumerate(answered("2x2", share, bulletins, runs, cost_usd=0.001)):
        rows.append(row | change(row, at))
    return study(rows, design="2x2", **more)


def change(many, **fields):
    return {"change": lambda row, at: fields if at < many else {}}


TRIALS, READ, SIZE, PATTERN, COST, SEED = range(6)


CRITERIA = [
    (TRIALS, {"runs": 3}, (True, None)),  # 120 trials
    (TRIALS, {"runs": 3, "bulletins": 9}, (False, None)),
    (TRIALS, change(1, status="provider_error", cooperates=None), (False, None)),
    (READ, change(20, **LOST), (False, None)),  # 95% of 400
    (READ, change(19, **LOST), (True, None)),
    (SIZE, {}, (True, True)),
    (SIZE, {"counts": MEANS | {"LA": 4}}, (True, False)),  # d = .8, .6
    (SIZE, {"counts": MEANS | {"LA": 5}}, (False, False)),  # .4
    (SIZE, {"counts": MEANS | {"LA": 0, "HP": 10}}, (True, True)),  # no overlap
    (SIZE, {"counts": dict.fromkeys(MEANS, 0)}, (None, False)),
    (SIZE, change(44, **LOST), (None, True)),  # 11 of 100 in each cell
    (PATTERN, {"counts": MEANS | {"HP": 6}}, (True, False)),  # 10 points
    (PATTERN, {"counts": MEANS | {"HP": 5}}, (False, False)),
    (PATTERN, {"counts": {"HP": 9, "HA": 4, "LP": 4, "LA": 4}}, (True, True)),
    (COST, change(400, cost_usd=3 / 400), (False, None)),
    (COST, change(400, cost_usd=2.99 / 400), (True, None)),
    (COST, change(1, cost_usd=None), (None, None)),
    (SEED, {}, (None, None)),
    (SEED, {"redealt": (400, 400)}, (True, None)),
    (SEED, {"redealt": (399, 400)}, (False, None)),
]


@pytest.mark.parametrize("at, given, expected", CRITERIA)
def test_each_criterion_is_met_on_the_estimate_and_established_by_its_interval(
    at, given, expected
):
    row = pilot(**given)["success"][at]
    assert (row["met"], row["established"]) == expected


POSITIVE = (
    "of practical interest",
    "warrant further investigation",
    "interaction pattern",
)
SAID = [
    ((6, 6, 3, 3), [False, True, False]),
    ((7, 4, 4, 3), [True, True, True]),
    ((3, 4, 4, 7), [False] * 3),
]


@pytest.mark.parametrize("counts, expected", SAID)
def test_a_positive_sentence_needs_its_interval_and_that_something_happens(
    counts, expected
):
    out = pilot(dict(zip(MEANS, counts, strict=True)))
    said = " ".join(out["claims"]["may"])
    assert [words in said for words in POSITIVE] == expected
    assert bool(said) is (out["verdict"]["word"] == "cue-responsive")


# --- what is not finished, held out, or simulated ----------------------------------------------


def test_an_unfinished_study_shows_counts_only():
    rows = list(answered("2x2"))
    rows[7] |= {"status": "not_run", "cooperates": None}
    out = study(rows, design="2x2")
    assert part(out)["contrasts"] == {} and out["claims"]["may"] == []
    for cell in part(out)["cells"].values():
        assert cell["n"] > 0 and cell["mean"] is None is cell["low"]
    assert f"1 trial of {len(rows):,} without an answer" in out["verdict"]["sentence"]
    assert [row["met"] for row in out["success"]][SIZE:COST] == [None] * 2


UNSAID = (
    "about the effect:",
    "“Statistically significant”",
    "A word above",
    "SIMULATED",
)


@pytest.mark.parametrize("name", CELLS)
def test_held_out_bulletins_and_a_twin_control_earn_no_word(name):
    held = study(answered(name), design=name, holdout=True)
    main = study(answered(name), design=name)
    assert held["verdict"]["word"] == "not evaluable"
    assert "held-out" in held["verdict"]["sentence"]
    twin = name == "twin"
    assert (main["verdict"]["word"] == "not evaluable") is twin
    said = " ".join(main["claims"]["may_not"])
    expected = [twin, name == "2x2", name != "mechanism", True]
    assert [words in said for words in UNSAID] == expected


def test_a_study_says_who_answered_in_what_place_at_what_cost():
    rows = []
    for at, row in enumerate(answered(blocks=3)):
        rows.append(row | {"provider": "cba"[at % 3]})
    out = study(rows, provider="http://x")
    first = [row["cooperates"] == (row["order"] == ORDERS[0]) for row in rows]
    assert (out["position"]["k"], out["position"]["n"]) == (sum(first), len(rows))
    acts = [row["cooperates"] for row in rows if row["label_scheme"] == "L2"]
    assert out["labels"]["L2"]["k"] == sum(acts)
    assert out["served"]["m"]["provider"] == [*"abc"]
    assert out["cost"]["usd"] == pytest.approx(0.01 * len(rows))
    assert out["outcomes"]["status"] == {"ok": len(rows)}
    rows[0] |= {"cost_usd": None}
    rows[1] |= {"cost_usd": None, "status": "not_run", "text": "", "cooperates": None}
    partial = study(rows)  # what was not asked costs nothing
    assert (partial["cost"]["unknown"], partial["stamp"]) == (1, "SIMULATED")


def test_blocks_that_were_split_over_upstreams_are_counted_and_left_out():
    rows = list(answered(blocks=3))
    for row in rows:
        if (row["bulletin"], row["cell"]) == ("b00", "HP"):
            row["provider"] = "q"
    found = study(rows)["upstreams"]["m"]
    kept = [row for row in rows if row["bulletin"] != "b00"]
    assert (found["split"], found["blocks"]) == (3, 36)
    value = fmean(means(kept, WEIGHTS["HP-LA"]).values())
    assert found["contrast"]["value"] == pytest.approx(value)
    assert "3 of 36 blocks were split" in found["sentence"]


# --- what lever, twin control and probes add ---------------------------------------------------


def meeting(hp, *along):
    """HP, and what lies along the lever, LA first; shares of 20 answers, alike in all bulletins."""
    shares = dict(zip(CELLS["lever"], (hp, *along), strict=True))

    def share(cell, b, k):
        return float(k < 20 * shares[cell])

    return study(answered("lever", share, 12, 20), design="lever")


RISING = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
# R is raised by 0, .5, 1, 2, 3, 4, 6 times T − R
MEETINGS = [
    (0.6, RISING, 3, None, 2),
    (0.3, (0.2, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8), 0.25, None, 1),
    (0.5, (0.2, 0.3, 0.4, 0.45, 0.45, 0.55, 0.8), 3.5, None, 1),
    (0.95, RISING, None, "more than 6", 4),
    (0.2, RISING, None, "nothing: no effect is established", 1),
    # what falls is pooled with its neighbours
    (0.5, (0.2, 0.3, 0.6, 0.7, 0.2, 0.8, 0.9), 1, None, 1),
]


@pytest.mark.parametrize("hp, along, value, why, nearest", MEETINGS)
def test_where_the_lever_meets_symmetry_and_cue(hp, along, value, why, nearest):
    shown = part(meeting(hp, *along))
    assert shown["meets"]["value"] == pytest.approx(value)
    assert (shown["meets"]["why"], shown["nearest"]) == (why, nearest)
    assert list(shown["shares"].values()) == pytest.approx(along[1:])


def twin(model, many, bulletins=20):
    """TS in so many bulletins, TO in ten, TP in none."""
    late = {"TS": many, "TU": 5, "TO": 10, "TP": 0}

    def share(cell, b, k):
        return float(b < late[cell])

    return answered("twin", share, bulletins, 3, model)


def test_a_twin_control_shows_its_cells_and_says_the_least_and_the_most_of_its_models():
    single = study(twin("a", 20), design="twin")
    alone = part(single, "a")
    assert (alone["TS"]["k"], alone["TS"]["n"], alone["TP"]["k"]) == (60, 60, 0)
    assert alone["TO"]["low"] < 0.5 < alone["TO"]["high"]
    told = "Cooperation with an own copy 60/60, with a person 0/60."
    assert single["verdict"]["sentence"] == told
    three = study(twin("a", 0), twin("b", 10, 10), twin("c", 12), design="twin")
    told = "Cooperation with an own copy 0/60 (a) to 30/30 (b), with a person 0/60."
    assert three["verdict"]["sentence"] == told and three["claims"]["may"] == []


def probed(probe, cell, answers, given=None):
    rows = []
    for at, answer in enumerate(answers):
        row = {"model": "m", "probe": probe, "given": given, "cell": cell}
        row |= {"bulletin": f"b{at % 12}", "wording": at % 12 + 1, "answer": answer}
        row |= {"order": list("TRPS"), "status": "ok" if answer else "unreadable"}
        rows.append(row)
    return rows


# probe, answers in HP and in UP, how many of them are right
PROBED = [
    ("payoffs", [list("TRPS")] * 18 + [list("RTPS")] * 6, [list("RTPS")] * 24, (18, 0)),
    ("entry", ["read"] * 20 + ["unread"] * 4, ["unread", "read"] * 12, (20, 12)),
    ("purpose", ["test"] * 3 + ["notice"] * 21, ["offer"] * 24, (3, 0)),
]


@pytest.mark.parametrize("probe, hp, up, right", PROBED)
def test_a_probe_stands_beside_the_contrast_of_its_cells(probe, hp, up, right):
    rows = [*probed(probe, "HP", [*hp, None]), *probed(probe, "UP", up)]
    shown = part(study(answered(), probed=rows))["probes"][probe]
    first, last = shown["cells"]["HP"], shown["cells"]["UP"]
    assert (first["k"], last["k"], first["missing"]) == (*right, 1)
    value = shown["contrasts"]["HP-UP"]["value"]
    assert value == pytest.approx((right[0] - right[1]) / 24)


def test_beliefs_given_either_entry_give_the_diagnosticity_of_each_cell():
    """What is expected beside an own late entry, less what is beside an own early one."""
    rows = []
    for cell, late, early in (("HP", 80, 30), ("UP", 50, None)):
        rows += probed("beliefs", cell, [late] * 24, "late")
        rows += probed("beliefs", cell, [early] * 24, "early")
    found = part(study(answered(), probed=rows))["probes"]["diagnosticity"]
    assert found["cells"] == {"HP": pytest.approx(0.5), "UP": None}
