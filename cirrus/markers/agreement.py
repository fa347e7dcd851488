"""May a marker enter a claim? Weak labels against raters, raters against each other.

A family is adjudicated where two different raters or more have rated its policies blind, and the
lower 95% bound of Gwet's AC1 reaches 0.75 in every pair: each rater with the weak label, each
rater with each other. AC1 alone flatters a marker that hardly occurs, since all agree on its
absence: a pair must agree on a few that are present, and positive agreement stands beside it. What
markers then allow one to say, and what not, follows in sentences, and as a part of the report.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import stats
from cirrus.judge.contrasts import ALPHA
from cirrus.judge.endpoint import (
    RANDOM,
    SINGLE_LEVEL,
    formula,
    left_out_of,
    model_row,
    rounded,
)
from cirrus.judge.rows import Decision
from cirrus.markers.patterns import FAMILIES, Labels, marked
from cirrus.markers.ratings import Policy, Rater, item_id
from show.document import Code, Line, Table, Tag, Words
from show.figures import (
    Estimate,
    bracketed,
    count,
    interval,
    p_is,
    percent,
    plain,
    sentence,
    signed,
)

BAR = 0.75
WEAK = "weak label"
NAMES = {family: family.replace("_", " ") for family in FAMILIES}
MIN_RATED = 20  # items that both of a pair have labelled
MIN_PRESENT = 5  # of these, called present by both


def pair(a: str, b: str, rows: Sequence[tuple[bool, bool]]) -> dict[str, Any]:
    """Agreement of two on the items that both labelled; `why` where it can't decide."""
    both, ac1 = (
        sum(x and y for x, y in rows),
        stats.gwet_ac1(rows, labels=(True, False)),
    )
    reached, why = None, None
    if len(rows) < MIN_RATED:
        why = f"{len(rows)} policies labelled by both; {MIN_RATED} are needed"
    elif any(edge is not None and edge < BAR for edge in (ac1.low, ac1.value)):
        reached = False
    elif both < MIN_PRESENT:
        why = f"{both} called present by both; {MIN_PRESENT} are needed"
    else:
        reached, why = (None, ac1.why) if ac1.low is None else (True, None)
    return {
        "a": a,
        "b": b,
        "n": len(rows),
        "either": sum(x or y for x, y in rows),
        "both": both,
        "ac1": ac1._asdict(),
        "positive": stats.positive_agreement(rows)._asdict(),
        "reached": reached,
        "why": why,
    }


def pairs_of(
    family: str, weak: Mapping[str, Labels], raters: Sequence[Rater]
) -> list[dict]:
    """Every pair of raters, and each with the weak labels. `weak`: {item: labels}."""
    columns = [
        (name, {item: labels[item][family] for item in weak if item in labels})
        for name, labels in (
            (WEAK, weak),
            *((rater.name, rater.labels) for rater in raters),
        )
    ]
    return [
        pair(
            a,
            b,
            [
                (x[item], y[item])
                for item in x
                if x[item] is not None and y.get(item) is not None
            ],
        )
        for (a, x), (b, y) in combinations(columns, 2)
    ]


def obstacle(raters: Sequence[Rater], simulated: bool) -> str | None:
    """Why these raters can't adjudicate anything, None where they can."""
    if not raters:
        return "nobody has rated the policies"
    if len(raters) == 1:
        return f"{raters[0].name} is the only rater; two different ones are needed"
    if any(rater.simulated for rater in raters) and not simulated:
        return "simulated raters say nothing about policies of models"
    if unfinished := [rater.name for rater in raters if not rater.done]:
        return f"the adjudication by {' and '.join(unfinished)} is unfinished"
    for a, b in combinations(raters, 2):
        if shared := set(a.served) & set(b.served):
            return f"{a.name} and {b.name} were both served by {min(shared)}: one rater, not two"
    return None


def agreement(
    weak: Mapping[str, Labels], raters: Sequence[Rater], simulated: bool
) -> dict[str, dict[str, Any]]:
    """{family: its pairs, whether it is adjudicated, and why not}."""
    stopped, out = obstacle(raters, simulated), {}
    for family in FAMILIES:
        pairs = pairs_of(family, weak, raters)
        verdict, why = (None, stopped) if stopped else _verdict(pairs)
        lows = [pair["ac1"]["low"] for pair in pairs if pair["ac1"]["low"] is not None]
        out[family] = {
            "adjudicated": verdict,
            "why": why,
            "pairs": pairs,
            "lowest": None if verdict is None else min(lows, default=None),
        }
    return out


