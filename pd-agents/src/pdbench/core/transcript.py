"""The record of a match in memory, what a seat sees of it, and how a model is shown it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pdbench.core.types import SEATS, Action, Seat

OPPONENT: dict[Seat, Seat] = {"agent_a": "agent_b", "agent_b": "agent_a"}


@dataclass(slots=True)
class Side:
    """One agent's half of a match: its actions as they counted, its points, and their sum."""

    actions: list[Action] = field(default_factory=list)
    payoffs: list[float] = field(default_factory=list)
    total: float = 0.0


class Observation(NamedTuple):
    """All that an agent knows when it acts: the rounds so far, a list entry a round.

    The lists are the match's own: read them, don't change them. Payoffs are in points.
    """

    own_actions: list[Action]
    opponent_actions: list[Action]
    own_payoffs: list[float]
    opponent_payoffs: list[float]
    own_total: float
    opponent_total: float

    @property
    def round_index(self) -> int:
        """The round about to be played, counted from 0."""
        return len(self.own_actions)


@dataclass(slots=True)
class Transcript:
    """Both sides of a match."""

    sides: dict[Seat, Side] = field(
        default_factory=lambda: {seat: Side() for seat in SEATS}
    )

    def add(self, actions: Sequence[Action], payoffs: Sequence[float]) -> None:
        """One more round: actions and points of A and B."""
        for side, action, payoff in zip(
            self.sides.values(), actions, payoffs, strict=True
        ):
            side.actions.append(action)
            side.payoffs.append(payoff)
            side.total += payoff

    def seen_by(self, seat: Seat) -> Observation:
        """The match as one seat sees it."""
        own, other = self.sides[seat], self.sides[OPPONENT[seat]]
        return Observation(
            own.actions,
            other.actions,
            own.payoffs,
            other.payoffs,
            own.total,
            other.total,
        )


def history_text(obs: Observation, size: int) -> str:
    """The last `size` rounds as lines of text, oldest first."""
    first = max(0, obs.round_index - size)
    lines = [_round_text(obs, t) for t in range(first, obs.round_index)]
    if lines:
        return "\n".join(lines)
    if obs.round_index:
        return "No rounds to show."
    return "No rounds have been played yet."


def _round_text(obs: Observation, t: int) -> str:
    own = f"you played {obs.own_actions[t]} and got {obs.own_payoffs[t]:g}"
    other = f"{obs.opponent_actions[t]} and got {obs.opponent_payoffs[t]:g}"
    return f"Round {t + 1}: {own}; the other player played {other}."


def totals_text(obs: Observation) -> str:
    """Both running totals as one line of text."""
    return (
        f"Points so far: you {obs.own_total:g},"
        f" the other player {obs.opponent_total:g}."
    )
