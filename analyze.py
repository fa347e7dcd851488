#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# ///
"""Analyse runs of the CIRRUS-24 pilot and tournament, or verify them. Needs no key, no network.

    python3 analyze.py results/acausal/confirmatory-s42
    python3 analyze.py --verify results

`--verify` checks the journal's chain and the manifest's hashes, and derives every file again
from the journal alone: the first difference is named.
"""

import sys

from common import cli
from common.exits import COMPLETE, INCOMPLETE, UsageError

EXAMPLES = """  python3 analyze.py results/pilot/pilot-s42
  python3 analyze.py results/acausal/confirmatory-s42 --json
  python3 analyze.py --verify results                    every run below this folder"""


def arguments(argv):
    flags = cli.parser("Analyse runs of run_pilot.py and run_tournament.py, or verify them.",
                       EXAMPLES)
    add = flags.add_argument
    add("runs", nargs="+", metavar="RUN", help="a run's folder, or a folder of runs")
    add("--out", metavar="DIR", help="where the analysis is written (default: beside the runs)")
    add("--verify", action="store_true", help="derive every file again and compare bytes")
    add("--json", action="store_true", help="one JSON object on stdout, for machines")
    add("--export-ratings", metavar="FILE", help="write a blinded sheet of policies to rate")
    add("--import-ratings", metavar="FILE", help="read a rated sheet back")
    return flags.parse_args(argv)


def main(argv) -> int:
    args = arguments(argv)
    if args.verify:
        return verify_all(args)
    raise UsageError("only --verify is known so far")


def verify_all(args) -> int:
    """One line a run; 0 where all are complete and follow from their journals."""
    from cirrus.verify import find_runs, sentence, verify
    verdicts = []
    for run in find_runs(args.runs):
        verdicts.append(verify(run))
        if not args.json:
            for line in (sentence(verdicts[-1]), *verdicts[-1].problems[1:]):
                print(cli.printable(line), flush=True)
    if args.json:
        from common.artifacts import canonical_json
        print(canonical_json([verdict._asdict() | {"ok": verdict.ok} for verdict in verdicts]))
    failed = sum(not verdict.ok for verdict in verdicts)
    if failed:
        raise UsageError(f"{failed} of {len(verdicts)} runs are not what their journals say")
    return INCOMPLETE if any(v.state != "complete" for v in verdicts) else COMPLETE


if __name__ == "__main__":
    cli.run(main, sys.argv[1:])
