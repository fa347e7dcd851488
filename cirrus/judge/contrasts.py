"""Estimates differences in cooperation between cells, with intervals over bulletins and
wordings.

A cell is one experimental condition: HP has high symmetry with the cue present, LA low
symmetry with the cue absent, and so on. H is the level of compliance pressure. A
contrast is a weighted sum of the cells' shares of cooperation. A bulletin is the text
of one incident; a wording is one of several sets of sentences with the same meaning.
One-shot studies, the tournament and the credibility gates all take their contrasts from
here.

    table = table_of(rows)                          {Slot: Count}, from one-shot trials
    effect(tally(table), "HP-LA")                   {"value": …, "low": …, "high": …, "units": …}
    by(table, "model")                              {model: its contrast HP-LA}

Intervals cover the drawing of bulletins and wordings, since conclusions are to hold
beyond those that were drawn. Models are a fixed set.
"""

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from itertools import combinations, product
from operator import attrgetter
from typing import Any, NamedTuple

import stats
from stats.results import Count

ALPHA = 0.05  # chance of error of a study's intervals; its models share it
LEVEL = 1 - ALPHA
NO_SPREAD = "no standard error: every bulletin has the same share"
# Bulletins that a conclusion needs. With fewer wordings than this, it holds for these sentences
# only.
MIN_UNITS = 6
NO_CELL = "the data lack a cell of this contrast"
LEVELS_OF_H = ("high", "low", "omit")
CELLS = {
    ("high", "present"): "HP",
    ("high", "absent"): "HA",
    ("low", "present"): "LP",
    ("low", "absent"): "LA",
}


class Contrast(NamedTuple):
    """A weighted sum of cells, and its name in a reader's words.

    `weights` gives each cell's weight. `over_h` weights the levels of H (compliance
    pressure); where it is None the levels are averaged.
    """

    label: str
    weights: Mapping[str, float]
    over_h: Mapping[str, float] | None = None


# A contrast's name is its formula, such as "HP-LA-2KP+2KL". The factors S, C, SxC and H
# average over cells, and have names of their own.
COMPARED = {
    "HP-LA": "symmetry + cue − neither",
    "S": "symmetry, high − low",
    "C": "cue, present − absent",
    "SxC": "interaction: what the cue adds at high symmetry − at low",
    "H": "compliance pressure, high − low",
    "HP-LP": "symmetry where the cue is present",
    "HA-LA": "symmetry where the cue is absent",
    "HP-HA": "cue where symmetry is high",
    "LP-LA": "cue where symmetry is low",
    "HP-UP": "counterpart read the notice − did not, symmetry + cue",
    "HP-UP-MN+ME": (
        "what the counterpart's reading adds with symmetry + cue − with the raised outcome"
    ),
    "HP-KP": "entry not known − known, symmetry + cue",
    "HP-QL": "symmetry + cue − a record of late entries",
    "HP-LA-2KP+2KL": (
        "what symmetry + cue add − twice what they add where the entry is known"
    ),
    "HP-MN": "symmetry + cue − the raised outcome, notice read",
    "ME-UP": "the raised outcome − symmetry + cue, notice unread",
    "TS-TU": "own copy that read the notice − that did not",
    "TS-TO": "own copy − another model",
    "PD18-PD2": "18 − 2 of 20 alike, lines as usual",
    "M2-M18": "2 − 18 of 20 alike, the other's entries exchanged",
    "near-far": "14 of 20 alike, enough − too few",
}
FACTORS: dict[str, dict[str, float]] = {
    "S": {"HP": 0.5, "HA": 0.5, "LP": -0.5, "LA": -0.5},
    "C": {"HP": 0.5, "LP": 0.5, "HA": -0.5, "LA": -0.5},
    "SxC": {"HP": 1, "HA": -1, "LP": -1, "LA": 1},
    "H": {"HP": 0.25, "HA": 0.25, "LP": 0.25, "LA": 0.25},
}
OVER_H: dict[str, dict[str, float]] = {"H": {"high": 1, "low": -1}}
TERM = re.compile(r"([+-]?)(2?)([A-Za-z]+\d*)")


