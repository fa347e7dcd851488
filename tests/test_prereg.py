"""What a preregistration fixes, and what an analysis calls confirmatory, case by case."""

import hashlib
import json

import pytest
from conftest import ROOT

from cirrus.judge import prereg
from cirrus.judge.rows import Run, Study
from cirrus.judge.study import registration
from common import UsageError
from common.artifacts import canonical_json


def digest(data):
    return hashlib.sha256(data).hexdigest()


def config(seed=1, model="m", **more):
    voice = [{"name": model}]
    return {"seed": seed, "models": {"strategy": voice, "decision": voice}} | more


def listed(*names, folder="own"):
    return [{"folder": folder, "run_id": name, "config": config()} for name in names]


def test_every_file_of_the_named_folders_is_hashed(tmp_path):
    (tmp_path / "prompts" / "deep").mkdir(parents=True)
    (tmp_path / "prompts" / "deep" / "b.txt").write_bytes(b"b\n")
    (tmp_path / "run.py").write_bytes(b"1\n")
    found = prereg.hashes(tmp_path)
    assert found["prompts"] == {"prompts/deep/b.txt": digest(b"b\n")}
    assert found["scripts"] == {"run.py": digest(b"1\n")} and found.keys() == prereg.PARTS.keys()
    data = {"files": found}
    assert prereg.deviations(data, tmp_path) == []
    (tmp_path / "run.py").write_bytes(b"2\n")
    (tmp_path / "prompts" / "deep" / "b.txt").unlink()
    for name in "dac":
        (tmp_path / "prompts" / f"{name}.txt").touch()
    assert prereg.deviations(data, tmp_path) == [
        "prompts: prompts/a.txt added", "prompts: prompts/c.txt added",
        "prompts: prompts/d.txt added", "prompts: prompts/deep/b.txt removed",
        "scripts: run.py changed"]
    assert prereg.hashes()["scripts"].keys() >= {"analyze.py"}   # of this project


def test_whatever_may_run_in_a_study_is_hashed():
    hashed = {name for files in prereg.hashes().values() for name in files}
    patterns = ["*.py", "prompts/**/*.*", *(f"{room}/**/*.py" for room in
                                            ("cirrus", "common", "show", "stats"))]
    there = {path.relative_to(ROOT).as_posix() for one in patterns for path in ROOT.glob(one)}
    assert len(there) > 60 and there - hashed == set()


def test_a_whole_study_stands_in_one_document():
    runs = [{"folder": "own", "run_id": str(seed), "config": config(seed, model)}
            for seed, model in ((12, "b"), (7, "c"), (9, "a"), (7, "d"), (3, "e"))]
    data = prereg.document("own", runs)
    assert (data["seeds"], data["models"]) == ([3, 7, 9, 12], ["a", "b", "c", "d", "e"])
    assert data["plan_sha256"] == digest(canonical_json(runs).encode())
    assert data["files"] == prereg.hashes() and data["runs"] == runs


def test_it_is_written_once_before_the_first_call(tmp_path):
    data, folder = prereg.document("own", listed("a")), tmp_path / "out" / "own"
    head = prereg.write(folder, data)
    assert head == digest((folder / prereg.FILE).read_bytes()) == prereg.write(folder, data)
    assert prereg.load(folder) == json.loads(canonical_json(data))
    with pytest.raises(UsageError, match="another preregistration is here"):
        prereg.write(folder, prereg.document("own", listed("b")))
    for run in ("late", "early"):
        (tmp_path / "begun" / run).mkdir(parents=True)
        (tmp_path / "begun" / run / "manifest.json").touch()
    with pytest.raises(UsageError, match="early has begun already"):
        prereg.write(tmp_path / "begun", data)
    (tmp_path / "empty").mkdir()
    assert prereg.write(tmp_path / "empty", data) == head


@pytest.mark.parametrize("change", [
    {"artifact": "plan"}, {"files": {"prompts": {}, "scripts": []}}, {"files": None},
    {"runs": [{"folder": "own", "run_id": "a", "config": []}]},
    {"runs": [{"folder": "own", "run_id": 1, "config": {}}]}, {"runs": [{"folder": "own"}]}])
