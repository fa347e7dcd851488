"""The six credibility gates, each with two verdicts: as specified, and established.

*As specified* is the specification's rule on the point estimate of round 1. *Established* asks
whether the data exclude the alternative, over the first encounters of all rounds, and decides:
pass; fail (the rule fails, or the data exclude the claim); undecided (the data would allow either);
not evaluable (data are missing, which is no pass: `next` says what would bring them). All six must
pass, an intersection-union test without correction. An effect of the wrong sign passes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from cirrus.ask.design import ABLATION, REPLICATION
from cirrus.judge.accounts import extent, figure
from cirrus.judge.contrasts import (
    ALPHA,
    CONTRASTS,
    MIN_UNITS,
    Table,
    certain,
    compared,
    effect,
    levels_of,
    tally,
    weights_of,
)
from cirrus.judge.endpoint import by_agent, specified
from cirrus.judge.rows import Decision
from show.figures import count, plain, points, signed
from stats.results import mean

PASS, FAIL, UNDECIDED, NOT_EVALUABLE = "pass", "fail", "undecided", "not evaluable"
MARGIN = 0.02          # largest difference of cooperation between label schemes
EFFECT_MARGIN = 0.10   # largest difference of the effect between them, and between orders
HALF = 0.5             # share of the effect that ablation must leave
MIN_DELTA = 0.2
WITHIN = 1 - 2 * ALPHA     # two one-sided tests at 5%
OUTSIDE = 1 - ALPHA / 3    # 5% shared over three pairs
SLACK = 1e-12              # what rounding leaves of an equality, as in 0.9 − 0.7 > 0.2
Gate = dict[str, Any]


class Evidence(NamedTuple):
    """`point`: the endpoint as specified; `rows`: primary decisions of round 1 and `tables`: the
    first encounters of all rounds, each by its part of the study."""

    point: Mapping[str, Any]
    rows: Mapping[str, Sequence[Decision]]
    tables: Mapping[str, Table]


def gates(study: Evidence, unfinished: Sequence[str] = ()) -> list[Gate]:
    """The gate board; of an unfinished study no gate is evaluable."""
    return [{"gate": name, "title": title, "asks": asks,
             **(_missing("; ".join(unfinished)) if unfinished else judge(study))}
            for name, (title, asks, judge) in GATES.items()]


def _gate(by_rule: tuple[bool | None, str], established: tuple[str, str],
          plan: str | None = None, **numbers: Any) -> Gate:
    """Each verdict with its figure; `plan`: what would bring the data that are missing."""
    verdict = {True: PASS, False: FAIL, None: NOT_EVALUABLE}[by_rule[0]]
    return {"as_specified": {"verdict": verdict, "figure": by_rule[1]},
            "established": dict(zip(("verdict", "figure"), established, strict=True)),
            "next": plan if established[0] == NOT_EVALUABLE else None, "numbers": numbers}


def _missing(why: str, plan: str | None = None) -> Gate:
    return _gate((None, why), (NOT_EVALUABLE, why), plan)


def _exceeds(value: float, least: float = 0.0) -> bool:
    return value > least + SLACK


def _too_few(contrast: Mapping[str, Any]) -> str | None:
    """Why a contrast can't be judged beyond its stimuli."""
    if contrast["value"] is None:
        return contrast["why"]
    short = [count(contrast[what], noun) for what, noun in (
        ("units", "bulletin"), ("wordings", "wording")) if contrast[what] < MIN_UNITS]
    return f"{' and '.join(short)} only, {MIN_UNITS} are needed" if short else None


# --- label invariance --------------------------------------------------------------------------

def labels(study: Evidence) -> Gate:
    """Cooperation differs between schemes by at most 2 points, and the effect between schemes and
    between orders by at most 10: 90% intervals inside (two one-sided tests). A difference fails
    where its interval at 5% shared over three pairs lies wholly outside."""
    read = [row for row in study.rows.get("main", ()) if row.cooperates is not None]
    schemes = sorted({row.label_scheme for row in read})
    if len(schemes) < 2:
        return _missing("only one label scheme in the data" if schemes else "no decisions",
                        "confirmatory")
    rates = {scheme: mean([row.cooperates for row in read if row.label_scheme == scheme])
             for scheme in schemes}
    largest = max(rates.values()) - min(rates.values())
    table = study.tables.get("main", {})
    pairs = _pairs(table, "scheme", lambda cells: dict.fromkeys(cells, 1 / len(cells)), MARGIN)
    effects = {name: pair for factor in ("scheme", "order") for name, pair in _pairs(
        table, factor, lambda cells: weights_of(CONTRASTS["HP-LA"], cells), EFFECT_MARGIN).items()}
    return _gate((largest <= MARGIN + SLACK,
                  f"largest difference between schemes {plain(100 * largest, 1)} points"),
                 _within([*pairs.values(), *effects.values()]), "confirmatory",
                 rates=rates, largest=largest, pairs=pairs, effects=effects)


def _pairs(table: Table, factor: str, weigh: Callable[[set], Mapping], margin: float,
           ) -> dict[str, dict[str, Any]]:
    """What two levels of a factor differ by, inside bulletins: the contrast at 90%, with its limits
    at 5% shared over three pairs, `least` and `most`. `weigh`: the weights of the cells that both
    levels have."""
    counts = tally(table, lambda slot: (getattr(slot, factor), slot.cell, slot.H))
    cells = {cell for held in counts.values() for cell in held}
    what = "cooperation" if margin == MARGIN else "effect"
    out = {}
    for a, b in combinations(levels_of(table, factor), 2):
        both = {cell[1:] for cell in cells if cell[0] == a and (b, *cell[1:]) in cells}
        weights = {(level, *cell): sign * weight for level, sign in ((a, 1), (b, -1))
                   for cell, weight in weigh(both).items()} if both else {}
        inner, outer = (compared(f"{what}, {a} − {b}", counts, weights, level)
                        for level in (WITHIN, OUTSIDE))
        out[f"{a}−{b}"] = inner | {"least": outer["low"], "most": outer["high"], "margin": margin}
    return out


