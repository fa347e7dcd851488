"""The journal: whole lines only, chained by hash, nothing answered twice, nothing charged away."""

import gzip
import hashlib
import json
import os
import time
from collections import Counter
from contextlib import suppress

import pytest
from conftest import IDENTITY, PRICE, completion, failure, request

from common import Incomplete, UsageError
from common import journal as module
from common.journal import Answers, Attempt, InFlight, Journal, Known, entries
from common.reading import read
from common.wire import cost_of

SURROGATE = completion('a\ud800b "quoted" δ \u2028 \x00')


def append(journal, name, exchange=None, outcome="ok", charged=0.25):
    exchange = exchange or completion()
    asked = request(name)
    reply = read(exchange, now=0.0).reply
    journal.append(Attempt(asked, {"model": "m"}, exchange, outcome, reply, charged,
                           "2026-01-01T00:00:00Z"))


@pytest.fixture
def opened(tmp_path):
    """opened() → the journal of `tmp_path`; closed at the end."""
    journals = []

    def make(identity=IDENTITY):
        journals.append(Journal(tmp_path, identity))
        return journals[-1]
    yield make
    for journal in journals:
        with suppress(Incomplete):
            journal.close()


@pytest.fixture
def three(tmp_path, opened):
    """The lines of a closed journal with the answers a, b, c."""
    journal = opened()
    for name in "abc":
        append(journal, name)
    journal.close()
    return journal.path.read_bytes().splitlines(keepends=True)


# --- what is written ---------------------------------------------------------------------------

def test_each_line_carries_the_sha256_of_the_line_before(three):
    previous = [hashlib.sha256(line.rstrip(b"\n")).hexdigest() for line in three]
    assert [json.loads(line)["prev"] for line in three[1:]] == previous[:-1]


def test_a_line_holds_the_attempt_the_request_and_the_raw_response(opened):
    journal = opened()
    append(journal, "a", failure(429), None, 0.0)
    append(journal, "a", completion("Decision: X"))
    first, second = map(json.loads, journal.path.read_text().splitlines())
    assert (first["attempt"], first["outcome"], first["response"]["status"]) == (1, None, 429)
    assert (second["attempt"], second["outcome"], second["request"]) == (2, "ok", {"model": "m"})
    assert second["response"]["body"] == completion("Decision: X").body


def test_a_line_is_ascii_whatever_the_answer_and_tells_tenths_of_a_millisecond(opened):
    journal, body = opened(), '{"content": "δ \u2028"}'
    append(journal, "a", completion()._replace(body=body, latency_s=1.23456))
    line = journal.path.read_bytes()
    assert line.isascii() and line.count(b"\n") == 1
    entry = json.loads(line)
    assert (entry["response"]["body"], entry["latency_s"]) == (body, 1.2346)


def test_a_line_is_handed_over_in_one_write(opened, monkeypatch):
    journal, sizes, write = opened(), [], os.write
    monkeypatch.setattr(module.os, "write", lambda fd, data: sizes.append(len(data)) or
                        write(fd, data))
    append(journal, "a")
    assert sizes == [journal.path.stat().st_size]


def test_a_line_is_on_disk_within_a_second(opened, monkeypatch):
    synced, journal = [], opened()
    monkeypatch.setattr(module.os, "fsync", lambda fd: synced.append(time.monotonic()))
    start = time.monotonic()
    append(journal, "a")
    while not synced and time.monotonic() < start + 3:
        time.sleep(0.01)
    assert synced and synced[0] - start < 1


# --- what is read back -------------------------------------------------------------------------

@pytest.mark.parametrize("exchange", [
    completion(), completion(cost=None), SURROGATE, completion("", finish_reason="length"),
    failure(403, metadata={"reasons": ["x"]}), completion("x" * 200_000)])
def test_a_reply_comes_back_as_it_was(opened, exchange):
    reply = read(exchange).reply
    journal = opened()
    append(journal, "a", exchange, reply.outcome)
    journal.close()
    assert opened().answers["a"].reply == reply


@pytest.mark.parametrize("outcome, kept", [
    ("ok", True), ("empty", True), ("truncated", True), ("blocked", True),
    ("provider_error", False), (None, False)])
def test_only_outcomes_of_the_trial_are_answers(opened, outcome, kept):
    journal = opened()
    append(journal, "a", outcome=outcome)
    journal.close()
    assert ("a" in opened().answers) is kept


def test_an_error_that_no_other_attempt_would_change_is_an_answer(opened):
    long = failure(400, metadata={"error_type": "context_length_exceeded"})
    journal = opened()
    append(journal, "a", long, "provider_error")
    journal.close()
    assert opened().answers["a"].reply.final


def test_attempts_and_charges_add_up_over_starts(opened):
    for _ in range(3):
        journal = opened()
        append(journal, "a", failure(500), None, 0.25)
        journal.close()
    journal = opened()
    assert (journal.spent, journal.asked) == (0.75, Counter(a=3))
    append(journal, "a")
    assert (journal.spent, journal.asked) == (1.0, Counter(a=4))  # before the next start too


