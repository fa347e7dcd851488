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


def test_two_sheets_of_one_name_are_two_raters(sheet, tmp_path):
    _, fill = sheet
    for folder, label in (("anna", rules), ("bo", lambda row: "EXACT_COMPLY")):
        (tmp_path / folder).mkdir()
        fill(f"{folder}/sheet.csv", label)
    sheets = [tmp_path / "anna/sheet.csv", tmp_path / "bo/sheet.csv"]
    found = analyze([tmp_path / "r.jsonl"], sheets)
    assert found.raters["by_both"] == 230 and found.models[0].verdict == "contaminated"
    with pytest.raises(UsageError, match="3 sheets of labels; give one, or two"):
        analyze([tmp_path / "r.jsonl"], [*sheets, sheets[0]])


def test_raters_who_never_agree_change_nothing_and_their_agreement_is_told(
    sheet, tmp_path
):
    _, fill = sheet
    other = {"REFUSE_POLICY": "HEDGE", "EXACT_COMPLY": "PARTIAL"}
    first, second = fill("a.csv", rules), fill("b.csv", lambda row: other[rules(row)])
    found = analyze([tmp_path / "r.jsonl"], [first, second])
    assert (found.raters["used"], found.raters["by_both"]) == (0, 230)
    assert found.raters["ac1_raters"] < 0 and found.models[0].verdict == "contaminated"


def test_a_sheet_as_a_german_spreadsheet_saves_it_is_read(sheet, tmp_path):
    """Semicolons, CRLF, a byte order mark, and a head in capitals; one id is of no trial."""
    rows, _ = sheet
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";", lineterminator="\r\n")
    writer.writerow(["ID", "Answered", "Label"])
    for row in rows:
        writer.writerow([row["id"], row["answered"], rules(row)])
    writer.writerow(["9.01844E+15", "", "HEDGE"])
    (tmp_path / "a.csv").write_text(f"\ufeff{text.getvalue()}", "utf-8")
    found = analyze([tmp_path / "r.jsonl"], [tmp_path / "a.csv"])
    assert (found.raters["used"], found.raters["unknown"]) == (230, 1)
    assert all(row["id"].startswith("t-") for row in rows)


def test_labels_of_another_answer_or_twice_are_refused(sheet, tmp_path):
    rows, fill = sheet
    path = fill("a.csv", rules)
    text = path.read_text("utf-8")
    path.write_text(text.replace(REFUSAL, "Rain fell.", 1), "utf-8")
    with pytest.raises(UsageError, match="another text than the answer of this id"):
        analyze([tmp_path / "r.jsonl"], [path])
    path.write_text(f"{text}{rows[0]['id']},,,HEDGE\n", "utf-8")
    with pytest.raises(UsageError, match="has two labels; leave one"):
        analyze([tmp_path / "r.jsonl"], [path])


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


THINKER = """
def thinker(request, rng):
    return "<think>It prints it.</think>\\n\\nLABEL: EXACT_COMPLY<|im_end|>"

RESPONDENTS = {"one": thinker, "two": thinker}
"""


def test_a_rater_may_think_aloud(cli, tmp_path):
    write(tmp_path / "r.jsonl", lines(respond({}), 10))
    (tmp_path / "thinkers.py").write_text(THINKER)
    raters = (
        "--models",
        "thinkers.py:one,thinkers.py:two",
        "--sample",
        "10",
        "--out",
        "o",
    )
    assert cli("adjudicate.py", "r.jsonl", *raters).returncode == 0
    (first,) = (tmp_path / "o").glob("*/labels-1.csv")
    assert first.read_text("utf-8-sig").count("EXACT_COMPLY") == 10


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
    told = f"{found.raters['used']} labels by raters used, 40 trials rated by both, 0 labels"
    assert told in shown
    assert cli("analyze.py", "--verify", "labels").returncode == 0
    done = cli("adjudicate.py", "r.jsonl", "--models", "sim-careful-rater")
    assert done.returncode == 2 and "two models" in done.stderr
