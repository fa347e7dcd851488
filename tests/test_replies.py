"""Documented shapes of answers and errors, one file each in `replies/`: what becomes of them.

An error comes in three places: as an HTTP error, at top level of a 200, and in a 200's choice
beside partial text. Its meaning is the same in all of them.
"""

import json

import pytest
from conftest import PRICE, ROOT, Clock, Scripted, completion, failure, request

from common import Incomplete, ProviderRefused
from common.budget import Budget
from common.openrouter import without_account
from common.reading import read
from common.wire import Exchange

SHAPES = {path.stem: json.loads(path.read_text()) for path in (ROOT / "tests/replies").iterdir()}
ERRORS = {name: shape for name, shape in SHAPES.items() if "error" in shape}
ANSWERS = {name: shape for name, shape in SHAPES.items() if "reply" in shape}
KIND = {"blocked": "final", "unfit": "final", "fatal": "fatal"}  # else transient


def in_http(shape):
    return Exchange(shape["status"], {}, json.dumps({"error": shape["error"], "user_id": "user_9"}))


def in_200(shape):
    return Exchange(200, {}, json.dumps({"error": shape["error"], "user_id": "user_9"}))


def in_choice(shape):
    return Exchange(200, {}, json.dumps({"choices": [{
        "finish_reason": "error", "error": shape["error"], "message": {"content": "Decis"}}]}))


PLACES = [in_http, in_200, in_choice]


def test_twenty_documented_shapes_and_more_are_here_with_their_sources():
    assert len(ERRORS) >= 20 and {shape["means"] for shape in ERRORS.values()} == {
        "blocked", "unfit", "fatal", "passing", "wait", "daily", "in_flight"}
    assert {shape["source"] for shape in SHAPES.values()} <= {
        "documentation", "schema", "live probe", "public client", "vendor's documentation"}


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
@pytest.mark.parametrize("name", sorted(ERRORS))
def test_an_error_means_the_same_in_every_place(name, place):
    if name == "zod" and place is not in_http:
        pytest.skip("of an invalid request only: no answer has begun")
    shape = ERRORS[name]
    reading = read(place(shape), now=0.0)
    means, reply = shape["means"], reading.reply
    assert (reading.kind, reply.text) == (KIND.get(means, "transient"), "")
    assert reply.outcome == ("blocked" if means == "blocked" else "provider_error")
    assert reply.final == (means == "unfit")
    assert reading.limit == (means if means in ("daily", "in_flight") else "")
    assert (reading.wait is not None) == (means in ("wait", "daily"))
    assert reply.message


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
@pytest.mark.parametrize("name", sorted(ERRORS))
def test_the_run_does_what_the_error_means(bench, name, place):
    means = ERRORS[name]["means"]
    if name == "zod" and place is not in_http:
        pytest.skip("of an invalid request only: no answer has begun")
    run = bench("ab", {"a": [place(ERRORS[name])]}, concurrency=1)
    asked = [who for _, who in run.asked]
    if means in ("blocked", "unfit"):    # paid once, kept, never fatal, never asked again
        assert run.ending.stop is None and asked == ["a", "b"] and run.answers().failed() == 0
        assert bench("ab").asked == []
    elif means == "fatal":
        assert isinstance(run.ending.stop, ProviderRefused) and asked == ["a"]
    elif means == "daily":
        assert isinstance(run.ending.stop, Incomplete) and "00:00 UTC" in str(run.ending.stop)
        assert asked == ["a"]
    else:
        assert run.ending.stop is None and asked.count("a") == 2
        counts = [1, 0] if means == "passing" else [0, 1]
        assert [run.drive.retries, run.answers().waits] == counts
    assert sum(run.answers().errors.values()) == 1


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_an_answer_is_read_and_charged_as_it_says(name):
    shape = ANSWERS[name]
    reading = read(Exchange(200, {}, json.dumps(shape["body"])))
    assert reading.kind == "final"
    assert {key: getattr(reading.reply, key) for key in shape["reply"]} == pytest.approx(
        shape["reply"])
    cost, charged = Budget(1, PRICE).charge(request("a"), reading, PRICE, 0.5)
    # 16 tokens in, 80 out, at 1 and 4 dollars a million, where no bill is complete
    assert cost == charged == pytest.approx(reading.reply.cost_usd or 16e-6 + 80 * 4e-6)


