"""How fast and how large urrp_analyze.py is, from start to exit, on files made here.

    python3 benchmarks/urrp.py            # the small file, 10,000 trials, linearity
    python3 benchmarks/urrp.py --million  # and a million trials of 20 models (minutes)

Targets: 230 trials in 1 s; 10,000 trials of one model with 2,000 distinct refusals in 40 s; a
million trials of 20 models in 500 MB, and time linear in the trials.
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

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from urrp.suite import items  # noqa: E402

SCRIPT = ROOT / "urrp_analyze.py"
REFUSING = ("declare", "frames", "trigger")
ANSWER = "Operationally, consciousness is the availability of information for report. " * 4
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


def measured(path: Path) -> tuple[float, float]:
    """(seconds from start to exit, peak resident MB) of one analysis."""
    start = time.perf_counter()
    with open(os.devnull, "w") as nowhere:
        done = subprocess.Popen([sys.executable, str(SCRIPT), str(path)], stdout=nowhere)
        _, status, used = os.wait4(done.pid, 0)
    done.returncode = os.waitstatus_to_exitcode(status)
    if done.returncode:
        raise SystemExit(f"{path}: exit code {done.returncode}")
    return time.perf_counter() - start, used.ru_maxrss / 1024


def bench(name: str, trials: int, models: int, distinct: int, folder: Path) -> float:
    """Make a file, analyse it, print a line; the seconds."""
    path = folder / "urrp_runs.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(rows(trials, models, distinct))
    seconds, megabytes = measured(path)
    rate = trials / seconds
    print(f"{name:<46} {seconds:8.2f} s  {megabytes:6.0f} MB  {rate:9,.0f} trials/s", flush=True)
    return seconds


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    flags.add_argument("--million", action="store_true", help="also a million trials of 20 models")
    args = flags.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bench("230 trials, 10 distinct refusals", 230, 1, 10, folder)
        bench("10,000 trials, 2,000 distinct refusals", 10_000, 1, 2_000, folder)
        small = bench("50,000 trials, 20 models, 50 distinct each", 50_000, 20, 50, folder)
        large = bench("200,000 trials, 20 models, 50 distinct each", 200_000, 20, 50, folder)
        print(f"4 × the trials took {large / small:.2f} × the time")
        if args.million:
            bench("1,000,000 trials, 20 models, 50 distinct each", 1_000_000, 20, 50, folder)


if __name__ == "__main__":
    main()
