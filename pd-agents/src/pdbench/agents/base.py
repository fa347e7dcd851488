"""What every agent is, and what a model's turn leaves for the record."""

from typing import NamedTuple, Protocol

from pdbench.core.transcript import Observation
from pdbench.core.types import Action


class Attempt(NamedTuple):
    """One call to a model: what was asked, what came back, how it was read, what it cost."""

    prompt: str
    raw: str
    action: Action | None
    problem: str | None
    cost_usd: float | None


class Turn(NamedTuple):
    """All attempts of a model in one round; the last one decides."""

    system: str
    attempts: tuple[Attempt, ...]

    @property
    def cost_usd(self) -> float:
        """Dollars, as far as they are known."""
        costs = [attempt.cost_usd for attempt in self.attempts]
        return sum(cost for cost in costs if cost is not None)


class InvalidAnswer(Exception):
    """A model gave neither C nor D in all its attempts."""


class Agent(Protocol):
    """A player. One that asks a model also has `turn`: what its last `act` asked and read."""

    def reset(self, seed: int | None = None) -> None:
        """Forget the match so far and draw from `seed` from now on."""

    def act(self, obs: Observation) -> Action:
        """Return "C" or "D"; a model whose attempts are all unreadable raises InvalidAnswer."""
