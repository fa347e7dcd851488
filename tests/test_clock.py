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


def test_a_live_run_that_is_told_to_wait_until_a_date_waits_as_long(tmp_path, double, monkeypatch):
    def derive(name):
        double.script(faults=[{"fault": "429-date", "times": 1, "skip": 1}])
        done = run_pilot.main(["--runs", "2", "--base-url", double.url, "--models", "double/a",
                               "--concurrency", "1", "--out", str(tmp_path / name)])
        assert done.code == 0  # a wait of a day would end it
        return derived(run_in(tmp_path / name))
    steady, now, gmtime = derive("steady"), time.time, time.gmtime
    shifts = itertools.cycle((0, DAY, -DAY))
    monkeypatch.setattr(time, "time", lambda: now() + next(shifts))
    monkeypatch.setattr(time, "gmtime", lambda at=None: gmtime(
        now() + next(shifts) if at is None else at))
    assert derive("jumped") == steady and len(steady) > 4


LATER = "Sun, 22 Nov 2026 10:01:30 GMT"
NOON = {"retry-after": LATER, "date": "Sun, 22 Nov 2026 10:00:00 GMT"}


@pytest.mark.parametrize(("headers", "now", "wait"), [
    (NOON, 0.0, 90), (NOON, 4e9, 90), ({**NOON, "date": "yesterday"}, 1795341600.0, 90),
    ({"retry-after": LATER}, 1795341600.0, 90), ({"retry-after": LATER}, 1795341700.0, None)])
def test_a_date_to_wait_for_counts_from_the_server_s_own(headers, now, wait):
    assert read(Exchange(429, headers, "{}"), now).wait == wait
