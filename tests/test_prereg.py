"""What a preregistration fixes, and what an analysis calls confirmatory, case by case."""

import hashlib
import json

import pytest
from conftest import ROOT
from test_server import SERVED

from cirrus.judge import prereg
from cirrus.judge.rows import SavedRun, Study
from common import UsageError
from common.artifacts import canonical_json
from common.wire import UNREAD_FORM

HASHED = ("*.py", "prompts/**/*.*", "cirrus/**/*.py", "common/**/*.py", "stats/**/*.py")


def digest(data):
    return hashlib.sha256(data).hexdigest()


def config(seed=1, model="m"):
    return {
        "seed": seed,
        "models": {stage: [{"name": model}] for stage in ("strategy", "decision")},
    }


def listed(*names, folder="plan"):
    return [{"folder": folder, "run_id": name, "config": config()} for name in names]


def test_whatever_may_run_in_a_study_is_hashed():
    files = prereg.document("plan", [])["files"]
    for pattern in HASHED:
        found = list(ROOT.glob(pattern))
        assert found
        for path in found:
            name = path.relative_to(ROOT).as_posix()
            assert files[name] == digest(path.read_bytes())


def test_a_whole_study_is_in_a_single_document():
    runs = []
    for seed, model in ((12, "b"), (7, "c"), (9, "a"), (7, "b")):
        run = {"folder": "plan", "run_id": str(seed), "config": config(seed, model)}
        runs.append(run)
    data = prereg.document("plan", runs)
    assert (data["seeds"], data["models"]) == ([7, 9, 12], ["a", "b", "c"])
    assert data["plan_sha256"] == digest(canonical_json(runs).encode())
    assert data["tree_sha256"] == digest(canonical_json(data["files"]).encode())


def test_it_is_written_once(tmp_path):
    data, folder = prereg.document("plan", listed("a")), tmp_path / "out" / "plan"
    head = prereg.write(folder, data)
    assert head == digest((folder / prereg.FILE).read_bytes())
    assert prereg.write(folder, data) == head
    assert prereg.load(folder) == json.loads(canonical_json(data))
    with pytest.raises(UsageError, match="another preregistration is here"):
        prereg.write(folder, prereg.document("plan", listed("b")))


def test_what_is_none_is_refused(tmp_path):
    assert prereg.load(tmp_path) is None
    data = prereg.document("plan", listed("a")) | {"runs": [{"folder": "plan"}]}
    (tmp_path / prereg.FILE).write_text(canonical_json(data))
    with pytest.raises(UsageError, match=r"prereg\.json: .*; restore it"):
        prereg.load(tmp_path)


LEFT_OUT = "registered runs are left out: plan/"
OTHER_RUNS = [
    ("ab", {}, [f"4 of 6 {LEFT_OUT}c, plan/d, plan/e, plan/f"]),
    ("a", {}, [f"5 of 6 {LEFT_OUT}b, plan/c, plan/d, plan/e, …"]),
    ("abcdefg", {}, ["plan/g was not registered"]),
    ("abcdef", {"b": config(seed=2)}, ["plan/b has another configuration"]),
]


@pytest.mark.parametrize("names, change, deviations", OTHER_RUNS)
def test_how_runs_are_not_those_that_were_registered(names, change, deviations):
    runs = {("plan", name): change.get(name, config()) for name in names}
    found = prereg.changed_runs({"runs": listed(*"abcdef")}, runs)
    assert list(found) == [f"plan: {line}" for line in deviations]


# --- one-shot studies --------------------------------------------------------------------------


SMALL = ("--runs", 2, "--models", "sim-coin", "--run-id", "run", "--out", ".")


def analysed(cli):
    done = cli("analyze.py", "run", "--json")
    [entry] = json.loads(done.stdout)["runs"]
    return entry


def test_a_registered_pilot_is_confirmatory(cli, tmp_path):
    done = cli("run_pilot.py", *SMALL, "--preregister", "--json")
    [made] = json.loads(done.stdout)["preregistered"]
    assert made["sha256"] == digest((tmp_path / "run/prereg.json").read_bytes())
    assert cli("analyze.py", "--verify", "run").returncode == 3  # registered, not begun
    assert cli("run_pilot.py", *SMALL).returncode == 0
    assert analysed(cli)["registration"] == {
        "kind": "confirmatory",
        "why": "",
        "heads": {"run": made["sha256"]},
        "deviations": [],
    }
    assert "\nconfirmatory: " in cli("analyze.py", "run").stdout
    assert cli("analyze.py", "--verify", "run").returncode == 0


def test_a_pilot_is_exploratory_as_long_as_a_registered_model_is_missing(cli, double):
    """The server has no double/e at first."""
    flags = (*SMALL, "--base-url", double.url, "--models", "double/a,double/e")
    assert cli("run_pilot.py", *flags, "--preregister").returncode == 0
    assert cli("run_pilot.py", *flags).returncode == 0
    found = analysed(cli)["registration"]
    [deviation] = found["deviations"]
    assert found["kind"] == "exploratory"
    assert deviation.startswith("run: double/e was set aside: not in the server's list")
    double.script(models={"double/a": SERVED, "double/e": SERVED})
    assert cli("run_pilot.py", *flags).returncode == 0
    assert analysed(cli)["registration"]["kind"] == "confirmatory"


