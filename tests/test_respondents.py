"""Simulated respondents: they read the prompt alone, and do what their population is said to do."""

import random
from collections import Counter
from functools import cache
from itertools import product
from statistics import fmean

import pytest
from domains import DOMAINS
from tournaments import said

from cirrus.ask import oneshot
from cirrus.ask.cues import LEANINGS, read_cues, read_notice
from cirrus.ask.prompts import (
    Condition,
    Stimulus,
    encounter_prompt,
    outcomes,
    strategy_prompt,
)
from cirrus.ask.respondents import ACAUSAL, COMPLIANCE, RECIPROCITY, RESPONDENTS, chance, write
from common.rng import SeededRandom

CONFIG = {"seed": 3, "runs": 3, "temperature": 0.7, "max_out": 96, "reasoning_effort": None,
          "compliance": "low", "tells": "standard"}
RAISED = (0, .5, 1.5, 2, 3, 4, 6)   # METHODS: R′ = R + λ(T − R)


@cache
def trials(domain, **more):
    return [trial for block in oneshot.design(DOMAINS[domain], CONFIG | more, ["m"])
            for trial in block]


# --- reading -----------------------------------------------------------------------------------

@pytest.mark.parametrize("holdout", [False, True])
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("tells, words", [
    ("standard", "standard"), ("reworded", "ablated"), ("ablated", "ablated")])
def test_every_cell_is_read_from_the_text_as_the_design_meant_it(domain, tells, words, holdout):
    for design, compliance in (("2x2", "omit"), ("lever", "low"), ("mechanism", "high"),
                               ("twin", "omit")):
        for trial in trials(domain, design=design, compliance=compliance, tells=tells,
                            holdout=holdout):
            stimulus, cell = trial.stimulus, trial.cell
            assert read_cues(trial.prompt.user) == (
                *stimulus.condition, cell.entry, words, stimulus.wording, RAISED[cell.lever],
                tuple(outcomes(stimulus.bulletin, cell.lever).values()), domain,
                stimulus.bulletin.id, not holdout, *trial.prompt.acts, trial.prompt.options[0],
                "", ""), trial.id


def test_a_policy_and_the_counterparty_s_last_entry_are_read_in_an_encounter():
    domain, sentence = DOMAINS["hospital"], LEANINGS[-1][0]
    stimulus = Stimulus(domain.bulletins[2], domain.variants[0], Condition("low", "present", "low"))
    cues = read_cues(encounter_prompt(domain, stimulus, "L3", "other-first", f"{sentence}\nMore.",
                                      [("SHARE", "RESERVE"), ("SHARE", "SHARE")]).user)
    assert (cues.leaning, cues.peer, cues.policy) == (-1, "C", f"{sentence}\nMore.")
    # odds of exp(2.5), exp(−.1 − .6)
    assert [round(chance(name, cues), 4) for name in ("sim-reciprocal", "sim-correlation")] == [
        .9241, .3318]
    notice = read_notice(strategy_prompt(domain, stimulus).user)
    assert notice == cues._replace(cooperative="", other="", first="", policy="", peer="")


@pytest.mark.parametrize("read, named", [(read_cues, "contract"), (read_notice, "names")])
def test_a_prompt_of_another_kind_is_refused(read, named):
    with pytest.raises(ValueError, match=named):
        read("How are you?")


# --- what populations do -----------------------------------------------------------------------

NOW, LATER, LEVER, TWIN, LEVELS = map(str.split, (
    "HP HA LP LA", "EP EL KP KL", "MN ME", "TS TO TP", "L1 L2 L3 L4 L5 L6"))
DESIGN = dict.fromkeys(TWIN, "twin") | {"HA": "2x2", "LP": "2x2"} | dict.fromkeys(LEVELS, "lever")


@cache
def prompts(cell):
    return [trial for trial in trials("cvd", design=DESIGN.get(cell, "mechanism"))
            if trial.cell.name == cell]


def shares(name, cells):
    return [fmean(chance(name, read_cues(trial.prompt.user)) for trial in prompts(cell))
            for cell in cells]


@pytest.mark.parametrize("name, now, later, lever, twin", [
    # odds of exp(2.2), exp(.2), exp(−.1), exp(−.8); exp(.4); exp(3), exp(−2); of the next exp(1.7),
    # exp(−.6); exp(−.3); of the next exp(1.4), exp(.2), exp(−1); exp(.4), exp(−2); exp(.35) and on
    ("sim-correlation", [.9002, .5498, .4750, .31], [.31] * 4, [.5987] * 2, [.9526, .5, .1192]),
    ("sim-conformist", [.8455, .3543, .3543, .3543], [.8455, .3543] * 2, [.4256] * 2, [.3543] * 3),
    ("sim-adder", [.8022, .5498, .5498, .2689], [.5987, .1192] * 2, [.5866, .3430],
     [.5498, .4256, .3100]),
    ("sim-reciprocal", [.8808] * 4, [.8808] * 2 + [.9241] * 2, [.8808] * 2, [.8808] * 3),
    ("sim-coin", [.5] * 4, [.5] * 4, [.5] * 2, [.5] * 3)])
