"""What is asked and what follows from the answers: one value to run a study by and to verify it.

    runs = [Run(origin, pilot(origin))]
    [ended] = conduct(runs, choice, settings)           # asks what is missing, writes the files
    instrument.derive(answers).files                    # the same bytes, from the journal alone

Files are made from the journal, never from the replies in hand, so a run and its verification
can't differ. Several runs are asked together: their calls take turns, each keeps its own folder.
"""

import difflib
import json
import math
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

from common import COMPLETE, MEANING, Incomplete, Interrupted, OverBudget, Stop, UsageError, wire
from common.budget import Budget, SharedBudget
from common.cli import Choice, Done, Progress, one_line, printable, provider_of
from common.drive import After, Chain, Drive, Ending
from common.journal import Answers, Ledger, journal_file, merkle_root
from common.rng import SeededRandom
from common.runs import Origin, RunFolder
from common.wire import Exchange, Model, Request, Terms, run_of


class Derived(NamedTuple):
    """What follows from the answers: {file: content}, each to be looked at once (`Made`), and facts
    for the manifest."""

    files: Mapping[str, bytes]
    facts: Mapping[str, Any]


class Instrument(NamedTuple):
    """A study of one origin.

    `noun`: what a call is called. `ids`: of every call; `calls`: (such a request, how many of it)
    for every kind of call. `chains` may wait for places of their own list. `derive` asks `answers`
    every request that it deals. `owned`: whether only a derived file may have this name.
    """

    name: str
    noun: str
    ids: Callable[[], Iterable[str]]
    calls: Callable[[], Sequence[tuple[Request, int]]]
    chains: Callable[[], Sequence[Chain]]
    derive: Callable[[Answers], Derived]
    owned: Callable[[str], bool]


class Run(NamedTuple):
    origin: Origin
    instrument: Instrument


class Ended(NamedTuple):
    """A run after its session. `note`: why there was nothing to do, "" otherwise."""

    folder: RunFolder
    stop: Stop | None
    note: str


# --- a provider without a server --------------------------------------------------------------

# Respondents answer from a table of functions, without network, key or cost. One is
# `answer(request, rng) -> text` or `-> (text, finish_reason)`. It reads the same rendered prompt as
# a model would; `rng` is a stream of the run's seed and the request's id, so an answer depends on
# nothing else. Calibration instruments, not models.
Respondent = Callable[[Request, SeededRandom], str | tuple[str, str]]
FREE = Model(prompt=0.0, completion=0.0, price_from="simulated")


