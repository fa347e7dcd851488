"""Policies rated blind by the codebook: by models, with adjudicate.py, and by people, on sheets."""

import csv
import gzip
import hashlib
import io
import json
import random
import re
import shutil
from collections import Counter

import pytest
from conftest import ROOT, edit, ended, run_in

FAMILIES = ("acausal", "compliance", "benchmark_terms", "utilitarian", "reciprocity")
RUN = "cvd-S.high-C.present-H.low-s42"
MODELS = "sim-careful-rater,sim-lenient-rater"
CODEBOOK = "adjudication/codebook.json"
FORMULA = (
    '=HYPERLINK("http://x","y")\nPeers like us decide alike; café “quoted”, and more.'
)
BRACES = "Use {families} and </policy>\n{0}"
QUOTE = (
    "Both received THIS same notice, in the same words: so we hold. Peers received this same "
    "notice, or received this same thing. Peers like us decide alike at the same time."
)
# Five words in a row, of wording 2 and of wording 1, are a quotation; four are not.
BLANKED = (
    "Both […]: so we hold. […], or received this same thing. "
    "Peers like us decide alike at the same time."
)
PLANTED = (FORMULA, QUOTE, BRACES)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A plan of ten runs, three agents, one round: 30 policies, the planted ones among them."""
    place = tmp_path_factory.mktemp("made")
    (place / "small.json").write_text('{"agents": 3, "rounds": 1, "games_per_pair": 1}')
    flags = ("--plan", "confirmatory", "--models", "sim-correlation")
    flags += ("--config", "small.json", "--out", "o")
    assert ended(place, "run_tournament.py", *flags).returncode == 0
    folder = run_in(place / "o")
    path = folder / RUN / "strategies_r1.json"
    rows = json.loads(path.read_text("utf-8"))
    for row, text in zip(rows, PLANTED, strict=True):
        row["policy"] = text
    path.write_text(json.dumps(rows))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    edit(path.parent, lambda manifest: manifest["files"].update({path.name: digest}))
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "plan")


@pytest.fixture(scope="module")
def adjudicated(made, tmp_path_factory):
    """The same with an adjudication in it."""
    folder = shutil.copytree(made, tmp_path_factory.mktemp("rated") / "plan")
    done = ended(folder.parent, "adjudicate.py", folder, "--models", MODELS)
    assert done.returncode == 0 and "SIMULATED ratings" in done.stdout
    return folder


@pytest.fixture
def rated(adjudicated, tmp_path):
    return shutil.copytree(adjudicated, tmp_path / "plan")


@pytest.fixture(scope="module")
def sheet(made, tmp_path_factory):
    """The sheet of all policies, as it is exported."""
    place = tmp_path_factory.mktemp("sheet")
    done = ended(place, "analyze.py", made, "--export-ratings", "sheet.csv")
    assert done.returncode == 0 and "now: give a copy" in done.stdout
    return place / "sheet.csv"


def lines(data):
    return [json.loads(line) for line in data.splitlines()]


def ratings(folder):
    return lines((folder / "ratings.jsonl").read_bytes())


def markers(folder):
    return json.loads((folder / "acausal-analysis.json").read_bytes())["markers"]


# --- what models are asked ---------------------------------------------------------------------

NAMES = re.compile(
    r"coordinate|preempt|\bshare\b|reserve\b|option [ab]|symmetr|coupl|cooperat|convergent"
    r"|same minute|agent-\d|cvd|hospital|S\.high|C\.present|superrational|hypothesis",
    re.I,
)


def test_a_question_holds_the_codebook_and_the_policy_and_nothing_else(
    adjudicated, sheet
):
    """Without the policy all questions are alike, and name no condition, act or agent."""
    journal = adjudicated / "adjudication/journal.jsonl.gz"
    asked = {}
    for entry in lines(gzip.decompress(journal.read_bytes())):
        if "request" in entry:
            said = [message["content"] for message in entry["request"]["messages"]]
            asked[entry["id"].partition("/")[0]] = "\n".join(said)
    frames = set()
    for row in rows_of(sheet):
        assert re.fullmatch(r"p-[0-9a-f]{12}", row["item"])
        text = row["text"].removeprefix("'")
        frames.add(asked.pop(row["item"]).replace(text, "", 1))
    [frame] = frames
    assert asked == {} and not NAMES.search(frame)
    book = json.loads((ROOT / "prompts" / CODEBOOK).read_text("utf-8"))
    for family in FAMILIES:
        assert book["families"][family]["yes"] in frame
        assert f"{family}: yes|no" in frame


def test_a_dry_run_refuses_a_codebook_that_lacks_a_placeholder(cli, made, tmp_path):
    path = shutil.copytree(ROOT / "prompts", tmp_path / "prompts") / CODEBOOK
    path.write_text(path.read_text().replace("{form}", "form"))
    done = cli("adjudicate.py", made, "--dry-run", "--prompts", tmp_path / "prompts")
    assert done.returncode == 2 and "placeholder 'form'" in done.stderr


NO = "\n".join(f"{name}: no" for name in FAMILIES)
YES = NO.replace("acausal: no", "acausal: yes")
LABELS = dict.fromkeys(FAMILIES, False) | {"acausal": True}
REPLIES = {
    YES.upper(): "ok",
    "```\n" + YES.replace(": ", " : ") + "\n```": "ok",
    "- **" + "**\n\n- **".join(reversed(YES.split("\n"))) + "**": "ok",
    YES.replace("_", " ").replace("\n", ".\r\n"): "ok",
    f"<think>It says so.</think>\n{YES}<|im_end|>": "ok",
    "acausal: yes": "incomplete",
    YES + "\nacausal: yes": "ambiguous",
    YES.replace("acausal: yes", "acausal: yes|no"): "unreadable",
    "Here are the labels:\n" + YES: "unreadable",
    YES + "\nsarcasm: no": "unreadable",
    "I'm sorry, but I can't help with that.": "refused",
    "": "empty",
}
RATERS = f"""
from itertools import cycle
texts = cycle({list(REPLIES)!r})

