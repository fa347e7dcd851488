"""The journal: whole lines only, chained by hash, nothing answered twice, nothing charged away.

A run is started on the virtual clock, torn, damaged and started again; its file is read with the
standard library alone.
"""

import errno
import json
import os
import threading
import time
from functools import partial
from unittest import mock

import pytest
from provider import (
    Provider,
    call,
    completion,
    conducted,
    failure,
    request,
)

from common import Incomplete, UsageError
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
            studies=[call(request(name, user="u")) for name in names],
            announce=False,
        )

    return run


def lines_of(run):
    return run.path.read_bytes().splitlines(keepends=True)


def attempts(run):
    lines = map(json.loads, lines_of(run))
    return [line for line in lines if "attempt" in line]


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
    run = start("a", {"a": [slow, ODD]})
    first, second = attempts(run)
    assert (first["attempt"], first["outcome"]) == (1, None)
    assert (second["attempt"], second["outcome"]) == (2, "ok")
    assert (first["response"]["status"], first["latency_s"]) == (429, 1.2346)
    assert second["request"]["model"] == "m"
    assert (second["response"]["body"], second["latency_s"]) == (ODD.body, 0)
    assert (second["cost_usd"], second["charged_usd"]) == (COST, COST)
    assert run.path.read_bytes().isascii()


def test_a_line_is_written_at_once_and_is_on_disk_within_a_second(
    tmp_path, monkeypatch
):
    sizes, synced, write = [], threading.Event(), os.write
    monkeypatch.setattr(
        os, "write", lambda handle, data: sizes.append(len(data)) or write(handle, data)
    )
    monkeypatch.setattr(os, "fsync", lambda handle: synced.set())

    def answer(body, _):
        assert body.request.id == "a" or synced.wait(1)
        return completion(), 1.0

    studies = [call(request(name)) for name in "ab"]
    run = conducted(tmp_path, Provider(answer), studies, limits=1)
    lines = {len(line) for line in lines_of(run)}
    assert lines <= set(sizes)  # beside them is what the loop tells itself


def test_a_line_that_comes_during_a_sync_is_synced_after_it(tmp_path, monkeypatch):
    begun, done, again = threading.Event(), threading.Event(), threading.Event()

    def sync(handle):
        if begun.is_set():
            again.set()
        begun.set()
        assert done.wait(10)

    def answer(body, _):
        if body.request.id == "b":  # the sync of the line before is under way
            assert begun.wait(10)
        if body.request.id == "c":
            done.set()
            assert again.wait(10), "no sync of the second line"
        return completion(), 1.0

    monkeypatch.setattr(os, "fsync", sync)
    studies = [call(request(name)) for name in "abc"]
    conducted(tmp_path, Provider(answer), studies, limits=1)


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


# --- torn and damaged --------------------------------------------------------------------------


def fields(place, **changes):
    """A line with other fields, and nothing behind it."""

    def change(lines):
        line = json.loads(lines[place]) | changes
        written = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        return [*lines[:place], written]

    return change


UNFIT = "not a journal line"
DAMAGED = {
    "a line is gone": (lambda x: [x[0], x[2]], "line 2: does not follow from line 1"),
    "the first is gone": (lambda x: x[1:], "line 1: belongs to another configuration"),
    "two are exchanged": (lambda x: [x[0], x[2], x[1]], "line 2: does not follow"),
    "one stands twice": (lambda x: [x[0], *x], "line 2: does not follow"),
    "one has another byte": (
        lambda x: [x[0], x[1].replace(b"stop", b"stob"), *x[2:]],
        "line 3: does not follow",
    ),
    "a call was dearer": (
        lambda x: [*fields(0, worst_usd=1.0)(x), *x[1:]],
        "line 2: does not follow",
    ),
}
for line in (b"\n", b"{}\n", b"\xff\xfe\n", b"[" * 99_999 + b"\n"):
    change = partial(lambda line, x: [x[0], line, x[1]], line)
    DAMAGED[f"a line {line[:20]!r}"] = change, f"line 2: {UNFIT}"
for key, value in {
    "response": 5,
    "charged_usd": 1e100,
    "cost_usd": -1,
    "attempt": 0,
    "at": "2026-01-01",
    "request": {},
    "more": 1,
}.items():
    DAMAGED[f"{key} {value!r}"] = fields(1, **{key: value}), f"line 2: {UNFIT}"
for key, value in {"worst_usd": -1, "at": "", "sent": None, "more": 1}.items():
    DAMAGED[f"sent, {key} {value!r}"] = fields(0, **{key: value}), f"line 1: {UNFIT}"


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
    *lines, sent, last = (whole := path.read_bytes()).splitlines(keepends=True)
    usd = json.loads(sent)["worst_usd"]
    for torn, before, lost in ((sent, lines, 0), (last, [*lines, sent], usd)):
        for length in range(len(torn)):
            path.write_bytes(b"".join(before) + torn[:length])
            again = start("abc")
            newline_only = length == len(torn) - 1
            if torn is last and newline_only:
                assert again.sent == [] and path.read_bytes() == whole
            else:
                assert [name for _, name in again.sent] == ["c"]
                assert again.lost == (usd if newline_only else lost)


def test_on_a_full_disk_whole_lines_stay_and_the_next_start_does_the_rest(start):
    path = start("abc").path
    whole = path.read_bytes()
    longest = max(map(len, whole.splitlines())) + 1
    for room in range(0, len(whole), 20):
        path.unlink()
        with (
            mock.patch.object(os, "write", full_after(room)),
            pytest.raises(Incomplete),
        ):
            start("abc")
        rest = path.read_bytes()
        assert whole.startswith(rest) and rest[-1:] in (b"", b"\n")
        assert room - len(rest) < longest
        start("abc")
        assert path.read_bytes().startswith(rest) and start("abc").sent == []
