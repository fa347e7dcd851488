"""Judges a tournament's result by the specification's six credibility gates.

    gates(Evidence(point, rows, tables), [])       six entries, one for each gate

Each gate has two verdicts. *As specified* applies the specification's rule to the point
estimate of round 1. *Established* asks, over the first encounters of all rounds,
whether the data exclude the alternative; this one decides. It is one of four:

    pass            the rule holds, and the data exclude the alternative
    fail            the rule fails, or the data exclude the claim
    undecided       the data allow both; `times` says how many times as many decisions would
                    decide, at the observed rates
    not evaluable   data are missing, which is no pass; `plan` names the runs that bring them

All six must pass; that is an intersection-union test, which needs no correction. An
effect of the wrong sign passes no gate. Where the prompts hold few wordings, gates are
judged over bulletins alone, and say "in these sentences".
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
EFFECT_MARGIN = 0.10  # largest difference of the effect between schemes or orders
HALF = 0.5  # share of the effect that must be left in the ablation runs
MIN_DELTA = 0.2
WITHIN = 1 - 2 * ALPHA  # level at which an interval equals two one-sided tests at 5%
OUTSIDE = 1 - ALPHA / 3  # level of the intervals of three pairs that share 5% of error
SLACK = 1e-12  # allows for rounding: in floating point 0.9 − 0.7 > 0.2
Contrast = Mapping[str, Any]


class Evidence(NamedTuple):
    """What the gates judge.

    `point` is the endpoint as specified. `rows` is {part of the study: its primary
    decisions of round 1}, and `tables` is {part: its first encounters of all rounds}.
    """

    point: Mapping[str, Any]
    rows: Mapping[str, Sequence[Decision]]
    tables: Mapping[str, Table]


Stated = Mapping[str, str]  # {"verdict", "figure"}: the figure that it rests on


class Judged(NamedTuple):
    """How a gate came out, as specified and as established.

    `plan` names the runs that would bring missing or further data. `times` is how many
    times as many decisions would decide the gate, None where no number would.
    """

    as_specified: Stated
    established: Stated
    plan: str | None = None
    times: float | None = None
    numbers: Mapping[str, Any] = {}


def gates(study: Evidence, unfinished: Sequence[str]) -> list[dict[str, Any]]:
    """Judge all gates; every gate of an unfinished study is not evaluable."""
    board = []
    for name, (title, asks, judge) in GATES.items():
        judged = _lacking("; ".join(unfinished)) if unfinished else judge(study)
        entry = {"gate": name, "title": title, "asks": asks}
        board.append(entry | judged._asdict())
    return board


def _stated(verdict: str, told: str) -> Stated:
    return {"verdict": verdict, "figure": told}


def _by_rule(met: bool | None, told: str) -> Stated:
    """Return the statement that the specification's rule is met, or not; `met` is None
    where that can't be told."""
    return _stated(BY_RULE[met], told)


def _lacking(why: str, plan: str | None = None, rule: Stated | None = None) -> Judged:
    """Return "not evaluable", with the reason and the plan that would help; `rule` is
    what holds as specified, where that can be told."""
    return Judged(rule or _by_rule(None, why), _stated(NOT_EVALUABLE, why), plan)


def _exceeds(value: float, least: float = 0.0) -> bool:
    """Whether a value is above `least` by more than rounding."""
    return value > least + SLACK


def _too_few(contrast: Contrast) -> str | None:
    """Return why a contrast can't be generalised beyond its bulletins, None where it
    can."""
    if contrast["value"] is None:
        return contrast["why"]
    if contrast["units"] < MIN_UNITS:
        return f"{count(contrast['units'], 'bulletin')} only, {MIN_UNITS} are needed"
    return None


def _scope(contrasts: Iterable[Contrast]) -> str:
    """Return ", in these sentences" where the prompts hold few wordings, else ""."""
    few = any(contrast["wordings"] < MIN_UNITS for contrast in contrasts)
    return f", {IN_THESE}" if few else ""


def _effect(table: Table) -> dict[str, Any]:
    """Return the primary contrast of one part of the study."""
    return effect(tally(table))


# --- label invariance --------------------------------------------------------------------------


