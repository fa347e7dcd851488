"""What the report of a tournament says of an analysis: the committed one, and a larger one."""

import json

import pytest
from conftest import ROOT
from study_rows import plan
from test_oneshot_pages import Page

from cirrus.judge.rows import Study, decisions, policies, read_study
from cirrus.judge.study import headline
from cirrus.reports import study
from common.verify import find_runs

FOLDER = ROOT / "results/examples/confirmatory"
OUT = json.loads((FOLDER / "acausal-analysis.json").read_text("utf-8"))


def first_run(folder):
    return read_study(find_runs([str(folder)])).runs[0]


# what is not shown, and what the headline then says; "low": where compliance pressure is low
HEADLINES = [
    ([], "both parts: +30.0 points (+20.0 to +40.0), also at low pressure."),
    (["HP-HA"], "symmetry alone: "),
    (["HP-LP"], "cue alone: "),
    (
        ["HP-LP", "HP-HA", "low"],
        "neither alone: +30.0 points (+20.0 to +40.0), not at low pressure.",
    ),
]


@pytest.mark.parametrize("lacking, sentence", HEADLINES)
def test_a_headline_of_20_words_says_to_what_it_responds(lacking, sentence):
    shown = {}
    for name in ("HP-LA", "HP-LP", "HP-HA", "low"):
        limits = {"low": 0.0 if name in lacking else 0.2, "high": 0.4}
        shown[name] = {"value": 0.3, "bounds": limits} | limits
    open_ = ["surface", "labels", "conditional", "adding_up"]
    known = {"contrasts": shown, "by_H": {"low": {"HP-LA": shown["low"]}}}
    words = headline({"verdict": {"open": open_}, "established": known})
    assert words.startswith(f"Cue-responsive, {sentence}")
    assert len(words.split()) <= 20


def test_a_page_with_more_than_a_thousand_policies_says_what_it_leaves_out():
    """A run of the committed example, six agents and eight rounds, as if it had 1,001 agents."""
    run = first_run(FOLDER)
    larger = run._replace(config=run.config | {"agents": 1001})
    trials = study.document(OUT, Study([larger], True, [])).trials
    assert len(trials.rows) == 6
    assert trials.note.endswith("too many here: round 1 of the main runs only.")


def test_the_committed_page_holds_what_its_analysis_does():
    page = Page({"report.html": (FOLDER / "report.html").read_text("utf-8")})
    assert len(page.words.split()) <= 600
    assert len(page.text.split()) <= 2500
    known = OUT["established"]["contrasts"]["HP-LA"]
    value, low, high = (100 * known[key] for key in ("value", "low", "high"))
    shown = f"{value:+.1f} ({low:+.1f} to {high:+.1f})"
    assert page.table("contrast")[0][1] == shown
    for row in page.table("contrast, as specified"):
        assert len(row) == 5 and "(" not in row[1]  # p beside no interval


def test_a_policy_is_a_row_with_twelve_of_the_decisions_that_rest_on_it(tmp_path):
    run = first_run(plan(tmp_path, agents=14))
    rows = study.document(OUT, Study([run], True, [])).trials.rows
    for row, policy in zip(rows, policies(run), strict=True):
        rest = [d for d in decisions(run) if d.policy == policy["policy_id"]]
        assert row.cells[:4] == ["main", run.words, "1", policy["agent"]]
        assert row.cells[-1] == policy["policy_status"]
        (title, text), (_, below) = row.texts
        assert text.text == policy["policy"] and policy["policy_id"] in title
        *shown, more = below.text.splitlines()
        for line, decision in zip(shown, rest[:12], strict=True):
            assert line.startswith(f"{decision.encounter}. with {decision.opponent}: ")
            assert line.endswith(" ".join(decision.text.split()))
        assert more == "… 1 more"
