"""A run's folder: its name, its lock, its manifest; created whole, resumed, never mixed up.

    with RunFolder(Origin(out / run_id, identity, prompts), instrument) as run:
        if run.finished: ...                     # nothing to do
        run.begin(limit_usd)                     # then ask, with run.journal and run.inflight
        run.finish(files, manifest)

`identity` (configuration, hashes of prompts, provider) is what makes two runs the same study. A
folder made under another identity is refused, with the keys that differ.
"""

import fcntl
import json
import os
import platform
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from common import VERSION, Incomplete, Stop, UsageError, shape
from common.artifacts import (
    canonical_json,
    json_file,
    sha256,
    sha256_in,
    sweep,
    write_atomic,
)
from common.journal import AMOUNT, JOURNALS, InFlight, Journal
from common.shape import (
    OBJECT,
    RESTORE,
    TEXT,
    TIME,
    list_of,
    map_of,
    maybe,
    record,
    sometimes,
)
from common.wire import Model

ROOT = Path(__file__).resolve().parents[1]
PROMPTS = "prompts.json"  # in a run's folder: the texts that it was made with
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def check_run_id(run_id: str, source: str = "--run-id") -> str:
    """`run_id` where it can be a folder's name; UsageError otherwise."""
    if not RUN_ID.fullmatch(run_id) or ".." in run_id:
        raise UsageError(
            f"{source}: {run_id!r} can't be a folder's name; use letters, digits, "
            "'.', '_' and '-' (no '/' and no '..'), at most 100"
        )
    return run_id


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """{"a.b": leaf} of nested objects; lists are leaves."""
    if not isinstance(value, Mapping):
        return {prefix: value}
    out: dict[str, Any] = {}
    for key, item in value.items():
        out |= flat(item, f"{prefix}.{key}" if prefix else key)
    return out


def changes(before: Mapping, after: Mapping) -> list[tuple[str, str, str]]:
    """(key, old value, new value) of each leaf that differs."""
    old, new = flat(before), flat(after)
    return [
        (key, shape.shown(old.get(key)), shape.shown(new.get(key)))
        for key in sorted(old.keys() | new.keys())
        if canonical_json(old.get(key)) != canonical_json(new.get(key))
    ]


@cache
def code_hashes() -> dict[str, str]:
    """{file: SHA-256} of every module and script of the project, for the manifest.

    Taken once in a process, since that is the code it has loaded.
    """
    files = [
        *ROOT.glob("*.py"),
        *(
            path
            for room in ("common", "show", "stats", "cirrus", "urrp")
            for path in (ROOT / room).rglob("*.py")
        ),
    ]
    return {
        str(path.relative_to(ROOT)).replace(os.sep, "/"): sha256(path.read_bytes())
        for path in sorted(files)
    }


class Origin(NamedTuple):
    """What a run is made of before anything is asked. `prompts`: {path: text}, hashed in the
    identity and kept in the folder; `code`: {file: SHA-256} of what derives its files, where that
    is not the code at work."""

    folder: Path
    identity: Mapping[str, Any]
    prompts: Mapping[str, str]
    code: Mapping[str, str] | None = None


