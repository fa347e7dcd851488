"""A report as a value that holds each of its words once; here it becomes Markdown, a terminal's
text and CSV, in `page.py` a page.

    report = Document("CIRRUS-24 pilot", question="Do models …?", answer="HP − LA is +21 points …",
                      figure=Plot(Dots("Cooperation by cell", groups), "With 95% intervals."),
                      sections=[Section("Effects", [Table(["contrast", "points"], rows)])],
                      foot=Foot("0.1.0", {"seed": "42"}, "python3 analyze.py FOLDER"))
    markdown(report)         summary.md, whole
    terminal(report)         the answer in a few lines
    dict(files(report))      {"effects.csv": …, "cooperation-by-cell.svg": …}
    page.page(report)        report.html

A line of words is a str, a `Tag`, `Link`, `Code`, `Small` or `Estimate`, or a list of them.
Any of them may hold text from a model or a server: every output makes it harmless.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from show import plots
from show.figures import Estimate, inline, visible

WIDTH, LINES = 80, 13  # columns and lines of a report on a terminal
NAME, SHORTEST = 26, 8  # characters of a row's name on a terminal: at most, at least
NUMBERS = ("group", "row", "column", "estimate", "low", "high", "unit")  # CSV columns
# Matches "0.0312", "+12.5 points (+3.0 to +20.1)", "109/118 92% SE 2.7 (86 to 98)"; a minus is "-".
NUMBER = r"[+-]?\d*\.?\d+"
FIGURE = re.compile(
    rf"(?P<value>{NUMBER})(/(?P<n>\d+)( [\d.]+%)?( SE [\d.]+)?)?(?P<unit>%| points|)"
    rf"( \((?P<low>{NUMBER}) to (?P<high>{NUMBER})\))?"
)
SIMULATED = "SIMULATED"


# --- what stands in a line ---------------------------------------------------------------------


class Tag(NamedTuple):
    """A verdict in a word; `kind` decides its colour: yes, no, maybe, dim, cooperate, defect or
    stamp."""

    words: str
    kind: str = "dim"


class Link(NamedTuple):
    """A link; `to` is a relative address, or an anchor of the same page."""

    words: str
    to: str


class Code(NamedTuple):
    """A command, a formula or a file name."""

    words: str


class Small(NamedTuple):
    """Words in small type."""

    words: str


Piece = str | Tag | Link | Code | Small | Estimate
Line = Piece | list[Piece]


# --- blocks ------------------------------------------------------------------------------------


class Words(NamedTuple):
    """A paragraph; `kind` is "dim" for a note, else ""."""

    line: Line
    kind: str = ""


class Bullets(NamedTuple):
    """A list of lines."""

    items: Sequence[Line]


class Verbatim(NamedTuple):
    """Text exactly as it was sent or received; `span` is the range of characters to be marked, in a
    trial."""

    text: str
    span: tuple[int, int] | None = None


class Table(NamedTuple):
    """Rows of cells, each cell a line; the first names its row. `numeric` lists the columns of
    figures.

    A row with a single cell is the heading of a group of rows. The CSV file of the table has the
    name `name`, or that of the heading above the table.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[Line]]
    numeric: Sequence[int] = ()
    caption: str = ""
    name: str = ""

    def full_rows(self) -> Iterator[list[Line]]:
        """The rows, each as long as the head; a group's heading gets empty cells."""
        for row in self.rows:
            empty = len(self.head) - len(row)
            yield [*row, *[""] * empty]


class Plot(NamedTuple):
    """A figure of `plots` with its caption; the figure's title names its SVG file."""

    figure: plots.Figure
    caption: str


class Columns(NamedTuple):
    """Lists of blocks, which stand side by side where there is room."""

    parts: Sequence[Sequence[Any]]


class Fold(NamedTuple):
    """Blocks that the page shows when a reader unfolds them; Markdown prints them under a heading."""

    title: Line
    parts: Sequence[Any]


class Section(NamedTuple):
    """Blocks under a heading; the sections inside it have smaller ones."""

    title: str
    parts: Sequence[Any]


class TrialRow(NamedTuple):
    """A row of the trial table: a cell for each column, and the (heading, text) pairs that it
    unfolds to."""

    cells: Sequence[Line]
    texts: Sequence[tuple[str, Verbatim]]


class TrialTable(NamedTuple):
    """A table of trials, on the page only: readers filter it by its columns and unfold its rows."""

    title: str
    note: str
    head: Sequence[str]
    rows: Sequence[TrialRow]


class Foot(NamedTuple):
    """What identifies a report (version, seed, hashes; no clock, no machine), and the command that
    makes it again."""

    version: str
    facts: Mapping[str, str]
    again: str


