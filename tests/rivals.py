"""Rivals from outside for CIRRUS-24's claim rule, written from the method's description alone.

    python3 calibrate.py --rivals tests/rivals.py --reps 60 --jobs 2

A respondent gets (request, rng) and sees the prompt only. What stands in it is read as the
project's respondents read it (`cues.py`); what a rival makes of it is the author's. ACCOUNTS was
declared before any run: no study may exclude a respondent's account. "open" names a kind that is
always open; "reasoner" has the mechanism. Comments say why a rival might fool the rule.
"""

import hashlib
import math
import re
from functools import cache, lru_cache
from statistics import NormalDist
from typing import NamedTuple

from cirrus.ask.cues import read_cues


class Seen(NamedTuple):
    text: str
    alike: float  # 1: symmetry and cue, 1/2: one of them
    entry: str  # read, unread, known; record: read, and 49 of its last 50 were late
    lever: float  # 0, or 1 where both late is raised
    raised: float  # by how much, in the bulletin's own numbers
    joint: float  # what both late costs, as printed
    bulletin: str
    wording: int
    scheme: str  # which label is the late act's: word, A, B
    late: str
    early: str
    first: bool  # whether the late act stands first
    study: int = 0  # another one in each study

    @property
    def hp(self):
        return self.alike == 1 and self.entry == "read"


@lru_cache(maxsize=50_000)
def read(text):
    cues = read_cues(text)
    T, R = cues.outcomes[:2]
    temptation = (R - T) / (1 - cues.lever)
    return Seen(
        text=text,
        alike=(cues.symmetric + cues.coupled) / 2,
        entry="record" if cues.record else cues.entry,
        lever=cues.lever / 3,
        raised=cues.lever * temptation,
        joint=R,
        bulletin=cues.bulletin,
        wording=cues.wording,
        scheme="word" if cues.cooperative.isupper() else cues.cooperative[-1],
        late=cues.cooperative,
        early=cues.other,
        first=cues.first == cues.cooperative,
    )


@cache
def luck(*keys):
    """A standard normal number, the same wherever these keys are."""
    digest = hashlib.sha256(repr(keys).encode()).digest()
    place = int.from_bytes(digest[:6], "big") + 0.5
    return NormalDist().inv_cdf(place / 2**48)


def answering(share, loses=None, instead=None):
    """Late with probability share(seen); a share loses(seen, late) gives `instead`."""

    def respondent(request, rng):
        seen = read(request.user)._replace(study=rng.root)
        late = rng.random() < share(seen)
        text = f"Decision: {seen.late if late else seen.early}\nRationale: This suits our plan."
        if loses and rng.random() < loses(seen, late):
            return instead(seen, text)
        return text, "stop"

    return respondent


def logit(x):
    held = max(-40.0, min(40.0, x))
    return 1 / (1 + math.exp(-held))


def steep(x):
    return logit(6 * x)


def cloglog(x):
    return 1 - math.exp(-math.exp(max(-30.0, min(3.0, x))))


def step(x):
    return 0.98 if x > 0 else 0.02


def straight(x):
    return max(0.0, min(1.0, x))


def level(seen):
    return seen.lever


def number(seen):
    return seen.raised


def proportion(seen):
    """As Weber has it."""
    return math.log((seen.joint + seen.raised) / seen.joint)


def at(weight, seen):
    return weight(seen) if callable(weight) else weight


def total(base, alike, lever, unread, known, curve=logit, scale=level):
    """A sum of likeness, payoff and entry on any curve; each weight a number or a function."""

    def share(seen):
        x = at(base, seen)
        x += at(alike, seen) * seen.alike
        x += at(lever, seen) * scale(seen)
        if seen.entry == "unread":
            x += at(unread, seen)
        if seen.entry == "known":
            x += at(known, seen)
        return curve(x)

    return share


def belief(likes, others, unread, known=1.0, record=0.98):
    """Expected share of late entries; `unread`: of those who have not read the notice."""
    fixed = {"unread": unread, "known": known, "record": record}
    return lambda seen: fixed.get(seen.entry, others + (likes - others) * seen.alike)


def trust(guess, curve=step, need=0.7, lever=0.3):
    """The surer of the other, the more it cooperates; a better joint outcome needs less."""
    return lambda seen: curve(guess(seen) - need + lever * seen.lever)


def prospect(guess, unit, taste, averse=1.0):
    """Expected outcomes, the late act's less the early one's, and a liking for the cue."""

    def share(seen):
        T, R, P, S = read_cues(seen.text).outcomes
        late = guess(seen)
        value = late * (T - R) + (1 - late) * (P - S) * averse
        return logit(value / unit(S - P) + taste * seen.alike)

    return share


def by_wording(odd, even):
    return lambda seen: odd if seen.wording % 2 else even


def in_some_bulletins(name, above, chosen, others):
    return lambda seen: (
        chosen if luck(name, seen.study, seen.bulletin) > above else others
    )


