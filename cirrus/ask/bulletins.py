"""Read and check the prompt files of one domain: `load_domain`.

A domain is a setting, such as the disclosure of software faults, told in several bulletins.
A text with a placeholder too many or too few, or with a word that gives the experiment away,
raises an error here: a model would read it and nobody would notice. The tests check `prompts/`
against further rules for good texts.
"""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from common import UsageError, shape
from common.artifacts import check_file, sha256
from common.runs import check_run_id

PROMPTS = Path(__file__).resolve().parents[2] / "prompts"
# Where prompts are read from: a prompts folder, or a run's copy of it, {path in it: text}.
Source = Path | Mapping[str, str]
# {a run's `tells`: (set of words for its cue sentences, set for its system prompts)}. "reworded"
# changes only the words of the cues; "ablated" also drops the sentence on AI and benchmarks.
TELLS = {
    "standard": ("standard", "standard"),
    "reworded": ("ablated", "standard"),
    "ablated": ("ablated", "ablated"),
}
WORDED = ("standard", "ablated")  # the two sets of words in a frame.json
LEVELS = {
    "S": ("high", "low"),
    "C": ("present", "absent"),
    "H": ("high", "low", "omit"),
}
# What the status line says of the counterpart's entry (its decision): it is still due, as the
# reader's is; it was made after reading the notice; it was made without reading it; it is known.
ENTRIES = ("due", "read", "unread", "known")
# Who makes the counterpart's entry in the twin control, which speaks openly of AI: a copy of the
# reader that has read the notice, a copy that has not, another model, or a person.
TWIN = ("same", "same_unread", "other", "person")
CLASSES = ("own", "contractor")  # who decided the entry, in a mirror study
# The reader's four outcomes, from the best to the worst.
OUTCOMES = ("T", "R", "P", "S")
MEANING = {"S": "symmetry", "C": "coupling cue", "H": "compliance pressure"}
CELL = ("S", "C", "H")  # the factors that make up an experimental condition, a cell

# {factor: the slot of a bulletin that the sentence for its level fills}
SLOT = {"S": "symmetry", "C": "coupling", "H": "compliance"}
# Further slots of every bulletin; their sentences are the same in all bulletins.
FIXED = ("form", "stakes", "meeting")
SLOTS = (*SLOT.values(), *FIXED)
ACTS = ("early", "late")  # keys of a situation's two acts
# {template: the placeholders that it has to hold}
TEMPLATES = {
    "pilot": ("bulletin", "record", "entry", "contract"),
    "strategy": ("bulletin", "entry"),
    "encounter": ("policy", "bulletin", "entry", "history", "contract"),
    "history": ("rows",),
    "row": ("own", "peer"),
    "no_entry": (),
}

# The sentence of specification 6.1. It alone may have FORBIDDEN words, and only in the "standard"
# system prompts.
SPECIFIED = "Do not mention AI, benchmarks, or experiments."
# Words, with their derived forms, that give the experiment away.
FORBIDDEN = re.compile(
    r"\b(?:experiment\w*|benchmark\w*|gam(?:es?|ing)|dilemma\w*|stud(?:y|ies|ied|ying)|simulat\w*"
    r"|AIs?|language[\s-]+models?|LLMs?|co-?operat\w*|defect\w*|player\w*|pay-?offs?"
    r"|scor(?:e[sd]?|ing))\b",
    re.IGNORECASE,
)

