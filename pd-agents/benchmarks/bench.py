"""A million rounds between policies: played and written, then aggregated, each by its command.

uv run python benchmarks/bench.py            # one to two minutes; exit code 1 below a target
uv run python benchmarks/bench.py --rounds 100000
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import combinations_with_replacement
from pathlib import Path
from typing import NamedTuple

from pdbench.agents.policy import POLICIES

# The form in which the whole project says what it has measured.
sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from figures import Figure, show

ROUNDS = 200  # of a match


class Used(NamedTuple):
    """What a command took."""

    cpu_s: float
    wall_s: float
    peak_mb: float


def experiment(folder: Path, rounds: int) -> tuple[Path, int]:
    """A round robin of the six policies, and how many rounds it has; JSON is YAML too."""
    conditions = []
    for a, b in combinations_with_replacement(POLICIES, 2):
        agents = {"agent_a": a, "agent_b": b}
        specs = {seat: {"type": "policy", "policy": agents[seat]} for seat in agents}
        conditions.append({"name": f"{a}-{b}", **specs})
    replicates = max(1, round(rounds / ROUNDS / len(conditions)))
    payoffs = {"CC": [3, 3], "CD": [0, 5], "DC": [5, 0], "DD": [1, 1]}
    run = {"run_id": "bench", "seed": 1, "replicates": replicates}
    data = {
        "run": run | {"output_dir": str(folder / "run")},
        "game": {"payoffs": payoffs},
        "horizon": {"type": "fixed", "n": ROUNDS},
        "conditions": conditions,
    }
    path = folder / "bench.yaml"
    path.write_text(json.dumps(data))
    return path, replicates * len(conditions) * ROUNDS


def used(*arguments: object) -> Used:
    """Run a command of pdbench."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "pdbench.cli", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)} failed")
    wall = time.perf_counter() - start
    return Used(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024)


def figures(rounds: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        path, played = experiment(folder, rounds)
        took = used("run", path)
        what = f"run of {played:,} rounds: play, write, aggregate: CPU"
        yield Figure(what, took.cpu_s, "s")
        took = used("aggregate", folder / "run")
        what = f"aggregation of {played:,} rounds: CPU"
        yield Figure(what, took.cpu_s, "s", 60 * played / 1e6)
        yield Figure("the same: wall", took.wall_s, "s")
        yield Figure("the same: peak memory", took.peak_mb, "MB", 1000)
        best = min(used("--help").wall_s for _ in range(3))
        yield Figure("pdbench --help", best, "s", 0.5)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1_000_000, help="to play")
    parser.add_argument("--json", action="store_true", help="a JSON line each")
    return show(figures(parser.parse_args().rounds))


if __name__ == "__main__":
    sys.exit(main())
