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

from common import UsageError, cli
from common import config as c
from common.artifacts import sha256, sweep, write_atomic
from common.instrument import Run, conduct, last_words
from common.runs import Origin
from urrp import MIN_TRIALS, SUITE_PATH
from urrp.collect import FILE, RESPONDENTS, SUITE, instrument

CONFIG = Path(__file__).resolve().parent / "config" / "urrp.config.json"
# What is asked, as opposed to how: the part of the configuration that makes the study.
ASKED = ("seed", "trials", "temperatures", "pilot", "max_out", "reasoning_effort")
EXAMPLES = """  python3 urrp_run.py                           simulated respondents, 690 trials
  python3 urrp_run.py --dry-run                 design, calls and cost; nothing is written
  python3 urrp_run.py --base-url http://127.0.0.1:8080/v1 --models smollm2-135m
  python3 urrp_run.py --models openai/gpt-5-nano --temperatures 0.0,0.7,1.0
  python3 urrp_run.py --pilot --trials 2        too few for the protocol; the file says so"""


def arguments(argv):
    flags = cli.parser("URRP v1.1: ask models the 23 prompts, each in a fresh conversation",
                       EXAMPLES)
    add, add_file = cli.add_call_flags(flags, "results/urrp", str(CONFIG))
    add("--temperatures", metavar="T,T", help="'default', or a sweep such as 0.0,0.7,1.0")
    add("--trials", type=int, metavar="N",
        help=f"trials a prompt, model and temperature (default {MIN_TRIALS})")
    add("--pilot", action="store_true",
        help=f"allow fewer than {MIN_TRIALS} trials; every line says so")
    add_file("--output", metavar="FILE", default=FILE,
             help=f"the trials (default ./{FILE}); never written over another run's")
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


def temperature_sweep(value):
    """What is wrong with a list of temperatures, None where nothing is."""
    if not isinstance(value, list) or not value or len(set(map(str, value))) < len(value):
        return "must be a list of different temperatures"
    good = all(t == "default" or (isinstance(t, (int, float)) and not isinstance(t, bool)
                                  and 0 <= t <= 2) for t in value)
    return None if good else "must hold numbers from 0 to 2, or 'default'"


def checks():
    """{key of config/urrp.config.json: what it must be}."""
    return c.CALL_CHECKS | {"trials": c.whole(1, 100_000), "temperatures": temperature_sweep,
                          "concurrency.trial": c.whole(1, 512)}


def configuration(args) -> dict:
    """Defaults, the file, then the flags; every value checked."""
    settings = c.configuration([CONFIG, args.config], checks(), {
        **c.shared_flags(args), "trials": args.trials,
        "temperatures": temperatures(args.temperatures, args.temperature)})
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
    digest, known = sha256(path.read_bytes()), set()
    for manifest in Path(out).glob("*/manifest.json"):
        try:
            known.add(json.loads(manifest.read_bytes())["files"][FILE])
        except (ValueError, KeyError, TypeError):
            continue
    if digest not in known:
        raise UsageError(f"--output: {path} is there and comes from no run in {out}; "
                         "move it away, or name another --output")


def usual():
    """The design without flags and key."""
    config = c.load(CONFIG, checks()) | {"pilot": False}
    return {key: config[key] for key in ASKED} | {"models": config["respondents"]}


def refuse_other_words(folder: str, text: str) -> None:
    """Trials of other words would be another instrument under this one's name."""
    path = Path(folder) / SUITE
    if not path.is_file() or path.read_text("utf-8") != text:
        raise UsageError(f"--prompts: {path}: URRP v1.1 asks its specification's words; leave "
                         "the flag out, or restore the file")


def main(argv) -> cli.Done:
    args = arguments(argv)
    config = configuration(args)
    choice = cli.choose(args.provider, args.base_url)
    models = c.chosen(args.models, config, choice)
    limits = cli.concurrency(args.concurrency, config["concurrency"])
    design = {key: config[key] for key in ASKED} | {"models": models}
    run_id = c.run_name(args.run_id, c.default_name("urrp", design, config, choice, usual()))
    suite = SUITE_PATH.read_text("utf-8")
    if args.prompts:
        refuse_other_words(args.prompts, suite)
    identity = c.identity(design, {SUITE: sha256(suite)}, config, choice)
    origin = Origin(Path(args.out) / run_id, identity, {SUITE: suite})
    collection = instrument(origin)
    if args.dry_run:
        requests = [request for request, _ in collection.calls()]
        facts = {key: config[key] for key in ("trials", "temperatures")} | {"run_id": run_id}
        return c.dry_run(config, choice, RESPONDENTS, c.Planned(models, requests, facts, [
            f"design: {len(models)} models × {config['trials']} trials × 23 prompts × "
            f"{len(config['temperatures'])} temperatures, seed {config['seed']}",
            f"models: {', '.join(models)}",
            f"would write {args.output} and {Path(args.out) / run_id}"]))
    check_output(Path(args.output), args.out)
    settings = c.settings("urrp", config, limits, args.json, RESPONDENTS)
    return report(args, conduct([Run(origin, collection)], choice, settings)[0])


def report(args, ended) -> cli.Done:
    """Put the trials where the user wants them and say where they are."""
    text, manifest = [], ended.folder.manifest
    if FILE in manifest["files"]:
        data = (ended.folder.path / FILE).read_bytes()
        lines = data.count(b"\n")
        sweep(Path(args.output).parent, Path(args.output).name)
        write_atomic(Path(args.output), data)
        stamp = "SIMULATED " if manifest["simulated"] else ""
        text = [f"{args.output}: {lines} {stamp}trials",
                f"now: python3 urrp_analyze.py {args.output}"]
    return last_words(ended, "pilot", "outcomes", after=text, output=args.output)


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])
