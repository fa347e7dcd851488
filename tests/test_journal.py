"""The journal: whole lines only, chained by hash, nothing answered twice, nothing charged away.

A run is started on the virtual clock, torn, damaged and started again; its file is read with the
standard library alone.
"""

import errno
import json
import os
import threading
import time
from unittest import mock

import pytest
from provider import PRICE, Provider, call, completion, conducted, failure, request

from common import Incomplete, UsageError, wire
from common.artifacts import gzip_bytes

COST = 0.0001  # of a usual answer
ODD = completion('a\ud800b "quoted" δ \u2028 \x00')


@pytest.fixture
def start(bench):
    """start(names, {name: [answers before the usual one]}) drives a chain of a call each."""

    def run(names, answers=()):
        return bench(
            names,
            answers,
            usual=lambda each: completion(each.id),
            concurrency=1,
            chains=lambda: [call(request(name, user="u")) for name in names],
            announce=False,
        )

    return run


def lines_of(run):
    return run.path.read_bytes().splitlines(keepends=True)


def full_after(room, write=os.write):
    """An os.write with room for so many bytes on files."""

    def limited(handle, data):
        nonlocal room
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done = write(handle, data[:room])
        room -= done
        return done

    return limited


# --- what is written ---------------------------------------------------------------------------


def test_a_line_is_ascii_and_holds_the_attempt_with_the_raw_response(start):
    slow = failure(429)._replace(latency_s=1.23456)
    first, second = map(json.loads, lines_of(start("a", {"a": [slow, ODD]})))
    assert (first["attempt"], first["outcome"]) == (1, None)
    assert (second["attempt"], second["outcome"]) == (2, "ok")
    assert (first["response"]["status"], first["latency_s"], second["latency_s"]) == (
        429,
        1.2346,
        0,
    )
    assert (second["request"], second["response"]["body"]) == ({"model": "m"}, ODD.body)
    assert (second["cost_usd"], second["charged_usd"]) == (COST, COST)


def test_a_line_is_written_at_once_and_is_on_disk_within_a_second(
    tmp_path, monkeypatch
):
    sizes, synced, write = [], threading.Event(), os.write
    monkeypatch.setattr(
        os, "write", lambda handle, data: sizes.append(len(data)) or write(handle, data)
    )
    monkeypatch.setattr(os, "fsync", lambda handle: synced.set())
    run = conducted(
        tmp_path,
        Provider(
            lambda call, _: (
                completion(),
                1.0 if call.id == "a" or synced.wait(1) else None,
            )
        ),
        lambda: [call(request(name)) for name in "ab"],
        limits=1,
    )
    assert sizes == [len(line) for line in lines_of(run)]


@pytest.mark.parametrize("names", ["a", "abc"])  # at the end, and on the way
def test_a_disk_that_does_not_take_what_it_was_given_stops_the_run(
    start, monkeypatch, names
):
    errors = [OSError(errno.EIO, os.strerror(errno.EIO))]

    def fails(handle):
        if errors:  # the first time, and meanwhile the run goes on
            time.sleep(0.05)
            raise errors.pop()

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(Incomplete, match=r"journal\.jsonl: Input/output error"):
        start(names)


def test_an_id_with_half_of_a_character_is_refused_before_it_is_sent(start):
    with pytest.raises(UsageError, match="holds half of a character") as fault:
        start(["a/\udfff"])
    assert str(fault.value).isascii()


# --- what is read back -------------------------------------------------------------------------


def test_attempts_and_charges_add_up_over_starts(start):
    billed = failure(500)._replace(
        body='{"error": {"code": 500}, "usage": {"cost": 0.25}}'
    )
    for _ in range(2):
        start("a", {"a": [billed] * 4})
    run = start("ab")
    assert run.budget.total.spent == pytest.approx(2 + 2 * COST)
    assert [json.loads(line)["attempt"] for line in lines_of(run)] == [*range(1, 10), 1]


# --- torn and damaged --------------------------------------------------------------------------


