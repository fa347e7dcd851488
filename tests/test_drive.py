"""Driving chains: order, limits, retries, breaker, budget, kills and resume, on a clock that takes
no time. The state machine holds random runs against promises that are stated here anew."""

import json
import random
import signal
from collections import Counter, defaultdict
from functools import partial
from itertools import count, pairwise

import pytest
from provider import (
    DEADLINE_S,
    PRICE,
    Provider,
    call,
    completion,
    conducted,
    failure,
    request,
    scripted,
)

from common import Incomplete, Interrupted, OverBudget, UsageError, wire
from common.drive import After
from common.instrument import in_turns
from common.reading import read
from common.wire import Exchange, Model

LOST = Exchange(None, {}, "", "ConnectionResetError: reset")
HTML = Exchange(200, {}, "<html>")
FLAGGED = failure(403, metadata={"reasons": ["violence"]})
FULL = failure(402, metadata={"limit_source": "openrouter_in_flight_budget"})


@pytest.fixture
def drive(bench):
    """As `bench`; an answer takes a second."""
    return partial(bench, seconds=1.0)


def outcomes(run):
    return [reply.outcome for reply in run.ending.results]


def order(run):
    return [name for _, name in run.sent]


def gaps(run, name):
    """Seconds between the attempts at a call."""
    return [b - a for a, b in pairwise(at for at, each in run.sent if each == name)]


def sequence(names, **more):
    replies = []
    for name in names:
        replies.append((yield request(name, **more)))
    return [reply.text for reply in replies]


def block(*names):
    return (yield [request(name) for name in names])


def test_a_chain_receives_a_reply_for_a_request_and_a_list_for_a_list(drive):
    def chain():
        single = yield request("a")
        several = yield [request("b"), request("c")]
        nothing = yield []
        return single.text, [reply.text for reply in several], nothing

    assert drive("abc", chains=lambda: [chain()]).ending.results == [
        ("fine", ["fine"] * 2, [])
    ]


def test_a_slow_reply_delays_its_chain_only_and_no_result_moves(drive):
    texts = {name: [completion(name)] for name in ("slow", "a1", "a2", "s2")}
    run = drive(
        texts,
        texts,
        concurrency=2,
        seconds={"slow": 9.0},
        chains=lambda: [sequence(["slow", "s2"]), sequence(["a1", "a2"])],
    )
    assert order(run) == ["slow", "a1", "a2", "s2"]
    assert run.ending.results == [["slow", "s2"], ["a1", "a2"]]


def test_each_stage_has_a_limit_and_uses_it(drive):
    run = drive(
        [],
        concurrency={"strategy": 2, "decision": 5},
        chains=lambda: [
            call(request(f"{stage}{i}", stage))
            for i in range(10)
            for stage in ("decision", "strategy")
        ],
    )
    assert Counter((at, name[:-1]) for at, name in run.sent) == {
        **{(at, "decision"): 5 for at in (0, 1)},
        **{(at, "strategy"): 2 for at in range(5)},
    }


def test_an_id_that_is_used_twice_is_a_fault(drive):
    with pytest.raises(ValueError, match="'a' is used twice"):
        drive("a", chains=lambda: [call(request("a")), call(request("a"))])


def after(*waits):
    """Chains of a call each: (its name, the places of those whose ends it waits for)."""

    def chain(name, places):
        results = []
        if places is not None:
            results = yield After([chains[place] for place in places])
        reply = yield request(name)
        return [*results, reply.outcome]

    chains = []
    chains += [chain(*wait) for wait in waits]
    return chains


