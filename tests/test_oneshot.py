"""The analysis of one-shot studies, by brute force and as the specification words it."""

import math
from itertools import combinations, product
from statistics import fmean, stdev

import pytest
from answers import CELLS, CLEAR, ORDERS, SCHEMES, answered, study, without

import stats
from cirrus.judge.contrasts import Count, Slot, by, cell_entry, effect, tally, where
from cirrus.judge.extras import probes_of

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
    out = {}
    for name in {row["bulletin"] for row in rows}:
        ys = {
            cell: [
                row["cooperates"]
                for row in rows
                if (row["bulletin"], row["cell"]) == (name, cell)
                and row["cooperates"] is not None
            ]
            for cell in weights
        }
        if all(ys.values()):
            out[name] = sum(
                weight * fmean(ys[cell]) for cell, weight in weights.items()
            )
    return out


def gaps(every):
    """Some answers that cannot be read."""
    return lambda cell, b, k: (
        None
        if (b + 3 * k + len(cell) * ord(cell[-1])) % every == 0
        else (CLEAR.get(cell, 0.5))
    )


def part(out, model="m"):
    return out[out["design"]["design"]]["by_model"][model]


# --- cells and contrasts -----------------------------------------------------------------------


@pytest.mark.parametrize("name, every", [*product(CELLS, (3, 8))])
def test_cells_and_contrasts_are_those_of_brute_force(name, every):
    rows = list(answered(name, gaps(every), blocks=3))
    cells, contrasts = map(part(study(rows, design=name)).get, ("cells", "contrasts"))
    for cell in CELLS[name]:
        ys, shown = (
            [row["cooperates"] for row in rows if row["cell"] == cell],
            cells[cell],
        )
        k, n = ys.count(1), len(ys) - ys.count(None)
        assert [shown[key] for key in ("k", "n", "missing")] == [k, n, ys.count(None)]
        assert not n or (
            shown["mean"] == k / n and shown["low"] <= k / n <= shown["high"]
        )
    assert {*contrasts} == {key for key in WEIGHTS if {*WEIGHTS[key]} <= {*CELLS[name]}}
    for key, shown in contrasts.items():
        values = means(rows, WEIGHTS[key])
        assert shown["by_bulletin"] == pytest.approx(values) and shown["units"] == len(
            values
        )
        assert shown["value"] == (
            pytest.approx(fmean(values.values())) if values else None
        )
    for end, side in (
        ("low", -1),
        ("high", 1),
    ):  # what is missing, set against this limit
        filled = [
            row
            if row["cooperates"] is not None
            else row | {"cooperates": int(WEIGHTS[key].get(row["cell"], 0) * side > 0)}
            for row in rows
        ]
        worst = part(study(filled, design=name))["contrasts"][key][end]
        assert contrasts[key]["bounds"][end] == pytest.approx(worst)


def test_a_model_is_judged_by_its_answers_at_a_level_that_all_models_share():
    rows = {
        model: list(answered(model=model, seed=seed))
        for seed, model in enumerate("abc")
    }
    studies = study(rows["b"]), study(*rows.values())
    alone, among = (part(out, "b") for out in studies)
    assert [out["mechanism"]["level"] for out in studies] == pytest.approx(
        [0.95, 1 - 0.05 / 3]
    )
    assert alone["cells"] == among["cells"]
    for name, narrow in alone["contrasts"].items():
        wide = among["contrasts"][name]
        assert (narrow["level"], wide["level"]) == (0.95, pytest.approx(1 - 0.05 / 3))
        assert wide["low"] < narrow["low"] < narrow["value"]
        assert wide["value"] == narrow["value"] < narrow["high"]


