# ruff: noqa
"""Thirty strangers for the mechanism study: twenty rivals of declared accounts, ten reasoners. Standard library only.

python3 calibrate.py --rivals benchmarks/strangers_mechanism.py --reps 20
"""

import hashlib
import math
import re

# ---------------------------------------------------------------- reading the prompt

_COST = (
    re.compile(r"^\W*(you\b[^,;:]*),\s*([^:;]+?):\s*(\d[\d,. ]*?)\s+\S", re.I),
    re.compile(r"^\W*(\d[\d,. ]*?)\s+[^:]+:\s*(you\b[^,;:]*),\s*(.+?)\W*$", re.I),
)
_LOW = re.compile(
    r"\bmay\b|\bmight\b|\bdo not\b|\bnot settled\b|\bcannot\b|\bdiffer|\bwhether\b|\buncertain|\bunknown\b|\bperhaps\b"
    r"|\bpossibl|\bnot (?:be )?(?:known|certain|sure|given|clear)|\bcould have\b|\bnothing (?:is|says)|\bno (?:reason|ground)",
    re.I,
)
_CUE = re.compile(
    r"\boften\b|\btend\b|\busually\b|\bcommonly\b|\bfrequently\b|\bmostly\b|\bas a rule\b|\bin most\b",
    re.I,
)
_UNREAD = re.compile(
    r"\bunopened\b|\bunread\b|\bunseen\b|not (?:yet )?(?:been )?(?:read|open|seen)|not yet|still (?:closed|shut)|without (?:having )?(?:read|open)",
    re.I,
)


def _number(text):
    return float(text.replace(",", "").replace(" ", "").rstrip("."))


def _stem(text, peer=False):
    words = re.findall(r"[A-Za-z-]+", text)
    words = [w.lower() for w in words[1:]] if words else []
    words = [
        w
        for w in words
        if w
        not in (
            "in",
            "the",
            "by",
            "on",
            "at",
            "a",
            "an",
            "to",
            "with",
            "from",
            "of",
            "for",
        )
    ]
    return words[-1] if words else ""


class Case:
    def __init__(self, user):
        self.user = user
        lines = user.splitlines()
        cells, peer = {}, ""
        for line in lines:
            a, b = _COST[0].match(line), _COST[1].match(line)
            if a:
                mine, theirs, number = a.group(1), a.group(2), a.group(3)
            elif b:
                number, mine, theirs = b.group(1), b.group(2), b.group(3)
            else:
                continue
            peer = theirs.split()[0]
            cells[(_stem(mine), _stem(theirs))] = _number(number)
        assert len(cells) == 4, ("four lines", cells)
        self.peer = peer
        mine, _ = max(cells, key=cells.get)  # S is the worst: whoever is late alone
        slots = {m for m, _ in cells}
        assert len(slots) == 2, slots
        other = (slots - {mine}).pop()
        self.late_slot, self.early_slot = mine, other
        self.R, self.S = cells[(mine, mine)], cells[(mine, other)]  # costs
        self.T, self.P = cells[(other, mine)], cells[(other, other)]
        found = re.search(r"Decision:\s*\[(.+?)\|(.+?)\]", user)
        self.order = [found.group(1).strip(), found.group(2).strip()]
        means = {}
        for label in self.order:
            for line in lines:
                m = re.match(r"^\W*" + re.escape(label) + r"\s*:\s*(.+)$", line)
                if m:
                    means[label] = m.group(1).lower()
        late = [
            x
            for x in self.order
            if re.search(r"\b" + re.escape(mine) + r"\b", means[x])
        ]
        assert len(late) == 1, (means, mine)
        self.late = late[0]
        self.early = [x for x in self.order if x != self.late][0]
        paragraphs = [
            p.strip() for p in re.split(r"\n\s*\n|\n(?=\w+: )", user) if p.strip()
        ]
        status = [p for p in paragraphs if "10:30" in p] or [
            p for p in paragraphs if "10:00" in p
        ]
        self.status = status[-1]
        about = [p for p in paragraphs if "Each of you gets a notice" in p][-1]
        about = about[
            about.index("Each of you gets a notice")
            + len("Each of you gets a notice.") :
        ]
        about = re.sub(r"[^.]*\bnot met\b[^.]*\.", "", about).strip()
        self.about = about
        self.cue = bool(_CUE.search(about))
        self.low = bool(_LOW.search(about)) and not self.cue
        self.like = not self.low
        self.unread = bool(_UNREAD.search(self.status))
        self.read = not self.unread
        named = re.search(
            r"\bfor the\b[^.,;]*\b(%s|%s)\b" % (re.escape(mine), re.escape(other)),
            self.status,
        )
        self.known = bool(re.search(r"\bpublic\b", self.status, re.I)) or bool(named)
        prose = "\n".join(x for x in lines if not any(p.match(x) for p in _COST))
        self.record = bool(re.search(r"\b49\b", prose)) and bool(
            re.search(r"\b50\b", prose)
        )
        self.lever = self.R <= self.T
        self.bulletin = "%s|%g|%g|%g" % (peer, self.S, self.T, self.P)
        self.wording = " ".join(re.findall(r"[A-Za-z]+", self.status)[:2])
        # units: one temptation, as far as it can be seen (P - S is about 3.5 of them)
        self.unit = max((self.S - self.P) / 3.5, 1e-9)

    def gain(self, c, q=None):
        """Late minus early in temptations, if the other matches with c (evidence), or is late with q whatever one does."""
        if q is None:
            late, early = c * self.R + (1 - c) * self.S, c * self.P + (1 - c) * self.T
        else:
            late, early = q * self.R + (1 - q) * self.S, q * self.T + (1 - q) * self.P
        return (early - late) / self.unit


