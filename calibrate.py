#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Respondents with a declared account answer many studies; what is said of them is counted.

Each is asked as a model in a mechanism study, from rendered prompts, and judged as a model is;
those that nothing moves are asked in pilots too. Without --reps: 1,000 studies of each family's
centre and 125 of its other members, 1,000 of the ten worst of these, and 4,000 where a limit is
open then; centres also 125 times at 6 and 3 blocks per bulletin. Writes calibration.json,
calibration.md, report.html and replications.jsonl.gz into --out. Everything in it is SIMULATED.
"""

import runpy
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from cirrus.ask import oneshot, probes
from cirrus.ask.bulletins import PROMPTS
from cirrus.ask.prompts import load_domain
from cirrus.families import OPEN, POPULATIONS, REASONER, Member, respondent
from cirrus.judge.accounts import ACCOUNTS, word
from cirrus.judge.contrasts import LEVEL, table_of
from cirrus.judge.extras import probes_of
from cirrus.judge.oneshot import analyse, part_of
from cirrus.reports.calibration import BLOCKS, PILOT, derived, document, limits, table
from common import COMPLETE, UsageError, cli
from common.artifacts import canonical_json, sha256, sweep, write_atomic
from common.cluster import mapped
from common.rng import SeededRandom
from common.runs import code_hashes, lock, unlock
from common.shape import nearest
from common.wire import Reply, Request
from show.document import terminal
from show.figures import count

EXAMPLES = """  python3 calibrate.py --jobs 2
  python3 calibrate.py --populations coin-50,obedience --reps 20 --probes
  python3 calibrate.py --rivals mine.py --reps 1000 --jobs 2
  python3 calibrate.py --runs 6 --reps 100 --scheduler tcp://127.0.0.1:8786"""
GRID = 125          # so many that none of them lies below 3% with its whole interval
CENTRE, UNDECIDED, WORST, SMALLER = 1000, 4000, 10, (6, 3)
# Seconds of a core for a block of each bulletin, a pilot takes as much as four of them; a deal that
# respondents share takes as much as eight studies.
SECONDS, DEALING = 0.0035, 8
SHARED = 5      # replications that meet the same dealt trials; respondents are drawn anew in each
PILOT_MODELS = tuple(f"m{at}" for at in range(1, 5))
SETTINGS = {"compliance": "low", "tells": "standard", "temperature": 0.7, "max_out": 96,
            "reasoning_effort": None}
FINISH = {"stop": "ok", "length": "truncated"}
DECLARED = (*(account.name for account in ACCOUNTS), OPEN, REASONER)
CELLS = [cell.name for cell in oneshot.DESIGNS["mechanism"].cells]
Respond = Callable[[Request, SeededRandom], tuple[str, str]]
Records = dict[tuple[str, int], list[dict[str, Any]]]      # by respondent and size


def arguments(argv):
    flags = cli.parser("Respondents with a declared account, put through the studies: how often "
                       "each account is excluded, and each word said.", EXAMPLES)
    add = flags.add_argument
    add("--reps", type=int, metavar="N", help="studies of each respondent (default: 125 to 4,000, "
        "by what is still open)")
    add("--populations", metavar="A,B", help="simulated populations, or families of them by the "
        "start of their names (default: all)")
    add("--rivals", metavar="FILE", help="a Python file with RESPONDENTS = {name: "
        "function(request, rng) -> (text, finish_reason)} and, if you like, ACCOUNTS = {name: "
        f"{', '.join(DECLARED)}}}, executed in this process with all that you may do: read it "
        "first; they join --populations, or stand alone, and take the place of the project's own "
        "of the same name; one that fails is named and left out")
    add("--probes", action="store_true", help="ask the probes as well, and describe the answers")
    add("--runs", type=int, metavar="N",
        help=f"blocks per bulletin (default {BLOCKS}, and 6 and 3 where --reps is not given)")
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
    chosen = members(args)
    faults = {name: f"declares {member.account!r}, which is none of {', '.join(DECLARED)}"
              for name, member in chosen.items() if member.account not in DECLARED}
    folder = Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    handle = lock(folder)
    try:
        records = replications(args, chosen, faults)
        flat = [record for made in records.values() for record in made]
        header = {
            "artifact": "calibration-replications", "seed": args.seed, "reps": args.reps,
            "runs": args.runs or BLOCKS, "faults": faults,
            "prompts_sha256": sha256(canonical_json(domain().files)),
            "code_sha256": sha256(canonical_json(code_hashes())),
            "studies": len(flat),
            "respondents": {name: {"family": member.family, "account": member.account,
                                   "what": member.what}
                            for name, member in chosen.items() if name not in faults}}
        files = derived(header, flat)
        for name, content in files.items():
            sweep(folder, name)
            write_atomic(folder / name, content)
    finally:
        unlock(handle)
    report = document(table(header, flat))
    return cli.Done(COMPLETE, {"written": str(folder), "files": sorted(files), "simulated": True,
                               "replications": len(flat), "faults": faults,
                               "summary": report.answer},
                    "\n".join([terminal(report), *(f"left out: {name}: {fault}"
                                                   for name, fault in faults.items()),
                               f"open {folder / 'report.html'}"]))


