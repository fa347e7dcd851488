"""The mirror study: who earns which word, and what its prompts say.

A reader is a function of a bulletin, a block and a cell; `study` makes its rows and judges them.
"""

from collections import Counter
from itertools import product

import pytest
from answers import ORDERS, SCHEMES, USUAL, page, told
from answers import study as analysis
from domains import study as asked

CELLS = ("PD18", "PD2", "M18", "M2", "near", "far")
LATE = {"PD18", "M2", "near"}  # where evidence says late
HIGH_RATE = {"PD18", "M18"}


def rows_of(decide, bulletins=20, blocks=2, model="m"):
    """The rows of a study in which `decide(b, k, cell)` is each decision."""
    rows = []
    for b, k, cell in product(range(bulletins), range(blocks), CELLS):
        row = USUAL | {"model": model, "served_model": model, "cell": cell}
        row |= {"id": f"{model}/{b}/{k}/{cell}", "run": k + 1, "bulletin": f"b{b}"}
        row |= {"wording": (12 * k // blocks + b) % 12 + 1, "half": half(b)}
        row |= {"label_scheme": SCHEMES[2 * k % 3], "order": ORDERS[(b + k) % 2]}
        row["high_class"], row["named_first"] = classes(b, k)
        rows.append(row | {"cooperates": int(decide(b, k, cell))})
    return rows


def half(b):
    return "low" if b % 2 else "high"


def classes(b, k):
    """The class with the high rate, and the one that is named first."""
    both = ["own", "contractor"]
    high = both[(b + k) % 2]
    return high, both[(b + k + b // 2 + k // 2) % 2]


def part_of(rows):
    return analysis(rows, design="mirror")["mirror"]["by_model"]["m"]


def word(decide, blocks=2):
    return part_of(rows_of(decide, 28, blocks))["verdict"]["word"]


def ideal(b, k, cell):
    return cell in LATE


def ideal_where(holds):
    """By evidence where `holds(b, k)`, else early."""
    return lambda b, k, cell: cell in LATE and holds(b, k)


# --- who earns what ----------------------------------------------------------------------------


def price(b, k, cell):
    """Takes N alike for N late, and goes late where that is cheap: in the high half beside a late
    entry, in the low half beside an early one; exchanged lines are read as exchanged."""
    many = (cell in HIGH_RATE) == (cell in ("PD18", "PD2"))
    return many is (b % 2 == 0)


RIVALS = {
    "likes the number": lambda b, k, cell: cell in HIGH_RATE,
    "dislikes it in half": lambda b, k, cell: (cell in HIGH_RATE) == (b % 4 < 2),
    "late where cheap": price,
    "causal": lambda b, k, cell: False,
    "kind": lambda b, k, cell: True,
    "trusts own staff": lambda b, k, cell: classes(b, k)[0] == "own",
    "anchored on the first": lambda b, k, cell: classes(b, k)[0] == classes(b, k)[1],
    "evidence of whom it reads first": ideal_where(
        lambda b, k: classes(b, k)[1] == "own"
    ),
    "evidence of own staff": ideal_where(lambda b, k: classes(b, k)[0] == "own"),
    "evidence in one half": ideal_where(lambda b, k: half(b) == "high"),
}


@pytest.mark.parametrize("name", RIVALS)
def test_no_closed_rival_earns_evidence(name):
    for blocks in (2, 4):
        assert not word(RIVALS[name], blocks).startswith("evidence")


def test_a_reasoner_earns_it_and_weighs_where_the_threshold_moves_it_too():
    assert word(ideal) == "evidence-weighing"
    games = {"PD18", "M2"}
    assert word(lambda b, k, cell: cell in games) == "evidence-sensitive"


def test_a_reasoner_that_slips_in_a_tenth_of_its_blocks_keeps_its_word():
    assert word(lambda b, k, cell: (cell in LATE) != (b % 10 == k)).startswith(
        "evidence"
    )


# --- the judge ---------------------------------------------------------------------------------


def test_a_contrast_is_what_is_computed_by_hand():
    rows = rows_of(ideal_where(lambda b, k: (b, k) != (0, 0)), 6)
    for row in rows:
        row["wording"] = 1
    found = part_of(rows)["contrasts"]["PD18-PD2"]
    # 11 of 12 against 0 of 12. Wilson: .6461 below 11/12, .2425 above 0.
    # 11/12 − √((11/12 − .6461)² + .2425²) = .5534; 5 bulletins at 1 and one at .5 reach .2142 only.
    assert found["value"] == pytest.approx(11 / 12)
    assert found["low"] == pytest.approx(0.5534, abs=1e-4)
    kept = ("units", "wordings", "limit_by", "level")
    assert [found[name] for name in kept] == [6, 1, "pooled", 0.95]


IN_TURN = {
    "bulletin": lambda b, k: b % 4 < 2,
    "wording": lambda b, k: (3 * k + b) % 12 < 6,
}


@pytest.mark.parametrize("unit", IN_TURN)
def test_the_smaller_of_both_games_has_to_lie_above_zero_in_the_same_places(unit):
    def apart(b, k, cell):
        """One game answered by evidence in half of the units, the other in the other half."""
        usual = cell in ("PD18", "PD2")
        return cell in LATE and (cell == "near" or usual is IN_TURN[unit](b, k))

    part = part_of(rows_of(apart, 28, 4))
    for name in ("PD18-PD2", "M2-M18"):
        assert part["contrasts"][name]["low"] > 0
    assert part["verdict"]["word"] == "record-sensitive"
    assert f"the smaller of both, {unit} by {unit}" in part["verdict"]["sentence"]


@pytest.mark.parametrize("cell", ["PD18", "M2"])
def test_one_game_alone_earns_the_lowest_word(cell):
    assert word(lambda b, k, asked: asked == cell) == "record-sensitive"


def test_what_lies_below_zero_is_said_to():
    part = part_of(rows_of(lambda *place: not ideal(*place)))
    assert part["verdict"]["sentence"].count("below 0") == 2


def test_few_bulletins_and_few_answers_get_no_word():
    few = part_of(rows_of(ideal, 5))["verdict"]["sentence"]
    assert few.startswith("Not evaluable: 5 bulletins, 6 are needed")
    rows = rows_of(ideal, 8)
    for row in [row for row in rows if row["cell"] == "M2"][:4]:
        row["cooperates"] = None
    assert part_of(rows)["verdict"]["sentence"] == (
        "Not evaluable: 4 of 16 decisions are missing, over 10%: 2 of 20 alike, lines exchanged."
    )


def test_missing_answers_take_a_word_only_where_they_may_make_it():
    of_20 = {"PD18": 10, "PD2": 5}

    def weak(b, k, cell):
        return (7 * b + 5 * k) % 20 < of_20.get(cell, 0)

    rows = rows_of(weak, 20, 4)
    assert part_of(rows)["verdict"]["word"] == "record-sensitive"
    early = [row for row in rows if (row["cell"], row["cooperates"]) == ("PD2", 0)]
    for row in early[:8]:
        row["cooperates"] = None
    verdict = part_of(rows)["verdict"]
    assert verdict["word"] == "not shown"
    assert "with what is missing counted against it" in verdict["sentence"]


def test_models_share_the_level_and_each_has_its_word_and_its_rows_on_the_page():
    rows = rows_of(ideal) + rows_of(RIVALS["causal"], model="b/model")
    out = analysis(rows, design="mirror")
    for part in out["mirror"]["by_model"].values():
        levels = {contrast["level"] for contrast in part["contrasts"].values()}
        assert levels == {0.975} and "97.5% intervals" in part["verdict"]["sentence"]
    assert out["verdict"]["sentence"] == (
        "Evidence-weighing: m (18 − 2 of 20 alike +100.0 points). Not shown: b/model."
    )
    shown = page(out)
    assert "18 of 20 alike, lines exchanged" in shown
    assert "18 − 2 of 20 alike, lines as usual, low half" in shown
    assert "illusion of control" in shown


# --- the prompts -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def prompts():
    return asked("--design", "mirror", "--models", "sim-coin")


def test_outcomes_have_the_ratios_that_the_words_rest_on(prompts):
    thresholds = {"near": 0.6, "far": 0.8}
    for row in prompts:
        T, R, P, S = told(row["user"]).outcomes
        if row["cell"] in ("M18", "M2"):
            T, R, P, S = P, S, T, R
        assert T < R < P < S
        threshold = (S - T) / (S - T + P - R)
        assert threshold == pytest.approx(thresholds.get(row["cell"], 2 / 3))
        if row["cell"] not in thresholds:
            ratio = (S - P) / (R - T)
            assert 8 <= (ratio if row["half"] == "high" else 1 / ratio) <= 10


def test_halves_classes_and_their_order_are_balanced(prompts):
    blocks = {}
    for row in prompts:
        dealt = row["half"], row["high_class"], row["named_first"]
        blocks[row["bulletin"], row["run"]] = dealt
    met = Counter(blocks.values())
    assert len(met) == 8 and set(met.values()) == {5}


def test_the_rate_that_applies_is_that_of_the_class_which_decided_the_entry(prompts):
    rates = {"PD2": (2, 18), "M2": (2, 18), "near": (14, 6), "far": (14, 6)}
    for row in prompts:
        cues = told(row["user"])
        assert cues.alike == rates.get(row["cell"], (18, 2))
        assert cues.entry == row["entry"]
        assert (row["entry"] == row["high_class"]) is (cues.alike[0] > 10)
