"""rounds.jsonl → aggregates.parquet: the same bytes from the same rounds, however often.

One row a match (`level` "replicate"), then one row a condition (`level` "condition") with means
over its replicates; a value that is null in a replicate is left out of the mean. Read in blocks,
a million rounds take seconds and well below 1 GB.
"""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq

from pdbench.core.metrics import match_metrics
from pdbench.core.types import SEATS, RunError
from pdbench.storage.manifest import read_manifest, write_atomically
from pdbench.storage.rounds import AGGREGATES, ROUNDS, damaged, parse_line

BLOCK_BYTES = 1 << 23

ATTEMPTS = pa.list_(pa.struct({"action": pa.string()}))
READ = pa.schema({
    "condition": pa.string(),
    "replicate": pa.int64(),
    "round_index": pa.int64(),
    "agent_a_action": pa.string(),
    "agent_b_action": pa.string(),
    "agent_a_cum_payoff": pa.float64(),
    "agent_b_cum_payoff": pa.float64(),
    "status": pa.string(),
    "final": pa.bool_(),
    "attempts": pa.struct({"agent_a": ATTEMPTS, "agent_b": ATTEMPTS}),
})  # fmt: skip
NULLABLE = ("agent_a_action", "agent_b_action", "attempts")


class MatchRounds(NamedTuple):
    """One match as rounds.jsonl holds it. `status`: complete, incomplete, or partial (running).

    `calls` and `invalid` count a model's answers and those that could not be read, per seat.
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


def read_matches(run_dir: Path, order: list[str]) -> list[MatchRounds]:
    """Every match of a run, conditions in the given order; RunError names a damaged line."""
    path = run_dir / ROUNDS
    parts: dict[tuple[str, int], list[tuple]] = {}
    for columns in _blocks(path):
        for key, rows in _runs_of_one_match(columns):
            parts.setdefault(key, []).append(rows)
    if stray := sorted({name for name, _ in parts} - set(order)):
        raise RunError(f"{path}: condition {stray[0]!r} is not in run_manifest.json")
    keys = sorted(parts, key=lambda key: (order.index(key[0]), key[1]))
    return [_match(path, key, parts[key]) for key in keys]


def _blocks(path: Path) -> Iterator[dict[str, list]]:
    """Columns of READ, a few megabytes of whole lines at a time."""
    options = pj.ParseOptions(explicit_schema=READ, unexpected_field_behavior="ignore")
    try:
        file = path.open("rb")
    except OSError as error:
        raise RunError(f"{path}: can't be read: {error.strerror}") from None
    lines_before, rest = 0, b""
    with file:
        while chunk := file.read(BLOCK_BYTES):
            block, newline, rest = (rest + chunk).rpartition(b"\n")
            if not newline:
                continue
            block += newline
            yield _columns(block, options, path, lines_before)
            lines_before += block.count(b"\n")


def _columns(
    block: bytes, options: pj.ParseOptions, path: Path, lines_before: int
) -> dict[str, list]:
    """A block's columns: by Arrow, or line by line where Arrow objects to something.

    The slow way names the first damaged line; it also reads what Arrow can't, such as half of a
    surrogate pair in a model's answer.
    """
    read = pj.ReadOptions(use_threads=False, block_size=len(block) + 1)
    try:
        table = pj.read_json(io.BytesIO(block), read_options=read, parse_options=options)
    except pa.ArrowInvalid:
        return _columns_by_line(block, path, lines_before)
    nulls = any(table[name].null_count for name in READ.names if name not in NULLABLE)
    if nulls or table.num_rows != block.count(b"\n"):
        return _columns_by_line(block, path, lines_before)
    return {name: table[name].to_pylist() for name in READ.names}


def _columns_by_line(block: bytes, path: Path, lines_before: int) -> dict[str, list]:
    columns: dict[str, list] = {name: [] for name in READ.names}
    for number, line in enumerate(block.split(b"\n")[:-1], lines_before + 1):
        record = parse_line(line, path, number)
        for name, kind in zip(READ.names, READ.types, strict=True):
            value = record.get(name)
            if value is None and name not in NULLABLE:
                raise damaged(path, number, f"no {name}")
            try:
                columns[name] += pa.array([value], kind).to_pylist()
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
                raise damaged(path, number, f"{name} is {value!r}") from None
    return columns


def _runs_of_one_match(columns: dict[str, list]) -> Iterator[tuple[tuple[str, int], tuple]]:
    """Split a block where the match changes; rows keep the file's order."""
    names, replicates = columns["condition"], columns["replicate"]
    start, size = 0, len(names)
    while start < size:
        key = names[start], replicates[start]
        end = start + 1
        while end < size and replicates[end] == key[1] and names[end] == key[0]:
            end += 1
        yield key, tuple(columns[name][start:end] for name in READ.names[2:])
        start = end