def test_an_id_answered_twice_is_refused(opened):
    journal = opened()
    append(journal, "a"), append(journal, "a")
    journal.close()
    with pytest.raises(UsageError, match="a is answered twice"):
        opened()


def test_a_journal_of_another_configuration_is_refused(opened, three):
    with pytest.raises(UsageError, match=r"line 1: belongs to another configuration"):
        opened({"study": "another"})


# --- torn and damaged --------------------------------------------------------------------------

def test_a_torn_last_line_is_cut_off_wherever_it_is_torn(tmp_path, opened, three):
    path = tmp_path / "journal.jsonl"
    for kept in range(len(three[2]) - 1):  # all but its newline is whole
        path.write_bytes(three[0] + three[1] + three[2][:kept])
        journal = opened()
        journal.close()
        assert journal.answers.keys() == {"a", "b"} and path.read_bytes() == three[0] + three[1]


def test_a_last_line_that_lost_only_its_newline_is_whole(tmp_path, opened, three):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join(three)[:-1])
    journal = opened()
    journal.close()
    assert journal.answers.keys() == {"a", "b", "c"} and path.read_bytes() == b"".join(three)


def test_what_follows_a_repair_continues_the_chain(tmp_path, opened, three):
    (tmp_path / "journal.jsonl").write_bytes(b"".join(three)[:-20])
    journal = opened()
    append(journal, "c")
    journal.close()
    assert [entry["id"] for entry, _, _ in entries(journal.path)] == ["a", "b", "c"]
    assert opened().answers.keys() == {"a", "b", "c"}


def test_a_byte_changed_anywhere_in_the_middle_is_found_and_its_line_named(tmp_path, opened, three):
    path = tmp_path / "journal.jsonl"
    for place in range(0, len(three[1]), 7):
        line = bytearray(three[1])
        line[place] ^= 1
        path.write_bytes(three[0] + bytes(line) + three[2])
        with pytest.raises(UsageError, match=r"journal\.jsonl line [23]: "):
            opened()
        assert path.read_bytes() == three[0] + bytes(line) + three[2]


@pytest.mark.parametrize("lines", [(0, 2), (1, 0, 2), (0, 0, 1, 2), (1, 2), (0, 2, 1)])
def test_a_line_dropped_added_or_moved_is_found(tmp_path, opened, three, lines):
    (tmp_path / "journal.jsonl").write_bytes(b"".join(three[i] for i in lines))
    with pytest.raises(UsageError, match="restore it from a copy"):
        opened()


@pytest.mark.parametrize("line", [b"\n", b"[]\n", b"{}\n", b'"x"\n', b"\0" * 9 + b"\n",
                                  b'{"prev":1,"id":2}\n', b"\xff\xfe\n", b"[" * 99_999 + b"\n"])
def test_a_foreign_line_is_named(tmp_path, opened, three, line):
    (tmp_path / "journal.jsonl").write_bytes(three[0] + line + three[1])
    with pytest.raises(UsageError, match="line 2: not a journal line"):
        opened()


def test_a_whole_line_with_fields_of_the_wrong_kind_is_named(tmp_path, opened, three):
    entry = json.loads(three[0]) | {"response": 5, "charged_usd": "much"}
    (tmp_path / "journal.jsonl").write_text(json.dumps(entry) + "\n")
    with pytest.raises(UsageError, match="line 1: "):
        opened()


# --- packing -----------------------------------------------------------------------------------

def test_a_finished_journal_is_packed_and_reads_the_same(tmp_path, opened):
    journal = opened()
    append(journal, "a")
    content = journal.path.read_bytes()
    journal.pack()
    assert [p.name for p in tmp_path.iterdir()] == ["journal.jsonl.gz"]
    assert gzip.decompress(journal.packed.read_bytes()) == content
    assert [entry["id"] for entry, _, _ in entries(journal.packed)] == ["a"]


def test_a_packed_journal_is_opened_again(opened):
    journal = opened()
    append(journal, "a")
    journal.pack()
    assert opened().answers.keys() == {"a"}


@pytest.mark.parametrize("damage", [lambda b: b[:-30], lambda b: b"", lambda b: b"x" + b[1:],
                                    lambda b: b[:40] + b"\0\0\0\0" + b[44:]])
def test_a_damaged_packed_journal_is_named_and_left_alone(opened, damage):
    journal = opened()
    append(journal, "a")
    journal.pack()
    broken = damage(journal.packed.read_bytes())
    journal.packed.write_bytes(broken)
    with pytest.raises(UsageError, match=r"journal\.jsonl\.gz"):
        opened()
    assert journal.packed.read_bytes() == broken and not journal.path.exists()
    if broken:
        with pytest.raises(UsageError, match=r"journal\.jsonl\.gz"):
            list(entries(journal.packed))


# --- read back ---------------------------------------------------------------------------------

KNOWN = Known({"m": PRICE}, "openai", None)  # a dollar and four dollars a million tokens