def test_schemes_and_orders_are_compared_inside_bulletins_at_a_level_that_eight_share():
    rows = list(
        answered(shares=lambda cell, b, k: 0.9 if cell == "HP" and k % 3 else 0.4)
    )
    labels = part(study(rows))["labels"]
    assert labels["combinations"] == {
        f"{scheme} {order}": pytest.approx(
            {
                name: fmean(
                    means(
                        [
                            row
                            for row in rows
                            if (row["label_scheme"], row["order"]) == (scheme, order)
                        ],
                        WEIGHTS[name],
                    ).values()
                )
                for name in ("HP-LA", "HP-UP")
            }
        )
        for scheme, order in product(SCHEMES, ORDERS)
    }
    pairs = [*product(("HP-LA", "HP-UP"), [*combinations(SCHEMES, 2), ORDERS])]
    assert {*labels["differences"]} == {f"{name} {a}−{b}" for name, (a, b) in pairs}
    for name, (a, b) in pairs:
        first, last = (
            means(
                [row for row in rows if side in (row["label_scheme"], row["order"])],
                WEIGHTS[name],
            )
            for side in (a, b)
        )
        values, shown = (
            [first[at] - last[at] for at in first],
            labels["differences"][f"{name} {a}−{b}"],
        )
        half = T_11_OF_8 * stdev(values) / math.sqrt(12)
        assert (shown["value"], shown["low"]) == pytest.approx(
            (fmean(values), fmean(values) - half), abs=1e-5
        )


@pytest.mark.parametrize(
    "levels, open_",
    [
        # a difference between schemes counts as observed, the six values with what is missing
        ({"label_scheme": ["L1"]}, []),
        ({"label_scheme": ["L1"], "order": [ORDERS[0]]}, ["labels"]),
        ({"bulletin": ["b00", "b01", "b02"]}, ["adding_up"]),
    ],
)
def test_an_exclusion_must_hold_with_what_is_missing_counted_against_it_and_takes_no_other_away(
    levels, open_
):
    """24 answers are lost where symmetry and cue meet, all of them cooperative."""
    rows = list(answered(bulletins=20, blocks=12))
    among = [
        row["id"]
        for row in rows
        if row["cell"] == "HP"
        and row["cooperates"]
        and all(row[name] in some for name, some in levels.items())
    ]
    lost = set(among[:24])
    observed = part(study([row for row in rows if row["id"] not in lost]))["accounts"]
    known = part(study([row | LOST if row["id"] in lost else row for row in rows]))
    assert all(account["excluded"] for account in observed.values())
    assert open_ == [
        name for name, account in known["accounts"].items() if not account["excluded"]
    ]
    for name in open_:
        why = known["accounts"][name]["why"]
        assert why.startswith("with what is missing counted against it: ")


def test_levels_of_compliance_pressure_weigh_alike_and_a_factor_is_looked_at_by_level():
    k = {
        ("HP", "high"): 6,
        ("LA", "high"): 3,
        ("HP", "low"): 5,
        ("LA", "low"): 4,
        ("HA", "high"): 6,
        ("HA", "low"): 5,
        ("LP", "high"): 5,
        ("LP", "low"): 4,
    }
    table = {
        Slot(f"b{b}", b, cell, H, "m", "L1", "other-first"): Count(many + b % 2, 9, 0)
        for b, ((cell, H), many) in product(range(6), k.items())
    }
    assert effect(tally(table))["value"] == pytest.approx((3 / 9 + 1 / 9) / 2)
    assert {h: shown["value"] for h, shown in by(table, "H").items()} == pytest.approx(
        {"high": 3 / 9, "low": 1 / 9}
    )
    assert effect(tally(table), "H")["value"] == pytest.approx(
        (6 + 3 + 6 + 5 - 5 - 4 - 5 - 4) / 9 / 4
    )
    low = effect(tally(where(table, H="low")), "H")
    assert (low["value"], low["why"]) == (None, "the data lack a cell of this contrast")
    part = {
        slot: count
        for slot, count in table.items()
        if (slot.cell, slot.H) != ("LA", "high")
    }
    assert effect(tally(part))["value"] == pytest.approx(
        1 / 9
    )  # of the level that has all cells


