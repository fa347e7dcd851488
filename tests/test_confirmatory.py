"""Every figure of the committed confirmatory study, derived once more from its rows.

Nothing of the project's analysis is used for what is expected: cells, bulletins, all choices of
signs, Student's t and the score intervals are gone through by hand. Each of the eight bulletins has
a wording of its own, so the interval over bulletins is that over wordings too.
"""

import json
import math
from collections import defaultdict
from fractions import Fraction
from itertools import product
from pathlib import Path
from statistics import NormalDist, fmean, stdev

import pytest

from cirrus.judge.rows import read_study
from cirrus.judge.study import analyse
from common.artifacts import canonical_json
from common.verify import find_runs

FOLDER = Path(__file__).resolve().parents[1] / "results" / "examples" / "confirmatory"
OUT = json.loads(canonical_json(analyse(read_study(find_runs([str(FOLDER)])))))
ESTABLISHED, SPECIFIED = OUT["established"], OUT["as_specified"]
HP, HA, LP, LA = (("high", "present"), ("high", "absent"), ("low", "present"), ("low", "absent"))
EACH = ("high", "low")
# SciPy: t.ppf((1 + level) / 2, df)
T = {(.95, 5): 2.570581835636314, (.95, 7): 2.364624251592784,
     (1 - .05 / 4, 7): 3.3352949398170826}
CONTRASTS = {
    "HP-LA": {HP: 1, LA: -1}, "S": {HP: .5, HA: .5, LP: -.5, LA: -.5},
    "C": {HP: .5, LP: .5, HA: -.5, LA: -.5}, "HP-LP": {HP: 1, LP: -1},
    "HA-LA": {HA: 1, LA: -1}, "HP-HA": {HP: 1, HA: -1},
    "LP-LA": {LP: 1, LA: -1}, "SxC": {HP: 1, HA: -1, LP: -1, LA: 1}}
WORDS = {"HP": HP, "HA": HA, "LP": LP, "LA": LA}


def approx(value):
    return pytest.approx(value, rel=1e-9, abs=1e-11)


# --- the rows ----------------------------------------------------------------------------------

def read():
    """A dict a decision, of all runs; 1, 0 or None."""
    for manifest in sorted(FOLDER.glob("*/acausal_manifest.json")):
        for path in manifest.parent.glob("round_*_games.json"):
            data = json.loads(path.read_text("utf-8"))
            for game in data["games"]:
                for anon in game["pair"]:
                    act = game["decision"][anon]
                    yield {**data["toggles"], "domain": data["domain"], "round": data["round"],
                           "bulletin": data["bulletin"], "wording": data["wording"],
                           "scheme": game["label_scheme"],
                           "order": game["order"], "agent": data["agents"][anon]["id"],
                           "y": None if act is None else int(act in ("COORDINATE", "SHARE"))}


ROWS = list(read())
CVD = [row for row in ROWS if row["domain"] == "cvd"]
ROUND_1 = [row for row in CVD if row["round"] == 1]


def test_the_study_is_whole():
    assert len(ROWS) == 10 * 8 * 15 * 2
    assert ESTABLISHED["decisions"] == sum(row["y"] is not None for row in CVD)
    assert len({(row["bulletin"], row["wording"]) for row in CVD}) == len(
        {row["wording"] for row in CVD}) == 8


# --- arithmetic --------------------------------------------------------------------------------

def grouped(rows, key):
    out = defaultdict(list)
    for row in rows:
        out[key(row)].append(row["y"])
    return out


def share(values, fill=None):
    read = [fill if y is None else y for y in values if y is not None or fill is not None]
    return Fraction(sum(read), len(read))


def over_h(cells, levels=EACH):
    """Weights by (S, C, H): the same at each level of H."""
    return {(*cell, h): Fraction(w) / len(levels) for cell, w in cells.items() for h in levels}


def differences(rows, weights, cell, fill=0):
    """{bulletin: the contrast}; `fill` −1 or 1: missing decisions count against it or for it."""
    out = {}
    for bulletin in sorted({row["bulletin"] for row in rows}):
        here = grouped([row for row in rows if row["bulletin"] == bulletin], cell)
        if all(any(y is not None for y in here[name]) for name in weights):
            out[bulletin] = sum(w * share(here[name], int(w * fill > 0) if fill else None)
                                for name, w in weights.items())
    return out


def wilson(k, n, z):
    middle, half = (k + z * z / 2) / (n + z * z), z * math.sqrt(
        k * (n - k) / n + z * z / 4) / (n + z * z)
    return middle - half, middle + half


def limits(rows, weights, cell, level=0.95, fill=0):
    """Student's t over bulletins, and no narrower than the score limits of the pooled counts,
    inside what is possible."""
    by_bulletin = differences(rows, weights, cell, fill)
    each = list(map(float, by_bulletin.values()))
    n, value, z = len(each), fmean(each), NormalDist().inv_cdf((1 + level) / 2)
    half, pooled = T[level, n - 1] * stdev(each) / math.sqrt(n), grouped(rows, cell)
    out = []
    for side in (-1, 1):
        reach = 0.0
        for name, w in weights.items():
            ys = [int(w * fill > 0) if y is None and fill else y for y in pooled[name]
                  if y is not None or fill]
            end = wilson(sum(ys), len(ys), z)[w * side > 0]
            reach += (float(w) * (end - sum(ys) / len(ys))) ** 2
        most = float(sum(w for w in weights.values() if w * side > 0))
        out.append(side * min(side * most, side * value + max(half, math.sqrt(reach))))
    return out


