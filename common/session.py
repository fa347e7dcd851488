"""One session of a run, or of several asked together: provider, pre-flight, first line, calls.

    with RunFolder(...) as run:
        ending = Session({"": run}, choice, settings, requests).conduct(chains)
"""

import math
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from common import Interrupted, OverBudget, wire
from common.budget import Budget, SharedBudget
from common.cli import Choice, Progress, printable, provider_of
from common.drive import Chain, Drive, Ending
from common.journal import Ledger
from common.runs import RunFolder
from common.simulated import FREE, Respondent, Simulated
from common.wire import Exchange, Model, Request, Terms


class Settings(NamedTuple):
    """How to ask, as opposed to what: nothing here changes a result."""

    name: str                         # shown in the progress line
    seed: int
    limits: dict[str, int]            # calls at once, by stage
    limit_usd: float
    prices: Mapping[str, Mapping]     # dollars a million tokens, where no server tells
    assumed_price: Mapping
    deadline_s: float
    routing: Mapping
    respondents: Mapping[str, Respondent]
    terms: Terms = Terms()            # effort and upstream
    quiet: bool = False               # nothing but the result on stdout
    silent: bool = False              # part of something larger, which speaks for it
    limit_each: float | None = None   # dollars for each of several runs


class Silent:
    """The provider of a run that has every answer: there is nothing to ask."""

    blocking = False

    def model(self, name: str) -> Model:
        return FREE

    def body(self, request: Request) -> dict:
        raise RuntimeError(f"{request.id}: not in the journal after all")

    def complete(self, request: Request) -> Exchange:
        return self.body(request)


def live_client(choice: Choice, settings: Settings):
    """The client of the provider at the address."""
    prices = {name: wire.as_model(entry) for name, entry in settings.prices.items()}
    return provider_of(choice.address).connect(
        choice.address, choice.key, sum(settings.limits.values()), settings.deadline_s, prices,
        settings.routing)


class Preflight:
    """The server asked for catalogue and balance, in a thread of its own: a script deals its
    design meanwhile. `result()` waits for it, and raises what it raised."""

    def __init__(self, choice: Choice, settings: Settings, models: list[str],
                 needs: tuple[str, ...]) -> None:
        self.models, self.needs, self.error = models, needs, None
        self.terms = settings.terms
        self.thread = threading.Thread(target=self._ask, args=(choice, settings), daemon=True)
        self.thread.start()

    def _ask(self, choice: Choice, settings: Settings) -> None:
        try:
            self.client = live_client(choice, settings)
            self.catalogue = self.client.preflight(self.models, self.needs, self.terms)
        except BaseException as error:
            self.error = error

    def result(self) -> tuple[Any, Any]:
        """(client, catalogue)."""
        self.thread.join()
        if self.error is not None:
            raise self.error
        return self.client, self.catalogue


def projected(requests: Iterable[Request], models: Mapping[str, Model], assumed: Model) -> float:
    """Dollars that the calls probably cost."""
    return sum(wire.expected_cost(r, models.get(r.model, Model()), assumed) for r in requests)


def needed(requests: Iterable[Request]) -> tuple[str, ...]:
    """The parameters that a model must take, beside the least."""
    from common.preflight import READING
    listed = list(requests)
    return (("temperature",) * any(r.temperature is not None for r in listed)
            + READING * any(r.top for r in listed))


def models_of(requests: Iterable[Request]) -> list[str]:
    return list(dict.fromkeys(request.model for request in requests))


def headline(choice: Choice, calls: int, usd: float, limit: float, assumed: list[str]) -> str:
    """The first line: who answers, how many calls, what they probably cost, the limit."""
    if choice.simulated:
        return (f"SIMULATED respondents answer: {calls} calls, projected cost $0, no limit "
                "(OPENROUTER_API_KEY or --base-url: real models)")
    guess = f" (no price known for {', '.join(assumed)}: assumed)" if assumed else ""
    return printable(f"{provider_of(choice.address).NAME}: {choice.address}: {calls} calls, "
                     f"projected cost ${usd:.4f}{guess}, limit ${limit:g}")


