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

CONFIG = Path(__file__).resolve().parent / "config" / "pilot.config.json"
# What is asked, as opposed to how: the part of the configuration that makes the study.
ASKED = ("seed", "runs", "compliance", "tells", "temperature", "max_out", "reasoning_effort")
EXAMPLES = """  python3 run_pilot.py                          simulated respondents, 160 trials
  python3 run_pilot.py --dry-run                design, calls and cost; nothing is written
  python3 run_pilot.py --base-url http://127.0.0.1:8080/v1 --models smollm2-135m
  python3 run_pilot.py --models openai/gpt-5-nano,google/gemini-2.5-flash --runs 20"""


def arguments(argv):
    flags = cli.parser("CIRRUS-24 pilot: does symmetry with a coupling cue raise cooperation?",
                       EXAMPLES)
    add, _ = cli.add_call_flags(flags, "results/pilot", str(CONFIG))
    add("--runs", type=int, metavar="N", help="runs a cell and model (default 10)")
    add("--compliance", metavar="LEVEL",
        help="low, high or omit: the compliance sentence, the same in all cells (default low)")
    add("--tells", metavar="NAME", help="standard or ablated: the wording of prompts and cues")
    return flags.parse_args(argv)


def checks():
    """{key of config/pilot.config.json: what it must be}."""
    from common import config as c
    from common.study import CALL_CHECKS
    return CALL_CHECKS | {
        "runs": c.whole(1, 10_000), "compliance": c.one_of("low", "high", "omit"),
        "tells": c.one_of("standard", "ablated"), "temperature": c.number(0, 2),
        "concurrency.decision": c.whole(1, 512)}


def usual():
    """The design without flags and key."""
    from common import config as c
    config = c.load(CONFIG, checks())
    return {key: config[key] for key in ASKED} | {"models": config["respondents"]}


def main(argv) -> cli.Done:
    args = arguments(argv)
    from common import study
    config = study.configuration(CONFIG, args.config, checks(), {
        **study.shared_flags(args), "temperature": args.temperature, "runs": args.runs,
        "compliance": args.compliance, "tells": args.tells})
    choice = cli.choose(args.provider, args.base_url)
    models = study.chosen(args.models, config, choice)
    limits = cli.concurrency(args.concurrency, config["concurrency"])
    design = {key: config[key] for key in ASKED} | {"models": models}
    run_id = study.run_name(args.run_id, study.default_name(
        "pilot", design | ({"prompts": args.prompts} if args.prompts else {}), config, choice,
        usual()))
    settings = study.settings("pilot", config, limits, args.json)
    ahead = study.ask_ahead(args, run_id, choice, settings, models, ("temperature",))

    from cirrus import instruments
    from cirrus.ask.bulletins import PROMPTS
    from cirrus.ask.cues import use
    from cirrus.ask.pilot import CELLS, DOMAIN
    from cirrus.ask.respondents import RESPONDENTS
    from common.runs import Origin
    source = Path(args.prompts) if args.prompts else PROMPTS
    domain = instruments.domain_of(DOMAIN, source)
    use(source)
    origin = Origin(Path(args.out) / run_id,
                    study.identity(design, domain.files, config, choice), domain.texts)
    instrument = instruments.pilot(origin)
    if args.dry_run:
        requests = [request for request, _ in instrument.calls()]
        return study.dry_run(config, choice, models, requests, RESPONDENTS,
                             {"run_id": run_id, "runs": config["runs"], "cells": len(CELLS)},
                             plan_lines(config, models, origin.folder))
    # What analyses and draws is loaded while the first replies are on their way.
    threading.Thread(target=import_module, args=("cirrus.reports.pilot",), daemon=True).start()
    from common.instrument import Run, conduct
    return report(conduct([Run(origin, instrument)], choice,
                          settings._replace(respondents=RESPONDENTS), ahead)[0])


def plan_lines(config, models, folder):
    return [f"design: {len(models)} models × {config['runs']} runs × 4 cells (S×C, compliance "
            f"{config['compliance']}, tells {config['tells']}), seed {config['seed']}",
            f"models: {', '.join(models)}", f"would write {folder}"]


def report(ended) -> cli.Done:
    """The last words: where the files are, what the headline result is."""
    from common.instrument import last_words
    folder, files = ended.folder.path, ended.folder.manifest["files"]
    gist = []
    if files and not ended.note:
        from cirrus.reports.pilot import read
        from show.document import terminal
        gist = [terminal(read(folder / "pilot-analysis.json"))]
    return last_words(ended, "statuses", before=gist,
                      after=[f"open {folder / 'report.html'}"] if files else [])


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])
