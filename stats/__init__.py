"""Statistics that take plain lists and return named tuples; the names below are the public ones.

Where chance is needed a function takes a `random.Random` or an int seed. A figure that cannot be
computed is None, and the field `why` says the reason. Bad input raises ValueError.
"""

# ruff: noqa: F401 (imported to be public)

from .agreement import gwet_ac1, positive_agreement
from .contrasts import contrast, counted_against, holm, tally
from .groups import permutation_anova
from .intervals import (
    cliffs_delta,
    cohens_d,
    fisher_exact,
    newcombe_difference,
    score_difference,
    share,
    t_interval,
    welch_t_test,
    wilson_interval,
)
from .mixed import fit_mixed_logit, likelihood_ratio
from .resampling import bootstrap_ci, permutation_test, sign_flip_test
from .results import (
    Agreement,
    Bootstrap,
    Bounds,
    Coefficient,
    Count,
    Estimate,
    Interval,
    LikelihoodRatio,
    MixedFit,
    Permutation,
    Share,
    TTest,
    UnitContrast,
)
from .text import char_tfidf, jaccard, mean_cosine, sequence_similarity, word_ngrams
