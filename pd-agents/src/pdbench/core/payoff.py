"""The payoff matrix, seen from the table and from either seat."""

from collections.abc import Mapping

from pdbench.core.types import SEATS, Seat

# Points of (agent A, agent B).
Pair = tuple[float, float]
# From A's action and B's, such as "CD".
Matrix = Mapping[str, Pair]

DEFAULT_MATRIX: Matrix = {"CC": (3, 3), "CD": (0, 5), "DC": (5, 0), "DD": (1, 1)}


def seat_table(matrix: Matrix, seat: Seat) -> dict[str, Pair]:
    """`own action + other's action` → (own points, other's points), as `seat` sees the game."""
    if seat == "agent_a":
        return dict(matrix)
    table = {}
    for own_and_other in matrix:
        points_a, points_b = matrix[own_and_other[::-1]]
        table[own_and_other] = (points_b, points_a)
    return table


def reward(matrix: Matrix, seat: Seat) -> float:
    """The seat's own points where both cooperate."""
    points_a, points_b = matrix["CC"]
    return points_a if seat == "agent_a" else points_b


def dilemma_problems(matrix: Matrix) -> list[str]:
    """Why the matrix is no prisoner's dilemma; an empty list where it is one.

    The conditions are those of Rapoport and Chammah (1965): T > R > P > S and 2R > T + S.
    """
    problems = []
    for seat in SEATS:
        own = {pair: points[0] for pair, points in seat_table(matrix, seat).items()}
        t, r, p, s = own["DC"], own["CC"], own["DD"], own["CD"]
        letters = f"T={t:g} R={r:g} P={p:g} S={s:g}"
        if not t > r > p > s:
            problems.append(f"{seat}: T > R > P > S does not hold ({letters})")
        elif not 2 * r > t + s:
            problems.append(f"{seat}: 2R > T + S does not hold ({letters})")
    return problems
