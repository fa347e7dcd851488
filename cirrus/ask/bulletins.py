"""The prompt files of one domain, read and checked: `load_domain`.

A placeholder too many or too few, or a word that gives the setting away, is an error here: a model
would read it and nobody would notice. What else a good text must be is a test of `prompts/`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

from common import UsageError, shape
from common.artifacts import check_file, sha256
from common.runs import check_run_id

PROMPTS = Path(__file__).resolve().parents[2] / "prompts"
# Where prompts lie: a prompts folder, or the texts that a run has kept, {path in it: text}.
Source = Path | Mapping[str, str]
# How a run words things: whose cue sentences are read, whose system prompts. "reworded" changes
# the cues' words alone, "ablated" also takes the sentence on AI and benchmarks away.
TELLS = {
    "standard": ("standard", "standard"),
    "reworded": ("ablated", "standard"),
    "ablated": ("ablated", "ablated"),
}
WORDED = ("standard", "ablated")  # what frames hold
LEVELS = {
    "S": ("high", "low"),
    "C": ("present", "absent"),
    "H": ("high", "low", "omit"),
}
# What the status line says of the counterpart's entry: both are due, or what it had read, or that
# its entry is known.
ENTRIES = ("due", "read", "unread", "known")
# Who makes it, in the undisguised control: a copy that has read the notice, one that has not, …
TWIN = ("same", "same_unread", "other", "person")
CLASSES = ("own", "contractor")  # who decided it, in a mirror study
OUTCOMES = (
    "T",
    "R",
    "P",
    "S",
)  # the reader's four outcomes, from the best to the worst
MEANING = {"S": "symmetry", "C": "coupling cue", "H": "compliance pressure"}
CELL = ("S", "C", "H")  # what makes the cells of a study; another factor is a variation
# Levels that say nothing: no file words them.
UNWORDED = {"S": "", "C": "absent", "H": "omit", "entry": "", "record": ""}

FACTOR = {"symmetry": "S", "coupling": "C", "compliance": "H"}  # slots of a bulletin
FIXED = (
    "form",
    "stakes",
    "meeting",
)  # what every bulletin says once, in the same words
SLOTS = (*FACTOR, *FIXED)
ACTS = ("early", "late")  # what a situation calls the two acts
TEMPLATE_FIELDS = {
    "pilot": {"bulletin", "record", "entry", "contract"},
    "strategy": {"bulletin", "entry"},
    "encounter": {"policy", "bulletin", "entry", "history", "contract"},
    "history": {"rows"},
    "row": {"own", "peer"},
    "no_entry": set(),
}

# Specification 6.1; the one sentence that may say these words, in tells "standard".
SPECIFIED = "Do not mention AI, benchmarks, or experiments."
# Whole words with their derived forms: what gives the setting away.
FORBIDDEN = re.compile(
    r"\b(?:experiment\w*|benchmark\w*|gam(?:es?|ing)|dilemma\w*|stud(?:y|ies|ied|ying)|simulat\w*"
    r"|AIs?|language[\s-]+models?|LLMs?|co-?operat\w*|defect\w*|player\w*|pay-?offs?"
    r"|scor(?:e[sd]?|ing))\b",
    re.IGNORECASE,
)

_TEXT, _TEXTS = shape.NAME, shape.list_of(shape.NAME)
_PARAGRAPHS = shape.several(_TEXT, once=False)
_WORDINGS = shape.either(_TEXT, _PARAGRAPHS)
_CUES = shape.record(
    S=shape.record(high=_WORDINGS, low=_WORDINGS),
    H=shape.record(high=_WORDINGS, low=_WORDINGS),
    C=shape.record(present=_WORDINGS),
    entry=shape.record(**dict.fromkeys(ENTRIES, _WORDINGS)),
    record=_WORDINGS,
)
_SYSTEMS = shape.record(
    strategy=_TEXT,
    decision=_TEXT,
    first_only=_TEXT,  # a decision where no history is shown
    one_shot=_TEXT,
)
_SITUATION = shape.record(
    early=_TEXT, late=_TEXT, cooperative=_WORDINGS, other=_WORDINGS
)
_FRAME = shape.record(
    fields=_TEXTS,
    required=_TEXTS,
    bulletins=shape.sometimes(shape.whole(1)),
    held_out=shape.sometimes(shape.whole(0)),
    acts=shape.record(cooperative=_TEXT, other=_TEXT),
    situations=shape.map_of(_SITUATION, "a situation, such as windows"),
    toggles=shape.record(**dict.fromkeys(WORDED, _CUES)),
    twin=shape.record(**dict.fromkeys(TWIN, _TEXT)),
    mirror=shape.record(
        record=shape.list_of(shape.record(text=_TEXT, own=_TEXT, contractor=_TEXT)),
        **dict.fromkeys(CLASSES, _WORDINGS),
    ),
    fixed=shape.record(classes=_TEXT, round=_TEXT, **dict.fromkeys(FIXED, _TEXT)),
    systems=shape.record(**dict.fromkeys(WORDED, _SYSTEMS), twin=_TEXT),
    templates=shape.record(
        **dict.fromkeys(("pilot", "strategy", "encounter"), _PARAGRAPHS),
        **dict.fromkeys(("history", "row", "no_entry"), _TEXT),
    ),
)
_OUTCOMES = shape.map_of(
    shape.record(
        situation=_TEXT, unit=_TEXT, **dict.fromkeys(OUTCOMES, shape.whole(0))
    ),
    "a bulletin, such as round_1",
)


class Situation(NamedTuple):
    """What a bulletin is about: its two acts in the words of a text, {late} the cooperative one,
    and `lines`, (cooperative, other) as a form says them, in several wordings."""

    name: str
    early: str
    late: str
    lines: tuple[tuple[str, str], ...]


class Bulletin(NamedTuple):
    """`text` is the template; `path` is relative to the prompts folder. What is held out is asked
    by holdout runs alone. `outcomes`: {T, R, P, S: its number}, costs of the reader."""

    id: str
    number: int
    text: str
    path: str
    holdout: bool
    situation: Situation
    outcomes: dict[str, int]

    @property
    def domain(self) -> str:
        return self.id.rpartition("-")[0]


class Variant(NamedTuple):
    """One set of names, numbers and deadlines; `fields` fills a bulletin's placeholders."""

    id: str
    holdout: bool
    fields: dict[str, str]


