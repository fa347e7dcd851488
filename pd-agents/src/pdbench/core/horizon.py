"""How long a match lasts. A horizon is the configuration's: its type, n and stop_prob."""

from collections.abc import Iterator
from random import Random
from typing import Any


def rounds(horizon: Any, rng: Random) -> Iterator[tuple[int, bool]]:
    """Yield (round index, is it the last one).

    `fixed` gives exactly n rounds. `geometric` draws once after each round and stops with
    probability stop_prob: at least one round, 1/stop_prob on average. The draw comes from a
    stream of its own, hence looking at it before the agents act changes nothing.
    """
    t, last = 0, False
    while not last:
        if horizon.type == "fixed":
            last = t + 1 == horizon.n
        else:
            last = rng.random() < horizon.stop_prob
        yield t, last
        t += 1


def length(horizon: Any, rng: Random) -> int:
    """The number of rounds that `rounds` will yield."""
    if horizon.type == "fixed":
        return horizon.n
    return sum(1 for _ in rounds(horizon, rng))
