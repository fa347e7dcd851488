"""Payoffs, horizons, streams of randomness, what a seat sees, and how answers are read."""

import pytest

from pdbench.config.schema import Horizon
from pdbench.core import horizon
from pdbench.core.parse import PARSERS
from pdbench.core.payoff import DEFAULT_MATRIX, dilemma_problems, reward, seat_table
from pdbench.core.rng import derive_seed, stream
from pdbench.core.transcript import Transcript, history_text, totals_text

UNEVEN = {"CC": (3, 30), "CD": (0, 50), "DC": (5, 1), "DD": (1, 10)}


def test_the_default_matrix_is_the_specifications():
    assert DEFAULT_MATRIX == {"CC": (3, 3), "CD": (0, 5), "DC": (5, 0), "DD": (1, 1)}
    assert dilemma_problems(DEFAULT_MATRIX) == []


def test_a_matrix_from_both_seats():
    assert seat_table(UNEVEN, "agent_a") == UNEVEN
    assert seat_table(UNEVEN, "agent_b") == {
        "CC": (30, 3),
        "CD": (1, 5),
        "DC": (50, 0),
        "DD": (10, 1),
    }
    assert (reward(UNEVEN, "agent_a"), reward(UNEVEN, "agent_b")) == (3, 30)


def test_what_makes_no_dilemma_is_named():
    chicken = {"CC": (3, 3), "CD": (1, 5), "DC": (5, 1), "DD": (0, 0)}
    first, second = dilemma_problems(chicken)
    assert first == "agent_a: T > R > P > S does not hold (T=5 R=3 P=0 S=1)"
    assert second.startswith("agent_b")
    alternating = DEFAULT_MATRIX | {"CD": (0, 7), "DC": (7, 0)}
    assert "2R > T + S" in dilemma_problems(alternating)[0]


def test_a_fixed_horizon_has_exactly_n_rounds():
    fixed = Horizon(type="fixed", n=3)
    rounds = list(horizon.rounds(fixed, stream(1)))
    assert rounds == [(0, False), (1, False), (2, True)]


def test_a_geometric_horizon_is_its_seeds_and_lasts_as_long_as_it_should():
    open_ended = Horizon(type="geometric", stop_prob=0.1)
    lengths = []
    for i in range(4000):
        first = horizon.length(open_ended, stream(42, "x", i))
        assert first == horizon.length(open_ended, stream(42, "x", i))
        lengths.append(first)
    assert min(lengths) == 1
    # Mean 10, standard deviation sqrt(0.9)/0.1 = 9.49; four standard errors are 0.6.
    assert sum(lengths) / 4000 == pytest.approx(10, abs=0.6)
    stopped = lengths.count(1) / 4000
    assert stopped == pytest.approx(0.1, abs=0.019)


def test_streams_have_names_and_no_two_are_alike():
    assert stream(1, "a").random() == stream(1, "a").random()
    seeds = {
        derive_seed(s, n, i) for s, n, i in ((1, "a", 0), (1, "a", 1), (2, "a", 0))
    }
    assert len(seeds) == 3
    assert derive_seed(1, "a", "b") != derive_seed(1, "ab")
    assert derive_seed(1, "a") + 1 != derive_seed(2, "a")


@pytest.fixture
def transcript():
    made = Transcript()
    for actions in ("CC", "CD", "DD"):
        made.add(actions, DEFAULT_MATRIX[actions])
    return made


def test_each_seat_sees_its_own_side(transcript):
    a, b = transcript.seen_by("agent_a"), transcript.seen_by("agent_b")
    assert (a.own_actions, a.opponent_actions) == (["C", "C", "D"], ["C", "D", "D"])
    assert (a.own_payoffs, a.own_total, a.opponent_total) == ([3, 0, 1], 4, 9)
    assert (b.own_actions, b.own_total, b.round_index) == (["C", "D", "D"], 9, 3)


def test_the_window_shows_the_last_rounds_only(transcript):
    obs = transcript.seen_by("agent_a")
    assert history_text(obs, 2) == (
        "Round 2: you played C and got 0; the other player played D and got 5.\n"
        "Round 3: you played D and got 1; the other player played D and got 1."
    )
    assert history_text(obs, 99).startswith("Round 1:")
    assert history_text(obs, 0) == "No rounds to show."
    empty = Transcript().seen_by("agent_a")
    assert history_text(empty, 2) == "No rounds have been played yet."
    assert totals_text(obs) == "Points so far: you 4, the other player 9."


@pytest.mark.parametrize(("form", "text", "action"), [
    ("token", "C", "C"), ("token", " d\n", "D"), ("token", "c", "C"),
    ("token", "C.", None), ("token", "I play C", None), ("token", "CD", None),
    ("token", "", None), ("token", "cooperate", None), ("token", '{"action": "C"}', None),
    ("json", '{"action": "C"}', "C"), ("json", ' {"action":"D"} ', "D"),
    ("json", '{"action": "c"}', None), ("json", "C", None), ("json", "[]", None),
    ("json", '{"action": "C", "why": ""}', None), ("json", '{"move": "C"}', None),
    ("json", '{"action": "C"} ok', None), ("json", "", None),
])  # fmt: skip
def test_an_answer_is_read_exactly_or_not_at_all(form, text, action):
    read = PARSERS[form](text)
    assert read.action == action
    assert (read.problem is None) == (action is not None)
