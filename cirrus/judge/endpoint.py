"""Tests the primary endpoint of a tournament, by the two tests that the specification
asks for in round 1.

    out = endpoint(cvd_rows, models(all_rows))
    out["sentence"]     "Primary endpoint, as specified: met: +53.3 points in round 1, …"

One flips signs over agents, the other is a mixed-effects logistic regression. The unit
is an agent under a seed. Its contrast compares its own first encounters, which rest on
one policy in each run, and is averaged over the levels of H. What counts as established
is judged over bulletins and wordings in `contrasts`, because an interval over agents
would hold for these bulletins only.
"""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import stats
from cirrus.judge.contrasts import ALPHA, CONTRASTS, Tally, add, weights_of
from cirrus.judge.rows import Decision
from show.figures import p_is, points
from stats.results import Count

SECONDARY = ("S", "C", "SxC", "H")
# Ways to fill in missing decisions. Each lists the cells whose missing decisions count as
# cooperative: True stands for the cells with a weight above 0, False for the others.
FILLS = {
    "all_cooperative": (True, False),
    "none_cooperative": (),
    "lowest": (False,),
    "highest": (True,),
}


# --- one contrast over agents ------------------------------------------------------------------


def by_agent(rows: Sequence[Decision]) -> Tally:
    """Count decisions: {((seed, agent), 1): {(cell, H): Count}}, the form that
    `stats.contrast` takes."""
    agents: Tally = {}
    for row in rows:
        add(agents.setdefault((row.unit, 1), {}), row.cell, row.cooperates)
    return agents


def weights_in(counts: Tally, name: str = "HP-LA") -> dict[Any, float]:
    """Return {(cell, H): weight} of a contrast, empty where the data lack one of its
    cells."""
    return weights_of(CONTRASTS[name], set().union(*counts.values()))


def specified(counts: Tally, name: str = "HP-LA") -> dict[str, Any]:
    """Return a contrast's mean over agents and the p of its sign-flip test.

    `resamples` is None where the test is exact, else the number of random sign
    assignments (seed 0).
    """
    weights = weights_in(counts, name)
    value: float | None = None
    values: list[float] = []
    if weights:
        result = stats.contrast(counts, weights)
        value, values = result.value, list(result.by_bulletin.values())
    why: str | None
    p = resamples = None
    if not values:
        why = "no agent holds every cell that this contrast needs"
    elif len(values) == 1:
        why = "one agent only"
    else:
        flip = stats.sign_flip_test(values)
        p, resamples, why = flip.p, flip.resamples, flip.why
    return {
        "label": CONTRASTS[name].label,
        "value": value,
        "p": p,
        "resamples": resamples,
        "units": len(values),
        "units_without": len(counts) - len(values),
        "why": why,
    }


def cliffs_delta(rows: Sequence[Decision], counts: Tally) -> dict[str, Any]:
    """Return Cliff's δ between the decisions in the two cells of the primary contrast.

    δ's interval treats decisions as independent. `clustered` has an interval over
    agents (Student's t, and no narrower than Newcombe's).
    """
    weights = weights_in(counts)
    sides: dict[bool, list[int]] = {True: [], False: []}
    for row in rows:
        weight = weights.get(row.cell, 0)
        if weight and row.cooperates is not None:
            sides[weight > 0].append(row.cooperates)
    delta = stats.cliffs_delta(sides[True], sides[False])
    clustered: dict[str, Any] = {"low": None, "high": None, "units": 0}
    if weights:
        over = stats.contrast(counts, weights)
        clustered = {"low": over.low, "high": over.high, "units": over.units}
    return delta._asdict() | {"clustered": clustered}


def bounds(counts: Tally) -> dict[str, float | None]:
    """Return {one of FILLS: the primary contrast's value with missing decisions filled
    in that way}."""
    weights = weights_in(counts)
    if not weights:
        return dict.fromkeys(FILLS)
    values = {}
    for name, sides in FILLS.items():
        filled = {unit: _filled(held, weights, sides) for unit, held in counts.items()}
        values[name] = stats.contrast(filled, weights).value
    return values


def _filled(
    held: Mapping, weights: Mapping, sides: Sequence[bool]
) -> dict[Hashable, Count]:
    """Return the cells of one agent with their missing decisions filled in; `sides` is
    one of the values of FILLS."""
    cells: dict[Hashable, Count] = {}
    for cell, (k, n, missing) in held.items():
        positive = weights.get(cell, 0) > 0
        more = missing if positive in sides else 0
        cells[cell] = Count(k + more, n + missing, 0)
    return cells


