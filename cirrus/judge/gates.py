"""The six credibility gates, each with two verdicts: as specified, and established.

*As specified* is the specification's rule on the point estimate of round 1. *Established* asks
whether the data exclude the alternative, over bulletins and the first encounters of all rounds, and
decides: pass; fail (the rule fails, or the data exclude the claim); undecided (the data would allow
either); not evaluable (data are missing, which is no pass: `next` says what would bring them). All
six must pass, an intersection-union test without correction. An effect of the wrong sign passes
nothing.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import stats
from cirrus.ask.design import ABLATION, REPLICATION
from cirrus.judge.effects import (
    ALPHA,
    CONTRASTS,
    MIN_BULLETINS,
    Slot,
    Slots,
    certain,
    entry,
    found,
    levels_of,
    tally,
    units_of,
    weights_of,
    where,
)
from cirrus.judge.endpoint import effect
from cirrus.judge.rows import Decision
from show.figures import bracketed, count, interval, points, signed
from stats.results import Count

PASS, FAIL, UNDECIDED, NOT_EVALUABLE = "pass", "fail", "undecided", "not evaluable"
MARGIN = 0.02          # largest difference of cooperation between label schemes
EFFECT_MARGIN = 0.10   # largest difference of the effect between them, and between orders
HALF = 0.5             # share of the effect that ablation must leave
MIN_DELTA = 0.2
WITHIN = 1 - 2 * ALPHA           # two one-sided tests at 5%
SLACK = 1e-12                    # what rounding leaves of an equality, as in 0.9 − 0.7 > 0.2
Gate = dict[str, Any]


class Evidence(NamedTuple):
    """`point`: the endpoint as specified; `rows`: primary decisions of round 1 and `tables`: the
    first encounters of all rounds, each by its part of the study."""

    point: Mapping[str, Any]
    rows: Mapping[str, Sequence[Decision]]
    tables: Mapping[str, Slots]

    def effect(self, part: str, level: float = 1 - ALPHA) -> dict[str, Any]:
        """The primary contrast of a part, over its bulletins."""
        return entry(CONTRASTS["primary"].label, found(self.tables.get(part, {}), level=level))


def gates(study: Evidence) -> list[Gate]:
    """The gate board."""
    return [{"gate": name, "title": title, "asks": asks, **judge(study)}
            for name, (title, asks, judge) in GATES.items()]


def _gate(specified: tuple[bool | None, str], established: tuple[str, str],
          plan: str | None = None, **numbers: Any) -> Gate:
    """Each verdict with its figure; `plan`: what would bring the data that are missing."""
    verdict = {True: PASS, False: FAIL, None: NOT_EVALUABLE}[specified[0]]
    return {"as_specified": {"verdict": verdict, "figure": specified[1]},
            "established": dict(zip(("verdict", "figure"), established, strict=True)),
            "next": plan if established[0] == NOT_EVALUABLE else None, "numbers": numbers}


def _established(proven: bool, refuted: bool) -> str:
    return PASS if proven else FAIL if refuted else UNDECIDED


def _exceeds(value: float, least: float = 0.0) -> bool:
    return value > least + SLACK


def _over(own: Mapping[str, Any], level: float = 1 - ALPHA) -> str:
    """ "+21.4 (+3.0 to +40.1) points, 95% over 10 bulletins"."""
    said = bracketed(signed(100 * own["value"], 1),
                     interval(own["low"], own["high"], 1, sign=True, scale=100))
    return f"{said} points, {100 * level:g}% over {count(own['units'], 'bulletin')}"


# --- label invariance --------------------------------------------------------------------------

def labels(study: Evidence) -> Gate:
    """Cooperation differs between schemes by at most 2 points, and the effect between schemes and
    orders by at most 10: 90% intervals inside (two one-sided tests). A difference fails where its
    interval lies wholly outside, at 5% shared over the pairs."""
    read = [row for row in study.rows.get("main", ()) if row.cooperates is not None]
    schemes = sorted({row.label_scheme for row in read})
    if len(schemes) < 2:
        why = "only one label scheme in the data" if schemes else "no decisions"
        return _gate((None, why), (NOT_EVALUABLE, why), "confirmatory")
    rates = {scheme: _rate(row.cooperates for row in read if row.label_scheme == scheme)
             for scheme in schemes}
    largest = max(rates.values()) - min(rates.values())
    table = study.tables.get("main", {})
    pairs, differing = _pairs(table), _effect_pairs(table)
    numbers = {"rates": rates, "largest": largest, "pairs": pairs, "effects": differing}
    return _gate((largest <= MARGIN + SLACK,
                  f"largest difference between schemes {100 * largest:.1f} points"),
                 _label_verdict(pairs, differing), "confirmatory", **numbers)


def _rate(values: Iterable[float]) -> float:
    values = list(values)
    return sum(values) / len(values)


def _pairs(table: Slots) -> dict[str, dict[str, Any]]:
    """Cooperation under one scheme minus that under another, all cells weighing the same."""
    counts = tally(table, lambda slot: (slot.scheme, slot.S, slot.C, slot.H))
    cells = {(slot.scheme, slot.S, slot.C, slot.H) for slot in table}
    out = {}
    for a, b in combinations(levels_of(table, "scheme"), 2):
        both = [cell[1:] for cell in cells if cell[0] == a and (b, *cell[1:]) in cells]
        weights = {(scheme, *cell): sign / len(both) for cell in both
                   for scheme, sign in ((a, 1), (b, -1))}
        out[f"{a}−{b}"] = _compared(counts, weights, 3)
    return out


def _effect_pairs(table: Slots) -> dict[str, dict[str, Any]]:
    """How much the primary contrast differs between schemes, and between orders."""
    out = {}
    for factor, shared in (("scheme", 3), ("order", 1)):
        def at(slot: Slot, factor: str = factor) -> Hashable:
            return getattr(slot, factor), slot.S, slot.C, slot.H
        counts = tally(table, at)
        for a, b in combinations(levels_of(table, factor), 2):
            both = frozenset.intersection(*(
                frozenset((slot.S, slot.C, slot.H) for slot in where(table, **{factor: level}))
                for level in (a, b)))
            weights = {(level, *cell): sign * weight for level, sign in ((a, 1), (b, -1))
                       for cell, weight in weights_of(CONTRASTS["primary"], both).items()}
            out[f"{a}−{b}"] = _compared(counts, weights, shared)
    return out


def _compared(counts: Mapping, weights: Mapping, shared: int) -> dict[str, Any]:
    """A contrast with two intervals: `low`, `high` at 90%; `least`, `most` at 5% shared over
    `shared` pairs."""
    none = {"value": None, "low": None, "high": None, "least": None, "most": None, "units": 0}
    contrast = stats.contrast(counts, weights) if weights else None
    if contrast is None or contrast.value is None:
        return none | {"why": "no bulletin holds both"}
    values = list(contrast.differences.values())
    low, high = reach(contrast.value, values, contrast.cells, weights, WITHIN)
    least, most = reach(contrast.value, values, contrast.cells, weights, 1 - 2 * ALPHA / shared)
    return {"value": contrast.value, "low": low, "high": high, "least": least, "most": most,
            "units": len(values), "why": None}


def reach(value: float, values: Sequence[float], cells: Mapping[Hashable, Count],
          weights: Mapping[Hashable, float], level: float) -> tuple[float, float]:
    """Interval of a weighted sum of shares: what sign flips over bulletins don't exclude, and at
    least what the cells' own intervals allow (Zou & Donner 2008). A cell in which every decision
    is the same has its exact one (Clopper & Pearson 1934), so that a respondent that never varies
    gets an interval of its own width, and passes what it satisfies. Shares that were read have no
    sampling of answers: their interval is that over bulletins."""
    flips = stats.sign_flip_interval(values, level)
    sampled = all(isinstance(cells[cell].k, int) for cell in weights)
    ends = []
    for side, flip in ((-1, flips.low), (1, flips.high)):
        reaches = [side * weight * (_limit(cells[cell], side * weight, level)
                                    - cells[cell].k / cells[cell].n)
                   for cell, weight in weights.items() if sampled]
        if flip is None:   # all alike, or too few to exclude anything
            flip = value if len(set(values)) == 1 else side * sum(map(abs, weights.values())) / 2
        ends.append(side * max(side * flip, side * value + math.hypot(*reaches)))
    return ends[0], ends[1]


def _limit(cell: Count, sign: float, level: float) -> float:
    exact = cell.k in (0, cell.n)
    limits = (stats.clopper_pearson if exact else stats.wilson_interval)(cell.k, cell.n, level)
    return limits.high if sign > 0 else limits.low


def _label_verdict(pairs: Mapping[str, Mapping], differing: Mapping[str, Mapping],
                   ) -> tuple[str, str]:
    bounded = [(name, pair, MARGIN) for name, pair in pairs.items()]
    bounded += [(f"effect {name}", pair, EFFECT_MARGIN) for name, pair in differing.items()]
    if any(pair["value"] is None for _, pair, _ in bounded) or min(
            pair["units"] for _, pair, _ in bounded) < MIN_BULLETINS:
        return NOT_EVALUABLE, f"fewer than {MIN_BULLETINS} bulletins hold every scheme and order"
    beyond = [one for one in bounded if one[1]["least"] > one[2] or one[1]["most"] < -one[2]]
    open_ = [one for one in bounded if one[1]["low"] <= -one[2] or one[1]["high"] >= one[2]]
    name, pair, margin = max(beyond or open_ or bounded, key=lambda one: max(
        abs(one[1]["low"]), abs(one[1]["high"])) / one[2])
    said = f"{name}: {_over(pair, WITHIN)}; must lie inside ±{100 * margin:g}"
    return (FAIL if beyond else UNDECIDED if open_ else PASS), said


# --- effects -----------------------------------------------------------------------------------

def _missing(why: str, plan: str, **numbers: Any) -> Gate:
    return _gate((None, why), (NOT_EVALUABLE, why), plan, **numbers)


def _too_few(own: Mapping[str, Any]) -> str | None:
    """Why a contrast can't be judged over bulletins."""
    if own["value"] is None:
        return own["why"]
    if own["units"] < MIN_BULLETINS:
        return f"{count(own['units'], 'bulletin')} only, {MIN_BULLETINS} are needed"
    return None


