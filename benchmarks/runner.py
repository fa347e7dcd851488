#!/usr/bin/env python3
"""Speed of the call layer, whole process from start to exit, against the ideal.

    .venv/bin/python benchmarks/runner.py [--rounds 3] [--latency 0.2]

The ideal of a case is calls × latency ÷ concurrency: what a runner without any cost of its own
would take. A loopback server answers each call after the latency; server and runner share the
machine. Prints a Markdown table: median ratio over the rounds, its range, CPU a call, peak memory.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from double import Double  # noqa: E402 - the folder is put on the path above

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


CASES = (Case(10, 8, 1.15), Case(63, 8, 1.05), Case(63, 64, 1.30))
CPU_MS, PEAK_MB = 3.0, 60.0


def measure(command: list[str]) -> Cost:
    """One run of a command by the system's own accounting of it."""
    before = os.times()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
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


def run(case: Case, base_url: str) -> Cost:
    with tempfile.TemporaryDirectory() as out:
        return measure([
            sys.executable, str(ROOT / "run_pilot.py"), "--base-url", base_url,
            "--models", MODELS, "--runs", str(case.runs), "--concurrency", str(case.concurrency),
            "--limit-usd", "1000", "--out", out])


def median(values: list[float]) -> float:
    """The middle value (`statistics` is a neighbour's name in this folder)."""
    return sorted(values)[len(values) // 2]


def row(case: Case, costs: list[Cost], latency: float) -> str:
    ideal = case.calls * latency / case.concurrency
    ratios = [cost.wall_s / ideal for cost in costs]
    cpu = median([cost.cpu_s for cost in costs]) / case.calls * 1000
    peak = max(cost.peak_mb for cost in costs)
    return (f"| {case.calls} at {case.concurrency} | {ideal:.2f} | {median(ratios):.3f} "
            f"| {min(ratios):.3f}–{max(ratios):.3f} | ≤ {case.target} | {cpu:.2f} | ≤ {CPU_MS:g} "
            f"| {peak:.1f} | ≤ {PEAK_MB:g} |")


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    flags.add_argument("--rounds", type=int, default=3)
    flags.add_argument("--latency", type=float, default=0.2, help="seconds a call")
    args = flags.parse_args()
    load = os.getloadavg()[0]
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load before {load:.2f}, "
          f"latency {args.latency:g} s, {args.rounds} rounds, "
          f"3 million additions in {additions():.2f} s\n")
    print("| calls at concurrency | ideal, s | wall ÷ ideal | range | target | CPU ms a call "
          "| target | peak MB | target |\n|---|---|---|---|---|---|---|---|---|")
    with Double(latency=args.latency) as double:
        for case in CASES:
            costs = [run(case, double.url) for _ in range(args.rounds)]
            print(row(case, costs, args.latency), flush=True)


if __name__ == "__main__":
    main()
