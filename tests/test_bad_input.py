"""Bad input: one clear line that says what and where, the right exit code, nothing half-written.

tests/data/wrong-usage.txt has a command and its error line for each way to use a script wrongly.

    python3 tests/test_bad_input.py --write     # the lines, as the scripts say them now
"""

import json
import re
import resource
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from conftest import ROOT, clean_environment, ended, run_in

PILOT = "run_pilot.py"
SMALL = ("--models", "sim-coin", "--runs", "12", "--out", "o")
HALF = 100_000  # bytes: more than the prompts of a run, less than its journal
WRONG = ROOT / "tests" / "data" / "wrong-usage.txt"
COMMANDS = re.findall(r"^\$ (.+)", WRONG.read_text("utf-8"), re.M)
LONG = {"<deep>": '{"routing": {"options": ' + '{"a":' * 60 + "1" + "}" * 62,
        "<digits>": '{"seed": ' + "9" * 5000 + "}",
        "<dear>": '{"routing": {"max_price": {"prompt": 1' + "0" * 400 + "}}}",
        "<long>": "x" * 101, "<two lines>": "a\n"}


def one_line(run, code, *words):
    """The run ended with `code` and one line on stderr that holds `words`."""
    complaints = [line for line in run.stderr.splitlines() if not line.startswith("progress ")]
    assert (run.returncode, len(complaints)) == (code, 1), run.stderr
    assert complaints[0].startswith("error: ") and "Traceback" not in run.stderr
    for word in words:
        assert word in complaints[0], complaints[0]


def tree(folder):
    return {path.relative_to(folder): path.read_bytes() if path.is_file() else None
            for path in folder.rglob("*")}


# --- wrong usage and configuration -------------------------------------------------------------

def used(folder, command):
    """A command ended in `folder`, and what the folder held. "json:…" is a file with that text."""
    script, *flags = [LONG.get(word, word) for word in shlex.split(command)]
    (folder / "results").symlink_to(ROOT / "results")
    for at, flag in enumerate(flags):
        if flag.startswith("json:"):
            text, flags[at] = flag.removeprefix("json:"), "my.json"
            (folder / "my.json").write_text(LONG.get(text, text))
    before = sorted(folder.iterdir())
    done = ended(folder, script, *flags, "--json")
    assert sorted(folder.iterdir()) == before
    return done


def refused(folder, command):
    """The one line that a command is refused with: on stderr, and in the object on stdout."""
    done = used(folder, command)
    assert (done.returncode, json.loads(done.stdout).keys()) == (2, {"error", "exit_code"}), command
    errors = [line for line in done.stderr.splitlines() if not line.startswith("warning:")]
    assert errors == [f"error: {json.loads(done.stdout)['error']}"], done.stderr
    return errors[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_wrong_usage_is_one_line_with_exit_code_2_and_writes_nothing(tmp_path, command):
    assert f"$ {command}\n{refused(tmp_path, command)}\n" in WRONG.read_text("utf-8")


def test_a_key_with_a_line_break_is_refused_and_not_shown(cli, tmp_path):
    run = cli(PILOT, "--out", "o", key="sk-first\nsk-second")
    one_line(run, 2, "OPENROUTER_API_KEY")
    assert "sk-" not in run.stdout + run.stderr and not (tmp_path / "o").exists()


@pytest.mark.parametrize("out", ["/proc/o", "/dev/null/o", "file/o"])
def test_a_folder_that_cannot_be_made_is_named(cli, tmp_path, out):
    (tmp_path / "file").write_text("here")
    one_line(cli(PILOT, "--models", "sim-coin", "--out", out), 2, out, "--out")


def test_a_run_of_another_configuration_is_refused_with_what_differs(cli, tmp_path):
    assert cli(PILOT, *SMALL, "--run-id", "mine").returncode == 0
    before = tree(tmp_path)
    again = cli(PILOT, *SMALL, "--run-id", "mine", "--runs", 3, "--temperature", 0.9)
    one_line(again, 2, "o/mine", "runs: 12 → 3", "temperature: 0.7 → 0.9; use another --run-id")
    many = cli(PILOT, *SMALL, "--run-id", "mine", "--runs", 3, "--temperature", 0.9, "--seed", 5,
               "--compliance", "high", "--tells", "ablated")
    one_line(many, 2, " (and 1 more); use another --run-id")
    assert tree(tmp_path) == before


def corrupted(path):
    path.write_bytes(path.read_bytes().replace(b'"outcome":"ok"', b'"outcome":"oh"', 1))


@pytest.mark.parametrize(("name", "damage", "words"), [
    ("manifest.json", lambda path: path.write_text("{"), ("manifest.json: not JSON", "restore it")),
    ("manifest.json", Path.unlink, ("a journal without its manifest.json",)),
    ("journal.jsonl", corrupted, ("journal.jsonl line 2: does not follow from line 1", "restore"))])
def test_a_run_that_was_damaged_is_named_and_left_alone(cli, tmp_path, name, damage, words):
    assert limited(tmp_path, HALF).returncode == 3
    damage(run_in(tmp_path / "o") / name)
    before = tree(tmp_path)
    one_line(cli(PILOT, *SMALL), 2, *words)
    assert tree(tmp_path) == before


# --- a full disk -------------------------------------------------------------------------------

def limited(folder, most_bytes):
    """The pilot where no file may grow beyond `most_bytes`."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    return subprocess.run([sys.executable, ROOT / PILOT, *SMALL], cwd=folder, text=True,
                          capture_output=True, timeout=60, env=clean_environment(),
                          preexec_fn=limit)


def test_a_full_disk_under_the_journal_keeps_whole_lines_and_resumes(cli, tmp_path):
    one_line(limited(tmp_path, HALF), 3, "journal.jsonl: File too large", "free space there",
             "the same command")
    journal = run_in(tmp_path / "o") / "journal.jsonl"
    assert journal.stat().st_size <= HALF
    assert all(json.loads(line) for line in journal.read_bytes().splitlines())
    assert cli(PILOT, *SMALL).returncode == 0
    assert cli(PILOT, *SMALL[:-1], "whole").returncode == 0
    for name in ("trials.jsonl.gz", "pilot-analysis.json", "report.html"):
        assert (run_in(tmp_path / "o") / name).read_bytes() == (
            run_in(tmp_path / "whole") / name).read_bytes()


def test_a_disk_that_is_full_from_the_start_leaves_nothing(tmp_path):
    one_line(limited(tmp_path, 10), 3, "File too large")
    assert list(tmp_path.iterdir()) == []


# --- prompts -----------------------------------------------------------------------------------

def test_a_bulletin_changed_under_a_run_is_refused_by_its_name(cli, tmp_path):
    own = shutil.copytree(ROOT / "prompts", tmp_path / "own") / "cirrus24/round_3.md"
    assert cli(PILOT, *SMALL, "--prompts", "own").returncode == 0
    own.write_text(own.read_text().replace(" the ", " that ", 1))
    one_line(cli(PILOT, *SMALL, "--prompts", "own"), 2, "round_3.md", "another configuration")


def write():
    """Every error line anew; what is no wrong usage any more is a failure here."""
    lines = []
    for command in COMMANDS:
        with TemporaryDirectory() as folder:
            lines.append(f"$ {command}\n{refused(Path(folder), command)}\n")
    WRONG.write_text("\n".join(lines), "utf-8")


if __name__ == "__main__" and "--write" in sys.argv:
    write()
