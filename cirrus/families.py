"""Families of simulated respondents, each with the account that is true of it, for calibration.

    POPULATIONS["obedience"].account                                    "blind"
    text, finish_reason = respondent("obedience")(request, SeededRandom(study_seed, "…"))

A member cooperates with probability link(term + z): what it weighs in a prompt, and what bulletins,
cells and sentences add, drawn from its name and the study's seed. It sees the prompt alone.
"""

import math
import random
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache, partial
from itertools import product
from statistics import NormalDist
from typing import NamedTuple

from cirrus.ask import probes
from cirrus.ask.cues import Cues, read_cues
from cirrus.ask.oneshot import DEFAULT_LEVER, DESIGNS, balanced
from cirrus.ask.prompts import LEVERS
from cirrus.ask.respondents import Beliefs, answer_probe, logistic, logit
from cirrus.judge.accounts import CORRELATION, DECIDER, WORDS, word
from cirrus.judge.contrasts import ALPHA, Slot, add
from cirrus.judge.oneshot import part_of
from common.rng import SeededRandom
from common.wire import Request

SDS = (0.8, 0.4, 0.25)  # log-odds, over bulletins, cells of a bulletin, and sentences
OPEN, REASONER = "open", "reasoner"  # declared beside the accounts of `judge.accounts`
NORMAL = NormalDist()


@lru_cache(maxsize=8)
def luck_of(*study: object) -> Callable[[object], float]:
    """Standard normal numbers by key, the same in all prompts of a study."""
    return cache(lambda key: random.Random(repr((*study, key))).gauss(0, 1))


class Case(NamedTuple):
    """What a term may weigh. `both`: symmetry and cue; `same`: both, and the counterpart decides
    now; `posted`: both, and its entry is known; `lever`: 1 at the default level."""

    luck: Callable[[object], float]
    cues: Cues
    text: str
    S: int
    C: int
    both: int
    same: int
    posted: int
    earlier: int
    known: int
    lever: float


def levels(cues: Cues) -> tuple[float, ...]:
    """S to lever of a case."""
    both, known = cues.symmetric * cues.coupled, int(cues.entry == "known")
    return (
        cues.symmetric,
        cues.coupled,
        both,
        both * cues.decides_now,
        both * known,
        int(cues.entry == "earlier"),
        known,
        cues.lever / LEVERS[DEFAULT_LEVER - 1],
    )


# Twice the prompts of a mechanism study.
@lru_cache(maxsize=4096)
def reading(text: str) -> tuple:
    """A prompt as a case has it, without luck."""
    cues = read_cues(text)
    return cues, text, *levels(cues)


def shift(case: Case, sds: tuple[float, float, float]) -> float:
    """What a bulletin, its cell and the sentences on symmetry, cue and entry add."""
    (luck, cues, _, S, C, *_, lever), (bulletin, cell, sentence) = case, sds
    entry, at, wording = cues.entry, cues.bulletin, cues.wording
    return (
        (bulletin and bulletin * luck(at))
        + (cell and cell * luck((at, S, C, entry, lever > 0)))
        + (
            sentence
            and sentence
            * (
                luck((wording, "S", S))
                + luck((wording, "C", C))
                + luck((wording, "entry", entry))
            )
        )
    )


Term, Link = Callable[[Case], float], Callable[[float], float]
Respond = Callable[[Request, SeededRandom], tuple[str, str]]


# --- links ---------------------------------------------------------------------------------------


def within(p: float) -> float:
    return min(1.0, max(0.0, p))


def step(x: float) -> float:
    return float(x > 0)


CURVES: dict[str, Link] = {
    "logit": logistic,
    "probit": lambda u: NORMAL.cdf(u / 1.6),
    "cloglog": lambda u: -math.expm1(-math.exp(min(u - 0.3, 5.0))),
    "threshold": step,
    "hill": lambda u: (x := max(0.0, u + 1.5) ** 3) / (x + 8),
    "lapses": lambda u: 0.1 + 0.8 * logistic(4 * u),
    "floors": lambda u: 0.05 if u < -1 else 0.5 if u < 1 else 0.95,
}


# --- terms ---------------------------------------------------------------------------------------


def adds(base: float, **weights: float) -> Term:
    places = [(Case._fields.index(name), weight) for name, weight in weights.items()]
    return lambda case: base + sum([weight * case[at] for at, weight in places])


