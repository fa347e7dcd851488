"""Whatever a server bills, spending passes the limit by the calls in flight at that moment and no
more; a surprise below the limit raises what is reserved for all that follow."""

import json
import math
import random
import re

import pytest
from world import PRICE, World, completion, conducted, failure, request

from common import OverBudget, wire
from common.budget import Budget
from common.reading import read
from common.wire import Exchange, cost_of

ASKED = request("b00/0")
WORST = wire.worst_case(ASKED, PRICE, PRICE)  # of each call of this study: their texts are as long


def steady(factor):
    return lambda n: completion(cost=factor * WORST)


def later(calm, before, factor):
    """`calm` answers at `before` times what is reserved, then others."""
    return lambda n: completion(cost=(before if n < calm else factor) * WORST)


def longer(calm, times):
    """Answers longer than allowed, priced by their tokens."""
    return lambda n: completion(cost=None, tokens=(10, 2 if n < calm else 16 * times))


def billed_error(every, factor, form):
    """An error with a bill, now and then."""
    def answer(n):
        usage = {"usage": {"cost": factor * WORST}}
        error = {"error": {"code": 500, "message": "no"}}
        if n % every:
            return completion(cost=WORST / 2)
        return {"http": Exchange(500, {}, json.dumps(error | usage)),
                "200": Exchange(200, {}, json.dumps(error | usage)),
                "inside": failure(503, **usage),
                "metadata": failure(503, metadata=usage),
                "blocked": Exchange(403, {}, json.dumps(
                    {"error": {"code": 403, "metadata": {"reasons": ["x"]}}} | usage)),
                "wait": Exchange(429, {"retry-after": "2"}, json.dumps(error | usage)),
                "choice": completion(cost=factor * WORST, finish_reason="error")}[form]
    return answer


def raw(**usage):
    """A cost or tokens that are none."""
    text = json.dumps({"id": "g", "choices": [{"message": {"content": "x"}}], "usage": usage})
    return lambda n: Exchange(200, {}, text)


def lengthy(*names, sign=""):
    """An answer in which these numbers have more digits than Python reads."""
    body = completion().body
    for name in names:
        body = re.sub(f'("{name}": )[^,}}]+', r"\g<1>" + sign + "9" * 5000, body)
    return Exchange(200, {}, body)


def drawn(seed, spread):
    rng = random.Random(seed)
    costs = [WORST * math.exp(rng.gauss(-1, spread)) for _ in range(400)]
    return lambda n: completion(cost=costs[n])


def byok(fee, upstream, calm):
    def answer(n):
        usage = {"cost": fee * WORST, "is_byok": True, "prompt_tokens": 9, "completion_tokens": 2,
                 "cost_details": {"upstream_inference_cost": upstream * WORST * (n >= calm)}}
        return raw(**usage)(n)
    return answer


WAYS = {
    **{f"always {f} times": steady(f) for f in (0, 0.5, 1, 1.5, 10, 1e6)},
    **{f"{calm} as told, then {f} times": later(calm, 0.5, f)
       for calm in (1, 8, 30) for f in (2, 1000)},
    **{f"{calm} for nothing, then 10 times": later(calm, 0, 10) for calm in (1, 40)},
    **{f"{calm} short, then {f} times too long": longer(calm, f)
       for calm in (0, 5) for f in (2, 100)},
    **{f"an error {form} now and then": billed_error(5, 20, form)
       for form in ("http", "200", "inside", "metadata", "blocked", "wait", "choice")},
    **{f"drawn, spread {spread}": drawn(1, spread) for spread in (1, 3)},
    **{f"own key, {calm} cheap": byok(0.05, 50, calm) for calm in (0, 12)},
    **{f"cost {value!r}"[:30]: raw(cost=value, prompt_tokens=9, completion_tokens=2) for value in (
        "10", True, None, [9], float("nan"), float("inf"), -1, 1e9, 10**400)},
    **{f"tokens {value!r}"[:30]: raw(prompt_tokens=9, completion_tokens=value)
       for value in ("9", True, -1, 1.5, None, 10**11, 10**13)},
    "cheap and dear in turns": lambda n: completion(cost=WORST * (30 if n % 2 else 0.1)),
    "lost now and then": lambda n: Exchange(None, {}, "", "reset") if n % 4 == 3 else completion(),
}


def block(*names):
    return (yield [request(name) for name in names])


def blocks(n):
    """Chains of four calls each; all texts are as long."""
    return lambda: [block(*(f"b{at:02d}/{k}" for k in range(4))) for at in range(n)]


