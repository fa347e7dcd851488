"""Conduct runs of the tournament: ask what is missing, then derive every file from the journal.

A `Job` is one session: runs whose calls one process drives together. It can be pickled, so an
executor may map `conduct` over jobs; simulated plans make one job a run, live ones usually one
job of the whole plan, so that no run is confounded with its hour.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from cirrus.ask.bulletins import PROMPTS, Source, cooperative_word
from cirrus.ask.design import Run, Tournament, by_folder, design
from cirrus.ask.encounters import chains, request_ids, typical_calls
from cirrus.ask.prompts import Domain, ScenarioError, load_domain
from cirrus.ask.respondents import RESPONDENTS
from cirrus.judge import schema
from cirrus.judge.games import derive
from cirrus.judge.prereg import FILE as PREREG
from common import cli
from common.artifacts import canonical_json, json_file, read_bytes, sha256, sweep, write_atomic
from common.cli import Choice
from common.exits import COMPLETE, Incomplete, Stop, UsageError
from common.journal import journal_file, read_answers
from common.preflight import Terms
from common.runs import RunFolder, code_hashes, kept_prompts
from common.session import Settings
from common.together import SharedSession, Together

INSTRUMENT = "tournament"


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


class Summary(NamedTuple):
    """What a session did for one run."""

    run: str
    run_id: str
    code: int
    note: str                      # why it ended, "" where it is complete
    simulated: bool
    figures: dict[str, Any]


def domain_of(name: str, source: Source = PROMPTS) -> Domain:
    """The domain's prompts; a fault in them is one line."""
    try:
        return load_domain(name, source)
    except ScenarioError as error:
        raise UsageError(str(error)) from None


def identity(run: Run, domain: Domain, provider: str, address: str, routing: Mapping,
             prereg: str | None, pin: str | None = None) -> dict[str, Any]:
    """What makes two runs the same study; limits, prices and concurrency do not."""
    study = {"config": run.config, "prompts": dict(domain.files), "prereg_sha256": prereg,
             "provider": "simulated"}
    if provider != "simulated":
        study |= {"provider": cli.provider_of(address).public_address(address),
                  "routing": dict(routing), **({"pin": pin} if pin else {})}
    return study


def prereg_hash(folder: Path) -> str | None:
    """The hash of the preregistration in a plan's folder, None where there is none."""
    path = folder / PREREG
    return sha256(read_bytes(path)) if path.is_file() else None


def conduct(job: Job) -> list[Summary]:
    """Conduct the runs of a job, each in its own folder; a summary of each, in order.

    Raises Stop where nothing could begin at all.
    """
    domains = {run.config["domain"]: domain_of(run.config["domain"]) for run in job.runs}
    with ExitStack() as stack:
        folders = {run.run_id: _open(stack, job, run, domains) for run in job.runs}
        done = {name: _summary(folder, COMPLETE, "already complete; nothing to do")
                for name, folder in folders.items() if folder.finished}
        left = [run for run in job.runs if run.run_id not in done]
        if left:
            designs = [design(domains[run.config["domain"]], run.config) for run in left]
            done |= _sit(job, designs, [folders[run.run_id] for run in left])
        return [done[name] for name in folders]


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


def _open(stack: ExitStack, job: Job, run: Run, domains: Mapping[str, Domain]) -> RunFolder:
    out = Path(job.out) / run.folder
    study = identity(run, domains[run.config["domain"]], job.provider, job.address,
                     job.settings["routing"], prereg_hash(out) if run.folder else None,
                     job.settings.get("terms", Terms()).pin)
    return stack.enter_context(RunFolder(out, run.run_id, INSTRUMENT, study,
                                         domains[run.config["domain"]].texts))


def _sit(job: Job, designs: list[Tournament], folders: list[RunFolder]) -> dict[str, Summary]:
    simulated = job.provider == "simulated"
    together = Together({t.name: folder for t, folder in zip(designs, folders, strict=True)},
                        job.limit_each)
    settings = Settings(
        name=job.name, seed=designs[0].config["seed"], limits=job.limits,
        limit_usd=job.limit_usd, respondents=RESPONDENTS, quiet=job.quiet, **job.settings)
    choice = Choice(simulated, job.address, "" if simulated else cli.api_key())
    session = SharedSession(together, choice, settings,
                            [call for t in designs for call in typical_calls(t)])
    ending = session.conduct(chains(designs))
    return {folder.path.name: _finish(folder, t, ending.stop)
            for t, folder in zip(designs, folders, strict=True)}


def _finish(folder: RunFolder, t: Tournament, stop: Stop | None) -> Summary:
    """Derive the run's files from its journal and close it."""
    folder.journal.close()
    answers = read_answers(journal_file(folder.path), folder.identity)
    code = sha256(canonical_json(code_hashes()))
    files = derive(folder.identity, t.domain, answers.replies,
                   {"code_sha256": code, "charged_usd": answers.charged_usd}) if (
        answers.replies) else {}
    left = _left(t, answers.replies)
    stop = (stop or _leftovers(left)) if left else None
    for room in sorted({(folder.path / name).parent for name in files}):
        room.mkdir(parents=True, exist_ok=True)
    folder.finish(files, stop, {"simulated": folder.identity["provider"] == "simulated",
                                "prereg_sha256": folder.identity["prereg_sha256"]})
    return _summary(folder, stop.code if stop else COMPLETE, str(stop or ""))


def _left(t: Tournament, replies: Mapping) -> dict[str, int]:
    """Calls without an answer: {"failed": …, "not asked": …}, empty where none."""
    failed = asked = 0
    for name in request_ids(t):
        asked += name not in replies
        failed += (name in replies and replies[name].outcome == "provider_error"
                   and not replies[name].final)
    return {key: n for key, n in (("failed", failed), ("not asked", asked)) if n}


def _leftovers(left: Mapping[str, int]) -> Incomplete:
    what = " and ".join(f"{n} {key}" for key, n in left.items())
    return Incomplete(f"calls left: {what}; the same command asks them")


def _summary(folder: RunFolder, code: int, note: str) -> Summary:
    manifest = folder.manifest
    return Summary(str(folder.path), folder.path.name, code, note,
                   folder.identity["provider"] == "simulated",
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
    cooperative = cooperative_word(
        data["domain"], kept_prompts(folder.path, folder.identity["prompts"]))
    acts = [act for game in data["games"] if game["first_encounter"] and not game["baseline"]
            for act in game["decision"].values() if act is not None]
    return f"{acts.count(cooperative)} of {len(acts)} readable decisions"
