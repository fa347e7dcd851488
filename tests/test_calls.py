"""Driving chains: order, limits, retries, breaker, budget and resume. No waiting: virtual time."""

import json
import signal
import threading
import time
from collections import Counter
from itertools import pairwise

import pytest
from conftest import Clock, Scripted, completion, failure, ledgers, one, request
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common import Incomplete, Interrupted, OverBudget, ProviderRefused, UsageError
from common.budget import Budget
from common.drive import Drive
from common.journal import Journal
from common.wire import Exchange, Model

FREE = Model(0.0, 0.0)
LOST = Exchange(None, {}, "", "ConnectionResetError: reset")


def times(asked, name):
    return [at for at, who in asked if who == name]


def gaps(numbers):
    return [b - a for a, b in pairwise(numbers)]


# --- chains ------------------------------------------------------------------------------------

def test_a_chain_receives_a_reply_for_a_request_and_a_list_for_a_list(bench):
    def chain():
        single = yield request("a")
        several = yield [request("b"), request("c")]
        nothing = yield []
        return single.text, [reply.text for reply in several], nothing
    assert bench("abc", chains=[chain()]).ending.results == [("fine", ["fine", "fine"], [])]


class Waiting:
    """A provider whose answers come when the test lets them go."""

    blocking = True

    def __init__(self, seconds=None, price=FREE):
        self.seconds, self.price = seconds or {}, price
        self.lock, self.flying, self.peak, self.asked = threading.Lock(), Counter(), Counter(), []

    def model(self, name):
        return self.price

    def body(self, req):
        return {"model": req.model}

    def complete(self, req):
        with self.lock:
            self.asked.append((0.0, req.id))
            self.flying[req.stage] += 1
            self.peak[req.stage] = max(self.peak[req.stage], self.flying[req.stage])
        time.sleep(self.seconds.get(req.id, 0.01))
        with self.lock:
            self.flying[req.stage] -= 1
        return completion(req.id)


def test_results_are_in_the_order_of_the_chains_however_replies_arrive(bench):
    slow_first = Waiting({"a": 0.15, "b": 0.1, "c": 0.05})
    results = bench("abcd", provider=slow_first).ending.results
    assert [reply.text for reply in results] == list("abcd")


def test_a_slow_reply_delays_its_own_chain_only(bench):
    def two(first, second):
        yield request(first)
        yield request(second)
    provider = Waiting({"slow": 0.3})
    bench(["slow", "a1", "a2", "s2"], provider=provider, concurrency=2,
          chains=[two("slow", "s2"), two("a1", "a2")])
    assert [name for _, name in provider.asked] == ["slow", "a1", "a2", "s2"]


def test_each_stage_has_its_own_limit_and_uses_it(tmp_path):
    names = [(stage, f"{stage}{i}") for i in range(12) for stage in ("strategy", "decision")]
    provider, journal = Waiting(), Journal(tmp_path, {})
    drive = Drive(provider, ledgers(journal, tmp_path), {"strategy": 2, "decision": 5},
                  Budget(None, Model()))
    drive.run([one(request(name, stage)) for stage, name in names])
    journal.close()
    assert provider.peak == {"strategy": 2, "decision": 5}


def test_an_id_used_twice_is_a_fault_of_the_script(bench):
    with pytest.raises(ValueError, match="'a' is used twice"):
        bench("aa")


def test_a_stage_without_a_limit_is_a_fault_of_the_script(bench):
    with pytest.raises(ValueError, match="no limit for stage 'talk'"):
        bench("a", chains=[one(request("a", stage="talk"))])


@pytest.mark.parametrize("blocking", [False, True])
def test_a_fault_of_the_provider_s_own_code_surfaces(bench, blocking):
    class Broken(Waiting):
        def complete(self, req):
            raise ZeroDivisionError("ours")
    Broken.blocking = blocking
    with pytest.raises(ZeroDivisionError):
        bench("a", provider=Broken())


# --- retries -----------------------------------------------------------------------------------

@pytest.mark.parametrize("fault", [failure(429), failure(500), failure(529), LOST,
                                   Exchange(200, {}, "<html>"), completion(finish_reason="error")])
def test_what_may_pass_is_asked_again_until_it_has(bench, fault):
    run = bench("a", {"a": [fault, fault, fault]})
    assert run.ending.results[0].outcome == "ok" and len(run.asked) == 4


def test_the_pauses_have_full_jitter_below_one_two_and_four_seconds(bench):
    names = [f"a{i:02d}" for i in range(60)]  # each fails 3 times, others succeed between
    run = bench(names, {name: [failure(500)] * 3 for name in names}, concurrency=1,
                chains=[in_turn(names)])
    waits = [gaps(times(run.asked, name)) for name in names]
    for retry, most in enumerate((1, 2, 4)):
        pauses = [wait[retry] for wait in waits]
        assert max(pauses) <= most + 0.25 and min(pauses) < 0.25 * most < 0.75 * most < max(pauses)


def in_turn(names):
    """One after the other, so that each success ends the row of failures."""
    for name in names:
        yield request(name)


