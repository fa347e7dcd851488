"""The whole of pilot-analysis.json: what the rows of a one-shot study show, and what may be said.

    out = analyse(rows, identity)          of any of the four designs
    out["verdict"]["word"]
    out["mechanism"]["by_model"]["sim-correlation"]["contrasts"]["HP-EP"]

Models are judged one by one, each at the level that holds all of them together at 95%; a pilot is
judged as a whole too, since the specification's criteria are of the whole.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import stats
from cirrus.ask.oneshot import DESIGNS
from cirrus.judge.accounts import (
    ACCOUNTS,
    DIGITS,
    GUARDS,
    MAX_MISSING,
    NOT_EVALUABLE,
    accounts,
    earning,
    extent,
    missing,
    unsaid,
    verdict,
)
from cirrus.judge.contrasts import (
    ALPHA,
    CONTRASTS,
    LEVEL,
    Table,
    cell_entry,
    certain,
    effects,
    labels,
    table_of,
    tally,
    total,
    where,
)
from cirrus.judge.extras import EXTRAS, HEADLINES, probes_of
from cirrus.judge.readings import EFFORT, EXAMPLES, Ended, first_line, unsplit
from common.wire import FINAL_OUTCOMES, UNANSWERED
from show.figures import bracketed, cost, count, interval, percent, points, signed, span

MIN_TRIALS, MIN_READ, MIN_D, MIN_INTERACTION, MAX_USD = 120, 0.95, 0.5, 0.10, 3.0


UNASKED = {"adapted": {}, "set_aside": {}}


def analyse(
    rows: Sequence[Mapping],
    study: Mapping,
    redealt: tuple[int, int] | None = None,
    probed: Sequence[Mapping] = (),
    asked: Mapping[str, Any] = UNASKED,
) -> dict[str, Any]:
    """The analysis of one study.

    `study`: the run's identity (config, prompts, provider). `redealt`: of the answered questions,
    how many the seed deals again (same, all); None where that was not checked. `probed`: the rows
    of probes. `asked`: what the warm-up found, and the models that were set aside.
    """
    config, simulated = study["config"], study["provider"] == "simulated"
    name, models = config.get("design", "2x2"), config["models"]
    cells, table = [cell.name for cell in DESIGNS[name].cells], table_of(rows)
    ended = outcomes(rows, cells)
    whole = ended["answered"] == len(rows)
    primary = "TS-TO" if name == "twin" else "HP-LA"
    level = 1 - ALPHA / len(models)
    out = {
        "artifact": "pilot-analysis",
        "asked": asked,
        "simulated": simulated,
        "stamp": "SIMULATED" if simulated else None,
        "design": {
            **config,
            "design": name,
            "trials": len(rows),
            "cells": cells,
            **{
                f"{what}s": len({row[what] for row in rows})
                for what in ("bulletin", "wording", "variant")
            },
        },
        "outcomes": ended,
        "losses": losses(rows, config),
        "first_line": first_line(table, primary, level, whole),
        "upstreams": unsplit(rows, primary, level, whole),
        "cost": costs(rows),
        "position": shown(position(rows), whole),
        "labels": {
            scheme: shown(share(where(table, scheme=scheme).values()), whole)
            for scheme in sorted({slot.scheme for slot in table})
        },
        "served": {
            model: served_by([row for row in rows if row["model"] == model])
            for model in models
        },
        "dealt_again": redealt,
    }
    obstacles = unfinished(out)
    parts = {
        model: part_of(where(table, model=model), cells, level, whole)
        for model in models
    }
    out[name] = {"level": level, "by_model": parts}
    if name == "2x2":
        out[name]["pooled"] = part_of(table, cells, LEVEL, whole)
    scope = f"{count(out['design']['bulletins'], 'bulletin')} of one domain"
    for model, part in parts.items():
        part["verdict"] = verdict(part, scope, obstacles)
        part |= EXTRAS.get(name, lambda *_: {})(part, where(table, model=model))
        if whole and (answers := [row for row in probed if row["model"] == model]):
            part["probes"] = probes_of(answers, list(part["contrasts"]))
    out["verdict"] = verdict(out[name].get("pooled"), scope, obstacles, parts)
    if name in HEADLINES and whole and not config.get("holdout"):
        out["verdict"]["sentence"] = (
            HEADLINES[name](parts) or out["verdict"]["sentence"]
        )
    if name == "2x2":
        out["exploratory"] = exploratory(table if whole else {}, out)
        out["success"] = success(out)
    out["claims"] = {"may": list(may(out)), "may_not": list(may_not(out))}
    return out


def unfinished(out: Mapping[str, Any]) -> list[str]:
    """Why nothing may be said yet, or ever."""
    design = out["design"]
    left = design["trials"] - out["outcomes"]["answered"]
    why = (
        [
            f"{count(left, 'trial')} of {design['trials']:,} without an answer; the same command "
            "resumes the run"
        ]
        if left
        else []
    )
    if design.get("holdout"):
        why.append(
            f"{count(design['bulletins'], 'held-out bulletin')} replicate a study, and earn "
            "no word"
        )
    if design["design"] == "twin":
        why.append(
            f"a twin control has {len(design['cells'])} cells, and earns no word"
        )
    return why


def part_of(
    table: Table, cells: Sequence[str], level: float, whole: bool
) -> dict[str, Any]:
    """What one set of answers shows: cells, contrasts, labels, accounts. Of an unfinished study
    the counts alone."""
    counts = tally(table)
    entries = {cell: shown(cell_entry(counts, cell), whole) for cell in cells}
    if not whole:
        part = {"cells": entries, "contrasts": {}, "labels": labels({}, [])}
        return part | {"accounts": accounts(part, part)}
    names = [
        name
        for name, contrast in CONTRASTS.items()
        if set(contrast.weights) <= set(cells) and contrast.over_h is None
    ]
    part = against = {"cells": entries, **evidence(table, counts, names, level)}
    if any(cell["missing"] for cell in entries.values()):
        against = {"cells": entries, **evidence(table, counts, names, level, True)}
    return part | {"accounts": accounts(part, against)}


def shown(entry: Mapping[str, Any], whole: bool) -> Mapping[str, Any]:
    """A share's entry; of an unfinished study its counts alone, without an estimate."""
    return (
        entry
        if whole
        else {
            key: value if key in ("k", "n", "missing") else None
            for key, value in entry.items()
        }
    )


