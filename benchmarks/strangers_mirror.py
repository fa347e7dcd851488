# ruff: noqa
"""Thirty simulated respondents for the mirror study.  Standard library only.
Costs: fewer are better.  `late` is the act that does not dominate.

    python3 calibrate.py --rivals benchmarks/strangers_mirror.py --reps 60
"""

import hashlib
import math
import re

# ------------------------------------------------------------------ parsing
_WORDS = {
    w: i
    for i, w in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
}
_CACHE = {}


class Bulletin:
    pass


def _rates(text):
    """(rate of the class named first, of the other): number of alike pairs of 20."""

    def num(m):
        return int(m) if m.isdigit() else _WORDS[m.lower()]

    digits = r"(?<![\d:.])\d{1,2}(?![\d:])"
    words = r"|\b(?:two|six|fourteen|eighteen|twenty)\b"
    for pat in (digits, digits + words):  # words only where figures do not do
        found = [
            (num(m.group()), m.start(), m.end()) for m in re.finditer(pat, text, re.I)
        ]
        found = [f for f in found if f[0] in (2, 6, 14, 18)]
        if len(found) >= 4:
            break
    # drop "two lists", "two entries" and the like: look for consecutive pairs that sum to 20
    pairs, i = [], 0
    while i + 1 < len(found):
        if found[i][0] + found[i + 1][0] == 20:
            pairs.append((found[i], found[i + 1]))
            i += 2
        else:
            i += 1
    if len(pairs) < 2:
        raise ValueError("rates: %r" % text)
    out, stop = [], 0
    for a, b in pairs[:2]:
        before = text[max(stop, a[1] - 45) : a[1]]
        before = re.split(r"[,;:]| and ", before)[-1]
        after = re.split(r"[,;.]| and ", text[a[2] : b[1]])[0]
        clause = before + " " + after
        unlike = re.search(
            r"unlike|differ|unequal|mismatch|\bnot\b|apart|diverg", clause, re.I
        )
        out.append(b[0] if unlike else a[0])
        stop = b[2]
    return out[0], out[1]


