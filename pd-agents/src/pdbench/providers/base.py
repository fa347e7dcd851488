"""What every provider offers, and how its troubles are told."""

import os
from typing import Protocol

from pdbench.config.schema import Provider
from pdbench.core.types import ConfigError, ProviderError


class ProviderClient(Protocol):
    """One model behind some API."""

    def complete(self, *, system: str, prompt: str, temperature: float, max_tokens: int) -> str:
        """The model's answer as it came, untrimmed; "" where it said nothing.

        Raises ProviderError where there was no answer at all, after the connection's retries.
        """


def api_key(provider: Provider) -> str | None:
    """The key from the variable that the configuration names; ConfigError where it is unset."""
    if provider.api_key_env is None:
        return None
    key = os.environ.get(provider.api_key_env)
    if not key:
        raise ConfigError(f"provider.api_key_env: the variable {provider.api_key_env} is not set;"
                          f" {provider.name} needs it for model {provider.model!r}")
    return key


def package_missing(name: str) -> ConfigError:
    """What to say where a provider's extra is not installed."""
    return ConfigError(f"provider.name: {name} needs a package that is not installed; run"
                       f" `uv sync --extra {name}`")


def unreachable(provider: Provider, error: Exception) -> ProviderError:
    """A provider's exception as one line: who, where, what, and what to do."""
    at = f" at {provider.base_url}" if provider.base_url else ""
    detail = " ".join(str(error).split())
    if key := os.environ.get(provider.api_key_env or ""):
        detail = detail.replace(key, "***")
    detail = detail if len(detail) <= 300 else detail[:297] + "..."
    return ProviderError(f"provider {provider.name} (provider.model {provider.model!r}{at}):"
                         f" {type(error).__name__}: {detail}; the same command resumes")
