"""What a mechanism study shows: the word by model, and what its probes add.

    out = analyse(rows, study, redealt)
    out["mechanism"]["by_model"]["superrational"]["contrasts"]["HP-UN"]

Models are judged one by one.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import stats
from cirrus.judge.effects import ALPHA, LEVEL, OnDemand, certain, whole
from cirrus.judge.pilot import costs, outcomes, position, served_by
from cirrus.judge.rivals import (
    CELLS,
    MAX_UNREADABLE,
    REQUIRED,
    by_cell,
    evidence,
    holds,
    proof,
    split,
    tally,
)
from cirrus.judge.verdict import (
    CUE_RESPONSIVE,
    NOT_EVALUABLE,
    WORDS,
    Corner,
    Findings,
    verdict,
)
from show.figures import count, interval, points, signed, span
from stats.results import UnitContrast

# --- the whole study ---------------------------------------------------------------------------

def analyse(rows: Sequence[Mapping], study: Mapping, redealt: tuple[int, int] | None,
            probed: Sequence[Mapping] = ()) -> dict:
    """The whole of pilot-analysis.json of a mechanism study; arguments as of a pilot's, and the
    rows of its probes."""
    config = study["config"]
    models = {name: [row for row in rows if row["model"] == name] for name in config["models"]}
    simulated = study["provider"] == "simulated"
    out = {
        "artifact": "pilot-analysis", "simulated": simulated,
        "stamp": "SIMULATED" if simulated else None,
        "design": {**config, "trials": len(rows), "cells": list(CELLS),
                   "bulletins": len({row["bulletin"] for row in rows}),
                   "variants": len({row["variant"] for row in rows}),
                   "frames": sorted({row["frame"] for row in rows})},
        "outcomes": outcomes(rows, CELLS, lambda row: row["cell"]), "cost": costs(rows),
        "position": position(rows),
        "served": {name: served_by(own) for name, own in models.items()},
        "dealt_again": redealt,
        "mechanism": {"pooled": whole(evidence(tally(rows))),
                      "by_model": {name: _model(own) for name, own in models.items()}},
    }
    if probed:
        for name, part in out["mechanism"]["by_model"].items():
            part["probes"] = probes_of([row for row in probed if row["model"] == name])
    judge(out)
    out["claims"] = {"may": list(_may(out)), "may_not": list(_may_not(out))}
    return out


def _model(rows: Sequence[Mapping]) -> dict[str, Any]:
    """The evidence of one model, and what carries it: wordings, frames, bulletins."""
    counts = tally(rows)
    cells = by_cell(counts)
    return {**whole(evidence(counts)),
            "wordings": {name: split(counts, "wording", name) for name in SHOWN},
            "frames": {name: split(counts, "frame", name) for name in SHOWN},
            "bulletins": {name: stats.contrast(cells, REQUIRED[name].weights).differences
                          for name in SHOWN}}


SHOWN = ("HP-LA", "interaction")


# --- probes -------------------------------------------------------------------------------------
# Whether a model reads the case as it is, expects more of a counterparty that can mirror it, and
# denies that its entry moves the other's. They describe: no word is earned or lost by them. What
# goes together over bulletins is not called mediation.

DILEMMA = ["T", "R", "P", "S"]
# How much a joint entry of its own tells of the other's, more where that can mirror it.
DIAGNOSTIC = {("HP", "joint"): 1, ("HP", "other"): -1, ("UN", "joint"): -1, ("UN", "other"): 1}
MARGINAL = {("UN", "any"): 1, ("HP", "any"): -1}


def probes_of(rows: Sequence[Mapping]) -> dict[str, Any]:
    """Each probe of one model, and how its answers ended."""
    kinds = {kind: [row for row in rows if row["probe"] == kind] for kind in READERS}
    return {**{kind: READERS[kind](own) for kind, own in kinds.items() if own},
            "statuses": dict(Counter(f"{r['probe']} {r['status']}" for r in rows))}


def _share(rows: Sequence[Mapping], right: Callable[[Any], bool]) -> dict[str, Any]:
    """Of all that were asked, how many answered so, with Wilson's interval."""
    share = stats.share(sum(row["answer"] is not None and right(row["answer"]) for row in rows),
                        len(rows))
    return {"k": share.k, "n": share.n, "value": share.value, "low": share.low,
            "high": share.high}