def _absent(again: Iterable[Mapping[str, Any]], no_runs: str) -> str:
    """Why round 1 of a part has no effect."""
    return no_runs or next((one["why"] for one in again if one["value"] is None), "")


def _lack(usual: Mapping[str, Any], own: Iterable[Mapping[str, Any]], plan: str,
          ) -> tuple[str, str] | None:
    """(why, the plan that would bring it): too few bulletins of the main runs, or of a part's."""
    judged = [(usual, "confirmatory"), *((one, plan) for one in own)]
    return next(((why, brings) for one, brings in judged if (why := _too_few(one))), None)


def first_encounter(study: Evidence) -> Gate:
    """The endpoint's estimate is positive; the effect is established over bulletins, with missing
    decisions counted against it."""
    value, own = study.point["design"]["value"], study.effect("main")
    specified = (None, study.point["design"]["why"]) if value is None else (
        _exceeds(value), points(value))
    if why := _too_few(own):
        return _gate(specified, (NOT_EVALUABLE, why), "confirmatory", effect=own)
    return _gate(specified, (_established(certain(own), not _exceeds(own["value"])), _over(own)),
                 effect=own)


def cross_domain(study: Evidence) -> Gate:
    """A positive effect in hospital too; its 95% interval over hospital's own bulletins."""
    return _replication(study, REPLICATION, f"no {REPLICATION} runs", "confirmatory", 1 - ALPHA)


