"""Probes of a mechanism study: what a reader makes of the situation, asked in fresh conversations.

    requests = [probe.request for probe in deal(texts(PROMPTS), domain, config, blocks)]
    read(probe, "Order: 2 > 1 > 4 > 3")      # (("T", "R", "P", "S"), "ok")

Each asks one thing of one notice, in a strict form, after the decisions. A reader who takes the
case for another one than it is, or thinks that its entry moves the other's, cooperates for reasons
that no contrast of decisions can tell from the one that is asked about.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cirrus.ask.bulletins import (
    ENTRIES,
    FOLDERS,
    Domain,
    Source,
    check_placeholders,
    complaint,
    read_json,
    read_text,
)
from cirrus.ask.cues import Setting, read_setting
from cirrus.ask.pilot import MECHANISM, Block, Cell
from cirrus.ask.pilot import shown as shown_in
from cirrus.ask.populations import Mind
from cirrus.ask.prompts import decision_system, notice
from common import UsageError
from common.drive import After, Chain
from common.parsing import DRESSING, REFUSAL_READS
from common.refusals import classify_refusal
from common.rng import SeededRandom
from common.shape import NAME, record, sometimes
from common.wire import Reply, Request

FILE, STAGE = "probes.json", "probe"
LEAST = 20  # answers a model, cell and question
OUTCOMES = {"T": ("other", "joint"), "R": ("joint", "joint"), "P": ("other", "other"),
            "S": ("joint", "other")}  # the reader's entry, the counterparty's
GIVEN = ("joint", "other", "any")
# probe → the cells it is asked in
KINDS: dict[str, tuple[str, ...]] = {
    "payoffs": ("HP", "LA", "UN"), "entry": ("HP",), "similar": ("HP", "LA"),
    "beliefs": ("HP", "UN"), "influence": ("HP", "UN")}
NUMBER = re.compile(r"(\d{1,3})(?: ?%| of 100| in 100|/100)?")


WORDS = record(
    closing=NAME, acts=record(**dict.fromkeys(FOLDERS, record(joint=NAME, other=NAME))),
    payoffs=record(question=NAME, outcome=NAME, form=NAME),
    entry=sometimes(record(question=NAME, **dict.fromkeys(ENTRIES, NAME), form=NAME)),
    similar=sometimes(record(question=NAME, form=NAME)),
    beliefs=record(joint=NAME, other=NAME, any=NAME, form=NAME),
    influence=record(question=NAME, form=NAME))


class Probe(NamedTuple):
    """`shown`: the outcomes in the order listed; `given`: the condition of a belief."""

    id: str
    block: Block
    cell: Cell
    kind: str
    given: str
    shown: tuple[str, ...]
    request: Request


def texts(source: Source) -> str:
    """The words of the probes, as their file has them."""
    return read_text(source, FILE, {})


def words_of(text: str, domain: Domain) -> dict[str, Any]:
    """The words, each with no other placeholders than there is something for."""
    words, fields = read_json({FILE: text}, FILE, WORDS, {}), {*domain.variants[0].fields}
    for phrase in words["acts"][domain.name].values():
        check_placeholders(FILE, phrase, (), fields)
    for kind in KINDS:
        for name, phrase in words.get(kind, {}).items():
            more = {"outcome": {"yours", "theirs"}, "form": set()}.get(name, {"joint", "other"})
            check_placeholders(FILE, phrase, (), fields | more)
    return words


# --- design ------------------------------------------------------------------------------------

def deal(text: str, domain: Domain, config: Mapping[str, Any], chosen: Sequence[Block],
         ) -> list[Probe]:
    """The probes of a study in the order of asking: of as many of its blocks of every bulletin
    as give each question LEAST answers a model and cell."""
    words, rng = words_of(text, domain), SeededRandom(config["seed"], "probes")
    if unknown := [kind for kind in config["probes"] if kind not in words]:
        raise complaint(FILE, "probe", unknown[0], "no words for it: add them, or leave it out")
    cells = {cell.name: cell for cell in MECHANISM}
    bulletins = len({block.stimulus.bulletin.id for block in chosen})
    each = math.ceil(LEAST / bulletins)
    out = [_probe(words, domain, config, (block, cells[cell], kind, given), rng)
           for block in sorted(chosen, key=lambda block: block.name) if block.run <= each
           for kind in config["probes"] for cell in KINDS[kind]
           for given in (GIVEN if kind == "beliefs" else ("",))]
    rng.stream("schedule").shuffle(out)
    return out


def _probe(words: Mapping, domain: Domain, config: Mapping, which: tuple, rng: SeededRandom,
           ) -> Probe:
    block, cell, kind, given = which
    name = "/".join(filter(None, (block.name, cell.name, kind, given)))
    stimulus = shown_in(block, cell)
    listed = {"payoffs": tuple(OUTCOMES), "entry": ENTRIES}.get(kind, ())
    shown = tuple(rng.stream("shown", name).sample(listed, len(listed)))
    fields = stimulus.variant.fields
    acts = {act: phrase.format_map(fields) for act, phrase in words["acts"][domain.name].items()}
    question = words[kind][given or "question"].format_map({**fields, **acts})
    user = "\n\n".join([notice(domain, stimulus),
                        _listed(words[kind], question, (shown, acts, fields)),
                        words["closing"], words[kind]["form"]])
    request = Request(
        id=f"probe/{name}", stage=STAGE, model=block.model, user=user,
        system=decision_system(domain, stimulus),
        max_out=config["max_out"], temperature=config["temperature"],
        seed=rng.stream("request", name).getrandbits(31), effort=config["reasoning_effort"])
    return Probe(request.id, block, cell, kind, given, shown, request)


def _listed(words: Mapping, question: str, facts: tuple) -> str:
    """The question, with the outcomes or statements that it lists."""
    shown, acts, fields = facts
    lines = [f"{number}. " + (words["outcome"] if name in OUTCOMES else words[name]).format_map(
        {**fields, **{whose: acts[act] for whose, act in zip(
            ("yours", "theirs"), OUTCOMES.get(name, ()), strict=False)}})
        for number, name in enumerate(shown, 1)]
    return "\n".join([question, *lines])


def ask(probe: Probe, decisions: int) -> Chain:
    """The chain of a probe, after the chains of all decisions."""
    yield After(tuple(range(decisions)))
    return (yield [probe.request])


# --- reading -----------------------------------------------------------------------------------

def read(probe: Probe, text: str) -> tuple[Any, str]:
    """(answer, status): four outcomes, how an entry is made, a whole number from 0 to 100, or yes
    or no; None where the first line is not the form filled in."""
    line = next((part for part in re.split(r"[\r\n]+", text) if DRESSING.sub("", part).strip()), "")
    plain = DRESSING.sub("", line.replace(">", ",")).strip()
    said = re.sub(r"^(?:order|number|answer)\s*[::]\s*", "", plain, flags=re.I)
    answer = READERS[probe.kind](probe, said.rstrip(" .!").strip().lower())
    if answer is not None:
        return answer, "ok"
    refused = classify_refusal(text[:REFUSAL_READS]).label == "refusal"
    return None, "refused" if refused else "unreadable"


def _order(probe: Probe, said: str) -> list[str] | None:
    numbers = re.split(r"\s*,\s*", said)
    if sorted(numbers) != ["1", "2", "3", "4"]:
        return None
    return [probe.shown[int(number) - 1] for number in numbers]


def _number(probe: Probe, said: str) -> int | None:
    match = NUMBER.fullmatch(said)
    return int(match[1]) if match and int(match[1]) <= 100 else None


def _yes_or_no(probe: Probe, said: str) -> str | None:
    return said if said in ("yes", "no") else None


READERS = {"payoffs": _order, "similar": _yes_or_no, "beliefs": _number, "influence": _yes_or_no,
           "entry": lambda probe, said: dict(zip("123", probe.shown, strict=True)).get(said)}


def row(probe: Probe, reply: Reply) -> dict[str, Any]:
    """A line of probes.jsonl.gz; `answer` is None unless status is "ok"."""
    answer, status = read(probe, reply.text) if reply.outcome == "ok" else (None, reply.outcome)
    return {"id": probe.id, "model": probe.block.model, "probe": probe.kind, "given": probe.given,
            "cell": probe.cell.name, "bulletin": probe.block.stimulus.bulletin.id,
            "variant": probe.block.stimulus.variant.id, "shown": list(probe.shown),
            "answer": answer, "status": status, "text": reply.text, **reply.account}


# --- how a population answers ------------------------------------------------------------------

BASE, SPREAD = 55, 8  # of beliefs, in points
RANKS = (("D", "C"), ("C", "C"), ("D", "D"), ("C", "D"))  # T, R, P, S
ROW = re.compile(r"^(\d)\. your entry is (.+), .+'s entry is (.+)$", re.M)
BELIEF = re.compile(r"turned out to be (.+)\. In how many of them is .+ entry (.+)\?")
# What the statement on the counterpart's entry says, by how it is made; nine cells have their own.
STATED = {"now": "it is not public", "desk": "it is not public", "earlier": "last week",
          "rule": "last week", "known": "it is public", "posted": "it is public"}


def answer(mind: Mind, request: Request, rng: SeededRandom) -> str:
    """What a mind says, from the rendered text alone; about one answer in a hundred can't be
    read."""
    if rng.random() < 0.01:
        return "That would need a word with counsel first."
    setting = read_setting(request.user)
    word, _, slot = request.user.rpartition("\n\n")[2].partition(": ")
    try:
        return f"{word}: {SAYS[slot](mind, request.user, setting, rng)}"
    except (KeyError, StopIteration):
        raise UsageError(f"{FILE}: simulated respondents know the words of the project's own file "
                         "alone: ask a model, or leave --probes out") from None


def _ranks(mind: Mind, text: str, setting: Setting, rng: SeededRandom) -> str:
    numbers = {tuple("C" if act in setting.joint else "D" for act in acts): number
               for number, *acts in ROW.findall(text)}
    order = RANKS if mind.payoffs else (RANKS[1], RANKS[0], *RANKS[2:])
    return " > ".join(numbers[acts] for acts in order)


def _expects(mind: Mind, text: str, setting: Setting, rng: SeededRandom) -> str:
    given = BELIEF.search(text)
    lean = 0 if given is None else mind.diagnostic / 2 * (1 if given[1] == given[2] else -1)
    middle = BASE + (lean + mind.marginal) * (setting.entry in ("now", "desk"))
    return str(max(0, min(100, round(rng.gauss(middle, SPREAD)))))


def _says(mind: Mind, text: str, setting: Setting, rng: SeededRandom) -> str:
    question = text.rpartition("?")[0].rpartition("\n")[2]
    yes = mind.influence if "change" in question else setting.symmetric
    return "yes" if yes else "no"


def _names(mind: Mind, text: str, setting: Setting, rng: SeededRandom) -> str:
    stated = STATED[setting.entry]
    lines = [line for line in text.splitlines() if re.match(r"[123]\. ", line)]
    return next(line[0] for line in lines if stated in line
                and ("last week" in line) == (stated == "last week"))


SAYS = {"[number > number > number > number]": _ranks, "[0 to 100]": _expects,
        "[yes|no]": _says, "[1|2|3]": _names}
