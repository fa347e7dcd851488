"""One look for every report: colours by what they mean, the sheet, and the footer.

A colour stands for one thing wherever it appears: `cooperate` is the same blue in every figure,
and nothing else is that blue. Beside its colour each thing has a mark, a dash or a word, so that
nothing rests on colour alone. Text reaches a contrast of 4.5 and graphics 3 on every ground
(WCAG 2.1 AA, 1.4.3 and 1.4.11), and what must be told apart stays apart under protanopia and
deuteranopia; `tests/test_look.py` computes both.
"""

from collections.abc import Mapping
from html import escape
from typing import NamedTuple


class Colour(NamedTuple):
    """A colour on light and on dark ground, and what it stands for."""

    light: str
    dark: str
    means: str


COLOURS = {
    "paper": Colour("#ffffff", "#12161b", "the page"),
    "panel": Colour("#f5f7f9", "#1b2128", "tiles, folds, fields, empty heat"),
    "ink": Colour("#1b1f24", "#e6eaee", "text"),
    "dim": Colour("#57606a", "#a3adb8", "notes; a verdict that is not evaluable"),
    "rule": Colour("#d5dbe1", "#36404b", "hairlines that only decorate"),
    "edge": Colour("#7b858f", "#7b858f", "the edge of a field or a button"),
    "link": Colour("#0b5cad", "#7db8ff", "links, and the ring around what has the focus"),
    "on": Colour("#ffffff", "#0d1116", "text on a filled bar"),
    "cooperate": Colour("#0b5cad", "#6aaeff", "the cooperative act: COORDINATE, SHARE, C"),
    "defect": Colour("#b04a00", "#f2a25c", "the other act: PREEMPT, RESERVE, D"),
    "none": Colour("#69737e", "#98a2ae", "no decision: unread, invalid, missing; baselines"),
    "present": Colour("#0a7a7a", "#7fe3d8", "coupling cue present; the first series; agent A"),
    "absent": Colour("#9140c0", "#c080f5", "coupling cue absent; the second series; agent B"),
    "third": Colour("#6b0a2c", "#ff5c82", "a third series"),
    "fourth": Colour("#857600", "#e0d84e", "a fourth series"),
    "estimate": Colour("#1b1f24", "#e6eaee", "an effect with its interval"),
    "pass": Colour("#0a7a55", "#6fe0a8", "pass, met, obeyed"),
    "fail": Colour("#8f1414", "#ff6b60", "fail, not met, damaged"),
    "undecided": Colour("#946200", "#fbd15a", "undecided, not established, incomplete"),
    "amount": Colour("#7b52c4", "#a88af2", "the tint of a heat map, with the figure in it"),
    "stamp": Colour("#714500", "#ffd27a", "SIMULATED, PILOT, INCOMPLETE"),
    "stampground": Colour("#fff1d6", "#3a2d10", "the ground of a stamp"),
}
SERIES = ("present", "absent", "third", "fourth")  # in this order, each with a mark of its own
DRAWN = ("cooperate", "defect", "none", *SERIES, "estimate")  # have classes c-, h-, s- and f-
TINT = 45  # percent of its colour that the strongest cell of a heat map has


def variables(scheme: str) -> str:
    """`--name:#rrggbb;…` for "light" or "dark"."""
    return "".join(f"--{name}:{getattr(colour, scheme)};" for name, colour in COLOURS.items())


def _drawn() -> str:
    """Classes of drawn things: filled, hollow, stroked, and plain areas."""
    return "".join(f".c-{name},.f-{name}{{fill:var(--{name})}}.h-{name}{{fill:var(--paper);"
                   f"stroke:var(--{name});stroke-width:2}}.s-{name}{{stroke:var(--{name})}}\n"
                   for name in DRAWN)


