"""What the functions of this room return.

A field that cannot be computed is None, and `why` says so in words. `why` beside numbers is a
remark on them.
"""

from collections.abc import Hashable
from typing import NamedTuple


def _fields(self) -> dict:
    return self._asdict()


class Interval(NamedTuple):
    low: float | None
    high: float | None
    why: str | None = None

    asdict = _fields


class Estimate(NamedTuple):
    value: float | None
    low: float | None
    high: float | None
    why: str | None = None

    asdict = _fields


class Share(NamedTuple):
    """k of n. `k` is a sum of probabilities where the outcomes are."""

    k: float
    n: int
    value: float | None
    low: float | None
    high: float | None

    asdict = _fields


class Contrast(NamedTuple):
    value: float | None
    low: float | None
    high: float | None
    df: float | None
    p: float | None
    why: str | None = None

    asdict = _fields


class Count(NamedTuple):
    """Of the outcomes of a cell: their sum, how many were read, how many were not."""

    k: float
    n: int
    missing: int

    asdict = _fields


class Bounds(NamedTuple):
    """A contrast with what is missing counted against it (`low`) and for it (`high`), and the
    outer limits of the two intervals."""

    low: float | None
    high: float | None
    lowest: float | None
    highest: float | None

    asdict = _fields


class UnitContrast(NamedTuple):
    """`differences` by unit; `against`: units whose difference has the other sign than the value;
    `least`: the smallest value with one unit left out, and which; `incomplete`: units without an
    outcome in one of the cells; `cells`: counts pooled over the units of `differences`."""

    value: float | None
    low: float | None
    high: float | None
    p: float | None
    differences: dict[Hashable, float]
    against: list[Hashable]
    least: float | None
    without: Hashable | None
    incomplete: list[Hashable]
    cells: dict[Hashable, Count]
    bounds: Bounds
    why: str | None = None

    def asdict(self) -> dict:
        cells = {cell: count.asdict() for cell, count in self.cells.items()}
        return _fields(self) | {"cells": cells, "bounds": self.bounds.asdict()}


class TTest(NamedTuple):
    t: float | None
    df: float | None
    p: float | None
    difference: float | None
    low: float | None
    high: float | None
    why: str | None = None

    asdict = _fields


class Bootstrap(NamedTuple):
    """`resamples` is None where the distribution was computed instead of sampled."""

    value: float | None
    low: float | None
    high: float | None
    se: float | None
    resamples: int | None
    method: str
    exact: bool
    why: str | None = None

    asdict = _fields


class Permutation(NamedTuple):
    """`resamples` is None where the distribution was computed instead of sampled."""

    statistic: float | None
    p: float | None
    resamples: int | None
    exact: bool
    why: str | None = None

    asdict = _fields


class Equivalence(NamedTuple):
    difference: float | None
    low90: float | None
    high90: float | None
    p: float | None
    shown: bool | None
    why: str | None = None

    asdict = _fields


class Agreement(NamedTuple):
    value: float | None
    se: float | None
    low: float | None
    high: float | None
    p: float | None
    observed: float | None
    chance: float | None
    why: str | None = None

    asdict = _fields


class Coefficient(NamedTuple):
    name: str
    estimate: float | None
    se: float | None
    z: float | None
    p: float | None
    low: float | None
    high: float | None

    asdict = _fields


class MixedFit(NamedTuple):
    """`random_sd` and `groups` are by grouping column: standard deviation, number of levels.

    `note`: what makes the numbers doubtful though they were found.
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

    def asdict(self) -> dict:
        return _fields(self) | {"coefficients": [c.asdict() for c in self.coefficients]}


class LikelihoodRatio(NamedTuple):
    chi2: float | None
    df: int
    p: float | None

    asdict = _fields
