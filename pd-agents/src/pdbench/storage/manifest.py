"""run_manifest.json: what was run, with what, and how far it got. Replaced in one step."""

import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pdbench import __version__
from pdbench.config.load import Experiment, snapshot_sha256
from pdbench.config.schema import Game, Horizon, Metrics
from pdbench.core.horizon import length
from pdbench.core.rng import derive_seed, stream
from pdbench.core.types import ConfigError, RunError
from pdbench.storage.schema import now_utc

MANIFEST = "run_manifest.json"
PACKAGES = ("typer", "pydantic", "pyyaml", "pandas", "pyarrow", "litellm")


class Loose(BaseModel):
    """Part of a manifest; keys that this version does not know are left alone."""

    model_config = ConfigDict(extra="allow")


class AgentShape(Loose):
    """An agent of a snapshot."""

    label: str


class ConditionShape(Loose):
    """A condition of a snapshot, as far as rounds are compared with it."""

    game: Game
    horizon: Horizon
    agent_a: AgentShape
    agent_b: AgentShape


class Snapshot(Loose):
    """The configuration of a run, with the texts of its prompts."""

    metrics: Metrics
    conditions: dict[str, ConditionShape]


class Manifest(Loose):
    """A run. `status` is running, interrupted, complete, or incomplete where a match is."""

    run_id: str
    status: str
    seed: int
    replicates: int
    simulated_conditions: list[str] = Field(default_factory=list)
    matches: dict[str, int] = Field(default_factory=dict)  # total, complete, incomplete
    incomplete_matches: list[dict] = Field(default_factory=list)
    rounds: int | None = None
    model_calls: int | None = None
    spent_usd: float = 0.0
    sessions: int = 0
    elapsed_s: float = 0.0
    created_utc: str = ""
    updated_utc: str = ""
    environment: dict = Field(default_factory=dict)
    config_sha256: str
    config: Snapshot

    @property
    def finished(self) -> bool:
        """Was every match played to its end?"""
        return self.status in ("complete", "incomplete")

    def rounds_of(self, condition: str, replicate: int) -> int:
        """How many rounds the configuration and the seed give a match."""
        seed = derive_seed(self.seed, condition, replicate)
        horizon = self.config.conditions[condition].horizon
        return length(horizon, stream(seed, "horizon"))


def read_manifest(run_dir: Path) -> Manifest | None:
    """A run's manifest; None where there is none, RunError where it can't be read."""
    path = run_dir / MANIFEST
    if not path.exists():
        return None
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise RunError(
            f"{path}: {where}: {first['msg']}; restore the file from a copy, or move it"
            " away: `pdbench aggregate` works without"
        ) from None


def new_manifest(experiment: Experiment) -> Manifest:
    """The manifest of a run that has not begun."""
    snapshot = experiment.snapshot()
    simulated = [each.name for each in experiment.conditions if each.simulated]
    return Manifest(
        run_id=experiment.run.run_id,
        status="running",
        seed=experiment.run.seed,
        replicates=0,
        simulated_conditions=simulated,
        created_utc=now_utc(),
        environment=_environment(),
        config_sha256=snapshot_sha256(snapshot),
        config=Snapshot.model_validate(snapshot),
    )


def _environment() -> dict:
    packages = {"pdbench": __version__}
    for name in PACKAGES:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": packages,
    }


def write_manifest(run_dir: Path, manifest: Manifest) -> None:
    """Write the manifest, with the time of this change."""
    manifest.updated_utc = now_utc()
    text = manifest.model_dump_json(indent=2)
    write_atomically(run_dir / MANIFEST, text.encode() + b"\n")


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file that is either the old one or the whole new one, whatever happens."""
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def open_manifest(experiment: Experiment) -> Manifest:
    """The folder's manifest, or a new one; ConfigError where another run's rounds are there."""
    run_dir = experiment.run_dir
    if run_dir.exists() and not run_dir.is_dir():
        raise ConfigError(f"run.output_dir: {run_dir} is a file; a folder is needed")
    new, old = new_manifest(experiment), read_manifest(run_dir)
    if old is None:
        if (run_dir / "rounds.jsonl").exists():
            raise ConfigError(
                f"run.output_dir: {run_dir} holds rounds but no {MANIFEST}; choose"
                " another run.run_id or empty the folder"
            )
        return new
    if old.config_sha256 != new.config_sha256:
        written = json.loads((run_dir / MANIFEST).read_bytes())["config"]
        changes = "; ".join(differences(written, experiment.snapshot())[:3])
        raise ConfigError(
            f"{run_dir}: holds a run of another configuration ({changes}); choose"
            " another run.run_id or delete the folder"
        )
    return old


def differences(old: object, new: object, key: str = "") -> list[str]:
    """Where two snapshots differ, as `key: old -> new`."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        if old == new:
            return []
        return [f"{key}: {_brief(old)} -> {_brief(new)}"]
    lines = []
    for name in dict.fromkeys([*old, *new]):
        dotted = f"{key}.{name}" if key else name
        lines += differences(old.get(name), new.get(name), dotted)
    return lines


def _brief(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:37] + "..."


@contextmanager
def locked(run_dir: Path) -> Iterator[None]:
    """Hold the run's folder; RunError where another process does. A kill releases it."""
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
