"""What is asked and what follows from the answers: one value to run a study by and to verify it.

    runs = [Run(origin, pilot(origin))]
    [ended] = conduct(runs, choice, settings)           # asks what is missing, writes the files
    instrument.derive(answers).files                    # the same bytes, from the journal alone

Files are made from the journal, never from the replies in hand, so a run and its verification
can't differ. Several runs are asked together: their calls take turns, each keeps its own folder.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from common import COMPLETE, MEANING, Incomplete, Stop, UsageError
from common.cli import Choice, Done, one_line
from common.drive import After, Chain
from common.journal import Answers, journal_file, merkle_root
from common.rng import SeededRandom
from common.runs import Origin, RunFolder
from common.session import Preflight, Session, Settings
from common.wire import Request, run_of


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
