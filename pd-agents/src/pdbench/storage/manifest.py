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
from pdbench.core.types import SIMULATED, ConfigError, RunError
from pdbench.storage.schema import SCHEMA_VERSION, now_utc

MANIFEST = "run_manifest.json"
PACKAGES = ("pydantic", "pyyaml", "pandas", "pyarrow", "litellm", "openai", "anthropic")


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
    """The manifest of a run folder; RunError where there is none or it can't be read."""
    path = run_dir / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        manifest["config"]["conditions"], manifest["config"]["metrics"], manifest["run_id"]
    except FileNotFoundError:
        raise RunError(f"{path}: not found; RUN_DIR should be a folder that `pdbench run`"
                       " wrote") from None
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path}: damaged: {type(error).__name__}: {error}") from None
    return manifest


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
