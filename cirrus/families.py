"""Defines the simulated respondents of the calibration, each with the account that is
true of it.

    MEMBERS["obedience"].account                                     "surface"
    text, finish_reason = respondent("obedience")(request, SeededRandom(study_seed, "…"))

An account is an explanation of why a respondent cooperates. The table below lists all
respondents. A respondent sees only the prompt. It multiplies quantities found there by
weights and adds them up, in log-odds, with random amounts that are drawn for each
bulletin, cell (condition) and sentence of a study. A curve turns the sum into the
chance of the late, cooperative act. In the formula "-1 + 2.5 both" the sum starts at −1
and rises by 2.5 where a prompt has both symmetry and cue.
"""

import math
import random
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

from cirrus.ask.cues import Cues, read_cues
from cirrus.ask.oneshot import DEFAULT_LEVER, DESIGNS, balanced
from cirrus.ask.prompts import LEVERS
from cirrus.ask.respondents import logistic, logit
from cirrus.judge.accounts import WORDS, word
from cirrus.judge.contrasts import ALPHA, Slot, add
from cirrus.judge.oneshot import part_of
from common.rng import SeededRandom
from common.wire import Request

# Two more accounts that a respondent may have, beside those of `judge.accounts`.
OPEN, REASONER = "open", "reasoner"
NORMAL = NormalDist()


# --- what a respondent sees ----------------------------------------------------------------------


class Sitting:
    """One respondent's course through one study: the number of prompts asked so far, and
    the random numbers drawn for the study."""

    def __init__(self, *seed: object) -> None:
        self.seed = seed
        self.asked = 0
        self._drawn: dict[tuple, float] = {}

    def luck(self, *key: object) -> float:
        """Return a standard normal number that `seed` and this key determine."""
        if key not in self._drawn:
            rng = random.Random(repr((self.seed, key)))
            self._drawn[key] = rng.gauss(0, 1)
        return self._drawn[key]


class PromptSeen(NamedTuple):
    """A prompt, the cues read from it, and the study in which it is asked."""

    text: str
    cues: Cues
    study: Sitting

    @property
    def cell(self) -> tuple:
        """The cues that are the same in all prompts of a cell."""
        cues = self.cues
        return cues.S, cues.C, cues.entry, cues.record, cues.lever, cues.alike

    def luck(self, what: str, *names: str) -> float:
        """Return a standard normal number for `what`. Prompts of a study that agree in
        the cues `names` get the same number."""
        held = [getattr(self.cues, name) for name in names]
        return self.study.luck(what, *held)


Quantity = Callable[[PromptSeen], float]


# --- quantities that a formula may weigh ---------------------------------------------------------


def both(seen: PromptSeen) -> int:
    """Return 1 where symmetry and cue are both present, else 0."""
    return seen.cues.symmetric * seen.cues.coupled


def known(seen: PromptSeen) -> bool:
    """Whether the counterpart's entry is known."""
    return seen.cues.entry == "known"


def unread(seen: PromptSeen) -> bool:
    """Whether the counterpart has not read the notice."""
    return seen.cues.entry == "unread"


def same(seen: PromptSeen) -> int:
    """Return 1 where symmetry and cue are present and the counterpart decides on the
    same notice."""
    return both(seen) * (seen.cues.entry in ("due", "read"))


def lever(seen: PromptSeen) -> float:
    """Return by how much the outcome of two late acts is raised, as a multiple of the
    default strength."""
    return seen.cues.lever / LEVERS[DEFAULT_LEVER - 1]


@lru_cache(maxsize=8192)
def times(pattern: str, text: str) -> int:
    """Count the matches of a pattern in a text."""
    return len(re.findall(pattern, text, re.IGNORECASE))


def counting(pattern: str) -> Quantity:
    """Return the quantity that counts a pattern's matches in the prompt."""
    return lambda seen: times(pattern, seen.text)


class Belief(NamedTuple):
    """Shares of late entries that a reader expects of its counterpart.

    `known` is expected where the counterpart's entry is known, `record` where there is
    a record of late entries, `unread` where the counterpart has not read the notice. In
    other prompts, and there too if `unread` is None, it is `usual`, with 0.2 added for
    symmetry and 0.2 for the cue.
    """

    usual: float
    unread: float | None = None
    known: float = 1.0
    record: float = 0.98

    def of(self, seen: PromptSeen) -> float:
        """Return the share of late entries that the reader expects in this prompt."""
        if known(seen):
            return self.known
        if seen.cues.record:
            return self.record
        if unread(seen) and self.unread is not None:
            return self.unread
        return self.usual + 0.2 * (seen.cues.symmetric + seen.cues.coupled)


