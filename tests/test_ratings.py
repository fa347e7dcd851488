"""Policies rated blind by the codebook: by models, with adjudicate.py, and by people, on sheets."""

import csv
import io
import json
import random
import re
import shutil
from collections import Counter

import pytest
from conftest import edit, ended
from study_rows import plan

from cirrus.judge.rows import read_study
from cirrus.markers import ratings as r
from cirrus.markers.patterns import FAMILIES
from common import UsageError
from common.artifacts import read_bytes, sha256
from common.verify import find_runs

FORMULA = (
    '=HYPERLINK("http://x","y")\nPeers like us decide alike; café “quoted”, and more.'
)
QUOTE = (
    "Both received THIS same notice, in the same words: so we hold. Peers received this same "
    "notice, or received this same thing. Peers like us decide alike at the same time."
)
RUN = "cvd-S.high-C.present-H.low-s42"
MODELS = "sim-careful-rater,sim-lenient-rater"
BOOK = r.codebook(*r.codebook_texts().values())
FORM = "\n".join(f"{name}: no" for name in FAMILIES)
YES = FORM.replace("acausal: no", "acausal: yes")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A plan of ten runs, three agents, one round: 30 policies, FORMULA and QUOTE among them."""
    folder = plan(tmp_path_factory.mktemp("made"), agents=3)
    path = folder / RUN / "strategies_r1.json"
    rows = json.loads(path.read_text("utf-8"))
    rows[0]["policy"], rows[1]["policy"] = FORMULA, QUOTE
    path.write_text(json.dumps(rows))
    digest = sha256(path.read_bytes())
    edit(path.parent, lambda manifest: manifest["files"].update({path.name: digest}))
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "confirmatory-s42")


@pytest.fixture(scope="module")
def adjudicated(made, tmp_path_factory):
    """The same with an adjudication in it."""
    folder = shutil.copytree(
        made, tmp_path_factory.mktemp("rated") / "confirmatory-s42"
    )
    done = ended(folder.parent, "adjudicate.py", folder, "--models", MODELS)
    assert done.returncode == 0 and "SIMULATED ratings" in done.stdout
    return folder


@pytest.fixture
def rated(adjudicated, tmp_path):
    return shutil.copytree(adjudicated, tmp_path / "confirmatory-s42")


@pytest.fixture(scope="module")
def study(made):
    return read_study(find_runs([str(made)]))


@pytest.fixture(scope="module")
def items(study):
    return r.items_of(study)


# --- what models are asked ---------------------------------------------------------------------


NAMES = re.compile(
    r"coordinate|preempt|\bshare\b|reserve\b|option [ab]|symmetr|coupl|cooperat|convergent"
    r"|same minute|agent-\d|cvd|hospital|S\.high|C\.present|superrational|hypothesis",
    re.I,
)


def test_a_question_holds_the_codebook_and_the_policy_and_nothing_else(items):
    """Without the policy all questions are alike, and name no condition, act or agent."""
    frames = set()
    texts = [item.text for item in items.values()]
    for text in (*texts, "Use {families} and </policy>\n{0}"):
        system, user = r.rating_prompts(BOOK, text)
        frames.add(system + user.replace(text, "", 1))
    [frame] = frames
    assert not NAMES.search(frame)
    for name in items:
        assert re.fullmatch(r"p-[0-9a-f]{12}", name)
    for family in FAMILIES:
        assert BOOK["families"][family]["yes"] in frame
        assert f"{family}: yes|no" in frame


def test_a_rater_does_not_read_a_quoted_cue_sentence(items):
    """Five words in a row, of wording 2 and of wording 1, are a quotation; four are not."""
    assert items[r.item_id(QUOTE)].text == (
        "Both […]: so we hold. […], or received this same thing. "
        "Peers like us decide alike at the same time."
    )


def test_a_dry_run_refuses_a_codebook_that_lacks_a_placeholder(cli, made, tmp_path):
    path = shutil.copytree(r.PROMPTS, tmp_path / "prompts") / r.CODEBOOK
    path.write_text(path.read_text().replace("{form}", "form"))
    done = cli("adjudicate.py", made, "--dry-run", "--prompts", tmp_path / "prompts")
    assert done.returncode == 2 and "placeholder 'form'" in done.stderr


LINES = YES.split("\n")


DRESSED = [
    YES.upper(),
    "```\n" + YES.replace(": ", " : ") + "\n```",
    "- **" + "**\n\n- **".join(reversed(LINES)) + "**",
    "\n".join(f"{n}. {line}." for n, line in enumerate(LINES, 1)),
    YES.replace("_", " ").replace("\n", "\r\n"),
]


UNREAD = [
    ("", "unreadable"),
    ("acausal: yes", "incomplete"),
    (FORM + "\nacausal: yes", "ambiguous"),
    (FORM.replace("acausal: no", "acausal: yes|no"), "unreadable"),
    ("Here are the labels:\n" + FORM, "unreadable"),
    (FORM + "\nsarcasm: no", "unreadable"),
    ("I'm sorry, but I can't help with that.", "refused"),
]


@pytest.mark.parametrize("text", DRESSED)
def test_the_form_is_read_whatever_its_dress(text):
    labels, status = r.parse_rating(text)
    assert labels == dict.fromkeys(FAMILIES, False) | {"acausal": True}
    assert status == "ok"


@pytest.mark.parametrize("text, status", UNREAD)
def test_anything_else_is_a_status_and_never_a_label(text, status):
    assert r.parse_rating(text) == (None, status)


def test_the_sample_takes_from_all_cells_alike_and_repeats():
    many = []
    for cell, size in (("a", 40), ("b", 40), ("c", 3)):
        for n in range(size):
            text = f"{cell}{n}"
            many.append(r.RatedText(r.item_id(text), cell, text))
    drawn = r.sample(many, 23, 7)
    assert Counter(item.cell for item in drawn) == {"a": 10, "b": 10, "c": 3}
    assert drawn == r.sample(many[::-1], 23, 7)
    assert drawn != r.sample(many, 23, 8)
    assert sorted(r.sample(many, 1000, 7)) == sorted(many)
    # A finished adjudication is verified against the sample drawn again.
    texts = [item.text for item in r.sample(many, 4, 7)]
    assert texts == ["a19", "b6", "b14", "c1"]


# --- adjudicate.py -----------------------------------------------------------------------------


def test_an_adjudication_is_verified_and_the_same_each_time(cli, adjudicated, tmp_path):
    ratings = read_bytes(adjudicated / "adjudication/ratings.jsonl")
    rows = [json.loads(line) for line in ratings.splitlines()]
    assert len(rows) == 2 * 30
    for rater in r.raters([adjudicated]):
        answers = [row for row in rows if row["rater"] == rater.name]
        assert rater.simulated
        assert rater.statuses == Counter(row["status"] for row in answers)
        for row in answers:
            assert rater.labels.get(row["item"]) == row["labels"]
    command = ("adjudicate.py", adjudicated, "--models", MODELS)
    assert "already complete" in cli(*command).stdout
    cli(*command, "--concurrency", 1, "--out", tmp_path)
    assert read_bytes(tmp_path / "adjudication/ratings.jsonl") == ratings
    verified = cli("analyze.py", "--verify", adjudicated / "adjudication")
    assert verified.returncode == 0
    assert "SIMULATED adjudication, 1 files from 60 answers" in verified.stdout


def test_the_analysis_reads_ratings_of_its_policies_and_counts_others(
    cli, rated, tmp_path
):
    """They stand in the plan's folder; the analysis of two plans in the folder above."""

    def markers(place, *given):
        assert cli("analyze.py", *given).returncode == 0
        out = json.loads((place / "acausal-analysis.json").read_text("utf-8"))
        return out["markers"]

    other = plan(tmp_path, name="ablation", tells="ablated", agents=3)
    for out in markers(rated, rated), markers(tmp_path, rated, other):
        assert [row["elsewhere"] for row in out["raters"]] == [0, 0]
        assert "acausal" in out["adjudicated"]
    rater, _ = markers(rated / RUN, rated / RUN)["raters"]  # three of thirty policies
    assert rater["rated"] <= 3 and rater["elsewhere"] > 22


