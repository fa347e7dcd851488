"""What reports say of an analysis: the committed ones, and small ones line by line."""

import json
import re

import pytest
from conftest import ROOT
from test_claims import part
from test_pilot_figures import PLANTED, analysed, row, rows

from cirrus.judge.effects import HP, LA, NAMES
from cirrus.reports import mechanism, pilot, study
from common.artifacts import canonical_json
from show.document import markdown

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
    """All but the quotes, which are read from the runs."""
    folder = EXAMPLES / "confirmatory"
    out = json.loads((folder / "acausal-analysis.json").read_text("utf-8"))
    committed = (folder / "acausal-summary.md").read_text("utf-8")
    before, _, rest = committed.partition("### In their own words")
    assert markdown(study.document(out)) == before + rest[rest.index("## Runs and cost"):]


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
     "m was served by 2 providers (p, q)", True)])
def test_a_pilot_s_page_names_what_stands_against_it(more, provider, words, there):
    assert (words in page(*more, provider=provider)) is there


def test_where_nothing_is_missing_nothing_is_filled_in():
    planted = {cell: [[1, 0]] * 6 for cell in PLANTED}
    out = json.loads(canonical_json(analysed(rows(planted))))
    assert not any("filled in" in line for line in pilot.quality(out))


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
    (trial(HP, 1, text=""), "no text (ok)"), (trial(HP, 1, text="y" * pilot.SHOWN), "yyy"),
    (trial(HP, 1, text="y" * (pilot.SHOWN + 1)), "… 1 more characters in trials.jsonl.gz"),
    (trial(HP, 1, decision=None, text="] so", mass=.5, p_cooperate=.4, p_other=.1, echoed=.25,
           opened="Decision: [") | {"cooperates": .8},
     "cooperative label 40.00%, other 10.00%, copies on 25.00%; share of the cooperative one 80")])
def test_an_answer_is_shown_as_it_came(one, words):
    [fold] = pilot.texts([one], {}).folds
    shown = str(fold.parts[0])
    assert words in shown and ("more characters" in shown) is (len(one["text"]) > pilot.SHOWN)
    assert ("Decision: [] so" in shown) is ("mass" in one)


@pytest.mark.parametrize("share, outcome, kind", [
    (.51, "mostly cooperative", "cooperate"), (.49, "mostly the other", "defect"),
    (None, "refused", "maybe")])
def test_a_share_leans_to_one_side(share, outcome, kind):
    [fold] = pilot.texts([trial(HP, 1, decision=None, p_cooperate=.3) | {"cooperates": share}],
                         {}).folds
    assert tuple(fold.title[0]) == (outcome, kind)


def test_of_a_mechanism_study_the_first_block_of_a_bulletin_is_shown():
    listed = [trial(cell, run) | {"bulletin": bulletin, "cell": name} for run in (2, 1)
              for bulletin in ("b2", "b1") for name, cell in (("UN", HP), ("HP", HP), ("LA", LA))]
    texts = pilot.texts(listed, {})
    assert [fold.keys[1] for fold in texts.folds] == ["HP", "LA", "UN"] * 2
    assert ["· b1 v" in str(fold.title) for fold in texts.folds] == [True] * 3 + [False] * 3
    assert texts.choices["cell"] == ["HP", "LA", "UN"] and "first block" in texts.title


# --- a mechanism study -------------------------------------------------------------------------

@pytest.mark.parametrize("change, key, excluded", [
    ({}, "HP-RV", True), ({"HP_RV": {"low": 0.0}}, "HP-RV", False),
    ({"HP_RV": {"bounds": {"lowest": 0.0}}}, "HP-RV", False),
    ({"HP_LA": {"value": .09}}, "HP-LA", False), ({}, "interaction", True),
    ({"log_odds": {"low": 0.0}}, "interaction", False),
    ({"log_odds": {"bounds": {"lowest": 0.0}}}, "interaction", False),
    ({"lacks": ["scale"]}, "interaction", False), ({"lacks": ["scale"]}, "HP-UN", True)])
def test_a_rival_is_shown_as_excluded_where_its_contrast_holds_at_worst(change, key, excluded):
    assert mechanism._excluded(part(**change), key) is excluded


FOUND = {"HP-KC": True, "payoffs": True, "beliefs": True, "marginal": True, "influence": True}


@pytest.mark.parametrize("lacks, further, words", [
    ([], FOUND, "–"), ([], {"HP-KC": True}, "probes"), ([], FOUND | {"HP-KC": False}, "kindness"),
    (["interaction", "log-odds", "scale"], FOUND, "adding up"),
    (["HP-RV", "labels"], FOUND | {"beliefs": False, "influence": False},
     "length or tone, labels, probes")])
def test_what_keeps_a_model_from_the_highest_word_is_named_once(lacks, further, words):
    assert mechanism._lacks(part(lacks=lacks) | {"further": further}) == words


@pytest.mark.parametrize("key, lacks, tag", [
    ("HP-LP", [], "yes"), ("HP-LP", ["HP-LP"], "no"), ("log-odds", ["log-odds"], "no"),
    ("LA-UL", [], "yes"), ("LA-UL", ["scale"], "no"), ("HP-KC", [], "yes"),
    ("HP-HA", [], "reported"), ("HP-PL", [], "reported")])
def test_each_line_says_whether_it_holds(key, lacks, tag):
    assert mechanism._holds(part(lacks=lacks) | {"further": FOUND}, key).words == tag
    assert mechanism._holds(part() | {"further": FOUND | {"HP-KC": False}}, "HP-KC").words == "no"


def test_bulletins_that_most_models_misread_are_named_in_order():
    def probed(read, misread):
        return {"probes": {"payoffs": {"read": list(read), "misread": list(misread)}}}
    parts = {"m": probed("ab", "xywcd"), "n": probed("ac", "xywbd"), "o": {"probes": {
        "payoffs": None}}}
    assert mechanism._misread(parts) == ["d", "w", "x", "y"]
    assert mechanism._misread({"o": parts["o"]}) == []
