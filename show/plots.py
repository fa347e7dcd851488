"""Small plots as values, each drawn as SVG and as text; numbers with fixed decimals, so that the
same data give the same bytes.

    figure = Dots("Cooperation by cell", {"all models": [Point("S high", 0.5, 0.25, 0.75, "5/10")]})
    svg(figure)         for a page, in the colours of its sheet
    svg_file(figure)    opens by itself: its styles are inside
    text(figure)        for Markdown and terminal

Colours are classes by meaning (`c-cooperate` …), defined in `figures.py` for light, dark and print;
every kind has its own mark or dash beside its colour, so that nothing rests on colour alone, and
every figure says its numbers in words for those who don't see it.
"""

import itertools
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import Any, NamedTuple

from show import figures
from show.figures import SERIES, interval, percent, rate, signed, visible

BAR = 40        # characters of a full text bar
WIDTH = 420.0   # of every plot: on a phone the text is still 11 px, on a screen 16
MARGIN = 8      # around a drawing that stands alone
STEP = 21.0     # from row to row
LETTER = 6.6    # the usual width of one
# One shape a kind: 0 circle, 1 square, 2 diamond, 3 triangle.
SHAPES = {"cooperate": 0, "defect": 1, "none": 2, "estimate": 0, "pass": 0, "undecided": 2,
          "fail": 1} | {name: shape for shape, name in enumerate(SERIES)}


class Point(NamedTuple):
    """A value with its interval; None where it is not known.

    `kind`: a colour of `DRAWN`, "" for the plot's own choice; `hollow`: drawn as an outline.
    `units`, `ticks`: values behind it, drawn as faint dots behind and as ticks above its row.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""
    kind: str = ""
    hollow: bool = False
    units: Sequence[float] = ()
    ticks: Sequence[float] = ()


class Dots(NamedTuple):
    """Shares with intervals, a row each, on one axis from 0 to 100%; a heading for each group.
    `axis`: its title."""

    title: str
    groups: Mapping[str, Sequence[Point]]
    axis: str = ""


class Intervals(NamedTuple):
    """Differences with intervals around zero, a row each, with a heading for each group; 0.1 is
    shown as +10. A point's note stands below its value."""

    title: str
    groups: Mapping[str, Sequence[Point]]
    unit: str = "percentage points"
    digits: int | None = 0   # of the figures beside each row; None: no figures


class Lines(NamedTuple):
    """Shares over columns, a line a row: {panel: {row: its points by column}}; two panels side by
    side, all on one axis. `kinds`: a colour for each row; `places`: where the columns stand on a
    scale, () for evenly; `levels`: a horizontal band of a panel; `crossings`: the place on the
    scale at which a panel's lines meet it; `axes`: what is across, and what is up."""

    title: str
    columns: Sequence[str]
    panels: Mapping[str, Mapping[str, Sequence[Point]]]
    kinds: Sequence[str] = SERIES
    places: Sequence[float] = ()
    levels: Mapping[str, Point] = MappingProxyType({})
    crossings: Mapping[str, Point] = MappingProxyType({})
    axes: tuple[str, str] = ("", "")


Figure = Dots | Intervals | Lines


def svg(figure: Figure) -> str:
    """The drawing for a page that has the sheet of `figures.py`."""
    return _svg(figure, "")


def svg_file(figure: Figure, stamp: str = "") -> str:
    """The drawing as a file of its own, in the light colours; `stamp`: a word below it."""
    return (f'<?xml version="1.0" encoding="UTF-8"?>\n'
            f"{_svg(figure, f'<style>{figures.SVG_FILE}</style>', stamp)}\n")


def text(figure: Figure) -> str:
    """The drawing in characters."""
    return DRAWN[type(figure)].text(figure)


def _svg(figure: Figure, style: str, stamp: str = "") -> str:
    height, parts = DRAWN[type(figure)].svg(figure)
    if stamp:
        height += 18
        parts.append(_text(WIDTH, height - 4, stamp, "head", "end"))
    title, says = (escape(visible(words)) for words in (figure.title, in_words(figure)))
    edge = MARGIN if style else 0
    wide, high = WIDTH + 2 * edge, height + 2 * edge
    size = (f' xmlns="http://www.w3.org/2000/svg" width="{wide:g}" height="{high:g}"'
            if style else "")
    return (f'<svg{size} viewBox="{-edge} {-edge} {wide:g} {high:g}" role="img" '
            f'aria-label="{title}">'
            f'<title>{title}</title><desc>{says}</desc>{style}{"".join(parts)}</svg>')


