"""Anthropic's messages API."""

from pdbench.config.schema import Provider
from pdbench.providers.base import api_key, ask, joined_texts, part

ADDRESS = "https://api.anthropic.com"
VERSION = "2023-06-01"


class AnthropicProvider:
    """Asks `/v1/messages`."""

    def __init__(self, provider: Provider) -> None:
        key = api_key(provider)
        self._headers = {"anthropic-version": VERSION} | (
            {"x-api-key": key} if key else {}
        )
        self._provider = provider
        self._url = (provider.base_url or ADDRESS).rstrip("/") + "/v1/messages"

    def complete(
        self, *, system: str, prompt: str, temperature: float, max_tokens: int
    ) -> str:
        """One message; its text blocks joined."""
        return ask(self._provider, self._url, self._headers, {
            "model": self._provider.model,
            "system": system,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": temperature,
            "max_tokens": max_tokens,
        }, message_text)  # fmt: skip


def message_text(reply: dict) -> str:
    """The texts of a message's blocks, joined."""
    return joined_texts(part(reply.get("content"), list, "content"), "content")
