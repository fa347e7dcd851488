"""Play against Axelrod-Python 4.14.0's record, and against rules stated on whole sequences."""

import json
from itertools import product
from math import sqrt
from pathlib import Path
from statistics import mean, stdev

import pytest

from conftest import play_match
from pdbench.agents.policy import POLICIES
from pdbench.core.payoff import DEFAULT_MATRIX
from pdbench.core.transcript import Transcript

AXELROD = json.loads(
    Path(__file__, "../../data/axelrod-4.14.0.json").resolve().read_text()
)


def answers(name: str, opponent: str, *parameters: float) -> str:
    """What a policy plays against a given sequence; parameters: generous_prob, win_threshold."""
    agent, transcript = POLICIES[name](*parameters), Transcript()
    agent.reset(1)
    for other in opponent:
        own = agent.act(transcript.seen_by("agent_a"))
        transcript.add(own + other, DEFAULT_MATRIX[own + other])
    return "".join(transcript.sides["agent_a"].actions)


def grim_by_rule(opponent: str) -> str:
    friendly = len(opponent[:-1].partition("D")[0])
    return ("C" * (friendly + 1)).ljust(len(opponent), "D")


def wsls_by_rule(opponent: str) -> str:
    """Nowak, Sigmund 1993: cooperate exactly after both did the same."""
    own = "C"
    for other in opponent[:-1]:
        own += "C" if own[-1] == other else "D"
    return own


RULES = {
    "ALLC": lambda opponent: "C" * len(opponent),
    "ALLD": lambda opponent: "D" * len(opponent),
    "TFT": lambda opponent: "C" + opponent[:-1],
    "GRIM": grim_by_rule,
    "WSLS": wsls_by_rule,
}


def match_name(row: dict) -> str:
    return f"{row['a']}-{row['b']}-{row['turns']}"


@pytest.mark.parametrize("row", AXELROD["round_robin"], ids=match_name)
def test_agrees_with_axelrod(row):
    match = play_match(row["a"], row["b"], n=row["turns"])
    assert match.a == row["a_actions"]
    assert match.b == row["b_actions"]
    assert (match.a_total, match.b_total) == (row["a_score"], row["b_score"])


@pytest.mark.parametrize("name", RULES)
def test_all_256_sequences_of_eight(name):
    for moves in product("CD", repeat=8):
        opponent = "".join(moves)
        assert answers(name, opponent) == RULES[name](opponent), opponent


def test_figures_of_the_literature():
    match = play_match("ALLD", "TFT", n=200)
    assert (match.a_total, match.b_total) == (204, 199)
    match = play_match("WSLS", "ALLD", n=200)
    assert (match.a_total, match.b_total) == (100, 600)


OPPONENTS = {"Defector": "D", "Cooperator": "C", "Alternator": "CD"}


@pytest.mark.parametrize("row", AXELROD["gtft_rates"])
def test_gtft_forgives_as_often_as_axelrods(row):
    moves = OPPONENTS[row["opponent"]]
    opponent = moves * (row["turns"] // len(moves))
    own = answers("GTFT", opponent, row["p"])
    assert own[0] == row["opening"]
    after = {"C": "", "D": ""}
    for answer, before in zip(own[1:], opponent, strict=False):
        after[before] += answer
    assert set(after["C"]) <= {"C"}
    if row["coop_after_opp_D"] is None:
        assert not after["D"]
        return
    n, p = len(after["D"]), row["p"]
    error = sqrt(2 * p * (1 - p) / n)  # of a difference
    rate = after["D"].count("C") / n
    assert rate == pytest.approx(row["coop_after_opp_D"], abs=4 * error + 1e-12)


@pytest.mark.parametrize("row", AXELROD["noise_self_play"])
def test_self_play_under_noise_agrees_with_axelrod(row):
    rates = []
    for replicate in range(40):
        match = play_match(
            *row["pair"], n=row["turns"], noise=row["noise"], replicate=replicate
        )
        rates.append((match.a + match.b).count("C") / (2 * row["turns"]))
    error = stdev(rates) * sqrt(1 / len(rates) + 1 / row["reps"])
    assert mean(rates) == pytest.approx(row["mean_coop"], abs=4 * error)


def test_generosity_does_not_move_the_horizon():
    lengths = []
    for p in (0.0, 0.5, 1.0):
        generous = {"policy": "GTFT", "generous_prob": p}
        for replicate in range(100):
            match = play_match(generous, "ALLD", stop_prob=0.05, replicate=replicate)
            lengths.append(len(match.a))
    assert lengths[:100] == lengths[100:200] == lengths[200:]


def test_forgiveness_is_independent_of_the_length_of_the_match():
    """With one stream for both, a long match would be one of large draws: few forgivings."""
    second = {True: "", False: ""}  # by: was the match short?
    for i in range(3000):
        match = play_match(
            {"policy": "GTFT", "generous_prob": 0.3}, "ALLD", stop_prob=0.2, replicate=i
        )
        second[len(match.a) <= 4] += match.a[1:2]
    for moves in second.values():
        error = sqrt(0.3 * 0.7 / len(moves))
        assert moves.count("C") / len(moves) == pytest.approx(0.3, abs=4 * error)


def test_wsls_takes_another_threshold():
    assert answers("WSLS", "DDDD", 0.1, 1) == "CDDD"  # P counts as a win
    assert answers("WSLS", "CCCC", 0.1, 4) == "CDDD"  # only T counts as a win


def test_wsls_threshold_is_the_seats_own_reward():
    matrix = {"CC": (3, 30), "CD": (0, 50), "DC": (5, 1), "DD": (1, 10)}
    assert play_match("ALLD", "WSLS", n=4, payoffs=matrix).b == "CDCD"


def test_reset_forgets():
    agent, transcript = POLICIES["GRIM"](), Transcript()
    transcript.add("CD", (0, 5))
    assert agent.act(transcript.seen_by("agent_a")) == "D"
    agent.reset(1)
    assert agent.act(Transcript().seen_by("agent_a")) == "C"
