"""One word for one thing: flags and words of the docs are those of the scripts and the files."""

import re
from functools import cache

import pytest
from conftest import ROOT, ended

SCRIPTS = sorted(path.name for path in ROOT.glob("*.py"))
DOCS = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in (
    ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")))}
GLOSSARY = re.compile(r"^## One word for one thing\n(.+?)(?=^## |\Z)", re.M | re.S)
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
    table = GLOSSARY.search(DOCS["docs/architecture.md"])[1]
    rows = [row.split(" | ") for row in re.findall(r"^\| (.+?) \|$", table, re.M)[2:]]
    return {word: row[0] for row in rows if len(row) == 3 for word in row[2].split(", ") if word}


@pytest.mark.parametrize("name", [*DOCS, *SCRIPTS])
def test_docs_and_helps_say_each_thing_by_its_one_word(name):
    text = GLOSSARY.sub("", DOCS[name]) if name in DOCS else usage(name)
    words = unwanted()
    assert words["directory"] == "folder"
    assert [f"{word}: say {instead}" for word, instead in words.items()
            if re.search(rf"\b{re.escape(word)}(?:s|es)?\b", text, re.I)] == []


def test_the_docs_name_only_flags_that_exist():
    known = FOREIGN.union(*map(flags, map(usage, SCRIPTS)))
    assert {flag: name for name, text in DOCS.items() for flag in flags(text) - known} == {}


def test_the_readme_s_commands_are_make_s():
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = {name for text in DOCS.values()
             for name in re.findall(r"(?:^|`)make ([a-z-]+)", text, re.M)}
    assert named <= made
