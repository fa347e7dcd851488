"""Weak labels: do raters agree on them, do they predict decisions, and what may be claimed?"""

import json
import math
from pathlib import Path

import pytest
from study_rows import decision

from cirrus.markers import agreement as m
from cirrus.markers.patterns import FAMILIES, marked
from cirrus.markers.ratings import Policy, Rater, item_id

# --- the weak label ----------------------------------------------------------------------------


def held_out():
    path = Path(__file__).with_name("data") / "policies-held-out.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("family", ["acausal", "compliance", "utilitarian"])
def test_patterns_find_half_of_what_a_reader_of_the_codebook_calls_so(family):
    """120 policies by another author, labelled before any pattern was run on them."""
    called = found = right = 0
    for row in held_out():
        hit, labelled = marked(row["text"])[family], row["labels"][family]
        called += labelled
        found += hit
        right += hit and labelled
    assert right / called >= 1 / 2
    assert right / found >= 0.85


@pytest.mark.parametrize(
    "text",
    ["agents like us will reach the same decision", "policy should match peers"],
)
def test_the_specifications_own_two_sentences_are_found(text):
    assert marked(text)["acausal"]


@pytest.mark.parametrize(
    "text",
    [
        "We do not assume that teams like us will reach the same decision.",
        "Most desks coordinate as is usual in the sector, and so we decide the same.",
        "Keep the agreed date.\nLog it.\nTell support.",
    ],
)
def test_denial_conformity_and_an_agreed_date_are_no_inference_from_likeness(text):
    assert not marked(text)["acausal"]


# --- agreement ---------------------------------------------------------------------------------


def table(both, first, second, neither):
    rows = [(True, True)] * both + [(True, False)] * first
    return rows + [(False, True)] * second + [(False, False)] * neither


def test_agreement_of_a_pair_by_hand():
    """40 both, 9 the first alone, 6 the second alone, 45 neither: observed 0.85; π = (49 + 46)/200
    = 0.475, chance 2π(1−π) = 0.49875; AC1 = 0.35125/0.50125; positive 80/95."""
    result = m.pair("a", "b", table(40, 9, 6, 45))
    assert result["ac1"]["value"] == pytest.approx(0.35125 / 0.50125)
    assert result["positive"]["value"] == pytest.approx(80 / 95)
    assert result["n"] == 100
    assert (result["either"], result["both"]) == (55, 40)
    assert result["reached"] is False  # 0.70


REACHED = [
    (table(0, 30, 30, 40), False, None),
    (table(9, 0, 0, 10), None, "19 policy texts labelled by both; 20 are needed"),
    (table(4, 0, 0, 96), True, None),
    # AC1 by hand: observed .9 and .8, chance 2 × .5 × .5: .8 and .6
    (table(45, 5, 5, 45), True, None),
    (table(40, 10, 10, 40), False, None),
]


@pytest.mark.parametrize("rows, reached, why", REACHED)
def test_a_pair_reaches_the_bar_misses_it_or_cannot_tell(rows, reached, why):
    result = m.pair("a", "b", rows)
    assert (result["reached"], result["why"]) == (reached, why)


ACAUSAL = "Teams like us will decide alike, so choose as if for all.\nLog it number {}.\nFile it."
PLAIN = "Publish when engineering is done, day {}.\nLog it.\nTell support."


def written(at):
    """Every third policy is acausal."""
    text = (ACAUSAL if at % 3 == 0 else PLAIN).format(at)
    return Policy(f"run/r1/{at}", "cvd S.high-C.present-H.low", text, marked(text))


POLICIES = list(map(written, range(60)))
WEAK = {item_id(policy.text): policy.weak for policy in POLICIES}


def rater(name, wrong=(), **more):
    """Calls a policy acausal where it is, otherwise where its place is in `wrong`."""
    labels = {}
    for at, policy in enumerate(POLICIES):
        called = dict.fromkeys(FAMILIES, False)
        called["acausal"] = (at % 3 == 0) != (at in wrong)
        labels[item_id(policy.text)] = called
    made = Rater(name, "model", False, True, labels, {"ok": 60}, (name,))
    return made._replace(**more)


A, B = rater("a"), rater("b")
SIMULATED = [rater(name, simulated=True) for name in "ab"]
ONE = [rater(name, served=("x",)) for name in "ab"]
APART = [rater("a", range(9)), rater("b", range(9, 18))]


# raters, whether a family is adjudicated, and why not
ADJUDICATE = [
    ([A, B], True, []),
    ([A, B, rater("anna", range(60), kind="person")], False, ["anna"]),  # every pair
    (APART, False, ["0.75 is needed", "a and b"]),
    ([], None, ["nobody has rated"]),
    ([A], None, ["only rater"]),
    (SIMULATED, None, ["simulated raters say nothing"]),
    ([A, rater("b", done=False)], None, ["unfinished"]),
    (ONE, None, ["one rater, not two"]),
]


@pytest.mark.parametrize("raters, adjudicated, words", ADJUDICATE)
def test_who_may_adjudicate_and_who_does(raters, adjudicated, words):
    result = m.agreement(WEAK, raters, False)["acausal"]
    assert result["adjudicated"] is adjudicated
    assert (result["why"] is None) is (words == [])
    for word in words:
        assert word in result["why"]
    if adjudicated:
        lowest = min(pair["ac1"]["value"] for pair in result["pairs"])
        assert result["lowest"] == lowest >= 0.75


# --- do markers predict decisions? -------------------------------------------------------------

CELL = ("high", "present", "low")


