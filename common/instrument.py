"""What is asked and what follows from the answers: one value to run a study by and to verify it.

    runs = [Run(origin, pilot(origin))]
    [ended] = conduct(runs, choice, settings)           # asks what is missing, writes the files
    instrument.derive(answers).files                    # the same bytes, from the journal alone

Files are made from the journal, never from the replies in hand, so a run and its verification
can't differ. Several runs are asked together: their calls take turns, each keeps its own folder.
"""

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

from common import COMPLETE, MEANING, Incomplete, OverBudget, Stop, UsageError, wire
from common.artifacts import content_of, merkle_root, sha256
from common.budget import Account, Budget
from common.cli import Choice, Done, Progress, error_line, printable
from common.drive import Chain, Drive, unanswered_calls
from common.journal import Answers, check_present, journal_file
from common.openrouter import OpenRouter, fixed, refuse, resolved
from common.rng import SeededRandom
from common.runs import Origin, RunFolder, elapsed
from common.shape import nearest
from common.wire import Exchange, Model, Request, Terms, run_of


class Derived(NamedTuple):
    """What follows from the answers: {file: content}, and facts for the manifest."""

    files: Mapping[str, bytes]
    facts: Mapping[str, Any]


class Instrument(NamedTuple):
    """A study of one origin.

    `noun`: what a call is called. `ids`: of every call; `calls`: (such a request, how many of it)
    for every kind of call. `derive` asks `answers` every request that it deals.
    """

    name: str
    noun: str
    ids: Callable[[], Iterable[str]]
    calls: Callable[[], Sequence[tuple[Request, int]]]
    chains: Callable[[], Sequence[Chain]]
    derive: Callable[[Answers], Derived]


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

    answers_later = False
    dialect = "openai"

    def __init__(self, respondents: Mapping[str, Respondent], seed: int) -> None:
        self.respondents, self.rng = respondents, SeededRandom(seed, "respondent")

    def check(self, models: list[str]) -> None:
        """UsageError where a respondent does not exist."""
        for name in models:
            if name not in self.respondents:
                raise UsageError(
                    f"models: no simulated respondent {name!r}; for a real model set "
                    "OPENROUTER_API_KEY or give --base-url; "
                    f"{nearest(name, self.respondents)}"
                )

    def model(self, name: str) -> Model:
        return FREE

    def body(self, request: Request) -> dict:
        return wire.body(request, FREE, self.dialect)

    def complete(self, request: Request) -> Exchange:
        """The respondent's text in the shape a server would send it."""
        answer = self.respondents[request.model](request, self.rng.stream(request.id))
        text, finish = answer if isinstance(answer, tuple) else (answer, "stop")
        prompt, completion = (-(-len(t) // 4) for t in (request.texts, text))
        body = {
            "id": f"sim-{request.sha256()[:12]}",
            "model": f"SIMULATED/{request.model}",
            "provider": "simulated",
            "choices": [{"finish_reason": finish, "message": {"content": text}}],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "cost": 0,
            },
        }
        return Exchange(200, {}, json.dumps(body))


# --- a session ---------------------------------------------------------------------------------


class Settings(NamedTuple):
    """How to ask, as opposed to what: nothing here changes a result."""

    name: str  # shown in the progress line
    seed: int
    limits: dict[str, int]  # calls at once, by stage
    limit_usd: float
    prices: Mapping[str, Mapping]  # dollars a million tokens, where no server tells
    assumed_price: Mapping
    deadline_s: float
    routing: Mapping
    respondents: Mapping[str, Respondent]
    terms: Terms = Terms()  # effort and upstream
    quiet: bool = False  # nothing but the result on stdout
    nested: bool = False  # part of something larger, which speaks for it
    limit_each: float | None = None  # dollars for each of several runs


def models_of(requests: Iterable[Request]) -> list[str]:
    return list(dict.fromkeys(request.model for request in requests))


def headline(
    choice: Choice,
    calls: int,
    usd: float,
    limit: float,
    assumed: list[str],
    tight: bool = False,
) -> str:
    """The first line: who answers, how many calls, what they probably cost, the limit; `tight`:
    which does not hold what the first calls may cost at most."""
    if choice.simulated:
        return f"SIMULATED respondents answer: {calls} calls, $0; models do with OPENROUTER_API_KEY"
    guess = f" (no price known for {', '.join(assumed)}: assumed)" if assumed else ""
    return printable(
        f"{choice.address}: {calls} calls, projected cost ${usd:.4f}{guess}, "
        f"limit ${limit:g}" + " (too low to reserve the first calls)" * tight
    )


# --- running it -------------------------------------------------------------------------------


def conduct(runs: Sequence[Run], choice: Choice, settings: Settings) -> list[Ended]:
    """Ask what is missing of all runs together, then derive the files of each. Raises Stop where
    nothing could begin at all."""
    with ExitStack() as stack:
        pairs = [
            (run, stack.enter_context(RunFolder(run.origin, run.instrument.name)))
            for run in runs
        ]
        left = [
            (run.instrument, folder) for run, folder in pairs if not folder.finished
        ]
        stop = _ask(left, choice, settings) if left else None
        return [
            Ended(folder, None, "already complete; nothing to do")
            if folder.finished
            else _finish(run, folder, stop)
            for run, folder in pairs
        ]


def _ask(
    left: Sequence[tuple[Instrument, RunFolder]],
    choice: Choice,
    settings: Settings,
) -> Stop | None:
    """Ask what is not in the journals yet; why that stopped. Raises before the first call where it
    must not begin."""
    instruments, folders = zip(*left, strict=True)
    calls = [call for instrument in instruments for call in instrument.calls()]
    names = [run_of(next(iter(instrument.ids()), "")) for instrument in instruments]
    runs = dict(zip(names, folders, strict=True))
    limit, limit_each = (
        (None, None)
        if choice.simulated
        else (
            settings.limit_usd,
            settings.limit_each if len(runs) > 1 else settings.limit_usd,
        )
    )
    for run in folders:
        run.begin(limit_each)
    missing = unanswered_calls(runs, calls)
    if missing and not choice.simulated:
        provider = _live(choice, settings, runs, missing)
    else:
        provider = Simulated(settings.respondents, settings.seed)
        provider.check(models_of(request for request, _ in missing))
    budget = Budget(
        limit,
        wire.as_model(settings.assumed_price),
        provider.model,
        math.fsum(run.spent for run in folders),
        {name: Account(limit_each, run.spent) for name, run in runs.items()}
        if len(runs) > 1
        else None,
    )
    progress = (lambda *_, **__: None) if settings.nested else Progress(settings.name)
    drive = Drive(provider, runs, settings.limits, budget, progress)
    drive.announce(calls)
    usd = budget.projection()
    if limit is not None and usd > limit and missing:
        raise OverBudget(
            f"projected ${usd:.4f} is over the limit ${limit:g} before the first "
            "call; give a higher --limit-usd, or fewer runs or models"
        )
    if not settings.nested:
        _say(choice, settings, drive, calls, [request for request, _ in missing])
    chains = [instrument.chains() for instrument in instruments]
    stop = drive.run(in_turns(chains, settings.seed))
    if limit is not None and budget.total.spent > limit:
        print(
            f"note: ${budget.total.spent:.6f} was charged, more than the limit ${limit:g}: a "
            "server charged more than it was told it may",
            file=sys.stderr,
        )
    progress(drive, last=True)
    for run in folders:
        check_present(run.path)
        if not drive.in_flight:
            run.inflight.clear()
    return stop


def _live(
    choice: Choice,
    settings: Settings,
    runs: Mapping[str, RunFolder],
    missing: Sequence[tuple[Request, int]],
) -> OpenRouter:
    """The client, once the server's own lists speak for the run; nothing is asked before."""
    names = models_of(request for request, _ in missing)
    first = next(iter(runs.values()))
    earlier = (first.unproven["provider"] or {"models": {}})["models"]
    client = OpenRouter(
        choice.address,
        choice.key,
        sum(settings.limits.values()),
        settings.deadline_s,
        {name: wire.as_model(entry) for name, entry in settings.prices.items()},
        settings.routing,
    )
    catalogue = client.preflight(
        names,
        settings.terms._replace(
            resolved=resolved(earlier),
            needs=("temperature",) * any(r.temperature is not None for r, _ in missing),
        ),
    )
    assumed = wire.as_model(settings.assumed_price)
    usd = sum(
        n * wire.expected_cost(r, client.model(r.model), assumed) for r, n in missing
    )
    if catalogue.limit_remaining is not None and catalogue.limit_remaining < usd:
        catalogue.problems.append(
            f"the key has ${catalogue.limit_remaining:.2f} left, and ${usd:.2f} is projected"
        )
    refuse(catalogue)
    if catalogue.dialect == "openrouter" and not fixed(
        {"identity": first.identity, "provider": {"dialect": catalogue.dialect}}
    ):
        catalogue.notes.append(
            "any upstream may answer, so nothing of this run will be called "
            "confirmatory; --pin auto keeps to one upstream a model"
        )
    for kind, lines in (("model", catalogue.facts), ("note", catalogue.notes)):
        for line in lines:
            print(f"{kind}: {printable(line)}", file=sys.stderr)
    provider = {
        "base_url": client.base_url,
        "dialect": catalogue.dialect,
        "notes": catalogue.notes,
        "models": earlier
        | {name: {"known": client.model(name)._asdict()} for name in names},
    }
    for run in runs.values():
        run.record(provider=provider)
    return client


def _say(
    choice: Choice,
    settings: Settings,
    drive: Drive,
    calls: Sequence[tuple[Request, int]],
    missing: Sequence[Request],
) -> None:
    """The first lines: who is asked, and how much is answered already."""
    unpriced = [
        name
        for name in models_of(request for request, _ in calls)
        if not drive.provider.model(name).priced
    ]
    lines = [
        headline(
            choice,
            drive.total,
            drive.budget.projection(),
            settings.limit_usd,
            unpriced,
            drive.budget.tight(missing),
        )
    ]
    if answered := sum(len(run.journal.answers) for run in drive.runs.values()):
        lines.append(
            f"resuming: {answered} of {drive.total} calls are answered already"
        )
    with suppress(
        BrokenPipeError
    ):  # nobody reads the first line; the run is made all the same
        print(
            "\n".join(lines),
            file=sys.stderr if settings.quiet else sys.stdout,
            flush=True,
        )


def in_turns(runs: Sequence[Sequence[Chain]], seed: int) -> list[Chain]:
    """The chains of several runs, which take turns in a drawn order: no run is ahead of another,
    and an outage hits all alike."""
    rng, order = SeededRandom(seed, "turns"), []
    for at in range(max(map(len, runs))):
        here = [chains[at] for chains in runs if at < len(chains)]
        order += rng.sample(here, len(here))
    return order


def _finish(run: Run, folder: RunFolder, stop: Stop | None) -> Ended:
    """Derive the run's files from its journal and close it."""
    folder.journal.close()
    answers = Answers(journal_file(folder.path), folder.identity)
    if answers.head_sha256 != folder.journal.prev:
        raise UsageError(
            f"{answers.path}: not what this process wrote; it was edited while the "
            "run was going on: restore it from a copy, or use another --run-id"
        )
    made = derived(run.instrument, answers)
    left = unanswered(answers, made.facts)
    stop = (
        (
            stop
            or Incomplete(
                f"{run.instrument.noun} left: {' and '.join(left)}; the same "
                "command asks them"
            )
        )
        if left
        else None
    )
    folder.end_session(stop)
    folder.finish(made.files, manifest_of(run, answers, made, folder.unproven))
    return Ended(folder, stop, "")


def manifest_of(
    run: Run, answers: Answers, made: Derived, unproven: Mapping
) -> dict[str, Any]:
    """The manifest of a run after a session: what follows from its journal, and `unproven`."""
    lost = unproven["lost_usd"]
    return {
        "artifact": run.instrument.name,
        "identity": run.origin.identity,
        "state": "incomplete" if unanswered(answers, made.facts) else "complete",
        "stamp": "SIMULATED" if answers.simulated else None,
        "cost": {"spent_usd": answers.charged_usd + lost, "lost_usd": lost},
        "journal": {"head_sha256": answers.head_sha256, "attempts": answers.attempts},
        "files": {
            name: sha256(content_of(name, made.files[name])) for name in made.files
        },
        "unproven": unproven,
        **made.facts,
    }


def unanswered(answers: Answers, facts: Mapping[str, Any]) -> list[str]:
    """The calls that the next start asks: "2 failed", "5 not asked"; empty where none."""
    left = {
        "failed": answers.failed(),
        "not asked": facts["outcomes"].get("not_run", 0),
    }
    return [f"{n} {what}" for what, n in left.items() if n]


def derived(instrument: Instrument, answers: Answers) -> Derived:
    """Files and facts of a run; no file where nothing was answered."""
    files, more = instrument.derive(answers)
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
    }
    return Derived(files if served else {}, facts | dict(more))


def tallied(rows: Iterable[Mapping[str, Any]], *fields: str) -> dict:
    """Nested counts: {model: {served: n}} for ("model", "served_model")."""
    tree: dict = {}
    for *places, last in sorted(
        tuple(str(row[field]) for field in fields) for row in rows
    ):
        node = tree
        for place in places:
            node = node.setdefault(place, {})
        node[last] = node.get(last, 0) + 1
    return tree


def last_words(
    ended: Ended,
    *facts: str,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
    **more: Any,
) -> Done:
    """What a script says at the end of a run; `facts`: keys of the manifest that --json has too."""
    code, manifest = ended.stop.code if ended.stop else COMPLETE, ended.folder.manifest
    result = {
        "run": str(ended.folder.path),
        "elapsed_s": elapsed(manifest),
        **{key: manifest[key] for key in ("state", "simulated", *facts)},
        "cost_usd": manifest["cost"]["spent_usd"],
        "files": sorted(manifest["files"]),
        **more,
    }
    text = [*before, f"{ended.folder.path}: {ended.note or MEANING[code]}", *after]
    return Done(code, result, "\n".join(text), error=error_line(ended.stop))
