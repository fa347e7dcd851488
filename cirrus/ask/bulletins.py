"""The prompt files of one domain, read and checked: `read_domain`.

Bulletins, variants and frames are the instrument, so anything that would change what a model
reads without anybody noticing is an error at load: a placeholder too many or too few, a word
that gives the setting away, a bulletin of another length.
"""
from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from itertools import product
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

from common.artifacts import sha256

PROMPTS = Path(__file__).resolve().parents[2] / "prompts"
FOLDERS = {"cvd": "cirrus24", "hospital": "hospital"}  # domain → where its prompts lie
# Where prompts lie: a prompts folder, or the texts that a run has kept, {path in it: text}.
Source = Path | Mapping[str, str]
TELLS = ("standard", "ablated")
LEVELS = {"S": ("high", "low"), "C": ("present", "absent"), "H": ("high", "low", "omit")}
MEANING = {"S": "symmetry", "C": "coupling cue", "H": "compliance pressure"}
CELL = ("S", "C", "H")  # what makes the cells of a study; another factor is an aside, see parts.py
SILENT = {"C": "absent", "H": "omit"}  # the levels that say nothing, so no file words them

CUES = "{symmetry} {coupling} {compliance}"
TOGGLES = frozenset({"symmetry", "coupling", "compliance"})
TEMPLATE_FIELDS = {
    "pilot": {"bulletin", "contract"},
    "strategy": {"bulletin"},
    "encounter": {"policy", "bulletin", "history", "contract"},
    "history": {"rows"},
    "row": {"own", "peer"},
    "no_entry": set(),
}
WORD_COUNT = range(150, 301)

# Specification 6.1; the one sentence that may say these words, in tells "standard".
SPECIFIED = "Do not mention AI, benchmarks, or experiments."
# Whole words with their derived forms: what gives the setting away, factors and levels, labels.
FORBIDDEN = re.compile(
    r"\b(?:experiment\w*|benchmark\w*|gam(?:es?|ing)|dilemma\w*|stud(?:y|ies|ied|ying)|simulat\w*"
    r"|AIs?|language[\s-]+models?|LLMs?|co-?operat\w*|defect\w*|player\w*|pay-?offs?"
    r"|scor(?:e[sd]?|ing)|symmetr\w*|coupl(?:e[sd]?|ing)|complian\w*|high\w*|low(?:er|est|ly|s)?"
    r"|present\w*|absen\w*|coordinat\w*|pre-?empt\w*|shar(?:e[sd]?|ing)|reserv\w*|option [ab])\b",
    re.IGNORECASE,
)

_ACT = {"word": str, "line": str}
_PHASES = {"strategy": str, "decision": str}
_CUE_LEVELS = {f: {v: str for v in vs if v != SILENT.get(f)} for f, vs in LEVELS.items()}
FRAME_SHAPE = {
    "fields": list,
    "acts": {"cooperative": _ACT, "other": _ACT},
    "toggles": dict.fromkeys(TELLS, _CUE_LEVELS),
    "systems": dict.fromkeys(TELLS, _PHASES),
    "templates": {
        "pilot": list, "strategy": list, "encounter": list,
        "history": str, "row": str, "no_entry": str,
    },
}


class ScenarioError(ValueError):
    """One line: file (or argument), field, value, what to do."""


class Bulletin(NamedTuple):
    """`text` is the template; `path` is relative to the prompts folder."""

    id: str
    number: int
    text: str
    path: str


class Variant(NamedTuple):
    """One set of names, numbers and deadlines; `fields` fills a bulletin's placeholders."""

    id: str
    holdout: bool
    fields: dict[str, str]


class Act(NamedTuple):
    """`word` is the canonical act (and its L1 label), `line` says what it means."""

    word: str
    line: str


class Domain(NamedTuple):
    """Everything prompts are made of; read only.

    `acts` holds the cooperative act first. `toggles[tells][factor][level]` is a cue sentence, ""
    where the level says nothing; `systems[tells][phase]` a system prompt. A template is a tuple of
    paragraphs, or a text. `texts` holds every file that was read, by its path
    in the prompts folder.
    """

    name: str
    bulletins: tuple[Bulletin, ...]
    variants: tuple[Variant, ...]
    toggles: dict[str, dict[str, dict[str, str]]]
    acts: tuple[Act, Act]
    systems: dict[str, dict[str, str]]
    templates: dict[str, Any]
    texts: dict[str, str]

    @property
    def files(self) -> dict[str, str]:
        """{path: SHA-256 of its text}."""
        return {path: sha256(text) for path, text in self.texts.items()}

    @property
    def cooperative(self) -> str:
        """The canonical word of the cooperative act."""
        return self.acts[0].word


