#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["requests>=2.32"]
# ///
"""The CIRRUS-24 tournament: agents write policies and meet, in one condition or a whole plan.

Without a key, simulated respondents answer and nothing needs to be installed:

    python3 run_tournament.py
    python3 run_tournament.py --plan confirmatory --jobs 2
    OPENROUTER_API_KEY=… python3 run_tournament.py --toggle S=low --toggle C=absent --limit-usd 2

Writes results/acausal/<run_id>/ (a plan's runs: results/acausal/<plan>-s<seed>/<run_id>/):
strategies_r1.json …, round_1_games.json …, acausal_manifest.json, transcripts/, manifest.json,
journal.jsonl.gz. The same command resumes; `analyze.py --verify` derives every file again.
"""

import sys
from pathlib import Path

from cirrus.ask import design as s
from cirrus.ask.bulletins import FOLDERS, PROMPTS
from cirrus.ask.cues import use
from cirrus.ask.design import by_folder, pools, runs_of_plan, single_runs
from cirrus.ask.respondents import RESPONDENTS
from cirrus.instruments import Job, attempt, calls_of, domain_of, estimate, note_plan
from cirrus.judge import prereg
from cirrus.judge.rows import places, read_study
from cirrus.reports.study import gist, noticed, write_analysis
from common import COMPLETE, INTERRUPTED, MEANING, Stop, UsageError, cli
from common import config as c
from common.cluster import mapped
from common.instrument import Simulated, headline
from common.rng import SeededRandom
from common.runs import check_run_id
from common.shape import check, several
from common.verify import find_runs

ROOT = Path(__file__).resolve().parent
EXAMPLES = """  python3 run_tournament.py             simulated, 10 agents × 10 rounds
  python3 run_tournament.py --toggle H=low --domain hospital --rounds 6
  python3 run_tournament.py --plan confirmatory --dry-run
  python3 run_tournament.py --plan confirmatory --preregister
  python3 run_tournament.py --plan exploratory --jobs 2 --agents 6 --rounds 2
  python3 run_tournament.py --plan my-plan.json --scheduler tcp://127.0.0.1:8786

plans: 2x2, confirmatory, exploratory, holdout, ablation, history-off, study, or
JSON.
--limit-usd is for everything the command does; cost.limit_usd of the
configuration for each run."""


def arguments(argv):
    flags = cli.parser("CIRRUS-24 tournament: do agents that may take each other for alike "
                       "cooperate on first encounters?", EXAMPLES)
    add, _ = cli.add_call_flags(flags, "results/acausal",
                                str(ROOT / "config" / "experiment.config.json"))
    add("--seeds", metavar="1,2,3", help="repeat run or plan with each of these seeds")
    add("--toggle", action="append", default=[], metavar="S=high",
        help="the level of a factor; repeatable")
    add("--domain", metavar="NAME", help="folder of prompts: cvd, hospital, …")
    add("--agents", type=int, metavar="N", help="agents that are models (default 10)")
    add("--rounds", type=int, metavar="N", help="rounds, at most one a bulletin (default 10)")
    add = flags.add_argument_group("a whole plan").add_argument
    add("--plan", metavar="NAME", help="every run of a plan instead of one condition; see below")
    add("--preregister", action="store_true",
        help="write prereg.json of the plan, print its hash, ask nothing")
    add("--analyze", action="store_true", help="then analyse what was run, as analyze.py does")
    add("--jobs", type=int, default=1, metavar="N", help="processes (default 1)")
    add("--scheduler", metavar="URL", help="a Dask cluster's scheduler, tcp://…")
    return flags.parse_args(argv)


def main(argv) -> cli.Done:
    args = arguments(argv)
    setup = c.settle(args, [s.DEFAULT], s.SETTINGS, flags_over(args))
    settings, choice, seeds = setup.config, setup.choice, seeds_given(args)
    models, warnings = s.voices(settings, choice.simulated, cli.names(args.models))
    domains = {name: domain_of(name, Path(args.prompts or PROMPTS)) for name in FOLDERS}
    prompts = {path: text for domain in domains.values() for path, text in domain.texts.items()}
    use(prompts)
    bulletins = pools(domains.values())
    runs = runs_of(args.plan, settings, models, seeds, bulletins)
    if args.run_id is None:
        runs = named(setup, runs, seeds, bulletins)
    elif len(runs) > 1:
        raise UsageError(f"--run-id: names one run, and {len(runs)} are asked for; leave it out")
    else:
        runs = [runs[0]._replace(run_id=check_run_id(args.run_id))]
    for line in warnings:
        print(f"warning: {line}", file=sys.stderr)
    if choice.simulated:
        Simulated(RESPONDENTS, 0).check([v["name"] for v in models["decision"]])
    if args.preregister:
        return preregister(args, runs)
    if args.dry_run:
        return dry_run(setup, runs, domains)
    if args.jobs > 1 or args.scheduler or (choice.simulated and len(runs) > 1):
        announce(setup, runs, domains)
    note_deviations(args, runs)
    done, stops = {}, {}
    note_plan(args.out, args.plan, runs)
    try:
        with mapped(attempt, jobs_of(setup, runs, prompts), args.jobs, args.scheduler) as results:
            for _, summaries in results:
                note_plan(args.out, args.plan, runs)
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
    return report(args, runs, done, stops)


