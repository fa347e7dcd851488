"""`pdbench aggregate` on lines from anywhere, and what it says of those that do not agree."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from conftest import pair, rounds_of

RUN_DIR = Path("data/runs/test")
MINIMUM = (
    "run_id", "condition", "replicate", "round_index",
    "agent_a_action", "agent_b_action", "agent_a_payoff", "agent_b_payoff",
    "agent_a_cum_payoff", "agent_b_cum_payoff",
    "horizon_type", "fixed_n", "stop_prob", "timestamp_utc",
)  # fmt: skip
POINTS = {"CC": (3, 3), "CD": (0, 5), "DC": (5, 0), "DD": (1, 1)}


def line(condition, replicate, t, actions, cum, **more) -> dict:
    """A line with the specification's minimum fields, written by hand."""
    points = POINTS[actions]
    values = ("r", condition, replicate, t, *actions, *points, *cum, "fixed", 4, None)
    return dict(zip(MINIMUM, (*values, "2026-01-01T00:00:00Z"), strict=True)) | more


# CCDD against CDDC: 3+0+1+5 and 3+5+1+0 points.
BY_HAND = [
    line("x", 0, 0, "CC", (3, 3)),
    line("x", 0, 1, "CD", (3, 8)),
    line("x", 0, 2, "DD", (4, 9)),
    line("x", 0, 3, "DC", (9, 9)),
]