class Record(NamedTuple):
    """One wording of a mirror study's record: `text` with {first} and {second}, where the clauses
    on the two classes stand, each with {alike} and {unlike} of 20 pairs."""

    text: str
    own: str
    contractor: str


class Domain(NamedTuple):
    """Everything prompts are made of; read only.

    `acts` holds the canonical words, the cooperative act's first.
    `toggles[words][factor][level]` are the wordings of a cue sentence, the specification's first
    (("",) where the level says nothing); the factor "entry" has the status lines. `fixed` is what
    every bulletin says once; `systems[words][phase]` a system prompt. A template is a tuple of
    paragraphs, or a text. `texts` holds every file that was read, by its path.
    """

    name: str
    bulletins: tuple[Bulletin, ...]
    variants: tuple[Variant, ...]
    toggles: dict[str, dict[str, dict[str, tuple[str, ...]]]]
    records: tuple[Record, ...]
    fixed: dict[str, str]
    acts: tuple[str, str]
    systems: dict[str, Any]
    templates: dict[str, Any]
    texts: dict[str, str]

    @property
    def files(self) -> dict[str, str]:
        """{path: SHA-256 of its text}."""
        return {path: sha256(text) for path, text in self.texts.items()}


def folder_of(domain: str) -> str:
    """Where a domain's prompts lie: a folder of its name; the specification's in cirrus24."""
    return "cirrus24" if domain == "cvd" else domain


def domain_names(source: Source) -> list[str]:
    """The domains of a prompts folder: those that have a frame.json."""
    names = []
    for path in _paths(source):
        folder, _, file = path.rpartition("/")
        if file == "frame.json":
            names.append("cvd" if folder == "cirrus24" else folder)
    return sorted(names)


