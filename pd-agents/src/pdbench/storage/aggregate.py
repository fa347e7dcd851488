"""Matches → aggregates.parquet: the same bytes from the same matches, however often.

One row a match (`level` "replicate"), then one row a condition (`level` "condition") with means
over its complete matches; a value that is null in a match is left out of the mean.
"""

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pdbench.core.metrics import match_metrics
from pdbench.core.types import SEATS, RunError
from pdbench.storage.manifest import is_simulated, write_atomically
from pdbench.storage.rounds import AGGREGATES
from pdbench.storage.schema import MatchRounds

COUNTED = (
    "model_calls_agent_a",
    "model_calls_agent_b",
    "invalid_answers_agent_a",
    "invalid_answers_agent_b",
)  # over all matches: what failed is in them
NAMED = ("level", "condition", "replicate", "agent_a", "agent_b", "simulated", "status",
         "replicates", "complete")  # fmt: skip


def match_row(match: MatchRounds, config: dict) -> dict:
    """A match's row of aggregates.parquet; its columns are explained in the README."""
    metrics = config["metrics"]
    collapse = metrics["collapse"]
    condition = config["conditions"][match.condition]
    played = (match.a_actions, match.b_actions, match.a_total, match.b_total)
    n = len(match.a_actions)
    row = {
        "level": "replicate",
        "condition": match.condition,
        "replicate": match.replicate,
        "agent_a": condition["agent_a"]["label"],
        "agent_b": condition["agent_b"]["label"],
        "simulated": is_simulated(condition),
        "status": match.status,
        "replicates": 1,
        "complete": int(match.status == "complete"),
        "rounds": n,
        "total_payoff_agent_a": match.a_total,
        "total_payoff_agent_b": match.b_total,
        "mean_payoff_agent_a": match.a_total / n if n else None,
        "mean_payoff_agent_b": match.b_total / n if n else None,
    }
    values = match_metrics(
        played, metrics["names"], collapse["k"], collapse["threshold"]
    )
    for i, seat in enumerate(SEATS):
        asks = condition[seat]["type"] == "llm"
        row[f"model_calls_{seat}"] = match.calls[i] if asks else None
        row[f"invalid_answers_{seat}"] = match.invalid[i] if asks else None
    if "time_to_collapse" in values:
        values["collapsed"] = float(values["time_to_collapse"] is not None)
    return row | values


def condition_row(rows: list[dict]) -> dict:
    """The row of a condition from its matches' rows: means over the complete ones."""
    first, statuses = rows[0], {row["status"] for row in rows}
    worst = next(s for s in ("partial", "incomplete", "complete") if s in statuses)
    complete = [row for row in rows if row["complete"]]
    result = first | {
        "level": "condition",
        "replicate": None,
        "status": worst,
        "replicates": len(rows),
        "complete": len(complete),
    }
    for name in first:
        if name == "cooperation_rate_over_time":
            result[name] = mean_series([row[name] for row in complete])
        elif name not in NAMED:
            result[name] = mean(
                [row[name] for row in (rows if name in COUNTED else complete)]
            )
    return result


def mean(values: list[float | None]) -> float | None:
    """Mean of the values that are there."""
    there = [v for v in values if v is not None]
    return sum(there) / len(there) if there else None


def mean_series(series: list[list[float]]) -> list[float]:
    """Round by round, the mean over the replicates that reached that round."""
    longest = max(map(len, series), default=0)
    return [mean([s[t] for s in series if t < len(s)]) for t in range(longest)]


def write_aggregates(
    run_dir: Path, matches: list[MatchRounds], config: dict
) -> pa.Table:
    """Write aggregates.parquet of a run's matches; return the table."""
    rows = [match_row(match, config) for match in matches]
    by_condition: dict[str, list[dict]] = {}
    for row in rows:
        by_condition.setdefault(row["condition"], []).append(row)
    rows += [condition_row(group) for group in by_condition.values()]
    table = _table(rows)
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    write_atomically(run_dir / AGGREGATES, buffer.getvalue())
    return table


def rounds_aggregated(run_dir: Path) -> int:
    """How many rounds the run's aggregates were made of; RunError where they can't be read."""
    path = run_dir / AGGREGATES
    try:
        rows = pq.read_table(path, columns=["level", "rounds"]).to_pylist()
        return int(sum(row["rounds"] for row in rows if row["level"] == "replicate"))
    except (pa.ArrowException, OSError, TypeError, ValueError, KeyError):
        raise RunError(
            f"{path}: can't be read; delete it, `pdbench aggregate` writes it anew"
        ) from None


def _table(rows: list[dict]) -> pa.Table:
    if not rows:
        raise RunError("rounds.jsonl holds no whole round yet; nothing to aggregate")
    text = {
        "level",
        "condition",
        "agent_a",
        "agent_b",
        "status",
        "cooperation_rate_over_time",
    }
    kinds = {
        "replicate": pa.int64(),
        "replicates": pa.int64(),
        "complete": pa.int64(),
        "simulated": pa.bool_(),
    }
    for row in rows:
        if "cooperation_rate_over_time" in row:
            row["cooperation_rate_over_time"] = json.dumps(
                row["cooperation_rate_over_time"]
            )
    schema = pa.schema([
        (name, pa.string() if name in text else kinds.get(name, pa.float64()))
        for name in rows[0]
    ])  # fmt: skip
    return pa.Table.from_pylist(rows, schema=schema)