def test_what_is_none_is_refused(change, tmp_path):
    assert prereg.load(tmp_path) is None
    data = prereg.document("own", listed("a")) | change
    for content in (canonical_json(data), "{"):
        (tmp_path / prereg.FILE).write_text(content)
        with pytest.raises(UsageError, match=r"prereg\.json: .*; restore it"):
            prereg.load(tmp_path)


REGISTERED = {"runs": listed(*"abcdef")}


@pytest.mark.parametrize("names, change, said", [
    ("abcdef", {}, []), ("abcde", {}, ["1 of 6 registered runs are left out: own/f"]),
    ("ab", {}, ["4 of 6 registered runs are left out: own/c, own/d, own/e, own/f"]),
    ("a", {}, ["5 of 6 registered runs are left out: own/b, own/c, own/d, own/e, …"]),
    ("abcdefg", {}, ["own/g was not registered"]),
    ("abcdef", {"b": config(seed=2)}, ["own/b has another configuration"])])
def test_how_runs_are_not_those_that_were_registered(names, change, said):
    runs = {("own", name): change.get(name, config()) for name in names}
    assert prereg.plan_deviations(REGISTERED, runs) == [f"plan: {line}" for line in said]


# --- confirmatory ------------------------------------------------------------------------------

def study(root, *folders, names="ab", **change):
    """Runs a and b of each folder, with the name of the study that it is registered as; `change`:
    of the last run's manifest."""
    runs = []
    every = [one for folder, _ in folders for one in listed(*names, folder=folder)]
    for folder, register in folders:
        (root / folder).mkdir()
        (root / folder / "plan.json").touch()
        head = register and prereg.write(root / folder, prereg.document(register, every))
        for name in names:
            manifest = {"identity": {"prereg_sha256": head, "config": {}}, "state": "complete",
                        "unproven": {}}
            runs.append(Run(root / folder / name, name, config(), manifest, "main",
                            ("high", "present", "low"), "COORDINATE"))
    if change:
        runs[-1] = runs[-1]._replace(manifest=runs[-1].manifest | change)
    return Study(runs, True, [])


def test_a_registered_study_that_is_whole_is_confirmatory(tmp_path):
    out = registration(study(tmp_path, ("own", "own"), ("more", "own")))
    assert (out["kind"], out["why"], out["deviations"]) == ("confirmatory", "", [])
    assert out["heads"].keys() == {"own", "more"}
    assert set(out["heads"].values()) == {digest((tmp_path / "own" / prereg.FILE).read_bytes())}


@pytest.mark.parametrize("folders, change, why, deviations", [
    ([("own", None)], {}, "not preregistered", []),
    ([("own", "own"), ("more", None)], {}, "2 runs of 4 under no preregistration",
     ["own: plan: 2 of 4 registered runs are left out: more/a, more/b"]),
    ([("own", "own"), ("more", "more")], {}, "registered as 2 studies (own, more), not as one",
     []),
    ([("own", "own")], {"state": "incomplete"}, "1 deviation from the preregistration",
     ["own: b is unfinished"]),
    ([("own", "own")], {"identity": {"config": {}}},
     "1 deviation from the preregistration", ["own: b was not made under this registration"])])
def test_anything_else_is_exploratory_and_says_why(folders, change, why, deviations, tmp_path):
    out = registration(study(tmp_path, *folders, **change))
    assert (out["kind"], out["why"], out["deviations"]) == ("exploratory", why, deviations)


def test_a_file_that_changed_and_an_upstream_that_was_not_pinned_are_deviations(
        tmp_path, monkeypatch):
    runs = study(tmp_path, ("own", "own"))
    monkeypatch.setattr(prereg, "deviations", lambda data: ["analysis: x.py changed"])
    monkeypatch.setattr("cirrus.judge.study.fixed", lambda manifest: False)
    out = registration(runs)
    assert out["why"] == "3 deviations from the preregistration"
    assert out["deviations"] == ["own: analysis: x.py changed"] + [
        f"own: {name} was asked of any upstream; --pin auto keeps a run to one" for name in "ab"]
