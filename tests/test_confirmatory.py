"""The estimates of the committed confirmatory study, derived once more from its exported rows.

Nothing of the project's analysis is used for what is expected: cells, bulletins and all choices of
signs are gone through by hand. Intervals: test_stats_contrasts.py; labels: test_oneshot.py.
"""

import csv
import math
from fractions import Fraction
from itertools import product
from pathlib import Path
from statistics import fmean, stdev

import pytest

from cirrus.judge.rows import read_study
from cirrus.reports.study import analysed
from common.verify import find_runs

FOLDER = Path(__file__).resolve().parents[1] / "results" / "examples" / "confirmatory"
HP, HA, LP, LA = CELLS = [
    (s, c) for s in ("high", "low") for c in ("present", "absent")
]
EACH = ("high", "low")


def over_h(cells, levels=EACH):
    """Weights by (S, C, H): the same at each level of H."""
    return {
        (*cell, h): Fraction(w) / len(levels)
        for cell, w in cells.items()
        for h in levels
    }


WEIGHTS = {
    name: over_h(cells)
    for name, cells in {
        "HP-LA": {HP: 1, LA: -1},
        "S": {HP: 0.5, HA: 0.5, LP: -0.5, LA: -0.5},
        "C": {HP: 0.5, LP: 0.5, HA: -0.5, LA: -0.5},
        "HP-LP": {HP: 1, LP: -1},
        "HA-LA": {HA: 1, LA: -1},
        "HP-HA": {HP: 1, HA: -1},
        "LP-LA": {LP: 1, LA: -1},
        "SxC": {HP: 1, HA: -1, LP: -1, LA: 1},
    }.items()
} | {
    "H": {
        (*cell, h): Fraction(sign, 4)
        for cell in CELLS
        for h, sign in (("high", 1), ("low", -1))
    }
}
PRIMARY = WEIGHTS["HP-LA"]

with (FOLDER / "exports" / "decisions.csv").open(encoding="utf-8", newline="") as lines:
    ROWS = [
        row | {"y": int(row["cooperates"]) if row["cooperates"] else None}
        for row in csv.DictReader(lines)
    ]
CVD, HOSPITAL = (
    [row for row in ROWS if row["domain"] == name] for name in ("cvd", "hospital")
)
ROUND_1 = [row for row in CVD if row["round"] == "1"]


def approx(value):
    return pytest.approx(value, rel=1e-9, abs=1e-11)


def cell(row):
    return row["S"], row["C"], row["H"]


@pytest.fixture(scope="module")
def made():
    return analysed(read_study(find_runs([str(FOLDER)])), [FOLDER])


@pytest.fixture
def out(made):
    return made[0]


def test_the_study_is_whole_and_its_committed_files_are_derived_again(made):
    out, files = made
    assert [name for name in files if files[name] != (FOLDER / name).read_bytes()] == []
    assert len(ROWS) == 10 * 8 * 15 * 2
    assert out["established"]["decisions"] == sum(row["y"] is not None for row in CVD)
    assert (
        len({(row["bulletin"], row["wording"]) for row in CVD})
        == len({row["wording"] for row in CVD})
        == 8
    )


# --- arithmetic --------------------------------------------------------------------------------


def filled(values, fill=None):
    return [
        fill if y is None else y for y in values if y is not None or fill is not None
    ]


def contrast(rows, weights, fill=lambda weight: None):
    """The contrast of the cells' shares; `fill`: what a missing decision counts as."""
    value = 0
    for levels, weight in weights.items():
        ys = filled([row["y"] for row in rows if cell(row) == levels], fill(weight))
        value += weight * Fraction(sum(ys), len(ys))
    return value


# --- what is established: first encounters of all rounds ---------------------------------------


def test_each_contrast_over_bulletins(out):
    known, parts, pair = out["established"], out["parts"], {HP: 1, LA: -1}
    assert known["contrasts"].keys() == WEIGHTS.keys()
    for entry, rows, weights in (
        *(
            (known["contrasts"][name], CVD, weights)
            for name, weights in WEIGHTS.items()
        ),
        *((known["by_H"][h]["HP-LA"], CVD, over_h(pair, [h])) for h in EACH),
        (parts["main"]["HP-LA"], CVD, PRIMARY),
        (parts["hospital"]["HP-LA"], HOSPITAL, over_h(pair, ["low"])),
    ):
        by_bulletin = {
            name: float(
                contrast([row for row in rows if row["bulletin"] == name], weights)
            )
            for name in {row["bulletin"] for row in rows}
        }
        assert (entry["value"], entry["units"]) == (
            approx(fmean(by_bulletin.values())),
            8,
        )
        assert entry["by_bulletin"] == approx(by_bulletin)


# --- as specified: round 1, agents -------------------------------------------------------------


def agent_values(weights, fill=lambda weight: None):
    return [
        contrast([row for row in ROUND_1 if row["agent"] == agent], weights, fill)
        for agent in sorted({row["agent"] for row in ROUND_1})
    ]


def flipped_p(each):
    """Two-sided, over all choices of signs."""
    total = abs(sum(each))
    return sum(
        abs(sum(s * d for s, d in zip(signs, each, strict=True))) >= total
        for signs in product((1, -1), repeat=len(each))
    ) / 2 ** len(each)


def test_each_contrast_over_agents_and_the_secondary_adjusted_together(out):
    p, specified = {}, out["as_specified"]
    for name, entry in {"HP-LA": specified["design"], **specified["secondary"]}.items():
        each = agent_values(WEIGHTS[name])
        p[name] = flipped_p(each)
        assert (entry["value"], entry["units"], entry["p"]) == (
            approx(float(fmean(each))),
            6,
            approx(p[name]),
        )
    # Holm, by the definition: the largest so far of p times the number that are left
    largest, order = 0, sorted(specified["secondary"], key=p.get)
    for left, name in zip((4, 3, 2, 1), order, strict=True):
        largest = max(largest, min(1, left * p[name]))
        assert specified["secondary"][name]["p_holm"] == approx(largest)


def test_missing_decisions_filled_in_each_way(out):
    fills = {
        "all_cooperative": lambda w: 1,
        "none_cooperative": lambda w: 0,
        "lowest": lambda w: int(w < 0),
        "highest": lambda w: int(w > 0),
    }
    assert out["as_specified"]["bounds"] == {
        name: approx(float(fmean(agent_values(PRIMARY, fill))))
        for name, fill in fills.items()
    }


def test_cliffs_delta_is_of_all_pairs_and_its_clustered_interval_of_agents(out):
    high, low = (
        filled([row["y"] for row in ROUND_1 if cell(row)[:2] == pair])
        for pair in (HP, LA)
    )
    value = fmean((x > y) - (x < y) for x in high for y in low)
    each, entry = agent_values(PRIMARY), out["as_specified"]["delta"]
    assert entry["value"] == approx(value)
    assert entry["low"] < value < entry["high"]
    half = 2.570582 * stdev(map(float, each)) / math.sqrt(6)  # t(5)
    assert entry["clustered"]["low"] <= fmean(each) - half + 1e-6
    assert entry["clustered"]["units"] == 6


def test_the_first_line_says_whether_the_endpoint_is_met(out):
    """Sign flips over six agents: all of one sign give 2 of 64."""
    assert out["as_specified"]["sentence"].startswith(
        "Primary endpoint, as specified: met: +53.3 points in round 1 (sign flips "
        "p = 0.0312, mixed model p "
    )
