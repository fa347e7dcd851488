"""Named, independent random streams.

A stream is a pure function of (seed, path). Drawing more numbers in one place never moves
another: that is what makes a study comparable before and after a change elsewhere.

>>> SeededRandom(42, "labels").random() == SeededRandom(42).stream("labels").random()
True
"""

import hashlib
import json
import random

Name = str | int


class SeededRandom(random.Random):
    """`random.Random` seeded by SHA-256 of the JSON list [seed, *path]."""

    def __new__(cls, seed: int, *path: Name) -> "SeededRandom":
        return super().__new__(cls)

    def __init__(self, seed: int, *path: Name) -> None:
        self.root, self.path = seed, path
        key = json.dumps([seed, *path], separators=(",", ":")).encode()
        super().__init__(int.from_bytes(hashlib.sha256(key).digest(), "big"))

    def stream(self, *names: Name) -> "SeededRandom":
        """The stream below this one under `names`; independent of what was drawn here."""
        return SeededRandom(self.root, *self.path, *names)
