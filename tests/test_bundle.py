"""The project as one package and as one file: every command, from an empty folder.

Both are built from what `make test` has installed and fetched; without that these tests skip.
"""

import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT, clean_environment, pythons

COMMANDS = (  # DESIGN: the names that people type
    "pilot",
    "tournament",
    "analyze",
    "adjudicate",
    "calibrate",
    "urrp-run",
    "urrp-analyze",
)
BUILD = "import sys, hatchling.build as build; print(build.build_wheel(sys.argv[1]))"


def run(folder, *command, **env):
    return subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=clean_environment() | env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling", reason="hatchling is not installed: make test")
    folder = tmp_path_factory.mktemp("wheel")
    built = run(ROOT, sys.executable, "-c", BUILD, folder)
    assert built.returncode == 0, built.stderr
    return folder / built.stdout.split()[-1]


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory):
    """A folder that the wheel is installed into, alone."""
    folder = tmp_path_factory.mktemp("site")
    pip = (sys.executable, "-m", "pip", "install", "--no-index", "--no-deps")
    done = run(folder, *pip, "--target", folder, wheel)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """`make bundle`, from wheels that are here already; alone in a folder."""
    if not (ROOT / "vendor").exists() and not (ROOT / "dist/wheels/ready").exists():
        pytest.skip("no wheels to pack: make dist/wheels/ready")
    folder = tmp_path_factory.mktemp("bundle")
    return built(folder, PYTHON=sys.executable)


def built(folder, **settings):
    words = [f"{key}={value}" for key, value in settings.items()]
    done = run(ROOT, "make", "bundle", f"DIST={folder}", *words, TZ="Asia/Tokyo")
    assert done.returncode == 0, done.stderr
    return folder / "cirrus-bench.pyz"


@pytest.mark.parametrize(("version", "python"), list(pythons()))
def test_installed_it_runs_on_each_python_and_writes_below_the_current_folder(
    site, tmp_path, version, python
):
    if not python:
        pytest.skip(f"no Python {version} on this machine")

    def command(*words):
        done = run(tmp_path, python, site / "bin/cirrus-bench", *words, **env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    env = {"PYTHONPATH": str(site)}
    assert all(name in command() for name in COMMANDS)
    for name in COMMANDS:
        command(name, "--help")
    command("pilot", "--runs", "1")
    shown = command("urrp-run", "--pilot", "--trials", "1")
    assert "now: cirrus-bench urrp-analyze urrp_runs.jsonl" in shown
    command("urrp-analyze", "urrp_runs.jsonl")
    assert "2 verified" in command("analyze", "--verify", "results")
    imported = "from cirrus_bench.stats import contrast; import sys; print('stats' in sys.modules)"
    assert run(tmp_path, python, "-c", imported, **env).stdout == "False\n"
    assert {path.name for path in tmp_path.iterdir()} == {"results", "urrp_runs.jsonl"}


def test_the_bundle_asks_a_server_on_a_python_without_packages(
    bundle, double, tmp_path
):
    bare = (sys.executable, "-I", "-S", bundle)
    flags = ("--base-url", double.url, "--models", "double/a", "--runs", "1")
    asked = run(tmp_path, *bare, "pilot", *flags, "--json")
    assert asked.returncode == 0, asked.stderr
    assert json.loads(asked.stdout)["simulated"] is False
    checked = run(tmp_path, *bare, "analyze", "--verify", ".")
    assert checked.stdout.startswith("verified results/pilot/")
    assert list(tmp_path.iterdir()) == [tmp_path / "results"]


def test_two_bundles_of_a_commit_have_the_same_bytes(bundle, tmp_path):
    """Neither another Python, nor rights and times of files, nor the zone leave a trace."""
    others = [python for _, python in pythons() if python]
    mask = os.umask(0o077)
    try:
        again = built(tmp_path, PYTHON=others[-1])
    finally:
        os.umask(mask)
    assert again.read_bytes() == bundle.read_bytes()
