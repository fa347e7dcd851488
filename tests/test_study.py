"""The analysis of small studies on disk, and the script that writes it: what models share, what an
unfinished study may show, which files are written, what damaged or foreign text comes to."""

import json
import shutil
from statistics import fmean

import pytest
from conftest import ROOT
from study_rows import config, plan

from cirrus.ask.respondents import RESPONDENTS
from cirrus.judge.rows import Study, decisions, read_study
from cirrus.judge.study import analyse, headline
from cirrus.reports import study as reports
from common.verify import find_runs

EXAMPLE = ROOT / "results" / "examples" / "confirmatory"
MODELS = ("sim-correlation", "sim-coin")
GATES = (
    "Label invariance",
    "First encounter",
    "Cross-domain",
    "Prompt-tell ablation",
    "Holdout",
    "Effect size",
)
NEITHER = "cvd-S.low-C.absent-H.low-s42"


def study_in(*folders):
    return read_study(find_runs(list(map(str, folders))))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A confirmatory plan of two respondents in alternation."""
    models = [config(name, "hph")["models"]["decision"][0] for name in MODELS]
    return plan(
        tmp_path_factory.mktemp("study"),
        agents=3,
        rounds=6,
        models={"decision": models, "strategy": models},
    )


@pytest.fixture(scope="module")
def runs(folder):
    return study_in(folder)


@pytest.fixture(scope="module")
def out(runs):
    return analyse(runs)


@pytest.fixture
def copy(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / folder.name)


def part_of(runs, chosen):
    return analyse(runs._replace(runs=[run for run in runs.runs if chosen(run)]))


# --- what is shown -----------------------------------------------------------------------------


def test_models_share_five_percent_and_the_whole_has_all_of_it(out):
    parts = out["established"]["by_model"]
    assert {
        part["contrasts"][name]["level"]
        for part in parts.values()
        for name in ("HP-LA", "HP-LP", "SxC", "H")
    } == {1 - 0.05 / 2}
    assert out["established"]["contrasts"]["HP-LA"]["level"] == 0.95
    assert set(out["verdict"]["models"]) == set(parts) == set(MODELS)


@pytest.mark.parametrize("left", [1, 4])
def test_an_unfinished_study_shows_counts_and_no_estimate(runs, out, left):
    changed = [
        run._replace(manifest=run.manifest | {"state": "stopped"})
        for run in runs.runs[:left]
    ]
    part = analyse(runs._replace(runs=[*changed, *runs.runs[left:]]))
    known = part["established"]
    assert (known["contrasts"], known["by_round"]) == ({}, {})
    assert part["as_specified"]["design"]["value"] is None
    assert {
        name: (cell["k"], cell["n"], cell["mean"])
        for name, cell in known["cells"].items()
    } == {
        name: (cell["k"], cell["n"], None)
        for name, cell in out["established"]["cells"].items()
    }
    assert {
        (gate[rule]["verdict"], gate["next"])
        for gate in part["gates"]
        for rule in ("established", "as_specified")
    } == {("not evaluable", None)}
    assert (part["verdict"]["word"], part["claims"]["may"]) == ("not evaluable", [])
    assert f"{left} of 10 runs unfinished" in part["verdict"]["sentence"]


@pytest.mark.parametrize(
    "lacking, sentence",
    [
        (
            [],
            "Cue-responsive, both parts: +30.0 points (+20.0 to +40.0), also at low pressure.",
        ),
        (["HP-HA"], "Cue-responsive, symmetry alone: "),
        (["HP-LP"], "Cue-responsive, cue alone: "),
        (
            ["HP-LP", "HP-HA", "low"],
            "Cue-responsive, neither alone: +30.0 points (+20.0 to +40.0), "
            "not at low pressure.",
        ),
    ],
)
def test_a_headline_of_20_words_says_to_what_it_responds(lacking, sentence):
    def shown(name):
        low = 0.0 if name in lacking else 0.2
        return {
            "value": 0.3,
            "low": low,
            "high": 0.4,
            "bounds": {"low": low, "high": 0.4},
        }

    words = headline(
        {
            "verdict": {"open": ["surface", "labels", "conditional", "adding_up"]},
            "established": {
                "contrasts": {
                    name: shown(name) for name in ("HP-LA", "HP-LP", "HP-HA")
                },
                "by_H": {"low": {"HP-LA": shown("low")}},
            },
        }
    )
    assert words.startswith(sentence) and len(words.split()) <= 20


def test_an_empty_cell_leaves_the_other_level_of_h(runs):
    part = part_of(runs, lambda run: run.name != NEITHER)
    assert part["as_specified"]["design"]["units"] == 3
    assert part["established"]["by_H"]["low"]["HP-LA"]["value"] is None
    assert part["as_specified"]["secondary"]["H"]["value"] is None


def test_decisions_under_a_policy_that_was_refused_are_missing(tmp_path, monkeypatch):
    def respond(request, rng):
        return (
            ("", "content_filter")
            if request.stage == "strategy"
            else (RESPONDENTS["sim-coin"](request, rng))
        )

    monkeypatch.setitem(RESPONDENTS, "sim-test", respond)
    study = study_in(plan(tmp_path, "sim-test", agents=2))
    part = analyse(study)
    assert {
        (cell["n"], cell["missing"]) for cell in part["established"]["cells"].values()
    } == {(0, 4)}
    assert [wire["tripwire"] for wire in part["tripwires"] if wire["tripped"]] == [
        "policies"
    ]
    assert part["verdict"]["word"] == "not evaluable"
    assert (
        "– of 0"
        not in reports.files(json.loads(json.dumps(part)), study)["report.html"]
    )


def test_baselines_and_ablation_stay_out_of_the_primary_data(tmp_path):
    part = analyse(
        study_in(plan(tmp_path, "sim-coin", agents=2, baselines=["AlwaysC"]))
    )
    assert part["design"]["decisions"] == 8 * 2  # of 2 agents with each other, 8 cells
    part = analyse(study_in(plan(tmp_path, name="ablated", tells="ablated", agents=2)))
    assert any("No main runs" in line for line in part["limits"])
    assert "pass" not in {gate["established"]["verdict"] for gate in part["gates"]}
    reports.files(json.loads(json.dumps(part)), study_in(tmp_path / "ablated-s42"))


# --- the script and its files ------------------------------------------------------------------


def test_the_script_writes_beside_the_runs_the_same_bytes_each_time(
    cli, shell, copy, tmp_path
):
    done = cli("analyze.py", copy)
    assert done.returncode == 0, done.stderr
    assert "SIMULATED" in done.stdout and "make study\n" in done.stdout
    assert len(done.stdout.splitlines()) <= 24
    assert max(map(len, done.stdout.splitlines())) <= 80
    lines = done.stdout.splitlines()
    assert lines[1].startswith("Primary endpoint, as specified: ")
    assert all(any(line.startswith(gate) for line in lines) for gate in GATES)
    files = {
        name: (copy / name).read_bytes()
        for name in (
            "acausal-analysis.json",
            "acausal-summary.md",
            "report.html",
            "exports/decisions.csv",
        )
    }
    again = json.loads(
        shell(
            "analyze.py",
            copy,
            "--out",
            tmp_path / "again",
            "--json",
            env={"PYTHONHASHSEED": "7"},
        ).stdout
    )
    assert (again["simulated"], again["written"]) == (True, "again")
    for name, data in files.items():
        assert (tmp_path / "again" / name).read_bytes() == data
        assert str(tmp_path).encode() not in data
        assert b"SIMULATED" in data or name.startswith("exports")
    assert cli("analyze.py", "--verify", copy).returncode == 0


@pytest.mark.parametrize(
    "agents, rows, left",
    [
        (125, 48, ""),
        (126, 6, "round 1 only."),
        (1001, 6, "round 1 of the main runs only."),
    ],
)
def test_a_page_with_more_than_a_thousand_policies_says_what_it_leaves_out(
    agents, rows, left
):
    """A run of the committed example, eight rounds, as if it had more than its six agents."""
    run = study_in(EXAMPLE).runs[0]
    study = Study([run._replace(config=run.config | {"agents": agents})], True, [])
    trials = reports.document(
        json.loads((EXAMPLE / "acausal-analysis.json").read_text()), study
    ).trials
    assert (len(trials.rows), trials.note.partition("too many here: ")[2]) == (
        rows,
        left,
    )


# --- history off -------------------------------------------------------------------------------


def off_plan(tmp_path, population="sim-correlation"):
    return plan(
        tmp_path / "off",
        population,
        "history-off",
        agents=3,
        rounds=6,
        games_per_pair=2,
        history_mode="off",
    )


def test_runs_without_history_can_be_read_alone_and_all_their_encounters_are_first(
    tmp_path,
):
    """Eight cells, six rounds, three pairs, two encounters, two sides: 288 decisions a round."""
    study = study_in(off_plan(tmp_path))
    out = analyse(study)
    asked = sum(
        cell["n"] + cell["missing"] for cell in out["established"]["cells"].values()
    )
    assert asked == 8 * 6 * 3 * 2 * 2
    assert out["limits"] == [] and out["design"]["decisions"] == 8 * 3 * 2 * 2
    verdict = {gate["gate"]: gate["established"]["verdict"] for gate in out["gates"]}
    assert verdict["first_encounter"] == "pass"
    assert out["history"] == {}


def test_with_main_runs_each_cell_says_what_history_changes(tmp_path):
    """Shares by bulletin and level of H, on − off, averaged over both, by hand."""
    main = plan(tmp_path / "on", name="cells", agents=3, rounds=6, games_per_pair=2)
    both = study_in(main, off_plan(tmp_path))
    out = analyse(both)
    assert list(out["history"]) == ["HP", "HA", "LP", "LA"]
    acts = {}
    for run in both.runs:
        for row in decisions(run):
            if (row.S, row.C) == ("high", "absent") and row.cooperates is not None:
                place = row.bulletin, row.H, run.config["history_mode"]
                acts.setdefault(place, []).append(row.cooperates)
    bulletins = sorted({bulletin for bulletin, _, _ in acts})
    apart = [
        fmean(acts[bulletin, h, "standard"]) - fmean(acts[bulletin, h, "off"])
        for bulletin in bulletins
        for h in ("high", "low")
    ]
    entry = out["history"]["HA"]
    assert (entry["value"], entry["units"]) == (pytest.approx(fmean(apart)), 6)
    assert out["design"]["decisions"] == 8 * 3 * 2
    text = reports.files(out, study_in(main))["acausal-summary.md"]
    assert "history on − off, symmetry + cue" in text