def evidence(
    table: Table,
    counts: Mapping,
    names: Sequence[str],
    level: float,
    against: bool = False,
) -> dict[str, Any]:
    """The contrasts and labels that accounts are judged by. `against`: as if every missing decision
    had come out against an exclusion. What can only withhold one (a guard, a difference between
    labels) counts as observed."""
    guards = [name for name in names if name in GUARDS]
    others = [name for name in names if name not in GUARDS]
    under_labels = [name for name in ("HP-LA", "HP-EP") if name in names]
    known = effects(counts, others, level, against=against)
    return {
        "contrasts": known | effects(counts, guards, bulletins_alone=True),
        "labels": labels(table, under_labels, against),
    }


# --- quality of the data -----------------------------------------------------------------------


def outcomes(rows: Sequence[Mapping], cells: Iterable[str]) -> dict[str, Any]:
    """How the trials ended, in all and by cell; how many were answered, and how many read."""
    by = {name: Counter() for name in cells}
    for row in rows:
        by[row["cell"]][row["status"]] += 1
    total = sum(by.values(), Counter())
    k, _, value, low, high = stats.share(total["ok"], len(rows))
    return {
        "status": dict(total),
        "by_cell": {name: dict(by[name]) for name in by},
        "answered": sum(n for status, n in total.items() if status not in UNANSWERED),
        "read": k,
        "read_share": value,
        "read_low": low,
        "read_high": high,
    }


def losses(rows: Sequence[Mapping], config: Mapping) -> list[dict[str, Any]]:
    """Models that lost over a tenth of their decisions, and what may help."""
    ends = Ended()
    for row in rows:
        ends.add(row["model"], row["status"], row["text"])
    return ends.losses(EFFORT if config.get("examples") else EXAMPLES)


