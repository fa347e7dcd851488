"""A run's folder: its name, its lock, its manifest; created whole, resumed, never mixed up.

    with RunFolder(Origin(out / run_id, identity, prompts), instrument) as run:
        if run.finished: ...                     # nothing to do
        ...                                      # ask, with run.journal and run.inflight
        run.finish(files, stop, facts)

`identity` (configuration, hashes of prompts, provider) is what makes two runs the same study. A
folder made under another identity is refused, with the keys that differ.
"""

import fcntl
import json
import os
import platform
import re
import time
import zlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from common import VERSION, Incomplete, Stop, UsageError
from common.artifacts import canonical_json, content_sha256, json_file, sha256, sweep, write_atomic
from common.journal import InFlight, Journal
from common.wire import MOST_USD

ROOT = Path(__file__).resolve().parents[1]
PROMPTS = "prompts.json"  # in a run's folder: the texts that it was made with
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def check_run_id(run_id: str, source: str = "--run-id") -> str:
    """`run_id` where it can be a folder's name; UsageError otherwise."""
    if not RUN_ID.fullmatch(run_id) or ".." in run_id:
        raise UsageError(f"{source}: {run_id!r} can't be a folder's name; use letters, digits, "
                         "'.', '_' and '-' (no '/' and no '..'), at most 100")
    return run_id


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """{"a.b": leaf} of nested objects; lists are leaves."""
    if not isinstance(value, Mapping):
        return {prefix: value}
    out: dict[str, Any] = {}
    for key, item in value.items():
        out |= flat(item, f"{prefix}.{key}" if prefix else key)
    return out


def changes(before: Mapping, after: Mapping) -> list[str]:
    """ "runs: 10 → 12" for each leaf that differs."""
    old, new = flat(before), flat(after)
    return [f"{key}: {_short(old.get(key))} → {_short(new.get(key))}"
            for key in sorted(old.keys() | new.keys()) if old.get(key) != new.get(key)]


def _short(value: Any) -> str:
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[:12] + "…" if re.fullmatch(r"[0-9a-f]{64}", text) else text[:60]


