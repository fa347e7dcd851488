"""What a pilot's rows show: cells, effects with intervals, missing data, and what may be said.

Every contrast is averaged inside a bulletin first, over runs, models, label schemes and orders,
and its interval runs over bulletins: up to ten runs each has one of its own; beyond, runs that
share one share what is particular to it. p-values of the primary contrast stand under
`exploratory`: a pilot reports effect sizes and intervals.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import stats
from cirrus.ask.pilot import CELLS
from cirrus.judge import effects as over_bulletins
from cirrus.judge.effects import (
    CONTRASTS,
    HP,
    LA,
    MIN_BULLETINS,
    NAMES,
    SIMPLE,
    Slot,
    Slots,
    above,
    around,
    below,
    certain,
    corner,
    entry,
    slots,
    unread,
)
from cirrus.judge.verdict import (
    NOT_EVALUABLE,
    SCALE,
    Corner,
    Findings,
    if_missing,
    left_open,
    verdict,
)
from common.wire import FINAL_OUTCOMES, UNANSWERED
from show.figures import bracketed, cost, count, interval, percent, points, signed, span
from stats.results import Count

MIN_TRIALS, MIN_READ, MIN_D, MIN_INTERACTION, MAX_USD = 120, 0.95, 0.5, 0.10, 3.0
SLACK = 1e-12   # so that a difference of exactly ten points is one
SHOWN = ("primary", "S", "C", *SIMPLE)


def table_of(rows: Iterable[Mapping]) -> dict[Slot, Count]:
    """The trials counted by bulletin, cell, model, label scheme and order."""
    return slots((place(row), row["cooperates"]) for row in rows)


def place(row: Mapping) -> Slot:
    """Where a trial is counted."""
    return Slot(row["bulletin"], row["S"], row["C"], row.get("H", "low"), row["model"],
                row["label_scheme"], row["order"])


def _cell_of(row: Mapping) -> str:
    return NAMES[row["S"], row["C"]]


def analyse(rows: Sequence[Mapping], study: Mapping, redealt: tuple[int, int] | None) -> dict:
    """The whole of pilot-analysis.json.

    `study`: the run's identity (config, prompts). `redealt`: of the answered questions, how many
    the seed deals again (same, all); None where that was not checked.
    """
    config, table = study["config"], table_of(rows)
    models = {name: [row for row in rows if row["model"] == name] for name in config["models"]}
    out = {
        "artifact": "pilot-analysis", "simulated": study["provider"] == "simulated",
        "stamp": "SIMULATED" if study["provider"] == "simulated" else None,
        "design": {**config, "trials": len(rows), "bulletins": len({r["bulletin"] for r in rows}),
                   "variants": len({r["variant"] for r in rows})},
        "outcomes": outcomes(rows, NAMES.values(), _cell_of), "cost": costs(rows),
        "models": {name: summary(table_of(own)) for name, own in models.items()},
        "pooled": summary(table), "missing": _missing(table), "labels": _labels(table),
        "position": position(rows),
        "served": {name: served_by(own) for name, own in models.items()},
    }
    out["verdict"] = verdict(findings(out))
    out["success"] = success(out, redealt)
    out["claims"] = pilot_claims(out)
    return out


def findings(out: Mapping[str, Any]) -> Findings:
    """What the ladder needs of an analysis."""
    design, pooled = out["design"], out["pooled"]
    free = design["compliance"] != "high"
    effects = {**pooled["effects"], "labels": out["labels"]["rule"]["holds"],
               "H_low": pooled["effects"]["primary"] if free else None}
    left = out["design"]["trials"] - out["outcomes"]["answered"]
    return Findings(
        effects, _corners(pooled), {name: own["effects"] for name, own in out["models"].items()},
        {name: _corners(own) for name, own in out["models"].items()},
        f"{count(design['bulletins'], 'bulletin')} of one domain",
        [f"{count(left, 'trial')} of {design['trials']} without an answer; the same command "
         "resumes the run"] if left else [])


def _corners(part: Mapping[str, Any]) -> dict[str, Corner]:
    return {name: Corner(*(part["cells"][NAMES[cell]][key] for key in ("k", "n", "missing")))
            for name, cell in (("HP", HP), ("LA", LA))}


# --- cells and effects -------------------------------------------------------------------------

def summary(table: Slots) -> dict[str, Any]:
    """Cells, effects and interaction of all models or of one, p-values apart."""
    contrasts = {name: over_bulletins.found(table, name) for name in (*SHOWN, "SxC")}
    effects = {name: entry(CONTRASTS[name].label, contrasts[name]) | {"d": size(table, name)}
               for name in SHOWN}
    welch = stats.welch_t_test(decisions(table, [HP]), decisions(table, [LA]))
    return {"cells": {NAMES[cell]: _cell(table, cell) for cell in CELLS}, "effects": effects,
            "interaction": entry(CONTRASTS["SxC"].label, contrasts["SxC"]),
            "exploratory": {"sign_flip_p": contrasts["primary"].p, "welch": welch._asdict()}}


def _cell(table: Slots, cell: tuple[str, str]) -> dict[str, Any]:
    """k of n readable decisions, and the interval over bulletins around it."""
    k, n, missing = corner(table, cell)
    if not n:
        return unread(missing)
    counts = over_bulletins.tally(table, lambda slot: (slot.S, slot.C))
    over = stats.contrast(counts, {cell: 1})
    return {"k": k, "n": n, "missing": missing, "mean": k / n, **around(k / n, over)}


def size(table: Slots, name: str) -> dict[str, Any]:
    """Cohen's d of both sides' decisions, counted as independent trials."""
    sides = ({cell for cell, weight in CONTRASTS[name].weights.items() if weight * sign > 0}
             for sign in (1, -1))
    return stats.cohens_d(*(decisions(table, cells) for cells in sides))._asdict()


def decisions(table: Slots, cells: Collection[tuple[str, str]]) -> list[int]:
    """The decisions in these cells."""
    return [y for slot, (k, n, _) in table.items() if (slot.S, slot.C) in cells
            for y in [1] * k + [0] * (n - k)]


def served_by(rows: Sequence[Mapping]) -> dict[str, list[str]]:
    """Who answered under one model name: more than one is a confound to name."""
    return {field: sorted({row[field] for row in rows if row[field]})
            for field in ("served_model", "provider")}


# --- quality of the data -----------------------------------------------------------------------

def outcomes(rows: Sequence[Mapping], cells: Iterable[str],
             cell_of: Callable[[Mapping], str]) -> dict[str, Any]:
    """How the trials ended, in all and by cell; how many were answered, and how many read."""
    by = {name: Counter() for name in cells}
    for row in rows:
        by[cell_of(row)][row["status"]] += 1
    total = sum(by.values(), Counter())
    read = stats.share(total["ok"], len(rows))
    return {"status": dict(total), "by_cell": {name: dict(one) for name, one in by.items()},
            "answered": sum(n for status, n in total.items() if status not in UNANSWERED),
            "read": read.k, "read_share": read.value, "read_low": read.low, "read_high": read.high}


def costs(rows: Sequence[Mapping]) -> dict[str, Any]:
    """Dollars of the answers. A sum with an unknown in it is a lower bound, and says so."""
    known = [row["cost_usd"] for row in rows if row["cost_usd"] is not None]
    unknown = sum(row["cost_usd"] is None for row in rows
                  if row["status"] in FINAL_OUTCOMES or row["text"])
    return {"usd": math.fsum(known), "unknown": unknown,
            "why": f"{unknown} answers came without a cost" if unknown else None}


# What a missing decision in a cell counts as.
FILLS: dict[str, Callable[[tuple[str, str]], int]] = {
    "all_cooperative": lambda cell: 1, "none_cooperative": lambda cell: 0,
    "lowest": lambda cell: int(cell == LA), "highest": lambda cell: int(cell == HP)}


def _missing(table: Slots) -> dict[str, Any]:
    """The primary difference with every missing decision filled in, each way and at worst."""
    filled = {name: over_bulletins.found(
        {slot: Count(k + fill((slot.S, slot.C)) * missing, n + missing, 0)
         for slot, (k, n, missing) in table.items()}).value for name, fill in FILLS.items()}
    return {"by_cell": {NAMES[cell]: corner(table, cell).missing for cell in CELLS},
            "primary": filled}


def _labels(table: Slots) -> dict[str, Any]:
    """Cooperation and the primary contrast by label scheme and order: a word, a letter or a place
    may be what is liked, or what the effect hangs on."""
    shares = {scheme: _share(over_bulletins.where(table, scheme=scheme))
              for scheme in over_bulletins.levels_of(table, "scheme")}
    means = [share["mean"] for share in shares.values() if share["mean"] is not None]
    return {"schemes": shares, "largest_difference": max(means) - min(means) if means else None,
            "rule": over_bulletins.label_rule(table)}


def _share(table: Slots) -> dict[str, Any]:
    share = stats.share(sum(one.k for one in table.values()), sum(one.n for one in table.values()))
    return {"k": share.k, "n": share.n, "mean": share.value, "low": share.low, "high": share.high}


def position(rows: Sequence[Mapping]) -> dict[str, Any]:
    """How often the option that stands first was taken."""
    taken = [y if row["order"] == "cooperative-first" else 1 - y for row in rows
             if (y := row["cooperates"]) is not None]
    share = stats.share(sum(taken), len(taken))
    return {"k": share.k, "n": share.n, "share": share.value, "low": share.low,
            "high": share.high}


# --- what may be said, and what not --------------------------------------------------------------

def success(out: Mapping, redealt: tuple[int, int] | None) -> list[dict]:
    """The specification's six criteria on point estimates, each with the figure it rests on; those
    about effects only where the data are complete and readable."""
    outcomes, trials, spent = out["outcomes"], out["design"]["trials"], out["cost"]
    interaction, whole = out["pooled"]["interaction"], _whole(out)
    share, same = outcomes["read_share"], None if redealt is None else redealt[0] == redealt[1] > 0
    visible = interaction["value"] is not None and interaction["value"] >= MIN_INTERACTION - SLACK
    return [
        {"criterion": f"All {MIN_TRIALS}+ trials complete without errors",
         "met": trials >= MIN_TRIALS and outcomes["answered"] == trials,
         "figure": f"{outcomes['answered']} of {trials} answered"},
        {"criterion": f"Decisions extracted for > {MIN_READ:.0%} of trials",
         "met": share is not None and share > MIN_READ,
         "figure": f"{outcomes['read']} of {trials}"
                   + ("" if share is None else f" ({percent(share, 1)})")},
        {"criterion": f"Effect size > {MIN_D}, S high with C present against S low with C absent",
         "met": _large(out) if whole else None, "figure": _size(out)},
        {"criterion": f"Interaction visible in means (≥ {100 * MIN_INTERACTION:.0f} points)",
         "met": visible if whole else None,
         "figure": f"{points(interaction['value'])}, "
                   f"{span(interaction['low'], interaction['high'])}"},
        {"criterion": f"Total cost < ${MAX_USD:g}",
         "met": None if spent["unknown"] else spent["usd"] < MAX_USD, "figure": cost(spent)},
        {"criterion": "Reproducible with seed", "met": same,
         "figure": "not checked" if redealt is None else
                   f"{redealt[0]} of {redealt[1]} questions dealt again from seed "
                   f"{out['design']['seed']}, same by SHA-256"},
    ]


def _whole(out: Mapping) -> bool:
    """Whether every trial is answered and no cell holds too many that can't be read."""
    cells = out["pooled"]["cells"].values()
    return out["outcomes"]["answered"] == out["design"]["trials"] and not any(
        Corner(cell["k"], cell["n"], cell["missing"]).unreadable for cell in cells)