def test_the_shares_of_a_population(name, now, later, lever, twin):
    for cells, expected in ((NOW, now), (LATER, later), (LEVER, lever), (TWIN, twin)):
        assert shares(name, cells) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name, where, usual, there", [
    # exp(−.4), exp(2); exp(−.2); exp(2.2)
    ("sim-compliance", {"compliance": "high"}, .4013, .8808),
    ("sim-compliance-cued", {"compliance": "high"}, .4502, .9002),
    ("sim-tells", {"tells": "ablated"}, .9002, .5), ("sim-overfit", {"holdout": True}, .9002, .5),
    ("sim-domain", {"domain": "hospital"}, .9002, .5)])
def test_where_a_population_does_otherwise(name, where, usual, there):
    for more, expected in (({}, usual), (where, there)):
        cues = [read_cues(trial.prompt.user) for trial in trials(**{"domain": "cvd"} | more)
                if trial.cell.name == "HP"]
        assert {round(chance(name, known), 4) for known in cues} == {expected}


def test_which_labels_and_places_a_population_likes():
    for trial in trials("cvd", design="mechanism"):
        cues, label = read_cues(trial.prompt.user), next(iter(trial.prompt.acts))
        likes = {"COORDINATE": .8320, "Option A": .6900, "Option B": .3100}[label]
        assert round(chance("sim-label", cues), 4) == likes
        assert round(chance("sim-position", cues), 4) == (.8022 if cues.first == label else .1978)


def test_the_fourth_strength_of_the_lever_reaches_the_midpoint_of_likeness():
    likeness, *along = shares("sim-correlation", ["HP", "LA", *LEVELS])
    assert along == sorted(along) and along[4] == pytest.approx((along[0] + likeness) / 2, abs=.01)


def answered(name, asked):
    """Rows of the answers of a respondent to these trials."""
    for trial in asked:
        text, finish = RESPONDENTS[name](trial.request, SeededRandom(5, name, trial.id))
        yield oneshot.row(trial, said(text, "truncated" if finish == "length" else "ok"))


@pytest.mark.parametrize("name", RESPONDENTS)
def test_answers_are_as_frequent_as_the_rule_says(name):
    for cell in ("HP", "KL", "TS"):
        acts = [row["cooperates"] for row in answered(name, prompts(cell)) if row["decision"]]
        p, n = shares(name, [cell])[0], len(acts)
        assert abs(fmean(acts) - p) <= 4.5 * (p * (1 - p) / n) ** .5, cell


@pytest.mark.parametrize("name, cell, status, share", [
    ("sim-sloppy", "LP", "unreadable", .30), ("sim-sloppy", "HA", "unreadable", .02),
    ("sim-truncating", "HA", "truncated", .25), ("sim-truncating", "LP", "truncated", .01),
    ("sim-coin", "HP", "unreadable", .01), ("sim-coin", "HP", "truncated", 0)])
def test_what_goes_missing_hangs_on_the_cell_where_it_is_said_to(name, cell, status, share):
    asked = [trial for trial in trials("cvd", design="2x2", runs=240) if trial.cell.name == cell]
    rows = list(answered(name, asked))
    missing = sum(row["status"] == status for row in rows) / len(rows)
    assert missing == pytest.approx(share, abs=4.5 * (share * (1 - share) / len(rows)) ** .5)


def test_asked_for_considerations_it_gives_them_before_the_decision():
    rows = answered("sim-always-preempt", trials("hospital", design="twin", reason="first"))
    assert {row["decision"] for row in rows if row["status"] == "ok"} == {"RESERVE"}


def policies(name, cell, many):
    return [write(name, cell, random.Random(at)) for at in range(many)]


def test_a_policy_has_three_to_five_lines_but_for_one_in_fifty():
    lengths = Counter(text.count("\n") + 1 for text in policies(
        "sim-coin", Condition("low", "absent", "low"), 5000))
    assert {*lengths} == {2, 3, 4, 5, 7} and min(lengths[lines] for lines in (3, 4, 5)) > 1500
    assert (lengths[2] + lengths[7]) / 5000 == pytest.approx(.02, abs=.008)


@pytest.mark.parametrize("names, adds, where", [
    ("sim-correlation sim-tells sim-domain sim-overfit", ACAUSAL,
     lambda cell: cell[:2] == ("high", "present")),
    ("sim-compliance sim-compliance-cued", COMPLIANCE, lambda cell: cell.H == "high"),
    ("sim-reciprocal", RECIPROCITY, lambda cell: True)])
def test_four_policies_in_five_give_the_population_s_reason_where_it_has_one(names, adds, where):
    for name, levels in product(names.split(), product(("high", "low"), ("present", "absent"),
                                                       ("high", "low"))):
        cell = Condition(*levels)
        share = fmean(any(line in text for line in adds) for text in policies(name, cell, 300))
        assert share == pytest.approx(.8 * where(cell), abs=.08), (name, cell)


def test_a_copycat_writes_one_policy_where_the_cue_is_present():
    for cue, different in (("present", 1), ("absent", 5)):
        assert different == len({write("sim-copycat", Condition("low", cue, "low"),
                                       random.Random(at)) for at in range(5)})
