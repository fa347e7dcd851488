"""The primary endpoint of a tournament as specified: round 1, by design and by model.

    out = endpoint(cvd_rows, models(all_rows))
    out["design"]["p"], out["met"]

The unit here is an agent under a seed; each contrast is taken inside a unit, whose first encounters
rest on one policy a run, and averaged over the levels of H. What is established is judged over
bulletins, by `effects`.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import stats
from cirrus.judge.effects import (
    ALPHA,
    CONTRASTS,
    HA,
    HP,
    LA,
    LP,
    Contrast,
    average,
    cell_name,
    weights_of,
)
from cirrus.judge.rows import Decision
from stats.results import variance

SECONDARY = ("S", "C", "SxC", "H")
Cell = tuple[str, str, str]


# --- one contrast a unit -----------------------------------------------------------------------

def by_unit(rows: Iterable[Decision]) -> dict[Hashable, dict[Cell, list[float | None]]]:
    """{(seed, agent): {(S, C, H): its decisions, None where missing}}."""
    units: dict[Hashable, dict[Cell, list]] = {}
    for row in rows:
        units.setdefault(row.unit, {}).setdefault((row.S, row.C, row.H), []).append(row.cooperates)
    return units


def cells_of(contrast: Contrast, rows: Sequence[Decision]) -> dict[Cell, float]:
    """The weight of each (S, C, H) in a contrast, over the levels of H that hold all it needs."""
    return weights_of(contrast, frozenset((row.S, row.C, row.H) for row in rows))


def unit_values(rows: Sequence[Decision], contrast: Contrast,
                fill: Callable[[float], float] | None = None) -> dict[Hashable, float]:
    """The contrast in each unit that holds every cell it needs.

    `fill` gives a missing decision a value by the sign of its cell's weight; without it missing
    decisions are left out.
    """
    weights, out = cells_of(contrast, rows), {}
    for unit, cells in by_unit(rows).items() if weights else ():
        means = {cell: average(fill(weight) if fill and one is None else one
                               for one in cells.get(cell, ()))
                 for cell, weight in weights.items()}
        if None not in means.values():
            out[unit] = math.fsum(weights[cell] * mean for cell, mean in means.items())
    return out


def over_units(values: Mapping[Hashable, float], most: float) -> dict[str, Any]:
    """Mean of one value a unit, 95% t interval inside ±`most`, sign-flip test; `why` where one is
    missing.

    `resamples` is None where the test is exact, else its number of random signs (seed 0).
    """
    x = list(values.values())
    if len(x) < 2:
        return {"value": x[0] if x else None, "low": None, "high": None, "p": None, "t_p": None,
                "resamples": None, "sd": None, "units": len(x),
                "why": "no unit holds every cell it needs" if not x else "one unit only"}
    t, flip = stats.t_interval(x), stats.sign_flip_test(x)
    low, high, why = t.low, t.high, t.why
    if low is None and abs(t.difference) == 1:
        # Nothing varies to take a standard error from: each unit counts as one pair of trials.
        k = (len(x), 0) if t.difference > 0 else (0, len(x))
        _, low, high, _ = stats.score_difference(k[0], len(x), k[1], len(x))
        why = "every unit shows the same extreme difference: score interval, a trial a unit"
    if low is not None:
        low, high = max(-most, low), min(most, high)
    return {"value": t.difference, "low": low, "high": high, "p": flip.p, "t_p": t.p,
            "resamples": flip.resamples, "sd": math.sqrt(variance(x)), "units": len(x),
            "why": why or flip.why}


def effect(rows: Sequence[Decision], name: str = "primary") -> dict[str, Any]:
    """One contrast over units, with what stands in its way."""
    contrast = CONTRASTS[name]
    most = sum(weight for weight in contrast.weights.values() if weight > 0)
    out = {"label": contrast.label, **over_units(unit_values(rows, contrast), most)}
    if not cells_of(contrast, rows):
        out["why"] = "no level of H holds every cell that this contrast needs"
    out["decisions"] = sum(row.cooperates is not None for row in rows)
    out["units_without"] = len(by_unit(rows)) - out["units"]
    return out


def at_h(rows: Sequence[Decision]) -> dict[str, dict[str, Any]]:
    """The primary contrast at each level of H that occurs."""
    return {h: effect([row for row in rows if h == row.H])
            for h in ("high", "low", "omit") if any(h == row.H for row in rows)}


# --- the parts of the endpoint -----------------------------------------------------------------

def cells_table(rows: Sequence[Decision]) -> list[dict[str, Any]]:
    """Cooperation of each cell: k of n readable, missing, Wilson interval (trials, not units)."""
    held: dict[Cell, list[float | None]] = {}
    for row in rows:
        held.setdefault((row.S, row.C, row.H), []).append(row.cooperates)
    order = (HP, HA, LP, LA)
    return [_cell(cell, held[cell])
            for cell in sorted(held, key=lambda cell: (order.index(cell[:2]), cell[2]))]


def _cell(cell: Cell, values: Sequence[int | None]) -> dict[str, Any]:
    read = [v for v in values if v is not None]
    share = stats.share(sum(read), len(read))
    return {"cell": cell_name(cell), "S": cell[0], "C": cell[1], "H": cell[2],
            "k": share.k, "n": share.n, "missing": len(values) - len(read), "mean": share.value,
            "low": share.low, "high": share.high, "why": None if read else "no observations"}


def cliffs_delta(rows: Sequence[Decision]) -> dict[str, Any]:
    """Cliff's δ of the two cells of the primary contrast, its 95% interval over whole units.

    For 0/1 data δ is the difference of the two proportions. The interval leaves out one unit at a
    time (jackknife; Efron & Stein 1981) and takes Student's t: with ten units a bootstrap of units
    covers less than it says.
    """
    weights = cells_of(CONTRASTS["primary"], rows)
    groups = []   # of each unit: (cooperative, of) on either side
    for cells in by_unit(rows).values():
        sides = [[v for cell, w in weights.items() if (w > 0) is first
                  for v in cells.get(cell, ()) if v is not None] for first in (True, False)]
        if any(sides):
            groups.append([(sum(side), len(side)) for side in sides])
    whole = [[sum(group[side][at] for group in groups) for at in (0, 1)] for side in (0, 1)]
    if not all(n for _, n in whole):
        return {"value": None, "low": None, "high": None, "units": len(groups),
                "why": "a side without readable decisions"}
    value = _proportion(whole[0]) - _proportion(whole[1])
    out = {"value": value, "low": None, "high": None, "units": len(groups), "why": None}
    if len(groups) < 2:
        return out | {"why": "one unit only"}
    if abs(value) == 1:
        same = over_units(dict(enumerate([value] * len(groups))), 1)
        return {key: same[key] for key in ("value", "low", "high", "units", "why")}
    without = [[(k - own[0], n - own[1]) for (k, n), own in zip(whole, group, strict=True)]
               for group in groups]
    if any(n == 0 for sides in without for _, n in sides):
        return out | {"why": "one unit holds all decisions of a side"}
    n = len(groups)
    pseudo = [n * value - (n - 1) * (_proportion(x) - _proportion(y)) for x, y in without]
    t = stats.t_interval(pseudo)
    if t.low is None:
        return out | {"why": t.why}
    reach = (t.high - t.low) / 2
    return out | {"low": max(-1.0, value - reach), "high": min(1.0, value + reach)}


def _proportion(side: Sequence[float]) -> float:
    return side[0] / side[1]


FILLS: dict[str, Callable[[float], float]] = {
    "all_cooperative": lambda weight: 1, "none_cooperative": lambda weight: 0,
    "lowest": lambda weight: float(weight < 0), "highest": lambda weight: float(weight > 0)}


def bounds(rows: Sequence[Decision]) -> dict[str, float | None]:
    """The primary contrast with every missing decision filled in, each way and at worst."""
    out = {}
    for name, fill in FILLS.items():
        values = list(unit_values(rows, CONTRASTS["primary"], fill).values())
        out[name] = math.fsum(values) / len(values) if values else None
    return out


def secondary(rows: Sequence[Decision]) -> dict[str, dict[str, Any]]:
    """S, C, S×C and H over units, their p-values Holm-adjusted together."""
    out = {name: effect(rows, name) for name in SECONDARY}
    for entry, p in zip(out.values(), stats.holm([e["p"] for e in out.values()]), strict=True):
        entry["p_holm"] = p
    return out


def endpoint(rows: Sequence[Decision], model: Mapping[str, Any]) -> dict[str, Any]:
    """Everything about the primary endpoint. `rows`: the primary data of one domain;
    `model`: what `models` returns."""
    design = effect(rows)
    met, why = decided(design, model)
    return {"label": CONTRASTS["primary"].label, "design": design, "model": model,
            "delta": cliffs_delta(rows), "at_h": at_h(rows), "bounds": bounds(rows),
            "met": met, "why": why}


def shown(design: Mapping[str, Any]) -> bool:
    """Whether an effect that has a test has the predicted direction and a p below .05."""
    return design["value"] > 0 and design["p"] < ALPHA


def decided(design: Mapping[str, Any], model: Mapping[str, Any]) -> tuple[bool | None, str]:
    """(met, why): both tests below .05 in the predicted direction; None: can't be said."""
    if design["p"] is None:
        return None, f"the design-based test can't be computed: {design['why']}"
    decides = model["with_policy"]
    if decides["separated"]:
        return shown(design), ("a cell separates the outcomes, so no model-based test exists: the "
                               "endpoint rests on the design-based test alone")
    if decides["primary"] is None or decides["primary"]["p"] is None:
        if not shown(design):
            return False, "the design-based test alone decides against it"
        return None, ("the model-based test is not computed: "
                      f"{decides['why'] or 'a reduced model has no likelihood'}")
    by_model = decides["primary"]["p"] < ALPHA and decides["primary"]["estimate"] > 0
    return shown(design) and by_model, (
        "design-based and model-based test (with (1|policy)) must both have p < 0.05 and a "
        "positive effect")


