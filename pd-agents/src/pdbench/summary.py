"""What the commands print on stdout: text for people, facts for machines."""

from typing import Any

from pdbench.config.load import Experiment
from pdbench.config.schema import Horizon
from pdbench.core.types import SIMULATED
from pdbench.runners.match import Match
from pdbench.runners.run_experiment import Outcome, model_calls, plan

SIMULATED_NOTE = f"{SIMULATED}: answered by the mock provider, not by a model"


def horizon_text(horizon: Horizon) -> str:
    """`50 rounds` or `stops with p = 0.02`."""
    if horizon.type == "fixed":
        return f"{horizon.n} rounds"
    return f"stops with p={horizon.stop_prob:g}"


def table_text(header: tuple[str, ...], rows: list[tuple]) -> str:
    """Columns padded to their widest cell; numbers to the right."""
    cells = [tuple(map(str, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    right = [
        all(isinstance(row[i], int | float) for row in rows) for i in range(len(header))
    ]

    def line(row: tuple[str, ...]) -> str:
        padded = (
            c.rjust(w) if r else c.ljust(w)
            for c, w, r in zip(row, widths, right, strict=True)
        )
        return "  ".join(padded).rstrip()

    return "\n".join(map(line, [header, *cells]))


def experiment_text(experiment: Experiment) -> str:
    """`validate`'s summary."""
    rows = [
        (c.name, c.agent_a.label, c.agent_b.label, horizon_text(c.horizon),
         f"{c.game.noise:g}", SIMULATED if c.simulated else "")
        for c in experiment.conditions
    ]  # fmt: skip
    matches = plan(experiment)
    collapse = experiment.metrics.collapse
    return "\n".join([
        f"valid: run {experiment.run.run_id}, seed {experiment.run.seed},"
        f" {len(rows)} conditions x {experiment.run.replicates} replicates ->"
        f" {experiment.run_dir}",
        table_text(("condition", "agent_a", "agent_b", "horizon", "noise", ""), rows),
        f"{sum(m.length() for m in matches):,} rounds; metrics"
        f" {', '.join(experiment.metrics.names)}; collapse k={collapse.k}"
        f" threshold={collapse.threshold:g}",
    ])  # fmt: skip


def experiment_facts(experiment: Experiment) -> dict[str, Any]:
    """`validate --json`."""
    return {
        "run_id": experiment.run.run_id, "seed": experiment.run.seed,
        "run_dir": str(experiment.run_dir), "replicates": experiment.run.replicates,
        "rounds": sum(match.length() for match in plan(experiment)),
        "metrics": list(experiment.metrics.names),
        "simulated": any(c.simulated for c in experiment.conditions),
        "conditions": [
            {"name": c.name, "agent_a": c.agent_a.label, "agent_b": c.agent_b.label,
             "horizon": horizon_text(c.horizon), "noise": c.game.noise, "simulated": c.simulated}
            for c in experiment.conditions],
    }  # fmt: skip


def match_list_facts(experiment: Experiment, matches: list[Match]) -> dict[str, Any]:
    """`run --dry-run --json`; `model_calls` from fewest to most."""
    calls = [model_calls(match.condition, match.length()) for match in matches]
    return {
        "dry_run": True, "run_id": experiment.run.run_id, "run_dir": str(experiment.run_dir),
        "matches": len(matches), "rounds": sum(match.length() for match in matches),
        "model_calls": [sum(fewest for fewest, _ in calls), sum(most for _, most in calls)],
        "simulated": any(match.condition.simulated for match in matches),
    }  # fmt: skip


def outcome_facts(outcome: Outcome) -> dict[str, Any]:
    """`run --json`."""
    manifest = outcome.manifest
    kept = (
        "run_id",
        "status",
        "replicates",
        "matches",
        "rounds",
        "model_calls",
        "simulated_conditions",
    )
    return {
        "run_dir": str(outcome.run_dir),
        "played": outcome.played,
        "simulated": bool(manifest["stamp"]),
        **{key: manifest[key] for key in kept},
    }


def match_list_text(matches: list[Match], note: str = "") -> str:
    """`run --dry-run`: every match with its length, and the number of model calls.

    `note` says what is there already.
    """
    rows, fewest, most, mock = [], 0, 0, 0
    for match in matches:
        rounds = match.length()
        calls = model_calls(match.condition, rounds)
        fewest, most = fewest + calls[0], most + calls[1]
        mock += calls[1] if match.condition.simulated else 0
        c = match.condition
        rows.append(
            (c.name, match.replicate, c.agent_a.label, c.agent_b.label, rounds, *calls)
        )
    header = (
        "condition",
        "replicate",
        "agent_a",
        "agent_b",
        "rounds",
        "calls",
        "at most",
    )
    simulated = f"; up to {mock:,} of them in {SIMULATED} conditions" if mock else ""
    return "\n".join([
        table_text(header, rows),
        f"{len(rows)} matches, {sum(row[4] for row in rows):,} rounds, {fewest:,} to {most:,}"
        f" model calls{simulated}; nothing was written",
        *([note] if note else []),
    ])  # fmt: skip


def outcome_text(outcome: Outcome) -> str:
    """`run`'s closing words."""
    manifest = outcome.manifest
    played = (
        f"{outcome.played} matches played"
        if outcome.played
        else ("every match was played before, nothing to do")
    )
    lines = [
        f"run {manifest['run_id']} is {manifest['status']}: {played},"
        f" {manifest['matches']['total']} matches and {manifest['rounds']:,} rounds in all,"
        f" {manifest['model_calls']:,} model calls -> {outcome.run_dir}"
    ]
    if manifest["stamp"]:
        lines.append(f"{SIMULATED_NOTE}: {', '.join(manifest['simulated_conditions'])}")
    return "\n".join(lines)
