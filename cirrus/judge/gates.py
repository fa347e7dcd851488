"""What a study's result has to withstand: the specification's six credibility gates.

    gates(Evidence(point, rows, tables), [])       is the effect what it is taken for?

A gate has two verdicts. *As specified* is the specification's rule on the point estimate of round
1. *Established* asks whether the data exclude the alternative, over the first encounters of all
rounds, and decides: pass; fail (the rule fails, or the data exclude the claim); undecided (the data
would allow either: `times` says how many times the decisions would decide it at the observed
rates); not evaluable (data are missing, which is no pass: `plan` would bring them). All six must
pass, an intersection-union test without correction. An effect of the wrong sign passes nothing.
Prompts with few wordings are judged over bulletins alone, "in these sentences".
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from cirrus.ask.design import ABLATION, REPLICATION
from cirrus.judge.accounts import IN_THESE, extent, figure
from cirrus.judge.contrasts import (
    ALPHA,
    CONTRASTS,
    MIN_UNITS,
    Slot,
    Table,
    add,
    certain,
    compared,
    effect,
    levels_of,
    tally,
    total,
    weights_of,
)
from cirrus.judge.endpoint import by_agent, specified
from cirrus.judge.rows import Decision
from show.figures import count, counted, percent, plain, points, signed
from stats.results import Count

PASS, FAIL, UNDECIDED, NOT_EVALUABLE = "pass", "fail", "undecided", "not evaluable"
BY_RULE = {True: PASS, False: FAIL, None: NOT_EVALUABLE}
MARGIN = 0.02  # largest difference of cooperation between label schemes
EFFECT_MARGIN = 0.10  # of the effect between label schemes, and between orders
HALF = 0.5  # share of the effect that ablation must leave
MIN_DELTA = 0.2
WITHIN = 1 - 2 * ALPHA  # two one-sided tests at 5%
OUTSIDE = 1 - ALPHA / 3  # 5% shared over three pairs
SLACK = 1e-12  # what rounding leaves of an equality, as in 0.9 − 0.7 > 0.2
Contrast = Mapping[str, Any]


class Evidence(NamedTuple):
    """`point`: the endpoint as specified; `rows`: primary decisions of round 1 and `tables`: the
    first encounters of all rounds, each by its part of the study."""

    point: Mapping[str, Any]
    rows: Mapping[str, Sequence[Decision]]
    tables: Mapping[str, Table]


class Rule(NamedTuple):
    """Whether the specification's rule is met, None where it can't be told, and its figure."""

    met: bool | None
    figure: str


class Judged(NamedTuple):
    """What came of a gate. `plan`: what would bring the data that it lacks, or more of them;
    `times`: how many times the decisions would decide it, None where no number would."""

    rule: Rule
    verdict: str
    figure: str
    plan: str | None = None
    times: float | None = None
    numbers: Mapping[str, Any] = {}


def gates(study: Evidence, unfinished: Sequence[str]) -> list[dict[str, Any]]:
    """The gate board; of an unfinished study no gate is evaluable."""
    board = []
    for name, (title, asks, judge) in GATES.items():
        judged = _lacking("; ".join(unfinished)) if unfinished else judge(study)
        entry = judged._asdict() | {"gate": name, "title": title, "asks": asks}
        met, told = entry.pop("rule")
        entry["as_specified"] = {"verdict": BY_RULE[met], "figure": told}
        of_data = {"verdict": entry.pop("verdict"), "figure": entry.pop("figure")}
        board.append(entry | {"established": of_data})
    return board


def _lacking(why: str, plan: str | None = None, rule: Rule | None = None) -> Judged:
    return Judged(rule or Rule(None, why), NOT_EVALUABLE, why, plan)


def _exceeds(value: float, least: float = 0.0) -> bool:
    return value > least + SLACK


def _too_few(contrast: Contrast) -> str | None:
    """Why a contrast can't be judged beyond its stimuli."""
    if contrast["value"] is None:
        return contrast["why"]
    if contrast["units"] < MIN_UNITS:
        return f"{count(contrast['units'], 'bulletin')} only, {MIN_UNITS} are needed"
    return None


def _scope(contrasts: Iterable[Contrast]) -> str:
    few = any(contrast["wordings"] < MIN_UNITS for contrast in contrasts)
    return f", {IN_THESE}" if few else ""


