"""The analysis of one-shot studies, by brute force and as the specification words it."""

import math
from collections import Counter
from itertools import combinations, product
from statistics import fmean, stdev

import pytest
from answers import CELLS, CLEAR, ORDERS, SCHEMES, answered, study, without

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


def missing_at(every, cell, b, k):
    return (b + 3 * k + len(cell) * ord(cell[-1])) % every == 0


def gaps(every):
    """Some answers that cannot be read."""

    def share(cell, b, k):
        return None if missing_at(every, cell, b, k) else CLEAR.get(cell, 0.5)

    return share


def part(out, model="m"):
    return out[out["design"]["design"]]["by_model"][model]


# --- cells and contrasts -----------------------------------------------------------------------


def filled(rows, weights, side):
    """Every missing answer set against a limit of the contrast."""
    out = []
    for row in rows:
        if row["cooperates"] is None:
            against = weights.get(row["cell"], 0) * side > 0
            row = row | {"cooperates": int(against)}
        out.append(row)
    return out


@pytest.mark.parametrize("name, every", [*product(CELLS, (3, 8))])
def test_cells_and_contrasts_are_those_of_brute_force(name, every):
    rows = list(answered(name, gaps(every), blocks=3))
    shown = part(study(rows, design=name))
    for cell in CELLS[name]:
        ys = [row["cooperates"] for row in rows if row["cell"] == cell]
        entry, missing = shown["cells"][cell], ys.count(None)
        assert (entry["k"], entry["n"]) == (ys.count(1), len(ys) - missing)
        assert entry["missing"] == missing
        if entry["n"]:
            assert entry["low"] <= entry["k"] / entry["n"] <= entry["high"]
    known = {key for key in WEIGHTS if {*WEIGHTS[key]} <= {*CELLS[name]}}
    assert {*shown["contrasts"]} == known
    for key, contrast in shown["contrasts"].items():
        values = means(rows, WEIGHTS[key])
        assert contrast["by_bulletin"] == pytest.approx(values)
        assert contrast["units"] == len(values)
        if values:
            assert contrast["value"] == pytest.approx(fmean(values.values()))
    for end, side in (("low", -1), ("high", 1)):
        worst = study(filled(rows, WEIGHTS[key], side), design=name)
        limit = part(worst)["contrasts"][key][end]
        assert contrast["bounds"][end] == pytest.approx(limit)


def test_a_model_is_judged_by_its_answers_at_a_level_that_all_models_share():
    rows = {}
    for seed, model in enumerate("abc"):
        rows[model] = list(answered(model=model, seed=seed))
    alone = part(study(rows["b"]), "b")
    among = part(study(*rows.values()), "b")
    assert alone["cells"] == among["cells"]
    for name, narrow in alone["contrasts"].items():
        wide = among["contrasts"][name]
        assert (narrow["level"], wide["level"]) == (0.95, pytest.approx(1 - 0.05 / 3))
        assert wide["low"] < narrow["low"] < narrow["value"] == wide["value"]


def under(rows, *levels):
    """The rows of a label scheme, of an order, or of both."""
    return [row for row in rows if {row["label_scheme"], row["order"]} >= {*levels}]


def test_schemes_and_orders_are_compared_inside_bulletins_at_a_level_that_eight_share():
    def share(cell, b, k):
        return 0.9 if cell == "HP" and k % 3 else 0.4

    rows = list(answered(shares=share))
    labels = part(study(rows))["labels"]
    for scheme, order in product(SCHEMES, ORDERS):
        for name, value in labels["combinations"][f"{scheme} {order}"].items():
            values = means(under(rows, scheme, order), WEIGHTS[name]).values()
            assert value == pytest.approx(fmean(values))
    pairs = [*product(("HP-LA", "HP-UP"), [*combinations(SCHEMES, 2), ORDERS])]
    assert len(labels["differences"]) == len(pairs) == 8
    for name, (a, b) in pairs:
        first = means(under(rows, a), WEIGHTS[name])
        last = means(under(rows, b), WEIGHTS[name])
        values = [first[at] - last[at] for at in first]
        shown = labels["differences"][f"{name} {a}−{b}"]
        low = fmean(values) - T_11_OF_8 * stdev(values) / math.sqrt(12)
        assert shown["low"] == pytest.approx(low, abs=1e-5)


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


