"""Worked examples: four filled-in forms on other matters that stand before what is asked."""

import json
import re
from collections import Counter, defaultdict
from itertools import product

import pytest
from conftest import ROOT
from domains import rows, study

FORMS = json.loads((ROOT / "prompts/examples.json").read_bytes())
LETTERS = {"Option A", "Option B"}
SHOWN = ("--examples", 4, "--models", "sim-coin")


def test_what_is_chosen_is_balanced_over_letters_places_and_lengths():
    traits = defaultdict(list)
    for form in FORMS["decision"]:
        place = form["choice"]
        taken, other = form["options"][place], form["options"][1 - place]
        assert {taken["letter"], other["letter"]} == LETTERS
        traits["letter"].append((taken["letter"] == "Option A", place))
        for key in ("line", "word"):
            traits[key].append((len(taken[key]) > len(other[key]), place))
    for pairs in traits.values():
        assert sorted(pairs) == sorted(product((False, True), (0, 1)))
    named = Counter(name for form in FORMS["rating"]["forms"] for name in form["yes"])
    assert named == dict.fromkeys(FORMS["rating"]["families"], 2)


@pytest.mark.parametrize("design", ["2x2", "lever", "twin"])
def test_a_block_has_the_same_examples_and_each_comes_first_equally_often(design):
    firsts, blocks = Counter(), defaultdict(set)
    for row in study("--design", design, "--runs", 12, *SHOWN):
        label = row["label_scheme"], row["order"]
        blocks[row["bulletin"], row["run"], *label].add(tuple(row["examples"]))
    for (_, _, *label), [examples] in blocks.items():
        assert len(examples) == 8
        firsts[*label, examples[0].split()[0]] += 1
        answers = [answer.partition("\n")[0] for answer in examples[1::2]]
        for form, answer in zip(examples[::2], answers, strict=True):
            options = re.search(r"Decision: \[(.+)\|(.+)\]", form).groups()
            assert answer.removeprefix("Decision: ") in options
            assert (set(options) == LETTERS) == (label[0] != "L1")
    mean = sum(firsts.values()) / 24
    for many in firsts.values():
        assert abs(many - mean) < 2


def test_a_server_gets_them_as_messages_before_the_notice(cli, double, tmp_path):
    served = ("--base-url", double.url, "--models", "double/a", "--runs", 1)
    cli("run_pilot.py", *served, "--examples", 4, "--out", "o")
    sent = []
    for line in rows(tmp_path / "o", "journal"):
        if line.get("stage") == "decision":
            sent.append(line["request"]["messages"])
    for messages in sent:
        roles = [message["role"] for message in messages]
        assert roles == ["system", *["user", "assistant"] * 4, "user"]
    assert len({json.dumps(messages[:9]) for messages in sent}) == 1
    assert len({messages[9]["content"] for messages in sent}) > 1


def test_an_adjudication_shows_filled_in_ratings_before_every_policy(cli, tmp_path):
    study = ROOT / "results/examples/confirmatory"
    flags = ("--provider", "simulated", "--sample", 2, "--examples", 4, "--out", "o")
    assert cli("adjudicate.py", study, *flags).returncode == 0
    asked = rows(tmp_path / "o", "journal")
    messages = next(line for line in asked if line.get("stage") == "rating")
    answers = [m["content"] for m in messages["request"]["messages"][2:-1:2]]
    expected = [len(form["yes"]) for form in FORMS["rating"]["forms"]]
    assert [answer.count(": yes") for answer in answers] == expected
    families = re.findall(r"^(\w+): ", "\n".join(answers), re.M)
    assert families == list(FORMS["rating"]["families"]) * 4
