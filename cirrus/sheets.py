"""Rating sheets for people: a blinded CSV out, the filled sheet back, every fault named by line.

    export(args, study)        # FILE and FILE's instructions
    collect(args, study, out)  # → ratings/<rater>.json beside the analysis

A sheet holds opaque ids, texts in a drawn order and empty columns; nothing about run, cell,
decision or weak label. What comes back may have been through a spreadsheet: comma, semicolon or
tab, UTF-8 or Windows letters, any line ends, other order of rows.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cirrus.codebook import FAMILIES
from cirrus.decisions import Study
from cirrus.ratings import (
    PEOPLE,
    Item,
    Labels,
    codebook,
    items_of,
    person_file,
    policies_of,
    sample,
    sheet_hash,
)
from common import cli
from common.artifacts import json_file, write_atomic
from common.exits import COMPLETE, UsageError
from common.tables import csv_parts

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
    items = items_of(policies_of(study))
    if not items:
        raise UsageError("no main runs with readable policies of round 1: there is nothing to rate")
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
    from cirrus.adjudicate import configuration
    config = configuration(args)
    sheet, guide = export(Path(args.export_ratings), study, config["sample"], config["seed"])
    return cli.Done(
        COMPLETE, {"sheet": str(sheet), "instructions": str(guide)},
        f"{sheet}: a blinded sheet, one row a policy\n{guide}: what raters need to know\n"
        f"now: give a copy of both to two raters or more, then python3 analyze.py "
        f"{' '.join(map(str, args.runs))} --import-ratings FILE")
