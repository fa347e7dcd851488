"""Driving chains: order, limits, retries, breaker, budget, kills and resume, on a clock that takes
no time. The state machine holds random runs against promises that are stated here anew."""

import json
import random
import signal
from collections import Counter, defaultdict
from functools import partial
from itertools import count, pairwise

import pytest
from world import DEADLINE_S, PRICE, World, completion, conducted, failure, one, request, scripted

from common import Incomplete, Interrupted, OverBudget, ProviderRefused, UsageError, wire
from common.budget import Breaker
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


def times(run, name):
    return [at for at, who in run.asked if who == name]


def gaps(numbers):
    return [b - a for a, b in pairwise(numbers)]


def in_turn(names):
    for name in names:
        yield request(name)


def block(*names):
    return (yield [request(name) for name in names])


# --- chains ------------------------------------------------------------------------------------

def test_a_chain_receives_a_reply_for_a_request_and_a_list_for_a_list(drive):
    def chain():
        single = yield request("a")
        several = yield [request("b"), request("c")]
        nothing = yield []
        return single.text, [reply.text for reply in several], nothing
    assert drive("abc", chains=lambda: [chain()]).ending.results == [("fine", ["fine"] * 2, [])]


def test_a_slow_reply_delays_its_own_chain_only_and_no_result_moves(drive):
    def two(first, second):
        return (yield request(first)).text, (yield request(second)).text
    texts = {name: [completion(name)] for name in ("slow", "a1", "a2", "s2")}
    run = drive(texts, texts, concurrency=2, seconds={"slow": 9.0},
                chains=lambda: [two("slow", "s2"), two("a1", "a2")])
    assert [name for _, name in run.asked] == ["slow", "a1", "a2", "s2"]
    assert run.ending.results == [("slow", "s2"), ("a1", "a2")]


def test_each_stage_has_its_own_limit_and_uses_it(drive):
    world, peak = World(), Counter()

    def note(asked):
        flying = Counter(each.stage for each in [*world.flying.values(), asked])
        peak.update({stage: n - peak[stage] for stage, n in flying.items() if n > peak[stage]})
    world.on_start = note
    drive([], world=world, concurrency={"strategy": 2, "decision": 5}, chains=lambda: [
        one(request(f"{stage}{i}", stage)) for i in range(12) for stage in ("decision", "strategy")
    ])
    assert peak == {"strategy": 2, "decision": 5}


def test_an_id_that_is_used_twice_is_a_fault(drive):
    with pytest.raises(ValueError, match="'a' is used twice"):
        drive("a", chains=lambda: [one(request("a")), one(request("a"))])


def test_a_fault_of_the_provider_s_own_code_surfaces(drive):
    with pytest.raises(ZeroDivisionError):
        drive("a", {"a": [ZeroDivisionError("ours")]})


# --- retries -----------------------------------------------------------------------------------

def test_the_pauses_have_full_jitter_below_one_two_and_four_seconds(drive):
    names = [f"a{i:02d}" for i in range(60)]  # each fails 3 times, others succeed between
    run = drive(names, {name: [failure(500)] * 3 for name in names}, concurrency=1, seconds=0.0,
                chains=lambda: [in_turn(names)])
    waits = [gaps(times(run, name)) for name in names]
    for retry, most in enumerate((1, 2, 4)):
        pauses = [wait[retry] for wait in waits]
        assert max(pauses) <= most + 0.25 and min(pauses) < 0.25 * most < 0.75 * most < max(pauses)


def test_a_retry_goes_when_it_is_due(drive):
    world = World(scripted({"a": [failure(500)] * 3}, seconds=0.0))
    world.jitter = lambda low, most: low + most / 8
    run = drive("a", world=world)
    assert gaps(times(run, "a")) == pytest.approx([0.125, 0.25, 0.5], abs=0.003)


def test_after_three_retries_it_is_a_provider_error_with_the_last_words(drive):
    run = drive("ab", {"a": [failure(500, "melted")] * 4})
    lines = [json.loads(line) for line in run.path.read_text().splitlines()]
    assert outcomes(run) == ["provider_error", "ok"]
    assert "melted" in run.ending.results[0].message and run.drive.retries == 3
    assert [(line["attempt"], line["outcome"]) for line in lines if line["id"] == "a"] == [
        (1, None), (2, None), (3, None), (4, "provider_error")]