@pytest.mark.parametrize(
    ("waits", "failures", "sent", "results"),
    [
        ([("c", [1, 2]), ("a", None), ("b", None)], {}, "abc", [["ok"], ["ok"], "ok"]),
        ([("a", [])], {}, "a", ["ok"]),
        ([("a", None), ("c", [0])], {}, "ac", ["ok"]),
        # It waits for nobody else, and for a chain that waits itself; what failed is handed on.
        ([("c", [1]), ("a", None), ("b", None)], {"b": 1}, "abcb", [["ok"], "ok"]),
        (
            [("c", [1]), ("b", [2]), ("a", None)],
            {"a": 4},
            "aaaabc",
            [[["provider_error"], "ok"], "ok"],
        ),
    ],
)
def test_a_chain_waits_for_those_it_names_and_gets_their_results(
    drive, waits, failures, sent, results
):
    run = drive(
        "abc",
        {name: [failure(500)] * n for name, n in failures.items()},
        chains=after(*waits),
    )
    assert (order(run), run.ending.results[0]) == ([*sent], results)
    # At the next start those that it waits for may have ended before it begins.
    assert drive("abc", chains=after(*waits)).ending.stop is None


def test_chains_that_wait_for_each_other_are_an_error(drive):
    with pytest.raises(ValueError, match="waits for one that never ends"):
        drive([], chains=after(("a", [1]), ("b", [0])))


def test_runs_take_turns_until_the_last_has_ended():
    chains = in_turns([["a1", "a2"], ["b1"]], 42)
    assert (sorted(chains[:2]), chains[2:]) == (["a1", "b1"], ["a2"])


def test_retries_go_when_due_by_chance_within_three_growing_limits(drive):
    provider = Provider(scripted({"a": [failure(500)] * 3}, seconds=0.0))
    provider.jitter = lambda low, most: low + most / 8
    run = drive("a", provider=provider)
    assert gaps(run, "a") == pytest.approx([0.125, 0.25, 0.5], abs=0.003)


def test_a_call_has_a_deadline_and_its_late_answer_is_none(drive):
    run = drive(
        "ab",
        {"a": [completion("late")]},
        seconds={"a": DEADLINE_S + 5, "b": DEADLINE_S - 5},
    )
    assert outcomes(run) == ["provider_error", "ok"]
    assert "no complete answer within 60 s" in run.ending.results[0].message
    assert len(gaps(run, "a")) == 3 and gaps(run, "a")[0] >= DEADLINE_S


def test_a_storm_pauses_thirty_seconds_probes_once_and_gives_up_at_the_third_opening(
    drive,
):
    run = drive(
        [f"{i:02d}" for i in range(40)],
        usual=failure(429, "slow down"),
        seconds=0.0,
        concurrency=1,
    )
    at = [second for second, _ in run.sent]
    assert len(at) == 7 and at[5] - at[4] >= 30 and at[6] - at[5] >= 30
    assert isinstance(run.ending.stop, Incomplete) and "slow down" in str(
        run.ending.stop
    )
    assert run.ending.outcomes == Counter(not_run=40)


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("at", "left"), [("b", 2), ("d", 0)])
def test_a_signal_ends_sending_and_keeps_what_came(drive, name, at, left):
    def answer(req, n):
        if req.id == at:
            signal.raise_signal(name)
        return completion(), 1.0

    before = signal.getsignal(name)
    run = drive("abcd", provider=Provider(answer), concurrency=1)
    assert isinstance(run.ending.stop, Interrupted)  # also after the last call
    assert outcomes(run) == ["ok"] * (4 - left) + ["not_run"] * left
    assert signal.getsignal(name) is before


def test_after_a_signal_calls_in_flight_get_ten_seconds(drive):
    def answer(req, n):
        if req.id == "b":
            signal.raise_signal(signal.SIGINT)
        return completion(), {"a": 9.0, "b": 11.0}[req.id]

    assert outcomes(drive("ab", provider=Provider(answer))) == ["ok", "not_run"]


def limited(seconds):
    return failure(429, headers={"retry-after": str(seconds)})


def test_a_wait_holds_its_model_and_no_other(drive):
    run = drive(
        [],
        {"a": [limited(60)]},
        concurrency=1,
        chains=lambda: [
            sequence(name, model=model)
            for name, model in zip("abcd", "mmnn", strict=True)
        ],
    )
    assert order(run) == ["a", "c", "d", "a", "b"] and run.sent[3][0] >= 60


