"""Tripwires: signs that the instrument, and not the respondents, made a result.

Each says `tripped` True, False or None (can't be checked, with the reason), with its figure. One
speaks where an interval excludes the harmless value, its level shared over the cells compared; not
where an estimate passes it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import stats
from cirrus.judge.effects import ALPHA, average, cell_name
from cirrus.judge.rows import Decision
from common.wire import UNANSWERED
from show.figures import interval, p_is, percent

MAX_UNREADABLE = 0.03
MAX_TRUNCATION_GAP = 0.02
MAX_JACCARD = 0.3
# A policy of one of these statuses is no text to decide by.
NO_POLICY = ("refused", "truncated", "empty", "blocked")
Counts = Mapping[str, Mapping[str, int]]
Wire = dict[str, Any]


def tripwires(rows: Sequence[Decision], counts: Counts,
              policies: Mapping[str, Mapping[str, Sequence[str]]],
              served: Mapping[str, Mapping[str, Iterable[str]]],
              written: Counts | None = None) -> list[Wire]:
    """The seven tripwires.

    `rows`: primary data of the main runs, both domains. `counts`: {cell: {status: decisions}} of
    all rounds. `policies`: {cell: {run: policies of round 1, one an agent}}. `served`: {model:
    {"models": …, "providers": …}}. `written`: {cell: {status: policies}} of all rounds.
    """
    wires = {"unreadable": unreadable(counts), "truncation": truncation(counts),
             "position": position(rows), "overlap": overlap(policies),
             "attrition": attrition(rows), "policies": unwritten(written or {}),
             "served": several(served, rows)}
    return [{"tripwire": name, "title": TITLES[name], **wires[name]} for name in TITLES]


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


def cell_of(row: Decision) -> str:
    return f"{row.domain} {cell_name((row.S, row.C, row.H))}"


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
    one = shares[worst]
    return _wire(one.low > MAX_UNREADABLE,
                 f"{percent(one.value, 1)} ({one.k} of {one.n}, {worst}; at least "
                 f"{percent(one.low, 1)})",
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
    said = interval(gap.low, gap.high, 1, sign=True, scale=100)
    return _wire(gap.low > MAX_TRUNCATION_GAP,
                 f"{' against '.join(widest)}: {100 * gap.value:.1f} points ({said})",
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
    missing: dict[str, list[int]] = {}
    for row in rows:
        own = missing.setdefault(cell_of(row), [0, 0])
        own[0] += row.cooperates is None
        own[1] += 1
    if len(missing) < 2:
        return _wire(None, "fewer than two cells")
    k, n = (sum(own[at] for own in missing.values()) for at in (0, 1))
    p = [stats.fisher_exact(own[0], own[1], k - own[0], n - own[1]) for own in missing.values()]
    adjusted = dict(zip(missing, stats.holm(p), strict=True))
    least = min(adjusted, key=adjusted.__getitem__)
    own = missing[least]
    return _wire(adjusted[least] < ALPHA,
                 f"{k} of {n} missing; most unusual: {own[0]} of {own[1]} in {least}, "
                 f"{p_is(adjusted[least])} (Holm)",
                 cells={cell: {"missing": m, "n": of, "p_holm": adjusted[cell]}
                        for cell, (m, of) in missing.items()})


# --- policies, servers -------------------------------------------------------------------------

def overlap(policies: Mapping[str, Mapping[str, Sequence[str]]]) -> Wire:
    """Mean word 3-gram Jaccard over pairs of agents of one run, round 1, averaged by cell; its
    lower limit by leaving out one policy at a time (jackknife; Efron & Stein 1981)."""
    alike = {cell: [_jaccards(texts) for texts in runs.values()]
             for cell, runs in policies.items()}
    alike = {cell: runs for cell, runs in alike.items() if any(runs)}
    if not alike:
        return _wire(None, "no run with two policies of three words")
    cells = {cell: _mean_overlap(runs, 1 - ALPHA / len(alike)) for cell, runs in alike.items()}
    worst = max(cells, key=lambda cell: cells[cell]["low"])
    return _wire(cells[worst]["low"] > MAX_JACCARD,
                 f"{cells[worst]['mean']:.2f} on average ({worst}; at least "
                 f"{cells[worst]['low']:.2f}); "
                 f"{sum(cell['identical'] for cell in cells.values())} identical pairs",
                 cells=cells)


Pairs = Mapping[tuple[int, int], float]   # similarity of two policies of a run


def _mean_overlap(runs: Sequence[Pairs], level: float) -> dict[str, Any]:
    """Mean over all pairs, and its lower limit; of fewer than three policies in all it is 0."""
    total, n = math.fsum(v for pairs in runs for v in pairs.values()), sum(map(len, runs))
    mean, left_out = total / n, []
    for pairs in runs:
        for one in {policy for pair in pairs for policy in pair}:
            touching = [v for pair, v in pairs.items() if one in pair]
            if len(touching) < n:
                left_out.append((total - math.fsum(touching)) / (n - len(touching)))
    units = len(left_out)
    t = stats.t_interval([units * mean - (units - 1) * rest for rest in left_out], level) \
        if units > 2 else None
    low = 0.0 if t is None else mean if t.low is None else max(0.0, mean - (t.high - t.low) / 2)
    return {"mean": mean, "low": low, "pairs": n,
            "identical": sum(v == 1 for pairs in runs for v in pairs.values())}


def _jaccards(texts: Sequence[str]) -> Pairs:
    grams = [stats.word_ngrams(text, 3) for text in texts]
    return {(a, b): v for a, b in combinations(range(len(grams)), 2)
            if (v := stats.jaccard(grams[a], grams[b])) is not None}


def by_upstream(rows: Sequence[Decision]) -> dict[str, dict[str, dict[str, Any]]]:
    """{model: {upstream: cooperation there}} of models with several upstreams; each against the
    model's others by Fisher's exact test, Holm-adjusted over all."""
    counts: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        if row.cooperates is not None and row.provider is not None:
            own = counts.setdefault((row.model, row.provider), [0, 0])
            own[0] += row.cooperates
            own[1] += 1
    totals = {model: [sum(own[at] for (name, _), own in counts.items() if name == model)
                      for at in (0, 1)] for model, _ in counts}
    mixed = {key: own for key, own in sorted(counts.items()) if own[1] < totals[key[0]][1]}
    p = [stats.fisher_exact(k, n, totals[model][0] - k, totals[model][1] - n)
         for (model, _), (k, n) in mixed.items()]
    out: dict[str, dict[str, dict[str, Any]]] = {}
    for ((model, name), (k, n)), adjusted in zip(mixed.items(), stats.holm(p), strict=True):
        out.setdefault(model, {})[name] = {"k": k, "n": n, "p_holm": adjusted}
    return out


def several(served: Mapping[str, Mapping[str, Iterable[str]]],
            rows: Sequence[Decision] = ()) -> Wire:
    """Names behind which more than one model or provider answered, and whether those decided
    differently."""
    known: dict[str, dict[str, list[str]]] = {
        name: {what: sorted(set(found)) for what, found in sorted(own.items())}
        for name, own in sorted(served.items())}
    said = [f"{name}: {len(found)} {what} ({', '.join(found)})"
            for name, own in known.items() for what, found in own.items() if len(found) > 1]
    upstreams = by_upstream(rows)
    apart = [f"{model} at {name} cooperated {own['k']} of {own['n']}, {p_is(own['p_holm'])} (Holm)"
             for model, each in upstreams.items() for name, own in each.items()
             if own["p_holm"] < ALPHA]
    return _wire(bool(said) if known else None,
                 "; ".join(said + apart) or ("one each" if known else "no answers"), served=known,
                 **({"upstreams": upstreams} if upstreams else {}))


# --- Do agents' policies converge? Mean TF-IDF cosines within a cell and between cells ---

Key = tuple[int, str, int]  # seed, domain, round


def convergence(texts: Mapping[Key, Mapping[str, Sequence[str]]]) -> list[dict[str, Any]]:
    """One row a round: similarity within cells, between them, their difference.

    `texts`: {(seed, domain, round): {cell: policies}}. Values are averaged over seeds and domains;
    a mean of nothing is None.
    """
    by_round: dict[int, list[tuple]] = {}
    for key in sorted(texts):
        by_round.setdefault(key[2], []).append(_one(texts[key]))
    out = []
    for number, found in sorted(by_round.items()):
        within = average(v for own in found for v in own[0].values())
        between = average(own[1] for own in found)
        out.append({"round": number, "within": within, "between": between,
                    "difference": None if within is None or between is None else within - between})
    return out


def by_cell(texts: Mapping[Key, Mapping[str, Sequence[str]]], number: int = 1) -> dict[str, Any]:
    """{cell: mean similarity of its policies} in one round, over seeds and domains."""
    cells: dict[str, list[float | None]] = {}
    for key in sorted(texts):
        if key[2] == number:
            for cell, value in _one(texts[key])[0].items():
                cells.setdefault(cell, []).append(value)
    return {cell: average(values) for cell, values in cells.items()}


def _one(cells: Mapping[str, Sequence[str]]) -> tuple[dict[str, float | None], float | None]:
    """({cell: mean cosine within}, mean cosine between cells)."""
    vectors = iter(stats.char_tfidf([text for own in cells.values() for text in own]))
    groups = {cell: [next(vectors) for _ in own] for cell, own in cells.items()}
    within = {cell: stats.mean_cosine(own) for cell, own in groups.items()}
    every = [vector for own in groups.values() for vector in own]
    n, whole = len(every), stats.mean_cosine(every)
    inside = {cell: len(own) * (len(own) - 1) for cell, own in groups.items()}
    pairs = n * (n - 1) - sum(inside.values())
    if whole is None or pairs == 0:
        return within, None
    rest = whole * n * (n - 1) - math.fsum(
        value * inside[cell] for cell, value in within.items() if value is not None)
    return within, rest / pairs
