"""How alike texts are: character TF-IDF, word n-grams, difflib's ratio."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

Vector = Mapping[str, float]
Run = tuple[int, int, int]  # minus its length, start in a, start in b: the least is the best

WHITE = re.compile(r"\s\s+")
WORD = re.compile(r"\w+(?:['’]\w+)*")
SEED = 3  # matches this long are looked up in an index, shorter ones by str.find


def char_tfidf(texts: Sequence[str], low: int = 3, high: int = 5) -> list[dict[str, float]]:
    """Vectors of length 1 over character n-grams of `low` to `high` (Salton & Buckley 1988).

    Lower-cased, runs of white space made one blank; weight = count × (ln((1 + N)/(1 + df)) + 1), as
    scikit-learn weighs by default. A text shorter than `low` is an empty vector.
    """
    if not 1 <= low <= high:
        raise ValueError(f"low: {low!r} is not between 1 and high = {high!r}")
    counts = [_char_ngrams(text, low, high) for text in texts]
    spread = Counter(gram for grams in counts for gram in grams)
    rarity = {gram: math.log((1 + len(texts)) / (1 + df)) + 1 for gram, df in spread.items()}
    return [_unit({gram: n * rarity[gram] for gram, n in grams.items()}) for grams in counts]


def _char_ngrams(text: str, low: int, high: int) -> Counter:
    text = WHITE.sub(" ", text.lower())
    return Counter(text[i : i + n] for n in range(low, high + 1) for i in range(len(text) - n + 1))


def _unit(vector: dict[str, float]) -> dict[str, float]:
    norm = math.sqrt(math.fsum(weight * weight for weight in vector.values()))
    return {gram: weight / norm for gram, weight in vector.items()}


def cosine_matrix(vectors: Sequence[Vector]) -> list[list[float]]:
    """Dot products of vectors of length 1, row i and column j; 0 where one is empty."""
    matrix = [[0.0] * len(vectors) for _ in vectors]
    for i, a in enumerate(vectors):
        for j in range(i + 1):
            b = vectors[j]
            matrix[i][j] = matrix[j][i] = math.fsum([a[g] * b[g] for g in a.keys() & b.keys()])
    return matrix


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
    own = math.fsum(weight * weight for vector in vectors for weight in vector.values())
    return (whole - own) / (n * (n - 1))


def word_ngrams(text: str, n: int) -> set[tuple[str, ...]]:
    """The distinct runs of `n` words, lower-cased, punctuation dropped."""
    if n < 1:
        raise ValueError(f"n: {n!r} is not positive")
    words = WORD.findall(text.lower())
    return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}


def jaccard(a: Collection, b: Collection) -> float | None:
    """Shared elements over all elements (Jaccard 1901); None where both are empty."""
    a, b = set(a), set(b)
    return len(a & b) / len(a | b) if a or b else None


def sequence_similarity(a: str, b: str) -> float:
    """difflib's ratio with autojunk=False, the larger of both argument orders: 0 to 1.

    Ratcliff & Obershelp (1988): twice the characters in matching blocks over all characters, the
    longest block first, then the same to its left and to its right. Which of equally long blocks
    comes first depends on the order of the arguments.
    """
    if a == b:
        return 1.0
    runs = _runs(a, b)
    swapped = [(size, j, i) for size, i, j in runs]
    matched = max(_matched(a, b, runs), _matched(b, a, swapped))
    return 2.0 * matched / (len(a) + len(b))


@lru_cache(maxsize=512)
def _index(text: str) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for i in range(len(text) - SEED + 1):
        places.setdefault(text[i : i + SEED], []).append(i)
    return places


def _runs(a: str, b: str) -> list[Run]:
    """All matches of at least SEED characters that can be extended to neither side."""
    of_a, of_b = _index(a), _index(b)
    starts = sorted(
        (j - i, i) for gram in of_a.keys() & of_b.keys() for i in of_a[gram] for j in of_b[gram]
    )
    runs, last, first = [], None, 0
    for shift, i in starts:
        if last != (shift, i - 1):
            if last:
                runs.append((first - last[1] - SEED, first, first + last[0]))
            first = i
        last = shift, i
    if last:
        runs.append((first - last[1] - SEED, first, first + last[0]))
    return runs


def _matched(a: str, b: str, runs: list[Run]) -> int:
    """Characters in matching blocks. Rectangles still to do are kept with the runs inside them."""
    total = 0
    open_rectangles = [(0, len(a), 0, len(b), runs)]
    while open_rectangles:
        a_low, a_high, b_low, b_high, inside = open_rectangles.pop()
        if not inside:
            total += _short_matches(a, b, a_low, a_high, b_low, b_high)
            continue
        size, i, j = min(inside)
        a_end, b_end = i - size, j - size
        total -= size
        if a_low < i and b_low < j:
            open_rectangles.append((a_low, i, b_low, j, _clipped_before(inside, i, j)))
        if a_end < a_high and b_end < b_high:
            rest = _clipped_after(inside, a_end, b_end)
            open_rectangles.append((a_end, a_high, b_end, b_high, rest))
    return total


def _clipped_before(runs: list[Run], a_high: int, b_high: int) -> list[Run]:
    return [
        (max(size, i - a_high, j - b_high), i, j)
        for size, i, j in runs
        if i + SEED <= a_high and j + SEED <= b_high
    ]


def _clipped_after(runs: list[Run], a_low: int, b_low: int) -> list[Run]:
    kept = []
    for size, i, j in runs:
        cut = max(0, a_low - i, b_low - j)
        if size + cut <= -SEED:
            kept.append((size + cut, i + cut, j + cut))
    return kept


def _short_matches(a: str, b: str, a_low: int, a_high: int, b_low: int, b_high: int) -> int:
    """Matched characters where the longest match is of two: the earliest pair in `a` comes first,
    so to its left only single characters are left."""
    total = 0
    find = b.find
    i = a_low
    while i < a_high - 1:
        j = find(a[i : i + 2], b_low, b_high)
        if j < 0:
            i += 1
            continue
        if a_low < i and b_low < j:
            total += _single_matches(a[a_low:i], b, b_low, j)
        total += 2
        i = a_low = i + 2
        b_low = j + 2
    return total + _single_matches(a[a_low:a_high], b, b_low, b_high)


def _single_matches(letters: str, b: str, b_low: int, b_high: int) -> int:
    total = 0
    find = b.find
    for letter in letters:
        j = find(letter, b_low, b_high)
        if j >= 0:
            total += 1
            b_low = j + 1
    return total


class Pair(NamedTuple):
    """Two texts, how alike they are, and how many pairs of the list are this pair."""

    first: str
    second: str
    similarity: float | None
    times: int


def pairwise(
    texts: Sequence[str], similarity: Callable[[str, str], float | None] = sequence_similarity
) -> list[Pair]:
    """All pairs of a list of texts, each distinct pair compared once.

    `times` add up to n(n - 1)/2. Equal texts come as one pair of a text with itself. `similarity`
    is symmetric.
    """
    counts = Counter(texts)
    distinct = list(counts)
    pairs = []
    for i, first in enumerate(distinct):
        if counts[first] > 1:
            times = math.comb(counts[first], 2)
            pairs.append(Pair(first, first, similarity(first, first), times))
        for second in distinct[i + 1 :]:
            times = counts[first] * counts[second]
            pairs.append(Pair(first, second, similarity(first, second), times))
    return pairs
