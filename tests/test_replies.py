"""Answers and errors as servers write them, a line each in `replies.jsonl`: what becomes of them.

A line has a `body` (or `raw` text) and what it `becomes`, without what is unknown; or an `error`
and what it `means`, the same in three places (an HTTP error, top level of a 200, a 200's choice
beside partial text); or a documented answer and how its `reply` is read; or an error and which of
the `parameters` that were sent (else the usual ones) it `refuses`.
"""

import json

import pytest
from conftest import ROOT
from provider import PRICE, completion, failure, request

from common.gate import Money
from common.reading import read, refused_parameter
from common.server import without_account
from common.wire import PLAIN, Exchange

LINES = (ROOT / "tests/replies.jsonl").read_text().splitlines()
SHAPES = {line["name"]: line for line in map(json.loads, LINES)}
READ = [name for name, line in SHAPES.items() if "becomes" in line]
ERRORS = [name for name, line in SHAPES.items() if "means" in line]
ANSWERS = [name for name, line in SHAPES.items() if "reply" in line]
REFUSALS = [name for name, line in SHAPES.items() if "refuses" in line]
USUAL = (
    "model",
    "messages",
    "max_completion_tokens",
    "max_tokens",
    "temperature",
    "seed",
    "reasoning_effort",
)


@pytest.mark.parametrize("name", READ)
def test_a_raw_answer_becomes_what_its_line_says(name):
    line = SHAPES[name]
    text = line.get("raw", "")
    if "body" in line:
        text = json.dumps(line["body"])
    status, headers = line["status"], line.get("headers", {})
    words, sent = line.get("error_words", ""), line.get("sent", True)
    answer = Exchange(status, headers, text, words, sent=sent)
    reading = read(answer, now=1_795_341_600.0)
    fields = reading._asdict() | reading.reply._asdict()
    del fields["reply"]
    known = {key: value for key, value in fields.items() if value not in (None, "")}
    assert {key: value for key, value in known.items() if value is not False} == line[
        "becomes"
    ]


def exchange(name, place):
    """The error of a line as an HTTP error, at the top of a 200, or in a choice of a 200."""
    shape = SHAPES[name]
    error = {"error": shape["error"]}
    if place == "choice":
        message = {"content": "Decis"}
        error = {"choices": [{"finish_reason": "error", "message": message, **error}]}
    status = 200
    if place == "http":
        status = shape["status"]
    return Exchange(status, {}, json.dumps(error))


KINDS = {"blocked": "final", "unfit": "final", "fatal": "fatal"}
AGAIN = ("passing", "wait", "in_flight")


# "zod" is of an invalid request only: no answer has begun.
@pytest.mark.parametrize("place", ["http", "200", "choice"])
@pytest.mark.parametrize("name", ERRORS)
def test_an_error_means_the_same_in_every_place_and_the_run_acts_on_it(
    bench, name, place
):
    if name == "zod" and place != "http":
        return
    means, reading = SHAPES[name]["means"], read(exchange(name, place), now=0.0)
    reply = reading.reply
    assert reply.message and reply.text == ""
    assert reply.outcome == ("blocked" if means == "blocked" else "provider_error")
    assert reply.final is (means == "unfit")
    assert reading.kind == KINDS.get(means, "transient")
    assert reading.limit == (means if means in ("daily", "in_flight") else "")
    assert (reading.wait is not None) is (means in ("wait", "daily"))
    run = bench("ab", {"a": [exchange(name, place)]}, concurrency=1)
    calls = [who for _, who in run.sent]
    assert calls.count("a") == (2 if means in AGAIN else 1)
    assert ("b" in calls) is (means not in ("fatal", "daily"))
    assert ("m" in run.aside) is (means == "fatal")
    assert (run.ending.stop is not None) is (means == "daily")
    assert run.asker.retries == (means == "passing")
    assert run.answers().waits == (means in ("wait", "in_flight", "daily"))
    assert sum(run.answers().errors.values()) == 1
    if means in ("blocked", "unfit"):  # paid once, kept, never asked again
        assert bench("ab").sent == []


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_read_and_charged_as_it_says(name):
    shape = SHAPES[name]
    reading = read(Exchange(200, {}, json.dumps(shape["body"])))
    assert reading.kind == "final"
    expected, reply = shape["reply"], reading.reply
    found = {key: getattr(reply, key) for key in expected}
    assert found == pytest.approx(expected)
    wallet = Money(1, PRICE, lambda request: (PRICE, PLAIN))
    cost, charged = wallet.charge(request("a"), reading)
    usd = reply.cost_usd
    if not usd:  # 16 tokens in, 80 out, at 1 and 4 dollars a million
        usd = 16e-6 + 80 * 4e-6
    assert cost == charged == pytest.approx(usd)


@pytest.mark.parametrize("name", REFUSALS)
def test_a_parameter_that_a_server_refuses_is_named(name):
    line = SHAPES[name]
    text = line.get("raw") or json.dumps(line["body"])
    sent = dict.fromkeys(line.get("parameters", USUAL), "anything")
    refused = refused_parameter(Exchange(line["status"], {}, text), sent)
    assert refused == line["refuses"]


# --- waits -------------------------------------------------------------------------------------


def test_a_call_that_is_asked_to_wait_has_not_failed_and_ends_a_probe(bench):
    exchanges = [failure(500), failure(429, headers={"retry-after": "9"})]
    run = bench("abcde", dict.fromkeys("abcde", exchanges), concurrency=1)
    assert (run.ending.stop, run.ending.outcomes) == (None, {"ok": 5})
    assert run.asker.retries == 5 and 30 + 5 * 9 <= run.sent[-1][0] < 77


# --- what names the account --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "failed"),
    [
        ('{"error": {"code": 429}, "user_id": "user_2x"}', True),
        ('{"error": {"metadata": {"raw": "{\\"user_id\\": \\"user_2x\\"}"}}}', True),
        ('{"error": {}, "user\\u005fid": "user_2x"}', True),
        ('{"user_id": "user_2x", "choices": [', False),
        ('{"user_id": "user_2x", "choices": []}', False),
    ],
)
def test_what_names_the_account_is_taken_out(body, failed):
    assert "user_2x" not in without_account(body, failed)


def test_what_a_model_wrote_of_a_user_id_stays():
    body = completion('{"user_id": "user_2x"}').body
    assert json.loads(without_account(body, False)) == json.loads(body)
    assert without_account("{}", True) == "{}"
