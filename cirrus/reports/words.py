"""How figures and foreign words are said in summaries: points, intervals, dollars, Markdown.

The forms of numbers are those of `show.figures`; here is what only this room says.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from common.cli import printable
from show import figures
from show.figures import p_is, p_value, points
from show.figures import signed as number

__all__ = ["STAMP", "bracket", "count", "dollars", "harmless", "in_words", "md_bullets",
           "md_code", "md_table", "number", "p_is", "p_value", "points", "span"]

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
STAMP = "SIMULATED: no model was asked; these answers come from simulated respondents."


def span(low: float | None, high: float | None) -> str:
    """A 95% interval in points, or why there is none."""
    said = figures.interval(low, high, 1, sign=True, scale=100)
    return f"95% interval {said}" if said else "no interval"


def in_words(n: int) -> str:
    """6 → "six"; figures from eleven on."""
    return NUMBERS[n] if n < len(NUMBERS) else str(n)


def dollars(cost: Mapping) -> str:
    """The cost as far as it is known."""
    if not cost["unknown"]:
        return figures.dollars(cost["usd"])
    return f"at least {figures.dollars(cost['usd'])} ({cost['why']})" if cost["usd"] else "unknown"


def count(n: int, noun: str) -> str:
    """1 bulletin, 2 bulletins."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def bracket(entry: Mapping | None, scale: float = 1, digits: int = 2) -> str:
    """ "+0.21 (+0.03 to +0.40)", with what can't be computed left out."""
    if entry is None or entry["value"] is None:
        return figures.NONE
    return figures.bracketed(number(scale * entry["value"], digits), figures.interval(
        entry["low"], entry["high"], digits, sign=True, scale=scale))


# --- Markdown ----------------------------------------------------------------------------------

def harmless(words: object) -> str:
    """Foreign words in Markdown: one line, no tag, link or image that a viewer would show."""
    line = printable(" ".join(str(words).split()))
    return re.sub(r"\](?=[(\[])", r"\\]", re.sub(r"<(?=[A-Za-z!/?])", "&lt;", line))


def md_bullets(items: Iterable) -> str:
    return "\n".join(f"- {harmless(item)}" for item in items)


def md_code(text: str) -> str:
    return f"```text\n{text}\n```"


def md_table(head: Sequence, rows: Iterable[Sequence]) -> str:
    """A Markdown table; cells with a bar or a line break in them are made harmless."""
    def line(cells: Sequence) -> str:
        return "| " + " | ".join(harmless(c).replace("|", "\\|") for c in cells) + " |"
    return "\n".join([line(head), "|" + "---|" * len(head), *map(line, rows)])
