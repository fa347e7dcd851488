"""How alike texts are: character TF-IDF, word n-grams, difflib's ratio; and whether many are one
template, by the similarity of all pairs, within and across the groups they come from."""

import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from difflib import SequenceMatcher
from functools import cache
from itertools import accumulate, combinations
from random import Random
from typing import NamedTuple

from .distributions import critical, t_quantile
from .intervals import wilson_limits

Vector = Mapping[str, float]

WHITE = re.compile(r"\s\s+")
WORD = re.compile(r"\w+(?:['’]\w+)*")


def char_tfidf(
    texts: Sequence[str], low: int = 3, high: int = 5
) -> list[dict[str, float]]:
    """Vectors of length 1 over character n-grams of `low` to `high` (Salton & Buckley 1988).

    Lower-cased, runs of white space made one blank; weight = count × (ln((1 + N)/(1 + df)) + 1), as
    scikit-learn weighs by default. A text shorter than `low` is an empty vector.
    """
    if not 1 <= low <= high:
        raise ValueError(f"low: {low!r} is not between 1 and high = {high!r}")
    counts = [_char_ngrams(text, low, high) for text in texts]
    spread = Counter(gram for grams in counts for gram in grams)
    rarity = {
        gram: math.log((1 + len(texts)) / (1 + df)) + 1 for gram, df in spread.items()
    }
    return [
        _unit({gram: n * rarity[gram] for gram, n in grams.items()}) for grams in counts
    ]


def _char_ngrams(text: str, low: int, high: int) -> Counter:
    text = WHITE.sub(" ", text.lower())
    return Counter(
        text[i : i + n] for n in range(low, high + 1) for i in range(len(text) - n + 1)
    )


def _unit(vector: dict[str, float]) -> dict[str, float]:
    norm = math.sqrt(math.fsum(weight * weight for weight in vector.values()))
    return {gram: weight / norm for gram, weight in vector.items()}


def mean_cosine(vectors: Sequence[Vector]) -> float | None:
    """Mean cosine over all pairs, exact, without forming pairs; None under two vectors.

    The squared norm of the sum holds each pair twice and each vector with itself once.
    """
    n = len(vectors)
    if n < 2:
        return None
    together: dict[str, float] = defaultdict(float)
    for vector in vectors:
        for gram, weight in vector.items():
            together[gram] += weight
    whole = math.fsum(weight * weight for weight in together.values())
    same = math.fsum(
        weight * weight for vector in vectors for weight in vector.values()
    )
    return (whole - same) / (n * (n - 1))


def word_ngrams(text: str, n: int) -> set[tuple[str, ...]]:
    """The distinct runs of `n` words, lower-cased, punctuation dropped."""
    if n < 1:
        raise ValueError(f"n: {n!r} is not positive")
    words = WORD.findall(text.lower())
    return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}


def jaccard(a: Set, b: Set) -> float | None:
    """Shared elements over all elements (Jaccard 1901); None where both are empty."""
    shared = len(a & b)
    return shared / (len(a) + len(b) - shared) if a or b else None


def sequence_similarity(a: str, b: str) -> float:
    """difflib's ratio with autojunk=False, the larger of both argument orders: 0 to 1.

    Ratcliff & Obershelp (1988): twice the characters in matching blocks over all characters, the
    longest block first, then the same to its left and to its right. Which of equally long blocks
    comes first depends on the order of the arguments.
    """
    if a == b:
        return 1.0
    return max(
        SequenceMatcher(None, *pair, autojunk=False).ratio()
        for pair in ((a, b), (b, a))
    )


# --- similarity of all pairs ---

EXACT = 200  # distinct texts up to which all pairs are compared
SAMPLED = (
    5_000  # pairs drawn above that: their mean is off by .014 at most, 19 times in 20
)
ALIKE = 0.7  # from which a pair counts as alike
MEASURES = ("sequence", "jaccard_2", "jaccard_3")
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


class Pair(NamedTuple):
    """Two texts with their groups, and how many pairs of occurrences they stand for."""

    first: Entry
    second: Entry
    weight: int

    @property
    def scope(self) -> str:
        return "within" if self.first[1] == self.second[1] else "across"


