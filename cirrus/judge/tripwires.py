"""Tripwires: signs that the instrument, and not the respondents, made a result.

Each says `tripped` True, False or None (can't be checked, with the reason), with its figure. One
speaks where an interval excludes the harmless value, its level shared over the cells compared; not
where an estimate passes it.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, islice
from typing import Any

import stats
from cirrus.judge.contrasts import ALPHA
from cirrus.judge.rows import Decision
from common.wire import UNANSWERED
from show.figures import interval, p_is, percent, plain
from stats.results import mean

MAX_UNREADABLE = 0.03
MAX_TRUNCATION_GAP = 0.02
MAX_JACCARD = 0.3
# A policy of one of these statuses is no text to decide by.
NO_POLICY = ("refused", "truncated", "empty", "blocked")
Counts = Mapping[str, Mapping[str, int]]
Wire = dict[str, Any]
Key = tuple[int, str, int]                # seed, domain, round
Pairs = Mapping[tuple[int, int], float]   # similarity of two policies of a run


def tripwires(rows: Sequence[Decision], runs: Sequence[Mapping[str, Any]],
              texts: Mapping[Key, Mapping[str, Sequence[str]]]) -> list[Wire]:
    """The seven tripwires.

    `rows`: primary data of the main runs, both domains. `runs`: what the manifests count, `role`,
    `cell`, `statuses`, `served` and `upstreams` of each. `texts`: as `convergence` takes them.
    """
    answers, written = (statuses_of(runs, what) for what in ("decision", "policy"))
    wires = {"unreadable": unreadable(answers), "truncation": truncation(answers),
             "position": position(rows), "overlap": overlap(texts), "attrition": attrition(rows),
             "policies": unwritten(written), "served": several(runs)}
    return [{"tripwire": name, "title": TITLES[name], **wires[name]} for name in TITLES]


def statuses_of(runs: Iterable[Mapping[str, Any]], what: str) -> dict[str, Counter]:
    """{cell: {status: decisions, or policies}} of main runs."""
    cells: dict[str, Counter] = {}
    for run in runs:
        if run["role"] == "main":
            cells.setdefault(run["cell"], Counter()).update(run["statuses"][what])
    return {cell: cells[cell] for cell in sorted(cells)}


TITLES = {
    "unreadable": f"Unreadable answers above {MAX_UNREADABLE:.0%} in a cell",
    "truncation": f"Truncation differs by more than {100 * MAX_TRUNCATION_GAP:g} points "
                  "between cells",
    "position": "The option that stands first is chosen more, or less, often",
    "overlap": f"Policies share word 3-grams (Jaccard above {MAX_JACCARD:g})",
    "attrition": "Missing decisions differ by cell",
    "policies": f"Policies refused or cut off above {MAX_UNREADABLE:.0%} in a cell",
    "served": "More than one model or provider behind one name",
}


def _wire(tripped: bool | None, figure: str, **numbers: Any) -> Wire:
    return {"tripped": tripped, "figure": figure, "numbers": numbers}


# --- answers -----------------------------------------------------------------------------------

def unreadable(counts: Counts) -> Wire:
    """Answers that hold no decision, as a share of all answers, by cell."""
    return _too_many({cell: (_answers(statuses) - statuses.get("ok", 0), _answers(statuses))
                      for cell, statuses in counts.items()}, "no answers")


def unwritten(written: Counts) -> Wire:
    """Policies that were refused or cut off, as a share of all that were answered, by cell."""
    return _too_many({cell: (sum(statuses.get(status, 0) for status in NO_POLICY),
                             _answers(statuses)) for cell, statuses in written.items()},
                     "no policies")


def _answers(statuses: Mapping[str, int]) -> int:
    return sum(n for status, n in statuses.items() if status not in UNANSWERED)


def _too_many(bad: Mapping[str, tuple[int, int]], none: str) -> Wire:
    """Whether the share of some cell is established above MAX_UNREADABLE. `bad`: {cell: (k, n)}."""
    cells = {cell: counted for cell, counted in bad.items() if counted[1]}
    if not cells:
        return _wire(None, none)
    shares = {cell: stats.share(k, n, 1 - ALPHA / len(cells)) for cell, (k, n) in cells.items()}
    worst = max(shares, key=lambda cell: shares[cell].low)
    most = shares[worst]
    return _wire(most.low > MAX_UNREADABLE,
                 f"{percent(most.value, 1)} ({most.k} of {most.n}, {worst}; at least "
                 f"{percent(most.low, 1)})",
                 cells={cell: {"k": share.k, "n": share.n, "share": share.value,
                               "low": share.low, "high": share.high}
                        for cell, share in shares.items()})


def truncation(counts: Counts) -> Wire:
    """The difference between two cells in the share of answers that were cut off."""
    cut = {cell: (statuses.get("truncated", 0), _answers(statuses))
           for cell, statuses in counts.items() if _answers(statuses)}
    if len(cut) < 2:
        return _wire(None, "fewer than two cells with answers")
    pairs = list(combinations(sorted(cut, key=lambda cell: cut[cell][0] / cut[cell][1]), 2))
    gaps = {(more, less): stats.newcombe_difference(*cut[more], *cut[less],
                                                    1 - ALPHA / len(pairs))
            for less, more in pairs}
    widest = max(gaps, key=lambda pair: gaps[pair].low)
    gap = gaps[widest]
    limits = interval(gap.low, gap.high, 1, sign=True, scale=100)
    return _wire(gap.low > MAX_TRUNCATION_GAP,
                 f"{' against '.join(widest)}: {plain(100 * gap.value, 1)} points ({limits})",
                 cells={cell: k / n for cell, (k, n) in cut.items()},
                 gap={"value": gap.value, "low": gap.low, "high": gap.high})


def position(rows: Sequence[Decision]) -> Wire:
    """Was the option shown first taken more, or less, often than the other?

    Exact sign-flip test over the slots whose order was drawn: a pair's encounter under a seed and
    domain, shared by all runs of the seed and both sides.
    """
    slots: dict[tuple, int] = {}
    taken = [row for row in rows if row.first_taken is not None]
    if len({row.option_order for row in rows}) < 2:
        return _wire(None, "one option order only: position and act can't be told apart")
    for row in taken:
        pair = tuple(sorted((row.agent, row.opponent)))
        slot = (row.seed, row.domain, pair)
        slots[slot] = slots.get(slot, 0) + 2 * row.first_taken - 1
    k, n = sum(row.first_taken for row in taken), len(taken)
    if n == 0:
        return _wire(None, "no readable decisions")
    test = stats.sign_flip_test([slots[slot] for slot in sorted(slots)])
    if test.p is None:
        return _wire(None, f"{k} of {n}; no test: {test.why}", k=k, n=n)
    return _wire(test.p < ALPHA, f"{k} of {n} ({percent(k / n)}) took the first, {p_is(test.p)} "
                 f"over {len(slots)} drawn orders", k=k, n=n, p=test.p, slots=len(slots))


def attrition(rows: Sequence[Decision]) -> Wire:
    """Each cell's missing decisions against all others' (Fisher's exact test, Holm-adjusted)."""
    every = Counter(row.words for row in rows)
    missing = Counter(row.words for row in rows if row.cooperates is None)
    if len(every) < 2:
        return _wire(None, "fewer than two cells")
    k, n = missing.total(), every.total()
    p = [stats.fisher_exact(missing[cell], every[cell], k - missing[cell], n - every[cell])
         for cell in every]
    adjusted = dict(zip(every, stats.holm(p), strict=True))
    least = min(adjusted, key=adjusted.__getitem__)
    return _wire(adjusted[least] < ALPHA,
                 f"{k} of {n} missing; most unusual: {missing[least]} of {every[least]} in {least},"
                 f" {p_is(adjusted[least])} (Holm)",
                 cells={cell: {"missing": missing[cell], "n": every[cell],
                               "p_holm": adjusted[cell]} for cell in every})


# --- policies, servers -------------------------------------------------------------------------

def overlap(texts: Mapping[Key, Mapping[str, Sequence[str]]]) -> Wire:
    """Mean word 3-gram Jaccard over pairs of agents of one run, round 1, averaged by cell; its
    lower limit by leaving out one policy at a time (jackknife; Efron & Stein 1981). `texts`: as
    `convergence` takes them."""
    alike: dict[str, list[Pairs]] = {}
    for (_, _, number), cells in sorted(texts.items()):
        for cell, written in cells.items() if number == 1 else ():
            alike.setdefault(cell, []).append(_jaccards(written))
    alike = {cell: runs for cell, runs in alike.items() if any(runs)}
    if not alike:
        return _wire(None, "no run with two policies of three words")
    cells = {cell: _mean_overlap(runs, 1 - ALPHA / len(alike)) for cell, runs in alike.items()}
    worst = max(cells, key=lambda cell: cells[cell]["low"])
    return _wire(cells[worst]["low"] > MAX_JACCARD,
                 f"{plain(cells[worst]['mean'])} on average ({worst}; at least "
                 f"{plain(cells[worst]['low'])}); "
                 f"{sum(cell['identical'] for cell in cells.values())} identical pairs",
                 cells=cells)


def _mean_overlap(runs: Sequence[Pairs], level: float) -> dict[str, Any]:
    """Mean over all pairs, and its lower limit; of fewer than three policies in all it is 0."""
    total, n = math.fsum(v for pairs in runs for v in pairs.values()), sum(map(len, runs))
    average, left_out = total / n, []
    for pairs in runs:
        for policy in {policy for pair in pairs for policy in pair}:
            touching = [v for pair, v in pairs.items() if policy in pair]
            if len(touching) < n:
                left_out.append((total - math.fsum(touching)) / (n - len(touching)))
    units = len(left_out)
    t = stats.t_interval([units * average - (units - 1) * rest for rest in left_out], level) \
        if units > 2 else None
    half = None if t is None or t.low is None else (t.high - t.low) / 2
    low = max(0.0, average - half) if half is not None else average if t else 0.0
    return {"mean": average, "low": low, "pairs": n,
            "identical": sum(v == 1 for pairs in runs for v in pairs.values())}


def _jaccards(texts: Sequence[str]) -> Pairs:
    grams = [stats.word_ngrams(text, 3) for text in texts]
    return {(a, b): v for a, b in combinations(range(len(grams)), 2)
            if (v := stats.jaccard(grams[a], grams[b])) is not None}


def several(runs: Iterable[Mapping[str, Any]]) -> Wire:
    """Names behind which more than one model or provider answered."""
    known: dict[str, dict[str, list[str]]] = {}
    for run in runs:
        for what, key in (("models", "served"), ("providers", "upstreams")):
            for name, answers in run[key].items():
                served = known.setdefault(name, {"models": [], "providers": []})
                served[what] = sorted({*served[what], *answers})
    figures = [f"{name}: {len(names)} {what} ({', '.join(names)})" for name, served
               in known.items() for what, names in served.items() if len(names) > 1]
    return _wire(bool(figures) if known else None,
                 "; ".join(figures) or ("one each" if known else "no answers"), served=known)


# --- Do agents' policies converge? Mean TF-IDF cosines within a cell and between cells ---

def convergence(texts: Mapping[Key, Mapping[str, Sequence[str]]]) -> list[dict[str, Any]]:
    """One row a round: similarity within cells, between them, their difference.

    `texts`: {(seed, domain, round): {cell: policies}}. Values are averaged over seeds and domains;
    a mean of nothing is None.
    """
    by_round: dict[int, tuple[list, list]] = {}
    for key in sorted(texts):
        for values, more in zip(by_round.setdefault(key[2], ([], [])), _similarities(texts[key]),
                                strict=True):
            values += more
    out = []
    for number, both in sorted(by_round.items()):
        within, between = (mean(values) if values else None for values in both)
        out.append({"round": number, "within": within, "between": between,
                    "difference": None if None in (within, between) else within - between})
    return out


def _similarities(cells: Mapping[str, Sequence[str]]) -> tuple[list[float], list[float]]:
    """(mean cosine in each cell, the one between cells) of those that have pairs."""
    vectors = stats.char_tfidf([text for texts in cells.values() for text in texts])
    rest = iter(vectors)
    groups = [list(islice(rest, len(texts))) for texts in cells.values()]
    within = [(stats.mean_cosine(group), len(group) * (len(group) - 1)) for group in groups]
    pairs = len(vectors) * (len(vectors) - 1)
    across = pairs - sum(n for _, n in within)
    whole = stats.mean_cosine(vectors)
    known = [(value, n) for value, n in within if value is not None]
    return [value for value, _ in known], [] if whole is None or not across else [
        (whole * pairs - math.fsum(value * n for value, n in known)) / across]
