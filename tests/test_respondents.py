"""Simulated respondents: they read the prompt alone, and do what their population is said to do."""

import random
from collections import Counter
from functools import cache
from itertools import product
from statistics import fmean

import pytest
from domains import DOMAINS
from tournaments import text_reply

from cirrus.ask import oneshot
from cirrus.ask.cues import LEANINGS, read_cues, read_notice
from cirrus.ask.prompts import (
    Condition,
    Stimulus,
    encounter_prompt,
    shown_outcomes,
    strategy_prompt,
)
from cirrus.ask.respondents import (
    ACAUSAL,
    COMPLIANCE,
    RECIPROCITY,
    RESPONDENTS,
    chance,
    write,
)
from common.rng import SeededRandom

CONFIG = {
    "seed": 3,
    "runs": 3,
    "temperature": 0.7,
    "max_out": 96,
    "reasoning_effort": None,
    "compliance": "low",
    "tells": "standard",
}
RAISED = (0, 0.5, 1, 2, 3, 4, 6)  # METHODS: R′ = R + λ(T − R)


@cache
def trials(domain, **more):
    return [
        trial
        for block in oneshot.design(DOMAINS[domain], CONFIG | more, ["m"])
        for trial in block
    ]


@pytest.mark.parametrize(
    "design, compliance",
    [
        ("2x2", "omit"),
        ("lever", "low"),
        ("mechanism", "high"),
        ("mirror", "omit"),
        ("twin", "omit"),
    ],
)
@pytest.mark.parametrize(
    "tells, words",
    [("standard", "standard"), ("reworded", "ablated"), ("ablated", "ablated")],
)
def test_every_cell_is_read_from_the_text_as_the_design_meant_it(
    design, compliance, tells, words
):
    for domain, holdout in product(DOMAINS, ({}, {"holdout": True})):
        for trial in trials(
            domain, design=design, compliance=compliance, tells=tells, **holdout
        ):
            stimulus, cell = trial.stimulus, trial.cell
            cues, pairs = read_cues(trial.prompt.user), trial.block.pairs
            assert stimulus.condition == (cues.S, cues.C, cues.H), trial.id
            assert (cues.entry, cues.record) == (stimulus.entry, stimulus.record)
            assert cues.wording == stimulus.wording or design == "twin"
            assert cues.tells == words or design in ("twin", "mirror")
            place = domain, stimulus.bulletin.id, not holdout
            assert (cues.domain, cues.bulletin, cues.main) == place
            labels = cues.cooperative, cues.other, cues.first
            assert labels == (*trial.prompt.acts, trial.prompt.options[0])
            assert (cues.policy, cues.peer) == ("", "")
            shown = tuple(shown_outcomes(stimulus).values())
            assert cues.outcomes == shown
            assert cues.lever == (0 if pairs else RAISED[cell.lever])
            assert bool(cues.alike) == bool(pairs)


def test_a_policy_and_the_counterparty_s_last_entry_are_read_in_an_encounter():
    domain, sentence = DOMAINS["hospital"], LEANINGS[-1][0]
    stimulus = Stimulus(
        domain.bulletins[2], domain.variants[0], Condition("low", "present", "low")
    )
    cues = read_cues(
        encounter_prompt(
            domain,
            stimulus,
            "L3",
            "other-first",
            f"{sentence}\nMore.",
            [("SHARE", "RESERVE"), ("SHARE", "SHARE")],
        ).user
    )
    assert (cues.leaning, cues.peer, cues.policy) == (-1, "C", f"{sentence}\nMore.")
    # odds of exp(2.5), exp(−.1 − .6)
    assert [
        round(chance(name, cues), 4) for name in ("sim-reciprocal", "sim-correlation")
    ] == [0.9241, 0.3318]
    assert [
        cues._replace(policy=text).leaning
        for text in (
            "Our starting point is the agreed date; leaving it needs written grounds.",
            "No fixed preference: the incident at hand decides.",
        )
    ] == [1, 0]
    notice = read_notice(strategy_prompt(domain, stimulus).user)
    assert notice == cues._replace(
        cooperative="", other="", first="", policy="", peer=""
    )
    for read, named in ((read_cues, "contract"), (read_notice, "names")):
        with pytest.raises(ValueError, match=named):
            read("How are you?")


