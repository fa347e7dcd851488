"""How fast the statistics are, and how that compares with SciPy and R where they are installed.

    python3 benchmarks/statistics.py            all
    python3 benchmarks/statistics.py cliff      the lines whose name contains a word
    python3 benchmarks/statistics.py --json     a JSON line each

Ours and the peer's time are the best of several runs in one process; a ratio above 1 says how many
times as fast ours is. R's times are R's own, without its start and without reading the data.
Targets are stated for one core of a small machine. Large mixed models are measured in processor
time, once, as a multiple of glmmTMB's in the same run. Last come coverages, by simulation.
"""

import sys
from pathlib import Path

# This file is called statistics.py: its folder must not stand before the standard library's.
sys.path.append(sys.path.pop(0))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "reference" / "stats"))

import csv
import math
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator

from figures import Figure, show
from mixed_data import DATA, crossed

import stats

try:
    import numpy as np
    import scipy.stats as peer
except ImportError:
    np = peer = None
try:
    from statsmodels.stats import proportion
except ImportError:
    proportion = None

ROOT = Path(__file__).resolve().parents[1]
RNG = random.Random(42)


def binary(n: int, rate: float) -> list[int]:
    return [int(RNG.random() < rate) for _ in range(n)]


INTEGERS = [RNG.randint(1, 500) for _ in range(5000)], [RNG.randint(20, 520) for _ in range(5000)]
BLOCKS = [i // 4 for i in range(200)]
OUTCOMES = binary(200, 0.6), binary(200, 0.5)
REALS = [RNG.gauss(0, 1) for _ in range(200)], [RNG.gauss(0.2, 1) for _ in range(200)]
SMALL = binary(24, 0.7), binary(24, 0.4)
SCORES = [RNG.gauss(0, 1) for _ in range(24)], [RNG.gauss(0.5, 1) for _ in range(24)]
DIFFERENCES = [a - b for a, b in zip(*SCORES, strict=True)]
RATINGS = [(a, b) for a, b in zip(binary(200, 0.3), binary(200, 0.3), strict=True)]
UNITS = [[RNG.randint(-12, 12) / 24 for _ in range(63)] for _ in range(44)]
WORDS = (ROOT / "LICENSE").read_text(encoding="utf-8").split()


def text_of(length: int) -> str:
    text = ""
    while len(text) < length:
        start = RNG.randrange(len(WORDS) - 8)
        text += " ".join(WORDS[start : start + RNG.randint(1, 8)]) + " "
    return text[:length]


TEXTS = [text_of(300) for _ in range(200)]


def dominance_matrix() -> float:
    x, y = map(np.array, INTEGERS)
    return float(np.sign(np.subtract.outer(x, y)).mean())


def newcombe_peer() -> object:
    return proportion.confint_proportions_2indep(17, 24, 9, 24, method="newcomb")


def welch_peer() -> object:
    return peer.ttest_ind(*SCORES, equal_var=False).confidence_interval()


def bca_peer() -> object:
    return peer.bootstrap(
        REALS, lambda x, y, axis: x.mean(axis) - y.mean(axis), n_resamples=10_000, vectorized=True
    )


def flips_peer() -> object:
    return peer.permutation_test(
        (DIFFERENCES,), np.mean, permutation_type="samples", n_resamples=9999, vectorized=True
    )


FIXED = ["S", "C", "S:C", "H", "domain", "option_order", "label_scheme"]
GROUPS = ["agent", "opponent", "seed", "variant_id"]
CROSSED, POLICIES = DATA["crossed"](), DATA["policies"]()
FORMULA = f"coop ~ {' + '.join(FIXED)} + {' + '.join(f'(1 | {g})' for g in GROUPS)}"


class InR:
    """A call in R, timed by R: the best of two; of processor time once."""

    def __init__(self, package: str, call: str, rows: list[dict], processor: bool = False):
        self.package, self.call, self.rows = package, call, rows
        self.clock = "sum(once()[1:2])" if processor else "min(once()[[3]], once()[[3]])"

    def milliseconds(self) -> float | None:
        if not shutil.which("Rscript"):
            return None
        with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="") as sheet:
            writer = csv.DictWriter(sheet, list(self.rows[0]))
            writer.writeheader()
            writer.writerows(self.rows)
            sheet.flush()
            code = f"suppressMessages(library({self.package})); d <- read.csv('{sheet.name}'); "
            code += f"once <- function() system.time(suppressMessages({self.call})); "
            code += f"cat({self.clock})"
            done = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True)
        return None if done.returncode else float(done.stdout) * 1000