@pytest.mark.parametrize(
    ("waits", "between", "sent"),
    [
        ([limited(100)] * 99, False, 19),
        ([limited(120)] * 15, False, 16),
        ([limited(121)], False, 1),
        ([limited(100)] * 10, True, 22),
    ],
)
def test_half_an_hour_of_waits_in_a_row_ends_the_run(drive, waits, between, sent):
    """Eighteen of a hundred seconds or fifteen of two minutes pass. An answer begins a new row."""
    run = drive(
        "ab",
        {"a": waits, "b": waits if between else ()},
        concurrency=1,
        chains=lambda: [sequence("ab" if between else "a")],
    )
    assert len(run.sent) == sent and (sent in (16, 22)) == (run.ending.stop is None)
    assert run.ending.stop is None or isinstance(run.ending.stop, Incomplete)


def test_an_account_that_bears_no_more_at_once_gets_half_as_many_and_waits_five_seconds(
    drive,
):
    run = drive("abcdefghijklmnop", {"e": [FULL], "f": [FULL]})
    flying = Counter(at for at, _ in run.sent)
    assert run.ending.stop is None and max(n for at, n in flying.items() if at > 1) <= 4
    assert min(gaps(run, "e")) >= 5


def test_a_wait_that_is_too_long_ends_the_run_and_says_until_when(drive):
    stop = str(drive("a", {"a": [limited(7200)]}).ending.stop)
    assert "it asks to wait 7200 s, until 2026-01-01 02:00 UTC; the same" in stop


DEAR = Model(
    prompt=0.0, completion=1 / 16, price_from="catalogue"
)  # worst case: 1 dollar a call
NINETY = completion(
    cost=0.9, tokens=(10, 15)
)  # about what the price says of so many tokens


def test_a_list_is_paid_for_as_a_whole_or_not_begun_and_a_higher_limit_asks_what_is_left(
    drive,
):
    more = {
        "price": DEAR,
        "usual": NINETY,
        "chains": lambda: [block(*"abcd"), block(*"efgh")],
    }
    run = drive("abcdefgh", limit=7.0, announce=False, **more)
    assert run.ending.outcomes == Counter(ok=4, not_run=4) and run.drive.done == 4
    assert order(run) == list("abcd")
    assert str(run.ending.stop) == (
        "limit $7: $3.6000 spent, $3.6000 projected; the next calls (e, m) may cost $4.0000; give "
        "a higher --limit-usd to resume"
    )
    run = drive("abcdefgh", limit=7.6, **more)
    assert run.ending.stop is None and order(run) == list("efgh")
    assert run.budget.total.spent == pytest.approx(7.2)


def test_a_projection_above_the_limit_ends_the_run_early_and_tells_what_all_calls_did_cost(
    drive,
):
    names = [f"{i:02d}" for i in range(20)]
    run = drive(names, limit=10.0, price=DEAR, usual=NINETY, concurrency=4)
    # the first reply tells: 20 × 0.90 is more than 10
    assert len(run.sent) == 1 and str(run.ending.stop) == (
        "limit $10: $0.9000 spent, $18.0000 projected; give a higher --limit-usd to resume"
    )


@pytest.mark.parametrize(
    ("limit", "price", "sent"),
    [
        (0.99, DEAR, 0),
        (1.0, DEAR, 1),
        (0.0, Model(0.0, 0.0, price_from="catalogue"), 1),
    ],
)
def test_a_call_is_sent_where_its_worst_case_fits(drive, limit, price, sent):
    run = drive("a", limit=limit, price=price, usual=completion(cost=0))
    assert len(run.sent) == sent and isinstance(
        run.ending.stop, OverBudget
    ) is not bool(sent)


@pytest.mark.parametrize("price", [Model(), DEAR], ids=["unpriced", "priced"])
def test_no_price_is_believed_before_a_reply_of_this_start(drive, price):
    for names, sent in (("abcdefgh", [1, 7]), ("abcdefghijkl", [1, 3])):
        run = drive(names, limit=1000.0, price=price)
        assert [*Counter(at for at, _ in run.sent).values()] == sent


