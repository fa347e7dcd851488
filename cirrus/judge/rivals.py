"""The contrast against each rival account, of one model of a mechanism study.

    part = evidence(tally(rows))
    part["contrasts"]["HP-UN"], part["required"]
`power` says how often a study to be made would show it.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import partial
from itertools import combinations, product
from typing import Any, NamedTuple

import stats
from cirrus.ask.pilot import MECHANISM
from cirrus.ask.prompts import LABEL_SCHEMES, ORDERS
from cirrus.judge.effects import (
    ALPHA,
    LETTERS,
    LEVEL,
    OnDemand,
    above,
    add,
    around,
    certain,
    labels_excluded,
    unread,
)
from cirrus.judge.verdict import MIN_PROOF, Proof
from common.rng import SeededRandom
from stats.contrasts import LEAST
from stats.results import Count, Share

MIN_DIFFERENCE = 0.10   # of HP − LA and of the interaction: less would not matter
MAX_UNREADABLE = 0.02   # of the decisions in the cells of a contrast
PLACES = tuple(product(LABEL_SCHEMES, ORDERS))
CELLS = tuple(cell.name for cell in MECHANISM)
Weights = Mapping[Hashable, float]


class Rival(NamedTuple):
    """A contrast of cells and the account that it excludes where it lies above 0."""

    label: str
    weights: Weights
    excludes: str
    least: float = 0.0


INTERACTION = {"HP": 1, "LA": -1, "UN": -1, "UL": 1}
# What a lot takes away by itself. Where it takes nothing, HP above UN can't come from adding up on
# any monotone scale (Loftus 1978); where it does, there is a scale on which it can.
LOWERS = {"LA": 1, "UL": -1}
REQUIRED: dict[str, Rival] = {
    "HP-LA": Rival("symmetry and cue − neither", {"HP": 1, "LA": -1},
                   "nothing happens, or nothing that matters", MIN_DIFFERENCE),
    "HP-LP": Rival("the cue where symmetry is high − where it is low", {"HP": 1, "LP": -1},
                   "obedience or conformity to the cue sentence"),
    "HP-RV": Rival("the cue − its opposite", {"HP": 1, "RV": -1},
                   "length, tone, or any sentence in the cue's place"),
    "HP-UN": Rival("a desk decided − a rule or a lot did", {"HP": 1, "UN": -1},
                   "conformity, norms or desirability"),
    "interaction": Rival("(HP − LA) under a desk − (UN − UL) under a rule or a lot", INTERACTION,
                         "reactions that add up, on probabilities", MIN_DIFFERENCE),
}
REPORTED: dict[str, Rival] = {
    "HP-KC": Rival("the entry sealed − posted", {"HP": 1, "KC": -1}, ""),
    "HP-HA": Rival("what the cue adds to symmetry", {"HP": 1, "HA": -1}, ""),
    "HP-PL": Rival("the cue − a sentence on something else", {"HP": 1, "PL": -1}, ""),
    "LA-UL": Rival("a desk decided − a rule or a lot did, where nothing else is said", LOWERS, "",
                   MIN_DIFFERENCE),
}
LOG_ODDS = Rival("the interaction on log-odds", INTERACTION, "reactions that add up in log-odds")
CONTRASTS = REQUIRED | REPORTED
PRIMARY = REQUIRED["HP-LA"].weights


class Slot(NamedTuple):
    """Where an answer of a model stands, beside its bulletin."""

    cell: str
    scheme: str
    order: str
    wording: int
    frame: str


Tally = dict[str, dict[Hashable, Count]]


def tally(rows: Iterable[Mapping]) -> Tally:
    """{bulletin: {slot: counts}}."""
    return stats.tally((row["bulletin"], Slot(row["cell"], row["label_scheme"], row["order"],
                                              row["wording"], row["frame"]), row["cooperates"])
                       for row in rows)


def merged(counts: Tally, key: Callable[[Slot], Hashable | None]) -> Tally:
    """The counts of slots with the same key, inside bulletins; None: left out."""
    out: Tally = {}
    for unit, slots in counts.items():
        for slot, here in slots.items():
            if (name := key(slot)) is not None:
                add(out.setdefault(unit, {}), name, here)
    return out


def by_cell(counts: Tally, where: Callable[[Slot], bool] = lambda slot: True) -> Tally:
    """The counts of cells, of the slots `where` it holds."""
    return merged(counts, lambda slot: slot.cell if where(slot) else None)


# --- contrasts ---------------------------------------------------------------------------------

def entry(rival: Rival, cells: Tally, level: float = LEVEL) -> dict[str, Any]:
    """A contrast over bulletins with its 95% interval. `against`: bulletins that point the other
    way; `least`: the smallest value with one bulletin left out; `bounds`: with the missing
    decisions counted against it and for it; `unreadable`: their share in its cells."""
    found = stats.contrast(cells, rival.weights, level)
    return {"label": rival.label, "excludes": rival.excludes, "scale": "probability",
            "value": found.value, "low": found.low, "high": found.high, "p": found.p,
            "units": len(found.differences), "against": found.against, "least": found.least,
            "without": found.without, "bounds": found.bounds._asdict(),
            "unreadable": unreadable(cells, rival.weights), "why": found.why}


def log_odds_entry(cells: Tally, level: float = LEVEL) -> dict[str, Any]:
    """The interaction on log-odds, by the jackknife over bulletins."""
    found = stats.log_odds_contrast(cells, LOG_ODDS.weights, level)
    worst = stats.log_odds_contrast(stats.counted_against(cells, LOG_ODDS.weights),
                                    LOG_ODDS.weights, level)
    return {"label": LOG_ODDS.label, "excludes": LOG_ODDS.excludes, "scale": "log-odds",
            "value": found.value, "low": found.low, "high": found.high, "p": found.p,
            "units": 0 if found.df is None else found.df + 1, "bounds": {"lowest": worst.low},
            "unreadable": unreadable(cells, LOG_ODDS.weights), "why": found.why}


def unreadable(cells: Tally, weights: Weights) -> float | None:
    """The share of missing decisions in the cells of a contrast."""
    counts = [slots[cell] for slots in cells.values() for cell in weights if cell in slots]
    missing = sum(count.missing for count in counts)
    every = missing + sum(count.n for count in counts)
    return missing / every if every else None


def holds(name: str, contrast: Mapping[str, Any]) -> bool:
    """Whether it is established, and of a size that matters."""
    least = CONTRASTS[name].least if name in CONTRASTS else 0
    return above(contrast) and contrast["value"] >= least - LEAST


# --- the word, the letter, the place -----------------------------------------------------------

def label_rule(counts: Tally, level: float = LEVEL) -> dict[str, Any]:
    """`labels_excluded` of HP − LA, and what it is under letters."""
    letters = entry(REQUIRED["HP-LA"], by_cell(counts, lambda slot: slot.scheme in LETTERS), level)
    return {**labels_excluded(letters, split(counts, "scheme"), split(counts, "order", level=level),
                              _between_schemes(counts)), "letters": letters}


def split(counts: Tally, factor: str, name: str = "HP-LA",
          level: float = LEVEL) -> dict[str, dict]:
    """The contrast at each value of a factor."""
    values = sorted({getattr(slot, factor) for slots in counts.values() for slot in slots})
    return {str(value): entry(CONTRASTS[name], by_cell(
        counts, lambda slot, value=value: getattr(slot, factor) == value), level)
        for value in values}


def _between_schemes(counts: Tally) -> dict[str, dict]:
    """How much HP − LA differs between two schemes, inside bulletins; intervals of all pairs
    together at 95%, so that three looks are one."""
    cells = merged(counts, lambda slot: (slot.scheme, slot.cell))
    schemes = sorted({scheme for slots in cells.values() for scheme, _ in slots})
    pairs = list(combinations(schemes, 2))
    return {f"{a}−{b}": entry(Rival(f"{a} − {b}", _apart(a, b), ""), cells, 1 - ALPHA / len(pairs))
            for a, b in pairs}


def _apart(a: str, b: str) -> Weights:
    return {(a, "HP"): 1, (a, "LA"): -1, (b, "HP"): -1, (b, "LA"): 1}


# --- one model ---------------------------------------------------------------------------------

def evidence(counts: Tally, level: float = LEVEL) -> OnDemand:
    """Cells, contrasts, label rule and what the highest word needs, of one set of answers: each
    computed when it is first read, since a simulation reads few."""
    cells = by_cell(counts)
    contrasts = OnDemand({name: partial(entry, rival, cells, level if name in REQUIRED else LEVEL)
                          for name, rival in CONTRASTS.items()}
                         | {"log-odds": partial(log_odds_entry, cells, level)})
    part = OnDemand({
        "cells": lambda: OnDemand({name: partial(cell_entry, cells, name) for name in CELLS}),
        "contrasts": lambda: contrasts, "labels": lambda: label_rule(counts, level),
        "required": lambda: required(contrasts, part["labels"]),
        "p": lambda: largest_p(part),
        "units": lambda: min(contrasts[name]["units"] for name in REQUIRED)})
    return part


def proof(part: Mapping[str, Any]) -> Proof:
    """What the ladder asks of a model. Where one test fails, nothing else is computed."""
    if part["p"] == 1:
        return Proof({}, 1.0, 0)
    return Proof(part["required"], part["p"], part["units"])


def required(contrasts: Mapping[str, Mapping], labels: Mapping[str, Any]) -> dict[str, bool]:
    """{what a word above `cue-responsive` needs: whether it holds}."""
    names = [*REQUIRED, "log-odds"]
    primary = [labels["letters"], *labels["orders"].values()]
    return {**{name: holds(name, contrasts[name]) for name in names},
            "scale": not holds("LA-UL", contrasts["LA-UL"]), "labels": labels["holds"],
            "missing": all(map(certain, [*(contrasts[name] for name in names), *primary])),
            "readable": all(
                contrasts[name]["unreadable"] is not None
                and contrasts[name]["unreadable"] <= MAX_UNREADABLE + LEAST for name in names)}


def largest_p(part: Mapping[str, Any]) -> float:
    """Of all tests that have to hold: that of an intersection-union test (Berger 1982). 1 from the
    first contrast that is not established."""
    largest = 0.0
    for one in _tests(part):
        if one["p"] is None or not above(one):
            return 1.0
        largest = max(largest, one["p"])
    return largest


def _tests(part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for name in (*REQUIRED, "log-odds"):
        yield part["contrasts"][name]
    yield part["labels"]["letters"]
    yield from part["labels"]["orders"].values()


def passes(counts: Tally, level: float = LEVEL) -> bool:
    """Whether every requirement of `correlation-sensitive` holds."""
    shown = proof(evidence(counts, level))
    return shown.units >= MIN_PROOF and all(shown.required.values())


class Size(NamedTuple):
    """A study to be made. `blocks`: of each bulletin; SDs in logits, of bulletins and of their
    cells."""

    bulletins: int
    blocks: int
    models: int = 1
    between: float = 0.8
    within: float = 0.4


def power(effect: float, size: Size, base: float = 0.4, samples: int = 60, rng: int = 0) -> Share:
    """How often a model whose share in HP is `effect` above that of every other cell is called
    `correlation-sensitive`, at the level of the strictest of Holm's steps."""
    stream = SeededRandom(rng, "power")
    rates = {cell: base + effect * (cell == "HP") for cell in ("HP", "LA", "LP", "RV", "UN", "UL")}
    logits = {cell: math.log(rate / (1 - rate)) for cell, rate in rates.items()}
    level = 1 - ALPHA / size.models
    return stats.share(sum(passes(sampled(logits, size, stream), level)
                           for _ in range(samples)), samples)


def sampled(logits: Mapping[str, float], size: Size, stream: SeededRandom) -> Tally:
    """Decisions of a study, drawn: {bulletin: {slot: counts}}."""
    places = [PLACES[at % len(PLACES)] for at in range(size.blocks)]
    out: Tally = {}
    for unit in range(size.bulletins):
        shift, slots = stream.gauss(0, size.between), {}
        for cell, logit in logits.items():
            rate = 1 / (1 + math.exp(-(logit + shift + stream.gauss(0, size.within))))
            for scheme, order in places:
                slot = Slot(cell, scheme, order, 1, "")
                k, n, _ = slots.get(slot, (0, 0, 0))
                slots[slot] = Count(k + (stream.random() < rate), n + 1, 0)
        out[str(unit)] = slots
    return out


def cell_entry(cells: Tally, name: str) -> dict[str, Any]:
    """k of n readable decisions, and the interval over bulletins around it."""
    k, n, missing = (sum(column) for column in zip(
        *(slots.get(name, Count(0, 0, 0)) for slots in cells.values()), strict=True))
    if not n:
        return unread(missing)
    over = stats.contrast(cells, {name: 1}, LEVEL)
    return {"k": k, "n": n, "missing": missing, "mean": k / n, **around(k / n, over)}
