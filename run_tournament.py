#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["requests>=2.32"]
# ///
"""Run the CIRRUS-24 tournament: do agents that may take each other for alike cooperate?

asked      each round, every agent reads a bulletin and writes a policy of 3 to 5 lines; then every
           pair meets three times, each side with its policy and the pair's encounters so far
cells      symmetry (S) × coupling cue (C) × compliance pressure (H): a run has one of these eight
           conditions, a plan all
how often  10 agents × 10 rounds per run and seed, each round on another bulletin
compared   first encounters: symmetry + cue − neither, averaged over H, over bulletins and wordings
said       by analyze.py: the effect with its interval, six gates, seven tripwires, and a verdict

Without a key, simulated respondents answer and nothing needs to be installed:

    python3 run_tournament.py
    python3 run_tournament.py --plan confirmatory --jobs 2
    OPENROUTER_API_KEY=… python3 run_tournament.py --toggle S=low --toggle C=absent --limit-usd 2

It writes results/acausal/<run_id>/ (a plan's runs: results/acausal/<plan>-s<seed>/<run_id>/):
strategies_r1.json …, round_1_games.json …, acausal_manifest.json, transcripts/, manifest.json,
journal.jsonl.gz. The same command resumes; `analyze.py --verify` derives every file again.
"""

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from cirrus import instruments
from cirrus.ask.bulletins import LEVELS, PROMPTS, TELLS, Bulletin, Domain
from cirrus.ask.cues import use
from cirrus.ask.deal import bulletin_pool
from cirrus.ask.design import (
    BASELINES,
    PARTS,
    REPLICATION,
    Run,
    by_folder,
    dealt,
    plans_of,
    run_name,
)
from cirrus.ask.prompts import LABEL_SCHEMES, ORDERS
from cirrus.ask.respondents import RESPONDENTS
from cirrus.judge import prereg
from cirrus.judge.rows import places, read_study
from cirrus.reports.study import gist, noticed, write_analysis
from common import (
    COMPLETE,
    INTERRUPTED,
    MEANING,
    UNREADABLE,
    Stop,
    UsageError,
    cli,
    shape,
)
from common import config as c
from common.cluster import mapped
from common.session import Simulated, headline
from common.verify import find_runs

# The default settings: agents, rounds, meetings of a pair, seeds, models.
DEFAULT = Path(__file__).resolve().parent / "config" / "experiment.config.json"

# --- plans: tables of runs and their cells --------------------------------------------------------

LEVELS_ASKED = product(("high", "low"), ("present", "absent"), ("high", "low"))
CELLS = [{"S": s, "C": cue, "H": h} for s, cue, h in LEVELS_ASKED]
LOW_PRESSURE = [cell for cell in CELLS if cell["H"] == "low"]
EXTREMES = [LOW_PRESSURE[0], LOW_PRESSURE[-1]]  # symmetry + cue, neither
# Added to the configured seeds where a plan needs seeds of its own.
NEW_SEEDS = 1000


def _in(domain: str, cells: Iterable[Mapping], **changes: Any) -> list[dict[str, Any]]:
    """A run in each of these cells, with further settings."""
    return [{"domain": domain, "toggles": cell, **changes} for cell in cells]


def thrice(seeds: Sequence[int]) -> list[int]:
    """These seeds, then each plus 1, then each plus 2; every seed once."""
    found: list[int] = []
    for step in range(3):
        found += [seed + step for seed in seeds]
    return list(dict.fromkeys(found))


def new(seeds: Sequence[int]) -> list[int]:
    """Seeds that no other plan uses."""
    return [seed + NEW_SEEDS for seed in seeds]


class PlannedRuns(NamedTuple):
    """A plan: what each of its runs sets for itself, and with which seeds all of them are repeated.
    `seeds` returns the plan's seeds, given those of the configuration."""

    runs: Sequence[Mapping[str, Any]]
    seeds: Callable[[Sequence[int]], list[int]] = list


