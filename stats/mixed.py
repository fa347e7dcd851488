"""Logistic regression with crossed or nested random intercepts, and likelihood-ratio tests."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple

from . import logistic
from .distributions import chi2_sf, critical, normal_cdf
from .logistic import Patterns, dependent, dot
from .results import Coefficient, LikelihoodRatio, MixedFit

INTERCEPT = "(Intercept)"
LEVEL = 0.95
FIRTH = "the coefficients are Firth's, a description that ignores clustering"
FAR = 3.0  # a random intercept's SD in logits
LAPLACE = (
    "SD above 3 in logits ({}): the Laplace approximation is known to be off there"
)
NO_OPTIMUM = "no optimum found: the likelihood is flat or rises without end"

Row = dict[str, Any]
Coding = dict[
    Any, list[tuple[str, float]]
]  # value of a column → names and numbers of its dummies


def fit_mixed_logit(
    rows: Iterable[Row],
    outcome: str,
    fixed: Sequence[str],
    random: Sequence[str],
) -> MixedFit:
    """Logistic regression of a 0/1 column, one random intercept for each column of `random`.

    `fixed`: column names, and interactions such as "S:C" or "S:C:H". Columns of strings are
    treatment-coded, the first level in sorted order being the reference: `domain[hospital]`.
    Laplace approximation, as lme4's glmer(nAGQ = 1) and glmmTMB (see logistic.py); Wald tests and
    95% intervals from the observed information. With `random` empty an ordinary logistic
    regression, as R's glm. Where a fixed effect separates the outcomes no likelihood estimate
    exists: `why` names the cell, and the coefficients are Firth's (1993), without errors or tests.
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
    single = next((name for name in random if groups[name] == 1), None)
    if single:
        return _without(
            names, groups, len(rows), f"random: every row has the same {single!r}"
        )
    cells = _cells(x, list(levels.values()), y)
    patterns = _patterns(cells)
    idle = dependent(logistic.cross_products(patterns.x, patterns.n))
    if idle is not None:
        why = f"fixed: {names[idle]} says nothing that the terms before it don't"
        return _without(names, groups, len(rows), why)
    direction = logistic.separating_direction(patterns)
    if direction:
        described = logistic.fit_fixed(patterns, firth=True)
        slopes = dict(zip(names, direction, strict=True))
        why = f"separation: {_separated(rows, x, y, outcome, fixed, slopes)}; {FIRTH}"
        return _without(names, groups, len(rows), why, described.beta)
    ordinary = logistic.fit_fixed(patterns)
    if not ordinary.converged:
        return _without(names, groups, len(rows), NO_OPTIMUM)
    if not random:
        errors = ordinary.errors
        coefficients = [
            _tested(*each) for each in zip(names, ordinary.beta, errors, strict=True)
        ]
        return MixedFit(
            coefficients, {}, ordinary.log_likelihood, len(rows), {}, False, True
        )
    return _mixed(names, cells, ordinary.beta, groups, len(rows))


