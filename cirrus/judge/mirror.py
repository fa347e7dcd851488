"""Judges whether a model takes its own act as evidence of the other's: the mirror
study.

    part = judged(rows, ["a/model"])["by_model"]["a/model"]
    part["verdict"]["word"]        "evidence-sensitive"

A prompt says in how many of 20 earlier pairs the two sides acted alike, for each of two
classes of pairs: "own" (each company's own staff decided) and "contractor" (a
contractor decided one entry). The present pair is of one class, and the number in a
cell's name says how many pairs of that class acted alike. PD is the game with the four
payoff lines as usual. M is its mirror: {peer}'s two entries are exchanged in these
lines. So the evidence speaks for the late entry in PD18 and M2, and for the early one
in M18 and PD2. A liking for a number, a line or a class moves both games in the same
direction, evidence in opposite ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from cirrus.ask.mirror import CELLS, GAMES
from cirrus.judge.accounts import (
    IN_THESE,
    NOT_EVALUABLE,
    NOT_SHOWN,
    UNITS,
    extent,
    smaller,
    too_few,
    too_many_missing,
)
from cirrus.judge.contrasts import (
    ALPHA,
    MIN_UNITS,
    above,
    below,
    cell_entry,
    effects,
    table_of,
    tally,
)

POSITIVE = RECORD, EVIDENCE, WEIGHING = (
    "record-sensitive",
    "evidence-sensitive",
    "evidence-weighing",
)
WORDS = (NOT_EVALUABLE, NOT_SHOWN, *POSITIVE)  # the lowest first

CONTRASTED = USUAL, EXCHANGED, NEAR = "PD18-PD2", "M2-M18", "near-far"
PAIR = (USUAL, EXCHANGED)
# {title of a split: (a field of the rows, the value that selects them)}.
HALVES = {"high half": ("half", "high"), "low half": ("half", "low")}
ORDERS = {
    "own staff alike more often": ("high_class", "own"),
    "contractors alike more often": ("high_class", "contractor"),
    "own staff named first": ("named_first", "own"),
    "contractors named first": ("named_first", "contractor"),
}
SPLITS = HALVES | ORDERS
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


def judged(rows: Sequence[Mapping], models: Sequence[str]) -> dict[str, Any]:
    """Return {"by_model": {model: its `part`}} of a study in which every trial has
    an answer."""
    level = 1 - ALPHA / len(models)
    by_model = {}
    for model in models:
        own = [row for row in rows if row["model"] == model]
        by_model[model] = part(own, level)
    return {"by_model": by_model}


def part(rows: Sequence[Mapping], level: float) -> dict[str, Any]:
    """Return {"verdict", "cells", "contrasts"} of one model, whose trials are `rows`."""
    counts = tally(table_of(rows))
    cells = {cell: cell_entry(counts, cell) for cell in CELLS}
    found = contrasts(rows, level)
    word, why = NOT_EVALUABLE, obstacle(cells, found)
    if not why:
        word, why = word_of(found, contrasts(rows, level, against=True))
    verdict = {"word": word, "sentence": sentence(word, why, found)}
    return {"verdict": verdict, "cells": cells, "contrasts": found}


def contrasts(
    rows: Sequence[Mapping], level: float, against: bool = False
) -> dict[str, dict[str, Any]]:
    """Return the three contrasts over all rows, and the two of PAIR in each of the
    SPLITS: {name: contrast}.

    With `against`, every missing decision counts against its contrast.
    """
    found = effects(tally(table_of(rows)), CONTRASTED, level, against)
    for title, (field, value) in SPLITS.items():
        some = table_of(row for row in rows if row[field] == value)
        for name, contrast in effects(tally(some), PAIR, level, against).items():
            contrast["label"] += f", {title}"
            found[f"{name}, {title}"] = contrast
    return found


# --- the verdict word --------------------------------------------------------------------------


def obstacle(cells: Mapping, found: Mapping[str, Mapping]) -> str | None:
    """Return why these data can't be judged, None where they can."""
    units = min(found[name]["units"] for name in PAIR)
    return too_many_missing(cells, GAMES) or too_few(units)


def word_of(
    found: Mapping[str, Mapping], against: Mapping[str, Mapping]
) -> tuple[str, str]:
    """Return (verdict word, why no higher one).

    The word must be earned by the contrasts as observed (`found`), and by those with
    missing decisions counted `against` them.
    """
    word, why = earned(found)
    worst, why_worst = earned(against)
    if WORDS.index(worst) < WORDS.index(word):
        return worst, f"{why_worst}, with what is missing counted against it"
    return word, why


def earned(found: Mapping[str, Mapping]) -> tuple[str, str]:
    """Return (the highest word that these contrasts earn, why not the next one)."""
    for word, why, holds in conditions(found):
        if not holds:
            return WORDS[WORDS.index(word) - 1], why
    return WEIGHING, "every condition holds"


def conditions(found: Mapping[str, Mapping]) -> Iterator[tuple[str, str, bool]]:
    """Yield (word, complaint, whether it holds) for each condition of a word above
    "not shown", from the lowest word up.

    The complaint is the text to print where the condition does not hold.
    """
    usual, exchanged = found[USUAL], found[EXCHANGED]
    halves = [found[f"{name}, {title}"] for title, name in product(HALVES, PAIR)]
    orders = [found[f"{name}, {title}"] for title, name in product(ORDERS, PAIR)]
    yield RECORD, "Neither is above 0", above(usual) or above(exchanged)
    for contrast in (usual, exchanged, *halves):
        yield EVIDENCE, f"{contrast['label']}: not above 0", above(contrast)
    for unit in UNITS:
        # A model that passes one game in some bulletins, the other game in others, fails here.
        holds, _ = smaller(usual, exchanged, unit)
        why = f"the smaller of both, {unit} by {unit}: not above 0"
        yield EVIDENCE, why, holds
    for contrast in orders:
        value = contrast["value"]
        holds = value is not None and value > 0
        yield EVIDENCE, f"{contrast['label']}: not positive", holds
    near = found[NEAR]
    yield WEIGHING, f"{near['label']}: not above 0", above(near)


# --- the sentence ------------------------------------------------------------------------------


def sentence(word: str, why: str, found: Mapping[str, Mapping]) -> str:
    """Return the verdict as a sentence: the word, what was measured, and what stays
    open."""
    usual = found[USUAL]
    said = {
        "why": why,
        "open": OPEN,
        "usual": told(usual),
        "exchanged": told(found[EXCHANGED]),
        "near": told(found[NEAR]),
        "level": f"{100 * usual['level']:.4g}%",
        "scope": f", {IN_THESE}" if usual["wordings"] < MIN_UNITS else "",
    }
    return f"{word.capitalize()}: {SENTENCES[word].format_map(said)}"


def told(contrast: Mapping[str, Any]) -> str:
    """Return a contrast as text, such as "+30.0 points (+10.0 to +50.0)", with ",
    below 0" added where its interval is."""
    if below(contrast):
        return f"{extent(contrast)}, below 0"
    return extent(contrast)
