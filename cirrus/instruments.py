"""The studies of CIRRUS-24 as instruments. An instrument says what a run asks, and derives the
run's files from the answers.

    run = pilot(Origin(folder, identity, domain.texts))
    INSTRUMENTS["pilot"](origin)            the same, by the manifest's `artifact`
"""

import asyncio
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from cirrus.ask import encounters, oneshot, probes
from cirrus.ask.bulletins import (
    PROMPTS,
    Domain,
    Source,
    is_older,
    load_domain,
    read_text,
)
from cirrus.ask.cues import use
from cirrus.ask.design import STAGES, Run, design, plans_of
from cirrus.ask.prompts import EXAMPLES
from cirrus.ask.respondents import RESPONDENTS
from cirrus.ask.warmups import form_warmups
from cirrus.judge import games, prereg
from cirrus.judge.oneshot import analyse
from cirrus.judge.rows import PLAN_FILE, Study, path_from, plan_file, read_study
from cirrus.markers import ratings
from cirrus.reports.pilot import files as report_files
from common import COMPLETE, Older, Stop, UsageError, cli, session
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
from common.ask import Ask, Warmup, neutral_warmups
from common.config import Prices
from common.journal import Answers
from common.respondents import file_hashes
from common.runs import Origin, code_hashes, elapsed
from common.server import public_address
from common.session import Derived, Ended, Instrument, Settings, tallied
from common.wire import UNANSWERED, Request
from show.figures import count


def domain_of(name: str, source: Source = PROMPTS) -> Domain:
    """Return the domain's prompts, from a prompts folder or a run's own texts. Raise
    UsageError, which names a fault in them."""
    if isinstance(source, Path) and not source.is_dir():
        raise UsageError(f"--prompts {source}: no such folder; give a copy of prompts/")
    if not isinstance(source, Path):
        return _loaded(name, tuple(sorted(source.items())))
    try:
        return load_domain(name, source)
    except UsageError as error:
        if source == PROMPTS:
            raise
        raise UsageError(f"--prompts {source}: {error}") from None


@lru_cache(4)
def _loaded(name: str, texts: tuple[tuple[str, str], ...]) -> Domain:
    """Return the prompts in a run's own texts. They stay in memory, since all runs of a
    plan have the same texts, and checking these takes ten times as long as a run."""
    return load_domain(name, dict(texts))


def check_age(origin: Origin) -> None:
    """Raise Older for a run whose texts are from before bulletins had situations."""
    if is_older(origin.prompts):
        raise Older(
            "asked with the texts of an earlier version: its files stand as they were made, "
            "and today's rule does not judge them; ask again for a study of today"
        )


# --- pilot -------------------------------------------------------------------------------------

# Columns of trials.csv. The texts of answers are not among them, since a spreadsheet would run a
# text that begins with "=".
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
    "read_from",
    "served_model",
    "provider",
    "prompt_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cost_usd",
)


def pilot(origin: Origin) -> Instrument:
    """Return the instrument of a run of run_pilot.py."""
    study, config = origin.identity, origin.identity["config"]
    check_age(origin)
    domain = domain_of(config.get("domain", oneshot.DOMAIN), origin.prompts)

    def deal() -> list[list[oneshot.Trial]]:
        return oneshot.design(domain, config, config["models"], worked_examples(origin))

    blocks = cache(deal)

    @cache
    def probed() -> list:
        if not config.get("probes"):
            return []
        texts = probes.texts(origin.prompts)
        firsts = [trials[0].block for trials in blocks()]
        return probes.deal(texts, domain, config, firsts)

    def requests() -> list[Request]:
        return list(map(request_of, [*chain(*blocks()), *probed()]))

    async def asked_in_order(ask: Ask) -> None:
        """Ask all decisions, then the probes."""
        await asyncio.gather(*[ask(list(map(request_of, each))) for each in blocks()])
        await asyncio.gather(*[ask([probe.request]) for probe in probed()])

    def derive(answers: Answers) -> Derived:
        again = deal()  # dealt anew, to check that the seed gives the same blocks again
        replies = [list(map(answers, map(request_of, block))) for block in again]
        every = oneshot.rows(again, replies)
        aside = set_aside(every, answers)
        rows = [row for row in every if row["model"] not in aside]
        asked = requests_of_answered(again, rows)
        same = sum(
            answers.read[each.id].question_sha256 == each.sha256() for each in asked
        )
        probe_rows = [probes.row(trial, answers(trial.request)) for trial in probed()]
        facts = {"adapted": session.adapted_facts(answers), "set_aside": aside}
        files = {}
        if asked:
            redealt = same, len(asked)
            files = pilot_files(rows, asked, study, redealt, probe_rows, facts)
        return Derived(files, {"statuses": tallied(rows, "status")})

    return Instrument(
        name="pilot",
        noun="trials",
        ids=partial(_needs, requests),
        calls=partial(_once_each, requests),
        study=asked_in_order,
        derive=derive,
        warmups=partial(pilot_warmups, domain, config, origin.prompts),
    )


