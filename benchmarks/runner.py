#!/usr/bin/env python3
"""Speed of the call layer, whole process from start to exit, against the ideal.

    .venv/bin/python benchmarks/runner.py [--rounds 3] [--latency 2]

The ideal of a case is calls × latency ÷ concurrency, after the two calls of the warm-up: what a
runner without any cost of its own would take. A loopback server answers each call after the latency; server and runner share the
machine. Each case: median ratio over the rounds, its range, CPU a call, peak memory.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.append(sys.path.pop(0))  # `statistics` is a neighbour's name in this folder
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from double import Double  # noqa: E402 - the folders are put on the path above
from figures import Figure, show  # noqa: E402

MODELS = "double/a,double/b,double/c,double/d"


class Case(NamedTuple):
    """`runs` a cell of four models: 16 calls each."""

    runs: int
    concurrency: int
    target: float

    @property
    def calls(self) -> int:
        return 16 * self.runs


class Cost(NamedTuple):
    wall_s: float
    cpu_s: float
    peak_mb: float


WARMUP = 2  # calls of a model, one after the other; the models are warmed up together
CASES = (Case(10, 8, 1.10),)
CPU_MS, PEAK_MB = 10.0, 600.0
LARGE, LARGE_MB = Case(1250, 256, 0.0), 600.0
# As a user has it: without a key that would go live, and with compiled modules kept.
ENVIRONMENT = {
    key: value
    for key, value in os.environ.items()
    if key not in ("PYTHONDONTWRITEBYTECODE", "OPENROUTER_API_KEY")
}


def measure(command: list[str]) -> Cost:
    """One run of a command by the system's own accounting of it."""
    before = os.times()
    child = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENVIRONMENT
    )
    said = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    wall = os.times().elapsed - before.elapsed
    child.returncode = status  # reaped above: nothing is left for Popen to wait for
    if status:
        sys.exit(f"{' '.join(command)} failed:\n{said.decode(errors='replace')}")
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def additions() -> float:
    """Processor seconds of three million additions: how fast this machine is just now."""
    start, total = time.process_time(), 0
    for i in range(3_000_000):
        total += i
    return time.process_time() - start


def run(case: Case, base_url: str, out: str) -> Cost:
    return measure(
        [
            sys.executable,
            str(ROOT / "run_pilot.py"),
            "--base-url",
            base_url,
            "--models",
            MODELS,
            "--runs",
            str(case.runs),
            "--concurrency",
            str(case.concurrency),
            "--limit-usd",
            "1000",
            "--out",
            out,
        ]
    )


def once(case: Case, base_url: str) -> Cost:
    """A run whose files nobody needs."""
    with tempfile.TemporaryDirectory() as out:
        return run(case, base_url, out)


def median(values: list[float]) -> float:
    """The middle value (`statistics` is a neighbour's name in this folder)."""
    return sorted(values)[len(values) // 2]


def of_case(case: Case, base_url: str, rounds: int, latency: float) -> Iterator[Figure]:
    """Wall over the ideal, CPU a call and peak memory: medians over the rounds."""
    costs = [once(case, base_url) for _ in range(rounds)]
    ideal = (WARMUP + case.calls / case.concurrency) * latency
    ratios = sorted(cost.wall_s / ideal for cost in costs)
    name = f"{case.calls:,} calls at {case.concurrency}"
    yield Figure(
        f"{name}: wall ÷ ideal of {ideal:.2f} s ({ratios[0]:.3f} to {ratios[-1]:.3f})",
        median(ratios),
        "×",
        case.target,
    )
    yield Figure(
        f"{name}: CPU a call",
        median([c.cpu_s for c in costs]) / case.calls * 1000,
        "ms",
        CPU_MS,
    )
    yield Figure(f"{name}: peak memory", max(c.peak_mb for c in costs), "MB", PEAK_MB)


def starts() -> Iterator[Figure]:
    """What a newcomer waits for: the pilot without a key, and each help (best of three)."""
    with tempfile.TemporaryDirectory() as out:
        cost = measure(
            [
                sys.executable,
                str(ROOT / "run_pilot.py"),
                "--provider",
                "simulated",
                "--out",
                out,
            ]
        )
    yield Figure("160 simulated trials, from start to report", cost.wall_s, "s", 5)
    for script in sorted(path.name for path in ROOT.glob("*.py")):
        times = [
            measure([sys.executable, str(ROOT / script), "--help"]).wall_s
            for _ in range(3)
        ]
        yield Figure(f"{script} --help", min(times), "s", 0.5)


def large(base_url: str) -> Iterator[Figure]:
    """Many calls at once, from the design to the report, and their verification."""
    with tempfile.TemporaryDirectory() as out:
        cost = run(LARGE, base_url, out)
        again = measure([sys.executable, str(ROOT / "analyze.py"), "--verify", out])
    name = f"{LARGE.calls:,} calls at {LARGE.concurrency}"
    yield Figure(f"{name}: wall", cost.wall_s, "s")
    yield Figure(f"{name}: CPU a call", cost.cpu_s / LARGE.calls * 1000, "ms", CPU_MS)
    yield Figure(f"{name}: peak memory", cost.peak_mb, "MB", LARGE_MB)
    yield Figure(f"{name}: their verification", again.wall_s, "s")
    yield Figure(f"{name}: the same: CPU", again.cpu_s, "s")
    yield Figure(f"{name}: the same: peak memory", again.peak_mb, "MB", LARGE_MB)


def figures(rounds: int, latency: float) -> Iterator[Figure]:
    yield Figure("this machine just now: 3 million additions", additions(), "s")
    yield from starts()
    with Double(latency=latency) as double:
        for case in CASES:
            yield from of_case(case, double.url, rounds, latency)
        yield from large(double.url)


def main() -> int:
    flags = argparse.ArgumentParser(
        description="Speed of the call layer against the ideal."
    )
    flags.add_argument("--rounds", type=int, default=3)
    flags.add_argument("--latency", type=float, default=2.0, help="seconds a call")
    flags.add_argument("--json", action="store_true", help="a JSON line each")
    args = flags.parse_args()
    return show(figures(args.rounds, args.latency))


if __name__ == "__main__":
    sys.exit(main())
