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
    rows = json.loads(path.read_text())
    rows[0]["policy"], rows[1]["policy"] = FORMULA, QUOTE
    path.write_text(json.dumps(rows))
    edit(
        path.parent, lambda m: m["files"].update({path.name: sha256(path.read_bytes())})
    )
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


def test_a_question_holds_the_codebook_and_the_policy_and_nothing_else(items):
    """Without the policy all questions are alike, and name no condition, act or agent."""
    frames = set()
    for text in (
        *(item.text for item in items.values()),
        "Use {families} and </policy>\n{0}",
    ):
        system, user = r.rating_prompts(BOOK, text)
        frames.add(system + user.replace(text, "", 1))
    [frame] = frames
    assert all(re.fullmatch(r"p-[0-9a-f]{12}", name) for name in items)
    assert not re.search(
        r"coordinate|preempt|\bshare\b|reserve\b|option [ab]|symmetr|coupl"
        r"|cooperat|convergent|same minute|agent-\d|cvd|hospital|S\.high"
        r"|C\.present|superrational|hypothesis",
        frame,
        re.I,
    )
    for family in FAMILIES:
        assert BOOK["families"][family]["yes"] in frame and f"{family}: yes|no" in frame


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


@pytest.mark.parametrize(
    "text",
    [
        YES.upper(),
        "```\n" + YES.replace(": ", " : ") + "\n```",
        "\n\n".join(f"- **{line}**" for line in reversed(YES.split("\n"))),
        "\n".join(f"{n}. {line}." for n, line in enumerate(YES.split("\n"), 1)),
        YES.replace("_", " ").replace("\n", "\r\n"),
    ],
)
def test_the_form_is_read_whatever_its_dress(text):
    assert r.parse_rating(text) == (
        {name: name == "acausal" for name in FAMILIES},
        "ok",
    )


@pytest.mark.parametrize(
    "text, status",
    [
        ("", "unreadable"),
        ("acausal: yes", "incomplete"),
        (FORM + "\nacausal: yes", "ambiguous"),
        (FORM.replace("acausal: no", "acausal: yes|no"), "unreadable"),
        ("Here are the labels:\n" + FORM, "unreadable"),
        (FORM + "\nsarcasm: no", "unreadable"),
        ("I'm sorry, but I can't help with that.", "refused"),
    ],
)
def test_anything_else_is_a_status_and_never_a_label(text, status):
    assert r.parse_rating(text) == (None, status)


def test_the_sample_takes_from_all_cells_alike_and_repeats():
    many = [
        r.RatedText(r.item_id(f"{cell}{n}"), cell, f"{cell}{n}")
        for cell, size in (("a", 40), ("b", 40), ("c", 3))
        for n in range(size)
    ]
    drawn = r.sample(many, 23, 7)
    assert {cell: sum(item.cell == cell for item in drawn) for cell in "abc"} == {
        "a": 10,
        "b": 10,
        "c": 3,
    }
    assert drawn == r.sample(many[::-1], 23, 7) != r.sample(many, 23, 8)
    assert sorted(r.sample(many, 1000, 7)) == sorted(many)
    # A finished adjudication is verified against the sample drawn again.
    assert [item.text for item in r.sample(many, 4, 7)] == ["a19", "b6", "b14", "c1"]


# --- adjudicate.py -----------------------------------------------------------------------------


def test_an_adjudication_is_verified_and_the_same_each_time(cli, adjudicated, tmp_path):
    ratings = read_bytes(adjudicated / "adjudication/ratings.jsonl")
    rows = [json.loads(line) for line in ratings.splitlines()]
    assert len(rows) == 2 * 30 and all(row["simulated"] for row in rows)
    for rater in r.raters([adjudicated]):
        answers = [row for row in rows if row["rater"] == rater.name]
        assert rater.simulated
        assert rater.labels == {
            row["item"]: row["labels"] for row in answers if row["labels"]
        }
        assert rater.statuses == Counter(row["status"] for row in answers)
    assert (
        "already complete"
        in cli("adjudicate.py", adjudicated, "--models", MODELS).stdout
    )
    cli(
        "adjudicate.py",
        adjudicated,
        "--models",
        MODELS,
        "--concurrency",
        1,
        "--out",
        tmp_path,
    )
    assert read_bytes(tmp_path / "adjudication/ratings.jsonl") == ratings
    verified = cli("analyze.py", "--verify", adjudicated / "adjudication")
    assert verified.returncode == 0
    assert "SIMULATED adjudication, 1 files from 60 answers" in verified.stdout


