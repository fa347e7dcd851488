"""Turn a `Document` into one HTML file that loads nothing: for light, dark, phone and print;
`figures.py` has its style sheet.

    write_atomic(folder / "report.html", page(report))

The order is always the same: the answer in a sentence, one figure, the gist, sections, the trial
table. Blocks at the start of the gist stand beside the figure, as long as they are narrow. A
Content-Security-Policy forbids to load anything. The only script is ours: it is allowed by its
hash, and present only where there are trials. Text from a model goes through `text`, or through
JSON into text nodes.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from itertools import takewhile
from typing import Any

from show import document as doc
from show import figures, plots
from show.figures import visible

MOST_COLUMNS = 6  # a table with more may need scrolling at 1280 px
# A table with at most so many columns fits beside a figure, with unbroken names in its head.
UNBROKEN = 5
# No line ends inside an interval, or a short name with hyphens, such as a respondent's.
WHOLE = re.compile(
    r"\([+−]?[\d.,]+ to [+−]?[\d.,]+\)"
    r"|(?<![\w.-])(?=[\w.-]{3,20}(?![\w.-]))\w[\w.]*(?:-[\w.]+)+"
)
# Filters the trial table by its columns and by words, and unfolds its rows; where scripts are off
# the rows can be read all the same. A row's texts are [heading, before, marked, after], each a list of lines.
SCRIPT = """
const table = document.querySelector('#trials table'), trials = [...table.tBodies[0].rows];
const {lines, rows} = JSON.parse(document.querySelector('#trials script').textContent);
const add = (parent, tag, words) =>
  parent.appendChild(Object.assign(document.createElement(tag), {textContent: words}));
const read = part => part.map(at => lines[at]).join('\\n');
const open = (row, at) => {
  const cell = add(document.createElement('tr'), 'td', ''), texts = add(cell, 'div', '');
  cell.colSpan = row.cells.length;
  for (const [head, ...parts] of rows[at]) {
    add(texts, 'h3', read(head));
    const text = add(texts, 'pre', '');
    parts.forEach((part, n) => add(text, n === 1 ? 'mark' : 'span', read(part)));
  }
  row.after(cell.parentElement);
};
trials.forEach((row, at) => {
  const button = add(row, 'button', row.cells[0].textContent);
  button.ariaExpanded = false;
  row.cells[0].replaceChildren(button);
  row.onclick = () => {
    button.ariaExpanded = button.ariaExpanded === 'false';
    button.ariaExpanded === 'true' ? open(row, at) : row.nextSibling.remove();
  };
});
const filters = [...table.tHead.rows[0].cells].map((head, at) => {
  const values = new Set(trials.map(row => row.cells[at].textContent));
  const field = document.createElement('select');
  field.ariaLabel = head.textContent;
  add(field, 'option', 'all').value = '';
  values.forEach(value => add(field, 'option', value));
  return head.appendChild(field);
});
const form = document.querySelector('#trials form'), words = form.elements[0];
const filter = () => {
  const wanted = words.value.toLowerCase();
  const hits = lines.map(line => line.toLowerCase().includes(wanted));
  let shown = 0;
  trials.forEach((row, at) => {
    row.hidden = !filters.every((field, n) =>
      !field.value || field.value === row.cells[n].textContent)
      || !rows[at].flat(2).some(line => hits[line]);
    shown += !row.hidden;
    if (row.querySelector('[aria-expanded=true]')) row.nextSibling.hidden = row.hidden;
  });
  form.querySelector('output').textContent = `${shown} of ${trials.length}`;
};
form.hidden = false;
form.oninput = table.oninput = filter;
form.onsubmit = () => false;
filter();
"""


PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{css}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<main id="main" tabindex="-1">
{main}
</main>
{foot}
{script}</body>
</html>
"""
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; script-src {script}"
)
FIRST = (
    '<div class="first"><p class="answer">{answer}</p>{figure}'
    '<div class="question"><p>{question}</p>{beside}</div></div>'
)
TRIALS = """
<section id="trials" class="trials"><h2>{title}</h2><p class="dim">{note}</p>
<form hidden><input type="search" placeholder="words in the texts"
aria-label="words in the texts"> <output aria-live="polite"></output></form>
<div class="wide" tabindex="0" role="region" aria-label="{title}">
<table><thead><tr>{head}</tr></thead><tbody>
{rows}
</tbody></table></div><script type="application/json">{data}</script></section>"""
FOOT = (
    "<footer><p>{stamp}{facts}</p>"
    "<p>The same bytes again: <code>{again}</code></p></footer>"
)


