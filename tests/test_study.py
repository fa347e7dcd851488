"""The analysis of small studies on disk: what models share, what an unfinished study may show, what
stays out of the primary data, and which files are written."""

import json
import shutil
from pathlib import Path
from statistics import fmean

import pytest
from conftest import edit
from study_rows import plan

MODELS = ("sim-correlation", "sim-coin")
GATES = ("Label inv", "First enc", "Cross-dom", "Prompt-tell", "Holdout", "Effect")
SEEDED = {"PYTHONHASHSEED": "7"}
NEITHER = "cvd-S.low-C.absent-H.low-s42"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A confirmatory plan of two respondents in alternation."""
    return plan(tmp_path_factory.mktemp("study"), *MODELS, agents=3, rounds=6)


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / made.name)


@pytest.fixture
def analysed(cli, tmp_path):
    """analysed(folders…) → what acausal-analysis.json then says."""

    def analyse(*folders):
        done = cli("analyze.py", *folders, "--out", tmp_path / "analysis")
        unfinished = "runs are unfinished" in done.stderr
        assert done.returncode == (3 if unfinished else 0), done.stderr
        return json.loads((tmp_path / "analysis/acausal-analysis.json").read_bytes())

    return analyse


# --- what is shown -----------------------------------------------------------------------------


def test_models_share_five_percent_and_the_whole_has_all_of_it(analysed, folder):
    out = analysed(folder)
    parts = out["established"]["by_model"]
    assert set(out["verdict"]["models"]) == set(parts) == set(MODELS)
    for name in ("HP-LA", "HP-LP", "SxC", "H"):
        for part in parts.values():
            assert part["contrasts"][name]["level"] == 1 - 0.05 / 2
        assert out["established"]["contrasts"][name]["level"] == 0.95


@pytest.mark.parametrize("left", [1, 4])
def test_an_unfinished_study_shows_counts_and_no_estimate(analysed, folder, left):
    cells = analysed(folder)["established"]["cells"]
    for run in sorted(folder.glob("*/"))[:left]:
        edit(run, lambda manifest: manifest.update(state="incomplete"))
    part = analysed(folder)
    known = part["established"]
    assert (known["contrasts"], known["by_round"]) == ({}, {})
    assert part["as_specified"]["design"]["value"] is None
    for name, cell in cells.items():
        shown = known["cells"][name]
        assert (shown["k"], shown["n"], shown["mean"]) == (cell["k"], cell["n"], None)
    for gate in part["gates"]:
        for rule in ("as_specified", "established"):
            assert gate[rule]["verdict"] == "not evaluable"
    assert (part["verdict"]["word"], part["claims"]["may"]) == ("not evaluable", [])
    assert f"{left} of 10 runs unfinished" in part["verdict"]["sentence"]


def test_an_empty_cell_leaves_the_other_level_of_h(analysed, folder):
    part = analysed(*[run for run in folder.glob("*/") if run.name != NEITHER])
    assert part["as_specified"]["design"]["units"] == 3
    assert part["established"]["by_H"]["low"]["HP-LA"]["value"] is None
    assert part["as_specified"]["secondary"]["H"]["value"] is None


REFUSING = """
def refusing(request, rng):
    _, asked, form = request.user.partition("Decision: [")
    if not asked:
        return "I'm sorry, but I can't help with that.", "stop"
    return "Decision: " + form.partition("|")[0], "stop"

