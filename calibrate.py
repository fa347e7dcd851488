#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Put respondents whose behaviour is known through the studies, many times, and count what is said.

Each is asked as a model in a pilot and in a mechanism study. Design, cues, reading and judging are
those of `run_pilot.py` and `analyze.py`; beside what was said stands the word that its own shares
deserve. Writes calibration.json, calibration.md, report.html and replications.jsonl.gz into --out.
Everything in it is SIMULATED.
"""

import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from cirrus.ask import pilot, probes
from cirrus.ask.bulletins import PROMPTS
from cirrus.ask.cues import Cues, staged
from cirrus.ask.populations import POOLS, POPULATIONS, earned, models_of
from cirrus.ask.prompts import load_domain
from cirrus.ask.respondents import decide, respondent
from cirrus.judge import mechanism, rivals
from cirrus.judge import pilot as judge
from cirrus.judge.verdict import verdict
from cirrus.reports.calibration import RUNS, TITLES, derived, document, table
from common import COMPLETE, UsageError, cli
from common.artifacts import canonical_json, sha256, sweep, write_atomic
from common.cluster import mapped
from common.rng import SeededRandom
from common.runs import code_hashes, lock, unlock
from common.shape import nearest
from common.wire import Reply, Request
from show.document import terminal

EXAMPLES = """  python3 calibrate.py
  python3 calibrate.py --reps 1000 --jobs 2
  python3 calibrate.py --populations coin,additive --reps 20 --probes
  python3 calibrate.py --rivals mine.py
  python3 calibrate.py --reps 1000 --scheduler tcp://127.0.0.1:8786"""
MODELS = {"2x2": 4, "mechanism": 1}      # of one population; a pool has its own
SETTINGS = {"compliance": "low", "tells": "standard", "temperature": 0.7, "max_out": 96,
            "reasoning_effort": None, "probes": ["payoffs", "beliefs", "influence"]}
FINISH = {"stop": "ok", "length": "truncated"}
SERVED = {"served_model": "SIMULATED", "provider": "simulated", "cost_usd": 0.0}
Respond = Callable[[Request, SeededRandom], str | tuple[str, str]]


def arguments(argv):
    flags = cli.parser("Respondents whose behaviour is known, put through the studies: what is "
                       "said of each beside what it has earned.", EXAMPLES)
    add = flags.add_argument
    add("--reps", type=int, default=100, metavar="N",
        help="pilots and mechanism studies of each population (default 100)")
    add("--populations", metavar="A,B", help="simulated populations (default: all)")
    add("--rivals", metavar="FILE", help="a Python file with RESPONDENTS = {name: "
        "function(request, rng) -> (text, finish_reason)}, executed in this process with all "
        "that you may do: read it first; they join --populations, or stand alone")
    add("--probes", action="store_true", help="ask the probes of the mechanism study as well, and "
        "describe the answers")
    add("--runs", type=int, metavar="N", help="runs per cell of a pilot and blocks per bulletin of "
        "a mechanism study (default 10 and 12)")
    add("--seed", type=int, default=42, metavar="N", help="seed of the whole (default 42)")
    add("--jobs", type=int, default=1, metavar="N", help="processes (default 1)")
    add("--scheduler", metavar="URL", help="a Dask cluster's scheduler, tcp://…")
    add("--out", metavar="DIR", default="results/calibration",
        help="folder of this calibration (default results/calibration)")
    cli.add_json_flag(add)
    return flags.parse_args(argv)


def main(argv) -> cli.Done:
    args = arguments(argv)
    for flag, least in (("reps", 1), ("jobs", 1), ("seed", 0), ("runs", 2)):
        if (value := getattr(args, flag)) is not None and value < least:
            raise UsageError(f"--{flag}: must be at least {least}, not {value}")
    own = rivals_of(args.rivals)
    known = [*POPULATIONS, *POOLS, *own]
    names = list(dict.fromkeys(cli.names(args.populations) or own or known))
    if strange := [name for name in names if name not in known]:
        raise UsageError(f"--populations: no population {strange[0]!r}; "
                         f"{nearest(strange[0], known)}")
    folder = Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    header = {"artifact": "calibration-replications", "seed": args.seed, "reps": args.reps,
              "runs": {design: args.runs or usual for design, usual in RUNS.items()},
              "prompts_sha256": sha256(canonical_json(domain().files)),
              "code_sha256": sha256(canonical_json(code_hashes())), "note": ""}
    handle = lock(folder)
    try:
        records = replications(args, names, header["runs"])
        files = derived(header, records)
        for name, content in files.items():
            sweep(folder, name)
            write_atomic(folder / name, content)
    finally:
        unlock(handle)
    report = document(table(header, records))
    return cli.Done(COMPLETE, {"written": str(folder), "files": sorted(files), "simulated": True,
                               "replications": len(records), "summary": report.answer},
                    f"{terminal(report)}\nopen {folder / 'report.html'}")


