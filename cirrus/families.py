"""Families of simulated respondents, each with the account that is true of it, for calibration.

    POPULATIONS["obedience"].account                                    "blind"
    text, finish_reason = respondent("obedience")(request, SeededRandom(study_seed, "…"))

A respondent sees the rendered prompt alone. What bulletins, cells and sentences do to it is drawn
from its name and the study's seed, so that it is the same in all prompts of a study.
"""

import math
import random
import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache, partial
from itertools import product
from statistics import NormalDist
from typing import NamedTuple

from cirrus.ask import probes
from cirrus.ask.cues import Cues, read_cues
from cirrus.ask.oneshot import DESIGNS, balanced
from cirrus.ask.populations import Mind, logit
from cirrus.judge.accounts import CORRELATION, DECIDER, WORDS, word
from cirrus.judge.contrasts import ALPHA, Slot, count
from cirrus.judge.oneshot import part_of
from common.rng import SeededRandom
from common.wire import Request

WORDINGS = 12
SDS = (0.8, 0.4, 0.25)         # log-odds, over bulletins, cells of a bulletin, and sentences
EFFECTS = ((0.40, 0.95), (0.40, 0.80), (0.40, 0.60))
CELLS = DESIGNS["mechanism"].cells


class Reasoner(NamedTuple):
    """Log-odds of an agent that expects its own decision of a counterpart that decides now from the
    same notice: its base, and what symmetry with cue, and the lever, add."""

    base: float
    likeness: float
    lever: float


def reasoner(low: float, high: float) -> Reasoner:
    """It cooperates in `low` of cases, in `high` of those with symmetry and cue; the lever brings
    it half the way."""
    base = logit(low)
    return Reasoner(base, logit(high) - base, logit((low + high) / 2) - base)


OPEN, REASONER = "open", "reasoner"   # declared beside the accounts of `judge.accounts`
USUAL_LEVER = 3.0                     # of LEVERS, at the default level: 1 for a rule


class Case(NamedTuple):
    """What a rule may use. `z`: log-odds that bulletin, cell and sentences add; `luck(*key)`: a
    standard normal number, the same in all prompts of a study."""

    cues: Cues
    text: str
    S: int
    C: int
    both: int
    now: bool
    earlier: bool
    known: bool
    lever: float
    luck: Callable[..., float]
    z: float = 0.0


Rule = Callable[[Case], float]


class Member(NamedTuple):
    """`rule`: P(cooperate); `sds`: of what bulletins, cells and sentences add to its log-odds;
    `missing`: the share of answers with this act that can't be read; `centre`: of its family."""

    family: str
    account: str
    what: str
    rule: Rule | None
    sds: tuple[float, float, float] = SDS
    missing: Callable[[Case, bool], float] | None = None
    centre: bool = False


# --- rules -------------------------------------------------------------------------------------

def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def within(p: float) -> float:
    return min(1.0, max(0.0, p))


def logit_of(term: Callable[[Case], float]) -> Rule:
    return lambda case: logistic(case.z + term(case))


# weights of: base, symmetry, cue, earlier, known, lever
Weights = tuple[float, ...]
SUMS = {"drop": (-1.0, 2.0, 2.0, -5.0, -5.0, 3.0), "even": (-1.0, 0.9, 0.9, -0.8, -0.8, 1.8),
        "likeness": (-1.0, 1.5, 1.5, -1.0, -1.0, 1.0), "lever": (-1.0, 0.8, 0.8, -1.0, 0.5, 2.5)}
NORMAL = NormalDist()
RARE = NORMAL.inv_cdf(0.8)
CURVES: dict[str, Callable[[float], float]] = {
    "logit": logistic, "probit": lambda u: NORMAL.cdf(u / 1.6),
    "cloglog": lambda u: -math.expm1(-math.exp(min(u - 0.3, 5.0))),
    "threshold": lambda u: float(u > 0), "hill": lambda u: (x := max(0.0, u + 1.5) ** 3) / (x + 8),
    "lapses": lambda u: 0.1 + 0.8 * logistic(4 * u),
    "floors": lambda u: 0.05 if u < -1 else 0.5 if u < 1 else 0.95}


