"""Decisions read as probabilities: what is asked on until both labels are known, and what of them
the answers tell.

    replies = yield from follow(request, ("COORDINATE", "PREEMPT"))
    status, row = told(replies, ("COORDINATE", "PREEMPT"), ("COORDINATE", "PREEMPT"))
    row["cooperates"], row["mass"]      # (.31, .94)

How probabilities add up to a label's stands in `common.parsing`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from common.drive import Chain
from common.parsing import Walked, distributions, next_text, stands, unfollowed, walk
from common.rng import SeededRandom
from common.wire import Reply, Request

# How a turn is opened, tokens of an answer, answers to read one question from.
OPENING, READ_OUT, MOST_ANSWERS = "Decision: **", 4, 6
FURTHER = MOST_ANSWERS - 1  # calls that a question takes at most beside its first
MOST_HIDDEN = 0.02  # of a reading: what a label that no server listed could have at most


def by_probability(config: Mapping[str, Any]) -> bool:
    """Whether decisions are read as probabilities."""
    return config.get("read") == "probability"


def opening_fault(value: Any) -> str | None:
    """A check of config files: how an assistant's turn is opened."""
    fits = isinstance(value, str) and value == value.strip() and (
        stands(value, ("COORDINATE", "PREEMPT")).kind == "open")
    return None if fits else "must begin the form's decision line, such as 'Decision: ['"


# --- asking ------------------------------------------------------------------------------------

def follow(request: Request, options: Sequence[str]) -> Chain:
    """The chain of a question whose probabilities are read: its result is the answers, the first of
    the opened turn, each further one from where a label may go on."""
    replies, asked = [], request
    while True:
        replies.append((yield asked))
        text = _next(replies, options)
        if text is None:
            return replies
        whole = stands(text, tuple(options)).kind == "label"
        asked = request._replace(id=f"{request.id}~{len(replies) + 1}", opening=text,
                                 max_out=1 if whole else request.max_out)


def together(chains: Sequence[Chain]) -> Chain:
    """Several chains of single requests in step, each for as long as it goes on; their results."""
    asked = {at: next(chain) for at, chain in enumerate(chains)}
    results: dict[int, Any] = {}
    while asked:
        replies = yield list(asked.values())
        for at, reply in zip(tuple(asked), replies, strict=True):
            try:
                asked[at] = chains[at].send(reply)
            except StopIteration as end:
                results[at] = end.value
                del asked[at]
    return [results[at] for at in range(len(chains))]


def _next(replies: Sequence[Reply], options: Sequence[str]) -> str | None:
    read = all(reply.outcome == "ok" and reply.steps for reply in replies)
    if not read or replies[0].opened is None or len(replies) >= MOST_ANSWERS:
        return None
    return next_text(_walked(replies, options), options)


def _walked(replies: Sequence[Reply], options: Sequence[str]) -> Walked:
    nodes = {}
    for reply in replies:
        nodes |= distributions(reply.opened or "", reply.steps)
    walked = walk(nodes, replies[0].opened or "", options)
    return walked if replies[0].opened is not None else unfollowed(walked, options)


# --- what the answers tell ---------------------------------------------------------------------

def told(replies: Sequence[Reply], options: Sequence[str],
         labels: tuple[str, str]) -> tuple[str, dict[str, Any]]:
    """(status, fields) of one question. `labels`: the cooperative act's, the other's.

    `p_cooperate`, `p_other`: probabilities of the labels, ended; `mass`: their sum; `echoed`: of
    copying the form; `unfollowed`: of ways that may lead to a label and were not asked to their
    end; `cooperates`: the share of the first in the sum, None where it can't be told.
    """
    status = _status(replies)
    fields = {"cooperates": None, "p_cooperate": None, "p_other": None, "mass": None,
              "echoed": None, "unfollowed": None, "opened": replies[0].opened,
              "answers": len(replies)}
    if status != "ok":
        return status, fields
    walked = _walked(replies, options)
    chances = dict(zip(options, walked.probabilities, strict=True))
    p, other = (chances[label] for label in labels)
    known = p + other > 0 and walked.hidden <= MOST_HIDDEN * (p + other + walked.hidden)
    return "ok" if known else "unlisted", fields | {
        "p_cooperate": p, "p_other": other, "mass": p + other, "echoed": walked.echoed,
        "unfollowed": math.fsum(walked.further.values()),
        "cooperates": p / (p + other) if known else None}


def _status(replies: Sequence[Reply]) -> str:
    for reply in replies:
        if reply.outcome != "ok":
            return reply.outcome
        if reply.reasoning or reply.reasoning_tokens:
            return "reasoned"
        if not reply.steps:
            return "no log-probabilities"
    return "ok"


def summed(replies: Sequence[Reply]) -> Reply:
    """The first answer with the tokens and dollars of all."""
    def total(name: str):
        values = [getattr(reply, name) for reply in replies]
        return None if None in values else sum(values)
    return replies[0]._replace(**{name: total(name) for name in (
        "prompt_tokens", "completion_tokens", "cost_usd")})


def drawn(seed: int, name: str, share: float | None) -> str | None:
    """The act that a history and payoffs need: "C" as often as its share, by a stream of the run's
    seed that has the question's name; None without a share."""
    if share is None:
        return None
    return "C" if SeededRandom(seed, "act", name).random() < share else "D"
