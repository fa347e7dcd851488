"""Labels policies by their reasoning ("markers"), and says how far raters agree on the
labels.

    out = analyse(policies, primary, raters, simulated)     the `markers` of acausal-analysis.json
    labels_of(raters, out["adjudicated"])                   {item: {family: True, False or None}}

A family is a kind of reasoning, such as acausal. It is adjudicated where two or more
different raters have rated the policies blind, and every pair of raters reaches Gwet's
AC1 of 0.75, as specified. Its label is then the raters' consensus, on which shares by
cell, the validity model and the exports rest. A text that a rater skipped, or on which
raters disagree, has no label and is counted as such. Any other family is labelled by
the codebook's patterns alone, and no claim uses it.

The interval of AC1 and positive agreement are reported too, because AC1 alone is high
for a marker that hardly occurs.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Any

import stats
from cirrus.judge.contrasts import ALPHA
from cirrus.judge.endpoint import (
    GROUPS,
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
    NONE,
    Estimate,
    bracketed,
    count,
    counted,
    interval,
    p_is,
    percent,
    plain,
    rate,
    sentence,
    signed,
)

BAR = 0.75  # smallest AC1 that counts as agreement
NAMES = {family: family.replace("_", " ") for family in FAMILIES}
MIN_RATED = 20  # texts that both raters of a pair must have labelled
CONSENSUS, PATTERNS = "consensus", "patterns"


# --- who agrees with whom ----------------------------------------------------------------------


def pair(a: str, b: str, rows: Sequence[tuple[bool, bool]]) -> dict[str, Any]:
    """Return the agreement of two raters on the texts that both have labelled.

    `rows` has (label of `a`, label of `b`) of each text. `reached` says whether AC1
    reaches the bar; it is None, with the reason in `why`, where the data can't tell.
    """
    both = sum(x and y for x, y in rows)
    ac1 = stats.gwet_ac1(rows)
    reached, why = None, None
    if len(rows) < MIN_RATED:
        why = f"{count(len(rows), 'policy text')} labelled by both; {MIN_RATED} are needed"
    elif ac1.value is None:
        why = ac1.why
    else:
        reached = ac1.value >= BAR
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
    family: str, items: Collection[str], raters: Sequence[Rater]
) -> list[dict[str, Any]]:
    """Return the agreement of every two raters on a family's labels of these items."""
    out = []
    for a, b in combinations(raters, 2):
        rows = []
        for item in items:
            x, y = _label(a, item, family), _label(b, item, family)
            if x is not None and y is not None:
                rows.append((x, y))
        out.append(pair(a.name, b.name, rows))
    return out


def _label(rater: Rater, item: str, family: str) -> bool | None:
    """Return a rater's label of an item, None where there is none."""
    return rater.labels.get(item, {}).get(family)


def obstacle(raters: Sequence[Rater], simulated: bool) -> str | None:
    """Return why these raters can't adjudicate any family, None where they can."""
    if not raters:
        return "nobody has rated the policies"
    if len(raters) == 1:
        return f"{raters[0].name} is the only rater; two different ones are needed"
    if any(rater.simulated for rater in raters) and not simulated:
        return "simulated raters say nothing about policies of models"
    unfinished = [rater.name for rater in raters if not rater.done]
    if unfinished:
        return f"the adjudication by {' and '.join(unfinished)} is unfinished"
    for a, b in combinations(raters, 2):
        shared = set(a.served) & set(b.served)
        if shared:
            return f"{a.name} and {b.name} were both served by {min(shared)}: one rater, not two"
    return None


def agreement(
    weak: Mapping[str, Labels], raters: Sequence[Rater], simulated: bool
) -> dict[str, dict[str, Any]]:
    """Return for each family the agreement of its pairs of raters, whether it is
    adjudicated and, if not, the reason.

    `weak` is {item: its labels by patterns}.
    """
    stopped, out = obstacle(raters, simulated), {}
    for family in FAMILIES:
        pairs = pairs_of(family, weak, raters)
        verdict, why = (None, stopped) if stopped else _verdict(pairs)
        values = [each["ac1"]["value"] for each in pairs]
        known = [value for value in values if value is not None]
        out[family] = {
            "adjudicated": verdict,
            "source": CONSENSUS if verdict else PATTERNS,
            "why": why,
            "pairs": pairs,
            "lowest": None if verdict is None else min(known, default=None),
        }
    return out


