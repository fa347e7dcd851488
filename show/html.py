"""A `Document` as self-contained HTML: light and dark, phone and print; looks in `figures.py`.

    for name, page in pages(report, "report.html").items():    # report-2.html … if many texts
        write_atomic(folder / name, page)

Always in one order: the answer in a sentence, one figure, the gist, then tables, then texts folded
shut. Nothing is loaded from elsewhere and a Content-Security-Policy forbids it; the only script is
ours, allowed by its hash, and only where there is something to filter. Whatever came from a model
goes through `text`.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from show import figures, plots
from show.document import (
    SIMULATED,
    Bullets,
    Code,
    Columns,
    Document,
    Estimate,
    Fold,
    Foot,
    Heat,
    Line,
    Link,
    Plot,
    Section,
    Small,
    Table,
    Tag,
    Texts,
    Verbatim,
    Words,
    is_heat,
    simulated,
)
from show.figures import visible

MOST = 2000  # texts on a page; a browser opens some 6 MB of them at once
MOST_COLUMNS = 7   # of a table that needs no scrolling at 1280 px
# Shows the folds whose words match; without a script everything is simply there.
FILTER = """
for (const box of document.querySelectorAll('.filter')) {
  const folds = [...box.parentElement.querySelectorAll('[data-keys]')];
  const count = box.querySelector('output');
  const show = () => {
    const words = [...box.querySelectorAll('input,select')]
      .map(field => field.value.toLowerCase()).filter(Boolean);
    let shown = 0;
    for (const fold of folds) {
      const text = (fold.dataset.keys + ' ' + fold.textContent).toLowerCase();
      fold.hidden = !words.every(word => text.includes(word));
      shown += !fold.hidden;
    }
    count.textContent = shown + ' of ' + folds.length;
  };
  box.hidden = false;
  box.addEventListener('input', show);
  show();
}
"""


def text(words: object) -> str:
    """Foreign text for HTML: escaped, unseen characters as marks."""
    return escape(visible(words), quote=True)


# --- lines -------------------------------------------------------------------------------------

LINES: dict[type, Callable[[Any], str]] = {
    str: text,
    Tag: lambda tag: f'<span class="tag {text(tag.kind)}">{text(tag.words)}</span>',
    Link: lambda link: f'<a href="{text(link.to)}">{text(link.words)}</a>',
    Code: lambda code: f"<code>{text(code.words)}</code>",
    Small: lambda small: f"<small>{text(small.words)}</small>",
    Heat: lambda heat: text(heat.words),
    Estimate: lambda estimate: PAIR.sub(r'<span class="pair">\1</span>', text(estimate.words))}
PAIR = re.compile(r"(\([+−]?[\d.,]+ to [+−]?[\d.,]+\))")  # an interval, which is never broken


def line(words: Line) -> str:
    """A line's HTML."""
    return " ".join(map(line, words)) if isinstance(words, list) else LINES[type(words)](words)


# --- tables ------------------------------------------------------------------------------------

