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

COMMANDS = (
    "pilot",
    "mechanism",
    "tournament",
    "analyze",
    "adjudicate",
    "calibrate",
    "urrp-run",
    "urrp",
)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """The bundle, alone in a folder. `requests` is taken from where this Python has it."""
    folder = tmp_path_factory.mktemp("project")
    copy = shutil.copytree(
        ROOT,
        folder / "copy",
        ignore=shutil.ignore_patterns(
            ".*venv*", ".git", "results", "vendor", "pd-agents", "__pycache__", "tests"
        ),
    )
    fetched = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--only-binary=:all:",
            "--platform",
            "any",
            "--python-version",
            "3.11",
            "-d",
            folder / "wheels",
            "-r",
            ROOT / "requirements.txt",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if fetched.returncode:
        pytest.skip(f"no wheels to vendor: {fetched.stderr.splitlines()[-1:]}")
    subprocess.run(
        [sys.executable, copy / ".ci/bundle.py", folder / "wheels"],
        check=True,
        capture_output=True,
    )
    return Path(shutil.move(copy / "dist/cirrus-bench.pyz", folder))


@pytest.fixture
def bare(bundle, tmp_path):
    """A Python that sees the standard library only, in an empty folder, with the bundle alone."""
    return lambda *args: subprocess.run(
        [sys.executable, "-I", "-S", bundle, *args],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
        env=clean_environment(),
    )


def test_it_lists_its_commands_refuses_others_and_names_the_next_of_them(bare, bundle):
    shown, wrong, empty = bare(), bare("pilots"), bare("urrp", "none.jsonl")
    assert (shown.returncode, wrong.returncode, empty.returncode) == (0, 2, 2)
    assert all(name in shown.stdout for name in COMMANDS)
    assert "'pilots' is no command" in wrong.stderr
    assert ".py" not in empty.stderr.replace(".pyz", "")
    done = bare("urrp-run", "--pilot", "--trials", "1", "--output", "u.jsonl")
    assert f"now: python3 {bundle} urrp u.jsonl" in done.stdout


def test_live_calls_need_nothing_installed_and_are_verified(bare, double):
    run = bare(
        "pilot",
        "--base-url",
        double.url,
        "--models",
        "double/a",
        "--runs",
        "1",
        "--out",
        "live",
        "--json",
    )
    assert run.returncode == 0 and json.loads(run.stdout)["simulated"] is False, (
        run.stderr
    )
    assert "verified" in bare("analyze", "--verify", "live").stdout


def test_a_script_copied_alone_says_what_to_copy_instead(tmp_path):
    shutil.copy(ROOT / "urrp_analyze.py", tmp_path)
    done = subprocess.run(
        [sys.executable, "-I", tmp_path / "urrp_analyze.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "cirrus-bench.pyz" in done.stderr


def test_two_builds_have_the_same_bytes(bundle, tmp_path):
    """The files' times, their owner's rights and the zone of the clock leave no trace."""
    stage, built = tmp_path / "stage", []
    zipfile.ZipFile(bundle).extractall(stage)
    for time, mode, zone in ((0, 0o600, "UTC"), (1.7e9, 0o755, "Asia/Tokyo")):
        for path in stage.rglob("*"):
            os.utime(path, (time, time))
            path.chmod(mode | 0o700 if path.is_dir() else mode)
        target = tmp_path / f"{zone[:3]}.pyz"
        subprocess.run(
            [
                sys.executable,
                "-c",
                "import sys, bundle, pathlib\n"
                "bundle.pack(*map(pathlib.Path, sys.argv[1:]))",
                stage,
                target,
            ],
            env=clean_environment() | {"PYTHONPATH": str(ROOT / ".ci"), "TZ": zone},
            check=True,
        )
        built.append(target.read_bytes())
    assert built[0] == built[1] == bundle.read_bytes()


def test_every_requirement_is_pinned_with_its_hashes_and_has_no_address():
    for path in ROOT.glob("requirements*.txt"):
        text = path.read_text("utf-8")
        lines = [
            line
            for line in text.replace("\\\n", "").splitlines()
            if line and not line.startswith(("#", "-r "))
        ]
        assert lines and all(
            "==" in line and "--hash=sha256:" in line for line in lines
        ), path
        assert "://" not in text, path
