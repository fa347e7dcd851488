"""A `Document` as self-contained HTML: light and dark, phone and print; looks in `figures.py`.

    write_atomic(folder / "report.html", page(report))

Always in one order: the answer in a sentence, one figure, the gist, sections, the trial table.
Nothing is loaded from elsewhere and a Content-Security-Policy forbids it; the only script is ours,
allowed by its hash, and only where there are trials. Whatever came from a model goes through
`text`, or through JSON into text nodes.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from show import document as doc
from show import figures, plots
from show.figures import visible

MOST_COLUMNS = 6  # of a table that needs no scrolling at 1280 px
UNBROKEN = 5  # columns whose heads have room for whole names
# An interval; a short word with hyphens, such as a respondent's name.
WHOLE = re.compile(
    r"\([+−]?[\d.,]+ to [+−]?[\d.,]+\)"
    r"|(?<![\w.-])(?=[\w.-]{3,20}(?![\w.-]))\w[\w.]*(?:-[\w.]+)+"
)
# Filters the trial table by its columns and by words, and opens its rows; without a script the
# rows simply stand there. A row's texts are [heading, before, marked, after], each a list of lines.
SCRIPT = """
const table = document.querySelector('#trials table'), trials = [...table.tBodies[0].rows];
const {lines, rows} = JSON.parse(document.querySelector('#trials script').textContent);
const add = (parent, tag, words) =>
  parent.appendChild(Object.assign(document.createElement(tag), {textContent: words}));
