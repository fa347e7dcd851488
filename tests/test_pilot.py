"""The pilot as its users meet it: command, files, interruptions."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import ROOT, clean_environment, ended, run_in, scripts
from tournaments import derived, started, wait_for

PILOT = "run_pilot.py"
KEY = "sk-or-v1-0123456789abcdef"
NOWHERE = "http://127.0.0.1:9/api/v1"
DERIVED = {
    "trials.jsonl.gz",
    "trials.csv",
    "pilot-analysis.json",
    "pilot-summary.md",
    "report.html",
}


def manifest(folder):
    return json.loads((run_in(folder / "o") / "manifest.json").read_text())


def bare(folder, *command, out=subprocess.PIPE):
    """The command by a Python without packages."""
    bare_python = [sys.executable, "-S", *command]
    more = {"cwd": folder, "env": clean_environment(), "stderr": subprocess.PIPE}
    return subprocess.run(bare_python, text=True, timeout=60, stdout=out, **more)


def test_a_bare_python_runs_the_whole_study(tmp_path):
    run = bare(tmp_path, ROOT / PILOT, "--out", "o")
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("SIMULATED respondents answer")
    assert manifest(tmp_path)["simulated"]
    folder = tmp_path / "o/pilot-s42"
    names = {path.name for path in folder.iterdir()}
    assert names == DERIVED | {"manifest.json", "journal.jsonl.gz", "prompts.json"}
    trials = (folder / "trials.jsonl.gz").read_bytes()
    assert len(gzip.decompress(trials).splitlines()) == 160
    for name in ("pilot-summary.md", "report.html", "trials.csv"):
        assert "SIMULATED" in (folder / name).read_text()


@pytest.mark.parametrize("script", scripts())
def test_help_needs_no_package(tmp_path, script):
    run = bare(tmp_path, ROOT / script, "--help")
    assert run.returncode == 0 and run.stdout.startswith("usage: ")


def test_a_reader_that_goes_away_does_not_stop_the_study(tmp_path):
    reader, out = os.pipe()
    os.close(reader)
    bare(tmp_path, ROOT / PILOT, "--out", "o", out=out)
    os.close(out)
    assert manifest(tmp_path)["state"] == "complete"


def test_a_dry_run_asks_and_writes_nothing(cli, double, tmp_path):
    told = cli(PILOT, "--dry-run", "--base-url", double.url, "--json")
    facts = json.loads(told.stdout)
    assert facts["dry_run"] and not facts["simulated"] and facts["calls"] == 160
    priced = "https://openrouter.ai/api/v1: 160 calls, projected cost $"
    assert cli(PILOT, "--dry-run", key=KEY).stdout.startswith(priced)
    assert double.ledger()["requests"] == [] == list(tmp_path.iterdir())


def test_a_dry_run_of_a_mechanism_study_says_how_long_it_takes(cli):
    """20 bulletins × 3 blocks × 8 cells = 480 calls of two seconds, eight at once."""
    flags = ("--design", "mechanism", "--runs", 3, "--models", "sim-coin")
    told = cli(PILOT, "--dry-run", *flags)
    assert "take about 2 minutes of live calls, 8 at once" in told.stdout
    assert "40% → 95%, 3% missing: cue-responsive" in told.stdout


CALLS = 2 * (16 + 2)  # of two models, with their warm-ups
LIVE = (
    PILOT,
    "--models",
    "double/a,double/b",
    "--runs",
    "4",
    "--out",
    "o",
    "--base-url",
)


def test_a_finished_run_asks_nobody_and_derives_lost_and_edited_files_from_its_journal(
    cli, double, tmp_path
):
    cli(*LIVE, double.url, key=KEY)
    folder = run_in(tmp_path / "o")
    before = derived(folder)
    for lost in DERIVED:
        if lost < "r":
            (folder / lost).unlink()
        else:
            (folder / lost).write_bytes(b"edited")
        assert cli(*LIVE, NOWHERE).returncode == 0
        assert derived(folder) == before
    noted = manifest(tmp_path)
    again = cli(*LIVE, NOWHERE)
    assert again.returncode == 0 and "already complete; nothing to do" in again.stdout
    assert len(double.ledger()["requests"]) == CALLS
    assert manifest(tmp_path) == noted


def test_cost_and_sessions_add_up_over_starts(cli, double, tmp_path):
    double.script(faults=[{"fault": "401", "skip": 10}])
    stopped = cli(*LIVE, double.url, "--concurrency", 1)
    assert stopped.returncode == 5
    why = manifest(tmp_path)["unproven"]["ended_by"]
    assert why and why in stopped.stderr
    assert cli("analyze.py", "--verify", "o").returncode == 3
    first = double.ledger()["billed_usd"]
    double.script()
    assert cli(*LIVE, double.url).returncode == 0
    noted = manifest(tmp_path)
    billed = first + double.ledger()["billed_usd"]
    assert noted["cost"]["spent_usd"] == pytest.approx(billed)
    ends = [session["ended_by"] for session in noted["unproven"]["sessions"]]
    assert ends == ["ProviderRefused", "complete"]
    for model in ("double/a", "double/b"):
        assert noted["served"][model] == {f"{model}-2026": 16}


def start(double, tmp_path, calls, *more):
    """The study in a process of its own, once the server has got so many calls."""
    process = started(tmp_path, *LIVE[1:], double.url, *more, script=PILOT)
    wait_for(lambda: len(double.ledger()["requests"]) >= calls)
    return process


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_keeps_every_answer_and_resumes(cli, double, tmp_path, name):
    double.script(latency_s=0.2)
    process = start(double, tmp_path, 6, "--concurrency", "4")
    process.send_signal(name)
    printed, _ = process.communicate(timeout=20)
    assert process.returncode == 130 and "the same command resumes" in printed
    journal = (run_in(tmp_path / "o") / "journal.jsonl").read_text("utf-8")
    answers = sum("response" in json.loads(line) for line in journal.splitlines())
    # Calls in flight were awaited.
    assert answers == len(double.ledger()["requests"]) < CALLS
    double.script()
    assert cli(*LIVE, double.url).returncode == 0
    assert len(double.ledger()["requests"]) == CALLS - answers


IMPATIENT = """
import os, pathlib, signal

