"""The statistics against other programs: SciPy, R, statsmodels, scikit-learn, irrCAC.

Values, versions and calls stand in tests/reference/stats/*.json; make_reference.py there made them.
"""

import json
import math
from collections import Counter
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from reference.stats.mixed_data import DATA

import stats

FOLDER = Path(__file__).parent / "reference" / "stats"


def entries():
    for path in sorted(FOLDER.glob("*.json")):
        for number, entry in enumerate(json.loads(path.read_text(encoding="utf-8"))):
            yield pytest.param(entry, id=f"{path.stem}-{number}-{entry['function']}")


# --- functions that take or give what JSON has no form for ---


def in_tables(tables, alternative):
    """2×2 tables, a stratum each: x's successes and failures, then y's."""
    values, labels = ([], []), ([], [])
    for stratum, (x1, x0, y1, y0) in enumerate(tables):
        for side, (ones, zeros) in enumerate([(x1, x0), (y1, y0)]):
            values[side].extend([1] * ones + [0] * zeros)
            labels[side].extend([stratum] * (ones + zeros))
    return stats.permutation_test(*values, alternative, labels)


def max_difference(x, y):
    return max(x) - sum(y) / len(y)


def variance(x):
    mean = sum(x) / len(x)
    return sum((value - mean) ** 2 for value in x)


CALLABLES = {"max_difference": max_difference, "variance": variance}


def bootstrap(samples, name, *rest):
    return stats.bootstrap_ci(tuple(samples), CALLABLES.get(name, name), *rest)


@cache
def fitted(data, outcome, fixed, random):
    return stats.fit_mixed_logit(DATA[data](), outcome, fixed, random)


def by_name(data, outcome, fixed, random):
    fit = fitted(data, outcome, tuple(fixed), tuple(random))
    least = min(fit.random_sd.values(), default=1)
    assert bool(fit.singular) is (least < 1e-4)  # as lme4 has it
    result = SimpleNamespace(estimates={}, errors={}, z={}, p={})
    for c in fit.coefficients:
        result.estimates[c.name] = c.estimate
        result.errors[c.name] = c.se
        result.z[c.name] = c.z
        result.p[c.name] = c.p
    result.random_sd, result.log_likelihood = fit.random_sd, fit.log_likelihood
    return result


def ratio(data, outcome, fixed, random, smaller):
    fit = fitted(data, outcome, tuple(fixed), tuple(random))
    reduced = fitted(data, outcome, tuple(smaller), tuple(random))
    return stats.likelihood_ratio(fit, reduced)


def contrast(rows, *rest):
    table = stats.tally(((b, w), cell, y) for b, w, cell, y in rows)
    return stats.contrast(table, *rest)


def cosine(*texts):
    return stats.mean_cosine(stats.char_tfidf(*texts))


PREPARED = {
    "fit_mixed_logit": by_name,
    "likelihood_ratio": ratio,
    "bootstrap_ci": bootstrap,
    "mean_cosine": cosine,
    "contrast": contrast,
}


def compute(entry):
    name, arguments, options = entry["function"], entry["args"], entry["kwargs"]
    if "form" in options:
        return in_tables(*arguments)
    function = PREPARED.get(name) or getattr(stats, name)
    return function(*arguments, **options)


def check(ours, peer, **within):
    if isinstance(ours, dict):
        assert ours.keys() == peer.keys()
    if isinstance(peer, dict):
        for key, value in peer.items():
            each = ours[key] if isinstance(ours, dict) else getattr(ours, key)
            check(each, value, **within)
    elif isinstance(peer, list):
        for one, other in zip(ours, peer, strict=True):
            check(one, other, **within)
    else:
        assert ours == pytest.approx(peer, **within)


@pytest.mark.parametrize("entry", list(entries()))
def test_agrees_with_the_peer(entry):
    result, expected, limits = compute(entry), entry["expect"], entry["tolerance"]
    if isinstance(limits, dict):  # absolute, by field
        for field, value in expected.items():
            check(getattr(result, field), value, rel=0, abs=limits[field])
    else:
        check(result, expected, rel=limits, abs=limits)


def test_many_degrees_of_freedom_keep_their_digits():
    # The expansion of Student's quantile around the normal one (Abramowitz & Stegun, 26.7.5).
    z, df = 1.959963984540054, 19_999
    wider = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    quantile = z + wider[0] / df + wider[1] / df**2
    high = stats.t_interval([-1, 1] * 10_000).high
    assert high * math.sqrt(df) == pytest.approx(quantile, rel=2e-13)


# --- agreement, and several tests ---


def test_positive_agreement_by_hand():
    # Cicchetti & Feinstein (1990): 2a/(2a + b + c) with a, b, c = 40, 9, 6; Wilson's limits of
    # a/(a + b + c), w, carried over as 2w/(1 + w).
    ratings = Counter({(1, 1): 40, (1, 0): 9, (0, 1): 6, (0, 0): 45}).elements()
    result = stats.positive_agreement(list(ratings), 1, 0.8)
    assert result.value == pytest.approx(80 / 95)
    w = stats.wilson_interval(40, 55, 0.8)
    assert result.low == pytest.approx(2 * w.low / (1 + w.low))
    assert result.high == pytest.approx(2 * w.high / (1 + w.high))


def test_positive_agreement_of_three_raters_has_no_interval():
    result = stats.positive_agreement([(1, 1, 0), (0, 0, None)], 1)
    assert (result.value, result.low, result.high) == (0.5, None, None)


def test_the_level_of_an_agreement_is_that_of_its_t_quantile():
    agreement = stats.gwet_ac1([(0, 0), (0, 1), (1, 1), (1, 1)] * 9, 0.8)
    reach = (agreement.value - agreement.low) / agreement.se
    assert reach == pytest.approx(1.306212, abs=1e-6)  # qt(0.9, 35) of R


def test_complete_agreement_has_wilsons_limit_less_chance():
    agreement = stats.gwet_ac1([(0, 0)] * 12 + [(1, 1)] * 8)  # chance is 2 × .6 × .4
    low = (stats.share(20, 20).low - 0.48) / 0.52
    assert agreement[:4] == (1, None, pytest.approx(low), 1)
    assert "every row agrees" in agreement.why


def test_a_test_that_was_not_made_stays_absent_among_the_adjusted():
    adjusted = stats.holm([0.04, None, 0.001, 0.2, 0.03])
    assert adjusted == pytest.approx([0.09, None, 0.004, 0.2, 0.09])
