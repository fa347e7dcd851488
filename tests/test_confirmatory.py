"""Every figure of the committed confirmatory study, derived once more from its rows.

Nothing of the project's analysis is used for what is expected: cells, bulletins, all choices of
signs, all subsets and both score intervals are gone through by hand.
"""

import json
import math
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from statistics import NormalDist, fmean, stdev

import pytest

from cirrus.judge.rows import read_study
from cirrus.judge.study import analyse
from common.artifacts import canonical_json
from common.verify import find_runs

FOLDER = Path(__file__).resolve().parents[1] / "results" / "examples" / "confirmatory"
OUT = json.loads((FOLDER / "acausal-analysis.json").read_text("utf-8"))
ESTABLISHED, SPECIFIED = OUT["established"], OUT["primary"]
HP, HA, LP, LA = (("high", "present"), ("high", "absent"), ("low", "present"), ("low", "absent"))
EACH = ("high", "low")
T = {5: 2.5705818356363146, 7: 2.364624251592784}   # 97.5% quantiles of Student's t, by its df
CONTRASTS = {
    "primary": {HP: 1, LA: -1}, "S": {HP: .5, HA: .5, LP: -.5, LA: -.5},
    "C": {HP: .5, LP: .5, HA: -.5, LA: -.5}, "S_at_C_present": {HP: 1, LP: -1},
    "S_at_C_absent": {HA: 1, LA: -1}, "C_at_S_high": {HP: 1, HA: -1},
    "C_at_S_low": {LP: 1, LA: -1}, "SxC": {HP: 1, HA: -1, LP: -1, LA: 1}}


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
                           "bulletin": data["bulletin"], "scheme": game["label_scheme"],
                           "order": game["order"], "agent": data["agents"][anon]["id"],
                           "y": None if act is None else int(act in ("COORDINATE", "SHARE"))}


ROWS = list(read())
CVD = [row for row in ROWS if row["domain"] == "cvd"]
ROUND_1 = [row for row in CVD if row["round"] == 1]


def test_the_study_is_whole():
    assert len(ROWS) == 10 * 8 * 15 * 2
    assert ESTABLISHED["decisions"] == sum(row["y"] is not None for row in CVD)
    assert Counter((r["S"], r["C"], r["H"]) for r in CVD) == dict.fromkeys(
        [(*cell, h) for cell in (HP, HA, LP, LA) for h in EACH], 240)
    assert OUT["registration"]["kind"] != "confirmatory" and OUT["simulated"]
    statuses = {policy["policy_status"] for path in FOLDER.glob("*/strategies_r*.json")
                for policy in json.loads(path.read_text("utf-8"))}
    assert not statuses & {"refused", "truncated", "empty", "blocked"}


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
    """The union: subset means, one more unit at the extreme, score interval of the pooled counts,
    inside what is possible."""
    each, pooled = list(differences(rows, weights, cell, fill).values()), grouped(rows, cell)
    n, z = len(each), NormalDist().inv_cdf((1 + level) / 2)
    means = sorted(sum(some) / size for size in range(1, n + 1)
                   for some in combinations(each, size))
    rank = math.floor((1 - level) / 2 * 2 ** n + 1e-9)
    out = []
    for side in (-1, 1):
        extreme = sum(w for w in weights.values() if w * side > 0)
        reach = value = 0.0
        for name, w in weights.items():
            ys = [int(w * fill > 0) if y is None and fill else y for y in pooled[name]
                  if y is not None or fill]
            p = sum(ys) / len(ys)
            ends = wilson(sum(ys), len(ys), z)
            value += float(w) * p
            reach += max(side * float(w) * (end - p) for end in ends) ** 2
        ends = [side * float(means[rank - 1] if side < 0 else means[-rank]) if rank else math.inf,
                side * float((sum(each) + extreme) / (n + 1)), side * value + math.sqrt(reach)]
        out.append(side * min(side * float(extreme), max(ends)))
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
          for h, sign in (("high", 1), ("low", -1))},
    **{f"H_{h}": over_h(CONTRASTS["primary"], [h]) for h in EACH}}


