"""Speed and memory against their targets, on one core.

    uv run python benchmarks/bench.py            # about a minute; exit code 1 below a target
    uv run python benchmarks/bench.py --rounds 100000

Each figure is the best of three: other programs can only make it worse.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from itertools import combinations_with_replacement
from pathlib import Path

from pdbench.agents.policy import POLICIES
from pdbench.config.load import load_experiment
from pdbench.runners.match import Match, Recorded, build_agents, play, play_recorded
from pdbench.storage.rounds import RoundsWriter

# The form in which the whole project says what it has measured.
sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from figures import Figure, show

TURNS_PER_S = 250_000
WRITTEN_PER_S = 60_000
AGGREGATE_S_PER_MILLION = 10.0
AGGREGATE_MB = 1000
HELP_S = 0.5
REPEATS = 3

CONFIG = """
run: {{run_id: bench, seed: 1, replicates: {replicates}, output_dir: "{out}"}}
game:
  payoffs: {{CC: [3, 3], CD: [0, 5], DC: [5, 0], DD: [1, 1]}}
horizon: {{type: fixed, n: 200}}
conditions:
"""


def experiment(folder: Path, rounds: int):
    pairs = list(combinations_with_replacement(POLICIES, 2))
    text = CONFIG.format(
        replicates=max(1, round(rounds / 200 / len(pairs))), out=folder / "run"
    )
    for a, b in pairs:
        agents = [f"{{type: policy, policy: {name}}}" for name in (a, b)]
        text += f"  - {{name: {a}-{b}, agent_a: {agents[0]}, agent_b: {agents[1]}}}\n"
    path = folder / "bench.yaml"
    path.write_text(text)
    return load_experiment(path)


def seconds(work) -> float:
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def in_memory(matches: list[Match]) -> float:
    def work():
        for match in matches:
            deque(play(match, build_agents(match, Recorded())), maxlen=0)

    return sum(m.length() for m in matches) / seconds(work)


def written(matches: list[Match], folder: Path) -> float:
    def work():
        writer = RoundsWriter(folder / "rounds.jsonl")
        for match in matches:
            play_recorded(match, Recorded(), writer.write)
        writer.close()
        os.remove(folder / "rounds.jsonl")

    return sum(m.length() for m in matches) / seconds(work)


def aggregation(run_dir: Path) -> tuple[float, float, float]:
    """CPU seconds, wall seconds and peak megabytes of aggregating, in a process of its own.

    It runs on one thread, so that CPU seconds are what the wall shows on an idle core.
    """
    code = (
        "import sys, resource; from pathlib import Path;"
        "from pdbench.runners.run_experiment import aggregate; aggregate(Path(sys.argv[1]));"
        "used = resource.getrusage(resource.RUSAGE_SELF);"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)"
    )
    figures = []

    def work():
        done = subprocess.run(
            [sys.executable, "-c", code, str(run_dir)],
            check=True,
            text=True,
            capture_output=True,
        )
        figures.append(tuple(map(float, done.stdout.split())))

    wall = seconds(work)
    return min(cpu for cpu, _ in figures), wall, max(peak for _, peak in figures)


def help_time() -> float:
    command = [str(Path(sys.executable).with_name("pdbench")), "--help"]
    return seconds(lambda: subprocess.run(command, check=True, capture_output=True))


def figures(rounds: int):
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        loaded = experiment(folder, rounds)
        some = [
            Match("bench", c, r, 1, True, True)
            for c in loaded.conditions
            for r in range(20)
        ]
        yield Figure(
            "policy pairs in memory",
            in_memory(some),
            "turns/s",
            TURNS_PER_S,
            least=True,
        )
        yield Figure(
            "policy pairs, every round written",
            written(some, folder),
            "rounds/s",
            WRITTEN_PER_S,
            least=True,
        )
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "pdbench.cli", "run", str(folder / "bench.yaml")],
            check=True,
            capture_output=True,
        )
        played = loaded.run.replicates * len(loaded.conditions) * 200
        yield Figure(
            f"pdbench run of {played:,} rounds: start, play, write, aggregate",
            time.perf_counter() - start,
            "s",
        )
        took, wall, peak = aggregation(folder / "run")
        yield Figure(
            f"aggregation of {played:,} rounds: CPU",
            took,
            "s",
            AGGREGATE_S_PER_MILLION * played / 1e6,
        )
        yield Figure("the same: wall", wall, "s")
        yield Figure("the same: peak memory", peak, "MB", AGGREGATE_MB)
        yield Figure("pdbench --help", help_time(), "s", HELP_S)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rounds", type=int, default=1_000_000, help="rounds to aggregate"
    )
    parser.add_argument("--json", action="store_true", help="a JSON line each")
    return show(figures(parser.parse_args().rounds))


if __name__ == "__main__":
    sys.exit(main())
