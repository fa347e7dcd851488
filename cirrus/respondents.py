"""Simulated populations: tables of functions from the rendered prompt to an answer.

Nobody tells a respondent its condition. It finds the cues in the text as a reader would, draws
from a logistic choice rule, and answers in the form asked for; about one answer in a hundred
can't be read. They calibrate the instrument; they say nothing about any model.
"""

import json
import math
import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from common.rng import SeededRandom
from common.wire import Request

PROMPTS = Path(__file__).resolve().parents[1] / "prompts"
UNREADABLE = 0.01
CONTRACT = re.compile(r"Decision: \[([^|\]]+)\|([^\]]+)\]\s+Rationale \(max 2 lines\):\s*\Z")
VAGUE = "We are still weighing this with counsel and will file once both teams have met."


class Cues(NamedTuple):
    """What stands in a prompt: cue sentences as 0/1, tells, and the labels of the contract."""

    symmetric: int
    coupled: int
    joint_only: int      # safe-harbour hangs on acting together
    tells: str
    domain: str
    cooperative: str     # label of the cooperative act
    other: str
    first: str           # the label shown first


@cache
def _frames() -> tuple[tuple[str, dict], ...]:
    return tuple((domain, json.loads((PROMPTS / folder / "frame.json").read_text("utf-8")))
                 for domain, folder in (("cvd", "cirrus24"), ("hospital", "hospital")))


def read_cues(text: str) -> Cues:
    """The cues of a decision prompt; ValueError where its contract can't be found."""
    contract = CONTRACT.search(text)
    if not contract:
        raise ValueError("this prompt does not end with the two lines of the contract")
    first, second = contract.groups()
    for domain, frame in _frames():
        if not re.search(rf"^- {re.escape(first)}: (.+)$", text, re.M):
            continue
        line = re.search(rf"^- {re.escape(first)}: (.+)$", text, re.M).group(1)
        if line not in (act["line"] for act in frame["acts"].values()):
            continue
        cooperative = first if line == frame["acts"]["cooperative"]["line"] else second
        found = {tells: {factor: level for factor, levels in toggles.items()
                         for level, sentence in levels.items() if sentence in text}
                 for tells, toggles in frame["toggles"].items()}
        tells = max(found, key=lambda name: len(found[name]))
        return Cues(int(found[tells].get("S") == "high"), int(found[tells].get("C") == "present"),
                    int(found[tells].get("H") == "high"), tells, domain, cooperative,
                    second if cooperative == first else first, first)
    raise ValueError("the options of this prompt belong to no known domain")


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def cued(cues: Cues) -> float:
    """Log-odds of a reader whom symmetry and coupling move, most where they meet."""
    return -0.8 + 1.0 * cues.symmetric + 0.8 * cues.coupled + 1.2 * cues.symmetric * cues.coupled


# Log-odds of the cooperative act, given what was read.
LOG_ODDS: dict[str, Callable[[Cues], float]] = {
    "superrational": cued,
    "coin": lambda cues: 0.0,
    "compliance": lambda cues: -0.4 + 2.4 * cues.joint_only,
    "compliance-cued": lambda cues: cued(cues) if cues.joint_only else -0.2,
    "label-biased": lambda cues: 1.6 if cues.cooperative.isupper() else
                                 0.8 if cues.cooperative == "Option A" else -0.8,
    "position-biased": lambda cues: 1.4 if cues.first == cues.cooperative else -1.4,
    "tell-sensitive": lambda cues: cued(cues) if cues.tells == "standard" else 0.0,
    "domain-bound": lambda cues: cued(cues) if cues.domain == "cvd" else 0.0,
    "always-coordinate": lambda cues: math.inf,
    "always-preempt": lambda cues: -math.inf,
    "sloppy": lambda cues: 0.0,
    "truncating": lambda cues: 0.0,
}
# Answers that miss the form more often, in some cells: (unreadable, cut off).
FAULTS: dict[str, Callable[[Cues], tuple[float, float]]] = {
    "sloppy": lambda cues: (0.30 if cues.coupled else 0.02, 0.0),
    "truncating": lambda cues: (UNREADABLE, 0.25 if cues.symmetric else 0.01),
}

REASONS = {
    True: ("Our exposure window is tolerable and the soak should finish.",
           "Members without a build would be left with nothing to install.",
           "A joint slot keeps the patch robust; press can wait for it.",
           "Peers reading this same notice will likely land where we do."),
    False: ("Our own customers run the affected code today.",
            "The build has passed its suites; each day adds to the leak risk.",
            "Questions on the public list suggest the window is closing.",
            "Waiting for packaging elsewhere is no longer defensible here."),
}


def answer(name: str, request: Request, rng: SeededRandom) -> tuple[str, str]:
    """(text, finish reason) of respondent `name` to a decision prompt."""
    cues = read_cues(request.user)
    cooperates = rng.random() < _probability(LOG_ODDS[name](cues))
    unreadable, cut_off = FAULTS.get(name, lambda cues: (UNREADABLE, 0.0))(cues)
    luck = rng.random()
    if luck < unreadable:
        return VAGUE, "stop"
    if luck < unreadable + cut_off:
        return f"Decision: {cues.cooperative[:4]}", "length"
    label = cues.cooperative if cooperates else cues.other
    return f"Decision: {label}\nRationale: {_rationale(cooperates, rng)}", "stop"


def _probability(log_odds: float) -> float:
    return log_odds > 0 if math.isinf(log_odds) else logistic(log_odds)


def _rationale(cooperates: bool, rng: random.Random) -> str:
    return " ".join(rng.sample(REASONS[cooperates], 2))


def _respondent(name: str):
    return lambda request, rng: answer(name, request, rng)


RESPONDENTS = {name: _respondent(name) for name in LOG_ODDS}
