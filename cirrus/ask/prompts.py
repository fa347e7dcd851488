"""Build the prompt that a model reads from bulletin, variant, condition and labels.

    domain = load_domain("cvd")
    condition = Condition("high", "present", "low")
    stimulus = Stimulus(domain.bulletins[0], domain.variants[0], condition)
    prompt = decision_prompt(domain, stimulus, "L1", "cooperative-first")

All words stand in `prompts/`, which `bulletins.py` reads and checks; `deal.py` decides which go
together. Every function here is pure.
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
# The lever's strengths: by how much each raises R, the outcome of two late acts, in units of T − R.
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
HISTORY_SHOWN = 2  # earlier encounters that a prompt shows (specification 5)
PAIRS = 20  # earlier pairs of each class, in a mirror study's record

LABEL_SCHEMES = ("L1", "L2", "L3")
# {label scheme: (label of the cooperative act, label of the other act)}. In L1 the labels are the
# acts' own words.
LETTERS = {"L2": ("Option A", "Option B"), "L3": ("Option B", "Option A")}
# All labels that prompts use. An answer that names a label of another prompt gets a status of its
# own, not that of an answer without a label.
KNOWN_LABELS = ("COORDINATE", "PREEMPT", "SHARE", "RESERVE", "Option A", "Option B")


class Condition(NamedTuple):
    """The levels of S (symmetry), C (coupling cue) and H (compliance pressure), see LEVELS."""

    S: str
    C: str
    H: str


class Mirror(NamedTuple):
    """The numbers in a mirror study's text.

    `outcomes` maps T, R, P, S to the costs in the four lines. `alike` maps each of CLASSES to a
    number: in how many of the class's PAIRS earlier pairs the two entries were alike. `named_first`
    is the class that the text names first.
    """

    outcomes: dict[str, int]
    alike: dict[str, int]
    named_first: str


class Stimulus(NamedTuple):
    """What a prompt shows of a domain.

    `wording` is the number of the sentence to take from each list of wordings; 0 is the
    specification's. `entry` is the level of the sentence on the counterpart's entry, "" for none.
    `lever` is the place in LEVERS, from 1, of the strength by which the outcome of two cooperative
    acts is raised, 0 for none. `record` is "late" where the text tells the counterpart's earlier
    entries. `meeting` is "round" where the two sides meet in several cases.
    """

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
    """What a model reads. `options` are the labels in the order shown; `acts` maps a label to its
    canonical act, the cooperative one first.

    A strategy prompt asks for no decision: its `options` and `acts` are empty.
    """

    system: str
    user: str
    options: tuple[str, ...]
    acts: dict[str, str]


def cell_name(levels: Iterable[str]) -> str:
    """Return the name of a cell: ("high", "present", "low") gives
    "S.high-C.present-H.low". Two levels give a name without H."""
    named = zip(CELL, levels, strict=False)
    return "-".join(f"{factor}.{level}" for factor, level in named)


# --- labels ---


def acts_of(domain: Domain, scheme: str) -> dict[str, str]:
    """Return {label: the canonical act it stands for}, the cooperative one first."""
    labels = LETTERS.get(scheme, domain.acts)
    return dict(zip(labels, domain.acts, strict=True))


def shown_labels(domain: Domain, scheme: str, order: str) -> tuple[str, ...]:
    """Return the two labels in the order in which they are shown."""
    cooperative, other = acts_of(domain, scheme)
    return (other, cooperative) if order == ORDERS[1] else (cooperative, other)


# --- what a notice says ---


def shown_outcomes(stimulus: Stimulus) -> dict[str, int]:
    """Return the costs {T, R, P, S} that the text shows.

    A lever raises R by its strength times T − R. A mirror study has costs of its own.
    """
    if stimulus.mirror is not None:
        return stimulus.mirror.outcomes
    numbers = stimulus.bulletin.outcomes
    strength = (0, *LEVERS)[stimulus.lever]
    raised = numbers["R"] + strength * (numbers["T"] - numbers["R"])
    return numbers | {"R": round(raised)}


def fields_of(situation: Situation, variant: Variant) -> dict[str, str]:
    """Return {placeholder of a sentence: its text}: the variant's names, and the
    bulletin's phrases for the two acts."""
    early = situation.early.format_map(variant.fields)
    late = situation.late.format_map(variant.fields)
    return variant.fields | {"early": early, "late": late}


def sentences(domain: Domain, stimulus: Stimulus) -> dict[str, str]:
    """Return {slot of a bulletin: the sentence that fills it, or ""}, with two more keys,
    "entry" and "record", for the sentences below the bulletin."""
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
    if said["compliance"]:  # this sentence needs the one that explains its classes
        said["compliance"] = f"{fixed['classes']} {said['compliance']}"
    filled = {slot: text.format_map(fields) for slot, text in said.items()}
    if stimulus.mirror is not None:
        wording = domain.records[stimulus.wording % len(domain.records)]
        filled["record"] = _record(wording, stimulus.mirror, fields)
    return filled


