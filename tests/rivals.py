"""Rivals from outside for CIRRUS-24's claim rule, written from the method's description alone.

A respondent gets (request, rng) and sees the prompt only. What stands in it is read as the
project's respondents read it (`cues.py`); what a rival makes of it is the author's. ACCOUNTS was
declared before any run: no study may exclude a respondent's account. "open" names the kind listed
under *Always open*; "reasoner" has the mechanism. Comments say why a rival might fool the rule.
"""

import hashlib
import json
import math
import re
from functools import cache, lru_cache
from statistics import NormalDist
from typing import NamedTuple

from cirrus.ask.bulletins import PROMPTS
from cirrus.ask.cues import read_cues

FRAME, OUTCOMES = (
    json.loads((PROMPTS / "cirrus24" / name).read_text("utf-8"))
    for name in ("frame.json", "outcomes.json")
)
TODAY, PAST = re.compile(r"\btoday\b"), re.compile(r"\b(?:last week|at 10:00)\b")


class Seen(NamedTuple):
    text: str
    symmetric: bool
    alike: float  # 1: symmetry and cue, 1/2: one of them
    entry: str  # now, earlier, known
    lever: float  # lambda: 0, or 3 in MN and ME at level 4
    gain: float  # what the lever adds, in the bulletin's own numbers
    joint: float  # R as printed
    bulletin: str
    more: bool  # more is better
    wording: int
    slot: str  # the later window's day and hour: another one in other studies
    scheme: str  # which label is the late act's: word, A, B
    late_first: bool
    cooperative_label: str
    other_label: str


@lru_cache(maxsize=50_000)
def read(text):
    """What a prompt says, or None where it asks for no decision between two windows."""
    try:
        cues = read_cues(text)
    except ValueError:
        return None
    late, bulletin = cues.cooperative, f"round_{int(cues.bulletin[-2:])}"
    slot = re.search(rf"^- {late}: .*later window, (.+)\.$", text, re.M)[1]
    joint, R = float(cues.outcomes[1]), OUTCOMES[bulletin]["R"]
    return Seen(
        text,
        cues.S == "high",
        (cues.symmetric + cues.coupled) / 2,
        cues.entry,
        cues.lever,
        abs(joint - R),
        joint,
        bulletin,
        OUTCOMES[bulletin]["direction"] == "more",
        cues.wording,
        slot,
        late[-1] if late.startswith("Option") else "word",
        cues.first == late,
        late,
        cues.other,
    )


def cue_end(seen):
    """Where the cue ends in the text, or 0."""
    cues = (
        re.search(re.escape(cue).replace(r"\{peer\}", ".+?"), seen.text)
        for tells in FRAME["toggles"].values()
        for cue in tells["C"]["present"]
    )
    return max((cue.end() for cue in cues if cue), default=0)


@cache
def shock(name, *keys):
    """A standard normal number that is the same wherever name and keys are."""
    digest = hashlib.sha256(repr((name, *keys)).encode()).digest()
    return NormalDist().inv_cdf((int.from_bytes(digest[:6], "big") + 0.5) / 2**48)


def answering(share, missing=None, instead=None):
    """Late with probability share(seen); with missing(seen, late) it gives `instead`."""

    def respondent(request, rng):
        seen = read(request.user)
        if seen is None:
            return "I cannot say.", "stop"
        late = rng.random() < share(seen)
        label = seen.cooperative_label if late else seen.other_label
        text = f"Decision: {label}\nRationale: This suits our release plan."
        if missing and rng.random() < missing(seen, late):
            return instead(seen, text)
        return text, "stop"

    return respondent


def logit(x):
    return 1 / (1 + math.exp(-max(-40.0, min(40.0, x))))


# Rising curves
CURVE = {
    "logit": logit,
    "steep": lambda x: logit(6 * x),
    "cloglog": lambda x: 1 - math.exp(-math.exp(max(-30.0, min(3.0, x)))),
    "step": lambda x: 0.98 if x > 0 else 0.02,
    "straight": lambda x: max(0.0, min(1.0, x)),
}
# What the lever is measured in: temptations, printed numbers, proportions (Weber)
SCALE = {
    "level": lambda s: s.lever / 3,
    "number": lambda s: s.gain,
    "proportion": lambda s: abs(math.log(s.joint / OUTCOMES[s.bulletin]["R"])),
}


