"""Reference values of bootstrap intervals, permutation tests, power and adjusted p-values."""

import random
import sys
from itertools import chain, product
from pathlib import Path

import definitions as by_definition
import numpy as np
import scipy.stats
from peers import (
    CHICKS,
    COUNTS,
    DARWIN,
    DEFINITION,
    PLANTS,
    SCIPY,
    SLEEP,
    R,
    entry,
    r_package,
    run_r,
    vector,
)


def bootstraps():
    sys.path.insert(0, str(Path(__file__).parents[3]))
    from stats.bootstrap import _sampled_curve  # only to draw the same resamples

    named = {
        "mean": np.mean,
        "mean_difference": lambda x, y: np.mean(x) - np.mean(y),
        "median": np.median,
    }

    out = []
    rng = np.random.default_rng(9)
    skewed = rng.geometric(0.2, 25).tolist(), rng.geometric(0.3, 30).tolist()
    wide = rng.integers(0, 100_000, 40).tolist(), rng.integers(0, 90_000, 35).tolist()
    odd = rng.integers(0, 50, 21).tolist()
    for samples, name in (
        ((wide[0],), "mean"),
        (wide, "mean_difference"),
        ((odd,), "median"),
        (skewed, "max_difference"),
        ((CHICKS[0],), "variance"),
    ):
        statistic = by_definition.CALLABLES.get(name) or named[name]
        for method, level in product(("percentile", "BCa"), (0.9, 0.95)):
            curve = _sampled_curve(samples, statistic, 2000, 7)
            given = scipy.stats._resampling.BootstrapResult(None, np.array(curve.values), None)
            found = scipy.stats.bootstrap(
                samples,
                statistic,
                n_resamples=0,
                confidence_level=level,
                method=method,
                vectorized=False,
                bootstrap_result=given,
            )
            interval = found.confidence_interval
            expect = {
                "value": float(statistic(*samples)),
                "se": float(found.standard_error),
                "low": float(interval.low),
                "high": float(interval.high),
            }
            call = "bootstrap(n_resamples=0, bootstrap_result=the same 2,000 resamples)"
            out.append(
                entry(
                    "bootstrap_ci",
                    [samples, name, 2000, level, method.lower(), 7],
                    expect,
                    SCIPY,
                    call,
                )
            )
    for samples in (
        ([0, 1, 1, 0, 1],),
        ([1, 2, 2, 4, 7],),
        ([0, 0.5, 1, 1],),
        ([1, 2, 2, 4], [0, 1, 1]),
        ([1, 0, 1, 1, 1], [0, 0, 1]),
    ):
        for method in ("percentile", "bca"):
            name = "mean" if len(samples) == 1 else "mean_difference"
            expect = by_definition.exact_bootstrap(samples, method, 0.9)
            call = f"{DEFINITION}: all n^n resamples in fractions"
            out.append(
                entry(
                    "bootstrap_ci", [samples, name, 10_000, 0.9, method], expect, DEFINITION, call
                )
            )
    return out


