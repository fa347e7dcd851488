"""The estimates of the committed confirmatory study, derived once more from its exported rows.

Nothing of the project's analysis is used for what is expected: cells, bulletins and all choices of
signs are gone through by hand. Intervals: test_stats_contrasts.py; labels: test_oneshot.py.
"""

import csv
import json
import math
import shutil
from fractions import Fraction
from itertools import product
from operator import itemgetter
from statistics import fmean, stdev

import pytest
from conftest import ROOT, ended

FOLDER = ROOT / "results/examples/confirmatory"
CELLS = {
    "HP": ("high", "present"),
    "HA": ("high", "absent"),
    "LP": ("low", "present"),
    "LA": ("low", "absent"),
}
EACH = ("high", "low")
PAIR = {"HP": 1, "LA": -1}
PLAIN = {
    "HP-LA": PAIR,
    "S": {"HP": 0.5, "HA": 0.5, "LP": -0.5, "LA": -0.5},
    "C": {"HP": 0.5, "LP": 0.5, "HA": -0.5, "LA": -0.5},
    "HP-LP": {"HP": 1, "LP": -1},
    "HA-LA": {"HA": 1, "LA": -1},
    "HP-HA": {"HP": 1, "HA": -1},
    "LP-LA": {"LP": 1, "LA": -1},
    "SxC": {"HP": 1, "HA": -1, "LP": -1, "LA": 1},
}


def over_h(cells, levels=EACH):
    """Weights by (S, C, H): the same at each level of H."""
    weights = {}
    for cell, w in cells.items():
        for h in levels:
            weights[*CELLS[cell], h] = Fraction(w) / len(levels)
    return weights


WEIGHTS = {name: over_h(cells) for name, cells in PLAIN.items()}
SIGN = {"high": 1, "low": -1}
OF_H = over_h(dict.fromkeys(CELLS, Fraction(1, 2)))
WEIGHTS["H"] = {at: SIGN[at[2]] * w for at, w in OF_H.items()}
PRIMARY = WEIGHTS["HP-LA"]


