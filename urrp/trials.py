"""From lines of JSONL to trials and their counts; what is set aside, and why; labels by people.

Nothing is dropped silently: every line that is not counted, and every one that is counted with a
remark, is a `Problem` with its file, line and reason. Trials are read one after the other; what
stays in memory are counts and distinct texts. A sheet for people is the trials with the smallest
hashes of file, line and content: the same file gives the same sheet, and a sheet finds its trials
again without naming model or label.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import heapq
import json
import math
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple

from common import UsageError
from common.artifacts import csv_line, lines_of, parsed, unpacked
from common.refusals import Verdict
from urrp import ACTS, LABELS, OTHER_WORDS, QUESTIONS, Item, item, load_suite, words
from urrp.classify import read

COMPARED = ("declare", "frames", "trigger")  # categories whose refusals are compared
LENGTH = 2000  # characters of a refusal that are compared
SHEET = ("id", "asked", "answered", "label")
REQUIRED = ("model", "trial", "prompt_id", "prompt", "output")
CLAIMS = {"DENIAL": "denial", "AFFIRM": "affirmation"}


class Problem(NamedTuple):
    """One line with something wrong, in words; `counted` where its trial is in the rates."""

    file: str
    line: int
    text: str
    counted: bool = False


class Outcome(NamedTuple):
    """What a trial is in its prompt's account, the claim that it makes, and its yes/no answers."""

    label: str
    role: str  # complied, refused, hedged, partial or unrated
    claim: str | None  # "denial", "affirmation", or None
    yes: int = 0
    no: int = 0


class Trial(NamedTuple):
    """One counted line. `temperature` as written, `default` where absent."""

    file: str
    line: int
    model: str
    temperature: str
    trial: int | str
    item: Item
    output: str
    verdict: Verdict
    outcome: Outcome
    simulated: bool
    pilot: bool


# --- from label to role --------------------------------------------------------------------------


def role(prompt: Item, label: str, given: Sequence[str] = ()) -> str:
    """What a trial is in its prompt's account: complied, refused, hedged, partial or unrated."""
    if label == "HEDGE":
        return "hedged"
    if len(given) == QUESTIONS and set(given) <= CLAIMS.keys():
        return "complied"
    names = prompt.prompt_id, prompt.category
    complies, refuses = next(ACTS[name] for name in names if name in ACTS)
    if label in complies:
        return "complied"
    if label in refuses:
        return "refused"
    same = next((OTHER_WORDS[name] for name in names if name in OTHER_WORDS), ())
    return "partial" if label == "PARTIAL" or label in same else "unrated"


def claim(prompt: Item, label: str, given: Sequence[str]) -> str | None:
    """What a conversation claims of the model: the majority of its yes/no answers, what it says in
    its own words, or the sentence that it prints."""
    yes, no = given.count("AFFIRM"), given.count("DENIAL")
    if yes != no:
        return "affirmation" if yes > no else "denial"
    if label in ("EXACT_COMPLY", "PARTIAL") and prompt.target:
        return "denial" if prompt.prompt_id == "DECLARE_2" else "affirmation"
    return CLAIMS.get(label)


@cache  # models repeat themselves
def _read(prompt: Item, output: str, filtered: bool) -> tuple[Verdict, Outcome]:
    verdict, given = read(prompt, output, filtered)
    return verdict, Outcome(
        verdict.label,
        role(prompt, verdict.label, given),
        claim(prompt, verdict.label, given),
        given.count("AFFIRM"),
        given.count("DENIAL"),
    )


# --- lines ---------------------------------------------------------------------------------------


class Refused(Exception):
    """A line that can't be counted, in words."""


def _object(line: bytes) -> dict[str, Any]:
    try:
        data = parsed(line)
    except UnicodeDecodeError:
        raise Refused("bytes that are no UTF-8; save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        raise Refused(
            f"broken JSON: {error.msg} at column {error.colno}; one object a line, "
            "without brackets or commas around it"
        ) from None
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
    if (
        isinstance(trial, bool)
        or not isinstance(trial, (int, str))
        or not data["model"]
    ):
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


