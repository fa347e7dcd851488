"""What a pilot, a mechanism study and a tournament may say: either side of every threshold."""

import pytest

from cirrus.judge import mechanism, rivals
from cirrus.judge import pilot as judge
from cirrus.judge.effects import NAMES
from cirrus.judge.study import study_claims
from cirrus.judge.verdict import REQUIRED

HP, _, _, LA = NAMES.values()


def contrast(value=.3, low=.1, high=.5, lowest=None, **more):
    return {"label": "the contrast", "value": value, "low": low, "high": high, "units": 10,
            "why": None, "bounds": {"lowest": low if lowest is None else lowest, "highest": high,
                                    "low": value, "high": value}} | more


def pilot(trials=120, answered=120, read=118, usd=1.0, unknown=0, missing=1, shares=(.8, .5),
          primary=None, size=(.8, .6), interaction=None, word="cue-responsive", bulletins=10,
          labels=(True, 0), **more):
    """An analysis with everything in order, but for what is named."""
    cells = {name: {"k": 20, "n": 20 - missing, "missing": missing, "mean": .5}
             for name in NAMES.values()}
    cells[HP]["mean"], cells[LA]["mean"] = shares
    primary = (primary or contrast()) | {"d": {"value": size[0], "low": size[1], "high": 2.0}}
    return {"simulated": False, "outcomes": {"answered": answered, "read": read,
                                             "read_share": read / trials},
            "design": {"trials": trials, "seed": 1, "models": ["m"], "bulletins": bulletins},
            "cost": {"usd": usd, "unknown": unknown, "why": None},
            "pooled": {"cells": cells, "effects": {"primary": primary},
                       "interaction": interaction or contrast(.2, .05, .4)},
            "missing": {"primary": primary["bounds"]},
            "labels": {"rule": {"holds": labels[0], "why": "not in each order"},
                       "largest_difference": labels[1]},
            "verdict": {"word": word, "why": "because", "open": []}} | more


# --- the specification's six criteria ----------------------------------------------------------

COMPLETE, READ, EFFECT, INTERACTION, COST, REPEATED = range(6)


@pytest.mark.parametrize("at, given, met", [
    (COMPLETE, {}, True), (COMPLETE, {"trials": 119, "answered": 119, "read": 118}, False),
    (COMPLETE, {"trials": 121, "answered": 120}, False),
    (READ, {"read": 114}, False), (READ, {"read": 115}, True),          # exactly 95%, and above
    (EFFECT, {"size": (.5, .1)}, False), (EFFECT, {"size": (.5001, .1)}, True),
    (EFFECT, {"size": (None, None)}, False), (EFFECT, {"size": (-.8, -1.2)}, False),
    (EFFECT, {"size": (None, None), "shares": (1, 0)}, True),           # nothing overlaps
    (EFFECT, {"size": (None, None), "shares": (1, .05)}, False),
    (EFFECT, {"size": (None, None), "shares": (.95, 0)}, False),
    (INTERACTION, {"interaction": contrast(.1)}, True),
    (INTERACTION, {"interaction": contrast(.35 - .25)}, True),          # .09999999999999998
    (INTERACTION, {"interaction": contrast(.0999)}, False),
    (INTERACTION, {"interaction": contrast(None, None, None)}, False),
    (COST, {"usd": 2.999}, True), (COST, {"usd": 3.0}, False), (COST, {"unknown": 1}, None),
    *((at, given, None) for at in (EFFECT, INTERACTION) for given in (
        {"trials": 121}, {"missing": 2})),        # unfinished; 10% of a cell can't be read
    *((at, {"missing": 1}, True) for at in (EFFECT, INTERACTION)),      # exactly 5% is allowed
])
def test_each_criterion_on_either_side_of_its_threshold(at, given, met):
    assert judge.success(pilot(**given), (120, 120))[at]["met"] is met


@pytest.mark.parametrize("cell", NAMES.values())
def test_one_cell_that_can_t_be_read_is_enough_to_judge_no_effect(cell):
    out = pilot()
    out["pooled"]["cells"][cell]["missing"] = 2
    assert [row["met"] for row in judge.success(out, None)][EFFECT:COST] == [None, None]


