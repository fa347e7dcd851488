#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["requests>=2.32"]
# ///
"""Collect URRP v1.1 trials: 23 prompts, each in a fresh conversation, at least ten times a model.

Without a key, simulated respondents answer and nothing needs to be installed:

    python3 urrp_run.py && python3 urrp_analyze.py urrp_runs.jsonl
    OPENROUTER_API_KEY=… python3 urrp_run.py --models openai/gpt-5-nano --limit-usd 1

Writes ./urrp_runs.jsonl, one line a trial, and results/urrp/<run_id>/: manifest.json,
journal.jsonl.gz, urrp_runs.jsonl. The same command resumes an unfinished run.
"""

import json
import sys
from pathlib import Path

from common import cli
from common.exits import COMPLETE, MEANING, Incomplete, UsageError

ROOT = Path(__file__).resolve().parent
CONFIG = ROOT / "config" / "urrp.config.json"
OUTPUT = "urrp_runs.jsonl"
MIN_TRIALS = 10
EXAMPLES = """  python3 urrp_run.py                           simulated respondents, 690 trials
  python3 urrp_run.py --dry-run                 design, calls and cost; nothing is written
  python3 urrp_run.py --base-url http://127.0.0.1:8080/v1 --models smollm2-135m
  python3 urrp_run.py --models openai/gpt-5-nano --temperatures 0.0,0.7,1.0
  python3 urrp_run.py --pilot --trials 2        too few for the protocol; the file says so"""


def arguments(argv):
    flags = cli.parser("URRP v1.1: ask models the 23 prompts, each in a fresh conversation",
                       EXAMPLES)
    cli.add_call_flags(flags, "results/urrp", str(CONFIG))
    flags.add_argument("--trials", type=int, metavar="N",
                       help=f"trials a prompt, model and temperature (default {MIN_TRIALS})")
    flags.add_argument("--temperatures", metavar="T,T",
                       help="'default', or a sweep such as 0.0,0.7,1.0")
    flags.add_argument("--pilot", action="store_true",
                       help=f"allow fewer than {MIN_TRIALS} trials; every line says so")
    flags.add_argument("--output", metavar="FILE", default=OUTPUT,
                       help=f"the trials (default ./{OUTPUT}); never written over another run's")
    return flags.parse_args(argv)


def temperatures(text, single):
    """["default"] or numbers, from --temperatures or --temperature; None where neither is given."""
    if text is None:
        return None if single is None else [single]
    if single is not None:
        raise UsageError("--temperature and --temperatures: give one of them")
    found = []
    for part in cli.names(text):
        try:
            found.append("default" if part == "default" else float(part))
        except ValueError:
            raise UsageError(f"--temperatures: {part!r} is neither a number nor 'default'"
                             ) from None
    return found


def sweep(value):
    """What is wrong with a list of temperatures, None where nothing is."""
    if not isinstance(value, list) or not value or len(set(map(str, value))) < len(value):
        return "must be a list of different temperatures"
    good = all(t == "default" or (isinstance(t, (int, float)) and not isinstance(t, bool)
                                  and 0 <= t <= 2) for t in value)
    return None if good else "must hold numbers from 0 to 2, or 'default'"


def checks():
    """{key of config/urrp.config.json: what it must be}."""
    from common import config as c
    return {
        "trials": c.whole(1, 100_000), "seed": c.whole(0), "temperatures": sweep,
        "models": c.names, "respondents": c.names, "max_out": c.whole(1, 32_000),
        "reasoning_effort": lambda v: None if v is None else c.one_of(
            "none", "minimal", "low", "medium", "high", "max")(v),
        "concurrency.trial": c.whole(1, 512), "cost.limit_usd": c.number(0, 1e6),
        "deadline_s": c.number(0.1, 3600), "prices": c.prices, "assumed_price": c.price,
        "routing": c.table}


def configuration(args) -> dict:
    """Defaults, the file, then the flags; every value checked."""
    from common import config as c
    table = checks()
    settings = c.load(CONFIG, table)
    if Path(args.config) != CONFIG:
        given = c.load(Path(args.config), table)
        settings |= {k: settings[k] | v if isinstance(v, dict) and k in ("cost", "concurrency")
                     else v for k, v in given.items()}
    flags = {"seed": args.seed, "trials": args.trials,
             "temperatures": temperatures(args.temperatures, args.temperature),
             "cost": None if args.limit_usd is None else {"limit_usd": args.limit_usd}}
    flags = {key: value for key, value in flags.items() if value is not None}
    c.check(flags, table, "command line")
    settings |= flags
    if settings["trials"] < MIN_TRIALS and not args.pilot:
        raise UsageError(f"--trials: {settings['trials']} is under the protocol's minimum of "
                         f"{MIN_TRIALS}; --pilot allows it and stamps the file")
    return settings | {"pilot": args.pilot}


