"""How fast the statistics are, and how that compares with SciPy and lme4 where they are installed.

    python3 benchmarks/statistics.py            all
    python3 benchmarks/statistics.py cliff      the lines whose name contains a word
    python3 benchmarks/statistics.py --json     a JSON line each

Ours and the peer's time are the best of several runs in one process; a ratio above 1 says how many
times as fast ours is. R's times are R's own, without its start and without reading the data.
Requirements are for one core of a small machine. Coverage is simulated by coverage.py.
"""

import sys
from pathlib import Path

# This file is called statistics.py: its folder must not stand before the standard library's.
sys.path.append(sys.path.pop(0))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(
    0, str(Path(__file__).resolve().parents[1] / "tests" / "reference" / "stats")
)

import csv
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

RNG = random.Random(42)


def binary(n: int, rate: float) -> list[int]:
    return [int(RNG.random() < rate) for _ in range(n)]


INTEGERS = (
    [RNG.randint(1, 500) for _ in range(5000)],
    [RNG.randint(20, 520) for _ in range(5000)],
)
BLOCKS = [i // 4 for i in range(200)]
OUTCOMES = binary(200, 0.6), binary(200, 0.5)
REALS = [RNG.gauss(0, 1) for _ in range(200)], [RNG.gauss(0.2, 1) for _ in range(200)]
SMALL = binary(24, 0.7), binary(24, 0.4)
SCORES = [RNG.gauss(0, 1) for _ in range(24)], [RNG.gauss(0.5, 1) for _ in range(24)]
DIFFERENCES = [a - b for a, b in zip(*SCORES, strict=True)]
BULLETINS = stats.tally(
    ((bulletin, wording), cell, int(RNG.random() < rate))
    for bulletin in range(20)
    for wording in range(12)
    for cell, rate in {"HP": 0.7, "LA": 0.4, "KP": 0.45, "KL": 0.4}.items()
)
ON_ENTRY = {"HP": 1, "LA": -1, "KP": -1, "KL": 1}


def dominance_matrix() -> float:
    x, y = map(np.array, INTEGERS)
    return float(np.sign(np.subtract.outer(x, y)).mean())


def bca_peer() -> object:
    return peer.bootstrap(
        REALS,
        lambda x, y, axis: x.mean(axis) - y.mean(axis),
        n_resamples=10_000,
        vectorized=True,
    )


def flips_peer() -> object:
    return peer.permutation_test(
        (DIFFERENCES,),
        np.mean,
        permutation_type="samples",
        n_resamples=9999,
        vectorized=True,
    )


# name, requirement in milliseconds or None, ours, peer (its name and call) or None
Line = tuple[str, float | None, Callable, tuple[str, Callable] | None]
LINES: list[Line] = [
    ("cliffs_delta 5,000 × 5,000 integers", 25,
     lambda: stats.cliffs_delta(*INTEGERS), np and ("NumPy matrix", dominance_matrix)),
    ("permutation_test 400 binary in 50 blocks, exact", 3,
     lambda: stats.permutation_test(*OUTCOMES, strata=(BLOCKS, BLOCKS)), None),
    ("bootstrap_ci BCa 10,000 × (200 + 200) reals", 600,
     lambda: stats.bootstrap_ci(REALS, "mean_difference"), peer and ("SciPy bootstrap", bca_peer)),
    ("bootstrap_ci 24 + 24 binary, computed", 1,
     lambda: stats.bootstrap_ci(SMALL, "mean_difference"), None),
    ("sign_flip_test 24 reals, exact", None,
     lambda: stats.sign_flip_test(DIFFERENCES), peer and ("SciPy, 9,999 sampled", flips_peer)),
    ("fisher_exact 24 + 24", 1, lambda: stats.fisher_exact(17, 24, 9, 24), None),
    ("score_difference", 1, lambda: stats.score_difference(17, 24, 9, 24), None),
    ("contrast of 4 cells, 20 bulletins × 12 wordings", None,
     lambda: stats.contrast(BULLETINS, ON_ENTRY), None),
]  # fmt: skip

FIXED = ["S", "C", "S:C", "H", "domain", "option_order", "label_scheme"]
GROUPS = ["agent", "opponent", "seed", "variant_id"]


def in_r(package: str, call: str, rows: list[dict]) -> float | None:
    """Milliseconds of a call in R, timed by R: the best of two."""
    if not shutil.which("Rscript"):
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="") as sheet:
        writer = csv.DictWriter(sheet, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        sheet.flush()
        code = f"suppressMessages(library({package})); d <- read.csv('{sheet.name}'); "
        code += f"once <- function() system.time(suppressMessages({call})); "
        code += "cat(min(once()[[3]], once()[[3]]))"
        done = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True)
    return None if done.returncode else float(done.stdout) * 1000


def mixed_models(word: str) -> Iterator[Figure]:
    """At most lme4's time on 1,440 rows, at most a minute on 12,000."""
    name = "fit_mixed_logit 1,440 rows, 60 crossed effects"
    if word in name:
        rows = DATA["crossed"]()
        call = " + ".join([*FIXED, *(f"(1 | {group})" for group in GROUPS)])
        ours = best(lambda: stats.fit_mixed_logit(rows, "coop", FIXED, GROUPS))
        theirs = in_r("lme4", f"glmer(coop ~ {call}, d, binomial)", rows)
        yield Figure(
            name, ours, "ms", theirs, peer="lme4 glmer" if theirs else "", theirs=theirs
        )
    size = "12,000 rows, 1,600 policies"
    if word in f"fit_mixed_logit {size}":
        rows = crossed(size, runs=40, a_run=300, levels=40, policy=0.8)
        start = time.process_time()
        stats.fit_mixed_logit(
            rows, "coop", FIXED, ["agent", "opponent", "seed", "policy"]
        )
        yield Figure(f"fit_mixed_logit {size}", time.process_time() - start, "s", 60)


def best(call: Callable, seconds: float = 0.4) -> float:
    """Milliseconds of the fastest run within about `seconds`, two at least of what is quick."""
    times, end = [], time.perf_counter() + seconds
    while not times or (len(times) < 2 and times[0] < 5) or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def figures(word: str) -> Iterator[Figure]:
    for name, target, ours, other in LINES:
        if word in name:
            peer_name, theirs = (other[0], best(other[1])) if other else ("", None)
            yield Figure(name, best(ours), "ms", target, peer=peer_name, theirs=theirs)
    yield from mixed_models(word)


def main() -> int:
    if peer is None:
        print("SciPy is not installed: plain figures", file=sys.stderr)
    return show(figures(next((word for word in sys.argv[1:] if word != "--json"), "")))


if __name__ == "__main__":
    sys.exit(main())
