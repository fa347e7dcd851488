"""The tournament: its design, its questions, its chains on the call layer, how a policy is read."""

import hashlib
import re
from collections import Counter
from itertools import combinations

import pytest
from domains import DOMAINS
from provider import Provider, completion, conducted, failure, scripted
from tournaments import MODELS, asked, cooperating, dealt, said, settings

from cirrus.ask.encounters import chains, policy_status, request_ids, typical_calls
from cirrus.ask.prompts import Stimulus, sentences
from common.instrument import in_turns
from run_tournament import runs_of_plan

# --- design ---

def test_the_default_design_has_a_hundred_policies_and_2700_decisions():
    requests = asked(dealt())
    assert Counter(r.stage for r in requests.values()) == {"strategy": 100, "decision": 2700}
    assert list(request_ids(dealt())) and set(request_ids(dealt())) == requests.keys()


def combinations_in(labels):
    return [Counter(scheme for scheme, _ in labels), Counter(order for _, order in labels),
            Counter(labels)]


@pytest.mark.parametrize(("agents", "rounds", "games", "seed"), [
    (10, 10, 3, 42), (2, 1, 1, 1), (3, 5, 2, 2), (5, 4, 3, 3)])
def test_schemes_orders_and_positions_are_balanced_over_the_run_and_the_primary_data(
        agents, rounds, games, seed):
    t = dealt(agents=agents, rounds=rounds, games_per_pair=games, seed=seed)
    run = [pair.labels[e] for r in t.rounds for e in range(games) for pair in r.pairs]
    primary = [pair.labels[0] for pair in t.rounds[0].pairs]
    for labels in (run, primary):
        for counts, kinds in zip(combinations_in(labels), (3, 2, 6), strict=True):
            values = list(counts.values()) + [0] * (kinds - len(counts))
            assert max(values) - min(values) <= 1