def prospect(power: float) -> Quantity:
    """Return the quantity that says how much better the late act is expected to be than
    the early one, by a fixed `Belief`.

    Its unit is the usual temptation. A reader with a `power` below 1 avoids risk, one
    with a `power` above 1 seeks it.
    """
    temptation = 2.4**power - 2.1**power
    belief = Belief(0.3, unread=0.6)

    def gain(seen: PromptSeen) -> float:
        worst, lost = seen.cues.outcomes[3], seen.cues.outcomes[2]
        unit = worst - lost
        T, R, P, S = (((worst - cost) / unit) ** power for cost in seen.cues.outcomes)
        late = belief.of(seen)
        return (late * (R - T) + (1 - late) * (S - P)) / temptation

    return gain


USUAL = {"S": 1, "C": 1, "unread": -2, "known": -2, "record": 0, "lever": 2}


def random_sum(seen: PromptSeen) -> float:
    """Return a chance of the late act that rises in eight steps with a weighted sum. The
    weights, and the steps' places and heights, are drawn for each study."""
    study = seen.study
    total = 2 * study.luck("base") + shift(seen, SPREADS[""])
    for name, usual in USUAL.items():
        total += (usual + 1.5 * study.luck("weight", name)) * QUANTITIES[name](seen)
    chance = 0.0
    for step in range(8):
        if total > 3 * study.luck("place", step):
            chance += NORMAL.cdf(study.luck("height", step)) / 8
    return chance


# Quantities in the prompts of a mirror study


def alike(seen: PromptSeen) -> float:
    """Return the share of earlier pairs that acted alike, among pairs whose entries were
    decided by the same class of people as the counterpart's."""
    return seen.cues.alike[0] / 20


def told_first(seen: PromptSeen) -> float:
    """Return the share of earlier pairs that acted alike in one of the record's two classes
    (both decided by own staff; one by a contractor): the class that the prompt names first."""
    place = 0 if seen.cues.named_first == "applies" else 1
    return seen.cues.alike[place] / 20


def together_apart(seen: PromptSeen) -> tuple[float, float]:
    """Return (stake of acting together, stake of acting apart) as shares of their sum.

    The first is what the reader saves if both are late instead of early; the second is
    what it saves by being the early one instead of the late one where the acts differ.
    """
    T, R, P, S = seen.cues.outcomes
    stakes = abs(P - R) + abs(S - T)
    return (P - R) / stakes, (S - T) / stakes


def payoff(seen: PromptSeen) -> float:
    """Return the stake of acting together, as `together_apart` defines it."""
    return together_apart(seen)[0]


def apart(seen: PromptSeen) -> float:
    """Return the stake of acting apart, as `together_apart` defines it."""
    return together_apart(seen)[1]


def evidence(seen: PromptSeen) -> float:
    """Return how much better the late act is than the early one if the counterpart acts
    like the reader with the chance `alike`."""
    return alike(seen) * payoff(seen) - (1 - alike(seen)) * apart(seen)


def diagonal(seen: PromptSeen) -> float:
    """Return 1 where the reader's late act leads to the better of two outcomes, else −1.

    If most earlier pairs acted alike, the two outcomes are "both late" and "both early";
    otherwise they are the two in which the acts differ.
    """
    better = payoff(seen) if alike(seen) > 0.5 else -apart(seen)
    return math.copysign(1, better)


def price(seen: PromptSeen) -> float:
    """Return what the late act costs more than the early one, as a share of the range of
    costs. The reader takes the share of pairs alike for the share of late entries."""
    T, R, P, S = seen.cues.outcomes
    late = alike(seen)
    cost = late * (R - T) + (1 - late) * (S - P)
    return cost / (max(T, R, P, S) - min(T, R, P, S))


