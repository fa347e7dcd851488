"""Which runs belong together, and which of their decisions."""

import json
import shutil

import pytest
from conftest import ROOT
from study_rows import decision

from cirrus.judge import rows as r
from common import Incomplete, UsageError

EXAMPLE = ROOT / "results/examples/confirmatory/cvd-S.high-C.present-H.low-s42"
HOSPITAL = EXAMPLE.with_name("hospital-S.high-C.present-H.low-s42")
LA = {"toggles": {"S": "low", "C": "absent", "H": "low"}}


def run(folder, change=None, **config):
    """A run's folder without the files that it derives; `change` alters its manifest."""
    folder.mkdir(parents=True)
    example = HOSPITAL if config.get("domain") == "hospital" else EXAMPLE
    shutil.copy(example / "prompts.json", folder)
    (folder / "journal.jsonl").touch()
    manifest = json.loads((example / "manifest.json").read_bytes())
    manifest["identity"]["config"] |= config
    del manifest["identity"]["plan"]  # it is a run by itself here
    if change:
        change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


# --- which runs --------------------------------------------------------------------------------


def live(manifest):
    manifest["identity"]["provider"] = "http://x"


def test_runs_are_in_order_of_name_each_folder_once(tmp_path):
    last, first = run(tmp_path / "x/b", **LA), run(tmp_path / "x/a", seed=2)
    middle = run(tmp_path / "y/a")
    study = r.read_study([last, middle, first, last])
    assert [each.folder for each in study.runs] == [first, middle, last]
    assert (study.simulated, study.limits) == (True, [])
    [real] = r.read_study([run(tmp_path / "z", live)]).runs
    assert real.words == "cvd, symmetry + cue, compliance pressure low"
    assert (real.role, real.cooperative) == ("main", "COORDINATE")


def test_limits_name_what_is_left_out_and_why(tmp_path):
    def begun(manifest):
        manifest.update(state="incomplete", files={})

    main, empty = run(tmp_path / "a"), run(tmp_path / "d", begun, seed=3)
    odd = run(tmp_path / "c", variants="holdout", tells="ablated")
    assert r.read_study([main, empty, odd]).limits == [
        "d (incomplete) has no files yet and is left out.",
        "c differs from the main runs in more than one way; it enters no test.",
    ]
    with pytest.raises(Incomplete, match="d: no files yet"):
        r.read_study([empty])


def reworded(manifest):
    manifest["identity"]["prompts"]["cirrus24/frame.json"] = "0" * 64


REFUSED = [
    (live, {}, "a and b: one is simulated, the other is not; analyse them apart"),
    (None, {"agents": 4}, r"a and b: different designs \(agents: 6 and 4\); analyse"),
    (None, {"plan": "z" * 200}, r'\(plan: null and "z{79}\)'),
    (reworded, LA, "made with different versions of prompts/cirrus24/frame.json"),
    (None, {}, r"/a and \S+/b: the same run twice; give one of them"),
]


@pytest.mark.parametrize(("change", "config", "words"), REFUSED)
def test_runs_of_two_studies_are_refused_by_what_differs(
    tmp_path, change, config, words
):
    other = run(tmp_path / "b", change, **config)
    with pytest.raises(UsageError, match=words):
        r.read_study([run(tmp_path / "a"), other])


VARIED = [LA, {"domain": "hospital"}, {"tells": "ablated"}, {"games_per_pair": 2}]


@pytest.mark.parametrize("config", VARIED)
def test_runs_of_a_study_may_differ_in_what_it_varies(tmp_path, config):
    other = run(tmp_path / "b", seed=1, **config)
    assert len(r.read_study([run(tmp_path / "a"), other]).runs) == 2


def test_runs_of_a_plan_that_are_not_here_are_named(tmp_path):
    runs = [run(tmp_path / "a", seed=0), run(tmp_path / "b", seed=1)]
    plan, told = tmp_path / "plan.json", {"artifact": "plan", "plan": "p"}
    plan.write_text(json.dumps(told | {"runs": ["a", "b", "c", "d"]}))
    [limit] = r.read_study(runs).limits
    assert limit.startswith("2 of 4 runs of ") and limit.endswith("analysis: c, d.")
    plan.write_text('{"runs": 3}')
    with pytest.raises(UsageError, match=r"plan\.json: "):
        r.read_study(runs)


PLACES = [
    (["p/a"], None, "p/a", "p/a"),
    (["p/a"], "o", "o", "p/a"),
    (["p/a", "p/b"], None, "p", "p"),
    (["p/a", "q/b"], None, "", ""),
]


@pytest.mark.parametrize(("folders", "out", "first", "beside"), PLACES)
def test_an_analysis_is_written_beside_its_runs(tmp_path, folders, out, first, beside):
    runs = [run(tmp_path / folder, seed=at) for at, folder in enumerate(folders)]
    given = None if out is None else str(tmp_path / out)
    parents = [folder.parent for folder in runs]
    expected = [tmp_path / first, tmp_path / beside, *parents]
    assert r.places(r.read_study(runs), given) == expected


def test_primary_is_round_1_first_encounters_without_baselines_and_a_unit_is_an_agent_of_a_seed():
    changes = ({}, {"round": 2}, {"encounter": 2}, {"baseline": True})
    rows = [decision(seed=9)._replace(**change) for change in changes]
    assert [row.primary for row in rows] == [True, False, False, False]
    assert rows[0].unit == (9, "agent-01")
