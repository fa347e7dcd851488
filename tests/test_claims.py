"""What may be said of synthetic studies, by METHODS alone: trials in, words and sentences out.

Each reader is a table {cell: chance of the cooperative act}; a study is 20 bulletins by 12 blocks.
"""

import json
import random
import re

import pytest
from answers import CELLS, ORDERS, SCHEMES, answered, study

from cirrus.judge.contrasts import cell_entry
from cirrus.judge.oneshot import LADDERS, Ladder
from cirrus.reports import pilot
from common.artifacts import canonical_json
from show.document import terminal

WORDS = (
    "not evaluable",
    "not shown",
    "cue-responsive",
    "information-sensitive",
    "correlation-sensitive",
)
ACCOUNTS = ("nothing", "surface", "labels", "missing", "conditional", "adding_up")
FLAT = dict.fromkeys(CELLS["mechanism"], 0.3)
SHARP = dict.fromkeys(CELLS["mechanism"], 0.03) | {"HP": 0.97, "MN": 0.5, "ME": 0.5}
OBEDIENT = FLAT | {"HP": 0.9, "UP": 0.9, "KP": 0.9}
# Cooperates the more, the surer it is: known entries most of all, then the record.
CONDITIONAL = FLAT | {"HP": 0.8, "UP": 0.45, "KP": 0.95, "KL": 0.95, "QL": 0.9}
# One sum, a step up for likeness, reading and the lever, through a rising curve.
ADDER = {"HP": 0.9, "LA": 0.3, "UP": 0.3, "KP": 0.3, "KL": 0.05, "QL": 0.3}
ADDER |= {"MN": 0.9, "ME": 0.3}
# Reads together, decides together, whatever is known of the other's entry.
SHARED_READING = FLAT | {"HP": 0.9, "KP": 0.9, "MN": 0.6, "ME": 0.6}
LOST = {"cooperates": None, "status": "unreadable", "read_from": ""}
SIZE = {"bulletins": 20, "blocks": 12}


def losing(rows, share, seed=0):
    """The rows without this share of answers, at random; what a smaller share loses, it loses too."""
    rng = random.Random(seed)
    return [row | LOST if rng.random() < share else row for row in rows]


def judged(shares, design="mechanism", lost=0.0, seed=1, **size):
    rows = answered(design, shares, seed=seed, **(SIZE | size))
    return study(losing(list(rows), lost, seed), design=design)


def part(out, model="m"):
    return out[out["design"]["design"]]["by_model"][model]


def word(out):
    return out["verdict"]["word"]


def rank(out):
    return WORDS.index(word(out))


def left_open(out, model="m"):
    accounts = part(out, model)["accounts"]
    return {name for name, account in accounts.items() if not account["excluded"]}


# --- words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("lost", [0, 0.02, 0.05])
@pytest.mark.parametrize("seed", range(3))
def test_a_sharp_reasoner_is_information_sensitive_also_where_answers_are_missing(
    lost, seed
):
    out = judged(SHARP, lost=lost, seed=seed)
    assert rank(out) >= WORDS.index("information-sensitive")
    assert lost or word(out) == "correlation-sensitive"


@pytest.mark.parametrize("seed", range(4))
def test_an_effect_that_stands_in_the_worst_case_is_never_not_shown(seed):
    """40 → 95%, 5% missing: what else is open takes no word away."""
    shares = {"HP": 0.95, "HA": 0.6, "LP": 0.6, "LA": 0.4}

    def by_label(cell, b, k):
        return shares[cell] if SCHEMES[2 * k % 3] != "L1" else 0.5

    out = judged(shares, "2x2", lost=0.05, seed=seed, bulletins=10, blocks=8)
    assert word(out) == "cue-responsive"
    by_scheme = judged(by_label, "2x2", lost=0.05, seed=seed, bulletins=10, blocks=18)
    assert (word(by_scheme), "labels" in left_open(by_scheme)) == (
        "cue-responsive",
        True,
    )


@pytest.mark.parametrize("seed", range(8))
def test_a_pilot_that_is_not_shown_names_missing_answers_only_where_they_are_the_reason(
    seed,
):
    shares = {"HP": 0.95, "HA": 0.6, "LP": 0.6, "LA": 0.4}
    out = judged(shares, "2x2", lost=0.05, seed=seed, bulletins=10, blocks=1)
    contrast = part(out)["contrasts"]["HP-LA"]
    named = "missing answers" in out["verdict"]["sentence"]
    if word(out) == "not shown":
        assert named == (contrast["low"] > 0 and contrast["value"] >= 0.1)
        assert named or contrast["low"] <= 0
    else:
        assert not named and word(out) in ("cue-responsive", "not evaluable")