def check(found, rows, weights, cell=cell, level=0.95):
    by_bulletin = differences(rows, weights, cell)
    each = list(by_bulletin.values())
    value = sum(each) / len(each)
    assert found["value"] == approx(float(value)) and found["units"] == len(each)
    assert [found["low"], found["high"]] == approx(limits(rows, weights, cell, level))
    assert found["against"] == sum(d * value < 0 for d in each)
    assert found["least"] == approx(float((sum(each) - max(each)) / (len(each) - 1)))
    for side, end, limit in ((-1, "low", "lowest"), (1, "high", "highest")):
        worst = list(differences(rows, weights, cell, side).values())
        assert found["bounds"][end] == approx(float(sum(worst) / len(worst)))
        assert found["bounds"][limit] == approx(
            limits(rows, weights, cell, level, side)[side > 0])


@pytest.mark.parametrize("name", WEIGHTS)
def test_each_contrast_over_bulletins(name):
    found = ESTABLISHED["effects"][name]
    check(found, CVD, WEIGHTS[name])
    assert found["p"] == approx(float(flipped_p(list(differences(
        CVD, WEIGHTS[name], cell).values()))))


def test_no_contrast_is_left_out():
    assert ESTABLISHED["effects"].keys() == WEIGHTS.keys()


def test_the_secondary_tests_are_adjusted_together():
    p = {name: float(flipped_p(list(differences(CVD, WEIGHTS[name], cell).values())))
         for name in ("S", "C", "SxC", "H")}
    assert {name: ESTABLISHED["effects"][name]["p_holm"] for name in p} == approx(holm(p))


@pytest.mark.parametrize("kind, factor", [("schemes", "scheme"), ("orders", "order")])
def test_the_effect_under_each_label_and_place(kind, factor):
    for level, found in ESTABLISHED["labels"][kind].items():
        check(found, [row for row in CVD if row[factor] == level], WEIGHTS["primary"])


def pair_weights(a, b):
    return {(level, *c): sign * w for level, sign in ((a, 1), (b, -1))
            for c, w in WEIGHTS["primary"].items()}


def test_differences_of_the_effect_between_labels():
    for pair, found in ESTABLISHED["labels"]["differences"].items():
        check(found, CVD, pair_weights(*pair.split("−")), lambda row: (row["scheme"], *cell(row)))


def test_the_effect_of_the_model_and_of_each_round():
    check(ESTABLISHED["by_model"]["superrational"], CVD, WEIGHTS["primary"])
    for number, found in ESTABLISHED["by_round"].items():
        [value] = differences([row for row in CVD if row["round"] == int(number)],
                              WEIGHTS["primary"], cell).values()
        assert (found["value"], found["units"]) == (approx(float(value)), 1)


HOSPITAL = [row for row in ROWS if row["domain"] == "hospital"]


@pytest.mark.parametrize("part, rows, weights", [
    ("main", CVD, WEIGHTS["primary"]),
    ("hospital", HOSPITAL, over_h(CONTRASTS["primary"], ["low"]))])
def test_the_parts_of_the_study(part, rows, weights):
    check(OUT["parts"][part]["effect"], rows, weights)


# --- as specified: round 1, agents -------------------------------------------------------------

def agent_values(weights, fill=None):
    by_agent = defaultdict(list)
    for row in ROUND_1:
        by_agent[row["agent"]].append(row)
    return [sum(w * share(grouped(rows, cell)[name], fill and fill(w))
                for name, w in weights.items()) for _, rows in sorted(by_agent.items())]


@pytest.mark.parametrize("found, weights", [
    (SPECIFIED["design"], WEIGHTS["primary"]),
    *((SPECIFIED["at_h"][h], WEIGHTS[f"H_{h}"]) for h in EACH),
    *((OUT["secondary"][name], WEIGHTS[name]) for name in ("S", "C", "SxC", "H"))])
def test_each_contrast_over_agents(found, weights):
    each = agent_values(weights)
    value, half = float(sum(each) / 6), T[5] * stdev(map(float, each)) / math.sqrt(6)
    most = float(sum(w for w in weights.values() if w > 0))
    assert (found["value"], found["units"], found["p"]) == (
        approx(value), 6, approx(float(flipped_p(each))))
    if half:
        assert [found["low"], found["high"]] == approx(
            [max(-most, value - half), min(most, value + half)])
        assert found["sd"] == approx(stdev(map(float, each)))


def test_the_secondary_tests_over_agents_are_adjusted_together():
    p = {name: float(flipped_p(agent_values(WEIGHTS[name]))) for name in ("S", "C", "SxC", "H")}
    assert {name: OUT["secondary"][name]["p_holm"] for name in p} == approx(holm(p))