request_of = attrgetter("request")


def requests_of_answered(
    blocks: Iterable[Sequence[oneshot.Trial]], rows: Iterable[Mapping]
) -> list[Request]:
    """Return the requests of the trials that have an answer, as their `rows` say."""
    answered = {row["id"] for row in rows if row["status"] not in UNANSWERED}
    return [trial.request for trial in chain(*blocks) if trial.id in answered]


def _needs(requests: Callable[[], Sequence[Request]]) -> dict[str, list[str]]:
    """Return {id of a request: [the model that it needs]}."""
    return {request.id: [request.model] for request in requests()}


def _once_each(
    requests: Callable[[], Sequence[Request]],
) -> list[tuple[Request, int]]:
    """Return each request with 1, the number of calls that it stands for."""
    return [(request, 1) for request in requests()]


def worked_examples(origin: Origin) -> str:
    """Return the text of the worked examples that stand before every question, or ""
    where the study has none."""
    if not origin.identity["config"].get("examples"):
        return ""
    return origin.prompts[EXAMPLES]


def pilot_warmups(
    domain: Domain, config: Mapping[str, Any], prompts: Mapping[str, str]
) -> list[Warmup]:
    """Return two warm-up calls for each model at each stage, or none in a simulated run,
    whose `prompts` have no text for them."""
    examples = prompts.get(EXAMPLES)
    if examples is None:
        return []
    stages = ("decision", "probe") if config.get("probes") else ("decision",)
    settings = {
        "max_out": config["max_out"],
        "temperature": config["temperature"],
        "effort": config["reasoning_effort"],
        "worked": bool(config.get("examples")),
    }
    made = []
    for model in config["models"]:
        for stage in stages:
            made += form_warmups(domain, examples, stage=stage, model=model, **settings)
    return made


def set_aside(rows: Sequence[Mapping], answers: Answers) -> dict[str, str]:
    """Return {model: why} of the models that the run gave up before it had all their
    trials, whose answers are left out. A model that lacks only probes stays, as they decide
    nothing. Where the run gave up every model, return {}: none is left out."""
    models = {row["model"] for row in rows}
    if models <= answers.set_aside.keys():
        return {}
    lacking = {row["model"] for row in rows if row["status"] in UNANSWERED}
    aside = answers.set_aside.items()
    return {model: why for model, (_, why) in aside if model in lacking}


def without_models(
    study: Mapping[str, Any], set_aside: Collection[str]
) -> dict[str, Any]:
    """Return a study's identity without the models in `set_aside`, so that the analysis
    judges the others only."""
    config = study["config"]
    kept = [name for name in config["models"] if name not in set_aside]
    return {**study, "config": {**config, "models": kept}}


def further_texts(
    config: Mapping[str, Any], source: Source, simulated: bool
) -> dict[str, str]:
    """Return {path: text} of the files that a study uses beside its domain's prompts:
    probes, worked examples and, in a live run, the forms of the warm-up."""
    files: dict[str, str] = {}
    if config.get("probes"):
        read_text(source, probes.FILE, files)
    if config.get("examples"):
        read_text(source, EXAMPLES, files)
    if not simulated:
        files |= warmup_texts(source)
    return files


def warmup_texts(source: Source) -> dict[str, str]:
    """Return {path: text} of the warm-up's forms, from `source` or, where it has none,
    from the project."""
    files: dict[str, str] = {}
    try:
        read_text(source, EXAMPLES, files)
    except UsageError:
        read_text(PROMPTS, EXAMPLES, files)
    return files