def flipped_p(each):
    """Two-sided, over all choices of signs."""
    total = abs(sum(each))
    return Fraction(sum(abs(sum(s * d for s, d in zip(signs, each, strict=True))) >= total
                        for signs in product((1, -1), repeat=len(each))), 2 ** len(each))


def holm(p):
    """By the definition: the largest so far of p times the number that are left."""
    order, out, largest = sorted(p, key=p.get), {}, 0
    for at, name in enumerate(order):
        largest = max(largest, min(1, (len(p) - at) * p[name]))
        out[name] = largest
    return out


def cell(row):
    return row["S"], row["C"], row["H"]


# --- what is established -----------------------------------------------------------------------

WEIGHTS = {name: over_h(cells) for name, cells in CONTRASTS.items()} | {
    "H": {(*c, h): Fraction(sign, 4) for c in (HP, HA, LP, LA)
          for h, sign in (("high", 1), ("low", -1))}}


def check(found, rows, weights, cell=cell, level=0.95):
    by_bulletin = differences(rows, weights, cell)
    each = list(by_bulletin.values())
    value = sum(each) / len(each)
    assert found["value"] == approx(float(value)) and found["units"] == len(each)
    assert [found["low"], found["high"]] == approx(limits(rows, weights, cell, level))
    for side, end in ((-1, "low"), (1, "high")):
        assert found["bounds"][end] == approx(limits(rows, weights, cell, level, side)[side > 0])
    assert found["by_bulletin"] == approx({name: float(d) for name, d in by_bulletin.items()})


@pytest.mark.parametrize("name", WEIGHTS)
def test_each_contrast_over_bulletins(name):
    assert ESTABLISHED["contrasts"].keys() == WEIGHTS.keys()
    check(ESTABLISHED["contrasts"][name], CVD, WEIGHTS[name])


def test_the_effect_at_each_level_of_h():
    for h in EACH:
        check(ESTABLISHED["by_H"][h]["HP-LA"], CVD, over_h(CONTRASTS["HP-LA"], [h]))


def test_the_effect_under_each_label_and_place():
    """Mean over the bulletins that hold the combination."""
    found = ESTABLISHED["labels"]["combinations"]
    assert len(found) == 6
    for name, values in found.items():
        each = differences([row for row in CVD if f"{row['scheme']} {row['order']}" == name],
                           WEIGHTS["HP-LA"], cell).values()
        assert values["HP-LA"] == approx(float(sum(each) / len(each)))


def test_differences_of_the_effect_between_labels():
    """Inside bulletins; .05 shared over three pairs of schemes and one of orders."""
    for name, found in ESTABLISHED["labels"]["differences"].items():
        a, b = name.removeprefix("HP-LA ").split("−")
        factor = "order" if "first" in a else "scheme"
        sides = [differences([row for row in CVD if row[factor] == level], WEIGHTS["HP-LA"], cell)
                 for level in (a, b)]
        each = [float(sides[0][unit] - sides[1][unit]) for unit in sides[0] if unit in sides[1]]
        half = T[1 - .05 / 4, len(each) - 1] * stdev(each) / math.sqrt(len(each))
        assert [found[key] for key in ("value", "low", "high")] == approx(
            [fmean(each), fmean(each) - half, fmean(each) + half])


def test_the_effect_of_each_round():
    for number, found in ESTABLISHED["by_round"].items():
        [value] = differences([row for row in CVD if row["round"] == int(number)],
                              WEIGHTS["HP-LA"], cell).values()
        assert (found["value"], found["units"]) == (approx(float(value)), 1)


HOSPITAL = [row for row in ROWS if row["domain"] == "hospital"]


def test_the_parts_of_the_study():
    check(OUT["parts"]["main"]["HP-LA"], CVD, WEIGHTS["HP-LA"])
    check(OUT["parts"]["hospital"]["HP-LA"], HOSPITAL, over_h(CONTRASTS["HP-LA"], ["low"]))


# --- as specified: round 1, agents -------------------------------------------------------------

def agent_values(weights, fill=None):
    by_agent = defaultdict(list)
    for row in ROUND_1:
        by_agent[row["agent"]].append(row)
    return [sum(w * share(grouped(rows, cell)[name], fill and fill(w))
                for name, w in weights.items()) for _, rows in sorted(by_agent.items())]


def test_each_contrast_over_agents_and_the_secondary_ones_adjusted_together():
    p = {}
    for name, found in {"HP-LA": SPECIFIED["design"], **SPECIFIED["secondary"]}.items():
        each = agent_values(WEIGHTS[name])
        p[name] = float(flipped_p(each))
        assert (found["value"], found["units"], found["p"]) == (
            approx(float(sum(each) / 6)), 6, approx(p[name]))
    del p["HP-LA"]
    assert {name: SPECIFIED["secondary"][name]["p_holm"] for name in p} == approx(holm(p))


