"""Contrasts over bulletins and wordings: the value, its interval, and what is missing."""

import math
import random
from collections import defaultdict
from itertools import product
from statistics import fmean, stdev

import pytest

import stats
from stats.distributions import t_quantile

DIFFERENCE, INTERACTION = {"x": 1, "y": -1}, {"HP": 1, "LA": -1, "KP": -1, "KL": 1}
VALUES = [10, 60, 35, 80, 20, 55, 90, 45, 5, 70, 30, 65]


def layout(bulletins, blocks):
    return [
        (b, (12 * k // blocks + b) % 12)
        for b in range(bulletins)
        for k in range(blocks)
    ]


def rows_of(pairs, **cells):
    return [(pair, cell, y) for pair in pairs for cell, ys in cells.items() for y in ys]


def dealt(values, wordings):
    """A bulletin for each value in hundredths, its wording dealt in turn."""
    return {
        (b, b % wordings): {"x": stats.Count(k, 100, 0), "y": stats.Count(0, 100, 0)}
        for b, k in enumerate(values)
    }


def drawn(seed, pairs, cells, missing=0.0):
    """An outcome per pair and cell that depends on the bulletin and on the wording."""
    rng = random.Random(seed)
    effect = defaultdict(rng.random)
    for (bulletin, wording), cell in product(pairs, cells):
        y = int(
            effect["b", bulletin, cell] + effect["w", wording, cell] + rng.random()
            > 1.5
        )
        yield (bulletin, wording), cell, None if rng.random() < missing else y


def values_by(rows, weights, unit_of):
    """The contrast by unit, from single outcomes; units that lack a cell are left out."""
    outcomes = {}
    for pair, cell, y in rows:
        if y is not None:
            outcomes.setdefault(unit_of(pair), {}).setdefault(cell, []).append(y)
    return {
        unit: sum(w * fmean(cells[c]) for c, w in weights.items())
        for unit, cells in outcomes.items()
        if set(weights) <= set(cells)
    }


def residuals_by_gram_schmidt(values, columns):
    basis = []
    for column in [*columns, values]:
        for q in basis:
            along = sum(map(float.__mul__, column, q))
            column = [c - along * d for c, d in zip(column, q, strict=True)]
        size = math.hypot(*column)
        if size > 1e-9:
            basis.append([c / size for c in column])
    return column


def variance_by_definition(rows, weights):
    """V of METHODS and its degrees of freedom."""
    blocks, parts, columns = values_by(rows, weights, tuple), [], []
    for part in (0, 1):
        units = sorted({pair[part] for pair in blocks})
        means = [
            fmean(y for pair, y in blocks.items() if pair[part] == u) for u in units
        ]
        parts += stdev(means) ** 2 / len(units), len(units)
        columns += [[float(pair[part] == u) for pair in blocks] for u in units]
    (vb, b, vw, w), n = parts, len(blocks)
    squares = sum(
        e * e for e in residuals_by_gram_schmidt(list(blocks.values()), columns)
    )
    v = max(vb + vw - squares / (n - b - w + 1) / n, vb, vw)
    return v, max(3, v**2 / (vb**2 / (b - 1) + vw**2 / (w - 1)))


@pytest.mark.parametrize("size", [(20, 12), (20, 6), (20, 3), (20, 2), (6, 12)])
def test_a_crossed_layout_has_the_interval_of_the_definition(size):
    for seed, (level, missing) in enumerate([(0.9, 0), (0.95, 0.02), (0.99, 0.02)]):
        rows = list(drawn(seed, layout(*size), INTERACTION, missing))
        v, df = variance_by_definition(rows, INTERACTION)
        value = fmean(values_by(rows, INTERACTION, lambda pair: pair[0]).values())
        se, half = math.sqrt(v), math.sqrt(v) * t_quantile((1 + level) / 2, df)
        result = stats.contrast(stats.tally(rows), INTERACTION, level)
        assert result[:5] == pytest.approx((value, value - half, value + half, se, df))


def test_a_crossed_contrast_by_hand():
    # Shares .9 .5 | .6 .4 | .3 .3: bulletins .7 .5 .3, wordings .6 .4, residuals ±.1 in a and c.
    # Vb = .08/6, Vw = .02/2, Vr = .04/(2·6), V = .02; df 2.1, so 3, and t = 3.182446.
    shares = {
        ("a", 1): 9,
        ("a", 2): 5,
        ("b", 1): 6,
        ("b", 2): 4,
        ("c", 1): 3,
        ("c", 2): 3,
    }
    counts = {pair: {"x": stats.Count(k, 10, 0)} for pair, k in shares.items()}
    result, half = stats.contrast(counts, {"x": 1}), 3.182446305 * math.sqrt(0.02)
    assert result[:5] == pytest.approx(
        (0.5, 0.5 - half, 0.5 + half, math.sqrt(0.02), 3)
    )
    assert result[5:9] == (0.95, "crossed", 3, 2) and result.bounds == result[1:3]


def test_outcomes_are_averaged_inside_a_bulletin_and_incomplete_ones_stay_out():
    rows = [
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
    result = stats.contrast(stats.tally(rows), DIFFERENCE)
    assert result.by_bulletin == pytest.approx({"a": 2 / 3, "b": -1})
    assert result.by_wording == pytest.approx({1: 2 / 3 - 1, 2: 0})
    assert (result.value, result.units, result.wordings) == (
        pytest.approx(-1 / 6),
        2,
        2,
    )


@pytest.mark.parametrize(
    ("counts", "rule", "units"),
    [
        (dealt(VALUES, 12), "bulletins", VALUES),
        (dealt(VALUES, 1), "bulletins", VALUES),
        (dealt([30, 34], 1), "bulletins", [30, 34]),
        (dealt([30, 33] * 3, 2), "wordings", [30, 33]),
        (
            {
                (b, c): {c: n}
                for (b, _), cells in dealt(VALUES, 1).items()
                for c, n in cells.items()
            },
            "bulletins",
            VALUES,
        ),
        (
            {(b // 2, b): cells for (b, _), cells in dealt(VALUES, 1).items()},
            "bulletins",
            [35, 57.5, 37.5, 67.5, 37.5, 47.5],
        ),
        (dealt(VALUES + VALUES, 12), "wordings", VALUES),
        (dealt(VALUES + VALUES[::-1], 12), "bulletins", VALUES + VALUES),
    ],
)
def test_bulletins_are_the_units_or_wordings_where_these_repeat_and_are_wider(
    counts, rule, units
):
    result = stats.contrast(counts, DIFFERENCE)
    peer = stats.t_interval([value / 100 for value in units])
    assert result[1:3] == pytest.approx((peer.low, peer.high))
    assert (result.limit_by, result.df) == (rule, len(units) - 1)


@pytest.mark.parametrize(
    ("more", "rules"), [([], {"bulletins", "wordings"}), ([2], {"crossed"})]
)
def test_a_residual_degree_of_freedom_makes_a_layout_crossed(more, rules):
    chain = [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3), *((b, 0) for b in more)]
    counts = {
        pair: {"x": stats.Count(100 * i, 1000, 0)} for i, pair in enumerate(chain)
    }
    assert stats.contrast(counts, {"x": 1}, 0.5).limit_by in rules


@pytest.mark.parametrize(
    ("weights", "value"),
    [
        (INTERACTION, 0.25),
        ({"HP": 0.5, "LA": -2}, -0.125),
        ({"HP": 1}, 0.75),
        ({"beliefs": 1}, 0.5),
        ({"all": 1, "none": -1}, 1),
        ({"none": 1, "all": -1}, -1),
        ({"none": 1}, 0),
    ],
)
def test_alike_units_leave_the_cells_distances_to_wilsons_limits_squared_and_added(
    weights, value
):
    cells = {
        "HP": [1, 1, 1, 0],
        "LA": [1, 0, 0, 0],
        "KP": [1, 1, 0, 0],
        "KL": [0, 0, 0, 1],
        "beliefs": [0.5, 0.25, 0.75, 0.5],
        "all": [1] * 4,
        "none": [0] * 4,
    }
    result = stats.contrast(stats.tally(rows_of(layout(20, 3), **cells)), weights)
    reach = {-1: 0, 1: 0}
    for side, (cell, weight) in product(reach, weights.items()):
        k = round(60 * sum(cells[cell]))
        limit = stats.wilson_interval(k, 240)[weight * side > 0]
        reach[side] += (weight * (k / 240 - limit)) ** 2
    assert result[:3] == pytest.approx(
        (value, value - math.sqrt(reach[-1]), value + math.sqrt(reach[1]))
    )
    assert result[3:5] == (0, None) and result.limit_by == (
        "pooled" if reach[-1] else "crossed"
    )


def test_the_possible_range_is_that_of_the_weights():
    result = stats.contrast(dealt([0, 100, 50], 3), {"x": 0.5})
    assert (result.low, result.high, result.limit_by) == (0, 0.5, "range")


def test_bounds_are_limits_of_the_worst_and_the_best_of_all_fillings():
    rows = list(drawn(11, layout(6, 3), "xy"))
    gaps = random.Random(2).sample(range(len(rows)), 7)
    rows, filled = (
        [(*row[:2], None) if i in gaps else row for i, row in enumerate(rows)],
        [],
    )
    for outcomes in product((0, 1), repeat=len(gaps)):
        new = dict(zip(gaps, outcomes, strict=True))
        table = stats.tally(
            (*row[:2], new.get(i, row[2])) for i, row in enumerate(rows)
        )
        filled.append(stats.contrast(table, DIFFERENCE)[:3])
    counts = stats.tally(rows)
    result = stats.contrast(counts, DIFFERENCE)
    assert result.bounds == (min(filled)[1], max(filled)[2])
    worst = stats.counted_against(counts, DIFFERENCE)
    assert stats.contrast(worst, DIFFERENCE)[:3] == min(filled)
