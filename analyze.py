#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# ///
"""Analyse runs of the CIRRUS-24 pilot and tournament, or verify them. Needs no key, no network.

    python3 analyze.py results/acausal/confirmatory-s42
    python3 analyze.py results/acausal/{confirmatory,ablation}-s42 results/acausal/holdout-s1042
    python3 analyze.py --verify results
    python3 analyze.py --index results

One-shot studies are analysed one by one; with --out, several of them stand on one page (analyze.py
MECHANISM TWIN --out DIR), and nothing is written into their folders. Tournament runs are analysed
together, as one study: several plans or seeds too, where they differ in nothing but what a plan
varies. `--verify` checks the journal's chain and the manifest's hashes, and derives every file
again from the journal alone: the first difference is named. `--export-ratings` and
`--import-ratings` have people rate policies blind, as adjudicate.py has models; the next analysis
reads both. `--index` writes index.html, a list of every run.
"""

import json
import sys
from collections import Counter
from functools import reduce
from operator import getitem
from pathlib import Path

from cirrus import instruments
from cirrus.judge.rows import places, read_study, without_ratings
from cirrus.markers import ratings
from cirrus.reports import calibration, pilot, study
from cirrus.reports.study import gist, noticed, write_analysis
from common import COMPLETE, INCOMPLETE, USAGE, VERSION, UsageError, cli, verify
from common.artifacts import csv_line, json_file, write_atomic
from common.runs import rewrite
from show import document, figures
from show.html import page
from show.listing import STUDY, entries, index, read_json, states
from urrp import collect, report

# {artifact of a manifest: the instrument of such a run}
INSTRUMENTS = {**instruments.INSTRUMENTS, "urrp": collect.instrument}

EXAMPLES = """  python3 analyze.py results/pilot/pilot-s42
  python3 analyze.py results/acausal/confirmatory-s42 --json
  python3 analyze.py results/pilot/pilot-s42 --figures paper/figures
  python3 analyze.py --verify results         every run below this folder
  python3 analyze.py --index results          results/index.html: their table
  python3 analyze.py results/acausal/confirmatory-s42 --export-ratings sheet.csv
  python3 analyze.py results/acausal/confirmatory-s42 --import-ratings anna.csv"""


def arguments(argv):
    flags = cli.parser(
        "Analyse runs of run_pilot.py and run_tournament.py, or verify them.",
        EXAMPLES,
        "RUN…",
    )
    flags.add_argument(
        "runs", nargs="+", metavar="RUN", help="a run's folder, or a folder of runs"
    )
    add = flags.add_argument_group("in place of the analysis").add_argument
    add(
        "--verify",
        action="store_true",
        help="derive every file again and compare bytes",
    )
    add(
        "--expect-head",
        metavar="HASH",
        help="with --verify: the root or the head of a run, as published; several by commas",
    )
    add(
        "--index",
        action="store_true",
        help="write index.html into the first folder: every run",
    )
    add = flags.add_argument_group(
        "people who rate policies by the codebook"
    ).add_argument
    add(
        "--export-ratings",
        metavar="FILE",
        help="write a blinded sheet for people to fill",
    )
    add(
        "--import-ratings",
        metavar="FILE",
        action="append",
        help="read a filled sheet, then analyse; repeatable",
    )
    add(
        "--sample",
        type=count,
        metavar="N",
        help="policies on the sheet (default 200, or all)",
    )
    add(
        "--seed",
        type=count,
        metavar="N",
        help="seed of the sample and its order (default 42)",
    )
    add = flags.add_argument_group("files and output").add_argument
    add(
        "--out",
        metavar="DIR",
        help="where the analysis is written (default: beside the runs)",
    )
    add(
        "--figures",
        metavar="DIR",
        help="also write every figure as .svg, every table as .csv, into this folder",
    )
    cli.add_json_flag(add)
    return flags.parse_args(argv)


def main(argv) -> cli.Done:
    args = arguments(argv)
    check(args)
    if args.index:
        return index_all(args)
    return verify_all(args) if args.verify else analyse_all(args)


def count(text):
    """A whole number from 1."""
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 10**9:
        raise ValueError(text)
    return int(text)


def check(args):
    """UsageError for flags that would say nothing beside the others."""
    given = [
        flag
        for flag in ("--verify", "--index", "--export-ratings", "--import-ratings")
        if getattr(args, flag[2:].replace("-", "_"))
    ]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)}: one at a time")
    if args.expect_head is not None and given != ["--verify"]:
        raise UsageError("--expect-head: means something only with --verify")
    for name in ("sample", "seed"):
        if getattr(args, name) is not None and given != ["--export-ratings"]:
            raise UsageError(f"--{name}: means something only with --export-ratings")


