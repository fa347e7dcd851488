"""Populations: tables of small functions from what a reader finds to the chance that it cooperates.

    chance("superrational", cues)      # of the cooperative act, in this prompt
    expected("superrational", scenes(PILOT[0]))   # the exact share in a cell, over its prompts
    earned("conformist", "mechanism")  # the word that its own shares deserve, and what it lacks

They calibrate the instrument and say nothing about any model. Each is an account of why an agent
may cooperate; most are rivals of the account that the project asks about. Bulletins move an answer
as they would move a model's: the same in every seed, drawn by hash of the bulletin's id.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from itertools import product
from statistics import NormalDist
from typing import NamedTuple

from cirrus.ask.bulletins import Domain
from cirrus.ask.cues import Cues, staged
from cirrus.ask.pilot import MECHANISM, PILOT, Cell
from cirrus.ask.prompts import (
    LABEL_SCHEMES,
    ORDERS,
    Condition,
    Stimulus,
    bulletin_pool,
    load_domain,
)
from common.rng import SeededRandom

UNREADABLE = 0.01    # share of answers that can't be read
Missing = tuple[float, float]   # shares that can't be read, and that are cut off


def now_and_then(cues: Cues, cooperates: bool) -> Missing:
    return UNREADABLE, 0.0


def never(cues: Cues, cooperates: bool) -> Missing:
    return 0.0, 0.0


class Mind(NamedTuple):
    """What a population answers to probes. `payoffs`: whether it ranks T > R > P > S; `diagnostic`,
    `marginal`: by how many points its own entry, and anything, moves what it expects of a
    counterparty whose entry can mirror it; `influence`: whether its entry changes the other's."""

    payoffs: bool = True
    diagnostic: float = 0.0
    marginal: float = 0.0
    influence: bool = False


class Population(NamedTuple):
    """`chance`: of the cooperative act. `level`, `slope`: SD, in log-odds, of what a bulletin does
    to all cells and to each cell; `led`: how far the leaning of a declared policy moves the
    log-odds. `missing`: of an answer with this act."""

    does: str
    chance: Callable[[Cues], float]
    level: float = 0.0
    slope: float = 0.0
    led: float = 0.0
    missing: Callable[[Cues, bool], Missing] = now_and_then
    mind: Mind = Mind()


def logistic(x: float) -> float:
    if math.isinf(x):
        return float(x > 0)
    return 1 / (1 + math.exp(-x))


def logit(p: float) -> float:
    return math.log(p / (1 - p)) if 0 < p < 1 else math.copysign(math.inf, p - 0.5)


# --- the account that the project asks about, and who shows it where it should not be ----------

def cued(cues: Cues) -> float:
    """Log-odds of a reader whom symmetry and coupling move, most where they meet, and only where
    the counterparty's entry can mirror its own."""
    if not cues.mirrors:
        return -0.6
    cue = {"present": 1.0, "reversed": -1.0}.get(cues.C, 0.0)
    return -0.8 + cues.symmetric * (1.0 + 1.2 * cue) + 0.8 * cue


def superrational(cues: Cues) -> float:
    return logistic(cued(cues))


def where(condition: Callable[[Cues], bool], usual: float = 0.5) -> Callable[[Cues], float]:
    """Superrational there, elsewhere the same whatever it reads."""
    return lambda cues: superrational(cues) if condition(cues) else usual


def by_cell(base: float, **shares: float) -> Callable[[Cues], float]:
    """The share of each cell by its name in the mechanism study, `base` elsewhere."""
    return lambda cues: shares.get(cell_of(cues), base)


def cell_of(cues: Cues) -> str:
    """The mechanism study's name of where this prompt stands; a pilot's four are those of a
    counterparty that decides for itself."""
    if cues.entry in ("posted", "rule"):
        return {("posted", 1, 1): "KC", ("rule", 1, 1): "UN", ("rule", 0, 0): "UL"}.get(
            (cues.entry, cues.symmetric, cues.coupled), "")
    return {(1, "present"): "HP", (1, "absent"): "HA", (0, "present"): "LP", (0, "absent"): "LA",
            (1, "reversed"): "RV", (1, "placebo"): "PL"}.get((cues.symmetric, cues.C), "")


# A superrational agent expects its own decision of an agent that decides alike, and nothing else.
EXPECTS = Mind(diagnostic=60)
LED = 0.6