def costs(rows: Sequence[Mapping]) -> dict[str, Any]:
    """Dollars of the answers. A sum with an unknown in it is a lower bound, and says so."""
    known = [row["cost_usd"] for row in rows if row["cost_usd"] is not None]
    unknown = sum(
        row["cost_usd"] is None
        for row in rows
        if row["status"] in FINAL_OUTCOMES or row["text"]
    )
    return {
        "usd": math.fsum(known),
        "unknown": unknown,
        "why": f"{unknown} answers came without a cost" if unknown else None,
    }


def share(counts: Iterable) -> dict[str, Any]:
    """Cooperative decisions among the readable ones, with Wilson's interval."""
    k, n, value, low, high = stats.share(*total(counts)[:2])
    return {"k": k, "n": n, "mean": value, "low": low, "high": high}


def position(rows: Sequence[Mapping]) -> dict[str, Any]:
    """How often the option that stands first was taken."""
    taken = [
        y if row["order"] == "cooperative-first" else 1 - y
        for row in rows
        if (y := row["cooperates"]) is not None
    ]
    k, n, value, low, high = stats.share(sum(taken), len(taken))
    return {"k": k, "n": n, "share": value, "low": low, "high": high}


def served_by(rows: Sequence[Mapping]) -> dict[str, list[str]]:
    """Who answered under one model name: more than one is a confound to name."""
    return {
        field: sorted({row[field] for row in rows if row[field]})
        for field in ("served_model", "provider")
    }


# --- the pilot's criteria, as specified --------------------------------------------------------


def exploratory(table: Table, out: Mapping[str, Any]) -> dict[str, Any]:
    """Effect sizes and p-values of the pilot's primary difference, with decisions counted as
    independent trials; the p of sign flips is over bulletins."""
    sides = {
        cell: [
            y
            for slot, (k, n, _) in table.items()
            if slot.cell == cell
            for y in [1] * k + [0] * (n - k)
        ]
        for cell in ("HP", "LA")
    }
    primary = out["2x2"]["pooled"]["contrasts"].get("HP-LA")
    flips = (
        stats.sign_flip_test(list(primary["by_bulletin"].values())) if primary else None
    )
    return {
        "d": stats.cohens_d(sides["HP"], sides["LA"])._asdict(),
        "bootstrap": stats.bootstrap_ci([*sides.values()], "mean_difference")._asdict(),
        "welch": stats.welch_t_test(sides["HP"], sides["LA"])._asdict(),
        "sign_flip_p": flips and flips.p,
    }


