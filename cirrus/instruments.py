"""The studies of CIRRUS-24 as instruments: what each asks, and what its files must say.

run = pilot(Origin(folder, identity, domain.texts))
INSTRUMENTS["pilot"](origin)                       # the same, by the manifest's `artifact`
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from cirrus.ask import encounters, oneshot, probes
from cirrus.ask.bulletins import (
    PROMPTS,
    Domain,
    Source,
    cooperative_word,
    load_domain,
    read_text,
)
from cirrus.ask.cues import use
from cirrus.ask.design import STAGES, Run, by_folder, design
from cirrus.ask.prompts import EXAMPLES
from cirrus.ask.respondents import RESPONDENTS
from cirrus.judge import games, prereg
from cirrus.judge.oneshot import analyse
from cirrus.judge.rows import Study, read_study
from cirrus.markers import ratings
from cirrus.reports.pilot import files as report_files
from common import COMPLETE, Stop, UsageError, cli, instrument, wire
from common.artifacts import (
    canonical_json,
    csv_bytes,
    gzip_bytes,
    json_file,
    jsonl,
    read_bytes,
    sha256,
    write_atomic,
)
from common.drive import Chain, ask
from common.instrument import Derived, Ended, Instrument, Settings, tallied
from common.journal import Answers
from common.openrouter import public_address
from common.rng import SeededRandom
from common.runs import Origin, code_hashes, elapsed
from common.wire import UNANSWERED, Request


def domain_of(name: str, source: Source = PROMPTS) -> Domain:
    """The domain's prompts; a fault in them is one line."""
    if isinstance(source, Path) and not source.is_dir():
        raise UsageError(f"--prompts {source}: no such folder; give a copy of prompts/")
    try:
        return (
            load_domain(name, source)
            if isinstance(source, Path)
            else (_loaded(name, tuple(sorted(source.items()))))
        )
    except UsageError as error:
        given = isinstance(source, Path) and source != PROMPTS
        raise UsageError(
            f"--prompts {source}: {error}" if given else str(error)
        ) from None


@lru_cache(4)
def _loaded(name: str, texts: tuple[tuple[str, str], ...]) -> Domain:
    """The runs of a plan have kept the same texts: their checks take ten times a run's own."""
    return load_domain(name, dict(texts))


# --- pilot -------------------------------------------------------------------------------------

# The text of an answer stays out: a spreadsheet would run a cell that begins with "=".
CSV_FIELDS = (
    "id",
    "model",
    "run",
    "cell",
    "S",
    "C",
    "H",
    "entry",
    "lever",
    "wording",
    "domain",
    "bulletin",
    "variant",
    "label_scheme",
    "order",
    "option_first",
    "decision",
    "cooperates",
    "status",
    "served_model",
    "provider",
    "prompt_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cost_usd",
)


def pilot(origin: Origin) -> Instrument:
    """A run of run_pilot.py."""
    study, config = origin.identity, origin.identity["config"]
    domain = domain_of(config.get("domain", oneshot.DOMAIN), origin.prompts)

    def deal() -> list[list[oneshot.Trial]]:
        return oneshot.design(
            domain, config, config["models"], origin.prompts.get(EXAMPLES, "")
        )

    blocks = cache(deal)

    @cache
    def probed() -> list:
        return (
            []
            if not config.get("probes")
            else probes.deal(
                probes.texts(origin.prompts),
                domain,
                config,
                [trials[0].block for trials in blocks()],
            )
        )

    def requests() -> list[Request]:
        return [trial.request for block in (*blocks(), probed()) for trial in block]

    def chains() -> list[Chain]:
        decisions = [ask([trial.request for trial in block]) for block in blocks()]
        return [*decisions, *(probes.ask(trial, decisions) for trial in probed())]

    def derive(answers: Answers) -> Derived:
        again = deal()  # anew: what a seed gives once it has to give twice
        rows = oneshot.rows(
            again, [[answers(trial.request) for trial in block] for block in again]
        )
        answered = {row["id"] for row in rows if row["status"] not in UNANSWERED}
        trials = [trial for block in again for trial in block if trial.id in answered]
        same = sum(
            answers.read[trial.id].question_sha256 == trial.request.sha256()
            for trial in trials
        )
        probe_rows = [probes.row(trial, answers(trial.request)) for trial in probed()]
        return Derived(
            pilot_files(
                rows,
                [trial.request for trial in trials],
                study,
                (same, len(trials)),
                probe_rows,
            )
            if trials
            else {},
            {"statuses": tallied(rows, "status")},
        )

    return Instrument(
        "pilot",
        "trials",
        lambda: [request.id for request in requests()],
        lambda: [(request, 1) for request in requests()],
        chains,
        derive,
    )