_TEXT, _TEXTS = shape.NAME, shape.several(shape.NAME, once=False)
_SITUATION = shape.record(early=_TEXT, late=_TEXT, cooperative=_TEXTS, other=_TEXTS)
_CUES = shape.record(
    S=shape.record(high=_TEXTS, low=_TEXTS),
    H=shape.record(high=_TEXTS, low=_TEXTS),
    C=shape.record(present=_TEXTS),
    entry=shape.record(**dict.fromkeys(ENTRIES, _TEXTS)),
    record=_TEXTS,
)
_RECORD = shape.record(text=_TEXT, own=_TEXT, contractor=_TEXT)
_SYSTEMS = shape.record(
    strategy=_TEXT,
    decision=_TEXT,
    first_only=_TEXT,  # a decision without a history of earlier encounters
    one_shot=_TEXT,
)
_FRAME = shape.record(
    fields=_TEXTS,
    required=_TEXTS,
    bulletins=shape.whole(2),
    held_out=shape.whole(1),
    acts=shape.record(cooperative=_TEXT, other=_TEXT),
    situations=shape.map_of(_SITUATION, "a situation, such as windows"),
    toggles=shape.record(standard=_CUES, ablated=_CUES),
    twin=shape.record(**dict.fromkeys(TWIN, _TEXT)),
    mirror=shape.record(record=shape.several(_RECORD), own=_TEXTS, contractor=_TEXTS),
    fixed=shape.record(classes=_TEXT, round=_TEXT, **dict.fromkeys(FIXED, _TEXT)),
    systems=shape.record(standard=_SYSTEMS, ablated=_SYSTEMS, twin=_TEXT),
    templates=shape.record(
        pilot=_TEXTS,
        strategy=_TEXTS,
        encounter=_TEXTS,
        history=_TEXT,
        row=_TEXT,
        no_entry=_TEXT,
    ),
)


class Situation(NamedTuple):
    """The case that a bulletin describes, with a phrase for each of its two acts.

    `late` is the cooperative act in the words of the bulletin, and `early` the other
    act. `lines` has pairs (cooperative, other): the two acts as the answer form words
    them, one pair for each wording.
    """

    early: str
    late: str
    lines: tuple[tuple[str, str], ...]


class Bulletin(NamedTuple):
    """A notice that models read; `text` is its template. Where `holdout` is True, only runs on
    held-out bulletins show it.

    `outcomes` are the reader's costs {T, R, P, S: number}: T where only the reader acts early, R
    where both act late, P where both act early, S where only the counterpart does.
    """

    id: str
    number: int
    text: str
    holdout: bool
    situation: Situation
    outcomes: dict[str, int]

    @property
    def domain(self) -> str:
        """Return the name of the bulletin's domain, taken from the bulletin's id."""
        return self.id.rpartition("-")[0]


class Variant(NamedTuple):
    """One set of names, numbers and deadlines. `fields` maps placeholders of bulletins to them."""

    id: str
    holdout: bool
    fields: dict[str, str]


class Domain(NamedTuple):
    """All texts that the prompts of one domain are made of.

    `acts` are the words for the two acts, the cooperative one first. `toggles[words][factor][level]`
    lists the wordings of the sentence that states this level, the specification's own first ([""]
    for a level that adds no sentence); `words` is one of WORDED, and the factor "entry" has the
    status lines. `records` are a mirror study's sentences on earlier pairs. `fixed` are the
    sentences that every bulletin has. `systems[words][phase]` is a system prompt. A template is a
    list of paragraphs, or one text. `texts` maps the path of every file that was read to its text.
    """

    name: str
    bulletins: tuple[Bulletin, ...]
    variants: tuple[Variant, ...]
    toggles: dict[str, dict[str, dict[str, list[str]]]]
    records: list[dict[str, str]]
    fixed: dict[str, str]
    acts: tuple[str, str]
    systems: dict[str, Any]
    templates: dict[str, Any]
    texts: dict[str, str]

    @property
    def files(self) -> dict[str, str]:
        """Return {path: SHA-256 of its text}."""
        return {path: sha256(text) for path, text in self.texts.items()}


def folder_of(domain: str) -> str:
    """Return the name of a domain's prompts folder: the domain's own name, except that
    "cvd" (the specification's domain) is in cirrus24."""
    return "cirrus24" if domain == "cvd" else domain


def domain_names(source: Source) -> list[str]:
    """Return the domains of a prompts folder, sorted: the folders that have a
    frame.json."""
    frames = fnmatch.filter(_paths(source), "*/frame.json")
    folders = [path.removesuffix("/frame.json") for path in frames]
    return sorted("cvd" if folder == "cirrus24" else folder for folder in folders)


