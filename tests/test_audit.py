"""docs/audit.md as it stands: every command prints what the page shows, and every committed
example comes out of its journal again on each supported Python, byte for byte."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, clean_environment, pythons

PAGE = (ROOT / "docs" / "audit.md").read_text("utf-8")
EXAMPLES = ROOT / "results" / "examples"
MARK = "=== next ==="


def console(section):
    """[(command, what the page shows below it)] of the console blocks of a section."""
    lines = "".join(re.findall(r"^```console\n(.*?)^```$", section, re.M | re.S))
    steps = re.findall(r"^\$ (.*\n(?:>.*\n)*)((?:[^$].*\n)*)", lines, re.M)
    return [
        (re.sub("^> ?", "", command, flags=re.M), shown) for command, shown in steps
    ]


@pytest.fixture
def project(tmp_path):
    """The project's folder, with committed examples that a command may write beside."""
    for path in ROOT.iterdir():
        if path.name != "results" and not path.name.startswith("."):
            (tmp_path / path.name).symlink_to(path)
    shutil.copytree(EXAMPLES, tmp_path / "results" / "examples")
    return tmp_path


SECTIONS = [
    part for part in re.split(r"^## ", PAGE, flags=re.M)[1:] if "```console" in part
]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda part: part.split(":")[0])
def test_every_command_prints_what_the_page_shows(project, section):
    for name in ("bash", "gzip", "sha256sum"):
        if not shutil.which(name):
            pytest.skip(f"no {name} on this machine")
    before = sorted(project.iterdir())
    commands, expected = zip(*console(section), strict=True)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f"echo '{MARK}'\n".join(commands)],
        cwd=project,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
        env=clean_environment() | {"PATH": path},
    )
    assert done.stdout.split(f"{MARK}\n") == [*expected]
    assert sorted(project.iterdir()) == before  # the page tidies up behind itself


@pytest.mark.parametrize(("version", "python"), list(pythons()))
def test_every_committed_run_follows_from_its_journal(tmp_path, version, python):
    if not python:
        pytest.skip(f"no Python {version} on this machine")
    copy = shutil.copytree(EXAMPLES, tmp_path / "examples")
    if version != "3.11":
        shutil.rmtree(copy / "study")  # the largest: once is enough
    done = subprocess.run(
        [python, ROOT / "analyze.py", "--verify", copy],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        check=False,
        env=clean_environment(),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    folders = set(re.findall(r"^verified \S*/examples/(.*?):", done.stdout, re.M))
    assert {"calibration", "confirmatory"} < folders
    for path in EXAMPLES.rglob("manifest.json"):
        assert path.parent.relative_to(EXAMPLES).as_posix() in folders