def pilot_files(
    rows: Sequence[Mapping],
    answered: Sequence[Request],
    study: Mapping[str, Any],
    redealt: tuple[int, int],
    probed: Sequence[Mapping],
    facts: Mapping[str, Any],
) -> dict[str, bytes]:
    """Return {file name: content} of a one-shot run.

    `answered` are the requests that have an answer. `redealt` is (how many of these today's code
    asks in the same words, how many these are). `probed` are the rows of probes. `facts` has what
    the warm-up found ("adapted") and why models were left out ("set_aside").
    """
    judged = without_models(study, facts["set_aside"])
    # Through JSON and back, so that reports show the same digits as pilot-analysis.json.
    out = json.loads(canonical_json(analyse(rows, judged, redealt, probed, facts)))
    trials = jsonl(rows)
    # The hash covers only design and prompts, so that it does not depend on the provider.
    design = {"config": study["config"], "prompts": study["prompts"]}
    hashes = {"design": sha256(canonical_json(design)), "trials": sha256(trials)}
    prompts = {request.id: _shown(request) for request in answered}
    made: dict[str, bytes] = {
        "trials.jsonl.gz": gzip_bytes(trials),
        "trials.csv": csv_bytes(CSV_FIELDS, map(_flat, rows)),
        "pilot-analysis.json": json_file(out | {"design_sha256": hashes["design"]}),
    }
    if probed:
        made["probes.jsonl.gz"] = gzip_bytes(jsonl(probed))
    texts = report_files(out, rows, prompts, hashes)
    return made | {name: text.encode() for name, text in texts.items()}


def _shown(request: Request) -> tuple[str, ...]:
    """Return what a model was shown: system prompt, worked examples if there are any,
    question."""
    if not request.examples:
        return request.system, request.user
    return request.system, "\n\n".join(request.examples), request.user


def _flat(row: Mapping) -> dict[str, Any]:
    """Return a row as a line of trials.csv, without nested values."""
    flat = {**row, "option_first": row["options"][0]}
    for what in ("prompt", "output", "reasoning"):
        flat[f"{what}_tokens"] = row["tokens"][what]
    return flat


# --- tournament --------------------------------------------------------------------------------


def tournament(origin: Origin) -> Instrument:
    """Return the instrument of a run of run_tournament.py."""
    study = origin.identity
    check_age(origin)
    domain = cache(lambda: domain_of(study["config"]["domain"], origin.prompts))
    dealt = cache(lambda: design(domain(), study["config"]))

    def warmups() -> list[Warmup]:
        examples = origin.prompts.get(EXAMPLES)
        return [] if examples is None else encounters.warmups(dealt(), examples)

    def derive(answers: Answers) -> Derived:
        code = canonical_json(origin.code or code_hashes())
        facts = {"code_sha256": sha256(code), "charged_usd": answers.charged_usd}
        files, manifest = games.derive(study, domain(), answers, facts)
        facts = {
            "statuses": manifest["statuses"],
            "prereg_sha256": study.get("prereg_sha256"),
        }
        return Derived(files, facts)

    return Instrument(
        name="tournament",
        noun="calls",
        ids=lambda: encounters.request_ids(dealt()),
        calls=lambda: encounters.typical_calls(dealt()),
        study=lambda ask: encounters.play(dealt(), ask),
        derive=derive,
        warmups=warmups,
        needs_all=True,  # policies of one model are played by another
    )


# --- adjudication ------------------------------------------------------------------------------


def adjudication(origin: Origin) -> Instrument:
    """Return the instrument of a run of adjudicate.py. It rates policies of other runs;
    the identity has the paths to these from the run's folder."""
    config = origin.identity["config"]
    items = cache(lambda: items_again(origin.folder, origin.identity))

    @cache
    def requests() -> list[Request]:
        book = ratings.codebook(origin.prompts[ratings.CODEBOOK])
        examples = worked_examples(origin)
        return ratings.rating_requests(config, items(), book, examples)

    def derive(answers: Answers) -> Derived:
        replies = {request.id: answers(request) for request in requests()}
        rows = list(ratings.rating_rows(config, items(), replies, answers.simulated))
        facts = {"statuses": tallied(rows, "rater", "status")}
        return Derived({ratings.RATINGS: jsonl(rows)}, facts)

    async def rate(ask: Ask) -> None:
        await asyncio.gather(*[ask([request]) for request in requests()])

    return Instrument(
        name="adjudication",
        noun="ratings",
        ids=partial(_needs, requests),
        calls=partial(_once_each, requests),
        study=rate,
        derive=derive,
        warmups=lambda: neutral_warmups(requests()),
        needs_all=True,  # one rater alone adjudicates nothing
    )


def sources(study: Study, folder: Path) -> dict[str, str]:
    """Return {path from `folder`, the adjudication's, to a main run: hash of the file
    with that run's policies of round 1}."""
    hashes = {}
    for run in study.runs:
        if run.role == "main":
            path = path_from(folder, run.folder)
            hashes[path] = run.manifest["files"][ratings.ROUND]
    return hashes


