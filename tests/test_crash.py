"""SIGKILL at random moments, resumed each time: nothing lost, nothing asked twice but in flight."""

import json
import random
import subprocess
import sys
import time
from collections import Counter

import pytest
from conftest import ROOT, clean_environment

from common.artifacts import read_bytes
from common.journal import entries

CONCURRENCY, LATENCY_S = 8, 0.05
FLAGS = ("--models", "double/a,double/b", "--runs", "20", "--concurrency", str(CONCURRENCY),
         "--limit-usd", "5")
FINAL = ("ok", "empty", "truncated", "blocked")
# Faults on the way: some answers are lost after they were billed, some fail, none stays.
FAULTS = [{"fault": "reset-billed", "every": 41, "times": 2}, {"fault": "500", "every": 37},
          {"fault": "null-content", "digest": "0"}, {"fault": "truncated", "every": 53, "times": 1}]
KILLS = 12  # three times, over as many runs as it takes


def start(double, out):
    return subprocess.Popen(
        [sys.executable, ROOT / "run_pilot.py", "--base-url", double.url, *FLAGS, "--out", out],
        env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(double, out):
    process = start(double, out)
    said = process.communicate(timeout=60)[0]
    assert process.returncode == 0, said


def derived(folder):
    """{name: content} of everything but the journal and the manifest, which hold times."""
    return {path.name: read_bytes(path) for path in folder.iterdir()
            if path.name not in ("manifest.json", "journal.jsonl.gz")}


@pytest.fixture(scope="module")
def whole(one_double, tmp_path_factory):
    """(derived files of a run that nobody disturbed, the seconds it took)."""
    one_double.script(latency_s=LATENCY_S, faults=FAULTS[2:3])
    out = tmp_path_factory.mktemp("whole")
    began = time.monotonic()
    finish(one_double, out)
    return derived(out / "pilot-s42"), time.monotonic() - began


def kill_until_done(double, out, rng, seconds):
    """Start, kill at a random moment, start again, until a start gets to its end → kills."""
    for kills in range(100):
        process = start(double, out)
        try:
            said = process.communicate(timeout=rng.uniform(0.15, 0.6) * seconds)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            continue
        assert process.returncode == 0, said
        return kills
    raise AssertionError("100 kills, and no end")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_runs_killed_at_random_moments_end_as_if_nothing_had_happened(
        double, tmp_path, whole, seed):
    (files, seconds), rng, kills, turn = whole, random.Random(seed), 0, 0
    while kills < KILLS:
        folder, turn = tmp_path / str(turn) / "pilot-s42", turn + 1
        double.script(latency_s=LATENCY_S, faults=FAULTS)
        killed = kill_until_done(double, folder.parent, rng, seconds)
        kills += killed

        assert derived(folder) == files
        lines = [entry for entry, _, _ in entries(folder / "journal.jsonl.gz")]
        answered = Counter(entry["id"] for entry in lines if entry["outcome"] in FINAL)
        assert len(answered) == 160 and set(answered.values()) == {1}

        ledger = double.ledger()
        asked = Counter(request["question"] for request in ledger["requests"])
        assert len(asked) == 160
        assert asked.total() - len(lines) <= killed * CONCURRENCY
        cost = json.loads((folder / "manifest.json").read_text())["cost"]
        assert ledger["billed_usd"] <= cost["spent_usd"] + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["first", "answers", "files", "packed", "last"])
def test_a_run_killed_between_two_steps_of_its_files_goes_on(double, tmp_path, whole, moment):
    """Kills where random moments seldom fall: the n-th time a file takes its name."""
    double.script(latency_s=0, faults=FAULTS[2:3])
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
    assert derived(tmp_path / "pilot-s42") == whole[0]
    if moment != "first":
        assert len(double.ledger()["requests"]) == 160
