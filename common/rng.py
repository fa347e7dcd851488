"""Named, independent random streams.

A stream is a pure function of (seed, path). Drawing more numbers in one place never
changes those of another place, so a study stays comparable when the code elsewhere
changes.

>>> SeededRandom(42, "labels").random() == SeededRandom(42).stream("labels").random()
True
"""

import hashlib
import json
import random

Name = str | int


class SeededRandom(random.Random):
    """A `random.Random` that is seeded by the SHA-256 of the JSON list [seed,
    *path]."""

    def __new__(cls, seed: int, *path: Name) -> "SeededRandom":
        return super().__new__(cls)

    def __init__(self, seed: int, *path: Name) -> None:
        self.root, self.path = seed, path
        key = json.dumps([seed, *path], separators=(",", ":")).encode()
        super().__init__(int.from_bytes(hashlib.sha256(key).digest(), "big"))

    def stream(self, *names: Name) -> "SeededRandom":
        """Return the stream under `names`. It does not depend on what was drawn from
        this one."""
        return SeededRandom(self.root, *self.path, *names)