# name, target in milliseconds or None, ours, peer (its name and call) or None
Line = tuple[str, float | None, Callable, tuple[str, Callable | InR] | None]

LINES: list[Line] = [
    (
        "fit_mixed_logit 1,440 rows, 60 crossed effects",
        1000,
        lambda: stats.fit_mixed_logit(CROSSED, "coop", FIXED, GROUPS),
        ("lme4 glmer", InR("lme4", f"glmer({FORMULA}, d, binomial)", CROSSED)),
    ),
    (
        "fit_mixed_logit the same",
        1000,
        lambda: stats.fit_mixed_logit(CROSSED, "coop", FIXED, GROUPS),
        ("glmmTMB", InR("glmmTMB", f"glmmTMB({FORMULA}, d, binomial)", CROSSED)),
    ),
    (
        "fit_mixed_logit 1,080 rows, 300 effects",
        None,
        lambda: stats.fit_mixed_logit(POLICIES, "coop", FIXED, [*GROUPS, "policy"]),
        ("lme4 glmer", InR("lme4", f"glmer({FORMULA} + (1 | policy), d, binomial)", POLICIES)),
    ),
    (
        "cliffs_delta 5,000 × 5,000 integers",
        25,
        lambda: stats.cliffs_delta(*INTEGERS),
        np and ("NumPy matrix", dominance_matrix),
    ),
    (
        "permutation_test 400 binary in 50 blocks, exact",
        3,
        lambda: stats.permutation_test(*OUTCOMES, strata=(BLOCKS, BLOCKS)),
        None,
    ),
    (
        "bootstrap_ci BCa 10,000 × (200 + 200) reals",
        600,
        lambda: stats.bootstrap_ci(REALS, "mean_difference"),
        peer and ("SciPy bootstrap", bca_peer),
    ),
    (
        "bootstrap_ci 24 + 24 binary, computed",
        1,
        lambda: stats.bootstrap_ci(SMALL, "mean_difference"),
        None,
    ),
    (
        "bootstrap_ci 44 means of 63 values on 1/24, computed",
        100,
        lambda: [stats.bootstrap_ci((units,), "mean") for units in UNITS],
        None,
    ),
    (
        "permutation_test 24 + 24 binary, exact",
        1,
        lambda: stats.permutation_test(*SMALL),
        None,
    ),
    (
        "sign_flip_test 24 reals, exact",
        None,
        lambda: stats.sign_flip_test(DIFFERENCES),
        peer and ("SciPy, 9,999 sampled", flips_peer),
    ),
    (
        "fisher_exact 24 + 24",
        1,
        lambda: stats.fisher_exact(17, 24, 9, 24),
        peer and ("SciPy", lambda: peer.fisher_exact([[17, 7], [9, 15]])),
    ),
    (
        "wilson_interval",
        1,
        lambda: stats.wilson_interval(17, 24),
        peer and ("SciPy", lambda: peer.binomtest(17, 24).proportion_ci(method="wilson")),
    ),
    (
        "clopper_pearson",
        1,
        lambda: stats.clopper_pearson(17, 24),
        peer and ("SciPy", lambda: peer.binomtest(17, 24).proportion_ci()),
    ),
    (
        "newcombe_difference",
        1,
        lambda: stats.newcombe_difference(17, 24, 9, 24),
        proportion and ("statsmodels", newcombe_peer),
    ),
    (
        "score_difference",
        1,
        lambda: stats.score_difference(17, 24, 9, 24),
        None,
    ),
    (
        "welch_t_test 24 + 24",
        1,
        lambda: stats.welch_t_test(*SCORES),
        peer and ("SciPy", welch_peer),
    ),
    ("hedges_g 24 + 24", 1, lambda: stats.hedges_g(*SCORES), None),
    ("cliffs_delta 24 + 24", 1, lambda: stats.cliffs_delta(*SMALL), None),
    ("gwet_ac1 200 rows", None, lambda: stats.gwet_ac1(RATINGS), None),
    (
        "mean_cosine of 200 texts, 19,900 pairs",
        None,
        lambda: stats.mean_cosine(stats.char_tfidf(TEXTS)),
        None,
    ),
]


BULLETINS = stats.tally(
    (bulletin, cell, int(RNG.random() < rate))
    for bulletin in range(20)
    for cell, rate in {"HP": 0.7, "LA": 0.4, "UN": 0.45, "UL": 0.4}.items()
    for _ in range(12)
)
ON_ENTRY = {"HP": 1, "LA": -1, "UN": -1, "UL": 1}
LINES += [
    ("contrast of 2 cells, 20 bulletins × 12", None,
     lambda: stats.contrast(BULLETINS, {"HP": 1, "LA": -1}), None),
    ("contrast of 4 cells, 20 bulletins × 12", None,
     lambda: stats.contrast(BULLETINS, ON_ENTRY), None),
    ("established, the same", None, lambda: stats.established(BULLETINS, ON_ENTRY), None),
    ("log_odds_contrast, the same", None,
     lambda: stats.log_odds_contrast(BULLETINS, ON_ENTRY), None),
]  # fmt: skip

