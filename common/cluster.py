"""Run the same work on one core, in several processes of this machine, or on a Dask
cluster.

    with mapped(conduct, jobs, processes=2) as results:
        for at, result in results:                       # in the order of completion

The work is a function of this project with one argument; both must be picklable. If a
worker dies, the command ends as incomplete: the journals keep what was done, and the
same command does the rest.
"""

import importlib
import logging
import os
import pickle
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from itertools import islice
from multiprocessing import (
    active_children,
    connection,
    get_context,
    parent_process,
)
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from common import Incomplete, UsageError

ROOT = str(Path(__file__).resolve().parents[1])
AGAIN = "run the same command again"


@contextmanager
def mapped(
    work: Callable[[Any], Any],
    jobs: Sequence[Any],
    processes: int = 1,
    scheduler: str | None = None,
) -> Iterator[Iterator[tuple[int, Any]]]:
    """Yield an iterator over (place in `jobs`, result), in the order of completion.
    Raise Incomplete if a worker is lost."""
    if scheduler:
        with _dask(scheduler) as pool:
            there = partial(_there, ROOT, work.__module__, work.__name__)
            packed = [pickle.dumps(job) for job in jobs]
            yield _collected(pool, there, packed, len(jobs))
    elif min(processes, len(jobs)) < 2:
        yield enumerate(map(work, jobs))
    else:
        try:
            with (
                ProcessPoolExecutor(
                    processes, get_context("spawn"), _follow_parent
                ) as pool,
                _ending_workers(),
            ):
                yield _collected(pool, partial(_interruptible, work), jobs, processes)
        except BrokenProcessPool:
            raise Incomplete(f"a worker was killed; {AGAIN}") from None


def _collected(
    pool: Executor, work: Callable[..., Any], jobs: Sequence[Any], most: int
) -> Iterator[tuple[int, Any]]:
    """Give out at most `most` jobs at a time, a new one as each ends, so that at a stop
    every job given out has begun."""
    left = enumerate(jobs)
    running: dict[Future[Any], int] = {}
    while True:
        with _signals_later():
            for at, job in islice(left, most - len(running)):
                running[pool.submit(work, job)] = at
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            yield running.pop(future), future.result()


@contextmanager
def _signals_later() -> Iterator[None]:
    """Let signals arrive after this block only. Workers that start in it receive none
    either until they are ready: interrupted before, they would print a traceback."""
    if not hasattr(signal, "pthread_sigmask"):  # no Unix
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _ending_workers() -> Iterator[None]:
    """End the workers too if this block is interrupted: a signal may have reached this
    process alone, and the pool would wait for its workers."""
    try:
        yield
    except KeyboardInterrupt:
        for worker in active_children():
            worker.terminate()
        raise


def _follow_parent() -> None:
    """Make this worker ready for signals, and end it when its parent is gone: otherwise
    it would keep the runs' folders locked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
    os._exit(1)


def _interruptible(work: Callable[..., Any], job: Any) -> Any:
    """Do one job in a worker. A terminal's Ctrl-C reaches every process; here it ends a
    job, but not a worker that waits for a job."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return work(job)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    try:
        from distributed import CancelledError, Client
        from distributed.scheduler import KilledWorker
    except ImportError:
        raise UsageError(
            "--scheduler needs the package `distributed`: python3 -m pip install "
            "'distributed>=2024.1'"
        ) from None
    logging.disable(logging.CRITICAL)  # what went wrong is said in one line
    try:
        where = urlsplit(address)
        with socket.create_connection((where.hostname, where.port), 5) as probe:
            probe.recv(1)  # a scheduler speaks first
        client = Client(address, timeout=5, set_as_default=False)
        client.wait_for_workers(1, 5)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--scheduler: {address} can't be reached, or has no worker ({error}); "
            "start them with `dask scheduler` and `dask worker`"
        ) from None
    try:
        with client:
            yield client.get_executor(pure=False)
    except (CancelledError, KilledWorker):
        raise Incomplete(f"the cluster at {address} lost the work; {AGAIN}") from None


def _there(root: str, module: str, name: str, job: bytes) -> Any:
    """Do one job on a Dask worker. Neither the worker nor the scheduler may have this
    project on its path, so this function is sent by value and brings the path."""
    sys.path.insert(0, root)
    work = getattr(importlib.import_module(module), name)
    return work(pickle.loads(job))


_there.__module__ = "__main__"  # pickle then sends the function itself, not its name
