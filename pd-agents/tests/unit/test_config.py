"""What a wrong configuration is told: one line, with file, key and value."""

import pytest
import yaml

from conftest import agent, pair
from pdbench.agents.policy import POLICIES
from pdbench.config.load import load_experiment, snapshot_sha256
from pdbench.config.overrides import flatten, leaves
from pdbench.config.schema import ConditionSettings, LLMSpec
from pdbench.core.types import ConfigError
from support import CONFIGS


def complaint(path) -> str:
    with pytest.raises(ConfigError) as error:
        load_experiment(path)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    "name", ["experiment.yaml", "models.yaml", "local_smollm2.yaml"]
)
def test_shipped_experiments_are_valid(name):
    assert load_experiment(CONFIGS / name).warnings == ()


def test_the_default_experiment_is_a_round_robin_of_the_six_policies(project):
    loaded = load_experiment(project / "configs" / "experiment.yaml")
    assert len(loaded.conditions) == 21  # 6 * 5 / 2 pairs and 6 against themselves
    assert {frozenset(a.label for a in c.agents) for c in loaded.conditions} == {
        frozenset({a, b}) for a in POLICIES for b in POLICIES
    }
    assert not any(c.asks_models for c in loaded.conditions)
    assert str(loaded.run_dir) == "data/runs/default"


def test_a_round_robin_and_conditions_stand_side_by_side(experiment):
    model = {"ref": "agents/llm_default.yaml", "overrides": {"label": "GPT-9 (mini)"}}
    loaded = load_experiment(experiment(round_robin=[agent("TFT"), model]))
    assert [c.name for c in loaded.conditions] == [
        "tft-vs-tft",
        "tft-vs-gpt-9-mini",
        "gpt-9-mini-vs-gpt-9-mini",
        "tft-alld",
    ]


def test_an_agent_twice_in_a_round_robin_needs_another_label(experiment):
    assert (
        "round_robin[1]: is called 'TFT', as round_robin[0] is; override its label"
        in (complaint(experiment(round_robin=[agent("TFT"), agent("TFT")])))
    )


def test_something_has_to_be_played(experiment, project):
    path = experiment()
    path.write_text(path.read_text().partition("conditions:")[0])
    assert "conditions or round_robin: at least one has to say who plays" in complaint(
        path
    )


def test_a_short_name_a_dotted_key_and_a_mapping_override_alike():
    known = leaves(LLMSpec)
    ways = [
        {"persona": "x"},
        {"prompting.persona": "x"},
        {"prompting": {"persona": "x"}},
    ]
    assert [flatten(way, known, "w") for way in ways] == [
        {"prompting.persona": "x"}
    ] * 3


def test_an_override_given_twice_is_refused():
    with pytest.raises(ConfigError, match="a second time"):
        flatten({"persona": "x", "prompting": {"persona": "y"}}, leaves(LLMSpec), "w")


def test_an_ambiguous_short_name_lists_the_choices():
    with pytest.raises(ConfigError, match=r"ambiguous; write one of a\.n, b\.n"):
        flatten({"n": 1}, ["a.n", "b.n"], "w")


def test_condition_overrides_reach_noise_payoffs_and_horizon(experiment):
    overrides = {
        "noise": 0.1,
        "CC": [4, 4],
        "horizon": {"type": "geometric", "stop_prob": 0.5},
    }
    path = experiment([pair("x", "TFT", "ALLD", overrides=overrides)])
    c = load_experiment(path).conditions[0]
    assert (c.game.noise, c.game.payoffs.CC, c.game.payoffs.CD) == (0.1, (4, 4), (0, 5))
    assert (c.horizon.type, c.horizon.stop_prob, c.horizon.n) == (
        "geometric",
        0.5,
        None,
    )
    assert "game.noise" in leaves(ConditionSettings)


def test_references_chain_and_the_outermost_override_wins(experiment, project):
    (project / "configs/agents/generous.yaml").write_text(
        "ref: policies.yaml\noverrides: {policy: GTFT, generous_prob: 0.4}\n"
    )
    a = {"ref": "agents/generous.yaml", "overrides": {"generous_prob": 0.6}}
    c = load_experiment(
        experiment([{"name": "x", "agent_a": a, "agent_b": agent("TFT")}])
    )
    spec = c.conditions[0].agent_a.spec
    assert (spec.policy, spec.generous_prob) == ("GTFT", 0.6)


def test_prompt_paths_are_relative_to_the_file_that_names_them(experiment, project):
    (project / "configs/mine.md").write_text("{payoff_table} {output_instruction}")
    path = experiment([pair("x", {"system_prompt": "mine.md"}, "TFT")])
    assert (
        load_experiment(path)
        .conditions[0]
        .agent_a.prompts.system.startswith("{payoff_table}")
    )


