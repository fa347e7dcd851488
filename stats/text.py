"""How alike texts are: by character TF-IDF, word n-grams and difflib's ratio; and whether many
texts are one template, by the similarity of all pairs within and across the groups they come from.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from difflib import SequenceMatcher
from functools import cache
from itertools import accumulate, chain, combinations
from math import comb, fsum, log, sqrt
from operator import mul
from random import Random
from typing import Any, NamedTuple, TypeVar

from .distributions import critical, t_critical
from .intervals import wilson_limits

Vector = Mapping[str, float]
Run = TypeVar("Run", str, tuple[str, ...])

WHITE = re.compile(r"\s\s+")
WORD = re.compile(r"\w+(?:['’]\w+)*")


def char_tfidf(
    texts: Sequence[str], low: int = 3, high: int = 5
) -> list[dict[str, float]]:
    """A vector of length 1 for each text, over its character n-grams of `low` to `high` characters
    (Salton & Buckley 1988).

    Text is lower-cased, and a run of white space becomes one blank. A weight is count × (ln((1 +
    N)/(1 + df)) + 1), scikit-learn's default. A text shorter than `low` has an empty vector.
    """
    if not 1 <= low <= high:
        raise ValueError(f"low: {low!r} is not between 1 and high = {high!r}")
    counts = [_char_ngrams(text, low, high) for text in texts]
    spread = Counter(chain.from_iterable(counts))
    most = 1 + len(texts)
    rarity = {gram: log(most / (1 + df)) + 1 for gram, df in spread.items()}
    vectors = []
    for grams in counts:
        weighted = {gram: n * rarity[gram] for gram, n in grams.items()}
        norm = sqrt(_square(weighted))
        vectors.append({gram: weight / norm for gram, weight in weighted.items()})
    return vectors


def _char_ngrams(text: str, low: int, high: int) -> Counter[str]:
    text = WHITE.sub(" ", text.lower())
    grams: Counter[str] = Counter()
    for n in range(low, high + 1):
        grams.update(_runs(text, n))
    return grams


def _runs(items: Run, n: int) -> list[Run]:
    """All runs of `n` neighbours in `items`."""
    return [items[i : i + n] for i in range(len(items) - n + 1)]


def _square(vector: Vector) -> float:
    """The squared length of a vector."""
    return fsum(weight * weight for weight in vector.values())


def mean_cosine(vectors: Sequence[Vector]) -> float | None:
    """The mean cosine over all pairs of vectors of length 1; None for fewer than two vectors.

    No pair is formed: the squared length of the vectors' sum holds each pair twice and each vector
    with itself once.
    """
    n = len(vectors)
    if n < 2:
        return None
    together: dict[str, float] = defaultdict(float)
    for vector in vectors:
        for gram, weight in vector.items():
            together[gram] += weight
    same = fsum(map(_square, vectors))
    return (_square(together) - same) / (n * (n - 1))


def word_ngrams(text: str, n: int) -> set[tuple[str, ...]]:
    """The distinct runs of `n` words of a text, lower-cased and without punctuation."""
    if n < 1:
        raise ValueError(f"n: {n!r} is not positive")
    words = tuple(WORD.findall(text.lower()))
    return set(_runs(words, n))


def jaccard(a: Set[Any], b: Set[Any]) -> float | None:
    """The number of shared elements over that of all elements (Jaccard 1901); None where both sets
    are empty."""
    if not a and not b:
        return None
    return len(a & b) / len(a | b)


def sequence_similarity(a: str, b: str) -> float:
    """difflib's ratio with autojunk=False, from 0 to 1; the larger one of both orders of arguments.

    Ratcliff & Obershelp (1988) take the longest common block of characters, then do the same to its
    left and to its right; the ratio is twice the characters in such blocks over all characters.
    Which of equally long blocks comes first depends on the order of the arguments.
    """
    if a == b:
        return 1.0
    return max(_ratio(a, b), _ratio(b, a))


def _ratio(a: str, b: str) -> float:
    return SequenceMatcher(None, a, b, autojunk=False).ratio()


# --- similarity of all pairs ---

EXACT = 200  # distinct texts up to which all pairs are compared
# Pairs drawn above that: their mean is off by .014 at most, 19 times in 20.
SAMPLED = 5_000
ALIKE = 0.7  # from which a pair counts as alike
LEVEL = 0.95
LEAST_VARIANCE = 1e-18  # a smaller one is what rounding leaves of 0
MEASURES = ("sequence", "jaccard_2", "jaccard_3")
SYMMETRIC = "every text is as alike to the others: interval from disjoint pairs"
SCOPES = ("all", "within", "across")

Texts = dict[str, Counter[str]]  # text → group → how often
Measure = Callable[[str, str], float | None]


class Entry(NamedTuple):
    """A text in a group that has it."""

    text: str
    group: str


Occurrences = dict[Entry, int]


class Similarity(NamedTuple):
    """The similarity of pairs of texts, from 0 to 1: its mean with limits, its median, and the
    share of pairs that are at least `ALIKE`. `pairs` says how many pairs could be compared."""

    mean: float | None
    low: float | None
    high: float | None
    median: float | None
    alike: float | None
    pairs: int
    why: str | None = None


class Likeness(NamedTuple):
    """How many texts there are, how many distinct ones, and `similarity[measure][scope]`.

    The scope `within` compares texts of one group, `across` those of different groups. `sampled` is
    the number of pairs drawn, None where every pair was compared.
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

    def lies(self, scope: str) -> bool:
        """Whether the pair belongs to the scope "all", "within" or "across"."""
        within = self.first.group == self.second.group
        return scope == "all" or within == (scope == "within")


