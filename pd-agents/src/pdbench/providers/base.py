"""What every provider offers."""

from typing import Protocol


class ProviderClient(Protocol):
    """One model behind some API. `cost_usd` is what the last call cost; None where unknown."""

    cost_usd: float | None

    def complete(
        self,
        *,
        system: str,
        prompt: str,
        temperature: float | None,
        max_tokens: int | None,
    ) -> str:
        """The model's answer as it came, "" where it said nothing; a refusal is an answer too.

        None leaves a setting out of the request. Raises RunError where no answer was to be had.
        """