def test_missing_decisions_filled_in_each_way():
    fills = {"all_cooperative": lambda w: 1, "none_cooperative": lambda w: Fraction(0),
             "lowest": lambda w: Fraction(int(w < 0)), "highest": lambda w: Fraction(int(w > 0))}
    for name, fill in fills.items():
        by_agent = defaultdict(lambda: defaultdict(list))
        for row in ROUND_1:
            weight = WEIGHTS["primary"].get(cell(row), 0)
            by_agent[row["agent"]][cell(row)].append(
                fill(weight) if row["y"] is None else row["y"])
        each = [sum(w * sum(ys[c]) / len(ys[c]) for c, w in WEIGHTS["primary"].items())
                for ys in by_agent.values()]
        assert SPECIFIED["bounds"][name] == approx(float(sum(each) / 6))


def test_cliffs_delta_leaves_out_one_agent_at_a_time():
    def delta(rows):
        high, low = ([r["y"] for r in rows if (r["S"], r["C"]) == c and r["y"] is not None]
                     for c in (HP, LA))
        return fmean((x > y) - (x < y) for x in high for y in low)
    agents = sorted({row["agent"] for row in ROUND_1})
    value = delta(ROUND_1)
    pseudo = [6 * value - 5 * delta([r for r in ROUND_1 if r["agent"] != a]) for a in agents]
    half = T[5] * stdev(pseudo) / math.sqrt(6)
    found = SPECIFIED["delta"]
    assert [found["value"], found["low"], found["high"]] == approx(
        [value, value - half, value + half])


def test_the_endpoint_is_met_where_both_tests_say_so():
    primary = SPECIFIED["model"]["with_policy"]["primary"]
    by_design = flipped_p(agent_values(WEIGHTS["primary"])) < 0.05
    assert SPECIFIED["met"] == (by_design and primary["p"] < 0.05 and primary["estimate"] > 0)


# --- cells, courses ----------------------------------------------------------------------------

@pytest.mark.parametrize("part, rows", [("main", ROUND_1), ("hospital", [
    row for row in HOSPITAL if row["round"] == 1])])
def test_the_cells_of_round_1(part, rows):
    held = grouped(rows, cell)
    assert {(c["S"], c["C"], c["H"]) for c in OUT["parts"][part]["cells"]} == held.keys()
    for found in OUT["parts"][part]["cells"]:
        ys = [y for y in held[found["S"], found["C"], found["H"]] if y is not None]
        assert (found["k"], found["n"], found["missing"]) == (sum(ys), len(ys), 30 - len(ys))
        assert [found["low"], found["high"]] == approx(list(wilson(
            sum(ys), len(ys), NormalDist().inv_cdf(0.975))))


def test_the_course_of_cooperation():
    held = grouped(ROWS, lambda row: (row["domain"], row["round"]))
    assert len(OUT["course"]) == len(held)
    for found in OUT["course"]:
        ys = held[found["domain"], found["round"]]
        assert (found["k"], found["n"], found["missing"]) == (
            sum(filter(None, ys)), len(ys) - ys.count(None), ys.count(None))


# --- gates -------------------------------------------------------------------------------------

GATES = {gate["gate"]: gate for gate in OUT["gates"]}


def exact(k, n, level):
    """Clopper and Pearson's limits of a cell whose answers are all alike."""
    tail = ((1 - level) / 2) ** (1 / n)
    return (tail, 1.0) if k == n else (0.0, 1 - tail)


def bounded(weights, key, level):
    """Subset means, and both kinds of limits of the pooled cells."""
    each, pooled = list(differences(CVD, weights, key).values()), grouped(CVD, key)
    n, z, value = len(each), NormalDist().inv_cdf((1 + level) / 2), float(sum(each) / len(each))
    means = sorted(sum(s) / size for size in range(1, n + 1) for s in combinations(each, size))
    rank, out = math.floor((1 - level) / 2 * 2 ** n + 1e-9), []
    for side in (-1, 1):
        reach = 0.0
        for name, w in weights.items():
            ys = [y for y in pooled[name] if y is not None]
            ends = (exact(sum(ys), len(ys), level) if sum(ys) in (0, len(ys))
                    else wilson(sum(ys), len(ys), z))
            reach += (float(w) * (ends[w * side > 0] - sum(ys) / len(ys))) ** 2
        flip = float(means[rank - 1] if side < 0 else means[-rank])
        out.append(side * max(side * flip, side * value + math.sqrt(reach)))
    return [value, *out]


