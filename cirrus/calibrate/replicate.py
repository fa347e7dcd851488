"""One planted population through the real pipeline: a pilot, or round 1 of every run of its plans.

    size = read_size("10x4")                                     # 10 agents under 4 seeds
    record = replicate("coin", size, rep=0, seed=42, fit=True)

Design, prompts, respondents, parser and analysis are those of `run_pilot.py`, `run_tournament.py`
and `analyze.py`; only journal and files are left out, and rounds after the first, which enter no
gate. What a replication draws follows from (seed, size, rep) and nothing else.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from cirrus.ask import design, pilot
from cirrus.ask.bulletins import CELL, FOLDERS
from cirrus.ask.design import PLANS, Tournament, role_of
from cirrus.ask.encounters import Played, policy_status, replay
from cirrus.ask.game import Standing
from cirrus.ask.prompts import Domain, load_domain
from cirrus.ask.respondents import RESPONDENTS
from cirrus.judge.endpoint import endpoint, models, shown
from cirrus.judge.games import games_of
from cirrus.judge.gates import Evidence, all_pass, gates
from cirrus.judge.pilot import summary, table_of
from cirrus.judge.rows import Decision, Run, decisions_of
from cirrus.judge.study import parts_of, tables_of
from cirrus.judge.tripwires import cell_of, tripwires
from common.artifacts import canonical_json, gzip_bytes, jsonl, read_jsonl, sha256, write_atomic
from common.exits import UsageError
from common.rng import SeededRandom
from common.runs import code_hashes, lock, unlock
from common.wire import Reply, Request

DIGITS = 6           # significant, of what a replication keeps
PILOT_MODELS = 4     # as a pilot has by default; here all of one population
ALL_PLANS = ("confirmatory", "ablation", "holdout")
# Which plans a population is put through: those that hold a gate made for it.
PLANS_OF = dict.fromkeys(("superrational", "coin"), ALL_PLANS) | {
    "tell-sensitive": ("confirmatory", "ablation"), "overfit": ("confirmatory", "holdout")}
# Beyond so many first encounters of the confirmatory plan only that one is played: what is open
# there is label invariance, which rests on it alone.
MOST_ROWS = 5000
FINISH = {"stop": "ok", "length": "truncated"}


class Size(NamedTuple):
    """`runs` a cell of a pilot, or `agents` under each of `seeds` seeds of a plan."""

    name: str
    runs: int = 0
    agents: int = 0
    seeds: int = 0

    @property
    def pilot(self) -> bool:
        return self.runs > 0


def read_size(name: str) -> Size:
    """"20" is a pilot of 20 runs, "10x4" a plan of 10 agents and 4 seeds. UsageError otherwise."""
    if found := re.fullmatch(r"(\d{1,4})", name):
        if int(found[1]) >= 2:
            return Size(name, runs=int(found[1]))
    elif found := re.fullmatch(r"(\d{1,3})x(\d{1,3})", name):
        agents, seeds = map(int, found.groups())
        if agents >= 2 and seeds >= 1:
            return Size(name, agents=agents, seeds=seeds)
    raise UsageError(f"--sizes: {name!r} is no size; give a pilot's runs such as 10 (2 to 9999), "
                     "or agents and seeds of a tournament such as 10x4 (2 to 999 agents)")


def replicate(population: str, size: Size, rep: int, seed: int, fit: bool) -> dict[str, Any]:
    """What the analysis says of one replication; `fit`: also by mixed model."""
    drawn = SeededRandom(seed, "calibration", size.name, rep).getrandbits(40)
    record = (_pilot(population, size.runs, drawn) if size.pilot else
              _tournament(population, size, drawn, fit))
    return {"population": population, "size": size.name, "rep": rep, "drawn": drawn,
            **_rounded(record)}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, (list, tuple)) else value


@cache
def _domain(name: str) -> Domain:
    return load_domain(name)


def prompts_sha256() -> str:
    """One hash of every prompt file that is read."""
    return sha256(canonical_json({path: digest for name in FOLDERS
                                  for path, digest in _domain(name).files.items()}))


def _answer(population: str, request: Request, seed: int) -> Reply:
    said = RESPONDENTS[population](request, SeededRandom(seed, "respondent", request.id))
    text, finish = said if isinstance(said, tuple) else (said, "stop")
    return Reply(FINISH[finish], text, finish, served_model=f"SIMULATED/{population}",
                 provider="simulated")


# --- a pilot -----------------------------------------------------------------------------------

def pilot_rows(population: str, runs: int, seed: int, names: Sequence[str]) -> list[dict]:
    """The trials of a pilot in which every model of `names` is of one population."""
    config = {"seed": seed, "runs": runs, "compliance": "low", "tells": "standard",
              "temperature": 0.7, "max_out": 96, "reasoning_effort": None}
    blocks = pilot.design(_domain(pilot.DOMAIN), config, list(names))
    return pilot.rows(blocks, [[_answer(population, trial.request, seed) for trial in block]
                               for block in blocks])


def _pilot(population: str, runs: int, seed: int) -> dict[str, Any]:
    names = [f"{population}/{n + 1}" for n in range(PILOT_MODELS)]
    rows = pilot_rows(population, runs, seed, names)
    out = summary(rows, table_of(rows))
    tests = out["exploratory"]
    return {"primary": _interval(out["effects"]["primary"]), "bootstrap": [None, None],
            "p": tests["primary"]["sign_flip_p"], "t_p": None,
            "interaction": _interval(out["interaction"]),
            "interaction_p": tests["SxC"]["sign_flip_p"],
            "unread": sum(row["decision"] is None for row in rows), "asked": len(rows)}


def _interval(entry: Mapping[str, Any]) -> list[float | None]:
    return [entry["value"], entry["low"], entry["high"]]


# --- a tournament ------------------------------------------------------------------------------

class Collected(NamedTuple):
    """Primary decisions of all runs and, of the main ones, policies by cell and run, and how
    they ended."""

    rows: list[Decision]
    policies: dict[str, dict[str, list[str]]]
    written: dict[str, Counter]


def tournament_runs(population: str, agents: int, seeds: Sequence[int],
                    names: Iterable[str] = ALL_PLANS) -> list[design.Run]:
    """Round 1, first encounters, of every run of these plans."""
    usual = design.load(design.DEFAULT) | {"agents": agents, "rounds": 1, "games_per_pair": 1}
    voices, _ = design.voices(usual, True, [population])
    bulletins = design.pools(map(_domain, FOLDERS))
    return [run for name in names for run in design.runs_of_plan(
        name, usual, voices, [s + design.NEW_SEEDS * design.PLANS[name].new for s in seeds],
        bulletins)]


def collect(population: str, runs: Iterable[design.Run]) -> Collected:
    """Every run played by the population, one in memory at a time."""
    out = Collected([], {}, {})
    for run in runs:
        t = design.design(_domain(run.config["domain"]), run.config)
        seed = run.config["seed"]
        played = replay(t, t.rounds[0], lambda request, s=seed: _answer(population, request, s))
        rows = list(_decisions(run, t, played))
        out.rows.extend(rows)
        if rows[0].role == "main":
            cell = cell_of(rows[0])
            out.policies.setdefault(cell, {})[run.run_id] = [
                reply.text for reply in played.policies.values()]
            out.written.setdefault(cell, Counter()).update(
                map(policy_status, played.policies.values()))
    return out


def _decisions(run: design.Run, t: Tournament, played: Played) -> Iterator[Decision]:
    """The rows that `decisions.decisions` reads from the run's files."""
    config, round_ = run.config, t.rounds[0]
    cell = tuple(config["toggles"][factor] for factor in CELL)
    read = Run(None, run.run_id, config, {}, role_of(config), cell, t.domain.cooperative)
    data = {"round": round_.number, "bulletin": round_.bulletin.id, "variant": round_.variant.id,
            "agents": {anon: {"id": agent} for agent, anon in round_.anon.items()}}
    games, _ = games_of(t, round_, played, {agent.id: Standing() for agent in t.agents})
    for game in games:
        yield from decisions_of(read, data, game)


