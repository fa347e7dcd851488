"""SIGKILL between two steps of a run's files, where random moments seldom fall; those are in
reliability/test_kills.py."""

import subprocess
import sys

import pytest
from conftest import ROOT, clean_environment, run_in
from tournaments import derived, started

CONCURRENCY, LATENCY_S = 8, 0.05
FLAGS = ("--models", "double/a,double/b", "--runs", "20", "--concurrency", str(CONCURRENCY),
         "--limit-usd", "5")
EMPTY = [{"fault": "null-content", "digest": "0"}]  # some answers say nothing


def start(double, out):
    return started(ROOT, "--base-url", double.url, *FLAGS, "--out", out, script="run_pilot.py")


def finish(double, out):
    process = start(double, out)
    said = process.communicate(timeout=60)[0]
    assert process.returncode == 0, said


@pytest.fixture(scope="module")
def whole(one_double, tmp_path_factory):
    """The derived files of a run that nobody disturbed."""
    one_double.script(latency_s=LATENCY_S, faults=EMPTY)
    out = tmp_path_factory.mktemp("whole")
    finish(one_double, out)
    return derived(run_in(out))


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["first", "answers", "files", "packed", "last"])
def test_a_run_killed_between_two_steps_of_its_files_goes_on(double, tmp_path, whole, moment):
    """The n-th time a file takes its name."""
    double.script(latency_s=0, faults=EMPTY)
    names = {"first": "manifest.json", "answers": "trials.jsonl.gz", "files": "report.html",
             "packed": "journal.jsonl.gz", "last": "manifest.json"}
    skip = 1 if moment == "last" else 0
    program = f"""
import os, signal, sys
sys.path.insert(0, {str(ROOT)!r}); sys.argv = ["run_pilot.py", *{list(FLAGS)!r},
    "--base-url", {double.url!r}, "--out", {str(tmp_path)!r}]
replace, seen = os.replace, []
def die(old, new):
    if os.path.basename(new) == {names[moment]!r}:
        seen.append(new)
        if len(seen) > {skip}:
            os.kill(os.getpid(), signal.SIGKILL)
    replace(old, new)
os.replace = die
import run_pilot
from common import cli
cli.run(run_pilot.main, sys.argv[1:])
"""
    killed = subprocess.run([sys.executable, "-c", program], env=clean_environment(),
                            capture_output=True, timeout=60)
    assert killed.returncode == -9
    finish(double, tmp_path)
    assert derived(run_in(tmp_path)) == whole
    if moment != "first":
        assert len(double.ledger()["requests"]) == 160
