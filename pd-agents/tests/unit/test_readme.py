"""The README's examples work as printed."""

import re

from conftest import agent
from pdbench.config.load import load_experiment
from support import CONFIGS

BLOCKS = re.findall(
    r"```yaml\n(.*?)```", (CONFIGS.parent / "README.md").read_text(), re.DOTALL
)


def test_the_example_experiment(project):
    path = project / "configs" / "readme.yaml"
    path.write_text(BLOCKS[0])
    loaded = load_experiment(path)
    assert [c.name for c in loaded.conditions] == [
        "tft-vs-tft",
        "tft-vs-mock",
        "mock-vs-mock",
        "grim-persona-vs-gtft",
    ]
    assert loaded.conditions[-1].agent_a.label == "mock (grim_trigger)"
    assert loaded.conditions[-1].game.noise == 0.05


def test_the_example_model(experiment, project):
    (project / "configs/agents/mine.yaml").write_text(BLOCKS[1])
    path = experiment(
        [{"name": "x", "agent_a": {"ref": "agents/mine.yaml"}, "agent_b": agent("TFT")}]
    )
    spec = load_experiment(path).conditions[0].agent_a.spec
    assert (spec.provider.name, spec.prompting.persona) == ("litellm", "cooperative")