class Session:
    """`runs`: by the names that their calls' ids begin with, where they are several. `requests`:
    every call of them, or one such call and how many there are of it."""

    def __init__(self, runs: Mapping[str, RunFolder], choice: Choice, settings: Settings,
                 requests: list[tuple[Request, int]], ahead: Preflight | None = None) -> None:
        self.runs, self.choice, self.settings, self.requests = runs, choice, settings, requests
        self.first = next(iter(runs.values()))
        self.ahead = ahead
        self.assumed = wire.as_model(settings.assumed_price)

    def conduct(self, chains: Iterable[Chain]) -> Ending:
        """Ask what is not in the journal yet. Raises before the first call where it must not
        begin; stops during the run are in `Ending.stop`."""
        settings, runs = self.settings, self.runs.values()
        for run in runs:
            run.begin(self._limit_each)
        self.provider = self._provider()
        budget = self._budget()
        progress = self._progress()
        ledgers = {name: Ledger(run.journal, run.inflight) for name, run in self.runs.items()}
        drive = Drive(self.provider, ledgers, settings.limits, budget, progress)
        drive.announce(self.requests)
        self._refuse_dear(budget)
        self._say(budget)
        ending = drive.run(chains)
        for run in runs if not drive.flying else ():
            run.inflight.clear()
        progress.close(drive)
        for run in runs:
            run.present()
        self._audit(drive)
        return ending

    def _audit(self, drive: Drive) -> None:
        """Compare the dearest answers with what the service has booked for them."""
        audit = getattr(self.provider, "audit", lambda charged: None)
        if isinstance(drive.stop, Interrupted) or drive.flying:
            return
        found = audit({name: usd for usd, name in drive.dearest})
        for run in self.runs.values() if found else ():
            run.manifest["audit"] = found
        if found and found["booked_usd"] > 1.01 * found["charged_usd"] + 1e-6:
            print(f"note: the service has booked ${found['booked_usd']:.6f} for {found['calls']} "
                  f"calls that were charged ${found['charged_usd']:.6f} here: its own account "
                  "counts", file=sys.stderr)

    def _progress(self) -> Progress:
        return (Silence if self.settings.silent else Progress)(self.settings.name)

    def _budget(self) -> Budget:
        """One over all runs and, where they are several, one for each: a call fits into both."""
        limit = None if self.choice.simulated else self.settings.limit_usd
        spent = {name: run.spent for name, run in self.runs.items()}
        if len(spent) == 1:
            return Budget(limit, self.assumed, self.first.spent)
        return SharedBudget(limit, self.assumed, math.fsum(spent.values()), {
            name: (self._limit_each, usd) for name, usd in spent.items()})

    @property
    def _limit_each(self) -> float | None:
        if self.choice.simulated:
            return None
        return self.settings.limit_usd if len(self.runs) == 1 else self.settings.limit_each

    def _missing(self) -> list[tuple[Request, int]]:
        """What the answers of earlier starts leave: calls one by one, others by their kind."""
        answered, kept = set(), Counter()
        for name, run in self.runs.items():
            answered |= run.journal.answers.keys()
            kept.update({(name, *kind): n for kind, n in run.journal.kept.items()})
        left = []
        for request, calls in self.requests:
            kind = self._name(request), request.stage, request.model
            done = int(request.id in answered) if calls == 1 else min(calls, kept[kind])
            kept[kind] -= done
            left += [(request, calls - done)] if calls > done else []
        return left

    def _name(self, request: Request) -> str:
        return wire.run_of(request.id) if len(self.runs) > 1 else next(iter(self.runs))

    def _provider(self):
        missing = self._missing()
        if not missing:
            return Silent()
        names = models_of(r for r, _ in missing)
        if self.choice.simulated:
            provider = Simulated(self.settings.respondents, self.settings.seed)
            provider.check(names)
            return provider
        return self._live(missing, names)

    def _live(self, missing: list[tuple[Request, int]], names: list[str]):
        """The client, once the server's own lists speak for the run; nothing is asked before."""
        from common.preflight import fixed, refuse, resolved
        needs = needed(r for r, _ in missing)
        ahead = self.ahead
        settings = self.settings._replace(terms=self.settings.terms._replace(
            resolved=resolved(self.first.manifest.get("provider"))))
        if (ahead is None or not set(names) <= set(ahead.models) or ahead.needs != needs
                or ahead.terms != settings.terms):
            ahead = Preflight(self.choice, settings, names, needs)
        client, catalogue = ahead.result()
        usd = sum(n * projected([r], client.models, self.assumed) for r, n in missing)
        if catalogue.limit_remaining is not None and catalogue.limit_remaining < usd:
            catalogue.problems.append(
                f"the key has ${catalogue.limit_remaining:.2f} left, and ${usd:.2f} is projected")
        refuse(catalogue)
        if catalogue.dialect == "openrouter" and not fixed({
                **self.first.manifest, "provider": {"dialect": catalogue.dialect}}):
            catalogue.notes.append("any upstream may answer, so nothing of this run will be called "
                                   "confirmatory; --pin auto keeps to one upstream a model")
        for kind, lines in (("model", catalogue.facts), ("note", catalogue.notes)):
            for line in lines:
                print(f"{kind}: {printable(line)}", file=sys.stderr)
        earlier = self.first.manifest.get("provider") or {}
        provider = {
            "base_url": client.base_url, "dialect": catalogue.dialect, "notes": catalogue.notes,
            "models": earlier.get("models", {}) | {
                name: self._known(client, name, missing) for name in names}}
        for run in self.runs.values():
            run.record(provider=provider)
        return client

    def _known(self, client, name: str, missing: list[tuple[Request, int]]) -> dict:
        """What was known of a model, what was asked for, and what was sent of it."""
        model = client.model(name)
        own = {r.stage: r for r, _ in missing if r.model == name}
        sent = {stage: client.body(request) for stage, request in own.items()}
        return {"known": model._asdict(), "stages": {stage: {
            "wanted": {"max_out": request.max_out, "temperature": request.temperature,
                       "reasoning_effort": request.effort},
            "sent": {key: value for key, value in sent[stage].items()
                     if key not in ("messages", "prompt", "model", "seed")},
        } for stage, request in own.items()}}

    def _refuse_dear(self, budget: Budget) -> None:
        usd = budget.projection()
        if budget.limit is not None and usd > budget.limit and self._missing():
            raise OverBudget(f"projected ${usd:.4f} is over the limit ${budget.limit:g} before "
                             "the first call; give a higher --limit-usd, or fewer runs or models")

    def _say(self, budget: Budget) -> None:
        if self.settings.silent:
            return
        calls = sum(n for _, n in self.requests)
        unpriced = [name for name in models_of(r for r, _ in self.requests)
                    if not self.provider.model(name).priced]
        stream = sys.stderr if self.settings.quiet else sys.stdout
        answered = sum(len(run.journal.answers) for run in self.runs.values())
        with suppress(BrokenPipeError):  # nobody reads the first line; the run is made all the same
            print(headline(self.choice, calls, budget.projection(), self.settings.limit_usd,
                           unpriced), file=stream)
            if answered:
                print(f"resuming: {answered} of {calls} calls are answered already", file=stream)
            stream.flush()


class Silence(Progress):
    """Of a run in a pool: the parent says how far the plan is."""

    def _show(self, drive, now: float) -> None:
        pass
