"""make bundle: one file that runs every command on a bare Python, from anywhere."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT, clean_environment

COMMANDS = ("pilot", "mechanism", "tournament", "analyze", "adjudicate", "calibrate", "urrp-run",
            "urrp")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """The bundle, alone in a folder. `requests` is taken from where this Python has it."""
    folder = tmp_path_factory.mktemp("project")
    copy = folder / "copy"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(
        ".*venv*", ".git", "results", "vendor", "pd-agents", "__pycache__", "tests"))
    wheels = folder / "wheels"
    fetched = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "-d", wheels,
         "--only-binary=:all:", "--platform", "any", "--python-version", "3.11", "-r",
         ROOT / "requirements.txt"], capture_output=True, text=True, check=False)
    if fetched.returncode:
        pytest.skip(f"no wheels to vendor: {fetched.stderr.splitlines()[-1:]}")
    subprocess.run([sys.executable, copy / ".ci/bundle.py", wheels], check=True,
                   capture_output=True)
    return Path(shutil.move(copy / "dist/cirrus-bench.pyz", folder / "cirrus-bench.pyz"))


@pytest.fixture
def bare(bundle, tmp_path):
    """A Python that sees the standard library only, in an empty folder, with the bundle alone."""
    return lambda *args: subprocess.run(
        [sys.executable, "-I", "-S", bundle, *args], cwd=tmp_path, check=False,
        capture_output=True, text=True, env=clean_environment())


def test_it_lists_its_commands_and_refuses_others(bare):
    listed = bare()
    assert listed.returncode == 0 and all(name in listed.stdout for name in COMMANDS)
    wrong = bare("pilots")
    assert wrong.returncode == 2 and "'pilots' is no command" in wrong.stderr


def test_what_to_type_next_is_a_command_of_the_bundle(bare, bundle):
    assert f"now: python3 {bundle} urrp u.jsonl" in bare(
        "urrp-run", "--pilot", "--trials", "1", "--output", "u.jsonl").stdout
    empty = bare("urrp", "none.jsonl")
    assert empty.returncode == 2 and ".py" not in empty.stderr.replace(".pyz", "")


def test_live_calls_need_nothing_installed_and_are_verified(bare, double):
    run = bare("pilot", "--base-url", double.url, "--models", "double/a", "--runs", "1", "--out",
               "live", "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["simulated"] is False
    assert "verified" in bare("analyze", "--verify", "live").stdout


def test_a_script_copied_alone_says_what_to_copy_instead(tmp_path):
    shutil.copy(ROOT / "urrp_analyze.py", tmp_path)
    said = subprocess.run([sys.executable, "-I", tmp_path / "urrp_analyze.py"], cwd=tmp_path,
                          capture_output=True, text=True, check=False)
    assert said.returncode == 1 and said.stderr.count("\n") == 1
    assert "cirrus-bench.pyz" in said.stderr


def test_two_builds_have_the_same_bytes(bundle, tmp_path):
    """The files' times, their owner's rights and the zone of the clock leave no trace."""
    stage, built = tmp_path / "stage", []
    zipfile.ZipFile(bundle).extractall(stage)
    for time, mode, zone in ((0, 0o600, "UTC"), (1.7e9, 0o755, "Asia/Tokyo")):
        for path in stage.rglob("*"):
            os.utime(path, (time, time))
            path.chmod(mode | 0o700 if path.is_dir() else mode)
        target = tmp_path / f"{zone[:3]}.pyz"
        subprocess.run([sys.executable, "-c", "import sys, bundle, pathlib\n"
                        "bundle.pack(*map(pathlib.Path, sys.argv[1:]))", stage, target],
                       env=clean_environment() | {"PYTHONPATH": str(ROOT / ".ci"), "TZ": zone},
                       check=True)
        built.append(target.read_bytes())
    assert built[0] == built[1] == bundle.read_bytes()


def test_every_requirement_is_pinned_with_its_hashes_and_has_no_address():
    for path in ROOT.glob("requirements*.txt"):
        text = path.read_text("utf-8")
        lines = [line for line in text.replace("\\\n", "").splitlines()
                 if line and not line.startswith(("#", "-r "))]
        assert lines and all("==" in line and "--hash=sha256:" in line for line in lines), path
        assert "://" not in text, path