def likelihood_ratio(fit: MixedFit, reduced: MixedFit) -> LikelihoodRatio:
    """Twice the difference of log-likelihoods against chi-squared (Wilks 1938).

    `reduced` must be nested in `fit`. None where either has no likelihood. For a dropped random
    intercept p is up to twice too large: its null value is on the border (Self & Liang 1987).
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
    chi2 = max(0.0, 2 * (fit.log_likelihood - reduced.log_likelihood))
    return LikelihoodRatio(chi2, df, chi2_sf(chi2, df))


def _parameters(fit: MixedFit) -> int:
    return len(fit.coefficients) + len(fit.random_sd)


def _mixed(
    names: list[str],
    cells: "Cells",
    beta: list[float],
    groups: dict[str, int],
    rows: int,
) -> MixedFit:
    best = logistic.fit_intercepts(logistic.Laplace(*cells), beta)
    if not best.converged:
        return _without(names, groups, rows, NO_OPTIMUM)
    sds = dict(zip(groups, best.sigma, strict=True))
    errors = best.errors or [None] * len(names)
    coefficients = [
        _tested(*each) for each in zip(names, best.beta, errors, strict=True)
    ]
    singular = any(sd < logistic.SINGULAR for sd in sds.values())
    why = (
        None
        if best.errors
        else "no standard errors: the log-likelihood is not curved enough"
    )
    wide = [f"{name} {sd:.1f}" for name, sd in sds.items() if sd > FAR]
    note = LAPLACE.format(", ".join(wide)) if wide else None
    return MixedFit(
        coefficients, sds, best.log_likelihood, rows, groups, singular, True, why, note
    )


def _tested(name: str, estimate: float, se: float | None) -> Coefficient:
    if se is None:
        return Coefficient(name, estimate, None, None, None, None, None)
    z, half = estimate / se, critical(LEVEL) * se
    p = 2 * normal_cdf(-abs(z))
    return Coefficient(name, estimate, se, z, p, estimate - half, estimate + half)


def _without(
    names: list[str],
    groups: dict[str, int],
    rows: int,
    why: str,
    estimates: list[float] | None = None,
) -> MixedFit:
    blank = (None,) * 5
    pairs = zip(names, estimates or [None] * len(names), strict=True)
    coefficients = [Coefficient(name, estimate, *blank) for name, estimate in pairs]
    return MixedFit(
        coefficients, dict.fromkeys(groups), None, rows, groups, None, False, why
    )


def _names(names: Sequence[str], role: str) -> list[str]:
    if isinstance(names, str):
        raise ValueError(f"{role}: a list of names is needed, not the string {names!r}")
    names = list(names)
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"{role}: {twice[0]!r} stands there twice")
    return names


def _value(row: Row, index: int, name: str) -> Any:
    try:
        value = row[name]
    except (KeyError, TypeError):
        raise ValueError(f"rows[{index}]: no column {name!r}") from None
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(f"rows[{index}]: {name!r} is {value!r}")
    return value


def _binary(row: Row, index: int, outcome: str) -> int:
    value = _value(row, index, outcome)
    if isinstance(value, str) or value not in (0, 1):
        raise ValueError(f"rows[{index}]: {outcome!r} is {value!r}, neither 0 nor 1")
    return int(value)


def _levels(rows: list[Row], name: str) -> list[int]:
    """The group of each row, numbered in an order that does not depend on the rows'."""
    values: list[Hashable] = [_value(row, i, name) for i, row in enumerate(rows)]
    try:
        number = {value: i for i, value in enumerate(sorted(set(values), key=repr))}
    except TypeError:
        raise ValueError(
            f"random: the values of {name!r} can't be told apart as labels"
        ) from None
    return [number[value] for value in values]


def _coding(rows: list[Row], name: str) -> Coding:
    values = [_value(row, i, name) for i, row in enumerate(rows)]
    strings = [isinstance(value, str) for value in values]
    if all(strings):
        reference, *others = sorted(set(values))
        coding = {
            value: [(f"{name}[{o}]", float(value == o)) for o in others]
            for value in others
        }
        return coding | {reference: [(f"{name}[{o}]", 0.0) for o in others]}
    for i, value in enumerate(values):
        if not isinstance(value, (bool, int, float)):
            kind = (
                "is a string in some rows only"
                if any(strings)
                else f"is {value!r}, no number"
            )
            raise ValueError(f"rows[{i}]: {name!r} {kind}")
    return {value: [(name, float(value))] for value in values}


