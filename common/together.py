"""Several runs driven as one: their calls interleave, each keeps its own journal and budget.

    runs = Together({"cell-a": folder_a, "cell-b": folder_b})   # names begin the request ids
    ending = Session(runs, choice, settings, requests).conduct(chains)

`Together` shows the face of one `RunFolder` to the session. A call belongs to the run whose name
stands before the first "/" of its id.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from common.budget import Budget
from common.runs import RunFolder
from common.session import Session
from common.wire import Model, Reading, Request


def run_of(name: str) -> str:
    """ "cell-a/r1/p01/e1/a" → "cell-a"."""
    return name.partition("/")[0]


class Together:
    """Open runs by name. Runs are begun together and finished one by one, by their folders."""

    def __init__(self, runs: Mapping[str, RunFolder], limit_each: float | None = None) -> None:
        self.runs, self.limit_each = dict(runs), limit_each
        self.manifest = _Manifests(self.runs)

    def begin(self, limit_usd: float | None) -> None:
        """`limit_usd` is for all together; each run's own limit goes into its manifest."""
        for run in self.runs.values():
            run.begin(None if limit_usd is None else self.limit_each)
        self.journal, self.inflight = _Journals(self.runs), _InFlights(self.runs)

    def record(self, **facts: Any) -> None:
        for run in self.runs.values():
            run.record(**facts)

    def present(self) -> None:
        for run in self.runs.values():
            run.present()

    @property
    def spent(self) -> float:
        return math.fsum(run.spent for run in self.runs.values())


class _Manifests(MutableMapping):
    """What is recorded of the provider goes into every run's manifest."""

    def __init__(self, runs: Mapping[str, RunFolder]) -> None:
        self.runs = runs

    def __setitem__(self, key: str, value: Any) -> None:
        for run in self.runs.values():
            run.manifest[key] = value

    def _any(self) -> Mapping[str, Any]:
        return next(iter(self.runs.values())).manifest

    def __getitem__(self, key: str) -> Any:
        return self._any()[key]

    def __delitem__(self, key: str) -> None:
        for run in self.runs.values():
            del run.manifest[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._any())

    def __len__(self) -> int:
        return len(self._any())


class _Journals:
    """The journals of all runs, by the ids that are asked of them."""

    def __init__(self, runs: Mapping[str, RunFolder]) -> None:
        self.journals = {name: run.journal for name, run in runs.items()}
        self.path = ", ".join(str(journal.path) for journal in self.journals.values())
        self.answers, self.charges, self.kept = {}, [], Counter()
        for name, journal in self.journals.items():
            self.answers |= journal.answers
            journal.answers.clear()
            self.charges += journal.charges
            self.kept.update({(name, *kind): n for kind, n in journal.kept.items()})
        self.asked = _Asked(self.journals)

    @staticmethod
    def kind(request: Request) -> tuple[str, ...]:
        return run_of(request.id), request.stage, request.model

    def append(self, request: Request, *what: Any) -> None:
        self.journals[run_of(request.id)].append(request, *what)


class _Asked:
    """Attempts of each id, over all resumes."""

    def __init__(self, journals: Mapping[str, Any]) -> None:
        self.journals = journals

    def __getitem__(self, name: str) -> int:
        return self.journals[run_of(name)].asked[name]


class _InFlights:
    def __init__(self, runs: Mapping[str, RunFolder]) -> None:
        self.notes = {name: run.inflight for name, run in runs.items()}

    def note(self, request: Request, attempt: int, usd: float) -> None:
        self.notes[run_of(request.id)].note(request, attempt, usd)

    def clear(self) -> None:
        for notes in self.notes.values():
            notes.clear()


class SharedBudget(Budget):
    """One budget over all runs, and one for each: a call must fit into both.

    What a call costs is learned together, since it is the same call in every run.
    """

    def __init__(self, limit: float | None, assumed: Model, spent: float,
                 runs: Mapping[str, tuple[float | None, float]]) -> None:
        """`runs`: {name: (its limit or None, dollars it has spent)}."""
        super().__init__(limit, assumed, spent)
        self.own = {name: Budget(each, assumed, own) for name, (each, own) in runs.items()}
        for budget in self.own.values():
            budget.seen = self.seen

    def _own(self, request: Request) -> Budget:
        return self.own[run_of(request.id)]

    def plan(self, request: Request, model: Model, calls: int) -> None:
        super().plan(request, model, calls)
        self._own(request).plan(request, model, calls)

    def made(self, request: Request) -> None:
        super().made(request)
        self._own(request).made(request)

    def fits(self, usd: float, request: Request | None = None) -> bool:
        return super().fits(usd) and self._own(request).fits(usd)

    def reserve(self, usd: float, request: Request | None = None) -> None:
        super().reserve(usd)
        self._own(request).reserve(usd)

    def release(self, usd: float, request: Request | None = None) -> None:
        super().release(usd)
        self._own(request).release(usd)

    def charge(self, request: Request, reading: Reading, model: Model,
               reserved: float) -> tuple[float | None, float]:
        cost, charged = super().charge(request, reading, model, reserved)
        self._own(request).spent += charged
        return cost, charged

    def tightest(self, request: Request) -> Budget:
        """Of the two, the one whose projection fills more of its limit."""
        return max((self, self._own(request)), key=_fullness)


def _fullness(budget: Budget) -> float:
    return budget.projection() / budget.limit if budget.limit else 0.0


class SharedSession(Session):
    """A session over `Together`. `requests`: one such call of each kind, and how many of it."""

    run: Together

    def _budget(self) -> Budget:
        simulated = self.choice.simulated
        limit = None if simulated else self.settings.limit_usd
        each = None if simulated else self.run.limit_each
        return SharedBudget(limit, self.assumed, self.run.spent, {
            name: (each, run.spent) for name, run in self.run.runs.items()})

    def _missing(self) -> list[tuple[Request, int]]:
        """What is left of each kind of call after the answers of earlier starts."""
        journal = self.run.journal
        kept, left = Counter(journal.kept), []
        for request, calls in self.requests:
            done = min(calls, kept[journal.kind(request)])
            kept[journal.kind(request)] -= done
            if calls > done:
                left.append((request, calls - done))
        return left

