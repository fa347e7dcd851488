#!/usr/bin/env python3
"""What the one-shot studies, their analysis and their calibration take, from start to exit.

    python3 benchmarks/oneshot.py    # two or three minutes, on two cores

Simulated respondents answer; every folder is removed again. `make check` is counted without the
environment that it makes first.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.append(sys.path.pop(0))  # `statistics` is a neighbour's name in this folder
ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from figures import Figure, show  # noqa: E402 - the folder is put on the path above
from runner import measure  # noqa: E402

PILOT = [sys.executable, str(ROOT / "run_pilot.py"), "--provider", "simulated"]
PROBES = "payoffs,entry,similar,beliefs,influence"
TEN = (
    "sim-correlation",
    "sim-conformist",
    "sim-adder",
    "sim-coin",
    "sim-position",
    "sim-label",
    "sim-tells",
    "sim-compliance",
    "sim-reciprocal",
    "sim-overfit",
)
STUDIES = 1000


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as out:
        cost = measure(
            [*PILOT, "--design", "mechanism", "--probes", PROBES, "--out", out]
        )
        yield Figure(
            "make mechanism: four respondents with probes", cost.wall_s, "s", 20
        )
    with tempfile.TemporaryDirectory() as out:
        measure(
            [*PILOT, "--design", "mechanism", "--models", ",".join(TEN), "--out", out]
        )
        cost = measure(
            [sys.executable, str(ROOT / "analyze.py"), *map(str, Path(out).iterdir())]
        )
        yield Figure(
            "ten models × 1,920 decisions, analysed, with page and files: CPU",
            cost.cpu_s,
            "s",
            10,
        )
    with tempfile.TemporaryDirectory() as out:
        cost = measure(
            [
                sys.executable,
                str(ROOT / "calibrate.py"),
                "--populations",
                "hash",
                "--reps",
                str(STUDIES),
                "--jobs",
                "2",
                "--out",
                out,
            ]
        )
        yield Figure(
            f"{STUDIES:,} studies of one respondent, and as many pilots, two cores",
            cost.wall_s,
            "s",
            300,
        )
        yield Figure("the same: CPU a study", 1000 * cost.cpu_s / (2 * STUDIES), "ms")


if __name__ == "__main__":
    sys.exit(show(figures()))