class Document(NamedTuple):
    """A report: the answer first, then one figure, the gist (`gist`: blocks), and the sections.

    `stamps` are sentences such as SIMULATED or INCOMPLETE. `verdicts` is the table of the gist that
    a terminal shows below the answer. `alarms` are sentences that come before anything else; a
    terminal shows two of them. On a terminal `note` stands in place of the question, and `last`
    ends the output.
    """

    title: str
    question: str
    answer: str
    foot: Foot
    figure: Plot | None = None
    gist: Sequence[Any] = ()
    sections: Sequence[Section] = ()
    trials: TrialTable | None = None
    stamps: Sequence[str] = ()
    verdicts: Table | None = None
    alarms: Sequence[str] = ()
    note: str = ""
    last: str = ""


def words_of(line: Line) -> str:
    """The words of a line, without their look."""
    if isinstance(line, list):
        return " ".join(map(words_of, line))
    if isinstance(line, str):
        return line
    return line.words


def simulated(report: Document) -> bool:
    """Whether the report is stamped SIMULATED; its SVG and CSV files then carry the word too."""
    return any(stamp.startswith(SIMULATED) for stamp in report.stamps)


# --- Markdown ----------------------------------------------------------------------------------


TAG = re.compile(r"<(?=[A-Za-z!/?])")  # where a viewer could take words for a tag
TARGET = re.compile(
    r"\](?=[(\[])"
)  # where a viewer could find the target of a link or an image


def harmless(line: Line) -> str:
    """A line as Markdown in which no tag, link or image of foreign text can take effect."""
    if isinstance(line, list):
        return " ".join(map(harmless, line))
    words = inline(words_of(line))
    if isinstance(line, Code):
        return f"`{words.replace('`', chr(39))}`"
    return TARGET.sub(r"\\]", TAG.sub("&lt;", words))


def _md_words(block: Words, level: int) -> str:
    return harmless(block.line)


def _md_bullets(block: Bullets, level: int) -> str:
    return "\n".join(f"- {harmless(item)}" for item in block.items)


def _md_verbatim(block: Verbatim, level: int) -> str:
    return _fenced(block.text)


def _md_table(table: Table, level: int) -> str:
    lines = [_md_row(table.head), "|" + "---|" * len(table.head)]
    lines += map(_md_row, table.full_rows())
    if table.caption:
        lines[:0] = [harmless(table.caption), ""]
    return "\n".join(lines)


def _md_row(cells: Sequence[Line]) -> str:
    """The cells as a row of a Markdown table."""
    written = [harmless(cell).replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(written)} |"


def _md_plot(block: Plot, level: int) -> str:
    caption = f"{block.figure.title}. {block.caption}"
    return f"{_fenced(plots.text(block.figure))}\n\n{harmless(caption)}"


def _md_columns(block: Columns, level: int) -> str:
    return "\n\n".join(_md(part, level) for part in block.parts)


def _md_headed(block: Section | Fold, level: int) -> str:
    heading = f"{'#' * level} {harmless(block.title)}"
    return f"{heading}\n\n{_md(block.parts, level + 1)}"


def _fenced(text: str) -> str:
    """Text as a code block."""
    # A viewer that mistakes the fence must not find a tag in it.
    safe = TARGET.sub("] ", TAG.sub("‹", visible(text)))
    return f"```text\n{safe}\n```"


MARKDOWN: dict[type, Callable[[Any, int], str]] = {
    Words: _md_words,
    Bullets: _md_bullets,
    Verbatim: _md_verbatim,
    Table: _md_table,
    Plot: _md_plot,
    Columns: _md_columns,
    Fold: _md_headed,
    Section: _md_headed,
}


def _md(blocks: Sequence[Any], level: int) -> str:
    """Blocks as Markdown; `level` is the level of the next heading."""
    parts = [MARKDOWN[type(block)](block, level) for block in blocks]
    return "\n\n".join(filter(None, parts))


def markdown(report: Document) -> str:
    """The whole report as Markdown, without its trials."""
    parts = [f"# {harmless(report.title)}", *map(harmless, report.alarms)]
    for words in (*report.stamps, report.answer):
        parts.append(f"**{harmless(words)}**")
    parts.append(harmless(report.question))
    parts.append(_md(_blocks(report), 2))
    parts.append(harmless(" · ".join(facts(report.foot))))
    return "\n\n".join(filter(None, parts)) + "\n"


def facts(foot: Foot) -> list[str]:
    """The version and the facts that identify a report, a text for each."""
    named = [f"{name} {value}" for name, value in foot.facts.items()]
    return [f"cirrus-bench {foot.version}", *named]


# --- terminal ----------------------------------------------------------------------------------


