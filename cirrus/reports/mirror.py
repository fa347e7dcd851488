"""Shows the mirror study in a report: a figure of the four games, and tables of cells
and contrasts.

    figure(by_model)          the figure
    details(by_model)         a fold for each model, with its tables

`by_model` is {model: its part of the analysis}, as `cirrus.judge.mirror.judged` returns
it.
"""

from collections.abc import Mapping
from typing import Any

from cirrus.judge.mirror import label_of
from show import document as doc
from show.figures import NONE, counted, estimate, rate
from show.plots import Lines, Point

Part = Mapping[str, Any]
ByModel = Mapping[str, Part]

CELLS = {
    "PD18": "lines as usual, 18 of 20 alike: evidence says late",
    "PD2": "lines as usual, 2 of 20 alike: evidence says early",
    "M18": "the other's entries exchanged, 18 of 20 alike: evidence says early",
    "M2": "the other's entries exchanged, 2 of 20 alike: evidence says late",
    "near": "14 of 20 alike, enough for the late entry",
    "far": "14 of 20 alike, too few for the late entry",
}
RATES = ("2 of 20 alike", "18 of 20 alike")
GAMES = {
    "lines as usual": ("PD2", "PD18"),
    "the other's entries exchanged": ("M2", "M18"),
}
CAPTION = (
    "Who takes its own entry as evidence of the other's goes up as usual and down where the other's "
    "entries are exchanged; who likes the number goes up, or down, in both. 95% intervals."
)
CELL_HEAD = ("cell", "late", "share (95% interval)", "missing")
OF_HALVES = (
    "Beside an early entry of the other's a late one costs 8 to 10 times what it costs beside a late "
    "one in the high half of the bulletins, 1/8 to 1/10 in the low half."
)
CONTRAST_HEAD = ("contrast", "points (interval)", "bulletins", "limits by")
COLUMNS = ("as usual", "exchanged", "enough − too few")


def figure(by_model: ByModel) -> doc.Plot:
    """Draw the share of late entries in the four games, by the share of earlier
    pairs that acted alike."""
    panels = {model: games(part) for model, part in by_model.items()}
    axes = ("earlier cases of the class that applies", "share late")
    drawing = Lines("Late entries by record and game", RATES, panels, axes)
    return doc.Plot(drawing, CAPTION)


def games(part: Part) -> dict[str, list[Point]]:
    """Return a model's line for each game: {game: points}."""
    rows = {}
    for game, names in GAMES.items():
        rows[game] = [point(part, cell) for cell in names]
    return rows


def point(part: Part, cell: str) -> Point:
    """Return how often a cell was answered late; without an interval it has no
    estimate."""
    share = part["cells"][cell]
    k, n, low = share["k"], share["n"], share["low"]
    value = None if low is None else k / n
    return Point(CELLS[cell], value, low, share["high"], counted(k, n))


def details(by_model: ByModel) -> list[doc.Fold]:
    """Return a fold for each model, with its cells and its contrasts."""
    folds = []
    for model, part in by_model.items():
        tables = [cells(model, part), contrasts(model, part)]
        folds.append(doc.Fold(model, tables))
    return folds


def cells(model: str, part: Part) -> doc.Table:
    """Return the table of how often each cell was answered late."""
    rows = []
    for cell in CELLS:
        shown = point(part, cell)
        said = rate(shown.value, shown.low, shown.high)
        missing = str(part["cells"][cell]["missing"])
        rows.append([shown.label, shown.note, said, missing])
    return doc.Table(CELL_HEAD, rows, (1, 2, 3), f"Cells, {model}", f"cells {model}")


def contrasts(model: str, part: Part) -> doc.Table:
    """Return the table of all contrasts: over all bulletins, in each half, and by
    order of classes."""
    rows = []
    for name, contrast in part["contrasts"].items():
        units = str(contrast["units"])
        rule = contrast["limit_by"] or contrast["why"] or NONE
        rows.append([label_of(name), estimate(contrast, 100, 1), units, rule])
    caption = f"Contrasts, {model}. {OF_HALVES}"
    return doc.Table(CONTRAST_HEAD, rows, (1, 2), caption, f"contrasts {model}")
