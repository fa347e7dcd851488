"""analyze.py --adjudicate: two models or more rate a sample of policies, as a run like any other.

    python3 analyze.py results/acausal/confirmatory-s42 --adjudicate openai/gpt-5-nano,google/…

Writes adjudication/ beside the analysis: manifest.json, journal.jsonl.gz, ratings.jsonl. The same
command resumes it; the next analysis of the same runs reads it.
"""

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cirrus.judge.rows import Study, read_study
from cirrus.markers import adjudication
from cirrus.markers.ratings import (
    RATINGS,
    ROOT,
    ROUND,
    Item,
    codebook,
    codebook_files,
    codebook_texts,
    items_of,
    policies_of,
    sample,
)
from common import cli
from common.exits import COMPLETE, MEANING, Incomplete, Stop, UsageError

INSTRUMENT = "adjudication"
CONFIG = ROOT / "config" / "adjudication.config.json"
DEFAULT = "default"  # --adjudicate default: the models of the configuration
# What is asked, as opposed to how.
ASKED = ("seed", "sample", "temperature", "max_out", "reasoning_effort")


def configuration(args) -> dict[str, Any]:
    """Defaults, --config, flags; every value checked."""
    from common import config as c
    from common import study
    checks = study.CALL_CHECKS | {"sample": c.whole(1, 1_000_000), "temperature": c.number(0, 2),
                                  "concurrency.rating": c.whole(1, 512)}
    return study.configuration(CONFIG, args.config or CONFIG, checks, {
        "seed": args.seed, "sample": args.sample, "temperature": args.temperature,
        "cost": study.limit_flag(args.limit_usd)})


def two_models(flag: str, config: Mapping[str, Any], simulated: bool) -> list[str]:
    """The adjudicators; UsageError where they are not at least two different ones."""
    models = (config["respondents" if simulated else "models"] if flag == DEFAULT
              else cli.names(flag) or [])
    if len(set(models)) < len(models):
        twice = next(name for name in models if models.count(name) > 1)
        raise UsageError(f"--adjudicate: {twice!r} is named twice; that a model agrees with itself "
                         "shows nothing: name two different ones")
    if len(models) < 2:
        raise UsageError(f"--adjudicate: {flag!r} is one rater; agreement needs two different "
                         "models, such as A,B")
    return list(models)


def command(args, study: Study, target: Path) -> cli.Done:
    """Rate what is not rated yet, or say what would be asked."""
    from common import study as s
    config = configuration(args)
    choice = cli.choose(args.provider or "auto", args.base_url)
    models = two_models(args.adjudicate, config, choice.simulated)
    limits = cli.concurrency(args.concurrency, config["concurrency"])
    run_id = s.run_name(args.run_id, INSTRUMENT)
    codebook()  # a fault in it is told before anything is asked
    design = {key: config[key] for key in ASKED} | {"models": models}
    items = dealt(study, design)
    asked = adjudication.requests(design, items)
    from cirrus.ask.respondents import ADJUDICATORS
    if args.dry_run:
        return s.dry_run(config, choice, models, asked, ADJUDICATORS,
                         {"run_id": run_id, "items": len(items)},
                         plan_lines(study, models, items, target / run_id))
    identity = s.identity(design, codebook_files(), config, choice) | {
        "policies": sources(study, target / run_id)}
    return conduct(args, target, run_id, identity, items, asked, choice,
                   s.settings(INSTRUMENT, config, limits, args.json, ADJUDICATORS))


def dealt(study: Study, design: Mapping[str, Any]) -> list[Item]:
    """The sample; UsageError where runs are unfinished or hold nothing to rate."""
    unfinished = [run.name for run in study.runs if run.role == "main" and not run.complete]
    if unfinished:
        raise UsageError(f"{unfinished[0]} is unfinished; resume it first: the sample is drawn "
                         "from the policies of whole runs")
    items = items_of(policies_of(study))
    if not items:
        raise UsageError("no main runs with readable policies of round 1: there is nothing to rate")
    return sample(items.values(), design["sample"], design["seed"])


def sources(study: Study, folder: Path) -> dict[str, str]:
    """{run's path from the adjudication's folder: hash of its policies of round 1}."""
    return {Path(os.path.relpath(run.folder, folder.resolve())).as_posix():
            run.manifest["files"][ROUND] for run in study.runs if run.role == "main"}


def items_again(folder: Path, identity: Mapping[str, Any]) -> list[Item]:
    """The sample of an adjudication, drawn again from the runs that it names.

    UsageError where a run is gone or its policies are not those that were rated.
    """
    study = read_study(folder / path for path in identity["policies"])
    now = sources(study, folder)
    changed = [path for path, digest in identity["policies"].items() if now.get(path) != digest]
    if changed:
        raise UsageError(f"{folder / changed[0] / ROUND}: not the policies that were rated")
    return sample(items_of(policies_of(study)).values(), identity["config"]["sample"],
                  identity["config"]["seed"])


def plan_lines(study: Study, models: list[str], items: list[Item], folder: Path) -> list[str]:
    every = len(items_of(policies_of(study)))
    return [f"design: {len(items)} of {every} different policies × {len(models)} raters",
            f"raters: {', '.join(models)}", f"would write {folder}"]


def conduct(args, target: Path, run_id: str, identity: dict, items: list[Item], asked: list,
            choice, settings) -> cli.Done:
    """Ask what is missing, then derive the ratings from the replies."""
    from common.runs import RunFolder
    from common.session import Session
    with RunFolder(target, run_id, INSTRUMENT, identity, codebook_texts()) as run:
        if run.finished:
            return report(args, run, None, "already complete; nothing to do")
        session = Session(run, choice, settings, [(request, 1) for request in asked])
        ending = session.conduct(map(adjudication.ask, asked))
        replies = {request.id: reply for request, reply in zip(asked, ending.results, strict=True)
                   if reply is not None}
        files = adjudication.derive(identity["config"], items, replies, choice.simulated)
        failed = ending.failed
        stop = ending.stop or (Incomplete(
            f"{failed} of {len(asked)} ratings failed after all retries; the same command asks "
            "them again") if failed else None)
        rows = list(adjudication.rows(identity["config"], items, replies, choice.simulated))
        run.finish(files, stop, {
            "simulated": choice.simulated, "outcomes": dict(ending.outcomes),
            "statuses": statuses(rows), "retries": ending.retries})
        return report(args, run, stop, "")


def statuses(rows: list[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """{rater: {status: ratings}}."""
    out: dict[str, Counter] = {}
    for row in rows:
        out.setdefault(row["rater"], Counter())[row["status"]] += 1
    return {name: dict(sorted(own.items())) for name, own in out.items()}


def report(args, run, stop: Stop | None, note: str) -> cli.Done:
    code, manifest = stop.code if stop else COMPLETE, run.manifest
    stamp = "SIMULATED " if manifest["simulated"] else ""
    text = [f"{name}: " + ", ".join(f"{n} {status}" for status, n in own.items())
            for name, own in manifest["statuses"].items()]
    text.append(f"{run.path}: {note or MEANING[code]}")
    if RATINGS in manifest["files"]:
        text += [f"{run.path / RATINGS}: {stamp}ratings",
                 f"now: python3 analyze.py {' '.join(map(str, args.runs))}"]
    facts = {"run": str(run.path), "state": manifest["state"], "simulated": manifest["simulated"],
             "statuses": manifest["statuses"], "cost_usd": manifest["cost"]["spent_usd"],
             "elapsed_s": manifest["elapsed_s"], "files": sorted(manifest["files"])}
    return cli.Done(code, facts, cli.printable("\n".join(text)), error=cli.one_line(stop))
