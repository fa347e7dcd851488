"""From lines of JSONL to trials and their counts; what is set aside, and why; labels by people.

Nothing is dropped silently: every line that is not counted, and every one that is counted with a
remark, is a `Problem` with its file, line and reason. A sheet for people is the trials with the
smallest hashes of file, line and content: the same file gives the same sheet, and a sheet finds its
trials again without naming model or label.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import math
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple

from common import UsageError
from common.artifacts import csv_line, lines_of, unpacked, value_of
from common.refusals import Verdict
from stats import wilson_interval
from urrp import ACTS, CATEGORIES, LABELS, QUESTIONS, Item, item, items, load_suite, words
from urrp.classify import answers, classify

TEMPLATE_CATEGORIES = ("declare", "frames", "trigger")  # whose refusals are compared
COMPARED = 2000  # characters of a refusal that are compared
META = ("model_version", "served_model", "provider", "finish_reason", "suite_version")
SHEET = ("id", "asked", "answered", "label")
REQUIRED = ("model", "trial", "prompt_id", "prompt", "output")


class Problem(NamedTuple):
    """One line with something wrong, in words; `counted` where its trial is in the rates."""

    file: str
    line: int
    text: str
    counted: bool = False


_SPELLED = {"AFFIRM": "yes", "DENIAL": "no"}


class Reading(NamedTuple):
    """A verdict with the yes/no answers it holds: `yes`, `no` or `refused`, in order."""

    verdict: Verdict
    answers: tuple[str, ...] = ()


def role(asked: Item, reading: Reading) -> str:
    """What a trial is in its prompt's account: `complied`, `refused`, `partial` or `unrated`."""
    label = reading.verdict.label
    if len(reading.answers) == QUESTIONS and "refused" not in reading.answers:
        return "complied"
    complies, refuses = ACTS.get(asked.prompt_id) or ACTS[asked.category]
    if label in complies:
        return "complied"
    if label in refuses:
        return "refused"
    return "partial" if label == "PARTIAL" else "unrated"


class Trial(NamedTuple):
    """One counted line. `temperature` as written, `default` where absent; `meta`: its `META`."""

    file: str
    line: int
    model: str
    temperature: str
    trial: int | str
    asked: Item
    output: str
    reading: Reading
    meta: Mapping[str, str]
    pilot: bool


class Refused(Exception):
    """A line that can't be counted, in words."""


def _object(line: bytes) -> dict[str, Any]:
    try:
        data = value_of(line)
    except UnicodeDecodeError:
        raise Refused("bytes that are no UTF-8; save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        raise Refused(f"broken JSON: {error.msg} at column {error.colno}; one object a line, "
                      "without brackets or commas around it") from None  # fmt: skip
    except ValueError as error:
        raise Refused(f"broken JSON: {error}") from None
    if not isinstance(data, dict):
        raise Refused(f"a JSON {type(data).__name__}, not an object; one object a line")
    return data


def _checked(data: Mapping[str, Any]) -> tuple[str, int | str, str]:
    """(model, trial, temperature) of a line with all its fields in order."""
    missing = [name for name in REQUIRED if data.get(name) is None]
    if missing:
        raise Refused("no " + ", ".join(missing))
    for name in ("model", "prompt_id", "prompt", "output"):
        if not isinstance(data[name], str):
            raise Refused(f"{name} is {type(data[name]).__name__}, not text")
    trial = data["trial"]
    if isinstance(trial, float) and trial.is_integer():
        trial = int(trial)
    if isinstance(trial, bool) or not isinstance(trial, (int, str)) or not data["model"]:
        raise Refused("trial is no whole number, or model is empty")
    return intern(data["model"]), trial, intern(_temperature(data.get("temperature")))


def _temperature(value: object) -> str:
    if value is None or value == "":
        return "default"
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise Refused(f"temperature is {type(value).__name__}, not a number or text")
    try:
        number = float(value)
    except (OverflowError, ValueError):
        return str(value)
    return f"{number:g}" if math.isfinite(number) else str(value)


def _asked(data: Mapping[str, Any]) -> Item:
    prompt_id, trigger = data["prompt_id"], data.get("trigger")
    if prompt_id not in load_suite().prompts:
        raise Refused(f"prompt_id {prompt_id[:60]!r} is not in URRP v1.1")
    if prompt_id != "TRIGGER_REPEAT":
        return item(prompt_id)
    if not isinstance(trigger, str) or not trigger.strip():
        raise Refused("TRIGGER_REPEAT without its trigger")
    return item(prompt_id, trigger)