def case(request):
    return Case(request.user)


def u(*parts):
    """A number in 0..1, fixed by the text."""
    return (
        int(hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:12], 16)
        / 16**12
    )


def z(*parts):
    a, b = max(u("a", *parts), 1e-9), u("b", *parts)
    return math.sqrt(-2 * math.log(a)) * math.cos(2 * math.pi * b)


def s(x):
    return 1 / (1 + math.exp(-max(-40, min(40, x))))


def say(label, why="Follows from the four lines and the status."):
    return "Decision: %s\nRationale: %s" % (label, why), "stop"


def act(c, rng, p, why="Follows from the four lines and the status."):
    return say(c.late if rng.random() < p else c.early, why)


# ---------------------------------------------------------------- declarations (before the bodies)

ACCOUNTS = {
    # rivals
    "harmony_ear": "surface",
    "odd_off_notes": "surface",
    "alarm_word_list": "surface",
    "unopened_flinch": "surface",
    "status_length_band": "surface",
    "bag_of_hashed_words": "surface",
    "fresh_mail_echo": "surface",
    "split_taste_sums": "adding_up",
    "one_sentence_readers": "adding_up",
    "jagged_threshold_sum": "adding_up",
    "hot_and_cold_sum": "adding_up",
    "kin_warmth_doubter": "conditional",
    "guilt_to_readers": "conditional",
    "shy_giver": "conditional",
    "staircase_reciprocator": "conditional",
    "coin_with_walkouts": "missing",
    "ragged_bulletin_silence": "missing",
    "echo_of_coordinate": "labels",
    "alike_means_first": "labels",
    "heavy_stars": "nothing",
    # reasoners
    "partial_mirror": "reasoner",
    "hyperbolic_mirror": "reasoner",
    "satisficing_mirror": "reasoner",
    "two_step": "reasoner",
    "mirror_minimax_regret": "reasoner",
    "stake_gated_mirror": "reasoner",
    "thompson_match": "reasoner",
    "prospect_mirror": "reasoner",
    "mirror_with_manners": "reasoner",
    "hedged_one_boxer": "reasoner",
}

EXPECTED = {
    "harmony_ear": "cue-responsive",
    "odd_off_notes": "cue-responsive",
    "alarm_word_list": "cue-responsive",
    "unopened_flinch": "cue-responsive",
    "status_length_band": "cue-responsive",
    "bag_of_hashed_words": "cue-responsive",
    "fresh_mail_echo": "cue-responsive",
    "split_taste_sums": "information-sensitive",
    "one_sentence_readers": "information-sensitive",
    "jagged_threshold_sum": "information-sensitive",
    "hot_and_cold_sum": "information-sensitive",
    "kin_warmth_doubter": "information-sensitive",
    "guilt_to_readers": "information-sensitive",
    "shy_giver": "information-sensitive",
    "staircase_reciprocator": "information-sensitive",
    "coin_with_walkouts": "not shown",
    "ragged_bulletin_silence": "not shown",
    "echo_of_coordinate": "cue-responsive",
    "alike_means_first": "cue-responsive",
    "heavy_stars": "not shown",
    "partial_mirror": "correlation-sensitive",
    "hyperbolic_mirror": "correlation-sensitive",
    "satisficing_mirror": "correlation-sensitive",
    "two_step": "correlation-sensitive",
    "mirror_minimax_regret": "correlation-sensitive",
    "stake_gated_mirror": "correlation-sensitive",
    "thompson_match": "correlation-sensitive",
    "prospect_mirror": "correlation-sensitive",
    "mirror_with_manners": "correlation-sensitive",
    "hedged_one_boxer": "information-sensitive",
}

