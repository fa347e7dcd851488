"""All matches of an experiment: plan, play, resume, and leave a complete folder behind."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import NamedTuple

from pdbench.config.load import Condition, Experiment
from pdbench.config.schema import LLMSpec
from pdbench.core.logging import Progress, say
from pdbench.core.types import RunError
from pdbench.runners.match import Match, Recorded, play_recorded
from pdbench.runners.registry import check_clients
from pdbench.storage.manifest import (
    FINISHED,
    MANIFEST,
    locked,
    open_manifest,
    outcome_of,
    read_manifest,
    unfinished,
    write_manifest,
)
from pdbench.storage.rounds import (
    AGGREGATES,
    ROUNDS,
    RoundsWriter,
    check_regular,
    cut_torn_end,
    read_rounds,
    sort_rounds,
)


class Outcome(NamedTuple):
    """What a run came to. `played` counts matches of this session."""

    run_dir: Path
    manifest: dict
    played: int

    @property
    def incomplete(self) -> list[dict]:
        """The matches that ended without a valid answer."""
        return self.manifest["incomplete_matches"]


class _Stopped(Exception):
    """Another match failed, or the user interrupted: end after the round in hand."""


def plan(experiment: Experiment, replicates: int | None = None) -> list[Match]:
    """All matches in schedule order: conditions as written, replicates within."""
    run = experiment.run
    return [
        Match(
            run.run_id,
            condition,
            replicate,
            run.seed,
            run.store_prompts,
            run.store_raw_responses,
        )
        for condition in experiment.conditions
        for replicate in range(replicates or run.replicates)
    ]


def replicates_note(experiment: Experiment, replicates: int | None) -> str:
    """What asking for so many replicates does to the run that is there; "" where nothing."""
    if not (experiment.run_dir / MANIFEST).exists():
        return ""
    there, wanted = (
        read_manifest(experiment.run_dir)["replicates"],
        (replicates or experiment.run.replicates),
    )
    has = f"{experiment.run_dir} has {there} of each condition's replicates"
    if there in (0, wanted):
        return ""
    if wanted < there:
        return f"{has}; {wanted} were asked for, but none is removed"
    more = wanted - there
    return (
        f"{has}; {more} more of each are added ({more * len(experiment.conditions)} matches),"
        " the earlier ones stay as they are"
    )


def model_calls(condition: Condition, rounds: int) -> tuple[int, int]:
    """Fewest and most calls to a model (the mock included) that `rounds` rounds can take."""
    attempts = [
        a.spec.output.max_retries + 1
        for a in condition.agents
        if isinstance(a.spec, LLMSpec)
    ]
    return rounds * len(attempts), rounds * sum(attempts)


def read_recorded(
    path: Path, conditions: Sequence[str]
) -> dict[tuple[str, int], Recorded]:
    """What rounds.jsonl holds, by match; RunError at the first line that doesn't fit."""
    found: dict[tuple[str, int], Recorded] = {}
    if not path.exists():
        return found
    for number, record in enumerate(read_rounds(path), 1):
        try:
            if record["condition"] not in conditions:
                raise ValueError(f"unknown condition {record['condition']!r}")
            found.setdefault(
                (record["condition"], record["replicate"]), Recorded()
            ).add(record)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            why = f"no {error}" if isinstance(error, KeyError) else error
            raise RunError(
                f"{path}: line {number} is damaged: {why}; restore the file from a"
                " copy, or delete the run folder and run again"
            ) from None
    return found


