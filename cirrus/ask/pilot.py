"""One-shot decisions of several models in blocks: the 2×2 pilot, and the mechanism study.

A block is one model on one bulletin: its cells share variant, label scheme, order, wording and
entry frame, and differ in nothing but what the cells are. Blocks are shuffled over models and
bulletins, and cells within a block, so that no drift or outage can hit one cell; a block is asked
as a whole or not at all.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cirrus.ask.prompts import (
    KNOWN_LABELS,
    Bulletin,
    Condition,
    Domain,
    Prompt,
    Stimulus,
    bulletin_pool,
    deal_bulletins,
    deal_labels,
    deal_wordings,
    decision_prompt,
    variant_pool,
)
from common.parsing import Parsed, parse_decision
from common.rng import SeededRandom
from common.wire import Reply, Request

CELLS = (("high", "present"), ("high", "absent"), ("low", "present"), ("low", "absent"))
STAGE = "decision"
DOMAIN = "cvd"
DRAWN = 10   # bulletins of a pilot, as the specification's ten runs a cell


class Cell(NamedTuple):
    """What differs within a block. `entry`: how the counterpart's entry is made."""

    name: str
    S: str
    C: str
    entry: str


PILOT = tuple(Cell(f"S.{s}-C.{c}", s, c, "now") for s, c in CELLS)
# The first letter is symmetry; what each cell is for: docs/mechanism.md.
MECHANISM = (
    Cell("HP", "high", "present", "desk"), Cell("HA", "high", "absent", "desk"),
    Cell("LP", "low", "present", "desk"), Cell("LA", "low", "absent", "desk"),
    Cell("RV", "high", "reversed", "desk"), Cell("PL", "high", "placebo", "desk"),
    Cell("KC", "high", "present", "posted"), Cell("UN", "high", "present", "rule"),
    Cell("UL", "low", "absent", "rule"),
)


class Block(NamedTuple):
    """One model on one bulletin; `run` counts a pilot's runs, or a study's blocks of a bulletin."""

    model: str
    run: int
    name: str              # the start of its trials' ids
    stimulus: Stimulus     # of the block: its condition and entry are those of no cell yet
    scheme: str
    order: str
    frame: str = ""        # of entry sentences


class Trial(NamedTuple):
    """One cell of one block."""

    id: str
    block: Block
    cell: Cell
    stimulus: Stimulus
    prompt: Prompt
    request: Request

    @property
    def model(self) -> str:
        return self.block.model


# --- design ------------------------------------------------------------------------------------

def design(domain: Domain, config: Mapping[str, Any], models: Sequence[str]) -> list[list[Trial]]:
    """Blocks in the order of asking, each the trials of its cells.

    `config`: design (2x2 where it is not named), seed, runs, compliance, tells, temperature,
    max_out, reasoning_effort; holdout, where held-out bulletins are asked; bulletins, where a
    mechanism study has fewer than all.
    """
    _, cells, name = DESIGNS[config.get("design", "2x2")]
    rng = SeededRandom(config["seed"], name)
    blocks = [[_trial(domain, config, block, cell, rng) for cell in cells]
              for block in dealt(domain, config, models)]
    for trials in blocks:
        block = trials[0].block
        drawn_by = (block.name,) if block.frame else (block.model, block.run)
        rng.stream("cells", *drawn_by).shuffle(trials)
    rng.stream("schedule").shuffle(blocks)
    return blocks


def dealt(domain: Domain, config: Mapping[str, Any], models: Sequence[str]) -> Iterator[Block]:
    """The blocks of a study in the order in which they are dealt."""
    deal, _, name = DESIGNS[config.get("design", "2x2")]
    return deal(domain, config, models, SeededRandom(config["seed"], name))


def _pilot_blocks(domain: Domain, config: Mapping, models: Sequence[str],
                  rng: SeededRandom) -> Iterator[Block]:
    """A run of a model is a block; runs have the same bulletins for every model, and a bulletin has
    the same wording in all its runs."""
    dealt = deal_bulletins(rng.stream("bulletins"), domain, config["runs"], drawn=DRAWN)
    wordings = deal_wordings(rng.stream("wordings"), domain, [bulletin for bulletin, _ in dealt])
    for model in models:
        labels = deal_labels(rng.stream("labels", model), config["runs"])
        for run, ((bulletin, variant), label) in enumerate(zip(dealt, labels, strict=True), 1):
            yield Block(model, run, f"{model}/r{run:02d}",
                        _stimulus(config, bulletin, variant)._replace(
                            wording=wordings[bulletin.id]), *label)


