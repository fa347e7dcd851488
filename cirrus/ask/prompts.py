"""CIRRUS-24 scenarios: bulletin × variant × condition × labels → the prompt a model reads.

    domain = load_domain("cvd")
    condition = make_condition({"S": "high", "C": "present", "H": "low"})
    [(bulletin, variant)] = deal_bulletins(random.Random(42), domain, 1)
    prompt = decision_prompt(domain, bulletin, variant, condition, "L1", "cooperative-first")

All words live in `prompts/`, read and checked by `prompt_files.py`; this module deals and joins
them. Everything here is a pure function, except that `load_domain` reads files. Every complaint
is a `ScenarioError`, a ValueError of one line.
"""
from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from cirrus.ask.bulletins import (
    CELL,
    FOLDERS,
    LEVELS,
    PROMPTS,
    TELLS,
    Act,
    Bulletin,
    Domain,
    ScenarioError,
    Source,
    Variant,
    complaint,
    fill,
    join_cues,
    read_domain,
)

__all__ = [
    "LABEL_SCHEMES", "LEVELS", "ORDERS", "TELLS", "Act", "Bulletin", "Condition", "Domain",
    "Prompt", "ScenarioError", "Variant", "cell_name", "deal_bulletins", "deal_labels",
    "deal_variants", "decision_prompt", "encounter_prompt", "labels", "load_domain",
    "make_condition", "render_bulletin", "strategy_prompt",
]

ORDERS = ("cooperative-first", "other-first")
HISTORY_SHOWN = 2  # encounters, specification 5

# scheme → the two acts' words → (label of the cooperative act, label of the other)
LABEL_SCHEMES: dict[str, Callable[[str, str], tuple[str, str]]] = {
    "L1": lambda cooperative, other: (cooperative, other),
    "L2": lambda cooperative, other: ("Option A", "Option B"),
    "L3": lambda cooperative, other: ("Option B", "Option A"),
}


class Condition(NamedTuple):
    """One cell: levels of S (symmetry), C (coupling cue), H (compliance pressure), see LEVELS."""

    S: str
    C: str
    H: str


class Prompt(NamedTuple):
    """What a model reads. `options`: labels as shown, in order; `acts`: label → canonical act.

    A strategy prompt asks for no decision: its `options` and `acts` are empty.
    """

    system: str
    user: str
    options: tuple[str, ...]
    acts: dict[str, str]


def load_domain(name: str, source: Source = PROMPTS) -> Domain:
    """The checked prompts of a domain in FOLDERS, from a prompts folder or a run's own texts."""
    return read_domain(_known("domain", "name", name, FOLDERS), source)


# --- conditions ---


def make_condition(levels: Mapping[str, str] | Iterable[str]) -> Condition:
    """{"S": "high", ...} or ["S=high", ...] → Condition. A factor without a default must be
    set, each at most once.

    >>> make_condition(["S=high", "C=absent", "H=omit"])
    Condition(S='high', C='absent', H='omit')
    """
    pairs = list(levels.items()) if isinstance(levels, Mapping) else [_pair(s) for s in levels]
    given: dict[str, str] = {}
    usual = Condition._field_defaults
    for factor, level in pairs:
        _known("condition", "factor", factor, [f for f in LEVELS if f not in given])
        given[factor] = _known("condition", factor, level, LEVELS[factor])
    for factor in LEVELS:
        _known("condition", factor, given.setdefault(factor, usual.get(factor)), LEVELS[factor])
    return Condition(**given)


def cell_name(condition: Condition) -> str:
    """Condition("high", "present", "low") → "S.high-C.present-H.low"."""
    return "-".join(f"{factor}.{getattr(condition, factor)}" for factor in CELL)


# --- labels ---


def labels(domain: Domain, scheme: str) -> tuple[str, str]:
    """(label of the cooperative act, label of the other act) under this scheme."""
    _known("labels", "scheme", scheme, LABEL_SCHEMES)
    return LABEL_SCHEMES[scheme](*(act.word for act in domain.acts))


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
    _check_distinct("schemes", schemes, LABEL_SCHEMES)
    _check_distinct("orders", orders, ORDERS)
    dealt: list[tuple[str, str]] = []
    while len(dealt) < n:
        dealt += _label_block(rng, schemes, orders)
    return dealt[:max(n, 0)]


def _label_block(
    rng: random.Random, schemes: Sequence[str], orders: Sequence[str]
) -> list[tuple[str, str]]:
    """Orders alternate; the second half gives each scheme the order it has not had."""
    turns = rng.sample(orders, len(orders)) * len(schemes)
    half = list(zip(rng.sample(schemes, len(schemes)), turns, strict=False))
    due = {order: [s for s, had in half if had != order] for order in orders}
    for waiting in due.values():
        rng.shuffle(waiting)
    return half + [(due[order].pop(), order) for order in turns[len(half):]]


def deal_bulletins(
    rng: random.Random, domain: Domain, n: int, holdout: bool = False
) -> list[tuple[Bulletin, Variant]]:
    """(bulletin, variant) for n runs: bulletins permuted and dealt in turn, lap after lap.

    Each lap gives a bulletin its next variant, so no pair comes twice before all have come.
    """
    bulletins = rng.sample(domain.bulletins, len(domain.bulletins))
    variants = _permuted_pool(rng, domain, holdout)
    turns = (divmod(run, len(bulletins)) for run in range(n))
    return [(bulletins[at], variants[(at + lap) % len(variants)]) for lap, at in turns]


