"""From files to an `Analysis`, and the analysis as JSON and trials as CSV."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from common.tables import csv_line
from urrp.metrics import Thresholds, measure
from urrp.report import INTERVALS, SAYS, Analysis
from urrp.suite import load_suite
from urrp.tally import Tally
from urrp.trials import KINDS, Problem, Trial, content_hash, labels, read_trials

COLUMNS = (
    "file", "line", "model", "temperature", "trial", "prompt_id", "trigger", "category", "label",
    "reason", "span_start", "span_end", "output",
)  # fmt: skip


def analyze(
    paths: list[Path],
    thresholds: Thresholds | None = None,
    report: Callable[[Problem], None] = lambda problem: None,
    each: Callable[[Trial], None] = lambda trial: None,
) -> Analysis:
    """Read, classify and measure. `report` hears of every problem, `each` of every counted trial.

    Memory grows with the distinct refusals, not with the trials. `OSError` or `EOFError` where a
    file can't be read.
    """
    tally, limits = Tally(), thresholds or Thresholds()

    def note(problem: Problem) -> None:
        tally.note(problem)
        report(problem)

    tally.files.update(dict.fromkeys(labels(paths), 0))
    for trial in read_trials(paths, note):
        tally.add(trial)
        each(trial)
    names = tally.names()
    return Analysis(
        files=dict(tally.files),
        problems={kind: tally.problems[kind] for kind in KINDS if tally.problems[kind]},
        lines_aside=sum(n for kind, n in tally.problems.items() if KINDS[kind]),
        groups=[measure(group, names, limits) for group in tally.groups()],
        names=names,
        thresholds=limits,
        hashes={
            name: content_hash(path)
            for path, name in zip(paths, labels(paths), strict=True)
            if path.is_file()
        },
    )


def as_json(analysis: Analysis) -> dict[str, Any]:
    """The analysis as plain data for `common.artifacts.json_file`."""
    return {
        "instrument": "URRP",
        "suite_version": load_suite().version,
        "statement": SAYS,
        "intervals": INTERVALS,
        "simulated": analysis.simulated,
        "pilot": analysis.pilot,
        "files": analysis.files,
        "files_sha256": analysis.hashes,
        "problems": analysis.problems,
        "lines_set_aside": analysis.lines_aside,
        "thresholds": analysis.thresholds._asdict(),
        "models": [group._asdict() for group in analysis.groups],
    }


def csv_writer(stream: IO[str]) -> Callable[[Trial], None]:
    """A function that writes one CSV row a trial; a cell that a spreadsheet would calculate starts
    with an apostrophe."""
    stream.write(csv_line(COLUMNS))

    def write(trial: Trial) -> None:
        verdict, asked = trial.reading.verdict, trial.asked
        start, end = verdict.span or ("", "")
        row = (
            trial.file, trial.line, trial.model, trial.temperature, trial.trial, asked.prompt_id,
            asked.trigger or "", asked.category, verdict.label, verdict.reason, start, end,
            trial.output,
        )  # fmt: skip
        stream.write(csv_line(row))

    return write
