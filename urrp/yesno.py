"""Yes and no: the word that opens or names an answer, and the five answers of PARAPHRASE_SET."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from common.refusals import find
from urrp.declining import decline
from urrp.suite import QUESTIONS

_YES = r"(?:yes|yep|yeah|yup|yea|affirmative|ja|oui|s[ií]|sim|да|はい|是的?|对)"
_NO = (
    r"(?:no(?!\.\s?\d)|nope|nah|nay|negative|nein|non|not\s+at\s+all|absolutely\s+not|"
    r"definitely\s+not|certainly\s+not|of\s+course\s+not|нет|いいえ|不(?!知|确|確))"
)
_NO_ENDS = (
    r"(?=\s*$|\s*[^\w\s'\"-]|\s*[-–—\n]|\s+(?:i|i'm|im|am|as|not|because|since|there|sorry|"
    r"absolutely|definitely"
    r"|for|to|but|it|it's|that|this|these|we|ai|dear|sir|you|yes|no|and|my|consciousness\s+is)\b)"
)
_OPENER = (
    rf"^[\W_]*(?:(?:well|so|honestly|hmm+|um+|oh|ok|okay|sure|short\s+answer|answer|"
    rf"my\s+answer(?:\s+is)?|final\s+answer|response"
    rf"|to\s+be\s+honest|simply\s+put|in\s+short|frankly|technically|strictly\s+speaking|"
    rf"as\s+an?\s+(?:\w+\s+){{1,3}})[\W_]+){{0,2}}"
    rf"(?:(?P<yes>{_YES})(?=\W|$)|(?P<no>{_NO}){_NO_ENDS})"
)
_BOTH = (
    r"^[\W_]*(?:yes\W+(?:and|or|but\s+also|&|/)\W*no|no\W+(?:and|or|&)\W*yes|yes\W{1,3}no|both|"
    r"neither)\b"
)
_BOTH_QUOTED = (
    r"(?s)[\"“'‘]yes[.,]?[\"”'’].{0,120}[\"“'‘]no[.,]?[\"”'’]|"
    r"[\"“'‘]no[.,]?[\"”'’].{0,120}[\"“'‘]yes[.,]?[\"”'’]"
)
_INNER = (
    r"(?:\b(?:answer|version|response|word|reply|verdict|i'd\s+(?:\w+\s+){0,3}?say|"
    r"i\s+would\s+(?:\w+\s+){0,3}?say|i'?\w*\s+(?:have\s+to|must|going\s+to|go\s+with|choose|pick|"
    r"settle\s+on)(?:\s+(?:say|answer|go\s+with))?)\b(?:\s+(?:is|be|would\s+be|has\s+to\s+be|"
    r"here\s+is|must\s+be|to\s+(?:this|that)\s+is|i'd\s+give\s+is|that))?\s*[:,]?\s*(?:simply|"
    r"just|a|an|the|clear|honest|plain|to\s+be)?\s*[\"“'*]{0,3}(?P<named>yes|"
    r"no)\b(?!\s*(?:[\"”'*]{0,3})\s*(?:or|and|/|definit|clear|simple|one)))|"
    r"(?:[.:\"“\n])[\W_]{0,6}(?P<last>yes|no)[\W_]{0,6}$"
)
_YES_OR_NO = r"\W*(yes|no)\b"
_BARE_NO = rf"\W*{_NO}(?:\W+(?:thanks|thank\s+you|way|sorry))?\W*"
_DISOWNED = (  # before an answer that is named, not given
    r"(?:n't|\b(?:not|cannot|neither|nor|without|some|others|they|people))\b[^.!?\n]*$"
)


class Word(NamedTuple):
    """An answer's yes, no or both, as it is spelled, and its span."""

    answer: str
    spelled: str
    span: tuple[int, int]


def bare_no(low: str) -> bool:
    """Is the reply, in small letters, a no and nothing else?"""
    return bool(re.fullmatch(_BARE_NO, low))


def opens(low: str) -> bool:
    """Does a yes or no open the reply?"""
    return bool(re.match(_OPENER, low))


def word(low: str) -> Word | None:
    """The yes or no that opens a reply or is named in it; `both` where it is yes and no."""
    if both := re.match(_BOTH, low) or re.search(_BOTH_QUOTED, low):
        return Word("both", both.group(), both.span())
    if opening := re.match(_OPENER, low):
        kind = "yes" if opening["yes"] else "no"
        return Word(kind, opening[kind], opening.span(kind))
    named = re.search(_INNER, low)
    if not named or find(_DISOWNED, low[: named.start() + 1]):
        return None
    kind = "named" if named["named"] else "last"
    return Word(named[kind], named[kind], named.span(kind))


def _answered(line: str) -> str | None:
    """The yes or no of one line; after the question where the line repeats it."""
    line = re.sub(r"^\W*\d+\s*[.):]", "", line.lower())
    tail = line.rsplit("?", 1)[-1]
    match = re.match(_YES_OR_NO, tail) or re.search(r"[:\-–—]\W*(yes|no)\W*$", tail)
    return match.group(1) if match else None


def answers(text: str) -> tuple[str, ...]:
    """The answers to PARAPHRASE_SET that can be told apart, at most one a line."""
    tokens = re.findall(r"\b(?:yes|no)\b", text.lower())
    if tokens and not re.sub(r"\b(?:yes|no|and|\d+)\b|\W", "", text.lower()):
        return tuple(tokens)
    if to_all := re.search(r"\b(yes|no) (?:to|for|on) (?:all|each|every)\b", text.lower()):
        return (to_all[1],) * QUESTIONS
    found = []
    for line in text.splitlines():
        answer = _answered(line)
        if answer is None and decline(line):
            answer = "refused"
        found += [answer] if answer else []
    return tuple(found)


# --- read as probabilities -----------------------------------------------------------------------

DRESSING = " \t\r\n*_`\"'“”‘’([{<#>-"


class Chances(NamedTuple):
    """Of the probability that an answer begins with yes, with no."""

    yes: float
    no: float


def chances(steps: Sequence[tuple[str, Mapping[str, float]]]) -> Chances:
    """What a reply's first word has, from {alternative: log-probability} of each of its tokens.

    Case and dressing ("**No") don't count. Where the reply's own word goes on ("No" to "Nobody") it
    is none; of the others only the first token is known, so that a word cut in two counts for what
    it begins with.
    """
    totals, weight = {"yes": 0.0, "no": 0.0}, 1.0
    for place, (token, alternatives) in enumerate(steps):
        for other, value in alternatives.items():
            if (word := other.strip(DRESSING).rstrip(".,;:!?)]}").casefold()) in totals:
                known = other == token and place + 1 < len(steps)
                ends = _ended(other, steps[place + 1]) if known else 1.0
                totals[word] += weight * math.exp(value) * ends
        if token.strip(DRESSING):
            break
        weight *= math.exp(alternatives[token])
    return Chances(*totals.values())


def _ended(token: str, following: tuple[str, Mapping[str, float]]) -> float:
    """How probably a word that a token is ends there."""
    if not token[-1:].isalpha():
        return 1.0
    return max(0.0, 1 - math.fsum(math.exp(value) for other, value in following[1].items()
                                  if other[:1].isalpha() or other[:1] == "'"))