CASES = {
    "missing reference": (
        {"agent_a": {"ref": "agents/nobody.yaml"}},
        "conditions[0].agent_a.ref: file not found: configs/agents/nobody.yaml",
    ),
    "unknown override": (
        {
            "agent_a": {
                "ref": "agents/llm_default.yaml",
                "overrides": {"persna": "grim_trigger"},
            }
        },
        "conditions[0].agent_a.overrides.persna: unknown override; did you mean persona?",
    ),
    "unknown key beside ref": (
        {"agent_a": {"ref": "agents/policies.yaml", "policy": "TFT"}},
        "conditions[0].agent_a.policy: unknown key beside ref; put it under overrides",
    ),
    "unknown policy": (
        {"agent_a": agent("TITFORTAT")},
        "conditions[0].agent_a.overrides.policy: should be 'ALLC', 'ALLD', 'TFT', 'GRIM', 'GTFT'"
        " or 'WSLS', found 'TITFORTAT'",
    ),
    "persona missing": (
        {"agent_a": agent({"persona": "saint"})},
        "conditions[0].agent_a: prompting.persona: no persona 'saint' in configs/prompts/personas;"
        " known: cooperative, exploitative, generous_tft, grim_trigger, tit_for_tat, wsls",
    ),
    "prompt file missing": (
        {"agent_a": agent({"round_prompt": "none.md"})},
        "conditions[0].agent_a: prompting.round_prompt: file not found: configs/none.md",
    ),
    "wrong type of agent": (
        {"agent_a": {"type": "human"}},
        "conditions[0].agent_a.type: should be policy or llm (or give ref: FILE), found 'human'",
    ),
    "probability above one": (
        {
            "agent_a": {
                "ref": "agents/policies.yaml",
                "overrides": {"generous_prob": 1.5},
            }
        },
        "conditions[0].agent_a.overrides.generous_prob: should be at most 1, found 1.5",
    ),
    "script without lines": (
        {"agent_a": agent({"strategy": "script"})},
        "conditions[0].agent_a.overrides.mock: strategy script and a non-empty script go"
        " together",
    ),
    "noise above one": (
        {"overrides": {"noise": 2}},
        "conditions[0].overrides.game.noise: should be at most 1, found 2",
    ),
    "unknown condition override": (
        {"overrides": {"stop_pr": 0.5}},
        "conditions[0].overrides.stop_pr: unknown override; did you mean stop_prob?",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_condition(experiment, case):
    change, message = CASES[case]
    assert complaint(experiment([pair("x", "TFT", "ALLD") | change])) == (
        f"configs/test.yaml: {message}"
    )


SECTIONS = {
    "stop_prob zero": (
        {"horizon": {"type": "geometric", "stop_prob": 0.0}},
        "horizon.stop_prob: should be greater than 0, found 0.0",
    ),
    "stop_prob above one": (
        {"horizon": {"type": "geometric", "stop_prob": 1.5}},
        "horizon.stop_prob: should be at most 1, found 1.5",
    ),
    "stop_prob not a number": (
        {"horizon": {"type": "geometric", "stop_prob": float("nan")}},
        "horizon.stop_prob: should be a finite number, found nan",
    ),
    "n missing": ({"horizon": {"type": "fixed"}}, "horizon: a fixed horizon needs n"),
    "both horizons": (
        {"horizon": {"type": "fixed", "n": 5, "stop_prob": 0.1}},
        "horizon: a fixed horizon has no stop_prob; remove it",
    ),
    "no rounds": (
        {"horizon": {"type": "fixed", "n": 0}},
        "horizon.n: should be at least 1, found 0",
    ),
    "payoffs incomplete": (
        {"game": {"payoffs": {"CC": [3, 3], "CD": [0, 5], "DC": [5, 0]}}},
        "game.payoffs.DD: missing",
    ),
    "payoffs of one": (
        {"game": {"payoffs": {"CC": [3], "CD": [0, 5], "DC": [5, 0], "DD": [1, 1]}}},
        "game.payoffs.CC[1]: missing",
    ),
    "unknown section": ({"hoizon": {}}, "hoizon: unknown key"),
    "seed as text": (
        {"run": {"seed": "7"}},
        "run.seed: should be a whole number, found '7'",
    ),
    "run id with a slash": (
        {"run": {"run_id": "../x"}},
        "run.run_id: should be letters, digits, . _ -, at most 80, found '../x'",
    ),
    "metric unknown": (
        {"metrics": {"names": ["kindness"]}},
        "metrics.names[0]: should be 'cooperation_rate'",
    ),
}


@pytest.mark.parametrize("case", SECTIONS)
def test_a_wrong_section(experiment, case):
    change, message = SECTIONS[case]
    assert complaint(experiment(**change)).startswith(f"configs/test.yaml: {message}")


def test_cyclic_references_are_shown_as_a_chain(experiment, project):
    (project / "configs/agents/a.yaml").write_text("ref: b.yaml")
    (project / "configs/agents/b.yaml").write_text("ref: a.yaml")
    path = experiment(
        [{"name": "x", "agent_a": {"ref": "agents/a.yaml"}, "agent_b": agent("TFT")}]
    )
    assert complaint(path) == (
        "configs/agents/b.yaml: ref: cyclic reference: configs/agents/a.yaml ->"
        " configs/agents/b.yaml -> configs/agents/a.yaml"
    )


@pytest.mark.parametrize(("text", "message"), [
    ("{payoff_table} {output_instruction} {persona} {mood}",
     "configs/prompts/pd_system.md: unknown placeholder {mood}"),
    ("{payoff_table} {output_instruction} {persona",
     "configs/prompts/pd_system.md: malformed placeholder"),
    ("{persona} {output_instruction}",
     "configs/prompts/pd_round.md: placeholder {payoff_table} is missing"),
    ("{payoff_table} {output_instruction}",
     "configs/prompts/pd_round.md: placeholder {persona} is missing"),
])  # fmt: skip
def test_prompts_with_wrong_placeholders(experiment, project, text, message):
    (project / "configs/prompts/pd_system.md").write_text(text)
    assert complaint(experiment([pair("x", {"persona": "wsls"}, "TFT")])).startswith(
        message
    )


def test_a_mistake_in_a_referred_file_is_blamed_on_that_file(experiment, project):
    (project / "configs/agents/policies.yaml").write_text("type: policy\npolicy: 7\n")
    path = experiment(
        [
            {
                "name": "x",
                "agent_a": {"ref": "agents/policies.yaml"},
                "agent_b": {"ref": "agents/policies.yaml"},
            }
        ]
    )
    assert complaint(path).startswith(
        "configs/agents/policies.yaml: policy: should be 'ALLC'"
    )


def test_two_agents_can_not_share_a_name(experiment):
    path = experiment([pair("x", {"strategy": "C"}, {"strategy": "D"})])
    expected = "conditions[0].agent_b: differs from conditions[0].agent_a but is also called 'mock'"
    assert expected in complaint(path)


def test_two_conditions_can_not_share_a_name(experiment):
    path = experiment([pair("x", "TFT", "TFT"), pair("x", "TFT", "ALLD")])
    assert "conditions[1].name: 'x' stands twice" in complaint(path)


@pytest.mark.parametrize(("text", "message"), [
    ("run: {run_id: a\n", "not YAML"),
    ("run: {run_id: a, run_id: b}\n", "key 'run_id' stands twice (line 1)"),
    ("- a\n", "a mapping of keys is expected"),
    ("", "a mapping of keys is expected, found nothing"),
    ("run: &a [*a]\n", "its aliases (*name) unfold to more than"),
    ("\x00", "not YAML"),
])  # fmt: skip
def test_files_that_are_no_experiment(project, text, message):
    path = project / "configs" / "bad.yaml"
    path.write_text(text)
    found = complaint(path)
    assert found.startswith("configs/bad.yaml: ")
    assert message in found


def test_a_file_in_another_encoding(project):
    path = project / "configs" / "bad.yaml"
    path.write_bytes(b"run: \xff\xfe")
    assert complaint(path) == "configs/bad.yaml: not UTF-8 text (byte 5)"


def test_a_missing_file_and_a_folder(project):
    assert "file not found: none.yaml" in complaint(project / "none.yaml")
    assert "configs should be a file of at most 1 MB" in complaint(project / "configs")


def test_a_game_that_is_no_dilemma_is_a_warning(experiment):
    stag_hunt = {"CC": [4, 4], "CD": [1, 3], "DC": [3, 1], "DD": [2, 2]}
    warnings = load_experiment(experiment(game={"payoffs": stag_hunt})).warnings
    assert warnings[0].startswith(
        "configs/test.yaml: conditions[0] (tft-alld): no prisoner's"
    )


def test_the_hash_covers_prompts_but_not_where_files_lie(experiment, project):
    path = experiment([pair("x", {}, "TFT")])
    before = snapshot_sha256(load_experiment(path).snapshot())
    (project / "configs/prompts/copy.md").write_text(
        (project / "configs/prompts/pd_round.md").read_text()
    )
    data = yaml.safe_load(path.read_text())
    data["conditions"][0]["agent_a"]["overrides"] = {"round_prompt": "prompts/copy.md"}
    data["run"]["replicates"] = 9
    path.write_text(yaml.safe_dump(data))
    assert snapshot_sha256(load_experiment(path).snapshot()) == before
    (project / "configs/prompts/copy.md").write_text(
        (project / "configs/prompts/pd_round.md").read_text() + "Think."
    )
    assert snapshot_sha256(load_experiment(path).snapshot()) != before