def items_again(folder: Path, identity: Mapping[str, Any]) -> list[ratings.RatedText]:
    """Return the policies that an adjudication rated, sampled again from the runs in its
    identity.

    Raise UsageError where a run is gone, or where its policies are not those that were
    rated.
    """
    study = read_study(folder / path for path in identity["policies"])
    now, config = sources(study, folder), identity["config"]
    for path, digest in identity["policies"].items():
        if now.get(path) != digest:
            file = folder / path / ratings.ROUND
            raise UsageError(f"{file}: not the policies that were rated")
    items = ratings.items_of(study).values()
    return ratings.sample(items, config["sample"], config["seed"])


INSTRUMENTS: dict[str, Callable[[Origin], Instrument]] = {
    "pilot": pilot,
    "tournament": tournament,
    "adjudication": adjudication,
}


# --- conducting runs of the tournament --------------------------------------------------------


class Summary(NamedTuple):
    """What one call of run_tournament.py did for one run."""

    run: str
    run_id: str
    exit_code: int
    note: str  # why it ended, "" where it is complete
    simulated: bool
    figures: dict[str, Any]


def origin_of(
    out: str,
    run: Run,
    choice: cli.Choice,
    settings: Settings,
    prompts: Source,
    plans: Mapping[str, Mapping],
) -> Origin:
    """Return the origin of a run: its folder, its texts, and its identity. Two commands
    whose runs have the same identity ask the same study.

    Part of the identity are the names of all runs of the run's plan, and the hash of a
    preregistration in `run.folder`; limits, prices and concurrency are not.
    """
    folder = Path(out) / run.folder
    texts = dict(domain_of(run.config["domain"], prompts).texts)
    if not choice.simulated:
        texts |= warmup_texts(prompts)
    identity: dict[str, Any] = {
        "config": run.config,
        "prompts": {path: sha256(text) for path, text in texts.items()},
        "provider": "simulated",
        "prereg_sha256": None,
    }
    if run.folder in plans:
        identity["plan"] = plans[run.folder]
    if run.folder and (folder / prereg.FILE).is_file():
        identity["prereg_sha256"] = sha256(read_bytes(folder / prereg.FILE))
    if not choice.simulated:
        identity["provider"] = public_address(choice.address)
        if settings.upstream:
            identity["upstream"] = settings.upstream
    own = file_hashes(names_of(run))
    if own:
        identity["respondents"] = own
    return Origin(folder / run.run_id, identity, texts)


def names_of(run: Run) -> list[str]:
    """Return the names of the models that a run asks, each once."""
    models = chain(*run.config["models"].values())
    return list(dict.fromkeys(model["name"] for model in models))


def conduct_runs(
    out: str,
    runs: Sequence[Run],
    choice: cli.Choice,
    settings: Settings,
    prompts: Source,
    plans: Mapping[str, Mapping],
) -> list[Summary]:
    """Ask at once what is missing in all runs, each in its own folder, and return their
    summaries in the order of `runs`.

    If an error stops the runs before they begin, every summary holds its text: an
    executor could not pass on the exception. `prompts` is the folder or the {path: text}
    that all runs take their prompts from. `plans` is what `plans_of` returns.
    """
    settings = settings._replace(respondents=RESPONDENTS, effort=effort_of_all(runs))
    try:
        use(prompts)
        origins = [
            origin_of(out, run, choice, settings, prompts, plans) for run in runs
        ]
        studies = [session.Run(origin, tournament(origin)) for origin in origins]
        ended = session.conduct(studies, choice, settings)
    except Stop as stop:
        return [_stopped(out, run, stop, choice.simulated) for run in runs]
    return list(map(_summary, ended))


def _stopped(out: str, run: Run, stop: Stop, simulated: bool) -> Summary:
    """Return the summary of a run that could not begin."""
    path = str(Path(out) / run.folder / run.run_id)
    return Summary(path, run.run_id, stop.code, str(stop), simulated, {})


def effort_of_all(runs) -> str | None:
    """Return the reasoning effort that all models of the runs have, or None where they
    differ. The session looks in the server's list of models whether they accept it."""
    efforts = set()
    for run in runs:
        models = chain(*run.config["models"].values())
        efforts |= {model["effort"] for model in models}
    return efforts.pop() if len(efforts) == 1 else None


def simulate_run(
    job: tuple[str, Run, cli.Choice, Settings, Source, Mapping[str, Mapping]],
) -> list[Summary]:
    """Conduct one simulated run. `job` holds all arguments, since an executor's `map`
    passes one."""
    out, run, choice, settings, prompts, plans = job
    return conduct_runs(out, [run], choice, settings, prompts, plans)


