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
calibration.md and report.html into --out. Everything in it is SIMULATED.
"""

import runpy
import sys
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from cirrus.ask import oneshot, probes
from cirrus.ask.bulletins import PROMPTS, load_domain
from cirrus.families import OPEN, POPULATIONS, REASONER, Member, Respond, respondent
from cirrus.judge.accounts import ACCOUNTS, WORDS, word
from cirrus.judge.contrasts import LEVEL, table_of
from cirrus.judge.extras import probes_of
from cirrus.judge.oneshot import analyse, part_of
from cirrus.reports.calibration import BLOCKS, PILOT, derived, document, limits
from common import COMPLETE, UsageError, cli
from common.artifacts import canonical_json, sha256
from common.cluster import mapped
from common.rng import SeededRandom
from common.runs import code_hashes, rewrite
from common.shape import nearest
from common.wire import Reply, Request
from show.document import terminal
from show.figures import count

EXAMPLES = """  python3 calibrate.py --jobs 2
  python3 calibrate.py --populations coin-50,obedience --reps 20 --probes
  python3 calibrate.py --rivals mine.py --reps 1000 --jobs 2
  python3 calibrate.py --runs 6 --reps 100 --scheduler tcp://127.0.0.1:8786"""
GRID = 125  # so many that none of them lies below 3% with its whole interval
CENTRE, UNDECIDED, WORST, SMALLER = 1000, 4000, 10, (6, 3)
# Seconds of a core for a block of each bulletin, a pilot takes as much as four of them; a deal that
# respondents share takes as much as eight studies.
SECONDS, DEALING = 0.0035, 8
SHARED = 5  # replications that meet the same dealt trials; respondents are drawn anew in each
PILOT_MODELS = ["m1", "m2", "m3", "m4"]
SETTINGS = {
    "compliance": "low",
    "tells": "standard",
    "temperature": 0.7,
    "max_out": 96,
    "reasoning_effort": None,
}
FINISH = {"stop": "ok", "length": "truncated"}
DECLARED = (*(account.name for account in ACCOUNTS), OPEN, REASONER)
CELLS = [cell.name for cell in oneshot.DESIGNS["mechanism"].cells]
Records = dict[tuple[str, int], list[dict[str, Any]]]  # by respondent and size


def arguments(argv):
    flags = cli.parser(
        "Respondents with a declared account, put through the studies: how often "
        "each account is excluded, and each word said.",
        EXAMPLES,
    )
    add = flags.add_argument
    add(
        "--reps",
        type=int,
        metavar="N",
        help="studies of each respondent (default: 125 to 4,000, "
        "by what is still open)",
    )
    add(
        "--populations",
        metavar="A,B",
        help="simulated populations, or families of them by the "
        "start of their names (default: all)",
    )
    add(
        "--rivals",
        metavar="FILE",
        help="a Python file with RESPONDENTS = {name: "
        "function(request, rng) -> (text, finish_reason)} and, if you like, ACCOUNTS = {name: "
        f"{', '.join(DECLARED)}}}, executed in this process with all that you may do: read it "
        "first; they join --populations, or stand alone, and take the place of the project's own "
        "of the same name; one that fails is named and left out",
    )
    add(
        "--probes",
        action="store_true",
        help="ask the probes as well, and describe the answers",
    )
    add(
        "--runs",
        type=int,
        metavar="N",
        help=f"blocks per bulletin (default {BLOCKS}, and 6 and 3 where --reps is not given)",
    )
    add(
        "--seed",
        type=int,
        default=42,
        metavar="N",
        help="seed of the whole (default 42)",
    )
    add("--jobs", type=int, default=1, metavar="N", help="processes (default 1)")
    add("--scheduler", metavar="URL", help="a Dask cluster's scheduler, tcp://…")
    add(
        "--out",
        metavar="DIR",
        default="results/calibration",
        help="folder of this calibration (default results/calibration)",
    )
    cli.add_json_flag(add)
    return flags.parse_args(argv)


