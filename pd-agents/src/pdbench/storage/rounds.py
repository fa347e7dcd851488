"""rounds.jsonl on disk: append, read back into matches, mend a torn end.

A line counts once its newline is there. What a kill leaves behind the last one is cut off before
the next append; a line damaged anywhere else is an error, since nobody can say what it held.
"""

import json
import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from pdbench.core.types import SEATS, C, D, RunError, Seat
from pdbench.storage.schema import problem_of

ROUNDS = "rounds.jsonl"

Key = tuple[str, int]  # condition and replicate: a match's name within its run


class RoundsWriter:
    """Appends lines, each whole on disk before the next round begins; any thread may write."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab")
        self._lock = Lock()

    def write(self, line: str) -> None:
        """Append a line that ends in a newline; half surrogates are written as escapes."""
        with self._lock:
            self._file.write(line.encode("utf-8", "backslashreplace"))
            self._file.flush()

    def close(self) -> None:
        """Sync and close."""
        os.fsync(self._file.fileno())
        self._file.close()


def cut_torn_end(path: Path) -> int:
    """Remove what follows the last newline; return the number of bytes removed."""
    if not path.exists():
        return 0
    with path.open("r+b") as file:
        whole = 0
        for line in file:
            if line.endswith(b"\n"):
                whole += len(line)
        size = file.tell()
        file.truncate(whole)
    return size - whole


@dataclass
class Seen:
    """One seat of a match as its lines tell it, an entry a valid round."""

    label: str | None = None
    actions: list[str] = field(default_factory=list)
    payoffs: array = field(default_factory=lambda: array("d"))
    sums: array = field(default_factory=lambda: array("d"))
    flipped: set[int] = field(default_factory=set)  # round indexes
    calls: int = 0  # to a model
    invalid_answers: int = 0

    @property
    def moves(self) -> str:
        """The actions as they counted, such as "CCDC"."""
        return "".join(self.actions)

    @property
    def total(self) -> float:
        """Points of all rounds."""
        return sum(self.payoffs)

    def chosen(self, t: int) -> str:
        """The action of round t before noise."""
        action = self.actions[t]
        if t not in self.flipped:
            return action
        return D if action == C else C

    def add(self, seat: Seat, record: dict) -> None:
        """Take in a valid round."""
        self.actions.append(record[f"{seat}_action"])
        self.payoffs.append(record[f"{seat}_payoff"])
        total = record[f"{seat}_cum_payoff"]
        self.sums.append(float("nan") if total is None else total)
        if record.get(f"{seat}_flipped"):
            self.flipped.add(record["round_index"])

    def count(self, attempts: list[dict]) -> None:
        """Count a model's answers in one round, and those that could not be read."""
        self.calls += len(attempts)
        self.invalid_answers += sum(each["action"] is None for each in attempts)

    def reorder(self, order: list[int]) -> None:
        """Bring the rounds into another order."""
        self.actions = [self.actions[i] for i in order]
        self.payoffs = array("d", [self.payoffs[i] for i in order])
        self.sums = array("d", [self.sums[i] for i in order])


