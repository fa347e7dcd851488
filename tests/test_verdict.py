"""The ladder of words: what each needs, on either side of every threshold, and rivals that earn
less than they look."""

import random
from itertools import product

import pytest

from cirrus.judge import verdict as v
from cirrus.judge.effects import HA, HP, LA, LP, Slot, label_rule, labels_excluded, slots
from cirrus.judge.pilot import analyse

CELLS = (HP, HA, LP, LA)


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


@pytest.mark.parametrize("hp, la, word", [
    ((19, 19, 1), (3, 20, 0), "cue-responsive"),     # exactly 5% missing
    ((18, 18, 1), (3, 20, 0), "not evaluable"),      # 5.3%
    ((19, 20, 0), (3, 18, 1), "not evaluable"),
    ((0, 0, 20), (3, 20, 0), "not evaluable"),
    ((0, 0, 0), (3, 20, 0), "not evaluable"),
])
def test_more_than_a_twentieth_unreadable_in_a_cell_of_the_contrast_is_not_evaluable(hp, la, word):
    assert v.judged({"primary": contrast()}, corners(hp, la))[0] == word


@pytest.mark.parametrize("hp, la, why", [
    ((5, 5, 5), (3, 20, 0), f"5 of 10 decisions {v.BOTH} are missing, more than 5%"),
    ((9, 20, 0), (3, 18, 2), f"2 of 20 decisions {v.NEITHER} are missing, more than 5%"),
    ((0, 0, 0), (3, 20, 0), f"no decision {v.BOTH} was asked for")])
def test_why_nothing_may_be_said_names_the_cell(hp, la, why):
    assert v.judged({"primary": contrast()}, corners(hp, la))[1] == why


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


SIZE = "+30.0 points, 95% interval +10.0 to +50.0 over 10 bulletins"


@pytest.mark.parametrize("effects, begins", [
    ({}, f"Cue-responsive: cooperation differs by {SIZE} between symmetry with cue and neither; to "
         "which of the two is not shown. Open: obedience"),
    ({"primary": contrast(low=-.1)}, "Not shown: the primary contrast's 95% interval over "
     f"bulletins includes 0 ({SIZE.replace('+10', '−10')})."),
    ({"primary": contrast(lowest=-.02)}, "Not shown: with the missing decisions counted against it "
     f"the primary contrast's interval reaches −2.0 points ({SIZE})."),
])
def test_the_sentence_of_one_model_says_size_interval_and_units(effects, begins):
    assert v.verdict(findings(effects))["sentence"].startswith(begins)


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

MODELS = ("a", "b", "c", "d")
SCHEMES = list(product(("L1", "L2", "L3"), ("cooperative-first", "other-first")))
BULLETIN = random.Random(8)
OWN = {f"b{n}": BULLETIN.gauss(0, .35) for n in range(10)}   # what a bulletin does to the cues
MEAN = sum(OWN.values()) / len(OWN)


def pilot(population, seed, runs=10):
    """A pilot of four models: `population(row, rng)` is a probability, or None: no readable
    answer."""
    rng, rows = random.Random(seed), []
    for at, model in enumerate(MODELS):
        for run in range(runs):
            scheme, order = SCHEMES[(run + at + seed) % 6]
            for s, c in CELLS:
                row = {"id": f"{model}/{run}/{s}{c}", "model": model, "run": run, "S": s, "C": c,
                       "H": "low", "bulletin": f"b{run % 10}", "variant": "v", "cost_usd": 0,
                       "label_scheme": scheme, "order": order, "text": "x", "served_model": model,
                       "provider": "p"}
                p = population(row, rng)
                y = None if p is None else int(rng.random() < p)
                rows.append(row | {
                    "cooperates": y, "status": "unreadable" if y is None else "ok",
                    "decision": {1: "COORDINATE", 0: "PREEMPT", None: None}[y]})
    config = {"models": list(MODELS), "seed": seed, "runs": runs, "compliance": "low"}
    return analyse(rows, {"config": config, "provider": "simulated"}, None)


def is_(row, cell):
    return (row["S"], row["C"]) == cell