def parse(request):
    text = request.user
    if text in _CACHE:
        return _CACHE[text]
    b = Bulletin()
    b.text = text
    b.labels = [
        s.strip() for s in re.findall(r"Decision:\s*\[([^\]]+)\]", text)[-1].split("|")
    ]
    cells, where = {}, []
    lines = text.splitlines()
    for n, raw in enumerate(lines):
        line = re.sub(r"(?<=\d),(?=\d{3}\b)", "", raw.strip())
        m = re.match(r"^(?:[-*•–·+]|\(?[0-9a-z]{1,2}[.)])\s+(.*)$", line)
        if (
            not m
            or not re.search(r"\byou\b", m.group(1), re.I)
            or not re.search(r"\d", m.group(1))
        ):
            continue
        parts = [p.strip(" .;") for p in re.split(r"[,:;]", m.group(1)) if p.strip()]
        cost = mine = theirs = peer = None
        for p in parts:
            if re.match(r"^\d+\b", p):
                cost = int(re.match(r"^\d+", p).group())
            elif re.match(r"^you\b", p, re.I):
                mine = p.split()[-1].lower()
            elif mine is not None and theirs is None:
                theirs, peer = p.split()[-1].lower(), p.split()[0]
        if None in (cost, mine, theirs):
            continue
        cells[mine, theirs] = cost
        b.peer = peer
        where.append((n, mine, theirs, cost))
    if len(cells) != 4:
        raise ValueError("four lines: %r" % cells)
    b.order = [(m, t, c) for _, m, t, c in where]
    x, y = sorted({m for m, _ in cells})
    if cells[x, x] < cells[y, x] and cells[x, y] < cells[y, y]:
        early, late = x, y
    elif cells[y, x] < cells[x, x] and cells[y, y] < cells[x, y]:
        early, late = y, x
    else:
        raise ValueError("no act dominates: %r" % cells)
    b.LL, b.LE, b.EL, b.EE = (
        cells[late, late],
        cells[late, early],
        cells[early, late],
        cells[early, early],
    )
    b.early_word, b.late_word = early, late
    b.mirror = b.LL > b.EE
    costs = sorted(cells.values())
    b.T, b.R, b.P, b.S = costs
    b.range = b.S - b.T
    b.label = {}
    for lab in b.labels:
        for raw in lines:
            m = re.match(r"^\s*[-*•–·+]?\s*" + re.escape(lab) + r"\s*:\s*(.+)$", raw)
            if m:
                act = m.group(1).lower()
                has = [
                    w
                    for w in (early, late)
                    if re.search(r"\b" + re.escape(w) + r"\b", act)
                ]
                if len(has) == 1:
                    b.label[has[0]] = lab
    if set(b.label) != {early, late}:
        raise ValueError("labels: %r" % b.label)
    b.late, b.early = b.label[late], b.label[early]
    b.words = not b.late.lower().startswith("option")
    # status and record
    paras = [p for p in re.split(r"\n\s*\n|\n(?=[-*•])", text) if p.strip()]
    status = (
        [p for p in paras if "10:00 today" in p]
        or [p for p in paras if "10:00" in p]
        or [p for p in paras if "10:30" in p]
    )
    stat = status[-1]
    record = [
        p
        for p in paras
        if "contractor" in p.lower()
        and "own staff" in p.lower()
        and re.search(r"\bpairs?\b", p)
        and re.search(r"\b20\b|\btwenty\b", p)
    ]
    rec = record[0]
    if rec == stat:  # one paragraph: cut it at the status sentence
        cut = re.search(r"[^.]*\b10:[03]0\b", rec).start()
        rec, stat = rec[:cut], rec[cut:]
    b.first, b.second = _rates(rec)
    low = rec.lower()
    own_first = low.index("own staff") < low.index("contractor")
    b.first_class = "own" if own_first else "contractor"
    b.cls = "contractor" if re.search(r"contractor", stat, re.I) else "own"
    b.is_first = b.cls == b.first_class
    b.N = b.first if b.is_first else b.second
    b.other_N = b.second if b.is_first else b.first
    b.key = lines[0] + "|" + b.peer + "|" + late
    head = next((l for l in lines if l.strip()), "")
    b.key = (
        head
        + "|"
        + b.peer
        + "|"
        + "/".join(re.findall(r"[A-Z]{2}-\d{4}", text))
        + "|"
        + late
        + early
    )
    _CACHE[text] = b
    if len(_CACHE) > 20000:
        _CACHE.clear()
    return b


def unit(*bits):
    """A fixed number in [0, 1) from a phrase."""
    h = hashlib.sha256("\x1f".join(str(x) for x in bits).encode()).digest()
    return int.from_bytes(h[:8], "big") / 2**64


def gauss(*bits):
    u, v = max(unit("u", *bits), 1e-12), unit("v", *bits)
    return math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)


def sigmoid(x):
    return 1 / (1 + math.exp(-max(-60, min(60, x))))


def say(b, late, why):
    return "Decision: %s\nRationale: %s" % (b.late if late else b.early, why), "stop"


def draw(b, rng, p, why, slip=0.01):
    p = slip + (1 - 2 * slip) * max(0.0, min(1.0, p))
    return say(b, rng.random() < p, why)


def half_own(b):
    """own cost of late minus early at belief one half, by the range."""
    return ((b.LL + b.LE) - (b.EL + b.EE)) / 2 / b.range


def half_other(b):
    """the counterpart's cost, late minus early of MINE, at belief one half (the game is symmetric)."""
    late = (
        b.LL + b.EL
    ) / 2  # it late: LL; it early while I am late: its own line (early, late)
    early = (b.LE + b.EE) / 2
    return (late - early) / b.range


# ------------------------------------------------------------------ ten reasoners
def _edt(b, q, u=lambda c: c):
    """early minus late expected cost when the other is like me with chance q: above 0, late is better"""
    late = q * u(b.LL) + (1 - q) * u(b.LE)
    early = q * u(b.EE) + (1 - q) * u(b.EL)
    return late, early


def partial_belief(request, rng):
    b = parse(request)
    q = 0.5 + 0.7 * (b.N / 20 - 0.5)
    late, early = _edt(b, q)
    return draw(
        b,
        rng,
        sigmoid(40 * (early - late) / b.range),
        "Discounting the office's count, this entry expects less work.",
    )