def unread(many):
    """So many answers of HA are lost."""

    def lose(row, at):
        return LOST if row["cell"] == "HA" and at < 4 * many else {}

    return {"change": lose}


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
    (SIZE, unread(9), (True, True)),
    (SIZE, unread(11), (None, True)),  # of 100 in a cell
    (PATTERN, {"counts": MEANS | {"HP": 6}}, (True, False)),  # 10 points
    (PATTERN, {"counts": MEANS | {"HP": 5}}, (False, False)),
    (PATTERN, {"counts": {"HP": 9, "HA": 4, "LP": 4, "LA": 4}}, (True, True)),
    (PATTERN, {"counts": MEANS}, (True, False)),  # 20 points, above 0, not above 10
    (PATTERN, unread(11), (None, False)),
    (COST, change(400, cost_usd=3 / 400), (False, None)),
    (COST, change(400, cost_usd=2.99 / 400), (True, None)),
    (COST, change(1, cost_usd=None), (None, None)),
    (SEED, {}, (None, None)),
    (SEED, {"redealt": (400, 400)}, (True, None)),
    (SEED, {"redealt": (399, 400)}, (False, None)),
    (SEED, {"redealt": (0, 0)}, (False, None)),
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
    ((8, 8, 3, 3), [True, True, False]),
    ((6, 6, 3, 3), [False, True, False]),
    ((7, 4, 4, 3), [True, True, True]),
    ((3, 4, 4, 7), [False] * 3),
    ((5, 5, 5, 5), [False] * 3),
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


@pytest.mark.parametrize("name", CELLS)
def test_an_unfinished_study_shows_counts_only(name):
    rows = list(answered(name))
    rows[7] |= {"status": "not_run", "cooperates": None}
    out = study(rows, design=name)
    assert part(out)["contrasts"] == {}
    assert out["claims"]["may"] == out["verdict"]["open"] == []
    read = 0
    for cell in part(out)["cells"].values():
        read += cell["n"]
        assert cell["mean"] is None is cell["low"]
    assert read == len(rows) - 1
    assert f"1 trial of {len(rows):,} without an answer" in out["verdict"]["sentence"]
    if name == "2x2":
        assert [row["met"] for row in out["success"]][SIZE:COST] == [None] * 2
        assert out["exploratory"]["d"]["value"] is None


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
    assert part(held)["contrasts"] == part(main)["contrasts"]
    twin = name == "twin"
    assert (main["verdict"]["word"] == "not evaluable") is twin
    said = " ".join(main["claims"]["may_not"])
    expected = [twin, name == "2x2", name != "mechanism", True]
    assert [words in said for words in UNSAID] == expected


def test_a_study_says_who_answered_in_what_place_at_what_cost():
    rows = []
    for at, row in enumerate(answered(shares=gaps(9), blocks=3)):
        rows.append(row | {"provider": "vutsrqp"[at % 7]})
    out = study(rows, provider="http://x")
    first, by_scheme, read = 0, Counter(), 0
    for row in rows:
        if row["cooperates"] is not None:
            read += 1
            first += row["cooperates"] == (row["order"] == ORDERS[0])
            by_scheme[row["label_scheme"]] += row["cooperates"]
    assert (out["position"]["k"], out["position"]["n"]) == (first, read)
    for scheme, k in by_scheme.items():
        assert out["labels"][scheme]["k"] == k
    assert out["served"]["m"]["provider"] == [*"pqrstuv"]
    assert out["cost"]["usd"] == pytest.approx(0.01 * len(rows))
    unreadable = len(rows) - read
    assert out["outcomes"]["status"] == {"ok": read, "unreadable": unreadable}
    assert out["stamp"] is None
    rows[0] |= {"cost_usd": None}
    rows[1] |= {"cost_usd": None, "status": "not_run", "text": "", "cooperates": None}
    partial = study(rows)  # what was not asked costs nothing
    assert (partial["cost"]["unknown"], partial["stamp"]) == (1, "SIMULATED")


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
    # what falls is pooled with its neighbours: the last two first, or the first two
    (0.5, (0.2, 0.3, 0.6, 0.7, 0.2, 0.8, 0.9), 1, None, 1),
    (0.5, (0.2, 0.6, 0.4, 0.2, 0.8, 0.9, 0.9), 2.25, None, 2),
]


@pytest.mark.parametrize("hp, along, value, why, nearest", MEETINGS)
def test_where_the_lever_meets_symmetry_and_cue(hp, along, value, why, nearest):
    shown = part(meeting(hp, *along))
    assert shown["meets"]["value"] == pytest.approx(value)
    assert (shown["meets"]["why"], shown["nearest"]) == (why, nearest)
    assert list(shown["shares"].values()) == pytest.approx(along[1:])


def test_the_interval_of_the_meeting_holds_the_strengths_that_its_contrast_does_not_exclude():
    # .1 more per T − R: of .5 − .4 and .5 − .6, of 240 answers each, Newcombe's limit is .088 off
    line = (0.2, 0.25, 0.35, 0.4, 0.5, 0.6, 0.8)
    out = meeting(0.5, *line)
    meets = part(out)["meets"]
    assert meets["value"] == pytest.approx(3)
    assert meets["low"] == pytest.approx(2.12, abs=0.1)
    assert meets["high"] == pytest.approx(3.88, abs=0.1)
    limits = f"{meets['low']:.1f} to {meets['high']:.1f}"
    told = f" 3.0 times the temptation ({limits}) to m."
    assert out["verdict"]["sentence"].endswith(told)


