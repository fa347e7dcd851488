"""One-shot decisions of several models: five designs, each a list of cells that are compared.

    DESIGNS["mechanism"].cells                      what is compared
    blocks = design(domain, config, models)         what is asked, in the order of asking
    rows(blocks, replies)                           the lines of trials.jsonl.gz

A cell is one condition. A block is one model on one bulletin, asked in every cell: its trials share
variant, wording, label scheme and order, and differ only in what the cells are. Blocks are shuffled
over models and bulletins, and cells within a block, so that no drift or outage can hit one cell; a
block is asked as a whole or not at all.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from cirrus.ask import mirror
from cirrus.ask.bulletins import TWIN
from cirrus.ask.deal import (
    bulletin_pool,
    deal_bulletins,
    deal_labels,
    deal_wordings,
    variant_pool,
    wordings_of,
)
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
    Variant,
    cell_name,
    decision_examples,
    decision_prompt,
)
from common.parsing import Parsed, parse_decision
from common.rng import SeededRandom
from common.wire import Reply, Request

STAGE = "decision"
DOMAIN = "cvd"
DRAWN = 10  # bulletins of a pilot: the specification has ten runs per cell
DEFAULT_LEVER = 4


class Cell(NamedTuple):
    """One condition: what differs between the trials of a block.

    `entry` is the level of the sentence on the counterpart's entry or, in the twin control, on who
    makes it. `lever` is the place in LEVERS, from 1, of the strength by which R is raised, 0 for
    none. `record` is "late" where the text tells the counterpart's earlier entries. In a mirror
    study cells differ in the name alone; `mirror` gives the rest.
    """

    name: str
    words: str
    S: str
    C: str
    entry: str = "due"
    lever: int = 0
    record: str = ""


BOTH, NEITHER = ("high", "present"), ("low", "absent")


class Design(NamedTuple):
    """The question that a study answers, in plain words, and the cells that it compares."""

    question: str
    cells: tuple[Cell, ...]


READ_BOTH = Cell("HP", "symmetry + cue", *BOTH, entry="read")
READ_NEITHER = Cell("LA", "neither", *NEITHER, entry="read")
RAISED = "neither, joint outcome raised"
UNREAD = "notice unread"


def _lever_cells() -> Iterator[Cell]:
    """The cell "neither" with the joint outcome R raised, once for each strength in LEVERS."""
    for level, strength in enumerate(LEVERS, 1):
        words = f"{RAISED} by {strength:g}"
        yield READ_NEITHER._replace(name=f"L{level}", words=words, lever=level)


def _twin_cells() -> Iterator[Cell]:
    """A cell for each kind of counterpart, in the order of TWIN."""
    words = ("the same model", f"the same model, {UNREAD}", "another model", "a person")
    for name, said, entry in zip(("TS", "TU", "TO", "TP"), words, TWIN, strict=True):
        yield Cell(name, said, "high", "absent", entry)


RAISED_READ = Cell("MN", RAISED, *NEITHER, "read", DEFAULT_LEVER)
RAISED_UNREAD = Cell("ME", f"{RAISED}, {UNREAD}", *NEITHER, "unread", DEFAULT_LEVER)
DESIGNS = {
    "2x2": Design(
        "Does symmetry with a coupling cue raise cooperation?",
        (
            Cell("HP", "symmetry + cue", *BOTH),
            Cell("HA", "symmetry alone", "high", "absent"),
            Cell("LP", "cue alone", "low", "present"),
            Cell("LA", "neither", *NEITHER),
        ),
    ),
    "lever": Design(
        "What is likeness worth?", (READ_BOTH, READ_NEITHER, *_lever_cells())
    ),
    "mechanism": Design(
        "Which accounts of cooperation are left?",
        (
            READ_BOTH,
            READ_NEITHER,
            Cell("UP", f"symmetry + cue, {UNREAD}", *BOTH, "unread"),
            Cell("KP", "symmetry + cue, entry known", *BOTH, "known"),
            Cell("KL", "neither, entry known", *NEITHER, "known"),
            Cell("QL", "neither, record told", *NEITHER, "read", record="late"),
            RAISED_READ,
            RAISED_UNREAD,
        ),
    ),
    "mirror": Design(
        "Does it take its own act as evidence of the other's?",
        tuple(Cell(name, words, "", "absent") for name, words in mirror.CELLS.items()),
    ),
    "twin": Design("Does the model cooperate with its own copy?", tuple(_twin_cells())),
}


class Block(NamedTuple):
    """One model on one bulletin, asked in every cell. `run` is the number of the run in a pilot; in
    other designs it numbers the blocks of this model on this bulletin."""

    model: str
    run: int
    name: str  # the ids of the block's trials begin with it
    stimulus: Stimulus  # without condition, entry and lever, which `shown` fills in
    scheme: str
    order: str
    pairs: mirror.Pairs | None = None  # in a mirror study only


class Trial(NamedTuple):
    """One question: a cell of a block, with the request that asks it."""

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
    """Blocks in the order of asking; a block is a list of its trials.

    `examples` is the text of prompts/examples.json where worked examples stand before every notice,
    else "". `config` holds seed, runs, compliance, tells, temperature, max_out and
    reasoning_effort. It may hold design (2x2 where absent), holdout (True for the held-out
    bulletins) and, in a mechanism study, lever ({model: number of a strength in LEVERS}).
    """
    name, rng = design_of(config), _stream(config)
    blocks = []
    for block, first in _turned(dealt(domain, config, models)):
        forms: tuple[str, ...] = ()
        if examples:
            forms = decision_examples(domain, examples, block.scheme, first)
        trials = []
        for cell in cells_of(name, config.get("lever", {}).get(block.model)):
            trials.append(_trial(domain, config, block, cell, forms))
        drawn_by = (block.model, block.run) if name == "2x2" else (block.name,)
        rng.stream("cells", *drawn_by).shuffle(trials)
        blocks.append(trials)
    rng.stream("schedule").shuffle(blocks)
    return blocks


def design_of(config: Mapping[str, Any]) -> str:
    """The name of a study's design; a configuration that names none is of a pilot, 2x2."""
    return config.get("design", "2x2")


