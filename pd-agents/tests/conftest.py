import shutil
import sys
from functools import partial
from pathlib import Path

import pytest
import yaml

from pdbench import cli
from support import CONFIGS


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A folder with a copy of the shipped configs, as the current folder."""
    shutil.copytree(CONFIGS, tmp_path / "configs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(project, conditions=None, **sections) -> Path:
    """PROJECT/configs/test.yaml: a minimal experiment with the given sections replaced."""
    data = {
        "run": {"run_id": "test", "seed": 7, "replicates": 1},
        "game": {"payoffs": {"CC": [3, 3], "CD": [0, 5], "DC": [5, 0], "DD": [1, 1]}},
        "horizon": {"type": "fixed", "n": 5},
        "conditions": conditions or [pair("tft-alld", "TFT", "ALLD")],
    }
    run = data["run"] | sections.pop("run", {})
    path = project / "configs" / "test.yaml"
    path.write_text(yaml.safe_dump(data | sections | {"run": run}, sort_keys=False))
    return path


@pytest.fixture
def experiment(project):
    """Write configs/test.yaml in the current folder."""
    return partial(written, project)


def pair(name, a, b, **more) -> dict:
    """A condition of two agents: policy names, or override mappings of the default model."""
    return {"name": name, "agent_a": agent(a), "agent_b": agent(b), **more}


def agent(what) -> dict:
    if isinstance(what, str):
        return {"ref": "agents/policies.yaml", "overrides": {"policy": what}}
    return {"ref": "agents/llm_default.yaml", "overrides": what}


@pytest.fixture
def pdbench(monkeypatch, capsys):
    """Run the command in this process: (exit code, stdout, stderr)."""

    def call(*arguments) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["pdbench", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            sys.exit(cli.main())
        out = capsys.readouterr()
        return ended.value.code or 0, out.out, out.err

    return call