RESPONDENTS = {"refusing": refusing}
"""


def test_decisions_under_a_policy_that_was_refused_are_missing(analysed, tmp_path):
    (tmp_path / "mine.py").write_text(REFUSING)
    name = f"{tmp_path / 'mine.py'}:refusing"
    part = analysed(plan(tmp_path, name, agents=2))
    for cell in part["established"]["cells"].values():
        assert (cell["n"], cell["missing"]) == (0, 4)
    [tripped] = [wire for wire in part["tripwires"] if wire["tripped"]]
    assert tripped["tripwire"] == "policies"
    assert part["verdict"]["word"] == "not evaluable"


def test_baselines_and_ablation_stay_out_of_the_primary_data(analysed, tmp_path):
    part = analysed(plan(tmp_path, "sim-coin", agents=2, baselines=["AlwaysC"]))
    assert part["design"]["decisions"] == 8 * 2  # of 2 agents with each other, 8 cells
    part = analysed(plan(tmp_path, name="ablation", agents=2))
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
    cli, shell, folder, tmp_path
):
    done = cli("analyze.py", folder)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert lines[1].startswith("Primary endpoint, as specified: ")
    for gate in GATES:
        assert any(line.startswith(gate) for line in lines)
    elsewhere = tmp_path / "again"
    flags = ("--out", elsewhere, "--json")
    again = json.loads(shell("analyze.py", folder, *flags, env=SEEDED).stdout)
    assert (again["simulated"], again["written"]) == (True, "again")
    for name in FILES:
        data = (folder / name).read_bytes()
        assert (elsewhere / name).read_bytes() == data
        assert str(tmp_path).encode() not in data
        assert b"SIMULATED" in data or name.startswith("exports")
    assert cli("analyze.py", "--verify", folder).returncode == 0


@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_text("{")])
def test_a_run_is_not_analysed_with_a_file_that_is_gone_or_was_changed(
    cli, folder, damage
):
    damage(folder / NEITHER / "round_2_games.json")
    done = cli("analyze.py", folder)
    assert done.returncode == 2
    assert "round_2_games.json: not what the run's manifest.json" in done.stderr


# --- whose loss it is -----------------------------------------------------------------------------

MUTE = """
def mute(request, rng):
    return "I'm sorry, I can't help with that."

RESPONDENTS = {"mute": mute}
"""


def test_a_policy_that_is_refused_is_said_of_the_model_that_refused(cli, tmp_path):
    (tmp_path / "mutes.py").write_text(MUTE)
    run = ("--models", "sim-coin", "--strategy-models", "mutes.py:mute", "--agents", 3)
    cli("run_tournament.py", *run, "--rounds", 1, "--out", "o")
    [folder] = (tmp_path / "o").iterdir()
    done = cli("analyze.py", folder)
    said = (
        "sim-coin: 18 of 18 decisions are missing; no policy by mutes.py:mute (refused)"
    )
    assert said in " ".join(done.stdout.split())


# --- history off -------------------------------------------------------------------------------

SIZE = {"agents": 3, "rounds": 6, "games_per_pair": 2}


def cooperation(folder):
    """{history mode: {(bulletin, H): [1 where an act is cooperative]}} of cvd's cell HA."""
    found = {"standard": {}, "off": {}}
    for path in folder.glob("cvd-S.high-C.absent-*/round_*_games.json"):
        data = json.loads(path.read_bytes())
        place = data["bulletin"], data["toggles"]["H"]
        acts = found[data["history_mode"]].setdefault(place, [])
        for game in data["games"]:
            read = filter(None, game["decision"].values())
            acts += [act == "COORDINATE" for act in read]
    return found


def test_runs_without_history_can_be_read_alone_and_all_their_encounters_are_first(
    analysed, tmp_path
):
    """Eight cells, six rounds, three pairs, two encounters, two sides: 288 decisions a round."""
    out = analysed(plan(tmp_path, name="history-off", **SIZE))
    cells = out["established"]["cells"].values()
    assert sum(cell["n"] + cell["missing"] for cell in cells) == 8 * 6 * 3 * 2 * 2
    assert out["limits"] == [] and out["design"]["decisions"] == 8 * 3 * 2 * 2
    verdict = {gate["gate"]: gate["established"]["verdict"] for gate in out["gates"]}
    assert verdict["first_encounter"] == "pass"
    assert out["history"] == {}
    text = (tmp_path / "analysis/acausal-summary.md").read_text("utf-8")
    assert "History is off, so every encounter counts as a first one." in text
    assert "a pair's meetings of the round, none with history." in text


def test_with_main_runs_each_cell_says_what_history_changes(analysed, tmp_path):
    """Shares by bulletin and level of H, on − off, averaged over both, by hand."""
    on, off = plan(tmp_path, **SIZE), plan(tmp_path, name="history-off", **SIZE)
    out = analysed(on, off)
    with_history = cooperation(on)["standard"]
    without = cooperation(off)["off"]
    apart = [fmean(acts) - fmean(without[at]) for at, acts in with_history.items()]
    assert set(out["history"]) == {"HP", "HA", "LP", "LA"}
    entry = out["history"]["HA"]
    assert (entry["value"], entry["units"]) == (pytest.approx(fmean(apart)), 6)
    assert out["design"]["decisions"] == 8 * 3 * 2