def test_after_three_retries_it_is_a_provider_error_with_the_last_words(bench):
    run = bench("ab", {"a": [failure(500, "melted")] * 4})
    assert [reply.outcome for reply in run.ending.results] == ["provider_error", "ok"]
    assert "melted" in run.ending.results[0].message and len(times(run.asked, "a")) == 4


def test_every_attempt_is_in_the_journal_and_only_the_last_has_an_outcome(bench):
    run = bench("a", {"a": [failure(500)] * 4})
    lines = [json.loads(line) for line in run.path.read_text().splitlines()]
    assert [(line["attempt"], line["outcome"]) for line in lines] == [
        (1, None), (2, None), (3, None), (4, "provider_error")]


@pytest.mark.parametrize("said, least, most", [("40", 40, 41), ("120", 120, 121), ("0", 0, 1.25)])
def test_a_wait_that_the_server_asks_for_is_kept(bench, said, least, most):
    run = bench("a", {"a": [failure(429, headers={"retry-after": said})]})
    assert least <= gaps(times(run.asked, "a"))[0] <= most


@pytest.mark.parametrize("answer, outcome", [
    (completion(""), "empty"), (completion("x", finish_reason="length"), "truncated"),
    (completion("x", finish_reason="content_filter"), "blocked"),
    (failure(403, metadata={"reasons": ["violence"]}), "blocked"), (completion("???"), "ok")])
def test_content_is_never_a_reason_to_ask_again(bench, answer, outcome):
    run = bench("a", {"a": [answer]})
    assert (run.ending.results[0].outcome, len(run.asked)) == (outcome, 1)


# --- what ends a run ---------------------------------------------------------------------------

@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 422])
def test_a_fatal_answer_ends_the_run_and_leaves_the_rest_unasked(bench, status):
    run = bench("abcd", {"b": [failure(status, "the reason")]}, concurrency=1)
    assert [reply.outcome for reply in run.ending.results] == ["ok"] + ["not_run"] * 3
    assert isinstance(run.ending.stop, ProviderRefused)
    assert all(part in str(run.ending.stop) for part in ("b", "the reason", str(status)))


def test_a_storm_pauses_thirty_seconds_probes_once_and_gives_up_at_the_third_opening(bench):
    names = [f"{i:02d}" for i in range(40)]
    run = bench(names, usual=failure(429, "slow down"))
    at = [second for second, _ in run.asked]
    assert len(at) == 7                              # five in a row, a probe, a probe
    assert gaps(at)[4] >= 30 and gaps(at)[5] >= 30
    assert isinstance(run.ending.stop, Incomplete) and "slow down" in str(run.ending.stop)
    assert run.ending.outcomes == Counter(not_run=40)


def test_after_a_storm_that_passes_everything_is_asked(bench):
    names = [f"{i:02d}" for i in range(20)]
    run = bench(names, {name: [failure(503)] for name in names[:5]})
    assert run.ending.stop is None and run.ending.outcomes == Counter(ok=20)
    assert [second for second, _ in run.asked][5] >= 30  # the pause came after the fifth


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_sending_and_keeps_what_came(bench, name):
    class Interrupting(Scripted):
        def complete(self, req):
            if req.id == "b":
                signal.raise_signal(name)
            return super().complete(req)
    before = signal.getsignal(name)
    run = bench("abcd", provider=Interrupting(Clock()), concurrency=1)
    assert isinstance(run.ending.stop, Interrupted)
    assert [reply.outcome for reply in run.ending.results] == ["ok", "ok", "not_run", "not_run"]
    assert signal.getsignal(name) is before


def test_a_signal_after_the_last_call_is_not_lost(bench):
    """The run is whole, but a plan's next run must not begin."""
    class Late(Scripted):
        def complete(self, req):
            if req.id == "b":
                signal.raise_signal(signal.SIGINT)
            return super().complete(req)
    run = bench("ab", provider=Late(Clock()), concurrency=1)
    assert [reply.outcome for reply in run.ending.results] == ["ok", "ok"]
    assert isinstance(run.ending.stop, Interrupted)


# --- money -------------------------------------------------------------------------------------

DEAR = Model(prompt=0.0, completion=1 / 16, price_from="catalogue")  # worst case: 1 dollar a call


NINETY = completion(cost=0.9, tokens=(10, 15))  # about what the price says of so many tokens


def block(*names):
    return (yield [request(name) for name in names])


def test_a_list_is_paid_for_as_a_whole_or_not_begun(bench):
    run = bench("abcdefgh", limit=7.0, price=DEAR, usual=NINETY, announce=False,
                chains=[block(*"abcd"), block(*"efgh")])
    assert run.ending.outcomes == Counter(ok=4, not_run=4)
    assert [name for _, name in run.asked] == list("abcd")
    assert isinstance(run.ending.stop, OverBudget)


def test_what_is_left_is_asked_with_a_higher_limit(bench):
    chains = [block(*"abcd"), block(*"efgh")]
    bench("abcdefgh", limit=7.0, price=DEAR, usual=NINETY, chains=chains)
    run = bench("abcdefgh", limit=9.0, price=DEAR, usual=NINETY,
                chains=[block(*"abcd"), block(*"efgh")])
    assert run.ending.stop is None and [name for _, name in run.asked] == list("efgh")
    assert run.budget.spent == pytest.approx(7.2)