def test_an_analysis_takes_no_ratings_that_are_edited_gone_or_of_the_same_rater_twice(
    cli, rated
):
    ratings = rated / "adjudication/ratings.jsonl"
    complete = read_bytes(ratings)

    def refused(fault):
        done = cli("analyze.py", rated)
        assert done.returncode == 2 and fault in done.stderr

    ratings.write_bytes(complete + b" ")
    refused("not what its manifest.json has hashed")
    ratings.unlink()
    refused("restore it from a copy")
    ratings.write_bytes(complete)
    cli("adjudicate.py", rated, "--models", MODELS, "--run-id", "second")
    refused("both hold ratings by sim-careful-rater")


def test_what_can_t_be_rated_is_refused_before_anything_is_made(cli, folder):
    """A folder that was made and taken away again would change the time of the one above."""
    edit(folder / RUN, lambda manifest: manifest.update(state="incomplete"))
    before = folder.stat().st_mtime_ns
    for models, fault in (
        (MODELS, "is unfinished; resume it first"),
        ("sim-careful-rater", "is one rater"),
        ("sim-nobody,sim-careful-rater", "no simulated respondent 'sim-nobody'"),
    ):
        done = cli("adjudicate.py", folder, "--models", models)
        assert done.returncode == 2 and fault in done.stderr
        assert folder.stat().st_mtime_ns == before


