"""Run a study: ask what is missing, and derive files from the answers. One value, an
`Instrument`, serves to run a study and to verify it.

    runs = [Run(origin, pilot(origin))]
    [ended] = conduct(runs, choice, settings)           # asks what is missing, writes the files
    instrument.derive(answers).files                    # the same bytes, from the journal alone

Files are made from the journal, never from the replies in memory, so a run and its
verification can't differ. Several runs are asked together: their calls take turns, and
each run keeps a folder of its own.
"""

import asyncio
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import product
from typing import Any, NamedTuple

from common import (
    COMPLETE,
    MEANING,
    Incomplete,
    OverBudget,
    ProviderRefused,
    Stop,
    Unreadable,
    UsageError,
    wire,
)
from common.artifacts import content_of, merkle_root, sha256
from common.ask import Asker, Clock, Study, Warmup
from common.cli import Choice, Done, Progress, error_line, printable, wrapped
from common.gate import Aside, Gate, Money
from common.journal import Answers, Read, check_present, journal_file
from common.respondents import is_own, own_respondent
from common.rng import SeededRandom
from common.runs import Origin, RunFolder, elapsed, flat, known_of
from common.server import Catalogue, Server, public_address, refuse
from common.shape import nearest
from common.wire import FREE, PLAIN, Adapted, Exchange, Model, Request, run_of


class Derived(NamedTuple):
    """What follows from the answers: {file: content}, and facts for the manifest."""

    files: Mapping[str, bytes]
    facts: Mapping[str, Any]


def no_warmups() -> Sequence[Warmup]:
    """Return no calls: the study needs no warm-up."""
    return ()


class Instrument(NamedTuple):
    """A study of one origin.

    `noun` is the word for its calls. `calls` returns pairs (a typical request, how many
    of it) for every kind of call. `ids` returns {id of a call: the models without which
    it can't be made}. `derive` makes the files from the answers, and asks them for
    every request of the study. `warmups` returns two calls for each (model, stage), to
    be made before its first call. `needs_all` says that the study is unfinished as long
    as any of its models is set aside; other studies go on without that model.
    """

    name: str
    noun: str
    ids: Callable[[], Mapping[str, Collection[str]]]
    calls: Callable[[], Sequence[tuple[Request, int]]]
    study: Study
    derive: Callable[[Answers], Derived]
    warmups: Callable[[], Sequence[Warmup]] = no_warmups
    needs_all: bool = False


class Run(NamedTuple):
    """A run to be asked: what it is made of, and its study."""

    origin: Origin
    instrument: Instrument


class Ended(NamedTuple):
    """A run after its session. `note` says why there was nothing to do, and is ""
    otherwise."""

    folder: RunFolder
    stop: Stop | None
    note: str


# --- a provider without a server --------------------------------------------------------------

# A respondent is a function that answers in a model's place, without network, key or cost:
# `answer(request, rng) -> text` or `-> (text, finish_reason)`. It reads the same rendered
# prompt as a model would; `rng` is a stream of the run's seed and the request's id, so an
# answer depends on nothing else.
Respondent = Callable[[Request, SeededRandom], str | tuple[str, str]]


class Simulated:
    """A provider of simulated respondents, which answer at once in the calling
    thread."""

    answers_later = False
    dialect = "openai"

    def __init__(self, respondents: Mapping[str, Respondent], seed: int) -> None:
        self.respondents, self.rng = respondents, SeededRandom(seed, "respondent")

    def check(self, models: Iterable[str]) -> None:
        """Raise UsageError if one of the respondents does not exist."""
        for name in models:
            self.respondent(name)

    def respondent(self, name: str) -> Respondent:
        """Return a respondent of the project or of a user's file."""
        if is_own(name):
            return own_respondent(name)
        if name not in self.respondents:
            raise UsageError(
                f"models: no simulated respondent {name!r}; for a real model set "
                "OPENROUTER_API_KEY or give --base-url; "
                f"{nearest(name, self.respondents)}"
            )
        return self.respondents[name]

    def model(self, name: str) -> Model:
        return FREE

    def body(self, request: Request, adapted: Adapted = PLAIN) -> dict[str, Any]:
        return wire.body(request, FREE, self.dialect)

    def complete(self, request: Request) -> Exchange:
        """Return the respondent's text in the shape in which a server would send it."""
        rng = self.rng.stream(request.id)
        answer = self.respondent(request.model)(request, rng)
        text, finish = answer if isinstance(answer, tuple) else (answer, "stop")
        choice = {"finish_reason": finish, "message": {"content": text}}
        usage = {
            "prompt_tokens": _tokens(request.texts),
            "completion_tokens": _tokens(text),
            "cost": 0,
        }
        body = {
            "id": f"sim-{request.sha256()[:12]}",
            "model": f"SIMULATED/{request.model}",
            "provider": "simulated",
            "choices": [choice],
            "usage": usage,
        }
        return Exchange(200, {}, json.dumps(body))


