"""Weak labels: what six labelling functions say together, weighed by how they agree.

    weights = fit(texts)                     # {family: {function: Weight}}
    label(weights, "acausal", text)          # True, False, or None: a tie, or no opinion at all

Accuracy by the method of moments of data programming (Ratner et al. 2017; the closed form of Fu et
al. 2020). For functions that err independently given the truth Y, E[λi·λj] = a_i·a_j with
a_i = E[λi·Y], so a_i = √|M_ij·M_ik / M_jk| for any two others j, k; M_ij is the mean product of
votes over the texts where both have an opinion. a_i is the median over the pairs (j, k) whose
moments are known. Functions are taken to be better than chance (a > 0). A vote counts with the log
odds of its function being right, w = ½·ln((1+a)/(1−a)), and the label is the sign of the sum.

The functions read the same words, so their errors are not independent and the accuracies flatter
them. That is why no weak label enters a claim before other readers have agreed with it.
"""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from cirrus.codebook import FAMILIES
from cirrus.markers import KINDS, votes

MIN_SHARED = 10      # texts on which two functions must both have an opinion
MIN_MOMENT = 0.05    # a smaller mean product says nothing about a third function
USUAL = 0.5          # accuracy a (three of four votes right) where moments are lacking
BOUNDS = (0.05, 0.95)
TIE = 1e-9


class Weight(NamedTuple):
    """One labelling function in one family. `accuracy`: a = 2·P(right) − 1; `why`: in words where
    it could not be estimated. Counts are of texts."""

    accuracy: float
    weight: float
    present: int
    absent: int
    no_opinion: int
    why: str | None


Weights = Mapping[str, Mapping[str, Weight]]


def fit(texts: Iterable[str]) -> dict[str, dict[str, Weight]]:
    """The weight of every labelling function, from its votes on `texts`."""
    cast = [votes(text) for text in texts]
    return {family: weigh([own[family] for own in cast]) for family in FAMILIES}


def weigh(rows: Sequence[Sequence[int]], names: Sequence[str] = KINDS) -> dict[str, Weight]:
    """`rows`: one text each, a vote of 1, 0 or -1 a function."""
    moments = {pair: _moment(rows, *pair) for pair in combinations(range(len(names)), 2)}
    out = {}
    for i, name in enumerate(names):
        cast = [row[i] for row in rows]
        found = accuracy(moments, i, len(names))
        a = USUAL if found is None else min(max(found, BOUNDS[0]), BOUNDS[1])
        out[name] = Weight(a, 0.5 * math.log((1 + a) / (1 - a)), cast.count(1), cast.count(-1),
                           cast.count(0), None if found is not None else
                           f"too few texts shared with two other functions: {USUAL} assumed")
    return out


def _moment(rows: Sequence[Sequence[int]], i: int, j: int) -> float | None:
    products = [row[i] * row[j] for row in rows if row[i] and row[j]]
    return sum(products) / len(products) if len(products) >= MIN_SHARED else None


def accuracy(moments: Mapping[tuple[int, int], float | None], i: int, n: int) -> float | None:
    """a_i, the median over all pairs of other functions; None where no triple is known."""
    def moment(j: int, k: int) -> float | None:
        return moments[min(j, k), max(j, k)]

    found = []
    for j, k in combinations([other for other in range(n) if other != i], 2):
        three = moment(i, j), moment(i, k), moment(j, k)
        if None not in three and abs(three[2]) >= MIN_MOMENT:
            found.append(math.sqrt(abs(three[0] * three[1] / three[2])))
    return statistics.median(found) if found else None


def label(weights: Weights, family: str, text: str) -> bool | None:
    """The weighted majority on one text; None where it is a tie."""
    return majority(votes(text)[family], [weights[family][kind].weight for kind in KINDS])


def majority(cast: Sequence[int], weights: Sequence[float]) -> bool | None:
    total = math.fsum(vote * weight for vote, weight in zip(cast, weights, strict=True))
    return None if abs(total) < TIE else total > 0


def labels(weights: Weights, text: str) -> dict[str, bool | None]:
    """{family: the weak label of a text}."""
    return {family: label(weights, family, text) for family in FAMILIES}