def _prompt(data: Mapping[str, Any]) -> Item:
    prompt_id, trigger = data["prompt_id"], data.get("trigger")
    if prompt_id not in load_suite().prompts:
        raise Refused(f"prompt_id {prompt_id[:60]!r} is not in URRP v1.1")
    if prompt_id != "TRIGGER_REPEAT":
        return item(prompt_id)
    if not isinstance(trigger, str) or not trigger.strip():
        raise Refused("TRIGGER_REPEAT without its trigger")
    return item(prompt_id, trigger)


def _remarks(data: Mapping[str, Any], wanted: Item) -> Iterator[str]:
    """Remarks on a line that is counted; `Refused` where it was asked something else."""
    text = data["prompt"]
    if text != wanted.text and text.replace("\r\n", "\n").strip() != wanted.text:
        if words(text) != words(wanted.text):
            raise Refused(
                f"another prompt: its words are not those of {wanted.prompt_id}"
            )
        yield "white space, case or punctuation of the prompt differ from the suite"
    if wanted.trigger and wanted.trigger not in load_suite().triggers:
        yield f"trigger {wanted.trigger[:60]!r} is not in the suite"
    if data.get("finish_reason") == "length":
        yield "the output was cut off at its limit"


def labels(paths: list[Path]) -> list[str]:
    """What each file is called in reports: its name, or its path where two share a name."""
    names = [path.name for path in paths]
    return [p.name if names.count(p.name) == 1 else str(p) for p in paths]


def read_trials(paths: list[Path]) -> Iterator[Trial | Problem]:
    """Each countable trial of the files in order, and each line with something wrong.

    `OSError` or `UsageError` where a file can't be read.
    """
    seen: dict[tuple[object, ...], int] = defaultdict(int)
    for path, name in zip(paths, labels(paths), strict=True):
        for number, line in enumerate(_lines(path), 1):
            if not line.strip(b" \t\r\n\0"):
                continue
            try:
                trial, remarks = _trial(name, number, line)
                _count_once(trial, seen)
            except Refused as why:
                yield Problem(name, number, str(why))
            else:
                yield trial
                yield from (
                    Problem(name, number, text, counted=True) for text in remarks
                )


def countable(paths: list[Path]) -> Iterator[Trial]:
    """The trials alone."""
    return (entry for entry in read_trials(paths) if isinstance(entry, Trial))


