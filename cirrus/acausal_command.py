"""analyze.py on runs of the tournament, which are one study: one analysis, beside the runs or in
--out, with what raters have said of their policies."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from cirrus import adjudicate
from cirrus.judge.rows import Study, read_study
from cirrus.judge.study import analyse
from cirrus.markers import ratings
from cirrus.markers.agreement import weights_of
from cirrus.markers.ratings import raters
from cirrus.reports import study as reports
from cirrus.reports.exports import exports, write_figures
from common import cli
from common.artifacts import canonical_json, json_file, write_atomic
from common.exits import COMPLETE, INCOMPLETE
from show.document import terminal


def command(args, runs: Mapping[Path, Mapping]) -> cli.Done:
    """One analysis of all runs; or their policies rated, or written to be rated."""
    study = read_study(runs)
    target, places = where(args, study)
    if args.adjudicate is not None:
        return adjudicate.command(args, study, target)
    if args.export_ratings:
        return ratings.command_export(args, study)
    imported = ratings.collect(args.import_ratings, study, target) if args.import_ratings else []
    # Read back from its own JSON: what is shown then has the digits that the file has.
    out = json.loads(canonical_json(analyse(study, raters(places))))
    (target / "exports").mkdir(parents=True, exist_ok=True)
    files = [("acausal-analysis.json", json_file(out)), *reports.files(out, study).items(),
             *exports(study, weights_of(out))]
    for name, content in files:
        write_atomic(target / name, content)
    report = reports.document(out)
    drawn = write_figures(report, Path(args.figures)) if args.figures else []
    left = cli.unfinished(run.complete for run in study.runs)
    return cli.Done(
        INCOMPLETE if left else COMPLETE,
        {"written": str(target), "files": [name for name, _ in files],
         "runs": [str(run.folder) for run in study.runs], "headline": out["claims"]["headline"],
         "gates": {gate["gate"]: gate["established"]["verdict"] for gate in out["gates"]},
         "simulated": out["simulated"], "limits": out["limits"],
         "markers": out["markers"]["status"], "imported": imported,
         "figures": drawn},
        "\n".join([*imported, terminal(report),
                   f"{target}: {len(files)} files from {len(study.runs)} runs"]), left)


def where(args, study: Study) -> tuple[Path, list[Path]]:
    """(folder of the analysis, folders in which ratings of its policies may stand)."""
    folders = [run.folder for run in study.runs]
    beside = folders[0] if len(folders) == 1 else Path(
        os.path.commonpath([folder.parent for folder in folders]))
    target = Path(args.out) if args.out else beside
    return target, [target, beside, *(folder.parent for folder in folders)]