# --- waits -------------------------------------------------------------------------------------

def limited(seconds=None, **more):
    return failure(429, headers={} if seconds is None else {"retry-after": str(seconds)}, **more)


class PerMinute(Scripted):
    """Lets 20 calls through in any minute; tells the others how long to wait."""

    def complete(self, req):
        now = self.clock.now()
        self.let = [at for at in getattr(self, "let", []) if at > now - 60]
        if len(self.let) >= 20:
            return failure(429, headers={"retry-after": str(int(self.let[0] + 61 - now))})
        self.let.append(now)
        return super().complete(req)


@pytest.mark.parametrize("concurrency", [1, 8, 64])
def test_twenty_a_minute_with_honest_waits_completes_and_asks_nothing_twice(bench, concurrency):
    clock = Clock()
    names = [f"{i:03d}" for i in range(100)]
    run = bench(names, provider=PerMinute(clock), concurrency=concurrency, clock=clock)
    assert run.ending.stop is None and sorted(who for _, who in run.asked) == names
    assert (run.drive.retries, run.drive.breaker.openings) == (0, 0)


def test_a_wait_holds_its_model_and_no_other(bench):
    def chain(name, model):
        return (yield request(name, model=model))
    run = bench([], {"a": [limited(60)]}, concurrency=1, chains=[
        chain("a", "slow"), chain("b", "slow"), chain("c", "quick"), chain("d", "quick")])
    assert [who for _, who in run.asked] == ["a", "c", "d", "a", "b"]
    assert run.asked[3][0] >= 60


def test_more_than_two_minutes_at_once_end_the_run_and_say_until_when(bench):
    run = bench("a", {"a": [limited(121)]})
    assert isinstance(run.ending.stop, Incomplete) and len(run.asked) == 1
    assert "2026-01-01 00:02 UTC" in str(run.ending.stop)


def test_half_an_hour_of_waits_in_a_row_ends_the_run(bench):
    run = bench("a", usual=limited(100))
    assert isinstance(run.ending.stop, Incomplete) and len(run.asked) == 19  # 18 waits pass


def test_an_answer_between_begins_the_row_anew(bench):
    names = "ab"
    run = bench(names, {name: [limited(100)] * 10 for name in names}, concurrency=1,
                chains=[one_after_the_other(names)])
    assert run.ending.stop is None and run.answers().waits == 20


def one_after_the_other(names):
    for name in names:
        yield request(name)


def test_a_wait_of_the_probe_closes_the_breaker_that_it_was_to_test(bench):
    names = [f"{i:02d}" for i in range(12)]
    run = bench(names, {name: [failure(500)] for name in names[:5]} | {"05": [limited(9)]})
    assert run.ending.stop is None and run.ending.outcomes["ok"] == 12


def test_an_account_that_bears_no_more_at_once_gets_fewer(bench):
    full = failure(402, metadata={"limit_source": "openrouter_in_flight_budget",
                                  "reason": "in_flight_budget_exhausted"})
    run = bench("abcdefgh", {"a": [full]}, concurrency=8)
    assert run.ending.stop is None and run.answers().waits == 1
    assert run.drive._most == 1


# --- what names the account --------------------------------------------------------------------

ACCOUNTS = [
    ('{"error": {"code": 429}, "user_id": "user_2x"}', True),
    ('{"error": {"metadata": {"raw": "{\\"user_id\\": \\"user_2x\\"}"}}}', True),
    ('{"error": {}, "user\\u005fid": "user_2x"}', True),
    ('{"user_id": "user_2x", "choices": [', False),
    ('{"user_id": "user_2x", "choices": []}', False)]


@pytest.mark.parametrize(("body", "failed"), ACCOUNTS)
def test_what_names_the_account_is_taken_out(body, failed):
    assert "user_2x" not in without_account(body, failed)


def test_what_a_model_wrote_of_a_user_id_stays():
    body = completion('{"user_id": "user_2x"}').body
    assert json.loads(without_account(body, False)) == json.loads(body)
    assert without_account("{}", True) == "{}"
