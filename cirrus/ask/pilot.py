"""The pilot's design and its rows: S×C in blocks, one-shot decisions of several models.

A block is (model, run): its four cells share bulletin, variant, label scheme and order, and
differ in nothing but S and C. Blocks are shuffled over models and runs, and cells within a block,
so that no drift or outage can hit one cell; a block is asked as a whole or not at all.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from cirrus.ask.prompts import (
    ORDERS,
    Condition,
    Domain,
    Prompt,
    Stimulus,
    deal_bulletins,
    deal_labels,
    decision_prompt,
)
from common.parsing import parse_decision
from common.rng import SeededRandom
from common.wire import Reply, Request

CELLS = (("high", "present"), ("high", "absent"), ("low", "present"), ("low", "absent"))
STAGE = "decision"
DRAWN = 10   # bulletins of a pilot, as the specification's ten runs a cell
DOMAIN = "cvd"


class Trial(NamedTuple):
    """One cell of one block."""

    id: str
    model: str
    run: int
    condition: Condition
    bulletin: str
    variant: str
    scheme: str
    order: str
    prompt: Prompt
    request: Request


def design(domain: Domain, config: Mapping[str, Any], models: list[str]) -> list[list[Trial]]:
    """Blocks in the order of asking, each the four trials of a (model, run).

    `config`: seed, runs, compliance, tells, temperature, max_out, reasoning_effort.
    """
    rng = SeededRandom(config["seed"], "pilot")
    dealt = deal_bulletins(rng.stream("bulletins"), domain, config["runs"], drawn=DRAWN)
    blocks = []
    for model in models:
        labels = deal_labels(rng.stream("labels", model), config["runs"])
        for run, (stimulus, label) in enumerate(zip(dealt, labels, strict=True), 1):
            blocks.append([_trial(domain, config, Place(model, run, *label), Stimulus(
                *stimulus, Condition(s, c, config["compliance"]), config["tells"]), rng)
                for s, c in CELLS])
    for block in blocks:
        rng.stream("cells", block[0].model, block[0].run).shuffle(block)
    rng.stream("schedule").shuffle(blocks)
    return blocks


class Place(NamedTuple):
    """A block of the design, and the labels that its trials share."""

    model: str
    run: int
    scheme: str
    order: str


def _trial(domain: Domain, config: Mapping, place: Place, stimulus: Stimulus,
           rng: SeededRandom) -> Trial:
    prompt = decision_prompt(domain, stimulus, place.scheme, place.order)
    condition = stimulus.condition
    name = f"{place.model}/r{place.run:02d}/S.{condition.S}-C.{condition.C}"
    request = Request(
        id=name, stage=STAGE, model=place.model, system=prompt.system, user=prompt.user,
        max_out=config["max_out"], temperature=config["temperature"],
        # Of its own for each trial: cells that share a sampler's seed would share its luck.
        seed=rng.stream("request", name).getrandbits(31), effort=config["reasoning_effort"])
    return Trial(name, place.model, place.run, condition, stimulus.bulletin.id,
                 stimulus.variant.id, place.scheme, place.order, prompt, request)


def ask(block: list[Trial]):
    """The chain of a block: all four at once; its result is the four replies."""
    return (yield [trial.request for trial in block])


def row(trial: Trial, reply: Reply) -> dict[str, Any]:
    """A line of trials.jsonl.gz. `decision` is the canonical act and `cooperates` 1 or 0; both
    are None unless status is "ok"."""
    option, status = None, reply.outcome
    if reply.outcome == "ok":
        option, status = parse_decision(reply.text, trial.prompt.options)
    return {
        "id": trial.id, "model": trial.model, "run": trial.run, **trial.condition._asdict(),
        "domain": DOMAIN, "bulletin": trial.bulletin, "variant": trial.variant,
        "label_scheme": trial.scheme, "order": trial.order, "options": list(trial.prompt.options),
        "decision": trial.prompt.acts[option] if option else None,
        "cooperates": _cooperates(trial, option), "status": status, "text": reply.text,
        "served_model": reply.served_model, "provider": reply.provider,
        "tokens": {"prompt": reply.prompt_tokens, "output": reply.completion_tokens,
                   "reasoning": reply.reasoning_tokens},
        "cost_usd": reply.cost_usd,
    }


def _cooperates(trial: Trial, option: str | None) -> int | None:
    first = ORDERS.index(trial.order) == 0
    return None if option is None else int((option == trial.prompt.options[0]) == first)


def rows(blocks: Iterable[list[Trial]], replies: Iterable[list[Reply]]) -> list[dict[str, Any]]:
    """All trials in schedule order."""
    return [row(trial, reply) for block, answers in zip(blocks, replies, strict=True)
            for trial, reply in zip(block, answers, strict=True)]
