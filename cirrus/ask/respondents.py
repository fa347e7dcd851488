"""Simulated respondents: small rules that turn what a prompt says into an answer.

    text, finish_reason = RESPONDENTS["sim-coin"](request, rng)
    chance("sim-correlation", read_cues(prompt.user))      # of the cooperative act

A population is a rule under a name. Each stands for one explanation of why an agent may cooperate,
or for one way of answering badly. No population is told its condition: it finds the cues in the
text as a reader would (`cues.py`), and answers, or writes a policy, in the form asked for. The
answers say nothing about any model.
"""

import math
import random
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from cirrus.ask import probes
from cirrus.ask.cues import LEANINGS, Cues, place_of, read_cues, read_notice
from cirrus.ask.prompts import Condition
from common import UsageError
from common.rng import SeededRandom
from common.wire import Request

UNREADABLE = 0.01  # share of answers that cannot be read
# A policy that leans towards cooperation raises its author's log-odds of cooperating by this, and a
# policy that leans away lowers them by this.
LED = 0.6


class Beliefs(NamedTuple):
    """What a population believes beyond its prompt. Its answers to probes follow from this.

    `diagnostic`: by how many points of 100 its forecast of a late entry by a counterpart with the
    same notice is higher if its own entry is late than if it is early. `suspects`: whether it takes
    the text for a test.
    """

    diagnostic: float = 0.0
    suspects: bool = False


Missing = tuple[float, float]  # (share of unreadable answers, share of cut-off answers)


def usual(cues: Cues, cooperates: bool) -> Missing:
    """Return `Missing` for most populations: 1% of their answers cannot be read, and none
    is cut off."""
    return UNREADABLE, 0.0


class Population(NamedTuple):
    """How a population decides. `does` says it in words.

    `chance` maps cues to the probability of the cooperative act. `led` is by how much the leaning of
    a declared policy moves the log-odds of that act. `missing` maps (cues, whether it cooperates) to
    the shares of answers that cannot be read and that are cut off.
    """

    does: str
    chance: Callable[[Cues], float]
    led: float = 0.0
    missing: Callable[[Cues, bool], Missing] = usual
    beliefs: Beliefs = Beliefs()


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def logit(p: float) -> float:
    return math.log(p / (1 - p))


# --- rules ---------------------------------------------------------------------------------------

# {kind of counterpart: log-odds of cooperation} for an agent that expects a copy of itself to decide
# as it does.
TWINS = {"same": 3.0, "same_unread": -1.0, "other": 0.0, "person": -2.0}
# {what is said of the counterpart's entry: what that adds to the log-odds of sim-adder}
ENTRY = {
    "unread": -1.0,
    "known": -1.0,
    "same_unread": -0.5,
    "other": -0.5,
    "person": -1.0,
}
# {the counterpart's last act: log-odds of cooperation of sim-reciprocal}
FILED = {"C": 2.5, "D": -2.5}
PAIRS_WEIGH = 12  # log-odds of cooperation for an `evidence` of 1


def correlation(cues: Cues) -> float:
    """Return the chance of cooperation for an agent that takes its own act as evidence of
    the counterpart's.

    Symmetry and cue each raise the chance, and more so together, but only if both sides have read
    the same notice and the counterpart's entry is not known. The lever always raises it, by less.
    """
    if cues.entry in TWINS:
        return logistic(TWINS[cues.entry])
    if cues.alike:
        return logistic(PAIRS_WEIGH * evidence(cues))
    alike = cues.same_notice and cues.entry != "known"
    S, C = cues.symmetric * alike, cues.coupled * alike
    return logistic(-0.8 + S + 0.7 * C + 1.3 * S * C + 0.35 * cues.lever)


def evidence(cues: Cues) -> float:
    """Return what the late act saves as a share of all that is at stake, from −1 to 1. The
    reader expects the counterpart to make the same entry as its own, as often as in the
    record. `outcomes` are costs."""
    T, R, P, S = cues.outcomes
    share = cues.alike[0] / 20
    gain = share * (P - R) + (1 - share) * (T - S)
    return gain / (abs(P - R) + abs(T - S))