def members(args) -> dict[str, Member]:
    """{name: what is declared of it} of the respondents asked for, a user's own among them."""
    responds, accounts = rivals_of(args.rivals)
    rivals = {name: Member("rivals", accounts.get(name, OPEN), "a respondent of the user's own",
                           None) for name in responds}
    known, names = POPULATIONS | rivals, {}
    for start in cli.names(args.populations) or rivals or known:
        some = [start] if start in known else [
            name for name in known if name.startswith(f"{start}-")]
        if not some:
            raise UsageError(f"--populations: no population {start!r}; {nearest(start, known)}")
        names |= dict.fromkeys(some)
    return {name: known[name] for name in names}


# --- how many studies --------------------------------------------------------------------------

class Work(NamedTuple):
    """Replications `reps` of each respondent, on one deal. `runs`: blocks, PILOT for pilots."""

    seed: int
    runs: int
    reps: range
    names: tuple[str, ...]
    probes: bool
    rivals: str | None


def replications(args, chosen: Mapping[str, Member], faults: dict[str, str]) -> Records:
    """Every record, however the work was spread; a respondent that fails goes into `faults`."""
    records: Records = {}
    for wanted in stages(args, chosen, records):
        works = list(portions(args, wanted, records, faults))
        total, done, progress = sum(len(work.names) * len(work.reps) for work in works), 0, (
            cli.Progress("calibrate"))
        minutes = sum((DEALING + len(work.names) * len(work.reps)) * (work.runs or 4)
                      for work in works) * SECONDS / 60 / args.jobs
        sys.stderr.write(f"calibrate: {total:,} studies, about {minutes:.0f} min on "
                         f"{count(args.jobs, 'free core')}\n")
        with mapped(replicate, works, args.jobs, args.scheduler) as results:
            for _, made in results:
                for record in made:
                    if "fault" in record:
                        faults.setdefault(record["name"], record["fault"])
                    else:
                        records.setdefault((record["name"], record["runs"]), []).append(record)
                done += len(made)
                progress.show((done, total, 0), [], {})
        progress.show((done, total, 0), [], {}, last=True)
    if faults.keys() >= chosen.keys():
        raise UsageError("; ".join(f"{name}: {fault}" for name, fault in faults.items()))
    return {key: sorted(records[key], key=lambda record: record["rep"])
            for key in sorted(records, key=lambda key: (-key[1], [*chosen].index(key[0])))
            if key[0] not in faults}


def stages(args, chosen: Mapping[str, Member], records: Records) -> Iterator[dict]:
    """{(respondent, size): how many studies it shall have}, one stage after another."""
    size = args.runs or BLOCKS
    coins = [(name, PILOT) for name, member in chosen.items() if member.account == "nothing"]
    every = [(name, size) for name in chosen] + coins
    if args.reps or args.rivals:
        yield dict.fromkeys(every, args.reps or GRID)
        return
    yield {key: CENTRE if chosen[key[0]].centre else GRID for key in every} | {
        (name, fewer): GRID for name, member in chosen.items() if member.centre
        for fewer in SMALLER if not args.runs}
    def held(key: tuple[str, int]) -> list[dict]:
        return [*limits(key[0], chosen[key[0]]._asdict(), key[1], records[key])]
    grid = [key for key in every if not chosen[key[0]].centre and held(key)]
    yield dict.fromkeys(sorted(grid, key=lambda key: -max(
        limit["value"] for limit in held(key)))[:WORST], CENTRE)
    yield {key: UNDECIDED for key in every if len(records[key]) == CENTRE and any(
        limit["state"] == "open" for limit in held(key))}


def portions(args, wanted: Mapping[tuple[str, int], int], records: Records,
             faults: Mapping[str, str]) -> Iterator[Work]:
    """The works of a stage: what is wanted beyond what there is."""
    each = 1 if args.rivals else SHARED      # a rival may answer by the prompt alone
    path = args.rivals and str(Path(args.rivals).resolve())
    for runs, start in product(dict.fromkeys(size for _, size in wanted),
                               range(0, max(wanted.values(), default=0), each)):
        ends: dict[int, list[str]] = {}
        for (name, size), reps in wanted.items():
            if size == runs and len(records.get((name, size), ())) <= start < reps and (
                    name not in faults):
                ends.setdefault(min(reps, start + each), []).append(name)
        for last, names in ends.items():
            yield Work(args.seed, runs, range(start, last), tuple(names), args.probes, path)


# --- a replication: one study of a respondent ---------------------------------------------------

@cache
def domain():
    return load_domain(oneshot.DOMAIN)


