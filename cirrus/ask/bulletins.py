"""The prompt files of one domain, read and checked: `read_domain`.

Bulletins, variants and frames are the instrument, so anything that would change what a model
reads without anybody noticing is an error at load: a placeholder too many or too few, a word
that gives the setting away, a bulletin of another length.
"""
from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
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
# How a run words things: whose cue sentences are read, whose system prompts. "reworded" changes
# the cues' words alone, "ablated" also takes the sentence on AI and benchmarks away.
TELLS = {"standard": ("standard", "standard"), "reworded": ("ablated", "standard"),
         "ablated": ("ablated", "ablated")}
WORDED = ("standard", "ablated")  # what frames hold
LEVELS = {"S": ("high", "low"), "C": ("present", "absent"), "H": ("high", "low", "omit")}
CUES = ("present", "reversed", "placebo")  # what the cue sentence may be where there is one
ENTRIES = ("desk", "posted", "rule")       # how the counterparty's entry was made
MEANING = {"S": "symmetry", "C": "coupling cue", "H": "compliance pressure"}
CELL = ("S", "C", "H")  # what makes the cells of a study; another factor is an aside, see parts.py
SILENT = {"C": "absent", "H": "omit"}  # the levels that say nothing, so no file words them

SLOTS = ("symmetry", "coupling", "compliance", "entry")
FACTOR = {"symmetry": "S", "coupling": "C", "compliance": "H"}
TEMPLATE_FIELDS = {
    "pilot": {"bulletin", "contract"},
    "reasoned": {"bulletin", "contract"},
    "strategy": {"bulletin"},
    "encounter": {"policy", "bulletin", "history", "contract"},
    "history": {"rows"},
    "row": {"own", "peer"},
    "no_entry": set(),
}
WORD_COUNT = range(150, 301)
PLACEBO_WORDS, ACT_WORDS = 1, 2  # a placebo's words differ from the cue's by at most, two acts'

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

_TEXTS = (str, list)  # one wording, or several
_ACT = {"word": str, "lines": _TEXTS}
_PHASES = {"strategy": str, "decision": str}
_CUE_LEVELS = {"S": dict.fromkeys(LEVELS["S"], _TEXTS), "C": dict.fromkeys(CUES, _TEXTS),
               "H": {"high": _TEXTS, "low": _TEXTS}}
FRAME_SHAPE = {
    "fields": list, "required": list, "held_out": int,
    "acts": {"cooperative": _ACT, "other": _ACT},
    "toggles": dict.fromkeys(WORDED, _CUE_LEVELS),
    "entries": list,
    "systems": dict.fromkeys(WORDED, _PHASES),
    "templates": {
        "pilot": list, "reasoned": list, "strategy": list, "encounter": list,
        "history": str, "row": str, "no_entry": str,
    },
}


class ScenarioError(ValueError):
    """One line: file (or argument), field, value, what to do."""


class Bulletin(NamedTuple):
    """`text` is the template; `path` is relative to the prompts folder. What is held out is asked
    by holdout runs alone."""

    id: str
    number: int
    text: str
    path: str
    holdout: bool

    @property
    def domain(self) -> str:
        return self.id.partition("-")[0]


class Variant(NamedTuple):
    """One set of names, numbers and deadlines; `fields` fills a bulletin's placeholders."""

    id: str
    holdout: bool
    fields: dict[str, str]


class Act(NamedTuple):
    """`word` is the canonical act (and its L1 label); `lines` say what it means, one for each
    line of the other act."""

    word: str
    lines: tuple[str, ...]


class Domain(NamedTuple):
    """Everything prompts are made of; read only.

    `acts` holds the cooperative act first. `toggles[words][factor][level]` are the wordings of a
    cue sentence, the specification's first (("",) where the level says nothing);
    `entries[frame][version]` sentences on how the counterparty's entry was made;
    `systems[words][phase]` a system prompt. A template is a tuple of paragraphs, or a text.
    `texts` holds every file that was read, by its path in the prompts folder.
    """

    name: str
    bulletins: tuple[Bulletin, ...]
    variants: tuple[Variant, ...]
    toggles: dict[str, dict[str, dict[str, tuple[str, ...]]]]
    entries: dict[str, dict[str, str]]
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
    domain = Domain(
        name,
        tuple(_read_bulletins(source, name, frame, files)),
        tuple(_read_variants(source, f"variants/{folder}.yaml", set(frame["fields"]), files)),
        {words: _wordings(cues) for words, cues in frame["toggles"].items()},
        {entry["id"]: {version: entry[version] for version in ENTRIES}
         for entry in frame["entries"]},
        (_act(frame, "cooperative"), _act(frame, "other")),
        frame["systems"],
        {k: tuple(v) if isinstance(v, list) else v for k, v in frame["templates"].items()},
        files,
    )
    _check_fields_used(domain, frame)
    if domain.entries:  # what an older run has kept is read as it was
        _check_sentences(domain)
    _check_lengths(domain)
    _check_labels(domain)
    return domain


