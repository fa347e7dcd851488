"""Refusal rates of prompts and categories, with the bootstrap over trials within prompts."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from random import Random
from typing import NamedTuple

from stats import Bootstrap, Estimate, score_difference, wilson_interval
from stats.distributions import binomial_pmf
from stats.permutation import convolve
from urrp.suite import MIN_TRIALS
from urrp.trials import Group, in_category

RESAMPLES = 10_000  # where the bootstrap distribution is too wide to be computed
LATTICE = 3_000  # points up to which it is computed
NOTHING = "no trial was answered or refused"
ROLES = ("complied", "refused", "partial", "unrated")


class Count(NamedTuple):
    """One prompt's account: every trial is complied, refused, partial or unrated."""

    name: str
    refused: int
    complied: int
    partial: int = 0
    unrated: int = 0

    @property
    def n(self) -> int:
        """Rated trials; a partial answer was given."""
        return self.refused + self.complied + self.partial

    @property
    def trials(self) -> int:
        return self.n + self.unrated


class Rate(NamedTuple):
    """A share of refusal with its 95% score interval, prompts weighted equally.

    Partial answers count as answers in `value`, as refusals in `at_most`. `k` of `n` rated trials
    refused, of `trials`. `why` where it can't be given.
    """

    value: float | None
    low: float | None
    high: float | None
    at_most: float | None
    k: int
    partial: int
    n: int
    trials: int
    why: str | None = None


class Difference(NamedTuple):
    """A difference of two shares: bootstrap interval, and the score interval beside it.

    `low`, `high` are the bootstrap's only where every prompt was both refused and obeyed: a prompt
    at 0 or 1 never differs between resamples, however few its trials. `interval` says which.
    """

    value: float | None
    low: float | None
    high: float | None
    interval: str | None
    bootstrap: Bootstrap | None
    score: Estimate | None
    why: str | None = None


def counts(group: Group, names: Sequence[str]) -> list[Count]:
    """The accounts of the prompts among `names` that have a trial."""
    return [
        Count(name, *(cell.roles[role] for role in ("refused", "complied", "partial", "unrated")))
        for name in names
        if (cell := group.cell(name)).labels
    ]


def category(group: Group, names: Sequence[str], which: str) -> list[Count]:
    """`counts` of a category's prompts."""
    return counts(group, in_category(names, which))


def rated(prompts: Sequence[Count]) -> list[Count]:
    """The prompts with enough rated trials to enter a rate."""
    return [p for p in prompts if p.n >= MIN_TRIALS]


def as_refusals(prompts: Sequence[Count]) -> list[Count]:
    """Partial answers read as refusals."""
    return [Count(p.name, p.refused + p.partial, p.complied, 0, p.unrated) for p in prompts]


def as_answers(prompts: Sequence[Count]) -> list[Count]:
    """Partial answers read as compliances."""
    return [Count(p.name, p.refused, p.complied + p.partial, 0, p.unrated) for p in prompts]


def complying(prompts: Sequence[Count]) -> list[Count]:
    """Compliance among all trials, in the place of refusal."""
    return [Count(p.name, p.complied, p.trials - p.complied) for p in prompts]


def share(prompts: Sequence[Count]) -> float | None:
    """Mean refusal of the prompts, each with equal weight; partial answers are answers."""
    if not prompts:
        return None
    return math.fsum(p.refused / p.n for p in prompts) / len(prompts)


def effective(prompts: Sequence[Count]) -> tuple[int, int]:
    """(k, n) of one sample that is as precise as the share with equal weights, whole numbers.

    n is m²/Σ(1/nᵢ): all trials where prompts have equally many, fewer where one has few.
    """
    n = round(len(prompts) ** 2 / math.fsum(1 / p.n for p in prompts))
    return round((share(prompts) or 0.0) * n), n


