"""The game against worked examples: payoffs, power, scores, schedule, names, baselines."""

import random
from collections import Counter
from itertools import combinations

import pytest

from cirrus.ask.game import (
    BASELINES,
    Matrix,
    Standing,
    after_wave,
    anonymous_id,
    check_matrix,
    payoffs,
    round_robin,
    worse,
)


@pytest.mark.parametrize(("acts", "earned"), [
    ("CC", (3, 3)), ("CD", (0, 5)), ("DC", (5, 0)), ("DD", (1, 1))])
def test_payoffs_are_those_of_the_specification(acts, earned):
    assert payoffs(*acts) == earned


@pytest.mark.parametrize("acts", [("C", None), (None, "D"), (None, None)])
def test_a_decision_that_was_not_read_earns_nothing_for_either(acts):
    assert payoffs(*acts) is None


@pytest.mark.parametrize("matrix", [(3, 5, 1, 0), (5, 3, 0, 1), (5, 1, 3, 0), (7, 3, 1, 0)])
def test_a_matrix_that_is_no_dilemma_is_refused(matrix):
    with pytest.raises(ValueError, match="T>R>P>S and 2R>T"):
        check_matrix(Matrix(*matrix))


def test_power_and_score_of_one_wave():
    # a means 5, b means 0, the mean of both is 2.5: exp(±0.02·2.5), ln(1+1·5), ln(1+0)
    after = after_wave({"a": Standing(), "b": Standing()}, {"a": [5], "b": [0]})
    assert after["a"] == pytest.approx((1.05127109637602404, 1.79175946922805500, 1), rel=1e-14)
    assert after["b"] == pytest.approx((0.95122942450071401, 0.0, 1), rel=1e-14)


def test_the_score_of_a_wave_uses_the_power_before_it():
    first = after_wave({"a": Standing(), "b": Standing()}, {"a": [5], "b": [0]})
    second = after_wave(first, {"a": [5], "b": [0]})
    # ln(1 + e^0.05·5) = 1.83359782417984; power e^0.1 = 1.10517… and e^-0.1 = 0.9048…
    assert second["a"] == pytest.approx((1.1, 1.79175946922805500 + 1.83359782417984006, 2))
    assert second["b"].power == pytest.approx(0.90483741803595957)


def test_power_stays_between_its_bounds():
    standings = {"a": Standing(), "b": Standing()}
    for _ in range(5):
        standings = after_wave(standings, {"a": [5], "b": [0]})
    assert (standings["a"].power, standings["b"].power) == (1.1, 0.9)


def test_several_games_in_a_wave_count_by_their_mean():
    # means 4 and 1, their mean 2.5: exp(0.02·1.5) = exp(0.03); ln 4 + ln 6 for payoffs 3 and 5
    after = after_wave({"a": Standing(), "b": Standing()}, {"a": [3, 5], "b": [1]})
    assert after["a"] == pytest.approx((1.03045453395351686, 1.38629436111989062
                                        + 1.79175946922805500, 2))


def test_an_agent_without_payoffs_in_a_wave_stays_where_it_was():
    before = {"a": Standing(1.05, 2.0, 3), "b": Standing(), "c": Standing()}
    after = after_wave(before, {"b": [5], "c": [0]})
    assert after["a"] == before["a"]
    assert after["b"].power == pytest.approx(1.05127109637602404)  # π̄ is over b and c alone


def test_a_wave_without_any_payoff_changes_nothing():
    before = {"a": Standing(1.05, 2.0, 3), "b": Standing()}
    assert after_wave(before, {}) == before


@pytest.mark.parametrize("n", range(2, 14))
def test_round_robin_has_every_pair_once_and_balanced_seats(n):
    agents = [f"agent-{i}" for i in range(n)]
    pairs = round_robin(random.Random(7), agents)
    assert Counter(frozenset(pair) for pair in pairs) == Counter(
        map(frozenset, combinations(agents, 2)))
    first = Counter(dict.fromkeys(agents, 0) | Counter(a for a, _ in pairs))
    assert max(first.values()) - min(first.values()) <= 1


@pytest.mark.parametrize("n", [4, 7, 10])
def test_round_robin_seats_everybody_before_anybody_twice(n):
    pairs = round_robin(random.Random(3), [str(i) for i in range(n)])
    for at in range(0, len(pairs), n // 2):
        seated = [agent for pair in pairs[at:at + n // 2] for agent in pair]
        assert len(set(seated)) == len(seated)


def test_anonymous_id_is_the_digest_of_salt_and_stable_id():
    # printf 'cafe%s' agent-01 | sha256sum
    assert anonymous_id("cafe", "agent-01") == (
        "a37f31faa890f0daeea1325f6f0285ff779165e68ee40c2672362e09c63a2065")
    assert anonymous_id("cafe", "agent-02").startswith("f6f1e6bc9001a854d3256f2cdcaabcf1")


@pytest.mark.parametrize(("name", "peer", "acts"), [
    ("AlwaysC", "DDDD", "CCCCC"),
    ("AlwaysD", "CCCC", "DDDDD"),
    ("TitForTat", "CDCD", "CCDCD"),
    ("TitForTat", "DDCC", "CDDCC"),
    ("TitForTat", "D?C?", "CDDCC"),    # what can't be read changes nothing
    ("GrimTrigger", "CDCC", "CCDDD"),
    ("GrimTrigger", "?CC?", "CCCCC"),
])
def test_baselines_play_as_in_the_literature(name, peer, acts):
    seen = [None if act == "?" else act for act in peer]
    own = []
    for turn in range(len(peer) + 1):
        own.append(BASELINES[name](own, seen[:turn]))
    assert "".join(own) == acts


@pytest.mark.parametrize(("a", "b", "status"), [
    ("ok", "ok", "ok"), ("ok", "ambiguous", "ambiguous"), ("truncated", "refused", "truncated"),
    ("not_run", "provider_error", "not_run")])
def test_a_game_has_the_worse_of_two_statuses(a, b, status):
    assert worse(a, b) == worse(b, a) == status
