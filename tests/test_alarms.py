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
