"""A clock on the wall that jumps by a day, there and back, changes no result and stops no run."""

import itertools
import time

import pytest
from conftest import run_in
from tournaments import derived

import run_pilot
from common.reading import read
from common.wire import Exchange

DAY = 86_400


@pytest.fixture(params=[(DAY, 0), (-DAY, 0), (0, DAY, -DAY)], ids=["on", "back", "both"])
def jumping(request, monkeypatch):
    """From now on every look at the clock finds it a day away from the last."""
    shifts, now, gmtime = itertools.cycle(request.param), time.time, time.gmtime
    monkeypatch.setattr(time, "time", lambda: now() + next(shifts))
    monkeypatch.setattr(time, "gmtime", lambda at=None: gmtime(
        now() + next(shifts) if at is None else at))


def piloted(out, *flags):
    """What must be the same of a pilot."""
    assert run_pilot.main(["--runs", "2", "--out", str(out), *flags]).code == 0
    return derived(run_in(out))


def test_a_simulated_run_says_the_same(tmp_path, jumping, monkeypatch):
    jumped = piloted(tmp_path / "jumped")
    monkeypatch.undo()
    assert jumped == piloted(tmp_path / "steady") and len(jumped) > 4


def test_a_live_run_that_is_told_to_wait_until_a_date_waits_as_long(
        tmp_path, double, jumping, monkeypatch):
    def run(name):
        double.script(faults=[{"fault": "429-date", "times": 1, "skip": skip} for skip in (1, 5)])
        return piloted(tmp_path / name, "--base-url", double.url, "--models", "double/a",
                       "--concurrency", "1")
    jumped = run("jumped")  # a wait of a day would end it
    monkeypatch.undo()
    assert jumped == run("steady")


LATER = "Sun, 22 Nov 2026 10:01:30 GMT"
NOON = {"retry-after": LATER, "date": "Sun, 22 Nov 2026 10:00:00 GMT"}


@pytest.mark.parametrize(("headers", "now", "wait"), [
    (NOON, 0.0, 90), (NOON, 4e9, 90), ({**NOON, "date": "yesterday"}, 1795341600.0, 90),
    ({"retry-after": LATER}, 1795341600.0, 90), ({"retry-after": LATER}, 1795341700.0, None)])
def test_a_date_to_wait_for_counts_from_the_server_s_own(headers, now, wait):
    assert read(Exchange(429, headers, "{}"), now).wait == wait
