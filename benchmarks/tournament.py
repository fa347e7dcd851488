#!/usr/bin/env python3
"""What the tournament costs in time, memory and disk, against what is required of it.

    python3 benchmarks/tournament.py                 everything; two or three minutes
    python3 benchmarks/tournament.py default latency dry

Each measure runs the scripts as processes of their own, in a folder that is removed again.
Live measures ask the loopback double of the tests, so they need `requests`; the confirmatory plan
uses two processes. Exit code 1 where a requirement is missed.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.append(sys.path.pop(0))  # `statistics` is a neighbour's name in this folder
ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from figures import Figure, show  # noqa: E402 - the folder is put on the path above

LATENCY_S, JITTER_S = 0.5, 0.3
LIMITS = {"strategy": 6, "decision": 8}
LIVE_ROUNDS = 2  # of 10 agents: 560 calls, about 35 s


def run(folder, *flags):
    """`measured` of run_tournament.py."""
    return measured(
        [
            sys.executable,
            str(ROOT / "run_tournament.py"),
            *map(str, flags),
            "--out",
            str(folder),
        ]
    )


def measured(command):
    """(seconds, CPU seconds, peak MB) of one command; an error ends the benchmark."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "OPENROUTER_API_KEY": ""},
    )
    said = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(said)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, usage.ru_maxrss / 1024


def megabytes(folder):
    return sum(p.stat().st_size for p in Path(folder).rglob("*") if p.is_file()) / 1e6


def default(folder):
    wall, cpu, mb = run(folder)
    yield Figure("default 10 agents × 10 rounds × 3, simulated", wall, "s", 10)
    yield Figure("default: peak memory", mb, "MB", 150)
    yield Figure("default: disk", megabytes(folder), "MB", 30)
    yield Figure("default: CPU a call", 1000 * cpu / 2800, "ms")


def large(folder):
    _, small, _ = run(folder / "10")
    _, cpu, mb = run(folder / "40", "--agents", 40)
    yield Figure(
        "40 agents × 10 rounds: CPU ÷ in proportion to calls",
        cpu / 47200 / (small / 2800),
        "×",
        1.3,
    )
    yield Figure("40 agents: peak memory", mb, "MB", 400)
    yield Figure("40 agents: CPU", cpu, "s")


def confirmatory(folder):
    wall, _, _ = run(folder, "--plan", "confirmatory", "--jobs", 2)
    yield Figure("confirmatory plan, simulated, --jobs 2", wall, "s", 60)
    analysis, _, mb = measured(
        [sys.executable, str(ROOT / "analyze.py"), str(folder / "confirmatory-s42")]
    )
    yield Figure("analyze.py on the confirmatory plan", analysis, "s", 15)
    yield Figure("analyze.py on it: peak memory", mb, "MB", 250)


def verification(folder):
    run(folder)
    wall, _, _ = measured(
        [sys.executable, str(ROOT / "analyze.py"), "--verify", str(folder)]
    )
    yield Figure("verification of the default run", wall, "s")


def _live(folder, double, *flags):
    config = folder / "live.json"
    config.write_text(
        json.dumps(
            {
                "models": {
                    "strategy": {"name": "double/c"},
                    "decision": {"name": "double/a"},
                },
                "concurrency": LIMITS,
            }
        )
    )
    return run(
        folder / "o",
        "--base-url",
        double.url,
        "--config",
        config,
        "--rounds",
        LIVE_ROUNDS,
        *flags,
    )


def latency(folder):
    """Wall time against the bound of the busier stage: the sum of its calls' latencies, as the
    server drew them, over its limit, after the two calls that warm each stage up."""
    from double import Double

    with Double() as double:
        double.script(latency_s=LATENCY_S, jitter_s=JITTER_S)
        wall, _, _ = _live(folder, double)
        asked = double.ledger()["requests"]
    stages = {"double/c": "strategy", "double/a": "decision"}
    busy = Counter()
    for call in asked:
        busy[stages[call["model"]]] += call["latency_s"]
    bound = max(busy[stage] / limit for stage, limit in LIMITS.items())
    bound += 2 * len(LIMITS) * LATENCY_S
    yield Figure(
        f"live, 500 ± 300 ms: wall ÷ bound of {bound:.1f} s ({len(asked)} calls)",
        wall / bound,
        "×",
        1.10,
    )


def dry(folder):
    said = subprocess.run(
        [
            sys.executable,
            str(ROOT / "run_tournament.py"),
            "--dry-run",
            "--json",
            "--provider",
            "openrouter",
        ],
        capture_output=True,
        check=True,
        text=True,
    )
    yield Figure(
        "estimated cost of the default",
        json.loads(said.stdout)["projected_usd"],
        "$",
        10,
    )


MEASURES = {
    f.__name__: f for f in (default, large, confirmatory, verification, latency, dry)
}


def figures():
    for name in [word for word in sys.argv[1:] if word != "--json"] or MEASURES:
        with tempfile.TemporaryDirectory() as folder:
            yield from MEASURES[name](Path(folder))


if __name__ == "__main__":
    sys.exit(show(figures()))
