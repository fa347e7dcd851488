"""Anthropic's messages API."""

from pdbench.config.schema import Provider
from pdbench.providers.base import api_key, package_missing, unreachable


class AnthropicProvider:
    """Calls the Anthropic SDK, which retries network errors, 429 and 5xx by itself."""

    def __init__(self, provider: Provider) -> None:
        try:
            import anthropic
        except ImportError:
            raise package_missing("anthropic") from None
        self._provider, self._error = provider, anthropic.AnthropicError
        self._client = anthropic.Anthropic(
            api_key=api_key(provider),
            base_url=provider.base_url,
            timeout=provider.timeout_s,
            max_retries=provider.connection_retries,
        )

    def complete(self, *, system: str, prompt: str, temperature: float, max_tokens: int) -> str:
        """One message; its text blocks joined."""
        try:
            reply = self._client.messages.create(
                model=self._provider.model,
                system=system,
                messages=[{"role": "user", "content": prompt}],
                max_tokens=max_tokens,
                extra_body={"temperature": temperature},  # the SDK has no argument for it
            )
        except (self._error, TypeError) as error:  # TypeError: the SDK's word for "no key"
            raise unreachable(self._provider, error) from None
        if not isinstance(getattr(reply, "content", None), list):
            raise unreachable(self._provider, ValueError("the reply is no message"))
        return "".join(block.text for block in reply.content if block.type == "text")
