"""`pdbench`: validate, run, aggregate, report and look at iterated prisoner's dilemmas.

Exit codes: 0 done; 2 wrong usage or configuration; 3 incomplete or damaged (resumable where it
says so); 130 interrupted, rounds kept.
"""

import json
import os
import signal
import sys
import traceback
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from pdbench.core.logging import hide, say
from pdbench.core.types import (
    SIMULATED,
    ConfigError,
    Interrupted,
    PdbenchError,
    RunError,
)

app = typer.Typer(
    help="Iterated prisoner's dilemma between language models and classic policies.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

ConfigPath = Annotated[Path, typer.Argument(help="The experiment's YAML file.")]
RunDir = Annotated[Path, typer.Argument(help="A folder that `pdbench run` wrote.")]
# Read in main(), which must say errors as an object too; declared so that every help names it.
Json = Annotated[
    bool, typer.Option("--json", help="One JSON object on stdout, nothing else.")
]
Replicates = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Replicates per condition, instead of the file's; more than a run has"
        " are added, none is removed.",
    ),
]
Jobs = Annotated[int, typer.Option(min=1, max=64, help="Matches played side by side.")]
Port = Annotated[int, typer.Option(min=1, max=65_535, help="Port on 127.0.0.1.")]


@dataclass
class Said:
    """What a command has to say: `facts` under --json, `text` otherwise, `error` in both cases."""

    facts: dict[str, object] = field(default_factory=dict)
    text: str = ""
    error: PdbenchError | None = None


@app.command()
def validate(config_path: ConfigPath, json: Json = False) -> Said:
    """Check an experiment and every file it refers to; print a short summary."""
    from pdbench.config.load import load_experiment
    from pdbench.runners.registry import check_policies, not_ready
    from pdbench.runners.run_experiment import plan

    experiment = load_experiment(config_path)
    check_policies(experiment)
    _warn(experiment.warnings)
    notes = not_ready(experiment)
    for note in notes:
        say(f"note: {note}")
    run, rounds = experiment.run, sum(match.length() for match in plan(experiment))
    lines = [
        f"valid: run {run.run_id}, seed {run.seed}, {len(experiment.conditions)} conditions"
        f" x {run.replicates} replicates, {rounds:,} rounds -> {experiment.run_dir}"
    ]
    for each in experiment.conditions:
        stamp = f" ({SIMULATED})" if each.simulated else ""
        lines.append(
            f"  {each.name}: {each.versus}, {_horizon_text(each.horizon)}{stamp}"
        )
    facts = {
        "run_id": run.run_id,
        "run_dir": str(experiment.run_dir),
        "replicates": run.replicates,
        "rounds": rounds,
        "conditions": [each.name for each in experiment.conditions],
        "notes": notes,
        "simulated": experiment.simulated,
    }
    return Said(facts, "\n".join(lines))


@app.command()
def run(
    config_path: ConfigPath,
    replicates: Replicates = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be played; write nothing.")
    ] = False,
    jobs: Jobs = 1,
    json: Json = False,
) -> Said:
    """Play all conditions and replicates. The same command resumes an interrupted run."""
    from pdbench.config.load import load_experiment
    from pdbench.runners.run_experiment import replicates_note, run_experiment

    experiment = load_experiment(config_path)
    _warn(experiment.warnings)
    note = replicates_note(experiment, replicates)
    if note:
        say(f"note: {note}")
    if dry_run:
        return _planned(experiment, replicates)
    return _played(run_experiment(experiment, replicates, jobs))


@app.command()
def aggregate(
    run_dir: RunDir,
    check: Annotated[
        bool,
        typer.Option("--check", help="Compare with aggregates.parquet; write nothing."),
    ] = False,
    json: Json = False,
) -> Said:
    """Compute aggregates.parquet again from rounds.jsonl, and warn of what does not agree."""
    from pdbench.storage.aggregate import (
        AGGREGATES,
        check_aggregates,
        read_run,
        write_aggregates,
    )

    data = read_run(run_dir)
    file = run_dir / AGGREGATES
    facts: dict[str, object] = {"file": str(file), "warnings": data.warnings}
    if not check:
        _warn(data.warnings)
        facts["rows"] = write_aggregates(data)
        return Said(facts, f"{file}: {facts['rows']} rows")
    problems = data.warnings + check_aggregates(data)
    facts["problems"] = problems
    for problem in problems:
        say(problem)
    if problems:
        first = f"{run_dir}: does not hold what its rounds give; first: {problems[0]}"
        return Said(facts, "", RunError(first))
    return Said(facts, f"{file}: holds what the rounds give, and nothing disagrees")


@app.command()
def report(run_dir: RunDir, json: Json = False) -> Said:
    """Write report.md: one table of all conditions."""
    from pdbench.report import write_report
    from pdbench.storage.aggregate import read_run

    data = read_run(run_dir)
    _warn(data.warnings)
    file = write_report(data)
    return Said({"file": str(file), "warnings": data.warnings}, str(file))