def _low(pair: Mapping[str, Any]) -> float:
    """The lower bound, the value itself where there is no bound."""
    return pair["ac1"]["value"] if pair["ac1"]["low"] is None else pair["ac1"]["low"]


def _verdict(pairs: Sequence[Mapping]) -> tuple[bool | None, str | None]:
    if short := [pair for pair in pairs if pair["reached"] is False]:
        worst = min(short, key=_low)
        return False, (
            f"AC1 of {worst['a']} and {worst['b']} may be as low as "
            f"{_low(worst):.2f}; {BAR} is needed"
        )
    if unknown := next((pair for pair in pairs if pair["reached"] is None), None):
        return None, f"{unknown['a']} and {unknown['b']}: {unknown['why']}"
    return True, None


# --- do markers predict decisions beyond the cell? An association: nobody assigned them -----------

MARKED = ("acausal", "compliance")


def validity(rows: Iterable[Decision], labels: Mapping[str, Labels]) -> dict[str, Any]:
    """The model on readable decisions. `labels`: {policy id: weak labels}."""
    data = [
        model_row(row)
        | {"cell": f"{row.domain} S.{row.S}-C.{row.C}-H.{row.H}"}
        | {name: int(labels[row.policy][name]) for name in MARKED}
        for row in rows
        if row.cooperates is not None
    ]
    left_out = {name: why for name, why in left_out_of(data).items() if name in RANDOM}
    left_out |= {
        name: SINGLE_LEVEL
        for name in ("cell", *MARKED)
        if len({row[name] for row in data}) < 2
    }
    fixed = [name for name in ("cell", *MARKED) if name not in left_out]
    random = [name for name in (*RANDOM, "policy") if name not in left_out]
    out = {
        "formula": formula(fixed, random),
        "rows": len(data),
        "left_out": left_out,
        "terms": None,
        "acausal": None,
        "separated": False,
        "why": None,
    }
    if not data:
        return out | {"why": "no readable decision"}
    if "acausal" in left_out:
        every = "every" if data[0]["acausal"] else "no"
        return out | {
            "why": f"{every} policy has the acausal marker: nothing can be compared"
        }
    return out | _fitted(data, fixed, random)


def _fitted(
    data: Sequence[Mapping], fixed: list[str], random: list[str]
) -> dict[str, Any]:
    full = stats.fit_mixed_logit(data, "coop", fixed, random)
    if full.log_likelihood is None:
        return {"why": full.why, "separated": (full.why or "").startswith("separation")}
    terms = {c.name: c._asdict() for c in full.coefficients if c.name in MARKED}
    reduced = stats.fit_mixed_logit(
        data, "coop", [name for name in fixed if name != "acausal"], random
    )
    ratio = stats.likelihood_ratio(full, reduced)
    return {
        "terms": rounded(terms),
        "why": full.why,
        "acausal": rounded(
            {"estimate": terms["acausal"]["estimate"], "scale": "log odds"}
            | ratio._asdict()
        ),
    }


def rationales(rows: Iterable[Decision]) -> dict[str, dict[str, dict[str, int]]]:
    """{family: {decision: k of n rationales that hold a codebook pattern}}: description only."""
    labels: dict[str, list[Labels]] = {}
    for row in rows:
        if row.decision is not None:
            after = re.sub(
                r"\A\s*[^\r\n]*", "", row.text
            )  # the first line that says something
            labels.setdefault(row.decision, []).append(marked(after))
    return {
        family: {
            decision: {"k": sum(label[family] for label in listed), "n": len(listed)}
            for decision, listed in sorted(labels.items())
        }
        for family in FAMILIES
    }


# --- the `markers` block of acausal-analysis.json ------------------------------------------------


