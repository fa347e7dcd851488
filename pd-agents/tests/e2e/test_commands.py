"""The specification's commands, on its example configuration as typed."""

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import yaml

from conftest import CONFIGS, pair, rounds_of

EXAMPLE = "configs/experiment.yaml"
RUN_DIR = Path("data/runs/default")
KILLED = Path(__file__).parents[1] / "killed.py"
FIELDS = {
    "run_id", "condition", "replicate", "round_index",
    "agent_a_action", "agent_b_action", "agent_a_payoff", "agent_b_payoff",
    "agent_a_cum_payoff", "agent_b_cum_payoff",
    "horizon_type", "fixed_n", "stop_prob", "timestamp_utc",
}  # fmt: skip
METRICS = {
    "cooperation_rate", "cooperation_rate_agent_a", "cooperation_rate_agent_b",
    "cooperation_rate_over_time",
    "retaliation_rate_agent_a", "retaliation_rate_agent_b",
    "forgiveness_rate_agent_a", "forgiveness_rate_agent_b",
    "exploitability_payoff_gap_agent_a", "exploitability_payoff_gap_agent_b",
    "time_to_collapse",
}  # fmt: skip


def test_validate_prints_a_short_summary(project, pdbench):
    code, out, err = pdbench("validate", EXAMPLE)
    assert (code, err) == (0, "")
    assert "valid" in out
    assert "cooperative-model-vs-tft" in out
    assert len(out.splitlines()) <= 15


def test_the_example_touches_every_part():
    written = yaml.safe_load((CONFIGS / "experiment.yaml").read_text())
    assert set(written) == {"run", "game", "horizon", "conditions", "metrics"}
    agents = [c[seat] for c in written["conditions"] for seat in ("agent_a", "agent_b")]
    personas = {a["overrides"].get("persona") for a in agents}
    policies = {a["overrides"].get("policy") for a in agents}
    assert personas >= {"cooperative", "exploitative"}
    assert policies >= {"ALLC", "ALLD", "TFT", "GRIM", "GTFT", "WSLS"}
    assert written["game"].get("noise", 0) == 0


def test_run_leaves_the_three_files_with_their_fields(project, pdbench):
    code, out, _ = pdbench("run", EXAMPLE, "--replicates", "2")
    assert code == 0
    assert "SIMULATED" in out
    records = [
        json.loads(x) for x in (RUN_DIR / "rounds.jsonl").read_text().splitlines()
    ]
    assert all(record.keys() >= FIELDS for record in records)
    asked = [r for r in records if r["condition"] == "cooperative-model-vs-tft"]
    assert "Answer with exactly one letter" in asked[0]["prompts"]["system"]["agent_a"]
    assert asked[0]["raw_responses"]["agent_a"] in (["C"], ["D"])
    table = pd.read_parquet(RUN_DIR / "aggregates.parquet")
    assert set(table.columns) >= METRICS
    # Five conditions: two matches each, and their average.
    assert table["level"].value_counts().to_dict() == {"replicate": 10, "condition": 5}
    manifest = json.loads((RUN_DIR / "run_manifest.json").read_text())
    assert manifest["status"] == "complete"
    assert manifest["config"]["metrics"]["collapse"] == {"k": 10, "threshold": 0.2}
    assert len(manifest["config_sha256"]) == 64
    assert manifest["environment"]["python"].startswith("3.")


def test_metrics_of_the_example_by_hand(project, pdbench):
    """TFT plays CDDD… against DDDD…: one C of 100 actions, 49 and 54 points."""
    pdbench("run", EXAMPLE, "--replicates", "1")
    table = pd.read_parquet(RUN_DIR / "aggregates.parquet")
    row = table[table["condition"] == "tft-vs-alld"].iloc[0]
    assert row["cooperation_rate"] == 0.01
    assert row["total_payoff_agent_a"] == 49
    assert row["total_payoff_agent_b"] == 54
    assert row["exploitability_payoff_gap_agent_a"] == 5
    assert row["retaliation_rate_agent_a"] == 1
    assert row["forgiveness_rate_agent_a"] == 0
    assert row["time_to_collapse"] == 0
    assert json.loads(row["cooperation_rate_over_time"]) == [0.5] + [0] * 49


