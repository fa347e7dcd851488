"""Which replications are wanted, which are there, the work that is left, and what is repeated.

    with Replications(folder, identity) as held:
        for work in portions(wanted(populations, sizes, 100), held.done, plan):
            held.keep(run(work))
        held.pack()
"""

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from cirrus.ask.design import PLANS
from cirrus.ask.populations import POOLS
from cirrus.calibrate.replicate import Size, plans_of, read_size, replicate, rows_of
from common import UsageError
from common.artifacts import gzip_bytes, jsonl, read_jsonl, write_atomic
from common.runs import code_hashes, lock, unlock

NAME = "replications.jsonl"
PORTION_S = 5.0       # of work, by the costs below: what an interruption may lose
SECONDS = {"2x2": 1e-3, "mechanism": 2e-3, "decision": 1.3e-4, "fixed": 0.05,
           "fit": 1.5}
# Where a mixed model is fitted: the populations whose verdict hangs on it, in studies of a size
# that takes about a second a replication.
FITTED = ("superrational", "coin", "compliance", "compliance-cued", "reciprocal",
          "policies-0.5", "policies-1", "bulletins-1")
FIT_ROWS = 1500
# Everything that a replication passes through: whole folders.
CODE = ("stats/*.py", "common/*.py", "cirrus/*.py", "show/*.py")
Key = tuple[str, str, int]   # population, size, replication


class Plan(NamedTuple):
    """What all replications share. `fits`: how many of each are fitted; `rivals`: a user's
    file."""

    seed: int
    fits: int = 0
    rivals: str | None = None


class Work(NamedTuple):
    """A portion: these replications of a size, of some populations."""

    populations: tuple[str, ...]
    size: str
    reps: tuple[int, ...]
    plan: Plan


def run(work: Work) -> list[dict[str, Any]]:
    """The records of a portion; what an executor maps. Populations of one replication follow each
    other: they meet the same trials."""
    size, plan = read_size(work.size), work.plan
    return [replicate(population, size, rep, plan.seed, fitted(population, size, rep, plan.fits),
                      plan.rivals) for rep in work.reps for population in work.populations]


def fitted(population: str, size: Size, rep: int, fits: int) -> bool:
    """Whether this replication is analysed by mixed model too."""
    return (size.kind == "tournament" and population in FITTED and rep < fits
            and rows_of(size) <= FIT_ROWS)


def seconds(population: str, size: Size, fit: bool) -> float:
    """About how long one replication takes on a small machine's core."""
    if size.kind != "tournament":
        return SECONDS[size.kind] * (size.runs or size.blocks)
    pairs = size.agents * (size.agents - 1) * size.seeds
    runs = sum(len(PLANS[name].runs) for name in plans_of(population, size))
    return SECONDS["fixed"] + SECONDS["decision"] * pairs * runs + SECONDS["fit"] * fit


def wanted(populations: Iterable[str], sizes: Sequence[Size], reps: int) -> list[Key]:
    """Every replication, first ones first: whatever is there when one stops covers all. Pools are
    of models that are asked side by side: one-shot studies only."""
    return [(population, size.name, rep) for rep in range(reps) for size in sizes
            for population in populations if size.kind != "tournament" or population not in POOLS]


def portions(keys: Iterable[Key], done: Collection[Key], plan: Plan) -> list[Work]:
    """What is not done, in portions of about PORTION_S, in order of first replications."""
    left: dict[tuple[str, int], list[str]] = {}
    for population, size, rep in keys:
        if (population, size, rep) not in done:
            left.setdefault((size, rep), []).append(population)
    alike = groupby(sorted(left.items(), key=lambda item: (item[0][0], item[1], item[0][1])),
                    lambda item: (item[0][0], item[1]))
    works = [Work(tuple(some), size, tuple(reps), plan)
             for (size, populations), group in alike
             for reps, some in _split(size, populations, [rep for (_, rep), _ in group], plan)]
    return sorted(works, key=lambda work: work.reps[0])


def _split(size: str, populations: Sequence[str], reps: Sequence[int],
           plan: Plan) -> Iterator[tuple[list[int], list[str]]]:
    """Replications whole where they are short, else their populations in turn."""
    known = read_size(size)
    most = max(seconds(name, known, fitted(name, known, rep, plan.fits))
               for name in populations for rep in reps[:1])
    many, few = max(1, int(PORTION_S / most)), max(1, int(PORTION_S / most / len(populations)))
    for at in range(0, len(reps), few):
        for start in range(0, len(populations), many):
            yield list(reps[at:at + few]), list(populations[start:start + many])


def code_of() -> dict[str, str]:
    """{file: SHA-256} of CODE as it is loaded now."""
    return {name: digest for name, digest in code_hashes().items()
            if any(fnmatch(name, pattern) for pattern in CODE)}


# --- what is kept ------------------------------------------------------------------------------

