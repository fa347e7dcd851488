"""docs/methods.md is true: its snippets print what it shows."""

import doctest
import importlib
import re
import subprocess
import sys

import pytest
from conftest import ROOT, clean_environment

DOC = ROOT / "docs" / "methods.md"
TEXT = DOC.read_text(encoding="utf-8")
ROOMS = ["common", "cirrus", "show", "stats", "urrp"]


def examples():
    """The modules whose docstrings show a session."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            if ">>> " in path.read_text("utf-8"):
                yield ".".join(path.relative_to(ROOT).with_suffix("").parts)


@pytest.mark.parametrize("name", list(examples()))
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
    assert runner.tries > 2 and not runner.failures, "".join(faults)
