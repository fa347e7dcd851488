"""Keep a run's folder: its name, its lock and its manifest. The folder is created as a
whole, can be resumed, and is never mixed with another run.

    with RunFolder(Origin(out / run_id, identity, prompts), instrument) as run:
        if run.finished: ...                     # nothing to do
        run.begin(limit_usd)                     # then ask, with run.journal
        run.finish(files, manifest)

`identity` (configuration, hashes of prompts, provider) is what makes two runs the same
study. A folder that was made under another identity is refused, and the message names
the keys that differ.
"""

import json
import os
import platform
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

try:
    import fcntl
except ImportError:  # no Unix: the lock is a file
    fcntl = None  # type: ignore[assignment]

from common import VERSION, Incomplete, Stop, UsageError, shape
from common.artifacts import (
    canonical_json,
    json_file,
    sha256,
    sha256_in,
    sweep,
    write_atomic,
)
from common.journal import AMOUNT, JOURNALS, Journal, Known
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
from common.wire import FREE, Model

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("common", "show", "stats", "cirrus", "urrp")
PROMPTS = "prompts.json"  # in a run's folder: the texts that it was made with
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
NAMED_CHANGES = 4  # keys that a refusal to resume names


def check_run_id(run_id: str, source: str = "--run-id") -> str:
    """Return `run_id` if it can be a folder's name, or raise UsageError."""
    if not RUN_ID.fullmatch(run_id) or ".." in run_id:
        raise UsageError(
            f"{source}: {run_id!r} can't be a folder's name; use letters, digits, '.', '_' "
            "and '-' (no '/' and no '..'), at most 100"
        )
    return run_id


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """Return nested objects as {"a.b": leaf}; lists are leaves."""
    if not isinstance(value, Mapping):
        return {prefix: value}
    out: dict[str, Any] = {}
    for key, item in value.items():
        out |= flat(item, f"{prefix}.{key}" if prefix else key)
    return out


