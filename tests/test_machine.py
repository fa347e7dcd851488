"""--json for machines and --help for people and shells, the same in every script."""

import json
import re
import shutil
import subprocess
import sys
from importlib import import_module
from types import SimpleNamespace

import pytest
from conftest import ROOT, clean_environment, ended

from common import cli as scripts

PILOT = ("run_pilot.py", "--models", "sim-coin", "--runs", "1", "--out", "p")
TOURNAMENT = ("run_tournament.py", "--agents", "2", "--rounds", "1", "--out", "t")
URRP = ("urrp_run.py", "--models", "open", "--pilot", "--trials", "1", "--out", "u")
TRIALS = ROOT / "results/examples/urrp-smollm2/urrp_runs.jsonl"
NAMES = sorted(path.stem for path in ROOT.glob("*.py"))


def said(done):
    """What stdout holds: one JSON object on one line, with the code that the process left with."""
    [line] = done.stdout.splitlines()
    facts = json.loads(line)
    assert facts["exit_code"] == done.returncode, done.stderr
    assert (facts["error"] is None) == (done.returncode == 0)
    assert facts["error"] is None or f"error: {facts['error']}" in done.stderr
    return facts


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A finished run of each kind: p/, t/, u/ and urrp_runs.jsonl."""
    folder = tmp_path_factory.mktemp("made")
    for command in (PILOT, TOURNAMENT, URRP):
        assert ended(folder, *command).returncode == 0
    return folder


@pytest.fixture
def here(made, tmp_path):
    """A copy of `made` where `cli` runs."""
    return shutil.copytree(made, tmp_path, dirs_exist_ok=True)


# --- complete ----------------------------------------------------------------------------------

@pytest.mark.parametrize(("command", "key", "value"), [
    (PILOT, "statuses", {"ok": 4}),
    (TOURNAMENT, "plan", None),
    (URRP, "outcomes", {"ok": 23}),
    ((*PILOT, "--dry-run"), "calls", 4),
    ((*TOURNAMENT, "--dry-run"), "calls", 2 + 3 * 2),   # two policies, three encounters
    ((*URRP, "--dry-run"), "calls", 23),
    (("calibrate.py", "--reps", "3", "--populations", "coin-50-0-0-0", "--runs", "2"),
     "replications", 6)])
def test_a_command_that_calls_models_says_one_object(cli, command, key, value):
    assert said(cli(*command, "--json"))[key] == value


def test_a_preregistration_says_file_and_hash(cli, tmp_path):
    facts = said(cli(*TOURNAMENT, "--plan", "confirmatory", "--preregister", "--json"))
    [made] = facts["preregistered"]
    printed = cli(*TOURNAMENT, "--plan", "confirmatory", "--preregister").stdout
    assert made["runs"] == 10 and (tmp_path / made["file"]).is_file()
    assert re.search(r"sha256 (\w{64})", printed)[1] == made["sha256"]


def test_an_urrp_analysis_on_stdout_says_what_its_file_says(cli, tmp_path):
    facts = said(cli("urrp_analyze.py", TRIALS, "--json"))
    cli("urrp_analyze.py", TRIALS, "--json", "a.json")
    assert {**json.loads((tmp_path / "a.json").read_text()), "exit_code": 0, "error": None} == facts


# The rows of the page's table: (its first cell, a command, files that it needs).
TOLD = [("`run_pilot.py`", PILOT), ("`run_tournament.py`", TOURNAMENT), ("`urrp_run.py`", URRP),
        ("… `--preregister`", (*TOURNAMENT, "--plan", "confirmatory", "--preregister")),
        ("`analyze.py` on pilots", ("analyze.py", "p")),
        ("`analyze.py` on tournaments", ("analyze.py", "t")),
        ("`analyze.py --verify`", ("analyze.py", "--verify", "p")),
        ("`analyze.py --index`", ("analyze.py", "p", "--index"))]


@pytest.mark.parametrize(("row", "command"), TOLD)
def test_the_page_tells_the_keys_that_there_are(cli, here, row, command):
    page = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")
    outer, _, inner = re.search(rf"^\| {re.escape(row)} \| (.*) \|$", page, re.M)[1].partition(
        ": of each")
    facts = said(cli(*command, "--json"))
    keys = re.findall(r"`(\w+)`", outer)
    assert {*keys, "exit_code", "error"} == facts.keys()
    if inner:
        assert set(re.findall(r"`(\w+)`", inner)) == facts[keys[-1]][0].keys()


# --- refused -----------------------------------------------------------------------------------

def test_an_analysis_into_a_file_keeps_stdout_for_people(cli):
    done = cli("urrp_analyze.py", TRIALS, "--json", "a.json", "--sample", "0")
    assert (done.returncode, done.stdout) == (2, "")


# --- incomplete --------------------------------------------------------------------------------

@pytest.mark.parametrize("command", [PILOT, URRP], ids=["pilot", "urrp"])
def test_a_run_that_broke_off_says_how_far_it_got(cli, double, command):
    double.script(faults=[{"fault": "401", "skip": 2}])  # the key is revoked after two answers
    facts = said(cli(*command, "--models", "double/a", "--base-url", double.url, "--concurrency",
                     "1", "--json", key="sk-test-key"))
    assert (facts["state"], facts["exit_code"]) == ("incomplete", 5)
    assert "sk-test-key" not in json.dumps(facts)


def test_a_tournament_that_broke_off_says_how_far_it_got(live, double):
    double.script(faults=[{"fault": "401", "skip": 2}])
    facts = said(live(double, *TOURNAMENT[1:], "--json", key="k-12345"))
    assert facts["exit_code"] == 5 and facts["runs"][0]["exit_code"] == 5


def test_a_budget_that_is_too_small_is_told(cli, double):
    facts = said(cli(*PILOT, "--models", "double/a", "--base-url", double.url, "--limit-usd",
                     "0.00001", "--json", key="k-12345"))
    assert facts["exit_code"] == 4 and "limit" in facts["error"]


# --- whatever happens --------------------------------------------------------------------------

@pytest.fixture
def ends(capsys):
    """ends(main, flags…) → how a script with this `main` ends, and what it said."""
    def run(main, *flags):
        with pytest.raises(SystemExit) as left:
            scripts.run(main, list(flags))
        out, err = capsys.readouterr()
        return SimpleNamespace(returncode=left.value.code, stdout=out, stderr=err)
    return run


def test_a_fault_of_ours_is_an_object_and_its_traceback_on_stderr(ends):
    done = ends(lambda argv: 1 / 0, "--json")
    assert said(done)["error"] == "unexpected ZeroDivisionError: division by zero"
    assert done.returncode == 1 and "Traceback" in done.stderr


def test_an_interruption_is_an_object(ends):
    def main(argv):
        raise KeyboardInterrupt
    assert said(ends(main, "--json"))["exit_code"] == 130


def test_what_is_printed_on_the_way_never_reaches_stdout(ends):
    def main(argv):
        print("on the way")
        return scripts.Done(0, {"n": 1}, "text")
    done = ends(main, "--json")
    assert said(done) == {"n": 1, "exit_code": 0, "error": None} and done.stderr == "on the way\n"


def test_people_get_the_text_instead_and_a_line_an_error(ends):
    done = ends(lambda argv: scripts.Done(3, {"n": 1}, "text", "one\ntwo"))
    assert (done.returncode, done.stdout, done.stderr) == (
        3, "text\n", "error: one\nerror: two\n")


def test_a_reader_who_left_is_no_error():
    code = ("from common import cli\n"
            "cli.run(lambda argv: cli.Done(0, {'n': 'x' * 1000000}), ['--json'])")
    done = subprocess.run(f"{sys.executable} -c \"{code}\" | head -c 1", shell=True, cwd=ROOT,
                          check=False, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("{", "")


def test_a_full_stdout_is_told():
    done = subprocess.run(f"{sys.executable} run_pilot.py --dry-run > /dev/full", shell=True,
                          cwd=ROOT, check=False, capture_output=True, text=True,
                          env=clean_environment())
    assert done.returncode == 3 and done.stderr.startswith("error: stdout: No space left")


# --- help --------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", NAMES)
def test_a_help_is_for_people_under_json_too_and_gives_commands_that_parse(cli, name):
    done = cli(f"{name}.py", "--json", "--help")
    assert done.returncode == 0 and done.stdout.startswith(f"usage: {name}.py")
    commands = re.findall(rf"^  (?:python3|uv run) {name}\.py ?(.*?)(?:   .*|\| .*)?$",
                          done.stdout, re.M)
    assert len(commands) >= 2
    for command in commands:
        import_module(name).arguments(command.split())
    flag = r"^  (?:-\w, )?--[a-z-]+(?: [^ \n]+)*"
    described = re.findall(flag + r"(?:  +\S|\n {10,}\S)", done.stdout, re.M)
    assert len(described) == len(re.findall(flag, done.stdout, re.M)) > 2
