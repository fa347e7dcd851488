"""What a lever study, a twin control and probes add to cells and contrasts: they earn no word.

lever(part, table)["meets"]       {"value": 0.8, "low": 0.5, "high": 1.2, "why": None}
probes_of(rows, ["HP-EP"])        {"beliefs/any": {"cells": …, "contrasts": …}, …}
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import stats
from cirrus.ask.oneshot import DESIGNS
from cirrus.ask.prompts import LEVERS
from cirrus.judge.contrasts import LEVEL, Table, cell_entry, effects, tally
from show.figures import bracketed, counted, interval, plain

# --- the lever, and the twin control -----------------------------------------------------------

GRID = 60  # steps of the lever's scale at which an interval is asked for
BEYOND = f"more than {LEVERS[-1]:g}"
NOWHERE = {"value": None, "low": None, "high": None}


def lever(part: Mapping[str, Any], table: Table) -> dict[str, Any]:
    """Cooperation along the lever, where it meets that of symmetry and cue, and the strength that
    is nearest to the middle of HP and LA."""
    shares = {str(level): part["cells"][f"L{level}"]["mean"] for level in range(1, 7)}
    high, low = part["cells"]["HP"]["mean"], part["cells"]["LA"]["mean"]
    if None in (high, low, *shares.values()):
        return {
            "shares": shares,
            "nearest": None,
            "meets": NOWHERE | {"why": "no estimate"},
        }
    middle = (high + low) / 2
    nearest = min(range(1, 7), key=lambda level: abs(shares[str(level)] - middle))
    shown = part["accounts"]["nothing"]["excluded"]
    return {
        "shares": shares,
        "nearest": nearest,
        "meets": meets(part, tally(table))
        if shown
        else NOWHERE | {"why": "nothing: no effect is established"},
    }


def meets(part: Mapping[str, Any], counts: Mapping) -> dict[str, Any]:
    """How far R has to be raised, in units of T − R, for as much cooperation as symmetry and cue
    bring. The limits are the ends of all strengths at which the contrast with HP, between two
    levels on the line that joins them, does not exclude 0 (an inverted test)."""
    steps = (0.0, *LEVERS)
    names = ("LA", *(f"L{level}" for level in range(1, 7)))
    rising = _rising([part["cells"][name]["mean"] for name in names])
    target = part["cells"]["HP"]["mean"]
    pressure = next(h for held in counts.values() for _, h in held)
    value = _crossing(steps, rising, target)
    inside = []
    for step in range(GRID + 1):
        at = steps[-1] * step / GRID
        right = next(i for i in range(1, len(steps)) if at <= steps[i])
        share = (at - steps[right - 1]) / (steps[right] - steps[right - 1])
        weights = {"HP": 1.0, names[right - 1]: share - 1, names[right]: -share}
        result = stats.contrast(
            counts,
            {(cell, pressure): weight for cell, weight in weights.items() if weight},
            LEVEL,
        )
        if result.low is not None and result.low <= 0 <= result.high:
            inside.append(at)
    return {
        "value": value,
        "low": min(inside, default=None) or None,
        "high": max(inside, default=None)
        if inside and inside[-1] < steps[-1]
        else None,
        "why": None if value is not None else BEYOND,
    }


def _rising(shares: Sequence[float]) -> list[float]:
    """The nearest values that never fall, by pooling neighbours (Ayer et al. 1955)."""
    blocks: list[list[float]] = []
    for share in shares:
        blocks.append([share, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, m), (b, n) = blocks[-2:]
            blocks[-2:] = [[(a * m + b * n) / (m + n), m + n]]
    return [share for share, n in blocks for _ in range(int(n))]


def _crossing(
    steps: Sequence[float], shares: Sequence[float], target: float
) -> float | None:
    """Where the line through (steps, shares) reaches `target` for the first time from below."""
    for at in range(1, len(steps)):
        low, high = shares[at - 1], shares[at]
        if low < target <= high:
            return steps[at - 1] + (target - low) / (high - low) * (
                steps[at] - steps[at - 1]
            )
    return None


def twin(part: Mapping[str, Any], table: Table) -> dict[str, Any]:
    """The three cells, as others read them."""
    return {
        name: {key: cell.get(key) for key in ("k", "n", "low", "high")}
        for name, cell in part["cells"].items()
    }


EXTRAS: dict[str, Callable] = {"lever": lever, "twin": twin}


def lever_headline(parts: Mapping[str, Mapping]) -> str | None:
    """What likeness is worth, of the first model that shows it; None where none does."""
    shown = [
        model for model, part in parts.items() if part["meets"]["why"] in (None, BEYOND)
    ]
    if not shown:
        return None
    meet, of = parts[shown[0]]["meets"], len(parts)
    worth = BEYOND if meet["value"] is None else plain(meet["value"], 1)
    span = interval(meet["low"], meet["high"], 1)
    several = f"; {len(shown)} of {of} models" if of > 1 else ""
    return (
        f"Symmetry and cue are worth {bracketed(f'{worth} times the temptation', span)} to "
        f"{shown[0]}{several}."
    )


def twin_headline(parts: Mapping[str, Mapping]) -> str:
    """Whether models cooperate with their own copy, and with a person: the least and the most."""
    copy, person = (
        _range([part[name] for part in parts.values()]) for name in ("TS", "TP")
    )
    several = f", among {len(parts)} models" if len(parts) > 1 else ""
    return f"Cooperation with an own copy {copy}, with a person {person}{several}."


def _range(shares: Sequence[Mapping[str, Any]]) -> str:
    by_size = sorted(shares, key=lambda share: share["k"] / max(share["n"], 1))
    return " to ".join(
        dict.fromkeys(
            counted(share["k"], share["n"]) for share in (by_size[0], by_size[-1])
        )
    )


HEADLINES: dict[str, Callable] = {"lever": lever_headline, "twin": twin_headline}


# --- probes ------------------------------------------------------------------------------------
# They describe: no word is earned or lost by them.

# probe → whether its answer is the right one, or its number as a share
RIGHT: dict[str, Callable[[Mapping], float]] = {
    "payoffs": lambda row: row["answer"] == row["order"],
    "entry": lambda row: row["answer"] == ENTRY[row["cell"]],
    "similar": lambda row: row["answer"] == "yes",
    "beliefs": lambda row: row["answer"] / 100,
    "influence": lambda row: row["answer"] == "yes",
}
ENTRY = {cell.name: cell.entry for cell in DESIGNS["mechanism"].cells}


def probes_of(rows: Sequence[Mapping], names: Sequence[str]) -> dict[str, Any]:
    """{probe: {"cells": {cell: its share}, "contrasts": {name: how much it differs}}} of one
    model; of beliefs one for each condition. A share is of the answers that could be read."""
    out: dict[str, Any] = {}
    for kind in dict.fromkeys((row["probe"], row["given"]) for row in rows):
        group = [row for row in rows if (row["probe"], row["given"]) == kind]
        counts = stats.tally(
            (
                (row["bulletin"], row["wording"]),
                (row["cell"], "low"),
                None if row["answer"] is None else float(RIGHT[kind[0]](row)),
            )
            for row in group
        )
        out["/".join(filter(None, kind))] = {
            "cells": {
                cell: cell_entry(counts, cell)
                for cell in dict.fromkeys(row["cell"] for row in group)
            },
            "contrasts": effects(counts, names),
        }
    return out | {
        "statuses": dict(Counter(f"{row['probe']} {row['status']}" for row in rows))
    }
