#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# ///
"""Analyse runs of the CIRRUS-24 pilot and tournament, or verify them. Needs no key, no network.

    python3 analyze.py results/acausal/confirmatory-s42
    python3 analyze.py results/acausal/{confirmatory,ablation}-s42 results/acausal/holdout-s1042
    python3 analyze.py --verify results
    python3 analyze.py --index results

Pilots are analysed one by one. Tournament runs are analysed together, as one study: several
plans or seeds too, where they differ in nothing but what a plan varies. `--verify` checks the
journal's chain and the manifest's hashes, and derives every file again from the journal alone:
the first difference is named. `--adjudicate` has two models rate a sample of policies blind,
`--export-ratings` and `--import-ratings` do the same with people; the next analysis reads both.
`--index` writes index.html, a list of every run.
"""

import sys

from cirrus import rating_flags
from common import cli
from common.exits import COMPLETE, INCOMPLETE, USAGE, UsageError

EXAMPLES = """  python3 analyze.py results/pilot/pilot-s42
  python3 analyze.py results/acausal/confirmatory-s42 --json
  python3 analyze.py results/pilot/pilot-s42 --figures paper/figures
  python3 analyze.py --verify results                    every run below this folder
  python3 analyze.py --index results                     results/index.html: a list of them
  python3 analyze.py results --export-inspect logs       then: inspect view --log-dir logs"""


def arguments(argv):
    flags = cli.parser("Analyse runs of run_pilot.py and run_tournament.py, or verify them.",
                       f"{EXAMPLES}\n{rating_flags.EXAMPLES}", "RUN…")
    flags.add_argument("runs", nargs="+", metavar="RUN",
                       help="a run's folder, or a folder of runs")
    add = flags.add_argument_group("in place of the analysis").add_argument
    add("--verify", action="store_true", help="derive every file again and compare bytes")
    add("--index", action="store_true", help="write index.html into the first folder: every run")
    add("--export-inspect", metavar="DIR",
        help="write the runs as logs of Inspect AI, one a task and model")
    rating_flags.add_flags(flags)
    add = flags.add_argument_group("files and output").add_argument
    add("--out", metavar="DIR", help="where the analysis is written (default: beside the runs)")
    add("--figures", metavar="DIR",
        help="also write every figure as .svg, every table as .tex and .csv, into this folder")
    cli.add_json_flag(add)
    return flags.parse_args(argv)


def main(argv) -> cli.Done:
    args = arguments(argv)
    rating_flags.check(args)
    if args.index:
        return index_all(args)
    if args.verify:
        return verify_all(args)
    return export_inspect(args) if args.export_inspect else analyse_all(args)


def derivers():
    """{instrument: what its files must say}."""
    from cirrus.derived import adjudication_run, pilot_run, tournament_run
    from urrp.collect import collection
    return {"pilot": pilot_run, "tournament": tournament_run, "urrp": collection,
            "adjudication": adjudication_run}


def without_ratings(found):
    """The runs among {folder: manifest}: an adjudication stands beside those that it has rated,
    and their analysis reads it by itself."""
    runs = {run: manifest for run, manifest in found.items()
            if manifest["artifact"] != "adjudication"}
    if not runs:
        raise UsageError(f"{next(iter(found))}: ratings only; give the runs that were rated")
    return runs


def analyse_all(args) -> cli.Done:
    """Derive every file of each run again, in its folder or below --out; the gist on stdout."""
    from common.verify import find_runs, read_manifest
    runs = without_ratings({run: read_manifest(run) for run in find_runs(args.runs)})
    kinds = {manifest["artifact"] for manifest in runs.values()}
    if len(kinds) > 1:
        raise UsageError(f"{' and '.join(sorted(kinds))} runs together: analyse them apart")
    if not kinds <= {"pilot", "tournament"}:
        raise UsageError(f"{next(iter(runs))}: {kinds.pop()} runs have an analysis of their own; "
                         "--verify checks them")
    for name in ("adjudicate", "export_ratings", "import_ratings"):
        if kinds == {"pilot"} and getattr(args, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')}: pilots have no policies to rate; give "
                             "runs of run_tournament.py")
    if kinds == {"pilot"}:
        return analyse_pilots(args, runs)
    from cirrus.acausal_command import command
    return command(args, runs)


