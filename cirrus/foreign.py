"""Compare two conditions in a table of any origin, by the statistics of this project's studies.

    python3 analyze.py --table items.csv --outcome correct --cell prompt --unit item \\
        --contrast new-old

A cell is one condition. A row of the table is one outcome of one unit (an item, a ward, a bulletin)
in one cell; every unit needs outcomes in both cells. Outcomes are averaged inside units first. Rows
of other cells are left out.
"""

import csv
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

from common import COMPLETE, UsageError, cli
from common.artifacts import read_jsonl
from common.shape import nearest
from show import plots
from show.document import Table, aligned
from show.figures import (
    count,
    counted,
    estimate,
    interval,
    p_is,
    p_value,
    points,
    signed,
    span,
)
from show.plots import Point
from stats import cliffs_delta, contrast, permutation_test, tally
from stats.results import Count, Estimate, Permutation, UnitContrast

# {flag: (name of its value, its help)}
FLAGS = {
    "--table": ("FILE", ".csv, .tsv, .jsonl, .parquet, or .eval, a log of Inspect"),
    "--outcome": (
        "COLUMN",
        "what is compared: 0/1, true/false, yes/no; empty: missing",
    ),
    "--positive": ("LABEL", "of an outcome in two labels: the one that counts"),
    "--cell": ("COLUMN", "which condition a row is of"),
    "--unit": ("COLUMN", "what was drawn, and has rows of both cells: an item, a ward"),
    "--wording": ("COLUMN", "what else was drawn, crossed with units"),
    "--by": ("COLUMN", "a comparison for each of its values, such as a model"),
    "--contrast": ("A-B", "two values of the cell's column"),
}
NEEDED = ("--table", "--outcome", "--cell", "--unit", "--contrast")
EXAMPLES = """  analyze.py --table t.csv --outcome y --cell c --unit u --contrast A-B
  analyze.py --table task.eval --outcome match --cell style --unit item \\
    --by model --contrast short-long"""
COLUMNS = ("outcome", "cell", "unit", "wording", "by")
MISSING = ("", "na", "n/a", "nan", "<na>", "none", "null")
BINARY = {"1": 1, "1.0": 1, "true": 1, "yes": 1, "0": 0, "0.0": 0, "false": 0, "no": 0}
# {value of an Inspect scorer: outcome}, for a correct answer, an incorrect one, and none.
SCORES = {"C": 1, "I": 0, "N": None}
SAME = 0.0005  # differences nearer than this are printed alike
MIN_UNITS = 6  # with fewer, the interval is said to be about these units only
LONGEST = 1 << 30  # most characters of a field: it may hold a model's answer
MOST = 3  # most comparisons shown on a terminal
SENTENCE = 4  # most lines of the sentence on a terminal
NAME, BAR = 22, 30  # characters: most for a bar's label, and the length of a full bar


class Row(NamedTuple):
    """One row of a file; `place` says where it stands, for error messages."""

    place: str
    values: Mapping[str, Any]


class Outcome(NamedTuple):
    """A row's outcome: `value` is 1, 0, or None where it is missing; the other fields are the row's
    texts in the columns of these names."""

    by: str
    unit: str
    wording: str
    cell: str
    value: int | None


class Comparison(NamedTuple):
    """Two cells compared, among rows with one value of the column --by ("" without that flag).

    `delta` is Cliff's delta of all outcomes; its interval takes outcomes as independent.
    """

    by: str
    effect: UnitContrast
    cells: dict[str, Count]
    permutation: Permutation
    delta: Estimate


def is_meant(argv: Sequence[str]) -> bool:
    """Whether analyze.py was called with --table."""
    return any(text.startswith("--table") for text in argv)


def arguments(argv: Sequence[str]) -> Any:
    """Return the values of the flags of analyze.py --table, which takes no run."""
    flags = cli.parser("Compare two cells of a table over units.", EXAMPLES)
    for flag, (metavar, told) in FLAGS.items():
        needed = flag in NEEDED
        flags.add_argument(flag, metavar=metavar, help=told, required=needed)
    cli.add_json_flag(flags.add_argument)
    return flags.parse_args(argv)