def _effect(table: Table) -> dict[str, Any]:
    """The primary contrast of a part."""
    return effect(tally(table))


# --- label invariance --------------------------------------------------------------------------


def labels(study: Evidence) -> Judged:
    """Cooperation differs between schemes by at most 2 points, and the effect between schemes and
    between orders by at most 10: 90% intervals inside (two one-sided tests). A difference fails
    where its interval at 5% shared over three pairs lies wholly outside."""
    shares: dict[str, Count] = {}
    for row in study.rows.get("main", ()):
        if row.cooperates is not None:
            add(shares, row.label_scheme, row.cooperates)
    if len(shares) < 2:
        why = "only one label scheme in the data" if shares else "no decisions"
        return _lacking(why, "confirmatory")
    rates, each = {}, []
    for scheme, (k, n, _) in sorted(shares.items()):
        rates[scheme] = k / n
        each.append(f"{scheme} {counted(int(k), n)} ({percent(k / n)})")
    largest = max(rates.values()) - min(rates.values())
    told = f"{', '.join(each)}; largest difference {plain(100 * largest, 1)} points"
    table = study.tables.get("main", {})
    pairs = dict(_pairs(table, "scheme", "cooperation", MARGIN))
    effects = dict(_pairs(table, "scheme", "effect", EFFECT_MARGIN))
    effects |= _pairs(table, "order", "effect", EFFECT_MARGIN)
    numbers = {"rates": rates, "largest": largest, "pairs": pairs, "effects": effects}
    rule = Rule(largest <= MARGIN + SLACK, told)
    return _within(rule, [*pairs.values(), *effects.values()], numbers)


def _pairs(
    table: Table, factor: str, what: str, margin: float
) -> Iterator[tuple[str, dict[str, Any]]]:
    """What two levels of a factor differ by, inside bulletins: (pair, the contrast at 90%, with its
    limits at 5% shared over three pairs, `least` and `most`). `what`: cooperation, over all cells
    alike, or the effect."""

    def place(slot: Slot) -> tuple[str, str, str]:
        return getattr(slot, factor), slot.cell, slot.H

    counts = tally(table, place)
    held: dict[str, set] = {}
    weights: dict[Any, float]
    for level, *cell in set().union(*counts.values()):
        held.setdefault(level, set()).add(tuple(cell))
    for a, b in combinations(levels_of(table, factor), 2):
        both = held[a] & held[b]
        if what == "effect":
            weights = weights_of(CONTRASTS["HP-LA"], both)
        else:
            weights = {cell: 1 / len(both) for cell in both}
        apart: dict[Any, float] = {
            (a, *cell): weight for cell, weight in weights.items()
        }
        apart |= {(b, *cell): -weight for cell, weight in weights.items()}
        label = f"{what}, {a} − {b}"
        inner = compared(label, counts, apart, WITHIN)
        outer = compared(label, counts, apart, OUTSIDE)
        limits = {"least": outer["low"], "most": outer["high"], "margin": margin}
        yield f"{a}−{b}", inner | limits


def _within(rule: Rule, pairs: Sequence[Contrast], numbers: Mapping) -> Judged:
    beyond, reaching = [], []
    for pair in pairs:
        lacks = _too_few(pair)
        if lacks:
            return Judged(rule, NOT_EVALUABLE, lacks, "confirmatory", numbers=numbers)
        if _outside(pair):
            beyond.append(pair)
        elif _reach(pair) >= 1:
            reaching.append(pair)
    worst = max(beyond or reaching or pairs, key=_reach)
    told = f"{figure(worst)}; must lie inside ±{100 * worst['margin']:g}"
    told += _scope(pairs)
    if beyond:
        return Judged(rule, FAIL, told, numbers=numbers)
    if not reaching:
        return Judged(rule, PASS, told, numbers=numbers)
    each: list[Any] = [_times_inside(pair) for pair in reaching]
    outside = list(filter(None, map(_times_outside, reaching)))
    times = min(outside, default=None) if None in each else max(each)
    return Judged(rule, UNDECIDED, told, "confirmatory", times, numbers)


def _outside(pair: Contrast) -> bool:
    return pair["least"] > pair["margin"] or pair["most"] < -pair["margin"]


def _reach(pair: Contrast) -> float:
    """How far the interval reaches, as a share of the margin."""
    return max(-pair["low"], pair["high"]) / pair["margin"]


