"""The same work on one core, on processes of this machine, or on a Dask cluster.

    for at, result in mapped(conduct, jobs, processes=2):              # as they come
        ...

Work is a function of this project with one argument; both can be pickled. A worker that dies is
replaced: what it had journalled is kept, so its work goes on where it stopped.
"""

import atexit
import logging
import multiprocessing
import os
import pickle
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from common import INCOMPLETE, USAGE, Incomplete, UsageError

ROOT = str(Path(__file__).resolve().parents[1])
DEATHS = 3            # worker deaths in a row without a result before giving up
PROBE_S, CONNECT_S = 3, 5    # to reach a scheduler: together well under ten seconds


def mapped(work: Callable[[Any], Any], jobs: Sequence[Any], processes: int = 1,
           scheduler: str | None = None) -> Iterator[tuple[int, Any]]:
    """(place in `jobs`, result) as results come; here and now where nothing else is asked for.

    Incomplete where workers keep dying; UsageError where the scheduler can't be reached.
    """
    if scheduler:
        with _dask(scheduler) as pool:
            yield from _collected(pool, _portable(work), [pickle.dumps(job) for job in jobs],
                                  pickle.loads)
    elif processes > 1 and len(jobs) > 1:
        yield from _in_processes(work, jobs, min(processes, len(jobs)))
    else:
        yield from ((at, work(job)) for at, job in enumerate(jobs))


def _collected(pool: Executor, work: Callable, jobs: Sequence[Any],
               unpack: Callable = lambda result: result) -> Iterator[tuple[int, Any]]:
    places = {pool.submit(work, job): at for at, job in enumerate(jobs)}
    try:
        for future in as_completed(places):
            yield places[future], unpack(future.result())
    finally:
        for future in places:
            future.cancel()


# --- processes of this machine -----------------------------------------------------------------

def _in_processes(work: Callable, jobs: Sequence[Any], processes: int) -> Iterator:
    left, deaths = dict(enumerate(jobs)), 0
    spawn = multiprocessing.get_context("spawn")
    while left:
        order, stop = list(left), spawn.Event()
        try:
            with ProcessPoolExecutor(processes, spawn, _begin, (stop,)) as pool, _set_after(stop):
                for at, result in _collected(pool, partial(_unless_stopped, work),
                                             [left[place] for place in order]):
                    deaths = 0
                    del left[order[at]]
                    yield order[at], result
        except BrokenProcessPool:
            deaths += 1
            if deaths >= DEATHS:
                raise Incomplete(f"worker processes were killed {deaths} times in a row; the same "
                                 "command resumes") from None


_stop: Any = None  # in a worker: set when the parent wants no further work begun


def _begin(stop: Any) -> None:
    """A worker whose parent was killed must not go on: it would hold the runs' folders."""
    global _stop
    _stop = stop
    # A terminal's Ctrl-C reaches every process: it must end work, not the waiting for it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)
    threading.Thread(target=watch, daemon=True, name="parent-watch").start()


def _unless_stopped(work: Callable, job: Any) -> Any:
    """The result, None where the parent has stopped. Ctrl-C ends the work, and the parent hears."""
    if _stop.is_set():
        return None
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return work(job)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _set_after(stop: Any) -> Iterator[None]:
    """However the block is left, what waits in a worker's queue is not begun."""
    try:
        yield
    finally:
        stop.set()


# --- a Dask cluster ----------------------------------------------------------------------------

@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    """An executor over the cluster at `address`, which shares this machine's file system."""
    try:
        from distributed import Client
        from distributed.scheduler import KilledWorker
    except ImportError:
        raise UsageError("--scheduler needs the package `distributed`: python3 -m pip install "
                         "'distributed>=2024.1'") from None
    logging.disable(logging.CRITICAL)  # what went wrong is said in one line
    client = _probe(address) or _within(
        CONNECT_S, lambda: Client(address, timeout=CONNECT_S, set_as_default=False))
    if not isinstance(client, Client):
        atexit.register(_leave, USAGE)
        why = " ".join(str(client).split()) or type(client).__name__
        raise UsageError(f"--scheduler: {address} can't be reached ({why[:120]}); start it with "
                         "`dask scheduler`, or leave the flag out")
    with client:
        if not client.scheduler_info()["workers"]:
            raise UsageError(f"--scheduler: {address} has no workers; start some with "
                             f"`dask worker {address}`")
        try:
            yield client.get_executor(pure=False, retries=DEATHS)
        except (KilledWorker, CancelledError, OSError) as error:
            atexit.register(_leave, INCOMPLETE)
            raise Incomplete(f"the cluster at {address} lost the work ({type(error).__name__}); "
                             "the same command resumes") from None


def _probe(address: str) -> Exception | None:
    """Why nobody can be listening at `address`; None where a connection is taken."""
    try:
        parts = urlsplit(address)
        if parts.scheme not in ("tcp", "tls") or not parts.hostname or not parts.port:
            return ValueError("an address is tcp://host:port")
        socket.create_connection((parts.hostname, parts.port), timeout=PROBE_S).close()
    except (OSError, ValueError) as error:
        return error
    return None


def _leave(code: int) -> None:
    """At exit a client without its scheduler would be waited for, and complain."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _within(seconds: float, action: Callable[[], Any]) -> Any:
    """The action's result, or the error it ended in; a TimeoutError where it does not end.

    A server that takes the connection and then says nothing is past the library's own timeout.
    """
    ended: list[Any] = [TimeoutError(f"no answer within {seconds:g} s")]

    def act() -> None:
        try:
            ended[:] = [action()]
        except Exception as error:
            ended[:] = [error]
    thread = threading.Thread(target=act, daemon=True, name="connect")
    thread.start()
    thread.join(seconds)
    return ended[0]


def _portable(work: Callable) -> Callable[[bytes], bytes]:
    """`work` for a worker that does not have this project on its path.

    A function made here travels by value; it brings the path along, and everything else as bytes
    that are unpacked only then.
    """
    root, module, name = ROOT, work.__module__, work.__name__

    def there(packed: bytes) -> bytes:
        import importlib
        import pickle
        import sys
        if root not in sys.path:
            sys.path.insert(0, root)
        return pickle.dumps(getattr(importlib.import_module(module), name)(pickle.loads(packed)))
    there.__module__ = "__main__"
    return there


