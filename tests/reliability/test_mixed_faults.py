"""2,000 calls over real HTTP with 20% mixed faults: every call ends in a stated outcome.

The driver's waits pass two hundred times as fast as the clock on the wall; the deadline of a call
takes real time. The budget is tight and some faults end the run: it is resumed, as the same
command would, until nothing is left.
"""

import json
import random
import time
from collections import Counter, defaultdict
from hashlib import sha256
from itertools import pairwise

import pytest
from conftest import IDENTITY, request
from faults import FAULTS

from common import Incomplete, OverBudget, ProviderRefused
from common.budget import Budget
from common.drive import Drive
from common.journal import InFlight, Journal, Ledger
from common.openrouter import OpenRouter
from common.wire import FINAL_OUTCOMES, OUTCOMES, Model

CALLS, TOGETHER, CONCURRENCY = 2000, 4, 32
DEADLINE_S = 1.5
SPEED = 200
# What each fault is to the experiment: an outcome of the trial, which is final; None: it passes
# and is asked again; "stop": the run ends and is resumable.
STATED = {
    **dict.fromkeys(("newlines", "no-cost", "no-usage", "other-type", "in-parts"), "ok"),
    **dict.fromkeys(("null-content", "empty-content", "null-finish"), "empty"),
    "length-empty": "truncated",
    "413": "provider_error",  # of this one prompt: no other attempt would change it
    **dict.fromkeys(("403-moderation", "502-filter", "content-filter"), "blocked"),
    **dict.fromkeys((
        "408", "429", "429-seconds", "429-date", "429-minute", "429-nonsense", "429-available",
        "400-passes", "500", "502", "503", "504", "524", "529", "error-in-200", "error-in-choice",
        "code-as-text", "error-as-text", "reset", "reset-billed", "closed", "no-http", "truncated",
        "bad-chunk", "bad-gzip", "bad-utf8", "html", "html-200", "empty-200", "no-content",
        "no-object", "deep", "cut-json", "event-stream", "no-choices", "cache-hit", "drip",
        "hang"), None),
    **dict.fromkeys(("400", "401", "402", "403-key", "404", "422", "503-never", "moved"),
                    "stop"),
}
STOPS = [name for name, stated in STATED.items() if stated == "stop"]
PASSING = [name for name in STATED if name not in STOPS]
MIX = {name: 0.196 / len(PASSING) for name in PASSING} | {
    name: 0.004 / len(STOPS) for name in STOPS}


class Fast:
    """A clock that runs SPEED times as fast as the one on the wall."""

    def __init__(self, at):
        self.jitter = random.Random(at).uniform

    @staticmethod
    def now():
        return time.monotonic() * SPEED

    @staticmethod
    def sleep(seconds):
        time.sleep(seconds / SPEED)

    @staticmethod
    def next(answers, seconds):
        return answers.get(timeout=seconds / SPEED)

    @staticmethod
    def stamp():
        return "2026-01-01T00:00:00Z"


def asked(number):
    return request(f"q{number:04d}", model="double/a", seed=number, max_out=64)


def block(numbers):
    return (yield [asked(number) for number in numbers])


def session(double, folder, limit, at):
    """One start of the run → (its ending, dollars spent by its own account)."""
    journal, inflight = Journal(folder, IDENTITY), InFlight(folder)
    try:
        client = OpenRouter(double.url, "", CONCURRENCY, DEADLINE_S * SPEED)
        client.preflight(["double/a"])
        budget = Budget(limit, Model(1e-6, 4e-6), journal.spent)
        drive = Drive(client, {"": Ledger(journal, inflight)}, {"decision": CONCURRENCY}, budget,
                      clock=Fast(at))
        # Nothing is announced, so nothing is projected: the limit is met call by call.
        ending = drive.run([block(range(first, first + TOGETHER))
                            for first in range(0, CALLS, TOGETHER)])
        return ending, budget.spent
    finally:
        journal.close()
        inflight.clear()