# Every policy is written in one run by one agent: agents, opponents, seeds and policies crossed.
LARGE = {"12,000 rows, 1,600 policies": (40, 300), "50,000 rows, 4,000 policies": (100, 500)}


def large_models(word: str) -> Iterator[Figure]:
    groups = ["agent", "opponent", "seed", "policy"]
    call = f"glmmTMB({FORMULA.replace('variant_id', 'policy')}, d, binomial)"
    for size, (runs, rows_a_run) in LARGE.items():
        name = f"fit_mixed_logit {size}, of glmmTMB's time"
        if word not in name:
            continue
        rows = crossed(size, runs=runs, a_run=rows_a_run, levels=40, policy=0.8)
        theirs = InR("glmmTMB", call, rows, processor=True).milliseconds()
        start = time.process_time()
        stats.fit_mixed_logit(rows, "coop", FIXED, groups)
        spent = (time.process_time() - start) * 1000
        if theirs:
            yield Figure(name, spent / theirs, "×", 1.2)
        yield Figure(f"fit_mixed_logit {size}", spent, "ms", peer="glmmTMB", theirs=theirs)


RATES = [(0.5, 0.5), (0.7, 0.4), (0.97, 0.8), (0.1, 0.03), (0.97, 0.03)]
SAMPLES = {6: 600, 10: 600, 20: 300, 40: 100}  # units and samples at each pair of rates
BETWEEN, WITHIN = 0.8, 0.4  # SD in logits: of bulletins, and of a bulletin's cells again


def probability(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def mean_probability(rate: float) -> float:
    """Of all bulletins whose logits lie around that of `rate`."""
    z = [i / 50 for i in range(-400, 401)]
    weights = [math.exp(-x * x / 2) for x in z]
    middle, sd = math.log(rate / (1 - rate)), math.hypot(BETWEEN, WITHIN)
    return sum(w * probability(middle + sd * x) for w, x in zip(weights, z, strict=True)) / sum(
        weights
    )


def covered(units: int, rates: tuple[float, float], rows: int) -> bool:
    """Whether one sample's interval holds the truth."""
    outcomes = []
    for unit in range(units):
        shift = RNG.gauss(0, BETWEEN)
        for cell, rate in zip("xy", rates, strict=True):
            p = probability(math.log(rate / (1 - rate)) + shift + RNG.gauss(0, WITHIN))
            outcomes += [(unit, cell, int(RNG.random() < p)) for _ in range(rows)]
    found = stats.contrast(stats.tally(outcomes), {"x": 1, "y": -1})
    return found.low <= mean_probability(rates[0]) - mean_probability(rates[1]) <= found.high


def coverages(word: str) -> Iterator[Figure]:
    for rows in (12, 100):
        for units, samples in SAMPLES.items():
            name = f"coverage of contrast, {units} bulletins, {rows} decisions"
            if word in name and not (rows == 100 and units == 40):
                shares = [
                    100 * sum(covered(units, rates, rows) for _ in range(samples)) / samples
                    for rates in RATES
                ]
                yield Figure(name, sum(shares) / len(shares), "%", 93, least=True)
                yield Figure(f"{name}, the least of {len(RATES)}", min(shares), "%")


def best(call: Callable, seconds: float = 0.4) -> float:
    """Milliseconds of the fastest run within about `seconds`, two at least of what is quick."""
    times, end = [], time.perf_counter() + seconds
    while not times or (len(times) < 2 and times[0] < 5) or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def timed(peer_call: Callable | InR) -> float | None:
    return peer_call.milliseconds() if isinstance(peer_call, InR) else best(peer_call)


def figures(word: str) -> Iterator[Figure]:
    for name, target, ours, other in LINES:
        if word in name:
            theirs = timed(other[1]) if other else None
            yield Figure(name, best(ours), "ms", target, peer=other[0] if theirs else "",
                         theirs=theirs)
    yield from large_models(word)
    yield from coverages(word)


def main() -> int:
    if peer is None:
        print("SciPy is not installed: plain figures", file=sys.stderr)
    return show(figures(next((word for word in sys.argv[1:] if word != "--json"), "")))


if __name__ == "__main__":
    sys.exit(main())