def in_words(figure: Figure) -> str:
    """Its numbers in words, for a reader who hears the page."""
    return "; ".join(DRAWN[type(figure)].says(figure))


# --- parts of a drawing ------------------------------------------------------------------------

def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    look_ = f' class="{kind}"' if kind else ""
    return (f'<text x="{x:.1f}" y="{y:.1f}"{look_} text-anchor="{anchor}">'
            f"{escape(visible(words))}</text>")


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def mark(kind: str, x: float, y: float, hollow: bool = False) -> str:
    """The shape of a kind, in its colour: a circle, square, diamond or triangle."""
    r, shape = 4.5, SHAPES[kind]
    look_ = f"{'h' if hollow else 'c'}-{kind}"
    if shape == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:g}" class="{look_}"/>'
    corners = {1: ((-r, -r), (r, -r), (r, r), (-r, r)),
               2: ((0, -r - 1), (r + 1, 0), (0, r + 1), (-r - 1, 0)),
               3: ((0, -r), (r, r), (-r, r))}[shape]
    outline = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{outline}" class="{look_}"/>'


def _dot(point: Point, kind: str, place: Callable[[float], float], y: float) -> Iterator[str]:
    """A mark with its interval along a row, over its units; `place` maps a value to x."""
    yield from (f'<circle cx="{place(v):.1f}" cy="{y:.1f}" r="3" class="f-none faint"/>'
                for v in point.units)
    if point.low is not None and point.high is not None:
        a, b = place(point.low), place(point.high)
        yield _line(a, y, b, y, f"bar s-{kind}")
        yield from (_line(x, y - 4, x, y + 4, f"bar s-{kind}") for x in (a, b))
    yield mark(kind, place(point.value), y, point.hollow)
    yield from (_line(place(v), y - 10, place(v), y - 6, "bar s-none faint") for v in point.ticks)


def _short(words: str, room: float) -> str:
    most = int(room / LETTER)
    return words if len(words) <= most else words[:most - 1] + "…"


def _in_lines(words: str, room: float) -> list[str]:
    """Lines of whole words."""
    lines = textwrap.wrap(words, int(room / LETTER), break_long_words=False)
    return [_short(line, room) for line in lines] or [""]


def _rate(point: Point) -> str:
    share = rate(point.value, point.low, point.high) if point.value is not None else "no data"
    return f"{point.label} {share}".strip()


# --- shares, a row each ------------------------------------------------------------------------

def _dots_svg(figure: Dots) -> tuple[float, list[str]]:
    every = [point for points in figure.groups.values() for point in points]
    left = min(170.0, 16 + LETTER * max((len(point.label) for point in every), default=0))
    notes = max((len(point.note) for point in every), default=0)
    right = 44 + LETTER * notes
    span, body, y = WIDTH - left - right, [], 14.0
    for name, points in figure.groups.items():
        if name:
            body.append(_text(0, y + 4, _short(name, WIDTH), "head"))
            y += STEP
        for series, point in enumerate(points):
            body.append(_text(8, y + 4, _short(point.label, left)))
            share = f"{percent(point.value)}  {point.note}".rstrip()
            known = share if point.value is not None else point.note or "no data"
            body.append(_text(WIDTH, y + 4, known, "num", "end"))
            if point.value is not None:
                kind = point.kind or SERIES[series % len(SERIES)]
                body += _dot(point, kind, lambda v: left + span * v, y)
            y += STEP
        y += 4
    axis = []
    for tick in range(0, 101, 25):
        x = left + span * tick / 100
        axis += [_line(x, 6, x, y - 10, "grid"), _text(x, y + 5, f"{tick}%", "dim", "middle")]
    if figure.axis:
        axis.append(_text(left + span / 2, y + 21, figure.axis, "dim", "middle"))
    return y + 10 + 16 * bool(figure.axis), axis + body


