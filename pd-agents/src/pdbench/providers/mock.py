"""A stand-in for a model: deterministic, offline, and never to be mistaken for one.

It knows nothing but the prompt, as a model would. Everything it plays is stamped SIMULATED.
"""

import json
import re
from collections.abc import Callable
from random import Random

from pdbench.config.schema import Mock
from pdbench.core.rng import stream
from pdbench.core.types import C, D

UNREADABLE = ("I cooperate.", "C or D?", "Option C", "defect", "")
OTHERS_MOVE = re.compile(r"other player played ([CD])\b")


def _copycat(_mock: Mock, prompt: str, _rng: Random, _call: int) -> str:
    moves = OTHERS_MOVE.findall(prompt)
    return moves[-1] if moves else C


STRATEGIES: dict[str, Callable[[Mock, str, Random, int], str]] = {
    "C": lambda mock, prompt, rng, call: C,
    "D": lambda mock, prompt, rng, call: D,
    "coin": lambda mock, prompt, rng, call: C if rng.random() < mock.p_cooperate else D,
    "copycat": _copycat,
    "script": lambda mock, prompt, rng, call: mock.script[call % len(mock.script)],
}


class MockProvider:
    """Answers from a table of strategies; `calls` were made before a resumed match stopped."""

    def __init__(
        self, mock: Mock, answer_format: str, seed: int, calls: int = 0
    ) -> None:
        self._mock, self._format, self._seed, self.calls = (
            mock,
            answer_format,
            seed,
            calls,
        )

    def complete(
        self, *, system: str, prompt: str, temperature: float, max_tokens: int
    ) -> str:
        """The answer to the next call: a function of the seed, the call's number and the prompt.

        A script's lines are given as they stand, whatever the format.
        """
        call, self.calls = self.calls, self.calls + 1
        rng = stream(self._seed, call)
        if rng.random() < self._mock.invalid_rate:
            return rng.choice(UNREADABLE)
        answer = STRATEGIES[self._mock.strategy](self._mock, prompt, rng, call)
        if self._mock.strategy != "script" and self._format == "json":
            return json.dumps({"action": answer})
        return answer
