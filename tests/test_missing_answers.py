"""Words of studies of which some answers are missing at random: each account is judged under its own
conditions, and data that are added take no word away."""

import json
import random
from collections import Counter
from itertools import product

import pytest
from answers import CELLS, answered, study

from cirrus.ask.cues import read_cues
from cirrus.ask.respondents import RESPONDENTS
from cirrus.judge.accounts import CORRELATION, CUE, WORDS, verdict
from cirrus.judge.contrasts import Slot, add
from cirrus.judge.study import established

FIRM = {
    "HP": 0.97,
    "LA": 0.03,
    "UP": 0.03,
    "KP": 0.03,
    "KL": 0.03,
    "QL": 0.03,
    "MN": 0.5,
    "ME": 0.5,
}
SHARES_LOST = (0, 0.01, 0.025, 0.05, 0.08)
LOST = {"cooperates": None, "status": "unreadable"}


def more_lost(share, asked, before):
    """How many answers are lost among those asked after the first `before`, if this share of all
    that were `asked` is, as nearly as whole answers allow."""
    return int(share * asked) - int(share * before)


def losing(rows, share, seed):
    """The rows of a study with this share of each cell lost, at random: of its first blocks too."""
    rng, blocks = random.Random(seed), {}
    for row in rows:
        blocks.setdefault((row["run"], row["cell"]), []).append(row)
    asked = Counter()
    for (_, cell), block in sorted(blocks.items()):
        before = asked[cell]
        asked[cell] += len(block)
        for row in rng.sample(block, more_lost(share, asked[cell], before)):
            row |= LOST
    return [row for block in blocks.values() for row in block]


def firm(design, blocks, share, seed=1):
    """A study of somebody who is moved as inference would move it, nearly always."""
    rows = answered(design, FIRM, bulletins=20, blocks=blocks, seed=seed)
    return study(losing(rows, share, seed), design=design)


def never_falls(words):
    ranks = [WORDS.index(word) for word in words]
    return ranks == sorted(ranks)


@pytest.mark.parametrize("share, seed", [*product(SHARES_LOST, range(3))])
@pytest.mark.parametrize(
    "design, sizes, word",
    [("2x2", (1, 2, 4, 8), CUE), ("mechanism", (3, 12), CORRELATION)],
)
def test_no_word_falls_because_blocks_were_added(design, sizes, word, share, seed):
    studies = [firm(design, blocks, share, seed) for blocks in sizes]
    words = [out["verdict"]["word"] for out in studies]
    assert never_falls(words)
    assert words[-1] == word


def add_encounters(table, seed, bulletin, share, rng):
    """Ten first encounters on a bulletin, in each cell, under a seed."""
    before = 100 * seed + 10 * bulletin
    for cell, H in product(CELLS["2x2"], ("high", "low")):
        gone = rng.sample(range(10), more_lost(share, before + 10, before))
        for seat in range(10):
            late = int(rng.random() < FIRM.get(cell, 0.5))
            outcome = None if seat in gone else late
            scheme = f"L{(seat + seed) % 3 + 1}"
            order = "cooperative-first" if seat % 2 else "other-first"
            place = f"b{bulletin}", bulletin, cell, H, "m", scheme, order, bulletin + 1
            add(table, Slot(*place), outcome)


@pytest.mark.parametrize("share", SHARES_LOST)
def test_no_word_falls_because_seeds_were_added_to_a_tournament(share):
    rng, table, words = random.Random(7), {}, []
    for seed in range(8):
        for bulletin in range(10):
            add_encounters(table, seed, bulletin, share, rng)
        if seed in (0, 1, 3, 7):
            words.append(verdict(established(table, True), "")["word"])
    assert words == [CUE] * 4


# --- as a user meets it --------------------------------------------------------------------------


def forgetful(share):
    """A respondent that infers, and loses this share of its answers, whatever they were."""

    def respond(request, rng):
        cues = read_cues(request.user)
        alike = cues.symmetric and cues.coupled and cues.entry in ("due", "read")
        likely = FIRM["HP"] if alike else FIRM["LA"]
        if cues.lever:
            likely = FIRM["MN"]
        label = cues.cooperative if rng.random() < likely else cues.other
        if rng.random() < share:
            return "We are still weighing this.", "stop"
        return f"Decision: {label}", "stop"

    return respond


SMALL_MECHANISM = ("--design", "mechanism", "--runs", 6)


@pytest.mark.parametrize(
    "share, flags, word",
    [(0.025, ("--runs", 160), CUE), (0.05, SMALL_MECHANISM, CORRELATION)],
    ids=["pilot", "mechanism"],
)
def test_a_respondent_that_loses_answers_at_random_is_called_by_what_it_does(
    cli, monkeypatch, tmp_path, share, flags, word
):
    monkeypatch.setitem(RESPONDENTS, "sim-forgetful", forgetful(share))
    cli("run_pilot.py", "--models", "sim-forgetful", *flags, "--out", tmp_path)
    [analysis] = tmp_path.glob("*/pilot-analysis.json")
    out = json.loads(analysis.read_text("utf-8"))
    assert out["verdict"]["word"] == word
