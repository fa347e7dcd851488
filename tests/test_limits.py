"""The circuit breaker and the budget: pure bookkeeping on a clock of the test's."""

import json
from collections import Counter, deque

import pytest
from conftest import completion, failure, request

from common.budget import Admission, Breaker, Budget, Group, SharedBudget
from common.reading import read
from common.wire import Exchange, Model, Reading, Reply

PRICED = Model(prompt=1e-6, completion=4e-6, price_from="catalogue")
UNPRICED = Model()
ASSUMED = Model(prompt=1e-6, completion=5e-6)


def failures(breaker, *times):
    for now in times:
        breaker.failure(now)
    return breaker


# --- the breaker: 5 errors in a row within 60 s, a pause of 30 s, one probe ---------------------

def test_four_errors_in_a_row_pause_nothing():
    assert failures(Breaker(), 0, 1, 2, 3).may_send(3)


def test_five_errors_in_a_row_pause_everything_for_thirty_seconds():
    breaker = failures(Breaker(), 0, 1, 2, 3, 4)
    assert not breaker.may_send(33.9) and breaker.may_send(34)


def test_a_success_between_makes_it_no_row():
    breaker = failures(Breaker(), 0, 1, 2, 3)
    breaker.success()
    assert failures(breaker, 4, 5, 6, 7).may_send(7)


def test_five_errors_over_more_than_a_minute_pause_nothing():
    assert failures(Breaker(), 0, 20, 40, 60, 61).may_send(61)


def test_the_errors_of_the_last_minute_count_whenever_the_row_began():
    assert not failures(Breaker(), 0, 20, 40, 60, 61, 62).may_send(62)


def test_after_the_pause_one_probe_goes_and_no_more():
    breaker = failures(Breaker(), 0, 0, 0, 0, 0)
    breaker.sent()  # at 30
    assert not breaker.may_send(31)


def test_a_probe_that_succeeds_ends_the_pause():
    breaker = failures(Breaker(), 0, 0, 0, 0, 0)
    breaker.sent()
    breaker.success()
    assert breaker.may_send(31)


def test_a_probe_that_fails_pauses_again():
    breaker = failures(Breaker(), 0, 0, 0, 0, 0)
    breaker.sent()
    breaker.failure(31)
    assert not breaker.may_send(60.9) and breaker.may_send(61)


def test_errors_of_calls_that_were_in_flight_when_it_opened_open_nothing_more():
    breaker = failures(Breaker(), *[0] * 64)
    assert breaker.openings == 1 and breaker.may_send(30)


def test_a_late_success_of_a_call_in_flight_does_not_cut_the_pause_short():
    breaker = failures(Breaker(), 0, 0, 0, 0, 0)
    breaker.success()
    assert not breaker.may_send(29) and breaker.may_send(30)


@pytest.mark.parametrize("state", ["closed", "open", "probing"])
def test_a_server_that_asks_to_wait_ends_a_probe_and_nothing_else(state):
    breaker = Breaker()
    if state != "closed":
        failures(breaker, 0, 0, 0, 0, 0)
    if state == "probing":
        breaker.sent()
    breaker.answered()
    assert breaker.may_send(1) is (state != "open") and breaker.openings == (state != "closed")


def opened_again(breaker):
    """A probe that fails."""
    breaker.sent()
    breaker.failure(breaker.open_until)
    return breaker


def test_the_third_opening_without_a_success_between_is_final():
    breaker = opened_again(failures(Breaker(), 0, 0, 0, 0, 0))
    assert not breaker.tripped
    assert opened_again(breaker).tripped


def test_a_success_between_starts_the_count_of_openings_anew():
    breaker = opened_again(failures(Breaker(), 0, 0, 0, 0, 0))
    breaker.sent()
    breaker.success()
    assert not opened_again(failures(breaker, *[200] * 5)).tripped


# --- the budget --------------------------------------------------------------------------------

def charge(budget, exchange, model=PRICED, reserved=0.5, name="a"):
    return budget.charge(request(name), read(exchange), model, reserved)


def test_what_is_spent_and_reserved_never_passes_the_limit():
    budget = Budget(1.0, ASSUMED, spent=0.5)
    budget.reserve(0.3)
    assert budget.fits(0.2) and not budget.fits(0.2001)