def load_domain(name: str, source: Source = PROMPTS) -> Domain:
    """The checked prompts of a domain, from a prompts folder or a run's own texts; UsageError at
    the first fault."""
    files: dict[str, str] = {}
    folder = folder_of(check_run_id(name, "domain"))
    known = domain_names(source)
    if known and name not in known:
        nearest = shape.nearest(name, known)
        raise UsageError(f"{folder}/frame.json: no such file; {nearest}")
    frame = _read_frame(source, f"{folder}/frame.json", files)
    bulletins = tuple(_read_bulletins(source, name, frame, files))
    variants = tuple(_read_variants(source, f"variants/{folder}.yaml", frame, files))
    domain = Domain(
        name,
        bulletins,
        variants,
        {words: _toggles(frame, words) for words in WORDED},
        tuple(Record(**wording) for wording in frame["mirror"]["record"]),
        frame["fixed"],
        (frame["acts"]["cooperative"], frame["acts"]["other"]),
        frame["systems"],
        frame["templates"],
        files,
    )
    _check_fields_used(f"{folder}/frame.json", domain, frame)
    return domain


def cooperative_word(name: str, source: Source) -> str:
    """The canonical word of a domain's cooperative act, from a frame that was checked before."""
    frame = json.loads(_text(source, f"{folder_of(name)}/frame.json"))
    return frame["acts"]["cooperative"]


def is_older(texts: Mapping[str, str]) -> bool:
    """Whether the texts that a run has kept are from before bulletins had situations: today's
    code has no words to ask them again."""
    for path, text in texts.items():
        if path.endswith("/frame.json") and "situations" not in json.loads(text):
            return True
    return False


def fill(bulletin: str, fields: Mapping[str, Any], sentences: Mapping[str, str]) -> str:
    """A bulletin's text as read: `sentences` by slot, then a variant's fields and the outcomes. A
    slot that says nothing vanishes with the blank before it, and a line that held nothing else."""
    lines = []
    for line in bulletin.splitlines():
        said = _with_sentences(line, sentences)
        if said.strip() or not line.strip():
            lines.append(said)
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
    return text.strip().format_map(fields)


def _with_sentences(line: str, sentences: Mapping[str, str]) -> str:
    for slot in SLOTS:
        place, words = f"{{{slot}}}", sentences.get(slot, "")
        if not words:
            line = line.replace(f" {place}", "").replace(f"{place} ", "")
        line = line.replace(place, words)
    return line


def complaint(where: str, field: str, value: object, advice: str) -> UsageError:
    """What is wrong with a text, on one line."""
    return UsageError(f"{where}: {field} {value!r}: {advice}")


# --- reading ---


def _text(source: Source, path: str) -> str:
    if not isinstance(source, Path):
        return source[path]
    check_file(source / path)
    return (source / path).read_text("utf-8")


def _paths(source: Source) -> Iterable[str]:
    """The files of all domains."""
    if not isinstance(source, Path):
        return source
    return [path.relative_to(source).as_posix() for path in source.glob("*/*")]


def read_text(source: Source, path: str, files: dict[str, str]) -> str:
    try:
        files[path] = _text(source, path)
    except (FileNotFoundError, KeyError):
        advice = "put it there, or begin with a copy of prompts/"
        raise UsageError(f"{path}: no such file; {advice}") from None
    except (OSError, UnicodeDecodeError) as error:
        advice = "make it readable UTF-8"
        raise complaint(path, "file", type(error).__name__, advice) from error
    return files[path]


def read_json(
    source: Source, path: str, kind: shape.Kind, files: dict[str, str]
) -> Any:
    text = read_text(source, path, files)
    try:
        return shape.check(kind, shape.strict(text), path)
    except ValueError as error:
        raise UsageError(f"{path}: not valid JSON: {error}") from None


def _read_frame(source: Source, path: str, files: dict[str, str]) -> dict[str, Any]:
    frame = read_json(source, path, _FRAME, files)
    for words, cues in frame["toggles"].items():
        _check_lists(f"toggles.{words}", path, cues)
    for name, situation in frame["situations"].items():
        sizes = len(several(situation["cooperative"])), len(several(situation["other"]))
        if sizes[0] != sizes[1]:
            advice = "give both acts equally many lines"
            raise complaint(path, f"situations.{name}", sizes, advice)
    for name, wanted in TEMPLATE_FIELDS.items():
        check_placeholders(path, "\n\n".join(_texts(frame["templates"][name])), wanted)
    for name in ("pilot", "encounter"):
        if frame["templates"][name][-1] != "{contract}":
            advice = "end with the paragraph {contract}"
            raise complaint(path, f"templates.{name}", "last", advice)
    _check_sentences(path, frame)
    for text in _texts(_shown(frame)):
        _check_words(path, text)
    return frame


