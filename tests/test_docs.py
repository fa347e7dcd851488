"""The docs as they stand: one version, and the commands of howto.md run."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT, clean_environment

from common import VERSION

HOWTO = (ROOT / "docs/howto.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.+?)(?=^## |\Z)", HOWTO, re.M | re.S))
WHAT_RUNS = ("cirrus", "urrp", "common", "show", "stats", "prompts", "config")


def test_there_is_a_single_version():
    inside = (ROOT / "pd-agents/src/pdbench/__init__.py").read_text()
    versions = re.findall(r'__version__ = "(.*)"', inside)
    for path in ("pyproject.toml", "pd-agents/pyproject.toml"):
        versions.append(tomllib.loads((ROOT / path).read_text())["project"]["version"])
    newest = re.search(r"^## (\S+) \(", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert {*versions, newest[1]} == {VERSION}


def blocks(language, section):
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.M | re.S)


@pytest.mark.parametrize("title", SECTIONS)
def test_the_commands_of_a_section_run(tmp_path, double, title):
    for script in ROOT.glob("*.py"):
        shutil.copy(script, tmp_path)
    for room in WHAT_RUNS:
        shutil.copytree(ROOT / room, tmp_path / room)
    for code in blocks("python", SECTIONS[title]):
        (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    commands = "".join(blocks("sh", SECTIONS[title]))
    assert commands
    commands = commands.replace("http://127.0.0.1:8080/v1", double.url)
    commands = commands.replace("my-model", "double/a")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-ec", commands],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=clean_environment() | {"PATH": path},
    )
    assert done.returncode == 0, done.stderr
