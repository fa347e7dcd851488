"""What a pilot's rows show: cells, effects with intervals, interaction, missing data, claims.

Every contrast is taken inside a unit: a bulletin, which is what was drawn, averaged over its runs
and, pooled, over models. Up to ten runs each has a bulletin of its own; beyond, runs that share
one share what is particular to it, and are no units of their own. Models are a fixed set.
p-values stand under `exploratory`: a pilot reports effect sizes and intervals.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import stats
from cirrus.ask.pilot import CELLS
from cirrus.judge.verdict import HA, HP, LA, LP, NAMES, pilot_claims, success
from common.wire import FINAL_OUTCOMES
from stats.distributions import critical

# name → (label, cells added, cells subtracted): each side is averaged over its cells.
CONTRASTS = {
    "primary": ("S high with C present − S low with C absent", (HP,), (LA,)),
    "S": ("symmetry: S high − S low", (HP, HA), (LP, LA)),
    "C": ("coupling cue: C present − C absent", (HP, LP), (HA, LA)),
    "S_at_C_present": ("symmetry where the cue is present", (HP,), (LP,)),
    "S_at_C_absent": ("symmetry where the cue is absent", (HA,), (LA,)),
    "C_at_S_high": ("coupling cue where symmetry is high", (HP,), (HA,)),
    "C_at_S_low": ("coupling cue where symmetry is low", (LP,), (LA,)),
}
Block = dict[tuple[str, str], int]


def cooperates(row: Mapping) -> int | None:
    """1, 0, or None where there is no readable decision."""
    return row["cooperates"]


def analyse(rows: Sequence[Mapping], study: Mapping, redealt: tuple[int, int] | None) -> dict:
    """The whole of pilot-analysis.json.

    `study`: the run's identity (config, prompts). `redealt`: of the answered questions, how many
    the seed deals again (same, all); None where that was not checked.
    """
    config = study["config"]
    models = {name: [row for row in rows if row["model"] == name] for name in config["models"]}
    overall = pooled(models)
    cost = costs(rows)
    out = {
        "artifact": "pilot-analysis", "simulated": study["provider"] == "simulated",
        "stamp": "SIMULATED" if study["provider"] == "simulated" else None,
        "design": {**config, "trials": len(rows), "bulletins": len({r["bulletin"] for r in rows}),
                   "variants": len({r["variant"] for r in rows})},
        "outcomes": _outcomes(rows), "cost": cost,
        "models": {name: _model(own) for name, own in models.items()},
        "pooled": overall, "missing": _missing(rows, models),
        "labels": _labels(rows), "position": _position(rows),
        "served": {name: _served(own) for name, own in models.items()},
    }
    out["success"] = success(out, redealt)
    out["claims"] = pilot_claims(out)
    return out


# --- cells -------------------------------------------------------------------------------------

def _values(rows: Sequence[Mapping], cell: tuple[str, str]) -> list[int]:
    return [y for row in rows if (row["S"], row["C"]) == cell
            and (y := cooperates(row)) is not None]


def _cell(rows: Sequence[Mapping], cell: tuple[str, str]) -> dict[str, Any]:
    """k of n readable decisions, mean, SE and Wilson interval of one cell."""
    values = _values(rows, cell)
    n, k = len(values), sum(values)
    asked = sum((row["S"], row["C"]) == cell for row in rows)
    if not n:
        return {"k": 0, "n": 0, "missing": asked, "mean": None, "se": None, "low": None,
                "high": None, "interval": "wilson", "why": "no readable decision"}
    spread = 0 < k < n
    interval = stats.wilson_interval(k, n)
    return {"k": k, "n": n, "missing": asked - n, "mean": k / n,
            "se": math.sqrt(k * (n - k) / n / n / (n - 1)) if spread else None,
            "low": interval.low, "high": interval.high, "interval": "wilson",
            "why": None if spread else "every decision is the same: no standard error"}


def _blocks(rows: Sequence[Mapping]) -> dict[tuple[str, int], Block]:
    """{(model, run): {cell: 0 or 1}} of the readable decisions."""
    blocks: dict[tuple[str, int], Block] = {}
    for row in rows:
        y = cooperates(row)
        if y is not None:
            blocks.setdefault((row["model"], row["run"]), {})[row["S"], row["C"]] = y
    return blocks


def _by_bulletin(rows: Sequence[Mapping]) -> list[list[Block]]:
    """The blocks of each bulletin, over its runs and all models, in order of first runs."""
    bulletin = {row["run"]: row["bulletin"] for row in rows}
    units: dict[str, list[Block]] = {}
    for (_, run), block in sorted(_blocks(rows).items(), key=lambda item: item[0][1]):
        units.setdefault(bulletin[run], []).append(block)
    return list(units.values())


def _unit_values(units: Sequence[Sequence[Block]], contrast: Callable) -> list[float]:
    """The contrast of each unit: the mean over its blocks that hold the cells it needs."""
    each = ([v for block in unit if (v := contrast(block)) is not None] for unit in units)
    return [math.fsum(values) / len(values) for values in each if values]


def _side(block: Block, cells: Sequence) -> float | None:
    if any(cell not in block for cell in cells):
        return None
    return math.fsum(block[cell] for cell in cells) / len(cells)


def _difference(block: Block, plus: Sequence, minus: Sequence) -> float | None:
    a, b = _side(block, plus), _side(block, minus)
    return None if a is None or b is None else a - b


def _interaction(block: Block) -> float | None:
    a, b = _difference(block, (HP,), (HA,)), _difference(block, (LP,), (LA,))
    return None if a is None or b is None else a - b


# --- effects -----------------------------------------------------------------------------------

def _over_units(values: Sequence[float]) -> dict[str, Any]:
    """Mean of one contrast a unit, t interval, and the bootstrap interval over units."""
    if len(values) < 2:
        return {"value": values[0] if values else None, "low": None, "high": None,
                "se": None, "units": len(values), "bootstrap": None,
                "why": "fewer than two complete units"}
    t = stats.t_interval(values)
    boot = stats.bootstrap_ci((values,), "mean", rng=0)
    return {"value": t.difference, "low": t.low, "high": t.high, "se": boot.se,
            "units": len(values), "bootstrap": boot.asdict(), "why": t.why}


def _sizes(x: Sequence[int], y: Sequence[int]) -> dict[str, Any]:
    """Effect sizes of two groups of 0/1 values, counted as independent trials."""
    if not x or not y:
        return {"score": None, "d": None, "g": None, "h": None, "delta": None,
                "why": "a side without readable decisions"}
    return {
        "score": stats.score_difference(sum(x), len(x), sum(y), len(y)).asdict(),
        "d": stats.cohens_d(x, y).asdict(), "g": stats.hedges_g(x, y).asdict(),
        "h": _h(sum(x) / len(x), sum(y) / len(y), len(x), len(y)),
        "delta": stats.cliffs_delta(x, y).asdict(), "why": None}


def _h(p: float, q: float, m: int, n: int) -> dict[str, Any]:
    """Cohen's h with its interval: an arcsine-transformed proportion has variance 1/n."""
    value = stats.cohens_h(p, q)
    reach = critical(0.95) * math.sqrt(1 / m + 1 / n)
    return {"value": value, "low": value - reach, "high": value + reach, "why": None}