def run_experiment(
    experiment: Experiment, replicates: int | None, jobs: int
) -> Outcome:
    """Play what is not played yet, then write aggregates and manifest.

    Raises ConfigError before anything is written, RunError (a provider that is down, a damaged
    file) with all whole rounds kept. The same call resumes.
    """
    manifest = open_manifest(experiment)
    check_clients(experiment.conditions)
    run_dir = experiment.run_dir
    with locked(run_dir):
        path = run_dir / ROUNDS
        matches = plan(experiment, replicates)
        names = [c.name for c in experiment.conditions]
        check_regular(path)
        if removed := cut_torn_end(path):
            say(f"{path}: removed {removed} bytes of an unfinished last line")
        recorded = read_recorded(path, names)
        todo = [
            m for m in matches if not recorded.setdefault(m.key, Recorded()).finished
        ]
        manifest["replicates"] = max(manifest["replicates"], len(matches) // len(names))
        finished = manifest["status"] in FINISHED and (run_dir / AGGREGATES).exists()
        if todo or not finished:
            manifest = unfinished(manifest)
            _session(run_dir, manifest, todo, recorded, jobs)
            _finish(run_dir, manifest, names)
    return Outcome(run_dir, manifest, len(todo))


def _session(
    run_dir: Path, manifest: dict, matches: list[Match], recorded: dict, jobs: int
) -> None:
    start = time.monotonic()
    unproven = manifest["unproven"]
    unproven["sessions"] += 1
    manifest["status"] = "running"
    # Aggregates of more rounds than there are tell of a run that was cut: see `read_matches`.
    (run_dir / AGGREGATES).unlink(missing_ok=True)
    write_manifest(run_dir, manifest)
    try:
        _play_all(matches, recorded, RoundsWriter(run_dir / ROUNDS), jobs)
    finally:
        unproven["elapsed_s"] = round(
            unproven["elapsed_s"] + time.monotonic() - start, 3
        )
        write_manifest(run_dir, manifest | {"status": "interrupted"})


def _play_all(
    matches: list[Match], recorded: dict, writer: RoundsWriter, jobs: int
) -> None:
    lengths = {m.key: m.length() for m in matches}
    known = sum(len(recorded[m.key].a_actions) for m in matches)
    progress = Progress(sum(lengths.values()), known, len(matches))
    stop = Event()

    def one(match: Match) -> None:
        played = len(recorded[match.key].a_actions)

        def write(line: str) -> None:
            nonlocal played
            writer.write(line)
            played += 1
            progress.add(1)
            if stop.is_set():
                raise _Stopped

        try:
            if not stop.is_set():
                play_recorded(match, recorded[match.key], write)
                progress.shorten(lengths[match.key] - played)
                progress.add(0, matches=1)
        except _Stopped:
            return
        except BaseException:
            stop.set()
            raise

    try:
        _side_by_side(one, matches, jobs, stop)
    finally:
        writer.close()
        progress.finish()


def _side_by_side(one, matches: list[Match], jobs: int, stop: Event) -> None:
    if jobs == 1:
        for match in matches:
            one(match)
        return
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(one, match) for match in matches]
        try:
            for future in futures:
                future.result()
        except BaseException:
            stop.set()
            raise


def _finish(run_dir: Path, manifest: dict, names: list[str]) -> None:
    """Play the rounds again, order them, aggregate, and only then call the run finished."""
    from pdbench.runners.replay import read_matches
    from pdbench.storage.aggregate import write_aggregates

    keys = [(name, r) for name in names for r in range(manifest["replicates"])]
    matches = read_matches(run_dir, manifest | {"status": "running"})
    sort_rounds(run_dir / ROUNDS, {key: i for i, key in enumerate(keys)})
    manifest |= outcome_of(matches, manifest["config"])
    write_aggregates(run_dir, matches, manifest["config"])
    write_manifest(run_dir, manifest)


def aggregate(run_dir: Path) -> int:
    """Write aggregates.parquet again from rounds.jsonl, played again; the number of its rows."""
    from pdbench.runners.replay import read_matches
    from pdbench.storage.aggregate import write_aggregates

    manifest = read_manifest(run_dir)
    matches = read_matches(run_dir, manifest)
    path = run_dir / AGGREGATES
    before = path.read_bytes() if path.exists() else None
    rows = write_aggregates(run_dir, matches, manifest["config"]).num_rows
    if manifest["status"] in FINISHED and before not in (None, path.read_bytes()):
        say(f"note: {path} was not what the rounds give; it is written anew")
    return rows
