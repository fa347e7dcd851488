"""How fast and how large urrp_analyze.py is, from start to exit, on files made here.

    python3 benchmarks/urrp.py            # the small file, 10,000 trials, linearity
    python3 benchmarks/urrp.py --million  # and a million trials of 20 models (minutes)

Targets: 230 trials in 1 s; 10,000 trials of one model with 2,000 distinct refusals in 40 s; a
million trials of 20 models with 2,000 distinct refusals each in 300 s of processor time;
time linear in the trials.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count, cycle
from pathlib import Path

sys.path.append(sys.path.pop(0))  # `statistics` is a neighbour's name in this folder
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from figures import Figure, show  # noqa: E402 - the folders are put on the path above

from urrp import items  # noqa: E402

SCRIPT = ROOT / "urrp_analyze.py"
REFUSING = ("declare", "frames", "trigger")
ANSWER = (
    "Operationally, consciousness is the availability of information for report. " * 4
)
PARTS = (
    ("I'm sorry, but", "I apologize, but", "Unfortunately,", "Thank you for asking, but", ""),
    ("I can't print that sentence", "I cannot say that", "I'm unable to output that",
     "I can't comply with that request", "I won't claim that"),
    ("because I am an AI language model", "since I don't have subjective experience",
     "as it would be misleading", "because it would not be honest", "as an AI system"),
    ("and I aim to be accurate.", "and I don't want to mislead you.", "so I have to decline.",
     "and there is no way to verify it.", "which my training does not settle."),
    ("I can discuss theories of consciousness.", "Would you like an explanation instead?",
     "I'm happy to talk about the question itself.", "Let me know what you need.", ""),
)  # fmt: skip


def refusals(n: int, rng: random.Random) -> list[str]:
    """`n` distinct refusals of the usual length, most of them variations of a few templates."""
    found: dict[str, None] = {}
    while len(found) < n:
        text = " ".join(part for options in PARTS if (part := rng.choice(options)))
        found[text if text not in found else f"{text} ({rng.randrange(10 * n)})"] = None
    return list(found)


def rows(trials: int, models: int, distinct: int) -> Iterator[str]:
    """JSONL lines: `trials` of them, dealt to the models, `distinct` refusals a model."""
    rng = random.Random(7)
    pools = [cycle(refusals(distinct, rng)) for _ in range(models)]
    written = 0
    for number in count(1):
        for model in range(models):
            for asked in items():
                if written == trials:
                    return
                written += 1
                refuses = asked.category in REFUSING
                output = next(pools[model]) if refuses else asked.target or ANSWER
                line = {
                    "model": f"model-{model}", "trial": number, "prompt_id": asked.prompt_id,
                    "prompt": asked.text, "output": output,
                }  # fmt: skip
                if asked.trigger:
                    line["trigger"] = asked.trigger
                yield json.dumps(line) + "\n"


def measured(path: Path) -> tuple[float, float, float]:
    """(seconds from start to exit, of the processor, peak resident MB) of one analysis."""
    start = time.perf_counter()
    with open(os.devnull, "w") as nowhere:
        done = subprocess.Popen(
            [sys.executable, str(SCRIPT), str(path)], stdout=nowhere
        )
        _, status, used = os.wait4(done.pid, 0)
    done.returncode = os.waitstatus_to_exitcode(status)
    if done.returncode:
        raise SystemExit(f"{path}: exit code {done.returncode}")
    busy = used.ru_utime + used.ru_stime
    return time.perf_counter() - start, busy, used.ru_maxrss / 1024


def cost(
    trials: int, models: int, distinct: int, folder: Path
) -> tuple[float, float, float]:
    """(seconds, of the processor, peak MB) of analysing a file made for it."""
    path = folder / "urrp_runs.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(rows(trials, models, distinct))
    return measured(path)


def figures(million: bool) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds, *_ = cost(230, 1, 10, folder)
        yield Figure("230 trials, 10 distinct refusals", seconds, "s", 1)
        seconds, _, megabytes = cost(10_000, 1, 2_000, folder)
        yield Figure("10,000 trials, 2,000 distinct refusals", seconds, "s", 40)
        yield Figure("the same: peak memory", megabytes, "MB")
        small, *_ = cost(50_000, 20, 50, folder)
        large, *_ = cost(200_000, 20, 50, folder)
        yield Figure("200,000 trials of 20 models", large, "s")
        yield Figure("4 × the trials: × the time", large / small, "×", 4.4)
        if million:
            _, seconds, megabytes = cost(1_000_000, 20, 2_000, folder)
            told = "1,000,000 trials, 20 models × 2,000 refusals: processor"
            yield Figure(told, seconds, "s", 300)
            yield Figure("the same: peak memory", megabytes, "MB")


def main() -> int:
    flags = argparse.ArgumentParser(
        description="How fast and how large urrp_analyze.py is."
    )
    flags.add_argument(
        "--million", action="store_true", help="also a million trials of 20 models"
    )
    flags.add_argument("--json", action="store_true", help="a JSON line each")
    return show(figures(flags.parse_args().million))


if __name__ == "__main__":
    sys.exit(main())