def _apart(out: Mapping) -> bool:
    """Whether the two sides don't overlap: all cooperate with symmetry and cue, none with neither.
    Cohen's d then has no value, and is larger than any."""
    cells = out["pooled"]["cells"]
    return cells[NAMES[HP]]["mean"] == 1 and cells[NAMES[LA]]["mean"] == 0


def _large(out: Mapping, edge: str = "value") -> bool:
    """Whether d, or its lower limit, is above MIN_D."""
    d = out["pooled"]["effects"]["primary"]["d"]
    return _apart(out) or (d[edge] is not None and d[edge] > MIN_D)


def _size(out: Mapping) -> str:
    primary = out["pooled"]["effects"]["primary"]
    d = primary["d"]
    if _apart(out):
        return ("the two sides don't overlap: δ = "
                f"{bracketed(signed(primary['value']), _interval(primary))}")
    if d["value"] is None:
        return "no effect size"
    return f"d = {bracketed(signed(d['value']), _interval(d))}"


def _interval(entry: Mapping) -> str:
    return interval(entry["low"], entry["high"], sign=True)


def pilot_claims(out: Mapping) -> dict[str, list[str]]:
    """{"described": …, "may": …, "may_not": …}, from the analysis with its verdict."""
    return {"described": list(_described(out)), "may": list(pilot_may(out)),
            "may_not": list(_pilot_may_not(out))}


