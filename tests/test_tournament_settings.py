"""The configuration of the tournament: models, output limits, what a file may say."""

import gzip
import json

import pytest
from conftest import run_in

from cirrus.ask.design import make_agents, role_of, run_name
from run_tournament import DEFAULT, load, model_settings, run_config, runs_of_plan


def settings(**models):
    base = load(DEFAULT)
    return base | {"models": base["models"] | models}


def voice(name, max_out=96, configured=None, effort=None):
    return {"name": name, "max_out": max_out, "max_out_configured": configured or max_out,
            "effort": effort}


GEMINI = voice("google/gemini-2.5-flash", 384)


@pytest.mark.parametrize(("decision", "names", "strategies", "decisions"), [
    # a limit that can't hold the form is raised, and both are kept; one that can is taken
    ({"name": "x", "max_out": 8}, None, [GEMINI], [voice("x", 96, 8)]),
    ({"name": "x", "max_out": 40}, None, [GEMINI], [voice("x", 40)]),
    # lists, with limits and efforts of their own
    ([{"name": "a", "max_out": 128, "reasoning_effort": "low"}, {"name": "b"}], None, [GEMINI],
     [voice("a", 128, effort="low"), voice("b")]),
    # the flag names decision models; of simulated respondents, who writes policies too
    (None, ["x/one", "x/two"], [GEMINI], [voice("x/one"), voice("x/two")]),
    ("simulated", ["sim-coin", "sim-adder"], [voice("sim-coin", 384), voice("sim-adder", 384)],
     [voice("sim-coin"), voice("sim-adder")])])
def test_who_writes_policies_and_who_decides_with_which_limits(
        decision, names, strategies, decisions):
    simulated = decision == "simulated"
    given, warnings = model_settings(settings(**{} if simulated or decision is None else {
        "decision": decision}), simulated, names)
    assert given == {"strategy": strategies, "decision": decisions}
    assert ["max_out: 8 tokens are too small" in line for line in warnings] == [
        True] * (decisions[0]["max_out_configured"] == 8)


def test_the_effort_is_a_factor_where_it_is_toggled_and_the_study_s_where_it_is_a_flag():
    base = load(DEFAULT)
    given, _ = model_settings(base | {"effort": "high"}, False, None)
    assert {v["effort"] for listed in given.values() for v in listed} == {"high"}
    config = run_config(base | {"toggles": base["toggles"] | {"effort": "low"}}, 42, given)
    assert role_of(config) == "effort" and "effort-low" in run_name(config)
    assert {agent.decision.effort for agent in make_agents(config | {"agents": 2})} == {"low"}
    assert role_of(run_config(base, 42, given)) == "main"


def test_a_plan_s_runs_may_differ_in_effort_alone(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"runs": [{}, {"toggles": {"effort": "low"}}]}))
    models, _ = model_settings(load(DEFAULT), True, None)
    pools = {(name, pool): 10 for name in ("cvd", "hospital") for pool in ("main", "holdout")}
    runs = runs_of_plan(str(path), load(DEFAULT), models, [42], pools)
    assert [run.config.get("effort") for run in runs] == [None, "low"]


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