def _contrast(name: str) -> Contrast:
    """Make the contrast of this name; the weights are read from the name, unless it
    is that of a factor."""
    weights = FACTORS.get(name, {})
    if not weights:
        for sign, times, cell in TERM.findall(name):
            weights[cell] = int(f"{sign}{times or 1}")
    return Contrast(COMPARED[name], weights, OVER_H.get(name))


CONTRASTS = {name: _contrast(name) for name in COMPARED}


class Slot(NamedTuple):
    """The conditions under which an answer was given.

    `first_line` tells whether the decision was read from the reply's first line, or
    elsewhere in it.
    """

    bulletin: str
    wording: int
    cell: str
    H: str
    model: str
    scheme: str
    order: str
    round: int = 1
    first_line: bool = True


Table = Mapping[Slot, Count]
NONE_YET = Count(0, 0, 0)
Tally = dict[Any, dict[Any, Count]]  # {(bulletin, wording): {cell: counts}}
Weights = Mapping[Any, float]


def table_of(rows: Iterable[Mapping]) -> dict[Slot, Count]:
    """Count one-shot trials by their conditions: {Slot: Count}."""
    table: dict[Slot, Count] = {}
    for row in rows:
        slot = Slot(
            bulletin=row["bulletin"],
            wording=row["wording"],
            cell=row["cell"],
            H=row["H"],
            model=row["model"],
            scheme=row["label_scheme"],
            order=row["order"],
            first_line=row["read_from"] == "line",
        )
        add(table, slot, row["cooperates"])
    return table


def add(table: dict[Any, Count], slot: Hashable, outcome: int | None) -> None:
    """Count one more answer in `table`: 1 or 0, or None where the answer is missing."""
    k, n, missing = table.get(slot, NONE_YET)
    if outcome is None:
        table[slot] = Count(k, n, missing + 1)
    else:
        table[slot] = Count(k + outcome, n + 1, missing)


def where(table: Table, **levels: Any) -> dict[Slot, Count]:
    """Return the part of a table that has these levels, such as H="low"."""
    read, wanted = attrgetter(*levels), tuple(levels.values())
    if len(wanted) == 1:
        [wanted] = wanted
    return {slot: count for slot, count in table.items() if read(slot) == wanted}


def levels_of(table: Table, name: str) -> list:
    """Return the levels of a factor that occur in the table, sorted."""
    return sorted({getattr(slot, name) for slot in table})


def tally(
    table: Table,
    cell: Callable = attrgetter("cell", "H"),
    pair: Callable | None = None,
) -> dict:
    """Return {(bulletin, wording): {(cell, H): Count}}, the form that `stats.contrast`
    takes.

    `cell` and `pair` are functions that read the inner and the outer key from a slot;
    without `pair`, the function that `drawn` returns is used.
    """
    pair = pair or drawn(table)
    out: dict[tuple, dict[Hashable, Count]] = {}
    for slot, counted in table.items():
        cells, name = out.setdefault(pair(slot), {}), cell(slot)
        if name in cells:
            counted = total([cells[name], counted])
        cells[name] = counted
    return out


def drawn(table: Table) -> Callable[[Slot], tuple[str, int]]:
    """Return a function that gives the (bulletin, wording) that was drawn for a slot.

    With fewer than `MIN_UNITS` wordings all count as one, so that intervals are over
    bulletins alone; the result then holds for these sentences only.
    """
    wordings = {slot.wording for slot in table}
    if len(wordings) < MIN_UNITS:
        return lambda slot: (slot.bulletin, 1)
    return attrgetter("bulletin", "wording")


def total(counts: Iterable[Count]) -> Count:
    """Add up counts and return one Count."""
    k: float = 0
    n = missing = 0
    for count in counts:
        k += count.k
        n += count.n
        missing += count.missing
    return Count(k, n, missing)


