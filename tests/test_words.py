"""One word for one thing: flags and words of the docs are those of the scripts and the files."""

import json
import re
from functools import cache

import pytest
from conftest import ROOT, ended

from common.artifacts import read_bytes

HOUSE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
SCRIPTS = sorted(path.name for path in ROOT.glob("*.py"))
DOCS = sorted(path for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md",
                                *(ROOT / "docs").rglob("*.md")))
# of other commands
FOREIGN = {"--help", "--to", "--million", "--model", "--read", "--sheet", "--write"}


@cache
def usage(script):
    return ended(ROOT, script, "--help").stdout


def flags(text):
    """Those named in a text; what stands in a diff or a git command is not ours."""
    text = re.sub(r"^```diff\n.+?^```$|`git [^`]+`", "", text, flags=re.M | re.S)
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))


def unwanted():
    """{word that is not used: the word that is} from the glossary."""
    table = re.search(r"^## One word for one thing\n(.+?)(?:^## |\Z)", HOUSE, re.M | re.S)[1]
    rows = [row.split(" | ") for row in re.findall(r"^\| (.+?) \|$", table, re.M)[2:]]
    return {word: row[0] for row in rows if len(row) == 3 for word in row[2].split(", ") if word}


def told(text):
    """Unwanted words in a text; the glossary itself is left out."""
    text = re.sub(r"^## One word for one thing\n.+?(?=^## |\Z)", "", text, flags=re.M | re.S)
    return [f"{found[0]}: say {instead}" for word, instead in unwanted().items()
            if (found := re.search(rf"\b{re.escape(word)}(?:s|es)?\b", text, re.I))]


def keys(value):
    """Every key of a JSON value, at any depth."""
    if isinstance(value, dict):
        return set(value) | set().union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


def test_the_glossary_is_read():
    assert unwanted()["sitting"] == "session" and unwanted()["directory"] == "folder"
    assert told("Two sittings in one directory.") == ["sittings: say session",
                                                      "directory: say folder"]


@pytest.mark.parametrize("page", DOCS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_docs_say_each_thing_by_its_one_word(page):
    assert told(page.read_text("utf-8")) == []


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_help_says_each_thing_by_its_one_word(script):
    assert told(usage(script)) == []


def test_keys_of_files_are_of_those_words():
    found = set(keys(json.loads((ROOT / "config" / "experiment.config.json").read_text())))
    for path in (ROOT / "results" / "examples").rglob("*.json"):
        found |= keys(json.loads(read_bytes(path)))
    assert told(" ".join(name.replace("_", " ") for name in found)) == []


def test_the_docs_name_only_flags_that_exist():
    known = FOREIGN.union(*map(flags, map(usage, SCRIPTS)))
    wrong = {flag: page.name for page in DOCS for flag in flags(page.read_text("utf-8")) - known}
    assert wrong == {}


def test_the_readme_s_commands_are_make_s():
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    said = set().union(*(re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text("utf-8"), re.M)
                         for page in DOCS))
    assert said - made == set()
