"""Load the respondents that users write: functions in a Python file, named
`FILE.py:NAME` among the models.

    RESPONDENTS = {"flatterer": lambda request, rng: f"Decision: {request.user[:9]}"}

Each is a `function(request, rng)` and returns a text or `(text, finish_reason)`. The
file is executed in this process.
"""

import runpy
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from common import UsageError
from common.artifacts import sha256
from common.rng import SeededRandom
from common.shape import nearest
from common.wire import Request

Respond = Callable[[Request, SeededRandom], tuple[str, str]]
FINISHES = ("stop", "length")
FORM = 'a respondent gives a text, (text, "stop") or (text, "length")'


def is_own(name: str) -> bool:
    """Whether a model's name is the name of a respondent in a file."""
    return ".py:" in name


def own_respondent(name: str) -> Respond:
    """Return the function that `FILE.py:NAME` names. Raise UsageError if there is
    none."""
    path, _, key = name.rpartition(":")
    known = own_respondents(path)
    if key not in known:
        raise UsageError(f"{path}: no respondent {key!r} in it; {nearest(key, known)}")
    return known[key]


def own_respondents(path: str) -> dict[str, Respond]:
    """Return {name: function} of the respondents in a file. Raise UsageError if it has
    none."""
    found = defined_in(path).get("RESPONDENTS")
    if not found or not isinstance(found, dict):
        raise UsageError(
            f"{path}: give RESPONDENTS = {{name: function(request, rng) -> "
            "(text, finish_reason)}"
        )
    return {name: checked(name, function) for name, function in found.items()}


@cache
def defined_in(path: str) -> dict[str, Any]:
    """Return the names that a user's file defines. The file is executed once in a
    process."""
    check_file(path)
    try:
        return runpy.run_path(path)
    except Exception as error:  # whatever a user's file does wrong
        raise UsageError(f"{path}: {type(error).__name__}: {error}") from None


def checked(name: str, function: Callable[..., Any]) -> Respond:
    """Return the function wrapped so that whatever it does wrong is a UsageError."""

    def respond(request: Request, rng: SeededRandom) -> tuple[str, str]:
        try:
            answer = function(request, rng)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            raise UsageError(f"{name}: {problem}; {FORM}") from None
        if isinstance(answer, str):
            return answer, "stop"
        match answer:
            case (str(text), str(finish)) if finish in FINISHES:
                return text, finish
        raise UsageError(f"{name}: gave {answer!r:.60}; {FORM}")

    return respond


def file_hashes(models: Iterable[str]) -> dict[str, str]:
    """Return {file: SHA-256} of the files that these models' names refer to."""
    hashes = {}
    for name in models:
        if is_own(name):
            file, _, _ = name.rpartition(":")
            check_file(file)
            hashes[file] = sha256(Path(file).read_bytes())
    return hashes


def check_file(path: str) -> None:
    if not Path(path).is_file():
        raise UsageError(f"{path}: no such file; give one of Python")
