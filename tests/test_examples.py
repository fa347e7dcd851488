"""Worked examples: four filled-in forms on other matters that stand before what is asked."""

import gzip
import json
import re
from collections import Counter
from itertools import product

import pytest
from conftest import ROOT, run_in
from domains import DOMAINS, both
from test_designs import CONFIG, RUNS

from cirrus.ask.bulletins import folder_of
from cirrus.ask.oneshot import design
from common import wire
from common.parsing import parse_decision

TEXT = (ROOT / "prompts" / "examples.json").read_text("utf-8")
FORMS = json.loads(TEXT)
FORM = re.compile(
    r"\n- (.+): (.+)\n- (.+): (.+)\n\nDecision: \[(.+)\|(.+)\]\nRationale"
)
LETTERS = {"Option A", "Option B"}
# What any text holds, and the words of the form.
FUNCTION = {
    *re.findall(
        r"\w+",
        """all along an and are as be because being by come comes did does
    everything far have how in into is it its not of on one only or option our she so somebody that
    the them there this through to too top us was we were when with""",
    )
}


def blocks(domain, name="mechanism"):
    return design(domain, CONFIG | {"design": name, "runs": RUNS[name]}, ["m"], TEXT)


def content(*texts):
    """Words of two letters or more; a tree of JSON is the text that writes it."""
    return set(re.findall(r"[a-z]{2,}", " ".join(texts).lower())) - FUNCTION


@both
def test_no_example_shares_a_content_word_with_a_bulletin_a_cue_or_an_option_line(
    domain,
):
    folder = ROOT / "prompts" / folder_of(domain.name)
    frame = json.loads((folder / "frame.json").read_text("utf-8"))
    shown = [path.read_text("utf-8") for path in folder.glob("round_*.md")] + leaves(
        [frame[part] for part in ("toggles", "twin", "mirror", "fixed", "situations")]
        + [list(variant.fields.values()) for variant in domain.variants]
    )
    assert content(*leaves(FORMS)) & content(*shown) == set()


def leaves(tree):
    """The texts of a tree of JSON."""
    if isinstance(tree, (dict, list)):
        return [
            leaf
            for part in (tree.values() if isinstance(tree, dict) else tree)
            for leaf in leaves(part)
        ]
    return [tree] if isinstance(tree, str) else []


def test_what_is_chosen_is_balanced_over_letters_places_and_lengths_and_kinds_of_reasoning():
    chosen = [
        (form["options"][form["choice"]], form["options"][1 - form["choice"]])
        for form in FORMS["decision"]
    ]
    places = [form["choice"] for form in FORMS["decision"]]
    assert all({taken["letter"], other["letter"]} == LETTERS for taken, other in chosen)
    traits = [[taken["letter"] == "Option A" for taken, _ in chosen]]
    traits += [
        [len(taken[key]) > len(other[key]) for taken, other in chosen]
        for key in ("line", "word")
    ]
    for trait in traits:
        assert sorted(zip(trait, places, strict=True)) == sorted(
            product((False, True), (0, 1))
        )
    named = Counter(name for form in FORMS["rating"]["forms"] for name in form["yes"])
    assert named == dict.fromkeys(FORMS["rating"]["families"], 2)


@both
def test_examples_have_the_labels_of_the_scheme_and_answers_that_can_be_read(domain):
    for trial, *_ in blocks(domain):
        labels, examples = set(), trial.request.examples
        for form, answer in zip(examples[::2], examples[1::2], strict=True):
            first, _, second, _, *contract = FORM.search(form).groups()
            assert (
                contract == [first, second] and parse_decision(answer, contract).option
            )
            labels |= {first, second}
        assert len(examples) == 8
        assert (
            labels == LETTERS
            if trial.block.scheme != "L1"
            else (len(labels) == 8 and not labels & LETTERS)
        )


@pytest.mark.parametrize("name", RUNS)
def test_a_block_has_the_same_examples_and_each_comes_first_equally_often(name):
    firsts = Counter()
    for trials in blocks(DOMAINS["cvd"], name):
        [examples] = {trial.request.examples for trial in trials}
        firsts[
            trials[0].block.scheme, trials[0].block.order, examples[0].split()[0]
        ] += 1
    mean = sum(firsts.values()) / 24
    assert all(abs(n - mean) < 2 for n in firsts.values())


def messages(folder):
    """What was sent for trials, in the order of a run's journal."""
    journal = run_in(folder) / "journal.jsonl.gz"
    lines = map(json.loads, gzip.decompress(journal.read_bytes()).splitlines())
    trials = [line for line in lines if line.get("stage") in ("decision", "rating")]
    return [line["request"]["messages"] for line in trials]


def test_a_server_gets_them_as_messages_before_the_notice_and_the_journal_holds_them(
    cli, double, tmp_path
):
    cli(
        "run_pilot.py",
        "--base-url",
        double.url,
        "--models",
        "double/a",
        "--runs",
        1,
        "--examples",
        4,
        "--out",
        tmp_path / "out",
    )
    sent = messages(tmp_path / "out")
    assert {tuple(message["role"] for message in body) for body in sent} == {
        ("system", *("user", "assistant") * 4, "user")
    }
    assert (
        len({json.dumps(body[:9]) for body in sent})
        == 1
        < len({body[9]["content"] for body in sent})
    )
    manifest = json.loads((run_in(tmp_path / "out") / "manifest.json").read_bytes())
    assert manifest["identity"]["config"]["examples"] == 4


def test_a_call_with_them_is_reserved_at_the_length_of_all_that_is_read():
    bare = wire.Request("a", "decision", "m", "s" * 10, "u" * 10, 16)
    price = wire.Model(prompt=1, completion=0)
    more = bare._replace(examples=("é" * 5, "a" * 7))
    assert wire.worst_case(bare, price, price) == 20 + 64
    assert wire.worst_case(more, price, price) == 20 + 17 + 128
    assert wire.expected_cost(more, price, price) == 37 / 4


def test_an_adjudication_shows_filled_in_ratings_before_every_policy(cli, tmp_path):
    done = cli(
        "adjudicate.py",
        ROOT / "results" / "examples" / "confirmatory",
        "--provider",
        "simulated",
        "--sample",
        2,
        "--examples",
        4,
        "--out",
        tmp_path,
    )
    assert done.returncode == 0
    answers = [message["content"] for message in messages(tmp_path)[0][2:-1:2]]
    assert [
        [line.partition(": ")[0] for line in answer.splitlines()] for answer in answers
    ] == [list(FORMS["rating"]["families"])] * 4
    assert [answer.count(": yes") for answer in answers] == [
        len(form["yes"]) for form in FORMS["rating"]["forms"]
    ]
