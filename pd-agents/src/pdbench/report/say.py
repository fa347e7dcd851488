"""How a number is said: a minus is "−", thousands have commas, what is not known is "–"."""

NONE = "–"


def plain(value: float | None, digits: int = 2) -> str:
    """ "0.67", "−5.0", "1,272"; a zero has no sign."""
    if value is None:
        return NONE
    text = f"{value:,.{digits}f}"
    return text.replace("-", "−") if text.strip("-0.,") else text.lstrip("-")


def short(value: float | None) -> str:
    """At most one digit after the point: "3", "2.5"."""
    return plain(value, 1).removesuffix(".0")


def signed(value: float | None) -> str:
    """ "+2.5", "−3", "0": for what can be on either side of zero."""
    text = short(value)
    return text if value is None or text[0] == "−" or text == "0" else f"+{text}"


def percent(share: float | None, digits: int = 0) -> str:
    """0.571 → "57%"."""
    return NONE if share is None else f"{plain(100 * share, digits)}%"


def interval(ends: tuple[float, float] | None, digits: int = 2) -> str:
    """ "0.25 to 0.75"."""
    return (
        NONE
        if ends is None
        else f"{plain(ends[0], digits)} to {plain(ends[1], digits)}"
    )


def count(number: int, one: str, many: str = "") -> str:
    """ "1 match", "2 matches"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
