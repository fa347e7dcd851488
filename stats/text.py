"""How alike texts are: character TF-IDF, word n-grams, difflib's ratio."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence, Set
from difflib import SequenceMatcher

Vector = Mapping[str, float]

WHITE = re.compile(r"\s\s+")
WORD = re.compile(r"\w+(?:['’]\w+)*")


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
    return max(SequenceMatcher(None, *pair, autojunk=False).ratio() for pair in ((a, b), (b, a)))
