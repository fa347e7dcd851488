"""What a server may say of waiting, in any unit or size: it is obeyed up to two minutes, or ends
the run so that the same command resumes, or is no wait and the call is asked again."""

import itertools
import json
import time

import pytest
from conftest import ended, run_in
from tournaments import derived

from common import Incomplete
from common.reading import read
from common.wire import Exchange

DAY_S = 86_400
NOW = 1_795_341_600  # as a `Date` tells the server's clock
DATE = "Sun, 22 Nov 2026 10:00:00 GMT"
LATER = "Sun, 22 Nov 2026 10:01:30 GMT"
ENDS = "ends"  # too long: the run ends
# {what is said: seconds to wait}. None: no wait is told, so it is an error like any other and
# is asked again within a second.
SECONDS = {
    "40": 40,
    " 40 ": 40,
    "1.5": 1.5,
    "0.2": 0.2,
    "120": 120,
    "121": ENDS,
    "1e400": ENDS,
    "9" * 400: ENDS,
    **dict.fromkeys(("inf", "0", "-1", "nan", "", "soon", "1_0", "٣", "10s")),
}
DATES = {
    LATER: 90,
    "Sun, 22 Nov 2026 11:01:30 +0100": 90,
    "Sunday, 22-Nov-26 10:01:30 GMT": 90,
    "Sun, 22 Nov 2026 10:02:00 GMT": 120,
    "Sun, 22 Nov 2026 10:02:01 GMT": ENDS,
    "Fri, 31 Dec 9999 23:59:59 -1200": ENDS,
    "Sun, 22 Nov 2026 09:59:00 GMT": None,
    "Mon, 01 Jan 0001 00:00:00 +1400": None,
    "Mon, 99 Foo 2026 99:99:99 GMT": None,
    "2026-11-22T10:01:30Z": None,
}
RESETS = {
    "1795341690000": 90,
    "1795341690": 90,
    "1795341690000000": 90,
    "1795341690000000000": 90,
    "1795341510000": None,
    "1795348800000": ENDS,
    "60": 60,
    "1e11": None,
    "1e21": ENDS,
    "-1": None,
    "never": None,
}
NUMBERS = {40: 40, 1.5: 1.5, 121: ENDS, 10**400: ENDS, 1e308: ENDS, 0: None, -2: None}
NO_NUMBERS = (True, None, [40], {}, float("nan"))


def limited(headers=(), **error):
    body = json.dumps({"error": {"code": 429, **error}})
    return Exchange(429, {"date": DATE, **dict(headers)}, body)


def retry_after(value):
    return limited({"retry-after": value})


def reset_at(value):
    return limited({"x-ratelimit-reset": value})


def availability(value):
    return limited(availability={"retry_after": value})


def metadata(value):
    return limited(metadata={"retry_after_seconds": value})


def upstream(value):
    return limited(metadata={"headers": {"Retry-After": value}})


CASES = [
    *((retry_after, *each) for each in (SECONDS | DATES).items()),
    *((reset_at, *each) for each in RESETS.items()),
    *((availability, *each) for each in NUMBERS.items()),
    *((metadata, *each) for each in NUMBERS.items()),
    *((metadata, value, None) for value in NO_NUMBERS),
    *((upstream, *each) for each in SECONDS.items()),
]


def shown(part):
    return getattr(part, "__name__", repr(part)[:40])


@pytest.mark.parametrize(("place", "value", "seconds"), CASES, ids=shown)
def test_a_wait_is_obeyed_or_ends_the_run_or_is_none(bench, place, value, seconds):
    run = bench("a", {"a": [place(value)]})
    if seconds == ENDS:
        assert isinstance(run.ending.stop, Incomplete) and len(run.sent) == 1
    else:
        assert run.ending.stop is None and len(run.sent) == 2
        waited, _ = run.sent[1]
        least = 0
        if seconds is not None:
            least = max(1.0, seconds)
        assert least <= waited <= (least or 1) + 0.5
    assert bench("a").ending.results[0].outcome == "ok"


@pytest.mark.parametrize("first", range(6))
def test_the_first_place_that_says_something_counts(bench, first):
    waits = [""] * first + ["7", "8", "9", "10", "11", "12"][: 6 - first]
    headers = {"retry-after": waits[3], "x-ratelimit-reset": waits[5]}
    passed_on = {"Retry-After": waits[2], "X-RateLimit-Reset": waits[4]}
    said = {"retry_after_seconds": waits[1], "headers": passed_on}
    exchange = limited(headers, availability={"retry_after": waits[0]}, metadata=said)
    waited, _ = bench("a", {"a": [exchange]}).sent[1]
    assert waited == pytest.approx(7, abs=0.5)


DATED = {"retry-after": LATER, "date": DATE}


@pytest.mark.parametrize(
    ("headers", "now", "wait"),
    [
        (DATED, 0.0, 90),
        (DATED, 4e9, 90),
        (DATED | {"date": "yesterday"}, NOW, 90),
        ({"retry-after": LATER}, NOW + 100, None),
    ],
)
def test_a_date_to_wait_for_counts_from_the_server_s_clock(headers, now, wait):
    assert read(Exchange(429, headers, "{}"), now).wait == wait


def test_a_clock_that_jumps_by_a_day_changes_no_result_and_no_wait(
    tmp_path, double, monkeypatch
):
    flags = ("--runs", 2, "--models", "double/a", "--concurrency", 1, "--out")

    def derive(name):
        double.script(faults=[{"fault": "429-date", "times": 1, "skip": 1}])
        where = ("--base-url", double.url)
        done = ended(tmp_path, "run_pilot.py", *where, *flags, name)
        assert done.returncode == 0  # a wait of a day would end it
        return derived(run_in(tmp_path / name))

    steady, now, gmtime = derive("steady"), time.time, time.gmtime
    shifts = itertools.cycle((0, DAY_S, -DAY_S))

    def jumping(at=None):
        return gmtime(now() + next(shifts) if at is None else at)

    monkeypatch.setattr(time, "time", lambda: now() + next(shifts))
    monkeypatch.setattr(time, "gmtime", jumping)
    assert derive("jumped") == steady and len(steady) > 4
