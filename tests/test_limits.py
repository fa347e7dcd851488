"""The circuit breaker and the budget: pure bookkeeping on a clock of the test's."""

import json
from collections import Counter, deque

import pytest
from conftest import completion, failure, request

from common.budget import Account, Admission, Breaker, Budget, Group
from common.reading import read
from common.wire import Exchange, Model, Reading, Reply

PRICED = Model(prompt=1e-6, completion=4e-6, price_from="catalogue")
UNPRICED = Model()
ASSUMED = Model(prompt=1e-6, completion=5e-6)


def breaker(*events):
    """One that met errors at these times, and what else happened between: a method's name."""
    out = Breaker()
    for event in events:
        getattr(out, event)() if isinstance(event, str) else out.failure(event)
    return out


# --- the breaker: 5 errors in a row within 60 s, a pause of 30 s, one probe ---------------------

OPENED, PROBING = (0,) * 5, (*(0,) * 5, "sent")
# what: (errors and what else happened, when nothing may be sent, when it may, openings)
PAUSES = {
    "four errors in a row pause nothing": ((0, 1, 2, 3), None, 3, 0),
    "five pause everything for thirty seconds": ((0, 1, 2, 3, 4), 33.9, 34, 1),
    "a success between makes it no row": ((0, 1, 2, 3, "success", 4, 5, 6, 7), None, 7, 0),
    "five over more than a minute pause nothing": ((0, 20, 40, 60, 61), None, 61, 0),
    "those of the last minute count": ((0, 20, 40, 60, 61, 62), 62, None, 1),
    "after the pause one probe goes and no more": (PROBING, 31, None, 1),
    "a probe that succeeds ends the pause": ((*PROBING, "success"), None, 31, 0),
    "a probe that fails pauses again": ((*PROBING, 31), 60.9, 61, 2),
    "calls in flight open nothing more": ((0,) * 64, 29.9, 30, 1),
    "a late success does not cut the pause short": ((*OPENED, "success"), 29, 30, 0),
    "who asks to wait leaves it closed": (("answered",), None, 1, 0),
    "who asks to wait leaves it open": ((*OPENED, "answered"), 1, 30, 1),
    "who asks to wait ends a probe": ((*PROBING, "answered"), None, 1, 1)}


@pytest.mark.parametrize("what", PAUSES)
def test_when_the_next_call_may_go(what):
    events, never, at, openings = PAUSES[what]
    held = breaker(*events)
    assert held.openings == openings
    assert never is None or not held.may_send(never)
    assert at is None or held.may_send(at)


def opened_again(held):
    """A probe that fails."""
    held.sent()
    held.failure(held.open_until)
    return held


def test_the_third_opening_without_a_success_between_is_final():
    held = opened_again(breaker(*OPENED))
    assert not held.tripped
    assert opened_again(held).tripped


def test_a_success_between_starts_the_count_of_openings_anew():
    held = opened_again(breaker(*OPENED))
    held.sent()
    held.success()
    for _ in OPENED:
        held.failure(200)
    assert not opened_again(held).tripped


# --- the budget --------------------------------------------------------------------------------

KEY = "decision", "m"


def charge(budget, exchange, model=PRICED, reserved=0.5, name="a"):
    return budget.charge(request(name), read(exchange), model, reserved)


def test_what_is_spent_and_reserved_never_passes_the_limit():
    budget = Budget(1.0, ASSUMED, spent=0.5)
    budget.reserve(0.3, request("a"))
    assert budget.fits(0.2, request("a")) and not budget.fits(0.2001, request("a"))


def test_without_a_limit_everything_fits():
    assert Budget(None, ASSUMED).fits(1e9, request("a"))


def raw(**body):
    return Exchange(200, {}, json.dumps({"choices": [{"message": {"content": "x"}}]} | body))


# completion(): 10 tokens in, 2 out, at 1 and 4 dollars a million; 0.5 dollars are reserved
BY_TOKENS, WORST = pytest.approx((18e-6, 18e-6)), (None, 0.5)
# what: (answer, its cost and what is charged, whether a price is known since), of a priced model
CHARGES = {
    "the cost that the server tells": (completion(cost=0.0123), (0.0123, 0.0123), True),
    "without a cost the tokens are priced": (completion(cost=None), BY_TOKENS, True),
    "without tokens": (raw(usage={}), WORST, None),
    "without those written": (raw(usage={"prompt_tokens": 10}), WORST, None),
    "without those read": (raw(usage={"completion_tokens": 2}), WORST, None),
    "a lost answer": (Exchange(None, {}, "", "reset"), WORST, False),
    "an answer cut off": (Exchange(200, {}, "", "cut off"), WORST, False),
    "an answer of another kind": (Exchange(200, {}, "<html>"), WORST, False),
    "an error of the server's own": (failure(500), (None, 0.0), False),
    "too many calls": (failure(429), (None, 0.0), False),
    "no key": (failure(401), (None, 0.0), False),
    "nothing sent": (Exchange(None, {}, "", "refused", sent=False), (None, 0.0), False),
    "too long a prompt": (failure(413), (None, 0.0), False),
    "a failed attempt with a cost": (
        completion(cost=0.01, finish_reason="error"), (0.01, 0.01), None),
    "a blocked answer with a bill": (
        completion(cost=0.1, finish_reason="content_filter"), (0.1, 0.1), True)}