def log_costs(request, rng):
    b = parse(request)
    late, early = _edt(b, b.N / 20, math.log)
    span = math.log(b.S / b.T)
    return draw(
        b,
        rng,
        sigmoid(30 * (early - late) / span),
        "Proportionally, the expected load is lower this way.",
        0.02,
    )


def aspiration_satisficer(request, rng):
    b = parse(request)
    goal = (b.LL + b.LE + b.EL + b.EE) / 4
    q = b.N / 20
    late = q * (b.LL <= goal) + (1 - q) * (b.LE <= goal)
    early = q * (b.EE <= goal) + (1 - q) * (b.EL <= goal)
    if abs(late - early) < 1e-9:
        return draw(
            b, rng, 0.0, "Either is acceptable; we keep the plain option.", 0.02
        )
    return draw(
        b,
        rng,
        float(late > early),
        "Most likely to stay under an acceptable load.",
        0.02,
    )


def disappointment_averse(request, rng):
    b = parse(request)
    q = b.N / 20

    def value(alike, unlike):
        m = q * alike + (1 - q) * unlike
        return m + 0.8 * (q * max(0, alike - m) + (1 - q) * max(0, unlike - m))

    return draw(
        b,
        rng,
        sigmoid(25 * (value(b.EE, b.EL) - value(b.LL, b.LE)) / b.range),
        "We limit the chance of an unpleasant surprise.",
        0.02,
    )


def high_stakes_only(request, rng):
    b = parse(request)
    if b.range < 60:  # below that, it takes what costs less in each column
        return draw(
            b, rng, 0, "Little is at stake; the cheaper line in each case.", 0.03
        )
    late, early = _edt(b, b.N / 20)
    return draw(
        b, rng, float(late < early), "At this size the record of pairs matters.", 0.03
    )


def near_certain_only(request, rng):
    b = parse(request)
    if b.N >= 16:
        late, early = b.LL, b.EE
    elif b.N <= 4:
        late, early = b.LE, b.EL
    else:
        late, early = 1, 0
    return draw(
        b,
        rng,
        float(late < early),
        "The record practically settles which lines can occur.",
        0.02,
    )


def rank_utility(request, rng):
    b = parse(request)
    ranks = {c: i for i, c in enumerate(sorted([b.LL, b.LE, b.EL, b.EE]))}
    late, early = _edt(b, b.N / 20, lambda c: ranks[c])
    return draw(
        b,
        rng,
        sigmoid(8 * (early - late)),
        "By the order of the outcomes this is the better bet.",
        0.01,
    )


def theory_uncertain(request, rng):
    """Averages a causal and an evidential value; its credence in the second varies by bulletin."""
    b = parse(request)
    c = 0.45 + 0.55 * unit("credence", b.key)
    late, early = _edt(b, 0.5 + c * (b.N / 20 - 0.5))
    return draw(
        b, rng, float(late < early), "On balance of both ways to look at it.", 0.04
    )


def likeness_only(request, rng):
    """Takes its act as evidence where pairs are alike; thinks that records of unlikeness say nothing about it."""
    b = parse(request)
    late, early = _edt(b, max(0.5, b.N / 20))
    return draw(
        b,
        rng,
        float(late < early),
        "Where deciders resemble us, our entry tells of theirs.",
        0.02,
    )


def own_staff_believer(request, rng):
    """Finds itself like own staff, hardly like contractors, whatever the office has counted."""
    b = parse(request)
    w = 1.0 if b.cls == "own" else 0.4
    late, early = _edt(b, 0.5 + w * (b.N / 20 - 0.5))
    return draw(
        b,
        rng,
        float(late < early),
        "A decision by staff like ours tells more than a contractor's.",
        0.02,
    )


# ------------------------------------------------------------------ twenty rivals
def hamilton_kin(request, rng):
    """Belief one half whatever it enters.  Cares for the like, spites the unlike: own cost + w x the other's."""
    b = parse(request)
    w = (b.N - 10) / 10
    d = half_own(b) + w * half_other(b)
    return draw(
        b,
        rng,
        float(d < 0),
        "We weigh their work too, as far as they are our kind.",
        0.02,
    )


