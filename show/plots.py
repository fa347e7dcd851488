"""Small plots as values, each drawn as SVG and as text; numbers with fixed decimals, so that the
same data give the same bytes.

    figure = Dots("Cooperation by cell", {"m": [Point("neither", 0.5, 0.25, 0.75)]}, "share")
    svg(figure)         for a page, in the colours of its sheet
    svg_file(figure)    opens by itself: its styles are inside
    text(figure)        for Markdown and terminal

Colours are classes by meaning (`c-present` …), defined in `figures.py` for light, dark and print;
every kind has its own mark or dash beside its colour, so that nothing rests on colour alone, and
every figure says its numbers in words for those who don't see it.
"""

import itertools
import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import NamedTuple

from show import figures
from show.figures import SERIES, estimate, interval, percent, rate, signed, visible

BAR = 40  # characters of a full text bar
WIDTH = 420.0  # of every plot: on a phone the text is still 11 px, on a screen 16
MARGIN = 8  # around a drawing that stands alone
STEP = 21.0  # from row to row
LETTER = 6.6  # the usual width of one
R = 4.5  # half of a mark
# Corners of each kind's mark: a circle has none, then square, diamond, triangle.
SHAPES = dict(
    zip(
        (*SERIES, "estimate"),
        (
            (),
            ((-R, -R), (R, -R), (R, R), (-R, R)),
            ((0, -R - 1), (R + 1, 0), (0, R + 1), (-R - 1, 0)),
            ((0, -R), (R, R), (-R, R)),
            (),
        ),
        strict=True,
    )
)


class Point(NamedTuple):
    """A value with its interval; None where it is not known.

    `kind`: its colour in `Dots`, "" for that of its place; `hollow`: drawn as an outline.
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

    @property
    def limits(self) -> tuple[float, ...]:
        """Its interval, () where there is none."""
        return () if self.low is None or self.high is None else (self.low, self.high)


class Dots(NamedTuple):
    """Shares with intervals, a row each, on one axis from 0 to 100%; a heading for each group.
    `axis`: its title."""

    title: str
    groups: Mapping[str, Sequence[Point]]
    axis: str


class Intervals(NamedTuple):
    """Differences with intervals around zero, a row each, with a heading for each group; 0.1 is
    shown as +10. A point's note stands below its value. `numbers`: whether the values have room."""

    title: str
    groups: Mapping[str, Sequence[Point]]
    unit: str
    numbers: bool = True


class Lines(NamedTuple):
    """Shares over columns, a line a row: {panel: {row: its points by column}}; two panels side by
    side, all on one axis. `axes`: what is across, and what is up; `places`: where the columns stand
    on a scale, () for evenly; `levels`: a horizontal band of a panel, and the place on the scale at
    which its lines meet it."""

    title: str
    columns: Sequence[str]
    panels: Mapping[str, Mapping[str, Sequence[Point]]]
    axes: tuple[str, str]
    places: Sequence[float] = ()
    levels: Mapping[str, tuple[Point, Point]] = MappingProxyType({})


Figure = Dots | Intervals | Lines


def svg(figure: Figure) -> str:
    """The drawing for a page that has the sheet of `figures.py`."""
    height, parts = SVG[type(figure)](figure)
    return f'<svg viewBox="0 0 {WIDTH:g} {height:g}" {_inside(figure, parts)}'


def svg_file(figure: Figure, stamp: str = "") -> str:
    """The drawing as a file of its own, in the light colours; `stamp`: a word below it."""
    height, parts = SVG[type(figure)](figure)
    if stamp:
        height += 18
        parts.append(_text(WIDTH, height - 4, stamp, "head", "end"))
    wide, high = WIDTH + 2 * MARGIN, height + 2 * MARGIN
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" '
        f'width="{wide:g}" height="{high:g}" '
        f'viewBox="{-MARGIN} {-MARGIN} {wide:g} {high:g}" '
        f"{_inside(figure, [f'<style>{figures.SVG_FILE}</style>', *parts])}\n"
    )


def _inside(figure: Figure, parts: Sequence[str]) -> str:
    title, numbers = (
        escape(visible(words))
        for words in (figure.title, "; ".join(NUMBERS[type(figure)](figure)))
    )
    return (
        f'role="img" aria-label="{title}"><title>{title}</title><desc>{numbers}</desc>'
        f"{''.join(parts)}</svg>"
    )