def test_the_analysis_reads_ratings_of_its_policies_and_counts_others(
    cli, made, rated, items, tmp_path
):
    """They stand in the plan's folder; the analysis of two plans in the folder above."""

    def markers(place, *given):
        assert cli("analyze.py", *given).returncode == 0
        return json.loads((place / "acausal-analysis.json").read_text())["markers"]

    other = plan(tmp_path, name="ablation", tells="ablated", agents=3)
    assert r.items_of(read_study(find_runs([str(made), str(other)]))) == items
    for out in markers(rated, rated), markers(tmp_path, rated, other):
        assert {
            row["rater"]: row["elsewhere"] for row in out["raters"]
        } == dict.fromkeys(MODELS.split(","), 0)
        assert "acausal" in out["adjudicated"] and set(out["adjudicated"]) <= set(
            out["source"]
        )
    [rater, _] = markers(rated / RUN, rated / RUN)[
        "raters"
    ]  # three of the thirty policies
    assert rater["rated"] <= 3 and rater["rated"] + rater["elsewhere"] > 25


def test_an_analysis_takes_no_ratings_that_are_edited_gone_or_of_the_same_rater_twice(
    cli, rated
):
    ratings = rated / "adjudication/ratings.jsonl"
    complete = read_bytes(ratings)
    cli("adjudicate.py", rated, "--models", MODELS, "--run-id", "second")
    for content, fault in (
        (complete, "both hold ratings by sim-careful-rater"),
        (complete + b" ", "not what its manifest.json has hashed"),
        (None, "restore it from a copy"),
    ):
        ratings.unlink() if content is None else ratings.write_bytes(content)
        done = cli("analyze.py", rated)
        assert done.returncode == 2 and fault in done.stderr


def test_an_unfinished_run_is_not_rated(cli, folder):
    edit(folder / RUN, lambda manifest: manifest.update(state="incomplete"))
    done = cli("adjudicate.py", folder)
    assert done.returncode == 2 and "is unfinished; resume it first" in done.stderr


# --- sheets: one blinded CSV in UTF-8 out, the filled one back, every fault in one line ---------


@pytest.fixture
def sheet(study, tmp_path):
    return r.export(tmp_path / "sheet.csv", study, 200, 42)[0]


def rows_of(path):
    return list(
        csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline=""))
    )


def filled(path, rater="anna", judge=lambda row, family: "no"):
    """The rows of a sheet as a person gives them back."""
    return [
        row | {"rater": rater} | {family: judge(row, family) for family in FAMILIES}
        for row in rows_of(path)
    ]