class Compared(NamedTuple):
    """A pair and how alike its texts are."""

    pair: Pair
    similarity: float


def likeness(texts: Texts, rng: Random, measures: Sequence[str] = MEASURES) -> Likeness:
    """How alike texts are; `texts` maps each distinct text to how often each group has it.

    Up to `EXACT` distinct texts all pairs are compared, above that `SAMPLED` pairs drawn with
    `rng`. Identical texts count as wholly alike without a comparison.
    """
    occurrences: Occurrences = {}
    for text in sorted(texts):
        for group, times in sorted(texts[text].items()):
            occurrences[Entry(text, group)] = times
    sampled = None
    if len(texts) > EXACT:
        sampled = SAMPLED
        pairs = _drawn_pairs(occurrences, rng)
    else:
        pairs = _all_pairs(occurrences)
    known = _measures()
    figures = {}
    for name in measures:
        compared = _compared(pairs, known[name])
        figures[name] = {s: _summary(occurrences, compared, s) for s in SCOPES}
    times = sum(occurrences.values())
    return Likeness(times, len(texts), sampled, figures)


def _measures() -> dict[str, Measure]:
    """The measures by name; each takes two texts, and is None where they are too short for it."""
    ngrams = cache(word_ngrams)
    return {
        "sequence": sequence_similarity,
        "jaccard_2": lambda a, b: jaccard(ngrams(a, 2), ngrams(b, 2)),
        "jaccard_3": lambda a, b: jaccard(ngrams(a, 3), ngrams(b, 3)),
    }


def _all_pairs(occurrences: Occurrences) -> list[Pair]:
    """Every pair of entries, and each entry with itself where it occurs more than once."""
    pairs = []
    for entry, times in occurrences.items():
        if times > 1:
            pairs.append(Pair(entry, entry, comb(times, 2)))
    for first, second in combinations(occurrences, 2):
        weight = occurrences[first] * occurrences[second]
        pairs.append(Pair(first, second, weight))
    return pairs


def _drawn_pairs(occurrences: Occurrences, rng: Random) -> list[Pair]:
    """`SAMPLED` pairs of different occurrences, every one of them equally likely."""
    entries, ends = list(occurrences), list(accumulate(occurrences.values()))
    times = ends[-1]
    drawn: Counter[tuple[Entry, Entry]] = Counter()
    for _ in range(SAMPLED):
        i = int(rng.random() * times)
        j = int(rng.random() * (times - 1))
        if j >= i:
            j += 1
        one, other = entries[bisect_right(ends, i)], entries[bisect_right(ends, j)]
        drawn[min(one, other), max(one, other)] += 1
    return [Pair(first, second, times) for (first, second), times in drawn.items()]