def note_plan(out: str, plan: str | None, runs: list[Run]) -> None:
    """Write plan.json, which names all runs of a plan, begun or not, into each folder of
    the plan that exists."""
    for folder, planned in plans_of(plan, runs).items():
        path, content = Path(out) / folder / PLAN_FILE, plan_file(planned)
        if path.is_file() and path.read_bytes() == content:
            continue
        if path.parent.is_dir():
            write_atomic(path, content)


def _summary(ended: Ended) -> Summary:
    """Return the summary of a run that was conducted."""
    path, manifest = ended.folder.path, ended.folder.manifest
    figures = {
        "state": manifest["state"],
        "cost_usd": manifest["cost"]["spent_usd"],
        "elapsed_s": elapsed(manifest),
        "files": len(manifest["files"]),
        "attempts": manifest["journal"]["attempts"],
        "set_aside": manifest.get("set_aside", {}),
    }
    code, note = COMPLETE, ended.note
    if ended.stop is not None:
        code, note = ended.stop.code, str(ended.stop)
    return Summary(str(path), path.name, code, note, manifest["simulated"], figures)


# --- what a run will probably cost, from its rendered prompts and the price table ---------------


def estimate(
    run: Run, domain: Domain, settings: Mapping[str, Any], choice: cli.Choice
) -> dict[str, Any]:
    """Return the sizes of a run, its calls by stage, the tokens that models will read
    (four bytes each), and the expected dollars.

    The dollars include the warm-up, `calls` and `prompt_tokens` do not.
    """
    t = design(domain, run.config)
    prices = Prices(settings, choice)
    calls = encounters.typical_calls(t)
    warming = []
    if not choice.simulated:
        examples = warmup_texts(PROMPTS)[EXAMPLES]
        warming = [(warmup.request, 1) for warmup in encounters.warmups(t, examples)]
    by_stage = dict.fromkeys(STAGES, 0)
    tokens = 0
    for request, times in calls:
        by_stage[request.stage] += times
        tokens += times * len(request.texts.encode()) // 4
    names = names_of(run)
    pairs, games = len(t.rounds[0].pairs), run.config["games_per_pair"]
    return {
        "run_id": run.run_id,
        "agents": run.config["agents"],
        "baselines": len(run.config["baselines"]),
        "rounds": len(t.rounds),
        "pairs": pairs,
        "games_per_pair": games,
        "games": len(t.rounds) * pairs * games,
        "calls": sum(by_stage.values()),
        "by_stage": by_stage,
        "warmups": len(warming),
        "prompt_tokens": tokens,
        "usd": prices.expected([*calls, *warming]),
        "models": names,
        "unpriced": prices.unpriced(names),
    }


def in_all(rows: Sequence[Mapping]) -> dict[str, Any]:
    """Return the sums over what `estimate` says of several runs."""
    total: dict[str, Any] = {
        "by_stage": dict.fromkeys(STAGES, 0),
        "warmups": 0,
        "calls": 0,
        "usd": 0,
    }
    unpriced = set()
    for row in rows:
        for stage in STAGES:
            total["by_stage"][stage] += row["by_stage"][stage]
        for key in ("warmups", "calls", "usd"):
            total[key] += row[key]
        unpriced.update(row["unpriced"])
    total["unpriced"] = sorted(unpriced)
    return total


def sizes(row: Mapping[str, Any]) -> str:
    """Return a run in words: "10 agents × 10 rounds × 45 pairs × 3 games: 100 policies,
    2,700 decisions".

    Pairs with baselines are counted too, though baselines are not asked.
    """
    players = count(row["agents"], "agent")
    if row["baselines"]:
        players += f" and {count(row['baselines'], 'baseline')}"
    rounds, pairs = count(row["rounds"], "round"), count(row["pairs"], "pair")
    games = count(row["games_per_pair"], "game")
    return f"{players} × {rounds} × {pairs} × {games}: {asked_for(row)}"


def asked_for(row: Mapping[str, Any]) -> str:
    """Return the calls of a run in words: "100 policies, 2,700 decisions, 4 calls to
    warm up"."""
    policies, decisions = (row["by_stage"][stage] for stage in STAGES)
    noun = "policy" if policies == 1 else "policies"
    words = f"{policies:,} {noun}, {count(decisions, 'decision')}"
    if row["warmups"]:
        words += f", {count(row['warmups'], 'call')} to warm up"
    return words
