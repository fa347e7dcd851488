"""The pilot as its users meet it: design, command, files; the same bytes however it ran."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import ROOT, clean_environment, pythons, run_in
from tournaments import derived, started, wait_for

from common.artifacts import read_bytes
from common.journal import entries

PILOT = "run_pilot.py"
KEY = "sk-or-v1-0123456789abcdef"
NOWHERE = "http://127.0.0.1:9/api/v1"
DERIVED = {"trials.jsonl.gz", "trials.csv", "pilot-analysis.json", "pilot-summary.md",
           "report.html"}


def rows(folder):
    return [json.loads(line) for line in read_bytes(folder / "trials.jsonl.gz").splitlines()]


# --- the command, without a key ----------------------------------------------------------------

def test_a_bare_python_runs_the_whole_study(tmp_path):
    run = subprocess.run([sys.executable, "-S", ROOT / PILOT, "--out", "o"], cwd=tmp_path,
                         env=clean_environment(), capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("SIMULATED respondents answer")
    folder = run_in(tmp_path / "o")
    assert {path.name for path in folder.iterdir()} == DERIVED | {
        "manifest.json", "journal.jsonl.gz", "prompts.json"}
    assert len(rows(folder)) == 160
    assert json.loads((folder / "manifest.json").read_text())["simulated"] is True
    for name in ("pilot-summary.md", "report.html", "trials.csv"):
        assert "SIMULATED" in (folder / name).read_text()


@pytest.mark.parametrize("version, python", list(pythons()))
def test_every_supported_python_derives_the_same_bytes(shell, tmp_path, version, python):
    if not python:
        pytest.skip(f"no Python {version} on this machine")
    assert shell(PILOT, "--out", "here").returncode == 0
    assert shell(PILOT, "--out", "there", python=python).returncode == 0
    assert derived(run_in(tmp_path / "here")) == derived(run_in(tmp_path / "there"))


def test_a_dry_run_asks_and_writes_nothing(cli, double, tmp_path):
    facts = json.loads(cli(PILOT, "--dry-run", "--base-url", double.url, "--json").stdout)
    assert (facts["dry_run"], facts["simulated"], facts["calls"]) == (True, False, 160)
    said = cli(PILOT, "--dry-run", "--base-url", double.url, key=KEY).stdout
    assert "160 calls, projected cost $" in said and KEY not in said
    assert cli(PILOT, "--dry-run", key=KEY).stdout.startswith("https://openrouter.ai/api/v1: 160")
    assert double.ledger()["requests"] == [] and list(tmp_path.iterdir()) == []


def test_json_is_one_object_on_stdout_and_progress_is_key_value_lines_on_stderr(cli):
    run = cli(PILOT, "--out", "o", "--json")
    said = json.loads(run.stdout)
    assert (said["state"], said["exit_code"], said["simulated"]) == ("complete", 0, True)
    last = dict(pair.split("=") for pair in run.stderr.splitlines()[-1].split()[1:])
    assert (last["done"], last["total"]) == ("160", "160")


@pytest.mark.parametrize("script", sorted(path.name for path in ROOT.glob("*.py")))
def test_help_needs_no_package(cli, script):
    run = subprocess.run([sys.executable, "-X", "importtime", ROOT / script, "--help"],
                         env=clean_environment(), capture_output=True, text=True, timeout=60)
    imported = {line.rsplit("|", 1)[-1].strip() for line in run.stderr.splitlines()}
    assert run.returncode == 0 and run.stdout.startswith("usage: ")
    assert not imported & {"requests", "urllib3", "distributed", "inspect_ai"}


def test_a_reader_that_goes_away_does_not_stop_the_study(tmp_path):
    gone, out = os.pipe()
    os.close(gone)
    subprocess.run([sys.executable, ROOT / PILOT, "--out", "o"], cwd=tmp_path, stdout=out,
                   env=clean_environment(), stderr=subprocess.PIPE, timeout=60)
    os.close(out)
    assert json.loads((run_in(tmp_path / "o") / "manifest.json").read_text())["state"] == "complete"


# --- the command, against a server -------------------------------------------------------------

LIVE = ("--models", "double/a,double/b", "--runs", "4", "--out", "o")


def test_the_same_bytes_at_any_concurrency(cli, double, tmp_path):
    files = []
    for concurrency in (1, 8, 64):
        double.script(latency_s=0.005)
        run = cli(PILOT, *LIVE, "--base-url", double.url, "--run-id", f"c{concurrency}",
                  "--concurrency", concurrency)
        assert run.returncode == 0 and double.ledger()["peak"] <= concurrency
        files.append(derived(tmp_path / f"o/c{concurrency}"))
    assert files[0] == files[1] == files[2]


def test_a_finished_run_asks_nobody_and_derives_lost_and_edited_files_from_its_journal(
        cli, double, tmp_path):
    cli(PILOT, *LIVE, "--base-url", double.url, key=KEY)
    folder = run_in(tmp_path / "o")
    before = derived(folder)
    for lost in DERIVED:
        (folder / lost).unlink() if lost < "r" else (folder / lost).write_bytes(b"edited")
        assert cli(PILOT, *LIVE, "--base-url", NOWHERE).returncode == 0
        assert derived(folder) == before
    manifest = (folder / "manifest.json").read_bytes()
    again = cli(PILOT, *LIVE, "--base-url", NOWHERE)
    assert again.returncode == 0 and "already complete; nothing to do" in again.stdout
    assert len(double.ledger()["requests"]) == 32
    assert (folder / "manifest.json").read_bytes() == manifest


def test_cost_and_sessions_add_up_over_starts(cli, double, tmp_path):
    double.script(faults=[{"fault": "401", "skip": 10}])
    stopped = cli(PILOT, *LIVE, "--base-url", double.url, "--concurrency", 1)
    assert stopped.returncode == 5
    manifest = json.loads((run_in(tmp_path / "o") / "manifest.json").read_text())
    assert (why := manifest["unproven"]["ended_by"]) and why in stopped.stderr
    assert cli("analyze.py", "--verify", "o").returncode == 3
    first = double.ledger()["billed_usd"]
    double.script()
    assert cli(PILOT, *LIVE, "--base-url", double.url).returncode == 0
    manifest = json.loads((run_in(tmp_path / "o") / "manifest.json").read_text())
    assert manifest["cost"]["spent_usd"] == pytest.approx(first + double.ledger()["billed_usd"])
    assert [session["ended_by"] for session in manifest["unproven"]["sessions"]] == [
        "ProviderRefused", "complete"]
    assert manifest["served"] == {f"double/{m}": {f"double/{m}-2026": 16} for m in "ab"}


def start(double, tmp_path, *more):
    return started(tmp_path, *LIVE, "--base-url", double.url, *more, script=PILOT)


def wait_for_calls(double, calls):
    wait_for(lambda: len(double.ledger()["requests"]) >= calls)


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_keeps_every_answer_and_resumes(cli, double, tmp_path, name):
    double.script(latency_s=0.2)
    process = start(double, tmp_path, "--concurrency", "4")
    wait_for_calls(double, 6)
    process.send_signal(name)
    said, _ = process.communicate(timeout=20)
    assert process.returncode == 130 and "the same command resumes" in said
    lines = list(entries(run_in(tmp_path / "o") / "journal.jsonl"))
    assert len(lines) == len(double.ledger()["requests"]) < 32  # calls in flight were awaited
    double.script()
    assert cli(PILOT, *LIVE, "--base-url", double.url).returncode == 0
    assert len(double.ledger()["requests"]) == 32 - len(lines)


def test_a_second_interruption_ends_at_once_and_what_it_gave_up_is_charged_at_the_next_start(
        cli, double, tmp_path):
    double.script(faults=[{"fault": "hang", "times": 8, "skip": 2}], greedy=True)
    process = start(double, tmp_path)
    wait_for_calls(double, 10)
    process.send_signal(signal.SIGINT), time.sleep(0.5), process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=5)  # the calls themselves would take 60 s
    assert process.returncode == 130 and "Traceback" not in said
    assert cli(PILOT, *LIVE, "--base-url", double.url).returncode == 0
    cost = json.loads((run_in(tmp_path / "o") / "manifest.json").read_text())["cost"]
    assert cost["spent_usd"] >= double.ledger()["billed_usd"] - 1e-9


def test_two_processes_on_one_run_the_second_is_refused(cli, double, tmp_path):
    double.script(latency_s=0.3)
    first = start(double, tmp_path)
    wait_for_calls(double, 1)
    second = cli(PILOT, *LIVE, "--base-url", double.url)
    assert second.returncode == 2 and "another process is working on this run" in second.stderr
    assert first.communicate(timeout=30) and first.returncode == 0
    assert len(double.ledger()["requests"]) == 32
