#!/usr/bin/env python3
"""How often the 95% interval over bulletins covers, and how often its test rejects where there is
nothing: counts with Wilson's interval, as a Markdown table.

    python3 benchmarks/coverage.py cover --reps 1000         # intervals, at 6, 10, 20, 40 bulletins
    python3 benchmarks/coverage.py level --reps 1000         # the test, at 6, 10, 20, 40 seeds

Cover: two cells, answers drawn in bulletins that differ, and differ in each cell (SDs in log-odds);
the truth is the difference of the shares averaged over bulletins. Level: first encounters of two
agents over ten rounds of the eight main runs, on the bulletins that a plan deals; bulletins react
to symmetry and cue by themselves, the same under every seed, and on average not at all.
"""

import argparse
import math
import sys
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

from statistics import NormalDist  # noqa: E402  beside this file is another of that name

from cirrus.judge.effects import NONE_YET, Slot, tested  # noqa: E402

import stats  # noqa: E402
from cirrus.ask.design import places  # noqa: E402
from cirrus.ask.populations import logistic, logit  # noqa: E402
from common.rng import SeededRandom  # noqa: E402
from stats.results import Count  # noqa: E402

UNITS = (6, 10, 20, 40)
# shares of the two cells, decisions a bulletin and cell, SD of bulletins and of their cells
PLACES = ((.03, .03, 4, .8, .4), (.1, .03, 12, .8, .4), (.5, .5, 4, 0, 0), (.5, .3, 4, .8, .4),
          (.5, .5, 12, .8, .4), (.7, .3, 12, 1, .5), (.9, .4, 12, 1, .5), (.97, .5, 12, .8, .4))
WEIGHTS = {"x": 1, "y": -1}
AGENTS, ROUNDS, BULLETINS, SPREADS = 2, 10, 20, (0.5, 1)
RUNS = tuple(product(("high", "low"), ("present", "absent"), ("high", "low")))   # S, C, H


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
        found = stats.contrast(stats.tally(rows), WEIGHTS)
        held += found.low <= first - second <= found.high
    return held


def cover(reps: int) -> Iterator[str]:
    yield "| shares | decisions a bulletin and cell | SD of bulletins, of cells | " + " | ".join(
        f"{units} bulletins" for units in UNITS) + " |"
    yield "|---|---|---|" + "---|" * len(UNITS)
    for place in PLACES:
        first, second, n, between, within = place
        each = " | ".join(share_text(covered(place, units, reps), reps) for units in UNITS)
        yield (f"| {100 * first:g}% against {100 * second:g}% | {n} | {between:g}, {within:g} | "
               f"{each} |")


def plan(spread: float, seeds: int, rng: SeededRandom) -> dict[Slot, Count]:
    """First encounters of a confirmatory plan over consecutive seeds, counted where they stand."""
    shift: dict[tuple, float] = {}
    table: dict[Slot, Count] = {}
    first = rng.getrandbits(40)
    for turn, (S, C, H) in product(range(first, first + seeds), RUNS):
        for bulletin in places(turn, ROUNDS, BULLETINS):
            reacts = shift.setdefault((bulletin, S, C), rng.gauss(0, spread))
            k = sum(rng.random() < logistic(reacts) for _ in range(AGENTS))
            slot = Slot(bulletin, S, C, H, "", "", "")
            before = table.get(slot, NONE_YET)
            table[slot] = Count(before.k + k, before.n + AGENTS, 0)
    return table


def rejected(spread: float, seeds: int, reps: int) -> int:
    """In how many plans the test over bulletins rejects at 5%."""
    rng = SeededRandom(42, "level", seeds, str(spread))
    each = (tested(plan(spread, seeds, rng))["p"] for _ in range(reps))
    return sum(p is not None and p < 0.05 for p in each)


def level(reps: int) -> Iterator[str]:
    yield f"| seeds | {' | '.join(f'SD {spread:g}' for spread in SPREADS)} |"
    yield "|---|" + "---|" * len(SPREADS)
    for seeds in UNITS:
        each = " | ".join(share_text(rejected(spread, seeds, reps), reps) for spread in SPREADS)
        yield f"| {seeds} | {each} |"


def main(argv: list[str]) -> None:
    flags = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    flags.add_argument("what", choices=["cover", "level"])
    flags.add_argument("--reps", type=int, default=1000, metavar="N")
    args = flags.parse_args(argv)
    for line in {"cover": cover, "level": level}[args.what](args.reps):
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
