#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["requests>=2.32"]
# ///
"""CIRRUS-24 by one-shot decisions of several models: the 2×2 pilot (symmetry × coupling cue), and
the mechanism study of nine cells, which tells inferred correlation from what looks like it.

Without a key, simulated respondents answer and nothing needs to be installed:

    python3 run_pilot.py
    python3 run_pilot.py --design mechanism
    OPENROUTER_API_KEY=… python3 run_pilot.py --models openai/gpt-5-nano --limit-usd 1

Writes results/pilot/<run_id>/: manifest.json, journal.jsonl.gz, trials.jsonl.gz, trials.csv,
pilot-analysis.json, pilot-summary.md, report.html. The same command resumes an unfinished run.
"""

import sys
from pathlib import Path

from cirrus import instruments
from cirrus.ask.bulletins import PROMPTS
from cirrus.ask.cues import use
from cirrus.ask.pilot import DESIGNS as DEALT
from cirrus.ask.probes import KINDS as PROBES
from cirrus.ask.prompts import bulletin_pool
from cirrus.ask.respondents import RESPONDENTS
from cirrus.judge import rivals
from cirrus.reports.pilot import read
from common import UsageError, cli
from common import config as c
from common.instrument import last_words
from common.shape import one_of, options, whole
from show.document import terminal

CONFIG = Path(__file__).resolve().parent / "config" / "pilot.config.json"
# What another design changes of it, and what its runs are called.
DESIGNS = {"2x2": (CONFIG, "pilot"),
           "mechanism": (CONFIG.with_name("mechanism.config.json"), "mechanism")}
# What is asked, as opposed to how: the part of the configuration that makes the study.
ASKED = ("seed", "runs", "compliance", "tells", "temperature", "max_out", "reasoning_effort")
KINDS = options(**c.ASKED, runs=whole(1, 10_000), compliance=one_of("low", "high", "omit"),
                tells=one_of("standard", "ablated"), temperature=c.TEMPERATURE,
                concurrency=options(decision=c.CALLS))
REASONED_OUT = 480  # tokens: room for five lines and the decision
EXAMPLES = """  python3 run_pilot.py               simulated respondents, 160 trials
  python3 run_pilot.py --dry-run     design, calls and cost; nothing is written
  python3 run_pilot.py --base-url http://127.0.0.1:8080/v1 --models smollm2-135m
  python3 run_pilot.py --models openai/gpt-5-nano,google/gemini-2.5-flash"""


def arguments(argv):
    flags = cli.parser("CIRRUS-24 pilot: does symmetry with a coupling cue raise cooperation?",
                       EXAMPLES)
    add, _ = cli.add_call_flags(flags, "results/pilot", str(CONFIG))
    add("--design", metavar="NAME", choices=tuple(DESIGNS), default="2x2",
        help="2x2 (the pilot, default) or mechanism (nine cells on every bulletin)")
    add("--domain", metavar="NAME", choices=("cvd", "hospital"), default="cvd",
        help="cvd (default) or hospital: the scenario")
    add("--holdout", action="store_true",
        help="ask the held-out bulletins: a replication, without a word of its own")
    add("--reason", metavar="NAME", choices=("none", "first"), default="none",
        help="none (default): the first line decides; first: three to five lines of "
             "considerations, then the decision, a study of its own")
    add("--probes", metavar="A,B",
        help="of a mechanism study, in conversations of their own: "
             + ", ".join(PROBES))
    add("--bulletins", type=int, metavar="N",
        help="of a mechanism study, drawn by the seed (default: every main one)")
    add("--runs", type=int, metavar="N", help="runs a cell and model (default 10); of a mechanism "
        "study, blocks a bulletin and model (default 12)")
    add("--compliance", metavar="LEVEL",
        help="low, high or omit: the compliance sentence, the same in all cells (default low)")
    add("--tells", metavar="NAME", help="standard or ablated: the wording of prompts and cues")
    return flags.parse_args(argv)


