"""What a person reads on stderr while a command runs; no key is ever among it."""

import os
import sys
import time
from threading import Lock

SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD")  # how the names of variables end
SHORTEST = 8  # characters; shorter values are words that may stand in any text
HIDDEN = "***"
EVERY_S = 10.0

_keys: set[str] = set()


def keep_secret(key: str) -> None:
    """Hide `key` from now on, whatever its variable is called."""
    _keys.add(key)


def hide(text: str) -> str:
    """`text` without the keys in use, and without any that the environment names as one."""
    secrets = set(_keys)
    for name, value in os.environ.items():
        if name.upper().endswith(SECRET) and len(value) >= SHORTEST:
            secrets.add(value)
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def say(text: str) -> None:
    """One line on stderr."""
    print(text, file=sys.stderr, flush=True)


class Progress:
    """Matches and rounds done, said every ten seconds; any thread may count."""

    def __init__(self, matches: int) -> None:
        self._matches, self._done, self._rounds = matches, 0, 0
        self._next = time.monotonic() + EVERY_S
        self._lock = Lock()

    def count(self, rounds: int = 0, matches: int = 0) -> None:
        """Add what was just played."""
        with self._lock:
            self._rounds += rounds
            self._done += matches
            if time.monotonic() < self._next:
                return
            self._next = time.monotonic() + EVERY_S
            say(f"{self._done} of {self._matches} matches, {self._rounds:,} rounds")