def endpoint(rows: Sequence[Decision], model: Mapping[str, Any]) -> dict[str, Any]:
    """Return both tests of the endpoint, the secondary contrasts, and whether it is
    met.

    `rows` are the primary decisions of one domain, `model` is what `models` returns.
    """
    counts = by_agent(rows)
    design = specified(counts)
    met, why = decided(design, model)
    second = {name: specified(counts, name) for name in SECONDARY}
    adjusted = stats.holm([contrast["p"] for contrast in second.values()])
    for contrast, p in zip(second.values(), adjusted, strict=True):
        contrast["p_holm"] = p
    return {
        "label": CONTRASTS["HP-LA"].label,
        "sentence": _sentence(met, why, design, model["with_policy"]),
        "design": design,
        "model": model,
        "delta": cliffs_delta(rows, counts),
        "bounds": bounds(counts),
        "secondary": second,
        "met": met,
        "why": why,
    }


def decided(
    design: Mapping[str, Any], model: Mapping[str, Any]
) -> tuple[bool | None, str]:
    """Return (met, why). The endpoint is met where both tests have p < .05 and a
    positive effect.

    `met` is None where that can't be computed.
    """
    if design["p"] is None:
        return None, f"the design-based test can't be computed: {design['why']}"
    by_design = design["value"] > 0 and design["p"] < ALPHA
    fit = model["with_policy"]
    if fit["separated"]:
        return by_design, (
            "a cell separates the outcomes, so no model-based test exists: the "
            "endpoint rests on the design-based test alone"
        )
    primary = fit["primary"]
    if primary is None or primary["p"] is None:
        if not by_design:
            return False, "the design-based test alone decides against it"
        lacks = fit["why"] or "a reduced model has no likelihood"
        return None, f"the model-based test is not computed: {lacks}"
    by_model = primary["p"] < ALPHA and primary["estimate"] > 0
    return by_design and by_model, (
        "design-based and model-based test (with (1|policy)) must both have p < 0.05 and a "
        "positive effect"
    )


STATES = {True: "met", False: "not met", None: "cannot be computed"}


def _sentence(
    met: bool | None, why: str, design: Mapping[str, Any], fit: Mapping[str, Any]
) -> str:
    """Return the first line of every tournament report."""
    start = f"Primary endpoint, as specified: {STATES[met]}"
    if met is None:
        return f"{start}, because {why}."
    tests = f"sign flips {p_is(design['p'])}"
    if fit["separated"]:
        tests += ", no mixed model: a cell separates"
    elif fit["primary"] is not None:
        tests += f", mixed model {p_is(fit['primary']['p'])}"
    return f"{start}: {points(design['value'])} in round 1 ({tests})."


# --- the model-based test: mixed-effects logistic regression -------------------------------------

FIXED = ("S", "C", "S:C", "H", "domain", "option_order", "label_scheme")
HYPOTHESES = ("S", "C", "S:C", "H")  # Holm's adjustment covers their p-values together
RANDOM = ("agent", "opponent", "seed", "variant_id")
GROUPS = (*RANDOM, "policy")
OTHERS = ("high_absent", "low_present")  # the two cells outside the primary contrast
# Significant digits kept: the optimum is no more precise, and all versions of Python give the same.
DIGITS = 6
# With more rows a fit takes seconds to minutes, and every tested term needs a fit.
MOST_ROWS = 5000
MANY = (
    f"more than {MOST_ROWS} rows: likelihood ratios of S:C and symmetry + cue − neither; the "
    "other terms by Wald's test, beside their coefficients"
)
SINGLE_LEVEL = "one level in these data"


def models(rows: Sequence[Decision]) -> dict[str, Any]:
    """Fit the mixed model as specified, and again with a random intercept for each
    policy.

    Only readable rows enter; they may be from both domains. With more than MOST_ROWS
    rows, only S:C and the primary contrast are tested by likelihood ratio.
    """
    data = [model_row(row) for row in rows if row.cooperates is not None]
    left_out = left_out_of(data)
    fixed = [name for name in FIXED if left_out.keys().isdisjoint(name.split(":"))]
    groups = [name for name in GROUPS if name not in left_out]
    if _coincide(data, "variant_id", "bulletin"):
        groups = ["bulletin" if name == "variant_id" else name for name in groups]
    without_policy = [name for name in groups if name != "policy"]
    return {
        "rows": len(data),
        "left_out": left_out,
        "as_specified": _fitted(data, fixed, without_policy),
        "with_policy": _fitted(data, fixed, groups),
    }


def _coincide(data: Sequence[Mapping], a: str, b: str) -> bool:
    """Whether two columns group the rows in the same way."""
    pairs = {(row[a], row[b]) for row in data}
    firsts = {first for first, _ in pairs}
    seconds = {second for _, second in pairs}
    return len(firsts) == len(pairs) == len(seconds)


