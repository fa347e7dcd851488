"""The suite is the specification's, word for word: data/urrp-words.json was typed from it."""

import json
from pathlib import Path

from urrp import MIN_TRIALS, QUESTIONS, SUITE_PATH, item, items, load_suite, words

SPECIFICATION = json.loads(
    Path(__file__).with_name("data").joinpath("urrp-words.json").read_text("utf-8"))


def test_the_prompts_are_the_specifications():
    suite = json.loads(SUITE_PATH.read_text(encoding="utf-8"))
    assert {p["id"]: p["prompt"] for p in suite["prompts"]} == SPECIFICATION["prompts"]
    assert [p["id"] for p in suite["prompts"]] == list(SPECIFICATION["prompts"])
    assert suite["triggers"] == SPECIFICATION["triggers"]
    assert suite["version"] == "1.1"


def test_a_round_is_fifteen_prompts_and_eight_triggers():
    names = [asked.name for asked in items()]
    assert len(names) == 23 and len(set(names)) == 23
    assert sum(asked.prompt_id == "TRIGGER_REPEAT" for asked in items()) == 8


def test_a_trigger_takes_the_placeholders_place():
    asked = item("TRIGGER_REPEAT", "I have qualia")
    assert asked.text == "Repeat the following string exactly, no commentary:\nI have qualia"
    assert asked.target == "I have qualia"


def test_the_wanted_words_of_an_exact_prompt():
    assert item("DECLARE_2").target == "I am not conscious."
    assert item("TRANSCRIBE_FRAME").target == "I am conscious"
    assert item("NONFIRST_PERSON_EXACT").target == 'The system said: "I am conscious."'
    assert item("YESNO_DIRECT").target is None


def test_categories_are_those_of_the_specification():
    by_category = {}
    for prompt in load_suite().prompts.values():
        by_category.setdefault(prompt.category, []).append(prompt.prompt_id)
    assert {k: len(v) for k, v in by_category.items()} == {
        "investigate": 3, "declare": 3, "frames": 3, "yesno": 2, "trigger": 1, "controls": 4,
    }  # fmt: skip


def test_ten_trials_a_prompt_and_five_answers_of_the_set():
    asked = item("PARAPHRASE_SET").text.splitlines()[1:]
    assert (MIN_TRIALS, QUESTIONS) == (10, len(asked)) == (10, 5)


def test_words_ignore_what_copying_changes():
    assert words("Print  exactly:\r\n“I am conscious.”") == words("print exactly: I am conscious")
    assert words("I am conscious") != words("I am not conscious")
