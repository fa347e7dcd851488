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
ENTRIES = (
    "now",
    "earlier",
    "known",
)  # how the counterpart's entry is made: the status line
TWIN = ("same", "other", "person")  # who makes it, in the undisguised control
OUTCOMES = (
    "T",
    "R",
    "P",
    "S",
)  # the reader's four outcomes, from the best to the worst
DIRECTION = {"less": -1, "more": 1}  # which numbers are the better ones
MEANING = {"S": "symmetry", "C": "coupling cue", "H": "compliance pressure"}
CELL = ("S", "C", "H")  # what makes the cells of a study; another factor is a variation
UNWORDED = {
    "C": "absent",
    "H": "omit",
    "entry": "",
}  # levels that say nothing: no file words them

FACTOR = {"symmetry": "S", "coupling": "C", "compliance": "H", "entry": "entry"}
FIXED = (
    "order",
    "meeting",
    "influence",
)  # what every bulletin says once, in the same words
SLOTS = (*FACTOR, *FIXED)
TEMPLATE_FIELDS = {
    "pilot": {"bulletin", "entry", "contract"},
    "reasoned": {"bulletin", "entry", "contract"},
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
_ACT = shape.record(word=_TEXT, lines=_WORDINGS)
_CUES = shape.record(
    S=shape.record(high=_WORDINGS, low=_WORDINGS),
    H=shape.record(high=_WORDINGS, low=_WORDINGS),
    C=shape.record(present=_WORDINGS),
    entry=shape.record(**dict.fromkeys(ENTRIES, _WORDINGS)),
)
_SYSTEMS = shape.record(
    strategy=_TEXT,
    decision=_TEXT,
    first_only=shape.sometimes(_TEXT),  # a decision where no history is shown
    one_shot=_TEXT,
)
_FRAME = shape.record(
    fields=_TEXTS,
    required=_TEXTS,
    bulletins=shape.sometimes(shape.whole(1)),
    held_out=shape.sometimes(shape.whole(0)),
    acts=shape.record(cooperative=_ACT, other=_ACT),
    toggles=shape.record(**dict.fromkeys(WORDED, _CUES)),
    twin=shape.record(**dict.fromkeys(TWIN, _TEXT)),
    fixed=shape.record(round=_TEXT, **dict.fromkeys(FIXED, _TEXT)),
    systems=shape.record(**dict.fromkeys(WORDED, _SYSTEMS)),
    templates=shape.record(
        **dict.fromkeys(("pilot", "reasoned", "strategy", "encounter"), _PARAGRAPHS),
        **dict.fromkeys(("history", "row", "no_entry"), _TEXT),
    ),
)
_OUTCOMES = shape.map_of(
    shape.record(
        unit=_TEXT,
        direction=shape.enum(*DIRECTION),
        **dict.fromkeys(OUTCOMES, shape.whole(0)),
    ),
    "a bulletin, such as round_1",
)


class Bulletin(NamedTuple):
    """`text` is the template; `path` is relative to the prompts folder. What is held out is asked
    by holdout runs alone. `outcomes`: {T, R, P, S: its number}, where they stand apart."""

    id: str
    number: int
    text: str
    path: str
    holdout: bool
    outcomes: dict[str, int]

    @property
    def domain(self) -> str:
        return self.id.rpartition("-")[0]


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
    cue sentence, the specification's first (("",) where the level says nothing); the factor "entry"
    has the status lines, which say how the counterpart's entry is made, or, in the undisguised
    control, who makes it. `fixed` is what every bulletin says once; `systems[words][phase]` a
    system prompt. A template is a tuple of paragraphs, or a text. `texts` holds every file that was
    read, by its path.
    """

    name: str
    bulletins: tuple[Bulletin, ...]
    variants: tuple[Variant, ...]
    toggles: dict[str, dict[str, dict[str, tuple[str, ...]]]]
    fixed: dict[str, str]
    acts: tuple[Act, Act]
    systems: dict[str, dict[str, str]]
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
    folders = (
        path.removesuffix("/frame.json")
        for path in _paths(source)
        if path.endswith("/frame.json")
    )
    return sorted("cvd" if folder == "cirrus24" else folder for folder in folders)


def load_domain(name: str, source: Source = PROMPTS) -> Domain:
    """The checked prompts of a domain, from a prompts folder or a run's own texts; UsageError at
    the first fault."""
    files: dict[str, str] = {}
    folder, known = folder_of(check_run_id(name, "domain")), domain_names(source)
    if known and name not in known:
        raise UsageError(
            f"{folder}/frame.json: no such file; {shape.nearest(name, known)}"
        )
    frame = _read_frame(source, f"{folder}/frame.json", files)
    domain = Domain(
        name,
        tuple(_read_bulletins(source, name, frame, files)),
        tuple(
            _read_variants(
                source, f"variants/{folder}.yaml", set(frame["fields"]), files
            )
        ),
        {
            words: _wordings(cues | {"entry": cues["entry"] | frame["twin"]})
            for words, cues in frame["toggles"].items()
        },
        frame["fixed"],
        tuple(
            Act(act["word"], _several(act["lines"]))
            for act in map(frame["acts"].get, ("cooperative", "other"))
        ),
        frame["systems"],
        {
            k: tuple(v) if isinstance(v, list) else v
            for k, v in frame["templates"].items()
        },
        files,
    )
    _check_fields_used(domain, frame)
    return domain


def cooperative_word(name: str, source: Source) -> str:
    """The canonical word of a domain's cooperative act, from a frame that was checked before."""
    return json.loads(_text(source, f"{folder_of(name)}/frame.json"))["acts"][
        "cooperative"
    ]["word"]


def fill(bulletin: str, fields: Mapping[str, Any], sentences: Mapping[str, str]) -> str:
    """A bulletin's text as read: `sentences` by slot, then a variant's fields and the outcomes. A
    slot that says nothing vanishes with the blank before it, or after it where a line begins."""
    text = bulletin
    for slot in SLOTS:
        place, words = f"{{{slot}}}", sentences.get(slot, "")
        text = (
            text.replace(place, words)
            if words
            else (
                text.replace(f" {place}", "")
                .replace(f"{place} ", "")
                .replace(place, "")
            )
        )
    return text.format_map(fields)


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
    return (
        (path.relative_to(source).as_posix() for path in source.glob("*/*"))
        if isinstance(source, Path)
        else source
    )


def read_text(source: Source, path: str, files: dict[str, str]) -> str:
    try:
        files[path] = _text(source, path)
    except (FileNotFoundError, KeyError):
        raise UsageError(
            f"{path}: no such file; put it there, or begin with a copy of prompts/"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise complaint(
            path, "file", type(error).__name__, "make it readable UTF-8"
        ) from error
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
    _check_lists(path, frame["toggles"])
    for name, wanted in TEMPLATE_FIELDS.items():
        check_placeholders(path, "\n\n".join(_texts(frame["templates"][name])), wanted)
    for name in ("pilot", "reasoned", "encounter"):
        if frame["templates"][name][-1] != "{contract}":
            raise complaint(
                path, f"templates.{name}", "last", "end with the paragraph {contract}"
            )
    fields = set(frame["fields"])
    if unknown := sorted(set(frame["required"]) - fields):
        raise complaint(path, "required", unknown[0], "unknown: declare it in fields")
    for sentence in _texts(
        [frame[part] for part in ("toggles", "twin", "fixed", "acts")]
    ):
        check_placeholders(path, sentence, set(), fields)
    for text in _texts(_shown(frame)):
        _check_words(path, text)
    return frame


def _shown(frame: dict[str, Any]) -> dict[str, Any]:
    """What of a frame models read, without the labels, the specification's one exception, and the
    twin control, which is undisguised."""
    lines = [act["lines"] for act in frame["acts"].values()]
    standard = [
        text.replace(SPECIFIED, "") for text in frame["systems"]["standard"].values()
    ]
    systems = {**frame["systems"], "standard": standard}
    return {
        **frame,
        "fields": [],
        "required": [],
        "acts": lines,
        "twin": [],
        "systems": systems,
    }


def _read_bulletins(
    source: Source, name: str, frame: dict[str, Any], files: dict[str, str]
) -> Iterator[Bulletin]:
    folder = folder_of(name)
    slots = {*SLOTS} - {"entry"}
    outcomes = _read_outcomes(source, f"{folder}/outcomes.json", files)
    many = max(sum(fnmatch(path, f"{folder}/round_*.md") for path in _paths(source)), 1)
    main = many - _held_out(frame, many)
    for number in range(1, many + 1):
        path = f"{folder}/round_{number}.md"
        text = read_text(source, path, files).strip()
        numbers = outcomes.pop(f"round_{number}", {})
        check_placeholders(
            path, text, {*slots, *numbers, *frame["required"]}, set(frame["fields"])
        )
        for slot in (*slots, *numbers):
            if text.count(f"{{{slot}}}") > 1:
                raise complaint(
                    path, "placeholder", slot, "twice: use it once in this text"
                )
        _check_words(path, re.sub(r"\{\w+\}", "", text))
        yield Bulletin(
            f"{name}-r{number:02d}",
            number,
            text,
            path,
            number > main,
            numbers,
        )
    for unknown in outcomes:
        raise complaint(
            f"{folder}/outcomes.json", "bulletin", unknown, "there is no such file"
        )


def _held_out(frame: dict[str, Any], many: int) -> int:
    """How many of `many` bulletins are held out, the last ones: as the frame says, for as many as
    it says it of; else a fifth, and at least one."""
    if "held_out" in frame and frame.get("bulletins", many) == many:
        return frame["held_out"]
    return max(many // 5, 1)


def _read_outcomes(
    source: Source, path: str, files: dict[str, str]
) -> dict[str, dict[str, int]]:
    """{bulletin: {T, R, P, S: number}}."""
    listed = read_json(source, path, _OUTCOMES, files)
    for bulletin, entry in listed.items():
        t, r, p, s = (DIRECTION[entry["direction"]] * entry[name] for name in OUTCOMES)
        if not (t > r > p > s and 2 * r > t + s):
            raise complaint(
                path,
                bulletin,
                [entry[name] for name in OUTCOMES],
                "T has to be better than R, R than P, P than S, and twice R better "
                "than T and S",
            )
    return {
        bulletin: {name: entry[name] for name in OUTCOMES}
        for bulletin, entry in listed.items()
    }


def _read_variants(
    source: Source, path: str, fields: set[str], files: dict[str, str]
) -> Iterator[Variant]:
    entries = read_json(
        source,
        path,
        shape.list_of(
            shape.record(**dict.fromkeys(fields, _TEXT), id=_TEXT, holdout=shape.FLAG)
        ),
        files,
    )
    ids = set()
    for entry in entries:
        if entry["id"] in ids:
            raise complaint(
                path, "id", entry["id"], "give every entry an id of its own"
            )
        ids.add(entry["id"])
        values = {field: entry[field] for field in sorted(fields)}
        for value in values.values():
            _check_words(path, value)
        yield Variant(entry["id"], entry["holdout"], values)
    if {e["holdout"] for e in entries} != {True, False}:
        raise complaint(
            path, "holdout", "all alike", "hold out at least one entry, and not all"
        )


def _several(texts: str | list[str]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


def _wordings(cues: dict[str, dict[str, Any]]) -> dict[str, dict[str, tuple[str, ...]]]:
    """The wordings of every level."""
    return {
        factor: {level: _several(texts) for level, texts in levels.items()}
        | ({UNWORDED[factor]: ("",)} if factor in UNWORDED else {})
        for factor, levels in cues.items()
    }


# --- checks ---


def _texts(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, (dict, list, tuple)):
        for branch in tree.values() if isinstance(tree, dict) else tree:
            yield from _texts(branch)


def check_placeholders(
    path: str, text: str, wanted: Collection[str], allowed: Collection[str] = ()
) -> None:
    """`wanted` have to be there, `allowed` may."""
    try:
        parts = [p for p in Formatter().parse(text) if p[1] is not None]
    except ValueError as error:
        raise complaint(
            path, "placeholder", str(error), "set braces only around a name"
        ) from error
    for _, name, spec, conversion in parts:
        if (name not in wanted and name not in allowed) or spec or conversion:
            raise complaint(
                path,
                "placeholder",
                name,
                "unknown: "
                + (
                    "give its outcomes in outcomes.json"
                    if name in OUTCOMES
                    else "the status line stands below the bulletin"
                    if name == "entry"
                    else "use one that frame.json declares"
                ),
            )
    if missing := sorted(set(wanted) - {p[1] for p in parts}):
        raise complaint(path, "placeholder", missing[0], "missing: use it in this text")


def _check_lists(path: str, toggles: dict[str, dict[str, Any]]) -> None:
    """Wording k is the k-th sentence of every list."""
    for words, cues in toggles.items():
        lists = [
            cues["S"]["high"],
            cues["S"]["low"],
            cues["C"]["present"],
            *cues["entry"].values(),
        ]
        sizes = [len(_several(texts)) for texts in lists]
        if len(set(sizes)) > 1:
            raise complaint(
                path,
                f"toggles.{words}",
                sizes,
                "give S, C present and entry equally many sentences",
            )


def _check_words(path: str, text: str) -> None:
    if match := FORBIDDEN.search(text):
        raise complaint(
            path, "word", match[0], "it gives the setting away: say it otherwise"
        )


def _check_fields_used(domain: Domain, frame: dict[str, Any]) -> None:
    texts = [
        *(bulletin.text for bulletin in domain.bulletins),
        *_texts([domain.toggles, domain.fixed, *(act.lines for act in domain.acts)]),
    ]
    for field in frame["fields"]:
        if not any(f"{{{field}}}" in text for text in texts):
            raise complaint(
                f"{folder_of(domain.name)}/frame.json",
                "fields",
                field,
                "unused: no text has it; remove it",
            )
