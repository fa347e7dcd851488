#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["requests>=2.32"]
# ///
"""CIRRUS-24 by one-shot decisions of several models. Five designs, each a list of cells:

    2x2         symmetry × coupling cue                         does it raise cooperation?
    lever       both, neither, and neither with the joint       what is likeness worth?
                outcome raised by six strengths
    mechanism   both and neither; the other's notice read or    which accounts of it are left?
                unread, its entry known; joint outcome raised
    mirror      a record of how often entries were alike;       is its own act evidence of the
                the same numbers with the other's exchanged     other's?
    twin        undisguised: the same model, another, a person  does it cooperate with anybody?

Without a key, simulated respondents answer and nothing needs to be installed:

    python3 run_pilot.py
    python3 run_pilot.py --design mechanism --lever results/pilot/lever-s42
    OPENROUTER_API_KEY=… python3 run_pilot.py --models openai/gpt-5-nano --limit-usd 1

Writes results/pilot/<run_id>/: manifest.json, journal.jsonl.gz, trials.jsonl.gz, trials.csv,
pilot-analysis.json, pilot-summary.md, report.html. The same command resumes an unfinished run.
"""

import json
import sys
from pathlib import Path

from cirrus import instruments
from cirrus.ask.bulletins import PROMPTS
from cirrus.ask.cues import use
from cirrus.ask.deal import bulletin_pool
from cirrus.ask.oneshot import DEFAULT_LEVER, DESIGNS
from cirrus.ask.probes import KINDS as PROBES
from cirrus.ask.prompts import LEVERS
from cirrus.ask.respondents import RESPONDENTS
from cirrus.families import EFFECTS, power
from cirrus.judge import prereg
from cirrus.reports.pilot import read
from common import COMPLETE, UsageError, cli
from common import config as c
from common.artifacts import read_bytes, sha256
from common.session import last_words
from common.shape import enum, options, whole
from common.verify import open_run
from show.document import terminal

CONFIG = Path(__file__).resolve().parent / "config" / "pilot.config.json"
# What is asked, as opposed to how: the part of the configuration that makes the study.
IDENTITY = (
    "seed",
    "runs",
    "compliance",
    "tells",
    "temperature",
    "max_out",
    "reasoning_effort",
)
KINDS = options(
    **c.STUDY,
    runs=whole(1, 10_000),
    compliance=enum("low", "high", "omit"),
    tells=enum("standard", "ablated"),
    temperature=c.TEMPERATURE,
    concurrency=options(decision=c.CALLS),
)
MISSING = (0.0, 0.03)  # shares of answers, in what a dry run says of power
CALL_S = 2  # seconds that a call takes, as a rule
EXAMPLES = """  python3 run_pilot.py               simulated respondents, 160 trials
  python3 run_pilot.py --dry-run     design, calls and cost; nothing is written
  python3 run_pilot.py --design mechanism --lever 3
  python3 run_pilot.py --base-url http://127.0.0.1:8080/v1 --models smollm2-135m
  python3 run_pilot.py --models openai/gpt-5-nano,google/gemini-2.5-flash"""


def arguments(argv):
    flags = cli.parser(
        "CIRRUS-24 pilot: does symmetry with a coupling cue raise cooperation?",
        EXAMPLES,
    )
    add, _ = cli.add_call_flags(flags, "results/pilot", str(CONFIG))
    add(
        "--design",
        metavar="NAME",
        choices=tuple(DESIGNS),
        default="2x2",
        help="2x2 (the pilot, default), lever, mechanism, mirror or twin",
    )
    add(
        "--lever",
        metavar="1…6|RUN",
        help="of a mechanism study: how far the joint outcome is "
        f"raised (default {DEFAULT_LEVER}), or the folder of a finished lever study, for the "
        "strength that is nearest the middle of its HP and LA, model by model",
    )
    add(
        "--domain",
        metavar="NAME",
        default="cvd",
        help="the scenario: cvd (default), hospital, or another folder of prompts/",
    )
    add(
        "--holdout",
        action="store_true",
        help="ask the held-out bulletins: a replication, without a word of its own",
    )
    cli.add_examples_flag(add, "notice")
    add(
        "--probes",
        metavar="A,B",
        help="of a mechanism study, in conversations of their own: "
        + ", ".join(PROBES),
    )
    add(
        "--runs",
        type=int,
        metavar="N",
        help="runs per cell and model (default 10); of the other "
        "designs, blocks per bulletin and model (lever 2, mechanism 12, mirror 2, twin 3)",
    )
    add(
        "--compliance",
        metavar="LEVEL",
        help="low, high or omit: the compliance sentence, the same in all cells (default: low in the "
        "pilot, omit in the other designs)",
    )
    add(
        "--tells",
        metavar="NAME",
        help="standard or ablated: the wording of prompts and cues",
    )
    add(
        "--preregister",
        action="store_true",
        help="write prereg.json into the run's folder, print its hash, ask nothing",
    )
    return flags.parse_args(argv)