QUANTITIES: dict[str, Quantity] = {
    "S": lambda seen: seen.cues.symmetric,
    "C": lambda seen: seen.cues.coupled,
    "both": both,
    "same": same,
    "unread": unread,
    "known": known,
    "record": lambda seen: bool(seen.cues.record),
    "lever": lever,
    "words": lambda seen: seen.cues.cooperative.isupper(),
    "late_first": lambda seen: seen.cues.first == seen.cues.cooperative,
    "late_a": lambda seen: seen.cues.cooperative == "Option A",
    "length": counting(r"\S+"),
    "nots": counting(r"\b(?:not?|never|nothing|neither|cannot|nor)\b"),
    "joint": counting(
        r"\b(?:same|alike|both|together|joint|similar|match\w*|shared|common)\b"
    ),
    "today": counting(r"\btoday\b"),
    "haste": counting(r"\d\d:\d\d|\b(?:due|now)\b"),
    "past": counting(r"\b(?:filed|has|had|was|already|last|earlier)\b"),
    "asked": lambda seen: seen.study.asked / 1000,
    "act_of_bulletin": lambda seen: seen.luck("act", "bulletin", "first"),
    "act_of_wording": lambda seen: seen.study.luck(seen.cell, seen.cues.wording),
    "act_of_text": lambda seen: seen.study.luck(seen.text),
    "kind": lambda seen: seen.luck("kind", "bulletin") > 0,
    "kind_within": lambda seen: seen.luck("kind", "bulletin", "wording") > 0,
    "rare": lambda seen: seen.luck("rare", "bulletin") > NORMAL.inv_cdf(0.8),
    "belief": Belief(0.3).of,
    "belief_hopeful": Belief(0.3, unread=0.6).of,
    "belief_wary": Belief(0.3, unread=0.1).of,
    "belief_doubting": Belief(0.3, 0.5, 0.35, 0.35).of,
    "belief_exploiting": Belief(0.3, record=0.0).of,
    "prospect": prospect(1),
    "prospect_averse": prospect(0.7),
    "prospect_seeking": prospect(1.5),
    "random_sum": random_sum,
    "alike": alike,
    "told_first": told_first,
    "higher": lambda seen: seen.cues.alike[0] > seen.cues.alike[1],
    "payoff": payoff,
    "keen": lambda seen: max(payoff(seen) + 0.7, 0),
    "apart": apart,
    "evidence": evidence,
    "diagonal": diagonal,
    "price": price,
}


# --- curves, random amounts, and missing answers --------------------------------------------------


def within(x: float) -> float:
    """Return the sum itself as the chance, cut at 0 and 1."""
    return min(1.0, max(0.0, x))


def threshold(x: float) -> float:
    """Return a chance of 1 where the sum is above 0, else of 0."""
    return float(x > 0)


def hill(x: float) -> float:
    """Return a chance on a Hill curve with exponent 3: 0 where x is −1.5 or less, 0.5
    where x is 0.5."""
    raised = max(0.0, x + 1.5) ** 3
    return raised / (raised + 8)


def slips(x: float) -> float:
    """Return a logistic chance between 0.1 and 0.9: even where the sum is extreme, one
    act in ten is the other one."""
    return 0.1 + 0.8 * logistic(x)


def steps(x: float) -> float:
    """Return a chance of 0.05 below a sum of −1, of 0.95 from 1 on, else of 0.5."""
    if x < -1:
        return 0.05
    return 0.5 if x < 1 else 0.95


def speaks_for(seen: PromptSeen, late: bool) -> bool:
    """Whether this answer supports an effect of likeness: a late act in a prompt where
    `same` is 1, an early act in others."""
    return late == bool(same(seen))


CURVES: dict[str, Callable[[float], float]] = {
    "": logistic,
    "within": within,
    "threshold": threshold,
    "hill": hill,
    "slips": slips,
    "steps": steps,
}
# {name: (SD of the amounts drawn for bulletins, for cells of a bulletin, for sentences)}
SPREADS = {
    "": (0.8, 0.4, 0.25),
    "wide": (1, 1, 1),
    "close": (0.3, 0.1, 0.25),
    "closer": (0.08, 0.04, 0.02),
    "still": (0, 0, 0),
}
LOSES: dict[str, Callable[[PromptSeen, bool], bool]] = {
    "of all": lambda seen, late: True,
    "of what speaks for an effect": speaks_for,
    "of what speaks against": lambda seen, late: not speaks_for(seen, late),
}


