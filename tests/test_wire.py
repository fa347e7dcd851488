"""Requests as a server wants them, and answers as OpenRouter's documentation tells to read them."""

import json
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common import wire
from common.reading import read, read_balance, read_catalogue, read_model
from common.wire import Exchange, Model, Request

ASKED = Request("p/m/r1/S.low", "decision", "some/model", "You decide.", "Which?", 96, 0.7, 5)
NAMED = ("max_completion_tokens", "temperature", "seed", "reasoning")


def answered(status=200, body=None, headers=(), error=""):
    text = body if isinstance(body, str) else json.dumps(body)
    return read(Exchange(status, dict(headers), text, error), now=0.0)


def chat(content="Hi", finish="stop", **more):
    return {"id": "gen-1", "model": "some/model-0926", "provider": "up", "usage": {
        "prompt_tokens": 12, "completion_tokens": 3, "cost": 0.002,
        "completion_tokens_details": {"reasoning_tokens": 1}},
        "choices": [{"finish_reason": finish, "message": {"content": content}}]} | more


def fault(code, message="no", **more):
    return {"error": {"code": code, "message": message, **more}}


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


# --- a good answer -----------------------------------------------------------------------------

def test_a_completion_is_read_with_tokens_cost_and_who_served_it():
    reading = answered(body=chat("Decision: X"))
    assert reading.kind == "final"
    assert reading.reply[:11] == ("ok", "Decision: X", "stop", 12, 3, 1, 0.002, "some/model-0926",
                                  "up", "gen-1", "")


@pytest.mark.parametrize("content, finish, outcome", [
    ("x", "stop", "ok"), ("x", None, "ok"), ("x", "tool_calls", "ok"), (None, "stop", "empty"),
    ("", "stop", "empty"), (" \n", "stop", "empty"), ("x", "length", "truncated"),
    ("", "length", "truncated"), ("x", "content_filter", "blocked"),
    ("", "content_filter", "blocked")])
def test_content_and_finish_reason_make_the_outcome(content, finish, outcome):
    reading = answered(body=chat(content, finish))
    assert (reading.kind, reading.reply.outcome) == ("final", outcome)


def test_newlines_before_the_json_are_normal():
    assert answered(body="\n" * 500 + json.dumps(chat())).reply.outcome == "ok"


def test_fields_a_server_leaves_out_are_unknown_and_not_zero():
    reply = answered(body={"choices": [{"message": {"content": "Hi"}}]}).reply
    assert reply[:10] == ("ok", "Hi") + (None,) * 8


@pytest.mark.parametrize(("status", "billable"), [(200, True), (399, True), (400, False)])
def test_an_answer_that_was_cut_off_is_asked_again_and_may_have_been_billed(status, billable):
    reading = answered(status, "{", error="cut off")
    assert (reading.kind, reading.reply.message, reading.billable) == (
        "transient", "cut off", billable)


def test_a_date_is_read_from_now_on():
    exchange = Exchange(429, {"retry-after": formatdate(1090, usegmt=True)}, "{}")
    assert read(exchange, now=1000.0).wait == 90


def test_content_in_parts_is_joined():
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert answered(body=chat(parts)).reply.text == "ab"


def test_a_refusal_without_content_is_its_text():
    body = chat()
    body["choices"][0]["message"] = {"content": None, "refusal": "I can't."}
    assert answered(body=body).reply.text == "I can't."


def test_a_lone_surrogate_can_be_written_to_a_file():
    text = answered(body=json.dumps(chat("a")).replace('"a"', '"a\\ud800b"')).reply.text
    assert text.encode("utf-8")[:1] == b"a"


# --- errors: the table of the documentation ----------------------------------------------------

@pytest.mark.parametrize("status", [400, 404, 422, 401, 402, 403])
def test_a_wrong_request_and_a_refused_key_are_fatal_with_the_server_s_words(status):
    reading = answered(status, fault(status, "the reason"))
    assert reading.kind == "fatal" and "the reason" in reading.reply.message


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 524, 529])
def test_what_may_pass_is_asked_again(status):
    assert answered(status, fault(status)).kind == "transient"


@pytest.mark.parametrize("code", [502, "502", "server_error", None, [], 1e999, 10**400, 0, True])
def test_an_error_inside_a_200_counts_as_its_code(code):
    assert answered(200, fault(code)).kind == "transient"


def test_a_fatal_code_inside_a_200_is_fatal():
    assert answered(200, fault("401")).kind == "fatal"


def test_an_error_inside_a_choice_with_partial_text_is_no_answer():
    body = chat("Decis", "error")
    body["choices"][0]["error"] = {"code": 502, "message": "broke off"}
    reading = answered(200, body)
    assert (reading.kind, reading.reply.text) == ("transient", "")