def _design(
    rows: list[Row], fixed: list[str]
) -> tuple[list[str], list[tuple[float, ...]]]:
    """Names of the coefficients, and one row of numbers for each row of the data."""
    terms = [term.split(":") for term in fixed]
    for term in terms:
        _known(term, fixed, rows[0])
    columns = list(dict.fromkeys(column for term in terms for column in term))
    codings = {column: _coding(rows, column) for column in columns}
    for term in terms:
        _whole(term, fixed, codings)
    names, seen, x = [INTERCEPT], {}, []
    for row in rows:
        key = tuple([row[column] for column in columns])
        if key not in seen:
            coded = {
                c: codings[c][value] for c, value in zip(columns, key, strict=True)
            }
            pairs = [
                _product(parts)
                for t in terms
                for parts in product(*(coded[c] for c in t))
            ]
            names = [INTERCEPT, *(name for name, _ in pairs)]
            seen[key] = (1.0, *(value for _, value in pairs))
        x.append(seen[key])
    return names, x


def _product(parts: tuple[tuple[str, float], ...]) -> tuple[str, float]:
    return ":".join(name for name, _ in parts), math.prod(value for _, value in parts)


def _known(term: list[str], fixed: list[str], row: Row) -> None:
    for column in term:
        if column not in row:
            raise ValueError(
                f"fixed: {':'.join(term)!r} names no column of the rows: {column!r}"
            )
    if len(set(term)) < len(term):
        raise ValueError(f"fixed: {':'.join(term)!r} names a column twice")


def _whole(term: list[str], fixed: list[str], codings: dict[str, Coding]) -> None:
    """An interaction of a string column needs its main effects: its dummies depend on them."""
    for column in term if len(term) > 1 else []:
        labels = any(isinstance(value, str) for value in codings[column])
        missing = next((c for c in term if c not in fixed), None)
        if labels and missing:
            raise ValueError(
                f"fixed: {':'.join(term)!r} needs {missing!r} as a term too"
            )


class Cells(NamedTuple):
    """Rows alike in covariates and groups, counted; `x` holds the covariate patterns, sorted."""

    x: list[tuple[float, ...]]
    pattern: list[int]
    levels: list[list[int]]
    k: list[int]
    n: list[int]


def _cells(x: list[tuple[float, ...]], levels: list[list[int]], y: list[int]) -> Cells:
    patterns = sorted(set(x))
    number = {row: i for i, row in enumerate(patterns)}
    keys = list(zip((number[row] for row in x), *levels, strict=True))
    n = Counter(keys)
    k = Counter(key for key, outcome in zip(keys, y, strict=True) if outcome)
    order = sorted(n)
    pattern, *places = map(list, zip(*order, strict=True))
    return Cells(
        patterns, pattern, places, [k[key] for key in order], [n[key] for key in order]
    )


def _patterns(cells: Cells) -> Patterns:
    k, n = [0] * len(cells.x), [0] * len(cells.x)
    for i, ones, trials in zip(cells.pattern, cells.k, cells.n, strict=True):
        k[i] += ones
        n[i] += trials
    return Patterns(cells.x, k, n)


def _separated(
    rows: list[Row],
    x: list[tuple[float, ...]],
    y: list[int],
    outcome: str,
    fixed: list[str],
    slopes: dict[str, float],
) -> str:
    """Which rows are told apart: the largest cell of a term that lies among them, in words."""
    direction = list(slopes.values())
    least = 1e-7 * max(map(abs, direction))
    apart = {row: abs(dot(row, direction)) > least for row in set(x)}
    largest, sentence = 1, ""
    for term in sorted((t.split(":") for t in fixed), key=len):
        members: dict[tuple, list[int]] = {}
        for i, row in enumerate(rows):
            members.setdefault(tuple(row[column] for column in term), []).append(i)
        for values, within in sorted(members.items(), key=repr):
            ones = {y[i] for i in within}
            if (
                len(within) > largest
                and len(ones) == 1
                and all(apart[x[i]] for i in within)
            ):
                largest = len(within)
                cell = ", ".join(
                    f"{c} = {v}" for c, v in zip(term, values, strict=True)
                )
                sentence = (
                    f"{outcome} is {ones.pop()} in all {largest} rows with {cell}"
                )
    involved = [name for name, slope in slopes.items() if abs(slope) > least]
    return sentence or f"{outcome} 0 and 1 are told apart by {', '.join(involved)}"
