"""Requests as a server wants them, and what a server's lists say."""

import json

import pytest

from common import wire
from common.reading import read_balance, read_catalogue, read_endpoints, read_model
from common.wire import Model, Request

CALL = Request(
    "p/m/r1/S.low", "decision", "some/model", "You decide.", "Which?", 96, 0.7, 5
)
NAMED = ("max_completion_tokens", "temperature", "seed", "reasoning")
REASONER = Model(parameters=NAMED, reasons=True)
MUST = REASONER._replace(mandatory=True, efforts=("minimal", "low", "medium", "high"))
PINNED = {"only": ["up"], "allow_fallbacks": False, "require_parameters": True}
GONE = None  # the key is not in the body


def test_a_body_holds_model_messages_and_a_limit_always():
    body = wire.body(CALL._replace(temperature=None, seed=None), Model(), "openrouter")
    assert body == {
        "model": "some/model",
        "max_completion_tokens": 96,
        "messages": [
            {"role": "system", "content": "You decide."},
            {"role": "user", "content": "Which?"},
        ],
        "session_id": "p/m/r1",
        "plugins": [
            {"id": name, "enabled": False}
            for name in ("context-compression", "response-healing", "web")
        ],
    }


# what: (changes of the request, the model, the dialect, keys of the body)
BODIES = {
    "an empty system prompt is no message, the older name not for openai": (
        {"system": ""},
        Model(),
        "openai",
        {"messages": [{"role": "user", "content": "Which?"}], "max_tokens": GONE},
    ),
    "a limit below sixteen is raised to it": (
        {"max_out": 8},
        Model(),
        "openrouter",
        {"max_completion_tokens": 16, "max_tokens": GONE},
    ),
    "the older name goes where it may be needed": (
        {},
        Model(),
        "compatible",
        {"max_completion_tokens": 96, "max_tokens": 96},
    ),
    "a parameter that is not listed is not sent": (
        {},
        Model(parameters=("max_completion_tokens", "seed")),
        "openrouter",
        {"temperature": GONE, "seed": 5},
    ),
    "all are sent where nothing is known, routing as it is configured": (
        {},
        Model(),
        "openrouter",
        {"temperature": 0.7, "seed": 5, "provider": PINNED},
    ),
    "who must reason gets the least effort and head room": (
        {},
        MUST,
        "openrouter",
        {"reasoning": {"effort": "minimal"}, "max_completion_tokens": 96 + 1024},
    ),
    "who may reason is sent no effort": (
        {},
        REASONER,
        "openrouter",
        {"reasoning": {"effort": "none"}, "max_completion_tokens": 96},
    ),
    "a chosen effort has head room": (
        {"effort": "high"},
        REASONER,
        "openrouter",
        {"reasoning": {"effort": "high"}, "max_completion_tokens": 96 + 16_384},
    ),
    "gpt-5 reasons though no catalogue says so": (
        {"model": "openai/gpt-5-nano"},
        Model(),
        "openrouter",
        {"reasoning": {"effort": "minimal"}},
    ),
    "an effort has its own name elsewhere": (
        {"effort": "high"},
        Model(),
        "compatible",
        {
            "reasoning_effort": "high",
            "reasoning": GONE,
            "plugins": GONE,
            "provider": GONE,
        },
    ),
    "openai's own reasoner gets its least": (
        {"model": "gpt-5-nano"},
        Model(),
        "openai",
        {"reasoning_effort": "minimal"},
    ),
    "nobody else is told how to reason": (
        {"model": "gpt-5-nano"},
        Model(),
        "compatible",
        {"reasoning_effort": GONE},
    ),
    **{
        f"of a model that gives {most} at most": (
            {},
            Model(parameters=NAMED, most_out=most),
            "openrouter",
            {"max_completion_tokens": limit},
        )
        for most, limit in ((40, 40), (4000, 96))
    },
    "a session's name is as long as the service takes": (
        {"id": "b" * 300 + "/a"},
        Model(),
        "openrouter",
        {"session_id": "b" * 256},
    ),
}


@pytest.mark.parametrize("what", BODIES)
def test_what_a_body_holds(what):
    changes, model, dialect, keys = BODIES[what]
    body = wire.body(CALL._replace(**changes), model, dialect, PINNED)
    assert {key: body.get(key) for key in keys} == keys


def test_the_worst_case_counts_a_token_a_byte_and_the_whole_limit():
    request = CALL._replace(
        system="ä" * 50, user="x" * 100, examples=("q", "a"), max_out=96
    )
    model = Model(prompt=1e-6, completion=1e-5, request=0.01)
    # 202 bytes of prompt and 32 tokens for each of four messages; 96 tokens of output
    assert wire.worst_case(request, model, Model()) == pytest.approx(
        0.01 + 330e-6 + 96e-5
    )


def test_a_billion_dollars_is_no_cost():
    reply = wire.Reply("ok", prompt_tokens=1, completion_tokens=0)
    assert [wire.cost_of(reply, Model(usd, 0.0)) for usd in (9e8, 1e9)] == [9e8, None]


@pytest.mark.parametrize(
    ("effort", "room"),
    [
        (None, 0),
        ("minimal", 1024),
        ("low", 2048),
        ("medium", 8192),
        ("high", 16_384),
        ("xhigh", 32_768),
        ("max", 32_768),
    ],
)
def test_a_quarter_of_the_head_room_is_expected_to_be_spent(effort, room):
    request = Request("a", "decision", "m", "abcd", "efgh", 16, effort=effort)
    model = Model(1.0, 1.0, reasons=True)
    assert wire.expected_cost(request, model, model) == 2 + 16 + room / 4


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
    ("entry", "reasons"),
    [
        ({"supported_parameters": ["reasoning"]}, True),
        ({"supported_parameters": ["seed"]}, False),
        ({"reasoning": {"mandatory": False}}, True),
        ({}, None),
    ],
)
def test_a_model_reasons_where_its_entry_says_so(entry, reasons):
    assert read_model(entry).reasons is reasons


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
    "text", ["", "[]", "{", '{"data": 1}', '{"data": {"endpoints": 1}}']
)
def test_a_list_that_is_none_is_empty(text):
    assert (read_endpoints(text), read_balance(text)) == ([], None)
