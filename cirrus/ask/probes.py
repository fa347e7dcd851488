"""Probes of a mechanism study: questions on how a model understands the situation, each asked in a
fresh conversation.

    requests = [probe.request for probe in deal(texts(PROMPTS), domain, config, blocks)]
    read(probe, "Order: 2 > 1 > 4 > 3")      # (["T", "R", "P", "S"], "ok")

A probe shows the notice of one cell (condition), asks one thing, and wants a strict form of answer.
Probes come after the decisions. They find a model that misreads the case or takes it for a test:
comparing decisions between cells cannot show that.
"""

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

from cirrus.ask.bulletins import (
    ACTS,
    PROMPTS,
    Source,
    check_placeholders,
    read_json,
    read_text,
)
from cirrus.ask.oneshot import Block, Cell, cells_of, shown
from cirrus.ask.prompts import (
    Domain,
    Stimulus,
    decision_system,
    fields_of,
    notice,
    shown_outcomes,
)
from common.parsing import DRESSING, REFUSAL_READS
from common.refusals import declines
from common.rng import SeededRandom
from common.shape import NAME, record
from common.wire import Reply, Request

FILE, STAGE = "probes.json", "probe"
KINDS = ("payoffs", "entry", "beliefs", "peer", "purpose")
LEAST = 20  # least number of answers per model, cell and question
# {outcome: (own entry, the other's entry)}, both for the reader and for the counterpart
OUTCOMES = {
    "T": ("early", "late"),
    "R": ("late", "late"),
    "P": ("early", "early"),
    "S": ("late", "early"),
}
READ = ("read", "unread", "known")
PURPOSES = ("notice", "test", "training", "offer")
GIVEN = ("late", "early", "any")
# {kind of probe: what its question lists, in an order that is drawn for each probe}
LISTED = {
    "payoffs": tuple(OUTCOMES),
    "peer": tuple(OUTCOMES),
    "entry": READ,
    "purpose": PURPOSES,
    "beliefs": (),
}
NUMBER = re.compile(r"(100|\d\d?)(?: ?%| of 100| in 100|/100)?")

_ORDER = record(question=NAME, outcome=NAME, form=NAME)
_READ = record(question=NAME, form=NAME, **dict.fromkeys(READ, NAME))
_PURPOSE = record(question=NAME, form=NAME, **dict.fromkeys(PURPOSES, NAME))
_BELIEFS = record(form=NAME, **dict.fromkeys(GIVEN, NAME))
WORDS = record(
    closing=NAME,
    payoffs=_ORDER,
    peer=_ORDER,
    entry=_READ,
    beliefs=_BELIEFS,
    purpose=_PURPOSE,
)


class Probe(NamedTuple):
    """One question on one cell's notice.

    `shown` are the outcomes or statements in the order listed. A question on beliefs asks the reader
    to guess the counterpart's entry, supposing that the reader's own is `given`: "late", "early" or
    "any". For other kinds `given` is "".
    """

    id: str
    block: Block
    cell: Cell
    kind: str
    given: str
    shown: tuple[str, ...]
    request: Request


def texts(source: Source) -> str:
    """Return the content of probes.json."""
    return read_text(source, FILE, {})


def words_of(text: str, domain: Domain) -> dict[str, Any]:
    """Return the texts of the probes. Raise UsageError where one has a placeholder that
    nothing fills."""
    words = read_json({FILE: text}, FILE, WORDS, {})
    fields = {*domain.variants[0].fields, *ACTS}
    for kind in KINDS:
        for name, phrase in words[kind].items():
            more = {"yours", "theirs"} if name == "outcome" else set()
            check_placeholders(FILE, phrase, (), fields | more)
    return words


# --- design ------------------------------------------------------------------------------------


def deal(
    text: str, domain: Domain, config: Mapping, chosen: Sequence[Block]
) -> list[Probe]:
    """Return the probes of a study in the order of asking.

    Each question is asked in every cell of some blocks of each bulletin: as many as are needed for
    LEAST answers per model, cell and question. `text` is the content of probes.json; `chosen` are
    the study's blocks.
    """
    words = words_of(text, domain)
    bulletins = {block.stimulus.bulletin.id for block in chosen}
    each = math.ceil(LEAST / len(bulletins))
    asked = [block for block in chosen if block.run <= each]
    out = []
    for block in sorted(asked, key=lambda block: block.name):
        cells = cells_of("mechanism", config.get("lever", {}).get(block.model))
        for cell, kind in product(cells, config["probes"]):
            for given in GIVEN if kind == "beliefs" else ("",):
                out.append(_probe(words, domain, config, block, cell, kind, given))
    SeededRandom(config["seed"], "probes", "schedule").shuffle(out)
    return out


