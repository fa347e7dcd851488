#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Plant known populations into the real pipeline, and tabulate what each is called.

    python3 calibrate.py                                     # 100 replications, some minutes
    python3 calibrate.py --reps 1000 --jobs 2 --sizes 10,20
    python3 calibrate.py --rivals mine.py --sizes 10         # respondents of your own
    python3 calibrate.py --design pilot --effect 30 --budget 5 --models openai/gpt-4o-mini

A size is a pilot's runs (10), a mechanism study's blocks of each bulletin (m12; of ten bulletins
m12b10), or a tournament's agents and seeds (10x4). Writes
results/calibration/: replications.jsonl.gz, calibration.json, calibration.md, report.html. The
same command resumes; with more --reps it goes on. With --design it says which size finds an effect
of so many points, and what that costs. Everything in it is SIMULATED.
"""

import sys
from pathlib import Path

from common import COMPLETE, UsageError, cli

SIZES = "10,m12"
EXAMPLES = """  python3 calibrate.py
  python3 calibrate.py --reps 1000 --jobs 2
  python3 calibrate.py --populations superrational,label-biased --sizes 20x4,40x4 --reps 50
  python3 calibrate.py --rivals mine.py --sizes 10
  python3 calibrate.py --design pilot --effect 30 --budget 5 --models openai/gpt-4o-mini
  python3 calibrate.py --reps 1000 --scheduler tcp://127.0.0.1:8786
  python3 calibrate.py --dry-run --reps 1000
  python3 calibrate.py --repeat results/calibration --seed 43 --reps 1000 --out results/repeat

a size is a pilot's runs (10), a mechanism study's blocks of each bulletin (m12; of ten bulletins
m12b10), or a tournament's agents and seeds (10x4)."""


def arguments(argv):
    flags = cli.parser("Calibration: planted effects and rivals through the real pipeline; what "
                       "each is called beside what it has earned.", EXAMPLES)
    add = flags.add_argument
    add("--reps", type=int, default=100, metavar="N",
        help="replications of each population and size (default 100)")
    add("--fits", type=int, metavar="N",
        help="how many of them are analysed by mixed model too (default: a fifth, up to 200)")
    add("--populations", metavar="A,B", help="simulated populations (default: all of the table)")
    add("--rivals", metavar="FILE", help="a Python file with RESPONDENTS = {name: "
        "function(request, rng) -> (text, finish_reason)}; they join --populations, or stand alone")
    add("--sizes", metavar="N,AxS", default=SIZES, help=f"sizes (default {SIZES})")
    add("--repeat", metavar="DIR", help="once more, under another --seed, for the claims that the "
        "calibration in DIR left open or not met, and for no other")
    add("--design", choices=["pilot", "mechanism", "tournament"], help="instead: the cheapest size "
        "of this design that finds --effect in 80%% of studies")
    add("--effect", type=int, metavar="POINTS", help="with --design: HP over every other cell, in "
        "points")
    add("--budget", type=float, metavar="USD", help="with --design: what the study may cost")
    add("--models", metavar="A,B", help="with --design: the models that would be asked")
    add("--seed", type=int, default=42, metavar="N", help="seed of the whole (default 42)")
    add("--jobs", type=int, default=1, metavar="N", help="processes (default 1)")
    add("--scheduler", metavar="URL", help="a Dask cluster's scheduler, tcp://…")
    add("--out", metavar="DIR", default="results/calibration",
        help="folder of this calibration (default results/calibration)")
    add("--dry-run", action="store_true", help="say what would be done and how long it takes")
    cli.add_json_flag(add)
    return flags.parse_args(argv)