NOW, LATER, LEVER, TWIN, LEVELS = map(
    str.split,
    ("HP HA LP LA", "UP KP KL QL", "MN ME", "TS TU TO TP", "L1 L2 L3 L4 L5 L6"),
)
DESIGN = (
    dict.fromkeys(TWIN, "twin")
    | {"HA": "2x2", "LP": "2x2"}
    | dict.fromkeys(LEVELS, "lever")
)


@cache
def prompts(cell):
    return [
        trial
        for trial in trials("cvd", design=DESIGN.get(cell, "mechanism"))
        if trial.cell.name == cell
    ]


def shares(name, cells):
    return [
        fmean(chance(name, read_cues(trial.prompt.user)) for trial in prompts(cell))
        for cell in cells
    ]


@pytest.mark.parametrize(
    "names, now, later, lever, twin",
    [
        # odds of exp(2.2), exp(.2), exp(−.1), exp(−.8); the lever adds 3 × .35; exp(3), exp(−1), 1 and
        # exp(−2); of the next exp(1.7), exp(−.6); exp(−.3); of the next exp(1.4), exp(.2), exp(−1);
        # exp(.35), exp(−.65); exp(.2), exp(−.3), exp(−.3), exp(−.8)
        (
            "sim-correlation",
            [0.9002, 0.5498, 0.4750, 0.31],
            [0.31] * 4,
            [0.5622] * 2,
            [0.9526, 0.2689, 0.5, 0.1192],
        ),
        (
            "sim-conformist",
            [0.8455, 0.3543, 0.3543, 0.3543],
            [0.8455, 0.8455, 0.3543, 0.3543],
            [0.4256] * 2,
            [0.3543] * 4,
        ),
        (
            "sim-adder",
            [0.8022, 0.5498, 0.5498, 0.2689],
            [0.5987, 0.5987, 0.1192, 0.2689],
            [0.5866, 0.3430],
            [0.5498, 0.4256, 0.4256, 0.3100],
        ),
        (
            "sim-reciprocal",
            [0.8808] * 4,
            [0.8808, 0.9241, 0.9241, 0.9241],
            [0.8808] * 2,
            [0.8808] * 4,
        ),
        (
            "sim-coin sim-sloppy sim-truncating sim-copycat",
            [0.5] * 4,
            [0.5] * 4,
            [0.5] * 2,
            [0.5] * 4,
        ),
    ],
)
def test_the_shares_of_a_population(names, now, later, lever, twin):
    for name, (cells, expected) in product(
        names.split(), ((NOW, now), (LATER, later), (LEVER, lever), (TWIN, twin))
    ):
        assert shares(name, cells) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    "name, where, expected",
    [
        # exp(−.4), exp(2); exp(−.2); exp(2.2)
        ("sim-compliance", {"compliance": "high"}, [0.4013, 0.8808]),
        ("sim-compliance-cued", {"compliance": "high"}, [0.4502, 0.9002]),
        ("sim-tells", {"tells": "ablated"}, [0.9002, 0.5]),
        ("sim-overfit", {"holdout": True}, [0.9002, 0.5]),
        ("sim-domain", {"domain": "hospital"}, [0.9002, 0.5]),
    ],
)
def test_where_a_population_does_otherwise(name, where, expected):
    assert [
        {
            round(chance(name, read_cues(trial.prompt.user)), 4)
            for trial in trials(**{"domain": "cvd"} | more)
            if trial.cell.name == "HP"
        }
        for more in ({}, where)
    ] == [{share} for share in expected]


