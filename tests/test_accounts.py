"""Accounts and words: either side of every threshold of METHODS."""

import pytest
from answers import CELLS, CLEAR, answered, study, without

from cirrus.judge.accounts import accounts, overall, verdict

UNKNOWN = {"low": None, "high": None, "value": None, "why": "no bulletin"}
EMPTY = UNKNOWN | {"by_bulletin": {}, "by_wording": {}}
CONTRASTS = (
    "HP-LA",
    "HP-UP",
    "HP-UP-MN+ME",
    "HP-KP",
    "HP-QL",
    "HP-LA-2KP+2KL",
    "HP-MN",
    "ME-UP",
)


def contrast(value=0.3, low=0.1, high=0.5, units=20, wordings=12, **more):
    return {
        "label": "a − b",
        "value": value,
        "low": low,
        "high": high,
        "level": 0.95,
        "units": units,
        "wordings": wordings,
        "why": None,
        "bounds": {"low": low, "high": high},
        "by_bulletin": dict.fromkeys("abcdef", value),
        "by_wording": dict.fromkeys("uvwxyz", value),
    } | more


def lost(n, missing):
    return {"k": n // 2, "n": n, "missing": missing, "mean": 0.5 if n else None}


FIRM, TOUCHING = contrast(0.3, 1e-9), contrast(0.3, 0)  # just above 0, and not
NOTHING = {}
UNMOVED = contrast(0, -0.1, 0.1)
ALIKE = {"HP-LA": 0.3, "HP-UP": 0.2}


def evidence(cells=NOTHING, combinations=NOTHING, differences=(), **contrasts):
    """What a study shows of one model, all in order but for what is named; None: it lacks that."""
    six = dict.fromkeys("012345", ALIKE) | combinations
    eight = [*differences, *[UNMOVED] * 8][:8]
    held = dict.fromkeys(CONTRASTS, contrast()) | contrasts
    return {
        "cells": dict.fromkeys(CELLS["mechanism"], lost(100, 0)) | cells,
        "contrasts": {name: each for name, each in held.items() if each},
        "labels": {
            "combinations": {name: each for name, each in six.items() if each},
            "differences": dict(enumerate(eight)),
        },
    }


def part(worst=NOTHING, **change):
    """The same with its accounts; `worst`: what else differs with what is missing set against it."""
    shown = evidence(**change)
    return shown | {"accounts": accounts(shown, evidence(**change | worst))}


def left_open(shown):
    names = []
    for name, account in shown["accounts"].items():
        if not account["excluded"]:
            names.append(name)
    return names


def check(change, left):
    assert left_open(part(**change)) == left.split()


# --- each account, either side of its conditions -----------------------------------------------

# contrast → the account that it excludes, and whether 10 points at least are asked for
OF_ONE_CONTRAST = {
    "HP-UP": ("surface", True),
    "HP-UP-MN+ME": ("surface", False),
    "HP-KP": ("conditional", True),
    "HP-QL": ("conditional", True),
    "HP-LA-2KP+2KL": ("conditional", False),
    "HP-MN": ("adding_up", False),
    "ME-UP": ("adding_up", False),
}
# Without an effect there is none that missing answers do not make.
EFFECTS = [
    (contrast(0.1, 1e-9), ""),
    (contrast(0.1, 0), "nothing missing"),
    (contrast(0.0999, 0.05), "nothing missing"),
    (contrast(0.35 - 0.25, 0.05), ""),
    (contrast(-0.3, -0.5, -0.1), "nothing missing"),
]


@pytest.mark.parametrize("primary, left", EFFECTS)
def test_an_effect_lies_above_0_and_is_10_points_at_least(primary, left):
    check({"HP-LA": primary}, left)
    check({"worst": {"HP-LA": primary}}, left)


@pytest.mark.parametrize("name", OF_ONE_CONTRAST)
def test_an_account_is_excluded_by_a_contrast_of_its_own_and_no_other_is(name):
    account, large = OF_ONE_CONTRAST[name]
    check({name: FIRM}, "")
    check({name: TOUCHING}, account)
    check({name: contrast(0.0999, 1e-9)}, account if large else "")
    check({name: None}, account)
    check({name: contrast(**EMPTY)}, account)
    # with what is missing counted against it, which excludes nothing that is open as observed
    check({"worst": {name: FIRM}}, "")
    check({"worst": {name: TOUCHING}}, account)
    check({name: TOUCHING, "worst": {name: FIRM}}, account)


# What two sums of different bulletins or wordings could produce between them.
IN_PLACES = [((0.6, 0), (0, 0.6), "adding_up"), ((0.6, 0.4), (0.4, 0.6), "")]


@pytest.mark.parametrize("unit, names", [("bulletin", "abcdef"), ("wording", "uvwxyz")])
@pytest.mark.parametrize("first, last, left", IN_PLACES)
def test_what_adds_up_needs_both_in_the_same_places(unit, names, first, last, left):
    change = {}
    for contrasted, values in (("HP-MN", first), ("ME-UP", last)):
        by_unit = dict(zip(names, values * 3, strict=True))
        change[contrasted] = contrast(**{f"by_{unit}": by_unit})
    check(change, left)
    check({"worst": change}, left)


LABELS = [
    # another scheme or order that changes it by itself, either way
    ({"differences": [contrast(0.05, 0, 0.1)]}, ""),
    ({"differences": [contrast(0.05, 1e-9, 0.1)]}, "labels"),
    ({"differences": [contrast(-0.05, -0.1, -1e-9)]}, "labels"),
    ({"differences": [contrast(**EMPTY)]}, "labels"),
    # positive in each of six combinations
    ({"combinations": {"5": {"HP-LA": 0.3, "HP-UP": 1e-9}}}, ""),
    ({"combinations": {"5": {"HP-LA": 0.3, "HP-UP": 0}}}, "labels"),
    ({"combinations": {"0": {"HP-LA": None, "HP-UP": 0.3}}}, "labels"),
    ({"combinations": {"0": None}}, "labels"),
]
MISSING = [
    ({"LA": lost(90, 10)}, ""),
    ({"LA": lost(89, 11)}, "missing"),
    ({"HP": lost(0, 0)}, "missing"),
    ({"UP": lost(1, 99)}, ""),
]


@pytest.mark.parametrize("change, left", LABELS)
def test_labels_are_excluded_by_each_scheme_and_order(change, left):
    check(change, left)
    if "combinations" in change:
        check({"worst": change}, left)


@pytest.mark.parametrize("cells, left", MISSING)
def test_at_most_a_tenth_is_missing_in_each_cell_of_symmetry_and_cue(cells, left):
    check({"cells": cells}, left)


# --- words -------------------------------------------------------------------------------------

NO_LABELS = {"combinations": {"0": {"HP-LA": 0, "HP-UP": 0}}}
# what is broken, the word, what is open beside it
WORDS = [
    ({}, "correlation-sensitive", []),
    ({"HP-KP": TOUCHING}, "information-sensitive", ["conditional"]),
    ({"HP-UP": TOUCHING}, "cue-responsive", ["surface"]),
    (NO_LABELS | {"HP-KP": TOUCHING}, "cue-responsive", ["labels", "conditional"]),
    ({"HP-LA": TOUCHING}, "not shown", []),
    ({"HP-LA": contrast(-0.3, -0.5, -0.1)}, "not shown", []),
    ({"cells": {"LA": lost(89, 11)}}, "not evaluable", []),
]
WHYS = [
    ({"HP-LA": contrast(units=5)}, "not evaluable", "5 bulletins, 6 are needed"),
    ({"HP-LA": contrast(wordings=11)}, "cue-responsive", "11 wordings"),
    ({"HP-LA": contrast(wordings=5)}, "cue-responsive", "few wordings"),
    ({"HP-LA": contrast(**EMPTY)}, "not evaluable", "no bulletin"),
    ({"cells": {"ME": lost(0, 0)}}, "not evaluable", "asked for in 1 of 8 cells"),
]


@pytest.mark.parametrize("change, word, open_", WORDS)
def test_a_word_needs_the_accounts_that_methods_lists_excluded(change, word, open_):
    out = verdict(part(**change), "20 bulletins")
    assert (out["word"], out["open"]) == (word, open_)


@pytest.mark.parametrize("change, word, why", WHYS)
def test_what_the_word_of_a_model_rests_on(change, word, why):
    out = verdict(part(**change), "20 bulletins")
    assert out["word"] == word and why in out["why"]
    out = verdict(part(**change), "20 bulletins", ["14 of 160 trials"])
    assert (out["word"], out["why"]) == ("not evaluable", "14 of 160 trials")
    assert out["open"] == []


ROOM = [
    (0.9, 0.85, "not shown"),
    (0.9, 0.8501, "not evaluable"),
    (0.15, 0.1, "not shown"),
    (0.1499, 0.1, "not evaluable"),
]


@pytest.mark.parametrize("hp, la, unclear", ROOM)
def test_there_is_no_room_above_85_and_below_15_percent_where_nothing_is_established(
    hp, la, unclear
):
    cells = {"HP": lost(100, 0) | {"mean": hp}, "LA": lost(100, 0) | {"mean": la}}
    primary = contrast(0.05, -0.1, 0.2)
    assert verdict(part(cells=cells, **{"HP-LA": primary}), "")["word"] == unclear
    assert verdict(part(cells=cells), "")["word"] == "correlation-sensitive"


def test_of_many_models_one_is_named_and_the_others_are_counted():
    few = {name: part(cells={"HP": lost(89, 11)}) for name in "abcde"}
    assert overall(few, "", called="respondent")["sentence"] == (
        "Not evaluable: a (11 of 100 decisions are missing, over 10%: symmetry + cue) and "
        "4 more respondents."
    )
    best = overall({"f": part()} | few, "")["sentence"]
    assert best == (
        "Correlation-sensitive: f (read − unread +30.0 points, +10.0 to +50.0). "
        "Not evaluable: 5 models."
    )


CHANGE = "Not shown: symmetry and cue change cooperation by"
CUE = "Cue-responsive: symmetry and cue add +30.0 points (+10.0 to +50.0). Open:"
SENTENCES = [
    (
        {},
        "Correlation-sensitive: cooperation is higher where the counterpart decided on the "
        "same notice (+30.0 points, +10.0 to +50.0); 6 accounts excluded.",
    ),
    ({"HP-UP": TOUCHING, "HP-KP": TOUCHING}, f"{CUE} surface reactions, conditional."),
    (
        {"HP-LA": contrast(0.05, -0.1, 0.2)},
        f"{CHANGE} +5.0 points (−10.0 to +20.0).",
    ),
    (
        {"HP-LA": contrast(-0.3, -0.5, -0.1)},
        f"{CHANGE} −30.0 points (−50.0 to −10.0), below 0.",
    ),
    (
        {"HP-LA": contrast(0.09, 0.01, 0.2)},
        f"{CHANGE} +9.0 points (+1.0 to +20.0), less than 10.",
    ),
    (
        {"worst": {"HP-LA": TOUCHING}},
        f"{CHANGE} +30.0 points (+10.0 to +50.0); missing answers may make it.",
    ),
    (
        {"HP-LA": contrast(units=5)},
        "Not evaluable: 5 bulletins, 6 are needed: the result is about these stimuli.",
    ),
]


@pytest.mark.parametrize("change, sentence", SENTENCES)
def test_the_sentence_has_the_figure_and_names_what_is_open(change, sentence):
    assert verdict(part(**change), "20 bulletins")["sentence"] == sentence


def test_an_account_is_shown_for_models_with_a_word_and_open_for_all_that_can_be_judged():
    readers = {"a": CLEAR, "b": CLEAR | {"UP": 0.9, "KP": 0.9}, "c": {}, "d": CLEAR}
    rows = {}
    for model, shares in readers.items():
        rows[model] = answered(shares=shares, model=model, bulletins=20, blocks=12)
    rows["d"] = without(rows["d"], "HP", cooperates=None, status="refused")
    claims = study(*rows.values())["claims"]
    shown = [line.rpartition(". ")[2] for line in claims["may"]]
    assert shown[0] == "Shown for a, b." and "Shown for a." in shown
    said = " ".join(claims["may_not"])
    assert "desirability, timing, control. Open for b, c." in said
    assert "or nothing that matters. Open for c." in said and "Open for a" not in said
