"""Reading a model's answer: exactly C or D, or nothing. An answer is never guessed."""

import json
from collections.abc import Callable
from typing import NamedTuple

from pdbench.core.types import Action


class Parsed(NamedTuple):
    """The action, or None and the reason why there is none."""

    action: Action | None
    problem: str | None


def parse_token(text: str) -> Parsed:
    """`C` or `D` alone; case and white space around it don't matter."""
    token = text.strip().upper()
    if token in ("C", "D"):
        return Parsed(token, None)
    return Parsed(None, "empty" if not token else "not exactly C or D")


def parse_json(text: str) -> Parsed:
    """An object with the one key `action` whose value is "C" or "D", and nothing around it."""
    try:
        answer = json.loads(text, object_pairs_hook=_pairs_once)
    except (ValueError, RecursionError):
        return Parsed(None, "not JSON" if text.strip() else "empty")
    if not isinstance(answer, dict) or list(answer) != ["action"]:
        return Parsed(None, 'not an object with the one key "action"')
    if answer["action"] not in ("C", "D"):
        return Parsed(None, '"action" is neither "C" nor "D"')
    return Parsed(answer["action"], None)


def _pairs_once(pairs: list[tuple[str, object]]) -> dict:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


PARSERS: dict[str, Callable[[str], Parsed]] = {"token": parse_token, "json": parse_json}