def test_a_call_has_a_deadline_and_its_late_answer_is_none(drive):
    slow = {"a": DEADLINE_S + 5, "b": DEADLINE_S - 5}
    run = drive("ab", {"a": [completion("late"), completion("second"), completion("third")]},
                seconds=slow)
    assert run.ending.results[1].outcome == "ok" and outcomes(run)[0] == "provider_error"
    assert "no complete answer within 60 s" in run.ending.results[0].message
    assert len(times(run, "a")) == 4 and gaps(times(run, "a"))[0] >= DEADLINE_S


# --- what ends a run ---------------------------------------------------------------------------

def test_a_fatal_answer_ends_the_run_and_leaves_the_rest_unasked(drive):
    run = drive("abcd", {"b": [failure(422, "the reason")]}, concurrency=1)
    assert outcomes(run) == ["ok"] + ["not_run"] * 3
    assert isinstance(run.ending.stop, ProviderRefused)
    assert all(part in str(run.ending.stop) for part in ("b, m", "the reason", "422"))


def test_a_storm_pauses_thirty_seconds_probes_once_and_gives_up_at_the_third_opening(drive):
    run = drive([f"{i:02d}" for i in range(40)], usual=failure(429, "slow down"), seconds=0.0,
                concurrency=1)
    at = [second for second, _ in run.asked]
    assert len(at) == 7 and gaps(at)[4] >= 30 and gaps(at)[5] >= 30
    assert isinstance(run.ending.stop, Incomplete) and "slow down" in str(run.ending.stop)
    assert run.ending.outcomes == Counter(not_run=40)


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("at", "left"), [("b", 2), ("d", 0)])
def test_a_signal_ends_sending_and_keeps_what_came(drive, name, at, left):
    def answer(req, n):
        if req.id == at:
            signal.raise_signal(name)
        return completion(), 1.0
    before = signal.getsignal(name)
    run = drive("abcd", world=World(answer), concurrency=1)
    assert isinstance(run.ending.stop, Interrupted)  # also after the last call
    assert outcomes(run) == ["ok"] * (4 - left) + ["not_run"] * left
    assert signal.getsignal(name) is before


def test_after_a_signal_calls_in_flight_get_ten_seconds(drive):
    def answer(req, n):
        if req.id == "b":
            signal.raise_signal(signal.SIGINT)
        return completion(), {"a": 9.0, "b": 11.0}[req.id]
    assert outcomes(drive("ab", world=World(answer))) == ["ok", "not_run"]


# --- waits -------------------------------------------------------------------------------------

def limited(seconds):
    return failure(429, headers={"retry-after": str(seconds)})


def test_a_wait_holds_its_model_and_no_other(drive):
    def chain(name, model):
        return (yield request(name, model=model))
    run = drive([], {"a": [limited(60)]}, concurrency=1, chains=lambda: [
        chain("a", "slow"), chain("b", "slow"), chain("c", "quick"), chain("d", "quick")])
    assert [who for _, who in run.asked] == ["a", "c", "d", "a", "b"] and run.asked[3][0] >= 60


@pytest.mark.parametrize(("waits", "between", "asked"), [
    ([limited(100)] * 99, False, 19), ([limited(120)] * 15, False, 16), ([limited(121)], False, 1),
    ([limited(100)] * 10, True, 22)])
def test_half_an_hour_of_waits_in_a_row_ends_the_run(drive, waits, between, asked):
    """Eighteen of a hundred seconds or fifteen of two minutes pass. An answer begins a new row."""
    run = drive("ab", {"a": waits, "b": waits if between else ()}, concurrency=1,
                chains=lambda: [in_turn("ab" if between else "a")])
    assert len(run.asked) == asked and (asked in (16, 22)) == (run.ending.stop is None)
    assert run.ending.stop is None or isinstance(run.ending.stop, Incomplete)