def _verdict(pairs: Sequence[Mapping]) -> tuple[bool | None, str | None]:
    """Return (whether all pairs reach the bar, why not). The first is None where no
    pair misses the bar, but some pair can't tell."""
    short = [pair for pair in pairs if pair["reached"] is False]
    if short:
        worst = min(short, key=lambda pair: pair["ac1"]["value"])
        value = worst["ac1"]["value"]
        who = f"{worst['a']} and {worst['b']}"
        return False, f"AC1 of {who} is {value:.2f}; {BAR} is needed"
    for each in pairs:
        if each["reached"] is None:
            return None, f"{each['a']} and {each['b']}: {each['why']}"
    return True, None


# --- the label ---------------------------------------------------------------------------------


def labels_of(
    raters: Sequence[Rater], adjudicated: Sequence[str]
) -> dict[str, dict[str, bool | None]]:
    """Return the raters' consensus on every item that anybody has rated: {item:
    {adjudicated family: label}}.

    A label is None where a rater skipped the item or raters disagree.
    """
    items = set(chain.from_iterable(rater.labels for rater in raters))
    labels: dict[str, dict[str, bool | None]] = {}
    for item in sorted(items):
        labels[item] = {name: _consensus(raters, item, name) for name in adjudicated}
    return labels


def _consensus(raters: Sequence[Rater], item: str, family: str) -> bool | None:
    """Return the label on which all raters agree, None where they don't."""
    said = {_label(rater, item, family) for rater in raters}
    return said.pop() if len(said) == 1 else None


def used_labels(
    policies: Iterable[Policy],
    agreed: Mapping[str, Mapping[str, bool | None]],
    adjudicated: Sequence[str],
) -> dict[str, dict[str, bool | None]]:
    """Return {policy id: {family: label}}. The label is the consensus (`agreed`) where
    the family is adjudicated, else the one by patterns."""
    nothing = dict.fromkeys(adjudicated)
    labels: dict[str, dict[str, bool | None]] = {}
    for policy in policies:
        known = agreed.get(item_id(policy.text), nothing)
        labels[policy.id] = {**policy.weak, **known}
    return labels


def weak_against(
    weak: Mapping[str, Labels], agreed: Mapping[str, Labels], family: str
) -> dict[str, Any]:
    """Return recall and precision of a family's patterns (`weak`) against the
    consensus (`agreed`), with Wilson's intervals."""
    found = present = marked_ones = 0
    for item, labels in agreed.items():
        if item not in weak or labels[family] is None:
            continue
        hit = bool(weak[item][family])
        called = bool(labels[family])
        present += called
        marked_ones += hit
        found += hit and called
    return {
        "recall": stats.share(found, present)._asdict(),
        "precision": stats.share(found, marked_ones)._asdict(),
    }


# --- do markers predict decisions beyond the cell? ------------------------------------------------
# That markers predict decisions is an association only, since nobody assigned the markers.

MARKED = ("acausal", "compliance")
UNTESTED = {"terms": None, "acausal": None, "separated": False, "why": None}


def validity(rows: Iterable[Decision], labels: Mapping[str, Labels]) -> dict[str, Any]:
    """Fit a model of decisions by cell and markers, which says whether the acausal
    marker predicts decisions beyond the cell.

    Only readable decisions enter whose policy has labels for both markers. `labels` is
    {policy id: {family: label or None}}.
    """
    data = []
    for row in rows:
        if row.cooperates is None:
            continue
        marks = {name: labels[row.policy][name] for name in MARKED}
        if None in marks.values():
            continue
        cell = f"{row.domain} S.{row.S}-C.{row.C}-H.{row.H}"
        data.append(model_row(row) | marks | {"cell": cell})
    left_out = {name: why for name, why in left_out_of(data).items() if name in GROUPS}
    for name in ("cell", *MARKED):
        if len({row[name] for row in data}) < 2:
            left_out[name] = SINGLE_LEVEL
    fixed = [name for name in ("cell", *MARKED) if name not in left_out]
    random = [name for name in GROUPS if name not in left_out]
    out = {"formula": formula(fixed, random), "rows": len(data), "left_out": left_out}
    out |= UNTESTED
    if not data:
        return out | {"why": "no readable decision"}
    if "acausal" in left_out:
        every = "every" if data[0]["acausal"] else "no"
        why = f"{every} policy has the acausal marker: nothing can be compared"
        return out | {"why": why}
    return out | _fitted(data, fixed, random)


