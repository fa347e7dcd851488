"""The ladder of words: what each needs, on either side of every threshold, and rivals that earn
less than they look."""

import random

import pytest

from cirrus.judge import verdict as v
from cirrus.judge.effects import labels_excluded


def contrast(value=.3, low=.1, high=.5, units=10, lowest=None, why=None):
    return {"value": value, "low": low, "high": high, "units": units, "why": why,
            "bounds": {"lowest": low if lowest is None else lowest}}


def corners(hp=(6, 10, 0), la=(3, 10, 0)):
    return {"HP": v.Corner(*hp), "LA": v.Corner(*la)}


# --- the three lower words ---------------------------------------------------------------------

@pytest.mark.parametrize("primary, word", [
    (contrast(low=1e-9), "cue-responsive"),
    (contrast(low=0), "not shown"),
    (contrast(low=-.1), "not shown"),
    (contrast(value=-.3, low=-.5, high=-.1), "not shown"),
    (contrast(lowest=0), "not shown"),           # established only if nothing were missing
    (contrast(lowest=-.1), "not shown"),
    (contrast(units=6), "cue-responsive"),
    (contrast(units=5), "not evaluable"),
    (contrast(value=None, low=None, high=None, units=0, why="no unit"), "not evaluable"),
    (contrast(value=None, low=None, high=None, units=0, lowest=.1, why="no unit"),
     "not evaluable"),
])
def test_a_word_rests_on_the_interval_of_the_primary_contrast(primary, word):
    assert v.judged({"primary": primary}, corners())[0] == word


@pytest.mark.parametrize("hp, la, why", [
    ((19, 19, 1), (3, 20, 0), None),     # exactly 5% missing
    ((18, 18, 1), (3, 20, 0), f"1 of 19 decisions {v.BOTH} are missing, more than 5%"),
    ((19, 20, 0), (3, 18, 1), f"1 of 19 decisions {v.NEITHER} are missing, more than 5%"),
    ((0, 0, 20), (3, 20, 0), f"20 of 20 decisions {v.BOTH} are missing, more than 5%"),
    ((0, 0, 0), (3, 20, 0), f"no decision {v.BOTH} was asked for")])
def test_more_than_a_twentieth_unreadable_in_a_cell_of_the_contrast_is_not_evaluable(hp, la, why):
    word, reason = v.judged({"primary": contrast()}, corners(hp, la))
    assert word == "not evaluable" and reason == why if why else word == "cue-responsive"


@pytest.mark.parametrize("hp, la, word", [
    ((90, 100, 0), (86, 100, 0), "not evaluable"), ((90, 100, 0), (85, 100, 0), "not shown"),
    ((14, 100, 0), (5, 100, 0), "not evaluable"), ((15, 100, 0), (5, 100, 0), "not shown"),
])
def test_no_room_is_said_above_85_and_below_15_percent_where_nothing_is_established(hp, la, word):
    unclear = contrast(value=.05, low=-.05, high=.15)
    assert v.judged({"primary": unclear}, corners(hp, la))[0] == word
    assert v.judged({"primary": contrast()}, corners(hp, la))[0] == "cue-responsive"
    below = contrast(value=-.1, low=-.2, high=-.01)
    assert v.judged({"primary": below}, corners(hp, la)) == (
        "not shown", "the primary contrast's 95% interval over bulletins lies below 0")


def findings(effects=None, models=None, unfinished=(), proofs=None, **more):
    effects = {"primary": contrast()} | (effects or {})
    models = models or {"m": {"primary": contrast()}}
    return v.Findings(effects, corners(), models, {name: corners() for name in models},
                      "10 bulletins of one domain", unfinished, proofs or {}, **more)


def test_an_unfinished_study_is_not_evaluable_whatever_it_holds():
    out = v.verdict(findings(unfinished=["14 of 80 trials"], proofs={"m": PROVEN}))
    assert out["word"] == "not evaluable" and out["open"] == [] and "14 of 80" in out["sentence"]
    assert out["models"] == {"m": "not evaluable"}