@pytest.mark.parametrize("few", [Count(1, 1, 11), Count(0, 1, 11)])
def test_a_share_of_decisions_lies_in_its_interval_however_they_are_spread(few):
    """Bulletins weigh alike in the interval, decisions in the share."""
    counts = {
        (b, b): {("HP", "low"): few if b < 9 else Count(6, 12, 0)} for b in range(11)
    }
    shown, (k, n) = cell_entry(counts, "HP"), (9 * few.k + 12, 9 + 24)
    assert shown["mean"] == k / n and shown["low"] <= k / n <= shown["high"]


def test_schemes_that_share_at_most_a_bulletin_are_compared_between_bulletins():
    rows = [
        row
        | {"label_scheme": SCHEMES[int(row["bulletin"][1:]) % 3], "order": ORDERS[0]}
        for row in answered("2x2", gaps(7))
    ]
    rows += [row | {"label_scheme": "L2"} for row in rows if row["bulletin"] == "b00"]
    shown = part(study(rows, design="2x2"))["labels"]["differences"]
    for pair in (("L1", "L2"), ("L1", "L3")):
        sides = [
            means(
                [row for row in rows if row["label_scheme"] == scheme], WEIGHTS["HP-LA"]
            )
            for scheme in pair
        ]
        expected = stats.welch_t_test(
            *(list(side.values()) for side in sides), 1 - 0.05 / 3
        )
        assert [
            shown[f"HP-LA {'−'.join(pair)}"][key] for key in ("value", "low", "high")
        ] == (pytest.approx([expected.difference, expected.low, expected.high]))


# --- the pilot, as the specification words it --------------------------------------------------

MEANS = {
    "HP": 7,
    "HA": 4,
    "LP": 4,
    "LA": 3,
}  # of ten runs, and one more in every other bulletin


def pilot(counts=MEANS, bulletins=10, runs=10, change=lambda row, at: {}, **more):
    rows = answered(
        "2x2",
        lambda cell, b, k: float(
            k < counts[cell] + (b % 2) * (0 < counts[cell] < runs)
        ),
        bulletins,
        runs,
        cost_usd=0.001,
    )
    return study(
        [row | change(row, at) for at, row in enumerate(rows)], design="2x2", **more
    )


def change(many, **fields):
    return {"change": lambda row, at: fields if at < many else {}}


def unread(many):
    return {
        "change": lambda row, at: LOST if row["cell"] == "HA" and at < 4 * many else {}
    }


TRIALS, READ, SIZE, PATTERN, COST, SEED = range(6)


@pytest.mark.parametrize(
    "at, given, expected",
    [
        (TRIALS, {"runs": 3}, (True, None)),  # 120 trials
        (TRIALS, {"runs": 3, "bulletins": 9}, (False, None)),
        (TRIALS, change(1, status="provider_error", cooperates=None), (False, None)),
        (READ, change(20, **LOST), (False, None)),  # 95% of 400
        (READ, change(19, **LOST), (True, None)),
        (SIZE, {}, (True, True)),
        (SIZE, {"counts": MEANS | {"LA": 4}}, (True, False)),  # d = .8, .6
        (SIZE, {"counts": MEANS | {"LA": 5}}, (False, False)),  # .4
        (
            SIZE,
            {"counts": MEANS | {"LA": 0, "HP": 10}},
            (True, True),
        ),  # they don't overlap
        (SIZE, {"counts": dict.fromkeys(MEANS, 0)}, (None, False)),
        (SIZE, {"counts": {"HP": 3, "HA": 4, "LP": 4, "LA": 7}}, (False, False)),
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
    ],
)
def test_each_criterion_is_met_on_the_estimate_and_established_by_its_interval(
    at, given, expected
):
    row = pilot(**given)["success"][at]
    assert (row["met"], row["established"]) == expected


@pytest.mark.parametrize(
    "counts, expected",
    [
        ((8, 8, 3, 3), (True, True, False)),
        ((6, 6, 3, 3), (False, True, False)),
        ((7, 4, 4, 3), (True, True, True)),
        ((3, 4, 4, 7), (False,) * 3),
        ((5,) * 4, (False,) * 3),
    ],
)
def test_a_positive_sentence_needs_its_interval_and_that_something_happens(
    counts, expected
):
    out = pilot(dict(zip(MEANS, counts, strict=True)))
    lines = out["claims"]["may"]
    assert (
        tuple(
            any(words in line for line in lines)
            for words in (
                "of practical interest",
                "warrant further investigation",
                "interaction pattern",
            )
        )
        == expected
    )
    assert bool(lines) is (out["verdict"]["word"] == "cue-responsive")


