"""Sheets that people or models fill: their labels feed rates and verdict."""

import csv
import io
import json

import pytest
from urrp_answers import REFUSAL, lines, respond, write

import stats
import urrp_analyze
from urrp_analyze import UsageError, analyze

TABLE = dict.fromkeys(("declare", "frames", "yesno", "trigger"), (REFUSAL,))


@pytest.fixture
def sheet(tmp_path, monkeypatch):
    """The rows of an exported sheet of all trials, and a function that writes them filled."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "r.jsonl", lines(respond(TABLE), 10))
    urrp_analyze.main(["r.jsonl", "--export-labels", "s.csv", "--sample", "230"])
    text = (tmp_path / "s.csv").read_text("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))

    def fill(name, label):
        with (tmp_path / name).open("w", newline="") as stream:
            writer = csv.DictWriter(stream, ["id", "asked", "answered", "label"])
            writer.writeheader()
            writer.writerows(row | {"label": label(row)} for row in rows)
        return tmp_path / name

    return rows, fill


def rules(row):
    """What the reader says, by the answers of this file."""
    if row["answered"] == REFUSAL:
        return "REFUSE_POLICY"
    return "EXACT_COMPLY"


def test_a_sheet_is_blind_and_the_same_for_the_same_file(sheet, tmp_path):
    rows, _ = sheet
    assert len(rows) == 230 and {row["label"] for row in rows} == {""}
    assert set(rows[0]) == {"id", "asked", "answered", "label"}
    before = (tmp_path / "s.csv").read_bytes()
    urrp_analyze.main(["r.jsonl", "--export-labels", "s.csv", "--sample", "230"])
    assert (tmp_path / "s.csv").read_bytes() == before
    urrp_analyze.main(["r.jsonl", "--export-labels", "t.csv", "--sample", "20"])
    some = csv.DictReader(io.StringIO((tmp_path / "t.csv").read_text("utf-8-sig")))
    assert [row["id"] for row in some] == [row["id"] for row in rows[:20]]


def test_labels_change_rates_and_verdict(sheet, tmp_path):
    _, fill = sheet
    path = tmp_path / "r.jsonl"
    theirs = analyze([path], [fill("a.csv", lambda row: "EXACT_COMPLY")])
    assert theirs.models[0].verdict == "responsive"
    assert theirs.models[0].figures["declare_refusal"].k == 0
    assert theirs.by_reader[0].verdict == "contaminated"
    assert theirs.raters["used"] == 230


def test_where_two_raters_disagree_the_reader_stays(sheet, tmp_path):
    rows, fill = sheet
    first = fill("a.csv", lambda row: "EXACT_COMPLY")
    second = fill("b.csv", rules)
    found = analyze([tmp_path / "r.jsonl"], [first, second])
    assert found.models[0].verdict == "contaminated"
    pairs = [("EXACT_COMPLY", rules(row)) for row in rows]
    assert found.raters["ac1_raters"] == pytest.approx(
        stats.gwet_ac1(pairs).value, abs=1e-4
    )
    assert found.raters["used"] == sum(rules(row) == "EXACT_COMPLY" for row in rows)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("id,label\n", "no label of a trial in these files"),
        ("id,label\nffff,DENIAL\n", "no label of a trial in these files"),
        ("id,label\nffff,MAYBE\n", "a.csv:2: 'MAYBE' is no label"),
        ("name,mark\n1,2\n", "no sheet of ids and labels"),
        ("\xff", "no sheet of ids and labels"),
    ],
)
def test_a_sheet_that_does_not_fit_is_told(sheet, tmp_path, text, told):
    (tmp_path / "a.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=told):
        analyze([tmp_path / "r.jsonl"], [tmp_path / "a.csv"])


def test_two_models_fill_sheets_that_feed_the_rates(cli, tmp_path):
    table = TABLE | {"DECLARE_2": ("Rain fell.",)}
    write(tmp_path / "r.jsonl", lines(respond(table), 10))
    few = ("adjudicate.py", "r.jsonl", "--sample", "12", "--out", "few")
    counted = json.loads(cli(*few, "--dry-run", "--json").stdout)
    assert (counted["items"], counted["calls"]) == (12, 24)  # by two raters
    assert cli(*few).returncode == 0
    (sheet,) = (tmp_path / "few").glob("*/labels-1.csv")
    assert (
        sheet.read_text("utf-8-sig").count("Rain fell.") == 6
    )  # half, if there are more
    command = ("adjudicate.py", "r.jsonl", "--sample", "40", "--out", "labels")
    assert cli(*command).returncode == 0
    assert "nothing to do" in cli(*command).stdout
    (folder,) = (tmp_path / "labels").iterdir()
    sheets = [folder / "labels-1.csv", folder / "labels-2.csv"]
    rows = list(csv.DictReader(io.StringIO(sheets[0].read_text("utf-8-sig"))))
    unsure = [row for row in rows if row["answered"] == "Rain fell."]
    assert len(rows) == 40 and len(unsure) == 10  # all that no rule fits are asked
    found = analyze([tmp_path / "r.jsonl"], sheets)
    assert found.raters["used"] > 25 and found.raters["ac1_raters"] > 0.5
    filled = [word for sheet in sheets for word in ("--import-labels", sheet)]
    shown = cli("urrp_analyze.py", "r.jsonl", *filled).stdout
    assert f"{found.raters['used']} labels by raters; AC1" in shown
    assert cli("analyze.py", "--verify", "labels").returncode == 0
    done = cli("adjudicate.py", "r.jsonl", "--models", "sim-careful-rater")
    assert done.returncode == 2 and "two models" in done.stderr
