"""A report as one self-contained HTML file, light and dark, phone and print; looks in `look.py`.

    html = page("Title", "One sentence.", [section("Results", figure(svg, "What it shows"))],
                footer={"seed": "42", "design": "1f3a5b…"}, simulated=True,
                again="python3 analyze.py results/pilot/pilot-s42")

Nothing is loaded from elsewhere and a Content-Security-Policy forbids it; the only script is
ours, allowed by its hash, and only where there is something to filter. Whatever came from a model
goes through `text`.
"""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from show import old_look as look

VERSION = "0.1.0"  # until URRP's page is a document too

# Shows the folds whose words match; without a script everything is simply there.
FILTER = """
for (const box of document.querySelectorAll('.filter')) {
  const folds = [...document.querySelectorAll(box.dataset.folds)];
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


SIMULATED = ("SIMULATED: no model was asked. These answers come from simulated respondents and say "
             "nothing about any model.")


def text(value: object) -> str:
    """Foreign text for HTML: escaped, control characters made visible."""
    said = str(value)
    if not said.replace("\n", "").replace("\t", "").isprintable():
        said = "".join(c if c.isprintable() or c in "\n\t" else "�" for c in said)
    return escape(said, quote=True)


def section(title: str, *parts: str, anchor: str = "") -> str:
    """A part of the page under an h2; `page` lists all of them at its top."""
    name = anchor or re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "part"
    return f'<section id="{name}"><h2>{escape(title)}</h2>{"".join(parts)}</section>'


def figure(svg: str, caption: str) -> str:
    """A drawing with its words below."""
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def columns(*parts: str) -> str:
    """Side by side where there is room, below each other on a phone."""
    return f'<div class="cols">{"".join(f"<div>{part}</div>" for part in parts)}</div>'


def paragraph(words: str, kind: str = "") -> str:
    """Plain words; `kind` is a class such as dim or lead."""
    return f'<p class="{kind}">{text(words)}</p>' if kind else f"<p>{text(words)}</p>"


def bullets(items: Sequence[str]) -> str:
    """A list of plain words."""
    return f"<ul>{''.join(f'<li>{text(item)}</li>' for item in items)}</ul>"


def tiles(items: Mapping[str, str]) -> str:
    """{label: figure}: the few numbers that a reader takes away."""
    return ('<ul class="tiles">' + "".join(
        f"<li><b>{text(value)}</b>{text(name)}</li>" for name, value in items.items()) + "</ul>")


def tag(words: str, kind: str) -> str:
    """A word in a box; `kind` is yes, no, maybe, dim, cooperate or defect."""
    return f'<span class="tag {kind}">{text(words)}</span>'


PAIR = re.compile(r"(\([+−]?[\d.,]+ to [+−]?[\d.,]+\))")  # an interval, which is never broken


def table(head: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int] = (),
          caption: str = "") -> str:
    """Cells are HTML already (use `text`). On a phone each row becomes a small card.

    The first cell names its row. `caption` says what the table holds, where no heading does.
    """
    def cell(kind: str, at: int, html: str) -> str:
        number = ' class="n"' if at in numeric else ""
        label = f' data-h="{escape(head[at], quote=True)}"' if kind == "td" else ""
        scope = {"top": ' scope="col"', "row": ' scope="row"'}.get(kind, "")
        name = "td" if kind == "td" else "th"
        html = PAIR.sub(r'<span class="pair">\1</span>', html)
        return f"<{name}{scope}{number}{label}>{html}</{name}>"

    top = "".join(cell("top", i, escape(name)) for i, name in enumerate(head))
    body = "".join("<tr>" + "".join(cell("td" if i else "row", i, html)
                                    for i, html in enumerate(row)) + "</tr>" for row in rows)
    said = f"<caption>{text(caption)}</caption>" if caption else ""
    return (f'<div class="wide"><table class="stacked">{said}<thead><tr>{top}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>")


class Heat(NamedTuple):
    """A cell of a heat map: how strong its tint is (0 to 1, None: empty), and what stands in it."""

    strength: float | None
    said: str = ""
    small: str = ""
    title: str = ""


def heat(head: Sequence[str], rows: Sequence[tuple[str, Sequence[Heat]]], caption: str,
         tint: str = "amount") -> str:
    """A table of tinted cells. A row without cells heads a group of rows; `tint`: a colour."""
    top = "".join(f'<th scope="col">{text(name)}</th>' for name in head)
    wide = f'scope="rowgroup" colspan="{len(head) + 1}"'
    body = "".join(
        f'<tr><th scope="row">{text(name)}</th>{"".join(map(_heat_cell, cells))}</tr>' if cells
        else f'<tr class="group"><th {wide}>{text(name)}</th></tr>' for name, cells in rows)
    named = escape(caption, quote=True)
    return (f'<div class="wide" tabindex="0" role="region" aria-label="{named}">'
            f'<table class="heat" style="--tint:var(--{tint})"><caption>{text(caption)}</caption>'
            f'<thead><tr><td class="none"></td>{top}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>")


def _heat_cell(cell: Heat) -> str:
    if cell.strength is None:
        return '<td class="none">–</td>'
    more = f" <small>{text(cell.small)}</small>" if cell.small else ""
    title = f' title="{text(cell.title)}"' if cell.title else ""
    return f'<td style="--v:{cell.strength:.3f}"{title}>{text(cell.said)}{more}</td>'


def fold(summary: str, body: str, found_by: str = "", kind: str = "") -> str:
    """A fold; `summary` and `body` are HTML, `found_by` is what `keys` gives for the filter."""
    return (f'<details class="{escape(kind, quote=True)}" data-keys="{text(found_by)}">'
            f"<summary>{summary}</summary><div>{body}</div></details>")


def keys(*values: str) -> str:
    """What the filter finds a fold by; brackets keep "complete" from finding "incomplete"."""
    return "".join(f"[{value}]" for value in values)


def search_box(folds: str, choices: Mapping[str, Sequence[str]]) -> str:
    """A filter over the elements that the CSS selector `folds` names; shown where scripts run."""
    lists = "".join(
        f'<select aria-label="{escape(name, quote=True)}"><option value="">{escape(name)}: all'
        "</option>" + "".join(f'<option value="{text(keys(value))}">{text(value)}</option>'
                              for value in values) + "</select>"
        for name, values in choices.items())
    return (f'<form class="filter" hidden data-folds="{escape(folds, quote=True)}">{lists}'
            '<input type="search" placeholder="words in the text" aria-label="words in the text">'
            '<output aria-live="polite"></output></form>')


def page(title: str, lead: str, body: Sequence[str], footer: Mapping[str, str],
         simulated: bool | str, banner: str = "", again: str = "") -> str:
    """The whole file. `body`: sections; `footer`: what identifies the study (seed, hashes).

    `simulated`: whether no model was asked, or in words what part is simulated. `again`: the
    command that makes this file again from what is stored.
    """
    parts = _own_names(body)
    script = FILTER if any('<form class="filter"' in part for part in parts) else ""
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = ("default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
              "form-action 'none'; script-src " + (f"'sha256-{allowed}'" if script else "'none'"))
    stamp = SIMULATED if simulated is True else simulated or ""
    said = "".join(f'<p class="banner">{text(words)}</p>' for words in (stamp, banner) if words)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="referrer" content="no-referrer">\n'
        f"<title>{text(title)}</title>\n<style>{look.CSS}</style>\n</head>\n<body>\n"
        f'<a class="skip" href="#main">Skip to the content</a>\n<main id="main" tabindex="-1">\n'
        f'<h1>{text(title)}</h1>\n<p class="lead">{text(lead)}</p>\n{said}\n'
        + _contents(parts) + "\n".join(parts)
        + f"\n</main>\n{look.footer(VERSION, footer, bool(simulated), again)}\n"
        + (f"<script>{script}</script>\n" if script else "") + "</body>\n</html>\n")


# What turns, hides or ends the text around it. Captions and labels of plots hold names too.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f"
                    "\ufeff]")
HEADED = re.compile(r'<section id="([^"]*)"><h2>(.*?)</h2>')  # never in foreign text: it is escaped


def _own_names(body: Sequence[str]) -> list[str]:
    """The same parts; a section whose name is taken gets a number."""
    seen: dict[str, int] = {"main": 1}

    def rename(match: re.Match) -> str:
        name, title = match.groups()
        seen[name] = seen.get(name, 0) + 1
        own = name if seen[name] == 1 else f"{name}-{seen[name]}"
        return f'<section id="{own}"><h2>{title}</h2>'

    return [UNSEEN.sub("�", HEADED.sub(rename, part)) for part in body]


def _contents(body: Sequence[str]) -> str:
    """Links to the sections; none for a page of one or two."""
    found = [match.groups() for part in body for match in HEADED.finditer(part)]
    if len(found) < 3:
        return ""
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title in found)
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>\n'