def total(case: Case, weights: Weights) -> float:
    return weights[0] + sum(weight * level for weight, level in zip(weights[1:], (
        case.S, case.C, case.earlier, case.known, case.lever), strict=True))


def adds(weights: Weights, curve: Callable[[float], float] = logistic,
         others: Weights | None = None) -> Rule:
    """A sum through a rising curve; `others`: the weights in half of the bulletins."""
    def rule(case: Case) -> float:
        other = others and case.luck("kind", case.cues.bulletin) > 0
        return curve(total(case, others if other else weights) + case.z)
    return rule


@cache
def random_sum(number: int) -> Rule:
    """Random weights, through straight lines between random rising heights at −6, −4 … 6."""
    rng = random.Random(f"sum {number}")
    weights, power = (rng.uniform(-4, 2), *(rng.gauss(0, 2) for _ in range(5))), rng.choice((1, 4))
    heights = sorted(rng.random() ** power for _ in range(7))

    def curve(u: float) -> float:
        at, part = divmod(min(max((u + 6) / 2, 0), 5.999999), 1)
        return heights[int(at)] + part * (heights[int(at) + 1] - heights[int(at)])
    return adds(weights, curve)


def belief(case: Case, usual: float, earlier: float = 0.0) -> float:
    """That the other cooperates: likeness and cue raise it, a known cooperative entry is certain;
    `earlier`: how much more cooperative it thinks those that file earlier."""
    return 1.0 if case.known else within(
        usual + 0.2 * case.S + 0.2 * case.C + earlier * case.earlier)


CONDITIONAL: dict[str, Callable[[float, Case], float]] = {
    "logistic": lambda q, case: logistic(6 * q - 3.5 + case.lever + case.z),
    "linear": lambda q, case: within(0.9 * q + 0.1 * case.lever + 0.1 * case.z),
    "threshold": lambda q, case: float(q + 0.2 * case.lever > 0.6 + 0.2 * case.z)}


def conditional(curve: str, usual: float, earlier: float = 0.0) -> Rule:
    return lambda case: CONDITIONAL[curve](belief(case, usual, earlier), case)


def payoffs(power: float, obeys: float, now: float, earlier: float) -> Rule:
    """Weighs outcomes, in units of the temptation and to a power, by what it expects of the other;
    and likes what the sentences praise."""
    def rule(case: Case) -> float:
        shown = case.cues.outcomes
        unit = (shown[0] - shown[1]) / (1 - case.cues.lever)     # below 0 where less is better
        T, R, P, S = (((x - shown[3]) / unit) ** power for x in shown)
        q = 1.0 if case.known else earlier if case.earlier else now
        gain = (q * (R - T) + (1 - q) * (S - P)) / (9 ** power - 8 ** power)
        return logistic(1 + gain + obeys * case.both + case.z)
    return rule


COUNTED = {"length": (re.compile(r"\S+"), 0.1, 330),
           "tone": (re.compile(r"\b(?:not?|never|nothing|n?either|cannot|nor|differ\w*)\b", re.I),
                    -0.5, 6),
           "desirability": (re.compile(r"\b(?:same|alike|both|together|joint|similar|match\w*|"
                                       r"shared|common)\b", re.I), 0.6, 6)}


@lru_cache(maxsize=8192)
def counted(text: str, what: str) -> float:
    """How many words, negations or pleasant words stand in a prompt, as log-odds."""
    pattern, each, middle = COUNTED[what]
    return each * (len(pattern.findall(text)) - middle)


def reason(low: float, high: float, where: Callable[[Case], bool] = lambda case: True) -> Rule:
    agent = reasoner(low, high)
    return logit_of(lambda case: agent.base + where(case) * (
        agent.likeness * case.both * case.now + agent.lever * case.lever))


def lost(share: float, defections: tuple[str, ...], cooperation: tuple[str, ...]) -> Callable:
    """Loses acts in some cells."""
    def missing(case: Case, cooperates: bool) -> float:
        cell = ("HP" if case.both else "M" if case.lever else "LA") + case.cues.entry[0]
        return share * (cell in (cooperation if cooperates else defections))
    return missing


# --- the families: (name, member), the first of a family its centre ------------------------------

