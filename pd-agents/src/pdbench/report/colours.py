"""The colours of report and viewer by what they mean, on light and on dark ground.

Text reaches a contrast of 4.5 and graphics 3 on every ground (WCAG 2.1 AA, 1.4.3 and 1.4.11);
nothing rests on colour alone.
"""

from typing import NamedTuple


class Colour(NamedTuple):
    """A colour on light and on dark ground."""

    light: str
    dark: str


COLOURS = {
    "paper": Colour("#ffffff", "#12161b"),
    "panel": Colour("#f5f7f9", "#1b2128"),
    "ink": Colour("#1b1f24", "#e6eaee"),
    "dim": Colour("#57606a", "#a3adb8"),
    "rule": Colour("#d5dbe1", "#36404b"),
    "edge": Colour("#7b858f", "#7c8690"),
    "link": Colour("#0b5cae", "#7db8ff"),
    "cooperate": Colour("#0b5cad", "#6aaeff"),
    "defect": Colour("#b04a00", "#f2a25c"),
    "none": Colour("#69737e", "#98a2ae"),
    "agent_a": Colour("#0a7a7a", "#7fe3d8"),
    "agent_b": Colour("#9140c0", "#c080f5"),
    "amount": Colour("#7b52c4", "#a88af2"),
    "stamp": Colour("#714500", "#ffd27a"),
    "stampground": Colour("#fff1d6", "#3a2d10"),
}