def test_an_account_that_bears_no_more_at_once_gets_half_as_many_and_waits_five_seconds(drive):
    world = World(scripted({"e": [FULL], "f": [FULL]}))
    run = drive("abcdefghijklmnop", world=world, concurrency=8)
    first = world.came[0][0]
    flying = Counter()
    for at, _ in run.asked:
        flying[at] += 1
    assert run.ending.stop is None and max(n for at, n in flying.items() if at > first) <= 4
    assert min(gaps(times(run, "e"))) >= 5


def test_a_wait_that_is_too_long_ends_the_run_and_says_until_when(drive):
    said = str(drive("a", {"a": [limited(7200)]}).ending.stop)
    assert "it asks to wait 7200 s, until 2026-01-01 02:00 UTC; the same" in said


# --- the breaker: 5 errors in a row within 60 s, a pause of 30 s, one probe ---------------------

OPENED, PROBING = (0,) * 5, (*(0,) * 5, "sent")
# what: (errors and what else happened, when nothing may be sent, when it may, openings)
PAUSES = {
    "four errors in a row pause nothing": ((0, 1, 2, 3), None, 3, 0),
    "five pause everything for thirty seconds": ((0, 1, 2, 3, 4), 33.9, 34, 1),
    "a success between makes it no row": ((0, 1, 2, 3, "success", 4, 5, 6, 7), None, 7, 0),
    "five over more than a minute pause nothing": ((0, 20, 40, 60, 61), None, 61, 0),
    "five within a minute do": ((0, 20, 40, 50, 60), 89, 90, 1),
    "after the pause one probe goes and no more": (PROBING, 31, None, 1),
    "a probe that succeeds ends the pause": ((*PROBING, "success"), None, 31, 0),
    "a probe that fails pauses again": ((*PROBING, 31), 60.9, 61, 2),
    "calls in flight open nothing more": ((0,) * 64, 29.9, 30, 1),
    "a late success does not cut the pause short": ((*OPENED, "success"), 29, 30, 0),
    "who asks to wait leaves it open": ((*OPENED, "answered"), 1, 30, 1),
    "who asks to wait ends a probe": ((*PROBING, "answered"), None, 1, 1),
    "a third opening is final": ((*PROBING, 31, "sent", 62), 91, None, 3)}


@pytest.mark.parametrize("what", PAUSES)
def test_when_the_next_call_may_go(what):
    events, never, at, openings = PAUSES[what]
    held = Breaker()
    for event in events:
        getattr(held, event)() if isinstance(event, str) else held.failure(event)
    assert (held.openings, held.tripped) == (openings, openings == 3)
    assert never is None or not held.may_send(never)
    assert at is None or held.may_send(at)


# --- money -------------------------------------------------------------------------------------

DEAR = Model(prompt=0.0, completion=1 / 16, price_from="catalogue")  # worst case: 1 dollar a call
NINETY = completion(cost=0.9, tokens=(10, 15))  # about what the price says of so many tokens


def two_blocks():
    return [block(*"abcd"), block(*"efgh")]


def test_a_list_is_paid_for_as_a_whole_or_not_begun_and_a_higher_limit_asks_what_is_left(drive):
    run = drive("abcdefgh", limit=7.0, price=DEAR, usual=NINETY, announce=False, chains=two_blocks)
    assert run.ending.outcomes == Counter(ok=4, not_run=4) and run.drive.done == 4
    assert [name for _, name in run.asked] == list("abcd")
    assert str(run.ending.stop) == (
        "limit $7: $3.6000 spent, $3.6000 projected; the next calls (e, m) may cost $4.0000; give "
        "a higher --limit-usd to resume")
    run = drive("abcdefgh", limit=7.6, price=DEAR, usual=NINETY, chains=two_blocks)
    assert run.ending.stop is None and [name for _, name in run.asked] == list("efgh")
    assert run.budget.total.spent == pytest.approx(7.2)


def test_a_projection_above_the_limit_ends_the_run_early_and_tells_what_all_calls_did_cost(drive):
    names = [f"{i:02d}" for i in range(20)]
    run = drive(names, limit=10.0, price=DEAR, usual=NINETY, concurrency=4)
    # the first reply tells: 20 × 0.90 is more than 10
    assert len(run.asked) == 1 and str(run.ending.stop) == (
        "limit $10: $0.9000 spent, $18.0000 projected; give a higher --limit-usd to resume")