@pytest.mark.parametrize("closed, left", [
    ({}, ["obedience to the cue sentence", "a reaction to symmetry alone", "compliance",
          "the word, letter or place of the label"]),
    ({"S_at_C_present": contrast()}, ["a reaction to symmetry alone", "compliance",
                                      "the word, letter or place of the label"]),
    ({"S_at_C_present": contrast(low=0), "C_at_S_high": contrast(lowest=0)},
     ["obedience to the cue sentence", "a reaction to symmetry alone", "compliance",
      "the word, letter or place of the label"]),
    ({"S_at_C_present": contrast(), "C_at_S_high": contrast(), "H_low": contrast(),
      "labels": True}, []),
    ({"labels": False, "H_low": None}, ["obedience to the cue sentence",
                                        "a reaction to symmetry alone", "compliance",
                                        "the word, letter or place of the label"]),
])
def test_rivals_stay_open_until_their_own_contrast_excludes_them(closed, left):
    out = v.verdict(findings(closed))
    assert out["open"] == [*left, *v.BEYOND]
    assert all(rival in out["sentence"] for rival in out["open"])


@pytest.mark.parametrize("effects, said", [
    ({"C_at_S_high": contrast()}, "to the cue sentence, to symmetry not shown"),
    ({"S_at_C_present": contrast()}, "to symmetry, to the cue sentence not shown"),
    ({"C_at_S_high": contrast(), "S_at_C_present": contrast()},
     "to symmetry and to the cue sentence"),
    ({}, "to which of the two is not shown"),
    ({"H_low": contrast()}, "also where compliance pressure is low"),
    ({"H_low": contrast(low=-.1)}, "where compliance pressure is low not shown"),
])
def test_the_sentence_says_to_what_it_responds(effects, said):
    assert said in v.verdict(findings(effects))["sentence"]


def test_the_sentence_names_the_models_it_holds_for_and_those_that_point_the_other_way():
    out = v.verdict(findings(models={
        "a": {"primary": contrast()}, "b": {"primary": contrast(low=-.1)},
        "c": {"primary": contrast(value=-.1, low=-.4, high=.2)}}))
    assert out["models"] == {"a": "cue-responsive", "b": "not shown", "c": "not shown"}
    assert "by itself shown for a; c points the other way. Open" in out["sentence"]


@pytest.mark.parametrize("value", [0, 1e-9, None])
def test_a_model_without_an_effect_does_not_point_the_other_way(value):
    unclear = contrast(value=value, low=None if value is None else -.1, why="no unit")
    out = v.verdict(findings(models={"a": {"primary": contrast()}, "b": {"primary": unclear}}))
    assert "by itself shown for a. Open" in out["sentence"]


# --- the highest word --------------------------------------------------------------------------

REQUIRED = dict.fromkeys(v.REQUIRED, True)
PROVEN = v.Proof(REQUIRED, .001, 20)


def word(proof, **more):
    return v.verdict(findings(proofs={"m": proof}, **more))["word"]


def test_a_whole_proof_is_correlation_sensitive_and_what_stays_open_is_named():
    assert word(PROVEN) == v.WORDS[-1] == "correlation-sensitive"
    assert v.verdict(findings(proofs={"m": PROVEN}))["open"] == list(v.STAYS_OPEN)


@pytest.mark.parametrize("name", v.REQUIRED)
@pytest.mark.parametrize("state", [False, None, "missing"])
def test_leaving_out_or_failing_one_check_never_says_more(name, state):
    required = REQUIRED | {name: state}
    if state == "missing":
        del required[name]
    assert word(PROVEN._replace(required=required)) == "cue-responsive"


@pytest.mark.parametrize("proof, said", [
    (PROVEN._replace(units=10), "correlation-sensitive"),
    (PROVEN._replace(units=9), "cue-responsive"),
    (PROVEN._replace(p=.0499), "correlation-sensitive"),
    (PROVEN._replace(p=.05), "cue-responsive"),
    (PROVEN._replace(p=None), "cue-responsive")])
def test_ten_bulletins_and_five_percent_are_the_limits(proof, said):
    assert word(proof) == said