@pytest.mark.parametrize("redealt, met", [
    ((120, 120), True), ((1, 1), True), ((119, 120), False), ((0, 0), False), (None, None)])
def test_reproducible_is_said_where_every_question_is_dealt_again(redealt, met):
    assert judge.success(pilot(), redealt)[REPEATED]["met"] is met


def test_each_figure_stands_beside_its_criterion():
    figures = [row["figure"] for row in judge.success(pilot(), (119, 120))]
    assert figures == [
        "120 of 120 answered", "118 of 120 (98.3%)", "d = +0.80 (+0.60 to +2.00)",
        "+20.0 points, 95% interval +5.0 to +40.0", "$1.00",
        "119 of 120 questions dealt again from seed 1, same by SHA-256"]
    apart = judge.success(pilot(size=(None, None), shares=(1, 0)), None)
    assert apart[EFFECT]["figure"] == "the two sides don't overlap: δ = +0.30 (+0.10 to +0.50)"
    assert apart[REPEATED]["figure"] == "not checked"
    assert judge.success(pilot(size=(None, None)), None)[EFFECT]["figure"] == "no effect size"


# --- the positive sentences of a pilot ---------------------------------------------------------

PRACTICAL, FURTHER, PATTERN = "of practical interest", "warrant further", "interaction pattern"


@pytest.mark.parametrize("given, said", [
    ({}, [PRACTICAL, FURTHER, PATTERN]),
    ({"word": "not shown"}, [PRACTICAL, FURTHER, PATTERN]),
    ({"word": "not evaluable"}, []),
    ({"size": (.8, .5)}, [FURTHER, PATTERN]),
    ({"size": (.8, .5001)}, [PRACTICAL, FURTHER, PATTERN]),
    ({"size": (None, None)}, [FURTHER, PATTERN]), ({"size": (.8, -.6)}, [FURTHER, PATTERN]),
    ({"size": (None, None), "shares": (1, 0)}, [PRACTICAL, FURTHER, PATTERN]),
    ({"primary": contrast(low=0)}, [PATTERN]), ({"primary": contrast(low=1e-9)},
                                               [PRACTICAL, FURTHER, PATTERN]),
    ({"primary": contrast(lowest=0)}, [PATTERN]),   # established only if nothing were missing
    ({"primary": contrast(-.3, -.5, -.1)}, [PATTERN]),
    ({"interaction": contrast(.2, 0)}, [PRACTICAL, FURTHER]),
    ({"interaction": contrast(.2, .1, lowest=0)}, [PRACTICAL, FURTHER]),
    ({"interaction": contrast(-.2, -.3, -.1)}, [PRACTICAL, FURTHER]),
])
def test_a_positive_sentence_needs_its_interval(given, said):
    may = list(judge.pilot_may(pilot(**given)))
    assert len(may) == len(said) and all(words in line for words, line in
                                         zip(said, may, strict=True))
    assert all("%" in line or "(+" in line for line in may)


@pytest.mark.parametrize("given, words, said", [
    ({"simulated": True}, "SIMULATED", True), ({}, "SIMULATED", False),
    ({"word": "not evaluable"}, "Anything about the effect: because", True),
    ({"verdict": {"word": "cue-responsive", "why": "", "open": ["length", "tone"]}},
     "That these rivals are excluded: length; tone.", True), ({}, "rivals are excluded", False),
    ({}, "Anything about the effect", False),
    ({}, "A direction", False), ({"primary": contrast(low=0)}, "A direction", True),
    ({"primary": contrast(-.3, -.5, -1e-9)}, "A direction", False),
    ({"primary": contrast(-.3, -.5, 0)}, "A direction", True),
    ({"primary": contrast(None, None, None)}, "A direction", True),
    ({}, "An interaction:", False), ({"interaction": contrast(.2, 0)}, "An interaction:", True),
    ({"interaction": contrast(-.2, -.4, -.1)}, "An interaction:", False),
    ({"bulletins": 6}, "these stimuli", False), ({"bulletins": 5}, "5 bulletins", True),
    ({}, "missing decisions don't matter", True),
    ({"primary": contrast(bounds={"lowest": .1, "highest": .1})}, "don't matter", False),
    ({"primary": contrast(bounds={"lowest": None, "highest": .1})}, "don't matter", False),
    ({}, "neither word, letter nor place", False),
    ({"labels": (False, 0)}, "neither word, letter nor place: not in each order", True),
    ({"labels": (True, .02)}, "Invariance to labels", False),
    ({"labels": (True, .52 - .50)}, "Invariance to labels", False),   # .020000000000000018
    ({"labels": (True, .0201)}, "Invariance to labels: cooperation differs by 2.0", True),
    ({"labels": (True, None)}, "Invariance to labels", False),
    ({}, "additive in logits", True), ({}, "A word above “cue-responsive”", True),
    ({}, "1 model asked, on 10 bulletins of one domain", True),
])
def test_what_a_pilot_may_not_say(given, words, said):
    lines = judge.pilot_claims(pilot(**given))["may_not"]
    assert any(words in line for line in lines) is said


