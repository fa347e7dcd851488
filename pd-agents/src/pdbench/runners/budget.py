"""What a run may spend, and has spent."""

from dataclasses import dataclass, field
from threading import Lock

from pdbench.core.types import RunError


@dataclass
class Kind:
    """Matches or rounds: the dearest so far, and how many are being played."""

    dearest_usd: float = 0.0
    running: int = 0


@dataclass
class Budget:
    """Dollars. A match and a round begin only where the money lasts for the dearest so far.

    Any number of threads may play: each that runs is counted as if it had cost nothing yet.
    What is not known beforehand is the first round's cost; a limit below that is passed by it.
    """

    limit_usd: float | None
    spent_usd: float = 0.0
    match: Kind = field(default_factory=Kind)
    round: Kind = field(default_factory=Kind)
    lock: Lock = field(default_factory=Lock)

    def open(self, kind: Kind) -> None:
        """Begin a match or a round; RunError where the limit could be passed by it."""
        with self.lock:
            needed = kind.dearest_usd * (kind.running + 1)
            if self.limit_usd is not None and self.spent_usd + needed > self.limit_usd:
                raise RunError(
                    f"run.limit_usd: {self.limit_usd:g} dollars would not last: spent"
                    f" {self.spent_usd:.4f}, and what begins now may cost {needed:.4f};"
                    " raise the limit, and the same command resumes"
                )
            kind.running += 1

    def close(self, kind: Kind, usd: float) -> None:
        """End a match or a round that has cost `usd`."""
        with self.lock:
            kind.running -= 1
            kind.dearest_usd = max(kind.dearest_usd, usd)

    def charge(self, usd: float | None) -> None:
        """A call was made; None where its cost is not known."""
        if usd is None:
            return
        with self.lock:
            self.spent_usd += usd