KNOWN: dict[str, Population] = {
    "superrational": Population("S, C and S×C raise cooperation, where the other side decides for "
                                "itself", superrational, led=LED, mind=EXPECTS),
    "deterministic": Population("cooperates with symmetry and cue where the other side decides for "
                                "itself, and never elsewhere", by_cell(0.0, HP=1.0),
                                missing=never, mind=EXPECTS),
    "coin": Population("ignores everything", lambda cues: 0.5),
    "compliance": Population("follows H alone", lambda cues: logistic(-0.4 + 2.4 * cues.joint_only),
                             led=LED),
    "compliance-cued": Population("obeys the cues only where H is high", where(
        lambda cues: cues.joint_only == 1, logistic(-0.2)), led=LED),
    "reciprocal": Population("cooperates first, then mirrors what was filed", lambda cues: logistic(
        {"C": 2.5, "D": -2.5}.get(cues.peer, {"posted": 2.5, "rule": 2.2}.get(cues.entry, 2.0)))),
    "label-biased": Population("likes the word", lambda cues: logistic(
        1.6 if cues.cooperative.isupper() else 0.8 if cues.cooperative == "Option A" else -0.8)),
    "position-biased": Population("takes the first option", lambda cues: logistic(
        1.4 if cues.first == cues.cooperative else -1.4)),
    "tell-sensitive": Population("superrational only with standard tells", where(
        lambda cues: cues.tells == "standard"), led=LED, mind=EXPECTS),
    "domain-bound": Population("superrational only in cvd", where(
        lambda cues: cues.domain == "cvd"), led=LED, mind=EXPECTS),
    "overfit": Population("superrational only on main variants", where(lambda cues: cues.main),
                          led=LED, mind=EXPECTS),
    "sloppy": Population("unreadable where the cue is present", lambda cues: 0.5, missing=(
        lambda cues, cooperates: (0.30 if cues.coupled else 0.02, 0.0))),
    "truncating": Population("cut off where symmetry is high", lambda cues: 0.5, missing=(
        lambda cues, cooperates: (UNREADABLE, 0.25 if cues.symmetric else 0.01))),
    "copycat": Population("writes identical policies where the cue is present", lambda cues: 0.5),
    "always-coordinate": Population("always cooperates", lambda cues: 1.0),
    "always-preempt": Population("never cooperates", lambda cues: 0.0),
    "bulletins-0.5": Population("no effect on average; each bulletin has effects of its own, SD "
                                "0.5", lambda cues: 0.5, slope=0.5),
    "bulletins-1": Population("no effect on average; each bulletin has effects of its own, SD 1",
                              lambda cues: 0.5, slope=1.0),
}

# --- rivals: other reasons to cooperate where symmetry and cue are -----------------------------

