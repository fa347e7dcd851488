"""The executor seam: processes of this machine, and a real Dask cluster on loopback."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ROOT, clean_environment
from tournaments import SCRIPT, answered, derived, started, wait_for

from common import Incomplete
from common.cluster import mapped

PLAN = ("--plan", "ablation", "--agents", 4, "--rounds", 2)


def square(n):
    return n * n


def die(n):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(("work", "processes"), [(lambda n: n * n, 1), (square, 2)])
def test_results_come_with_their_places(
    work, processes
):  # another process takes no lambda
    with mapped(work, [3, 1, 2], processes) as results:
        assert dict(results) == {0: 9, 1: 1, 2: 4}


def test_a_worker_that_dies_is_an_incomplete_run():
    with (
        pytest.raises(Incomplete, match="run the same command again"),
        mapped(die, [1, 2], 2) as results,
    ):
        list(results)


SLOW_TO_LOAD = """
import os, pathlib, sys, time
if __name__ == "__mp_main__":
    pathlib.Path(f"worker-{os.getpid()}").touch()
    time.sleep(float(sys.argv[2]))
sys.path.insert(0, sys.argv[1])
from common import cli
from common.cluster import mapped

def main(argv):
    with mapped(time.sleep, [60, 60], 2) as results:
        return list(results)

if __name__ == "__main__":
    cli.run(main, [], resumes=False)
"""


def two_workers(folder, seconds):
    """A process with two workers, which take so long to load and then have work for a minute; and
    the workers' pids, as soon as they are there."""
    (folder / "slow.py").write_text(SLOW_TO_LOAD)
    process = subprocess.Popen(
        [sys.executable, "slow.py", str(ROOT), str(seconds)],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: len(list(folder.glob("worker-*"))) == 2, 30)
    names = [path.name for path in folder.glob("worker-*")]
    return process, [int(name.removeprefix("worker-")) for name in names]


def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    """Otherwise they would keep the runs' folders locked."""
    process, workers = two_workers(tmp_path, seconds=0)
    time.sleep(1)
    process.kill()
    process.communicate(timeout=30)

    def is_gone(pid):
        stat = Path(f"/proc/{pid}/stat")
        return not stat.exists() or ") Z " in stat.read_text()

    wait_for(lambda: all(map(is_gone, workers)), 10)


def test_an_interruption_while_workers_start_is_one_line(tmp_path):
    process, workers = two_workers(tmp_path, seconds=1)
    for worker in workers:
        os.kill(worker, signal.SIGINT)
    time.sleep(0.2)  # a terminal's Ctrl-C may reach the worker first
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[1] == "error: interrupted\n"


# --- Dask --------------------------------------------------------------------------------------


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two workers, each a process by itself, none with the project on its path."""
    pytest.importorskip(
        "distributed", reason="the optional package `distributed` is not installed"
    )
    address, room = f"tcp://127.0.0.1:{free_port()}", tmp_path / "dask"
    room.mkdir()
    environment = clean_environment() | {
        "HOME": str(room),
        "NO_PROXY": "*",
        "DASK_DISTRIBUTED__WORKER__DAEMON": "False",
    }

    def start(what, *flags):
        return subprocess.Popen(
            [sys.executable, "-m", "distributed.cli." + what, "--no-dashboard", *flags],
            cwd=room,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    scheduler = start(
        "dask_scheduler", "--host", "127.0.0.1", "--port", address.rsplit(":")[-1]
    )
    workers = [
        start(
            "dask_worker",
            address,
            "--nthreads",
            "1",
            "--no-nanny",
            "--memory-limit",
            "0",
        )
        for _ in range(2)
    ]
    yield SimpleNamespace(address=address, worker=workers[0], scheduler=scheduler)
    for process in (*workers, scheduler):
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lost", "agents", "rounds"), [("worker", 4, 2), ("scheduler", 8, 6)]
)
def test_a_cluster_that_loses_a_worker_gives_the_same_bytes_and_without_its_scheduler_a_line(
    cli, tmp_path, cluster, lost, agents, rounds
):
    plan = ("--plan", "ablation", "--agents", agents, "--rounds", rounds)
    time.sleep(3)  # until both workers have registered
    process = started(tmp_path, *plan, "--scheduler", cluster.address, "--out", "o")
    wait_for(lambda: any((tmp_path / "o").rglob("journal.jsonl*")), 60)
    getattr(cluster, lost).kill()
    printed, _ = process.communicate(timeout=120)
    if lost == "scheduler":
        assert process.returncode == 3 and "Traceback" not in printed
        assert "run the same command again" in printed
    else:
        assert process.returncode == 0, printed
        assert cli(SCRIPT, *plan, "--out", "local").returncode == 0
        assert derived(tmp_path / "o") == derived(tmp_path / "local")
        assert set(answered(tmp_path / "o").values()) == {1}


@pytest.mark.parametrize(
    "address",
    [
        "tcp://127.0.0.1:{free}",
        "tcp://127.0.0.1:{mute}",
        "tcp://no.such.host.invalid:8786",
        "foo",
    ],
)
def test_a_scheduler_that_cannot_be_reached_is_named_within_ten_seconds(cli, address):
    pytest.importorskip(
        "distributed", reason="the optional package `distributed` is not installed"
    )
    with socket.socket() as mute:  # it takes connections and sends nothing
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        start = time.monotonic()
        run = cli(
            SCRIPT,
            *PLAN,
            "--scheduler",
            address.format(free=free_port(), mute=mute.getsockname()[1]),
            timeout=30,
        )
    assert time.monotonic() - start < 10
    errors = [
        line for line in run.stderr.splitlines() if not line.startswith("warning:")
    ]
    assert run.returncode == 2 and len(errors) == 1 and "can't be reached" in errors[0]


def test_without_the_package_the_flag_says_what_to_install(cli, tmp_path):
    (tmp_path / "distributed.py").write_text("raise ImportError('not here')\n")
    run = cli(
        SCRIPT,
        *PLAN,
        "--scheduler",
        "tcp://127.0.0.1:1",
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert run.returncode == 2 and "needs the package `distributed`" in run.stderr