@app.command()
def ui(
    run_dir: RunDir,
    port: Port = 8501,
    show: Annotated[
        bool,
        typer.Option(
            "--print", help="Print the Streamlit command instead of running it."
        ),
    ] = False,
) -> None:
    """Open the read-only viewer in a browser."""
    from pdbench.ui.launch import launch

    launch(run_dir, port, show)


def _warn(warnings) -> None:
    for warning in warnings:
        say(f"warning: {warning}")


def _horizon_text(horizon) -> str:
    if horizon.type == "fixed":
        return f"{horizon.n} rounds"
    return f"stops with p={horizon.stop_prob:g}"


def _planned(experiment, replicates: int | None) -> Said:
    """What `run --dry-run` says."""
    from pdbench.runners.run_experiment import plan

    matches = plan(experiment, replicates)
    rounds = sum(match.length() for match in matches)
    fewest = sum(match.model_calls()[0] for match in matches)
    most = sum(match.model_calls()[1] for match in matches)
    facts = {
        "dry_run": True,
        "run_dir": str(experiment.run_dir),
        "matches": len(matches),
        "rounds": rounds,
        "model_calls": [fewest, most],
        "simulated": experiment.simulated,
    }
    text = (
        f"{len(matches)} matches, {rounds:,} rounds, {fewest:,} to {most:,} calls to models"
        f" (the mock included) -> {experiment.run_dir}; nothing was written"
    )
    return Said(facts, text)


def _played(outcome) -> Said:
    """What `run` says at its end."""
    manifest = outcome.manifest
    told = manifest.model_dump(
        include={
            "run_id",
            "status",
            "replicates",
            "matches",
            "rounds",
            "model_calls",
            "spent_usd",
            "simulated_conditions",
        }
    )
    facts = {
        "run_dir": str(outcome.run_dir),
        "played": outcome.played,
        "simulated": bool(manifest.simulated_conditions),
        **told,
    }
    played = f"{outcome.played} matches played"
    if not outcome.played:
        played = "every match was played before, nothing to do"
    lines = [
        f"run {manifest.run_id} is {manifest.status}: {played};"
        f" {manifest.matches['total']} matches and {manifest.rounds:,} rounds in all"
    ]
    if manifest.spent_usd:
        lines.append(f"spent {manifest.spent_usd:.4f} dollars")
    if manifest.simulated_conditions:
        names = ", ".join(manifest.simulated_conditions)
        lines.append(f"{SIMULATED} (answered by the mock provider): {names}")
    lines.append(f"look at it: pdbench ui {outcome.run_dir}")
    return Said(facts, "\n".join(lines), _incomplete(outcome))


def _incomplete(outcome) -> RunError | None:
    """The matches that ended without a valid answer, as an error; None where there are none."""
    endings = outcome.manifest.incomplete_matches
    if not endings:
        return None
    total = outcome.manifest.matches["total"]
    first = ", ".join(f"{key} {value}" for key, value in endings[0].items())
    hint = ""
    if endings[0].get("problem") == "empty":
        hint = " (a model that thinks may need a higher decoding.max_tokens, or null)"
    return RunError(
        f"{outcome.run_dir / 'rounds.jsonl'}: {len(endings)} of {total} matches ended"
        f" incomplete, where an agent gave no C or D; the first: {first}{hint}. What it said"
        " stands in raw_responses and in the viewer"
    )


def main() -> None:
    """Entry point: errors a user can mend are one line on stderr.

    With --json stdout gets one object, {…facts, "exit_code": 0, "error": null}, whatever happens;
    a help is for people all the same.
    """
    # A shell starts background jobs with SIGINT ignored: an interruption must be told all the same.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    machine = "--json" in sys.argv and "--help" not in sys.argv
    with redirect_stdout(sys.stderr) if machine else nullcontext():
        said = _conclude()
    code = said.error.exit_code if said.error else 0
    error = hide(str(said.error)) if said.error else None
    text = said.text
    if machine:
        text = json.dumps(said.facts | {"exit_code": code, "error": error})
    try:
        if text:
            print(text, flush=True)
    except BrokenPipeError:  # nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error:
        say(f"error: {error}")
    sys.exit(code)


def _conclude() -> Said:
    """What the command says; what it raised as its error."""
    try:
        said = app(standalone_mode=False)
        return said if isinstance(said, Said) else Said()
    except PdbenchError as error:
        return Said(error=error)
    except OSError as error:
        where = error.filename if error.filename else "output"
        return Said(error=RunError(f"{where}: {error.strerror}"))
    except (KeyboardInterrupt, typer.Abort):
        how = "interrupted; whole rounds are kept, the same command resumes"
        return Said(error=Interrupted(how))
    except Exception as error:
        if hasattr(error, "format_message"):  # the command line's own errors
            usage = error.format_message().rstrip(".")
            return Said(error=ConfigError(f"{usage}; see pdbench --help"))
        say(hide(traceback.format_exc()))
        name = type(error).__name__
        return Said(error=PdbenchError(f"unexpected {name}: {error}"))


if __name__ == "__main__":
    main()
