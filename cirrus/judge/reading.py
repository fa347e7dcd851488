"""What a study that reads probabilities must say of its reading, and what a model goes by.

    reading = evidence(rows)          # {"kind": "forced", "mass": .03, "cells": …, "leanings": …}
    sentence({"smollm2": reading})    # for the headline

**Free**: the two labels hold nearly all of the probability, so that their shares are what the model
would say. **Forced**: they hold less; the share between them is what likelihood-based evaluations
report, and the model itself would mostly say something else.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import stats
from show.figures import percent

FREE = 0.90         # of the probability, on average: less is a forced reading
MOST_LEFT = 0.02    # of a cell's probability beside the labels, for a word above cue-responsive
INVARIANT = 0.02    # between two label schemes
LEVEL = 0.90        # of the intervals that must lie inside it


def evidence(rows: Sequence[Mapping]) -> dict[str, Any]:
    """Kind, mass and leanings of the rows of one model whose probabilities were read."""
    read = [row for row in rows if row["mass"] is not None]
    mass = _mean(row["mass"] for row in read)
    cells = _by(read, lambda row: row.get("cell") or f"S.{row['S']}-C.{row['C']}")
    left = max((1 - one["mass"] for one in cells.values()), default=1.0)
    return {"kind": None if mass is None else "free" if mass >= FREE else "forced",
            "mass": mass, "echoed": _mean(row["echoed"] for row in read),
            "openings": sorted({row["opened"] for row in read if row["opened"] is not None}),
            "answers": sum(row["answers"] for row in rows), "trials": len(rows),
            "most_left": left, "whole": bool(read) and left <= MOST_LEFT,
            "cells": cells, "schemes": _by(read, lambda row: row["label_scheme"]),
            "leanings": leanings(rows), "invariance": invariance(rows)}


def whole(parts: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a word above `cue-responsive` may be said: every reading is free, and no cell leaves
    more than MOST_LEFT beside the labels."""
    return all(one["kind"] == "free" and one["whole"] for one in parts.values())


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return math.fsum(known) / len(known) if known else None


def _by(rows: Iterable[Mapping], key: Callable[[Mapping], str]) -> dict[str, dict]:
    groups: dict[str, list[Mapping]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return {name: {"n": len(group), **{field: _mean(row[field] for row in group) for field in (
        "p_cooperate", "p_other", "mass", "echoed")}} for name, group in sorted(groups.items())}


# --- what it goes by ---------------------------------------------------------------------------

# (what, which side of an outcome: 1 the cooperative option's, −1 the other's, 0 neither)
SIDES: dict[str, tuple[str, Callable[[Mapping], int]]] = {
    "place": ("the option that stands first",
              lambda row: 1 if row["order"] == "cooperative-first" else -1),
    "letter": ("Option A, where labels are letters",
               lambda row: {"L2": 1, "L3": -1}.get(row["label_scheme"], 0)),
    "word": ("the cooperative word, where labels are words",
             lambda row: int(row["label_scheme"] == "L1"))}


def leanings(rows: Sequence[Mapping]) -> dict[str, dict[str, Any]]:
    """The share of the option that stands first, of the letter A, of the cooperative word: averaged
    inside bulletins, with 95% intervals over them."""
    return {name: {"label": label, **_leaning(rows, side)}
            for name, (label, side) in SIDES.items()}


def _leaning(rows: Sequence[Mapping], side: Callable[[Mapping], int]) -> dict[str, Any]:
    counts = stats.tally(
        (row["bulletin"], "share", y if y is None or side(row) > 0 else 1 - y)
        for row in rows if side(row) for y in [row["cooperates"]])
    found = stats.contrast(counts, {"share": 1})
    return {"value": found.value, "low": found.low, "high": found.high,
            "units": len(found.differences), "why": found.why}


def invariance(rows: Sequence[Mapping]) -> dict[str, dict[str, Any]]:
    """Cooperation under one label scheme less that under another, over bulletins, 90% intervals:
    invariant where the interval lies inside ±2 points, varying where it lies outside."""
    counts = stats.tally((row["bulletin"], row["label_scheme"], row["cooperates"])
                         for row in rows)
    schemes = sorted({row["label_scheme"] for row in rows})
    return {f"{a}−{b}": _pair(counts, a, b) for a, b in combinations(schemes, 2)}


def _pair(counts: Mapping, a: Hashable, b: Hashable) -> dict[str, Any]:
    found = stats.contrast(counts, {a: 1, b: -1}, LEVEL)
    values = list(found.differences.values())
    # Of bulletins alone: what is read has no answers whose sampling would widen it.
    limits = stats.sign_flip_interval(values, LEVEL)
    low, high = (values[0], values[0]) if len({*values}) == 1 < len(values) else limits[1:3]
    return {"value": found.value, "low": low, "high": high, "verdict": _lies(low, high),
            "units": len(values), "why": found.why if low is None else None}


def _lies(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "not evaluable"
    if low >= -INVARIANT and high <= INVARIANT:
        return "invariant"
    return "varies" if low > INVARIANT or high < -INVARIANT else "undecided"


# --- in words ----------------------------------------------------------------------------------

def sentence(parts: Mapping[str, Mapping[str, Any]]) -> str:
    """Which reading it is and its mass, model by model. `parts`: {model: evidence}."""
    kinds = "; ".join(f"{name} {_kind(one)}" for name, one in parts.items())
    return f"Read as probabilities: {kinds}."


def _kind(one: Mapping[str, Any]) -> str:
    if one["kind"] is None:
        return "could not be read"
    place = "" if one["openings"] else ", in the reply itself"
    if one["kind"] == "free":
        return f"free (the two labels hold {percent(one['mass'], 1)} of its probability{place})"
    return (f"forced (of the two labels it would take one; it gives them {percent(one['mass'], 1)} "
            f"of its probability{place})")


def limits(parts: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What may not be said because of how decisions were read."""
    for name, one in parts.items():
        if one["kind"] == "forced":
            yield (f"That {name} decides: its reading is forced. The labels hold "
                   f"{percent(one['mass'], 1)} of its probability, and {percent(one['echoed'], 1)} "
                   "begin a label and go on otherwise, as in copying the form; what is compared is "
                   "the share between the two labels.")
