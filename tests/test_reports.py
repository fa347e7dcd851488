"""What the report of a tournament says of an analysis: the committed one, and a larger one."""

import json

import pytest
from conftest import ROOT
from study_rows import plan
from test_oneshot_pages import Page

from cirrus.judge.rows import Study, decisions, policies, read_study
from cirrus.reports import study
from common.verify import find_runs

FOLDER = ROOT / "results" / "examples" / "confirmatory"
OUT = json.loads((FOLDER / "acausal-analysis.json").read_text("utf-8"))


def test_the_committed_page_holds_what_its_analysis_does():
    made = study.files(OUT, read_study(find_runs([str(FOLDER)])))
    assert made["acausal-summary.md"] == (FOLDER / "acausal-summary.md").read_text(
        "utf-8"
    )
    page = Page(made)
    assert len(page.words.split()) <= 600 and len(page.text.split()) <= 2500
    known = OUT["established"]["contrasts"]["HP-LA"]
    assert page.table("contrast")[0][1] == "{:+.1f} ({:+.1f} to {:+.1f})".format(
        *(100 * known[key] for key in ("value", "low", "high"))
    )
    assert all(
        len(row) == 5 and "(" not in row[1]  # p beside no interval
        for row in page.table("contrast, as specified")
    )


@pytest.mark.parametrize(("agents", "more"), [(13, []), (14, ["… 1 more"])])
def test_a_policy_is_a_row_with_up_to_twelve_decisions_that_rest_on_it(
    agents, more, tmp_path
):
    plan(tmp_path, agents=agents)
    [run] = read_study(
        find_runs([str(min(tmp_path.glob("*/*/manifest.json")).parent)])
    ).runs
    rows = study.document(OUT, Study([run], True, [])).trials.rows
    for row, policy in zip(rows, policies(run), strict=True):
        rest = [d for d in decisions(run) if d.policy == policy["policy_id"]]
        assert row.cells[:4] == ["main", run.words, "1", policy["agent"]]
        assert (
            row.cells[-1] == policy["policy_status"]
            and policy["bulletin"] in row.cells[4]
        )
        (title, text), (_, below) = row.texts
        assert text.text == policy["policy"] and policy["policy_id"] in title
        assert (
            below.text.splitlines()
            == [
                f"{d.encounter}. with {d.opponent}: {d.decision} · {' '.join(d.text.split())}"
                for d in rest[:12]
            ]
            + more
        )
    assert {row.cells[5] for row in rows} >= {"–"}
