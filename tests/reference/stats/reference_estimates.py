"""Reference values of distributions, intervals, effect sizes, agreement and text vectors."""

import definitions as by_definition
import irrCAC.raw
import mpmath
import numpy as np
import pandas as pd
import scipy.stats
from peers import (
    CHICKS,
    COUNTS,
    DARWIN,
    DEFINITION,
    DOMINANCE,
    MPMATH,
    PLANTS,
    SCIPY,
    SKLEARN,
    SLEEP,
    STATSMODELS,
    R,
    entry,
    r_package,
    run_r,
    vector,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from statsmodels.stats import proportion


def distributions():
    out = []
    for p in (1e-12, 0.001, 0.025, 0.3, 0.5, 0.8, 0.975):
        z = by_definition.normal_quantile(p)
        out.append(entry("normal_quantile", [p], float(z), MPMATH, "sqrt(2) erfinv(2p - 1)"))
    for t, df in ((0.5, 1), (2.1, 3.3), (-1.2, 10), (2.0, 46), (12.0, 5), (3.0, 1e5), (40.0, 2)):
        p = float(by_definition.t_sf(t, df))
        out.append(entry("t_sf", [t, df], p, MPMATH, "integral of the t density"))
    for p, df in ((0.975, 1), (0.975, 2.5), (0.995, 17.78), (0.9, 46), (0.025, 4), (0.975, 1e6)):
        call = f"qt({p}, {df})"
        out.append(entry("t_quantile", [p, df], run_r(call), R, call))
    for t, df, shift in (
        (1, 1, 0.5),
        (2.2, 46, 2),
        (-3, 10, 1.5),
        (8, 5, 9),
        (4, 2, 8),
        (1, 900, 0),
    ):
        p = float(by_definition.noncentral_t_cdf(t, df, shift))
        call = "integral of Φ(tu - shift) over the density of u = chi/sqrt(df)"
        out.append(entry("noncentral_t_curve", [t, df, shift], p, MPMATH, call))
    for x, a, b in ((0.2, 2, 3), (0.99, 0.5, 40), (0.5, 300, 280), (0.001, 1, 0.5)):
        p = float(mpmath.betainc(a, b, 0, mpmath.mpf(x), regularized=True))
        out.append(entry("beta_cdf", [x, a, b], p, MPMATH, "betainc(regularized=True)"))
    for n, p in ((0, 0.3), (7, 0.0), (12, 0.31), (60, 0.97)):
        pmf = scipy.stats.binom.pmf(range(n + 1), n, p).tolist()
        out.append(entry("binomial_pmf", [n, p], pmf, SCIPY, "binom.pmf"))
    for marked, drawn, total in ((4, 4, 8), (30, 12, 40), (3, 50, 60), (0, 3, 9)):
        low, high = max(0, drawn + marked - total), min(marked, drawn)
        pmf = scipy.stats.hypergeom.pmf(range(low, high + 1), total, marked, drawn).tolist()
        expect = [low, pmf]
        out.append(
            entry("hypergeometric_pmf", [marked, drawn, total], expect, SCIPY, "hypergeom.pmf")
        )
    return out


def intervals():
    out = []
    for k, n in ((0, 10), (10, 10), (3, 10), (1, 1), (81, 263), (15, 148), (0, 20), (500, 5000)):
        for level in (0.9, 0.95, 0.99):
            code = f"as.list(prop.test({k}, {n}, conf.level={level}, correct=FALSE)$conf.int)"
            low, high = run_r(f"suppressWarnings({code})")
            expect = {"low": low, "high": high}
            out.append(entry("wilson_interval", [k, n, level], expect, R, code))
            out.append(entry("share", [k, n, level], expect | {"value": k / n}, R, code))
            code = f"as.list(binom.test({k}, {n}, conf.level={level})$conf.int)"
            low, high = run_r(code)
            expect = {"low": low, "high": high}
            out.append(entry("clopper_pearson", [k, n, level], expect, R, code))
    for counts in COUNTS:
        low, high = proportion.confint_proportions_2indep(*counts, method="newcomb", compare="diff")
        expect = {"low": float(low), "high": float(high)}
        call = "confint_proportions_2indep(method='newcomb')"
        out.append(entry("newcombe_difference", list(counts), expect, STATSMODELS, call))
        for level in (0.9, 0.95):
            low, high = by_definition.score_interval(*counts, level)
            expect = {"low": float(low), "high": float(high)}
            call = f"{DEFINITION}: likelihood maximised by bisection"
            out.append(entry("score_difference", [*counts, level], expect, MPMATH, call))
    return out


def effects():
    out = []
    pairs = [SLEEP, PLANTS, CHICKS, ([0, 0, 1, 1, 1, 0, 1], [0, 0, 0, 0, 1]), ([1, 2], [4, 4])]
    for x, y in pairs:
        for level in (0.9, 0.95, 0.99):
            call = f"t.test({vector(x)}, {vector(y)}, conf.level={level})"
            t, df, p, low, high = run_r(
                f"with({call}, list(statistic[[1]], parameter[[1]], "
                "p.value, conf.int[1], conf.int[2]))"
            )
            expect = {"t": t, "df": df, "p": p, "low": low, "high": high}
            out.append(entry("welch_t_test", [x, y, level], expect, R, call))
            d, dl, dh, g, gl, gh = by_definition.standardised(x, y, level)
            call = f"{SCIPY}: brentq on nct.cdf"
            expect = {"value": d, "low": dl, "high": dh}
            out.append(entry("cohens_d", [x, y, level], expect, DEFINITION, call))
            expect = {"value": g, "low": gl, "high": gh}
            out.append(entry("hedges_g", [x, y, level], expect, DEFINITION, call))
        for function, column in (("cohens_d", "Cohens_d"), ("hedges_g", "Hedges_g")):
            call = f"effectsize::{function}({vector(x)}, {vector(y)})"
            value, low, high = run_r(f"with({call}, list({column}, CI_low, CI_high))")
            expect = {"value": value, "low": low, "high": high}
            peer = r_package("effectsize")
            out.append(entry(function, [x, y], expect, peer, call, tolerance=1e-3))
    differences = [b - a for a, b in zip(*SLEEP, strict=True)]
    for values in (differences, DARWIN):
        call = f"t.test({vector(values)})"
        t, df, p, low, high = run_r(
            f"with({call}, list(statistic[[1]], parameter[[1]], p.value, conf.int[1], conf.int[2]))"
        )
        expect = {"t": t, "df": df, "p": p, "low": low, "high": high}
        out.append(entry("t_interval", [values], expect, R, call))
    for p1, p2 in ((0.65, 0.5), (0, 1), (0.2, 0.2), (0.05, 0.4)):
        h = float(proportion.proportion_effectsize(p1, p2))
        out.append(entry("cohens_h", [p1, p2], h, STATSMODELS, "proportion_effectsize"))
    rng = np.random.default_rng(4)
    tied = (rng.integers(1, 8, 31).tolist(), rng.integers(2, 9, 44).tolist())
    apart = ([1, 2, 3, 4], [7, 8, 9])
    for x, y in [*pairs[:4], DOMINANCE, tied, apart, apart[::-1]]:
        for level in (0.9, 0.95):
            expect = by_definition.cliffs_delta(x, y, level, run_r)
            out.append(entry("cliffs_delta", [x, y, level], expect, DEFINITION, f"with {R} qt"))
    return out


def agreements():
    out = []
    four = [
        "1 1 . 1",
        "2 2 3 2",
        "3 3 3 3",
        "3 3 3 3",
        "2 2 2 2",
        "1 2 3 4",
        "4 4 4 4",
        "1 1 2 1",
        "2 2 2 2",
        ". 5 5 5",
        ". . 1 1",
        ". . 3 .",
    ]
    four = [[None if c == "." else c for c in row.split()] for row in four]
    two = [["y", "y"]] * 20 + [["y", "n"]] * 5 + [["n", "y"]] * 10 + [["n", "n"]] * 15
    rare = [[0, 0]] * 90 + [[1, 0]] * 4 + [[0, 1]] * 3 + [[1, 1]] * 3
    for ratings in (four, two, rare, rare + [[1, None]] * 3):
        found = irrCAC.raw.CAC(pd.DataFrame(ratings), digits=15).gwet()["est"]
        low, high = found["confidence_interval"]
        expect = {
            "value": found["coefficient_value"],
            "se": found["se"],
            "p": found["p_value"],
            "low": low,
            "high": high,
            "observed": found["pa"],
            "chance": found["pe"],
        }
        expect = {key: float(value) for key, value in expect.items()}
        # The peer's limits rest on SciPy's t quantile, which is off by up to 4e-9 there.
        out.append(
            entry("gwet_ac1", [ratings], expect, "irrCAC 0.4 (Python)", "CAC().gwet()", 1e-8)
        )
    return out


def texts():
    lines = [
        "I can't  say that,\n as I am a language model.",
        "As a language model I can't say that.",
        "Sharing early protects patients; waiting protects the vendor.",
        "ab",
        "",
        "Naïve façade\t\tcafé — ΣΑΣ",
        "I can't  say that,\n as I am a language model.",
    ]
    out = []
    for low, high in ((3, 5), (1, 2)):
        peer = TfidfVectorizer(analyzer="char", ngram_range=(low, high))
        matrix = peer.fit_transform(lines)
        names = peer.get_feature_names_out()
        vectors = [
            {str(names[i]): float(w) for i, w in zip(row.indices, row.data, strict=True)}
            for row in matrix
        ]
        cosines = (matrix @ matrix.T).toarray()
        n = len(lines)
        mean = float((cosines.sum() - np.trace(cosines)) / (n * (n - 1)))
        call = f"TfidfVectorizer(analyzer='char', ngram_range=({low}, {high}))"
        out.append(entry("char_tfidf", [lines, low, high], vectors, SKLEARN, call))
        out.append(entry("mean_cosine", [lines, low, high], mean, SKLEARN, f"X @ X.T, {call}"))
    return out
