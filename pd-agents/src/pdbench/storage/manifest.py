"""run_manifest.json: what was run, with what, and how far it got. Replaced in one step."""

import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pdbench import __version__
from pdbench.config.load import Experiment, snapshot_of, snapshot_sha256
from pdbench.config.schema import Strict
from pdbench.core.types import SEATS, SIMULATED, ConfigError, RunError
from pdbench.storage.rounds import AGGREGATES, ROUNDS, SORTING, check_regular
from pdbench.storage.schema import SCHEMA_VERSION, MatchRounds, now_utc

MANIFEST = "run_manifest.json"
PACKAGES = ("pydantic", "pyyaml", "pandas", "pyarrow", "httpcore", "litellm")
FINISHED = ("complete", "incomplete")
STATES = ("running", "interrupted", *FINISHED)
KEYS = (
    "schema_version",
    "run_id",
    "status",
    "stamp",
    "simulated_conditions",
    "seed",
    "replicates",
    "collapse",
    "config_sha256",
    "config",
    "unproven",
)
OUTCOME_KEYS = ("matches", "incomplete_matches", "rounds", "model_calls")
TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"
REPORTS = ("report.html", "report.md")
PARTS = tuple(
    f"{name}.part" for name in (MANIFEST, AGGREGATES, *REPORTS)
)  # of a write cut short
FILES = (MANIFEST, ROUNDS, SORTING, AGGREGATES, *REPORTS, *PARTS, ".lock")


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file that is either the old one or the whole new one, whatever happens."""
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def write_manifest(run_dir: Path, manifest: dict) -> None:
    """Write the manifest, with the time of this change."""
    unproven = manifest["unproven"] | {"updated_utc": now_utc()}
    write_atomically(
        run_dir / MANIFEST, manifest_bytes(manifest | {"unproven": unproven})
    )


class Environment(Strict):
    """What the run was played with."""

    python: str
    implementation: str
    platform: str
    packages: dict[str, str]


class Unproven(Strict):
    """What follows from nothing else in the folder, so that nobody can check it."""

    environment: Environment
    created_utc: Annotated[str, Field(pattern=TIME)]
    updated_utc: Annotated[str, Field(pattern=TIME)]
    sessions: Annotated[int, Field(ge=1)]
    elapsed_s: Annotated[float, Field(ge=0)]


def manifest_bytes(manifest: dict) -> bytes:
    """The one form in which a manifest is written."""
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace")


def read_manifest(run_dir: Path) -> dict:
    """The manifest of a run folder; RunError where there is none, or it disagrees with itself.

    Its bytes are the ones that `pdbench` writes, its keys are known, its configuration is one, and
    no other file than a run's lies beside it.
    """
    path = run_dir / MANIFEST
    check_regular(path)
    try:
        data = path.read_bytes()
        manifest = json.loads(data)
        config = manifest["config"]
        copies = {
            "run_id": config["run"]["run_id"],
            "seed": config["run"]["seed"],
            "collapse": config["metrics"]["collapse"],
            "config_sha256": snapshot_sha256(config),
        }
        _disagreement(path, manifest, copies, "its config gives")
        _disagreement(
            path, manifest, {"schema_version": SCHEMA_VERSION}, "this version reads"
        )
        if manifest["status"] not in STATES:
            raise ValueError
        _check_keys(path, manifest)
        Unproven.model_validate(manifest["unproven"])
        if type(manifest["replicates"]) is not int or snapshot_of(config) != config:
            raise ValueError
    except FileNotFoundError:
        raise RunError(
            f"{path}: not found; RUN_DIR should be a folder that `pdbench run` wrote"
        ) from None
    except KeyError as error:
        raise RunError(f"{path}: damaged: no {error.args[0]}") from None
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise RunError(
            f"{path}: damaged: it is not the JSON that `pdbench run` wrote; restore it"
            " from a copy"
        ) from None
    if data != manifest_bytes(manifest):
        raise RunError(
            f"{path}: damaged: it is not written as `pdbench run` writes it (a key"
            " twice, other spaces or another encoding); restore it from a copy"
        )
    _check_files(run_dir)
    return manifest


def _check_keys(path: Path, manifest: dict) -> None:
    known = {*KEYS, *(OUTCOME_KEYS if manifest["status"] in FINISHED else ())}
    if missing := sorted(known - manifest.keys()):
        raise KeyError(missing[0])
    if unknown := sorted(manifest.keys() - known):
        raise RunError(
            f"{path}: {unknown[0]}: unknown in a run with status"
            f" {manifest['status']!r}; restore the file from a copy"
        )


def _check_files(run_dir: Path) -> None:
    for file in sorted(run_dir.iterdir()):
        if file.name not in FILES:
            raise RunError(f"{file}: is no file of a run; move it elsewhere")
        check_regular(file)


def _disagreement(path: Path, manifest: dict, expected: dict, why: str) -> None:
    for name, value in expected.items():
        if name not in manifest:
            raise RunError(f"{path}: damaged: no {name}")
        if manifest[name] != value:
            raise RunError(
                f"{path}: {name} is {_short(manifest[name])}, but {why}"
                f" {_short(value)}; restore the file from a copy"
            )


def is_simulated(condition: dict) -> bool:
    """Does the mock provider take part in a condition of a configuration's snapshot?"""
    return any(
        condition[seat].get("provider", {}).get("name") == "mock" for seat in SEATS
    )


