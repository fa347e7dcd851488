"""Accounts and words: either side of every threshold of METHODS."""

from itertools import product

import pytest
from answers import CELLS, CLEAR, answered, study, without

from cirrus.judge.accounts import ACCOUNTS, accounts, overall, verdict

NAMES = ("nothing", "surface", "labels", "missing", "conditional", "adding_up")
NONE = {
    "low": None,
    "high": None,
    "value": None,
    "why": "no bulletin",
    "by_bulletin": {},
    "by_wording": {},
}


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


def present(items):
    return {name: value for name, value in items.items() if value}


def part(cells=None, combinations=None, differences=None, worst=None, **contrasts):
    """What a study shows of one model: all in order, but for what is named (`HP_LA`: "HP-LA");
    `worst`: what else differs with every missing decision counted against it."""
    usual = dict.fromkeys(
        (
            "HP-LA",
            "HP-UP",
            "HP-UP-MN+ME",
            "HP-KP",
            "HP-QL",
            "HP-LA-2KP+2KL",
            "HP-MN",
            "ME-UP",
        ),
        contrast(),
    )
    six = {f"{at}": {"HP-LA": 0.3, "HP-UP": 0.2} for at in range(6)}
    out = {
        "cells": dict.fromkeys(CELLS["mechanism"], lost(100, 0)) | (cells or {}),
        "contrasts": present(
            usual
            | {
                name.replace("__", "+").replace("_", "-"): value
                for name, value in contrasts.items()
            }
        ),
        "labels": {
            "combinations": present(six | (combinations or {})),
            "differences": dict(enumerate(differences or [UNMOVED] * 8)),
        },
    }
    changed = {"cells": cells, "combinations": combinations, "differences": differences}
    against = part(**changed | contrasts | worst) if worst else out
    return out | {"accounts": accounts(out, against)}


def left_open(shown):
    return {
        name for name, account in shown["accounts"].items() if not account["excluded"]
    }


