"""Small experiments with the mock provider, against results worked out by hand."""

import json

import pandas as pd
import pytest

from conftest import pair
from pdbench.storage.schema import REQUIRED
from support import rounds_of

# The model plays C, D, C, "?" then C, and so on; TFT answers C, C, D, C, C.
SCRIPT = {
    "strategy": "script",
    "script": ["C", "D", "C", "?", "C", "D"],
    "persona": "wsls",
}


@pytest.fixture
def run_dir(experiment, pdbench, project):
    path = experiment(
        [pair("script-tft", SCRIPT, "TFT"), pair("wsls-alld", "WSLS", "ALLD")],
        run={"replicates": 2},
        metrics={"names": ["cooperation_rate", "cooperation_rate_over_time", "retaliation_rate",
                           "forgiveness_rate", "exploitability_payoff_gap", "time_to_collapse"],
                 "collapse": {"k": 2, "threshold": 0.25}},
    )  # fmt: skip
    code, out, err = pdbench("run", path)
    assert (code, "SIMULATED" in out) == (0, True), err
    return project / "data/runs/test"


def test_the_files_are_there(run_dir):
    names = {f.name for f in run_dir.iterdir() if not f.name.startswith(".")}
    assert names == {"rounds.jsonl", "run_manifest.json", "aggregates.parquet"}


def test_every_round_is_recorded_in_schedule_order(run_dir):
    rows = rounds_of(run_dir, drop=())
    assert all(set(REQUIRED) <= set(row) for row in rows)
    keys = [(row["condition"], row["replicate"], row["round_index"]) for row in rows]
    assert keys == [
        (c, r, t) for c in ("script-tft", "wsls-alld") for r in (0, 1) for t in range(5)
    ]


def test_play_and_points_are_as_worked_out_by_hand(run_dir):
    rows = [r for r in rounds_of(run_dir) if r["condition"] == "script-tft"][:5]
    assert "".join(r["agent_a_action"] for r in rows) == "CDCCD"
    assert "".join(r["agent_b_action"] for r in rows) == "CCDCC"
    assert [r["agent_a_cum_payoff"] for r in rows] == [3, 8, 8, 11, 16]
    assert [r["agent_b_cum_payoff"] for r in rows] == [3, 3, 8, 11, 11]
    assert [r["final"] for r in rows] == [False] * 4 + [True]


def test_attempts_prompts_and_raw_answers_are_recorded(run_dir):
    row = rounds_of(run_dir)[3]
    assert row["raw_responses"] == {"agent_a": ["?", "C"], "agent_b": None}
    first, second = row["attempts"]["agent_a"]
    assert (first["action"], first["problem"]) == (None, "not exactly C or D")
    assert second["prompt"].startswith(row["prompts"]["round"]["agent_a"])
    assert "repeat your last action" in row["prompts"]["system"]["agent_a"]
    assert row["simulated"] is True
    assert rounds_of(run_dir)[-1]["simulated"] is False


def test_aggregates_are_as_worked_out_by_hand(run_dir):
    table = pd.read_parquet(run_dir / "aggregates.parquet")
    assert table["level"].tolist() == ["replicate"] * 4 + ["condition"] * 2
    row = table.iloc[0]
    assert row["cooperation_rate_agent_a"] == 3 / 5
    assert row["cooperation_rate_agent_b"] == 4 / 5
    assert row["cooperation_rate"] == 7 / 10
    assert json.loads(row["cooperation_rate_over_time"]) == [1, 0.5, 0.5, 1, 0.5]
    assert row["retaliation_rate_agent_b"] == 1  # B answers A's D in round 1 with D
    assert row["forgiveness_rate_agent_a"] == 1  # A answers B's D in round 2 with C
    assert row["exploitability_payoff_gap_agent_a"] == 11 - 16
    assert pd.isna(row["time_to_collapse"])
    assert (row["model_calls_agent_a"], row["invalid_answers_agent_a"]) == (6, 1)
    wsls = table[
        (table["condition"] == "wsls-alld") & (table["level"] == "condition")
    ].iloc[0]
    # CDCDC against DDDDD
    assert wsls["cooperation_rate_agent_a"] == 3 / 5
    assert wsls["exploitability_payoff_gap_agent_a"] == 17 - 2
    assert wsls["time_to_collapse"] == 0  # C of 4 actions in rounds 0 and 1
    assert bool(wsls["simulated"]) is False


