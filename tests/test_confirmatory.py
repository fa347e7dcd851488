"""Every figure of the committed confirmatory study, derived once more from its exported rows.

Nothing of the project's analysis is used for what is expected: cells, bulletins, all choices of
signs, Student's t and the score intervals are gone through by hand. Each of the eight bulletins has
a wording of its own, so the interval over bulletins is that over wordings too.
"""

import csv
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
HP, HA, LP, LA = CELLS = [(s, c) for s in ("high", "low") for c in ("present", "absent")]
EACH = ("high", "low")
# SciPy: t.ppf((1 + level) / 2, df)
T = {(.95, 5): 2.570581835636314, (.95, 7): 2.364624251592784,
     (1 - .05 / 4, 7): 3.3352949398170826}


def over_h(cells, levels=EACH):
    """Weights by (S, C, H): the same at each level of H."""
    return {(*cell, h): Fraction(w) / len(levels) for cell, w in cells.items() for h in levels}


WEIGHTS = {name: over_h(cells) for name, cells in {
    "HP-LA": {HP: 1, LA: -1}, "S": {HP: .5, HA: .5, LP: -.5, LA: -.5},
    "C": {HP: .5, LP: .5, HA: -.5, LA: -.5}, "HP-LP": {HP: 1, LP: -1}, "HA-LA": {HA: 1, LA: -1},
    "HP-HA": {HP: 1, HA: -1}, "LP-LA": {LP: 1, LA: -1}, "SxC": {HP: 1, HA: -1, LP: -1, LA: 1},
    }.items()} | {"H": {(*cell, h): Fraction(sign, 4) for cell in CELLS
                        for h, sign in (("high", 1), ("low", -1))}}
PRIMARY = WEIGHTS["HP-LA"]

with (FOLDER / "exports" / "decisions.csv").open(encoding="utf-8", newline="") as lines:
    ROWS = [row | {"y": int(row["cooperates"]) if row["cooperates"] else None}
            for row in csv.DictReader(lines)]
CVD, HOSPITAL = ([row for row in ROWS if row["domain"] == name] for name in ("cvd", "hospital"))
ROUND_1 = [row for row in CVD if row["round"] == "1"]


def approx(value):
    return pytest.approx(value, rel=1e-9, abs=1e-11)


def cell(row):
    return row["S"], row["C"], row["H"]


def test_the_study_is_whole():
    assert len(ROWS) == 10 * 8 * 15 * 2
    assert ESTABLISHED["decisions"] == sum(row["y"] is not None for row in CVD)
    assert len({(row["bulletin"], row["wording"]) for row in CVD}) == len(
        {row["wording"] for row in CVD}) == 8
    assert json.loads((FOLDER / "acausal-analysis.json").read_text("utf-8")) == OUT


# --- arithmetic --------------------------------------------------------------------------------

def grouped(rows, key):
    out = defaultdict(list)
    for row in rows:
        out[key(row)].append(row["y"])
    return out


def filled(values, fill=None):
    return [fill if y is None else y for y in values if y is not None or fill is not None]


def contrast(rows, weights, fill=lambda weight: None):
    """The contrast of the cells' shares; `fill`: what a missing decision counts as."""
    ys = grouped(rows, cell)
    shares = {name: filled(ys[name], fill(w)) for name, w in weights.items()}
    return sum(w * Fraction(sum(shares[name]), len(shares[name])) for name, w in weights.items())


def at_worst(side):
    """Missing decisions count against the contrast (side −1), for it (1), or not at all."""
    return lambda weight: int(weight * side > 0) if side else None


def differences(rows, weights, side=0):
    """{bulletin: the contrast} of those that hold every cell."""
    here = {name: [row for row in rows if row["bulletin"] == name]
            for name in sorted({row["bulletin"] for row in rows})}
    return {name: contrast(part, weights, at_worst(side)) for name, part in here.items()
            if {cell(row) for row in part if row["y"] is not None} >= weights.keys()}


def wilson(k, n, z):
    middle, half = (k + z * z / 2) / (n + z * z), z * math.sqrt(
        k * (n - k) / n + z * z / 4) / (n + z * z)
    return middle - half, middle + half


def half_width(values, level=.95):
    return T[level, len(values) - 1] * stdev(map(float, values)) / math.sqrt(len(values))


def limits(rows, weights, missing=0):
    """Student's t over bulletins, and no narrower than the score limits of the pooled counts,
    inside what is possible."""
    each, pooled = [*differences(rows, weights, missing).values()], grouped(rows, cell)
    out = []
    for side in (-1, 1):
        reach = 0.0
        for name, w in weights.items():
            ys = filled(pooled[name], at_worst(missing)(w))
            end = wilson(sum(ys), len(ys), NormalDist().inv_cdf(.975))[w * side > 0]
            reach += (float(w) * (end - sum(ys) / len(ys))) ** 2
        most = float(sum(w for w in weights.values() if w * side > 0))
        half = max(half_width(each), math.sqrt(reach))
        out.append(side * min(side * most, side * float(fmean(each)) + half))
    return out


# --- what is established: first encounters of all rounds ---------------------------------------

@pytest.mark.parametrize("entry, rows, weights", [
    *((ESTABLISHED["contrasts"][name], CVD, weights) for name, weights in WEIGHTS.items()),
    *((ESTABLISHED["by_H"][h]["HP-LA"], CVD, over_h({HP: 1, LA: -1}, [h])) for h in EACH),
    (OUT["parts"]["main"]["HP-LA"], CVD, PRIMARY),
    (OUT["parts"]["hospital"]["HP-LA"], HOSPITAL, over_h({HP: 1, LA: -1}, ["low"]))])