def _fitted(
    data: Sequence[dict[str, Any]], fixed: list[str], random: list[str]
) -> dict[str, Any]:
    """Return the markers' coefficients, and the likelihood ratio test of the acausal
    marker; only `why` and `separated` where the model can't be fitted."""
    full = stats.fit_mixed_logit(data, "coop", fixed, random)
    if full.log_likelihood is None:
        return {"why": full.why, "separated": (full.why or "").startswith("separation")}
    terms = {c.name: c._asdict() for c in full.coefficients if c.name in MARKED}
    rest = [name for name in fixed if name != "acausal"]
    reduced = stats.fit_mixed_logit(data, "coop", rest, random)
    ratio = stats.likelihood_ratio(full, reduced)
    acausal = {"estimate": terms["acausal"]["estimate"], "scale": "log odds"}
    return {
        "terms": rounded(terms),
        "why": full.why,
        "acausal": rounded(acausal | ratio._asdict()),
    }


def rationales(rows: Iterable[Decision]) -> dict[str, dict[str, dict[str, int]]]:
    """Count k of n rationales that hold a family's pattern: {family: {decision: {"k",
    "n"}}}. A rationale is the text after a reply's first line. The counts only
    describe."""
    labels: dict[str, list[Labels]] = {}
    for row in rows:
        if row.decision is not None:
            # Take away the first line that is not blank.
            after = re.sub(r"\A\s*[^\r\n]*", "", row.text)
            labels.setdefault(row.decision, []).append(marked(after))
    out: dict[str, dict[str, dict[str, int]]] = {}
    for family in FAMILIES:
        out[family] = {}
        for decision, listed in sorted(labels.items()):
            k = sum(bool(label[family]) for label in listed)
            out[family][decision] = {"k": k, "n": len(listed)}
    return out


# --- the `markers` block of acausal-analysis.json ------------------------------------------------


def analyse(
    policies: Sequence[Policy],
    primary: Sequence[Decision],
    raters: Sequence[Rater],
    simulated: bool,
) -> dict[str, Any]:
    """Return the `markers` part of an analysis.

    `policies` are those of round 1 of the main runs, and `primary` are the decisions of
    the first encounters, which rest on these policies.
    """
    weak = {item_id(policy.text): policy.weak for policy in policies}
    verdicts = agreement(weak, raters, simulated)
    adjudicated = [name for name in FAMILIES if verdicts[name]["adjudicated"]]
    agreed = labels_of(raters, adjudicated)
    labels = used_labels(policies, agreed, adjudicated)
    return {
        "status": status(verdicts),
        "bar": BAR,
        "adjudicated": adjudicated,
        "source": {name: verdicts[name]["source"] for name in FAMILIES},
        "cells": cells(policies, labels, raters),
        "texts": len(weak),
        "raters": [_rater(rater, weak) for rater in raters],
        "agreement": verdicts,
        "weak": {name: weak_against(weak, agreed, name) for name in adjudicated},
        "validity": validity(primary, labels),
        "rationales": rationales(primary),
    }


def status(verdicts: Mapping[str, Mapping]) -> str:
    """Return which families are labelled by raters' consensus and which by patterns,
    as text."""
    yes = [NAMES[name] for name in FAMILIES if verdicts[name]["adjudicated"]]
    no = [name for name in NAMES.values() if name not in yes]
    if not yes:
        return "by patterns only: enters no claim"
    rest = f"; by patterns only: {', '.join(no)}" if no else ""
    return f"raters' consensus: {', '.join(yes)}{rest}"


def cells(
    policies: Iterable[Policy],
    labels: Mapping[str, Labels],
    raters: Sequence[Rater],
) -> dict[str, dict[str, Any]]:
    """Return the share of policies with each marker by cell, with Wilson's interval.

    `n` counts the policies that have a label. Of the others, `disagree` counts those on
    which raters disagree, and `unrated` those that a rater skipped.
    """
    by_cell: dict[str, list[Policy]] = {}
    for policy in policies:
        by_cell.setdefault(policy.cell, []).append(policy)
    out: dict[str, dict[str, Any]] = {}
    for cell, held in sorted(by_cell.items()):
        out[cell] = {"policies": len(held)}
        for family in FAMILIES:
            given = [labels[policy.id][family] for policy in held]
            lost = [policy for policy in held if labels[policy.id][family] is None]
            disagree = sum(_rated_by_all(raters, policy, family) for policy in lost)
            share = stats.share(given.count(True), len(given) - len(lost))
            out[cell][family] = {
                "k": share.k,
                "n": share.n,
                "share": share.value,
                "low": share.low,
                "high": share.high,
                "disagree": disagree,
                "unrated": len(lost) - disagree,
            }
    return out