# --- a replication: one study of a population ---------------------------------------------------

class Study(NamedTuple):
    """Before anybody answers: every population meets the same trials."""

    design: str
    runs: int
    seed: int
    models: tuple[str, ...] = ()

    @property
    def config(self) -> dict[str, Any]:
        return SETTINGS | {"design": self.design, "seed": self.seed, "runs": self.runs,
                           "models": list(self.models)}


class Work(NamedTuple):
    """One study of each population. `rivals`: a user's file."""

    study: Study
    rep: int
    names: tuple[str, ...]
    probes: bool
    rivals: str | None


def replications(args, names: Sequence[str], runs: Mapping[str, int]) -> list[dict[str, Any]]:
    """Every record, by design, population and replication, however the work was spread."""
    path = args.rivals and str(Path(args.rivals).resolve())
    works = [Work(Study(design, n, seed_of(args.seed, design, n, rep)), rep, tuple(names),
                  args.probes and design == "mechanism", path)
             for rep in range(args.reps) for design, n in runs.items()]
    records, progress, total = [], cli.Progress("calibrate"), len(works) * len(names)
    with mapped(replicate_all, works, args.jobs, args.scheduler) as results:
        for at, made in results:
            records += made
            progress.show((len(records), total, 0), [TITLES[works[at].study.design]], {})
    progress.show((len(records), total, 0), [], {}, last=True)
    return sorted(records, key=lambda record: (
        record["design"], names.index(record["population"]), record["rep"]))


def seed_of(seed: int, design: str, runs: int, rep: int) -> int:
    size = f"m{runs}" if design == "mechanism" else str(runs)
    return SeededRandom(seed, "calibration", size, rep).getrandbits(40)


def replicate_all(work: Work) -> list[dict[str, Any]]:
    return [replicate(name, work) for name in work.names]


def replicate(name: str, work: Work) -> dict[str, Any]:
    """What the analysis says of one study of a population. `covers`: whether the interval of
    HP − LA holds the population's own; `positive`: sentences of a pilot that claim something."""
    design, members, own = work.study.design, models_of(name), rivals_of(work.rivals)
    if len(members) < MODELS[design]:
        members = (members * MODELS[design])[:MODELS[design]]
    asks = {f"m{at}": member for at, member in enumerate(members, 1)}
    study = work.study._replace(models=tuple(asks))
    respond = {model: own.get(member) or respondent(member, study.seed)
               for model, member in asks.items()}
    rows = asked(study, respond) if name in own else planted(study, asks)
    record, primary, p = JUDGES[design](study, rows)
    known = name not in own and primary["low"] is not None
    record |= {"population": name, "design": design, "rep": work.rep,
               "covers": primary["low"] - 1e-6 <= earned(name, design).primary
               <= primary["high"] + 1e-6 if known else None,
               "rejects": None if p is None else p < 0.05}
    if work.probes:
        found = mechanism.probes_of([probes.row(probe, reply_of(
            respond[probe.block.model], probe.request, study.seed))
            for probe in dealt_probes(study)])
        record["probes"] = {"payoffs": found["payoffs"]["value"],
                            "beliefs": found["beliefs"]["diagnostic"]["value"],
                            "influence": found["influence"]["value"]}
    return record


def judged_pilot(study: Study, rows: Sequence[Mapping]) -> tuple[dict, Mapping, float | None]:
    out = judge.analyse(rows, {"config": study.config, "provider": "simulated"}, None)
    return ({"word": out["verdict"]["word"], "positive": len(out["claims"]["may"])},
            out["pooled"]["effects"]["primary"], out["pooled"]["exploratory"]["sign_flip_p"])


def judged_mechanism(study: Study, rows: Sequence[Mapping]) -> tuple[dict, Mapping, float | None]:
    """Of the analysis what the word rests on: a contrast is computed when it is read."""
    pooled = rivals.evidence(rivals.tally(rows))
    parts = {name: rivals.evidence(rivals.tally(row for row in rows if row["model"] == name))
             if len(study.models) > 1 else pooled for name in study.models}
    found = verdict(mechanism.findings({
        "mechanism": {"pooled": pooled, "by_model": parts}, "outcomes": {"answered": len(rows)},
        "design": study.config | {"trials": len(rows), "bulletins": len(
            {row["bulletin"] for row in rows})}}))
    primary = pooled["contrasts"]["HP-LA"]
    return {"word": found["word"]}, primary, primary["p"]


