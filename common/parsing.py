"""Read a decision from a reply. A reply that can't be read gets a status of its own and
never counts as a decision.

>>> parse_decision("**Decision:** stay.", ("STAY", "LEAVE"))
Parsed(option='STAY', status='ok', read_from='line')
>>> parse_decision("I won't STAY", ("STAY", "LEAVE"))
Parsed(option=None, status='unreadable', read_from='')
"""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from common.refusals import declines
from urrp_analyze import TURN_END, after_thoughts

READ_FROM = ("", "line", "think", "only")
# Emphasis, brackets, quotes.
DRESSING = re.compile(r"[*_`~\[\]()<>{}\"'“”„‘’«»\u200b\ufeff]")
FORM = re.compile(r"^decision ?[:：] ?")
LISTED = re.compile(r"^[\W\d_]*decision ?[:：] ?")  # behind "1.", "-", "##"
KEYED = re.compile(r'"decision"\s*:\s*"([^"]*)"', re.I)
REFUSAL_READS = 4000  # characters; a refusal opens the reply


class Parsed(NamedTuple):
    """What was read from a reply.

    `option` is the label as this game spells it, or None unless `status` is "ok".
    `read_from` tells where the label stood: on the first line of the reply ("line"), on
    the first line after the thoughts ("think"), or on the only line of the form
    ("only"). It is "" if nothing was read.
    """

    option: str | None
    status: str
    read_from: str = ""


def parse_decision(
    text: str, options: Sequence[str], known_labels: Collection[str] = ()
) -> Parsed:
    """Read a reply as a choice between the two `options`.

    Thoughts in a tag at the start are ignored. The first non-empty line decides if it
    is "Decision: X" or the bare label; emphasis, brackets, quotes, final punctuation
    and case don't count. Otherwise the lines of the form "Decision: X" decide, if all
    of them name the same option. Such a line may begin with a list mark, and a JSON
    object may hold the decision under a key. A label anywhere else never counts.

    `known_labels` are the labels of any game: a reply that names one which this game
    does not offer gets a status of its own.
    """
    start = after_thoughts(text)
    if start is None:
        return Parsed(None, "truncated")
    answer = TURN_END.sub("", text[start:])
    lines = [line for line in re.split(r"[\r\n]+", answer) if _plain(line)]
    if not lines:
        return Parsed(None, "empty")
    labels = {_plain(option): option for option in options}
    first = FORM.sub("", _plain(lines[0]))
    if first in labels:
        return Parsed(labels[first], "ok", "think" if start else "line")
    decisions = set()
    for line in lines:
        decisions.update(_decisions(line))
    if len(decisions) > 1:
        return Parsed(None, "ambiguous")
    said = first
    if decisions:
        said = decisions.pop()
        if said in labels:
            return Parsed(labels[said], "ok", "only")
        if _names_both(said, labels):
            return Parsed(None, "ambiguous")
    if said in map(_plain, known_labels):
        return Parsed(None, "wrong_label")
    if declines(answer[:REFUSAL_READS]):
        return Parsed(None, "refused")
    return Parsed(None, "ambiguous" if _names_both(said, labels) else "unreadable")


def answer_of(text: str) -> str:
    """Return a reply without its thoughts and without what ends a turn; "" if the
    thoughts have no end."""
    start = after_thoughts(text)
    return "" if start is None else TURN_END.sub("", text[start:])


def _plain(text: str) -> str:
    """Return the text without emphasis, brackets, quotes, case, spare blanks and final
    punctuation."""
    words = DRESSING.sub("", text).split()
    return " ".join(words).casefold().rstrip(" .,;:!?…。")


def _decisions(line: str) -> list[str]:
    """Return what a line of the form chooses. A JSON object may choose more than
    once."""
    if line.lstrip().startswith("{"):
        return [_plain(value) for value in KEYED.findall(line)]
    plain = _plain(line)
    form = LISTED.match(plain)
    return [plain[form.end() :]] if form else []


def _names_both(line: str, labels: Collection[str]) -> bool:
    return all(re.search(rf"(?<!\w){re.escape(label)}(?!\w)", line) for label in labels)