class RunFolder:
    """The folder of one run. One process at a time; leaving a new run unused removes it."""

    def __init__(self, origin: Origin, instrument: str) -> None:
        self.origin, self.path = origin, Path(origin.folder)
        check_run_id(self.path.name)
        self.manifest_path = self.path / "manifest.json"
        self.instrument, self.identity = (
            instrument,
            json.loads(json.dumps(origin.identity)),
        )
        self.journal: Journal | None = None

    def __enter__(self) -> "RunFolder":
        try:
            self._made = [p for p in (self.path, *self.path.parents) if not p.exists()]
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = lock(self.path)
            try:
                self._open()
            except BaseException:
                self._leave()
                raise
        except OSError as error:
            raise UsageError(
                f"{error.filename or self.path}: {error.strerror}; "
                "choose a folder that can be written with --out"
            ) from None
        return self

    def _open(self) -> None:
        sweep(self.path)
        self.manifest = read_manifest(self.path) if self.manifest_path.exists() else {}
        journals = [
            self.path / name for name in JOURNALS if (self.path / name).exists()
        ]
        # A kill can fall between the first, still empty journal and its manifest.
        if not self.manifest and any(path.stat().st_size for path in journals):
            raise UsageError(
                f"{self.path}: a journal without its manifest.json; restore it, "
                "or use another --run-id"
            )
        if self.manifest and (
            differ := changes(self.manifest["identity"], self.identity)
        ):
            words = "; ".join(f"{key}: {old} → {new}" for key, old, new in differ[:4])
            more = f" (and {len(differ) - 4} more)" if len(differ) > 4 else ""
            raise UsageError(
                f"{self.path} was made by another configuration: {words}{more}; "
                "use another --run-id or --out"
            )
        if self.manifest.get("state") == "complete" and not journals:
            raise UsageError(
                f"{self.path}: complete, but journal.jsonl.gz is gone; restore it, "
                "or use another --run-id"
            )  # asking anew would pick other answers
        self.finished = self.manifest.get("state") == "complete" and all(
            sha256_in(self.path, name) == digest
            for name, digest in self.manifest["files"].items()
        )
        self.inflight = InFlight(self.path)
        self.started = time.monotonic()

    def begin(self, limit_usd: float | None) -> None:
        """Open the journal and write the manifest as `running`: from here on there is a run."""
        write_atomic(self.path / PROMPTS, json_file(self.origin.prompts))
        self.journal = Journal(self.path, self.identity)
        lost = self.inflight.lost(self.journal.attempts)
        before = self.manifest.get("unproven", {})
        sessions = before.get("sessions", [])
        if sessions and sessions[-1]["ended"] is None:
            started = sessions[-1]["started"]
            ended = max(started, self.journal.last_at)
            sessions[-1] |= {
                "ended": ended,
                "ended_by": "killed",
                "elapsed_s": (
                    datetime.fromisoformat(ended) - datetime.fromisoformat(started)
                ).total_seconds(),
            }
        sessions.append(
            {
                "started": _now(sessions[-1]["ended"] if sessions else ""),
                "ended": None,
                "ended_by": None,
                "elapsed_s": None,
                "python": platform.python_version(),
            }
        )
        self.unproven = (
            {"provider": None}
            | before
            | {
                "version": VERSION,
                "code": code_hashes(),
                "platform": platform.platform(),
                "sessions": sessions,
                "ended_by": "",
                "limit_usd": limit_usd,
                "lost_usd": before.get("lost_usd", 0.0) + lost,
            }
        )
        self.manifest = {
            "artifact": self.instrument,
            "state": "running",
            "identity": self.identity,
            "files": self.manifest.get("files", {}),
            "unproven": self.unproven,
        }
        self._write_manifest()
        self.inflight.clear()

    def record(self, **facts: Any) -> None:
        """Put what nothing proves into the manifest at once: a kill must not lose what a resume
        goes by."""
        self.unproven |= facts
        self._write_manifest()

    @property
    def spent(self) -> float:
        """Dollars charged so far, with the calls that a kill may have lost."""
        return self.journal.spent + self.unproven["lost_usd"]

    def end_session(self, stop: Stop | None) -> None:
        """Note when and why this session ended."""
        self.unproven["ended_by"] = "" if stop is None else str(stop)
        session = self.unproven["sessions"][-1]
        session |= {
            "ended": _now(session["started"]),
            "ended_by": type(stop).__name__ if stop else "complete",
            "elapsed_s": round(time.monotonic() - self.started, 2),
        }

    def finish(self, files: Mapping[str, bytes], manifest: Mapping[str, Any]) -> None:
        """Write the derived files, pack the journal of a complete run, close the manifest."""
        try:
            for name, data in files.items():
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                write_atomic(self.path / name, data)
            self.journal.close()
            if manifest["state"] == "complete":
                self.journal.pack()
            self.manifest = dict(manifest)
            self._write_manifest()
        except OSError as error:
            raise Incomplete(
                f"{error.filename or self.path}: {error.strerror}; free space there, "
                "then give the same command: the journal is complete"
            ) from None

    def __exit__(self, kind, error, trace) -> None:
        if self.journal is not None:
            with suppress(Stop):
                self.journal.close()
        self._leave()

    def _leave(self) -> None:
        """Drop the lock; take back a folder in which nothing was ever asked."""
        used = (self.journal and self.journal.attempts) or (
            self.path / "inflight.jsonl"
        ).exists()
        if self._made and not used:
            for name in ("manifest.json", "journal.jsonl", PROMPTS):
                with suppress(OSError):
                    (self.path / name).unlink()
            for made in self._made:
                with suppress(OSError):
                    made.rmdir()
        os.close(self._lock)

    def _write_manifest(self) -> None:
        write_atomic(self.manifest_path, json_file(self.manifest))