const read = part => part.map(at => lines[at]).join('\\n');
const open = (row, at) => {
  const cell = add(document.createElement('tr'), 'td', '');
  cell.colSpan = row.cells.length;
  for (const [head, ...parts] of rows[at]) {
    add(cell, 'h3', read(head));
    const text = add(cell, 'pre', '');
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


def text(words: object) -> str:
    """Foreign text for HTML: escaped, unseen characters as marks."""
    return escape(visible(words), quote=True)


def whole(words: object) -> str:
    """The same, in which no line ends inside an interval or a name."""
    return WHOLE.sub(r'<span class="pair">\g<0></span>', text(words))


# --- lines -------------------------------------------------------------------------------------

LINES: dict[type, Callable[[Any], str]] = {
    str: text,
    doc.Tag: lambda tag: f'<span class="tag {text(tag.kind)}">{text(tag.words)}</span>',
    doc.Link: lambda link: f'<a href="{text(link.to)}">{text(link.words)}</a>',
    doc.Code: lambda code: f"<code>{text(code.words)}</code>",
    doc.Small: lambda small: f"<small>{text(small.words)}</small>",
    doc.Heat: lambda heat: text(heat.words),
    doc.Estimate: lambda estimate: whole(estimate.words),
}


def line(words: doc.Line) -> str:
    """A line's HTML."""
    return (
        " ".join(map(line, words))
        if isinstance(words, list)
        else LINES[type(words)](words)
    )


# --- tables ------------------------------------------------------------------------------------


def _table(table: doc.Table, level: int) -> str:
    """On a phone each row becomes a small card; a heat map has a scale."""
    heat = any(isinstance(cell, doc.Heat) for row in table.rows for cell in row)
    say = whole if len(table.head) <= UNBROKEN else text
    head = "".join(
        f'<th scope="col"{_number(table, at)}>{say(name)}</th>'
        if name
        else '<td class="none"></td>'
        for at, name in enumerate(table.head)
    )
    body = "".join(_row(table, row) for row in table.rows)
    caption = (
        f"<caption>{text(table.caption)}{SCALE if heat else ''}</caption>"
        if table.caption or heat
        else ""
    )
    wide = heat or len(table.head) > MOST_COLUMNS  # may scroll: by keyboard too
    region = (
        f' tabindex="0" role="region" aria-label="{text(table.caption or "table")}"'
        if wide
        else ""
    )
    return (
        f'<div class="wide"{region}>'
        f'<table class="stacked{" heat" * heat}">{caption}'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _number(table: doc.Table, at: int) -> str:
    return ' class="n"' if at in table.numeric else ""


def _row(table: doc.Table, row: Sequence[doc.Line]) -> str:
    if len(row) == 1 < len(table.head):
        return (
            f'<tr class="group"><th scope="rowgroup" colspan="{len(table.head)}">'
            f"{line(row[0])}</th></tr>"
        )
    cells = "".join(
        f"<td{_tint(cell) if isinstance(cell, doc.Heat) else _number(table, at)} "
        f'data-h="{text(table.head[at])}">{line(cell)}</td>'
        for at, cell in enumerate(row[1:], 1)
    )
    return f'<tr><th scope="row"{_number(table, 0)}>{line(row[0])}</th>{cells}</tr>'


def _tint(cell: doc.Heat) -> str:
    if cell.strength is None:
        return ' class="none"'
    deep = ' class="deep"' if cell.strength >= 0.5 else ""
    title = f' title="{text(cell.title)}"' if cell.title else ""
    return f'{deep} style="--v:{figures.tint(cell.strength):.1f}%"{title}'


SCALE = (
    '<span class="scale" aria-hidden="true">'
    + "".join(
        f"<b{_tint(doc.Heat(at / 100))}>{at}%</b>" for at in (0, 20, 40, 60, 80, 100)
    )
    + "</span>"
)


# --- blocks ------------------------------------------------------------------------------------


def _words(block: doc.Words, level: int) -> str:
    kind = f' class="{block.kind}"' if block.kind else ""
    return f"<p{kind}>{line(block.line)}</p>"


def _bullets(block: doc.Bullets, level: int) -> str:
    items = "".join(f"<li>{line(item)}</li>" for item in block.items)
    return f"<ul>{items}</ul>" if items else ""


BLOCKS: dict[type, Callable[[Any, int], str]] = {
    doc.Words: _words,
    doc.Bullets: _bullets,
    doc.Table: _table,
    doc.Verbatim: lambda block, level: f"<pre>{text(block.text)}</pre>",
    doc.Plot: lambda block, level: (
        f"<figure>{plots.svg(block.figure)}<figcaption><b>{text(block.figure.title)}.</b> "
        f"{text(block.caption)}</figcaption></figure>"
    ),
    doc.Fold: lambda block, level: (
        f"<details><summary>{line(block.title)}</summary>"
        f"<div>{blocks(block.parts, level)}</div></details>"
    ),
    doc.Columns: lambda block, level: (
        '<div class="cols">'
        + "".join(f"<div>{blocks(part, level)}</div>" for part in block.parts)
        + "</div>"
    ),
    doc.Section: lambda block, level: (
        f"<h{level}>{text(block.title)}</h{level}>{blocks(block.parts, level + 1)}"
    ),
}


def blocks(parts: Sequence[Any], level: int) -> str:
    """HTML of blocks; `level` is that of the next heading."""
    return "".join(BLOCKS[type(part)](part, level) for part in parts)


# --- pages -------------------------------------------------------------------------------------


def page(report: doc.Document) -> str:
    """The whole report as one file of HTML."""
    trials = report.trials if report.trials and report.trials.rows else None
    script = SCRIPT if trials else ""
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'; script-src "
        + (f"'sha256-{allowed}'" if script else "'none'")
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="referrer" content="no-referrer">\n'
        f"<title>{text(report.title)}</title>\n<style>{figures.CSS}</style>\n</head>\n<body>\n"
        f'<a class="skip" href="#main">Skip to the content</a>\n<main id="main" tabindex="-1">\n'
        f"{_report(report, trials)}{_trials(trials) if trials else ''}\n</main>\n"
        f"{_foot(report.foot, doc.simulated(report))}\n"
        + (f"<script>{script}</script>\n" if script else "")
        + "</body>\n</html>\n"
    )


def _report(report: doc.Document, trials: doc.TrialTable | None) -> str:
    above = (*report.alarms, *report.stamps)
    stamps = "".join(f'<p class="banner">{text(words)}</p>' for words in above)
    figure = blocks([report.figure], 2) if report.figure else ""
    wide = " wide" if isinstance(report.figure, doc.Table) else ""
    beside = 0 if wide else int(list(report.gist[:1]) == [report.verdicts])
    titles = [section.title for section in report.sections]
    anchors = list(doc.slugs(titles, ("main", "trials")))
    sections = "\n".join(
        f'<section id="{name}"><h2>{text(section.title)}</h2>{blocks(section.parts, 3)}</section>'
        for name, section in zip(anchors, report.sections, strict=True)
    )
    links = [*zip(anchors, titles, strict=True)] + (
        [("trials", trials.title)] if trials else []
    )
    items = "".join(
        f'<li><a href="#{name}">{text(title)}</a></li>' for name, title in links
    )
    contents = (
        f'<nav aria-label="Contents"><ul>{items}</ul></nav>\n'
        if len(titles) > 2
        else ""
    )
    return (
        f"<h1>{text(report.title)}</h1>{stamps}"
        f'<div class="first{wide}"><p class="answer">{whole(report.answer)}</p>{figure}'
        f'<div class="question"><p>{whole(report.question)}</p>'
        f"{blocks(report.gist[:beside], 2)}</div></div>\n"
        f"{blocks(report.gist[beside:], 2)}{contents}{sections}"
    )


def _trials(trials: doc.TrialTable) -> str:
    """Rows that stand as they are, and each distinct line of their texts once, as JSON."""
    head = "".join(f'<th scope="col">{text(name)}</th>' for name in trials.head)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{line(cell)}</td>" for cell in trial.cells) + "</tr>"
        for trial in trials.rows
    )
    lines: dict[str, int] = {}
    texts = [
        [
            [_lines(part, lines) for part in (heading, *_marked(block))]
            for heading, block in trial.texts
        ]
        for trial in trials.rows
    ]
    data = json.dumps(
        {"lines": list(lines), "rows": texts}, ensure_ascii=False, separators=(",", ":")
    ).replace("<", "\\u003c")
    return (
        f'\n<section id="trials" class="trials"><h2>{text(trials.title)}</h2>'
        f'<p class="dim">{text(trials.note)}</p><form hidden><input type="search" '
        'placeholder="words in the texts" aria-label="words in the texts"> '
        '<output aria-live="polite"></output></form>'
        f'<div class="wide" tabindex="0" role="region" aria-label="{text(trials.title)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
        f'<script type="application/json">{data}</script></section>'
    )


def _marked(block: doc.Verbatim) -> tuple[str, ...]:
    """What stands before the marked words, they, and what follows; the text alone without them."""
    if not block.span:
        return (block.text,)
    a, b = block.span
    return block.text[:a], block.text[a:b], block.text[b:]


def _lines(words: str, lines: dict[str, int]) -> list[int]:
    """Where each line of the text stands in `lines`, which takes what is new."""
    return [lines.setdefault(each, len(lines)) for each in visible(words).split("\n")]


def _foot(foot: doc.Foot, stamped: bool) -> str:
    named = " · ".join(text(f"{name} {value}") for name, value in foot.facts.items())
    stamp = f'<span class="stamp">{doc.SIMULATED}</span> ' if stamped else ""
    return (
        f"<footer><p>{stamp}cirrus-bench {text(foot.version)} · {named}</p>"
        f"<p>The same bytes again: <code>{text(foot.again)}</code></p></footer>"
    )
