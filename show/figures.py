"""How numbers and foreign text are written, and the colours they have, on every page and in every
file.

    percent(0.214)           "21%"               a share
    points(-0.214)           "−21.4 points"      a difference of shares
    rate(0.5, 0.25, 0.75)    "50% (25 to 75)"    a share with its interval
    dollars(0.61234)         "$0.6123"
    visible("a\\x1b[31m")     "a[U+001B][31m"

A minus is "−", an interval is "a to b", a zero has no sign, thousands have commas. An unknown
number is "–"; `points` and `cost`, which stand in sentences, say "unknown".
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

NONE = "–"
STAMP = "SIMULATED: no model was asked. These answers say nothing about any model."
# Characters that cannot be seen, or that turn, hide or end the text around them; blanks of any
# width are not among them. Listed by code point, since Pythons differ in what is printable.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffd\U000e0000-\U000e007f]"
)


def visible(words: object) -> str:
    """Foreign text in which a mark such as [U+202E] replaces each character that cannot be seen."""
    return UNSEEN.sub(_code_point, str(words))


def _code_point(character: re.Match[str]) -> str:
    return f"[U+{ord(character[0]):04X}]"


def inline(words: object) -> str:
    """Foreign text as `visible` returns it, on one line."""
    return visible(" ".join(str(words).split()))


# --- numbers -----------------------------------------------------------------------------------


def plain(value: float | None, digits: int = 2) -> str:
    """A number with fixed decimals: "0.67", "−5.0", "1,272"."""
    if value is None:
        return NONE
    rounded = _rounded(value, digits)
    minus = "−" if rounded < 0 else ""
    return f"{minus}{abs(rounded):,.{digits}f}"


def _rounded(value: float, digits: int) -> float:
    """The value rounded to `digits` decimals, after rounding it to 12 significant digits."""
    # −3.7499999999999996 must come out as the −3.75 that a JSON file has in its place.
    return round(float(f"{value:.12g}"), digits)


def signed(value: float | None, digits: int = 2) -> str:
    """A number that may lie on either side of zero: "+0.21", "−0.21", "0.00"."""
    if value is None or _rounded(value, digits) <= 0:
        return plain(value, digits)
    return f"+{plain(value, digits)}"


def percent(share: float | None, digits: int = 0) -> str:
    """A share in percent: 0.571 → "57%"."""
    if share is None:
        return NONE
    return f"{plain(100 * share, digits)}%"


def points(difference: float | None) -> str:
    """A difference of shares in percentage points: 0.214 → "+21.4 points"."""
    if difference is None:
        return "unknown"
    return f"{signed(100 * difference, 1)} points"


def interval(
    low: float | None,
    high: float | None,
    digits: int = 2,
    sign: bool = False,
    scale: float = 1,
) -> str:
    """An interval as "0.25 to 0.75", both ends times `scale`; "" where an end is None."""
    if low is None or high is None:
        return ""
    say = signed if sign else plain
    ends = [say(scale * end, digits) for end in (low, high)]
    return " to ".join(ends)


def span(low: float | None, high: float | None, level: float = 0.95) -> str:
    """An interval of a difference in percentage points: "95% interval −3.0 to +20.1", or "no
    interval"."""
    limits = interval(low, high, 1, sign=True, scale=100)
    if not limits:
        return "no interval"
    return f"{100 * level:.4g}% interval {limits}"


def bracketed(figure: str, inner: str) -> str:
    """A figure with a remark, "50% (25 to 75)"; the figure alone where `inner` is ""."""
    return f"{figure} ({inner})" if inner else figure


def rate(
    share: float | None,
    low: float | None = None,
    high: float | None = None,
    digits: int = 0,
) -> str:
    """A share with its interval in percent: "50% (25 to 75)"."""
    return bracketed(percent(share, digits), interval(low, high, digits, scale=100))


def counted(k: int, n: int) -> str:
    """A count out of a number: "22/40"."""
    return f"{k}/{n}"


class Estimate(NamedTuple):
    """A figure with its interval: the words that are shown, and the numbers for a CSV file with
    their unit."""

    words: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    unit: str = "share"


def estimate(
    entry: Mapping[str, Any] | None, scale: float = 1, digits: int = 2
) -> Estimate:
    """The value, low and high of `entry` as "+0.21 (+0.03 to +0.40)"; "–" without a value, and no
    brackets without an interval."""
    if entry is None or entry["value"] is None:
        return Estimate(NONE)
    value, low, high = entry["value"], entry["low"], entry["high"]
    limits = interval(low, high, digits, True, scale)
    words = bracketed(signed(scale * value, digits), limits)
    return Estimate(words, value, low, high)


