"""A measured figure, said the same way by every benchmark: a line for people, JSON for the page."""

import json
import sys
from collections.abc import Iterable
from typing import NamedTuple

NUMBER = "{:,.0f}", "{:,.1f}", "{:.3g}"


class Figure(NamedTuple):
    """`target`: at most that, or at least where `least`; None: no requirement. `peer`: what was
    measured beside it in the same run, and `theirs` its figure in the same unit."""

    what: str
    value: float
    unit: str
    target: float | None = None
    least: bool = False
    peer: str = ""
    theirs: float | None = None

    @property
    def met(self) -> bool | None:
        if self.target is None:
            return None
        return self.value >= self.target if self.least else self.value <= self.target


def number(value: float) -> str:
    """12,345 · 123.4 · 1.23 · 0.0123."""
    size = abs(value)
    return (
        NUMBER[0] if size >= 1000 else NUMBER[1] if size >= 100 else NUMBER[2]
    ).format(value)


def wanted(figure: Figure) -> str:
    """ "≤ 25 ms", "" where nothing is required."""
    if figure.target is None:
        return ""
    return (
        f"{'≥' if figure.least else '≤'} {number(figure.target)} {figure.unit}".rstrip()
    )


def verdict(figure: Figure) -> str:
    return {True: "met", False: "MISSED", None: ""}[figure.met]


def beside(figure: Figure) -> str:
    """The peer, its figure, and how many times as fast (or as much) ours is."""
    if figure.theirs is None:
        return ""
    times = figure.theirs / figure.value
    return f"{figure.peer} {number(figure.theirs)} {figure.unit}, {times:.2f}×"


def show(figures: Iterable[Figure]) -> int:
    """Print each as it comes, as JSON lines with --json; 1 where a requirement is missed."""
    missed = False
    for figure in figures:
        missed = missed or figure.met is False
        if "--json" in sys.argv:
            print(json.dumps(figure._asdict()), flush=True)
        else:
            print(
                f"{figure.what:<58} {number(figure.value):>9} {figure.unit:<9} "
                f"{wanted(figure):<16} {verdict(figure):<7} {beside(figure)}".rstrip(),
                flush=True,
            )
    return int(missed)