def _record(
    wording: Mapping[str, str], mirror: Mirror, fields: Mapping[str, str]
) -> str:
    """Return a mirror study's sentence that says, for each of CLASSES, in how many
    earlier pairs the entries were alike."""
    clauses = []
    for name in sorted(CLASSES, key=lambda name: name != mirror.named_first):
        alike = mirror.alike[name]
        counts = {"alike": alike, "unlike": PAIRS - alike}
        clauses.append(wording[name].format_map({**fields, **counts}))
    first, second = clauses
    return wording["text"].format_map({**fields, "first": first, "second": second})


def _case(domain: Domain, stimulus: Stimulus) -> dict[str, str]:
    """Return {"bulletin": its text as a model reads it, "record": the sentence on earlier
    entries or "", "entry": the status line or ""}."""
    bulletin, said = stimulus.bulletin, sentences(domain, stimulus)
    fields = fields_of(bulletin.situation, stimulus.variant)
    text = fill(bulletin.text, fields | shown_outcomes(stimulus), said)
    return {"bulletin": text, "record": said["record"], "entry": said["entry"]}


def notice(domain: Domain, stimulus: Stimulus) -> str:
    """Return the bulletin, and the sentences below it."""
    return _join(["{bulletin}", "{record}", "{entry}"], **_case(domain, stimulus))


# --- prompts ---


def decision_prompt(
    domain: Domain, stimulus: Stimulus, scheme: str, order: str
) -> Prompt:
    """Return the prompt of a one-shot decision: system prompt, bulletin, record, status
    line, answer form."""
    system = decision_system(domain, stimulus)
    return _asked(domain, stimulus, scheme, order, system, "pilot")


def decision_system(domain: Domain, stimulus: Stimulus) -> str:
    """Return the system prompt of a one-shot decision: the specification's without the
    sentence on policies. The twin control, which speaks openly of AI, has its own."""
    if stimulus.entry in TWIN:
        return domain.systems["twin"]
    return _system(domain, stimulus, "one_shot")


def strategy_prompt(domain: Domain, stimulus: Stimulus) -> Prompt:
    """Return the tournament's request for a policy of 3-5 lines. It has no labels and
    asks for no decision."""
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
    """Return the tournament's request for a decision: own policy, bulletin, earlier
    encounters, answer form.

    `history` holds (own act, peer's act) of this pair in this round, oldest first, as canonical
    acts, or None for an act that could not be read. The last two are shown, in the labels of
    `scheme`. An empty policy or history leaves no trace. With `history` None the run shows no
    history, and the system prompt does not mention it either.
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
    """Return the last encounters as a paragraph of rows, or "" where there are none."""
    if not history:
        return ""
    templates = domain.templates
    words: dict[str | None, str] = {None: templates["no_entry"]}
    for label, act in acts_of(domain, scheme).items():
        words[act] = label
    rows = []
    for mine, peer in history[-HISTORY_SHOWN:]:
        rows.append(templates["row"].format(own=words[mine], peer=words[peer]))
    return templates["history"].format(rows="\n".join(rows))


def _system(domain: Domain, stimulus: Stimulus, phase: str) -> str:
    """Return the system prompt of a phase, in the words that the stimulus's `tells`
    name."""
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
    """Return a prompt that ends with the answer form. The bulletin's number decides how
    the form words the acts. `beside` maps the template's further placeholders to texts."""
    number, lines = stimulus.bulletin.number, stimulus.bulletin.situation.lines
    acts = acts_of(domain, scheme)
    meanings = dict(zip(acts, lines[(number - 1) % len(lines)], strict=True))
    fields, labels = stimulus.variant.fields, shown_labels(domain, scheme, order)
    shown = {label: meanings[label].format_map(fields) for label in labels}
    values = {**_case(domain, stimulus), **beside, "contract": _contract(shown)}
    return Prompt(
        system, _join(domain.templates[template], **values), tuple(shown), acts
    )


def _contract(shown: Mapping[str, str]) -> str:
    """Return the end of a prompt: what each label means, and the form that the answer
    has to fill in."""
    lines = "\n".join(f"- {label}: {meaning}" for label, meaning in shown.items())
    return f"{lines}\n\nDecision: [{'|'.join(shown)}]\nRationale (max 2 lines):"


def _join(paragraphs: Sequence[str], **values: str) -> str:
    """Return the filled paragraphs, with a blank line between them. A paragraph that has
    a placeholder for an empty value is left out."""
    empty = [f"{{{name}}}" for name, value in values.items() if not value]
    shown = [each for each in paragraphs if not any(slot in each for slot in empty)]
    return "\n\n".join(paragraph.format_map(values) for paragraph in shown)


# --- worked examples ---


def read_examples(text: str) -> dict[str, Any]:
    """Return the filled-in forms of the file EXAMPLES, checked; `text` is its content."""
    return read_json({EXAMPLES: text}, EXAMPLES, _EXAMPLES, {})


def decision_examples(
    domain: Domain, text: str, scheme: str, first: int
) -> tuple[str, ...]:
    """Return the filled-in forms of EXAMPLES as turns: question, answer, question,
    answer, …

    `text` is the file's content. Form number `first` comes first; the others follow in
    the order of the file, and after the last comes number 0.
    """
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
