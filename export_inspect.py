#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# ///
"""Write runs as logs of Inspect AI, one a task and model, for `inspect view`.

    python3 export_inspect.py results --out logs
    inspect view --log-dir logs
"""

import sys
from pathlib import Path

from common import cli
from common.exits import COMPLETE, INCOMPLETE, UsageError

EXAMPLES = """  python3 export_inspect.py results --out logs
  python3 export_inspect.py results/examples/pilot-smollm2 --out pilot.json"""


def arguments(argv):
    flags = cli.parser("Write runs as logs of Inspect AI, one a task and model.", EXAMPLES, "RUN…")
    flags.add_argument("runs", nargs="+", metavar="RUN",
                       help="a run's folder, or a folder of runs")
    add = flags.add_argument_group("files and output").add_argument
    add("--out", metavar="DIR", default="logs",
        help="folder of the logs, or, where it is but one, its .json file (default logs)")
    cli.add_json_flag(add)
    return flags.parse_args(argv)


def main(argv) -> cli.Done:
    args = arguments(argv)
    from itertools import islice

    from cirrus.inspect_tasks import pilot, tournament
    from cirrus.judge.rows import without_ratings
    from common.artifacts import write_atomic
    from common.inspect_log import logs
    from common.verify import find_runs, open_run
    from urrp.inspect_tasks import collection
    tasks = {"pilot": pilot, "tournament": tournament, "urrp": collection}
    runs = without_ratings({run: open_run(run, {*tasks, "adjudication"})
                            for run in find_runs(args.runs)})
    target, made = Path(args.out), []
    folder, one = (target.parent, target.name) if target.suffix == ".json" else (target, None)
    found = (log for run, manifest in runs.items() if manifest.get("files")
             for log in logs(run, manifest, tasks[manifest["artifact"]](run, manifest)))
    if one and len(found := list(islice(found, 2))) != 1:
        raise UsageError(f"--out: {target} can be one log only, of one task and model; name a "
                         "folder")
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


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])