@dataclass
class MatchRounds:
    """One match as its lines tell it: both seats, and per valid round its index and its line."""

    condition: str
    replicate: int
    seats: dict[Seat, Seen] = field(
        default_factory=lambda: {seat: Seen() for seat in SEATS}
    )
    indexes: array = field(default_factory=lambda: array("l"))
    lines: array = field(default_factory=lambda: array("l"))
    run_ids: set[str] = field(default_factory=set)
    horizon_type: str | None = None
    fixed_n: int | None = None
    final: bool | None = None  # None where no line says which round is the last
    invalid: dict | None = None  # the line that ended an incomplete match
    simulated: bool | None = None
    cost_usd: float = 0.0  # as far as known
    dearest_round_usd: float = 0.0

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"condition {self.condition!r} replicate {self.replicate}"

    @property
    def rounds(self) -> int:
        """Valid rounds."""
        return len(self.indexes)

    @property
    def calls(self) -> int:
        """To models, of both seats."""
        return sum(seen.calls for seen in self.seats.values())

    @property
    def missing(self) -> list[int]:
        """Round indexes before the last one that no line has."""
        if not self.rounds or self.indexes[-1] == self.rounds - 1:
            return []
        return sorted(set(range(self.indexes[-1])) - set(self.indexes))

    @property
    def status(self) -> str:
        """complete; incomplete: a model gave no valid answer; partial: rounds are still missing."""
        if self.invalid:
            return "incomplete"
        over = self.final
        if over is None:
            over = self.fixed_n is None or self.rounds >= self.fixed_n
        return "complete" if over and not self.missing else "partial"

    def add(self, record: dict, number: int) -> None:
        """Take in line `number`."""
        if not self.lines and not self.invalid:
            self._open(record)
        self.run_ids.add(record["run_id"])
        if "final" in record:
            self.final = bool(self.final or record["final"])
        if record.get("attempts"):
            self._count_calls(record)
        actions = (record["agent_a_action"], record["agent_b_action"])
        payoffs = (record["agent_a_payoff"], record["agent_b_payoff"])
        if None in actions or None in payoffs:
            self.invalid = record
            return
        self.indexes.append(record["round_index"])
        self.lines.append(number)
        for seat, seen in self.seats.items():
            seen.add(seat, record)

    def _open(self, record: dict) -> None:
        """What all lines of a match share, from its first."""
        for seat, seen in self.seats.items():
            seen.label = record.get(seat)
        self.horizon_type = record.get("horizon_type")
        self.fixed_n = record.get("fixed_n")
        self.simulated = record.get("simulated")

    def _count_calls(self, record: dict) -> None:
        for seat, attempts in record["attempts"].items():
            self.seats[seat].count(attempts)
        cost = record.get("cost_usd", 0.0)
        self.cost_usd += cost
        self.dearest_round_usd = max(self.dearest_round_usd, cost)

    def put_in_order(self, path: Path) -> None:
        """Sort by round index; RunError where one stands twice."""
        order = sorted(range(self.rounds), key=self.indexes.__getitem__)
        if order != list(range(self.rounds)):
            self.indexes = array("l", [self.indexes[i] for i in order])
            self.lines = array("l", [self.lines[i] for i in order])
            for seen in self.seats.values():
                seen.reorder(order)
        for i in range(1, self.rounds):
            if self.indexes[i] == self.indexes[i - 1]:
                raise RunError(
                    f"{path}: {self.name}: round_index {self.indexes[i]} stands twice"
                    f" (lines {self.lines[i - 1]} and {self.lines[i]}); remove one"
                )


def read_matches(path: Path) -> tuple[dict[Key, MatchRounds], list[str]]:
    """All matches in the order of their first lines, and warnings; RunError at a damaged line."""
    matches: dict[Key, MatchRounds] = {}
    warnings: list[str] = []
    for number, record in numbered_lines(path, warnings):
        key = (record["condition"], record["replicate"])
        if key not in matches:
            matches[key] = MatchRounds(*key)
        try:
            matches[key].add(record, number)
        except (AttributeError, KeyError, TypeError, ValueError):
            why = "attempts or cost_usd is not what pdbench writes"
            raise damaged(path, number, why) from None
    for match in matches.values():
        match.put_in_order(path)
    return matches, warnings


def numbered_lines(path: Path, warnings: list[str]) -> Iterator[tuple[int, dict]]:
    """Every whole line with its number; a torn last line adds a warning instead."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise RunError(
            f"{path}: can't be read ({error.strerror}); name a folder that `pdbench run`"
            " wrote, or that holds a rounds.jsonl"
        ) from None
    with file:
        for number, line in enumerate(file, 1):
            if line.isspace():
                continue
            whole = line.endswith(b"\n")
            try:
                record = json.loads(line)
                problem = problem_of(record)
            except (ValueError, RecursionError):
                problem = "not JSON"
            if problem and not whole:
                warnings.append(f"{path}: line {number} is torn and left out")
                return
            if problem:
                raise damaged(path, number, problem)
            yield number, record


def damaged(path: Path, number: int, why: str) -> RunError:
    """The error for one bad line."""
    return RunError(
        f"{path}: line {number}: {why}; restore the file from a copy, or delete the line"
    )