def _turned(blocks: Iterable[Block]) -> Iterator[tuple[Block, int]]:
    """(block, number of the worked example that its trials show first) for each block.

    Among the blocks of a model with the same label scheme and order, each of the four examples is
    shown first equally often, and last equally often.
    """
    labels = list(product(LABEL_SCHEMES, ORDERS))
    dealt_to: Counter[tuple] = Counter()
    for block in blocks:
        label = block.scheme, block.order
        yield block, (labels.index(label) + dealt_to[block.model, label]) % 4
        dealt_to[block.model, label] += 1


def cells_of(design: str, lever: int | None = None) -> list[Cell]:
    """Return the cells of a design. In a mechanism study, the cells that change R (the
    cost of acting late together) do so by the strength `lever`, unless it is None."""
    cells = []
    for cell in DESIGNS[design].cells:
        if design == "mechanism" and cell.lever and lever is not None:
            cell = cell._replace(lever=lever)
        cells.append(cell)
    return cells


def dealt(
    domain: Domain, config: Mapping[str, Any], models: Sequence[str]
) -> Iterator[Block]:
    """The blocks of a study in the order in which they are dealt, before they are shuffled."""
    deal = _pilot_blocks if design_of(config) == "2x2" else _crossed_blocks
    return deal(domain, config, models, _stream(config))


def _stream(config: Mapping[str, Any]) -> SeededRandom:
    """The study's source of random numbers, which its seed and design determine."""
    name = design_of(config)
    return SeededRandom(config["seed"], "pilot" if name == "2x2" else name)