def compare_all(args: Any) -> cli.Done:
    """Read the table and compare its two cells. Return the facts for --json and the
    text for people."""
    path = Path(args.table)
    rows = read(path)
    columns = {name: getattr(args, name) for name in COLUMNS}
    check_columns(path, rows, columns)
    if args.positive is not None:
        check_positive(path, rows, args.outcome, args.positive)
    outcomes = [outcome_of(path, row, columns, args.positive) for row in rows]
    pair = pair_of(args, {outcome.cell for outcome in outcomes})
    used = [outcome for outcome in outcomes if outcome.cell in pair]
    check_units(path, used, args.unit)
    comparisons = []
    for by in dict.fromkeys(outcome.by for outcome in used):
        part = [outcome for outcome in used if outcome.by == by]
        comparisons.append(compare(by, part, pair))
    told = sentence(comparisons, pair)
    facts = {
        "table": str(path),
        "rows": len(rows),
        "left_out": len(rows) - len(used),
        **columns,
        "contrast": list(pair),
        "results": [facts_of(each, pair) for each in comparisons],
        "sentence": told,
    }
    return cli.Done(COMPLETE, facts, shown(args, comparisons, told))


# --- reading -----------------------------------------------------------------------------------


def read(path: Path) -> list[Row]:
    """Return the rows of a file. Raise UsageError where it cannot be read or is empty."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise UsageError(f"--table {path}: give a file of {', '.join(READERS)}")
    if not path.is_file():
        raise UsageError(f"--table {path}: no such file")
    try:
        rows = list(reader(path))
    except ImportError as error:
        told = f"needs {error.name or 'pyarrow'}, which this Python lacks; or save it as .csv"
        raise UsageError(f"--table {path}: {told}") from None
    except (ValueError, csv.Error, BadZipFile) as error:
        told = " ".join(str(error).split())
        raise UsageError(f"--table {path}: cannot be read: {told}") from None
    if not rows:
        raise UsageError(f"--table {path}: holds no row")
    return rows


def of_csv(path: Path) -> Iterator[Row]:
    """Return the rows of a text table. Whichever of comma, semicolon and tab is most
    frequent in the first line separates its columns."""
    text = path.read_text("utf-8-sig")
    head = text.partition("\n")[0]
    csv.field_size_limit(LONGEST)
    sign = max(",;\t", key=head.count)
    # Not strict, an open quote would take the rest of the file for one field.
    lines = csv.DictReader(StringIO(text, ""), delimiter=sign, strict=True)
    for name, times in Counter(lines.fieldnames or ()).items():
        if name and times > 1:
            raise ValueError(f"{times} columns are called {name!r}")
    for values in lines:
        place = f"line {lines.line_num}"
        if None in values:
            raise ValueError(f"{place} has more fields than the first line")
        yield Row(place, values)


def of_jsonl(path: Path) -> Iterator[Row]:
    """Return the objects in a file of JSON lines."""
    for number, values in read_jsonl(path):
        if not isinstance(values, dict):
            raise ValueError(f"line {number} is no object")
        yield Row(f"line {number}", values)


def of_parquet(path: Path) -> Iterator[Row]:
    """Return the rows of a Parquet file, which pandas reads."""
    import pandas

    frame = pandas.read_parquet(path)
    for number, values in enumerate(frame.to_dict("records"), 1):
        yield Row(f"row {number}", values)


def of_eval(path: Path) -> Iterator[Row]:
    """Return the samples of an Inspect log: id, epoch, model, task, metadata, and a
    column for each scorer."""
    from inspect_ai.log import read_eval_log

    log = read_eval_log(str(path))
    if log.status != "success":
        print(f"note: {path}: the evaluation ended as {log.status!r}", file=sys.stderr)
    for sample in log.samples or ():
        values = {"id": sample.id, "epoch": sample.epoch}
        values |= {"model": log.eval.model, "task": log.eval.task, **sample.metadata}
        for scorer, score in (sample.scores or {}).items():
            values[scorer] = score.value
            if isinstance(score.value, str):
                values[scorer] = SCORES.get(score.value, score.value)
        yield Row(f"sample {sample.id}", values)


READERS: dict[str, Callable[[Path], Iterator[Row]]] = {
    ".csv": of_csv,
    ".tsv": of_csv,
    ".jsonl": of_jsonl,
    ".parquet": of_parquet,
    ".eval": of_eval,
}


def check_columns(
    path: Path, rows: Sequence[Row], columns: Mapping[str, str | None]
) -> None:
    """Raise UsageError for a column that no row has. A row may lack a column that others
    have: its value is then missing."""
    known = set().union(*(row.values for row in rows))
    for flag, column in columns.items():
        if column is not None and column not in known:
            told = f"no column {column!r}; {nearest(column, known)}"
            raise UsageError(f"--{flag}: {path} has {told}")


def text_of(value: Any, missing: Collection[str] = MISSING) -> str:
    """Return a field as text, or "" where its value is missing."""
    text = str(value).strip()
    return "" if text.lower() in missing else text


def key_of(value: Any) -> str:
    """Return the name of a cell or a unit. It may be "none" or "NA", if that is a text."""
    return text_of(value, [""] if isinstance(value, str) else MISSING)


def check_positive(path: Path, rows: Sequence[Row], column: str, positive: str) -> None:
    """Raise UsageError unless the column has at most two labels and `positive` is one
    of them."""
    fields = [row.values.get(column) for row in rows]
    labels = {text_of(field) for field in fields} - {""}
    words = {key_of(field) for field in fields} - labels - {""}
    if words and len(labels) < 2:
        told = f"{column} of {path} has {', '.join(sorted(words))}, read as missing"
        raise UsageError(f"--positive {positive!r}: {told}; give it another label")
    if positive not in labels or len(labels) > 2:
        told = f"{column} of {path} has {', '.join(sorted(labels))}"
        raise UsageError(f"--positive {positive!r}: {told}; give one of two labels")


def outcome_of(
    path: Path,
    row: Row,
    columns: Mapping[str, Any],
    positive: str | None,
) -> Outcome:
    """Return the outcome of a row. Raise UsageError with file, line and column where a
    field is empty that must not be, or the outcome cannot be read."""
    field = {}
    for name, column in columns.items():
        found = row.values.get(column)
        field[name] = text_of(found) if name == "outcome" else key_of(found)
        if name != "outcome" and column and not field[name]:
            told = f"{column} is empty; every row needs it"
            raise UsageError(f"{path} {row.place}: {told}")
    told = field.pop("outcome")
    value = None
    if told and positive is not None:
        value = int(told == positive)
    elif told:
        value = BINARY.get(told.lower())
        if value is None:
            what = f"{path} {row.place}: {columns['outcome']} is {told!r}"
            raise UsageError(
                f"{what}; give 0/1, true/false or yes/no, or the label of two that counts "
                "by --positive LABEL"
            )
    return Outcome(value=value, **field)


def pair_of(args: Any, cells: set[str]) -> tuple[str, str]:
    """Return the two of `cells` that --contrast names as A-B. A name may hold hyphens, so
    the text is split at each in turn; raise UsageError unless exactly one split fits."""
    text, fitting = args.contrast, []
    for at, sign in enumerate(text):
        first, second = text[:at].strip(), text[at + 1 :].strip()
        if sign == "-" and first != second and {first, second} <= cells:
            fitting.append((first, second))
    if len(fitting) == 1:
        return fitting[0]
    told = "can be read in two ways" if fitting else "no two cells as A-B"
    known = ", ".join(sorted(cells))
    raise UsageError(f"--contrast {text!r}: {told}; {args.cell} has {known}")


def check_units(path: Path, outcomes: Sequence[Outcome], column: str) -> None:
    """Raise UsageError where a unit, at one value of --by, has rows of only one cell."""
    cells: dict[tuple[str, str], set[str]] = {}
    for outcome in outcomes:
        cells.setdefault((outcome.by, outcome.unit), set()).add(outcome.cell)
    for (by, unit), its in cells.items():
        if len(its) > 1:
            continue
        where = f"{column} {unit!r} {by}".strip()
        raise UsageError(
            f"{path}: {where} has rows of {', '.join(its)} only; name a column whose units "
            "have both cells, or leave such rows out"
        )


# --- comparing ---------------------------------------------------------------------------------


def compare(by: str, outcomes: Sequence[Outcome], pair: tuple[str, str]) -> Comparison:
    """Compare the first cell of `pair` with the second in three ways: by `contrast` over
    units, by permuting outcomes within units (and wordings), and by Cliff's delta."""
    counts = tally(
        ((each.unit, each.wording), each.cell, each.value) for each in outcomes
    )
    first, second = pair
    effect = contrast(counts, {first: 1, second: -1})
    totals: dict[str, Count] = {}
    values: list[list[Any]] = []
    blocks: Any = []
    for cell in pair:
        seen = [each for each in outcomes if each.cell == cell]
        read = [each for each in seen if each.value is not None]
        values.append([each.value for each in read])
        blocks.append([(each.unit, each.wording) for each in read])
        lost = len(seen) - len(read)
        totals[cell] = Count(sum(values[-1]), len(read), lost)
    x, y = values
    permuted = permutation_test(x, y, strata=tuple(blocks))
    return Comparison(by, effect, totals, permuted, cliffs_delta(x, y))


