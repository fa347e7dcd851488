"""SIGKILL at random moments over a pilot and over a plan: nothing is lost.

A run is killed, started again by the same command, killed again, until it gets to its end. The
budget is tight: where it stops a run, a higher limit resumes it. Kills between two operations on a
file: test_disk.py; between two answers: ../test_ask.py.

    RELIABILITY_KILLS=2000 RELIABILITY_SEED=7 .venv/bin/python -m pytest tests/reliability
"""

import json
import os
import random
import signal
import tempfile
import time
from pathlib import Path

import pytest
from conftest import ended, forked
from tournaments import answered, derived

SEED = os.environ.get("RELIABILITY_SEED", "2026")
KILLS = int(os.environ.get("RELIABILITY_KILLS", "10"))  # of each command
PATIENCE_S = 60
# Outcomes of every kind, by the question alone, so that they are the same after any kill.
FAULTS = [
    {"fault": "null-content", "digest": "0"},
    {"fault": "content-filter", "digest": "1"},
    {"fault": "length-empty", "digest": "2"},
    {"fault": "no-cost", "digest": "3"},
]
PASSING = [
    {"fault": "500", "every": 31},
    {"fault": "reset-billed", "every": 43, "times": 1},
]
PILOT = "run_pilot.py --models double/a,double/b --runs 6 --concurrency 8"
ROUNDS = "run_tournament.py --plan 2x2 --agents 3 --rounds 2 --models double/a"
COMMANDS = {  # calls in flight at most, faults that pass
    "pilot": (PILOT, 8, PASSING),
    "plan": (f"{ROUNDS} --concurrency strategy=2,decision=8", 10, []),
}


def ends_with(process, seconds):
    """The code that a process ends with, None where it goes on."""
    process.join(seconds)
    return process.exitcode


def manifests(folder):
    return [
        json.loads(path.read_bytes()) for path in Path(folder).rglob("manifest.json")
    ]


def journals(folder):
    """The lines of each journal that is not packed."""
    for path in Path(folder).rglob("journal.jsonl"):
        yield path.parent, path.read_bytes().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_killed_at_random_moments_it_ends_as_if_nothing_had_happened(
    double, tmp_path, name
):
    (command, at_once, passing), kills = COMMANDS[name], 0
    rng = random.Random(f"{SEED}/{name}")

    def begin(out, limit):
        flags = ["--base-url", double.url, "--out", out, "--limit-usd", limit]
        return forked(tmp_path, *command.split(), *flags)

    def script():
        faults = FAULTS + passing
        double.script(latency_s=0.02, jitter_s=0.01, greedy=True, faults=faults)

    script()
    began = time.monotonic()
    assert ends_with(begin("whole", 50.0), PATIENCE_S) == 0
    seconds, cost = time.monotonic() - began, double.ledger()["billed_usd"]
    assert double.ledger()["peak"] <= at_once
    while kills < KILLS:
        out, limit, before, code = tempfile.mkdtemp(dir=tmp_path), 1.3 * cost, kills, 1
        script()
        while code != 0:
            process = begin(out, limit)
            patience = rng.uniform(0, seconds) if kills < KILLS else PATIENCE_S
            code = ends_with(process, patience)
            if code is None:
                process.kill()
                kills += 1
                code = ends_with(process, PATIENCE_S)
                for folder, lines in journals(out):  # it is known who answered
                    assert not lines or manifests(folder)[0]["unproven"]["provider"]
            assert code in (0, 4, -signal.SIGKILL)
            if code == 4:  # the kills were dear: what is lost in flight is charged
                assert double.ledger()["billed_usd"] <= limit
                limit *= 1.5
        assert derived(out) == derived(tmp_path / "whole")
        counts, ledger = answered(out), double.ledger()
        assert set(counts.values()) == {1} and counts == answered(tmp_path / "whole")
        assert ended(tmp_path, "analyze.py", "--verify", out).returncode == 0
        charged = sum(manifest["cost"]["spent_usd"] for manifest in manifests(out))
        attempts = sum(manifest["journal"]["attempts"] for manifest in manifests(out))
        lost = len(ledger["requests"]) - attempts
        assert 0 <= lost <= (kills - before) * at_once
        assert ledger["billed_usd"] <= charged + 1e-9 and charged <= limit + 1e-9
