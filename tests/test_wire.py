"""Requests as a server wants them, what a server's lists say, and that nothing it sends raises."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common import wire
from common.reading import read, read_balance, read_catalogue, read_model
from common.wire import Exchange, Model, Request

ASKED = Request("p/m/r1/S.low", "decision", "some/model", "You decide.", "Which?", 96, 0.7, 5)
NAMED = ("max_completion_tokens", "temperature", "seed", "reasoning")


# --- the request -------------------------------------------------------------------------------

def test_a_body_holds_model_messages_and_a_limit_always():
    body = wire.body(ASKED._replace(temperature=None, seed=None), Model(), "openrouter")
    assert body == {
        "model": "some/model", "max_completion_tokens": 96,
        "messages": [{"role": "system", "content": "You decide."},
                     {"role": "user", "content": "Which?"}],
        "session_id": "p/m/r1", "plugins": [{"id": name, "enabled": False} for name in (
            "context-compression", "response-healing", "web")]}


def test_an_empty_system_prompt_is_no_message():
    assert [m["role"] for m in wire.body(ASKED._replace(system=""), Model(), "openai")[
        "messages"]] == ["user"]


def test_a_limit_below_sixteen_is_raised_to_it():
    body = wire.body(ASKED._replace(max_out=8), Model(), "openrouter")
    assert body["max_completion_tokens"] == 16


@pytest.mark.parametrize("dialect, names", [
    ("openrouter", {"max_completion_tokens"}), ("openai", {"max_completion_tokens"}),
    ("compatible", {"max_completion_tokens", "max_tokens"})])
def test_the_older_name_of_the_limit_goes_only_where_it_is_needed(dialect, names):
    assert wire.body(ASKED, Model(), dialect).keys() & {
        "max_tokens", "max_completion_tokens"} == names


def test_a_parameter_is_sent_only_where_the_catalogue_lists_it():
    body = wire.body(ASKED, Model(parameters=("max_completion_tokens", "seed")), "openrouter")
    assert ("temperature" in body, body["seed"]) == (False, 5)


def test_parameters_are_sent_where_nothing_is_known_of_the_model():
    body = wire.body(ASKED, Model(), "openrouter")
    assert (body["temperature"], body["seed"]) == (0.7, 5)


def test_a_model_that_must_reason_gets_its_least_effort_and_head_room():
    model = Model(parameters=NAMED, reasons=True, mandatory=True,
                  efforts=("minimal", "low", "medium", "high"))
    body = wire.body(ASKED, model, "openrouter")
    assert body["reasoning"] == {"effort": "minimal"}
    assert body["max_completion_tokens"] >= 96 + 1024


def test_a_model_that_may_reason_is_told_not_to():
    model = Model(parameters=NAMED, reasons=True)
    body = wire.body(ASKED, model, "openrouter")
    assert (body["reasoning"], body["max_completion_tokens"]) == ({"effort": "none"}, 96)


def test_effort_asked_for_is_sent_with_head_room():
    model = Model(parameters=NAMED, reasons=True)
    body = wire.body(ASKED._replace(effort="high"), model, "openrouter")
    assert body["reasoning"] == {"effort": "high"}
    assert body["max_completion_tokens"] > 1024  # a reasoning budget is at least 1024


@pytest.mark.parametrize(("most", "limit"), [(None, 96), (40, 40), (96, 96), (4000, 96)])
def test_no_longer_answer_is_asked_for_than_a_model_can_give(most, limit):
    body = wire.body(ASKED, Model(parameters=NAMED, most_out=most), "openrouter")
    assert body["max_completion_tokens"] == limit


def test_gpt_5_reasons_even_where_no_catalogue_says_so():
    body = wire.body(ASKED._replace(model="openai/gpt-5-nano"), Model(), "openrouter")
    assert body["reasoning"] == {"effort": "minimal"}


@pytest.mark.parametrize("dialect", ["openai", "compatible"])
def test_openrouter_s_own_fields_go_to_openrouter_only(dialect):
    body = wire.body(ASKED._replace(effort="high"), Model(), dialect, {"only": ["up"]})
    assert not body.keys() & {"reasoning", "plugins", "provider"}


def test_routing_is_sent_as_it_is_configured():
    pinned = {"only": ["up"], "allow_fallbacks": False, "require_parameters": True}
    assert wire.body(ASKED, Model(), "openrouter", pinned)["provider"] == pinned


def test_the_worst_case_counts_a_token_a_byte_and_the_whole_limit():
    request = ASKED._replace(system="ä" * 50, user="x" * 100, max_out=96)
    model = Model(prompt=1e-6, completion=1e-5, request=0.01)
    # 200 bytes of prompt at least; 96 tokens of output
    assert wire.worst_case(request, model, Model()) >= 0.01 + 200e-6 + 96e-5


# --- nothing a server sends raises ---------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([
        "error", "choices", "message", "content", "usage", "cost", "code", "metadata", "data",
        "availability", "retry_after", "http_status", "prompt_tokens", "id", "pricing",
        "prompt", "finish_reason", "reasoning", "supported_parameters"]), inner, max_size=4),
    max_leaves=25)
ERROR = st.fixed_dictionaries({"error": st.fixed_dictionaries({}, optional={
    "code": JSON, "message": JSON, "http_status": JSON, "metadata": JSON,
    "availability": JSON | st.fixed_dictionaries({"retryable": JSON, "retry_after": JSON})})})
CHAT = st.fixed_dictionaries({"choices": st.tuples(st.fixed_dictionaries(
    {"message": JSON | st.fixed_dictionaries({"content": JSON})},
    optional={"finish_reason": JSON, "error": JSON}))}, optional={"usage": JSON, "id": JSON})
BODIES = (JSON | ERROR | CHAT).map(json.dumps) | st.text()


@given(st.sampled_from([None, 200, 204, 302, 400, 403, 429, 500, 502]),
       BODIES,
       st.dictionaries(st.sampled_from(["retry-after", "x-openrouter-cache-status"]), st.text()))
def test_nothing_a_server_sends_raises(status, body, headers):
    reading = read(Exchange(status, headers, body))
    assert reading.kind in ("final", "transient", "fatal")
    assert reading.reply.outcome in wire.OUTCOMES
    json.dumps(reading).encode()


@given(JSON.map(json.dumps) | st.text())
def test_no_catalogue_or_balance_raises(body):
    read_catalogue(body), read_balance(body)


# --- catalogue and balance ---------------------------------------------------------------------

def test_prices_are_texts_in_dollars_a_token():
    entry = {"id": "m", "pricing": {"prompt": "0.00000005", "completion": "0.0000004",
                                    "request": "0.001"}}
    model = read_catalogue(json.dumps({"data": [entry]}))["m"]
    assert (model.prompt, model.completion, model.request) == (5e-8, 4e-7, 0.001)


def test_thoughts_that_cost_more_than_words_set_the_price_of_output():
    pricing = {"prompt": "0", "completion": "0.000001", "internal_reasoning": "0.000003"}
    assert read_model({"pricing": pricing}).completion == 3e-6


@pytest.mark.parametrize(("entry", "reasons"), [
    ({"supported_parameters": ["reasoning"]}, True), ({"supported_parameters": ["seed"]}, False),
    ({"reasoning": {"mandatory": False}}, True), ({}, None)])
def test_a_model_reasons_where_its_entry_says_so_and_nobody_knows_where_it_is_silent(
        entry, reasons):
    assert read_model(entry).reasons is reasons


@pytest.mark.parametrize("pricing", [
    {}, {"prompt": "-1", "completion": "-1"}, {"prompt": "0.1"},
    {"prompt": "x", "completion": "1"}])
def test_a_price_that_is_missing_or_varies_is_unknown(pricing):
    assert not read_model({"pricing": pricing}).priced


@pytest.mark.parametrize("body, left", [
    ({"data": {"limit_remaining": 3.5}}, 3.5), ({"data": {"limit_remaining": None}}, None),
    ({"data": {}}, None), ([], None)])
def test_a_balance_of_null_is_unlimited(body, left):
    assert read_balance(json.dumps(body)) == left


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_server_that_has_moved_is_not_followed_and_told(status):
    reading = read(Exchange(status, {"location": "https://else.example"}, ""))
    assert reading.kind == "fatal" and "check the base URL" in reading.reply.message


def test_a_session_s_name_is_of_the_length_that_the_service_takes():
    asked = Request("b" * 300 + "/a", "decision", "m", "", "", 16)
    sent = wire.body(asked, Model(), "openrouter")
    assert sent["session_id"] == "b" * 256


@pytest.mark.parametrize(("effort", "room"), [
    (None, 0), ("minimal", 1024), ("low", 2048), ("medium", 8192), ("high", 16_384),
    ("xhigh", 32_768), ("max", 32_768)])
def test_a_quarter_of_the_head_room_is_expected_to_be_spent(effort, room):
    asked = Request("a", "decision", "m", "abcd", "efgh", 16, effort=effort)
    model = Model(1.0, 1.0, reasons=True)
    assert wire.expected_cost(asked, model, model) == 2 + 16 + room / 4