def _remarks(data: Mapping[str, Any], asked: Item) -> Iterator[str]:
    """Remarks on a line that is counted; `Refused` where it was asked something else."""
    prompt = data["prompt"]
    if prompt != asked.text and prompt.replace("\r\n", "\n").strip() != asked.text:
        if words(prompt) != words(asked.text):
            raise Refused(f"another prompt: its words are not those of {asked.prompt_id}")
        yield "white space, case or punctuation of the prompt differ from the suite"
    if asked.trigger and asked.trigger not in load_suite().triggers:
        yield f"trigger {asked.trigger[:60]!r} is not in the suite"
    if data.get("finish_reason") == "length":
        yield "the output was cut off at its limit"


def labels(paths: list[Path]) -> list[str]:
    """What each file is called in reports: its name, or its path where two share a name."""
    names = [path.name for path in paths]
    return [p.name if names.count(p.name) == 1 else str(p) for p in paths]


def read_trials(paths: list[Path]) -> tuple[list[Trial], list[Problem]]:
    """All countable trials of the files in order, and the lines with something wrong.

    `OSError` or `UsageError` where a file can't be read.
    """
    trials, problems = [], []
    there: set[tuple[object, ...]] = set()
    for path, name in zip(paths, labels(paths), strict=True):
        for number, line in enumerate(_lines(path), 1):
            if not line.strip(b" \t\r\n\0"):
                continue
            try:
                trial, remarks = _trial(name, number, line)
                key = (trial.model, trial.temperature, trial.trial, trial.asked.name)
                if key in there:
                    raise Refused(f"{trial.asked.name} trial {str(trial.trial)[:40]} of "
                                  f"{trial.model[:60]} was there before")  # fmt: skip
            except Refused as why:
                problems.append(Problem(name, number, str(why)))
            else:
                there.add(key)
                trials.append(trial)
                problems += [Problem(name, number, text, counted=True) for text in remarks]
    return trials, problems


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file without byte-order marks."""
    try:
        with unpacked(path) as stream:
            for line in lines_of(stream):
                yield line.removeprefix(b"\xef\xbb\xbf")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"{path}: the gzip is damaged ({error}); restore it from a copy") from None


def _trial(file: str, number: int, line: bytes) -> tuple[Trial, list[str]]:
    data = _object(line)
    model, trial, temperature = _checked(data)
    asked = _asked(data)
    remarks = list(_remarks(data, asked))
    output = intern(data["output"])
    labels = answers(data)
    reading = Reading(classify(data), tuple(_SPELLED.get(label, "refused") for label in labels
                      if label in _SPELLED or len(labels) == QUESTIONS))  # fmt: skip
    meta = {name: intern(value[:80]) for name in META
            if isinstance(value := data.get(name), str) and value}  # fmt: skip
    pilot = bool(data.get("pilot"))
    found = Trial(file, number, model, temperature, trial, asked, output, reading, meta, pilot)
    return found, remarks


class Cell(NamedTuple):
    """One prompt of one group: its trials by label and by role, and its yes/no answers."""

    labels: Counter[str]
    roles: Counter[str]  # complied, refused, partial or unrated
    answers: Counter[tuple[int, int]]  # (yes, no) of a conversation → conversations
    unrated: Counter[str]  # labels of the trials that are in no rate

    @property
    def denied(self) -> int:
        """Conversations that deny, or answer no more often than yes."""
        said_no = sum(n for (yes, no), n in self.answers.items() if no > yes)
        return said_no if self.answers else self.labels["DENIAL"]


class Group:
    """The counts of all trials of a model, or of a model at one temperature."""

    def __init__(self, model: str, temperature: str | None, trials: Iterable[Trial]) -> None:
        self.model, self.temperature = model, temperature
        self.cells: dict[str, Cell] = {}
        self.refusals: dict[str, Counter[str]] = defaultdict(Counter)  # text → prompt → trials
        self.targets: dict[str, str | None] = {}  # of the prompts that were refused
        self.meta: dict[str, Counter[str]] = {name: Counter() for name in META}
        self.trials = 0
        self.simulated = self.pilot = False
        for trial in trials:
            self._add(trial)

    def _add(self, trial: Trial) -> None:
        asked, label = trial.asked, trial.reading.verdict.label
        cell = self.cells[asked.name] = self.cell(asked.name)
        part = role(asked, trial.reading)
        cell.labels[label] += 1
        cell.roles[part] += 1
        if part == "unrated":
            cell.unrated[label] += 1
        if answers := trial.reading.answers:
            cell.answers[answers.count("yes"), answers.count("no")] += 1
        if part == "refused" and asked.category in TEMPLATE_CATEGORIES:
            self.refusals[trial.output.strip()[:COMPARED]][asked.name] += 1
            self.targets[asked.name] = asked.target
        for name, value in trial.meta.items():
            self.meta[name][value] += 1
        self.trials += 1
        self.simulated |= trial.meta.get("provider") == "simulated"
        self.pilot |= trial.pilot

    def cell(self, name: str) -> Cell:
        return self.cells.get(name) or Cell(Counter(), Counter(), Counter(), Counter())

    @property
    def templates(self) -> Counter[str]:
        """Refusals without the words that were wanted → trials."""
        found: Counter[str] = Counter()
        for text, by_prompt in self.refusals.items():
            for name, times in by_prompt.items():
                found[template(text, self.targets[name])] += times
        return found


def template(text: str, target: str | None) -> str:
    """A refusal with the wanted words taken out and white space collapsed."""
    text = " ".join(text.split())
    if not target:
        return text
    return re.sub(re.escape(target.rstrip(".")) + r"\.?", "‹…›", text, flags=re.IGNORECASE)


def grouped(trials: Iterable[Trial]) -> list[Group]:
    """Models in alphabetical order, each followed by its temperatures where it has several."""
    by_model: dict[str, dict[str, list[Trial]]] = defaultdict(lambda: defaultdict(list))
    for trial in trials:
        by_model[trial.model][trial.temperature].append(trial)
    found = []
    for model, by_temperature in sorted(by_model.items()):
        parts = sorted(by_temperature.items())
        found.append(Group(model, None, (trial for _, part in parts for trial in part)))
        if len(parts) > 1:
            found += [Group(model, temperature, part) for temperature, part in parts]
    return found


def prompt_names(trials: Iterable[Trial]) -> list[str]:
    """Prompt names in the suite's order, then triggers that are not in it."""
    known = [asked.name for asked in items()]
    return known + sorted({trial.asked.name for trial in trials}.difference(known))


