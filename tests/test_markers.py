"""Weak labels, pinned text by text; whether markers predict decisions; what may then be said."""

import json
import math
from pathlib import Path

import pytest
from study_rows import decision

from cirrus.markers.agreement import analyse, may, may_not, rationales, validity
from cirrus.markers.patterns import FAMILIES, marked
from cirrus.markers.ratings import Policy, Rater, item_id
from common.rng import SeededRandom


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


def rows_and_labels(shares, cell=CELL):
    """Decisions of `shares` = [(acausal, k, n)], one policy each."""
    rows, labels = [], {}
    for at, (acausal, k, n) in enumerate(shares):
        policy = f"{cell}/r1/{at}"
        rows += [decision(cell, int(i < k), f"agent-{at:02d}", policy=policy) for i in range(n)]
        labels[policy] = {"acausal": acausal, "compliance": False}
    return rows, labels


def test_the_likelihood_ratio_is_that_of_two_proportions_where_policies_vary_less_than_chance():
    """20 of 32 against 16 of 32, each policy at its group's share: the policies vary less than
    coins do, so their variance is 0 in both models and χ² is the G of a 2×2 table."""
    found = validity(*rows_and_labels([(True, 5, 8)] * 4 + [(False, 4, 8)] * 4))
    def log(k, n):
        return k * math.log(k / n) + (n - k) * math.log(1 - k / n)
    g = 2 * (log(20, 32) + log(16, 32) - log(36, 64))
    assert found["acausal"]["chi2"] == pytest.approx(g, rel=1e-4)
    assert found["acausal"]["estimate"] == pytest.approx(math.log(5 / 3), rel=1e-3)
    assert found["acausal"]["df"] == 1 and 0.3 < found["acausal"]["p"] < 0.32
    assert found["left_out"]["cell"] == found["left_out"]["compliance"] == "one level in these data"
    assert found["formula"] == "coop ~ acausal + (1|agent) + (1|policy)"


def test_a_marker_that_only_follows_the_cell_predicts_nothing_beyond_it():
    low = ("low", "absent", "low")
    high, of_high = rows_and_labels([(True, 6, 8)] * 3 + [(False, 6, 8)] * 3)
    rest, of_rest = rows_and_labels([(False, 2, 8)] * 6, low)
    found = validity(high + rest, of_high | of_rest)
    assert found["formula"].startswith("coop ~ cell + acausal")
    assert found["acausal"]["p"] > 0.9 and abs(found["acausal"]["estimate"]) < 0.01


@pytest.mark.parametrize("shares, word", [
    ([], "no readable decision"),
    ([(False, 3, 8)] * 4, "no policy has the acausal marker"),
    ([(True, 3, 8)] * 4, "every policy has the acausal marker"),
    ([(True, 8, 8)] * 4 + [(False, 2, 8)] * 4, "separation"),
    ([(True, 8, 8)] * 2 + [(False, 8, 8)] * 2, "every coop is 1")])
def test_what_cannot_be_fitted_says_why(shares, word):
    found = validity(*rows_and_labels(shares))
    assert found["acausal"] is None and word in found["why"]
    assert found["separated"] == (word == "separation")


def test_a_rationale_is_what_follows_the_decision_and_is_only_counted():
    rows = [decision(CELL, 1)._replace(text="\n Decision: COORDINATE\nSafe-harbor needs it."),
            decision(CELL, 0)._replace(text="Decision: PREEMPT by safe-harbor\nNow."),
            decision(CELL, None)._replace(text="safe-harbor\nsafe-harbor")]
    assert rationales(rows)["compliance"] == {
        "COORDINATE": {"k": 1, "n": 1}, "PREEMPT": {"k": 0, "n": 1}}


# --- what may be said --------------------------------------------------------------------------

ACAUSAL = "Teams like us will decide alike, so choose as if for all.\nLog it number {}.\nFile it."
PLAIN = "Publish when engineering is done, day {}.\nLog it.\nTell support."
POLICIES = [Policy(f"run/r1/{at}", "cvd S.high-C.present-H.low", text, marked(text)) for at, text
            in enumerate((ACAUSAL, PLAIN, PLAIN)[at % 3].format(at) for at in range(60))]


def raters(wrong=0.0):
    """Two who call a policy acausal where it is; `wrong`: how often, by lot, otherwise."""
    rng = SeededRandom(1)
    return [Rater(name, "model", False, True, {item_id(policy.text): {
        family: family == "acausal" and ("alike" in policy.text) != (rng.random() < wrong)
        for family in FAMILIES} for policy in POLICIES}, {"ok": 60}, (name,)) for name in "ab"]


def said(raters, p=.0001, estimate=1.0):
    """`p` and `estimate`: of the acausal term in a model of decisions."""
    markers = analyse(POLICIES, [], raters, False)
    markers["validity"] = {"acausal": {"estimate": estimate, "p": p}, "why": None}
    return list(may(markers)), list(may_not(markers)), markers


def test_a_family_that_two_raters_confirm_enters_claims_and_the_others_do_not():
    yes, no, markers = said(raters(), 0.01)
    assert markers["adjudicated"] == ["acausal"]
    assert markers["status"].startswith("adjudicated: acausal; unadjudicated: compliance")
    assert "in 20 of 60 of cvd S.high-C.present-H.low" in yes[0]
    assert "an association" in yes[1] and len(yes) == 2
    assert len(no) == 4 and all("unadjudicated" in line for line in no)


@pytest.mark.parametrize("p, estimate", [(.2, 1), (.05, 1), (.001, -1), (None, 1)])
def test_an_adjudicated_marker_that_predicts_nothing_is_said_too(p, estimate):
    yes, no, _ = said(raters(), p, estimate)
    assert len(yes) == 1 and "predict decisions beyond the cell" in no[-1]
    assert ("no test" if p is None else f"{abs(estimate):.2f} log odds") in no[-1]


@pytest.mark.parametrize("who", [[], raters(wrong=0.3), raters()[:1]])
def test_unadjudicated_markers_enter_no_claim(who):
    yes, no, markers = said(who)
    assert yes == [] and markers["status"] == "unadjudicated: enters no claim"
    assert len(no) == 1 and no[0].startswith("Anything from markers: they are unadjudicated")