def further_texts(config: Mapping[str, Any], source: Source) -> dict[str, str]:
    """{path: text} of what a study asks or shows beside its domain's prompts."""
    files: dict[str, str] = {}
    for factor, path in (("probes", probes.FILE), ("examples", EXAMPLES)):
        if config.get(factor):
            read_text(source, path, files)
    return files


def pilot_files(
    rows: Sequence[Mapping],
    answered: Sequence[Request],
    study: Mapping[str, Any],
    dealt: tuple[int, int],
    probed: Sequence[Mapping],
) -> dict[str, bytes]:
    """{file name: content}. `answered`: the requests that have an answer; `dealt`: how many of how
    many of them the seed deals again; `probed`: rows of probes."""
    # Read back from its own JSON: what is shown then has the digits that the file has.
    out = json.loads(canonical_json(analyse(rows, study, dealt, probed)))
    trials = jsonl(rows)
    # Identity of design and prompts, whoever serves the models.
    hashes = {
        "design": sha256(
            canonical_json({key: study[key] for key in ("config", "prompts")})
        ),
        "trials": sha256(trials),
    }
    prompts = {
        request.id: (
            request.system,
            *filter(None, ["\n\n".join(request.examples)]),
            request.user,
        )
        for request in answered
    }
    made = {
        "trials.jsonl.gz": gzip_bytes(trials),
        "trials.csv": csv_bytes(CSV_FIELDS, map(_flat, rows)),
        "pilot-analysis.json": json_file(out | {"design_sha256": hashes["design"]}),
        **({"probes.jsonl.gz": gzip_bytes(jsonl(probed))} if probed else {}),
    }
    texts = report_files(out, rows, prompts, hashes)
    return made | {name: text.encode() for name, text in texts.items()}


def _flat(row: Mapping) -> dict[str, Any]:
    return {
        **row,
        "option_first": row["options"][0],
        **{
            f"{what}_tokens": row["tokens"][what]
            for what in ("prompt", "output", "reasoning")
        },
    }


# --- tournament --------------------------------------------------------------------------------


def tournament(origin: Origin) -> Instrument:
    """A run of run_tournament.py."""
    study = origin.identity
    domain = cache(lambda: domain_of(study["config"]["domain"], origin.prompts))
    dealt = cache(lambda: design(domain(), study["config"]))

    def derive(answers: Answers) -> Derived:
        files, manifest = games.derive(
            study,
            domain(),
            answers,
            {
                "code_sha256": sha256(canonical_json(origin.code or code_hashes())),
                "charged_usd": answers.charged_usd,
            },
        )
        return Derived(
            files,
            {
                "statuses": manifest["statuses"],
                "prereg_sha256": study.get("prereg_sha256"),
            },
        )

    return Instrument(
        "tournament",
        "calls",
        lambda: encounters.request_ids(dealt()),
        lambda: encounters.typical_calls(dealt()),
        lambda: encounters.chains(dealt()),
        derive,
    )


# --- adjudication ------------------------------------------------------------------------------


def adjudication(origin: Origin) -> Instrument:
    """A run of adjudicate.py. The policies that it rates stand in the runs that its identity
    names, by path from its folder."""
    config = origin.identity["config"]
    items = cache(lambda: items_again(origin.folder, origin.identity))
    requests = cache(
        lambda: ratings.rating_requests(
            config,
            items(),
            ratings.codebook(origin.prompts[ratings.CODEBOOK]),
            origin.prompts.get(EXAMPLES, ""),
        )
    )

    def derive(answers: Answers) -> Derived:
        replies = {request.id: answers(request) for request in requests()}
        rows = list(ratings.rating_rows(config, items(), replies, answers.simulated))
        return Derived(
            {ratings.RATINGS: jsonl(rows)},
            {"statuses": tallied(rows, "rater", "status")},
        )

    return Instrument(
        "adjudication",
        "ratings",
        lambda: [request.id for request in requests()],
        lambda: [(request, 1) for request in requests()],
        lambda: list(map(ask, requests())),
        derive,
    )


