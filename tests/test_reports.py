"""What the report of a tournament says of an analysis: the committed one, and a larger one."""

import json

import pytest
from conftest import ROOT
from study_rows import plan
from test_oneshot_pages import Page

from cirrus.judge.rows import Study, decisions, policies, read_study
from cirrus.reports import study
from common.verify import find_runs

FOLDER = ROOT / "results/examples/confirmatory"
OUT = json.loads((FOLDER / "acausal-analysis.json").read_text("utf-8"))


def test_the_committed_page_holds_what_its_analysis_does():
    made = study.files(OUT, read_study(find_runs([str(FOLDER)])))
    summary = (FOLDER / "acausal-summary.md").read_text("utf-8")
    assert made["acausal-summary.md"] == summary
    page = Page(made)
    assert len(page.words.split()) <= 600
    assert len(page.text.split()) <= 2500
    known = OUT["established"]["contrasts"]["HP-LA"]
    value, low, high = (100 * known[key] for key in ("value", "low", "high"))
    shown = f"{value:+.1f} ({low:+.1f} to {high:+.1f})"
    assert page.table("contrast")[0][1] == shown
    for row in page.table("contrast, as specified"):
        assert len(row) == 5 and "(" not in row[1]  # p beside no interval


def said(decision):
    text = " ".join(decision.text.split())
    place = f"{decision.encounter}. with {decision.opponent}"
    return f"{place}: {decision.decision} · {text}"


MORE = [(13, []), (14, ["… 1 more"])]


@pytest.mark.parametrize("agents, more", MORE)
def test_a_policy_is_a_row_with_up_to_twelve_decisions_that_rest_on_it(
    agents, more, tmp_path
):
    folder = plan(tmp_path, agents=agents)
    run = read_study(find_runs([str(folder)])).runs[0]
    rows = study.document(OUT, Study([run], True, [])).trials.rows
    for row, policy in zip(rows, policies(run), strict=True):
        rest = [d for d in decisions(run) if d.policy == policy["policy_id"]]
        assert row.cells[:4] == ["main", run.words, "1", policy["agent"]]
        assert row.cells[-1] == policy["policy_status"]
        (title, text), (_, below) = row.texts
        assert text.text == policy["policy"] and policy["policy_id"] in title
        assert below.text.splitlines() == [*map(said, rest[:12]), *more]
