"""The configuration of the tournament: models, output limits, what a file may say."""

import gzip
import json
from contextlib import nullcontext

import pytest
from conftest import run_in
from tournaments import configured, settings

from cirrus.ask.design import make_agents, marks_of, part_of, role_of, run_name
from common import UsageError
from run_tournament import model_settings, run_config


def voice(name, max_out=96, configured=None, effort=None):
    return {"name": name, "max_out": max_out, "max_out_configured": configured or max_out,
            "effort": effort}


GEMINI = voice("google/gemini-2.5-flash", 384)


@pytest.mark.parametrize(("key", "good", "bad"), [
    ("agents", [2, 1000], [1, 1001]), ("rounds", [1, 1000], [0, 1001]),
    ("games_per_pair", [1, 100], [0, 101])])
def test_sizes_on_either_side_of_what_a_file_may_say(tmp_path, key, good, bad):
    path = tmp_path / "c.json"
    for value in good + bad:
        path.write_text(json.dumps({key: value}))
        with pytest.raises(UsageError, match=key) if value in bad else nullcontext():
            assert settings(path)[key] == value


@pytest.mark.parametrize(("models", "names", "strategies", "decisions"), [
    # a limit that can't hold the form is raised, and both are kept; one that can is taken
    ({"strategy": {"name": "x", "max_out": 63}, "decision": {"name": "x", "max_out": 31}}, None,
     [voice("x", 384, 63)], [voice("x", 96, 31)]),
    ({"strategy": {"name": "x", "max_out": 64}, "decision": {"name": "x", "max_out": 32}}, None,
     [voice("x", 64)], [voice("x", 32)]),
    # lists, with limits and efforts of their own
    ({"decision": [{"name": "a", "max_out": 128, "reasoning_effort": "low"}, {"name": "b"}]}, None,
     [GEMINI], [voice("a", 128, effort="low"), voice("b")]),
    # the flag names decision models; of simulated respondents, who writes policies too
    ({}, ["x/one", "x/two"], [GEMINI], [voice("x/one"), voice("x/two")]),
    ({}, ["sim-coin", "sim-adder"], [voice("sim-coin", 384), voice("sim-adder", 384)],
     [voice("sim-coin"), voice("sim-adder")])])
def test_who_writes_policies_and_who_decides_with_which_limits(
        models, names, strategies, decisions):
    base = settings()
    base["models"] |= models
    given, warnings = model_settings(base, strategies[0]["name"] == "sim-coin", names)
    assert given == {"strategy": strategies, "decision": decisions}
    assert [line.partition(" tokens are too small")[0] for line in warnings] == [
        f"models.{stage}.max_out: {first['max_out_configured']}" for stage, (first, *_) in
        given.items() if first["max_out"] != first["max_out_configured"]]


def test_the_effort_is_a_factor_where_it_is_toggled_and_the_study_s_where_it_is_a_flag():
    base = settings()
    given, _ = model_settings(base | {"effort": "high"}, False, None)
    assert {v["effort"] for listed in given.values() for v in listed} == {"high"}
    config = run_config(base | {"toggles": base["toggles"] | {"effort": "low"}}, 42, given)
    assert role_of(config) == "effort" and "effort-low" in run_name(config)
    assert {agent.decision.effort for agent in make_agents(config | {"agents": 2})} == {"low"}
    assert role_of(run_config(base, 42, given)) == "main"


def test_thoughts_stand_beside_policies_and_decisions_and_are_read_for_markers(
        live, double, tmp_path):
    message = {"role": "assistant", "content": "One.\nTwo.\nThree.", "reasoning": "Weigh payoffs."}
    double.script(serves={"choices": [{"index": 0, "finish_reason": "stop", "message": message}]})
    assert live(double, "--agents", 2, "--rounds", 1, "--out", "o").returncode == 0
    folder = run_in(tmp_path / "o")
    policies = json.loads((folder / "strategies_r1.json").read_text())
    games = json.loads((folder / "round_1_games.json").read_text())["games"]
    assert {policy["reasoning"] for policy in policies} == {"Weigh payoffs."}
    assert all(policy["reasoning_markers"].keys() == policy["markers"].keys()
               for policy in policies)
    assert {answer["reasoning"] for game in games for answer in game["answers"].values()} == {
        "Weigh payoffs."}
    transcript = gzip.decompress((folder / policies[0]["transcript_path_gz"]).read_bytes())
    assert transcript.count(b"--- reasoning\nWeigh payoffs.") == 4  # a policy, three decisions


# --- what a run is for: its role, the mark in its name, its part of the analysis ---

@pytest.mark.parametrize(("own", "role", "marks"), [
    ({"S": "low", "C": "absent", "H": "omit"}, "main", []),  # the cell is no aside
    ({"tells": "ablated"}, "ablated", ["ablated"]),
    ({"tells": "reworded"}, "reworded", ["reworded"]),
    ({"effort": "high"}, "effort", ["effort-high"]),
    ({"variants": "holdout"}, "holdout", ["holdout"]),
    ({"history_mode": "off"}, "history-off", ["history-off"]),
    ({"tells": "ablated", "history_mode": "off"}, "other", ["ablated", "history-off"]),
])
def test_a_run_is_for_the_one_thing_it_does_otherwise(own, role, marks):
    config = configured(**own)
    assert (role_of(config), marks_of(config)) == (role, marks)


def test_another_domain_never_enters_the_primary_data():
    assert [part_of(role, "cvd") for role in ("main", "holdout", "other")] == [
        "main", "holdout", None]
    assert [part_of(role, "hospital") for role in ("main", "ablated")] == ["hospital", None]
