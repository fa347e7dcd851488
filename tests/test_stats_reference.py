"""The statistics against other programs: SciPy, R, statsmodels, scikit-learn, irrCAC.

Values, versions and calls stand in tests/reference/stats/*.json; make_reference.py there made them.
"""

import inspect
import json
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


@cache
def fitted(data, outcome, fixed, random):
    return stats.fit_mixed_logit(DATA[data](), outcome, fixed, random)


def by_name(data, outcome, fixed, random):
    fit = fitted(data, outcome, tuple(fixed), tuple(random))
    columns = {"estimates": "estimate", "errors": "se", "z": "z", "p": "p"}
    return SimpleNamespace(
        **{field: {c.name: getattr(c, name) for c in fit.coefficients}
           for field, name in columns.items()}, **fit._asdict())


def ratio(data, outcome, fixed, random, smaller):
    fits = (fitted(data, outcome, tuple(terms), tuple(random)) for terms in (fixed, smaller))
    return stats.likelihood_ratio(*fits)


PREPARED = {
    "fit_mixed_logit": by_name,
    "likelihood_ratio": ratio,
    "noncentral_t_curve": lambda t, df, shift: distributions.noncentral_t_curve(t, df)(shift),
    "mean_cosine": lambda *args: stats.mean_cosine(stats.char_tfidf(*args)),
}


def compute(entry):
    name, args, kwargs = entry["function"], entry["args"], entry["kwargs"]
    function = PREPARED.get(name) or getattr(stats, name, None) or getattr(distributions, name)
    return function(*args, **kwargs)


def flat(value):
    if isinstance(value, dict):
        return [(key, part) for key in sorted(value) for _, part in flat(value[key])]
    if isinstance(value, (list, tuple)):
        return [part for element in value for part in flat(element)]
    return [(None, value)]


@pytest.mark.parametrize("entry", list(entries()))
def test_agrees_with_the_peer(entry):
    result, expected, tolerance = compute(entry), entry["expect"], entry["tolerance"]
    if isinstance(expected, dict):
        result = {key: getattr(result, key) for key in expected}
    pairs = list(zip(flat(result), flat(expected), strict=True))
    assert pairs or expected == []
    for (key, value), (name, reference) in pairs:
        assert key == name
        if isinstance(reference, bool):
            assert value is reference
        else:
            by_field = isinstance(tolerance, dict)  # these are absolute
            limit = tolerance[key] if by_field else tolerance * max(1.0, abs(reference))
            assert abs(value - reference) <= limit, (key, entry)


def test_every_public_statistic_has_a_reference():
    covered = {entry.values[0]["function"] for entry in entries()}
    exempt = {"contrast", "counted_against", "tally", "positive_agreement", "jaccard",
              "word_ngrams", "sequence_similarity"}
    assert set(FUNCTIONS) - covered == exempt
