"""Writes mixed.json beside this file: what R says about the data of mixed_data.py.

    python3 tests/reference/stats/make_mixed.py      (from the root of the repository)

Needs R with glmmTMB, lme4, brglm2 and jsonlite; Python's standard library is enough.
"""

import csv
import json
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from mixed_data import DATA

HERE = Path(__file__).parent
NOTHING = [{"x": 1}]

FIXED = ["S", "C", "S:C", "H", "domain", "option_order", "label_scheme"]
GROUPS = ["agent", "opponent", "seed", "variant_id"]

MODELS = [  # data, outcome, fixed, random
    ("cbpp", "case", ["period"], ["herd"]),
    ("cbpp", "case", [], ["herd"]),
    ("crossed", "coop", FIXED, GROUPS),
    ("crossed", "coop", ["domain", "S", "domain:S", "label_scheme"], ["agent", "seed"]),
    ("crossed-3000", "coop", FIXED, GROUPS),
    ("crossed-wide", "coop", FIXED, GROUPS),
    ("singular", "coop", FIXED, GROUPS),
    ("no-spread", "coop", ["S", "C", "S:C", "H"], GROUPS),
    ("policies", "coop", FIXED, GROUPS + ["policy"]),
    ("nested", "passed", ["hours"], ["school", "class"]),
]
ORDINARY = [
    ("cbpp", "case", ["period"], []),
    ("crossed", "coop", [*FIXED, "S:C:H", "domain:label_scheme"], []),
    ("nested", "passed", ["hours"], []),
]
RATIOS = [  # and the terms of the smaller model
    ("cbpp", "case", ["period"], ["herd"], []),
    ("crossed", "coop", FIXED, GROUPS, ["S", "C", "H", "domain", "option_order", "label_scheme"]),
    ("policies", "coop", FIXED, [*GROUPS, "policy"], ["S", "C", "S:C", "H", "domain"]),
]
SEPARATED = [
    ("separated", "coop", ["S", "C", "S:C"], []),
    ("separated", "coop", ["S", "C", "S:C", "score"], ["run"]),
]
# The limits of glmmTMB's and glmer's own searches are drawn tight: the optimum is compared.
TIGHT = "control = glmmTMBControl(optCtrl = list(iter.max=1e4, eval.max=1e4, rel.tol=1e-15))"
# glm's standard errors are those of the step before its last.
EXACT = {"estimates": 1e-9, "errors": 1e-8, "z": 1e-7, "p": 1e-9, "log_likelihood": 1e-9}
LIMITS = {
    "estimates": 1e-3,
    "errors": 1e-3,
    "random_sd": 1e-3,
    "log_likelihood": 1e-4,
}

SHARED = """
suppressMessages({library(glmmTMB); library(lme4); library(brglm2)})
named <- function(v) as.list(setNames(as.numeric(v), gsub("`", "", names(v))))
spread <- function(v) lapply(v, function(a) attr(a, "stddev")[[1]])
mixed <- function(m) { v <- sqrt(diag(vcov(m)$cond)); list(estimates=named(fixef(m)$cond),
  errors=named(v), random_sd=spread(VarCorr(m)$cond), log_likelihood=as.numeric(logLik(m))) }
plain <- function(m) { v <- coef(summary(m)); list(estimates=named(coef(m)), errors=named(v[, 2]),
  z=named(v[, 3]), p=named(v[, 4]), log_likelihood=as.numeric(logLik(m))) }
"""


def run_r(code, rows):
    """The value of an R expression, `d` being the rows, as Python data."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "d.csv"
        with path.open("w", newline="", encoding="utf-8") as sheet:
            writer = csv.DictWriter(sheet, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        program = f'{SHARED} d <- read.csv("{path}"); out <- {{ {code} }}\n'
        program += "cat(jsonlite::toJSON(out, digits=17, auto_unbox=TRUE, null='null', na='null'))"
        done = subprocess.run(["Rscript", "-e", program], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


@cache
def version(package):
    code = f"paste0('R ', getRversion(), ', {package} ', packageVersion('{package}'))"
    return run_r(code, NOTHING)


def formula(outcome, fixed, random):
    return f"{outcome} ~ {' + '.join([*(fixed or ['1']), *(f'(1 | {g})' for g in random)])}"


def ours(name, columns):
    """R's name of a coefficient in this project's form: domainhospital → domain[hospital]."""
    parts = []
    for part in name.split(":"):
        column = max((c for c in columns if part.startswith(c)), key=len, default=part)
        level = part[len(column) :]
        parts.append(f"{column}[{level}]" if level else column)
    return ":".join(parts)


def renamed(expect, fixed):
    columns = {column for term in fixed for column in term.split(":")}
    for field in ("estimates", "errors", "z", "p"):
        if field in expect:
            expect[field] = {ours(name, columns): v for name, v in expect[field].items()}
    return expect


def entry(function, args, expect, peer, call, tolerance):
    return {
        "function": function,
        "args": args,
        "kwargs": {},
        "expect": expect,
        "peer": peer,
        "call": call,
        "tolerance": tolerance,
    }


def fits(models, call, peer, tolerance):
    for data, outcome, fixed, random in models:
        written = call.format(formula=formula(outcome, fixed, random))
        expect = renamed(run_r(written, DATA[data]()), fixed)
        yield entry(
            "fit_mixed_logit", [data, outcome, fixed, random], expect, peer, written, tolerance
        )


def ratios():
    for data, outcome, fixed, random, smaller in RATIOS:
        calls = [
            f"glmmTMB({formula(outcome, terms, random)}, d, family=binomial, {TIGHT})"
            for terms in (smaller, fixed)
        ]
        call = f"anova({', '.join(calls)})"
        code = f"v <- {call}; list(chi2=v[2, 'Chisq'], df=v[2, 'Chi Df'], p=v[2, 'Pr(>Chisq)'])"
        expect = run_r(code, DATA[data]())
        args = [data, outcome, fixed, random, smaller]
        limits = {"chi2": 1e-4, "df": 0, "p": 1e-5}
        yield entry("likelihood_ratio", args, expect, version("glmmTMB"), call, limits)


def tails():
    points = [(x, df) for df in (1, 2, 3, 4, 7, 10, 25) for x in (0.003, 0.7, 3.84, 12.5, 80.0)]
    calls = [f"pchisq({x}, {df}, lower.tail=FALSE)" for x, df in points]
    values = run_r(f"c({', '.join(calls)})", NOTHING)
    for point, call, value in zip(points, calls, values, strict=True):
        yield entry("chi2_sf", list(point), value, version("stats"), call, 1e-12)


if __name__ == "__main__":
    entries = [
        *fits(
            MODELS,
            f"mixed(glmmTMB({{formula}}, d, family=binomial, {TIGHT}))",
            version("glmmTMB"),
            LIMITS,
        ),
        *ratios(),
        *fits(
            ORDINARY,
            "plain(glm({formula}, binomial, d, epsilon=1e-15, maxit=100))",
            version("stats"),
            EXACT,
        ),
        *fits(
            [(*model[:3], []) for model in SEPARATED],
            "list(estimates=named(coef(glm({formula}, binomial, d, method='brglmFit', "
            "type='AS_mean', epsilon=1e-12, maxit=1000))))",
            version("brglm2"),
            {"estimates": 1e-7},
        ),
        *tails(),
    ]
    lines = ",\n".join(json.dumps(e, ensure_ascii=False) for e in entries)
    (HERE / "mixed.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(f"mixed: {len(entries)} entries")
