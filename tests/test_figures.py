"""Numbers are said in one form everywhere; expected words are written out by hand."""

import re
import tomllib
from pathlib import Path

import pytest

from common import VERSION
from show import figures

ROOT = Path(__file__).resolve().parents[1]
PDBENCH = ROOT / "pd-agents/src/pdbench"


@pytest.mark.parametrize(("said", "expected"), [
    (figures.plain(0.666), "0.67"), (figures.plain(-5.04, 1), "−5.0"),
    (figures.plain(-0.001), "0.00"), (figures.plain(-0.0, 0), "0"), (figures.plain(None), "–"),
    (figures.plain(1272, 0), "1,272"), (figures.plain(-1234.5, 1), "−1,234.5"),
    (figures.signed(0.214), "+0.21"), (figures.signed(-0.214), "−0.21"),
    (figures.signed(0.004), "0.00"), (figures.signed(-0.004), "0.00"),
    (figures.signed(100, 0), "+100"),
    (figures.percent(0.571), "57%"), (figures.percent(0.9688, 1), "96.9%"),
    (figures.percent(1), "100%"), (figures.percent(None), "–"),
    (figures.points(0.214), "+21.4 points"), (figures.points(-0.0004), "0.0 points"),
    (figures.points(None), "unknown"),
    (figures.rate(0.5, 0.25, 0.75), "50% (25 to 75)"), (figures.rate(0.5), "50%"),
    (figures.interval(-0.2, 0.1, 1, sign=True, scale=100), "−20.0 to +10.0"),
    (figures.interval(None, 0.1), ""), (figures.bracketed("+0.2", ""), "+0.2"),
    (figures.dollars(0), "$0"), (figures.dollars(0.00421), "$0.0042"),
    (figures.dollars(12.3), "$12.30"), (figures.dollars(1234), "$1,234.00"),
    (figures.dollars(None), "–"),
    (figures.p_value(0.032), "0.0320"), (figures.p_value(0.456), "0.46"),
    (figures.p_value(1e-9), "< 0.0001"), (figures.p_is(0.00005), "p < 0.0001"),
    (figures.p_is(0.0117), "p = 0.0117"), (figures.p_is(None), "no p"),
])  # fmt: skip
def test_a_figure_in_words(said, expected):
    assert said == expected


def test_an_estimate_with_its_interval():
    entry = {"value": -0.05, "low": -0.25, "high": 0.15}
    assert figures.estimate(entry, 100, 1) == ("−5.0 (−25.0 to +15.0)", -0.05, -0.25, 0.15)
    assert figures.estimate(entry | {"low": None}, 100, 1).words == "−5.0"
    assert {figures.estimate(none).words for none in (None, {"value": None, "low": None})} == {"–"}
    assert figures.span(-0.25, 0.15) == "95% interval −25.0 to +15.0"
    assert figures.span(None, 0.15) == "no interval"


@pytest.mark.parametrize(("raw", "seen"), [
    ("a\u00a0b\u2009c\u202fd\u3000e", "a\u00a0b\u2009c\u202fd\u3000e"),  # blanks are characters
    ("é 漢 🙂 \n\t", "é 漢 🙂 \n\t"), ("\x1b[31m", "[U+001B][31m"), ("\r", "[U+000D]"),
    ("x\u202ey", "x[U+202E]y"), ("\ufffd", "[U+FFFD]"), ("\ud800", "[U+D800]"),
    ("a\u200bb", "a[U+200B]b"), ("\U000e0041", "[U+E0041]"), (3, "3")])
def test_what_cannot_be_seen_is_marked_by_its_code_point(raw, seen):
    assert figures.visible(raw) == seen


@pytest.mark.parametrize("name", [
    "results/examples/pilot-smollm2/pilot-summary.md", "results/examples/pilot-smollm2/report.html",
    "results/examples/urrp-smollm2/report.html"])
def test_no_committed_report_has_a_hyphen_for_a_minus_or_a_bracketed_pair(name):
    said = (ROOT / name).read_text(encoding="utf-8")
    said = re.sub(r"<(style|script|details class=\"trial\")\b.*?</(style|script|details)>|<[^>]*>",
                  " ", said, flags=re.S)
    assert re.findall(r"[\s(\[]-\d[\d.]*(?: points|%|\s|\))", said) == []
    assert re.findall(r"\[[+−-]?\d[\d.]*, [+−-]?\d[\d.]*\]", said) == []


def test_one_version_everywhere():
    projects = [tomllib.loads((ROOT / path).read_text())["project"]["version"]
                for path in ("pyproject.toml", "pd-agents/pyproject.toml")]
    inside = re.search(r'__version__ = "(.*)"', (PDBENCH / "__init__.py").read_text()).group(1)
    newest = re.search(r"^## (\S+) \(", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M).group(1)
    assert {*projects, inside, newest} == {VERSION}