def test_a_seed_gives_the_same_rounds_and_another_does_not(experiment, pdbench):
    conditions = [pair("x", {"strategy": "coin"}, "GTFT")]
    horizon = {"type": "geometric", "stop_prob": 0.05}
    seen = []
    for run in ({"run_id": "a"}, {"run_id": "b"}, {"run_id": "c", "seed": 8}):
        run["output_dir"] = "out/" + run["run_id"]
        pdbench("run", experiment(*conditions, horizon=horizon, run=run))
        records = rounds_of(Path(run["output_dir"]))
        seen.append([r | {"run_id": ""} for r in records])
    assert seen[0] == seen[1]
    assert seen[0] != seen[2]


def test_dry_run_writes_nothing(project, pdbench):
    code, out, _ = pdbench("run", EXAMPLE, "--dry-run")
    assert code == 0
    assert "25 matches" in out
    assert not Path("data").exists()


def test_aggregate_gives_the_same_bytes_again(project, pdbench):
    pdbench("run", EXAMPLE, "--replicates", "2")
    file = RUN_DIR / "aggregates.parquet"
    first = file.read_bytes()
    file.unlink()
    assert pdbench("aggregate", RUN_DIR)[0] == 0
    assert file.read_bytes() == first
    assert pdbench("aggregate", RUN_DIR)[0] == 0
    assert file.read_bytes() == first


def test_ui_prints_the_command(project, pdbench):
    pdbench("run", EXAMPLE, "--replicates", "1")
    code, out, _ = pdbench("ui", RUN_DIR, "--print")
    words = shlex.split(out)
    assert code == 0
    assert words[1:4] == ["-m", "streamlit", "run"]
    assert words[4].endswith("ui/streamlit_app.py")
    assert words[-1] == str(RUN_DIR)