# ---------------------------------------------------------------- rivals: surface


def harmony_ear(request, rng):
    """Hears whether the sentences have one tone. All warm or all cold: the text rings true, and it goes along with the
    office (late). Mixed tones put it off. Never asks what anybody read: 'unopened' is a cold word to it, as 'may' is."""
    c = case(request)
    tones = [1 if c.like else -1, -1 if c.unread else 1]
    if c.known:
        tones.append(-1)  # 'public' sounds pushy
    if c.record:
        tones.append(1)  # praise
    one_tone = len(set(tones)) == 1
    return act(c, rng, 0.86 if one_tone else 0.18 + 0.1 * u(c.bulletin))


def odd_off_notes(request, rng):
    """Counts off-notes, real words of the two paragraphs; an odd number leaves it uneasy (early)."""
    c = case(request)
    n = len(
        re.findall(
            r"\b(?:not|may|cannot|different|another|unopened|whether|differ|public|longer|two|worded|unread)\b",
            (c.about + " " + c.status).lower(),
        )
    )
    n += 1 if c.record else 0
    return act(c, rng, 0.8 if n % 2 == 0 else 0.25)


def alarm_word_list(request, rng):
    """A checklist of words that mean trouble (may, not, differ, unopened, public, 49). None: goes along. One or more: early,
    though with two it suspects a form letter and relaxes a little."""
    c = case(request)
    n = int(c.low) + int(c.unread) + int(c.known) + int(c.record)
    return act(c, rng, (0.88, 0.1, 0.34, 0.3)[min(n, 3)])


def unopened_flinch(request, rng):
    """Likes likeness; any ugly word divides its goodwill (unopened, public, a statistic). Goodwill multiplies, no reading."""
    c = case(request)
    p = (
        (0.9 if c.like else 0.2)
        * (0.25 if c.unread else 1)
        * (0.4 if c.known else 1)
        * (0.5 if c.record else 1)
    )
    return act(c, rng, p * (0.8 + 0.2 * u(c.bulletin)))


def status_length_band(request, rng):
    """Comfortable with a page of its preferred length (the two paragraphs' words, a band about 84, shifted by bulletin), and
    with short words in the status line: one of eight letters spoils it ('unopened'; but not where the page is short anyway)."""
    c = case(request)
    n = len((c.about + " " + c.status).split())
    middle = 84 + 8 * (u(c.bulletin) - 0.5)
    fit = math.exp(-(((n - middle) / 14) ** 2))
    heavy = len(re.findall(r"\b(?!Tuesday|Monday)[a-z]{8}\b", c.status)) * 0.5
    return act(c, rng, 0.06 + 0.88 * fit**1.5 * math.exp(-heavy * fit))


def bag_of_hashed_words(request, rng):
    """Each distinct word of the prompt has a private charm (hash); the sum goes through a logistic. Pure bag of words."""
    c = case(request)
    words = set(
        re.findall(
            r"[a-z]+|\d+",
            (c.about + " " + c.status + (" 49 50" if c.record else "")).lower(),
        )
    )
    x = sum(0.55 * z("charm7", w) for w in words if w not in (c.peer.lower(),))
    x += (
        1.2 * ("often" in words)
        - 1.2 * ("unopened" in words)
        - 1.0 * ("public" in words)
    )
    return act(c, rng, s(x))