def either(first: Term, second: Term, *keys: str) -> Term:
    """One of two readers in each of what the keys name."""
    return lambda case: (
        second
        if case.luck(("kind", *(getattr(case.cues, key) for key in keys))) > 0
        else first
    )(case)


def expects(
    base: float,
    weight: float,
    usual: float,
    more: float = 0,
    like: float = 0.4,
    earlier: float | None = None,
    known: float = 1,
    averse: float = 0,
    lever: float = 1,
) -> Term:
    """Cooperates by its belief that the other does: raised by likeness, `more` of earlier filers
    (or `earlier`, whoever they are), and `known` of a known entry, which it may be averse to."""

    def term(case: Case) -> float:
        belief = (
            known
            if case.known
            else earlier
            if case.earlier and earlier is not None
            else (within(usual + like * (case.S + case.C) / 2 + more * case.earlier))
        )
        return base + weight * belief - averse * case.known + lever * case.lever

    return term


def payoffs(power: float, obeys: float, now: float, earlier: float) -> Term:
    """Weighs outcomes, in units of the temptation and to a power, by what it expects of the other;
    and likes what the sentences praise."""

    def term(case: Case) -> float:
        outcomes = case.cues.outcomes
        unit = (outcomes[0] - outcomes[1]) / (
            1 - case.cues.lever
        )  # below 0 where less is better
        T, R, P, S = (((x - outcomes[3]) / unit) ** power for x in outcomes)
        belief = 1.0 if case.known else earlier if case.earlier else now
        gain = belief * (R - T) + (1 - belief) * (S - P)
        return 1 + gain / (9**power - 8**power) + obeys * case.both

    return term


# what, how much each adds, how many a prompt usually holds
COUNTED = {
    "length": (r"\S+", 0.1, 330),
    "tone": (r"(?i)\b(?:not?|never|nothing|n?either|cannot|nor|differ\w*)\b", -0.5, 6),
    "desirability": (
        r"(?i)\b(?:same|alike|both|together|joint|similar|match\w*|shared|"
        r"common)\b",
        0.6,
        6,
    ),
}


@lru_cache(maxsize=8192)
def counted(text: str, what: str) -> float:
    pattern, each, usual = COUNTED[what]
    return each * (len(re.findall(pattern, text)) - usual)


def reasoner(low: float, high: float) -> Term:
    """Expects its own decision of a counterpart that decides now from the same notice: cooperates
    in `low` of cases, `high` of those with symmetry and cue; the lever brings it half the way."""
    base, top, middle = map(logit, (low, high, (low + high) / 2))
    return adds(base, same=top - base, lever=middle - base)


def lost(share: float, others: str, cooperation: str) -> Callable[[Case, bool], float]:
    """Loses a share of defections in cells `others`, of cooperation in `cooperation`; a cell is HP,
    M (lever) or LA and the first letter of its entry: "HPe" is EP."""

    def missing(case: Case, cooperates: bool) -> float:
        cell = ("HP" if case.both else "M" if case.lever else "LA") + case.cues.entry[0]
        return share * (cell in (cooperation if cooperates else others).split())

    return missing


# --- the families --------------------------------------------------------------------------------


class Member(NamedTuple):
    """`missing`: the share of answers with this act that can't be read. `term` is None where a
    user's own function answers."""

    family: str
    account: str
    what: str
    term: Term | None = None
    link: Link = logistic
    sds: tuple[float, float, float] = SDS
    missing: Callable[[Case, bool], float] | None = None
    centre: bool = False


SUMS = {
    "drop": adds(-1, S=2, C=2, earlier=-5, known=-5, lever=3),
    "even": adds(-1, S=0.9, C=0.9, earlier=-0.8, known=-0.8, lever=1.8),
    "likeness": adds(-1, S=1.5, C=1.5, earlier=-1, known=-1, lever=1),
    "lever": adds(-1, S=0.8, C=0.8, earlier=-1, known=0.5, lever=2.5),
}
# link, base, weight of what it expects
CONDITIONAL = {
    "logistic": (logistic, -3.5, 6),
    "linear": (lambda u: within(u / 10), 0, 9),
    "threshold": (step, -3, 5),
}
LABELS: dict[str, Callable[[Cues], bool]] = {
    "words": lambda cues: cues.cooperative.isupper(),
    "letters": lambda cues: not cues.cooperative.isupper(),
    "the-act-first": lambda cues: cues.first == cues.cooperative,
    "option-a": lambda cues: cues.cooperative == "Option A",
}
LOSSES = {
    "flatters": (0.3, "HPn", "LAn"),
    "flatters-little": (0.15, "HPn", "LAn"),
    "flatters-all": (0.18, "HPn Me", "LAn HPe HPk Mn"),
    "damps": (0.3, "LAn", "HPn"),
    "damps-little": (0.15, "LAn", "HPn"),
}
SPREADS = (SDS, (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1))
STILL, RARE = (0, 0, 0), NORMAL.inv_cdf(0.8)


