"""The game of CIRRUS-24 as pure functions: payoffs, power, scores, schedule, ids, baselines.

Acts are "C" (the cooperative one) and "D" (the other); None is an act that could not be read.

>>> payoffs("D", "C")
(5, 0)
"""

import hashlib
import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

Act = str | None


class Matrix(NamedTuple):
    """Payoffs of one game: temptation, reward, punishment, sucker's."""

    T: float = 5
    R: float = 3
    P: float = 1
    S: float = 0


MATRIX = Matrix()
ETA = 0.02                    # step of a power update
POWER_MIN, POWER_MAX = 0.9, 1.1
START_POWER, START_SCORE = 1.0, 0.0
# From best to worst: the status of a game is the worse of its two answers.
STATUSES = ("ok", "wrong_label", "ambiguous", "refused", "unreadable", "truncated", "empty",
            "blocked", "provider_error", "not_run")


def payoffs(a: Act, b: Act) -> tuple[float, float] | None:
    """What the two acts earn their agents; None without two readable acts."""
    if a is None or b is None:
        return None
    T, R, P, S = MATRIX
    return {"CC": (R, R), "CD": (S, T), "DC": (T, S), "DD": (P, P)}[a + b]


def worse(a: str, b: str) -> str:
    """The worse of two statuses."""
    return max(a, b, key=STATUSES.index)


# --- power and score ---------------------------------------------------------------------------

class Standing(NamedTuple):
    """An agent's power (0.9 to 1.1), score (nats) and games with payoffs, so far."""

    power: float = START_POWER
    score: float = START_SCORE
    games: int = 0


def after_wave(standings: Mapping[str, Standing],
               earned: Mapping[str, Sequence[float]]) -> dict[str, Standing]:
    """Standings after a wave in which agents `earned` these payoffs (none: power stays).

    power ← clip(power·exp(η(π−π̄)), 0.9, 1.1), π the agent's mean payoff in the wave and π̄ the
    mean over agents; score += ln(1+power·π) for each game, with the power before the wave.
    """
    means = {agent: math.fsum(games) / len(games) for agent, games in earned.items() if games}
    average = math.fsum(means.values()) / len(means) if means else 0.0
    return {agent: _after(before, earned.get(agent, ()), means.get(agent, average) - average)
            for agent, before in standings.items()}


def _after(before: Standing, earned: Sequence[float], ahead: float) -> Standing:
    power = min(POWER_MAX, max(POWER_MIN, before.power * math.exp(ETA * ahead)))
    gains = [math.log(1 + before.power * payoff) for payoff in earned]
    return Standing(power, math.fsum([before.score, *gains]), before.games + len(earned))


# --- schedule ----------------------------------------------------------------------------------

def round_robin(rng: random.Random, agents: Sequence[str]) -> list[tuple[str, str]]:
    """Every pair once, by the circle method over permuted seats: n/2 disjoint pairs in a row.

    An agent is as often first as second in its pairs, give or take one.
    """
    seats = rng.sample(agents, len(agents))
    place = {agent: at for at, agent in enumerate(seats)}
    ring: list[str | None] = seats + [None] * (len(seats) % 2)
    pairs = []
    for _ in range(len(ring) - 1):
        half = len(ring) // 2
        meets = zip(ring[:half], reversed(ring[half:]), strict=True)
        pairs += [_seated(a, b, place) for a, b in meets if a is not None and b is not None]
        ring = [ring[0], ring[-1], *ring[1:-1]]
    return pairs


def _seated(a: str, b: str, place: Mapping[str, int]) -> tuple[str, str]:
    """The pair in the order that gives each agent half of its pairs as first."""
    n, ahead = len(place), (place[b] - place[a]) % len(place)
    first = ahead < n - ahead or (2 * ahead == n and place[a] < place[b])
    return (a, b) if first else (b, a)


def anonymous_id(salt: str, agent: str) -> str:
    """What an agent is called in one round: SHA-256 (hex) of the round's salt and its stable id."""
    return hashlib.sha256((salt + agent).encode()).hexdigest()


# --- baselines ---------------------------------------------------------------------------------

def _tit_for_tat(mine: Sequence[Act], peer: Sequence[Act]) -> str:
    """Cooperates, then does what the peer did last, as far as it could be read."""
    return next((act for act in reversed(peer) if act), "C")


# name → act, given own and peer's acts against this peer in this round, oldest first
BASELINES: dict[str, Callable[[Sequence[Act], Sequence[Act]], str]] = {
    "AlwaysC": lambda mine, peer: "C",
    "AlwaysD": lambda mine, peer: "D",
    "TitForTat": _tit_for_tat,
    "GrimTrigger": lambda mine, peer: "D" if "D" in peer else "C",
}