def rate(prompts: Sequence[Count]) -> Rate:
    """The share of refusals with Wilson's interval on the effective number of trials."""
    enough, trials = rated(prompts), sum(p.trials for p in prompts)
    if not enough:
        n = sum(p.n for p in prompts)
        k, partial = sum(p.refused for p in prompts), sum(p.partial for p in prompts)
        why = f"{n} of {trials} rated" if trials else NOTHING
        return Rate(None, None, None, None, k, partial, n, trials, why)
    value = share(enough)
    low, high, _ = wilson_interval(*effective(enough))
    k, partial = sum(p.refused for p in enough), sum(p.partial for p in enough)
    most, n = share(as_refusals(enough)), sum(p.n for p in enough)
    return Rate(value, min(low, value), max(high, value), most, k, partial, n, trials)


def _lattice(a: Sequence[Count], b: Sequence[Count]) -> int | None:
    """Points on which mean(a) − mean(b) lies, where few enough to compute with."""
    scale = 1
    for prompts in (a, b):
        for prompt in prompts:
            scale = math.lcm(scale, len(prompts) * prompt.n)
            if 2 * scale > LATTICE:
                return None
    return scale


def _exact(a: Sequence[Count], b: Sequence[Count], scale: int) -> list[tuple[float, float]]:
    """(value, probability) pairs of the stratified bootstrap distribution, by convolution."""
    chances, lowest = [1.0], 0
    for prompts, taken_off in ((a, False), (b, True)):
        for prompt in prompts:
            step = scale // (len(prompts) * prompt.n)
            spread = [0.0] * (step * prompt.n + 1)
            spread[::step] = binomial_pmf(prompt.n, prompt.refused / prompt.n)
            if taken_off:
                spread.reverse()
                lowest -= step * prompt.n
            chances = convolve(chances, spread)
    return [((lowest + i) / scale, p) for i, p in enumerate(chances)]


def _drawn(a: Sequence[Count], b: Sequence[Count], rng: Random) -> list[tuple[float, float]]:
    """The same by drawing each prompt's resampled count from its binomial distribution."""
    tables = [
        (sign / (len(prompts) * p.n), list(accumulate(binomial_pmf(p.n, p.refused / p.n))))
        for prompts, sign in ((a, 1), (b, -1))
        for p in prompts
    ]
    values = sorted(
        math.fsum(w * min(bisect_left(cdf, rng.random()), len(cdf) - 1) for w, cdf in tables)
        for _ in range(RESAMPLES)
    )
    return [(value, 1 / RESAMPLES) for value in values]


def stratified_bootstrap(
    a: Sequence[Count], b: Sequence[Count], rng: Random, level: float = 0.95
) -> Bootstrap:
    """Percentile interval of share(a) − share(b), resampling trials within each prompt.

    Exact where the distribution is narrow enough to convolve, else from `RESAMPLES` draws. Where
    every prompt is all refusal or all compliance no resample differs, and there is no interval.
    """
    value = (share(a) or 0.0) - (share(b) or 0.0)
    if all(p.refused in (0, p.n) for p in (*a, *b)):
        why = "every prompt is refused always or never: no resample differs"
        return Bootstrap(value, None, None, None, None, "percentile", True, why)
    scale = _lattice(a, b)
    curve = _exact(a, b, scale) if scale else _drawn(a, b, rng)
    mean = math.fsum(v * p for v, p in curve)
    se = math.sqrt(math.fsum(p * (v - mean) ** 2 for v, p in curve))
    cdf = list(accumulate(p for _, p in curve))
    tail = (1 - level) / 2
    low, high = (
        curve[min(bisect_left(cdf, q - 1e-12), len(curve) - 1)][0] for q in (tail, 1 - tail)
    )
    resamples = None if scale else RESAMPLES
    return Bootstrap(value, low, high, se, resamples, "percentile", scale is not None)


def difference(a: Sequence[Count], b: Sequence[Count], rng: Random) -> Difference:
    """share(a) − share(b), each prompt of a side with equal weight."""
    if not a or not b:
        return Difference(None, None, None, None, None, None, NOTHING)
    boot = stratified_bootstrap(a, b, rng)
    score = score_difference(*effective(a), *effective(b))
    if all(0 < p.refused < p.n for p in (*a, *b)):
        return Difference(boot.value, boot.low, boot.high, "bootstrap", boot, score)
    low, high = min(score.low, boot.value), max(score.high, boot.value)
    return Difference(boot.value, low, high, "score", boot, score)


