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

HOWTO = (ROOT / "docs/howto.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.+?)(?=^## |\Z)", HOWTO, re.M | re.S))
WHAT_RUNS = ("cirrus", "urrp", "common", "show", "stats", "prompts", "config")


def test_there_is_a_single_version():
    versions = set()
    for path in ("pyproject.toml", "pd-agents/pyproject.toml"):
        versions.add(tomllib.loads((ROOT / path).read_text())["project"]["version"])
    places = {
        "common/__init__.py": r'^VERSION = "(.*)"',
        "pd-agents/src/pdbench/__init__.py": r'^__version__ = "(.*)"',
        "CHANGELOG.md": r"^## (\S+) \(",  # the newest
    }
    for path, pattern in places.items():
        versions.add(re.search(pattern, (ROOT / path).read_text("utf-8"), re.M)[1])
    assert len(versions) == 1


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
