#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["requests>=2.32"]
# ///
"""Let two or more models rate a sample of a tournament's policies, or of URRP's
answers, blind.

    python3 adjudicate.py results/acausal/confirmatory-s42 --provider simulated
    python3 adjudicate.py urrp_runs.jsonl --models A,B
    OPENROUTER_API_KEY=… python3 adjudicate.py results/acausal/confirmatory-s42 --models A,B

This writes a folder adjudication/ beside the analysis of the runs: manifest.json,
journal.jsonl.gz and ratings.jsonl. The folder gets another name if raters or settings
differ from the usual. The same command resumes an unfinished run, and the next
analyze.py of the same runs reads the ratings. For a URRP file it writes a sheet of
labels for each rater.
"""

import json
import sys
from pathlib import Path

from cirrus.ask.bulletins import PROMPTS
from cirrus.ask.respondents import ADJUDICATORS
from cirrus.instruments import adjudication, further_texts, sources
from cirrus.judge.rows import Study, places, read_study, without_ratings
from cirrus.markers.ratings import (
    CODEBOOK,
    RATINGS,
    codebook,
    codebook_texts,
    items_of,
    sample,
)
from common import UsageError, cli
from common import config as c
from common.session import Simulated, last_words
from common.shape import options, whole
from common.verify import find_runs, open_run
from urrp import adjudicate as urrp_raters

ROOT = Path(__file__).resolve().parent
CONFIG = ROOT / "config" / "adjudication.config.json"
# A change of one of these settings makes it another run.
IDENTITY = ("seed", "sample", "temperature", "max_out", "reasoning_effort")
KINDS = options(
    **c.STUDY,
    sample=whole(1, 1_000_000),
    temperature=c.TEMPERATURE,
    concurrency=options(rating=c.CALLS),
)
EXAMPLES = """  python3 adjudicate.py results/acausal/confirmatory-s42 --dry-run
  python3 adjudicate.py results/acausal/confirmatory-s42 --sample 50
  python3 adjudicate.py results/acausal/confirmatory-s42 --models A,B"""


def arguments(argv):
    """The flags of adjudicate.py."""
    flags = cli.parser(
        "Models rate policies of run_tournament.py blind, by the codebook.",
        EXAMPLES,
        "RUN…",
    )
    flags.add_argument(
        "runs", nargs="+", metavar="RUN", help="a run's folder, or a folder of runs"
    )
    add, _ = cli.add_call_flags(flags, None, str(CONFIG))
    add(
        "--sample", type=int, metavar="N", help="policies to rate (default 200, or all)"
    )
    cli.add_examples_flag(add, "policy")
    return flags.parse_args(argv)


def main(argv) -> cli.Done:
    """Let models rate the policies of runs, or label the answers in a URRP file."""
    args = arguments(argv)
    setup = c.settle(args, [CONFIG], KINDS, c.flags(args, "sample", "temperature"))
    design = setup.design(IDENTITY)
    if args.examples:
        design["examples"] = args.examples
    if Path(args.runs[0]).is_file():
        check_raters(setup, urrp_raters.RATERS)
        return label_trials(args, setup, design)
    check_raters(setup, ADJUDICATORS)
    return rate_policies(args, setup, design)


def check_raters(setup, known) -> None:
    """Refuse a simulated rater that does not exist, before anything is written."""
    if setup.choice.simulated:
        Simulated(known, 0).check(setup.models)


