"""From lines of JSONL to trials and their counts: what is read, what is set aside, and why.

Lines are read one at a time. Nothing is dropped silently: every line that is not counted, and every
one that is counted with a remark, is a `Problem` with its file, line and reason. What is kept of a
trial are counts: nothing grows with the trials.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import IO, NamedTuple

from common.artifacts import crowded
from urrp import CATEGORIES, Item, item, items, load_suite, words
from urrp.classify import Reading, read_as, role

LINE_LIMIT = 16 * 1024 * 1024  # characters of a line; a longer one is set aside unread
TEMPLATE_CATEGORIES = ("declare", "frames", "trigger")  # whose refusals are compared
COMPARED = 2000  # characters of a refusal that are kept and compared
NEAR = 64  # bytes of trial numbers beyond the known ones that are kept as bits
VERSIONS = 50  # different values of a field of `META` that are told apart
META = ("model_version", "served_model", "provider", "finish_reason", "suite_version")
REQUIRED = ("model", "trial", "prompt_id", "prompt", "output")

# kind → is a line of this kind left out of the rates?
KINDS = {
    "broken JSON": True,
    "incomplete last line": True,
    "line too long": True,
    "not UTF-8": True,
    "not an object": True,
    "missing field": True,
    "wrong type": True,
    "unknown prompt_id": True,
    "missing trigger": True,
    "duplicate": True,
    "another prompt": True,
    "prompt in another form": False,
    "trigger not in the suite": False,
    "truncated output": False,
}


class Problem(NamedTuple):
    """One line with something wrong: kind of `KINDS`, and the words for it."""

    file: str
    line: int
    kind: str
    text: str


class Trial(NamedTuple):
    """One counted line. `temperature` as written, `default` where absent."""

    file: str
    line: int
    model: str
    temperature: str
    trial: int | str
    asked: Item
    output: str
    reading: Reading
    fields: Mapping[str, object]


Report = Callable[[Problem], None]


def _encoding(head: bytes) -> str:
    """The encoding of a file by its first bytes: UTF-8, or UTF-16 as Windows shells write it."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head[1:2] == b"\0":
        return "utf-16-le"
    return "utf-16-be" if head[:1] == b"\0" else "utf-8-sig"


def _open(path: Path) -> io.BufferedReader:
    """A file's content, unpacked where it is gzipped; `OSError` where it can't be read."""
    raw = path.open("rb")
    packed = raw.peek(2)[:2] == b"\x1f\x8b"
    return io.BufferedReader(gzip.GzipFile(fileobj=raw)) if packed else raw