def plans_of(population: str, size: Size) -> tuple[str, ...]:
    """The plans that a replication of this size plays."""
    return PLANS_OF.get(population, ALL_PLANS[:1]) if rows_of(size) <= MOST_ROWS else ALL_PLANS[:1]


def rows_of(size: Size) -> int:
    """First encounters of the confirmatory plan."""
    return size.agents * (size.agents - 1) * size.seeds * len(design.PLANS["confirmatory"].runs)


def _tournament(population: str, size: Size, drawn: int, fit: bool) -> dict[str, Any]:
    seeds = [drawn + step for step in range(size.seeds)]
    held = collect(population, tournament_runs(
        population, size.agents, seeds, plans_of(population, size)))
    parts = parts_of(held.rows)
    main = [row for row in held.rows if row.role == "main"]
    counts: dict[str, Counter] = {}
    for row in main:
        counts.setdefault(cell_of(row), Counter())[row.status] += 1
    point = endpoint(parts["main"], models(main, most_rows=0) if fit else NOT_FITTED)
    board = gates(Evidence(point, parts, tables_of(held.rows)))
    wires = tripwires(main, counts, held.policies, {population: {
        "models": [f"SIMULATED/{population}"], "providers": ["simulated"]}}, held.written)
    design_, low = point["design"], point["at_h"].get("low")
    return {
        "primary": _interval(design_), "p": design_["p"], "t_p": design_["t_p"],
        "by_seed_p": None,
        "delta": _interval(point["delta"]), "met": point["met"],
        "model": {name: _p_values(point["model"][name]) for name in
                  ("as_specified", "with_policy")} if fit else None,
        "at_h": {h: [own["value"], own["p"]] for h, own in point["at_h"].items()},
        "absent_at_low": None if low is None else not shown(low),
        "gates": {gate["gate"]: [gate["as_specified"]["verdict"], gate["established"]["verdict"]]
                  for gate in board},
        "superrational": all_pass(board),
        "tripped": {wire["tripwire"]: wire["tripped"] for wire in wires}}


