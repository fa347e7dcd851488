"""Which policies are rated, by whom, and what the raters said.

    items = items_of(policies_of(study))               # {item id: Item}, one a distinct text
    dealt = sample(items.values(), n=200, seed=42)
    for rater in raters(places, items): rater.labels   # {item id: {family: True, False or None}}

An item is a text: policies that say the same are rated once. Its id follows from the text alone
and tells nothing about run, cell or decision. The sample takes texts in equal numbers from the
cells (as far as they reach) and is otherwise drawn by lot, so a marker that one cell writes more
than others is there in that measure: it is not enriched by any label, and shares in it are those
of the study wherever cells are of one size.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cirrus.judge.rows import Study, artifact
from cirrus.markers.words import FAMILIES
from common import COMPLETE, UsageError, cli
from common.artifacts import (
    canonical_json,
    content_sha256,
    csv_parts,
    json_file,
    read_jsonl,
    sha256,
    write_atomic,
)
from common.rng import SeededRandom
from common.wire import UNANSWERED

ROUND = "strategies_r1.json"
ROOT = Path(__file__).resolve().parents[2]
CODEBOOK = "adjudication/codebook.json"
PEOPLE = "ratings"             # folder of what people said, beside the analysis
SAMPLE, SEED = 200, 42         # of a sheet, where no flag says otherwise
RATINGS = "ratings.jsonl"      # what an adjudication derives from its journal
Labels = Mapping[str, bool | None]


class Policy(NamedTuple):
    """A readable policy. `id`: of the request, which decisions name; `cell`: of its run."""

    id: str
    role: str
    round: int
    cell: str
    text: str


class Item(NamedTuple):
    """A distinct text, and the cell of the first policy that says it."""

    id: str
    cell: str
    text: str


class Rater(NamedTuple):
    """`kind`: model or person. `served`: models that answered under the name. `done`: whether all
    that was asked is answered."""

    name: str
    kind: str
    simulated: bool
    done: bool
    labels: dict[str, Labels]
    statuses: dict[str, int]
    served: tuple[str, ...] = ()


# --- what is rated -----------------------------------------------------------------------------

def readable(status: str) -> bool:
    """Whether a policy of this status holds a text."""
    return status not in (*UNANSWERED, "empty", "blocked")


def cell_of(run) -> str:
    return f"{run.domain} S.{run.cell[0]}-C.{run.cell[1]}-H.{run.cell[2]}"


def policies_of(study: Study) -> Iterator[Policy]:
    """The policies of round 1 of the main runs: those on which the primary data rest."""
    for run in study.runs:
        if run.role == "main":
            for row in artifact(run, ROUND):
                if readable(row["policy_status"]):
                    yield Policy(row["policy_id"], run.role, 1, cell_of(run), row["policy"])


def item_id(text: str) -> str:
    """ "p-3f2a9c01d4b7": opaque, and nothing that a spreadsheet takes for a number."""
    return "p-" + sha256("cirrus-bench item\n" + text)[:12]


def items_of(policies: Iterable[Policy]) -> dict[str, Item]:
    """{id: item} of the policies of round 1 of main runs, in their order."""
    out: dict[str, Item] = {}
    for policy in policies:
        if policy.role == "main" and policy.round == 1:
            name = item_id(policy.text)
            out.setdefault(name, Item(name, policy.cell, policy.text))
    return out


def sample(items: Iterable[Item], n: int, seed: int) -> list[Item]:
    """`n` items or all, cell by cell in turn, each cell's by lot; in an order drawn at the end."""
    rng = SeededRandom(seed, "ratings")
    cells: dict[str, list[Item]] = {}
    for item in sorted(items, key=lambda item: item.id):
        cells.setdefault(item.cell, []).append(item)
    piles = [rng.stream(cell).sample(own, len(own)) for cell, own in sorted(cells.items())]
    drawn = []
    while len(drawn) < n and any(piles):
        turn = [pile.pop() for pile in piles if pile]
        drawn += rng.sample(turn, len(turn))[:n - len(drawn)]
    return rng.sample(drawn, len(drawn))


def dealt(study: Study, design: Mapping[str, Any]) -> tuple[list[Item], int]:
    """(the sample, how many items there are); UsageError where runs are unfinished or hold nothing
    to rate."""
    unfinished = [run.name for run in study.runs if run.role == "main" and not run.complete]
    if unfinished:
        raise UsageError(f"{unfinished[0]} is unfinished; resume it first: the sample is drawn "
                         "from the policies of whole runs")
    items = _rateable(study)
    return sample(items.values(), design["sample"], design["seed"]), len(items)


