"""Populations: small rules from what a reader finds in a prompt to the chance that it cooperates.

    chance("sim-correlation", read_cues(prompt.user))      # of the cooperative act

Each demonstrates one account of why an agent may cooperate, or one way of answering badly. They
show what the instrument says of known behaviour, and say nothing about any model.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from cirrus.ask.cues import Cues

UNREADABLE = 0.01    # share of answers that can't be read
LED = 0.6            # log-odds by which the leaning of a declared policy moves its author


class Beliefs(NamedTuple):
    """What a population answers to probes, beside what it reads. `diagnostic`: by how many points
    its own entry moves what it expects of a counterpart that decides now; `influence`: whether it
    thinks that its entry changes the other's."""

    diagnostic: float = 0.0
    influence: bool = False


Missing = tuple[float, float]   # shares that can't be read, and that are cut off


def usual(cues: Cues, cooperates: bool) -> Missing:
    return UNREADABLE, 0.0


class Population(NamedTuple):
    """`chance`: of the cooperative act; `led`: log-odds by which a policy's leaning moves it;
    `missing`: of an answer with this act."""

    does: str
    chance: Callable[[Cues], float]
    led: float = 0.0
    missing: Callable[[Cues, bool], Missing] = usual
    beliefs: Beliefs = Beliefs()


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def logit(p: float) -> float:
    return math.log(p / (1 - p))


# --- rules -------------------------------------------------------------------------------------

# log-odds of an agent that expects its own decision of whoever decides as it does
TWINS = {"same": 3.0, "other": 0.0, "person": -2.0}
# log-odds that adding up gives to how the counterpart's entry is made, or to who makes it
ENTRY = {"earlier": -1.0, "known": -1.0, "other": -0.5, "person": -1.0}
FILED = {"C": 2.5, "D": -2.5}


def correlation(cues: Cues) -> float:
    """Symmetry and cue raise, most where they meet, if the counterpart decides now; the lever
    raises everywhere, by less."""
    if cues.entry in TWINS:
        return logistic(TWINS[cues.entry])
    S, C = cues.symmetric * cues.decides_now, cues.coupled * cues.decides_now
    return logistic(-0.8 + S + 0.7 * C + 1.3 * S * C + 0.4 * cues.lever)


def conformist(cues: Cues) -> float:
    return logistic(-0.6 + 2.3 * cues.symmetric * cues.coupled + 0.1 * cues.lever)


def adder(cues: Cues) -> float:
    return logistic(-1.0 + 1.2 * cues.symmetric + 1.2 * cues.coupled + ENTRY.get(cues.entry, 0.0)
                    + 0.45 * cues.lever)


def reciprocal(cues: Cues) -> float:
    return logistic(FILED.get(cues.peer, 2.5 if cues.entry == "known" else 2.0))


def word(cues: Cues) -> float:
    return logistic(1.6 if cues.cooperative.isupper() else
                    0.8 if cues.cooperative == "Option A" else -0.8)


def position(cues: Cues) -> float:
    return logistic(1.4 if cues.first == cues.cooperative else -1.4)


def always(share: float) -> Callable[[Cues], float]:
    return lambda cues: share


def where(condition: Callable[[Cues], bool], elsewhere: float = 0.5) -> Callable[[Cues], float]:
    """Correlation there, elsewhere the same whatever it reads."""
    return lambda cues: correlation(cues) if condition(cues) else elsewhere


# It expects its own decision of a counterpart that decides now, and nothing else.
EXPECTS = Beliefs(diagnostic=60)

POPULATIONS: dict[str, Population] = {
    "sim-correlation": Population(
        "symmetry and cue raise cooperation, most together, where the counterpart decides now",
        correlation, led=LED, beliefs=EXPECTS),
    "sim-conformist": Population(
        "follows the cue where peers are alike, however the entry is made", conformist),
    "sim-adder": Population("symmetry, cue, entry and payoff add up in log-odds", adder),
    "sim-coin": Population("ignores everything", always(0.5)),
    "sim-compliance": Population(
        "follows H alone", lambda cues: logistic(-0.4 + 2.4 * (cues.H == "high")), led=LED),
    "sim-compliance-cued": Population(
        "as sim-correlation, only where H is high",
        where(lambda cues: cues.H == "high", logistic(-0.2)), led=LED),
    "sim-reciprocal": Population("cooperates first, then mirrors what was filed", reciprocal,
                                 beliefs=Beliefs(influence=True)),
    "sim-label": Population("likes the word", word),
    "sim-position": Population("takes the first option", position),
    "sim-tells": Population("as sim-correlation, only with standard tells", where(
        lambda cues: cues.tells == "standard"), led=LED, beliefs=EXPECTS),
    "sim-domain": Population("as sim-correlation, only in cvd", where(
        lambda cues: cues.domain == "cvd"), led=LED, beliefs=EXPECTS),
    "sim-overfit": Population("as sim-correlation, only on main variants", where(
        lambda cues: cues.main), led=LED, beliefs=EXPECTS),
    "sim-always-coordinate": Population("always cooperates", always(1.0)),
    "sim-always-preempt": Population("never cooperates", always(0.0)),
    "sim-sloppy": Population("unreadable where the cue is present", always(0.5), missing=(
        lambda cues, cooperates: (0.30 if cues.coupled else 0.02, 0.0))),
    "sim-truncating": Population("cut off where symmetry is high", always(0.5), missing=(
        lambda cues, cooperates: (UNREADABLE, 0.25 if cues.symmetric else 0.01))),
    "sim-copycat": Population(
        "writes identical policies where the cue is present", always(0.5)),
}


def chance(name: str, cues: Cues) -> float:
    """P(cooperate) of population `name` in this prompt."""
    agent = POPULATIONS[name]
    p = agent.chance(cues)
    return logistic(logit(p) + agent.led * cues.leaning) if agent.led and cues.leaning else p
