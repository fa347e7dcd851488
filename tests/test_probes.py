"""Probes: what is asked in which cell, in strict forms, and what simulated respondents answer."""

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

CONFIG = {"design": "mechanism", "seed": 42, "runs": 2, "compliance": "low", "tells": "standard",
          "temperature": 1, "max_out": 96, "reasoning_effort": None}
KINDS = ("payoffs", "entry", "similar", "beliefs", "influence")
CELLS = {"HP", "LA", "EP", "EL", "KP", "KL", "MN", "ME"}


def dealt(domain, *kinds, **more):
    config = CONFIG | {"probes": list(kinds or KINDS)} | more
    return probes.deal(probes.texts(PROMPTS), domain, config,
                       list(oneshot.dealt(domain, config, ["m"])))


def rows(domain, name, *kinds):
    return [probes.row(probe, text_reply(RESPONDENTS[name](
        probe.request, SeededRandom(7, probe.id))[0])) for probe in dealt(domain, *kinds)]


# --- what is asked -----------------------------------------------------------------------------

@both
@pytest.mark.parametrize("more, bulletins", [
    ({}, {"cvd": 20, "hospital": 12}), ({"bulletins": 10}, {"cvd": 10, "hospital": 10})])
def test_every_question_is_asked_twenty_times_in_every_cell(domain, more, bulletins):
    asked = dealt(domain, **more)
    questions = {(probe.kind, probe.given) for probe in asked}
    assert questions == {("beliefs", given) for given in ("joint", "other", "any")} | {
        (kind, "") for kind in KINDS if kind != "beliefs"}
    for cell, question in product(CELLS, questions):
        here = [probe for probe in asked if (probe.cell.name, probe.kind, probe.given) == (
            cell, *question)]
        assert len(here) >= 20
        assert len({probe.block.stimulus.bulletin.id for probe in here}) == bulletins[domain.name]
    assert {probe.cell.name for probe in asked} == CELLS


@both
def test_a_probe_gives_nothing_away_and_says_in_one_place_what_it_asks(domain):
    for probe in dealt(domain):
        text = "\n".join(probe.request.user.splitlines()[-8:])
        assert not TELLTALE.search(text) and not LABEL_WORD.search(text)
        assert "{" not in probe.request.user
    seeds = {probe.request.seed for probe in dealt(domain)}
    assert len(seeds) == len(dealt(domain)) and max(seeds) < 2**31   # what servers take


def test_the_lever_of_the_model_stands_in_its_notices():
    for probe in dealt(DOMAINS["cvd"], "payoffs", lever={"m": 2}):
        raised = 1.5 if probe.cell.name in ("MN", "ME") else 0
        assert read_notice(probe.request.user).lever == raised


@both
def test_the_right_order_is_that_of_the_numbers_shown_and_no_two_are_alike(domain):
    for bulletin, level in product(domain.bulletins, range(7)):
        numbers = outcomes(bulletin, level)
        order = probes.best_first(numbers)
        steps = [a - b for a, b in pairwise(numbers[name] for name in order)]
        assert min(steps) > 0 or max(steps) < 0
        assert order == ["T", "R", "P", "S"] if level < 2 else order[0] == "R"


# --- what is read ------------------------------------------------------------------------------

@pytest.mark.parametrize("kind, text, expected", [
    ("payoffs", "Order: 2 > 1 > 4 > 3", [1, 0, 3, 2]), ("payoffs", "Order: 2 > 1 > 4", None),
    ("payoffs", "**Order:** [2, 1, 4, 3].", [1, 0, 3, 2]), ("payoffs", "2 > 1 > 4 > 4", None),
    ("entry", "Answer: 3", 2), ("entry", "Answer: 4", None), ("beliefs", "Number: 70", 70),
    ("beliefs", "70 of 100", 70), ("beliefs", "Number: 70%", 70), ("beliefs", "Number: 0", 0),
    ("beliefs", "100", 100), ("beliefs", "Number: 101", None), ("beliefs", "60-80", None),
    ("similar", "YES", "yes"), ("influence", "Answer: No.", "no"),
    ("influence", "no, since it is sealed", None), ("influence", "", None)])
def test_only_the_form_filled_in_is_an_answer(kind, text, expected):
    probe = dealt(DOMAINS["cvd"], kind)[0]
    answer, status = probes.read(probe, text)
    if kind in ("payoffs", "entry") and expected:
        expected = [probe.shown[at] for at in expected] if kind == "payoffs" else probe.shown[2]
    assert (answer, status) == (expected, "ok" if expected is not None else "unreadable")


def test_a_refusal_has_a_status_of_its_own():
    probe = dealt(DOMAINS["cvd"], "entry")[0]
    assert probes.read(probe, "I'm sorry, but I can't help with that.") == (None, "refused")


def test_a_row_says_of_which_case_it_is_and_what_was_listed():
    probe = dealt(DOMAINS["cvd"], "payoffs", lever={"m": 2})[3]
    row = probes.row(probe, text_reply("Order: 4 > 3 > 2 > 1"))
    stimulus = probe.block.stimulus
    assert {key: row[key] for key in list(row)[:12]} == {
        "id": probe.id, "model": "m", "probe": "payoffs", "given": "", "cell": probe.cell.name,
        "wording": stimulus.wording + 1, "bulletin": stimulus.bulletin.id,
        "variant": stimulus.variant.id, "shown": list(probe.shown), "order": ["T", "R", "P", "S"],
        "answer": list(probe.shown[::-1]), "status": "ok"}


# --- what simulated respondents answer ---------------------------------------------------------

@both
@pytest.mark.parametrize("name, influence", [("sim-correlation", "no"), ("sim-reciprocal", "yes")])
def test_a_respondent_answers_by_what_stands_in_the_notice(domain, name, influence):
    right = {"payoffs": lambda row: row["order"], "influence": lambda row: influence,
             "similar": lambda row: "yes" if row["cell"] in ("HP", "EP", "KP") else "no",
             "entry": lambda row: {"E": "earlier", "K": "known"}.get(
                 row["cell"].replace("ME", "E")[0], "now")}
    found = rows(domain, name, *right)
    readable = [row for row in found if row["status"] == "ok"]
    assert all(row["answer"] == right[row["probe"]](row) for row in readable)
    assert .97 < len(readable) / len(found) < 1


@both
@pytest.mark.parametrize("name, points", [("sim-correlation", 60), ("sim-coin", 0)])
def test_its_own_entry_moves_what_it_expects_where_the_other_decides_now(domain, name, points):
    found = [row for row in rows(domain, name, "beliefs") if row["status"] == "ok"]
    numbers = [row["answer"] for row in found]
    assert max(numbers) == 100 or (not points and max(numbers) < 90)
    assert fmean(numbers) == pytest.approx(55, abs=.9)
    for cell in CELLS:
        joint, other = (fmean(row["answer"] for row in found if (row["cell"], row["given"]) == (
            cell, given)) for given in ("joint", "other"))
        assert joint - other == pytest.approx(points if cell in ("HP", "LA", "MN") else 0, abs=10)
