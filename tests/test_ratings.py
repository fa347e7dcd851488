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
from cirrus.markers.ratings import (
    COLUMNS,
    collect,
    export,
    items_of,
    raters,
    read_sheet,
)
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
    path, _ = export(tmp_path / "sheet.csv", study, 200, 42)
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


# --- out ---------------------------------------------------------------------------------------

def test_a_sheet_holds_texts_ids_and_empty_columns_and_nothing_else(sheet, items):
    rows = rows_of(sheet)
    assert sheet.read_bytes().startswith(b"\xef\xbb\xbfitem,rater,")
    assert list(rows[0]) == list(COLUMNS) and len(rows) == len(items) == 30
    for row in rows:
        assert not any(row[name] for name in ("rater", *FAMILIES))
        assert row["text"].lstrip("'") == items[row["item"]].text
    guide = sheet.with_name("sheet.csv.md").read_text()
    assert all(f"**{family}**" in guide for family in FAMILIES)
    assert not re.search(r"symmetr|coupl|COORDINATE|PREEMPT|superrational", guide)
    beside_text = "".join(value for row in rows for name, value in row.items() if name != "text")
    assert not re.search(r"S\.|C\.|H\.|cvd|hospital|agent|COORD|PREEMPT|SHARE|RESERVE", beside_text)


def test_no_text_can_be_a_formula(sheet):
    [row] = [row for row in rows_of(sheet) if "HYPERLINK" in row["text"]]
    assert row["text"] == "'" + FORMULA
    assert not any(value[:1] in "=+-@" for row in rows_of(sheet) for value in row.values() if value)


def test_a_sheet_that_is_there_is_never_written_over(sheet, study):
    sheet.write_text("ratings of a week")
    with pytest.raises(UsageError, match="there already"):
        export(sheet, study, 200, 42)
    assert sheet.read_text() == "ratings of a week"


# --- back --------------------------------------------------------------------------------------

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


def test_a_partial_sheet_counts_what_is_missing(sheet, study, tmp_path):
    rows = filled(sheet)
    for row in rows[:10]:
        row |= dict.fromkeys(FAMILIES, "")
    rows[10]["acausal"] = ""
    lines = collect([str(written(tmp_path / "back.csv", rows[:20]))], study, tmp_path)
    assert lines == ["anna: 9 of 20 policies fully rated"]
    [rater] = raters([tmp_path])
    assert rater.statuses == {"ok": 9, "partial": 1, "missing": 10} and rater.kind == "person"


# --- faults: one line with file, row, field and value -------------------------------------------

def refused(items, path):
    with pytest.raises(UsageError) as error:
        read_sheet(path, items)
    assert "\n" not in str(error.value) and str(path) in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("at, field, value, said", [
    (0, "acausal", "maybe", "row 2: acausal 'maybe' is neither yes nor no"),
    (3, "item", "p-000000000000", "row 5: item 'p-000000000000' belongs to other runs"),
    (3, "text", "another text", "row 5: the text is not that of p-"),
    (3, "rater", "bo", "rater names anna, bo; a sheet holds the ratings of one person")])
def test_a_fault_is_named_by_row_field_and_value(sheet, items, tmp_path, at, field, value, said):
    rows = filled(sheet)
    rows[at][field] = value
    assert said in refused(items, written(tmp_path / "back.csv", rows))


def test_faults_of_a_whole_file(sheet, items, tmp_path):
    rows = filled(sheet)
    gone = [{name: value for name, value in row.items() if name != "utilitarian"} for row in rows]
    for name, data, said in [
            ("twice", [*rows, rows[0]], "stands there twice"),
            ("gone", gone, "row 1: no column 'utilitarian'"),
            ("nameless", filled(sheet, rater=""), "rater names nobody"),
            ("none", [dict.fromkeys(COLUMNS, "")], "rater names nobody")]:
        assert said in refused(items, written(tmp_path / f"{name}.csv", data))
    for habits, said in [({"delimiter": ";"}, "not CSV in UTF-8 with commas"),
                         ({"encoding": "utf-16"}, "not CSV in UTF-8 with"),
                         ({"encoding": "cp1252"}, 'save the sheet as "CSV UTF-8"')]:
        assert said in refused(items, written(tmp_path / "other.csv", rows, **habits))
    (tmp_path / "empty.csv").write_bytes(b"")
    assert "no column 'item'" in refused(items, tmp_path / "empty.csv")
    (tmp_path / "open.csv").write_text(",".join(COLUMNS) + '\np-1,anna,"no')
    assert "not CSV in UTF-8" in refused(items, tmp_path / "open.csv")
    assert "No such file" in refused(items, tmp_path / "there-is-none.csv")


def test_two_sheets_of_one_person_or_an_empty_one_keep_nothing(sheet, study, tmp_path):
    sheets = [str(written(tmp_path / f"{n}.csv", filled(sheet))) for n in (1, 2)]
    with pytest.raises(UsageError, match=r"2\.csv: a second sheet of anna"):
        collect(sheets, study, tmp_path / "kept")
    empty = written(tmp_path / "empty.csv", filled(sheet, judge=lambda row, family: ""))
    with pytest.raises(UsageError, match="nothing is rated yet"):
        collect([str(empty)], study, tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


# --- the script --------------------------------------------------------------------------------

@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "confirmatory-s42")


def test_two_people_adjudicate_through_the_script(cli, folder, tmp_path):
    done = cli("analyze.py", folder, "--export-ratings", "sheet.csv")
    assert done.returncode == 0 and "now: give a copy" in done.stdout

    def judge(row, family):
        return "yes" if family == "acausal" and re.search(
            r"alike|like us|same (?:answer|call|decision)|identical|others as ours|in parallel"
            r"|matching course", row["text"], re.I) else "no"
    for name in ("anna", "bo"):
        written(tmp_path / f"{name}.csv", filled(tmp_path / "sheet.csv", name, judge))
    done = cli("analyze.py", folder, "--import-ratings", "anna.csv", "--import-ratings", "bo.csv")
    assert done.returncode == 0, done.stderr
    assert "anna: 30 of 30 policies fully rated" in done.stdout
    first = (folder / "acausal-analysis.json").read_bytes()
    markers = json.loads(first)["markers"]
    assert [own["rater"] for own in markers["raters"]] == ["anna", "bo"]
    people = markers["agreement"]["acausal"]["pairs"][2]
    assert (people["a"], people["b"], people["n"]) == ("anna", "bo", 30)
    assert people["ac1"]["value"] == 1

    assert cli("analyze.py", folder).returncode == 0   # picks them up by itself
    assert (folder / "acausal-analysis.json").read_bytes() == first


def test_damaged_ratings_are_named(cli, folder, tmp_path):
    (folder / "ratings").mkdir()
    (folder / "ratings" / "anna.json").write_text('{"artifact":"ratings","rater":"anna"}')
    done = cli("analyze.py", folder)
    assert done.returncode == 2 and "anna.json: labels: is missing" in done.stderr
