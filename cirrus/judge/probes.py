"""What a model's answers to probes allow: whether it reads the case as it is, expects more of a
counterparty that can mirror it, and denies that its entry moves the other's.

    evidence(rows)["further"]      {"payoffs": True, "beliefs": True, "marginal": True, …}

An answer that can't be read counts against the model. Suspicion is described, never split on;
what goes together over bulletins is not called mediation.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import stats
from stats.results import UnitContrast

LEAST = 20                                  # answers a question and cell
READS, DENIES = 0.5, 0.8                    # what Wilson's lower limit has to exceed
DILEMMA = ["T", "R", "P", "S"]
LEVEL = 0.95
# How much a joint entry of its own tells of the other's, more where that can mirror it.
DIAGNOSTIC = {("HP", "joint"): 1, ("HP", "other"): -1, ("UN", "joint"): -1, ("UN", "other"): 1}
MARGINAL = {("UN", "any"): 1, ("HP", "any"): -1}


def evidence(rows: Sequence[Mapping]) -> dict[str, Any]:
    """Each probe of one model, and `further`: what of them the highest word needs."""
    kinds = {kind: [row for row in rows if row["probe"] == kind] for kind in READERS}
    out: dict[str, Any] = {kind: READERS[kind](own) if own else None
                           for kind, own in kinds.items()}
    payoffs, beliefs, influence = (out[kind] for kind in ("payoffs", "beliefs", "influence"))
    enough = {kind: own and min(Counter((r["cell"], r["given"]) for r in own).values()) >= LEAST
              for kind, own in kinds.items()}
    return out | {
        "statuses": dict(sorted(Counter(f"{r['probe']} {r['status']}" for r in rows).items())),
        "further": {
            "payoffs": bool(enough["payoffs"]) and payoffs["low"] > READS,
            "beliefs": bool(enough["beliefs"]) and _certain(beliefs["diagnostic"]),
            "marginal": bool(enough["beliefs"]) and _not_below(beliefs["marginal"]),
            "influence": bool(enough["influence"]) and influence["low"] > DENIES}}


def _share(rows: Sequence[Mapping], right: Callable[[Any], bool]) -> dict[str, Any]:
    """Of all that were asked, how many answered so, with Wilson's interval."""
    share = stats.share(sum(row["answer"] is not None and right(row["answer"]) for row in rows),
                        len(rows))
    return {"k": share.k, "n": share.n, "value": share.value, "low": share.low,
            "high": share.high}


def _payoffs(rows: Sequence[Mapping]) -> dict[str, Any]:
    """`read`: bulletins that are ranked T > R > P > S in most of their answers."""
    by: dict[str, list] = {}
    for row in rows:
        by.setdefault(row["bulletin"], []).append(row["answer"] == DILEMMA)
    cells = {cell: _share([row for row in rows if row["cell"] == cell], DILEMMA.__eq__)
             for cell in dict.fromkeys(row["cell"] for row in rows)}
    return {**_share(rows, DILEMMA.__eq__), "cells": cells,
            "orders": dict(Counter(" > ".join(row["answer"]) for row in rows
                                   if row["answer"] is not None).most_common()),
            "read": sorted(name for name, each in by.items() if 2 * sum(each) > len(each)),
            "misread": sorted(name for name, each in by.items() if 2 * sum(each) <= len(each))}


def _beliefs(rows: Sequence[Mapping]) -> dict[str, Any]:
    counts = stats.tally((row["bulletin"], (row["cell"], row["given"]),
                          None if row["answer"] is None else row["answer"] / 100) for row in rows)
    means: dict[str, float | None] = {}
    for key in dict.fromkeys((row["cell"], row["given"]) for row in rows):
        values = [row["answer"] for row in rows
                  if (row["cell"], row["given"]) == key and row["answer"] is not None]
        means["/".join(key)] = sum(values) / len(values) if values else None
    return {"means": means, "diagnostic": _entry(stats.contrast(counts, DIAGNOSTIC, LEVEL)),
            "marginal": _entry(stats.contrast(counts, MARGINAL, LEVEL))}


def _entry(found: UnitContrast) -> dict[str, Any]:
    return {"value": found.value, "low": found.low, "high": found.high, "p": found.p,
            "units": len(found.differences), "bounds": found.bounds.asdict(), "why": found.why}


def _certain(one: Mapping[str, Any]) -> bool:
    return one["low"] is not None and one["low"] > 0 and one["bounds"]["lowest"] > 0


def _not_below(one: Mapping[str, Any]) -> bool:
    """Whether what is expected of a rule or a lot is not shown to be less than of a desk."""
    return one["high"] is not None and one["high"] >= 0


def _answers(rows: Sequence[Mapping]) -> dict[str, Any]:
    return {"answers": dict(Counter(str(row["answer"]) for row in rows).most_common()),
            "n": len(rows)}


READERS: dict[str, Callable[[Sequence[Mapping]], dict[str, Any]]] = {
    "payoffs": _payoffs, "beliefs": _beliefs,
    "influence": lambda rows: _share(rows, "no".__eq__), "notice": _answers, "realism": _answers}
