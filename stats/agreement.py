"""Agreement between raters: Gwet's AC1, positive agreement.

`ratings` is a list of rows, one an item: the labels it got, one a rater, None where a rater gave
none. AC1 alone flatters rare labels; positive agreement beside it does not.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence

from .distributions import t_quantile, t_two_sided
from .intervals import wilson_interval
from .results import Agreement, Estimate, check_level

Rows = Sequence[Sequence[Hashable | None]]

SINGLE_RATER = "no row has two ratings"
SINGLE_LABEL = "every rating is the same"
ALL_AGREE = "every row agrees: the interval is Wilson's for the observed agreement"


def gwet_ac1(
    ratings: Rows, level: float = 0.95, labels: Sequence[Hashable] | None = None
) -> Agreement:
    """AC1 of two or more raters, rows with missing ratings included (Gwet 2008).

    Standard error over rows as in Gwet (2014, ch. 5), t quantile on rows - 1 degrees of freedom.
    `labels`: the possible labels where some may not occur in the data. Where every row agrees the
    standard error would be 0; the interval then carries Wilson's over, and `why` says so.
    """
    check_level(level)
    rows = [counts for counts in map(_counts, ratings) if counts]
    names = set(labels or ()).union(*rows)
    pairs = [_agreeing(counts) for counts in rows if counts.total() > 1]
    if not pairs:
        return _none(SINGLE_RATER)
    observed = math.fsum(pairs) / len(pairs)
    if len(set().union(*rows)) < 2:
        return _none(SINGLE_LABEL, observed)
    shares = {
        name: math.fsum(counts[name] / counts.total() for counts in rows) / len(rows)
        for name in names
    }
    chance = math.fsum(p * (1 - p) for p in shares.values()) / (len(names) - 1)
    value = (observed - chance) / (1 - chance)
    if observed == 1:
        return _complete(len(pairs), chance, level)
    n, weight = len(rows), len(rows) / len(pairs)
    scores = []
    for counts in rows:
        several = counts.total() > 1
        part = weight * (_agreeing(counts) - chance) / (1 - chance) if several else 0.0
        drift = math.fsum(times * (1 - shares[name]) for name, times in counts.items())
        drift = drift / counts.total() / (len(names) - 1) - chance
        scores.append(part - 2 * (1 - value) * drift / (1 - chance))
    if n < 2:
        return Agreement(
            value, None, None, None, None, observed, chance, "a single row"
        )
    se = math.sqrt(math.fsum((score - value) ** 2 for score in scores) / (n * (n - 1)))
    if se < 1e-14:
        why = "every row disagrees in the same way"
        return Agreement(value, None, None, None, None, observed, chance, why)
    half = t_quantile((1 + level) / 2, n - 1) * se
    p = t_two_sided(value / se, n - 1)
    return Agreement(
        value, se, value - half, min(1.0, value + half), p, observed, chance
    )


def positive_agreement(
    ratings: Rows, positive: Hashable = True, level: float = 0.95
) -> Estimate:
    """2a/(2a + b + c): of all the times `positive` was said, how often the other rater said it too.

    Pairs of raters are pooled (Cicchetti & Feinstein 1990). The interval, for two raters, carries
    Wilson's interval of a/(a + b + c) over, of which this is a rising function.
    """
    check_level(level)
    rows = list(map(_counts, ratings))
    if not any(counts.total() > 1 for counts in rows):
        return Estimate(None, None, None, SINGLE_RATER)
    both = sum(math.comb(counts[positive], 2) for counts in rows)
    unlike = sum(
        counts[positive] * (counts.total() - counts[positive]) for counts in rows
    )
    if both + unlike == 0:
        return Estimate(None, None, None, f"no pair of ratings has {positive!r}")
    value = 2 * both / (2 * both + unlike)
    if any(counts.total() > 2 for counts in rows):
        return Estimate(
            value, None, None, "more than two raters: their pairs share causes"
        )
    low, high, _ = wilson_interval(both, both + unlike, level)
    return Estimate(value, 2 * low / (1 + low), 2 * high / (1 + high))


def _counts(row: Sequence[Hashable | None]) -> Counter:
    return Counter(label for label in row if label is not None)


def _agreeing(counts: Counter) -> float:
    """Share of the pairs of ratings of a row that agree."""
    n = counts.total()
    return sum(k * (k - 1) for k in counts.values()) / (n * (n - 1))


def _none(why: str, observed: float | None = None) -> Agreement:
    return Agreement(None, None, None, None, None, observed, None, why)


def _complete(n: int, chance: float, level: float) -> Agreement:
    low = (wilson_interval(n, n, level).low - chance) / (1 - chance)
    return Agreement(1.0, None, low, 1.0, None, 1.0, chance, ALL_AGREE)