def fresh_mail_echo(request, rng):
    """Rhythm: it likes a text whose two paragraphs echo each other. Same/same/read/both ring together; different and unopened
    ring together as well (both are about things apart). The numbers only matter when nothing rings."""
    c = case(request)
    together = len(
        re.findall(
            r"\b(?:same|one|both|alike|matching|convergent|together|read)\b",
            (c.about + " " + c.status).lower(),
        )
    )
    apart = len(
        re.findall(
            r"\b(?:may|different|another|differ|unopened|two|neither|public|assume)\b",
            (c.about + " " + c.status).lower(),
        )
    )
    ring = abs(together - apart) - (3 if c.known else 0) - (2 if c.record else 0)
    return act(c, rng, s(0.9 * (ring - 2.2) + (0.5 if c.lever else 0)))


# ---------------------------------------------------------------- rivals: adding up


def split_taste_sums(request, rng):
    """Two sums, by the bulletin's text: in one half likeness rules and 'unopened' floors everything; in the other the numbers
    rule and reading fills to the brim. Each bulletin is one sum through one rising curve."""
    c = case(request)
    if u("taste", c.bulletin) < 0.5:
        x = (
            -2.6
            + 5.2 * c.like
            - 6 * c.unread
            + 0.6 * c.lever
            - 1.5 * c.known
            - 1.0 * c.record
        )
    else:
        x = (
            -1.8
            + 1.0 * c.like
            + 4.2 * c.lever
            + (3.4 if c.read else 0)
            - 3.4 * c.known
            - 3.2 * c.record
        )
    return act(c, rng, 0.02 + 0.96 * s(x))


def one_sentence_readers(request, rng):
    """Skims: each time it takes in one sentence only, drawn by chance, and answers from that alone."""
    c = case(request)
    r = rng.random()
    if r < 0.42:
        p = 0.95 if c.like else 0.08
    elif r < 0.78:
        p = 0.06 if (c.unread or c.known or c.record) else 0.9
    else:
        p = 0.9 if c.lever else 0.15
    return act(c, rng, p)


def jagged_threshold_sum(request, rng):
    """A sum against a threshold that is fixed by bulletin and wording together; deterministic but for 3% slips. The threshold
    has fat tails, so many pairs sit at floor or ceiling."""
    c = case(request)
    x = (
        2.3 * c.like
        + 1.1 * c.cue
        - 2.2 * c.unread
        + 2.9 * c.lever
        - 1.6 * c.known
        - 1.5 * c.record
    )
    t = (
        1.6
        + 1.1
        * z("t", c.bulletin, c.wording)
        / max(0.25, abs(z("d", c.bulletin, c.wording))) ** 0.5
    )
    late = x > t
    return act(c, rng, 0.97 if late else 0.03)


def hot_and_cold_sum(request, rng):
    """One sum, one rising curve a bulletin, but the curve's steepness and ceiling differ wildly by bulletin (Hill, lapse)."""
    c = case(request)
    x = math.exp(
        1.5 * c.like
        + 0.5 * c.cue
        - 1.9 * c.unread
        + 1.7 * c.lever
        - 1.4 * c.known
        - 1.2 * c.record
        - 0.4
    )
    h = (0.6, 1, 3, 9)[int(4 * u("h", c.bulletin))]
    top = (0.55, 0.8, 0.99)[int(3 * u("top", c.bulletin))]
    floor = (0.01, 0.1, 0.25)[int(3 * u("f", c.wording))]
    half = 1.6 + 1.4 * u("half", c.bulletin)
    return act(c, rng, floor + (top - min(floor, top)) * x**h / (x**h + half**h))


# ---------------------------------------------------------------- rivals: conditional


def kin_warmth_doubter(request, rng):
    """Expected cost by a causal belief q, plus warmth that it has only for its like. An announcement is worth a doubt; of
    somebody who has opened nothing it expects a coin; of an unlike reader, temptation. Surer always means more late."""
    c = case(request)
    w = 1.75 if c.like else 0.55
    if c.known:
        q = 0.62  # announcements can be for show
    elif c.record:
        q = 0.93
    elif c.unread:
        q = 0.5
    else:
        q = 0.985 if c.like else 0.25
    w += 0.3 * z("w", c.bulletin)
    return act(c, rng, s(3.2 * (w + c.gain(0, q))))


def guilt_to_readers(request, rng):
    """Guilt aversion: late where the other expects it of me. Who has read that we are alike expects it; who has opened nothing
    expects nothing; who has published its entry has made its bed and waits for no favour; a record is habit, no expectation.
    With no guilt in play it weighs its own numbers against a coin."""
    c = case(request)
    expects = 0.9 if (c.like and c.read) else 0.12
    if c.known:
        expects *= 0.45
    if c.record:
        expects += 0.15
    x = (
        -2.4
        + 5.0 * expects
        + 0.55 * (c.gain(0, 0.5) + 1.9 if c.lever else 0) * (1 if c.unread else 0.5)
    )
    return act(c, rng, s(x + 0.4 * z("g", c.bulletin)))


