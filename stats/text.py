"""How alike texts are: by character TF-IDF, word n-grams, and difflib's ratio."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from difflib import SequenceMatcher
from itertools import chain
from math import fsum, log, sqrt
from typing import Any, TypeVar

Vector = Mapping[str, float]
Run = TypeVar("Run", str, tuple[str, ...])

WHITE = re.compile(r"\s\s+")
WORD = re.compile(r"\w+(?:['’]\w+)*")


def char_tfidf(
    texts: Sequence[str], low: int = 3, high: int = 5
) -> list[dict[str, float]]:
    """A vector of length 1 for each text, over its runs of `low` to `high` characters (Salton &
    Buckley 1988).

    Text is lower-cased, and a run of white space becomes one blank. A weight is count × (ln((1 +
    N)/(1 + df)) + 1), scikit-learn's default: N is the number of texts, df how many of them have
    the run. A text shorter than `low` has an empty vector.
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
    """How often each run of `low` to `high` characters occurs in the text."""
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
    return max(_ratio(a, b), _ratio(b, a))


def _ratio(a: str, b: str) -> float:
    return SequenceMatcher(None, a, b, autojunk=False).ratio()
