"""Numbers are written in one form everywhere, by hand here; colours have contrast by WCAG 2.1 and
stay apart under colour-blindness by a published simulation."""

import math
import re
from itertools import combinations

import pytest

from show import figures

# --- numbers -----------------------------------------------------------------------------------

ENTRY = {"value": -0.05, "low": -0.25, "high": 0.15}
UNKNOWN = {"value": None, "low": None, "high": None}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (figures.plain(-5.04, 1), "−5.0"),
        (figures.plain(None), "–"),
        (figures.plain(-1234.5, 1), "−1,234.5"),
        (figures.plain(-3.7499999999999996, 1), "−3.8"),
        (figures.signed(0.214), "+0.21"),
        (figures.signed(0.004), "0.00"),
        (figures.signed(-0.004), "0.00"),
        (figures.percent(0.9688, 1), "96.9%"),
        (figures.percent(None), "–"),
        (figures.points(0.214), "+21.4 points"),
        (figures.points(None), "unknown"),
        (figures.rate(0.5, 0.25, 0.75), "50% (25 to 75)"),
        (figures.rate(0.5), "50%"),
        (figures.span(-0.25, 0.15), "95% interval −25.0 to +15.0"),
        (figures.span(None, 0.15), "no interval"),
        (figures.dollars(0), "$0"),
        (figures.dollars(0.00421), "$0.0042"),
        (figures.dollars(1), "$1.00"),
        (figures.dollars(None), "–"),
        (figures.cost({"usd": 0.5, "unknown": 0}), "$0.5000"),
        (figures.cost({"usd": 0.5, "unknown": 2, "why": "w"}), "at least $0.5000 (w)"),
        (figures.cost({"usd": 0, "unknown": 2, "why": "w"}), "unknown"),
        (figures.p_value(0.032), "0.0320"),
        (figures.p_value(0.1), "0.10"),
        (figures.p_is(0.00009), "p < 0.0001"),
        (figures.p_is(0.0001), "p = 0.0001"),
        (figures.p_is(None), "no p"),
        (figures.estimate(UNKNOWN).words, "–"),
        (
            figures.estimate(ENTRY, 100, 1),
            ("−5.0 (−25.0 to +15.0)", -0.05, -0.25, 0.15),
        ),
        (figures.estimate(ENTRY | {"low": None}, 100, 1).words, "−5.0"),
        (
            figures.visible("a\u00a0b\u2009c\u3000é 漢 🙂 \n\t"),
            "a\u00a0b\u2009c\u3000é 漢 🙂 \n\t",
        ),
        (figures.visible("\x1b[31m\r"), "[U+001B][31m[U+000D]"),
        (figures.visible("x\u202ey\ufffd\U000e0041"), "x[U+202E]y[U+FFFD][U+E0041]"),
    ],
)
def test_a_figure_in_words(written, expected):
    assert written == expected


# --- colours -----------------------------------------------------------------------------------

SCHEMES = ("light", "dark")
GROUNDS = ("paper", "panel")
TEXT = ("ink", "dim", "link", "pass", "fail", "undecided", "cooperate", "defect")
MARKS = ("none", *figures.SERIES, "estimate", "edge")
# {least ratio: pairs of a colour and its ground}
LEAST = {
    4.5: [
        *((name, ground) for name in TEXT for ground in GROUNDS),
        ("stamp", "stampground"),
        ("ink", "stampground"),
    ],
    3: [(name, ground) for name in MARKS for ground in GROUNDS],
}
# {least distance: colours side by side}; less is enough for verdicts, each is a word with a sign
APART = {
    20: [("cooperate", "defect", "none"), figures.SERIES],
    15: [("pass", "fail", "undecided", "dim")],
}
# Machado, Oliveira & Fernandes 2009 (doi 10.1109/TVCG.2009.113), severity 1, on linear RGB.
SIGHT = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
}


def channels(name, scheme):
    colour = getattr(figures.COLOURS[name], scheme)
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def linear(colour):
    """IEC 61966-2-1."""
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]


def contrast(a, b):
    """WCAG 2.1, "contrast ratio"."""
    low, high = sorted(
        sum(
            w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(colour), strict=True)
        )
        for colour in (a, b)
    )
    return (high + 0.05) / (low + 0.05)


def perceived(colour, sight):
    """CIE L*a*b* (D65) of a colour as a kind of sight has it."""
    r, g, b = (
        min(1, max(0, sum(w * c for w, c in zip(row, linear(colour), strict=True))))
        for row in SIGHT[sight]
    )
    x = (0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047
    y = 0.2126729 * r + 0.7151522 * g + 0.0721750 * b
    z = (0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883
    f = [
        t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116
        for t in (x, y, z)
    ]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_text_and_graphics_reach_aa(scheme):
    for least, pairs in LEAST.items():
        assert [
            pair
            for pair in pairs
            if contrast(*(channels(name, scheme) for name in pair)) < least
        ] == []
    for strength in range(101):  # a figure in a tinted cell; CSS mixes channels
        share = figures.tint(strength / 100) / 100
        ground = [
            share * c + (1 - share) * g
            for c, g in zip(
                channels("amount", scheme), channels("panel", scheme), strict=True
            )
        ]
        assert (
            contrast(channels("ink" if strength < 50 else "on", scheme), ground) >= 4.5
        ), strength


def test_a_tint_grows_to_its_end():
    tints = [figures.tint(strength / 100) for strength in range(101)]
    assert (tints[0], tints[-1]) == (0, 100) and tints == sorted(set(tints))


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_a_figure_sets_side_by_side_stays_apart(scheme, sight):
    """By ΔE*ab of 1976; about 2.3 is just noticeable (Mahy et al. 1994)."""
    for least, groups in APART.items():
        for pair in (pair for group in groups for pair in combinations(group, 2)):
            a, b = (perceived(channels(name, scheme), sight) for name in pair)
            assert math.dist(a, b) >= least, pair


def test_the_sheet_uses_the_named_colours_and_no_other_and_a_drawing_those_of_text():
    rules = figures.CSS
    for scheme in SCHEMES:
        rules = rules.replace(figures.variables(scheme), "")
    assert "#" not in rules
    assert set(re.findall(r"var\(--([a-z]+)", figures.CSS)) - {"v"} == set(
        figures.COLOURS
    )
    assert set(re.findall(r"svg [^{]+\{fill:var\(--([a-z]+)", figures.SVG)) == {
        "ink",
        "dim",
    }