@pytest.mark.parametrize("metadata", [{"reasons": ["violence"]}, {"flagged_input": "…"}])
@pytest.mark.parametrize(("status", "blocked"), [(400, True), (403, True), (401, False)])
def test_what_was_flagged_is_moderation_of_this_input(status, blocked, metadata):
    reading = answered(status, fault(status, "flagged", metadata=metadata))
    assert (reading.kind == "final", reading.reply.outcome == "blocked") == (blocked, blocked)


@pytest.mark.parametrize(("name", "outcome"), [
    ("server", "blocked"), ("nobody_knows", "blocked"), ("provider_overloaded", "provider_error")])
def test_words_of_a_filter_count_where_the_type_leaves_open_what_was_wrong(name, outcome):
    said = fault(503, "stopped by a content filter", metadata={"error_type": name})
    assert answered(503, said).reply.outcome == outcome


def test_an_upstream_s_own_words_are_told_without_the_blanks_around_them():
    said = fault(500, " no ", metadata={"raw": "\n overloaded \n", "remedy_hint": " wait "})
    assert answered(500, said).reply.message == "500: no · overloaded · wait"


def test_502_that_speaks_of_a_content_filter_is_an_outcome_of_the_trial():
    reading = answered(502, fault(502, "blocked by the upstream's content filter"))
    assert (reading.kind, reading.reply.outcome) == ("final", "blocked")


@pytest.mark.parametrize("more, kind", [
    ({"http_status": 429}, "transient"), ({"http_status": 401}, "fatal"),
    ({"availability": {"retryable": False}}, "fatal"),
    ({"availability": {"retryable": True}}, "transient")])
def test_the_newer_fields_decide_where_they_are_present(more, kind):
    status = 400 if more.get("availability", {}).get("retryable") else 500
    assert answered(status, fault(status, **more)).kind == kind


@pytest.mark.parametrize("body", ["<html>Bad gateway</html>", "", "[1]", '{"a":', "null"])
def test_a_200_that_is_no_completion_is_asked_again_and_may_have_been_billed(body):
    reading = answered(200, body)
    assert (reading.kind, reading.billable) == ("transient", True)


@pytest.mark.parametrize("choices", [[], None, "x", [None]])
def test_an_answer_without_choices_is_asked_again(choices):
    assert answered(200, chat(choices=choices)).kind == "transient"


def test_a_cached_copy_is_no_new_trial():
    reading = answered(200, chat(), {"x-openrouter-cache-status": "HIT"})
    assert (reading.kind, reading.reply.outcome) == ("transient", "provider_error")


def test_no_answer_is_billable_where_the_question_left_and_free_where_it_did_not():
    lost = Exchange(None, {}, "", "connection reset")
    assert read(lost).billable and not read(lost._replace(sent=False)).billable


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirection_is_not_followed_with_the_key(status):
    assert answered(status, "").kind == "fatal"


@pytest.mark.parametrize("value, seconds", [
    ("40", 40), ("1.5", 1.5), (formatdate(60, usegmt=True), 60), ("0", None),
    (formatdate(-9, usegmt=True), None), ("soon", None), ("-3", None), ("nan", None), ("", None)])
def test_retry_after_is_seconds_or_a_date(value, seconds):
    # RFC 9110, 10.2.3; `now` is the epoch here
    assert answered(429, fault(429), {"retry-after": value}).wait == seconds


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


# --- a status that comes without words -----------------------------------------------------------

# By RFC 9110, RFC 8470 (425) and RFC 6585 (429): what asking again in the same words may change.
STATUSES = {**dict.fromkeys((408, 409, 425, 429, 500, 501, 502, 503, 504, 524, 529), "transient"),
            **dict.fromkeys((300, 301, 302, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407, 410,
                             411, 412, 414, 415, 418, 421, 422, 424, 426, 428, 431, 451), "fatal"),
            413: "final"}  # of this one prompt


@pytest.mark.parametrize(("status", "kind"), STATUSES.items())
def test_a_bare_status_passes_or_ends_the_run(status, kind):
    reading = answered(status, "")
    assert (reading.kind, reading.reply.outcome) == (kind, "provider_error")
    assert reading.error_type == str(status) and str(status) in reading.reply.message


@pytest.mark.parametrize(("status", "outcome"), [
    (400, "blocked"), (403, "blocked"), (500, "blocked"), (502, "blocked"), (503, "blocked"),
    (404, "provider_error"), (429, "provider_error"), (504, "provider_error")])
def test_a_filter_speaks_through_these_statuses_only(status, outcome):
    words = "The response was filtered by the content management policy"
    assert answered(status, fault(status, words)).reply.outcome == outcome


@pytest.mark.parametrize(("status", "hint"), [
    (301, "base URL"), (302, "base URL"), (307, "base URL"), (308, "base URL"),
    (401, "OPENROUTER_API_KEY"), (402, "add credit"), (403, "permission"), (404, "name")])