# --- The primary endpoint by mixed-effects logistic regression, as specified and with (1|policy ---

FIXED = ("S", "C", "S:C", "H", "domain", "option_order", "label_scheme")
RANDOM = ("agent", "opponent", "seed", "variant_id")
OTHERS = ("high_absent", "low_present")   # cells beside the two of the primary contrast
DIGITS = 6  # significant: an optimum is not known better, and all Pythons agree on so many
MOST_ROWS = 5000  # beyond, a fit takes from seconds to minutes, and each term takes one
MANY = (f"more than {MOST_ROWS} rows: likelihood ratios of S:C and the primary contrast; the other "
        "terms by Wald's test, beside their coefficients")
ONE_LEVEL = "one level in these data"


def models(rows: Sequence[Decision], most_rows: int | None = None) -> dict[str, Any]:
    """Both models on the readable rows, which may hold both domains. Beyond `most_rows` (default:
    MOST_ROWS) only S:C and the primary contrast are tested by likelihood ratio."""
    data = [model_row(row) for row in rows if row.cooperates is not None]
    left_out = left_out_of(data)
    fixed = [name for name in FIXED if not set(name.split(":")) & left_out.keys()]
    random = [name for name in RANDOM if name not in left_out]
    return {"rows": len(data), "left_out": left_out,
            "as_specified": _guarded(data, fixed, random, most_rows),
            "with_policy": _guarded(data, fixed, [*random, "policy"], most_rows)}


