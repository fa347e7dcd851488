"""Reads tournament runs back: checks that they form one study, and yields their
decisions as rows.

    study = read_study(find_runs(["results/acausal/confirmatory-s42"]))
    rows = [row for run in study.runs for row in decisions(run)]

Runs form one study where they share prompts, agents and models. They may differ in
domain, toggles, seed, tells, variants, history mode, rounds and games a pair; any other
difference is an error that names it.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from cirrus.ask.bulletins import CELL, cooperative_word
from cirrus.ask.design import VARIATIONS, role_of, variations_of
from cirrus.ask.oneshot import DESIGNS
from cirrus.judge.contrasts import CELLS
from common import Incomplete, UsageError
from common.artifacts import canonical_json, content_sha256, json_file, read_bytes
from common.runs import stored_prompts
from common.shape import NAME, RESTORE, enum, list_of, read, record, several
from common.verify import open_run

# The settings in which runs of one study may differ.
VARY = (
    "domain",
    "toggles",
    "seed",
    "turn",
    "plan_seed",
    "rounds",
    "games_per_pair",
    *VARIATIONS,
)
APART = "; analyse them apart"
NOT_ONE_WAY = "differs from the main runs in more than one way"
PLAN_FILE = "plan.json"  # stands beside the runs of a plan
PLAN = record(artifact=enum("plan"), plan=NAME, runs=list_of(NAME))
RUNS_FILE = "runs.json"  # stands beside an analysis, and names its runs
NAMED = record(artifact=enum("runs"), runs=several(NAME))
CELL_WORDS = {(cell.S, cell.C): cell.words for cell in DESIGNS["2x2"].cells}


class SavedRun(NamedTuple):
    """A run's folder and its settings.

    `role` is what the run is for, such as "main" or "holdout". `cell` has the levels of
    S, C and H; `cooperative` is the word for the cooperative act.
    """

    folder: Path
    name: str
    config: dict[str, Any]
    manifest: dict[str, Any]
    role: str
    cell: tuple[str, str, str]
    cooperative: str

    @property
    def domain(self) -> str:
        return self.config["domain"]

    @property
    def seed(self) -> int:
        return self.config["seed"]

    @property
    def complete(self) -> bool:
        return self.manifest["state"] == "complete"

    @property
    def words(self) -> str:
        """The run's cell in a reader's words."""
        return in_words(self.domain, self.cell)


class Study(NamedTuple):
    """Runs in order of name; `limits` are sentences on what weakens conclusions from
    them."""

    runs: list[SavedRun]
    simulated: bool
    limits: list[str]


class Decision(NamedTuple):
    """One answer of a model agent.

    `cooperates` and `first_taken` (the option shown first was chosen) are 1 or 0, None
    where no decision could be read. `baseline` says whether the opponent is a baseline.
    """

    id: str
    run: str
    role: str
    seed: int
    domain: str
    S: str
    C: str
    H: str
    round: int
    encounter: int
    baseline: bool
    agent: str
    opponent: str
    policy: str
    bulletin: str
    variant: str
    wording: int
    label_scheme: str
    option_order: str
    option_first: str
    decision: str | None
    cooperates: int | None
    first_taken: int | None
    status: str
    read_from: str
    truncated: bool
    payoff: float | None
    power_after: float
    model: str
    served_model: str | None
    provider: str | None
    prompt_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cost_usd: float | None
    text: str

    @property
    def cell(self) -> tuple[str, str]:
        """(the cell's name, the level of H), such as ("HP", "low")."""
        return CELLS[self.S, self.C], self.H

    @property
    def words(self) -> str:
        """The decision's cell in a reader's words."""
        return in_words(self.domain, (self.S, self.C, self.H))

    @property
    def unit(self) -> tuple[int, str]:
        """(seed, agent), the unit of the endpoint's tests."""
        return self.seed, self.agent

    @property
    def primary(self) -> bool:
        """Whether the decision enters the primary analysis: round 1, first encounter,
        no baseline."""
        return self.round == 1 and self.encounter == 1 and not self.baseline


def in_words(domain: str, levels: Sequence[str]) -> str:
    """Name the levels of S, C and H, such as "cvd, symmetry + cue, compliance
    pressure low"."""
    s, c, h = levels
    return f"{domain}, {CELL_WORDS[s, c]}, compliance pressure {h}"


# --- which runs --------------------------------------------------------------------------------


def read_study(folders: Iterable[Path]) -> Study:
    """Read the runs in `folders` as one study.

    It raises UsageError where they don't form one, and Incomplete where no run has
    files yet.
    """
    known = dict.fromkeys(Path(folder).resolve() for folder in folders)
    runs, limits, empty = [], [], []
    for run in sorted(map(_run, known), key=attrgetter("name", "folder")):
        state = run.manifest["state"]
        if run.manifest.get("files"):
            runs.append(run)
        else:
            empty.append(run)
            limits.append(f"{run.name} ({state}) has no files yet and is left out.")
    if not runs:
        raise Incomplete(
            f"{empty[0].folder}: no files yet; the command that made the run resumes it"
        )
    _same_study(runs)
    limits += _missing_of_plans(runs)
    for run in runs:
        if run.role == "other":
            limits.append(f"{run.name} {NOT_ONE_WAY}; it enters no test.")
    return Study(list(map(_with_word, runs)), _simulated(runs[0]), limits)


def without_ratings(manifests: Mapping[Path, Mapping]) -> dict[Path, Mapping]:
    """Return {folder: manifest} without the adjudications among `manifests`.

    An adjudication stands beside the runs that it rated, and the analysis of these runs
    finds it by itself.
    """
    runs = {}
    for run, manifest in manifests.items():
        if manifest["artifact"] != "adjudication":
            runs[run] = manifest
    if not runs:
        raise UsageError(
            f"{next(iter(manifests))}: ratings only; give the runs that were rated"
        )
    return runs


def places(study: Study, out: Path | str | None = None) -> list[Path]:
    """List the folder that a study's analysis is written to, then further folders in
    which ratings may be.

    The analysis is written to `out`, or beside the runs where `out` is None.
    """
    parents = [run.folder.parent for run in study.runs]
    beside = Path(os.path.commonpath(parents))
    if len(parents) == 1:
        beside = study.runs[0].folder
    target = Path(out) if out else beside
    return [target, beside, *parents]


def runs_file(target: Path, runs: Iterable[Path]) -> bytes:
    """Return the content of runs.json for an analysis in the folder `target`: the
    paths of its runs."""
    paths = [path_from(target, run) for run in runs]
    return json_file({"artifact": "runs", "runs": paths})


def path_from(folder: Path, run: Path) -> str:
    """Return the path from `folder` to `run`, such as
    "../2x2-s42/cvd-S.high-C.present-H.low-s42"."""
    path = os.path.relpath(run.resolve(), folder.resolve())
    return Path(path).as_posix()


def runs_named(folder: Path) -> list[Path]:
    """List the runs that runs.json in an analysis's folder names."""
    named = read(folder / RUNS_FILE, NAMED, RESTORE)["runs"]
    return [(folder / path).resolve() for path in named]


def _run(folder: Path) -> SavedRun:
    """Read the run in a folder; `cooperative` is still empty."""
    manifest = open_run(folder)
    config = manifest["identity"]["config"]
    cell = tuple(config["toggles"][factor] for factor in CELL)
    name, role = folder.name, role_of(config)
    return SavedRun(
        folder=folder,
        name=name,
        config=config,
        manifest=manifest,
        role=role,
        cell=cell,
        cooperative="",
    )


def _with_word(run: SavedRun) -> SavedRun:
    """Return the run with the word for its cooperative act, taken from the prompts
    stored with it."""
    texts = stored_prompts(run.folder, run.manifest["identity"]["prompts"])
    return run._replace(cooperative=cooperative_word(run.domain, texts))


def _same_study(runs: Sequence[SavedRun]) -> None:
    """Check that the runs form one study; raise UsageError with the first difference
    that forbids it."""
    cells: dict[tuple, SavedRun] = {}
    prompts: dict[str, tuple[str, SavedRun]] = {}
    for run in runs:
        _check_design(runs[0], run)
        for name, digest in run.manifest["identity"]["prompts"].items():
            known, owner = prompts.setdefault(name, (digest, run))
            if known != digest:
                raise UsageError(
                    f"{owner.name} and {run.name}: made with different versions of "
                    f"prompts/{name}{APART}"
                )
        cell = (run.domain, run.cell, run.seed, *variations_of(run.config).items())
        twin = cells.setdefault(cell, run)
        if twin is not run:
            raise UsageError(
                f"{twin.folder} and {run.folder}: the same run twice; give one of them"
            )


def _check_design(first: SavedRun, run: SavedRun) -> None:
    """Raise UsageError where two runs differ in a setting that a study may not vary."""
    pair = f"{first.name} and {run.name}"
    if _simulated(run) != _simulated(first):
        raise UsageError(f"{pair}: one is simulated, the other is not{APART}")
    for key in sorted(first.config.keys() | run.config.keys()):
        before, now = first.config.get(key), run.config.get(key)
        if key not in VARY and before != now:
            values = f"{canonical_json(before)[:80]} and {canonical_json(now)[:80]}"
            raise UsageError(f"{pair}: different designs ({key}: {values}){APART}")


def _simulated(run: SavedRun) -> bool:
    return run.manifest["identity"]["provider"] == "simulated"


def plan_folders(runs: Iterable[SavedRun]) -> list[Path]:
    """List the parent folders of the runs, each once, that hold a plan.json."""
    parents = dict.fromkeys(run.folder.parent for run in runs)
    return [folder for folder in parents if (folder / PLAN_FILE).is_file()]


def plan_file(plan: Mapping[str, Any]) -> bytes:
    """Return the content of plan.json for a plan, {"name", "runs"}."""
    return json_file({"artifact": "plan", "plan": plan["name"], "runs": plan["runs"]})


def plans_in(folder: Path, identities: Iterable[Mapping]) -> list[dict[str, Any]]:
    """List the plans, {"name", "runs"}, to which the runs in a folder belong.

    They are read from the runs' identities, which journals begin with; plan.json is
    believed only where no identity names a plan.
    """
    told: list[dict[str, Any]] = []
    for identity in identities:
        if "plan" in identity and identity["plan"] not in told:
            told.append(identity["plan"])
    if told or not (folder / PLAN_FILE).is_file():
        return told
    data = read(folder / PLAN_FILE, PLAN, RESTORE)
    return [{"name": data["plan"], "runs": data["runs"]}]


def _missing_of_plans(runs: Sequence[SavedRun]) -> Iterator[str]:
    """Yield a sentence for each plan of which some runs are not among `runs`."""
    here = {run.folder for run in runs}
    beside: dict[Path, list[Mapping]] = {}
    for run in runs:
        identities = beside.setdefault(run.folder.parent, [])
        identities.append(run.manifest["identity"])
    for folder, identities in beside.items():
        for plan in plans_in(folder, identities):
            names = plan["runs"]
            missing = [name for name in names if folder / name not in here]
            if missing:
                share = f"{len(missing)} of {len(names)} runs of {folder.name}"
                yield f"{share} are not in this analysis: {', '.join(missing)}."


# --- what they hold ----------------------------------------------------------------------------


def artifact(run: SavedRun, name: str, checked: bool = True) -> Any:
    """Read the file `name` of a run as JSON; raise UsageError where it is not as
    hashed, unless `checked` is False."""
    path = run.folder / name
    if checked and not _is_as_hashed(path, run.manifest["files"].get(name)):
        raise UsageError(
            f"{path}: not what the run's manifest.json has hashed; analyze.py "
            "--verify says where it differs"
        )
    return json.loads(read_bytes(path))


def _is_as_hashed(path: Path, digest: str | None) -> bool:
    return path.is_file() and content_sha256(path) == digest


def _numbered(run: SavedRun, form: str) -> list[str]:
    """List the run's files with this name, in which {} is a round's number, round by
    round."""
    names = [form.format(n + 1) for n in range(run.config["rounds"])]
    return [name for name in names if name in run.manifest["files"]]


def policies(run: SavedRun, checked: bool = True) -> Iterator[dict[str, Any]]:
    """Yield every policy of a run as strategies_r{N}.json has it, round by round."""
    for name in _numbered(run, "strategies_r{}.json"):
        yield from artifact(run, name, checked)


def rounds(run: SavedRun, checked: bool = True) -> Iterator[dict[str, Any]]:
    """Yield the content of each round_{N}_games.json; only one is in memory at a
    time."""
    for name in _numbered(run, "round_{}_games.json"):
        yield artifact(run, name, checked)


def decisions(run: SavedRun, checked: bool = True) -> Iterator[Decision]:
    """Yield a row for each answer of a model agent, in the order of the schedule."""
    for data in rounds(run, checked):
        for game in data["games"]:
            yield from decisions_of(run, data, game)


def decisions_of(run: SavedRun, data: Mapping, game: Mapping) -> Iterator[Decision]:
    """Yield the rows of one game; `data` is the content of its round's file."""
    one, other = game["pair"]
    for agent, peer, side in ((one, other, "a"), (other, one, "b")):
        if game["answers"][agent]["model"] is not None:
            yield _decision(run, data, game, side, agent, peer)


def _decision(
    run: SavedRun, data: Mapping, game: Mapping, side: str, agent: str, peer: str
) -> Decision:
    """Return one side's answer as a row. `side` is "a" or "b"; `agent` and `peer` are
    the names of the agent and its opponent in this round."""
    act, answer = game["decision"][agent], game["answers"][agent]
    payoffs, tokens = game["raw_payoffs"], answer["tokens"]
    cooperates = first_taken = None
    if act is not None:
        cooperates = int(act == run.cooperative)
        cooperative_first = game["order"] == "cooperative-first"
        first_taken = cooperates if cooperative_first else 1 - cooperates
    s, c, h = run.cell
    return Decision(
        id=f"{game['id']}/{side}",
        run=run.name,
        role=run.role,
        seed=run.seed,
        domain=run.domain,
        S=s,
        C=c,
        H=h,
        round=data["round"],
        encounter=game["encounter"],
        baseline=game["baseline"],
        agent=data["agents"][agent]["id"],
        opponent=data["agents"][peer]["id"],
        policy=answer["policy_id"],
        bulletin=data["bulletin"],
        variant=answer["variant"],
        wording=data["wording"],
        label_scheme=game["label_scheme"],
        option_order=game["order"],
        option_first=game["labels"]["left"],
        decision=act,
        cooperates=cooperates,
        first_taken=first_taken,
        status=answer["status"],
        read_from=answer["read_from"],
        truncated=tokens["truncated"],
        payoff=payoffs and payoffs[agent],
        power_after=game["power_after"][agent],
        model=answer["model"],
        served_model=answer["served_model"],
        provider=answer["provider"],
        prompt_tokens=tokens["prompt"],
        output_tokens=tokens["output"],
        reasoning_tokens=tokens["reasoning"],
        cost_usd=answer["cost_usd"],
        text=answer["text"] or "",
    )