def likeness(texts: Texts, rng: Random, measures: Sequence[str] = MEASURES) -> Likeness:
    """How alike texts are: `texts` maps each distinct one to how often each group has it.

    All pairs up to `EXACT` distinct texts, above that `SAMPLED` pairs drawn from `rng`. Identical
    texts are counted, not compared.
    """
    occurrences = {
        (text, group): k
        for text in sorted(texts)
        for group, k in sorted(texts[text].items())
    }
    sampled = len(texts) > EXACT
    pairs = _drawn_pairs(occurrences, rng) if sampled else _all_pairs(occurrences)
    figures = {}
    for name in measures:
        compare = cache(_measures()[name])
        measured = []
        for pair in pairs:
            a, b = pair.first[0], pair.second[0]
            value = 1.0 if a == b else compare(a, b)
            if value is not None:
                measured.append((pair, value))
        figures[name] = {
            scope: _summary(occurrences, measured, scope) for scope in SCOPES
        }
    times = sum(occurrences.values())
    return Likeness(times, len(texts), SAMPLED if sampled else None, figures)


def _measures() -> dict[str, Measure]:
    ngrams = cache(word_ngrams)
    return {
        "sequence": sequence_similarity,
        "jaccard_2": lambda a, b: jaccard(ngrams(a, 2), ngrams(b, 2)),
        "jaccard_3": lambda a, b: jaccard(ngrams(a, 3), ngrams(b, 3)),
    }


def _all_pairs(occurrences: dict[Entry, int]) -> list[Pair]:
    pairs = [
        Pair(entry, entry, math.comb(k, 2)) for entry, k in occurrences.items() if k > 1
    ]
    return pairs + [
        Pair(a, b, occurrences[a] * occurrences[b])
        for a, b in combinations(occurrences, 2)
    ]


def _drawn_pairs(occurrences: dict[Entry, int], rng: Random) -> list[Pair]:
    """`SAMPLED` pairs of different occurrences, each equally likely."""
    entries, ends = list(occurrences), list(accumulate(occurrences.values()))
    drawn: Counter[tuple[Entry, Entry]] = Counter()
    for _ in range(SAMPLED):
        i = int(rng.random() * ends[-1])
        j = int(rng.random() * (ends[-1] - 1))
        j += j >= i
        first, second = sorted(
            (entries[bisect_right(ends, i)], entries[bisect_right(ends, j)])
        )
        drawn[first, second] += 1
    return [Pair(first, second, times) for (first, second), times in drawn.items()]


def _summary(
    occurrences: dict[Entry, int], measured: list[tuple[Pair, float]], scope: str
) -> Similarity:
    chosen = [(pair, value) for pair, value in measured if scope in ("all", pair.scope)]
    total = sum(pair.weight for pair, _ in chosen)
    if not total:
        return Similarity(None, None, None, None, None, 0, "no two texts to compare")
    mean = math.fsum(pair.weight * value for pair, value in chosen) / total
    low, high, why = _interval(occurrences, chosen, scope, mean)
    alike = sum(pair.weight for pair, value in chosen if value >= ALIKE) / total
    middle = _median([(value, pair.weight) for pair, value in chosen])
    return Similarity(mean, low, high, middle, alike, total, why)


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
    occurrences: dict[Entry, int],
    chosen: list[tuple[Pair, float]],
    scope: str,
    mean: float,
) -> tuple[float | None, float | None, str | None]:
    """Jackknife interval of a mean over pairs: each occurrence left out in turn.

    Where each is as alike to the others (one template, or balanced ones) the jackknife has no
    width; then disjoint pairs are independent draws from 0 to 1, which vary at most as successes
    do: Wilson's interval for them.
    """
    groups: Counter[str] = Counter()
    for (_, group), k in occurrences.items():
        groups[group] += k
    times = groups.total()
    if times < 3:
        return None, None, "fewer than three texts"
    # Pairs that one occurrence is in, and pairs altogether, drawn or not.
    degree = {
        "all": lambda k: times - 1,
        "within": lambda k: k - 1,
        "across": lambda k: times - k,
    }
    degrees = {entry: degree[scope](groups[entry[1]]) for entry in occurrences}
    total = sum(k * degrees[entry] for entry, k in occurrences.items()) / 2
    sums: dict[Entry, float] = defaultdict(float)
    weights: Counter[Entry] = Counter()
    for (first, second, weight), value in chosen:
        for entry in (first, second):
            sums[entry] += weight * value
            weights[entry] += weight
    left_out = [
        (
            occurrences[entry],
            (total * mean - degrees[entry] * sums[entry] / weights[entry])
            / (total - degrees[entry]),
        )
        for entry in sorted(sums)
        if total > degrees[entry]
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