def _rateable(study: Study) -> dict[str, Item]:
    if items := items_of(policies_of(study)):
        return items
    raise UsageError("no main runs with readable policies of round 1: there is nothing to rate")


# --- the codebook as raters read it ------------------------------------------------------------

def codebook(text: str | None = None) -> dict[str, Any]:
    """The codebook in `text`, or that of the project; UsageError where it is not what raters
    need."""
    path = ROOT / "prompts" / CODEBOOK
    try:
        book = json.loads(path.read_text(encoding="utf-8") if text is None else text)
        whole = (set(book["families"]) == set(FAMILIES) and all(
            isinstance(text, str) for own in book["families"].values()
            for text in (own["yes"], own["no"])) and book["system"] and book["people"])
        rated = "\n\n".join(book["rating"]).format(policy="", families="", form="")
        if not whole or not rated:
            raise KeyError("families")
        return book
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; restore it from a copy") from None
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise UsageError(f"{path}: not the codebook of five families ({error}); restore it from a "
                         "copy") from None


def codebook_files() -> dict[str, str]:
    """{path under prompts/: SHA-256}, for identities."""
    return {path: sha256(text) for path, text in codebook_texts().items()}


def codebook_texts(folder: str | None = None) -> dict[str, str]:
    path = Path(folder or ROOT / "prompts") / CODEBOOK
    try:
        return {CODEBOOK: path.read_text("utf-8")}
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{path}: no codebook to read; give a copy of prompts/") from None


def sheet_hash(items: Iterable[str]) -> str:
    """ "s-…" of the rated texts and the codebook: what a filled sheet must name."""
    return "s-" + sha256(canonical_json([sorted(items), codebook_files()]))[:12]


# --- what raters said --------------------------------------------------------------------------

def raters(places: Sequence[Path]) -> list[Rater]:
    """Everybody who rated: adjudications and people's ratings in the folders `places`."""
    found: dict[str, tuple[Rater, Path]] = {}
    for place in dict.fromkeys(Path(place).resolve() for place in places):
        for rater, path in (*_models(place), *_people(place)):
            if rater.name in found:
                raise UsageError(f"{path} and {found[rater.name][1]}: both hold ratings by "
                                 f"{rater.name}; move one of them away")
            found[rater.name] = rater, path
    return [rater for rater, _ in found.values()]


def adjudications(place: Path) -> list[tuple[Path, dict[str, Any]]]:
    """(folder, manifest) of the adjudications beside an analysis."""
    out = []
    for path in sorted(Path(place).glob("*/manifest.json")):
        try:
            manifest = json.loads(path.read_bytes())
            if manifest["artifact"] == "adjudication":
                out.append((path.parent, manifest))
        except (ValueError, KeyError, TypeError, OSError):
            continue  # some other run, which others read
    return out


def _models(place: Path) -> Iterator[tuple[Rater, Path]]:
    for folder, manifest in adjudications(place):
        rows = _rows(folder, manifest)
        for name in manifest["identity"]["config"]["models"]:
            own = [row for row in rows if row["rater"] == name]
            yield Rater(
                name, "model", manifest["identity"]["provider"] == "simulated",
                manifest["state"] == "complete",
                {row["item"]: row["labels"] for row in own if row["labels"] is not None},
                dict(sorted(Counter(row["status"] for row in own).items())),
                tuple(sorted({row["served_model"] for row in own if row["served_model"]}))), folder


def _rows(folder: Path, manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    path = folder / RATINGS
    if RATINGS not in manifest.get("files", {}):
        return []
    try:
        if content_sha256(path) != manifest["files"][RATINGS]:
            raise UsageError(f"{path}: not what its manifest.json has hashed; analyze.py --verify "
                             "says where it differs")
        rows = [row for _, row in read_jsonl(path)]
        for row in rows:
            _check_labels(row["labels"], str(path), row["item"])
            if not {"rater", "status", "served_model"} <= row.keys():
                raise KeyError("rater")
        return rows
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; restore it from a copy, or move "
                         f"{folder} away") from None
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{path}: not ratings of an adjudication; restore it from a copy"
                         ) from None


def _check_labels(labels: Any, where: str, item: str) -> None:
    if labels is None:
        return
    if set(labels) != set(FAMILIES) or any(value not in (True, False, None)
                                           for value in labels.values()):
        raise UsageError(f"{where}: {item}: labels must be true, false or null for each of "
                         f"{', '.join(FAMILIES)}; restore it from a copy")