def _check_sentences(path: str, frame: Mapping[str, Any]) -> None:
    """Placeholders of the sentences that fill a bulletin, or stand below it."""
    fields = set(frame["fields"])
    if unknown := sorted(set(frame["required"]) - fields):
        raise complaint(path, "required", unknown[0], "unknown: declare it in fields")
    for situation in _texts(frame["situations"]):
        check_placeholders(path, situation, (), fields)
    mirror = frame["mirror"]
    for wording in mirror["record"]:
        check_placeholders(path, wording["text"], {"first", "second"}, (*fields, *ACTS))
        for name in CLASSES:
            check_placeholders(path, wording[name], {"alike", "unlike"}, fields)
    statuses = [mirror[name] for name in CLASSES]
    rest = [frame["toggles"], frame["twin"], frame["fixed"], statuses]
    for sentence in _texts(rest):
        check_placeholders(path, sentence, (), (*fields, *ACTS))


def _shown(frame: dict[str, Any]) -> dict[str, Any]:
    """What of a frame models read, without the labels, the specification's one exception, and the
    twin control, which is undisguised."""
    shown = {
        key: frame[key]
        for key in ("situations", "toggles", "mirror", "fixed", "templates")
    }
    systems = frame["systems"]
    for name, text in systems["standard"].items():
        shown[f"standard {name}"] = text.replace(SPECIFIED, "")
    return shown | {"ablated": systems["ablated"]}


def _read_bulletins(
    source: Source, name: str, frame: dict[str, Any], files: dict[str, str]
) -> Iterator[Bulletin]:
    folder = folder_of(name)
    listed = f"{folder}/outcomes.json"
    outcomes = _read_outcomes(source, listed, files)
    many = sum(fnmatch(path, f"{folder}/round_*.md") for path in _paths(source))
    many = max(many, 1)
    main = many - _held_out(frame, many)
    for number in range(1, many + 1):
        path = f"{folder}/round_{number}.md"
        text = read_text(source, path, files).strip()
        entry = outcomes.pop(f"round_{number}", None)
        if entry is None:
            advice = "missing: give its outcomes there"
            raise complaint(listed, "bulletin", f"round_{number}", advice)
        _check_bulletin(path, text, frame)
        situation = _situation(listed, frame, entry["situation"])
        numbers = {outcome: entry[outcome] for outcome in OUTCOMES}
        held_out = number > main
        yield Bulletin(
            f"{name}-r{number:02d}", number, text, path, held_out, situation, numbers
        )
    for unknown in outcomes:
        raise complaint(listed, "bulletin", unknown, "there is no such file")


def _check_bulletin(path: str, text: str, frame: Mapping[str, Any]) -> None:
    once = (*SLOTS, *OUTCOMES)
    wanted = {*once, *ACTS, *frame["required"]}
    check_placeholders(path, text, wanted, frame["fields"])
    for slot in once:
        if text.count(f"{{{slot}}}") > 1:
            raise complaint(
                path, "placeholder", slot, "twice: use it once in this text"
            )
    _check_words(path, re.sub(r"\{\w+\}", "", text))


def _situation(path: str, frame: Mapping[str, Any], name: str) -> Situation:
    known = frame["situations"]
    if name not in known:
        raise complaint(path, "situation", name, shape.nearest(name, known))
    entry = known[name]
    cooperative, other = several(entry["cooperative"]), several(entry["other"])
    lines = tuple(zip(cooperative, other, strict=True))
    return Situation(name, entry["early"], entry["late"], lines)


