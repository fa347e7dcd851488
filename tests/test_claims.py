"""What may be said of synthetic studies, by METHODS alone: trials in, words and sentences out.

Each reader is a table {cell: chance of the cooperative act}; a study is 20 bulletins by 12 blocks.
"""

import random
import re
from itertools import product

import pytest
from answers import CELLS, answered, page, screen, study, summary

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
    rng, kept = random.Random(seed), []
    for row in rows:
        kept.append(row | LOST if rng.random() < share else row)
    return kept


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
    accounts = part(out, model)["accounts"].items()
    return {name for name, account in accounts if not account["excluded"]}


# --- words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("lost", [0, 0.02, 0.05])
@pytest.mark.parametrize("seed", range(3))
def test_a_sharp_reasoner_is_information_sensitive_also_where_answers_are_missing(
    lost, seed
):
    out = judged(SHARP, lost=lost, seed=seed)
    assert rank(out) >= WORDS.index("information-sensitive")
    assert lost or word(out) == "correlation-sensitive"


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


@pytest.mark.parametrize("design", ["2x2", "lever"])
def test_other_designs_reach_cue_responsive_and_have_no_cells_for_more(design):
    """Also with 2.5% missing, which took the word from an effect of 94 points once."""
    shares = dict.fromkeys(CELLS[design], 0.03) | {"HP": 0.97}
    for blocks, lost in product((6, 12), (0, 0.025)):
        out = judged(shares, design, lost, blocks=blocks)
        assert word(out) == "cue-responsive"
        assert left_open(out) >= {"surface", "conditional", "adding_up"}


# --- what a study holds --------------------------------------------------------------------------


CONTRASTS = {
    "HP-LA",
    "HP-UP",
    "HP-UP-MN+ME",
    "HP-KP",
    "HP-QL",
    "HP-LA-2KP+2KL",
    "HP-MN",
    "ME-UP",
}
FIELDS = {"value", "low", "high", "units", "wordings", "limit_by"}


def test_names_that_others_read():
    out = judged(SHARP)
    shown = part(out)
    assert {*out["verdict"]} == {"word", "sentence", "open", "why", "models", "scope"}
    assert out["verdict"]["models"] == {"m": word(out)}
    assert tuple(shown["accounts"]) == ACCOUNTS
    for account in shown["accounts"].values():
        assert {*account} == {"excluded", "why"}
    assert {*shown["contrasts"]} == CONTRASTS
    for contrast in shown["contrasts"].values():
        assert {*contrast} >= FIELDS
    assert {"may", "may_not"} <= {*out["claims"]}


@pytest.mark.parametrize("reader", [SHARP, OBEDIENT, FLAT])
def test_no_account_is_in_two_lists(reader):
    out = judged(reader)
    may, may_not = " ".join(out["claims"]["may"]), " ".join(out["claims"]["may_not"])
    open_, earns = left_open(out), rank(out) > 1
    assert may.count("Shown for") == (len(ACCOUNTS) - len(open_)) * earns
    assert may_not.count("Open for") == len(open_)
    assert {*out["verdict"]["open"]} == (open_ if earns else set())


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
    assert not re.search(r"\bmodels?\b", sentence)
    for words in FORBIDDEN:
        assert words not in summary(out).lower()
    measured = "cooperation is higher where the counterpart decided on the same notice"
    assert (measured in sentence) == (rank(out) >= 3)


ALWAYS_SAID = (
    "test recognition",
    "makes likeness moot (95%)",
    "exploiting whoever is sure (13 to 92%)",
    "averse to the lever",
    "one-boxer",
    "half-updateless",
    "no lever lands between",
)


def test_what_stays_open_and_who_is_denied_the_highest_word_is_on_the_page():
    shown = page(judged(SHARP))
    for words in ALWAYS_SAID:
        assert words in shown


@pytest.mark.parametrize("way, bad", [(0, True), (0.5, False), (1, True)])
def test_a_lever_that_was_badly_placed_is_named(way, bad):
    late = {"HP": 9, "MN": 2 + 7 * way, "ME": 2 + 7 * way}

    def reader(cell, b, k):
        return float((b + k) % 10 < round(late.get(cell, 2)))

    out = judged(reader, bulletins=20, blocks=10)
    named = f"badly placed, at {100 * way:.0f}% of the way"
    assert (named in " ".join(out["claims"]["may_not"])) is bad
    assert not bad or word(out) != "correlation-sensitive"


# --- several models ------------------------------------------------------------------------------


@pytest.mark.parametrize("design", ["2x2", "mechanism"])
def test_models_are_never_pooled_in_a_headline_and_each_has_its_word(design):
    rows = []
    for model, shares in (("a", FLAT), ("b", OBEDIENT), ("c", OBEDIENT)):
        rows += answered(design, shares, model=model, seed=ord(model), **SIZE)
    out = study(rows, design=design, provider="http://x")
    words = {"a": "not shown", "b": "cue-responsive", "c": "cue-responsive"}
    assert out["verdict"]["models"] == words
    primary = part(out, "b")["contrasts"]["HP-LA"]
    value = primary["value"]
    assert primary["level"] == pytest.approx(1 - 0.05 / 3)
    sentence = out["verdict"]["sentence"]
    assert sentence.startswith(f"Cue-responsive: b (+{100 * value:.1f} points")
    assert sentence.endswith("), c. Not shown: a.")


# --- twin, lever, pilot --------------------------------------------------------------------------


def test_a_half_open_interval_of_the_lever_is_printed_as_one():
    rising = {f"L{level}": 0.2 + 0.1 * level for level in range(1, 7)}
    out = judged({"HP": 0.78, "LA": 0.2} | rising, "lever", blocks=4)
    meets = part(out)["meets"]
    assert meets["low"] is not None and meets["high"] is None
    assert f"more than {meets['low']:.1f}" in out["verdict"]["sentence"]
    assert f"more than {meets['low']:.1f}" in screen(out)


@pytest.mark.parametrize("blocks, size", [(1, "10 runs"), (4, "40 runs")])
def test_the_last_lines_of_a_pilot_say_what_its_size_can_decide(blocks, size):
    out = study(answered("2x2", {"HP": 0.9}, 10, blocks), design="2x2")
    report = screen(out)
    assert f"{size}, four models" in report and "of pilots (SIMULATED)" in report
    assert max(map(len, report.splitlines())) <= 80