# --- what was asked for ------------------------------------------------------------------------

def flags_over(args) -> dict:
    """The flags as configuration."""
    if args.plan and (args.toggle or args.domain):
        raise UsageError("--plan sets toggles and domain of its runs; leave --toggle and --domain "
                         "out, or write a plan file")
    if args.jobs < 1:
        raise UsageError(f"--jobs: must be at least 1, not {args.jobs}")
    toggles = {}
    for text in args.toggle:
        factor, equals, level = text.partition("=")
        if not equals or factor in toggles:
            raise UsageError(f"--toggle: {text!r} " + (
                "sets a factor twice" if equals else "is not FACTOR=LEVEL, such as S=high"))
        toggles[factor] = level
    return {"toggles": toggles or None,
            "cost": None if args.limit_usd is None else {"plan_limit_usd": args.limit_usd},
            **{name: getattr(args, name) for name in (
                "domain", "agents", "rounds", "temperature", "pin", "effort")}}


def seeds_given(args) -> list[int] | None:
    if args.seeds is not None and args.seed is not None:
        raise UsageError("--seed and --seeds: give one of them")
    texts = cli.names(args.seeds) if args.seed is None else [str(args.seed)]
    return None if texts is None else check(several(c.SEED), [
        int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else text
        for text in texts], "--seeds")


def runs_of(plan, settings, models, seeds, bulletins):
    """Every run of a plan; without one, of one condition."""
    of = settings, models, seeds, bulletins
    return single_runs(*of) if plan is None else runs_of_plan(plan, *of)


def named(setup, runs, seeds, bulletins):
    """Runs of other settings than the keyless default's in folders of another name: a plan's in
    one, a single one in its own."""
    args, settings, choice = setup.args, setup.config, setup.choice
    asked = {key: settings.get(key) for key in ("routing", "pin")}
    prompts = {"prompts": args.prompts} if args.prompts else {}
    now = [c.identity(run.config | prompts, {}, asked, choice) for run in runs]
    usual = setup.usual if args.plan else setup.usual | {key: settings[key] for key in s.NAMED}
    try:
        again = runs_of(args.plan, usual, s.voices(setup.usual, True, None)[0], seeds, bulletins)
    except UsageError:  # a domain with too few bulletins for the default
        return [run._replace(run_id=c.short_name(run.run_id, identity, {}))
                for run, identity in zip(runs, now, strict=True)]
    keyless = [c.identity(run.config, {}, {}, choice._replace(simulated=True)) for run in again]
    if args.plan:
        def of(folder, identities, named):
            return {"runs": [identity for identity, run in zip(identities, named, strict=True)
                             if run.folder == folder]}
        return [run._replace(folder=c.short_name(run.folder, of(run.folder, now, runs),
                                                 of(run.folder, keyless, again))) for run in runs]
    return [run._replace(run_id=c.short_name(run.run_id, identity, by_default))
            for run, identity, by_default in zip(runs, now, keyless, strict=True)]


def limits_usd(settings, runs) -> tuple[float, float]:
    """Dollars for everything, dollars for each run."""
    each = settings["cost"]["limit_usd"]
    total = settings["cost"].get("plan_limit_usd", each * len(runs))
    return (total, each) if len(runs) > 1 else (total, total)


def jobs_of(setup, runs, prompts):
    """One job a simulated run; live runs all in one, or dealt to --jobs processes, which then
    share limits and budget."""
    args, choice, limits = setup.args, setup.choice, setup.limits
    total, each = limits_usd(setup.config, runs)
    many = len(runs) if choice.simulated else min(args.jobs, len(runs), *limits.values())
    # The pre-flight is told an effort only where all models of all runs have the same.
    efforts = {run.config.get("effort") or voice["effort"] for run in runs
               for voices in run.config["models"].values() for voice in voices}
    settings = setup.settings(args.plan or "", 0, efforts.pop() if len(efforts) == 1 else None)
    share = {stage: n if choice.simulated else max(1, n // many) for stage, n in limits.items()}
    if not choice.simulated:  # no factor of the plan may go with one process
        runs = SeededRandom(runs[0].config["seed"], "groups").sample(runs, len(runs))
    out = Path(args.out).resolve() if args.scheduler else Path(args.out)
    quiet = many > 1 or args.json
    return [Job(str(out), group, choice._replace(key=""), settings._replace(
        name=args.plan or group[0].run_id, seed=group[0].config["seed"], limits=share,
        limit_usd=total * len(group) / len(runs), limit_each=each, quiet=quiet, nested=quiet),
        prompts) for group in (tuple(runs[at::many]) for at in range(many))]


# --- what it says and writes ------------------------------------------------------------------

def preregister(args, runs) -> cli.Done:
    if not args.plan:
        raise UsageError("--preregister: give the --plan that is to be registered")
    study = prereg.document(args.plan, [run._asdict() for run in runs])
    made = []
    for folder, own in by_folder(runs):
        path = Path(args.out) / folder
        try:
            digest = prereg.write(path, study)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}; choose a folder that can be written with "
                             "--out") from None
        made.append({"file": str(path / prereg.FILE), "runs": len(own), "sha256": digest})
    note_plan(args.out, args.plan, runs)
    lines = ["{file}: {runs} runs, sha256 {sha256}".format(**row) for row in made]
    return cli.Done(COMPLETE, {"plan": args.plan, "preregistered": made}, "\n".join([
        *lines, "post the hash where a third party stamps the time; runs below this folder "
        "carry it"]))


