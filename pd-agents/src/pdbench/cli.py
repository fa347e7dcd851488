"""`pdbench`: validate, run, aggregate, report and look at iterated prisoner's dilemmas.

Exit codes: 0 done; 2 wrong usage or configuration; 3 incomplete or damaged (resumable where it
says so); 130 interrupted, rounds kept.
"""

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from pdbench.core.types import Interrupted, PdbenchError, RunError

app = typer.Typer(
    help="Iterated prisoner's dilemma between language models and classic policies.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

ConfigPath = Annotated[Path, typer.Argument(help="The experiment's YAML file.")]
RunDir = Annotated[Path, typer.Argument(help="A folder that `pdbench run` wrote.")]


@app.command()
def validate(config_path: ConfigPath) -> None:
    """Check an experiment and every file it refers to; print a short summary."""
    from pdbench.config.load import load_experiment
    from pdbench.runners.registry import not_ready
    from pdbench.summary import experiment_text

    experiment = load_experiment(config_path)
    _warn(experiment)
    print(experiment_text(experiment))
    for note in not_ready(experiment.conditions):
        print(f"note: {note}", file=sys.stderr)


@app.command()
def run(
    config_path: ConfigPath,
    replicates: Annotated[
        int | None, typer.Option(min=1, help="Replicates per condition, instead of the file's.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the matches and model calls; write nothing.")
    ] = False,
    jobs: Annotated[
        int, typer.Option(min=1, max=64, help="Matches played side by side.")
    ] = 1,
) -> None:
    """Play all conditions and replicates. The same command resumes an interrupted run."""
    from pdbench.config.load import load_experiment
    from pdbench.summary import match_list_text, outcome_text

    experiment = load_experiment(config_path)
    _warn(experiment)
    from pdbench.runners.run_experiment import plan, run_experiment

    if dry_run:
        print(match_list_text(plan(experiment, replicates)))
        return
    try:
        outcome = run_experiment(experiment, replicates, jobs)
    except KeyboardInterrupt:
        raise Interrupted("interrupted; whole rounds are kept, the same command resumes") from None
    print(outcome_text(outcome))
    if outcome.incomplete:
        raise RunError(_incomplete_text(outcome))


@app.command()
def aggregate(run_dir: RunDir) -> None:
    """Compute aggregates.parquet again from rounds.jsonl."""
    from pdbench.storage.aggregate import aggregate as write_aggregates

    table = write_aggregates(run_dir)
    print(f"{run_dir / 'aggregates.parquet'}: {table.num_rows} rows")


@app.command()
def report(run_dir: RunDir) -> None:
    """Write report.html (one file, no server needed) and report.md."""
    from pdbench.report.write import write_report

    for path in write_report(run_dir):
        print(path)


@app.command()
def ui(
    run_dir: RunDir,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 8501,
    show: Annotated[
        bool, typer.Option("--print", help="Print the Streamlit command instead of running it.")
    ] = False,
) -> None:
    """Open the read-only viewer in a browser."""
    from pdbench.ui.launch import launch

    launch(run_dir, port, show)


def _warn(experiment) -> None:
    for warning in experiment.warnings:
        print(f"warning: {warning}", file=sys.stderr)


def _incomplete_text(outcome) -> str:
    first, count = outcome.incomplete[0], len(outcome.incomplete)
    return (
        f"{outcome.run_dir / 'rounds.jsonl'}: {count} of {outcome.manifest['matches']['total']}"
        f" matches ended incomplete; first: condition {first['condition']!r} replicate"
        f" {first['replicate']} round {first['round_index']}: {first['agent']} ({first['seat']})"
        f" gave no C or D in {first['attempts']} attempts ({first['problem']}); see"
        " output.format and output.max_retries"
    )


def main() -> None:
    """Entry point: errors a user can mend are one line on stderr."""
    # A shell starts background jobs with SIGINT ignored: an interruption must be told all the same.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        app()
    except PdbenchError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except OSError as error:
        print(f"error: {error.filename or 'output'}: {error.strerror or error}", file=sys.stderr)
        sys.exit(RunError.exit_code)


if __name__ == "__main__":
    main()