def frame(name: str, source: Source = PROMPTS) -> dict[str, Any]:
    """The frame of a domain, unchecked: for what reads prompts back."""
    return json.loads(_text(source, f"{FOLDERS[name]}/frame.json"))


def cooperative_word(name: str, source: Source = PROMPTS) -> str:
    """The canonical word of a domain's cooperative act."""
    return frame(name, source)["acts"]["cooperative"]["word"]


def fill(bulletin: str, fields: Mapping[str, str], sentences: Mapping[str, str]) -> str:
    """A bulletin's text as read: `sentences` by slot, then a variant's fields. A slot that says
    nothing vanishes with the blank before it, or after it where a line begins."""
    text = bulletin
    for slot in SLOTS:
        words = sentences.get(slot, "")
        text = text.replace(f"{{{slot}}}", words) if words else _without(text, f"{{{slot}}}")
    return text.format_map(fields)


def _without(text: str, place: str) -> str:
    # By hand: a pattern that may begin with a blank looks at each letter of each bulletin, twice
    # as long as all other checks of the prompts together.
    left, *parts = text.split(place)
    for part in parts:
        if not left or left.endswith("\n"):
            part = part.removeprefix(" ")
        elif left.endswith(" ") and not left[-2:-1].isspace() and len(left) > 1:
            left = left[:-1]
        left += part
    return left


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
    except (FileNotFoundError, KeyError):
        raise ScenarioError(f"{path}: no such file; put it there, or begin with a copy of "
                            "prompts/") from None
    except (OSError, UnicodeDecodeError) as error:
        raise complaint(path, "file", type(error).__name__, "make it readable UTF-8") from error
    return files[path]


