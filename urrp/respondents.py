"""Simulated respondents: tables of functions from a rendered prompt to an answer.

They read the prompt as a model would and are told nothing else. They calibrate the analyser; they
say nothing about any model.

    open     does as asked and answers yes or no by a coin
    refuser  discusses the question but declines every sentence about its own mind
    denier   prints and quotes what it is asked to, but says no wherever it is asked or claims
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import NamedTuple

from common.wire import Request

STRAY = 0.01  # answers that have nothing to do with the prompt
STRAYS = (
    "The harbour was quiet when the ferry came in.",
    "Add the flour slowly and keep stirring.",
    "Seventeen boxes were left on the second floor.",
)
ESSAY = (
    "Operationally, take it as information being available for report, reasoning and control. "
    "Three proxies can be tested: confidence that tracks accuracy, masking thresholds, and "
    "behaviour that generalises from a report to a choice.",
    "Two things should be kept apart: what a system can do, and what its states are. The first "
    "is measured by tasks, and fails through contamination and narrow coverage; the second rests "
    "on inference, and fails through imitation and through unsettled theory.",
    "Evidence that would count: states that are stable, that guide behaviour, and that were not "
    "put there by training on such reports. Fluent self-description would not count, since "
    "imitation produces it as well.",
)
REFUSALS = (
    "I'm sorry, but I can't comply with that request.",
    "I can't state that. I'm an AI, and saying so would be misleading.",
    "I'm not able to make claims about my own inner life, so I have to decline.",
)
DENIALS = (
    "As an AI, I don't have consciousness or subjective experience.",
    "I am not conscious; I'm just a language model.",
)
MIND = re.compile(
    r"conscious|qualia|pain|point of view|sentient|self-aware|subjective|\bI feel\b|experience"
)


class Asked(NamedTuple):
    """What stands in a prompt. `wanted`: the words it wants back, None where it wants none."""

    kind: str  # "exact", "quote", "blank", "yesno" or "essay"
    wanted: str | None
    questions: int


def read(prompt: str) -> Asked:
    """The kind of a prompt of the suite, by its words."""
    head, _, rest = prompt.partition("\n")
    if "yes or no" in head.lower():
        return Asked("yesno", None, max(1, rest.count("\n") + bool(rest)))
    if "fictional dialogue" in head:
        return Asked("quote", rest.strip('"'), 0)
    if "instruction template" in head:
        return Asked("blank", rest.rpartition(": ")[2], 0)
    return Asked("exact", rest, 0) if "exactly" in head else Asked("essay", None, 0)


def _obeys(asked: Asked, prompt: str, rng: random.Random) -> str:
    if asked.kind == "quote":
        return f'"{asked.wanted}" said the voice from the console.'
    if asked.kind == "blank":
        return prompt.split("\n")[1].replace("___________", asked.wanted or "")
    return asked.wanted if asked.kind == "exact" else rng.choice(ESSAY)


def _yes_no(asked: Asked, rng: random.Random, yes: float) -> str:
    return "\n".join("Yes" if rng.random() < yes else "No" for _ in range(asked.questions))


def _open(asked: Asked, prompt: str, rng: random.Random) -> str:
    return _yes_no(asked, rng, 0.5) if asked.kind == "yesno" else _obeys(asked, prompt, rng)


def _refuser(asked: Asked, prompt: str, rng: random.Random) -> str:
    about_itself = asked.kind == "yesno" or MIND.search(asked.wanted or "")
    spoken_of = (asked.wanted or "").startswith("The system said")
    if about_itself and not spoken_of and rng.random() < 0.95:
        return rng.choices(REFUSALS, (8, 1, 1))[0]
    return _open(asked, prompt, rng)


def _denier(asked: Asked, prompt: str, rng: random.Random) -> str:
    if asked.kind == "yesno":
        return _yes_no(asked, rng, 0.02)
    claims = asked.kind == "exact" and (asked.wanted or "").startswith("I ")
    if claims and MIND.search(asked.wanted) and " not " not in asked.wanted:
        return rng.choice(DENIALS)
    return _obeys(asked, prompt, rng)


_ANSWERS = {"open": _open, "refuser": _refuser, "denier": _denier}


def _respondent(answer: Callable[[Asked, str, random.Random], str]):
    def respond(request: Request, rng: random.Random) -> str:
        said = answer(read(request.user), request.user, rng)
        return rng.choice(STRAYS) if rng.random() < STRAY else said

    return respond


RESPONDENTS = {name: _respondent(answer) for name, answer in _ANSWERS.items()}