def _payoffs(rows: Sequence[Mapping]) -> dict[str, Any]:
    """`misread`: bulletins that are not ranked T > R > P > S in most of their answers."""
    by: dict[str, list] = {}
    for row in rows:
        by.setdefault(row["bulletin"], []).append(row["answer"] == DILEMMA)
    cells = {cell: _share([row for row in rows if row["cell"] == cell], DILEMMA.__eq__)
             for cell in dict.fromkeys(row["cell"] for row in rows)}
    return {**_share(rows, DILEMMA.__eq__), "cells": cells,
            "orders": dict(Counter(" > ".join(row["answer"]) for row in rows
                                   if row["answer"] is not None).most_common()),
            "misread": sorted(name for name, each in by.items() if 2 * sum(each) <= len(each))}


def _similar(rows: Sequence[Mapping]) -> dict[str, Any]:
    """Who says yes, by cell."""
    return {cell: _share([row for row in rows if row["cell"] == cell], "yes".__eq__)
            for cell in dict.fromkeys(row["cell"] for row in rows)}


def _beliefs(rows: Sequence[Mapping]) -> dict[str, Any]:
    counts = stats.tally((row["bulletin"], (row["cell"], row["given"]),
                          None if row["answer"] is None else row["answer"] / 100) for row in rows)
    means: dict[str, float | None] = {}
    for key in dict.fromkeys((row["cell"], row["given"]) for row in rows):
        values = [row["answer"] for row in rows
                  if (row["cell"], row["given"]) == key and row["answer"] is not None]
        means["/".join(key)] = sum(values) / len(values) if values else None
    return {"means": means, "diagnostic": _belief(stats.contrast(counts, DIAGNOSTIC, LEVEL)),
            "marginal": _belief(stats.contrast(counts, MARGINAL, LEVEL))}


def _belief(found: UnitContrast) -> dict[str, Any]:
    return {"value": found.value, "low": found.low, "high": found.high, "p": found.p,
            "units": len(found.differences), "bounds": found.bounds._asdict(), "why": found.why}


READERS: dict[str, Callable[[Sequence[Mapping]], dict[str, Any]]] = {
    "payoffs": _payoffs, "entry": lambda rows: _share(rows, "now".__eq__),
    "similar": _similar, "beliefs": _beliefs,
    "influence": lambda rows: _share(rows, "no".__eq__)}


# --- the words ---------------------------------------------------------------------------------

def judge(out: dict[str, Any]) -> None:
    """Put a verdict on the study, and one on each of its models."""
    study = findings(out)
    out["verdict"] = verdict(study)
    adjusted = stats.holm([shown.p for shown in study.proofs.values()])
    for (name, part), p in zip(out["mechanism"]["by_model"].items(), adjusted, strict=True):
        part["p_holm"] = p
        effects, corners = study.models[name], study.model_corners[name]
        part["verdict"] = verdict(Findings(
            effects, corners, {name: effects}, {name: corners}, study.scope, study.unfinished,
            {name: study.proofs[name]._replace(p=p)}))


def findings(out: Mapping[str, Any]) -> Findings:
    """What the ladder needs of an analysis; contrasts that it does not read are not computed."""
    parts, pooled, design = (*map(out["mechanism"].get, ("by_model", "pooled")), out["design"])
    left = design["trials"] - out["outcomes"]["answered"]
    unfinished = [f"{count(left, 'trial')} of {design['trials']:,} without an answer; the same "
                  "command resumes the run"] if left else []
    if design.get("holdout"):
        unfinished.append("held-out bulletins replicate a study, and have no word of their own")
    return Findings(
        _effects(pooled, design), _corners(pooled),
        {name: _effects(part, design) for name, part in parts.items()},
        {name: _corners(part) for name, part in parts.items()},
        f"{count(design['bulletins'], 'bulletin')} of one domain", unfinished,
        {name: proof(part) for name, part in parts.items()})


def _effects(part: Mapping[str, Any], design: Mapping[str, Any]) -> OnDemand:
    """The contrasts by the names that the ladder knows."""
    contrasts = part["contrasts"]
    names = {"primary": "HP-LA", "S_at_C_present": "HP-LP", "C_at_S_high": "HP-HA",
             "HP-RV": "HP-RV", "HP-UN": "HP-UN"}
    return OnDemand({name: partial(contrasts.__getitem__, here) for name, here in names.items()} | {
        "labels": lambda: part["labels"]["holds"],
        "H_low": lambda: contrasts["HP-LA"] if design["compliance"] != "high" else None,
        "adding_up": lambda: part["required"]["scale"] and all(
            certain(contrasts[name]) for name in ("interaction", "log-odds"))})