def labels(study: Evidence) -> Judged:
    """Judge whether cooperation and the effect are the same under all labels.

    Cooperation may differ between label schemes by at most 2 points, and the effect
    between schemes and between orders by at most 10. The gate passes where all 90%
    intervals lie inside these margins (two one-sided tests). It fails where the
    interval of a difference (three pairs share 5% of error) lies wholly outside.
    """
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
    rule = _by_rule(largest <= MARGIN + SLACK, told)
    return _within(rule, [*pairs.values(), *effects.values()], numbers)


def _pairs(
    table: Table, factor: str, what: str, margin: float
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield ("L1−L2", contrast) for every two levels of a factor, such as "scheme",
    compared inside bulletins.

    `what` says what is compared: "cooperation", the mean over all cells that both
    levels have, or "effect", the primary contrast. The contrast's own interval is at
    90%; `least` and `most` are the limits where three pairs share 5% of error.
    """

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


def _within(rule: Stated, pairs: Sequence[Contrast], numbers: Mapping) -> Judged:
    """Judge whether all differences lie inside their margins, by their intervals."""
    beyond, reaching = [], []
    for pair in pairs:
        lacks = _too_few(pair)
        if lacks:
            return _lacking(lacks, "confirmatory", rule)._replace(numbers=numbers)
        if _outside(pair):
            beyond.append(pair)
        elif _reach(pair) >= 1:
            reaching.append(pair)
    worst = max(beyond or reaching or pairs, key=_reach)
    told = f"{figure(worst)}; must lie inside ±{100 * worst['margin']:g}"
    told += _scope(pairs)
    if beyond:
        return Judged(rule, _stated(FAIL, told), numbers=numbers)
    if not reaching:
        return Judged(rule, _stated(PASS, told), numbers=numbers)
    each: list[Any] = [_times_inside(pair) for pair in reaching]
    outside = list(filter(None, map(_times_outside, reaching)))
    times = min(outside, default=None) if None in each else max(each)
    return Judged(rule, _stated(UNDECIDED, told), "confirmatory", times, numbers)


def _outside(pair: Contrast) -> bool:
    """Whether the whole interval lies outside the margin."""
    return pair["least"] > pair["margin"] or pair["most"] < -pair["margin"]


def _reach(pair: Contrast) -> float:
    """Return the interval's limit on its farther side from 0, as a share of the margin
    (1 at the margin)."""
    return max(-pair["low"], pair["high"]) / pair["margin"]


def _times_inside(pair: Contrast) -> float | None:
    """Return the factor by which the decisions must grow in number for the interval to
    fit inside its margin, if the difference stays as it is.

    None where the difference alone is larger than the margin.
    """
    room = pair["margin"] - abs(pair["value"])
    return _times(pair, room, pair["low"], pair["high"])


def _times_outside(pair: Contrast) -> float | None:
    """Return how many times as many decisions would bring the interval wholly outside
    the margin; None where the difference itself lies inside."""
    room = abs(pair["value"]) - pair["margin"]
    return _times(pair, room, pair["least"], pair["most"])


def _times(pair: Contrast, room: float, low: float, high: float) -> float | None:
    """Return how many times as many decisions would make half the interval as narrow
    as `room`; None where `room` is 0 or less.

    An interval's width falls with the square root of the number of decisions.
    """
    half = max(pair["value"] - low, high - pair["value"])
    return (half / room) ** 2 if room > SLACK else None


# --- effects -----------------------------------------------------------------------------------


def first_encounter(study: Evidence) -> Judged:
    """Judge whether the effect is positive, both as specified and by its interval over
    bulletins."""
    design = study.point["design"]
    rule = _rule(design, points(design["value"]))
    return _above(study, rule, {"main": ""}, "confirmatory")


def size(study: Evidence) -> Judged:
    """Judge whether Cliff's δ is above 0.2, both as specified and by its interval over
    bulletins.

    For decisions of 0 and 1, δ is the primary contrast itself.
    """
    delta = study.point["delta"]
    rule = _rule(delta, f"δ = {signed(delta['value'])}", MIN_DELTA)
    return _above(study, rule, {"main": "δ × 100: "}, "confirmatory", MIN_DELTA)


def _rule(entry: Mapping[str, Any], words: str, least: float = 0.0) -> Stated:
    """Apply the specification's rule to an estimate: it must be above `least`."""
    if entry["value"] is None:
        return _by_rule(None, entry["why"])
    return _by_rule(_exceeds(entry["value"], least), words)


def cross_domain(study: Evidence) -> Judged:
    """Judge whether the effect is positive in the hospital domain too, over that
    domain's bulletins."""
    return _again(
        study,
        {REPLICATION: ""},
        absent=f"no {REPLICATION} runs",
        plan="confirmatory",
        share=0,
    )


def holdout(study: Evidence) -> Judged:
    """Judge whether the effect is positive on bulletins that no main run has used."""
    ours = levels_of(study.tables.get("main", {}), "bulletin")
    shared = set(ours).intersection(
        levels_of(study.tables.get("holdout", {}), "bulletin")
    )
    if shared:
        many = count(len(shared), "bulletin")
        return _lacking(
            f"{many} of the held-out runs are those of main runs", "holdout"
        )
    return _again(
        study,
        {"holdout": ""},
        absent="no runs on held-out bulletins",
        plan="holdout",
        share=0,
    )


def ablation(study: Evidence) -> Judged:
    """Judge whether the effect holds in other words, and without any mention of AI (the
    tells).

    As specified, it must be positive and at least half as large as in the main runs, in
    both kinds of run. As established, its interval must lie above 0 in both.
    """
    absent = [title for arm, title in ABLATION.items() if not study.rows.get(arm)]
    arms = {arm: f"{title}: " for arm, title in ABLATION.items()}
    return _again(
        study,
        arms,
        absent=f"no runs {' nor '.join(absent)}",
        plan="ablation",
        share=HALF,
    )


def _again(
    study: Evidence, parts: Mapping[str, str], absent: str, plan: str, share: float
) -> Judged:
    """Judge whether the main runs' effect is found again in other parts of the study.

    `parts` is {part: title}. As specified, the effect in each part must be at least
    `share` times that of the main runs. `absent` is the reason where a part has no runs.
    """
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
    found = [_exceeds(value) and value >= share * main - SLACK for value in values]
    told = f"{'; '.join(map(points, values))} against {points(main)}"
    rule = _by_rule(_exceeds(main) and all(found), told)
    return _above(study, rule, parts, plan)


def _above(
    study: Evidence,
    rule: Stated,
    parts: Mapping[str, str],
    plan: str,
    least: float = 0.0,
) -> Judged:
    """Judge whether each part's interval lies above `least`, even with missing decisions
    counted against it.

    `parts` is {part: title}; `rule` is the gate as specified. The gate cannot pass
    where the main runs have no effect that could be found again.
    """
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
        return Judged(rule, _stated(FAIL, told), numbers=numbers)
    open_ = [contrast for contrast in contrasts if not certain(contrast, least)]
    if _exceeds(main["value"]) and not open_:
        return Judged(rule, _stated(PASS, told), numbers=numbers)
    times = _times_above(open_, least)
    return Judged(rule, _stated(UNDECIDED, told), plan, times, numbers)


def _times_above(contrasts: Sequence[Contrast], least: float) -> float | None:
    """Return how many times as many decisions would lift every lower limit above
    `least`.

    Missing decisions count against the contrast. It returns None where an estimate
    itself is too low.
    """
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


# --- what would decide the open gates ------------------------------------------------------------

MOST_TIMES = 10  # a study of more than so many times the decisions is unaffordable


def settle(
    board: Sequence[dict[str, Any]],
    tables: Mapping[str, Table],
    design: Mapping[str, Any],
    command: Callable[[str, Sequence[int]], str],
) -> str | None:
    """Add to each gate what would decide it, and return the command that makes the
    missing runs, None where none is missing.

    A gate gets `decides`, in words or None, and `next`, a command or None. Where runs
    of several plans are missing, the returned command runs the whole study.
    `command(plan, seeds)` makes a command line.
    """
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
    """Return what would decide a gate at the observed rates, and the seeds of a study
    of that size.

    There are no seeds where no study of an affordable size would decide it.
    """
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