def permutations():
    out = []
    admissions = run_r("list(a=as.vector(UCBAdmissions))")["a"]
    tables = [admissions[i : i + 4] for i in range(0, 24, 4)]
    small = [[3, 1, 1, 3], [2, 2, 0, 4], [1, 0, 2, 2], [4, 0, 3, 1]]
    for strata in (tables, small):
        for alternative in ("greater", "less"):
            code = (
                f"mantelhaen.test(array({vector(list(chain(*strata)))}, c(2, 2, {len(strata)})), "
                f"exact=TRUE, alternative='{alternative}')$p.value"
            )
            expect = {"p": run_r(code), "exact": True}
            out.append(
                entry("permutation_test", [strata, alternative], expect, R, code, form="tables")
            )
        p = by_definition.stratified_two_sided(strata)
        call = f"{DEFINITION}: hypergeometric counts in whole numbers"
        expect = {"p": p, "exact": True}
        out.append(
            entry(
                "permutation_test", [strata, "two-sided"], expect, DEFINITION, call, form="tables"
            )
        )
    for x, y in (CHICKS, PLANTS, SLEEP, ([1, 2, 4, 8], [3, 9, 27]), ([1, 1, 2], [5, 1, 1, 9, 2])):
        code = (
            f"coin::pvalue(coin::oneway_test(v ~ g, data.frame(v={vector(x + y)}, "
            f"g=factor(rep(0:1, c({len(x)}, {len(y)})))), distribution='exact'))"
        )
        if not all(isinstance(value, int) for value in x + y):
            code = code.replace("v=c(", "v=round(100*c(").replace("), g=", ")), g=")
        expect = {"p": run_r(code), "exact": True}
        keywords = {"resamples": 1_000_000}
        peer = r_package("coin")
        out.append(entry("permutation_test", [x, y], expect, peer, code, **keywords))
    blocked = [[3, 5], [1, 2, 4]], [[0.5, 7], [2, 8]], [[9], [4, 4, 1]]
    p = by_definition.blocked_two_sided(blocked)
    out.append(
        entry(
            "permutation_test",
            [blocked],
            {"p": p, "exact": True},
            DEFINITION,
            "every assignment within blocks",
            form="blocks",
        )
    )
    differences = [round(b - a, 10) for a, b in zip(*SLEEP, strict=True)]
    for values in (differences, DARWIN, [1, 1, -1, 1, 0, 1, 1], [0.5, -0.25, 3, 1 / 3]):
        for alternative in ("two-sided", "greater", "less"):
            found = scipy.stats.permutation_test(
                (np.array(values),),
                np.mean,
                permutation_type="samples",
                n_resamples=np.inf,
                alternative=alternative,
            )
            call = f"permutation_test(permutation_type='samples', alternative='{alternative}')"
            expect = {"statistic": float(found.statistic), "p": float(found.pvalue), "exact": True}
            out.append(entry("sign_flip_test", [values, alternative], expect, SCIPY, call))
    out += flip_intervals()
    for counts in [(3, 4, 1, 4), (10, 12, 2, 15), (10, 13, 2, 17), *COUNTS]:
        k1, n1, k2, n2 = counts
        code = f"fisher.test(matrix(c({k1}, {n1 - k1}, {k2}, {n2 - k2}), 2))$p.value"
        out.append(entry("fisher_exact", list(counts), run_r(code), R, code))
    for k, n, p in ((682, 925, 0.75), (0, 10, 0.5), (7, 20, 0.3), (12, 12, 0.5), (51, 235, 1 / 6)):
        code = f"binom.test({k}, {n}, {p!r})$p.value"
        out.append(entry("binomial_test", [k, n, p], run_r(code), R, code))
    return out


def flip_intervals():
    rng = random.Random("flips")
    thirds = [rng.randint(-2, 3) / 3 for _ in range(14)]
    reals = [round(rng.gauss(0.4, 1), 6) for _ in range(13)]
    out = []
    for values in (DARWIN, thirds, reals, [0.5, -0.25, 3, 1 / 3, 0.75, 2], [1, 1, 0, 1, 1, 1, -1]):
        for level in (0.8, 0.95):
            expect, call = by_definition.flip_interval(values, level), "all subset means"
            out.append(entry("sign_flip_interval", [values, level], expect, DEFINITION, call))
    return out


def contrasts():
    rng, out = random.Random("contrasts"), []
    weights = {"HP": 1, "LA": -1, "UN": -1, "UL": 1}
    for rates in ((0.8, 0.4, 0.45, 0.4), (0.9, 0.2, 0.3, 0.5)):
        for level in (0.9, 0.95):
            rows = [
                (unit, cell, int(rng.random() < rate))
                for unit in range(9)
                for cell, rate in zip(weights, rates, strict=True)
                for _ in range(6)
            ]
            units = [
                {c: (w, np.array([y for i, d, y in rows if (i, d) == (u, c)])) for c, w in
                 weights.items()} for u in range(9)
            ]  # fmt: skip
            expect, call = by_definition.log_odds_jackknife(units, level), "pseudo-values of rows"
            args = [rows, weights, level]
            out.append(entry("log_odds_contrast", args, expect, DEFINITION, call))
    return out


def holms():
    out = []
    for values in ([0.01, 0.02, 0.03, 0.04, 0.05], [0.5, 0.001, 0.04, 0.04], [0.9, 0.8]):
        code = f"as.list(p.adjust({vector(values)}, 'holm'))"
        out.append(entry("holm", [values], run_r(code), R, code))
    return out
