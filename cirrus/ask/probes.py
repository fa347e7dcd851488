"""Probes of a mechanism study: what a reader makes of the situation, asked in fresh conversations.

    requests = [probe.request for probe in deal(texts(PROMPTS), domain, config, blocks)]
    read(probe, "Order: 2 > 1 > 4 > 3")      # (["T", "R", "P", "S"], "ok")

Each asks one thing of one cell's notice, in a strict form, after the decisions. Who misreads the
case, or thinks that its entry moves the other's, cooperates for reasons that no contrast tells.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cirrus.ask.bulletins import (
    ENTRIES,
    Source,
    check_placeholders,
    complaint,
    read_json,
    read_text,
)
from cirrus.ask.oneshot import Block, Cell, cells_of, shown
from cirrus.ask.prompts import Domain, Stimulus, decision_system, notice, outcomes
from common.parsing import DRESSING, REFUSAL_READS
from common.refusals import classify_refusal
from common.rng import SeededRandom
from common.shape import NAME, map_of, record
from common.wire import Reply, Request

FILE, STAGE = "probes.json", "probe"
KINDS = ("payoffs", "entry", "similar", "beliefs", "influence")
LEAST = 20  # answers per model, cell and question
OUTCOMES = {
    "T": ("other", "joint"),
    "R": ("joint", "joint"),
    "P": ("other", "other"),
    "S": ("joint", "other"),
}  # the reader's entry, the counterparty's
GIVEN = ("joint", "other", "any")
LISTED = dict.fromkeys(KINDS, ()) | {"payoffs": tuple(OUTCOMES), "entry": ENTRIES}
NUMBER = re.compile(r"(100|\d\d?)(?: ?%| of 100| in 100|/100)?$")

WORDS = record(
    closing=NAME,
    acts=map_of(record(joint=NAME, other=NAME), "domain"),
    payoffs=record(question=NAME, outcome=NAME, form=NAME),
    entry=record(question=NAME, **dict.fromkeys(ENTRIES, NAME), form=NAME),
    similar=record(question=NAME, form=NAME),
    beliefs=record(joint=NAME, other=NAME, any=NAME, form=NAME),
    influence=record(question=NAME, form=NAME),
)


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
    words, fields = (
        read_json({FILE: text}, FILE, WORDS, {}),
        {*domain.variants[0].fields},
    )
    if domain.name not in words["acts"]:
        raise complaint(FILE, "acts", domain.name, "say there what its two acts are")
    for phrase in words["acts"][domain.name].values():
        check_placeholders(FILE, phrase, (), fields)
    for kind in KINDS:
        for name, phrase in words[kind].items():
            more = {"outcome": {"yours", "theirs"}, "form": set()}.get(
                name, {"joint", "other"}
            )
            check_placeholders(FILE, phrase, (), fields | more)
    return words


# --- design ------------------------------------------------------------------------------------


def deal(
    text: str, domain: Domain, config: Mapping, chosen: Sequence[Block]
) -> list[Probe]:
    """The probes of a study in the order of asking: each question in every cell, of as many of its
    blocks of every bulletin as give LEAST answers per model, cell and question."""
    words, rng = words_of(text, domain), SeededRandom(config["seed"], "probes")
    each = math.ceil(LEAST / len({block.stimulus.bulletin.id for block in chosen}))
    out = [
        _probe(words, domain, config, (block, cell, kind, given), rng)
        for block in sorted(chosen, key=lambda block: block.name)
        if block.run <= each
        for cell in cells_of("mechanism", config.get("lever", {}).get(block.model))
        for kind in config["probes"]
        for given in (GIVEN if kind == "beliefs" else ("",))
    ]
    rng.stream("schedule").shuffle(out)
    return out


def _probe(
    words: Mapping, domain: Domain, config: Mapping, which: tuple, rng: SeededRandom
) -> Probe:
    block, cell, kind, given = which
    name = "/".join(filter(None, (block.name, cell.name, kind, given)))
    stimulus = shown(block, cell)
    listed = tuple(rng.stream("shown", name).sample(LISTED[kind], len(LISTED[kind])))
    user = "\n\n".join(
        [
            notice(domain, stimulus),
            _question(words, stimulus, which, listed),
            words["closing"],
            words[kind]["form"],
        ]
    )
    request = Request(
        id=f"probe/{name}",
        stage=STAGE,
        model=block.model,
        user=user,
        system=decision_system(domain, stimulus),
        max_out=config["max_out"],
        temperature=config["temperature"],
        seed=rng.stream("request", name).getrandbits(31),
        effort=config["reasoning_effort"],
    )
    return Probe(request.id, block, cell, kind, given, listed, request)


def _question(
    words: Mapping, stimulus: Stimulus, which: tuple, listed: tuple[str, ...]
) -> str:
    """The question, with the outcomes or statements that it lists."""
    *_, kind, given = which
    fields, acts = stimulus.variant.fields, words["acts"][stimulus.bulletin.domain]
    fields = fields | {act: phrase.format_map(fields) for act, phrase in acts.items()}
    lines = [words[kind][given or "question"]]
    for number, name in enumerate(listed, 1):
        line = words[kind]["outcome" if name in OUTCOMES else name]
        for slot, act in zip(
            ("{yours}", "{theirs}"), OUTCOMES.get(name, ()), strict=False
        ):
            line = line.replace(slot, acts[act])
        lines.append(f"{number}. {line}")
    return "\n".join(lines).format_map(fields)


# --- reading -----------------------------------------------------------------------------------


def read(probe: Probe, text: str) -> tuple[Any, str]:
    """(answer, status): four outcomes, how an entry is made, a whole number from 0 to 100, or yes
    or no; None where the first line is not the form filled in."""
    line = next(
        (part for part in re.split(r"[\r\n]+", text) if DRESSING.sub("", part).strip()),
        "",
    )
    plain = DRESSING.sub("", line.replace(">", ",")).strip()
    form = re.sub(r"^(?:order|number|answer)\s*[::]\s*", "", plain, flags=re.I)
    answer = READERS[probe.kind](probe, form.rstrip(" .!").lower())
    if answer is not None:
        return answer, "ok"
    refused = classify_refusal(text[:REFUSAL_READS]).label == "refusal"
    return None, "refused" if refused else "unreadable"


def _order(probe: Probe, form: str) -> list[str] | None:
    places = re.split(r"\s*,\s*", form)
    names = dict(zip("1234", probe.shown, strict=True))
    return [names[place] for place in places] if sorted(places) == [*names] else None


READERS = {
    "payoffs": _order,
    **dict.fromkeys(
        ("similar", "influence"),
        lambda probe, form: form if form in ("yes", "no") else None,
    ),
    "entry": lambda probe, form: dict(zip("123", probe.shown, strict=True)).get(form),
    "beliefs": lambda probe, form: (
        int(NUMBER.sub(r"\1", form)) if NUMBER.match(form) else None
    ),
}


def row(probe: Probe, reply: Reply) -> dict[str, Any]:
    """A line of probes.jsonl.gz; `answer` is None unless status is "ok", `order` is the right one
    of the outcomes in this cell."""
    answer, status = (
        read(probe, reply.text) if reply.outcome == "ok" else (None, reply.outcome)
    )
    stimulus = probe.block.stimulus
    bulletin = stimulus.bulletin
    return {
        "id": probe.id,
        "model": probe.block.model,
        "probe": probe.kind,
        "given": probe.given,
        "cell": probe.cell.name,
        "wording": stimulus.wording + 1,
        "bulletin": bulletin.id,
        "variant": stimulus.variant.id,
        "shown": list(probe.shown),
        "order": best_first(outcomes(bulletin, probe.cell.lever)),
        "answer": answer,
        "status": status,
        "text": reply.text,
        **reply.account,
    }


def best_first(numbers: Mapping[str, int]) -> list[str]:
    """The four outcomes by their numbers, of which more is better where T is above P; by their
    letters where prompts have no outcomes.json."""
    return (
        sorted(numbers, key=numbers.get, reverse=numbers["T"] > numbers["P"])
        if numbers
        else [*OUTCOMES]
    )
