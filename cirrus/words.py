"""How figures and foreign words are said in summaries: points, intervals, dollars, Markdown."""

import re
from collections.abc import Iterable, Mapping, Sequence

from common.cli import printable


def points(value: float | None) -> str:
    """0.214 → "+21.4 points"."""
    return "unknown" if value is None else f"{100 * value:+.1f} points"


def span(low: float | None, high: float | None) -> str:
    """A 95% interval in points, or why there is none."""
    if low is None or high is None:
        return "no interval"
    return f"95% interval {100 * low:+.1f} to {100 * high:+.1f}"


def dollars(cost: Mapping) -> str:
    """The cost as far as it is known."""
    if not cost["unknown"]:
        return f"${cost['usd']:.4f}"
    return f"at least ${cost['usd']:.4f} ({cost['why']})" if cost["usd"] else "unknown"


def count(n: int, noun: str) -> str:
    """1 bulletin, 2 bulletins."""
    return f"{n} {noun}" + ("" if n == 1 else "s")


def number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:+.{digits}f}"


def bracket(entry: Mapping | None, scale: float = 1, digits: int = 2) -> str:
    """ "+0.21 [+0.03, +0.40]", with what can't be computed left out."""
    if entry is None or entry["value"] is None:
        return "–"
    said = number(scale * entry["value"], digits)
    if entry["low"] is None:
        return said
    low, high = (number(scale * entry[edge], digits) for edge in ("low", "high"))
    return f"{said} [{low}, {high}]"


def p_value(p: float | None) -> str:
    """ "0.032", "< 0.0001", or a dash."""
    if p is None:
        return "–"
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}" if p < 0.1 else f"{p:.2f}"


def p_is(p: float | None) -> str:
    """ "p = 0.032", "p < 0.0001", "no p"."""
    said = p_value(p)
    return "no p" if p is None else f"p {said}" if said.startswith("<") else f"p = {said}"


# --- Markdown ----------------------------------------------------------------------------------

def harmless(words: object) -> str:
    """Foreign words in Markdown: one line, no tag that a viewer would take for HTML."""
    return re.sub(r"<(?=[A-Za-z!/?])", "&lt;", printable(" ".join(str(words).split())))


def md_bullets(items: Iterable) -> str:
    return "\n".join(f"- {harmless(item)}" for item in items)


def md_code(text: str) -> str:
    return f"```text\n{text}\n```"


def md_table(head: Sequence, rows: Iterable[Sequence]) -> str:
    """A Markdown table; cells with a bar or a line break in them are made harmless."""
    def line(cells: Sequence) -> str:
        return "| " + " | ".join(harmless(c).replace("|", "\\|") for c in cells) + " |"
    return "\n".join([line(head), "|" + "---|" * len(head), *map(line, rows)])