def main(argv) -> cli.Done:
    args = arguments(argv)
    check_flags(args)
    designed = (
        [] if args.design == "2x2" else [CONFIG.with_name(f"{args.design}.config.json")]
    )
    setup = c.settle(
        args,
        [CONFIG, *designed],
        KINDS,
        c.flags(args, "runs", "compliance", "tells", "temperature"),
    )
    source = Path(args.prompts) if args.prompts else PROMPTS
    domain = instruments.domain_of(args.domain, source)
    use(domain.texts)  # simulated respondents recognise the words of these prompts
    design = setup.design(IDENTITY, **departures(args))
    if args.design == "mechanism":
        design |= lever_of(args.lever or str(DEFAULT_LEVER), design["models"], domain)
    if design.get("probes"):
        setup.limits["probe"] = setup.limits["decision"]
    usual = {"seed": design["seed"], **({"design": args.design} if designed else {})}
    if args.design == "mechanism":
        usual["lever"] = dict.fromkeys(setup.usual["respondents"], DEFAULT_LEVER)
    stem = "pilot" if args.design == "2x2" else args.design
    run_id = setup.run_id(f"{stem}-s{design['seed']}", design, usual)
    origin = setup.origin(
        Path(args.out) / run_id,
        design,
        domain.texts
        | instruments.further_texts(design, source, setup.choice.simulated),
    )
    if args.preregister and not args.dry_run:
        return preregister(origin, args.design)
    registered = origin.folder / prereg.FILE
    if registered.is_file():
        origin.identity["prereg_sha256"] = sha256(read_bytes(registered))
    return c.study_main(
        setup,
        c.Plan(
            "pilot" if args.design == "2x2" else args.design,
            origin,
            instruments.pilot(origin),
            RESPONDENTS,
            lambda: preview(design, domain, origin.folder, setup.limits["decision"]),
        ),
        report,
    )


def preregister(origin, design) -> cli.Done:
    """Write what will be asked, read and tested; the same command without the flag asks."""
    folder = origin.folder
    study = prereg.one_shot(design, folder.name, origin.identity["config"])
    digest = prereg.write(folder, study)
    file = str(folder / prereg.FILE)
    facts = {"preregistered": [{"file": file, "runs": 1, "sha256": digest}]}
    lines = [f"{file}: sha256 {digest}", prereg.POST]
    return cli.Done(COMPLETE, facts, "\n".join(lines))


def check_flags(args):
    """UsageError for a flag that the design has no use for."""
    for flag, designs in (
        ("probes", ("mechanism",)),
        ("lever", ("mechanism",)),
    ):
        if getattr(args, flag) is not None and args.design not in designs:
            raise UsageError(f"--{flag}: only --design {' or '.join(designs)} has it")


def departures(args):
    """What departs from the pilot, by name: it makes another study."""
    named = {
        "design": (args.design, "2x2"),
        "domain": (args.domain, "cvd"),
        "holdout": (args.holdout, False),
        "examples": (args.examples, 0),
        "probes": (probes_of(args), []),
    }
    return {key: value for key, (value, usual) in named.items() if value != usual}


