"""OpenAI's chat completions, or any server that speaks them, through `base_url`."""

from pdbench.config.schema import Provider
from pdbench.providers.base import api_key, ask, joined_texts, part

ADDRESS = "https://api.openai.com/v1"


class OpenAIProvider:
    """Asks `/chat/completions`."""

    def __init__(self, provider: Provider) -> None:
        key = api_key(provider)
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._provider = provider
        self._url = (provider.base_url or ADDRESS).rstrip("/") + "/chat/completions"

    def complete(
        self, *, system: str, prompt: str, temperature: float, max_tokens: int
    ) -> str:
        """One chat completion."""
        return ask(self._provider, self._url, self._headers, {
            "model": self._provider.model,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": prompt},
            ],
            "temperature": temperature,
            "max_tokens": max_tokens,
        }, completion_text)  # fmt: skip


def completion_text(reply: dict) -> str:
    """The text of a chat completion: its content, or the words of a refusal."""
    choices = part(reply.get("choices"), list, "choices")
    choice = part(choices[0] if choices else None, dict, "choices[0]")
    message = part(choice.get("message"), dict, "choices[0].message")
    content = message.get("content")
    if isinstance(content, list):
        return joined_texts(content, "choices[0].message.content")
    if content is None:
        content = message.get("refusal") or ""
    return part(content, str, "choices[0].message.content")
