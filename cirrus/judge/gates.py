"""The six credibility gates, each with two verdicts: as specified, and established.

*As specified* is the specification's rule on the point estimate. *Established* asks whether the
data exclude the alternative, and decides: pass; fail (the rule itself fails, or the data exclude
the claim); undecided (the rule holds, the data would allow the opposite); not evaluable (data are
missing, which is no pass). All six must pass, an intersection-union test without correction.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from cirrus.ask.design import PARTS, REPLICATION
from cirrus.judge.endpoint import ALPHA, effect, over_units, shown
from cirrus.judge.rows import Decision
from show.figures import bracket, count, p_is, points
from show.figures import signed as number
from stats.distributions import normal_quantile

PASS, FAIL, UNDECIDED, NOT_EVALUABLE = "pass", "fail", "undecided", "not evaluable"
MARGIN = 0.02     # largest difference between label schemes
HALF = 0.5        # share of the effect that ablation must leave
MIN_DELTA = 0.2
POWER = 0.8       # of the number of units that would decide about labels
Gate = dict[str, Any]


def gates(endpoint: Mapping[str, Any], rows: Mapping[str, Sequence[Decision]]) -> list[Gate]:
    """The gate board. `rows`: primary data by their part; one that was not run is empty or
    absent."""
    parts = {name: list(rows.get(name, ())) for name in PARTS}
    board = []
    for name, (title, asks, judge) in GATES.items():
        found = judge(endpoint, parts)
        board.append({"gate": name, "title": title, "asks": asks, **found})
    return board


def all_pass(board: Sequence[Gate]) -> bool:
    return all(gate["established"]["verdict"] == PASS for gate in board)


def _gate(specified: bool | None, established: str, said: str, says: str,
          **numbers: Any) -> Gate:
    """`said`: the figure of the rule; `says`: what the second verdict rests on."""
    verdict = {True: PASS, False: FAIL, None: NOT_EVALUABLE}[specified]
    return {"as_specified": {"verdict": verdict, "figure": said},
            "established": {"verdict": established, "figure": says}, "numbers": numbers}


def _not_evaluable(why: str, **numbers: Any) -> Gate:
    return _gate(None, NOT_EVALUABLE, why, why, **numbers)


def _established(specified: bool, proven: bool) -> str:
    return FAIL if not specified else PASS if proven else UNDECIDED


# --- label invariance --------------------------------------------------------------------------

def labels(endpoint: Mapping, parts: Mapping[str, Sequence[Decision]]) -> Gate:
    """Differences between label schemes, inside units; 90% intervals inside ±2 points."""
    rows = [row for row in parts["main"] if row.cooperates is not None]
    schemes = sorted({row.label_scheme for row in rows})
    if len(schemes) < 2:
        return _not_evaluable("only one label scheme in the data" if schemes else "no decisions")
    pairs = {f"{a}−{b}": over_units(_scheme_differences(rows, a, b), level=0.90)
             for a, b in combinations(schemes, 2)}
    rates = {s: _rate(row.cooperates for row in rows if row.label_scheme == s) for s in schemes}
    largest = max(rates.values()) - min(rates.values())
    # Whole counts of decisions, so that a difference of exactly 2 points is one.
    specified = largest <= MARGIN + 1e-12
    said = f"largest difference between schemes {100 * largest:.1f} points"
    numbers = {"rates": rates, "pairs": pairs, "largest": largest,
               "units_needed": _units_needed(pairs.values())}
    if any(pair["low"] is None for pair in pairs.values()):
        why = next(pair["why"] for pair in pairs.values() if pair["low"] is None)
        return _gate(specified, NOT_EVALUABLE, said, f"no interval: {why}", **numbers)
    return _gate(specified, _within(pairs.values()), said, _label_figure(pairs, numbers),
                 **numbers)


def _scheme_differences(rows: Sequence[Decision], a: str, b: str) -> dict[Any, float]:
    held: dict[Any, dict[str, list[int]]] = {}
    for row in rows:
        held.setdefault(row.unit, {}).setdefault(row.label_scheme, []).append(row.cooperates)
    return {unit: _rate(held[unit][a]) - _rate(held[unit][b]) for unit in sorted(held)
            if a in held[unit] and b in held[unit]}


def _rate(values: Iterable[int]) -> float:
    values = list(values)
    return sum(values) / len(values)


def _within(pairs: Iterable[Mapping]) -> str:
    pairs = list(pairs)
    if all(pair["low"] > -MARGIN and pair["high"] < MARGIN for pair in pairs):
        return PASS
    beyond = any(pair["low"] > MARGIN or pair["high"] < -MARGIN for pair in pairs)
    return FAIL if beyond else UNDECIDED


def _units_needed(pairs: Iterable[Mapping]) -> int | None:
    """Units at which equal schemes would pass with 80% power: two one-sided tests at 5%, normal
    approximation (Julious 2004), from the most variable pair."""
    spread = max((pair["sd"] for pair in pairs if pair["sd"]), default=None)
    if spread is None:
        return None
    z = normal_quantile(1 - ALPHA) + normal_quantile((1 + POWER) / 2)
    return math.ceil((z * spread / MARGIN) ** 2)


def _label_figure(pairs: Mapping[str, Mapping], numbers: Mapping) -> str:
    widest = max(pairs, key=lambda name: max(abs(pairs[name]["low"]), abs(pairs[name]["high"])))
    said = (f"{widest}: {bracket(pairs[widest], 100, 1)} points, 90% over "
            f"{count(pairs[widest]['units'], 'unit')}; must lie inside ±{100 * MARGIN:g}")
    if _within(pairs.values()) == UNDECIDED and numbers["units_needed"]:
        said += f"; about {numbers['units_needed']} units would decide"
    return said


# --- effects -----------------------------------------------------------------------------------

def first_encounter(endpoint: Mapping, parts: Mapping) -> Gate:
    """The primary endpoint's estimate is positive; the endpoint is met."""
    design = endpoint["design"]
    if design["value"] is None:
        return _not_evaluable(design["why"])
    low = effect([row for row in parts["main"] if row.H == "low"])
    says = f"{points(design['value'])}, {p_is(design['p'])} over units"
    by_model = endpoint["model"]["with_policy"]["primary"]
    says += f", {p_is(by_model['p'])} by model" if by_model else "; no model-based test"
    specified = design["value"] > 0
    established = NOT_EVALUABLE if endpoint["met"] is None and specified else _established(
        specified, bool(endpoint["met"]))
    return _gate(specified, established, points(design["value"]), says, at_h_low=low)