def _compared(pairs: list[Pair], measure: Measure) -> list[Compared]:
    """The pairs with their similarity; the same two texts are compared once, and pairs that are too
    short for the measure are left out."""
    measure = cache(measure)
    compared = []
    for pair in pairs:
        a, b = pair.first.text, pair.second.text
        similarity = 1.0 if a == b else measure(a, b)
        if similarity is not None:
            compared.append(Compared(pair, similarity))
    return compared


def _summary(
    occurrences: Occurrences, compared: list[Compared], scope: str
) -> Similarity:
    """The `Similarity` of the compared pairs that belong to a scope."""
    chosen = [each for each in compared if each.pair.lies(scope)]
    if not chosen:
        return Similarity(None, None, None, None, None, 0, "no two texts to compare")
    weights = [each.pair.weight for each in chosen]
    values = [each.similarity for each in chosen]
    mean, total = _mean(values, weights), sum(weights)
    low, high, why = _interval(occurrences, chosen, scope, mean)
    alike = _mean([value >= ALIKE for value in values], weights)
    return Similarity(mean, low, high, _median(chosen), alike, total, why)


def _mean(values: Sequence[float], weights: Sequence[int]) -> float:
    """The mean of `values`, weighted."""
    return fsum(map(mul, values, weights)) / sum(weights)


def _median(compared: list[Compared]) -> float:
    """The median similarity, each pair counted as often as it occurs."""
    order = sorted(compared, key=lambda each: each.similarity)
    ends = list(accumulate(each.pair.weight for each in order))
    half = ends[-1] / 2
    middle = bisect_left(ends, half)
    value = order[middle].similarity
    if ends[middle] == half:
        value = (value + order[middle + 1].similarity) / 2
    return value


def _interval(
    occurrences: Occurrences, chosen: list[Compared], scope: str, mean: float
) -> tuple[float | None, float | None, str | None]:
    """The limits of a mean over pairs by the jackknife, which leaves out each text in turn, and a
    remark; the limits are None for fewer than three texts.

    Where every text is as alike to the others (one template, or balanced ones) the jackknife has no
    width. Then Wilson's interval is given, for as many independent pairs as the texts can form
    without sharing one; values from 0 to 1 vary at most as much as successes do.
    """
    texts = sum(occurrences.values())
    if texts < 3:
        return None, None, "fewer than three texts"
    degrees = _degrees(occurrences, scope)
    pairs = sum(map(mul, occurrences.values(), degrees.values())) / 2
    own = _own_means(chosen)
    times, values = [], []
    for entry in sorted(own):
        degree = degrees[entry]
        if pairs > degree:
            times.append(occurrences[entry])
            values.append((pairs * mean - degree * own[entry]) / (pairs - degree))
    n = sum(times)
    if n < 3:
        return None, None, "too few texts"
    centre = _mean(values, times)
    variance = (n - 1) * _mean([(value - centre) ** 2 for value in values], times)
    if variance < LEAST_VARIANCE:
        disjoint = texts // 2
        low, high = wilson_limits(mean * disjoint, disjoint, critical(LEVEL))
        return min(low, mean), max(high, mean), SYMMETRIC
    half = t_critical(LEVEL, n - 1) * sqrt(variance)
    return max(0.0, mean - half), min(1.0, mean + half), None


def _degrees(occurrences: Occurrences, scope: str) -> Occurrences:
    """In how many pairs of the scope, drawn or not, one occurrence of each entry takes part."""
    groups: Counter[str] = Counter()
    for entry, times in occurrences.items():
        groups[entry.group] += times
    degrees = {}
    for entry in occurrences:
        within, every = groups[entry.group] - 1, groups.total() - 1
        of_scope = {"all": every, "within": within, "across": every - within}
        degrees[entry] = of_scope[scope]
    return degrees


def _own_means(chosen: list[Compared]) -> dict[Entry, float]:
    """For each entry, the mean similarity of the pairs that it is part of."""
    sums: dict[Entry, float] = defaultdict(float)
    weights: Counter[Entry] = Counter()
    for (first, second, weight), similarity in chosen:
        for entry in (first, second):
            sums[entry] += weight * similarity
            weights[entry] += weight
    return {entry: total / weights[entry] for entry, total in sums.items()}