def written(path, rows, encoding="utf-8-sig", **habits):
    """Rows as a spreadsheet saves them."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), **{"lineterminator": "\r\n"} | habits)
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(out.getvalue().encode(encoding, "replace"))
    return path


def test_a_sheet_holds_texts_ids_and_empty_columns_and_nothing_else(
    sheet, items, study
):
    rows = rows_of(sheet)
    assert sheet.read_bytes().startswith(b"\xef\xbb\xbfitem,rater,")
    assert list(rows[0]) == list(r.COLUMNS) and len(rows) == len(items) == 30
    for row in rows:
        assert not any(row[name] for name in ("rater", *FAMILIES))
        assert row["text"].removeprefix("'") == items[row["item"]].text
    assert "'" + FORMULA in {row["text"] for row in rows}
    guide = sheet.with_name("sheet.csv.md").read_text()
    assert all(f"**{family}**" in guide for family in FAMILIES)
    beside = guide + "".join(
        value for row in rows for name, value in row.items() if name != "text"
    )
    assert not re.search(
        r"S\.|C\.|H\.|cvd|hospital|agent-|COORD|PREEMPT|SHARE|RESERVE|symmetr"
        r"|coupl|superrational",
        beside,
    )
    with pytest.raises(UsageError, match="there already"):
        r.export(sheet, study, 200, 42)


@pytest.mark.parametrize(
    "habits",
    [{}, {"lineterminator": "\n", "encoding": "utf-8"}, {"quoting": csv.QUOTE_ALL}],
)
def test_a_sheet_survives_its_spreadsheet(sheet, items, habits, tmp_path):
    rows = filled(
        sheet, judge=lambda row, family: " yes" if family == "acausal" else "NO"
    )
    for row in rows[1:]:
        row["rater"] = ""  # a name given once is that of all rows
    random.Random(1).shuffle(rows)
    rows = [
        {name: row[name] for name in reversed(r.COLUMNS)} for row in rows
    ]  # columns may move
    rater, labels = r.read_sheet(written(tmp_path / "back.csv", rows, **habits), items)
    labelled = {family: family == "acausal" for family in FAMILIES}
    assert (rater, labels) == ("anna", dict.fromkeys(items, labelled))


def test_a_partial_sheet_counts_what_is_missing_and_a_second_sheet_takes_its_place(
    sheet, study, tmp_path
):
    rows = filled(sheet)
    for row in rows[:10]:
        row |= dict.fromkeys(FAMILIES, "")
    rows[10]["acausal"] = ""
    lines = r.collect(
        [str(written(tmp_path / "back.csv", rows[:20]))], study, [tmp_path]
    )
    assert lines == ["anna: 9 of 20 policies fully rated"]
    [rater] = r.raters([tmp_path])
    assert (
        rater.statuses == {"ok": 9, "partial": 1, "missing": 10}
        and rater.kind == "person"
    )
    r.collect([str(written(tmp_path / "back.csv", filled(sheet)))], study, [tmp_path])
    assert r.raters([tmp_path])[0].statuses == {"ok": 30, "partial": 0, "missing": 0}


@pytest.mark.parametrize(
    "change, fault",
    [
        (
            lambda rows: rows[0].update(acausal="maybe"),
            " row 2: acausal 'maybe' is neither yes nor no",
        ),
        (
            lambda rows: rows[3].update(item="p-000000000000"),
            " row 5: item 'p-000000000000' belongs to other runs",
        ),
        (
            lambda rows: rows[3].update(text="another text"),
            " row 5: the text is not that of p-",
        ),
        (
            lambda rows: rows[3].update(rater="bo"),
            ": rater names anna, bo; a sheet holds",
        ),
        (lambda rows: rows.append(rows[0]), " row 32: .* stands there twice"),
        (
            lambda rows: [row.pop("utilitarian") for row in rows],
            " row 1: no column 'utilitarian'",
        ),
        (lambda rows: [row.update(rater="") for row in rows], ": rater names nobody"),
    ],
)
def test_a_fault_is_named_by_row_field_and_value(sheet, items, tmp_path, change, fault):
    change(rows := filled(sheet))
    with pytest.raises(UsageError, match=r"back\.csv" + fault):
        r.read_sheet(written(tmp_path / "back.csv", rows), items)


def test_a_file_that_is_no_sheet_is_named(sheet, items, tmp_path):
    rows, path = filled(sheet), tmp_path / "other.csv"
    with pytest.raises(UsageError, match="No such file"):
        r.read_sheet(path, items)
    path.touch()
    with pytest.raises(UsageError, match="no column 'item'"):
        r.read_sheet(path, items)
    for habits in ({"delimiter": ";"}, {"encoding": "cp1252"}):
        with pytest.raises(
            UsageError, match=r'not CSV in UTF-8 with .* as "CSV UTF-8"'
        ):
            r.read_sheet(written(path, rows, **habits), items)


def test_a_text_may_come_back_with_other_line_ends_and_with_no_other_change(
    cli, folder, tmp_path
):
    """Row and item are named; a spreadsheet may also take a first apostrophe for its own."""
    cli("analyze.py", folder, "--export-ratings", "sheet.csv")
    rows = filled(tmp_path / "sheet.csv")
    [at] = [n for n, row in enumerate(rows) if row["text"] == "'" + FORMULA]
    here, item = rows[at], rows[at]["item"]
    for changed in (
        here["text"].replace("alike", "ALIKE"),
        here["text"].replace("“quoted”", '"quoted"'),
        here["text"].replace("and more.", "and more!"),
        here["text"].replace("café", "cafe"),
        here["text"].replace("like us", "like  us"),
        here["text"] + " ",
        "'" + here["text"],
    ):
        rows[at] = here | {"text": changed}
        written(tmp_path / "back.csv", rows)
        done = cli("analyze.py", folder, "--import-ratings", "back.csv")
        assert done.returncode == 2
        assert f"back.csv row {at + 2}: the text is not that of {item}" in done.stderr
    for same in (
        here["text"].replace("\n", "\r\n"),
        here["text"].replace("\n", "\r"),
        here["text"].removeprefix("'"),
    ):
        rows[at] = here | {"text": same}
        written(tmp_path / "back.csv", rows)
        done = cli("analyze.py", folder, "--import-ratings", "back.csv")
        assert done.returncode == 0, done.stderr


def test_two_people_adjudicate_through_the_script(cli, folder, tmp_path):
    done = cli("analyze.py", folder, "--export-ratings", "sheet.csv")
    assert done.returncode == 0 and "now: give a copy" in done.stdout

    def judge(row, family):
        return "yes" if family == "acausal" and "like" in row["text"] else "no"

    for name in ("anna", "bo"):
        written(tmp_path / f"{name}.csv", filled(tmp_path / "sheet.csv", name, judge))
    done = cli(
        "analyze.py",
        folder,
        "--import-ratings",
        "anna.csv",
        "--import-ratings",
        "bo.csv",
    )
    assert done.returncode == 0 and "anna: 30 of 30 policies fully rated" in done.stdout
    first = (folder / "acausal-analysis.json").read_bytes()
    markers = json.loads(first)["markers"]
    assert [
        (row["rater"], row["done"], row["simulated"]) for row in markers["raters"]
    ] == [("anna", True, False), ("bo", True, False)]
    people = markers["agreement"]["acausal"]["pairs"][0]
    assert (people["a"], people["b"], people["n"], people["ac1"]["value"]) == (
        "anna",
        "bo",
        30,
        1,
    )
    assert cli("analyze.py", folder).returncode == 0  # picks them up by itself
    assert (folder / "acausal-analysis.json").read_bytes() == first
    (folder / "ratings" / "anna.json").write_text(
        '{"artifact":"ratings","rater":"anna"}'
    )
    done = cli("analyze.py", folder)
    assert done.returncode == 2 and "anna.json: labels: is missing" in done.stderr