@pytest.mark.parametrize(("limit", "asked"), [(0.99, 0), (1.0, 1)])
def test_a_call_is_sent_where_its_worst_case_fits(drive, limit, asked):
    run = drive("a", limit=limit, price=DEAR)
    assert len(run.asked) == asked and isinstance(run.ending.stop, OverBudget) is not bool(asked)


def test_what_costs_nothing_fits_a_limit_of_nothing(drive):
    free = Model(0.0, 0.0, price_from="catalogue")
    run = drive("abc", limit=0.0, price=free, usual=completion(cost=0))
    assert run.ending.stop is None and outcomes(run) == ["ok"] * 3


@pytest.mark.parametrize("price", [Model(), DEAR], ids=["unpriced", "priced"])
def test_no_price_is_believed_before_a_reply_of_this_start_has_told_it(drive, price):
    for names in ("abcdefgh", "abcdefghijkl"):
        world = World(price=price)
        drive(names, limit=1000.0, world=world)
        assert world.asked[1][0] >= world.came[0][0] and world.peak > 1


def test_behind_a_group_that_no_longer_fits_no_cheaper_one_is_begun(drive):
    def dear():
        return (yield request("dear", max_out=10**6))
    run = drive([], limit=2.0, usual=completion(cost=1e-4), concurrency=1,
                chains=lambda: [one(request("a")), dear(), one(request("b"))])
    assert [name for _, name in run.asked] == ["a"] and isinstance(run.ending.stop, OverBudget)


# --- resume ------------------------------------------------------------------------------------

def test_an_answer_of_an_earlier_start_is_left_out_of_one_announcement_only(drive, tmp_path):
    drive("abcd")
    again = conducted(tmp_path, World(), lambda: [one(request(name)) for name in "abcd"],
                      announce=[(request("p"), 3), (request("q"), 3)])
    assert again.budget.projection() == pytest.approx(again.budget.total.spent * 6 / 4)


def test_an_id_asked_in_other_words_is_refused(drive):
    drive("a")
    with pytest.raises(UsageError, match="a was asked in other words"):
        drive("a", chains=lambda: [one(request("a", user="another question"))])


# --- random runs -------------------------------------------------------------------------------

WORST = wire.worst_case(request("c00/s"), PRICE, PRICE)
ANSWERS = [completion(cost=WORST / 3)] * 12 + [
    completion(cost=None), completion(cost=2 * WORST), completion("", cost=WORST / 9),
    completion("x", cost=WORST, finish_reason="length"), FLAGGED, HTML, LOST, failure(500),
    failure(503), failure(429), limited(3), limited(40), FULL,
    Exchange(500, {}, json.dumps({"error": {"code": 500}, "usage": {"cost": WORST}})),
    completion(cost=WORST, finish_reason="error")]
BILLS = [[]] * 4 + [[each] * 6 for each in (   # of a server that bills as it likes
    completion(cost=30 * WORST), completion(cost=1e6 * WORST), completion(cost=0),
    completion(cost=None, tokens=(10, 1600)), failure(503, usage={"cost": 9 * WORST}),
    failure(503, metadata={"usage": {"cost": 9 * WORST}}),
    Exchange(403, {}, json.dumps({"error": {"code": 403, "metadata": {"reasons": ["x"]}},
                                  "usage": {"cost": 9 * WORST}})))]
FINAL = {"ok", "empty", "truncated", "blocked"}