def rows_of(domain):
    """The decisions of a domain, as exported."""
    rows = []
    with (FOLDER / "exports/decisions.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["domain"] == domain:
                row["y"] = int(row["cooperates"]) if row["cooperates"] else None
                rows.append(row)
    return rows


CVD, HOSPITAL = rows_of("cvd"), rows_of("hospital")
ROUND_1 = [row for row in CVD if row["round"] == "1"]


def by(name, rows):
    """{value of a column: its rows}, in order."""
    parts = {}
    for row in sorted(rows, key=itemgetter(name)):
        parts.setdefault(row[name], []).append(row)
    return parts


def approx(value):
    return pytest.approx(value, rel=1e-9, abs=1e-11)


FILES = (
    "acausal-analysis.json",
    "acausal-summary.md",
    "report.html",
    "runs.json",
    "exports/decisions.csv",
)


@pytest.fixture(scope="module")
def again(tmp_path_factory):
    """The study's runs without their analysis, analysed once more."""
    place = tmp_path_factory.mktemp("again") / FOLDER.name
    made = shutil.ignore_patterns(
        "acausal-[as]*", "report.html", "runs.json", "exports"
    )
    shutil.copytree(FOLDER, place, ignore=made)
    assert ended(place.parent, "analyze.py", place).returncode == 0
    return place


@pytest.fixture
def out(again):
    return json.loads((again / "acausal-analysis.json").read_bytes())


def test_the_study_is_whole_and_its_committed_files_are_derived_again(again, out):
    for name in FILES:
        assert (again / name).read_bytes() == (FOLDER / name).read_bytes(), name
    assert len(CVD) + len(HOSPITAL) == 10 * 8 * 15 * 2
    read = [row for row in CVD if row["y"] is not None]
    assert out["established"]["decisions"] == len(read)
    assert len(by("bulletin", CVD)) == 8 == len(by("wording", CVD))


def contrast(rows, weights, fill=lambda weight: None):
    """The contrast of the cells' shares; `fill`: what a missing decision counts as."""
    value = Fraction(0)
    for levels, weight in weights.items():
        ys = []
        for row in rows:
            if (row["S"], row["C"], row["H"]) == levels:
                ys.append(fill(weight) if row["y"] is None else row["y"])
        read = [y for y in ys if y is not None]
        value += weight * Fraction(sum(read), len(read))
    return value


def check_over_bulletins(entry, rows, weights):
    values = {}
    for name, here in by("bulletin", rows).items():
        values[name] = float(contrast(here, weights))
    assert entry["by_bulletin"] == approx(values)
    assert (entry["value"], entry["units"]) == (approx(fmean(values.values())), 8)


def test_each_contrast_over_bulletins_in_all_and_in_each_part(out):
    known = out["established"]
    assert known["contrasts"].keys() == WEIGHTS.keys()
    for name, weights in WEIGHTS.items():
        check_over_bulletins(known["contrasts"][name], CVD, weights)
    for h in EACH:
        check_over_bulletins(known["by_H"][h]["HP-LA"], CVD, over_h(PAIR, [h]))
    check_over_bulletins(out["parts"]["main"]["HP-LA"], CVD, PRIMARY)
    hospital = out["parts"]["hospital"]["HP-LA"]
    check_over_bulletins(hospital, HOSPITAL, over_h(PAIR, ["low"]))


def agent_values(weights, fill=lambda weight: None):
    agents = by("agent", ROUND_1).values()
    return [contrast(rows, weights, fill) for rows in agents]


def flipped_p(each):
    """Two-sided, over all choices of signs."""
    total, as_far = abs(sum(each)), 0
    for signs in product((1, -1), repeat=len(each)):
        flipped = [s * d for s, d in zip(signs, each, strict=True)]
        as_far += abs(sum(flipped)) >= total
    return as_far / 2 ** len(each)


def test_each_contrast_over_agents_and_the_secondary_adjusted_together(out):
    p, specified = {}, out["as_specified"]
    for name, entry in {"HP-LA": specified["design"], **specified["secondary"]}.items():
        each = agent_values(WEIGHTS[name])
        p[name] = flipped_p(each)
        assert entry["value"] == approx(float(fmean(each)))
        assert (entry["units"], entry["p"]) == (6, approx(p[name]))
    # Holm, by the definition: the largest so far of p times the number that are left
    largest, order = 0, sorted(specified["secondary"], key=p.get)
    for left, name in zip((4, 3, 2, 1), order, strict=True):
        largest = max(largest, min(1, left * p[name]))
        assert specified["secondary"][name]["p_holm"] == approx(largest)


FILLS = {
    "all_cooperative": lambda w: 1,
    "none_cooperative": lambda w: 0,
    "lowest": lambda w: int(w < 0),
    "highest": lambda w: int(w > 0),
}


def test_missing_decisions_filled_in_each_way(out):
    bounds = out["as_specified"]["bounds"]
    assert bounds.keys() == FILLS.keys()
    for name, fill in FILLS.items():
        assert bounds[name] == approx(float(fmean(agent_values(PRIMARY, fill))))


def test_cliffs_delta_is_of_all_pairs_and_its_clustered_interval_of_agents(out):
    sides = {"HP": [], "LA": []}
    for row in ROUND_1:
        for cell, acts in sides.items():
            if (row["S"], row["C"]) == CELLS[cell] and row["y"] is not None:
                acts.append(row["y"])
    pairs = product(*sides.values())
    value = fmean(x - y for x, y in pairs)
    entry = out["as_specified"]["delta"]
    assert entry["value"] == approx(value)
    assert entry["low"] < value < entry["high"]
    each = list(map(float, agent_values(PRIMARY)))
    half = 2.570582 * stdev(each) / math.sqrt(6)  # t(5)
    assert entry["clustered"]["low"] <= fmean(each) - half + 1e-6
    assert entry["clustered"]["units"] == 6


def test_the_first_line_says_whether_the_endpoint_is_met(out):
    """Sign flips over six agents: all of one sign give 2 of 64."""
    assert out["as_specified"]["sentence"].startswith(
        "Primary endpoint, as specified: met: +53.3 points in round 1 (sign flips "
        "p = 0.0312, mixed model p "
    )
