"""Bad input: one clear line that says what and where, the right exit code, nothing half-written.

tests/data/wrong-usage.txt has a command and its error line for each way to use a script wrongly.

    python3 tests/test_bad_input.py --write     # the lines, as the scripts say them now
"""

import json
import re
import resource
import shlex
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from conftest import ROOT, ended, process, run_in

PILOT = "run_pilot.py"
SMALL = ("--models", "sim-coin", "--runs", "12", "--out", "o")
HALF = 160_000  # bytes: more than the prompts of a run, less than its journal
WRONG = ROOT / "tests" / "data" / "wrong-usage.txt"
COMMANDS = re.findall(r"^\$ (.+)", WRONG.read_text("utf-8"), re.M)
LONG = {
    "<deep>": '{"prices": {"m": ' + '{"a":' * 48 + "1" + "}" * 50,
    "<digits>": '{"seed": ' + "9" * 5000 + "}",
    "<dear>": '{"prices": {"m": {"completion": 1, "prompt": 1' + "0" * 400 + "}}}",
    "<long>": "x" * 101,
    "<two lines>": "a\n",
}


def check_refused(run, code, *words):
    """The run ended with `code` and a single line on stderr, which holds `words`."""
    lines = run.stderr.splitlines()
    errors = [line for line in lines if not line.startswith("progress ")]
    assert (run.returncode, len(errors)) == (code, 1), run.stderr
    [error] = errors
    assert error.startswith("error: ")
    for word in words:
        assert word in error


def tree(folder):
    """{path: content} of the files below a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder): path.read_bytes() for path in files}


# --- wrong usage and configuration -------------------------------------------------------------


def refused(folder, command):
    """The line that a command is refused with: on stderr, and in the object on stdout. It leaves
    the folder as it is. "json:…" is a file with that text."""
    script, *flags = [LONG.get(word, word) for word in shlex.split(command)]
    (folder / "results").mkdir()
    # a copy: a command may make a folder beside a study before it is refused
    for study in set(re.findall(r"results/examples/[\w-]+", command)):
        shutil.copytree(ROOT / study, folder / study)
    for at, flag in enumerate(flags):
        if flag.startswith("json:"):
            text, flags[at] = flag.removeprefix("json:"), "my.json"
            (folder / "my.json").write_text(LONG.get(text, text))
    before = sorted(folder.rglob("*"))
    done = ended(folder, script, *flags, "--json")
    assert sorted(folder.rglob("*")) == before
    told = json.loads(done.stdout)
    assert done.returncode == 2 and told.keys() == {"error", "exit_code"}, command
    lines = done.stderr.splitlines()
    errors = [line for line in lines if not line.startswith("warning:")]
    assert errors == [f"error: {told['error']}"], done.stderr
    return errors[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_wrong_usage_is_named_in_a_line_with_exit_code_2_and_writes_nothing(
    tmp_path, command
):
    assert f"$ {command}\n{refused(tmp_path, command)}\n" in WRONG.read_text("utf-8")


def test_a_key_with_a_line_break_is_refused_and_not_shown(cli, tmp_path):
    run = cli(PILOT, "--out", "o", key="sk-first\nsk-second")
    check_refused(run, 2, "OPENROUTER_API_KEY")
    assert "sk-" not in run.stdout + run.stderr and not (tmp_path / "o").exists()


def test_a_run_of_another_configuration_is_refused_with_what_differs(cli, tmp_path):
    prompts = shutil.copytree(ROOT / "prompts", tmp_path / "mine")
    command = (PILOT, *SMALL, "--run-id", "a", "--prompts", "mine")
    assert cli(*command).returncode == 0
    bulletin = prompts / "cirrus24/round_3.md"
    text = bulletin.read_text()
    bulletin.write_text(text.replace(" the ", " that ", 1))
    before = tree(tmp_path)
    check_refused(cli(*command), 2, "round_3.md", "another configuration")
    bulletin.write_text(text)
    other = *command, "--runs", 3, "--temperature", 0.9
    check_refused(
        cli(*other), 2, "o/a", "runs: 12 → 3", "temperature: 0.7 → 0.9; use another -"
    )
    more = cli(*other, "--seed", 5, "--compliance", "high", "--tells", "ablated")
    check_refused(more, 2, '"ablated" (and 1 more); use another --run-id')
    assert tree(tmp_path) == before | {bulletin.relative_to(tmp_path): text.encode()}


# --- a damaged run, a full disk ------------------------------------------------------------------


def limited(folder, most_bytes):
    """The pilot where no file may grow beyond `most_bytes`."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    return process(folder, PILOT, *SMALL, preexec_fn=limit)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda path: path.write_text("{"), "manifest.json: not JSON"),
        (Path.unlink, "a journal without its manifest.json"),
    ],
)
def test_a_run_that_was_damaged_is_named_and_left_alone(cli, tmp_path, damage, words):
    assert limited(tmp_path, HALF).returncode == 3
    damage(run_in(tmp_path / "o") / "manifest.json")
    before = tree(tmp_path)
    check_refused(cli(PILOT, *SMALL), 2, words, "restore it")
    assert tree(tmp_path) == before


def write():
    """Every error line anew; what is no wrong usage any more is a failure here."""
    lines = []
    for command in COMMANDS:
        with TemporaryDirectory() as folder:
            lines.append(f"$ {command}\n{refused(Path(folder), command)}\n")
    WRONG.write_text("\n".join(lines), "utf-8")


if __name__ == "__main__" and "--write" in sys.argv:
    write()
