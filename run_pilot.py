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
from cirrus.ask.prompts import bulletin_pool
from cirrus.ask.respondents import RESPONDENTS
from cirrus.judge import rivals
from cirrus.reports.pilot import read
from common import UsageError, cli
from common import config as c
from common.artifacts import sha256
from common.instrument import Run, conduct, last_words
from common.runs import Origin
from show.document import terminal

CONFIG = Path(__file__).resolve().parent / "config" / "pilot.config.json"
# What another design changes of it, and what its runs are called.
DESIGNS = {"2x2": (CONFIG, "pilot"),
           "mechanism": (CONFIG.with_name("mechanism.config.json"), "mechanism")}
# What is asked, as opposed to how: the part of the configuration that makes the study.
ASKED = ("seed", "runs", "compliance", "tells", "temperature", "max_out", "reasoning_effort")
REASONED_OUT = 480  # tokens: room for five lines and the decision
EXAMPLES = """  python3 run_pilot.py                          simulated respondents, 160 trials
  python3 run_pilot.py --dry-run                design, calls and cost; nothing is written
  python3 run_pilot.py --base-url http://127.0.0.1:8080/v1 --models smollm2-135m
  python3 run_pilot.py --models openai/gpt-5-nano,google/gemini-2.5-flash --runs 20"""


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
        help="of a mechanism study, in conversations of their own: payoffs, beliefs, influence")
    add("--bulletins", type=int, metavar="N",
        help="of a mechanism study, drawn by the seed (default: every main one)")
    add("--runs", type=int, metavar="N", help="runs a cell and model (default 10); of a mechanism "
        "study, blocks a bulletin and model (default 12)")
    add("--compliance", metavar="LEVEL",
        help="low, high or omit: the compliance sentence, the same in all cells (default low)")
    add("--tells", metavar="NAME", help="standard or ablated: the wording of prompts and cues")
    return flags.parse_args(argv)


def checks():
    """{key of config/pilot.config.json: what it must be}."""
    return c.CALL_CHECKS | {
        "runs": c.whole(1, 10_000), "compliance": c.one_of("low", "high", "omit"),
        "tells": c.one_of("standard", "ablated"), "temperature": c.number(0, 2),
        "concurrency.decision": c.whole(1, 512)}


def configuration(args, flags):
    """The pilot's file, what another design changes, a file that was given, the flags."""
    return c.configuration([CONFIG, DESIGNS[args.design][0], args.config], checks(), flags)


def asked(config, models, args):
    """The part of the configuration that makes the study; what departs from the pilot's by name."""
    named = {"design": (args.design, "2x2"), "domain": (args.domain, "cvd"),
             "holdout": (args.holdout, False), "reason": (args.reason, "none"),
             "probes": (probes_of(args), []), "bulletins": (args.bulletins, None)}
    return {key: config[key] for key in ASKED} | {"models": models} | {
        key: value for key, (value, usual) in named.items() if value != usual}


def probes_of(args):
    """The probes that were asked for. UsageError for an unknown one, or without their study."""
    kinds = cli.names(args.probes) or []
    known = ("payoffs", "beliefs", "influence")
    for kind in kinds:
        if kind not in known or kinds.count(kind) > 1:
            raise UsageError(f"--probes: {kind!r}: each once, of {', '.join(known)}")
    if kinds and args.design != "mechanism":
        raise UsageError("--probes: only --design mechanism has them")
    return sorted(kinds, key=known.index)


def check_bulletins(args, there):
    """UsageError for more bulletins than there are, or without their study."""
    if args.bulletins is not None and args.design != "mechanism":
        raise UsageError("--bulletins: only --design mechanism has them")
    if args.bulletins is not None and not 1 <= args.bulletins <= there:
        raise UsageError(f"--bulletins: {args.bulletins}: give 1 to {there}")


def usual(args):
    """The design without flags and key."""
    config = c.configuration([CONFIG, DESIGNS[args.design][0]], checks(), {})
    return {key: config[key] for key in ASKED} | {"models": config["respondents"]} | (
        {} if args.design == "2x2" else {"design": args.design})


def main(argv) -> cli.Done:
    args = arguments(argv)
    config = configuration(args, {
        **c.shared_flags(args), "temperature": args.temperature, "runs": args.runs,
        "compliance": args.compliance, "tells": args.tells})
    if args.reason == "first":
        config["max_out"] = max(config["max_out"], REASONED_OUT)
    choice = cli.choose(args.provider, args.base_url)
    models = c.chosen(args.models, config, choice)
    limits = cli.concurrency(args.concurrency, config["concurrency"])
    design = asked(config, models, args)
    if design.get("probes"):
        limits["probe"] = limits["decision"]
    run_id = c.run_name(args.run_id, c.default_name(
        DESIGNS[args.design][1], design | ({"prompts": args.prompts} if args.prompts else {}),
        config, choice, usual(args)))
    settings = c.settings("pilot", config, limits, args.json)

    source = Path(args.prompts) if args.prompts else PROMPTS
    domain = instruments.domain_of(args.domain, source)
    use(source)
    check_bulletins(args, bulletins({"holdout": args.holdout}, domain))
    prompts = domain.texts | instruments.probe_texts(design, source)
    origin = Origin(Path(args.out) / run_id, c.identity(
        design, {path: sha256(text) for path, text in prompts.items()}, config, choice), prompts)
    instrument = instruments.pilot(origin)
    if args.dry_run:
        calls, chances = instrument.calls(), power(design, domain)
        requests = [request for request, times in calls for _ in range(times)]
        return c.dry_run(config, choice, RESPONDENTS, c.Planned(
            models, requests, {"run_id": run_id, "runs": config["runs"],
                               "cells": len(DEALT[args.design].cells), **chances},
            plan_lines(design, domain, origin.folder, chances)))
    return report(conduct([Run(origin, instrument)], choice,
                          settings._replace(respondents=RESPONDENTS))[0])


def plan_lines(design, domain, folder, chances):
    models, name, runs = design["models"], design.get("design", "2x2"), design["runs"]
    each = f"{runs} runs" if name == "2x2" else (
        f"{bulletins(design, domain)} bulletins × {runs} blocks")
    yield (f"design: {len(models)} models × {each} × {len(DEALT[name].cells)} cells ({name}, "
           f"compliance {design['compliance']}, tells {design['tells']}), seed {design['seed']}")
    yield f"models: {', '.join(models)}"
    for points, share in chances.get("power", {}).items():
        yield (f"power of the whole rule where symmetry and cue raise 40% by {points} points: "
               f"{share['value']:.0%} ({share['low']:.0%} to {share['high']:.0%})")
    yield f"would write {folder}"


def bulletins(design, domain):
    return design.get("bulletins") or len(bulletin_pool(domain, design.get("holdout", False)))


def power(design, domain):
    """Of a mechanism study, how often the whole rule would call a model `correlation-sensitive`:
    {"power": {points: share}}."""
    if design.get("design") != "mechanism" or design.get("holdout"):
        return {}
    size = rivals.Size(bulletins(design, domain), design["runs"], len(design["models"]))
    return {"power": {points: rivals.power(points / 100, size)._asdict()
                      for points in (20, 30, 40)}}


def report(ended) -> cli.Done:
    """The last words: where the files are, what the headline result is."""
    folder, files = ended.folder.path, ended.folder.manifest["files"]
    gist = []
    if files:
        gist = [terminal(read(folder / "pilot-analysis.json"))]
    return last_words(ended, "statuses", before=gist,
                      after=[f"open {folder / 'report.html'}"] if files else [])


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])
