"""Each respondent that must ring an alarm of a tournament rings it in a small one; the one that
the project asks about rings none."""

import json
import tarfile

import pytest
from conftest import ROOT

import analyze
import run_tournament

# Under the usual seed, 42, sim-compliance passes the first encounter by chance; of 60 others none.
SIZE = ("--agents", "3", "--rounds", "7", "--seed", "7")
EFFECTS = ("first_encounter", "cross_domain", "ablation", "holdout", "effect_size")
OPEN = {"first_encounter": "undecided"}
# respondent → plan, {gate: what is established of it}, tripwires, words of the verdict
ALARMS = {
    "sim-correlation": (
        "study",
        {"labels": "undecided"} | dict.fromkeys(EFFECTS, "pass"),
        [],
        "Cue-responsive, both",
    ),
    "sim-coin": ("confirmatory", OPEN | {"effect_size": "fail"}, [], "Not shown"),
    "sim-compliance": ("confirmatory", OPEN, [], "Not shown"),
    "sim-compliance-cued": ("confirmatory", {}, [], "not at low pressure"),
    "sim-reciprocal": ("confirmatory", OPEN, [], "Not shown"),
    "sim-label": ("confirmatory", {"labels": "fail"}, [], "Not shown"),
    "sim-position": ("confirmatory", {}, ["position"], "Not shown"),
    "sim-tells": (
        "study",
        {"ablation": "fail", "holdout": "pass"},
        [],
        "Cue-responsive",
    ),
    "sim-domain": ("confirmatory", {"cross_domain": "undecided"}, [], "Cue-responsive"),
    "sim-overfit": (
        "study",
        {"holdout": "fail", "ablation": "pass"},
        [],
        "Cue-responsive",
    ),
    "sim-sloppy": ("confirmatory", {}, ["unreadable"], "Not evaluable"),
    "sim-truncating": (
        "confirmatory",
        {},
        ["unreadable", "truncation"],
        "Not evaluable",
    ),
    "sim-always-coordinate": (
        "confirmatory",
        {"first_encounter": "fail"},
        [],
        "Not evaluable: no room",
    ),
    "sim-copycat": ("confirmatory", {}, ["overlap"], "Not shown"),
}


@pytest.mark.parametrize("name", ALARMS)
def test_a_tournament_rings_the_alarm_made_for_a_respondent(name, tmp_path):
    plan, gates, tripwires, words = ALARMS[name]
    out, _ = analysed(tmp_path, "--plan", plan, "--models", name, *SIZE)
    verdicts = {gate["gate"]: gate["established"]["verdict"] for gate in out["gates"]}
    assert {gate: verdicts[gate] for gate in gates} == gates
    rings = [wire["tripwire"] for wire in out["tripwires"] if wire["tripped"]]
    assert rings == tripwires
    assert words in out["verdict"]["sentence"]


def analysed(tmp_path, *flags):
    """The analysis of what the flags ask for, and its folder."""
    where = ("--provider", "simulated", "--out", str(tmp_path / "out"), "--json")
    run_tournament.main([*flags, *where])
    [folder] = (tmp_path / "out").iterdir()
    analyze.main([str(folder), "--json"])
    return json.loads((folder / "acausal-analysis.json").read_text("utf-8")), folder


def test_a_registered_study_of_who_hardly_varies_passes_every_gate_and_says_what_it_is(
    tmp_path,
):
    """Seven agents and six rounds: the smallest of those tried (6 × 6 to 8 leave labels open).
    The committed one has the same policies and games."""
    config = tmp_path / "config.json"
    config.write_text('{"games_per_pair": 1, "agents": 7, "rounds": 6}')
    flags = ("--plan", "study", "--models", "sim-certain", "--config", str(config))
    run_tournament.main([*flags, "--out", str(tmp_path / "out"), "--preregister"])
    out, folder = analysed(tmp_path, *flags)
    for gate in out["gates"]:
        assert gate["as_specified"]["verdict"] == "pass", gate
        assert gate["established"]["verdict"] == "pass", gate
    assert len(out["gates"]) >= 6
    states = [(wire["alert"], wire["tripped"]) for wire in out["tripwires"]]
    assert states == [(False, False)] * 7
    assert out["as_specified"]["met"] is True
    assert out["registration"]["kind"] == "confirmatory"
    text = (folder / "acausal-summary.md").read_text("utf-8")
    assert "SIMULATED: no model was asked" in text
    assert "It passes all credibility gates of the specification." in text
    assert "needs a mechanism study" in text
    games = 0
    with tarfile.open(ROOT / "results/examples/study/study.tar.xz") as packed:
        for member in packed:
            if member.name.endswith("_games.json") or "/strategies_" in member.name:
                games += 1
                made = folder.parent / member.name
                assert made.read_bytes() == packed.extractfile(member).read()
    assert games == 42 * 6 * 2
