"""The line format of rounds.jsonl: one JSON object a round.

| field | meaning |
|---|---|
| run_id, condition, replicate, round_index | which round; replicate and round_index from 0 |
| agent_a, agent_b | names of the agents |
| agent_x_action | C or D as it counted, null where the agent gave no valid answer |
| agent_x_flipped | was the action flipped by noise before it counted? |
| agent_x_payoff, agent_x_cum_payoff | points in this round (null if invalid) and so far |
| status | ok, or invalid: an agent gave no valid answer, and the match ends as incomplete |
| final | is this the match's last round? |
| simulated | did the mock provider take part? |
| horizon_type, fixed_n, stop_prob, timestamp_utc | |
| attempts | per model: every call's reading (action or problem), cost, and its prompt where it differs |
| raw_responses | per model: the raw text of every attempt (where configured) |
| prompts or prompt_hashes | system and round prompt per model: texts, or their SHA-256 |
| cost_usd | dollars of all attempts, as far as known; in rounds that asked a model |
"""

import hashlib
import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pdbench.agents.base import Turn
from pdbench.config.load import Condition
from pdbench.config.schema import RunSettings
from pdbench.core.types import SEATS, Action, Seat


class Move(NamedTuple):
    """One seat in one round; without a valid answer there is neither action nor payoff."""

    action: Action | None
    flipped: bool
    payoff: float | None
    total: float
    turn: Turn | None


class Round(NamedTuple):
    """One round as played."""

    t: int
    final: bool
    moves: dict[Seat, Move]

    @property
    def valid(self) -> bool:
        """Did both agents act?"""
        return all(move.action for move in self.moves.values())

    @property
    def turns(self) -> dict[Seat, Turn]:
        """What the models among the agents were asked, and said."""
        found = {}
        for seat, move in self.moves.items():
            if move.turn:
                found[seat] = move.turn
        return found

    @property
    def cost_usd(self) -> float:
        """Dollars, as far as they are known."""
        return math.fsum(turn.cost_usd for turn in self.turns.values())


def now_utc() -> str:
    """The time as ISO 8601, in milliseconds."""
    moment = datetime.now(UTC).isoformat(timespec="milliseconds")
    return moment.replace("+00:00", "Z")


def round_line(
    run: RunSettings, condition: Condition, replicate: int, played: Round
) -> str:
    """A round as its line of rounds.jsonl, newline included."""
    record: dict[str, object] = {
        "run_id": run.run_id,
        "condition": condition.name,
        "replicate": replicate,
        "round_index": played.t,
    }
    for seat, agent in condition.agents.items():
        record[seat] = agent.label
    for seat, move in played.moves.items():
        record[f"{seat}_action"] = move.action
        record[f"{seat}_payoff"] = move.payoff
        record[f"{seat}_cum_payoff"] = move.total
        record[f"{seat}_flipped"] = move.flipped
    record["status"] = "ok" if played.valid else "invalid"
    record["final"] = played.final
    record["simulated"] = condition.simulated
    record["horizon_type"] = condition.horizon.type
    record["fixed_n"] = condition.horizon.n
    record["stop_prob"] = condition.horizon.stop_prob
    record["timestamp_utc"] = now_utc()
    if played.turns:
        record.update(_asked(run, played))
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


def _asked(run: RunSettings, played: Round) -> dict[str, object]:
    """The fields of a round that asked models."""
    keep: Callable[[str], str] = sha256
    name = "prompt_hashes"
    if run.store_prompts:
        keep, name = str, "prompts"  # type: ignore[assignment]
    attempts, raw, system, first = {}, dict.fromkeys(SEATS), {}, {}
    for seat, turn in played.turns.items():
        attempts[seat] = _attempts(turn, keep, name)
        raw[seat] = [attempt.raw for attempt in turn.attempts]
        system[seat] = keep(turn.system)
        first[seat] = keep(turn.attempts[0].prompt)
    fields: dict[str, object] = {"attempts": attempts}
    if run.store_raw_responses:
        fields["raw_responses"] = raw
    fields[name] = {"system": system, "round": first}
    fields["cost_usd"] = played.cost_usd
    return fields


def _attempts(turn: Turn, keep: Callable[[str], str], name: str) -> list[dict]:
    entries = []
    for number, attempt in enumerate(turn.attempts):
        entry: dict[str, object] = {
            "action": attempt.action,
            "problem": attempt.problem,
            "cost_usd": attempt.cost_usd,
        }
        if number:
            key = "prompt" if name == "prompts" else "prompt_sha256"
            entry[key] = keep(attempt.prompt)
        entries.append(entry)
    return entries


def sha256(text: str) -> str:
    """Hash of a text's UTF-8 bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# What every line has to hold: a test of its value, and what it should be in words.
Test = tuple[Callable[[object], bool], str]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_action(value: object) -> bool:
    return value in ("C", "D", None)


def _is_points(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and math.isfinite(value))


TEXT: Test = (_is_text, "a text")
COUNT: Test = (_is_count, "a whole number from 0")
ACTION: Test = (_is_action, '"C", "D" or null')
POINTS: Test = (_is_points, "a number or null")

NEEDED: dict[str, Test] = {
    "run_id": TEXT,
    "condition": TEXT,
    "replicate": COUNT,
    "round_index": COUNT,
    "agent_a_action": ACTION,
    "agent_b_action": ACTION,
    "agent_a_payoff": POINTS,
    "agent_b_payoff": POINTS,
    "agent_a_cum_payoff": POINTS,
    "agent_b_cum_payoff": POINTS,
}


def problem_of(record: object) -> str | None:
    """Why a line is no round, or None where it is one; fields beside the needed are free."""
    if not isinstance(record, dict):
        return "not a JSON object"
    for key, (fits, wanted) in NEEDED.items():
        if key not in record:
            return f"{key} is missing"
        if not fits(record[key]):
            return f"{key} should be {wanted}, found {record[key]!r}"
    return None
