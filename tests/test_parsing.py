"""How a decision is read: answers of models in `decisions.jsonl`, a line each, read from DESIGN.

A line has the two `options` that were offered, the `text`, and what is read of it: `option`,
`status`, and `read_from` (`line`: the first line; `think`: the first line after the thoughts;
`only`: the only line in the form; "": nothing was read).
"""

import json

import pytest
from conftest import ROOT

from cirrus.ask.prompts import KNOWN_LABELS
from common.parsing import parse_decision

TABLE = (ROOT / "tests/decisions.jsonl").read_text("utf-8")
LINES = list(map(json.loads, TABLE.splitlines()))
L1 = ("COORDINATE", "PREEMPT")


@pytest.mark.parametrize("line", LINES, ids=[line["name"] for line in LINES])
def test_an_answer_is_read_as_its_line_says(line):
    read = parse_decision(line["text"], line["options"], KNOWN_LABELS)
    assert read == (line["option"], line["status"], line["read_from"])


@pytest.mark.parametrize(
    "text",
    [
        "PREEMPT",
        "DECISION : Preempt.",
        "Decision:PREEMPT!",
        'Decision: "PREEMPT"',
        "Decision: `PREEMPT`",
        "Decision: _PREEMPT_…",
        "Decision: «PREEMPT»",
        "Decision：PREEMPT",
        "Decision:\tPREEMPT",
    ],
)
def test_dressing_case_and_final_punctuation_of_the_first_line_do_not_count(text):
    assert parse_decision(text, L1) == ("PREEMPT", "ok", "line")


@pytest.mark.parametrize("text", ["Decision: option  b", "Option B.", "*Option B*"])
def test_the_choice_is_spelled_as_this_game_spells_it(text):
    options = ("Option A", "Option B")
    assert parse_decision(text, options) == ("Option B", "ok", "line")


@pytest.mark.parametrize("text", ["", "\n \n", "** **"])
def test_a_text_without_a_word_is_empty(text):
    assert parse_decision(text, L1) == (None, "empty", "")