def test_without_a_limit_everything_fits():
    assert Budget(None, ASSUMED).fits(1e9)


def test_the_cost_that_the_server_tells_is_charged():
    assert charge(Budget(1, ASSUMED), completion(cost=0.0123)) == (0.0123, 0.0123)


def test_without_a_cost_the_tokens_are_priced():
    # completion(): 10 tokens in, 2 out, at 1 and 4 dollars a million
    assert charge(Budget(1, ASSUMED), completion(cost=None)) == pytest.approx((18e-6, 18e-6))


def test_without_cost_or_price_the_reservation_is_charged_and_the_cost_unknown():
    assert charge(Budget(1, ASSUMED), completion(cost=None), UNPRICED) == (None, 0.5)


@pytest.mark.parametrize("usage", [{}, {"prompt_tokens": 10}, {"completion_tokens": 2}])
def test_without_both_counts_of_tokens_the_reservation_is_charged(usage):
    body = {"choices": [{"message": {"content": "x"}}], "usage": usage}
    assert charge(Budget(1, ASSUMED), Exchange(200, {}, json.dumps(body))) == (None, 0.5)


@pytest.mark.parametrize("exchange", [
    Exchange(None, {}, "", "reset"), Exchange(200, {}, "", "cut off"), Exchange(200, {}, "<html>")])
def test_a_lost_answer_is_charged_its_worst_case(exchange):
    assert charge(Budget(1, ASSUMED), exchange) == (None, 0.5)


@pytest.mark.parametrize("exchange", [
    failure(429), failure(500), failure(401), Exchange(None, {}, "", "refused", sent=False)])
def test_an_error_of_the_server_s_own_costs_nothing(exchange):
    assert charge(Budget(1, ASSUMED), exchange) == (None, 0.0)


def test_a_failed_attempt_with_a_cost_is_charged_it():
    body = json.loads(completion(cost=0.01, finish_reason="error").body)
    assert charge(Budget(1, ASSUMED), Exchange(200, {}, json.dumps(body))) == (0.01, 0.01)


def test_a_priced_call_reserves_what_it_can_cost_at_most():
    budget = Budget(1, ASSUMED)
    # one byte each of system and user text at least; 16 tokens of output
    assert budget.worst_case(request("a"), PRICED) >= 2e-6 + 64e-6


def test_a_call_that_cost_more_than_its_price_raises_the_next_reservation():
    budget = Budget(1, ASSUMED)
    charge(budget, completion(cost=0.2, tokens=(0, 0)))
    assert budget.worst_case(request("b"), PRICED) == 0.2


def test_what_goes_out_is_held_until_its_answer_is_charged():
    budget = Budget(1, ASSUMED)
    admission = Admission(budget, lambda name: PRICED)
    group = Group(0, [request("a"), request("b")])
    worst, waiting = budget.worst_case(request("a"), PRICED), deque(group.tasks)
    task = admission.pick(waiting, Counter(), (), False)
    assert budget.reserved == pytest.approx(2 * worst) and len(waiting) == 1  # as a whole
    admission.release(task)
    assert budget.reserved == pytest.approx(worst)
    assert admission.pick(deque([task]), Counter(), (), True) is task  # a retry, even at the end
    assert budget.reserved == pytest.approx(2 * worst)


def test_a_price_learned_since_is_held_on_top():
    budget = Budget(1, ASSUMED)
    admission = Admission(budget, lambda name: PRICED)
    group = Group(0, [request("a"), request("b")])
    waiting = deque(group.tasks)
    admission.pick(waiting, Counter(), (), False)
    before = budget.reserved / 2
    charge(budget, completion(cost=10 * 18e-6))  # ten times what its tokens cost by the price
    admission.pick(waiting, Counter(), (), False)
    assert budget.reserved == pytest.approx(11 * before)


def test_a_call_of_a_begun_group_that_no_longer_fits_is_not_sent():
    budget = Budget(1, ASSUMED)
    admission, waiting = Admission(budget, lambda name: PRICED), deque(
        Group(0, [request("a"), request("b")]).tasks)
    admission.pick(waiting, Counter(), (), False)
    budget.limit = budget.reserved + 20 * 18e-6  # room for a little, of far less than a dollar
    charge(budget, completion(cost=10 * 18e-6))
    assert admission.pick(waiting, Counter(), (), False) is None
    assert admission.refused is waiting[0] and "may cost $" in str(admission.over())


