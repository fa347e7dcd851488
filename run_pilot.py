#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["requests>=2.32"]
# ///
"""The CIRRUS-24 pilot: 2×2 (symmetry × coupling cue), one-shot decisions of several models.

Without a key, simulated respondents answer and nothing needs to be installed:

    python3 run_pilot.py
    OPENROUTER_API_KEY=… python3 run_pilot.py --models openai/gpt-5-nano --limit-usd 1

Writes results/pilot/<run_id>/: manifest.json, journal.jsonl.gz, trials.jsonl.gz, trials.csv,
pilot-analysis.json, pilot-summary.md, report.html. The same command resumes an unfinished run.
"""

import sys
import threading
from importlib import import_module
from pathlib import Path

from common import cli
from common.exits import COMPLETE, MEANING, UsageError

ROOT = Path(__file__).resolve().parent
EXAMPLES = """  python3 run_pilot.py                          simulated respondents, 160 trials
  python3 run_pilot.py --dry-run                design, calls and cost; nothing is written
  python3 run_pilot.py --base-url http://127.0.0.1:8080/v1 --models smollm2-135m
  python3 run_pilot.py --models openai/gpt-5-nano,google/gemini-2.5-flash --runs 20"""


def arguments(argv):
    flags = cli.parser("CIRRUS-24 pilot: does symmetry with a coupling cue raise cooperation?",
                       EXAMPLES)
    cli.add_call_flags(flags, "results/pilot", str(ROOT / "config" / "pilot.config.json"))
    flags.add_argument("--runs", type=int, metavar="N", help="runs a cell and model (default 10)")
    flags.add_argument("--compliance", metavar="low|high|omit",
                       help="the compliance sentence, the same in all cells (default low)")
    flags.add_argument("--tells", metavar="standard|ablated", help="wording of prompts and cues")
    return flags.parse_args(argv)


def checks():
    """{key of config/pilot.config.json: what it must be}."""
    from common import config as c
    stages = {"concurrency.decision": c.whole(1, 512)}
    return stages | {
        "runs": c.whole(1, 10_000), "seed": c.whole(0), "models": c.names, "respondents": c.names,
        "compliance": c.one_of("low", "high", "omit"), "tells": c.one_of("standard", "ablated"),
        "temperature": c.number(0, 2), "max_out": c.whole(1, 32_000),
        "reasoning_effort": lambda v: None if v is None else c.one_of(
            "none", "minimal", "low", "medium", "high", "max")(v),
        "cost.limit_usd": c.number(0, 1e6), "deadline_s": c.number(0.1, 3600),
        "prices": c.prices, "assumed_price": c.price, "routing": c.table}


def configuration(args) -> dict:
    """Defaults, the file, then the flags; every value checked."""
    from common import config as c
    table = checks()
    settings = c.load(ROOT / "config" / "pilot.config.json", table)
    if Path(args.config) != ROOT / "config" / "pilot.config.json":
        given = c.load(Path(args.config), table)
        settings |= {k: settings[k] | v if isinstance(v, dict) and k in ("cost", "concurrency")
                     else v for k, v in given.items()}
    flags = {"seed": args.seed, "temperature": args.temperature, "runs": args.runs,
             "compliance": args.compliance, "tells": args.tells,
             "cost": None if args.limit_usd is None else {"limit_usd": args.limit_usd}}
    flags = {key: value for key, value in flags.items() if value is not None}
    c.check(flags, table, "command line")
    return settings | flags


def main(argv) -> int:
    args = arguments(argv)
    config = configuration(args)
    choice = cli.choose(args.provider, args.base_url)
    models = cli.names(args.models)
    models = config["respondents" if choice.simulated else "models"] if models is None else models
    if not models or len(set(models)) < len(models):
        raise UsageError("--models: give at least one name, each once"
                         f", not {args.models!r}")
    limits = cli.concurrency(args.concurrency, config["concurrency"])

    from cirrus import pilot
    from cirrus.scenario import ScenarioError, load_domain
    try:
        domain = load_domain("cvd")
    except ScenarioError as error:
        raise UsageError(str(error)) from None
    blocks = pilot.design(domain, config, models)
    study = identity(config, choice, models, domain)
    run_id = args.run_id or f"pilot-s{config['seed']}"
    if args.dry_run:
        return dry_run(args, config, choice, models, blocks, run_id)
    return conduct(args, config, choice, limits, domain, blocks, study, run_id)


def identity(config, choice, models, domain) -> dict:
    """What makes two runs the same study; limits, prices and concurrency do not."""
    asked = ("seed", "runs", "compliance", "tells", "temperature", "max_out", "reasoning_effort")
    design = {key: config[key] for key in asked}
    if not choice.simulated:
        from common.openrouter import public_address
        design["routing"] = config["routing"]
        return {"config": design | {"models": models}, "prompts": dict(domain.files),
                "provider": public_address(choice.address)}
    return {"config": design | {"models": models}, "prompts": dict(domain.files),
            "provider": "simulated"}


