"""Asks the peers again for the reference values beside this file, and says what differs.

    python3 tests/reference/stats/make_reference.py [--write] [TOPIC…]      (from the root)

An entry names the function, its arguments, the expected fields, and the peer, its version and the
call that gave them. A new case is an entry without `expect`, then --write. Needs SciPy,
statsmodels, scikit-learn, mpmath, irrCAC, and R with jsonlite, effectsize, coin, glmmTMB and
brglm2; what is not installed is skipped and counted. The tests need none of these.
"""

import csv
import importlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from mixed_data import DATA

HERE = Path(__file__).parent

# --- R: an entry's call is an expression of R ----------------------------------------------------

LIMITS = "{v <- %s; list(low=v[[1]], high=v[[2]])}"
T_TEST = (
    "with(%s, list(t=statistic[[1]], df=parameter[[1]], p=p.value, low=conf.int[1], "
    "high=conf.int[2]))"
)
EXACT = "list(p=%s, exact=TRUE)"
FIELDS = {  # what is taken of the call's value; all of it where nothing stands here
    "wilson_interval": LIMITS,
    "share": LIMITS,
    "welch_t_test": T_TEST,
    "t_interval": T_TEST,
    "permutation_test": EXACT,
    "cohens_d": "with(%s, list(value=Cohens_d, low=CI_low, high=CI_high))",
    "likelihood_ratio": "{v <- %s; list(chi2=v[2, 'Chisq'], df=v[2, 'Chi Df'], "
    "p=v[2, 'Pr(>Chisq)'])}",
}
MODELS = ("fit_mixed_logit", "likelihood_ratio")
SHARED = """
named <- function(v) as.list(setNames(as.numeric(v), gsub("`", "", names(v))))
spread <- function(v) lapply(v, function(a) attr(a, "stddev")[[1]])
mixed <- function(m) { v <- sqrt(diag(vcov(m)$cond)); list(estimates=named(fixef(m)$cond),
  errors=named(v), random_sd=spread(VarCorr(m)$cond), log_likelihood=as.numeric(logLik(m))) }
plain <- function(m) { v <- coef(summary(m)); list(estimates=named(coef(m)), errors=named(v[, 2]),
  z=named(v[, 3]), p=named(v[, 4]), log_likelihood=as.numeric(logLik(m))) }
"""


def by_r(entry):
    package = entry["peer"].partition(", ")[2].partition(" ")[0] or "stats"
    name, args, code = entry["function"], entry["args"], entry["call"]
    with tempfile.TemporaryDirectory() as folder:
        if name in MODELS:
            code = f"{{d <- read.csv('{table(DATA[args[0]](), folder)}'); {code}}}"
        program = (
            f"suppressMessages(library({package})); {SHARED} cat(jsonlite::toJSON("
            f"suppressWarnings({FIELDS.get(name, '%s') % code.replace('%', '%%')}), "
            "digits=17, auto_unbox=TRUE, null='null', na='null'))"
        )
        done = subprocess.run(
            ["Rscript", "-e", program], capture_output=True, text=True
        )
    if "there is no package" in done.stderr:
        raise ImportError(package)
    done.check_returncode()
    expect = json.loads(done.stdout)
    if name == "share":
        expect["value"] = args[0] / args[1]
    if name == "fit_mixed_logit":
        columns = {part for term in args[2] for part in term.split(":")}
        for field in {"estimates", "errors", "z", "p"} & expect.keys():
            values = expect[field].items()
            expect[field] = {ours(key, columns): value for key, value in values}
    return expect


def table(rows, folder):
    path = Path(folder) / "d.csv"
    with path.open("w", newline="", encoding="utf-8") as sheet:
        writer = csv.DictWriter(sheet, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def ours(name, columns):
    """R's name of a coefficient in this project's form: domainhospital → domain[hospital]."""
    parts = []
    for part in name.split(":"):
        column = max((c for c in columns if part.startswith(c)), key=len, default=part)
        level = part.removeprefix(column)
        parts.append(f"{column}[{level}]" if level else column)
    return ":".join(parts)


def again(entry):
    """The peer's answer today."""
    if entry["peer"].startswith("R "):
        return by_r(entry)
    return importlib.import_module("peers").PEERS[entry["function"]](*entry["args"])


def differs(old, new):
    """The largest |old − new|/max(1, |old|) over all numbers."""
    if isinstance(old, dict):
        assert old.keys() == new.keys(), (old, new)
        return max([0.0, *[differs(old[key], new[key]) for key in old]])
    if isinstance(old, list):
        return max([0.0, *map(differs, old, new)])
    return abs(old - new) / max(1.0, abs(old))


def main(*topics, write=False):
    for path in sorted(HERE.glob("*.json")):
        entries, skipped, worst = json.loads(path.read_text("utf-8")), 0, 0.0
        for entry in entries if not topics or path.stem in topics else ():
            try:
                new = again(entry)
            except ImportError:
                skipped += 1
                continue
            worst = max(worst, differs(entry.get("expect", new), new))
            entry["expect"] = new
        if write:
            lines = ",\n".join(json.dumps(e, ensure_ascii=False) for e in entries)
            path.write_text(f"[\n{lines}\n]\n", "utf-8")
        print(
            f"{path.stem}: {len(entries)} entries, {skipped} skipped, largest change {worst:.1e}"
        )


if __name__ == "__main__":
    topics = [name for name in sys.argv[1:] if name != "--write"]
    main(*topics, write="--write" in sys.argv)