CVD = _in("cvd", CELLS)
MAIN = CVD + _in("hospital", EXTREMES)
REWORDED = _in("cvd", CELLS, tells="reworded")
OTHER_WORDS = REWORDED + _in("cvd", CELLS, tells="ablated")
HELD_OUT = _in("cvd", CELLS, variants="holdout")
HISTORY_OFF = _in("cvd", CELLS, history_mode="off")
# Every run that the six gates and the comparison without history need, as one registered study.
STUDY = MAIN + OTHER_WORDS + [run | {"new": True} for run in HELD_OUT] + HISTORY_OFF
PLANS: dict[str, PlannedRuns] = {
    "2x2": PlannedRuns(_in("cvd", LOW_PRESSURE)),  # what `make tournament` shows
    "confirmatory": PlannedRuns(MAIN),
    "exploratory": PlannedRuns(CVD + _in("hospital", CELLS), thrice),
    "holdout": PlannedRuns(HELD_OUT, new),
    "ablation": PlannedRuns(OTHER_WORDS),
    "history-off": PlannedRuns(HISTORY_OFF),
    "study": PlannedRuns(STUDY),
}

# --- the command -----------------------------------------------------------------------------

EXAMPLES = """  python3 run_tournament.py             simulated, 10 agents × 10 rounds
  python3 run_tournament.py --toggle H=low --domain hospital --rounds 6
  python3 run_tournament.py --plan confirmatory --dry-run
  python3 run_tournament.py --plan confirmatory --preregister
  python3 run_tournament.py --plan exploratory --jobs 2 --agents 6 --rounds 2
  python3 run_tournament.py --plan study --scheduler tcp://127.0.0.1:8786

plans: 2x2, confirmatory, exploratory, holdout, ablation, history-off, study.
--limit-usd is for everything the command does; without it, each run adds
cost.limit_usd of the configuration."""


def arguments(argv):
    """The flags of run_tournament.py."""
    flags = cli.parser(
        "CIRRUS-24 tournament: do agents that may take each other for alike "
        "cooperate on first encounters?",
        EXAMPLES,
    )
    add, _ = cli.add_call_flags(flags, "results/acausal", str(DEFAULT))
    add(
        "--strategy-models",
        metavar="A,B",
        help="models that write the policies, where others than --models",
    )
    add("--seeds", metavar="1,2,3", help="repeat run or plan with each of these seeds")
    add(
        "--toggle",
        action="append",
        default=[],
        metavar="S=high",
        help="the level of a factor; repeatable",
    )
    add(
        "--domain",
        metavar="NAME",
        help="the scenario: cvd (default), hospital, or another folder of prompts/",
    )
    add("--agents", type=int, metavar="N", help="agents that are models (default 10)")
    add(
        "--rounds",
        type=int,
        metavar="N",
        help="rounds; beyond the bulletins they come again (default 10)",
    )
    add = flags.add_argument_group("a whole plan").add_argument
    add(
        "--plan",
        metavar="NAME",
        help="every run of a plan instead of one condition; see below",
    )
    add(
        "--preregister",
        action="store_true",
        help="write prereg.json of the plan, print its hash, ask nothing",
    )
    add(
        "--analyze",
        action="store_true",
        help="then analyse what was run, as analyze.py does",
    )
    add("--jobs", type=int, default=1, metavar="N", help="processes (default 1)")
    add("--scheduler", metavar="URL", help="a Dask cluster's scheduler, tcp://…")
    return flags.parse_args(argv)


def main(argv) -> cli.Done:
    """Run one condition or a plan, or register or preview it, as the flags say."""
    args = arguments(argv)
    setup = c.settle(args, [DEFAULT], SETTINGS, flags_over(args))
    settings, choice = setup.config, setup.choice
    asked, strategists = cli.names(args.models), cli.names(args.strategy_models)
    models, warnings = model_settings(settings, choice.simulated, asked, strategists)
    if args.effort == "default":
        for listed in models.values():
            for model in listed:
                model["effort"] = None
    domains = domains_of(args, settings)
    prompts: dict[str, str] = {}
    for domain in domains.values():
        prompts |= domain.texts
    use(prompts)
    runs = runs_of_plan(args.plan, settings, models, seeds_given(args), domains)
    runs = named(setup, models, runs)
    for line in [*warnings, *asked_again(runs, domains)]:
        print(f"warning: {line}", file=sys.stderr)
    if choice.simulated:
        Simulated(RESPONDENTS, 0).check(instruments.names_of(runs[0]))
    if args.preregister:
        return preregister(args, runs)
    if args.dry_run:
        return dry_run(setup, runs, domains)
    if args.jobs > 1 or args.scheduler or (choice.simulated and len(runs) > 1):
        announce(setup, runs, domains)
    note_deviations(args, runs)
    done, stops = conducted(setup, runs, prompts)
    return report(args, runs, done, stops)


