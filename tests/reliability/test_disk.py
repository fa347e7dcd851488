"""A disk that fails, or a kill: whatever file operation of a script fails, it ends with one line
and a code; after that, or a SIGKILL in its place, the same command gives the bytes that an
undisturbed run gives.

`FAULTS=60` tries 60 operations of every script; the suite tries some, drawn by a seed.
"""

import builtins
import errno
import io
import os
import random
import re
import shutil
import signal
from contextlib import contextmanager
from unittest import mock

import pytest
from conftest import ended, forked

from common.artifacts import read_bytes

FAULTS = int(os.environ.get("FAULTS", "3"))  # of each script
OPERATIONS = [(builtins, "open"), (io, "open"), (os, "open"), (os, "write"), (os, "replace"),
              (os, "mkdir"), (os, "unlink"), (os, "truncate"), (os, "ftruncate")]
CLOCK = re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]+Z?|\b[0-9a-f]{12,64}\b")
PILOT = ["run_pilot.py", "--models", "sim-coin", "--runs", "2", "--out", "p"]
ROUNDS = ["run_tournament.py", "--agents", "3", "--rounds", "1", "--out", "t", "--run-id", "t1"]
SCRIPTS = {
    "run_pilot": ([], PILOT),
    "run_tournament": ([], [*ROUNDS, "--analyze"]),
    "urrp_run": ([], ["urrp_run.py", "--pilot", "--trials", "1", "--models", "denier"]),
    "adjudicate": ([ROUNDS], ["adjudicate.py", "t/t1", "--sample", "2"]),
    "analyze": ([ROUNDS], ["analyze.py", "t/t1", "--figures", "figures"]),
    "calibrate": ([], ["calibrate.py", "--reps", "1", "--populations", "coin-50-0-0-0",
                       "--out", "c"]),
    "urrp_analyze": ([["urrp_run.py", "--pilot", "--trials", "1", "--models", "denier"]],
                     ["urrp_analyze.py", "urrp_runs.jsonl", "--json", "a.json", "--html", "a.html",
                      "--csv", "a.csv"]),
}


class Disk:
    """Counts the operations on files below a folder, and lets the n-th one fail or be the last."""

    def __init__(self, folder, fails=None, kills=False):
        self.folder, self.fails, self.kills, self.count = str(folder), fails, kills, 0

    def wrapped(self, operation):
        def perform(target, *rest, **more):
            if self.concerns(target):
                self.count += 1
                if self.count == self.fails:
                    if self.kills:
                        os.kill(os.getpid(), signal.SIGKILL)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
            return operation(target, *rest, **more)
        return perform

    def concerns(self, target):
        if isinstance(target, int):
            try:
                target = os.readlink(f"/proc/self/fd/{target}")
            except OSError:
                return False
        return os.path.abspath(os.fspath(target)).startswith(self.folder)

    @contextmanager
    def used(self):
        with mock.patch.multiple(builtins, open=self.wrapped(builtins.open)), \
                mock.patch.multiple(io, open=self.wrapped(io.open)), \
                mock.patch.multiple(os, **{name: self.wrapped(getattr(os, name))
                                           for module, name in OPERATIONS if module is os}):
            yield self


def derived(folder):
    """{path: bytes} of what a script has written, clock times and the hashes of them left out."""
    return {str(path.relative_to(folder)): CLOCK.sub(b"#", read_bytes(path))
            for path in sorted(folder.rglob("*")) if path.is_file()
            and path.name not in ("manifest.json", "journal.jsonl.gz", ".lock")
            and path.suffix != ".tmp"}  # half a file beside, whose owner was killed


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """whole(script) → (what stood there before, an undisturbed run's files, its operations)."""
    known = {}

    def made(script):
        if script not in known:
            before, command = SCRIPTS[script]
            start, end = tmp_path_factory.mktemp("before"), tmp_path_factory.mktemp("whole")
            for earlier in before:
                assert ended(start, *earlier).returncode == 0
            shutil.copytree(start, end, dirs_exist_ok=True)
            with Disk(end).used() as disk:
                assert ended(end, *command).returncode == 0
            known[script] = start, derived(end), disk.count
        return known[script]
    return made


def broken(whole, folder, script, seed):
    """A copy of what stood there before → (the script's command, which operation breaks)."""
    start, _, operations = whole(script)
    shutil.copytree(start, folder, dirs_exist_ok=True)
    return SCRIPTS[script][1], random.Random(seed).randrange(1, operations + 1)


def assert_mended(whole, folder, script, fails):
    again = ended(folder, *SCRIPTS[script][1])
    assert again.returncode == 0, (fails, again.stderr)
    assert derived(folder) == whole(script)[1], fails


@pytest.mark.parametrize("at", range(FAULTS))
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_failing_operation_is_one_line_and_loses_nothing(whole, tmp_path, script, at):
    command, fails = broken(whole, tmp_path, script, f"{script}-{at}")
    with Disk(tmp_path, fails).used():
        done = ended(tmp_path, *command)
    assert "Traceback" not in done.stderr, (fails, done.stderr)
    assert done.returncode in (0, 2, 3), (fails, done.stderr)
    if done.returncode:
        assert [line for line in done.stderr.splitlines() if line.startswith("error: ")], fails
    assert_mended(whole, tmp_path, script, fails)


@pytest.mark.parametrize("at", range(FAULTS))
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_kill_between_two_operations_loses_nothing(whole, tmp_path, script, at):
    command, fails = broken(whole, tmp_path, script, f"{script}-killed-{at}")
    with Disk(tmp_path, fails, kills=True).used():
        child = forked(tmp_path, *command)
        child.join(60)
    assert child.exitcode in (0, -signal.SIGKILL)
    assert_mended(whole, tmp_path, script, fails)
