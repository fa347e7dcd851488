"""A language model at the table: render, ask, read, and ask again where the answer is invalid."""

from collections.abc import Callable

from pdbench.agents.base import Attempt, InvalidAnswer, Turn
from pdbench.agents.prompting import (
    INSTRUCTIONS,
    Prompts,
    correction,
    round_values,
    static_values,
    tidy,
)
from pdbench.config.schema import Game, Horizon, LLMSpec
from pdbench.core.logging import hide
from pdbench.core.parse import PARSERS
from pdbench.core.transcript import Observation
from pdbench.core.types import Action, Seat
from pdbench.providers.base import ProviderClient


class LLMAgent:
    """A model in one seat of one match. `turn` is what its last `act` asked and read.

    `charge` is called with the dollars of every call, None where they are not known.
    """

    def __init__(
        self,
        spec: LLMSpec,
        prompts: Prompts,
        provider: ProviderClient,
        game: Game,
        horizon: Horizon,
        seat: Seat,
        charge: Callable[[float | None], None],
    ) -> None:
        self._charge = charge
        self._spec, self._round, self._provider = spec, prompts.round, provider
        self._values = static_values(prompts, spec, game, horizon, seat)
        self._system = tidy(prompts.system.format(**self._values))
        self.turn: Turn | None = None

    def reset(self, seed: int | None = None) -> None:
        """A model has no state beyond the transcript, and no seed that a server would honour."""
        self.turn = None

    def act(self, obs: Observation) -> Action:
        """Ask until an answer can be read; InvalidAnswer after 1 + max_retries attempts."""
        attempts: list[Attempt] = []
        base = prompt = self.render(obs)
        output = self._spec.output
        for number in range(1, output.max_retries + 2):
            attempt = self._ask(prompt)
            attempts.append(attempt)
            self.turn = Turn(self._system, tuple(attempts))
            if attempt.action:
                return attempt.action
            instruction = INSTRUCTIONS[output.format]
            prompt = correction(base, attempt.problem, number, instruction)
        raise InvalidAnswer

    def render(self, obs: Observation) -> str:
        """The round's prompt: a function of the configuration and the transcript alone."""
        return tidy(self._round.format(**self._values, **round_values(self._spec, obs)))

    def _ask(self, prompt: str) -> Attempt:
        decoding = self._spec.decoding
        answer = self._provider.complete(
            system=self._system,
            prompt=prompt,
            temperature=decoding.temperature,
            max_tokens=decoding.max_tokens,
        )
        raw = hide(answer)
        read = PARSERS[self._spec.output.format](raw)
        cost = self._provider.cost_usd
        self._charge(cost)
        return Attempt(prompt, raw, read.action, read.problem, cost)
