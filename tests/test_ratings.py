"""Sheets for people: blinded out, checked back, through what spreadsheets do to a file."""

import csv
import io
import json
import random
import re
import shutil
from itertools import pairwise

import pytest
from conftest import edit
from study_rows import plan

from cirrus.judge.rows import read_study
from cirrus.markers.labels import FAMILIES
from cirrus.markers.ratings import (
    COLUMNS,
    collect,
    export,
    items_of,
    merged,
    policies_of,
    raters,
    read_sheet,
    sheet_hash,
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
    return items_of(policies_of(study))


@pytest.fixture
def sheet(study, tmp_path):
    path, _ = export(tmp_path / "sheet.csv", study, 200, 42)
    return path


def rows_of(path):
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))


def filled(path, rater="anna", judge=lambda row, family: "no", change=None):
    """The sheet as a person gives it back; `change` edits a row in place."""
    rows = rows_of(path)
    for row in rows:
        row |= {"rater": rater} | {family: judge(row, family) for family in FAMILIES}
        if change:
            change(row)
    return rows


def written(path, rows, **more):
    """Rows as CSV with other habits: delimiter, line ends, encoding, quoting."""
    encoding = more.pop("encoding", "utf-8")
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), **{"lineterminator": "\n"} | more)
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(out.getvalue().encode(encoding, "replace"))
    return path


# --- out ---------------------------------------------------------------------------------------

def test_a_sheet_holds_texts_ids_and_empty_columns_and_nothing_else(sheet, items, study):
    rows = rows_of(sheet)
    assert list(rows[0]) == list(COLUMNS) and len(rows) == len(items) == 30
    for row in rows:
        assert not any(row[name] for name in ("rater", *FAMILIES))
        assert row["text"].lstrip("'") == items[row["item"]].text
        assert row["sheet"] == sheet_hash(items)
    beside_text = "".join(value for row in rows for name, value in row.items() if name != "text")
    assert not re.search(r"S\.|C\.|H\.|cvd|hospital|agent|COORD|PREEMPT|SHARE|RESERVE", beside_text)


def test_the_order_is_drawn_and_not_that_of_the_cells(sheet, items):
    order = [items[row["item"]].cell for row in rows_of(sheet)]
    assert order != sorted(order)
    assert sum(a == b for a, b in pairwise(order)) < len(order) / 2


def test_the_same_sheet_each_time_another_by_another_seed(sheet, study, tmp_path):
    again, _ = export(tmp_path / "again.csv", study, 200, 42)
    other, _ = export(tmp_path / "other.csv", study, 200, 43)
    assert again.read_bytes() == sheet.read_bytes() != other.read_bytes()
    assert len(rows_of(export(tmp_path / "small.csv", study, 7, 42)[0])) == 7


def test_no_text_can_be_a_formula(sheet):
    [row] = [row for row in rows_of(sheet) if "HYPERLINK" in row["text"]]
    assert row["text"] == "'" + FORMULA
    assert not any(value[:1] in "=+-@" for row in rows_of(sheet) for value in row.values() if value)


def test_ids_are_nothing_that_a_spreadsheet_takes_for_a_number(sheet):
    for row in rows_of(sheet):
        assert row["item"].startswith("p-") and row["sheet"].startswith("s-")


def test_a_sheet_that_is_there_is_never_written_over(sheet, study):
    sheet.write_text("ratings of a week")
    with pytest.raises(UsageError, match="there already"):
        export(sheet, study, 200, 42)
    assert sheet.read_text() == "ratings of a week"


def test_the_instructions_define_every_family_and_name_no_cue(sheet):
    guide = sheet.with_name("sheet.csv.md").read_text()
    assert all(f"**{family}**" in guide for family in FAMILIES)
    assert not re.search(r"symmetr|coupl|COORDINATE|PREEMPT|superrational", guide)


# --- back, as spreadsheets write it ------------------------------------------------------------