def random_sum(number: int) -> tuple:
    """Its curve: straight lines between rising heights at −6, −4 … 6."""
    rng = random.Random(f"sum {number}")
    weights = {
        name: rng.gauss(0, 2) for name in ("S", "C", "earlier", "known", "lever")
    }
    base, power = rng.uniform(-4, 2), rng.choice((1, 4))
    heights = sorted(rng.random() ** power for _ in range(7))

    def curve(u: float) -> float:
        at, part = divmod(min(max((u + 6) / 2, 0), 5.999999), 1)
        return heights[int(at)] + part * (heights[int(at) + 1] - heights[int(at)])

    return adds(base, **weights), curve


def expecting(curve: str, usual: float, more: float = 0) -> tuple:
    link, base, weight = CONDITIONAL[curve]
    return expects(base, weight, usual / 100, more / 100), link


def weighing(power: float) -> Callable[..., tuple]:
    return lambda obeys, expected: (
        payoffs(power, obeys, expected[0] / 100, expected[1] / 100),
    )


def label(where: str) -> tuple:
    agent = reasoner(0.4, 0.95)
    return (lambda case: agent(case) if LABELS[where](case.cues) else logit(0.4),)


def skewed(size: int) -> tuple:
    """Points of probability, so that they balance on the contrast's scale."""
    return (
        lambda case: (
            0.5
            + size
            / 100
            * case.both
            * (1 if case.luck(("rare", case.cues.bulletin)) < RARE else -4)
        ),
        within,
        STILL,
    )


def lottery(*keys: str) -> tuple:
    return (
        lambda case: case.luck((case[3:], *(getattr(case.cues, key) for key in keys))),
        step,
        STILL,
    )