def fields(**changes):
    """The first line with other fields."""
    return lambda lines: [
        json.dumps(json.loads(lines[0]) | changes, separators=(",", ":")).encode()
        + b"\n"
    ]


UNFIT = "line 1: not a journal line"
DAMAGED = {
    "a line is gone": (lambda x: [x[0], x[2]], "line 2: does not follow from line 1"),
    "the first is gone": (lambda x: x[1:], "line 1: belongs to another configuration"),
    "two are exchanged": (lambda x: [x[0], x[2], x[1]], "line 2: does not follow"),
    "one stands twice": (lambda x: [x[0], *x], "line 2: does not follow"),
    "one has another byte": (
        lambda x: [x[0].replace(b"stop", b"stob"), *x[1:]],
        "line 2: does not follow",
    ),
    **{
        f"a line {line[:20]!r}": (
            lambda x, line=line: [x[0], line, x[1]],
            "line 2: not a journal line",
        )
        for line in (b"\n", b"{}\n", b"\xff\xfe\n", b"[" * 99_999 + b"\n")
    },
    **{
        f"{key} {value!r}": (fields(**{key: value}), UNFIT)
        for key, value in {
            "response": 5,
            "charged_usd": 1e9,
            "cost_usd": -1,
            "attempt": 0,
            "at": "2026-01-01",
            "request": {},
            "more": 1,
        }.items()
    },
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_line_is_named_and_the_file_left_alone(start, name):
    run, (change, words) = start("abc"), DAMAGED[name]
    run.path.write_bytes(data := b"".join(change(lines_of(run))))
    with pytest.raises(
        UsageError, match=rf"journal\.jsonl {words}.*restore it from a copy"
    ):
        start("abc")
    assert run.path.read_bytes() == data


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-30], lambda b: b"", lambda b: gzip_bytes(b"")]
)
def test_a_damaged_packed_journal_is_named_and_left_alone(start, damage):
    path = start("abc").path
    packed = path.with_suffix(".jsonl.gz")
    packed.write_bytes(broken := damage(gzip_bytes(path.read_bytes())))
    path.unlink()
    with pytest.raises(UsageError, match=r"journal\.jsonl\.gz: "):
        start("abc")
    assert packed.read_bytes() == broken and not path.exists()


def test_a_line_that_is_torn_anywhere_is_cut_off_and_its_call_sent_again(start):
    path = start("abc").path
    *lines, last = (whole := path.read_bytes()).splitlines(keepends=True)
    for length in range(len(last)):
        path.write_bytes(b"".join(lines) + last[:length])
        again = start("abc").sent
        assert [name for _, name in again] == ["c"] * (length < len(last) - 1)
        assert path.read_bytes() == whole


def test_on_a_full_disk_whole_lines_stay_and_the_next_start_does_the_rest(start):
    path = start("abc").path
    whole = path.read_bytes()
    for room in range(0, len(whole), 20):
        path.unlink()
        with (
            mock.patch.object(os, "write", full_after(room)),
            pytest.raises(Incomplete),
        ):
            start("abc")
        rest = path.read_bytes()
        assert whole.startswith(rest) and rest[-1:] in (b"", b"\n")
        assert (
            room - len(rest) <= len(whole) / 3
            and start("abc").path.read_bytes() == whole
        )


# --- calls in flight -----------------------------------------------------------------------------


@pytest.mark.parametrize("tail", ["", '{"id": "b", "att', '{"id": 5}\n[1]\n'])
def test_a_call_that_a_kill_lost_is_charged_once_and_a_torn_note_passed_over(
    tmp_path, tail
):
    def begun(**more):
        return conducted(
            tmp_path,
            Provider(**more),
            lambda: [call(request(name)) for name in "abc"],
            limits=1,
            announce=[(request("a"), 3)],
        )

    begun(kill=1)
    with open(tmp_path / "inflight.jsonl", "a") as file:
        file.write(tail)
    assert begun().lost == wire.worst_case(request("b"), PRICE, PRICE)
    assert begun().lost == 0 and not (tmp_path / "inflight.jsonl").exists()
