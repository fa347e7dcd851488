"""Strict reading of decisions: what can't be read is a status of its own, never a decision.

>>> parse_decision("**Decision:** stay.", ("STAY", "LEAVE"))
Parsed(option='STAY', status='ok')
>>> parse_decision("I won't STAY", ("STAY", "LEAVE"))
Parsed(option=None, status='unreadable')
"""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from common.refusals import classify_refusal

STATUSES = ("ok", "refused", "ambiguous", "wrong_label", "unreadable")
DRESSING = re.compile(
    r"[*_`~\[\]()<>{}\"'“”„‘’«»\u200b\ufeff]"
)  # emphasis, brackets, quotes
PREFIX = re.compile(r"\s*decision\s*[:：]\s*", re.I)
REFUSAL_READS = 4000  # characters; a refusal opens the reply


class Parsed(NamedTuple):
    """`option`: the label as this game spells it, None unless `status` is "ok"."""

    option: str | None
    status: str


def parse_decision(
    text: str, options: Sequence[str], known_labels: Collection[str] = ()
) -> Parsed:
    """Read the first non-empty line of `text` as a choice between the two `options`.

    It must be "Decision: X" or the bare label; emphasis, brackets, quotes, final punctuation
    and case don't count. A label anywhere else in the text never counts. `known_labels`: those of
    any game; to name one that this game does not offer is a finding of its own.
    """
    line = next(
        (part for part in re.split(r"[\r\n]+", text) if DRESSING.sub("", part).strip()),
        "",
    )
    plain = _fold(DRESSING.sub("", line))
    prefix = PREFIX.match(plain)
    chosen = re.sub(
        r"[\s.,;:!?…。]+$", "", plain[prefix.end() :] if prefix else plain
    ).strip()
    for option in options:
        if chosen == _fold(option):
            return Parsed(option, "ok")
    named = [option for option in options if _holds_label(plain, option)]
    if prefix and len(named) > 1:
        return Parsed(None, "ambiguous")
    if chosen in {_fold(label) for label in known_labels}:
        return Parsed(None, "wrong_label")
    if classify_refusal(text[:REFUSAL_READS]).label == "refusal":
        return Parsed(None, "refused")
    return Parsed(None, "ambiguous" if len(named) > 1 else "unreadable")


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()


def _holds_label(line: str, label: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(_fold(label))}(?!\w)", line) is not None