def model_row(row: Decision) -> dict[str, Any]:
    """Return a decision as a row of data for the models, under the names that the
    formula uses."""
    s, c = row.S == "high", row.C == "present"
    return row._asdict() | {
        "coop": row.cooperates,
        "S": int(s),
        "C": int(c),
        "H": "omit" if row.H == "omit" else int(row.H == "high"),
        "agent": f"{row.seed}/{row.agent}",
        "opponent": f"{row.seed}/{row.opponent}",
        "variant_id": row.variant,
        "policy": f"{row.run}/{row.agent}",
        "high_absent": int(s and not c),
        "low_present": int(c and not s),
    }


def left_out_of(data: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return {term: why it is left out} for the terms that these data can't
    estimate."""
    out = {}
    for name in (*FIXED, *RANDOM):
        if ":" not in name and len({row[name] for row in data}) < 2:
            out[name] = SINGLE_LEVEL
    if any(row["H"] == "omit" for row in data):
        out["H"] = "levels beside high and low"
    for name in ("seed", "variant_id"):
        if name not in out and _coincide(data, name, "domain"):
            out[name] = "each domain has its own single level"
    for first, second in combinations(GROUPS, 2):
        both_stand = first not in out and second not in out
        if both_stand and _coincide(data, first, second):
            out[second] = f"tells the same rows apart as {first}"
    return out


NOT_FITTED: dict[str, Any] = {
    "fit": None,
    "tests": None,
    "coefficients": [],
    "primary": None,
    "separated": False,
    "why": None,
}


def _fitted(
    data: Sequence[dict[str, Any]], fixed: list[str], random: list[str]
) -> dict[str, Any]:
    """Fit one model and test its terms; without a fit, `why` says what prevented it."""
    out = NOT_FITTED | {"formula": formula(fixed, random)}
    if not {"S", "C", "S:C"} <= set(fixed):
        return out | {"why": "S or C has one level in these data"}

    def fitted(terms: list[str]):
        return stats.fit_mixed_logit(data, "coop", terms, random)

    full = fitted(fixed)
    out |= {"fit": rounded(full), "why": full.why}
    if full.log_likelihood is None:
        separated = (full.why or "").startswith("separation")
        rows = list(coefficients(full, {}))
        return out | {"separated": separated, "coefficients": rounded(rows)}
    many = len(data) > MOST_ROWS
    if many and full.why is None:
        out["why"] = MANY
    tests = _tests(full, fixed, fitted, many)
    # The reduced model of the primary test has indicators for two of the four S×C cells only, so
    # that the other two (both high, both low) are held to be equal.
    rest = [term for term in fixed if term not in ("S", "C", "S:C")]
    ratio = stats.likelihood_ratio(full, fitted([*OTHERS, *rest]))
    log_odds = [c.estimate for c in full.coefficients if c.name in ("S", "C", "S:C")]
    primary = {"estimate": math.fsum(log_odds), "scale": "log odds"} | ratio._asdict()
    return out | {
        "tests": {name: rounded(tests[name]) for name in fixed if name in tests},
        "coefficients": rounded(list(coefficients(full, tests))),
        "primary": rounded(primary),
    }


def _tests(full, fixed: list[str], fitted: Callable, many: bool) -> dict[str, Any]:
    """Return {term: likelihood ratio test of the model with the term against the model
    without it}.

    S and C are tested in the model without their interaction (the principle of
    marginality). With `many` rows, only S:C is tested.
    """
    plain = [term for term in fixed if term != "S:C"]
    additive = fitted(plain)
    tests = {"S:C": stats.likelihood_ratio(full, additive)}
    if many:
        return tests
    for term in plain:
        base, terms = full, fixed
        if term in ("S", "C"):
            base, terms = additive, plain
        reduced = fitted([other for other in terms if other != term])
        tests[term] = stats.likelihood_ratio(base, reduced)
    return tests


def coefficients(fit, tests: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row for each coefficient: term, estimate, SE, interval, p, and for
    hypotheses Holm's p.

    `test` says whether p is by likelihood ratio or by Wald's test.
    """
    adjusted = dict.fromkeys(HYPOTHESES)
    tested = [name for name in HYPOTHESES if name in tests]
    holm = stats.holm([tests[name].p for name in tested])
    adjusted.update(zip(tested, holm, strict=True))
    for coefficient in fit.coefficients:
        term = coefficient.name.partition("[")[0]
        row = coefficient._asdict() | {"test": "Wald", "p_holm": adjusted.get(term)}
        del row["z"]
        if term in tests:
            row |= {"test": "likelihood ratio", "p": tests[term].p}
        if row["p"] is None:
            row["test"] = None
        yield row


def formula(fixed: Sequence[str], random: Sequence[str]) -> str:
    """Return the model's formula as R's lme4 writes it."""
    groups = [f"(1|{name})" for name in random]
    return f"coop ~ {' + '.join([*fixed, *groups])}"


def rounded(value: Any) -> Any:
    """Round every number in nested values to DIGITS significant digits; named tuples
    become mappings."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return value