def analyse_all(args) -> cli.Done:
    """Derive every file of each run again, in its folder or below --out; the gist on stdout."""
    runs = without_ratings(
        {run: verify.open_run(run) for run in verify.find_runs(args.runs)}
    )
    kinds = {manifest["artifact"] for manifest in runs.values()}
    if len(kinds) > 1:
        raise UsageError(
            f"{' and '.join(sorted(kinds))} runs together: analyse them apart"
        )
    if not kinds <= {"pilot", "tournament"}:
        raise UsageError(
            f"{next(iter(runs))}: {kinds.pop()} runs have an analysis of their own; "
            "--verify checks them"
        )
    if kinds == {"tournament"}:
        return analyse_study(args, runs)
    if args.export_ratings or args.import_ratings:
        flag = "--export-ratings" if args.export_ratings else "--import-ratings"
        raise UsageError(
            f"{flag}: pilots have no policies to rate; give runs of run_tournament.py"
        )
    return analyse_pilots(args, runs)


def analyse_study(args, runs) -> cli.Done:
    """Tournament runs are one study: one analysis of all, or their policies written to be rated."""
    tournament = read_study(runs)
    if args.export_ratings:
        return ratings.command_export(args, tournament)
    where = places(tournament, args.out)
    imported = (
        ratings.collect(args.import_ratings, tournament, where)
        if args.import_ratings
        else []
    )
    if len(runs) > 1:  # a word before some seconds of silence
        print(f"analysing {len(runs)} runs", file=sys.stderr, flush=True)
    target, names, out = write_analysis(tournament, where)
    drawn, listing = write_figures(study.document(out), args.figures)
    cli.note(noticed(out))
    left = cli.unfinished(run.complete for run in tournament.runs)
    written = f"{target}: {len(names)} files from {figures.count(len(tournament.runs), 'run')}"
    return cli.Done(
        INCOMPLETE if left else COMPLETE,
        {
            "written": str(target),
            "files": names,
            "runs": [str(run.folder) for run in tournament.runs],
            "headline": out["claims"]["headline"],
            "gates": {
                gate["gate"]: gate["established"]["verdict"] for gate in out["gates"]
            },
            "simulated": out["simulated"],
            "limits": out["limits"],
            "markers": out["markers"]["status"],
            "imported": imported,
            "figures": drawn,
        },
        "\n".join([*imported, gist(out, target, written, *listing)]),
        left,
    )


def analyse_pilots(args, runs) -> cli.Done:
    """One-shot studies are analysed one by one; with --out, several stand on one page."""
    if args.figures and len(runs) > 1:
        raise UsageError(
            f"--figures: {len(runs)} pilots have figures of the same names; give one"
        )
    if args.out and len(runs) > 1:
        return analyse_together(args, runs)
    written = []
    for run, manifest in runs.items():
        files, again = verify.derive_again(run, INSTRUMENTS)
        target = Path(args.out) / run.name if args.out else run
        rewrite(
            target, files if args.out else {**files, "manifest.json": json_file(again)}
        )
        summary = pilot.read(target / "pilot-analysis.json")
        drawn, listing = write_figures(summary, args.figures)
        written.append(
            {
                "run": str(run),
                "written": str(target),
                "files": sorted(files),
                "state": manifest["state"],
                "simulated": manifest["identity"]["provider"] == "simulated",
                **({"figures": drawn} if drawn else {}),
            }
        )
        if not args.json:
            print(
                document.terminal(summary),
                f"{target}: {len(files)} files derived from the run's journal (state: "
                f"{manifest['state']})",
                *listing,
                f"open {target / 'report.html'}",
                sep="\n",
                flush=True,
            )
    left = cli.unfinished(entry["state"] == "complete" for entry in written)
    return cli.Done(INCOMPLETE if left else COMPLETE, {"runs": written}, error=left)


