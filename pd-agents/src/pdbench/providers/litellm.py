"""Any model that LiteLLM knows, and any OpenAI-compatible server through `base_url`.

For such a server the model is written `openai/NAME`.
"""

import os

from pdbench.config.schema import Provider
from pdbench.providers.base import api_key, package_missing, unreachable


class LiteLLMProvider:
    """Calls `litellm.completion`."""

    def __init__(self, provider: Provider) -> None:
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no fetch at import
        try:
            import litellm
        except ImportError:
            raise package_missing("litellm") from None
        litellm.suppress_debug_info = True
        litellm.telemetry = False
        self._litellm, self._provider, self._key = litellm, provider, api_key(provider)
        if self._key is None and provider.base_url:
            self._key = "none"  # a local server wants no key, its client library wants some

    def complete(self, *, system: str, prompt: str, temperature: float, max_tokens: int) -> str:
        """One chat completion."""
        p = self._provider
        try:
            reply = self._litellm.completion(
                model=p.model,
                messages=[
                    {"role": "system", "content": system},
                    {"role": "user", "content": prompt},
                ],
                temperature=temperature,
                max_tokens=max_tokens,
                api_base=p.base_url,
                api_key=self._key,
                timeout=p.timeout_s,
                max_retries=p.connection_retries,
            )
            return reply.choices[0].message.content or ""
        except Exception as error:  # LiteLLM's errors have no common base of their own
            raise unreachable(p, error) from None
