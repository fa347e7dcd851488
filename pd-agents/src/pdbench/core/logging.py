"""What a person sees while a run goes on: stderr only, one live line on a terminal."""

import sys
import time
from threading import Lock


def say(text: str) -> None:
    """One line on stderr."""
    print(text, file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """Seconds as 4s, 3m20s or 2h05m."""
    s = round(seconds)
    if s < 60:
        return f"{s}s"
    return (
        f"{s // 60}m{s % 60:02d}s" if s < 3600 else f"{s // 3600}h{s % 3600 // 60:02d}m"
    )


class Progress:
    """Rounds done of a known total, with the time left at the pace so far.

    A terminal gets one live line four times a second; anything else a `key=value` line every ten
    seconds and at the end.
    """

    def __init__(self, total: int, done: int, matches: int) -> None:
        self.total, self.done, self.matches, self.matches_done = total, done, matches, 0
        self._first, self._start, self._lock = done, time.monotonic(), Lock()
        self._live = sys.stderr.isatty()
        self._every = 0.25 if self._live else 10.0
        self._next = self._start + self._every

    def add(self, rounds: int, matches: int = 0) -> None:
        """Count rounds and matches as done; shorter matches lower the total elsewhere."""
        with self._lock:
            self.done += rounds
            self.matches_done += matches
            if time.monotonic() >= self._next:
                self._next = time.monotonic() + self._every
                self._show()

    def shorten(self, rounds: int) -> None:
        """A match ended early: this many rounds will not be played."""
        with self._lock:
            self.total -= rounds

    def finish(self) -> None:
        """Show the last state."""
        with self._lock:
            self._show()
            if self._live:
                sys.stderr.write("\n")

    def _show(self) -> None:
        elapsed = time.monotonic() - self._start
        played = self.done - self._first
        left = (self.total - self.done) * elapsed / played if played else None
        eta = "unknown" if left is None else duration(left)
        if self._live:
            share = self.done / self.total if self.total else 1
            text = (
                f"{self.done:,}/{self.total:,} rounds ({share:.0%}), "
                f"{self.matches_done}/{self.matches} matches, "
                f"{duration(elapsed)} elapsed, {eta} left"
            )
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
        else:
            say(
                f"progress rounds={self.done} total={self.total} matches={self.matches_done}"
                f" of={self.matches} elapsed_s={elapsed:.1f} eta={eta}"
            )
