"""Words shared by every module: actions, what a seat observes, errors with their exit codes."""

from dataclasses import dataclass
from typing import Literal

Action = Literal["C", "D"]
C: Action = "C"
D: Action = "D"

Seat = Literal["agent_a", "agent_b"]
SEATS: tuple[Seat, Seat] = ("agent_a", "agent_b")

SIMULATED = "SIMULATED"


class PdbenchError(Exception):
    """Anything a user can mend; the message is one line and names the file and the key."""

    exit_code = 1


class ConfigError(PdbenchError):
    """Wrong usage or configuration: nothing was played and nothing was written."""

    exit_code = 2


class RunError(PdbenchError):
    """A run or its data is incomplete or damaged; what was played so far is kept."""

    exit_code = 3


class Interrupted(PdbenchError):
    """The user pressed Ctrl-C: whole rounds are kept."""

    exit_code = 130


class ProviderError(RunError):
    """A model's server gave no answer at all."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One seat's live view of the match: its lists grow as rounds are played.

    It is valid while `act` runs. Payoffs are in points; all lists have one entry a round.
    """

    own_actions: list[str]
    opponent_actions: list[str]
    own_payoffs: list[float]
    own_totals: list[float]
    opponent_payoffs: list[float]
    opponent_totals: list[float]

    @property
    def round_index(self) -> int:
        """The round about to be played, counted from 0."""
        return len(self.own_actions)
