"""What a study's result has to withstand: six credibility gates and seven tripwires.

    gates(Evidence(point, rows, tables))       is the effect what it is taken for?
    tripwires(rows, runs, texts)               did the instrument make it?

A gate has two verdicts. *As specified* is the specification's rule on the point estimate of round
1. *Established* asks whether the data exclude the alternative, over the first encounters of all
rounds, and decides: pass; fail (the rule fails, or the data exclude the claim); undecided (the data
would allow either); not evaluable (data are missing, which is no pass: `next` says what would bring
them). All six must pass, an intersection-union test without correction. An effect of the wrong sign
passes nothing.

A tripwire is `tripped` True, False or None (not checked, with the reason), with its figure: True
where an interval excludes the harmless value, its level shared over the cells compared; an estimate
beyond that value is not enough.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, combinations, islice
from typing import Any, NamedTuple

import stats
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
from common.wire import UNANSWERED
from show.figures import count, interval, p_is, percent, plain, points, signed
from stats.results import mean

PASS, FAIL, UNDECIDED, NOT_EVALUABLE = "pass", "fail", "undecided", "not evaluable"
MARGIN = 0.02  # largest difference of cooperation between label schemes
EFFECT_MARGIN = (
    0.10  # largest difference of the effect between them, and between orders
)
HALF = 0.5  # share of the effect that ablation must leave
MIN_DELTA = 0.2
WITHIN = 1 - 2 * ALPHA  # two one-sided tests at 5%
OUTSIDE = 1 - ALPHA / 3  # 5% shared over three pairs
SLACK = 1e-12  # what rounding leaves of an equality, as in 0.9 − 0.7 > 0.2
MAX_UNREADABLE = 0.03
MAX_TRUNCATION_GAP = 0.02
MAX_JACCARD = 0.3
# A policy of one of these statuses is no text to decide by.
NO_POLICY = ("refused", "truncated", "empty", "blocked")
Gate = dict[str, Any]
Wire = dict[str, Any]
Counts = Mapping[str, Counter]  # {cell: {status: answers}}
Texts = Mapping[
    tuple[int, str, int], Mapping[str, Sequence[str]]
]  # {(seed, domain, round):
Pairs = Mapping[tuple[int, int], float]  #  {cell: policies}}


class Evidence(NamedTuple):
    """`point`: the endpoint as specified; `rows`: primary decisions of round 1 and `tables`: the
    first encounters of all rounds, each by its part of the study."""

    point: Mapping[str, Any]
    rows: Mapping[str, Sequence[Decision]]
    tables: Mapping[str, Table]


def gates(study: Evidence, unfinished: Sequence[str]) -> list[Gate]:
    """The gate board; of an unfinished study no gate is evaluable."""
    return [
        {
            "gate": name,
            "title": title,
            "asks": asks,
            **(_missing("; ".join(unfinished)) if unfinished else judge(study)),
        }
        for name, (title, asks, judge) in GATES.items()
    ]


def _gate(
    by_rule: tuple[bool | None, str],
    established: tuple[str, str],
    plan: str | None = None,
    **numbers: Any,
) -> Gate:
    """Each verdict with its figure; `plan`: what would bring the data that are missing."""
    verdict = {True: PASS, False: FAIL, None: NOT_EVALUABLE}[by_rule[0]]
    return {
        "as_specified": {"verdict": verdict, "figure": by_rule[1]},
        "established": dict(zip(("verdict", "figure"), established, strict=True)),
        "next": plan if established[0] == NOT_EVALUABLE else None,
        "numbers": numbers,
    }


def _missing(why: str, plan: str | None = None) -> Gate:
    return _gate((None, why), (NOT_EVALUABLE, why), plan)


def _exceeds(value: float, least: float = 0.0) -> bool:
    return value > least + SLACK


def _too_few(contrast: Mapping[str, Any]) -> str | None:
    """Why a contrast can't be judged beyond its stimuli."""
    if contrast["value"] is None:
        return contrast["why"]
    short = [
        count(contrast[what], noun)
        for what, noun in (("units", "bulletin"), ("wordings", "wording"))
        if contrast[what] < MIN_UNITS
    ]
    return f"{' and '.join(short)} only, {MIN_UNITS} are needed" if short else None


# --- label invariance --------------------------------------------------------------------------


