"""Every script once, as its user meets it: help, a wrong flag, the smallest run, and its check."""

import fcntl
import json
import os

import pytest
from conftest import ROOT

SCRIPTS = sorted(path.name for path in ROOT.glob("*.py"))
PILOT = "--models", "sim-coin", "--runs", "2", "--out", "pilots"


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_names_the_script_and_a_wrong_flag_ends_with_2(cli, script):
    shown, refused = cli(script, "--help"), cli(script, "--no-such-flag", "x")
    assert (shown.returncode, refused.returncode) == (0, 2)
    assert script in shown.stdout and shown.stderr == ""
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert "--no-such-flag" in refused.stderr and "Traceback" not in refused.stderr


DRY = [("run_pilot.py",), ("run_pilot.py", "--design", "mechanism", "--domain", "hospital"),
       ("urrp_run.py",), ("run_tournament.py",), ("run_tournament.py", "--plan", "confirmatory")]


@pytest.mark.parametrize("key", ["", "sk-or-v1-0123456789"])
@pytest.mark.parametrize("command", DRY, ids=" ".join)
def test_a_dry_run_fits_a_terminal(cli, command, key):
    done = cli(*command, "--dry-run", key=key)
    assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= 80


def test_a_plan_of_a_terminal_names_its_report_by_the_way_it_was_given(cli, tmp_path):
    done = cli("run_tournament.py", "--agents", 2, "--rounds", 1, "--out", "o", "--analyze")
    assert done.returncode == 0 and str(tmp_path) not in done.stdout + done.stderr
    assert "\nopen o/" in done.stdout


def test_a_pilot_is_finished_once_and_its_files_follow_from_its_journal(cli):
    first, again = cli("run_pilot.py", *PILOT), cli("run_pilot.py", *PILOT)
    assert (first.returncode, again.returncode) == (0, 0)
    assert "SIMULATED" in first.stdout + first.stderr
    assert cli("analyze.py", "--verify", "pilots").returncode == 0


def test_a_table_of_runs_is_verified_and_says_what_writes_it_anew(cli):
    cli("run_pilot.py", *PILOT)
    assert cli("analyze.py", "--index", "pilots").returncode == 0
    assert cli("analyze.py", "--verify", "pilots").returncode == 0
    cli("run_pilot.py", *PILOT, "--seed", "2")
    late = cli("analyze.py", "--verify", "pilots")
    assert late.returncode == 2 and "analyze.py --index pilots writes it anew" in late.stdout


def test_a_dry_run_writes_nothing(cli, tmp_path):
    done = cli("run_pilot.py", *PILOT, "--dry-run")
    assert done.returncode == 0 and list(tmp_path.iterdir()) == []


def test_a_file_gives_parts_of_the_configuration_and_the_rest_stays(cli, tmp_path):
    price = {"prompt": 1, "completion": 2}
    (tmp_path / "my.json").write_text(json.dumps({"prices": {"m": price}, "routing": {
        "max_price": {"prompt": "0.5", "completion": 0}, "sort": None}}))
    flags = "--config", "my.json", "--base-url", "http://127.0.0.1:9/v1", "--dry-run", "--models"
    known = cli("run_pilot.py", *flags, "m,openai/gpt-5-nano").stdout.splitlines()[0]
    assert "no price known" not in known and known.endswith("limit $3")
    assert "no price known for x: assumed" in cli("run_pilot.py", *flags, "m,x").stdout


def test_a_small_tournament_is_played_and_analysed(cli, tmp_path):
    done = cli("run_tournament.py", "--agents", "4", "--rounds", "1", "--analyze",
               "--out", "rounds")
    assert done.returncode == 0
    assert list(tmp_path.glob("rounds/**/acausal-analysis.json"))
    assert cli("analyze.py", "--verify", "rounds").returncode == 0


def test_urrp_is_collected_and_analysed(cli):
    done = cli("urrp_run.py", "--pilot", "--trials", "1", "--output", "runs.jsonl")
    assert done.returncode == 0
    assert cli("urrp_analyze.py", "runs.jsonl").returncode == 0


def test_a_population_is_calibrated(cli):
    assert cli("calibrate.py", "--reps", "1", "--populations", "coin-50-0-0-0",
               "--out", "counts").returncode == 0


def test_what_an_analysis_notices_is_printed_and_not_only_in_json(cli, tmp_path):
    (tmp_path / "other.json").write_text('{"tells": "ablated"}')   # no main run
    cli("run_tournament.py", "--agents", "2", "--rounds", "1", "--config", "other.json",
        "--out", "rounds")
    noticed = json.loads(cli("analyze.py", "rounds", "--json").stdout)["limits"]
    printed = cli("analyze.py", "rounds").stderr
    assert noticed and all(f"note: {line}\n" in printed for line in noticed)


def test_what_a_killed_calibration_left_is_swept_by_the_next(cli, tmp_path):
    left = tmp_path / "counts" / ".calibration.json.4711.tmp"
    left.parent.mkdir()
    left.write_text("{")
    assert cli("calibrate.py", "--reps", "1", "--populations", "coin-50-0-0-0", "--out", "counts"
               ).returncode == 0
    assert not left.exists() and not list(left.parent.glob(".*"))


def test_two_calibrations_never_write_one_folder_at_once(cli, tmp_path):
    (tmp_path / "counts").mkdir()
    held = os.open(tmp_path / "counts", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    done = cli("calibrate.py", "--reps", "1", "--populations", "coin-50-0-0-0", "--out", "counts")
    os.close(held)
    assert done.returncode == 2 and "another process" in done.stderr


def test_the_help_says_that_a_file_of_rivals_is_executed(cli):
    assert "executed in this process" in " ".join(cli("calibrate.py", "--help").stdout.split())