def _members() -> Iterator[tuple[str, Member]]:
    for (curve, f), (name, weights) in product(CURVES.items(), SUMS.items()):
        yield f"sum-{curve}-{name}", Member(f"sums, {curve}", "adding_up", f"weights: {name}",
                                            adds(weights, f))
    for name, weights in SUMS.items():
        yield f"sum-mixture-{name}", Member(
            "sums, mixture of bulletins", "adding_up", f"weights: {name}; two bases",
            adds(weights, others=(weights[0] + 3, *weights[1:])))
    for number in range(200):
        yield f"random-sum-{number:03d}", Member(
            "random sums", "adding_up", "random weights and rising curve", random_sum(number))
    for curve, usual in product(CONDITIONAL, (30, 10, 50)):
        yield f"conditional-{curve}-{usual}", Member(
            f"conditional, {curve}", "conditional", f"expects {usual}% by itself",
            conditional(curve, usual / 100))
    for curve, more in product(CONDITIONAL, (20, 40)):
        yield f"optimistic-{curve}-{more}", Member(
            "conditional, optimistic", "conditional", f"expects {more}% more of earlier filers",
            conditional(curve, 0.3, more / 100))
    for name, family, account, what, term in SIMPLE:
        yield name, Member(family, account, what, logit_of(term))
    for (taste, power), obeys, (now, earlier) in product(
            (("neutral", 1), ("averse", 0.7), ("seeking", 1.5)), (2, 4),
            ((30, 70), (50, 90), (10, 90))):
        yield f"payoffs-{taste}-{obeys}-{now}-{earlier}", Member(
            f"expected payoffs, {taste}", OPEN if power > 1 else "conditional",
            f"obeys; expects {now}% of present, {earlier}% of earlier filers",
            payoffs(power, obeys, now / 100, earlier / 100))
    for what, times in product(COUNTED, (1, 2)):
        yield f"{what}-{times}", Member(
            what, "blind", f"counts {what} in the whole prompt",
            logit_of(lambda case, what=what, times=times: times * counted(case.text, what)))
    for name, where in LABELS.items():
        yield f"label-{name}", Member("label × cell", "labels", f"reasons with {name} only",
                                      reason(0.4, 0.95, where))
    for name, share, *cells in LOSSES:
        yield f"missing-{name}", Member("missing not at random", "missing", f"a coin that loses "
                                        f"{share:.0%} of acts", logit_of(lambda case: 0), SDS,
                                        lost(share, *cells))
    for name, keys in (("wording", ("wording",)), ("bulletin", ("bulletin",)),
                       ("both", ("wording", "bulletin")), ("labels", ("bulletin", "first"))):
        yield f"lottery-{name}", Member(
            "deterministic" if name == "labels" else "lotteries", "nothing",
            f"the same act in a cell of each {' and '.join(keys)}", lambda case, keys=keys: float(
                case.luck(*cell_of(case), *(getattr(case.cues, key) for key in keys)) > 0))
    yield "hash", Member("hash of the prompt", "nothing", "in all studies the same",
                         lambda case: float(random.Random(case.text).random() < 0.5))
    for share, sds in product((50, 2, 5, 20, 80), (
            SDS, (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1))):
        yield f"coin-{share}-{'-'.join(f'{sd:g}' for sd in sds)}", Member(
            f"coins, {share}%", "nothing", "SDs of bulletins, cells and sentences in its name",
            logit_of(lambda case, share=share: logit(share / 100)), sds)
    for size in (5, 10):     # points of probability, so that they balance on the contrast's scale
        yield f"skewed-{size}", Member(
            "skewed units", "nothing", "a fifth of bulletins carries what the others balance",
            lambda case, size=size: 0.5 + size / 100 * case.both * (
                1 if case.luck("rare", case.cues.bulletin) < RARE else -4))
    for low, high in ((3, 97), (40, 95), (40, 80), (40, 70), (5, 25), (40, 60)):
        yield f"reasoner-{low}-{high}", Member(
            f"reasoners, {low} → {high}%", REASONER, "expects its own decision of present filers",
            reason(low / 100, high / 100), (0.3, 0.1, 0.25) if low == 3 else SDS)
    yield "mixture-of-readers", Member(
        "always open", OPEN, "payoffs weigh differently by bulletin",
        adds(SUMS["drop"], others=(-6.0, 3.0, 3.0, 0.0, 0.0, 9.0)))


