"""Small plots as values, drawn as SVG and as text; the same data give the same bytes.

    figure = Dots("Cooperation by cell", {"m": [Point("neither", 0.5, 0.25, 0.75)]}, "share")
    svg(figure)         for a page, in the colours of its sheet
    svg_file(figure)    opens by itself: its styles are inside
    text(figure)        for Markdown and terminal

Colours are classes by meaning (`c-present` …), which `figures.py` defines for light, dark and
print. Every kind of point has its own mark or dash beside its colour, so that nothing rests on
colour alone, and every figure says its numbers in words for readers who cannot see it. A drawing is
`WIDTH` units wide; y grows downwards.
"""

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import chain, pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

from show import figures
from show.figures import SERIES, estimate, interval, percent, rate, signed, visible

BAR = 40  # characters of a full text bar
WIDTH = 420.0  # of every plot; text is then 11 px high on a phone, 16 on a screen
MARGIN = 8  # around the drawing in a file
STEP = 21.0  # from row to row
LINE = 14  # from line to line inside a row
LETTER = 7.0  # width of a usual letter
ACROSS = 2  # panels side by side
APART = 9.0  # between the intervals of two lines at one column, so that none is hidden
NUMBER = 32  # the least distance between numbers on an axis
STEPS = (0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1, 2)  # possible distances between ticks
SHARES = (0, 0.25, 0.5, 0.75, 1)  # ticks of an axis of shares
# Paths of marks around their middle: circle, square, diamond, triangle, circle.
SHAPES = {
    "present": "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "absent": "M-4.5-4.5h9v9h-9z",
    "third": "M0-5.5 5.5 0 0 5.5-5.5 0z",
    "fourth": "M0-4.5 4.5 4.5h-9z",
    "estimate": "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
}