def config_of(runs: int, seed: int) -> dict[str, Any]:
    if runs == PILOT:
        return SETTINGS | {"design": "2x2", "seed": seed, "runs": oneshot.DRAWN,
                           "models": list(PILOT_MODELS)}
    return SETTINGS | {"design": "mechanism", "seed": seed, "runs": runs, "models": ["m1"],
                       "lever": {"m1": oneshot.DEFAULT_LEVER}, "probes": list(probes.KINDS)}


def seed_of(seed: int, *path: int | str) -> int:
    return SeededRandom(seed, "calibration", *path).getrandbits(40)


def replicate(work: Work) -> list[dict[str, Any]]:
    """The records of a work."""
    config = config_of(work.runs, seed_of(work.seed, work.runs, "deal", work.reps[0]))
    out = []
    for name in work.names:
        respond = rivals_of(work.rivals)[0].get(name) or respondent(name)
        for rep in work.reps:
            rng = SeededRandom(seed_of(work.seed, work.runs, rep), "respondent", name)
            try:
                out.append({"name": name, "runs": work.runs, "rep": rep}
                           | studied(respond, rng, config, work))
            except Fault as fault:
                out.append({"name": name, "fault": str(fault)})
                break
    return out


def studied(respond: Respond, rng: SeededRandom, config: Mapping, work: Work) -> dict[str, Any]:
    """What the analysis says of one study."""
    trials, read = dealt(work.runs, config["seed"])
    rows = [read(at, *ask(respond, trial.request, rng)) for at, trial in enumerate(trials)]
    if work.runs == PILOT:
        out = analyse(rows, {"config": config, "provider": "simulated"})
        return {"word": out["verdict"]["word"], "positive": len(out["claims"]["may"])}
    part = part_of(table_of(rows), CELLS, LEVEL, True)
    record = {"word": word(part)[0], "excluded": [
        name for name, account in part["accounts"].items() if account["excluded"]]}
    if work.probes:
        blocks = {trial.block.name: trial.block for trial in trials}
        answers = [probes.row(probe, reply_of(*ask(respond, probe.request, rng)))
                   for probe in probes.deal(probes.texts(PROMPTS), domain(), config,
                                            list(blocks.values()))]
        record["probes"] = {
            kind: {cell: share["mean"] for cell, share in shares["cells"].items()}
            for kind, shares in probes_of(answers, ()).items() if kind != "statuses"}
    return record


@lru_cache(maxsize=1)
def dealt(runs: int, seed: int):
    """The trials of a study, and what reads an answer to one of them: the row."""
    config = config_of(runs, seed)
    trials = [trial for block in oneshot.design(domain(), config, config["models"])
              for trial in block]

    @cache
    def read(at: int, text: str, finish: str) -> dict[str, Any]:
        return oneshot.row(trials[at], reply_of(text, finish))
    return trials, read


# --- a user's own respondents -------------------------------------------------------------------

class Fault(Exception):
    """A respondent that can't be asked: the line that says why."""


def reply_of(text: str, finish: str) -> Reply:
    return Reply(FINISH[finish], text, finish, served_model="SIMULATED", provider="simulated",
                 cost_usd=0.0)


def ask(respond: Respond, request: Request, rng: SeededRandom) -> tuple[str, str]:
    """(text, finish reason); Fault where there is none, whatever a user's function does wrong."""
    try:
        answer = respond(request, rng)
    except Exception as error:
        raise Fault(f"{type(error).__name__}: {error}".splitlines()[0]) from None
    reply = answer if isinstance(answer, tuple) else (answer, "stop")
    if len(reply) != 2 or not isinstance(reply[0], str) or reply[1] not in FINISH:
        raise Fault(f"answered {answer!r:.80}; give (text, finish_reason), the latter one of "
                    f"{', '.join(FINISH)}")
    return reply


@cache
def rivals_of(path: str | None) -> tuple[dict[str, Respond], dict[str, str]]:
    """RESPONDENTS and ACCOUNTS of a user's file; UsageError where there are none to be asked."""
    if path is None:
        return {}, {}
    if not Path(path).is_file():
        raise UsageError(f"--rivals: {path}: no such file; give one of Python")
    try:
        names = runpy.run_path(path)
    except Exception as error:   # whatever a user's file does wrong
        raise UsageError(f"--rivals: {path}: {type(error).__name__}: {error}") from None
    respondents, accounts = names.get("RESPONDENTS"), names.get("ACCOUNTS", {})
    if not isinstance(respondents, dict) or not respondents or not isinstance(accounts, dict):
        raise UsageError(f"--rivals: {path}: give RESPONDENTS = {{name: function(request, rng) -> "
                         "(text, finish_reason)}")
    return {str(name): respond for name, respond in respondents.items()}, accounts


if __name__ == "__main__":
    cli.run(main, sys.argv[1:], resumes=False)