def analyse(
    policies: Sequence[Policy],
    primary: Sequence[Decision],
    raters: Sequence[Rater],
    simulated: bool,
) -> dict[str, Any]:
    """`policies`: those of round 1 of the main runs. `primary`: their first encounters."""
    weak = {item_id(policy.text): policy.weak for policy in policies}
    verdicts = agreement(weak, raters, simulated)
    return {
        "status": status(verdicts),
        "bar": BAR,
        "adjudicated": [name for name in FAMILIES if verdicts[name]["adjudicated"]],
        "cells": cells(policies),
        "texts": len(weak),
        "raters": [_rater(rater, weak) for rater in raters],
        "agreement": verdicts,
        "validity": validity(primary, {policy.id: policy.weak for policy in policies}),
        "rationales": rationales(primary),
    }


def status(verdicts: Mapping[str, Mapping]) -> str:
    yes, no = (
        ", ".join(
            NAMES[family]
            for family in FAMILIES
            if bool(verdicts[family]["adjudicated"]) is adjudicated
        )
        for adjudicated in (True, False)
    )
    if not yes:
        return "unadjudicated: enters no claim"
    return f"adjudicated: {yes}" + (f"; unadjudicated: {no}" if no else "")


def cells(policies: Iterable[Policy]) -> dict[str, dict[str, Any]]:
    """{cell: policies, and for each family the k of n that have the weak label, with Wilson's
    interval}."""
    weak: dict[str, list[Labels]] = {}
    for policy in policies:
        weak.setdefault(policy.cell, []).append(policy.weak)
    out: dict[str, dict[str, Any]] = {}
    for cell, labels in sorted(weak.items()):
        n, out[cell] = len(labels), {"policies": len(labels)}
        for family in FAMILIES:
            k = sum(label[family] for label in labels)
            limits = stats.wilson_interval(k, n)
            out[cell][family] = {
                "k": k,
                "n": n,
                "share": k / n,
                "low": limits.low,
                "high": limits.high,
            }
    return out


def _rater(rater: Rater, items: Mapping[str, Any]) -> dict[str, Any]:
    here = [labels for item, labels in rater.labels.items() if item in items]
    return {
        "rater": rater.name,
        "kind": rater.kind,
        "simulated": rater.simulated,
        "done": rater.done,
        "served": list(rater.served),
        "statuses": rater.statuses,
        "rated": sum(any(v is not None for v in labels.values()) for labels in here),
        "elsewhere": len(rater.labels) - len(here),
    }


# --- what they allow one to say -----------------------------------------------------------------


def may(markers: Mapping[str, Any]) -> Iterator[str]:
    for family in markers["adjudicated"]:
        lowest = plain(markers["agreement"][family]["lowest"])
        yield (
            f"{NAMES[family].capitalize()} markers can be read from policies (AC1 at least "
            f"{lowest}): {_extremes(markers, family)}."
        )
    if "acausal" in markers["adjudicated"] and predicts(markers):
        fit = markers["validity"]["acausal"]
        yield (
            "Decisions that rest on a policy with an acausal marker are cooperative more often "
            f"than others of their cell ({signed(fit['estimate'])} log odds, likelihood ratio "
            f"{p_is(fit['p'])}): an association, since nobody assigned the marker."
        )


def may_not(markers: Mapping[str, Any]) -> Iterator[str]:
    if not markers["adjudicated"]:
        yield (
            f"Anything from markers: they are unadjudicated and enter no claim "
            f"({markers['agreement']['acausal']['why']})."
        )
        return
    for family in FAMILIES:
        if family not in markers["adjudicated"]:
            yield (
                f"Anything from {NAMES[family]} markers: unadjudicated "
                f"({markers['agreement'][family]['why']})."
            )
    if "acausal" in markers["adjudicated"] and not predicts(markers):
        yield f"That acausal markers predict decisions beyond the cell: {beyond(markers)}."


def predicts(markers: Mapping[str, Any]) -> bool:
    """Whether the acausal term is shown, with more cooperation where it is present."""
    fit = markers["validity"]["acausal"]
    return (
        fit is not None
        and fit["p"] is not None
        and fit["p"] < ALPHA
        and fit["estimate"] > 0
    )


def beyond(markers: Mapping[str, Any]) -> str:
    """The acausal term in words, or why there is none."""
    fit = markers["validity"]["acausal"]
    if fit is None or fit["p"] is None:
        return f"no test ({markers['validity']['why'] or 'a reduced model has no likelihood'})"
    return f"{signed(fit['estimate'])} log odds, likelihood ratio {p_is(fit['p'])}"