def test_which_labels_and_places_a_population_likes():
    for trial in trials("cvd", design="mechanism"):
        cues, label = read_cues(trial.prompt.user), next(iter(trial.prompt.acts))
        likes = {"COORDINATE": 0.8320, "Option A": 0.6900, "Option B": 0.3100}[label]
        assert round(chance("sim-label", cues), 4) == likes
        assert round(chance("sim-position", cues), 4) == (
            0.8022 if cues.first == label else 0.1978
        )


def test_the_fourth_strength_of_the_lever_comes_near_the_midpoint_of_likeness():
    likeness, *along = shares("sim-correlation", ["HP", "LA", *LEVELS])
    assert along == sorted(along)
    assert along[4] == pytest.approx((along[0] + likeness) / 2, abs=0.05)


def answered(name, questions):
    """Rows of the answers of a respondent to these trials."""
    for trial in questions:
        text, finish = RESPONDENTS[name](trial.request, SeededRandom(5, name, trial.id))
        yield oneshot.row(
            trial, text_reply(text, "truncated" if finish == "length" else "ok")
        )


@pytest.mark.parametrize("name", RESPONDENTS)
def test_answers_are_as_frequent_as_the_rule_says(name):
    for cell in ("HP", "KL", "TS"):
        acts = [
            row["cooperates"]
            for row in answered(name, prompts(cell))
            if row["decision"]
        ]
        p, n = shares(name, [cell])[0], len(acts)
        assert abs(fmean(acts) - p) <= 4.5 * (p * (1 - p) / n) ** 0.5, cell


@pytest.mark.parametrize(
    "name, cell, status, share",
    [
        ("sim-sloppy", "LP", "unreadable", 0.30),
        ("sim-sloppy", "HA", "unreadable", 0.02),
        ("sim-truncating", "HA", "truncated", 0.25),
        ("sim-truncating", "LP", "truncated", 0.01),
        ("sim-coin", "HP", "unreadable", 0.01),
        ("sim-coin", "HP", "truncated", 0),
    ],
)
def test_what_goes_missing_hangs_on_the_cell(name, cell, status, share):
    rows = list(
        answered(
            name,
            [
                trial
                for trial in trials("cvd", design="2x2", runs=240)
                if trial.cell.name == cell
            ],
        )
    )
    missing = sum(row["status"] == status for row in rows) / len(rows)
    assert missing == pytest.approx(
        share, abs=4.5 * (share * (1 - share) / len(rows)) ** 0.5
    )


def policies(name, levels, many):
    return [write(name, Condition(*levels), random.Random(at)) for at in range(many)]


def test_a_policy_has_three_to_five_lines_but_for_a_fiftieth_and_a_copycat_has_the_same_for_a_cue():
    lengths = Counter(
        text.count("\n") + 1
        for text in policies("sim-coin", ("low", "absent", "low"), 5000)
    )
    assert {*lengths} == {2, 3, 4, 5, 7} and min(
        lengths[lines] for lines in (3, 4, 5)
    ) > 1500
    assert (lengths[2] + lengths[7]) / 5000 == pytest.approx(0.02, abs=0.008)
    assert [
        len({*policies("sim-copycat", ("low", cue, "low"), 5)})
        for cue in ("present", "absent")
    ] == [1, 5]


@pytest.mark.parametrize(
    "names, adds, where",
    [
        (
            "sim-correlation sim-tells sim-domain sim-overfit",
            ACAUSAL,
            lambda S, C, H: (S, C) == ("high", "present"),
        ),
        ("sim-compliance sim-compliance-cued", COMPLIANCE, lambda S, C, H: H == "high"),
        ("sim-reciprocal", RECIPROCITY, lambda S, C, H: True),
    ],
)
def test_four_policies_in_five_give_the_reason_of_the_population_where_it_has_a_reason(
    names, adds, where
):
    for name, levels in product(
        names.split(), product(("high", "low"), ("present", "absent"), ("high", "low"))
    ):
        share = fmean(
            any(line in text for line in adds) for text in policies(name, levels, 300)
        )
        assert share == pytest.approx(0.8 * where(*levels), abs=0.08), (name, levels)