def _people(place: Path) -> Iterator[tuple[Rater, Path]]:
    for path in sorted((Path(place) / PEOPLE).glob("*.json")):
        try:
            data = json.loads(path.read_bytes())
            if data["artifact"] != PEOPLE or not isinstance(data["rater"], str):
                raise KeyError("artifact")
            labels = dict(data["labels"])
            for item, own in labels.items():
                _check_labels(own, str(path), item)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UsageError(f"{path}: not ratings that --import-ratings wrote; import the sheet "
                             "again, or move the file away") from None
        given = [own for own in labels.values() if any(v is not None for v in own.values())]
        partly = sum(None in own.values() for own in given)
        yield Rater(data["rater"], "person", False, True, labels,
                    {"ok": len(given) - partly, "partial": partly,
                     "missing": len(labels) - len(given)}), path


def person_file(rater: str) -> str:
    """ "ratings/anna-6f1c2b.json": a name for any rater."""
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in rater.lower())[:40]
    return f"{PEOPLE}/{plain}-{sha256(rater)[:6]}.json"


# --- Rating sheets for people: a blinded CSV out, the filled sheet back, every fault named by l ---

COLUMNS = ("item", "sheet", "rater", *FAMILIES, "text")
NEEDED = ("item", "sheet", "rater", *FAMILIES)
ANSWERS = {"yes": True, "y": True, "true": True, "1": True,
           "no": False, "n": False, "false": False, "0": False, "": None}


class Row(NamedTuple):
    """A line of a sheet as read. `line`: of the file, from 1."""

    file: str
    line: int
    item: str
    rater: str
    labels: dict[str, bool | None]

    @property
    def given(self) -> bool:
        return any(value is not None for value in self.labels.values())


# --- out ---------------------------------------------------------------------------------------

def export(file: Path, study: Study, n: int, seed: int) -> list[Path]:
    """Write the sheet and its instructions; UsageError where one is there already."""
    items = _rateable(study)
    dealt, mark = sample(items.values(), n, seed), sheet_hash(items)
    guide = file.with_name(file.name + ".md")
    for path in (file, guide):
        if path.exists():
            raise UsageError(f"--export-ratings: {path} is there already; it may hold ratings: "
                             "name another file")
    blank = dict.fromkeys(("rater", *FAMILIES), "")
    write_atomic(file, csv_parts(COLUMNS, ({"item": item.id, "sheet": mark, "text": item.text,
                                            **blank} for item in dealt)))
    write_atomic(guide, instructions(file.name))
    return [file, guide]


def instructions(name: str) -> str:
    """What raters read, from the codebook that models get too."""
    book = codebook()
    kinds = "\n\n".join(f"**{family}**\n- yes: {own['yes']}\n- no: {own['no']}"
                        for family, own in ((f, book["families"][f]) for f in FAMILIES))
    return "\n\n".join([f"# Rating {name}", *book["people"], "## The five kinds of reasoning",
                        kinds]) + "\n"


# --- back --------------------------------------------------------------------------------------

def read_sheet(file: Path, items: Mapping[str, Item]) -> list[Row]:
    """The rows of a filled sheet, checked; UsageError names file, line, field, value."""
    lines = _table(file)
    head = [cell.strip().lower() for cell in next(lines, (0, []))[1]]
    missing = [name for name in NEEDED if head.count(name) != 1]
    if missing:
        raise UsageError(f"{file} line 1: the column {missing[0]!r} stands there "
                         f"{head.count(missing[0])} times; keep the columns of the exported sheet")
    mark, rows = sheet_hash(items), []
    for line, cells in lines:
        if any(cell.strip() for cell in cells):
            filled = dict(zip(head, [cell.strip() for cell in cells] + [""] * len(head),
                              strict=False))
            rows.append(_row(str(file), line, filled, items, mark))
    if not rows:
        raise UsageError(f"{file}: no rows below the line of names; fill the exported sheet")
    return _named(rows)


def _table(file: Path) -> Iterator[tuple[int, list[str]]]:
    """(number of its first line, cells) of each row, whatever the spreadsheet made of the file."""
    try:
        text = _decoded(file.read_bytes())
    except OSError as error:
        raise UsageError(f"--import-ratings: {file}: {error.strerror}") from None
    first = text.partition("\n")[0]
    if first.lower().startswith("sep="):  # a hint to Excel
        text, first = text.partition("\n")[2], text.split("\n")[1] if "\n" in text else ""
    mark = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    line = 0
    try:
        for cells in reader:
            yield line + 1, cells
            line = reader.line_num
    except csv.Error as error:
        raise UsageError(f"{file} line {reader.line_num}: not CSV ({error}); save the sheet as CSV"
                         ) from None