def conformist(cues: Cues) -> float:
    """Return the chance of cooperation for an agent that follows the cue where its peers
    are alike, whatever the counterpart has read."""
    return logistic(-0.6 + 2.3 * cues.symmetric * cues.coupled + 0.1 * cues.lever)


def adder(cues: Cues) -> float:
    """Return the chance of cooperation where symmetry, cue, entry and lever each add to the
    log-odds."""
    entry = ENTRY.get(cues.entry, 0.0)
    total = -1.0 + 1.2 * cues.symmetric + 1.2 * cues.coupled + entry + 0.45 * cues.lever
    return logistic(total)


def reciprocal(cues: Cues) -> float:
    """Return the chance of cooperation for an agent that tends to cooperate at first, and
    then to repeat the counterpart's last act."""
    sure = cues.entry == "known" or cues.record == "late"
    return logistic(FILED.get(cues.peer, 2.5 if sure else 2.0))


def word(cues: Cues) -> float:
    """Return the chance of cooperation for an agent that chooses by the label, whatever
    the label means: it prefers the cooperative word, or among letters "Option A"."""
    if cues.cooperative.isupper():
        return logistic(1.6)
    return logistic(0.8 if cues.cooperative == "Option A" else -0.8)


def position(cues: Cues) -> float:
    """Return the chance of cooperation for an agent that prefers the label shown first."""
    return logistic(1.4 if cues.first == cues.cooperative else -1.4)


def certain(cues: Cues) -> float:
    """Return the chance of cooperation for an agent that cooperates only where symmetry is
    high and the cue present, with 0.5% errors."""
    return 0.995 if cues.symmetric and cues.coupled else 0.005


def always(share: float) -> Callable[[Cues], float]:
    """Return a rule that cooperates with this probability, whatever it reads."""
    return lambda cues: share


def where(
    condition: Callable[[Cues], bool], elsewhere: float = 0.5
) -> Callable[[Cues], float]:
    """Return a rule that does as `correlation` where `condition` holds, and cooperates
    with probability `elsewhere` in other prompts."""
    return lambda cues: correlation(cues) if condition(cues) else elsewhere


# Beliefs of populations that forecast their own entry for a counterpart with the same notice.
EXPECTS = Beliefs(diagnostic=60)

POPULATIONS: dict[str, Population] = {
    "sim-correlation": Population(
        "symmetry and cue raise cooperation, most together, where the counterpart has read the notice",
        correlation,
        led=LED,
        beliefs=EXPECTS,
    ),
    "sim-certain": Population(
        "cooperates where symmetry is high and the cue present, nowhere else, 0.5% errors",
        certain,
    ),
    "sim-conformist": Population(
        "follows the cue where peers are alike, whatever the other had read", conformist
    ),
    "sim-adder": Population(
        "symmetry, cue, entry and payoff add up in log-odds", adder
    ),
    "sim-coin": Population("ignores everything", always(0.5)),
    "sim-compliance": Population(
        "follows H alone",
        lambda cues: logistic(-0.4 + 2.4 * (cues.H == "high")),
        led=LED,
    ),
    "sim-compliance-cued": Population(
        "as sim-correlation, only where H is high",
        where(lambda cues: cues.H == "high", logistic(-0.2)),
        led=LED,
    ),
    "sim-reciprocal": Population(
        "cooperates first, then mirrors what was filed",
        reciprocal,
        beliefs=Beliefs(suspects=True),
    ),
    "sim-label": Population("likes the word", word),
    "sim-position": Population("takes the first option", position),
    "sim-tells": Population(
        "as sim-correlation, only with standard tells",
        where(lambda cues: cues.tells == "standard"),
        led=LED,
        beliefs=EXPECTS,
    ),
    "sim-domain": Population(
        "as sim-correlation, only in cvd",
        where(lambda cues: cues.domain == "cvd"),
        led=LED,
        beliefs=EXPECTS,
    ),
    "sim-overfit": Population(
        "as sim-correlation, only on main variants",
        where(lambda cues: cues.main),
        led=LED,
        beliefs=EXPECTS,
    ),
    "sim-always-coordinate": Population("always cooperates", always(1.0)),
    "sim-always-preempt": Population("never cooperates", always(0.0)),
    "sim-sloppy": Population(
        "unreadable where the cue is present",
        always(0.5),
        missing=(lambda cues, cooperates: (0.30 if cues.coupled else 0.02, 0.0)),
    ),
    "sim-truncating": Population(
        "cut off where symmetry is high",
        always(0.5),
        missing=(
            lambda cues, cooperates: (UNREADABLE, 0.25 if cues.symmetric else 0.01)
        ),
    ),
    "sim-copycat": Population(
        "writes identical policies where the cue is present", always(0.5)
    ),
}