def holdout(study: Evidence) -> Gate:
    """A positive effect on bulletins that no main run has; one-sided p < .05 there."""
    rows, usual = (study.tables.get(part, {}) for part in ("holdout", "main"))
    if both := units_of(rows) & units_of(usual):
        return _missing(f"{count(len(both), 'bulletin')} of the held-out runs "
                        "are those of main runs", "holdout")
    return _replication(study, "holdout", "no runs on held-out bulletins", "holdout", WITHIN)


def _replication(study: Evidence, part: str, absent: str, plan: str, level: float) -> Gate:
    main, rows = study.point["design"]["value"], study.rows.get(part, ())
    again, own, usual = effect(rows), study.effect(part, level), study.effect("main")
    if why := _absent([again], absent if not rows else ""):
        return _missing(why, plan, effect=own)
    if main is None:
        return _missing("no primary effect", "confirmatory", effect=own)
    specified = (_exceeds(main) and _exceeds(again["value"]),
                 f"{points(again['value'])} against {points(main)}")
    if lack := _lack(usual, [own], plan):
        return _gate(specified, (NOT_EVALUABLE, lack[0]), lack[1], effect=own)
    proven = certain(own) and _exceeds(usual["value"])
    return _gate(specified, (_established(proven, not _exceeds(own["value"])), _over(own, level)),
                 effect=own)