def analyse_together(args, runs) -> cli.Done:
    """One page of several finished one-shot studies; their own folders stay as they are."""
    target, names = Path(args.out), Counter(run.name for run in runs)
    if (target / "manifest.json").is_file():
        raise UsageError(f"--out {target}: a run's own folder; give another")
    for run, manifest in runs.items():
        if manifest["state"] != "complete":
            raise UsageError(f"{run}: unfinished; the command that made it resumes it")
    outs = {
        run.name
        if names[run.name] == 1
        else f"{run.parent.name}/{run.name}": json.loads(
            verify.derive_again(run, INSTRUMENTS)[0]["pilot-analysis.json"]
        )
        for run in runs
    }
    report, files = pilot.together(outs)
    target.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_atomic(target / name, text)
    return cli.Done(
        COMPLETE,
        {
            "written": str(target),
            "files": sorted(files),
            "runs": [str(run) for run in runs],
            "simulated": any(out["simulated"] for out in outs.values()),
        },
        f"{document.terminal(report)}\nopen {target / 'report.html'}",
    )


def write_figures(report, folder):
    """Every figure as SVG, every table as CSV, straight into the folder, if any: (their names, what
    a terminal shows of them)."""
    made = dict(document.files(report)) if folder else {}
    for name, content in made.items():
        Path(folder).mkdir(parents=True, exist_ok=True)
        write_atomic(
            Path(folder, name),
            content if isinstance(content, str) else "".join(map(csv_line, content)),
        )
    return list(made), [cli.wrapped(f"{folder}: {', '.join(made)}")] * bool(made)


def headline(name, *keys):
    """What a folder's file holds under the keys, "" where the folder has none; ValueError, KeyError
    or TypeError where it is damaged."""
    return lambda folder: (
        reduce(getitem, keys, read_json(folder / name))
        if (folder / name).is_file()
        else ""
    )


# {instrument: what its analysis found, for the index}
HEADLINES = {
    "pilot": headline("pilot-analysis.json", "verdict", "sentence"),
    "calibration": headline("calibration.json", "summary"),
    "urrp": collect.headline,
    **dict.fromkeys(
        ("tournament", STUDY), headline("acausal-analysis.json", "verdict", "sentence")
    ),
}


def listed(folder) -> verify.Content | None:
    """What the table of runs in a folder must say, where there is one."""
    if "index.html" not in folder.names:
        return None
    made = page(index(entries([folder.path], HEADLINES), folder.path, VERSION))
    return verify.Content(
        verify.Verdict(str(folder.path), "index"),
        {"index.html": made.encode()},
        inner=None,
        advice=f"; changed or out of date: analyze.py --index {folder.path} writes it anew",
    )


READERS = [
    verify.runs(INSTRUMENTS),
    study.content,
    report.content,
    calibration.content,
    listed,
]


def index_all(args) -> cli.Done:
    """One page that lists what lies in the folders, be it complete, incomplete or damaged."""
    paths = [Path(path) for path in args.runs]
    where = Path(args.out or paths[0])
    for path in (*paths, where):
        if not path.is_dir():
            raise UsageError(f"{path}: no such folder")
    entered = entries(paths, HEADLINES)
    write_atomic(where / "index.html", page(index(entered, where, VERSION)))
    counts = states(entered)
    totals = ", ".join(f"{n} {state}" for state, n in counts.items()) or "no run yet"
    return cli.Done(
        COMPLETE,
        {
            "written": str(where / "index.html"),
            "states": counts,
            "simulated": any(entry.simulated for entry in entered),
        },
        f"{where / 'index.html'}: {totals}",
    )


def verify_all(args) -> cli.Done:
    """One line for each folder; 0 where all are complete and follow from their journals."""
    heads, verdicts = cli.names(args.expect_head) or (), []
    for path in args.runs:
        for result in verify.verify(path, READERS):
            verdicts.append(verdict := verify.expected_head(result, heads))
            if not args.json:
                print(cli.printable(verify.sentence(verdict)), flush=True)
    if not verdicts:
        raise UsageError(f"{args.runs[0]}: {verify.NO_RUN}")
    for note in dict.fromkeys(note for verdict in verdicts for note in verdict.notes):
        runs = [verdict.run for verdict in verdicts if note in verdict.notes]
        more = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
        print(
            cli.wrapped(cli.printable(f"note: {runs[0]}{more}: {note}")),
            file=sys.stderr,
        )
    facts = {"runs": [verdict._asdict() | {"ok": verdict.ok} for verdict in verdicts]}
    failed = sum(not verdict.ok for verdict in verdicts)
    if failed:
        return cli.Done(
            USAGE,
            facts,
            error=f"{failed} of {len(verdicts)} folders hold what does "
            "not follow from their journals",
        )
    if not args.json and not heads:
        print(cli.wrapped(f"unproven: {verify.WHOLE}"), file=sys.stderr)
    left = cli.unfinished(verdict.state == "complete" for verdict in verdicts)
    return cli.Done(INCOMPLETE if left else COMPLETE, facts, error=left)


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])