# --- what is not finished, held out, or simulated ----------------------------------------------


@pytest.mark.parametrize("name", CELLS)
def test_an_unfinished_study_shows_counts_only(name):
    rows = list(answered(name))
    rows[7] |= {"status": "not_run", "cooperates": None}
    out = study(rows, design=name)
    cells = part(out)["cells"].values()
    assert (
        part(out)["contrasts"] == {}
        and out["claims"]["may"] == out["verdict"]["open"] == []
    )
    assert {
        key for cell in cells for key, value in cell.items() if value is not None
    } == {"k", "n", "missing"}
    assert sum(cell["n"] for cell in cells) == len(rows) - 1
    assert f"1 trial of {len(rows):,} without an answer" in out["verdict"]["sentence"]
    if name == "2x2":
        assert [row["met"] for row in out["success"]][SIZE:COST] == [None] * 2
        assert (
            out["exploratory"]["d"]["value"]
            is None
            is out["exploratory"]["sign_flip_p"]
        )


@pytest.mark.parametrize("name", CELLS)
def test_held_out_bulletins_and_a_twin_control_earn_no_word(name):
    held, main = (
        study(answered(name), design=name, **more) for more in ({"holdout": True}, {})
    )
    assert (
        held["verdict"]["word"] == "not evaluable"
        and "held-out" in held["verdict"]["sentence"]
    )
    assert part(held)["contrasts"] == part(main)["contrasts"]
    assert (main["verdict"]["word"] == "not evaluable") is (name == "twin")
    assert [
        any(words in line for line in main["claims"]["may_not"])
        for words in (
            "about the effect:",
            "“Statistically significant”",
            "A word above",
            "SIMULATED",
        )
    ] == [name == "twin", name == "2x2", name != "mechanism", True]


def test_a_study_says_who_answered_in_what_place_at_what_cost():
    rows = [
        row | {"provider": "vutsrqp"[at % 7]}
        for at, row in enumerate(answered(shares=gaps(9), blocks=3))
    ]
    out, read = (
        study(rows, provider="http://x"),
        [row for row in rows if row["cooperates"] is not None],
    )
    first = [row["cooperates"] == (row["order"] == ORDERS[0]) for row in read]
    shares = {
        name: [row["cooperates"] for row in read if row["label_scheme"] == name]
        for name in SCHEMES
    } | {"position": first}
    assert {
        name: (share["k"], share["n"])
        for name, share in (out["labels"] | {"position": out["position"]}).items()
    } == {name: (sum(taken), len(taken)) for name, taken in shares.items()}
    assert (out["served"], out["cost"], out["stamp"], out["outcomes"]["status"]) == (
        {"m": {"served_model": ["m"], "provider": [*"pqrstuv"]}},
        {"usd": pytest.approx(0.01 * len(rows)), "unknown": 0, "why": None},
        None,
        {"ok": len(read), "unreadable": len(rows) - len(read)},
    )
    assert out["outcomes"]["by_cell"]["HP"]["ok"] == part(out)["cells"]["HP"]["n"]
    rows[:2] = [
        rows[0] | {"cost_usd": None},
        rows[1]
        | {"cost_usd": None, "status": "not_run", "text": "", "cooperates": None},
    ]
    partial = study(rows)  # what was not asked costs nothing
    assert (partial["cost"]["unknown"], partial["stamp"]) == (1, "SIMULATED")


# --- what lever, twin control and probes add ---------------------------------------------------


def meeting(hp, *along):
    """HP, and what lies along the lever, LA first; shares of 20 answers, alike in all bulletins."""
    shares = dict(
        zip(("HP", "LA", "L1", "L2", "L3", "L4", "L5", "L6"), (hp, *along), strict=True)
    )
    rows = answered("lever", lambda cell, b, k: float(k < 20 * shares[cell]), 12, 20)
    return study(rows, design="lever")