def _p_values(values: Sequence[float]) -> dict[str, Any] | None:
    if len(values) < 2:
        return None
    return {"sign_flip": stats.sign_flip_test(values).asdict(),
            "t": {"p": (t := stats.t_interval(values)).p, "df": t.df, "why": t.why}}


def _effects(rows: Sequence[Mapping], units: Sequence[Sequence[Block]]) -> tuple[dict, dict]:
    """(effects, p-values) of every contrast, over matched units."""
    effects, exploratory = {}, {}
    for name, (label, plus, minus) in CONTRASTS.items():
        values = _unit_values(units, lambda block, p=plus, m=minus: _difference(block, p, m))
        x = [y for cell in plus for y in _values(rows, cell)]
        y = [y for cell in minus for y in _values(rows, cell)]
        effects[name] = {"label": label, **_over_units(values), "sizes": _sizes(x, y)}
        exploratory[name] = {"units": _p_values(values)}
        if x and y and len(x) > 1 and len(y) > 1:
            exploratory[name]["welch"] = stats.welch_t_test(x, y).asdict()
    return effects, exploratory


def _within_blocks(rows: Sequence[Mapping]) -> dict[str, Any] | None:
    """The primary difference, exact over all re-assignments of the two cells within blocks."""
    blocks = [block for block in _blocks(rows).values() if HP in block and LA in block]
    if not blocks:
        return None
    strata = list(range(len(blocks)))
    return stats.permutation_test([block[HP] for block in blocks], [block[LA] for block in blocks],
                                  strata=(strata, strata)).asdict()