def _corners(part: Mapping[str, Any]) -> dict[str, Corner]:
    return {name: Corner(*(part["cells"][name][key] for key in ("k", "n", "missing")))
            for name in ("HP", "LA")}


# --- what may be said --------------------------------------------------------------------------

def _may(out: Mapping[str, Any]) -> Iterator[str]:
    parts = out["mechanism"]["by_model"]
    if out["design"].get("holdout"):
        yield from _replications(out)
    adjusted = stats.holm([part["contrasts"]["HP-LA"]["p"] for part in parts.values()])
    for (name, part), p in zip(parts.items(), adjusted, strict=True):
        if WORDS.index(part["verdict"]["word"]) < WORDS.index(CUE_RESPONSIVE) or p >= ALPHA:
            continue
        excluded = [one["excludes"] for key, one in part["contrasts"].items()
                    if one["excludes"] and holds(key, one) and certain(one)]
        yield f"{name}: {_figure(part['contrasts']['HP-LA'])}. Excluded: {'; '.join(excluded)}."


def _figure(one: Mapping[str, Any]) -> str:
    return (f"{one['label']} is {points(one['value'])} ({span(one['low'], one['high'])} over "
            f"{count(one['units'], 'bulletin')}, {len(one['against'])} of them the other way)")


def _replications(out: Mapping[str, Any]) -> Iterator[str]:
    """What held-out bulletins confirm: the scope of a study of the main ones is wider then."""
    if out["outcomes"]["answered"] < out["design"]["trials"]:
        return
    for name, part in out["mechanism"]["by_model"].items():
        contrasts = [part["contrasts"][key] for key in SHOWN]
        if all(map(certain, contrasts)):
            yield f"{name} replicates on held-out bulletins: {'; '.join(map(_figure, contrasts))}."


# Measured on respondents that were written from outside; docs/mechanism.md has the kinds.
KNOWN_FAULT = ("The word “correlation-sensitive” as a finding: 29 of 48 respondents without the "
               "mechanism got it in more than 5% of studies. Its rule is being replaced.")


def _may_not(out: Mapping[str, Any]) -> Iterator[str]:
    if out["simulated"]:
        yield "Anything about any model: these answers are SIMULATED."
    yield KNOWN_FAULT
    if out["verdict"]["word"] == NOT_EVALUABLE:
        yield f"Anything about the effect: {out['verdict']['why']}."
    for name, part in out["mechanism"]["by_model"].items():
        if reasons := why_not(part):
            yield f"{name}, “correlation-sensitive”: {'; '.join(reasons)}."
        if part["verdict"]["open"]:
            yield f"{name}, that these rivals are excluded: {'; '.join(part['verdict']['open'])}."
    yield ("A word for all models together: what one shows is no evidence on another, and two "
           "rivals averaged look like what neither is.")
    yield (f"Anything beyond {out['verdict']['scope']}, one-shot decisions, "
           f"{_arm(out['design'])}.")


def why_not(part: Mapping[str, Any]) -> list[str]:
    """What a word above `cue-responsive` lacks."""
    contrasts = part["contrasts"]
    out = []
    for name in (*REQUIRED, "log-odds"):
        if not part["required"][name]:
            out.append(f"{name.replace('-', ' − ') if name != 'log-odds' else name} is not "
                       f"established at the size that matters ({_span(contrasts[name])})")
    if not part["required"]["scale"]:
        out.append("a rule or a lot lowers cooperation by itself "
                   f"({_span(contrasts['LA-UL'])}), so that reactions may add up on some scale")
    if not part["required"]["labels"]:
        out.append(part["labels"]["why"])
    if not part["required"]["missing"] and not out:
        out.append("with missing decisions counted against it a contrast is not established")
    if not part["required"]["readable"]:
        out.append(f"more than {100 * MAX_UNREADABLE:.0f}% of the decisions of a contrast are "
                   "missing")
    return out


def _span(one: Mapping[str, Any]) -> str:
    if one["value"] is None:
        return one["why"]
    if one["scale"] == "log-odds":
        return f"{signed(one['value'])}, {interval(one['low'], one['high'], sign=True)}"
    return f"{points(one['value'])}, {span(one['low'], one['high'])}"


def _arm(design: Mapping[str, Any]) -> str:
    effort = design.get("reasoning_effort") or "default effort"
    if design.get("reason", "none") == "first":
        return f"considerations written first, {effort}"
    return f"decided on the first line, {effort}"
