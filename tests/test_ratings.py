"""Sheets for people: one blinded CSV in UTF-8 out, the filled one back, every fault in one line."""

import csv
import io
import json
import random
import re
import shutil

import pytest
from conftest import edit
from study_rows import plan

from cirrus.judge.rows import read_study
from cirrus.markers.patterns import FAMILIES
from cirrus.markers.ratings import COLUMNS, collect, export, items_of, raters, read_sheet
from common import UsageError
from common.artifacts import sha256
from common.verify import find_runs

FORMULA = '=HYPERLINK("http://x","y")\nPeers like us decide alike; café “quoted”, and more.'


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A plan whose first policy begins as a formula does."""
    folder = plan(tmp_path_factory.mktemp("made"), agents=3)
    run = folder / "cvd-S.high-C.present-H.low-s42"
    path = run / "strategies_r1.json"
    rows = json.loads(path.read_text())
    rows[0]["policy"] = FORMULA
    path.write_text(json.dumps(rows))
    edit(run, lambda m: m["files"].update({path.name: sha256(path.read_bytes())}))
    return folder


@pytest.fixture(scope="module")
def study(made):
    return read_study(find_runs([str(made)]))


@pytest.fixture(scope="module")
def items(study):
    return items_of(study)


@pytest.fixture
def sheet(study, tmp_path):
    path, _ = export(tmp_path / "sheet.csv", study)
    return path


def rows_of(path):
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))


def filled(path, rater="anna", judge=lambda row, family: "no"):
    """The rows of a sheet as a person gives them back."""
    return [row | {"rater": rater} | {family: judge(row, family) for family in FAMILIES}
            for row in rows_of(path)]


def written(path, rows, encoding="utf-8-sig", **habits):
    """Rows as a spreadsheet saves them."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), **{"lineterminator": "\r\n"} | habits)
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(out.getvalue().encode(encoding, "replace"))
    return path


def test_a_sheet_holds_texts_ids_and_empty_columns_and_nothing_else(sheet, items, study):
    rows = rows_of(sheet)
    assert sheet.read_bytes().startswith(b"\xef\xbb\xbfitem,rater,")
    assert list(rows[0]) == list(COLUMNS) and len(rows) == len(items) == 30
    for row in rows:
        assert not any(row[name] for name in ("rater", *FAMILIES))
        assert row["text"].removeprefix("'") == items[row["item"]].text
        assert row["text"][0] not in "=+-@"   # no text can be a formula
    assert "'" + FORMULA in {row["text"] for row in rows}
    guide = sheet.with_name("sheet.csv.md").read_text()
    assert all(f"**{family}**" in guide for family in FAMILIES)
    beside = guide + "".join(value for row in rows for name, value in row.items() if name != "text")
    assert not re.search(r"S\.|C\.|H\.|cvd|hospital|agent-|COORD|PREEMPT|SHARE|RESERVE|symmetr"
                         r"|coupl|superrational", beside)
    with pytest.raises(UsageError, match="there already"):
        export(sheet, study)


@pytest.mark.parametrize("habits", [{}, {"lineterminator": "\n"}, {"quoting": csv.QUOTE_ALL},
                                    {"encoding": "utf-8"}])
def test_a_sheet_survives_its_spreadsheet(sheet, items, habits, tmp_path):
    rows = filled(sheet, judge=lambda row, family: " yes" if family == "acausal" else "NO")
    for row in rows[1:]:
        row["rater"] = ""  # a name given once is that of all rows
    random.Random(1).shuffle(rows)
    rows = [{name: row[name] for name in reversed(COLUMNS)} for row in rows]   # columns may move
    rater, labels = read_sheet(written(tmp_path / "back.csv", rows, **habits), items)
    assert rater == "anna" and set(labels) == set(items)
    assert all(row == {name: name == "acausal" for name in FAMILIES} for row in labels.values())


def test_a_partial_sheet_counts_what_is_missing_and_a_second_one_takes_its_place(
        sheet, study, tmp_path):
    rows = filled(sheet)
    for row in rows[:10]:
        row |= dict.fromkeys(FAMILIES, "")
    rows[10]["acausal"] = ""
    lines = collect([str(written(tmp_path / "back.csv", rows[:20]))], study, tmp_path)
    assert lines == ["anna: 9 of 20 policies fully rated"]
    [rater] = raters([tmp_path])
    assert rater.statuses == {"ok": 9, "partial": 1, "missing": 10} and rater.kind == "person"
    collect([str(written(tmp_path / "back.csv", filled(sheet)))], study, tmp_path)
    assert raters([tmp_path])[0].statuses == {"ok": 30, "partial": 0, "missing": 0}