NO_MODEL = {"separated": False, "primary": None, "why": "not fitted in this replication"}
NOT_FITTED = {"with_policy": NO_MODEL, "as_specified": NO_MODEL}


def _p_values(model: Mapping[str, Any]) -> dict[str, float | None]:
    """p of the interaction and of the primary contrast; None where there is no such test."""
    tests, primary = model["tests"], model["primary"]
    return {"SxC": tests["S:C"]["p"] if tests else None,
            "primary": primary["p"] if primary else None,
            "estimate": primary["estimate"] if primary else None}


# --- Which replications are wanted, which are there, and the work that is left, in portions ---

NAME = "replications.jsonl"
PORTION_S = 5.0       # of work, by the costs below: what an interruption may lose
SECONDS = {"trial": 1.2e-4, "decision": 1.3e-4, "fixed": 0.05, "fit": 1.5}
# Where a mixed model is fitted: the populations whose verdict hangs on it, in studies of a size
# that takes about a second a replication.
FITTED = ("superrational", "coin", "compliance", "compliance-cued", "reciprocal",
          "policies-0.5", "policies-1", "bulletins-1")
FIT_ROWS = 1500
# Everything that a replication passes through: whole folders.
CODE = ("stats/*.py", "common/*.py", "cirrus/*.py", "show/*.py")
Key = tuple[str, str, int]   # population, size, replication


class Work(NamedTuple):
    """A portion: these replications of one population and size."""

    population: str
    size: str
    reps: tuple[int, ...]
    seed: int
    fits: int


def run(work: Work) -> list[dict[str, Any]]:
    """The records of a portion; what an executor maps."""
    size = read_size(work.size)
    return [replicate(work.population, size, rep, work.seed,
                      fitted(work.population, size, rep, work.fits)) for rep in work.reps]


def fitted(population: str, size: Size, rep: int, fits: int) -> bool:
    """Whether this replication is analysed by mixed model too."""
    return (not size.pilot and population in FITTED and rep < fits
            and rows_of(size) <= FIT_ROWS)


def seconds(population: str, size: Size, fit: bool) -> float:
    """About how long one replication takes on a small machine's core."""
    if size.pilot:
        return SECONDS["trial"] * 16 * size.runs
    pairs = size.agents * (size.agents - 1) * size.seeds
    runs = sum(len(PLANS[name].runs) for name in plans_of(population, size))
    return SECONDS["fixed"] + SECONDS["decision"] * pairs * runs + SECONDS["fit"] * fit


def wanted(populations: Iterable[str], sizes: Sequence[Size], reps: int) -> list[Key]:
    """Every replication, first ones first: whatever is there when one stops covers all."""
    return [(population, size.name, rep) for rep in range(reps) for size in sizes
            for population in populations]


def portions(keys: Iterable[Key], done: Collection[Key], seed: int, fits: int) -> list[Work]:
    """What is not done, in portions of about PORTION_S, in order of first replications."""
    left: dict[tuple[str, str], list[int]] = {}
    for population, size, rep in keys:
        if (population, size, rep) not in done:
            left.setdefault((population, size), []).append(rep)
    works = [Work(*pair, tuple(reps), seed, fits) for pair, own in left.items()
             for reps in _split(*pair, own, fits)]
    return sorted(works, key=lambda work: work.reps[0])


def _split(population: str, size: str, reps: Sequence[int], fits: int) -> Iterator[list[int]]:
    known = read_size(size)
    for fit, own in groupby(reps, lambda rep: fitted(population, known, rep, fits)):
        own = list(own)
        most = max(1, int(PORTION_S / seconds(population, known, fit)))
        yield from (own[at:at + most] for at in range(0, len(own), most))


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
        new = not path.exists() or not path.stat().st_size
        if new:
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
        rows = [self.records[key] for key in sorted(self.records)]
        write_atomic(self.folder / f"{NAME}.gz", gzip_bytes(jsonl([self.header, *rows])))
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
