"""What the viewer reads; it never writes, and reads a growing run as far as it has come."""

import json
from pathlib import Path

import pandas as pd

from pdbench.core.metrics import METRICS
from pdbench.core.types import SEATS
from pdbench.runners.replay import read_matches
from pdbench.storage.aggregate import condition_row, match_row
from pdbench.storage.manifest import read_manifest
from pdbench.storage.rounds import ROUNDS, parse_line
from pdbench.storage.schema import MatchRounds


def stamp(run_dir: Path) -> tuple:
    """Changes whenever the run's files do: the key of the viewer's cache."""
    files = (run_dir / ROUNDS, run_dir / "run_manifest.json")
    return tuple(
        (f.stat().st_mtime_ns, f.stat().st_size) if f.exists() else None for f in files
    )


def load(run_dir: Path) -> tuple[dict, list[MatchRounds]]:
    """Manifest and matches; no matches where no round is there yet."""
    manifest = read_manifest(run_dir)
    if not (run_dir / ROUNDS).exists():
        return manifest, []
    return manifest, read_matches(run_dir, manifest)


def headline(match: MatchRounds, config: dict) -> dict:
    """All metrics of one match, whichever were chosen for aggregates.parquet."""
    everything = config | {"metrics": config["metrics"] | {"names": list(METRICS)}}
    return match_row(match, everything)


def records(run_dir: Path, match: MatchRounds, run_id: str) -> list[dict]:
    """The lines of one match, in the order played."""
    key = {"run_id": run_id, "condition": match.condition, "replicate": match.replicate}
    head = (
        json.dumps(key, ensure_ascii=False, separators=(",", ":"))[:-1].encode() + b","
    )
    path = run_dir / ROUNDS
    with path.open("rb") as file:
        return [
            parse_line(line, path, number)
            for number, line in enumerate(file, 1)
            if line.startswith(head) and line.endswith(b"\n")
        ]


def condition_summary(matches: list[MatchRounds], config: dict) -> dict:
    """A condition's row over all metrics: means over its complete matches."""
    return condition_row([headline(m, config) for m in matches])


def condition_table(matches: list[MatchRounds], config: dict) -> pd.DataFrame:
    """One row a condition: agents, complete matches, cooperation, points a round."""
    rows = [
        condition_summary([m for m in matches if m.condition == name], config)
        for name in dict.fromkeys(m.condition for m in matches)
    ]
    return pd.DataFrame([
        {"Condition": row["condition"], "A": row["agent_a"], "B": row["agent_b"],
         "Complete / all matches": f"{row['complete']} / {row['replicates']}",
         "Cooperation, both": percentage(row["cooperation_rate"])}
        | {f"Points a round, {seat[-1].upper()}": row[f"mean_payoff_{seat}"] for seat in SEATS}
        for row in rows
    ])  # fmt: skip


def match_table(
    matches: list[MatchRounds], config: dict, seats: dict[str, str]
) -> pd.DataFrame:
    """One row a match of a condition: replicate, status, rounds, and per agent C and points."""
    rows = [headline(m, config) for m in matches]
    return pd.DataFrame([
        {"Replicate": row["replicate"], "Status": row["status"], "Rounds": row["rounds"]}
        | {f"Share of C, {name}": percentage(row[f"cooperation_rate_{seat}"])
           for seat, name in seats.items()}
        | {f"Points a round, {name}": row[f"mean_payoff_{seat}"] for seat, name in seats.items()}
        for row in rows
    ])  # fmt: skip


def percentage(share: float | None) -> float | None:
    """A share in percent; None where there is none."""
    return None if share is None else 100 * share


def timeline(lines: list[dict], seats: dict[str, str]) -> pd.DataFrame:
    """One row a round and agent: round (from 1), agent, action, flipped, points."""
    return pd.DataFrame([
        {
            "round": line["round_index"] + 1,
            "agent": name,
            "action": line[f"{seat}_action"] or "none",
            "flipped": line[f"{seat}_flipped"],
            "points": line[f"{seat}_payoff"],
        }
        for line in lines
        for seat, name in seats.items()
    ])  # fmt: skip


def cumulative(
    lines: list[dict], seats: dict[str, str], most: int = 1000
) -> pd.DataFrame:
    """Points so far by round and agent; every n-th round where a match has more than `most`."""
    step = -(-len(lines) // most) or 1
    kept = [
        line for i, line in enumerate(lines) if i % step == 0 or i == len(lines) - 1
    ]
    return pd.DataFrame([
        {"round": line["round_index"] + 1, "agent": name, "points": line[f"{seat}_cum_payoff"]}
        for line in kept
        for seat, name in seats.items()
    ])  # fmt: skip
