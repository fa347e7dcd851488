#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["requests>=2.32"]
# ///
"""Ask several models for one-shot decisions of CIRRUS-24, in one of five designs. Each compares
cells, which are conditions:

    2x2         symmetry × coupling cue                         does it raise cooperation?
    lever       both, neither, and neither with the joint       what is likeness worth?
                outcome raised by six strengths
    mechanism   both and neither; the other's notice read or    which explanations are left?
                unread, its entry known; joint outcome raised
    mirror      a record of how often entries were alike;       is its own act evidence of the
                the same numbers with the other's exchanged     other's?
    twin        undisguised: the same model, another, a person  does it cooperate with anybody?

A block is one model on one bulletin. It is asked once in every cell, in an order drawn by the
seed, and nothing differs between its questions but what the cells are. A question is, in this order:

    system prompt
    bulletin        with its sentences on symmetry, coupling cue and compliance, and its four outcomes
    record          of the other's earlier entries, where the cell has one
    status          of the other's entry: due, or made with the notice read, unread, or known
    options         what each label means, and the form of the answer

Compared are shares of the late entry, cell minus cell, averaged over bulletins and wordings. The
cells stand in `DESIGNS` (cirrus/ask/oneshot.py), the words in prompts/, the loop in `pilot`
(cirrus/instruments.py), the comparisons in `CONTRASTS` (cirrus/judge/contrasts.py).

Without a key, simulated respondents answer and nothing needs to be installed:

    python3 run_pilot.py
    python3 run_pilot.py --design mechanism --lever results/pilot/lever-s42
    OPENROUTER_API_KEY=… python3 run_pilot.py --models openai/gpt-5-nano --limit-usd 1

It writes results/pilot/<run_id>/: manifest.json, journal.jsonl.gz, trials.jsonl.gz, trials.csv,
pilot-analysis.json, pilot-summary.md, report.html. The same command resumes an unfinished run.
"""

import json
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from cirrus import instruments
from cirrus.ask.bulletins import PROMPTS, Domain
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
from common.runs import Origin
from common.session import Ended, last_words
from common.shape import enum, options, whole
from common.verify import open_run
from show.document import terminal

CONFIG = Path(__file__).resolve().parent / "config" / "pilot.config.json"
# The settings that make the study; others, such as concurrency, say only how it is asked.
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
MISSING = (0.0, 0.03)  # shares of missing answers for which a dry run computes power
CALL_S = 2  # seconds that a call usually takes
EXAMPLES = """  python3 run_pilot.py               simulated respondents, 160 trials
  python3 run_pilot.py --dry-run     design, calls and cost; nothing is written
  python3 run_pilot.py --design mechanism --lever 3
  python3 run_pilot.py --base-url http://127.0.0.1:8080/v1 --models smollm2-135m
  python3 run_pilot.py --models openai/gpt-5-nano,google/gemini-2.5-flash"""


def arguments(argv: Sequence[str]) -> Namespace:
    """The flags of run_pilot.py."""
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


def main(argv: Sequence[str]) -> cli.Done:
    """Ask a study, or register or preview it, as the flags say."""
    args = arguments(argv)
    check_flags(args)
    files = [CONFIG]
    if args.design != "2x2":
        files.append(CONFIG.with_name(f"{args.design}.config.json"))
    given = c.flags(args, "runs", "compliance", "tells", "temperature")
    setup = c.settle(args, files, KINDS, given)
    source = Path(args.prompts) if args.prompts else PROMPTS
    domain = instruments.domain_of(args.domain, source)
    use(domain.texts)  # simulated respondents recognise the words of these prompts

    study = setup.design(IDENTITY, **departures(args))
    if args.design == "mechanism":
        study |= lever_of(args.lever or str(DEFAULT_LEVER), study["models"], domain)
    if "probes" in study:
        setup.limits["probe"] = setup.limits["decision"]
    name = "pilot" if args.design == "2x2" else args.design
    folder = Path(args.out) / run_id(setup, name, study)
    simulated = setup.choice.simulated
    more = instruments.further_texts(study, source, simulated)
    origin = setup.origin(folder, study, domain.texts | more)
    if args.preregister and not args.dry_run:
        return preregister(origin, args.design)
    origin = registered(origin)

    def told() -> tuple[dict[str, Any], list[str]]:
        return preview(study, domain, folder, setup.limits["decision"])

    asked = instruments.pilot(origin)
    plan = c.Plan(name, origin, asked, RESPONDENTS, told)
    return c.study_main(setup, plan, report)


def run_id(setup: c.Setup, name: str, study: Mapping[str, Any]) -> str:
    """The run's name; what differs from the design's defaults is part of it."""
    usual = {"seed": study["seed"]}
    if name != "pilot":
        usual["design"] = name
    if name == "mechanism":
        usual["lever"] = dict.fromkeys(setup.usual["respondents"], DEFAULT_LEVER)
    return setup.run_id(f"{name}-s{study['seed']}", study, usual)


def preregister(origin: Origin, design: str) -> cli.Done:
    """Write prereg.json: what will be asked, read and tested. The same command without the flag
    asks it."""
    folder = origin.folder
    study = prereg.one_shot(design, folder.name, origin.identity["config"])
    digest = prereg.write(folder, study)
    file = str(folder / prereg.FILE)
    facts = {"preregistered": [{"file": file, "runs": 1, "sha256": digest}]}
    lines = [f"{file}: sha256 {digest}", prereg.POST]
    return cli.Done(COMPLETE, facts, "\n".join(lines))


