"""All matches of an experiment: plan, play, resume, and leave a complete folder behind."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import NamedTuple

from pdbench.config.load import Experiment
from pdbench.core.logging import Progress, say
from pdbench.core.types import PdbenchError, RunError
from pdbench.runners.budget import Budget
from pdbench.runners.match import Match, play
from pdbench.runners.registry import check_policies, check_ready
from pdbench.storage.aggregate import AGGREGATES, read_run, write_aggregates
from pdbench.storage.manifest import (
    Manifest,
    locked,
    open_manifest,
    read_manifest,
    write_manifest,
)
from pdbench.storage.rounds import (
    ROUNDS,
    Key,
    MatchRounds,
    RoundsWriter,
    cut_torn_end,
    read_matches,
)
from pdbench.storage.schema import round_line


class Outcome(NamedTuple):
    """What a run came to. `played` counts matches of this session."""

    run_dir: Path
    manifest: Manifest
    played: int


def plan(experiment: Experiment, replicates: int | None = None) -> list[Match]:
    """All matches in schedule order: conditions as written, replicates within."""
    count = replicates if replicates else experiment.run.replicates
    matches = []
    for condition in experiment.conditions:
        for replicate in range(count):
            matches.append(Match(experiment.run, condition, replicate))
    return matches


def replicates_note(experiment: Experiment, replicates: int | None) -> str | None:
    """What asking for so many replicates does to the run that is there; None where nothing."""
    manifest = read_manifest(experiment.run_dir)
    if manifest is None or not manifest.replicates:
        return None
    wanted = replicates if replicates else experiment.run.replicates
    there = manifest.replicates
    has = f"{experiment.run_dir} has {there} replicates of each condition"
    if wanted < there:
        return f"{has}; {wanted} were asked for, but none is removed"
    if wanted > there:
        return f"{has}; {wanted - there} more of each are added"
    return None


def run_experiment(
    experiment: Experiment, replicates: int | None = None, jobs: int = 1
) -> Outcome:
    """Play what is not played yet, then write aggregates and manifest.

    Raises ConfigError before anything is written; RunError (a server that is down, a damaged
    file, the limit reached) with all whole rounds kept. The same call resumes.
    """
    check_policies(experiment)
    check_ready(experiment)
    manifest = open_manifest(experiment)
    run_dir = experiment.run_dir
    with locked(run_dir):
        recorded = _recorded(run_dir / ROUNDS)
        todo = []
        for match in plan(experiment, replicates):
            found = recorded.setdefault(match.key, MatchRounds(*match.key))
            if found.missing:
                raise RunError(
                    f"{run_dir / ROUNDS}: {found.name}: round_index {found.missing[0]} is"
                    " missing; restore the file from a copy, or delete the run folder"
                )
            if found.final is not True:
                todo.append(match)
        count = replicates if replicates else experiment.run.replicates
        manifest.replicates = max(manifest.replicates, count)
        whole = manifest.finished and (run_dir / AGGREGATES).exists()
        if todo or not whole:
            budget = _budget(experiment, manifest, recorded)
            _session(
                run_dir,
                manifest,
                budget,
                lambda: _play(run_dir, todo, recorded, budget, jobs),
            )
    return Outcome(run_dir, manifest, len(todo))


def _recorded(path: Path) -> dict[Key, MatchRounds]:
    removed = cut_torn_end(path)
    if removed:
        say(f"{path}: removed {removed} bytes of an unfinished last line")
    if not path.exists():
        return {}
    return read_matches(path)[0]


def _budget(
    experiment: Experiment, manifest: Manifest, recorded: dict[Key, MatchRounds]
) -> Budget:
    """Money as earlier sessions left it; calls of a round that was never written are in the manifest."""
    budget = Budget(experiment.run.limit_usd)
    for match in recorded.values():
        cost = match.cost_usd if match.cost_usd else 0.0
        budget.spent_usd += cost
        budget.match.dearest_usd = max(budget.match.dearest_usd, cost)
        dearest = max(budget.round.dearest_usd, match.dearest_round_usd)
        budget.round.dearest_usd = dearest
    budget.spent_usd = max(budget.spent_usd, manifest.spent_usd)
    return budget


def _session(
    run_dir: Path, manifest: Manifest, budget: Budget, work: Callable[[], None]
) -> None:
    """Work between a manifest that says running and one that says how it ended."""
    start = time.monotonic()
    manifest.sessions += 1
    manifest.status = "running"
    write_manifest(run_dir, manifest)
    try:
        work()
        _finish(run_dir, manifest)
    except BaseException:
        manifest.status = "interrupted"
        raise
    finally:
        manifest.spent_usd = budget.spent_usd
        manifest.elapsed_s = round(manifest.elapsed_s + time.monotonic() - start, 3)
        write_manifest(run_dir, manifest)


def _play(
    run_dir: Path,
    matches: list[Match],
    recorded: dict[Key, MatchRounds],
    budget: Budget,
    jobs: int,
) -> None:
    writer = RoundsWriter(run_dir / ROUNDS)
    progress, stop = Progress(len(matches)), Event()

    def one(match: Match) -> None:
        if stop.is_set():
            return
        try:
            _play_match(match, recorded[match.key], budget, writer, progress, stop)
        except BaseException:
            stop.set()
            raise

    try:
        with ThreadPoolExecutor(jobs) as pool:
            futures = [pool.submit(one, match) for match in matches]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                stop.set()
                raise
    finally:
        writer.close()


def _play_match(
    match: Match,
    recorded: MatchRounds,
    budget: Budget,
    writer: RoundsWriter,
    progress: Progress,
    stop: Event,
) -> None:
    """Play and write a match's missing rounds, until another match fails or the user stops."""
    try:
        budget.open(budget.match)
        cost = recorded.cost_usd if recorded.cost_usd else 0.0
        for played in play(match, recorded, budget):
            writer.write(
                round_line(match.run, match.condition, match.replicate, played)
            )
            cost += played.cost_usd
            progress.count(rounds=1)
            if stop.is_set():
                return
        budget.close(budget.match, cost)
        progress.count(matches=1)
    except PdbenchError as error:
        raise type(error)(f"{recorded.name}: {error}") from None


def _finish(run_dir: Path, manifest: Manifest) -> None:
    """Aggregate what the file now holds, and only then call the run finished."""
    run = read_run(run_dir)
    incomplete = [match for match in run.matches if match.status == "incomplete"]
    manifest.incomplete_matches = [_ending(match) for match in incomplete]
    manifest.matches = {
        "total": len(run.matches),
        "complete": sum(match.status == "complete" for match in run.matches),
        "incomplete": len(incomplete),
    }
    manifest.rounds = sum(match.rounds for match in run.matches)
    manifest.model_calls = sum(_calls(match) for match in run.matches)
    write_aggregates(run)
    manifest.status = "incomplete" if incomplete else "complete"


def _calls(match: MatchRounds) -> int:
    calls = [seen.calls for seen in match.seats.values()]
    return sum(each for each in calls if each is not None)


def _ending(match: MatchRounds) -> dict:
    """Where and how an incomplete match ended."""
    line = match.invalid
    assert line
    ending = {
        "condition": match.condition,
        "replicate": match.replicate,
        "round_index": line["round_index"],
    }
    for seat, attempts in line.get("attempts", {}).items():
        last = attempts[-1]
        if last["action"] is None:
            ending["agent"] = line[seat]
            ending["problem"] = last["problem"]
    return ending