def total(base, alike, lever, earlier, known, curve="logit", scale="level"):
    """A sum of likeness, payoff and entry on any curve; each weight a number or a function."""

    def share(seen):
        weights = (base, alike, lever, earlier, known)
        a, s, m, e, k = (w(seen) if callable(w) else w for w in weights)
        entry = {"now": 0.0, "earlier": e, "known": k}[seen.entry]
        return CURVE[curve](a + s * seen.alike + m * SCALE[scale](seen) + entry)

    return share


def belief(likes, others, earlier, known=1.0):
    """Expected share of late entries; `earlier` for those who filed before the notice."""
    return lambda seen: {
        "now": others + (likes - others) * seen.alike,
        "earlier": earlier,
        "known": known,
    }[seen.entry]


def trust(guess, curve="step", need=0.7, lever=0.3):
    """The surer of the other, the more it cooperates; a better joint outcome needs less."""
    return lambda seen: CURVE[curve](guess(seen) - need + lever * seen.lever / 3)


def prospect(guess, unit, taste, averse=1.0):
    """Expected outcomes, the late act's less the early one's, and a liking for the cue."""

    def share(seen):
        n, sign = OUTCOMES[seen.bulletin], 1 if seen.more else -1
        sure, risk = sign * (seen.joint - n["T"]), sign * (n["S"] - n["P"]) * averse
        value = guess(seen) * sure + (1 - guess(seen)) * risk
        return logit(value / unit(abs(n["T"] - n["R"])) + taste * seen.alike)

    return share


def hp(seen):
    return seen.alike == 1 and seen.entry == "now"


