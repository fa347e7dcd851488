"""run_manifest.json: what was run, with what, and how far it got. Replaced in one step."""

import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from pdbench import __version__
from pdbench.config.load import Experiment, snapshot_sha256
from pdbench.core.types import SEATS, SIMULATED, ConfigError, RunError
from pdbench.storage.schema import SCHEMA_VERSION, MatchRounds, now_utc

MANIFEST = "run_manifest.json"
PACKAGES = ("pydantic", "pyyaml", "pandas", "pyarrow", "httpcore", "litellm")
FINISHED = ("complete", "incomplete")
STATES = ("running", "interrupted", *FINISHED)


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
    data = manifest | {"updated_utc": now_utc()}
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    write_atomically(run_dir / MANIFEST, text.encode("utf-8", "backslashreplace"))


def read_manifest(run_dir: Path) -> dict:
    """The manifest of a run folder; RunError where there is none, or it disagrees with itself."""
    path = run_dir / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        config = manifest["config"]
        copies = {"run_id": config["run"]["run_id"], "seed": config["run"]["seed"],
                  "collapse": config["metrics"]["collapse"],
                  "config_sha256": snapshot_sha256(config)}
        config["metrics"]["names"], config["conditions"].items(), manifest["environment"]["python"]
        manifest["environment"]["packages"]["pdbench"], manifest["updated_utc"]
        _disagreement(path, manifest, copies, "its config gives")
        _disagreement(path, manifest, {"schema_version": SCHEMA_VERSION}, "this version reads")
        if manifest["status"] not in STATES:
            raise ValueError
    except FileNotFoundError:
        raise RunError(f"{path}: not found; RUN_DIR should be a folder that `pdbench run`"
                       " wrote") from None
    except KeyError as error:
        raise RunError(f"{path}: damaged: no {error.args[0]}") from None
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise RunError(f"{path}: damaged: it is not the JSON that `pdbench run` wrote; restore it"
                       " from a copy") from None
    return manifest


def _disagreement(path: Path, manifest: dict, expected: dict, why: str) -> None:
    for name, value in expected.items():
        if name not in manifest:
            raise RunError(f"{path}: damaged: no {name}")
        if manifest[name] != value:
            raise RunError(f"{path}: {name} is {_short(manifest[name])}, but {why}"
                           f" {_short(value)}; restore the file from a copy")


def is_simulated(condition: dict) -> bool:
    """Does the mock provider take part in a condition of a configuration's snapshot?"""
    return any(condition[seat].get("provider", {}).get("name") == "mock" for seat in SEATS)


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
    _disagreement(run_dir / MANIFEST, manifest, outcome_of(matches, manifest["config"]),
                  "the rounds give")


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
        "environment": _environment(),
        "created_utc": now_utc(),
        "updated_utc": now_utc(),
        "sessions": 0,
        "elapsed_s": 0.0,
    }


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
        if run_dir.exists() and any(f.name != ".lock" for f in run_dir.iterdir()):
            raise ConfigError(f"run.output_dir: {run_dir} holds files but no {MANIFEST}; choose"
                              " another run.run_id or empty the folder")
        return new_manifest(experiment)
    manifest, new = read_manifest(run_dir), new_manifest(experiment)
    if manifest["config_sha256"] != new["config_sha256"]:
        what = "; ".join(_differences(manifest["config"], new["config"])[:3])
        raise ConfigError(f"{run_dir}: holds a run of another configuration ({what}); choose"
                          " another run.run_id or delete the folder")
    return manifest


def _differences(old: object, new: object, key: str = "") -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        names = list(dict.fromkeys([*old, *new]))
        return [
            line
            for name in names
            for line in _differences(old.get(name), new.get(name), f"{key}.{name}".lstrip("."))
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
            raise RunError(f"{run_dir}: another process is running here; wait for it or choose"
                           " another run.run_id") from None
        yield