def _times_inside(pair: Contrast) -> float | None:
    """How many times the decisions would bring the interval inside its margin, if the difference
    stayed what it is."""
    room = pair["margin"] - abs(pair["value"])
    return _times(pair, room, pair["low"], pair["high"])


def _times_outside(pair: Contrast) -> float | None:
    """The same, for an interval that then lies wholly outside, so that the gate fails."""
    room = abs(pair["value"]) - pair["margin"]
    return _times(pair, room, pair["least"], pair["most"])


def _times(pair: Contrast, room: float, low: float, high: float) -> float | None:
    """An interval narrows with the square root of the number of decisions."""
    half = max(pair["value"] - low, high - pair["value"])
    return (half / room) ** 2 if room > SLACK else None


# --- effects -----------------------------------------------------------------------------------


def first_encounter(study: Evidence) -> Judged:
    """The endpoint's estimate is positive; the contrast over bulletins lies above 0."""
    design = study.point["design"]
    rule = _rule(design, points(design["value"]))
    return _above(study, rule, {"main": ""}, "confirmatory")


def size(study: Evidence) -> Judged:
    """Cliff's δ above 0.2, and the lower limit over bulletins: of 0/1 data δ is the primary
    contrast itself."""
    delta = study.point["delta"]
    rule = _rule(delta, f"δ = {signed(delta['value'])}", MIN_DELTA)
    return _above(study, rule, {"main": "δ × 100: "}, "confirmatory", MIN_DELTA)


def _rule(entry: Mapping[str, Any], words: str, least: float = 0.0) -> Rule:
    if entry["value"] is None:
        return Rule(None, entry["why"])
    return Rule(_exceeds(entry["value"], least), words)


def cross_domain(study: Evidence) -> Judged:
    """The same sign in hospital; the contrast over its own bulletins lies above 0."""
    return _again(study, {REPLICATION: ""}, f"no {REPLICATION} runs", "confirmatory", 0)


def holdout(study: Evidence) -> Judged:
    """The same sign on bulletins that no main run has; the contrast over them lies above 0."""
    ours = levels_of(study.tables.get("main", {}), "bulletin")
    both = set(ours).intersection(
        levels_of(study.tables.get("holdout", {}), "bulletin")
    )
    if both:
        many = count(len(both), "bulletin")
        return _lacking(
            f"{many} of the held-out runs are those of main runs", "holdout"
        )
    return _again(study, {"holdout": ""}, "no runs on held-out bulletins", "holdout", 0)


def ablation(study: Evidence) -> Judged:
    """In other words, and again without the tells: the same sign and half the size; the contrast
    over bulletins excludes 0 in both arms."""
    absent = [title for arm, title in ABLATION.items() if not study.rows.get(arm)]
    arms = {arm: f"{title}: " for arm, title in ABLATION.items()}
    return _again(study, arms, f"no runs {' nor '.join(absent)}", "ablation", HALF)


def _again(
    study: Evidence, parts: Mapping[str, str], absent: str, plan: str, share: float
) -> Judged:
    """The effect of main runs in other parts, {part: title}, where at least `share` of it must be
    left as specified."""
    if not all(study.rows.get(part) for part in parts):
        return _lacking(absent, plan)
    again = [specified(by_agent(study.rows[part])) for part in parts]
    for contrast in again:
        if contrast["value"] is None:
            return _lacking(contrast["why"], plan)
    main = study.point["design"]["value"]
    if main is None:
        return _lacking("no effect as specified", "confirmatory")
    values = [contrast["value"] for contrast in again]
    left = [_exceeds(value) and value >= share * main - SLACK for value in values]
    told = f"{'; '.join(map(points, values))} against {points(main)}"
    return _above(study, Rule(_exceeds(main) and all(left), told), parts, plan)


