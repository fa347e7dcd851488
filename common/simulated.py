"""A provider that answers from a table of functions, without network, key or cost.

A respondent is `answer(request, rng) -> text` or `-> (text, finish_reason)`. It reads the same
rendered prompt as a model would; `rng` is a stream of the run's seed and the request's id, so an
answer depends on nothing else. Calibration instruments, not models.
"""

import difflib
import json
from collections.abc import Callable, Mapping

from common import UsageError, wire
from common.rng import SeededRandom
from common.wire import Exchange, Model, Request

Respondent = Callable[[Request, SeededRandom], str | tuple[str, str]]
FREE = Model(prompt=0.0, completion=0.0, price_from="simulated")


class Simulated:
    """Answers at once, in the thread that asks."""

    blocking = False
    simulated = True
    dialect = "openai"

    def __init__(self, respondents: Mapping[str, Respondent], seed: int) -> None:
        self.respondents, self.rng = respondents, SeededRandom(seed, "respondent")

    def check(self, models: list[str]) -> None:
        """UsageError where a respondent does not exist."""
        for name in models:
            if name not in self.respondents:
                close = difflib.get_close_matches(name, self.respondents, 1)
                raise UsageError(
                    f"models: no simulated respondent {name!r}; "
                    + (f"did you mean {close[0]!r}? " if close else "")
                    + f"There are {', '.join(sorted(self.respondents))}. For a real model set "
                    "OPENROUTER_API_KEY or give --base-url")

    def model(self, name: str) -> Model:
        return FREE

    def body(self, request: Request) -> dict:
        return wire.body(request, FREE, self.dialect)

    def complete(self, request: Request) -> Exchange:
        """The respondent's text in the shape a server would send it."""
        said = self.respondents[request.model](request, self.rng.stream(request.id))
        text, finish = said if isinstance(said, tuple) else (said, "stop")
        prompt, completion = (-(-len(t) // 4) for t in (request.system + request.user, text))
        body = {"id": f"sim-{request.sha256()[:12]}", "model": f"SIMULATED/{request.model}",
                "provider": "simulated",
                "choices": [{"finish_reason": finish, "message": {"content": text}}],
                "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "cost": 0}}
        return Exchange(200, {}, json.dumps(body))