@pytest.mark.parametrize("what", CHARGES)
def test_what_is_charged_and_whether_a_price_is_known_since(what):
    exchange, charged, known = CHARGES[what]
    budget = Budget(1, ASSUMED)
    assert charge(budget, exchange) == charged
    assert known is None or budget.unknown(*KEY) is not known


def test_without_cost_or_price_the_reservation_is_charged_and_the_cost_unknown():
    assert charge(Budget(1, ASSUMED), completion(cost=None), UNPRICED) == WORST


@pytest.mark.parametrize("exchange", [
    Exchange(None, {}, "", "reset"), failure(403, metadata={"reasons": ["violence"]})])
def test_neither_a_lost_answer_nor_a_blocked_input_makes_a_price_known(exchange):
    budget = Budget(1, ASSUMED)
    charge(budget, exchange, UNPRICED)
    assert budget.unknown(*KEY)


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
    assert budget.total.reserved == pytest.approx(2 * worst) and len(waiting) == 1  # as a whole
    admission.release(task)
    assert budget.total.reserved == pytest.approx(worst)
    assert admission.pick(deque([task]), Counter(), (), True) is task  # a retry, even at the end
    assert budget.total.reserved == pytest.approx(2 * worst)


def test_a_price_learned_since_is_held_on_top():
    budget = Budget(1, ASSUMED)
    admission = Admission(budget, lambda name: PRICED)
    group = Group(0, [request("a"), request("b")])
    waiting = deque(group.tasks)
    admission.pick(waiting, Counter(), (), False)
    before = budget.total.reserved / 2
    charge(budget, completion(cost=10 * 18e-6))  # ten times what its tokens cost by the price
    admission.pick(waiting, Counter(), (), False)
    assert budget.total.reserved == pytest.approx(11 * before)


def test_a_call_of_a_begun_group_that_no_longer_fits_is_not_sent():
    budget = Budget(1, ASSUMED)
    admission, waiting = Admission(budget, lambda name: PRICED), deque(
        Group(0, [request("a"), request("b")]).tasks)
    admission.pick(waiting, Counter(), (), False)
    budget.total.limit = budget.total.reserved + 20 * 18e-6  # far less than a dollar
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
    assert budget.total.reserved == budget.worst_case(request("b"), PRICED)


def test_at_the_end_no_group_is_begun():
    admission = Admission(Budget(1, ASSUMED), lambda name: PRICED)
    assert admission.pick(deque(Group(0, request("a")).tasks), Counter(), (), True) is None
    assert admission.refused is None


def test_behind_a_group_that_no_longer_fits_no_cheaper_one_is_begun():
    budget = Budget(1, ASSUMED)
    admission, waiting = Admission(budget, lambda name: PRICED), deque(
        [*Group(0, request("a", max_out=10**6)).tasks, *Group(1, request("b")).tasks])
    assert admission.pick(waiting, Counter(), (), False) is None
    budget.total.limit = 9.0
    assert admission.pick(waiting, Counter(), (), False).request.id == "a"
    assert admission.refused is None


@pytest.mark.parametrize(("whole", "run", "tightest"), [
    (None, 0.5, "run"), (1, None, "whole"), (0.6, 0.5, "run"), (0.4, 0.5, "whole")])
def test_the_tighter_of_two_limits_is_the_one_of_which_the_projection_fills_more(
        whole, run, tightest):
    budget = Budget(whole, ASSUMED, 0.1, {"r": Account(run, 0.1)})
    accounts = {"run": budget.runs["r"], "whole": budget.total}
    assert budget.tightest(request("r/a")) is accounts[tightest]


def test_what_is_given_back_is_free_again_in_the_run_s_limit_too():
    budget, asked = Budget(9, ASSUMED, 0, {"r": Account(0.5)}), request("r/a")
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


@pytest.mark.parametrize("model", [PRICED, UNPRICED])
def test_no_price_is_believed_until_a_reply_of_this_start_came(model):
    budget = Budget(1, ASSUMED)
    budget.learn(*KEY, 0.001, 0.001)  # of an earlier one
    assert budget.unknown(*KEY)
    charge(budget, completion(cost=0.001), model)
    assert not budget.unknown(*KEY) and budget.unknown("decision", "other")


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