def test_several_models_share_the_level_by_holm():
    """p = .03 of two: 2 × .03 for the smaller, so neither; .02 and .03: .04 and .04."""
    def words(*p):
        names = [f"m{n}" for n in range(len(p))]
        proofs = {name: PROVEN._replace(p=q) for name, q in zip(names, p, strict=True)}
        return v.verdict(findings(models={name: {"primary": contrast()} for name in names},
                                  proofs=proofs))["models"]
    assert set(words(.03, .03).values()) == {"cue-responsive"}
    assert set(words(.02, .03).values()) == {"correlation-sensitive"}


def test_a_higher_word_is_a_model_s_own_and_names_it():
    out = v.verdict(findings(
        models={"a": {"primary": contrast()}, "b": {"primary": contrast(low=-.1)}},
        proofs={"a": PROVEN, "b": PROVEN}))
    # b's own primary contrast is not established: no proof lifts it
    assert out["models"] == {"a": "correlation-sensitive", "b": "not shown"}
    assert out["sentence"].startswith(
        "Correlation-sensitive, on 10 bulletins of one domain: cooperation of a depends")
    assert "(b: not shown)" in out["sentence"]


def test_a_whole_that_is_not_evaluable_has_no_word_though_a_model_has():
    study = findings(proofs={"m": PROVEN})._replace(corners=corners(la=(3, 18, 2)))
    out = v.verdict(study)
    assert (out["word"], out["models"]) == ("not evaluable", {"m": "correlation-sensitive"})


def test_the_word_of_the_whole_is_the_highest_of_a_model():
    both = {"models": {name: {"primary": contrast()} for name in "ab"},
            "proofs": {"a": PROVEN, "b": PROVEN._replace(units=9)}}
    out = v.verdict(findings(**both))
    assert (out["word"], out["models"]) == ("correlation-sensitive", {
        "a": "correlation-sensitive", "b": "cue-responsive"})


def test_without_a_proof_no_findings_reach_above_cue_responsive():
    """Whatever a pilot or a tournament hands in."""
    rng = random.Random(1)
    names = ["S_at_C_present", "C_at_S_high", "H_low"]
    for _ in range(500):
        effects = {name: contrast(low=rng.uniform(-1, 1)) for name in names}
        effects |= {"labels": rng.random() < .5, "primary": contrast(low=rng.uniform(-.1, 1))}
        out = v.verdict(findings(effects))
        assert v.WORDS.index(out["word"]) <= v.WORDS.index("cue-responsive")
        assert v.WORDS.index(max(out["models"].values(), key=v.WORDS.index)) <= 2


# --- rivals: populations of a pilot's rows -----------------------------------------------------


UP, FLAT = contrast(), contrast(value=.05, low=0, high=.1)
DOWN = contrast(value=-.3, low=-.5, high=-.1)


def labels(letters=UP, schemes=(UP,) * 3, orders=(UP, UP), differences=(FLAT, FLAT)):
    named = (dict(enumerate(entries)) for entries in (schemes, orders, differences))
    return labels_excluded(letters, *named)


@pytest.mark.parametrize("given, why", [
    ({}, None), ({"schemes": (UP, UP)}, None), ({"differences": ()}, None),
    ({"letters": FLAT}, "not established under letters"),
    *(({"orders": orders}, "not established in each order") for orders in (
        (), (UP,), (UP, FLAT), (DOWN, UP))),
    *(({"schemes": schemes}, "not positive in each scheme") for schemes in (
        (), (UP,), (UP, UP, DOWN), (UP, contrast(value=0)), (contrast(value=None), UP))),
    ({"schemes": (UP, FLAT)}, None),
    *(({"differences": pairs}, "not without a difference between schemes") for pairs in (
        (FLAT, UP), (DOWN, FLAT))),
    ({"letters": FLAT, "orders": (UP,)},
     "not established under letters; not established in each order")])
def test_word_letter_and_place_are_excluded_by_four_checks(given, why):
    rule = labels(**given)
    assert (rule["why"], rule["holds"]) == (why, why is None)


def test_a_word_that_a_mechanism_study_gave_asks_for_none():
    said = {word: list(v.left_open({"word": word, "open": [], "why": ""})) for word in v.WORDS}
    assert [any("needs the contrasts of a mechanism study" in sentence for sentence in said[word])
            for word in v.WORDS] == [True, True, True, False]