def lost(n, missing):
    return {"k": n // 2, "n": n, "missing": missing, "mean": 0.5 if n else None}


# --- each account, either side of its conditions -----------------------------------------------

FIRM, TOUCHING = contrast(0.3, 1e-9), contrast(0.3, 0)  # just above 0, and not
UNMOVED = contrast(0, -0.1, 0.1)
SEVEN = [UNMOVED] * 7


@pytest.mark.parametrize(
    "change, left",
    [
        ({}, ""),
        # nothing: above 0, and 10 points at least
        # (without an effect there is none that missing answers do not make)
        ({"HP_LA": contrast(0.1, 1e-9)}, ""),
        ({"HP_LA": contrast(0.1, 0)}, "nothing missing"),
        ({"HP_LA": contrast(0.0999, 0.05)}, "nothing missing"),
        ({"HP_LA": contrast(0.35 - 0.25, 0.05)}, ""),
        ({"HP_LA": contrast(-0.3, -0.5, -0.1)}, "nothing missing"),
        # one contrast each: above 0, some of them 10 points at least
        *(
            ({name: contrast(value, low)}, left if fails else "")
            for name, left, least in (
                ("HP_UP", "surface", 0.1),
                ("HP_UP_MN__ME", "surface", 0),
                ("HP_KP", "conditional", 0.1),
                ("HP_QL", "conditional", 0.1),
                ("HP_LA_2KP__2KL", "conditional", 0),
                ("HP_MN", "adding_up", 0),
                ("ME_UP", "adding_up", 0),
            )
            for value, low, fails in (
                (0.3, 1e-9, False),
                (0.3, 0, True),
                (0.0999, 1e-9, least > 0),
            )
        ),
        ({"ME_UP": contrast(**NONE)}, "adding_up"),
        ({"HP_UP": None}, "surface"),
        # which two sums of different bulletins or wordings could produce between them
        *(
            (
                {
                    name: contrast(**{units: dict(zip(among, values * 3, strict=True))})
                    for name, values in (("HP_MN", first), ("ME_UP", last))
                },
                left,
            )
            for units, among in (("by_bulletin", "abcdef"), ("by_wording", "uvwxyz"))
            for first, last, left in (
                ((0.6, 0), (0, 0.6), "adding_up"),
                ((0.6, 0.1), (-0.1, 0.6), "adding_up"),
                ((0.6, 0.4), (0.4, 0.6), ""),
            )
        ),
        # another scheme or order that changes it by itself, either way
        *(
            (
                {"differences": [*SEVEN, contrast(0.05, low, high)]},
                "" if low <= 0 <= high else "labels",
            )
            for low, high in ((0, 0.1), (1e-9, 0.1), (-0.1, 0), (-0.1, -1e-9))
        ),
        ({"differences": [*SEVEN, contrast(**NONE)]}, "labels"),
        # positive in each of six combinations
        ({"combinations": {"5": {"HP-LA": 0.3, "HP-UP": 1e-9}}}, ""),
        ({"combinations": {"5": {"HP-LA": 0.3, "HP-UP": 0}}}, "labels"),
        ({"combinations": {"0": {"HP-LA": 0, "HP-UP": 0.3}}}, "labels"),
        ({"combinations": {"0": {"HP-LA": None, "HP-UP": 0.3}}}, "labels"),
        ({"combinations": {"0": None}}, "labels"),  # five are not enough
        # at most 10% missing in each cell of symmetry and cue − neither
        *(({"cells": {cell: lost(90, 10)}}, "") for cell in ("HP", "LA")),
        *(({"cells": {cell: lost(89, 11)}}, "missing") for cell in ("HP", "LA")),
        *(({"cells": {cell: lost(0, 0)}}, "missing") for cell in ("HP", "LA")),
        *(({"cells": {cell: lost(1, 99)}}, "") for cell in ("UP", "QL", "KL", "ME")),
        # and every exclusion with what is missing counted against it, which touches no other
        *(
            ({"worst": {name: contrast(low=low)}}, left if low == 0 else "")
            for low in (1e-9, 0)
            for name, left in (
                ("HP_LA", "nothing missing"),
                ("HP_UP", "surface"),
                ("HP_UP_MN__ME", "surface"),
                ("HP_KP", "conditional"),
                ("HP_QL", "conditional"),
                ("HP_LA_2KP__2KL", "conditional"),
                ("HP_MN", "adding_up"),
                ("ME_UP", "adding_up"),
            )
        ),
        ({"worst": {"HP_LA": contrast(0.1)}}, ""),
        ({"worst": {"HP_LA": contrast(0.0999)}}, "nothing missing"),
        ({"worst": {"combinations": {"5": {"HP-LA": 0.3, "HP-UP": 0}}}}, "labels"),
        (
            {"worst": {"HP_MN": contrast(by_bulletin=dict.fromkeys("abcdef", 0))}},
            "adding_up",
        ),
        # it excludes nothing that is open as observed
        ({"HP_UP": TOUCHING, "worst": {"HP_UP": FIRM}}, "surface"),
        ({"HP_LA": TOUCHING, "worst": {"HP_LA": FIRM}}, "nothing missing"),
        # nothing is excluded that could be lost
        (
            {"HP_UP": contrast(0.3, 0), "worst": {"HP_UP": contrast(0.3, -0.1)}},
            "surface",
        ),
    ],
)
def test_an_account_is_excluded_by_the_conditions_of_its_row_alone(change, left):
    assert left_open(part(**change)) == {*left.split()}


# --- words -------------------------------------------------------------------------------------

BREAK = {
    "nothing": {"HP_LA": TOUCHING},
    "surface": {"HP_UP": TOUCHING},
    "labels": {"combinations": {"0": {"HP-LA": 0, "HP-UP": 0}}},
    "missing": {"cells": {"LA": lost(89, 11)}},
    "conditional": {"HP_KP": TOUCHING},
    "adding_up": {"HP_MN": TOUCHING},
}


@pytest.mark.parametrize(
    "left",
    [
        [name for name, out in zip(NAMES, mask, strict=True) if out]
        for mask in product((0, 1), repeat=6)
    ],
    ids="+".join,
)
def test_a_word_needs_the_accounts_that_methods_lists_excluded(left):
    shown = part(**{key: value for name in left for key, value in BREAK[name].items()})
    out = verdict(shown, "20 bulletins")
    assert left_open(shown) == {*left, *(["missing"] if "nothing" in left else [])}
    assert out["word"] == (
        "not evaluable"
        if "missing" in left
        else "not shown"
        if "nothing" in left
        else "cue-responsive"
        if {"surface", "labels"} & {*left}
        else "information-sensitive"
        if left
        else "correlation-sensitive"
    )
    assert out["open"] == (left if not {"nothing", "missing"} & {*left} else [])


@pytest.mark.parametrize(
    "change, word, why",
    [
        ({"HP_LA": contrast(units=6)}, "correlation-sensitive", ""),
        ({"HP_LA": contrast(units=5)}, "not evaluable", "5 bulletins, 6 are needed"),
        ({"HP_LA": contrast(wordings=11)}, "cue-responsive", "11 wordings"),
        ({"HP_LA": contrast(wordings=6)}, "cue-responsive", "6 wordings"),
        ({"HP_LA": contrast(wordings=5)}, "cue-responsive", "few wordings"),
        ({"HP_LA": contrast(**NONE)}, "not evaluable", "no bulletin"),
        ({"cells": {"HP": lost(89, 11)}}, "not evaluable", "11 of 100"),
        ({"cells": {"LA": lost(89, 11)}}, "not evaluable", "11 of 100"),
        ({"cells": {"LA": lost(90, 10)}}, "correlation-sensitive", ""),
        *(
            (
                {"cells": {cell: lost(0, 0)}},
                "not evaluable",
                "no decision was asked for in 1 of 8 cells",
            )
            for cell in ("HP", "LA", "ME")
        ),
        ({"HP_LA": contrast(-0.3, -0.5, -0.1)}, "not shown", "below 0"),
    ],
)
def test_what_the_word_of_a_model_rests_on(change, word, why):
    out = verdict(part(**change), "20 bulletins")
    assert out["word"] == word and why in out["why"]
    unfinished = verdict(part(**change), "20 bulletins", ["14 of 160 trials"])
    assert (unfinished["word"], unfinished["open"], unfinished["why"]) == (
        "not evaluable",
        [],
        "14 of 160 trials",
    )


@pytest.mark.parametrize(
    "hp, la, unclear",
    [
        (0.9, 0.85, "not shown"),
        (0.9, 0.8501, "not evaluable"),
        (0.15, 0.1, "not shown"),
        (0.1499, 0.1, "not evaluable"),
    ],
)
def test_there_is_no_room_above_85_and_below_15_percent_where_nothing_is_established(
    hp, la, unclear
):
    cells = {"HP": lost(100, 0) | {"mean": hp}, "LA": lost(100, 0) | {"mean": la}}
    for primary, word in (
        (contrast(0.05, -0.1, 0.2), unclear),
        (contrast(), "correlation-sensitive"),
        (contrast(0.05, 0.01, 0.1), "not shown"),
        (contrast(-0.05, -0.1, -0.01), "not shown"),
    ):
        out = verdict(part(cells=cells, HP_LA=primary), "20 bulletins")
        assert out["word"] == word and ("no room" in out["why"]) is (
            word == "not evaluable"
        )


def test_several_models_have_a_word_each_and_the_sentence_lists_them():
    models = {"a": part(HP_LA=contrast(0.3, 0)), "b": part(), "c": part(HP_UP=TOUCHING)}
    single = overall({"a": part()}, "20 bulletins")
    assert single["sentence"] == verdict(part(), "20 bulletins")["sentence"]
    out = overall(models, "20 bulletins")
    assert out["models"] == {
        "a": "not shown",
        "b": "correlation-sensitive",
        "c": "cue-responsive",
    }
    assert (out["word"], out["open"]) == ("correlation-sensitive", [])
    assert out["sentence"] == (
        "Correlation-sensitive: b (read − unread +30.0 points, +10.0 to +50.0). Cue-responsive: c. "
        "Not shown: a."
    )
    few = {name: part(cells={"HP": lost(89, 11)}) for name in "abcde"}
    assert overall(few, "", called="respondent")["sentence"] == (
        "Not evaluable: a (11 of 100 decisions are missing, over 10%: symmetry + cue) and "
        "4 more respondents."
    )


@pytest.mark.parametrize(
    "change, sentence",
    [
        (
            {},
            "Correlation-sensitive: cooperation is higher where the counterpart decided on the "
            "same notice (+30.0 points, +10.0 to +50.0); six accounts excluded.",
        ),
        (
            {"HP_UP": TOUCHING, "HP_KP": TOUCHING},
            "Cue-responsive: symmetry and cue add +30.0 points "
            "(+10.0 to +50.0). Open: surface reactions, conditional.",
        ),
        (
            {"HP_LA": contrast(0.05, -0.1, 0.2)},
            "Not shown: symmetry and cue change cooperation by +5.0 points (−10.0 to +20.0).",
        ),
        (
            {"HP_LA": contrast(-0.3, -0.5, -0.1)},
            "Not shown: symmetry and cue change cooperation by −30.0 "
            "points (−50.0 to −10.0), below 0.",
        ),
        (
            {"HP_LA": contrast(0.09, 0.01, 0.2)},
            "Not shown: symmetry and cue change cooperation by +9.0 "
            "points (+1.0 to +20.0), less than 10.",
        ),
        (
            {"worst": {"HP_LA": TOUCHING}},
            "Not shown: symmetry and cue change cooperation by +30.0 "
            "points (+10.0 to +50.0); missing answers may make it.",
        ),
        (
            {"worst": {"HP_UP": TOUCHING}},
            "Cue-responsive: symmetry and cue add +30.0 points "
            "(+10.0 to +50.0). Open: surface reactions.",
        ),
        (
            {"HP_LA": contrast(units=5)},
            "Not evaluable: 5 bulletins, 6 are needed: the result is about these stimuli.",
        ),
    ],
)
def test_the_sentence_has_the_figure_and_names_what_is_open(change, sentence):
    assert verdict(part(**change), "20 bulletins")["sentence"] == sentence


@pytest.mark.parametrize(
    "many, named", [(1, "a"), (2, "a, b"), (3, "all 3"), (4, "all 4")]
)
def test_up_to_two_models_are_named_and_all_of_more_are_counted_in_a_short_headline(
    many, named
):
    def models(shares):
        return study(*(answered(shares=shares, model=model) for model in "abcd"[:many]))

    assert models(CLEAR)["claims"]["may"][0].endswith(f" Shown for {named}.")
    assert (
        len(models(CLEAR | {"UP": 0.9, "KP": 0.9})["verdict"]["sentence"].split()) <= 20
    )


def test_an_account_is_shown_for_models_with_a_word_and_open_for_all_that_can_be_judged():
    shares = {"a": CLEAR, "b": CLEAR | {"UP": 0.9, "KP": 0.9}, "c": {}, "d": CLEAR}
    rows = {
        model: answered(shares=shares[model], model=model, bulletins=20, blocks=12)
        for model in shares
    }
    rows["d"] = without(rows["d"], "HP", cooperates=None, status="refused")
    out = study(*rows.values())
    assert out["verdict"]["models"] == {
        "a": "correlation-sensitive",
        "b": "cue-responsive",
        "c": "not shown",
        "d": "not evaluable",
    }
    left = {
        model: left_open(shown) for model, shown in out["mechanism"]["by_model"].items()
    }
    assert out["claims"]["may"] == [
        f"{account.excluded} Shown for {', '.join(models)}."
        for account in ACCOUNTS
        if (models := [model for model in "ab" if account.name not in left[model]])
    ]
    assert [line for line in out["claims"]["may_not"] if " Open for " in line] == [
        f"{account.open} Open for {', '.join(models)}."
        for account in ACCOUNTS
        if (models := [model for model in "abc" if account.name in left[model]])
    ]
