"""The payoff matrix, seen from the table and from either seat."""

from collections.abc import Mapping

from pdbench.core.types import C, D, Seat

Pair = tuple[float, float]
Matrix = Mapping[str, Pair]

OUTCOMES = ("CC", "CD", "DC", "DD")
DEFAULT_MATRIX: Matrix = {"CC": (3, 3), "CD": (0, 5), "DC": (5, 0), "DD": (1, 1)}


def payoffs(matrix: Matrix, a: str, b: str) -> Pair:
    """Points of agent A and agent B when they play `a` and `b`."""
    return matrix[a + b]


def seat_table(matrix: Matrix, seat: Seat) -> dict[str, Pair]:
    """`own action + other's action` → (own points, other's points), as `seat` sees the game."""
    if seat == "agent_a":
        return dict(matrix)
    return {b + a: (matrix[a + b][1], matrix[a + b][0]) for a in (C, D) for b in (C, D)}


def trps(matrix: Matrix, seat: Seat) -> tuple[float, float, float, float]:
    """Temptation, reward, punishment and sucker's payoff of one seat (Rapoport, Chammah 1965)."""
    table = seat_table(matrix, seat)
    return table["DC"][0], table["CC"][0], table["DD"][0], table["CD"][0]


def dilemma_problems(matrix: Matrix) -> list[str]:
    """Why the matrix is no prisoner's dilemma; an empty list where it is one."""
    found = []
    for seat in ("agent_a", "agent_b"):
        t, r, p, s = trps(matrix, seat)
        letters = f"T={t:g} R={r:g} P={p:g} S={s:g}"
        if not t > r > p > s:
            found.append(f"{seat}: T > R > P > S does not hold ({letters})")
        elif not 2 * r > t + s:
            found.append(f"{seat}: 2R > T + S does not hold ({letters})")
    return found