def session_settings(args, config, limits):
    from cirrus.respondents import RESPONDENTS
    from common.session import Settings
    return Settings(
        name="pilot", seed=config["seed"], limits=limits, limit_usd=config["cost"]["limit_usd"],
        prices=config["prices"], assumed_price=config["assumed_price"],
        deadline_s=config["deadline_s"], routing=config["routing"], respondents=RESPONDENTS,
        quiet=args.json)


def dry_run(args, config, choice, models, blocks, run_id) -> int:
    """Design, calls and projected cost from the configured prices; nothing asked or written."""
    from common import config as c
    from common.session import headline, projected
    requests = [trial.request for block in blocks for trial in block]
    known = {name: c.as_model(entry) for name, entry in config["prices"].items()}
    usd = 0.0 if choice.simulated else projected(requests, known, c.as_model(
        config["assumed_price"]))
    if choice.simulated:
        from cirrus.respondents import RESPONDENTS
        from common.simulated import Simulated
        Simulated(RESPONDENTS, config["seed"]).check(models)
    said = {"dry_run": True, "run_id": run_id, "simulated": choice.simulated, "models": models,
            "runs": config["runs"], "cells": len(blocks[0]), "calls": len(requests),
            "projected_usd": usd, "limit_usd": config["cost"]["limit_usd"]}
    if args.json:
        print(machine(said))
        return COMPLETE
    unpriced = [] if choice.simulated else [name for name in models if name not in known]
    print(headline(choice, len(requests), usd, config["cost"]["limit_usd"], unpriced))
    print(f"design: {len(models)} models × {config['runs']} runs × 4 cells (S×C, compliance "
          f"{config['compliance']}, tells {config['tells']}), seed {config['seed']}")
    print(f"models: {', '.join(models)}")
    print(f"would write {Path(args.out) / run_id}")
    return COMPLETE


def machine(value) -> str:
    from common.artifacts import canonical_json
    return canonical_json(value)


def conduct(args, config, choice, limits, domain, blocks, study, run_id) -> int:
    """Ask what is missing, then derive every file from the replies."""
    from cirrus import pilot
    from common.runs import RunFolder
    from common.session import Session, counts

    # What analyses and draws is loaded while the first replies are on their way.
    threading.Thread(target=import_module, args=("cirrus.pilot_files",), daemon=True).start()

    with RunFolder(Path(args.out), run_id, "pilot", study) as run:
        if run.finished:
            return report(args, run, run.manifest, None, "already complete; nothing to do")
        requests = [(trial.request, 1) for block in blocks for trial in block]
        session = Session(run, choice, session_settings(args, config, limits), requests)
        ending = session.conduct([pilot.ask(block) for block in blocks])
        from cirrus.pilot_files import derive, redealt
        rows = pilot.rows(blocks, ending.results)
        stop = ending.stop or leftovers(rows)
        files = {}
        if any(row["status"] not in ("not_run", "provider_error") for row in rows):
            prompts = {trial.id: (trial.request.system, trial.request.user)
                       for block in blocks for trial in block}
            dealt = redealt(pilot.design(domain, config, study["config"]["models"]),
                            run.journal.hashes)
            files = derive(rows, prompts, study, dealt)
        run.finish(files, stop, {
            "simulated": choice.simulated, "outcomes": dict(ending.outcomes),
            "statuses": counts(rows, "status"), "retries": ending.retries,
            "served": counts(rows, "model", "served_model"),
            "upstreams": counts(rows, "model", "provider")})
        return report(args, run, run.manifest, stop, "")


def leftovers(rows):
    """Trials that failed although the run went on: the next start asks them again."""
    from common.exits import Incomplete
    failed = sum(row["status"] == "provider_error" for row in rows)
    return Incomplete(f"{failed} of {len(rows)} trials failed after all retries; "
                      "the same command asks them again") if failed else None


def report(args, run, manifest, stop, note) -> int:
    """The last words: where the files are, what the headline result is; the exit code."""
    code = stop.code if stop else COMPLETE
    done = {"run": str(run.path), "state": manifest["state"], "exit": code,
            "simulated": manifest["simulated"], "statuses": manifest["statuses"],
            "cost_usd": manifest["cost"]["spent_usd"], "elapsed_s": manifest["elapsed_s"],
            "files": sorted(manifest["files"])}
    if stop:
        cli.complain(stop)
    if args.json:
        print(machine(done | {"ended_by": manifest["ended_by"]}))
        return code
    summary = run.path / "pilot-summary.md"
    if summary.exists() and not note:
        from cirrus.pilot_summary import terminal
        print(terminal(run.path / "pilot-analysis.json"))
    print(f"{run.path}: {note or MEANING[code]}")
    if manifest["files"]:
        print(f"open {run.path / 'report.html'}")
    return code


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])