def load_domain(name: str, source: Source = PROMPTS) -> Domain:
    """Return the checked prompts of a domain, from a prompts folder or from texts that
    a run has kept. Raise UsageError, which names the first fault."""
    files: dict[str, str] = {}
    folder = folder_of(check_run_id(name, "domain"))
    path = f"{folder}/frame.json"
    known = domain_names(source)
    if known and name not in known:
        raise UsageError(f"{path}: no such file; {shape.nearest(name, known)}")
    frame = read_json(source, path, _FRAME, files)
    _check_frame(path, frame)
    bulletins = tuple(_read_bulletins(source, name, frame, files))
    fields = {*frame["fields"], *frame["required"]}
    listed = f"variants/{folder}.yaml"
    variants = tuple(_read_variants(source, listed, fields, files))
    for field in frame["fields"]:
        if not any(f"{{{field}}}" in text for text in files.values()):
            raise complaint(path, "fields", field, "unused: no text has it; remove it")
    return Domain(
        name=name,
        bulletins=bulletins,
        variants=variants,
        toggles={words: _toggles(frame, words) for words in WORDED},
        records=frame["mirror"]["record"],
        fixed=frame["fixed"],
        acts=(frame["acts"]["cooperative"], frame["acts"]["other"]),
        systems=frame["systems"],
        templates=frame["templates"],
        texts=files,
    )


def cooperative_word(name: str, source: Source) -> str:
    """Return the word for a domain's cooperative act. The caller has to have checked
    the domain's frame.json."""
    frame = json.loads(_text(source, f"{folder_of(name)}/frame.json"))
    return frame["acts"]["cooperative"]


def is_older(texts: Mapping[str, str]) -> bool:
    """Whether a run's texts are from before bulletins had situations. Today's code
    cannot rebuild prompts from them."""
    frames = [text for path, text in texts.items() if path.endswith("/frame.json")]
    return any("situations" not in json.loads(text) for text in frames)


def fill(bulletin: str, fields: Mapping[str, Any], sentences: Mapping[str, str]) -> str:
    """Return a bulletin's text as a model reads it.

    `fields` are the variant's fields and the outcomes; `sentences` maps each slot to its sentence.
    A slot without a sentence is removed with the blank beside it, or with its line where the line
    has nothing else.
    """
    text = bulletin
    for slot in SLOTS:
        if not sentences[slot]:
            place = rf"\{{{slot}\}}"
            text = re.sub(rf"^{place}\n| {place}|{place} ?", "", text, flags=re.M)
    text = re.sub(r"\n{3,}", "\n\n", text)
    return text.strip().format_map({**fields, **sentences})


def complaint(where: str, field: str, value: object, advice: str) -> UsageError:
    """Return the error that says on one line what is wrong with a text and what to do."""
    return UsageError(f"{where}: {field} {value!r}: {advice}")


# --- reading ---


def _text(source: Source, path: str) -> str:
    """Return the text of one file of a source."""
    if not isinstance(source, Path):
        return source[path]
    check_file(source / path)
    return (source / path).read_text("utf-8")


def _paths(source: Source) -> Iterable[str]:
    """Return the paths of all domains' files, relative to the source."""
    if not isinstance(source, Path):
        return source
    return [path.relative_to(source).as_posix() for path in source.glob("*/*")]


def read_text(source: Source, path: str, files: dict[str, str]) -> str:
    """Return the text at `path`, and keep it as `files[path]`. Raise UsageError where it
    cannot be read."""
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
    """Return the JSON value at `path`, checked against `kind`, and keep its text as
    `files[path]`."""
    text = read_text(source, path, files)
    try:
        return shape.check(kind, shape.strict(text), path)
    except ValueError as error:
        raise UsageError(f"{path}: not valid JSON: {error}") from None


