"""docs/howto: each worked example applies to the project as it is, and does what its page says."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, clean_environment

PAGES = sorted((ROOT / "docs" / "howto").glob("*.md"))
NOT_COPIED = shutil.ignore_patterns(".*", "results", "pd-agents", "vendor", "dist", "__pycache__",
                                    "reference", "reliability")

pytestmark = pytest.mark.skipif(not (shutil.which("git") and shutil.which("bash")),
                                reason="no git or no bash on this machine")


def block(page, kind):
    """The one block of this kind."""
    [found] = re.findall(rf"^```{kind}\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
    return found


def run(folder, *command, stdin=None):
    return subprocess.run(command, cwd=folder, input=stdin, capture_output=True, text=True,
                          check=False, timeout=120, env=clean_environment())


@pytest.fixture
def project(tmp_path):
    """A copy of the project, with an environment where its pages expect one."""
    copy = Path(shutil.copytree(ROOT, tmp_path / "project", ignore=NOT_COPIED))
    (copy / ".venv").symlink_to(Path(sys.executable).parents[1])
    return copy


def test_there_is_a_page_for_each_thing_that_people_add():
    assert [page.stem for page in PAGES] == ["domain", "gate", "provider", "respondent"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_the_page_apply_the_diff_and_show_what_is_new(project, page):
    done = run(project, "bash", "-e", "-c", block(page, "sh"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^\d+ passed", done.stdout, re.M), done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_new_test_fails_without_the_rest_of_the_diff(project, page):
    applied = run(project, "git", "apply", "--include=tests/*", "-", stdin=block(page, "diff"))
    assert applied.returncode == 0, applied.stderr
    [test] = re.findall(r"pytest (tests/\w+\.py)", block(page, "sh"))
    assert run(project, ".venv/bin/python", "-m", "pytest", "-x", "-q", test).returncode in (1, 2)
