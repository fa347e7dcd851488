"""Pure statistics on plain lists. The names below are the public ones.

Randomness enters as a `random.Random` or an int seed. Nothing degenerate comes back as a number:
the field is None and `why` says so. Bad input raises ValueError.
"""

from .agreement import cohens_kappa, gwet_ac1, positive_agreement
from .bootstrap import bootstrap_ci, cluster_bootstrap_ci
from .contrasts import (
    contrast,
    counted_against,
    established,
    log_odds_contrast,
    paired_difference,
    tally,
)
from .effects import (
    cliffs_delta,
    cohens_d,
    cohens_h,
    hedges_g,
    interaction_contrast,
    t_interval,
    welch_t_test,
)
from .intervals import (
    clopper_pearson,
    equivalence_test,
    newcombe_difference,
    prediction_powered_rate,
    score_difference,
    share,
    wilson_interval,
)
from .permutation import (
    binomial_test,
    fisher_exact,
    permutation_test,
    sign_flip_interval,
    sign_flip_test,
)
from .power import (
    Design,
    contrast_power,
    holm,
    power_two_proportions,
    required_n,
    sampled_tally,
)
from .results import (
    Agreement,
    Bootstrap,
    Bounds,
    Coefficient,
    Contrast,
    Count,
    Equivalence,
    Estimate,
    Interval,
    LikelihoodRatio,
    MixedFit,
    Permutation,
    Share,
    TTest,
    UnitContrast,
)

# Loaded by whoever names them first: most scripts fit no model and compare no texts.
OF_MIXED = {"fit_mixed_logit", "likelihood_ratio"}
OF_TEXT = {"Pair", "char_tfidf", "cosine", "cosine_matrix", "jaccard", "mean_cosine", "pairwise",
           "sequence_similarity", "word_ngrams"}


def __getattr__(name: str) -> object:
    if name in OF_MIXED:
        from . import mixed
        return getattr(mixed, name)
    if name in OF_TEXT:
        from . import text
        return getattr(text, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Agreement",
    "Bootstrap",
    "Bounds",
    "Coefficient",
    "Contrast",
    "Count",
    "Design",
    "Equivalence",
    "Estimate",
    "Interval",
    "LikelihoodRatio",
    "MixedFit",
    "Pair",
    "Permutation",
    "Share",
    "TTest",
    "UnitContrast",
    "binomial_test",
    "bootstrap_ci",
    "char_tfidf",
    "cliffs_delta",
    "clopper_pearson",
    "cluster_bootstrap_ci",
    "cohens_d",
    "cohens_h",
    "cohens_kappa",
    "contrast",
    "contrast_power",
    "cosine",
    "cosine_matrix",
    "counted_against",
    "equivalence_test",
    "established",
    "fisher_exact",
    "fit_mixed_logit",
    "gwet_ac1",
    "hedges_g",
    "holm",
    "interaction_contrast",
    "jaccard",
    "likelihood_ratio",
    "log_odds_contrast",
    "mean_cosine",
    "newcombe_difference",
    "paired_difference",
    "pairwise",
    "permutation_test",
    "positive_agreement",
    "power_two_proportions",
    "prediction_powered_rate",
    "required_n",
    "sampled_tally",
    "score_difference",
    "sequence_similarity",
    "share",
    "sign_flip_interval",
    "sign_flip_test",
    "t_interval",
    "tally",
    "welch_t_test",
    "wilson_interval",
    "word_ngrams",
]
