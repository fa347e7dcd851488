"""Are texts one template? Similarity of all pairs, within and across the groups they come from."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from itertools import accumulate, combinations, combinations_with_replacement
from random import Random
from typing import NamedTuple

from stats.distributions import critical, t_quantile
from stats.intervals import wilson_limits
from stats.text import jaccard, sequence_similarity, word_ngrams

EXACT = 200  # distinct texts up to which all pairs are compared
SAMPLED = 10_000  # pairs drawn above that: their mean is off by .01 at most, 19 times in 20
ALIKE = 0.7  # from which a pair counts as alike
MEASURES = ("sequence", "jaccard_2", "jaccard_3")
BLOCK = 200  # texts of a side that are compared with those of another before going on
CELL = 400  # pairs of a cell of the matrix up to which all are compared
SYMMETRIC = "every text is as alike to the others: interval from disjoint pairs"
SCOPES = ("all", "within", "across")

Texts = dict[str, Counter[str]]  # text → group → how often
Entry = tuple[str, str]  # (text, group)
Measure = Callable[[str, str], float | None]


class Similarity(NamedTuple):
    """Similarity of pairs of texts, from 0 to 1; `pairs` that could be compared."""

    mean: float | None
    low: float | None
    high: float | None
    median: float | None
    alike: float | None
    pairs: int
    why: str | None = None


class Likeness(NamedTuple):
    """Texts, distinct ones, and `similarity[measure][scope]`.

    `within` compares texts of one group, `across` those of different groups. `sampled`: number of
    pairs drawn, None where every pair was compared.
    """

    texts: int
    distinct: int
    sampled: int | None
    similarity: dict[str, dict[str, Similarity]]


class _Pair(NamedTuple):
    """Two texts, how many pairs of occurrences they stand for, and how many of these in one group.

    `drawn`: the two entries where the pair was drawn, None where it stands for all of them.
    """

    a: str
    b: str
    weight: int
    within: int
    drawn: tuple[Entry, Entry] | None = None

    def weigh(self, scope: str) -> int:
        if scope == "all":
            return self.weight
        return self.within if scope == "within" else self.weight - self.within


def _measures() -> dict[str, Measure]:
    grams: dict[tuple[str, int], object] = {}

    def ngrams(text: str, n: int) -> object:
        if (text, n) not in grams:
            grams[text, n] = word_ngrams(text, n)
        return grams[text, n]

    return {
        "sequence": sequence_similarity,
        "jaccard_2": lambda a, b: jaccard(ngrams(a, 2), ngrams(b, 2)),
        "jaccard_3": lambda a, b: jaccard(ngrams(a, 3), ngrams(b, 3)),
    }


def _all_pairs(texts: Texts) -> Iterator[_Pair]:
    """Every pair of occurrences, gathered by their two texts."""
    for text in sorted(texts):
        within = sum(math.comb(k, 2) for k in texts[text].values())
        yield _Pair(text, text, math.comb(texts[text].total(), 2), within)
    for a, b in combinations(sorted(texts), 2):
        within = sum(k * texts[b][group] for group, k in texts[a].items())
        yield _Pair(a, b, texts[a].total() * texts[b].total(), within)


def _drawn_pairs(texts: Texts, rng: Random) -> Iterator[_Pair]:
    """`SAMPLED` pairs of different occurrences, each equally likely."""
    entries = [(text, group) for text in sorted(texts) for group in sorted(texts[text])]
    ends = list(accumulate(texts[text][group] for text, group in entries))
    for _ in range(SAMPLED):
        i = int(rng.random() * ends[-1])
        j = int(rng.random() * (ends[-1] - 1))
        j += j >= i
        x, y = sorted((entries[bisect_right(ends, i)], entries[bisect_right(ends, j)]))
        yield _Pair(x[0], y[0], 1, int(x[1] == y[1]), (x, y))


def _median(weighted: list[tuple[float, int]]) -> float:
    weighted = sorted(weighted)
    half, below = sum(w for _, w in weighted) / 2, 0
    for index, (value, weight) in enumerate(weighted):
        below += weight
        if below > half:
            return value
        if below == half:
            return (value + weighted[index + 1][0]) / 2
    raise AssertionError("no pair")


def _interval(
    mean: float, times: int, entries: list[tuple[int, float, float]], total: float
) -> tuple[float | None, float | None, str | None]:
    """Jackknife interval of a mean over pairs: each occurrence left out in turn.

    `entries`: (occurrences, pairs one is in, their mean). Where each is as alike to the
    others (one template, or balanced ones) the jackknife has no width; then disjoint pairs are
    independent draws from 0 to 1, which vary at most as successes do: Wilson's interval for them.
    """
    if times < 3:
        return None, None, "fewer than three texts"
    left_out = [
        (count, (total * mean - degree * own) / (total - degree))
        for count, degree, own in entries
        if total > degree
    ]
    n = sum(count for count, _ in left_out)
    if n < 3:
        return None, None, "too few texts"
    centre = math.fsum(count * value for count, value in left_out) / n
    variance = (n - 1) / n * math.fsum(c * (v - centre) ** 2 for c, v in left_out)
    if variance < 1e-18:
        pairs = times // 2
        low, high = wilson_limits(mean * pairs, pairs, critical(0.95))
        return min(low, mean), max(high, mean), SYMMETRIC
    half = t_quantile(0.975, n - 1) * math.sqrt(variance)
    return max(0.0, mean - half), min(1.0, mean + half), None


def _degrees(texts: Texts, scope: str) -> tuple[dict[Entry, int], float]:
    """Pairs that an occurrence of each entry is in, and pairs altogether."""
    groups: Counter[str] = Counter()
    for by_group in texts.values():
        groups.update(by_group)
    n = sum(groups.values())
    total = {
        "all": n * (n - 1) / 2,
        "within": sum(k * (k - 1) / 2 for k in groups.values()),
    }
    total["across"] = total["all"] - total["within"]
    degree = {"all": lambda p: n - 1, "within": lambda p: groups[p] - 1}
    degree["across"] = lambda p: n - groups[p]
    return {(t, p): degree[scope](p) for t in texts for p in texts[t]}, total[scope]


def _own_means(texts: Texts, pairs: list[tuple[_Pair, float]], scope: str) -> dict[Entry, float]:
    """Mean similarity of an occurrence of each entry to those it is paired with."""
    sums: dict[Entry, float] = defaultdict(float)
    weights: dict[Entry, float] = defaultdict(float)

    def add(entry: Entry, weight: int, value: float) -> None:
        sums[entry] += weight * value
        weights[entry] += weight

    for pair, value in pairs:
        if pair.drawn:
            if pair.weigh(scope):
                for entry in pair.drawn:
                    sums[entry] += value
                    weights[entry] += 1
            continue
        sides = ((pair.a, pair.b), (pair.b, pair.a)) if pair.a != pair.b else ((pair.a, pair.a),)
        for own, other in sides:
            for group in texts[own]:
                everyone = texts[other].total() - (own == other)
                near = texts[other][group] - (own == other)
                weight = {"all": everyone, "within": near}.get(scope, everyone - near)
                add((own, group), weight, value)
    return {entry: sums[entry] / weights[entry] for entry in sums if weights[entry]}


def _summary(texts: Texts, pairs: list[tuple[_Pair, float]], scope: str) -> Similarity:
    chosen = [(value, weight) for pair, value in pairs if (weight := pair.weigh(scope))]
    total = sum(weight for _, weight in chosen)
    if not total:
        return Similarity(None, None, None, None, None, 0, "no two texts to compare")
    mean = math.fsum(weight * value for value, weight in chosen) / total
    degrees, everything = _degrees(texts, scope)
    own = _own_means(texts, pairs, scope)
    entries = [(texts[e[0]][e[1]], degrees[e], own[e]) for e in sorted(own)]
    times = sum(by_group.total() for by_group in texts.values())
    low, high, why = _interval(mean, times, entries, everything)
    alike = sum(weight for value, weight in chosen if value >= ALIKE) / total
    return Similarity(mean, low, high, _median(chosen), alike, total, why)


def likeness(texts: Texts, rng: Random) -> Likeness:
    """How alike texts are: `texts` maps each distinct one to how often each group has it.

    All pairs up to `EXACT` distinct texts, above that `SAMPLED` pairs drawn from `rng`. Identical
    texts are counted, not compared.
    """
    times = sum(by_group.total() for by_group in texts.values())
    sampled = len(texts) > EXACT
    pairs = list(_drawn_pairs(texts, rng) if sampled else _all_pairs(texts))
    compared, found = _neighbours(pairs), {}
    for name, measure in _measures().items():
        known = {(a, b): 1.0 if a == b else measure(a, b) for a, b in compared}
        valued = [(p, value) for p in pairs if (value := known[p.a, p.b]) is not None]
        found[name] = {scope: _summary(texts, valued, scope) for scope in SCOPES}
    return Likeness(times, len(texts), SAMPLED if sampled else None, found)


def _neighbours(pairs: list[_Pair]) -> list[tuple[str, str]]:
    """The distinct pairs of texts, in an order that meets few texts at a time: what a comparison
    prepares of a text is still at hand when the text comes again."""
    place = {text: i // BLOCK for i, text in enumerate(sorted({t for p in pairs for t in p[:2]}))}
    return sorted({(p.a, p.b) for p in pairs}, key=lambda pair: (*map(place.get, pair), *pair))


def matrix(texts: Texts, rng: Random) -> dict[str, float]:
    """Mean 3-gram Jaccard of the texts of two groups, by "GROUP × GROUP" in sorted order.

    Up to `CELL` pairs all of them, above that `CELL` drawn from `rng`.
    """
    by_group: dict[str, list[str]] = defaultdict(list)
    for text in sorted(texts):
        for group, k in sorted(texts[text].items()):
            by_group[group] += [text] * k
    measure, found = cache(_measures()["jaccard_3"]), {}
    for a, b in combinations_with_replacement(sorted(by_group), 2):
        values = [measure(x, y) for x, y in _cell_pairs(by_group[a], by_group[b], a == b, rng)]
        known = [value for value in values if value is not None]
        if known:
            found[f"{a} × {b}"] = math.fsum(known) / len(known)
    return found


def _cell_pairs(x: list[str], y: list[str], same: bool, rng: Random) -> list[tuple[str, str]]:
    if (len(x) * len(y) if not same else len(x) * (len(x) - 1) // 2) <= CELL:
        return list(combinations(x, 2)) if same else [(a, b) for a in x for b in y]
    pairs = []
    while len(pairs) < CELL:
        i, j = int(rng.random() * len(x)), int(rng.random() * len(y))
        if not same or i != j:
            pairs.append((x[i], y[j]))
    return pairs