class Point(NamedTuple):
    """A value with its interval, or None where it is not known.

    `kind` is its colour in `Dots` ("": the colour of its place), `hollow` draws it as an outline.
    `units` are the values that it summarises, drawn as faint dots behind it; `ticks` are values to
    compare it with, drawn as strokes above its row.
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
    def limits(self) -> tuple[float, float] | None:
        """The interval, or None where there is none."""
        if self.low is None or self.high is None:
            return None
        return self.low, self.high


Groups = Mapping[str, Sequence[Point]]


class Dots(NamedTuple):
    """Shares with intervals, one in each row, on an axis from 0 to 100% with the title `axis`; each
    group of rows has a heading."""

    title: str
    groups: Groups
    axis: str


class Intervals(NamedTuple):
    """Differences with intervals around zero, one in each row; each group of rows has a heading.

    A difference of 0.1 is shown as +10. A point's note stands below its value. `numbers` says
    whether the values are written beside the rows.
    """

    title: str
    groups: Groups
    unit: str
    numbers: bool = True


class Lines(NamedTuple):
    """Shares over columns, as lines: {panel: {line: its points by column}}. Panels stand two side
    by side and share their axes.

    `axes` are the titles of the horizontal and the vertical axis. `places` says where the columns
    stand on a scale; () spaces them evenly. `levels` is {panel: (a level, drawn as a horizontal line
    with a band; the place on the scale where the panel's line meets it)}.
    """

    title: str
    columns: Sequence[str]
    panels: Mapping[str, Groups]
    axes: tuple[str, str]
    places: Sequence[float] = ()
    levels: Mapping[str, tuple[Point, Point]] = MappingProxyType({})

    @property
    def stops(self) -> Sequence[float]:
        """Where the columns stand: the places, or 0, 1, 2 … where these are not given."""
        if self.places:
            return self.places
        return range(len(self.columns))


class Counts(NamedTuple):
    """Counts by row and column, each drawn as a bar: {group: {row: its count in each column}}."""

    title: str
    columns: Sequence[str]
    groups: Mapping[str, Mapping[str, Sequence[int]]]


Figure = Dots | Intervals | Lines | Counts
Drawing = tuple[float, list[str]]  # its height, and its parts from back to front


def svg(figure: Figure) -> str:
    """The drawing as an `svg` element, for a page that has the style sheet of `figures.py`."""
    height, parts = SVG[type(figure)](figure)
    box = f"0 0 {WIDTH:g} {height:g}"
    return f'<svg viewBox="{box}" {_inside(figure, parts)}'


def svg_file(figure: Figure, stamp: str = "") -> str:
    """The drawing as a file in the light colours, with the word `stamp` below it, if any."""
    height, parts = SVG[type(figure)](figure)
    if stamp:
        height += 18
        parts.append(_text(WIDTH, height - 4, stamp, "head", "end"))
    wide, high = WIDTH + 2 * MARGIN, height + 2 * MARGIN
    inside = _inside(figure, [f"<style>{figures.SVG_FILE}</style>", *parts])
    return FILE.format(wide, high, -MARGIN, inside)


FILE = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" '
    'width="{0:g}" height="{1:g}" viewBox="{2} {2} {0:g} {1:g}" {3}\n'
)


def _inside(figure: Figure, parts: Sequence[str]) -> str:
    """The rest of an `svg` element: title, numbers in words, and parts."""
    title = escape(visible(figure.title))
    numbers = escape(visible("; ".join(NUMBERS[type(figure)](figure))))
    named = f'role="img" aria-label="{title}"><title>{title}</title>'
    return f"{named}<desc>{numbers}</desc>{''.join(parts)}</svg>"


def text(figure: Figure) -> str:
    """The drawing in characters."""
    return TEXT[type(figure)](figure)


# --- parts of a drawing ------------------------------------------------------------------------


class Scale(NamedTuple):
    """Maps values from `first` to `last` to an axis that begins at `start` and is `length` long;
    the length is negative where values grow upwards."""

    start: float
    length: float
    first: float = 0.0
    last: float = 1.0

    def at(self, value: float) -> float:
        """The place of a value on the axis."""
        share = (value - self.first) / (self.last - self.first)
        return self.start + self.length * share


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Words at a place; `kind` is their class, `anchor` which end of them stands at x."""
    look = f' class="{kind}"' if kind else ""
    place = f'{_at(x=x, y=y)}{look} text-anchor="{anchor}"'
    return f"<text {place}>{escape(visible(words))}</text>"


def _texts(
    x: float, y: float, lines: Sequence[str], kind: str = "", anchor: str = "start"
) -> Iterator[str]:
    """Lines of words below each other."""
    for words in lines:
        yield _text(x, y, words, kind, anchor)
        y += LINE


def _at(**places: float) -> str:
    """Attributes that say where something stands: `x="4.0" y="12.5"`."""
    return " ".join(f'{name}="{place:.1f}"' for name, place in places.items())


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line {_at(x1=x1, y1=y1, x2=x2, y2=y2)} class="{kind}"/>'


def _upright(x: float, top: float, base: float, kind: str) -> str:
    """A vertical line."""
    return _line(x, top, x, base, kind)


def _mark(kind: str, x: float, y: float, hollow: bool = False) -> str:
    """The mark of a kind of point, filled or as an outline."""
    look = f"h-{kind}" if hollow else f"c-{kind}"
    place = f'transform="translate({x:.1f} {y:.1f})"'
    return f'<path d="{SHAPES[kind]}" {place} class="{look}"/>'


def _dot(point: Point, kind: str, scale: Scale, y: float) -> Iterator[str]:
    """A point on a horizontal axis: its units, interval, mark and ticks; nothing where it has no
    value."""
    if point.value is None:
        return
    bar = f"bar s-{kind}"
    for value in point.units:
        place = _at(cx=scale.at(value), cy=y)
        yield f'<circle {place} r="3" class="c-none faint"/>'
    if point.limits:
        low, high = map(scale.at, point.limits)
        yield _line(low, y, high, y, bar)
        yield _upright(low, y - 4, y + 4, bar)
        yield _upright(high, y - 4, y + 4, bar)
    yield _mark(kind, scale.at(point.value), y, point.hollow)
    for value in point.ticks:
        yield _upright(scale.at(value), y - 10, y - 6, "bar s-none faint")


def _axis(x: float, y: float, words: str) -> str:
    """A number or a title of an axis, centred at x."""
    return _text(x, y, words, "dim", "middle")


def _kind(row: int) -> str:
    """The colour name of row number `row`; the names repeat after the last."""
    return SERIES[row % len(SERIES)]


def _room(words: Iterable[str]) -> float:
    """The width that the longest of these words needs."""
    return LETTER * max(map(len, words), default=0)


def _short(words: str, room: float) -> str:
    """The words, cut to fit into `room`."""
    most = int(room / LETTER)
    if len(words) <= most:
        return words
    return f"{words[: most - 1]}…"


def _in_lines(words: str, room: float) -> list[str]:
    """The words broken into lines that fit into `room`; there is at least one line."""
    lines = textwrap.wrap(words, int(room / LETTER), break_long_words=False)
    if not lines:
        return [""]
    return [_short(line, room) for line in lines]


def _rate(point: Point) -> str:
    """A point in words: "neither 50% (25 to 75)"."""
    share = "no data"
    if point.value is not None:
        share = rate(point.value, point.low, point.high)
    return f"{point.label} {share}".strip()


# --- rows along an axis ------------------------------------------------------------------------


class Row(NamedTuple):
    """A point with its kind, and the lines that stand to its right."""

    point: Point
    kind: str
    beside: Sequence[str]


RowGroups = dict[str, list[Row]]


def _rows(
    groups: RowGroups,
    ticks: Sequence[float],
    say: Callable[[float], str],
    title: str,
) -> Drawing:
    """Groups of rows over a grid, with `ticks` in words below it and the title of the axis."""
    every = list(chain.from_iterable(groups.values()))
    left = min(160.0, 16 + _room(row.point.label for row in every))
    right = 18 + _room(chain.from_iterable(row.beside for row in every))
    scale = Scale(left, WIDTH - left - min(right, 200), ticks[0], ticks[-1])
    y = 14.0
    grid: list[str] = []
    parts: list[str] = []
    for name, rows in groups.items():
        if name:
            heading = _in_lines(name, WIDTH / 1.1)
            parts += _texts(0, y + 4, heading, "head")
            y += LINE * len(heading) + 7
        top = y - 11
        for row in rows:
            names = _in_lines(row.point.label, left - 6)
            parts += _row(row, names, scale, y)
            lines = max(len(names), len(row.beside))
            y += STEP + LINE * (lines - 1)
        for tick in ticks:
            look = "grid" if tick else "zero"
            grid.append(_upright(scale.at(tick), top, y - 10, look))
        y += 4
    parts += _axes(scale, ticks, say, y)
    parts.append(_axis(left + scale.length / 2, y + 21, title))
    return y + 26, grid + parts


def _row(row: Row, names: Sequence[str], scale: Scale, y: float) -> Iterator[str]:
    """A row: the lines of its name, its mark, and the lines to its right."""
    yield from _texts(0, y + 4, names)
    for at, words in enumerate(row.beside):
        look = "dim" if at else "num"
        yield _text(WIDTH, y + 4 + LINE * at, words, look, "end")
    yield from _dot(row.point, row.kind, scale, y)


def _axes(
    scale: Scale, ticks: Sequence[float], say: Callable[[float], str], y: float
) -> Iterator[str]:
    """The numbers below the ticks: that of zero, and others as far as there is room."""
    every = math.ceil(NUMBER * (len(ticks) - 1) / scale.length)
    for at, tick in enumerate(ticks, -ticks.index(0)):
        if at % every == 0:
            yield _axis(scale.at(tick), y + 5, say(tick))


# --- shares, a row each ------------------------------------------------------------------------


def _dots_svg(figure: Dots) -> Drawing:
    """Shares as rows, each with its value beside it."""
    groups: RowGroups = {}
    for name, points in figure.groups.items():
        rows = groups[name] = []
        for at, point in enumerate(points):
            kind = point.kind if point.kind else _kind(at)
            rows.append(Row(point, kind, [_known(point)]))
    return _rows(groups, SHARES, percent, figure.axis)


def _known(point: Point) -> str:
    """A share with its note, or what is said where there is none."""
    if point.value is None:
        return point.note or "no data"
    return f"{percent(point.value)}  {point.note}".rstrip()


def bars(points: Sequence[Point], width: int = BAR) -> str:
    """A bar of characters for each point, from 0 to 1: █ up to the interval's lower end, ▒ up to
    the value, ─ up to the upper end.

        >>> print(bars([Point("a", 0.5, 0.25, 0.75, "5/10")], 8))
        a  ██▒▒──··  50%  (25 to 75)  5/10
    """
    left = max((len(point.label) for point in points), default=0)
    return "\n".join(_bar(point, left, width) for point in points)


def _bar(point: Point, left: int, width: int) -> str:
    """The bar of one point; `left` is the width of the names."""
    head = f"{point.label:<{left}}  "
    if point.value is None:
        return f"{head}{'·' * width}  {_known(point)}"
    low = value = high = round(point.value * width)
    said = f"{percent(point.value):>4}"
    if point.limits:
        low, high = (round(end * width) for end in point.limits)
        said += f"  ({interval(point.low, point.high, 0, scale=100)})"
    bar = f"{'█' * low:▒<{value}}"
    bar = f"{bar:─<{high}}"
    return f"{head}{bar:·<{width}} {said}  {point.note}".rstrip()


def _in_bars(groups: Groups) -> str:
    """Bars of each group, below its name where there are several groups."""
    drawn = []
    for name, points in groups.items():
        heading = f"{name}\n" if len(groups) > 1 else ""
        drawn.append(heading + bars(points))
    return "\n\n".join(drawn)


def _in_words(groups: Groups) -> Iterator[str]:
    """Each group's shares in words."""
    for name, points in groups.items():
        yield f"{name}: {', '.join(map(_rate, points))}"


# --- differences, a row each -------------------------------------------------------------------


def _ticks(points: Iterable[Point]) -> list[float]:
    """Round numbers for an axis: they cover zero and every interval, and are seven at most."""
    known = [0.0]
    for point in points:
        ends = (point.value, point.low, point.high, *point.units, *point.ticks)
        known += [value for value in ends if value is not None]
    low, high = min(known), max(known)
    if low == high:  # nothing but zeros
        high = 0.1
    step = next(step for step in STEPS if (high - low) / step <= 5)
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [at * step for at in range(first, last + 1)]


def _intervals_svg(figure: Intervals) -> Drawing:
    """Differences as rows, with their values beside them where the figure wants numbers."""
    groups: RowGroups = {}
    for name, points in figure.groups.items():
        rows = groups[name] = []
        for point in points:
            beside = [_difference(point)] if figure.numbers else []
            if point.note:
                beside.append(point.note)
            rows.append(Row(point, "estimate", beside))
    ticks = _ticks(chain.from_iterable(figure.groups.values()))
    return _rows(groups, ticks, _in_points, figure.unit)


def _in_points(share: float) -> str:
    return signed(100 * share, 0)


def _difference(point: Point) -> str:
    if point.value is None:
        return "no data"
    return estimate(point._asdict(), 100, 1).words


def _intervals_numbers(figure: Intervals) -> Iterator[str]:
    """Each difference in words."""
    for name, points in figure.groups.items():
        for point in points:
            yield f"{name} {point.label}: {_difference(point)} {point.note}".strip()


# --- lines over columns ------------------------------------------------------------------------


TALL, LOW = 160.0, 100.0  # height of a panel: in a single row of panels, in several
AXIS, GAP = 38.0, 14.0  # room for percentages left of the panels, and between panels
TOP, BETWEEN = 40.0, 30.0  # room above the first row of panels, and between rows


class Frame(NamedTuple):
    """Where a panel stands: its left edge, its width, its upper and its lower edge."""

    left: float
    wide: float
    top: float
    base: float

    @property
    def shares(self) -> Scale:
        """The vertical scale of the panel, from 0 to 1."""
        return Scale(self.base, self.top - self.base)

    def level(self, y: float, kind: str) -> str:
        """A horizontal line across the panel."""
        return _line(self.left, y, self.left + self.wide, y, kind)


def _frames(panels: int) -> list[Frame]:
    """The places of so many panels."""
    across = min(ACROSS, panels)
    wide = (WIDTH - AXIS + GAP) / across - GAP
    tall = TALL if panels <= across else LOW
    frames = []
    for at in range(panels):
        row, column = divmod(at, across)
        left = AXIS + (wide + GAP) * column
        top = TOP + (tall + BETWEEN) * row
        frames.append(Frame(left, wide, top, top + tall))
    return frames


def _lines_svg(figure: Lines) -> Drawing:
    """Panels with their lines, the names of their columns, and the legend."""
    frames = _frames(len(figure.panels))
    across, up = figure.axes
    parts = [_text(0, 10, up, "dim")]
    for frame, (name, rows) in zip(frames, figure.panels.items(), strict=True):
        heading = _short(name, frame.wide)
        parts.append(_text(frame.left, frame.top - 8, heading, "head"))
        parts += _percentages(frame)
        parts += _panel(figure, name, rows, frame)
    for frame in frames[-ACROSS:]:
        parts += _columns(figure, frame)
    deepest = max(len(lines) for lines in _names(figure, frame))
    y = frame.base + 16 + LINE * deepest
    if across:
        parts.append(_axis((AXIS + WIDTH) / 2, y + 2, across))
        y += 16
    named = dict.fromkeys(chain.from_iterable(figure.panels.values()))
    parts += _legend(named, y + 12)
    return y + 8 + 18 * len(named), parts


def _percentages(frame: Frame) -> Iterator[str]:
    """The horizontal grid of a panel; the first panel of a row also has its numbers."""
    for share in SHARES:
        y = frame.shares.at(share)
        yield frame.level(y, "grid")
        if frame.left == AXIS:
            yield _text(AXIS - 6, y + 4, percent(share), "dim", "end")


def _across(figure: Lines, frame: Frame) -> Scale:
    """The scale of the columns, which leaves half a step to each edge of the panel."""
    first, last = figure.stops[0], figure.stops[-1]
    margin = (last - first + 1) / len(figure.stops) / 2
    return Scale(frame.left, frame.wide, first - margin, last + margin)


def _names(figure: Lines, frame: Frame) -> list[list[str]]:
    """The name of each column, broken into lines."""
    room = frame.wide / len(figure.columns) - 12
    return [_in_lines(name, room) for name in figure.columns]


def _columns(figure: Lines, frame: Frame) -> Iterator[str]:
    """The names of the columns, except those that would overlap the one before."""
    free, scale = 0.0, _across(figure, frame)
    for stop, lines in zip(figure.stops, _names(figure, frame), strict=True):
        x = scale.at(stop)
        if x < free:
            continue
        yield from _texts(x, frame.base + 16, lines, anchor="middle")
        free = x + 22


def _panel(figure: Lines, name: str, rows: Groups, frame: Frame) -> Iterator[str]:
    """The drawing of a panel: its level, its lines with intervals and marks, and where they cross
    the level."""
    level = crossing = Point("", None)
    if name in figure.levels:
        level, crossing = figure.levels[name]
    yield from _level(level, frame)
    scale = _across(figure, frame)
    shift = APART * (1 - len(rows)) / 2
    for row, points in enumerate(rows.values()):
        spots = [scale.at(stop) + shift for stop in figure.stops]
        yield from _curve(row, points, spots, frame.shares)
        shift += APART
    if level.value is not None:
        yield from _dot(crossing, "estimate", scale, frame.shares.at(level.value))


def _level(level: Point, frame: Frame) -> Iterator[str]:
    """A dashed horizontal line across a panel, and a band for its interval."""
    if level.value is None:
        return
    if level.limits:
        low, high = map(frame.shares.at, level.limits)
        place = _at(x=frame.left, y=high, width=frame.wide, height=low - high)
        yield f'<rect {place} class="c-none band"/>'
    yield frame.level(frame.shares.at(level.value), "stroke d2 s-estimate")


def _stroke(row: int) -> str:
    """The class of a line by its row: colour and dash."""
    return f"stroke d{row % len(SERIES) + 1} s-{_kind(row)}"


def _curve(
    row: int, points: Sequence[Point], spots: Sequence[float], shares: Scale
) -> Iterator[str]:
    """A line of a panel: strokes between its known points, and these points with intervals."""
    kind, known = _kind(row), []
    for x, point in zip(spots, points, strict=True):
        if point.value is not None:
            known.append((x, shares.at(point.value), point))
    for (x1, y1, _), (x2, y2, _) in pairwise(known):
        yield _line(x1, y1, x2, y2, _stroke(row))
    for x, y, point in known:
        if point.limits:
            low, high = map(shares.at, point.limits)
            yield _upright(x, low, high, f"bar s-{kind}")
        yield _mark(kind, x, y, point.hollow)


def _legend(rows: Iterable[str], y: float) -> Iterator[str]:
    """The stroke, mark and name of each line, below each other."""
    for row, name in enumerate(rows):
        yield _line(0, y, 28, y, _stroke(row))
        yield _mark(_kind(row), 14, y)
        yield _text(34, y + 4, _short(name, WIDTH - 34))
        y += 18


def _by_panel(figure: Lines) -> Groups:
    """{panel: its points by column and line, then its level}."""
    panels: dict[str, list[Point]] = {}
    for panel, rows in figure.panels.items():
        points = panels[panel] = []
        for at, column in enumerate(figure.columns):
            for name, row in rows.items():
                points.append(row[at]._replace(label=f"{column} · {name}"))
        if panel in figure.levels:
            level, _ = figure.levels[panel]
            points.append(level)
    return panels


# --- counts, a row each ------------------------------------------------------------------------

NAMES = 182.0  # room of a row's name
MOST = 28  # letters of a row's name
DIGIT = 8.0  # width of a digit


def _counts_svg(figure: Counts) -> Drawing:
    wide = (WIDTH - NAMES) / len(figure.columns)
    stops = [NAMES + wide * at for at in range(len(figure.columns))]
    counts = chain(*(rows.values() for rows in figure.groups.values()))
    digits = len(str(max(chain(*counts), default=0)))
    parts, y = [], 12.0
    for x, column in zip(stops, figure.columns, strict=True):
        parts.append(_text(x, y, column, "dim"))
    for group, rows in figure.groups.items():
        y += STEP
        parts.append(_text(0, y, _short(group, WIDTH), "head"))
        for name, row in rows.items():
            y += STEP - 4
            parts.append(_text(0, y, _short(name, MOST * LETTER)))
            for x, kind, count in zip(stops, (*SERIES, "none"), row, strict=False):
                scale = Scale(x + DIGIT * digits + 4, wide - DIGIT * digits - 10)
                if count:
                    parts += _counted(count, count / sum(row), kind, scale, y)
    return y + 6, parts


def _counted(
    count: int, share: float, kind: str, scale: Scale, y: float
) -> Iterator[str]:
    """A count before a bar that is as long as its share."""
    yield _text(scale.start - 4, y, str(count), "num", "end")
    place = _at(x=scale.start, y=y - 9, width=scale.length * share)
    yield f'<rect {place} height="10" class="c-{kind}"/>'


def _counts_words(figure: Counts) -> Iterator[str]:
    for rows in figure.groups.values():
        for name, counts in rows.items():
            told = zip(counts, figure.columns, strict=True)
            words = [f"{count} {column}" for count, column in told if count]
            yield f"{name}: {', '.join(words)}"


# For each kind of figure: its drawing (SVG), its text in characters (TEXT), and its numbers in
# words for readers who hear the page (NUMBERS).
SVG: dict[type, Callable[[Any], Drawing]] = {
    Dots: _dots_svg,
    Intervals: _intervals_svg,
    Lines: _lines_svg,
    Counts: _counts_svg,
}
TEXT: dict[type, Callable[[Any], str]] = {
    Dots: lambda figure: _in_bars(figure.groups),
    Intervals: lambda figure: "\n".join(_intervals_numbers(figure)),
    Lines: lambda figure: _in_bars(_by_panel(figure)),
    Counts: lambda figure: "\n".join(_counts_words(figure)),
}
NUMBERS: dict[type, Callable[[Any], Iterator[str]]] = {
    Dots: lambda figure: _in_words(figure.groups),
    Intervals: _intervals_numbers,
    Lines: lambda figure: _in_words(_by_panel(figure)),
    Counts: _counts_words,
}