@pytest.mark.parametrize(
    "reader, most, account",
    [
        (FLAT, "not shown", "nothing"),
        (OBEDIENT, "cue-responsive", "surface"),
        (CONDITIONAL, "information-sensitive", "conditional"),
        (ADDER, "information-sensitive", "adding_up"),
        (SHARED_READING, "information-sensitive", "conditional"),
        ({}, "not shown", "nothing"),
    ],
)
@pytest.mark.parametrize("lost", [0, 0.05])
def test_a_reader_earns_no_word_that_its_own_account_denies_it(
    reader, most, account, lost
):
    for seed in range(2):
        out = judged(FLAT | reader, lost=lost, seed=seed)
        assert account in left_open(out)
        assert rank(out) <= WORDS.index(most)


@pytest.mark.parametrize("reader", [SHARP, OBEDIENT, SHARED_READING])
def test_words_never_rise_with_the_share_that_is_missing(reader):
    rows = list(answered("mechanism", reader, **SIZE))
    ranks = [
        rank(study(losing(rows, lost))) for lost in (0, 0.02, 0.05, 0.08, 0.15, 0.4)
    ]
    assert ranks == sorted(ranks, reverse=True)
    assert WORDS[ranks[-1]] == "not evaluable"


def test_a_word_rests_on_cells_of_which_at_most_a_tenth_is_missing():
    def reader(many, where):
        return lambda cell, b, k: None if cell == where and k < many else SHARP[cell]

    out = {
        (cell, many): judged(reader(many, cell))
        for cell, many in (("LA", 2), ("UP", 2), ("QL", 2), ("KP", 1))
    }
    assert word(out["LA", 2]) == "not evaluable"
    assert word(out["UP", 2]) == "cue-responsive"
    assert word(out["QL", 2]) == "information-sensitive"
    assert word(out["KP", 1]) == "correlation-sensitive"
    assert "missing, over 10%" in out["UP", 2]["verdict"]["why"]


@pytest.mark.parametrize("design", ["2x2", "lever"])
def test_other_designs_reach_cue_responsive_and_have_no_cells_for_more(design):
    shares = dict.fromkeys(CELLS[design], 0.03) | {"HP": 0.97}
    out = judged(shares, design)
    assert word(out) == "cue-responsive"
    assert left_open(out) == {"surface", "conditional", "adding_up"}


# --- what a study holds --------------------------------------------------------------------------


def test_names_that_others_read():
    out = judged(SHARP)
    shown = part(out)
    assert {*out["verdict"]} == {"word", "sentence", "open", "why", "models", "scope"}
    assert out["verdict"]["models"] == {"m": word(out)}
    assert tuple(shown["accounts"]) == ACCOUNTS
    assert all({*a} == {"excluded", "why"} for a in shown["accounts"].values())
    assert {*shown["contrasts"]} == {
        "HP-LA",
        "HP-UP",
        "HP-UP-MN+ME",
        "HP-KP",
        "HP-QL",
        "HP-LA-2KP+2KL",
        "HP-MN",
        "ME-UP",
    }
    fields = {"value", "low", "high", "units", "wordings", "limit_by"}
    assert all(fields <= {*contrast} for contrast in shown["contrasts"].values())
    assert {"may", "may_not"} <= {*out["claims"]}


def test_no_account_is_in_two_lists():
    for reader in (SHARP, OBEDIENT, CONDITIONAL, ADDER, FLAT):
        out = judged(reader)
        may, may_not = " ".join(out["claims"]["may"]), out["claims"]["may_not"]
        excluded = {n for n, a in part(out)["accounts"].items() if a["excluded"]}
        said = [line for line in may_not if "Open for" in line]
        assert may.count("Shown for") == (len(excluded) if rank(out) > 1 else 0)
        if word(out) != "not evaluable":
            assert len(said) == len(ACCOUNTS) - len(excluded)
        if rank(out) > 1:
            assert {*out["verdict"]["open"]} == {*ACCOUNTS} - excluded


@pytest.mark.parametrize("cell", ["HP", "LA"])
def test_a_cell_where_every_unit_has_the_same_share_has_no_standard_error(cell):
    out = judged(lambda cell, b, k: float(cell == "HP"), "2x2")
    entry = part(out)["cells"][cell]
    assert entry["mean"] == (cell == "HP") and entry["se"] is None
    assert "same share" in entry["why"]
    assert entry["low"] < entry["high"]
    entry = part(judged({"HP": 0.9, "LA": 0.4}, "2x2"))["cells"][cell]
    assert entry["se"] > 0 and entry["why"] is None


