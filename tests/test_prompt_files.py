"""Prompts of a user: each fault is one line that names the file, before anything is written."""

import json
import shutil
from pathlib import Path

import pytest
from conftest import ROOT, edit

ROUND, FRAME = "cirrus24/round_3.md", "cirrus24/frame.json"
NUMBERS, VARIANTS = "cirrus24/outcomes.json", "variants/cirrus24.yaml"
PROBES, URRP = "probes.json", "urrp/v1.1.json"
PILOT = ("run_pilot.py", "--models", "sim-coin")
PROBED = (*PILOT, "--design", "mechanism", "--runs", "1", "--probes", "payoffs")
FIRST = '"T": 16, "R": 18, "P": 27, "S": 34'  # of round_1
OFFICE = "{office}"
COSTS = "round_1 [{}]: as costs, T < R < P < S"
# (file, what stands there, what stands there now, what is said of it)
TEXTS = [
    (ROUND, OFFICE, "noon", "placeholder 'office': missing"),
    (ROUND, OFFICE, "{office} {hour}", "placeholder 'hour': unknown"),
    (ROUND, OFFICE, "{office!r}", "'{office!r}': set braces only around a name"),
    (ROUND, OFFICE, "{office}, a game", "word 'game': it gives the setting away"),
    (ROUND, "{R}", "30", "placeholder 'R': missing"),
    (ROUND, "{symmetry}", "{symmetry} {symmetry}", "'symmetry': twice"),
    (FRAME, "{history}", "none", "placeholder 'history': missing"),
    (FRAME, "Assume peers", "Assume {peers}", "placeholder 'peers': unknown"),
    (FRAME, "the single run", "the {single} run", "placeholder 'single': unknown"),
    (FRAME, '"unread": [', '"unread": ["{peer} was late.", ', "equally many sentences"),
    (FRAME, "peers received", "players received", "word 'players': it gives"),
    (FRAME, '"fields"', "fields", "not valid JSON"),
    (FRAME, '"bulletins": 28', '"bulletins": 30', "the folder has 28"),
    (NUMBERS, FIRST, '"T": 3, "R": 3, "P": 9, "S": 10', COSTS.format("3, 3, 9, 10")),
    (NUMBERS, FIRST, '"T": 0, "R": 3, "P": 5, "S": 6', COSTS.format("0, 3, 5, 6")),
    (NUMBERS, '"R": 18', '"R": 0.5', "round_1.R: must be a whole number"),
    (NUMBERS, '"signing"', '"signings"', "did you mean 'signing'?"),
    (NUMBERS, '"round_2"', '"round_99"', "unknown key 'round_99'"),
    (VARIANTS, "Greyfriars Disclosure", "Game", "word 'Game': it gives"),
    (VARIANTS, '"office"', '"offices"', "did you mean 'office'?"),
    (VARIANTS, '"holdout": true', '"holdout": false', "hold out at least one entry"),
]
WORDS = [
    ("{yours}", "{yours} {nope}", "placeholder 'nope': unknown"),
    ('"closing"', '"closed"', "unknown key 'closed'"),
    ("{", "", "not valid JSON"),
]
CHANGES = [(PILOT, *change) for change in TEXTS]
CHANGES += [(PROBED, PROBES, *change) for change in WORDS]
CHANGES.append((("urrp_run.py",), URRP, "conscious", "aware", "v1.1.json: U"))


@pytest.fixture
def prompts(tmp_path):
    return Path(shutil.copytree(ROOT / "prompts", tmp_path / "mine"))


def replace(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    times = -1 if "holdout" in old else 1
    path.write_text(text.replace(old, new, times), "utf-8")


def refused(cli, tmp_path, command, says):
    """The command ends at once, with one line that says so, and writes nothing."""
    flags = ("--prompts", "mine", "--provider", "simulated", "--out", "o")
    done = cli(*command, *flags)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and says in done.stderr, done.stderr
    assert not (tmp_path / "o").exists()
    return done.stderr


@pytest.mark.parametrize(("command", "file", "old", "new", "says"), CHANGES)
def test_a_fault_is_one_line_that_names_the_file(
    cli, tmp_path, prompts, command, file, old, new, says
):
    replace(prompts / file, old, new)
    assert f"{file}: " in refused(cli, tmp_path, command, says)


def test_the_sentence_on_ai_may_stand_where_the_specification_has_it_alone(
    cli, tmp_path, prompts
):
    sentence = "Do not mention AI, benchmarks, or experiments."
    edit(
        prompts,
        lambda frame: frame["systems"]["ablated"].update(one_shot=sentence),
        FRAME,
    )
    refused(cli, tmp_path, PILOT, "word 'AI': it gives the setting away")


def test_a_field_that_no_text_has_is_a_fault(cli, tmp_path, prompts):
    replace(prompts / FRAME, '"decoy"', '"decoy", "city"')
    path = prompts / VARIANTS
    text = path.read_text("utf-8").replace('"id"', '"city": "Leeds", "id"')
    path.write_text(text, "utf-8")
    refused(cli, tmp_path, PILOT, f"{FRAME}: fields 'city': unused")


def test_a_missing_file_or_folder_is_named(cli, tmp_path, prompts):
    (prompts / ROUND).rename(prompts / "cirrus24/round_29.md")
    refused(cli, tmp_path, PILOT, f"{ROUND}: no such file")
    (prompts / FRAME).unlink()
    shutil.rmtree(prompts / "hospital")
    refused(cli, tmp_path, PILOT, f"{FRAME}: no such file")
    shutil.rmtree(prompts)
    refused(cli, tmp_path, PILOT, "no such folder")


@pytest.mark.parametrize("script", ["run_pilot.py", "run_tournament.py"])
def test_a_copied_folder_is_a_domain_and_another_name_is_refused(
    cli, prompts, tmp_path, script
):
    sizes = ("--runs", 1) if script == "run_pilot.py" else ("--agents", 3)
    sizes += () if script == "run_pilot.py" else ("--rounds", 1)
    replace(prompts / "hospital/round_1.md", "\n", "\nNew here.\n")
    shutil.copytree(prompts / "hospital", prompts / "quayside")
    shutil.copy(prompts / "variants/hospital.yaml", prompts / "variants/quayside.yaml")
    command = (script, *sizes, "--models", "sim-coin", "--domain")
    refused(cli, tmp_path, (*command, "quaysid"), "did you mean 'quayside'?\n")
    done = cli(*command, "quayside", "--prompts", "mine", "--out", "o")
    assert done.returncode == 0, done.stderr
    [run] = (tmp_path / "o").iterdir()
    identity = json.loads((run / "manifest.json").read_bytes())["identity"]
    assert identity["config"]["domain"] == "quayside"
    shutil.rmtree(prompts)  # the run has kept them
    assert cli("analyze.py", "--verify", "o").returncode == 0


def test_other_prompts_are_another_run(cli, prompts, tmp_path):
    replace(prompts / ROUND, "Your", "All your")
    for extra in ((), ("--prompts", "mine")):
        cli(*PILOT, "--runs", 2, "--out", "o", *extra)
    assert len(list((tmp_path / "o").iterdir())) == 2
