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

from common.artifacts import read_bytes

PAGE = (ROOT / "docs" / "audit.md").read_text("utf-8")
EXAMPLES = ROOT / "results" / "examples"
RUNS = sorted(manifest.parent for manifest in EXAMPLES.rglob("manifest.json"))
MARK = "=== next ==="


def commands(section):
    """[(command, what the page shows below it)] of the console blocks of a section."""
    lines = "".join(re.findall(r"^```console\n(.*?)^```$", section, re.M | re.S)).splitlines()
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif line.startswith("> ") or line == ">":
            found[-1] = (found[-1][0] + "\n" + line[2:], "")
        else:
            found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return found


def typed(script, folder):
    """What a shell prints, errors included, in a folder that holds the project."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(["bash", "-c", script], cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120, check=False,
                          env=clean_environment() | {"PATH": path}).stdout


@pytest.fixture
def project(tmp_path):
    """The project's folder, with committed examples that a command may write beside."""
    for path in ROOT.iterdir():
        if path.name != "results" and not path.name.startswith("."):
            (tmp_path / path.name).symlink_to(path)
    shutil.copytree(EXAMPLES, tmp_path / "results" / "examples")
    return tmp_path


SECTIONS = [part for part in re.split(r"^## ", PAGE, flags=re.M)[1:] if "```console" in part]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda part: part.split(":")[0])
def test_every_command_prints_what_the_page_shows(project, section):
    if missing := [name for name in ("bash", "gzip", "sha256sum") if not shutil.which(name)]:
        pytest.skip(f"no {missing[0]} on this machine")
    before = sorted(project.iterdir())
    steps = commands(section)
    printed = typed(f"\necho '{MARK}'\n".join(step for step, _ in steps), project)
    assert printed.split(f"{MARK}\n") == [shown for _, shown in steps]
    assert sorted(project.iterdir()) == before  # the page tidies up behind itself


@pytest.mark.parametrize(("version", "python"), list(pythons()))
def test_every_committed_run_follows_from_its_journal(tmp_path, version, python):
    if not python:
        pytest.skip(f"no Python {version} on this machine")
    copy = shutil.copytree(EXAMPLES, tmp_path / "examples")
    done = subprocess.run([python, ROOT / "analyze.py", "--verify", copy], cwd=tmp_path, text=True,
                          capture_output=True, check=False, env=clean_environment())
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == len(RUNS) >= 2


def again(python, folder, out):
    """{path of a committed file: the same made anew in `out`} by the script that makes it."""
    if (folder / "urrp_runs.jsonl").is_file():
        made = {name: out / name for name in ("analysis.json", "report.html")}
        command = ["urrp_analyze.py", (folder / "urrp_runs.jsonl").relative_to(ROOT),
                   "--json", made["analysis.json"], "--html", made["report.html"]]
    elif (folder / "acausal-analysis.json").is_file():
        made = {path.relative_to(folder).as_posix(): out / path.relative_to(folder)
                for path in (*folder.glob("*.*"), *folder.glob("exports/*")) if path.is_file()
                and path.name not in ("plan.json", "prereg.json", "README.md")}
        command = ["analyze.py", folder.relative_to(ROOT), "--out", out]
    else:
        copy = shutil.copytree(folder, out / folder.name)
        made = {path.name: path for path in copy.iterdir()
                if not path.name.startswith(
                    ("manifest", "journal", "prompts", "."))}
        for path in made.values():
            path.unlink()
        command = ["analyze.py", copy]
    done = subprocess.run([python, *command], cwd=ROOT, capture_output=True, text=True,
                          check=False, env=clean_environment())
    assert done.returncode == 0, done.stderr
    return {folder / name: path for name, path in made.items()}


def studies():
    """Folders whose files are one analysis: a pilot, a collection, the folder of a plan."""
    return sorted({run.parent if (run.parent / "acausal-analysis.json").is_file() else run
                   for run in RUNS})


# That a pilot's figures are the same under every Python is what --verify has said of them above.
@pytest.mark.parametrize(("folder", "version", "python"), [
    pytest.param(folder, *each, id=f"{folder.name}-{each[0]}") for folder in studies()
    for each in ([("this", sys.executable)] if (folder / "trials.jsonl.gz").is_file()
                 else pythons())])
def test_every_committed_figure_comes_out_again(tmp_path, folder, version, python):
    if not python:
        pytest.skip(f"no Python {version} on this machine")
    made = again(python, folder, tmp_path)
    assert len(made) >= 2
    for committed, path in made.items():
        assert read_bytes(path) == read_bytes(committed), committed.name


def test_a_changed_figure_would_be_seen(tmp_path):
    """The comparison above fails where the committed file says something else."""
    folder = next(run for run in RUNS if (run / "trials.jsonl.gz").is_file())
    made = again(sys.executable, folder, tmp_path)
    name = folder / "pilot-summary.md"
    assert read_bytes(made[name]) != read_bytes(name).replace(b"40", b"41", 1)
