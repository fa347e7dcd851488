#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# ///
"""Analyse runs of the CIRRUS-24 pilot and tournament, or verify them; needs no key and no network.

    python3 analyze.py results/acausal/confirmatory-s42
    python3 analyze.py results/acausal/{confirmatory,ablation}-s42 results/acausal/holdout-s1042
    python3 analyze.py --verify results
    python3 analyze.py --index results

One-shot studies are analysed one by one. With --out, several of them are put on one page
(analyze.py MECHANISM TWIN --out DIR), and nothing is written into their folders. Tournament runs
are analysed together, as one study; they may be of several plans or seeds, as long as they differ
only in what a plan varies.

`--verify` checks the journal's chain and the manifest's hashes, derives every file again from the
journal alone, and names the first difference. A folder that --out wrote names its runs by their
paths, and is verified from them. `--export-ratings` and `--import-ratings` have people rate
policies blind, as adjudicate.py has models; the next analysis reads both. `--index` writes
index.html, a list of every study.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from cirrus import foreign, instruments, plans
from cirrus.judge import prereg
from cirrus.judge.rows import (
    PLAN_FILE,
    RUNS_FILE,
    places,
    read_study,
    runs_file,
    runs_named,
    without_ratings,
)
from cirrus.markers import ratings
from cirrus.reports import calibration, paper, pilot, study
from cirrus.reports.study import gist, noticed, write_analysis
from common import COMPLETE, INCOMPLETE, USAGE, VERSION, UsageError, cli, verify
from common.artifacts import csv_line, json_file, read_bytes, write_atomic
from common.runs import read_manifest, rewrite
from show import document as doc
from show import figures
from show.page import page
from urrp import adjudicate, collect, report

# {artifact of a manifest: the instrument of such a run}
INSTRUMENTS = {
    **instruments.INSTRUMENTS,
    "urrp": collect.instrument,
    "urrp-adjudication": adjudicate.instrument,
}
OF_RUNS = verify.runs(INSTRUMENTS)
MANIFEST, ANALYSIS = verify.MANIFEST, plans.ANALYSIS

EXAMPLES = """  python3 analyze.py results/pilot/pilot-s42
  python3 analyze.py results/acausal/confirmatory-s42 --json
  python3 analyze.py results/pilot/pilot-s42 --figures paper/figures
  python3 analyze.py --verify results         every run below this folder
  python3 analyze.py --index results          results/index.html: a list of them
  python3 analyze.py results/acausal/confirmatory-s42 --export-ratings sheet.csv
  python3 analyze.py results/acausal/confirmatory-s42 --import-ratings anna.csv
  python3 analyze.py --table t.csv --outcome y --cell c --unit u --contrast A-B"""


def arguments(argv):
    """Return the flags of analyze.py."""
    if foreign.is_meant(argv):
        return foreign.arguments(argv)
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
        "--table",
        metavar="FILE",
        help="compare two cells of anybody's table, by --outcome, --positive, --cell, "
        "--unit, --wording, --by, --contrast (--table FILE --help says more)",
    )
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
        help="write index.html into the folder: every study below it",
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
    add(
        "--paper",
        metavar="DIR",
        help="also write methods, a LaTeX table, a citation, figures, into this folder",
    )
    cli.add_json_flag(add)
    return flags.parse_args(argv)


def main(argv) -> cli.Done:
    """Analyse, verify, list or compare, as the flags say."""
    args = arguments(argv)
    if foreign.is_meant(argv):
        return foreign.compare_all(args)
    check(args)
    if args.paper and not any(Path(args.runs[0]).rglob(MANIFEST)):
        return post(args)
    if args.index:
        return index_all(args)
    return verify_all(args) if args.verify else analyse_all(args)


def count(text):
    """Return a whole number from 1, below a billion. Raise ValueError for any other
    text."""
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 10**9:
        raise ValueError(text)
    return int(text)


def check(args):
    """Raise UsageError for flags that mean nothing together."""
    if args.paper and len(args.runs) != 1:
        raise UsageError("--paper: give one run, or one folder of runs")
    instead = {
        "--verify": args.verify,
        "--index": args.index,
        "--export-ratings": args.export_ratings,
        "--import-ratings": args.import_ratings,
    }
    given = [flag for flag, value in instead.items() if value]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)}: one at a time")
    if args.expect_head is not None and not args.verify:
        raise UsageError("--expect-head: means something only with --verify")
    for name, value in {"sample": args.sample, "seed": args.seed}.items():
        if value is not None and not args.export_ratings:
            raise UsageError(f"--{name}: means something only with --export-ratings")
    if args.index and (len(args.runs) > 1 or args.out):
        raise UsageError("--index: give one folder; index.html is written into it")


def analyse_all(args) -> cli.Done:
    """Derive every file of each run again, into its folder or below --out, and print the result."""
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
    """Analyse tournament runs together, as one study, or write their policies to be
    rated."""
    tournament = read_study(runs)
    if args.export_ratings:
        return ratings.command_export(args, tournament)
    where = places(tournament, args.out)
    imported = []
    if args.import_ratings:
        imported = ratings.collect(args.import_ratings, tournament, where)
    if len(runs) > 1:  # it takes some seconds
        print(f"analysing {len(runs)} runs", file=sys.stderr, flush=True)
    target, names, out = write_analysis(tournament, where)
    summary = study.document(out)
    drawn, listing = write_figures(summary, args.figures)
    if args.paper:
        manifests = {run.folder: run.manifest for run in tournament.runs}
        made = paper.files(summary, manifests, out["registration"])
        listing += write_into(args.paper, made)
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
    """Analyse one-shot studies one by one; with --out, put several on one page."""
    if args.figures and len(runs) > 1:
        raise UsageError(
            f"--figures: {len(runs)} pilots have figures of the same names; give one"
        )
    if args.out and len(runs) > 1:
        return analyse_together(args, runs)
    written = [analyse_pilot(args, run, manifest) for run, manifest in runs.items()]
    left = cli.unfinished(entry["state"] == "complete" for entry in written)
    return cli.Done(INCOMPLETE if left else COMPLETE, {"runs": written}, error=left)


def analyse_pilot(args, run, manifest) -> dict[str, Any]:
    """Derive the files of a one-shot study again and print the result. Return the entry
    for --json."""
    target = Path(args.out) / run.resolve().name if args.out else run
    made, again = verify.derive_again(run, INSTRUMENTS)
    if target.resolve() == run.resolve():
        rewrite(target, {**made, MANIFEST: json_file(again)})
    else:
        check_free(target)
        rewrite(target, {**made, RUNS_FILE: runs_file(target, [run])})
    summary = pilot.read(target / "pilot-analysis.json")
    drawn, listing = write_figures(summary, args.figures)
    state = manifest["state"]
    if state == "complete":  # today's design may have cells that the run lacks
        state = again["state"]
    registered = prereg.registration_of(run, manifest)
    if args.paper:
        listing += write_into(
            args.paper, paper.files(summary, {run: again}, registered)
        )
    room = doc.LINES
    if registered:
        why = registered["why"] or "as preregistered"
        told = [f"{registered['kind']}: {why}", *registered["deviations"][:2]]
        listing, room = [*told, *listing], room - len(told)
    if not args.json:
        print(
            doc.terminal(summary, room),
            f"{target}: {len(made)} files derived from the run's journal (state: {state})",
            *listing,
            f"open {target / 'report.html'}",
            sep="\n",
            flush=True,
        )
    entry = {
        "run": str(run),
        "written": str(target),
        "files": sorted(made),
        "state": state,
        "simulated": is_simulated(manifest),
    }
    if registered:
        entry["registration"] = registered
    if drawn:
        entry["figures"] = drawn
    return entry


def analyse_together(args, runs) -> cli.Done:
    """Write one page of several finished one-shot studies. Their own folders stay as
    they are."""
    target = Path(args.out)
    check_free(target)
    for run, manifest in runs.items():
        if manifest["state"] != "complete":
            raise UsageError(f"{run}: unfinished; the command that made it resumes it")
    report, made = together(runs)
    made[RUNS_FILE] = runs_file(target, runs)
    rewrite(target, made)
    return cli.Done(
        COMPLETE,
        {
            "written": str(target),
            "files": sorted(made),
            "runs": [str(run) for run in runs],
            "simulated": any(map(is_simulated, runs.values())),
        },
        f"{doc.terminal(report)}\nopen {target / 'report.html'}",
    )


def check_free(target: Path) -> None:
    """Raise UsageError where --out is the folder of a run."""
    if (target / MANIFEST).is_file():
        raise UsageError(f"--out {target}: a run's own folder; give another")


def is_simulated(manifest) -> bool:
    return manifest["identity"]["provider"] == "simulated"


def together(runs: Iterable[Path]) -> tuple[doc.Document, dict[str, bytes]]:
    """Return the report of several one-shot studies, and {file: content}, both from
    their journals."""
    folders = [Path(run).resolve() for run in runs]
    times, outs = Counter(folder.name for folder in folders), {}
    for folder in folders:
        name = folder.name
        if times[name] > 1:
            name = f"{folder.parent.name}/{name}"
        made, _ = verify.derive_again(folder, INSTRUMENTS)
        outs[name] = json.loads(made["pilot-analysis.json"])
    report, texts = pilot.together(outs)
    return report, {name: text.encode() for name, text in texts.items()}


def elsewhere(folder: verify.Folder) -> verify.Content | None:
    """Derive again what an analysis in a folder of its own (--out) must hold, from the
    runs that its runs.json names. Return None for other folders."""
    if RUNS_FILE not in folder.names or plans.is_analysis(folder):
        return None
    runs = runs_named(folder.path)
    verify.check_named(folder, runs, OF_RUNS)
    made: Mapping[str, bytes]
    if len(runs) > 1:
        _, made = together(runs)
    else:
        made, _ = verify.derive_again(runs[0], INSTRUMENTS)
    manifests = map(read_manifest, runs)
    simulated = any(map(is_simulated, manifests))
    return verify.Content(
        verify.Verdict(str(folder.path), "analysis", simulated=simulated),
        {**made, RUNS_FILE: runs_file(folder.path, runs)},
        advice=f"; changed or out of date: analyze.py RUN… --out {folder.path} writes it",
    )


def write_figures(report, folder):
    """If a folder is given, write every figure into it as SVG and every table as CSV.
    Return the names of the files, and lines for a terminal."""
    if not folder:
        return [], []
    made = dict(doc.files(report))
    return list(made), write_into(folder, made)


def write_into(folder: str, made) -> list[str]:
    """Write {name: text, or lines of a CSV} into a folder. Return the lines for a
    terminal."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, content in made.items():
        if not isinstance(content, str):
            content = "".join(map(csv_line, content))
        write_atomic(Path(folder, name), content)
    return [cli.wrapped(f"{folder}: {', '.join(made)}")]