def test_the_label_gate():
    numbers = GATES["labels"]["numbers"]
    rates = {s: share([r["y"] for r in ROUND_1 if r["scheme"] == s]) for s in ("L1", "L2", "L3")}
    assert numbers["rates"] == approx({s: float(rate) for s, rate in rates.items()})
    assert numbers["largest"] == approx(float(max(rates.values()) - min(rates.values())))
    inside = []
    for pair, found in numbers["pairs"].items():
        a, b = pair.split("−")
        weights = {(s, *c, h): Fraction(sign, 8) for s, sign in ((a, 1), (b, -1))
                   for c in (HP, HA, LP, LA) for h in EACH}
        value, low, high = bounded(weights, lambda r: (r["scheme"], *cell(r)), 0.9)
        _, least, most = bounded(weights, lambda r: (r["scheme"], *cell(r)), 1 - 0.1 / 3)
        assert [found[key] for key in ("value", "low", "high", "least", "most")] == approx(
            [value, low, high, least, most])
        inside.append(max(-low, high) < 0.02)
    for pair, found in numbers["effects"].items():
        factor, shared = ("order", 1) if "first" in pair else ("scheme", 3)
        weights = pair_weights(*pair.split("−"))
        key = lambda r, factor=factor: (r[factor], *cell(r))  # noqa: E731
        assert [found[k] for k in ("value", "low", "high")] == approx(bounded(weights, key, 0.9))
        assert [found[k] for k in ("least", "most")] == approx(
            bounded(weights, key, 1 - 0.1 / shared)[1:])
        inside.append(max(-found["low"], found["high"]) < 0.10)
    assert (GATES["labels"]["established"]["verdict"] == "pass") == all(inside)
    assert GATES["labels"]["as_specified"]["verdict"] == (
        "pass" if numbers["largest"] <= 0.02 else "fail")


@pytest.mark.parametrize("gate, rows, weights, least", [
    ("first_encounter", CVD, WEIGHTS["primary"], 0), ("effect_size", CVD, WEIGHTS["primary"], .2),
    ("cross_domain", HOSPITAL, over_h(CONTRASTS["primary"], ["low"]), 0)])
def test_a_gate_passes_where_the_worst_lower_limit_lies_above(gate, rows, weights, least):
    lowest = min(limits(rows, weights, cell)[0], limits(rows, weights, cell, fill=-1)[0])
    assert (GATES[gate]["established"]["verdict"] == "pass") == (lowest > least)
    low, high = limits(rows, weights, cell)
    scale, digits = (1, 2) if gate == "effect_size" else (100, 1)
    assert f"({scale * low:+.{digits}f} to {scale * high:+.{digits}f})" in (
        GATES[gate]["established"]["figure"])


def test_gates_without_runs_are_not_evaluable():
    assert {name: gate["established"]["verdict"] for name, gate in GATES.items()
            if name in ("ablation", "holdout")} == dict.fromkeys(
        ("ablation", "holdout"), "not evaluable")


# --- the word ----------------------------------------------------------------------------------

def test_the_word_and_its_sentence():
    primary = ESTABLISHED["effects"]["primary"]
    assert primary["low"] > 0 and primary["bounds"]["lowest"] > 0 and primary["units"] >= 6
    low, high = limits(CVD, WEIGHTS["primary"], cell)
    each = list(differences(CVD, WEIGHTS["primary"], cell).values())
    assert OUT["verdict"]["word"] == "cue-responsive"
    assert (f"differs by {100 * float(sum(each) / 8):+.1f} points, 95% interval {100 * low:+.1f} to"
            f" {100 * high:+.1f} over 8 bulletins") in OUT["verdict"]["sentence"]
    certain = {name: limits(CVD, WEIGHTS[name], cell, fill=-1)[0] > 0
               for name in ("S_at_C_present", "C_at_S_high", "H_low")}
    assert all(certain.values()) and "; to symmetry and to the cue sentence, also where " in (
        OUT["verdict"]["sentence"])
    assert OUT["verdict"]["open"] == ["the length or tone of the notice",
                                      "conformity, norms or desirability",
                                      "reactions that merely add up"]


def test_the_analysis_gives_these_figures_again(monkeypatch):
    """Of this code, but for the mixed models, whose peers are others."""
    monkeypatch.setattr("cirrus.judge.study.models", lambda rows: SPECIFIED["model"])
    monkeypatch.setattr("cirrus.markers.agreement.validity", lambda *of: OUT["markers"]["validity"])
    out = json.loads(canonical_json(analyse(read_study(find_runs([str(FOLDER)])))))
    assert out.keys() == OUT.keys()
    for key in out:
        assert out[key] == OUT[key], key