def model_row(row: Decision) -> dict[str, Any]:
    s, c = row.S == "high", row.C == "present"
    return {"coop": row.cooperates, "S": int(s), "C": int(c),
            "H": int(row.H == "high") if row.H != "omit" else "omit",
            "domain": row.domain, "option_order": row.option_order,
            "label_scheme": row.label_scheme, "agent": f"{row.seed}/{row.agent}",
            "opponent": f"{row.seed}/{row.opponent}", "seed": row.seed,
            "variant_id": row.variant, "policy": f"{row.run}/{row.agent}",
            "high_absent": int(s and not c), "low_present": int(c and not s)}


def left_out_of(data: Sequence[Mapping]) -> dict[str, str]:
    """{term: why} of what these data can't tell apart."""
    levels = {name: {row[name] for row in data} for name in (*FIXED, *RANDOM) if ":" not in name}
    out = {name: ONE_LEVEL for name, found in levels.items() if len(found) < 2}
    if "omit" in levels["H"]:
        out["H"] = "levels beside high and low"
    for name in ("seed", "variant_id"):
        pairs = {(row[name], row["domain"]) for row in data}
        if name not in out and len(pairs) == len(levels[name]) == len(levels["domain"]):
            out[name] = "each domain has its own single level"
    return out


def _guarded(data: Sequence[Mapping], fixed: Sequence[str], random: Sequence[str],
             most_rows: int | None) -> dict[str, Any]:
    """One model, or why there is none."""
    out = {"formula": _formula(fixed, random), "fit": None, "tests": None, "primary": None,
           "separated": False, "why": None}
    if not {"S", "C", "S:C"} <= set(fixed):
        return out | {"why": "S or C has one level in these data"}

    def fitted(terms: Sequence[str], part_of=None):
        return stats.fit_mixed_logit(data, "coop", list(terms), list(random), part_of)

    many = len(data) > (MOST_ROWS if most_rows is None else most_rows)
    return out | _tested(fitted, fixed, many)


def _formula(fixed: Sequence[str], random: Sequence[str]) -> str:
    return "coop ~ " + " + ".join([*fixed, *(f"(1|{name})" for name in random)])


def _tested(fitted, fixed: Sequence[str], many: bool) -> dict[str, Any]:
    full = fitted(fixed)
    if full.log_likelihood is None:
        return {"why": full.why, "separated": (full.why or "").startswith("separation"),
                "fit": rounded(full)}
    plain = [term for term in fixed if term != "S:C"]
    additive = fitted(plain, full)
    tests = {"S:C": stats.likelihood_ratio(full, additive)}
    for term in () if many else plain:
        # S and C by themselves are tested without their interaction, as marginality asks.
        base, terms = (additive, plain) if term in ("S", "C") else (full, fixed)
        tests[term] = stats.likelihood_ratio(base, fitted([t for t in terms if t != term], full))
    # S×C as four cells is the full model in other words; with two of them left, S high with C
    # present counts as S low with C absent.
    rest = [term for term in plain if term not in ("S", "C")]
    ratio = stats.likelihood_ratio(full, fitted([*OTHERS, *rest], full))
    return {"fit": rounded(full),
            "why": full.why or (MANY if many else None),
            "tests": {name: rounded(tests[name]) for name in fixed if name in tests},
            "primary": rounded({"estimate": _log_odds(full), "scale": "log odds"}
                                | ratio._asdict())}


def _log_odds(full) -> float:
    """S high with C present against S low with C absent."""
    return math.fsum(c.estimate for c in full.coefficients if c.name in ("S", "C", "S:C"))


def rounded(value: Any, digits: int = DIGITS) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: rounded(item, digits) for key, item in value.items()}
    return [rounded(item, digits) for item in value] if isinstance(value, list) else value