def _pilot_blocks(
    domain: Domain, config: Mapping, models: Sequence[str], rng: SeededRandom
) -> Iterator[Block]:
    """A pilot's blocks: one for each run of a model.

    All models have the same bulletins in the same runs; a bulletin has the same wording in all
    runs.
    """
    runs, holdout = config["runs"], config.get("holdout", False)
    chosen = deal_bulletins(rng.stream("bulletins"), domain, runs, DRAWN, holdout)
    bulletins = [bulletin for bulletin, _ in chosen]
    wordings = deal_wordings(rng.stream("wordings"), domain, bulletins)
    for model in models:
        labels = deal_labels(rng.stream("labels", model), runs)
        for run, (bulletin, variant) in enumerate(chosen, 1):
            wording = wordings[bulletin.id]
            stimulus = _stimulus(config, bulletin, variant, wording)
            yield Block(model, run, f"{model}/r{run:02d}", stimulus, *labels[run - 1])


def _crossed_blocks(
    domain: Domain, config: Mapping, models: Sequence[str], rng: SeededRandom
) -> Iterator[Block]:
    """`config["runs"]` blocks for each bulletin and model. Variants, wordings and labels are the
    same for every model, and each bulletin gets the wordings about equally often."""
    holdout, runs = config.get("holdout", False), config["runs"]
    variants = variant_pool(rng.stream("variants"), domain, holdout)
    bulletins = bulletin_pool(domain, holdout)
    places = rng.stream("places").sample(range(len(bulletins)), len(bulletins))
    layout = balanced(len(bulletins), runs, wordings_of(domain))
    for bulletin, place in zip(bulletins, places, strict=True):
        for model, k in product(models, range(runs)):
            wording, scheme, order = layout[place, k]
            variant = variants[(place + k // 6) % len(variants)]
            stimulus = _stimulus(config, bulletin, variant, wording)
            name = f"{model}/{bulletin.id}/b{k + 1:02d}"
            block = Block(model, k + 1, name, stimulus, scheme, order)
            if config["design"] == "mirror":
                block = block._replace(pairs=mirror.pairs(place, k))
            yield block


# {blocks per bulletin: function of bulletin b and block k}. An even result stands for the first of
# ORDERS, an odd one for the second.
BALANCED_ORDERS = {
    12: lambda b, k: b + k // 6,
    6: lambda b, k: b + k,
    3: lambda b, k: b // 4,
}


def balanced(
    bulletins: int, runs: int, wordings: int
) -> dict[tuple[int, int], tuple[int, str, str]]:
    """{(bulletin, block): (wording, scheme, order)}; bulletin, block and wording are
    numbers from 0. Any two of bulletin, wording, scheme and order come together about equally often.

    Where BALANCED_ORDERS does not have `runs`, each block gets the scheme and order that have come
    least often so far: with its bulletin, with its wording, with each other, and at all.
    """
    out: dict[tuple[int, int], tuple[int, str, str]] = {}
    met: Counter[tuple] = Counter()
    for b, k in product(range(bulletins), range(runs)):
        wording = (wordings * k // runs + b) % wordings
        if runs in BALANCED_ORDERS:
            scheme = LABEL_SCHEMES[2 * k % 3]
            order = ORDERS[BALANCED_ORDERS[runs](b, k) % 2]
        else:
            scheme, order = _least_met(met, b, wording)
        out[b, k] = wording, scheme, order
    return out


def _least_met(met: Counter[tuple], b: int, wording: int) -> tuple[str, str]:
    """The (scheme, order) that has come least often with this bulletin and wording, by the counts
    in `met`. The choice is then counted there too."""

    def times(label: tuple[str, str]) -> int:
        return sum(met[pair] for pair in _pairs(b, wording, *label))

    label = min(product(LABEL_SCHEMES, ORDERS), key=times)
    met.update(_pairs(b, wording, *label))
    return label


def _pairs(b: int, wording: int, scheme: str, order: str) -> tuple[tuple, ...]:
    """The keys of `met` to count up when a bulletin and a wording get this scheme and order."""
    return (
        (b, scheme),
        (b, order),
        (wording, scheme),
        (wording, order, "wording"),
        (scheme, order),
        (scheme,),
        (order,),
    )


def _stimulus(
    config: Mapping, bulletin: Bulletin, variant: Variant, wording: int
) -> Stimulus:
    """What all trials of a block show; `shown` adds what a cell differs in."""
    condition = Condition("", "", config["compliance"])
    return Stimulus(bulletin, variant, condition, config["tells"], wording)


def shown(block: Block, cell: Cell) -> Stimulus:
    """What a trial shows: the block's stimulus with the condition of the cell."""
    stimulus = block.stimulus
    if block.pairs is not None:
        told = mirror.told(cell.name, stimulus.bulletin, block.pairs)
        condition = Condition("", "absent", "omit")
        return stimulus._replace(
            condition=condition, entry=told.applies, mirror=told.mirror
        )
    condition = stimulus.condition._replace(S=cell.S, C=cell.C)
    return stimulus._replace(
        condition=condition, entry=cell.entry, lever=cell.lever, record=cell.record
    )


def _trial(
    domain: Domain,
    config: Mapping,
    block: Block,
    cell: Cell,
    examples: tuple[str, ...],
) -> Trial:
    """The trial of a block in a cell; `examples` are its worked examples as turns."""
    stimulus = shown(block, cell)
    prompt = decision_prompt(domain, stimulus, block.scheme, block.order)
    named, rng = cell.name, _stream(config)
    if design_of(config) == "2x2":
        named = cell_name((cell.S, cell.C))  # the specification's name of the cell
    name = f"{block.name}/{named}"
    request = Request(
        id=name,
        stage=STAGE,
        model=block.model,
        system=prompt.system,
        user=prompt.user,
        max_out=config["max_out"],
        temperature=config["temperature"],
        # Each trial has its own sampling seed: a shared one would let the same chance act on
        # every cell.
        seed=rng.stream("request", name).getrandbits(31),
        effort=config["reasoning_effort"],
        examples=examples,
    )
    return Trial(name, block, cell, stimulus, prompt, request)


# --- asking and reading ------------------------------------------------------------------------


def row(trial: Trial, reply: Reply) -> dict[str, Any]:
    """The line of a trial in trials.jsonl.gz.

    `decision` is the canonical act and `cooperates` 1 or 0; both are None unless `status` is "ok".
    """
    parsed = Parsed(None, reply.outcome)
    if reply.outcome == "ok":
        parsed = parse_decision(reply.text, trial.prompt.options, KNOWN_LABELS)
    decision, cooperates = None, None
    if parsed.option is not None:
        decision = trial.prompt.acts[parsed.option]
        cooperates = int(parsed.option == next(iter(trial.prompt.acts)))
    block, stimulus = trial.block, trial.stimulus
    pairs = block.pairs._asdict() if block.pairs is not None else {}
    return {
        "id": trial.id,
        "model": block.model,
        "run": block.run,
        "cell": trial.cell.name,
        **stimulus.condition._asdict(),
        "entry": stimulus.entry,
        "lever": stimulus.lever,
        **pairs,
        "wording": stimulus.wording + 1,
        "domain": stimulus.bulletin.domain,
        "bulletin": stimulus.bulletin.id,
        "variant": stimulus.variant.id,
        "label_scheme": block.scheme,
        "order": block.order,
        "options": list(trial.prompt.options),
        "decision": decision,
        "cooperates": cooperates,
        "status": parsed.status,
        "read_from": parsed.read_from,
        "text": reply.text,
        **reply.account,
        **reply.beside,
    }


def rows(
    blocks: Iterable[list[Trial]], replies: Iterable[list[Reply]]
) -> list[dict[str, Any]]:
    """The lines of all trials, in the order of asking."""
    listed = []
    for block, answers in zip(blocks, replies, strict=True):
        listed += [row(*asked) for asked in zip(block, answers, strict=True)]
    return listed
