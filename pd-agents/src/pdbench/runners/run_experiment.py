"""All matches of an experiment: plan, play, resume, and leave a complete folder behind."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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
            with _session(run_dir, manifest, budget):
                Room(run_dir / ROUNDS, recorded, budget).play(todo, jobs)
                _finish(run_dir, manifest)
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
        budget.spent_usd += match.cost_usd
        budget.match.dearest_usd = max(budget.match.dearest_usd, match.cost_usd)
        dearest = max(budget.round.dearest_usd, match.dearest_round_usd)
        budget.round.dearest_usd = dearest
    budget.spent_usd = max(budget.spent_usd, manifest.spent_usd)
    return budget


@contextmanager
def _session(run_dir: Path, manifest: Manifest, budget: Budget) -> Iterator[None]:
    """Between a manifest that says running and one that says how it ended."""
    start = time.monotonic()
    manifest.sessions += 1
    manifest.status = "running"
    write_manifest(run_dir, manifest)
    try:
        yield
    except BaseException:
        manifest.status = "interrupted"
        raise
    finally:
        manifest.spent_usd = budget.spent_usd
        manifest.elapsed_s = round(manifest.elapsed_s + time.monotonic() - start, 3)
        write_manifest(run_dir, manifest)


class Room:
    """Where matches are played side by side into one file, until one fails or the user stops."""

    def __init__(
        self, path: Path, recorded: dict[Key, MatchRounds], budget: Budget
    ) -> None:
        self._writer = RoundsWriter(path)
        self._recorded, self._budget, self._stop = recorded, budget, Event()

    def play(self, matches: list[Match], jobs: int) -> None:
        """Play all matches, `jobs` at a time; the first error ends the others after their round."""
        self._progress = Progress(len(matches))
        try:
            with ThreadPoolExecutor(jobs) as pool:
                futures = [pool.submit(self._play_match, match) for match in matches]
                try:
                    for future in futures:
                        future.result()
                finally:
                    self._stop.set()
        finally:
            self._writer.close()

    def _play_match(self, match: Match) -> None:
        recorded = self._recorded[match.key]
        try:
            self._play_rounds(match, recorded)
        except PdbenchError as error:
            self._stop.set()
            raise type(error)(f"{recorded.name}: {error}") from None

    def _play_rounds(self, match: Match, recorded: MatchRounds) -> None:
        """Play and write the rounds that are missing."""
        if self._stop.is_set():
            return
        self._budget.open(self._budget.match)
        cost = recorded.cost_usd
        for played in play(match, recorded, self._budget):
            line = round_line(match.run, match.condition, match.replicate, played)
            self._writer.write(line)
            cost += played.cost_usd
            self._progress.count(rounds=1)
            if self._stop.is_set():
                return
        self._budget.close(self._budget.match, cost)
        self._progress.count(matches=1)


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
    manifest.model_calls = sum(match.calls for match in run.matches)
    write_aggregates(run)
    manifest.status = "incomplete" if incomplete else "complete"


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