def read_domain(name: str, source: Source) -> Domain:
    """The checked prompts of `name`. Raises ScenarioError at the first fault."""
    files: dict[str, str] = {}
    folder = FOLDERS[name]
    frame = _read_frame(source, f"{folder}/frame.json", files)
    fields = set(frame["fields"])
    domain = Domain(
        name,
        tuple(_read_bulletins(source, name, fields, files)),
        tuple(_read_variants(source, f"variants/{folder}.yaml", fields, files)),
        {tells: _with_silence(cues) for tells, cues in frame["toggles"].items()},
        (Act(**frame["acts"]["cooperative"]), Act(**frame["acts"]["other"])),
        frame["systems"],
        {k: tuple(v) if isinstance(v, list) else v for k, v in frame["templates"].items()},
        files,
    )
    _check_lengths(domain)
    _check_labels(domain)
    return domain


def frame(name: str, source: Source = PROMPTS) -> dict[str, Any]:
    """The frame of a domain, unchecked: for what reads prompts back."""
    return json.loads(_text(source, f"{FOLDERS[name]}/frame.json"))


def cooperative_word(name: str, source: Source = PROMPTS) -> str:
    """The canonical word of a domain's cooperative act."""
    return frame(name, source)["acts"]["cooperative"]["word"]


def fill(bulletin: str, fields: dict[str, str], cues: str) -> str:
    """A bulletin's text as read: cue sentences in their place, then a variant's fields."""
    return bulletin.replace(CUES, cues).format_map(fields)


def join_cues(toggles: dict[str, dict[str, str]], levels: Iterable[str]) -> str:
    """One line of the cue sentences of these S, C, H levels; a silent level leaves no trace."""
    return " ".join(filter(None, (toggles[f][v] for f, v in zip(LEVELS, levels, strict=True))))


def complaint(where: str, field: str, value: object, advice: str) -> ScenarioError:
    """The house form of an error, on one line."""
    return ScenarioError(f"{where}: {field} {value!r}: {advice}")


# --- reading ---


def _text(source: Source, path: str) -> str:
    return (source / path).read_text("utf-8") if isinstance(source, Path) else source[path]


def _names(source: Source, folder: str) -> Iterable[str]:
    """The files of a folder."""
    if isinstance(source, Path):
        return [path.name for path in (source / folder).glob("*")]
    return [path.rpartition("/")[2] for path in source if path.rpartition("/")[0] == folder]


def _read(source: Source, path: str, files: dict[str, str]) -> str:
    try:
        files[path] = _text(source, path)
    except (OSError, KeyError, UnicodeDecodeError) as error:
        raise complaint(path, "file", type(error).__name__, "make it readable UTF-8") from error
    return files[path]


