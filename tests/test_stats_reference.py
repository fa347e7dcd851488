"""The statistics against other programs: SciPy, R, statsmodels, scikit-learn, irrCAC.

Values, versions and calls stand in tests/reference/stats/*.json; make_reference.py there made them.
"""

import inspect
import json
import math
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from reference.stats.mixed_data import DATA

import stats
from stats import distributions

FUNCTIONS = [name for name, value in vars(stats).items() if inspect.isfunction(value)]
FOLDER = Path(__file__).parent / "reference" / "stats"


def entries():
    for path in sorted(FOLDER.glob("*.json")):
        for number, entry in enumerate(json.loads(path.read_text(encoding="utf-8"))):
            yield pytest.param(entry, id=f"{path.stem}-{number}-{entry['function']}")


def in_tables(tables, alternative):
    """2×2 tables, a stratum each: x's successes and failures, then y's."""
    x, y = (
        [
            (at, value)
            for at, row in enumerate(tables)
            for value in [1] * row[side] + [0] * row[side + 1]
        ]
        for side in (0, 2)
    )
    (of_x, x), (of_y, y) = (zip(*group, strict=True) for group in (x, y))
    return stats.permutation_test(x, y, alternative, strata=(of_x, of_y))


CALLABLES = {
    "max_difference": lambda x, y: max(x) - sum(y) / len(y),
    "variance": lambda x: sum((value - sum(x) / len(x)) ** 2 for value in x),
}


@cache
def fitted(data, outcome, fixed, random):
    return stats.fit_mixed_logit(DATA[data](), outcome, fixed, random)


def by_name(data, outcome, fixed, random):
    fit = fitted(data, outcome, tuple(fixed), tuple(random))
    assert bool(fit.singular) is (
        min(fit.random_sd.values(), default=1) < 1e-4
    )  # as lme4 has it
    columns = {"estimates": "estimate", "errors": "se", "z": "z", "p": "p"}
    fields = {
        field: {c.name: getattr(c, name) for c in fit.coefficients}
        for field, name in columns.items()
    }
    return SimpleNamespace(
        **fields, random_sd=fit.random_sd, log_likelihood=fit.log_likelihood
    )


def ratio(data, outcome, fixed, random, smaller):
    fits = (
        fitted(data, outcome, tuple(terms), tuple(random)) for terms in (fixed, smaller)
    )
    return stats.likelihood_ratio(*fits)


PREPARED = {
    "fit_mixed_logit": by_name,
    "likelihood_ratio": ratio,
    "noncentral_t_curve": lambda t, df, shift: distributions.noncentral_t_curve(t, df)(
        shift
    ),
    "bootstrap_ci": lambda samples, name, *rest: stats.bootstrap_ci(
        tuple(samples), CALLABLES.get(name, name), *rest
    ),
    "mean_cosine": lambda *args: stats.mean_cosine(stats.char_tfidf(*args)),
}


def compute(entry):
    name, args, kwargs = entry["function"], entry["args"], entry["kwargs"]
    if "form" in kwargs:
        return in_tables(*args)
    function = (
        PREPARED.get(name) or getattr(stats, name, None) or getattr(distributions, name)
    )
    return function(*args, **kwargs)


def flat(value, *place):
    """(its place, a value) of each value in dicts and lists."""
    if not isinstance(value, (dict, list, tuple)):
        return [(place, value)]
    parts = sorted(value.items()) if isinstance(value, dict) else enumerate(value)
    return [pair for key, part in parts for pair in flat(part, *place, key)]


@pytest.mark.parametrize("entry", list(entries()))
def test_agrees_with_the_peer(entry):
    result, expected, tolerance = compute(entry), entry["expect"], entry["tolerance"]
    if isinstance(expected, dict):
        result = {key: getattr(result, key) for key in expected}
    for (place, value), (name, peer) in zip(flat(result), flat(expected), strict=True):
        by_field = isinstance(tolerance, dict)  # these are absolute
        limit = tolerance[place[0]] if by_field else tolerance * max(1.0, abs(peer))
        assert place == name and abs(value - peer) <= limit, (place, entry)


@pytest.mark.parametrize(("a", "b"), [(2, 3), (40, 3), (10, 10), (12, 30), (9, 300)])
def test_the_beta_function_of_whole_numbers_counts_choices(a, b):
    expected = -math.log(b * math.comb(a + b - 1, b))
    assert distributions.log_beta(a, b) == pytest.approx(expected, rel=3e-14)


# --- agreement, and several tests ---


def test_positive_agreement_by_hand():
    # Cicchetti & Feinstein (1990): 2a/(2a + b + c) with a, b, c = 40, 9, 6; Wilson's limits of
    # a/(a + b + c), w, carried over as 2w/(1 + w).
    ratings = [(1, 1)] * 40 + [(1, 0)] * 9 + [(0, 1)] * 6 + [(0, 0)] * 45
    low, high, _ = stats.wilson_interval(40, 55, 0.8)
    assert stats.positive_agreement(ratings, 1, 0.8) == pytest.approx(
        (80 / 95, 2 * low / (1 + low), 2 * high / (1 + high), None)
    )
    assert stats.positive_agreement([(1, 1, 0), (0, 0, None)], 1)[:3] == (
        0.5,
        None,
        None,
    )


def test_the_level_of_an_agreement_is_that_of_its_t_quantile():
    agreement = stats.gwet_ac1([(0, 0), (0, 1), (1, 1), (1, 1)] * 9, 0.8)
    reach = (agreement.value - agreement.low) / agreement.se
    assert reach == pytest.approx(distributions.t_quantile(0.9, 35))


def test_complete_agreement_has_wilsons_limit_less_chance():
    agreement = stats.gwet_ac1([(0, 0)] * 12 + [(1, 1)] * 8)  # chance is 2 × .6 × .4
    low = (stats.wilson_interval(20, 20).low - 0.48) / 0.52
    assert agreement[:4] == (1, None, pytest.approx(low), 1)
    assert "every row agrees" in agreement.why


def test_labels_that_may_occur_lower_chance_agreement():
    ratings = [
        ("a", "a"),
        ("a", "b"),
        ("b", "b"),
        ("b", "b"),
    ]  # 3/8 of the labels are a
    assert stats.gwet_ac1(ratings).chance == 2 * 3 / 8 * 5 / 8
    assert stats.gwet_ac1(ratings, labels="abcd").chance == pytest.approx(
        2 * 3 / 8 * 5 / 8 / 3
    )


def test_a_test_that_was_not_made_stays_absent_among_the_adjusted():
    adjusted = stats.holm([0.04, None, 0.001, 0.2, 0.03])
    assert adjusted == pytest.approx([0.09, None, 0.004, 0.2, 0.09])
