"""Small plots, in text and in SVG. Numbers are drawn with fixed decimals: same data, same bytes.

Colours are classes by meaning (`c-cooperate` …) that `look.py` defines for light, dark and print;
every kind has its own mark or dash beside its colour, so that nothing rests on colour alone, and
every figure says its numbers in words for those who don't see it.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from show.figures import interval, percent, rate, signed
from show.old_look import SERIES

BAR = 40  # characters of a full text bar
# One shape a kind: 0 circle, 1 square, 2 diamond, 3 triangle.
SHAPES = {"cooperate": 0, "defect": 1, "none": 2, "estimate": 0} | {
    name: shape for shape, name in enumerate(SERIES)}


class Point(NamedTuple):
    """A proportion with its interval; None where it is not known.

    `kind`: a colour of `look.DRAWN`, "" for the plot's own choice; `hollow`: drawn as an outline.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""
    kind: str = ""
    hollow: bool = False


def bars(points: Sequence[Point], width: int = BAR) -> str:
    """Text bars from 0 to 1: █ to the interval's lower end, ▒ on to the value, ─ to the upper end.

    >>> print(bars([Point("a", 0.5, 0.25, 0.75, "5/10")], 8))
    a  ██▒▒──··  50%  (25 to 75)  5/10
    """
    left = max(len(point.label) for point in points)
    return "\n".join(_bar(point, left, width) for point in points)


def _bar(point: Point, left: int, width: int) -> str:
    head = f"{point.label:<{left}}  "
    if point.value is None:
        return f"{head}{'·' * width}  no data  {point.note}".rstrip()
    known = point.low is not None and point.high is not None
    edges = (point.low, point.value, point.high) if known else (point.value,) * 3
    low, value, high = (round(edge * width) for edge in edges)
    bar = "█" * low + "▒" * (value - low) + "─" * (high - value) + "·" * (width - high)
    said = f"  ({interval(point.low, point.high, 0, scale=100)})" if known else ""
    return f"{head}{bar} {100 * point.value:3.0f}%{said}  {point.note}".rstrip()


def interaction(rows: Mapping[str, Sequence[float | None]], columns: Sequence[str],
                height: int = 11, width: int = 44) -> str:
    """Text plot of two lines over two columns, 0 to 100%. `rows`: {name: values by column}."""
    marks = dict(zip(rows, "●○▲△", strict=False))
    grid = [[" "] * width for _ in range(height)]
    at = [5, width - 6]
    for name, values in rows.items():
        spots = [None if v is None else round((1 - v) * (height - 1)) for v in values]
        if None not in spots:
            _stroke(grid, at, spots)
        for x, y in zip(at, spots, strict=True):
            if y is not None:
                grid[y][x] = "◉" if grid[y][x] in marks.values() else marks[name]
    lines = [f"{100 - 100 * i / (height - 1):4.0f}% │{''.join(line)}".rstrip()
             for i, line in enumerate(grid)]
    lines.append("      └" + "─" * width)
    lines.append("       " + columns[0].center(12).ljust(width - 12) + columns[1].center(12))
    lines.append("       " + "    ".join(f"{mark} {name}" for name, mark in marks.items())
                 + "    ◉ both")
    return "\n".join(line.rstrip() for line in lines)


def _stroke(grid: list[list[str]], at: Sequence[int], spots: Sequence[int]) -> None:
    for x in range(at[0] + 2, at[1] - 1, 2):
        y = spots[0] + (spots[1] - spots[0]) * (x - at[0]) / (at[1] - at[0])
        if grid[round(y)][x] == " ":
            grid[round(y)][x] = "·"


# --- SVG ---------------------------------------------------------------------------------------

def _svg(width: float, height: float, title: str, parts: Sequence[str], says: str) -> str:
    """`says`: the numbers in words, for a reader who hears the page."""
    return (f'<svg viewBox="0 0 {width:g} {height:g}" role="img" '
            f'aria-label="{escape(title, quote=True)}"><title>{escape(title)}</title>'
            f'<desc>{escape(says)}</desc>{"".join(parts)}</svg>')


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">'
            f'{escape(words)}</text>')


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def mark(kind: str, x: float, y: float, hollow: bool = False, size: float = 4.5) -> str:
    """The shape of a kind, in its colour: a circle, square, diamond or triangle."""
    r, shape = size, SHAPES[kind]
    look = f"{'h' if hollow else 'c'}-{kind}"
    if shape == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:g}" class="{look}"/>'
    outline = {
        1: f"{x - r:.1f},{y - r:.1f} {x + r:.1f},{y - r:.1f} {x + r:.1f},{y + r:.1f} "
           f"{x - r:.1f},{y + r:.1f}",
        2: f"{x:.1f},{y - r - 1:.1f} {x + r + 1:.1f},{y:.1f} {x:.1f},{y + r + 1:.1f} "
           f"{x - r - 1:.1f},{y:.1f}",
        3: f"{x:.1f},{y - r:.1f} {x + r:.1f},{y + r:.1f} {x - r:.1f},{y + r:.1f}"}[shape]
    return f'<polygon points="{outline}" class="{look}"/>'


