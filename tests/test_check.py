"""`make check` chooses the tests of what changed: the nearest first, the scripts' own always."""

import subprocess
import sys

import check
import pytest
from conftest import ROOT, clean_environment

NEEDED = {"common/rng.py": set(), "stats/a.py": {"common/rng.py"}, "run.py": {"stats/a.py"},
          "tests/test_rng.py": {"common/rng.py"}, "tests/test_a.py": {"stats/a.py"},
          "tests/test_run.py": {"run.py"}, "tests/test_far.py": set()}


@pytest.fixture(autouse=True)
def there(monkeypatch, tmp_path):
    """A project that has each test of NEEDED as a file."""
    for folder in (tmp_path, tmp_path / "pd-agents"):
        (folder / "tests").mkdir(parents=True)
    (tmp_path / "pd-agents/tests/test_far.py").write_text("")
    for name in filter(lambda name: name.startswith("tests/"), NEEDED):
        (tmp_path / name).write_text('"prompts"' if name == "tests/test_a.py" else "")
    monkeypatch.setattr(check, "ROOT", tmp_path)


@pytest.mark.parametrize("files, far", [
    (["common/rng.py"], {"tests/test_rng.py": 1, "tests/test_a.py": 2}),
    (["stats/a.py"], {"tests/test_a.py": 1, "tests/test_run.py": 2}),
    (["tests/test_far.py"], {"tests/test_far.py": 0}),
    (["prompts/cirrus24/round_1.md"], {"tests/test_a.py": 1}), (["README.md"], {}),
    (["pd-agents/tests/test_far.py"], {})])     # another project's
def test_a_test_is_as_far_as_the_imports_between_it_and_the_change(files, far):
    assert check.distances(files, NEEDED) == far


def test_the_map_is_computed_from_imports_and_named_scripts():
    needed = check.needs(ROOT)
    assert "tests/test_scripts.py" not in needed["run_pilot.py"]
    assert {"run_pilot.py", "run_tournament.py"} <= needed["tests/test_scripts.py"]
    assert "tests/check.py" in needed["tests/test_check.py"]


def test_what_the_minute_does_not_reach_is_skipped_and_counted(tmp_path):
    (tmp_path / "test_slow.py").write_text("def test_one(): ...\ndef test_two(): assert False\n")
    run = subprocess.run(
        [sys.executable, "-c", "import check, pytest, pathlib; check.SECONDS = -1\n"
         "check.ROOT = pathlib.Path.cwd()\n"
         "pytest.main(['-q', 'test_slow.py'], plugins=[check.Minute({'test_slow.py': 0})])"],
        cwd=tmp_path, env=clean_environment() | {"PYTHONPATH": str(ROOT / "tests")},
        capture_output=True, text=True, check=True)
    assert "2 tests not reached" in run.stdout and "2 skipped" in run.stdout
