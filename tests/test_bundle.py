"""make bundle: one file that runs on a bare Python, from anywhere."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    if shutil.which("make") is None:
        pytest.skip("no make on this machine")
    copy = tmp_path_factory.mktemp("project") / "copy"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(
        ".*venv*", ".git", "results", "vendor", "pd-agents", "__pycache__", "tests"))
    subprocess.run(["make", "bundle", f"PYTHON={sys.executable}"], cwd=copy, check=True,
                   capture_output=True)
    return copy / "dist"


def bare(*args, flags=("-I", "-S")):
    """A Python that sees the standard library only, in a folder that is not the project's."""
    return subprocess.run([sys.executable, *flags, *map(str, args)], cwd="/",
                          check=False, capture_output=True, text=True)


def test_the_urrp_bundle_says_what_the_script_says(bundles):
    trials = ROOT / "results" / "examples" / "urrp-smollm2" / "urrp_runs.jsonl"
    bundle = bare(bundles / "urrp_analyze.pyz", trials)
    script = bare(ROOT / "urrp_analyze.py", trials, flags=("-S",))
    assert bundle.returncode == script.returncode == 0
    assert bundle.stdout == script.stdout and "230 trials" in bundle.stdout


def test_the_analysis_bundle_verifies_a_run(bundles):
    said = bare(bundles / "analyze.pyz", "--verify", ROOT / "results/examples/pilot-smollm2")
    assert said.returncode == 0 and "verified" in said.stdout


def test_a_bundle_passes_the_exit_code_on(bundles):
    assert bare(bundles / "urrp_analyze.pyz", "no-such-file.jsonl").returncode == 2