def domains_of(args, settings) -> dict[str, Domain]:
    """{name: domain} of all runs."""
    source = Path(args.prompts or PROMPTS)
    runs = plan_named(args.plan).runs
    names = dict.fromkeys(run.get("domain", settings["domain"]) for run in runs)
    return {name: instruments.domain_of(name, source) for name in names}


def conducted(setup, runs, prompts):
    """Conduct the runs: ({run id: its summary}, {why something stopped: exit code})."""
    args, done, stops = setup.args, {}, {}
    instruments.note_plan(args.out, args.plan, runs)
    try:
        for summaries in sessions(setup, runs, prompts):
            instruments.note_plan(args.out, args.plan, runs)
            for summary in summaries:
                done[summary.run_id] = summary
                if summary.exit_code:
                    stops.setdefault(summary.note, summary.exit_code)
                if not args.json and summary.figures:
                    say(summary, len(done), len(runs))
            if INTERRUPTED in stops.values():
                break
    except Stop as stop:
        stops.setdefault(str(stop), stop.code)
    return done, stops


def sessions(setup, runs, prompts):
    """Conduct the runs and yield lists of their summaries. Live runs are asked together and end
    together; simulated ones are conducted one by one, here or by an executor."""
    args, choice = setup.args, setup.choice
    name, seed = args.plan or runs[0].run_id, runs[0].config["seed"]
    settings = setup.settings(name, seed, {})._replace(
        limit_usd=limit_usd(setup, runs),
        nested=args.json or (choice.simulated and len(runs) > 1),
    )
    plans = plans_of(args.plan, runs)
    if not choice.simulated:
        yield instruments.conduct_runs(args.out, runs, choice, settings, prompts, plans)
        return
    out = str(Path(args.out).resolve()) if args.scheduler else args.out
    jobs = []
    for run in runs:
        seeded = settings._replace(seed=run.config["seed"])
        jobs.append((out, run, choice, seeded, prompts, plans))
    with mapped(instruments.simulate_run, jobs, args.jobs, args.scheduler) as results:
        for _, summaries in results:
            yield summaries


def limit_usd(setup, runs) -> float:
    """The limit in dollars for the whole command; the configured one is for each run."""
    if setup.args.limit_usd is not None:
        return setup.args.limit_usd
    return setup.config["cost"]["limit_usd"] * len(runs)


# --- the configuration file, and what a run is made of it -----------------------------------------

MAX_OUT = {"strategy": 384, "decision": 96}
# With fewer tokens the answer form does not fit, and every answer would be cut off.
LEAST_OUT = {"strategy": 64, "decision": 32}
MODEL = shape.record(
    name=shape.NAME,
    max_out=shape.sometimes(c.MAX_OUT),
    reasoning_effort=shape.sometimes(c.EFFORT),
)
MODELS = shape.either(MODEL, shape.several(MODEL, once=False))

# The name of a folder of prompts; it may not be that of a part of the main domain.
DOMAIN = shape.plain(
    "a domain's name",
    lambda name: isinstance(name, str) and (name == REPLICATION or name not in PARTS),
)

LEVEL_OF = {factor: shape.enum(*levels) for factor, levels in LEVELS.items()}
RUN = {
    "agents": shape.whole(2, 1000),
    "rounds": shape.whole(1, 1000),
    "domain": DOMAIN,
    "toggles": shape.options(**LEVEL_OF),
    "games_per_pair": shape.whole(1, 100),
    "baselines": shape.several(shape.enum(*BASELINES), least=0),
    "tells": shape.enum(*TELLS),
    "variants": shape.enum("main", "holdout"),
}
RANDOMIZATION = {
    "label_schemes": shape.several(shape.enum(*LABEL_SCHEMES)),
    "option_order": shape.enum("random", *ORDERS),
    "history_mode": shape.enum("standard", "off"),
}
SETTINGS = shape.options(
    **RUN,
    **c.SHARED,
    models=shape.options(strategy=MODELS, decision=MODELS),
    effort=c.EFFORT,
    randomization=shape.options(**RANDOMIZATION, seeds=shape.several(c.SEED)),
    temperature=shape.maybe(c.TEMPERATURE),
    cost=shape.options(limit_usd=c.LIMIT_USD),
    concurrency=shape.options(strategy=c.CALLS, decision=c.CALLS),
)