def test_a_projection_above_the_limit_ends_the_run_early(bench):
    names = [f"{i:02d}" for i in range(20)]
    run = bench(names, limit=10.0, price=DEAR, usual=NINETY, concurrency=1)
    # the first reply tells: 20 × 0.90 is more than 10
    assert len(run.asked) == 1 and "projected $18.0000" in str(run.ending.stop)


def test_answers_of_an_earlier_start_are_not_projected_again(bench):
    cheap = completion(cost=0.4, tokens=(10, 7))
    bench("abcdefgh", {"g": [failure(401)]}, limit=4.0, price=DEAR, usual=cheap, concurrency=1)
    run = bench("abcdefgh", limit=4.0, price=DEAR, usual=cheap, concurrency=1)
    assert run.ending.stop is None and run.budget.spent == pytest.approx(3.2)


def test_a_call_is_not_sent_where_its_worst_case_could_pass_the_limit(bench):
    run = bench("a", limit=0.99, price=DEAR)
    assert run.asked == [] and isinstance(run.ending.stop, OverBudget)


def test_a_retry_of_a_lost_answer_is_reserved_anew(bench):
    run = bench("a", {"a": [LOST, LOST]}, limit=2.5, price=DEAR, usual=completion(cost=0.1))
    assert len(run.asked) == 2 and run.budget.spent == pytest.approx(2.0)
    assert run.ending.results[0].outcome == "not_run"


def test_a_stop_by_the_budget_ends_even_while_the_breaker_is_open(bench):
    names = [f"{i}" for i in range(9)]
    script = {name: [LOST] for name in names}
    run = bench(names, script, limit=5.5, price=DEAR)
    assert isinstance(run.ending.stop, OverBudget) and len(run.asked) == 5


class Noting(Waiting):
    """Notes how many calls had been sent when the first answer left."""

    sent_before_first_answer = None

    def complete(self, req):
        exchange = super().complete(req)
        self.sent_before_first_answer = self.sent_before_first_answer or len(self.asked)
        return exchange


@pytest.mark.parametrize("price, sent", [(Model(), 1), (DEAR, 1)], ids=["unpriced", "priced"])
def test_no_price_is_believed_before_a_reply_has_told_it(bench, price, sent):
    provider = Noting(dict.fromkeys("abcdefgh", 0.1), price)
    bench("abcdefgh", limit=1000.0, provider=provider, assumed=DEAR)
    assert provider.sent_before_first_answer == sent and provider.peak["decision"] > 1


# --- resume ------------------------------------------------------------------------------------

def test_what_is_in_the_journal_is_not_asked_again(bench):
    script = {"b": [completion("")], "c": [completion("x", finish_reason="length")]}
    first = bench("abcd", script | {"d": [failure(403, metadata={"reasons": ["x"]})]})
    again = bench("abcd")
    assert again.asked == [] and again.ending.results == first.ending.results


@pytest.mark.parametrize("fault", [[failure(500)] * 4, [failure(401)]])
def test_errors_and_calls_not_made_are_asked_again(bench, fault):
    bench("ab", {"b": fault}, concurrency=1)
    run = bench("ab")
    assert [name for _, name in run.asked] == ["b"]
    assert [reply.outcome for reply in run.ending.results] == ["ok", "ok"]


def test_an_id_asked_in_other_words_is_refused(bench):
    bench("a")
    with pytest.raises(UsageError, match="a was asked in other words"):
        bench("a", chains=[one(request("a", user="another question"))])


FAULTS = st.sampled_from([
    failure(429), failure(500), LOST, completion(""), completion("x", finish_reason="length"),
    failure(403, metadata={"reasons": ["x"]}), failure(401), Exchange(200, {}, "<html>"),
    failure(429, headers={"retry-after": "40"}), completion(cost=None)])


@settings(max_examples=60, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.integers(0, 11), st.lists(FAULTS, max_size=5)),
       st.integers(1, 12), st.floats(0.5, 20))
def test_whatever_happens_each_trial_is_answered_once_and_a_resume_completes(
        bench, tmp_path, script, concurrency, limit):
    for old in tmp_path.iterdir():
        old.unlink()
    names = [str(n) for n in range(12)]

    def chains():
        return [block(*names[i:i + 4]) for i in range(0, 12, 4)]
    first = bench(names, {str(k): list(v) for k, v in script.items()}, limit, price=DEAR,
                  concurrency=concurrency, usual=completion(cost=0.3), chains=chains())
    assert first.budget.spent <= limit + 1e-9
    last = bench(names, usual=completion(cost=0.3), chains=chains())
    assert last.ending.stop is None
    outcomes = [line["outcome"] for line in map(json.loads, last.path.read_text().splitlines())
                if line["outcome"] in ("ok", "empty", "truncated", "blocked")]
    assert len(outcomes) == 12
    for was, now in zip(first.ending.results, last.ending.results, strict=True):
        for old, new in zip(was, now, strict=True):
            assert old == new or old.outcome in ("not_run", "provider_error")
