# ruff: noqa: F401, I001 — what is imported here is what is public
"""Pure statistics on plain lists. The names below are the public ones.

Randomness enters as a `random.Random` or an int seed. Nothing degenerate comes back as a number:
the field is None and `why` says so. Bad input raises ValueError.
"""

from .agreement import cohens_kappa, gwet_ac1, positive_agreement
from .bootstrap import bootstrap_ci, cluster_bootstrap_ci
from .contrasts import (
    contrast, counted_against, established, log_odds_contrast, paired_difference, tally,
)
from .effects import (
    cliffs_delta, cohens_d, cohens_h, hedges_g, interaction_contrast, t_interval, welch_t_test,
)
from .flips import sign_flip_interval, sign_flip_test
from .intervals import (
    clopper_pearson, equivalence_test, newcombe_difference, prediction_powered_rate,
    score_difference, share, wilson_interval,
)
from .permutation import binomial_test, fisher_exact, permutation_test
from .power import Design, contrast_power, holm, power_two_proportions, required_n, sampled_tally
from .results import (
    Agreement, Bootstrap, Bounds, Coefficient, Contrast, Count, Equivalence, Estimate, Interval,
    LikelihoodRatio, MixedFit, Permutation, Share, TTest, UnitContrast,
)

# Loaded by whoever names them first: most scripts fit no model and compare no texts.
OF_MIXED = {"fit_mixed_logit", "likelihood_ratio"}
OF_TEXT = {"Pair", "char_tfidf", "cosine_matrix", "jaccard", "mean_cosine", "pairwise",
           "sequence_similarity", "word_ngrams"}


def __getattr__(name: str) -> object:
    if name in OF_MIXED:
        from . import mixed
        return getattr(mixed, name)
    if name in OF_TEXT:
        from . import text
        return getattr(text, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = sorted(OF_MIXED | OF_TEXT | {
    name for name, value in globals().items()
    if getattr(value, "__module__", "").startswith(f"{__name__}.")
})