def deal_variants(
    rng: random.Random, domain: Domain, n: int, holdout: bool = False
) -> list[Variant]:
    """n variants of the main pool (or the held-out one), permuted and dealt in turn."""
    variants = _permuted_pool(rng, domain, holdout)
    return [variants[at % len(variants)] for at in range(n)]


def _permuted_pool(rng: random.Random, domain: Domain, holdout: bool) -> list[Variant]:
    pool = [variant for variant in domain.variants if variant.holdout == holdout]
    return rng.sample(pool, len(pool))


# --- prompts ---


def render_bulletin(
    domain: Domain, bulletin: Bulletin, variant: Variant, condition: Condition,
    tells: str = "standard",
) -> str:
    """The bulletin as read under this condition, without instructions or labels."""
    toggles = domain.toggles[_known("prompt", "tells", tells, TELLS)]
    return _filled(bulletin.text, tuple(variant.fields.items()),
                   join_cues(toggles, _checked(condition)))


# A run reads one bulletin thousands of times in the same words.
@lru_cache(maxsize=256)
def _filled(text: str, fields: tuple[tuple[str, str], ...], cues: str) -> str:
    return fill(text, dict(fields), cues)


@lru_cache(maxsize=64)
def _checked(condition: Condition) -> Condition:
    return make_condition(condition._asdict())


def decision_prompt(
    domain: Domain, bulletin: Bulletin, variant: Variant, condition: Condition,
    scheme: str, order: str, tells: str = "standard",
) -> Prompt:
    """The pilot's one-shot decision: strategy system prompt, bulletin, contract."""
    shown = _options(domain, scheme, order)
    user = _join(
        domain.templates["pilot"],
        bulletin=render_bulletin(domain, bulletin, variant, condition, tells),
        contract=_contract(shown),
    )
    return _prompt(domain.systems[tells]["strategy"], user, shown)


def strategy_prompt(
    domain: Domain, bulletin: Bulletin, variant: Variant, condition: Condition,
    tells: str = "standard",
) -> Prompt:
    """The tournament's strategy phase: asks for a 3-5 line policy; no labels, no decision."""
    text = render_bulletin(domain, bulletin, variant, condition, tells)
    user = _join(domain.templates["strategy"], bulletin=text)
    return _prompt(domain.systems[tells]["strategy"], user, {})


def encounter_prompt(
    domain: Domain, bulletin: Bulletin, variant: Variant, condition: Condition,
    scheme: str, order: str, policy: str, history: Sequence[tuple[str | None, str | None]] = (),
    tells: str = "standard",
) -> Prompt:
    """The tournament's decision phase: own policy, bulletin, this pair's encounters, contract.

    `history` holds (own act, peer's act) of this round, oldest first, as canonical acts, or None
    for an act that could not be read; the last two are shown, in the labels of `scheme`. An empty
    policy or history leaves no trace.
    """
    shown = _options(domain, scheme, order)
    user = _join(
        domain.templates["encounter"],
        policy=policy.strip(),
        bulletin=render_bulletin(domain, bulletin, variant, condition, tells),
        history=_history(domain, shown, history[-HISTORY_SHOWN:]),
        contract=_contract(shown),
    )
    return _prompt(domain.systems[tells]["decision"], user, shown)


def _options(domain: Domain, scheme: str, order: str) -> dict[str, Act]:
    """Label → act, in the order shown."""
    pairs = list(zip(labels(domain, scheme), domain.acts, strict=True))
    first = ORDERS.index(_known("prompt", "order", order, ORDERS))
    return dict(pairs[::-1] if first else pairs)


def _contract(shown: Mapping[str, Act]) -> str:
    lines = "\n".join(f"- {label}: {act.line}" for label, act in shown.items())
    return f"{lines}\n\nDecision: [{'|'.join(shown)}]\nRationale (max 2 lines):"


def _history(
    domain: Domain, shown: Mapping[str, Act], history: Sequence[tuple[str | None, str | None]]
) -> str:
    said = {act.word: label for label, act in shown.items()}
    said_or_none = {None: domain.templates["no_entry"], **said}
    for act in (act for pair in history for act in pair):
        _known("prompt", "history", act, said_or_none)
    row = domain.templates["row"]
    rows = [row.format(own=said_or_none[own], peer=said_or_none[peer]) for own, peer in history]
    return domain.templates["history"].format(rows="\n".join(rows)) if rows else ""


def _join(paragraphs: Sequence[str], **values: str) -> str:
    """Paragraphs filled and set apart by one blank line, without those whose value is empty."""
    empty = [f"{{{name}}}" for name, value in values.items() if not value]
    kept = (p for p in paragraphs if not any(slot in p for slot in empty))
    return "\n\n".join(p.format_map(values) for p in kept)


def _prompt(system: str, user: str, shown: Mapping[str, Act]) -> Prompt:
    return Prompt(system, user, tuple(shown), {label: act.word for label, act in shown.items()})


# --- checking arguments ---


def _known(where: str, field: str, value: Any, allowed: Collection[Any]) -> Any:
    if value not in allowed:
        raise complaint(where, field, value, f"use one of {', '.join(map(str, allowed))}")
    return value


def _check_distinct(field: str, values: Sequence[str], allowed: Collection[str]) -> None:
    if not values or len(set(values)) < len(values):
        raise complaint("deal_labels", field, list(values), "name at least one, each once")
    for value in values:
        _known("deal_labels", field, value, allowed)


def _pair(text: str) -> tuple[str, str]:
    factor, equals, level = text.partition("=")
    if not equals:
        raise complaint("condition", "toggle", text, "write FACTOR=LEVEL, such as S=high")
    return factor.strip(), level.strip()
