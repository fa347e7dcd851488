"""Numbers are written in one form everywhere, by hand here; colours have contrast by WCAG 2.1.

Of text on the pages axe-core measures it, in `tests/test_pages.py`."""

import re

import pytest

from show import figures

PARTLY = {"usd": 0.5, "unknown": 2, "why": "w"}
BLANKS = "a\u00a0b\u2009c\u3000é 漢 🙂 \n\t"


# What the golden pages of the committed examples do not hold.
WRITTEN = [
    (figures.plain(None), "–"),
    (figures.plain(-1234.5, 1), "−1,234.5"),
    (figures.plain(-3.7499999999999996, 1), "−3.8"),
    (figures.signed(-0.004), "0.00"),
    (figures.points(None), "unknown"),
    (figures.rate(0.5), "50%"),
    (figures.span(None, 0.15), "no interval"),
    (figures.dollars(0.00421), "$0.0042"),
    (figures.dollars(1), "$1.00"),
    (figures.cost(PARTLY), "at least $0.5000 (w)"),
    (figures.cost(PARTLY | {"usd": 0}), "unknown"),
    (figures.p_value(0.1), "0.10"),
    (figures.p_is(0.00009), "p < 0.0001"),
    (figures.p_is(0.0001), "p = 0.0001"),
    (figures.p_is(None), "no p"),
    (figures.estimate({"value": -0.05, "low": None, "high": 1}, 100).words, "−5.00"),
    (figures.visible(BLANKS), BLANKS),
    (figures.visible("\x1b[31m\r"), "[U+001B][31m[U+000D]"),
    (figures.visible("x\u202ey\ufffd\U000e0041"), "x[U+202E]y[U+FFFD][U+E0041]"),
]


@pytest.mark.parametrize(("written", "expected"), WRITTEN)
def test_a_figure_in_words(written, expected):
    assert written == expected


def colour(name, scheme):
    """Red, green and blue, 0 to 1."""
    colours = dict(re.findall(r"--(\w+):#(\w+);", figures.variables(scheme)))
    return [byte / 255 for byte in bytes.fromhex(colours[name])]


def luminance(channels):
    """WCAG 2.1, "relative luminance"."""
    linear = []
    for c in channels:
        linear.append(c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4)
    red, green, blue = linear
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    """WCAG 2.1, "contrast ratio"."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("ground", ["paper", "panel"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marks_reach_the_contrast_of_graphics(scheme, ground):
    for name in ("none", *figures.SERIES, "estimate", "edge"):
        assert contrast(colour(name, scheme), colour(ground, scheme)) >= 3, name


def test_the_sheet_uses_the_named_colours_and_no_other():
    rules = figures.CSS
    for scheme in ("light", "dark"):
        rules = rules.replace(figures.variables(scheme), "")
    assert "#" not in rules
    assert set(re.findall(r"var\(--([a-z]+)", rules)) - {"v"} == set(figures.COLOURS)