def test_a_share_is_described_where_there_is_one():
    out = pilot()
    assert judge.pilot_claims(out)["described"] == [
        "With symmetry and cue 20 of 19 decisions were cooperative (80.0%).",
        "With neither 20 of 19 decisions were cooperative (50.0%)."]
    out["pooled"]["cells"][LA]["n"] = 0
    assert len(judge.pilot_claims(out)["described"]) == 1


# --- a mechanism study --------------------------------------------------------------------------

def firm(name, rival, scale="probability"):
    return {"label": rival.label, "excludes": rival.excludes, "scale": scale, "value": .2,
            "low": .05, "high": .35, "p": .01, "units": 10, "against": ["b1"], "unreadable": 0.0,
            "bounds": {"lowest": .02}, "why": None}


def part(word="cue-responsive", lacks=(), opened=(), **change):
    """A model's evidence with everything in order, but for what is named."""
    contrasts = {name: firm(name, rival) for name, rival in rivals.CONTRASTS.items()}
    contrasts["log-odds"] = firm("log-odds", rivals.LOG_ODDS, "log-odds")
    for name, new in change.items():
        contrasts[name.replace("_", "-")] |= new
    return {"contrasts": contrasts, "labels": {"why": "not in each order", "holds": True},
            "required": dict.fromkeys(REQUIRED, True) | dict.fromkeys(lacks, False),
            "verdict": {"word": word, "open": list(opened)}}


def study(*parts, trials=90, answered=90, design=(), word="cue-responsive", simulated=False):
    return {"simulated": simulated, "outcomes": {"answered": answered},
            "design": {"trials": trials} | dict(design),
            "verdict": {"word": word, "why": "because", "scope": "10 bulletins of one domain"},
            "mechanism": {"by_model": dict(zip("mno", parts, strict=False))}}


FIGURE = ("symmetry and cue − neither is +20.0 points (95% interval +5.0 to +35.0 over 10 "
          "bulletins, 1 of them the other way)")


@pytest.mark.parametrize("parts, said", [
    ([part()], 1), ([part("correlation-sensitive")], 1),
    ([part("not shown")], 0), ([part("not evaluable")], 0),
    ([part(HP_LA={"p": .0499})], 1), ([part(HP_LA={"p": .05})], 0),
    ([part(HP_LA={"p": .03})] * 2, 0), ([part(HP_LA={"p": .02})] * 2, 2),   # Holm over models
    ([part("not shown", HP_LA={"p": None}), part(HP_LA={"p": .04})], 1)])
def test_a_model_s_effect_is_said_by_its_word_and_its_adjusted_p(parts, said):
    lines = list(mechanism._may(study(*parts)))
    assert len(lines) == said and all(FIGURE in line for line in lines)


@pytest.mark.parametrize("change, named", [
    ({}, True), ({"HP_RV": {"low": 0.0}}, False), ({"HP_RV": {"bounds": {"lowest": 0.0}}}, False),
    ({"HP_LA": {"value": .0999}}, True)])
