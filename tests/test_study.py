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
SEEDED = {"PYTHONHASHSEED": "7"}
NEITHER = "cvd-S.low-C.absent-H.low-s42"


def study_in(*folders):
    return read_study(find_runs(list(map(str, folders))))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A confirmatory plan of two respondents in alternation."""
    models = [config(name, "hph")["models"]["decision"][0] for name in MODELS]
    stages = {"decision": models, "strategy": models}
    place = tmp_path_factory.mktemp("study")
    return plan(place, agents=3, rounds=6, models=stages)


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
    assert set(out["verdict"]["models"]) == set(parts) == set(MODELS)
    for name in ("HP-LA", "HP-LP", "SxC", "H"):
        for part in parts.values():
            assert part["contrasts"][name]["level"] == 1 - 0.05 / 2
        assert out["established"]["contrasts"][name]["level"] == 0.95


@pytest.mark.parametrize("left", [1, 4])
def test_an_unfinished_study_shows_counts_and_no_estimate(runs, out, left):
    changed = []
    for at, run in enumerate(runs.runs):
        state = {"state": "stopped"} if at < left else {}
        changed.append(run._replace(manifest=run.manifest | state))
    part = analyse(runs._replace(runs=changed))
    known = part["established"]
    assert (known["contrasts"], known["by_round"]) == ({}, {})
    assert part["as_specified"]["design"]["value"] is None
    for name, cell in out["established"]["cells"].items():
        shown = known["cells"][name]
        assert (shown["k"], shown["n"], shown["mean"]) == (cell["k"], cell["n"], None)
    for gate in part["gates"]:
        assert gate["established"]["verdict"] == "not evaluable"
        assert gate["as_specified"]["verdict"] == "not evaluable"
    assert (part["verdict"]["word"], part["claims"]["may"]) == ("not evaluable", [])
    assert f"{left} of 10 runs unfinished" in part["verdict"]["sentence"]


FIGURE = "+30.0 points (+20.0 to +40.0)"


HEADLINES = [
    ([], f"Cue-responsive, both parts: {FIGURE}, also at low pressure."),
    (["HP-HA"], "Cue-responsive, symmetry alone: "),
    (["HP-LP"], "Cue-responsive, cue alone: "),
    (
        ["HP-LP", "HP-HA", "low"],
        f"Cue-responsive, neither alone: {FIGURE}, not at low pressure.",
    ),
]


@pytest.mark.parametrize("lacking, sentence", HEADLINES)
def test_a_headline_of_20_words_says_to_what_it_responds(lacking, sentence):
    def shown(name):
        limits = {"low": 0.0 if name in lacking else 0.2, "high": 0.4}
        return {"value": 0.3, "bounds": limits} | limits

    contrasts = {name: shown(name) for name in ("HP-LA", "HP-LP", "HP-HA")}
    by_h = {"low": {"HP-LA": shown("low")}}
    open_ = ["surface", "labels", "conditional", "adding_up"]
    established = {"contrasts": contrasts, "by_H": by_h}
    words = headline({"verdict": {"open": open_}, "established": established})
    assert words.startswith(sentence) and len(words.split()) <= 20


def test_an_empty_cell_leaves_the_other_level_of_h(runs):
    part = part_of(runs, lambda run: run.name != NEITHER)
    assert part["as_specified"]["design"]["units"] == 3
    assert part["established"]["by_H"]["low"]["HP-LA"]["value"] is None
    assert part["as_specified"]["secondary"]["H"]["value"] is None


def test_decisions_under_a_policy_that_was_refused_are_missing(tmp_path, monkeypatch):
    def respond(request, rng):
        if request.stage == "strategy":
            return "", "content_filter"
        return RESPONDENTS["sim-coin"](request, rng)

    monkeypatch.setitem(RESPONDENTS, "sim-test", respond)
    part = analyse(study_in(plan(tmp_path, "sim-test", agents=2)))
    for cell in part["established"]["cells"].values():
        assert (cell["n"], cell["missing"]) == (0, 4)
    [tripped] = [wire for wire in part["tripwires"] if wire["tripped"]]
    assert tripped["tripwire"] == "policies"
    assert part["verdict"]["word"] == "not evaluable"


def test_baselines_and_ablation_stay_out_of_the_primary_data(tmp_path):
    against = plan(tmp_path, "sim-coin", agents=2, baselines=["AlwaysC"])
    part = analyse(study_in(against))
    assert part["design"]["decisions"] == 8 * 2  # of 2 agents with each other, 8 cells
    part = analyse(study_in(plan(tmp_path, name="ablated", tells="ablated", agents=2)))
    assert "No main runs" in " ".join(part["limits"])
    for gate in part["gates"]:
        assert gate["established"]["verdict"] != "pass"


# --- the script and its files ------------------------------------------------------------------


FILES = (
    "acausal-analysis.json",
    "acausal-summary.md",
    "report.html",
    "exports/decisions.csv",
)


def test_the_script_writes_beside_the_runs_the_same_bytes_each_time(
    cli, shell, copy, tmp_path
):
    done = cli("analyze.py", copy)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert lines[1].startswith("Primary endpoint, as specified: ")
    begun = {line[:14] for line in lines}
    assert begun >= {f"{gate:14}"[:14] for gate in GATES}
    elsewhere = tmp_path / "again"
    flags = ("--out", elsewhere, "--json")
    again = json.loads(shell("analyze.py", copy, *flags, env=SEEDED).stdout)
    assert (again["simulated"], again["written"]) == (True, "again")
    for name in FILES:
        data = (copy / name).read_bytes()
        assert (elsewhere / name).read_bytes() == data
        assert str(tmp_path).encode() not in data
        assert b"SIMULATED" in data or name.startswith("exports")
    assert cli("analyze.py", "--verify", copy).returncode == 0


PAGES = [
    (125, 48, ""),
    (126, 6, "round 1 only."),
    (1001, 6, "round 1 of the main runs only."),
]


@pytest.mark.parametrize("agents, rows, left", PAGES)
def test_a_page_with_more_than_a_thousand_policies_says_what_it_leaves_out(
    agents, rows, left
):
    """A run of the committed example, eight rounds, as if it had more than its six agents."""
    run = study_in(EXAMPLE).runs[0]
    study = Study([run._replace(config=run.config | {"agents": agents})], True, [])
    out = json.loads((EXAMPLE / "acausal-analysis.json").read_text("utf-8"))
    trials = reports.document(out, study).trials
    assert len(trials.rows) == rows
    assert trials.note.partition("too many here: ")[2] == left


# --- history off -------------------------------------------------------------------------------


def off_plan(tmp_path):
    size = {"agents": 3, "rounds": 6, "games_per_pair": 2}
    place, name = tmp_path / "off", "history-off"
    return plan(place, "sim-correlation", name, **size, history_mode="off")


def test_runs_without_history_can_be_read_alone_and_all_their_encounters_are_first(
    tmp_path,
):
    """Eight cells, six rounds, three pairs, two encounters, two sides: 288 decisions a round."""
    out = analyse(study_in(off_plan(tmp_path)))
    cells = out["established"]["cells"].values()
    assert sum(cell["n"] + cell["missing"] for cell in cells) == 8 * 6 * 3 * 2 * 2
    assert out["limits"] == [] and out["design"]["decisions"] == 8 * 3 * 2 * 2
    verdict = {gate["gate"]: gate["established"]["verdict"] for gate in out["gates"]}
    assert verdict["first_encounter"] == "pass"
    assert out["history"] == {}


def test_with_main_runs_each_cell_says_what_history_changes(tmp_path):
    """Shares by bulletin and level of H, on − off, averaged over both, by hand."""
    main = plan(tmp_path / "on", name="cells", agents=3, rounds=6, games_per_pair=2)
    both = study_in(main, off_plan(tmp_path))
    out, acts = analyse(both), {}
    for run in both.runs:
        for row in decisions(run):
            if (row.S, row.C) == ("high", "absent") and row.cooperates is not None:
                here = acts.setdefault((row.bulletin, row.H), {})
                mode = run.config["history_mode"]
                here.setdefault(mode, []).append(row.cooperates)
    apart = [fmean(here["standard"]) - fmean(here["off"]) for here in acts.values()]
    assert list(out["history"]) == ["HP", "HA", "LP", "LA"]
    entry = out["history"]["HA"]
    assert (entry["value"], entry["units"]) == (pytest.approx(fmean(apart)), 6)
    assert out["design"]["decisions"] == 8 * 3 * 2
