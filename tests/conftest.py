"""What the tests of the call layer share: a server double, a clock that takes no time, the CLI."""

import asyncio
import gzip
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import partial
from io import BytesIO, TextIOWrapper
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from unittest import mock

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from double import Double  # noqa: E402
from hypothesis import settings  # noqa: E402
from provider import (  # noqa: E402, F401 - what tests take from here
    PRICE,
    Provider,
    call,
    completion,
    conducted,
    failure,
    request,
    scripted,
)

from cirrus.ask.bulletins import PROMPTS  # noqa: E402
from cirrus.ask.cues import use  # noqa: E402

# No test judges speed. The usual run draws the same examples each time: who looks for new ones asks
# for more of them.
settings.register_profile(
    "here", deadline=None, derandomize="RELIABILITY_EXAMPLES" not in os.environ
)
settings.load_profile("here")
# No test cuts the power. Those that ask whether a file is synced put in their own.
os.fsync = lambda handle: None


def scripts():
    """The project's, by name; a file that a user has put beside them is none."""
    names = []
    for path in sorted(ROOT.glob("*.py")):
        if path.read_text("utf-8").startswith("#!"):
            names.append(path.name)
    return names


@pytest.fixture(autouse=True)
def projects_own_prompts():
    """A script that a test ran in this process may have left others for the respondents."""
    use(PROMPTS)


@pytest.fixture(scope="session")
def session_double():
    with Double() as double:
        yield double


@pytest.fixture
def double(session_double):
    """A loopback server as specified, without latency or faults until a test scripts them."""
    return session_double.script()


@pytest.fixture
def shell(tmp_path):
    """shell(script, flags…) → the finished process, run in an empty folder."""
    return partial(process, tmp_path)


@pytest.fixture
def cli(tmp_path):
    """cli(script, flags…) → the same, with the script run in this process."""
    return partial(ended, tmp_path)


def process(
    folder, script, *flags, key="", python=sys.executable, timeout=60, env=(), **more
):
    """A script of the project run in `folder`, in a process of its own."""
    return subprocess.run(
        [python, str(ROOT / script), *map(str, flags)],
        cwd=folder,
        text=True,
        timeout=timeout,
        capture_output=True,
        env=clean_environment(key) | dict(env),
        **more,
    )


def a_loop_runs():
    """Whether an event loop runs in this thread already, as with a browser that is driven."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def ended(folder, script, *flags, key="", env=(), timeout=60):
    """The same in this process, in a tenth of the time; a process where it starts others."""
    from cirrus.ask.bulletins import PROMPTS
    from cirrus.ask.cues import use

    flags = list(map(str, flags))
    if {"--jobs", "--scheduler"} & set(flags) or a_loop_runs():
        return process(folder, script, *flags, key=key, env=env, timeout=timeout)
    out, err = (TextIOWrapper(BytesIO(), "utf-8", write_through=True) for _ in range(2))
    before = signal.getsignal(signal.SIGINT)
    with (
        chdir(folder),
        redirect_stdout(out),
        redirect_stderr(err),
        mock.patch.dict(os.environ, clean_environment(key) | dict(env), clear=True),
        mock.patch.object(sys, "argv", [script, *flags]),
        pytest.raises(SystemExit) as left,
    ):
        run_path(str(ROOT / script), run_name="__main__")
    signal.signal(signal.SIGINT, before)
    use(PROMPTS)  # what another run's prompts were is forgotten
    stdout, stderr = (stream.buffer.getvalue().decode() for stream in (out, err))
    return SimpleNamespace(returncode=left.value.code, stdout=stdout, stderr=stderr)


def forked(folder, *command, **more):
    """The same in a process forked from this one, which takes no interpreter's start to kill."""
    child = multiprocessing.get_context("fork").Process(
        target=lambda: os._exit(ended(folder, *command, **more).returncode)
    )
    child.start()
    return child


def run_in(folder):
    """The only run in a folder, whatever its settings have named it."""
    [run] = (path for path in Path(folder).iterdir() if path.is_dir())
    return run


def edit(folder, change, name="manifest.json"):
    """Change a JSON file of a folder as an object."""
    data = json.loads((folder / name).read_bytes())
    change(data)
    text = json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False)
    (folder / name).write_text(text + "\n", "utf-8")


def packed(data):
    """Bytes packed as a run's files are: one gzip member without name, time or system."""
    header = b"\x1f\x8b\x08\0\0\0\0\0\x02\xff"
    return header + gzip.compress(data, mtime=0)[len(header) :]


@pytest.fixture
def live(cli, tmp_path):
    """run_tournament.py against a double, which serves double/a to double/d."""
    (tmp_path / "live.json").write_text(
        json.dumps(
            {
                "models": {
                    "strategy": {"name": "double/c"},
                    "decision": {"name": "double/a"},
                }
            }
        )
    )

    def run(double, *flags, **more):
        return cli(
            "run_tournament.py",
            "--base-url",
            double.url,
            "--models",
            "double/a",
            "--config",
            "live.json",
            *flags,
            **more,
        )

    return run


@pytest.fixture(scope="module")  # its loop runs in this thread until it is closed
def browser():
    """Chromium, driven by playwright; skipped where one of them is missing."""
    binary = shutil.which("chromium") or shutil.which("google-chrome")
    if binary is None:
        pytest.skip("no Chromium on this machine")
    api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed"
    )
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=binary, args=["--no-sandbox"])
        yield browser
        browser.close()


def pythons():
    """(version, interpreter or None) of each supported Python, on the path or under pyenv."""
    roots = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in ("3.11", "3.12", "3.13", "3.14"):
        programs = sorted(roots.glob(f"{version}.*/bin/python3"))
        yield (
            version,
            str(programs[-1]) if programs else shutil.which(f"python{version}"),
        )


def clean_environment(key=""):
    """Nothing of the caller's: neither key nor proxies nor Python settings."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "OPENROUTER_API_KEY": key,
        "LANG": "C.UTF-8",
    }


def complete(client, req):
    """What a client's call comes to."""

    async def sent():
        return await asyncio.wait_for(
            client.send(client.body(req), client.deadline_s), 60
        )

    return asyncio.run(sent())


@pytest.fixture
def bench(tmp_path):
    """bench(names, script) asks one call a name, or `studies`, on the virtual clock. `provider`:
    another, or a client that asks over HTTP."""

    def run(
        names,
        script=(),
        limit=None,
        usual=None,
        price=PRICE,
        concurrency=8,
        studies=None,
        seconds=0.0,
        provider=None,
        announce=True,
        **more,
    ):
        provider = provider or Provider(scripted(dict(script), usual, seconds), price)
        if studies is None:
            studies = [call(request(name)) for name in names]
        announced = [(request(name), 1) for name in names if announce]
        return conducted(
            tmp_path, provider, studies, limit, concurrency, announced, **more
        )

    return run


def pytest_runtest_logreport(report):
    """A failure is printed when it happens, not after the last test."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\nFAILED {report.nodeid}\n{report.longreprtext}", flush=True)


def pytest_collection_modifyitems(items):
    """The long ones first: spread over processes, no core waits for the last of them."""
    items.sort(key=lambda item: "reliability" not in item.nodeid)
