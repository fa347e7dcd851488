"""The analysis of small studies on disk, and the script that writes it: what models share, what an
unfinished study may show, which files are written, what damaged or foreign text comes to."""

import json
import shutil
from statistics import fmean

import pytest
from conftest import ROOT
from study_rows import config, plan
from test_oneshot_pages import Page

from cirrus.ask.respondents import RESPONDENTS
from cirrus.judge.rows import Study, decisions, policies, read_study
from cirrus.judge.study import analyse, headline
from cirrus.reports import study as reports
from common.verify import find_runs

EXAMPLE = ROOT / "results" / "examples" / "confirmatory"
OUT = json.loads((EXAMPLE / "acausal-analysis.json").read_text("utf-8"))
MODELS = ("sim-correlation", "sim-coin")
GATES = ("Label inv", "First enc", "Cross-dom", "Prompt-tell", "Holdout", "Effect")
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


# what is not shown, and what the headline then says; "low": where compliance pressure is low
HEADLINES = [
    ([], "both parts: +30.0 points (+20.0 to +40.0), also at low pressure."),
    (["HP-HA"], "symmetry alone: "),
    (["HP-LP"], "cue alone: "),
    (
        ["HP-LP", "HP-HA", "low"],
        "neither alone: +30.0 points (+20.0 to +40.0), not at low pressure.",
    ),
]


@pytest.mark.parametrize("lacking, sentence", HEADLINES)
def test_a_headline_of_20_words_says_to_what_it_responds(lacking, sentence):
    shown = {}
    for name in ("HP-LA", "HP-LP", "HP-HA", "low"):
        limits = {"low": 0.0 if name in lacking else 0.2, "high": 0.4}
        shown[name] = {"value": 0.3, "bounds": limits} | limits
    open_ = ["surface", "labels", "conditional", "adding_up"]
    known = {"contrasts": shown, "by_H": {"low": {"HP-LA": shown["low"]}}}
    words = headline({"verdict": {"open": open_}, "established": known})
    assert words.startswith(f"Cue-responsive, {sentence}")
    assert len(words.split()) <= 20


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
    verdicts = {gate["established"]["verdict"] for gate in part["gates"]}
    assert verdicts == {"not evaluable"}


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
    for gate in GATES:
        assert any(line.startswith(gate) for line in lines)
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


def test_a_page_with_more_than_a_thousand_policies_says_what_it_leaves_out():
    """A run of the committed example, six agents and eight rounds, as if it had 1,001 agents."""
    run = study_in(EXAMPLE).runs[0]
    study = Study([run._replace(config=run.config | {"agents": 1001})], True, [])
    trials = reports.document(OUT, study).trials
    assert len(trials.rows) == 6
    assert trials.note.endswith("too many here: round 1 of the main runs only.")


def test_the_committed_page_holds_what_its_analysis_does():
    made = reports.files(OUT, study_in(EXAMPLE))
    summary = (EXAMPLE / "acausal-summary.md").read_text("utf-8")
    assert made["acausal-summary.md"] == summary
    page = Page(made)
    assert len(page.words.split()) <= 600
    assert len(page.text.split()) <= 2500
    known = OUT["established"]["contrasts"]["HP-LA"]
    value, low, high = (100 * known[key] for key in ("value", "low", "high"))
    shown = f"{value:+.1f} ({low:+.1f} to {high:+.1f})"
    assert page.table("contrast")[0][1] == shown
    for row in page.table("contrast, as specified"):
        assert len(row) == 5 and "(" not in row[1]  # p beside no interval


def test_a_policy_is_a_row_with_twelve_of_the_decisions_that_rest_on_it(tmp_path):
    run = study_in(plan(tmp_path, agents=14)).runs[0]
    rows = reports.document(OUT, Study([run], True, [])).trials.rows
    for row, policy in zip(rows, policies(run), strict=True):
        rest = [d for d in decisions(run) if d.policy == policy["policy_id"]]
        assert row.cells[:4] == ["main", run.words, "1", policy["agent"]]
        assert row.cells[-1] == policy["policy_status"]
        (title, text), (_, below) = row.texts
        assert text.text == policy["policy"] and policy["policy_id"] in title
        *shown, more = below.text.splitlines()
        for line, decision in zip(shown, rest[:12], strict=True):
            assert line.startswith(f"{decision.encounter}. with {decision.opponent}: ")
            assert line.endswith(" ".join(decision.text.split()))
        assert more == "… 1 more"


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
