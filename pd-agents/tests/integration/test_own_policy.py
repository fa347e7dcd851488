"""A policy of one's own, by the README's words alone."""

import re
from pathlib import Path

import pytest

from conftest import CONFIGS, pair, rounds_of

README = CONFIGS.parent / "README.md"


def own(code: str, experiment, opponent="ALLD", name="my_policies.py:Mine", n=4):
    path = experiment(pair("x", name, opponent), horizon={"type": "fixed", "n": n})
    (path.parent / "my_policies.py").write_text(code)
    return path


def test_the_readmes_example_plays(experiment, pdbench):
    text = README.read_text()
    code = re.search(r"```python\n(.*?)```", text, re.S)[1]
    name = re.search(r"policy: (my_policies\.py:\w+)", text)[1]
    assert len(code.splitlines()) <= 10
    path = own(code, experiment, name=name)
    assert pdbench("validate", path)[0] == 0
    assert pdbench("run", path)[0] == 0
    actions = [r["agent_a_action"] for r in rounds_of(Path("data/runs/test"))]
    assert actions == ["C", "C", "D", "D"]  # it forgives a single defection


RANDOM = """
import random

class Mine:
    def reset(self, seed=None):
        self.draw = random.Random(seed)

    def act(self, obs):
        return self.draw.choice("CD")
"""


def test_a_random_one_is_played_from_its_seed(experiment, pdbench):
    path = own(RANDOM, experiment, n=30)
    pdbench("run", path)
    run_dir = Path("data/runs/test")
    first = rounds_of(run_dir)
    lines = (run_dir / "rounds.jsonl").read_text().splitlines(keepends=True)
    (run_dir / "rounds.jsonl").write_text("".join(lines[:11]))
    assert pdbench("run", path)[0] == 0
    assert rounds_of(run_dir) == first


WRONG = [
    ("class Other: pass", "no class Mine"),
    ("def broken(:", "line 1"),
    ("class Mine:\n    pass", "act"),
    ("class Mine:\n    def act(self, obs):\n        return 'x'", "'x'"),
    ("class Mine:\n    def act(self, obs):\n        return 1 / 0", "division by zero"),
    ("import random\nclass Mine:\n    def act(self, obs):\n        return random.choice('CD')",
     "seed"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "why"), WRONG)
def test_validate_says_what_is_wrong_with_it(experiment, pdbench, code, why):
    code, _, err = pdbench("validate", own(code, experiment))
    assert code == 2
    assert len(err.splitlines()) == 1
    assert "my_policies.py" in err
    assert why in err


def test_a_file_that_is_not_there(experiment, pdbench):
    path = experiment(pair("x", "elsewhere.py:Mine", "ALLD"))
    code, _, err = pdbench("validate", path)
    assert code == 2
    assert "configs/elsewhere.py" in err


def test_changed_code_is_another_configuration(experiment, pdbench):
    pdbench("run", own(RANDOM, experiment))
    code, _, err = pdbench("run", own(RANDOM + "# changed\n", experiment))
    assert code == 2
    assert "conditions.x.agent_a" in err