def main(argv) -> cli.Done:
    args = arguments(argv)
    for flag, least in (("reps", 1), ("jobs", 1), ("seed", 0), ("runs", 2)):
        if (value := getattr(args, flag)) is not None and value < least:
            raise UsageError(f"--{flag}: must be at least {least}, not {value}")
    chosen, folder = members(args), Path(args.out)
    args.rivals = args.rivals and str(
        Path(args.rivals).resolve()
    )  # for a worker elsewhere
    folder.mkdir(parents=True, exist_ok=True)  # where it can't be, nobody waits for it
    out = calibration(args, chosen)
    files = derived(out)
    rewrite(folder, files)
    faults = out["faults"]
    return cli.Done(
        COMPLETE,
        {
            "written": str(folder),
            "files": sorted(files),
            "simulated": True,
            "replications": out["replications"],
            "faults": faults,
            "summary": out["summary"],
        },
        "\n".join(
            [
                terminal(document(out)),
                *(f"left out: {name}: {fault}" for name, fault in faults.items()),
                f"open {folder / 'report.html'}",
            ]
        ),
    )


def members(args) -> dict[str, Member]:
    """{name: what is declared of it} of the respondents asked for, a user's own among them."""
    responds, accounts = rivals_of(args.rivals)
    rivals = {
        name: Member(name, accounts.get(name, OPEN), "a respondent of the user's own")
        for name in responds
    }
    known, names = POPULATIONS | rivals, {}
    for start in cli.names(args.populations) or rivals or known:
        some = (
            [start]
            if start in known
            else [name for name in known if name.startswith(f"{start}-")]
        )
        if not some:
            raise UsageError(
                f"--populations: no population {start!r}; {nearest(start, known)}"
            )
        names |= dict.fromkeys(some)
    return {name: known[name] for name in names}


# --- how many studies, and what they come to -----------------------------------------------------


def calibration(args, chosen: Mapping[str, Member]) -> dict[str, Any]:
    """The whole of calibration.json, however the work was spread."""
    faults = {
        name: f"declares {member.account!r}, which is none of {', '.join(DECLARED)}"
        for name, member in chosen.items()
        if member.account not in DECLARED
    }
    records: Records = defaultdict(list)
    for wanted in stages(
        args, {name: chosen[name] for name in chosen if name not in faults}, records
    ):
        replications(args, list(works(args, wanted, records)), records, faults)
    if faults.keys() >= chosen.keys():
        raise UsageError(
            "; ".join(f"{name}: {fault}" for name, fault in faults.items())
        )
    out: dict[str, Any] = {"populations": {}, "smaller": {}, "pilots": {}, "limits": []}
    blocks, studies = args.runs or BLOCKS, 0
    for runs, name in product(
        sorted({runs for _, runs in records}, reverse=True), chosen
    ):
        if name not in faults and (rows := records.get((name, runs))):
            part = (
                out["pilots"]
                if runs == PILOT
                else out["populations"]
                if runs == blocks
                else (out["smaller"].setdefault(str(runs), {}))
            )
            part[name] = counted(chosen[name], rows)
            out["limits"] += limits(name, part[name], runs)
            studies += len(rows)
    states = Counter(limit["state"] for limit in out["limits"])
    return out | {
        "artifact": "calibration",
        "schema": 5,
        "simulated": True,
        "stamp": "SIMULATED",
        "seed": args.seed,
        "reps": args.reps,
        "runs": blocks,
        "faults": faults,
        "prompts_sha256": sha256(canonical_json(domain().files)),
        "code_sha256": sha256(canonical_json(code_hashes())),
        "replications": studies,
        "summary": f"{studies:,} studies: {states['met']:,} of "
        f"{count(len(out['limits']), 'limit')} met, {states['missed']} missed, "
        f"{states['open']} open.",
    }


def counted(member: Member, records: Sequence[Mapping]) -> dict[str, Any]:
    """What is declared of a respondent, and how often each word was said of it and each account
    excluded; in pilots the studies with any positive sentence."""
    words = Counter(record["word"] for record in records)
    out = {
        "family": member.family,
        "account": member.account,
        "what": member.what,
        "replications": len(records),
        "words": {name: words[name] for name in WORDS},
    }
    if "positive" in records[0]:
        return out | {"positive": sum(record["positive"] for record in records)}
    excluded = Counter(name for record in records for name in record["excluded"])
    out["excluded"] = {account.name: excluded[account.name] for account in ACCOUNTS}
    if shares := records[0].get("probes"):
        out["probes"] = {
            kind: {
                cell: fmean(known)
                if (
                    known := [
                        record["probes"][kind][cell]
                        for record in records
                        if record["probes"][kind][cell] is not None
                    ]
                )
                else None
                for cell in cells
            }
            for kind, cells in shares.items()
        }
    return out