@cache
def code_hashes() -> dict[str, str]:
    """{file: SHA-256} of every module and script of the project, for the manifest.

    Taken once in a process, since that is the code it has loaded.
    """
    files = [*ROOT.glob("*.py"), *(path for room in ("common", "show", "stats", "cirrus", "urrp")
                                   for path in (ROOT / room).rglob("*.py"))]
    return {str(path.relative_to(ROOT)).replace(os.sep, "/"): sha256(path.read_bytes())
            for path in sorted(files)}


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
        self.instrument, self.identity = instrument, json.loads(json.dumps(origin.identity))
        self.manifest: dict[str, Any] = {}
        self.journal: Journal | None = None
        self._lock = None
        self._made: list[Path] = []

    def __enter__(self) -> "RunFolder":
        try:
            self._make()
            self._lock = lock(self.path)
            try:
                self._open()
            except BaseException:
                self._leave()
                raise
        except OSError as error:
            raise UsageError(f"{error.filename or self.path}: {error.strerror}; "
                             "choose a folder that can be written with --out") from None
        return self

    def _make(self) -> None:
        self._made = [p for p in (self.path, *self.path.parents) if not p.exists()]
        self.path.mkdir(parents=True, exist_ok=True)

    def _open(self) -> None:
        sweep(self.path)
        self.manifest = read_manifest(self.path) if self.manifest_path.exists() else {}
        self.fresh = not self.manifest
        # A kill can fall between the first, still empty journal and its manifest.
        if self.fresh and any(p.stat().st_size for p in self.path.glob("journal.jsonl*")):
            raise UsageError(f"{self.path}: a journal without its manifest.json; restore it, "
                             "or use another --run-id")
        self._compare()
        if self.manifest.get("state") == "complete" and not any(self.path.glob("journal.jsonl*")):
            raise UsageError(f"{self.path}: complete, but journal.jsonl.gz is gone; restore it, "
                             "or use another --run-id")  # asking anew would pick other answers
        self.finished = self.manifest.get("state") == "complete" and self._intact()
        self.inflight = InFlight(self.path)
        self.started = time.monotonic()

    def begin(self, limit_usd: float | None) -> None:
        """Open the journal and write the manifest as `running`: from here on there is a run."""
        write_atomic(self.path / PROMPTS, json_file(self.origin.prompts))
        self.journal = Journal(self.path, self.identity)
        lost = self.inflight.lost(self.journal.asked)
        cost = self.manifest.get("cost", {})
        sessions = self.manifest.get("sessions", [])
        if sessions and sessions[-1]["ended"] is None:
            started = sessions[-1]["started"]
            ended = max(started, self.journal.last_at)
            sessions[-1] |= {"ended": ended, "ended_by": "killed",
                             "elapsed_s": _seconds(started, ended)}
        sessions.append({"started": _now(), "ended": None, "ended_by": None, "elapsed_s": None,
                         "python": platform.python_version()})
        self.manifest |= {
            "artifact": self.instrument, "version": VERSION, "state": "running",
            "identity": self.identity, "sessions": sessions,
            "stamp": "SIMULATED" if self.identity.get("provider") == "simulated" else None,
            "cost": {"spent_usd": self.journal.spent + cost.get("lost_usd", 0.0) + lost,
                     "lost_usd": cost.get("lost_usd", 0.0) + lost, "limit_usd": limit_usd},
        }
        self._write_manifest()
        self.inflight.clear()

    def record(self, **facts: Any) -> None:
        """Put facts into the manifest at once: a kill must not lose what a resume goes by."""
        self.manifest |= facts
        self._write_manifest()

    @property
    def spent(self) -> float:
        """Dollars charged so far, with the calls that a kill may have lost."""
        return self.manifest["cost"]["spent_usd"]

    def present(self) -> None:
        """Incomplete where somebody has taken the folder away meanwhile."""
        if not self.manifest_path.exists():
            raise Incomplete(f"{self.path}: the folder was moved or deleted while the run went on; "
                             "put it back, then give the same command")

    def finish(self, files: Mapping[str, bytes], stop: Stop | None, facts: Mapping) -> None:
        """Write the derived files, pack the journal of a complete run, close the manifest."""
        self.present()
        try:
            for name, data in files.items():
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                write_atomic(self.path / name, data)
            self.journal.close()
            spent = self.journal.spent + self.manifest["cost"]["lost_usd"]
            if stop is None:
                self.journal.pack()
            self._end_session(stop)
            self.manifest |= {
                **facts, "state": "complete" if stop is None else "incomplete",
                "ended_by": "" if stop is None else str(stop),
                "elapsed_s": sum(s["elapsed_s"] or 0 for s in self.manifest["sessions"]),
                "cost": self.manifest["cost"] | {"spent_usd": spent},
                "python": platform.python_version(), "platform": platform.platform(),
                "code": code_hashes(),
                "journal": {"head_sha256": self.journal.prev,
                            "attempts": sum(self.journal.asked.values())},
                "files": {name: content_sha256(self.path / name) for name in sorted(files)},
            }
            self._write_manifest()
        except OSError as error:
            raise Incomplete(f"{error.filename or self.path}: {error.strerror}; free space there, "
                             "then give the same command: the journal is complete") from None

    def _end_session(self, stop: Stop | None) -> None:
        self.manifest["sessions"][-1] |= {
            "ended": _now(), "ended_by": type(stop).__name__ if stop else "complete",
            "elapsed_s": round(time.monotonic() - self.started, 2)}

    def __exit__(self, kind, error, trace) -> None:
        if self.journal is not None:
            with suppress(Stop):
                self.journal.close()
        self._leave()

    def _leave(self) -> None:
        """Drop the lock; take back a folder in which nothing was ever asked."""
        used = (self.journal and self.journal.asked) or (self.path / "inflight.jsonl").exists()
        if self._made and not used and not any(self.path.glob("*.md")):
            for name in ("manifest.json", "journal.jsonl", PROMPTS):
                with suppress(OSError):
                    (self.path / name).unlink()
            for made in self._made:
                with suppress(OSError):
                    made.rmdir()
        unlock(self._lock)

    def _compare(self) -> None:
        differ = changes(self.manifest["identity"], self.identity) if self.manifest else []
        if differ:
            more = f" (and {len(differ) - 4} more)" if len(differ) > 4 else ""
            raise UsageError(f"{self.path} was made by another configuration: "
                             f"{'; '.join(differ[:4])}{more}; use another --run-id or --out")

    def _intact(self) -> bool:
        try:
            return all(content_sha256(self.path / name) == digest
                       for name, digest in self.manifest["files"].items())
        except (OSError, EOFError, ValueError, KeyError, AttributeError, zlib.error):
            return False

    def _write_manifest(self) -> None:
        write_atomic(self.manifest_path, json_file(self.manifest))


