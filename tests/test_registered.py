"""What a preregistration hashes, and what a calibration's cache depends on, is what runs.

A real tournament, its analysis, a pilot and a replication are traced; every module of the project
that executed lies in the hashed folders.
"""

import sys
import threading

import pytest
from conftest import ROOT, plan_in

import analyze
import calibrate
import run_pilot
import run_tournament
from cirrus.calibrate import kept, replicate
from cirrus.judge import prereg


def traced(work):
    """{"cirrus/ask/game.py", …}: the project's modules whose code ran while `work` did."""
    files = set()

    def note(frame, event, _):
        files.add(frame.f_code.co_filename)
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    inside = (name[len(str(ROOT)) + 1:] for name in files if name.startswith(f"{ROOT}/"))
    return {name for name in inside if not name.startswith(("tests/", ".venv"))}


@pytest.fixture(scope="module")
def studied(tmp_path_factory):
    """Modules that ran in a registered plan, its analysis, a pilot and its analysis."""
    out = tmp_path_factory.mktemp("registered")
    small = ("--plan", "confirmatory", "--provider", "simulated", "--agents", "4", "--rounds", "1",
             "--jobs", "1", "--out", str(out))

    def study():
        run_tournament.main([*small, "--preregister"])
        run_tournament.main(small)
        analyze.main([str(plan_in(out))])
        run_pilot.main(["--provider", "simulated", "--runs", "2", "--out", str(out / "pilot")])
        analyze.main([str(out / "pilot")])
    return traced(study)


@pytest.fixture(scope="module")
def replicated():
    """Modules that ran in a replication of a pilot and of a tournament."""
    def replications():
        for size in ("2", "4x1"):
            replicate.replicate("coin", replicate.read_size(size), 0, 1, False)
    return traced(replications)


def registered():
    return {name for files in prereg.hashes().values() for name in files}


def test_every_module_of_a_study_is_registered(studied):
    assert len(studied) > 30
    other = {name for name in studied if name.startswith("urrp/")}  # named by analyze.py's table
    assert studied - registered() - other == set()


def test_every_module_of_a_replication_is_in_its_cache_key(replicated):
    assert len(replicated) > 15
    assert replicated - set(kept.code_of()) == set()


@pytest.mark.parametrize("part", [part for part in prereg.PARTS if part != "prompts"])
def test_a_module_that_moves_out_is_missed(studied, monkeypatch, part):
    rest = {name: patterns for name, patterns in prereg.PARTS.items() if name != part}
    monkeypatch.setattr(prereg, "PARTS", rest)
    assert studied - registered()


@pytest.mark.parametrize("pattern", ["stats/*.py", "common/*.py", "cirrus/*.py"])
def test_a_module_outside_the_cache_key_is_missed(replicated, monkeypatch, pattern):
    monkeypatch.setattr(kept, "CODE", tuple(p for p in kept.CODE if p != pattern))
    assert replicated - set(kept.code_of())


def test_scripts_are_registered():
    assert {"analyze.py", "calibrate.py", "run_tournament.py"} <= registered()
    assert calibrate.__file__.endswith("calibrate.py")