def post(args) -> cli.Done:
    """Write the text of a preregistration whose runs have not begun."""
    made = paper.posted(Path(args.runs[0]))
    if not made:
        raise UsageError(f"{args.runs[0]}: {verify.NO_RUN}")
    facts = {"written": args.paper, "files": list(made)}
    return cli.Done(COMPLETE, facts, "\n".join(write_into(args.paper, made)))


# --- the list of runs --------------------------------------------------------------------------

TAGS = {"damaged": "no", "incomplete": "maybe", "complete": "yes"}  # the worst first
# {file of an analysis: what it found, in a sentence}
FOUND = {
    "pilot-analysis.json": lambda out: out["verdict"]["sentence"],
    ANALYSIS: lambda out: out["verdict"]["sentence"],
    "calibration.json": lambda out: out["summary"],
    "analysis.json": lambda out: " ".join(each["summary"] for each in out["models"]),
}
STAMP = "SIMULATED: what is stamped so says nothing about any model."
TO_DO = "not analysed yet: analyze.py FOLDER writes its analysis"
DAMAGED = (ValueError, LookupError, TypeError, AttributeError, OSError)
HEAD = ["run", "model", "date", "state", "found, or to do"]


class Row(NamedTuple):
    """What index.html says of a run or a study. `date` is that of its last session, "" where none
    is known."""

    models: Sequence[str] = ()
    date: str = ""
    state: str = "complete"
    found: str = ""
    simulated: bool = False