# name, account, share of late answers; the comment: why it might fool the rule
TABLE = [
    ("coin", "nothing", lambda s: 0.5),  # a fair coin: the size of every test
    ("miser", "nothing", lambda s: 0.02),  # at the lower edge intervals are lopsided
    ("optimist", "nothing", lambda s: 0.95),  # at the upper edge likewise
    # never varies: an interval has no width of its own
    ("calendar_clerk", "nothing", lambda s: 1.0),
    # a fixed act for each prompt: cells differ, but by nothing that anyone could name
    ("prompt_hash", "nothing", lambda s: float(shock("prompt", s.text) > 0)),
    # wording and bulletin decide together, one act each: no error within a unit
    ("lottery", "nothing", lambda s: float(shock("lot", s.bulletin, s.wording) > 0.3)),
    # strong effects of single sentences beside single bulletins
    (
        "sentence_lottery",
        "nothing",
        lambda s: logit(
            0.2
            + 1.5 * shock("lot", s.wording, s.bulletin, s.slot, s.symmetric, s.entry)
        ),
    ),
    # a rare unit carries it: one in six far down, five a little up; drawn anew with each study
    (
        "skewed_units",
        "nothing",
        lambda s: (
            0.75 + s.alike * (-0.742 if shock("skew", s.bulletin, s.slot) > 1 else 0.13)
        ),
    ),
    ("obedience", "blind", total(-1.5, 4, 1.5, 0, 0)),
    # likes likeness, in straight proportion
    ("likeness", "blind", total(0.1, 0.8, 0.3, 0, 0, "straight")),
    # longer prompts are followed more: HP has a sentence that LA lacks, and entries differ
    ("length", "blind", lambda s: logit((len(s.text) - 2000) / 50)),
    # urgency: the mere count of "today" lends the cue its weight
    (
        "urgency",
        "blind",
        lambda s: logit(
            -3 + 5 * s.alike * (len(TODAY.findall(s.text)) > 2) + 3 * s.lever / 3
        ),
    ),
    # tone: words of the past make what was said sound stale, and the cue is then not followed
    (
        "staleness",
        "blind",
        lambda s: logit(
            -2 + 2.2 * s.lever / 3 + 4 * s.alike * (not PAST.search(s.text))
        ),
    ),
    # a cue far from the end is forgotten; entry sentences push it away by their length
    (
        "forgetting",
        "blind",
        lambda s: logit(
            -2 + 9 * bool(cue_end(s)) * math.exp(-(len(s.text) - cue_end(s)) / 700)
        ),
    ),
    (
        "word",
        "labels",
        lambda s: 0.85 if s.scheme == "word" else 0.4,
    ),  # prefers the word
    (
        "first_line",
        "labels",
        lambda s: 0.85 if s.late_first else 0.15,
    ),  # takes the first line
    # "coordinate" rhymes with likeness and with deciding now; letters are a coin
    ("word_echo", "labels", lambda s: 0.7 if s.scheme == "word" and hp(s) else 0.5),
    # hurried, it takes the late line where that stands first: half of the combinations
    ("satisficing", "labels", lambda s: 0.74 if s.late_first and hp(s) else 0.5),
    # never hurries to B; the differences are too small to be established in 80 answers
    ("letter_shy", "labels", lambda s: 0.5 + 0.18 * (hp(s) and s.scheme != "B")),
    # early answers are withheld in HP, late ones elsewhere, just below a tenth: ten points
    (
        "squeeze",
        "missing",
        answering(
            lambda s: 0.5,
            lambda s, late: 0.18 * (hp(s) != late),
            lambda s, t: ("No.", "stop"),
        ),
    ),
    # cut off, though the decision line is whole: is that an answer?
    (
        "cut_off",
        "missing",
        answering(
            lambda s: 0.3,
            lambda s, late: 0.3 * (late and not hp(s)),
            lambda s, t: (t, "length"),
        ),
    ),
    # names both labels, the late one first, where it would be early in HP
    (
        "both_labels",
        "missing",
        answering(
            lambda s: 0.2,
            lambda s, late: 0.12 * (hp(s) and not late),
            lambda s, t: (
                f"Decision: {s.cooperative_label} or {s.other_label}",
                "stop",
            ),
        ),
    ),
    # early acts of HP in a form that only a lenient reader can read
    (
        "odd_form",
        "missing",
        answering(
            lambda s: 0.5,
            lambda s, late: 0.19 * (hp(s) and not late),
            lambda s, t: (
                f"We enter *{s.other_label}*.\nRationale: see above.",
                "stop",
            ),
        ),
    ),
    # matches its guess, which is best of those who are like it and decide now
    ("matching", "conditional", trust(belief(0.9, 0.3, 0.4), "straight", 0.0, 0.2)),
    # a soft threshold
    ("soft_trust", "conditional", trust(belief(0.85, 0.35, 0.5), "steep", 0.6, 0.3)),
    # earlier filers thought better than unlike present ones: HP > MN and ME > EP at once
    ("inverted_trust", "conditional", trust(belief(0.9, 0.25, 0.55))),
    # near the floor: KL can hardly be told from LA
    ("frugal_trust", "conditional", lambda s: 0.02 + 0.12 * belief(1.0, 0.0, 0.3)(s)),
    # a norm toward people who decide at the same time, and thanks to those who were kind
    ("fellowship", "conditional", trust(belief(0.8, 0.4, 0.2, 0.9), "steep", 0.5, 0.2)),
    # takes in the posted word in every sixth bulletin only: KL - LA is wide and may hold 0
    (
        "patchy_attention",
        "conditional",
        lambda s: trust(
            belief(0.9, 0.3, 0.5, 1.0 if shock("attention", s.bulletin) > 1.04 else 0.5)
        )(s),
    ),
    # reads of the entry only that it is made already: not surer of a posted one
    ("skimming", "conditional", trust(belief(0.9, 0.3, 0.5, 0.5))),
    # obedient, weighs outcomes in their own numbers, thinks earlier filers the better ones
    (
        "raw_prospect",
        "conditional",
        prospect(belief(0.8, 0.5, 0.75), lambda d: 3.0, 4.0),
    ),
    # obedient, weighs outcomes in temptations
    (
        "prospect",
        "conditional",
        prospect(belief(0.85, 0.5, 0.7), lambda d: 0.5 * d, 5.0),
    ),
    # a posted entry binds it in half of the wordings and angers it in the others: KL lands on LA
    (
        "divided_publicity",
        "conditional",
        lambda s: trust(belief(0.95, 0.45, 0.5, s.wording % 2), "steep", 0.5, 0.25)(s),
    ),
    ("sum_logit", "adding_up", total(-1.5, 3.5, 2.2, -2, -2)),  # the plain sum
    (
        "sum_cloglog",
        "adding_up",
        total(-3, 4, 3, -2.5, -3, "cloglog"),
    ),  # flat below, quick above
    # a threshold that bulletins and wordings shift
    (
        "sum_threshold",
        "adding_up",
        total(
            lambda s: -1 + shock("bar", s.bulletin) + 0.5 * shock("bar", s.wording),
            2.5,
            1.8,
            -1.5,
            -2.2,
            "step",
        ),
    ),
    # base of 2%: all but HP and MN lies on the floor
    ("sum_floor_2", "adding_up", total(-4, 6, 4.2, -5, -5)),
    # bases that differ much by bulletin: every unit on another part of the curve
    (
        "sum_bases",
        "adding_up",
        total(lambda s: -1 + 3 * shock("base", s.bulletin), 4, 2.5, -4, -4),
    ),
    # one reader, one weight a printed number: a lever is a trifle here, a fortune there; smooth
    (
        "raw_numbers_bar",
        "adding_up",
        total(-8.3, 8.6, 1 / 3, -1.2, -1.2, "step", "number"),
    ),
    ("raw_numbers", "adding_up", total(-6, 8, 0.3, -4, -4, "logit", "number")),
    # one reader of proportions: the lever is R'/R, which bulletins do not hold fixed; smooth
    (
        "proportions_bar",
        "adding_up",
        total(-0.32, 0.33, 1, -0.03, -0.06, "step", "proportion"),
    ),
    ("proportions", "adding_up", total(-12, 14, 40, -4.5, -5, "logit", "proportion")),
    # saved losses do not count for it, gains do: six bulletins of twenty have a lever
    ("gains_only", "adding_up", total(-2.5, 4.5, lambda s: 9 * s.more, -5, -5)),
    # one value function on which losses loom larger
    (
        "loss_aversion",
        "adding_up",
        total(-3, 5.8, lambda s: 2 if s.more else 9, -4.8, -4.8),
    ),
    # firm wordings: strong likeness, low base; soft ones the reverse; one weight for payoffs
    (
        "firm_wordings",
        "adding_up",
        total(
            lambda s: -4.5 if s.wording % 2 else 6,
            lambda s: 8 if s.wording % 2 else 1,
            3.5,
            -8.5,
            lambda s: -6 if s.wording % 2 else -2,
        ),
    ),
    # open: following the cue only where it is to the point
    ("pertinence", "open", lambda s: logit(-1 + 4 * hp(s) + 1.5 * s.lever / 3)),
    # open: disbelief in a known entry (one time in three)
    ("disbelief", "open", trust(belief(0.9, 0.3, 0.55, 0.35))),
    # open: cooperating only while the other is uncertain
    (
        "suspense",
        "open",
        lambda s: 0.04 if s.entry == "known" else trust(belief(0.9, 0.25, 0.55))(s),
    ),
    # open: sums of different readers whose payoffs weigh differently
    (
        "two_readers",
        "open",
        total(-3, 5.5, lambda s: 9 * (shock("reader", s.bulletin) > 0.2), -4.8, -4.8),
    ),
    # open: a taste for risk (what may be lost counts for a third)
    ("gambler", "open", prospect(belief(0.6, 0.4, 0.5), lambda d: 0.6 * d, 3.0, 0.3)),
    # likeness counts while the other decides, from the same notice: 3 to 97
    ("reasoner_strong", "reasoner", total(-3.4, lambda s: 6.9 * hp(s), 3.4, 0, 0)),
    (
        "reasoner_middle",
        "reasoner",
        total(-0.4, lambda s: 3.3 * hp(s), 1.6, 0, 0),
    ),  # 40 to 95
    (
        "reasoner_weak",
        "reasoner",
        total(-0.4, lambda s: 1.8 * hp(s), 0.9, 0, 0),
    ),  # 40 to 80
]

RESPONDENTS = {
    name: rule if account == "missing" else answering(rule)
    for name, account, rule in TABLE
}
ACCOUNTS = {name: account for name, account, _ in TABLE}
