"""The mixed logistic regression: what it refuses, what it names, what must not show in it.

Its agreement with glmmTMB, glm and brglm2 is in test_stats_reference.py.
"""

import math
import random
from collections import defaultdict
from itertools import permutations, product

import pytest
from reference.stats.mixed_data import DATA

import stats

ROWS = [
    {
        "y": i % 3 % 2,
        "S": i % 2,
        "C": i // 2 % 2,
        "site": "abc"[i % 5 % 3],
        "agent": i % 7,
        "same": 1,
    }
    for i in range(84)
]


def changed(index, **values):
    return [{**row, **values} if i == index else row for i, row in enumerate(ROWS)]


def call(rows=ROWS, outcome="y", fixed=("S",), random=("agent",)):
    return lambda: stats.fit_mixed_logit(rows, outcome, fixed, random)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (call(outcome="z"), "rows[0]: no column 'z'"),
        (call([*ROWS[:5], {}]), "rows[5]: no column 'y'"),
        (call(changed(3, y=2)), "rows[3]: 'y' is 2, neither 0 nor 1"),
        (call(changed(3, y="1")), "rows[3]: 'y' is '1', neither 0 nor 1"),
        (call(changed(9, S=math.nan)), "rows[9]: 'S' is nan"),
        (call(changed(9, S="high")), "'S' is a string in some rows only"),
        (call(changed(9, S=[1])), "rows[9]: 'S' is [1], no number"),
        (call(changed(9, agent=None)), "rows[9]: 'agent' is None"),
        (
            call(changed(9, agent=[1])),
            "random: the values of 'agent' can't be told apart",
        ),
        (call(fixed=["Q"]), "fixed: 'Q' names no column of the rows: 'Q'"),
        (call(fixed=["S:S"]), "fixed: 'S:S' names a column twice"),
        (call(fixed=["S", "S"]), "fixed: 'S' stands there twice"),
        (call(fixed="S"), "fixed: a list of names is needed, not the string 'S'"),
        (call(fixed=["S", "S:site"]), "fixed: 'S:site' needs 'site' as a term too"),
    ],
)
def test_bad_input_is_named(bad, sentence):
    with pytest.raises(ValueError) as error:
        bad()
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("fit", "sentence"),
    [
        (call([]), "no rows"),
        (call([{**row, "y": 1} for row in ROWS]), "every y is 1"),
        (call(random=["same"]), "random: every row has the same 'same'"),
        (
            call(fixed=["same"]),
            "fixed: same says nothing that the terms before it don't",
        ),
        (
            call([{**r, "T": 2 - r["S"]} for r in ROWS], fixed=["S", "T"]),
            "fixed: T says nothing",
        ),
    ],
)
def test_no_fit_says_why(fit, sentence):
    result = fit()
    assert sentence in result.why
    assert (result.log_likelihood, result.converged, result.singular) == (
        None,
        False,
        None,
    )
    assert all(value is None for c in result.coefficients for value in c[1:])
    assert all(sd is None for sd in result.random_sd.values())


def test_fields_of_a_fit():
    fit = call(fixed=["S", "site", "S:site", "S:C"])()
    names = ["(Intercept)", "S", "site[b]", "site[c]", "S:site[b]", "S:site[c]", "S:C"]
    assert [c.name for c in fit.coefficients] == names
    assert (fit.rows, fit.groups, fit.why) == (84, {"agent": 7}, None)
    for c in fit.coefficients:
        half = 1.959963984540054 * c.se
        assert c[3:] == pytest.approx(
            (
                c.estimate / c.se,
                math.erfc(abs(c.z) / math.sqrt(2)),
                c.estimate - half,
                c.estimate + half,
            )
        )


def test_the_order_of_rows_does_not_show():
    rows = DATA["crossed"]()[:700]
    shuffled = random.Random(4).sample(rows, len(rows))
    first, second = (
        call(r, "coop", ["S", "C", "S:C"], ["agent", "opponent"])()
        for r in (rows, shuffled)
    )
    assert first == second


def test_no_spread_is_zero_and_called_singular():
    rows = DATA["no-spread"]()
    fit, plain = (
        call(rows, "coop", ["S", "C"], groups)() for groups in (["opponent"], [])
    )
    assert fit.singular and fit.converged and fit.random_sd == {"opponent": 0.0}
    assert fit.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-9)
    assert stats.likelihood_ratio(fit, plain).chi2 == pytest.approx(0, abs=1e-8)
    for mixed, ordinary in zip(fit.coefficients, plain.coefficients, strict=True):
        assert mixed[1:] == pytest.approx(ordinary[1:], abs=1e-5)
    assert not plain.singular and plain.random_sd == {} and plain.groups == {}


@pytest.mark.parametrize("grouping", [[], ["run"]])
def test_separation_is_named_and_gets_no_test(grouping):
    rows = DATA["separated"]()
    fit = stats.fit_mixed_logit(rows, "coop", ["S", "C", "S:C", "score"], grouping)
    assert fit.why == (
        "separation: coop is 1 in all 15 rows with S = 1, C = 1; the coefficients "
        "are Firth's, a description that ignores clustering"
    )
    assert all(
        c.estimate is not None and c.se is c.p is c.low is None
        for c in fit.coefficients
    )
    smaller = stats.fit_mixed_logit(rows, "coop", ["S", "C"], grouping)
    assert (fit.log_likelihood, fit.converged, smaller.why) == (None, False, None)
    assert stats.likelihood_ratio(fit, smaller) == (None, 2, None)


