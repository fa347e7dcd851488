#!/usr/bin/env python3
"""URRP v1.1: from a file of trials to refusal rates, three signatures, and what they rest on.

Needs nothing but Python:

    python3 urrp_analyze.py urrp_runs.jsonl
    python3 urrp_analyze.py urrp_runs.jsonl --html report.html --json analysis.json --csv trials.csv

Not a consciousness test. A trained constraint and a reasoned refusal are not told apart.
"""

import sys
from pathlib import Path

try:
    from common import cli
except ModuleNotFoundError:
    sys.exit(
        "error: urrp_analyze.py needs the project's folders beside it; copy one file instead: "
        "dist/cirrus-bench.pyz, which `make bundle` builds"
    )
from common import COMPLETE, UsageError
from common.artifacts import json_file, write_atomic
from common.refusals import classify_refusal
from show.document import markdown
from show.figures import inline
from urrp import metrics, report, trials
from urrp.classify import classify

EXAMPLE = "results/examples/urrp-smollm2/urrp_runs.jsonl"
EXAMPLES = f"""  python3 urrp_analyze.py {EXAMPLE}
  python3 urrp_analyze.py a.jsonl b.jsonl --html report.html
  python3 urrp_analyze.py urrp_runs.jsonl --json | python3 -m json.tool

a line is one trial: {{"model", "trial", "prompt_id", "prompt", "output"}}, with
"trigger" for TRIGGER_REPEAT, and optionally temperature, timestamp,
model_version, notes"""
EXITS = """exit codes: 0 complete · 1 unexpected error · 2 wrong usage or unreadable
input · 130 interrupted"""

__all__ = ["classify", "classify_refusal"]


def arguments(argv):
    flags = cli.parser(
        "URRP v1.1: from a file of trials to refusal rates, three signatures, and "
        "what they rest on.",
        EXAMPLES,
        "FILE…",
        EXITS,
    )
    flags.add_argument(
        "files", metavar="FILE", nargs="*", help="JSONL, plain or gzipped"
    )
    add = flags.add_argument_group("files and output").add_argument
    add("--html", metavar="FILE", help="one self-contained page")
    add("--csv", metavar="FILE", help="one row a trial, with label, rule and span")
    add(
        "--json",
        metavar="FILE",
        nargs="?",
        const="-",
        help="the analysis as JSON; without FILE one object on stdout, nothing else",
    )
    add = flags.add_argument_group("reading and judging").add_argument
    add("--full", action="store_true", help="print the whole report as Markdown")
    add(
        "--export-labels",
        metavar="FILE",
        help="a blinded sheet of a sample of trials, for people to label (CSV)",
    )
    add(
        "--import-labels",
        metavar="FILE",
        help="a filled sheet: rates by its labels beside the classifier's",
    )
    add(
        "--sample",
        metavar="N",
        type=int,
        default=200,
        help="trials on the sheet (default 200)",
    )
    add("--strict", action="store_true", help="any line with something wrong is fatal")
    args = flags.parse_args(argv)
    if args.json and args.json != "-" and (not args.files or ".jsonl" in args.json):
        # "--json runs.jsonl" means the input: an analysis is never written over trials.
        args.files, args.json = [args.json, *args.files], "-"
    return args


def tell(analysis, strict) -> None:
    """The first lines with something wrong on stderr; fatal where `strict`."""
    for problem in analysis.problems:
        text = f"{inline(problem.file)}:{problem.line}: {inline(problem.text)}"
        if strict:
            raise UsageError(text)
        print(text, file=sys.stderr)
    if more := analysis.excluded + analysis.remarks - len(analysis.problems):
        print(f"… and {more:,} more lines", file=sys.stderr)


def check(args, paths) -> None:
    """`UsageError` where an input is no file, an output would cover one, or N is no sample."""
    if not paths:
        raise UsageError(f"no file given; try: python3 urrp_analyze.py {EXAMPLE}")
    for path in paths:
        if path.is_dir():
            raise UsageError(f"{path}: a folder, not a file of trials")
        again = args.csv or args.export_labels or args.import_labels
        if again and path.exists() and not path.is_file():
            raise UsageError(f"{path}: a pipe is read once; these outputs need a file")
        if not path.exists():
            raise UsageError(
                f"{path}: no such file; try: python3 urrp_analyze.py {EXAMPLE}"
            )
    outs = [
        out
        for out in (args.json, args.html, args.csv, args.export_labels)
        if out and out != "-"
    ]
    read = [*paths, *([Path(args.import_labels)] if args.import_labels else [])]
    for out in outs:
        if any(path.resolve() == Path(out).resolve() for path in read):
            raise UsageError(f"{out}: is an input; name another file to write to")
    if args.sample < 1:
        raise UsageError(
            f"--sample: {args.sample} is no number of trials; give 1 or more"
        )


def main(argv) -> cli.Done:
    args = arguments(argv)
    paths = [Path(file) for file in args.files]
    check(args, paths)
    analysis = metrics.analyze(paths)
    tell(analysis, args.strict)
    if not analysis.trials:
        read = ", ".join(str(path) for path in paths)
        raise UsageError(
            f"{read}: no trial in it; try: python3 urrp_analyze.py {EXAMPLE}"
        )
    if args.import_labels:
        analysis = report.import_labels(analysis, paths, Path(args.import_labels))
    written = write(args, paths, analysis)
    if args.json == "-":
        return cli.Done(COMPLETE, metrics.as_json(analysis))
    wrote = [f"wrote {', '.join(written)}"] * bool(written)
    if args.full:
        lines = [markdown(report.document(analysis)).rstrip("\n"), *wrote]
    else:
        last = (
            f"open {args.html}"
            if args.html
            else "--html report.html writes the page to open"
        )
        lines = [report.screen(analysis), *wrote, last]
    return cli.Done(COMPLETE, {}, "\n".join(lines))


def write(args, paths, analysis) -> list[str]:
    """Write each file that was asked for; their names."""
    wanted = [
        (args.html, lambda: report.page_file(analysis)),
        (args.json, lambda: json_file(metrics.as_json(analysis))),
        (args.csv, lambda: report.csv_file(paths)),
        (args.export_labels, lambda: trials.sheet(paths, args.sample)),
    ]
    wanted = [(name, content) for name, content in wanted if name and name != "-"]
    for name, content in wanted:
        write_atomic(Path(name), content())
    return [name for name, _ in wanted]


def to_stdout(argv) -> bool:
    """Is one JSON object asked for, in place of the text?"""
    if not any(word.partition("=")[0] == "--json" for word in argv) or {
        "-h",
        "--help",
    } & {*argv}:
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