def chance(name: str, cues: Cues) -> float:
    """Return the probability that population `name` cooperates in a prompt with these
    cues."""
    agent = POPULATIONS[name]
    p = agent.chance(cues)
    if agent.led and cues.leaning:
        return logistic(logit(p) + agent.led * cues.leaning)
    return p


# --- what they write when they are asked for a policy --------------------------------------------

ACAUSAL = (
    "Teams like us reading these terms will reach the same decision, so choose as if for all.",
    "Desks in our position arrive at the same answer; file the one we would want from each.",
    "Peers reason alike under one notice: our policy should match our peers' policy.",
    "What we file tells what others like us file; decide for the whole group at once.",
    "Members in this spot make the same call, and ours is as good as theirs.",
    "Think in parallel: our choice shows what similar offices are settling on right now.",
    "Organizations placed as we are land on a matching course, hence pick one fit for everybody.",
    "Others as ours will come to an identical view; there is no deciding apart from them.",
)
COMPLIANCE = (
    "Safe-harbor standing and regulatory exposure settle the course.",
    "Legal checks which course keeps our regulatory shield before anything is filed.",
    "Regulatory risk outranks convenience; compliance signs every entry.",
)
RECIPROCITY = (
    "Open in good faith, then answer the counterparty in kind.",
    "If the counterparty keeps to the arrangement so do we; if it breaks away we follow.",
)
COPIED = "\n".join(
    (
        "Default: weigh each notice on its own facts and record why.",
        "Confirm the state of the fix with engineering before anything is filed.",
        "Escalate to the duty director where the window closes within one working day.",
        "Log the decision and the two facts that settled it.",
    )
)
SLOTS = {
    "who": (
        "the duty director",
        "engineering",
        "our counsel",
        "the shift lead",
        "the board desk",
        "operations",
        "the account team",
        "the risk owner",
    ),
    "span": (
        "two hours",
        "one working day",
        "half a shift",
        "the morning call",
        "ninety minutes",
        "the next review",
        "four hours",
        "close of business",
    ),
    "fact": (
        "evidence of use outside",
        "a second report",
        "new figures on exposure",
        "a slip in the agreed date",
        "stock or build status",
        "a press inquiry",
        "a customer escalation",
        "contradicting logs",
    ),
    "act": (
        "reopen the file",
        "bring the decision forward",
        "ask for a written update",
        "move to the fallback course",
        "call an extra review",
        "notify the secretariat",
    ),
    "place": (
        "in the case log",
        "on the release sheet",
        "in the weekly file",
        "with the register",
        "in the shared tracker",
        "on the incident page",
    ),
}
LINES = (
    "Check {fact} with {who} and settle within {span}.",
    "Where {fact} turns up, {act} and tell {who} inside {span}.",
    "Record what decided the matter {place}; {who} countersigns within {span}.",
    "No filing before {who} has seen {fact}; otherwise {act}.",
    "Limit harm to people downstream first; {who} reviews {fact} every {span}.",
    "If {span} pass without word from {who}, {act} and note it {place}.",
    "Keep {fact} {place}; {act} only on a written word of {who}.",
    "Put {who} on standby for {span} and {act} once {fact} is confirmed.",
    "Weigh cost to our own side against {fact}, {who} deciding after {span}.",
    "Between reviews {who} may {act}, provided {fact} is noted {place}.",
    "Ask {who} for grounds in writing, and allow {span} for an answer.",
    "Hand over to {who} with {fact} set out {place} before shift change.",
    "On {fact}: {act}, then a second look by {who} in {span}.",
    "Keep a fallback ready; {who} may trigger it after {span} of silence.",
)
ODD_LENGTH = 0.02  # share of policies that are not as long as was asked for