def shy_giver(request, rng):
    """Conditional cooperator by belief, who gives unseen: where its own entry will be public it does not want to be thanked,
    least of all by those who stand as it stands. A 49-of-50 man needs no gift."""
    c = case(request)
    q = (
        1
        if c.known
        else 0.97
        if c.record
        else (0.55 if c.unread else 0.88)
        if c.like
        else (0.45 if c.unread else 0.4)
    )
    shy = (2.6 if c.like else 1.2) if c.known else 1.4 if c.record else 0
    x = (
        6 * (q - 0.62)
        - shy
        + (1.1 * q if c.lever else 0)
        + (0.35 if c.unread and c.lever else 0)
    )
    return act(c, rng, s(x))


def staircase_reciprocator(request, rng):
    """Rises with its belief in steps whose places are the bulletin's; never falls. Surest of a known entry, then of the record."""
    c = case(request)
    q = (
        1.0
        if c.known
        else 0.95
        if c.record
        else (0.9 if c.read else 0.6)
        if c.like
        else (0.5 if c.read else 0.48)
    )
    steps = sorted(0.45 + 0.55 * u("step", c.bulletin, i) for i in range(3))
    k = sum(q > t for t in steps) + (1 if c.lever else 0)
    return act(c, rng, (0.05, 0.3, 0.6, 0.92, 0.95)[k])


# ---------------------------------------------------------------- rivals: missing, labels, nothing


def coin_with_walkouts(request, rng):
    """A coin in every cell. Where the page is warm (alike, read, sealed) it walks out of some early entries, elsewhere out of
    some late ones; 9% at most, in forms that a parser may or may not take for an answer."""
    c = case(request)
    late = rng.random() < 0.5
    warm = c.like and c.read and not c.known
    if late != warm and rng.random() < 0.16:
        k = rng.randrange(4)
        if k == 0:
            return "", "stop"
        if k == 1:
            return (
                "I would need the office's confirmation before entering a slot.",
                "stop",
            )
        if k == 2:
            return "Decision: [%s|%s]\nRationale: open." % tuple(c.order), "stop"
        return "Decision: %s" % (c.early if late else c.late)[:3], "length"
    return say(c.late if late else c.early)


def ragged_bulletin_silence(request, rng):
    """Prone to late at .55 all over. In one bulletin in six it stays silent when it would have been early under a warm page or
    an odd lever, and is cut off ('length'); overall few are missing, but all in few places."""
    c = case(request)
    late = rng.random() < 0.55 + 0.1 * z("r", c.bulletin)
    if u("ragged", c.bulletin) < 0.18:
        warm = (c.like and c.read and not c.known) or (c.lever and c.unread)
        if late != warm:
            return (
                ("Decision:", "length")
                if rng.random() < 0.65
                else say(c.late if late else c.early)
            )
    return say(c.late if late else c.early)


def echo_of_coordinate(request, rng):
    """Same notice, same minute: COORDINATE sounds right, when that is a word on the form. With letters it takes the first
    letter it is shown, more so where all is read; no act is meant by it."""
    c = case(request)
    rings = c.like and c.read and not c.known and not c.record
    half = c.lever and c.unread
    words = c.late == "COORDINATE"
    if words:
        return act(c, rng, 0.95 if rings else 0.5 if half else 0.12)
    first = c.order[0] if u("eye", c.wording) < 0.5 else sorted(c.order)[0]
    p = 0.9 if rings else 0.5
    return say(first if rng.random() < p else [x for x in c.order if x != first][0])


def alike_means_first(request, rng):
    """'Alike' and 'read' put it at ease and it ticks the first line; uneasy, it ticks the last, or the letter B."""
    c = case(request)
    ease = 1.5 * c.like - 1.4 * c.unread - 1.2 * c.known - 0.8 * c.record - 0.2
    if c.late == "COORDINATE" and ease > 0:
        ease += 0.8 if c.order[0] == c.late else -2.2
    first = rng.random() < s(2 * ease)
    if not first and rng.random() < 0.3:
        return say(sorted(c.order)[-1])
    return say(c.order[0] if first else c.order[1])


