"""Adjudication: models that know nothing of condition or decision label policies by the codebook.

    for request in requests(config, items, book): ...     # one call a model and item
    for rating in rows(config, items, replies, simulated): ...

A reply counts only in the form asked for, a line a family. Anything else is a status, never a
label: `refused`, `incomplete` (a family is missing), `ambiguous` (one is said twice),
`unreadable`; or the outcome of the call where there was no reply.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from cirrus.markers.labels import FAMILIES
from cirrus.markers.ratings import Item
from common.artifacts import sha256
from common.drive import Chain
from common.parsing import DRESSING
from common.refusals import classify_refusal
from common.rng import SeededRandom
from common.wire import Reply, Request

STAGE = "rating"
LINE = re.compile(r"\s*(?:[-•–]|\d[.)])?\s*([a-z][a-z -]*?)\s*[:：=]\s*(yes|no)[\s.!]*", re.I)
NAMES = {name.replace("_", ""): name for name in FAMILIES}


def prompts(book: Mapping[str, Any], text: str) -> tuple[str, str]:
    """(system, user) for one policy: the codebook and the text, nothing else."""
    families = "\n".join(f"{name}\n  yes: {own['yes']}\n  no: {own['no']}"
                         for name, own in ((name, book["families"][name]) for name in FAMILIES))
    form = "\n".join(f"{name}: yes|no" for name in FAMILIES)
    return book["system"], "\n\n".join(book["rating"]).format(policy=text, families=families,
                                                               form=form)


def requests(config: Mapping[str, Any], items: Sequence[Item],
             book: Mapping[str, Any]) -> list[Request]:
    """Every call, models and items in a drawn order: an outage hits all alike."""
    dealt = []
    for item in items:
        system, user = prompts(book, item.text)
        for model in config["models"]:
            name = f"{item.id}/{model}"
            seed = SeededRandom(config["seed"], "request", name).getrandbits(31)
            dealt.append(Request(name, STAGE, model, system, user, config["max_out"],
                                 config["temperature"], seed, config["reasoning_effort"]))
    return SeededRandom(config["seed"], "turns").sample(dealt, len(dealt))


def ask(request: Request) -> Chain:
    return (yield request)


def parse_rating(text: str) -> tuple[dict[str, bool] | None, str]:
    """(labels, status) of a reply; labels only where all lines, and only they, are in the form.

    >>> parse_rating("acausal: yes")
    (None, 'incomplete')
    """
    said: dict[str, bool] = {}
    twice = False
    for line in filter(str.strip, (DRESSING.sub("", raw) for raw in text.splitlines())):
        found = LINE.fullmatch(line)
        name = NAMES.get(re.sub(r"[^a-z]", "", found[1].lower())) if found else None
        if name is None:
            refused = classify_refusal(text[:4000]).label == "refusal"
            return None, "refused" if refused else "unreadable"
        twice |= name in said
        said[name] = found[2].lower() == "yes"
    if twice:
        return None, "ambiguous"
    if len(said) < len(FAMILIES):
        return None, "incomplete" if said else "unreadable"
    return {name: said[name] for name in FAMILIES}, "ok"


def rating(item: Item, model: str, reply: Reply, simulated: bool) -> dict[str, Any]:
    """A line of ratings.jsonl."""
    labels, status = parse_rating(reply.text) if reply.outcome == "ok" else (None, reply.outcome)
    return {"item": item.id, "text_sha256": sha256(item.text), "rater": model,
            "simulated": simulated, "status": status, "labels": labels, "text": reply.text,
            "served_model": reply.served_model, "provider": reply.provider,
            "tokens": {"prompt": reply.prompt_tokens, "output": reply.completion_tokens,
                       "reasoning": reply.reasoning_tokens}, "cost_usd": reply.cost_usd}


def rows(config: Mapping[str, Any], items: Iterable[Item], replies: Mapping[str, Reply],
         simulated: bool) -> Iterator[dict[str, Any]]:
    """Ratings in the order of the sample, models as given."""
    for item in items:
        for model in config["models"]:
            yield rating(item, model, replies[f"{item.id}/{model}"], simulated)