def success(out: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The specification's six criteria on point estimates, each with the figure it rests on; those
    on effects where every trial is answered, and at most 10% of a cell unreadable. `established`:
    whether the interval supports it too; None where none is asked for."""
    ended, trials, spent = out["outcomes"], out["design"]["trials"], out["cost"]
    contrasts, d, redealt = (
        out["2x2"]["pooled"]["contrasts"],
        out["exploratory"]["d"],
        out["dealt_again"],
    )
    cross = contrasts.get("SxC", {"value": None, "low": None, "high": None})
    cells = out["2x2"]["pooled"]["cells"].values()
    readable = max(map(missing, cells)) <= MAX_MISSING and cross["value"] is not None
    large = _apart(out) or None if d["value"] is None else d["value"] > MIN_D
    read = ended["read_share"]

    def criterion(
        words: str, met: bool | None, figure: str, established: bool | None = None
    ):
        return {
            "criterion": words,
            "met": met,
            "established": established,
            "figure": figure,
        }

    return [
        criterion(
            f"All {MIN_TRIALS}+ trials complete without errors",
            trials >= MIN_TRIALS and ended["answered"] == trials,
            f"{ended['answered']} of {trials} answered",
        ),
        criterion(
            f"Decisions extracted for > {MIN_READ:.0%} of trials",
            read is not None and read > MIN_READ,
            bracketed(f"{ended['read']} of {trials}", percent(read, 1) if read else ""),
        ),
        criterion(
            f"Effect size > {MIN_D}, symmetry + cue against neither",
            large if readable else None,
            _size(out),
            _practical(out),
        ),
        criterion(
            f"Interaction visible in means (≥ {100 * MIN_INTERACTION:.0f} points)",
            round(cross["value"] - MIN_INTERACTION, DIGITS) >= 0 if readable else None,
            f"{points(cross['value'])}, {span(cross['low'], cross['high'])}",
            certain(cross, MIN_INTERACTION) if contrasts else None,
        ),
        criterion(
            f"Total cost < ${MAX_USD:g}",
            None if spent["unknown"] else spent["usd"] < MAX_USD,
            cost(spent),
        ),
        criterion(
            "Reproducible with seed",
            None if redealt is None else redealt[0] == redealt[1] > 0,
            "not checked"
            if redealt is None
            else f"{redealt[0]} of {redealt[1]} questions dealt again from seed "
            f"{out['design']['seed']}, same by SHA-256",
        ),
    ]


def _apart(out: Mapping) -> bool:
    """Whether the two sides don't overlap: Cohen's d then has no value, and is larger than any."""
    cells = out["2x2"]["pooled"]["cells"]
    return cells["HP"]["mean"] == 1 and cells["LA"]["mean"] == 0


def _practical(out: Mapping) -> bool | None:
    if not out["2x2"]["pooled"]["contrasts"]:
        return None
    low = out["exploratory"]["d"]["low"]
    return _apart(out) or (low is not None and low > MIN_D)


def _size(out: Mapping) -> str:
    d = out["exploratory"]["d"]
    if _apart(out):
        primary = out["2x2"]["pooled"]["contrasts"]["HP-LA"]
        limits = interval(primary["low"], primary["high"], sign=True)
        return f"the two sides don't overlap: δ = {bracketed(signed(primary['value']), limits)}"
    if d["value"] is None:
        return "no effect size"
    return (
        f"d = {bracketed(signed(d['value']), interval(d['low'], d['high'], sign=True))}"
    )


# --- what may be said, and what not --------------------------------------------------------------


def may(out: Mapping[str, Any]) -> Iterator[str]:
    """Positive sentences: none unless an effect is established."""
    name = out["design"]["design"]
    parts = {
        model: part
        for model, part in out[name]["by_model"].items()
        if earning(part["verdict"]["word"])
    }
    for account in ACCOUNTS:
        if models := [
            model
            for model, part in parts.items()
            if part["accounts"][account.name]["excluded"]
        ]:
            yield f"{account.excluded} Shown for {_who(models, out)}."
    pooled = out[name].get("pooled")
    if not pooled or not earning(out["verdict"]["word"]):
        return
    primary, cross = (pooled["contrasts"][key] for key in ("HP-LA", "SxC"))
    if _practical(out):
        yield f"The effect size is of practical interest ({_size(out)})."
    yield f"The results warrant further investigation: the primary difference is {extent(primary)}."
    if certain(cross):
        yield (
            "Preliminary evidence for an interaction pattern: where symmetry is high the cue "
            f"adds {extent(cross)} more."
        )


def _who(models: Sequence[str], out: Mapping[str, Any]) -> str:
    every = len(out["design"]["models"])
    return f"all {every}" if len(models) == every > 2 else ", ".join(models)


def may_not(out: Mapping[str, Any]) -> Iterator[str]:
    """What the data leave unsaid."""
    design, name = out["design"], out["design"]["design"]
    judged = {
        model: part
        for model, part in out[name]["by_model"].items()
        if part["verdict"]["word"] != NOT_EVALUABLE
    }
    models = {
        account: [
            model
            for model, part in judged.items()
            if not part["accounts"][account.name]["excluded"]
        ]
        for account in ACCOUNTS
    }
    yield from unsaid(
        out,
        [
            f"{account.open} Open for {_who(names, out)}."
            for account, names in models.items()
            if names
        ],
    )
    if name == "2x2":
        yield "“Statistically significant”: a pilot is underpowered; its p-values are exploratory."
    if name != "mechanism":
        yield (
            "A word above “cue-responsive”: that needs a mechanism study "
            "(run_pilot.py --design mechanism)."
        )
    yield "A word for all models: what one shows is no evidence on another."
    yield f"Anything beyond {out['verdict']['scope']}, one-shot decisions, {_arm(design)}."


def _arm(design: Mapping[str, Any]) -> str:
    effort = design.get("reasoning_effort") or "default effort"
    first = design.get("reason", "none") == "first"
    shown = (
        f", after {design['examples']} worked examples"
        if design.get("examples")
        else ""
    )
    return (
        f"{'considerations written first' if first else 'decided on the first line'}{shown}, "
        f"{effort}"
    )
