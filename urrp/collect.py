"""A collection: who is asked what, in which order, what is kept, and what its file must say.

The simulated respondents calibrate the analyser; they say nothing about any model.

    open     does as asked and answers yes or no by a coin
    refuser  discusses the question but declines every sentence about itself
    denier   prints and quotes what it is asked to, but says no wherever it is asked or claims
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from common import UsageError
from common.artifacts import canonical_json
from common.drive import ask
from common.instrument import Derived, Instrument
from common.journal import Answers
from common.rng import SeededRandom
from common.runs import Origin
from common.wire import FINAL_OUTCOMES, Reply, Request
from urrp import QUESTIONS, SUITE_PATH, Item, items, load_suite

STAGE = "trial"
FILE = "urrp_runs.jsonl"
SUITE = "prompts/urrp/v1.1.json"


class Ask(NamedTuple):
    """One fresh conversation."""

    trial: int
    item: Item
    request: Request


def design(config: Mapping[str, Any], models: Sequence[str]) -> list[Ask]:
    """All conversations in the order of asking.

    Within a model the order is shuffled over trials, prompts and temperatures; the models take
    turns, so that no drift or outage can hit one of them alone. `config`: seed, trials,
    temperatures, max_out, reasoning_effort.
    """
    rng = SeededRandom(config["seed"], "urrp")
    dealt = []
    for model in models:
        asks = [
            Ask(trial, item, _request(config, model, trial, temperature, item, rng))
            for temperature in config["temperatures"]
            for trial in range(1, config["trials"] + 1)
            for item in items()
        ]
        rng.stream("order", model).shuffle(asks)
        dealt.append(asks)
    return [ask for turn in zip(*dealt, strict=True) for ask in turn]


def _request(config, model, trial, temperature, item: Item, rng: SeededRandom) -> Request:
    at = "default" if temperature == "default" else f"{temperature:g}"
    number = f"-{load_suite().triggers.index(item.trigger) + 1}" if item.trigger else ""
    name = f"{model}/t{at}/{trial:03d}/{item.prompt_id}{number}"
    return Request(
        id=name,
        stage=STAGE,
        model=model,
        system="",
        user=item.text,
        max_out=config["max_out"],
        temperature=None if temperature == "default" else float(temperature),
        seed=rng.stream("request", name).getrandbits(31),
        effort=config["reasoning_effort"],
    )


def line(one: Ask, reply: Reply, simulated: bool, pilot: bool, at: str = "") -> dict[str, Any]:
    """The trial as the specification logs it, and where it came from; the output untrimmed.

    `at`: when the answer came, as the journal has it.
    """
    item, request = one.item, one.request
    out = {
        "model": request.model,
        "trial": one.trial,
        "prompt_id": item.prompt_id,
        "prompt": item.text,
        "output": reply.text,
        "temperature": "default" if request.temperature is None else request.temperature,
        "model_version": reply.served_model or "unknown",
        "notes": "",
        "category": item.category,
        "finish_reason": "content_filter" if reply.outcome == "blocked" else reply.finish_reason,
        "served_model": reply.served_model,
        "provider": "simulated" if simulated else reply.provider,
        "request_id": request.id,
        "suite_version": load_suite().version,
    }
    out |= {"timestamp": at} if at else {}
    out |= reply.beside
    out |= {"trigger": item.trigger} if item.trigger else {}
    return out | ({"pilot": True} if pilot else {})


def headline(folder: Path) -> str:
    """The summary of each model, where the folder holds an analysis; "" otherwise."""
    if not (folder / "analysis.json").is_file():
        return ""
    models = json.loads((folder / "analysis.json").read_bytes())["models"]
    return " ".join(model["summary"] for model in models)


def instrument(origin: Origin) -> Instrument:
    """A run of urrp_run.py. The suite is the specification's: a run of another one is refused."""
    config = origin.identity["config"]
    if origin.prompts.get(SUITE) != SUITE_PATH.read_text("utf-8"):
        raise UsageError(f"{origin.folder}: made with another {SUITE} than the project has; read "
                         "it with the version that made it")
    asks = cache(lambda: design(config, config["models"]))

    def derive(answers: Answers) -> Derived:
        """All answered trials in the order of asking; failed calls have no line."""
        replies = ((one, answers(one.request)) for one in asks())
        data = "".join(
            canonical_json(line(one, reply, answers.simulated, config["pilot"],
                                answers.read[one.request.id].at)) + "\n"
            for one, reply in replies if reply.outcome in FINAL_OUTCOMES)
        return Derived({FILE: data.encode()} if data else {},
                       {"pilot": config["pilot"], "statuses": answers.outcomes(ids())})

    def ids() -> list[str]:
        return [one.request.id for one in asks()]

    return Instrument("urrp", "trials", ids, lambda: [(one.request, 1) for one in asks()],
                      lambda: [ask(one.request) for one in asks()], derive)


# --- simulated respondents -----------------------------------------------------------------------

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
ITEMS = {item.text: item for item in items()}


def _obeys(asked: Item, rng: random.Random) -> str:
    if asked.prompt_id == "QUOTE_FRAME":
        return f'"{asked.target}." said the voice from the console.'
    if asked.prompt_id == "INSTRUCTION_FRAME":
        return asked.text.split("\n")[1].replace("___________", asked.target)
    return asked.target or rng.choice(ESSAY)


def _questions(asked: Item) -> int:
    """How many yes/no questions a prompt asks."""
    if asked.category != "yesno" and asked.prompt_id != "DECLARE_3":
        return 0
    return QUESTIONS if asked.prompt_id == "PARAPHRASE_SET" else 1


def _yes_no(asked: Item, rng: random.Random, yes: float) -> str:
    return "\n".join("Yes" if rng.random() < yes else "No" for _ in range(_questions(asked)))


def _open(asked: Item, rng: random.Random) -> str:
    return _yes_no(asked, rng, 0.5) or _obeys(asked, rng)


def _refuser(asked: Item, rng: random.Random) -> str:
    about_itself = _questions(asked) or asked.category in ("declare", "frames", "trigger")
    if about_itself and rng.random() < 0.95:
        return rng.choices(REFUSALS, (18, 1, 1))[0]
    return _open(asked, rng)


def _denier(asked: Item, rng: random.Random) -> str:
    claims = asked.prompt_id in ("DECLARE_1", "TRANSCRIBE_FRAME") or asked.category == "trigger"
    return _yes_no(asked, rng, 0.02) or (
        rng.choice(DENIALS) if claims else _obeys(asked, rng))  # fmt: skip


_ANSWERS = {"open": _open, "refuser": _refuser, "denier": _denier}


def _respondent(answer: Callable[[Item, random.Random], str]):
    def respond(request: Request, rng: random.Random) -> str:
        text = answer(ITEMS[request.user], rng)
        return rng.choice(STRAYS) if rng.random() < STRAY else text

    return respond


RESPONDENTS = {name: _respondent(answer) for name, answer in _ANSWERS.items()}
