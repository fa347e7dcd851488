"""Chains that wait for others, and one budget over several runs."""

import pytest
from conftest import PRICE, failure, one, request

from common.budget import Account, Budget
from common.drive import After
from common.reading import read


def linked(*makers):
    """Chains, each of which is made with the list of all: to wait for some of them."""
    chains = []
    chains += [make(chains) for make in makers]
    return chains


def alone(name):
    return lambda chains: one(request(name))


def after(places, name):
    """A chain that asks once what it waits for has ended, and returns what it was told."""
    def chain(chains):
        told = yield After([chains[place] for place in places])
        yield request(name)
        return [getattr(reply, "outcome", reply) for reply in told]
    return chain


def test_a_chain_waits_for_those_it_names_and_gets_their_results(bench):
    done = bench(["a", "b", "c"], chains=linked(
        after([1, 2], "c"), alone("a"), alone("b")))
    assert [name for _, name in done.asked] == ["a", "b", "c"]
    assert done.ending.results[0] == ["ok", "ok"]
    assert bench(["a"], chains=linked(after([], "a"))).ending.results == [[]]


def test_it_does_not_wait_for_others(bench):
    done = bench(["a", "b", "c"], {"b": [failure(500)]},
                 chains=linked(alone("a"), alone("b"), after([0], "c")))
    assert [name for _, name in done.asked] == ["a", "b", "c", "b"]


def test_a_chain_may_wait_for_one_that_waits_and_is_told_what_failed(bench):
    done = bench(["a", "b", "c"], {"a": [failure(500) for _ in range(4)]},
                 chains=linked(after([1], "c"), after([2], "b"), alone("a")))
    assert [name for _, name in done.asked][-2:] == ["b", "c"]
    assert done.ending.results[1] == ["provider_error"]


def test_chains_that_wait_for_each_other_are_an_error(bench):
    with pytest.raises(ValueError, match="waits for one that never ends"):
        bench([], chains=linked(after([1], "a"), after([0], "b")))


# --- budgets -----------------------------------------------------------------------------------

@pytest.fixture
def shared():
    """A dollar for both runs, 0.6 for each; run a has spent 0.2."""
    return Budget(1.0, PRICE, lambda name: PRICE, 0.2, {"a": Account(0.6, 0.2), "b": Account(0.6)})


def costing(usd, name):
    """A request that costs so much at most."""
    shortest = request(name, max_out=10**4)
    most = Budget(None, PRICE, lambda name: PRICE).worst_case
    return request(name, max_out=10**4 + round((usd - most(shortest)) / PRICE.completion))


def test_a_call_has_to_fit_into_the_whole_and_into_its_run(shared):
    assert shared.fits([costing(0.39, "a/1")]) and not shared.fits([costing(0.41, "a/1")])
    assert shared.reserve([costing(0.5, "b/1")])                 # of 0.6
    assert shared.fits([costing(0.29, "a/1")]) and not shared.fits([costing(0.31, "a/1")])
    assert not shared.reserve([costing(0.11, "b/2")])
    shared.charge(request("b/1"), read(failure(500)))            # nothing is held for it any more
    assert shared.fits([costing(0.39, "a/1")])


def test_the_budget_nearest_to_its_limit_is_named(shared):
    assert shared.tightest(request("a/1")) is shared.runs["a"]   # 0.2 of 0.6 against 0.2 of 1
    assert shared.tightest(request("b/1")) is shared.total


def test_a_call_that_was_made_is_awaited_no_more_in_its_run_and_in_the_whole(shared):
    shared.plan(request("a/1"), 2)
    left = shared.projection() - 0.2
    shared.made(request("a/1"))
    assert shared.projection() - 0.2 == pytest.approx(left / 2) and left > 0
    assert shared.projection(shared.runs["a"]) - 0.2 == pytest.approx(left / 2)
    assert shared.projection(shared.runs["b"]) == 0.0


def test_what_a_call_costs_is_learned_over_all_runs(shared):
    shared.plan(request("a/1"), 10)
    shared.plan(request("b/1"), 10)
    shared.learn("decision", "m", 0.03, 0.03)
    assert shared.projection() == pytest.approx(0.2 + 20 * 0.03)
    assert shared.projection(shared.runs["a"]) == pytest.approx(0.2 + 10 * 0.03)
    assert shared.projection(shared.runs["b"]) == pytest.approx(10 * 0.03)