def facts_of(each: Comparison, pair: tuple[str, str]) -> dict[str, Any]:
    """Return a comparison for --json. Differences are from -1 to 1, not in percentage
    points."""
    facts = each.effect._asdict()
    facts["by_unit"] = facts.pop("by_bulletin")
    facts["by"] = each.by or None
    facts["bounds"] = each.effect.bounds._asdict()
    facts["why"] = of_units(each.effect.why)
    facts["verdict"] = verdict(each)
    facts["sentence"] = sentence([each], pair)
    facts["cells"] = {cell: total._asdict() for cell, total in each.cells.items()}
    facts["permutation"] = each.permutation._asdict()
    facts["cliffs_delta"] = each.delta._asdict()
    return facts


def of_units(why: Any) -> Any:
    """Return the text `why`, or None, with "unit" in place of "bulletin", the word that
    `stats.contrast` uses."""
    return None if why is None else why.replace("bulletin", "unit")


# --- saying it ---------------------------------------------------------------------------------


def verdict(each: Comparison) -> str:
    """Return in words on which side of 0 the interval is, and whether it stays there when
    missing outcomes are counted against the result."""
    effect: Any = each.effect
    bounds = effect.bounds
    if effect.low is None:
        return of_units(effect.why)
    if effect.low <= 0 <= effect.high:
        return "not shown"
    side = "above 0" if effect.low > 0 else "below 0"
    if not any(total.missing for total in each.cells.values()):
        return side
    if bounds.low <= 0 <= bounds.high:
        return f"{side} in what was read, not with the missing counted against it"
    return f"{side}, also with the missing counted against it"


