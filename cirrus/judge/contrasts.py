"""Contrasts of cells over bulletins and wordings. One-shot studies, tournament and gates take
cells and weights from here.

    table = table_of(rows)                          {slot: Count}, of one-shot trials
    effect(tally(table), "HP-LA")                   {"value": …, "low": …, "high": …, "units": …}
    by(table, "model")                              {model: its HP-LA}

Bulletins and wordings were drawn, and are what one wants to speak beyond; models are a fixed set.
"""

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from itertools import combinations, product
from operator import attrgetter
from typing import Any, NamedTuple

import stats
from stats.results import Count

ALPHA = 0.05  # what an interval may miss; the models of a study share it
LEVEL = 1 - ALPHA
NO_SPREAD = "no standard error: every bulletin has the same share"
MIN_UNITS = 6  # bulletins; with fewer wordings the result is about these sentences
NO_CELL = "the data lack a cell of this contrast"
LEVELS_OF_H = ("high", "low", "omit")
CELLS = {
    ("high", "present"): "HP",
    ("high", "absent"): "HA",
    ("low", "present"): "LP",
    ("low", "absent"): "LA",
}


class Contrast(NamedTuple):
    """Weights of cells, and what they compare in a reader's words. `over_h`: weights of the levels
    of H, None: their mean."""

    label: str
    weights: Mapping[str, float]
    over_h: Mapping[str, float] | None = None


# A contrast's name is its formula, "HP-LA-2KP+2KL", save where it averages over cells.
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
    weights = FACTORS.get(name, {})
    if not weights:
        for sign, times, cell in TERM.findall(name):
            weights[cell] = int(f"{sign}{times or 1}")
    return Contrast(COMPARED[name], weights, OVER_H.get(name))


CONTRASTS = {name: _contrast(name) for name in COMPARED}


class Slot(NamedTuple):
    """Where an answer stands. `first_line`: in its reply, or was it read elsewhere there."""

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
    """One-shot trials, counted where they stand."""
    table: dict[Slot, Count] = {}
    for row in rows:
        slot = Slot(
            row["bulletin"],
            row["wording"],
            row["cell"],
            row["H"],
            row["model"],
            row["label_scheme"],
            row["order"],
            first_line=row["read_from"] == "line",
        )
        add(table, slot, row["cooperates"])
    return table


def add(table: dict[Any, Count], slot: Hashable, outcome: int | None) -> None:
    """One more answer: 1 or 0, None where it is missing."""
    k, n, missing = table.get(slot, NONE_YET)
    if outcome is None:
        table[slot] = Count(k, n, missing + 1)
    else:
        table[slot] = Count(k + outcome, n + 1, missing)


def where(table: Table, **levels: Any) -> dict[Slot, Count]:
    """The slots of these levels, such as H="low"."""
    read, wanted = attrgetter(*levels), tuple(levels.values())
    if len(wanted) == 1:
        [wanted] = wanted
    return {slot: count for slot, count in table.items() if read(slot) == wanted}


def levels_of(table: Table, name: str) -> list:
    return sorted({getattr(slot, name) for slot in table})


def tally(
    table: Table,
    cell: Callable = attrgetter("cell", "H"),
    pair: Callable | None = None,
) -> dict:
    """{(bulletin, wording): {(cell, H): counts}}, as `stats.contrast` takes it. `pair`: what the
    answers were `drawn` over, unless given."""
    pair = pair or drawn(table)
    out: dict[tuple, dict[Hashable, Count]] = {}
    for slot, counted in table.items():
        cells, name = out.setdefault(pair(slot), {}), cell(slot)
        if name in cells:
            counted = total([cells[name], counted])
        cells[name] = counted
    return out


def drawn(table: Table) -> Callable[[Slot], tuple[str, int]]:
    """What the answers of a table were drawn over: bulletins and wordings. Where the prompts hold
    few sentences, bulletins alone: what is found is about these sentences."""
    wordings = {slot.wording for slot in table}
    if len(wordings) < MIN_UNITS:
        return lambda slot: (slot.bulletin, 1)
    return attrgetter("bulletin", "wording")


