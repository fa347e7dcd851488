"""Train the reader of the acausal family on labelled texts of our own.

    python3 benchmarks/acausal_words.py            # cross-validated, over five parts
    python3 benchmarks/acausal_words.py --write    # and write cirrus/markers/acausal_words.json
    python3 benchmarks/acausal_words.py --held-back    # the shipped weights on texts never learnt

Logistic regression on the traits of a text (cirrus/markers/acausal.py), ridge penalty, both kinds
of text weighing the same, full-batch gradient descent with momentum from zero: the same weights on
every machine.
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

from cirrus.ask import respondents  # noqa: E402 - the folder is put on the path above
from cirrus.markers.acausal import LEARNT, LIKELY, chance, traits  # noqa: E402
from cirrus.markers.words import READINGS  # noqa: E402
from common.artifacts import canonical_json  # noqa: E402

DATA = ROOT / "tests" / "acausal_texts.json"
POLICIES = DATA.with_name("marker_texts.json")
RIDGE, ROUNDS, STEP, MOMENTUM = 0.001, 200, 1.5, 0.85
RARE = 3  # texts a trait must stand in
PARTS = 5
DEFINING = 6  # what a definition weighs, in texts


def train(rows: list[dict]) -> dict[str, float]:
    """{trait: weight}; the trait "" stands in every text."""
    texts = [traits(row["text"]) for row in rows]
    spread = Counter(trait for text in texts for trait in text)
    texts = [{s: x for s, x in text.items() if spread[s] >= RARE} for text in texts]
    kinds = Counter(row["acausal"] for row in rows)
    weights = {trait: 0.0 for text in texts for trait in text}
    speed = dict(weights)
    for _ in range(ROUNDS):
        slopes = {trait: RIDGE * w for trait, w in weights.items()}
        for row, text in zip(rows, texts, strict=True):
            p = 1 / (1 + math.exp(-sum(x * weights[trait] for trait, x in text.items())))
            miss = (p - row["acausal"]) / (2 * kinds[row["acausal"]])
            for trait, x in text.items():
                slopes[trait] += miss * x
        speed = {trait: MOMENTUM * v - STEP * slopes[trait] for trait, v in speed.items()}
        weights = {trait: w + speed[trait] for trait, w in weights.items()}
    return {trait: round(w, 2) for trait, w in sorted(weights.items()) if round(w, 2)}


def definitions() -> list[dict]:
    """The codebook's examples of all families, the policies to which its word lists were fitted,
    and the sentences that simulated agents write: ours, and what is not to be taken for it."""
    said = {"acausal": respondents.ACAUSAL, "compliance": respondents.COMPLIANCE,
            "reciprocity": respondents.RECIPROCITY}
    kinds = [*((name, reading.examples) for name, reading in READINGS.items()), *said.items()]
    policies = json.loads(POLICIES.read_text(encoding="utf-8"))
    return [{"text": text, "acausal": kind == "acausal"} for kind, texts in kinds
            for text in texts] + [{"text": row["text"], "acausal": "acausal" in row["present"]}
                                  for row in policies if not row["held_out"]]


def main() -> int:
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    flags.add_argument("--write", action="store_true", help="write acausal_words.json")
    flags.add_argument("--held-back", action="store_true", help="score the texts held back, once")
    args = flags.parse_args()
    rows = json.loads(DATA.read_text(encoding="utf-8"))
    if args.held_back:
        return show("held back", [row for row in rows if row["held_out"]])
    tuned = [row for row in rows if not row["held_out"]]
    calls = Counter()
    for part in range(PARTS):
        weights = train([row for i, row in enumerate(tuned) if i % PARTS != part])
        calls.update((row["acausal"], chance(row["text"], weights) >= LIKELY)
                     for i, row in enumerate(tuned) if i % PARTS == part)
    print("cross-validated", dict(calls))
    if args.write:
        learnt = canonical_json({"words": train(tuned + DEFINING * definitions())})
        LEARNT.write_text(learnt + "\n", encoding="utf-8")
    return show("tuned on", tuned)


def show(name: str, rows: list[dict]) -> int:
    calls = Counter((row["register"], row["acausal"], chance(row["text"]) >= LIKELY)
                    for row in rows)
    print(name, dict(calls))
    return 0


if __name__ == "__main__":
    sys.exit(main())
