"""Plans: tables of runs. A built-in one by name, or a JSON file.

    {"name": "history", "runs": [{"toggles": {"S": "high", "C": "present", "H": "low"}},
                                 {"domain": "hospital", "rounds": 6, "history_mode": "off"}]}

A run may set: agents, rounds, domain, toggles, games_per_pair, baselines, tells, variants,
history_mode, label_schemes, option_order, seed. What it leaves out comes from the configuration.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from cirrus.settings import RANDOMIZATION, RUN_CHECKS, VOICE, check_run, run_config
from cirrus.tournament import run_name
from common import config as c
from common.exits import UsageError
from common.runs import check_run_id

NEW_SEEDS = 1000  # added to the usual seeds where a plan wants others than were used before
CELLS = [{"S": s, "C": cue, "H": h}
         for s, cue, h in product(("high", "low"), ("present", "absent"), ("high", "low"))]
EXTREMES = [{"S": "high", "C": "present", "H": "low"}, {"S": "low", "C": "absent", "H": "low"}]


class Run(NamedTuple):
    """One run of a plan: its folder below --out, its name, and everything that was chosen."""

    folder: str
    run_id: str
    config: dict[str, Any]


class Plan(NamedTuple):
    """`repeats`: seeds a plan brings of itself; `new`: not those of the other plans."""

    runs: Sequence[Mapping[str, Any]]
    repeats: int = 1
    new: bool = False


def _in(domain: str, cells: Iterable[Mapping], **own: Any) -> list[dict[str, Any]]:
    return [{"domain": domain, "toggles": dict(cell), **own} for cell in cells]


PLANS: dict[str, Plan] = {
    "confirmatory": Plan(_in("cvd", CELLS) + _in("hospital", EXTREMES)),
    "exploratory": Plan(_in("cvd", CELLS) + _in("hospital", CELLS), repeats=3),
    "holdout": Plan(_in("cvd", CELLS, variants="holdout"), new=True),
    "ablation": Plan(_in("cvd", CELLS, tells="ablated")),
    "history-off": Plan(_in("cvd", CELLS, history_mode="off")),
}
FILE_CHECKS: dict[str, c.Check] = RUN_CHECKS | RANDOMIZATION | {"seed": c.seed}


def seeds_of(plan: Plan, usual: Sequence[int], given: Sequence[int] | None) -> list[int]:
    """The seeds of a plan: those given by hand, else the configuration's, repeated or renewed."""
    if given:
        return list(given)
    own = [seed + step for step in range(plan.repeats) for seed in usual]
    return [seed + NEW_SEEDS for seed in dict.fromkeys(own)] if plan.new else list(
        dict.fromkeys(own))


def read_plan(name: str) -> tuple[str, Plan, bool]:
    """(name, plan, whether it is built in). UsageError where there is none such."""
    if name in PLANS:
        return name, PLANS[name], True
    path = Path(name)
    if not name.endswith(".json"):
        raise UsageError(f"--plan: no plan {name!r}; {c.nearest(name, PLANS)} "
                         f"(there are {', '.join(PLANS)}, or a .json file)")
    data = c.load(path, {"name": VOICE["name"], "runs": _runs})
    for at, run in enumerate(data.get("runs") or [None]):
        if not isinstance(run, dict):
            raise UsageError(f"{path}: needs runs, a list of objects")
        c.check(run, FILE_CHECKS, f"{path}: runs[{at}]")
    return check_run_id(data.get("name", path.stem)), Plan(data["runs"]), False


def _runs(value: Any) -> str | None:
    return None if isinstance(value, list) and value else "must be a list with at least one run"


def runs_of_plan(name: str, settings: Mapping[str, Any], models: Mapping[str, list[dict]],
                 given: Sequence[int] | None, bulletins: Mapping[str, int]) -> list[Run]:
    """Every run of a plan, seed by seed. `bulletins`: how many each domain has.

    The runs of one seed stand in one folder, <plan>-s<seed>. A built-in plan has no more rounds
    than a domain has bulletins; a file is taken at its word.
    """
    name, plan, built_in = read_plan(name)
    runs = []
    for seed in seeds_of(plan, settings["randomization"]["seeds"], given):
        for own in plan.runs:
            config = _config(settings, models, seed, own)
            if built_in:
                config["rounds"] = min(config["rounds"], bulletins[config["domain"]])
            runs.append(Run(f"{name}-s{seed}", run_name(config), config))
    return checked(runs, bulletins)


def _config(settings: Mapping, models: Mapping, seed: int, own: Mapping) -> dict[str, Any]:
    own = dict(own)
    toggles = settings["toggles"] | own.pop("toggles", {})
    return run_config(settings, own.pop("seed", seed), models, toggles=toggles, **own)


def single_runs(settings: Mapping[str, Any], models: Mapping[str, list[dict]],
                given: Sequence[int] | None, bulletins: Mapping[str, int]) -> list[Run]:
    """One run a seed, in one condition, straight below --out."""
    configs = [run_config(settings, models=models, seed=seed)
               for seed in given or settings["randomization"]["seeds"]]
    return checked([Run("", run_name(config), config) for config in configs], bulletins)


def checked(runs: list[Run], bulletins: Mapping[str, int]) -> list[Run]:
    """`runs` where none is named twice and each is possible; UsageError otherwise."""
    seen: set[str] = set()
    for run in runs:
        check_run(run.config, bulletins[run.config["domain"]])
        if run.run_id in seen:
            raise UsageError(f"plan: the run {run.run_id} is named twice; runs need to differ in "
                             "domain, toggles, tells, variants, history_mode or seed")
        seen.add(run.run_id)
    return runs


def by_folder(runs: Iterable[Run]) -> Iterator[tuple[str, list[Run]]]:
    """(folder, its runs) in order."""
    folders: dict[str, list[Run]] = {}
    for run in runs:
        folders.setdefault(run.folder, []).append(run)
    yield from folders.items()