SIMPLE: tuple[tuple[str, str, str, str, Callable[[Case], float]], ...] = (
    ("kindness", "kindness", "conditional", "kind to who was kind, by intention", lambda case:
     -1 + 1.2 * case.both + 1.5 * case.known + 0.5 * case.earlier + case.lever),
    ("kindness-strong", "kindness", "conditional", "most of all to a known entry", lambda case:
     -1.5 + 2 * case.both + 4 * case.known + case.earlier + case.lever),
    ("reciprocity", "reciprocity", "conditional", "answers a known entry", lambda case:
     2.0 if case.known else -0.8 + 2.4 * case.both + case.lever),
    ("reciprocity-hopeful", "reciprocity", "conditional", "and hopes of present filers",
     lambda case: 2.5 if case.known else -0.8 + 2.8 * case.both * case.now),
    ("norms", "norms", "blind", "the office's norm binds among peers", lambda case:
     -1 + 1.2 * case.S + 1.5 * case.C + 0.3 * case.lever),
    ("norms-people", "norms toward people", "conditional", "a norm toward who has acted",
     lambda case: -1 + 1.5 * case.both + 1.5 * case.known + 0.7 * case.earlier),
    ("team", "team reasoning", "blind", "does its part where they are a team", lambda case:
     3.0 if case.both else -1.5 + 2 * case.lever),
    ("team-assured", "team reasoning, assured", "conditional", "and wants assurance", lambda case:
     -1.5 + 3 * case.both + 2 * case.known + 2 * case.lever),
    ("obedience", "obedience", "blind", "does what the sentences suggest", lambda case:
     -0.5 + 2.5 * case.both + 0.3 * case.lever),
    ("obedience-full", "obedience", "blind", "nearly always", lambda case: -3.5 + 7 * case.both),
    ("obedience-cue", "obedience", "blind", "the cue's alone", lambda case: -0.4 + 2.4 * case.C),
    ("obedience-likeness", "obedience", "blind", "symmetry's", lambda case: -0.4 + 2.4 * case.S),
    ("posted-averse", "posted entries", "conditional", "shuns known entries", lambda case:
     6 * belief(case, 0.3) - 3.5 - 3 * case.known + case.lever),
    ("posted-exploiting", "posted entries", "conditional", "exploits a known entry", lambda case:
     -3.0 if case.known else 6 * belief(case, 0.3) - 3.0 + case.lever),
    ("updateless", "always open", OPEN, "reasons of known entries by half", lambda case:
     -0.4 + 3.3 * case.both * (1 - 0.5 * case.known) * (not case.earlier) + 1.7 * case.lever),
    ("averse-on-neither", "always open", OPEN, "aversion lands known entries on neither",
     lambda case: 6 * belief(case, 0.3) * (not case.earlier) - 2.2 - 4.2 * case.known
     + 1.5 * case.lever),
    ("doubts-known", "always open", OPEN, "believes a known entry one time in three", lambda case:
     4.0 if case.known and case.luck("believes", case.cues.bulletin) > 0.43 else
     -0.4 + 3.3 * case.both * case.now + 1.7 * case.lever))
LABELS: dict[str, Callable[[Case], bool]] = {
    "words": lambda case: case.cues.cooperative.isupper(),
    "letters": lambda case: not case.cues.cooperative.isupper(),
    "the act first": lambda case: case.cues.first == case.cues.cooperative,
    "Option A": lambda case: case.cues.cooperative == "Option A"}
LOSSES = (("flatters", 0.3, ("HPn",), ("LAn",)), ("flatters-little", 0.15, ("HPn",), ("LAn",)),
          ("flatters-all", 0.18, ("HPn", "Me"), ("LAn", "HPe", "HPk", "Mn")),
          ("damps", 0.3, ("LAn",), ("HPn",)), ("damps-little", 0.15, ("LAn",), ("HPn",)))