@pytest.mark.parametrize(
    "hp, along, value, why, nearest",
    [
        # R is raised by 0, .5, 1, 2, 3, 4, 6 times T − R
        (0.6, (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8), 3, None, 2),
        (0.3, (0.2, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8), 0.25, None, 1),
        (0.5, (0.2, 0.3, 0.4, 0.45, 0.45, 0.55, 0.8), 3.5, None, 1),
        (0.95, (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8), None, "more than 6", 4),
        (
            0.2,
            (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
            None,
            "nothing: no effect is established",
            1,
        ),
        (0.9, (0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.5), None, "more than 6", 6),
        (
            0.5,
            (0.2, 0.3, 0.6, 0.4, 0.8, 0.9, 0.9),
            1,
            None,
            1,
        ),  # .6, .4 fall, and count as .5 each
        (
            0.5,
            (0.2, 0.3, 0.6, 0.7, 0.2, 0.8, 0.9),
            1,
            None,
            1,
        ),  # three, the last two pooled first
        (0.5, (0.2, 0.6, 0.4, 0.2, 0.8, 0.9, 0.9), 2.25, None, 2),
    ],
)  # three, the first two pooled first
def test_where_the_lever_meets_symmetry_and_cue(hp, along, value, why, nearest):
    shown = part(meeting(hp, *along))
    assert shown["meets"]["value"] == (value if value is None else pytest.approx(value))
    assert (shown["meets"]["why"], shown["nearest"]) == (why, nearest)
    assert shown["shares"] == pytest.approx(dict(zip("123456", along[1:], strict=True)))


def test_the_interval_of_the_meeting_holds_the_strengths_that_its_contrast_does_not_exclude():
    # .1 more per T − R: of .5 − .4 and .5 − .6, of 240 answers each, Newcombe's limit is .088 off
    out, beyond = (
        meeting(hp, 0.2, 0.25, 0.35, 0.4, 0.5, 0.6, 0.8) for hp in (0.5, 0.75)
    )
    meets = part(out)["meets"]
    assert (meets["value"], meets["low"], meets["high"]) == pytest.approx(
        (3, 2.12, 3.88), abs=0.1
    )
    assert out["verdict"]["sentence"].endswith(
        f" 3.0 times the temptation ({meets['low']:.1f} to {meets['high']:.1f}) to m."
    )
    assert part(beyond)["meets"]["low"] > 4 and part(beyond)["meets"]["high"] is None


def test_a_lever_without_an_answer_in_a_cell_has_no_estimate():
    shown = part(study(without(answered("lever"), "L3", **LOST), design="lever"))
    assert (shown["nearest"], shown["shares"]["3"]) == (None, None)
    assert shown["meets"] == {
        "value": None,
        "low": None,
        "high": None,
        "why": "no estimate",
    }


def test_a_twin_control_shows_its_cells_and_says_the_least_and_the_most_of_its_models():
    rows = [
        answered(
            "twin",
            lambda cell, b, k, many=many: float(
                b < {"TS": many, "TU": 5, "TO": 10, "TP": 0}[cell]
            ),
            bulletins,
            3,
            model,
        )
        for model, many, bulletins in (("a", 0, 20), ("b", 10, 10), ("c", 12, 20))
    ]
    single, three = (
        study(answered("twin", {"TS": 1, "TO": 0.5, "TP": 0}, 20, 3), design="twin"),
        study(*rows, design="twin"),
    )
    alone = part(single)
    assert [(alone[cell]["k"], alone[cell]["n"]) for cell in ("TS", "TP")] == [
        (60, 60),
        (0, 60),
    ]
    assert alone["TO"]["low"] < 0.5 < alone["TO"]["high"]
    assert [out["verdict"]["sentence"] for out in (single, three)] == [
        "Cooperation with an own copy 60/60, with a person 0/60.",
        "Cooperation with an own copy 0/60 (a) to 30/30 (b), with a person 0/60.",
    ]


def probed(probe, cell, answers, given=None):
    return [
        {
            "model": "m",
            "probe": probe,
            "given": given,
            "cell": cell,
            "bulletin": f"b{at % 12}",
            "wording": at % 12 + 1,
            "answer": answer,
            "order": list("TRPS"),
            "status": "ok" if answer else "unreadable",
        }
        for at, answer in enumerate(answers)
    ]


@pytest.mark.parametrize(
    "probe, given, hp, ep, shares",
    [
        (
            "payoffs",
            None,
            [[*"TRPS"]] * 18 + [[*"RTPS"]] * 6,
            [[*"TRPS"], [*"SPRT"]] * 12,
            (18, 12),
        ),
        (
            "entry",
            None,
            ["read"] * 20 + ["unread"] * 4,
            ["unread"] * 12 + ["read"] * 12,
            (20, 12),
        ),
        (
            "peer",
            None,
            [[*"TRPS"]] * 24,
            [[*"TRPS"]] * 6 + [[*"STRP"]] * 18,
            (24, 6),
        ),
        ("purpose", None, ["test"] * 3 + ["notice"] * 21, ["offer"] * 24, (3, 0)),
        ("beliefs", "any", [70, 72] * 12, [50, 54] * 12, (24 * 0.71, 24 * 0.52)),
    ],
)
def test_a_probe_stands_beside_the_contrast_of_its_cells(probe, given, hp, ep, shares):
    rows = probed(probe, "HP", [*hp, None], given) + probed(probe, "UP", ep, given)
    rows += probed("beliefs", "UP", [10] * 24, "late")
    shown = probes_of(rows, ["HP-UP", "HP-LA"])[f"{probe}/{given}" if given else probe]
    for cell, k in zip(("HP", "UP"), shares, strict=True):
        assert [shown["cells"][cell][key] for key in ("k", "n", "missing")] == [
            pytest.approx(k),
            24,
            int(cell == "HP"),
        ]
    beside = shown["contrasts"]["HP-UP"]
    assert beside["value"] == pytest.approx((shares[0] - shares[1]) / 24)
    assert beside["low"] < beside["value"] < beside["high"]
    assert shown["contrasts"]["HP-LA"]["value"] is None


def test_probes_earn_no_word_and_cost_none():
    rows, other = (
        list(answered()),
        [row | {"model": "n"} for row in probed("purpose", "HP", ["offer"] * 24)],
    )
    out = study(rows, probed=probed("purpose", "HP", ["test"] * 24) + other)
    shown = part(out).pop("probes")
    assert {*shown} == {"purpose", "statuses"} and shown["statuses"] == {
        "purpose ok": 24
    }
    assert out == study(rows)


def test_a_cell_has_the_standard_error_of_its_bulletins_means():
    """Cell means of four bulletins, by hand: SD over the root of four."""
    shares = {"b1": (1, 4), "b2": (2, 4), "b3": (3, 4), "b4": (2, 4)}
    counts = {
        (name, 1): {("HP", "low"): Count(k, n, 0)} for name, (k, n) in shares.items()
    }
    entry = cell_entry(counts, "HP")
    each = [k / n for k, n in shares.values()]
    assert entry["se"] == pytest.approx(stdev(each) / 2)
    alone = cell_entry({("b1", 1): {("HP", "low"): Count(1, 4, 0)}}, "HP")
    assert (alone["mean"], alone["se"]) == (0.25, None)


def test_beliefs_given_either_entry_give_the_diagnosticity_of_each_cell():
    """What is expected beside an own late entry, less what is beside an own early one."""
    rows = probed("beliefs", "HP", [80] * 24, "late")
    rows += probed("beliefs", "HP", [30] * 24, "early")
    rows += probed("beliefs", "UP", [50] * 24, "late")
    rows += probed("beliefs", "UP", [None] * 24, "early")
    shown = probes_of(rows, [])["diagnosticity"]["cells"]
    assert shown == {"HP": pytest.approx(0.5), "UP": None}