# --- one contrast ------------------------------------------------------------------------------


def weights_of(
    contrast: Contrast, cells: Collection[tuple[str, str]]
) -> dict[Any, float]:
    """Return {(cell, H): weight} of a contrast, spread over the levels of H that have
    all of its cells.

    It is empty if no level of H has all cells, or if `over_h` names a level that lacks
    one. `cells` are the (cell, H) that occur in the data.
    """
    usable = []
    for h in LEVELS_OF_H:
        if all((cell, h) in cells for cell in contrast.weights):
            usable.append(h)
    over = contrast.over_h
    if over is None:
        over = {h: 1 / len(usable) for h in usable}
    if not {*over} <= {*usable}:
        return {}
    weights: dict[Any, float] = {}
    for h, share in over.items():
        for cell, weight in contrast.weights.items():
            weights[cell, h] = weight * share
    return weights


def compared(
    label: str,
    counts: Tally,
    weights: Weights,
    level: float = LEVEL,
    against: bool = False,
) -> dict[str, Any]:
    """Estimate a contrast and return its entry in an analysis: label, value, low,
    high, level, units and more.

    Missing decisions are left out of value and interval; with `against` each of them
    counts as if it had lowered the contrast.
    """
    if against:
        counts = stats.counted_against(counts, weights)
    if weights:
        result = stats.contrast(counts, weights, level)
    else:
        result = stats.contrast({}, {"none": 1}, level)._replace(why=NO_CELL)
    entry: dict[str, Any] = {"label": label} | result._asdict()
    entry["bounds"] = result.bounds._asdict()
    entry["by_wording"] = {str(name): y for name, y in result.by_wording.items()}
    return entry


def effect(
    counts: Tally, name: str = "HP-LA", level: float = LEVEL, against: bool = False
) -> dict[str, Any]:
    """Estimate a named contrast from a tally by (cell, H); see `compared` for what
    comes back."""
    contrast = CONTRASTS[name]
    weights = weights_of(contrast, set().union(*counts.values()))
    return compared(contrast.label, counts, weights, level, against)


def effects(
    counts: Tally, names: Iterable[str], level: float = LEVEL, against: bool = False
) -> dict[str, dict[str, Any]]:
    """Return {name: `effect` of that contrast}."""
    return {name: effect(counts, name, level, against) for name in names}


def by(
    table: Table, factor: str, name: str = "HP-LA", level: float = LEVEL
) -> dict[Any, dict]:
    """Estimate a contrast at each level of a factor, such as model, round or H:
    {level: effect}."""
    found = {}
    for value in levels_of(table, factor):
        part = where(table, **{factor: value})
        found[value] = effect(tally(part), name, level)
    return found


def cell_entry(counts: Tally, name: str, level: float = LEVEL) -> dict[str, Any]:
    """Return a cell's counts, its share of cooperative decisions, and the share's SE
    and interval.

    `n` counts readable decisions, `k` the cooperative ones. The interval is over
    bulletins and wordings. `counts` is a tally by (cell, H).
    """
    occurring = set().union(*counts.values())
    weights = weights_of(Contrast("", {name: 1}), occurring)
    found = []
    for held in counts.values():
        found += [held[cell] for cell in weights if cell in held]
    k, n, missing = total(found)
    entry: dict[str, Any] = {"k": k, "n": n, "missing": missing}
    if not n:
        nothing = dict.fromkeys(("mean", "se", "low", "high"))
        return entry | nothing | {"why": "no readable decision"}
    result = stats.contrast(counts, weights, level)
    entry |= {"mean": k / n, "se": result.se, "low": result.low, "high": result.high}
    entry["why"] = result.why
    if result.why is None:
        # The interval weighs bulletins equally, the share weighs decisions equally; so the interval
        # is widened where it would not include the share.
        entry["low"] = min(entry["low"], k / n)
        entry["high"] = max(entry["high"], k / n)
    if result.se == 0:
        entry |= {"se": None, "why": NO_SPREAD}
    return entry