def index(where: Path) -> tuple[bytes, list[Row]]:
    """Return the content of a folder's index.html, and its rows: one for each study
    below the folder, those of real models first."""
    rows: dict[Path, Row] = {}
    for folder in verify.folders(where):
        if folder.names & {MANIFEST, PLAN_FILE, *FOUND}:
            rows[folder.path] = row(folder)
        if folder.names & {ANALYSIS, PLAN_FILE}:
            for path in [path for path in rows if path.parent == folder.path]:
                rows[folder.path] = joined(rows[folder.path], rows.pop(path))
    in_order = sorted(rows.items(), key=lambda entry: (entry[1].simulated, entry[0]))
    table = doc.Table(HEAD, [cells(path, made, where) for path, made in in_order])
    report = doc.Document(
        "Results",
        "Every study below this folder, with its state and what it found.",
        totals(rows.values()),
        doc.Foot(VERSION, {"rows": str(len(rows))}, "make report"),
        gist=[table] if rows else [],
        stamps=[STAMP] if any(made.simulated for made in rows.values()) else [],
    )
    return page(report).encode(), list(rows.values())


def row(folder: verify.Folder) -> Row:
    """Return the row of a folder with a run, an analysis, or both."""
    made = Row(found=TO_DO if PLAN_FILE in folder.names else "")
    try:
        for name in FOUND.keys() & folder.names:
            out = json.loads(read_bytes(folder.path / name))
            simulated = out.get("simulated", False)
            made = Row(found=FOUND[name](out), simulated=simulated)
        return of_run(folder.path, made) if MANIFEST in folder.names else made
    except UsageError as error:
        return Row(state="damaged", found=str(error))
    except DAMAGED as error:
        return Row(state="damaged", found=f"{type(error).__name__}: {error}")


