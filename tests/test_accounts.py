"""Accounts and words: either side of every threshold of METHODS, and what holds of any study."""

import re
from itertools import product

import pytest
from answers import CELLS, CLEAR, answered, study
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cirrus.judge.accounts import ACCOUNTS, WORDS, accounts, verdict
from cirrus.judge.contrasts import CONTRASTS

NAMES = ("nothing", "blind", "labels", "missing", "conditional", "adding_up")
NONE = {"low": None, "high": None, "value": None, "why": "no bulletin", "by_bulletin": {},
        "by_wording": {}}


def test_every_account_rests_on_contrasts_that_are_computed_and_withholds_a_word():
    named = {name for account in ACCOUNTS for needed in account.conditions
             for name in needed.contrasts}
    assert named <= set(CONTRASTS) and {account.word for account in ACCOUNTS} <= set(WORDS)


def contrast(value=.3, low=.1, high=.5, units=20, wordings=12, **more):
    return {"label": "a − b", "value": value, "low": low, "high": high, "level": .95,
            "units": units, "wordings": wordings, "why": None,
            "bounds": {"low": low, "high": high},
            "by_bulletin": dict.fromkeys("abcdef", value),
            "by_wording": dict.fromkeys("uvwxyz", value)} | more


def part(cells=None, combinations=None, differences=None, worst=None, **contrasts):
    """What a study shows of one model: all in order, but for what is named (`HP_LA`: "HP-LA");
    `worst`: what else differs with every missing decision counted against it."""
    shown = {cell: {"k": 60, "n": 100, "missing": 0, "mean": .6} for cell in CELLS["mechanism"]}
    every = {name: contrast() for name in ("HP-LA", "HP-EP", "HP-KP", "HP-2KP+LA", "HP-MN",
                                           "ME-EP")} | {"KL-LA": contrast(0, -.1, .1)}
    six = {f"{at}": {"HP-LA": .3, "HP-EP": .2} for at in range(6)}
    out = {"cells": shown | (cells or {}), "contrasts": every | {
        name.replace("__", "+").replace("_", "-"): one for name, one in contrasts.items()},
        "labels": {"combinations": six | (combinations or {}), "differences": {
            str(at): one for at, one in enumerate(differences or [contrast(0, -.1, .1)] * 8)}}}
    out["contrasts"] = {name: one for name, one in out["contrasts"].items() if one}
    rule = out["labels"]["combinations"]
    out["labels"]["combinations"] = {place: values for place, values in rule.items() if values}
    changed = {"cells": cells, "combinations": combinations, "differences": differences}
    against = part(**changed | contrasts | worst) if worst else out
    return out | {"accounts": accounts(out, against)}


def opened(one):
    return {name for name, account in one["accounts"].items() if not account["excluded"]}