def changes(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[tuple[str, str, str]]:
    """Return (key, old value, new value) of each leaf that differs."""
    old, new = flat(before), flat(after)
    found = []
    for key in sorted(old.keys() | new.keys()):
        was, now = old.get(key), new.get(key)
        if canonical_json(was) != canonical_json(now):
            found.append((key, shape.shown(was), shape.shown(now)))
    return found


@cache
def code_hashes() -> dict[str, str]:
    """Return {file: SHA-256} of every module and script of the project, for the
    manifest.

    The hashes are taken once in a process, because they must be those of the code it
    loaded.
    """
    files = list(ROOT.glob("*.py"))
    for room in ROOMS:
        files += (ROOT / room).rglob("*.py")
    hashes = {}
    for path in sorted(files):
        name = path.relative_to(ROOT).as_posix()
        hashes[name] = sha256(path.read_bytes())
    return hashes


class Origin(NamedTuple):
    """What a run is made of before anything is asked.

    `prompts` is {path: text}; their hashes are in the identity, and the texts are kept
    in the folder. `code` is {file: SHA-256} of the code that derived the run's files, or
    None for the code of this process.
    """

    folder: Path
    identity: Mapping[str, Any]
    prompts: Mapping[str, str]
    code: Mapping[str, str] | None = None


def known_of(identity: Mapping[str, Any], unproven: Mapping[str, Any]) -> Known:
    """Return what a run's manifest says was known of the models."""
    if identity["provider"] == "simulated":
        return Known(defaultdict(lambda: FREE), "openai")
    provider = unproven["provider"]
    if provider is None:
        raise UsageError(
            f"manifest.json: unproven.provider is missing, and {identity['provider']} was "
            f"asked; {RESTORE}"
        )
    models = {}
    for name, entry in provider["models"].items():
        models[name] = _model(entry["known"])
    return Known(models, provider["dialect"], identity.get("upstream"))


def _model(known: Mapping[str, Any]) -> Model:
    """Return a model as a manifest describes it; manifests of version 0.1 are read
    too."""
    fields: dict[str, Any] = {}
    for name in known.keys() & set(Model._fields):
        value = known[name]
        fields[name] = tuple(value) if isinstance(value, list) else value
    return Model(**fields)


class RunFolder:
    """The folder of one run, which one process at a time may use. A new folder in which
    nothing was asked is removed at the end."""

    def __init__(self, origin: Origin, instrument: str) -> None:
        self.origin, self.path = origin, Path(origin.folder)
        check_run_id(self.path.name)
        self.manifest_path = self.path / "manifest.json"
        self.instrument = instrument
        self.identity = json.loads(json.dumps(origin.identity))
        self._journal: Journal | None = None

    def __enter__(self) -> "RunFolder":
        try:
            folders = (self.path, *self.path.parents)
            self._made = [folder for folder in folders if not folder.exists()]
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = locked(self.path)
            self._lock.__enter__()
            try:
                self._open()
            except BaseException:
                self._leave()
                raise
        except OSError as error:
            raise UsageError(
                f"{error.filename or self.path}: {error.strerror}; choose a folder that can "
                "be written with --out"
            ) from None
        return self

    def _open(self) -> None:
        sweep(self.path)
        self.manifest = {}
        if self.manifest_path.exists():
            self.manifest = read_manifest(self.path)
        self._check_journal()
        if self.manifest:
            self._check_identity()
        self.started = time.monotonic()

    def _check_journal(self) -> None:
        paths = [self.path / name for name in JOURNALS]
        journals = [path for path in paths if path.exists()]
        # A kill can fall between the first, still empty journal and its manifest.
        written = any(path.stat().st_size for path in journals)
        if written and not self.manifest:
            raise UsageError(
                f"{self.path}: a journal without its manifest.json; restore it, or use "
                "another --run-id"
            )
        if self.manifest.get("state") == "complete" and not journals:
            raise UsageError(  # other answers would take their place
                f"{self.path}: complete, but journal.jsonl.gz is gone; restore it, or use "
                "another --run-id"
            )

    def _check_identity(self) -> None:
        differ = changes(self.manifest["identity"], self.identity)
        if not differ:
            return
        named = []
        for key, old, new in differ[:NAMED_CHANGES]:
            named.append(f"{key}: {old} → {new}")
        more = len(differ) - len(named)
        if more:
            named[-1] += f" (and {more} more)"
        raise UsageError(
            f"{self.path} was made by another configuration: {'; '.join(named)}; use "
            "another --run-id or --out"
        )

    @property
    def finished(self) -> bool:
        """Whether there is nothing to do: all calls are answered and every file is
        there. A run with a model that was set aside is not finished: that model is
        tried again."""
        if self.manifest.get("state") != "complete" or self.manifest.get("set_aside"):
            return False
        files: dict[str, str] = self.manifest["files"]
        return all(sha256_in(self.path, name) == files[name] for name in files)

    def begin(self, limit_usd: float | None) -> None:
        """Open the journal and write the manifest as `running`; from now on the run
        exists."""
        write_atomic(self.path / PROMPTS, json_file(self.origin.prompts))
        before = self.manifest.get("unproven", {})
        known = None
        if before.get("provider") is not None:
            known = known_of(self.identity, before)
        self._journal = Journal(self.path, self.identity, known)
        self.unproven = {
            "provider": before.get("provider"),
            "version": VERSION,
            "code": code_hashes(),
            "platform": platform.platform(),
            "sessions": self._sessions(before.get("sessions", [])),
            "ended_by": "",
            "limit_usd": limit_usd,
        }
        self.manifest = {
            "artifact": self.instrument,
            "state": "running",
            "identity": self.identity,
            "files": self.manifest.get("files", {}),
            "unproven": self.unproven,
        }
        self._write_manifest()

    @property
    def begun(self) -> bool:
        return self._journal is not None

    @property
    def journal(self) -> Journal:
        """Return the journal, which is open after `begin`."""
        assert self._journal is not None
        return self._journal

    def _sessions(self, earlier: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the earlier sessions and, as the last, this one. An earlier one without
        an end was killed, and ended with the journal's last line."""
        ended = ""
        for session in earlier:
            if session["ended"] is None:
                started = session["started"]
                ended = max(started, self.journal.past.last_at)
                session["ended"], session["ended_by"] = ended, "killed"
                session["elapsed_s"] = _seconds_between(started, ended)
            ended = session["ended"]
        now = {"started": _now(ended), "python": platform.python_version()}
        return [*earlier, now | dict.fromkeys(("ended", "ended_by", "elapsed_s"))]

    def record(self, **facts: Any) -> None:
        """Write facts that nothing else proves into the manifest at once, since a
        resume needs them even after a kill."""
        self.unproven |= facts
        self._write_manifest()

    @property
    def spent(self) -> float:
        """Return the dollars charged so far, with the calls that a kill may have
        lost."""
        return self.journal.past.charged_usd + self.journal.past.lost_usd

    def end_session(self, stop: Stop | None) -> None:
        """Note when and why this session ended."""
        self.unproven["ended_by"] = "" if stop is None else str(stop)
        session = self.unproven["sessions"][-1]
        session["ended"] = _now(earliest=session["started"])
        session["ended_by"] = "complete" if stop is None else type(stop).__name__
        session["elapsed_s"] = round(time.monotonic() - self.started, 2)

    def finish(self, files: Mapping[str, bytes], manifest: Mapping[str, Any]) -> None:
        """Write the derived files, pack the journal if the run is complete, and write
        the manifest."""
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
                f"{error.filename or self.path}: {error.strerror}; free space there, then "
                "give the same command: the journal is complete"
            ) from None

    def __exit__(self, *_: object) -> None:
        if self.begun:
            with suppress(Stop):
                self.journal.close()
        self._leave()

    def _leave(self) -> None:
        """Release the lock, and remove the folder if nothing was ever asked in it."""
        used = self.begun and self.journal.size > 0
        if self._made and not used:
            for name in ("manifest.json", JOURNALS[0], PROMPTS):
                with suppress(OSError):
                    (self.path / name).unlink()
        self._lock.__exit__(None, None, None)
        if self._made and not used:
            for made in self._made:
                with suppress(OSError):
                    made.rmdir()

    def _write_manifest(self) -> None:
        write_atomic(self.manifest_path, json_file(self.manifest))


def stored_prompts(folder: Path, recorded: Mapping[str, str]) -> dict[str, str]:
    """Return {path: text} of the prompts that a run was made with. Raise UsageError if
    their hashes are not those `recorded` in the identity."""
    path = folder / PROMPTS
    texts: dict[str, str] = shape.read(path, map_of(TEXT, "file"), RESTORE)
    hashes = {name: sha256(text) for name, text in texts.items()}
    differ = changes(recorded, hashes)
    if differ:
        first, *_ = differ[0]
        raise UsageError(
            f"{path}: {first} is not the text that the run was made with; {RESTORE}"
        )
    return texts


def rewrite(folder: Path, files: Mapping[str, bytes]) -> None:
    """Replace derived files by new ones. One process at a time may do so."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        for name, data in files.items():
            write_atomic(folder / name, data)


def elapsed(manifest: Mapping[str, Any]) -> float:
    """Return the seconds that all sessions took together."""
    sessions = manifest["unproven"]["sessions"]
    return sum(session["elapsed_s"] or 0 for session in sessions)


def _seconds_between(start: str, end: str) -> float:
    took = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    return took.total_seconds()


def _now(earliest: str) -> str:
    """Return the time by the clock, but never one before `earliest`: the clock may have
    been set back."""
    return max(earliest, time.strftime(shape.UTC, time.gmtime()))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold an advisory lock, which the system drops when the process ends. Where the
    system has no such lock, use a file, which a killed process leaves behind. Raise
    UsageError if another process holds the lock."""
    handle = _lock(folder)
    try:
        yield
    finally:
        os.close(handle)
        if fcntl is None:
            (folder / LOCK).unlink(missing_ok=True)


LOCK = ".lock"


def _lock(folder: Path) -> int:
    if fcntl is None:
        try:
            return os.open(folder / LOCK, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError:
            raise UsageError(
                f"{folder / LOCK}: another process is working on this run; wait for it, or "
                "remove the file where none is"
            ) from None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise UsageError(
            f"{folder}: another process is working on this run; wait for it, or use another "
            "folder"
        ) from None
    return handle


# --- the manifest ------------------------------------------------------------------------------

COUNT = shape.whole(0)
# Version 0.1 knew of an upstream, and of no effort of the model's own.
MODEL_FIELDS = {*Model._fields, "upstream"}
KNOWN = shape.plain(
    "what is known of a model",
    lambda value: (
        isinstance(value, dict)
        and MODEL_FIELDS - {"default_effort"} <= {*value, "upstream"}
        and value.keys() <= MODEL_FIELDS
    ),
)
IDENTITY = record(
    config=OBJECT,
    prompts=map_of(TEXT, "file"),
    provider=TEXT,
    upstream=sometimes(TEXT),
    respondents=sometimes(map_of(TEXT, "file")),
    routing=sometimes(OBJECT),  # of version 0.1
    prereg_sha256=sometimes(maybe(TEXT)),
    plan=sometimes(record(name=TEXT, runs=list_of(TEXT))),
    policies=sometimes(map_of(TEXT, "run")),
)
SESSION = record(
    started=TIME,
    ended=maybe(TIME),
    ended_by=maybe(TEXT),
    elapsed_s=maybe(AMOUNT),
    python=TEXT,
)
PROVIDER = record(
    base_url=TEXT,
    dialect=TEXT,
    notes=list_of(TEXT),
    models=map_of(record(known=KNOWN), "name"),
)
UNPROVEN = record(
    version=TEXT,
    code=map_of(TEXT, "file"),
    platform=TEXT,
    ended_by=TEXT,
    limit_usd=maybe(AMOUNT),
    lost_usd=sometimes(AMOUNT),  # of version 0.1
    sessions=list_of(SESSION),
    provider=maybe(PROVIDER),
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
    adapted=sometimes(OBJECT),  # since version 0.2
    set_aside=sometimes(map_of(TEXT, "model")),
    pilot=sometimes(shape.FLAG),
    prereg_sha256=sometimes(maybe(TEXT)),
    **dict.fromkeys(("errors", "outcomes", "served", "upstreams"), OBJECT),
    **ALWAYS,
)


def _manifest_fault(value: Any) -> shape.Fault | None:
    running = isinstance(value, dict) and value.get("state") == "running"
    return RUNNING.fault(value) if running else ENDED.fault(value)


MANIFEST = shape.Kind(_manifest_fault)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return manifest.json of a run. Raise UsageError if it is no manifest."""
    path = Path(folder) / "manifest.json"
    manifest: dict[str, Any] = shape.read(path, MANIFEST, RESTORE)
    return manifest
