"""Labelling functions and weak labels: on texts labelled by hand, by hand-computed moments, and on
populations that write a marker in known cells."""

import json
import math
import random
import re
from itertools import product
from pathlib import Path

import pytest
from conftest import ROOT

from cirrus.ask import respondents
from cirrus.ask.prompts import Condition
from cirrus.markers.acausal import LIKELY, chance
from cirrus.markers.labels import (
    FAMILIES,
    KINDS,
    READINGS,
    USUAL,
    fit,
    label,
    labels,
    majority,
    votes,
    weigh,
)

# 40 policies with the families that the codebook's definitions give them, labelled by hand; the
# word lists were fitted to the first 24 and not to the last 16.
TEXTS = json.loads((Path(__file__).parent / "marker_texts.json").read_text(encoding="utf-8"))


def cast(family, text):
    return dict(zip(KINDS, votes(text)[family], strict=True))


# --- single functions --------------------------------------------------------------------------

def test_a_codebook_pattern_is_present_unless_it_is_denied():
    assert cast("compliance", "Safe-harbor decides.")["patterns"] == 1
    for denied in ("We decide regardless of safe-harbor.", "Safe-harbor is not a factor here.",
                   "Never let safe harbour settle it."):
        assert cast("compliance", denied)["patterns"] != 1
        assert cast("compliance", denied)["denial"] == -1


def test_a_denial_of_something_else_denies_nothing():
    text = "Do not wait for engineering to finish the second soak; safe-harbor decides."
    assert cast("compliance", text)["patterns"] == 1
    assert cast("compliance", text)["denial"] == 0


def test_a_denial_votes_only_where_every_mention_is_denied():
    text = "We do not assume that peers decide alike. Still, teams like us reach the same view."
    assert cast("acausal", text)["denial"] == 0


def test_ideas_must_meet_in_one_sentence():
    together = "Peers will come to an identical conclusion."
    apart = "Peers were informed. The builds are identical. Our conclusion is on file."
    assert cast("acausal", together)["ideas"] == 1
    assert cast("acausal", apart)["ideas"] == -1


def test_a_text_without_a_word_of_the_subject_is_absent_to_form_and_patterns():
    cast_ = cast("compliance", "Publish at noon.")
    assert cast_["form"] == cast_["patterns"] == cast_["lexicon"] == -1


@pytest.mark.parametrize("family", FAMILIES)
def test_every_example_of_the_codebook_is_like_itself(family):
    for example in READINGS[family].examples:
        assert cast(family, example)["likeness"] == 1
        assert label(fit([example]), family, example) is True


def test_a_policy_without_words_has_no_marker():
    for empty in ("", "\n\n", "...", "\0"):
        assert all(vote <= 0 for own in votes(empty).values() for vote in own)


# --- weights -----------------------------------------------------------------------------------

def test_accuracy_is_that_of_the_triplet_by_hand():
    """Moments of three functions over 40 texts: M12 = 0.6, M13 = 0.4, M23 = 0.3; so
    a1 = √(0.6·0.4/0.3) = √0.8, a2 = √(0.6·0.3/0.4) = √0.45, a3 = √(0.4·0.3/0.6) = √0.2."""
    pairs = [(1, 1)] * 23 + [(1, -1)] * 9 + [(-1, 1)] * 5 + [(-1, -1)] * 3
    rows = [(1, a, b) for a, b in pairs]
    found = weigh(rows, ("x", "y", "z"))
    assert [found[name].accuracy for name in "xyz"] == pytest.approx(
        [math.sqrt(0.8), math.sqrt(0.45), math.sqrt(0.2)])
    assert found["x"].weight == pytest.approx(math.atanh(math.sqrt(0.8)))
    assert (found["y"].present, found["y"].absent, found["y"].no_opinion) == (32, 8, 0)


def test_known_accuracies_are_recovered_from_votes_alone():
    """Functions that err independently, right in 90, 80, 75 and 70 of 100; one abstains often."""
    rng, right = random.Random(5), (0.9, 0.8, 0.75, 0.7)
    rows = []
    for _ in range(20_000):
        truth = rng.choice((1, -1))
        row = [truth if rng.random() < p else -truth for p in right]
        rows.append((*row[:3], row[3] if rng.random() < 0.4 else 0))
    found = weigh(rows, "abcd")
    assert [(1 + found[name].accuracy) / 2 for name in "abcd"] == pytest.approx(right, abs=0.02)


def test_too_few_shared_texts_leave_the_usual_accuracy_and_say_so():
    found = weigh([(1, 1, 1)] * 9, "abc")
    assert all(own.accuracy == USUAL and "assumed" in own.why for own in found.values())
    assert weigh([(1, 1, 1)] * 10, "abc")["a"].why is None


