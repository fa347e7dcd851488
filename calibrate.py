#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Measures how often studies wrongly exclude an account (an explanation of why a model
cooperates).

    python3 calibrate.py --jobs 2                                all respondents: half an hour
    python3 calibrate.py --populations coin-50,sum --reps 20     one respondent, and a family
    python3 calibrate.py --rivals mine.py --jobs 2               your own respondents

Simulated respondents, whose account is declared beforehand, answer many studies each.
They are asked as models are, by rendered prompts, and judged as models are. Without
--reps each answers 200 studies, and 1,000 where a limit is still open then.
calibration.json, calibration.md and report.html go into --out. Everything in them is
SIMULATED.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from cirrus.ask import oneshot
from cirrus.ask.bulletins import load_domain
from cirrus.families import MEMBERS, OPEN, REASONER, Member, respondent
from cirrus.judge.oneshot import analyse
from cirrus.reports.calibration import LADDERS, NAMES, derived, document, limits
from common import COMPLETE, UsageError, cli
from common.artifacts import canonical_json, sha256
from common.cluster import mapped
from common.respondents import defined_in, own_respondents
from common.rng import SeededRandom
from common.runs import code_hashes, rewrite
from common.shape import nearest
from common.wire import Reply
from show.document import terminal
from show.figures import count

WHAT = "Respondents with a declared account answer many studies: how often each account is told excluded, and each word said."
EXAMPLES = """  python3 calibrate.py --jobs 2
  python3 calibrate.py --populations coin-50,sum --reps 20
  python3 calibrate.py --rivals mine.py --reps 200 --jobs 2"""
# How many studies each respondent gets, and how many it gets if they leave its limit open.
FIRST, MORE = 200, 1000
DECIDES = 125  # so many studies without an error put the whole interval below 3%
# How many blocks of each bulletin a study has; of a pilot, how many runs.
BLOCKS = {"mechanism": 12, "mirror": 2, "2x2": oneshot.DRAWN}
PILOT_MODELS = ["m1", "m2", "m3", "m4"]
SHARED = 25  # so many studies in a row ask the same prompts
LEAST = {"reps": 1, "jobs": 1, "seed": 0, "runs": 2}  # smallest value of each flag
FINISH = {"stop": "ok", "length": "truncated"}
DECLARED = (*NAMES, OPEN, REASONER)


def arguments(argv: Sequence[str]):
    """Read the command line."""
    flags = cli.parser(WHAT, EXAMPLES)
    add = flags.add_argument
    add(
        "--reps",
        type=int,
        metavar="N",
        help=f"studies of each (default {FIRST}, {MORE} where a limit is open then)",
    )
    add(
        "--populations",
        metavar="A,B",
        help="respondents, or families by the start of their names (default: all)",
    )
    add(
        "--rivals",
        metavar="FILE",
        help="a Python file with RESPONDENTS = {name: function(request, rng) -> (text, "
        "finish_reason)} and, if you like, ACCOUNTS = {name: account}, executed in this process "
        "with all that you may do: read it first. They join --populations, or stand alone. "
        f"Accounts: {', '.join(DECLARED)}",
    )
    add(
        "--runs",
        type=int,
        metavar="N",
        help="blocks of a bulletin (12; mirror 2), or runs of a pilot (10)",
    )
    add("--seed", type=int, default=42, metavar="N", help="of the whole (default 42)")
    add("--jobs", type=int, default=1, metavar="N", help="processes (default 1)")
    add("--scheduler", metavar="URL", help="a Dask cluster's scheduler, tcp://…")
    folder = "results/calibration"
    add("--out", metavar="DIR", default=folder, help=f"its folder (default {folder})")
    cli.add_json_flag(add)
    return flags.parse_args(argv)


def main(argv: Sequence[str]) -> cli.Done:
    """Run the calibration that the command line asks for, and write its files."""
    args = arguments(argv)
    for flag, least in LEAST.items():
        value = getattr(args, flag)
        if value is not None and value < least:
            raise UsageError(f"--{flag}: must be at least {least}, not {value}")
    chosen, folder = members(args.populations, args.rivals), Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)  # first, so that an error comes at once
    out = calibration(args, chosen)
    files = derived(out)
    rewrite(folder, files)
    facts = {name: out[name] for name in ("simulated", "replications", "summary")}
    facts |= {"written": str(folder), "files": sorted(files)}
    return cli.Done(COMPLETE, facts, "\n".join(last_words(out, folder)))