def test_what_ends_a_run_says_what_to_do(status, hint):
    assert hint in answered(status, "").reply.message


@pytest.mark.parametrize(("value", "tokens"), [
    (0, 0), (10**12 - 1, 10**12 - 1), (10**12, None), (-1, None), (True, None), (1.0, None),
    (1.5, None), ("12", None), (None, None), (10**400, None)], ids=lambda value: str(value)[:14])
def test_a_count_of_tokens_is_a_whole_number_of_sane_size(value, tokens):
    assert answered(body=chat(usage={"prompt_tokens": value})).reply.prompt_tokens == tokens


@pytest.mark.parametrize(("value", "usd"), [
    (0, 0), (0.5, 0.5), ("0.5", None), ("1_0", None), (1e9, None), (999999999.0, 999999999.0),
    (-1e-9, None), ("nan", None), (True, None), ("inf", None), ("much", None), ([], None),
    (None, None)])
def test_a_cost_is_a_sum_that_can_be_a_bill(value, usd):
    assert answered(body=chat(usage={"cost": value})).reply.cost_usd == usd


@pytest.mark.parametrize(("usage", "usd"), [
    ({}, None), ({"upstream": 0.5}, 0.5), ({"cost": 0.1, "upstream": 0.5}, 0.6),
    ({"cost": 0.1, "upstream": 0.5, "is_byok": True}, 0.6), ({"cost": 0.1, "is_byok": True}, None),
    ({"cost": 0.1, "upstream": 0.5, "is_byok": False}, 0.1)])
def test_what_an_upstream_bills_to_an_own_key_counts(usage, usd):
    details = {"upstream_inference_cost": usage.pop("upstream", None)}
    reply = answered(body=chat(usage=usage | {"cost_details": details})).reply
    assert reply.cost_usd == pytest.approx(usd)


@pytest.mark.parametrize(("code", "status"), [
    (399, 502), (400, 400), (451, 451), (599, 599), (600, 502), ("429", 429), (5e2, 500)])
def test_a_code_counts_where_it_can_be_a_status(code, status):
    assert answered(200, fault(code)).error_type == str(status)


@pytest.mark.parametrize(("metadata", "limit"), [
    ({}, "daily"), ({"limit_source": "openrouter_free_tier_daily"}, "daily"),
    ({"limit_source": "upstream"}, "")])
def test_words_tell_of_a_day_s_limit_only_where_no_field_tells_of_another(metadata, limit):
    said = answered(429, fault(429, "50 requests per day", metadata=metadata))
    assert (said.kind, said.limit) == ("transient", limit)


def test_a_time_of_day_to_wait_for_counts_from_now():
    reset = {"x-ratelimit-reset": str(1000 * 1_795_341_690)}
    assert read(Exchange(429, reset, "{}"), 1_795_341_600.0).wait == 90


@pytest.mark.parametrize(("name", "status"), [
    ("authentication", 401), ("payment_required", 402), ("permission_denied", 403),
    ("not_found", 404), ("payload_too_large", 413), ("rate_limit_exceeded", 429)])
def test_a_type_without_a_code_has_the_status_of_its_name(name, status):
    said = answered(body={"error": {"type": name, "message": "no"}}).reply.message
    assert said.startswith(f"{status}: no")


@pytest.mark.parametrize(("body", "billable"), [
    ({"choices": []}, True), ({}, True), ("<html>", True), ("[]", True), (fault(502), False)])
def test_an_answer_that_says_nothing_may_have_been_billed(body, billable):
    assert (answered(200, body).kind, answered(200, body).billable) == ("transient", billable)


@pytest.mark.parametrize("key", ["error", "message", "detail"])
def test_what_servers_say_at_top_level_is_told(key):
    assert answered(500, {key: "out of memory"}).reply.message == "500: out of memory"
    assert answered(404, {key: "gone"}).reply.message.startswith("404: gone (check the model")


def test_what_is_told_of_an_answer_has_its_length_and_a_cached_copy_is_not_billed():
    body = '{"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}'
    cached = read(Exchange(200, {"x-openrouter-cache-status": "HIT"}, body))
    assert (cached.kind, cached.billable) == ("transient", False)
    assert read(Exchange(200, {}, "a" * 81)).reply.message == f"not JSON: '{'a' * 80}'"
    more = {"raw": "b" * 201, "remedy_hint": "c" * 200}
    told = read(Exchange(400, {}, json.dumps({"error": {"message": "a" * 301, "metadata": more}})))
    assert "a" * 300 + " · " + "b" * 197 in told.reply.message and "b" * 198 not in (
        told.reply.message)
    named = [read(Exchange(400, {}, json.dumps({"error": error}))).error_type for error in (
        {"error_type": "e" * 61}, {"code": "odd", "type": "odder"})]
    assert named == ["e" * 60, "400"]
