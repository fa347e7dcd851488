"""Computes what the lever study, the mechanism study, the twin control and the probes
add.

The lever is a raised payoff for joint cooperation; a twin is a copy of the same model;
a probe is a question beside the decision. None of these results changes a verdict.

    lever(part, table)["meets"]       {"value": 0.8, "low": 0.5, "high": 1.2, "why": None}
    probes_of(rows, ["HP-UP"])        {"beliefs/any": {"cells": …, "contrasts": …}, …}
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import stats
from cirrus.ask.oneshot import DESIGNS
from cirrus.ask.prompts import LEVERS
from cirrus.judge.contrasts import LEVEL, Table, Tally, cell_entry, effects, tally
from show.figures import bracketed, count, counted, interval, plain

# --- the lever ---------------------------------------------------------------------------------

GRID = 60  # equal steps of the lever's scale at which the interval is searched
STEPS = (0.0, *LEVERS)
RAISED = tuple(f"L{level}" for level in range(1, len(STEPS)))
ALONG = ("LA", *RAISED)  # the cell at each of the STEPS
BEYOND = f"more than {LEVERS[-1]:g}"
NOWHERE = {"value": None, "low": None, "high": None}


def lever(part: Mapping[str, Any], table: Table) -> dict[str, Any]:
    """Return what one model's lever shows.

    `shares` is {level: share of cooperation}. `meets` says how strong the lever must be
    to raise cooperation as much as symmetry + cue do. `nearest` is the level whose
    share is nearest to the middle between HP and LA; it suits a mechanism study.
    """
    means = {cell: entry["mean"] for cell, entry in part["cells"].items()}
    shares = {cell.removeprefix("L"): means[cell] for cell in RAISED}
    if None in means.values():
        nowhere = NOWHERE | {"why": "no estimate"}
        return {"shares": shares, "nearest": None, "meets": nowhere}
    middle = (means["HP"] + means["LA"]) / 2
    nearest = min(shares, key=lambda level: abs(shares[level] - middle))
    meeting = NOWHERE | {"why": "nothing: no effect is established"}
    if part["accounts"]["nothing"]["excluded"]:
        meeting = meets(part, tally(table))
    return {"shares": shares, "nearest": int(nearest), "meets": meeting}


def meets(part: Mapping[str, Any], counts: Tally) -> dict[str, Any]:
    """Return how far the payoff R for joint cooperation must be raised to do as much as
    symmetry and cue: {"value", "low", "high", "why"}, in units of T − R.

    Between two levels of the lever, shares are taken to lie on a straight line. The
    interval holds all strengths at which no difference from HP is established (an
    inverted test); a limit is None where it lies beyond the scale.
    """
    rising = _rising([part["cells"][name]["mean"] for name in ALONG])
    value = _crossing(rising, part["cells"]["HP"]["mean"])
    inside = []
    for step in range(GRID + 1):
        at = STEPS[-1] * step / GRID
        result: Any = stats.contrast(counts, _against_the_lever(at, counts), LEVEL)
        if result.low is not None and result.low <= 0 <= result.high:
            inside.append(at)
    low = high = None
    if inside and inside[0] > 0:
        low = inside[0]
    if inside and inside[-1] < STEPS[-1]:
        high = inside[-1]
    why = BEYOND if value is None else None
    return {"value": value, "low": low, "high": high, "why": why}


def _against_the_lever(at: float, counts: Tally) -> dict[Any, float]:
    """Return the weights of a contrast: the share in HP less the share at the strength
    `at`, read from the line between the shares of the levels on either side."""
    right = bisect_left(STEPS, at, 1)
    start, end = STEPS[right - 1], STEPS[right]
    way = (at - start) / (end - start)
    cells = next(iter(counts.values()))
    pressure = next(h for _, h in cells)
    ends = {"HP": 1.0, ALONG[right - 1]: way - 1, ALONG[right]: -way}
    return {(cell, pressure): weight for cell, weight in ends.items() if weight}


def _rising(shares: Sequence[float]) -> list[float]:
    """Return the closest sequence to `shares` that never falls: neighbours that fall
    are replaced by their mean (pool adjacent violators, Ayer et al. 1955)."""
    pools: list[list[float]] = []
    for share in shares:
        pool = [share]
        while pools and _mean(pools[-1]) > _mean(pool):
            pool = pools.pop() + pool
        pools.append(pool)
    rising = []
    for pool in pools:
        rising += [_mean(pool)] * len(pool)
    return rising


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _crossing(shares: Sequence[float], target: float) -> float | None:
    """Return the strength at which the line through the shares first rises to
    `target`; None where it never does."""
    for at in range(1, len(STEPS)):
        low, high = shares[at - 1], shares[at]
        if low < target <= high:
            way = (target - low) / (high - low)
            start, end = STEPS[at - 1], STEPS[at]
            return start + way * (end - start)
    return None


def half_open(meeting: Mapping[str, Any]) -> str:
    """Return the interval as text: "2.1 to 3.9", "more than 4.7", or "" where it has
    no limits."""
    low, high = meeting["low"], meeting["high"]
    if low is not None and high is None:
        return f"more than {plain(low, 1)}"
    if low is None and high is not None:
        return f"less than {plain(high, 1)}"
    return interval(low, high, 1)


def strength(meeting: Mapping[str, Any], unit: str = "") -> str:
    """Return the strength as text with its interval. With the unit " times the
    temptation" it is "3.0 times the temptation (2.1 to 3.9)"."""
    value = BEYOND if meeting["value"] is None else plain(meeting["value"], 1)
    return bracketed(f"{value}{unit}", half_open(meeting))