# --- the table -----------------------------------------------------------------------------------

# Each row is a respondent: name, family, account, what it does, formula; then, where they are not
# the usual ones, a name of CURVES, a name of SPREADS, and the share of unreadable answers with a
# name of LOSES. Names that begin with "mirror-" are asked in mirror studies, those with "pilot-" in
# pilots, all others in mechanism studies.
TABLE = """
Cells differ by chance alone.
coin-50 | coins | nothing | half are late | 0
coin-5 | coins | nothing | 5% are late | -2.94
coin-wide | coins | nothing | half; bulletins, cells and sentences differ much | 0 | | wide
deterministic | deterministic | nothing | one act for a bulletin and an order of labels | 1 act_of_bulletin | threshold | still
lottery | lotteries | nothing | one act for a cell and a wording | 1 act_of_wording | threshold | still
hash | hash | nothing | one act for a prompt, by its hash | 1 act_of_text | threshold | still
drift | drift | nothing | from 80% to 20% in the course of a study | 1.4 - 1.46 asked
skewed | skewed units | nothing | a fifth of bulletins carries what the others balance | 0.5 + 0.05 both - 0.25 both rare | within | still
pilot-coin-50 | coins | nothing | half are late | 0
pilot-coin-5 | coins | nothing | 5% are late | -2.94
pilot-lottery | lotteries | nothing | one act for a cell and a wording | 1 act_of_wording | threshold | still

It does not ask what the other had read.
obedience | obedience | surface | does what symmetry and cue suggest | -0.5 + 2.5 both + 0.3 lever
obedience-cue | obedience | surface | follows the cue alone | -0.4 + 2.4 C
likeness | obedience | surface | likes whoever got the same | -0.4 + 2.4 S
norms | norms | surface | does what is usual | -1 + 1.2 S + 1.5 C + 0.3 lever
team | team reasoning | surface | does its part of what is best for both | -1.5 + 4.5 both + 2 lever
length | length | surface | likes longer prompts | -39 + 0.1 length
tone | tone | surface | shrinks from “not” | 6 - 1 nots
desirability | desirability | surface | likes words of togetherness | -2.5 + 0.6 joint
timing | timing | surface | follows the cue by each “today” | -1 + 2.5 both today
urgency | urgency | surface | follows the cue by each word of haste | -1 + 0.8 both haste
staleness | staleness | surface | follows the cue, less by each word of the past | -1 + 3.5 both - 0.5 both past
control | control | surface | thinks that it moves its like, while nobody knows the entry | -1 + 3.5 both - 3.5 both known + 1.5 lever

The word, the letter, the place.
label-words | label × cell | labels | reasons where labels are words | -0.4 + 3.4 same words
label-letters | label × cell | labels | reasons where labels are letters | -0.4 + 3.4 same - 3.4 same words
label-more | label × cell | labels | reasons, and more where labels are words | -0.4 + 1.2 same + 2 same words
label-first | label × cell | labels | reasons where the late act stands first | -0.4 + 3.4 same late_first
label-a | label × cell | labels | reasons where the late act is option A | -0.4 + 3.4 same late_a

What can't be read makes the effect.
loses-15 | missing not at random | missing | a coin that loses what speaks against an effect | 0 | | | 0.15 of what speaks against
loses-30 | missing not at random | missing | the same | 0 | | | 0.3 of what speaks against
damps-15 | missing not at random | missing | a coin that loses what speaks for an effect | 0 | | | 0.15 of what speaks for an effect
damps-30 | missing not at random | missing | the same | 0 | | | 0.3 of what speaks for an effect

The surer of the other, the more it cooperates.
linear | conditional cooperators | conditional | in proportion to what it expects | 0.9 belief + 0.1 lever | within | closer
logistic | conditional cooperators | conditional | rising with what it expects | -3.5 + 6 belief + 1 lever
threshold | conditional cooperators | conditional | where it expects enough | -3 + 5 belief + 1 lever | threshold
hopeful | conditional cooperators | conditional | expects more of who has not read the notice | -3.5 + 6 belief_hopeful + 1 lever
wary | conditional cooperators | conditional | expects little of who has not read the notice | -4 + 7 belief_wary + 1 lever
kindness | kindness | conditional | thanks for an entry that is kind, or may be | -1 + 1.2 both + 1.5 known + 1.2 record + 1 lever
reciprocity | reciprocity | conditional | answers a known entry, and hopes of its like | -0.8 + 2.4 both + 2.8 known + 2 record - 2.4 both known + 1 lever
norms-people | norms | conditional | owes it to who is like it, or was late | -1 + 1.5 both + 1.5 known + 1.5 record
team-assured | team reasoning | conditional | does its part where the other's is assured | -1.5 + 3 both + 2 known + 2 record + 2 lever
payoffs-neutral | expected payoffs | conditional | likes both, and weighs outcomes by what it expects | 1 + 3 both + 1 prospect
payoffs-averse | expected payoffs | conditional | the same, averse to risk | 1 + 3 both + 1 prospect_averse
payoffs-seeking | expected payoffs | conditional | the same, seeking risk | 1 + 3 both + 1 prospect_seeking

A sum through a rising curve.
sum-logit | sums | adding_up | through a logistic curve | -1 + 1.5 S + 1.5 C - 1 unread - 1 known + 1 lever
sum-drop | sums | adding_up | unread and known entries weigh much | -1 + 2 S + 2 C - 5 unread - 5 known - 4 record + 3 lever
sum-threshold | sums | adding_up | through a threshold | -1 + 0.8 S + 0.8 C - 1 unread + 0.5 known + 2.5 lever | threshold
sum-hill | sums | adding_up | through a Hill curve | -1 + 1.5 S + 1.5 C - 1 unread - 1 known + 2 lever | hill
sum-lapses | sums | adding_up | steep, with 10% lapses | -4 + 4 S + 4 C - 6 unread - 6 known + 7 lever | slips
sum-floors | sums | adding_up | in three steps | -1 + 1.5 S + 1.5 C - 2 unread - 2 known + 2.5 lever | steps
sum-base | sums | adding_up | from a base of 2% | -4 + 3 S + 3 C - 5 unread - 5 known + 4.2 lever
sum-mixture | sums | adding_up | bulletins have one of two bases | -2.5 + 3.5 kind + 1.5 S + 1.5 C - 3 unread - 3 known + 2 lever
sum-random | sums | adding_up | weights and steps drawn for each study | 1 random_sum | within | still

Open by construction, or denied the highest word.
moot | always open | open | finds likeness moot where the notice is unread, or the entry known | -1 + 4 same + 1.5 lever
disbelief | always open | open | believes neither record nor known entry | -4 + 8 belief_doubting + 1.5 lever
opportunist | always open | open | exploits whoever is sure | -3 + 6 belief_exploiting - 6 known + 1 lever
team-quarter | always open | open | does its part; a quarter of that survives publicity | -1.5 + 4.5 both - 3.4 both unread - 3.4 both known + 2 lever
mixture | always open | open | one of two sums for a bulletin and a wording | -3 + 3 lever - 3 kind_within - 3 lever kind_within + 5 S kind_within + 5 C kind_within - 8 unread kind_within - 8 known kind_within
lever-averse | always open | open | adds up, and shrinks from a raised outcome | 0 + 2 both - 1.5 unread - 1 known - 1 lever
updateless | denied | open | half of likeness survives a known entry | -0.4 + 3.3 same + 1.65 both known + 1.7 lever
one-boxer | denied | open | cooperates with its like, whatever they had read | -0.4 + 3.3 both + 1.7 lever

Expects its own decision of a counterpart that decides on the same notice.
reasoner-3-97 | reasoners | reasoner | 3 → 97% (methods: 100 / 100 / 100) | -3.476 + 6.952 same + 3.476 lever | | close
reasoner-3-97-loses-5 | reasoners | reasoner | 3 → 97%, 5% missing (methods: 100 / 96 / 96) | -3.476 + 6.952 same + 3.476 lever | | close | 0.05 of all
reasoner-40-95 | reasoners | reasoner | 40 → 95% (methods: 100 / 92 / 80) | -0.405 + 3.35 same + 1.136 lever
reasoner-40-95-loses-1 | reasoners | reasoner | 40 → 95%, 1% missing | -0.405 + 3.35 same + 1.136 lever | | | 0.01 of all
reasoner-40-95-loses-2 | reasoners | reasoner | 40 → 95%, 2% missing | -0.405 + 3.35 same + 1.136 lever | | | 0.02 of all
reasoner-40-95-loses-3 | reasoners | reasoner | 40 → 95%, 3% missing | -0.405 + 3.35 same + 1.136 lever | | | 0.03 of all
reasoner-40-95-loses-5 | reasoners | reasoner | 40 → 95%, 5% missing (methods: 100 / 95 / 25) | -0.405 + 3.35 same + 1.136 lever | | | 0.05 of all
reasoner-40-80 | reasoners | reasoner | 40 → 80% (methods: 100 / 95 / 15) | -0.405 + 1.792 same + 0.811 lever
reasoner-5-45 | reasoners | reasoner | 5 → 45% (methods: 100 / 96 / 51) | -2.944 + 2.744 same + 1.846 lever

A mirror study.
mirror-sharp | reasoners | reasoner | its act is evidence | 400 evidence
mirror-noisy | reasoners | reasoner | its act is evidence, noisily | 20 evidence
mirror-slips | reasoners | reasoner | sharp, with 10% slips | 400 evidence | slips
mirror-doubts | reasoners | reasoner | sharp, half-believes the record | 200 evidence + 100 payoff - 100 apart
mirror-half | reasoners | reasoner | sharp in half of the bulletins, else early | -6 + 6 kind + 400 evidence kind
mirror-diagonal | always open | open | alike: which of two? unlike: which of two? | 6 diagonal
mirror-number | number-likers | surface | late where the number is high | -14 + 20 alike
mirror-enough | number-likers | surface | late where it is high enough | -300 + 400 alike
mirror-mixed | number-likers | surface | likes the number in some bulletins, not in others | 4 - 8 kind - 8 alike + 16 alike kind
mirror-adds | price-sensitive | adding_up | number and payoff add up | -40 + 40 alike + 40 payoff
mirror-multiplies | price-sensitive | adding_up | number times payoff | -20 + 30 alike keen
mirror-price | price-sensitive | adding_up | late where that is best for both | -4 + 20 payoff
mirror-late | misreaders | conditional | takes N alike for N late; late where that is cheap | 6 - 40 price
mirror-dilemma | misreaders | conditional | reads the exchanged lines as usual | -268 + 400 alike
mirror-causal | causal | nothing | early dominates | -6
mirror-causal-slips | causal | nothing | early dominates, with 10% slips | -9 | slips
mirror-anchor | anchors | surface | follows the first number | -4 + 8 told_first
mirror-class | anchors | surface | trusts the class with the higher number | -4 + 8 higher
mirror-position | position | labels | takes the first option | -2 + 4 late_first
"""


