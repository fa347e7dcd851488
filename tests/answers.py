"""Rows of one-shot studies as run_pilot.py writes them, without asking anybody; what is shown of
them, and what their prompts say."""

import json
import random
from itertools import chain, product

from cirrus.ask.cues import read_notice as told  # noqa: F401
from cirrus.judge.oneshot import analyse
from cirrus.reports import pilot
from common.artifacts import canonical_json
from show.document import terminal

CELLS = {
    "2x2": ("HP", "HA", "LP", "LA"),
    "lever": ("HP", "LA", "L1", "L2", "L3", "L4", "L5", "L6"),
    "mechanism": ("HP", "LA", "UP", "KP", "KL", "QL", "MN", "ME"),
    "twin": ("TS", "TU", "TO", "TP"),
}
USUAL = {
    "H": "low",
    "variant": "v",
    "text": "x",
    "cost_usd": 0.01,
    "status": "ok",
    "read_from": "line",
    "provider": "p",
}
UNREADABLE = {"cooperates": None, "status": "unreadable", "read_from": ""}
SCHEMES, ORDERS = ("L1", "L2", "L3"), ("cooperative-first", "other-first")
# A pattern that no account of METHODS but the hypothesis can produce, with room on both sides.
CLEAR = {
    "HP": 0.9,
    "LA": 0.3,
    "UP": 0.35,
    "KP": 0.35,
    "KL": 0.3,
    "QL": 0.3,
    "MN": 0.6,
    "ME": 0.65,
}


def answered(
    design="mechanism", shares=CLEAR, bulletins=12, blocks=6, model="m", seed=1, **more
):
    """Rows of one model. `shares`: {cell: its chance of the cooperative act}, or a function of
    (cell, bulletin, block) that may give None for an answer that cannot be read."""
    rng = random.Random(seed)
    given = shares
    if not callable(shares):
        given = lambda cell, b, k: shares.get(cell, 0.3)  # noqa: E731
    for b, k, cell in product(range(bulletins), range(blocks), CELLS[design]):
        row = {**USUAL, "model": model, "served_model": model, "cell": cell}
        row["id"], row["run"] = f"{model}/b{b:02d}/{k}/{cell}", k + 1
        row["bulletin"] = f"b{b:02d}"
        row["wording"] = (12 * k // blocks + b) % 12 + 1
        row["label_scheme"] = SCHEMES[2 * k % 3]
        row["order"] = ORDERS[(b + k // 3) % 2]
        chance = given(cell, b, k)
        if chance is None:
            row.update(UNREADABLE)
        else:
            row["cooperates"] = int(rng.random() < chance)
        yield row | more


def study(
    *rows, design="mechanism", redealt=None, probed=(), provider="simulated", **config
):
    """The analysis of the rows of one model or of several."""
    every = list(chain.from_iterable(rows))
    models = list(dict.fromkeys(row["model"] for row in every))
    usual = {"design": design, "models": models, "seed": 1}
    usual |= {"compliance": "low", "tells": "standard"}
    identity = {"config": usual | config, "provider": provider}
    return analyse(every, identity, redealt, probed)


def page(out):
    """The page of a study, without its trials."""
    return pilot.files(out, [], {}, {})["report.html"]


def summary(out):
    return pilot.files(out, [], {}, {})["pilot-summary.md"]


def screen(out):
    """What the terminal shows at the end, read from the file's digits."""
    return terminal(pilot.document(json.loads(canonical_json(out)), {}))


def without(rows, *cells, **change):
    """Rows whose answers in these cells changed; no change: left out."""
    kept = []
    for row in rows:
        if row["cell"] not in cells:
            kept.append(row)
        elif change:
            kept.append(row | change)
    return kept