COIN = {
    "coin": lambda row, rng: .5,
    "coin at .9": lambda row, rng: .9,
    "label-biased": lambda row, rng: .8 if row["label_scheme"] == "L1" else .3,
    "first-place": lambda row, rng: .8 if row["order"] == "cooperative-first" else .2,
    "bulletin × cue, mean zero": lambda row, rng: .5 + (OWN[row["bulletin"]] - MEAN) * (
        is_(row, HP) - is_(row, LA)),
    "answers that go missing by cell": lambda row, rng: None if rng.random() < .35 * (
        is_(row, HP)) else .5,
    "refuses to defect under the cue": lambda row, rng: (
        (.5 / .65 if rng.random() < .65 else None) if is_(row, HP) else .5),
    "backfires": lambda row, rng: .7 - .3 * is_(row, HP),
    "bulletins differ": lambda row, rng: min(.95, max(.05, .5 + OWN[row["bulletin"]])),
    "two models against two": lambda row, rng: .5 + .3 * is_(row, HP) * (
        1 if row["model"] in "ab" else -1),
}


@pytest.mark.parametrize("population", COIN)
def test_no_effect_is_called_an_effect_in_at_most_one_pilot_of_twenty(population):
    """Twenty pilots: 3 or more false words have probability 1.3% at a true 2.5%."""
    said = [pilot(COIN[population], seed) for seed in range(20)]
    assert sum(out["verdict"]["word"] == "cue-responsive" for out in said) <= 2
    assert sum(bool(out["claims"]["may"]) for out in said) <= 3


RIVALS = {   # each reacts, but not for the reason that a higher word would name
    "the cue sentence alone": (lambda row, rng: .2 + .6 * (row["C"] == "present"),
                               "obedience to the cue sentence"),
    "symmetry alone": (lambda row, rng: .2 + .6 * (row["S"] == "high"),
                       "a reaction to symmetry alone"),
    "only while the label is a word": (
        lambda row, rng: .2 + .75 * is_(row, HP) * (row["label_scheme"] == "L1"),
        "the word, letter or place of the label"),
    "only where it stands first": (
        lambda row, rng: .2 + .75 * is_(row, HP) * (row["order"] == "cooperative-first"),
        "the word, letter or place of the label"),
    "both together": (lambda row, rng: .2 + .6 * is_(row, HP), "the length or tone of the notice"),
}


@pytest.mark.parametrize("rival", RIVALS)
def test_a_rival_is_at_most_cue_responsive_and_its_account_stays_open(rival):
    population, account = RIVALS[rival]
    for seed in range(3):
        out = pilot(population, seed)["verdict"]
        assert out["word"] in ("not shown", "cue-responsive")
        assert out["word"] != "cue-responsive" or account in out["open"]
        assert {"the length or tone of the notice", "conformity, norms or desirability",
                "reactions that merely add up"} <= set(out["open"]) or not out["open"]


def test_a_deterministic_superrational_pilot_is_cue_responsive_and_of_practical_interest():
    out = pilot(lambda row, rng: float(is_(row, HP)), 1)
    assert out["verdict"]["word"] == "cue-responsive"
    assert [row["met"] for row in out["success"][2:4]] == [True, True]
    assert "don't overlap: δ = +1.00" in out["success"][2]["figure"]
    assert any("practical interest" in line for line in out["claims"]["may"])


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


def test_the_label_rule_names_what_is_not_excluded():
    def table(p):
        rng = random.Random(3)
        return slots((Slot(f"b{b}", s, c, "low", "m", scheme, order),
                      int(rng.random() < p(s, c, scheme, order)))
                     for b in range(10) for scheme, order in SCHEMES for s, c in CELLS
                     for _ in range(6))
    assert label_rule(table(lambda s, c, *_: .2 + .6 * ((s, c) == HP)))["holds"]
    word = label_rule(table(lambda s, c, scheme, _: .2 + .7 * ((s, c) == HP) * (scheme == "L1")))
    assert not word["holds"] and "under letters" in word["why"] and "between schemes" in word["why"]
    place = label_rule(table(lambda s, c, _, order: .2 + .7 * ((s, c) == HP) * (order[0] == "c")))
    assert not place["holds"] and "in each order" in place["why"]


def test_a_word_that_a_mechanism_study_gave_asks_for_none():
    said = {word: list(v.left_open({"word": word, "open": [], "why": ""})) for word in v.WORDS}
    assert [any("needs the contrasts of a mechanism study" in sentence for sentence in said[word])
            for word in v.WORDS] == [True, True, True, False]