def probes_of(args):
    """The probes that were asked for; UsageError for an unknown one."""
    kinds, known = cli.names(args.probes) or [], tuple(PROBES)
    for kind in kinds:
        if kind not in known or kinds.count(kind) > 1:
            raise UsageError(f"--probes: {kind!r}: each once, of {', '.join(known)}")
    return sorted(kinds, key=known.index)


def lever_of(given, models, domain):
    """{"lever": {model: its strength}}, with the root over the answers that chose them: a journal's
    head would hold clock times."""
    if given.isascii() and given.isdigit():
        if not 1 <= int(given) <= len(LEVERS):
            raise UsageError(
                f"--lever: {given}: give 1 to {len(LEVERS)}, or the folder of a "
                "lever study"
            )
        return {"lever": dict.fromkeys(models, int(given))}
    folder = Path(given)
    manifest = open_run(folder)
    identity = manifest["identity"]
    if identity["config"].get("design") != "lever":
        raise UsageError(
            f"--lever {given}: not a lever study; give one of run_pilot.py "
            "--design lever"
        )
    if manifest["state"] != "complete":
        raise UsageError(
            f"--lever {given}: unfinished; the command that made it resumes it"
        )
    if {path: identity["prompts"].get(path) for path in domain.files} != domain.files:
        raise UsageError(
            f"--lever {given}: made with other prompts; run --design lever again"
        )
    parts = json.loads(read_bytes(folder / "pilot-analysis.json"))["lever"]["by_model"]
    for model in models:
        if model not in parts:
            raise UsageError(
                f"--lever {given}: {model!r} is none of its models: {', '.join(parts)}"
            )
        if parts[model]["nearest"] is None:
            raise UsageError(
                f"--lever {given}: no strength for {model!r}: a cell of it has no "
                "readable decision; give 1 to 6"
            )
    return {
        "lever": {model: parts[model]["nearest"] for model in models},
        "lever_study": manifest["merkle_root"],
    }


def preview(design, domain, folder, at_once):
    """What a dry run tells: facts, and lines for people."""
    models, name, runs = design["models"], design.get("design", "2x2"), design["runs"]
    cells = len(DESIGNS[name].cells)
    each = (
        f"{runs} runs"
        if name == "2x2"
        else (f"{bulletins(design, domain)} bulletins × {runs} blocks")
    )
    lines = [
        f"design: {len(models)} models × {each} × {cells} cells ({name}, compliance "
        f"{design['compliance']}, tells {design['tells']}), seed {design['seed']}",
        f"worked examples: {design.get('examples', 0)}",
        f"models: {', '.join(models)}",
        f"would write {folder}",
    ]
    facts = {"run_id": folder.name, "runs": runs, "cells": cells}
    if name != "mechanism":
        return facts, lines
    many = bulletins(design, domain)
    calls = len(models) * many * runs * cells
    facts["minutes"] = calls * CALL_S / at_once / 60
    facts["power"] = {}
    lines.append(
        f"decisions (without probes) take about {facts['minutes']:.0f} minutes "
        f"of live calls, {at_once} at once, {CALL_S} s each"
    )
    lines.append("share of studies that say each word, or a higher one, of a model:")
    for low, high in EFFECTS:
        for missing in MISSING:
            effect = f"{low:.0%} → {high:.0%}, {missing:.0%} missing"
            each = power(low, high, many, runs, len(models), missing)
            facts["power"][effect] = each
            shares = [f"{word} {share:.0%}" for word, share in each.items()]
            lines.append(f"  {effect}: {', '.join(shares)}")
    return facts, lines


def bulletins(design, domain):
    """How many a study asks."""
    return len(bulletin_pool(domain, design.get("holdout", False)))


def report(ended) -> cli.Done:
    """The last words: where the files are, what the headline result is."""
    folder, files = ended.folder.path, ended.folder.manifest["files"]
    gist = [terminal(read(folder / "pilot-analysis.json"))] if files else []
    return last_words(
        ended,
        "statuses",
        before=gist,
        after=[f"open {folder / 'report.html'}"] if files else [],
    )


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])