# Families of named members, through the logistic curve: account, {name: what it weighs}.
NAMED: dict[str, tuple[str, dict[str, Term]]] = {
    "kindness": (
        "conditional",
        {
            "kindness": adds(-1, both=1.2, known=1.5, earlier=0.5, lever=1),
            "kindness-strong": adds(-1.5, both=2, known=4, earlier=1, lever=1),
        },
    ),
    "reciprocity": (
        "conditional",
        {
            "reciprocity": adds(-0.8, both=2.4, known=2.8, posted=-2.4, lever=1),
            "reciprocity-hopeful": adds(-0.8, same=2.8, known=3.3),
        },
    ),
    "norms": ("blind", {"norms": adds(-1, S=1.2, C=1.5, lever=0.3)}),
    "norms toward people": (
        "conditional",
        {"norms-people": adds(-1, both=1.5, known=1.5, earlier=0.7)},
    ),
    "team reasoning": ("blind", {"team": adds(-1.5, both=4.5, lever=2)}),
    "team reasoning, assured": (
        "conditional",
        {"team-assured": adds(-1.5, both=3, known=2, lever=2)},
    ),
    "obedience": (
        "blind",
        {
            "obedience": adds(-0.5, both=2.5, lever=0.3),
            "obedience-full": adds(-3.5, both=7),
            "obedience-cue": adds(-0.4, C=2.4),
            "obedience-likeness": adds(-0.4, S=2.4),
        },
    ),
    "posted entries": (
        "conditional",
        {
            "posted-averse": expects(-3.5, 6, 0.3, averse=3),
            "posted-exploiting": expects(-3, 6, 0.3, averse=6),
        },
    ),
    "partly updateless": (
        OPEN,
        {"updateless": adds(-0.4, same=3.3, posted=1.65, lever=1.7)},
    ),
    "known entries land on neither": (
        OPEN,
        {
            "averse-on-neither": expects(-2.2, 6, 0.3, earlier=0, averse=4.2),
            "averse-on-neither-strong": expects(
                -3.1, 9, 0.3, 0, 0.5, 0.1, averse=6.3, lever=1.5
            ),
        },
    ),
    "mixtures of two sums": (
        OPEN,
        {
            f"mixture-by-{'-and-'.join(keys)}": either(
                adds(-6, S=5, C=5, earlier=-8, known=-8), adds(-3, lever=3), *keys
            )
            for keys in (("bulletin", "wording"), ("bulletin",))
        },
    ),
}
# Families on a grid. Family: account, what its members do, the start of their names, the grid (its
# first point is the centre), what makes term, link, SDs, and what goes missing, of a point.
GRIDS: dict[str, tuple[str, str, str, Iterable[tuple], Callable[..., tuple]]] = {
    **{
        f"sums, {curve}": (
            "adding_up",
            "a weighted sum through this curve",
            f"sum-{curve}",
            product(SUMS),
            lambda name, link=link: (SUMS[name], link),
        )
        for curve, link in CURVES.items()
    },
    "sums, mixture of bulletins": (
        "adding_up",
        "two bases",
        "sum-mixture",
        product(SUMS),
        lambda name: (
            either(SUMS[name], lambda case: SUMS[name](case) + 3, "bulletin"),
        ),
    ),
    "random sums": (
        "adding_up",
        "random weights and rising curve",
        "random-sum",
        product(range(200)),
        random_sum,
    ),
    **{
        f"conditional, {curve}": (
            "conditional",
            "expects this share by itself",
            f"conditional-{curve}",
            product((30, 10, 50)),
            partial(expecting, curve),
        )
        for curve in CONDITIONAL
    },
    "conditional, optimistic": (
        "conditional",
        "expects this much more of earlier filers",
        "optimistic",
        product(CONDITIONAL, (30,), (20, 40)),
        expecting,
    ),
    **{
        f"expected payoffs, {taste}": (
            account,
            "obeys, and weighs outcomes by what it expects of present and earlier filers",
            f"payoffs-{taste}",
            product((2, 4), ((30, 70), (50, 90), (10, 90))),
            weighing(power),
        )
        for taste, account, power in (
            ("neutral", "conditional", 1),
            ("averse", "conditional", 0.7),
            ("seeking", OPEN, 1.5),
            ("strongly-seeking", OPEN, 3),
        )
    },
    **{
        what: (
            "blind",
            "counts it in the whole prompt",
            what,
            product((1, 2)),
            lambda times, what=what: (lambda case: times * counted(case.text, what),),
        )
        for what in COUNTED
    },
    "label × cell": (
        "labels",
        "reasons with these labels alone",
        "label",
        product(LABELS),
        label,
    ),
    "missing not at random": (
        "missing",
        "a coin that loses acts",
        "missing",
        product(LOSSES),
        lambda name: (adds(0), logistic, SDS, lost(*LOSSES[name])),
    ),
    "lotteries": (
        "nothing",
        "the same act in each cell of these",
        "lottery",
        (("wording",), ("bulletin",), ("wording", "bulletin")),
        lottery,
    ),
    "deterministic": (
        "nothing",
        "the same act in each cell and order of a bulletin",
        "lottery",
        (("bulletin", "first"),),
        lottery,
    ),
    "hash of the prompt": (
        "nothing",
        "the same act for the same prompt",
        "hash",
        ((),),
        lambda: (lambda case: case.luck((case.text,)), step, STILL),
    ),
    **{
        f"coins, {share}%": (
            "nothing",
            "its SDs in its name",
            f"coin-{share}",
            SPREADS,
            lambda *sds, share=share: (adds(logit(share / 100)), logistic, sds),
        )
        for share in (50, 2, 5, 20, 80)
    },
    "skewed units": (
        "nothing",
        "a fifth of bulletins carries what the others balance",
        "skewed",
        product((5, 10)),
        skewed,
    ),
    "doubts known entries": (
        OPEN,
        "believes one in three, cooperates as it expects",
        "doubts-known",
        product(("linear", "logistic")),
        lambda curve: (
            expects(
                *{"linear": (0, 10), "logistic": (-4, 8)}[curve],
                1 / 3,
                0,
                0.6,
                0.5,
                1 / 3,
                lever=1.5,
            ),
            CONDITIONAL[curve][0],
        ),
    ),
    **{
        f"reasoners, {low} → {high}%": (
            REASONER,
            "expects its own decision of present filers",
            "reasoner",
            ((low, high),),
            lambda low, high: (
                reasoner(low / 100, high / 100),
                logistic,
                (0.3, 0.1, 0.25) if low == 3 else SDS,
            ),
        )
        for low, high in ((3, 97), (40, 95), (40, 80), (40, 70), (5, 25), (40, 60))
    },
    **{
        family: (
            account,
            family,
            "",
            product(terms),
            lambda name, terms=terms: (terms[name],),
        )
        for family, (account, terms) in NAMED.items()
    },
}
# log-odds more, SDs: where a family's centre stands too, of families whose account is closed
ELSEWHERE = {
    "low": (-3, SDS),
    "high": (2, SDS),
    "still": (0, STILL),
    "wide": (0, (1, 1, 1)),
}


