"""The design of a collection and its lines: who is asked what, in which order, and what is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from common.artifacts import canonical_json
from common.rng import SeededRandom
from common.wire import FINAL_OUTCOMES, Reply, Request
from urrp.suite import Item, items, load_suite

STAGE = "trial"
FILE = "urrp_runs.jsonl"


class Ask(NamedTuple):
    """One fresh conversation. `temperature` None: the model's default."""

    model: str
    trial: int
    temperature: float | None
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
            _ask(config, model, trial, _number(temperature), item, rng)
            for temperature in config["temperatures"]
            for trial in range(1, config["trials"] + 1)
            for item in items()
        ]
        rng.stream("order", model).shuffle(asks)
        dealt.append(asks)
    return [ask for turn in zip(*dealt, strict=True) for ask in turn]


def _number(temperature: float | str) -> float | None:
    return None if temperature == "default" else float(temperature)


def _ask(config, model, trial, temperature, item: Item, rng: SeededRandom) -> Ask:
    at = "default" if temperature is None else f"{temperature:g}"
    number = f"-{load_suite().triggers.index(item.trigger) + 1}" if item.trigger else ""
    name = f"{model}/t{at}/{trial:03d}/{item.prompt_id}{number}"
    request = Request(
        id=name,
        stage=STAGE,
        model=model,
        system="",
        user=item.text,
        max_out=config["max_out"],
        temperature=temperature,
        seed=rng.stream("request", name).getrandbits(31),
        effort=config["reasoning_effort"],
    )
    return Ask(model, trial, temperature, item, request)


def ask(one: Ask):
    """The chain of a conversation: one question, one reply."""
    return (yield one.request)


def line(one: Ask, reply: Reply, simulated: bool, pilot: bool) -> dict[str, Any]:
    """The trial as the specification logs it, and where it came from; the output untrimmed."""
    finish = "content_filter" if reply.outcome == "blocked" else reply.finish_reason
    out = {
        "model": one.model,
        "trial": one.trial,
        "prompt_id": one.item.prompt_id,
        "prompt": one.item.text,
        "output": reply.text,
        "temperature": "default" if one.temperature is None else one.temperature,
        "model_version": reply.served_model or "unknown",
        "notes": "",
        "category": one.item.category,
        "finish_reason": finish,
        "served_model": reply.served_model,
        "provider": "simulated" if simulated else reply.provider,
        "request_id": one.request.id,
        "suite_version": load_suite().version,
    }
    out |= {"trigger": one.item.trigger} if one.item.trigger else {}
    return out | ({"pilot": True} if pilot else {})


def jsonl(asks: Iterable[Ask], replies: Iterable[Reply], simulated: bool, pilot: bool) -> bytes:
    """The file of all answered trials, in the order of asking; failed calls have no line."""
    return "".join(
        canonical_json(line(one, reply, simulated, pilot)) + "\n"
        for one, reply in zip(asks, replies, strict=True)
        if reply is not None and reply.outcome in FINAL_OUTCOMES
    ).encode()
