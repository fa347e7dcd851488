"""What every provider offers, how replies are read, and how troubles are told."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from pdbench.config.schema import Provider
from pdbench.core.secrets import KEYS, hide
from pdbench.core.types import ConfigError, ProviderError
from pdbench.providers.wire import Post, Trouble, exchange, shortened

USUAL_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


class ProviderClient(Protocol):
    """One model behind some API."""

    def complete(
        self, *, system: str, prompt: str, temperature: float, max_tokens: int
    ) -> str:
        """The model's answer as it came, untrimmed, a key in it hidden; "" where it said nothing.

        Raises ProviderError where there was no answer at all by the call's deadline.
        """


def key_variable(provider: Provider) -> str | None:
    """The variable that holds the key; where an address is configured, only if it is named."""
    if provider.api_key_env or provider.base_url:
        return provider.api_key_env
    return USUAL_KEYS.get(provider.name)


def api_key(provider: Provider) -> str | None:
    """The key, None where none is wanted; ConfigError where it is missing or can't be one."""
    variable = key_variable(provider)
    if variable is None:
        return None
    key = os.environ.get(variable)
    if not key:
        raise ConfigError(
            f"provider.api_key_env: the variable {variable} is not set;"
            f" {provider.name} needs it for model {provider.model!r}"
        )
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise ConfigError(
            f"provider.api_key_env: what the variable {variable} holds is no key:"
            " it has white space or letters beyond ASCII in it"
        )
    KEYS.add(key)
    return key


def ask(
    provider: Provider,
    url: str,
    headers: dict[str, str],
    payload: dict,
    read: Callable[[dict], str],
) -> str:
    """POST `payload` and `read` the answer; ProviderError in one line where that fails."""
    post = Post(
        url,
        headers,
        json.dumps(payload).encode(),
        provider.timeout_s,
        provider.connection_retries,
    )
    with troubles_told(provider):
        return hide(read(json_object(exchange(post))), api_key(provider))


@contextmanager
def troubles_told(provider: Provider) -> Iterator[None]:
    """A trouble becomes a ProviderError in one line: who, where, what, and what to do."""
    try:
        yield
    except Trouble as trouble:
        at = f" at {provider.base_url}" if provider.base_url else ""
        key = api_key(provider)
        # The key is hidden before the words are cut: half a key is no longer found.
        words = shortened(hide(trouble.words, key))
        line = f"provider {provider.name} (provider.model {provider.model!r}{at}): {trouble}"
        raise ProviderError(
            hide(line, key)
            + (f": {words}" if words else "")
            + "; the same command resumes"
        ) from None


def package_missing(name: str) -> ConfigError:
    """What to say where a provider's extra is not installed."""
    return ConfigError(
        f"provider.name: {name} needs a package that is not installed; run"
        f" `uv sync --extra {name}`"
    )


def json_object(body: bytes) -> dict:
    """A reply's JSON object; Trouble says why it is none.

    Numbers become floats, for nothing here is counted in them: a number of ten thousand digits
    is no trouble.
    """
    try:
        data = json.loads(body.decode("utf-8"), parse_int=float)
    except UnicodeDecodeError:
        raise Trouble("answered with bytes that are not UTF-8") from None
    except RecursionError:
        raise Trouble("answered with JSON nested too deeply to be read") from None
    except ValueError:
        raise Trouble(
            "answered with an empty body"
            if not body.strip()
            else "answered with something that is not JSON, or only its beginning"
        ) from None
    if not isinstance(data, dict):
        raise Trouble(f"answered with {kind(data)} where a JSON object belongs")
    if data.get("error"):
        error = data["error"]
        words = error.get("message", error) if isinstance(error, dict) else error
        raise Trouble("answered with an error", str(words))
    return data


KINDS = {
    dict: "an object",
    list: "a list",
    str: "a text",
    float: "a number",
    bool: "a yes or no",
    type(None): "nothing",
}


def kind(value: object) -> str:
    """What a JSON value is, for a message."""
    return KINDS[type(value)]


def part[T](value: object, kinds: type[T], where: str) -> T:
    """`value`, if it is of that kind; Trouble names the field otherwise."""
    if not isinstance(value, kinds):
        raise Trouble(
            f"answered with {kind(value)} in {where}, where {KINDS[kinds]} belongs"
        )
    return value


def joined_texts(parts: list, where: str) -> str:
    """The texts of a list of parts; other kinds of parts (reasoning, tools) are no answer."""
    texts = [part(item, dict, f"{where}[{i}]") for i, item in enumerate(parts)]
    return "".join(
        part(item.get("text"), str, f"{where}[].text")
        for item in texts
        if item.get("type", "text") in ("text", "output_text")
    )