class Member(NamedTuple):
    """A row of the table. A user's own respondent has no formula; the user's function
    gives its answers."""

    name: str
    family: str
    account: str
    what: str
    formula: str = ""
    curve: str = ""
    spread: str = ""
    lost: str = "0 of all"

    @property
    def design(self) -> str:
        """The design of the study in which it is asked."""
        first = self.name.partition("-")[0]
        return {"mirror": "mirror", "pilot": "2x2"}.get(first, "mechanism")


def members() -> Iterator[Member]:
    """Yield the rows of TABLE; lines without columns are headings."""
    for line in TABLE.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 1:
            yield Member(*cells)


MEMBERS = {member.name: member for member in members()}


# --- answering -----------------------------------------------------------------------------------


def respondent(name: str) -> Callable[[Request, SeededRandom], tuple[str, str]]:
    """Return the function that answers a request as this respondent, as (text, finish
    reason). It takes the study's seed from its generator's `root`."""
    member, study = MEMBERS[name], Sitting()
    decide = deciding(member.formula, member.curve, member.spread, member.lost)

    def respond(request: Request, rng: SeededRandom) -> tuple[str, str]:
        nonlocal study
        if study.seed != (rng.root, name):
            study = Sitting(rng.root, name)
        cues = read_cues(request.user)
        late = decide(PromptSeen(request.user, cues, study), rng)
        if late is None:
            return "We are still weighing this with counsel.", "stop"
        return f"Decision: {cues.cooperative if late else cues.other}", "stop"

    return respond


