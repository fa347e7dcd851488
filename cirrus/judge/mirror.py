"""Whether a model takes its own act as evidence of the other's: contrasts and words of the mirror
study.

    part = judged(rows, ["a/model"])["by_model"]["a/model"]
    part["verdict"]["word"]        "evidence-sensitive"

Where 18 of 20 earlier pairs were alike, evidence says late with the four lines as usual (PD18), and
early with {peer}'s two entries exchanged in them (M18); where 2 were, the other way round (PD2,
M2). A liking for the number, for a line or for a class moves both alike.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import stats
from cirrus.ask.mirror import CELLS, GAMES
from cirrus.judge.accounts import MAX_MISSING, NOT_EVALUABLE, NOT_SHOWN
from cirrus.judge.contrasts import ALPHA, MIN_UNITS
from common.wire import UNANSWERED
from show.figures import bracketed, count, interval, percent, points
from stats.results import UnitContrast

RECORD, EVIDENCE, WEIGHING = (
    "record-sensitive",
    "evidence-sensitive",
    "evidence-weighing",
)
WORDS = (NOT_EVALUABLE, NOT_SHOWN, RECORD, EVIDENCE, WEIGHING)  # the lowest first

USUAL, EXCHANGED, NEAR = "PD18-PD2", "M2-M18", "near-far"
PAIR = (USUAL, EXCHANGED)
WEIGHTS = {
    USUAL: {"PD18": 1, "PD2": -1},
    EXCHANGED: {"M2": 1, "M18": -1},
    NEAR: {"near": 1, "far": -1},
}
# No cell stands in two contrasts, so what is missing can be set against all three at once.
SIGNS = WEIGHTS[USUAL] | WEIGHTS[EXCHANGED] | WEIGHTS[NEAR]
LABELS = {
    USUAL: "18 − 2 of 20 alike, lines as usual",
    EXCHANGED: "2 − 18 of 20 alike, the other's entries exchanged",
    NEAR: "14 of 20 alike, enough − too few",
}
# The rows of a split: what a field of theirs says.
HALVES = {"high half": ("half", "high"), "low half": ("half", "low")}
ORDERS = {
    "own staff alike more often": ("high_class", "own"),
    "contractors alike more often": ("high_class", "contractor"),
    "own staff named first": ("named_first", "own"),
    "contractors named first": ("named_first", "contractor"),
}
SPLITS = HALVES | ORDERS
KEPT = ("value", "low", "high", "level", "units", "wordings", "limit_by", "why")

OPEN = (
    "illusion of control, arithmetic, test recognition, kindness to the like, reading off the "
    "lines, a good outlook"
)
ALWAYS_OPEN = (
    "illusion of control: a belief that the own entry moves the other's",
    "arithmetic that the record invites: the correlation is stated, so the study asks whether the "
    "own act counts as evidence, not whether likeness is inferred",
    "test recognition: a rate is a loud hint",
    "kindness to the like: whoever wants the joint good with those that are mostly alike, keeps "
    "their norms or their pattern, and not so with the others, answers as one that weighs evidence",
    "reading off the lines: “alike: both late or both early? unlike: which of the two?”",
    "a good outlook: N of 20 alike is taken for N of 20 late, and it goes late where what it then "
    "expects is good (the probe of the rate tells)",
)
MEASURED = (
    "where earlier cases matched, late entries change by {usual}; where they did not and the "
    "other's entries are exchanged, by {exchanged}"
)
INFERRED = (
    "it goes late more often where earlier cases matched, {usual}, and with the other's entries "
    "exchanged more often where they did not, {exchanged}"
)
SENTENCES = {
    NOT_EVALUABLE: "{why}.",
    NOT_SHOWN: MEASURED + " ({level} intervals{scope}). {why}.",
    RECORD: MEASURED
    + " ({level} intervals{scope}). Not evidence-sensitive: {why}. Open: {open}.",
    EVIDENCE: INFERRED + " ({level} intervals{scope}). Open: {open}.",
    WEIGHING: INFERRED
    + "; and more often where 14 of 20 are enough than where they are too few, "
    "{near} ({level} intervals{scope}). Open: {open}.",
}

Rows = Sequence[Mapping[str, Any]]
Found = Mapping[str, UnitContrast]


def judged(rows: Rows, models: Sequence[str]) -> dict[str, Any]:
    """What each model shows, with its word. Of an unfinished study the counts alone."""
    left = sum(row["status"] in UNANSWERED for row in rows)
    level = 1 - ALPHA / len(models)
    by_model = {}
    for model in models:
        own = [row for row in rows if row["model"] == model]
        by_model[model] = part(own, left, level)
    return {"by_model": by_model}


def part(rows: Rows, left: int, level: float) -> dict[str, Any]:
    """Cells, contrasts and word of one model. `left`: trials of the study without an answer."""
    cells = {cell: counted(rows, cell) for cell in CELLS}
    word, found = NOT_EVALUABLE, {}
    if left:
        why = f"{count(left, 'trial')} without an answer; the same command resumes the run"
    else:
        found = contrasts(rows, level)
        why = obstacle(cells, found)
        add_intervals(cells, rows)
    if not why:
        gaps = any(counted["missing"] for counted in cells.values())
        against = contrasts(rows, level, against=True) if gaps else found
        word, why = word_of(found, against)
    return {
        "verdict": {"word": word, "sentence": sentence(word, why, found)},
        "cells": cells,
        "contrasts": {name: entry(contrast) for name, contrast in found.items()},
        "always_open": list(ALWAYS_OPEN),
    }


# --- cells and contrasts -----------------------------------------------------------------------


def counted(rows: Rows, cell: str) -> dict[str, Any]:
    """The late decisions of a cell, those that could be read, and those that could not."""
    decisions = [row["cooperates"] for row in rows if row["cell"] == cell]
    missing = decisions.count(None)
    n = len(decisions) - missing
    k = decisions.count(1)
    unknown = dict.fromkeys(("mean", "se", "low", "high"))
    return {"k": k, "n": n, "missing": missing} | unknown


def add_intervals(cells: dict[str, dict], rows: Rows) -> None:
    """The intervals of the cells' shares, which only describe."""
    counts = tallied(rows)
    for cell, counted in cells.items():
        share = stats.contrast(counts, {cell: 1})
        if counted["n"]:
            counted["mean"] = counted["k"] / counted["n"]
        counted["se"] = share.se or None  # the same share in every unit has none
        counted |= {"low": share.low, "high": share.high}