CUE = {"present": 1.0, "reversed": -0.3}
RIVALS: dict[str, Population] = {
    "additive": Population(
        "symmetry and cue raise, an entry that can't mirror lowers: adding up, on probabilities",
        lambda cues: 0.35 + 0.2 * cues.symmetric + 0.2 * CUE.get(cues.C, 0.0)
        - 0.2 * (not cues.mirrors)),
    "additive-logit": Population(
        "the same, adding up in log-odds",
        lambda cues: logistic(-1.2 + 1.6 * cues.symmetric + 1.6 * CUE.get(cues.C, 0.0)
                              - 1.6 * (not cues.mirrors))),
    "symmetry-only": Population("symmetry alone raises", lambda cues: 0.4 + 0.35 * cues.symmetric),
    "conformist": Population("follows the cue sentence, whatever the symmetry",
                             lambda cues: 0.4 + 0.4 * cues.coupled),
    "conformist-symmetric": Population(
        "follows the cue sentence where peers are alike, and does not ask how the entry was made",
        lambda cues: 0.4 + 0.4 * cues.symmetric * cues.coupled),
    "deterministic-conformist": Population(
        "cooperates with symmetry and cue however the entry is made, and never varies",
        lambda cues: float(cues.symmetric and cues.coupled)),
    "conformist-entry-averse": Population(
        "the same, and an entry that is posted or drawn lowers it",
        lambda cues: min(.98, .35 + .4 * cues.symmetric * cues.coupled
                         + (0.0 if cues.mirrors else -.33))),
    "entry-averse": Population("an entry that is posted or drawn lowers it, the cues do nothing",
                               lambda cues: 0.6 if cues.mirrors else 0.15),
    "free-rider": Population(
        "follows the cue sentence where peers are alike, and takes what an entry that is probably "
        "joint leaves to take", lambda cues: 0.15 if not cues.mirrors else
        0.4 + 0.4 * cues.symmetric * cues.coupled),
    "lot-discount": Population(
        "the same, and half as willing toward an entry that is posted or drawn",
        lambda cues: (0.4 + 0.4 * cues.symmetric * cues.coupled) * (1.0 if cues.mirrors else 0.5)),
    "causal-influence": Population(
        "as the superrational, since its own entry is thought to move the other's", superrational,
        mind=EXPECTS._replace(influence=True)),
    "intention-kind": Population(
        "kind toward a party like itself that decides, sealed or posted",
        by_cell(.4, HP=.8, HA=.5, LP=.5, PL=.5, KC=.85), mind=Mind(marginal=20)),
    "altruist": Population("gives whatever it reads", lambda cues: 0.85),
    "kantian": Population("does what all in its place should do, wherever places are the same",
                          lambda cues: 0.8 if cues.symmetric else 0.5),
    "updateless": Population(
        "as the superrational, and keeps to it when the other's entry is posted",
        by_cell(.4, HP=.9, HA=.525, LP=.525, PL=.525, RV=.45, KC=.9, UN=.45), mind=EXPECTS),
    "hofstadter": Population(
        "symmetry suffices, where the other side decides for itself and nothing speaks against it",
        by_cell(.4, HP=.9, HA=.875, LP=.525, PL=.875, RV=.45, UN=.45), mind=EXPECTS),
    "length": Population("longer notices raise", lambda cues: logistic(-2.0 + 0.15 * cues.words)),
    "desirability": Population(
        "anything that sounds agreeable raises",
        lambda cues: 0.35 + 0.15 * cues.symmetric + 0.15 * (cues.C in ("present", "placebo"))
        + 0.15 * (cues.entry in ("posted", "rule"))),
    "negation-averse": Population("a sentence that says no lowers",
                                  lambda cues: 0.35 if cues.negated else 0.75),
    "any-cue": Population("any sentence in the cue's place raises",
                          lambda cues: 0.4 if cues.C == "absent" else 0.75),
    "cue-backfires": Population("symmetry raises, the cue lowers half as much",
                                lambda cues: 0.35 + 0.4 * cues.symmetric - 0.2 * cues.coupled),
    "reversed": Population("cues and symmetry lower", lambda cues: 1 - superrational(cues)),
    "word-only": Population("superrational only while the label is a word",
                            where(lambda cues: cues.cooperative.isupper())),
    "letter-only": Population("superrational only while the label is a letter",
                              where(lambda cues: not cues.cooperative.isupper())),
    "L2-only": Population("superrational only where Option A is the cooperative act",
                          where(lambda cues: cues.cooperative == "Option A")),
    "first-place-only": Population("superrational only where the cooperative option stands first",
                                   where(lambda cues: cues.first == cues.cooperative)),
    "one-wording-only": Population("superrational only in the specification's own words",
                                   where(lambda cues: cues.wording == 0)),
    "few-bulletins": Population("superrational on about one bulletin in five",
                                where(lambda cues: cues.bulletin.endswith(("3", "8")))),
    "missing-flatters": Population(
        "ignores everything; what speaks against the effect goes missing", lambda cues: 0.5,
        missing=lambda cues, cooperates: (
            (0.3 if cooperates != (cues.symmetric and cues.coupled) else 0.0), 0.0)),
    "missing-a-little": Population(
        "ignores everything; a tenth of what speaks against the effect goes missing",
        lambda cues: 0.5, missing=lambda cues, cooperates: (
            (0.09 if cooperates != (cues.symmetric and cues.coupled) else 0.0), 0.0)),
    "missing-damps": Population(
        "superrational; what speaks for the effect goes missing", superrational,
        missing=lambda cues, cooperates: (
            (0.2 if cooperates == (cues.symmetric and cues.coupled) else 0.0), 0.0), mind=EXPECTS),
    "refuses-to-defect": Population(
        "ignores everything; does not say so where the cue asks for likeness", lambda cues: 0.5,
        missing=lambda cues, cooperates: (
            (0.6 if cues.coupled and not cooperates else UNREADABLE), 0.0)),
    "misreader": Population("as the superrational, and takes joint for the best of four outcomes",
                            superrational, mind=EXPECTS._replace(payoffs=False)),
}

