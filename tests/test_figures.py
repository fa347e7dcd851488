"""Numbers are written in one form everywhere; expected words are written out by hand."""

import re
import tomllib

import pytest
from conftest import ROOT

from common import VERSION
from show import figures


@pytest.mark.parametrize(("written", "expected"), [
    (figures.plain(0.666), "0.67"), (figures.plain(-5.04, 1), "−5.0"),
    (figures.plain(-0.001), "0.00"), (figures.plain(None), "–"),
    (figures.plain(-1234.5, 1), "−1,234.5"), (figures.plain(-3.7499999999999996, 1), "−3.8"),
    (figures.signed(0.214), "+0.21"), (figures.signed(-0.214), "−0.21"),
    (figures.signed(0.004), "0.00"), (figures.signed(-0.004), "0.00"),
    (figures.percent(0.9688, 1), "96.9%"), (figures.percent(None), "–"),
    (figures.points(0.214), "+21.4 points"), (figures.points(None), "unknown"),
    (figures.rate(0.5, 0.25, 0.75), "50% (25 to 75)"), (figures.rate(0.5), "50%"),
    (figures.interval(-0.2, 0.1, 1, sign=True, scale=100), "−20.0 to +10.0"),
    (figures.span(-0.25, 0.15), "95% interval −25.0 to +15.0"),
    (figures.span(None, 0.15), "no interval"),
    (figures.dollars(0), "$0"), (figures.dollars(0.00421), "$0.0042"),
    (figures.dollars(1), "$1.00"), (figures.dollars(1234), "$1,234.00"),
    (figures.dollars(None), "–"),
    (figures.cost({"usd": 0.5, "unknown": 0}), "$0.5000"),
    (figures.cost({"usd": 0.5, "unknown": 2, "why": "w"}), "at least $0.5000 (w)"),
    (figures.cost({"usd": 0, "unknown": 2, "why": "w"}), "unknown"),
    (figures.p_value(0.032), "0.0320"), (figures.p_value(0.1), "0.10"),
    (figures.p_is(0.00009), "p < 0.0001"), (figures.p_is(0.0001), "p = 0.0001"),
    (figures.p_is(None), "no p")])
def test_a_figure_in_words(written, expected):
    assert written == expected


def test_an_estimate_with_its_interval():
    entry = {"value": -0.05, "low": -0.25, "high": 0.15}
    assert figures.estimate(entry, 100, 1) == ("−5.0 (−25.0 to +15.0)", -0.05, -0.25, 0.15)
    assert figures.estimate(entry | {"low": None}, 100, 1).words == "−5.0"
    assert {figures.estimate(none).words for none in (None, {"value": None, "low": None})} == {"–"}


@pytest.mark.parametrize(("raw", "shown"), [
    ("a\u00a0b\u2009c\u202fd\u3000e", "a\u00a0b\u2009c\u202fd\u3000e"),  # blanks are characters
    ("é 漢 🙂 \n\t", "é 漢 🙂 \n\t"), ("\x1b[31m\r", "[U+001B][31m[U+000D]"),
    ("x\u202ey\u200b", "x[U+202E]y[U+200B]"), ("\ufffd\ud800", "[U+FFFD][U+D800]"),
    ("\U000e0041", "[U+E0041]"), (3, "3")])
def test_what_cannot_be_seen_is_marked_by_its_code_point(raw, shown):
    assert figures.visible(raw) == shown


def test_there_is_a_single_version():
    projects = [tomllib.loads((ROOT / path).read_text())["project"]["version"]
                for path in ("pyproject.toml", "pd-agents/pyproject.toml")]
    inside = re.search(r'__version__ = "(.*)"',
                       (ROOT / "pd-agents/src/pdbench/__init__.py").read_text()).group(1)
    newest = re.search(r"^## (\S+) \(", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M).group(1)
    assert {*projects, inside, newest} == {VERSION}
