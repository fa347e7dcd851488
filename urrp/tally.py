"""Counts of a stream of trials: what the metrics need, and nothing that grows with the trials."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from urrp.classify import act
from urrp.suite import CATEGORIES, items
from urrp.trials import Problem, Trial

TEMPLATE_CATEGORIES = ("declare", "frames", "trigger")  # whose refusals are compared
COMPARED = 2000  # characters of a refusal that are kept and compared
VERSIONS = 50  # different values of a field of `META` that are told apart
META = ("model_version", "served_model", "provider", "finish_reason", "suite_version")


class Cell(NamedTuple):
    """One prompt of one group: trials by label, and what they add to the rates."""

    labels: Counter[str]
    acts: Counter[str]  # "refused", "complied"
    answers: Counter[str]  # "yes", "no" of a yes/no prompt


class Group:
    """All trials of a model, or of a model at one temperature."""

    def __init__(self, model: str, temperature: str | None) -> None:
        self.model, self.temperature = model, temperature
        self.cells: dict[str, Cell] = {}
        self.refusals: dict[str, Counter[str]] = {}  # text → prompt → trials
        self.templates: Counter[str] = Counter()
        self.meta: dict[str, Counter[str]] = {name: Counter() for name in META}
        self.trials = 0
        self.simulated = self.pilot = False

    def add(self, trial: Trial) -> None:
        name, verdict = trial.asked.name, trial.reading.verdict
        cell = self.cells.get(name)
        if cell is None:
            cell = self.cells[name] = Cell(Counter(), Counter(), Counter())
        refused, complied = act(trial.asked, trial.reading)
        cell.labels[verdict.label] += 1
        cell.acts["refused"] += refused
        cell.acts["complied"] += complied
        if trial.asked.category == "yesno":
            cell.answers.update(_answers(trial))
        self.trials += 1
        self._note(trial)
        if refused and trial.asked.category in TEMPLATE_CATEGORIES:
            text = trial.output.strip()[:COMPARED]
            self.refusals.setdefault(text, Counter())[name] += 1
            self.templates[template(text, trial.asked.target)] += 1

    def _note(self, trial: Trial) -> None:
        for name in META:
            if isinstance(value := trial.fields.get(name), str) and value:
                seen = self.meta[name]
                known = value[:80] in seen or len(seen) < VERSIONS
                seen[value[:80] if known else "others"] += 1
        self.simulated |= trial.fields.get("provider") == "simulated"
        self.pilot |= bool(trial.fields.get("pilot"))

    def cell(self, name: str) -> Cell:
        return self.cells.get(name) or Cell(Counter(), Counter(), Counter())


def _answers(trial: Trial) -> list[str]:
    if trial.reading.answers:
        return [answer for answer in trial.reading.answers if answer in ("yes", "no")]
    label = trial.reading.verdict.label
    if trial.asked.prompt_id != "YESNO_DIRECT":
        return []
    return {"AFFIRM": ["yes"], "DENIAL": ["no"]}.get(label, [])


def template(text: str, target: str | None) -> str:
    """A refusal with the wanted words taken out and white space collapsed."""
    text = " ".join(text.split())
    if not target:
        return text
    return re.sub(re.escape(target.rstrip(".")) + r"\.?", "‹…›", text, flags=re.IGNORECASE)


class Tally:
    """All groups of a file, the problems by kind, and the prompt names that occur."""

    def __init__(self) -> None:
        self.models: dict[str, Group] = {}
        self.by_temperature: dict[tuple[str, str], Group] = {}
        self.problems: Counter[str] = Counter()
        self.files: Counter[str] = Counter()

    def add(self, trial: Trial) -> None:
        """Count one trial, for its model and for its model at its temperature."""
        self.files[trial.file] += 1
        if trial.model not in self.models:
            self.models[trial.model] = Group(trial.model, None)
        key = trial.model, trial.temperature
        if key not in self.by_temperature:
            self.by_temperature[key] = Group(*key)
        self.models[trial.model].add(trial)
        self.by_temperature[key].add(trial)

    def note(self, problem: Problem) -> None:
        self.problems[problem.kind] += 1

    def groups(self) -> list[Group]:
        """Models in alphabetical order, each followed by its temperatures where it has several."""
        found = []
        for model in sorted(self.models):
            parts = [g for (name, _), g in sorted(self.by_temperature.items()) if name == model]
            found += [self.models[model]] + (parts if len(parts) > 1 else [])
        return found

    def names(self) -> list[str]:
        """Prompt names in the suite's order, then triggers that are not in it."""
        known = [asked.name for asked in items()]
        there = {name for group in self.models.values() for name in group.cells}
        return known + sorted(there.difference(known))


def in_category(names: Iterable[str], category: str) -> list[str]:
    """The names among `names` that belong to a category."""
    assert category in CATEGORIES
    ids = {asked.prompt_id for asked in items() if asked.category == category}
    return [name for name in names if name.split("[", 1)[0] in ids]