def bars(points: Sequence[Point], width: int = BAR) -> str:
    """Text bars from 0 to 1: █ to the interval's lower end, ▒ on to the value, ─ to the upper end.

    >>> print(bars([Point("a", 0.5, 0.25, 0.75, "5/10")], 8))
    a  ██▒▒──··  50%  (25 to 75)  5/10
    """
    left = max((len(point.label) for point in points), default=0)
    return "\n".join(_bar(point, left, width) for point in points)


def _bar(point: Point, left: int, width: int) -> str:
    head = f"{point.label:<{left}}  "
    if point.value is None:
        return f"{head}{'·' * width}  {point.note or 'no data'}"
    known = point.low is not None and point.high is not None
    edges = (point.low, point.value, point.high) if known else (point.value,) * 3
    low, value, high = (round(edge * width) for edge in edges)
    bar = "█" * low + "▒" * (value - low) + "─" * (high - value) + "·" * (width - high)
    inner = f"  ({interval(point.low, point.high, 0, scale=100)})" if known else ""
    return f"{head}{bar} {percent(point.value):>4}{inner}  {point.note}".rstrip()


def _dots_text(figure: Dots) -> str:
    named = len(figure.groups) > 1
    return "\n\n".join((f"{name}\n" if named else "") + bars(points)
                       for name, points in figure.groups.items())


def _dots_says(figure: Dots) -> Iterator[str]:
    for name, points in figure.groups.items():
        yield (f"{name}: " if name else "") + ", ".join(map(_rate, points))


# --- differences, a row each -------------------------------------------------------------------

def _ticks(points: Sequence[Point]) -> list[float]:
    """Round numbers that hold zero and every interval, seven at most."""
    known = [v for p in points for v in (p.value, p.low, p.high, *p.units, *p.ticks)
             if v is not None] or [0.1]
    low, high = min(0.0, *known), max(0.0, *known)
    step = next(step for step in (0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)
                if (high - low) / step <= 5 or step == 1.0)
    return [at * step for at in range(math.floor(low / step + 1e-9),
                                      math.ceil(high / step - 1e-9) + 1)]


def _intervals_svg(figure: Intervals) -> tuple[float, list[str]]:
    every = [point for points in figure.groups.values() for point in points]
    left = min(150.0, 16 + LETTER * max((len(point.label) for point in every), default=0))
    sides = [[_difference(point, figure.digits)] * (figure.digits is not None)
             + [point.note] * bool(point.note)
             for point in every]
    right = 18 + LETTER * max((len(words) for side in sides for words in side), default=0)
    span, ticks, parts, y = WIDTH - left - right, _ticks(every), [], 16.0

    def place(value: float) -> float:
        return left + span * (value - ticks[0]) / ((ticks[-1] - ticks[0]) or 1)

    for name, points in figure.groups.items():
        for words in _in_lines(name, WIDTH / 1.1) if name else []:
            parts.append(_text(0, y + 2, words, "head"))
            y += 16
        start, y = y - 10, y + 6 * bool(name)
        for point in points:
            label = _in_lines(point.label, left - 6)
            side = sides.pop(0)
            parts += [_text(0, y + 4 + 14 * at, words) for at, words in enumerate(label)]
            parts += [_text(WIDTH, y + 4 + 14 * at, words, "dim" if at else "num", "end")
                      for at, words in enumerate(side)]
            if point.value is not None:
                parts += _dot(point, point.kind or "estimate", place, y)
            y += STEP + max(14 * (max(len(label), len(side)) - 1) + 2, 2 * bool(point.units))
        parts[:0] = [_line(place(tick), start, place(tick), y - 10,
                           "grid" if abs(tick) > 1e-9 else "zero") for tick in ticks]
        y += 4 * bool(name)
    apart = 1 + (len(ticks) > 5)   # every second number where there are many
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1
    axis = [_text(place(tick), y + 5, signed(100 * tick, 0), "dim", "middle")
            for tick in ticks if round(tick / step) % apart == 0]
    return y + 26, [*parts, *axis, _text(left + span / 2, y + 21, figure.unit, "dim", "middle")]


