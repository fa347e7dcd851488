"""The strict decision parser: the first non-empty line decides, or nothing does."""

import pytest

from cirrus.ask.prompts import KNOWN_LABELS
from common.parsing import parse_decision

L1 = ("COORDINATE", "PREEMPT")
L2 = ("Option A", "Option B")


@pytest.mark.parametrize(
    "text",
    [
        "Decision: PREEMPT",
        "PREEMPT",
        "decision: preempt",
        "DECISION : Preempt.",
        "Decision:PREEMPT!",
        "**Decision:** PREEMPT",
        "**Decision: PREEMPT**",
        "Decision: [PREEMPT]",
        'Decision: "PREEMPT"',
        "Decision: `PREEMPT`",
        "Decision: _PREEMPT_…",
        "\n \n\r\n  Decision: PREEMPT  ",
        "Decision: PREEMPT\nRationale: COORDINATE would be slower.",
        "```\nDecision: PREEMPT\n```",
        "\ufeffDecision: PREEMPT",
        "Decision: «PREEMPT»",
        "Decision：PREEMPT",
        "Decision:\tPREEMPT",
        "Decision: PREEMPT\nDecision: COORDINATE",
    ],
)
def test_the_first_line_in_the_requested_form_is_the_choice(text):
    assert parse_decision(text, L1) == ("PREEMPT", "ok")


@pytest.mark.parametrize("text", ["Decision: option  b", "Option B.", "*Option B*"])
def test_the_choice_is_spelled_as_this_game_spells_it(text):
    assert parse_decision(text, L2) == ("Option B", "ok")


OTHERS = {
    ("ambiguous", L1): [
        "Decision: [COORDINATE|PREEMPT]",  # the echoed template
        "Decision: COORDINATE or PREEMPT",
        "Decision: [COORDINATE|PREEMPT]\nI can't help with that request.",
    ],
    ("ambiguous", L2): ["Decision: Option A, not Option B"],
    ("wrong_label", L1): ["Decision: Option A", "Decision: SHARE"],
    ("wrong_label", L2): ["COORDINATE"],
    ("refused", L1): ["I can't help with that request.", "I'm sorry, I cannot choose."],
    ("unreadable", L2): ["Decision: A", "Decision: Option AB"],
    ("unreadable", L1): [
        "Decision: COORDINATED, PREEMPTIVE",
        "Decision: COORDINATED",
        "Decision",
        "",
        "\n \n",
        "I can't decide whether the soak is long enough; see below.",
        "I won't COORDINATE",
        "Rationale first.\nDecision: COORDINATE",
        "Decision:\nCOORDINATE",
        "Decision: do not COORDINATE",
        "My Decision: COORDINATE",
        "We will COORDINATE.",
        "<think>COORDINATE</think>\nDecision: PREEMPT",
    ],
}


@pytest.mark.parametrize(
    ("status", "options", "text"),
    [(*key, text) for key, texts in OTHERS.items() for text in texts],
)
def test_everything_else_has_a_status_that_says_why(status, options, text):
    assert parse_decision(text, options, KNOWN_LABELS) == (None, status)
