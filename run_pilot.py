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
    run_id = study.run_name(args.run_id, study.default_name("pilot", design, config, choice,
                                                            usual()))
    settings = study.settings("pilot", config, limits, args.json)
    ahead = study.ask_ahead(args, run_id, choice, settings, models, ("temperature",))

    from cirrus.ask import pilot
    from cirrus.ask.prompts import ScenarioError, load_domain
    from cirrus.ask.respondents import RESPONDENTS
    try:
        domain = load_domain(pilot.DOMAIN)
    except ScenarioError as error:
        raise UsageError(str(error)) from None
    blocks = pilot.design(domain, design, models)
    if args.dry_run:
        requests = [trial.request for block in blocks for trial in block]
        return study.dry_run(config, choice, models, requests, RESPONDENTS,
                             {"run_id": run_id, "runs": config["runs"], "cells": len(blocks[0])},
                             plan_lines(config, models, Path(args.out) / run_id))
    return conduct(args, domain, blocks, run_id,
                   study.identity(design, domain.files, config, choice), choice,
                   settings._replace(respondents=RESPONDENTS), ahead)


def plan_lines(config, models, folder):
    return [f"design: {len(models)} models × {config['runs']} runs × 4 cells (S×C, compliance "
            f"{config['compliance']}, tells {config['tells']}), seed {config['seed']}",
            f"models: {', '.join(models)}", f"would write {folder}"]


def conduct(args, domain, blocks, run_id, study, choice, settings, ahead) -> cli.Done:
    """Ask what is missing, then derive every file from the replies."""
    from cirrus.ask import pilot
    from common.runs import RunFolder
    from common.session import Session, counts

    # What analyses and draws is loaded while the first replies are on their way.
    threading.Thread(target=import_module, args=("cirrus.pilot_files",), daemon=True).start()

    with RunFolder(Path(args.out), run_id, "pilot", study, domain.texts) as run:
        if run.finished:
            return report(run, run.manifest, None, "already complete; nothing to do")
        requests = [(trial.request, 1) for block in blocks for trial in block]
        session = Session(run, choice, settings, requests, ahead)
        ending = session.conduct([pilot.ask(block) for block in blocks])
        from cirrus.pilot_files import derive, redealt
        rows = pilot.rows(blocks, ending.results)
        stop = ending.stop or leftovers(ending.failed, len(rows))
        files = {}
        if any(row["status"] not in ("not_run", "provider_error") for row in rows):
            prompts = {trial.id: (trial.request.system, trial.request.user)
                       for block in blocks for trial in block}
            dealt = redealt(pilot.design(domain, study["config"], study["config"]["models"]),
                            run.journal.hashes)
            files = derive(rows, prompts, study, dealt)
        run.finish(files, stop, {
            "simulated": choice.simulated, "outcomes": dict(ending.outcomes),
            "statuses": counts(rows, "status"), "retries": ending.retries,
            "served": counts(rows, "model", "served_model"),
            "upstreams": counts(rows, "model", "provider")})
        return report(run, run.manifest, stop, "")


def leftovers(failed, trials):
    """Trials that failed although the run went on: the next start asks them again."""
    from common.exits import Incomplete
    return Incomplete(f"{failed} of {trials} trials failed after all retries; "
                      "the same command asks them again") if failed else None


def report(run, manifest, stop, note) -> cli.Done:
    """The last words: where the files are, what the headline result is."""
    code = stop.code if stop else COMPLETE
    facts = {"run": str(run.path), "state": manifest["state"],
             "simulated": manifest["simulated"], "statuses": manifest["statuses"],
             "cost_usd": manifest["cost"]["spent_usd"], "elapsed_s": manifest["elapsed_s"],
             "files": sorted(manifest["files"])}
    text = [f"{run.path}: {note or MEANING[code]}"]
    if (run.path / "pilot-summary.md").exists() and not note:
        from cirrus.reports.pilot import read
        from show.document import terminal
        text.insert(0, terminal(read(run.path / "pilot-analysis.json")))
    if manifest["files"]:
        text.append(f"open {run.path / 'report.html'}")
    return cli.Done(code, facts, "\n".join(text), error=cli.one_line(stop))


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])
