"""Conduct runs of the tournament: ask what is missing, then derive every file from the journal.

A `Job` is one session: runs whose calls one process drives together. It can be pickled, so an
executor may map `conduct` over jobs; simulated plans make one job a run, live ones usually one
job of the whole plan, so that no run is confounded with its hour.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cirrus.ask.bulletins import PROMPTS, Source, cooperative_word
from cirrus.ask.cues import use
from cirrus.ask.design import STAGES, Run, by_folder, design, voices
from cirrus.ask.encounters import typical_calls
from cirrus.ask.prompts import Domain
from cirrus.ask.respondents import RESPONDENTS
from cirrus.instruments import domain_of, tournament
from cirrus.judge import schema
from cirrus.judge.prereg import FILE as PREREG
from common import COMPLETE, Stop, cli, instrument, wire
from common.artifacts import json_file, read_bytes, sha256, sweep, write_atomic
from common.cli import Choice
from common.instrument import Ended, Settings
from common.openrouter import public_address
from common.runs import Origin, RunFolder
from common.wire import Model, Terms


class Job(NamedTuple):
    """`limit_usd` is for all runs of the job, `limit_each` for one. No key travels with a job.
    Run ids differ within a job."""

    out: str
    runs: tuple[Run, ...]
    provider: str                  # "simulated" or "openrouter"
    address: str
    limits: dict[str, int]
    limit_usd: float
    limit_each: float
    settings: dict[str, Any]       # prices, assumed_price, deadline_s, routing
    name: str                      # shown in the progress line
    quiet: bool = False
    prompts: Source = PROMPTS      # of a plan: {path: text}, read once for all its runs


class Summary(NamedTuple):
    """What a session did for one run."""

    run: str
    run_id: str
    code: int
    note: str                      # why it ended, "" where it is complete
    simulated: bool
    figures: dict[str, Any]


def identity(job: Job, run: Run, domain: Domain) -> dict[str, Any]:
    """What makes two runs the same study; limits, prices and concurrency do not."""
    study = {"config": run.config, "prompts": dict(domain.files), "provider": "simulated",
             "prereg_sha256": prereg_hash(Path(job.out) / run.folder) if run.folder else None}
    if job.provider != "simulated":
        pin = job.settings.get("terms", Terms()).pin
        study |= {"provider": public_address(job.address),
                  "routing": dict(job.settings["routing"]), **({"pin": pin} if pin else {})}
    return study


def prereg_hash(folder: Path) -> str | None:
    """The hash of the preregistration in a plan's folder, None where there is none."""
    path = folder / PREREG
    return sha256(read_bytes(path)) if path.is_file() else None


def conduct(job: Job) -> list[Summary]:
    """Conduct the runs of a job, each in its own folder; a summary of each, in order.

    Raises Stop where nothing could begin at all.
    """
    use(job.prompts)
    domains = {name: domain_of(name, job.prompts)
               for name in {run.config["domain"]: None for run in job.runs}}
    simulated = job.provider == "simulated"
    settings = Settings(
        name=job.name, seed=job.runs[0].config["seed"], limits=job.limits,
        limit_usd=job.limit_usd, limit_each=job.limit_each, respondents=RESPONDENTS,
        quiet=job.quiet, silent=job.quiet, **job.settings)
    choice = Choice(simulated, job.address, "" if simulated else cli.api_key())
    origins = [_origin(job, run, domains[run.config["domain"]]) for run in job.runs]
    return list(map(_summary, instrument.conduct(
        [instrument.Run(origin, tournament(origin)) for origin in origins], choice, settings)))


def attempt(job: Job) -> list[Summary]:
    """`conduct` for an executor: an error that says what to do is a summary, not an exception."""
    try:
        return conduct(job)
    except Stop as stop:
        return [Summary(str(Path(job.out) / run.folder / run.run_id), run.run_id, stop.code,
                        str(stop), job.provider == "simulated", {}) for run in job.runs]


def note_plan(out: str, plan: str | None, runs: list[Run]) -> None:
    """plan.json in a plan's folder: which runs belong to it, begun or not."""
    for folder, own in by_folder(runs) if plan else ():
        path = Path(out) / folder / "plan.json"
        content = json_file({"artifact": "plan", "plan": folder.rpartition("-s")[0],
                             "runs": [run.run_id for run in own]})
        if path.parent.is_dir() and not (path.is_file() and path.read_bytes() == content):
            sweep(path.parent, path.name)
            write_atomic(path, content)


def _origin(job: Job, run: Run, domain: Domain) -> Origin:
    return Origin(Path(job.out) / run.folder / run.run_id, identity(job, run, domain), domain.texts)


def _summary(ended: Ended) -> Summary:
    folder, manifest = ended.folder, ended.folder.manifest
    return Summary(str(folder.path), folder.path.name, ended.stop.code if ended.stop else COMPLETE,
                   str(ended.stop or ended.note), manifest["simulated"],
                   {"state": manifest["state"], "cost_usd": manifest["cost"]["spent_usd"],
                    "elapsed_s": manifest["elapsed_s"], "files": len(manifest["files"]),
                    "attempts": manifest["journal"]["attempts"],
                    "first_encounters": first_encounters(folder)})


def first_encounters(folder: RunFolder) -> str | None:
    """ "61 of 88 readable decisions" of round 1's first encounters between models."""
    path = folder.path / "round_1_games.json"
    if not path.is_file():
        return None
    data = schema.load(path)
    cooperative = cooperative_word(data["domain"], folder.origin.prompts)
    acts = [act for game in data["games"] if game["first_encounter"] and not game["baseline"]
            for act in game["decision"].values() if act is not None]
    return f"{acts.count(cooperative)} of {len(acts)} readable decisions"


# --- what a run will probably cost, from its rendered prompts and the price table ---------------

def calls_of(config: Mapping[str, Any]) -> int:
    """How many calls a run makes: policies, and one for each model in each encounter."""
    models, baselines = config["agents"], len(config["baselines"])
    seats = models * (models - 1) + models * baselines
    return config["rounds"] * (models + config["games_per_pair"] * seats)


def estimate(run: Run, domain: Domain, settings: Mapping[str, Any], simulated: bool,
             models: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Calls, tokens read (four bytes each) and dollars of a run, by stage.

    `models`: those of the configuration instead of the run's own.
    """
    config = run.config
    if models is not None:
        config = config | {"models": voices(settings, False, None)[0]}
    t = design(domain, config)
    prices = {name: wire.as_model(entry) for name, entry in settings["prices"].items()}
    assumed = wire.as_model(settings["assumed_price"])
    calls, tokens, usd = dict.fromkeys(STAGES, 0), 0, 0.0
    for request, times in typical_calls(t):
        calls[request.stage] += times
        tokens += times * (len(request.system.encode()) + len(request.user.encode())) // 4
        usd += 0.0 if simulated else times * wire.expected_cost(
            request, prices.get(request.model, Model()), assumed)
    names = dict.fromkeys(v["name"] for stage in STAGES for v in config["models"][stage])
    return {"run_id": run.run_id, "agents": config["agents"], "rounds": config["rounds"],
            "games": sum(len(pair.labels) for round_ in t.rounds for pair in round_.pairs),
            "calls": sum(calls.values()), "by_stage": calls, "prompt_tokens": tokens, "usd": usd,
            "models": list(names),
            "unpriced": [] if simulated else [name for name in names if name not in prices]}
