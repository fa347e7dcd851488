"""A disk that fails, or a kill: whatever file operation of a script fails, it ends with one line
and a code; after that, or a SIGKILL in its place, the same command gives the bytes that an
undisturbed run gives. `FAULTS=60` tries 60 operations of every command; the suite a few.
"""

import builtins
import errno
import gzip
import io
import os
import random
import re
import shutil
import signal
from contextlib import ExitStack, contextmanager
from functools import cache
from unittest import mock

import pytest
from conftest import ended, forked

FAULTS = int(os.environ.get("FAULTS", "3"))  # of each command
OPERATIONS = {
    builtins: ["open"],
    io: ["open"],
    os: ["open", "write", "replace", "mkdir", "unlink", "truncate", "ftruncate"],
}
CLOCK = re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]+Z?|\b[0-9a-f]{12,64}\b")
ROUNDS = "run_tournament.py --agents 3 --rounds 1 --out t --run-id t1"
URRP = "urrp_run.py --pilot --trials 1 --models sim-denier"
COMMANDS = {  # and what is run before
    "run_pilot.py --models sim-coin --runs 2 --out p": None,
    f"{ROUNDS} --analyze": None,
    URRP: None,
    "adjudicate.py t/t1 --sample 2": ROUNDS,
    "analyze.py t/t1 --figures figures": ROUNDS,
    "calibrate.py --reps 1 --populations coin-50 --out c": None,
    "urrp_analyze.py urrp_runs.jsonl --json a.json --html a.html --csv a.csv": URRP,
}


class Disk:
    """Counts the operations on files below a folder, and lets the n-th of them fail, or be the last
    where it `kills`."""

    def __init__(self, folder, fails=None, kills=False):
        self.folder, self.fails, self.kills, self.count = str(folder), fails, kills, 0

    def wrapped(self, operation):
        def perform(target, *rest, **more):
            path = (
                os.readlink(f"/proc/self/fd/{target}")
                if isinstance(target, int)
                else target
            )
            if os.path.abspath(os.fspath(path)).startswith(self.folder):
                self.count += 1
                if self.count == self.fails:
                    if self.kills:
                        os.kill(os.getpid(), signal.SIGKILL)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
            return operation(target, *rest, **more)

        return perform

    @contextmanager
    def used(self):
        with ExitStack() as stack:
            for module, names in OPERATIONS.items():
                stack.enter_context(
                    mock.patch.multiple(
                        module,
                        **{name: self.wrapped(getattr(module, name)) for name in names},
                    )
                )
            yield self


def derived(folder):
    """{path: bytes} of what a script has written, clock times and the hashes of them left out."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in ("manifest.json", "journal.jsonl.gz"):
            data = path.read_bytes()
            if path.suffix == ".gz":
                data = gzip.decompress(data)
            files[str(path.relative_to(folder))] = CLOCK.sub(b"#", data)
    return files


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """whole(command) → (what is there before, an undisturbed run's files, its operations)."""

    @cache
    def made(command):
        start, end = tmp_path_factory.mktemp("before"), tmp_path_factory.mktemp("whole")
        if earlier := COMMANDS[command]:
            assert ended(start, *earlier.split()).returncode == 0
        shutil.copytree(start, end, dirs_exist_ok=True)
        with Disk(end).used() as disk:
            assert ended(end, *command.split()).returncode == 0
        return start, derived(end), disk.count

    return made


@pytest.mark.parametrize("how", ["full", "killed"])
@pytest.mark.parametrize("at", range(FAULTS))
@pytest.mark.parametrize("command", COMMANDS)
def test_an_operation_that_fails_or_is_the_last_loses_nothing(
    whole, tmp_path, command, at, how
):
    start, files, operations = whole(command)
    shutil.copytree(start, tmp_path, dirs_exist_ok=True)
    fails = random.Random(f"{command}-{how}-{at}").randrange(1, operations + 1)
    with Disk(tmp_path, fails, kills=how == "killed").used():
        if how == "killed":
            child = forked(tmp_path, *command.split())
            child.join(60)
            assert child.exitcode in (0, -signal.SIGKILL)
        else:
            done = ended(tmp_path, *command.split())
            assert "Traceback" not in done.stderr, (fails, done.stderr)
            assert done.returncode == 0 or (
                done.returncode in (2, 3) and re.search("^error: ", done.stderr, re.M)
            ), (fails, done.stderr)
    again = ended(tmp_path, *command.split())
    assert again.returncode == 0, (fails, again.stderr)
    assert derived(tmp_path) == files, fails  # and nothing beside them
