"""One-shot decisions of several models in blocks: four studies, each a list of cells.

    DESIGNS["mechanism"].cells                      what is compared
    blocks = design(domain, config, models)         what is asked, in the order of asking
    rows(blocks, replies)                           the lines of trials.jsonl.gz

A block is one model on one bulletin: its cells share variant, wording, label scheme and order, and
differ in nothing but what the cells are. Blocks are shuffled over models and bulletins, and cells
within a block, so that no drift or outage can hit one cell; a block is asked as a whole or not at
all.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from cirrus.ask.bulletins import TWIN
from cirrus.ask.prompts import (
    KNOWN_LABELS,
    LABEL_SCHEMES,
    LEVERS,
    ORDERS,
    Bulletin,
    Condition,
    Domain,
    Prompt,
    Stimulus,
    bulletin_pool,
    cell_name,
    deal_bulletins,
    deal_labels,
    deal_wordings,
    decision_examples,
    decision_prompt,
    variant_pool,
    wordings_of,
)
from common.parsing import Parsed, parse_decision
from common.rng import SeededRandom
from common.wire import Reply, Request

STAGE = "decision"
DOMAIN = "cvd"
DRAWN = 10  # bulletins of a pilot, as the specification's ten runs per cell
DEFAULT_LEVER = 4


class Cell(NamedTuple):
    """What differs within a block. `entry`: how the counterpart's entry is made, or, in the twin
    control, who makes it; `lever`: which of LEVERS raises R, 0: none."""

    name: str
    words: str
    S: str
    C: str
    entry: str = "now"
    lever: int = 0


BOTH, NEITHER = ("high", "present"), ("low", "absent")
HP = Cell("HP", "symmetry + cue", *BOTH)
HA = Cell("HA", "symmetry alone", "high", "absent")
LP = Cell("LP", "cue alone", "low", "present")
LA = Cell("LA", "neither", *NEITHER)


class Design(NamedTuple):
    """`question`: what the study answers, in a reader's words."""

    question: str
    cells: tuple[Cell, ...]


DESIGNS = {
    "2x2": Design(
        "Does symmetry with a coupling cue raise cooperation?", (HP, HA, LP, LA)
    ),
    "lever": Design(
        "What is likeness worth?",
        (
            HP,
            LA,
            *(
                Cell(
                    f"L{level}",
                    f"neither, joint outcome raised by {raised:g}",
                    *NEITHER,
                    lever=level,
                )
                for level, raised in enumerate(LEVERS, 1)
            ),
        ),
    ),
    "mechanism": Design(
        "Which accounts of cooperation are left?",
        (
            HP,
            LA,
            Cell("EP", "symmetry + cue, entry made earlier", *BOTH, entry="earlier"),
            Cell("EL", "neither, entry made earlier", *NEITHER, entry="earlier"),
            Cell("KP", "symmetry + cue, entry known", *BOTH, entry="known"),
            Cell("KL", "neither, entry known", *NEITHER, entry="known"),
            Cell("MN", "neither, joint outcome raised", *NEITHER, lever=DEFAULT_LEVER),
            Cell(
                "ME",
                "neither, joint outcome raised, entry made earlier",
                *NEITHER,
                entry="earlier",
                lever=DEFAULT_LEVER,
            ),
        ),
    ),
    "twin": Design(
        "Does the model cooperate with its own copy?",
        tuple(
            Cell(name, words, "high", "absent", entry=entry)
            for name, words, entry in zip(
                ("TS", "TO", "TP"),
                ("the same model", "another model", "a person"),
                TWIN,
                strict=True,
            )
        ),
    ),
}


class Block(NamedTuple):
    """One model on one bulletin; `run` counts a pilot's runs, or a study's blocks per bulletin."""

    model: str
    run: int
    name: str  # the start of its trials' ids
    stimulus: Stimulus  # of the block: its condition, entry and lever are those of no cell yet
    scheme: str
    order: str


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


def design(
    domain: Domain, config: Mapping[str, Any], models: Sequence[str], examples: str = ""
) -> list[list[Trial]]:
    """Blocks in the order of asking, each the trials of its cells. `examples`: the text of
    prompts/examples.json, where worked examples stand before every notice.

    `config`: design (2x2 where it is not named), seed, runs, compliance, tells, temperature,
    max_out, reasoning_effort; holdout, where held-out bulletins are asked; bulletins, where a
    study has fewer than all; lever, {model: strength} of a mechanism study.
    """
    name = config.get("design", "2x2")
    rng = _stream(config)
    blocks = [
        [
            _trial(domain, config, block, cell, rng, forms)
            for cell in cells_of(name, config.get("lever", {}).get(block.model))
        ]
        for block, forms in _with_examples(
            domain, examples, dealt(domain, config, models)
        )
    ]
    for trials in blocks:
        block = trials[0].block
        drawn_by = (block.model, block.run) if name == "2x2" else (block.name,)
        rng.stream("cells", *drawn_by).shuffle(trials)
    rng.stream("schedule").shuffle(blocks)
    return blocks