def in_category(names: Iterable[str], category: str) -> list[str]:
    """The names among `names` that belong to a category."""
    ids = {asked.prompt_id for asked in items() if asked.category == category}
    return [name for name in names if name.split("[", 1)[0] in ids]


# --- labels by people ----------------------------------------------------------------------------


def identity(trial: Trial) -> str:
    """Sixteen hex digits that say nothing of model or label."""
    said = f"{trial.file}\0{trial.line}\0{trial.asked.name}\0{trial.output}"
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def sheet(trials: Iterable[Trial], size: int) -> str:
    """CSV of the `size` trials with the smallest identities, in their order, labels left empty.

    It begins with a byte-order mark, by which a spreadsheet knows UTF-8.
    """
    rows = sorted((identity(trial), trial.asked.text, trial.output, "") for trial in trials)
    return "\ufeff" + "".join(map(csv_line, [SHEET, *rows[:size]]))


def read_sheet(path: Path) -> dict[str, str]:
    """{identity: label} of a filled sheet; lines without a label are left out.

    `UsageError` with file, line and what to do where it can't be read.
    """
    found: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            rows = [(reader.line_num, row) for row in reader]
    except (csv.Error, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: no CSV in UTF-8 ({error})") from None
    if lacking := {"id", "label"}.difference(reader.fieldnames or ()):
        raise UsageError(f"{path}: no column {', '.join(sorted(lacking))}; "
                         "--export-labels writes such a sheet")  # fmt: skip
    for number, row in rows:
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


def labelled(trials: Iterable[Trial], sheet: dict[str, str]) -> dict[str, Any]:
    """Labels of people found, how many agree, and refusal of the labelled trials by either."""
    agree, roles = 0, defaultdict(list)
    for trial in trials:
        if not (label := sheet.get(identity(trial))):
            continue
        verdict = trial.reading.verdict
        agree += label == verdict.label
        by_people = role(trial.asked, Reading(verdict._replace(label=label)))
        roles[trial.model, trial.asked.category].append(
            (role(trial.asked, trial.reading), by_people))  # fmt: skip
    known = sum(map(len, roles.values()))
    rates = [_labelled_rate(model, category, roles[model, category])
             for model in sorted({model for model, _ in roles})
             for category in CATEGORIES if (model, category) in roles]  # fmt: skip
    return {"labels": known, "agree": agree, "unmatched": len(sheet) - known, "rates": rates}


def _labelled_rate(model: str, category: str, roles: list[tuple[str, str]]) -> dict[str, Any]:
    by_rules, by_people = ([one == "refused" for one in said if one != "unrated"]
                           for said in zip(*roles, strict=True))  # fmt: skip
    low, high, why = wilson_interval(sum(by_people), len(by_people))
    return {"model": model, "category": category,
            "predicted": sum(by_rules) / len(by_rules) if by_rules else None,
            "value": sum(by_people) / len(by_people) if by_people else None,
            "low": low, "high": high, "labels": len(roles), "why": why}  # fmt: skip
