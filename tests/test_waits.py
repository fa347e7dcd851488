"""What a server may say of waiting, in any unit or size: it is obeyed up to two minutes, or ends
the run so that the same command resumes, or is no wait and the call is asked again."""

import itertools
import json
import time

import pytest
from conftest import run_in
from tournaments import derived

import run_pilot
from common import Incomplete
from common.reading import read
from common.wire import Exchange

DAY_S = 86_400
NOW = 1_795_341_600  # as a `Date` tells the server's clock
DATE = "Sun, 22 Nov 2026 10:00:00 GMT"

# What stands where the wait belongs: (value, seconds of it). None: no wait is told, so it is an
# error like any other and is asked again within a second. "ends": too long.
VALUES = {
    "seconds": [
        ("40", 40),
        (" 40 ", 40),
        ("1.5", 1.5),
        ("0.2", 0.2),
        ("120", 120),
        ("4e1", 40),
        ("121", "ends"),
        ("1e15", "ends"),
        ("1e400", "ends"),
        ("9" * 400, "ends"),
        *(
            (text, None)
            for text in ("inf", "0", "-1", "nan", "", "soon", "1_0", "٣", "10s", "1 2")
        ),
    ],
    "dates": [
        ("Sun, 22 Nov 2026 10:01:30 GMT", 90),
        ("Sun, 22 Nov 2026 09:59:00 GMT", None),
        ("Sun, 22 Nov 2026 10:02:00 GMT", 120),
        ("Sun, 22 Nov 2026 10:02:01 GMT", "ends"),
        ("Sun, 22 Nov 2026 11:01:30 +0100", 90),
        ("Sun, 22 Nov 2026 10:01:30 -0000", 90),
        ("Sunday, 22-Nov-26 10:01:30 GMT", 90),
        ("Fri, 31 Dec 9999 23:59:59 GMT", "ends"),
        ("Fri, 31 Dec 9999 23:59:59 -1200", "ends"),
        ("Mon, 01 Jan 0001 00:00:00 GMT", None),
        ("Mon, 01 Jan 0001 00:00:00 +1400", None),
        ("Mon, 99 Foo 2026 99:99:99 GMT", None),
        ("Sun, 22 Nov 99999 10:01:30 GMT", None),
        ("2026-11-22T10:01:30Z", None),
    ],
    "resets": [
        (str((NOW + 90) * 1000), 90),
        (str(NOW + 90), 90),
        (str((NOW + 90) * 10**6), 90),
        (str((NOW + 90) * 10**9), 90),
        (str((NOW - 90) * 1000), None),
        (str((NOW + 7200) * 1000), "ends"),
        ("60", 60),
        ("1e11", None),
        ("1e14", None),
        ("1e17", None),
        ("1e18", None),
        ("1e21", "ends"),
        ("-1", None),
        ("never", None),
    ],
    "numbers": [
        (40, 40),
        (1.5, 1.5),
        (120, 120),
        (121, "ends"),
        (10**400, "ends"),
        (1e308, "ends"),
        (float("inf"), "ends"),
        (float("nan"), None),
        (0, None),
        (-(10**400), None),
        (True, None),
        (None, None),
        ([40], None),
        ({}, None),
        ("40", 40),
        ("1e12", "ends"),
        ("soon", None),
    ],
}


def limited(headers=(), **error):
    return Exchange(
        429,
        {"date": DATE, **dict(headers)},
        json.dumps({"error": {"code": 429} | error}),
    )


PLACES = {
    "Retry-After": (lambda v: limited({"retry-after": v}), ("seconds", "dates")),
    "X-RateLimit-Reset": (lambda v: limited({"x-ratelimit-reset": v}), ("resets",)),
    "availability": (lambda v: limited(availability={"retry_after": v}), ("numbers",)),
    "metadata": (lambda v: limited(metadata={"retry_after_seconds": v}), ("numbers",)),
    "metadata.headers": (
        lambda v: limited(metadata={"headers": {"Retry-After": v}}),
        ("seconds", "numbers"),
    ),
    "a day's cap": (
        lambda v: limited(
            metadata={
                "retry_after_seconds": v,
                "limit_source": "openrouter_free_tier_daily",
            }
        ),
        ("numbers",),
    ),
}
CASES = [
    (place, value, seconds)
    for place, (_, kinds) in PLACES.items()
    for kind in kinds
    for value, seconds in VALUES[kind]
]


@pytest.mark.parametrize(
    ("place", "value", "seconds"), CASES, ids=lambda part: repr(part)[:40]
)
def test_a_wait_is_obeyed_or_ends_the_run_or_is_none(bench, place, value, seconds):
    run = bench("a", {"a": [PLACES[place][0](value)]})
    if seconds == "ends" or place == "a day's cap":
        assert isinstance(run.ending.stop, Incomplete) and len(run.sent) == 1
        assert " UTC" in str(run.ending.stop) and str(run.ending.stop).endswith(
            "resumes"
        )
    else:
        assert run.ending.stop is None and len(run.sent) == 2
        least = max(1.0, seconds) if seconds else 0
        assert least <= run.sent[1][0] <= (least or 1) + 0.5
    assert bench("a").ending.results[0].outcome == "ok"


@pytest.mark.parametrize("first", range(6))
def test_the_first_place_that_says_something_counts(bench, first):
    waits = [
        value if place >= first else ""
        for place, value in enumerate((7, 8, "9", "10", "11", "12"))
    ]
    exchange = limited(
        {"retry-after": waits[3], "x-ratelimit-reset": waits[5]},
        availability={"retry_after": waits[0]},
        metadata={
            "retry_after_seconds": waits[1],
            "headers": {"Retry-After": waits[2], "X-RateLimit-Reset": waits[4]},
        },
    )
    assert bench("a", {"a": [exchange]}).sent[1][0] == pytest.approx(7 + first, abs=0.5)


LATER = "Sun, 22 Nov 2026 10:01:30 GMT"
DATED = {"retry-after": LATER, "date": DATE}


@pytest.mark.parametrize(
    ("headers", "now", "wait"),
    [
        (DATED, 0.0, 90),
        (DATED, 4e9, 90),
        (DATED | {"date": "yesterday"}, NOW, 90),
        ({"retry-after": LATER}, NOW, 90),
        ({"retry-after": LATER}, NOW + 100, None),
    ],
)
def test_a_date_to_wait_for_counts_from_the_server_s_clock(headers, now, wait):
    assert read(Exchange(429, headers, "{}"), now).wait == wait


def test_a_clock_that_jumps_by_a_day_changes_no_result_and_no_wait(
    tmp_path, double, monkeypatch
):
    def derive(name):
        double.script(faults=[{"fault": "429-date", "times": 1, "skip": 1}])
        done = run_pilot.main(
            [
                "--runs",
                "2",
                "--base-url",
                double.url,
                "--models",
                "double/a",
                "--concurrency",
                "1",
                "--out",
                str(tmp_path / name),
            ]
        )
        assert done.code == 0  # a wait of a day would end it
        return derived(run_in(tmp_path / name))

    steady, now, gmtime = derive("steady"), time.time, time.gmtime
    shifts = itertools.cycle((0, DAY_S, -DAY_S))
    monkeypatch.setattr(time, "time", lambda: now() + next(shifts))
    monkeypatch.setattr(
        time,
        "gmtime",
        lambda at=None: gmtime(now() + next(shifts) if at is None else at),
    )
    assert derive("jumped") == steady and len(steady) > 4