def stored_prompts(folder: Path, recorded: Mapping[str, str]) -> dict[str, str]:
    """{path: text} of the prompts that a run was made with; UsageError where they are not those
    that its identity has `recorded`, by hash."""
    path = folder / PROMPTS
    texts = shape.read(path, map_of(TEXT, "file"), RESTORE)
    if differ := changes(recorded, {name: sha256(texts[name]) for name in texts}):
        raise UsageError(
            f"{path}: {differ[0][0]} is not the text that the run was made with; "
            f"{RESTORE}"
        )
    return texts


def rewrite(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put derived files in the place of older ones. One process at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = lock(folder)
    try:
        for name, data in files.items():
            write_atomic(folder / name, data)
    finally:
        os.close(handle)


def elapsed(manifest: Mapping[str, Any]) -> float:
    """Seconds that all sessions took."""
    return sum(
        session["elapsed_s"] or 0 for session in manifest["unproven"]["sessions"]
    )


def _now(earliest: str) -> str:
    """The clock, which may have been set back meanwhile."""
    return max(earliest, time.strftime(shape.UTC, time.gmtime()))


COUNT = shape.whole(0)
KNOWN = shape.plain(
    "what is known of a model",
    lambda v: isinstance(v, dict) and v.keys() == set(Model._fields),
)
IDENTITY = record(
    config=OBJECT,
    prompts=map_of(TEXT, "file"),
    provider=TEXT,
    routing=sometimes(OBJECT),
    pin=sometimes(TEXT),
    prereg_sha256=sometimes(maybe(TEXT)),
    policies=sometimes(map_of(TEXT, "run")),
)
UNPROVEN = record(
    version=TEXT,
    code=map_of(TEXT, "file"),
    platform=TEXT,
    ended_by=TEXT,
    lost_usd=AMOUNT,
    limit_usd=maybe(AMOUNT),
    sessions=list_of(
        record(
            started=TIME,
            ended=maybe(TIME),
            ended_by=maybe(TEXT),
            elapsed_s=maybe(AMOUNT),
            python=TEXT,
        )
    ),
    provider=maybe(
        record(
            base_url=TEXT,
            dialect=TEXT,
            notes=list_of(TEXT),
            models=map_of(record(known=KNOWN), "name"),
        )
    ),
)
ALWAYS = {
    "artifact": TEXT,
    "identity": IDENTITY,
    "files": map_of(TEXT, "name"),
    "unproven": UNPROVEN,
}
RUNNING = record(state=shape.enum("running"), **ALWAYS)
# What follows from the journal and `unproven`; an instrument adds what it counts.
ENDED = record(
    state=shape.enum("complete", "incomplete"),
    stamp=maybe(shape.enum("SIMULATED")),
    simulated=shape.FLAG,
    cost=record(spent_usd=AMOUNT, lost_usd=AMOUNT),
    merkle_root=TEXT,
    journal=record(head_sha256=TEXT, attempts=COUNT),
    retries=COUNT,
    waits=COUNT,
    statuses=OBJECT,
    pilot=sometimes(shape.FLAG),
    prereg_sha256=sometimes(maybe(TEXT)),
    **dict.fromkeys(("errors", "outcomes", "served", "upstreams"), OBJECT),
    **ALWAYS,
)
MANIFEST = shape.Kind(
    lambda value: (
        RUNNING
        if isinstance(value, dict) and value.get("state") == "running"
        else ENDED
    ).fault(value)
)


def read_manifest(folder: Path) -> dict[str, Any]:
    """manifest.json of a run; UsageError where it is none."""
    return shape.read(Path(folder) / "manifest.json", MANIFEST, RESTORE)


def lock(folder: Path) -> int:
    """An advisory lock that the system drops with the process, however that ends."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise UsageError(
            f"{folder}: another process is working on this run; "
            "wait for it, or use another folder"
        ) from None
    return handle