def lasting(answer):
    """Answers that take longer the later they are asked, so that many are in flight together."""
    return lambda req, n: (answer(n), 1 + (n * 7 % 10) / 10)


class Watch:
    """Holds the promise against what is sent and charged."""

    def __init__(self, world, limit):
        self.world, self.limit, self.passed = world, limit, None
        self.dearest = self.spent = 0.0
        world.on_start = self.starts

    def __call__(self, drive):
        self.spent = drive.budget.total.spent
        if self.world.came:
            cost = cost_of(read(self.world.came[-1][2]).reply, PRICE)
            self.dearest = max(self.dearest, cost or 0.0)
        if self.passed is None and self.spent > self.limit * (1 + 1e-9):
            self.passed = len(self.world.flying) + 1  # and the one that passed it

    def starts(self, asked):
        together = len(self.world.flying) + 1
        if self.world.came:
            assert self.spent + together * self.dearest <= self.limit * (1 + 1e-6)
        assert self.passed is None, "a call began after the limit was passed"


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("way", WAYS)
def test_spending_passes_the_limit_by_the_calls_in_flight_at_most(tmp_path, way, concurrency):
    for limit in (10.5 * WORST, 40 * WORST):
        world = World(lasting(WAYS[way]))
        watch = Watch(world, limit)
        run = conducted(tmp_path / f"{limit}", world, blocks(24), limit, concurrency, watch=watch)
        spent, stop = run.budget.total.spent, run.ending.stop
        costs = [cost_of(read(exchange).reply, PRICE) or 0 for _, _, exchange in world.came]
        assert spent >= sum(costs) - 1e-9  # errors with a bill included
        assert spent - limit <= max(costs) * (watch.passed or 0) + limit * 1e-6
        if stop is None:
            assert run.ending.outcomes["not_run"] == 0
        else:
            assert isinstance(stop, OverBudget) or "fails again and again" in str(stop)
        if isinstance(stop, OverBudget):
            assert f"limit ${limit:g}: ${spent:.4f} spent" in str(stop)


def test_a_surprise_below_the_limit_raises_what_is_reserved_and_the_run_goes_on(tmp_path):
    world = World(lasting(later(3, 0.5, 6)))
    watch = Watch(world, 200 * WORST)
    run = conducted(tmp_path / "r", world, blocks(6), 200 * WORST, 8, watch=watch)
    assert run.ending.stop is None and run.ending.outcomes["ok"] == 24 and watch.passed is None
    again = conducted(tmp_path / "r", World(), blocks(6), 200 * WORST)  # the next start knows it
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
    "without tokens": (raw()(0), None, WORST, True),
    "a cost of 5,000 digits": (lengthy("cost"), BY_TOKENS, BY_TOKENS, True),
    "tokens of 5,000 digits": (lengthy("completion_tokens"), 1e-4, 1e-4, True),
    "both": (lengthy("cost", "completion_tokens"), None, WORST, True),
    "a cost of as many below zero": (lengthy("cost", sign="-"), BY_TOKENS, BY_TOKENS, True),
    "without those written": (raw(prompt_tokens=10)(0), None, WORST, True),
    "without those read": (raw(completion_tokens=2)(0), None, WORST, True),
    "a lost answer": (Exchange(None, {}, "", "reset"), None, WORST, False),
    "an answer cut off": (Exchange(200, {}, "", "cut off"), None, WORST, False),
    "an answer of another kind": (Exchange(200, {}, "<html>"), None, WORST, False),
    "an error of the server's own": (failure(500), None, 0.0, False),
    "no key": (failure(401), None, 0.0, False),
    "nothing sent": (Exchange(None, {}, "", "refused", sent=False), None, 0.0, False),
    "too long a prompt": (failure(413), None, 0.0, False),
    "a failed attempt with a cost": (
        completion(cost=0.01, finish_reason="error"), 0.01, 0.01, False),
    "an error with a cost": (billed_error(1, 0.01 / WORST, "http")(0), 0.01, 0.01, False),
    "a blocked input with a cost": (billed_error(1, 1 / WORST, "blocked")(0), 1.0, 1.0, True),
    "a blocked answer with a bill": (
        completion(cost=0.1, finish_reason="content_filter"), 0.1, 0.1, True)}


@pytest.mark.parametrize("what", CHARGES)
def test_what_is_charged_and_whether_a_price_is_known_since(what):
    exchange, cost, charged, known = CHARGES[what]
    budget = Budget(1, PRICE, lambda name: PRICE)
    assert budget.charge(ASKED, read(exchange)) == pytest.approx((cost, charged))
    assert budget.unknown(*KEY) is not known and budget.total.spent == pytest.approx(charged)