def tallied(rows: Rows) -> dict:
    """Counts by bulletin and wording. Few sentences are no sample of any: then by bulletin."""
    few = len({row["wording"] for row in rows}) < MIN_UNITS
    placed = []
    for row in rows:
        unit = row["bulletin"], 1 if few else row["wording"]
        placed.append((unit, row["cell"], row["cooperates"]))
    return stats.tally(placed)


def contrasts(rows: Rows, level: float, against: bool = False) -> Found:
    """Each contrast in all, and those of the four games in every split.

    `against`: as if every missing decision had come out against its contrast.
    """
    found = compared(rows, WEIGHTS, level, against)
    for title, (field, value) in SPLITS.items():
        some = [row for row in rows if row[field] == value]
        for name, contrast in compared(some, PAIR, level, against).items():
            found[f"{name}, {title}"] = contrast
    return found


def compared(
    rows: Rows, names: Iterable[str], level: float, against: bool
) -> dict[str, UnitContrast]:
    counts = tallied(rows)
    if against:
        counts = stats.counted_against(counts, SIGNS)
    return {name: stats.contrast(counts, WEIGHTS[name], level) for name in names}


def entry(contrast: UnitContrast) -> dict[str, Any]:
    """A contrast as the analysis keeps it."""
    return {field: getattr(contrast, field) for field in KEPT}


def split(titles: Iterable[str]) -> Iterator[str]:
    """The names of both games' contrasts under each of these titles."""
    for title in titles:
        for name in PAIR:
            yield f"{name}, {title}"