class Promises:
    """What must hold whenever a call begins, and of what came."""

    def __init__(self, world, limit, limits, before):
        self.world, self.limit, self.limits = world, limit, limits
        self.answered, self.spent, self.passed = set(before), 0.0, None
        self.dearest, self.held = defaultdict(float), defaultdict(float)
        self.row, self.pause, self.probing = [], 0.0, False
        self.failures, self.seen = Counter(), 0
        world.on_start = self.starts

    def starts(self, asked):
        now, flying = self.world.now(), list(self.world.flying.values())
        assert asked.id not in self.answered, "asked again after its answer"
        assert asked.id not in {each.id for each in flying}, "asked twice at once"
        assert sum(each.stage == asked.stage for each in flying) < self.limits[asked.stage]
        assert now >= self.held[asked.model] and now >= self.held[""], "before a wait was over"
        assert now >= self.pause, "in a pause after errors in a row"
        assert not (self.probing and flying and self.probing in flying), "beside a probe"
        assert self.failures[asked.id] <= 3, "a fourth retry"
        worst = sum(max(WORST, self.dearest[each.model]) for each in [*flying, asked])
        assert self.spent + worst <= self.limit * (1 + 1e-6), "could pass the limit"
        if self.row == ["open"]:
            self.probing, self.row = asked, []

    def __call__(self, drive):
        """After each answer, in the order in which they came."""
        self.spent = drive.budget.total.spent
        news = self.world.came[self.seen:]
        self.seen += len(news)
        for now, asked, exchange in news:
            reading = read(exchange)
            cost = wire.cost_of(reading.reply, PRICE) or 0.0
            self.dearest[asked.model] = max(self.dearest[asked.model], cost)
            if reading.kind == "final":
                self.answered.add(asked.id)
                if self.row != ["open"]:
                    self.row, self.probing = [], False
            elif reading.wait or reading.limit:
                name = "" if reading.limit else asked.model
                self.held[name] = max(self.held[name], now + max(1.0, reading.wait or 5.0))
                self.probing = False
            elif self.row != ["open"]:
                self.failures[asked.id] += 1
                self.row = [*self.row[-4:], now]
                if self.probing or (len(self.row) == 5 and now - self.row[0] <= 60):
                    self.row, self.pause, self.probing = ["open"], now + 30, False
            else:
                self.failures[asked.id] += 1
        if self.passed is None and self.spent > self.limit:
            self.passed = drive.in_flight + len(news)  # with the one that passed it


def chain_of(rng, name):
    """A conversation of one to four steps, drawn once: it is the same at each start."""
    steps = [[f"c{name:02d}/{step}{k}" for k in range(rng.choice((1, 1, 2, 4)))]
             for step in "stuv"[:rng.randint(1, 4)]]
    model, stage = rng.choice("mn"), rng.choice(("decision", "strategy"))

    def chain():
        out = []
        for ids in steps:
            replies = yield [request(each, stage, model) for each in ids]
            out += [(each, reply) for each, reply in zip(ids, replies, strict=True)]
        return out
    return chain, [name for ids in steps for name in ids]


@pytest.mark.parametrize("seed", range(150))
def test_whatever_happens_the_promises_hold_and_the_same_command_completes(tmp_path, seed):
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
            return (completion(cost=WORST / 3) if calm else rng.choice(answers),
                    1.0 if calm else rng.choice((0.0, 0.5, 1.0, 3.0, 20.0, 70.0)))
        world = World(answer, seed=seed, kill=kill)
        promises = Promises(world, limit, limits, journalled)
        run = conducted(tmp_path, world, lambda: [chain() for chain, _ in drawn], limit,
                        limits, watch=promises, before=gone)
        # What a kill left in flight is charged at the next start, and nothing else.
        assert run.lost <= 1.02 * dearest * lost and (run.lost > 0) == bool(lost)
        dearest = max(dearest, *promises.dearest.values(), 0)
        gone += run.lost
        lost = len(world.flying) if run.ending is None else 0
        lines = [json.loads(line) for line in run.path.read_text().splitlines()]
        final = [line["id"] for line in lines if line["outcome"] in FINAL]
        assert len(final) == len(set(final)) and set(journalled) <= set(final)
        for line in lines:
            if line["outcome"] in FINAL:
                before = journalled.setdefault(line["id"], line)
                assert before == line, "an answer that was changed"
        over = run.budget.total.spent - limit
        if promises.passed is not None and start == 0:
            assert over <= max(promises.dearest.values()) * promises.passed + 1e-9
        if run.ending is None:
            continue
        told = [pair for result in run.ending.results for pair in result]
        assert [name for name, _ in told] == everything
        for name, reply in told:
            assert (reply.outcome in FINAL) == (name in journalled)
            assert results.setdefault(name, reply) == reply or reply.outcome not in FINAL or (
                results[name].outcome not in FINAL)
            results[name] = reply
        left = sum(reply.outcome == "not_run" for _, reply in told)
        assert (run.ending.stop is not None) >= bool(left)
        if last:
            assert run.ending.stop is None and set(final) == set(everything)
            return