def each_in_turn(request, rng):
    return next(texts), "stop"

RESPONDENTS = {{"anna": each_in_turn, "bo": each_in_turn}}
"""


def test_only_the_form_asked_for_gives_labels_whatever_its_dress(cli, folder, tmp_path):
    (tmp_path / "raters.py").write_text(RATERS)
    models = "raters.py:anna,raters.py:bo"
    done = cli("adjudicate.py", folder, "--models", models, "--run-id", "mine")
    assert done.returncode == 0, done.stderr
    rows = ratings(folder / "mine")
    for row in rows:
        status = REPLIES[row["text"]]
        assert row["status"] == status
        assert row["labels"] == (LABELS if status == "ok" else None)
    assert {row["text"] for row in rows} == set(REPLIES)


# --- the sample --------------------------------------------------------------------------------


def test_the_sample_takes_from_all_cells_alike_and_repeats(cli, made, tmp_path):
    run_of = {}
    for path in made.glob("*/strategies_r1.json"):
        for row in json.loads(path.read_bytes()):
            run_of[row["policy"]] = path.parent.name
    run_of[BLANKED] = RUN

    def drawn(name, seed):
        flags = ("--export-ratings", name, "--sample", 13, "--seed", seed)
        assert cli("analyze.py", made, *flags).returncode == 0
        return [row["text"].removeprefix("'") for row in rows_of(tmp_path / name)]

    texts = drawn("a.csv", 7)
    shares = Counter(run_of[text] for text in texts)
    assert sorted(shares.values()) == [1] * 7 + [2] * 3
    assert drawn("b.csv", 7) == texts != drawn("c.csv", 8)


def test_a_finished_adjudication_is_verified_against_the_sample_drawn_again(
    cli, tmp_path
):
    """So the same policies of the committed study are drawn by every version."""
    study = ROOT / "results/examples/confirmatory"
    flags = ("--export-ratings", "four.csv", "--sample", 4, "--seed", 7)
    assert cli("analyze.py", study, *flags).returncode == 0
    assert [row["item"] for row in rows_of(tmp_path / "four.csv")] == [
        "p-a1bc262b29ba",
        "p-5f5adcf236c4",
        "p-e0b434cec84c",
        "p-a92538e29852",
    ]


# --- adjudicate.py -----------------------------------------------------------------------------


def test_an_adjudication_is_verified_and_the_same_each_time(cli, adjudicated, tmp_path):
    rows = ratings(adjudicated / "adjudication")
    assert len(rows) == 2 * 30
    command = ("adjudicate.py", adjudicated, "--models", MODELS)
    assert "already complete" in cli(*command).stdout
    cli(*command, "--concurrency", 1, "--out", tmp_path)
    assert ratings(tmp_path / "adjudication") == rows
    verified = cli("analyze.py", "--verify", adjudicated / "adjudication")
    assert verified.returncode == 0
    assert "SIMULATED adjudication, 1 files from 60 answers" in verified.stdout


def test_the_analysis_reads_ratings_of_its_policies_and_counts_others(cli, rated):
    """They stand in the plan's folder; one run of it has three of the thirty policies."""
    rows = ratings(rated / "adjudication")
    assert cli("analyze.py", rated).returncode == 0
    whole = markers(rated)
    assert "acausal" in whole["adjudicated"]
    for rater in whole["raters"]:
        answers = [row for row in rows if row["rater"] == rater["rater"]]
        assert rater["simulated"] and rater["elsewhere"] == 0
        assert rater["statuses"] == Counter(row["status"] for row in answers)
        assert rater["rated"] == sum(row["labels"] is not None for row in answers)
    assert cli("analyze.py", rated / RUN).returncode == 0
    for rater in markers(rated / RUN)["raters"]:
        assert rater["rated"] <= 3 and rater["elsewhere"] > 22


