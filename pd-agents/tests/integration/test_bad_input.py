"""Bad input ends with one clear line, the right exit code, and nothing half-written."""

import pytest

from conftest import agent, pair

WRONG = {
    "missing reference": [
        {"name": "x", "agent_a": {"ref": "none.yaml"}, "agent_b": agent("TFT")}
    ],
    "unknown override": [pair("x", {"moood": 1}, "TFT")],
    "persona missing": [pair("x", {"persona": "saint"}, "TFT")],
    "no conditions": [{}],
}


@pytest.mark.parametrize("command", ["validate", "run"])
@pytest.mark.parametrize("case", WRONG)
def test_wrong_configurations(experiment, pdbench, project, case, command):
    code, out, err = pdbench(command, experiment(WRONG[case]))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: configs/test.yaml: conditions[0].")
    assert not (project / "data").exists()


@pytest.mark.parametrize("arguments", [
    ["run"], ["run", "x.yaml", "--replicates", "0"], ["run", "x.yaml", "--jobs", "many"],
    ["fly"], ["run", "x.yaml", "--speed", "9"],
])  # fmt: skip
def test_wrong_usage(pdbench, arguments, project):
    assert pdbench(*arguments)[0] == 2


def test_a_matrix_that_is_no_dilemma_is_played_with_a_warning(experiment, pdbench):
    harmony = {"CC": [5, 5], "CD": [3, 3], "DC": [3, 3], "DD": [1, 1]}
    code, _, err = pdbench("run", experiment(game={"payoffs": harmony}))
    assert code == 0
    assert err.startswith(
        "warning: configs/test.yaml: conditions[0] (tft-alld): no prisoner's"
    )


def test_a_key_that_is_not_set(experiment, pdbench, project, monkeypatch):
    monkeypatch.delenv("MY_KEY", raising=False)
    model = {"provider": {"name": "openai", "model": "m", "api_key_env": "MY_KEY"}}
    code, _, err = pdbench("run", experiment([pair("x", model, "TFT")]))
    assert code == 2
    assert err == (
        "error: condition 'x' agent_a: provider.api_key_env: the variable MY_KEY is not"
        " set; openai needs it for model 'm'\n"
    )
    assert not (project / "data").exists()


def test_an_extra_that_is_not_installed(experiment, pdbench, project, monkeypatch):
    monkeypatch.setitem(
        __import__("sys").modules, "litellm", None
    )  # makes the import fail
    code, _, err = pdbench(
        "run",
        experiment([pair("x", {"provider": {"name": "litellm", "model": "m"}}, "TFT")]),
    )
    assert code == 2
    assert "run `uv sync --extra litellm`" in err
    assert not (project / "data").exists()


def test_an_output_folder_that_is_a_file(experiment, pdbench, project):
    (project / "taken").write_text("")
    code, _, err = pdbench("run", experiment(run={"output_dir": "taken"}))
    assert (code, "run.output_dir: taken is a file" in err) == (2, True)


def test_validate_says_what_a_run_would_still_need(experiment, pdbench, monkeypatch):
    monkeypatch.delenv("MY_KEY", raising=False)
    model = {"provider": {"name": "openai", "model": "m", "api_key_env": "MY_KEY"}}
    code, _, err = pdbench("validate", experiment([pair("x", model, "TFT")]))
    assert code == 0
    assert (
        "note: condition 'x' agent_a: provider.api_key_env: the variable MY_KEY" in err
    )


def test_a_disk_that_refuses(experiment, pdbench, monkeypatch):
    from pdbench.storage.rounds import RoundsWriter

    def full(self, lines):
        raise OSError(28, "No space left on device", "data/runs/test/rounds.jsonl")

    monkeypatch.setattr(RoundsWriter, "write", full)
    code, _, err = pdbench("run", experiment())
    assert code == 3
    assert (
        err.splitlines()[-1]
        == "error: data/runs/test/rounds.jsonl: No space left on device"
    )