def _contrast_of_cells(rows: Sequence[Mapping]) -> dict[str, Any] | None:
    """The interaction from four cells as if trials were independent (Welch–Satterthwaite)."""
    cells = {(int(s == "high"), int(c == "present")): _values(rows, (s, c)) for s, c in CELLS}
    if any(len(values) < 2 for values in cells.values()):
        return None
    return stats.interaction_contrast(cells).asdict()


def _summary(rows: Sequence[Mapping], cells: dict,
             units: Sequence[Sequence[Block]]) -> dict[str, Any]:
    effects, exploratory = _effects(rows, units)
    values = _unit_values(units, _interaction)
    exploratory["interaction"] = {"units": _p_values(values)}
    exploratory["primary"]["within_blocks"] = _within_blocks(rows)
    unmatched = _contrast_of_cells(rows)
    if unmatched:
        exploratory["interaction"]["cells"] = {k: unmatched.pop(k) for k in ("df", "p")}
    return {"cells": cells, "effects": effects, "exploratory": exploratory,
            "interaction": {"label": "S×C: (present − absent at S high) − (… at S low)",
                            **_over_units(values), "cells": unmatched}}


def _model(rows: Sequence[Mapping]) -> dict[str, Any]:
    out = _summary(rows, {NAMES[cell]: _cell(rows, cell) for cell in CELLS},
                   _by_bulletin(rows))
    first, last = _values(rows, HP), _values(rows, LA)
    if first and last:
        out["exploratory"]["primary"]["fisher_p"] = stats.fisher_exact(
            sum(first), len(first), sum(last), len(last))
    return out


def pooled(models: Mapping[str, Sequence[Mapping]]) -> dict[str, Any]:
    """Models as strata of equal weight; the unit is the bulletin."""
    rows = [row for own in models.values() for row in own]
    units = _by_bulletin(rows)
    cells = {NAMES[cell]: _pooled_cell(models, cell, units) for cell in CELLS}
    return _summary(rows, cells, units)


def _pooled_cell(models, cell, units: Sequence[Sequence[Block]]) -> dict[str, Any]:
    """Mean of the models' means; interval over bulletins, which trials share."""
    out = _cell([row for rows in models.values() for row in rows], cell)
    means = [sum(v) / len(v) for rows in models.values() if (v := _values(rows, cell))]
    if not means:
        return out
    out["mean"] = math.fsum(means) / len(means)
    values = _unit_values(units, lambda block: _side(block, (cell,)))
    boot = stats.bootstrap_ci((values,), "mean", rng=0) if len(values) > 1 else None
    if boot is not None and boot.low is not None:
        out |= {"se": boot.se, "low": boot.low, "high": boot.high,
                "interval": "bootstrap over bulletins", "why": None}
    return out


def _served(rows: Sequence[Mapping]) -> dict[str, list[str]]:
    """Who answered under one model name: more than one is a confound to name."""
    return {field: sorted({row[field] for row in rows if row[field]})
            for field in ("served_model", "provider")}