@pytest.mark.parametrize(
    ("rows", "fixed", "words"),
    [
        (
            [{**row, "y": int(row["site"] != "c" and row["y"])} for row in ROWS],
            ["S", "site"],
            "y is 0 in all 17 rows with site = c;",
        ),
        (
            [{"y": int(i > 40), "x": i / 7} for i in range(80)],
            ["x"],
            "y 0 and 1 are told apart by (Intercept), x;",
        ),
        # No face of the cube holds one outcome only: the sum of three coordinates tells them apart.
        (
            [
                {"y": int(a + b + c > 0), "a": a, "b": b, "c": c, "d": d}
                for a, b, c, d in product((-1, 1), repeat=4)
            ],
            ["a", "b", "c", "d"],
            "y 0 and 1 are told apart by a, b, c;",
        ),
    ],
)
def test_separation_of_a_level_by_a_number_and_by_a_sum(rows, fixed, words):
    assert f"separation: {words}" in call(rows, fixed=fixed, random=[])().why


def test_quasi_separation_agrees_with_enumeration():
    rng, verdicts = random.Random(11), set()
    for _ in range(300):
        rows = [
            {"y": rng.randrange(2), "a": rng.randrange(3), "b": rng.randrange(3)}
            for _ in range(7)
        ]
        why = call(rows, fixed=["a", "b"], random=[])().why or ""
        if "says nothing" not in why and "every y" not in why:
            assert ("separation" in why) == separable(rows)
            verdicts.add(separable(rows))
    assert verdicts == {True, False}


def separable(rows):
    """By every line through two points of the plane, from both sides."""
    points = {(row["a"], row["b"]) for row in rows}
    for (a, b), (c, d) in permutations(points, 2):
        sides = [
            ((row["a"] - a) * (d - b) - (row["b"] - b) * (c - a)) * (2 * row["y"] - 1)
            for row in rows
        ]
        if min(sides) >= 0 and max(sides) > 0:
            return True
    return False


def test_likelihood_ratio_wants_nested_models_of_the_same_rows():
    small, large = call(fixed=[])(), call(fixed=["S", "C"])()
    assert stats.likelihood_ratio(large, small).df == 2
    assert stats.likelihood_ratio(large, call(fixed=["S", "C"], random=[])()).df == 1
    with pytest.raises(ValueError, match="has 2 more parameters"):
        stats.likelihood_ratio(small, large)
    with pytest.raises(ValueError, match="fitted to 83 rows, the other model to 84"):
        stats.likelihood_ratio(large, call(ROWS[1:], fixed=[])())


def test_wide_spreads_find_the_optimum():
    # Nearly pure groups: the likelihood is almost flat in both spreads.
    rng = random.Random(62)
    effects = [[rng.gauss(0, 20) for _ in range(m)] for m in (6, 9)]
    rows = []
    for _ in range(120):
        g, h = rng.randrange(6), rng.randrange(9)
        rows.append(
            {"y": int(effects[0][g] + effects[1][h] > rng.gauss(0, 3)), "g": g, "h": h}
        )
    fit = call(rows, fixed=[], random=["g", "h"])()
    assert fit.converged and min(fit.random_sd.values()) > 3
    assert (
        "SD above 3 in logits (g " in fit.note and "h " in fit.note and fit.why is None
    )
    assert call(DATA["crossed-wide"](), "coop", [])().note is None


GROUPS = ["agent", "opponent", "policy"]


def drawn(seed):
    """Rows of twelve agents with four policies and some opponents each; SDs are 0, small, large."""
    chance = random.Random(seed)
    sds = {name: chance.choice([0, 0.05, 0.4]) for name in GROUPS}
    normal = defaultdict(lambda: chance.gauss(0, 1))
    for agent, s, c in product(range(12), (0, 1), (0, 1)):
        for opponent in chance.sample(range(12), 6):
            row = {
                "S": s,
                "C": c,
                "agent": agent,
                "opponent": opponent,
                "policy": (agent, s, c),
            }
            eta = (
                0.6 * s
                + 0.4 * c
                + sum(sd * normal[name, row[name]] for name, sd in sds.items())
            )
            yield row | {"y": int(chance.random() < 1 / (1 + math.exp(-eta)))}


@pytest.mark.parametrize("seed", range(6))
def test_no_random_effect_makes_a_model_less_likely(seed):
    """A model without a group is the model in which the group's SD is 0."""
    rows = list(drawn(seed))
    best = call(rows, fixed=["S", "C"], random=GROUPS)()
    for left_out in [
        {"agent"},
        {"opponent"},
        {"policy"},
        {"agent", "policy"},
        set(GROUPS),
    ]:
        rest = [group for group in GROUPS if group not in left_out]
        reduced = call(rows, fixed=["S", "C"], random=rest)()
        assert reduced.log_likelihood <= best.log_likelihood + 1e-6
        if not any(best.random_sd[group] for group in left_out):
            assert reduced.log_likelihood == pytest.approx(
                best.log_likelihood, abs=1e-6
            )
