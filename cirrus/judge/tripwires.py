"""Tripwires: signs that the instrument, and not the respondents, made a result.

Each says `tripped` True, False or None (can't be checked, with the reason), with its figure.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import stats
from cirrus.judge.endpoint import ALPHA, cell_label
from cirrus.judge.rows import Decision
from common.wire import UNANSWERED
from show.figures import p_is, percent

MAX_UNREADABLE = 0.03
MAX_TRUNCATION_GAP = 0.02
MAX_JACCARD = 0.3
Wire = dict[str, Any]


def tripwires(rows: Sequence[Decision], counts: Mapping[str, Mapping[str, int]],
              policies: Mapping[str, Mapping[str, Sequence[str]]],
              served: Mapping[str, Mapping[str, Iterable[str]]]) -> list[Wire]:
    """The six tripwires.

    `rows`: primary data of the main runs, both domains. `counts`: {cell: {status: decisions}} of
    all rounds. `policies`: {cell: {run: policies of round 1, one an agent}}. `served`: {model:
    {"models": …, "providers": …}}.
    """
    found = {"unreadable": unreadable(counts), "truncation": truncation(counts),
             "position": position(rows), "overlap": overlap(policies),
             "attrition": attrition(rows), "served": several(served, rows)}
    return [{"tripwire": name, "title": TITLES[name], **found[name]} for name in TITLES]


TITLES = {
    "unreadable": f"Unreadable answers above {MAX_UNREADABLE:.0%} in a cell",
    "truncation": f"Truncation differs by more than {100 * MAX_TRUNCATION_GAP:g} points "
                  "between cells",
    "position": "The option that stands first is chosen more, or less, often",
    "overlap": f"Policies share word 3-grams (Jaccard above {MAX_JACCARD:g})",
    "attrition": "Missing decisions differ by cell",
    "served": "More than one model or provider behind one name",
}


def _wire(tripped: bool | None, figure: str, **numbers: Any) -> Wire:
    return {"tripped": tripped, "figure": figure, "numbers": numbers}


def cell_of(row: Decision) -> str:
    return f"{row.domain} {cell_label((row.S, row.C, row.H))}"


# --- answers -----------------------------------------------------------------------------------

def unreadable(counts: Mapping[str, Mapping[str, int]]) -> Wire:
    """Answers that hold no decision, as a share of all answers, by cell."""
    rates = {}
    for cell, statuses in counts.items():
        answered = sum(n for status, n in statuses.items() if status not in UNANSWERED)
        bad = answered - statuses.get("ok", 0)
        if answered:
            low, high, _ = stats.wilson_interval(bad, answered)
            rates[cell] = {"k": bad, "n": answered, "share": bad / answered, "low": low,
                           "high": high}
    if not rates:
        return _wire(None, "no answers")
    worst = max(rates, key=lambda cell: rates[cell]["share"])
    own = rates[worst]
    return _wire(own["share"] > MAX_UNREADABLE,
                 f"at most {percent(own['share'], 1)} ({own['k']} of {own['n']}, {worst})",
                 cells=rates)


def truncation(counts: Mapping[str, Mapping[str, int]]) -> Wire:
    """The largest difference between two cells in the share of answers that were cut off."""
    shares = {}
    for cell, statuses in counts.items():
        answered = sum(n for status, n in statuses.items() if status not in UNANSWERED)
        if answered:
            shares[cell] = statuses.get("truncated", 0) / answered
    if len(shares) < 2:
        return _wire(None, "fewer than two cells with answers")
    gap = max(shares.values()) - min(shares.values())
    return _wire(gap > MAX_TRUNCATION_GAP, f"largest difference {100 * gap:.1f} points",
                 cells=shares, gap=gap)


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
        slot = (row.seed, row.domain, row.role, pair)
        slots[slot] = slots.get(slot, 0) + (1 if row.first_taken else -1)
    k, n = sum(row.first_taken for row in taken), len(taken)
    if n == 0:
        return _wire(None, "no readable decisions")
    test = stats.sign_flip_test([slots[slot] for slot in sorted(slots)])
    if test.p is None:
        return _wire(None, f"{k} of {n}; no test: {test.why}", k=k, n=n)
    return _wire(test.p < ALPHA, f"{k} of {n} ({percent(k / n)}) took the first, "
                 f"{p_is(test.p)} over {len(slots)} drawn orders", k=k, n=n, p=test.p,
                 slots=len(slots))


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
    """Mean word 3-gram Jaccard over pairs of agents of one run, round 1, averaged by cell."""
    cells = {}
    for cell, runs in policies.items():
        alike = [v for own in runs.values() for v in _jaccards(own)]
        if alike:
            cells[cell] = {"mean": math.fsum(alike) / len(alike), "pairs": len(alike),
                           "identical": sum(v == 1 for v in alike)}
    if not cells:
        return _wire(None, "no run with two policies of three words")
    worst = max(cells, key=lambda cell: cells[cell]["mean"])
    return _wire(cells[worst]["mean"] > MAX_JACCARD,
                 f"at most {cells[worst]['mean']:.2f} on average ({worst}); "
                 f"{sum(c['identical'] for c in cells.values())} identical pairs", cells=cells)


def _jaccards(texts: Sequence[str]) -> list[float]:
    grams = [stats.word_ngrams(text, 3) for text in texts]
    return [v for a, b in combinations(grams, 2) if (v := stats.jaccard(a, b)) is not None]


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
        within = _mean(v for own in found for v in own[0].values())
        between = _mean(own[1] for own in found)
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
    return {cell: _mean(values) for cell, values in cells.items()}


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


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
