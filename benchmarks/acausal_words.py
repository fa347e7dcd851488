"""Train the reader of the acausal family on labelled texts of our own.

    python3 benchmarks/acausal_words.py            # cross-validated, five parts in order of writing
    python3 benchmarks/acausal_words.py --write    # and write cirrus/markers/acausal_words.json
    python3 benchmarks/acausal_words.py --held-back    # the shipped weights on texts never learnt

Logistic regression on the traits of a text (cirrus/markers/acausal.py), ridge penalty, both kinds
of text weighing the same, full-batch gradient descent with momentum from zero: the same weights on
every machine. Each text is learnt from once more, at half the weight, as told by and of others: "I"
and "we" changed for each other, "they" for "she", a desk for a team. Who decides is no matter.
"""

import argparse
import json
import math
import random
import re
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(sys.path.pop(0))  # `statistics` is a neighbour's name in this folder
sys.path.insert(0, str(ROOT))

from cirrus.ask import respondents  # noqa: E402 - the folder is put on the path above
from cirrus.markers.acausal import LEARNT, LIKELY, chance, traits  # noqa: E402
from cirrus.markers.words import READINGS  # noqa: E402
from common.artifacts import canonical_json  # noqa: E402

DATA = ROOT / "tests" / "acausal_texts.json"
POLICIES = DATA.with_name("marker_texts.json")
RIDGE, ROUNDS, STEP, MOMENTUM = 0.0005, 200, 1.5, 0.85
RARE = 5  # texts a trait must stand in, as written or retold
PARTS = 5  # written one after another, in voices and on subjects of their own
DEFINING, RETOLD = 6, 0.5  # what a definition weighs, and a text as told by others, in texts
SINGULAR = ("I'm", "I'd", "I'll", "I've", "I am", "I was", "I", "me", "my", "mine", "myself")
PLURAL = ("we're", "we'd", "we'll", "we've", "we are", "we were", "we", "us", "our", "ours",
          "ourselves")
OTHERS = ({"they": "he", "them": "him", "their": "his", "theirs": "his"},
          {"they": "she", "them": "her", "their": "her", "theirs": "hers"},
          {"they": "it", "them": "it", "their": "its", "theirs": "its"})
PARTIES = ("desk", "team", "office", "hospital", "lab", "agent", "player", "unit", "ward")


class Row(NamedTuple):
    text: str
    acausal: bool
    weight: float = 1.0


def retold(text: str, rng: random.Random) -> str:
    """As told by one in place of several or the other way about, of others, by others."""
    one = re.search(r"\b(?:I|my)\b", text)
    speaker = zip(SINGULAR, PLURAL, strict=True) if one else zip(PLURAL, SINGULAR, strict=True)
    changed = dict(speaker) | rng.choice(OTHERS)
    party = rng.choice(PARTIES)
    pattern = "|".join(map(re.escape, sorted(changed, key=len, reverse=True)))
    text = re.sub(rf"\b(?:{pattern})\b", lambda found: changed[found[0]], text)
    return re.sub(rf"\b(?:{'|'.join(PARTIES)})(s?)\b", rf"{party}\1", text)


def train(rows: list[Row]) -> dict[str, float]:
    """{trait: weight}; the trait "" stands in every text."""
    rng = random.Random(1)
    rows = rows + [Row(retold(row.text, rng), row.acausal, RETOLD * row.weight) for row in rows
                   if row.weight == 1]
    texts = [traits(row.text) for row in rows]
    spread = Counter(trait for text in texts for trait in text)
    texts = [{s: x for s, x in text.items() if spread[s] >= RARE} for text in texts]
    kinds = Counter()
    for row in rows:
        kinds[row.acausal] += row.weight
    weights = {trait: 0.0 for text in texts for trait in text}
    speed = dict(weights)
    for _ in range(ROUNDS):
        slopes = {trait: RIDGE * w for trait, w in weights.items()}
        for row, text in zip(rows, texts, strict=True):
            p = 1 / (1 + math.exp(-sum(x * weights[trait] for trait, x in text.items())))
            miss = row.weight * (p - row.acausal) / (2 * kinds[row.acausal])
            for trait, x in text.items():
                slopes[trait] += miss * x
        speed = {trait: MOMENTUM * v - STEP * slopes[trait] for trait, v in speed.items()}
        weights = {trait: w + speed[trait] for trait, w in weights.items()}
    return {trait: round(w, 2) for trait, w in sorted(weights.items()) if round(w, 2)}


def definitions() -> list[Row]:
    """The codebook's examples of all families, the policies to which its word lists were fitted,
    and the sentences that simulated agents write: ours, and what is not to be taken for it."""
    said = {"acausal": respondents.ACAUSAL, "compliance": respondents.COMPLIANCE,
            "reciprocity": respondents.RECIPROCITY}
    kinds = [*((name, reading.examples) for name, reading in READINGS.items()), *said.items()]
    policies = json.loads(POLICIES.read_text(encoding="utf-8"))
    return [Row(text, kind == "acausal", DEFINING) for kind, texts in kinds for text in texts] + [
        Row(row["text"], "acausal" in row["present"], DEFINING)
        for row in policies if not row["held_out"]]


def main() -> int:
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    flags.add_argument("--write", action="store_true", help="write acausal_words.json")
    flags.add_argument("--held-back", action="store_true", help="score the texts held back, once")
    args = flags.parse_args()
    texts = json.loads(DATA.read_text(encoding="utf-8"))
    if args.held_back:
        return show("held back", [text for text in texts if text["held_out"]])
    tuned = [text for text in texts if not text["held_out"]]
    rows, calls = [Row(text["text"], text["acausal"]) for text in tuned], Counter()
    for part in range(PARTS):
        parts = [i * PARTS // len(rows) == part for i in range(len(rows))]
        weights = train([row for row, away in zip(rows, parts, strict=True) if not away])
        calls.update((row.acausal, chance(row.text, weights) >= LIKELY)
                     for row, away in zip(rows, parts, strict=True) if away)
    print("cross-validated", dict(calls))
    if args.write:
        learnt = canonical_json({"words": train(rows + definitions())})
        LEARNT.write_text(learnt + "\n", encoding="utf-8")
    return show("tuned on", tuned)


def show(name: str, rows: list[dict]) -> int:
    calls = Counter((row["register"], row["acausal"], chance(row["text"]) >= LIKELY)
                    for row in rows)
    print(name, dict(calls))
    return 0


if __name__ == "__main__":
    sys.exit(main())