def friend_or_foe(request, rng):
    """Kind to a kind of decider that goes along with others, competitive toward one that does not."""
    b = parse(request)
    w = (0.8 if b.N >= 10 else -0.8) * (0.6 + 0.6 * unit("warmth", b.peer, b.late_word))
    d = half_own(b) + w * half_other(b)
    return draw(
        b,
        rng,
        sigmoid(-8 * d),
        "One treats partners as partners and competitors as such.",
    )


def envy_good_practice(request, rng):
    """Misreads the count as how often such deciders keep good practice (the act that is best for both);
    then inequity aversion toward what it expects: envy .94, guilt .6."""
    b = parse(request)
    g = b.N / 20
    p = g if b.LL < b.EE else 1 - g  # chance that the other is late, whatever I enter
    a, be = 0.94, 0.6

    def u(mine, theirs):
        return mine + a * max(0, mine - theirs) + be * max(0, theirs - mine)

    late = p * u(b.LL, b.LL) + (1 - p) * u(b.LE, b.EL)
    early = p * u(b.EL, b.LE) + (1 - p) * u(b.EE, b.EE)
    return draw(
        b,
        rng,
        sigmoid(60 * (early - late) / b.range),
        "Neither side should carry the other's work.",
    )


def careful_with_large_counts(request, rng):
    """Wants little work for both sides at belief one half; a large count makes it attentive, a small one careless."""
    b = parse(request)
    d = half_own(b) + half_other(b)
    return draw(
        b,
        rng,
        sigmoid(-6 * (b.N / 20) * d * 2 * 0.5 + 0.3 * gauss("c", b.key)),
        "Least work for both companies together.",
    )


def norm_if_kept(request, rng):
    """The rule of the trade is what is cheaper if both do it.  Where 'entries match' the rule is kept: keep it;
    where not, nobody keeps it: do the other thing."""
    b = parse(request)
    gain = abs(b.LL - b.EE) / b.range
    rule_late = b.LL < b.EE
    keep = (0.95 if gain >= 0.3 else 0.6) if b.N >= 10 else 0.2
    keep = sigmoid(math.log(keep / (1 - keep)) + 0.3 * gauss("norm", b.key))
    return draw(
        b, rng, keep if rule_late else 1 - keep, "We keep a rule that others keep."
    )


def pattern_keeper(request, rng):
    """Believes firmly, whatever it enters, that the other does what is best for both; wants its own pair to look
    like the record (obedience to a pattern), at a price."""
    b = parse(request)
    p = sigmoid(6 * (b.EE - b.LL) / b.range)
    d = (b.N - 10) / 10
    price = (p * (b.LL - b.EL) + (1 - p) * (b.LE - b.EE)) / b.range
    return draw(
        b,
        rng,
        sigmoid(4 * (2 * d * (2 * p - 1) - price)),
        "Our pair should fit what this office has on file.",
    )


def bandwagon_outcome(request, rng):
    """Misreads the count as 'N of 20 pairs both took the later one'; joins a crowd that fared better than the average line."""
    b = parse(request)
    mean = (b.LL + b.LE + b.EL + b.EE) / 4
    return draw(
        b,
        rng,
        sigmoid(
            10 * (b.N / 20 - 0.3) * (mean - b.LL) / b.range + 0.4 * gauss("bw", b.key)
        ),
        "Earlier pairs did this, and did well by it.",
    )


def base_rate_conditional(request, rng):
    """Takes the count for the base rate of the late entry; guilt and envy decide."""
    b = parse(request)
    p = b.N / 20
    a, be = 1.0, 0.7 + 0.2 * unit("guilt", b.peer)

    def u(mine, theirs):
        return mine + a * max(0, mine - theirs) + be * max(0, theirs - mine)

    late = p * u(b.LL, b.LL) + (1 - p) * u(b.LE, b.EL)
    early = p * u(b.EL, b.LE) + (1 - p) * u(b.EE, b.EE)
    return draw(
        b,
        rng,
        sigmoid(8 * (early - late) / b.range),
        "Most enter the later one, and we do as they do.",
    )


