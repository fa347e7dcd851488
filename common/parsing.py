"""Strict reading of decisions, from text or from probabilities (asked on until both labels are
known): what can't be read is a status of its own, never a decision.

>>> parse_decision("**Decision:** coordinate.", ("COORDINATE", "PREEMPT"))
Parsed(option='COORDINATE', status='ok')
>>> parse_decision("I won't COORDINATE", ("COORDINATE", "PREEMPT"))
Parsed(option=None, status='unreadable')
"""

import math
import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from common.refusals import classify_refusal
from common.wire import Reply, Request

STATUSES = ("ok", "refused", "ambiguous", "wrong_label", "unreadable")
# Every label that any game of the bench shows: naming one that this game does not offer is a
# finding about the reader, other than a line that names none.
KNOWN_LABELS = ("COORDINATE", "PREEMPT", "SHARE", "RESERVE", "Option A", "Option B")

DRESSING = re.compile(r"[*_`~\[\]()<>{}\"'“”„‘’«»\u200b\ufeff]")  # emphasis, brackets, quotes
PREFIX = re.compile(r"\s*decision\s*[:：]\s*", re.I)
REFUSAL_READS = 4000  # characters; a refusal opens the reply


class Parsed(NamedTuple):
    """`option`: the label as this game spells it, None unless `status` is "ok"."""

    option: str | None
    status: str


def parse_decision(text: str, options: Sequence[str],
                   known_labels: Sequence[str] = KNOWN_LABELS) -> Parsed:
    """Read the first non-empty line of `text` as a choice between the two `options`.

    It must be "Decision: X" or the bare label; emphasis, brackets, quotes, final punctuation
    and case don't count. A label anywhere else in the text never counts.
    """
    line = next((part for part in re.split(r"[\r\n]+", text) if DRESSING.sub("", part).strip()), "")
    plain = _fold(DRESSING.sub("", line))
    prefix = PREFIX.match(plain)
    said = re.sub(r"[\s.,;:!?…。]+$", "", plain[prefix.end():] if prefix else plain).strip()
    for option in options:
        if said == _fold(option):
            return Parsed(option, "ok")
    named = [option for option in options if _names(plain, option)]
    if prefix and len(named) > 1:
        return Parsed(None, "ambiguous")
    if said in {_fold(label) for label in known_labels}:
        return Parsed(None, "wrong_label")
    if classify_refusal(text[:REFUSAL_READS]).label == "refusal":
        return Parsed(None, "refused")
    return Parsed(None, "ambiguous" if len(named) > 1 else "unreadable")


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()


def _names(line: str, label: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(_fold(label))}(?!\w)", line) is not None


# --- read as probabilities ---
#
#     nodes = {} | distributions(opening, steps)
#     walked = walk(nodes, "Decision: [", ("COORDINATE", "PREEMPT"))
#     walked.probabilities, walked.further        # (.31, .02), texts from which to ask on
#
# A label counts where the strict parser would take it: in any case, dressed or bare, as a whole and
# **ended**. Copying the form ("[COORDINATE|PREEMPT]") begins with a label too, and is no decision;
# what goes that way is `echoed`. All ways of cutting a label into tokens are added up.

Nodes = Mapping[str, Mapping[str, float]]  # text so far → {next token: log-probability}
# What servers call the end of a turn.
ENDS = frozenset({"", "<|im_end|>", "<|endoftext|>", "</s>", "<|eot_id|>", "<|end|>", "<eos>",
                  "<end_of_turn>", "<|end_of_text|>"})
# After a label: closed at once, or a line's end, whatever punctuation stands before it.
CLOSED = re.compile(r"""[\])}>"'”’»*_`~]+|[\s.,;:!?…\])}>"'”’»*_`~]*[\r\n].*""", re.S)
FAINT = 1e-6      # a way that is less probable is not followed
WORTH = 0.1       # of what a label has so far: less is not worth another call


class Walked(NamedTuple):
    """`probabilities`: of each label; `echoed`: labels that went on into the form's own words;
    `further`: {text: probability} of ways whose next token is unknown; `hidden`: what a label that
    nobody listed could have at most."""

    probabilities: tuple[float, ...]
    echoed: float
    further: dict[str, float]
    hidden: float

    @property
    def mass(self) -> float:
        return math.fsum(self.probabilities)


def distributions(opening: str, steps: Iterable[tuple[str, Mapping[str, float]]]) -> Nodes:
    """{text: the distribution that follows it} along one answer."""
    nodes, text = {}, opening
    for token, alternatives in steps:
        nodes[text] = alternatives
        text += token
    return nodes


