"""What a preregistration hashes is what runs.

A real tournament, its analysis and a pilot are traced; every module of the project that executed
lies in the hashed folders.
"""

import sys
import threading

import pytest
from conftest import ROOT, plan_in

import analyze
import run_pilot
import run_tournament
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


def registered():
    return {name for files in prereg.hashes().values() for name in files}


def test_every_module_of_a_study_is_registered(studied):
    assert len(studied) > 30
    other = {name for name in studied if name.startswith("urrp/")}  # named by analyze.py's table
    assert studied - registered() - other == set()


@pytest.mark.parametrize("part", [part for part in prereg.PARTS if part != "prompts"])
def test_a_module_that_moves_out_is_missed(studied, monkeypatch, part):
    rest = {name: patterns for name, patterns in prereg.PARTS.items() if name != part}
    monkeypatch.setattr(prereg, "PARTS", rest)
    assert studied - registered()


def test_scripts_are_registered():
    assert {"analyze.py", "calibrate.py", "run_tournament.py"} <= registered()