def dry_run(setup, runs, domains) -> cli.Done:
    """Design, calls and cost estimated from the rendered prompts; nothing asked or written."""
    settings, choice = setup.config, setup.choice
    rows = [estimate(run, domains[run.config["domain"]], settings, choice.simulated)
            for run in runs]
    calls, usd = sum(row["calls"] for row in rows), sum(row["usd"] for row in rows)
    limit, each = limits_usd(settings, runs)
    unpriced = sorted({name for row in rows for name in row["unpriced"]})
    lines = [headline(choice, calls, usd, limit, unpriced)]
    for run, row in zip(runs, rows, strict=True):
        folder = Path(setup.args.out) / run.folder / run.run_id
        lines.append(f"{folder}: {row['agents']} agents × {row['rounds']} rounds × {row['games']} "
                     f"games, {row['calls']} calls, about {row['prompt_tokens']} tokens read, "
                     f"${row['usd']:.4f} of ${each:g}")
    if choice.simulated:
        row = estimate(runs[0], domains[runs[0].config["domain"]], settings, False,
                       settings["models"])
        lines.append(f"with {' and '.join(row['models'])}, as configured: ${row['usd']:.4f} a "
                     "run, from the tokens of the rendered prompts")
    return cli.Done(COMPLETE, {"dry_run": True, "simulated": choice.simulated, "calls": calls,
                               "projected_usd": usd, "limit_usd": limit, "runs": rows},
                    "\n".join(map(cli.wrapped, lines)))


def note_deviations(args, runs) -> None:
    """A preregistered plan may be run after a change; it says so, and so will its analysis."""
    for folder, _ in by_folder(runs) if args.plan else ():
        data = prereg.load(Path(args.out) / folder)
        changed = prereg.deviations(data) if data else []
        if changed:
            print(f"note: since the preregistration {len(changed)} files changed ({changed[0]}, …)",
                  file=sys.stderr)


def announce(setup, runs, domains) -> None:
    """The first line where several processes or sessions will answer."""
    settings, choice = setup.config, setup.choice
    usd = 0.0 if choice.simulated else sum(
        estimate(run, domains[run.config["domain"]], settings, False)["usd"] for run in runs)
    print(headline(choice, sum(calls_of(run.config) for run in runs), usd,
                   limits_usd(settings, runs)[0], []),
          file=sys.stderr if setup.args.json else sys.stdout, flush=True)


def say(summary, count, total) -> None:
    """A run of several is progress, one alone is what the command was for."""
    what = (MEANING[summary.exit_code] if summary.exit_code else
            summary.note or MEANING[COMPLETE])
    line = f"{summary.run}: {what}" + " · SIMULATED" * summary.simulated
    if total > 1:
        print(f"[{count}/{total}] {line}", file=sys.stderr, flush=True)
        return
    figures = summary.figures["first_encounters"]
    print("\n".join([line, *([f"cooperation on first encounters of round 1: {figures}"]
                             if figures else [])]), flush=True)


def report(args, runs, done, stops) -> cli.Done:
    """What ended how; the exit code is the gravest of `stops`, {what was said: code}."""
    code = next((code for code in MEANING if code in stops.values()), COMPLETE)
    facts = {"plan": args.plan, "runs": [done[run.run_id]._asdict() for run in runs
                                         if run.run_id in done]}
    folders = list(dict.fromkeys(Path(args.out) / run.folder / ("" if args.plan else run.run_id)
                                 for run in runs))
    text = "" if code else f"now: python3 analyze.py {' '.join(map(str, folders))}"
    if args.analyze and not code:
        print("analysing", file=sys.stderr, flush=True)
        study = read_study(find_runs(folders))
        target, _, out = write_analysis(study, places(study, None))
        cli.note(noticed(out))
        facts, text = facts | {"headline": out["claims"]["headline"]}, gist(out, target)
    return cli.Done(code, facts, text, error="\n".join(map(cli.error_line, stops)))


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])