def heavy_stars(request, rng):
    """Nothing that lasts: each pair of bulletin and text of a cell has its own star, with fat tails (t with 2 degrees), each
    wording a smaller one. No cell is favoured by design."""
    c = case(request)
    kind = (c.like, c.unread, c.known, c.record, c.lever)
    fat = z("n", c.bulletin, kind) / math.sqrt(
        max(-math.log(max(u("c", c.bulletin, kind), 1e-9)), 0.05)
    )
    x = fat + 0.5 * z("v", c.wording, kind) + 0.6 * z("b", c.bulletin)
    return act(c, rng, s(x))


# ---------------------------------------------------------------- reasoners


def chance_of_match(c, high=0.9, base=0.5):
    """My entry tells of the other's only if it decided on the notice that I have before me."""
    return high if (c.like and c.read) else base


def partial_mirror(request, rng):
    """Believes in half: a match has .5 + .33 where the other read the same, .5 elsewhere (.55 if unlike but read); evidential
    expectation, logistic choice. What is known or on record is known: there own entry tells nothing."""
    c = case(request)
    if c.known:
        g = c.gain(0, 1)
    elif c.record:
        g = c.gain(0, 0.9)
    else:
        g = c.gain(0.83 if c.like and c.read else 0.55 if c.read else 0.5)
    return act(c, rng, s(1.5 * g + 0.3 * z("pm", c.bulletin)))


def hyperbolic_mirror(request, rng):
    """Utility 1/(1 + k cost/P): more of a bad thing hurts less and less. Evidential with a good mirror, sharp choice, k the bulletin's."""
    c = case(request)
    k = 1 + 4 * u("k", c.bulletin)
    v = lambda cost: 1 / (1 + k * cost / c.P)
    if c.known:
        g = v(c.R) - v(c.T)
    elif c.record:
        g = 0.98 * (v(c.R) - v(c.T)) + 0.02 * (v(c.S) - v(c.P))
    else:
        m = rng.betavariate(14, 2) if (c.like and c.read) else rng.betavariate(5, 6)
        g = m * (v(c.R) - v(c.P)) - (1 - m) * (v(c.T) - v(c.S))
    scale = abs(v(c.T) - v(c.P))
    return act(c, rng, s(9 * g / scale))


def satisficing_mirror(request, rng):
    """Good enough is an aspiration between R and P. Which outcomes are live? With a like reader only the two where we match;
    with a known or recorded entry that column; else all four. Takes the act with more of its live outcomes good enough; a tie
    goes to the act with the better best outcome, three times in five, else to early."""
    c = case(request)
    aspiration = c.T + (c.P - c.T) * (0.4 + 0.4 * u("asp", c.bulletin))
    if c.known or c.record:
        late, early = [c.R], [c.T]
    elif c.like and c.read and rng.random() < 0.93:
        late, early = [c.R], [c.P]
    else:
        late, early = [c.R, c.S], [c.T, c.P]
    a = sum(x <= aspiration for x in late) / len(late)
    b = sum(x <= aspiration for x in early) / len(early)
    if a != b:
        return act(c, rng, 0.97 if a > b else 0.03)
    return act(
        c, rng, 0.6 if min(late) < min(early) and not (c.known or c.record) else 0.04
    )


def two_step(request, rng):
    """Step one: was the question that I face the one it faced? If yes: whatever I find, it found; which of the two alike
    outcomes is better? If no: step two, an opponent of a level that is drawn (0: a coin; 1: early), best reply with trembles."""
    c = case(request)
    if c.known or c.record:
        return act(c, rng, 0.06 if c.R > c.T else 0.9)
    same = rng.random() < (
        0.88 if (c.like and c.read) else 0.08 if (c.like or c.read) else 0.02
    )
    if same:
        return act(c, rng, 0.97 if c.R < c.P else 0.03)
    q = 0.5 if (c.unread or rng.random() < 0.5) else 0.1
    if rng.random() < 0.25:
        q = min(1, q + 0.25)  # optimism now and then
    return act(c, rng, s(1.8 * c.gain(0, q)))