def test_a_pilot_is_exploratory_after_any_change(cli, tmp_path):
    """A script of that day is gone; and the run was not made under what lies here now."""
    assert cli("run_pilot.py", *SMALL, "--preregister").returncode == 0
    assert cli("run_pilot.py", *SMALL).returncode == 0
    path = tmp_path / "run" / prereg.FILE
    data = json.loads(path.read_bytes())
    data["files"]["gone.py"] = "0" * 64
    path.write_text(canonical_json(data))
    found = analysed(cli)["registration"]
    assert found["kind"] == "exploratory"
    assert found["deviations"] == [
        "gone.py removed",
        "run was not made under this registration",
    ]
    done = cli("analyze.py", "--verify", "run")
    assert done.returncode == 2 and "not the one that the run was made" in done.stdout
    path.unlink()
    assert cli("analyze.py", "--verify", "run").returncode == 2


def test_what_has_begun_is_not_registered(cli):
    assert cli("run_pilot.py", *SMALL).returncode == 0
    assert "registration" not in analysed(cli)
    done = cli("run_pilot.py", *SMALL, "--preregister")
    assert done.returncode == 2 and "run has begun already" in done.stderr
    plan = ("run_tournament.py", "--plan", "2x2", "--agents", 2, "--rounds", 1)
    assert cli(*plan).returncode == 0
    done = cli(*plan, "--preregister")
    assert done.returncode == 2 and "has begun already" in done.stderr


# --- confirmatory ------------------------------------------------------------------------------


def study(root, folders, then=None, **change):
    """Runs a and b of each folder, with the name of the study that it is registered as; `then`:
    files as they were hashed; `change`: of the last run's manifest."""
    every, runs = [], []
    for folder in folders:
        every += listed("a", "b", folder=folder)
    for folder, register in folders.items():
        (root / folder).mkdir()
        (root / folder / "plan.json").touch()
        data = prereg.document(register, every)
        data["files"] |= then or {}
        identity = {"prereg_sha256": register and prereg.write(root / folder, data)}
        made = {
            "identity": identity,
            "state": "complete",
            "upstreams": {"m": {"Up": 8}},
            "served": {"m": {"m-2026": 8}},
        }
        for name in "ab":
            place, cell = root / folder / name, ("high", "present", "low")
            run = SavedRun(
                place, name, config(), dict(made), "main", cell, "COORDINATE"
            )
            runs.append(run)
    runs[-1].manifest.update(change)
    return Study(runs, True, [])


DEVIATIONS = [
    ({"then": {"gone.py": "0"}}, "gone.py removed"),
    ({"then": {"analyze.py": "0"}}, "analyze.py changed"),
    ({"state": "incomplete"}, "b is unfinished"),
    ({"identity": {}}, "b was not made under this registration"),
    (
        {"served": {"m": {"m-2026": 7, "n-2025": 1}}},
        "b: m was served by the models m-2026, n-2025",
    ),
    (
        {"set_aside": {"m": f"{UNREAD_FORM}, such as ''"}},
        f"b: m was set aside: {UNREAD_FORM}, such as ''",
    ),
    (
        {"set_aside": {"m": "503: gone"}},
        "b: m was set aside: 503: gone",
    ),
    (
        {"upstreams": {"m": {"Down": 1, "Up": 7}}},
        "b: m was answered by Down, Up; --upstream keeps a run to one",
    ),
]


@pytest.mark.parametrize("change, deviation", DEVIATIONS)
def test_a_deviation_makes_it_exploratory(change, deviation, tmp_path):
    out = prereg.registration(study(tmp_path, {"plan": "plan"}, **change))
    assert out["kind"] == "exploratory"
    assert out["why"] == "1 deviation from the preregistration"
    assert out["deviations"] == [f"plan: {deviation}"]


CONFIRMATORY = [
    ({"plan": "plan", "more": "plan"}, ""),
    ({"plan": None}, "not preregistered"),
    ({"plan": "plan", "more": None}, "2 runs of 4 under no preregistration"),
    (
        {"plan": "plan", "more": "more"},
        "registered as 2 studies (plan, more), not as one",
    ),
]


@pytest.mark.parametrize("folders, why", CONFIRMATORY)
def test_only_a_registered_study_that_is_whole_is_confirmatory(folders, why, tmp_path):
    out = prereg.registration(study(tmp_path, folders))
    assert out["kind"] == ("exploratory" if why else "confirmatory")
    assert out["why"] == why
    for folder, head in out["heads"].items():
        assert head == digest((tmp_path / folder / prereg.FILE).read_bytes())
    assert list(out["heads"]) == [name for name in folders if folders[name]]