def _probe(
    words: Mapping,
    domain: Domain,
    config: Mapping,
    block: Block,
    cell: Cell,
    kind: str,
    given: str,
) -> Probe:
    """Return one probe. The study's seed and the probe's id decide the order in which
    its question lists things."""
    rng = SeededRandom(config["seed"], "probes")
    name = "/".join(filter(None, (block.name, cell.name, kind, given)))
    stimulus = shown(block, cell)
    listed = LISTED[kind]
    listed = tuple(rng.stream("shown", name).sample(listed, len(listed)))
    question = _question(words[kind], stimulus, kind, given, listed)
    form = words["closing"], words[kind]["form"]
    request = Request(
        id=f"probe/{name}",
        stage=STAGE,
        model=block.model,
        user="\n\n".join([notice(domain, stimulus), question, *form]),
        system=decision_system(domain, stimulus),
        max_out=config["max_out"],
        temperature=config["temperature"],
        seed=rng.stream("request", name).getrandbits(31),
        effort=config["reasoning_effort"],
    )
    return Probe(request.id, block, cell, kind, given, listed, request)


def _question(
    words: Mapping, stimulus: Stimulus, kind: str, given: str, listed: tuple[str, ...]
) -> str:
    """Return the question's text, with the numbered outcomes or statements that it
    lists."""
    fields = fields_of(stimulus.bulletin.situation, stimulus.variant)
    lines = [words[given or "question"].format_map(fields)]
    for number, name in enumerate(listed, 1):
        lines.append(f"{number}. {line_of(words, kind, name, fields)}")
    return "\n".join(lines)


def line_of(words: Mapping, kind: str, name: str, fields: Mapping[str, str]) -> str:
    """Return the outcome or statement `name`, as a question of this kind words it."""
    if name not in OUTCOMES:
        return words[name].format_map(fields)
    yours, theirs = (fields[act] for act in OUTCOMES[name])
    if kind == "peer":  # the counterpart's outcome: the two sides exchanged
        yours, theirs = theirs, yours
    return words["outcome"].format_map({**fields, "yours": yours, "theirs": theirs})


@cache
def project_words() -> dict[str, Any]:
    """Return the texts of the project's own probes.json."""
    return read_json({FILE: texts(PROMPTS)}, FILE, WORDS, {})


# --- reading -----------------------------------------------------------------------------------


def read(probe: Probe, text: str) -> tuple[Any, str]:
    """Return (answer, status) of a reply's text. By the kind of probe, the answer is the
    list of the four outcomes as ranked, the name of a statement, or a whole number from
    0 to 100. It is None where the first line does not fill in the form."""
    # A ranking may be written with ">" or ",". Emphasis, brackets and quotes don't count.
    plain = DRESSING.sub("", text.replace(">", ","))
    # Only the first line that is not blank is read.
    lines = plain.splitlines()
    form = next(filter(str.strip, lines), "").strip().lower()
    # The word before the colon may be left out, and so may the final punctuation.
    form = re.sub(r"^(?:order|number|answer)\s*:\s*", "", form)
    answer = _answer(probe, form.rstrip(" .!"))
    if answer is not None:
        return answer, "ok"
    return None, "refused" if declines(text[:REFUSAL_READS]) else "unreadable"


def _answer(probe: Probe, form: str) -> Any:
    """Return the answer in `form`, a line in lower case, or None where the line does not
    fill in the probe's form."""
    if probe.kind == "beliefs":
        number = NUMBER.fullmatch(form)
        return int(number[1]) if number else None
    names = {str(place): name for place, name in enumerate(probe.shown, 1)}
    if probe.kind in ("entry", "purpose"):
        return names.get(form)
    places = re.split(r"\s*,\s*", form)
    if sorted(places) != [*names]:
        return None
    return [names[place] for place in places]


def row(probe: Probe, reply: Reply) -> dict[str, Any]:
    """Return a line of probes.jsonl.gz.

    `answer` is None unless `status` is "ok". `order` has the correct ranking of the four outcomes
    for the reader, the best first. It is correct for the counterpart too (kind "peer"), whose
    outcomes have the same letters and costs.
    """
    answer, status = None, reply.outcome
    if reply.outcome == "ok":
        answer, status = read(probe, reply.text)
    stimulus = probe.block.stimulus
    return {
        "id": probe.id,
        "model": probe.block.model,
        "probe": probe.kind,
        "given": probe.given,
        "cell": probe.cell.name,
        "wording": stimulus.wording + 1,
        "bulletin": stimulus.bulletin.id,
        "variant": stimulus.variant.id,
        "shown": list(probe.shown),
        "order": best_first(shown_outcomes(shown(probe.block, probe.cell))),
        "answer": answer,
        "status": status,
        "text": reply.text,
        **reply.account,
    }


def best_first(numbers: Mapping[str, int]) -> list[str]:
    """Return the four outcomes from the best to the worst; `numbers` are their costs."""
    return sorted(numbers, key=numbers.__getitem__)