def mirror_minimax_regret(request, rng):
    """Minimax regret. States are what the other did; where the other read what I read, the states are 'as I do' and, with a
    discount, 'as it likes'. Regret is compared through a log ratio."""
    c = case(request)
    cols = {"late": (c.R, c.T), "early": (c.S, c.P)}
    live = ["late"] if c.known else ["late", "early"]
    discount = {"late": 1.0, "early": 0.15 if c.record else 1.0}
    late = max(discount[k] * max(0, cols[k][0] - cols[k][1]) for k in live)
    early = max(discount[k] * max(0, cols[k][1] - cols[k][0]) for k in live)
    if c.like and c.read and not c.known:
        late = 0.2 * late
        early = max(0.2 * early, max(0, c.P - c.R))
    tiny = 0.4 * c.unit
    return act(
        c,
        rng,
        s(1.6 * math.log((early + tiny) / (late + tiny)) + 0.3 * z("mr", c.bulletin)),
    )


def stake_gated_mirror(request, rng):
    """Thinks only where it pays to think: relative stake (P - R)/P above a gate that the wording of the day shifts a little.
    Below the gate it goes by the dominant entry with slips. The gate opens in most bulletins."""
    c = case(request)
    R0 = c.T + c.unit  # the stake as it is without any bonus
    stake = (c.P - min(R0, c.P)) / c.P
    if stake < 0.24 + 0.03 * (u("gate", c.wording) - 0.5):
        return act(c, rng, 0.12 if c.R > c.T else 0.3)
    if c.known or c.record:
        return act(c, rng, s(1.6 * c.gain(0, 1 if c.known else 0.95)))
    m = 0.92 if (c.like and c.read) else 0.5
    return act(c, rng, s(1.6 * c.gain(m)))


def thompson_match(request, rng):
    """Does not know how alike alike is: draws the chance of a match from a beta whose counts the text supplies, then takes the
    best entry for the draw. With nobody to mirror it draws a chance of late, from a flat beta."""
    c = case(request)
    if c.known:
        g = c.gain(0, 1)
    elif c.record:
        g = c.gain(0, rng.betavariate(50, 2))
    elif c.like and c.read:
        g = c.gain(rng.betavariate(1.5 + 8, 1.5))
    elif c.read:
        g = c.gain(rng.betavariate(2, 2.4))
    else:
        g = c.gain(rng.betavariate(3, 3))
    return act(c, rng, 0.96 if g > 0 else 0.04)


def prospect_mirror(request, rng):
    """Prospect theory with P as the reference: losses beyond it weigh 1.8, chances are bent (Prelec), powers .85; and the chance
    of being matched is evidence from its own entry where the other read the same."""
    c = case(request)
    v = lambda cost: (
        (((c.P - cost) / c.unit) ** 0.85)
        if cost <= c.P
        else -1.8 * (((cost - c.P) / c.unit) ** 0.85)
    )
    bend = lambda p: (
        0 if p <= 0 else 1 if p >= 1 else math.exp(-((-math.log(p)) ** 0.8))
    )
    if c.known:
        g = v(c.R) - v(c.T)
    elif c.record:
        g = bend(0.98) * (v(c.R) - v(c.T)) + bend(0.02) * (v(c.S) - v(c.P))
    else:
        m = 0.95 if (c.like and c.read) else 0.52
        g = (
            bend(m) * v(c.R)
            + bend(1 - m) * v(c.S)
            - bend(1 - m) * v(c.T)
            - bend(m) * v(c.P)
        )
    return act(c, rng, s(0.9 * g))


def mirror_with_manners(request, rng):
    """Infers from likeness where the other read the same; and answers a late entry that it is shown with late, three times in
    five, whoever shows it; a record half as often as that. Else it weighs a coin."""
    c = case(request)
    if c.known:
        return act(c, rng, 0.6)
    if c.record:
        return act(c, rng, 0.3)
    m = 0.93 if (c.like and c.read) else 0.5
    return act(c, rng, s(1.5 * c.gain(m)))


def hedged_one_boxer(request, rng):
    """Half of its evidence is what the notice makes of both, half is that both are of one kind: its like matches it with .93 if
    it read the notice and with .72 if it did not."""
    c = case(request)
    if c.known or c.record:
        return act(c, rng, s(1.5 * c.gain(0, 1 if c.known else 0.95)))
    m = (0.93 if c.read else 0.72) if c.like else 0.5
    return act(c, rng, s(1.5 * c.gain(m)))


RESPONDENTS = {name: globals()[name] for name in ACCOUNTS}
assert len(RESPONDENTS) == 30 and set(EXPECTED) == set(ACCOUNTS)