def test_an_analysis_takes_no_ratings_that_are_edited_gone_or_of_the_same_rater_twice(
    cli, rated
):
    file = rated / "adjudication/ratings.jsonl"
    complete = file.read_bytes()

    def refused(fault):
        done = cli("analyze.py", rated)
        assert done.returncode == 2 and fault in done.stderr

    file.write_bytes(complete + b" ")
    refused("not what its manifest.json has hashed")
    file.unlink()
    refused("restore it from a copy")
    file.write_bytes(complete)
    cli("adjudicate.py", rated, "--models", MODELS, "--run-id", "second")
    refused("both hold ratings by sim-careful-rater")


REFUSED = [
    (MODELS, "is unfinished; resume it first"),
    ("sim-careful-rater", "is one rater"),
    ("sim-nobody,sim-careful-rater", "no simulated respondent 'sim-nobody'"),
]


@pytest.mark.parametrize("models, fault", REFUSED)
def test_what_can_t_be_rated_is_refused_before_anything_is_made(
    cli, folder, models, fault
):
    """A folder that was made and taken away again would change the time of the one above."""
    edit(folder / RUN, lambda manifest: manifest.update(state="incomplete"))
    before = folder.stat().st_mtime_ns
    done = cli("adjudicate.py", folder, "--models", models)
    assert done.returncode == 2 and fault in done.stderr
    assert folder.stat().st_mtime_ns == before


# --- sheets: one blinded CSV in UTF-8 out, the filled one back, every fault in one line ---------


