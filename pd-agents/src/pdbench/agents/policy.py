"""Six classic policies, and policies from a file of one's own.

All see actions as they counted (after noise). Names and behaviour follow the literature:
TFT: Axelrod, The Evolution of Cooperation, 1984. GRIM: Friedman, Rev. Econ. Stud. 38, 1971.
GTFT: Nowak, Sigmund, Nature 355, 1992. WSLS (Pavlov): Nowak, Sigmund, Nature 364, 1993.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from pdbench.core.transcript import Observation
from pdbench.core.types import Action, C, D

DEFAULT_GENEROUS_PROB = 0.1


class PolicyAgent:
    """A classic policy. `generous_prob` is GTFT's alone; `win_threshold`, in points, WSLS's."""

    def __init__(
        self, generous_prob: float = DEFAULT_GENEROUS_PROB, win_threshold: float = 3.0
    ) -> None:
        self.generous_prob = generous_prob
        self.win_threshold = win_threshold
        self.reset()

    def reset(self, seed: int | None = None) -> None:
        """Start a new match; only GTFT draws from `seed`."""
        self.random = Random(seed)

    def act(self, obs: Observation) -> Action:
        """Each policy says how."""
        raise NotImplementedError


class AllC(PolicyAgent):
    """Always cooperate."""

    def act(self, obs: Observation) -> Action:
        """C."""
        return C


class AllD(PolicyAgent):
    """Always defect."""

    def act(self, obs: Observation) -> Action:
        """D."""
        return D


class TitForTat(PolicyAgent):
    """Cooperate first, then copy the opponent's previous action."""

    def act(self, obs: Observation) -> Action:
        """C, then the opponent's last action."""
        if not obs.opponent_actions:
            return C
        return obs.opponent_actions[-1]


class GrimTrigger(PolicyAgent):
    """Cooperate until the opponent defects once, then defect for ever."""

    def reset(self, seed: int | None = None) -> None:
        """The trigger is set back with the match."""
        super().reset(seed)
        self.triggered = False

    def act(self, obs: Observation) -> Action:
        """C until an opponent's D was seen."""
        if obs.opponent_actions and obs.opponent_actions[-1] == D:
            self.triggered = True
        return D if self.triggered else C


class GenerousTitForTat(PolicyAgent):
    """As TitForTat, but answer a defection with C with probability `generous_prob`."""

    def act(self, obs: Observation) -> Action:
        """C after C; after D a draw decides."""
        if not obs.opponent_actions or obs.opponent_actions[-1] == C:
            return C
        forgives = self.random.random() < self.generous_prob
        return C if forgives else D


class WinStayLoseShift(PolicyAgent):
    """Cooperate first; repeat an action that paid at least `win_threshold`, else switch."""

    def act(self, obs: Observation) -> Action:
        """The last action again if it won, the other one if it lost."""
        if not obs.own_actions:
            return C
        last = obs.own_actions[-1]
        if obs.own_payoffs[-1] >= self.win_threshold:
            return last
        return D if last == C else C


POLICIES: dict[str, type[PolicyAgent]] = {
    "ALLC": AllC,
    "ALLD": AllD,
    "TFT": TitForTat,
    "GRIM": GrimTrigger,
    "GTFT": GenerousTitForTat,
    "WSLS": WinStayLoseShift,
}


class OwnPolicy:
    """A class of the user's, made to look like an agent; its answers are checked."""

    def __init__(self, kind: Callable[[], Any]) -> None:
        self._player = kind()

    def reset(self, seed: int | None = None) -> None:
        """Call its `reset`, where it has one."""
        if hasattr(self._player, "reset"):
            self._player.reset(seed)

    def act(self, obs: Observation) -> Action:
        """Its answer; ValueError where that is neither "C" nor "D"."""
        action = self._player.act(obs)
        if action not in (C, D):
            raise ValueError(f'act() should return "C" or "D", not {action!r}')
        return action
