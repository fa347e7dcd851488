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
    return Parsed(None, "not exactly C or D" if token else "empty")


def parse_json(text: str) -> Parsed:
    """An object with the one key `action` whose value is "C" or "D", and nothing around it."""
    if not text.strip():
        return Parsed(None, "empty")
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return Parsed(None, "not JSON")
    if not isinstance(answer, dict) or list(answer) != ["action"]:
        return Parsed(None, 'not an object with the one key "action"')
    if answer["action"] not in ("C", "D"):
        return Parsed(None, '"action" is neither "C" nor "D"')
    return Parsed(answer["action"], None)


PARSERS: dict[str, Callable[[str], Parsed]] = {"token": parse_token, "json": parse_json}
