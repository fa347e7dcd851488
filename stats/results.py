"""The named tuples that the functions of `stats` return, and the checks of what callers pass in.

A field that cannot be computed is None, and `why` says the reason in words. Where there are
numbers, `why` is a remark on them. Sums go through `math.fsum`, since the built-in `sum` of floats
rounds differently from Python 3.12 on.
"""

import math
from collections.abc import Hashable, Iterable, Sequence, Sized
from random import Random
from typing import NamedTuple


class Interval(NamedTuple):
    """The limits of an interval."""

    low: float | None
    high: float | None
    why: str | None = None


class Estimate(NamedTuple):
    """A value with the limits of its interval."""

    value: float | None
    low: float | None
    high: float | None
    why: str | None = None


class Share(NamedTuple):
    """A share, `value` = k/n, with its limits."""

    k: int
    n: int
    value: float | None
    low: float | None
    high: float | None


class Count(NamedTuple):
    """The outcomes of a cell: `k` is the sum of those that were read, `n` says how many these are,
    `missing` how many were not read."""

    k: float
    n: int
    missing: int


class Bounds(NamedTuple):
    """An interval's limits if every missing outcome were counted against the contrast (`low`) or
    for it (`high`)."""

    low: float | None
    high: float | None


class UnitContrast(NamedTuple):
    """A contrast with its interval; `by_bulletin` and `by_wording` have its value for each of them.

    `limit_by` is the rule that set the lower limit: "bulletins", "wordings", "crossed", "pooled" or
    "range". `units` and `wordings` say how many bulletins and wordings have an outcome in every
    cell. `df` is None where no value differs between crossed units.
    """

    value: float | None
    low: float | None
    high: float | None
    se: float | None
    df: float | None
    level: float
    limit_by: str | None
    units: int
    wordings: int
    by_bulletin: dict[Hashable, float]
    by_wording: dict[Hashable, float]
    bounds: Bounds
    why: str | None = None


class TTest(NamedTuple):
    """A t test of a difference of means (or of a mean), with the difference's limits."""

    t: float | None
    df: float | None
    p: float | None
    difference: float | None
    low: float | None
    high: float | None
    why: str | None = None


class Bootstrap(NamedTuple):
    """A bootstrap interval. `resamples` is None where the distribution was computed, not sampled."""

    value: float | None
    low: float | None
    high: float | None
    se: float | None
    resamples: int | None
    method: str
    exact: bool
    why: str | None = None


class Permutation(NamedTuple):
    """A test by permutation. `resamples` is None where the distribution was computed, not sampled."""

    statistic: float | None
    p: float | None
    resamples: int | None
    exact: bool
    why: str | None = None


class Agreement(NamedTuple):
    """A coefficient of agreement with its standard error, limits and p; `observed` is the observed
    share of agreement, `chance` the share expected by chance."""

    value: float | None
    se: float | None
    low: float | None
    high: float | None
    p: float | None
    observed: float | None
    chance: float | None
    why: str | None = None


class Coefficient(NamedTuple):
    """A coefficient in logits with its Wald test and interval."""

    name: str
    estimate: float | None
    se: float | None
    z: float | None
    p: float | None
    low: float | None
    high: float | None


class MixedFit(NamedTuple):
    """A fitted model. `random_sd` maps each grouping column to the standard deviation of its
    intercepts, `groups` maps it to its number of levels.

    `note` says what makes the numbers doubtful although they were found.
    """

    coefficients: list[Coefficient]
    random_sd: dict[str, float | None]
    log_likelihood: float | None
    rows: int
    groups: dict[str, int]
    singular: bool | None
    converged: bool
    why: str | None = None
    note: str | None = None


class LikelihoodRatio(NamedTuple):
    """A likelihood-ratio test: chi-squared, its degrees of freedom, and p."""

    chi2: float | None
    df: int
    p: float | None


# --- what callers hand in -----------------------------------------------------------------------

SAME = "every value is the same"
GRID = 1 << 48
FINEST = 10_000  # a common unit is at least one in so many


