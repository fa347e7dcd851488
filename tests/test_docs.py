"""The docs as they stand: their flags, links and files, and the commands of howto.md run."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from conftest import ROOT, clean_environment, ended, scripts
from test_architecture import modules

from common import VERSION

SCRIPTS = scripts()
DOCS = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in (
        *map(ROOT.joinpath, ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
    )
}
SECTIONS = dict(
    re.findall(r"^## (.+?)\n(.+?)(?=^## |\Z)", DOCS["docs/howto.md"], re.M | re.S)
)
# Flags of other commands; files that a command or a user writes.
FOREIGN = {
    "--help",
    "--from",
    "--max-tokens",
    "--reasoning-effort",
    "--to",
    "--million",
    "--model",
    "--read",
    "--sheet",
    "--write",
}
WRITTEN = {
    "acausal-summary.md",
    "pilot-summary.md",
    "calibration.md",
    "preregistration.md",
    "round_N.md",
    "FILE.py",
    "mine.py",
}
NOT_NEEDED = shutil.ignore_patterns(
    ".*",
    "__pycache__",
    "benchmarks",
    "dist",
    "docs",
    "pd-agents",
    "results",
    "tests",
    "vendor",
)


@cache
def usage(script):
    return ended(ROOT, script, "--help").stdout


def flags(text):
    """Those named in a text; what stands in a diff or a git command is not ours."""
    text = re.sub(r"^```diff\n.+?^```$|`git [^`]+`", "", text, flags=re.M | re.S)
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))


def test_the_docs_name_only_flags_commands_and_files_that_exist():
    known = FOREIGN.union(*map(flags, map(usage, SCRIPTS)))
    assert {
        flag: name for name, text in DOCS.items() for flag in flags(text) - known
    } == {}
    docs = "\n".join(DOCS.values())
    made = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", docs, re.M)) <= set(made)
    files = [
        path.as_posix()
        for path in ROOT.rglob("*.*")
        if not any(
            part.startswith((".", "__")) for part in path.relative_to(ROOT).parts[:-1]
        )
    ]
    named = set(
        re.findall(
            r"`((?:[a-z-]+/)*\w+\.(?:py|md|sh|toml|yaml))`",
            re.sub(r"^```.*?^```$", "", docs, flags=re.M | re.S),
        )
    )
    named |= set(re.findall(r"(?:\w+/)*\w+\.py\b", "\n".join(modules().values())))
    assert {
        name
        for name in named - WRITTEN
        if not any(file.endswith(f"/{name}") for file in files)
    } == set()


def test_every_link_of_the_docs_leads_somewhere():
    assert [
        f"{name}: {link}"
        for name, text in DOCS.items()
        for link in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", text)
        if not (ROOT / name).parent.joinpath(link).exists()
    ] == []


def test_there_is_a_single_version():
    projects = [
        tomllib.loads((ROOT / path).read_text())["project"]["version"]
        for path in ("pyproject.toml", "pd-agents/pyproject.toml")
    ]
    inside = re.search(
        r'__version__ = "(.*)"',
        (ROOT / "pd-agents/src/pdbench/__init__.py").read_text(),
    )[1]
    newest = re.search(r"^## (\S+) \(", DOCS["CHANGELOG.md"], re.M)[1]
    assert {*projects, inside, newest} == {VERSION}


@pytest.mark.parametrize("title", SECTIONS)
def test_the_commands_of_a_section_run(tmp_path, double, title):
    project = shutil.copytree(ROOT, tmp_path / "project", ignore=NOT_NEEDED)
    for code in re.findall(r"^```python\n(.*?)^```$", SECTIONS[title], re.M | re.S):
        (project / "mine.py").write_text(code, encoding="utf-8")
    commands = "".join(re.findall(r"^```sh\n(.*?)^```$", SECTIONS[title], re.M | re.S))
    assert commands
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [
            "sh",
            "-ec",
            commands.replace("http://127.0.0.1:8080/v1", double.url).replace(
                "my-model", "double/a"
            ),
        ],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        env=clean_environment() | {"PATH": path},
    )
    assert done.returncode == 0, done.stderr