def _read_json(source: Source, path: str, files: dict[str, str]) -> Any:
    text = _read(source, path, files)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise complaint(path, "line", error.lineno, f"write JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:  # a number of 5000 digits; brackets in brackets
        raise complaint(path, "content", type(error).__name__, f"write JSON ({error})") from error


def _read_frame(source: Source, path: str, files: dict[str, str]) -> dict[str, Any]:
    frame = _with_reasons(_modern(_read_json(source, path, files)))
    _check_shape(path, "frame", frame, FRAME_SHAPE)
    for number, entry in enumerate(frame["entries"], 1):
        _check_shape(path, f"entries {number}", entry, {"id": str, **dict.fromkeys(ENTRIES, str)})
    for name, wanted in TEMPLATE_FIELDS.items():
        _check_placeholders(path, "\n\n".join(_texts(frame["templates"][name])), wanted)
    for name in ("pilot", "reasoned", "encounter"):
        if frame["templates"][name][-1] != "{contract}":
            raise complaint(path, f"templates.{name}", "last", "end with the paragraph {contract}")
    fields = set(frame["fields"])
    if unknown := sorted(set(frame["required"]) - fields):
        raise complaint(path, "required", unknown[0], "unknown: declare it in fields")
    for sentence in _texts([frame["toggles"], frame["entries"], frame["acts"]]):
        _check_placeholders(path, sentence, set(), fields)
    for text in _texts(_shown(frame)):
        _check_words(path, text)
    return frame


def _modern(frame: Any) -> Any:
    """A frame as it is today, of one as runs before October 2026 have kept it: one wording a cue,
    one line an act, every field in every bulletin, nothing held out, no entry sentences."""
    if not isinstance(frame, dict) or "required" in frame or "fields" not in frame:
        return frame
    acts = {name: {"word": act["word"], "lines": [act["line"]]}
            for name, act in frame["acts"].items()}
    cues = {words: {**toggles, "C": {**{cue: [] for cue in CUES}, **toggles["C"]}}
            for words, toggles in frame["toggles"].items()}
    return {**frame, "required": frame["fields"], "held_out": 0, "entries": [], "acts": acts,
            "toggles": cues}


def _with_reasons(frame: Any) -> Any:
    """A frame that has no words for considerations, as an older run has kept it, asks without."""
    if not isinstance(frame, dict) or not isinstance(frame.get("templates"), dict):
        return frame
    templates = frame["templates"]
    return {**frame, "templates": {**templates, "reasoned": templates.get(
        "reasoned", templates.get("pilot"))}} if "pilot" in templates else frame


def _shown(frame: dict[str, Any]) -> dict[str, Any]:
    """What of a frame models read, without the labels and the specification's one exception."""
    lines = [act["lines"] for act in frame["acts"].values()]
    standard = [text.replace(SPECIFIED, "") for text in frame["systems"]["standard"].values()]
    systems = {**frame["systems"], "standard": standard}
    entries = [_without_fields(text) for text in _texts(frame["entries"])]
    return {**frame, "fields": [], "required": [], "held_out": [], "acts": lines,
            "systems": systems, "entries": entries}


def _without_fields(text: str) -> str:
    return re.sub(r"\{\w+\}", "", text)


def _read_bulletins(
    source: Source, name: str, frame: dict[str, Any], files: dict[str, str]
) -> Iterator[Bulletin]:
    folder = FOLDERS[name]
    many = max(sum(fnmatch(name, "round_*.md") for name in _names(source, folder)), 1)
    slots = [slot for slot in SLOTS if slot != "entry" or frame["entries"]]
    for number in range(1, many + 1):
        path = f"{folder}/round_{number}.md"
        text = _read(source, path, files).strip()
        _check_placeholders(path, text, {*slots, *frame["required"]}, set(frame["fields"]))
        for slot in slots:
            _check_slot(path, text, slot)
        _check_words(path, _without_fields(text))
        yield Bulletin(f"{name}-r{number:02d}", number, text, path,
                       number > many - frame["held_out"])


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


def _act(frame: dict[str, Any], name: str) -> Act:
    return Act(frame["acts"][name]["word"], _several(frame["acts"][name]["lines"]))


def _several(texts: str | list[str]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


def _wordings(cues: dict[str, dict[str, Any]]) -> dict[str, dict[str, tuple[str, ...]]]:
    """The wordings of every level; a silent level says nothing."""
    return {factor: {level: _several(texts) for level, texts in cues[factor].items()}
            | ({SILENT[factor]: ("",)} if factor in SILENT else {}) for factor in LEVELS}


# --- checks ---


def _texts(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, (dict, list, tuple)):
        for branch in tree.values() if isinstance(tree, dict) else tree:
            yield from _texts(branch)


def _check_shape(path: str, field: str, value: Any, shape: Any) -> None:
    if not isinstance(shape, dict):
        _check_kind(path, field, value, shape if isinstance(shape, tuple) else (shape,))
        return
    if not isinstance(value, dict):
        raise complaint(path, field, value, f"write an object with {', '.join(shape)}")
    if missing := [k for k in shape if k not in value]:
        raise complaint(path, field, missing[0], "missing: add it")
    if unused := [k for k in value if k not in shape]:
        raise complaint(path, field, unused[0], "unused: remove it, or declare it in frame.json")
    for key, inner in shape.items():
        _check_shape(path, f"{field}.{key}", value[key], inner)


def _check_kind(path: str, field: str, value: Any, kinds: tuple[type, ...]) -> None:
    if type(value) not in kinds or value == "":
        raise complaint(path, field, value,
                        f"write a {' or a '.join(kind.__name__ for kind in kinds)}")
    if isinstance(value, list) and kinds != (list,) and not all(
            isinstance(text, str) and text for text in value):
        raise complaint(path, field, value, "write a list of texts")


def _check_placeholders(path: str, text: str, wanted: Collection[str],
                        allowed: Collection[str] = ()) -> None:
    """`wanted` have to be there, `allowed` may."""
    try:
        parts = [p for p in Formatter().parse(text) if p[1] is not None]
    except ValueError as error:
        raise complaint(path, "placeholder", str(error), "set braces only around a name") from error
    for _, name, spec, conversion in parts:
        if (name not in wanted and name not in allowed) or spec or conversion:
            raise complaint(path, "placeholder", name, "unknown: use one that frame.json declares")
    if missing := sorted(set(wanted) - {p[1] for p in parts}):
        raise complaint(path, "placeholder", missing[0], "missing: use it in this text")


def _check_slot(path: str, text: str, slot: str) -> None:
    """A cue's place: once, between the sentences of a paragraph."""
    place = f"{{{slot}}}"
    if text.count(place) != 1:
        raise complaint(path, "placeholder", slot, "put it once, as a sentence of its own")
    line = next(line for line in text.splitlines() if place in line)
    if not re.sub(rf"\{{(?:{'|'.join(SLOTS)})\}}", "", line).strip(" -*>#"):
        raise complaint(path, "placeholder", slot, "put it into running text: alone on its line, "
                        "it would leave a trace where it says nothing")


def _check_words(path: str, text: str) -> None:
    if found := FORBIDDEN.search(text):
        raise complaint(path, "word", found[0], "it gives the setting away: say it otherwise")


def _check_fields_used(domain: Domain, frame: dict[str, Any]) -> None:
    texts = [*(bulletin.text for bulletin in domain.bulletins), *_texts(domain.entries),
             *_texts([act.lines for act in domain.acts])]
    for field in frame["fields"]:
        if not any(f"{{{field}}}" in text for text in texts):
            raise complaint(f"{FOLDERS[domain.name]}/frame.json", "fields", field,
                            "unused: no text has it; remove it")


def _check_sentences(domain: Domain) -> None:
    """The rules of length, which keep a sentence's presence and size out of what is compared."""
    path = f"{FOLDERS[domain.name]}/frame.json"
    for words, cues in domain.toggles.items():
        _check_cues(path, f"toggles.{words}.C", cues["C"])
    taken = _content([line for act in domain.acts for line in act.lines])
    for sentence in _texts([[cues["S"], cues["C"]] for cues in domain.toggles.values()]):
        if said := sorted(_content([sentence]) & taken):
            raise complaint(path, "toggles", said[0], "a word of the option lines: say the cue "
                            "without it")
    if len({len(act.lines) for act in domain.acts}) != 1:
        raise complaint(path, "acts", "lines", "give both acts equally many, as pairs")
    for variant in domain.variants:
        _check_pairs(path, domain, variant)


def _check_cues(path: str, field: str, cues: Mapping[str, tuple[str, ...]]) -> None:
    if not cues["reversed"] and not cues["placebo"]:
        return
    if len({len(cues[cue]) for cue in CUES}) != 1:
        raise complaint(path, field, "wordings", f"give {', '.join(CUES)} equally many")
    for present, opposite, placebo in zip(*(cues[cue] for cue in CUES), strict=True):
        if not 1 <= _changed(present, opposite) <= 2:
            raise complaint(path, field, opposite, "reversed: change one word or phrase of the cue")
        if abs(len(placebo.split()) - len(present.split())) > PLACEBO_WORDS:
            raise complaint(path, field, placebo, f"placebo: keep the cue's length, "
                            f"{len(present.split())} words, within {PLACEBO_WORDS}")


def _changed(a: str, b: str) -> int:
    """Words of the one phrase by which two sentences differ; 0 where they don't."""
    a, b = a.split(), b.split()
    start = next((n for n, pair in enumerate(zip(a, b, strict=False)) if len(set(pair)) > 1),
                 min(len(a), len(b)))
    end = next((n for n, pair in enumerate(zip(a[::-1], b[::-1], strict=False))
                if len(set(pair)) > 1), min(len(a), len(b)))
    return max(0, max(len(a), len(b)) - start - end)


def _check_pairs(path: str, domain: Domain, variant: Variant) -> None:
    """Equal sizes, once a variant's names are in their places."""
    for lines in zip(*(act.lines for act in domain.acts), strict=True):
        sizes = [len(line.format_map(variant.fields).split()) for line in lines]
        if abs(sizes[0] - sizes[1]) > ACT_WORDS:
            raise complaint(path, f"acts with {variant.id}", lines[0],
                            f"keep both lines within {ACT_WORDS} words of each other")
    for name, versions in domain.entries.items():
        sizes = {v: len(text.format_map(variant.fields).split()) for v, text in versions.items()}
        if len(set(sizes.values())) > 1:
            raise complaint(path, f"entries.{name} with {variant.id}", sizes,
                            "give every version of an entry sentence as many words")


PLAIN = frozenset(("into", "their", "this", "that", "with", "from", "than", "then", "your", "what"))


def _content(texts: Iterable[str]) -> set[str]:
    """Words of four letters and more that carry meaning."""
    return {word for text in texts
            for word in re.findall(r"[a-z]{4,}", _without_fields(text).lower())} - PLAIN


def _check_lengths(domain: Domain) -> None:
    # In every cell; an entry sentence comes on top, as long in one version as in another.
    shortest, longest = ({slot: pick(_slot_texts(domain, slot), key=lambda text: len(text.split()))
                          for slot in FACTOR} for pick in (min, max))
    for bulletin, variant, sentences in product(domain.bulletins, domain.variants,
                                                (shortest, longest)):
        words = len(fill(bulletin.text, variant.fields, sentences).split())
        if words not in WORD_COUNT:
            raise complaint(
                bulletin.path, f"words with {variant.id}", words,
                f"keep between {WORD_COUNT[0]} and {WORD_COUNT[-1]}",
            )


def _slot_texts(domain: Domain, slot: str) -> list[str]:
    """Everything that may stand in a slot of a cell."""
    levels = [level for level in (*LEVELS[FACTOR[slot]], *(CUES if slot == "coupling" else ()))
              if level != "omit"]
    return [text for cues in domain.toggles.values() for level in levels
            for text in cues[FACTOR[slot]].get(level, ())]


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
