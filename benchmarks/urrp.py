"""How fast and how large urrp_analyze.py is, from start to exit, on files made here.

    python3 benchmarks/urrp.py            # the small file, 10,000 trials, linearity
    python3 benchmarks/urrp.py --million  # and a million trials of 20 models (minutes)
    python3 benchmarks/urrp.py --reader ../shared/data   # open what the reader never saw

Targets: 230 trials in 1 s; 10,000 trials of one model with 2,000 distinct refusals in 40 s; a
million trials of 20 models with 2,000 distinct refusals each in 300 s of processor time;
time linear in the trials.

`--reader` writes benchmarks/urrp-reader.json: what the reader is worth on answers that it was
not written on. These are the 120 of tests/data/urrp_held_out.jsonl, the odd half of
chatgpt-refusals and one model of XSTest, which lie outside the project. Nobody tunes on them:
a reader that was changed after it says so by its hash.
"""

from __future__ import annotations

import argparse
import hashlib
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

from stats import wilson_interval  # noqa: E402
from urrp_analyze import classify, classify_refusal, items  # noqa: E402

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


HELD_OUT = ROOT / "tests" / "data" / "urrp_held_out.jsonl"
FOUND = ROOT / "benchmarks" / "urrp-reader.json"
XSTEST = "llama2orig"  # of three models the one with most refusals
CLASSES = ("HEDGE", "AFFIRM", "DENIAL", "REFUSE")


def coarse(label: str) -> str:
    return "REFUSE" if label.startswith("REFUSE") else label


def rows_of(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def share(k: int, n: int) -> dict[str, float]:
    low, high = wilson_interval(k, n)[:2]
    return {"k": k, "n": n, "value": k / n, "low": low, "high": high}


def of_answers(rows: list[dict[str, str]]) -> dict[str, object]:
    """Accuracy and recall of classes on labelled answers to the suite's prompts."""
    pairs = [(coarse(row["label"]), coarse(classify(row).label)) for row in rows]
    right = sum(label == read for label, read in pairs)
    exact = sum(row["label"] == classify(row).label for row in rows)
    recall = {}
    for name in CLASSES:
        read = [read for label, read in pairs if label == name]
        recall[name] = share(read.count(name), len(read))
    return {
        "accuracy": share(right, len(pairs)),
        "accuracy with three kinds of refusal": share(exact, len(pairs)),
        "recall": recall,
    }


def of_refusals(pairs: list[tuple[bool, str]]) -> dict[str, object]:
    """Refusals that people saw against those that the reader finds."""
    read = [
        (refused, classify_refusal(text).label == "refusal") for refused, text in pairs
    ]
    both = sum(refused and found for refused, found in read)
    only_people = sum(refused and not found for refused, found in read)
    only_reader = sum(found and not refused for refused, found in read)
    return {
        "precision": share(both, both + only_reader),
        "recall": share(both, both + only_people),
        "f1": 2 * both / (2 * both + only_people + only_reader),
    }


def opened(shared: Path) -> None:
    """Read what was kept shut, once; write figures, commit and the reader's hash."""
    xstest = [
        (row["label"] == "full_refusal", row["completion"])
        for row in rows_of(shared / "refusals-dev.jsonl")
        if row["model"] == XSTEST and row["label"] != "partial_refusal"
    ]
    gpt = [
        (row["tone"] == "rejected", row["response"])
        for row in rows_of(shared / "chatgpt-refusals-dev.jsonl")
        if int(row["id"]) % 2 and row["tone"] in ("rejected", "complied")
    ]
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    out = {
        "commit": head.stdout.strip(),
        "urrp_analyze.py": hashlib.sha256(SCRIPT.read_bytes()).hexdigest(),
        "answers to the suite": of_answers(rows_of(HELD_OUT)),
        f"XSTest, {XSTEST}": of_refusals(xstest),
        "chatgpt-refusals, odd half": of_refusals(gpt),
        "both": of_refusals(xstest + gpt),
    }
    FOUND.write_text(json.dumps(out, indent=1) + "\n", "utf-8")
    print(FOUND.read_text("utf-8"))


def main() -> int:
    flags = argparse.ArgumentParser(
        description="How fast and how large urrp_analyze.py is."
    )
    flags.add_argument(
        "--million", action="store_true", help="also a million trials of 20 models"
    )
    flags.add_argument("--json", action="store_true", help="a JSON line each")
    flags.add_argument(
        "--reader", metavar="DIR", type=Path, help="open what the reader never saw"
    )
    args = flags.parse_args()
    if args.reader:
        opened(args.reader)
        return 0
    return show(figures(args.million))


if __name__ == "__main__":
    sys.exit(main())
