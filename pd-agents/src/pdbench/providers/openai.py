"""OpenAI's chat completions, or any server that speaks them, through `base_url`."""

from pdbench.config.schema import Provider
from pdbench.providers.base import api_key, package_missing, unreachable


class OpenAIProvider:
    """Calls the OpenAI SDK, which retries network errors, 429 and 5xx by itself."""

    def __init__(self, provider: Provider) -> None:
        try:
            import openai
        except ImportError:
            raise package_missing("openai") from None
        self._provider, self._error = provider, openai.OpenAIError
        key = api_key(provider)
        if key is None and provider.base_url:
            key = "none"  # a local server wants no key, its client library wants some
        try:
            self._client = openai.OpenAI(
                api_key=key,
                base_url=provider.base_url,
                timeout=provider.timeout_s,
                max_retries=provider.connection_retries,
            )
        except openai.OpenAIError as error:
            raise unreachable(provider, error) from None

    def complete(self, *, system: str, prompt: str, temperature: float, max_tokens: int) -> str:
        """One chat completion."""
        try:
            reply = self._client.chat.completions.create(
                model=self._provider.model,
                messages=[
                    {"role": "system", "content": system},
                    {"role": "user", "content": prompt},
                ],
                temperature=temperature,
                max_tokens=max_tokens,
            )
        except self._error as error:
            raise unreachable(self._provider, error) from None
        choices = getattr(reply, "choices", None)
        if not choices or choices[0].message is None:
            raise unreachable(self._provider, ValueError("the reply is no chat completion"))
        return choices[0].message.content or ""
