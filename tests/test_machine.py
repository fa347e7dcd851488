"""--json for machines, progress for people, and how every script ends."""

import json
import re
import shutil
import subprocess
import sys
import time
from io import StringIO
from types import SimpleNamespace

import pytest
from conftest import ROOT, clean_environment

from common import cli as scripts

PILOT = ("run_pilot.py", "--models", "sim-coin", "--runs", "1", "--out", "p")
TOURNAMENT = ("run_tournament.py", "--agents", "2", "--rounds", "1", "--out", "t")
URRP = ("urrp_run.py", "--models", "sim-open", "--pilot", "--trials", "1", "--out", "u")
# The rows of the page's table, in an order in which each finds what it needs: (first cell, command)
ROWS = [
    ("`run_pilot.py`", PILOT),
    ("`run_tournament.py`", TOURNAMENT),
    ("`urrp_run.py`", URRP),
    ("… `--preregister`", (*TOURNAMENT, "--plan", "confirmatory", "--preregister")),
    ("`analyze.py` on pilots", ("analyze.py", "p")),
    ("`analyze.py` on tournaments", ("analyze.py", "t")),
    ("`analyze.py --verify`", ("analyze.py", "--verify", "p")),
    ("`analyze.py --index`", ("analyze.py", "p", "--index")),
]


def result(done):
    """What stdout holds: one JSON object on one line, with the code that the process left with."""
    [line] = done.stdout.splitlines()
    facts = json.loads(line)
    assert facts["exit_code"] == done.returncode, done.stderr
    assert (facts["error"] is None) == (done.returncode == 0)
    assert facts["error"] is None or f"error: {facts['error']}" in done.stderr
    return facts


def test_the_page_tells_the_keys_that_there_are(cli):
    page = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")
    for row, command in ROWS:
        [told] = re.findall(rf"^\| {re.escape(row)} \| (.*) \|$", page, re.M)
        outer, _, inner = told.partition(": of each")
        keys, of_each = re.findall(r"`(\w+)`", outer), re.findall(r"`(\w+)`", inner)
        facts = result(cli(*command, "--json"))
        assert {*keys, "exit_code", "error"} == facts.keys(), row
        if of_each:
            assert set(of_each) == facts[keys[-1]][0].keys(), row


@pytest.fixture
def ends(capsys):
    """ends(main, flags…) → how a script with this `main` ends, and what it printed."""

    def run(main, *flags):
        with pytest.raises(SystemExit) as left:
            scripts.run(main, list(flags))
        out, err = capsys.readouterr()
        return SimpleNamespace(returncode=left.value.code, stdout=out, stderr=err)

    return run


def test_a_fault_of_ours_or_an_interruption_is_an_object_and_a_traceback_on_stderr(
    ends,
):
    def interrupted(argv):
        raise KeyboardInterrupt

    done = ends(lambda argv: 1 / 0, "--json")
    assert result(done)["error"] == "unexpected ZeroDivisionError: division by zero"
    assert done.returncode == 1 and "Traceback" in done.stderr
    error = result(ends(interrupted, "--json"))["error"]
    assert error.startswith("interrupted: the journal is intact")


def test_people_get_the_text_and_a_line_an_error_machines_the_object_alone(ends):
    def main(argv):
        print("on the way")
        return scripts.Done(3, {"n": 1}, "text", "one\ntwo")

    assert ends(main) == SimpleNamespace(
        returncode=3, stdout="on the way\ntext\n", stderr="error: one\nerror: two\n"
    )
    done = ends(main, "--json")
    assert json.loads(done.stdout) == {"n": 1, "exit_code": 3, "error": "one\ntwo"}
    assert done.stderr == "on the way\nerror: one\nerror: two\n"


LONG = "from common import cli; cli.run(lambda argv: cli.Done(0, {'n': 'x' * 1000000}), ['--json'])"


@pytest.mark.parametrize(
    ("line", "stdout", "code", "complaint"),
    [
        ("run_pilot.py --dry-run > /dev/full", "", 3, "error: stdout: No space left"),
        (f'-c "{LONG}" | head -c 1', "{", 0, ""),
    ],
)
def test_a_full_stdout_is_an_error_and_a_reader_who_left_is_none(
    line, stdout, code, complaint
):
    done = subprocess.run(
        f'"{sys.executable}" {line}',
        shell=True,
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        env=clean_environment(),
    )
    assert (done.returncode, done.stdout) == (code, stdout)
    assert done.stderr.startswith(complaint) and bool(complaint) == bool(done.stderr)


@pytest.mark.parametrize(
    ("terminal", "shown"),
    [
        (
            True,
            [
                "\rr  1/9  ok 1\x1b[K",
                "\rr  4/9  ETA 0:00:20  ok 4\x1b[K",
                "\rr  9/9  ok 9\x1b[K\n",
            ],
        ),
        (
            False,
            [
                "progress run=r done=4 total=9 ok=4 eta_s=20\n",
                "progress run=r done=9 total=9 ok=9 eta_s=0\n",
            ],
        ),
    ],
)
def test_a_line_is_due_from_time_to_time_and_at_the_end(monkeypatch, terminal, shown):
    """One was answered by an earlier start: three in twelve seconds leave twenty for the rest."""
    stream, clock = StringIO(), iter((0.0, 0.0, 12.0, 12.0, 12.0))
    stream.isatty = lambda: terminal
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(sys, "stderr", stream)
    progress = scripts.Progress("r")
    for done in (1, 4, 5, 9):
        progress.show((done, 9, 1), [f"ok {done}"], {"ok": done}, last=done == 9)
    assert stream.getvalue() == "".join(shown)


@pytest.mark.parametrize(
    ("line", "given", "key"),
    [
        ("OPENROUTER_API_KEY=sk-1", None, "sk-1"),
        ("OPENROUTER_API_KEY=sk-1", "sk-2 ", "sk-2"),
        ("export OPENROUTER_API_KEY = 'sk-1'", None, "sk-1"),
        ("OTHER_KEY=sk-1", None, ""),
        ("OPENROUTER_API_KEY=sk-1", "", ""),
        ("OPENROUTER_MODEL=sk-1", None, None),
    ],
)
def test_a_key_is_read_from_a_file_where_the_environment_has_none(
    tmp_path, line, given, key
):
    shutil.copytree(ROOT / "common", tmp_path / "common")
    (tmp_path / ".env").write_text(f"# mine\n{line}\n")
    environment = clean_environment(given)
    if given is None:
        del environment["OPENROUTER_API_KEY"]
    line = "from common.cli import api_key; print(repr(api_key()))"
    command = [sys.executable, "-c", line]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    if key is None:
        assert ".env line 2: OPENROUTER_MODEL: no such setting" in done.stderr
        assert "sk-1" not in done.stderr
    else:
        assert done.stdout == f"{key!r}\n"