def cross_domain(endpoint: Mapping, parts: Mapping) -> Gate:
    """Same sign in hospital; p < .05 there."""
    return _replication(endpoint, parts[REPLICATION], f"{REPLICATION} runs",
                        lambda own, sign: shown(own, sign), "two-sided")


def holdout(endpoint: Mapping, parts: Mapping) -> Gate:
    """Same sign on held-out variants; p < .05 there, one-sided."""
    # The sign-flip distribution is symmetric: half the two-sided p is the one-sided one.
    return _replication(endpoint, parts["holdout"], "runs on held-out variants",
                        lambda own, sign: shown(own, sign, 2 * ALPHA), "one-sided")


def _replication(endpoint: Mapping, rows: Sequence[Decision], what: str,
                 proves: Callable[[Mapping, float], bool], sided: str) -> Gate:
    main, own = endpoint["design"]["value"], effect(rows)
    if main is None or own["value"] is None:
        return _not_evaluable(f"no {what}" if not rows else own["why"] or "no primary effect",
                              effect=own)
    sign = math.copysign(1, main) if main else 0
    specified = sign * own["value"] > 0
    p = own["p"] if own["p"] is None or sided == "two-sided" else own["p"] / 2
    established = NOT_EVALUABLE if p is None else _established(specified, proves(own, sign))
    says = (f"{p_is(p)} {sided}, {bracket(own, 100, 1)} points over "
            f"{count(own['units'], 'unit')}")
    if p is None:
        says = f"no test: {own['why']}"
    return _gate(specified, established, f"{points(own['value'])} against {points(main)}", says,
                 effect=own, p=p)


def ablation(endpoint: Mapping, parts: Mapping) -> Gate:
    """Half the effect is left without the tells; its interval excludes 0."""
    rows, main = parts["ablation"], endpoint["design"]["value"]
    own = effect(rows)
    if main is None or own["value"] is None:
        return _not_evaluable("no runs with ablated tells" if not rows else
                              own["why"] or "no primary effect", effect=own)
    sign = math.copysign(1, main) if main else 0
    specified = sign * own["value"] > 0 and abs(own["value"]) >= HALF * abs(main)
    said = f"{points(own['value'])} against {points(main)}"
    if own["low"] is None:
        return _gate(specified, NOT_EVALUABLE, said, f"no interval: {own['why']}", effect=own)
    proven = own["low"] > 0 if sign > 0 else own["high"] < 0
    return _gate(specified, _established(specified, proven), said,
                 f"{bracket(own, 100, 1)} points over {count(own['units'], 'unit')}; must exclude "
                 "0", effect=own)


def size(endpoint: Mapping, parts: Mapping) -> Gate:
    """Cliff's δ above 0.2; its lower 95% bound above it."""
    delta = endpoint["delta"]
    if delta["value"] is None:
        return _not_evaluable(delta["why"])
    specified = delta["value"] > MIN_DELTA
    said = f"δ = {number(delta['value'])}"
    if delta["low"] is None:
        return _gate(specified, NOT_EVALUABLE, said, f"no interval: {delta['why']}")
    return _gate(specified, _established(specified, delta["low"] > MIN_DELTA), said,
                 f"δ = {bracket(delta)}, over {count(delta['units'], 'unit')}; lower bound must "
                 f"pass {MIN_DELTA}")


GATES: dict[str, tuple[str, str, Callable[[Mapping, Mapping], Gate]]] = {
    "labels": ("Label invariance", "Is it the act that is chosen, and not the word or letter?",
               labels),
    "first_encounter": ("First encounter", "Is there an effect before any history?",
                        first_encounter),
    "cross_domain": ("Cross-domain", "Does it hold in the hospital scenario?", cross_domain),
    "ablation": ("Prompt-tell ablation", "Does it survive other words and no mention of AI?",
                 ablation),
    "holdout": ("Holdout", "Does it hold on variants that nobody tuned on?", holdout),
    "effect_size": ("Effect size", "Is it large enough to matter?", size),
}

