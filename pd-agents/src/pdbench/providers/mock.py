"""A stand-in for a model: deterministic, offline, and never to be mistaken for one.

It knows nothing but the prompt, as a model would. Everything it plays is stamped SIMULATED.
"""

import json
import re

from pdbench.config.schema import Mock
from pdbench.core.rng import stream
from pdbench.core.types import C, D

UNREADABLE = ("I cooperate.", "C or D?", "Option C", "defect", "")
OTHERS_MOVE = re.compile(r"other player played ([CD])\b")


class MockProvider:
    """Answers by `mock.strategy`; the same calls from the same seed give the same answers.

    `C`, `D`: always that. `coin`: C with probability `p_cooperate`. `copycat`: the other
    player's last move that the prompt tells of, C where it tells of none. `script`: its lines
    in order, and from the start again; they are given as they stand, whatever the format.
    """

    cost_usd = 0.0

    def __init__(self, mock: Mock, answer_format: str, seed: int) -> None:
        self._mock, self._format, self._seed = mock, answer_format, seed
        self._calls = 0

    def complete(
        self,
        *,
        system: str,
        prompt: str,
        temperature: float | None,
        max_tokens: int | None,
    ) -> str:
        """The answer to the next call; an unreadable one with probability `invalid_rate`."""
        call = self._calls
        self._calls += 1
        rng = stream(self._seed, call)
        if rng.random() < self._mock.invalid_rate:
            return rng.choice(UNREADABLE)
        if self._mock.strategy == "script":
            return self._mock.script[call % len(self._mock.script)]
        action = self._action(prompt, rng.random())
        if self._format == "json":
            return json.dumps({"action": action})
        return action

    def _action(self, prompt: str, draw: float) -> str:
        if self._mock.strategy == "coin":
            return C if draw < self._mock.p_cooperate else D
        if self._mock.strategy == "copycat":
            moves = OTHERS_MOVE.findall(prompt)
            return moves[-1] if moves else C
        return self._mock.strategy