def registered(origin: Origin) -> Origin:
    """The origin, with the hash of the registration in its folder where there is one."""
    file = origin.folder / prereg.FILE
    if not file.is_file():
        return origin
    marked = {"prereg_sha256": sha256(read_bytes(file))}
    return origin._replace(identity={**origin.identity, **marked})


def check_flags(args: Namespace) -> None:
    """UsageError for a flag that the chosen design does not use."""
    for flag in ("probes", "lever"):
        if getattr(args, flag) is not None and args.design != "mechanism":
            raise UsageError(f"--{flag}: only --design mechanism has it")


def departures(args: Namespace) -> dict[str, Any]:
    """{key: value} of the settings that differ from the pilot's. Each is part of the study's
    identity."""
    usual = {"design": "2x2", "domain": "cvd", "holdout": False, "examples": 0}
    odd = {}
    for key, value in usual.items():
        if getattr(args, key) != value:
            odd[key] = getattr(args, key)
    if args.probes:
        odd["probes"] = probes_of(args.probes)
    return odd


def probes_of(given: str) -> list[str]:
    """The probes that --probes names, in their fixed order; UsageError for an unknown or repeated
    one."""
    kinds = cli.names(given) or []
    for kind in kinds:
        if kind not in PROBES or kinds.count(kind) > 1:
            raise UsageError(f"--probes: {kind!r}: each once, of {', '.join(PROBES)}")
    return sorted(kinds, key=PROBES.index)


def lever_of(given: str, models: Sequence[str], domain: Domain) -> dict[str, Any]:
    """Return the settings that --lever adds to a study. `given` is a strength, "1" to
    "6", or the folder of a finished lever study.

    The settings are {"lever": {model: number of the strength}}. If a folder is given
    they also have "lever_study", the Merkle root of that study's journal: a hash over
    the answers that chose the strengths. UsageError if `given` is neither, or the study
    does not fit.
    """
    if not (given.isascii() and given.isdigit()):
        return lever_study(Path(given), models, domain)
    if not 1 <= int(given) <= len(LEVERS):
        several = f"give 1 to {len(LEVERS)}, or the folder of a lever study"
        raise UsageError(f"--lever: {given}: {several}")
    return {"lever": dict.fromkeys(models, int(given))}


def lever_study(folder: Path, models: Sequence[str], domain: Domain) -> dict[str, Any]:
    """The strengths that a finished lever study found; UsageError where it does not have them."""

    def fault(says: str) -> UsageError:
        return UsageError(f"--lever {folder}: {says}")

    manifest = open_run(folder)
    identity = manifest["identity"]
    if identity["config"].get("design") != "lever":
        raise fault("not a lever study; give one of run_pilot.py --design lever")
    if manifest["state"] != "complete":
        raise fault("unfinished; the command that made it resumes it")
    if not domain.files.items() <= identity["prompts"].items():
        raise fault("made with other prompts; run --design lever again")
    found = json.loads(read_bytes(folder / "pilot-analysis.json"))["lever"]["by_model"]
    levers = {}
    for model in models:
        if model not in found:
            raise fault(f"{model!r} is none of its models: {', '.join(found)}")
        levers[model] = found[model]["nearest"]
        if levers[model] is None:
            why = f"no strength for {model!r}: a cell of it has no readable decision"
            raise fault(f"{why}; give 1 to 6")
    return {"lever": levers, "lever_study": manifest["merkle_root"]}


def preview(
    study: Mapping[str, Any], domain: Domain, folder: Path, at_once: int
) -> tuple[dict[str, Any], list[str]]:
    """What a dry run says: facts for --json, and lines for people."""
    models, runs, name = study["models"], study["runs"], study.get("design", "2x2")
    bulletins = len(bulletin_pool(domain, study.get("holdout", False)))
    cells = len(DESIGNS[name].cells)
    each = f"{runs} runs" if name == "2x2" else f"{bulletins} bulletins × {runs} blocks"
    worded = f"compliance {study['compliance']}, tells {study['tells']}"
    sizes = f"{len(models)} models × {each} × {cells} cells ({name}, {worded})"
    lines = [
        f"design: {sizes}, seed {study['seed']}",
        f"worked examples: {study.get('examples', 0)}",
        f"models: {', '.join(models)}",
        f"would write {folder}",
    ]
    facts: dict[str, Any] = {"run_id": folder.name, "runs": runs, "cells": cells}
    if name == "mechanism":
        minutes = len(models) * bulletins * runs * cells * CALL_S / at_once / 60
        earned = powers(bulletins, runs, len(models))
        facts |= {"minutes": minutes, "power": earned}
        lines += [
            f"decisions (without probes) take about {minutes:.0f} minutes "
            f"of live calls, {at_once} at once, {CALL_S} s each",
            "share of studies that say each word, or a higher one, of a model:",
        ]
        for effect, words in earned.items():
            said = ", ".join(f"{word} {share:.0%}" for word, share in words.items())
            lines.append(f"  {effect}: {said}")
    return facts, lines


def powers(bulletins: int, runs: int, models: int) -> dict[str, dict[str, float]]:
    """{effect: {word: share of simulated studies that say this word or a higher one}}, by the
    `power` of calibration respondents."""
    earned = {}
    for (low, high), missing in product(EFFECTS, MISSING):
        effect = f"{low:.0%} → {high:.0%}, {missing:.0%} missing"
        earned[effect] = power(low, high, bulletins, runs, models, missing)
    return earned


def report(ended: Ended) -> cli.Done:
    """The end of the output: the result, and where the files are."""
    folder, before, after = ended.folder.path, [], []
    if ended.folder.manifest["files"]:
        before.append(terminal(read(folder / "pilot-analysis.json")))
        after.append(f"open {folder / 'report.html'}")
    return last_words(ended, "statuses", before=before, after=after)


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])