def placed(part: Mapping[str, Any], table: Table) -> dict[str, Any]:
    """Return where a mechanism study's lever puts the share of cooperation, from 0 (as
    in LA) to 1 (as in HP): {"lever": {"way", "badly_placed"}}.

    Where that is not between 0 and 1, the lever is badly placed: the highest verdict
    cannot be earned.
    """
    cells, way = part["cells"], None
    if part["accounts"]["nothing"]["excluded"] and cells["MN"]["n"]:
        low, high = cells["LA"]["mean"], cells["HP"]["mean"]
        way = (cells["MN"]["mean"] - low) / (high - low)
    badly = way is not None and not 0 < round(way, 2) < 1
    return {"lever": {"way": way, "badly_placed": badly}}


# --- the twin control ----------------------------------------------------------------------------


def twin(part: Mapping[str, Any], table: Table) -> dict[str, Any]:
    """Return {cell: its k, n, low and high} of a twin control; `table` is not used."""
    found = {}
    for name, cell in part["cells"].items():
        found[name] = {key: cell[key] for key in ("k", "n", "low", "high")}
    return found


EXTRAS: dict[str, Callable] = {"lever": lever, "mechanism": placed, "twin": twin}


# --- headlines -----------------------------------------------------------------------------------


def lever_headline(parts: Mapping[str, Mapping], called: str) -> str | None:
    """Say what symmetry and cue are worth to each model in which they have an effect; of
    more than four such models, to the first. Return None where there is none."""
    shown = []
    for model, part in parts.items():
        if part["meets"]["why"] in (None, BEYOND):
            shown.append(model)
    if not shown:
        return None
    first, *others = shown
    value = strength(parts[first]["meets"], " times the temptation")
    told = f"Symmetry and cue are worth {value} to {first}"
    if len(shown) > 4:
        return f"{told}; {len(shown)} of {count(len(parts), called)} show it."
    for model in others:
        told += f", {strength(parts[model]['meets'])} to {model}"
    return f"{told}."


def twin_headline(parts: Mapping[str, Mapping], called: str) -> str:
    """Say how often models cooperate with their own copy and with a person: the model
    that does so least, and the one that does so most."""
    copy = _least_and_most({name: part["TS"] for name, part in parts.items()})
    person = _least_and_most({name: part["TP"] for name, part in parts.items()})
    return f"Cooperation with an own copy {copy}, with a person {person}."


def _least_and_most(shares: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the models with the least and the largest share as text, such as "0/60 (a)
    to 30/30 (b)", or only a share where all are equal."""
    by_size: dict[float, str] = {}
    said = {}
    for name, share in shares.items():
        by_size.setdefault(share["k"] / max(share["n"], 1), name)
        said[name] = counted(share["k"], share["n"])
    least, most = by_size[min(by_size)], by_size[max(by_size)]
    if least == most:
        return said[least]
    return f"{said[least]} ({least}) to {said[most]} ({most})"


HEADLINES: dict[str, Callable] = {"lever": lever_headline, "twin": twin_headline}


# --- probes ------------------------------------------------------------------------------------
# Answers to probes only describe, and change no verdict.

ENTRY = {cell.name: cell.entry for cell in DESIGNS["mechanism"].cells}
# {probe: its answer as a number}: 1 if right, else 0; for beliefs, the share that was named; for
# purpose, 1 if the answer is that this is a test.
RIGHT: dict[str, Callable[[Mapping], float]] = {
    "payoffs": lambda row: row["answer"] == row["order"],
    "entry": lambda row: row["answer"] == ENTRY[row["cell"]],
    "peer": lambda row: row["answer"] == row["order"],
    "beliefs": lambda row: row["answer"] / 100,
    "purpose": lambda row: row["answer"] == "test",
}


def probes_of(rows: Sequence[Mapping], names: Sequence[str]) -> dict[str, Any]:
    """Return the mean answer to each probe by cell, and the contrasts between cells,
    for one model.

    The shape is {probe: {"cells": {cell: entry}, "contrasts": {name: contrast}}}.
    Beliefs come once for each condition on the own act: "beliefs/any", "beliefs/late"
    and "beliefs/early". Unreadable answers are missing.
    """
    out: dict[str, Any] = {}
    groups: dict[str, list[Mapping]] = {}
    for row in rows:
        kind = row["probe"]
        if row["given"]:
            kind += f"/{row['given']}"
        groups.setdefault(kind, []).append(row)
    for kind, group in groups.items():
        counts = stats.tally(map(_probed, group))
        cells = {}
        for cell in dict.fromkeys(row["cell"] for row in group):
            cells[cell] = cell_entry(counts, cell)
        out[kind] = {"cells": cells, "contrasts": effects(counts, names)}
    out |= diagnosticity(out)
    statuses = Counter(f"{row['probe']} {row['status']}" for row in rows)
    return out | {"statuses": dict(statuses)}


def diagnosticity(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return how much a model's own act changes the share of late entries that it
    expects: {"diagnosticity": {"cells": {cell: difference}}}.

    The difference is the belief given an own late entry less the belief given an early
    one, None where either has no answers. It returns {} where beliefs were not asked
    for.
    """
    if not {"beliefs/late", "beliefs/early"} <= found.keys():
        return {}
    late, early = found["beliefs/late"]["cells"], found["beliefs/early"]["cells"]
    cells = {}
    for cell in late:
        values = late[cell]["mean"], early[cell]["mean"]
        cells[cell] = None if None in values else values[0] - values[1]
    return {"diagnosticity": {"cells": cells}}


def _probed(row: Mapping) -> tuple:
    """Return ((bulletin, wording), (cell, H), outcome), the form that `stats.tally`
    takes; H is "low" in all."""
    outcome = None
    if row["answer"] is not None:
        outcome = float(RIGHT[row["probe"]](row))
    return (row["bulletin"], row["wording"]), (row["cell"], "low"), outcome