JUDGES = {"2x2": judged_pilot, "mechanism": judged_mechanism}


# --- answers, from rendered prompts -------------------------------------------------------------

@cache
def domain():
    return load_domain(pilot.DOMAIN)


def asked(study: Study, respond: Mapping[str, Respond]) -> list[dict[str, Any]]:
    """The rows of `trials.jsonl.gz`."""
    return [pilot.row(trial, reply_of(respond[trial.model], trial.request, study.seed))
            for trials in pilot.design(domain(), study.config, study.models) for trial in trials]


def reply_of(respond: Respond, request: Request, seed: int) -> Reply:
    """What a provider hands on of an answer."""
    answer = respond(request, SeededRandom(seed, "respondent", request.id))
    text, finish = answer if isinstance(answer, tuple) else (answer, "stop")
    return Reply(FINISH[finish], text, finish, **SERVED)


@lru_cache(maxsize=1)
def dealt_probes(study: Study) -> list[probes.Probe]:
    return probes.deal(probes.texts(PROMPTS), domain(), study.config,
                       list(pilot.dealt(domain(), study.config, study.models)))


@cache
def rivals_of(path: str | None) -> dict[str, Respond]:
    """The RESPONDENTS of a user's file; UsageError where there are none that can be asked."""
    if path is None:
        return {}
    if not Path(path).is_file():
        raise UsageError(f"--rivals: {path}: no such file; give one of Python")
    try:
        found = runpy.run_path(path).get("RESPONDENTS")
    except Exception as error:   # whatever a user's file does wrong
        raise UsageError(f"--rivals: {path}: {type(error).__name__}: {error}") from None
    if not isinstance(found, dict) or not found or not all(map(callable, found.values())):
        raise UsageError(f"--rivals: {path}: give RESPONDENTS = {{name: function(request, rng) -> "
                         "(text, finish_reason)}")
    for name in found:
        if not isinstance(name, str) or name in POPULATIONS or name in POOLS:
            raise UsageError(f"--rivals: {path}: {name!r} is a name of the project's own; choose "
                             "another")
    return {name: partial(checked, f"--rivals: {path}: {name!r}", function)
            for name, function in found.items()}


def checked(where: str, function: Respond, request: Request, rng: SeededRandom):
    """A user's function, whose faults are told in one line."""
    try:
        answer = function(request, rng)
    except Exception as error:
        raise UsageError(f"{where}: {type(error).__name__}: {error}") from None
    reply = answer if isinstance(answer, tuple) else (answer, "stop")
    if len(reply) != 2 or not isinstance(reply[0], str) or reply[1] not in FINISH:
        raise UsageError(f"{where} answered {answer!r}; give (text, finish_reason), the latter one "
                         f"of {', '.join(FINISH)}")
    return reply


# --- the same answers without rendering ---------------------------------------------------------
# A population of the project reads nothing but the cues of a prompt, and the design knows which
# those are; what an answer draws follows from the seed and the trial's name.

def planted(study: Study, asks: Mapping[str, str]) -> list[dict[str, Any]]:
    """The rows of `asked`, without texts. `asks`: the population of each model."""
    out = []
    for row, cues, numbers in draws(study):
        cooperates, lost = decide(asks[row["model"]], cues, iter(numbers).__next__, study.seed)
        out.append({**row, "cooperates": None if lost else int(cooperates),
                    "status": lost or "ok"})
    return out


@lru_cache(maxsize=2)
def draws(study: Study) -> list[tuple[Mapping[str, Any], Cues, tuple[float, float]]]:
    """Of each trial: its row without an answer, the cues of its prompt, the numbers that decide."""
    out = []
    for block in pilot.dealt(domain(), study.config, study.models):
        for cell in pilot.DESIGNS[study.design].cells:
            stimulus = pilot.shown(block, cell)
            row = pilot.place(block, cell, stimulus) | {"text": "", **SERVED}
            draw = SeededRandom(study.seed, "respondent", row["id"]).random
            out.append((row, staged(domain(), stimulus, block.scheme, block.order),
                        (draw(), draw())))
    return out


if __name__ == "__main__":
    cli.run(main, sys.argv[1:], resumes=False)