def _extremes(markers: Mapping[str, Any], family: str) -> str:
    """Where the marker stands most and least often."""
    cells = {cell: shares[family] for cell, shares in markers["cells"].items()}
    most, least = (
        pick(cells, key=lambda cell: cells[cell]["share"]) for pick in (max, min)
    )
    return " and ".join(
        f"in {cells[cell]['k']} of {cells[cell]['n']} of {cell}"
        for cell in dict.fromkeys((most, least))
    )


# --- their part of the report -------------------------------------------------------------------

CELLS_NOTE = (
    "Share of the policies of round 1 (main runs) that hold one of the codebook's patterns outside "
    "a denial. Patterns miss most wordings. From policies, which precede decisions."
)
AGREEMENT_NOTE = (
    "AC1: Gwet's coefficient with its 95% interval. Positive agreement: of all the times a marker "
    "was called present, how often the other called it so too. A family enters claims where the "
    "lower bound reaches {bar} in every pair."
)


def blocks(markers: Mapping[str, Any]) -> Iterator[Words | Table]:
    """Shares by cell, who agreed with whom, and whether the marker predicts anything."""
    yield Words(sentence(markers["status"]))
    if markers["cells"]:
        yield Table(
            ["cell", "policies", *NAMES.values()],
            [
                [
                    cell,
                    str(row["policies"]),
                    *(percent(row[family]["share"]) for family in FAMILIES),
                ]
                for cell, row in markers["cells"].items()
            ],
            range(1, 2 + len(NAMES)),
            "Share of policies by cell",
            "markers",
        )
        yield Words(CELLS_NOTE, "dim")
    yield Words(_raters(markers))
    if markers["raters"]:
        yield _agreement(markers)
        yield Words(AGREEMENT_NOTE.format(bar=markers["bar"]), "dim")
    yield Words(_validity(markers))


def _raters(markers: Mapping[str, Any]) -> str:
    """Who rated how much."""
    if not markers["raters"]:
        return (
            "Nobody has rated these policies: adjudicate.py asks two models, "
            "--export-ratings writes a sheet for people."
        )
    rated = []
    for rater in markers["raters"]:
        kind = "SIMULATED" if rater["simulated"] else rater["kind"]
        rest = "".join(
            f", {n} {status}"
            for status, n in rater["statuses"].items()
            if status != "ok" and n
        )
        other = (
            f", {rater['elsewhere']} of other policies" if rater["elsewhere"] else ""
        )
        rated.append(f"{rater['rater']} ({kind}): {rater['rated']} rated{rest}{other}")
    texts = count(markers["texts"], "different policy text")
    return f"Raters, of {texts}: {'; '.join(rated)}."


def _validity(markers: Mapping[str, Any]) -> list[Line]:
    """Whether the acausal marker says anything beyond the cell."""
    model = markers["validity"]
    names = "; ".join(
        f"{name} ({why})" for name, why in sorted(model["left_out"].items())
    )
    left = f" Left out: {names}." if names else ""
    use = (
        ""
        if "acausal" in markers["adjudicated"]
        else " Unadjudicated: for description only."
    )
    return [
        "Validity,",
        Code(model["formula"]),
        f"on {count(model['rows'], 'decision')}: "
        f"acausal term {beyond(markers)}.{left}{use}",
    ]


def _agreement(markers: Mapping[str, Any]) -> Table:
    """One row for each family and pair."""
    return Table(
        [
            "family",
            "pair",
            "policies",
            "present: both of either",
            "AC1 (95%)",
            "positive agreement",
            f"lower bound ≥ {markers['bar']}",
        ],
        [
            [
                NAMES[family],
                f"{pair['a']} – {pair['b']}",
                str(pair["n"]),
                f"{pair['both']} of {pair['either']}",
                _coefficient(pair["ac1"]),
                plain(pair["positive"]["value"]),
                pair["why"]
                if pair["reached"] is None
                else Tag(word := "yes" if pair["reached"] else "no", word),
            ]
            for family in FAMILIES
            for pair in markers["agreement"][family]["pairs"]
        ],
        (2, 3, 4, 5),
        "Who agrees with whom, by marker",
        "agreement",
    )


def _coefficient(ac1: Mapping[str, Any]) -> Estimate:
    limits = ac1["low"], ac1["high"]
    return Estimate(
        bracketed(plain(ac1["value"]), interval(*limits)), ac1["value"], *limits
    )
