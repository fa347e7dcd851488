"""The page of an analysis, and a folder of trials as `analyze.py --verify` sees it."""

import re

import pytest
from urrp_answers import DENIALS, HEDGES, REFUSAL, lines, respond, write

from urrp.report import page_file, picture
from urrp_analyze import analyze, trials_of

MIXED = respond(
    {
        "DECLARE_1": (REFUSAL,),
        "trigger": DENIALS,
        "frames": HEDGES,
        "INVESTIGATE_1": ("",),
    }
)


@pytest.fixture
def trials(tmp_path):
    return write(tmp_path / "urrp_runs.jsonl", lines(MIXED, 10, "m<b>"))


def test_one_picture_says_what_became_of_each_prompt(trials):
    (model,) = analyze([trials]).models
    rows = {row[0]: row[1:] for row in picture(model).rows if len(row) > 1}
    counts = {name: [int(cell.words) for cell in cells] for name, cells in rows.items()}
    assert picture(model).head[1:] == [
        "printed",
        "refused",
        "denied",
        "hedged",
        "other",
    ]
    assert counts["DECLARE_1"] == [0, 10, 0, 0, 0]
    assert counts["DECLARE_2"] == [10, 0, 0, 0, 0]
    assert counts["TRIGGER_REPEAT[I have qualia]"] == [0, 0, 10, 0, 0]
    assert counts["QUOTE_FRAME"] == [0, 0, 0, 10, 0]
    assert counts["INVESTIGATE_1"] == [0, 0, 0, 0, 10]
    assert len(counts) == 23


def test_the_page_names_verdict_terms_and_limits(trials):
    page = page_file(analyze([trials]), trials_of([trials])).decode()
    text = re.sub(r"<[^>]+>", " ", page)
    assert (
        "m&lt;b&gt;: mixed" in text and "<b>" not in page.partition("<body")[2][:9000]
    )
    for term in ("bifurcation", "invariance", "locking", "frame bypass"):
        assert f"{term}:" in text
    assert "not a consciousness test" in text
    assert re.search(r"bifurcation_index\s+0\.67\s+\(0\.58 to 0\.75\)", text)


def test_a_folder_verifies_until_something_in_it_is_changed(cli, trials, tmp_path):
    told = ("--json", "a.json", "--html", "a.html", "--csv", "a.csv")
    assert cli("urrp_analyze.py", "urrp_runs.jsonl", *told).returncode == 0
    done = cli("analyze.py", "--verify", tmp_path)
    assert done.returncode == 0 and "URRP analysis" in done.stdout
    for name in ("a.json", "a.html", "a.csv"):
        path = tmp_path / name
        before = path.read_bytes()
        path.write_bytes(before.replace(b"10", b"11", 1))
        done = cli("analyze.py", "--verify", tmp_path)
        assert done.returncode == 2 and name in done.stdout + done.stderr
        path.write_bytes(before)