class Simulated:
    """Answers at once, in the thread that asks."""

    blocking = False
    simulated = True
    dialect = "openai"

    def __init__(self, respondents: Mapping[str, Respondent], seed: int) -> None:
        self.respondents, self.rng = respondents, SeededRandom(seed, "respondent")

    def check(self, models: list[str]) -> None:
        """UsageError where a respondent does not exist."""
        for name in models:
            if name not in self.respondents:
                close = difflib.get_close_matches(name, self.respondents, 1)
                raise UsageError(
                    f"models: no simulated respondent {name!r}; "
                    + (f"did you mean {close[0]!r}? " if close else "")
                    + f"There are {', '.join(sorted(self.respondents))}. For a real model set "
                    "OPENROUTER_API_KEY or give --base-url")

    def model(self, name: str) -> Model:
        return FREE

    def body(self, request: Request) -> dict:
        return wire.body(request, FREE, self.dialect)

    def complete(self, request: Request) -> Exchange:
        """The respondent's text in the shape a server would send it."""
        said = self.respondents[request.model](request, self.rng.stream(request.id))
        text, finish = said if isinstance(said, tuple) else (said, "stop")
        prompt, completion = (-(-len(t) // 4) for t in (request.system + request.user, text))
        body = {"id": f"sim-{request.sha256()[:12]}", "model": f"SIMULATED/{request.model}",
                "provider": "simulated",
                "choices": [{"finish_reason": finish, "message": {"content": text}}],
                "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "cost": 0}}
        return Exchange(200, {}, json.dumps(body))


# --- a session: provider, pre-flight, first line, calls ---------------------------------------

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
    listed = list(requests)
    return (("temperature",) * any(r.temperature is not None for r in listed)
            + wire.READING * any(r.top for r in listed))


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
        progress = (Silence if settings.silent else Progress)(settings.name)
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
        from common.preflight import fixed, refuse, resolved, same_ways
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
        same_ways({name: client.model(name).way for name in names},
                  [run.manifest for run in self.runs.values() if run.journal.answers])
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

    def write(self, line: str, pairs: str, end: str) -> None:
        pass


# --- running it -------------------------------------------------------------------------------

def conduct(runs: Sequence[Run], choice: Choice, settings: Settings,
            ahead: Preflight | None = None) -> list[Ended]:
    """Ask what is missing of all runs together, then derive the files of each.

    Raises Stop where nothing could begin at all.
    """
    with ExitStack() as stack:
        folders = [stack.enter_context(RunFolder(run.origin, run.instrument.name)) for run in runs]
        left = [at for at, folder in enumerate(folders) if not folder.finished]
        stop = None
        if left:
            stop = _ask([runs[at].instrument for at in left], [folders[at] for at in left],
                        choice, settings, ahead)
        return [_finish(run, folder, stop) if at in left else
                Ended(folder, None, "already complete; nothing to do")
                for at, (run, folder) in enumerate(zip(runs, folders, strict=True))]


def _ask(instruments: Sequence[Instrument], folders: Sequence[RunFolder], choice: Choice,
         settings: Settings, ahead: Preflight | None) -> Stop | None:
    calls = [call for instrument in instruments for call in instrument.calls()]
    chains = in_turns([instrument.chains() for instrument in instruments], settings.seed)
    names = [run_of(next(iter(instrument.ids()), "")) for instrument in instruments]
    runs = dict(zip(names, folders, strict=True))
    return Session(runs, choice, settings, calls, ahead).conduct(chains).stop


def in_turns(runs: Sequence[Sequence[Chain]], seed: int) -> list[Chain]:
    """The chains of several runs, which take turns in a drawn order: no run is ahead of another,
    and an outage hits all alike."""
    rng = SeededRandom(seed, "turns")
    order, places = [], [[0] * len(chains) for chains in runs]
    for at in range(max(map(len, runs))):
        here = [run for run, chains in enumerate(runs) if at < len(chains)]
        for run in rng.sample(here, len(here)):
            places[run][at] = len(order)
            order.append((run, at))
    return [_placed(runs[run][at], places[run]) for run, at in order]


def _placed(chain: Chain, places: Sequence[int]) -> Chain:
    """The chain, waiting for `places` where it waits for places of its own list."""
    value = None
    while True:
        try:
            asked = chain.send(value)
        except StopIteration as end:
            return end.value
        if isinstance(asked, After):
            asked = After(tuple(places[at] for at in asked.chains))
        value = yield asked


def _finish(run: Run, folder: RunFolder, stop: Stop | None) -> Ended:
    """Derive the run's files from its journal and close it."""
    folder.journal.close()
    files, facts, left = _followed(run.instrument, folder)
    stop = (stop or _leftovers(left, run.instrument.noun)) if left else None
    folder.finish(files, stop, facts)
    return Ended(folder, stop, "")


def _followed(instrument: Instrument, folder: RunFolder) -> tuple[Mapping, Mapping, Mapping]:
    """Files, facts, and what is left to ask; the answers are let go before a file is made."""
    answers = Answers(journal_file(folder.path), folder.identity)
    if answers.head_sha256 != folder.journal.prev:
        raise UsageError(f"{answers.path}: not what this process wrote; it was edited while the "
                         "run was going on: restore it from a copy, or use another --run-id")
    files, facts = derived(instrument, answers)
    return files, facts, unanswered(answers, facts)


def unanswered(answers: Answers, facts: Mapping[str, Any]) -> dict[str, int]:
    """The calls that the next start asks: {"failed": …, "not asked": …}, empty where none."""
    left = {"failed": answers.failed(), "not asked": facts["outcomes"].get("not_run", 0)}
    return {what: n for what, n in left.items() if n}


def _leftovers(left: Mapping[str, int], noun: str) -> Incomplete:
    what = " and ".join(f"{n} {key}" for key, n in left.items())
    return Incomplete(f"{noun} left: {what}; the same command asks them")


def derived(instrument: Instrument, answers: Answers) -> Derived:
    """Files and facts of a run; no file where nothing was answered."""
    files, more = instrument.derive(answers)
    served = Counter((kept.model, str(kept.reply.served_model), str(kept.reply.provider))
                     for kept in answers.answered())
    facts = {"simulated": answers.simulated, "retries": answers.repeated,
             "waits": answers.waits, "errors": answers.errors,
             "outcomes": dict(sorted(answers.outcomes(instrument.ids()).items())),
             "merkle_root": merkle_root(answers.leaves()),
             "served": nested(served, 0, 1), "upstreams": nested(served, 0, 2)}
    return Derived(files if served else {}, facts | dict(more))


def tallied(rows: Iterable[Mapping[str, Any]], *fields: str) -> dict:
    """Nested counts: {model: {served: n}} for ("model", "served_model")."""
    return nested(Counter(tuple(str(row[field]) for field in fields) for row in rows),
                  *range(len(fields)))


def nested(counts: Mapping[tuple[str, ...], int], *places: int) -> dict:
    """Counts of tuples as {first: {second: n}}, by the `places` of the tuple that are named."""
    tree: dict = {}
    for key in sorted(counts):
        node = tree
        for place in places[:-1]:
            node = node.setdefault(key[place], {})
        node[key[places[-1]]] = node.get(key[places[-1]], 0) + counts[key]
    return tree


def last_words(ended: Ended, *facts: str, before: Sequence[str] = (), after: Sequence[str] = (),
               **more: Any) -> Done:
    """What a script says at the end of a run; `facts`: keys of the manifest that --json has too."""
    code, manifest = ended.stop.code if ended.stop else COMPLETE, ended.folder.manifest
    keys = ("state", "simulated", *facts, "elapsed_s")
    said = {"run": str(ended.folder.path), **{key: manifest[key] for key in keys},
            "cost_usd": manifest["cost"]["spent_usd"], "files": sorted(manifest["files"]), **more}
    text = [*before, f"{ended.folder.path}: {ended.note or MEANING[code]}", *after]
    return Done(code, said, "\n".join(text), error=one_line(ended.stop))
