"""Runs of the tournament read back: which belong together, and their decisions as tidy rows.

    study = read_study(find_runs(["results/acausal/confirmatory-s42"]))
    rows = [row for run in study.runs for row in decisions(run)]

Runs are one study where they share prompts, agents and models and differ in domain, toggles,
seed, tells, variants, history mode, rounds or games a pair; anything else is refused by name.
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
from cirrus.judge import games
from cirrus.judge.contrasts import CELLS
from common import Incomplete, UsageError
from common.artifacts import canonical_json, content_sha256, json_file, read_bytes
from common.runs import stored_prompts
from common.shape import NAME, RESTORE, enum, list_of, read, record, several
from common.verify import open_run

# In what runs of one study may differ.
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
PLAN_FILE = "plan.json"  # beside the runs of a plan
PLAN = record(artifact=enum("plan"), plan=NAME, runs=list_of(NAME))
RUNS_FILE = "runs.json"  # beside an analysis: the runs that it was made from
NAMED = record(artifact=enum("runs"), runs=several(NAME))
CELL_WORDS = {(cell.S, cell.C): cell.words for cell in DESIGNS["2x2"].cells}


class SavedRun(NamedTuple):
    """A run's folder and what was chosen for it. `cell`: levels of S, C and H;
    `cooperative`: the word of the cooperative act."""

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
        """Its cell in a reader's words."""
        return in_words(self.domain, self.cell)


class Study(NamedTuple):
    """Runs in order of name; `limits`: what stands against a plain reading, in sentences."""

    runs: list[SavedRun]
    simulated: bool
    limits: list[str]


class Decision(NamedTuple):
    """One answer of a model agent. `cooperates`, `first_taken` (the option shown first was
    chosen): 1, 0, or None where no decision could be read. `baseline`: the opponent is one."""

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
        """Its cell's name, and the level of H."""
        return CELLS[self.S, self.C], self.H

    @property
    def words(self) -> str:
        """Its cell in a reader's words."""
        return in_words(self.domain, (self.S, self.C, self.H))

    @property
    def unit(self) -> tuple[int, str]:
        """What was drawn: an agent under a seed."""
        return self.seed, self.agent

    @property
    def primary(self) -> bool:
        """Round 1, first encounter, no baseline."""
        return self.round == 1 and self.encounter == 1 and not self.baseline


def in_words(domain: str, levels: Sequence[str]) -> str:
    """ "cvd, symmetry + cue, compliance pressure low", of levels of S, C and H."""
    s, c, h = levels
    return f"{domain}, {CELL_WORDS[s, c]}, compliance pressure {h}"


# --- which runs --------------------------------------------------------------------------------


def read_study(folders: Iterable[Path]) -> Study:
    """The runs of `folders` as one study; UsageError where they are none, Incomplete where none
    has files yet."""
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
    """The runs among {folder: manifest}: an adjudication stands beside those that it has rated,
    and their analysis reads it by itself."""
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
    """Where the analysis of a study is written (below `out`, else beside its runs), and then the
    other folders in which ratings of its policies may stand."""
    parents = [run.folder.parent for run in study.runs]
    beside = Path(os.path.commonpath(parents))
    if len(parents) == 1:
        beside = study.runs[0].folder
    target = Path(out) if out else beside
    return [target, beside, *parents]


def runs_file(target: Path, runs: Iterable[Path]) -> bytes:
    """What runs.json says in `target`, the folder of an analysis: the paths of its runs."""
    paths = [path_from(target, run) for run in runs]
    return json_file({"artifact": "runs", "runs": paths})


def path_from(folder: Path, run: Path) -> str:
    """Such as "../2x2-s42/cvd-S.high-C.present-H.low-s42"."""
    path = os.path.relpath(run.resolve(), folder.resolve())
    return Path(path).as_posix()


def runs_named(folder: Path) -> list[Path]:
    """The runs that runs.json names in the folder of an analysis."""
    named = read(folder / RUNS_FILE, NAMED, RESTORE)["runs"]
    return [(folder / path).resolve() for path in named]


def _run(folder: Path) -> SavedRun:
    manifest = open_run(folder)
    config = manifest["identity"]["config"]
    cell = tuple(config["toggles"][factor] for factor in CELL)
    name, role = folder.name, role_of(config)
    return SavedRun(folder, name, config, manifest, role, cell, cooperative="")


def _with_word(run: SavedRun) -> SavedRun:
    """With the word of the cooperative act, in the prompts that it was made with."""
    texts = stored_prompts(run.folder, run.manifest["identity"]["prompts"])
    return run._replace(cooperative=cooperative_word(run.domain, texts))