def _centred() -> Iterator[tuple[str, Member]]:
    met = {"random sums"}      # have no centre
    for name, member in _members():
        yield name.lower().replace(" ", "-"), member._replace(centre=member.family not in met)
        met.add(member.family)


POPULATIONS: dict[str, Member] = dict(_centred())


# --- answering ---------------------------------------------------------------------------------

@lru_cache(maxsize=8192)
def normal(seed: int, *key: object) -> float:
    """A standard normal number, by its key."""
    return random.Random(repr((seed, key))).gauss(0, 1)


def cell_of(case: Case) -> tuple:
    return case.S, case.C, case.cues.entry, case.lever > 0


def case_of(text: str, luck: Callable[..., float], sds: tuple[float, float, float]) -> Case:
    """What stands in a prompt, and what its bulletin, its cell and its sentences on symmetry, cue
    and entry add."""
    cues = read_cues(text)
    S, C, entry = cues.symmetric, cues.coupled, cues.entry
    case = Case(cues, text, S, C, S * C, cues.decides_now, entry == "earlier", entry == "known",
                cues.lever / USUAL_LEVER, luck)
    bulletin, cell, sentence = sds
    return case._replace(z=(bulletin and bulletin * luck(cues.bulletin))
                         + (cell and cell * luck(cues.bulletin, *cell_of(case)))
                         + (sentence and sentence * sum(luck(cues.wording, factor, level) for
                            factor, level in (("S", S), ("C", C), ("entry", entry)))))


def respondent(name: str) -> Callable[[Request, SeededRandom], tuple[str, str]]:
    """A member as a provider asks it; `rng.root` is the study's seed."""
    member = POPULATIONS[name]
    beliefs = Mind(diagnostic=60 if member.account == REASONER else 0)

    def respond(request: Request, rng: SeededRandom) -> tuple[str, str]:
        if request.stage == probes.STAGE:
            return probes.answer(beliefs, request, rng), "stop"
        case = case_of(request.user, partial(normal, rng.root, name), member.sds)
        cooperates = rng.random() < member.rule(case)
        if member.missing and rng.random() < member.missing(case, cooperates):
            return "We are still weighing this with counsel.", "stop"
        return f"Decision: {case.cues.cooperative if cooperates else case.cues.other}", "stop"
    return respond


# --- power -------------------------------------------------------------------------------------

def power(low: float, high: float, bulletins: int, blocks: int, models: int = 1,
          samples: int = 30, seed: int = 0) -> dict[str, float]:
    """{word: share of studies in which a model earns it, or a higher one}."""
    rng, agent = random.Random(seed), reasoner(low, high)
    ranks = [WORDS.index(_word(agent, bulletins, blocks, models, rng)) for _ in range(samples)]
    return {name: sum(rank >= WORDS.index(name) for rank in ranks) / samples
            for name in (DECIDER, CORRELATION)}


def _word(agent: Reasoner, bulletins: int, blocks: int, models: int, rng: random.Random) -> str:
    by_bulletin, by_cell, by_sentence = SDS
    base = [rng.gauss(agent.base, by_bulletin) for _ in range(bulletins)]
    of_cell = {(b, cell.name): rng.gauss(0, by_cell) for b in range(bulletins) for cell in CELLS}
    of_sentence = {(at, level): rng.gauss(0, by_sentence) for at in range(WORDINGS)
            for cell in CELLS for level in (("S", cell.S), ("C", cell.C), ("entry", cell.entry))}
    answers = []
    for (b, _), (at, scheme, order) in balanced(bulletins, blocks, WORDINGS).items():
        for cell in CELLS:
            x = (base[b] + of_cell[b, cell.name] + agent.lever * bool(cell.lever)
                 + agent.likeness * (cell.S == "high" and cell.entry == "now")
                 + sum(of_sentence[at, level] for level in (
                     ("S", cell.S), ("C", cell.C), ("entry", cell.entry))))
            answers.append((Slot(f"b{b:02d}", at, cell.name, "low", "m", scheme, order),
                            int(rng.random() < 1 / (1 + math.exp(-x)))))
    part = part_of(count(answers), [cell.name for cell in CELLS], 1 - ALPHA / models, True)
    return word(part)[0]
