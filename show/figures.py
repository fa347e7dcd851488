"""How a figure is said, in every report and on the terminal: one form for each kind of number.

    percent(0.214)           "21%"               a share
    points(-0.214)           "−21.4 points"      a difference of shares
    rate(0.5, 0.25, 0.75)    "50% (25 to 75)"    a share with its interval
    dollars(0.61234)         "$0.6123"

A minus is "−", an interval is "a to b", a zero has no sign, thousands have commas, and what is not
known is "–". `pd-agents` holds a copy of this file; a test keeps the two alike.
"""

NONE = "–"


def plain(value: float | None, digits: int = 2) -> str:
    """ "0.67", "−5.0", "1,272"."""
    if value is None:
        return NONE
    said = f"{value:,.{digits}f}"
    return said.replace("-", "−") if said.strip("-0.,") else said.lstrip("-")


def signed(value: float | None, digits: int = 2) -> str:
    """ "+0.21", "−0.21", "0.00": for what can be on either side of zero."""
    said = plain(value, digits)
    return said if value is None or said[0] == "−" or not said.strip("0.") else f"+{said}"


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


def bracketed(said: str, inner: str) -> str:
    """ "50% (25 to 75)"; without an interval the figure alone."""
    return f"{said} ({inner})" if inner else said


def rate(share: float | None, low: float | None = None, high: float | None = None,
         digits: int = 0) -> str:
    """ "50% (25 to 75)"."""
    return bracketed(percent(share, digits), interval(low, high, digits, scale=100))


def dollars(usd: float | None) -> str:
    """ "$0", "$0.0042", "$12.30": four decimals below a dollar."""
    if usd is None:
        return NONE
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}" if usd else "$0"


def p_value(p: float | None) -> str:
    """ "0.0320", "< 0.0001", "0.46"."""
    if p is None:
        return NONE
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}" if p < 0.1 else f"{p:.2f}"


def p_is(p: float | None) -> str:
    """ "p = 0.0320", "p < 0.0001", "no p"."""
    said = p_value(p)
    return "no p" if p is None else f"p {said}" if said.startswith("<") else f"p = {said}"