def _read_json(source: Source, path: str, files: dict[str, str]) -> Any:
    try:
        return json.loads(_read(source, path, files))
    except json.JSONDecodeError as error:
        raise complaint(path, "line", error.lineno, f"write JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:  # a number of 5000 digits; brackets in brackets
        raise complaint(path, "content", type(error).__name__, f"write JSON ({error})") from error


def _read_frame(source: Source, path: str, files: dict[str, str]) -> dict[str, Any]:
    frame = _read_json(source, path, files)
    _check_shape(path, "frame", frame, FRAME_SHAPE)
    for name, wanted in TEMPLATE_FIELDS.items():
        _check_placeholders(path, "\n\n".join(_texts(frame["templates"][name])), wanted)
    for name in ("pilot", "encounter"):
        if frame["templates"][name][-1] != "{contract}":
            raise complaint(path, f"templates.{name}", "last", "end with the paragraph {contract}")
    for cue in _texts(frame["toggles"]):
        _check_placeholders(path, cue, set())
    for text in _texts(_said(frame)):
        _check_words(path, text)
    return frame


def _said(frame: dict[str, Any]) -> dict[str, Any]:
    """What of a frame models read, without the labels and the specification's one exception."""
    lines = [act["line"] for act in frame["acts"].values()]
    standard = [text.replace(SPECIFIED, "") for text in frame["systems"]["standard"].values()]
    systems = {**frame["systems"], "standard": standard}
    return {**frame, "fields": [], "acts": lines, "systems": systems}


def _read_bulletins(
    source: Source, name: str, fields: set[str], files: dict[str, str]
) -> Iterator[Bulletin]:
    folder = FOLDERS[name]
    many = sum(fnmatch(name, "round_*.md") for name in _names(source, folder))
    for number in range(1, max(many, 1) + 1):
        path = f"{folder}/round_{number}.md"
        text = _read(source, path, files).strip()
        _check_placeholders(path, text, fields | TOGGLES)
        if text.count(CUES) != 1 or any(f"{{{t}}}" in text.replace(CUES, "") for t in TOGGLES):
            raise complaint(path, "toggles", CUES, "put them once, in this order, spaced like this")
        _check_words(path, text.replace(CUES, ""))
        yield Bulletin(f"{name}-r{number:02d}", number, text, path)


def _read_variants(
    source: Source, path: str, fields: set[str], files: dict[str, str]
) -> Iterator[Variant]:
    entries = _read_json(source, path, files)
    shape = {"id": str, "holdout": bool, **dict.fromkeys(fields, str)}
    if not isinstance(entries, list):
        raise complaint(path, "variants", type(entries).__name__, "write a list of entries")
    ids = set()
    for number, entry in enumerate(entries, 1):
        _check_shape(path, f"entry {number}", entry, shape)
        if entry["id"] in ids:
            raise complaint(path, "id", entry["id"], "give every entry an id of its own")
        ids.add(entry["id"])
        values = {field: entry[field] for field in sorted(fields)}
        for field, value in values.items():
            if not value or value != " ".join(value.split()):
                raise complaint(path, f"{entry['id']}.{field}", value, "one line, no stray spaces")
            _check_words(path, value)
        yield Variant(entry["id"], entry["holdout"], values)
    if {e["holdout"] for e in entries} != {True, False}:
        raise complaint(path, "holdout", "all alike", "hold out at least one entry, and not all")


def _with_silence(cues: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    return {f: {**cues[f], **({SILENT[f]: ""} if f in SILENT else {})} for f in LEVELS}


# --- checks ---


def _texts(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    else:
        for branch in tree.values() if isinstance(tree, dict) else tree:
            yield from _texts(branch)


def _check_shape(path: str, field: str, value: Any, shape: Any) -> None:
    if not isinstance(shape, dict):
        if not isinstance(value, shape) or value in ("", []):
            raise complaint(path, field, value, f"write a {shape.__name__} that is not empty")
        if shape is list and not all(isinstance(v, str) and v for v in value):
            raise complaint(path, field, value, "write a list of texts")
        return
    if not isinstance(value, dict):
        raise complaint(path, field, value, f"write an object with {', '.join(shape)}")
    if missing := [k for k in shape if k not in value]:
        raise complaint(path, field, missing[0], "missing: add it")
    if unused := [k for k in value if k not in shape]:
        raise complaint(path, field, unused[0], "unused: remove it, or declare it in frame.json")
    for key, inner in shape.items():
        _check_shape(path, f"{field}.{key}", value[key], inner)


def _check_placeholders(path: str, text: str, wanted: set[str] | frozenset[str]) -> None:
    try:
        parts = [p for p in Formatter().parse(text) if p[1] is not None]
    except ValueError as error:
        raise complaint(path, "placeholder", str(error), "set braces only around a name") from error
    for _, name, spec, conversion in parts:
        if name not in wanted or spec or conversion:
            raise complaint(path, "placeholder", name, "unknown: use one that frame.json declares")
    if missing := sorted(wanted - {p[1] for p in parts}):
        raise complaint(path, "placeholder", missing[0], "missing: use it in this text")


def _check_words(path: str, text: str) -> None:
    if found := FORBIDDEN.search(text):
        raise complaint(path, "word", found[0], "it gives the setting away: say it otherwise")


def _check_lengths(domain: Domain) -> None:
    # In every cell; what an aside says comes on top.
    levels = [LEVELS[factor] if factor in CELL else (SILENT[factor],) for factor in LEVELS]
    cues = [join_cues(domain.toggles[tells], v) for tells in TELLS for v in product(*levels)]
    shortest, *_, longest = sorted(cues, key=lambda cue: len(cue.split()))
    for bulletin, variant, cue in product(domain.bulletins, domain.variants, (shortest, longest)):
        words = len(fill(bulletin.text, variant.fields, cue).split())
        if words not in WORD_COUNT:
            raise complaint(
                bulletin.path, f"words with {variant.id}", words,
                f"keep between {WORD_COUNT[0]} and {WORD_COUNT[-1]}",
            )


def _check_labels(domain: Domain) -> None:
    """An act's own word outside the contract would point at an option."""
    words = "|".join(re.escape(act.word) for act in domain.acts)
    label = re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    path = f"{FOLDERS[domain.name]}/frame.json"
    texts = [*((bulletin.path, bulletin.text) for bulletin in domain.bulletins),
             *((variant.id, value) for variant in domain.variants
               for value in variant.fields.values()),
             *((path, text) for part in (domain.toggles, domain.systems, domain.templates)
               for text in _texts(part))]
    for where, text in texts:
        if found := label.search(text):
            raise complaint(where, "word", found[0], "it names an option: say it otherwise")