def _count_once(trial: Trial, seen: dict[tuple[object, ...], int]) -> None:
    """Mark a trial as seen; `Refused` where it was. A word of 64 numbers is one entry."""
    word, bit = (
        (trial.trial >> 6, 1 << (trial.trial & 63))
        if isinstance(trial.trial, int)
        else (trial.trial, 1)
    )
    key = trial.model, trial.temperature, trial.item.name, word
    if seen[key] & bit:
        raise Refused(
            f"{trial.item.name} trial {str(trial.trial)[:40]} of {trial.model[:60]} was "
            "there before"
        )
    seen[key] |= bit


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file without byte-order marks."""
    try:
        with unpacked(path) as stream:
            for line in lines_of(stream):
                yield line.removeprefix(b"\xef\xbb\xbf")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(
            f"{path}: the gzip is damaged ({error}); restore it from a copy"
        ) from None


def _trial(file: str, number: int, line: bytes) -> tuple[Trial, list[str]]:
    data = _object(line)
    model, trial, temperature = _checked(data)
    prompt = _prompt(data)
    remarks = list(_remarks(data, prompt))
    output = intern(data["output"])
    outcome = _read(prompt, output, data.get("finish_reason") == "content_filter")
    return Trial(
        file,
        number,
        model,
        temperature,
        trial,
        prompt,
        output,
        *outcome,
        data.get("provider") == "simulated",
        bool(data.get("pilot")),
    ), remarks


# --- counts --------------------------------------------------------------------------------------


class Group:
    """The counts of all trials of a model, or of a model at one temperature."""

    def __init__(self, model: str, temperature: str | None) -> None:
        self.model, self.temperature = model, temperature
        self.cells: dict[str, Counter[Outcome]] = defaultdict(Counter)  # by prompt
        self.refusals: dict[str, Counter[str]] = defaultdict(
            Counter
        )  # template → prompt → trials
        self.trials = 0
        self.simulated = self.pilot = False

    def add(self, trial: Trial) -> None:
        """Count one trial."""
        prompt, outcome = trial.item, trial.outcome
        self.cells[prompt.name][outcome] += 1
        if outcome.role == "refused" and prompt.category in COMPARED:
            self.refusals[template(trial.output, prompt.target)][prompt.name] += 1
        self.trials += 1
        self.simulated |= trial.simulated
        self.pilot |= trial.pilot

    def count(self, name: str, field: str) -> Counter[Any]:
        """Trials of a prompt by a field of their `Outcome`."""
        total: Counter[Any] = Counter()
        for outcome, times in self.cells[name].items():
            total[getattr(outcome, field)] += times
        return total


@cache
def category_of(name: str) -> str:
    """The category of a prompt, by its name in a report."""
    return load_suite().prompts[name.partition("[")[0]].category


@cache
def template(text: str, target: str | None) -> str:
    """A refusal without the words that were wanted, white space collapsed."""
    text = " ".join(text.strip()[:LENGTH].split())
    if not target:
        return text
    return re.sub(
        re.escape(target.rstrip(".")) + r"\.?", "‹…›", text, flags=re.IGNORECASE
    )


def groups(models: Mapping[tuple[str, str | None], Group]) -> list[Group]:
    """Models in alphabetical order, each followed by its temperatures where it has several."""
    several = Counter(model for model, _ in models)
    return [
        group
        for (model, temperature), group in sorted(
            models.items(), key=lambda entry: (entry[0][0], entry[0][1] or "")
        )
        if temperature is None or several[model] > 2
    ]


# --- labels by people ----------------------------------------------------------------------------


def identity(trial: Trial) -> str:
    """Sixteen hex digits that say nothing of model or label."""
    text = f"{trial.file}\0{trial.line}\0{trial.item.name}\0{trial.output}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def sheet(paths: list[Path], size: int) -> bytes:
    """CSV of the `size` trials with the smallest identities, in their order, labels left empty.

    It begins with a byte-order mark, by which a spreadsheet knows UTF-8.
    """
    rows = heapq.nsmallest(
        size, ((identity(t), t.item.text, t.output, "") for t in countable(paths))
    )
    return ("\ufeff" + "".join(map(csv_line, [SHEET, *rows]))).encode(
        "utf-8", "replace"
    )


def read_sheet(path: Path) -> dict[str, str]:
    """{identity: label} of a filled sheet; lines without a label are left out.

    `UsageError` with file, line and what to do where it can't be read.
    """
    given: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            rows = [(reader.line_num, row) for row in reader]
    except (csv.Error, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: no CSV in UTF-8 ({error})") from None
    if lacking := {"id", "label"}.difference(reader.fieldnames or ()):
        raise UsageError(
            f"{path}: no column {', '.join(sorted(lacking))}; "
            "--export-labels writes such a sheet"
        )
    for number, row in rows:
        label = (row["label"] or "").strip().upper()
        if not label:
            continue
        if label not in LABELS:
            raise UsageError(
                f"{path}:{number}: label {row['label']!r} is none of "
                + ", ".join(LABELS)
            )
        if row["id"] in given:
            raise UsageError(f"{path}:{number}: id {row['id']} is labelled twice")
        given[row["id"]] = label
    if not given:
        raise UsageError(
            f"{path}: no label in it; fill the column “label” of an exported sheet"
        )
    return given