def kept_prompts(folder: Path, recorded: Mapping[str, str]) -> dict[str, str]:
    """{path: text} of the prompts that a run was made with; UsageError where they are not those
    that its identity has `recorded`, by hash."""
    path = Path(folder) / PROMPTS
    try:
        texts = json.loads(path.read_bytes())
        hashes = {name: sha256(text) for name, text in texts.items()}
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; restore it from a copy") from None
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise UsageError(f"{path}: not the prompts of a run; restore it from a copy") from None
    for name in sorted(recorded.keys() | hashes.keys()):
        if recorded.get(name) != hashes.get(name):
            raise UsageError(f"{path}: {name} is not the text that the run was made with; restore "
                             "it from a copy")
    return texts


def rewrite(folder: Path, files: Mapping[str, bytes], facts: Mapping[str, Any]) -> None:
    """Put derived files and facts in the place of older ones. One process at a time."""
    handle = lock(Path(folder))
    try:
        for name, data in files.items():
            write_atomic(Path(folder) / name, data)
        manifest = json.loads((Path(folder) / "manifest.json").read_bytes())
        manifest |= {**facts, "version": VERSION, "code": code_hashes(),
                     "files": manifest.get("files", {}) | {
                         name: content_sha256(Path(folder) / name) for name in sorted(files)}}
        write_atomic(Path(folder) / "manifest.json", json_file(manifest))
    finally:
        unlock(handle)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _seconds(start: str, end: str) -> float | None:
    """Between two times; None where one of them was edited into something else."""
    try:
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return None


NUMBER = (int, float)
MANIFEST = {"artifact": str, "state": str, "identity": dict, "cost": dict, "sessions": list}
FINISHED = {"journal": dict, "files": dict, "statuses": dict, "served": dict, "elapsed_s": NUMBER}
WITHIN = {"identity": {"config": dict, "prompts": dict, "provider": str},
          "cost": {"spent_usd": NUMBER, "lost_usd": NUMBER},
          "journal": {"head_sha256": str, "attempts": int}}


def read_manifest(folder: Path, known: Collection[str] = ()) -> dict[str, Any]:
    """manifest.json of a run; UsageError where it is none, or of no instrument in `known`."""
    path = Path(folder) / "manifest.json"
    try:
        manifest = json.loads(path.read_bytes())
        canonical_json(manifest).encode()  # what can't be written again is no manifest of ours
        fault = _manifest_fault(manifest)
        if not fault and known and manifest["artifact"] not in known:
            fault = f"artifact {manifest['artifact'][:40]!r} is not one of {', '.join(known)}"
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give a run's folder") from None
    except (ValueError, RecursionError):
        fault = "not JSON"
    if fault:
        raise UsageError(f"{path}: not the manifest of a run that can be read here ({fault}); "
                         "restore it from a copy")
    return manifest


def _manifest_fault(manifest: Any) -> str | None:
    if not isinstance(manifest, dict):
        return "no object"
    shape = MANIFEST | (FINISHED if manifest.get("state") != "running" else {})
    if fault := _shape_fault(manifest, shape, ""):
        return fault
    if manifest["state"] not in ("running", "complete", "incomplete"):
        return f"state {manifest['state'][:40]!r}"
    for key, inner in WITHIN.items():
        if key in shape and (fault := _shape_fault(manifest[key], inner, f"{key}.")):
            return fault
    tables = [manifest["identity"]["prompts"], manifest.get("files", {})]
    if not all(isinstance(table, dict) and all(isinstance(value, str) for value in table.values())
               for table in tables):
        return "prompts or files without hashes"
    sessions = all(isinstance(session, dict) and isinstance(session.get("started"), str)
                   and 0 <= (session.get("elapsed_s") or 0) < MOST_USD
                   for session in manifest["sessions"])
    return None if sessions and 0 <= manifest["cost"]["lost_usd"] < MOST_USD else "sessions or cost"


def _shape_fault(value: Mapping, shape: Mapping, prefix: str) -> str | None:
    for key, kind in shape.items():
        found = value.get(key)
        if not isinstance(found, kind) or isinstance(found, bool):
            return f"{prefix}{key} {str(found)[:40]!r}"
    return None


def lock(folder: Path) -> int:
    """An advisory lock that the system drops with the process, however that ends."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise UsageError(f"{folder}: another process is working on this run; "
                         "wait for it, or use another folder") from None
    return handle


def unlock(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)
