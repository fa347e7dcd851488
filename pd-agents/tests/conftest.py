import shutil
import sys
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


@pytest.fixture
def experiment(project):
    """Write configs/test.yaml: a minimal experiment with the given sections replaced."""

    def write(conditions=None, **sections) -> Path:
        data = {
            "run": {"run_id": "test", "seed": 7, "replicates": 1},
            "game": {"payoffs": {"CC": [3, 3], "CD": [0, 5], "DC": [5, 0], "DD": [1, 1]}},
            "horizon": {"type": "fixed", "n": 5},
            "conditions": conditions or [pair("tft-alld", "TFT", "ALLD")],
        }
        for name, section in sections.items():
            old = data.get(name)
            merge = isinstance(old, dict) and name == "run"
            data[name] = old | section if merge else section
        path = project / "configs" / "test.yaml"
        path.write_text(yaml.safe_dump(data, sort_keys=False))
        return path

    return write


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