def dollars(usd: float | None) -> str:
    """A sum of money, with four decimals below a dollar: "$0", "$0.0042", "$12.30"."""
    if usd is None:
        return NONE
    if usd == 0:
        return "$0"
    digits = 2 if usd >= 1 else 4
    return f"${usd:,.{digits}f}"


def cost(entry: Mapping[str, Any]) -> str:
    """The cost in an entry: `usd` dollars are known, and `unknown` answers came without a price."""
    known = dollars(entry["usd"])
    if not entry["unknown"]:
        return known
    if not entry["usd"]:
        return "unknown"
    return f"at least {known} ({entry['why']})"


def p_value(p: float | None) -> str:
    """A p-value: "0.0320", "< 0.0001", "0.46"."""
    if p is None:
        return NONE
    if p < 0.0001:
        return "< 0.0001"
    digits = 4 if p < 0.1 else 2
    return f"{p:.{digits}f}"


def p_is(p: float | None) -> str:
    """A p-value in a sentence: "p = 0.0320", "p < 0.0001", "no p"."""
    if p is None:
        return "no p"
    equals = "" if p < 0.0001 else "= "
    return f"p {equals}{p_value(p)}"


def count(n: int, noun: str) -> str:
    """A number with its noun: "1 bulletin", "2 bulletins"."""
    plural = "" if n == 1 else "s"
    return f"{n:,} {noun}{plural}"


def sentence(words: str) -> str:
    """The words with a capital first and a full stop last."""
    stop = "" if words.endswith((".", "!", "?")) else "."
    return f"{words[:1].upper()}{words[1:]}{stop}"


# --- colours, and the sheet ---------------------------------------------------------------------
#
# A colour stands for one thing wherever it appears: `cooperate` is the same blue in every figure,
# and nothing else is that blue. Beside its colour each thing has a mark, a dash or a word, so that
# nothing rests on colour alone. Text reaches a contrast of 4.5 and graphics 3 on every ground
# (WCAG 2.1 AA, 1.4.3 and 1.4.11), and what must be told apart stays apart under protanopia and
# deuteranopia; `tests/test_figures.py` computes both.


class Colour(NamedTuple):
    """A colour: its shade on a light and on a dark ground."""

    light: str
    dark: str


# {name: colour}; each comment says what the colour stands for.
COLOURS = {
    "paper": Colour("#ffffff", "#12161b"),  # the page
    "panel": Colour("#f5f7f9", "#1b2128"),  # folds, fields
    "ink": Colour("#1b1f24", "#e6eaee"),  # text
    "dim": Colour("#57606a", "#a3adb8"),  # notes; a verdict that is not evaluable
    "rule": Colour("#d5dbe1", "#36404b"),  # hairlines that only decorate
    "edge": Colour("#7b858f", "#7b858f"),  # the edge of a field or a button
    "link": Colour("#0b5cad", "#7db8ff"),  # links, and the ring of the focus
    "cooperate": Colour("#0b5cad", "#6aaeff"),  # COORDINATE, SHARE, C
    "defect": Colour("#b04a00", "#f2a25c"),  # the other act: PREEMPT, RESERVE, D
    "none": Colour("#69737e", "#98a2ae"),  # no decision: unread, missing; baselines
    "present": Colour("#0a7a7a", "#7fe3d8"),  # cue present; the first series
    "absent": Colour("#9140c0", "#c080f5"),  # cue absent; the second series
    "third": Colour("#6b0a2c", "#ff5c82"),
    "fourth": Colour("#857600", "#e0d84e"),
    "estimate": Colour("#1b1f24", "#e6eaee"),  # an effect with its interval
    "pass": Colour("#0a7a55", "#6fe0a8"),  # pass, met, obeyed
    "fail": Colour("#8f1414", "#ff6b60"),  # fail, not met, damaged
    "undecided": Colour("#946200", "#fbd15a"),  # undecided, incomplete
    "stamp": Colour("#714500", "#ffd27a"),  # SIMULATED, PILOT, INCOMPLETE
    "stampground": Colour("#fff1d6", "#3a2d10"),
}
# The colours of series, in order; each has a mark of its own.
SERIES = ("present", "absent", "third", "fourth")


def variables(scheme: str) -> str:
    """The colours of the "light" or "dark" scheme as CSS: `--name:#rrggbb;…`."""
    rules = []
    for name, colour in COLOURS.items():
        rules.append(f"--{name}:{getattr(colour, scheme)};")
    return "".join(rules)