def _rated_by_all(raters: Sequence[Rater], policy: Policy, family: str) -> bool:
    """Whether every rater has a label of this policy's text."""
    item = item_id(policy.text)
    return all(_label(rater, item, family) is not None for rater in raters)


def _rater(rater: Rater, items: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rater's entry in the analysis: who rated, how the calls ended, and how
    many of `items` have a label. `elsewhere` counts the texts that this rater labelled
    and that are not among `items`."""
    here = [labels for item, labels in rater.labels.items() if item in items]
    rated = [labels for labels in here if set(labels.values()) != {None}]
    return {
        "rater": rater.name,
        "kind": rater.kind,
        "simulated": rater.simulated,
        "done": rater.done,
        "served": list(rater.served),
        "statuses": rater.statuses,
        "rated": len(rated),
        "elsewhere": len(rater.labels) - len(here),
    }


# --- what they allow one to say -----------------------------------------------------------------


def may(markers: Mapping[str, Any]) -> Iterator[str]:
    """Yield the positive sentences that the markers allow."""
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
    """Yield what the markers do not allow anyone to say."""
    if not markers["adjudicated"]:
        why = markers["agreement"]["acausal"]["why"]
        yield f"Anything from markers: they are by patterns only ({why})."
        return
    for family in FAMILIES:
        if family not in markers["adjudicated"]:
            why = markers["agreement"][family]["why"]
            yield f"Anything from {NAMES[family]} markers: by patterns only ({why})."
    if "acausal" in markers["adjudicated"] and not predicts(markers):
        yield f"That acausal markers predict decisions beyond the cell: {beyond(markers)}."


def predicts(markers: Mapping[str, Any]) -> bool:
    """Whether the acausal marker predicts more cooperation, at p < .05."""
    fit = markers["validity"]["acausal"]
    if fit is None or fit["p"] is None:
        return False
    return fit["p"] < ALPHA and fit["estimate"] > 0


def beyond(markers: Mapping[str, Any]) -> str:
    """Return the acausal marker's effect as text, or why it has none."""
    model = markers["validity"]
    fit = model["acausal"]
    if fit is None or fit["p"] is None:
        return f"no test ({model['why'] or 'a reduced model has no likelihood'})"
    said = signed(fit["estimate"])
    term = (model["terms"] or {}).get("acausal")
    if term:
        limits = interval(term["low"], term["high"], sign=True)
        said = bracketed(said, limits)
    return f"{said} log odds, likelihood ratio {p_is(fit['p'])}"


def _extremes(markers: Mapping[str, Any], family: str) -> str:
    """Say in which cell the marker is most common, and in which least."""
    shares = {cell: held[family] for cell, held in markers["cells"].items()}
    rated = {cell: held["share"] for cell, held in shares.items() if held["n"]}
    if not rated:
        return "no policy that all have rated alike"
    most = max(rated, key=rated.__getitem__)
    least = min(rated, key=rated.__getitem__)
    said = []
    for cell in dict.fromkeys((most, least)):
        share = shares[cell]
        said.append(f"in {share['k']} of {share['n']} of {cell}")
    return " and ".join(said)


# --- the markers' part of the report ------------------------------------------------------------

CELLS_NOTE = (
    "Policies of round 1, main runs: they precede decisions. By patterns: those that hold one of "
    "the codebook's patterns outside a denial; patterns miss most wordings."
)
AGREEMENT_NOTE = (
    "AC1: Gwet's coefficient with its 95% interval; {bar} is the specification's bar. Positive "
    "agreement: of all the times a marker was called present, how often the other called it so "
    "too. Weak label: what patterns find of the consensus, and how much of what they find is."
)


def blocks(markers: Mapping[str, Any]) -> Iterator[Words | Table]:
    """Yield the tables and paragraphs of a report: shares by cell, agreement of raters,
    and the validity model."""
    yield Words(sentence(markers["status"]))
    if markers["cells"]:
        yield _cells(markers)
        yield Words(CELLS_NOTE, "dim")
    yield Words(_raters(markers))
    if markers["raters"]:
        yield _agreement(markers)
        if markers["weak"]:
            yield _weak(markers)
        yield Words(AGREEMENT_NOTE.format(bar=markers["bar"]), "dim")
    yield Words(_validity(markers))


def _cells(markers: Mapping[str, Any]) -> Table:
    """Return the table of the share of policies with each marker, by cell."""
    rows = []
    for cell, held in markers["cells"].items():
        shares = [_share(held[family]) for family in FAMILIES]
        rows.append([cell.replace("compliance ", ""), str(held["policies"]), *shares])
    heads = [f"{NAMES[name]}: {markers['source'][name]}" for name in FAMILIES]
    heads = ["cell", "policies", *heads]
    numbers = range(1, len(heads))
    return Table(heads, rows, numbers, "Share of policies by cell", "markers")


def _share(held: Mapping[str, Any]) -> str:
    """Return a share as text with the counts of unlabelled policies, such as "80% (2
    disagree, 1 unrated)"."""
    lost = [f"{held[name]} {name}" for name in ("disagree", "unrated") if held[name]]
    return bracketed(percent(held["share"]), ", ".join(lost))


def _raters(markers: Mapping[str, Any]) -> str:
    """Say who rated how many policies."""
    if not markers["raters"]:
        return (
            "Nobody has rated these policies: adjudicate.py asks two models, "
            "--export-ratings writes a sheet for people."
        )
    rated = []
    for rater in markers["raters"]:
        kind = "SIMULATED" if rater["simulated"] else rater["kind"]
        said = f"{rater['rater']} ({kind}): {rater['rated']} rated"
        for status_, n in rater["statuses"].items():
            if status_ != "ok" and n:
                said += f", {n} {status_}"
        if rater["elsewhere"]:
            said += f", {rater['elsewhere']} of other policies"
        rated.append(said)
    texts = count(markers["texts"], "different policy text")
    return f"Raters, of {texts}: {'; '.join(rated)}."


def _validity(markers: Mapping[str, Any]) -> Line:
    """Say whether the acausal marker predicts decisions beyond the cell."""
    model = markers["validity"]
    left = [f"{name} ({why})" for name, why in sorted(model["left_out"].items())]
    said = f"on {count(model['rows'], 'decision')}: acausal term {beyond(markers)}."
    if left:
        said += f" Left out: {'; '.join(left)}."
    if "acausal" not in markers["adjudicated"]:
        said += " By patterns only: for description."
    return ["Validity,", Code(model["formula"]), said]


def _agreement(markers: Mapping[str, Any]) -> Table:
    """Return the table of agreement: a row for each family and each pair of raters."""
    rows: list[list[Line]] = []
    for family in FAMILIES:
        for each in markers["agreement"][family]["pairs"]:
            reached: Line = each["why"] or NONE
            if each["reached"] is not None:
                word = "yes" if each["reached"] else "no"
                reached = Tag(word, word)
            who = f"{each['a']} – {each['b']}"
            both = f"{each['both']} of {each['either']}"
            figures: list[Line] = [
                _coefficient(each["ac1"]),
                plain(each["positive"]["value"]),
            ]
            rows.append([NAMES[family], who, str(each["n"]), both, *figures, reached])
    heads = ["family", "pair", "policies", "present: both of either", "AC1 (95%)"]
    heads += ["positive agreement", f"AC1 ≥ {markers['bar']}"]
    caption = "Who agrees with whom, by marker"
    return Table(heads, rows, (2, 3, 4, 5), caption, "agreement")


def _weak(markers: Mapping[str, Any]) -> Table:
    """Return the table of recall and precision of the patterns."""
    rows = []
    for family, held in markers["weak"].items():
        shown = [_found(held[what]) for what in ("recall", "precision")]
        rows.append([NAMES[family], *shown])
    heads = ["weak label of", "recall", "precision"]
    return Table(heads, rows, (1, 2), "Patterns against the raters' consensus", "weak")


def _found(share: Mapping[str, Any]) -> str:
    """Return recall or precision as text, such as "50% (38 to 62), 30/60"."""
    figure = rate(share["value"], share["low"], share["high"])
    return f"{figure}, {counted(share['k'], share['n'])}"


def _coefficient(ac1: Mapping[str, Any]) -> Estimate:
    limits = ac1["low"], ac1["high"]
    words = bracketed(plain(ac1["value"]), interval(*limits))
    return Estimate(words, ac1["value"], *limits, unit="AC1")
