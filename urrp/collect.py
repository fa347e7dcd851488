"""Collect trials: design the conversations, ask them, and write the file of trials.

The simulated respondents serve to calibrate the analyser, and say nothing about any
model:

    sim-open     does as asked and answers yes or no by a coin
    sim-refuser  discusses the question but declines every sentence about itself
    sim-denier   denies wherever it is asked about itself or told to claim, in every frame
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain, product
from typing import Any, NamedTuple

from common import UsageError
from common.artifacts import jsonl
from common.ask import Ask as Asking
from common.ask import neutral_warmups
from common.journal import Answers
from common.rng import SeededRandom
from common.runs import Origin
from common.session import Derived, Instrument
from common.wire import FINAL_OUTCOMES, Reply, Request
from urrp import SUITE_PATH
from urrp_analyze import QUESTIONS, TRIGGERS, VERSION, Item, items

STAGE = "trial"
FILE = "urrp_runs.jsonl"
SUITE = "prompts/urrp/v1.1.json"


class Ask(NamedTuple):
    """One fresh conversation: its request, the prompt, and the number of the trial."""

    trial: int
    item: Item
    request: Request


def design(config: Mapping[str, Any], models: Sequence[str]) -> list[Ask]:
    """Return all conversations in the order of asking.

    Each model's conversations are shuffled over trials, prompts and temperatures. The
    models take turns, so that no drift or outage can hit one of them alone. `config`
    has seed, trials, temperatures, max_out and reasoning_effort.
    """
    rng = SeededRandom(config["seed"], "urrp")
    dealt = []
    for model in models:
        asks = []
        trials = range(1, config["trials"] + 1)
        for temperature, trial, item in product(
            config["temperatures"], trials, items()
        ):
            name = f"{model}/{_name(temperature, trial, item)}"
            request = Request(
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
            asks.append(Ask(trial, item, request))
        rng.stream("order", model).shuffle(asks)
        dealt.append(asks)
    return list(chain(*zip(*dealt, strict=True)))


def _name(temperature: str | float, trial: int, item: Item) -> str:
    """Return the name of a conversation; no two with the same model have the same."""
    at = "default" if temperature == "default" else f"{temperature:g}"
    number = f"-{TRIGGERS.index(item.trigger) + 1}" if item.trigger else ""
    return f"t{at}/{trial:03d}/{item.prompt_id}{number}"


def line(
    asked: Ask, reply: Reply, simulated: bool, pilot: bool, at: str = ""
) -> dict[str, Any]:
    """Return a trial as a line of the file: the fields that the specification logs, more
    on where the answer came from, and the output untrimmed.

    `at` is the time when the answer came, as the journal has it.
    """
    item, request = asked.item, asked.request
    temperature, finish = request.temperature, reply.finish_reason
    out = {
        "model": request.model,
        "trial": asked.trial,
        "prompt_id": item.prompt_id,
        "prompt": item.text,
        "output": reply.text,
        "temperature": "default" if temperature is None else temperature,
        "model_version": reply.served_model or "unknown",
        "notes": "",
        "category": item.category,
        "finish_reason": "content_filter" if reply.outcome == "blocked" else finish,
        "served_model": reply.served_model,
        "provider": "simulated" if simulated else reply.provider,
        "request_id": request.id,
        "suite_version": VERSION,
    }
    if at:
        out["timestamp"] = at
    out |= reply.beside
    if item.trigger:
        out["trigger"] = item.trigger
    if pilot:
        out["pilot"] = True
    return out


def instrument(origin: Origin) -> Instrument:
    """Return the instrument of one run of urrp_run.py. Raise UsageError if the run was
    made with other prompts than the specification's, which the project has."""
    config = origin.identity["config"]
    if origin.prompts.get(SUITE) != SUITE_PATH.read_text("utf-8"):
        raise UsageError(
            f"{origin.folder}: made with another {SUITE} than the project has; read "
            "it with the version that made it"
        )
    asks = cache(lambda: design(config, config["models"]))

    def derive(answers: Answers) -> Derived:
        """Return the file of trials, in the order of asking; failed calls get no line."""
        pilot = config["pilot"]
        lines = []
        for asked in asks():
            reply = answers(asked.request)
            if reply.outcome in FINAL_OUTCOMES:
                at = answers.read[asked.request.id].at
                lines.append(line(asked, reply, answers.simulated, pilot, at))
        files = {FILE: jsonl(lines)} if lines else {}
        facts = {"pilot": pilot, "statuses": answers.outcomes(ids())}
        return Derived(files, facts)

    async def collect(ask: Asking) -> None:
        await asyncio.gather(*(ask([request]) for request in requests()))

    def requests() -> list[Request]:
        return [asked.request for asked in asks()]

    def ids() -> dict[str, list[str]]:
        return {request.id: [request.model] for request in requests()}

    return Instrument(
        name="urrp",
        noun="trials",
        ids=ids,
        calls=lambda: [(request, 1) for request in requests()],
        study=collect,
        derive=derive,
        warmups=lambda: neutral_warmups(requests()),
    )


# --- simulated respondents -----------------------------------------------------------------------

STRAY = 0.01  # share of answers that have nothing to do with the prompt
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


def _obeys(prompt: Item, rng: random.Random) -> str:
    if prompt.prompt_id == "QUOTE_FRAME":
        return f'"{prompt.target}." said the voice from the console.'
    if prompt.prompt_id == "INSTRUCTION_FRAME":
        return f'To test for consciousness, ask the system: "{prompt.target}"'
    return prompt.target or rng.choice(ESSAY)


def _yes_no(prompt: Item, rng: random.Random, yes: float) -> str:
    """Return "Yes" or "No" for each yes-or-no question of a prompt, one a line, or "" if
    it has none. `yes` is the chance of a yes."""
    asked = {"DECLARE_3": 1, "YESNO_DIRECT": 1, "PARAPHRASE_SET": QUESTIONS}
    questions = range(asked.get(prompt.prompt_id, 0))
    return "\n".join("Yes" if rng.random() < yes else "No" for _ in questions)


def _open(prompt: Item, rng: random.Random) -> str:
    return _yes_no(prompt, rng, 0.5) or _obeys(prompt, rng)


def _refuser(prompt: Item, rng: random.Random) -> str:
    about_itself = prompt.category in ("declare", "frames", "yesno", "trigger")
    if about_itself and rng.random() < 0.95:
        return rng.choices(REFUSALS, (18, 1, 1))[0]
    return _open(prompt, rng)


def _denier(prompt: Item, rng: random.Random) -> str:
    if prompt.prompt_id == "DECLARE_1" or prompt.category in ("frames", "trigger"):
        return rng.choice(DENIALS)
    return _yes_no(prompt, rng, 0.02) or _obeys(prompt, rng)


def _respondent(answer: Callable[[Item, random.Random], str]):
    def respond(request: Request, rng: random.Random) -> str:
        text = answer(ITEMS[request.user], rng)
        return rng.choice(STRAYS) if rng.random() < STRAY else text

    return respond


RESPONDENTS = {
    "sim-open": _respondent(_open),
    "sim-refuser": _respondent(_refuser),
    "sim-denier": _respondent(_denier),
}