def saved(folder: Path, lines: list[dict], spelling=json.dumps, end: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(spelling(each) + "\n" for each in lines)
    (folder / "rounds.jsonl").write_text(text + end)
    return folder


def reordered(each: dict) -> str:
    return json.dumps(each, sort_keys=True, indent=None, separators=(" , ", " : "))


@pytest.fixture
def run_dir(experiment, pdbench) -> Path:
    """A run of two conditions, five rounds, two replicates."""
    settings = {"run": {"replicates": 2}, "horizon": {"type": "fixed", "n": 5}}
    conditions = [pair("tft", "TFT", "ALLD"), pair("gtft", "GTFT", "GTFT")]
    pdbench("run", experiment(*conditions, **settings))
    return RUN_DIR


def rows_of(folder: Path) -> list[dict]:
    return pd.read_parquet(folder / "aggregates.parquet").to_dict("records")


def test_minimum_fields_without_a_manifest(tmp_path, pdbench):
    folder = saved(tmp_path / "foreign", BY_HAND)
    code, _, err = pdbench("aggregate", folder)
    assert code == 0
    assert "run_manifest.json" in err
    match, condition = rows_of(folder)
    assert (match["level"], condition["level"]) == ("replicate", "condition")
    assert match["status"] == "complete"
    assert match["rounds"] == 4
    assert match["cooperation_rate"] == 4 / 8
    assert match["cooperation_rate_agent_a"] == 2 / 4
    assert json.loads(match["cooperation_rate_over_time"]) == [1, 0.5, 0, 0.5]
    # B's D in rounds 2 and 3 are answered D and D; A's D in round 3 is answered C.
    assert match["retaliation_rate_agent_a"] == 1
    assert match["forgiveness_rate_agent_b"] == 1
    assert match["exploitability_payoff_gap_agent_a"] == 0
    assert pd.isna(match["time_to_collapse"])


def test_reordered_keys_and_other_spaces_give_the_same_bytes(run_dir, pdbench):
    expected = (run_dir / "aggregates.parquet").read_bytes()
    lines = (run_dir / "rounds.jsonl").read_text().splitlines()
    saved(run_dir, [json.loads(each) for each in lines], reordered)
    code, _, err = pdbench("aggregate", run_dir)
    assert (code, err) == (0, "")
    assert (run_dir / "aggregates.parquet").read_bytes() == expected


def test_our_lines_without_the_manifest_give_the_same_figures(run_dir, pdbench):
    expected = rows_of(run_dir)
    (run_dir / "run_manifest.json").unlink()
    assert pdbench("aggregate", run_dir)[0] == 0
    for found, row in zip(rows_of(run_dir), expected, strict=True):
        shared = {key for key in row if not pd.isna(row[key])}
        assert {key: found[key] for key in shared} == {key: row[key] for key in shared}


def test_a_torn_last_line_is_warned_of(tmp_path, pdbench):
    folder = saved(tmp_path / "torn", BY_HAND, end='{"run_id": "r", "condi')
    code, _, err = pdbench("aggregate", folder)
    assert code == 0
    assert "line 5" in err
    assert rows_of(folder)[0]["rounds"] == 4


def test_a_damaged_line_in_the_middle_is_an_error(tmp_path, pdbench):
    folder = saved(tmp_path / "bad", BY_HAND)
    text = (folder / "rounds.jsonl").read_text().replace('"CC"', "")
    (folder / "rounds.jsonl").write_text(text.replace("{", "[", 1))
    code, _, err = pdbench("aggregate", folder)
    assert code == 3
    assert "line 1" in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(("key", "value"), [
    ("agent_a_action", "X"), ("replicate", "one"), ("round_index", -1), ("agent_b_payoff", "3"),
])  # fmt: skip
def test_a_value_that_is_none_is_named_with_its_line(tmp_path, pdbench, key, value):
    folder = saved(tmp_path / "bad", [*BY_HAND[:2], BY_HAND[2] | {key: value}])
    code, _, err = pdbench("aggregate", folder)
    assert code == 3
    for word in ("line 3", key, repr(value)):
        assert word in err


def test_a_missing_field_is_named_with_its_line(tmp_path, pdbench):
    lines = [dict(each) for each in BY_HAND]
    del lines[1]["agent_b_action"]
    code, _, err = pdbench("aggregate", saved(tmp_path / "bad", lines))
    assert code == 3
    assert "line 2" in err
    assert "agent_b_action" in err


def changed(run_dir: Path, number: int, **values) -> None:
    lines = (run_dir / "rounds.jsonl").read_text().splitlines()
    lines[number - 1] = json.dumps(json.loads(lines[number - 1]) | values)
    (run_dir / "rounds.jsonl").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("with_manifest", [True, False])
def test_one_changed_action_is_named(run_dir, pdbench, with_manifest):
    if not with_manifest:
        (run_dir / "run_manifest.json").unlink()
    changed(run_dir, 7, agent_a_action="C")
    code, _, err = pdbench("aggregate", run_dir)
    assert code == 0
    for word in ("warning", "line 7", "tft", "replicate 1", "round_index 1", "C"):
        assert word in err


def test_a_changed_sum_is_named(run_dir, pdbench):
    changed(run_dir, 2, agent_b_cum_payoff=60)
    err = pdbench("aggregate", run_dir)[2]
    assert "line 2" in err
    assert "agent_b_cum_payoff" in err


def test_rounds_that_are_missing_or_stand_twice(run_dir, pdbench):
    lines = (run_dir / "rounds.jsonl").read_text().splitlines()
    kept = [*lines[:3], *lines[4:]]
    (run_dir / "rounds.jsonl").write_text("\n".join(kept) + "\n")
    code, _, err = pdbench("aggregate", run_dir)
    assert code == 0
    assert "round_index 3 is missing" in err
    assert rows_of(run_dir)[0]["status"] == "partial"
    (run_dir / "rounds.jsonl").write_text("\n".join([*lines, lines[2]]) + "\n")
    code, _, err = pdbench("aggregate", run_dir)
    assert code == 3
    assert "twice" in err


def test_a_match_that_was_cut_short_leaves_the_means(run_dir, pdbench):
    lines = (run_dir / "rounds.jsonl").read_text().splitlines()
    (run_dir / "rounds.jsonl").write_text("\n".join(lines[:8]) + "\n")
    err = pdbench("aggregate", run_dir)[2]
    assert "'gtft'" in err
    tft = rows_of(run_dir)[-1]
    assert (tft["complete"], tft["replicates"], tft["status"]) == (1, 2, "partial")


def test_lines_of_another_run_are_named(run_dir, pdbench):
    changed(run_dir, 4, run_id="other")
    assert "'other'" in pdbench("aggregate", run_dir)[2]


def test_check_compares_and_writes_nothing(run_dir, pdbench):
    assert pdbench("aggregate", run_dir, "--check")[0] == 0
    file = run_dir / "aggregates.parquet"
    table = pd.read_parquet(file)
    table.loc[0, "cooperation_rate"] = 0.9
    table.to_parquet(file)
    before = file.read_bytes()
    code, _, err = pdbench("aggregate", run_dir, "--check")
    assert code == 3
    for word in ("tft", "replicate 0", "cooperation_rate", "0.9", "0.1"):
        assert word in err
    assert file.read_bytes() == before
    file.unlink()
    assert pdbench("aggregate", run_dir, "--check")[0] == 3


def test_check_fails_on_what_is_only_warned_of(run_dir, pdbench):
    changed(run_dir, 2, agent_b_cum_payoff=60)
    assert pdbench("aggregate", run_dir, "--check")[0] == 3


def test_averages_are_over_complete_matches(run_dir):
    rows = rows_of(run_dir)
    matches = [r for r in rows if (r["level"], r["condition"]) == ("replicate", "gtft")]
    average = rows[-1]
    expected = sum(r["cooperation_rate"] for r in matches) / 2
    assert average["cooperation_rate"] == pytest.approx(expected)


def test_a_million_rounds_in_a_minute_and_a_gigabyte(tmp_path):
    head = '{"run_id":"r","condition":"c%d","replicate":%d,"round_index":%d,'
    rest = (
        '"agent_a_action":"C","agent_b_action":"D","agent_a_payoff":0,"agent_b_payoff":5,'
        '"agent_a_cum_payoff":0,"agent_b_cum_payoff":%d,"horizon_type":"fixed",'
        '"fixed_n":1000,"stop_prob":null,"timestamp_utc":"2026-01-01T00:00:00Z"}\n'
    )
    with (tmp_path / "rounds.jsonl").open("w") as file:
        for match in range(1000):
            for t in range(1000):
                file.write(head % (match % 10, match // 10, t) + rest % (5 * t + 5))
    command = [sys.executable, "-m", "pdbench.cli", "aggregate", str(tmp_path)]
    process = subprocess.Popen(command)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    assert used.ru_utime + used.ru_stime < 60
    assert used.ru_maxrss < 1_000_000  # kilobytes
    table = pd.read_parquet(tmp_path / "aggregates.parquet")
    assert len(table) == 1010
    assert set(table["cooperation_rate"]) == {0.5}


def test_several_jobs_give_the_same_aggregates(experiment, pdbench):
    seen = []
    for jobs in ("1", "4"):
        run = {"replicates": 3, "output_dir": f"out/{jobs}"}
        path = experiment(pair("a", "GTFT", "GTFT"), pair("b", "TFT", "WSLS"), run=run)
        pdbench("run", path, "--jobs", jobs)
        folder = Path("out", jobs)
        lines = sorted(json.dumps(each) for each in rounds_of(folder))
        seen.append((lines, (folder / "aggregates.parquet").read_bytes()))
    assert seen[0] == seen[1]
