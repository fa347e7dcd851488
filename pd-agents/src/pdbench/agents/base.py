"""What every agent is, and what a model's turn leaves for the record."""

from typing import NamedTuple, Protocol

from pdbench.core.types import Action, Observation


class Attempt(NamedTuple):
    """One call to a model: what was asked, what came back, and how it was read."""

    prompt: str
    raw: str
    action: Action | None
    problem: str | None


class Turn(NamedTuple):
    """All attempts of one agent in one round; the last one decides."""

    system: str
    attempts: tuple[Attempt, ...]

    @property
    def action(self) -> Action | None:
        """The action that was read, or None where every attempt was invalid."""
        return self.attempts[-1].action


class InvalidAnswer(Exception):
    """A model gave neither C nor D in all its attempts."""


class Agent(Protocol):
    """A player. `turn` is what the last `act` leaves for the record (None for policies)."""

    turn: Turn | None

    def reset(self, seed: int | None = None) -> None:
        """Forget the match so far and draw from `seed` from now on."""

    def act(self, obs: Observation) -> Action:
        """Return "C" or "D"; raise InvalidAnswer where no attempt can be read as either."""