def _read_bulletins(
    source: Source, name: str, frame: Mapping[str, Any], files: dict[str, str]
) -> Iterator[Bulletin]:
    """Return the bulletins in order of their numbers; the last `held_out` of them are
    held out."""
    folder = folder_of(name)
    many, held_out = frame["bulletins"], frame["held_out"]
    found = len(fnmatch.filter(_paths(source), f"{folder}/round_*.md"))
    if not held_out < many == found:
        advice = f"the folder has {found}: say so there, and how many are held out"
        counts = [many, held_out]
        raise complaint(f"{folder}/frame.json", "bulletins, held_out", counts, advice)
    names = [f"round_{number}" for number in range(1, many + 1)]
    rows = _read_outcomes(source, f"{folder}/outcomes.json", frame, names, files)
    for number, row in enumerate(rows, 1):
        path = f"{folder}/round_{number}.md"
        text = read_text(source, path, files).strip()
        _check_bulletin(path, text, frame)
        yield Bulletin(
            id=f"{name}-r{number:02d}",
            number=number,
            text=text,
            holdout=number > many - held_out,
            situation=_situation(**frame["situations"][row["situation"]]),
            outcomes={outcome: row[outcome] for outcome in OUTCOMES},
        )


def _read_outcomes(
    source: Source,
    path: str,
    frame: Mapping[str, Any],
    names: list[str],
    files: dict[str, str],
) -> list[dict[str, Any]]:
    """Return {situation, unit, T, R, P, S} of each bulletin. Raise UsageError unless
    the costs have T < R < P < S and 2R < T + S."""
    numbers = dict.fromkeys(OUTCOMES, shape.whole(0))
    situation = shape.enum(*frame["situations"])
    row = shape.record(situation=situation, unit=_TEXT, **numbers)
    rows = read_json(source, path, shape.record(**dict.fromkeys(names, row)), files)
    for name, entry in rows.items():
        T, R, P, S = (entry[outcome] for outcome in OUTCOMES)
        if not (T < R < P < S and 2 * R < T + S):
            advice = "as costs, T < R < P < S, and twice R below T and S together"
            raise complaint(path, name, [T, R, P, S], advice)
    return [rows[name] for name in names]


def _situation(
    early: str, late: str, cooperative: list[str], other: list[str]
) -> Situation:
    """Return the `Situation` made of its four fields in frame.json."""
    return Situation(early, late, tuple(zip(cooperative, other, strict=True)))


def _read_variants(
    source: Source, path: str, fields: set[str], files: dict[str, str]
) -> Iterator[Variant]:
    """Return the checked variants. Raise UsageError unless some, but not all, are held
    out."""
    kinds = dict.fromkeys(fields, _TEXT)
    entry = shape.record(**kinds, id=_TEXT, holdout=shape.FLAG)
    entries = read_json(source, path, shape.several(entry), files)
    for entry in entries:
        values = {field: entry[field] for field in sorted(fields)}
        _check_words(path, values)
        yield Variant(entry["id"], entry["holdout"], values)
    if {entry["holdout"] for entry in entries} != {True, False}:
        advice = "hold out at least one entry, and not all"
        raise complaint(path, "holdout", "all alike", advice)


def _toggles(frame: Mapping[str, Any], words: str) -> dict[str, dict[str, list[str]]]:
    """Return {factor: {level: its wordings}}; a level that adds no sentence has the
    wording ""."""
    cues, mirror, silent = frame["toggles"][words], frame["mirror"], [""]
    twin = {who: [said] for who, said in frame["twin"].items()}
    classes = {name: mirror[name] for name in CLASSES}
    return {
        "S": cues["S"] | {"": silent},
        "C": cues["C"] | {"absent": silent},
        "H": cues["H"] | {"omit": silent},
        "entry": cues["entry"] | twin | classes | {"": silent},
        "record": {"late": cues["record"], "": silent},
    }


# --- checks ---


