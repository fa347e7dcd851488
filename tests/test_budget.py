"""What holds calls back: a model's breaker, and the money: what an attempt is charged, what is
reserved for the calls that follow, what a server's own ledger says of it. That no run passes its
limit by more than the calls in flight, the state machine in `test_ask.py` holds."""

import gzip
import json

import pytest
from provider import PRICE, completion, failure, request

from common import wire
from common.gate import Breaker, Money
from common.reading import read
from common.wire import PLAIN, Exchange, Model

CALL = request("b00/0")
# Of each call of this study: their texts are as long.
WORST = wire.worst_case(CALL, PRICE, PRICE)


def money(limit=1.0, price=PRICE, adapted=PLAIN, spent=0.0):
    return Money(limit, PRICE, lambda request: (price, adapted), spent)


# --- the breaker: 5 errors in a row within 60 s, a pause of 30 s, one probe ---------------------

OPENED, PROBING = (0,) * 5, (*(0,) * 5, "sent")
# what: (errors and what else happened, when nothing may be sent, when it may, openings)
PAUSES = {
    "four errors in a row pause nothing": ((0, 1, 2, 3), None, 3, 0),
    "five pause the model for thirty seconds": ((0, 1, 2, 3, 4), 33.9, 34, 1),
    "a success between makes it no row": (
        (0, 1, 2, 3, "success", 4, 5, 6, 7),
        None,
        7,
        0,
    ),
    "five over more than a minute pause nothing": ((0, 20, 40, 60, 61), None, 61, 0),
    "five within a minute do": ((0, 20, 40, 50, 60), 89, 90, 1),
    "after the pause one probe goes and no more": (PROBING, 31, None, 1),
    "a probe that succeeds ends the pause": ((*PROBING, "success"), None, 31, 0),
    "a probe that fails pauses again": ((*PROBING, 31), 60.9, 61, 2),
    "calls in flight open nothing more": ((0,) * 64, 29.9, 30, 1),
    "a late success does not cut the pause short": ((*OPENED, "success"), 29, 30, 0),
    "who asks to wait leaves it open": ((*OPENED, "answered"), 1, 30, 1),
    "who asks to wait ends a probe": ((*PROBING, "answered"), None, 1, 1),
    "a third opening is final": ((*PROBING, 31, "sent", 62), 91, None, 3),
}


@pytest.mark.parametrize("what", PAUSES)
def test_when_the_next_call_may_go(what):
    events, never, at, openings = PAUSES[what]
    breaker = Breaker()
    for event in events:
        if isinstance(event, str):
            getattr(breaker, event)()
        else:
            breaker.failure(event)
    assert (breaker.openings, breaker.tripped) == (openings, openings == 3)
    assert never is None or not breaker.may_send(never)
    assert at is None or breaker.may_send(at)


# --- what is charged: (answer, its cost, dollars charged, whether a price is known) -----------


def raw(usage, status=200, **more):
    """An answer with such a usage, in which LONG has more digits than Python reads."""
    body = {
        "id": "g",
        "choices": [{"message": {"content": "x"}}],
        "usage": usage,
    } | more
    return Exchange(status, {}, json.dumps(body).replace('"LONG"', "9" * 5000))


# completion(): 10 tokens in, 2 out, at 1 and 4 dollars a million
BY_TOKENS = 18e-6
CHARGES = {
    "the cost that the server tells": (completion(cost=0.0123), 0.0123, 0.0123, True),
    "without a cost the tokens are priced": (
        completion(cost=None),
        BY_TOKENS,
        BY_TOKENS,
        True,
    ),
    "a cost of 5,000 digits": (
        raw({"prompt_tokens": 10, "completion_tokens": 2, "cost": "LONG"}),
        BY_TOKENS,
        BY_TOKENS,
        True,
    ),
    "tokens of 5,000 digits": (
        raw({"prompt_tokens": 10, "completion_tokens": "LONG"}),
        None,
        WORST,
        True,
    ),
    "without tokens written": (raw({"prompt_tokens": 10}), None, WORST, True),
    "without tokens read": (raw({"completion_tokens": 2}), None, WORST, True),
    "a lost answer": (Exchange(None, {}, "", "reset"), None, WORST, False),
    "an answer cut off": (Exchange(200, {}, "", "cut off"), None, WORST, False),
    "an answer of another kind": (Exchange(200, {}, "<html>"), None, WORST, False),
    "an error of the server's own": (failure(500), None, 0.0, False),
    "nothing sent": (Exchange(None, {}, "", "refused", sent=False), None, 0.0, False),
    "too long a prompt": (failure(413), None, 0.0, False),
    "a failed attempt with a cost": (
        completion(cost=0.01, finish_reason="error"),
        0.01,
        0.01,
        False,
    ),
    "an error with a cost": (
        raw({"cost": 0.01}, 500, error={"code": 500}),
        0.01,
        0.01,
        False,
    ),
    "a blocked input with a cost": (
        raw({"cost": 1.0}, 403, error={"metadata": {"reasons": ["x"]}}),
        1.0,
        1.0,
        True,
    ),
    "a blocked answer with a bill": (
        completion(cost=0.1, finish_reason="content_filter"),
        0.1,
        0.1,
        True,
    ),
}


