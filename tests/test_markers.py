"""Weak labels, pinned text by text; whether markers predict decisions; what may then be said."""

import json
import math
from pathlib import Path
from unittest.mock import patch

import pytest
from study_rows import decision, plan

from cirrus.judge.rows import read_study
from cirrus.judge.study import analyse
from cirrus.markers.agreement import after_decision, block, may, may_not, rationales, validity
from cirrus.markers.patterns import FAMILIES, marked
from cirrus.markers.ratings import Policy, Rater, items_of, policies_of
from cirrus.reports import study as reports
from common.rng import SeededRandom
from common.verify import find_runs
from show.document import markdown


def families(text):
    return " ".join(family for family, there in marked(text).items() if there)


# --- the weak label ----------------------------------------------------------------------------

TEXTS = [json.loads(line) for line in
         Path(__file__).with_name("data").joinpath("policies.jsonl").open(encoding="utf-8")]


@pytest.mark.parametrize("row", TEXTS, ids=lambda row: row["text"][:40])
def test_a_text_has_the_families_whose_patterns_stand_in_it_outside_a_denial(row):
    """A text for each pattern, several, none, and denials: before it, behind it, of others."""
    assert families(row["text"]) == " ".join(row["families"])


def test_a_long_text_is_read_in_pieces():
    assert families("safe-harbor " * 5_000) == "compliance"


# --- do markers predict decisions? -------------------------------------------------------------

CELL = ("high", "present", "low")


def rows_and_labels(shares, cells=(CELL,), compliance=lambda n: False):
    """Decisions of `shares` = [(acausal, k, n)], one policy each, in every cell."""
    rows, labels = [], {}
    for cell in cells:
        for at, (acausal, k, n) in enumerate(shares):
            agent = f"agent-{at:02d}"
            rows += [decision(cell, int(i < k), agent) for i in range(n)]
            rows = [row._replace(policy=f"{row.run}/r1/{row.agent}") for row in rows]
            labels[f"run-{'.'.join(cell)}/r1/{agent}"] = {
                "acausal": acausal, "compliance": compliance(at)}
    return rows, labels


def log_likelihood(k, n):
    """Of k in n at their own share."""
    return k * math.log(k / n) + (n - k) * math.log(1 - k / n)


def test_the_likelihood_ratio_is_that_of_two_proportions_where_policies_vary_less_than_chance():
    """20 of 32 against 16 of 32, each policy at its group's share: the policies vary less than
    coins do, so their variance is 0 in both models and χ² is the G of a 2×2 table."""
    found = validity(*rows_and_labels([(True, 5, 8)] * 4 + [(False, 4, 8)] * 4))
    g = 2 * (log_likelihood(20, 32) + log_likelihood(16, 32) - log_likelihood(36, 64))
    assert found["acausal"]["chi2"] == pytest.approx(g, rel=1e-4)
    assert found["acausal"]["estimate"] == pytest.approx(math.log(5 / 3), rel=1e-3)
    assert found["acausal"]["df"] == 1 and 0.3 < found["acausal"]["p"] < 0.32
    assert found["left_out"]["cell"] == found["left_out"]["compliance"] == "one level in these data"
    assert found["formula"] == "coop ~ acausal + (1|agent) + (1|policy)"


def test_a_marker_that_only_follows_the_cell_predicts_nothing_beyond_it():
    low = ("low", "absent", "low")
    high, of_high = rows_and_labels([(True, 6, 8)] * 3 + [(False, 6, 8)] * 3)
    rest, of_rest = rows_and_labels([(False, 2, 8)] * 6, cells=(low,))
    found = validity(high + rest, of_high | of_rest)
    assert found["formula"].startswith("coop ~ cell + acausal")
    assert found["acausal"]["p"] > 0.9 and abs(found["acausal"]["estimate"]) < 0.01


@pytest.mark.parametrize("shares, word", [
    ([(False, 3, 8)] * 4, "no policy has the acausal marker"),
    ([(True, 3, 8)] * 4, "every policy has the acausal marker"),
    ([(True, 8, 8)] * 4 + [(False, 2, 8)] * 4, "separation"),
    ([(True, 8, 8)] * 2 + [(False, 8, 8)] * 2, "every coop is 1")])
def test_what_cannot_be_fitted_says_why(shares, word):
    found = validity(*rows_and_labels(shares))
    assert found["acausal"] is None and word in found["why"]
    assert found["separated"] == (word == "separation")