# NAMED are the settings that a run's name states; CHOSEN are further ones.
NAMED = ("domain", "toggles", "tells", "variants", "history_mode")
CHOSEN = (
    "agents",
    "rounds",
    "games_per_pair",
    "baselines",
    "temperature",
    "label_schemes",
    "option_order",
)


SAME_AS_FLAG = ("domain", "agents", "rounds", "upstream")


def flags_over(args) -> dict[str, Any]:
    """{key of the configuration: value} of the flags; UsageError where flags contradict each other."""
    if args.plan and (args.toggle or args.domain):
        raise UsageError(
            "--plan sets toggles and domain of its runs; leave --toggle and --domain out"
        )
    if args.jobs < 1:
        raise UsageError(f"--jobs: must be at least 1, not {args.jobs}")
    over = {name: getattr(args, name) for name in SAME_AS_FLAG}
    over["effort"] = c.effort_of(args.effort)
    if args.toggle:
        over["toggles"] = toggles_of(args.toggle)
    if args.temperature != "default":
        over["temperature"] = args.temperature
    return over


def toggles_of(texts: Sequence[str]) -> dict[str, str]:
    """The levels of --toggle: ["S=high"] → {"S": "high"}."""
    toggles: dict[str, str] = {}
    for text in texts:
        factor, equals, level = text.partition("=")
        if not equals:
            raise UsageError(f"--toggle: {text!r} is not FACTOR=LEVEL, such as S=high")
        if factor in toggles:
            raise UsageError(f"--toggle: {text!r} sets a factor twice")
        toggles[factor] = level
    return toggles


def seeds_given(args) -> list[int] | None:
    """The seeds of --seed or --seeds, or None without either flag."""
    if args.seeds is not None and args.seed is not None:
        raise UsageError("--seed and --seeds: give one of them")
    texts = cli.names(args.seeds)
    if args.seed is not None:
        texts = [str(args.seed)]
    if texts is None:
        return None
    seeds: list[Any] = []
    for text in texts:
        # `check` refuses what is no number.
        seeds.append(int(text) if re.fullmatch("[0-9]{1,18}", text) else text)
    return shape.check(shape.several(c.SEED), seeds, "--seeds")


def model_settings(
    settings: Mapping[str, Any],
    simulated: bool,
    names: list[str] | None = None,
    strategists: list[str] | None = None,
) -> tuple[dict[str, list[dict]], list[str]]:
    """({stage: its models with their settings}, warnings).

    `names` are the models of every stage; `strategists`, if given, write the policies in their
    place. Without both, the configuration's models, or its respondents in a simulated run.
    """
    for flag, given in (("--models", names), ("--strategy-models", strategists)):
        if given is not None and (not given or len(set(given)) < len(given)):
            raise UsageError(f"{flag}: give at least one name, each once")
    out, warnings = {}, []
    for stage in MAX_OUT:
        listed = settings["models"][stage]
        if not isinstance(listed, list):
            listed = [listed]
        asked = names
        if stage == "strategy" and strategists is not None:
            asked = strategists
        if asked is None and simulated:
            asked = settings["respondents"]
        if asked is not None:
            listed = [listed[0] | {"name": name} for name in asked]
        out[stage] = [_model(model, stage, settings.get("effort")) for model in listed]
        first = out[stage][0]
        if first["max_out"] != first["max_out_configured"]:
            warnings.append(
                f"models.{stage}.max_out: {first['max_out_configured']} tokens are too "
                f"small for the answer that is asked for; {first['max_out']} are used"
            )
    return out, warnings


def _model(model: Mapping[str, Any], stage: str, effort: str | None) -> dict[str, Any]:
    """The settings of a model at a stage; a limit that is too small for the answer form is
    replaced."""
    wanted = room = model.get("max_out", MAX_OUT[stage])
    if wanted < LEAST_OUT[stage]:
        room = MAX_OUT[stage]
    return {
        "name": model["name"],
        "max_out": room,
        "max_out_configured": wanted,
        "effort": effort or model.get("reasoning_effort"),
    }


def run_config(
    settings: Mapping[str, Any],
    seed: int,
    models: Mapping[str, list[dict]],
    /,
    toggles: Mapping[str, Any] = {},
    new: bool = False,
    **changes: Any,
) -> dict[str, Any]:
    """All settings of one run, in one flat dict.

    `toggles` and `changes` are what a run of a plan sets for itself; `new` gives it a seed that no
    other plan uses.
    """
    flat = settings | settings["randomization"]
    config = {key: flat[key] for key in (*CHOSEN, *NAMED)}
    config["toggles"] = settings["toggles"] | toggles
    config["seed"] = seed + NEW_SEEDS * new
    config["models"] = models
    return config | changes