@pytest.mark.parametrize(
    ("price_from", "charged"), [("configuration", BY_TOKENS), ("catalogue", 0.0)]
)
def test_a_cost_of_0_is_believed_unless_the_user_gave_a_price(price_from, charged):
    """A key of one's own is billed elsewhere: then OpenRouter says 0."""
    reply = read(completion(cost=0.0, tokens=(10, 2))).reply
    cost = wire.cost_of(reply, PRICE._replace(price_from=price_from))
    assert cost == pytest.approx(charged)


@pytest.mark.parametrize("what", CHARGES)
def test_what_is_charged_and_whether_a_price_is_known_since(what):
    exchange, cost, charged, known = CHARGES[what]
    wallet = money()
    assert wallet.charge(CALL, read(exchange)) == pytest.approx((cost, charged))
    assert wallet.unknown("m") is not known
    assert wallet.spent == pytest.approx(charged)


def test_a_long_answer_is_charged_by_its_tokens_where_no_price_is_known(bench):
    usd = 10 * PRICE.prompt + 20_000 * PRICE.completion
    long = raw({"prompt_tokens": 10, "completion_tokens": 20_000})
    run = bench("a", {"a": [long]}, limit=1.0, price=Model())
    assert run.money.spent == pytest.approx(usd)
    again = bench("a", limit=1.0, price=Model())
    for wallet in (
        run.money,
        again.money,
    ):  # the calls that follow are reserved at that
        assert wallet.worst_case(CALL) == pytest.approx(usd)


FLAGS = ("--models", "double/a,double/b", "--runs", "6", "--out", "o")
UNPRICED = {
    name: {"supported_parameters": ["seed"]} for name in ("double/a", "double/b")
}


@pytest.mark.parametrize("hidden", [{}, {"show_cost": False}, {"models": UNPRICED}])
def test_an_abort_leaves_whole_blocks_and_a_higher_limit_completes(
    cli, double, tmp_path, hidden
):
    def run(name, *limit):
        where = ("--base-url", double.url, "--run-id", name)
        return cli("run_pilot.py", *FLAGS, *where, *limit)

    double.script(greedy=True, **hidden)
    assert run("whole").returncode == 0
    whole = double.ledger()["billed_usd"]

    double.script(greedy=True, **hidden)
    aborted = run("cut", "--limit-usd", whole * 0.9)
    assert aborted.returncode == 4 and "give a higher --limit-usd" in aborted.stderr
    with gzip.open(tmp_path / "o/cut/trials.jsonl.gz") as lines:
        rows = list(map(json.loads, lines))
    made, left = set(), set()
    for row in rows:
        blocks = left if row["status"] == "not_run" else made
        blocks.add((row["model"], row["run"]))
    assert made and left and not made & left
    assert double.ledger()["billed_usd"] <= whole * 0.9

    assert run("cut", "--limit-usd", whole * 1.01).returncode == 0
    assert double.ledger()["billed_usd"] == pytest.approx(
        whole
    )  # nothing was sent twice


def test_a_server_that_charged_more_than_its_price_is_named_with_the_sum(cli, double):
    double.script(serves={"usage": {"cost": 0.07}})
    run = cli("run_pilot.py", *FLAGS, "--base-url", double.url, "--limit-usd", 0.06)
    billed = 0.07 * len(double.ledger()["requests"])
    assert f"note: ${billed:.6f} was charged, more than the limit" in run.stderr
    assert run.returncode == 4
