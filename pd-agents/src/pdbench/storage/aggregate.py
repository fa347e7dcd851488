"""Rounds → aggregates.parquet: the same bytes from the same rounds, however often.

One row a match (`level` "replicate"), then one row a condition (`level` "condition") with means
over its complete matches; a value that is null in a match is left out of the mean.
"""

import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pdbench.config.schema import Metrics
from pdbench.core.metrics import Played, match_metrics, mean, mean_over_time
from pdbench.core.types import RunError
from pdbench.storage.check import disagreements
from pdbench.storage.manifest import MANIFEST, Manifest, read_manifest, write_atomically
from pdbench.storage.rounds import ROUNDS, MatchRounds, read_matches

AGGREGATES = "aggregates.parquet"
SERIES = "cooperation_rate_over_time"
WORST_FIRST = ("partial", "incomplete", "complete")

TEXTS = ("level", "condition", "agent_a", "agent_b", "status", SERIES)
COUNTS = ("replicate", "replicates", "complete")
# In a condition's row these are over all its matches, for what failed is in them.
OF_ALL = (
    "model_calls_agent_a",
    "model_calls_agent_b",
    "invalid_answers_agent_a",
    "invalid_answers_agent_b",
    "cost_usd",
)

Row = dict[str, Any]


@dataclass(frozen=True)
class RunData:
    """A run as its folder tells it; without a manifest, all that the rounds alone say."""

    run_dir: Path
    manifest: Manifest | None
    matches: list[MatchRounds]
    warnings: list[str]

    @property
    def metrics(self) -> Metrics:
        """Which metrics, and what counts as collapse: the manifest's, else the defaults."""
        return self.manifest.config.metrics if self.manifest else Metrics()

    @property
    def name(self) -> str:
        """The run's id, else its folder's name."""
        return self.manifest.run_id if self.manifest else self.run_dir.name


def read_run(run_dir: Path) -> RunData:
    """Manifest, matches in the manifest's order, and where they disagree."""
    manifest = read_manifest(run_dir)
    by_key, warnings = read_matches(run_dir / ROUNDS)
    if manifest is None:
        warnings.append(
            f"{run_dir}: no {MANIFEST}: all metrics with their default parameters"
        )
    matches = list(by_key.values())
    places = _places(matches, manifest)
    matches.sort(key=lambda match: (places[match.condition], match.replicate))
    where = run_dir / ROUNDS
    for found in disagreements(matches, manifest):
        warnings.append(f"{where}: {found}")
    return RunData(run_dir, manifest, matches, warnings)


def _places(
    matches: Iterable[MatchRounds], manifest: Manifest | None
) -> dict[str, int]:
    """Where each condition stands: in the manifest's order, then as they first appear."""
    names = list(manifest.config.conditions) if manifest else []
    names += [match.condition for match in matches]
    return {name: place for place, name in enumerate(dict.fromkeys(names))}


def match_row(run: RunData, match: MatchRounds, metrics: Metrics) -> Row:
    """A match's row of aggregates.parquet; its columns are explained in the README."""
    a, b = match.seats.values()
    shape = None
    if run.manifest:
        shape = run.manifest.config.conditions.get(match.condition)
    simulated = match.simulated
    if simulated is None and run.manifest:
        simulated = match.condition in run.manifest.simulated_conditions
    row: Row = {
        "level": "replicate",
        "condition": match.condition,
        "replicate": match.replicate,
        "agent_a": shape.agent_a.label if shape else a.label,
        "agent_b": shape.agent_b.label if shape else b.label,
        "simulated": simulated,
        "status": match.status,
        "replicates": 1,
        "complete": int(match.status == "complete"),
        "rounds": match.rounds,
    }
    for seat, seen in match.seats.items():
        row[f"total_payoff_{seat}"] = seen.total
        row[f"mean_payoff_{seat}"] = mean(seen.payoffs)
        asked = seen.calls > 0
        row[f"model_calls_{seat}"] = seen.calls if asked else None
        row[f"invalid_answers_{seat}"] = seen.invalid_answers if asked else None
    row["cost_usd"] = match.cost_usd
    collapse = metrics.collapse
    played = Played(a.moves, b.moves, a.total, b.total, collapse.k, collapse.threshold)
    return row | match_metrics(played, metrics.names)


def condition_row(rows: list[Row]) -> Row:
    """The row of a condition from its matches' rows."""
    complete = [row for row in rows if row["complete"]]
    statuses = {row["status"] for row in rows}
    result = dict(rows[0])
    for name in result:
        over = rows if name in OF_ALL else complete
        if name == SERIES:
            result[name] = mean_over_time([row[name] for row in complete])
        elif name not in TEXTS and name != "simulated":
            result[name] = mean(row[name] for row in over)
    result["level"] = "condition"
    result["replicate"] = None
    result["replicates"] = len(rows)
    result["complete"] = len(complete)
    result["status"] = next(each for each in WORST_FIRST if each in statuses)
    return result


def rows_of(run: RunData, metrics: Metrics | None = None) -> list[Row]:
    """A row for each match, then one for each condition; `metrics` in place of the run's."""
    if metrics is None:
        metrics = run.metrics
    rows = [match_row(run, match, metrics) for match in run.matches]
    by_condition: dict[str, list[Row]] = {}
    for row in rows:
        by_condition.setdefault(row["condition"], []).append(row)
    return rows + [condition_row(group) for group in by_condition.values()]


def table_of(run: RunData) -> pa.Table:
    """The table that aggregates.parquet holds; RunError where no round was played."""
    rows = rows_of(run)
    if not rows:
        raise RunError(f"{run.run_dir / ROUNDS}: holds no whole round, nothing to say")
    fields = [pa.field(name, _kind(name)) for name in rows[0]]
    for row in rows:
        if SERIES in row:
            row[SERIES] = json.dumps(row[SERIES])
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))


def _kind(name: str) -> pa.DataType:
    if name in TEXTS:
        return pa.string()
    if name in COUNTS:
        return pa.int64()
    return pa.bool_() if name == "simulated" else pa.float64()


def write_aggregates(run: RunData) -> int:
    """Write aggregates.parquet; the number of its rows."""
    table = table_of(run)
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    write_atomically(run.run_dir / AGGREGATES, buffer.getvalue())
    return table.num_rows


def check_aggregates(run: RunData) -> list[str]:
    """Where aggregates.parquet is not what the rounds give, a line each."""
    path = run.run_dir / AGGREGATES
    try:
        there = pq.read_table(path).to_pylist()
    except (OSError, pa.ArrowException) as error:
        return [f"{path}: can't be read ({str(error).splitlines()[0]})"]
    wanted = table_of(run).to_pylist()
    if len(there) != len(wanted):
        return [f"{path}: {len(there)} rows, the rounds give {len(wanted)}"]
    found = []
    for old, new in zip(there, wanted, strict=True):
        where = f"{path}: condition {new['condition']!r}"
        if new["level"] == "replicate":
            where += f" replicate {new['replicate']}"
        for name in new:
            if old.get(name) != new[name]:
                found.append(
                    f"{where}: {name} is {old.get(name)!r}, the rounds give {new[name]!r}"
                )
    return found