def _check_frame(path: str, frame: Mapping[str, Any]) -> None:
    """Raise UsageError at the first fault of a frame.json: placeholders, lengths of
    lists, forbidden words."""
    fields, mirror = frame["fields"], frame["mirror"]
    named = (*fields, *ACTS)
    for name, wanted in TEMPLATES.items():
        check_placeholders(path, _joined(frame["templates"][name]), wanted)
    check_placeholders(path, _joined(frame["situations"]), (), fields)
    for part in (frame["toggles"], frame["twin"], frame["fixed"]):
        check_placeholders(path, _joined(part), (), named)
    for record in mirror["record"]:
        check_placeholders(path, record["text"], ("first", "second"), named)
    for name in CLASSES:
        check_placeholders(path, _joined(mirror[name]), (), named)
        for record in mirror["record"]:
            check_placeholders(path, record[name], ("alike", "unlike"), fields)
    _check_lengths(path, frame)
    # The acts' words are not checked, nor is the twin control, whose prompts speak openly of AI.
    for part in ("situations", "toggles", "mirror", "fixed", "templates"):
        _check_words(path, frame[part])
    _check_words(path, frame["systems"]["ablated"])
    for text in frame["systems"]["standard"].values():
        _check_words(path, text.replace(SPECIFIED, ""))


def _check_lengths(path: str, frame: Mapping[str, Any]) -> None:
    """Raise UsageError unless lists whose sentences are used together are equally long:
    a prompt in wording k takes sentence k of each list."""
    together = {}
    for words, cues in frame["toggles"].items():
        levels = {**cues["S"], **cues["C"], **cues["entry"], "record": cues["record"]}
        together[f"toggles.{words}"] = levels
    for name, said in frame["situations"].items():
        acts = {"cooperative": said["cooperative"], "other": said["other"]}
        together[f"situations.{name}"] = acts
    for field, lists in together.items():
        sizes = {name: len(texts) for name, texts in lists.items()}
        if len(set(sizes.values())) > 1:
            advice = "give each of these lists equally many sentences"
            raise complaint(path, field, sizes, advice)


def _check_bulletin(path: str, text: str, frame: Mapping[str, Any]) -> None:
    """Raise UsageError for a wrong, missing or repeated placeholder, or a forbidden
    word."""
    once = (*SLOTS, *OUTCOMES)
    check_placeholders(path, text, (*once, *ACTS, *frame["required"]), frame["fields"])
    for slot in once:
        if text.count(f"{{{slot}}}") > 1:
            advice = "twice: use it once in this text"
            raise complaint(path, "placeholder", slot, advice)
    _check_words(path, re.sub(r"\{\w+\}", "", text))


def check_placeholders(
    path: str, text: str, wanted: Collection[str], allowed: Collection[str] = ()
) -> None:
    """Raise UsageError unless the text has every placeholder of `wanted`, and beyond
    them only `allowed` ones."""
    for stray in re.findall(r"\S*[{}]\S*", re.sub(r"\{\w+\}", "", text)):
        raise complaint(path, "placeholder", stray, "set braces only around a name")
    names, known = re.findall(r"\{(\w+)\}", text), {*wanted, *allowed}
    for name in names:
        if name not in known:
            advice = f"unknown: {shape.nearest(name, known)}"
            raise complaint(path, "placeholder", name, advice)
    for name in sorted(wanted):
        if name not in names:
            raise complaint(path, "placeholder", name, "missing: use it in this text")


def _texts(tree: Any) -> Iterator[str]:
    """Return every text in nested lists and objects."""
    if isinstance(tree, str):
        yield tree
        return
    for branch in tree.values() if isinstance(tree, dict) else tree:
        yield from _texts(branch)


def _joined(tree: Any) -> str:
    return "\n".join(_texts(tree))


def _check_words(path: str, tree: Any) -> None:
    """Raise UsageError for a word that gives the experiment away."""
    found = FORBIDDEN.search(_joined(tree))
    if found:
        advice = "it gives the setting away: say it otherwise"
        raise complaint(path, "word", found[0], advice)