# --- the runs of a plan -----------------------------------------------------------------------


def plan_named(name: str | None) -> PlannedRuns:
    """The plan of this name; without a name, a single run as configured."""
    if name is None:
        return PlannedRuns([{}])
    if name not in PLANS:
        raise UsageError(f"--plan: no plan {name!r}; {shape.nearest(name, PLANS)}")
    return PLANS[name]


def runs_of_plan(
    name: str | None,
    settings: Mapping[str, Any],
    models: Mapping[str, list[dict]],
    given: Sequence[int] | None,
    domains: Mapping[str, Domain],
) -> list[Run]:
    """Every run of a plan, seed by seed.

    `given` are the seeds of the command line, `domains` maps a name to its domain. The runs of one
    seed lie in the folder <plan>-s<seed>; a run without a plan lies directly in --out. A plan asks
    each held-out bulletin only once a run, so its runs on them may have fewer rounds.
    """
    plan, runs = plan_named(name), []
    for seed in given or plan.seeds(settings["randomization"]["seeds"]):
        for changes in plan.runs:
            config = run_config(settings, seed, models, **changes)
            if name and config["variants"] == "holdout":
                most = len(pool_of(config, domains))
                config["rounds"] = min(config["rounds"], most)
            folder = f"{name}-s{seed}" if name else ""
            runs.append(Run(folder, run_name(config), config))
    return dealt(runs)


def pool_of(config: Mapping[str, Any], domains: Mapping[str, Domain]) -> list[Bulletin]:
    """The bulletins from which a run's rounds are dealt."""
    return bulletin_pool(domains[config["domain"]], config["variants"] == "holdout")


def asked_again(runs: Sequence[Run], domains: Mapping[str, Domain]) -> list[str]:
    """A warning for each pool of bulletins that is smaller than a run's number of rounds."""
    lines = []
    for run in runs:
        config, many = run.config, len(pool_of(run.config, domains))
        if config["rounds"] <= many:
            continue
        kind = "held-out" if config["variants"] == "holdout" else "main"
        lines.append(
            f"rounds: {config['rounds']}, but {config['domain']} has {many} {kind} "
            "bulletins: later rounds ask them again, with other variants"
        )
    return list(dict.fromkeys(lines))


def named(setup, models, runs):
    """The runs with their final names. Where a setting is not the default, the name of a plan's
    folder (of a single run: its own) ends in a short hash of the settings; --run-id replaces it."""
    args = setup.args
    if args.run_id is not None and len(runs) > 1:
        raise UsageError(
            f"--run-id: names one run, and {len(runs)} are asked for; leave it out"
        )
    keys = list(CHOSEN)
    if args.plan:
        keys += NAMED
    usual, _ = model_settings(setup.usual, True)
    by_default = chosen(setup.usual, keys, usual)
    design = chosen(setup.config, keys, models)
    out = []
    for run in runs:
        if args.plan and args.run_id is None:
            folder = setup.run_id(run.folder, design, by_default)
            out.append(run._replace(folder=folder))
        else:
            name = setup.run_id(run.run_id, design, by_default)
            out.append(run._replace(run_id=name))
    return out


def chosen(config, keys: Sequence[str], models) -> dict[str, Any]:
    """The settings of a configuration that make it a different study."""
    flat = config | config["randomization"]
    return {"models": models, **{key: flat[key] for key in keys}}


# --- what it says and writes ------------------------------------------------------------------


def preregister(args, runs) -> cli.Done:
    """Write prereg.json into each folder of the plan; nothing is asked."""
    if not args.plan:
        raise UsageError("--preregister: give the --plan that is to be registered")
    study = prereg.document(args.plan, [run._asdict() for run in runs])
    made, lines = [], []
    for folder, members in by_folder(runs):
        path = Path(args.out) / folder
        try:
            digest = prereg.write(path, study)
        except OSError as error:
            raise UsageError(
                f"{path}: {error.strerror}; choose a folder that can be written with "
                "--out"
            ) from None
        file = str(path / prereg.FILE)
        made.append({"file": file, "runs": len(members), "sha256": digest})
        lines.append(f"{file}: {len(members)} runs, sha256 {digest}")
    instruments.note_plan(args.out, args.plan, runs)
    lines.append(prereg.POST)
    facts = {"plan": args.plan, "preregistered": made}
    return cli.Done(COMPLETE, facts, "\n".join(lines))


