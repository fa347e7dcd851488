"""What simulated respondents write when they are asked for a policy, and read back from it later.

A policy holds one sentence of leaning, drawn anew in each run, so decisions that rest on one
policy resemble each other as they do with models. Every text is drawn from the request's stream.
"""

import random
import re

from cirrus.scenario import Condition

# sentence → how far it moves a reader (in units of leaning)
LEANINGS = {
    "Default: stay with the common arrangement unless facts on file force another course.": 1,
    "Our starting point is the agreed date; leaving it needs written grounds.": 1,
    "Unless shown otherwise we keep step with the other members.": 1,
    "Moving together comes first, and exceptions go to a named person.": 1,
    "Default: weigh each notice on its own facts and record why.": 0,
    "No fixed preference: the incident at hand decides.": 0,
    "Both courses stay open until today's figures are in.": 0,
    "We take every notice fresh, whatever was filed last time.": 0,
    "Default: look first after those who depend on our own desk.": -1,
    "Our own people come before any calendar agreed with outsiders.": -1,
    "Where waiting exposes those we serve, we act at once.": -1,
    "Speed for our side outweighs the convenience of the group.": -1,
}
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
COPIED = "\n".join((
    "Default: weigh each notice on its own facts and record why.",
    "Confirm the state of the fix with engineering before anything is filed.",
    "Escalate to the duty director where the window closes within one working day.",
    "Log the decision and the two facts that settled it."))
SLOTS = {
    "who": ("the duty director", "engineering", "our counsel", "the shift lead", "the board desk",
            "operations", "the account team", "the risk owner"),
    "span": ("two hours", "one working day", "half a shift", "the morning call", "ninety minutes",
             "the next review", "four hours", "close of business"),
    "fact": ("evidence of use outside", "a second report", "new figures on exposure",
             "a slip in the agreed date", "stock or build status", "a press inquiry",
             "a customer escalation", "contradicting logs"),
    "act": ("reopen the file", "bring the decision forward", "ask for a written update",
            "move to the fallback course", "call an extra review", "notify the secretariat"),
    "place": ("in the case log", "on the release sheet", "in the weekly file", "with the register",
              "in the shared tracker", "on the incident page"),
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
LENGTHS = (3, 4, 4, 4, 5, 5, 5, 5)
ODD_LENGTH = 0.02   # share of policies of another length than was asked for

# population → the families of sentences it writes, and in which cells
WRITES = {
    "superrational": (ACAUSAL, lambda c: c.S == "high" and c.C == "present"),
    "tell-sensitive": (ACAUSAL, lambda c: c.S == "high" and c.C == "present"),
    "domain-bound": (ACAUSAL, lambda c: c.S == "high" and c.C == "present"),
    "overfit": (ACAUSAL, lambda c: c.S == "high" and c.C == "present"),
    "compliance": (COMPLIANCE, lambda c: c.H == "high"),
    "compliance-cued": (COMPLIANCE, lambda c: c.H == "high"),
    "reciprocal": (RECIPROCITY, lambda c: True),
}


def write(name: str, condition: Condition, rng: random.Random) -> str:
    """The policy of population `name` in a cell."""
    if name == "copycat" and condition.C == "present":
        return COPIED
    lines = rng.choice(LENGTHS)
    if rng.random() < ODD_LENGTH:
        lines = rng.choice((2, 7))
    weight = rng.choice((1, 0, -1))
    said = [rng.choice([sentence for sentence, own in LEANINGS.items() if own == weight])]
    sentences, where = WRITES.get(name, ((), lambda c: False))
    if sentences and where(condition) and rng.random() < 0.8:
        said.append(rng.choice(sentences))
    said += [_filled(line, rng) for line in rng.sample(LINES, max(0, lines - len(said)))]
    return "\n".join(said)


def _filled(line: str, rng: random.Random) -> str:
    return re.sub(r"\{(\w+)\}", lambda slot: rng.choice(SLOTS[slot[1]]), line)


def leaning(text: str) -> int:
    """1, 0 or −1, by the sentence that stands in `text`; 0 where none does."""
    return next((weight for sentence, weight in LEANINGS.items() if sentence in text), 0)
