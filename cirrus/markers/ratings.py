"""Chooses the policies to be rated, asks models or people, and reads back what they
said.

    items = items_of(study)                            # {item id: RatedText}, one a distinct text
    dealt = sample(items.values(), n=200, seed=42)
    for rater in raters(places): rater.labels          # {item id: {family: True, False or None}}

An item is a distinct text: policies with the same text are rated once. Its id is made
from the text alone, and tells nothing about run, cell or decision; words that the text
quotes from a cue sentence are blanked.

A sample takes equal numbers of texts from the cells, as far as they have them, and
chooses within a cell by lot. No label influences the choice. So where the cells have
the same size, shares in the sample estimate those of the study.
"""

import codecs
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from cirrus.ask.bulletins import (
    PROMPTS,
    check_placeholders,
    load_domain,
    read_json,
    read_text,
)
from cirrus.ask.prompts import read_examples
from cirrus.judge.rows import SavedRun, Study, artifact
from cirrus.markers.patterns import FAMILIES, Labels
from common import COMPLETE, UsageError, cli
from common.artifacts import (
    content_sha256,
    csv_bytes,
    csv_line,
    json_file,
    read_jsonl,
    sha256,
    write_atomic,
)
from common.parsing import DRESSING, answer_of
from common.refusals import declines
from common.rng import SeededRandom
from common.runs import stored_prompts
from common.shape import FLAG, NAME, enum, list_of, map_of, maybe, read, record, whole
from common.wire import UNANSWERED, Reply, Request

ROUND = "strategies_r1.json"
CODEBOOK = "adjudication/codebook.json"
PEOPLE = "ratings"  # folder beside the analysis that keeps people's ratings
SAMPLE, SEED = 200, 42  # texts in a sheet and its seed, where no flag says otherwise
QUOTE = 5  # so many words in a row count as a quotation
BLANK = "[…]"  # what raters see in place of a quotation
WORD = re.compile(r"\w+")
RATINGS = "ratings.jsonl"  # the file that an adjudication derives from its journal


class Policy(NamedTuple):
    """A readable policy of round 1 of a main run.

    `id` is the id of its request, by which decisions name the policy. `cell` is the
    cell of its run. `weak` has its labels by the codebook's patterns.
    """

    id: str
    cell: str
    text: str
    weak: Labels


class RatedText(NamedTuple):
    """A distinct text as raters see it, and the cell of the first policy with that
    text."""

    id: str
    cell: str
    text: str


class Rater(NamedTuple):
    """A model or person (`kind`) with the labels that it gave.

    `labels` is {item id: labels}, and `statuses` counts how the ratings ended. `served`
    has the models that answered under its name. `done` says whether all is answered
    that was asked.
    """

    name: str
    kind: str
    simulated: bool
    done: bool
    labels: dict[str, Labels]
    statuses: dict[str, int]
    served: tuple[str, ...] = ()


# --- what is rated -----------------------------------------------------------------------------


def readable(status: str) -> bool:
    """Whether a policy with this status has a text."""
    return status not in (*UNANSWERED, "empty", "blocked")


def item_id(text: str) -> str:
    """Return an id such as "p-3f2a9c01d4b7", which no spreadsheet takes for a
    number."""
    return "p-" + sha256("cirrus-bench item\n" + text)[:12]


def items_of(study: Study) -> dict[str, RatedText]:
    """Return {id: item} of the round-1 policies of main runs, on which primary
    decisions rest; raise UsageError where there are none."""
    items: dict[str, RatedText] = {}
    main = [run for run in study.runs if run.role == "main"]
    quotes = quotations(main)
    for run in main:
        for row in artifact(run, ROUND):
            if readable(row["policy_status"]):
                text = row["policy"]
                item = RatedText(item_id(text), run.words, blanked(text, quotes))
                items.setdefault(item.id, item)
    if not items:
        raise UsageError(
            "no main runs with readable policies of round 1: there is nothing to rate"
        )
    return items