def estimates(setup, runs, domains) -> list[dict[str, Any]]:
    """For each run, the calls, tokens and dollars that its rendered prompts will probably take."""
    rows = []
    for run in runs:
        domain = domains[run.config["domain"]]
        rows.append(instruments.estimate(run, domain, setup.config, setup.choice))
    return rows


def first_line(setup, runs, total) -> str:
    """The first line of output: who answers, how many calls, what they will probably cost, the
    limit."""
    limit, unpriced = limit_usd(setup, runs), total["unpriced"]
    return headline(setup.choice, total["calls"], total["usd"], limit, unpriced)


def dry_run(setup, runs, domains) -> cli.Done:
    """Say design, calls and cost; nothing is asked or written."""
    rows = estimates(setup, runs, domains)
    total = instruments.in_all(rows)
    lines = [first_line(setup, runs, total)]
    for run, row in zip(runs, rows, strict=True):
        folder = Path(setup.args.out) / run.folder / run.run_id
        reads = f"about {row['prompt_tokens']:,} tokens read, ${row['usd']:.4f}"
        lines.append(f"{folder}: {instruments.sizes(row)}; {reads}")
    if len(runs) > 1:
        lines.append(f"in all {len(runs)} runs: {instruments.asked_for(total)}")
    for name, domain in domains.items():
        held_out = sum(bulletin.holdout for bulletin in domain.bulletins)
        main = len(domain.bulletins) - held_out
        lines.append(f"bulletins of {name}: {main} main ones, {held_out} held out")
    facts = {
        "dry_run": True,
        "simulated": setup.choice.simulated,
        "projected_usd": total.pop("usd"),
        "limit_usd": limit_usd(setup, runs),
        "runs": rows,
    }
    return cli.Done(COMPLETE, facts | total, "\n".join(map(cli.wrapped, lines)))


def note_deviations(args, runs) -> None:
    """Note on stderr that files changed since the plan was preregistered. It runs nevertheless;
    its analysis will be exploratory and list them."""
    for folder, _ in by_folder(runs) if args.plan else ():
        data = prereg.load(Path(args.out) / folder)
        changed = prereg.changed_files(data) if data else []
        if changed:
            print(
                f"note: since the preregistration {len(changed)} files changed ({changed[0]}, …)",
                file=sys.stderr,
            )


def announce(setup, runs, domains) -> None:
    """Print the first line, where several processes or sessions will answer."""
    total = instruments.in_all(estimates(setup, runs, domains))
    line = first_line(setup, runs, total)
    stream = sys.stderr if setup.args.json else sys.stdout
    print(line, file=stream, flush=True)


def say(summary, count, total) -> None:
    """Print how a run ended: on stderr as progress where there are several, else on stdout."""
    what = MEANING[summary.exit_code]
    if not summary.exit_code and summary.note:
        what = summary.note
    line = f"{summary.run}: {what}"
    if summary.simulated:
        line += " · SIMULATED"
    if total > 1:
        print(f"[{count}/{total}] {line}", file=sys.stderr, flush=True)
        return
    print(line, flush=True)


def report(args, runs, done, stops) -> cli.Done:
    """How the runs ended, and what to do next. `stops` is {why something stopped: its exit code};
    the command ends with the gravest of these codes."""
    code = next((code for code in MEANING if code in stops.values()), COMPLETE)
    facts = {"plan": args.plan, "runs": []}
    folders: dict[Path, None] = {}
    for run in runs:
        folder = Path(args.out) / run.folder
        if not args.plan:
            folder /= run.run_id
        folders[folder] = None
        if run.run_id in done:
            facts["runs"].append(done[run.run_id]._asdict())
    text = ""
    if code in (COMPLETE, UNREADABLE):
        text = f"now: python3 analyze.py {' '.join(map(str, folders))}"
        if args.analyze:
            facts["headline"], text = analysed(folders)
    return cli.Done(code, facts, text, error="\n".join(map(cli.error_line, stops)))


def analysed(folders) -> tuple[str, str]:
    """Write the analysis: (its headline, what the terminal says)."""
    print("analysing", file=sys.stderr, flush=True)
    study = read_study(find_runs(folders))
    target, _, out = write_analysis(study, places(study, None))
    cli.note(noticed(out))
    return out["claims"]["headline"], gist(out, target)


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])