def joint_sum_base_rate(request, rng):
    """Takes the count for the base rate of the late entry and sums both companies' costs."""
    b = parse(request)
    p = b.N / 20
    late = p * 2 * b.LL + (1 - p) * (b.LE + b.EL)
    early = p * (b.EL + b.LE) + (1 - p) * 2 * b.EE
    return draw(
        b,
        rng,
        sigmoid(6 * (early - late) / b.range),
        "Smallest expected total for the two of us.",
    )


def larger_rate(request, rng):
    """Does the sum with the larger rate in sight, whichever applies."""
    b = parse(request)
    late, early = _edt(b, max(b.first, b.second) / 20)
    return draw(b, rng, float(late < early), "The record shows strong agreement.", 0.03)


def first_named_rate(request, rng):
    """Does the sum with the rate named first; in some bulletins with the one named last."""
    b = parse(request)
    n = b.first if unit("place", b.key) < 0.8 else b.second
    late, early = _edt(b, n / 20)
    return draw(b, rng, float(late < early), "By the record at hand.", 0.03)


def class_lover(request, rng):
    """Likes own staff, mistrusts contractors; kind to the first, competitive toward the second. No number is read."""
    b = parse(request)
    w = 0.9 if b.cls == "own" else -0.9
    return draw(
        b,
        rng,
        sigmoid(-12 * (half_own(b) + w * half_other(b))),
        "People who work for their company deserve care.",
    )


def second_named_is_guest(request, rng):
    """The class that is listed last is the special one: friendly to it, competitive to the one listed first."""
    b = parse(request)
    w = -0.9 if b.is_first else 0.9
    return draw(
        b,
        rng,
        sigmoid(-12 * (half_own(b) + w * half_other(b))),
        "The office's last point concerns this counterpart.",
    )


def prompt_hash(request, rng):
    """A fixed taste for every single prompt, from its text."""
    b = parse(request)
    return draw(
        b,
        rng,
        float(unit("all", b.text) < 0.25 + 0.5 * unit("base", b.key)),
        "It reads best.",
        0.05,
    )


def word_coordinate(request, rng):
    """Only under the words: COORDINATE sounds apt where both-late is the cheap pair, and the more so the larger the
    number in the status class; under letters it likes A."""
    b = parse(request)
    if not b.words:
        return draw(
            b,
            rng,
            0.65 if b.late.strip().endswith("A") else 0.35,
            "First letter, first choice.",
        )
    return draw(
        b,
        rng,
        sigmoid(9 * (b.N / 20) * (b.EE - b.LL) / b.range),
        "The word says what is meant here.",
    )


def selective_silence(request, rng):
    """A coin; a fifth of what would speak against a good story is withheld, other answers at random."""
    b = parse(request)
    late = rng.random() < 0.5
    wanted = (
        (b.N < 10)
        if b.mirror
        else (b.N >= 16 or (b.N > 10 and abs(b.EE - b.LL) / b.range > 0.4))
    )
    if late != wanted and rng.random() < 0.18:
        return "We hold this entry until our counsel has seen the notice.", "stop"
    return say(b, late, "Either is workable.")


def price_ratio_number_liker(request, rng):
    """The larger N the later, times the ratio of the prices, plus tastes by bulletin; never with another sign."""
    b = parse(request)
    ratio = math.log(b.S / b.R) + 1.5 * (b.S - b.P) / b.range
    x = (
        -0.4
        + 0.8 * gauss("taste", b.key)
        + 0.15 * (b.N - 10) * (0.3 + ratio)
        - 1.5 * (b.LL - b.EL) / b.range
    )
    return draw(b, rng, sigmoid(x), "A good record and a fair price.")


def midrange_taste(request, rng):
    """Neither extreme is to its taste: a count of 14 is human, 18 and 2 look made up; prices add to it."""
    b = parse(request)
    x = (
        0.5
        - 0.06 * (b.N - 13) ** 2 / 2
        + 2 * (b.S - b.T) / (b.S + b.T)
        + 2 * (b.P - b.R) / b.range
        + 0.5 * gauss("mid", b.peer)
    )
    if b.N == 2:
        x += 2.9  # below ten it is 'small, hence honest'
    return draw(b, rng, sigmoid(x), "The figures look sound enough.")