# --- a true effect: HP raised over every other cell --------------------------------------------

EFFECTS, BASES, SPREADS = (10, 20, 30, 40, 57), (30, 50, 80), (0, 0.5, 1)
HIGHEST = 97


def raised(effect: int, base: int, spread: float) -> Population:
    words = f"HP raised by {effect} points over {base}%" + (
        f"; bulletins differ, SD {spread:g}" if spread else "")
    return Population(words, by_cell(base / 100, HP=(base + effect) / 100), spread, spread / 2,
                      mind=EXPECTS)


TRUE: dict[str, Population] = {
    f"true-{effect}-at-{base}" + (f"-sd{spread:g}" if spread else ""): raised(effect, base, spread)
    for effect, base, spread in product(EFFECTS, BASES, SPREADS) if effect + base <= HIGHEST}

POPULATIONS: dict[str, Population] = KNOWN | RIVALS | TRUE


# name → (what it is, the populations of its models)
POOLS: dict[str, tuple[str, tuple[str, ...]]] = {
    "pool-of-rivals": ("half conformist where peers are alike, half averse to entries",
                       ("conformist-symmetric", "entry-averse")),
    "one-against": ("three superrational models and one reversed",
                    ("superrational", "superrational", "superrational", "reversed")),
    "fifth-against": ("four superrational models and one reversed",
                      ("superrational",) * 4 + ("reversed",)),
}


# --- how it answers in one prompt --------------------------------------------------------------

def chance(name: str, cues: Cues, world: int = 0) -> float:
    """P(cooperate) of population `name` in this prompt. `world`: another draw of what bulletins do;
    runs meet world 0."""
    agent = POPULATIONS[name]
    p = agent.chance(cues)
    spread = math.hypot(agent.level, agent.slope)
    if not spread and not (agent.led and cues.leaning):
        return p
    return logistic(centred(p, spread) + agent.led * cues.leaning
                    + agent.level * _draw(world, "bulletin", cues.bulletin)
                    + agent.slope * _draw(world, "cell", cues.bulletin, cues.S, cues.C, cues.entry))


@lru_cache(maxsize=20_000)
def _draw(world: int, *what: str) -> float:
    """Standard normal, the same whenever it is met."""
    return SeededRandom(world, *what).gauss(0, 1)


# Standard normal quantiles of equal weight.
NORMAL = tuple(NormalDist().inv_cdf((at + 0.5) / 64) for at in range(64))


@cache
def centred(p: float, spread: float) -> float:
    """The log-odds whose share, averaged over normal shifts of this SD, is p."""
    if not spread or not 0 < p < 1:
        return logit(p)
    low, high = -12.0, 12.0
    for _ in range(50):
        middle = (low + high) / 2
        share = math.fsum(logistic(middle + spread * z) for z in NORMAL) / len(NORMAL)
        low, high = (middle, high) if share < p else (low, middle)
    return (low + high) / 2


# --- the exact share in a cell -----------------------------------------------------------------

def models_of(name: str) -> tuple[str, ...]:
    """The populations of a pool's models, or the one of this name."""
    return POOLS[name][1] if name in POOLS else (name,)


@cache
def scenes(cell: Cell, domain: str = "cvd", H: str = "low", wordings: int = 1) -> tuple[Cues, ...]:
    """What stands in every prompt of a cell: main bulletins, wordings, schemes, orders."""
    known = load_domain(domain)
    return tuple(_scenes(known, cell, H, wordings))


def _scenes(domain: Domain, cell: Cell, H: str, wordings: int) -> Iterable[Cues]:
    variant = next(variant for variant in domain.variants if not variant.holdout)
    for bulletin, wording, scheme, order in product(
            bulletin_pool(domain, False), range(wordings), LABEL_SCHEMES, ORDERS):
        stimulus = Stimulus(bulletin, variant, Condition(cell.S, cell.C, H), "standard", wording,
                            cell.entry)
        yield staged(domain, stimulus, scheme, order)


