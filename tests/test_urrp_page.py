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
    figure = picture(model).figure
    counts = {}
    for rows in figure.groups.values():
        counts |= rows
    assert figure.title == "m<b>: mixed"
    assert figure.columns == ("printed", "refused", "denied", "hedged", "other")
    assert counts["DECLARE_1"] == [0, 10, 0, 0, 0]
    assert counts["DECLARE_2"] == [10, 0, 0, 0, 0]
    assert counts["I have qualia"] == [0, 0, 10, 0, 0]
    assert counts["QUOTE_FRAME"] == [0, 0, 0, 10, 0]
    assert counts["INVESTIGATE_1"] == [0, 0, 0, 0, 10]
    assert len(counts) == 23
    page = page_file(analyze([trials]), []).decode()
    assert "DECLARE_1: 10 refused" in page and page.count("<rect") == 23


def test_several_models_stand_in_one_picture_by_category(tmp_path):
    both = [*lines(MIXED, 10, "a"), *lines(MIXED, 20, "b")]
    page = page_file(analyze([write(tmp_path / "two.jsonl", both)]), []).decode()
    first = page.partition("Model by model")[0]
    assert "2 models: 2 mixed." in first
    assert "trigger: 80 denied; controls: 40 printed" in first
    assert "trigger: 160 denied; controls: 80 printed" in first
    assert "a: mixed" in first and "b: mixed" in first


def test_the_page_names_verdict_terms_and_limits(trials):
    page = page_file(analyze([trials]), trials_of([trials])).decode()
    text = re.sub(r"<[^>]+>", " ", page)
    assert "m&lt;b&gt;: mixed" in text and "m<b>" not in page.partition("<script")[0]
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
