#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["requests>=2.32"]
# ///
"""Collect URRP v1.1 trials: 23 prompts, each asked in at least ten fresh conversations of a model.

Without a key, simulated respondents answer and nothing needs to be installed:

    python3 urrp_run.py && python3 urrp_analyze.py urrp_runs.jsonl
    OPENROUTER_API_KEY=… python3 urrp_run.py --models openai/gpt-5-nano --limit-usd 1

Writes ./urrp_runs.jsonl, one line for each trial, and manifest.json, journal.jsonl.gz and
urrp_runs.jsonl in results/urrp/<run_id>/. The same command resumes an unfinished run.
"""

import sys
from pathlib import Path

from common import UsageError, cli
from common import config as c
from common.artifacts import write_atomic
from common.session import last_words
from common.shape import either, enum, options, several, whole
from urrp import MIN_TRIALS, SUITE_PATH
from urrp.collect import FILE, RESPONDENTS, SUITE, instrument

CONFIG = Path(__file__).resolve().parent / "config" / "urrp.config.json"
# The keys of the configuration that decide what is asked. The others, such as concurrency, may
# differ when a run is resumed.
IDENTITY = ("seed", "trials", "temperatures", "max_out", "reasoning_effort")
KINDS = options(
    **c.STUDY,
    trials=whole(1, 100_000),
    concurrency=options(trial=c.CALLS),
    temperatures=several(either(enum("default"), c.TEMPERATURE)),
)
EXAMPLES = """  python3 urrp_run.py                      simulated respondents, 690 trials
  python3 urrp_run.py --dry-run            design, calls and cost
  python3 urrp_run.py --base-url http://127.0.0.1:8080/v1 --models smollm2-135m
  python3 urrp_run.py --models openai/gpt-5-nano --temperatures 0.0,0.7,1.0
  python3 urrp_run.py --pilot --trials 2   too few; the file says so"""


def arguments(argv):
    flags = cli.parser(
        "URRP v1.1: ask models the 23 prompts, each in a fresh conversation", EXAMPLES
    )
    add, add_file = cli.add_call_flags(flags, "results/urrp", str(CONFIG))
    add(
        "--temperatures",
        metavar="T,T",
        help="'default', or a sweep such as 0.0,0.7,1.0",
    )
    add(
        "--trials",
        type=int,
        metavar="N",
        help=f"trials a prompt, model and temperature (default {MIN_TRIALS})",
    )
    add(
        "--pilot",
        action="store_true",
        help=f"allow fewer than {MIN_TRIALS} trials; every line says so",
    )
    add_file(
        "--output", metavar="FILE", default=FILE, help=f"the trials (default ./{FILE})"
    )
    add("--force", action="store_true", help="write --output over another run's file")
    return flags.parse_args(argv)


def main(argv) -> cli.Done:
    args = arguments(argv)
    given = c.flags(args, "trials")
    given["temperatures"] = temperatures(args.temperatures, args.temperature)
    setup = c.settle(args, [CONFIG], KINDS, given)
    design = setup.design(IDENTITY, pilot=args.pilot)
    if design["trials"] < MIN_TRIALS and not args.pilot:
        raise UsageError(
            f"--trials: {design['trials']} is under the protocol's minimum of "
            f"{MIN_TRIALS}; --pilot allows it and stamps the file"
        )
    suite = SUITE_PATH.read_text("utf-8")
    if args.prompts:
        path = Path(args.prompts) / SUITE
        if not path.is_file() or path.read_text("utf-8") != suite:
            raise UsageError(
                f"--prompts: {path}: URRP v1.1 asks its specification's words; leave "
                "the flag out, or restore the file"
            )
        args.prompts = None
    seed = design["seed"]
    usual = {"seed": seed, "pilot": False}
    folder = Path(args.out) / setup.run_id(f"urrp-s{seed}", design, usual)
    if not args.dry_run and not args.force:
        check_output(Path(args.output), folder)
    origin = setup.origin(folder, design, {SUITE: suite})
    plan = c.Plan(
        "urrp",
        origin,
        instrument(origin),
        RESPONDENTS,
        lambda: preview(args, folder, design),
    )
    return c.study_main(setup, plan, lambda ended: report(args, ended))


def preview(args, folder, design):
    """Return what a dry run says: facts for --json, and lines for people."""
    models, trials, sweep = design["models"], design["trials"], design["temperatures"]
    facts = {"run_id": folder.name, "trials": trials, "temperatures": sweep}
    lines = [
        f"design: {len(models)} models × {trials} trials × 23 prompts × "
        f"{len(sweep)} temperatures, seed {design['seed']}",
        f"models: {', '.join(models)}",
        f"would write {args.output} and {folder}",
    ]
    return facts, lines


def temperatures(text, single):
    """Return the value of --temperatures (`text`) or --temperature (`single`) as a list of
    numbers and "default", or None if neither is given."""
    if text is None:
        return None if single is None else [single]
    if single is not None:
        raise UsageError("--temperature and --temperatures: give one of them")
    try:
        return [cli.temperature(part) for part in cli.names(text)]
    except ValueError:
        why = f"--temperatures: {text!r}: give numbers, or 'default'"
        raise UsageError(why) from None


def check_output(path, folder):
    """Raise UsageError if the trials can't be written to `path`, or would replace trials
    of another run than the one in `folder`."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UsageError(f"--output: {path} can't be a file here; name another one")
    known = folder / FILE
    lines = set(known.read_bytes().splitlines()) if known.is_file() else set()
    if path.exists() and not lines.issuperset(path.read_bytes().splitlines()):
        raise UsageError(
            f"--output: {path} is not of this run ({folder.name}); move it away, name "
            "another --output, or give --force to write over it"
        )


def report(args, ended) -> cli.Done:
    """Write the trials to --output, and return the last words of the command."""
    text, manifest = [], ended.folder.manifest
    if FILE in manifest["files"]:
        data = (ended.folder.path / FILE).read_bytes()
        write_atomic(Path(args.output), data)
        stamp = "SIMULATED " if manifest["simulated"] else ""
        trials = data.count(b"\n")
        text.append(f"{args.output}: {trials} {stamp}trials")
        text.append(f"now: python3 urrp_analyze.py {args.output}")
    return last_words(ended, "pilot", "outcomes", after=text, output=args.output)


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])
