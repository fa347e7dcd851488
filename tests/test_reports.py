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


def test_a_policy_is_a_fold_with_the_decisions_that_rest_on_it(spoken):
    rows = [decision(policy="p1", text="Decision:\n COORDINATE", encounter=at) for at in range(13)]
    rows += [decision(policy="p2", round=2), decision(policy="p3", cooperates=None, text="")]
    spoken([voiced("p1", terms=True), voiced("p2", "short", 2), voiced("p3", "refused"),
            voiced("p2-blocked", "blocked", terms=True)], rows)
    first, *rest = list(study._folds(run(), 1))
    assert [fold.parts[0].text for fold in (first, *rest)] == [
        "Policy p1.", "Policy p3.", "Policy p2-blocked."]
    lines = first.parts[1].parts[0].text.splitlines()
    assert len(lines) == 13 and lines[-1] == "… 1 more"
    assert lines[0] == "0. with agent-99: COORDINATE · Decision: COORDINATE"
    assert rest[0].parts[1].parts[0].text == "1. with agent-99: unreadable · "
    assert [tuple(fold.title[0]) for fold in (first, *rest)] == [
        ("ok", "yes"), ("refused", "maybe"), ("blocked", "maybe")]
    assert len(rest[1].parts) == 2 and "served by m-1" in str(rest[1].parts[-1])
    assert first.keys == ["main", "cvd, symmetry + cue, compliance pressure low", "agent-01"]
    assert first.title[2].words == "· b1 v1 · benchmark terms"
    assert rest[1].title[2].words == "· b1 v1"   # what holds no text has no markers
    assert len(list(study._folds(run(), 2))) == 4
    spoken([voiced("p1", policy="y" * 20_001)], [decision(policy="p1", text="z" * 20_001)])
    [long] = study._folds(run(), 1)
    assert long.parts[0].text == "y" * 20_000 and long.parts[1].parts[0].text.count("z") == 20_000


def test_the_texts_can_be_chosen_by_role_cell_and_agent(spoken):
    spoken([voiced("p1")])
    runs = [run("a", agents=2), run("b", role="holdout", agents=11)]
    texts = study._texts(Study(runs, True, []))
    assert texts.choices["role"] == ["main", "holdout"] and len(texts.folds) == 2
    assert texts.choices["agent"][-1] == "agent-11" and "too many" not in texts.note
    empty = study.files(OUT, Study([], True, []))
    assert empty.keys() >= {"acausal-summary.md", "report.html"}
    assert study._texts(Study([], True, [])).choices["agent"] == []