def test_report_is_one_table_of_all_conditions(project, pdbench):
    pdbench("run", EXAMPLE, "--replicates", "2")
    code, _, _ = pdbench("report", RUN_DIR)
    text = (RUN_DIR / "report.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert code == 0
    assert not (RUN_DIR / "report.html").exists()
    assert len(rows) == 7
    assert "tft-vs-alld" in rows[2]
    assert "0.0, 2 of 2" in rows[2]
    assert "SIMULATED" in text


@pytest.mark.parametrize("command", ["validate", "run", "aggregate", "report"])
def test_json_is_one_object_also_where_something_is_wrong(project, pdbench, command):
    code, out, _ = pdbench(command, "missing", "--json")
    said = json.loads(out)
    assert code == said["exit_code"]
    assert code in (2, 3)
    assert "missing" in said["error"]


def test_json_of_a_run(project, pdbench):
    said = json.loads(pdbench("run", EXAMPLE, "--replicates", "1", "--json")[1])
    assert (said["exit_code"], said["error"]) == (0, None)
    assert said["matches"]["total"] == 5
    assert said["simulated"] is True


BROKEN = [
    ({"run": {"seed": "x"}}, "run.seed", "'x'", "whole number"),
    ({"run": {"sed": 1}}, "run.sed", "1", "unknown key"),
    ({"horizon": {"type": "fixed"}}, "horizon", "fixed", "needs n"),
    ({"horizon": {"type": "geometric", "stop_prob": 1.5}}, "horizon.stop_prob", "1.5", "at most 1"),
    ({"game": {"payoffs": {"CC": [3, 3], "CD": [0, 5], "DC": [5, 0]}}},
     "game.payoffs.DD", "", "missing"),
    ({"metrics": {"names": ["fun"]}}, "metrics.names[0]", "'fun'", "'cooperation_rate'"),
    ({"metrics": {"collapse": {"k": 0}}}, "metrics.collapse.k", "0", "at least 1"),
    ({"conditions": []}, "conditions", "", "at least"),
]  # fmt: skip


@pytest.mark.parametrize(("sections", "key", "value", "wanted"), BROKEN)
def test_a_broken_configuration_names_file_key_value_and_remedy(
    experiment, pdbench, sections, key, value, wanted
):
    path = experiment(pair("x", "TFT", "ALLD"), **sections)
    code, _, err = pdbench("validate", path)
    assert code == 2
    assert len(err.splitlines()) == 1
    for word in ("configs/test.yaml", key, value, wanted):
        assert word in err
    assert pdbench("run", path)[0] == 2
    assert not Path("data").exists()


AGENTS = [
    ("TTF", "policy", "TTF", "TFT"),
    ({"persona": "nice"}, "persona", "nice", "cooperative"),
    ({"temperature": 3}, "temperature", "3", "at most 2"),
    ({"temprature": 1}, "temprature", "", "did you mean temperature"),
    ({"system_prompt": "prompts/no.md"}, "system_prompt", "prompts/no.md", "not found"),
    ({"strategy": "script"}, "mock", "", "script"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "key", "value", "wanted"), AGENTS)
def test_a_broken_agent_is_named_with_its_condition(
    experiment, pdbench, what, key, value, wanted
):
    path = experiment(pair("x", "TFT", "ALLD"), pair("y", "ALLC", what))
    code, _, err = pdbench("validate", path)
    assert code == 2
    assert len(err.splitlines()) == 1
    for word in ("configs/test.yaml", "conditions[1].agent_b", key, value, wanted):
        assert word in err


def test_a_prompt_with_an_unknown_placeholder(project, pdbench):
    prompt = project / "configs/prompts/pd_round.md"
    prompt.write_text(prompt.read_text() + "{mood}")
    code, _, err = pdbench("validate", EXAMPLE)
    assert code == 2
    assert "pd_round.md" in err
    assert "{mood}" in err


def test_a_matrix_that_is_no_dilemma_is_played_with_a_warning(experiment, pdbench):
    payoffs = {"CC": [-1, -1], "CD": [-9, 0], "DC": [0, -9], "DD": [-6.5, -6.5]}
    path = experiment(pair("x", "TFT", "ALLD"), game={"payoffs": payoffs})
    assert pdbench("validate", path)[2] == ""
    payoffs["DC"] = [-2, -9]
    path = experiment(pair("x", "TFT", "ALLD"), game={"payoffs": payoffs})
    code, _, err = pdbench("run", path)
    assert code == 0
    assert err.startswith("warning: ")
    assert "T=-2" in err


CONDITIONS = [
    pair("coin-gtft", {"strategy": "coin", "invalid_rate": 0.1, "max_retries": 9}, "GTFT"),
    pair("copycat-wsls", {"persona": "wsls"}, "WSLS", overrides={"noise": 0.1}),
    pair("geometric", "GTFT", "ALLD",
         overrides={"horizon": {"type": "geometric", "stop_prob": 0.05}}),
]  # fmt: skip


@pytest.mark.parametrize("kept", [0, 1, 5_000, 20_000, 40_000, 60_000])
def test_a_run_cut_off_at_any_byte_is_completed(experiment, pdbench, kept):
    run = {"replicates": 2, "run_id": "cut"}
    path = experiment(*CONDITIONS, run=run, horizon={"type": "fixed", "n": 12})
    run_dir = Path("data/runs/cut")
    pdbench("run", path)
    expected = rounds_of(run_dir), (run_dir / "aggregates.parquet").read_bytes()
    rounds = run_dir / "rounds.jsonl"
    rounds.write_bytes(rounds.read_bytes()[:kept])
    (run_dir / "aggregates.parquet").unlink()
    manifest = json.loads((run_dir / "run_manifest.json").read_text())
    manifest["status"] = "running"
    (run_dir / "run_manifest.json").write_text(json.dumps(manifest))
    code, _, err = pdbench("run", path)
    assert code == 0
    assert ("unfinished" in err) == (kept > 0)
    found = rounds_of(run_dir), (run_dir / "aggregates.parquet").read_bytes()
    assert found == expected


def test_kill_9_at_three_moments_loses_nothing(experiment, pdbench):
    settings = {"replicates": 4, "output_dir": "killed"}
    long = {"type": "fixed", "n": 300}
    path = experiment(*CONDITIONS, run=settings, horizon=long)
    command = [sys.executable, "-m", "pdbench.cli", "run", str(path)]
    rounds = Path("killed/rounds.jsonl")
    killed = 0
    for size in (1, 400_000, 1_000_000):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        while process.poll() is None and not grown(rounds, size):
            time.sleep(0.01)
        process.kill()
        killed += process.wait() == -signal.SIGKILL
    assert killed == 3
    assert subprocess.run(command, check=False).returncode == 0
    path = experiment(*CONDITIONS, run=settings | {"output_dir": "whole"}, horizon=long)
    pdbench("run", path)
    assert rounds_of(Path("killed")) == rounds_of(Path("whole"))
    written = [Path(d, "aggregates.parquet").read_bytes() for d in ("killed", "whole")]
    assert written[0] == written[1]


def test_a_kill_at_any_write_loses_nothing(experiment, pdbench):
    """Three writes of manifest and aggregates, and four of rounds."""
    conditions = [pair("x", {"strategy": "coin"}, "GTFT"), pair("y", "TFT", "ALLD")]
    found = []
    for number in range(8):
        out = {"output_dir": f"out/{number}"}
        path = experiment(*conditions, run=out, horizon={"type": "fixed", "n": 2})
        command = [sys.executable, str(KILLED), str(number), "run", str(path)]
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode == (9 if number < 7 else 0)
        assert pdbench("run", path)[0] == 0
        run_dir = Path("out", str(number))
        parquet = (run_dir / "aggregates.parquet").read_bytes()
        found.append((rounds_of(run_dir), parquet))
        assert pdbench("aggregate", run_dir, "--check")[0] == 0
    assert found == [found[-1]] * 8


def grown(path: Path, size: int) -> bool:
    return path.exists() and path.stat().st_size >= size


def test_more_replicates_are_added_and_none_is_removed(experiment, pdbench):
    path = experiment(pair("x", "GTFT", "GTFT"))
    run_dir = Path("data/runs/test")
    pdbench("run", path)
    first = (run_dir / "rounds.jsonl").read_text()
    assert "2 more" in pdbench("run", path, "--replicates", "3")[2]
    assert (run_dir / "rounds.jsonl").read_text().startswith(first)
    assert {r["replicate"] for r in rounds_of(run_dir)} == {0, 1, 2}
    code, out, err = pdbench("run", path, "--replicates", "2")
    assert code == 0
    assert "nothing to do" in out
    assert "none is removed" in err


def test_a_run_of_another_configuration_is_refused(experiment, pdbench):
    pdbench("run", experiment(pair("x", "TFT", "ALLD")))
    before = Path("data/runs/test/rounds.jsonl").read_bytes()
    code, _, err = pdbench("run", experiment(pair("x", "TFT", "GRIM")))
    assert code == 2
    assert "conditions.x.agent_b.policy" in err
    assert '"ALLD" -> "GRIM"' in err
    assert Path("data/runs/test/rounds.jsonl").read_bytes() == before


def test_a_file_of_the_desktop_is_no_reason_to_stop(project, pdbench):
    pdbench("run", EXAMPLE, "--replicates", "1")
    (RUN_DIR / ".DS_Store").write_bytes(b"\0")
    assert pdbench("run", EXAMPLE, "--replicates", "2")[0] == 0
    assert pdbench("aggregate", RUN_DIR)[0] == 0
    Path("data/runs/other").mkdir()
    Path("data/runs/other/.DS_Store").write_bytes(b"\0")
    path = Path(EXAMPLE)
    path.write_text(path.read_text().replace("run_id: default", "run_id: other"))
    assert pdbench("run", EXAMPLE, "--replicates", "1")[0] == 0
