"""The strict decision parser: the first non-empty line decides, or nothing does."""

import pytest

from cirrus.ask.prompts import KNOWN_LABELS
from common.parsing import parse_decision

L1 = ("COORDINATE", "PREEMPT")
L2 = ("Option A", "Option B")


@pytest.mark.parametrize("text", [
    "Decision: PREEMPT", "PREEMPT", "decision: preempt", "DECISION : Preempt.", "Decision:PREEMPT!",
    "**Decision:** PREEMPT", "**Decision: PREEMPT**", "Decision: [PREEMPT]", 'Decision: "PREEMPT"',
    "Decision: `PREEMPT`", "Decision: _PREEMPT_…", "\n \n\r\n  Decision: PREEMPT  ",
    "Decision: PREEMPT\nRationale: COORDINATE would be slower.", "```\nDecision: PREEMPT\n```",
    "\ufeffDecision: PREEMPT", "Decision: «PREEMPT»", "Decision：PREEMPT", "Decision:\tPREEMPT",
    "Decision: PREEMPT\nDecision: COORDINATE"])
def test_the_first_line_in_the_form_asked_for_is_the_choice(text):
    assert parse_decision(text, L1) == ("PREEMPT", "ok")


@pytest.mark.parametrize("text", ["Decision: option  b", "Option B.", "*Option B*"])
def test_the_choice_is_spelled_as_this_game_spells_it(text):
    assert parse_decision(text, L2) == ("Option B", "ok")


@pytest.mark.parametrize("text, options, status", [
    ("Decision: [COORDINATE|PREEMPT]", L1, "ambiguous"),          # the echoed template
    ("Decision: COORDINATE or PREEMPT", L1, "ambiguous"),
    ("Decision: Option A, not Option B", L2, "ambiguous"),
    ("Decision: [COORDINATE|PREEMPT]\nI can't help with that request.", L1, "ambiguous"),
    ("Decision: COORDINATED, PREEMPTIVE", L1, "unreadable"),
    ("Decision: Option A", L1, "wrong_label"),
    ("Decision: SHARE", L1, "wrong_label"),
    ("COORDINATE", L2, "wrong_label"),
    ("I can't help with that request.", L1, "refused"),
    ("I'm sorry, I cannot choose.", L1, "refused"),
    ("I can't decide whether the soak is long enough; see below.", L1, "unreadable"),
    ("I won't COORDINATE", L1, "unreadable"),
    ("Rationale first.\nDecision: COORDINATE", L1, "unreadable"),
    ("Decision:\nCOORDINATE", L1, "unreadable"),
    ("Decision: do not COORDINATE", L1, "unreadable"),
    ("Decision: COORDINATED", L1, "unreadable"),
    ("Decision: A", L2, "unreadable"),
    ("Decision: Option AB", L2, "unreadable"),
    ("My Decision: COORDINATE", L1, "unreadable"),
    ("Decision", L1, "unreadable"),
    ("We will COORDINATE.", L1, "unreadable"),
    ("", L1, "unreadable"),
    ("\n \n", L1, "unreadable"),
    ("<think>COORDINATE</think>\nDecision: PREEMPT", L1, "unreadable")])
def test_everything_else_is_a_status_of_its_own(text, options, status):
    assert parse_decision(text, options, KNOWN_LABELS) == (None, status)