def _difference(point: Point, digits: int | None) -> str:
    if point.value is None:
        return "no data"
    inner = interval(point.low, point.high, digits or 0, sign=True, scale=100)
    return signed(100 * point.value, digits or 0) + (f" ({inner})" if inner else "")


def _intervals_text(figure: Intervals) -> str:
    """A row each: ├─●─┤ on a line with zero at │."""
    every = [point for points in figure.groups.values() for point in points]
    ticks, left = _ticks(every), max((len(point.label) for point in every), default=0)

    def place(value: float) -> int:
        return round((value - ticks[0]) / ((ticks[-1] - ticks[0]) or 1) * (BAR - 1))

    return "\n\n".join("\n".join([*([name] if name else []), *(
        f"{point.label:<{left}}  {_strip(point, place)}  {_difference(point, figure.digits)}"
        f"  {point.note}".rstrip() for point in points)]) for name, points in figure.groups.items())


def _strip(point: Point, place: Callable[[float], int]) -> str:
    row = ["·"] * BAR
    if point.low is not None and point.high is not None:
        a, b = place(point.low), place(point.high) + 1
        row[a:b] = "─" * (b - a)
    row[place(0)] = "│" if row[place(0)] == "·" else "┼"
    if point.value is not None:
        row[place(point.value)] = "●"
    return "".join(row)


def _intervals_says(figure: Intervals) -> Iterator[str]:
    for name, points in figure.groups.items():
        yield from (f"{name} {point.label}: {_difference(point, figure.digits)} "
                    f"{point.note}".strip() for point in points)


# --- lines over columns ------------------------------------------------------------------------

