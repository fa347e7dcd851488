"""How Python's peers are asked: {function: entry → expected}. Used by make_reference.py only."""

import sys
from pathlib import Path

import definitions
import irrCAC.raw
import numpy as np
import pandas as pd
import scipy.stats
from sklearn.feature_extraction.text import TfidfVectorizer
from statsmodels.stats import proportion

sys.path.insert(0, str(Path(__file__).parents[3]))
import stats


def mean_difference(x, y):
    return np.mean(x) - np.mean(y)


def max_difference(x, y):
    return max(x) - np.mean(y)


def variance(x):
    return ((np.array(x) - np.mean(x)) ** 2).sum()


NAMED = {
    "mean": np.mean,
    "mean_difference": mean_difference,
    "median": np.median,
    "max_difference": max_difference,
    "variance": variance,
}


def limits(pair):
    return {"low": float(pair[0]), "high": float(pair[1])}


def exact_p(result):
    return {"statistic": result.statistic, "p": result.pvalue, "exact": True}


def bootstrap_ci(samples, name, resamples, level, method, seed, clusters=None):
    """SciPy's interval from the resamples that the function itself draws."""
    values = []  # of the estimate, then of the resamples

    def recorded(*drawn):
        values.append(NAMED[name](*drawn))
        return values[-1]

    stats.bootstrap_ci(
        samples, recorded, resamples, level, "percentile", seed, clusters
    )
    data, statistic = samples, NAMED[name]
    if clusters:
        data, statistic = of_clusters(samples, clusters, statistic)
    drawn = scipy.stats._resampling.BootstrapResult(None, np.array(values[1:]), None)
    result = scipy.stats.bootstrap(
        data,
        statistic,
        n_resamples=0,
        confidence_level=level,
        vectorized=False,
        method={"bca": "BCa"}.get(method, method),
        bootstrap_result=drawn,
    )
    found = {"value": float(values[0]), "se": float(result.standard_error)}
    return found | limits(result.confidence_interval)


def of_clusters(samples, clusters, statistic):
    """Numbers of clusters in place of the values, and the statistic of what they hold."""
    data = [np.unique(labels, return_inverse=True)[1] for labels in clusters]
    numbers = [np.arange(max(places) + 1) for places in data]

    def pooled(*drawn):
        groups = []
        for sample, places, chosen in zip(samples, data, drawn, strict=True):
            held = [np.array(sample)[places == number] for number in chosen]
            groups.append(np.concatenate(held))
        return statistic(*groups)

    return numbers, pooled


def sign_flip_test(values, alternative):
    result = scipy.stats.permutation_test(
        (np.array(values),),
        np.mean,
        permutation_type="samples",
        n_resamples=np.inf,
        alternative=alternative,
    )
    return exact_p(result)


def f_statistic(*groups):
    return scipy.stats.f_oneway(*groups).statistic


def kruskal_statistic(*groups):
    return scipy.stats.kruskal(*groups).statistic


def permutation_anova(groups, statistic):
    function = {"mean": f_statistic, "rank": kruskal_statistic}[statistic]
    result = scipy.stats.permutation_test(
        groups, function, n_resamples=np.inf, vectorized=False, alternative="greater"
    )
    return exact_p(result)


def gwet_ac1(ratings):
    result = irrCAC.raw.CAC(pd.DataFrame(ratings), digits=15).gwet()["est"]
    fields = {
        "value": "coefficient_value",
        "se": "se",
        "p": "p_value",
        "observed": "pa",
        "chance": "pe",
    }
    found = {key: float(result[name]) for key, name in fields.items()}
    return found | limits(result["confidence_interval"])


def vectors(texts, low, high):
    peer = TfidfVectorizer(analyzer="char", ngram_range=(low, high))
    return peer.fit_transform(texts), peer.get_feature_names_out()


def char_tfidf(*args):
    matrix, names = vectors(*args)
    grams = []
    for row in matrix:
        weights = zip(names[row.indices], row.data, strict=True)
        grams.append({str(name): float(weight) for name, weight in weights})
    return grams


def mean_cosine(*args):
    matrix, _ = vectors(*args)
    cosines = (matrix @ matrix.T).toarray()
    return float(np.mean(cosines[np.triu_indices(len(cosines), 1)]))


def newcombe_difference(*counts):
    interval = proportion.confint_proportions_2indep(
        *counts, method="newcomb", compare="diff"
    )
    return limits(interval)


PEERS = {
    "newcombe_difference": newcombe_difference,
    "score_difference": definitions.score_interval,
    "cliffs_delta": definitions.cliffs_delta,
    "contrast": definitions.contrast,
    "bootstrap_ci": bootstrap_ci,
    "permutation_anova": permutation_anova,
    "sign_flip_test": sign_flip_test,
    "gwet_ac1": gwet_ac1,
    "char_tfidf": char_tfidf,
    "mean_cosine": mean_cosine,
}
