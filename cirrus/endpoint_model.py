"""The primary endpoint by mixed-effects logistic regression, as specified and with (1|policy).

    coop ~ S*C + H + domain + option_order + label_scheme
           + (1|agent) + (1|opponent) + (1|seed) + (1|variant_id) [+ (1|policy)]

Terms by likelihood ratio. A factor with one level, or a grouping that says no more than a factor
does, is left out and named. Agents are nested in their seed, policies in (run, agent).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from cirrus.decisions import Decision

FIXED = ("S", "C", "S:C", "H", "domain", "option_order", "label_scheme")
RANDOM = ("agent", "opponent", "seed", "variant_id")
CELLS = ("high_present", "high_absent", "low_present")  # against S low, C absent
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
            "high_present": int(s and c), "high_absent": int(s and not c),
            "low_present": int(c and not s)}


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
    from stats.mixed import fit_mixed_logit, likelihood_ratio

    def fitted(terms: Sequence[str]):
        return fit_mixed_logit(data, "coop", list(terms), list(random))

    many = len(data) > (MOST_ROWS if most_rows is None else most_rows)
    return out | _tested(fitted, likelihood_ratio, fixed, many)


def _formula(fixed: Sequence[str], random: Sequence[str]) -> str:
    return "coop ~ " + " + ".join([*fixed, *(f"(1|{name})" for name in random)])


def _tested(fitted, likelihood_ratio, fixed: Sequence[str], many: bool) -> dict[str, Any]:
    full = fitted(fixed)
    if full.log_likelihood is None:
        return {"why": full.why, "separated": (full.why or "").startswith("separation"),
                "fit": rounded(full.asdict())}
    plain = [term for term in fixed if term != "S:C"]
    additive = fitted(plain)
    tests = {"S:C": likelihood_ratio(full, additive)}
    for term in () if many else plain:
        # S and C by themselves are tested without their interaction, as marginality asks.
        base, terms = (additive, plain) if term in ("S", "C") else (full, fixed)
        tests[term] = likelihood_ratio(base, fitted([t for t in terms if t != term]))
    # S×C as four cells is the full model in other words; without the first, S high with C present
    # counts as S low with C absent.
    rest = [term for term in plain if term not in ("S", "C")]
    ratio = likelihood_ratio(full, fitted([*CELLS[1:], *rest]))
    return {"fit": rounded(full.asdict()),
            "why": full.why or (MANY if many else None),
            "tests": {name: rounded(tests[name].asdict()) for name in fixed if name in tests},
            "primary": rounded({"estimate": _log_odds(full), "scale": "log odds"}
                                | ratio.asdict())}


def _log_odds(full) -> float:
    """S high with C present against S low with C absent."""
    return math.fsum(c.estimate for c in full.coefficients if c.name in ("S", "C", "S:C"))


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value