def stages(args, chosen: Mapping[str, Member], records: Records) -> Iterator[dict]:
    """{(respondent, size): how many studies it shall have}, one stage after another."""

    def held(key: tuple[str, int]) -> list[dict]:
        return [*limits(key[0], counted(chosen[key[0]], records[key]), key[1])]

    every = [(name, args.runs or BLOCKS) for name in chosen] + [
        (name, PILOT) for name, member in chosen.items() if member.account == "nothing"
    ]
    if args.reps or args.rivals:
        yield dict.fromkeys(every, args.reps or GRID)
        return
    yield {key: CENTRE if chosen[key[0]].centre else GRID for key in every} | {
        (name, fewer): GRID
        for name, member in chosen.items()
        if member.centre
        for fewer in SMALLER
        if not args.runs
    }
    grid = [key for key in every if not chosen[key[0]].centre and held(key)]
    yield dict.fromkeys(
        sorted(grid, key=lambda key: -max(limit["value"] for limit in held(key)))[
            :WORST
        ],
        CENTRE,
    )
    yield {
        key: UNDECIDED
        for key in every
        if len(records[key]) == CENTRE
        and any(limit["state"] == "open" for limit in held(key))
    }


class Work(NamedTuple):
    """Replications `reps` of each respondent, on one deal. `runs`: blocks, PILOT for pilots."""

    args: Namespace
    runs: int
    reps: range
    names: tuple[str, ...]


def works(
    args, wanted: Mapping[tuple[str, int], int], records: Records
) -> Iterator[Work]:
    """What is wanted beyond what there is."""
    each = 1 if args.rivals else SHARED  # a rival may answer by the prompt alone
    for size in dict.fromkeys(size for _, size in wanted):
        for start in range(0, max(wanted.values()), each):
            ends = {
                name: min(start + each, reps)
                for (name, runs), reps in wanted.items()
                if runs == size and len(records[name, size]) <= start < reps
            }
            if ends:
                yield Work(args, size, range(start, max(ends.values())), tuple(ends))


def replications(
    args, works: Sequence[Work], records: Records, faults: dict[str, str]
) -> None:
    """Adds the records of these works; a respondent that fails goes into `faults`."""
    total, done = sum(len(work.names) * len(work.reps) for work in works), 0
    minutes = (
        sum(
            (DEALING + len(work.names) * len(work.reps)) * (work.runs or 4)
            for work in works
        )
        * SECONDS
        / 60
        / args.jobs
    )
    sys.stderr.write(
        f"calibrate: {total:,} studies, about {minutes:.0f} min on "
        f"{count(args.jobs, 'free core')}\n"
    )
    progress = cli.Progress("calibrate")
    with mapped(replicate, works, args.jobs, args.scheduler) as results:
        for _, made in results:
            for record in made:
                if "fault" in record:
                    faults.setdefault(record["name"], record["fault"])
                else:
                    records[record["name"], record["runs"]].append(record)
            done += len(made)
            progress.show((done, total, 0), [], {})
    progress.show((done, total, 0), [], {}, last=True)


# --- a replication: one study of a respondent ---------------------------------------------------

domain = cache(lambda: load_domain(oneshot.DOMAIN))


class Study(NamedTuple):
    """`read`: the row of trial number `at`, by text and finish reason of the answer."""

    config: dict[str, Any]
    trials: list[oneshot.Trial]
    read: Callable[[int, str, str], dict[str, Any]]