def rate_policies(args, setup, design) -> cli.Done:
    """Let models rate a sample of the policies of a tournament's runs."""
    raters = design["models"]
    if len(raters) < 2:
        raise UsageError(
            f"--models: {args.models!r} is one rater; agreement needs two different "
            "models, such as A,B"
        )
    source = Path(args.prompts or PROMPTS)
    texts = codebook_texts(source) | further_texts(design, source, True)
    codebook(texts[CODEBOOK])  # raises before anything is asked
    study = rated_study(args.runs)
    folder = places(study, args.out)[0] / setup.run_id("adjudication", design, {})
    origin = setup.origin(folder, design, texts)
    origin.identity["policies"] = sources(study, folder)
    every = items_of(study).values()
    items = sample(every, design["sample"], design["seed"])
    facts = {"run_id": folder.name, "items": len(items)}
    size = f"{len(items)} of {len(every)} different policies × {len(raters)} raters"
    lines = [
        f"design: {size}",
        f"worked examples: {args.examples}",
        f"raters: {', '.join(raters)}",
        f"would write {folder}",
    ]
    plan = c.Plan(
        "adjudication",
        origin,
        adjudication(origin),
        ADJUDICATORS,
        lambda: (facts, lines),
    )
    return c.study_main(setup, plan, lambda ended: report(args, ended))


def rated_study(folders) -> Study:
    """Return the tournament in these folders; UsageError where its policies can't be
    rated yet."""
    runs = without_ratings({run: open_run(run) for run in find_runs(folders)})
    for path, manifest in runs.items():
        if manifest["artifact"] != "tournament":
            raise UsageError(
                f"{path}: {manifest['artifact']}s have no policies to rate; give runs "
                "of run_tournament.py"
            )
    study = read_study(runs)
    for run in study.runs:
        if run.role == "main" and not run.complete:
            raise UsageError(
                f"{run.name} is unfinished; resume it first: the sample is drawn "
                "from the policies of whole runs"
            )
    return study


def label_trials(args, setup, design) -> cli.Done:
    """Let two models label a sample of a URRP file, and write a sheet of labels for
    each of them."""
    path = Path(args.runs[0])
    beside = Path(args.out) if args.out else path.parent
    raters = len(design["models"])
    if raters != 2 or args.examples or len(args.runs) > 1:
        raise UsageError("one URRP file is labelled by two models: FILE --models A,B")
    rows = urrp_raters.sample([path], design["sample"])
    if not rows:
        raise UsageError(f"{path}: no trial in it; give a file of urrp_run.py")
    folder = beside / setup.run_id("urrp-labels", design, {})
    texts = {urrp_raters.QUESTIONS: json.dumps(rows)}
    origin = setup.origin(folder, design, texts)
    facts = {"run_id": folder.name, "items": len(rows)}
    lines = [f"design: {len(rows)} answers × 2 raters", f"would write {folder}"]
    plan = c.Plan(
        "urrp-adjudication",
        origin,
        urrp_raters.instrument(origin),
        urrp_raters.RATERS,
        lambda: (facts, lines),
    )
    return c.study_main(setup, plan, lambda ended: told_labels(path, ended))


def told_labels(path, ended) -> cli.Done:
    """Say how the labelling ended, and how to use its two sheets."""
    after, folder = [], ended.folder.path
    sheets = folder / "labels-1.csv", folder / "labels-2.csv"
    if sheets[0].is_file():
        flags = " ".join(f"--import-labels {sheet}" for sheet in sheets)
        after.append(f"now: python3 urrp_analyze.py {path} {flags}")
    return last_words(ended, "statuses", after=after)


def report(args, ended) -> cli.Done:
    """Say how each rater's calls ended, and how to use the ratings."""
    manifest, folder = ended.folder.manifest, ended.folder.path
    lines, written = [], []
    for name, counts in manifest["statuses"].items():
        told = ", ".join(f"{n} {status}" for status, n in counts.items())
        lines.append(cli.printable(f"{name}: {told}"))
    if RATINGS in manifest["files"]:
        stamp = "SIMULATED " if manifest["simulated"] else ""
        written.append(f"{folder / RATINGS}: {stamp}ratings")
        runs = " ".join(map(str, args.runs))
        written.append(f"now: python3 analyze.py {runs}")
    return last_words(ended, "statuses", before=lines, after=written)


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])
