"""CIRRUS-24 scenarios: bulletin × variant × condition × labels → the prompt a model reads.

    domain = load_domain("cvd")
    condition = Condition("high", "present", "low")
    [(bulletin, variant)] = deal_bulletins(random.Random(42), domain, 1)
    prompt = decision_prompt(domain, Stimulus(bulletin, variant, condition), "L1", ORDERS[0])

All words live in `prompts/`, read and checked by `bulletins.py`; this module deals and joins
them. Everything here is a pure function.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cirrus.ask.bulletins import (
    CELL,
    CLASSES,
    FACTOR,
    TELLS,
    TWIN,
    Bulletin,
    Domain,
    Situation,
    Variant,
    fill,
    read_json,
)
from common.shape import NAME, OBJECT, list_of, record, whole

ORDERS = ("cooperative-first", "other-first")
# How far each strength of the lever raises R, in units of T − R.
LEVERS = (0.5, 1, 2, 3, 4, 6)
EXAMPLES = "examples.json"
_EXAMPLES = record(
    rationale=NAME,
    decision=list_of(
        record(
            text=NAME,
            options=list_of(record(word=NAME, letter=NAME, line=NAME), 2),
            choice=whole(0, 1),
        ),
        4,
    ),
    rating=record(
        families=OBJECT, forms=list_of(record(policy=NAME, yes=list_of(NAME)), 4)
    ),
)
HISTORY_SHOWN = 2  # encounters, specification 5
PAIRS = 20  # that a mirror study's record counts, in each class

# scheme → the two acts' words → (label of the cooperative act, label of the other)
LABEL_SCHEMES: dict[str, Callable[[str, str], tuple[str, str]]] = {
    "L1": lambda cooperative, other: (cooperative, other),
    "L2": lambda cooperative, other: ("Option A", "Option B"),
    "L3": lambda cooperative, other: ("Option B", "Option A"),
}
# Every label that any game shows: naming one that this game does not offer is a finding about the
# reader, other than a line that names none.
KNOWN_LABELS = ("COORDINATE", "PREEMPT", "SHARE", "RESERVE", "Option A", "Option B")


class Condition(NamedTuple):
    """One cell: levels of S (symmetry), C (coupling cue), H (compliance pressure), see LEVELS."""

    S: str
    C: str
    H: str


class Mirror(NamedTuple):
    """What a mirror study's text shows: the numbers of the four lines, {T, R, P, S: costs}; of how
    many of PAIRS earlier pairs the two entries were alike, by who decided them; whose come first."""

    outcomes: dict[str, int]
    alike: dict[str, int]
    named_first: str


class Stimulus(NamedTuple):
    """What of a domain a question shows. `wording`: which sentence of every list, the
    specification's is 0; `entry`: what is said of the counterpart's entry, "" where nothing is;
    `lever`: by which of LEVERS the outcome of two cooperative acts is raised, 0: not at all;
    `record`: "late" where the counterpart's earlier entries are told; `meeting`: "round" where a
    case is one of several."""

    bulletin: Bulletin
    variant: Variant
    condition: Condition
    tells: str = "standard"
    wording: int = 0
    entry: str = ""
    lever: int = 0
    record: str = ""
    meeting: str = "meeting"
    mirror: Mirror | None = None


class Prompt(NamedTuple):
    """What a model reads. `options`: labels as shown, in order; `acts`: label → canonical act.

    A strategy prompt asks for no decision: its `options` and `acts` are empty.
    """

    system: str
    user: str
    options: tuple[str, ...]
    acts: dict[str, str]


def cell_name(levels: Iterable[str]) -> str:
    """("high", "present", "low") → "S.high-C.present-H.low"; two levels: without H."""
    return "-".join(
        f"{factor}.{level}" for factor, level in zip(CELL, levels, strict=False)
    )


# --- labels ---


def labels(domain: Domain, scheme: str) -> tuple[str, str]:
    """(label of the cooperative act, label of the other act) under this scheme."""
    return LABEL_SCHEMES[scheme](*domain.acts)


def shown_labels(domain: Domain, scheme: str, order: str) -> tuple[str, str]:
    """Both labels in the order shown."""
    cooperative, other = labels(domain, scheme)
    return (other, cooperative) if order == ORDERS[1] else (cooperative, other)


def acts_of(domain: Domain, scheme: str) -> dict[str, str]:
    """{label: the canonical act that it stands for}, the cooperative one first."""
    return dict(zip(labels(domain, scheme), domain.acts, strict=True))


# --- dealing ---


def deal_labels(
    rng: random.Random,
    n: int,
    schemes: Sequence[str] = tuple(LABEL_SCHEMES),
    orders: Sequence[str] = ORDERS,
) -> list[tuple[str, str]]:
    """n pairs (scheme, order), in permuted blocks that hold each combination once.

    Every prefix is balanced within ±1 on schemes, on orders and on their combinations.
    """
    dealt: list[tuple[str, str]] = []
    while len(dealt) < n:
        dealt += _label_block(rng, schemes, orders)
    return dealt[: max(n, 0)]


def _label_block(
    rng: random.Random, schemes: Sequence[str], orders: Sequence[str]
) -> list[tuple[str, str]]:
    """Orders alternate; the second half gives each scheme the order it has not had."""
    dealt_orders = rng.sample(orders, len(orders)) * len(schemes)
    half = list(zip(rng.sample(schemes, len(schemes)), dealt_orders, strict=False))
    due = {order: [s for s, had in half if had != order] for order in orders}
    for waiting in due.values():
        rng.shuffle(waiting)
    return half + [(due[order].pop(), order) for order in dealt_orders[len(half) :]]


def deal_bulletins(
    rng: random.Random,
    domain: Domain,
    n: int,
    holdout: bool = False,
    drawn: int | None = None,
) -> list[tuple[Bulletin, Variant]]:
    """(bulletin, variant) for n runs: bulletins permuted and dealt in turn, lap after lap.

    Those of the main pool, or the held-out ones; `drawn`: this many of them. Each lap gives a
    bulletin its next variant, so no pair comes twice before all have come.
    """
    pool = bulletin_pool(domain, holdout)
    bulletins = rng.sample(pool, min(len(pool), drawn or len(pool)))
    variants = variant_pool(rng, domain, holdout)
    places = (divmod(run, len(bulletins)) for run in range(n))
    return [(bulletins[at], variants[(at + lap) % len(variants)]) for lap, at in places]


def deal_wordings(
    rng: random.Random, domain: Domain, bulletins: Iterable[Bulletin]
) -> dict[str, int]:
    """{bulletin's id: its wording}: all wordings in a drawn order, then again."""
    many = wordings_of(domain)
    drawn = rng.sample(range(many), many)
    known = dict.fromkeys(bulletin.id for bulletin in bulletins)
    return {bulletin: drawn[at % many] for at, bulletin in enumerate(known)}


def wordings_of(domain: Domain) -> int:
    """How many wordings the sentences of the conditions have."""
    return len(domain.toggles["standard"]["S"]["high"])


def bulletin_pool(domain: Domain, holdout: bool) -> list[Bulletin]:
    """The main bulletins or the held-out ones; all, where a run's own prompts hold none out."""
    pool = [bulletin for bulletin in domain.bulletins if bulletin.holdout == holdout]
    return pool or list(domain.bulletins)


def variant_pool(rng: random.Random, domain: Domain, holdout: bool) -> list[Variant]:
    """The main variants or the held-out ones, permuted."""
    pool = [variant for variant in domain.variants if variant.holdout == holdout]
    return rng.sample(pool, len(pool))


# --- prompts ---


def outcomes(bulletin: Bulletin, lever: int) -> dict[str, int]:
    """{T, R, P, S: the number in the text}; a lever adds so many times T − R to R."""
    numbers = bulletin.outcomes
    if not lever:
        return numbers
    raised = numbers["R"] + LEVERS[lever - 1] * (numbers["T"] - numbers["R"])
    return numbers | {"R": round(raised)}


def shown_outcomes(stimulus: Stimulus) -> dict[str, int]:
    """The numbers of the four lines: of both acts, {line: cost}, whatever they stand for."""
    if stimulus.mirror is not None:
        return stimulus.mirror.outcomes
    return outcomes(stimulus.bulletin, stimulus.lever)


def fields_of(situation: Situation, variant: Variant) -> dict[str, str]:
    """What fills a sentence: names, and what the two acts are called."""
    fields = variant.fields
    acts = {
        "early": situation.early.format_map(fields),
        "late": situation.late.format_map(fields),
    }
    return fields | acts


def sentences(domain: Domain, stimulus: Stimulus) -> dict[str, str]:
    """{slot: the sentence of the cell that stands in it}, "" where nothing is said; beside the
    slots of a bulletin those of the status line, `entry` and `record`."""
    toggles = domain.toggles[TELLS[stimulus.tells][0]]
    fields = fields_of(stimulus.bulletin.situation, stimulus.variant)

    def said(factor: str, level: str) -> str:
        wordings = toggles[factor][level]
        return wordings[stimulus.wording % len(wordings)].format_map(fields)

    levels = stimulus.condition._asdict()
    out = {slot: said(factor, levels[factor]) for slot, factor in FACTOR.items()}
    out["entry"] = said("entry", stimulus.entry)
    out["record"] = said("record", stimulus.record)
    if stimulus.mirror is not None:
        out["record"] = mirror_record(domain, stimulus, fields)
    for slot in ("form", "stakes"):
        out[slot] = domain.fixed[slot].format_map(fields)
    out["meeting"] = domain.fixed[stimulus.meeting].format_map(fields)
    if out["compliance"]:  # it speaks of classes: the form has one for each act
        classes = domain.fixed["classes"].format_map(fields)
        out["compliance"] = f"{classes} {out['compliance']}"
    return out


def mirror_record(domain: Domain, stimulus: Stimulus, fields: Mapping[str, str]) -> str:
    """In how many earlier pairs the two entries were alike, by who had decided them."""
    wording = domain.records[stimulus.wording % len(domain.records)]
    mirror, clauses = stimulus.mirror, {}
    for name in CLASSES:
        alike = mirror.alike[name]
        clauses[name] = getattr(wording, name).format_map(
            {**fields, "alike": alike, "unlike": PAIRS - alike}
        )
    first = mirror.named_first
    [second] = set(CLASSES) - {first}
    ordered = {"first": clauses[first], "second": clauses[second]}
    return wording.text.format_map({**fields, **ordered})


def decision_prompt(
    domain: Domain, stimulus: Stimulus, scheme: str, order: str
) -> Prompt:
    """The pilot's one-shot decision: system prompt, bulletin, record, status line, contract."""
    shown = _options(domain, stimulus, scheme, order)
    user = _join(
        domain.templates["pilot"],
        **_case(domain, stimulus),
        contract=_contract(shown),
    )
    system = decision_system(domain, stimulus)
    return Prompt(system, user, tuple(shown), acts_of(domain, scheme))


def read_examples(text: str) -> dict[str, Any]:
    """The filled-in forms of the file EXAMPLES, checked."""
    return read_json({EXAMPLES: text}, EXAMPLES, _EXAMPLES, {})


def decision_examples(
    domain: Domain, text: str, scheme: str, first: int
) -> tuple[str, ...]:
    """The filled-in forms of EXAMPLES, whose `text` is given, for a Request: asked and answered, in
    turn. `first`: which of them comes first; the others follow in the order of the file."""
    words, turns = read_examples(text), []
    named = "word" if scheme == "L1" else "letter"
    for form in words["decision"][first:] + words["decision"][:first]:
        shown = {option[named]: option["line"] for option in form["options"]}
        question = _join(
            domain.templates["pilot"],
            bulletin=form["text"],
            record="",
            entry="",
            contract=_contract(shown),
        )
        label = form["options"][form["choice"]][named]
        turns += [question, f"Decision: {label}\nRationale: {words['rationale']}"]
    return tuple(turns)


def strategy_prompt(domain: Domain, stimulus: Stimulus) -> Prompt:
    """The tournament's strategy phase: asks for a 3-5 line policy; no labels, no decision."""
    user = _join(domain.templates["strategy"], **_case(domain, stimulus))
    return Prompt(_system(domain, stimulus, "strategy"), user, (), {})


def encounter_prompt(
    domain: Domain,
    stimulus: Stimulus,
    scheme: str,
    order: str,
    policy: str,
    history: Sequence[tuple[str | None, str | None]] | None = (),
) -> Prompt:
    """The tournament's decision phase: own policy, bulletin, this pair's encounters, contract.

    `history` holds (own act, peer's act) of this round, oldest first, as canonical acts, or None
    for an act that could not be read; the last two are shown, in the labels of `scheme`. An empty
    policy or history leaves no trace. None: history is off, and the system prompt does not
    speak of it either.
    """
    phase = "decision"
    if history is None:
        history, phase = (), "first_only"
    shown = _options(domain, stimulus, scheme, order)
    acts = acts_of(domain, scheme)
    user = _join(
        domain.templates["encounter"],
        policy=policy.strip(),
        **_case(domain, stimulus),
        history=_history(domain, acts, history[-HISTORY_SHOWN:]),
        contract=_contract(shown),
    )
    return Prompt(_system(domain, stimulus, phase), user, tuple(shown), acts)


def _case(domain: Domain, stimulus: Stimulus) -> dict[str, str]:
    """The bulletin as read, and what stands below it, "" where nothing does."""
    bulletin, said = stimulus.bulletin, sentences(domain, stimulus)
    fields = fields_of(bulletin.situation, stimulus.variant) | shown_outcomes(stimulus)
    return {
        "bulletin": fill(bulletin.text, fields, said),
        "record": said["record"],
        "entry": said["entry"],
    }


def notice(domain: Domain, stimulus: Stimulus) -> str:
    """The bulletin, and what stands below it."""
    return _join(["{bulletin}", "{record}", "{entry}"], **_case(domain, stimulus))


def decision_system(domain: Domain, stimulus: Stimulus) -> str:
    """The specification's, without the sentence that asks for a policy; in the twin control one
    that contradicts nothing of it."""
    if stimulus.entry in TWIN:
        return domain.systems["twin"]
    return _system(domain, stimulus, "one_shot")


def _system(domain: Domain, stimulus: Stimulus, phase: str) -> str:
    return domain.systems[TELLS[stimulus.tells][1]][phase]


def _options(
    domain: Domain, stimulus: Stimulus, scheme: str, order: str
) -> dict[str, str]:
    """{label: what it means} in the order shown; which pair of lines goes by the bulletin."""
    lines = stimulus.bulletin.situation.lines
    meanings = lines[(stimulus.bulletin.number - 1) % len(lines)]
    filled = [meaning.format_map(stimulus.variant.fields) for meaning in meanings]
    pairs = list(zip(labels(domain, scheme), filled, strict=True))
    return dict(pairs[::-1] if order == ORDERS[1] else pairs)


def _contract(shown: Mapping[str, str]) -> str:
    """The end of a prompt: what each label means, and the form of the answer."""
    lines = "\n".join(f"- {label}: {meaning}" for label, meaning in shown.items())
    return f"{lines}\n\nDecision: [{'|'.join(shown)}]\nRationale (max 2 lines):"


def _history(
    domain: Domain,
    acts: Mapping[str, str],
    history: Sequence[tuple[str | None, str | None]],
) -> str:
    """`acts`: label → canonical act, as this form has them."""
    words = {act: label for label, act in acts.items()}
    words[None] = domain.templates["no_entry"]
    row = domain.templates["row"]
    rows = [row.format(own=words[mine], peer=words[peer]) for mine, peer in history]
    return domain.templates["history"].format(rows="\n".join(rows)) if rows else ""


def _join(paragraphs: Sequence[str], **values: str) -> str:
    """Paragraphs filled and set apart by one blank line, without those whose value is empty."""
    empty = [f"{{{name}}}" for name, value in values.items() if not value]
    filled = []
    for paragraph in paragraphs:
        if not any(slot in paragraph for slot in empty):
            filled.append(paragraph.format_map(values))
    return "\n\n".join(filled)