def _match(path: Path, key: tuple[str, int], parts: list[tuple]) -> MatchRounds:
    rounds, a, b, a_total, b_total, status, final, attempts = (
        [value for part in parts for value in part[i]] for i in range(len(READ.names) - 2)
    )
    if rounds != list(range(len(rounds))):
        at = next(i for i, t in enumerate(rounds) if i != t)
        raise RunError(f"{path}: condition {key[0]!r} replicate {key[1]}: round_index {rounds[at]}"
                       f" where {at} is expected; restore the file from a copy, or delete the"
                       " run folder and run again")
    invalid = status[-1] != "ok"
    if invalid:
        a.pop(), b.pop()
    if not set(a) | set(b) <= {"C", "D"}:
        raise RunError(f"{path}: condition {key[0]!r} replicate {key[1]}: an action is neither C"
                       " nor D")
    ending = "incomplete" if invalid else "complete" if final[-1] else "partial"
    calls, invalid = _count_answers([x for x in attempts if x])
    return MatchRounds(*key, "".join(a), "".join(b), a_total[-1], b_total[-1], ending, calls,
                       invalid)


def _count_answers(attempts: list[dict]) -> tuple[tuple[int, int], tuple[int, int]]:
    seats = [[x for turns in attempts for x in turns[seat] or ()] for seat in SEATS]
    calls, invalid = (
        tuple(sum(1 for x in answers if every or x["action"] is None) for answers in seats)
        for every in (True, False)
    )
    return calls, invalid


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
        "simulated": _simulated(condition),
        "status": match.status,
        "replicates": 1,
        "rounds": n,
        "total_payoff_agent_a": match.a_total,
        "total_payoff_agent_b": match.b_total,
        "mean_payoff_agent_a": match.a_total / n if n else None,
        "mean_payoff_agent_b": match.b_total / n if n else None,
    }
    values = match_metrics(played, metrics["names"], collapse["k"], collapse["threshold"])
    for i, seat in enumerate(SEATS):
        asks = condition[seat]["type"] == "llm"
        row[f"model_calls_{seat}"] = match.calls[i] if asks else None
        row[f"invalid_answers_{seat}"] = match.invalid[i] if asks else None
    if "time_to_collapse" in values:
        values["collapsed"] = float(values["time_to_collapse"] is not None)
    return row | values


def _simulated(condition: dict) -> bool:
    return any(condition[seat].get("provider", {}).get("name") == "mock"
               for seat in SEATS)


def condition_row(rows: list[dict]) -> dict:
    """The mean row of a condition's match rows."""
    first, statuses = rows[0], {row["status"] for row in rows}
    worst = next(s for s in ("partial", "incomplete", "complete") if s in statuses)
    result = first | {"level": "condition", "replicate": None, "status": worst,
                      "replicates": len(rows)}
    same = ("level", "condition", "replicate", "agent_a", "agent_b", "simulated", "status",
            "replicates")  # fmt: skip
    for name in first:
        if name == "cooperation_rate_over_time":
            result[name] = mean_series([row[name] for row in rows])
        elif name not in same:
            result[name] = mean([row[name] for row in rows])
    return result


def mean(values: list[float | None]) -> float | None:
    """Mean of the values that are there."""
    there = [v for v in values if v is not None]
    return sum(there) / len(there) if there else None


def mean_series(series: list[list[float]]) -> list[float]:
    """Round by round, the mean over the replicates that reached that round."""
    longest = max(map(len, series))
    return [mean([s[t] for s in series if t < len(s)]) for t in range(longest)]


def aggregate(run_dir: Path, manifest: dict | None = None) -> pa.Table:
    """Compute aggregates.parquet from rounds.jsonl and write it; return the table."""
    config = (manifest or read_manifest(run_dir))["config"]
    matches = read_matches(run_dir, list(config["conditions"]))
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


def _table(rows: list[dict]) -> pa.Table:
    if not rows:
        raise RunError("rounds.jsonl holds no whole round yet; nothing to aggregate")
    text = {"level", "condition", "agent_a", "agent_b", "status", "cooperation_rate_over_time"}
    kinds = {"replicate": pa.int64(), "replicates": pa.int64(), "simulated": pa.bool_()}
    for row in rows:
        if "cooperation_rate_over_time" in row:
            row["cooperation_rate_over_time"] = json.dumps(row["cooperation_rate_over_time"])
    schema = pa.schema([
        (name, pa.string() if name in text else kinds.get(name, pa.float64()))
        for name in rows[0]
    ])  # fmt: skip
    return pa.Table.from_pylist(rows, schema=schema)
