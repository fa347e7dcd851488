"""Play against Axelrod-Python 4.14.0's record, and against rules stated on whole sequences."""

from itertools import product
from math import sqrt

import pytest

from pdbench.agents.policy import PolicyAgent
from pdbench.core.payoff import DEFAULT_MATRIX
from pdbench.core.transcript import Transcript
from support import AXELROD, played, policy


def answers(name: str, opponent: str, **parameters) -> str:
    """What a policy plays against a given sequence."""
    transcript = Transcript()
    view, _ = transcript.views()
    agent = PolicyAgent(name, **({"win_threshold": 3} | parameters))
    agent.reset(1)
    for other in opponent:
        own = agent.act(view)
        transcript.a_actions.append(own)
        transcript.b_actions.append(other)
        transcript.a_payoffs.append(DEFAULT_MATRIX[own + other][0])
    return "".join(transcript.a_actions)


def grim_by_rule(opponent: str) -> str:
    first = opponent.find("D")
    n = len(opponent)
    return "C" * n if first < 0 else "C" * (first + 1) + "D" * (n - first - 1)


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


@pytest.mark.parametrize(
    "row", AXELROD["round_robin"], ids=lambda r: f"{r['a']}-{r['b']}-{r['turns']}"
)
def test_agrees_with_axelrod(row):
    expected = (row["a_actions"], row["b_actions"], row["a_score"], row["b_score"])
    assert played(row["a"], row["b"], n=row["turns"]) == expected


@pytest.mark.parametrize("name", RULES)
def test_all_256_sequences_of_eight(name):
    for opponent in map("".join, product("CD", repeat=8)):
        assert answers(name, opponent) == RULES[name](opponent), opponent


def test_grim_never_forgives_the_defection_in_round_11():
    assert answers("GRIM", "CCCCCCCCCCDCCCCC") == "CCCCCCCCCCCDDDDD"


def test_figures_of_the_literature():
    assert played("ALLD", "TFT", n=200)[2:] == (204, 199)
    assert played("WSLS", "ALLD", n=200)[2:] == (100, 600)


@pytest.mark.parametrize(
    "row", AXELROD["gtft_rates"], ids=lambda r: f"{r['p']:.2f}-{r['opponent']}"
)
def test_gtft_forgives_as_often_as_axelrods(row):
    n = row["turns"]
    opponent = {
        "Defector": "D" * n,
        "Cooperator": "C" * n,
        "Alternator": "CD" * (n // 2),
    }
    other = opponent[row["opponent"]]
    own = answers("GTFT", other, generous_prob=row["p"])
    assert own[0] == row["opening"]
    after_d = [
        mine for mine, before in zip(own[1:], other, strict=False) if before == "D"
    ]
    if row["coop_after_opp_D"] is not None:
        error = sqrt(2 * row["p"] * (1 - row["p"]) / len(after_d))  # of a difference
        rate = after_d.count("C") / len(after_d)
        assert rate == pytest.approx(row["coop_after_opp_D"], abs=4 * error + 1e-12)
    if row["coop_after_opp_C"] is not None:
        after_c = [
            m for m, before in zip(own[1:], other, strict=False) if before == "C"
        ]
        assert set(after_c) == {"C"}


def test_generosity_does_not_move_the_horizon():
    lengths = [
        [len(played(policy("GTFT", generous_prob=p), "ALLD", stop_prob=0.05, replicate=i)[0])
         for i in range(300)]
        for p in (0.0, 0.5, 1.0)
    ]  # fmt: skip
    assert lengths[0] == lengths[1] == lengths[2]


def test_forgiveness_is_independent_of_the_length_of_the_match():
    """With one stream for both, a long match would be one of large draws: few forgivings."""
    short, long = [], []
    for i in range(4000):
        a, *_ = played(
            policy("GTFT", generous_prob=0.3), "ALLD", stop_prob=0.2, replicate=i
        )
        if len(a) > 1:
            (short if len(a) <= 4 else long).append(a[1])
    for group in (short, long):
        error = sqrt(0.3 * 0.7 / len(group))
        assert group.count("C") / len(group) == pytest.approx(0.3, abs=4 * error)


def test_noise_is_independent_of_the_length_of_the_match():
    first = {True: [], False: []}
    for i in range(4000):
        a, *_ = played("ALLC", "ALLC", stop_prob=0.2, noise=0.3, replicate=i)
        first[len(a) <= 3].append(a[0])
    for group in first.values():
        error = sqrt(0.3 * 0.7 / len(group))
        assert group.count("D") / len(group) == pytest.approx(0.3, abs=4 * error)


@pytest.mark.parametrize(
    "row", AXELROD["noise_self_play"], ids=lambda r: f"{r['pair'][0]}-{r['noise']}"
)
def test_self_play_under_noise_agrees_with_axelrod(row):
    rates = []
    for i in range(60):
        a, b, *_ = played(*row["pair"], n=row["turns"], noise=row["noise"], replicate=i)
        rates.append((a + b).count("C") / (2 * row["turns"]))
    mean = sum(rates) / len(rates)
    deviation = sqrt(sum((r - mean) ** 2 for r in rates) / (len(rates) - 1))
    error = deviation * sqrt(1 / len(rates) + 1 / row["reps"])
    assert mean == pytest.approx(row["mean_coop"], abs=4 * error)
    if (
        row["pair"][0] == "TFT"
    ):  # the chain's stationary distribution: all outcomes alike
        assert mean == pytest.approx(0.5, abs=4 * deviation / sqrt(len(rates)))


def test_noise_flips_at_its_rate():
    a, *_ = played("ALLC", "ALLD", n=40_000, noise=0.1)
    assert a.count("D") / 40_000 == pytest.approx(0.1, abs=4 * sqrt(0.09 / 40_000))


def test_wsls_takes_another_threshold():
    assert answers("WSLS", "DDDD", win_threshold=1) == "CDDD"  # P counts as a win
    assert answers("WSLS", "CCCC", win_threshold=4) == "CDDD"  # only T counts as a win


def test_wsls_threshold_is_the_seats_own_reward():
    matrix = {"CC": (3, 30), "CD": (0, 50), "DC": (5, 1), "DD": (1, 10)}
    assert played("ALLD", "WSLS", n=4, payoffs=matrix)[1] == "CDCD"


def test_reset_forgets():
    agent = PolicyAgent("GRIM", win_threshold=3)
    transcript = Transcript()
    view, _ = transcript.views()
    transcript.a_actions.append("C")
    transcript.b_actions.append("D")
    assert agent.act(view) == "D"
    agent.reset(1)
    fresh, _ = Transcript().views()
    assert agent.act(fresh) == "C"
