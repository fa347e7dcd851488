"""The record of a match in memory, and the window of it that a model is shown."""

from collections.abc import Callable
from dataclasses import dataclass, field

from pdbench.core.types import Observation


@dataclass(slots=True)
class Transcript:
    """Actions as played, payoffs and running totals of both agents, one entry a round."""

    a_actions: list[str] = field(default_factory=list)
    b_actions: list[str] = field(default_factory=list)
    a_payoffs: list[float] = field(default_factory=list)
    b_payoffs: list[float] = field(default_factory=list)
    a_totals: list[float] = field(default_factory=list)
    b_totals: list[float] = field(default_factory=list)

    def adder(self) -> Callable[[str, str, tuple[float, float], float, float], None]:
        """A function that adds a round: actions, points, totals. The methods are bound once."""
        a_action, b_action = self.a_actions.append, self.b_actions.append
        a_payoff, b_payoff = self.a_payoffs.append, self.b_payoffs.append
        a_total, b_total = self.a_totals.append, self.b_totals.append

        def add(a, b, points, total_a, total_b):
            a_action(a)
            b_action(b)
            a_payoff(points[0])
            b_payoff(points[1])
            a_total(total_a)
            b_total(total_b)

        return add

    def views(self) -> tuple[Observation, Observation]:
        """Live views from seat A and seat B."""
        a = (self.a_actions, self.a_payoffs, self.a_totals)
        b = (self.b_actions, self.b_payoffs, self.b_totals)
        return _view(*a, *b), _view(*b, *a)


def _view(
    own_actions, own_payoffs, own_totals, actions, payoffs, totals
) -> Observation:
    return Observation(own_actions, actions, own_payoffs, own_totals, payoffs, totals)


def window(obs: Observation, size: int) -> list[tuple[int, str, str, float, float]]:
    """The last `size` rounds: (round number from 1, own and other's action, own and other's
    points)."""
    start = max(0, obs.round_index - size)
    rows = zip(
        obs.own_actions[start:],
        obs.opponent_actions[start:],
        obs.own_payoffs[start:],
        obs.opponent_payoffs[start:],
        strict=True,
    )
    return [(start + i + 1, *row) for i, row in enumerate(rows)]


def history_text(obs: Observation, size: int) -> str:
    """The window as lines of text, oldest first."""
    rows = window(obs, size)
    if not rows:
        return (
            "No rounds to show."
            if obs.round_index
            else "No rounds have been played yet."
        )
    return "\n".join(
        f"Round {t}: you played {own} and got {mine:g}; "
        f"the other player played {other} and got {theirs:g}."
        for t, own, other, mine, theirs in rows
    )


def totals_text(obs: Observation) -> str:
    """Both running totals as one line of text."""
    own = obs.own_totals[-1] if obs.own_totals else 0
    other = obs.opponent_totals[-1] if obs.opponent_totals else 0
    return f"Points so far: you {own:g}, the other player {other:g}."