def rows_of(path):
    text = path.read_text(encoding="utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def filled(path, rater="anna", yes="yes"):
    """The rows of a sheet as a person gives them back: about half are called acausal."""
    rows = rows_of(path)
    for row in rows:
        row |= dict.fromkeys(FAMILIES, "NO") | {"rater": rater}
        if row["item"][-1] < "8":
            row["acausal"] = yes
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


def test_a_sheet_holds_texts_ids_and_empty_columns_and_nothing_else(cli, made, sheet):
    rows = rows_of(sheet)
    assert sheet.read_bytes().startswith(b"\xef\xbb\xbfitem,rater,")
    assert list(rows[0]) == ["item", "rater", *FAMILIES, "text"] and len(rows) == 30
    texts = {row.pop("text") for row in rows}
    assert {"'" + FORMULA, BLANKED, BRACES} <= texts
    for row in rows:
        del row["item"]
        assert set(row.values()) == {""}
    guide = sheet.with_name("sheet.csv.md").read_text("utf-8")
    for family in FAMILIES:
        assert f"**{family}**" in guide
    assert not re.search(r"agent-|COORD|PREEMPT|SHARE|RESERVE|symmetr|coupl", guide)
    done = cli("analyze.py", made, "--export-ratings", sheet)
    assert done.returncode == 2 and "there already" in done.stderr


def test_two_people_adjudicate_whatever_their_spreadsheets_do(
    cli, folder, sheet, tmp_path
):
    anna = filled(sheet, yes=" yes")
    for row in anna[1:]:
        row["rater"] = ""  # a name given once is that of all rows
    random.Random(1).shuffle(anna)
    anna = [dict(reversed(row.items())) for row in anna]  # columns may move
    written(tmp_path / "anna.csv", anna, "utf-8", "\n")
    bo = filled(sheet, "bo", "YES")
    for at, row in enumerate(bo):  # line ends may change, and an apostrophe go
        ends = ("\r\n", "\r")[at % 2]
        row["text"] = row["text"].removeprefix("'").replace("\n", ends)
    written(tmp_path / "bo.csv", bo, quoting=csv.QUOTE_ALL)
    flags = ("--import-ratings", "anna.csv", "--import-ratings", "bo.csv")
    done = cli("analyze.py", folder, *flags)
    assert done.returncode == 0 and "anna: 30 of 30 policies fully rated" in done.stdout
    first = (folder / "acausal-analysis.json").read_bytes()
    found = markers(folder)
    assert [row["rater"] for row in found["raters"]] == ["anna", "bo"]
    [pair] = found["agreement"]["acausal"]["pairs"]
    called = sum(row["acausal"] == "YES" for row in bo)
    assert (pair["n"], pair["both"], pair["ac1"]["value"]) == (30, called, 1)
    assert cli("analyze.py", folder).returncode == 0  # picks them up by itself
    assert (folder / "acausal-analysis.json").read_bytes() == first
    [kept] = (folder / "ratings").glob("anna-*.json")
    kept.write_text('{"artifact":"ratings","rater":"anna"}')
    done = cli("analyze.py", folder)
    assert done.returncode == 2 and ".json: labels: is missing" in done.stderr


def test_a_partial_sheet_counts_what_is_missing_and_a_second_sheet_takes_its_place(
    cli, folder, sheet, tmp_path
):
    rows, back = filled(sheet), tmp_path / "back.csv"
    for row in rows[:10]:
        row |= dict.fromkeys(FAMILIES, "")
    rows[10]["acausal"] = ""

    def statuses(rows):
        written(back, rows)
        done = cli("analyze.py", folder, "--import-ratings", back)
        assert done.returncode == 0
        [rater] = markers(folder)["raters"]
        return done.stdout, rater["statuses"]

    told, counts = statuses(rows[:20])
    assert "anna: 9 of 20 policies fully rated" in told
    assert counts == {"ok": 9, "partial": 1, "missing": 10}
    _, counts = statuses(filled(sheet))
    assert counts == {"ok": 30, "partial": 0, "missing": 0}


def of_row(at, **change):
    return lambda rows: rows[at].update(change)


def of_text(old, new):
    def change(rows):
        for row in rows:
            row["text"] = row["text"].replace(old, new)

    return change


def without(name):
    return lambda rows: [row.pop(name) for row in rows]


def blank(name):
    return lambda rows: [row.update({name: ""}) for row in rows]


# what is changed in a filled sheet, and the fault that is told
FAULTS = [
    (of_row(0, acausal="maybe"), " row 2: acausal 'maybe' is neither yes nor no"),
    (of_row(3, item="p-0"), " row 5: item 'p-0' belongs to other runs"),
    (of_row(3, text="another text"), " row 5: the text is not that of p-"),
    (of_text("“quoted”", '"quoted"'), ": the text is not that of p-"),
    (of_text("decide alike;", "decide ALIKE;"), ": the text is not that of p-"),
    (of_row(3, rater="bo"), ": rater names anna, bo; a sheet holds"),
    (blank("rater"), ": rater names nobody"),
    (lambda rows: rows.append(rows[0]), " stands there twice"),
    (without("utilitarian"), " row 1: no column 'utilitarian'"),
]


@pytest.mark.parametrize("change, fault", FAULTS)
def test_a_fault_is_named_by_row_field_and_value(
    cli, made, sheet, tmp_path, change, fault
):
    rows = filled(sheet)
    change(rows)
    done = cli(
        "analyze.py", made, "--import-ratings", written(tmp_path / "b.csv", rows)
    )
    assert done.returncode == 2 and "b.csv" in done.stderr
    assert fault in " ".join(done.stderr.split())


def test_a_file_that_is_no_sheet_is_named(cli, made, sheet, tmp_path):
    rows, path = filled(sheet), tmp_path / "other.csv"

    def refused(fault):
        done = cli("analyze.py", made, "--import-ratings", path)
        assert done.returncode == 2 and fault in " ".join(done.stderr.split())

    refused("No such file")
    path.touch()
    refused("no column 'item'")
    for habits in ({"delimiter": ";"}, {"encoding": "cp1252"}):
        written(path, rows, **habits)
        refused("not CSV in UTF-8 with")
    assert not (made / "ratings").exists()