def text(words: object) -> str:
    """Foreign text for HTML: escaped, with marks for characters that cannot be seen."""
    return escape(visible(words), quote=True)


def whole(words: object) -> str:
    """Foreign text as `text` returns it, with no line break inside an interval or a name."""
    return WHOLE.sub(r'<span class="pair">\g<0></span>', text(words))


def element(name: str, inside: Iterable[str], attributes: str = "") -> str:
    """An HTML element. `inside` is its HTML, or pieces of it; `attributes` begins with a blank, as
    ` class="dim"`, and is escaped already."""
    return f"<{name}{attributes}>{''.join(inside)}</{name}>"


# --- lines -------------------------------------------------------------------------------------


def _tag(tag: doc.Tag) -> str:
    return element("span", text(tag.words), f' class="tag {text(tag.kind)}"')


def _link(link: doc.Link) -> str:
    return element("a", text(link.words), f' href="{text(link.to)}"')


LINES: dict[type, Callable[[Any], str]] = {
    str: whole,
    list: lambda pieces: " ".join(map(line, pieces)),
    doc.Tag: _tag,
    doc.Link: _link,
    doc.Code: lambda code: element("code", text(code.words)),
    doc.Small: lambda small: element("small", text(small.words)),
    figures.Estimate: lambda estimate: whole(estimate.words),
}


def line(words: doc.Line) -> str:
    """The HTML of a line."""
    return LINES[type(words)](words)


# --- tables ------------------------------------------------------------------------------------


def _table(table: doc.Table, level: int) -> str:
    """The HTML of a table. On a phone each row becomes a small card."""
    caption, region = text(table.caption), ""
    if len(table.head) > MOST_COLUMNS:  # it may scroll: then by keyboard too
        label = caption if caption else "table"
        region = f' tabindex="0" role="region" aria-label="{label}"'
    parts = [element("caption", caption)] if caption else []
    parts.append(element("thead", element("tr", _head(table))))
    parts.append(element("tbody", [_row(table, row) for row in table.rows]))
    scrolled = element("table", parts, ' class="stacked"')
    return element("div", scrolled, f' class="wide"{region}')


def _head(table: doc.Table) -> Iterator[str]:
    """The cells of a table's head."""
    say = whole if len(table.head) <= UNBROKEN else text
    for at, name in enumerate(table.head):
        if name:
            yield element("th", say(name), f' scope="col"{_number(table, at)}')
        else:
            yield '<td class="none"></td>'


def _number(table: doc.Table, at: int) -> str:
    """The attribute of a cell in column `at`: its class where the column has numbers, else ""."""
    return ' class="n"' if at in table.numeric else ""


def _row(table: doc.Table, row: Sequence[doc.Line]) -> str:
    """The HTML of a row. A row with a single cell is the heading of a group."""
    first, *rest = row
    if not rest and len(table.head) > 1:
        attributes = f' scope="rowgroup" colspan="{len(table.head)}"'
        return element("tr", element("th", line(first), attributes), ' class="group"')
    cells = [element("th", line(first), f' scope="row"{_number(table, 0)}')]
    for at, cell in enumerate(rest, 1):
        label = f' data-h="{text(table.head[at])}"'
        cells.append(element("td", line(cell), _number(table, at) + label))
    return element("tr", cells)


# --- blocks ------------------------------------------------------------------------------------


def _words(block: doc.Words, level: int) -> str:
    attributes = f' class="{block.kind}"' if block.kind else ""
    return element("p", line(block.line), attributes)


def _bullets(block: doc.Bullets, level: int) -> str:
    return element("ul", [element("li", line(item)) for item in block.items])


def _verbatim(block: doc.Verbatim, level: int) -> str:
    return element("pre", text(block.text))


def _plot(block: doc.Plot, level: int) -> str:
    title = element("b", f"{text(block.figure.title)}.")
    caption = element("figcaption", f"{title} {text(block.caption)}")
    return element("figure", plots.svg(block.figure) + caption)


def _fold(block: doc.Fold, level: int) -> str:
    title = element("summary", line(block.title))
    return element("details", title + element("div", blocks(block.parts, level)))


def _columns(block: doc.Columns, level: int) -> str:
    columns = [element("div", blocks(part, level)) for part in block.parts]
    return element("div", columns, ' class="cols"')


def _section(block: doc.Section, level: int) -> str:
    heading = element(f"h{level}", text(block.title))
    return heading + blocks(block.parts, level + 1)


