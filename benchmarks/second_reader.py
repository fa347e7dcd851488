"""Train the second reader of URRP's classifier: one weight a word and label, on labelled answers.

    python3 benchmarks/second_reader.py            # how it reads each source, trained on the others
    python3 benchmarks/second_reader.py --write    # and write urrp/second_reader.json

Multinomial logistic regression on the words of an answer, ridge penalty, full-batch gradient
descent from zero: the same weights on every machine.
"""

import argparse
import json
import math
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(sys.path.pop(0))  # `statistics` is a neighbour's name in this folder
sys.path.insert(0, str(ROOT))

from common.artifacts import canonical_json  # noqa: E402 - the folder is put on the path above
from urrp.classify import classify  # noqa: E402
from urrp.replies import (  # noqa: E402
    READ_AGAIN,
    WEIGHTS,
    second_reading,
    weighed_words,
)

DATA = ROOT / "tests" / "data" / "self_report.jsonl"
RIDGE = 0.005  # of the squared weights, beside the mean loss
ROUNDS, STEP = 400, 8.0
RARE = 2  # answers a word must stand in
UNSEEN = ("own-7", "own-8")  # never trained on: what the data sheet measures


def rows() -> list[dict]:
    """The labelled answers that the reader is asked about."""
    every = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    return [row for row in every if row["label"] in READ_AGAIN and row["source"] not in UNSEEN]


def train(answers: list[dict]) -> dict[str, list[float]]:
    """{word: weights by label}; the word "" stands in every answer."""
    texts = [weighed_words(row["output"]) for row in answers]
    spread = Counter(word for text in texts for word in text)
    known = [{w: x for w, x in text.items() if spread[w] >= RARE} for text in texts]
    share = Counter(row["label"] for row in answers)
    weights = {word: [0.0] * len(READ_AGAIN) for text in known for word in text}
    for _ in range(ROUNDS):
        slopes = {word: [RIDGE * w for w in values] for word, values in weights.items()}
        for row, text in zip(answers, known, strict=True):
            heft = 1 / (share[row["label"]] * len(share))
            for i, p in enumerate(chances(weights, text)):
                miss = heft * (p - (READ_AGAIN[i] == row["label"]))
                for word, x in text.items():
                    slopes[word][i] += miss * x
        for word, slope in slopes.items():
            weights[word] = [w - STEP * s for w, s in zip(weights[word], slope, strict=True)]
    return {w: [round(x, 2) for x in v] for w, v in sorted(weights.items()) if any(map(abs, v))}


def chances(weights: dict[str, list[float]], text: dict[str, float]) -> list[float]:
    scores = [0.0] * len(READ_AGAIN)
    for word, x in text.items():
        for i, w in enumerate(weights[word]):
            scores[i] += w * x
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    return [power / sum(powers) for power in powers]


def read(row: dict, weights: dict[str, list[float]]) -> bool:
    """Does the second reader read a row as its label says?"""
    return (second_reading(row["output"], weights) or "OTHER") == row["label"]


def main() -> int:
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    flags.add_argument("--write", action="store_true", help="write urrp/second_reader.json")
    asked = flags.parse_args()
    answers = rows()
    for source in sorted({row["source"] for row in answers}):
        weights = train([row for row in answers if row["source"] != source])
        held = [row for row in answers if row["source"] == source]
        unread = [row for row in held if classify(row, second=False).label == "OTHER"]
        right = [sum(read(row, weights) for row in part) for part in (held, unread)]
        print(f"{source}: {right[0]} of {len(held)} right; where the rules abstain "
              f"{right[1]} of {len(unread)}")
    if asked.write:
        data = {"labels": list(READ_AGAIN), "words": train(answers)}
        WEIGHTS.write_text(canonical_json(data) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