def test_a_lever_without_an_answer_in_a_cell_has_no_estimate():
    shown = part(study(without(answered("lever"), "L3", **LOST), design="lever"))
    assert (shown["nearest"], shown["shares"]["3"]) == (None, None)
    assert shown["meets"] == {
        "value": None,
        "low": None,
        "high": None,
        "why": "no estimate",
    }


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
    assert {*alone["contrasts"]} == {"TS-TU", "TS-TO"}
    told = "Cooperation with an own copy 60/60, with a person 0/60."
    assert single["verdict"]["sentence"] == told
    rows = twin("a", 0), twin("b", 10, 10), twin("c", 12)
    three = study(*rows, design="twin")
    assert three["verdict"]["sentence"] == (
        "Cooperation with an own copy 0/60 (a) to 30/30 (b), with a person 0/60."
    )
    assert three["claims"]["may"] == []


def probed(probe, cell, answers, given=None):
    rows = []
    for at, answer in enumerate(answers):
        row = {"model": "m", "probe": probe, "given": given, "cell": cell}
        row |= {"bulletin": f"b{at % 12}", "wording": at % 12 + 1, "answer": answer}
        row |= {"order": list("TRPS"), "status": "ok" if answer else "unreadable"}
        rows.append(row)
    return rows


RIGHT, WRONG = list("TRPS"), list("RTPS")
# probe, answers in HP and in UP, how many of them are right
PROBED = [
    ("payoffs", [RIGHT] * 18 + [WRONG] * 6, [RIGHT, WRONG] * 12, (18, 12)),
    ("entry", ["read"] * 20 + ["unread"] * 4, ["unread", "read"] * 12, (20, 12)),
    ("peer", [RIGHT] * 24, [RIGHT] * 6 + [WRONG] * 18, (24, 6)),
    ("purpose", ["test"] * 3 + ["notice"] * 21, ["offer"] * 24, (3, 0)),
    ("beliefs", [70, 72] * 12, [50, 54] * 12, (24 * 0.71, 24 * 0.52)),
]


@pytest.mark.parametrize("probe, hp, up, right", PROBED)
def test_a_probe_stands_beside_the_contrast_of_its_cells(probe, hp, up, right):
    rows = [*probed(probe, "HP", [*hp, None]), *probed(probe, "UP", up)]
    shown = part(study(answered(), probed=rows))["probes"][probe]
    first, last = shown["cells"]["HP"], shown["cells"]["UP"]
    assert (first["k"], last["k"]) == pytest.approx(right)
    assert (first["n"], first["missing"], last["missing"]) == (24, 1, 0)
    beside = shown["contrasts"]["HP-UP"]
    assert beside["value"] == pytest.approx((right[0] - right[1]) / 24)
    assert shown["contrasts"]["HP-LA"]["value"] is None


def test_probes_earn_no_word_and_cost_none():
    rows, mine = list(answered()), probed("purpose", "HP", ["test"] * 24)
    others = [row | {"model": "n"} for row in mine]
    out = study(rows, probed=mine + others)
    assert part(out).pop("probes")["statuses"] == {"purpose ok": 24}
    assert out == study(rows)


def test_a_cell_has_the_standard_error_of_its_bulletins_means():
    """Cell means of eight bulletins, by hand: SD over the root of eight; of the same share none."""
    many = (1, 2, 3, 2, 4, 1, 2, 3)

    def share(cell, b, k):
        return float(k < many[b]) if cell == "HP" else 1.0

    cells = part(study(answered("2x2", share, 8, 6), design="2x2"))["cells"]
    expected = stdev(k / 6 for k in many) / math.sqrt(8)
    assert cells["HP"]["se"] >= expected * (1 - 1e-9)
    assert cells["LA"]["se"] is None and "same share" in cells["LA"]["why"]


def test_beliefs_given_either_entry_give_the_diagnosticity_of_each_cell():
    """What is expected beside an own late entry, less what is beside an own early one."""
    rows = probed("beliefs", "HP", [80] * 24, "late")
    rows += probed("beliefs", "HP", [30] * 24, "early")
    rows += probed("beliefs", "UP", [50] * 24, "late")
    rows += probed("beliefs", "UP", [None] * 24, "early")
    found = part(study(answered(), probed=rows))["probes"]["diagnosticity"]
    assert found["cells"] == {"HP": pytest.approx(0.5), "UP": None}
