"""How far a run is: one live line on a terminal, grep-friendly key=value lines elsewhere."""

import sys
import time

LIVE_EVERY_S = 0.1
LINE_EVERY_S = 10.0


def clock_face(seconds: float) -> str:
    """75 → "1:15"; 3725 → "1:02:05"."""
    minutes, second = divmod(round(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02d}:{second:02d}" if hour else f"{minute}:{second:02d}"


class Progress:
    """Called by `Drive` whenever something has happened; writes to stderr when it is time."""

    def __init__(self, name: str, stream=None) -> None:
        self.name, self.stream = name, stream or sys.stderr
        self.live = self.stream.isatty()
        self.next = time.monotonic() + (0 if self.live else LINE_EVERY_S)

    def __call__(self, drive) -> None:
        now = time.monotonic()
        if now < self.next:
            return
        self.next = now + (LIVE_EVERY_S if self.live else LINE_EVERY_S)
        self._show(drive, now)

    def _show(self, drive, now: float) -> None:
        if self.live:
            self.stream.write("\r" + self.line(drive, now)[:118] + "\x1b[K")
        else:
            self.stream.write("progress " + self.pairs(drive, now) + "\n")
        self.stream.flush()

    def close(self, drive) -> None:
        """The last word: a line that stays."""
        self._show(drive, time.monotonic())
        if self.live:
            self.stream.write("\n")
            self.stream.flush()

    def eta_s(self, drive, now: float) -> float | None:
        """Seconds left at this start's own pace; None before the first reply."""
        made = drive.done - drive.earlier
        left = drive.total - drive.done
        return (now - drive.started) / made * left if made else None

    def line(self, drive, now: float) -> str:
        said = [self.name, f"{drive.done}/{drive.total}", " · ".join(
            f"{outcome} {n}" for outcome, n in drive.outcomes.most_common())]
        if drive.retries:
            said.append(f"retries {drive.retries}")
        budget = drive.budget
        if budget.limit is not None:
            said.append(f"${budget.spent:.4f} of ${budget.limit:g} "
                        f"(projected ${budget.projection():.4f})")
        if drive.breaker.state != "closed":
            said.append("paused: the server fails")
        eta = self.eta_s(drive, now)
        if eta is not None and drive.done < drive.total:
            said.append(f"ETA {clock_face(eta)}")
        return "  ".join(part for part in said if part)

    def pairs(self, drive, now: float) -> str:
        budget, eta = drive.budget, self.eta_s(drive, now)
        said = {"run": self.name, "done": drive.done, "total": drive.total, **drive.outcomes,
                "retries": drive.retries, "breaker": drive.breaker.state}
        if budget.limit is not None:
            said |= {"spent_usd": f"{budget.spent:.6f}",
                     "projected_usd": f"{budget.projection():.6f}", "limit_usd": budget.limit}
        if eta is not None:
            said["eta_s"] = round(eta)
        return " ".join(f"{key}={value}" for key, value in said.items())


class Counted:
    """The same for work that has no calls: `add` says how much more is done, and what it was."""

    def __init__(self, name: str, total: int, done: int = 0, stream=None) -> None:
        self.name, self.total, self.done, self.earlier = name, total, done, done
        self.stream = stream or sys.stderr
        self.live, self.started = self.stream.isatty(), time.monotonic()
        self.next = self.started

    def add(self, n: int, what: str) -> None:
        self.done += n
        now = time.monotonic()
        if now >= self.next:
            self.next = now + (LIVE_EVERY_S if self.live else LINE_EVERY_S)
            self._show(what, now)

    def _show(self, what: str, now: float) -> None:
        made = self.done - self.earlier
        eta = (now - self.started) / made * (self.total - self.done) if made else None
        left = "" if eta is None or self.done >= self.total else clock_face(eta)
        if self.live:
            self.stream.write(f"\r{self.name}  {self.done:,}/{self.total:,}  {what}"
                              f"{'  ETA ' + left if left else ''}"[:119] + "\x1b[K")
        else:
            self.stream.write(f"progress run={self.name} done={self.done} total={self.total}"
                              f"{f' eta_s={eta:.0f}' if left else ''}\n")
        self.stream.flush()

    def close(self) -> None:
        """The last word: a line that stays."""
        self._show("", time.monotonic())
        if self.live:
            self.stream.write("\n")
            self.stream.flush()