def text(figure: Figure) -> str:
    """The drawing in characters."""
    return TEXT[type(figure)](figure)


# --- parts of a drawing ------------------------------------------------------------------------


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    look = f' class="{kind}"' if kind else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}"{look} text-anchor="{anchor}">'
        f"{escape(visible(words))}</text>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def _mark(kind: str, x: float, y: float, hollow: bool = False) -> str:
    look = f"{'h' if hollow else 'c'}-{kind}"
    if not SHAPES[kind]:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{R:g}" class="{look}"/>'
    outline = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in SHAPES[kind])
    return f'<polygon points="{outline}" class="{look}"/>'


def _dot(
    point: Point, kind: str, place: Callable[[float], float], y: float
) -> Iterator[str]:
    """A mark with its interval along a row, over its units; `place` maps a value to x."""
    yield from (
        f'<circle cx="{place(v):.1f}" cy="{y:.1f}" r="3" class="f-none faint"/>'
        for v in point.units
    )
    if point.limits:
        a, b = map(place, point.limits)
        yield _line(a, y, b, y, f"bar s-{kind}")
        yield from (_line(x, y - 4, x, y + 4, f"bar s-{kind}") for x in (a, b))
    yield _mark(kind, place(point.value), y, point.hollow)
    yield from (
        _line(place(v), y - 10, place(v), y - 6, "bar s-none faint")
        for v in point.ticks
    )


def _room(words: Iterable[str]) -> float:
    """What the longest of these needs."""
    return LETTER * max(map(len, words), default=0)


def _short(words: str, room: float) -> str:
    most = int(room / LETTER)
    return words if len(words) <= most else words[: most - 1] + "…"


def _in_lines(words: str, room: float) -> list[str]:
    """Lines of whole words."""
    lines = textwrap.wrap(words, int(room / LETTER), break_long_words=False)
    return [_short(line, room) for line in lines] or [""]


def _rate(point: Point) -> str:
    share = (
        rate(point.value, point.low, point.high)
        if point.value is not None
        else "no data"
    )
    return f"{point.label} {share}".strip()


# --- shares, a row each ------------------------------------------------------------------------


def _dots_svg(figure: Dots) -> tuple[float, list[str]]:
    every = [point for points in figure.groups.values() for point in points]
    left = min(170.0, 16 + _room(point.label for point in every))
    right = 44 + _room(point.note for point in every)
    span, body, y = WIDTH - left - right, [], 14.0
    for name, points in figure.groups.items():
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
        axis += [
            _line(x, 6, x, y - 10, "grid"),
            _text(x, y + 5, f"{tick}%", "dim", "middle"),
        ]
    axis.append(_text(left + span / 2, y + 21, figure.axis, "dim", "middle"))
    return y + 26, axis + body


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
    ends = point.limits or (point.value,) * 2
    low, value, high = (round(edge * width) for edge in (ends[0], point.value, ends[1]))
    bar = "█" * low + "▒" * (value - low) + "─" * (high - value) + "·" * (width - high)
    inner = f"  ({interval(*point.limits, 0, scale=100)})" if point.limits else ""
    return f"{head}{bar} {percent(point.value):>4}{inner}  {point.note}".rstrip()


def _dots_text(figure: Dots) -> str:
    named = len(figure.groups) > 1
    return "\n\n".join(
        (f"{name}\n" if named else "") + bars(points)
        for name, points in figure.groups.items()
    )


def _dots_numbers(figure: Dots) -> Iterator[str]:
    for name, points in figure.groups.items():
        yield f"{name}: " + ", ".join(map(_rate, points))


# --- differences, a row each -------------------------------------------------------------------


def _ticks(points: Sequence[Point]) -> list[float]:
    """Round numbers that hold zero and every interval, seven at most."""
    known = [
        v
        for p in points
        for v in (p.value, p.low, p.high, *p.units, *p.ticks)
        if v is not None
    ] or [0.1]
    low, high = min(0.0, *known), max(0.0, *known)
    step = next(
        (
            step
            for step in (0.02, 0.05, 0.1, 0.2, 0.25, 0.5)
            if (high - low) / step <= 5
        ),
        1.0,
    )
    return [
        at * step
        for at in range(
            math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9) + 1
        )
    ]