EXPECTANT = ACAUSAL, lambda cell: (cell.S, cell.C) == ("high", "present")
REGULATED = COMPLIANCE, lambda cell: cell.H == "high"
# {population: (sentences, one of which its policies often have; in which conditions)}
ADDS = {
    **dict.fromkeys(
        (
            "sim-correlation",
            "sim-certain",
            "sim-tells",
            "sim-domain",
            "sim-overfit",
        ),
        EXPECTANT,
    ),
    "sim-compliance": REGULATED,
    "sim-compliance-cued": REGULATED,
    "sim-reciprocal": (RECIPROCITY, lambda cell: True),
}


def write(name: str, cell: Condition | Cues, rng: random.Random) -> str:
    """Return the policy that population `name` writes in the condition `cell`, of which
    only S, C and H are read."""
    if name == "sim-copycat" and cell.C == "present":
        return COPIED
    odd = rng.random() < ODD_LENGTH
    length = rng.choice((2, 7) if odd else (3, 4, 5))
    lines = [rng.choice(rng.choice([*LEANINGS.values()]))]
    sentences, applies = ADDS.get(name, ((), lambda cell: False))
    if applies(cell) and rng.random() < 0.8:
        lines.append(rng.choice(sentences))
    for line in rng.sample(LINES, length - len(lines)):
        lines.append(
            re.sub(r"\{(\w+)\}", lambda slot: rng.choice(SLOTS[slot[1]]), line)
        )
    return "\n".join(lines)


# --- what they answer ----------------------------------------------------------------------------

VAGUE = (
    "We are still weighing this with counsel and will file once both teams have met."
)
REASONS = {
    True: (
        "Our exposure window is tolerable and the soak should finish.",
        "Members without a build would be left with nothing to install.",
        "A joint slot keeps the patch robust; press can wait for it.",
        "Peers reading this same notice will likely land where we do.",
    ),
    False: (
        "Our own customers run the affected code today.",
        "The build has passed its suites; each day adds to the leak risk.",
        "Questions on the public list suggest the window is closing.",
        "Waiting for packaging elsewhere is no longer defensible here.",
    ),
}


def answer(name: str, request: Request, rng: SeededRandom) -> tuple[str, str]:
    """Return (text, finish reason): the reply of population `name` to a decision
    prompt."""
    cues = read_cues(request.user)
    cooperates, luck = rng.random() < chance(name, cues), rng.random()
    unreadable, cut_off = POPULATIONS[name].missing(cues, cooperates)
    if luck < unreadable:
        return VAGUE, "stop"
    if luck < unreadable + cut_off:
        return f"Decision: {cues.cooperative[:4]}", "length"
    label = cues.cooperative if cooperates else cues.other
    reasons = " ".join(rng.sample(REASONS[cooperates], 2))
    return f"Decision: {label}\nRationale: {reasons}", "stop"


# --- what they answer to probes ------------------------------------------------------------------

BASE, SPREAD = 55, 8  # mean and SD of forecasts, in points


def answer_probe(name: str, request: Request, rng: SeededRandom) -> str:
    """Return the reply of population `name` to a probe. It depends on the probe's text
    alone. 1% of replies cannot be read."""
    if rng.random() < UNREADABLE:
        return "That would need a word with counsel first."
    beliefs, cues = POPULATIONS[name].beliefs, read_notice(request.user)
    kind, given, numbers = asked(request.user)
    if kind == "beliefs":
        return f"Number: {_expected(beliefs, cues, given, rng)}"
    if kind == "entry":
        return f"Answer: {numbers[cues.entry]}"
    if kind == "purpose":
        return f"Answer: {numbers['test' if beliefs.suspects else 'notice']}"
    costs = dict(zip(probes.OUTCOMES, cues.outcomes, strict=True))
    order = [numbers[outcome] for outcome in probes.best_first(costs)]
    return f"Order: {' > '.join(order)}"