def test_a_call_of_a_begun_group_goes_on_what_was_held_whatever_others_have_cost_since():
    budget = Budget(1, ASSUMED)
    admission, waiting = Admission(budget, lambda name: PRICED), deque(
        Group(0, [request("a"), request("b")]).tasks)
    admission.pick(waiting, Counter(), (), False)
    budget.charge(request("c", model="dear"), read(completion(cost=1.0)), PRICED, 0.1)
    assert admission.pick(waiting, Counter(), (), False).request.id == "b"


def test_of_a_group_only_what_is_not_answered_yet_is_held():
    budget, group = Budget(1, ASSUMED), Group(0, [request("a"), request("b")])
    group.replies[0] = Reply("ok")  # by an earlier start
    waiting = deque(group.tasks[1:])
    Admission(budget, lambda name: PRICED).pick(waiting, Counter(), (), False)
    assert budget.reserved == budget.worst_case(request("b"), PRICED)


def test_at_the_end_no_group_is_begun():
    admission = Admission(Budget(1, ASSUMED), lambda name: PRICED)
    assert admission.pick(deque(Group(0, request("a")).tasks), Counter(), (), True) is None
    assert admission.refused is None


def test_behind_a_group_that_no_longer_fits_no_cheaper_one_is_begun():
    budget = Budget(1, ASSUMED)
    admission, waiting = Admission(budget, lambda name: PRICED), deque(
        [*Group(0, request("a", max_out=10**6)).tasks, *Group(1, request("b")).tasks])
    assert admission.pick(waiting, Counter(), (), False) is None
    budget.limit = 9.0
    assert admission.pick(waiting, Counter(), (), False).request.id == "a"
    assert admission.refused is None


@pytest.mark.parametrize(("whole", "run", "tightest"), [
    (None, 0.5, "run"), (1, None, "whole"), (0.6, 0.5, "run"), (0.4, 0.5, "whole")])
def test_the_tighter_of_two_limits_is_the_one_of_which_the_projection_fills_more(
        whole, run, tightest):
    budget = SharedBudget(whole, ASSUMED, 0.1, {"r": (run, 0.1)})
    assert budget.tightest(request("r/a")) is {"run": budget.own["r"], "whole": budget}[tightest]


def test_what_is_given_back_is_free_again_in_the_run_s_limit_too():
    budget, asked = SharedBudget(9, ASSUMED, 0, {"r": (0.5, 0)}), request("r/a")
    budget.reserve(0.4, asked)
    assert not budget.fits(0.2, asked)
    budget.release(0.4, asked)
    assert budget.fits(0.2, asked)


@pytest.mark.parametrize(("spent", "over"), [
    (0.5, False), (1.0, False), (1 + 5e-10, False), (1 + 1.5e-9, True), (1.1, True)])
def test_a_run_that_will_probably_pass_its_limit_is_stopped(spent, over):
    admission = Admission(Budget(1, ASSUMED, spent), lambda name: PRICED)
    said = admission.over_projected(request("a"))
    assert (said is not None) is over and (not over or "over the limit $1" in str(said))
    assert Admission(Budget(None, ASSUMED, spent), lambda name: PRICED).over_projected(
        request("a")) is None


def test_a_model_that_has_to_wait_is_passed_over():
    admission = Admission(Budget(None, ASSUMED), lambda name: PRICED)
    waiting = deque(Group(at, request(name, model=name)).tasks[0]
                    for at, name in enumerate(("slow", "quick")))
    assert admission.pick(waiting, Counter(), {"slow"}, False).request.model == "quick"
    assert admission.pick(waiting, Counter(), {"slow"}, False) is None


def test_a_blocked_answer_with_a_bill_makes_a_price_known():
    budget = Budget(1, ASSUMED)
    assert charge(budget, completion(cost=0.1, finish_reason="content_filter")) == (0.1, 0.1)
    assert not budget.unknown(*KEY)


def test_a_prompt_that_is_too_long_costs_nothing_and_tells_no_price():
    budget = Budget(1, ASSUMED)
    assert charge(budget, failure(413)) == (None, 0.0)
    assert budget.unknown(*KEY)