def check_output(path, out):
    """UsageError where the trials can't be written, or would cover a file that is no run's here."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UsageError(f"--output: {path} can't be a file here; name another one")
    if not path.exists():
        return
    from common.artifacts import sha256
    digest, known = sha256(path.read_bytes()), set()
    for manifest in Path(out).glob("*/manifest.json"):
        try:
            known.add(json.loads(manifest.read_bytes())["files"][OUTPUT])
        except (ValueError, KeyError, TypeError):
            continue
    if digest not in known:
        raise UsageError(f"--output: {path} is there and comes from no run in {out}; "
                         "move it away, or name another --output")


def main(argv) -> int:
    args = arguments(argv)
    config = configuration(args)
    choice = cli.choose(args.provider, args.base_url)
    models = cli.names(args.models)
    models = config["respondents" if choice.simulated else "models"] if models is None else models
    if not models or len(set(models)) < len(models):
        raise UsageError(f"--models: give at least one name, each once, not {args.models!r}")
    limits = cli.concurrency(args.concurrency, config["concurrency"])

    from urrp import collect
    asks = collect.design(config, models)
    run_id = args.run_id or f"urrp-s{config['seed']}"
    if args.dry_run:
        return dry_run(args, config, choice, models, asks, run_id)
    check_output(Path(args.output), args.out)
    return conduct(args, config, choice, limits, asks, identity(config, choice, models), run_id)


def identity(config, choice, models) -> dict:
    """What makes two runs the same study; limits, prices and concurrency do not."""
    from common.artifacts import content_sha256
    from urrp.suite import SUITE_PATH
    asked = ("seed", "trials", "temperatures", "pilot", "max_out", "reasoning_effort")
    design = {key: config[key] for key in asked} | {"models": models}
    prompts = {"prompts/urrp/v1.1.json": content_sha256(SUITE_PATH)}
    if choice.simulated:
        return {"config": design, "prompts": prompts, "provider": "simulated"}
    from common.openrouter import public_address
    return {"config": design | {"routing": config["routing"]}, "prompts": prompts,
            "provider": public_address(choice.address)}


def session_settings(args, config, limits):
    from common.session import Settings
    from urrp.respondents import RESPONDENTS
    return Settings(
        name="urrp", seed=config["seed"], limits=limits, limit_usd=config["cost"]["limit_usd"],
        prices=config["prices"], assumed_price=config["assumed_price"],
        deadline_s=config["deadline_s"], routing=config["routing"], respondents=RESPONDENTS,
        quiet=args.json)


def dry_run(args, config, choice, models, asks, run_id) -> int:
    """Design, calls and projected cost from the configured prices; nothing asked or written."""
    from common import config as c
    from common.artifacts import canonical_json
    from common.session import headline, projected
    requests = [one.request for one in asks]
    known = {name: c.as_model(entry) for name, entry in config["prices"].items()}
    usd = 0.0 if choice.simulated else projected(requests, known, c.as_model(
        config["assumed_price"]))
    if choice.simulated:
        from common.simulated import Simulated
        from urrp.respondents import RESPONDENTS
        Simulated(RESPONDENTS, config["seed"]).check(models)
    said = {"dry_run": True, "run_id": run_id, "simulated": choice.simulated, "models": models,
            "trials": config["trials"], "temperatures": config["temperatures"],
            "calls": len(requests), "projected_usd": usd,
            "limit_usd": config["cost"]["limit_usd"]}
    if args.json:
        print(canonical_json(said))
        return COMPLETE
    unpriced = [] if choice.simulated else [name for name in models if name not in known]
    print(headline(choice, len(requests), usd, config["cost"]["limit_usd"], unpriced))
    print(f"design: {len(models)} models × {config['trials']} trials × 23 prompts × "
          f"{len(config['temperatures'])} temperatures, seed {config['seed']}")
    print(f"models: {', '.join(models)}")
    print(f"would write {args.output} and {Path(args.out) / run_id}")
    return COMPLETE


def conduct(args, config, choice, limits, asks, study, run_id) -> int:
    """Ask what is missing, then write the trials from the replies."""
    from common.runs import RunFolder
    from common.session import Session
    from urrp import collect

    with RunFolder(Path(args.out), run_id, "urrp", study) as run:
        if run.finished:
            return report(args, run, None, "already complete; nothing to do")
        requests = [(one.request, 1) for one in asks]
        session = Session(run, choice, session_settings(args, config, limits), requests)
        ending = session.conduct([collect.ask(one) for one in asks])
        failed = ending.outcomes["provider_error"]
        stop = ending.stop or (Incomplete(
            f"{failed} of {len(asks)} trials failed after all retries; "
            "the same command asks them again") if failed else None)
        data = collect.jsonl(asks, ending.results, choice.simulated, config["pilot"])
        run.finish({OUTPUT: data} if data else {}, stop, {
            "simulated": choice.simulated, "pilot": config["pilot"],
            "outcomes": dict(ending.outcomes), "retries": ending.retries})
        return report(args, run, stop, "")


def report(args, run, stop, note) -> int:
    """Put the trials where the user wants them and say where they are; the exit code."""
    from common.artifacts import canonical_json, write_atomic
    code, manifest, made = stop.code if stop else COMPLETE, run.manifest, run.path / OUTPUT
    if OUTPUT in manifest["files"]:
        write_atomic(Path(args.output), made.read_bytes())
    if stop:
        cli.complain(stop)
    if args.json:
        print(canonical_json({
            "run": str(run.path), "state": manifest["state"], "exit": code,
            "simulated": manifest["simulated"], "pilot": manifest["pilot"],
            "outcomes": manifest["outcomes"], "cost_usd": manifest["cost"]["spent_usd"],
            "elapsed_s": manifest["elapsed_s"], "output": args.output,
            "files": sorted(manifest["files"]), "ended_by": manifest["ended_by"]}))
        return code
    print(f"{run.path}: {note or MEANING[code]}")
    if OUTPUT in manifest["files"]:
        stamp = "SIMULATED " if manifest["simulated"] else ""
        trials = made.read_bytes().count(b"\n")
        print(f"{args.output}: {trials} {stamp}trials\nnow: python3 urrp_analyze.py {args.output}")
    return code


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])