def test_behind_a_group_that_no_longer_fits_no_cheaper_group_is_begun(drive):
    run = drive(
        [],
        limit=2.0,
        usual=completion(cost=1e-4),
        concurrency=1,
        chains=lambda: [
            call(request("a")),
            call(request("dear", max_out=10**6)),
            call(request("b")),
        ],
    )
    assert order(run) == ["a"] and isinstance(run.ending.stop, OverBudget)


def test_an_answer_of_an_earlier_start_counts_against_a_single_announcement(
    drive, tmp_path
):
    drive("abcd")
    again = conducted(
        tmp_path,
        Provider(),
        lambda: [block(*"abcd")],
        announce=[(request("p"), 3), (request("q"), 3)],
    )
    assert again.budget.projection() == pytest.approx(again.budget.total.spent * 6 / 4)


def test_an_id_with_another_question_is_refused(drive):
    drive("a")
    with pytest.raises(UsageError, match="a was asked in other words"):
        drive("a", chains=lambda: [call(request("a", user="another question"))])


WORST = wire.worst_case(request("c00/s"), PRICE, PRICE)
ANSWERS = [completion(cost=WORST / 3)] * 12 + [
    completion(cost=None),
    completion(cost=2 * WORST),
    completion("", cost=WORST / 9),
    completion("x", cost=WORST, finish_reason="length"),
    FLAGGED,
    HTML,
    LOST,
    failure(500),
    failure(503),
    failure(429),
    limited(3),
    limited(40),
    FULL,
    Exchange(500, {}, json.dumps({"error": {"code": 500}, "usage": {"cost": WORST}})),
    completion(cost=WORST, finish_reason="error"),
]
BILLS = [[]] * 4 + [
    [each] * 6
    for each in (  # of a server that bills as it likes
        completion(cost=30 * WORST),
        completion(cost=1e6 * WORST),
        completion(cost=0),
        completion(cost=None, tokens=(10, 1600)),
        failure(503, usage={"cost": 9 * WORST}),
    )
]
FINAL = {"ok", "empty", "truncated", "blocked"}


class Promises:
    """What must hold whenever a call begins, and of what came."""

    def __init__(self, provider, limit, limits, before):
        self.provider, self.limit, self.limits = provider, limit, limits
        self.answered, self.spent, self.passed = set(before), 0.0, None
        self.dearest, self.until = defaultdict(float), defaultdict(float)
        self.row, self.pause, self.probing = [], 0.0, False
        self.failures, self.seen = Counter(), 0
        provider.on_start = self.starts

    def starts(self, req):
        now, flying = (
            self.provider.now(),
            [each for each, _ in self.provider.flying.values()],
        )
        assert req.id not in self.answered, "sent again after its answer"
        assert req.id not in {each.id for each in flying}, "sent twice at once"
        assert sum(each.stage == req.stage for each in flying) < self.limits[req.stage]
        assert now >= self.until[req.model] and now >= self.until[""], (
            "before a wait was over"
        )
        assert now >= self.pause, "in a pause after errors in a row"
        assert not (self.probing and flying and self.probing in flying), (
            "beside a probe"
        )
        assert self.failures[req.id] <= 3, "a fourth retry"
        worst = sum(max(WORST, self.dearest[each.model]) for each in [*flying, req])
        assert self.spent + worst <= self.limit * (1 + 1e-6), "could pass the limit"
        if self.row == ["open"]:
            self.probing, self.row = req, []

    def __call__(self, drive):
        """After each answer, in the order in which they came."""
        self.spent = drive.budget.total.spent
        news = self.provider.came[self.seen :]
        self.seen += len(news)
        for now, req, exchange in news:
            reading = read(exchange)
            cost = wire.cost_of(reading.reply, PRICE) or 0.0
            self.dearest[req.model] = max(self.dearest[req.model], cost)
            if reading.kind == "final":
                self.answered.add(req.id)
                if self.row != ["open"]:
                    self.row, self.probing = [], False
            elif reading.wait or reading.limit:
                name = "" if reading.limit else req.model
                self.until[name] = max(
                    self.until[name], now + max(1.0, reading.wait or 5.0)
                )
                self.probing = False
            else:
                self.failures[req.id] += 1
                if self.row != ["open"]:
                    self.row = [*self.row[-4:], now]
                    if self.probing or (len(self.row) == 5 and now - self.row[0] <= 60):
                        self.row, self.pause, self.probing = ["open"], now + 30, False
        if self.passed is None and self.spent > self.limit:
            self.passed = drive.in_flight + len(news)  # with the call that passed it


