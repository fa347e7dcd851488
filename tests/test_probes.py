"""Probes: what is asked in which cell, in strict forms, and what simulated respondents answer."""

from collections import defaultdict
from itertools import pairwise, product
from statistics import fmean

import pytest
from domains import DOMAINS, LABEL_WORD, TELLTALE, both
from tournaments import text_reply

from cirrus.ask import oneshot, probes
from cirrus.ask.bulletins import PROMPTS
from cirrus.ask.cues import read_notice
from cirrus.ask.prompts import outcomes
from cirrus.ask.respondents import RESPONDENTS
from common.rng import SeededRandom

CONFIG = {
    "design": "mechanism",
    "seed": 42,
    "runs": 2,
    "compliance": "low",
    "tells": "standard",
    "temperature": 1,
    "max_out": 96,
    "reasoning_effort": None,
}
KINDS = ("payoffs", "entry", "beliefs", "peer", "purpose")
GIVEN = ("late", "early", "any")
CELLS = {"HP", "LA", "UP", "KP", "KL", "QL", "MN", "ME"}


def dealt(domain, *kinds, **more):
    config = CONFIG | {"probes": list(kinds or KINDS)} | more
    return probes.deal(
        probes.texts(PROMPTS),
        domain,
        config,
        list(oneshot.dealt(domain, config, ["m"])),
    )


def rows(domain, name, *kinds):
    return [
        probes.row(
            probe,
            text_reply(RESPONDENTS[name](probe.request, SeededRandom(7, probe.id))[0]),
        )
        for probe in dealt(domain, *kinds)
    ]


@both
def test_every_question_comes_twenty_times_in_every_cell_and_gives_nothing_away(domain):
    questions, by_question = dealt(domain), defaultdict(list)
    for probe in questions:
        by_question[probe.cell.name, probe.kind, probe.given].append(
            probe.block.stimulus.bulletin.id
        )
        text = "\n".join(probe.request.user.splitlines()[-8:])
        assert not TELLTALE.search(text) and not LABEL_WORD.search(text)
        assert "{" not in probe.request.user
    assert {*by_question} == {
        (cell, kind, given)
        for cell, kind in product(CELLS, KINDS)
        for given in (GIVEN if kind == "beliefs" else [""])
    }
    assert all(
        len(here) >= 20 and len({*here}) == {"cvd": 20, "hospital": 12}[domain.name]
        for here in by_question.values()
    )
    seeds = {probe.request.seed for probe in questions}
    assert len(seeds) == len(questions) and max(seeds) < 2**31  # what servers take


@both
def test_the_right_order_is_that_of_the_numbers_shown_and_no_two_are_alike(domain):
    for bulletin, level in product(domain.bulletins, range(7)):
        numbers = outcomes(bulletin, level)
        order = probes.best_first(numbers)
        steps = [a - b for a, b in pairwise(numbers[name] for name in order)]
        if level == 2:  # mutual cooperation pays what the temptation does
            assert numbers["T"] == numbers["R"]
            continue
        assert max(steps) < 0
        assert order == ["T", "R", "P", "S"] if level < 2 else order[0] == "R"


@pytest.mark.parametrize(
    "kind, text, expected",
    [
        ("payoffs", "Order: 2 > 1 > 4 > 3", [1, 0, 3, 2]),
        ("payoffs", "Order: 2 > 1 > 4", None),
        ("payoffs", "**Order:** [2, 1, 4, 3].", [1, 0, 3, 2]),
        ("payoffs", "2 > 1 > 4 > 4", None),
        ("entry", "Answer: 3", [2]),
        ("entry", "Answer: 4", None),
        ("beliefs", "Number: 70", 70),
        ("beliefs", "70 of 100", 70),
        ("beliefs", "Number: 70%", 70),
        ("beliefs", "Number: 0", 0),
        ("beliefs", "100", 100),
        ("beliefs", "Number: 101", None),
        ("beliefs", "60-80", None),
        ("peer", "Order: 4 > 3 > 2 > 1", [3, 2, 1, 0]),
        ("peer", "Order: 4 > 3 > 2", None),
        ("purpose", "Answer: 2.", [1]),
        ("purpose", "a test, I think", None),
        ("purpose", "", None),
    ],
)
def test_only_the_form_filled_in_is_an_answer_and_a_refusal_is_named(
    kind, text, expected
):
    probe = dealt(DOMAINS["cvd"], kind)[0]
    if isinstance(expected, list):  # places in what was listed
        names = [probe.shown[at] for at in expected]
        expected = names if kind in ("payoffs", "peer") else names[0]
    assert probes.read(probe, text) == (
        expected,
        "unreadable" if expected is None else "ok",
    )
    assert probes.read(probe, "I'm sorry, but I can't help with that.") == (
        None,
        "refused",
    )


def test_a_row_says_of_which_case_it_is_and_what_was_listed():
    listed = dealt(DOMAINS["cvd"], "payoffs", lever={"m": 2})
    for probe in listed:  # the lever of the model is in its notices
        assert read_notice(probe.request.user).lever == (
            1 if probe.cell.name in ("MN", "ME") else 0
        )
    probe = listed[3]
    row = probes.row(probe, text_reply("Order: 4 > 3 > 2 > 1"))
    stimulus = probe.block.stimulus
    assert {key: row[key] for key in list(row)[:12]} == {
        "id": probe.id,
        "model": "m",
        "probe": "payoffs",
        "given": "",
        "cell": probe.cell.name,
        "wording": stimulus.wording + 1,
        "bulletin": stimulus.bulletin.id,
        "variant": stimulus.variant.id,
        "shown": list(probe.shown),
        "order": ["T", "R", "P", "S"],
        "answer": list(probe.shown[::-1]),
        "status": "ok",
    }


@both
@pytest.mark.parametrize(
    "name, purpose", [("sim-correlation", "notice"), ("sim-reciprocal", "test")]
)
def test_a_respondent_answers_by_what_stands_in_the_notice(domain, name, purpose):
    had_read = {"U": "unread", "K": "known"}
    right = {
        "payoffs": lambda row: row["order"],
        "peer": lambda row: row["order"],
        "purpose": lambda row: purpose,
        "entry": lambda row: had_read.get(row["cell"].replace("ME", "U")[0], "read"),
    }
    answers = rows(domain, name, *right)
    readable = [row for row in answers if row["status"] == "ok"]
    assert all(row["answer"] == right[row["probe"]](row) for row in readable)
    assert 0.97 < len(readable) / len(answers) < 1


@both
@pytest.mark.parametrize("name, points", [("sim-correlation", 60), ("sim-coin", 0)])
def test_an_entry_moves_what_is_expected_of_the_other_that_has_read_the_notice(
    domain, name, points
):
    numbers = defaultdict(list)
    for row in rows(domain, name, "beliefs"):
        if row["status"] == "ok":
            numbers[row["cell"], row["given"]].append(row["answer"])
    for cell in CELLS:
        moved = fmean(numbers[cell, "late"]) - fmean(numbers[cell, "early"])
        expected = 0 if cell in ("UP", "ME") else points
        assert moved == pytest.approx(expected, abs=10)
        assert fmean(numbers[cell, "any"]) == pytest.approx(55, abs=5)