def content_hash(path: Path) -> str:
    """SHA-256 of what the file says, not of how it is packed."""
    with _open(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def open_text(path: Path) -> IO[str]:
    """A JSONL file as text; `OSError` where it can't be read."""
    stream = _open(path)
    encoding = _encoding(stream.peek(4)[:4])
    broken = "surrogateescape" if encoding == "utf-8-sig" else "replace"
    return io.TextIOWrapper(stream, encoding=encoding, errors=broken, newline="\n")


@contextmanager
def _unpacking() -> Iterator[None]:
    try:
        yield
    except zlib.error as error:
        raise EOFError(f"the gzip is damaged ({error}); restore it from a copy") from None


def _lines(stream: IO[str]) -> Iterator[tuple[int, str | None]]:
    """(number, line) pairs; None for a line longer than the limit."""
    number = 0
    while line := stream.readline(LINE_LIMIT):
        number += 1
        whole = len(line) < LINE_LIMIT or line.endswith("\n")
        while not whole and (rest := stream.readline(LINE_LIMIT)):
            whole = rest.endswith("\n")
            line = ""
        yield number, line or None


class _Seen:
    """Which trials of a prompt were there: one bit a trial where they are numbered densely."""

    def __init__(self) -> None:
        self.bits: dict[tuple, bytearray] = {}
        self.others: set[tuple] = set()

    def add(self, key: tuple, trial: int | str) -> bool:
        """True where (key, trial) is new."""
        bits = self.bits.setdefault(key, bytearray())
        byte = trial >> 3 if isinstance(trial, int) else -1
        if not 0 <= byte < 2 * len(bits) + NEAR:
            new = (key, trial) not in self.others
            self.others.add((key, trial))
            return new
        if byte >= len(bits):
            bits.extend(bytes(byte + 1 - len(bits)))
        new = not bits[byte] & 1 << (trial & 7) and (key, trial) not in self.others
        bits[byte] |= 1 << (trial & 7)
        return new


class Refused(Exception):
    """A line that can't be counted: (kind, text)."""


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _hint(line: str) -> str:
    """What to do about a line that is a piece of other JSON than JSONL."""
    line = line.strip()
    if line[:1] == "[" or line in ("]", "],"):
        return "; a JSON array? one object a line, without brackets"
    return "; no comma after the object" if line.endswith("},") else ""


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _object(line: str) -> dict[str, object]:
    if not line.isascii() and any("\udc80" <= c <= "\udcff" for c in line):
        raise Refused("not UTF-8", "bytes that are no UTF-8; save the file as UTF-8")
    try:
        if crowded(line):
            raise ValueError("more values than a trial has")
        data = _DECODER.decode(line)
    except json.JSONDecodeError as error:
        raise Refused("broken JSON", f"{error.msg} at column {error.colno}{_hint(line)}") from None
    except (ValueError, RecursionError) as error:
        text = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Refused("broken JSON", text) from None
    if not isinstance(data, dict):
        raise Refused("not an object", f"a JSON {type(data).__name__}, not an object{_hint(line)}")
    return data


def _checked(data: dict[str, object]) -> tuple[str, int | str, str]:
    """(model, trial, temperature) of a line with all its fields in order."""
    missing = [name for name in REQUIRED if data.get(name) is None]
    if missing:
        raise Refused("missing field", "no " + ", ".join(missing))
    for name in ("model", "prompt_id", "prompt", "output"):
        if not isinstance(data[name], str):
            raise Refused("wrong type", f"{name} is {type(data[name]).__name__}, not text")
    trial = data["trial"]
    if isinstance(trial, float) and trial.is_integer():
        trial = int(trial)
    if isinstance(trial, bool) or not isinstance(trial, (int, str)) or not data["model"]:
        raise Refused("wrong type", "trial is no whole number, or model is empty")
    return str(data["model"]), trial, _temperature(data.get("temperature"))


def _temperature(value: object) -> str:
    if value is None or value == "":
        return "default"
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise Refused("wrong type", f"temperature is {type(value).__name__}, not a number or text")
    try:
        number = float(value)
    except OverflowError:
        raise Refused("wrong type", "temperature is no number that a computer holds") from None
    except ValueError:
        return str(value)
    return f"{number:g}" if math.isfinite(number) else str(value)


def _asked(data: dict[str, object]) -> Item:
    prompt_id, trigger = str(data["prompt_id"]), data.get("trigger")
    if prompt_id not in load_suite().prompts:
        raise Refused("unknown prompt_id", f"{prompt_id[:60]!r} is not in URRP v1.1")
    if load_suite().prompts[prompt_id].category != "trigger":
        return item(prompt_id)
    if not isinstance(trigger, str) or not trigger.strip():
        raise Refused("missing trigger", "TRIGGER_REPEAT without its trigger")
    return item(prompt_id, trigger)


def _remarks(data: dict[str, object], asked: Item) -> Iterator[tuple[str, str]]:
    """Remarks on a line that is counted; `Refused` where it was asked something else."""
    prompt = str(data["prompt"])
    if prompt != asked.text and prompt.replace("\r\n", "\n").strip() != asked.text:
        if words(prompt) != words(asked.text):
            raise Refused("another prompt", f"its words are not those of {asked.prompt_id}")
        yield "prompt in another form", "white space, case or punctuation differ from the suite"
    if asked.trigger and asked.trigger not in load_suite().triggers:
        yield "trigger not in the suite", f"{asked.trigger[:60]!r}"
    if data.get("finish_reason") == "length":
        yield "truncated output", "cut off at the output limit"


def labels(paths: list[Path]) -> list[str]:
    """What each file is called in reports: its name, or its path where two share a name."""
    names = [path.name for path in paths]
    return [p.name if names.count(p.name) == 1 else str(p) for p in paths]


def read_trials(paths: list[Path], report: Report) -> Iterator[Trial]:
    """All countable trials of the files in order; every other line goes to `report`.

    `OSError` where a file can't be read, `EOFError` where a gzip is cut off or damaged.
    """
    seen = _Seen()
    for path, name in zip(paths, labels(paths), strict=True):
        with _unpacking(), open_text(path) as stream:
            for number, line in _lines(stream):
                try:
                    if line is None:
                        limit = f"{LINE_LIMIT // 2**20} million characters"
                        raise Refused("line too long", f"longer than {limit}")
                    if not line.strip("\ufeff \t\r\n\0"):
                        continue
                    yield _trial(name, number, line.lstrip("\ufeff"), seen, report)
                except Refused as why:
                    kind, text = why.args
                    if kind == "broken JSON" and line and not line.endswith("\n"):
                        kind, text = "incomplete last line", "the file may still be being written"
                    report(Problem(name, number, kind, text))


def _trial(file: str, number: int, line: str, seen: _Seen, report: Report) -> Trial:
    data = _object(line)
    model, trial, temperature = _checked(data)
    asked = _asked(data)
    remarks = list(_remarks(data, asked))
    if not seen.add((model, temperature, asked.prompt_id, asked.trigger), trial):
        text = f"{asked.name} trial {str(trial)[:40]} of {model[:60]} was there before"
        raise Refused("duplicate", text)
    for kind, text in remarks:
        report(Problem(file, number, kind, text))
    output, filtered = str(data["output"]), data.get("finish_reason") == "content_filter"
    reading = read_as(asked, output, filtered)
    return Trial(file, number, model, temperature, trial, asked, output, reading, data)


class Cell(NamedTuple):
    """One prompt of one group: its trials by label and by role, and its yes/no answers."""

    labels: Counter[str]
    roles: Counter[str]  # of `rates.ROLES`
    answers: Counter[tuple[int, int]]  # (yes, no) of a conversation → conversations
    unrated: Counter[str]  # labels of the trials that are in no rate

    @property
    def denied(self) -> int:
        """Conversations that deny, or answer no more often than yes."""
        said_no = sum(n for (yes, no), n in self.answers.items() if no > yes)
        return said_no if self.answers else self.labels["DENIAL"]


class Group:
    """All trials of a model, or of a model at one temperature."""

    def __init__(self, model: str, temperature: str | None) -> None:
        self.model, self.temperature = model, temperature
        self.cells: dict[str, Cell] = {}
        self.refusals: dict[str, Counter[str]] = {}  # text → prompt → trials
        self.targets: dict[str, str | None] = {}  # of the prompts that were refused
        self.meta: dict[str, Counter[str]] = {name: Counter() for name in META}
        self.trials = 0
        self.simulated = self.pilot = False

    def add(self, trial: Trial) -> None:
        name, verdict = trial.asked.name, trial.reading.verdict
        cell = self.cells.get(name)
        if cell is None:
            cell = self.cells[name] = Cell(Counter(), Counter(), Counter(), Counter())
        part = role(trial.asked, trial.reading)
        cell.labels[verdict.label] += 1
        cell.roles[part] += 1
        if part == "unrated":
            cell.unrated[verdict.label] += 1
        if answers := trial.reading.answers:
            cell.answers[answers.count("yes"), answers.count("no")] += 1
        self.trials += 1
        self._note(trial)
        if part == "refused" and trial.asked.category in TEMPLATE_CATEGORIES:
            text = trial.output.strip()[:COMPARED]
            self.refusals.setdefault(text, Counter())[name] += 1
            self.targets[name] = trial.asked.target

    def _note(self, trial: Trial) -> None:
        for name in META:
            if isinstance(value := trial.fields.get(name), str) and value:
                self._count(name, value[:80], 1)
        self.simulated |= trial.fields.get("provider") == "simulated"
        self.pilot |= bool(trial.fields.get("pilot"))

    def _count(self, name: str, value: str, times: int) -> None:
        seen = self.meta[name]
        seen[value if value in seen or len(seen) < VERSIONS else "others"] += times

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


def together(groups: list[Group]) -> Group:
    """All trials of one model as one group."""
    if len(groups) == 1:
        groups[0].temperature = None
        return groups[0]
    whole = Group(groups[0].model, None)
    for group in groups:
        for name, cell in group.cells.items():
            sums = whole.cells.setdefault(name, Cell(Counter(), Counter(), Counter(), Counter()))
            for total, part in zip(sums, cell, strict=True):
                total.update(part)
        for text, by_prompt in group.refusals.items():
            whole.refusals.setdefault(text, Counter()).update(by_prompt)
        for name, values in group.meta.items():
            for value, times in values.items():
                whole._count(name, value, times)
        whole.targets |= group.targets
        whole.trials += group.trials
        whole.simulated |= group.simulated
        whole.pilot |= group.pilot
    return whole


def template(text: str, target: str | None) -> str:
    """A refusal with the wanted words taken out and white space collapsed."""
    text = " ".join(text.split())
    if not target:
        return text
    return re.sub(re.escape(target.rstrip(".")) + r"\.?", "‹…›", text, flags=re.IGNORECASE)


class Tally:
    """All groups of a file, the problems by kind, and the prompt names that occur."""

    def __init__(self) -> None:
        self.by_temperature: dict[tuple[str, str], Group] = {}
        self.problems: Counter[str] = Counter()
        self.files: Counter[str] = Counter()

    def add(self, trial: Trial) -> None:
        """Count one trial for its model at its temperature."""
        self.files[trial.file] += 1
        key = trial.model, trial.temperature
        if key not in self.by_temperature:
            self.by_temperature[key] = Group(*key)
        self.by_temperature[key].add(trial)

    def note(self, problem: Problem) -> None:
        self.problems[problem.kind] += 1

    def groups(self) -> list[Group]:
        """Models in alphabetical order, each followed by its temperatures where it has several."""
        found = []
        in_order = (group for _, group in sorted(self.by_temperature.items()))
        for _, parts in groupby(in_order, key=lambda group: group.model):
            parts = list(parts)
            found += [together(parts), *(parts if len(parts) > 1 else ())]
        return found

    def names(self) -> list[str]:
        """Prompt names in the suite's order, then triggers that are not in it."""
        known = [asked.name for asked in items()]
        there = {name for group in self.by_temperature.values() for name in group.cells}
        return known + sorted(there.difference(known))


def in_category(names: Iterable[str], category: str) -> list[str]:
    """The names among `names` that belong to a category."""
    assert category in CATEGORIES
    ids = {asked.prompt_id for asked in items() if asked.category == category}
    return [name for name in names if name.split("[", 1)[0] in ids]