def _with_examples(
    domain: Domain, text: str, blocks: Iterable[Block]
) -> Iterator[tuple[Block, tuple[str, ...]]]:
    """Each block with its worked examples. Each of the four comes first, and last, equally often in
    every label scheme and order of a model."""
    labels, dealt_to = list(product(LABEL_SCHEMES, ORDERS)), Counter()
    for block in blocks:
        label = block.scheme, block.order
        first = (labels.index(label) + dealt_to[block.model, label]) % 4
        dealt_to[block.model, label] += 1
        yield (
            block,
            decision_examples(domain, text, block.scheme, first) if text else (),
        )


def cells_of(design: str, lever: int | None = None) -> tuple[Cell, ...]:
    """The cells of a design; those of a mechanism study have the lever of the model."""
    cells = DESIGNS[design].cells
    if design != "mechanism" or lever is None:
        return cells
    return tuple(cell._replace(lever=lever) if cell.lever else cell for cell in cells)


def dealt(
    domain: Domain, config: Mapping[str, Any], models: Sequence[str]
) -> Iterator[Block]:
    """The blocks of a study in the order in which they are dealt."""
    deal = _pilot_blocks if config.get("design", "2x2") == "2x2" else _crossed_blocks
    return deal(domain, config, models, _stream(config))


def _stream(config: Mapping[str, Any]) -> SeededRandom:
    name = config.get("design", "2x2")
    return SeededRandom(config["seed"], "pilot" if name == "2x2" else name)


def _pilot_blocks(
    domain: Domain, config: Mapping, models: Sequence[str], rng: SeededRandom
) -> Iterator[Block]:
    """A run of a model is a block; runs have the same bulletins for every model, and a bulletin has
    the same wording in all its runs."""
    bulletins = deal_bulletins(
        rng.stream("bulletins"),
        domain,
        config["runs"],
        config.get("holdout", False),
        DRAWN,
    )
    wordings = deal_wordings(
        rng.stream("wordings"), domain, [bulletin for bulletin, _ in bulletins]
    )
    for model in models:
        labels = deal_labels(rng.stream("labels", model), config["runs"])
        for run, ((bulletin, variant), label) in enumerate(
            zip(bulletins, labels, strict=True), 1
        ):
            yield Block(
                model,
                run,
                f"{model}/r{run:02d}",
                _stimulus(config, bulletin, variant, wordings[bulletin.id]),
                *label,
            )


