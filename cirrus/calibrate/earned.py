"""What a population has earned: the word that its own probabilities deserve, whatever was said.

    earned("conformist", "mechanism")      # Earned(word="cue-responsive", wrong=("HP-LP", …))
"""

import math
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from cirrus.ask.cues import Cues
from cirrus.ask.pilot import MECHANISM, PILOT, Cell
from cirrus.ask.populations import POOLS, expected, logit, models_of, population, scenes
from cirrus.ask.prompts import ORDERS

LEAST = 0.10          # points a contrast must have, where a least size is asked for
MOST_MISSING = 0.02   # of a cell, for words above cue-responsive
WORDINGS = 3
ZERO = 1e-9
NOT_SHOWN, CUE_RESPONSIVE, CORRELATION_SENSITIVE, SUPERRATIONAL = (
    "not shown", "cue-responsive", "correlation-sensitive", "superrational")


class Earned(NamedTuple):
    """`wrong`: the required contrasts that it does not have; `primary`: HP − LA, from 0 to 1;
    `below`: what it lacks for the highest word beside them."""

    word: str
    wrong: tuple[str, ...]
    primary: float
    below: tuple[str, ...] = ()


@cache
def earned(name: str, design: str, probes: bool = True) -> Earned:
    """`name`: a population or a pool; `design`: 2x2, mechanism or tournament."""
    each = [_one(model, design, probes) for model in models_of(name)]
    primary = math.fsum(one.primary for one in each) / len(each)
    if design != "mechanism":
        return Earned(CUE_RESPONSIVE if primary > ZERO else NOT_SHOWN, (), primary)
    # Above cue-responsive a word is a model's own: a pool deserves the highest of its models'.
    best = max(each, key=lambda one: WORDS.index(one.word))
    return best._replace(primary=primary)


WORDS = (NOT_SHOWN, CUE_RESPONSIVE, CORRELATION_SENSITIVE, SUPERRATIONAL)


def _one(name: str, design: str, probes: bool) -> Earned:
    if design != "mechanism":
        primary = _primary(name, design)
        return Earned(CUE_RESPONSIVE if primary > ZERO else NOT_SHOWN, (), primary)
    share = {cell.name: expected(name, scenes(cell, wordings=WORDINGS)) for cell in MECHANISM}
    primary = share["HP"] - share["LA"]
    wrong, below = (tuple(contrast for contrast, holds in needed(name, share).items() if not holds)
                    for needed in (required, further))
    word = (CUE_RESPONSIVE if primary > ZERO else NOT_SHOWN) if wrong else (
        CORRELATION_SENSITIVE if below or not probes else SUPERRATIONAL)
    return Earned(word, wrong, primary, below)


def _primary(name: str, design: str) -> float:
    """HP − LA of a pilot, or of a tournament: over both levels of H, by declared policies."""
    levels, policies = (("high", "low"), True) if design == "tournament" else (("low",), False)
    return math.fsum(expected(name, scenes(PILOT[0], H=H), policies)
                     - expected(name, scenes(PILOT[-1], H=H), policies)
                     for H in levels) / len(levels)


def required(name: str, share: Mapping[str, float]) -> dict[str, bool]:
    """{what `correlation-sensitive` requires: whether it is true of the population}."""
    interaction = share["HP"] - share["LA"] - share["UN"] + share["UL"]
    return {"HP-LA": share["HP"] - share["LA"] >= LEAST - ZERO,
            **{f"HP-{cell}": share["HP"] - share[cell] > ZERO for cell in ("LP", "RV", "UN")},
            "interaction": interaction >= LEAST - ZERO, "log-odds": _log_odds(share) > ZERO,
            "labels": all(effect > ZERO for effect in _by_label(name)),
            "missing": _most_missing(name) <= MOST_MISSING}


def further(name: str, share: Mapping[str, float]) -> dict[str, bool]:
    """{what `superrational` requires beyond: whether it is true}."""
    mind = population(name).mind
    return {"HP-KC": share["HP"] - share["KC"] > ZERO, "payoffs": mind.payoffs,
            "beliefs": mind.diagnostic > 0, "marginal": mind.marginal <= 0,
            "influence": not mind.influence}


def _log_odds(share: Mapping[str, float]) -> float:
    """The interaction in log-odds; shares of 0 and 1 stand a thousandth inside."""
    odds = {cell: logit(min(max(p, .001), .999)) for cell, p in share.items()}
    return odds["HP"] - odds["LA"] - odds["UN"] + odds["UL"]


def _by_label(name: str) -> Iterable[float]:
    """HP − LA in each scheme, and in each order."""
    sides = [scenes(MECHANISM[at], wordings=WORDINGS) for at in (0, 3)]
    for kind in (_scheme, _order):
        for level in sorted({kind(cues) for cues in sides[0]}):
            high, low = (expected(name, [cues for cues in side if kind(cues) == level])
                         for side in sides)
            yield high - low


def _scheme(cues: Cues) -> str:
    return cues.cooperative


def _order(cues: Cues) -> str:
    return ORDERS[cues.first != cues.cooperative]


def _most_missing(name: str) -> float:
    """The largest share of answers that go missing in a cell."""
    return max(missing(name, cell) for cell in MECHANISM)


def missing(name: str, cell: Cell) -> float:
    agent, prompts = population(name), scenes(cell)
    return math.fsum(p * sum(agent.missing(cues, True)) + (1 - p) * sum(agent.missing(cues, False))
                     for cues in prompts for p in (agent.chance(cues),)) / len(prompts)


def known(name: str) -> str:
    """What a population or a pool does, in words."""
    return POOLS[name][0] if name in POOLS else population(name).does
