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
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from pdbench.core.secrets import hide
from pdbench.core.types import ConfigError, Interrupted, PdbenchError, RunError

app = typer.Typer(
    help="Iterated prisoner's dilemma between language models and classic policies.",
    no_args_is_help=True,
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

MOST_JOBS, MOST_PORT = 64, 65_535
RANGES = {
    "--replicates": "a whole number from 1",
    "--jobs": f"a whole number from 1 to {MOST_JOBS}",
    "--port": f"a whole number from 1 to {MOST_PORT}",
}


class Said(NamedTuple):
    """What a command has to say: `facts` under --json, `text` otherwise; `error` in both cases."""

    facts: dict[str, Any]
    text: str
    error: PdbenchError | None = None


@app.command()
def validate(config_path: ConfigPath, json: Json = False) -> Said:
    """Check an experiment and every file it refers to; print a short summary."""
    from pdbench.config.load import load_experiment
    from pdbench.runners.registry import not_ready
    from pdbench.summary import experiment_facts, experiment_text

    experiment = load_experiment(config_path)
    _warn(experiment)
    notes = list(not_ready(experiment.conditions))
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    return Said(
        {**experiment_facts(experiment), "notes": notes}, experiment_text(experiment)
    )


@app.command()
def run(
    config_path: ConfigPath,
    replicates: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Replicates per condition, instead of the file's;"
            " more than a run has are added, none is removed.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print the matches and model calls; write nothing."
        ),
    ] = False,
    jobs: Annotated[
        int, typer.Option(min=1, max=MOST_JOBS, help="Matches played side by side.")
    ] = 1,
    json: Json = False,
) -> Said:
    """Play all conditions and replicates. The same command resumes an interrupted run."""
    from pdbench.config.load import load_experiment
    from pdbench.summary import (
        match_list_facts,
        match_list_text,
        outcome_facts,
        outcome_text,
    )

    experiment = load_experiment(config_path)
    _warn(experiment)
    from pdbench.runners.run_experiment import plan, replicates_note, run_experiment

    if dry_run:
        matches = plan(experiment, replicates)
        return Said(
            match_list_facts(experiment, matches),
            match_list_text(matches, replicates_note(experiment, replicates)),
        )
    if note := replicates_note(experiment, replicates):
        print(f"note: {note}", file=sys.stderr)
    try:
        outcome = run_experiment(experiment, replicates, jobs)
    except KeyboardInterrupt:
        raise Interrupted(
            "interrupted; whole rounds are kept, the same command resumes"
        ) from None
    return Said(
        outcome_facts(outcome),
        outcome_text(outcome),
        RunError(_incomplete_text(outcome)) if outcome.incomplete else None,
    )


@app.command()
def aggregate(run_dir: RunDir, json: Json = False) -> Said:
    """Play rounds.jsonl again, name a line that disagrees, and write aggregates.parquet."""
    from pdbench.runners.run_experiment import aggregate as aggregate_again
    from pdbench.storage.manifest import read_manifest

    file, rows = run_dir / "aggregates.parquet", aggregate_again(run_dir)
    unproven = read_manifest(run_dir)["unproven"]
    return Said(
        {"file": str(file), "rows": rows, "unproven": unproven},
        f"{file}: {rows} rows\nunproven: {', '.join(unproven)}; times of rounds; which"
        " model answered",
    )


@app.command()
def report(run_dir: RunDir, json: Json = False) -> Said:
    """Write report.html (one file, no server needed) and report.md."""
    from pdbench.report.write import write_report

    files, found = write_report(run_dir)
    names = list(map(str, files))
    lines = [found, f"open {names[0]}", *names[1:]]
    return Said({"files": names, "answer": found}, "\n".join(lines))


@app.command()
def ui(
    run_dir: RunDir,
    port: Annotated[
        int, typer.Option(min=1, max=MOST_PORT, help="Port on 127.0.0.1.")
    ] = 8501,
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


def _warn(experiment) -> None:
    for warning in experiment.warnings:
        print(f"warning: {warning}", file=sys.stderr)


def _incomplete_text(outcome) -> str:
    first, count = outcome.incomplete[0], len(outcome.incomplete)
    return (
        f"{outcome.run_dir / 'rounds.jsonl'}: {count} of {outcome.manifest['matches']['total']}"
        f" matches ended incomplete; first: condition {first['condition']!r} replicate"
        f" {first['replicate']} round {first['round_index'] + 1}: {first['agent']}"
        f" ({first['seat']})"
        f" gave no C or D in {first['attempts']} attempts ({first['problem']}); see"
        " output.format and output.max_retries"
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
    try:
        _tell(said, machine)
    except BrokenPipeError:  # nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if said.error:
        print(_sendable(f"error: {said.error}"), file=sys.stderr)
        sys.exit(said.error.exit_code)


def _tell(said: Said, machine: bool) -> None:
    if machine:
        code, error = (
            (said.error.exit_code, str(said.error)) if said.error else (0, None)
        )
        print(
            _sendable(
                json.dumps(
                    {**said.facts, "exit_code": code, "error": error},
                    ensure_ascii=False,
                )
            )
        )
    elif said.text:
        print(_sendable(said.text))
    sys.stdout.flush()


def _sendable(text: str) -> str:
    """`text` with half surrogate pairs, which no UTF-8 holds, as their escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _conclude() -> Said:
    """What the command says; what it raised as its error."""
    try:
        said = app(standalone_mode=False)
        if isinstance(said, Said):
            return said
        return Said(
            {}, "", Interrupted("interrupted") if said else None
        )  # else a help was shown
    except PdbenchError as error:
        return Said({}, "", error)
    except OSError as error:
        return Said(
            {}, "", RunError(f"{error.filename or 'output'}: {error.strerror or error}")
        )
    except Exception as error:
        return _wrong_usage(error) or _unexpected(error)


def _wrong_usage(error: Exception) -> Said | None:
    """What is wrong with the command line; None where `error` is nothing of that."""
    if not hasattr(error, "format_message"):
        return None
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message(), file=sys.stderr)
        return Said({}, "", ConfigError("give a command"))
    return Said({}, "", ConfigError(f"{_usage(error)}; see pdbench --help"))


def _usage(error: Any) -> str:
    kind, param = type(error).__name__, getattr(error, "param", None)
    if kind == "NoSuchOption":
        return f"there is no option {error.option_name}"
    if kind == "BadOptionUsage":
        return f"{error.option_name} needs a value"
    if kind == "MissingParameter" and param:
        return f"{param.name.upper()} is missing"
    if param:
        name = param.opts[0]
        return f"{name} should be {RANGES.get(name, 'something else')}"
    known = [command.callback.__name__ for command in app.registered_commands]
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    if words and words[0] not in known:
        return f"there is no command {words[0]!r}; known: {', '.join(known)}"
    return "more arguments than the command takes"


def _unexpected(error: Exception) -> Said:
    print(hide(traceback.format_exc()), file=sys.stderr)
    words = hide(f"unexpected {type(error).__name__}: {error}")
    return Said({}, "", PdbenchError(words))


if __name__ == "__main__":
    main()