def _marks() -> str:
    """CSS for each colour: filled (c-), hollow (h-) and stroked (s-) shapes."""
    rules = []
    for name in ("none", *SERIES, "estimate"):
        colour = f"var(--{name})"
        rules.append(f".c-{name}{{fill:{colour}}}")
        rules.append(f".h-{name}{{fill:var(--paper);stroke:{colour};stroke-width:2}}")
        rules.append(f".s-{name}{{stroke:{colour}}}")
    return "\n".join(rules)


DRAWN = """
body,svg text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
svg text{fill:var(--ink);font-size:12.5px}
svg .dim{fill:var(--dim);font-size:11.5px}svg .head{font-weight:600}
svg .num{font-variant-numeric:tabular-nums}
.grid{stroke:var(--rule);stroke-width:1}.zero{stroke:var(--dim);stroke-width:1.5}
.bar{stroke-width:2}.stroke{stroke-width:2;fill:none;stroke-linejoin:round}
.faint{opacity:.4}.band{opacity:.22}
.d2{stroke-dasharray:7 4}.d3{stroke-dasharray:2 3}.d4{stroke-dasharray:9 3 2 3}
"""
SVG = DRAWN + _marks()
# The same for an SVG file, without CSS variables, which not every program knows.
SVG_FILE = re.sub(r"var\(--(\w+)\)", lambda match: COLOURS[match[1]].light, SVG)
SHEET = """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font-size:16px;line-height:1.5;
overflow-wrap:anywhere}
main,footer{max-width:70rem;margin:0 auto;padding:.6rem 1.25rem}
.skip{position:absolute;left:.5rem;top:-6rem;background:var(--paper);padding:.5rem .8rem;
z-index:2}.skip:focus{top:.5rem}main:focus{outline:none}
:focus-visible{outline:3px solid var(--link);outline-offset:2px;border-radius:.15rem}
h1{font-size:1.1rem;line-height:1.2;margin:.4rem 0;color:var(--dim);font-weight:600}
h2{font-size:1.2rem;margin:2rem 0 .5rem;padding-top:.6rem;border-top:1px solid var(--rule)}
h3{font-size:1rem;margin:1.2rem 0 .3rem}
p,ul{margin:.4rem 0 .8rem;max-width:46rem}ul{padding-left:1.2rem}li{margin:.25rem 0}
a{color:var(--link)}.dim,small{color:var(--dim)}
.first{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,33rem);gap:.4rem 2rem;
grid-template-areas:"answer figure" "question figure";grid-template-rows:auto 1fr}
.answer{grid-area:answer;font-size:1.3rem;line-height:1.35;font-weight:600;margin:.3rem 0}
.first>figure{grid-area:figure;min-width:0}
.first>.question{grid-area:question;min-width:0}.question>p:first-child{color:var(--dim);margin:.2rem 0}
nav ul{display:flex;flex-wrap:wrap;gap:.1rem 1rem;list-style:none;padding:0;max-width:none;
font-size:.92rem}nav a{display:inline-block;padding:.1rem 0}
.banner{background:var(--stampground);color:var(--stamp);border:1px solid currentColor;
border-radius:.4rem;padding:.3rem .7rem;margin:.4rem 0;font-weight:600;font-size:.92rem;
max-width:none}
.cols{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));
gap:1rem 2rem;align-items:start}
figure{margin:.5rem 0 1rem;max-width:33rem}figcaption{color:var(--dim);font-size:.9rem}
svg{display:block;width:100%;height:auto;overflow:visible}
.wide{overflow-x:auto;margin:.4rem 0 1rem}
table{border-collapse:collapse;font-size:.92rem;width:100%}
caption{text-align:left;color:var(--dim);padding:.1rem 0 .3rem}
th,td{text-align:left;padding:.32rem .7rem .32rem 0;border-bottom:1px solid var(--rule);
vertical-align:top;overflow-wrap:break-word}
thead th{font-weight:600;color:var(--dim);vertical-align:bottom}tbody th{font-weight:400}
tr.group th{font-weight:600;padding-top:.6rem}
td.n,th.n{text-align:right;padding-right:1.1rem;font-variant-numeric:tabular-nums}
.pair{white-space:nowrap}
.cols th,.cols td,.question th,.question td{padding-right:.5rem}.cols thead th{font-size:.86rem}
.tag,.stamp{display:inline-block;border:1px solid currentColor;border-radius:.3rem;
padding:0 .4rem;font-size:.82rem;white-space:nowrap;font-weight:400}
.tag.stamp,.stamp{background:var(--stampground);color:var(--stamp);font-weight:600}
.question .tag{white-space:normal}
.yes{color:var(--pass)}.no{color:var(--fail)}.maybe{color:var(--undecided)}
.tag.yes::before{content:"✓ ";content:"✓ "/""}.tag.no::before{content:"✗ ";content:"✗ "/""}
.tag.maybe::before{content:"? ";content:"? "/""}
.tag.cooperate{color:var(--cooperate)}.tag.defect{color:var(--defect)}
.tag.cooperate::before{content:"● ";content:"● "/""}
.tag.defect::before{content:"■ ";content:"■ "/""}
details{border:1px solid var(--rule);border-radius:.4rem;margin:.4rem 0;background:var(--panel)}
summary{cursor:pointer;padding:.45rem .7rem}details>div{padding:.2rem .8rem .7rem}
pre{white-space:pre-wrap;background:var(--paper);border:1px solid var(--rule);
border-radius:.3rem;padding:.6rem;margin:.3rem 0 .7rem;
font:.88rem/1.5 ui-monospace,"DejaVu Sans Mono",monospace}
code{font:.92em ui-monospace,"DejaVu Sans Mono",monospace}
.trials form{margin:.6rem 0}
.trials input,.trials select{font:inherit;color:inherit;background:var(--panel);
border:1px solid var(--edge);border-radius:.3rem;padding:.2rem .4rem;max-width:100%}
.trials select{display:block;max-width:8rem;margin-top:.2rem}
.trials ::placeholder{color:var(--dim);opacity:1}
.trials .wide{max-height:36rem;overflow:auto;border:1px solid var(--rule)}
.trials th,.trials td{padding:.25rem .6rem;font-size:.88rem}
.trials thead th{position:sticky;top:0;background:var(--paper)}
.trials td>div{position:sticky;left:.6rem;max-width:min(65rem,100vw - 3.5rem)}
.trials tr:has(button){cursor:pointer}.trials tr:has(button):hover{background:var(--panel)}
.trials button{font:inherit;color:var(--link);background:none;border:0;padding:0;text-align:left;
cursor:pointer}
mark{background:var(--stampground);color:var(--ink);outline:1px solid var(--stamp)}
footer{color:var(--dim);font-size:.88rem;border-top:1px solid var(--rule);margin-top:2rem}
footer p{max-width:none;margin:.2rem 0}
[hidden]{display:none!important}
@media (max-width:56rem){.first{grid-template-columns:minmax(0,1fr);
grid-template-areas:"answer" "figure" "question"}}
@media (max-width:40rem){body{font-size:15px}main,footer{padding:.4rem .9rem}
.answer{font-size:1.08rem}.banner{font-size:.82rem}
table.stacked thead{display:none}table.stacked tr{display:block;padding:.45rem 0;
border-bottom:1px solid var(--rule)}
table.stacked td,table.stacked th{display:block;border:0;padding:.05rem 0;text-align:left}
table.stacked tbody th{font-weight:600}
table.stacked td[data-h]:not(:empty)::before{content:attr(data-h) ": ";color:var(--dim)}}
@media print{@page{size:A4;margin:12mm}:root{color-scheme:light;font-size:8pt}
body{font-size:1rem;line-height:1.35}main,footer{max-width:none;padding:0}
.skip,nav,.trials{display:none}
.first{grid-template-columns:1fr 1fr;grid-template-areas:"answer figure" "question figure"}
h2{margin:.8rem 0 .2rem;padding-top:.3rem}h3{margin:.5rem 0 .1rem}
p,ul{margin:.2rem 0 .4rem;max-width:none}li{margin:.1rem 0}
th,td{padding:.12rem .5rem .12rem 0}.cols{grid-template-columns:1fr 1fr;gap:.4rem 1.5rem}
figure{max-width:26rem;margin:.3rem 0}details{border:0;margin:0}summary{padding:.1rem 0}
footer{margin-top:.6rem}
figure,tr{break-inside:avoid}h2,h3{break-after:avoid}
.banner,.tag,svg{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.wide{overflow:visible}}
"""
DARK = f"@media screen and (prefers-color-scheme:dark){{:root{{{variables('dark')}}}}}"
CSS = f"\n:root{{color-scheme:light dark;{variables('light')}}}\n{DARK}{SHEET}{SVG}\n"