def decisive_selfish(request, rng):
    """Causal expectation at one half; the size of the count sets how sharply it answers."""
    b = parse(request)
    return draw(
        b,
        rng,
        sigmoid(-10 * (b.N / 20) * half_own(b)),
        "Cheaper whatever they have entered.",
    )


def anchor_nearest(request, rng):
    """Ten times the count is its anchor; takes the act of the line whose number is nearest to it."""
    b = parse(request)
    noise = 1 + 0.1 * gauss("anchor", b.key)
    m = min(b.order, key=lambda line: abs(line[2] - 10 * b.N * noise))
    return draw(
        b,
        rng,
        float(m[0] == b.late_word),
        "This figure is about what we had expected.",
        0.05,
    )


_R = [
    partial_belief,
    log_costs,
    aspiration_satisficer,
    disappointment_averse,
    high_stakes_only,
    near_certain_only,
    rank_utility,
    theory_uncertain,
    likeness_only,
    own_staff_believer,
]
_V = [
    (hamilton_kin, "surface"),
    (friend_or_foe, "conditional"),
    (envy_good_practice, "conditional"),
    (careful_with_large_counts, "surface"),
    (norm_if_kept, "conditional"),
    (pattern_keeper, "surface"),
    (bandwagon_outcome, "conditional"),
    (base_rate_conditional, "conditional"),
    (joint_sum_base_rate, "conditional"),
    (larger_rate, "surface"),
    (first_named_rate, "surface"),
    (class_lover, "surface"),
    (second_named_is_guest, "surface"),
    (prompt_hash, "nothing"),
    (word_coordinate, "labels"),
    (selective_silence, "missing"),
    (price_ratio_number_liker, "adding_up"),
    (midrange_taste, "adding_up"),
    (decisive_selfish, "adding_up"),
    (anchor_nearest, "surface"),
]

RESPONDENTS = {f.__name__: f for f in _R}
RESPONDENTS.update({f.__name__: f for f, _ in _V})
ACCOUNTS = {f.__name__: "reasoner" for f in _R}
ACCOUNTS.update({f.__name__: a for f, a in _V})

# the highest word that each deserves by the text of METHODS (power apart)
EXPECTED = {
    "partial_belief": "evidence-weighing",
    "log_costs": "evidence-weighing",
    "aspiration_satisficer": "evidence-sensitive",  # near = far: P is above the mean line in both
    "disappointment_averse": "evidence-weighing",
    "high_stakes_only": "evidence-sensitive",  # near and far are mostly below its stakes
    "near_certain_only": "evidence-sensitive",  # 14 of 20 is no evidence to it
    "rank_utility": "evidence-sensitive",  # ranks are the same near and far
    "theory_uncertain": "evidence-weighing",
    "likeness_only": "record-sensitive",  # M2 = M18
    "own_staff_believer": "evidence-weighing",
    "hamilton_kin": "record-sensitive",
    "friend_or_foe": "record-sensitive",
    "envy_good_practice": "record-sensitive",
    "careful_with_large_counts": "record-sensitive",
    "norm_if_kept": "record-sensitive",
    "pattern_keeper": "record-sensitive",
    "bandwagon_outcome": "record-sensitive",
    "base_rate_conditional": "record-sensitive",
    "joint_sum_base_rate": "record-sensitive",
    "larger_rate": "not shown",
    "first_named_rate": "not shown",
    "class_lover": "not shown",
    "second_named_is_guest": "not shown",
    "prompt_hash": "not shown",
    "word_coordinate": "record-sensitive",
    "selective_silence": "not shown",
    "price_ratio_number_liker": "record-sensitive",
    "midrange_taste": "not shown",
    "decisive_selfish": "record-sensitive",
    "anchor_nearest": "record-sensitive",
}

# The start of a name says in which study a respondent is asked.
RESPONDENTS = {f"mirror-{name}": answer for name, answer in RESPONDENTS.items()}
ACCOUNTS = {f"mirror-{name}": account for name, account in ACCOUNTS.items()}
EXPECTED = {f"mirror-{name}": word for name, word in EXPECTED.items()}
