"""Do markers predict decisions beyond the cell? An association: nobody assigned them.

    coop ~ cell + acausal + compliance
           + (1|agent) + (1|opponent) + (1|seed) + (1|variant_id) + (1|policy)

on the primary data, with the weak labels of the policy each decision rests on, the acausal term by
likelihood ratio. Policies precede decisions; rationales follow them and are only described.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cirrus.codebook import FAMILIES, marked
from cirrus.decisions import Decision
from cirrus.endpoint_model import ONE_LEVEL, RANDOM, left_out_of, model_row, rounded
from cirrus.ratings import Labels

MARKED = ("acausal", "compliance")


def validity(rows: Iterable[Decision], labels: Mapping[str, Labels]) -> dict[str, Any]:
    """The model on readable decisions whose policy is labelled. `labels`: {policy id: labels}."""
    read = [row for row in rows if row.cooperates is not None]
    data = [_row(row, labels[row.policy]) for row in read if _known(labels.get(row.policy))]
    gone = {name: why for name, why in left_out_of(data).items() if name in RANDOM}
    gone |= {name: ONE_LEVEL for name in ("cell", *MARKED) if len({r[name] for r in data}) < 2}
    fixed = [name for name in ("cell", *MARKED) if name not in gone]
    random = [name for name in (*RANDOM, "policy") if name not in gone]
    out = {"formula": "coop ~ " + " + ".join([*fixed, *(f"(1|{name})" for name in random)]),
           "rows": len(data), "unlabelled": len(read) - len(data), "left_out": gone,
           "terms": None, "acausal": None, "separated": False, "why": None}
    if not data:
        return out | {"why": "no readable decision rests on a labelled policy"}
    if "acausal" in gone:
        every = "every" if data[0]["acausal"] else "no"
        return out | {"why": f"{every} policy has the acausal marker: nothing can be compared"}
    return out | _fitted(data, fixed, random)


def _known(labels: Labels | None) -> bool:
    return labels is not None and None not in (labels[name] for name in MARKED)


def _row(row: Decision, labels: Labels) -> dict[str, Any]:
    return model_row(row) | {"cell": f"{row.domain} S.{row.S}-C.{row.C}-H.{row.H}"} | {
        name: int(labels[name]) for name in MARKED}


def _fitted(data: Sequence[Mapping], fixed: Sequence[str], random: Sequence[str]) -> dict[str, Any]:
    from stats.mixed import fit_mixed_logit, likelihood_ratio
    full = fit_mixed_logit(data, "coop", list(fixed), list(random))
    if full.log_likelihood is None:
        return {"why": full.why, "separated": (full.why or "").startswith("separation")}
    terms = {c.name: c._asdict() for c in full.coefficients if c.name in MARKED}
    reduced = fit_mixed_logit(data, "coop", [name for name in fixed if name != "acausal"],
                              list(random))
    ratio = likelihood_ratio(full, reduced)
    return {"terms": rounded(terms), "why": full.why,
            "acausal": rounded({"estimate": terms["acausal"]["estimate"], "scale": "log odds"}
                               | ratio.asdict())}


def rationales(rows: Iterable[Decision]) -> dict[str, dict[str, dict[str, int]]]:
    """{family: {decision: k of n rationales that hold a codebook pattern}}: description only."""
    said = [(row.decision, marked(after_decision(row.text))) for row in rows
            if row.decision is not None]
    acts = sorted({decision for decision, _ in said})
    return {family: {act: {"k": sum(found[family] for decision, found in said if decision == act),
                           "n": sum(decision == act for decision, _ in said)} for act in acts}
            for family in FAMILIES}


def after_decision(text: str) -> str:
    """The answer without its first line that says something."""
    return re.sub(r"\A\s*[^\r\n]*", "", text)
