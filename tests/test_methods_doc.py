"""docs/methods.md is true: its snippets print what it shows, its table of deviations holds."""

import doctest
import importlib
import re
import subprocess
import sys
from collections import Counter

import pytest
import test_stats_reference as reference
from conftest import ROOT, clean_environment

import stats

DOC = ROOT / "docs" / "methods.md"
TEXT = DOC.read_text(encoding="utf-8")
EXAMPLES = [
    str(path.relative_to(ROOT))[:-3].replace("/", ".")
    for room in ("common", "cirrus", "show", "stats", "urrp")
    for path in sorted((ROOT / room).rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]
DEFINITION = "second computation straight from the definition (definitions.py)"


def section(number):
    return re.search(rf"^## {number}\. .*?(?=^## |\Z)", TEXT, re.M | re.S)[0]


def names(cell):
    return {*re.findall(r"`(\w+)`", cell)}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_in_a_docstring_prints_what_it_shows(name):
    done = doctest.testmod(importlib.import_module(name))
    assert done.attempted and not done.failed


def test_snippets_print_what_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    globs, faults = {}, []
    runner = doctest.DocTestRunner(verbose=False)
    for kind, body in re.findall(r"^```(python|console)\n(.*?)^```", TEXT, re.M | re.S):
        if kind == "python":
            test = doctest.DocTestParser().get_doctest(
                body, globs, "methods.md", str(DOC), 0
            )
            runner.run(test, clear_globs=False, out=faults.append)
            globs = test.globs
        else:
            command, _, output = body.removeprefix("$ python3 ").partition("\n")
            done = subprocess.run(
                ["sh", "-c", f"'{sys.executable}' '{ROOT}'/{command}"],
                text=True,
                capture_output=True,
                encoding="utf-8",
                env=clean_environment(),
            )
            assert done.stdout == output, done.stderr
    assert runner.tries > 10 and not runner.failures, "".join(faults)


def test_every_public_name_is_explained():
    assert {*reference.FUNCTIONS} <= names(section(2))
    assert {name for name in vars(stats) if name[0].isupper()} <= names(section(1))


def comparisons():
    """{(function, peer): its row} of the lines that rest on the stored values."""
    rows = [
        tuple(cell.strip() for cell in line.split("|")[1:-1])
        for line in section(7).splitlines()
        if line.startswith("| `")
    ]
    return {
        (name, DEFINITION if row[1] == "definition" else row[1]): row
        for row in rows
        if not row[4]
        for name in names(row[0])
    }


def stored_entries():
    return [entry.values[0] for entry in reference.entries()]


def test_the_table_holds_every_comparison_and_no_other():
    rows, compared = (
        comparisons(),
        [(entry["function"], entry["peer"]) for entry in stored_entries()],
    )
    assert rows.keys() == {*compared} and {*reference.FUNCTIONS} <= names(section(7))
    counted = Counter(rows[key] for key in compared)
    assert all(int(row[2]) == n for row, n in counted.items()), counted


def deviation(entry):
    """The largest |ours − peer|/max(1, |peer|) of one stored comparison."""
    ours, expected = reference.compute(entry), entry["expect"]
    if isinstance(expected, dict):
        ours = {key: getattr(ours, key) for key in expected}
    pairs = zip(reference.flat(ours), reference.flat(expected), strict=True)
    return max(
        (
            abs(value - peer) / max(1.0, abs(peer))
            for (_, value), (_, peer) in pairs
            if not isinstance(peer, bool)
        ),
        default=0.0,
    )


def test_no_deviation_is_larger_than_stated_and_none_is_stated_beyond_what_is_allowed():
    rows = comparisons()
    for entry in stored_entries():
        most, allowed = (
            float(rows[entry["function"], entry["peer"]][3]),
            entry["tolerance"],
        )
        allowed = max(allowed.values()) if isinstance(allowed, dict) else allowed
        assert deviation(entry) <= most <= allowed, (entry["function"], entry["peer"])
