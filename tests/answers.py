"""Rows of one-shot studies as run_pilot.py writes them, without asking anybody."""

import random
from itertools import product

from cirrus.judge.oneshot import analyse

CELLS = {
    "2x2": ("HP", "HA", "LP", "LA"),
    "lever": ("HP", "LA", "L1", "L2", "L3", "L4", "L5", "L6"),
    "mechanism": ("HP", "LA", "UP", "KP", "KL", "QL", "MN", "ME"),
    "twin": ("TS", "TU", "TO", "TP"),
}
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
    given = shares if callable(shares) else lambda cell, b, k: shares.get(cell, 0.3)
    for b, k, cell in product(range(bulletins), range(blocks), CELLS[design]):
        chance = given(cell, b, k)
        y = None if chance is None else int(rng.random() < chance)
        yield {
            "id": f"{model}/b{b:02d}/{k}/{cell}",
            "model": model,
            "run": k + 1,
            "cell": cell,
            "H": "low",
            "bulletin": f"b{b:02d}",
            "wording": (12 * k // blocks + b) % 12 + 1,
            "variant": "v",
            "label_scheme": SCHEMES[2 * k % 3],
            "order": ORDERS[(b + k // 3) % 2],
            "cooperates": y,
            "text": "x",
            "cost_usd": 0.01,
            "status": "unreadable" if y is None else "ok",
            "read_from": "" if y is None else "line",
            "served_model": model,
            "provider": "p",
        } | more


def study(
    *rows, design="mechanism", redealt=None, probed=(), provider="simulated", **config
):
    """The analysis of the rows of one model or of several."""
    every = [row for some in rows for row in some]
    config = {
        "design": design,
        "models": list(dict.fromkeys(row["model"] for row in every)),
        "seed": 1,
        "compliance": "low",
        "tells": "standard",
    } | config
    return analyse(every, {"config": config, "provider": provider}, redealt, probed)


def without(rows, *cells, **change):
    """Rows whose answers in these cells changed; no change: left out."""
    return [
        row | (change if row["cell"] in cells else {})
        for row in rows
        if change or row["cell"] not in cells
    ]