def test_the_condition_row_is_the_mean_of_its_replicates(project, experiment, pdbench):
    path = experiment(
        [pair("noisy", "TFT", "ALLD", overrides={"noise": 0.3})],
        run={"replicates": 7},
        horizon={"type": "geometric", "stop_prob": 0.3},
    )
    pdbench("run", path)
    table = pd.read_parquet(project / "data/runs/test/aggregates.parquet")
    single, mean = table[table["level"] == "replicate"], table.iloc[-1]
    assert mean["replicates"] == 7
    for name in (
        "rounds",
        "cooperation_rate",
        "retaliation_rate_agent_a",
        "total_payoff_agent_b",
    ):
        assert mean[name] == pytest.approx(single[name].mean())
    series = [json.loads(x) for x in single["cooperation_rate_over_time"]]
    third = [s[2] for s in series if len(s) > 2]
    assert 0 < len(third) < 7  # some replicates ended before
    assert json.loads(mean["cooperation_rate_over_time"])[2] == pytest.approx(
        sum(third) / len(third)
    )


def test_the_manifest_holds_what_is_needed_to_repeat(run_dir):
    manifest = json.loads((run_dir / "run_manifest.json").read_text())
    assert manifest["collapse"] == {"k": 2, "threshold": 0.25}
    assert manifest["status"] == "complete"
    assert manifest["stamp"] == "SIMULATED"
    assert manifest["simulated_conditions"] == ["script-tft"]
    assert (manifest["seed"], manifest["replicates"], manifest["rounds"]) == (7, 2, 20)
    # replicate 0: 6 calls; replicate 1 as well, its mock starts anew
    assert manifest["model_calls"] == 12
    assert len(manifest["config_sha256"]) == 64
    texts = manifest["config"]["conditions"]["script-tft"]["agent_a"]["prompting"][
        "texts"
    ]
    assert "{payoff_table}" in texts["system"]
    assert manifest["unproven"]["environment"]["packages"]["pdbench"]


def test_hashes_are_kept_where_prompts_are_not(project, experiment, pdbench):
    path = experiment(
        [pair("m", {"strategy": "C"}, "TFT")],
        run={"store_prompts": False, "store_raw_responses": False},
    )
    pdbench("run", path)
    row = rounds_of(project / "data/runs/test")[0]
    assert "prompts" not in row
    assert "raw_responses" not in row
    assert len(row["prompt_hashes"]["system"]["agent_a"]) == 64


def test_a_model_that_never_answers_ends_its_match_as_incomplete(
    project, experiment, pdbench
):
    never = {"strategy": "script", "script": ["C", "hm", "hm", "hm"], "label": "hm"}
    path = experiment([pair("never", "TFT", never), pair("fine", "TFT", "ALLD")])
    code, _, err = pdbench("run", path)
    assert code == 3
    assert err.splitlines()[-1] == (
        "error: data/runs/test/rounds.jsonl: 1 of 2 matches ended incomplete; first: condition"
        " 'never' replicate 0 round 2: hm (agent_b) gave no C or D in 3 attempts (not exactly C or"
        " D); see output.format and output.max_retries"
    )
    rows = [
        r for r in rounds_of(project / "data/runs/test") if r["condition"] == "never"
    ]
    assert [r["status"] for r in rows] == ["ok", "invalid"]
    assert (rows[1]["agent_a_action"], rows[1]["agent_b_action"]) == ("C", None)
    assert rows[1]["raw_responses"]["agent_b"] == ["hm", "hm", "hm"]
    table = pd.read_parquet(project / "data/runs/test/aggregates.parquet").set_index(
        "condition"
    )
    never, fine = (
        table[table["level"] == "replicate"].loc[["never", "fine"]].to_dict("records")
    )
    assert (never["status"], never["rounds"], never["cooperation_rate_agent_b"]) == (
        "incomplete",
        1,
        1,
    )
    assert (never["model_calls_agent_b"], never["invalid_answers_agent_b"]) == (4, 3)
    assert fine["status"] == "complete"
    manifest = json.loads((project / "data/runs/test/run_manifest.json").read_text())
    assert manifest["status"] == "incomplete"
    assert pdbench("run", path)[0] == 3  # still so, and nobody is asked again
    assert len(rounds_of(project / "data/runs/test")) == 7


def test_a_match_without_a_single_round_is_reported(project, experiment, pdbench):
    path = experiment(
        [pair("mute", {"strategy": "script", "script": [""], "label": "<mute>"}, "TFT")]
    )
    assert pdbench("run", path)[0] == 3
    run_dir = project / "data/runs/test"
    row = pd.read_parquet(run_dir / "aggregates.parquet").iloc[0]
    assert (row["rounds"], row["status"], row["invalid_answers_agent_a"]) == (
        0,
        "incomplete",
        3,
    )
    assert pd.isna(row["cooperation_rate"])
    assert pd.isna(row["exploitability_payoff_gap_agent_a"])
    assert pdbench("report", run_dir)[0] == 0
    page = (run_dir / "report.html").read_text()
    assert "No match is complete yet, of 1 that were begun." in page
    assert "&lt;mute&gt;" in page
    assert "100.0%" in page
    assert "<mute>" not in page
    assert "**SIMULATED.**" in (run_dir / "report.md").read_text()