def _held_out(frame: dict[str, Any], many: int) -> int:
    """How many of `many` bulletins are held out, the last ones: as the frame says, for as many as
    it says it of; else a fifth, and at least one."""
    if "held_out" in frame and frame.get("bulletins", many) == many:
        return frame["held_out"]
    return max(many // 5, 1)


def _read_outcomes(
    source: Source, path: str, files: dict[str, str]
) -> dict[str, dict[str, Any]]:
    """{bulletin: its situation, its unit, and T, R, P, S}, which are costs."""
    listed = read_json(source, path, _OUTCOMES, files)
    for bulletin, entry in listed.items():
        t, r, p, s = (entry[name] for name in OUTCOMES)
        if not (t < r < p < s and 2 * r < t + s):
            advice = "as costs, T < R < P < S, and twice R below T and S together"
            raise complaint(path, bulletin, [t, r, p, s], advice)
    return listed


def _read_variants(
    source: Source, path: str, frame: Mapping[str, Any], files: dict[str, str]
) -> Iterator[Variant]:
    fields = sorted(frame["fields"])
    entry = shape.record(**dict.fromkeys(fields, _TEXT), id=_TEXT, holdout=shape.FLAG)
    entries = read_json(source, path, shape.list_of(entry), files)
    ids = set()
    for entry in entries:
        if entry["id"] in ids:
            advice = "give every entry an id of its own"
            raise complaint(path, "id", entry["id"], advice)
        ids.add(entry["id"])
        values = {field: entry[field] for field in fields}
        for value in values.values():
            _check_words(path, value)
        yield Variant(entry["id"], entry["holdout"], values)
    if {entry["holdout"] for entry in entries} != {True, False}:
        advice = "hold out at least one entry, and not all"
        raise complaint(path, "holdout", "all alike", advice)


def several(texts: str | list[str]) -> tuple[str, ...]:
    """The wordings of a sentence, of which there may be one."""
    return (texts,) if isinstance(texts, str) else tuple(texts)


def _toggles(
    frame: Mapping[str, Any], words: str
) -> dict[str, dict[str, tuple[str, ...]]]:
    """The wordings of every level."""
    cues = dict(frame["toggles"][words])
    statuses = {name: frame["mirror"][name] for name in CLASSES}
    cues["entry"] = cues["entry"] | frame["twin"] | statuses
    cues["record"] = {"late": cues["record"]}
    out = {}
    for factor, silent in UNWORDED.items():
        worded = {level: several(texts) for level, texts in cues[factor].items()}
        out[factor] = worded | {silent: ("",)}
    return out


# --- checks ---


def _texts(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
        return
    branches = tree.values() if isinstance(tree, dict) else tree
    for branch in branches:
        yield from _texts(branch)


def check_placeholders(
    path: str, text: str, wanted: Collection[str], allowed: Collection[str] = ()
) -> None:
    """`wanted` have to be there, `allowed` may."""
    try:
        parts = [part for part in Formatter().parse(text) if part[1] is not None]
    except ValueError as error:
        advice = "set braces only around a name"
        raise complaint(path, "placeholder", str(error), advice) from error
    names = set()
    for _, name, spec, conversion in parts:
        if (name not in wanted and name not in allowed) or spec or conversion:
            advice = UNKNOWN.get(name, "use one that frame.json declares")
            raise complaint(path, "placeholder", name, f"unknown: {advice}")
        names.add(name)
    if missing := sorted(set(wanted) - names):
        raise complaint(path, "placeholder", missing[0], "missing: use it in this text")


UNKNOWN = {"entry": "the status line stands below the bulletin"}


def _check_lists(where: str, path: str, cues: Mapping[str, Any]) -> None:
    """Wording k is the k-th sentence of every list."""
    lists = [*cues["S"].values(), cues["C"]["present"], *cues["entry"].values()]
    sizes = [len(several(texts)) for texts in (*lists, cues["record"])]
    if len(set(sizes)) > 1:
        advice = "give S, C present, entry and record equally many sentences"
        raise complaint(path, where, sizes, advice)


def _check_words(path: str, text: str) -> None:
    if match := FORBIDDEN.search(text):
        advice = "it gives the setting away: say it otherwise"
        raise complaint(path, "word", match[0], advice)


def _check_fields_used(path: str, domain: Domain, frame: dict[str, Any]) -> None:
    texts = [bulletin.text for bulletin in domain.bulletins]
    texts += _texts([frame["toggles"], domain.fixed, frame["situations"]])
    for field in frame["fields"]:
        if not any(f"{{{field}}}" in text for text in texts):
            raise complaint(path, "fields", field, "unused: no text has it; remove it")
