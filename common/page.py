"""The look of every report: one self-contained HTML file, light and dark, phone and print.

    html = page("Title", "One sentence.", [section("Results", figure(svg, "What it shows"))],
                footer={"seed": "42"}, simulated=True)

Nothing is loaded from elsewhere and a Content-Security-Policy forbids it; the only script is
ours, allowed by its hash. Whatever came from a model goes through `text`.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from html import escape

from common import VERSION

CSS = """
:root{color-scheme:light dark;--ink:#1b1f24;--dim:#57606a;--paper:#fff;--panel:#f5f7f9;
--rule:#d5dbe1;--link:#0b5cad;--c1:#0b5cad;--c2:#b04a00;--c3:#0a6b5d;--c4:#7b2f9b;--c5:#6b7480;
--good:#0a6b3d;--bad:#b3261e;--warn:#8a5300;--warnbg:#fff4dc;--on:#fff}
@media (prefers-color-scheme:dark){:root{--ink:#e6eaee;--dim:#a3adb8;--paper:#12161b;
--panel:#1b2128;--rule:#36404b;--link:#7db8ff;--c1:#6aaeff;--c2:#f2a25c;--c3:#4cc9b0;--c4:#d29bf0;
--c5:#8d97a3;--good:#5fd38d;--bad:#ff8a80;--warn:#ffc766;--warnbg:#3a2d10;--on:#0d1116}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main,footer{max-width:68rem;margin:0 auto;padding:1rem 1.25rem}
h1{font-size:1.7rem;line-height:1.2;margin:.6rem 0 .3rem}
h2{font-size:1.2rem;margin:2.2rem 0 .5rem;padding-top:.6rem;border-top:1px solid var(--rule)}
h3{font-size:1rem;margin:1.2rem 0 .3rem}
p,ul{margin:.4rem 0 .8rem;max-width:46rem}li{margin:.25rem 0}a{color:var(--link)}
.lead{font-size:1.1rem}.dim,small{color:var(--dim)}
.banner{background:var(--warnbg);color:var(--warn);border:1px solid currentColor;
border-radius:.4rem;padding:.55rem .8rem;margin:.8rem 0;font-weight:600}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.7rem;
margin:1rem 0;padding:0;max-width:none;list-style:none}
.tiles li{background:var(--panel);border-radius:.4rem;padding:.6rem .8rem;margin:0}
.tiles b{display:block;font-size:1.35rem;font-variant-numeric:tabular-nums}
.cols{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));
gap:1rem 2rem;align-items:start}
figure{margin:.5rem 0 1rem;max-width:34rem}figcaption{color:var(--dim);font-size:.9rem}
svg{display:block;width:100%;height:auto;overflow:visible}
svg text{fill:var(--ink);font:12.5px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",
sans-serif}
svg .dim{fill:var(--dim);font-size:11.5px}svg .head{font-weight:600}
svg .num{font-variant-numeric:tabular-nums}svg .on{fill:var(--on);font-weight:600}
svg .halo{paint-order:stroke;stroke:var(--paper);stroke-width:3px}
.grid{stroke:var(--rule);stroke-width:1}.zero{stroke:var(--dim);stroke-width:1.5}
.bar{stroke-width:2}.stroke{stroke-width:2;stroke-dasharray:5 3;opacity:.8}
.c1,.f1{fill:var(--c1)}.c2,.f2{fill:var(--c2)}.c3,.f3{fill:var(--c3)}.c4,.f4{fill:var(--c4)}
.c5,.f5{fill:var(--c5)}
.s1{stroke:var(--c1)}.s2{stroke:var(--c2)}.s3{stroke:var(--c3)}.s4{stroke:var(--c4)}
.s5{stroke:var(--c5)}
.wide{overflow-x:auto;margin:.4rem 0 1rem}
table{border-collapse:collapse;font-size:.92rem;width:100%}
th,td{text-align:left;padding:.32rem .7rem .32rem 0;border-bottom:1px solid var(--rule);
vertical-align:top;overflow-wrap:anywhere}
th{font-weight:600;color:var(--dim)}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;overflow-wrap:normal}
.tag{display:inline-block;border:1px solid currentColor;border-radius:.3rem;padding:0 .4rem;
font-size:.82rem;white-space:nowrap}
.yes{color:var(--good)}.no{color:var(--bad)}.maybe{color:var(--warn)}
details{border:1px solid var(--rule);border-radius:.4rem;margin:.4rem 0;background:var(--panel)}
summary{cursor:pointer;padding:.45rem .7rem;overflow-wrap:anywhere}
summary:focus-visible,a:focus-visible,input:focus-visible,select:focus-visible{
outline:3px solid var(--link);outline-offset:2px}
details>div{padding:.2rem .8rem .7rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--paper);border:1px solid
var(--rule);border-radius:.3rem;padding:.6rem;margin:.3rem 0 .7rem;
font:.88rem/1.5 ui-monospace,"DejaVu Sans Mono",monospace}
.filter{display:flex;flex-wrap:wrap;gap:.6rem;margin:.6rem 0}
.filter input,.filter select{font:inherit;color:inherit;background:var(--panel);
border:1px solid var(--dim);border-radius:.3rem;padding:.3rem .5rem;max-width:100%}
footer{color:var(--dim);font-size:.88rem;border-top:1px solid var(--rule);margin-top:2rem;
overflow-wrap:anywhere}
[hidden]{display:none}
@media (max-width:40rem){body{font-size:15px}main,footer{padding:.7rem .9rem}h1{font-size:1.4rem}
table.stacked thead{display:none}table.stacked tr{display:block;padding:.45rem 0;
border-bottom:1px solid var(--rule)}table.stacked td{display:block;border:0;padding:.05rem 0;
text-align:left}table.stacked td[data-h]:not(:empty)::before{content:attr(data-h) ": ";
color:var(--dim)}table.stacked td[data-h]:first-child{font-weight:600}
table.stacked td[data-h]:first-child:not(:empty)::before{content:none}}
@media print{:root{color-scheme:light}body{font-size:10.5pt}.filter{display:none}
details,figure,tr{break-inside:avoid}h2{break-after:avoid}}
"""

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


def text(value: object) -> str:
    """Foreign text for HTML: escaped, control characters made visible."""
    said = str(value)
    if not said.replace("\n", "").replace("\t", "").isprintable():
        said = "".join(c if c.isprintable() or c in "\n\t" else "�" for c in said)
    return escape(said, quote=True)


def section(title: str, *parts: str, anchor: str = "") -> str:
    name = f' id="{escape(anchor, quote=True)}"' if anchor else ""
    return f"<section{name}><h2>{escape(title)}</h2>{''.join(parts)}</section>"


def figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def columns(*parts: str) -> str:
    """Side by side where there is room, below each other on a phone."""
    return f'<div class="cols">{"".join(f"<div>{part}</div>" for part in parts)}</div>'


def paragraph(words: str, kind: str = "") -> str:
    return f'<p class="{kind}">{text(words)}</p>' if kind else f"<p>{text(words)}</p>"


def bullets(items: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{text(item)}</li>' for item in items)}</ul>"


def tiles(items: Mapping[str, str]) -> str:
    """{label: figure}: the few numbers that a reader takes away."""
    return ('<ul class="tiles">' + "".join(
        f"<li><b>{text(value)}</b>{text(name)}</li>" for name, value in items.items()) + "</ul>")


def tag(words: str, kind: str) -> str:
    """A word in a box; `kind` is yes, no, maybe or dim."""
    return f'<span class="tag {kind}">{text(words)}</span>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int] = ()) -> str:
    """Cells are HTML already (use `text`). On a phone each row becomes a small card."""
    def cell(kind: str, at: int, html: str) -> str:
        number = ' class="n"' if at in numeric else ""
        label = f' data-h="{escape(head[at], quote=True)}"' if kind == "td" else ""
        return f"<{kind}{number}{label}>{html}</{kind}>"

    top = "".join(cell("th", i, escape(name)) for i, name in enumerate(head))
    body = "".join("<tr>" + "".join(cell("td", i, html) for i, html in enumerate(row)) + "</tr>"
                   for row in rows)
    return (f'<div class="wide"><table class="stacked"><thead><tr>{top}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>")


def fold(summary: str, body: str, keys: str = "", kind: str = "") -> str:
    """A fold; `summary` and `body` are HTML, `keys` are words that the filter finds it by."""
    return (f'<details class="{escape(kind, quote=True)}" data-keys="{escape(keys, quote=True)}">'
            f"<summary>{summary}</summary><div>{body}</div></details>")


def search_box(folds: str, choices: Mapping[str, Sequence[str]]) -> str:
    """A filter over the folds that the CSS selector `folds` names; shown where scripts run."""
    lists = "".join(
        f'<select aria-label="{escape(name, quote=True)}"><option value="">{escape(name)}: all'
        f"</option>{''.join(f'<option>{text(value)}</option>' for value in values)}</select>"
        for name, values in choices.items())
    return (f'<form class="filter" hidden data-folds="{escape(folds, quote=True)}">{lists}'
            '<input type="search" placeholder="words in the text" aria-label="words in the text">'
            "<output></output></form>")


def page(title: str, lead: str, body: Sequence[str], footer: Mapping[str, str],
         simulated: bool, banner: str = "") -> str:
    """The whole file. `body`: sections; `footer`: what identifies the study (seed, hash)."""
    script_hash = base64.b64encode(hashlib.sha256(FILTER.encode()).digest()).decode()
    policy = ("default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
              f"form-action 'none'; script-src 'sha256-{script_hash}'")
    warnings = [banner] if banner else []
    if simulated:
        warnings.insert(0, "SIMULATED: no model was asked. These answers come from simulated "
                           "respondents and say nothing about any model.")
    said = "".join(f'<p class="banner">{text(words)}</p>' for words in warnings)
    identity = " · ".join(f"{text(key)} {text(value)}" for key, value in footer.items())
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="referrer" content="no-referrer">\n'
        f"<title>{text(title)}</title>\n<style>{CSS}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{text(title)}</h1>\n<p class="lead">{text(lead)}</p>\n{said}\n'
        + "\n".join(body)
        + f"\n</main>\n<footer>cirrus-bench {VERSION} · {identity}</footer>\n"
        f"<script>{FILTER}</script>\n</body>\n</html>\n")