@pytest.mark.parametrize("n", range(2, 14))
def test_every_pair_meets_once_with_balanced_seats_and_everybody_before_anybody_twice(n):
    pairs = [(pair.a.id, pair.b.id) for pair in dealt(agents=n, rounds=1).rounds[0].pairs]
    agents = {agent for pair in pairs for agent in pair}
    assert Counter(map(frozenset, pairs)) == Counter(map(frozenset, combinations(agents, 2)))
    first = [sum(a == agent for a, _ in pairs) for agent in agents]
    assert len(agents) == n and max(first) - min(first) <= 1
    for at in range(0, len(pairs), n // 2):
        assert len({agent for pair in pairs[at:at + n // 2] for agent in pair}) == n // 2 * 2


def test_every_round_has_its_own_bulletin_salt_and_names():
    t = dealt()
    assert len({r.bulletin.id for r in t.rounds}) == len({r.salt for r in t.rounds}) == 10
    names = [name for r in t.rounds for name in r.anon.values()]
    assert len(set(names)) == 100
    assert all(name == hashlib.sha256(f"{r.salt}{agent}".encode()).hexdigest()
               for r in t.rounds for agent, name in r.anon.items())


# --- what the cells of a seed share ---

def without_cues(t, request):
    """Its words without the sentences of its cell, of which each stands once."""
    round_ = t.rounds[int(request.id.split("/")[1].removeprefix("r")) - 1]
    said = sentences(t.domain, Stimulus(round_.bulletin, round_.variant, t.condition,
                                        wording=round_.wording))
    text = request.user
    for sentence in filter(None, said.values()):
        assert text.count(sentence) == 1
        text = text.replace(sentence, " ")
    return text.split()


@pytest.mark.parametrize("toggles", [
    {"S": "low", "C": "present", "H": "low"}, {"S": "high", "C": "absent", "H": "low"},
    {"S": "high", "C": "present", "H": "high"}, {"S": "low", "C": "absent", "H": "high"}])
def test_runs_of_a_seed_differ_in_the_sentences_of_their_toggles_and_in_nothing_else(toggles):
    base = {"S": "high", "C": "present", "H": "low"}
    runs = [dealt(**base, rounds=3), dealt(**toggles, rounds=3)]
    one, other = map(asked, runs)
    assert len(one) == len(other) == 3 * 280
    for a, b in zip(one.values(), other.values(), strict=True):
        assert a.id.partition("/")[2] == b.id.partition("/")[2]
        assert (a.system, a.model, a.max_out) == (b.system, b.model, b.max_out)
        assert a.user != b.user
        assert without_cues(runs[0], a) == without_cues(runs[1], b)
    # They do not share the sampler's luck; servers take seeds below 2³¹.
    assert not {r.seed for r in one.values()} & {r.seed for r in other.values()}
    assert max(r.seed for r in one.values()) < 2**31


def test_a_round_is_of_several_cases_and_a_bulletin_has_one_wording_in_a_plan():
    for request in asked(dealt(rounds=2)).values():
        assert "cases like this one" in request.user or "case like this one" in request.user
        assert "will not meet" not in request.user and "last week" not in request.user
    runs = runs_of_plan("exploratory", settings(), MODELS, [3, 4], DOMAINS)
    assert {run.config["plan_seed"] for run in runs} == {3}
    dealt_by = {(seed, round_.bulletin.id): round_.wording for seed in (3, 4) for round_ in
                dealt(seed=seed, turn=seed - 3, plan_seed=3, rounds=10).rounds}
    worded = {bulletin: wording for (_, bulletin), wording in dealt_by.items()}
    assert all(worded[bulletin] == wording for (_, bulletin), wording in dealt_by.items())
    assert len(worded) == 20 and len(set(worded.values())) == 12


# --- what a side sees ---

def test_a_side_sees_its_own_policy_and_never_the_other_s():
    def naming(request):
        reply = cooperating(request)
        return said(f"Policy of {request.id}.\nTwo.\nThree.") if (
            request.stage == "strategy") else reply
    t = dealt(rounds=2, agents=4)
    for name, request in asked(t, naming).items():
        if request.stage == "decision":
            _, number, pair, _, side = name.split("/")
            round_ = t.rounds[int(number[1:]) - 1]
            meeting = next(p for p in round_.pairs if p.id == pair)
            own = (meeting.a if side == "a" else meeting.b).id
            assert re.findall(r"Policy of (\S+)\.", request.user) == [f"{t.name}/{number}/{own}"]


def history(text):
    return re.findall(r"^- you: (.+); counterparty: (.+)$", text, re.M)


def test_history_is_this_pair_s_last_two_encounters_of_this_round():
    t = dealt(agents=2, rounds=2, games_per_pair=4, label_schemes=["L1"])
    acts = iter(["COORDINATE", "PREEMPT", "PREEMPT", "PREEMPT", "COORDINATE", "COORDINATE",
                 "PREEMPT", "COORDINATE"] * 2)

    def scripted(request):
        if request.stage == "strategy":
            return said("One.\nTwo.\nThree.")
        return said(f"Decision: {next(acts)}")
    seen = asked(t, scripted)
    for number in "12":
        shown = {name[-4:]: history(request.user) for name, request in seen.items()
                 if f"/r{number}/p" in name}
        assert shown["e1/a"] == shown["e1/b"] == []
        assert shown["e2/a"] == [("COORDINATE", "PREEMPT")]
        assert shown["e2/b"] == [("PREEMPT", "COORDINATE")]
        assert shown["e4/a"] == [("PREEMPT", "PREEMPT"), ("COORDINATE", "COORDINATE")]


@pytest.mark.parametrize("mode, shown", [("standard", [("COORDINATE", "no entry")]), ("off", [])])
def test_an_entry_that_could_not_be_read_is_shown_as_none_and_with_history_off_none(mode, shown):
    def mumbling(request):
        return said("well") if request.id.endswith("e1/b") else cooperating(request)
    t = dealt(agents=2, rounds=1, games_per_pair=2, label_schemes=["L1"], history_mode=mode)
    assert history(asked(t, mumbling)[f"{t.name}/r1/p01/e2/a"].user) == shown


def test_an_estimate_has_policies_of_four_lines_and_the_history_of_each_encounter():
    calls = typical_calls(dealt(rounds=1, baselines=["AlwaysC"]))
    decisions = [request for request, _ in calls if request.stage == "decision"]
    assert [times for _, times in calls] == [10, 100, 100, 100]
    assert [len(history(request.user)) for request in decisions] == [0, 1, 2]
    assert all(len(re.findall(r"^\d\. ", request.user, re.M)) == 4 for request in decisions)


# --- the chains on the call layer ---

def driven(tmp_path, *runs, script=()):
    """(seconds, request id) of each call, and the ending; who answers is `cooperating`."""
    provider = Provider(scripted(dict(script), lambda each: completion(cooperating(each).text),
                                 0.0))
    run = conducted(tmp_path, provider, lambda: in_turns(list(map(chains, runs)), 42),
                    limits={"strategy": 6, "decision": 8})
    return run.sent, run.ending


def test_a_pair_plays_while_another_agent_s_policy_is_still_being_written(tmp_path):
    t = dealt(agents=4, rounds=1)
    slow = f"{t.name}/r1/agent-02"
    order, ending = driven(tmp_path, t, script={slow: [failure(500)] * 3})
    assert ending.stop is None
    written = max(at for at, name in order if name == slow)
    waits = {p.id for p in t.rounds[0].pairs if "agent-02" in (p.a.id, p.b.id)}
    for at, name in order:
        if "/p" in name:
            assert (at >= written) == (name.split("/")[2] in waits)


def test_a_call_that_failed_ends_its_pair_and_the_next_start_goes_on_from_there(tmp_path):
    t = dealt(agents=3, rounds=1)
    broken = f"{t.name}/r1/p02/e1/a"
    order, ending = driven(
        tmp_path, t, script={broken: [failure(500) for _ in range(4)]})
    first = Counter(name for _, name in order)
    assert ending.outcomes["provider_error"] == 1
    assert not any(name.startswith(f"{t.name}/r1/p02/e2") for name in first)
    order, ending = driven(tmp_path, t)
    again = [name for _, name in order]
    assert ending.stop is None
    assert again == [broken, *(f"{t.name}/r1/p02/e{e}/{side}" for e in (2, 3) for side in "ab")]


def test_without_its_policy_an_agent_meets_nobody(tmp_path):
    t = dealt(agents=3, rounds=1)
    order, _ = driven(tmp_path, t, script={
        f"{t.name}/r1/agent-01": [failure(500) for _ in range(4)]})
    met = {name.split("/")[2] for _, name in order if "/p" in name}
    assert met == {p.id for p in t.rounds[0].pairs if "agent-01" not in (p.a.id, p.b.id)}


# --- policies ---

@pytest.mark.parametrize(("text", "outcome", "status"), [
    ("a\nb\nc", "ok", "ok"), ("a\n\nb\n\nc\n", "ok", "ok"), ("a\nb\nc\nd\ne", "ok", "ok"),
    ("a\n \nb", "ok", "short"), ("a\nb\nc\nd\ne\nf", "ok", "long"),
    ("I'm sorry, but I can't help with that.", "ok", "refused"),
    ("We will not publish early.\nWe can't share details.\nAsk counsel.", "ok", "ok"),
    ("a\nb\nc", "truncated", "truncated"), ("", "empty", "empty")])
def test_policy_status(text, outcome, status):
    assert policy_status(said(text, outcome)) == status
