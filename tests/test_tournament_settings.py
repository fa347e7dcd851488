"""The configuration of the tournament: models, output limits, what a file may say."""

import gzip
import json

import pytest
from conftest import run_in

from cirrus.ask.design import (
    DEFAULT,
    load,
    make_agents,
    role_of,
    run_config,
    run_name,
    runs_of_plan,
    voices,
)


def settings(**models):
    base = load(DEFAULT)
    return base | {"models": base["models"] | models}


def test_an_output_limit_that_cannot_hold_the_form_is_raised_and_both_are_kept():
    small = settings(decision={"name": "openai/gpt-5-nano", "max_out": 8})
    given, warnings = voices(small, simulated=False, names=None)
    assert given["decision"] == [{"name": "openai/gpt-5-nano", "max_out": 96,
                                  "max_out_configured": 8, "effort": None}]
    assert len(warnings) == 1 and "max_out: 8 tokens are too small" in warnings[0]


def test_models_may_be_lists_with_limits_and_efforts_of_their_own():
    given, warnings = voices(settings(decision=[
        {"name": "a", "max_out": 40, "reasoning_effort": "low"}, {"name": "b"}]), False, None)
    assert [(v["name"], v["max_out"], v["effort"]) for v in given["decision"]] == [
        ("a", 40, "low"), ("b", 96, None)]
    assert warnings == []


@pytest.mark.parametrize("simulated, writers", [
    (False, ["google/gemini-2.5-flash"]), (True, ["coin", "superrational"])])
def test_the_models_flag_sets_decision_models_and_a_respondent_writes_its_policies_too(
        simulated, writers):
    given, _ = voices(settings(), simulated, ["coin", "superrational"])
    assert [v["name"] for v in given["decision"]] == ["coin", "superrational"]
    assert [v["name"] for v in given["strategy"]] == writers


def test_the_effort_is_a_factor_where_it_is_toggled_and_the_study_s_where_it_is_a_flag():
    base = load(DEFAULT)
    given, _ = voices(base | {"effort": "high"}, False, None)
    assert {v["effort"] for listed in given.values() for v in listed} == {"high"}
    config = run_config(base | {"toggles": base["toggles"] | {"effort": "low"}}, 42, given)
    assert role_of(config) == "effort" and "effort-low" in run_name(config)
    assert {agent.decision.effort for agent in make_agents(config | {"agents": 2})} == {"low"}
    assert role_of(run_config(base, 42, given)) == "main"


def test_a_plan_s_runs_may_differ_in_effort_alone(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"runs": [{}, {"toggles": {"effort": "low"}}]}))
    models, _ = voices(load(DEFAULT), True, None)
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