# --- quality of the data -----------------------------------------------------------------------

def _outcomes(rows: Sequence[Mapping]) -> dict[str, Any]:
    by = {name: {} for name in NAMES.values()}
    total: dict[str, int] = {}
    for row in rows:
        cell = by[NAMES[row["S"], row["C"]]]
        cell[row["status"]] = cell.get(row["status"], 0) + 1
        total[row["status"]] = total.get(row["status"], 0) + 1
    answered = sum(n for s, n in total.items() if s not in ("provider_error", "not_run"))
    read = total.get("ok", 0)
    share = stats.wilson_interval(read, len(rows)) if rows else None
    return {"status": total, "by_cell": by, "answered": answered, "read": read,
            "read_share": read / len(rows) if rows else None,
            "read_low": share.low if share else None, "read_high": share.high if share else None}


def costs(rows: Sequence[Mapping]) -> dict[str, Any]:
    """Dollars of the answers. A sum with an unknown in it is a lower bound, and says so."""
    known = [row["cost_usd"] for row in rows if row["cost_usd"] is not None]
    unknown = sum(row["cost_usd"] is None for row in rows
                  if row["status"] in FINAL_OUTCOMES or row["text"])
    return {"usd": math.fsum(known), "unknown": unknown,
            "why": f"{unknown} answers came without a cost" if unknown else None}


def _missing(rows: Sequence[Mapping], models: Mapping) -> dict[str, Any]:
    """The primary difference with every missing decision filled in, each way and at worst."""
    ways: dict[str, Callable[[tuple], int]] = {
        "all_cooperative": lambda cell: 1, "none_cooperative": lambda cell: 0,
        "lowest": lambda cell: int(cell == LA), "highest": lambda cell: int(cell == HP)}
    by_cell = {NAMES[cell]: sum((r["S"], r["C"]) == cell and cooperates(r) is None for r in rows)
               for cell in CELLS}

    def primary(fill: Callable) -> float | None:
        each = []
        for own in models.values():
            sides = []
            for cell in (HP, LA):
                values = [fill(cell) if (y := cooperates(r)) is None else y
                          for r in own if (r["S"], r["C"]) == cell]
                if not values:
                    return None
                sides.append(sum(values) / len(values))
            each.append(sides[0] - sides[1])
        return math.fsum(each) / len(each)

    return {"by_cell": by_cell, "primary": {name: primary(fill) for name, fill in ways.items()}}


def _labels(rows: Sequence[Mapping]) -> dict[str, Any]:
    """Cooperation by label scheme: a word, a letter or a place may be what is liked."""
    out = {}
    for scheme in sorted({row["label_scheme"] for row in rows}):
        values = [y for row in rows if row["label_scheme"] == scheme
                  and (y := cooperates(row)) is not None]
        interval = stats.wilson_interval(sum(values), len(values)) if values else None
        out[scheme] = {"k": sum(values), "n": len(values),
                       "mean": sum(values) / len(values) if values else None,
                       "low": interval.low if interval else None,
                       "high": interval.high if interval else None}
    means = [entry["mean"] for entry in out.values() if entry["mean"] is not None]
    return {"schemes": out, "largest_difference": max(means) - min(means) if means else None}


def _position(rows: Sequence[Mapping]) -> dict[str, Any]:
    """How often the option that stands first was taken."""
    taken = [(y == 1) == (row["order"] == "cooperative-first") for row in rows
             if (y := cooperates(row)) is not None]
    if not taken:
        return {"k": 0, "n": 0, "share": None, "low": None, "high": None, "exploratory": None}
    interval = stats.wilson_interval(sum(taken), len(taken))
    return {"k": sum(taken), "n": len(taken), "share": sum(taken) / len(taken),
            "low": interval.low, "high": interval.high,
            "exploratory": {"binomial_p": stats.binomial_test(sum(taken), len(taken))}}
