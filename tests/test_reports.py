"""What reports say of an analysis: the committed ones, and small ones line by line."""

import json
import re

import pytest
from conftest import ROOT
from study_rows import decision
from test_pilot_figures import analysed, row, rows
from test_study import run

from cirrus.judge.effects import HP, LA, NAMES
from cirrus.judge.rows import Study, read_study
from cirrus.reports import pilot, study
from common.artifacts import canonical_json
from common.verify import find_runs
from show.document import Tag, markdown

EXAMPLES = ROOT / "results" / "examples"


def lines(page):
    """All but the foot, which names hashes of other files."""
    return page.rstrip("\n").split("\n")[:-1]


@pytest.mark.parametrize("name", [path.parent.name for path in sorted(
    EXAMPLES.glob("*/pilot-summary.md"))])
def test_a_committed_page_says_what_its_committed_analysis_holds(name):
    made = markdown(pilot.read(EXAMPLES / name / "pilot-analysis.json"))
    assert lines(made) == lines((EXAMPLES / name / "pilot-summary.md").read_text("utf-8"))


def test_the_committed_page_of_a_tournament_says_what_its_analysis_holds():
    folder = EXAMPLES / "confirmatory"
    made = study.files(OUT, read_study(find_runs([str(folder)])))["acausal-summary.md"]
    assert made == (folder / "acausal-summary.md").read_text("utf-8")


# --- a small pilot -----------------------------------------------------------------------------

def page(*more, provider="simulated", **config):
    out = analysed([*rows(), *more], tells="standard", **config)
    out |= {"simulated": provider == "simulated"}
    return markdown(pilot.document(json.loads(canonical_json(out)), {"design": "d" * 64}))


def test_a_pilot_s_page_says_its_figures():
    """By hand in test_pilot_figures.py."""
    said = page()
    assert re.search(r"^symmetry low · cue absent .* 0%  \(0 to 26\)  0/11$", said, re.M)
    assert re.search(r"^S high · C present .* 91%  \(\d+ to 100\)  10/11$", said, re.M)
    for line in (
            "| cell | ok | unreadable |", "| S.high-C.present | 11 | 2 |",
            "| S.low-C.absent | 11 | 1 |", "m: 22 cooperative, 24 other act, 3 no decision",
            "- Missing decisions filled in: all cooperative +83.3 points, none cooperative +80.6 "
            "points; worst cases +72.2 points to +91.7 points for the primary difference.",
            "- Cooperation by label scheme: L1 12/23, L2 10/23.",
            "- The option that stands first was taken in 24 of 46 decisions: 52% (38 to 66).",
            "### m primary difference +91.7 points", "- Cost of the answers: $24.50."):
        assert line in said.splitlines()
    assert "49 one-shot decisions of 1 respondent on 6 bulletins" in said
    assert "design dddddddddddd ·" in said


@pytest.mark.parametrize("more, provider, words, there", [
    ([], "simulated", "SIMULATED: no model was asked", True), ([], "http://x", "SIMULATED", False),
    ([], "http://x", "49 one-shot decisions of 1 model on 6 bulletins", True),
    ([], "http://x", "INCOMPLETE", False), ([], "http://x", "was served by", False),
    ([row(HP, 0, 0, None, status="not_run", text="")], "http://x",
     "INCOMPLETE: 1 of 50 trials have no answer yet.", True),
    ([row(HP, 0, 0, 1, served_model="m-0", provider="p")], "http://x",
     "m was served by 2 models (m-0, m-1): they are not told apart here.", True),
    ([row(HP, 0, 0, 1, provider="p")], "http://x", "was served by", False),
    ([row(HP, 0, 0, 1, provider=name) for name in "pq"], "http://x",
     "m was served by 2 providers (p, q)", True),
    ([row(HP, 0, 0, 1, provider=name) for name in ("a\n# b", "<img>")], "http://x",
     "m was served by 2 providers (&lt;img>, a # b)", True)])
def test_a_pilot_s_page_names_what_stands_against_it(more, provider, words, there):
    assert (words in page(*more, provider=provider)) is there


def trial(cell, run, model="m", decision="COORDINATE", text="x", **more):
    y = {"COORDINATE": 1, "PREEMPT": 0}.get(decision)
    return row(cell, run, 0, y, model=model, decision=decision, text=text, run=run, **{
        "id": f"{model}/{run}", "status": "ok" if decision else "refused"} | more)