def dealt(runs: int, seed: int) -> Study:
    """A study of so many blocks per bulletin, or a pilot."""
    config = (
        SETTINGS
        | {"seed": seed}
        | (
            {"design": "2x2", "runs": oneshot.DRAWN, "models": PILOT_MODELS}
            if runs == PILOT
            else {
                "design": "mechanism",
                "runs": runs,
                "models": ["m1"],
                "lever": {"m1": oneshot.DEFAULT_LEVER},
                "probes": list(probes.KINDS),
            }
        )
    )
    trials = [
        trial
        for block in oneshot.design(domain(), config, config["models"])
        for trial in block
    ]
    return Study(
        config,
        trials,
        cache(lambda at, text, finish: oneshot.row(trials[at], reply_of(text, finish))),
    )


def seed_of(seed: int, *path: int | str) -> int:
    return SeededRandom(seed, "calibration", *path).getrandbits(40)


def replicate(work: Work) -> list[dict[str, Any]]:
    """The records of a work."""
    seed, rivals = work.args.seed, rivals_of(work.args.rivals)[0]
    study = dealt(work.runs, seed_of(seed, work.runs, "deal", work.reps[0]))
    out = []
    for name in work.names:
        respond = rivals.get(name) or respondent(name)
        for rep in work.reps:
            rng = SeededRandom(seed_of(seed, work.runs, rep), "respondent", name)
            try:
                record = judged(study, respond, rng, work.args.probes)
            except Fault as fault:
                out.append({"name": name, "fault": str(fault)})
                break
            out.append({"name": name, "runs": work.runs} | record)
    return out


def judged(
    study: Study, respond: Respond, rng: SeededRandom, probed: bool
) -> dict[str, Any]:
    """What the analysis says of one respondent in one study."""
    rows = [
        study.read(at, *ask(respond, trial.request, rng))
        for at, trial in enumerate(study.trials)
    ]
    if study.config["design"] == "2x2":
        out = analyse(rows, {"config": study.config, "provider": "simulated"})
        return {"word": out["verdict"]["word"], "positive": bool(out["claims"]["may"])}
    part = part_of(table_of(rows), CELLS, LEVEL, True)
    record = {
        "word": word(part)[0],
        "excluded": [
            name for name, account in part["accounts"].items() if account["excluded"]
        ],
    }
    if probed:
        blocks = {trial.block.name: trial.block for trial in study.trials}
        answers = [
            probes.row(probe, reply_of(*ask(respond, probe.request, rng)))
            for probe in probes.deal(
                probes.texts(PROMPTS), domain(), study.config, list(blocks.values())
            )
        ]
        record["probes"] = {
            kind: {cell: share["mean"] for cell, share in shares["cells"].items()}
            for kind, shares in probes_of(answers, ()).items()
            if kind != "statuses"
        }
    return record


# --- a user's own respondents -------------------------------------------------------------------


class Fault(Exception):
    """A respondent that can't be asked: the line that says why."""


def reply_of(text: str, finish: str) -> Reply:
    return Reply(
        FINISH[finish],
        text,
        finish,
        served_model="SIMULATED",
        provider="simulated",
        cost_usd=0.0,
    )


def ask(respond: Respond, request: Request, rng: SeededRandom) -> tuple[str, str]:
    """(text, finish reason); Fault where there is none, whatever a user's function does wrong."""
    try:
        answer = respond(request, rng)
    except Exception as error:
        raise Fault(f"{type(error).__name__}: {error}".splitlines()[0]) from None
    reply = answer if isinstance(answer, tuple) else (answer, "stop")
    if len(reply) != 2 or not isinstance(reply[0], str) or reply[1] not in FINISH:
        raise Fault(
            f"answered {answer!r:.80}; give (text, finish_reason), the latter one of "
            f"{', '.join(FINISH)}"
        )
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
    except Exception as error:  # whatever a user's file does wrong
        raise UsageError(f"--rivals: {path}: {type(error).__name__}: {error}") from None
    respondents, accounts = names.get("RESPONDENTS"), names.get("ACCOUNTS", {})
    if (
        not isinstance(respondents, dict)
        or not respondents
        or not isinstance(accounts, dict)
    ):
        raise UsageError(
            f"--rivals: {path}: give RESPONDENTS = {{name: function(request, rng) -> "
            "(text, finish_reason)}"
        )
    return {str(name): respond for name, respond in respondents.items()}, accounts


if __name__ == "__main__":
    cli.run(main, sys.argv[1:], resumes=False)