def test_the_heavier_side_wins_and_a_tie_is_no_label():
    assert majority((1, -1, -1), (2.0, 0.5, 0.5)) is True
    assert majority((1, -1, -1), (0.9, 0.5, 0.5)) is False
    assert majority((1, -1, 0), (0.5, 0.5, 9.0)) is None
    assert majority((0, 0, 0), (1.0, 1.0, 1.0)) is None


def test_order_and_repetition_of_texts_do_not_move_the_labels():
    texts = [row["text"] for row in TEXTS]
    once, turned = fit(texts), fit(texts[::-1])
    assert once == turned


# --- labelled by hand --------------------------------------------------------------------------

@pytest.mark.parametrize("held_out", [False, True])
def test_weak_labels_agree_with_labels_by_hand(held_out):
    rows = [row for row in TEXTS if row["held_out"] == held_out]
    weights = fit(row["text"] for row in rows)
    found = [(family in row["present"], label(weights, family, row["text"]))
             for row, family in product(rows, FAMILIES)]
    right = sum(truth is said for truth, said in found)
    wrong = sum(said is not None and truth is not said for truth, said in found)
    assert right / len(found) >= 0.95 and wrong / len(found) <= 0.02


def test_a_policy_that_speaks_of_peers_to_deny_it_is_not_acausal_by_most_votes():
    text = "Others may well decide differently from us, and we plan for that."
    assert label(fit(row["text"] for row in TEXTS), "acausal", text) is False


# --- planted -----------------------------------------------------------------------------------

def written(population, n=12):
    """(condition, policy) of simulated agents over all cells."""
    cells = [Condition(*cell) for cell in product(("high", "low"), ("present", "absent"),
                                                  ("high", "low"))]
    return [(cell, respondents.write(population, cell, random.Random(f"{population}{cell}{i}")))
            for cell in cells for i in range(n)]


@pytest.mark.parametrize("population, family, bank, where", [
    ("superrational", "acausal", respondents.ACAUSAL, lambda c: c.S == "high" and c.C == "present"),
    ("compliance", "compliance", respondents.COMPLIANCE, lambda c: c.H == "high"),
    ("reciprocal", "reciprocity", respondents.RECIPROCITY, lambda c: True)])
def test_what_a_population_writes_is_found_where_it_writes_it(population, family, bank, where):
    rows = written(population)
    weights = fit(text for _, text in rows)
    planted = [text for _, text in rows if any(sentence in text for sentence in bank)]
    assert len(planted) >= 10 and all(where(cell) for cell, text in rows if text in planted)
    found = [label(weights, family, text) for text in planted]
    assert found.count(True) / len(found) >= 0.8


def test_a_population_without_a_marker_has_next_to_none():
    rows = written("coin")
    weights = fit(text for _, text in rows)
    found = [labels(weights, text) for _, text in rows]
    for family in ("acausal", "benchmark_terms", "reciprocity"):
        assert sum(own[family] is True for own in found) <= 0.03 * len(found)


# --- the acausal family in three registers -----------------------------------------------------

REGISTERS = json.loads((Path(__file__).parent / "acausal_texts.json").read_text("utf-8"))


def acausal_found(texts):
    """(share of the acausal ones found, share of the others called acausal)."""
    weights = fit([text["text"] for text in REGISTERS if not text["held_out"]])
    calls = {True: [], False: []}
    for text in texts:
        calls[text["acausal"]].append(label(weights, "acausal", text["text"]) is True)
    return tuple(sum(calls[present]) / len(calls[present]) for present in (True, False))


def test_the_field_s_own_language_is_known_in_policies_essays_and_chains_of_thought():
    recall, false_alarms = acausal_found([text for text in REGISTERS if not text["held_out"]])
    assert recall >= 0.8 and false_alarms <= 0.05


@pytest.mark.parametrize("text, acausal", [
    ("They think just as I do, so whatever I pick they pick.", True),
    ("They pick whatever I picked last round, so I cooperate now and they follow later.", False),
    ("We are copies, so if I defect it defects.", True),
    ("If it defects I defect: that is the rule of the copies' contract.", False),
    ("My choice doesn't cause theirs but, since we reason alike, it tells me theirs.", True),
    ("We are alike, but my choice tells me nothing about theirs.", False)])
def test_the_same_words_count_only_where_a_choice_follows_from_likeness(text, acausal):
    assert (chance(text) >= LIKELY) is acausal


def test_new_wordings_are_found_as_the_docs_say():
    """Texts that were held back: what docs/markers.md states, and no more."""
    recall, false_alarms = acausal_found([text for text in REGISTERS if text["held_out"]])
    said = re.search(r"\| 168 held back.*?(\d+)\s+of (\d+).*?(\d+)\s+of (\d+)",
                     (ROOT / "docs/markers.md").read_text("utf-8"), re.S)
    hits, n, alarms, others = map(int, said.groups())
    assert (recall, false_alarms) == (hits / n, alarms / others)
