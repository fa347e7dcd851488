"""Independent named random streams.

Every stream's seed is a SHA-256 of the run's seed and the stream's name. Seeds are never added
or counted up, so no two streams overlap: how often an agent draws can't move the horizon.
"""

import hashlib
import json
from random import Random


def derive_seed(seed: int, *names: str | int) -> int:
    """A 256-bit seed for the stream `names` of the run seeded with `seed`."""
    key = json.dumps([seed, *names], ensure_ascii=True, separators=(",", ":"))
    return int.from_bytes(hashlib.sha256(key.encode()).digest())


def stream(seed: int, *names: str | int) -> Random:
    """A generator for the stream `names`, such as `stream(42, "tft_alld", 0, "horizon")`."""
    return Random(derive_seed(seed, *names))