def main(argv) -> cli.Done:
    args = arguments(argv)
    for flag in ("probes", "bulletins"):
        if getattr(args, flag) is not None and args.design != "mechanism":
            raise UsageError(f"--{flag}: only --design mechanism has them")
    config, stem = DESIGNS[args.design]
    setup = c.settle(args, [CONFIG, config], KINDS,
                     c.flags(args, "runs", "compliance", "tells", "temperature"))
    if args.reason == "first":
        setup.config["max_out"] = max(setup.config["max_out"], REASONED_OUT)
    source = Path(args.prompts) if args.prompts else PROMPTS
    domain = instruments.domain_of(args.domain, source)
    use(source)
    design = setup.design(ASKED, **departures(args))
    if design.get("probes"):
        setup.limits["probe"] = setup.limits["decision"]
    there = bulletins({"holdout": args.holdout}, domain)
    if args.bulletins is not None and not 1 <= args.bulletins <= there:
        raise UsageError(f"--bulletins: {args.bulletins}: give 1 to {there}")
    named = {key: design[key] for key in ("seed", "design") if key in design}
    run_id = setup.run_id(f"{stem}-s{design['seed']}", design, named)
    origin = setup.origin(Path(args.out) / run_id, design,
                          domain.texts | instruments.probe_texts(design, source))
    return c.study_main(setup, c.Plan(
        "pilot", origin, instruments.pilot(origin), RESPONDENTS,
        lambda: preview(design, domain, origin.folder)), report)


def departures(args):
    """What departs from the pilot, by name: it makes another study."""
    named = {"design": (args.design, "2x2"), "domain": (args.domain, "cvd"),
             "holdout": (args.holdout, False), "reason": (args.reason, "none"),
             "probes": (probes_of(args), []), "bulletins": (args.bulletins, None)}
    return {key: value for key, (value, usual) in named.items() if value != usual}


def probes_of(args):
    """The probes that were asked for; UsageError for an unknown one."""
    kinds, known = cli.names(args.probes) or [], tuple(PROBES)
    for kind in kinds:
        if kind not in known or kinds.count(kind) > 1:
            raise UsageError(f"--probes: {kind!r}: each once, of {', '.join(known)}")
    return sorted(kinds, key=known.index)


def preview(design, domain, folder):
    """What a dry run tells: facts, and lines for people."""
    models, name, runs = design["models"], design.get("design", "2x2"), design["runs"]
    cells, chances = len(DEALT[name].cells), {}
    if name == "mechanism" and not design.get("holdout"):
        # How often the whole rule would call a model `correlation-sensitive`.
        size = rivals.Size(bulletins(design, domain), runs, len(models))
        chances = {"power": {points: rivals.power(points / 100, size)._asdict()
                             for points in (20, 30, 40)}}
    each = f"{runs} runs" if name == "2x2" else (
        f"{bulletins(design, domain)} bulletins × {runs} blocks")
    lines = [f"design: {len(models)} models × {each} × {cells} cells ({name}, compliance "
             f"{design['compliance']}, tells {design['tells']}), seed {design['seed']}",
             f"models: {', '.join(models)}",
             *(f"power of the whole rule where symmetry and cue raise 40% by {points} points: "
               f"{share['value']:.0%} ({share['low']:.0%} to {share['high']:.0%})"
               for points, share in chances.get("power", {}).items()),
             f"would write {folder}"]
    return {"run_id": folder.name, "runs": runs, "cells": cells, **chances}, lines


def bulletins(design, domain):
    return design.get("bulletins") or len(bulletin_pool(domain, design.get("holdout", False)))


def report(ended) -> cli.Done:
    """The last words: where the files are, what the headline result is."""
    folder, files = ended.folder.path, ended.folder.manifest["files"]
    gist = [terminal(read(folder / "pilot-analysis.json"))] if files else []
    return last_words(ended, "statuses", before=gist,
                      after=[f"open {folder / 'report.html'}"] if files else [])


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])