FONT = 'system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif'
CSS = f"""
:root{{color-scheme:light dark;{variables("light")}}}
@media screen and (prefers-color-scheme:dark){{:root{{{variables("dark")}}}}}
*{{box-sizing:border-box}}
html{{-webkit-text-size-adjust:100%}}
body{{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 {FONT}}}
main,footer{{max-width:68rem;margin:0 auto;padding:1rem 1.25rem}}
.skip{{position:absolute;left:.5rem;top:-6rem;background:var(--paper);padding:.5rem .8rem;
z-index:2}}.skip:focus{{top:.5rem}}main:focus{{outline:none}}
:focus-visible{{outline:3px solid var(--link);outline-offset:2px;border-radius:.15rem}}
h1{{font-size:1.7rem;line-height:1.2;margin:.6rem 0 .3rem;overflow-wrap:anywhere}}
h2{{font-size:1.2rem;margin:2.2rem 0 .5rem;padding-top:.6rem;border-top:1px solid var(--rule);
overflow-wrap:anywhere}}
h3{{font-size:1rem;margin:1.2rem 0 .3rem}}
p,ul{{margin:.4rem 0 .8rem;max-width:46rem}}li{{margin:.25rem 0}}a{{color:var(--link)}}
.lead{{font-size:1.1rem}}.dim,small{{color:var(--dim)}}
nav ul{{display:flex;flex-wrap:wrap;gap:.1rem 1rem;list-style:none;padding:0;max-width:none;
font-size:.92rem}}nav a{{display:inline-block;padding:.1rem 0}}
.banner{{background:var(--stampground);color:var(--stamp);border:1px solid currentColor;
border-radius:.4rem;padding:.55rem .8rem;margin:.8rem 0;font-weight:600}}
.stamp{{background:var(--stampground);color:var(--stamp);border-radius:.3rem;padding:.05rem .4rem;
font-size:.8rem;font-weight:600;display:inline-block;overflow-wrap:normal}}
.tiles{{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.7rem;
margin:1rem 0;padding:0;max-width:none;list-style:none}}
.tiles li{{background:var(--panel);border-radius:.4rem;padding:.6rem .8rem;margin:0;
overflow-wrap:anywhere}}
.tiles b{{display:block;font-size:1.35rem;line-height:1.3;font-variant-numeric:tabular-nums}}
.facts{{display:grid;grid-template-columns:repeat(auto-fill,minmax(9rem,1fr));
gap:.6rem 1.2rem;margin:1rem 0 0}}dt{{color:var(--dim);font-size:.85rem}}
dd{{margin:0;overflow-wrap:anywhere}}
.cols{{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));
gap:1rem 2rem;align-items:start}}
figure{{margin:.5rem 0 1rem;max-width:34rem}}figcaption{{color:var(--dim);font-size:.9rem}}
svg{{display:block;width:100%;height:auto;overflow:visible}}
svg text{{fill:var(--ink);font:12.5px {FONT}}}
svg .dim{{fill:var(--dim);font-size:11.5px}}svg .head{{font-weight:600}}
svg .num{{font-variant-numeric:tabular-nums}}svg .on{{fill:var(--on);font-weight:600}}
svg .halo{{paint-order:stroke;stroke:var(--paper);stroke-width:3px}}
.grid{{stroke:var(--rule);stroke-width:1}}.zero{{stroke:var(--dim);stroke-width:1.5}}
.bar{{stroke-width:2}}.stroke{{stroke-width:2;fill:none;stroke-linejoin:round}}
.d2{{stroke-dasharray:7 4}}.d3{{stroke-dasharray:2 3}}.d4{{stroke-dasharray:9 3 2 3}}
{_drawn()}.charts{{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,16rem),1fr));gap:1rem}}
.charts figure{{margin:0;background:var(--panel);border-radius:.4rem;padding:.6rem .8rem .3rem}}
.charts figcaption{{line-height:1.35;margin-bottom:.3rem;overflow-wrap:anywhere}}
.charts figcaption b{{display:block;color:var(--ink)}}
.ka{{color:var(--present)}}.ka::before{{content:"━ ";content:"━ "/""}}
.kb{{color:var(--absent)}}.kb::before{{content:"╍ ";content:"╍ "/""}}
svg.dot{{display:inline-block;vertical-align:middle;width:12rem;max-width:100%;height:1.2rem}}
.range{{stroke-width:4;opacity:.55}}
.wide{{overflow-x:auto;margin:.4rem 0 1rem}}
table{{border-collapse:collapse;font-size:.92rem;width:100%}}
caption{{text-align:left;color:var(--dim);padding:.1rem 0 .3rem}}
th,td{{text-align:left;padding:.32rem .7rem .32rem 0;border-bottom:1px solid var(--rule);
vertical-align:top;overflow-wrap:anywhere}}
thead th{{font-weight:600;color:var(--dim);vertical-align:bottom}}tbody th{{font-weight:400}}
td.n,th.n{{text-align:right;padding-right:1.1rem;font-variant-numeric:tabular-nums;overflow-wrap:normal}}
.pair{{white-space:nowrap}}
.heat{{border-collapse:separate;border-spacing:2px;width:auto;min-width:0}}
.heat th,.heat td{{border:0;padding:.22rem .45rem;font-size:.86rem}}.heat td small{{color:inherit}}
.heat th{{max-width:13rem;overflow-wrap:break-word}}
.heat thead th{{font-weight:400;text-align:right}}
.heat tbody th{{position:sticky;left:0;background:var(--paper);min-width:5.5rem}}
.heat td{{text-align:right;font-variant-numeric:tabular-nums;border-radius:.2rem;min-width:3.4rem;
background:color-mix(in srgb,var(--tint,var(--amount)) calc(var(--v)*{TINT}%),var(--panel))}}
.heat td.none{{color:var(--dim);background:none}}
.heat tr.group th{{font-weight:600;padding-top:.6rem}}
.tag{{display:inline-block;border:1px solid currentColor;border-radius:.3rem;padding:0 .4rem;
font-size:.82rem;white-space:nowrap}}
.yes{{color:var(--pass)}}.no{{color:var(--fail)}}.maybe{{color:var(--undecided)}}
.tag.yes::before{{content:"✓ ";content:"✓ "/""}}.tag.no::before{{content:"✗ ";content:"✗ "/""}}
.tag.maybe::before{{content:"? ";content:"? "/""}}
.tag.cooperate{{color:var(--cooperate)}}.tag.defect{{color:var(--defect)}}
.tag.cooperate::before{{content:"● ";content:"● "/""}}
.tag.defect::before{{content:"■ ";content:"■ "/""}}
article{{border:1px solid var(--rule);border-radius:.4rem;margin:.6rem 0;padding:.1rem .9rem .4rem}}
article h3{{margin:.6rem 0 .2rem;overflow-wrap:anywhere}}article p{{margin:.25rem 0;max-width:none}}
article .tag{{font-weight:400}}
details{{border:1px solid var(--rule);border-radius:.4rem;margin:.4rem 0;background:var(--panel)}}
summary{{cursor:pointer;padding:.45rem .7rem;overflow-wrap:anywhere}}
details>div{{padding:.2rem .8rem .7rem}}
pre{{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--paper);border:1px solid
var(--rule);border-radius:.3rem;padding:.6rem;margin:.3rem 0 .7rem;
font:.88rem/1.5 ui-monospace,"DejaVu Sans Mono",monospace}}
code{{font:.92em ui-monospace,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}}
.filter{{display:flex;flex-wrap:wrap;gap:.6rem;margin:.6rem 0}}
.filter input,.filter select{{font:inherit;color:inherit;background:var(--panel);
border:1px solid var(--edge);border-radius:.3rem;padding:.3rem .5rem;max-width:100%}}
.filter ::placeholder{{color:var(--dim);opacity:1}}
mark{{background:var(--stampground);color:var(--ink);outline:1px solid var(--stamp)}}
footer{{color:var(--dim);font-size:.88rem;border-top:1px solid var(--rule);margin-top:2rem;
overflow-wrap:anywhere}}footer p{{max-width:none;margin:.2rem 0}}
[hidden]{{display:none!important}}
@media (prefers-reduced-motion:no-preference){{html{{scroll-behavior:smooth}}}}
@media (max-width:40rem){{body{{font-size:15px}}main,footer{{padding:.7rem .9rem}}
h1{{font-size:1.4rem}}
table.stacked thead{{display:none}}table.stacked tr{{display:block;padding:.45rem 0;
border-bottom:1px solid var(--rule)}}
table.stacked td,table.stacked th{{display:block;border:0;padding:.05rem 0;text-align:left}}
table.stacked tbody th{{font-weight:600}}table.stacked th small{{font-weight:400}}
table.stacked td[data-h]:not(:empty)::before{{content:attr(data-h) ": ";color:var(--dim)}}}}
@media print{{:root{{color-scheme:light}}body{{font-size:10.5pt}}.filter,.skip,nav{{display:none}}
details,figure,tr,.tiles li{{break-inside:avoid}}h2,h3{{break-after:avoid}}
.heat td,.banner,.stamp,.tiles li,svg{{print-color-adjust:exact;
-webkit-print-color-adjust:exact}}.wide{{overflow:visible}}}}
"""


def footer(version: str, identity: Mapping[str, str], simulated: bool, again: str = "") -> str:
    """What identifies a report: the project's version, seed and hashes; how to make it again.

    `again` is the command. Nothing here may depend on the clock or the machine.
    """
    named = " · ".join(escape(f"{name} {value}") for name, value in identity.items())
    stamp = '<span class="stamp">SIMULATED</span> ' if simulated else ""
    where = " (FOLDER: where this file is)" if "FOLDER" in again else ""
    how = (f"<p>The same bytes again, without a key: <code>{escape(again)}</code>{where}</p>"
           if again else "")
    return f"<footer><p>{stamp}cirrus-bench {escape(version)} · {named}</p>{how}</footer>"
