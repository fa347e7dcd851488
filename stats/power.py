"""Planning and deciding: power of contrasts over units and of Fisher's test, Holm's adjustment."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from .contrasts import Tally, Weights, established
from .distributions import binomial_pmf, normal_quantile
from .intervals import share
from .results import Count, Share
from .samples import check_proportion, stream_of

MOST = 20_000
NEARBY = 12  # power rises in a sawtooth: the smallest n may lie a few below one that fails
NEGLIGIBLE = 1e-16


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values in the given order (Holm 1979). None, no test, stays None, uncounted."""
    for p in p_values:
        if p is not None:
            check_proportion(p, "p_values")
    order = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, i) in enumerate(order):
        largest = max(largest, min(1.0, p * (len(order) - rank)))
        adjusted[i] = largest
    return adjusted


class Design(NamedTuple):
    """Units, outcomes in each cell of a unit, and SDs in logits: of units, and of their cells."""

    units: int
    outcomes: int
    between: float = 0.8
    within: float = 0.4


def sampled_tally(rates: Mapping[Hashable, float], design: Design, rng: Random) -> Tally:
    """Outcomes of 0 and 1 by unit and cell, `rates` being those of a unit in the middle."""
    logits = {cell: math.log(rate / (1 - rate)) for cell, rate in rates.items()}
    counts: Tally = {}
    for unit in range(design.units):
        shift, counts[unit] = rng.gauss(0, design.between), {}
        for cell, logit in logits.items():
            rate = 1 / (1 + math.exp(-(logit + shift + rng.gauss(0, design.within))))
            ones = sum(rng.random() < rate for _ in range(design.outcomes))
            counts[unit][cell] = Count(ones, design.outcomes, 0)
    return counts


def contrast_power(
    rates: Mapping[Hashable, float],
    contrasts: Iterable[Weights],
    design: Design,
    samples: int = 400,
    rng: Random | int = 0,
) -> Share:
    """In how many samples every one of the contrasts is established at 95%, with its interval."""
    contrasts = list(contrasts)
    for cell, rate in rates.items():
        if not 0 < rate < 1:
            raise ValueError(f"rates: {rate!r} of {cell!r} is not between 0 and 1")
    stream, times = stream_of(rng), 0
    for _ in range(samples):
        counts = sampled_tally(rates, design, stream)
        times += all(established(counts, weights) for weights in contrasts)
    return share(times, samples)


def power_two_proportions(p1: float, p2: float, n: int, alpha: float = 0.05) -> float:
    """Exact power of Fisher's two-sided test with `n` in each group, by enumerating the tables."""
    _check_rates(p1, p2, alpha)
    if not isinstance(n, int) or n < 1:
        raise ValueError(f"n: {n!r} is not a positive count")
    first, second = binomial_pmf(n, p1), binomial_pmf(n, p2)
    (low1, high1), (low2, high2) = _likely(first), _likely(second)
    chances, k = [], 0
    for total in range(low1 + low2, high1 + high2 + 1):
        k = _last_rejected(n, total, alpha, k)
        # With equal groups a table and its mirror image are rejected together.
        lower = range(max(low1, total - high2), min(k, high1) + 1)
        upper = range(max(low1, total - k), min(high1, total - low2) + 1)
        chances += [first[i] * second[total - i] for i in lower]
        chances += [first[i] * second[total - i] for i in upper]
    return min(1.0, math.fsum(chances))


def _last_rejected(n: int, total: int, alpha: float, near: int) -> int:
    """The largest count that Fisher's test rejects as too low, two groups of `n`, searched from
    `near`; one below the least possible count where it rejects none."""
    k = near
    while 2 * (k + 1) < total and _tail(n, total, k + 1) <= alpha / 2:
        k += 1
    while k >= max(0, total - n) and (2 * k >= total or _tail(n, total, k) > alpha / 2):
        k -= 1
    return k


def _tail(n: int, total: int, k: int) -> float:
    """P(K <= k), K the successes in the first of two groups of `n` that have `total` between them.

    Summed downwards from k, where the terms fall fast.
    """
    if k < max(0, total - n):
        return 0.0
    term = math.exp(_log_choose(n, k) + _log_choose(n, total - k) - _log_choose(2 * n, total))
    tail = 0.0
    while term > NEGLIGIBLE * tail:
        tail += term
        term *= k * (n - total + k) / ((n - k + 1) * (total - k + 1))
        k -= 1
    return tail


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _likely(pmf: list[float]) -> tuple[int, int]:
    indices = [k for k, p in enumerate(pmf) if p > NEGLIGIBLE]
    return indices[0], indices[-1]


def required_n(
    p1: float,
    p2: float,
    power: float = 0.8,
    alpha: float = 0.05,
    margin: float | None = None,
) -> int | None:
    """Smallest n per group that reaches `power`; None where it is beyond 20,000.

    Without `margin`: Fisher's two-sided test, by exact power around the approximation of
    Casagrande, Pike & Smith (1978). With `margin`: two one-sided tests at `alpha` that p1 - p2 lies
    inside ±margin, normal approximation (Julious 2004).
    """
    _check_rates(p1, p2, alpha)
    if not 0 < power < 1:
        raise ValueError(f"power: {power!r} is not between 0 and 1")
    if margin is not None:
        return _equivalence_n(p1, p2, power, alpha, margin)
    if p1 == p2:
        raise ValueError(f"p1: {p1!r} is p2 too; no sample shows a difference that is not there")
    guess = _approximate_n(p1, p2, power, alpha)
    n = max(2, guess)
    while n <= MOST and power_two_proportions(p1, p2, n, alpha) < power:
        n += 1
    if n > MOST:
        return None
    best = n
    while n > 1 and best - n < NEARBY:
        n -= 1
        if power_two_proportions(p1, p2, n, alpha) >= power:
            best = n
    return best


def _approximate_n(p1: float, p2: float, power: float, alpha: float) -> int:
    distance, middle = abs(p1 - p2), (p1 + p2) / 2
    null = -normal_quantile(alpha / 2) * math.sqrt(2 * middle * (1 - middle))
    other = normal_quantile(power) * math.sqrt(p1 * (1 - p1) + p2 * (1 - p2))
    plain = ((null + other) / distance) ** 2
    return math.ceil(plain / 4 * (1 + math.sqrt(1 + 4 / (plain * distance))) ** 2)


def _equivalence_n(p1: float, p2: float, power: float, alpha: float, margin: float) -> int | None:
    room = margin - abs(p1 - p2)
    if not 0 < margin < 1 or room <= 0:
        raise ValueError(f"margin: {margin!r} is not between |p1 - p2| and 1")
    miss = (1 - power) / (2 if p1 == p2 else 1)
    z = -normal_quantile(alpha) - normal_quantile(miss)
    n = math.ceil((z / room) ** 2 * (p1 * (1 - p1) + p2 * (1 - p2)))
    return max(1, n) if n <= 1_000_000_000 else None


def _check_rates(p1: float, p2: float, alpha: float) -> None:
    check_proportion(p1, "p1")
    check_proportion(p2, "p2")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha: {alpha!r} is not between 0 and 1")
