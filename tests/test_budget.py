"""What holds calls back: the circuit breaker, and the budget: what an attempt is charged, what is
reserved for the calls that follow, what a server's own ledger says of it. That no run passes its
limit by more than the calls in flight, the state machine in `test_drive.py` holds."""

import gzip
import json

import pytest
from provider import PRICE, Provider, call, completion, conducted, failure, request

from common import wire
from common.budget import Account, Breaker, Budget
from common.reading import read
from common.wire import Exchange

CALL = request("b00/0")
WORST = wire.worst_case(
    CALL, PRICE, PRICE
)  # of each call of this study: their texts are as long


# --- the breaker: 5 errors in a row within 60 s, a pause of 30 s, one probe ---------------------

OPENED, PROBING = (0,) * 5, (*(0,) * 5, "sent")
# what: (errors and what else happened, when nothing may be sent, when it may, openings)
PAUSES = {
    "four errors in a row pause nothing": ((0, 1, 2, 3), None, 3, 0),
    "five pause everything for thirty seconds": ((0, 1, 2, 3, 4), 33.9, 34, 1),
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
        getattr(breaker, event)() if isinstance(event, str) else breaker.failure(event)
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
KEY, BY_TOKENS = ("decision", "m"), 18e-6
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
    "no tokens written, for nothing": (
        raw({"prompt_tokens": 10, "completion_tokens": 0, "cost": 0}),
        None,
        WORST,
        True,
    ),
    "no tokens written, with a bill": (
        raw({"prompt_tokens": 10, "completion_tokens": 0, "cost": 0.5}),
        0.5,
        0.5,
        True,
    ),
    "a free answer": (completion(cost=0), 0.0, 0.0, True),
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


@pytest.mark.parametrize("what", CHARGES)
def test_what_is_charged_and_whether_a_price_is_known_since(what):
    exchange, cost, charged, known = CHARGES[what]
    budget = Budget(1, PRICE, lambda name: PRICE)
    assert budget.charge(CALL, read(exchange)) == pytest.approx((cost, charged))
    assert budget.unknown(*KEY) is not known and budget.total.spent == pytest.approx(
        charged
    )


def test_an_answer_longer_than_allowed_is_charged_by_its_tokens_where_no_price_is_known():
    budget, again = (Budget(1, PRICE, lambda name: wire.Model()) for _ in range(2))
    usd = 10 * PRICE.prompt + 20_000 * PRICE.completion
    long = raw({"prompt_tokens": 10, "completion_tokens": 20_000})
    assert budget.charge(CALL, read(long)) == (None, pytest.approx(usd))
    again.learn(*KEY, usd, None)  # as the next start reads it from the journal
    for each in (budget, again):  # the calls that follow are reserved at that
        assert each.worst_case(CALL) == pytest.approx(usd)


def test_a_surprise_below_the_limit_raises_what_is_reserved_and_the_run_goes_on(
    tmp_path,
):
    def chains():
        return [call(request(f"b{at:02d}/0")) for at in range(24)]

    provider = Provider(
        lambda req, n: (completion(cost=WORST * (0.5 if n < 3 else 6)), 1.0)
    )
    run = conducted(tmp_path, provider, chains, 200 * WORST)
    assert run.ending.stop is None and run.ending.outcomes["ok"] == 24
    again = conducted(
        tmp_path, Provider(), chains, 200 * WORST
    )  # the next start knows it
    assert again.sent == []
    for budget in (run.budget, again.budget):
        for req, usd in (
            (CALL, 6),
            (CALL._replace(stage="other"), 6),
            (CALL._replace(model="other"), 1),
        ):
            assert budget.worst_case(req) == pytest.approx(usd * WORST)


@pytest.mark.parametrize(
    ("names", "tight"),
    [
        (["b00/0", "b00/1", "b01/0"], True),
        (["b00/0", "b01/0", "b01/1"], False),
        ([], False),
    ],
)
def test_a_limit_is_tight_where_it_does_not_hold_the_first_block(names, tight):
    budget = Budget(1.5 * WORST, PRICE, lambda name: PRICE)
    assert budget.tight([request(name) for name in names]) is tight


@pytest.fixture
def shared():
    """A dollar for both runs, 0.6 for each; run a has spent 0.2."""
    return Budget(
        1.0, PRICE, lambda name: PRICE, 0.2, {"a": Account(0.6, 0.2), "b": Account(0.6)}
    )


def costing(usd, name):
    """A request that costs so much at most."""
    shortest = request(name, max_out=10**4)
    more = usd - wire.worst_case(shortest, PRICE, PRICE)
    return request(name, max_out=10**4 + round(more / PRICE.completion))


def test_a_call_has_to_fit_into_the_whole_and_into_its_run(shared):
    def fit(*usd):
        return [shared.fits([costing(each, "a/1")]) for each in usd]

    assert fit(0.39, 0.41) == [True, False]
    assert shared.reserve([costing(0.5, "b/1")])  # of 0.6
    assert fit(0.29, 0.31) == [True, False] and not shared.reserve(
        [costing(0.11, "b/2")]
    )
    shared.charge(request("b/1"), read(failure(500)))  # nothing is held for it any more
    assert fit(0.39) == [True]


def test_a_run_s_calls_are_projected_at_what_all_runs_learned_and_the_tightest_limit_is_named(
    shared,
):
    def ahead():
        return [
            shared.projection(each) for each in (shared.total, *shared.runs.values())
        ]

    assert (
        shared.tightest(request("a/1")) is shared.runs["a"]
    )  # 0.2 of 0.6 against 0.2 of 1
    assert shared.tightest(request("b/1")) is shared.total
    each = wire.expected_cost(CALL._replace(user="question a/1"), PRICE, PRICE)
    shared.plan(request("a/1"), 11)
    shared.plan(request("b/1"), 10)
    assert ahead() == pytest.approx([0.2 + 21 * each, 0.2 + 11 * each, 10 * each])
    shared.made(request("a/1"))
    shared.learn("decision", "m", 0.03, 0.03)
    assert ahead() == pytest.approx([0.2 + 20 * 0.03, 0.2 + 10 * 0.03, 10 * 0.03])


FLAGS = ("--models", "double/a,double/b", "--runs", "6", "--out", "o")
UNPRICED = {
    name: {"supported_parameters": ["seed"]} for name in ("double/a", "double/b")
}


@pytest.mark.parametrize("hidden", [{}, {"show_cost": False}, {"models": UNPRICED}])
def test_an_abort_leaves_whole_blocks_and_a_higher_limit_completes(
    cli, double, tmp_path, hidden
):
    def run(name, *limit):
        return cli(
            "run_pilot.py", *FLAGS, "--base-url", double.url, "--run-id", name, *limit
        )

    double.script(greedy=True, **hidden)
    assert run("whole").returncode == 0
    whole = double.ledger()["billed_usd"]

    double.script(greedy=True, **hidden)
    aborted = run("cut", "--limit-usd", whole * 0.9)
    assert aborted.returncode == 4 and "give a higher --limit-usd" in aborted.stderr
    with gzip.open(tmp_path / "o/cut/trials.jsonl.gz") as lines:
        kinds = {
            (row["model"], row["run"], row["status"] != "not_run")
            for row in map(json.loads, lines)
        }
    assert len(kinds) == 12 and any(answered for *_, answered in kinds)
    assert double.ledger()["billed_usd"] <= whole * 0.9

    assert run("cut", "--limit-usd", whole * 1.01).returncode == 0
    assert double.ledger()["billed_usd"] == pytest.approx(
        whole
    )  # nothing was sent twice


def test_a_server_that_charged_more_than_its_price_is_named_with_the_sum(cli, double):
    double.script(serves={"usage": {"cost": 0.06}})
    run = cli("run_pilot.py", *FLAGS, "--base-url", double.url, "--limit-usd", 0.05)
    billed = 0.06 * len(double.ledger()["requests"])
    assert f"note: ${billed:.6f} was charged, more than the limit" in run.stderr
    assert run.returncode == 4


def test_answers_that_are_said_to_hold_no_token_are_charged_what_was_reserved(
    cli, double
):
    usage = {"prompt_tokens": 500, "completion_tokens": 0, "cost": 0}
    double.script(serves={"usage": usage})
    run = cli("run_pilot.py", *FLAGS, "--base-url", double.url, "--limit-usd", 0.05)
    assert run.returncode == 4
    assert 0 < double.ledger()["billed_usd"] <= 0.05