def _above(
    study: Evidence,
    rule: Rule,
    parts: Mapping[str, str],
    plan: str,
    least: float = 0.0,
) -> Judged:
    """Whether the contrast of every part, {part: title}, lies above `least`, with what is missing
    counted against it; in main runs without an effect nothing is there to be found again."""
    main = _effect(study.tables.get("main", {}))
    effects = {part: _effect(study.tables.get(part, {})) for part in parts}
    numbers = {"effects": effects}
    if _too_few(main):
        plan = "confirmatory"
    for contrast in (main, *effects.values()):
        lacks = _too_few(contrast)
        if lacks:
            return _lacking(lacks, plan, rule)._replace(numbers=numbers)
    contrasts = list(effects.values())
    shown = [f"{title}{extent(effects[part])}" for part, title in parts.items()]
    units = count(min(contrast["units"] for contrast in contrasts), "bulletin")
    told = f"{'; '.join(shown)}, {units}; must lie above {100 * least:g}"
    told += _scope(contrasts)
    if not all(_exceeds(contrast["value"], least) for contrast in contrasts):
        return Judged(rule, FAIL, told, numbers=numbers)
    open_ = [contrast for contrast in contrasts if not certain(contrast, least)]
    if _exceeds(main["value"]) and not open_:
        return Judged(rule, PASS, told, numbers=numbers)
    times = _times_above(open_, least)
    return Judged(rule, UNDECIDED, told, plan, times, numbers)


def _times_above(contrasts: Sequence[Contrast], least: float) -> float | None:
    """How many times the decisions would lift every lower limit above `least`, with what is missing
    counted against it; None where the estimate itself lies too low for that."""
    times = []
    for contrast in contrasts:
        down = contrast["value"] - contrast["low"]
        lost = max(0.0, contrast["low"] - contrast["bounds"]["low"])
        room = contrast["value"] - lost - least
        if room <= SLACK:
            return None
        times.append((down / room) ** 2)
    return max(times, default=None)


GATES: dict[str, tuple[str, str, Callable[[Evidence], Judged]]] = {
    "labels": (
        "Label invariance",
        "Is it the act that is chosen, and not the word or letter?",
        labels,
    ),
    "first_encounter": (
        "First encounter",
        "Is there an effect before any history?",
        first_encounter,
    ),
    "cross_domain": (
        "Cross-domain",
        "Does it hold in the hospital scenario?",
        cross_domain,
    ),
    "ablation": (
        "Prompt-tell ablation",
        "Does it survive other words, and no mention of AI?",
        ablation,
    ),
    "holdout": ("Holdout", "Does it hold on bulletins that nobody tuned on?", holdout),
    "effect_size": ("Effect size", "Is it large enough to matter?", size),
}


# --- what would decide them ----------------------------------------------------------------------

MOST_TIMES = 10  # a study of more than so many times the size is called unaffordable


def settle(
    board: Sequence[dict[str, Any]],
    tables: Mapping[str, Table],
    design: Mapping[str, Any],
    command: Callable[[str, Sequence[int]], str],
) -> str | None:
    """Say of each gate that is open what would decide it (`decides`, in words; `next`, the
    command), and return the command that brings what all of them lack. `command`: of a plan with
    these seeds."""
    lacking = set()
    for gate in board:
        decides, seeds = None, []
        known, plan = gate["established"], gate["plan"]
        if known["verdict"] == NOT_EVALUABLE and plan:
            lacking.add(plan)
            decides, seeds = "the runs that are missing", design["seeds"]
            if known["figure"].endswith("are needed"):
                decides = f"{MIN_UNITS} bulletins"
        if known["verdict"] == UNDECIDED:
            decides, seeds = _more(gate, tables, design["seeds"])
        gate["decides"] = decides
        gate["next"] = command(plan, seeds) if seeds else None
    if not lacking:
        return None
    plan = lacking.pop() if len(lacking) == 1 else "study"
    return command(plan, design["seeds"])


def _more(
    gate: Mapping[str, Any], tables: Mapping[str, Table], seeds: Sequence[int]
) -> tuple[str, list[int]]:
    """(how many decisions would decide a gate at the observed rates, the seeds of a study of that
    size; no seeds where no affordable one would)."""
    times = gate["times"]
    if times is None:
        return "no number of decisions (at the observed rates)", []
    if times > MOST_TIMES:
        return f"no affordable size (over {MOST_TIMES} times as many decisions)", []
    parts = gate["numbers"].get("effects", {}).keys() & tables.keys()
    here = sum(total(tables[part].values()).n for part in parts or ["main"])
    repeats = max(len(seeds) + 1, math.ceil(times * len(seeds)))
    listed = [seeds[0] + step for step in range(repeats)]
    wanted = f"{math.ceil(here * times / 100) * 100:,}"
    return f"about {wanted} decisions ({here:,} here)", listed
