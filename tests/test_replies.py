"""Answers and errors as servers write them, a line each in `replies.jsonl`: what becomes of them.

A line has a `body` (or `raw` text) and what it `becomes`, without what is unknown; or an `error`
and what it `means`, the same in three places (an HTTP error, top level of a 200, a 200's choice
beside partial text); or a documented answer and how its `reply` is read.
"""

import json

import pytest
from conftest import ROOT
from provider import PRICE, Provider, completion, failure, request

from common import Incomplete, ProviderRefused
from common.budget import Budget
from common.openrouter import without_account
from common.reading import read
from common.wire import Exchange

LINES = [json.loads(line) for line in (ROOT / "tests/replies.jsonl").read_text().splitlines()]
SHAPES = {line["name"]: line for line in LINES}
READ = [name for name, line in SHAPES.items() if "becomes" in line]
ERRORS = [name for name, line in SHAPES.items() if "means" in line]
ANSWERS = [name for name, line in SHAPES.items() if "reply" in line]
KIND = {"blocked": "final", "unfit": "final", "fatal": "fatal"}  # else transient
NOW = 1_795_341_600.0


@pytest.mark.parametrize("name", READ)
def test_a_raw_answer_becomes_what_its_line_says(name):
    line = SHAPES[name]
    text = line.get("raw", json.dumps(line["body"]) if "body" in line else "")
    reading = read(Exchange(line["status"], line.get("headers", {}), text,
                            line.get("error_words", ""), sent=line.get("sent", True)), NOW)
    told = reading._asdict() | reading.reply._asdict()
    del told["reply"]
    assert {key: value for key, value in told.items()
            if not (value is None or value is False or value == "")} == line["becomes"]


def in_http(shape):
    return Exchange(shape["status"], {}, json.dumps({"error": shape["error"], "user_id": "user_9"}))


def in_200(shape):
    return Exchange(200, {}, json.dumps({"error": shape["error"], "user_id": "user_9"}))


def in_choice(shape):
    return Exchange(200, {}, json.dumps({"choices": [{
        "finish_reason": "error", "error": shape["error"], "message": {"content": "Decis"}}]}))


PLACES = [in_http, in_200, in_choice]


def test_twenty_documented_shapes_and_more_are_here_with_their_sources():
    assert len(ERRORS) >= 20 and {SHAPES[name]["means"] for name in ERRORS} == {
        "blocked", "unfit", "fatal", "passing", "wait", "daily", "in_flight"}
    assert {SHAPES[name]["source"] for name in ERRORS + ANSWERS} <= {
        "documentation", "schema", "live probe", "public client", "vendor's documentation"}


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
@pytest.mark.parametrize("name", ERRORS)
def test_an_error_means_the_same_in_every_place(name, place):
    if name == "zod" and place is not in_http:
        pytest.skip("of an invalid request only: no answer has begun")
    shape = SHAPES[name]
    reading = read(place(shape), now=0.0)
    means, reply = shape["means"], reading.reply
    assert (reading.kind, reply.text) == (KIND.get(means, "transient"), "")
    assert reply.outcome == ("blocked" if means == "blocked" else "provider_error")
    assert reply.final == (means == "unfit")
    assert reading.limit == (means if means in ("daily", "in_flight") else "")
    assert (reading.wait is not None) == (means in ("wait", "daily"))
    assert reply.message


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
@pytest.mark.parametrize("name", ERRORS)
def test_the_run_does_what_the_error_means(bench, name, place):
    means = SHAPES[name]["means"]
    if name == "zod" and place is not in_http:
        pytest.skip("of an invalid request only: no answer has begun")
    run = bench("ab", {"a": [place(SHAPES[name])]}, concurrency=1)
    asked = [who for _, who in run.sent]
    if means in ("blocked", "unfit"):    # paid once, kept, never fatal, never asked again
        assert run.ending.stop is None and asked == ["a", "b"] and run.answers().failed() == 0
        assert bench("ab").sent == []
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


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_read_and_charged_as_it_says(name):
    shape = SHAPES[name]
    reading = read(Exchange(200, {}, json.dumps(shape["body"])))
    assert reading.kind == "final"
    assert {key: getattr(reading.reply, key) for key in shape["reply"]} == pytest.approx(
        shape["reply"])
    cost, charged = Budget(1, PRICE, lambda name: PRICE).charge(request("a"), reading)
    # 16 tokens in, 80 out, at 1 and 4 dollars a million, where no bill is complete
    assert cost == charged == pytest.approx(reading.reply.cost_usd or 16e-6 + 80 * 4e-6)


# --- waits -------------------------------------------------------------------------------------

@pytest.mark.parametrize("concurrency", [1, 8, 64])
def test_twenty_a_minute_with_honest_waits_completes_and_asks_nothing_twice(bench, concurrency):
    """A server that lets 20 calls through in any minute tells the others how long to wait."""
    names, let = [f"{i:03d}" for i in range(100)], []

    def answer(asked, _):
        let[:] = [at for at in let if at > provider.now() - 60]
        if len(let) >= 20:
            wait = str(int(let[0] + 61 - provider.now()))
            return failure(429, headers={"retry-after": wait}), 0.0
        let.append(provider.now())
        answered.append(asked.id)
        return completion(), 0.0
    provider, answered = Provider(answer), []
    run = bench(names, provider=provider, concurrency=concurrency)
    assert run.ending.stop is None and sorted(answered) == names
    assert (run.drive.retries, run.drive.breaker.openings) == (0, 0)


def test_a_wait_of_the_probe_closes_the_breaker_that_it_was_to_test(bench):
    names = [f"{i:02d}" for i in range(12)]
    wait = failure(429, headers={"retry-after": "9"})
    run = bench(names, {name: [failure(500)] for name in names[:5]} | {"05": [wait]})
    assert run.ending.stop is None and run.ending.outcomes["ok"] == 12


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
