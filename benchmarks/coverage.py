#!/usr/bin/env python3
"""How often the 95% interval over bulletins covers, and how often its test rejects where there is
nothing: counts with Wilson's interval, as a Markdown table.

    python3 benchmarks/coverage.py cover --reps 1000         # intervals, at 6, 10, 20, 40 bulletins
    python3 benchmarks/coverage.py level --reps 300          # the test, at 6, 10, 20, 40 seeds

Cover: two cells, answers drawn in bulletins that differ, and differ in each cell (SDs in log-odds);
the truth is the difference of the shares averaged over bulletins. Level: tournaments of two
agents over ten rounds, whose bulletins react to the cues by themselves, the same under every seed,
and on average not at all.
"""

import argparse
import math
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

import stats  # noqa: E402
from cirrus.ask.populations import centred  # noqa: E402
from cirrus.calibrate.studies import short  # noqa: E402
from cirrus.judge.effects import tested  # noqa: E402
from cirrus.judge.study import tables_of  # noqa: E402
from common.rng import SeededRandom  # noqa: E402

UNITS = (6, 10, 20, 40)
# shares of the two cells, decisions a bulletin and cell, SD of bulletins and of their cells
PLACES = ((.03, .03, 4, .8, .4), (.1, .03, 12, .8, .4), (.5, .5, 4, 0, 0), (.5, .3, 4, .8, .4),
          (.5, .5, 12, .8, .4), (.7, .3, 12, 1, .5), (.9, .4, 12, 1, .5), (.97, .5, 12, .8, .4))
AGENTS = 2   # rounds are those of the plan
WEIGHTS = {"x": 1, "y": -1}
NULL, PLAN = ("bulletins-0.5", "bulletins-1"), ("confirmatory",)


def share_text(k: int, n: int) -> str:
    low, high, _ = stats.wilson_interval(k, n)
    return f"{100 * k / n:.1f}% ({100 * low:.1f} to {100 * high:.1f}), {k} of {n}"


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
                rows += [(unit, cell, int(rng.random() < p)) for _ in range(n)]
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


def rejected(seeds: int, reps: int) -> list[int]:
    """In how many tournaments of each population the test over bulletins rejects at 5%."""
    times = [0] * len(NULL)
    for rep in range(reps):
        seed = SeededRandom(42, "level", seeds, rep).getrandbits(40)
        for at, population in enumerate(NULL):   # which meet the same trials
            held = short(population, seed, AGENTS, tuple(range(seed, seed + seeds)), PLAN)
            p = tested(tables_of(held.rows)["main"])["p"]
            times[at] += p is not None and p < 0.05
    return times


def level(reps: int) -> Iterator[str]:
    yield f"| seeds | {' | '.join(NULL)} |"
    yield "|---|" + "---|" * len(NULL)
    for seeds in UNITS:
        each = " | ".join(share_text(times, reps) for times in rejected(seeds, reps))
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
