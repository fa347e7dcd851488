"""How alike texts are: character TF-IDF, word n-grams, difflib's ratio."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from typing import NamedTuple

Vector = Mapping[str, float]
Run = tuple[int, int, int]  # minus its length, start in a, start in b: the least is the best
Rectangle = tuple[int, int, int, int, list[Run]]  # from … to in a, from … to in b, runs inside

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
    a, b = (x if isinstance(x, Set) else set(x) for x in (a, b))
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
    return 2.0 * max(_matched(a, b)) / (len(a) + len(b))


@lru_cache(maxsize=512)
def _index(text: str) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for i in range(len(text) - SEED + 1):
        gram = text[i : i + SEED]
        if gram in places:
            places[gram].append(i)
        else:
            places[gram] = [i]
    return places


def _runs(a: str, b: str) -> list[Run]:
    """All matches of at least SEED characters that can be extended to neither side."""
    of_a, of_b, row = _index(a), _index(b), len(b) + 1
    starts = {
        i * row + j for gram in of_a.keys() & of_b.keys() for j in of_b[gram] for i in of_a[gram]
    }
    step, runs = row + 1, []  # one character on in both
    for start in starts:
        if start - step not in starts:
            end = start + step
            while end in starts:
                end += step
            runs.append((1 - SEED - (end - start) // step, *divmod(start, row)))
    return runs


def _matched(a: str, b: str) -> tuple[int, int]:
    """Characters in matching blocks, with `a` first and with `b` first: one way through both while
    the longest block is the same. Rectangles still to do are kept with the runs inside them."""
    ahead = behind = 0
    rectangles = [(0, len(a), 0, len(b), _runs(a, b))]
    while rectangles:
        rectangle = rectangles.pop()
        inside = rectangle[-1]
        if not inside or _disputed(inside):
            ahead += _one_way(a, b, rectangle)
            behind += _one_way(b, a, _turned(rectangle))
            continue
        size, *_ = block = min(inside)
        ahead -= size
        behind -= size
        rectangles += _around(block, rectangle)
    return ahead, behind


def _disputed(runs: list[Run]) -> bool:
    """Do the two orders begin with different blocks?"""
    size, i, j = min(runs)
    return any(n == size and (k < j or (k == j and h < i)) for n, h, k in runs)


def _turned(rectangle: Rectangle) -> Rectangle:
    a_low, a_high, b_low, b_high, runs = rectangle
    return b_low, b_high, a_low, a_high, [(size, j, i) for size, i, j in runs]


def _one_way(a: str, b: str, rectangle: Rectangle) -> int:
    """Characters in matching blocks of a rectangle, with `a` first."""
    total = 0
    rectangles = [rectangle]
    while rectangles:
        rectangle = rectangles.pop()
        a_low, a_high, b_low, b_high, inside = rectangle
        if inside:
            block = min(inside)
            total -= block[0]
            rectangles += _around(block, rectangle)
        elif a_low < a_high and b_low < b_high:
            total += _short_matches(a[a_low:a_high], b[b_low:b_high])
    return total


def _around(block: Run, rectangle: Rectangle) -> Iterator[Rectangle]:
    """The rectangles before and after a block."""
    size, i, j = block
    a_low, a_high, b_low, b_high, inside = rectangle
    a_end, b_end = i - size, j - size
    if a_low < i and b_low < j:
        yield a_low, i, b_low, j, _clipped_before(inside, i, j)
    if a_end < a_high and b_end < b_high:
        yield a_end, a_high, b_end, b_high, _clipped_after(inside, a_end, b_end)


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


@lru_cache(maxsize=1 << 14)
def _short_matches(a: str, b: str) -> int:
    """Matched characters where the longest match is of two: the earliest pair in `a` comes first,
    so to its left only single characters are left."""
    total = low = b_low = i = 0
    while i < len(a) - 1:
        j = b.find(a[i : i + 2], b_low)
        if j < 0:
            i += 1
            continue
        total += 2 + _single_matches(a[low:i], b[b_low:j])
        i = low = i + 2
        b_low = j + 2
    return total + _single_matches(a[low:], b[b_low:])


def _single_matches(letters: str, b: str) -> int:
    total = low = 0
    for letter in letters:
        j = b.find(letter, low)
        if j >= 0:
            total += 1
            low = j + 1
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