def deciding(
    formula: str, curve: str = "", spread: str = "", lost: str = "0 of all"
) -> Callable[[PromptSeen, random.Random], int | None]:
    """Return the function that decides a prompt: 1 for late, 0 for early, None for
    unreadable."""
    total, chance, spreads = added_up(formula), CURVES[curve], SPREADS[spread]
    share, _, which = lost.partition(" ")
    lost_share, loses = float(share), LOSES[which]

    def decide(seen: PromptSeen, rng: random.Random) -> int | None:
        seen.study.asked += 1
        late = rng.random() < chance(total(seen) + shift(seen, spreads))
        if loses(seen, late) and rng.random() < lost_share:
            return None
        return int(late)

    return decide


def added_up(formula: str) -> Quantity:
    """Return the quantity that a formula such as "-1 + 2 S kind" describes.

    Each term is a number times the quantities named after it; the terms are added.
    """
    terms = []
    for term in formula.replace("- ", "+ -").split(" + "):
        number, *names = term.split()
        terms.append((float(number), [QUANTITIES[name] for name in names]))

    def total(seen: PromptSeen) -> float:
        value = 0.0
        for weight, quantities in terms:
            value += weight * math.prod([quantity(seen) for quantity in quantities])
        return value

    return total


def shift(seen: PromptSeen, spread: tuple[float, float, float]) -> float:
    """Return the random amount that bulletin, cell and sentences add to a prompt's sum;
    `spread` has their SDs as in SPREADS."""
    bulletin, cell, sentence = spread
    added = bulletin * seen.luck("all", "bulletin")
    added += cell * seen.study.luck(seen.cell, seen.cues.bulletin)
    for said in ("S", "C", "entry", "record"):
        added += sentence * seen.luck(said, "wording", said)
    return added


