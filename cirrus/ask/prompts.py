"""CIRRUS-24 scenarios: bulletin × variant × condition × labels → the prompt a model reads.

    domain = load_domain("cvd")
    condition = Condition("high", "present", "low")
    stimulus = Stimulus(domain.bulletins[0], domain.variants[0], condition)
    prompt = decision_prompt(domain, stimulus, "L1", "cooperative-first")

All words live in `prompts/`, read and checked by `bulletins.py`; this module joins them, and
`deal.py` says which come together. Everything here is a pure function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cirrus.ask.bulletins import (
    CELL,
    CLASSES,
    FIXED,
    SLOT,
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
_OPTION = record(word=NAME, letter=NAME, line=NAME)
_FORM = record(text=NAME, options=list_of(_OPTION, 2), choice=whole(0, 1))
_RATED = record(policy=NAME, yes=list_of(NAME))
_EXAMPLES = record(
    rationale=NAME,
    decision=list_of(_FORM, 4),
    rating=record(families=OBJECT, forms=list_of(_RATED, 4)),
)
HISTORY_SHOWN = 2  # encounters, specification 5
PAIRS = 20  # that a mirror study's record counts, in each class

LABEL_SCHEMES = ("L1", "L2", "L3")
# (label of the cooperative act, label of the other); in L1 they are the acts' own words.
LETTERS = {"L2": ("Option A", "Option B"), "L3": ("Option B", "Option A")}
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
    named = zip(CELL, levels, strict=False)
    return "-".join(f"{factor}.{level}" for factor, level in named)


# --- labels ---


def acts_of(domain: Domain, scheme: str) -> dict[str, str]:
    """{label: the canonical act that it stands for}, the cooperative one first."""
    labels = LETTERS.get(scheme, domain.acts)
    return dict(zip(labels, domain.acts, strict=True))


def shown_labels(domain: Domain, scheme: str, order: str) -> tuple[str, ...]:
    """Both labels in the order shown."""
    cooperative, other = acts_of(domain, scheme)
    return (other, cooperative) if order == ORDERS[1] else (cooperative, other)


# --- what a notice says ---


def shown_outcomes(stimulus: Stimulus) -> dict[str, int]:
    """The numbers of the four lines, {T, R, P, S: cost}. A lever adds so many times T − R to R; in
    a mirror study the lines have numbers of their own."""
    if stimulus.mirror is not None:
        return stimulus.mirror.outcomes
    numbers = stimulus.bulletin.outcomes
    strength = (0, *LEVERS)[stimulus.lever]
    raised = numbers["R"] + strength * (numbers["T"] - numbers["R"])
    return numbers | {"R": round(raised)}


def fields_of(situation: Situation, variant: Variant) -> dict[str, str]:
    """What fills a sentence: names, and what the two acts are called."""
    early = situation.early.format_map(variant.fields)
    late = situation.late.format_map(variant.fields)
    return variant.fields | {"early": early, "late": late}


def sentences(domain: Domain, stimulus: Stimulus) -> dict[str, str]:
    """{slot: the sentence of the cell that stands in it}, "" where nothing is said; beside the
    slots of a bulletin those of the status line, `entry` and `record`."""
    toggles, fixed = domain.toggles[TELLS[stimulus.tells][0]], domain.fixed
    fields = fields_of(stimulus.bulletin.situation, stimulus.variant)

    said = {slot: fixed[slot] for slot in FIXED}
    said["meeting"] = fixed[stimulus.meeting]
    levels = {**stimulus.condition._asdict(), "entry": stimulus.entry}
    levels["record"] = stimulus.record
    for factor, level in levels.items():
        wordings = toggles[factor][level]
        sentence = wordings[stimulus.wording % len(wordings)]
        said[SLOT.get(factor, factor)] = sentence
    if said["compliance"]:  # it speaks of classes: the form has one for each act
        said["compliance"] = f"{fixed['classes']} {said['compliance']}"
    filled = {slot: text.format_map(fields) for slot, text in said.items()}
    if stimulus.mirror is not None:
        wording = domain.records[stimulus.wording % len(domain.records)]
        filled["record"] = _record(wording, stimulus.mirror, fields)
    return filled


def _record(
    wording: Mapping[str, str], mirror: Mirror, fields: Mapping[str, str]
) -> str:
    """In how many earlier pairs the two entries were alike, by who had decided them."""
    clauses = []
    for name in sorted(CLASSES, key=lambda name: name != mirror.named_first):
        alike = mirror.alike[name]
        counts = {"alike": alike, "unlike": PAIRS - alike}
        clauses.append(wording[name].format_map({**fields, **counts}))
    first, second = clauses
    return wording["text"].format_map({**fields, "first": first, "second": second})


def _case(domain: Domain, stimulus: Stimulus) -> dict[str, str]:
    """The bulletin as read, and what stands below it, "" where nothing does."""
    bulletin, said = stimulus.bulletin, sentences(domain, stimulus)
    fields = fields_of(bulletin.situation, stimulus.variant)
    text = fill(bulletin.text, fields | shown_outcomes(stimulus), said)
    return {"bulletin": text, "record": said["record"], "entry": said["entry"]}


def notice(domain: Domain, stimulus: Stimulus) -> str:
    """The bulletin, and what stands below it."""
    return _join(["{bulletin}", "{record}", "{entry}"], **_case(domain, stimulus))


# --- prompts ---


def decision_prompt(
    domain: Domain, stimulus: Stimulus, scheme: str, order: str
) -> Prompt:
    """The pilot's one-shot decision: system prompt, bulletin, record, status line, contract."""
    system = decision_system(domain, stimulus)
    return _asked(domain, stimulus, scheme, order, system, "pilot")