def chain_of(rng, name):
    """A conversation of one to four steps, drawn once: it is the same at each start."""
    steps = [
        [f"c{name:02d}/{step}{k}" for k in range(rng.choice((1, 1, 2, 4)))]
        for step in "stuv"[: rng.randint(1, 4)]
    ]
    model, stage = rng.choice("mn"), rng.choice(("decision", "strategy"))

    def chain():
        out = []
        for ids in steps:
            replies = yield [request(each, stage, model) for each in ids]
            out += zip(ids, replies, strict=True)
        return out

    return chain, [name for ids in steps for name in ids]


@pytest.mark.parametrize("seed", range(150))
def test_whatever_happens_the_promises_hold_and_the_same_command_completes(
    tmp_path, seed
):
    rng = random.Random(seed)
    drawn = [chain_of(rng, at) for at in range(rng.randint(1, 12))]
    everything = [name for _, ids in drawn for name in ids]
    limits = {"decision": rng.choice((1, 2, 8)), "strategy": rng.choice((1, 3))}
    weird, answers = rng.random() < 0.7, ANSWERS + rng.choice(BILLS)
    journalled, results, lost, gone, dearest = {}, {}, 0, 0.0, WORST
    for start in count():
        last = start == 6  # by then the server is well again and the limit high
        limit = 1e9 if last else WORST * rng.choice((3, 20, 100, 1000))
        kill = rng.choice((None, rng.randint(0, 40))) if not last else None

        def answer(req, n, calm=last or not weird):
            return (
                completion(cost=WORST / 3) if calm else rng.choice(answers),
                1.0 if calm else rng.choice((0.0, 0.5, 1.0, 3.0, 20.0, 70.0)),
            )

        provider = Provider(answer, seed=seed, kill=kill)
        promises = Promises(provider, limit, limits, journalled)
        run = conducted(
            tmp_path,
            provider,
            lambda: [chain() for chain, _ in drawn],
            limit,
            limits,
            watch=promises,
            before=gone,
        )
        # What a kill left in flight is charged at the next start, and nothing else.
        assert run.lost <= 1.02 * dearest * lost and (run.lost > 0) == bool(lost)
        dearest = max(dearest, *promises.dearest.values(), 0)
        gone += run.lost
        lost = len(provider.flying) if run.ending is None else 0
        lines = [json.loads(line) for line in run.path.read_text().splitlines()]
        final = {line["id"]: line for line in lines if line["outcome"] in FINAL}
        assert len(final) == sum(line["outcome"] in FINAL for line in lines)
        assert final | journalled == final, "an answer that was changed or is gone"
        journalled = final
        if promises.passed is not None and start == 0:
            over = run.budget.total.spent - limit
            assert over <= max(promises.dearest.values()) * promises.passed + 1e-9
        if run.ending is None:
            continue
        pairs = [pair for result in run.ending.results for pair in result]
        assert [name for name, _ in pairs] == everything
        for name, reply in pairs:
            assert (reply.outcome in FINAL) == (name in journalled)
            assert name not in results or results[name] == reply
            if reply.outcome in FINAL:
                results[name] = reply
        left = sum(reply.outcome == "not_run" for _, reply in pairs)
        assert (run.ending.stop is not None) >= bool(left)
        if last:
            assert run.ending.stop is None and set(final) == set(everything)
            return
