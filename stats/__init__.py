"""Pure statistics on plain lists. The names below are the public ones.

Randomness enters as a `random.Random` or an int seed. Nothing degenerate comes back as a number:
the field is None and `why` says so. Bad input raises ValueError.
"""

from importlib import import_module

# Where each public name lives; a module is loaded by whoever names it first.
PUBLIC = {
    "agreement": "cohens_kappa gwet_ac1 positive_agreement",
    "bootstrap": "bootstrap_ci cluster_bootstrap_ci",
    "contrasts": (
        "contrast counted_against established established_p holm log_odds_contrast tally"),
    "intervals": (
        "binomial_test cliffs_delta clopper_pearson cohens_d cohens_h equivalence_test "
        "fisher_exact hedges_g interaction_contrast newcombe_difference "
        "prediction_powered_rate score_difference share t_interval welch_t_test "
        "wilson_interval"),
    "permutation": "permutation_test sign_flip_interval sign_flip_test",
    "results": (
        "Agreement Bootstrap Bounds Coefficient Contrast Count Equivalence Estimate "
        "Interval LikelihoodRatio MixedFit Permutation Share TTest UnitContrast"),
    "mixed": "fit_mixed_logit likelihood_ratio",
    "text": (
        "Pair char_tfidf cosine_matrix jaccard mean_cosine pairwise sequence_similarity "
        "word_ngrams"),
}
HOME = {name: module for module, names in PUBLIC.items() for name in names.split()}
__all__ = sorted(HOME)


def __getattr__(name: str) -> object:
    if name not in HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"stats.{HOME[name]}"), name)
    return value