# --- sentences -----------------------------------------------------------------------------------

FORBIDDEN = (
    "decides now",
    "inference",
    "sureness",
    "superrational",
    "does not make the effect",
)


@pytest.mark.parametrize("reader", [SHARP, OBEDIENT, SHARED_READING, ADDER, FLAT])
def test_sentences_say_what_was_measured_in_twenty_words(reader):
    out = judged(reader)
    sentence = out["verdict"]["sentence"]
    assert len(sentence.split()) <= 20 and re.search(r"\d", sentence)
    assert sentence.lower().startswith(word(out))
    said = " ".join([sentence, *out["claims"]["may"], *out["claims"]["may_not"]])
    said += pilot.files(out, [], {}, {})["pilot-summary.md"]
    assert not [words for words in FORBIDDEN if words in said.lower()]
    assert not re.search(r"\bmodels?\b", sentence)
    measured = "cooperation is higher where the counterpart decided on the same notice"
    assert (measured in sentence) == (rank(out) >= 3)


def test_what_stays_open_and_who_is_denied_the_highest_word_is_on_the_page():
    out = judged(SHARP)
    page = pilot.files(out, [], {}, {})["report.html"]
    for words in (
        "test recognition",
        "makes likeness moot (95%)",
        "exploiting whoever is sure (13 to 92%)",
        "readers averse to the lever’s cells",
        "one-boxer",
        "half-updateless",
        "no lever lands between",
    ):
        assert words in page.replace("&#x27;", "’").replace("'", "’")


@pytest.mark.parametrize("way, bad", [(0, True), (0.5, False), (1, True)])
def test_a_lever_that_was_badly_placed_is_named(way, bad):
    share = 0.2 + 0.7 * way

    def reader(cell, b, k):
        late = {"HP": 0.9, "MN": share, "ME": share}.get(cell, 0.2)
        return float((b + k) % 10 < round(10 * late))

    out = judged(reader, bulletins=20, blocks=10)
    said = " ".join(out["claims"]["may_not"])
    assert ("badly placed" in said) is bad
    assert not bad or f"{100 * way:.0f}% of the way" in said
    assert not bad or rank(out) < WORDS.index("correlation-sensitive")
    summary = pilot.files(out, [], {}, {})["pilot-summary.md"]
    assert ("badly placed" in summary) is bad


# --- several models ------------------------------------------------------------------------------


def several(design, provider, **readers):
    rows = []
    for seed, (model, shares) in enumerate(readers.items()):
        rows += answered(design, shares, model=model, seed=seed, **SIZE)
    return study(rows, design=design, provider=provider)


@pytest.mark.parametrize("design", ["2x2", "mechanism"])
def test_models_are_never_pooled_in_a_headline_and_each_has_its_word(design):
    strong = FLAT | {"HP": 0.9, "UP": 0.9, "KP": 0.9}
    out = several(design, "http://x", a=FLAT, b=strong, c=strong)
    assert out["verdict"]["models"] == {
        "a": "not shown",
        "b": "cue-responsive",
        "c": "cue-responsive",
    }
    assert word(out) == "cue-responsive"
    value = part(out, "b")["contrasts"]["HP-LA"]["value"]
    assert out["verdict"]["sentence"].startswith("Cue-responsive: b (")
    assert f"+{100 * value:.1f} points" in out["verdict"]["sentence"]
    assert out["verdict"]["sentence"].endswith("), c. Not shown: a.")
    assert "pooled" not in out["verdict"]["sentence"]


def test_a_pilot_of_many_says_how_many_have_each_word():
    readers = {f"m{at}": FLAT for at in range(7)} | {"z": FLAT | {"HP": 0.95}}
    out = several("2x2", "http://x", **readers)
    assert out["verdict"]["sentence"].startswith("Cue-responsive: z (")
    assert out["verdict"]["sentence"].endswith("). Not shown: 7 models.")


def test_simulated_respondents_are_called_respondents():
    out = several("2x2", "simulated", a=FLAT, b=FLAT | {"HP": 0.9})
    files = pilot.files(out, [], {}, {})
    words = json.dumps([out["verdict"], out["claims"]])
    shown = f"{words} {files['pilot-summary.md']}"
    named = re.findall(r"[^.|\n]*\bmodels?\b[^.|\n]*", shown)
    assert [
        line for line in named if not re.search("no model was|any model|own", line)
    ] == [' "b": "cue-responsive"}, "scope": "20 bulletins of one domain"'] or not [
        line for line in named if "models" in line and '"models"' not in line
    ]