def _intervals_svg(figure: Intervals) -> tuple[float, list[str]]:
    every = [point for points in figure.groups.values() for point in points]
    left = min(150.0, 16 + _room(point.label for point in every))
    right = 18 + _room(
        words for point in every for words in _beside(point, figure.numbers)
    )
    span, ticks, parts, y = WIDTH - left - right, _ticks(every), [], 16.0

    def place(value: float) -> float:
        return left + span * (value - ticks[0]) / ((ticks[-1] - ticks[0]) or 1)

    for name, points in figure.groups.items():
        for words in _in_lines(name, WIDTH / 1.1) if name else []:
            parts.append(_text(0, y + 2, words, "head"))
            y += 16
        start, y = y - 10, y + 6 * bool(name)
        for point in points:
            label, side = (
                _in_lines(point.label, left - 6),
                _beside(point, figure.numbers),
            )
            parts += [
                _text(0, y + 4 + 14 * at, words) for at, words in enumerate(label)
            ]
            parts += [
                _text(WIDTH, y + 4 + 14 * at, words, "dim" if at else "num", "end")
                for at, words in enumerate(side)
            ]
            if point.value is not None:
                parts += _dot(point, "estimate", place, y)
            y += STEP + max(
                14 * (max(len(label), len(side)) - 1) + 2, 2 * bool(point.units)
            )
        parts[:0] = [
            _line(
                place(tick),
                start,
                place(tick),
                y - 10,
                "grid" if abs(tick) > 1e-9 else "zero",
            )
            for tick in ticks
        ]
        y += 4 * bool(name)
    apart = 1 + (len(ticks) > 5)  # every second number where there are many
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1
    axis = [
        _text(place(tick), y + 5, signed(100 * tick, 0), "dim", "middle")
        for tick in ticks
        if round(tick / step) % apart == 0
    ]
    return y + 26, [
        *parts,
        *axis,
        _text(left + span / 2, y + 21, figure.unit, "dim", "middle"),
    ]


def _beside(point: Point, numbers: bool) -> list[str]:
    return [_difference(point)] * numbers + [point.note] * bool(point.note)


def _difference(point: Point) -> str:
    return "no data" if point.value is None else estimate(point._asdict(), 100, 1).words


def _intervals_numbers(figure: Intervals) -> Iterator[str]:
    for name, points in figure.groups.items():
        yield from (
            f"{name} {point.label}: {_difference(point)} {point.note}".strip()
            for point in points
        )


# --- lines over columns ------------------------------------------------------------------------