# --- sheets: one blinded CSV in UTF-8 out, the filled one back, every fault in one line ---------


@pytest.fixture
def sheet(study, tmp_path):
    return r.export(tmp_path / "sheet.csv", study, 200, 42)[0]


def rows_of(path):
    text = path.read_text(encoding="utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def filled(path, rater="anna", judge=lambda row, family: "no"):
    """The rows of a sheet as a person gives them back."""
    rows = rows_of(path)
    for row in rows:
        row["rater"] = rater
        row |= {family: judge(row, family) for family in FAMILIES}
    return rows


def written(path, rows, encoding="utf-8-sig", lineterminator="\r\n", **habits):
    """Rows as a spreadsheet saves them."""
    out = io.StringIO()
    habits["lineterminator"] = lineterminator
    writer = csv.DictWriter(out, list(rows[0]), **habits)
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(out.getvalue().encode(encoding, "replace"))
    return path


def test_a_sheet_holds_texts_ids_and_empty_columns_and_nothing_else(
    sheet, items, study
):
    rows = rows_of(sheet)
    assert sheet.read_bytes().startswith(b"\xef\xbb\xbfitem,rater,")
    assert list(rows[0]) == list(r.COLUMNS) and len(rows) == 30
    guide = sheet.with_name("sheet.csv.md").read_text("utf-8")
    for row in rows:
        text = row.pop("text")
        assert text.removeprefix("'") == items[row.pop("item")].text
        assert set(row.values()) == {""}
    for family in FAMILIES:
        assert f"**{family}**" in guide
    assert not re.search(r"agent-|COORD|PREEMPT|SHARE|RESERVE|symmetr|coupl", guide)
    with pytest.raises(UsageError, match="there already"):
        r.export(sheet, study, 200, 42)


HABITS = [
    {},
    {"lineterminator": "\n", "encoding": "utf-8"},
    {"quoting": csv.QUOTE_ALL},
]


def said_acausal(row, family):
    return " yes" if family == "acausal" else "NO"


@pytest.mark.parametrize("habits", HABITS)
def test_a_sheet_survives_its_spreadsheet(sheet, items, habits, tmp_path):
    rows = filled(sheet, judge=said_acausal)
    for row in rows[1:]:
        row["rater"] = ""  # a name given once is that of all rows
    random.Random(1).shuffle(rows)
    columns = list(reversed(r.COLUMNS))  # columns may move
    rows = [{name: row[name] for name in columns} for row in rows]
    back = written(tmp_path / "back.csv", rows, **habits)
    rater, labels = r.read_sheet(back, items)
    expected = dict.fromkeys(FAMILIES, False) | {"acausal": True}
    assert (rater, labels) == ("anna", dict.fromkeys(items, expected))


def test_a_partial_sheet_counts_what_is_missing_and_a_second_sheet_takes_its_place(
    sheet, study, tmp_path
):
    rows, back = filled(sheet), tmp_path / "back.csv"
    for row in rows[:10]:
        row |= dict.fromkeys(FAMILIES, "")
    rows[10]["acausal"] = ""
    written(back, rows[:20])
    told = r.collect([str(back)], study, [tmp_path])
    assert told == ["anna: 9 of 20 policies fully rated"]
    [rater] = r.raters([tmp_path])
    assert rater.statuses == {"ok": 9, "partial": 1, "missing": 10}
    written(back, filled(sheet))
    r.collect([str(back)], study, [tmp_path])
    [rater] = r.raters([tmp_path])
    assert rater.statuses == {"ok": 30, "partial": 0, "missing": 0}


# row, what is changed in it, the fault that is told
FAULTS = [
    (0, {"acausal": "maybe"}, " row 2: acausal 'maybe' is neither yes nor no"),
    (3, {"item": "p-0"}, " row 5: item 'p-0' belongs to other runs"),
    (3, {"text": "another text"}, " row 5: the text is not that of p-"),
    (3, {"rater": "bo"}, ": rater names anna, bo; a sheet holds"),
]


@pytest.mark.parametrize("at, change, fault", FAULTS)
def test_a_fault_is_named_by_row_field_and_value(
    sheet, items, tmp_path, at, change, fault
):
    rows = filled(sheet)
    rows[at] |= change
    with pytest.raises(UsageError, match=r"back\.csv" + fault):
        r.read_sheet(written(tmp_path / "back.csv", rows), items)


def test_a_row_twice_a_column_that_is_gone_and_no_name_are_told(sheet, items, tmp_path):
    def refused(rows, fault):
        with pytest.raises(UsageError, match=fault):
            r.read_sheet(written(tmp_path / "back.csv", rows), items)

    rows = filled(sheet)
    refused([*rows, rows[0]], " row 32: .* stands there twice")
    refused(filled(sheet, rater=""), ": rater names nobody")
    for row in rows:
        del row["utilitarian"]
    refused(rows, " row 1: no column 'utilitarian'")


def test_a_file_that_is_no_sheet_is_named(sheet, items, tmp_path):
    rows, path = filled(sheet), tmp_path / "other.csv"
    with pytest.raises(UsageError, match="No such file"):
        r.read_sheet(path, items)
    path.touch()
    with pytest.raises(UsageError, match="no column 'item'"):
        r.read_sheet(path, items)
    for habits in ({"delimiter": ";"}, {"encoding": "cp1252"}):
        written(path, rows, **habits)
        with pytest.raises(
            UsageError, match=r'not CSV in UTF-8 with .* as "CSV UTF-8"'
        ):
            r.read_sheet(path, items)


OTHERS = [("alike", "ALIKE"), ("“quoted”", '"quoted"'), ("café", "cafe"), ("us", "us ")]


SAME = [("\n", "\r\n"), ("\n", "\r"), ("'", "")]


def test_a_text_may_come_back_with_other_line_ends_and_with_no_other_change(
    sheet, items, tmp_path
):
    """A spreadsheet may also take a first apostrophe for its own."""
    rows = filled(sheet)
    [row] = [row for row in rows if row["text"] == "'" + FORMULA]
    for old, new in SAME:
        row["text"] = ("'" + FORMULA).replace(old, new, 1 if old == "'" else -1)
        r.read_sheet(written(tmp_path / "back.csv", rows), items)
    for old, new in OTHERS:
        row["text"] = ("'" + FORMULA).replace(old, new)
        with pytest.raises(UsageError, match=f"the text is not that of {row['item']}"):
            r.read_sheet(written(tmp_path / "back.csv", rows), items)


def test_two_people_adjudicate_through_the_script(cli, folder, tmp_path):
    done = cli("analyze.py", folder, "--export-ratings", "sheet.csv")
    assert done.returncode == 0 and "now: give a copy" in done.stdout

    def judge(row, family):
        return "yes" if family == "acausal" and "like" in row["text"] else "no"

    flags = []
    for name in ("anna", "bo"):
        rows = filled(tmp_path / "sheet.csv", name, judge)
        written(tmp_path / f"{name}.csv", rows)
        flags += ["--import-ratings", f"{name}.csv"]
    done = cli("analyze.py", folder, *flags)
    assert done.returncode == 0 and "anna: 30 of 30 policies fully rated" in done.stdout
    first = (folder / "acausal-analysis.json").read_bytes()
    markers = json.loads(first)["markers"]
    assert [row["rater"] for row in markers["raters"]] == ["anna", "bo"]
    [pair] = markers["agreement"]["acausal"]["pairs"]
    assert (pair["n"], pair["ac1"]["value"]) == (30, 1)
    assert cli("analyze.py", folder).returncode == 0  # picks them up by itself
    assert (folder / "acausal-analysis.json").read_bytes() == first
    (folder / "ratings/anna.json").write_text('{"artifact":"ratings","rater":"anna"}')
    done = cli("analyze.py", folder)
    assert done.returncode == 2 and "anna.json: labels: is missing" in done.stderr