def test_no_word_of_one_model_makes_a_sentence_about_all_together():
    """Pooled over models something is established; of no single model it is."""
    readers = {name: FLAT | {"HP": 0.42} for name in "abcdefgh"}
    out = several("2x2", "http://x", **readers)
    if word(out) == "not shown":
        assert out["claims"]["may"] == []


# --- twin, lever, pilot --------------------------------------------------------------------------


def test_a_twin_control_has_four_cells_two_contrasts_and_no_word():
    out = judged({"TS": 0.9, "TU": 0.2, "TO": 0.5, "TP": 0.1}, "twin", blocks=3)
    assert {*part(out)} >= {"TS", "TU", "TO", "TP"}
    assert {*part(out)["contrasts"]} == {"TS-TU", "TS-TO"}
    assert part(out)["verdict"]["word"] == "not evaluable"
    assert out["claims"]["may"] == []
    summary = pilot.files(out, [], {}, {})["pilot-summary.md"]
    for name in ("TS-TU", "TS-TO"):
        contrast = part(out)["contrasts"][name]
        low, high = (
            f"{100 * contrast[k]:+.1f}".replace("-", "−") for k in ("low", "high")
        )
        assert f"({low} to {high})" in summary


def test_a_half_open_interval_of_the_lever_is_printed_as_one():
    rising = {f"L{level}": 0.2 + 0.1 * level for level in range(1, 7)}
    out = judged({"HP": 0.78, "LA": 0.2} | rising, "lever", blocks=4)
    meets = part(out)["meets"]
    assert meets["low"] is not None and meets["high"] is None
    assert f"more than {meets['low']:.1f}" in out["verdict"]["sentence"]
    assert f"more than {meets['low']:.1f}" in terminal(pilot.document(out, {}))


def test_the_last_lines_of_a_pilot_say_what_its_size_can_decide():
    rows = answered("2x2", {"HP": 0.9}, 10, 1)
    report = terminal(
        pilot.document(json.loads(canonical_json(study(rows, design="2x2"))), {})
    )
    last = report.splitlines()[-3:]
    assert any("SIMULATED" in line for line in last)
    assert re.search(r"\d+% of pilots", " ".join(last))
    assert max(map(len, report.splitlines())) <= 80
    big = answered("2x2", {"HP": 0.9}, 10, 4)
    assert "40 runs" in terminal(pilot.document(study(big, design="2x2"), {}))


def test_the_word_asks_for_six_bulletins_room_and_all_answers():
    assert word(judged(SHARP, bulletins=5)) == "not evaluable"
    assert word(judged(SHARP, bulletins=6)) != "not evaluable"
    assert word(judged(FLAT | {"HP": 0.9, "LA": 0.9}, "2x2")) == "not evaluable"
    rows = list(answered("mechanism", SHARP, **SIZE))
    rows[3] |= LOST | {"status": "not_run"}
    out = study(rows)
    assert (word(out), out["claims"]["may"], out["verdict"]["open"]) == (
        "not evaluable",
        [],
        [],
    )
    below = judged(FLAT | {"HP": 0.1, "LA": 0.8})
    assert word(below) == "not shown" and "below 0" in below["verdict"]["sentence"]


@pytest.mark.parametrize("first", ORDERS)
def test_a_place_of_a_label_that_makes_the_effect_stays_open(first):
    def reader(cell, b, k):
        here = ORDERS[(b + k // 3) % 2] == first
        return 0.9 if cell == "HP" and here else 0.3

    out = judged(reader)
    assert "labels" in left_open(out) and rank(out) <= WORDS.index("cue-responsive")


def test_a_design_with_words_of_its_own_is_plugged_in(monkeypatch):
    """As a mirror study is: its judge gives each model a word, and the highest is the study's."""

    def judged(rows, models):
        parts = {}
        for model, word in zip(models, ("not shown", "record-sensitive"), strict=True):
            cells = {cell: cell_entry({}, cell) for cell in CELLS["lever"]}
            verdict = {"word": word, "sentence": f"{word.capitalize()}."}
            parts[model] = {"verdict": verdict, "contrasts": {}, "cells": cells}
        return {"by_model": parts}

    ladder = Ladder(judged, ("not evaluable", "not shown", "record-sensitive"))
    monkeypatch.setitem(LADDERS, "lever", ladder)
    rows = [*answered("lever", model="a"), *answered("lever", model="b")]
    out = study(rows, design="lever")
    assert word(out) == "record-sensitive"
    assert out["verdict"]["models"] == {"a": "not shown", "b": "record-sensitive"}
    assert out["verdict"]["sentence"] == "Record-sensitive: b. Not shown: a."
    assert out["claims"]["may"] == ["b: Record-sensitive."]
