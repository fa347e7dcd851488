"""Labels by people: a blinded sheet, and rates that allow for the classifier's errors.

A sample is the trials with the smallest hashes of file, line and content: the same file gives the
same sheet, and a sheet finds its trials again without naming model or label.
"""

from __future__ import annotations

import csv
import hashlib
import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common import UsageError
from common.artifacts import csv_line
from stats import prediction_powered_rate
from urrp.classify import Reading, role
from urrp.suite import CATEGORIES, LABELS
from urrp.trials import Trial

COLUMNS = ("id", "asked", "answered", "label")
FEWEST = 20  # labels of a model's category from which its rate is corrected


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
        return "".join(csv_line(row) for row in [COLUMNS, *sorted(rows)])


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