def decision_system(domain: Domain, stimulus: Stimulus) -> str:
    """The specification's, without the sentence that asks for a policy; in the twin control one
    that contradicts nothing of it."""
    if stimulus.entry in TWIN:
        return domain.systems["twin"]
    return _system(domain, stimulus, "one_shot")


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
    for one that could not be read; the last two are shown, in the labels of `scheme`. An empty
    policy or history leaves no trace. None: history is off, and the system prompt does not speak
    of it either.
    """
    phase = "decision"
    if history is None:
        history, phase = (), "first_only"
    rows = _history(domain, scheme, history)
    system = _system(domain, stimulus, phase)
    beside = {"policy": policy.strip(), "history": rows}
    return _asked(domain, stimulus, scheme, order, system, "encounter", **beside)


def _history(
    domain: Domain, scheme: str, history: Sequence[tuple[str | None, str | None]]
) -> str:
    templates = domain.templates
    words: dict[str | None, str] = {None: templates["no_entry"]}
    for label, act in acts_of(domain, scheme).items():
        words[act] = label
    rows = []
    for mine, peer in history[-HISTORY_SHOWN:]:
        rows.append(templates["row"].format(own=words[mine], peer=words[peer]))
    return templates["history"].format(rows="\n".join(rows)) if rows else ""


def _system(domain: Domain, stimulus: Stimulus, phase: str) -> str:
    return domain.systems[TELLS[stimulus.tells][1]][phase]


def _asked(
    domain: Domain,
    stimulus: Stimulus,
    scheme: str,
    order: str,
    system: str,
    template: str,
    **beside: str,
) -> Prompt:
    """A prompt that ends with the contract; which pair of lines it has goes by the bulletin."""
    number, lines = stimulus.bulletin.number, stimulus.bulletin.situation.lines
    acts = acts_of(domain, scheme)
    meanings = dict(zip(acts, lines[(number - 1) % len(lines)], strict=True))
    shown = {}
    for label in shown_labels(domain, scheme, order):
        shown[label] = meanings[label].format_map(stimulus.variant.fields)
    values = {**_case(domain, stimulus), **beside, "contract": _contract(shown)}
    return Prompt(
        system, _join(domain.templates[template], **values), tuple(shown), acts
    )


def _contract(shown: Mapping[str, str]) -> str:
    """The end of a prompt: what each label means, and the form of the answer."""
    lines = "\n".join(f"- {label}: {meaning}" for label, meaning in shown.items())
    return f"{lines}\n\nDecision: [{'|'.join(shown)}]\nRationale (max 2 lines):"


def _join(paragraphs: Sequence[str], **values: str) -> str:
    """Paragraphs filled and set apart by one blank line, without those whose value is empty."""
    empty = [f"{{{name}}}" for name, value in values.items() if not value]
    filled = []
    for paragraph in paragraphs:
        if not any(slot in paragraph for slot in empty):
            filled.append(paragraph.format_map(values))
    return "\n\n".join(filled)


# --- worked examples ---


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
    empty = {"record": "", "entry": ""}
    for form in words["decision"][first:] + words["decision"][:first]:
        shown = {option[named]: option["line"] for option in form["options"]}
        values = {"bulletin": form["text"], "contract": _contract(shown), **empty}
        turns.append(_join(domain.templates["pilot"], **values))
        label = form["options"][form["choice"]][named]
        turns.append(f"Decision: {label}\nRationale: {words['rationale']}")
    return tuple(turns)