def total(counts: Iterable[Count]) -> Count:
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
    """{(cell, H): weight}, over the levels of H in which every cell it needs occurs; empty where
    it has no such level, or lacks one that it names. `cells`: those that occur."""
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
    """A contrast of counted cells as an analysis keeps it. What is missing stays out of value and
    interval, or, with `against`, counts as if every missing decision had lowered the contrast."""
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
    """A contrast of a tally by cell and H."""
    contrast = CONTRASTS[name]
    weights = weights_of(contrast, set().union(*counts.values()))
    return compared(contrast.label, counts, weights, level, against)


def effects(
    counts: Tally, names: Iterable[str], level: float = LEVEL, against: bool = False
) -> dict[str, dict[str, Any]]:
    """{name: its `effect`}."""
    return {name: effect(counts, name, level, against) for name in names}


def by(
    table: Table, factor: str, name: str = "HP-LA", level: float = LEVEL
) -> dict[Any, dict]:
    """A contrast at each level of a factor: model, round, H."""
    found = {}
    for value in levels_of(table, factor):
        part = where(table, **{factor: value})
        found[value] = effect(tally(part), name, level)
    return found


def cell_entry(counts: Tally, name: str, level: float = LEVEL) -> dict[str, Any]:
    """k of n readable decisions, and the interval over bulletins and wordings around their share,
    with the standard error that it rests on. `counts`: a tally by cell and H."""
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
        # Bulletins weigh alike in the interval, decisions in the share.
        entry["low"] = min(entry["low"], k / n)
        entry["high"] = max(entry["high"], k / n)
    if result.se == 0:
        entry |= {"se": None, "why": NO_SPREAD}
    return entry


# --- word, letter and place --------------------------------------------------------------------


def labels(table: Table, names: Sequence[str], against: bool = False) -> dict[str, Any]:
    """The contrasts `names` under each label scheme and order. `combinations`: the value under each
    of the six, `against` as in `compared`. `differences`: between two schemes, or the two orders, as
    observed: they only withhold an exclusion, and where 2% are missing the worst case would find
    one in every study that is large enough."""
    used = set().union(*[CONTRASTS[name].weights for name in names])
    held = {slot: counted for slot, counted in table.items() if slot.cell in used}
    return {
        "combinations": _under_each(held, names, against),
        "differences": _between(held, names),
    }


def _under_each(
    table: Table, names: Sequence[str], against: bool
) -> dict[str, dict[str, float | None]]:
    """The value of each contrast, by scheme and order."""
    parts: dict[str, dict[Slot, Count]] = {}
    for slot, counted in table.items():
        parts.setdefault(f"{slot.scheme} {slot.order}", {})[slot] = counted
    values = {}
    for combination in sorted(parts):
        shown = effects(_by_bulletin(parts[combination]), names, against=against)
        values[combination] = {name: shown[name]["value"] for name in names}
    return values


def _between(table: Table, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The differences between schemes and between orders, at a level that all share."""
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
    """A tally whose wordings are not told apart: the narrower interval withholds more."""
    return tally(table, pair=lambda slot: (slot.bulletin, 1))


def _difference(a: Mapping[str, Any], b: Mapping[str, Any], level: float) -> Any:
    """How much a contrast differs between two levels, of which `a` and `b` are its effects: inside
    bulletins where they hold both, else between bulletins (Welch)."""
    first, last = a["by_bulletin"], b["by_bulletin"]
    inside = [first[unit] - last[unit] for unit in first if unit in last]
    if len(inside) > 1:
        return stats.t_interval(inside, level)
    if len(first) > 1 and len(last) > 1:
        return stats.welch_t_test([*first.values()], [*last.values()], level)
    return stats.TTest(None, None, None, None, None, None, "too few bulletins")


# --- what is established -----------------------------------------------------------------------


def above(contrast: Mapping[str, Any], least: float = 0) -> bool:
    """Whether the lower limit lies above `least`."""
    return contrast["low"] is not None and contrast["low"] > least


def below(contrast: Mapping[str, Any]) -> bool:
    return contrast["high"] is not None and contrast["high"] < 0


def certain(contrast: Mapping[str, Any], least: float = 0) -> bool:
    """Established, also with every missing decision counted against it (Manski 1990)."""
    return above(contrast, least) and above(contrast["bounds"], least)
