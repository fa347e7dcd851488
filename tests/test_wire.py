"""Requests as a server wants them, and what a server's lists say."""

import json

import pytest

from common import wire
from common.reading import read_balance, read_catalogue
from common.wire import PLAIN, Adapted, Model, Request

CALL = Request(
    "p/m/r1/S.low", "decision", "some/model", "You decide.", "Which?", 96, 0.7, 5
)
GONE = None  # the key is not in the body


def test_a_body_holds_model_messages_and_a_limit_always():
    body = wire.body(CALL._replace(temperature=None, seed=None), Model(), "openrouter")
    names = [plugin["id"] for plugin in body.pop("plugins")]
    assert names == ["context-compression", "response-healing", "web"]
    system = {"role": "system", "content": "You decide."}
    user = {"role": "user", "content": "Which?"}
    assert body.pop("messages") == [system, user]
    rest = {"model": "some/model", "max_completion_tokens": 96}
    assert body == {**rest, "session_id": "p/m/r1"}


ROUTER, OTHER = "openrouter", "chat"
NAMED = Model(parameters=("max_completion_tokens", "temperature", "seed"))
# what: (changes of the request, the model, the dialect, how it is adapted, keys of the body)
BODIES = {
    "an empty system prompt is no message": (
        {"system": ""},
        Model(),
        "openai",
        PLAIN,
        {"messages": [{"role": "user", "content": "Which?"}], "max_tokens": GONE},
    ),
    "examples are turns of the conversation": (
        {"system": "", "examples": ("q", "a")},
        Model(),
        ROUTER,
        PLAIN,
        {
            "messages": [
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": "a"},
                {"role": "user", "content": "Which?"},
            ]
        },
    ),
    "a limit below sixteen is raised to it": (
        {"max_out": 8},
        Model(),
        ROUTER,
        PLAIN,
        {"max_completion_tokens": 16, "max_tokens": GONE},
    ),
    "what is not listed or was refused is not sent": (
        {},
        Model(parameters=("max_completion_tokens", "seed")),
        ROUTER,
        Adapted(("plugins",)),
        {"temperature": GONE, "seed": 5, "plugins": GONE},
    ),
    "an effort has its own name elsewhere": (
        {"effort": "high"},
        Model(),
        OTHER,
        PLAIN,
        {"reasoning_effort": "high", "reasoning": GONE},
    ),
    "who does not reason is sent no effort": (
        {"effort": "high"},
        Model(reasons=False),
        ROUTER,
        PLAIN,
        {"reasoning": GONE},
    ),
    "no name says who reasons": (
        {"model": "openai/gpt-5-nano"},
        Model(),
        ROUTER,
        PLAIN,
        {"reasoning": GONE},
    ),
    "a session's name is as long as the service takes": (
        {"id": "b" * 300 + "/a"},
        Model(),
        ROUTER,
        PLAIN,
        {"session_id": "b" * 256},
    ),
}
for most, limit in ((40, 40), (4000, 96)):
    model = NAMED._replace(most_out=most)
    keys = {"max_completion_tokens": limit}
    BODIES[f"of a model that gives {most} at most"] = {}, model, ROUTER, PLAIN, keys


@pytest.mark.parametrize("what", BODIES)
def test_what_a_body_holds(what):
    changes, model, dialect, adapted, keys = BODIES[what]
    body = wire.body(CALL._replace(**changes), model, dialect, adapted)
    assert {key: body.get(key) for key in keys} == keys


def test_the_worst_case_counts_a_token_a_byte_and_the_whole_room():
    request = CALL._replace(
        system="ä" * 50, user="x" * 100, examples=("q", "a"), max_out=96
    )
    model = Model(prompt=1e-6, completion=1e-5, request=0.01)
    # 202 bytes of prompt and 32 tokens for each of four messages; 96 or 500 tokens of output
    for adapted, room in ((PLAIN, 96), (Adapted(room=500, took=125), 500)):
        usd = wire.worst_case(request, model, Model(), adapted)
        assert usd == pytest.approx(0.01 + 330e-6 + room * 1e-5)


@pytest.mark.parametrize(
    ("before", "tokens", "room"),
    [
        (PLAIN, 20, 0),  # four times as many are no more than the usual 96
        (Adapted(room=384, took=25), 20, 100),  # the longer of two answers
        (Adapted(room=65_536), 40_000, 65_536),
    ],
)
def test_a_study_has_four_times_the_room_that_the_warm_up_took(before, tokens, room):
    asked = wire.asked(before, {"max_tokens": 96})
    reply = wire.Reply("ok", completion_tokens=tokens)
    assert wire.fitted(asked, reply, Model()).room == room


DEAREST = {
    "prompt": "0.000001",
    "completion": "0.000002",
    "overrides": [
        {"min_prompt_tokens": 200000, "prompt": "0.000003"},
        {"utc_start": "0900", "utc_end": "1700", "completion": "0.000007"},
    ],
}


@pytest.mark.parametrize(
    ("pricing", "dollars"),
    [
        (
            {"prompt": "0.00000005", "completion": "0.0000004", "request": "0.001"},
            (5e-8, 4e-7, 0.001),
        ),
        (
            {"prompt": "0", "completion": "0.000001", "internal_reasoning": "0.000003"},
            (0, 3e-6, 0),
        ),
        (DEAREST, (3e-6, 7e-6, 0)),  # where it depends on hour or length
        ({}, None),
        ({"prompt": "-1", "completion": "-1"}, None),
        ({"prompt": "0.1"}, None),
        ({"prompt": "x", "completion": "1"}, None),
    ],
)
def test_prices_are_texts_in_dollars_a_token_or_unknown(pricing, dollars):
    model = read_catalogue(json.dumps({"data": [{"id": "m", "pricing": pricing}]}))["m"]
    assert model.priced is (dollars is not None)
    assert dollars in (None, (model.prompt, model.completion, model.request))


@pytest.mark.parametrize(
    ("data", "left"),
    [
        ({"limit_remaining": 3.5}, 3.5),
        ({"limit_remaining": None}, None),
        ({}, None),
        (1, None),
        ({"limit_remaining": 5, "effective_budget": {"remaining_usd": 2}}, 2),
        ({"limit_remaining": None, "effective_budget": {"remaining_usd": 2}}, 2),
        ({"limit_remaining": 5, "effective_budget": None}, 5),
    ],
)
def test_a_balance_of_null_is_unlimited_and_the_tighter_of_two_counts(data, left):
    assert read_balance(json.dumps({"data": data})) == left


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"data": 1}', '{"data": [1, {"id": 1}]}']
)
def test_a_list_that_is_none_is_empty(text):
    assert (read_catalogue(text), read_balance(text)) == ({}, None)
