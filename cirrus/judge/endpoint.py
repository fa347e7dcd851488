"""The primary endpoint of a tournament as specified: round 1, by design and by model.

    out = endpoint(cvd_rows, models(all_rows))
    out["design"]["p"], out["met"]

The unit here is an agent under a seed: each contrast is taken inside a unit, whose first encounters
rest on one policy a run, and averaged over the levels of H. What is established is judged over
bulletins and wordings, by `contrasts`; an interval over agents would hold for these bulletins only.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import stats
from cirrus.judge.contrasts import ALPHA, CONTRASTS, NONE_YET, add, total, weights_of
from cirrus.judge.rows import Decision
from stats.results import Count

SECONDARY = ("S", "C", "SxC", "H")
FILLS: dict[
    str, Callable[[float], bool]
] = {  # whether a missing decision is cooperative
    "all_cooperative": lambda weight: True,
    "none_cooperative": lambda weight: False,
    "lowest": lambda weight: weight < 0,
    "highest": lambda weight: weight > 0,
}


# --- one contrast over agents ------------------------------------------------------------------


def by_agent(rows: Sequence[Decision]) -> dict[tuple, dict[tuple[str, str], Count]]:
    """Counts of each (cell, H) of an agent under a seed, for the contrasts of `stats`."""
    agents: dict[tuple, dict] = {}
    for row in rows:
        add(agents.setdefault((row.unit, 1), {}), row.cell, row.cooperates)
    return agents


def over_agents(counts: Mapping, name: str = "HP-LA"):
    """(the contrast of `stats` with agents as units, its weights); None where cells are lacking."""
    weights = weights_of(
        CONTRASTS[name], {cell for held in counts.values() for cell in held}
    )
    return (stats.contrast(counts, weights) if weights else None), weights


def specified(counts: Mapping, name: str = "HP-LA") -> dict[str, Any]:
    """A contrast's mean over agents and its sign-flip test.

    `resamples` is None where the test is exact, else its number of random signs (seed 0).
    """
    result, _ = over_agents(counts, name)
    values = list(result.by_bulletin.values()) if result else []
    out = {
        "label": CONTRASTS[name].label,
        "value": result and result.value,
        "p": None,
        "resamples": None,
        "units": len(values),
        "units_without": len(counts) - len(values),
    }
    if len(values) < 2:
        return out | {
            "why": "one agent only"
            if values
            else "no agent holds every cell that this contrast needs"
        }
    flip = stats.sign_flip_test(values)
    return out | {"p": flip.p, "resamples": flip.resamples, "why": flip.why}


def cliffs_delta(counts: Mapping) -> dict[str, Any]:
    """Cliff's δ of the two cells: of 0/1 data the difference of their pooled shares. Interval over
    whole agents, Student's t and no narrower than Newcombe's."""
    result, weights = over_agents(counts)
    sides = [
        total(
            cells.get(cell, NONE_YET)
            for cells in counts.values()
            for cell, weight in weights.items()
            if weight * side > 0
        )
        for side in (1, -1)
    ]
    out = {
        "value": None,
        "low": None,
        "high": None,
        "units": result.units if result else 0,
    }
    if not all(side.n for side in sides):
        return out | {"why": "a side without readable decisions"}
    value = sides[0].k / sides[0].n - sides[1].k / sides[1].n
    if result.low is None:
        return out | {"value": value, "why": "one agent only"}
    # Agents weigh alike in the interval, decisions in δ.
    return out | {
        "value": value,
        "low": min(result.low, value),
        "high": max(result.high, value),
        "why": None,
    }


def bounds(counts: Mapping) -> dict[str, float | None]:
    """The primary contrast with every missing decision filled in, each way and at worst."""
    _, weights = over_agents(counts)

    def filled(fill: Callable[[float], bool]) -> dict:
        return {
            unit: {
                cell: Count(k + missing * fill(weights.get(cell, 0)), n + missing, 0)
                for cell, (k, n, missing) in cells.items()
            }
            for unit, cells in counts.items()
        }

    return {
        name: stats.contrast(filled(fill), weights).value if weights else None
        for name, fill in FILLS.items()
    }


def endpoint(rows: Sequence[Decision], model: Mapping[str, Any]) -> dict[str, Any]:
    """Everything about the endpoint as specified. `rows`: the primary data of one domain;
    `model`: what `models` returns."""
    counts = by_agent(rows)
    design = specified(counts)
    met, why = decided(design, model)
    second = {name: specified(counts, name) for name in SECONDARY}
    adjusted = stats.holm([contrast["p"] for contrast in second.values()])
    for contrast, p in zip(second.values(), adjusted, strict=True):
        contrast["p_holm"] = p
    return {
        "label": CONTRASTS["HP-LA"].label,
        "design": design,
        "model": model,
        "delta": cliffs_delta(counts),
        "bounds": bounds(counts),
        "secondary": second,
        "met": met,
        "why": why,
    }


def decided(
    design: Mapping[str, Any], model: Mapping[str, Any]
) -> tuple[bool | None, str]:
    """(met, why): both tests below .05 in the predicted direction; None: can't be said."""
    if design["p"] is None:
        return None, f"the design-based test can't be computed: {design['why']}"
    by_design, fit = design["value"] > 0 and design["p"] < ALPHA, model["with_policy"]
    if fit["separated"]:
        return by_design, (
            "a cell separates the outcomes, so no model-based test exists: the "
            "endpoint rests on the design-based test alone"
        )
    if fit["primary"] is None or fit["primary"]["p"] is None:
        if not by_design:
            return False, "the design-based test alone decides against it"
        return None, (
            "the model-based test is not computed: "
            f"{fit['why'] or 'a reduced model has no likelihood'}"
        )
    by_model = fit["primary"]["p"] < ALPHA and fit["primary"]["estimate"] > 0
    return by_design and by_model, (
        "design-based and model-based test (with (1|policy)) must both have p < 0.05 and a "
        "positive effect"
    )


