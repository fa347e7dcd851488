#!/usr/bin/env python3
"""How often the 95% interval over bulletins covers: counts with Wilson's interval, as Markdown.

    python3 benchmarks/coverage.py --reps 1000         # at 6, 10, 20, 40 bulletins

Two cells, answers drawn in bulletins that differ, and differ in each cell (SDs in log-odds); the
truth is the difference of the shares averaged over bulletins.
"""

import argparse
import math
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

from statistics import NormalDist  # noqa: E402  beside this file is another of that name

import stats  # noqa: E402
from cirrus.ask.respondents import logistic, logit  # noqa: E402
from common.rng import SeededRandom  # noqa: E402

UNITS = (6, 10, 20, 40)
# shares of the two cells, decisions a bulletin and cell, SD of bulletins and of their cells
PLACES = (
    (0.03, 0.03, 4, 0.8, 0.4),
    (0.1, 0.03, 12, 0.8, 0.4),
    (0.5, 0.5, 4, 0, 0),
    (0.5, 0.3, 4, 0.8, 0.4),
    (0.5, 0.5, 12, 0.8, 0.4),
    (0.7, 0.3, 12, 1, 0.5),
    (0.9, 0.4, 12, 1, 0.5),
    (0.97, 0.5, 12, 0.8, 0.4),
)
WEIGHTS = {"x": 1, "y": -1}


def share_text(k: int, n: int) -> str:
    low, high, _ = stats.wilson_interval(k, n)
    return f"{100 * k / n:.1f}% ({100 * low:.1f} to {100 * high:.1f}), {k} of {n}"


# Standard normal quantiles of equal weight.
NORMAL = tuple(NormalDist().inv_cdf((at + 0.5) / 64) for at in range(64))


@cache
def centred(p: float, spread: float) -> float:
    """The log-odds whose share, averaged over normal shifts of this SD, is p."""
    if not spread:
        return logit(p)
    low, high = -12.0, 12.0
    for _ in range(50):
        middle = (low + high) / 2
        share = math.fsum(logistic(middle + spread * z) for z in NORMAL) / len(NORMAL)
        low, high = (middle, high) if share < p else (low, middle)
    return (low + high) / 2


def covered(place: tuple, units: int, reps: int) -> int:
    """In how many studies the interval holds the true difference."""
    first, second, n, between, within = place
    spread, held = math.hypot(between, within), 0
    rng = SeededRandom(42, "coverage", str(place), units)
    middles = {"x": centred(first, spread), "y": centred(second, spread)}
    for _ in range(reps):
        rows = []
        for unit in range(units):
            shift = rng.gauss(0, between)
            for cell, middle in middles.items():
                p = 1 / (1 + math.exp(-(middle + shift + rng.gauss(0, within))))
                rows += [((unit, 0), cell, int(rng.random() < p)) for _ in range(n)]
        result = stats.contrast(stats.tally(rows), WEIGHTS)
        held += result.low <= first - second <= result.high
    return held


def cover(reps: int) -> Iterator[str]:
    yield (
        "| shares | decisions a bulletin and cell | SD of bulletins, of cells | "
        + " | ".join(f"{units} bulletins" for units in UNITS)
        + " |"
    )
    yield "|---|---|---|" + "---|" * len(UNITS)
    for place in PLACES:
        first, second, n, between, within = place
        each = " | ".join(
            share_text(covered(place, units, reps), reps) for units in UNITS
        )
        yield (
            f"| {100 * first:g}% against {100 * second:g}% | {n} | {between:g}, {within:g} | "
            f"{each} |"
        )


def main(argv: list[str]) -> None:
    flags = argparse.ArgumentParser(
        description="How often the 95% interval over bulletins covers, as Markdown."
    )
    flags.add_argument("--reps", type=int, default=1000, metavar="N")
    args = flags.parse_args(argv)
    for line in cover(args.reps):
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