WIDTH = 420.0  # of every plot: on a phone the text is still 11 px, on a screen 16


def _axis(left: float, span: float, top: float, bottom: float) -> list[str]:
    """Grid and labels of a horizontal axis from 0 to 100%."""
    out = []
    for tick in range(0, 101, 25):
        x = left + span * tick / 100
        out += [_line(x, top, x, bottom, "grid"),
                _text(x, bottom + 14, f"{tick}%", "dim", "middle")]
    return out


def dot_plot(groups: Mapping[str, Sequence[Point]], title: str) -> str:
    """Rows of points with intervals on one axis from 0 to 100%, a heading for each group."""
    left, right, step = 130.0, 74.0, 21.0
    span, body, y = WIDTH - left - right, [], 14.0
    for name, points in groups.items():
        body.append(_text(0, y + 4, _short(name, 52), "head"))
        y += step
        for series, point in enumerate(points):
            body.append(_text(8, y + 4, point.label))
            if point.value is None:
                body.append(_text(left, y + 4, "no data", "dim"))
            else:
                body += _dot(point, point.kind or _series(series), lambda v: left + span * v, y)
                body.append(_text(WIDTH, y + 4, f"{percent(point.value)}  {point.note}".rstrip(),
                                  "num", "end"))
            y += step
        y += 6
    says = "; ".join(f"{name}: " + ", ".join(map(_rate, points))
                     for name, points in groups.items())
    return _svg(WIDTH, y + 10, title, _axis(left, span, 6, y - 8) + body, says)


def _series(index: int) -> str:
    return SERIES[index % len(SERIES)]


def _rate(point: Point) -> str:
    said = rate(point.value, point.low, point.high) if point.value is not None else "no data"
    return f"{point.label} {said}".strip()


def _dot(point: Point, kind: str, place, y: float) -> list[str]:
    """A mark with its interval along a row; `place` maps a value to x."""
    out = []
    if point.low is not None and point.high is not None:
        a, b = place(point.low), place(point.high)
        out = [_line(a, y, b, y, f"bar s-{kind}")]
        out += [_line(x, y - 4, x, y + 4, f"bar s-{kind}") for x in (a, b)]
    return [*out, mark(kind, place(point.value), y, point.hollow)]


def _short(words: str, most: int) -> str:
    return words if len(words) <= most else words[:most - 1] + "…"


def forest(points: Sequence[Point], title: str, unit: str = "points") -> str:
    """Differences with intervals around a zero line; 0.1 is shown as +10."""
    known = [abs(v) for p in points for v in (p.value, p.low, p.high) if v is not None]
    reach = max(0.2, min(1.0, math.ceil(max(known, default=0.2) * 10) / 10))
    left, right, step = 8.0, 52.0, 38.0
    span, bottom = WIDTH - left - right, 4 + step * len(points)

    def place(value: float) -> float:
        return left + span * (max(-reach, min(reach, value)) + reach) / (2 * reach)

    parts = []
    for tick in (-reach, -reach / 2, 0, reach / 2, reach):
        parts += [_line(place(tick), 2, place(tick), bottom, "grid" if tick else "zero"),
                  _text(place(tick), bottom + 14, signed(100 * tick, 0), "dim", "middle")]
    for row, point in enumerate(points):
        y = 26 + step * row
        parts.append(_text(0, y - 10, _short(point.label, 58), "halo"))
        if point.value is None:
            parts.append(_text(WIDTH, y + 4, "no data", "dim", "end"))
            continue
        parts += _dot(point, point.kind or "estimate", place, y)
        parts.append(_text(WIDTH, y + 4, signed(100 * point.value, 1), "num", "end"))
    parts.append(_text(left + span / 2, bottom + 30, unit, "dim", "middle"))
    return _svg(WIDTH, bottom + 36, title, parts, "; ".join(map(_difference, points)))