def _lines_svg(figure: Lines) -> tuple[float, list[str]]:
    across = min(2, len(figure.panels))
    left, gap, head = 38.0, 14.0, 18.0 * any(figure.panels)
    wide = (WIDTH - left - gap * (across - 1)) / across
    tall = 160.0 if len(figure.panels) <= across else 100.0
    top, parts = 10.0, []
    if figure.axes[1]:
        parts, top = [_text(0, top, figure.axes[1], "dim")], top + 12
    deep = max(len(_in_lines(name, wide / len(figure.columns) - 12)) for name in figure.columns)
    for at, (name, rows) in enumerate(figure.panels.items()):
        x, y = left + (wide + gap) * (at % across), top + (tall + head + 12) * (at // across) + head
        parts.append(_text(x, y - 8, _short(name, wide), "head") if name else "")
        for tick in range(0, 101, 25):
            up = y + tall * (1 - tick / 100)
            parts.append(_line(x, up, x + wide, up, "grid"))
            if at % across == 0 and (tick % 50 == 0 or tall > 100):
                parts.append(_text(x - 6, up + 4, f"{tick}%", "dim", "end"))
        parts += _panel(figure, name, rows, (x, wide, y, y + tall))
        if at + across >= len(figure.panels):
            parts += _columns(figure, x, wide, y + tall)
    rows = list(dict.fromkeys(name for rows in figure.panels.values() for name in rows))
    base = top + (tall + head + 12) * math.ceil(len(figure.panels) / across) + 14 * deep + 4
    if figure.axes[0]:
        parts.append(_text((left + WIDTH) / 2, base + 2, figure.axes[0], "dim", "middle"))
        base += 16
    beside = _across(rows)
    return (base + 26 + 18 * (math.ceil(len(rows) / beside) - 1),
            [*parts, *_legend(rows, figure.kinds, base + 12, beside)])


def _spots(figure: Lines, x: float, wide: float) -> list[float]:
    """Where the columns stand in a panel."""
    if not figure.places:
        return [x + wide / len(figure.columns) * (at + 0.5) for at in range(len(figure.columns))]
    return [_along(figure, x, wide, place) for place in figure.places]


def _along(figure: Lines, x: float, wide: float, value: float) -> float:
    first, last = min(figure.places), max(figure.places)
    return x + 10 + (wide - 20) * (value - first) / (last - first)


def _columns(figure: Lines, x: float, wide: float, base: float) -> Iterator[str]:
    """Their names; on a scale, those that have room."""
    room, free = wide / len(figure.columns) - 12, 0.0
    for spot, name in zip(_spots(figure, x, wide), figure.columns, strict=True):
        lines = [name] if figure.places else _in_lines(name, room)
        if spot >= free:
            yield from (_text(spot, base + 16 + 14 * below, words, "", "middle")
                        for below, words in enumerate(lines))
            free = spot + 22 if figure.places else free


def _panel(figure: Lines, name: str, rows: Mapping[str, Sequence[Point]],
           frame: tuple[float, float, float, float]) -> Iterator[str]:
    """A band, lines and intervals inside (x, width, top, base)."""
    x0, wide, top, base = frame

    def place(value: float) -> float:
        return top + (base - top) * (1 - value)

    level, crossing = figure.levels.get(name), figure.crossings.get(name)
    if level and level.value is not None:
        y = place(level.value)
        if level.low is not None and level.high is not None:
            yield (f'<rect x="{x0:.1f}" y="{place(level.high):.1f}" width="{wide:.1f}" '
                   f'height="{place(level.low) - place(level.high):.1f}" class="f-none band"/>')
        yield _line(x0, y, x0 + wide, y, "stroke d2 s-estimate")
    for series, points in enumerate(rows.values()):
        kind = figure.kinds[series % len(figure.kinds)]
        shift = (series - (len(rows) - 1) / 2) * 9  # intervals side by side, not on each other
        spots = [(x + shift, p) for x, p in zip(_spots(figure, x0, wide), points, strict=True)
                 if p.value is not None]
        for (x1, p1), (x2, p2) in itertools.pairwise(spots):
            yield _line(x1, place(p1.value), x2, place(p2.value),
                        f"stroke d{series % 4 + 1} s-{kind}")
        for x, p in spots:
            if p.low is not None and p.high is not None:
                yield _line(x, place(p.low), x, place(p.high), f"bar s-{kind}")
            yield mark(kind, x, place(p.value), p.hollow)
    if level and crossing and None not in (level.value, crossing.value):
        yield from _dot(crossing, "estimate", lambda v: _along(figure, x0, wide, v),
                        place(level.value))


def _across(rows: Sequence[str]) -> int:
    """How many names of a legend stand side by side."""
    longest = 34 + LETTER * max(map(len, rows), default=0)
    return max(1, min(len(rows), int(WIDTH / longest)))


def _legend(rows: Sequence[str], kinds: Sequence[str], top: float, across: int) -> Iterator[str]:
    for series, name in enumerate(rows):
        kind, x = kinds[series % len(kinds)], WIDTH * (series % across) / across + 14
        y = top + 18 * (series // across)
        yield _line(x - 14, y, x + 14, y, f"stroke d{series % 4 + 1} s-{kind}")
        yield mark(kind, x, y)
        yield _text(x + 20, y + 4, _short(name, WIDTH / across - 34))


def _lines_text(figure: Lines) -> str:
    """Bars by column and row."""
    return "\n\n".join((f"{panel}\n" if panel else "") + bars(
        [points[at]._replace(label=f"{column} · {name}")
         for at, column in enumerate(figure.columns) for name, points in rows.items()
         if points[at].value is not None]
        + [level for name, level in figure.levels.items() if name == panel])
        for panel, rows in figure.panels.items())


def _lines_says(figure: Lines) -> Iterator[str]:
    for panel, rows in figure.panels.items():
        for name, points in rows.items():
            yield f"{panel} {name}: ".lstrip() + ", ".join(
                _rate(point._replace(label=column))
                for column, point in zip(figure.columns, points, strict=True))
        if panel in figure.levels:
            yield _rate(figure.levels[panel])


class Drawn(NamedTuple):
    """How a kind of figure is drawn: (height, parts) of its SVG, characters, words."""

    svg: Callable[[Any], tuple[float, list[str]]]
    text: Callable[[Any], str]
    says: Callable[[Any], Iterator[str]]


DRAWN = {Dots: Drawn(_dots_svg, _dots_text, _dots_says),
         Intervals: Drawn(_intervals_svg, _intervals_text, _intervals_says),
         Lines: Drawn(_lines_svg, _lines_text, _lines_says)}