def test_every_trial_is_a_fold_by_model_run_and_cell_with_prompt_and_answer():
    listed = [trial(LA, 1, "b"), trial(HP, 2, "a", None), trial(LA, 1, "a", "PREEMPT"),
              trial(HP, 1, "a")]
    texts = pilot.texts(listed, {"a/2": ("Be brief.", "Decide.")})
    assert [fold.keys for fold in texts.folds] == [
        ["b", NAMES[LA], "COORDINATE"], ["a", NAMES[HP], "COORDINATE"],
        ["a", NAMES[LA], "PREEMPT"], ["a", NAMES[HP], "refused"]]
    assert texts.choices == {"model": ["b", "a"], "cell": [NAMES[HP], NAMES[LA]],
                             "outcome": ["COORDINATE", "PREEMPT", "refused"]}
    assert [fold.title[0] for fold in texts.folds] == [
        ("COORDINATE", "cooperate"), ("COORDINATE", "cooperate"), ("PREEMPT", "defect"),
        ("refused", "maybe")]
    last = texts.folds[3].parts
    assert [part.title for part in last[:-1]] == ["Answer", "System prompt", "Prompt"]
    assert [part.parts[0].text for part in last[1:-1]] == ["Be brief.", "Decide."]
    assert "a/2 · served by m-1" in str(last[-1]) and len(texts.folds[0].parts) == 2


@pytest.mark.parametrize("one, words", [
    (trial(HP, 1, text=""), "no text (ok)"), (trial(HP, 1, text="y" * 20_000), "yyy"),
    (trial(HP, 1, text="y" * 20_001), "… 1 more characters in trials.jsonl.gz")])
def test_an_answer_is_shown_as_it_came(one, words):
    [fold] = pilot.texts([one], {}).folds
    shown = str(fold.parts[0])
    assert words in shown and ("more characters" in shown) is (len(one["text"]) == 20_001)


# --- a mechanism study -------------------------------------------------------------------------


def test_bulletins_that_most_models_misread_are_named_in_order():
    def probed(misread):
        return {"probes": {"payoffs": {"misread": list(misread)}}}
    parts = {"m": probed("xywcd"), "n": probed("xywbd"), "o": {"probes": {}}}
    assert pilot._misread(parts) == ["d", "w", "x", "y"]
    assert pilot._misread({"o": parts["o"]}) == []
    third = parts | {"p": probed("xywbcd")}   # one reader of three is fewer than half
    assert pilot._misread(third) == ["b", "c", "d", "w", "x", "y"]


# --- a tournament ------------------------------------------------------------------------------

OUT = json.loads((EXAMPLES / "confirmatory" / "acausal-analysis.json").read_text("utf-8"))


def test_what_is_left_out_of_the_models_is_named_in_order_and_why_there_is_none():
    none = {"formula": "f", "tests": None, "primary": None, "why": "one row"}
    model = {"left_out": {"seed": "one", "domain": "two"}, "as_specified": none,
             "with_policy": none}
    text = markdown(study.document(OUT | {"primary": OUT["primary"] | {"model": model}}))
    assert "Left out of the models: domain (two); seed (one)." in text
    assert "no test (one row)" in text


def test_runs_that_are_unfinished_are_named_first_and_points_are_hollow_where_symmetry_is_low():
    first, *rest = OUT["runs"]
    stamps = study.document(OUT | {"runs": [first | {"state": "stopped"}, *rest]}).stamps
    assert stamps == [*study.document(OUT).stamps, f"INCOMPLETE: {first['run']}."]
    assert [study._point(cell).hollow for cell in study._cells(OUT)] == [False] * 4 + [True] * 4


def test_a_tripwire_that_rings_stands_in_the_gist():
    wires = [{"tripped": state, "title": f"T{state}", "figure": "9 of 10"}
             for state in (False, True, None)]
    last = list(study._gist(OUT | {"tripwires": wires}))[-1]
    assert (last.name, last.rows) == ("tripped", [[Tag("TRIPPED", "no"), "TTrue", "9 of 10"]])
    assert "tripped" not in [getattr(block, "name", "") for block in study._gist(
        OUT | {"tripwires": wires[::2]})]


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
    assert first.keys == ["main", "cvd S high, C present, H low", "agent-01"]
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
