"""The line format of rounds.jsonl (one JSON object a round) and its fields.

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
| attempts | per model: every call's reading (action or problem), and its prompt where it differs |
| raw_responses | per model: the raw text of every attempt (where configured) |
| prompts or prompt_hashes | system and round prompt per model: texts, or their SHA-256 |
"""

import hashlib
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from pdbench.agents.base import Turn
from pdbench.config.load import Condition
from pdbench.core.types import SEATS

SCHEMA_VERSION = 2

REQUIRED = (
    "run_id", "condition", "replicate", "round_index",
    "agent_a_action", "agent_b_action", "agent_a_payoff", "agent_b_payoff",
    "agent_a_cum_payoff", "agent_b_cum_payoff",
    "horizon_type", "fixed_n", "stop_prob", "timestamp_utc",
)  # fmt: skip

Turns = tuple[Turn | None, Turn | None]
# t, final, actions of A and B, points, totals, flipped, turns; a pair is A's and B's.
Round = tuple[
    int,
    bool,
    str | None,
    str | None,
    tuple[float | None, float | None],
    tuple[float, float],
    tuple[bool, bool],
    Turns,
]


class MatchRounds(NamedTuple):
    """One match as rounds.jsonl holds it. `status`: complete, incomplete, or partial (running).

    `calls` and `invalid` count a model's answers and those that could not be read, per seat;
    `ended` says where and how an incomplete match ended.
    """

    condition: str
    replicate: int
    a_actions: str
    b_actions: str
    a_total: float
    b_total: float
    status: str
    calls: tuple[int, int]
    invalid: tuple[int, int]
    ended: dict | None = None


@lru_cache(maxsize=8)
def _iso(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds % 1000:03d}Z"


def now_utc() -> str:
    """The time as ISO 8601, in milliseconds."""
    return _iso(time.time_ns() // 1_000_000)


def line_encoder(
    run_id: str, condition: Condition, replicate: int, prompts: bool, raw: bool
) -> Callable[..., tuple[str, str]]:
    """A function from one round to its line of JSON: what stands before and after the time.

    Half of the line is the same in all rounds of a match, and most values need no escaping: the
    line is put together as text, several times as fast as a general encoder would.
    """
    head = _dump(
        {"run_id": run_id, "condition": condition.name, "replicate": replicate}
    )
    head = head[:-1] + ',"round_index":'
    names = {"agent_a": condition.agent_a.label, "agent_b": condition.agent_b.label}
    who = "," + _dump(names)[1:-1] + ',"agent_a_action":'
    horizon = condition.horizon
    tail = "," + _dump({
        "simulated": condition.simulated,
        "horizon_type": horizon.type,
        "fixed_n": horizon.n,
        "stop_prob": horizon.stop_prob,
    })[1:-1] + ',"timestamp_utc":"'  # fmt: skip
    word = {"C": '"C"', "D": '"D"', None: "null"}
    truth = {True: "true", False: "false"}

    def encode(
        t: int,
        final: bool,
        a: str | None,
        b: str | None,
        points: tuple[float | None, float | None],
        totals: tuple[float, float],
        flipped: tuple[bool, bool],
        turns: Turns,
    ) -> tuple[str, str]:
        status = "invalid" if points[0] is None else "ok"
        pa, pb = ("null", "null") if points[0] is None else points
        models = _models(turns, prompts, raw) if turns != (None, None) else ""
        before = (
            f'{head}{t}{who}{word[a]},"agent_b_action":{word[b]}'
            f',"agent_a_payoff":{pa},"agent_b_payoff":{pb}'
            f',"agent_a_cum_payoff":{totals[0]},"agent_b_cum_payoff":{totals[1]}'
            f',"agent_a_flipped":{truth[flipped[0]]},"agent_b_flipped":{truth[flipped[1]]}'
            f',"status":"{status}","final":{truth[final]}{tail}'
        )
        return before, f'"{models}}}\n'

    return encode


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def sha256(text: str) -> str:
    """Hash of a text's UTF-8 bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _models(turns: Turns, prompts: bool, raw: bool) -> str:
    """The fields of a round that asked models, as the rest of the JSON object."""
    asked = {seat: turn for seat, turn in zip(SEATS, turns, strict=True) if turn}
    keep = (lambda text: text) if prompts else sha256
    fields: dict[str, object] = {
        "attempts": {
            seat: _attempts(turn, keep, prompts) for seat, turn in asked.items()
        }
    }
    if raw:
        fields["raw_responses"] = {
            seat: [x.raw for x in asked[seat].attempts] if seat in asked else None
            for seat in SEATS
        }
    fields["prompts" if prompts else "prompt_hashes"] = {
        "system": {seat: keep(turn.system) for seat, turn in asked.items()},
        "round": {seat: keep(turn.attempts[0].prompt) for seat, turn in asked.items()},
    }
    # A lone surrogate in a model's text can't be written as UTF-8; escaped, it can.
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    return "," + text.encode("utf-8", "backslashreplace").decode()[1:-1]


def _attempts(turn: Turn, keep: Callable[[str], str], prompts: bool) -> list[dict]:
    entries = []
    for number, attempt in enumerate(turn.attempts):
        entry: dict[str, object] = {
            "action": attempt.action,
            "problem": attempt.problem,
        }
        if number:
            entry["prompt" if prompts else "prompt_sha256"] = keep(attempt.prompt)
        entries.append(entry)
    return entries