def sources(study: Study, folder: Path) -> dict[str, str]:
    """{run's path from the adjudication's folder: hash of its policies of round 1}."""
    return {
        Path(os.path.relpath(run.folder, folder.resolve())).as_posix(): run.manifest[
            "files"
        ][ratings.ROUND]
        for run in study.runs
        if run.role == "main"
    }


def items_again(folder: Path, identity: Mapping[str, Any]) -> list[ratings.Item]:
    """The sample of an adjudication, drawn again from the runs that it names.

    UsageError where a run is gone or its policies are not those that were rated.
    """
    study = read_study(folder / path for path in identity["policies"])
    now, config = sources(study, folder), identity["config"]
    changed = [
        path for path, digest in identity["policies"].items() if now.get(path) != digest
    ]
    if changed:
        raise UsageError(
            f"{folder / changed[0] / ratings.ROUND}: not the policies that were rated"
        )
    return ratings.sample(
        ratings.items_of(study).values(), config["sample"], config["seed"]
    )


INSTRUMENTS: dict[str, Callable[[Origin], Instrument]] = {
    "pilot": pilot,
    "tournament": tournament,
    "adjudication": adjudication,
}


# --- conducting runs of the tournament --------------------------------------------------------


class Job(NamedTuple):
    """Runs of one process, whose ids differ. `choice` and `settings` travel without key and
    respondents; `prompts` of a plan are read once, {path: text}, for all its runs."""

    out: str
    runs: tuple[Run, ...]
    choice: cli.Choice
    settings: Settings
    prompts: Source = PROMPTS


def limits_usd(settings, runs) -> tuple[float, float]:
    """Dollars for everything, dollars for each run."""
    each = settings["cost"]["limit_usd"]
    total = settings["cost"].get("plan_limit_usd", each * len(runs))
    return (total, each) if len(runs) > 1 else (total, total)


