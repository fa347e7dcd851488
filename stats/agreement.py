"""How far raters agree: Gwet's AC1 and positive agreement.

`ratings` is a list of rows, one for each rated item. A row holds one label for each rater, and None
where a rater gave none. Where a label is rare, AC1 is high even if the raters never agree on it;
positive agreement then is low, so the two are reported together.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from math import comb, fsum, sqrt

from .distributions import critical, t_critical, t_two_sided
from .intervals import wilson_limits
from .results import Agreement, Estimate, check_level, variance

Rows = Sequence[Sequence[Hashable | None]]
Labels = Counter[Hashable]  # label → how many raters of one item gave it

SINGLE_RATER = "no row has two ratings"
SINGLE_LABEL = "every rating is the same"
SINGLE_ROW = "a single row"
ALL_AGREE = "every row agrees: the interval is Wilson's for the observed agreement"
ALL_DISAGREE = "every row disagrees in the same way"
MANY_RATERS = "more than two raters: their pairs share causes"


def gwet_ac1(ratings: Rows, level: float = 0.95) -> Agreement:
    """AC1 of two or more raters (Gwet 2008); rows where ratings are missing count too.

    The standard error is taken over rows (Gwet 2014, ch. 5), the interval with a t quantile on rows
    - 1 degrees of freedom. Where every row agrees the standard error would be 0: the interval is then
    computed from Wilson's for the observed agreement, and `why` says so.
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
    shares = {name: _mean_share(rows, name) for name in names}
    others = len(names) - 1
    chance = fsum(p * (1 - p) for p in shares.values()) / others
    if observed == 1:
        low, _ = wilson_limits(len(pairs), len(pairs), critical(level))
        low = (low - chance) / (1 - chance)
        return Agreement(
            value=1.0,
            se=None,
            low=low,
            high=1.0,
            p=None,
            observed=1.0,
            chance=chance,
            why=ALL_AGREE,
        )
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
    se = sqrt(variance(scores) / n)  # the scores have the mean `value`
    if se < 1e-14:
        return _no_interval(ALL_DISAGREE, value, observed, chance)
    half = t_critical(level, n - 1) * se
    p = t_two_sided(value / se, n - 1)
    low, high = value - half, min(1.0, value + half)
    return Agreement(value, se, low, high, p, observed, chance)


def positive_agreement(
    ratings: Rows, positive: Hashable = True, level: float = 0.95
) -> Estimate:
    """2a/(2a + b + c): when one rater gave the label `positive`, how often the other one did too.

    a counts the pairs of raters that both gave it, b + c those where only one did, over all rows
    (Cicchetti & Feinstein 1990). For two raters the interval is Wilson's interval of a/(a + b + c),
    put through the same rising function; for more raters there is none.
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
    """Turn a/(a + b + c) into 2a/(2a + b + c)."""
    return 2 * share / (1 + share)


def _counts(row: Sequence[Hashable | None]) -> Labels:
    """How many raters of the row gave each label."""
    return Counter(label for label in row if label is not None)


def _agreeing(counts: Labels) -> float:
    """The share of a row's pairs of ratings that agree."""
    n = counts.total()
    alike = sum(comb(k, 2) for k in counts.values())
    return alike / comb(n, 2)


def _mean_share(rows: list[Labels], name: Hashable) -> float:
    """The share of a row's ratings that are `name`, averaged over the rows."""
    return fsum(counts[name] / counts.total() for counts in rows) / len(rows)


def _expected(counts: Labels, shares: Mapping[Hashable, float]) -> float:
    """The chance that a random rating from all rows equals a random rating of this row."""
    whole = fsum(times * shares[name] for name, times in counts.items())
    return whole / counts.total()


def _no_interval(
    why: str,
    value: float | None = None,
    observed: float | None = None,
    chance: float | None = None,
) -> Agreement:
    """The result without standard error, limits and p; `why` says the reason."""
    return Agreement(value, None, None, None, None, observed, chance, why)