def _decoded(data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _row(file: str, line: int, cells: Mapping[str, str], items: Mapping[str, Item],
         mark: str) -> Row:
    where, item = f"{file} line {line}", cells["item"]
    if cells["sheet"] != mark:
        raise UsageError(f"{where}: sheet {cells['sheet']!r} belongs to other runs or to another "
                         f"codebook (here it is {mark}); export a sheet from these runs")
    if item not in items:
        raise UsageError(f"{where}: item {item!r} is none of these runs; the ids must stay as they "
                         "were exported")
    said = _letters(cells.get("text", ""))
    if said and said != _letters(items[item].text):
        raise UsageError(f"{where}: the text is not that of {item}; columns may have been sorted "
                         "apart: sort whole rows only, or start from the exported sheet")
    labels = {}
    for family in FAMILIES:
        value = cells[family].lower()
        if value not in ANSWERS:
            raise UsageError(f"{where}: {family} {cells[family]!r} is neither yes nor no; leave "
                             "the cell empty where you can't say")
        labels[family] = ANSWERS[value]
    return Row(file, line, item, cells["rater"], labels)


def _letters(text: str) -> str:
    """What every spreadsheet leaves of a text."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _named(rows: list[Row]) -> list[Row]:
    """Rows without a rater belong to the only one whom the sheet names."""
    names = list(dict.fromkeys(row.rater for row in rows if row.rater))
    for row in rows:
        if not row.rater and row.given and len(names) != 1:
            raise UsageError(f"{row.file} line {row.line}: rater '' is empty, and the sheet names "
                             f"{len(names)} raters; fill in who rated this row")
    only = names[0] if len(names) == 1 else ""
    return [row._replace(rater=row.rater or only) for row in rows if row.rater or only]


def merged(rows: Iterable[Row]) -> dict[str, dict[str, Labels]]:
    """{rater: {item: labels}}; UsageError where a rater says one thing twice in two ways."""
    out: dict[str, dict[str, Any]] = {}
    where: dict[tuple[str, str], Row] = {}
    for row in rows:
        before = where.setdefault((row.rater, row.item), row)
        if before.labels != row.labels and before.given and row.given:
            raise UsageError(f"{row.file} line {row.line}: {row.rater} rated {row.item} otherwise "
                             f"in {before.file} line {before.line}; keep one of the two")
        if row.given or row.item not in out.setdefault(row.rater, {}):
            out.setdefault(row.rater, {})[row.item] = row.labels
    return out


def collect(files: Iterable[str], study: Study, target: Path) -> list[str]:
    """Check all sheets, then keep the ratings beside the analysis; one sentence a rater."""
    items = items_of(policies_of(study))
    said = merged(row for file in dict.fromkeys(files) for row in read_sheet(Path(file), items))
    given = {rater: own for rater, own in said.items()
             if any(v is not None for labels in own.values() for v in labels.values())}
    if not given:
        raise UsageError(f"--import-ratings: {', '.join(files)}: nothing is rated yet; write yes "
                         "or no into the columns of the families")
    (target / PEOPLE).mkdir(parents=True, exist_ok=True)
    lines = []
    for rater, labels in given.items():
        path = target / person_file(rater)
        data = json_file({"artifact": PEOPLE, "rater": rater, "labels": labels})
        what = "as before" if path.exists() and path.read_bytes() == data else (
            "in place of earlier ones" if path.exists() else "new")
        write_atomic(path, data)
        full = sum(None not in own.values() for own in labels.values())
        lines.append(f"{rater}: {full} of {len(labels)} policies fully rated, {what}")
    return lines


def command_export(args, study: Study) -> cli.Done:
    """analyze.py --export-ratings."""
    sheet, guide = export(Path(args.export_ratings), study,
                          SAMPLE if args.sample is None else args.sample,
                          SEED if args.seed is None else args.seed)
    return cli.Done(
        COMPLETE, {"sheet": str(sheet), "instructions": str(guide)},
        f"{sheet}: a blinded sheet, one row a policy\n{guide}: what raters need to know\n"
        f"now: give a copy of both to two raters or more, then python3 analyze.py "
        f"{' '.join(map(str, args.runs))} --import-ratings FILE")