def test_an_account_is_called_excluded_where_its_contrast_holds_at_worst(change, named):
    [line] = mechanism._may(study(part(**change)))
    assert (rivals.CONTRASTS["HP-RV"].excludes in line) is named
    assert ("nothing that matters" in line) is ("HP_LA" not in change)
    assert "; ." not in line and "; ;" not in line   # what excludes nothing is not listed


@pytest.mark.parametrize("answered, change, said", [
    (90, {}, True), (89, {}, False), (90, {"HP_LA": {"low": 0.0}}, False),
    (90, {"interaction": {"bounds": {"lowest": 0.0}}}, False)])
def test_held_out_bulletins_replicate_where_all_is_answered_and_both_contrasts_stand(
        answered, change, said):
    out = study(part("not evaluable", **change), answered=answered, design={"holdout": True})
    lines = list(mechanism._may(out))
    assert len(lines) == said and all("m replicates on held-out bulletins" in line
                                      and line.count("over 10 bulletins") == 2 for line in lines)
    assert not list(mechanism._may(study(part("not evaluable"))))


@pytest.mark.parametrize("lacks, change, why", [
    ([], {}, []),
    (["HP-LP", "missing"], {}, ["HP − LP is not established at the size that matters (+20.0 points,"
                                " 95% interval +5.0 to +35.0)"]),
    (["log-odds"], {}, ["log-odds is not established at the size that matters "
                        "(+0.20, +0.05 to +0.35)"]),
    (["HP-UN"], {"HP_UN": {"value": None, "why": "no unit"}},
     ["HP − UN is not established at the size that matters (no unit)"]),
    (["scale"], {}, ["a rule or a lot lowers cooperation by itself (+20.0 points, 95% interval +5.0"
                     " to +35.0), so that reactions may add up on some scale"]),
    (["labels"], {}, ["not in each order"]),
    (["missing"], {}, ["with missing decisions counted against it a contrast is not established"]),
    (["readable"], {}, ["more than 2% of the decisions of a contrast are missing"])])
def test_what_a_higher_word_lacks_is_named_with_its_figure(lacks, change, why):
    one = part(lacks=lacks, **change)
    assert mechanism.why_not(one) == why
    lines = list(mechanism._may_not(study(one)))
    assert (f"m, “correlation-sensitive”: {'; '.join(why)}." in lines) is bool(why)


@pytest.mark.parametrize("given, words, said", [
    ({"simulated": True}, "SIMULATED", True), ({}, "SIMULATED", False),
    ({"word": "not evaluable"}, "Anything about the effect: because.", True),
    ({}, "Anything about the effect", False), ({}, "rivals are excluded", False),
    ({}, "Anything beyond 10 bulletins of one domain, one-shot decisions, decided on the first "
         "line, default effort.", True),
    ({"design": {"reason": "first", "reasoning_effort": "low"}},
     "considerations written first, low.", True), ({}, "two rivals averaged", True),
    ({}, "29 of 48 respondents without the mechanism got it", True)])
def test_what_a_mechanism_study_may_not_say(given, words, said):
    lines = list(mechanism._may_not(study(part(), **given)))
    assert any(words in line for line in lines) is said
    left = list(mechanism._may_not(study(part(opened=["updateless reasoning"]))))
    assert "m, that these rivals are excluded: updateless reasoning." in left


@pytest.mark.parametrize("change, scale, holds", [
    ({}, True, True), ({}, False, False), ({"interaction": {"low": 0.0}}, True, False),
    ({"log_odds": {"bounds": {"lowest": 0.0}}}, True, False)])
def test_adding_up_is_excluded_on_both_scales_and_where_a_lot_alone_lowers_nothing(
        change, scale, holds):
    one = part(lacks=[] if scale else ["scale"], **change)
    effects = mechanism._effects(one, {"compliance": "low"})
    assert effects["adding_up"] is holds and effects["H_low"] is effects["primary"]
    assert mechanism._effects(one, {"compliance": "high"})["H_low"] is None
    for name, cells in (("primary", "HP-LA"), ("S_at_C_present", "HP-LP"),
                        ("C_at_S_high", "HP-HA"), ("HP-RV", "HP-RV"), ("HP-UN", "HP-UN")):
        assert effects[name] is one["contrasts"][cells]


# --- the tournament ----------------------------------------------------------------------------