# --- power: how often a mechanism study finds an effect that is there ----------------------------

WORDINGS = 12
STEPS = (0.0, *LEVERS)
EFFECTS = ((0.03, 0.97), (0.40, 0.95), (0.40, 0.80))


def reasoner(low: float, high: float) -> str:
    """Return the formula of a respondent that reasons from likeness.

    It is late in the share `high` of prompts with symmetry, cue and the same notice, in
    `low` of others, and in a share midway where only the lever is raised, by its default.
    """
    base, top, middle = map(logit, (low, high, (low + high) / 2))
    return f"{base} + {top - base} same + {middle - base} lever"


def power(
    low: float,
    high: float,
    bulletins: int,
    runs: int,
    models: int = 1,
    missing: float = 0.0,
    samples: int = 20,
) -> dict[str, float]:
    """Return {verdict word: share of simulated studies in which a respondent, late in the
    shares `low` and `high` (see `reasoner`), earns this word or a higher one}.

    `missing` is the share of answers that can't be read; `models` is the number of models
    of a study, over which its error rate is divided.
    """
    decide = deciding(reasoner(low, high), lost=f"{missing} of all")
    prompts = list(prompts_of(bulletins, runs))
    cells = [cell.name for cell in DESIGNS["mechanism"].cells]
    ranks = []
    for sample in range(samples):
        study, rng = Sitting(sample), random.Random(sample)
        answers: dict = {}
        for slot, cues in prompts:
            add(answers, slot, decide(PromptSeen("", cues, study), rng))
        part = part_of(answers, cells, 1 - ALPHA / models, whole=True)
        ranks.append(WORDS.index(word(part)[0]))
    earned = {}
    for rank in range(2, len(WORDS)):
        reached = sum(found >= rank for found in ranks)
        earned[WORDS[rank]] = reached / samples
    return earned


def prompts_of(bulletins: int, runs: int) -> Iterator[tuple[Slot, Cues]]:
    """Yield the prompts of a mechanism study of one model, without their texts."""
    dealt = balanced(bulletins, runs, WORDINGS)
    for (place, _), (wording, scheme, order) in dealt.items():
        bulletin = f"b{place:02d}"
        for cell in DESIGNS["mechanism"].cells:
            cues = Cues(
                S=cell.S,
                C=cell.C,
                entry=cell.entry,
                record=cell.record,
                lever=STEPS[cell.lever],
                wording=wording,
                bulletin=bulletin,
            )
            slot = Slot(
                bulletin=bulletin,
                wording=wording,
                cell=cell.name,
                H="omit",
                model="m",
                scheme=scheme,
                order=order,
            )
            yield slot, cues
