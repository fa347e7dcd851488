"""What the tests of the tournament share: small designs, answers, and what runs leave behind."""

import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from conftest import ROOT, clean_environment
from domains import DOMAINS

from cirrus.ask.design import design
from cirrus.ask.encounters import replay
from cirrus.ask.respondents import read_cues
from common.artifacts import read_bytes
from common.config import configuration
from common.journal import entries
from common.wire import WARMUP, Reply
from run_tournament import DEFAULT, SETTINGS, run_config

SCRIPT = "run_tournament.py"
SMALL = ("--agents", 3, "--rounds", 2)
MODELS = {
    stage: [{"name": f"m/{stage}", "max_out": 96, "effort": None}]
    for stage in ("strategy", "decision")
}


def settings(path=DEFAULT):
    """The project's configuration, under the file at `path`."""
    return configuration([DEFAULT, path], SETTINGS, {})


def configured(S="high", C="present", H="low", seed=42, **changes):
    return run_config(
        settings(),
        seed,
        MODELS,
        **{"toggles": {"S": S, "C": C, "H": H}, "turn": 0} | changes,
    )


def dealt(**changes):
    return design(DOMAINS["cvd"], configured(**changes))


def text_reply(text, outcome="ok"):
    return Reply(outcome, text, "stop", 10, 5, 0, 0.001, "m-served", "upstream")


def cooperating(request):
    """A policy, or the cooperative act of whatever scheme is shown."""
    if request.stage == "strategy":
        return text_reply("One.\nTwo.\nThree.")
    return text_reply(
        f"Decision: {read_cues(request.user).cooperative}\nRationale: as agreed."
    )


def requests(t, reply_of=cooperating):
    """{request id: request} of a run in which everybody answers."""
    seen = {}

    def note(request):
        seen[request.id] = request
        return reply_of(request)

    for round_ in t.rounds:
        replay(t, round_, note)
    return seen


def derived(folder):
    """{name: content} of what must not differ between two ways of running."""
    return {
        path.relative_to(folder).as_posix(): read_bytes(path)
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file() and not re.match(r"manifest\.json|journal\.jsonl", path.name)
    }


def answered(folder):
    """How often each id was answered, over all journals below `folder`."""
    return Counter(
        entry["id"]
        for path in sorted(Path(folder).rglob("journal.jsonl*"))
        for entry, _, _ in entries(path)
        if entry.get("outcome") and entry["stage"] != WARMUP
    )


def started(tmp_path, *flags, script=SCRIPT, **more):
    return subprocess.Popen(
        [sys.executable, str(ROOT / script), *map(str, flags)],
        cwd=tmp_path,
        text=True,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        **more,
    )


def wait_for(condition, seconds=30):
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "it never came to that"
        time.sleep(0.01)
