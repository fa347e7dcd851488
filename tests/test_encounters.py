"""The tournament's chains on the call layer, and how a policy is read."""

from collections import Counter

import pytest
from tournaments import cooperating, dealt, said
from world import World, completion, conducted, failure, scripted

from cirrus.ask.encounters import chains, policy_status
from common.instrument import in_turns

# --- the chains on the call layer ---

def driven(tmp_path, *runs, script=()):
    """(seconds, request id) of each call, and the ending; who answers is `cooperating`."""
    world = World(scripted(dict(script), lambda each: completion(cooperating(each).text), 0.0))
    run = conducted(tmp_path, world, lambda: in_turns(list(map(chains, runs)), 42),
                    limits={"strategy": 6, "decision": 8})
    return run.asked, run.ending


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


def test_runs_that_are_driven_together_take_turns(tmp_path):
    runs = [dealt(agents=4, rounds=2), dealt(agents=4, rounds=2, S="low")]
    order, ending = driven(tmp_path, *runs)
    assert ending.outcomes == {"ok": 2 * (8 + 2 * 36)}
    policies = [name.partition("/")[0] for _, name in order if "/agent-" in name]
    for at in range(0, 16, 2):
        assert set(policies[at:at + 2]) == {t.name for t in runs}


# --- policies ---

@pytest.mark.parametrize(("text", "outcome", "status"), [
    ("a\nb\nc", "ok", "ok"), ("a\n\nb\n\nc\n", "ok", "ok"), ("a\nb\nc\nd\ne", "ok", "ok"),
    ("a\nb", "ok", "short"), ("a\nb\nc\nd\ne\nf", "ok", "long"),
    ("I'm sorry, but I can't help with that.", "ok", "refused"),
    ("We will not publish early.\nWe can't share details.\nAsk counsel.", "ok", "ok"),
    ("a\nb\nc", "truncated", "truncated"), ("", "empty", "empty")])
def test_policy_status(text, outcome, status):
    assert policy_status(said(text, outcome)) == status