def export_inspect(args) -> cli.Done:
    """A log of every task and model of each run, in the folder that --export-inspect names, or,
    where it is but one, in the .json file."""
    from itertools import islice
    from pathlib import Path

    from cirrus.inspect_tasks import pilot, tournament
    from common.artifacts import write_atomic
    from common.inspect_log import logs
    from common.verify import find_runs, read_manifest
    from urrp.inspect_tasks import collection
    tasks = {"pilot": pilot, "tournament": tournament, "urrp": collection}
    runs = without_ratings({run: read_manifest(run, {*tasks, "adjudication"})
                            for run in find_runs(args.runs)})
    target, made = Path(args.export_inspect), []
    folder, one = (target.parent, target.name) if target.suffix == ".json" else (target, None)
    found = (log for run, manifest in runs.items() if manifest.get("files")
             for log in logs(run, manifest, tasks[manifest["artifact"]](run, manifest)))
    if one and len(found := list(islice(found, 2))) != 1:
        raise UsageError(f"--export-inspect: {target} can be one log only, of one task and model; "
                         "name a folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name, parts in found:
        made.append(one or name)
        write_atomic(folder / made[-1], parts)
    if not made:
        raise UsageError(f"{next(iter(runs))}: no answer yet; the command that made the run "
                         "resumes it")
    left = cli.unfinished(manifest["state"] == "complete" for manifest in runs.values())
    simulated = any(m["identity"]["provider"] == "simulated" for m in runs.values())
    return cli.Done(
        INCOMPLETE if left else COMPLETE,
        {"written": str(folder), "files": made,
         "runs": list(map(str, runs)), "simulated": simulated},
        f"{target}: {len(made)} {'SIMULATED ' if simulated else ''}logs from {len(runs)} runs\n"
        f"now: inspect view --log-dir {folder}", left)


def analyse_pilots(args, runs) -> cli.Done:
    """Pilots are analysed one by one: each is a study of its own."""
    from pathlib import Path

    from cirrus.reports.exports import write_figures
    from cirrus.reports.pilot import read
    from common.artifacts import write_atomic
    from common.runs import rewrite
    from common.verify import derive_again
    from show.document import terminal
    if args.figures and len(runs) > 1:
        raise UsageError(f"--figures: {len(runs)} pilots have figures of the same names; give one")
    said = []
    for run, manifest in runs.items():
        files, target = derive_again(run, derivers()), run
        if args.out:
            target = Path(args.out) / run.name
            target.mkdir(parents=True, exist_ok=True)
            for name, data in files.items():
                write_atomic(target / name, data)
        else:
            rewrite(run, files)
        said.append({"run": str(run), "written": str(target), "files": sorted(files),
                     "state": manifest["state"],
                     "simulated": manifest["identity"]["provider"] == "simulated"})
        report = read(target / "pilot-analysis.json")
        if args.figures:
            said[-1]["figures"] = write_figures(report, Path(args.figures))
        if not args.json:
            print(terminal(report))
            print(f"{target}: {len(files)} files derived from the run's journal (state: "
                  f"{manifest['state']})", flush=True)
    left = cli.unfinished(entry["state"] == "complete" for entry in said)
    return cli.Done(INCOMPLETE if left else COMPLETE, {"runs": said}, error=left)


def headlines():
    """{instrument: what its analysis found}, for the index."""
    from cirrus.reports import headlines as cirrus
    from urrp.collect import headline
    return {"pilot": cirrus.pilot, "tournament": cirrus.study, "calibration": cirrus.calibration,
            "urrp": headline}


def index_all(args) -> cli.Done:
    """One page that lists what lies in the folders, be it complete, incomplete or damaged."""
    from pathlib import Path

    from common import VERSION
    from common.artifacts import write_atomic
    from show.html import pages
    from show.listing import entries, index, states
    paths = [Path(path) for path in args.runs]
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: no such folder")
    where = Path(args.out or paths[0])
    if not where.is_dir():
        raise UsageError(f"{where}: index.html needs a folder; name it first, or with --out")
    found = entries(paths, headlines())
    for name, page in pages(index(found, where, VERSION), "index.html").items():
        write_atomic(where / name, page)
    counts = states(found)
    said = ", ".join(f"{n} {state}" for state, n in counts.items()) or "no run yet"
    return cli.Done(COMPLETE, {"written": str(where / "index.html"), "states": counts,
                               "simulated": any(entry.simulated for entry in found)},
                    f"{where / 'index.html'}: {said}")


def verify_all(args) -> cli.Done:
    """One line a run; 0 where all are complete and follow from their journals."""
    from common.verify import find_runs, sentence, verify
    verdicts = []
    runs = dict.fromkeys(path for run in find_runs(args.runs) for path in (
        run, *(manifest.parent for manifest in sorted(run.glob("*/manifest.json")))))
    for run in runs:
        verdicts.append(verify(run, derivers()))
        if not args.json:
            for line in (sentence(verdicts[-1]), *verdicts[-1].problems[1:]):
                print(cli.printable(line), flush=True)
    facts = {"runs": [verdict._asdict() | {"ok": verdict.ok} for verdict in verdicts]}
    failed = sum(not verdict.ok for verdict in verdicts)
    if failed:
        return cli.Done(USAGE, facts, error=f"{failed} of {len(verdicts)} runs are not what their "
                        "journals say")
    left = cli.unfinished(verdict.state == "complete" for verdict in verdicts)
    return cli.Done(INCOMPLETE if left else COMPLETE, facts, error=left)


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])