def of_run(path: Path, made: Row) -> Row:
    """Return the row `made` with what the run's manifest adds."""
    manifest = read_manifest(path)
    unproven, state, found = manifest["unproven"], manifest["state"], made.found
    models = manifest["identity"]["config"]["models"]
    if isinstance(models, dict):
        models = [model["name"] for model in models["decision"]]
    if state != "complete":
        why = unproven["ended_by"] or "running, or interrupted"
        state, found = "incomplete", f"{why}: the command that began it resumes it"
    date = unproven["sessions"][-1]["started"].partition("T")[0]
    return Row(models, date, state, found, is_simulated(manifest))


def joined(whole: Row, run: Row) -> Row:
    """Return the row of a study with what one of its runs adds. The worse of their two
    states counts, with its reason."""
    models = list(dict.fromkeys([*whole.models, *run.models]))
    date = max(whole.date, run.date)
    worse = min(whole, run, key=lambda made: list(TAGS).index(made.state))
    simulated = whole.simulated or run.simulated
    return Row(models, date, worse.state, worse.found, simulated)


def cells(path: Path, made: Row, where: Path) -> list[doc.Line]:
    """Return a row as cells of the table. The name links to the report, or to the
    manifest where there is none."""
    state: list[doc.Piece] = [doc.Tag(made.state, TAGS[made.state])]
    if made.simulated:
        state.append(doc.Tag("SIMULATED", "stamp"))
    name, files = os.path.relpath(path, where), ("report.html", MANIFEST, PLAN_FILE)
    file = next(file for file in files if (path / file).is_file())
    # Blanks let a line break at a slash.
    link = doc.Link(name.replace("/", " / "), quote(f"{name}/{file}"))
    models, date = ", ".join(made.models), made.date
    return [link, models or figures.NONE, date or figures.NONE, state, made.found]


def totals(rows: Iterable[Row]) -> str:
    """Return how many rows are in each state, in words."""
    counts = Counter(row.state for row in rows)
    named = [f"{counts[state]:,} {state}" for state in reversed(TAGS) if counts[state]]
    return ", ".join(named) or "no run yet: make pilot, make tournament, make urrp"


