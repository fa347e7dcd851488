"""Scripts as their users meet them: help, a wrong flag, a dry run, what is left in a folder."""

import fcntl
import json
import os
import re
from importlib import import_module

import pytest
from conftest import ROOT

SCRIPTS = sorted(path.name for path in ROOT.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_help_gives_commands_that_parse_and_a_wrong_flag_ends_with_2(cli, script):
    shown, refused = cli(script, "--json", "--help"), cli(script, "--no-such-flag", "x")
    assert (shown.returncode, refused.returncode, shown.stderr) == (0, 2, "")
    assert "--no-such-flag" in refused.stderr and "Traceback" not in refused.stderr
    name, text = script.removesuffix(".py"), shown.stdout
    assert text.startswith(f"usage: {script}") and max(map(len, text.splitlines())) <= 80
    commands = re.findall(rf"^  (?:python3|uv run) {script} ?(.*?)(?:   .*|\| .*)?$", text, re.M)
    assert len(commands) >= 2
    for command in commands:
        import_module(name).arguments(command.split())
    flag = r"^  (?:-\w, )?--[a-z-]+(?: [^ \n]+)*"   # each has a description
    described = re.findall(flag + r"(?:  +\S|\n {10,}\S)", text, re.M)
    assert len(described) == len(re.findall(flag, text, re.M)) > 2


DRY = [("run_pilot.py",), ("run_pilot.py", "--design", "mechanism", "--runs", "1"),
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


def test_a_file_gives_parts_of_the_configuration_and_the_rest_stays(cli, tmp_path):
    price = {"prompt": 1, "completion": 2}
    (tmp_path / "my.json").write_text(json.dumps({"prices": {"m": price}, "routing": {
        "max_price": {"prompt": "0.5", "completion": 0}, "sort": None}}))
    flags = "--config", "my.json", "--base-url", "http://127.0.0.1:9/v1", "--dry-run", "--models"
    known = cli("run_pilot.py", *flags, "m,openai/gpt-5-nano").stdout.splitlines()[0]
    assert "no price known" not in known and known.endswith("limit $3")
    assert "no price known for x: assumed" in cli("run_pilot.py", *flags, "m,x").stdout


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
