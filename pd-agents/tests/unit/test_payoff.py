import pytest

from pdbench.core.payoff import (
    DEFAULT_MATRIX,
    dilemma_problems,
    payoffs,
    seat_table,
    trps,
)

UNEQUAL = {"CC": (3, 30), "CD": (0, 50), "DC": (5, 1), "DD": (1, 10)}


@pytest.mark.parametrize(("a", "b", "points"), [
    ("C", "C", (3, 3)), ("C", "D", (0, 5)), ("D", "C", (5, 0)), ("D", "D", (1, 1)),
])  # fmt: skip
def test_the_specifications_matrix(a, b, points):
    assert payoffs(DEFAULT_MATRIX, a, b) == points


def test_each_seat_sees_its_own_points_first():
    assert seat_table(UNEQUAL, "agent_a")["CD"] == (0, 50)
    assert seat_table(UNEQUAL, "agent_b")["CD"] == (1, 5)
    assert seat_table(UNEQUAL, "agent_b")["DC"] == (50, 0)


def test_temptation_reward_punishment_sucker():
    assert trps(DEFAULT_MATRIX, "agent_a") == (5, 3, 1, 0)
    assert trps(UNEQUAL, "agent_b") == (50, 30, 10, 1)


def test_the_default_and_penalties_are_dilemmas():
    assert dilemma_problems(DEFAULT_MATRIX) == []
    years = {"CC": (-1, -1), "CD": (-3, 0), "DC": (0, -3), "DD": (-2, -2)}
    assert dilemma_problems(years) == []


@pytest.mark.parametrize(("matrix", "reason"), [
    ({"CC": (4, 4), "CD": (1, 3), "DC": (3, 1), "DD": (2, 2)}, "T > R > P > S"),  # stag hunt
    ({"CC": (3, 3), "CD": (0, 7), "DC": (7, 0), "DD": (1, 1)}, "2R > T + S"),  # taking turns pays
])  # fmt: skip
def test_other_games_are_told_apart(matrix, reason):
    problems = dilemma_problems(matrix)
    assert len(problems) == 2
    assert all(reason in problem for problem in problems)
