"""The `markers` block of acausal-analysis.json: labels, agreement, validity, what may be used."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import stats
from cirrus.codebook import FAMILIES
from cirrus.decisions import Decision
from cirrus.markers_agreement import BAR, agreement
from cirrus.markers_labels import Weight, Weights, fit, labels
from cirrus.markers_model import rationales, validity
from cirrus.ratings import Labels, Policy, Rater, items_of

NONE = "unadjudicated: enters no claim"


def block(policies: Sequence[Policy], primary: Iterable[Decision], raters: Sequence[Rater],
          simulated: bool, model=validity) -> dict[str, Any]:
    """`policies`: all readable ones of the study, of every round. `primary`: decisions of round 1,
    first encounters, main runs. `model`: what computes the validity of the acausal marker."""
    weights = fit(corpus(policies))
    first = [policy for policy in policies if policy.role == "main" and policy.round == 1]
    found = {policy.id: labels(weights, policy.text) for policy in first}
    items = items_of(first)
    weak = {name: labels(weights, item.text) for name, item in items.items()}
    verdicts = agreement(weak, raters, simulated)
    rows = list(primary)
    return {
        "status": status(verdicts), "bar": BAR,
        "adjudicated": [name for name in FAMILIES if verdicts[name]["adjudicated"]],
        "functions": {family: {kind: own._asdict() for kind, own in kinds.items()}
                      for family, kinds in weights.items()},
        "cells": cells(first, found), "texts": len(items),
        "raters": [_rater(rater, items) for rater in raters], "agreement": verdicts,
        "validity": model(rows, found), "rationales": rationales(rows)}


def corpus(policies: Iterable[Policy]) -> list[str]:
    """The distinct texts that weigh the labelling functions: those of main runs, all rounds;
    of all runs where there are no main ones."""
    every = list(policies)
    main = [policy for policy in every if policy.role == "main"]
    return list(dict.fromkeys(policy.text for policy in main or every))


def weights_of(out: Mapping[str, Any]) -> Weights:
    """The weights as an analysis has them."""
    return {family: {kind: Weight(**own) for kind, own in kinds.items()}
            for family, kinds in out["markers"]["functions"].items()}


def status(verdicts: Mapping[str, Mapping]) -> str:
    names = {verdict: [name.replace("_", " ") for name in FAMILIES
                       if (verdicts[name]["adjudicated"] is True) is verdict]
             for verdict in (True, False)}
    if not names[True]:
        return NONE
    said = f"adjudicated: {', '.join(names[True])}"
    return said + (f"; unadjudicated: {', '.join(names[False])}" if names[False] else "")


def cells(policies: Iterable[Policy], found: Mapping[str, Labels]) -> dict[str, dict[str, Any]]:
    """{cell: policies, and for each family k of n labelled ones with Wilson's interval}."""
    held: dict[str, list[Labels]] = {}
    for policy in policies:
        held.setdefault(policy.cell, []).append(found[policy.id])
    return {cell: {"policies": len(own)} | {family: _share([one[family] for one in own])
                                            for family in FAMILIES}
            for cell, own in sorted(held.items())}


def _share(values: Sequence[bool | None]) -> dict[str, Any]:
    known = [value for value in values if value is not None]
    interval = stats.wilson_interval(sum(known), len(known))
    return {"k": sum(known), "n": len(known), "undecided": len(values) - len(known),
            "share": sum(known) / len(known) if known else None, "low": interval.low,
            "high": interval.high, "why": interval.why}


def _rater(rater: Rater, items: Mapping[str, Any]) -> dict[str, Any]:
    here = [own for item, own in rater.labels.items() if item in items]
    return {"rater": rater.name, "kind": rater.kind, "simulated": rater.simulated,
            "done": rater.done, "served": list(rater.served), "statuses": rater.statuses,
            "rated": sum(any(v is not None for v in own.values()) for own in here),
            "elsewhere": len(rater.labels) - len(here)}
