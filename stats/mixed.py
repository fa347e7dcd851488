"""Logistic regression with crossed or nested random intercepts, and likelihood-ratio tests between
such models. This module checks and codes the rows that callers pass; `logistic` computes."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain, product
from math import isfinite, prod
from typing import Any, NamedTuple

from . import logistic
from .distributions import chi2_sf, critical, normal_cdf
from .logistic import Optimum, Patterns, dependent, dot
from .results import Coefficient, LikelihoodRatio, MixedFit

INTERCEPT = "(Intercept)"
LEVEL = 0.95
FIRTH = "the coefficients are Firth's, a description that ignores clustering"
FAR = 3.0  # logits: Laplace is off for a random intercept with a larger SD
LAPLACE = (
    "SD above 3 in logits ({}): the Laplace approximation is known to be off there"
)
NO_OPTIMUM = "no optimum found: the likelihood is flat or rises without end"
NO_ERRORS = "no standard errors: the log-likelihood is not curved enough"

Row = dict[str, Any]
Covariates = tuple[float, ...]  # of a row: 1 for the intercept, then those of each term
# Value of a column → (name, number) of each covariate that it gives.
Coding = dict[Any, list[tuple[str, float]]]


def fit_mixed_logit(
    rows: Iterable[Row],
    outcome: str,
    fixed: Sequence[str],
    random: Sequence[str],
) -> MixedFit:
    """Fit a logistic regression of a 0/1 column, with a random intercept for each column of
    `random`.

    `fixed` holds column names, and interactions such as "S:C" or "S:C:H". A column of strings is
    treatment-coded: its first level in sorted order is the reference, and each other level has a
    coefficient, such as `domain[hospital]`. Laplace's approximation is that of lme4's glmer(nAGQ =
    1) and glmmTMB (see logistic.py); Wald tests and 95% intervals come from the observed
    information. With `random` empty it is an ordinary logistic regression, as R's glm. Where a
    fixed effect separates the outcomes there is no likelihood estimate: `why` names the cell, and
    the coefficients are Firth's (1993), without errors or tests.
    """
    rows = list(rows)
    fixed, random = _names(fixed, "fixed"), _names(random, "random")
    y = [_binary(row, i, outcome) for i, row in enumerate(rows)]
    levels = {name: _levels(rows, name) for name in random}
    groups = {name: len(set(places)) for name, places in levels.items()}
    if not rows:
        return _without([], groups, 0, "no rows")
    names, x = _design(rows, fixed)
    if len(set(y)) == 1:
        return _without(names, groups, len(rows), f"every {outcome} is {y[0]}")
    for name in random:
        if groups[name] == 1:
            why = f"random: every row has the same {name!r}"
            return _without(names, groups, len(rows), why)
    cells = _cells(x, list(levels.values()), y)
    patterns = _patterns(cells)
    idle = dependent(logistic.cross_products(patterns.x, patterns.n))
    if idle is not None:
        why = f"fixed: {names[idle]} says nothing that the terms before it don't"
        return _without(names, groups, len(rows), why)
    direction = logistic.separating_direction(patterns)
    if direction:
        described = logistic.fit_fixed(patterns, firth=True)
        told = _separated(rows, x, y, outcome, fixed, names, direction)
        why = f"separation: {told}; {FIRTH}"
        return _without(names, groups, len(rows), why, described.beta)
    best = logistic.fit_fixed(patterns)
    if best.converged and random:
        best = logistic.fit_intercepts(logistic.Laplace(*cells), best.beta)
    if not best.converged:
        return _without(names, groups, len(rows), NO_OPTIMUM)
    return _fitted(names, groups, len(rows), best)


def likelihood_ratio(fit: MixedFit, reduced: MixedFit) -> LikelihoodRatio:
    """Test `fit` against `reduced`, which must be nested in it: twice the difference of their
    log-likelihoods against chi-squared (Wilks 1938).

    chi2 and p are None where either model has no likelihood. For a dropped random intercept p is up
    to twice too large, because its SD of 0 lies on the border of what is possible (Self & Liang
    1987).
    """
    df = _parameters(fit) - _parameters(reduced)
    if fit.rows != reduced.rows:
        raise ValueError(
            f"reduced: fitted to {reduced.rows} rows, the other model to {fit.rows}"
        )
    if df < 1:
        raise ValueError(
            f"reduced: has {-df} more parameters than the model it should be part of"
        )
    if fit.log_likelihood is None or reduced.log_likelihood is None:
        return LikelihoodRatio(None, df, None)
    gained = fit.log_likelihood - reduced.log_likelihood
    chi2 = max(0.0, 2 * gained)
    return LikelihoodRatio(chi2, df, chi2_sf(chi2, df))


def _parameters(fit: MixedFit) -> int:
    return len(fit.coefficients) + len(fit.random_sd)


# --- results ---


def _fitted(
    names: list[str], groups: dict[str, int], rows: int, best: Optimum
) -> MixedFit:
    """The result of a search that found an optimum."""
    sds: dict[str, float | None] = dict(zip(groups, best.sigma, strict=True))
    singular = any(sd < logistic.SINGULAR for sd in best.sigma)
    wide = []
    for name, sd in zip(groups, best.sigma, strict=True):
        if sd > FAR:
            wide.append(f"{name} {sd:.1f}")
    note = LAPLACE.format(", ".join(wide)) if wide else None
    if best.errors is None:
        why = NO_ERRORS
        coefficients = list(map(_untested, names, best.beta))
    else:
        why = None
        coefficients = list(map(_tested, names, best.beta, best.errors))
    return MixedFit(
        coefficients=coefficients,
        random_sd=sds,
        log_likelihood=best.log_likelihood,
        rows=rows,
        groups=groups,
        singular=singular,
        converged=True,
        why=why,
        note=note,
    )


def _tested(name: str, estimate: float, se: float) -> Coefficient:
    """A coefficient with its Wald test and interval."""
    z, half = estimate / se, critical(LEVEL) * se
    p = 2 * normal_cdf(-abs(z))
    return Coefficient(name, estimate, se, z, p, estimate - half, estimate + half)


def _untested(name: str, estimate: float | None) -> Coefficient:
    """A coefficient without error, test and interval."""
    return Coefficient(name, estimate, None, None, None, None, None)


def _without(
    names: list[str],
    groups: dict[str, int],
    rows: int,
    why: str,
    estimates: Sequence[float | None] = (),
) -> MixedFit:
    """The result where nothing was fitted; `estimates` may hold coefficients that only describe."""
    if not estimates:
        estimates = [None] * len(names)
    coefficients = list(map(_untested, names, estimates))
    sds: dict[str, float | None] = dict.fromkeys(groups)
    return MixedFit(
        coefficients=coefficients,
        random_sd=sds,
        log_likelihood=None,
        rows=rows,
        groups=groups,
        singular=None,
        converged=False,
        why=why,
    )


# --- what callers hand in ---


def _names(names: Sequence[str], role: str) -> list[str]:
    """The names as a list; ValueError for a string in their place, or a name that comes twice."""
    if isinstance(names, str):
        raise ValueError(f"{role}: a list of names is needed, not the string {names!r}")
    for name, times in Counter(names).items():
        if times > 1:
            raise ValueError(f"{role}: {name!r} stands there twice")
    return list(names)


def _value(row: Row, index: int, name: str) -> Any:
    """The value of column `name` in rows[index]; ValueError where it is missing or not finite."""
    try:
        value = row[name]
    except (KeyError, TypeError):
        raise ValueError(f"rows[{index}]: no column {name!r}") from None
    endless = isinstance(value, float) and not isfinite(value)
    if value is None or endless:
        raise ValueError(f"rows[{index}]: {name!r} is {value!r}")
    return value


def _binary(row: Row, index: int, outcome: str) -> int:
    """The outcome of rows[index], 0 or 1; ValueError where it is neither."""
    value = _value(row, index, outcome)
    if isinstance(value, str) or value not in (0, 1):
        raise ValueError(f"rows[{index}]: {outcome!r} is {value!r}, neither 0 nor 1")
    return int(value)


def _levels(rows: list[Row], name: str) -> list[int]:
    """The number of each row's level in column `name`.

    Levels are numbered by their sorted text, so that the order of rows does not matter.
    """
    values: list[Hashable] = [_value(row, i, name) for i, row in enumerate(rows)]
    try:
        order = sorted(set(values), key=repr)
    except TypeError:
        raise ValueError(
            f"random: the values of {name!r} can't be told apart as labels"
        ) from None
    number = {value: i for i, value in enumerate(order)}
    return [number[value] for value in values]


# --- coding ---


def _coding(rows: list[Row], name: str) -> Coding:
    """The covariates of each value of a column: the number itself, or the dummies of a string.
    ValueError for a column that holds anything else."""
    values = [_value(row, i, name) for i, row in enumerate(rows)]
    if all(isinstance(value, str) for value in values):
        return _dummies(name, sorted(set(values)))
    for i, value in enumerate(values):
        if not isinstance(value, (bool, int, float)):
            raise ValueError(
                f"rows[{i}]: {name!r} is {value!r}: a column has only numbers or only strings"
            )
    return {value: [(name, float(value))] for value in values}


def _dummies(name: str, labels: list[str]) -> Coding:
    """The coding of a string column: a 0/1 covariate for each label but the first, the reference."""
    coding: Coding = {}
    for label in labels:
        coding[label] = [(f"{name}[{o}]", float(label == o)) for o in labels[1:]]
    return coding


def _design(rows: list[Row], fixed: list[str]) -> tuple[list[str], list[Covariates]]:
    """The names of the coefficients, and the covariates of each row in the same order."""
    terms = [term.split(":") for term in fixed]
    for term in terms:
        _check_columns(term, rows[0])
    columns = list(dict.fromkeys(chain(*terms)))
    codings = {column: _coding(rows, column) for column in columns}
    for term in terms:
        _check_main_effects(term, fixed, codings)
    coded: dict[tuple[Any, ...], Covariates] = {}
    names, x = [INTERCEPT], []
    for row in rows:
        key = tuple([row[column] for column in columns])
        if key not in coded:
            pairs = _coded(row, terms, codings)
            names = [name for name, _ in pairs]
            coded[key] = tuple([value for _, value in pairs])
        x.append(coded[key])
    return names, x


def _coded(
    row: Row, terms: list[list[str]], codings: dict[str, Coding]
) -> list[tuple[str, float]]:
    """(name, number) of each covariate of a row: the intercept first, then those of every term.

    `codings[column][level]` lists the (name, value) of each of the level's dummies; an interaction
    multiplies one of each of its columns.
    """
    pairs = [(INTERCEPT, 1.0)]
    for term in terms:
        dummies = [codings[column][row[column]] for column in term]
        for parts in product(*dummies):
            names, values = zip(*parts, strict=True)
            pairs.append((":".join(names), prod(values)))
    return pairs


def _check_columns(term: list[str], row: Row) -> None:
    """ValueError where a term names a column that the rows lack, or one column twice."""
    for column in term:
        if column not in row:
            raise ValueError(
                f"fixed: {':'.join(term)!r} names no column of the rows: {column!r}"
            )
    if len(set(term)) < len(term):
        raise ValueError(f"fixed: {':'.join(term)!r} names a column twice")


def _check_main_effects(
    term: list[str], fixed: list[str], codings: dict[str, Coding]
) -> None:
    """ValueError where an interaction with a string column lacks a main effect: which label is the
    reference would change the model."""
    missing = [column for column in term if column not in fixed]
    values = set().union(*[codings[column] for column in term])
    labels = any(isinstance(value, str) for value in values)
    if len(term) > 1 and labels and missing:
        raise ValueError(
            f"fixed: {':'.join(term)!r} needs {missing[0]!r} as a term too"
        )


class Cells(NamedTuple):
    """The rows, with those counted together that are alike in all covariates and groups.

    `x` holds the different covariate rows, sorted; `pattern[i]` is the place in `x` of cell i,
    `levels` has a list for each grouping factor, and `k[i]` of the cell's `n[i]` outcomes are 1.
    """

    x: list[Covariates]
    pattern: list[int]
    levels: list[list[int]]
    k: list[int]
    n: list[int]


def _cells(x: list[Covariates], levels: list[list[int]], y: list[int]) -> Cells:
    """The `Cells` of rows with covariates `x`, a list of levels for each factor, and outcomes `y`."""
    patterns = sorted(set(x))
    number = {row: i for i, row in enumerate(patterns)}
    places = [number[row] for row in x]
    k: Counter[tuple[int, ...]] = Counter()
    n: Counter[tuple[int, ...]] = Counter()
    for key, outcome in zip(zip(places, *levels, strict=True), y, strict=True):
        k[key] += outcome
        n[key] += 1
    order = sorted(n)
    pattern, *groups = map(list, zip(*order, strict=True))
    return Cells(
        patterns, pattern, groups, [k[c] for c in order], [n[c] for c in order]
    )


def _patterns(cells: Cells) -> Patterns:
    """The cells summed over their groups."""
    size = len(cells.x)
    k = logistic.totals(cells.pattern, size, cells.k)
    n = logistic.totals(cells.pattern, size, cells.n)
    return Patterns(cells.x, k, n)


# --- separation in words ---


def _separated(
    rows: list[Row],
    x: list[Covariates],
    y: list[int],
    outcome: str,
    fixed: list[str],
    names: list[str],
    direction: list[float],
) -> str:
    """Say in words which rows `direction` separates: the largest cell of a term with only such rows
    and one outcome, or where there is none the covariates with a part in `direction`."""
    least = 1e-7 * max(map(abs, direction))
    apart = [abs(dot(row, direction)) > least for row in x]
    named, largest = "", [0]  # a cell of one row says nothing
    for term in sorted((t.split(":") for t in fixed), key=len):
        for cell, places in _members(rows, term).items():
            pure = len({y[i] for i in places}) == 1
            if not pure or not all(apart[i] for i in places):
                continue
            if len(places) > len(largest):
                named, largest = cell, places
    if named:
        return f"{outcome} is {y[largest[0]]} in all {len(largest)} rows with {named}"
    slopes = zip(names, direction, strict=True)
    involved = [name for name, slope in slopes if abs(slope) > least]
    return f"{outcome} 0 and 1 are told apart by {', '.join(involved)}"


def _members(rows: list[Row], term: list[str]) -> dict[str, list[int]]:
    """The places of the rows of each cell of a term; a cell is named "S = 1, C = 0"."""
    members: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        cell = ", ".join([f"{column} = {row[column]}" for column in term])
        members.setdefault(cell, []).append(i)
    return dict(sorted(members.items()))