def _described(out: Mapping) -> Iterator[str]:
    for name, cell in ((name, out["pooled"]["cells"][NAMES[at]]) for name, at in (
            ("symmetry and cue", HP), ("neither", LA))):
        if cell["n"]:
            yield (f"With {name} {cell['k']} of {cell['n']} decisions were cooperative "
                   f"({percent(cell['mean'], 1)}).")


def pilot_may(out: Mapping) -> Iterator[str]:
    """The positive sentences of a pilot with its verdict."""
    if out["verdict"]["word"] == NOT_EVALUABLE:
        return
    primary, interaction = out["pooled"]["effects"]["primary"], out["pooled"]["interaction"]
    if certain(primary):
        if _large(out, "low"):
            yield f"The effect size is of practical interest ({_size(out)})."
        yield ("The results warrant further investigation: the primary difference is "
               f"{points(primary['value'])} ({span(primary['low'], primary['high'])}).")
    if certain(interaction):
        yield ("Preliminary evidence for an interaction pattern: the cue adds "
               f"{points(interaction['value'])} more where symmetry is high "
               f"({span(interaction['low'], interaction['high'])}).")


def _pilot_may_not(out: Mapping) -> Iterator[str]:
    design, who = out["design"], "respondent" if out["simulated"] else "model"
    primary, interaction = out["pooled"]["effects"]["primary"], out["pooled"]["interaction"]
    if out["simulated"]:
        yield "Anything about any model: these answers are SIMULATED."
    yield from left_open(out["verdict"])
    yield "“Statistically significant”: a pilot is underpowered; its p-values are exploratory."
    yield (f"“Generalises to all models”: {count(len(design['models']), who)} asked, on "
           f"{count(design['bulletins'], 'bulletin')} of one domain.")
    if not above(primary) and not below(primary):
        yield "A direction of the effect: its interval includes zero or can't be computed."
    if not above(interaction) and not below(interaction):
        yield ("An interaction: the interval of the difference of differences includes zero or "
               "can't be computed.")
    if design["bulletins"] < MIN_BULLETINS:
        yield (f"Anything beyond {count(design['bulletins'], 'bulletin')}: the result is about "
               "these stimuli.")
    yield from if_missing(out["missing"]["primary"])
    if not out["labels"]["rule"]["holds"]:
        yield ("That the effect hangs on neither word, letter nor place: "
               f"{out['labels']['rule']['why']}.")
    if (out["labels"]["largest_difference"] or 0) > 0.02 + SLACK:
        yield ("Invariance to labels: cooperation differs by "
               f"{100 * out['labels']['largest_difference']:.1f} points between schemes.")
    yield SCALE
