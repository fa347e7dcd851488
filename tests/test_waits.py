"""What a server may say of waiting, in any unit or size: it is obeyed up to two minutes, or ends
the run so that the same command resumes, or is no wait and the call is asked again."""

import json

import pytest

from common import Incomplete
from common.reading import read
from common.wire import Exchange

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


@pytest.mark.parametrize(
    ("reset", "until"),
    [
        ("", "2026-01-02 00:00 UTC"),
        ("3600", "2026-01-01 10:30 UTC"),
        ("86400000", "2026-01-02 09:30 UTC"),
    ],
)
def test_a_cap_of_a_day_ends_the_run_and_says_when_it_is_lifted(bench, reset, until):
    """The test's clock stands at 09:30:15. Without a time it is the next midnight in UTC; a number
    may be seconds from now, or milliseconds."""
    body = {"error": {"code": 429, "message": "50 requests per day"}}
    full = Exchange(429, {"x-ratelimit-reset": reset}, json.dumps(body))
    stop = str(bench("a", {"a": [full]}).ending.stop)
    assert f"the cap is lifted at {until}; the same command resumes" in stop