def _crossed_blocks(
    domain: Domain, config: Mapping, models: Sequence[str], rng: SeededRandom
) -> Iterator[Block]:
    """`runs` blocks per bulletin, the same for every model; bulletins are crossed with wordings."""
    variants = variant_pool(
        rng.stream("variants"), domain, config.get("holdout", False)
    )
    bulletins = chosen(domain, config, rng)
    places = rng.stream("places").sample(range(len(bulletins)), len(bulletins))
    layout = balanced(len(bulletins), config["runs"], wordings_of(domain))
    for bulletin, place in zip(bulletins, places, strict=True):
        for model in models:
            for k in range(config["runs"]):
                wording, *label = layout[place, k]
                variant = variants[(place + k // 6) % len(variants)]
                yield Block(
                    model,
                    k + 1,
                    f"{model}/{bulletin.id}/b{k + 1:02d}",
                    _stimulus(config, bulletin, variant, wording),
                    *label,
                )


# {blocks per bulletin: the order of block k of bulletin b}, balanced over bulletins and wordings.
BALANCED_ORDERS = {
    12: lambda b, k: b + k // 6,
    6: lambda b, k: b + k,
    3: lambda b, k: b // 4,
}


def balanced(bulletins: int, runs: int, wordings: int) -> dict[tuple[int, int], tuple]:
    """{(bulletin, block): (wording, scheme, order)}: no two of them go together. With other numbers
    of blocks, scheme and order are those that bulletin, wording and each other have had least."""
    out, met, schemes = {}, Counter(), tuple(LABEL_SCHEMES)
    for b, k in product(range(bulletins), range(runs)):
        wording = (wordings * k // runs + b) % wordings
        if runs in BALANCED_ORDERS:
            label = schemes[2 * k % 3], ORDERS[BALANCED_ORDERS[runs](b, k) % 2]
        else:
            label = min(
                product(schemes, ORDERS),
                key=lambda label: sum(met[pair] for pair in _pairs(b, wording, *label)),
            )
            met.update(_pairs(b, wording, *label))
        out[b, k] = wording, *label
    return out


def _pairs(b: int, wording: int, scheme: str, order: str) -> tuple[tuple, ...]:
    return (
        (b, scheme),
        (b, order),
        (wording, scheme),
        (wording, order, "wording"),
        (scheme, order),
        (scheme,),
        (order,),
    )


def chosen(domain: Domain, config: Mapping, rng: SeededRandom) -> list[Bulletin]:
    """The bulletins of a study: all of its pool, or so many, drawn by the seed."""
    pool = bulletin_pool(domain, config.get("holdout", False))
    some = rng.stream("bulletins").sample(pool, config.get("bulletins", len(pool)))
    return [bulletin for bulletin in pool if bulletin in some]


def _stimulus(config: Mapping, bulletin, variant, wording: int) -> Stimulus:
    return Stimulus(
        bulletin,
        variant,
        Condition("", "", config["compliance"]),
        config["tells"],
        wording,
    )


def shown(block: Block, cell: Cell) -> Stimulus:
    """What of the domain a cell of the block shows."""
    return block.stimulus._replace(
        condition=block.stimulus.condition._replace(S=cell.S, C=cell.C),
        entry=cell.entry,
        lever=cell.lever,
    )


def _trial(
    domain: Domain,
    config: Mapping,
    block: Block,
    cell: Cell,
    rng: SeededRandom,
    examples: tuple[str, ...],
) -> Trial:
    stimulus = shown(block, cell)
    prompt = decision_prompt(
        domain, stimulus, block.scheme, block.order, config.get("reason") == "first"
    )
    # The pilot's ids are as before its cells had names.
    name = f"{block.name}/" + (
        cell_name((cell.S, cell.C))
        if config.get("design", "2x2") == "2x2"
        else cell.name
    )
    request = Request(
        id=name,
        stage=STAGE,
        model=block.model,
        system=prompt.system,
        user=prompt.user,
        max_out=config["max_out"],
        temperature=config["temperature"],
        # Of its own for each trial: cells that share a sampler's seed would share its luck.
        seed=rng.stream("request", name).getrandbits(31),
        effort=config["reasoning_effort"],
        examples=examples,
    )
    return Trial(name, block, cell, stimulus, prompt, request)


# --- asking and reading ------------------------------------------------------------------------


def row(trial: Trial, reply: Reply) -> dict[str, Any]:
    """A line of trials.jsonl.gz. `decision` is the canonical act and `cooperates` 1 or 0; both
    are None unless status is "ok"."""
    parsed = Parsed(None, reply.outcome)
    if reply.outcome == "ok":
        parsed = _decision(reply.text, trial.prompt)
    option = parsed.option
    block, stimulus = trial.block, trial.stimulus
    return {
        "id": trial.id,
        "model": block.model,
        "run": block.run,
        "cell": trial.cell.name,
        **stimulus.condition._asdict(),
        "entry": stimulus.entry,
        "lever": stimulus.lever,
        "wording": stimulus.wording + 1,
        "domain": stimulus.bulletin.domain,
        "bulletin": stimulus.bulletin.id,
        "variant": stimulus.variant.id,
        "label_scheme": block.scheme,
        "order": block.order,
        "options": list(trial.prompt.options),
        "decision": trial.prompt.acts[option] if option else None,
        "cooperates": None
        if option is None
        else int(option == next(iter(trial.prompt.acts))),
        "status": parsed.status,
        "read_from": parsed.read_from,
        "text": reply.text,
        **reply.account,
        **reply.beside,
    }


def _decision(text: str, prompt: Prompt) -> Parsed:
    """The decision on the first line, or, after considerations, on the last."""
    if not prompt.reasoned:
        return parse_decision(text, prompt.options, KNOWN_LABELS)
    _, _, line = text.rstrip().rpartition("\n")
    last = parse_decision(line, prompt.options, KNOWN_LABELS)
    whole = parse_decision(text, prompt.options, KNOWN_LABELS)
    return whole if last.status == "unreadable" and whole.status == "refused" else last


def rows(
    blocks: Iterable[list[Trial]], replies: Iterable[list[Reply]]
) -> list[dict[str, Any]]:
    """All trials in schedule order."""
    return [
        row(trial, reply)
        for block, answers in zip(blocks, replies, strict=True)
        for trial, reply in zip(block, answers, strict=True)
    ]