def terminal(report: Document, most: int = LINES) -> str:
    """Stamps, answer, verdicts and the last words in at most `most` lines."""
    lines = []
    for words in (*report.alarms[:2], *report.stamps, report.answer, report.note):
        lines += _wrapped(words)
    if report.verdicts:
        lines += aligned(report.verdicts)
    last = _wrapped(report.last)
    room = most - len(last)
    if len(lines) > room:
        lines[room - 1 :] = ["… more on the page"]
    return "\n".join([*lines, *last])


def _wrapped(words: str) -> list[str]:
    return textwrap.wrap(inline(words), WIDTH, break_on_hyphens=False)


def aligned(table: Table) -> Iterator[str]:
    """The rows of a table as lines of text, in columns of equal width; the first is its head.
    Names are shortened as far as the other columns need."""
    rows = []
    for row in (table.head, *table.rows):
        rows.append([inline(words_of(cell)) for cell in row])
    _, *widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = WIDTH - sum(2 + width for width in widths)
    most = min(NAME, room) if room >= SHORTEST else NAME
    longest = min(most, max(len(name) for name, *_ in rows))
    for name, *rest in rows:
        if len(name) > most:
            name = f"{name[: most - 1]}…"
        cells = map(str.ljust, [name, *rest], [longest, *widths])
        yield "  ".join(cells).rstrip()[:WIDTH]


# --- files for a paper -------------------------------------------------------------------------


def files(report: Document) -> Iterator[tuple[str, str | list[list[Any]]]]:
    """(file name, content) of every figure as SVG, and of every table with numbers as the lines of
    a CSV."""
    stamp = SIMULATED if simulated(report) else ""
    found = list(_walk(_blocks(report), report.title))
    names = slugs(title for title, _ in found)
    for name, (_, block) in zip(names, found, strict=True):
        if isinstance(block, Plot):
            yield f"{name}.svg", plots.svg_file(block.figure, stamp)
            continue
        rows = _rows(block, stamp)
        if len(rows) > 1:
            yield f"{name}.csv", rows


def tables(report: Document) -> list[Table]:
    """All tables of a report."""
    every = _walk(_blocks(report), report.title)
    return [block for _, block in every if isinstance(block, Table)]


def _blocks(report: Document) -> list[Any]:
    """All blocks of a report in order, its figure first."""
    blocks = [*report.gist, *report.sections]
    if report.figure:
        blocks.insert(0, report.figure)
    return blocks


def slugs(titles: Iterable[str], taken: Iterable[str] = ()) -> Iterator[str]:
    """A name for a file or an anchor from each title, in order; a name that is `taken`, or came
    before, gets a number."""
    times = Counter(taken)
    for title in titles:
        name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "part"
        times[name] += 1
        if times[name] > 1:
            name = f"{name}-{times[name]}"
        yield name


def _walk(blocks: Sequence[Any], heading: str) -> Iterator[tuple[str, Plot | Table]]:
    """(title, block) of every figure and table among the blocks; `heading` is the title above them."""
    for block in blocks:
        if isinstance(block, Plot):
            yield block.figure.title, block
        elif isinstance(block, Table):
            yield block.name or heading, block
        elif isinstance(block, (Section, Fold)):
            yield from _walk(block.parts, words_of(block.title))
        elif isinstance(block, Columns):
            for part in block.parts:
                yield from _walk(part, heading)


def _rows(table: Table, stamp: str) -> list[list[Any]]:
    """The lines of a table's CSV: the column names, then one line for each cell that is a number.

    Cells of words have no line. `stamp`, if there is one, fills a last column.
    """
    lines: list[list[Any]] = [list(NUMBERS)]
    group = ""
    for row in table.rows:
        name = _ascii(row[0])
        if len(row) == 1:
            group = name
        for title, cell in zip(table.head[1:], row[1:], strict=False):
            numbers = _numbers(cell)
            if numbers:
                lines.append([group, name, _ascii(title), *numbers])
    if stamp:
        lines = [[*line, stamp] for line in lines]
        lines[0][-1] = "stamp"
    return lines


def _numbers(cell: Line) -> list[Any]:
    """[estimate, low, high, unit] of a cell, or [] where it holds words."""
    if isinstance(cell, Estimate):
        numbers = [cell.value, cell.low, cell.high, cell.unit]
        return [] if cell.value is None else numbers
    found = FIGURE.fullmatch(_ascii(cell).replace(",", ""))
    if found is None:
        return []
    n, unit = found["n"], found["unit"].strip()
    numbers = [float(found["value"]), None, None, unit]
    if n:
        numbers = [float(found["value"]) / max(1, int(n)), None, None, f"share of {n}"]
    if found["low"]:
        scale = 100 if n else 1
        numbers[1:3] = float(found["low"]) / scale, float(found["high"]) / scale
    return numbers


def _ascii(line: Line) -> str:
    """The words of a line with "-" for "−", which programs can read."""
    return visible(words_of(line)).replace("−", "-")