def urgency(seen):
    haste = len(re.findall(r"\btoday\b", seen.text))
    return logit(-3 + 5 * seen.alike * haste + 3 * seen.lever)


def staleness(seen):
    """Words of the past make what was said sound stale."""
    past = re.search(r"\b(?:last week|yesterday|days ago)\b", seen.text)
    followed = 0 if past else seen.alike
    return logit(-2 + 2.2 * seen.lever + 4 * followed)


def forgetting(seen):
    """What stands far from the end counts less."""
    far = len(seen.text) - seen.text.rfind("decision")
    return logit(-2 + 4 * seen.alike * math.exp(-far / 7000))


def patchy(seen):
    sure = in_some_bulletins("attention", 1.04, 1.0, 0.5)(seen)
    return trust(belief(0.9, 0.3, 0.5, sure))(seen)


def divided(seen):
    guess = belief(0.95, 0.45, 0.5, seen.wording % 2)
    return trust(guess, steep, 0.5, 0.25)(seen)


def suspense(seen):
    if seen.entry == "known":
        return 0.04
    return trust(belief(0.9, 0.25, 0.55))(seen)


# name, account, share of late answers; the comment: why it might fool the rule
TABLE = [
    ("coin", "nothing", lambda s: 0.5),  # a fair coin: the size of every test
    ("miser", "nothing", lambda s: 0.02),  # at the lower edge intervals are lopsided
    ("sunny", "nothing", lambda s: 0.95),  # at the upper edge likewise
    ("calendar_clerk", "nothing", lambda s: 1.0),  # never varies
    # a fixed act for each prompt: cells differ, but by nothing that anyone could name
    ("prompt_hash", "nothing", lambda s: float(luck("prompt", s.text) > 0)),
    # wording and bulletin decide together, one act each: no error within a unit
    (
        "lottery",
        "nothing",
        lambda s: float(luck("lot", s.study, s.bulletin, s.wording) > 0.3),
    ),
    # strong effects of single sentences beside single bulletins
    (
        "sentence_lottery",
        "nothing",
        lambda s: logit(1.5 * luck(s.study, s.wording, s.bulletin, s.alike, s.entry)),
    ),
    # a rare unit carries it: one in six far down, five a little up
    (
        "skewed_units",
        "nothing",
        lambda s: 0.75 + s.alike * in_some_bulletins("skew", 1, -0.742, 0.13)(s),
    ),
    ("follower", "surface", total(-1.5, 4, 1.5, 0, 0)),
    ("liking", "surface", total(0.1, 0.8, 0.3, 0, 0, straight)),
    # longer prompts are followed more: HP has a sentence that LA lacks, and entries differ
    ("length", "surface", lambda s: logit((len(s.text) - 2150) / 50)),
    ("urgency", "surface", urgency),  # "today" lends the cue its weight
    ("staleness", "surface", staleness),
    ("forgetting", "surface", forgetting),
    ("word", "labels", lambda s: 0.85 if s.scheme == "word" else 0.4),
    ("first_line", "labels", lambda s: 0.85 if s.first else 0.15),
    # "coordinate" rhymes with likeness; letters are a coin
    ("word_echo", "labels", lambda s: 0.7 if s.scheme == "word" and s.hp else 0.5),
    # hurried, it takes the late line where that stands first: half of the combinations
    ("satisficing", "labels", lambda s: 0.74 if s.first and s.hp else 0.5),
    # never hurries to B; the differences are too small to be established in 80 answers
    ("letter_shy", "labels", lambda s: 0.5 + 0.18 * (s.hp and s.scheme != "B")),
    # what speaks against an effect is withheld, just below a tenth: ten points
    (
        "squeeze",
        "missing",
        answering(
            lambda s: 0.5,
            lambda s, late: 0.18 * (s.hp != late),
            lambda s, text: ("No.", "stop"),
        ),
    ),
    # cut off, though the decision line is whole: is that an answer?
    (
        "cut_off",
        "missing",
        answering(
            lambda s: 0.3,
            lambda s, late: 0.3 * (late and not s.hp),
            lambda s, text: (text, "length"),
        ),
    ),
    # names both labels, the late one first, where it would be early in HP
    (
        "both_labels",
        "missing",
        answering(
            lambda s: 0.2,
            lambda s, late: 0.12 * (s.hp and not late),
            lambda s, text: (f"Decision: {s.late} or {s.early}", "stop"),
        ),
    ),
    # early acts of HP in a form that only a lenient reader can read
    (
        "odd_form",
        "missing",
        answering(
            lambda s: 0.5,
            lambda s, late: 0.19 * (s.hp and not late),
            lambda s, text: (f"We enter *{s.early}*.\nRationale: see above.", "stop"),
        ),
    ),
    # matches its guess, which is best of those who are like it and have read the notice
    ("matching", "conditional", trust(belief(0.9, 0.3, 0.4), straight, 0.0, 0.2)),
    ("soft_trust", "conditional", trust(belief(0.85, 0.35, 0.5), steep, 0.6, 0.3)),
    # non-readers thought better than unlike readers: HP > MN and ME > UP at once
    ("inverted_trust", "conditional", trust(belief(0.9, 0.25, 0.55))),
    # near the floor: KL can hardly be told from LA
    ("frugal_trust", "conditional", lambda s: 0.02 + 0.12 * belief(1.0, 0, 0.3)(s)),
    # a norm toward people who have read the same, and thanks to those who were kind
    ("fellowship", "conditional", trust(belief(0.8, 0.4, 0.2, 0.9), steep, 0.5, 0.2)),
    ("patchy_attention", "conditional", patchy),  # KL - LA is wide and may hold 0
    # reads of the entry only that it is made: not surer of a known one
    ("skimming", "conditional", trust(belief(0.9, 0.3, 0.5, 0.5))),
    # obedient, weighs outcomes in their own numbers, or in units of what may be lost
    ("raw_prospect", "conditional", prospect(belief(0.8, 0.5, 0.75), lambda d: 9, 4)),
    ("prospect", "conditional", prospect(belief(0.85, 0.5, 0.7), lambda d: d / 7, 5)),
    # a known entry binds it in half of the wordings and angers it in the others
    ("divided_publicity", "conditional", divided),
    ("plain_sum", "adding_up", total(-1.5, 3.5, 2.2, -2, -2)),
    ("cloglog_sum", "adding_up", total(-3, 4, 3, -2.5, -3, cloglog)),
    # a threshold that bulletins and wordings shift
    (
        "shifted_bar",
        "adding_up",
        total(
            lambda s: luck(s.study, s.bulletin) + 0.5 * luck(s.study, s.wording) - 1,
            2.5,
            1.8,
            -1.5,
            -2.2,
            step,
        ),
    ),
    # base of 2%: all but HP and MN lies on the floor
    ("floor_sum", "adding_up", total(-4, 6, 4.2, -5, -5)),
    # bases that differ much by bulletin: every unit on another part of the curve
    (
        "sum_of_bases",
        "adding_up",
        total(lambda s: 3 * luck(s.study, s.bulletin) - 1, 4, 2.5, -4, -4),
    ),
    # a weight a printed number: the lever is a trifle here, a fortune there
    ("number_bar", "adding_up", total(-8.3, 8.6, 1 / 3, -1.2, -1.2, step, number)),
    ("numbers", "adding_up", total(-6, 8, 0.3, -4, -4, logit, number)),
    # a weight a proportion, which bulletins do not hold fixed
    (
        "proportion_bar",
        "adding_up",
        total(-0.32, 0.33, 1, -0.03, -0.06, step, proportion),
    ),
    ("proportions", "adding_up", total(-12, 14, 40, -4.5, -5, logit, proportion)),
    # what is saved counts in some units only, or counts there four times as much
    (
        "some_units",
        "adding_up",
        total(-2.5, 4.5, in_some_bulletins("unit", 0.5, 9, 0), -5, -5),
    ),
    (
        "dear_units",
        "adding_up",
        total(-3, 5.8, in_some_bulletins("unit", -0.5, 9, 2), -4.8, -4.8),
    ),
    # firm wordings: strong likeness, low base; soft ones the reverse
    (
        "firm_wordings",
        "adding_up",
        total(by_wording(-4.5, 6), by_wording(8, 1), 3.5, -8.5, by_wording(-6, -2)),
    ),
    # likeness where the notice is read, or moot; disbelief in what is known, one time in three
    ("pertinence", "open", lambda s: logit(-1 + 4 * s.hp + 1.5 * s.lever)),
    ("disbeliever", "open", trust(belief(0.9, 0.3, 0.55, 0.35, 0.35))),
    ("suspense", "open", suspense),  # cooperates only while the other is uncertain
    # sums of different readers whose payoffs weigh differently
    (
        "two_readers",
        "open",
        total(-3, 5.5, in_some_bulletins("reader", 0.2, 9, 0), -4.8, -4.8),
    ),
    # a taste for risk: what may be lost counts for a third
    ("gambler", "open", prospect(belief(0.6, 0.4, 0.5), lambda d: d / 6, 3, 0.3)),
    # likeness counts with a counterpart that has read the notice: 3 to 97, 40 to 95, 40 to 80
    ("reasoner_strong", "reasoner", total(-3.4, lambda s: 6.9 * s.hp, 3.4, 0, 0)),
    ("reasoner_middle", "reasoner", total(-0.4, lambda s: 3.3 * s.hp, 1.6, 0, 0)),
    ("reasoner_weak", "reasoner", total(-0.4, lambda s: 1.8 * s.hp, 0.9, 0, 0)),
]

RESPONDENTS = {}
ACCOUNTS = {}
for name, account, rule in TABLE:
    RESPONDENTS[name] = rule if account == "missing" else answering(rule)
    ACCOUNTS[name] = account
