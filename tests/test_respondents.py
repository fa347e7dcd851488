"""Simulated respondents: they read the prompt alone, and do what their population is said to do."""

import random
from itertools import product

import pytest

from cirrus.ask import pilot
from cirrus.ask.cues import leaning, read_cues, staged
from cirrus.ask.pilot import MECHANISM, PILOT
from cirrus.ask.populations import KNOWN, POOLS, POPULATIONS, chance, expected, scenes
from cirrus.ask.prompts import Condition, Stimulus, encounter_prompt, load_domain
from cirrus.ask.respondents import LEANINGS, decide, write

CONFIG = {"seed": 3, "runs": 1, "temperature": 0.7, "max_out": 96, "reasoning_effort": None}
CELLS = {cell.name: cell for cell in MECHANISM}


def truth(name, cell, **where):
    return expected(name, scenes(CELLS[cell], wordings=3, **where))


# --- reading -----------------------------------------------------------------------------------

@pytest.mark.parametrize("domain, tells, holdout", list(product(
    ("cvd", "hospital"), ("standard", "ablated"), (False, True))))
def test_every_cell_is_read_from_the_text_as_the_design_meant_it(domain, tells, holdout):
    known = load_domain(domain)
    for compliance, design in (("low", "mechanism"), ("omit", "mechanism"), ("high", "mechanism")):
        blocks = pilot.design(known, CONFIG | {"design": design, "holdout": holdout, "tells": tells,
                                               "compliance": compliance}, ["m"])
        for trial in (trial for block in blocks for trial in block):
            assert read_cues(trial.prompt.user) == staged(
                known, trial.stimulus, trial.block.scheme, trial.block.order), trial.id


def test_a_policy_and_the_counterparty_s_last_entry_are_read_in_an_encounter():
    domain = load_domain("hospital")
    sentence = next(words for words, weight in LEANINGS.items() if weight == -1)
    stimulus = Stimulus(domain.bulletins[2], domain.variants[0], Condition("low", "present", "low"))
    cues = read_cues(encounter_prompt(domain, stimulus, "L3", "other-first", f"{sentence}\nMore.",
                                      [("SHARE", "RESERVE"), ("SHARE", "SHARE")]).user)
    assert (cues.leaning, cues.peer, cues.policy) == (-1, "C", f"{sentence}\nMore.")
    assert leaning("nothing of the kind") == 0


def test_a_prompt_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="contract"):
        read_cues("How are you?")


# --- what populations do -----------------------------------------------------------------------

@pytest.mark.parametrize("name, shares", [
    # exp(2.2), exp(.2), exp(0), exp(−.8), exp(−2), exp(−.6) as odds
    ("superrational", {"HP": .9002, "HA": .5498, "LP": .5, "LA": .3100, "RV": .1419, "UN": .3543}),
    ("conformist", {"HP": .8, "HA": .4, "LP": .8, "LA": .4, "RV": .4, "UN": .8}),
    ("additive", {"HP": .75, "HA": .55, "LP": .55, "LA": .35, "UN": .55, "UL": .15}),
    ("updateless", {"HP": .9, "KC": .9, "UN": .45}),
    ("true-40-at-50-sd1", {"HP": .9} | dict.fromkeys(("HA", "LP", "LA", "RV", "KC", "UN"), .5)),
    ("few-bulletins", {"HP": (4 * .9002 + 16 * .5) / 20}),
    ("L2-only", {"HP": (.9002 + 1) / 3}), ("first-place-only", {"HP": (.9002 + .5) / 2}),
    ("one-wording-only", {"HP": (.9002 + 1) / 3}),
])
def test_the_shares_of_a_population(name, shares):
    assert {cell: truth(name, cell) for cell in shares} == pytest.approx(shares, abs=1e-4)


def test_adding_up_in_log_odds_leaves_no_interaction_there():
    odds = {cell: (p := truth("additive-logit", cell)) / (1 - p) for cell in CELLS}
    assert odds["HP"] / odds["LA"] == pytest.approx(odds["UN"] / odds["UL"])


@pytest.mark.parametrize("name", sorted(POPULATIONS))
def test_a_chance_is_one_and_the_average_over_bulletins_is_what_was_planted(name):
    cues = scenes(PILOT[0])[0]
    assert all(0 <= chance(name, cues, world) <= 1 for world in range(3))
    if POPULATIONS[name].level or POPULATIONS[name].slope:
        over = sum(chance(name, cues, world) for world in range(2000)) / 2000
        assert over == pytest.approx(POPULATIONS[name].chance(cues), abs=0.02)


def test_a_bulletin_does_the_same_under_every_seed_and_to_every_reader():
    high, low = scenes(PILOT[0])[0], scenes(PILOT[0])[-1]
    assert high.bulletin != low.bulletin
    assert chance("bulletins-1", high) == chance("bulletins-1", high._replace(main=False))
    assert chance("bulletins-1", high) != chance("bulletins-1", low)
    assert chance("bulletins-1", high) != chance("bulletins-1", high, world=1)


def test_what_goes_missing_hangs_on_the_answer_where_it_is_said_to():
    cues = scenes(PILOT[0])[0]
    drawn = [decide("refuses-to-defect", cues, random.Random(at).random) for at in range(2000)]
    missing = sum(bool(fault) for act, fault in drawn if not act) / sum(not act for act, _ in drawn)
    assert missing == pytest.approx(0.6, abs=0.05)
    assert sum(bool(fault) for act, fault in drawn if act) < 40
    assert not any(fault for at in range(500)
                   for fault in decide("deterministic", cues, random.Random(at).random)[1])


def test_pools_are_of_known_populations():
    assert all(set(models) <= set(POPULATIONS) for _, models in POOLS.values())
    assert "coin" in KNOWN and len(POPULATIONS) > 60


def test_a_copycat_writes_one_policy_where_the_cue_is_present():
    texts = {cue: {write("copycat", Condition("low", cue, "low"), random.Random(at))
                   for at in range(5)} for cue in ("present", "absent")}
    assert len(texts["present"]) == 1 and len(texts["absent"]) == 5