def _within(pairs: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    if lacking := next(filter(None, map(_too_few, pairs)), None):
        return NOT_EVALUABLE, lacking
    beyond = [pair for pair in pairs
              if pair["least"] > pair["margin"] or pair["most"] < -pair["margin"]]
    reaching = [pair for pair in pairs
                if max(-pair["low"], pair["high"]) >= pair["margin"]]
    worst = max(beyond or reaching or pairs, key=lambda pair: max(
        -pair["low"], pair["high"]) / pair["margin"])
    return (FAIL if beyond else UNDECIDED if reaching else PASS,
            f"{figure(worst)}; must lie inside ±{100 * worst['margin']:g}")


# --- effects -----------------------------------------------------------------------------------

def first_encounter(study: Evidence) -> Gate:
    """The endpoint's estimate is positive; the contrast over bulletins lies above 0."""
    design = study.point["design"]
    return _above(study, _rule(design, points(design["value"])), {"main": ""}, "confirmatory")


def size(study: Evidence) -> Gate:
    """Cliff's δ above 0.2, and the lower limit over bulletins: of 0/1 data δ is the primary
    contrast itself."""
    delta = study.point["delta"]
    return _above(study, _rule(delta, f"δ = {signed(delta['value'])}", MIN_DELTA),
                  {"main": "δ × 100: "}, "confirmatory", MIN_DELTA)


def _rule(entry: Mapping[str, Any], words: str, least: float = 0.0) -> tuple[bool | None, str]:
    return (None, entry["why"]) if entry["value"] is None else (
        _exceeds(entry["value"], least), words)


def cross_domain(study: Evidence) -> Gate:
    """The same sign in hospital; the contrast over its own bulletins lies above 0."""
    return _again(study, {REPLICATION: ""}, f"no {REPLICATION} runs", "confirmatory", 0)


def holdout(study: Evidence) -> Gate:
    """The same sign on bulletins that no main run has; the contrast over them lies above 0."""
    held, usual = ({slot.bulletin for slot in study.tables.get(part, ())}
                   for part in ("holdout", "main"))
    if both := held & usual:
        return _missing(f"{count(len(both), 'bulletin')} of the held-out runs are those of main "
                        "runs", "holdout")
    return _again(study, {"holdout": ""}, "no runs on held-out bulletins", "holdout", 0)


def ablation(study: Evidence) -> Gate:
    """In other words, and again without the tells: the same sign and half the size; the contrast
    over bulletins excludes 0 in both arms."""
    absent = " nor ".join(title for arm, title in ABLATION.items() if not study.rows.get(arm))
    return _again(study, {arm: f"{title}: " for arm, title in ABLATION.items()},
                  f"no runs {absent}", "ablation", HALF)


def _again(study: Evidence, parts: Mapping[str, str], absent: str, plan: str, share: float) -> Gate:
    """The effect of main runs in other parts, {part: title}, where at least `share` of it must be
    left as specified."""
    if not all(study.rows.get(part) for part in parts):
        return _missing(absent, plan)
    main = study.point["design"]["value"]
    again = [specified(by_agent(study.rows[part])) for part in parts]
    values = [contrast["value"] for contrast in again]
    if None in values:
        return _missing(again[values.index(None)]["why"], plan)
    if main is None:
        return _missing("no effect as specified", "confirmatory")
    met = _exceeds(main) and all(_exceeds(value) and value >= share * main - SLACK
                                 for value in values)
    rule = met, f"{'; '.join(map(points, values))} against {points(main)}"
    return _above(study, rule, parts, plan)


def _above(study: Evidence, rule: tuple[bool | None, str], parts: Mapping[str, str], plan: str,
           least: float = 0.0) -> Gate:
    """Whether the contrast of every part, {part: title}, lies above `least`, with what is missing
    counted against it; in main runs without an effect nothing is there to be found again."""
    main = effect(tally(study.tables.get("main", {})))
    effects = {part: effect(tally(study.tables.get(part, {}))) for part in parts}
    contrasts = effects.values()
    for contrast, brings in ((main, "confirmatory"), *((each, plan) for each in contrasts)):
        if why := _too_few(contrast):
            return _gate(rule, (NOT_EVALUABLE, why), brings, effects=effects)
    proven = _exceeds(main["value"]) and all(certain(each, least) for each in contrasts)
    refuted = not all(_exceeds(each["value"], least) for each in contrasts)
    shown = "; ".join(title + extent(effects[part]) for part, title in parts.items())
    units = count(min(each["units"] for each in contrasts), "bulletin")
    return _gate(rule, (PASS if proven else FAIL if refuted else UNDECIDED,
                        f"{shown}, {units}; must lie above {100 * least:g}"), effects=effects)


GATES: dict[str, tuple[str, str, Callable[[Evidence], Gate]]] = {
    "labels": ("Label invariance", "Is it the act that is chosen, and not the word or letter?",
               labels),
    "first_encounter": ("First encounter", "Is there an effect before any history?",
                        first_encounter),
    "cross_domain": ("Cross-domain", "Does it hold in the hospital scenario?", cross_domain),
    "ablation": ("Prompt-tell ablation", "Does it survive other words, and no mention of AI?",
                 ablation),
    "holdout": ("Holdout", "Does it hold on bulletins that nobody tuned on?", holdout),
    "effect_size": ("Effect size", "Is it large enough to matter?", size),
}