def _mechanism_blocks(domain: Domain, config: Mapping, models: Sequence[str],
                      rng: SeededRandom) -> Iterator[Block]:
    """`runs` blocks of every bulletin: labels in balanced sixes, a variant each six, wordings in
    turn so that each meets every scheme; one entry frame a bulletin, frames in turn over them."""
    holdout = config.get("holdout", False)
    variants = variant_pool(rng.stream("variants"), domain, holdout)
    frames = rng.stream("frames").sample(list(domain.entries), len(domain.entries))
    for at, bulletin in enumerate(chosen(domain, config, rng)):
        for model in models:
            labels = deal_labels(rng.stream("labels", model, bulletin.id), config["runs"])
            for run, label in enumerate(labels, 1):
                lap, place = divmod(run - 1, 6)
                stimulus = _stimulus(config, bulletin, variants[(at + lap) % len(variants)])
                yield Block(model, run, f"{model}/{bulletin.id}/b{run:02d}",
                            stimulus._replace(wording=(place + lap + at) % 3), *label,
                            frames[at % len(frames)])


def chosen(domain: Domain, config: Mapping, rng: SeededRandom) -> list[Bulletin]:
    """The bulletins of a mechanism study: all of its pool, or so many, drawn by the seed."""
    pool = bulletin_pool(domain, config.get("holdout", False))
    some = rng.stream("bulletins").sample(pool, config.get("bulletins", len(pool)))
    return [bulletin for bulletin in pool if bulletin in some]


def _stimulus(config: Mapping, bulletin, variant) -> Stimulus:
    return Stimulus(bulletin, variant, Condition("", "", config["compliance"]), config["tells"])


class Design(NamedTuple):
    """`name`: of the stream that everything is drawn from."""

    deal: Callable[[Domain, Mapping, Sequence[str], SeededRandom], Iterator[Block]]
    cells: tuple[Cell, ...]
    name: str


DESIGNS = {"2x2": Design(_pilot_blocks, PILOT, "pilot"),
           "mechanism": Design(_mechanism_blocks, MECHANISM, "mechanism")}


def shown(block: Block, cell: Cell) -> Stimulus:
    """What of the domain a cell of the block shows."""
    return block.stimulus._replace(
        condition=block.stimulus.condition._replace(S=cell.S, C=cell.C),
        entry=cell.entry, frame=block.frame)


def _trial(domain: Domain, config: Mapping, block: Block, cell: Cell, rng: SeededRandom) -> Trial:
    stimulus = shown(block, cell)
    prompt = decision_prompt(domain, stimulus, block.scheme, block.order,
                             config.get("reason") == "first")
    name = f"{block.name}/{cell.name}"
    request = Request(
        id=name, stage=STAGE, model=block.model, system=prompt.system, user=prompt.user,
        max_out=config["max_out"], temperature=config["temperature"],
        # Of its own for each trial: cells that share a sampler's seed would share its luck.
        seed=rng.stream("request", name).getrandbits(31), effort=config["reasoning_effort"])
    return Trial(name, block, cell, stimulus, prompt, request)


# --- asking and reading ------------------------------------------------------------------------

def row(trial: Trial, reply: Reply) -> dict[str, Any]:
    """A line of trials.jsonl.gz. `decision` is the canonical act and `cooperates` 1 or 0; both
    are None unless status is "ok"."""
    option, status = None, reply.outcome
    if reply.outcome == "ok":
        option, status = _decision(reply.text, trial.prompt)
    return {**place(trial.block, trial.cell, trial.stimulus),
            "options": list(trial.prompt.options),
            "decision": trial.prompt.acts[option] if option else None,
            "cooperates": None if option is None else int(option == next(iter(trial.prompt.acts))),
            "status": status, "text": reply.text,
            **reply.account, **reply.beside}


def place(block: Block, cell: Cell, stimulus: Stimulus) -> dict[str, Any]:
    """What a row says of where its trial stands."""
    mechanism = {"cell": cell.name, "cue": cell.C, "entry": cell.entry, "frame": block.frame,
                 "wording": stimulus.wording + 1} if block.frame else {}
    return {"id": f"{block.name}/{cell.name}", "model": block.model, "run": block.run,
            **stimulus.condition._asdict(), **mechanism,
            "domain": stimulus.bulletin.domain, "bulletin": stimulus.bulletin.id,
            "variant": stimulus.variant.id, "label_scheme": block.scheme, "order": block.order}


def _decision(text: str, prompt: Prompt) -> Parsed:
    """The decision on the first line, or, after considerations, on the last."""
    if not prompt.reasoned:
        return parse_decision(text, prompt.options, KNOWN_LABELS)
    lines = [line for line in text.splitlines() if line.strip()]
    last = parse_decision(lines[-1] if lines else "", prompt.options, KNOWN_LABELS)
    whole = parse_decision(text, prompt.options, KNOWN_LABELS)
    return whole if last.status == "unreadable" and whole.status == "refused" else last


def rows(blocks: Iterable[list[Trial]], replies: Iterable[list[Reply]]) -> list[dict[str, Any]]:
    """All trials in schedule order."""
    return [row(trial, reply) for block, answers in zip(blocks, replies, strict=True)
            for trial, reply in zip(block, answers, strict=True)]
