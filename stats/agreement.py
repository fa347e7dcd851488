"""Agreement between raters: Gwet's AC1, positive agreement.

`ratings` is a list of rows, one an item: the labels it got, one a rater, None where a rater gave
none. AC1 alone flatters rare labels; positive agreement beside it does not.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from math import comb, fsum, sqrt

from .distributions import critical, t_critical, t_two_sided
from .intervals import wilson_limits
from .results import Agreement, Estimate, check_level, variance

Rows = Sequence[Sequence[Hashable | None]]
Labels = Counter[Hashable]  # of one item: label → how many raters gave it

SINGLE_RATER = "no row has two ratings"
SINGLE_LABEL = "every rating is the same"
SINGLE_ROW = "a single row"
ALL_AGREE = "every row agrees: the interval is Wilson's for the observed agreement"
ALL_DISAGREE = "every row disagrees in the same way"
MANY_RATERS = "more than two raters: their pairs share causes"


def gwet_ac1(
    ratings: Rows, level: float = 0.95, labels: Collection[Hashable] | None = None
) -> Agreement:
    """AC1 of two or more raters, rows with missing ratings included (Gwet 2008).

    Standard error over rows as in Gwet (2014, ch. 5), t quantile on rows - 1 degrees of freedom.
    `labels`: the possible labels where some may not occur in the data. Where every row agrees the
    standard error would be 0; the interval then carries Wilson's over, and `why` says so.
    """
    check_level(level)
    rows = [counts for counts in map(_counts, ratings) if counts]
    pairs = [_agreeing(counts) for counts in rows if counts.total() > 1]
    if not pairs:
        return _no_interval(SINGLE_RATER)
    observed = fsum(pairs) / len(pairs)
    names = set().union(*rows)
    if len(names) < 2:
        return _no_interval(SINGLE_LABEL, observed=observed)
    if labels:
        names.update(labels)
    shares = {name: _mean_share(rows, name) for name in names}
    others = len(names) - 1
    chance = fsum(p * (1 - p) for p in shares.values()) / others
    if observed == 1:
        low, _ = wilson_limits(len(pairs), len(pairs), critical(level))
        low = (low - chance) / (1 - chance)
        return Agreement(1.0, None, low, 1.0, None, 1.0, chance, ALL_AGREE)
    value = (observed - chance) / (1 - chance)
    n = len(rows)
    if n < 2:
        return _no_interval(SINGLE_ROW, value, observed, chance)
    scores = []
    for counts in rows:
        drift = (1 - _expected(counts, shares)) / others - chance
        score = -2 * (1 - value) * drift
        if counts.total() > 1:
            score += n / len(pairs) * (_agreeing(counts) - chance)
        scores.append(score / (1 - chance))
    se = sqrt(variance(scores) / n)  # their mean is the value
    if se < 1e-14:
        return _no_interval(ALL_DISAGREE, value, observed, chance)
    half = t_critical(level, n - 1) * se
    p = t_two_sided(value / se, n - 1)
    low, high = value - half, min(1.0, value + half)
    return Agreement(value, se, low, high, p, observed, chance)


def positive_agreement(
    ratings: Rows, positive: Hashable = True, level: float = 0.95
) -> Estimate:
    """2a/(2a + b + c): of all the times `positive` was said, how often the other rater said it too.

    Pairs of raters are pooled (Cicchetti & Feinstein 1990). The interval, for two raters, carries
    Wilson's interval of a/(a + b + c) over, of which this is a rising function.
    """
    check_level(level)
    rows = [_counts(row) for row in ratings]
    most = max((counts.total() for counts in rows), default=0)
    if most < 2:
        return Estimate(None, None, None, SINGLE_RATER)
    both = unlike = 0
    for counts in rows:
        times = counts[positive]
        both += comb(times, 2)
        unlike += times * (counts.total() - times)
    pairs = both + unlike
    if pairs == 0:
        return Estimate(None, None, None, f"no pair of ratings has {positive!r}")
    value = _doubled(both / pairs)
    if most > 2:
        return Estimate(value, None, None, MANY_RATERS)
    low, high = wilson_limits(both, pairs, critical(level))
    return Estimate(value, _doubled(low), _doubled(high))


def _doubled(share: float) -> float:
    """2a/(2a + b + c) from a/(a + b + c)."""
    return 2 * share / (1 + share)


def _counts(row: Sequence[Hashable | None]) -> Labels:
    return Counter(label for label in row if label is not None)


def _agreeing(counts: Labels) -> float:
    """Share of the pairs of ratings of a row that agree."""
    n = counts.total()
    alike = sum(comb(k, 2) for k in counts.values())
    return alike / comb(n, 2)


def _mean_share(rows: list[Labels], name: Hashable) -> float:
    """Of a label among the ratings of a row."""
    return fsum(counts[name] / counts.total() for counts in rows) / len(rows)


def _expected(counts: Labels, shares: Mapping[Hashable, float]) -> float:
    """How often another rater gives a label of this row, by the shares of all."""
    whole = fsum(times * shares[name] for name, times in counts.items())
    return whole / counts.total()


def _no_interval(
    why: str,
    value: float | None = None,
    observed: float | None = None,
    chance: float | None = None,
) -> Agreement:
    return Agreement(value, None, None, None, None, observed, chance, why)