def last_words(out: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """Yield what the terminal shows at the end."""
    yield terminal(document(out))
    if out["reps"] and out["reps"] < DECIDES:
        yield f"so few studies decide no limit of 3%: give --reps {DECIDES} or more"
    yield f"open {folder / 'report.html'}"


# --- who is asked --------------------------------------------------------------------------------


def members(wanted: str | None, path: str | None) -> dict[str, Member]:
    """Return {name: Member} of the respondents that the flags ask for."""
    known, own = known_to(path)
    chosen = {}
    for start in cli.names(wanted) or own or known:
        named = [start]
        if start not in known:
            named = [name for name in known if name.startswith(f"{start}-")]
        if not named:
            near = nearest(start, known)
            raise UsageError(f"--populations: no population {start!r}; {near}")
        for name in named:
            chosen[name] = known[name]
    return chosen


@cache
def known_to(path: str | None) -> tuple[dict[str, Member], dict[str, Callable]]:
    """Return all respondents, and the functions of those in a user's file."""
    if path is None:
        return MEMBERS, {}
    own, accounts = own_respondents(path), defined_in(path).get("ACCOUNTS", {})
    if not isinstance(accounts, dict):
        raise UsageError(f"--rivals: {path}: give ACCOUNTS = {{name: account}}")
    known = dict(MEMBERS)
    for name in own:
        account = accounts.get(name, OPEN)
        if account not in DECLARED:
            near = nearest(account, DECLARED)
            raise UsageError(f"--rivals: {name}: no account {account!r}; {near}")
        known[name] = Member(name, "the user's own", account, "as its function says")
    return known, own


# --- how often, and what it comes to -------------------------------------------------------------


# What a study says of a respondent: (verdict word, the accounts that it excludes).
Record = tuple[str, list[str]]


def calibration(args, chosen: Mapping[str, Member]) -> dict[str, Any]:
    """Run the studies and return the whole of calibration.json; it does not depend
    on --jobs."""
    records: dict[str, list[Record]] = {name: [] for name in chosen}
    waiting = records
    for reps in [args.reps] if args.reps else [FIRST, MORE]:
        replicate(args, waiting, reps)
        populations, held = counted(chosen, records)
        waiting = {}
        for limit in held:
            if limit["state"] == "open":
                waiting[limit["population"]] = records[limit["population"]]
    states = Counter(limit["state"] for limit in held)
    told = f"{states['met']} met, {states['missed']} missed, {states['open']} open"
    studies = sum(map(len, records.values()))
    return {
        "artifact": "calibration",
        "schema": 6,
        "simulated": True,
        "stamp": "SIMULATED",
        "seed": args.seed,
        "reps": args.reps,
        "runs": args.runs,
        "replications": studies,
        "summary": f"{studies:,} SIMULATED studies: {count(len(held), 'limit')}, {told}.",
        "populations": populations,
        "limits": held,
        "prompts_sha256": sha256(canonical_json(domain().files)),
        "code_sha256": sha256(canonical_json(code_hashes())),
    }


def counted(chosen: Mapping[str, Member], records: Mapping) -> tuple[dict, list]:
    """Return ({respondent: its entry}, all limits) in calibration.json."""
    populations, held = {}, []
    for name, made in records.items():
        populations[name] = entry(chosen[name], made)
        held += limits(name, populations[name])
    return populations, held


def entry(member: Member, made: Sequence[Record]) -> dict[str, Any]:
    """Return a respondent's entry in calibration.json: how many studies said each
    word, and how many excluded each account."""
    words: Counter[str] = Counter()
    excluded: Counter[str] = Counter()
    for word, accounts in made:
        words[word] += 1
        excluded.update(accounts)
    return {
        "family": member.family,
        "account": member.account,
        "what": member.what,
        "design": member.design,
        "replications": len(made),
        "words": {word: words[word] for word in LADDERS[member.design]},
        "excluded": {name: excluded[name] for name in NAMES},
    }


class Work(NamedTuple):
    """Some studies of one respondent, all with the same prompts; `reps` are their
    numbers."""

    seed: int
    rivals: str | None
    runs: int | None
    name: str
    reps: range


def replicate(args, records: Mapping[str, list[Record]], reps: int) -> None:
    """Run studies until each respondent has `reps` records, and append them to
    `records`."""
    works = []
    # A user's respondent may draw nothing by itself, and so needs new prompts in each study.
    shared = 1 if args.rivals else SHARED
    # The path is made absolute, since a worker may have another folder.
    rivals = args.rivals and str(Path(args.rivals).resolve())
    for start in range(0, reps, shared):
        some = range(start, min(start + shared, reps))
        for name, made in records.items():
            if len(made) <= start:
                works.append(Work(args.seed, rivals, args.runs, name, some))
    progress, done = cli.Progress("calibrate"), 0
    total = sum(len(work.reps) for work in works)
    with mapped(studied, works, args.jobs, args.scheduler) as results:
        for at, made in results:
            records[works[at].name] += made
            done += len(made)
            progress.show((done, total, 0), [], {}, done == total)


# --- a study of a respondent ---------------------------------------------------------------------

domain = cache(lambda: load_domain(oneshot.DOMAIN))


def seed_of(seed: int, *path: int | str) -> int:
    """Return the seed for what `path` names, such as a deal of prompts."""
    return SeededRandom(seed, "calibration", *path).getrandbits(40)


class Deal(NamedTuple):
    """The prompts of a study, and the function that makes a row of an answer.

    `row(at, text, finish_reason)` is the row of trial number `at`.
    """

    config: dict[str, Any]
    trials: list[oneshot.Trial]
    row: Any


@lru_cache(maxsize=3)  # holds one deal of each design
def dealt(design: str, blocks: int, seed: int) -> Deal:
    """Return the prompts of a study of this design, with so many blocks for each
    bulletin."""
    config: dict[str, Any] = {
        "design": design,
        "runs": blocks,
        "seed": seed,
        "models": PILOT_MODELS if design == "2x2" else ["m1"],
        "compliance": "omit",
        "tells": "standard",
        "temperature": 0.7,
        "max_out": 96,
        "reasoning_effort": None,
    }
    trials: list[oneshot.Trial] = []
    for block in oneshot.design(domain(), config, config["models"]):
        trials += block

    @cache
    def row(at: int, text: str, finish: str) -> dict[str, Any]:
        return oneshot.row(trials[at], Reply(FINISH[finish], text, finish))

    return Deal(config, trials, row)


def studied(work: Work) -> list[Record]:
    """Run the studies of one `Work` and return their records."""
    known, own = known_to(work.rivals)
    design, made = known[work.name].design, []
    blocks = work.runs or BLOCKS[design]
    deal = dealt(design, blocks, seed_of(work.seed, design, "deal", work.reps.start))
    respond = own[work.name] if work.name in own else respondent(work.name)
    for rep in work.reps:
        rng = SeededRandom(seed_of(work.seed, design, rep), "respondent", work.name)
        made.append(judged(deal, answered(deal, respond, rng)))
    return made


def answered(deal: Deal, respond: Callable, rng: SeededRandom) -> list[Mapping]:
    """Return the rows of a study that `respond` has answered."""
    rows = []
    for at, trial in enumerate(deal.trials):
        text, finish = respond(trial.request, rng)
        rows.append(deal.row(at, text, finish))
    return rows


def judged(deal: Deal, rows: Sequence[Mapping[str, Any]]) -> Record:
    """Analyse one study and return what it says of the first model."""
    out = analyse(rows, {"config": deal.config, "provider": "simulated"})
    model = out[deal.config["design"]]["by_model"]["m1"]
    accounts = model.get("accounts", {})  # a mirror study judges no accounts
    excluded = [name for name, account in accounts.items() if account["excluded"]]
    return out["verdict"]["word"], excluded


if __name__ == "__main__":
    cli.run(main, sys.argv[1:], resumes=False)