def numbers(values: Iterable[float], name: str) -> list[float]:
    """`values` as a list; ValueError unless every one is a finite number."""
    try:
        values = list(values)
    except TypeError:
        raise ValueError(f"{name}: {values!r} is not a sequence of numbers") from None
    for index, value in enumerate(values):
        try:
            finite = math.isfinite(value)
        except (TypeError, OverflowError):
            finite = False
        if not finite:
            raise ValueError(f"{name}: value {index} is {value!r}, not a finite number")
    return values


def check_level(level: float) -> float:
    """The level itself; ValueError unless it lies between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"level: {level!r} is not between 0 and 1")
    return level


def check_count(k: int, n: int, names: tuple[str, str] = ("k", "n")) -> None:
    """ValueError unless `k` and `n` are whole numbers with 0 <= k <= n."""
    for value, name in zip((k, n), names, strict=True):
        if not isinstance(value, int) or value < 0:
            raise ValueError(f"{name}: {value!r} is not a count")
    if k > n:
        raise ValueError(f"{names[0]}: {k!r} is more than {names[1]} = {n!r}")


def check_proportion(p: float, name: str) -> None:
    """ValueError unless `p` is from 0 to 1."""
    if not 0 <= p <= 1:
        raise ValueError(f"{name}: {p!r} is not between 0 and 1")


def check_test(alternative: str, resamples: int) -> None:
    """ValueError for an unknown alternative, or a number of resamples below 1."""
    check_choice(alternative, ("two-sided", "greater", "less"), "alternative")
    if resamples < 1:
        raise ValueError(f"resamples: {resamples!r} is not positive")


def stream_of(rng: Random | int) -> Random:
    """The generator itself, or one that starts from the seed."""
    return rng if isinstance(rng, Random) else Random(rng)


def check_choice(value: str, choices: Iterable[str], name: str) -> None:
    """ValueError unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(
            f"{name}: {value!r} is not one of {', '.join(map(repr, choices))}"
        )


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def squares(values: Sequence[float]) -> float:
    """The sum of squared deviations from the mean; exactly 0 where all values are equal."""
    if constant(values):
        return 0.0
    centre = mean(values)
    return math.fsum((value - centre) ** 2 for value in values)


def variance(values: Sequence[float]) -> float:
    """The sample variance, with n - 1 in the denominator, of at least two values."""
    return squares(values) / (len(values) - 1)


def constant(values: Sequence[float]) -> bool:
    return min(values) == max(values)


def too_few(groups: Sequence[Sized]) -> str | None:
    """Return why a variance cannot be computed from these groups, or None if it can."""
    if any(len(group) == 0 for group in groups):
        return "a group is empty"
    if any(len(group) < 2 for group in groups):
        return "a group has fewer than two values"
    return None


def on_grid(values: Sequence[float]) -> tuple[list[int], int]:
    """Scale the values to whole numbers; return (these numbers, the largest error that rounding
    makes in a sum of them).

    The error is 0 where all values are multiples of one unit. Otherwise they are rounded to
    multiples of 2^-48 of the largest, so that sums that tie on paper still tie, in any order.
    """
    scale = _common_scale(values)
    if scale:
        return [round(value * scale) for value in values], 0
    largest = max(map(abs, values))
    return [round(value / largest * GRID) for value in values], len(values)


def _common_scale(values: Sequence[float]) -> int | None:
    """The least factor that makes all values whole numbers (3 for 1/3 and 2/3), or None where it
    is above `FINEST`.

    Rates over few trials and averages over few models have a small factor: scaled by it, equal
    sums are equal numbers, and distributions are small enough to be computed.
    """
    slack = 1e-9 * min(1.0, max(map(abs, values)))
    scale = 1
    for value in sorted(set(values)):
        factor = 1
        while abs(value * scale * factor - round(value * scale * factor)) > slack:
            factor += 1
            if scale * factor > FINEST:
                return None
        scale *= factor
    return scale