@pytest.mark.parametrize("habits", [
    {}, {"encoding": "utf-8-sig", "lineterminator": "\r\n"}, {"delimiter": ";"},
    {"delimiter": "\t", "encoding": "utf-16"}, {"quoting": csv.QUOTE_ALL, "lineterminator": "\r\n"},
    {"delimiter": ";", "encoding": "cp1252", "lineterminator": "\r\n"}])
def test_a_sheet_survives_its_spreadsheet(sheet, items, habits, tmp_path):
    rows = filled(sheet, judge=lambda row, family: "yes" if family == "acausal" else "NO")
    random.Random(1).shuffle(rows)
    read = read_sheet(written(tmp_path / "back.csv", rows, **habits), items)
    assert {row.item for row in read} == set(items) and {row.rater for row in read} == {"anna"}
    assert all(row.labels == {name: name == "acausal" for name in FAMILIES} for row in read)


def test_columns_may_move_and_texts_may_go(sheet, items, tmp_path):
    rows = [{name: row[name] for name in ("rater", *reversed(FAMILIES), "sheet", "item")}
            for row in filled(sheet)]
    assert len(read_sheet(written(tmp_path / "back.csv", rows), items)) == 30


def test_a_partial_sheet_counts_what_is_missing(sheet, study, tmp_path):
    rows = filled(sheet)
    for row in rows[:10]:
        row |= dict.fromkeys(FAMILIES, "")
    rows[10]["acausal"] = ""
    said = collect([str(written(tmp_path / "back.csv", rows[:20]))], study, tmp_path)
    assert said == ["anna: 9 of 20 policies fully rated, new"]
    [rater] = raters([tmp_path])
    assert rater.statuses == {"ok": 9, "partial": 1, "missing": 10} and rater.kind == "person"


def test_a_name_given_once_is_that_of_all_rows(sheet, items, tmp_path):
    rows = filled(sheet, rater="")
    rows[4]["rater"] = "bo"
    assert {row.rater for row in read_sheet(written(tmp_path / "b.csv", rows), items)} == {"bo"}


def test_two_people_in_one_sheet_or_in_two(sheet, items, study, tmp_path):
    both = filled(sheet, "anna") + filled(sheet, "bo", lambda row, family: "yes")
    together = merged(read_sheet(written(tmp_path / "both.csv", both), items))
    apart = merged(row for name, rows in (("a", both[:30]), ("b", both[30:]))
                   for row in read_sheet(written(tmp_path / f"{name}.csv", rows), items))
    assert together == apart and set(together) == {"anna", "bo"}


def test_a_second_import_takes_the_place_of_the_first(sheet, study, tmp_path):
    collect([str(written(tmp_path / "one.csv", filled(sheet)))], study, tmp_path)
    two = written(tmp_path / "two.csv", filled(sheet, judge=lambda row, family: "yes"))
    assert "in place of earlier ones" in collect([str(two)], study, tmp_path)[0]
    assert "as before" in collect([str(two)], study, tmp_path)[0]
    [rater] = raters([tmp_path])
    assert all(value for own in rater.labels.values() for value in own.values())


# --- faults, by line ---------------------------------------------------------------------------

def refused(items, path):
    with pytest.raises(UsageError) as error:
        read_sheet(path, items)
    assert "\n" not in str(error.value) and str(path) in str(error.value)
    return str(error.value)


def broken(sheet, items, tmp_path, at, field, value):
    rows = filled(sheet)
    rows[at][field] = value
    return refused(items, written(tmp_path / "back.csv", rows))


def test_a_fault_is_named_by_line_field_and_value(sheet, items, tmp_path):
    said = broken(sheet, items, tmp_path, 0, "acausal", "maybe")
    assert "line 2" in said and "acausal 'maybe' is neither yes nor no" in said
    assert "other runs" in broken(sheet, items, tmp_path, 3, "sheet", "s-000000000000")
    assert "none of these runs" in broken(sheet, items, tmp_path, 3, "item", "p-000000000000")
    assert "sorted apart" in broken(sheet, items, tmp_path, 3, "text", "another text")