def lost(n, missing):
    return {"k": n // 2, "n": n, "missing": missing, "mean": .5 if n else None}


# --- each account, either side of its conditions -----------------------------------------------

FIRM, TOUCHING = contrast(.01, 1e-9), contrast(.3, 0)   # just above 0; its lower limit is 0
BOTH_WAYS = [contrast(0, -.1, .1)] * 7


@pytest.mark.parametrize("change, left", [
    ({}, ""),
    # nothing: above 0, and 10 points at least
    # (without an effect there is none that missing answers do not make)
    ({"HP_LA": contrast(.1, 1e-9)}, ""), ({"HP_LA": contrast(.1, 0)}, "nothing missing"),
    ({"HP_LA": contrast(.0999, .05)}, "nothing missing"), ({"HP_LA": contrast(.35 - .25, .05)}, ""),
    ({"HP_LA": contrast(-.3, -.5, -.1)}, "nothing missing"),
    # one contrast each, above 0
    ({"HP_EP": FIRM}, ""), ({"HP_EP": TOUCHING}, "blind"),
    ({"HP_KP": FIRM}, ""), ({"HP_KP": TOUCHING}, "conditional"),
    ({"HP_2KP__LA": FIRM}, ""), ({"HP_2KP__LA": TOUCHING}, "conditional"),
    ({"HP_MN": FIRM}, ""), ({"HP_MN": TOUCHING}, "adding_up"),
    ({"ME_EP": FIRM}, ""), ({"ME_EP": TOUCHING}, "adding_up"),
    ({"ME_EP": contrast(**NONE)}, "adding_up"), ({"HP_EP": None}, "blind"),
    # which two sums of different bulletins or wordings could produce between them
    *(({name: contrast(**{units: dict(zip(among, values * 3, strict=True))})
        for name, values in (("HP_MN", first), ("ME_EP", last))}, left)
      for units, among in (("by_bulletin", "abcdef"), ("by_wording", "uvwxyz"))
      for first, last, left in (((.6, 0), (0, .6), "adding_up"), ((.6, .1), (-.1, .6), "adding_up"),
                                ((.6, .4), (.4, .6), ""))),
    # a known entry that changes it by itself, either way
    ({"KL_LA": contrast(.05, 0, .1)}, ""), ({"KL_LA": contrast(.05, 1e-9, .1)}, "conditional"),
    ({"KL_LA": contrast(-.05, -.1, 0)}, ""), ({"KL_LA": contrast(-.05, -.1, -1e-9)}, "conditional"),
    ({"KL_LA": contrast(**NONE)}, "conditional"), ({"KL_LA": None}, "conditional"),
    # positive in each of six combinations, and no difference established
    ({"combinations": {"5": {"HP-LA": .3, "HP-EP": 1e-9}}}, ""),
    ({"combinations": {"5": {"HP-LA": .3, "HP-EP": 0}}}, "labels"),
    ({"combinations": {"0": {"HP-LA": 0, "HP-EP": .3}}}, "labels"),
    ({"combinations": {"0": {"HP-LA": None, "HP-EP": .3}}}, "labels"),
    ({"combinations": {"0": None}}, "labels"),   # five are not enough
    ({"differences": [*BOTH_WAYS, contrast(.1, 0, .2)]}, ""),
    ({"differences": [*BOTH_WAYS, contrast(.1, 1e-9, .2)]}, "labels"),
    ({"differences": [*BOTH_WAYS, contrast(-.1, -.2, 0)]}, ""),
    ({"differences": [*BOTH_WAYS, contrast(-.1, -.2, -1e-9)]}, "labels"),
    ({"differences": [*BOTH_WAYS, contrast(**NONE)]}, "labels"),
    # at most 10% missing in each cell
    *(({"cells": {cell: lost(90, 10)}}, "") for cell in ("HP", "EL", "KL")),
    *(({"cells": {cell: lost(89, 11)}}, "missing") for cell in ("HP", "EL", "KL")),
    ({"cells": {"ME": lost(0, 0)}}, "missing"), ({"cells": {"ME": lost(0, 9)}}, "missing"),
    # and every exclusion with what is missing counted against it
    *(({"worst": {name: contrast(low=low)}}, left) for low, left in ((1e-9, ""), (0, "missing"))
      for name in ("HP_LA", "HP_EP", "HP_2KP__LA", "ME_EP")),
    ({"worst": {"HP_LA": contrast(.1)}}, ""), ({"worst": {"HP_LA": contrast(.0999)}}, "missing"),
    ({"worst": {"differences": [contrast(.1, 1e-9, .2)]}}, "missing"),
    ({"worst": {"combinations": {"5": {"HP-LA": .3, "HP-EP": 0}}}}, "missing"),
    ({"worst": {"HP_MN": contrast(by_bulletin=dict.fromkeys("abcdef", 0))}}, "missing"),
    ({"worst": {"KL_LA": contrast(.05, 1e-9, .1)}}, "missing"),
    # nothing is excluded that could be lost
    ({"HP_EP": contrast(.3, 0), "worst": {"HP_EP": contrast(.3, -.1)}}, "blind")])
def test_an_account_is_excluded_by_its_own_conditions_alone(change, left):
    assert opened(part(**change)) == {*left.split()}


@pytest.mark.parametrize("change, why", [
    ({}, "a − b: +30.0 points, 95% interval +10.0 to +50.0"),
    ({"HP_EP": contrast(**NONE)}, "a − b: no bulletin")])
def test_an_account_says_the_figure_that_it_rests_on_or_why_there_is_none(change, why):
    assert part(**change)["accounts"]["blind"]["why"] == why


# --- words -------------------------------------------------------------------------------------

BREAK = {"nothing": {"HP_LA": TOUCHING}, "blind": {"HP_EP": TOUCHING},
         "labels": {"combinations": {"0": {"HP-LA": 0, "HP-EP": 0}}},
         "missing": {"cells": {"KL": lost(89, 11)}}, "conditional": {"HP_KP": TOUCHING},
         "adding_up": {"HP_MN": TOUCHING}}


@pytest.mark.parametrize("left", [[name for name, out in zip(NAMES, mask, strict=True) if out]
                                  for mask in product((0, 1), repeat=6)], ids="+".join)
def test_a_word_needs_the_accounts_that_methods_lists_excluded(left):
    one = part(**{key: value for name in left for key, value in BREAK[name].items()})
    out = verdict(one, "20 bulletins")
    assert opened(one) == {*left, *(["missing"] if "nothing" in left else [])}
    assert out["word"] == ("not shown" if {"nothing", "missing"} & {*left} else
                           "cue-responsive" if {"blind", "labels"} & {*left} else
                           "decider-sensitive" if left else "correlation-sensitive")
    assert out["open"] == (left if out["word"] != "not shown" else [])


@pytest.mark.parametrize("change, word, why", [
    ({"HP_LA": contrast(units=6)}, "correlation-sensitive", ""),
    ({"HP_LA": contrast(units=5)}, "not evaluable", "5 bulletins, 6 are needed"),
    ({"HP_LA": contrast(wordings=11)}, "cue-responsive", "11 wordings"),
    ({"HP_LA": contrast(wordings=6)}, "cue-responsive", "6 wordings"),
    ({"HP_LA": contrast(wordings=5)}, "not evaluable", "5 wordings, 6 are needed"),
    ({"HP_LA": contrast(**NONE)}, "not evaluable", "no bulletin"),
    ({"cells": {"HP": lost(89, 11)}}, "not evaluable", "11 of 100"),
    ({"cells": {"LA": lost(89, 11)}}, "not evaluable", "11 of 100"),
    ({"cells": {"LA": lost(90, 10)}}, "correlation-sensitive", ""),
    *(({"cells": {cell: lost(0, 0)}}, "not evaluable", "no decision was asked for in 1 of 8 cells")
      for cell in ("HP", "LA", "ME")),
    ({"HP_LA": contrast(-.3, -.5, -.1)}, "not shown", "below 0")])
def test_what_a_word_of_one_model_rests_on(change, word, why):
    out = verdict(part(**change), "20 bulletins")
    assert out["word"] == word and why in out["why"]
    unfinished = verdict(part(**change), "20 bulletins", ["14 of 160 trials"])
    assert (unfinished["word"], unfinished["open"], unfinished["why"]) == (
        "not evaluable", [], "14 of 160 trials")


@pytest.mark.parametrize("hp, la, unclear", [
    (.9, .85, "not shown"), (.9, .8501, "not evaluable"),
    (.15, .1, "not shown"), (.1499, .1, "not evaluable")])
def test_no_room_is_said_above_85_and_below_15_percent_where_nothing_is_established(
        hp, la, unclear):
    cells = {"HP": lost(100, 0) | {"mean": hp}, "LA": lost(100, 0) | {"mean": la}}
    for primary, word in ((contrast(.05, -.1, .2), unclear), (contrast(), "correlation-sensitive"),
                          (contrast(.05, .01, .1), "not shown"),
                          (contrast(-.05, -.1, -.01), "not shown")):
        out = verdict(part(cells=cells, HP_LA=primary), "20 bulletins")
        assert out["word"] == word and ("no room" in out["why"]) is (word == "not evaluable")


def test_several_models_have_a_word_each_and_the_sentence_is_of_the_highest():
    models = {"a": part(HP_LA=contrast(.3, 0)), "b": part(), "c": part(HP_EP=TOUCHING)}
    two = verdict(None, "20 bulletins", models={"a": part(), "b": part()})
    assert two["sentence"].startswith("Correlation-sensitive, 2 of 2 models: a +30.0 points")
    out = verdict(None, "20 bulletins", models=models)
    assert out["models"] == {"a": "not shown", "b": "correlation-sensitive", "c": "cue-responsive"}
    assert (out["word"], out["open"]) == ("correlation-sensitive", [])
    assert out["sentence"] == (
        "Correlation-sensitive, 1 of 3 models: b +30.0 points (+10.0 to +50.0).")
    few = {name: part(cells={"HP": lost(89, 11)}) for name in "ab"}
    assert verdict(None, "", models=few)["sentence"] == (
        "Not evaluable, 2 of 2 models: a: 11 of 100 decisions with symmetry and cue are missing, "
        "over 10%.")


@pytest.mark.parametrize("change, sentence", [
    ({}, "Correlation-sensitive: symmetry and cue add +30.0 points (+10.0 to +50.0)."),
    ({"HP_EP": TOUCHING, "HP_KP": TOUCHING}, "Cue-responsive: symmetry and cue add +30.0 points "
     "(+10.0 to +50.0). Open: blind reactions, conditional cooperation."),
    ({"HP_LA": contrast(.05, -.1, .2)},
     "Not shown: symmetry and cue change cooperation by +5.0 points (−10.0 to +20.0)."),
    ({"HP_LA": contrast(-.3, -.5, -.1)}, "Not shown: symmetry and cue change cooperation by −30.0 "
     "points (−50.0 to −10.0), below 0."),
    ({"HP_LA": contrast(.09, .01, .2)}, "Not shown: symmetry and cue change cooperation by +9.0 "
     "points (+1.0 to +20.0), less than 10."),
    ({"worst": {"HP_EP": TOUCHING}}, "Not shown: symmetry and cue change cooperation by +30.0 "
     "points (+10.0 to +50.0); missing answers may make it."),
    ({"HP_LA": contrast(units=5)},
     "Not evaluable: 5 bulletins, 6 are needed: the result is about these stimuli.")])
def test_the_sentence_has_the_figure_and_names_what_is_open(change, sentence):
    assert verdict(part(**change), "20 bulletins")["sentence"] == sentence


# --- what holds of any study -------------------------------------------------------------------

CODE = re.compile(r"\b(HP|HA|LP|LA|EP|EL|KP|KL|MN|ME|L\d|TS|TO|TP|SxC)\b")
SHARE = st.sampled_from((0, .05, .2, .3, .4, .5, .7, .9, 1))
PATTERNS = st.one_of(
    st.just(CLEAR), st.sampled_from(sorted(CLEAR)).flatmap(
        lambda cell: SHARE.map(lambda share: CLEAR | {cell: share})),
    st.fixed_dictionaries({cell: SHARE for cells in CELLS.values() for cell in cells}))
STUDIES = st.fixed_dictionaries({
    "design": st.sampled_from([*CELLS, "mechanism", "2x2"]),
    "patterns": st.lists(PATTERNS, min_size=1, max_size=3), "bulletins": st.sampled_from((5, 12)),
    "blocks": st.sampled_from((3, 6)), "seed": st.integers(0, 99)})
MANY = settings(max_examples=40, suppress_health_check=list(HealthCheck))


def rows_of(design, patterns, **size):
    return [row for model, shares in zip("abcd", patterns, strict=False)
            for row in answered(design, shares, model=model, **size)]


def excluded(out, design):
    return {(model, name) for model, one in out[design]["by_model"].items()
            for name, account in one["accounts"].items() if account["excluded"]}


def listed(sentences, ending):
    """{(model, account)} of the sentences that name models after `ending`."""
    names = {text: one.name for one in ACCOUNTS for text in (one.excluded, one.open)}
    return {(model, names[words]) for words, found, models in (
        sentence.rpartition(f" {ending} for ") for sentence in sentences) if found
        for model in ("abc" if models == "all 3." else models.rstrip(".").split(", "))}


@pytest.mark.parametrize("many, named", [(1, "a"), (2, "a, b"), (3, "all 3"), (4, "all 4")])
def test_up_to_two_models_are_named_and_all_of_more_are_counted_in_a_short_headline(many, named):
    out = study(rows_of("mechanism", [CLEAR] * many))
    assert out["claims"]["may"][0].endswith(f" Shown for {named}.")
    out = study(rows_of("mechanism", [CLEAR | {"EP": .9, "KP": .9}] * many))
    assert len(out["verdict"]["sentence"].split()) <= 20


@MANY
@given(STUDIES, st.sampled_from((None, 3, 7)))
def test_an_account_stands_in_one_list_only_and_the_headline_is_short_and_plain(spec, every):
    rows = [row | ({"cooperates": None, "status": "refused"} if every and not at % every else {})
            for at, row in enumerate(rows_of(**spec))]
    out, name = study(rows, design=spec["design"]), spec["design"]
    may, may_not = listed(out["claims"]["may"], "Shown"), listed(out["claims"]["may_not"], "Open")
    true, words = excluded(out, name), out["verdict"]["models"]
    assert not may & may_not and may <= true and not may_not & true
    assert {model for model, _ in may} <= {m for m in words if WORDS.index(words[m]) > 1}
    assert {model for model, _ in may_not} <= {m for m in words if words[m] != "not evaluable"}
    if len(words) == 1 and WORDS.index(out["verdict"]["word"]) > 1:
        assert {("a", one) for one in out["verdict"]["open"]} == may_not == {
            ("a", one) for one in NAMES} - may
    level = 1 - .05 / len(words)
    assert {one["level"] for part in out[name]["by_model"].values()
            for key, one in part["contrasts"].items() if key != "KL-LA"} <= {level}
    headline = out["verdict"]["sentence"]
    assert not CODE.search(" ".join([headline, *out["claims"]["may"], *out["claims"]["may_not"]]))
    assert len(headline.split()) <= 20 and re.search(r"\d", headline)