def labels(study: Evidence) -> Gate:
    """Cooperation differs between schemes by at most 2 points, and the effect between schemes and
    between orders by at most 10: 90% intervals inside (two one-sided tests). A difference fails
    where its interval at 5% shared over three pairs lies wholly outside."""
    read = [row for row in study.rows.get("main", ()) if row.cooperates is not None]
    schemes = sorted({row.label_scheme for row in read})
    if len(schemes) < 2:
        return _missing(
            "only one label scheme in the data" if schemes else "no decisions",
            "confirmatory",
        )
    rates = {
        scheme: mean([row.cooperates for row in read if row.label_scheme == scheme])
        for scheme in schemes
    }
    largest = max(rates.values()) - min(rates.values())
    table = study.tables.get("main", {})
    pairs = _pairs(
        table, "scheme", lambda cells: dict.fromkeys(cells, 1 / len(cells)), MARGIN
    )
    effects = {
        name: pair
        for factor in ("scheme", "order")
        for name, pair in _pairs(
            table,
            factor,
            lambda cells: weights_of(CONTRASTS["HP-LA"], cells),
            EFFECT_MARGIN,
        ).items()
    }
    return _gate(
        (
            largest <= MARGIN + SLACK,
            f"largest difference between schemes {plain(100 * largest, 1)} points",
        ),
        _within([*pairs.values(), *effects.values()]),
        "confirmatory",
        rates=rates,
        largest=largest,
        pairs=pairs,
        effects=effects,
    )


