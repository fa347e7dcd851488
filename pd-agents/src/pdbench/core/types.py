"""Words shared by every module: actions, seats, and errors with their exit codes."""

from typing import Literal

Action = (
    str  # "C" or "D": what a model, a file or a policy of one's own says is checked
)
C: Action = "C"
D: Action = "D"

Seat = Literal["agent_a", "agent_b"]
SEATS: tuple[Seat, Seat] = ("agent_a", "agent_b")

# Stands wherever the mock provider answered instead of a model.
SIMULATED = "SIMULATED"


class PdbenchError(Exception):
    """What a user can mend. The message is one line: file, key, value and what to do."""

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
