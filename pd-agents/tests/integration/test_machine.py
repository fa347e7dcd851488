"""`--json`: one object on stdout, whatever happens; the help names every option."""

import json
import re
import subprocess
import sys

import pytest

from conftest import pair


@pytest.fixture
def said(pdbench):
    """The object on the only line of stdout, with the code that the command left with."""

    def run(*arguments):
        code, out, err = pdbench(*arguments, "--json")
        [line] = out.splitlines()
        facts = json.loads(line)
        assert facts["exit_code"] == code, err
        assert (facts["error"] is None) == (code == 0)
        assert facts["error"] is None or f"error: {facts['error']}\n" in err
        return facts

    return run


def test_the_commands_of_a_run_say_what_they_did(project, said):
    valid = said("validate", "configs/experiment.yaml")
    assert (valid["run_id"], len(valid["conditions"]), valid["simulated"]) == (
        "default",
        21,
        False,
    )
    config = ("configs/experiment.yaml", "--replicates", "1")
    dry = said("run", *config, "--dry-run")
    assert (dry["matches"], dry["rounds"], dry["model_calls"]) == (21, 21 * 100, [0, 0])
    assert not (project / "data").exists()
    run = said("run", *config)
    assert (run["status"], run["played"], run["rounds"]) == ("complete", 21, 2100)
    assert said("run", *config)["played"] == 0
    assert (
        said("aggregate", run["run_dir"])["rows"] == 21 * 2
    )  # a match and its condition
    report = said("report", run["run_dir"])
    assert report["files"] == [
        f"{run['run_dir']}/report.{ending}" for ending in ("html", "md")
    ]
    assert f"**{report['answer']}**" in (project / report["files"][1]).read_text(
        "utf-8"
    )


def test_a_mock_s_run_is_called_simulated(project, said):
    run = said("run", "configs/models.yaml", "--replicates", "1")
    assert run["simulated"] is True
    assert "cooperative-vs-tft" in run["simulated_conditions"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("run", "none.yaml"), "none.yaml"),
        (("validate",), "CONFIG_PATH is missing"),
        (
            ("run", "x.yaml", "--jobs", "many"),
            "--jobs should be a whole number from 1 to 64",
        ),
        (("fly",), "there is no command 'fly'; known: validate"),
        (("run", "x.yaml", "--speed", "9"), "there is no option --speed"),
        (("validate", "a", "b"), "more arguments than the command takes"),
        (("ui", "x"), "--json"),
    ],
)
def test_a_refusal_is_an_object(project, said, arguments, word):
    facts = said(*arguments)
    assert set(facts) == {"exit_code", "error"}
    assert facts["exit_code"] == 2
    assert word in facts["error"]


def test_a_run_that_ended_incomplete_says_both(experiment, said):
    never = {"strategy": "script", "script": ["C", "hm", "hm", "hm"]}
    facts = said("run", experiment([pair("never", "TFT", never)]))
    assert (facts["exit_code"], facts["matches"]["incomplete"]) == (3, 1)
    assert "gave no C or D" in facts["error"]


def test_a_folder_that_is_no_run_is_an_object(project, said):
    assert said("report", "none")["exit_code"] == 3


def test_a_fault_of_ours_is_an_object(project, said, monkeypatch):
    monkeypatch.setattr("pdbench.summary.experiment_text", lambda experiment: 1 / 0)
    facts = said("validate", "configs/experiment.yaml")
    assert facts == {
        "exit_code": 1,
        "error": "unexpected ZeroDivisionError: division by zero",
    }


def test_an_interruption_is_an_object(project, said, monkeypatch):
    def interrupted(run_dir):
        raise KeyboardInterrupt

    monkeypatch.setattr("pdbench.report.write.write_report", interrupted)
    assert said("report", "x")["exit_code"] == 130


def test_people_read_text_and_helps(project, pdbench):
    assert pdbench("validate", "configs/experiment.yaml")[1].startswith(
        "valid: run default"
    )
    code, out, _ = pdbench("run", "--json", "--help")
    assert (code, out[:7]) == (0, "Usage: ")
    code, out, err = pdbench()
    assert (code, out) == (2, "")
    assert "Commands:" in err


def test_a_reader_who_left_is_no_error(project):
    done = subprocess.run(
        f"{sys.executable} -m pdbench.cli validate configs/experiment.yaml | :",
        shell=True,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("command", "flags"),
    [
        ("validate", {"--json"}),
        ("run", {"--replicates", "--dry-run", "--jobs", "--json"}),
        ("aggregate", {"--json"}),
        ("report", {"--json"}),
        ("ui", {"--port", "--print"}),
    ],
)
def test_a_shell_finds_every_option_in_the_help(pdbench, command, flags):
    lines = (line.strip() for line in pdbench(command, "--help")[1].splitlines())
    found = {
        re.match(r"(?:-\w, )?(--[\w-]+)", line)[1]
        for line in lines
        if line.startswith("-")
    }
    assert found == flags | {"--help"}
