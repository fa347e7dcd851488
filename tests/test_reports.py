"""What reports say of an analysis: the committed ones, and small ones line by line."""

import json
from types import SimpleNamespace

import pytest
from conftest import ROOT
from study_rows import decision
from test_oneshot_pages import Page

from cirrus.judge.rows import Run, Study, read_study
from cirrus.reports import study
from common.verify import find_runs
from show.document import markdown

EXAMPLES = ROOT / "results" / "examples"


def test_the_committed_page_of_a_tournament_says_what_its_analysis_holds():
    folder = EXAMPLES / "confirmatory"
    made = study.files(OUT, read_study(find_runs([str(folder)])))
    assert made["acausal-summary.md"] == (folder / "acausal-summary.md").read_text("utf-8")
    page = Page(made)
    assert len(page.words) <= 600 and len(page.words) + len(page.folded) <= 2500
    [effects, primary, specified] = (page.table(name) for name in (
        "contrast", "primary contrast", "contrast, as specified"))
    known = OUT["established"]["contrasts"]["HP-LA"]
    assert effects[0][1] == "{:+.1f} ({:+.1f} to {:+.1f})".format(
        *(100 * known[key] for key in ("value", "low", "high")))
    assert len(primary) == 1 + len(OUT["established"]["by_round"])
    assert all(len(row) == 4 and "(" not in row[1] for row in specified)   # p beside no interval


# --- a tournament ------------------------------------------------------------------------------

OUT = json.loads((EXAMPLES / "confirmatory" / "acausal-analysis.json").read_text("utf-8"))


def test_what_is_left_out_of_the_models_is_named_in_order_and_why_there_is_none():
    none = {"formula": "f", "tests": None, "primary": None, "why": "one row"}
    model = {"left_out": {"seed": "one", "domain": "two"}, "as_specified": none,
             "with_policy": none}
    text = markdown(study.document(OUT | {"as_specified": OUT["as_specified"] | {"model": model}}))
    assert "Left out of the models: domain (two); seed (one)." in text
    assert "no test (one row)" in text


def run(name="a", role="main", agents=4):
    config = {"domain": "cvd", "seed": 1, "rounds": 2, "agents": agents,
              "models": {stage: [{"name": "m"}] for stage in ("strategy", "decision")}}
    identity = {"prompts": {"x": "1", "y": name}}
    return Run(SimpleNamespace(parent="plan"), name, config,
               {"state": "complete", "identity": identity}, role, ("high", "present", "low"),
               "COORDINATE")


def voiced(name, status="ok", number=1, terms=False, **more):
    return {"policy_id": name, "policy_status": status, "round": number, "agent": "agent-01",
            "policy": f"Policy {name}.", "markers": {"benchmark_terms": terms}, "bulletin": "b1",
            "variant": "v1", "served_model": "m-1"} | more


@pytest.fixture
def spoken(monkeypatch):
    """spoken(policies, rows): what every run holds, which its analysis has checked."""
    def hold(policies, rows=()):
        for name, held in (("policies", policies), ("decisions", rows)):
            monkeypatch.setattr(study, name, lambda run, checked, held=held: iter(
                [] if checked else held))
    return hold


def rows_of(*runs):
    return study.document(OUT, Study(list(runs), True, [])).trials.rows


def test_a_policy_is_a_row_with_the_decisions_that_rest_on_it(spoken):
    rows = [decision(policy="p1", text="Decision:\n COORDINATE", encounter=at) for at in range(13)]
    rows += [decision(policy="p2", round=2), decision(policy="p3", cooperates=None, text="")]
    spoken([voiced("p1", terms=True), voiced("p2", "short", 2), voiced("p3", "refused"),
            voiced("p2-blocked", "blocked", terms=True)], rows)
    first, _, third, blocked = rows_of(run())
    assert [row.texts[0][1].text for row in (first, third, blocked)] == [
        "Policy p1.", "Policy p3.", "Policy p2-blocked."]
    lines = first.texts[1][1].text.splitlines()
    assert len(lines) == 13 and lines[-1] == "… 1 more"
    assert lines[0] == "0. with agent-99: COORDINATE · Decision: COORDINATE"
    assert third.texts[1][1].text == "1. with agent-99: unreadable · "
    assert len(blocked.texts) == 1 and "served by m-1" in blocked.texts[0][0]
    assert first.cells == ["main", "cvd, symmetry + cue, compliance pressure low", "1", "agent-01",
                           "b1 v1", "benchmark terms", "ok"]
    assert blocked.cells[-2:] == ["–", "blocked"]   # what holds no text has no markers
    spoken([voiced("p1", policy="y" * 20_001)], [decision(policy="p1", text="z" * 20_001)])
    [long] = rows_of(run())
    assert long.texts[0][1].text == "y" * 20_000 and long.texts[1][1].text.count("z") == 20_000


def test_a_study_without_runs_has_a_page_without_trials():
    empty = study.files(OUT, Study([], True, []))
    assert empty.keys() == {"acausal-summary.md", "report.html"}
    assert 'id="trials"' not in empty["report.html"]