def ablation(study: Evidence) -> Gate:
    """In other words, and again without the tells, half the effect is left; its 95% interval
    excludes 0 in both arms."""
    main, usual = study.point["design"]["value"], study.effect("main")
    own = {arm: study.effect(arm) for arm in ABLATION}
    again = [effect(study.rows.get(arm, ())) for arm in ABLATION]
    absent = [title for arm, title in ABLATION.items() if not study.rows.get(arm)]
    if why := _absent(again, f"no runs {' nor '.join(absent)}" if absent else ""):
        return _missing(why, "ablation", effects=own)
    if main is None:
        return _missing("no primary effect", "confirmatory", effects=own)
    specified = (_exceeds(main) and min(one["value"] for one in again) >= HALF * main - SLACK,
                 f"{'; '.join(points(one['value']) for one in again)} against {points(main)}")
    if lack := _lack(usual, own.values(), "ablation"):
        return _gate(specified, (NOT_EVALUABLE, lack[0]), lack[1], effects=own)
    least = HALF * usual["value"] - SLACK
    halved = _exceeds(usual["value"]) and all(one["value"] >= least for one in own.values())
    proven = halved and all(map(certain, own.values()))
    said = "; ".join(f"{ABLATION[arm]} {_over(one)}" for arm, one in own.items())
    return _gate(specified, (_established(proven, not halved), f"{said}; must exclude 0"),
                 effects=own)


def size(study: Evidence) -> Gate:
    """Cliff's δ above 0.2, and the lower limit of its interval over bulletins: of 0/1 data δ is
    the primary contrast itself."""
    delta, own = study.point["delta"], study.effect("main")
    specified = (None, delta["why"]) if delta["value"] is None else (
        _exceeds(delta["value"], MIN_DELTA), f"δ = {signed(delta['value'])}")
    if why := _too_few(own):
        return _gate(specified, (NOT_EVALUABLE, why), "confirmatory", effect=own)
    said = (f"δ = {bracketed(signed(own['value']), interval(own['low'], own['high'], sign=True))} "
            f"over {count(own['units'], 'bulletin')}; lower limit must pass {MIN_DELTA}")
    refuted = not _exceeds(own["value"], MIN_DELTA)
    return _gate(specified, (_established(certain(own, MIN_DELTA), refuted), said), effect=own)


GATES: dict[str, tuple[str, str, Callable[[Evidence], Gate]]] = {
    "labels": ("Label invariance", "Is it the act that is chosen, and not the word or letter?",
               labels),
    "first_encounter": ("First encounter", "Is there an effect before any history?",
                        first_encounter),
    "cross_domain": ("Cross-domain", "Does it hold in the hospital scenario?", cross_domain),
    "ablation": ("Prompt-tell ablation", "Does it survive other words, and no mention of AI?",
                 ablation),
    "holdout": ("Holdout", "Does it hold on bulletins that nobody tuned on?", holdout),
    "effect_size": ("Effect size", "Is it large enough to matter?", size),
}
