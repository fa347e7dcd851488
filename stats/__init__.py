"""Pure statistics on plain lists. The names below are the public ones.

Randomness enters as a `random.Random` or an int seed. Nothing degenerate comes back as a number:
the field is None and `why` says so. Bad input raises ValueError.
"""

from .bootstrap import bootstrap_ci, cluster_bootstrap_ci
from .effects import (
    cliffs_delta,
    cohens_d,
    cohens_h,
    hedges_g,
    interaction_contrast,
    t_interval,
    welch_t_test,
)
from .intervals import clopper_pearson, newcombe_difference, score_difference, wilson_interval
from .permutation import binomial_test, fisher_exact, permutation_test, sign_flip_test
from .results import (
    Agreement,
    Bootstrap,
    Contrast,
    Equivalence,
    Estimate,
    Interval,
    Permutation,
    TTest,
)

__all__ = [
    "Agreement",
    "Bootstrap",
    "Contrast",
    "Equivalence",
    "Estimate",
    "Interval",
    "Permutation",
    "TTest",
    "binomial_test",
    "bootstrap_ci",
    "cliffs_delta",
    "clopper_pearson",
    "cluster_bootstrap_ci",
    "cohens_d",
    "cohens_h",
    "fisher_exact",
    "hedges_g",
    "interaction_contrast",
    "newcombe_difference",
    "permutation_test",
    "score_difference",
    "sign_flip_test",
    "t_interval",
    "welch_t_test",
    "wilson_interval",
]