def test_a_rationale_is_what_follows_the_decision_and_is_only_counted():
    assert after_decision("\n Decision: X\nBecause peers\nknow") == "\nBecause peers\nknow"
    rows = [decision(CELL, 1)._replace(text="Decision: COORDINATE\nSafe-harbor needs it."),
            decision(CELL, 0)._replace(text="Decision: PREEMPT by safe-harbor\nNow."),
            decision(CELL, None)._replace(text="safe-harbor\nsafe-harbor")]
    assert rationales(rows)["compliance"] == {
        "COORDINATE": {"k": 1, "n": 1}, "PREEMPT": {"k": 0, "n": 1}}


# --- what may be said --------------------------------------------------------------------------

ACAUSAL = "Teams like us will decide alike, so choose as if for all.\nLog it number {}.\nFile it."
PLAIN = "Publish when engineering is done, day {}.\nLog it.\nTell support."


def study_of(n=60, truthful=True):
    """Policies of one cell, every third acausal, and two raters who see so, or see otherwise."""
    policies = []
    for at in range(n):
        text = (ACAUSAL if at % 3 == 0 else PLAIN).format(at)
        policies.append(Policy(f"run/r1/{at}", "cvd S.high-C.present-H.low", text, marked(text)))
    raters, rng = [], SeededRandom(1)
    for name in ("a", "b"):
        labels = {item: {family: family == "acausal" and ("alike" in own.text) != (
            not truthful and rng.random() < 0.3) for family in FAMILIES}
            for item, own in items_of(policies).items()}
        raters.append(Rater(name, "model", False, True, labels, {"ok": n}, (name,)))
    return policies, raters


def found_of(p, estimate=1.0):
    return lambda rows, labels: {"acausal": {"estimate": estimate, "p": p}, "why": None}


def said(*args):
    """`args`: of `block`, and the model of the marker's validity."""
    *given, model = args
    with patch("cirrus.markers.agreement.validity", model):
        markers = block(*given)
    return list(may(markers)), list(may_not(markers)), markers


def test_a_family_that_two_raters_confirm_enters_claims_and_the_others_do_not():
    policies, raters = study_of()
    yes, no, markers = said(policies, [], raters, False, found_of(0.01))
    assert markers["adjudicated"] == ["acausal"]
    assert markers["status"].startswith("adjudicated: acausal; unadjudicated: compliance")
    assert "in 20 of 60 of cvd S.high-C.present-H.low" in yes[0]
    assert "an association" in yes[1] and len(yes) == 2
    assert len(no) == 4 and all("unadjudicated" in line for line in no)


def test_an_adjudicated_marker_that_predicts_nothing_is_said_too():
    policies, raters = study_of()
    for p, estimate in ((0.2, 1.0), (0.001, -1.0)):
        yes, no, _ = said(policies, [], raters, False, found_of(p, estimate))
        assert len(yes) == 1 and "predict decisions beyond the cell" in no[-1]


@pytest.mark.parametrize("raters", [[], study_of(truthful=False)[1], study_of()[1][:1]])
def test_unadjudicated_markers_enter_no_claim(raters):
    yes, no, markers = said(study_of()[0], [], raters, False, found_of(0.0001))
    assert yes == [] and markers["status"] == "unadjudicated: enters no claim"
    assert len(no) == 1 and no[0].startswith("Anything from markers: they are unadjudicated")


def test_superrational_populations_show_their_marker_in_one_cell_only(tmp_path):
    """The marker is planted in S high with C present; decisions follow the cell, not the marker."""
    folder = plan(tmp_path)
    study = read_study(find_runs([str(folder)]))
    none = {"formula": "", "fit": None, "tests": None, "primary": None, "separated": False,
            "why": "not fitted in this test"}
    with patch("cirrus.judge.study.models", lambda rows: {
            "rows": 0, "left_out": {}, "as_specified": none, "with_policy": none}):
        out = analyse(study)
    for cell, own in out["markers"]["cells"].items():
        assert own["acausal"]["share"] >= 0.5 if "symmetry + cue" in cell else (
            own["acausal"]["share"] <= 0.1)
    assert out["markers"]["validity"]["acausal"]["p"] > 0.01
    assert "Unadjudicated: for description only" in markdown(reports.document(out))
    assert out["markers"]["texts"] == len(items_of(policies_of(study)))