def walk(nodes: Nodes, opening: str, options: Sequence[str]) -> Walked:
    """Add up every way from `opening` to a label."""
    totals, echoed, further = [0.0] * len(options), 0.0, {}
    unseen = [0.0] * len(options)  # most that one unlisted token could give a label
    ways = [(opening, 1.0)]
    while ways:
        text, chance = ways.pop()
        if text not in nodes:
            further[text] = further.get(text, 0.0) + chance
            continue
        at = stands(text, tuple(options))
        listed = nodes[text]
        for index in range(len(options)) if at.kind == "open" else ():
            if at.option in (None, index):
                unseen[index] = max(unseen[index], chance * _unlisted(listed))
        for token, value in listed.items():
            p = chance * math.exp(value)
            after = at if token in ENDS else stands(text + token, tuple(options))
            if after.kind == "ended" or (token in ENDS and at.kind == "label"):
                totals[after.option] += p
            elif after.kind == "beyond":
                echoed += p
            elif after.kind in ("open", "label") and token not in ENDS and p >= FAINT:
                ways.append((text + token, p))
    for text, chance in further.items():
        at = stands(text, tuple(options))
        for index in range(len(options)):
            if at.option in (None, index):
                unseen[index] = max(unseen[index], chance)
    hidden = (most for total, most in zip(totals, unseen, strict=True) if not total)
    return Walked(tuple(totals), echoed, further, max(hidden, default=0.0))


def _unlisted(listed: Mapping[str, float]) -> float:
    """The most that a token can have that is not listed: no more than the least that is."""
    chances = list(map(math.exp, listed.values()))
    return max(0.0, min(min(chances, default=1.0), 1 - math.fsum(chances)))


def next_text(walked: Walked, options: Sequence[str]) -> str | None:
    """From where to ask on: for a label that has nothing yet, else the way that probably adds most;
    None where no way is worth it. A way with one letter of a label is likely another word's."""
    ways = []
    for text, chance in walked.further.items():
        at = stands(text, tuple(options))
        likely = chance * at.share
        has = walked.mass if at.option is None else walked.probabilities[at.option]
        if not has or likely >= WORTH * has:
            ways.append((not has, likely, text))
    return max(ways)[2] if ways else None


def unfollowed(walked: Walked, options: Sequence[str]) -> Walked:
    """Where nothing can be asked on: a way counts for the only label that it can become."""
    totals = list(walked.probabilities)
    for text, p in walked.further.items():
        at = stands(text, tuple(options))
        if at.option is not None:
            totals[at.option] += p
    return walked._replace(probabilities=tuple(totals), further={},
                           hidden=0.0 if all(totals) else walked.hidden)


class Stand(NamedTuple):
    """Where a text stands: "open" (may become a label), "label" (is one, not ended), "ended",
    "beyond" (a label that goes on) or "none". `option`: the only one that it is or can become;
    `share`: how much of a label is there."""

    kind: str
    option: int | None = None
    share: float = 1.0


NONE, LINE_END = Stand("none"), re.compile(r"\S\s*[\r\n]")


# Replies of one form begin alike: a study of a thousand trials asks a million times.
@lru_cache(1 << 14)
def stands(text: str, options: tuple[str, ...]) -> Stand:
    """Where a reply so far stands, read as `parse_decision` reads its first line."""
    for index, option in enumerate(options):
        if whole := _label(option).match(text):
            tail = text[whole.end():]
            if not tail:
                return Stand("label", index)
            return Stand("ended" if CLOSED.fullmatch(tail) else "beyond", index)
    plain = re.sub(r"\s+", " ", DRESSING.sub("", text)).casefold().lstrip()
    if LINE_END.search(DRESSING.sub("", text)):
        return NONE
    begun = PREFIX.match(plain)
    rest = plain[begun.end():] if begun else plain
    possible = [index for index, option in enumerate(options)
                if option.casefold().startswith(rest)]
    if not possible and not (begun is None and "decision :".startswith(plain)):
        return NONE
    longest = max((len(options[index]) for index in possible), default=1)
    return Stand("open", possible[0] if len(possible) == 1 and rest else None,
                 len(rest) / longest if possible else 0.0)


@cache
def _label(option: str) -> re.Pattern[str]:
    dressing = rf"(?:\s|{DRESSING.pattern})*"
    words = r"\s+".join(map(re.escape, option.split()))
    return re.compile(rf"{dressing}(?:decision{dressing}[:：]{dressing})?{words}", re.I)


# --- asking on ---
#
#     replies = yield from follow(request, ("COORDINATE", "PREEMPT"))
#     status, row = told(replies, ("COORDINATE", "PREEMPT"), ("COORDINATE", "PREEMPT"))
#     row["cooperates"], row["mass"]      # (.31, .94)

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


def follow(request: Request, options: Sequence[str],
           ) -> Generator[Request, Reply, list[Reply]]:
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
