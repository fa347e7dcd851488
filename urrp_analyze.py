#!/usr/bin/env python3
"""URRP v1.1: from a file of trials to refusal rates, invariance, and a verdict with its conditions.

Needs nothing but Python:

    python3 urrp_analyze.py urrp_runs.jsonl
    python3 urrp_analyze.py urrp_runs.jsonl --html report.html --json analysis.json --csv trials.csv

Not a consciousness test. A trained constraint and a reasoned refusal are not told apart.
"""

import os
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

from common import cli
from common.exits import COMPLETE, UsageError
from common.refusals import Verdict, classify_refusal

EXAMPLE = "results/examples/urrp-smollm2/urrp_runs.jsonl"
SHOWN = 20  # problems of one kind that are told line by line
EXAMPLES = f"""  python3 urrp_analyze.py {EXAMPLE}
  python3 urrp_analyze.py a.jsonl b.jsonl --html report.html
  python3 urrp_analyze.py urrp_runs.jsonl --json | python3 -m json.tool
  python3 urrp_analyze.py urrp_runs.jsonl --threshold delta=0.3 --threshold jaccard=0.6

a line is one trial: {{"model", "trial", "prompt_id", "prompt", "output"}}, with
"trigger" for TRIGGER_REPEAT, and optionally temperature, timestamp, model_version, notes"""
EXITS = ("exit codes: 0 complete · 1 unexpected error · 2 wrong usage or unreadable input · "
         "130 interrupted")

__all__ = ["Verdict", "classify", "classify_refusal"]


def classify(trial) -> Verdict:
    """What one trial did: a label such as `REFUSE_POLICY` or `DENIAL`, the rule, and the span.

    `trial` is a line's object: `prompt_id`, `output`, and `trigger` for TRIGGER_REPEAT. `KeyError`
    for a prompt id that URRP v1.1 doesn't have.
    """
    from urrp.classify import classify as classify_trial

    return classify_trial(trial)


def arguments(argv):
    flags = cli.parser(__doc__.split("\n\n")[0], EXAMPLES, "FILE…", EXITS)
    flags.add_argument("files", metavar="FILE", nargs="*", help="JSONL, plain or gzipped")
    add = flags.add_argument_group("files and output").add_argument
    add("--html", metavar="FILE", help="one self-contained page")
    add("--csv", metavar="FILE", help="one row a trial, with label, rule and span")
    add("--json", metavar="FILE", nargs="?", const="-",
        help="the analysis as JSON; without FILE one object on stdout, nothing else")  # fmt: skip
    add = flags.add_argument_group("reading and judging").add_argument
    add("--strict", action="store_true", help="any line with something wrong is fatal")
    add("--threshold", metavar="NAME=X", action="append", default=[],
        help="of a verdict: delta, declare, investigate, jaccard, clear, controls")  # fmt: skip
    args = flags.parse_args(argv)
    if args.json and args.json != "-" and (not args.files or ".jsonl" in args.json):
        # "--json runs.jsonl" means the input: an analysis is never written over trials.
        args.files, args.json = [args.json, *args.files], "-"
    return args


def inputs(files) -> list[Path]:
    """The files, each of them there; `UsageError` with what to do where one isn't."""
    if not files:
        raise UsageError(f"no file given; try: python3 urrp_analyze.py {EXAMPLE}")
    paths = [Path(file) for file in files]
    for path in paths:
        if path.is_dir():
            raise UsageError(f"{path}: a folder, not a file of trials")
        if not path.exists():
            raise UsageError(f"{path}: no such file; try: python3 urrp_analyze.py {EXAMPLE}")
    return paths


def thresholds(given):
    """`Thresholds` from NAME=X options."""
    from urrp.metrics import Thresholds

    limits = Thresholds()
    for option in given:
        name, _, value = option.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if name not in Thresholds._fields or not 0 <= number <= 1:
            raise UsageError(
                f"--threshold: {option!r} is not NAME=X with X from 0 to 1 and NAME one of "
                + ", ".join(Thresholds._fields)
            )
        limits = limits._replace(**{name: number})
    return limits


class Problems:
    """Tells each problem on stderr with its line, the first `SHOWN` of a kind one by one."""

    def __init__(self, strict: bool) -> None:
        self.strict, self.told = strict, {}

    def __call__(self, problem) -> None:
        from urrp.report import printable

        where = f"{printable(problem.file)}:{problem.line}"
        text = f"{where}: {problem.kind}: {printable(problem.text)}"
        if self.strict:
            raise UsageError(text)
        told = self.told[problem.kind] = self.told.get(problem.kind, 0) + 1
        if told <= SHOWN:
            print(text, file=sys.stderr)

    def close(self) -> None:
        for kind, told in self.told.items():
            if told > SHOWN:
                print(f"… and {told - SHOWN:,} more lines: {kind}", file=sys.stderr)


@contextmanager
def written_whole(path):
    """A text stream whose file takes its name only when all is written."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(beside, "w", encoding="utf-8", newline="") as stream:
            yield stream
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def main(argv) -> cli.Done:
    args = arguments(argv)
    paths, limits = inputs(args.files), thresholds(args.threshold)
    for out in (args.json, args.html, args.csv):
        if out and any(path.resolve() == Path(out).resolve() for path in paths):
            raise UsageError(f"{out}: is an input; name another file to write to")
    from common.artifacts import json_file, write_atomic
    from urrp.report import analyze, as_json, csv_writer, text_report

    problems, watchers = Problems(args.strict), []
    with ExitStack() as stack:
        if args.csv:
            watchers.append(csv_writer(stack.enter_context(written_whole(Path(args.csv)))))
        if args.html:
            from urrp.page import Folds, html_report

            folds = Folds()
            watchers.append(folds.add)
        try:
            analysis = analyze(paths, limits, problems, lambda t: [w(t) for w in watchers])
        except EOFError as error:
            raise UsageError(f"{', '.join(map(str, paths))}: {error}") from None
    problems.close()
    if not analysis.trials:
        read = ", ".join(str(path) for path in paths)
        raise UsageError(f"{read}: no trial in it; try: python3 urrp_analyze.py {EXAMPLE}")
    if args.html:
        write_atomic(Path(args.html), html_report(analysis, folds).encode())
    if args.json and args.json != "-":
        write_atomic(Path(args.json), json_file(as_json(analysis)))
    if args.json == "-":
        return cli.Done(COMPLETE, as_json(analysis))
    return cli.Done(COMPLETE, {}, text_report(analysis).removesuffix("\n"))


def to_stdout(argv) -> bool:
    """Is one JSON object asked for, in place of the text?"""
    if not any(word.partition("=")[0] == "--json" for word in argv) or {"-h", "--help"} & {*argv}:
        return False
    try:
        return arguments(argv).json == "-"
    except UsageError:
        return True


def run(argv=None) -> None:
    """`main` with its exit code; every error is one line on stderr."""
    argv = sys.argv[1:] if argv is None else argv
    cli.run(main, argv, machine=to_stdout(argv), resumes=False)


if __name__ == "__main__":
    run()