def expected(name: str, prompts: Iterable[Cues]) -> float:
    """P(cooperate) averaged over prompts, and over what bulletins do (it averages to nothing)."""
    each = list(map(POPULATIONS[name].chance, prompts))
    return math.fsum(each) / len(each)


# --- the word that it deserves ------------------------------------------------------------------

LEAST = 0.10          # of HP − LA and of the interaction, and of what a lot takes by itself
MOST_MISSING = 0.02   # of a cell
WORDINGS, ZERO = 3, 1e-9
NOT_SHOWN, CUE_RESPONSIVE, CORRELATION_SENSITIVE = EARNED = (
    "not shown", "cue-responsive", "correlation-sensitive")


class Earned(NamedTuple):
    """`lacks`: the requirements of `correlation-sensitive` that are not true of the population, in
    a mechanism study; `primary`: its HP − LA, from 0 to 1."""

    word: str
    lacks: tuple[str, ...]
    primary: float


@cache
def earned(name: str, design: str) -> Earned:
    """What a population or a pool deserves of a 2x2 or a mechanism study, whatever was said. Above
    `cue-responsive` a word is a model's own: a pool deserves the highest of its models'."""
    each = [_earned(model, design) for model in models_of(name)]
    best = max(each, key=lambda one: EARNED.index(one.word))
    primary = math.fsum(one.primary for one in each) / len(each)
    if best.word != CORRELATION_SENSITIVE:
        best = best._replace(word=CUE_RESPONSIVE if primary > ZERO else NOT_SHOWN)
    return best._replace(primary=primary)


def _earned(name: str, design: str) -> Earned:
    if design == "2x2":
        primary = expected(name, scenes(PILOT[0])) - expected(name, scenes(PILOT[-1]))
        return Earned(CUE_RESPONSIVE if primary > ZERO else NOT_SHOWN, (), primary)
    share = {cell.name: expected(name, scenes(cell, wordings=WORDINGS)) for cell in MECHANISM}
    primary = share["HP"] - share["LA"]
    lacks = tuple(what for what, holds in required(name, share).items() if not holds)
    return Earned(CORRELATION_SENSITIVE if not lacks else
                  CUE_RESPONSIVE if primary > ZERO else NOT_SHOWN, lacks, primary)


def required(name: str, share: Mapping[str, float]) -> dict[str, bool]:
    """{what `correlation-sensitive` requires: whether it is true of the population}."""
    interaction = share["HP"] - share["LA"] - share["UN"] + share["UL"]
    return {"HP-LA": share["HP"] - share["LA"] >= LEAST - ZERO,
            **{f"HP-{cell}": share["HP"] - share[cell] > ZERO for cell in ("LP", "RV", "UN")},
            "interaction": interaction >= LEAST - ZERO, "log-odds": _log_odds(share) > ZERO,
            "scale": share["LA"] - share["UL"] < LEAST - ZERO,
            "labels": all(effect > ZERO for effect in _by_label(name)),
            "missing": max(missing(name, cell) for cell in MECHANISM) <= MOST_MISSING}


def _log_odds(share: Mapping[str, float]) -> float:
    """The interaction in log-odds; shares of 0 and 1 stand a thousandth inside."""
    odds = {cell: logit(min(max(p, .001), .999)) for cell, p in share.items()}
    return odds["HP"] - odds["LA"] - odds["UN"] + odds["UL"]


def _by_label(name: str) -> Iterable[float]:
    """HP − LA in each scheme, and in each order."""
    sides = [scenes(MECHANISM[at], wordings=WORDINGS) for at in (0, 3)]
    for kind in (lambda cues: cues.cooperative,
                 lambda cues: ORDERS[cues.first != cues.cooperative]):
        for level in sorted({kind(cues) for cues in sides[0]}):
            high, low = (expected(name, [cues for cues in side if kind(cues) == level])
                         for side in sides)
            yield high - low


def missing(name: str, cell: Cell) -> float:
    """The share of answers that go missing in a cell."""
    agent, prompts = POPULATIONS[name], scenes(cell)
    return math.fsum(p * sum(agent.missing(cues, True)) + (1 - p) * sum(agent.missing(cues, False))
                     for cues in prompts for p in (agent.chance(cues),)) / len(prompts)