def question_of(sent):
    """The hash by which the double knows a question."""
    asked = json.dumps([sent["model"], sent["messages"], sent["seed"]], sort_keys=True)
    return sha256(asked.encode()).hexdigest()[:16]


@pytest.fixture(scope="module")
def storm(one_double, tmp_path_factory):
    """(endings of all sessions, journal lines, the double's ledger)."""
    one_double.script(mix=MIX, greedy=True, latency_s=0.004, jitter_s=0.004)
    folder, endings, limit = tmp_path_factory.mktemp("storm"), [], 0.3
    while not endings or endings[-1].stop or any(
            reply.outcome == "provider_error" and not reply.final
            for reply in replies_of(endings[-1])):
        assert len(endings) < 60, Counter(type(end.stop).__name__ for end in endings)
        ending, spent = session(one_double, folder, limit, len(endings))
        endings.append(ending)
        billed = one_double.ledger()["billed_usd"]
        assert billed <= spent + 1e-9 and spent <= limit + 1e-9
        if isinstance(ending.stop, OverBudget):
            limit *= 1.5
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_bytes().splitlines()]
    return endings, lines, one_double.ledger()


def replies_of(ending):
    return [reply for replies in ending.results for reply in replies]


@pytest.mark.slow
def test_a_fifth_of_the_calls_fails_in_every_way_that_is_known(storm):
    _, _, ledger = storm
    played = Counter(call["fault"] for call in ledger["requests"])
    assert 0.17 < 1 - played[None] / played.total() < 0.23
    assert played.total() >= CALLS and set(played) == {None, *PASSING} | set(played) & set(STOPS)
    # The others are about size and about the key, and are looked at elsewhere.
    assert {name for name in FAULTS if name not in STATED} == {
        name for name in FAULTS if name.startswith("echo-key")} | {"huge"}


@pytest.mark.slow
def test_every_call_of_every_session_ends_in_a_stated_outcome(storm):
    endings, _, _ = storm
    for ending in endings:
        replies = replies_of(ending)
        assert len(replies) == CALLS and {reply.outcome for reply in replies} <= set(OUTCOMES)
        assert all(reply.text == "" for reply in replies if reply.outcome not in FINAL_OUTCOMES)
        assert all(reply.message for reply in replies if reply.outcome == "provider_error")
        assert isinstance(ending.stop, (type(None), ProviderRefused, OverBudget, Incomplete))
    assert {reply.outcome for reply in replies_of(endings[-1])} == {*FINAL_OUTCOMES,
                                                                       "provider_error"}
    assert {type(ending.stop) for ending in endings} >= {ProviderRefused, OverBudget}


@pytest.mark.slow
def test_each_attempt_is_in_the_journal_as_what_it_was(storm):
    """Nothing is asked after its answer, nothing that is not in the journal; nothing is free."""
    _, lines, ledger = storm
    played, kept = defaultdict(list), defaultdict(list)
    for call in ledger["requests"]:
        played[call["question"]].append(call)
    for line in lines:
        kept[question_of(line["request"])].append(line)
    assert played.keys() == kept.keys() and len(kept) == CALLS
    for question, own in kept.items():
        assert [line["attempt"] for line in own] == list(range(1, len(own) + 1))
        assert [line["outcome"] in FINAL_OUTCOMES or "final" in line for line in own] == (
            [False] * (len(own) - 1) + [True])
        for call, line in zip(played[question], own, strict=True):
            fault = call["fault"]
            assert line["charged_usd"] >= call["billed_usd"] - 1e-12, (fault, line)
            if "no complete answer" not in line["response"]["error"]:
                stated = "ok" if fault is None else STATED[fault]
                assert line["outcome"] in (
                    (stated,) if stated in OUTCOMES else (None, "provider_error")), (fault, line)


@pytest.mark.slow
def test_answers_stay_what_they_were_over_all_sessions(storm):
    endings, _, _ = storm
    for before, after in pairwise(endings):
        for old, new in zip(replies_of(before), replies_of(after), strict=True):
            assert old == new or (not old.final and old.outcome in ("not_run", "provider_error"))