# --- the model-based test: mixed-effects logistic regression -------------------------------------

FIXED = ("S", "C", "S:C", "H", "domain", "option_order", "label_scheme")
RANDOM = ("agent", "opponent", "seed", "variant_id")
OTHERS = ("high_absent", "low_present")  # cells beside the two of the primary contrast
DIGITS = (
    6  # significant: an optimum is not known better, and all Pythons agree on so many
)
MOST_ROWS = 5000  # beyond, a fit takes from seconds to minutes, and each term takes one
MANY = (
    f"more than {MOST_ROWS} rows: likelihood ratios of S:C and symmetry + cue − neither; the "
    "other terms by Wald's test, beside their coefficients"
)
SINGLE_LEVEL = "one level in these data"


def models(rows: Sequence[Decision]) -> dict[str, Any]:
    """Both models on the readable rows, which may hold both domains. Beyond MOST_ROWS only S:C
    and the primary contrast are tested by likelihood ratio."""
    data = [model_row(row) for row in rows if row.cooperates is not None]
    left_out = left_out_of(data)
    fixed = [name for name in FIXED if not set(name.split(":")) & left_out.keys()]
    random = [name for name in RANDOM if name not in left_out]
    pairs = {(row["variant_id"], row["bulletin"]) for row in data}
    if all(
        len(set(names)) == len(pairs) for names in zip(*pairs, strict=True)
    ):  # they coincide
        random = ["bulletin" if name == "variant_id" else name for name in random]
    return {
        "rows": len(data),
        "left_out": left_out,
        "as_specified": _fitted(data, fixed, random),
        "with_policy": _fitted(data, fixed, [*random, "policy"]),
    }


def model_row(row: Decision) -> dict[str, Any]:
    s, c = row.S == "high", row.C == "present"
    return {
        "coop": row.cooperates,
        "S": int(s),
        "C": int(c),
        "H": int(row.H == "high") if row.H != "omit" else "omit",
        "domain": row.domain,
        "option_order": row.option_order,
        "label_scheme": row.label_scheme,
        "agent": f"{row.seed}/{row.agent}",
        "opponent": f"{row.seed}/{row.opponent}",
        "seed": row.seed,
        "variant_id": row.variant,
        "bulletin": row.bulletin,
        "policy": f"{row.run}/{row.agent}",
        "high_absent": int(s and not c),
        "low_present": int(c and not s),
    }


def left_out_of(data: Sequence[Mapping]) -> dict[str, str]:
    """{term: why} of what these data can't tell apart."""
    levels = {
        name: {row[name] for row in data}
        for name in (*FIXED, *RANDOM)
        if ":" not in name
    }
    out = {name: SINGLE_LEVEL for name, values in levels.items() if len(values) < 2}
    if "omit" in levels["H"]:
        out["H"] = "levels beside high and low"
    for name in ("seed", "variant_id"):
        pairs = {(row[name], row["domain"]) for row in data}
        if name not in out and len(pairs) == len(levels[name]) == len(levels["domain"]):
            out[name] = "each domain has its own single level"
    return out


def _fitted(
    data: Sequence[Mapping], fixed: list[str], random: list[str]
) -> dict[str, Any]:
    """One model with its tests, or why there is none."""
    out = {
        "formula": formula(fixed, random),
        "fit": None,
        "tests": None,
        "primary": None,
        "separated": False,
        "why": None,
    }
    if not {"S", "C", "S:C"} <= set(fixed):
        return out | {"why": "S or C has one level in these data"}

    def fitted(terms: list[str]):
        return stats.fit_mixed_logit(data, "coop", terms, random)

    full, many = fitted(fixed), len(data) > MOST_ROWS
    if full.log_likelihood is None:
        return out | {
            "why": full.why,
            "fit": rounded(full),
            "separated": (full.why or "").startswith("separation"),
        }
    plain = [term for term in fixed if term != "S:C"]
    additive = fitted(plain)
    tests = {"S:C": stats.likelihood_ratio(full, additive)}
    for term in () if many else plain:
        # S and C by themselves are tested without their interaction, as marginality asks.
        base, terms = (additive, plain) if term in ("S", "C") else (full, fixed)
        tests[term] = stats.likelihood_ratio(
            base, fitted([t for t in terms if t != term])
        )
    # S×C as four cells is the full model in other words; with two of them left, S high with C
    # present counts as S low with C absent.
    rest = [term for term in plain if term not in ("S", "C")]
    ratio = stats.likelihood_ratio(full, fitted([*OTHERS, *rest]))
    log_odds = math.fsum(
        c.estimate for c in full.coefficients if c.name in ("S", "C", "S:C")
    )
    return out | {
        "fit": rounded(full),
        "why": full.why or (MANY if many else None),
        "tests": {name: rounded(tests[name]) for name in fixed if name in tests},
        "primary": rounded(
            {"estimate": log_odds, "scale": "log odds"} | ratio._asdict()
        ),
    }


def formula(fixed: Sequence[str], random: Sequence[str]) -> str:
    return f"coop ~ {' + '.join([*fixed, *(f'(1|{name})' for name in random)])}"


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value