def quotations(runs: Iterable[SavedRun]) -> set[tuple[str, ...]]:
    """Return all stretches of QUOTE words in the cue sentences that the runs' bulletins
    can hold.

    A rater who read one of these in a policy would rate the bulletin, and could tell
    the cell.
    """
    domains = {}
    for run in runs:
        texts = stored_prompts(run.folder, run.manifest["identity"]["prompts"])
        domains[run.domain] = load_domain(run.domain, texts)
    quotes = set()
    for domain in domains.values():
        for sentence in texts_in(domain.toggles):
            for piece in re.split(r"{\w+}", sentence):
                quotes.update(rows_of_words(WORD.findall(piece.lower())))
    return quotes


def texts_in(value: Any) -> Iterator[str]:
    """Yield every string in nested mappings and lists."""
    if isinstance(value, str):
        yield value
        return
    parts = value.values() if isinstance(value, Mapping) else value
    for part in parts:
        yield from texts_in(part)


def rows_of_words(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Return all stretches of `words` that are QUOTE words long, in order; they
    overlap."""
    starts = range(len(words) - QUOTE + 1)
    return [tuple(words[at : at + QUOTE]) for at in starts]


def blanked(text: str, quotes: Collection[tuple[str, ...]]) -> str:
    """Return `text` with BLANK in place of each quotation.

    >>> blanked("Hold on: We go, as they do, by noon.", {("we", "go", "as", "they", "do")})
    'Hold on: […], by noon.'
    """
    spans = [match.span() for match in WORD.finditer(text)]
    words = [text[start:end].lower() for start, end in spans]
    quoted: set[int] = set()
    for at, row in enumerate(rows_of_words(words)):
        if row in quotes:
            quoted.update(range(at, at + QUOTE))
    parts, end = [], 0
    for at in sorted(quoted):
        start, stop = spans[at]
        if at - 1 not in quoted:
            parts += [text[end:start], BLANK]
        end = stop
    return "".join(parts) + text[end:]


def sample(items: Iterable[RatedText], n: int, seed: int) -> list[RatedText]:
    """Draw `n` items, or all where there are fewer, by lot from each cell in turn;
    return them in random order."""
    rng = SeededRandom(seed, "ratings")
    cells: dict[str, list[RatedText]] = {}
    for item in sorted(items):
        cells.setdefault(item.cell, []).append(item)
    piles = []
    for cell, pile in sorted(cells.items()):
        piles.append(rng.stream(cell).sample(pile, len(pile)))
    drawn: list[RatedText] = []
    while len(drawn) < n and any(piles):
        top = [pile.pop() for pile in piles if pile]
        drawn += rng.sample(top, len(top))
    del drawn[n:]
    return rng.sample(drawn, len(drawn))


# --- the codebook as raters read it ------------------------------------------------------------

DEFINED = dict.fromkeys(FAMILIES, record(yes=NAME, no=NAME))
BOOK = record(
    version=whole(1),
    system=NAME,
    rating=list_of(NAME),
    people=list_of(NAME),
    families=record(**DEFINED),
)


def codebook_texts(folder: Path = PROMPTS) -> dict[str, str]:
    """Return {path under prompts/: the codebook's text}."""
    return {CODEBOOK: read_text(folder, CODEBOOK, {})}


def codebook(text: str) -> dict[str, Any]:
    """Parse the codebook's text; raise UsageError where it lacks what raters need."""
    book = read_json({CODEBOOK: text}, CODEBOOK, BOOK, {})
    question = "\n".join(book["rating"])
    check_placeholders(CODEBOOK, question, {"policy", "families", "form"})
    return book


# --- models that rate: they see the codebook and a text, but neither condition nor decision ------
# A reply gives labels only where it has the form asked for, a line for each family. Any other reply
# gets a status and no label: `refused`, `incomplete` (a family is missing), `ambiguous` (a family
# occurs twice) or `unreadable`. Without a reply the status is the outcome of the call.

RATED = re.compile(
    r"\s*(?:[-•–]|\d[.)])?\s*([a-z][a-z -]*?)\s*[:：=]\s*(yes|no)[\s.!]*", re.I
)
FAMILY_NAMES = {name.replace("_", ""): name for name in FAMILIES}


def rating_prompts(book: Mapping[str, Any], text: str) -> tuple[str, str]:
    """Return (system, user) for one policy: the codebook and the policy's text,
    nothing else."""
    defined, lines = [], []
    for name, family in book["families"].items():
        defined.append(f"{name}\n  yes: {family['yes']}\n  no: {family['no']}")
        lines.append(f"{name}: yes|no")
    families, form = "\n".join(defined), "\n".join(lines)
    question = "\n\n".join(book["rating"])
    return book["system"], question.format(policy=text, families=families, form=form)


def rating_examples(book: Mapping[str, Any], text: str) -> tuple[str, ...]:
    """Return worked examples as turns of a Request: a question, its answer, and so on.

    `text` is that of prompts/examples.json. The examples rate other policies than the
    study's, by other kinds of reasoning than the codebook's.
    """
    rating = read_examples(text)["rating"]
    families, turns = rating["families"], []
    for form in rating["forms"]:
        _, user = rating_prompts({**book, "families": families}, form["policy"])
        lines = []
        for name in families:
            lines.append(f"{name}: {'yes' if name in form['yes'] else 'no'}")
        turns += [user, "\n".join(lines)]
    return tuple(turns)


def rating_requests(
    config: Mapping[str, Any],
    items: Sequence[RatedText],
    book: Mapping[str, Any],
    examples: str = "",
) -> list[Request]:
    """Return a request for each item and model, in random order, so that an outage hits
    all of them alike.

    `examples` is the text of prompts/examples.json where worked examples precede every
    policy, else "".
    """
    forms = rating_examples(book, examples) if examples else ()
    requests = []
    for item, model in product(items, config["models"]):
        name = f"{item.id}/{model}"
        seed = SeededRandom(config["seed"], "request", name).getrandbits(31)
        system, user = rating_prompts(book, item.text)
        request = Request(
            id=name,
            stage="rating",
            model=model,
            system=system,
            user=user,
            max_out=config["max_out"],
            temperature=config["temperature"],
            seed=seed,
            effort=config["reasoning_effort"],
            examples=forms,
        )
        requests.append(request)
    return SeededRandom(config["seed"], "turns").sample(requests, len(requests))


def parse_rating(text: str) -> tuple[dict[str, bool] | None, str]:
    """Return (labels, status) of a reply; labels are None where it does not have the
    form asked for.

    >>> parse_rating("acausal: yes")
    (None, 'incomplete')
    """
    labels: dict[str, bool] = {}
    twice = False
    for raw in answer_of(text).splitlines():
        line = DRESSING.sub("", raw)
        if not line.strip():
            continue
        match = RATED.fullmatch(line)
        said = re.sub(r"[^a-z]", "", match[1].lower()) if match else ""
        if match is None or said not in FAMILY_NAMES:
            refused = declines(text[:4000])
            return None, "refused" if refused else "unreadable"
        name = FAMILY_NAMES[said]
        twice |= name in labels
        labels[name] = match[2].lower() == "yes"
    if twice:
        return None, "ambiguous"
    if len(labels) < len(FAMILIES):
        return None, "incomplete" if labels else "unreadable"
    return {name: labels[name] for name in FAMILIES}, "ok"


def rating_rows(
    config: Mapping[str, Any],
    items: Iterable[RatedText],
    replies: Mapping[str, Reply],
    simulated: bool,
) -> Iterator[dict[str, Any]]:
    """Yield the lines of ratings.jsonl: items in the order of the sample, and for each
    item the models in the order of `config`."""
    for item, model in product(items, config["models"]):
        reply = replies[f"{item.id}/{model}"]
        labels, status = None, reply.outcome
        if status == "ok":
            labels, status = parse_rating(reply.text)
        row = {
            "item": item.id,
            "text_sha256": sha256(item.text),
            "rater": model,
            "simulated": simulated,
            "status": status,
            "labels": labels,
            "text": reply.text,
        }
        yield row | reply.account


# --- what raters said --------------------------------------------------------------------------


def raters(places: Sequence[Path]) -> list[Rater]:
    """List everybody whose ratings are in the folders `places`: models and people."""
    return [rater for rater, _ in _held(places).values()]


def _held(
    places: Sequence[Path], replaced: Collection[Path] = ()
) -> dict[str, tuple[Rater, Path]]:
    """Return {name: (rater, where the ratings are)}; raise UsageError where a name
    occurs twice.

    `replaced` are people's files that are not read, since new files will take their
    place.
    """
    held: dict[str, tuple[Rater, Path]] = {}
    for place in dict.fromkeys(Path(place).resolve() for place in places):
        for rater, path in (*_models(place), *_people(place, replaced)):
            if rater.name in held:
                _, other = held[rater.name]
                raise UsageError(
                    f"{path} and {other}: both hold ratings by {rater.name}; move one "
                    "of them away"
                )
            held[rater.name] = rater, path
    return held


def _models(place: Path) -> Iterator[tuple[Rater, Path]]:
    """Yield (rater, folder of the adjudication) of the models that rated, from the
    adjudications in a folder."""
    for path in sorted(place.glob("*/manifest.json")):
        try:
            manifest = json.loads(path.read_bytes())
            if manifest["artifact"] != "adjudication":
                continue
        except (ValueError, KeyError, TypeError, OSError):
            continue  # the folder holds no adjudication that can be read
        rows = _rows(path.parent, manifest)
        for name in manifest["identity"]["config"]["models"]:
            yield _model(name, manifest, rows), path.parent


def _model(name: str, manifest: Mapping, rows: Sequence[Mapping]) -> Rater:
    """Return a model as a rater, from its `rows` of ratings.jsonl."""
    labels: dict[str, Labels] = {}
    statuses: Counter[str] = Counter()
    served: set[str] = set()
    for row in rows:
        if row["rater"] != name:
            continue
        statuses[row["status"]] += 1
        if row["labels"] is not None:
            labels[row["item"]] = row["labels"]
        if row["served_model"]:
            served.add(row["served_model"])
    return Rater(
        name=name,
        kind="model",
        simulated=manifest["identity"]["provider"] == "simulated",
        done=manifest["state"] == "complete",
        labels=labels,
        statuses=dict(sorted(statuses.items())),
        served=tuple(sorted(served)),
    )


def _rows(folder: Path, manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Read an adjudication's ratings.jsonl and check its hash; return [] where there is
    none yet."""
    path = folder / RATINGS
    if RATINGS not in manifest.get("files", {}):
        return []
    try:
        if content_sha256(path) != manifest["files"][RATINGS]:
            raise UsageError(
                f"{path}: not what its manifest.json has hashed; analyze.py --verify "
                "says where it differs"
            )
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror}; restore it from a copy, or move {folder} away"
        ) from None
    return [row for _, row in read_jsonl(path)]


LABELS = record(**dict.fromkeys(FAMILIES, maybe(FLAG)))
PERSON = record(artifact=enum(PEOPLE), rater=NAME, labels=map_of(LABELS, "item"))


def _people(place: Path, replaced: Collection[Path]) -> Iterator[tuple[Rater, Path]]:
    """Yield (rater, file) of the people whose ratings a folder keeps."""
    for path in sorted((place / PEOPLE).glob("*.json")):
        if path in replaced:
            continue
        data = read(path, PERSON, "import the sheet again, or move the file away")
        statuses = {"ok": 0, "missing": 0, "partial": 0}
        for labels in data["labels"].values():
            statuses[_completeness(labels)] += 1
        rater = Rater(
            name=data["rater"],
            kind="person",
            simulated=False,
            done=True,
            labels=data["labels"],
            statuses=statuses,
        )
        yield rater, path


def _completeness(labels: Labels) -> str:
    """Return "ok", "partial" or "missing": whether all, some or none of the families
    have a label."""
    given = len(labels) - list(labels.values()).count(None)
    if given == len(labels):
        return "ok"
    return "partial" if given else "missing"


# --- rating sheets for people: a blinded CSV goes out, the filled sheet comes back ---------------
# Sheets are UTF-8 with a byte order mark, which spreadsheets open and save as "CSV UTF-8".

COLUMNS = ("item", "rater", *FAMILIES, "text")
ANSWERS = {"yes": True, "no": False, "": None}


def export(file: Path, study: Study, n: int, seed: int) -> tuple[Path, Path]:
    """Write a sheet of `n` items and its instructions, and return both paths; raise
    UsageError where one of the two files exists."""
    items, guide = items_of(study), file.with_name(file.name + ".md")
    for path in (file, guide):
        if path.exists():
            raise UsageError(
                f"--export-ratings: {path} is there already; it may hold ratings: "
                "name another file"
            )
    rows = []
    for item in sample(items.values(), n, seed):
        rows.append(dict.fromkeys(COLUMNS, "") | {"item": item.id, "text": item.text})
    write_atomic(file, codecs.BOM_UTF8 + csv_bytes(COLUMNS, rows))
    write_atomic(guide, instructions(file.name))
    return file, guide


def instructions(name: str) -> str:
    """Return the instructions for people who fill in the sheet `name`, made from the
    codebook that models get too."""
    book = codebook(codebook_texts()[CODEBOOK])
    parts = [f"# Rating {name}", *book["people"], "## The five kinds of reasoning"]
    for family, defined in book["families"].items():
        parts.append(f"**{family}**\n- yes: {defined['yes']}\n- no: {defined['no']}")
    return "\n\n".join(parts) + "\n"


def read_sheet(
    file: Path, items: Mapping[str, RatedText]
) -> tuple[str, dict[str, Labels]]:
    """Return (rater, {item: labels}) of a filled sheet.

    Where the sheet is not valid, it raises UsageError with the file, the row and what is
    wrong.
    """
    table = _table(file)
    raters = dict.fromkeys(filter(None, [row["rater"] for row in table]))
    if len(raters) != 1:
        named = ", ".join(raters) or "nobody"
        raise UsageError(
            f"{file}: rater names {named}; a sheet holds the ratings of one person: "
            "write the name in the first row, and give everybody a sheet"
        )
    labels: dict[str, Labels] = {}
    for number, row in enumerate(table, 2):
        if not any(row.values()):
            continue
        where, item = f"{file} row {number}", row["item"]
        if item not in items:
            raise UsageError(
                f"{where}: item {item!r} belongs to other runs; export a sheet from "
                "these"
            )
        if item in labels:
            raise UsageError(
                f"{where}: item {item!r} stands there twice; keep one of the rows"
            )
        if not _is_text_of(items[item], row["text"]):
            raise UsageError(
                f"{where}: the text is not that of {item}, letter by letter; sort whole "
                "rows only, or start from the exported sheet"
            )
        labels[item] = {name: _answer(where, name, row[name]) for name in FAMILIES}
    [rater] = raters
    return rater, labels


def _table(file: Path) -> list[dict[str, str]]:
    """Return the rows of a sheet below its head, each as {column: content}."""
    try:
        text = io.StringIO(file.read_bytes().decode("utf-8-sig"), newline="")
        reader = csv.DictReader(text, restval="", strict=True)
        rows, head = list(reader), list(reader.fieldnames or ())
    except OSError as error:
        raise UsageError(f"--import-ratings: {file}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(
            f"{file}: not CSV in UTF-8 with commas ({error}); save the sheet as "
            '"CSV UTF-8"'
        ) from None
    for name in COLUMNS:
        if head.count(name) != 1:
            raise UsageError(
                f"{file} row 1: no column {name!r}; keep the columns of the "
                "exported sheet, with commas between them"
            )
    return [_cells(row) for row in rows]


def _cells(row: Mapping[str, str]) -> dict[str, str]:
    """Return {column: content} of a row. Blanks at either end are taken away, but kept
    in the text, to which they belong."""
    stripped = {name: row[name].strip() for name in COLUMNS}
    return stripped | {"text": row["text"]}


def _is_text_of(item: RatedText, cell: str) -> bool:
    """Whether a cell holds the item's text as it was exported.

    A spreadsheet may change line ends, and drop a leading apostrophe, which it takes
    for a mark of its own.
    """
    line = io.StringIO(csv_line([item.text]), newline="")
    [[exported]] = csv.reader(line)
    lines = exported.removeprefix("'").splitlines()
    return cell.removeprefix("'").splitlines() == lines


def _answer(where: str, family: str, value: str) -> bool | None:
    """Return the label that a cell of the sheet gives: True, False or None; raise
    UsageError where it is neither yes, no nor empty. `where` is file and row."""
    if value.lower() not in ANSWERS:
        raise UsageError(
            f"{where}: {family} {value!r} is neither yes nor no; leave the cell empty "
            "where you can't say"
        )
    return ANSWERS[value.lower()]


def collect(files: Iterable[str], study: Study, where: Sequence[Path]) -> list[str]:
    """Check all sheets, then keep their ratings beside the analysis; return a sentence
    for each rater.

    `where` lists the analysis's folder, then further folders in which ratings may be; a
    rater whose ratings are there already is refused.
    """
    items, sheets, kept = items_of(study), {}, {}
    target = where[0].resolve()
    for file in dict.fromkeys(files):
        rater, labels = read_sheet(Path(file), items)
        if rater in sheets:
            raise UsageError(
                f"{file}: a second sheet of {rater}; put all rows into one sheet"
            )
        if set(map(_completeness, labels.values())) == {"missing"}:
            raise UsageError(
                f"{file}: nothing is rated yet; write yes or no into the columns of "
                "the families"
            )
        sheets[rater] = file, labels
        kept[rater] = target / PEOPLE / _file_name(rater)
    held = _held(where, kept.values())
    for rater, (file, _) in sheets.items():
        if rater in held:
            _, place = held[rater]
            raise UsageError(
                f"{file}: ratings by {rater} are in {place} already; write another "
                "name into the sheet, or move those away"
            )
    lines = []
    for rater, (_, labels) in sheets.items():
        kept[rater].parent.mkdir(parents=True, exist_ok=True)
        data = {"artifact": PEOPLE, "rater": rater, "labels": labels}
        write_atomic(kept[rater], json_file(data))
        full = sum(None not in row.values() for row in labels.values())
        lines.append(f"{rater}: {full} of {len(labels)} policies fully rated")
    return lines


def _file_name(rater: str) -> str:
    """Return the name of a person's file: the rater's name in characters that any file
    system takes, and a hash of it."""
    plain = re.sub("[^a-z0-9]", "-", rater.lower())
    return f"{plain[:40]}-{sha256(rater)[:6]}.json"


def command_export(args, study: Study) -> cli.Done:
    """Carry out analyze.py --export-ratings."""
    n = SAMPLE if args.sample is None else args.sample
    seed = SEED if args.seed is None else args.seed
    sheet, guide = export(Path(args.export_ratings), study, n, seed)
    again = f"python3 analyze.py {' '.join(map(str, args.runs))} --import-ratings FILE"
    told = (
        f"{sheet}: a blinded sheet, one policy in each row\n{guide}: what raters need to know\n"
        f"now: give a copy of both to two raters or more, then {again}"
    )
    facts = {"sheet": str(sheet), "instructions": str(guide)}
    return cli.Done(COMPLETE, facts, told)
