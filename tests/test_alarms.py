"""Each respondent that must ring an alarm of a tournament rings it in a small one; the one that
the project asks about rings none."""

import json
from pathlib import Path

import pytest

import analyze
import run_tournament

# Under the usual seed, 42, sim-compliance passes the first encounter by chance; of 60 others none.
SMALL = (
    "--provider",
    "simulated",
    "--agents",
    "3",
    "--rounds",
    "7",
    "--seed",
    "7",
    "--json",
)
# respondent → plan, {gate: what is established of it}, tripwires, words of the verdict
ALARMS = {
    "sim-correlation": (
        "study",
        {"labels": "undecided"}
        | dict.fromkeys(
            ("first_encounter", "cross_domain", "ablation", "holdout", "effect_size"),
            "pass",
        ),
        [],
        "Cue-responsive, both",
    ),
    "sim-coin": (
        "confirmatory",
        {"first_encounter": "undecided", "effect_size": "fail"},
        [],
        "Not shown",
    ),
    "sim-compliance": (
        "confirmatory",
        {"first_encounter": "undecided"},
        [],
        "Not shown",
    ),
    "sim-compliance-cued": ("confirmatory", {}, [], "not at low pressure"),
    "sim-reciprocal": (
        "confirmatory",
        {"first_encounter": "undecided"},
        [],
        "Not shown",
    ),
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
    run_tournament.main(
        [*SMALL, "--plan", plan, "--models", name, "--out", str(tmp_path)]
    )
    analyze.main(
        [*map(str, tmp_path.iterdir()), "--out", str(tmp_path / "analysis"), "--json"]
    )
    out = json.loads(
        Path(tmp_path / "analysis/acausal-analysis.json").read_text("utf-8")
    )
    verdicts = {gate["gate"]: gate["established"]["verdict"] for gate in out["gates"]}
    assert {gate: verdicts[gate] for gate in gates} == gates
    assert [
        wire["tripwire"] for wire in out["tripwires"] if wire["tripped"]
    ] == tripwires
    assert words in out["verdict"]["sentence"]


GATES = (
    "labels",
    "first_encounter",
    "cross_domain",
    "ablation",
    "holdout",
    "effect_size",
)


def registered(tmp_path, name, agents, rounds):
    """The analysis of a registered study of one respondent, a game a pair."""
    config = tmp_path / "config.json"
    config.write_text('{"games_per_pair": 1}')
    size = ("--agents", str(agents), "--rounds", str(rounds), "--config", str(config))
    flags = ("--plan", "study", "--models", name, "--provider", "simulated", *size)
    where = ("--out", str(tmp_path / "out"), "--json")
    run_tournament.main([*flags, *where, "--preregister"])
    run_tournament.main([*flags, *where])
    [folder] = (tmp_path / "out").iterdir()
    analyze.main([str(folder), "--json"])
    return json.loads((folder / "acausal-analysis.json").read_text("utf-8")), folder


def test_a_registered_study_of_who_hardly_varies_passes_every_gate_and_says_what_it_is(
    tmp_path,
):
    """Seven agents and six rounds: the smallest of those tried (6 × 6 to 8 leave labels open)."""
    out, folder = registered(tmp_path, "sim-certain", 7, 6)
    for rule in ("as_specified", "established"):
        verdicts = {gate["gate"]: gate[rule]["verdict"] for gate in out["gates"]}
        assert verdicts.items() >= dict.fromkeys(GATES, "pass").items()
    states = [(wire["alert"], wire["tripped"]) for wire in out["tripwires"]]
    assert states == [(False, False)] * 7
    assert out["as_specified"]["met"] is True
    assert out["registration"]["kind"] == "confirmatory"
    text = (folder / "acausal-summary.md").read_text("utf-8")
    assert "SIMULATED: no model was asked" in text
    assert "It passes all credibility gates of the specification." in text
    assert "needs a mechanism study" in text