def rows_and_labels(shares, cell=CELL):
    """Decisions of `shares` = [(acausal, k, n)], one policy each."""
    rows, labels = [], {}
    for at, (acausal, k, n) in enumerate(shares):
        policy = f"{cell}/r1/{at}"
        for i in range(n):
            act = int(i < k)
            rows.append(decision(cell, act, f"agent-{at:02d}", policy=policy))
        labels[policy] = {"acausal": acausal, "compliance": False}
    return rows, labels


def likelihood(k, n):
    return k * math.log(k / n) + (n - k) * math.log(1 - k / n)


def test_the_likelihood_ratio_is_that_of_two_proportions_where_policies_vary_less_than_chance():
    """20 of 32 against 16 of 32, each policy at its group's share: the policies vary less than
    coins do, so their variance is 0 in both models and χ² is the G of a 2×2 table."""
    result = m.validity(*rows_and_labels([(True, 5, 8)] * 4 + [(False, 4, 8)] * 4))
    g = 2 * (likelihood(20, 32) + likelihood(16, 32) - likelihood(36, 64))
    acausal = result["acausal"]
    assert acausal["chi2"] == pytest.approx(g, rel=1e-4)
    assert acausal["estimate"] == pytest.approx(math.log(5 / 3), rel=1e-3)
    assert acausal["df"] == 1 and 0.3 < acausal["p"] < 0.32
    assert result["left_out"]["cell"] == "one level in these data"
    # Each of these agents has one policy.
    assert result["formula"] == "coop ~ acausal + (1|agent)"


NOT_FITTED = [
    ([], "no readable decision"),
    ([(False, 3, 8)] * 4, "no policy has the acausal marker"),
    ([(True, 3, 8)] * 4, "every policy has the acausal marker"),
    ([(True, 8, 8)] * 4 + [(False, 2, 8)] * 4, "separation"),
]


@pytest.mark.parametrize("shares, word", NOT_FITTED)
def test_what_cannot_be_fitted_says_why(shares, word):
    result = m.validity(*rows_and_labels(shares))
    assert result["acausal"] is None and word in result["why"]
    assert result["separated"] == (word == "separation")


def test_a_rationale_is_what_follows_the_decision_and_is_only_counted():
    texts = {
        1: "\n Decision: COORDINATE\nSafe-harbor needs it.",
        0: "Decision: PREEMPT by safe-harbor\nNow.",
        None: "safe-harbor\nsafe-harbor",
    }
    rows = [decision(CELL, act, text=text) for act, text in texts.items()]
    found = m.rationales(rows)["compliance"]
    assert found["COORDINATE"] == {"k": 1, "n": 1}
    assert found["PREEMPT"] == {"k": 0, "n": 1}


# --- what may be claimed -----------------------------------------------------------------------


def claims(raters, p=0.01, estimate=1.0):
    """`p` and `estimate`: of the acausal term in a model of decisions."""
    markers = m.analyse(POLICIES, [], raters, False)
    markers["validity"] |= {"acausal": {"estimate": estimate, "p": p}, "why": None}
    return list(m.may(markers)), list(m.may_not(markers)), markers


def test_a_family_that_two_raters_confirm_enters_claims_and_the_others_do_not():
    [read, predicts], no, markers = claims([A, B])
    told = "raters' consensus: acausal; by patterns only: compliance"
    assert markers["status"].startswith(told)
    assert "in 20 of 60 of cvd S.high-C.present-H.low" in read
    assert "an association" in predicts
    assert ["by patterns only" in line for line in no] == [True] * 4


@pytest.mark.parametrize("p, estimate", [(0.05, 1), (0.001, -1), (None, 1)])
def test_an_adjudicated_marker_that_predicts_nothing_is_listed_too(p, estimate):
    yes, no, _ = claims([A, B], p, estimate)
    assert len(yes) == 1 and "predict decisions beyond the cell" in no[-1]
    figure = "no test" if p is None else f"{abs(estimate):.2f} log odds"
    assert figure in no[-1]


@pytest.mark.parametrize("raters", [[], [A], [rater("a", range(18)), B]])
def test_unadjudicated_markers_enter_no_claim(raters):
    yes, [no], markers = claims(raters)
    assert yes == [] and markers["status"] == "by patterns only: enters no claim"
    assert no.startswith("Anything from markers: they are by patterns only")


# --- the consensus is the label ----------------------------------------------------------------


def test_consensus_counts_in_shares_and_what_has_none_is_counted_apart():
    """Sixty policies, every third acausal. The raters call 20 so but for one that they disagree on
    and one that the second has not rated: 18 of 58; the patterns find what they find."""
    second, unrated = rater("b", [3]), item_id(POLICIES[6].text)
    del second.labels[unrated]
    markers = m.analyse(POLICIES, [], [A, second], False)
    held = markers["cells"]["cvd S.high-C.present-H.low"]["acausal"]
    assert (held["k"], held["n"], held["disagree"], held["unrated"]) == (18, 58, 1, 1)
    assert markers["source"]["acausal"] == "consensus"
    agreed = m.labels_of([A, second], markers["adjudicated"])

    def label(at):
        return agreed[item_id(POLICIES[at].text)]["acausal"]

    assert label(0) is True and label(1) is False
    assert label(3) is None is label(6)
    found = sum(POLICIES[at].weak["acausal"] for at in (0, *range(9, 60, 3)))
    recall = markers["weak"]["acausal"]["recall"]
    assert (recall["k"], recall["n"]) == (found, 18)