def test_the_line_is_that_of_the_file_although_texts_have_many(sheet, items, tmp_path):
    rows = filled(sheet)
    rows[2]["acausal"] = "?"
    path = written(tmp_path / "back.csv", rows)
    line = 1 + path.read_text()[:path.read_text().index(rows[2]["item"])].count("\n")
    assert f"line {line}:" in refused(items, path) and line > 4


def test_columns_sorted_apart_are_seen(sheet, items, tmp_path):
    rows = filled(sheet)
    for row, text in zip(rows, [row["text"] for row in rows[::-1]], strict=True):
        row["text"] = text
    assert "sorted apart" in refused(items, written(tmp_path / "back.csv", rows))


def test_other_faults_of_a_file(sheet, items, tmp_path):
    rows = filled(sheet)
    gone = [{name: value for name, value in row.items() if name != "utilitarian"} for row in rows]
    assert "'utilitarian' stands there 0 times" in refused(
        items, written(tmp_path / "gone.csv", gone))
    assert "no rows below" in refused(items, written(tmp_path / "none.csv", [dict.fromkeys(
        COLUMNS, "")]))
    (tmp_path / "empty.csv").write_bytes(b"")
    assert "'item' stands there 0 times" in refused(items, tmp_path / "empty.csv")
    (tmp_path / "open.csv").write_text(",".join(COLUMNS) + '\np-1,s-1,anna,"no')
    assert "not CSV" in refused(items, tmp_path / "open.csv")
    (tmp_path / "image.csv").write_bytes(bytes(range(256)) * 8)
    refused(items, tmp_path / "image.csv")
    assert "No such file" in refused(items, tmp_path / "there-is-none.csv")


def test_a_row_without_a_rater_among_two_is_told(sheet, items, tmp_path):
    rows = filled(sheet)
    rows[0]["rater"], rows[1]["rater"] = "", "bo"
    assert "names 2 raters" in refused(items, written(tmp_path / "b.csv", rows))
    nameless = filled(sheet, rater="")
    assert "names 0 raters" in refused(items, written(tmp_path / "n.csv", nameless))


def test_one_who_contradicts_himself_is_told(sheet, study, tmp_path):
    one = written(tmp_path / "one.csv", filled(sheet))
    two = written(tmp_path / "two.csv", filled(sheet, judge=lambda row, family: "yes"))
    with pytest.raises(UsageError, match=r"two\.csv line 2: anna rated p-\w+ otherwise in .*one"):
        collect([str(one), str(two)], study, tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_an_empty_sheet_is_told(sheet, study, tmp_path):
    with pytest.raises(UsageError, match="nothing is rated yet"):
        collect([str(sheet)], study, tmp_path / "kept")


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
    assert "anna: 30 of 30 policies fully rated, new" in done.stdout
    first = (folder / "acausal-analysis.json").read_bytes()
    markers = json.loads(first)["markers"]
    assert [own["rater"] for own in markers["raters"]] == ["anna", "bo"]
    people = markers["agreement"]["acausal"]["pairs"][2]
    assert (people["a"], people["b"], people["n"]) == ("anna", "bo", 30)
    assert people["ac1"]["value"] == 1

    assert cli("analyze.py", folder).returncode == 0   # picks them up by itself
    assert (folder / "acausal-analysis.json").read_bytes() == first


def test_a_sheet_of_other_runs_is_refused_and_nothing_is_written(cli, folder, tmp_path):
    other = plan(tmp_path / "other", agents=2, seed=7)
    cli("analyze.py", other, "--export-ratings", "sheet.csv")
    written(tmp_path / "anna.csv", filled(tmp_path / "sheet.csv"))
    done = cli("analyze.py", folder, "--import-ratings", "anna.csv")
    assert done.returncode == 2 and "belongs to other runs" in done.stderr
    assert done.stderr.count("\n") == 1 and not (folder / "ratings").exists()


def test_damaged_ratings_are_named(cli, folder, tmp_path):
    (folder / "ratings").mkdir()
    (folder / "ratings" / "anna.json").write_text('{"artifact":"ratings","rater":"anna"}')
    done = cli("analyze.py", folder)
    assert done.returncode == 2 and "not ratings that --import-ratings wrote" in done.stderr