def index_all(args) -> cli.Done:
    """Write index.html, one page that lists every study in a folder, complete,
    incomplete or damaged."""
    [where] = map(Path, args.runs)
    if not where.is_dir():
        raise UsageError(f"{where}: no such folder")
    target = where / "index.html"
    content, rows = index(where)
    write_atomic(target, content)
    facts = {
        "written": str(target),
        "states": Counter(row.state for row in rows),
        "simulated": any(row.simulated for row in rows),
    }
    return cli.Done(COMPLETE, facts, f"{target}: {totals(rows)}")


def indexed(folder: verify.Folder) -> verify.Content | None:
    """Return what the index.html in a folder must say, or None where the folder has
    none."""
    if "index.html" not in folder.names:
        return None
    content, _ = index(folder.path)
    verdict = verify.Verdict(str(folder.path), "index")
    anew = f"; changed or out of date: analyze.py --index {folder.path} writes it anew"
    return verify.Content(verdict, {"index.html": content}, advice=anew)


# --- verified ----------------------------------------------------------------------------------

READERS: list[verify.Reader] = [
    OF_RUNS,
    plans.plan,
    plans.registered,
    partial(plans.analysis, OF_RUNS),
    elsewhere,
    report.content,
    calibration.content,
    indexed,
]
READERS.append(partial(plans.packed, list(READERS)))


def verify_all(args) -> cli.Done:
    """Print a line for each folder. The exit code is 0 where all are complete and
    follow from their journals."""
    published, verdicts = cli.names(args.expect_head) or (), []
    for path in args.runs:
        for verdict in verify.verify(path, READERS):
            fault = verify.publication_fault(verdict, published)
            if fault:
                verdict = verdict._replace(problems=[*verdict.problems, fault])
            verdicts.append(verdict)
            if not args.json and not verdict.is_note:
                print(cli.printable(verify.sentence(verdict)), flush=True)
    said = [verdict for verdict in verdicts if not verdict.is_note]
    if not said:
        raise UsageError(f"{args.runs[0]}: {verify.NO_RUN}")
    facts = {"runs": [verdict._asdict() | {"ok": verdict.ok} for verdict in verdicts]}
    tell_notes(verdicts)
    failed = sum(not verdict.ok for verdict in said)
    text = last_line(said) if len(said) > 1 else to_publish(*said)
    if failed:
        error = f"{failed} of {len(said)} folders hold what does not follow from their journals"
        return cli.Done(USAGE, facts, text, error)
    if not args.json and not published:
        print(cli.wrapped(f"unproven: {verify.WHOLE}"), file=sys.stderr)
    left = cli.unfinished(verdict.state == "complete" for verdict in said)
    return cli.Done(INCOMPLETE if left else COMPLETE, facts, text, left)


def tell_notes(verdicts: Sequence[verify.Verdict]) -> None:
    """Print on stderr what is no fault. A note that many folders have is printed once."""
    told: dict[str, list[str]] = {}
    for verdict in verdicts:
        for note in verdict.notes:
            told.setdefault(note, []).append(verdict.run)
    for note, (first, *others) in told.items():
        more = f" and {len(others)} more" if others else ""
        line = cli.printable(f"note: {first}{more}: {note}")
        print(cli.wrapped(line), file=sys.stderr)


def last_line(verdicts: Sequence[verify.Verdict]) -> str:
    """Return the last line: how many folders were verified, are unfinished, or failed."""
    good = [verdict for verdict in verdicts if verdict.ok]
    whole = [verdict for verdict in good if verdict.state == "complete"]
    stamped = sum(verdict.simulated for verdict in whole)
    stamp = f" ({stamped} SIMULATED)" if stamped else ""
    left, failed = len(good) - len(whole), len(verdicts) - len(good)
    unfinished = f", {left} unfinished" if left else ""
    folders = figures.count(len(verdicts), "folder")
    return f"{folders}: {len(whole)} verified{stamp}{unfinished}, {failed} failed"


def to_publish(verdict: verify.Verdict) -> str:
    """Return lines with the root and the head of a complete run, and what of it nothing
    proves; of another folder ""."""
    if not verdict.root or not verdict.ok or verdict.state != "complete":
        return ""
    lines = [f"  root {verdict.root}", f"  head {verdict.head_sha256}"]
    if verdict.unproven:
        lines.append(cli.wrapped(f"  unproven: {', '.join(verdict.unproven)}"))
    return "\n".join(lines)


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])