def _table(table: Table, level: int) -> str:
    """On a phone each row becomes a small card; a heat map scrolls, and has a scale."""
    heat = is_heat(table)
    head = "".join(f'<th scope="col"{_number(table, at)}>{text(name)}</th>' if name
                   else '<td class="none"></td>' for at, name in enumerate(table.head))
    body = "".join(_row(table, row) for row in table.rows)
    caption = (f"<caption>{text(table.caption)}{SCALE if heat else ''}</caption>"
               if table.caption or heat else "")
    named = text(table.caption or "table")
    wide = heat or len(table.head) > MOST_COLUMNS   # may scroll: by keyboard too
    region = f' tabindex="0" role="region" aria-label="{named}"' if wide else ""
    return (f'<div class="wide"{region}>'
            f'<table class="{"heat" if heat else "stacked"}">{caption}'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>")


def _number(table: Table, at: int) -> str:
    return ' class="n"' if at in table.numeric else ""


def _row(table: Table, row: Sequence[Line]) -> str:
    if len(row) == 1 and len(table.head) > 1:
        return (f'<tr class="group"><th scope="rowgroup" colspan="{len(table.head)}">'
                f"{line(row[0])}</th></tr>")
    first = f'<th scope="row"{_number(table, 0)}>{line(row[0])}</th>'
    return f"<tr>{first}{''.join(_cell(table, at, row[at]) for at in range(1, len(row)))}</tr>"


def _cell(table: Table, at: int, cell: Line) -> str:
    if isinstance(cell, Heat):
        return _heat(cell)
    label = f' data-h="{text(table.head[at])}"'
    return f"<td{_number(table, at)}{label}>{line(cell)}</td>"


def _heat(cell: Heat, tag: str = "td") -> str:
    if cell.strength is None:
        return f'<td class="none">{text(cell.words)}</td>'
    deep = ' class="deep"' if cell.strength >= 0.5 else ""
    title = f' title="{text(cell.title)}"' if cell.title else ""
    return (f'<{tag}{deep} style="--v:{figures.tint(cell.strength):.1f}%"{title}>{text(cell.words)}'
            f"</{tag}>")


SCALE = '<span class="scale" aria-hidden="true">' + "".join(
    _heat(Heat(at / 100, f"{at}%"), "b") for at in (0, 20, 40, 60, 80, 100)) + "</span>"


# --- blocks ------------------------------------------------------------------------------------

def _marked(block: Verbatim) -> str:
    if not block.span:
        return text(block.text)
    a, b = block.span
    return f"{text(block.text[:a])}<mark>{text(block.text[a:b])}</mark>{text(block.text[b:])}"


def _plot(block: Plot, level: int) -> str:
    caption = f"<b>{text(block.figure.title)}.</b> {text(block.caption)}"
    return f"<figure>{plots.svg(block.figure)}<figcaption>{caption}</figcaption></figure>"


def keys(values: Sequence[str]) -> str:
    """What the filter finds a fold by; brackets keep "complete" from finding "incomplete"."""
    return "".join(f"[{value}]" for value in values)


def _fold(block: Fold, level: int) -> str:
    attribute = f' data-keys="{text(keys(block.keys))}"' if block.keys else ""
    return (f"<details{attribute}><summary>{line(block.title)}</summary>"
            f"<div>{blocks(block.parts, level)}</div></details>")


BLOCKS: dict[type, Callable[[Any, int], str]] = {
    Words: lambda block, level: f"<p{_kind(block.kind)}>{line(block.line)}</p>",
    Bullets: lambda block, level: _list("".join(f"<li>{line(item)}</li>" for item in block.items)),
    Verbatim: lambda block, level: f"<pre>{_marked(block)}</pre>",
    Table: _table, Plot: _plot,
    Columns: lambda block, level: '<div class="cols">' + "".join(
        f"<div>{blocks(part, level)}</div>" for part in block.parts) + "</div>", Fold: _fold,
    Section: lambda block, level: (
        f"<h{level}>{text(block.title)}</h{level}>{blocks(block.parts, level + 1)}")}


def _list(items: str) -> str:
    return f"<ul>{items}</ul>" if items else ""


def _kind(kind: str) -> str:
    return f' class="{text(kind)}"' if kind else ""


def blocks(parts: Sequence[Any], level: int) -> str:
    """HTML of blocks; `level` is that of the next heading."""
    return "".join(BLOCKS[type(part)](part, level) for part in parts)


# --- pages -------------------------------------------------------------------------------------

def pages(report: Document, name: str = "report.html") -> dict[str, str]:
    """{file name: page}: the report with its first texts, and pages beside it with the rest."""
    most, stem = len(report.texts.folds) if report.texts else 0, name.removesuffix(".html")
    names = [name, *(f"{stem}-{at}.html" for at in range(2, -(-most // MOST) + 1))]
    return {each: _page(report, names, at) for at, each in enumerate(names)}


def _report(report: Document) -> str:
    figure = blocks([report.figure], 2) if report.figure else ""
    wide = " wide" if isinstance(report.figure, Table) else ""
    ids = _names([section.title for section in report.sections])
    sections = "\n".join(
        f'<section id="{name}"><h2>{text(section.title)}</h2>{blocks(section.parts, 3)}</section>'
        for name, section in zip(ids, report.sections, strict=True))
    links = list(zip(ids, (section.title for section in report.sections), strict=True))
    return (f"<h1>{text(report.title)}</h1>{_stamps(report)}"
            f'<div class="first{wide}"><p class="answer">{text(report.answer)}</p>{figure}'
            f'<p class="question">{text(report.question)}</p></div>\n'
            f"{blocks(report.gist, 2)}{_contents(links, report.texts)}{sections}")


def _stamps(report: Document) -> str:
    return "".join(f'<p class="banner">{text(words)}</p>' for words in report.stamps)


def _names(titles: Sequence[str]) -> list[str]:
    """An anchor for each title; one that is taken gets a number."""
    seen, names = {"main": 1, "texts": 1}, []
    for title in titles:
        name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "part"
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return names


def _contents(links: Sequence[tuple[str, str]], texts: Texts | None) -> str:
    """Links to the sections; none for a page of one or two."""
    if len(links) < 3:
        return ""
    every = [*links, *([("texts", texts.title)] if texts and texts.folds else [])]
    items = "".join(f'<li><a href="#{name}">{text(title)}</a></li>' for name, title in every)
    return f'<nav aria-label="Contents"><ul>{items}</ul></nav>\n'


def _texts(texts: Texts, names: Sequence[str], at: int) -> str:
    """The folds of one page, a filter over them, and links to the pages with the others."""
    beside = " · ".join(
        f"{n + 1}" if n == at else f'<a href="{text(name)}{"#texts" if n == 0 else ""}">{n + 1}</a>'
        for n, name in enumerate(names)) if len(names) > 1 else ""
    more = (f'<p class="dim">{len(texts.folds):,} in all, {MOST:,} a page: {beside}</p>'
            if beside else "")
    note = f'<p class="dim">{text(texts.note)}</p>' if texts.note else ""
    folds = "".join(_fold(fold, 3) for fold in texts.folds[at * MOST:(at + 1) * MOST])
    return (f'\n<section id="texts" class="texts"><h2>{text(texts.title)}</h2>{note}{more}'
            f"{_filter(texts)}{folds}</section>")


def _filter(texts: Texts) -> str:
    """Shown where scripts run."""
    lists = "".join(
        f'<select aria-label="{text(name)}"><option value="">{text(name)}: all</option>' + "".join(
            f'<option value="{text(keys([value]))}">{text(value)}</option>' for value in values)
        + "</select>" for name, values in texts.choices.items())
    return (f'<form class="filter" hidden>{lists}<input type="search" placeholder="words in the '
            'text" aria-label="words in the text"><output aria-live="polite"></output></form>')


def _foot(foot: Foot, stamped: bool) -> str:
    named = " · ".join(text(f"{name} {value}") for name, value in foot.facts.items())
    how = f"<p>The same bytes again: <code>{text(foot.again)}</code></p>" if foot.again else ""
    stamp = f'<span class="stamp">{SIMULATED}</span> ' if stamped else ""
    return f"<footer><p>{stamp}cirrus-bench {text(foot.version)} · {named}</p>{how}</footer>"


def _page(report: Document, names: Sequence[str], at: int) -> str:
    above = _report(report) if at == 0 else f"<h1>{text(report.title)}</h1>{_stamps(report)}"
    texts = _texts(report.texts, names, at) if report.texts and report.texts.folds else ""
    script = FILTER if texts else ""
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = ("default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
              "form-action 'none'; script-src " + (f"'sha256-{allowed}'" if script else "'none'"))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="referrer" content="no-referrer">\n'
        f"<title>{text(report.title)}</title>\n<style>{figures.CSS}</style>\n</head>\n<body>\n"
        f'<a class="skip" href="#main">Skip to the content</a>\n<main id="main" tabindex="-1">\n'
        f"{above}{texts}\n</main>\n{_foot(report.foot, simulated(report))}\n"
        + (f"<script>{script}</script>\n" if script else "") + "</body>\n</html>\n")