def test_each_contrast_over_bulletins(entry, rows, weights):
    by_bulletin = {name: float(d) for name, d in differences(rows, weights).items()}
    assert (entry["value"], entry["units"]) == (approx(fmean(by_bulletin.values())), 8)
    assert [entry["low"], entry["high"]] == approx(limits(rows, weights))
    assert [entry["bounds"]["low"], entry["bounds"]["high"]] == approx(
        [limits(rows, weights, -1)[0], limits(rows, weights, 1)[1]])
    assert entry["by_bulletin"] == approx(by_bulletin)


def test_the_effect_under_each_label_and_place_and_in_each_round():
    """Mean over the bulletins that hold the combination; a round has one bulletin."""
    parts = {(name, key): entry["HP-LA"] if key == "label" else entry["value"] for key, entries in (
        ("label", ESTABLISHED["labels"]["combinations"]), ("round", ESTABLISHED["by_round"]))
        for name, entry in entries.items()}
    rows = defaultdict(list)
    for row in CVD:
        rows[f"{row['label_scheme']} {row['option_order']}", "label"].append(row)
        rows[row["round"], "round"].append(row)
    assert parts == {name: approx(float(fmean(differences(part, PRIMARY).values())))
                     for name, part in rows.items()}


def test_differences_of_the_effect_between_labels():
    """Inside bulletins; .05 shared over three pairs of schemes and one of orders."""
    for name, entry in ESTABLISHED["labels"]["differences"].items():
        a, b = (differences([row for row in CVD if level in (
            row["label_scheme"], row["option_order"])], PRIMARY)
            for level in name.removeprefix("HP-LA ").split("−"))
        each = [a[bulletin] - b[bulletin] for bulletin in a if bulletin in b]
        value, half = float(fmean(each)), half_width(each, 1 - .05 / 4)
        assert [entry[key] for key in ("value", "low", "high")] == approx(
            [value, value - half, value + half])


def test_the_cells_of_all_first_encounters_and_the_course_of_cooperation():
    entries = [(entry, [row for row in CVD if row["H"] in levels and cell(row)[:2] == pair])
               for cells, levels in ((ESTABLISHED["cells"], EACH), *(
                   (ESTABLISHED["by_H"][h]["cells"], [h]) for h in EACH))
               for pair, entry in zip(CELLS, map(cells.get, ("HP", "HA", "LP", "LA")), strict=True)]
    entries += [(OUT["parts"]["hospital"]["cells"][name], [
        row for row in HOSPITAL if cell(row)[:2] == pair]) for name, pair in (
            ("HP", HP), ("HA", HA), ("LA", LA))]
    entries += [(entry, [row for row in ROWS if (row["domain"], row["round"]) == (
        entry["domain"], str(entry["round"]))]) for entry in OUT["course"]]
    assert len(OUT["course"]) == 16
    for entry, rows in entries:
        ys = filled([row["y"] for row in rows])
        assert [entry[key] for key in ("k", "n", "missing")] == [
            sum(ys), len(ys), len(rows) - len(ys)]


# --- as specified: round 1, agents -------------------------------------------------------------

def agent_values(weights, fill=lambda weight: None):
    return [contrast([row for row in ROUND_1 if row["agent"] == agent], weights, fill)
            for agent in sorted({row["agent"] for row in ROUND_1})]


def flipped_p(each):
    """Two-sided, over all choices of signs."""
    total = abs(sum(each))
    return sum(abs(sum(s * d for s, d in zip(signs, each, strict=True))) >= total
               for signs in product((1, -1), repeat=len(each))) / 2 ** len(each)


def test_each_contrast_over_agents_and_the_secondary_adjusted_together():
    p = {}
    for name, entry in {"HP-LA": SPECIFIED["design"], **SPECIFIED["secondary"]}.items():
        each = agent_values(WEIGHTS[name])
        p[name] = flipped_p(each)
        assert (entry["value"], entry["units"], entry["p"]) == (
            approx(float(fmean(each))), 6, approx(p[name]))
    # Holm, by the definition: the largest so far of p times the number that are left
    largest, order = 0, sorted(SPECIFIED["secondary"], key=p.get)
    for left, name in zip((4, 3, 2, 1), order, strict=True):
        largest = max(largest, min(1, left * p[name]))
        assert SPECIFIED["secondary"][name]["p_holm"] == approx(largest)


def test_missing_decisions_filled_in_each_way():
    assert SPECIFIED["bounds"] == {name: approx(float(fmean(agent_values(PRIMARY, fill))))
                                   for name, fill in {
        "all_cooperative": lambda w: 1, "none_cooperative": lambda w: 0,
        "lowest": at_worst(-1), "highest": at_worst(1)}.items()}


def test_cliffs_delta_is_of_all_pairs_and_its_interval_of_agents():
    high, low = (filled([row["y"] for row in ROUND_1 if cell(row)[:2] == pair])
                 for pair in (HP, LA))
    value = fmean((x > y) - (x < y) for x in high for y in low)
    each, entry = agent_values(PRIMARY), SPECIFIED["delta"]
    assert entry["value"] == approx(value) and entry["high"] >= value
    assert entry["low"] <= fmean(each) - half_width(each) + 1e-9