def impatient(request, rng):
    if rng.random() < 0.1 and not pathlib.Path("stopped").exists():
        pathlib.Path("stopped").touch()
        os.kill(os.getpid(), signal.SIGINT)
    return "Decision: none"

RESPONDENTS = {"impatient": impatient}
"""


def test_an_interruption_of_simulated_respondents_keeps_every_answer_and_resumes(
    shell, tmp_path
):
    (tmp_path / "mine.py").write_text(IMPATIENT)
    command = ("run_pilot.py", "--models", "mine.py:impatient", "--runs", 20)
    command += ("--out", ".", "--run-id", "run")
    stopped = shell(*command)
    assert stopped.returncode == 130 and "interrupted: the journal" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    kept = ended(tmp_path, "analyze.py", "--verify", "run")
    assert kept.returncode == 3 and "incomplete" in kept.stdout
    assert shell(*command).returncode == 6  # it decides nothing
    assert ended(tmp_path, "analyze.py", "--verify", "run").returncode == 0


def test_a_second_interruption_ends_at_once_and_what_it_gave_up_is_charged_at_the_next_start(
    cli, double, tmp_path
):
    double.script(faults=[{"fault": "hang", "times": 8, "skip": 6}], greedy=True)
    process = start(double, tmp_path, 14)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=5)  # the calls themselves would take 60 s
    assert process.returncode == 130 and "Traceback" not in printed
    assert cli(*LIVE, double.url).returncode == 0
    spent = manifest(tmp_path)["cost"]["spent_usd"]
    assert spent >= double.ledger()["billed_usd"] - 1e-9


def test_a_second_process_on_a_run_is_refused(cli, double, tmp_path):
    double.script(latency_s=0.3)
    first = start(double, tmp_path, 1)
    second = cli(*LIVE, double.url)
    assert (
        second.returncode == 2
        and "another process is working on this run" in second.stderr
    )
    assert first.communicate(timeout=30) and first.returncode == 0
    assert len(double.ledger()["requests"]) == CALLS
