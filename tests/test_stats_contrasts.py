"""Contrasts over bulletins and wordings: the value, its interval, and what is missing.

Crossed layouts against a second computation are in test_stats_reference.py.
"""

import math
from itertools import product

import pytest

import stats

DIFFERENCE = {"x": 1, "y": -1}
VALUES = [10, 60, 35, 80, 20, 55, 90, 45, 5, 70, 30, 65]


def dealt(values, wordings):
    """A bulletin for each value in hundredths, its wording dealt in turn."""
    counts, never = {}, stats.Count(0, 100, 0)
    for b, k in enumerate(values):
        counts[b, b % wordings] = {"x": stats.Count(k, 100, 0), "y": never}
    return counts


SHARES = {("a", 1): 9, ("a", 2): 5, ("b", 1): 6, ("b", 2): 4, ("c", 1): 3, ("c", 2): 3}


def test_a_crossed_contrast_by_hand():
    # Shares .9 .5 | .6 .4 | .3 .3: bulletins .7 .5 .3, wordings .6 .4, residuals ±.1 in a and c.
    # Vb = .08/6, Vw = .02/2, Vr = .04/(2·6), V = .02; df 2.1, so 3, and t = 3.182446.
    counts = {pair: {"x": stats.Count(k, 10, 0)} for pair, k in SHARES.items()}
    result = stats.contrast(counts, {"x": 1})
    half = 3.182446305 * math.sqrt(0.02)
    assert result.value == pytest.approx(0.5)
    assert result.low == pytest.approx(0.5 - half)
    assert result.high == pytest.approx(0.5 + half)
    assert (result.se, result.df) == pytest.approx((math.sqrt(0.02), 3))
    assert (result.level, result.limit_by) == (0.95, "crossed")
    assert (result.units, result.wordings) == (3, 2)
    assert result.bounds == (result.low, result.high)


ROWS = [
    (("a", 1), "x", 1),
    (("a", 1), "x", 1),
    (("a", 2), "x", 0),
    (("a", 2), "y", 0),
    (("a", 3), "y", None),
    (("b", 1), "x", 0),
    (("b", 1), "y", 1),
    (("b", 1), "z", 1),
    (("d", 4), "x", None),
    (("d", 4), "y", 1),
]


def test_outcomes_are_averaged_inside_a_bulletin_and_incomplete_ones_stay_out():
    result = stats.contrast(stats.tally(ROWS), DIFFERENCE)
    assert result.by_bulletin == pytest.approx({"a": 2 / 3, "b": -1})
    assert result.by_wording == pytest.approx({1: 2 / 3 - 1, 2: 0})
    assert result.value == pytest.approx(-1 / 6)
    assert (result.units, result.wordings) == (2, 2)


def in_twos(values):
    """Two wordings of their own a bulletin."""
    return {(b // 2, b): cells for (b, _), cells in dealt(values, 1).items()}


UNITS = [
    (dealt(VALUES, 1), "bulletins", VALUES),
    (dealt([30, 34], 1), "bulletins", [30, 34]),
    (dealt([30, 33] * 3, 2), "wordings", [30, 33]),
    (in_twos(VALUES), "bulletins", [35, 57.5, 37.5, 67.5, 37.5, 47.5]),
    (dealt(VALUES + VALUES, 12), "wordings", VALUES),
]


@pytest.mark.parametrize(("counts", "rule", "units"), UNITS)
def test_bulletins_are_the_units_or_wordings_where_these_repeat_and_are_wider(
    counts, rule, units
):
    result = stats.contrast(counts, DIFFERENCE)
    peer = stats.t_interval([value / 100 for value in units])
    assert result[1:3] == pytest.approx((peer.low, peer.high))
    assert (result.limit_by, result.df) == (rule, len(units) - 1)


CHAIN = [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3)]


def test_a_residual_degree_of_freedom_makes_a_layout_crossed():
    def rule_of(pairs):
        counts = {p: {"x": stats.Count(i, 10, 0)} for i, p in enumerate(pairs)}
        return stats.contrast(counts, {"x": 1}, 0.5).limit_by

    assert rule_of(CHAIN) in ("bulletins", "wordings")
    assert rule_of([*CHAIN, (2, 0)]) == "crossed"


CELLS = {
    "HP": [1, 1, 1, 0],
    "LA": [1, 0, 0, 0],
    "beliefs": [0.5, 0.25, 0.75, 0.5],
    "all": [1] * 4,
    "none": [0] * 4,
}
ALIKE = [
    ({"HP": 1, "LA": -1, "beliefs": -1, "none": 1}, 0),
    ({"HP": 0.5, "LA": -2}, -0.125),
    ({"all": 1, "none": -1}, 1),
    ({"none": 1, "all": -1}, -1),
]


@pytest.mark.parametrize(("weights", "value"), ALIKE)
def test_alike_units_leave_the_cells_distances_to_wilsons_limits_squared_and_added(
    weights, value
):
    rows = []
    for bulletin, wording in product(range(20), range(3)):
        for cell, outcomes in CELLS.items():
            rows += [((bulletin, wording), cell, y) for y in outcomes]
    result = stats.contrast(stats.tally(rows), weights)
    below = above = 0
    for cell, weight in weights.items():
        k = round(60 * sum(CELLS[cell]))
        share = stats.share(k, 240)
        down, up = share.value - share.low, share.high - share.value
        if weight < 0:
            down, up = up, down
        below += (weight * down) ** 2
        above += (weight * up) ** 2
    assert result.value == pytest.approx(value)
    assert result.low == pytest.approx(value - math.sqrt(below))
    assert result.high == pytest.approx(value + math.sqrt(above))
    assert (result.se, result.df) == (0, None)
    assert result.limit_by == ("pooled" if below else "crossed")


def test_the_possible_range_is_that_of_the_weights():
    result = stats.contrast(dealt([0, 100, 50], 3), {"x": 0.5})
    assert (result.low, result.high, result.limit_by) == (0, 0.5, "range")


GAPS = [5, 8, 13, 21, 22, 30]


def with_gaps(fillings):
    """Outcomes of six bulletins in three wordings, some of them filled in otherwise."""
    rows = []
    for i, (b, w, cell) in enumerate(product(range(6), range(3), "xy")):
        y = int((3 * b + 5 * w + i) % 7 < 3)
        rows.append(((b, w), cell, fillings.get(i, y)))
    return stats.tally(rows)


def test_bounds_are_limits_of_the_worst_and_the_best_of_all_fillings():
    filled = []
    for outcomes in product((0, 1), repeat=len(GAPS)):
        counts = with_gaps(dict(zip(GAPS, outcomes, strict=True)))
        filled.append(stats.contrast(counts, DIFFERENCE)[:3])
    counts = with_gaps(dict.fromkeys(GAPS))
    bounds = stats.contrast(counts, DIFFERENCE).bounds
    assert bounds == (min(filled)[1], max(filled)[2])
    worst = stats.counted_against(counts, DIFFERENCE)
    assert stats.contrast(worst, DIFFERENCE)[:3] == min(filled)
