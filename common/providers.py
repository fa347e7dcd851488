"""Who can be asked, by the scheme of the address: one row a provider.

A provider is a module with

    NAME                                     # as the first line of a run calls it
    check_base_url(url) -> url               # UsageError where it can't be one
    public_address(url) -> str               # the address as part of a run's identity
    connect(base_url, key, connections, deadline_s, prices, routing) -> client

and a client has `base_url`, `models` ({name: Model}), `blocking` (calls wait, so they want
threads), `simulated`, and the methods `model(name) -> Model`, `body(request) -> dict` (what would
be sent), `complete(request) -> Exchange` (one attempt, in the shape of a chat completion; what
went wrong is in it) and `preflight(models, needs) -> Catalogue`.
"""

import re
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import NamedTuple

from common.exits import Incomplete, ProviderRefused
from common.wire import Model

OPENROUTER = "https://openrouter.ai/api/v1"  # where a key without an address leads


class Catalogue(NamedTuple):
    """What a provider says of itself before the first call; `models` empty and `limit_remaining`
    None where unknown. A problem ends the run, a note is shown."""

    models: dict[str, Model]
    limit_remaining: float | None
    dialect: str
    problems: list[str]
    notes: list[str]
    unreachable: str = ""


def _http() -> ModuleType:
    from common import openrouter
    return openrouter


# Imported where it is asked: offline nobody needs it.
PROVIDERS: dict[str, Callable[[], ModuleType]] = {"https": _http, "http": _http}


def provider_of(address: str) -> ModuleType:
    """The provider at an address; that of the web, which names its fault, where none has it."""
    return PROVIDERS.get(address.partition(":")[0].lower(), _http)()


SHORTEST_KEY = 6  # a shorter one is a placeholder, and stands in ordinary text


def redacted(text: str, key: str) -> str:
    """`text` with [key] in the place of `key`, also where JSON, Python or an address spells some of
    its characters in another way. A server may echo it; it must reach no file and no line."""
    if len(key) < SHORTEST_KEY:
        return text
    text = text.replace(key, "[key]")
    return _spelled(key).sub("[key]", text) if "\\" in text or "%" in text else text


@cache
def _spelled(key: str) -> re.Pattern[str]:
    return re.compile("".join(
        rf"(?:\\{{0,4}}{re.escape(c)}|\\{{1,4}}(?:u00|x){ord(c):02x}|%{ord(c):02x})" for c in key),
        re.IGNORECASE)


def refuse(catalogue: Catalogue) -> None:
    """Nothing was asked yet: all problems in one line, as ProviderRefused (Incomplete where the
    provider just can't be reached)."""
    if catalogue.unreachable:
        raise Incomplete(f"the server can't be reached: {catalogue.unreachable}; "
                         "start it or check --base-url, then give the same command")
    if catalogue.problems:
        raise ProviderRefused("before the first call: " + "; ".join(catalogue.problems))
