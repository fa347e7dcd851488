"""How a figure and a foreign word are said, on every page, in every file and on the terminal.

    percent(0.214)           "21%"               a share
    points(-0.214)           "−21.4 points"      a difference of shares
    rate(0.5, 0.25, 0.75)    "50% (25 to 75)"    a share with its interval
    dollars(0.61234)         "$0.6123"
    visible("a\\x1b[31m")     "a[U+001B][31m"

A minus is "−", an interval is "a to b", a zero has no sign, thousands have commas, and what is not
known is "–".
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

NONE = "–"
STAMP = ("SIMULATED: no model was asked. These answers come from simulated respondents and say "
         "nothing about any model.")
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
# What can't be seen, or turns, hides or ends the text around it. By code point, since Pythons
# differ in what they call printable; blanks of any width are characters like others.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e"
                    "\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffd\U000e0000-\U000e007f]")


def visible(words: object) -> str:
    """Foreign text with a mark such as [U+202E] in place of each of its unseen characters."""
    return UNSEEN.sub(lambda match: f"[U+{ord(match[0]):04X}]", str(words))


def one_line(words: object) -> str:
    """The same on one line."""
    return visible(" ".join(str(words).split()))


# --- numbers -----------------------------------------------------------------------------------

def plain(value: float | None, digits: int = 2) -> str:
    """ "0.67", "−5.0", "1,272"."""
    if value is None:
        return NONE
    rounded = round(value, digits)
    return f"{'−' if rounded < 0 else ''}{abs(rounded):,.{digits}f}"


def signed(value: float | None, digits: int = 2) -> str:
    """ "+0.21", "−0.21", "0.00": for what can be on either side of zero."""
    plus = "+" if value is not None and round(value, digits) > 0 else ""
    return plus + plain(value, digits)


def percent(share: float | None, digits: int = 0) -> str:
    """0.571 → "57%"."""
    return NONE if share is None else f"{plain(100 * share, digits)}%"


def points(difference: float | None) -> str:
    """Percentage points: 0.214 → "+21.4 points"."""
    return "unknown" if difference is None else f"{signed(100 * difference, 1)} points"


def interval(low: float | None, high: float | None, digits: int = 2, sign: bool = False,
             scale: float = 1) -> str:
    """ "0.25 to 0.75", or "" where there is none."""
    if low is None or high is None:
        return ""
    say = signed if sign else plain
    return f"{say(scale * low, digits)} to {say(scale * high, digits)}"


def span(low: float | None, high: float | None) -> str:
    """A 95% interval in points, or that there is none."""
    limits = interval(low, high, 1, sign=True, scale=100)
    return f"95% interval {limits}" if limits else "no interval"


def bracketed(figure: str, inner: str) -> str:
    """ "50% (25 to 75)"; without an interval the figure alone."""
    return f"{figure} ({inner})" if inner else figure


def rate(share: float | None, low: float | None = None, high: float | None = None,
         digits: int = 0) -> str:
    """ "50% (25 to 75)"."""
    return bracketed(percent(share, digits), interval(low, high, digits, scale=100))


def counted(k: float, n: int) -> str:
    """ "22/40"; a sum of probabilities with a decimal, "21.7/40"."""
    return f"{k if isinstance(k, int) else plain(k, 1)}/{n}"


class Estimate(NamedTuple):
    """A figure with its interval: as it is said, and as the numbers that a CSV file holds."""

    said: str
    value: float | None = None
    low: float | None = None
    high: float | None = None


def estimate(entry: Mapping[str, Any] | None, scale: float = 1, digits: int = 2) -> Estimate:
    """ "+0.21 (+0.03 to +0.40)" of an entry with `value`, `low` and `high`; what can't be
    computed is left out."""
    if entry is None or entry["value"] is None:
        return Estimate(NONE)
    value, low, high = entry["value"], entry["low"], entry["high"]
    figure, inner = signed(scale * value, digits), interval(low, high, digits, True, scale)
    return Estimate(bracketed(figure, inner), value, low, high)


def bracket(entry: Mapping[str, Any] | None, scale: float = 1, digits: int = 2) -> str:
    """`estimate` in words alone."""
    return estimate(entry, scale, digits).said


def dollars(usd: float | None) -> str:
    """ "$0", "$0.0042", "$12.30": four decimals below a dollar."""
    if usd is None:
        return NONE
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}" if usd else "$0"


def cost(entry: Mapping[str, Any]) -> str:
    """A cost as far as it is known: `usd`, and `unknown` answers that came without one."""
    if not entry["unknown"]:
        return dollars(entry["usd"])
    return f"at least {dollars(entry['usd'])} ({entry['why']})" if entry["usd"] else "unknown"


def p_value(p: float | None) -> str:
    """ "0.0320", "< 0.0001", "0.46"."""
    if p is None:
        return NONE
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}" if p < 0.1 else f"{p:.2f}"


def p_is(p: float | None) -> str:
    """ "p = 0.0320", "p < 0.0001", "no p"."""
    return "no p" if p is None else f"p {p_value(p)}" if p < 0.0001 else f"p = {p_value(p)}"


def in_words(n: int) -> str:
    """6 → "six"; figures from eleven on."""
    return NUMBERS[n] if n < len(NUMBERS) else str(n)


def count(n: int, noun: str) -> str:
    """1 bulletin, 2 bulletins."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def sentence(words: str) -> str:
    """With a capital first and a full stop last."""
    return f"{words[:1].upper()}{words[1:]}" + ("" if words.endswith((".", "!", "?")) else ".")
