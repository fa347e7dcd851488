"""What an attempt is charged, and what a dear one does to the calls that follow. That no run passes
its limit by more than the calls in flight, whatever is billed, the state machine in `test_drive.py`
holds."""

import json
import re

import pytest
from world import PRICE, World, completion, conducted, failure, request

from common import wire
from common.budget import Budget
from common.reading import read
from common.wire import Exchange

ASKED = request("b00/0")
WORST = wire.worst_case(ASKED, PRICE, PRICE)  # of each call of this study: their texts are as long


def billed_error(usd, status=500, **error):
    """An error with a bill."""
    return Exchange(status, {}, json.dumps(
        {"error": {"code": status, "message": "no"} | error, "usage": {"cost": usd}}))


def raw(**usage):
    """A cost or tokens that are none."""
    return Exchange(200, {}, json.dumps(
        {"id": "g", "choices": [{"message": {"content": "x"}}], "usage": usage}))


def lengthy(*names, sign=""):
    """An answer in which these numbers have more digits than Python reads."""
    body = completion().body
    for name in names:
        body = re.sub(f'("{name}": )[^,}}]+', r"\g<1>" + sign + "9" * 5000, body)
    return Exchange(200, {}, body)


def blocks():
    """Chains of four calls each; all texts are as long."""
    def block(at):
        return (yield [request(f"b{at:02d}/{k}") for k in range(4)])
    return [block(at) for at in range(6)]


def test_a_surprise_below_the_limit_raises_what_is_reserved_and_the_run_goes_on(tmp_path):
    world = World(lambda asked, n: (completion(cost=WORST * (0.5 if n < 3 else 6)), 1.0))
    run = conducted(tmp_path / "r", world, blocks, 200 * WORST, 8)
    assert run.ending.stop is None and run.ending.outcomes["ok"] == 24
    again = conducted(tmp_path / "r", World(), blocks, 200 * WORST)  # the next start knows it
    assert again.asked == []
    for budget in (run.budget, again.budget):
        for asked, usd in ((ASKED, 6), (ASKED._replace(stage="other"), 6),
                           (ASKED._replace(model="other"), 1)):
            assert budget.worst_case(asked) == pytest.approx(usd * WORST)


@pytest.mark.parametrize(("names", "tight"), [
    (["b00/0", "b00/1", "b01/0"], True), (["b00/0", "b01/0", "b01/1"], False), ([], False)])
def test_a_limit_is_tight_where_it_does_not_hold_the_first_block(names, tight):
    budget = Budget(1.5 * WORST, PRICE, lambda name: PRICE)
    assert budget.tight([request(name) for name in names]) is tight


# What is charged: (answer, its cost, dollars charged , whether a price is known).
# completion(): 10 tokens in, 2 out, at 1 and 4 dollars a million
KEY, BY_TOKENS = ("decision", "m"), 18e-6
CHARGES = {
    "the cost that the server tells": (completion(cost=0.0123), 0.0123, 0.0123, True),
    "without a cost the tokens are priced": (completion(cost=None), BY_TOKENS, BY_TOKENS, True),
    "without tokens": (raw(), None, WORST, True),
    "a cost of 5,000 digits": (lengthy("cost"), BY_TOKENS, BY_TOKENS, True),
    "tokens of 5,000 digits": (lengthy("completion_tokens"), 1e-4, 1e-4, True),
    "both": (lengthy("cost", "completion_tokens"), None, WORST, True),
    "a cost of as many below zero": (lengthy("cost", sign="-"), BY_TOKENS, BY_TOKENS, True),
    "without those written": (raw(prompt_tokens=10), None, WORST, True),
    "without those read": (raw(completion_tokens=2), None, WORST, True),
    "a lost answer": (Exchange(None, {}, "", "reset"), None, WORST, False),
    "an answer cut off": (Exchange(200, {}, "", "cut off"), None, WORST, False),
    "an answer of another kind": (Exchange(200, {}, "<html>"), None, WORST, False),
    "an error of the server's own": (failure(500), None, 0.0, False),
    "no key": (failure(401), None, 0.0, False),
    "nothing sent": (Exchange(None, {}, "", "refused", sent=False), None, 0.0, False),
    "too long a prompt": (failure(413), None, 0.0, False),
    "a failed attempt with a cost": (
        completion(cost=0.01, finish_reason="error"), 0.01, 0.01, False),
    "an error with a cost": (billed_error(0.01), 0.01, 0.01, False),
    "a blocked input with a cost": (
        billed_error(1.0, 403, metadata={"reasons": ["x"]}), 1.0, 1.0, True),
    "a blocked answer with a bill": (
        completion(cost=0.1, finish_reason="content_filter"), 0.1, 0.1, True)}


@pytest.mark.parametrize("what", CHARGES)
def test_what_is_charged_and_whether_a_price_is_known_since(what):
    exchange, cost, charged, known = CHARGES[what]
    budget = Budget(1, PRICE, lambda name: PRICE)
    assert budget.charge(ASKED, read(exchange)) == pytest.approx((cost, charged))
    assert budget.unknown(*KEY) is not known and budget.total.spent == pytest.approx(charged)


def test_an_answer_longer_than_allowed_is_charged_by_its_tokens_where_no_price_is_known():
    budget = Budget(1, PRICE, lambda name: wire.Model())
    long = raw(prompt_tokens=10, completion_tokens=20_000)
    assert budget.charge(ASKED, read(long)) == (None, pytest.approx(
        10 * PRICE.prompt + 20_000 * PRICE.completion))
    again = Budget(1, PRICE, lambda name: wire.Model())
    again.learn(*KEY, budget.total.spent, None)   # as the next start reads it from the journal
    for each in (budget, again):   # the calls that follow are reserved at that
        assert each.worst_case(ASKED) == pytest.approx(budget.total.spent)