def jobs_of(setup, runs, prompts) -> list[Job]:
    """One job a simulated run; live runs all in one, or dealt to --jobs processes, which then
    share limits and budget."""
    args, limits, groups = setup.args, setup.limits, [(run,) for run in runs]
    if not setup.choice.simulated:
        many = min(args.jobs, len(runs), *limits.values())
        # By lot: no factor of the plan may go with one process.
        drawn = SeededRandom(runs[0].config["seed"], "groups").sample(runs, len(runs))
        groups = [tuple(drawn[at::many]) for at in range(many)]
        limits = {stage: max(1, n // many) for stage, n in limits.items()}
    # The pre-flight is told an effort only where all models of all runs have the same.
    efforts = {
        run.config.get("effort") or model["effort"]
        for run in runs
        for models in run.config["models"].values()
        for model in models
    }
    total, each = limits_usd(setup.config, runs)
    settings = setup.settings(
        "", 0, efforts.pop() if len(efforts) == 1 else None
    )._replace(limits=limits, limit_each=each, nested=len(groups) > 1 or args.json)
    out = str(Path(args.out).resolve() if args.scheduler else Path(args.out))
    return [
        Job(
            out,
            group,
            setup.choice._replace(key=""),
            settings._replace(
                name=args.plan or group[0].run_id,
                seed=group[0].config["seed"],
                limit_usd=total * len(group) / len(runs),
            ),
            prompts,
        )
        for group in groups
    ]


class Summary(NamedTuple):
    """What a session did for one run."""

    run: str
    run_id: str
    exit_code: int
    note: str  # why it ended, "" where it is complete
    simulated: bool
    figures: dict[str, Any]


def origin_of(job: Job, run: Run) -> Origin:
    """Where a run goes, and what makes two runs the same study: limits, prices and concurrency do
    not, the hash of a preregistration in its plan's folder does."""
    folder, domain = (
        Path(job.out) / run.folder,
        domain_of(run.config["domain"], job.prompts),
    )
    registered = run.folder and (folder / prereg.FILE).is_file()
    study = {
        "config": run.config,
        "prompts": dict(domain.files),
        "provider": "simulated",
        "prereg_sha256": sha256(read_bytes(folder / prereg.FILE))
        if registered
        else None,
    }
    if not job.choice.simulated:
        pin = job.settings.terms.pin
        study |= {
            "provider": public_address(job.choice.address),
            "routing": dict(job.settings.routing),
            **({"pin": pin} if pin else {}),
        }
    return Origin(folder / run.run_id, study, domain.texts)


def attempt(job: Job) -> list[Summary]:
    """Conduct the runs of a job, each in its own folder; a summary of each, in order. What stops
    them before they begin is in the summaries too: an executor has no use for an exception."""
    choice = job.choice._replace(key="" if job.choice.simulated else cli.api_key())
    try:
        use(job.prompts)
        origins = [origin_of(job, run) for run in job.runs]
        ended = instrument.conduct(
            [instrument.Run(origin, tournament(origin)) for origin in origins],
            choice,
            job.settings._replace(respondents=RESPONDENTS),
        )
    except Stop as stop:
        return [
            Summary(
                str(Path(job.out) / run.folder / run.run_id),
                run.run_id,
                stop.code,
                str(stop),
                choice.simulated,
                {},
            )
            for run in job.runs
        ]
    return list(map(_summary, ended))


def note_plan(out: str, plan: str | None, runs: list[Run]) -> None:
    """plan.json in a plan's folder: which runs belong to it, begun or not."""
    for folder, members in by_folder(runs) if plan else ():
        path = Path(out) / folder / "plan.json"
        content = json_file(
            {
                "artifact": "plan",
                "plan": folder.rpartition("-s")[0],
                "runs": [run.run_id for run in members],
            }
        )
        if path.parent.is_dir() and not (
            path.is_file() and path.read_bytes() == content
        ):
            write_atomic(path, content)


def _summary(ended: Ended) -> Summary:
    path, manifest = ended.folder.path, ended.folder.manifest
    return Summary(
        str(path),
        path.name,
        ended.stop.code if ended.stop else COMPLETE,
        str(ended.stop or ended.note),
        manifest["simulated"],
        {
            "state": manifest["state"],
            "cost_usd": manifest["cost"]["spent_usd"],
            "elapsed_s": elapsed(manifest),
            "files": len(manifest["files"]),
            "attempts": manifest["journal"]["attempts"],
            "first_encounters": first_encounters(path, ended.folder.origin.prompts),
        },
    )


def first_encounters(run: Path, prompts: Mapping[str, str]) -> str | None:
    """ "61 of 88 readable decisions" of round 1's first encounters between models."""
    path = run / "round_1_games.json"
    if not path.is_file():
        return None
    data = games.load(path)
    acts = [
        act
        for game in data["games"]
        if game["first_encounter"] and not game["baseline"]
        for act in game["decision"].values()
        if act is not None
    ]
    cooperative = acts.count(cooperative_word(data["domain"], prompts))
    return f"{cooperative} of {len(acts)} readable decisions"


# --- what a run will probably cost, from its rendered prompts and the price table ---------------


def estimate(
    run: Run, domain: Domain, settings: Mapping[str, Any], simulated: bool
) -> dict[str, Any]:
    """Calls, tokens read (four bytes each) and dollars of a run, by stage."""
    t = design(domain, run.config)
    prices = {name: wire.as_model(entry) for name, entry in settings["prices"].items()}
    assumed = wire.as_model(settings["assumed_price"])
    calls, tokens, usd = dict.fromkeys(STAGES, 0), 0, 0.0
    for request, times in encounters.typical_calls(t):
        calls[request.stage] += times
        tokens += times * len(request.texts.encode()) // 4
        usd += (
            0.0
            if simulated
            else times
            * wire.expected_cost(
                request, prices.get(request.model, wire.Model()), assumed
            )
        )
    names = list(
        dict.fromkeys(
            model["name"] for stage in STAGES for model in run.config["models"][stage]
        )
    )
    return {
        "run_id": run.run_id,
        "agents": run.config["agents"],
        "rounds": run.config["rounds"],
        "games": sum(len(pair.labels) for round_ in t.rounds for pair in round_.pairs),
        "calls": sum(calls.values()),
        "by_stage": calls,
        "prompt_tokens": tokens,
        "usd": usd,
        "models": names,
        "unpriced": [] if simulated else [name for name in names if name not in prices],
    }