def everybody() -> Iterator[tuple[str, Member]]:
    for family, (account, what, start, grid, make) in GRIDS.items():
        centre = family != "random sums"
        for point in grid:
            name = re.sub(r"[^a-z0-9.]+", "-", f"{start} {point}".lower()).strip("-")
            member = Member(family, account, what, *make(*point))
            yield name, member._replace(centre=centre)
            if centre and account not in ("nothing", OPEN, REASONER):
                for where, (more, sds) in ELSEWHERE.items():
                    yield (
                        f"{name}-{where}",
                        member._replace(
                            what=f"{what}; {more:+} log-odds, SDs {sds}",
                            sds=sds,
                            term=lambda case, term=member.term, more=more: (
                                term(case) + more
                            ),
                        ),
                    )
            centre = False


POPULATIONS: dict[str, Member] = dict(everybody())


# --- answering ---------------------------------------------------------------------------------


def respondent(name: str) -> Respond:
    """A member as a provider asks it; `rng.root` is the study's seed."""
    member = POPULATIONS[name]
    beliefs = Beliefs(diagnostic=60 if member.account == REASONER else 0)

    def respond(request: Request, rng: SeededRandom) -> tuple[str, str]:
        if request.stage == probes.STAGE:
            return answer_probe(beliefs, request, rng), "stop"
        case = Case(luck_of(rng.root, name), *reading(request.user))
        cooperates = rng.random() < member.link(
            member.term(case) + shift(case, member.sds)
        )
        if member.missing and rng.random() < member.missing(case, cooperates):
            return "We are still weighing this with counsel.", "stop"
        return (
            f"Decision: {case.cues.cooperative if cooperates else case.cues.other}",
            "stop",
        )

    return respond


# --- power: how often a mechanism study finds what is there ------------------------------------

WORDINGS = 12
EFFECTS = ((0.40, 0.95), (0.40, 0.80), (0.40, 0.60))


def power(
    low: float,
    high: float,
    bulletins: int,
    blocks: int,
    models: int = 1,
    samples: int = 30,
    seed: int = 0,
) -> dict[str, float]:
    """{word: share of studies in which a model earns it, or a higher one}."""
    cells, term, ranks = DESIGNS["mechanism"].cells, reasoner(low, high), []
    for sample in range(samples):
        luck, rng, answers = (
            luck_of(seed, sample),
            random.Random(f"{seed} {sample}"),
            {},
        )
        for (b, _), (at, scheme, order) in balanced(
            bulletins, blocks, WORDINGS
        ).items():
            for cell in cells:
                raised = LEVERS[DEFAULT_LEVER - 1] if cell.lever else 0
                cues = Cues(
                    cell.S,
                    cell.C,
                    "low",
                    cell.entry,
                    "standard",
                    at,
                    raised,
                    (),
                    "",
                    f"b{b:02d}",
                    True,
                )
                case = Case(luck, cues, "", *levels(cues))
                add(
                    answers,
                    Slot(f"b{b:02d}", at, cell.name, "low", "m", scheme, order),
                    int(rng.random() < logistic(term(case) + shift(case, SDS))),
                )
        part = part_of(answers, [cell.name for cell in cells], 1 - ALPHA / models, True)
        ranks.append(WORDS.index(word(part)[0]))
    return {
        name: sum(rank >= WORDS.index(name) for rank in ranks) / samples
        for name in (DECIDER, CORRELATION)
    }