def _pairs(
    table: Table,
    factor: str,
    weigh: Callable[[set], Mapping],
    margin: float,
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
        weights = (
            {
                (level, *cell): sign * weight
                for level, sign in ((a, 1), (b, -1))
                for cell, weight in weigh(both).items()
            }
            if both
            else {}
        )
        inner, outer = (
            compared(f"{what}, {a} − {b}", counts, weights, level)
            for level in (WITHIN, OUTSIDE)
        )
        out[f"{a}−{b}"] = inner | {
            "least": outer["low"],
            "most": outer["high"],
            "margin": margin,
        }
    return out


def _within(pairs: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    if lacking := next(filter(None, map(_too_few, pairs)), None):
        return NOT_EVALUABLE, lacking
    beyond = [
        pair
        for pair in pairs
        if pair["least"] > pair["margin"] or pair["most"] < -pair["margin"]
    ]
    reaching = [
        pair for pair in pairs if max(-pair["low"], pair["high"]) >= pair["margin"]
    ]
    worst = max(
        beyond or reaching or pairs,
        key=lambda pair: max(-pair["low"], pair["high"]) / pair["margin"],
    )
    return (
        FAIL if beyond else UNDECIDED if reaching else PASS,
        f"{figure(worst)}; must lie inside ±{100 * worst['margin']:g}",
    )


# --- effects -----------------------------------------------------------------------------------


def first_encounter(study: Evidence) -> Gate:
    """The endpoint's estimate is positive; the contrast over bulletins lies above 0."""
    design = study.point["design"]
    return _above(
        study, _rule(design, points(design["value"])), {"main": ""}, "confirmatory"
    )


def size(study: Evidence) -> Gate:
    """Cliff's δ above 0.2, and the lower limit over bulletins: of 0/1 data δ is the primary
    contrast itself."""
    delta = study.point["delta"]
    return _above(
        study,
        _rule(delta, f"δ = {signed(delta['value'])}", MIN_DELTA),
        {"main": "δ × 100: "},
        "confirmatory",
        MIN_DELTA,
    )


def _rule(
    entry: Mapping[str, Any], words: str, least: float = 0.0
) -> tuple[bool | None, str]:
    return (
        (None, entry["why"])
        if entry["value"] is None
        else (_exceeds(entry["value"], least), words)
    )


def cross_domain(study: Evidence) -> Gate:
    """The same sign in hospital; the contrast over its own bulletins lies above 0."""
    return _again(study, {REPLICATION: ""}, f"no {REPLICATION} runs", "confirmatory", 0)


def holdout(study: Evidence) -> Gate:
    """The same sign on bulletins that no main run has; the contrast over them lies above 0."""
    held, usual = (
        {slot.bulletin for slot in study.tables.get(part, ())}
        for part in ("holdout", "main")
    )
    if both := held & usual:
        return _missing(
            f"{count(len(both), 'bulletin')} of the held-out runs are those of main "
            "runs",
            "holdout",
        )
    return _again(study, {"holdout": ""}, "no runs on held-out bulletins", "holdout", 0)


def ablation(study: Evidence) -> Gate:
    """In other words, and again without the tells: the same sign and half the size; the contrast
    over bulletins excludes 0 in both arms."""
    absent = " nor ".join(
        title for arm, title in ABLATION.items() if not study.rows.get(arm)
    )
    return _again(
        study,
        {arm: f"{title}: " for arm, title in ABLATION.items()},
        f"no runs {absent}",
        "ablation",
        HALF,
    )


def _again(
    study: Evidence, parts: Mapping[str, str], absent: str, plan: str, share: float
) -> Gate:
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
    met = _exceeds(main) and all(
        _exceeds(value) and value >= share * main - SLACK for value in values
    )
    rule = met, f"{'; '.join(map(points, values))} against {points(main)}"
    return _above(study, rule, parts, plan)


def _above(
    study: Evidence,
    rule: tuple[bool | None, str],
    parts: Mapping[str, str],
    plan: str,
    least: float = 0.0,
) -> Gate:
    """Whether the contrast of every part, {part: title}, lies above `least`, with what is missing
    counted against it; in main runs without an effect nothing is there to be found again."""
    main = effect(tally(study.tables.get("main", {})))
    effects = {part: effect(tally(study.tables.get(part, {}))) for part in parts}
    contrasts = effects.values()
    for contrast, brings in (
        (main, "confirmatory"),
        *((each, plan) for each in contrasts),
    ):
        if why := _too_few(contrast):
            return _gate(rule, (NOT_EVALUABLE, why), brings, effects=effects)
    proven = _exceeds(main["value"]) and all(certain(each, least) for each in contrasts)
    refuted = not all(_exceeds(each["value"], least) for each in contrasts)
    shown = "; ".join(title + extent(effects[part]) for part, title in parts.items())
    units = count(min(each["units"] for each in contrasts), "bulletin")
    return _gate(
        rule,
        (
            PASS if proven else FAIL if refuted else UNDECIDED,
            f"{shown}, {units}; must lie above {100 * least:g}",
        ),
        effects=effects,
    )


GATES: dict[str, tuple[str, str, Callable[[Evidence], Gate]]] = {
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


# --- tripwires: answers ------------------------------------------------------------------------


def tripwires(
    rows: Sequence[Decision], runs: Sequence[Mapping[str, Any]], texts: Texts
) -> list[Wire]:
    """The seven tripwires.

    `rows`: primary data of the main runs, both domains. `runs`: what the manifests count, `role`,
    `cell`, `statuses`, `served` and `upstreams` of each. `texts`: policies that can be read.
    """
    answers, written = (_answered(runs, what) for what in ("decision", "policy"))
    return [
        {"tripwire": name, "title": title, **wire}
        for name, title, wire in (
            (
                "unreadable",
                f"Unreadable answers above {MAX_UNREADABLE:.0%} in a cell",
                _too_many(answers, lambda of: of.total() - of["ok"], "no answers"),
            ),
            (
                "truncation",
                f"Truncation differs by more than {100 * MAX_TRUNCATION_GAP:g} points "
                "between cells",
                truncation(answers),
            ),
            (
                "position",
                "The option that stands first is chosen more, or less, often",
                position(rows),
            ),
            (
                "overlap",
                f"Policies share word 3-grams (Jaccard above {MAX_JACCARD:g})",
                overlap(texts),
            ),
            ("attrition", "Missing decisions differ by cell", attrition(rows)),
            (
                "policies",
                f"Policies refused or cut off above {MAX_UNREADABLE:.0%} in a cell",
                _too_many(
                    written,
                    lambda of: sum(of[name] for name in NO_POLICY),
                    "no policies",
                ),
            ),
            (
                "served",
                "More than one model or provider behind one name",
                several(runs),
            ),
        )
    ]


def _answered(runs: Sequence[Mapping[str, Any]], what: str) -> dict[str, Counter]:
    """{cell: {status: decisions, or policies}} of main runs, as far as they were answered."""
    cells: dict[str, Counter] = {}
    for run in runs:
        if run["role"] == "main":
            cells.setdefault(run["cell"], Counter()).update(
                {
                    status: n
                    for status, n in run["statuses"][what].items()
                    if status not in UNANSWERED
                }
            )
    return {
        cell: statuses for cell, statuses in sorted(cells.items()) if statuses.total()
    }


def _wire(tripped: bool | None, figure: str, **numbers: Any) -> Wire:
    return {"tripped": tripped, "figure": figure, "numbers": numbers}


def _too_many(counts: Counts, bad: Callable[[Counter], int], none: str) -> Wire:
    """Whether the share of `bad` ones in some cell is established above MAX_UNREADABLE."""
    if not counts:
        return _wire(None, none)
    shares = {
        cell: stats.share(bad(statuses), statuses.total(), 1 - ALPHA / len(counts))
        for cell, statuses in counts.items()
    }
    worst = max(shares, key=lambda cell: shares[cell].low)
    most = shares[worst]
    return _wire(
        most.low > MAX_UNREADABLE,
        f"{percent(most.value, 1)} ({most.k} of {most.n}, {worst}; at least "
        f"{percent(most.low, 1)})",
        cells={
            cell: {
                "k": share.k,
                "n": share.n,
                "share": share.value,
                "low": share.low,
                "high": share.high,
            }
            for cell, share in shares.items()
        },
    )


def truncation(answers: Counts) -> Wire:
    """The difference between two cells in the share of answers that were cut off."""
    if len(answers) < 2:
        return _wire(None, "fewer than two cells with answers")
    cut = {
        cell: (statuses["truncated"], statuses.total())
        for cell, statuses in answers.items()
    }
    pairs = list(
        combinations(sorted(cut, key=lambda cell: cut[cell][0] / cut[cell][1]), 2)
    )
    level = 1 - ALPHA / len(pairs)
    gaps = {
        (more, less): stats.newcombe_difference(*cut[more], *cut[less], level)
        for less, more in pairs
    }
    widest = max(gaps, key=lambda pair: gaps[pair].low)
    gap = gaps[widest]
    limits = interval(gap.low, gap.high, 1, sign=True, scale=100)
    return _wire(
        gap.low > MAX_TRUNCATION_GAP,
        f"{' against '.join(widest)}: {plain(100 * gap.value, 1)} points ({limits})",
        cells={cell: k / n for cell, (k, n) in cut.items()},
        gap={"value": gap.value, "low": gap.low, "high": gap.high},
    )


def position(rows: Sequence[Decision]) -> Wire:
    """Was the option shown first taken more, or less, often than the other?

    Exact sign-flip test over the slots whose order was drawn: a pair's encounter under a seed and
    domain, shared by all runs of the seed and both sides.
    """
    if len({row.option_order for row in rows}) < 2:
        return _wire(
            None, "one option order only: position and act can't be told apart"
        )
    taken = [row for row in rows if row.first_taken is not None]
    if not taken:
        return _wire(None, "no readable decisions")
    k, n, slots = sum(row.first_taken for row in taken), len(taken), Counter()
    for row in taken:
        slots[row.seed, row.domain, *sorted((row.agent, row.opponent))] += (
            2 * row.first_taken - 1
        )
    test = stats.sign_flip_test([slots[slot] for slot in sorted(slots)])
    if test.p is None:
        return _wire(None, f"{k} of {n}; no test: {test.why}", k=k, n=n)
    return _wire(
        test.p < ALPHA,
        f"{k} of {n} ({percent(k / n)}) took the first, {p_is(test.p)} "
        f"over {len(slots)} drawn orders",
        k=k,
        n=n,
        p=test.p,
        slots=len(slots),
    )


def attrition(rows: Sequence[Decision]) -> Wire:
    """Each cell's missing decisions against all others' (Fisher's exact test, Holm-adjusted)."""
    every = Counter(row.words for row in rows)
    missing = Counter(row.words for row in rows if row.cooperates is None)
    if len(every) < 2:
        return _wire(None, "fewer than two cells")
    k, n = missing.total(), every.total()
    p = [
        stats.fisher_exact(
            missing[cell], every[cell], k - missing[cell], n - every[cell]
        )
        for cell in every
    ]
    adjusted = dict(zip(every, stats.holm(p), strict=True))
    least = min(adjusted, key=adjusted.__getitem__)
    return _wire(
        adjusted[least] < ALPHA,
        f"{k} of {n} missing; most unusual: {missing[least]} of {every[least]} in {least},"
        f" {p_is(adjusted[least])} (Holm)",
        cells={
            cell: {"missing": missing[cell], "n": every[cell], "p_holm": adjusted[cell]}
            for cell in every
        },
    )


# --- tripwires: policies, servers --------------------------------------------------------------


def overlap(texts: Texts) -> Wire:
    """Mean word 3-gram Jaccard over pairs of agents of one run, round 1, averaged by cell; its
    lower limit by leaving out one policy at a time (jackknife; Efron & Stein 1981)."""
    alike: dict[str, list[Pairs]] = {}
    for (_, _, number), cells in sorted(texts.items()):
        for cell, written in cells.items() if number == 1 else ():
            alike.setdefault(cell, []).append(_jaccards(written))
    alike = {cell: runs for cell, runs in alike.items() if any(runs)}
    if not alike:
        return _wire(None, "no run with two policies of three words")
    cells = {
        cell: _mean_overlap(runs, 1 - ALPHA / len(alike))
        for cell, runs in alike.items()
    }
    worst = max(cells, key=lambda cell: cells[cell]["low"])
    return _wire(
        cells[worst]["low"] > MAX_JACCARD,
        f"{plain(cells[worst]['mean'])} on average ({worst}; at least "
        f"{plain(cells[worst]['low'])}); "
        f"{sum(cell['identical'] for cell in cells.values())} identical pairs",
        cells=cells,
    )


def _mean_overlap(runs: Sequence[Pairs], level: float) -> dict[str, Any]:
    """Mean over all pairs, and its lower limit; of fewer than three policies in all it is 0."""
    total, n = (
        math.fsum(v for pairs in runs for v in pairs.values()),
        sum(map(len, runs)),
    )
    rest = []  # the mean without each policy
    for pairs in runs:
        for policy in {policy for pair in pairs for policy in pair}:
            without = [v for pair, v in pairs.items() if policy in pair]
            if len(without) < n:
                rest.append((total - math.fsum(without)) / (n - len(without)))
    average, units, low = total / n, len(rest), 0.0
    if units > 2:
        t = stats.t_interval(
            [units * average - (units - 1) * left for left in rest], level
        )
        low = average if t.low is None else max(0.0, average - (t.high - t.low) / 2)
    return {
        "mean": average,
        "low": low,
        "pairs": n,
        "identical": sum(v == 1 for pairs in runs for v in pairs.values()),
    }


def _jaccards(texts: Sequence[str]) -> Pairs:
    grams = [stats.word_ngrams(text, 3) for text in texts]
    return {
        (a, b): v
        for a, b in combinations(range(len(grams)), 2)
        if (v := stats.jaccard(grams[a], grams[b])) is not None
    }


def several(runs: Sequence[Mapping[str, Any]]) -> Wire:
    """Names behind which more than one model or provider answered."""
    served = {
        name: {
            what: sorted({answer for run in runs for answer in run[key].get(name, ())})
            for what, key in (("models", "served"), ("providers", "upstreams"))
        }
        for name in dict.fromkeys(name for run in runs for name in run["served"])
    }
    figures = [
        f"{name}: {len(answers)} {what} ({', '.join(answers)})"
        for name, each in served.items()
        for what, answers in each.items()
        if len(answers) > 1
    ]
    return _wire(
        bool(figures) if served else None,
        "; ".join(figures) or ("one each" if served else "no answers"),
        served=served,
    )


# --- do agents' policies converge? Mean TF-IDF cosines within a cell and between cells -----------


def convergence(texts: Texts) -> list[dict[str, Any]]:
    """One row a round: similarity within cells, between them, their difference. Values are averaged
    over seeds and domains; a mean of nothing is None."""
    out = []
    for number in sorted({number for *_, number in texts}):
        both = zip(
            *(
                _similarities(cells)
                for (*_, at), cells in sorted(texts.items())
                if at == number
            ),
            strict=True,
        )
        within, between = (
            mean(values) if (values := list(chain(*lists))) else None for lists in both
        )
        out.append(
            {
                "round": number,
                "within": within,
                "between": between,
                "difference": None if None in (within, between) else within - between,
            }
        )
    return out


def _similarities(
    cells: Mapping[str, Sequence[str]],
) -> tuple[list[float], list[float]]:
    """([mean cosine in each cell], [the one between cells]) of those that have pairs."""
    vectors = stats.char_tfidf([text for texts in cells.values() for text in texts])
    rest = iter(vectors)
    groups = [list(islice(rest, len(texts))) for texts in cells.values()]
    within = [
        (value, len(group) * (len(group) - 1))
        for group in groups
        if (value := stats.mean_cosine(group)) is not None
    ]
    pairs = len(vectors) * (len(vectors) - 1)
    across = pairs - sum(n for _, n in within)
    whole = stats.mean_cosine(vectors)
    return [value for value, _ in within], [] if whole is None or not across else [
        (whole * pairs - math.fsum(value * n for value, n in within)) / across
    ]