def outcome_of(matches: list[MatchRounds], config: dict) -> dict:
    """What the manifest says of a run that is over: a function of its matches."""
    ended = [m.ended for m in matches if m.ended]
    simulated = [name for name, c in config["conditions"].items() if is_simulated(c)]
    return {
        "status": "incomplete" if ended else "complete",
        "stamp": SIMULATED if simulated else None,
        "simulated_conditions": simulated,
        "matches": {"total": len(matches), "incomplete": len(ended)},
        "incomplete_matches": ended,
        "rounds": sum(len(m.a_actions) for m in matches),
        "model_calls": sum(sum(m.calls) for m in matches),
    }


def check_outcome(run_dir: Path, manifest: dict, matches: list[MatchRounds]) -> None:
    """RunError where the manifest of a run that is over says something else than its rounds."""
    _disagreement(
        run_dir / MANIFEST,
        manifest,
        outcome_of(matches, manifest["config"]),
        "the rounds give",
    )


def new_manifest(experiment: Experiment) -> dict:
    """The manifest of a run that is about to begin."""
    snapshot = json.loads(json.dumps(experiment.snapshot()))
    simulated = [c.name for c in experiment.conditions if c.simulated]
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": experiment.run.run_id,
        "status": "running",
        "stamp": SIMULATED if simulated else None,
        "simulated_conditions": simulated,
        "seed": experiment.run.seed,
        "replicates": 0,
        "collapse": snapshot["metrics"]["collapse"],
        "config_sha256": snapshot_sha256(snapshot),
        "config": snapshot,
        "unproven": {
            "environment": _environment(),
            "created_utc": now_utc(),
            "updated_utc": now_utc(),
            "sessions": 0,
            "elapsed_s": 0.0,
        },
    }


def unfinished(manifest: dict) -> dict:
    """The manifest without what is only said of a run that is over."""
    return {key: value for key, value in manifest.items() if key not in OUTCOME_KEYS}


def _environment() -> dict:
    found = {"pdbench": __version__}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": platform.platform(),
        "packages": found,
    }


def open_manifest(experiment: Experiment) -> dict:
    """The folder's manifest, or a new one. ConfigError, and nothing written, where the folder
    holds something else or a run of another configuration."""
    run_dir = experiment.run_dir
    if run_dir.exists() and not run_dir.is_dir():
        raise ConfigError(f"run.output_dir: {run_dir} is a file; a folder is needed")
    if not (run_dir / MANIFEST).exists():
        if run_dir.exists() and any(
            f.name not in (".lock", *PARTS) for f in run_dir.iterdir()
        ):
            raise ConfigError(
                f"run.output_dir: {run_dir} holds files but no {MANIFEST}; choose"
                " another run.run_id or empty the folder"
            )
        return new_manifest(experiment)
    manifest, new = read_manifest(run_dir), new_manifest(experiment)
    if manifest["config_sha256"] != new["config_sha256"]:
        what = "; ".join(_differences(manifest["config"], new["config"])[:3])
        raise ConfigError(
            f"{run_dir}: holds a run of another configuration ({what}); choose"
            " another run.run_id or delete the folder"
        )
    return manifest


def _differences(old: object, new: object, key: str = "") -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        names = list(dict.fromkeys([*old, *new]))
        return [
            line
            for name in names
            for line in _differences(
                old.get(name), new.get(name), f"{key}.{name}".lstrip(".")
            )
        ]
    if old == new:
        return []
    was, now = (_short(value) for value in (old, new))
    return [f"{key}: {was} -> {now}"]


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:37] + "..."


@contextmanager
def locked(run_dir: Path) -> Iterator[None]:
    """Hold the run folder; RunError where another process does. A kill releases it."""
    import fcntl

    run_dir.mkdir(parents=True, exist_ok=True)
    with (run_dir / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(
                f"{run_dir}: another process is running here; wait for it or choose"
                " another run.run_id"
            ) from None
        yield