def _lines_svg(figure: Lines) -> tuple[float, list[str]]:
    across = min(2, len(figure.panels))
    left, gap, head = 38.0, 14.0, 18.0
    wide = (WIDTH - left - gap * (across - 1)) / across
    tall = 160.0 if len(figure.panels) <= across else 100.0
    top, parts = 22.0, [_text(0, 10, figure.axes[1], "dim")]
    deep = max(
        len(_in_lines(name, wide / len(figure.columns) - 12)) for name in figure.columns
    )
    for at, (name, rows) in enumerate(figure.panels.items()):
        x, y = (
            left + (wide + gap) * (at % across),
            top + (tall + head + 12) * (at // across) + head,
        )
        parts.append(_text(x, y - 8, _short(name, wide), "head"))
        for tick in range(0, 101, 25):
            up = y + tall * (1 - tick / 100)
            parts.append(_line(x, up, x + wide, up, "grid"))
            if at % across == 0 and (tick % 50 == 0 or tall > 100):
                parts.append(_text(x - 6, up + 4, f"{tick}%", "dim", "end"))
        parts += _panel(figure, name, rows, (x, wide, y, y + tall))
        if at + across >= len(figure.panels):
            parts += _columns(figure, x, wide, y + tall)
    rows = list(dict.fromkeys(name for rows in figure.panels.values() for name in rows))
    base = (
        top
        + (tall + head + 12) * math.ceil(len(figure.panels) / across)
        + 14 * deep
        + 4
    )
    if figure.axes[0]:
        parts.append(
            _text((left + WIDTH) / 2, base + 2, figure.axes[0], "dim", "middle")
        )
        base += 16
    beside = max(1, min(len(rows), int(WIDTH / (34 + _room(rows)))))
    return (
        base + 26 + 18 * (math.ceil(len(rows) / beside) - 1),
        [*parts, *_legend(rows, base + 12, beside)],
    )


def _spots(figure: Lines, x: float, wide: float) -> list[float]:
    """Where the columns stand in a panel."""
    if not figure.places:
        return [
            x + wide / len(figure.columns) * (at + 0.5)
            for at in range(len(figure.columns))
        ]
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
            yield from (
                _text(spot, base + 16 + 14 * below, words, "", "middle")
                for below, words in enumerate(lines)
            )
            free = spot + 22 if figure.places else free


def _panel(
    figure: Lines,
    name: str,
    rows: Mapping[str, Sequence[Point]],
    frame: tuple[float, float, float, float],
) -> Iterator[str]:
    """A band, lines and intervals inside (x, width, top, base)."""
    x0, wide, top, base = frame

    def place(value: float) -> float:
        return top + (base - top) * (1 - value)

    level, crossing = figure.levels.get(name, (Point("", None), Point("", None)))
    if level.value is not None:
        y = place(level.value)
        if level.limits:
            bottom, high = map(place, level.limits)
            yield (
                f'<rect x="{x0:.1f}" y="{high:.1f}" width="{wide:.1f}" '
                f'height="{bottom - high:.1f}" class="f-none band"/>'
            )
        yield _line(x0, y, x0 + wide, y, "stroke d2 s-estimate")
    for series, points in enumerate(rows.values()):
        kind = SERIES[series % len(SERIES)]
        shift = (
            series - (len(rows) - 1) / 2
        ) * 9  # intervals side by side, not on each other
        spots = [
            (x + shift, p)
            for x, p in zip(_spots(figure, x0, wide), points, strict=True)
            if p.value is not None
        ]
        for (x1, p1), (x2, p2) in itertools.pairwise(spots):
            yield _line(
                x1,
                place(p1.value),
                x2,
                place(p2.value),
                f"stroke d{series % 4 + 1} s-{kind}",
            )
        for x, p in spots:
            if p.limits:
                yield _line(x, place(p.low), x, place(p.high), f"bar s-{kind}")
            yield _mark(kind, x, place(p.value), p.hollow)
    if None not in (level.value, crossing.value):
        yield from _dot(
            crossing,
            "estimate",
            lambda v: _along(figure, x0, wide, v),
            place(level.value),
        )


def _legend(rows: Sequence[str], top: float, across: int) -> Iterator[str]:
    for series, name in enumerate(rows):
        kind, x = SERIES[series % len(SERIES)], WIDTH * (series % across) / across + 14
        y = top + 18 * (series // across)
        yield _line(x - 14, y, x + 14, y, f"stroke d{series % 4 + 1} s-{kind}")
        yield _mark(kind, x, y)
        yield _text(x + 20, y + 4, _short(name, WIDTH / across - 34))


def _lines_text(figure: Lines) -> str:
    """Bars by column and row."""
    return "\n\n".join(
        f"{panel}\n"
        + bars(
            [
                points[at]._replace(label=f"{column} · {name}")
                for at, column in enumerate(figure.columns)
                for name, points in rows.items()
                if points[at].value is not None
            ]
            + [*figure.levels.get(panel, ())[:1]]
        )
        for panel, rows in figure.panels.items()
    )


def _lines_numbers(figure: Lines) -> Iterator[str]:
    for panel, rows in figure.panels.items():
        for name, points in rows.items():
            yield f"{panel} {name}: " + ", ".join(
                _rate(point._replace(label=column))
                for column, point in zip(figure.columns, points, strict=True)
            )
        if panel in figure.levels:
            yield _rate(figure.levels[panel][0])


# How each kind is drawn: (height, parts) of its SVG; in characters; its numbers in words, for a
# reader who hears the page.
SVG = {Dots: _dots_svg, Intervals: _intervals_svg, Lines: _lines_svg}
TEXT = {
    Dots: _dots_text,
    Lines: _lines_text,
    Intervals: lambda figure: "\n".join(_intervals_numbers(figure)),
}
NUMBERS = {Dots: _dots_numbers, Intervals: _intervals_numbers, Lines: _lines_numbers}