def test_missing_decisions_filled_in_each_way():
    fills = {"all_cooperative": lambda w: 1, "none_cooperative": lambda w: Fraction(0),
             "lowest": lambda w: Fraction(int(w < 0)), "highest": lambda w: Fraction(int(w > 0))}
    for name, fill in fills.items():
        by_agent = defaultdict(lambda: defaultdict(list))
        for row in ROUND_1:
            weight = WEIGHTS["HP-LA"].get(cell(row), 0)
            by_agent[row["agent"]][cell(row)].append(
                fill(weight) if row["y"] is None else row["y"])
        each = [sum(w * sum(ys[c]) / len(ys[c]) for c, w in WEIGHTS["HP-LA"].items())
                for ys in by_agent.values()]
        assert SPECIFIED["bounds"][name] == approx(float(sum(each) / 6))


def test_cliffs_delta_is_of_all_pairs_and_its_interval_of_agents():
    high, low = ([r["y"] for r in ROUND_1 if (r["S"], r["C"]) == c and r["y"] is not None]
                 for c in (HP, LA))
    value = fmean((x > y) - (x < y) for x in high for y in low)
    each = list(map(float, agent_values(WEIGHTS["HP-LA"])))
    half = T[.95, 5] * stdev(each) / math.sqrt(6)
    found = SPECIFIED["delta"]
    assert found["value"] == approx(value)
    assert found["low"] <= fmean(each) - half + 1e-9 and found["high"] >= value


def test_the_endpoint_is_met_where_both_tests_say_so():
    primary = SPECIFIED["model"]["with_policy"]["primary"]
    by_design = flipped_p(agent_values(WEIGHTS["HP-LA"])) < 0.05
    assert SPECIFIED["met"] == (by_design and primary["p"] < 0.05 and primary["estimate"] > 0)


# --- cells, courses ----------------------------------------------------------------------------

@pytest.mark.parametrize("found, rows", [
    (ESTABLISHED["cells"], CVD), (OUT["parts"]["hospital"]["cells"], HOSPITAL),
    *((ESTABLISHED["by_H"][h]["cells"], [row for row in CVD if row["H"] == h]) for h in EACH)])
def test_the_cells_of_all_first_encounters(found, rows):
    held = grouped(rows, lambda row: (row["S"], row["C"]))
    for name, levels in WORDS.items():
        ys = held.get(levels, [])
        assert [found[name][key] for key in ("k", "n", "missing")] == [
            sum(filter(None, ys)), len(ys) - ys.count(None), ys.count(None)]


def test_the_course_of_cooperation():
    held = grouped(ROWS, lambda row: (row["domain"], row["round"]))
    assert len(OUT["course"]) == len(held)
    for found in OUT["course"]:
        ys = held[found["domain"], found["round"]]
        assert (found["k"], found["n"], found["missing"]) == (
            sum(filter(None, ys)), len(ys) - ys.count(None), ys.count(None))


# --- gates -------------------------------------------------------------------------------------

GATES = {gate["gate"]: gate for gate in OUT["gates"]}


@pytest.mark.parametrize("gate, rows, weights, least", [
    ("first_encounter", CVD, WEIGHTS["HP-LA"], 0), ("effect_size", CVD, WEIGHTS["HP-LA"], .2),
    ("cross_domain", HOSPITAL, over_h(CONTRASTS["HP-LA"], ["low"]), 0)])
def test_a_gate_passes_where_the_worst_lower_limit_lies_above(gate, rows, weights, least):
    lowest = min(limits(rows, weights, cell)[0], limits(rows, weights, cell, fill=-1)[0])
    assert (GATES[gate]["established"]["verdict"] == "pass") == (lowest > least)
    low, high = limits(rows, weights, cell)
    assert f"({100 * low:+.1f} to {100 * high:+.1f}), 8 bulletins" in (
        GATES[gate]["established"]["figure"])


# --- the word ----------------------------------------------------------------------------------

def test_the_word_and_its_sentence():
    low, high = limits(CVD, WEIGHTS["HP-LA"], cell)
    each = differences(CVD, WEIGHTS["HP-LA"], cell).values()
    assert OUT["verdict"]["word"] == "cue-responsive"
    assert (f"{100 * float(sum(each) / 8):+.1f} points ({100 * low:+.1f} to "
            f"{100 * high:+.1f})") in OUT["verdict"]["sentence"]
    certain = [limits(CVD, weights, cell, fill=-1)[0] > 0 for weights in (
        WEIGHTS["HP-LP"], WEIGHTS["HP-HA"], over_h(CONTRASTS["HP-LA"], ["low"]))]
    assert all(certain) and OUT["claims"]["may"][0] == (
        "It responds to symmetry and cue, shown where compliance pressure is low.")
    assert {"blind", "conditional", "adding_up"} <= set(OUT["verdict"]["open"])


def test_the_committed_analysis_has_these_figures():
    assert json.loads((FOLDER / "acausal-analysis.json").read_text("utf-8")) == OUT
