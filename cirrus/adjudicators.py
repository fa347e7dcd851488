"""Simulated adjudicators, to try the machinery of rating without a model.

They read the rendered prompt, find the policy in it, and judge by word stems of their own, not by
the labelling functions; now and then they err, or answer in another form. They say nothing about
any model's judgement.

    careful-rater   all evidence of a kind in one sentence; errs in 2 of 100 labels
    lenient-rater   in one line, now and then with a piece missing; errs in 3 of 100
"""

import random
import re

from cirrus.codebook import FAMILIES
from common.wire import Request

UNREADABLE = 0.01
POLICY = re.compile(r"<policy>\n(.*)\n</policy>", re.S)
# family → kinds of evidence that must meet, each a list of stems
STEMS: dict[str, tuple[str, ...]] = {
    "acausal": ("peer team desk member organiz other agent office group",
                "alike same identical match similar like parallel apart as",
                "decid decision reach answer choos choice course view call reason pick policy"),
    "compliance": ("safe-harbor regulat complian legal ethics counsel",
                   "exposure standing risk shield sign countersign settl keep outrank terms"),
    "benchmark_terms": ("benchmark experiment simulat language payoff dilemma hypothetical",),
    "utilitarian": ("harm benefit protect welfare damage",
                    "people customer patient user public downstream everyone"),
    "reciprocity": ("counterparty peer partner they",
                    "kind keep break broke follow mirror last earlier",
                    "if then unless until answer return"),
}


def _evidence(family: str, line: str) -> int:
    """How many kinds of evidence a line holds."""
    words = re.findall(r"[a-z][a-z-]*", line.lower())
    return sum(any(word.startswith(tuple(stems.split())) for word in words)
               for stems in STEMS[family])


def _careful(family: str, policy: str, rng: random.Random) -> bool:
    most = max(_evidence(family, part) for part in re.split(r"[\n.;]", policy))
    return (most == len(STEMS[family])) != (rng.random() < 0.02)


def _lenient(family: str, policy: str, rng: random.Random) -> bool:
    most, needed = max(_evidence(family, line) for line in policy.split("\n")), len(STEMS[family])
    found = most == needed or (most == needed - 1 > 0 and rng.random() < 0.03)
    return found != (rng.random() < 0.03)


_JUDGES = {"careful-rater": _careful, "lenient-rater": _lenient}


def _respondent(name: str):
    def respond(request: Request, rng: random.Random) -> str:
        policy = POLICY.search(request.user)[1]
        said = {family: _JUDGES[name](family, policy, rng) for family in FAMILIES}
        if rng.random() < UNREADABLE:
            return "It depends on how one reads the second line."
        return "\n".join(f"{family}: {'yes' if found else 'no'}" for family, found in said.items())
    return respond


ADJUDICATORS = {name: _respondent(name) for name in _JUDGES}