def _difference(point: Point) -> str:
    if point.value is None:
        return f"{point.label}: no data"
    inner = interval(point.low, point.high, 1, sign=True, scale=100)
    return f"{point.label}: {signed(100 * point.value, 1)}" + (f" ({inner})" if inner else "")


def lines(rows: Mapping[str, Sequence[Point]], columns: Sequence[str], title: str,
          kinds: Sequence[str] = SERIES) -> str:
    """Interaction plot: one line a row over the columns, 0 to 100%, with intervals.

    `kinds`: a colour for each row; each has its own mark, and each line its own dash.
    """
    left, top, base, right = 44.0, 10.0, 210.0, WIDTH - 10

    def place(value: float) -> float:
        return top + (base - top) * (1 - value)

    gap = (right - left) / len(columns)
    at = [left + gap * (i + 0.5) for i in range(len(columns))]
    parts = []
    for tick in range(0, 101, 25):
        y = place(tick / 100)
        parts += [_line(left, y, right, y, "grid"),
                  _text(left - 6, y + 4, f"{tick}%", "dim", "end")]
    parts += [_text(x, base + 18, name, "", "middle") for x, name in zip(at, columns, strict=True)]
    for series, (name, points) in enumerate(rows.items()):
        kind = kinds[series % len(kinds)]
        shift = (series - (len(rows) - 1) / 2) * 10  # intervals side by side, not on each other
        spots = [(x + shift, p) for x, p in zip(at, points, strict=True) if p.value is not None]
        for (x1, p1), (x2, p2) in itertools.pairwise(spots):
            parts.append(_line(x1, place(p1.value), x2, place(p2.value),
                               f"stroke d{series % 4 + 1} s-{kind}"))
        for x, p in spots:
            if p.low is not None and p.high is not None:
                parts.append(_line(x, place(p.low), x, place(p.high), f"bar s-{kind}"))
            parts.append(mark(kind, x, place(p.value), p.hollow))
        x = left + (right - left) * series / len(rows) + 12
        parts += [_line(x - 14, base + 40, x + 14, base + 40, f"stroke d{series % 4 + 1} s-{kind}"),
                  mark(kind, x, base + 40), _text(x + 20, base + 44, _short(name, 24))]
    says = "; ".join(f"{name}: " + ", ".join(
        _rate(point._replace(label=column)) for column, point in zip(columns, points, strict=True))
        for name, points in rows.items())
    return _svg(WIDTH, base + 54, title, parts, says)


LETTER = 7.4  # the width of one, in a bar's label


def stack(groups: Mapping[str, Mapping[str, int]], series: Mapping[str, str], title: str) -> str:
    """Stacked shares, one row a group: how its counts divide. `series`: {kind: colour}.

    A part is named in the bar where there is room, counted where there is less; the legend has
    the order of the bars.
    """
    right, step = 40.0, 44.0
    span, parts = WIDTH - right, []
    for row, (name, counts) in enumerate(groups.items()):
        y, x, total = 18 + step * row, 0.0, sum(counts.values())
        parts.append(_text(0, y - 5, _short(name, 52), "head"))
        for kind, colour in series.items():
            width = span * counts.get(kind, 0) / total if total else 0
            if not width:
                continue
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width - 1, 0.5):.1f}" height="18" '
                f'class="f-{colour}"><title>{escape(kind)}: {counts[kind]}</title></rect>')
            label = f"{counts[kind]} {kind}"
            label = label if width > LETTER * len(label) + 6 else str(counts[kind])
            if width > LETTER * len(label) + 4:
                parts.append(_text(x + width / 2, y + 13.5, label, "on", "middle"))
            x += width
        parts.append(_text(WIDTH, y + 14, str(total), "num", "end"))
    y, x = 12 + step * len(groups), 0.0
    for kind, colour in series.items():
        parts += [f'<rect x="{x:.1f}" y="{y:.1f}" width="11" height="11" class="f-{colour}"/>',
                  _text(x + 16, y + 10, kind)]
        x += 34 + 6.6 * len(kind)
    says = "; ".join(f"{name}: " + ", ".join(f"{counts.get(kind, 0)} {kind}" for kind in series)
                     for name, counts in groups.items())
    return _svg(WIDTH, y + 18, title, parts, says)