def sentence(comparisons: Sequence[Comparison], pair: tuple[str, str]) -> str:
    """Return the result in one sentence: of a single comparison the figures, of several
    only the verdicts."""
    told = " − ".join(pair)
    if len(comparisons) > 1:
        found: dict[str, list[str]] = {}
        for each in comparisons:
            found.setdefault(verdict(each), []).append(each.by)
        parts = [f"{what} for {', '.join(names)}" for what, names in found.items()]
        small = [each.by for each in comparisons if each.effect.units < MIN_UNITS]
        if small:
            parts.append(f"about these units only for {', '.join(small)}")
        return f"{told}, each with a 95% interval: {'; '.join(parts)}."
    [each] = comparisons
    effect: Any = each.effect
    limits = span(effect.low, effect.high)
    few = ", about these units only" if effect.units < MIN_UNITS else ""
    permuted: Any = each.permutation.statistic
    p, what = p_is(each.permutation.p), ""
    if None not in (effect.value, permuted) and abs(effect.value - permuted) > SAME:
        what = f" of the difference of all outcomes, {points(permuted)}"
    return (
        f"{told} is {points(effect.value)}, {limits}, over {count(effect.units, 'unit')}: "
        f"{verdict(each)}{few}; exact permutation{what} within units: {p}."
    )


def shown(args: Any, comparisons: Sequence[Comparison], told: str) -> str:
    """Return sentence, table and bars for a terminal, in at most 15 lines of 80
    columns."""
    lines = textwrap.wrap(told, cli.WIDTH)[:SENTENCE]
    rows, bars = [], []
    for each in comparisons[:MOST]:
        rows.append(table_row(each))
        for cell, total in each.cells.items():
            label = f"{each.by} {cell}".strip()[:NAME]
            share = total.k / total.n if total.n else None
            bars.append(Point(label, share, note=counted(int(total.k), total.n)))
    head = [args.by or "", "points (95%)", "worst case", "p", "Cliff's δ"]
    lines += aligned(Table(head, rows))
    lines += plots.bars(bars, BAR).splitlines()
    left = len(comparisons) - MOST
    if left > 0:
        lines.append(f"{left} more: --json has them")
    return "\n".join(lines)


def table_row(each: Comparison) -> list[Any]:
    """Return a comparison as a row of the terminal's table."""
    effect = each.effect
    worst = interval(*effect.bounds, 1, sign=True, scale=100)
    p, delta = p_value(each.permutation.p), signed(each.delta.value)
    return [each.by or "all", estimate(effect._asdict(), 100, 1), worst, p, delta]