@pytest.mark.parametrize("model", [PRICED, UNPRICED])
def test_a_reply_that_was_ten_times_as_dear_as_its_tokens_makes_every_reservation_so(model):
    budget = Budget(1, ASSUMED)
    price = PRICED if model.priced else ASSUMED
    before = budget.worst_case(request("b"), model)
    charge(budget, completion(cost=10 * (10 * price.prompt + 2 * price.completion)), model)
    assert budget.worst_case(request("b"), model) == pytest.approx(10 * before)


def test_a_reply_that_was_cheaper_lowers_no_reservation():
    budget = Budget(1, ASSUMED)
    before = budget.worst_case(request("b"), PRICED)
    charge(budget, completion(cost=1e-9))
    assert budget.worst_case(request("b"), PRICED) == before


def test_without_price_and_cost_reservations_do_not_grow():
    budget = Budget(1, ASSUMED)
    first = budget.worst_case(request("a"), UNPRICED)
    charge(budget, completion(cost=None), UNPRICED, reserved=first)
    assert budget.worst_case(request("b"), UNPRICED) == first


KEY = "decision", "m"


@pytest.mark.parametrize("model", [PRICED, UNPRICED])
def test_no_price_is_believed_until_a_reply_of_this_start_came(model):
    budget = Budget(1, ASSUMED)
    budget.learn(*KEY, 0.001, 0.001)  # of an earlier one
    assert budget.unknown(*KEY)
    charge(budget, completion(cost=0.001), model)
    assert not budget.unknown(*KEY) and budget.unknown("decision", "other")


def test_a_lost_answer_does_not_make_a_price_known():
    budget = Budget(1, ASSUMED)
    charge(budget, Exchange(None, {}, "", "reset"), UNPRICED)
    assert budget.unknown(*KEY)


def test_an_input_that_was_blocked_does_not_make_a_price_known():
    budget = Budget(1, ASSUMED)
    charge(budget, failure(403, metadata={"reasons": ["violence"]}), UNPRICED)
    assert budget.unknown(*KEY)


def test_a_run_without_limit_has_nothing_unknown():
    assert not Budget(None, ASSUMED).unknown(*KEY)


def test_the_projection_is_the_price_table_before_the_first_reply():
    budget = Budget(1, ASSUMED, spent=0.25)
    budget.plan(request("a", user="x" * 399, max_out=100), PRICED, 10)
    # 400 bytes at four a token, 100 tokens out: 10 × (100 + 400) µ$
    assert budget.projection() == pytest.approx(0.25 + 10 * 500e-6)


def test_a_stage_without_calls_projects_nothing():
    budget = Budget(1, ASSUMED)
    budget.plan(request("a"), PRICED, 0)
    assert budget.projection() == 0


def test_a_call_more_than_was_announced_projects_no_less():
    budget = Budget(1, ASSUMED)
    budget.plan(request("a"), PRICED, 2)
    projected = []
    for name in "abc":
        charge(budget, completion(cost=0.25), name=name)
        budget.made(request(name))
        projected.append(budget.projection())
    assert projected == [0.5, 0.5, 0.75]  # one left, none left, none left


def test_the_projection_is_the_mean_of_the_stage_and_model_afterwards():
    budget = Budget(1, ASSUMED)
    budget.plan(request("a"), PRICED, 10)
    for name, cost in (("a", 0.01), ("b", 0.03)):
        charge(budget, completion(cost=cost), name=name)
        budget.made(request(name))
    assert budget.projection() == pytest.approx(0.04 + 8 * 0.02)


def test_one_model_s_mean_says_nothing_of_another():
    budget = Budget(1, ASSUMED)
    budget.plan(request("a", model="dear"), PRICED, 1)
    before = budget.projection()
    budget.charge(request("b", model="cheap"), read(completion(cost=0.0)), PRICED, 0.1)
    assert budget.projection() == before


def test_charges_add_up_to_what_is_spent():
    budget = Budget(None, ASSUMED)
    final = Reading("final", Reply("ok", cost_usd=0.25))
    for _ in range(4):
        budget.charge(request("a"), final, PRICED, 0.5)
    assert budget.spent == 1.0