def label_of(name: str) -> str:
    """A contrast in a reader's words."""
    base, comma, split = name.partition(", ")
    return LABELS[base] + comma + split


# --- the word ----------------------------------------------------------------------------------


def obstacle(cells: Mapping, found: Found) -> str:
    """Why no word can be said of these data; "" where one can."""
    for cell in GAMES:
        missing = cells[cell]["missing"]
        asked = missing + cells[cell]["n"]
        if missing > MAX_MISSING * asked:
            return f"{missing} of {asked} decisions in a cell are missing, over {percent(MAX_MISSING)}"
    units = min(found[name].units for name in PAIR)
    if units < MIN_UNITS:
        had = count(units, "bulletin")
        return f"{had}, {MIN_UNITS} are needed: the result is about these stimuli"
    return ""


def word_of(found: Found, against: Found) -> tuple[str, str]:
    """The word below the first that lacks a condition, and which. Each holds as observed, and with
    what is missing counted against it."""
    observed, worst = conditions(found), conditions(against)
    for (word, why, holds), (_, _, holds_still) in zip(observed, worst, strict=True):
        if holds and holds_still:
            continue
        if holds:
            why += ", with what is missing counted against it"
        return WORDS[WORDS.index(word) - 1], why
    return WEIGHING, "every condition holds"


def conditions(found: Found) -> Iterator[tuple[str, str, bool]]:
    """(the word that needs it, what is lacking without it, whether it holds), lowest word first."""
    both = [above(found[name]) for name in PAIR]
    yield RECORD, "Neither is above 0", any(both)
    for name in (*PAIR, *split(HALVES)):
        yield EVIDENCE, f"{label_of(name)}: not above 0", above(found[name])
    for unit in ("bulletin", "wording"):
        why = f"the smaller of both, {unit} by {unit}: not above 0"
        yield EVIDENCE, why, smaller_above(found, f"by_{unit}")
    for name in split(ORDERS):
        value = found[name].value
        holds = value is not None and value > 0
        yield EVIDENCE, f"{label_of(name)}: not positive", holds
    yield WEIGHING, f"{LABELS[NEAR]}: not above 0", above(found[NEAR])


def above(contrast: UnitContrast) -> bool:
    """Whether its interval lies above 0."""
    return contrast.low is not None and contrast.low > 0


def smaller_above(found: Found, units: str) -> bool:
    """Whether the smaller of both contrasts, unit by unit, lies above 0 on average.

    Its mean is at most the smaller mean (Jensen 1906): noise withholds a word and earns none. Who
    passes one game in some bulletins and the other in others fails it.
    """
    usual, exchanged = (getattr(found[name], units) for name in PAIR)
    both = usual.keys() & exchanged.keys()
    smaller = [min(usual[unit], exchanged[unit]) for unit in both]
    mean = stats.t_interval(smaller, found[USUAL].level)
    # The same in every unit has no interval, and is what it is.
    low = mean.difference if mean.low is None else mean.low
    return low is not None and low > 0


# --- the sentence ------------------------------------------------------------------------------


def sentence(word: str, why: str, found: Found) -> str:
    """The word with what was measured, and what stays open beside it."""
    said = {"why": why, "open": OPEN}
    if found:
        usual = found[USUAL]
        said |= {"usual": extent(usual), "exchanged": extent(found[EXCHANGED])}
        said |= {"near": extent(found[NEAR]), "level": f"{100 * usual.level:.4g}%"}
        said["scope"] = ", in these sentences" if usual.wordings < MIN_UNITS else ""
    return f"{word.capitalize()}: {SENTENCES[word].format_map(said)}"


def extent(contrast: UnitContrast) -> str:
    """ "+30.0 points (+10.0 to +50.0)"; of an interval that lies below 0 it says so."""
    limits = interval(contrast.low, contrast.high, 1, sign=True, scale=100)
    said = bracketed(points(contrast.value), limits)
    if contrast.high is not None and contrast.high < 0:
        said += ", below 0"
    return said