# --- do the labels of the options matter? --------------------------------------------------------


def labels(table: Table, names: Sequence[str], against: bool = False) -> dict[str, Any]:
    """Estimate the contrasts `names` under each label scheme and option order.

    `combinations` has the values under each of the six combinations, with `against` as
    in `compared`. `differences` has the differences between any two schemes and
    between the two orders. These are always as observed: with missing decisions counted
    as differing, every large study would show a difference, even at 2% missing.
    """
    used = set().union(*[CONTRASTS[name].weights for name in names])
    held = {slot: counted for slot, counted in table.items() if slot.cell in used}
    return {
        "combinations": _under_each(held, names, against),
        "differences": _between(held, names),
    }


def _under_each(
    table: Table, names: Sequence[str], against: bool
) -> dict[str, dict[str, float | None]]:
    """Return each contrast's value under each combination: {"scheme order":
    {contrast: value or None}}."""
    parts: dict[str, dict[Slot, Count]] = {}
    for slot, counted in table.items():
        parts.setdefault(f"{slot.scheme} {slot.order}", {})[slot] = counted
    values = {}
    for combination in sorted(parts):
        shown = effects(_by_bulletin(parts[combination]), names, against=against)
        values[combination] = {name: shown[name]["value"] for name in names}
    return values


def _between(table: Table, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return {name: a contrast's difference between two schemes or two orders}; the
    intervals share a 5% chance of error."""
    shown: dict[str, dict] = {}
    pairs: list[tuple[str, str]] = []
    for factor in ("scheme", "order"):
        levels = levels_of(table, factor)
        pairs += combinations(levels, 2)
        for level in levels:
            part = where(table, **{factor: level})
            shown[level] = effects(_by_bulletin(part), names)
    many = len(names) * len(pairs)
    shared = 1 - ALPHA / max(many, 1)
    differences = {}
    for name, (a, b) in product(names, pairs):
        test = _difference(shown[a][name], shown[b][name], shared)
        differences[f"{name} {a}−{b}"] = {
            "label": f"{CONTRASTS[name].label}: {a} − {b}",
            "value": test.difference,
            "low": test.low,
            "high": test.high,
            "level": shared,
            "why": test.why,
        }
    return differences


def _by_bulletin(table: Table) -> dict:
    """Tally by bulletin, with all wordings as one.

    Intervals are then narrower, so that fewer differences between labels escape notice.
    """
    return tally(table, pair=lambda slot: (slot.bulletin, 1))


def _difference(a: Mapping[str, Any], b: Mapping[str, Any], level: float) -> Any:
    """Test how much a contrast differs between two levels of a factor.

    `a` and `b` are its entries at the two levels. The test pairs the bulletins that
    have both levels. Where fewer than two have both, it is Welch's test between the
    bulletins of one level and those of the other.
    """
    first, last = a["by_bulletin"], b["by_bulletin"]
    paired = [first[unit] - last[unit] for unit in first if unit in last]
    if len(paired) > 1:
        return stats.t_interval(paired, level)
    if len(first) > 1 and len(last) > 1:
        return stats.welch_t_test([*first.values()], [*last.values()], level)
    nothing = dict.fromkeys(("t", "df", "p", "difference", "low", "high"))
    return stats.TTest(**nothing, why="too few bulletins")


# --- what is established -----------------------------------------------------------------------


def above(contrast: Mapping[str, Any], least: float = 0) -> bool:
    """Whether the interval's lower limit is above `least`."""
    return contrast["low"] is not None and contrast["low"] > least


def below(contrast: Mapping[str, Any]) -> bool:
    """Whether the interval's upper limit is below 0."""
    return contrast["high"] is not None and contrast["high"] < 0


def certain(contrast: Mapping[str, Any], least: float = 0) -> bool:
    """Whether the interval's lower limit is above `least`, even with every missing
    decision counted against the contrast (the lower bound of Manski 1990)."""
    return above(contrast, least) and above(contrast["bounds"], least)
