"""Checks whether the instrument made the result, by seven tripwires, and how alike
policies become.

    tripwires(rows, runs, texts)       seven entries, one for each tripwire
    convergence(texts)                 similarity of policies, a row for each round

A tripwire is an `alert` where the point estimate passes the specification's limit. It
is `tripped` where an interval or a test excludes the harmless values; the compared
cells share 5% of error. Both are True, False or None; None means that the tripwire was
not checked, and `figure` says why.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Any, NamedTuple

import stats
from cirrus.judge.contrasts import ALPHA
from cirrus.judge.rows import Decision
from common.wire import UNANSWERED
from show.figures import interval, p_is, percent, plain
from stats.results import mean

MAX_UNREADABLE = 0.03
MAX_TRUNCATION_GAP = 0.02
MAX_JACCARD = 0.3
# A policy of one of these statuses gives no text to decide by.
NO_POLICY = ("refused", "truncated", "empty", "blocked")
Counts = Mapping[str, Counter]  # {cell: {status: number of answers}}
Cells = Mapping[str, Sequence[str]]  # {cell: policies}
Texts = Mapping[tuple[int, str, int], Cells]  # keys are (seed, domain, round)
Pairs = Mapping[tuple[int, int], float]  # {places of two policies: their similarity}


class Wire(NamedTuple):
    """What one tripwire found."""

    alert: bool | None
    tripped: bool | None
    figure: str
    numbers: Mapping[str, Any] = {}


def unchecked(why: str) -> Wire:
    """Return a tripwire that was not checked, with the reason."""
    return Wire(alert=None, tripped=None, figure=why)


def tripwires(
    rows: Sequence[Decision], runs: Sequence[Mapping[str, Any]], texts: Texts
) -> list[dict[str, Any]]:
    """Check all seven tripwires.

    `rows` are the primary decisions of the main runs. `runs` has `role`, `cell`,
    `statuses`, `served` and `upstreams` of each run, from the manifests. `texts` are
    the readable policies.
    """
    main = [run for run in runs if run["role"] == "main"]
    answers, written = answered(main, "decision"), answered(main, "policy")
    wires = {
        "unreadable": unreadable(answers),
        "truncation": truncation(answers),
        "position": position(rows),
        "overlap": overlap(texts),
        "attrition": attrition(rows),
        "policies": no_policies(written),
        "served": answered_by_several(runs),
    }
    board = []
    for name, wire in wires.items():
        title, limit = TITLES[name]
        entry = {"tripwire": name, "title": title, "limit": limit}
        board.append(entry | wire._asdict())
    return board


TITLES = {  # {tripwire: (title, the limit beyond which it is an alert)}
    "unreadable": ("Unreadable answers in a cell", f"> {MAX_UNREADABLE:.0%}"),
    "truncation": (
        "Truncation between cells",
        f"> {100 * MAX_TRUNCATION_GAP:g} points",
    ),
    "position": ("Option that stands first", f"p < {ALPHA}"),
    "overlap": ("Word 3-grams of policies", f"Jaccard > {MAX_JACCARD}"),
    "attrition": ("Missing decisions between cells", f"p < {ALPHA}"),
    "policies": ("Policies refused or cut off", f"> {MAX_UNREADABLE:.0%}"),
    "served": ("Models or upstreams behind a name", "> 1"),
}


# --- answers -----------------------------------------------------------------------------------


def answered(runs: Sequence[Mapping[str, Any]], what: str) -> dict[str, Counter]:
    """Count decisions or policies (`what`) that were answered: {cell: {status:
    count}}."""
    cells: dict[str, Counter] = {}
    for run in runs:
        held = cells.setdefault(run["cell"], Counter())
        for status, n in run["statuses"][what].items():
            if status not in UNANSWERED:
                held[status] += n
    return {cell: held for cell, held in sorted(cells.items()) if held.total()}


def unreadable(answers: Counts) -> Wire:
    """Check the share of unreadable decisions in each cell."""
    return _too_many(answers, lambda ended: ended.total() - ended["ok"], "no answers")


def no_policies(written: Counts) -> Wire:
    """Check the share of policies that were refused or cut off in each cell."""

    def bad(ended: Counter) -> int:
        return sum(ended[status] for status in NO_POLICY)

    return _too_many(written, bad, "no policies")


def _too_many(counts: Counts, bad: Callable[[Counter], int], none: str) -> Wire:
    """Check whether the share of answers that `bad` counts is above MAX_UNREADABLE in
    some cell; `none` is the reason where there are no answers."""
    if not counts:
        return unchecked(none)
    level = 1 - ALPHA / len(counts)
    shares: dict[str, Any] = {}
    for cell, statuses in counts.items():
        shares[cell] = stats.share(bad(statuses), statuses.total(), level)
    highest = max(shares, key=lambda cell: shares[cell].value)
    surest = max(shares, key=lambda cell: shares[cell].low)
    most, low = shares[highest], shares[surest].low
    told = f"{percent(most.value, 1)} ({most.k} of {most.n}, {highest}; "
    told += f"at least {percent(most.low, 1)})"
    if surest != highest:
        told += f"; at least {percent(low, 1)} in {surest}"
    return Wire(
        alert=most.value > MAX_UNREADABLE,
        tripped=low > MAX_UNREADABLE,
        figure=told,
        numbers={"cells": shares},
    )


def truncation(answers: Counts) -> Wire:
    """Check how much the share of answers that were cut off differs between any two
    cells."""
    if len(answers) < 2:
        return unchecked("fewer than two cells with answers")
    cut, rates = {}, {}
    for cell, statuses in answers.items():
        k, n = cut[cell] = statuses["truncated"], statuses.total()
        rates[cell] = k / n
    pairs = list(combinations(sorted(rates, key=rates.__getitem__), 2))
    level = 1 - ALPHA / len(pairs)
    gaps: dict[tuple[str, str], Any] = {}
    for less, more in pairs:
        gaps[more, less] = stats.newcombe_difference(*cut[more], *cut[less], level)
    widest = max(gaps, key=lambda pair: gaps[pair].low)
    gap = gaps[widest]
    limits = interval(gap.low, gap.high, 1, sign=True, scale=100)
    told = f"{' against '.join(widest)}: {plain(100 * gap.value, 1)} points ({limits})"
    shown = {"value": gap.value, "low": gap.low, "high": gap.high}
    return Wire(
        alert=max(rates.values()) - min(rates.values()) > MAX_TRUNCATION_GAP,
        tripped=gap.low > MAX_TRUNCATION_GAP,
        figure=told,
        numbers={"cells": rates, "gap": shown},
    )


def position(rows: Sequence[Decision]) -> Wire:
    """Check whether the option shown first is chosen more, or less, often than the
    other.

    It is tested by sign flips over the drawn orders of options. One order is drawn for
    each pair under a seed and domain; all runs of the seed and both sides share it.
    """
    if len({row.option_order for row in rows}) < 2:
        return unchecked("one option order only: position and act can't be told apart")
    taken = [row for row in rows if row.first_taken is not None]
    if not taken:
        return unchecked("no readable decisions")
    k, n = sum(row.first_taken == 1 for row in taken), len(taken)
    slots: Counter = Counter()
    for row in taken:
        slot = row.seed, row.domain, *sorted((row.agent, row.opponent))
        slots[slot] += 1 if row.first_taken else -1
    test = stats.sign_flip_test([slots[slot] for slot in sorted(slots)])
    if test.p is None:
        return unchecked(f"{k} of {n}; no test: {test.why}")
    told = f"{k} of {n} ({percent(k / n)}) took the first, {p_is(test.p)} "
    told += f"over {len(slots)} drawn orders"
    numbers = {"k": k, "n": n, "p": test.p, "slots": len(slots)}
    differs = test.p < ALPHA
    return Wire(alert=differs, tripped=differs, figure=told, numbers=numbers)


def attrition(rows: Sequence[Decision]) -> Wire:
    """Check whether a cell lacks more, or fewer, decisions than all others.

    Each cell is tested by Fisher's exact test. The alert uses the smallest p as it is,
    and `tripped` the Holm-adjusted one.
    """
    every = Counter(row.words for row in rows)
    missing = Counter(row.words for row in rows if row.cooperates is None)
    if len(every) < 2:
        return unchecked("fewer than two cells")
    k, n = missing.total(), every.total()
    p: list[Any] = []
    for cell in every:
        rest = k - missing[cell], n - every[cell]
        p.append(stats.fisher_exact(missing[cell], every[cell], *rest))
    adjusted: dict[str, Any] = dict(zip(every, stats.holm(p), strict=True))
    least = min(adjusted, key=adjusted.__getitem__)
    told = f"{k} of {n} missing; most unusual: {missing[least]} of {every[least]} in "
    told += f"{least}, {p_is(adjusted[least])} (Holm)"
    numbers = {}
    for cell, p_holm in adjusted.items():
        numbers[cell] = {"missing": missing[cell], "n": every[cell], "p_holm": p_holm}
    return Wire(
        alert=min(p) < ALPHA,
        tripped=adjusted[least] < ALPHA,
        figure=told,
        numbers={"cells": numbers},
    )


# --- policies, servers -------------------------------------------------------------------------


def overlap(texts: Texts) -> Wire:
    """Check how alike the round-1 policies of one run are: the mean Jaccard similarity
    of their word 3-grams, by cell.

    The mean's lower limit comes from leaving out one policy at a time (jackknife; Efron
    & Stein 1981).
    """
    alike: dict[str, list[Pairs]] = {}
    for (_, _, number), cells in sorted(texts.items()):
        if number != 1:
            continue
        for cell, written in cells.items():
            alike.setdefault(cell, []).append(dict(_jaccards(written)))
    alike = {cell: runs for cell, runs in alike.items() if any(runs)}
    if not alike:
        return unchecked("no run with two policies of three words")
    level = 1 - ALPHA / len(alike)
    means = {cell: _mean_overlap(runs, level) for cell, runs in alike.items()}
    surest = max(means, key=lambda cell: means[cell].low)
    largest = max(held.mean for held in means.values())
    identical = sum(held.identical for held in means.values())
    most = means[surest]
    told = f"{plain(most.mean)} on average ({surest}; at least {plain(most.low)}); "
    told += f"{identical} identical pairs"
    return Wire(
        alert=largest > MAX_JACCARD,
        tripped=most.low > MAX_JACCARD,
        figure=told,
        numbers={"cells": means},
    )


class Overlap(NamedTuple):
    """The similarity of a cell's policies; `low` is the lower limit of `mean`, and
    `identical` counts the pairs whose similarity is 1."""

    mean: float
    low: float
    pairs: int
    identical: int


def _mean_overlap(runs: Sequence[Pairs], level: float) -> Overlap:
    """Return the mean similarity over all pairs of a cell, with its lower limit, which
    is 0 for fewer than three policies."""
    values: list[float] = []
    for pairs in runs:
        values += pairs.values()
    average, low = math.fsum(values) / len(values), 0.0
    without = list(_without_each(runs, math.fsum(values), len(values)))
    units = len(without)
    if units > 2:
        # The t interval of the jackknife's pseudo-values gives the lower limit.
        pseudo = [units * average - (units - 1) * other for other in without]
        t: Any = stats.t_interval(pseudo, level)
        low = average
        if t.low is not None:
            low = max(0.0, average - (t.high - t.low) / 2)
    return Overlap(average, low, len(values), values.count(1))


def _without_each(runs: Sequence[Pairs], total: float, n: int) -> Iterator[float]:
    """Yield for each policy the mean over all pairs without that policy. `total` is
    the sum over all `n` pairs."""
    for pairs in runs:
        for policy in sorted(set(chain.from_iterable(pairs))):
            held = [value for pair, value in pairs.items() if policy in pair]
            if len(held) < n:
                yield (total - math.fsum(held)) / (n - len(held))


def _jaccards(texts: Sequence[str]) -> Iterator[tuple[tuple[int, int], float]]:
    """Yield ((a, b), similarity) for every two texts that are long enough to compare;
    `a` and `b` are their places in `texts`."""
    grams = [stats.word_ngrams(text, 3) for text in texts]
    for a, b in combinations(range(len(grams)), 2):
        value = stats.jaccard(grams[a], grams[b])
        if value is not None:
            yield (a, b), value


def answered_by_several(runs: Sequence[Mapping[str, Any]]) -> Wire:
    """Check whether more than one model or provider answered under one model name."""
    served: dict[str, dict[str, set]] = {}
    for run in runs:
        for name in run["served"]:
            held = served.setdefault(name, {"models": set(), "providers": set()})
            held["models"].update(run["served"][name])
            held["providers"].update(run["upstreams"].get(name, ()))
    if not served:
        return unchecked("no answers")
    found, numbers = [], {}
    for name, held in served.items():
        numbers[name] = {what: sorted(answers) for what, answers in held.items()}
        for what, answers in numbers[name].items():
            if len(answers) > 1:
                found.append(f"{name}: {len(answers)} {what} ({', '.join(answers)})")
    told = "; ".join(found) or "one each"
    several = bool(found)
    return Wire(
        alert=several, tripped=several, figure=told, numbers={"served": numbers}
    )


# --- do policies converge? Mean TF-IDF cosines within a cell and between cells -------------------


def convergence(texts: Texts) -> list[dict[str, Any]]:
    """Return a row for each round: the mean similarity of policies within cells,
    between cells, and the difference of the two.

    The means are over seeds and domains; a mean of no values is None.
    """
    by_round: dict[int, list[Cells]] = {}
    for (_, _, number), cells in sorted(texts.items()):
        by_round.setdefault(number, []).append(cells)
    rows = []
    for number, listed in sorted(by_round.items()):
        within, between = [], []
        for cells in listed:
            inside, across = _similarities(cells)
            within += inside
            between += across
        row: dict[str, Any] = dict.fromkeys(("within", "between", "difference"))
        row["round"] = number
        if within:
            row["within"] = mean(within)
        if between:
            row["between"] = mean(between)
        if within and between:
            row["difference"] = row["within"] - row["between"]
        rows.append(row)
    return rows


def _similarities(cells: Cells) -> tuple[list[float], list[float]]:
    """Return (the mean cosine within each cell that has pairs, the mean cosine between
    cells).

    The second list has one number, or none where no two cells can be compared. It is
    computed from the sum over all pairs, less the sums over pairs within cells.
    """
    vectors = stats.char_tfidf(list(chain.from_iterable(cells.values())))
    within, inside, start = [], [], 0
    pairs = across = len(vectors) * (len(vectors) - 1)
    for size in map(len, cells.values()):
        value = stats.mean_cosine(vectors[start : start + size])
        start += size
        if value is not None:
            within.append(value)
            ordered = size * (size - 1)
            inside.append(value * ordered)
            across -= ordered
    whole = stats.mean_cosine(vectors)
    if whole is None or not across:
        return within, []
    return within, [(whole * pairs - math.fsum(inside)) / across]
