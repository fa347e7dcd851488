"""The mixed logistic regression: what it refuses, what it names, what must not show in it.

Its agreement with glmmTMB, glm and brglm2 is in test_stats_reference.py.
"""

import math
import random
import re
from itertools import permutations, product

import pytest
from reference.stats.mixed_data import DATA, crossed

import stats

ROWS = []
for i in range(84):
    group = {"site": "abc"[i % 5 % 3], "agent": i % 7, "same": 1}
    ROWS.append({"y": i % 3 % 2, "S": i % 2, "C": i // 2 % 2, **group})


def fit(rows=ROWS, outcome="y", fixed=("S",), random=("agent",)):
    return stats.fit_mixed_logit(rows, outcome, fixed, random)


def changed(index, **values):
    rows = list(ROWS)
    rows[index] = {**rows[index], **values}
    return rows


BAD = [
    ({"outcome": "z"}, "rows[0]: no column 'z'"),
    ({"rows": changed(3, y=2)}, "rows[3]: 'y' is 2, neither 0 nor 1"),
    ({"rows": changed(9, S=math.nan)}, "rows[9]: 'S' is nan"),
    ({"rows": changed(9, S="high")}, "rows[9]: 'S' is 'high': a column has only"),
    ({"rows": changed(9, agent=None)}, "rows[9]: 'agent' is None"),
    ({"rows": changed(9, agent=[1])}, "random: the values of 'agent' can't be told"),
    ({"fixed": ["Q"]}, "fixed: 'Q' names no column of the rows: 'Q'"),
    ({"fixed": ["S:S"]}, "fixed: 'S:S' names a column twice"),
    ({"fixed": ["S", "S"]}, "fixed: 'S' stands there twice"),
    ({"fixed": "S"}, "fixed: a list of names is needed, not the string 'S'"),
    ({"fixed": ["S", "S:site"]}, "fixed: 'S:site' needs 'site' as a term too"),
]


@pytest.mark.parametrize(("bad", "sentence"), BAD)
def test_bad_input_is_named(bad, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        fit(**bad)


TWICE = [{**row, "T": 2 - row["S"]} for row in ROWS]
ONES = [{**row, "y": 1} for row in ROWS]
NO_FIT = [
    ({"rows": []}, "no rows"),
    ({"rows": ONES}, "every y is 1"),
    ({"random": ["same"]}, "random: every row has the same 'same'"),
    ({"fixed": ["same"]}, "fixed: same says nothing that the terms before it don't"),
    ({"rows": TWICE, "fixed": ["S", "T"]}, "fixed: T says nothing"),
]


@pytest.mark.parametrize(("arguments", "sentence"), NO_FIT)
def test_no_fit_says_why(arguments, sentence):
    result = fit(**arguments)
    assert sentence in result.why
    assert (result.converged, result.singular) == (False, None)
    numbers = [result.log_likelihood, *result.random_sd.values()]
    for coefficient in result.coefficients:
        numbers += coefficient[1:]
    assert set(numbers) == {None}


def test_limits_are_walds():
    for c in fit(fixed=["S", "site", "S:site"]).coefficients:
        half = 1.959963984540054 * c.se
        limits = c.estimate - half, c.estimate + half
        assert (c.low, c.high) == pytest.approx(limits)


def test_the_order_of_rows_does_not_show():
    rows = DATA["crossed"]()[:700]
    shuffled = random.Random(4).sample(rows, len(rows))
    asked = "coop", ["S", "C", "S:C"], ["agent", "opponent"]
    assert fit(rows, *asked) == fit(shuffled, *asked)


def test_no_spread_is_zero_and_called_singular():
    rows = DATA["no-spread"]()
    result = fit(rows, "coop", ["S", "C"], ["opponent"])
    plain = fit(rows, "coop", ["S", "C"], [])
    assert (result.singular, result.random_sd) == (True, {"opponent": 0.0})
    assert (plain.singular, plain.random_sd, plain.groups) == (False, {}, {})
    for mixed, ordinary in zip(result.coefficients, plain.coefficients, strict=True):
        assert mixed[1:] == pytest.approx(ordinary[1:], abs=1e-5)


def test_separation_is_named_and_gets_no_test():
    rows = DATA["separated"]()
    result = fit(rows, "coop", ["S", "C", "S:C", "score"], ["run"])
    assert result.why == (
        "separation: coop is 1 in all 15 rows with S = 1, C = 1; the coefficients "
        "are Firth's, a description that ignores clustering"
    )
    for c in result.coefficients:
        assert c.estimate is not None
        assert c.se is c.p is c.low is None
    assert (result.log_likelihood, result.converged) == (None, False)
    smaller = fit(rows, "coop", ["S", "C"], ["run"])
    assert smaller.why is None
    assert stats.likelihood_ratio(result, smaller) == (None, 2, None)


NEVER_IN_C = [{**row, "y": int(row["site"] != "c" and row["y"])} for row in ROWS]
ABOVE_40 = [{"y": int(i > 40), "x": i / 7} for i in range(80)]
# No face of the cube holds one outcome only: the sum of three coordinates tells them apart.
CUBE = []
for a, b, c, d in product((-1, 1), repeat=4):
    CUBE.append({"y": int(a + b + c > 0), "a": a, "b": b, "c": c, "d": d})
SEPARATED = [
    (NEVER_IN_C, ["S", "site"], "y is 0 in all 17 rows with site = c;"),
    (ABOVE_40, ["x"], "y 0 and 1 are told apart by (Intercept), x;"),
    (CUBE, ["a", "b", "c", "d"], "y 0 and 1 are told apart by a, b, c;"),
]


@pytest.mark.parametrize(("rows", "fixed", "words"), SEPARATED)
def test_separation_of_a_level_by_a_number_and_by_a_sum(rows, fixed, words):
    assert f"separation: {words}" in fit(rows, fixed=fixed, random=[]).why


def separable(rows):
    """By every line through two points of the plane, from both sides."""
    points = {(row["a"], row["b"]) for row in rows}
    for (a, b), (c, d) in permutations(points, 2):
        sides = []
        for row in rows:
            side = (row["a"] - a) * (d - b) - (row["b"] - b) * (c - a)
            sides.append(side if row["y"] else -side)
        if min(sides) >= 0 and max(sides) > 0:
            return True
    return False


def test_quasi_separation_agrees_with_enumeration():
    rng, verdicts = random.Random(11), set()
    for _ in range(300):
        rows = []
        for _ in range(7):
            row = {"y": rng.randrange(2), "a": rng.randrange(3), "b": rng.randrange(3)}
            rows.append(row)
        why = fit(rows, fixed=["a", "b"], random=[]).why or ""
        if "says nothing" not in why and "every y" not in why:
            assert ("separation" in why) == separable(rows)
            verdicts.add(separable(rows))
    assert verdicts == {True, False}


def test_likelihood_ratio_wants_nested_models_of_the_same_rows():
    small, large = fit(fixed=[]), fit(fixed=["S", "C"])
    assert stats.likelihood_ratio(large, small).df == 2
    assert stats.likelihood_ratio(large, fit(fixed=["S", "C"], random=[])).df == 1
    with pytest.raises(ValueError, match="has 2 more parameters"):
        stats.likelihood_ratio(small, large)
    with pytest.raises(ValueError, match="fitted to 83 rows, the other model to 84"):
        stats.likelihood_ratio(large, fit(ROWS[1:], fixed=[]))


def test_wide_spreads_find_the_optimum():
    # Nearly pure groups: the likelihood is almost flat in both spreads.
    rng = random.Random(62)
    effects = [[rng.gauss(0, 20) for _ in range(m)] for m in (6, 9)]
    rows = []
    for _ in range(120):
        g, h = rng.randrange(6), rng.randrange(9)
        y = effects[0][g] + effects[1][h] > rng.gauss(0, 3)
        rows.append({"y": int(y), "g": g, "h": h})
    result = fit(rows, fixed=[], random=["g", "h"])
    assert result.converged and result.why is None
    assert min(result.random_sd.values()) > 3
    assert re.search(r"SD above 3 in logits \(g .*, h .*\)", result.note)
    assert fit(DATA["crossed-wide"](), "coop", []).note is None


GROUPS = ["agent", "opponent", "seed", "variant_id"]
SPREADS = [(0.05, 0.7, 0, 0.3), (0.7, 0, 0.05, 0), (0, 0.05, 0.4, 0.05)]


@pytest.mark.parametrize("spreads", SPREADS)
def test_no_random_effect_makes_a_model_less_likely(spreads):
    """A model without a group is the model in which the group's SD is 0."""
    rows = crossed(str(spreads), a_run=20, levels=12, spreads=spreads)
    best = fit(rows, "coop", ["S", "C"], GROUPS)
    for left in (GROUPS[1:], GROUPS[:3], GROUPS[1:2], []):
        reduced = fit(rows, "coop", ["S", "C"], left)
        lost = best.log_likelihood - reduced.log_likelihood
        assert lost >= -1e-6
        idle = [best.random_sd[name] == 0 for name in GROUPS if name not in left]
        if all(idle):
            assert lost <= 1e-6
