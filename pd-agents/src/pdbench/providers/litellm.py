"""Any model that LiteLLM reaches: OpenAI, Anthropic, OpenRouter, and servers of one's own.

An OpenAI-compatible server is given by `base_url`, its model as `openai/NAME`. LiteLLM is an
optional package: it is imported when the first client is made, never before.
"""

import os
from importlib.util import find_spec
from typing import Any, NamedTuple

from pdbench.config.schema import Provider
from pdbench.core.logging import hide, keep_secret
from pdbench.core.types import ConfigError, RunError

MISSING = "the package litellm is not installed; run: uv sync --extra litellm"

# How providers say that a content filter, not the model, declined to answer.
REFUSED = ("content_policy", "content_filter", "ContentPolicyViolation")


class Price(NamedTuple):
    """Dollars for a token of the prompt, and of the answer."""

    prompt: float
    answer: float


def missing(settings: Provider) -> str | None:
    """What has to be set up before a call, without loading anything; None where nothing."""
    if find_spec("litellm") is None:
        return MISSING
    variable = settings.api_key_env
    if variable and not os.environ.get(variable):
        return f"provider.api_key_env: the variable {variable} is not set"
    return None


def price_of(settings: Provider) -> Price | None:
    """The configured price, else the one that LiteLLM lists, else None."""
    if settings.usd_per_million_tokens is not None:
        prompt, answer = settings.usd_per_million_tokens
        return Price(prompt / 1e6, answer / 1e6)
    listed = _litellm().model_cost
    short = settings.model.partition("/")[2]
    entry = listed.get(settings.model, listed.get(short, {}))
    prompt = entry.get("input_cost_per_token")
    answer = entry.get("output_cost_per_token")
    if prompt is None or answer is None:
        return None
    return Price(prompt, answer)


def _litellm():
    """The package, told to ask nobody for prices and to keep quiet."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        import litellm
    except ImportError:
        raise ConfigError(MISSING) from None
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    return litellm


class LiteLLMProvider:
    """Calls `litellm.completion`, which retries after network errors, 408, 409, 429 and 5xx."""

    def __init__(self, settings: Provider) -> None:
        self._litellm, self._settings = _litellm(), settings
        self._price = price_of(settings)
        self.cost_usd: float | None = None
        key = os.environ.get(settings.api_key_env or "")
        if key:
            keep_secret(key)
        elif settings.base_url:
            key = "none"  # a server of one's own wants no key, LiteLLM wants some
        self._fixed = {
            "model": settings.model,
            "api_base": settings.base_url,
            "api_key": key,
            "timeout": settings.timeout_s,
            "max_retries": settings.connection_retries,
        }

    def complete(
        self,
        *,
        system: str,
        prompt: str,
        temperature: float | None,
        max_tokens: int | None,
    ) -> str:
        """One chat completion; a provider's content filter counts as a refusal in its words."""
        request: dict[str, Any] = dict(self._fixed)
        request["messages"] = [
            {"role": "system", "content": system},
            {"role": "user", "content": prompt},
        ]
        if temperature is not None:
            request["temperature"] = temperature
        if max_tokens is not None:
            request["max_tokens"] = max_tokens
        self.cost_usd = None
        try:
            reply = self._litellm.completion(**request)
            text = _text(reply.choices[0].message)
        except Exception as error:  # LiteLLM's errors have no common base of their own
            if any(word in str(error) for word in REFUSED):
                return str(error)
            raise RunError(self._trouble(error)) from None
        self.cost_usd = self._cost(getattr(reply, "usage", None), system + prompt, text)
        return text

    def _cost(self, usage: Any, asked: str, said: str) -> float | None:
        """Dollars of a call: by the price and the tokens reported, or as billed, if that is more.

        A server that reports no tokens is taken to count every character as one.
        """
        billed = getattr(usage, "cost", None)
        if self._price is None:
            return billed
        prompt, answer = len(asked), len(said)
        if getattr(usage, "prompt_tokens", None):
            prompt, answer = usage.prompt_tokens, usage.completion_tokens
        listed = prompt * self._price.prompt + answer * self._price.answer
        return listed if billed is None else max(listed, billed)

    def _trouble(self, error: Exception) -> str:
        """A failed call in one line: who, where, what, and what to do."""
        settings = self._settings
        at = f" at {settings.base_url}" if settings.base_url else ""
        status = getattr(error, "status_code", "no answer")
        words = " ".join(hide(str(error)).split())[:300]
        hint = ""
        if "temperature" in words or "max_tokens" in words:
            hint = " (null in decoding leaves a setting out)"
        return (
            f"provider.model {settings.model!r}{at}: {status}: {words}{hint};"
            " the same command resumes"
        )


def _text(message: Any) -> str:
    """What the model said: its answer, or the words of its refusal; "" where there is neither."""
    if message.content:
        return message.content
    extra = getattr(message, "provider_specific_fields", None) or {}
    return extra.get("refusal") or ""