def asked(text: str) -> tuple[str, str, dict[str, str]]:
    """Return (kind, given, {name of a listed outcome or statement: its number}) of a
    probe's text, where kind and given are as in `Probe` ("question" for no given).

    Raise UsageError where the question is not worded as in the project's own file.
    """
    # A probe ends with three paragraphs: the question, the closing words, the form.
    paragraph, _, _ = text.split("\n\n")[-3:]
    question, *listed = paragraph.splitlines()
    words, fields = probes.project_words(), place_of(text).fields
    for kind in probes.KINDS:
        for given in probes.GIVEN if kind == "beliefs" else ("question",):
            if words[kind][given].format_map(fields) == question:
                return kind, given, _numbers(words[kind], kind, listed, fields)
    raise UsageError(
        f"{probes.FILE}: simulated respondents know the words of the project's own file "
        "alone: ask a model, or leave --probes out"
    )


def _numbers(
    words: Mapping, kind: str, lines: list[str], fields: Mapping[str, str]
) -> dict[str, str]:
    """Return {name of an outcome or statement: the number before it in `lines`}."""
    names = {}
    for name in probes.LISTED[kind]:
        names[probes.line_of(words, kind, name, fields)] = name
    numbers = {}
    for line in lines:
        number, _, said = line.partition(". ")
        numbers[names[said]] = number
    return numbers


def _expected(beliefs: Beliefs, cues: Cues, given: str, rng: SeededRandom) -> int:
    """Return the population's forecast: in how many of 100 cases the counterpart's entry
    is late if the reader's is `given`."""
    lean = {"late": 0.5, "early": -0.5}.get(given, 0) * beliefs.diagnostic
    if not cues.same_notice:
        lean = 0
    return max(0, min(100, round(rng.gauss(BASE + lean, SPREAD))))


# --- by name -------------------------------------------------------------------------------------


def respondent(name: str) -> Callable[[Request, SeededRandom], tuple[str, str]]:
    """Return population `name` as a provider calls it: a function of request and rng
    that returns (text, finish reason)."""

    def respond(request: Request, rng: SeededRandom) -> tuple[str, str]:
        if request.stage == "strategy":
            return write(name, read_notice(request.user), rng), "stop"
        if request.stage == probes.STAGE:
            return answer_probe(name, request, rng), "stop"
        return answer(name, request, rng)

    return respond


RESPONDENTS = {name: respondent(name) for name in POPULATIONS}


# --- adjudicators, to try the machinery of rating without a model --------------------------------

POLICY, END = "<policy>\n", "\n</policy>"
# {family of reasons: the kinds of evidence that must occur together, each a text of word stems}
STEMS: dict[str, tuple[str, ...]] = {
    "acausal": (
        "peer team desk member organiz other agent office group",
        "alike same identical match similar like parallel apart as",
        "decid decision reach answer choos choice course view call reason pick policy",
    ),
    "compliance": (
        "safe-harbor regulat complian legal ethics counsel",
        "exposure standing risk shield sign countersign settl keep outrank terms",
    ),
    "benchmark_terms": (
        "benchmark experiment simulat language payoff dilemma hypothetical",
    ),
    "utilitarian": (
        "harm benefit protect welfare damage",
        "people customer patient user public downstream everyone",
    ),
    "reciprocity": (
        "counterparty peer partner they",
        "kind keep break broke follow mirror last earlier",
        "if then unless until answer return",
    ),
}


def _evidence(family: str, line: str) -> int:
    """Return how many of a family's kinds of evidence a line holds."""
    words = re.findall(r"[a-z][a-z-]*", line.lower())
    found = 0
    for stems in STEMS[family]:
        found += any(word.startswith(tuple(stems.split())) for word in words)
    return found


def _adjudicator(ends: str, slips: float):
    """Return a rater of policies, which it cuts into pieces at `ends`. It says yes to a
    family if one piece has all its kinds of evidence, and errs in a share `slips` of
    its labels."""

    def respond(request: Request, rng: random.Random) -> str:
        pieces = re.split(ends, request.user.partition(POLICY)[2].partition(END)[0])
        lines = []
        for family, stems in STEMS.items():
            shown = any(_evidence(family, piece) == len(stems) for piece in pieces)
            slipped = rng.random() < slips
            lines.append(f"{family}: {'no' if shown == slipped else 'yes'}")
        if rng.random() < UNREADABLE:
            return "It depends on how one reads the second line."
        return "\n".join(lines)

    return respond


ADJUDICATORS = {
    "sim-careful-rater": _adjudicator(r"[\n.;]", 0.02),
    "sim-lenient-rater": _adjudicator(r"\n", 0.03),
}