def main(argv) -> cli.Done:
    args = arguments(argv)
    for flag, least in (("reps", 1), ("jobs", 1), ("seed", 0)):
        if getattr(args, flag) < least:
            raise UsageError(f"--{flag}: must be at least {least}, not {getattr(args, flag)}")
    if args.fits is not None and not 0 <= args.fits <= args.reps:
        raise UsageError(f"--fits: must be from 0 to --reps ({args.reps}), not {args.fits}")
    if args.design:
        return sizing(args)
    from cirrus.calibrate import kept
    from cirrus.calibrate.replicate import prompts_sha256, read_size
    sizes = [read_size(name) for name in dict.fromkeys(cli.names(args.sizes) or [])]
    if not sizes:
        raise UsageError("--sizes: give at least one")
    plan = kept.Plan(args.seed, min(200, -(-args.reps // 5)) if args.fits is None else args.fits,
                     args.rivals)
    keys = kept.wanted(populations(args), sizes, args.reps)
    identity = {"seed": args.seed, "prompts_sha256": prompts_sha256(), **mine(args.rivals),
                "repeats": None}
    if args.repeat:
        from cirrus.calibrate.kept import repeat_of, wanted_again
        identity["repeats"] = repeat_of(Path(args.repeat), args.seed)
        keys = wanted_again(keys, identity["repeats"]["claims"])
    if args.dry_run:
        return announce(args, keys, plan)
    with kept.Replications(Path(args.out), identity) as held:
        works = kept.portions(keys, held.done, plan)
        if works:
            held.begin()
            do(args, works, held, len(keys))
        held.pack()
        return write(args, held)


def sizing(args) -> cli.Done:
    """The cheapest size of a design that finds the effect, with its interval and its price."""
    from cirrus.calibrate import sizing as s
    if args.effect is None:
        raise UsageError("--design: give the --effect that it should find, in points")
    out = s.sized(s.Question(args.design, args.effect, args.budget, tuple(
        cli.names(args.models) or ()), args.reps, args.seed))
    return cli.Done(COMPLETE, out, "\n".join(s.lines(out)))


def populations(args) -> list[str]:
    """Those that are named; else a user's own, or all of the project."""
    from cirrus.calibrate.replicate import rivals_of
    from cirrus.calibrate.table import EVERYBODY, check_populations
    rivals = list(rivals_of(args.rivals)) if args.rivals else []
    return check_populations(cli.names(args.populations) or rivals or list(EVERYBODY), rivals)


def mine(path) -> dict[str, str]:
    """The identity of a user's file: replications of two versions are not mixed."""
    from common.artifacts import sha256
    return {"rivals_sha256": sha256(Path(path).read_text("utf-8"))} if path else {}


def do(args, works, held, total) -> None:
    """The work that is left, on one core, processes or a cluster; a line of progress."""
    from cirrus.calibrate.kept import run
    from common.cli import Counted
    from common.cluster import mapped
    left = sum(len(work.reps) * len(work.populations) for work in works)
    progress = Counted("calibrate", total, total - left)
    for at, records in mapped(run, works, args.jobs, args.scheduler):
        if records is not None:   # a portion that a stop kept from being begun
            held.keep(records)
            progress.add(len(records), f"{works[at].populations[-1]} {works[at].size}")
    progress.close()


def write(args, held) -> cli.Done:
    """Tables and pages of everything that is there."""
    from cirrus.calibrate.table import table
    from cirrus.reports import calibration as reports
    from common.artifacts import json_file, write_atomic
    from show.document import terminal
    out, folder = table(held.header, held.records.values()), Path(args.out)
    files = {"calibration.json": json_file(out)} | reports.files(out)
    for name, content in files.items():
        write_atomic(folder / name, content)
    return cli.Done(
        COMPLETE, {"written": str(folder), "files": sorted(files), "simulated": True,
                   "replications": out["replications"], "expectations": out["expectations"],
                   "minimum_sizes": out["minimum_sizes"]},
        f"{terminal(reports.document(out))}\n{folder}: {len(files)} files from "
        f"{out['replications']:,} replications\nopen {folder / 'report.html'}")


def announce(args, keys, plan) -> cli.Done:
    """What would be done, and about how long one core takes."""
    from cirrus.calibrate.kept import fitted, seconds
    from cirrus.calibrate.replicate import read_size
    from common.cli import clock_face
    each = [(population, read_size(size), rep) for population, size, rep in keys]
    fit = [fitted(population, size, rep, plan.fits) for population, size, rep in each]
    cost = sum(seconds(population, size, one)
               for (population, size, _), one in zip(each, fit, strict=True))
    return cli.Done(
        COMPLETE, {"replications": len(keys), "fits": sum(fit), "seconds": cost, "out": args.out,
                   "simulated": True},
        f"{len(keys):,} replications, {sum(fit):,} with mixed models; about "
        f"{clock_face(cost)} on one core, {clock_face(cost / args.jobs)} on {args.jobs}\n"
        f"would write {args.out}")


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])