@pytest.mark.parametrize(("exchange", "charged", "wrong"), [
    (completion(), 0.0001, ""), (completion(), 0.0001 * (1 + 1e-12), ""),
    (completion(), 0.0001 * (1 + 1e-6), "charged_usd"), (completion(), 0.00009, "charged_usd"),
    (completion(cost=None), 18e-6, ""),  # 10 tokens read and 2 written
    (completion(cost=None), 17e-6, "charged_usd")])
def test_what_was_charged_is_what_the_answer_cost(opened, exchange, charged, wrong):
    journal = opened()
    reading = read(exchange, now=0.0)
    cost = cost_of(reading.reply, PRICE)
    journal.append(Attempt(request("a"), KNOWN.body(request("a")), exchange, "ok",
                           reading.reply._replace(cost_usd=cost), charged, "2026-01-01T00:00:00Z"))
    journal.close()
    answers = Answers(journal.path, IDENTITY, KNOWN)
    assert answers(request("a")).outcome == "ok" and answers.charged_usd == charged
    assert [wrong in line for line in answers.problems()] == [True] * bool(wrong)


def test_attempts_errors_and_waits_are_counted_from_the_lines(opened):
    journal, slow = opened(), failure(429, headers={"retry-after": "3"})
    for exchange in (slow, failure(500), slow):
        append(journal, "a", exchange, None, 0.0)
    append(journal, "a")
    journal.close()
    answers = Answers(journal.path, IDENTITY)
    assert (answers.attempts, answers.repeated, answers.waits) == (4, 3, 2)
    assert answers.errors == {"429": 2, "500": 1} and answers.failed() == 0
    assert answers.outcomes(["a", "b"]) == {"ok": 1, "not_run": 1}


# --- a full disk -------------------------------------------------------------------------------

def full_after(allowed):
    """An os.write that has room for `allowed` bytes."""
    room, write = [allowed], os.write

    def limited(fd, data):
        if not room[0]:
            raise OSError(28, "No space left on device")
        done = write(fd, data[:room[0]])
        room[0] -= done
        return done
    return limited


@pytest.mark.parametrize("room", [0, 1, 100])
def test_a_full_disk_leaves_whole_lines_and_says_what_to_do(opened, monkeypatch, room):
    journal = opened()
    append(journal, "a")
    whole = journal.path.read_bytes()
    monkeypatch.setattr(module.os, "write", full_after(room))
    with pytest.raises(Incomplete, match=r"journal\.jsonl: No space left on device; free space"):
        append(journal, "b")
    assert journal.path.read_bytes() == whole


@pytest.mark.parametrize("first", [1, 100])
def test_a_line_that_the_system_took_in_two_parts_is_whole(opened, monkeypatch, first):
    journal, write, parts = opened(), os.write, [first]
    append(journal, "a")
    monkeypatch.setattr(module.os, "write", lambda fd, data: write(
        fd, data[:parts.pop()] if parts else data))
    append(journal, "b")
    append(journal, "c")
    journal.close()
    assert [entry["id"] for entry, *_ in entries(journal.path)] == ["a", "b", "c"]
    assert journal.size == journal.path.stat().st_size


def test_a_sync_that_fails_stops_the_next_line(opened, monkeypatch):
    journal = opened()

    def broken(fd):
        raise OSError(5, "Input/output error")
    monkeypatch.setattr(module.os, "fsync", broken)
    append(journal, "a")
    deadline = time.monotonic() + 3
    with pytest.raises(Incomplete, match="Input/output error"):
        while time.monotonic() < deadline:
            append(journal, f"b{time.monotonic()}")
            time.sleep(0.05)


# --- calls in flight ---------------------------------------------------------------------------

def noted(tmp_path, *notes):
    inflight = InFlight(tmp_path)
    for name, attempt, usd in notes:
        inflight.note(request(name), attempt, usd)
    return inflight


def test_calls_without_a_line_in_the_journal_are_lost_at_their_worst_case(tmp_path):
    noted(tmp_path, ("a", 1, 0.5), ("b", 1, 0.25), ("b", 2, 0.125))
    assert InFlight(tmp_path).lost(Counter(a=1, b=1)) == 0.125


def test_nothing_is_lost_where_nothing_was_noted_or_all_was_cleared(tmp_path):
    assert InFlight(tmp_path).lost(Counter()) == 0
    noted(tmp_path, ("a", 1, 0.5)).clear()
    assert InFlight(tmp_path).lost(Counter()) == 0


@pytest.mark.parametrize("tail", ['{"id": "b", "att', '{"id": "b"{"id": "c", "attempt": 1}\n',
                                  '{"id": 5}\n', "\n\n", "[1]\n"])
def test_a_torn_note_is_passed_over(tmp_path, tail):
    inflight = noted(tmp_path, ("a", 1, 0.5))
    with open(inflight.path, "a") as file:
        file.write(tail)
    assert InFlight(tmp_path).lost(Counter()) == 0.5


def test_a_note_that_cannot_be_kept_stops_the_call(tmp_path, monkeypatch):
    inflight = noted(tmp_path, ("a", 1, 0.5))
    monkeypatch.setattr(module.os, "write", full_after(10))
    with pytest.raises(Incomplete, match=r"inflight\.jsonl: No space left on device; free space"):
        inflight.note(request("b"), 1, 0.5)