BLOCKS: dict[type, Callable[[Any, int], str]] = {
    doc.Words: _words,
    doc.Bullets: _bullets,
    doc.Table: _table,
    doc.Verbatim: _verbatim,
    doc.Plot: _plot,
    doc.Fold: _fold,
    doc.Columns: _columns,
    doc.Section: _section,
}


def blocks(parts: Sequence[Any], level: int) -> str:
    """The HTML of blocks; `level` is the level of the next heading."""
    return "".join(BLOCKS[type(part)](part, level) for part in parts)


# --- pages -------------------------------------------------------------------------------------


def page(report: doc.Document) -> str:
    """The whole report as one HTML file."""
    main = _first(report) + _sections(report)
    script, allowed = "", "'none'"
    if report.trials:
        main += _trials(report.trials)
        script = element("script", SCRIPT) + "\n"
        digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest())
        allowed = f"'sha256-{digest.decode()}'"
    return PAGE.format(
        policy=POLICY.format(script=allowed),
        title=text(report.title),
        css=figures.CSS,
        main=main,
        foot=_foot(report),
        script=script,
    )


def _first(report: doc.Document) -> str:
    """Title, stamps, the first screen with answer and figure, and the rest of the gist."""
    top = element("h1", text(report.title))
    for words in (*report.alarms, *report.stamps):
        top += element("p", text(words), ' class="banner"')
    figure, beside = "", []
    if report.figure:
        figure = blocks([report.figure], 2)
        beside = list(takewhile(_is_narrow, report.gist))
    first = FIRST.format(
        answer=whole(report.answer),
        figure=figure,
        question=whole(report.question),
        beside=blocks(beside, 2),
    )
    return top + first + blocks(report.gist[len(beside) :], 2)


def _is_narrow(block: Any) -> bool:
    """Whether a block has room beside a figure."""
    if isinstance(block, doc.Table):
        return len(block.head) <= UNBROKEN
    return isinstance(block, (doc.Words, doc.Bullets))


def _sections(report: doc.Document) -> str:
    """The sections, after a list of links to them where they are more than two."""
    links, sections = [], []
    titles = [section.title for section in report.sections]
    names = doc.slugs(titles, ("main", "trials"))
    for name, section in zip(names, report.sections, strict=True):
        links.append(_item(name, section.title))
        part = blocks([section], 2)
        sections.append("\n" + element("section", part, f' id="{name}"'))
    if report.trials:
        links.append(_item("trials", report.trials.title))
    if len(sections) > 2:
        contents = element("nav", element("ul", links), ' aria-label="Contents"')
        sections.insert(0, contents)
    return "".join(sections)


def _item(name: str, title: str) -> str:
    """A link to the section with this anchor."""
    return element("li", line(doc.Link(title, f"#{name}")))


def _trials(trials: doc.TrialTable) -> str:
    """The trial table. Its rows are HTML; the texts they unfold to are JSON, with each distinct
    line once."""
    head = [element("th", text(name), ' scope="col"') for name in trials.head]
    rows, texts = [], []
    lines: dict[str, int] = {}
    for trial in trials.rows:
        cells = [element("td", line(cell)) for cell in trial.cells]
        rows.append(element("tr", cells))
        texts.append([_parts(*titled, lines) for titled in trial.texts])
    data = {"lines": list(lines), "rows": texts}
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return TRIALS.format(
        title=text(trials.title),
        note=text(trials.note),
        head="".join(head),
        rows="\n".join(rows),
        data=written.replace("<", "\\u003c"),
    )


def _parts(heading: str, block: doc.Verbatim, lines: dict[str, int]) -> list[list[int]]:
    """The text of a trial as lists of line numbers. With marked words there are four: its heading,
    the text before them, the marked words, the text after them; else two: heading and text.

    A line's number is its place in `lines`, to which new lines are added.
    """
    parts = [heading, block.text]
    if block.span:
        first, last = block.span
        before, marked = block.text[:first], block.text[first:last]
        parts = [heading, before, marked, block.text[last:]]
    found = []
    for part in parts:
        each = visible(part).split("\n")
        found.append([lines.setdefault(words, len(lines)) for words in each])
    return found


def _foot(report: doc.Document) -> str:
    """The end of the page: stamp, facts, and the command that makes it again."""
    stamp = ""
    if doc.simulated(report):
        stamp = f'<span class="stamp">{doc.SIMULATED}</span> '
    facts = " · ".join(map(text, doc.facts(report.foot)))
    return FOOT.format(stamp=stamp, facts=facts, again=text(report.foot.again))
