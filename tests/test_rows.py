"""Which runs belong together, and which of their decisions."""

import json
import shutil
from pathlib import Path

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
    folders = [
        run(tmp_path / "x/b", **LA),
        run(tmp_path / "y/a"),
        run(tmp_path / "x/a", seed=2),
    ]
    study = r.read_study([*folders, folders[0]])
    assert [each.folder for each in study.runs] == [folders[2], folders[1], folders[0]]
    assert (study.simulated, study.limits) == (True, [])
    real = r.read_study([run(tmp_path / "z", live)])
    assert real.simulated is False
    assert (real.runs[0].role, real.runs[0].cell, real.runs[0].cooperative) == (
        "main",
        ("high", "present", "low"),
        "COORDINATE",
    )
    assert real.runs[0].words == "cvd, symmetry + cue, compliance pressure low"


def test_limits_name_what_is_left_out_and_why(tmp_path):
    empty = run(
        tmp_path / "d",
        lambda manifest: manifest.update(state="incomplete", files={}),
        seed=3,
    )
    assert r.read_study(
        [
            run(tmp_path / "a"),
            empty,
            run(tmp_path / "c", variants="holdout", tells="ablated"),
        ]
    ).limits == [
        "d (incomplete) has no files yet and is left out.",
        "c differs from the main runs in more than one way; it enters no test.",
    ]
    with pytest.raises(Incomplete, match="d: no files yet"):
        r.read_study([empty])


@pytest.mark.parametrize(
    "change, config, words",
    [
        (live, {}, "a and b: one is simulated, the other is not; analyse them apart"),
        (
            None,
            {"agents": 4},
            r"a and b: different designs \(agents: 6 and 4\); analyse them apart",
        ),
        (None, {"plan": "z" * 200}, r"\(plan: null and \"z{79}\)"),
        (
            lambda manifest: manifest["identity"]["prompts"].update(
                {"cirrus24/frame.json": "0" * 64}
            ),
            LA,
            "a and b: made with different versions of prompts/cirrus24/frame.json; analyse",
        ),
        (None, {}, r"/a and \S+/b: the same run twice; give one of them"),
    ],
)
def test_runs_of_two_studies_are_refused_by_what_differs(
    tmp_path, change, config, words
):
    with pytest.raises(UsageError, match=words):
        r.read_study([run(tmp_path / "a"), run(tmp_path / "b", change, **config)])


@pytest.mark.parametrize(
    "config",
    [
        LA,
        {"seed": 2},
        {"domain": "hospital"},
        {"tells": "ablated"},
        {"variants": "holdout"},
        {"history_mode": "off"},
        {"turn": 1},
        {"plan_seed": 2},
        {"rounds": 1},
        {"games_per_pair": 2},
    ],
)
def test_runs_of_a_study_may_differ_in_what_it_varies(tmp_path, config):
    r.read_study([run(tmp_path / "a"), run(tmp_path / "b", **({"seed": 1} | config))])


def test_runs_of_a_plan_that_are_not_here_are_named(tmp_path):
    runs = [run(tmp_path / name, seed=at) for at, name in enumerate("ab")]
    plan = tmp_path / "plan.json"
    for names, limits in (
        ("ab", []),
        ("abcd", [f"2 of 4 runs of {tmp_path.name} are not in this analysis: c, d."]),
    ):
        told = {"artifact": "plan", "plan": "p", "runs": [*names]}
        plan.write_text(json.dumps(told))
        assert r.read_study(runs).limits == limits
    for broken in ("{", "[]", "3", '{"runs": 3}'):
        plan.write_text(broken)
        with pytest.raises(UsageError, match=r"plan\.json: "):
            r.read_study(runs)


def test_ratings_alone_are_no_study():
    kinds = {
        Path("a"): {"artifact": "tournament"},
        Path("b"): {"artifact": "adjudication"},
    }
    assert list(r.without_ratings(kinds)) == [Path("a")]
    with pytest.raises(UsageError, match="b: ratings only"):
        r.without_ratings({Path("b"): kinds[Path("b")]})


@pytest.mark.parametrize(
    "folders, out, first, beside",
    [
        (["p/a"], None, "p/a", "p/a"),
        (["p/a"], "o", "o", "p/a"),
        (["p/a", "p/b"], None, "p", "p"),
        (["p/a", "q/b"], None, "", ""),
    ],
)
def test_an_analysis_is_written_beside_its_runs(tmp_path, folders, out, first, beside):
    study = r.read_study(
        [run(tmp_path / folder, seed=at) for at, folder in enumerate(folders)]
    )
    assert r.places(study, out and str(tmp_path / out)) == [
        tmp_path / first,
        tmp_path / beside,
        *((tmp_path / folder).parent for folder in folders),
    ]


def test_primary_is_round_1_first_encounters_without_baselines_and_a_unit_is_an_agent_of_a_seed():
    changes = ({}, {"round": 2}, {"encounter": 2}, {"baseline": True})
    rows = [decision(seed=9)._replace(**change) for change in changes]
    assert [row.primary for row in rows] == [True, False, False, False]
    assert rows[0].unit == (9, "agent-01")
