"""Do agents' policies converge? Mean TF-IDF cosines within a cell and between cells.

Character 3- to 5-grams, weighed over the policies that answer one bulletin (seed, domain, round);
means over all pairs from the norms of summed vectors, so that no pair is formed.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import stats

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