@pytest.mark.parametrize("at, field, value, said", [
    (0, "acausal", "maybe", "row 2: acausal 'maybe' is neither yes nor no"),
    (3, "item", "p-000000000000", "row 5: item 'p-000000000000' belongs to other runs"),
    (3, "text", "another text", "row 5: the text is not that of p-"),
    (3, "rater", "bo", "rater names anna, bo; a sheet holds the ratings of one person")])
def test_a_fault_is_named_by_row_field_and_value(sheet, items, tmp_path, at, field, value, said):
    rows = filled(sheet)
    rows[at][field] = value
    path = written(tmp_path / "back.csv", rows)
    with pytest.raises(UsageError, match=f"{path}.*{re.escape(said)}"):
        read_sheet(path, items)


@pytest.mark.parametrize("change, said", [
    (lambda rows: rows.append(rows[0]), "stands there twice"),
    (lambda rows: [row.pop("utilitarian") for row in rows], "row 1: no column 'utilitarian'"),
    (lambda rows: [row.update(rater="") for row in rows], "rater names nobody")])
def test_a_fault_of_a_whole_file_is_named(sheet, items, tmp_path, change, said):
    change(rows := filled(sheet))
    with pytest.raises(UsageError, match=said):
        read_sheet(written(tmp_path / "back.csv", rows), items)


@pytest.mark.parametrize("habits", [{"delimiter": ";"}, {"encoding": "utf-16"},
                                    {"encoding": "cp1252"}])
def test_another_format_is_told_how_to_save_it(sheet, items, tmp_path, habits):
    with pytest.raises(UsageError, match=r'not CSV in UTF-8 with .*save the sheet as "CSV UTF-8"'):
        read_sheet(written(tmp_path / "other.csv", filled(sheet), **habits), items)


@pytest.mark.parametrize("content, said", [
    (b"", "no column 'item'"), ((",".join(COLUMNS) + '\np-1,anna,"no').encode(), "not CSV"),
    (None, "No such file")])
def test_a_file_that_is_no_sheet_is_named(items, tmp_path, content, said):
    if content is not None:
        (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(UsageError, match=said):
        read_sheet(tmp_path / "x.csv", items)


def test_two_sheets_of_one_person_or_an_empty_one_keep_nothing(sheet, study, tmp_path):
    sheets = [str(written(tmp_path / f"{n}.csv", filled(sheet))) for n in (1, 2)]
    with pytest.raises(UsageError, match=r"2\.csv: a second sheet of anna"):
        collect(sheets, study, tmp_path / "kept")
    empty = written(tmp_path / "empty.csv", filled(sheet, judge=lambda row, family: ""))
    with pytest.raises(UsageError, match="nothing is rated yet"):
        collect([str(empty)], study, tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_two_people_adjudicate_through_the_script(cli, made, tmp_path):
    folder = shutil.copytree(made, tmp_path / "confirmatory-s42")
    done = cli("analyze.py", folder, "--export-ratings", "sheet.csv")
    assert done.returncode == 0 and "now: give a copy" in done.stdout

    def judge(row, family):
        return "yes" if family == "acausal" and "like" in row["text"] else "no"
    for name in ("anna", "bo"):
        written(tmp_path / f"{name}.csv", filled(tmp_path / "sheet.csv", name, judge))
    done = cli("analyze.py", folder, "--import-ratings", "anna.csv", "--import-ratings", "bo.csv")
    assert done.returncode == 0 and "anna: 30 of 30 policies fully rated" in done.stdout
    first = (folder / "acausal-analysis.json").read_bytes()
    people = json.loads(first)["markers"]["agreement"]["acausal"]["pairs"][2]
    assert (people["a"], people["b"], people["n"], people["ac1"]["value"]) == ("anna", "bo", 30, 1)
    assert cli("analyze.py", folder).returncode == 0   # picks them up by itself
    assert (folder / "acausal-analysis.json").read_bytes() == first
    (folder / "ratings" / "anna.json").write_text('{"artifact":"ratings","rater":"anna"}')
    done = cli("analyze.py", folder)
    assert done.returncode == 2 and "anna.json: labels: is missing" in done.stderr
