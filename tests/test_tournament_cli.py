"""run_tournament.py as its users meet it: one run, bad input; the same bytes."""

import json
import os
import re
import signal

import pytest
from conftest import ROOT
from tournaments import RUN, SCRIPT, SMALL, derived, started, wait_for

from common.artifacts import read_bytes

# Specification, section 13, word for word.
SAMPLE = """{
  "agents": 10,
  "rounds": 10,
  "domain": "cvd",
  "toggles": {"S": "high", "C": "present", "H": "high"},
  "randomization": {
    "seeds": [42],
    "label_schemes": ["L1","L2","L3"],
    "option_order": "random",
    "history_mode": "standard"
  },
  "models": {
    "strategy": {"name": "google/gemini-2.5-flash", "max_out": 384},
    "decision": {"name": "openai/gpt-5-nano", "max_out": 8}
  },
  "cost": {"limit_usd": 10}
}"""


# --- one run -----------------------------------------------------------------------------------

def test_the_default_runs_without_a_key_and_says_simulated_everywhere(cli, tmp_path):
    run = cli(SCRIPT)
    assert run.returncode == 0, run.stderr
    first, result, _, hint = run.stdout.splitlines()
    assert first.startswith("SIMULATED") and result.endswith("SIMULATED")
    assert hint == f"now: python3 analyze.py results/acausal/{RUN}"
    folder = tmp_path / "results/acausal" / RUN
    names = {path.name for path in folder.iterdir()}
    assert names == {"acausal_manifest.json", "manifest.json", "journal.jsonl.gz", "transcripts",
                     "prompts.json",
                     *(f"strategies_r{n}.json" for n in range(1, 11)),
                     *(f"round_{n}_games.json" for n in range(1, 11))}
    assert json.loads((folder / "acausal_manifest.json").read_text())["simulated"] is True
    games = json.loads((folder / "round_3_games.json").read_text())
    assert games["simulated"] is True and len(games["games"]) == 135
    policies = json.loads((folder / "strategies_r3.json").read_text())
    for policy in policies:
        text = read_bytes(folder / policy["transcript_path_gz"]).decode()
        assert text.startswith("SIMULATED") and policy["policy"] in text


def test_the_specification_s_sample_loads_unchanged_with_a_warning(cli, tmp_path):
    (tmp_path / "sample.json").write_text(SAMPLE)
    run = cli(SCRIPT, "--config", "sample.json", "--dry-run")
    assert run.returncode == 0
    assert "warning: models.decision.max_out: 8 tokens are too small" in run.stderr
    ours = json.loads((ROOT / "config/experiment.config.json").read_text())
    fitting = SAMPLE.replace('"max_out": 8', '"max_out": 96')
    for key, value in json.loads(fitting).items():
        own = ours[key]
        assert own == (own | value if isinstance(value, dict) else value), key


def test_an_outage_leaves_partial_artifacts_that_verify_and_the_same_command_completes_them(
        live, cli, double, tmp_path):
    double.script(faults=[{"fault": "402", "skip": 20}])
    stopped = live(double, *SMALL, "--out", "o")
    assert stopped.returncode == 5 and "Insufficient credits" in stopped.stderr
    assert cli("analyze.py", "--verify", "o").returncode == 3
    double.script()
    assert live(double, *SMALL, "--out", "o").returncode == 0
    assert live(double, *SMALL, "--out", "whole").returncode == 0
    assert derived(tmp_path / "o") == derived(tmp_path / "whole")
    assert cli("analyze.py", "--verify", "o").returncode == 0


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_ends_a_whole_plan(tmp_path, jobs):
    process = started(tmp_path, "--plan", "exploratory", "--agents", 6, "--rounds", 6, "--jobs",
                      jobs, "--out", "o", start_new_session=True)
    wait_for(lambda: len(list((tmp_path / "o").rglob("acausal_manifest.json"))) >= 2)
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in said, said
    assert len(list((tmp_path / "o").rglob("acausal_manifest.json"))) < 10


def test_a_dry_run_prints_the_cost_of_the_configured_models_and_writes_nothing(cli, tmp_path):
    run = cli(SCRIPT, "--dry-run")
    usd = float(re.search(r"with google/gemini-2.5-flash and openai/gpt-5-nano, as configured: "
                          r"\$([\d.]+) a run", " ".join(run.stdout.split()))[1])
    # 2,700 decisions of some 750 + 96 tokens and 100 policies of 650 + 384, at list prices,
    # before any reasoning: 0.10 + 0.10 + 0.02 + 0.10 dollars
    assert 0.3 < usd < 10
    assert list(tmp_path.iterdir()) == []


def test_artifacts_do_not_depend_on_how_many_calls_are_made_at_once(live, double, tmp_path):
    double.script(latency_s=0.005, jitter_s=0.005)
    limits = ("1", "strategy=6,decision=8", "strategy=3,decision=5")
    for name in limits:
        assert live(double, *SMALL, "--out", name, "--concurrency", name).returncode == 0
    first, *others = (derived(tmp_path / name) for name in limits)
    assert others == [first, first]