def _tokens(text: str) -> int:
    """Estimate the tokens of a text: one for every four characters, rounded up."""
    return -(-len(text) // 4)


# --- a session ---------------------------------------------------------------------------------


class Settings(NamedTuple):
    """How a study is asked. Nothing here changes a result except `effort` and
    `upstream`, which are also in the run's identity."""

    name: str  # shown in the progress line
    seed: int
    limits: dict[str, int]  # calls at once, by stage
    limit_usd: float
    prices: Mapping[str, Mapping[str, Any]]  # where no server tells; see config.PRICE
    assumed_price: Mapping[str, Any]
    deadline_s: float
    respondents: Mapping[str, Respondent]
    effort: str | None = None
    upstream: str | None = None
    go_on: bool = False  # ask a model too whose warm-up answers can't be read
    quiet: bool = False  # nothing but the result on stdout
    nested: bool = False  # part of something larger, which speaks for it


def models_of(requests: Iterable[Request]) -> list[str]:
    """Return the models of these requests, each once."""
    return list(dict.fromkeys(request.model for request in requests))


def headline(
    choice: Choice,
    calls: int,
    usd: float,
    limit: float,
    assumed: Sequence[str],
    tight: bool = False,
) -> str:
    """Return the first line: who answers, how many calls, their probable cost, and the
    limit. `tight` says that the limit may be lower than the highest cost of the first
    calls."""
    if choice.simulated:
        return (
            f"SIMULATED respondents answer: {calls} calls, $0; models do with "
            "OPENROUTER_API_KEY"
        )
    cost, most = f"projected cost ${usd:.4f}", f"limit ${limit:g}"
    if assumed:
        cost += f" (no price known for {', '.join(assumed)}: assumed)"
    if tight:
        most += " (too low to reserve the first calls)"
    address = public_address(choice.address)
    return printable(f"{address}: {calls} calls, {cost}, {most}")


def conduct(
    runs: Sequence[Run], choice: Choice, settings: Settings, clock: Any = Clock
) -> list[Ended]:
    """Ask what is missing of all runs together, then derive the files of each. Raise
    Stop if nothing could begin at all."""
    with ExitStack() as stack:
        folders = [
            stack.enter_context(RunFolder(run.origin, run.instrument.name))
            for run in runs
        ]
        pairs = list(zip(runs, folders, strict=True))
        left = [(run, folder) for run, folder in pairs if not folder.finished]
        stop = None
        if left:
            session = Session(left, choice, settings, clock)
            asker = session.begin()
            asker.run([run.instrument.study for run, _ in left])
            stop = session.end(asker)
        ended = []
        for run, folder in pairs:
            if not folder.begun:
                ended.append(_already(folder))
            else:
                ended.append(_finish(run, folder, stop))
        return ended


def _already(folder: RunFolder) -> Ended:
    """Return what is said of a run that was complete before this command."""
    stop = None
    if not trial_statuses(folder.manifest["statuses"])["ok"]:
        stop = Unreadable("complete before, and of no model can a decision be read")
    return Ended(folder, stop, "already complete; nothing to do")


def untold(asker: Asker, last: bool = False) -> None:
    """Show no progress: the session is part of something larger."""


class Session:
    """One start of some runs: their folders are open, and what is missing is asked."""

    def __init__(
        self,
        left: Sequence[tuple[Run, RunFolder]],
        choice: Choice,
        settings: Settings,
        clock: Any,
    ) -> None:
        self.choice, self.settings, self.clock = choice, settings, clock
        self.instruments = [run.instrument for run, _ in left]
        self.folders: dict[str, RunFolder] = {}  # by the name that ids begin with
        for run, folder in left:
            first = next(iter(run.instrument.ids()), "")
            self.folders[run_of(first)] = folder
        self.limit = None if choice.simulated else settings.limit_usd
        self.balance: float | None = None  # dollars left on the key
        self.progress: Callable[..., None] = untold
        self.needs_all = any(each.needs_all for each in self.instruments)

    def begin(self) -> Asker:
        """Open the journals, print what will be asked, and return the Asker. Raise Stop
        if the session must not begin."""
        settings = self.settings
        for folder in self.folders.values():
            folder.begin(self.limit)
        calls = [call for each in self.instruments for call in each.calls()]
        reads: list[Read] = []
        for folder in self.folders.values():
            reads += folder.journal.past.read.values()
        left = calls_left(calls, reads)
        names = list(dict.fromkeys(model for _, model in left))
        provider, aside = self._provider(names)
        warmups = self._warmups(left) if provider.answers_later else []
        spent = math.fsum(folder.spent for folder in self.folders.values())
        assumed = wire.as_model(settings.assumed_price)
        money = Money(
            self.limit,
            assumed,
            lambda request: (provider.model(request.model), asker.how(request)),
            spent,
        )
        gate = Gate(money, settings.limits)
        self.models = models_of(request for request, _ in calls)
        if not settings.nested:
            self.progress = Progress(settings.name)
        asker = Asker(
            provider,
            {name: folder.journal for name, folder in self.folders.items()},
            gate,
            warmups,
            go_on=settings.go_on,
            watch=self.progress,
            clock=self.clock,
        )
        asker.total = sum(count for _, count in calls)
        for request, count in calls:
            money.announce(request, count)
        money.keep(left)
        for warmup in warmups:
            if not self._is_answered(warmup.request):
                money.announce(warmup.request, 1)
        for model, (kind, why) in aside.items():
            gate.aside[model] = Aside(kind, why)
            money.give_up(model)
        self._check_limit(money, bool(left))
        if not settings.nested:
            self._say(asker, calls, sum(left.values()))
        return asker

    def end(self, asker: Asker) -> Stop | None:
        """Return why calls are left. The journals note which models were set aside."""
        gate = asker.gate
        self.progress(asker, last=True)
        for folder in self.folders.values():
            check_present(folder.path)
        self._note_overshoot(gate.money)
        aside = set(product(self.folders, gate.aside))
        for name, model in sorted(asker.skipped & aside):
            kind, why = gate.aside[model]
            self.folders[name].journal.set_aside(model, kind, why, self.clock.stamp())
        return self._ending(gate, self.models)

    def _warmups(self, left: Collection[tuple[str, str]]) -> list[Warmup]:
        """Return the warm-up calls of those (stage, model) that have calls left."""
        wanted = []
        for instrument in self.instruments:
            for each in instrument.warmups():
                if (each.request.prepares, each.request.model) in left:
                    wanted.append(each)
        return wanted

    def _is_answered(self, request: Request) -> bool:
        """Whether an earlier start has an answer that stands."""
        journals = [folder.journal for folder in self.folders.values()]
        return any(journal.answer(request) is not None for journal in journals)

    def _provider(self, names: Sequence[str]) -> tuple[Any, dict[str, Aside]]:
        """Return (the provider, the models that its own list rules out)."""
        if names and not self.choice.simulated:
            return self._server(names)
        provider = Simulated(self.settings.respondents, self.settings.seed)
        provider.check(names)
        return provider, {}

    def _server(self, names: Sequence[str]) -> tuple[Server, dict[str, Aside]]:
        """Return the client of the server, after checking the server's lists; no model
        is asked before."""
        settings = self.settings
        prices = {name: wire.as_model(entry) for name, entry in settings.prices.items()}
        server = Server(
            self.choice.address,
            self.choice.key,
            sum(settings.limits.values()),
            settings.deadline_s,
            prices,
            settings.upstream,
        )
        with asyncio.Runner(loop_factory=self.clock.loop) as runner:
            catalogue = runner.run(server.preflight(names, settings.effort))
        self.balance = catalogue.limit_remaining
        refuse(catalogue)
        faulty = len(catalogue.faults)
        if faulty == len(names) or (faulty and self.needs_all):
            raise UsageError(f"before the first call: {_faults(catalogue)}")
        self._tell(catalogue)
        self._record(server, catalogue, names)
        faults = catalogue.faults
        return server, {name: Aside("refused", faults[name]) for name in faults}

    def _tell(self, catalogue: Catalogue) -> None:
        for kind, lines in (("model", catalogue.facts), ("note", catalogue.notes)):
            for line in lines:
                print(f"{kind}: {printable(line)}", file=sys.stderr)
        if catalogue.faults:
            print(f"set aside: {printable(_faults(catalogue))}", file=sys.stderr)

    def _record(
        self, server: Server, catalogue: Catalogue, names: Sequence[str]
    ) -> None:
        """Write what was known of the models into each manifest, since verification
        needs it."""
        known = {name: {"known": server.model(name)._asdict()} for name in names}
        for folder in self.folders.values():
            earlier = folder.unproven["provider"]
            models = known if earlier is None else earlier["models"] | known
            address = public_address(server.base_url)
            if earlier is not None and earlier["dialect"] != server.dialect:
                raise UsageError(
                    f"{address}: it speaks {server.dialect!r} now, and spoke "
                    f"{earlier['dialect']!r} when the run began; use another --run-id"
                )
            provider = {
                "base_url": address,
                "dialect": server.dialect,
                "notes": catalogue.notes,
                "models": models,
            }
            folder.record(provider=provider)

    def _check_limit(self, money: Money, missing: bool) -> None:
        usd = money.projection()
        if not missing:
            return
        rest = usd - money.spent
        if self.balance is not None and self.balance < rest:
            raise ProviderRefused(
                f"before the first call: the key has ${self.balance:.2f} left, and "
                f"${rest:.2f} is projected"
            )
        if self.limit is not None and usd > self.limit:
            raise OverBudget(
                f"projected ${usd:.4f} is over the limit ${self.limit:g} before the first "
                "call; give a higher --limit-usd, or fewer runs or models"
            )

    def _say(
        self, asker: Asker, calls: Sequence[tuple[Request, int]], left: int
    ) -> None:
        """Print the first lines: who is asked, and how much is answered already."""
        money = asker.gate.money
        names = models_of(request for request, _ in calls)
        unpriced = [name for name in names if not asker.provider.model(name).priced]
        block = calls[0][0].block if calls else ""
        first = [request for request, _ in calls if request.block == block]
        tight = left > 0 and not money.fits(first)
        usd, limit = money.projection(), self.settings.limit_usd
        lines = [headline(self.choice, asker.total, usd, limit, unpriced, tight)]
        answered = asker.total - left
        if answered:
            lines.append(
                f"resuming: {answered} of {asker.total} calls are answered already"
            )
        stream = sys.stderr if self.settings.quiet else sys.stdout
        with suppress(BrokenPipeError):  # nobody reads; the run is made all the same
            print("\n".join(lines), file=stream, flush=True)

    def _note_overshoot(self, money: Money) -> None:
        if self.limit is not None and money.spent > self.limit:
            charged = (
                f"${money.spent:.6f} was charged, more than the limit ${self.limit:g}"
            )
            why = "a server charged more than it was told it may"
            print(f"note: {charged}: {why}", file=sys.stderr)

    def _ending(self, gate: Gate, models: Sequence[str]) -> Stop | None:
        """Return why calls are left. If no model is left, it is the gravest reason among
        all models."""
        if isinstance(gate.stop, OverBudget):
            return gate.money.over([])
        if gate.stop is not None:
            return gate.stop
        lost = [name for name in models if name in gate.aside]
        if not lost or not (self.needs_all or len(lost) == len(models)):
            return None
        kinds = {gate.aside[name].kind for name in lost}
        lines = [f"{name}: {gate.aside[name].why}" for name in lost]
        if len(lost) < len(models):
            return Incomplete("; ".join(lines))
        for kind, stop in ASIDE_STOPS.items():
            if kind in kinds:
                return stop("; ".join(lines))
        return None


# The end of a session for want of a model, the gravest first.
ASIDE_STOPS = {"refused": ProviderRefused, "failed": Incomplete, "form": Unreadable}


def _faults(catalogue: Catalogue) -> str:
    lines = [f"{name}: {why}" for name, why in catalogue.faults.items()]
    return "; ".join(lines)


# --- what a run leaves --------------------------------------------------------------------------


def _finish(run: Run, folder: RunFolder, stop: Stop | None) -> Ended:
    """Derive the run's files from its journal and close the run."""
    journal = folder.journal
    journal.close()
    known = (
        None  # what a server said of its models; simulated respondents have no server
    )
    if folder.unproven["provider"] is not None:
        known = known_of(folder.identity, folder.unproven)
    answers = Answers(journal_file(folder.path), folder.identity, known)
    if answers.head_sha256 != journal.prev:
        raise UsageError(
            f"{answers.path}: not what this process wrote; it was edited while the run was "
            "going on: restore it from a copy, or use another --run-id"
        )
    made = derived(run.instrument, answers)
    ending = _ending_of(run.instrument, answers, made, stop)
    folder.end_session(ending)
    folder.finish(made.files, manifest_of(run, answers, made, folder.unproven))
    return Ended(folder, ending, "")


def _ending_of(
    instrument: Instrument, answers: Answers, made: Derived, stop: Stop | None
) -> Stop | None:
    """Return why the run is not complete, or why nothing in it can be read. Return None
    if all is well."""
    left = unanswered(instrument, answers)
    if left:
        asks = (
            f"{instrument.noun} left: {' and '.join(left)}; the same command asks them"
        )
        return stop or Incomplete(asks)
    statuses = trial_statuses(made.facts["statuses"])
    if not statuses["ok"]:
        return Unreadable(
            f"complete, and of no model can a decision be read: {_commonest(statuses)}; "
            "--examples 4 or --effort low may help"
        )
    return None


def trial_statuses(statuses: Mapping[str, Any]) -> Counter[str]:
    """Return {status: number of trials}, from what an instrument counts. Only decisions
    count if there are any. Status "ok" means a decision, or an answer where the study
    asks for no decision."""
    counts: Counter[str] = Counter()
    for name, count in flat(statuses.get("decision", statuses)).items():
        counts[name.split(".")[-1]] += count
    return counts


def _commonest(statuses: Mapping[str, int]) -> str:
    """Say which status is the most frequent, as in "40 of 40 answers are empty"."""
    if not statuses:
        return "the models that are left were asked for none"
    most = max(statuses, key=lambda status: statuses[status])
    return f"{statuses[most]} of {sum(statuses.values())} answers are {most}"


def manifest_of(
    run: Run, answers: Answers, made: Derived, unproven: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the manifest of a run after a session: what follows from its journal, and
    `unproven`."""
    lost = answers.lost_usd + unproven.get("lost_usd", 0.0)
    left = unanswered(run.instrument, answers)
    return {
        "artifact": run.instrument.name,
        "identity": run.origin.identity,
        "state": "incomplete" if left else "complete",
        "stamp": "SIMULATED" if answers.simulated else None,
        "cost": {"spent_usd": answers.charged_usd + lost, "lost_usd": lost},
        "journal": {"head_sha256": answers.head_sha256, "attempts": answers.attempts},
        "files": {
            name: sha256(content_of(name, made.files[name])) for name in made.files
        },
        "unproven": unproven,
        **made.facts,
    }


def calls_left(
    calls: Iterable[tuple[Request, int]], reads: Iterable[Read]
) -> Counter[tuple[str, str]]:
    """Return {(stage, model): the number of calls without an answer that stands}."""
    left: Counter[tuple[str, str]] = Counter()
    for request, count in calls:
        left[request.stage, request.model] += count
    for read in reads:
        if read.for_good:
            left[read.stage, read.model] -= 1
    return +left


def unanswered(instrument: Instrument, answers: Answers) -> list[str]:
    """Say what the next start would ask, as in "2 failed" and "5 not asked"; return an
    empty list if that is nothing.

    Calls that need a model which was set aside don't count as left, unless the study
    needs all its models. A run in which every model was set aside is not complete.
    """
    failed, not_asked = 0, 0
    for name, models in instrument.ids().items():
        if answers.set_aside.keys() & models and not instrument.needs_all:
            continue
        answer = answers.read.get(name)
        if answer is None:
            not_asked += 1
        elif not answer.for_good:
            failed += 1
    left = []
    if failed:
        left.append(f"{failed} failed")
    if not_asked:
        left.append(f"{not_asked} not asked")
    models = models_of(call for call, _ in instrument.calls())
    if models and answers.set_aside.keys() >= set(models):
        left.append("every model was set aside")
    return left


def derived(instrument: Instrument, answers: Answers) -> Derived:
    """Return the files and facts of a run; there is no file if nothing was answered."""
    made = instrument.derive(answers)
    for warmup in instrument.warmups():
        if warmup.request.id in answers.tries:
            answers(warmup.request)
    served = [
        {
            "model": answer.model,
            "served": answer.reply.served_model,
            "upstream": answer.reply.provider,
        }
        for answer in answers.answered()
    ]
    facts = {
        "simulated": answers.simulated,
        "retries": answers.repeated,
        "waits": answers.waits,
        "errors": answers.errors,
        "outcomes": dict(sorted(answers.outcomes(instrument.ids()).items())),
        "merkle_root": merkle_root(answers.leaves()),
        "served": tallied(served, "model", "served"),
        "upstreams": tallied(served, "model", "upstream"),
        "adapted": adapted_facts(answers),
        "set_aside": {model: why for model, (_, why) in answers.set_aside.items()},
    }
    files = made.files if served else {}
    return Derived(files, facts | dict(made.facts))


def adapted_facts(answers: Answers) -> dict[str, dict[str, Any]]:
    """Return {model: {stage: how it is asked, if not by default}}."""
    out: dict[str, dict[str, Any]] = {}
    for (model, stage), adapted in sorted(answers.adapted.items()):
        ways: dict[str, Any] = {}
        if adapted.left_out:
            ways["left_out"] = list(adapted.left_out)
        if adapted.limit:
            ways["limit"] = adapted.limit
        if adapted.room:
            ways["room"] = adapted.room
        if ways:
            out.setdefault(model, {})[stage] = ways
    return out


def tallied(rows: Iterable[Mapping[str, Any]], *fields: str) -> dict[str, Any]:
    """Count the rows by the values of some fields, in nested mappings: for the fields
    ("model", "served_model") {model: {served model: number of rows}}."""
    tree: dict[str, Any] = {}
    for row in rows:
        *places, last = [str(row[field]) for field in fields]
        node = tree
        for place in places:
            node = node.setdefault(place, {})
        node[last] = node.get(last, 0) + 1
    return _in_order(tree)


def _in_order(tree: dict[str, Any]) -> dict[str, Any]:
    ordered = {}
    for key, value in sorted(tree.items()):
        if isinstance(value, dict):
            value = _in_order(value)
        ordered[key] = value
    return ordered


def last_words(
    ended: Ended,
    *facts: str,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
    **more: Any,
) -> Done:
    """Return what a script says at the end of a run. `facts` are keys of the manifest
    that --json prints too."""
    code = COMPLETE if ended.stop is None else ended.stop.code
    manifest, path = ended.folder.manifest, ended.folder.path
    result = {key: manifest[key] for key in ("state", "simulated", *facts)}
    result["run"] = str(path)
    result["elapsed_s"] = elapsed(manifest)
    result["cost_usd"] = manifest["cost"]["spent_usd"]
    result["files"] = sorted(manifest["files"])
    lines = list(before)
    for model, why in manifest.get("set_aside", {}).items():
        lines.append(wrapped(f"set aside: {model}: {why}"))
    lines += [f"{path}: {ended.note or MEANING[code]}", *after]
    error = error_line(ended.stop)
    return Done(code, result | more, "\n".join(lines), error=error)
