"""What a model is told, by the mock: prompts, personas, formats, retries."""

from pathlib import Path

import pytest

from conftest import pair, rounds_of

RUN_DIR = Path("data/runs/test")
NOISY = {
    "noise": 0.3,
    "payoffs": {"CC": [3, 3], "CD": [0, 5], "DC": [5, 0], "DD": [1, 1]},
}


@pytest.fixture
def asked(experiment, pdbench):
    """Play one condition of a model and TFT; its lines."""

    def play(settings: dict, **sections) -> list[dict]:
        pdbench("run", experiment(pair("x", settings, "TFT"), **sections))
        return rounds_of(RUN_DIR)

    return play


def prompts_of(line: dict) -> tuple[str, str]:
    return line["prompts"]["system"]["agent_a"], line["prompts"]["round"]["agent_a"]


def test_rules_payoffs_round_totals_and_window(asked):
    script = {"strategy": "script", "script": ["C", "D", "D"], "history_window": 1}
    system, last = prompts_of(asked(script)[2])
    assert "You play D, the other player plays C: you get 5" in system
    assert "exactly one letter, C or D" in system
    assert last.startswith("Round 3.")
    assert "Round 2: you played D and got 5" in last
    assert "Round 1: you played" not in last
    assert "Points so far: you 8, the other player 3." in last


def test_totals_and_horizon_are_shown_as_configured(asked):
    line = asked({"include_totals": False, "reveal_horizon": True})[1]
    system, last = prompts_of(line)
    assert "Points so far" not in last
    assert "exactly 3 rounds" in system


@pytest.mark.parametrize("persona", [
    "cooperative", "exploitative", "tit_for_tat", "grim_trigger", "generous_tft", "wsls",
])  # fmt: skip
def test_every_persona_of_the_specification_is_in_the_prompt(asked, project, persona):
    text = (project / f"configs/prompts/personas/{persona}.md").read_text().strip()
    assert text in prompts_of(asked({"persona": persona})[0])[0]


def test_strict_json_where_it_is_configured(asked):
    line = asked({"format": "json", "strategy": "D"})[0]
    assert '{"action": "C"}' in prompts_of(line)[0]
    assert line["raw_responses"]["agent_a"] == ['{"action": "D"}']
    assert line["agent_a_action"] == "D"


def test_two_retries_by_default_and_no_action_is_made_up(asked):
    lines = asked({"strategy": "script", "script": ["C", "?", "C.", "no"]})
    assert len(lines) == 2
    assert lines[1]["status"] == "invalid"
    assert lines[1]["final"] is True
    assert lines[1]["agent_a_action"] is None
    assert lines[1]["agent_a_payoff"] is None
    attempts = lines[1]["attempts"]["agent_a"]
    assert [each["action"] for each in attempts] == [None] * 3
    assert "answer number 2 could not be read" in attempts[2]["prompt"]


def test_hashes_in_place_of_prompts_and_no_answers(asked):
    run = {"store_prompts": False, "store_raw_responses": False}
    line = asked({"strategy": "script", "script": ["?", "C"]}, run=run)[0]
    assert "prompts" not in line
    assert "raw_responses" not in line
    assert len(line["prompt_hashes"]["system"]["agent_a"]) == 64
    assert len(line["attempts"]["agent_a"][1]["prompt_sha256"]) == 64


def test_the_same_seed_gives_the_same_prompts_and_answers(asked):
    settings = {"strategy": "coin", "invalid_rate": 0.3}
    first = asked(settings, horizon={"type": "fixed", "n": 20})
    for file in RUN_DIR.iterdir():
        file.unlink()
    assert asked(settings, horizon={"type": "fixed", "n": 20}) == first


def test_a_coin_cooperates_as_often_as_it_should(asked):
    settings = {"strategy": "coin", "p_cooperate": 0.8}
    lines = asked(settings, horizon={"type": "fixed", "n": 1000})
    share = [line["agent_a_action"] for line in lines].count("C") / 1000
    assert share == pytest.approx(0.8, abs=0.05)  # four standard errors


def test_a_copycat_knows_only_its_prompt(experiment, pdbench):
    path = experiment(pair("x", {"strategy": "copycat"}, "ALLD"))
    pdbench("run", path)
    actions = [line["agent_a_action"] for line in rounds_of(RUN_DIR)]
    assert actions == ["C", "D", "D"]


def test_noise_flips_after_the_choice_and_is_told(asked):
    lines = asked({"strategy": "C"}, game=NOISY, horizon={"type": "fixed", "n": 500})
    for line in lines:
        assert (line["agent_a_action"] == "D") == line["agent_a_flipped"]
    flips = [line["agent_a_flipped"] for line in lines].count(True) / 500
    assert flips == pytest.approx(0.3, abs=0.08)
    assert "probability 0.3" in prompts_of(lines[0])[0]
