#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["requests>=2.32"]
# ///
"""Have two models or more rate a sample of a tournament's policies, blind, by the codebook.

    python3 adjudicate.py results/acausal/confirmatory-s42 --provider simulated
    OPENROUTER_API_KEY=… python3 adjudicate.py results/acausal/confirmatory-s42 --models A,B

Writes adjudication/ beside the analysis of the runs (another name where raters or settings are
others): manifest.json, journal.jsonl.gz, ratings.jsonl. The same command resumes it; the next
analyze.py of the same runs reads it.
"""

import sys
from pathlib import Path

from cirrus.ask.respondents import ADJUDICATORS
from cirrus.instruments import adjudication, sources
from cirrus.judge.rows import places, read_study, without_ratings
from cirrus.markers.ratings import RATINGS, codebook, codebook_texts, dealt
from common import UsageError, cli
from common import config as c
from common.artifacts import sha256
from common.instrument import Run, conduct, last_words
from common.runs import Origin
from common.verify import find_runs, open_run

ROOT = Path(__file__).resolve().parent
CONFIG = ROOT / "config" / "adjudication.config.json"
INSTRUMENT = "adjudication"
# What is asked, as opposed to how.
ASKED = ("seed", "sample", "temperature", "max_out", "reasoning_effort")
EXAMPLES = """  python3 adjudicate.py results/acausal/confirmatory-s42 --dry-run
  python3 adjudicate.py results/acausal/confirmatory-s42 --sample 50
  python3 adjudicate.py results/acausal/confirmatory-s42 --models openai/gpt-5-nano,google/…"""


def arguments(argv):
    flags = cli.parser("Models rate policies of run_tournament.py blind, by the codebook.",
                       EXAMPLES, "RUN…")
    flags.add_argument("runs", nargs="+", metavar="RUN",
                       help="a run's folder, or a folder of runs")
    add, _ = cli.add_call_flags(flags, None, str(CONFIG))
    add("--sample", type=int, metavar="N", help="policies to rate (default 200, or all)")
    return flags.parse_args(argv)


def main(argv) -> cli.Done:
    args = arguments(argv)
    config = configuration(args)
    choice = cli.choose(args.provider, args.base_url)
    models = raters(args.models, config, choice.simulated)
    limits = cli.concurrency(args.concurrency, config["concurrency"])
    texts = codebook_texts(args.prompts)
    codebook(*texts.values())  # a fault in it is told before anything is asked
    runs = without_ratings({run: open_run(run) for run in find_runs(args.runs)})
    if strange := {manifest["artifact"] for manifest in runs.values()} - {"tournament"}:
        raise UsageError(f"{next(iter(runs))}: {strange.pop()}s have no policies to rate; give "
                         "runs of run_tournament.py")
    study = read_study(runs)
    design = {key: config[key] for key in ASKED} | {"models": models}
    run_id = c.run_name(args.run_id, c.short_name(INSTRUMENT, c.identity(
        design | ({"prompts": args.prompts} if args.prompts else {}), {}, config, choice), usual()))
    folder = places(study, args.out)[0] / run_id
    items, every = dealt(study, design)
    hashes = {name: sha256(text) for name, text in texts.items()}
    identity = c.identity(design, hashes, config, choice) | {
        "policies": sources(study, folder)}
    origin = Origin(folder, identity, texts)
    instrument = adjudication(origin)
    if args.dry_run:
        lines = [f"design: {len(items)} of {every} different policies × {len(models)} raters",
                 f"raters: {', '.join(models)}", f"would write {folder}"]
        return c.dry_run(config, choice, ADJUDICATORS, c.Planned(
            models, [request for request, _ in instrument.calls()],
            {"run_id": run_id, "items": len(items)}, lines))
    settings = c.settings(INSTRUMENT, config, limits, args.json, ADJUDICATORS)
    return report(args, conduct([Run(origin, instrument)], choice, settings)[0])


def checks():
    """What each value of a configuration must be."""
    return c.CALL_CHECKS | {"sample": c.whole(1, 1_000_000), "temperature": c.number(0, 2),
                            "concurrency.rating": c.whole(1, 512)}


def usual():
    """The identity of the command without flags and key, whose run has the bare name."""
    config = c.load(CONFIG, checks())
    design = {key: config[key] for key in ASKED} | {"models": config["respondents"]}
    return {"config": design, "prompts": {}, "provider": "simulated"}


def configuration(args):
    """Defaults, --config, flags; every value checked."""
    return c.configuration([CONFIG, args.config], checks(), {
        **c.shared_flags(args), "sample": args.sample, "temperature": args.temperature})


def raters(flag, config, simulated) -> list[str]:
    """The adjudicators; UsageError where they are not at least two different ones."""
    usual = config["respondents" if simulated else "models"]
    models = usual if flag is None else cli.names(flag)
    if len(set(models)) < len(models):
        twice = next(name for name in models if models.count(name) > 1)
        raise UsageError(f"--models: {twice!r} is named twice; that a model agrees with itself "
                         "shows nothing: name two different ones")
    if len(models) < 2:
        raise UsageError(f"--models: {flag!r} is one rater; agreement needs two different "
                         "models, such as A,B")
    return list(models)


def report(args, ended) -> cli.Done:
    manifest, folder = ended.folder.manifest, ended.folder.path
    stamp = "SIMULATED " if manifest["simulated"] else ""
    lines = [cli.printable(f"{name}: " + ", ".join(f"{n} {status}" for status, n in own.items()))
             for name, own in manifest["statuses"].items()]
    now = f"now: python3 analyze.py {' '.join(map(str, args.runs))}"
    written = [f"{folder / RATINGS}: {stamp}ratings", now] if RATINGS in manifest["files"] else []
    return last_words(ended, "statuses", before=lines, after=written)


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])
