"""Six classic policies, each a small function that makes the deciding function of one match.

All see actions as played (after noise). Names and behaviour follow the literature:
TFT: Axelrod, The Evolution of Cooperation, 1984. GRIM: Friedman, Rev. Econ. Stud. 38, 1971.
GTFT: Nowak, Sigmund, Nature 355, 1992. WSLS (Pavlov): Nowak, Sigmund, Nature 364, 1993.
"""

from collections.abc import Callable
from random import Random

from pdbench.core.types import Action, C, D, Observation

Decide = Callable[[Observation], Action]

DEFAULT_GENEROUS_PROB = 0.1


def allc(_rng: Random, _generous_prob: float, _win_threshold: float) -> Decide:
    """Always cooperate."""
    return lambda obs: C


def alld(_rng: Random, _generous_prob: float, _win_threshold: float) -> Decide:
    """Always defect."""
    return lambda obs: D


def tft(_rng: Random, _generous_prob: float, _win_threshold: float) -> Decide:
    """Cooperate first, then repeat the opponent's last action."""
    return lambda obs: obs.opponent_actions[-1] if obs.opponent_actions else C


def grim(_rng: Random, _generous_prob: float, _win_threshold: float) -> Decide:
    """Cooperate until the opponent defects once, then defect for ever."""
    triggered = False

    def decide(obs: Observation) -> Action:
        nonlocal triggered
        triggered = triggered or (
            bool(obs.opponent_actions) and obs.opponent_actions[-1] == D
        )
        return D if triggered else C

    return decide


def gtft(rng: Random, generous_prob: float, _win_threshold: float) -> Decide:
    """As TFT, but answer a defection with C with probability generous_prob."""

    def decide(obs: Observation) -> Action:
        if not obs.opponent_actions or obs.opponent_actions[-1] == C:
            return C
        return C if rng.random() < generous_prob else D

    return decide


def wsls(_rng: Random, _generous_prob: float, win_threshold: float) -> Decide:
    """Cooperate first; repeat the last action if it paid at least win_threshold, else switch."""

    def decide(obs: Observation) -> Action:
        if not obs.own_actions:
            return C
        last = obs.own_actions[-1]
        if obs.own_payoffs[-1] >= win_threshold:
            return last
        return D if last == C else C

    return decide


POLICIES: dict[str, Callable[[Random, float, float], Decide]] = {
    "ALLC": allc,
    "ALLD": alld,
    "TFT": tft,
    "GRIM": grim,
    "GTFT": gtft,
    "WSLS": wsls,
}


class PolicyAgent:
    """A policy by name. `win_threshold` is in points (WSLS), `generous_prob` in 0…1 (GTFT)."""

    turn = None

    def __init__(
        self,
        policy: str,
        *,
        win_threshold: float,
        generous_prob: float = DEFAULT_GENEROUS_PROB,
    ) -> None:
        self._make = POLICIES[policy]
        self._parameters = (generous_prob, win_threshold)
        self.reset()

    def reset(self, seed: int | None = None) -> None:
        """Start a new match; GTFT forgives by draws from `seed`."""
        self.act: Decide = self._make(Random(seed), *self._parameters)