class Replications:
    """The records of a calibration in its folder; one process at a time."""

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self.folder, self.identity = Path(folder), dict(identity)
        self.records: dict[Key, dict[str, Any]] = {}
        self.header = {"artifact": "calibration-replications", **self.identity,
                       "code_sha256": code_of()}
        self._lock = None

    def __enter__(self) -> "Replications":
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--out: {self.folder}: {error.strerror}") from None
        self._lock = lock(self.folder)
        path = self.folder / NAME
        packed = path.with_name(f"{NAME}.gz")
        for source in (packed, path):
            if source.exists():
                self._read(source)
        return self

    def __exit__(self, *error) -> None:
        unlock(self._lock)

    @property
    def done(self) -> Collection[Key]:
        return self.records.keys()

    def _read(self, path: Path) -> None:
        _mend(path)
        try:
            lines = [value for _, value in read_jsonl(path)]
        except (ValueError, OSError, EOFError) as error:
            raise UsageError(f"{path}: {error}; restore it, or choose another --out") from None
        if not lines:
            return
        head = lines[0]
        for name, value in self.identity.items():
            if not isinstance(head, dict) or head.get(name) != value:
                raise UsageError(
                    f"{path}: made with another {name}; use the same, or choose another --out")
        self.header = head
        self.records |= {key_of(record): record for record in lines[1:]}

    def begin(self) -> None:
        """Before the first new replication: they must all be of the same code."""
        code = code_of()
        changed = sorted(name for name in code.keys() | self.header["code_sha256"].keys()
                         if code.get(name) != self.header["code_sha256"].get(name))
        if changed:
            raise UsageError(f"{self.folder}: its {len(self.records)} replications are of other "
                             f"code ({changed[0]} has changed since); choose another --out")
        path = self.folder / NAME
        if not path.exists() or not path.stat().st_size:
            self._write([self.header])

    def keep(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Append records; on disk when this returns."""
        records = list(records)
        self._write(records)
        self.records |= {key_of(record): dict(record) for record in records}

    def _write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        with open(self.folder / NAME, "ab") as file:
            file.write(jsonl(rows))
            file.flush()
            os.fsync(file.fileno())

    def pack(self) -> None:
        """Sorted and packed: the same bytes in whatever order the work was done."""
        packed = self.folder / f"{NAME}.gz"
        if packed.exists() and not (self.folder / NAME).exists():
            return  # nothing was added
        rows = [self.records[key] for key in sorted(self.records)]
        write_atomic(packed, gzip_bytes(jsonl([self.header, *rows])))
        (self.folder / NAME).unlink(missing_ok=True)


def key_of(record: Mapping[str, Any]) -> Key:
    return record["population"], record["size"], record["rep"]


def _mend(path: Path) -> None:
    """Cut off a last line that a kill has torn."""
    if path.suffix == ".gz":
        return
    data = path.read_bytes()
    whole = data[:data.rfind(b"\n") + 1]
    last = whole[:-1].rpartition(b"\n")[2]
    try:
        json.loads(last or b"0")
    except ValueError:
        whole = whole[:len(whole) - len(last) - 1]
    if whole != data:
        write_atomic(path, whole)


# --- a registered repeat ------------------------------------------------------------------------
#
# Once more, under another seed, for the claims that a calibration left open or not met. Which those
# are is fixed before the first replication; a repeat is not repeated.

Claim = Mapping[str, Any]


def repeat_of(folder: Path, seed: int) -> dict[str, Any]:
    """What a repeat under `seed` is of: seed and unmet claims of the calibration in `folder`.

    UsageError where there is none, where it is a repeat itself, where nothing is left to repeat,
    and where the seed is the same.
    """
    path = folder / "calibration.json"
    try:
        first = json.loads(path.read_text("utf-8"))
        claims = [claim for claim in first["expectations"] if claim["met"] is not True]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"--repeat: {path}: {type(error).__name__}: give the folder of a finished "
                         "calibration") from None
    if first.get("repeats"):
        raise UsageError(f"--repeat: {folder}: is a repeat itself, of seed "
                         f"{first['repeats']['seed']}; one is allowed")
    if first["seed"] == seed:
        raise UsageError(f"--repeat: {folder}: has seed {seed} too; give another --seed")
    if not claims:
        raise UsageError(f"--repeat: {folder}: every claim is met")
    return {"seed": first["seed"], "claims": claims}


def wanted_again(keys: Iterable[Key], claims: Iterable[Claim]) -> list[Key]:
    """Of these replications, those that a claim rests on."""
    needed = {(claim["population"], claim["size"]) for claim in claims}
    return [key for key in keys if key[:2] in needed]


def answered(claims: Sequence[Claim], first: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The claims that are repeated, each with its figure `before`."""
    before = {_name(claim): claim for claim in first["claims"]}
    return [{**claim, "before": {key: before[_name(claim)][key] for key in ("figure", "met")}}
            for claim in claims if _name(claim) in before]


def _name(claim: Claim) -> tuple[str, str, str]:
    return claim["what"], claim["population"], claim["size"]