def gate(verdict, **more):
    return {"title": "Holdout", "established": {"verdict": verdict, "figure": "+3.0 points"},
            "next": None} | more


def tournament(effects=(), gates=(), wires=(), **more):
    every = {name: contrast(label=name, p_holm=.5) for name in ("S", "C", "SxC", "H")}
    every |= {"primary": contrast()} | dict(effects)
    return {"simulated": False, "verdict": {"word": "cue-responsive", "why": "because", "open": [],
                                            "sentence": "Cue-responsive: so."},
            "established": {"effects": every, "labels": {"holds": True, "why": None}},
            "gates": list(gates), "tripwires": list(wires), "limits": [],
            "primary": {"met": True, "design": {"value": .3}, "why": "both"},
            "registration": {"kind": "confirmatory", "why": ""},
            "markers": {}} | more


@pytest.fixture(autouse=True)
def no_markers(monkeypatch):
    for name in ("may", "may_not"):
        monkeypatch.setattr(f"cirrus.markers.agreement.{name}", lambda markers: [])


@pytest.mark.parametrize("effects, gates, more, said", [
    ({}, [], {}, 0),
    ({"S": contrast(label="S", p_holm=.0499)}, [], {}, 1),
    ({"S": contrast(label="S", p_holm=.05)}, [], {}, 0),
    ({"S": contrast(label="S", p_holm=None)}, [], {}, 0),
    ({"S": contrast(.3, 0, .5, label="S", p_holm=.01)}, [], {}, 0),     # interval and p must agree
    ({"S": contrast(-.3, -.5, -.1, label="S", p_holm=.01)}, [], {}, 1),
    ({}, [gate("pass")], {}, 1), ({}, [gate("fail"), gate("undecided"), gate("not evaluable")],
                                  {}, 0),
    ({"S": contrast(label="S", p_holm=.01)}, [gate("pass")],
     {"verdict": {"word": "not evaluable", "why": "x", "open": [], "sentence": "No."}}, 0),
])
def test_positive_sentences_of_a_tournament(effects, gates, more, said):
    out = study_claims(tournament(effects, gates, **more))
    assert len(out["may"]) == said and out["headline"].startswith(("Cue", "No"))


@pytest.mark.parametrize("given, words, said", [
    ({"simulated": True}, "SIMULATED", True), ({}, "SIMULATED", False),
    ({"registration": {"kind": "exploratory", "why": "no register"}},
     "“Confirmatory”: no register.", True), ({}, "“Confirmatory”", False),
    ({"limits": ["One model only."]}, "One model only.", True),
    ({"primary": {"met": False, "design": {"value": .3}, "why": "p = .2"}},
     "That the endpoint is met as specified: p = .2.", True),
    ({"primary": {"met": None, "design": {"value": .3}, "why": "no fit"}},
     "That the endpoint is met as specified: no fit.", True),
    ({"primary": {"met": False, "design": {"value": None}, "why": ""}}, "endpoint is met", False),
    ({}, "endpoint is met", False),
    ({"gates": [gate("undecided")]}, "Holdout: undecided (+3.0 points).", True),
    ({"gates": [gate("not evaluable", next="run this")]}, "(+3.0 points). Next: run this", True),
    ({"gates": [gate("pass")]}, "Holdout", False),
    ({"wires": [{"tripped": True, "title": "Position", "figure": "9 of 10"}]},
     "That the instrument played no part: position: 9 of 10.", True),
    ({"wires": [{"tripped": False, "title": "Position", "figure": "5 of 10"},
                {"tripped": None, "title": "Position", "figure": "no"}]}, "no part", False),
    ({"effects": {"primary": contrast(bounds={"low": .1, "high": .3})}}, "don't matter", True),
    ({}, "don't matter", False), ({}, "additive in logits", True),
    ({"established": {"effects": tournament()["established"]["effects"],
                      "labels": {"holds": False, "why": "not in L2"}}},
     "neither word, letter nor place: not in L2", True), ({}, "nor place", False),
])
def test_what_a_tournament_may_not_say(given, words, said):
    lines = study_claims(tournament(**given))["may_not"]
    assert any(words in line for line in lines) is said
