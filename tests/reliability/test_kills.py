"""SIGKILL at random moments over a pilot and over a plan in two processes: nothing is lost.

A run is killed, started again by the same command, killed again, until it gets to its end. Of a
plan any of its processes is hit. The budget is tight: where it stops a run, a higher limit resumes
it. Kills between two operations on a file: test_disk.py; between two answers: ../test_drive.py.

    RELIABILITY_KILLS=2000 RELIABILITY_SEED=7 .venv/bin/python -m pytest tests/reliability
"""

import json
import os
import random
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from conftest import ended, forked
from tournaments import answered, derived, started

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
PLAN = {
    "name": "four",
    "runs": [
        {"toggles": {"S": "high"}},
        {"toggles": {"S": "low"}},
        {"toggles": {"C": "absent"}},
        {"domain": "hospital"},
    ],
}
LIVE = {"models": {"strategy": {"name": "double/c"}, "decision": {"name": "double/a"}}}
COMMANDS = {  # how many calls are in flight at most, faults that pass, what starts the command
    "pilot": (
        (
            "run_pilot.py",
            "--models",
            "double/a,double/b",
            "--runs",
            "6",
            "--concurrency",
            "8",
        ),
        8,
        PASSING,
        forked,
    ),
    "plan": (
        (
            "run_tournament.py",
            "--plan",
            "plan.json",
            "--agents",
            "3",
            "--rounds",
            "2",
            "--jobs",
            "2",
            "--models",
            "double/a",
            "--config",
            "live.json",
            "--concurrency",
            "strategy=2,decision=8",
        ),
        10,
        [],
        lambda folder, script, *flags: started(folder, *flags, script=script),
    ),
}


def code_within(process, seconds):
    """The code that a process ends with, None where it goes on."""
    if isinstance(process, subprocess.Popen):
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=seconds)
        return process.returncode
    process.join(seconds)
    return process.exitcode


def manifests(folder):
    return [
        json.loads(path.read_bytes()) for path in Path(folder).rglob("manifest.json")
    ]


def workers(pid):
    """The processes that the run has started."""
    with suppress(OSError):
        return [
            int(child)
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
        ]
    return []


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="finds processes in /proc"
)
@pytest.mark.parametrize("name", COMMANDS)
def test_killed_at_random_moments_it_ends_as_if_nothing_had_happened(
    double, tmp_path, name
):
    (command, at_once, passing, start), kills = COMMANDS[name], 0
    rng = random.Random(f"{SEED}/{name}")
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    (tmp_path / "live.json").write_text(json.dumps(LIVE))

    def begin(out, limit):
        return start(
            tmp_path,
            *command,
            "--base-url",
            double.url,
            "--out",
            out,
            "--limit-usd",
            limit,
        )

    script = partial(
        double.script,
        latency_s=0.02,
        jitter_s=0.01,
        greedy=True,
        faults=FAULTS + passing,
    )
    script()
    began = time.monotonic()
    assert code_within(begin("whole", 5.0), PATIENCE_S) == 0
    seconds, cost = time.monotonic() - began, double.ledger()["billed_usd"]
    assert double.ledger()["peak"] <= at_once  # of all processes together
    while kills < KILLS:
        out, limit, before, code = (
            tempfile.mkdtemp(dir=tmp_path),
            1.3 * cost,
            kills,
            None,
        )
        script()
        while code != 0:
            process = begin(out, limit)
            code = code_within(
                process, rng.uniform(0, seconds) if kills < KILLS else PATIENCE_S
            )
            if code is None:
                victim = rng.choice([process.pid, *workers(process.pid)])
                with suppress(
                    ProcessLookupError
                ):  # it may have ended by itself meanwhile
                    os.kill(victim, signal.SIGKILL)
                kills += 1
                code = code_within(process, PATIENCE_S)
                # A worker that dies leaves an incomplete run.
                assert code in (0, 4, -signal.SIGKILL if victim == process.pid else 3)
                for journal in Path(out).rglob(
                    "journal.jsonl"
                ):  # it is known who answered
                    assert not journal.read_bytes() or all(
                        manifest["unproven"]["provider"]
                        for manifest in manifests(journal.parent)
                    )
            else:
                assert code in (0, 4)
            if code == 4:  # the kills were dear: what is lost in flight is charged
                assert double.ledger()["billed_usd"] <= limit
                limit *= 1.5
        assert derived(out) == derived(tmp_path / "whole")
        counts, ledger = answered(out), double.ledger()
        assert set(counts.values()) == {1} and counts == answered(tmp_path / "whole")
        assert ended(tmp_path, "analyze.py", "--verify", out).returncode == 0
        charged = sum(manifest["cost"]["spent_usd"] for manifest in manifests(out))
        lost = len(ledger["requests"]) - sum(
            manifest["journal"]["attempts"] for manifest in manifests(out)
        )
        assert 0 <= lost <= (kills - before) * at_once
        assert ledger["billed_usd"] <= charged + 1e-9 and charged <= limit + 1e-9


@pytest.mark.parametrize(
    ("command", "litter"),
    [
        (
            (
                "urrp_run.py",
                "--pilot",
                "--trials",
                1,
                "--models",
                "sim-open",
                "--run-id",
                "r",
            ),
            (".urrp_runs.jsonl.7.tmp", "results/urrp/r/deeper/.a.txt.gz.7.tmp"),
        ),
        (("urrp_analyze.py", "t.jsonl", "--html", "a.html"), (".a.html.7.tmp",)),
        (
            (
                "calibrate.py",
                "--reps",
                1,
                "--populations",
                "coin-50-0-0-0",
                "--out",
                "counts",
            ),
            ("counts/.calibration.json.7.tmp",),
        ),
    ],
)
def test_what_a_kill_left_beside_a_file_is_gone_after_the_next_start(
    cli, tmp_path, command, litter
):
    cli(
        "urrp_run.py",
        "--pilot",
        "--trials",
        1,
        "--models",
        "sim-open",
        "--output",
        "t.jsonl",
    )
    foreign = (".notes.7.tmp", "results/urrp/r/deeper/notes.tmp")
    for name in (*litter, *foreign):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("half a file")
    assert cli(*command).returncode == 0
    assert [name for name in (*litter, *foreign) if (tmp_path / name).exists()] == [
        *foreign
    ]