def _same_study(runs: Sequence[SavedRun]) -> None:
    first = runs[0]
    cells: dict[tuple, SavedRun] = {}
    prompts: dict[str, tuple[str, SavedRun]] = {}
    for run in runs:
        pair = f"{first.name} and {run.name}"
        if _simulated(run) != _simulated(first):
            raise UsageError(f"{pair}: one is simulated, the other is not{APART}")
        for key in sorted(first.config.keys() | run.config.keys()):
            before, now = first.config.get(key), run.config.get(key)
            if key not in VARY and before != now:
                values = f"{canonical_json(before)[:80]} and {canonical_json(now)[:80]}"
                raise UsageError(f"{pair}: different designs ({key}: {values}){APART}")
        for name, digest in run.manifest["identity"]["prompts"].items():
            known, owner = prompts.setdefault(name, (digest, run))
            if known != digest:
                raise UsageError(
                    f"{owner.name} and {run.name}: made with different versions of "
                    f"prompts/{name}{APART}"
                )
        cell = (run.domain, run.cell, run.seed, *variations_of(run.config).items())
        if cell in cells:
            raise UsageError(
                f"{cells[cell].folder} and {run.folder}: the same run twice; "
                "give one of them"
            )
        cells[cell] = run


def _simulated(run: SavedRun) -> bool:
    return run.manifest["identity"]["provider"] == "simulated"


def plan_folders(runs: Iterable[SavedRun]) -> list[Path]:
    """The folders that hold plan.json, of these runs, in order."""
    parents = dict.fromkeys(run.folder.parent for run in runs)
    return [folder for folder in parents if (folder / PLAN_FILE).is_file()]


def plan_file(plan: Mapping[str, Any]) -> bytes:
    """What plan.json says of a plan, {"name", "runs"}."""
    return json_file({"artifact": "plan", "plan": plan["name"], "runs": plan["runs"]})


def plans_in(folder: Path, identities: Iterable[Mapping]) -> list[dict[str, Any]]:
    """The plans, {"name", "runs"}, of runs in a folder: what their identities say, which the
    journals begin with. Only where none says anything, plan.json is taken at its word."""
    told: list[dict[str, Any]] = []
    for identity in identities:
        if "plan" in identity and identity["plan"] not in told:
            told.append(identity["plan"])
    if told or not (folder / PLAN_FILE).is_file():
        return told
    data = read(folder / PLAN_FILE, PLAN, RESTORE)
    return [{"name": data["plan"], "runs": data["runs"]}]


def _missing_of_plans(runs: Sequence[SavedRun]) -> Iterator[str]:
    """A sentence on each plan of which runs are not among these."""
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
    """An artifact of a run: its hash is the manifest's and its shape its table's."""
    path = run.folder / name
    if not checked:
        return json.loads(read_bytes(path))
    value = games.load(path)
    if content_sha256(path) != run.manifest["files"].get(name):
        raise UsageError(
            f"{path}: not what the run's manifest.json has hashed; analyze.py "
            "--verify says where it differs"
        )
    return value


def _numbered(run: SavedRun, form: str) -> list[str]:
    names = [form.format(n + 1) for n in range(run.config["rounds"])]
    return [name for name in names if name in run.manifest["files"]]


def policies(run: SavedRun, checked: bool = True) -> Iterator[dict[str, Any]]:
    """Every policy of a run, as in strategies_r{N}.json, in order of rounds."""
    for name in _numbered(run, "strategies_r{}.json"):
        yield from artifact(run, name, checked)


def rounds(run: SavedRun, checked: bool = True) -> Iterator[dict[str, Any]]:
    """round_{N}_games.json of each round; one is in memory at a time."""
    for name in _numbered(run, "round_{}_games.json"):
        yield artifact(run, name, checked)


def decisions(run: SavedRun, checked: bool = True) -> Iterator[Decision]:
    """One row an answer of a model agent, in schedule order."""
    for data in rounds(run, checked):
        for game in data["games"]:
            yield from decisions_of(run, data, game)


def decisions_of(run: SavedRun, data: Mapping, game: Mapping) -> Iterator[Decision]:
    """The rows of one game; `data`: its round."""
    one, other = game["pair"]
    for agent, peer, side in ((one, other, "a"), (other, one, "b")):
        if game["answers"][agent]["model"] is not None:
            yield _decision(run, data, game, side, agent, peer)


def _decision(
    run: SavedRun, data: Mapping, game: Mapping, side: str, agent: str, peer: str
) -> Decision:
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
