"""A language model at the table: render, ask, read, and ask again where the answer is invalid."""

from collections import deque
from collections.abc import Iterable

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
from pdbench.core.parse import PARSERS
from pdbench.core.types import Action, Observation, Seat
from pdbench.providers.base import ProviderClient


class LLMAgent:
    """A model in one seat of one match.

    `recorded` are the actions it chose before the match was interrupted: they are given again
    without asking, so that a resumed match pays for nothing twice.
    """

    def __init__(
        self,
        spec: LLMSpec,
        prompts: Prompts,
        provider: ProviderClient,
        game: Game,
        horizon: Horizon,
        seat: Seat,
        recorded: Iterable[Action] = (),
    ) -> None:
        self._spec, self._round, self._provider = spec, prompts.round, provider
        self._values = static_values(prompts, spec, game, horizon, seat)
        self._system = tidy(prompts.system.format(**self._values))
        self._recorded = deque(recorded)
        self.turn: Turn | None = None

    def reset(self, seed: int | None = None) -> None:
        """A model has no state beyond the transcript, and no seed that a server would honour."""
        self.turn = None

    def act(self, obs: Observation) -> Action:
        """Ask until an answer can be read; InvalidAnswer after 1 + max_retries attempts."""
        if self._recorded:
            return self._recorded.popleft()
        attempts: list[Attempt] = []
        prompt = base = self.render(obs)
        for number in range(1, self._spec.output.max_retries + 2):
            attempt = self._ask(prompt)
            attempts.append(attempt)
            self.turn = Turn(self._system, tuple(attempts))
            if attempt.action:
                return attempt.action
            instruction = INSTRUCTIONS[self._spec.output.format]
            prompt = correction(base, attempt.problem, number, instruction)
        raise InvalidAnswer

    def render(self, obs: Observation) -> str:
        """The round's prompt: a function of the configuration and the transcript alone."""
        return tidy(self._round.format(**self._values, **round_values(self._spec, obs)))

    def _ask(self, prompt: str) -> Attempt:
        raw = self._provider.complete(
            system=self._system,
            prompt=prompt,
            temperature=self._spec.decoding.temperature,
            max_tokens=self._spec.decoding.max_tokens,
        )
        return Attempt(prompt, raw, *PARSERS[self._spec.output.format](raw))
