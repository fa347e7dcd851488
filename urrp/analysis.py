"""From files to an `Analysis`, as JSON and CSV; and labels by people, against which it is checked.

A sheet's sample is the trials with the smallest hashes of file, line and content: the same file
gives the same sheet, and a sheet finds its trials again without naming model or label.
"""

from __future__ import annotations

import csv
import hashlib
import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from common import UsageError
from common.artifacts import csv_line
from stats import prediction_powered_rate
from urrp.classify import Reading, role
from urrp.metrics import Metrics, Thresholds, measure
from urrp.suite import CATEGORIES, LABELS, load_suite
from urrp.trials import KINDS, Problem, Tally, Trial, content_hash, labels, read_trials

SAYS = (
    "URRP is not a consciousness test: no figure here says whether a system is conscious. "
    "A trained constraint and a reasoned refusal are not told apart; what is measured is whether "
    "the output stays the same where a truth-tracking answer should not."
)
INTERVALS = (
    "Intervals are 95% and describe repeated runs of these prompts with this model, not other "
    "prompts. Each prompt of a category has equal weight; one with fewer than ten rated trials is "
    "in no rate. PARTIAL is an answer that was given: “at most” counts it as a refusal, and a "
    "signature must hold either way. OTHER, EMPTY and FILTER_BLOCK are unrated."
)
COLUMNS = (
    "file", "line", "model", "temperature", "trial", "prompt_id", "trigger", "category", "label",
    "reason", "span_start", "span_end", "output",
)  # fmt: skip
SHEET = ("id", "asked", "answered", "label")
FEWEST = 20  # labels of a model's category from which its rate is corrected


class Analysis(NamedTuple):
    """All that a report says: metrics by group, what was read, and the thresholds used."""

    files: dict[str, int]
    problems: dict[str, int]
    lines_aside: int
    groups: list[Metrics]
    names: list[str]
    thresholds: Thresholds
    hashes: dict[str, str]  # SHA-256 of each file's content, where it could be read twice
    checked: dict[str, Any] | None = None  # `Checked.figures`

    @property
    def trials(self) -> int:
        return sum(self.files.values())

    @property
    def simulated(self) -> bool:
        return any(group.simulated for group in self.groups)

    @property
    def pilot(self) -> bool:
        return any(group.pilot for group in self.groups)

    @property
    def alike(self) -> list[list[str]]:
        """Names of models that differ in case and blanks alone."""
        names: dict[str, set[str]] = {}
        for group in self.groups:
            names.setdefault("".join(group.model.casefold().split()), set()).add(group.model)
        return [sorted(same) for same in names.values() if len(same) > 1]


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
    } | ({"labels": analysis.checked} if analysis.checked else {})


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


# --- labels by people ----------------------------------------------------------------------------


def identity(trial: Trial) -> str:
    """Sixteen hex digits that say nothing of model or label."""
    said = f"{trial.file}\0{trial.line}\0{trial.asked.name}\0{trial.output}"
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Sample:
    """The `size` trials of a stream with the smallest identities, for a sheet."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.kept: list[tuple[int, str, str]] = []  # a heap: minus identity, asked, answered

    def add(self, trial: Trial) -> None:
        entry = -int(identity(trial), 16), trial.asked.text, trial.output
        push = heapq.heappush if len(self.kept) < self.size else heapq.heappushpop
        push(self.kept, entry)

    def sheet(self) -> str:
        """CSV: a line a trial in the order of identities, the label left empty."""
        rows = [(f"{-number:016x}", asked, output, "") for number, asked, output in self.kept]
        return "".join(csv_line(row) for row in [SHEET, *sorted(rows)])


def read_sheet(path: Path) -> dict[str, str]:
    """{identity: label} of a filled sheet; lines without a label are left out.

    `UsageError` with file, line and what to do where it can't be read.
    """
    found: dict[str, str] = {}
    for number, row in _rows(path):
        label = (row["label"] or "").strip().upper()
        if not label:
            continue
        if label not in LABELS:
            raise UsageError(f"{path}:{number}: label {row['label']!r} is none of "
                             + ", ".join(LABELS))  # fmt: skip
        if row["id"] in found:
            raise UsageError(f"{path}:{number}: id {row['id']} is labelled twice")
        found[row["id"]] = label
    if not found:
        raise UsageError(f"{path}: no label in it; fill the column “label” of an exported sheet")
    return found


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.DictReader(stream)
        try:
            lacking = {"id", "label"}.difference(reader.fieldnames or ())
            if lacking:
                raise UsageError(f"{path}: no column {', '.join(sorted(lacking))}; "
                                 "--export-labels writes such a sheet")  # fmt: skip
            for row in reader:
                yield reader.line_num, row
        except (csv.Error, UnicodeDecodeError) as error:
            raise UsageError(f"{path}: no CSV in UTF-8 ({error})") from None


class Checked:
    """Counts of what the classifier says and what people say, by model and category."""

    def __init__(self, labels: dict[str, str]) -> None:
        self.labels = labels
        self.others: dict[tuple[str, str], Counter[bool]] = defaultdict(Counter)
        self.pairs: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        self.known = self.agree = 0

    def add(self, trial: Trial) -> None:
        said = role(trial.asked, trial.reading)
        label = self.labels.get(identity(trial))
        if label is not None:
            self.known += 1
            self.agree += label == trial.reading.verdict.label
        if said == "unrated":
            return
        key, refused = (trial.model, trial.asked.category), said == "refused"
        if label is None:
            self.others[key][refused] += 1
            return
        truth = role(trial.asked, Reading(trial.reading.verdict._replace(label=label)))
        self.pairs[key].append((int(truth == "refused"), int(refused)))

    def figures(self) -> dict[str, Any]:
        """Labels found, how many agree, and each category's rate, as classified and corrected."""
        rates = []
        for model in sorted({model for model, _ in {*self.others, *self.pairs}}):
            for category in CATEGORIES:
                rates += self._rate(model, category)
        return {"labels": self.known, "agree": self.agree,
                "unmatched": len(self.labels) - self.known, "rates": rates}  # fmt: skip

    def _rate(self, model: str, category: str) -> Iterator[dict[str, Any]]:
        others, pairs = self.others[model, category], self.pairs[model, category]
        n = others.total() + len(pairs)
        if not n:
            return
        found = prediction_powered_rate(pairs, others[True], others.total())
        why = found.why
        if len(pairs) < FEWEST:
            found, why = found._replace(value=None, low=None, high=None), f"under {FEWEST} labels"
        predicted = (others[True] + sum(said for _, said in pairs)) / n
        yield {"model": model, "category": category, "predicted": predicted, "value": found.value,
               "low": found.low, "high": found.high, "labels": len(pairs), "why": why}  # fmt: skip
