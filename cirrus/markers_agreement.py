"""May a marker enter a claim? Weak labels against raters, raters against each other.

A family is adjudicated where two different raters or more have rated its policies blind, and the
lower 95% bound of Gwet's AC1 reaches 0.75 in every pair: each rater with the weak label, each
rater with each other. AC1 alone flatters a marker that hardly occurs, since all agree on its
absence: a pair must agree on a few that are present, and positive agreement stands beside it.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import stats
from cirrus.codebook import FAMILIES
from cirrus.ratings import Labels, Rater

BAR = 0.75
WEAK = "weak label"
MIN_RATED = 20     # items that both of a pair have labelled
MIN_PRESENT = 5    # of these, called present by both


def pair(a: str, b: str, rows: Sequence[tuple[bool, bool]]) -> dict[str, Any]:
    """Agreement of two on the items that both labelled; `why` where it can't decide."""
    either, both = sum(x or y for x, y in rows), sum(x and y for x, y in rows)
    ac1 = stats.gwet_ac1(rows, labels=(True, False))
    reached, why = None, None
    if len(rows) < MIN_RATED:
        why = f"{len(rows)} policies labelled by both; {MIN_RATED} are needed"
    elif any(edge is not None and edge < BAR for edge in (ac1.low, ac1.value)):
        reached = False
    elif both < MIN_PRESENT:
        why = f"{both} called present by both; {MIN_PRESENT} are needed"
    elif ac1.low is None:
        why = ac1.why
    else:
        reached = True
    return {"a": a, "b": b, "n": len(rows), "either": either, "both": both,
            "ac1": ac1.asdict(), "positive": stats.positive_agreement(rows).asdict(),
            "reached": reached, "why": why}


def pairs_of(family: str, weak: Mapping[str, Labels], raters: Sequence[Rater]) -> list[dict]:
    """Every pair of raters, and each with the weak labels. `weak`: {item: labels}."""
    columns = [(WEAK, weak), *((rater.name, rater.labels) for rater in raters)]
    return [pair(a, b, [(x[item][family], y[item][family]) for item in weak
                        if item in x and item in y
                        and None not in (x[item][family], y[item][family])])
            for (a, x), (b, y) in combinations(columns, 2)]


def obstacle(raters: Sequence[Rater], simulated: bool) -> str | None:
    """Why these raters can't adjudicate anything, None where they can."""
    if not raters:
        return "nobody has rated the policies"
    if len(raters) == 1:
        return f"{raters[0].name} is the only rater; two different ones are needed"
    if any(rater.simulated for rater in raters) and not simulated:
        return "simulated raters say nothing about policies of models"
    unfinished = [rater.name for rater in raters if not rater.done]
    if unfinished:
        return f"the adjudication by {' and '.join(unfinished)} is unfinished"
    for a, b in combinations(raters, 2):
        if a.kind == b.kind == "model" and set(a.served) & set(b.served):
            one = min(set(a.served) & set(b.served))
            return f"{a.name} and {b.name} were both served by {one}: one rater, not two"
    return None


def agreement(weak: Mapping[str, Labels], raters: Sequence[Rater],
              simulated: bool) -> dict[str, dict[str, Any]]:
    """{family: its pairs, whether it is adjudicated, and why not}."""
    stopped, out = obstacle(raters, simulated), {}
    for family in FAMILIES:
        found = pairs_of(family, weak, raters)
        verdict, why = _verdict(found, stopped)
        lows = [one["ac1"]["low"] for one in found if one["ac1"]["low"] is not None]
        out[family] = {"adjudicated": verdict, "why": why,
                       "lowest": min(lows) if verdict is not None else None, "pairs": found}
    return out


def _low(one: Mapping[str, Any]) -> float:
    """The lower bound, the value itself where there is no bound."""
    return one["ac1"]["value"] if one["ac1"]["low"] is None else one["ac1"]["low"]


def _verdict(found: Sequence[Mapping], stopped: str | None) -> tuple[bool | None, str | None]:
    if stopped:
        return None, stopped
    short = [one for one in found if one["reached"] is False]
    if short:
        lowest, worst = min(((_low(one), one) for one in short), key=lambda both: both[0])
        return False, (f"AC1 of {worst['a']} and {worst['b']} may be as low as {lowest:.2f}; "
                       f"{BAR} is needed")
    unknown = next((one for one in found if one["reached"] is None), None)
    if unknown:
        return None, f"{unknown['a']} and {unknown['b']}: {unknown['why']}"
    return True, None
