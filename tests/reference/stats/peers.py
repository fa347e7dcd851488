"""How Python's peers are asked: {function: entry → expected}. Used by make_reference.py only."""

import sys
from pathlib import Path

import definitions
import irrCAC.raw
import mpmath
import numpy as np
import pandas as pd
import scipy.stats
from sklearn.feature_extraction.text import TfidfVectorizer
from statsmodels.stats import proportion

sys.path.insert(0, str(Path(__file__).parents[3]))
import stats

NAMED = {
    "mean": np.mean,
    "mean_difference": lambda x, y: np.mean(x) - np.mean(y),
    "median": np.median,
    "max_difference": lambda x, y: max(x) - np.mean(y),
    "variance": lambda x: sum((value - sum(x) / len(x)) ** 2 for value in x),
}


def limits(pair):
    return {"low": float(pair[0]), "high": float(pair[1])}


def hypergeometric_pmf(marked, drawn, total):
    low, high = max(0, drawn + marked - total), min(marked, drawn)
    return [
        low,
        scipy.stats.hypergeom.pmf(range(low, high + 1), total, marked, drawn).tolist(),
    ]


def bootstrap_ci(samples, name, resamples, level, method, seed=None):
    if seed is None:
        return definitions.exact_bootstrap(samples, method, level)
    statistic = NAMED[name]
    values = []  # of the estimate, then of the resamples that the function draws
    stats.bootstrap_ci(
        tuple(samples),
        lambda *drawn: values.append(statistic(*drawn)) or values[-1],
        resamples,
        level,
        "percentile",
        seed,
    )
    given = scipy.stats._resampling.BootstrapResult(None, np.array(values[1:]), None)
    result = scipy.stats.bootstrap(
        samples,
        statistic,
        n_resamples=0,
        confidence_level=level,
        vectorized=False,
        method={"bca": "BCa"}.get(method, method),
        bootstrap_result=given,
    )
    return {
        "value": float(statistic(*samples)),
        "se": float(result.standard_error),
        **limits(result.confidence_interval),
    }


def sign_flip_test(values, alternative):
    result = scipy.stats.permutation_test(
        (np.array(values),),
        np.mean,
        permutation_type="samples",
        n_resamples=np.inf,
        alternative=alternative,
    )
    return {
        "statistic": float(result.statistic),
        "p": float(result.pvalue),
        "exact": True,
    }


def gwet_ac1(ratings):
    result = irrCAC.raw.CAC(pd.DataFrame(ratings), digits=15).gwet()["est"]
    fields = {"value": "coefficient_value", "se": "se", "p": "p_value"}
    return (
        {key: float(result[name]) for key, name in fields.items()}
        | limits(result["confidence_interval"])
        | {"observed": float(result["pa"]), "chance": float(result["pe"])}
    )


def vectors(texts, low, high):
    peer = TfidfVectorizer(analyzer="char", ngram_range=(low, high))
    return peer.fit_transform(texts), peer.get_feature_names_out()


def char_tfidf(*args):
    matrix, names = vectors(*args)
    return [
        {str(names[i]): float(w) for i, w in zip(row.indices, row.data, strict=True)}
        for row in matrix
    ]


def mean_cosine(texts, *sizes):
    matrix, _ = vectors(texts, *sizes)
    cosines, n = (matrix @ matrix.T).toarray(), len(texts)
    return float((cosines.sum() - np.trace(cosines)) / (n * (n - 1)))


PEERS = {
    "normal_quantile": lambda p: float(definitions.normal_quantile(p)),
    "t_sf": lambda t, df: float(definitions.t_sf(t, df)),
    "noncentral_t_curve": lambda *args: float(definitions.noncentral_t_cdf(*args)),
    "beta_cdf": lambda x, a, b: float(
        mpmath.betainc(a, b, 0, mpmath.mpf(x), regularized=True)
    ),
    "binomial_pmf": lambda n, p: scipy.stats.binom.pmf(range(n + 1), n, p).tolist(),
    "hypergeometric_pmf": hypergeometric_pmf,
    "newcombe_difference": lambda *counts: limits(
        proportion.confint_proportions_2indep(*counts, method="newcomb", compare="diff")
    ),
    "score_difference": lambda *args: limits(definitions.score_interval(*args)),
    "cohens_d": lambda *args: definitions.standardised(*args)[0],
    "cliffs_delta": definitions.cliffs_delta,
    "bootstrap_ci": bootstrap_ci,
    "sign_flip_test": sign_flip_test,
    "gwet_ac1": gwet_ac1,
    "char_tfidf": char_tfidf,
    "mean_cosine": mean_cosine,
}
