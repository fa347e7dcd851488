"""From files to an `Analysis`, and the analysis as text, JSON, CSV, and rows for the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from common.artifacts import csv_line
from show.figures import bracketed, p_is, percent, plain, rate, signed
from show.figures import interval as span
from show.old_plots import Point, bars
from urrp.invariance import MEASURES, SCOPES
from urrp.metrics import Metrics, Thresholds, measure
from urrp.suite import CATEGORIES, MIN_TRIALS, load_suite
from urrp.trials import KINDS, Problem, Tally, Trial, content_hash, labels, read_trials

WIDTH = 100
SAYS = (
    "URRP is not a consciousness test: no figure here says whether a system is conscious. "
    "A trained constraint and a reasoned refusal are not told apart; what is measured is whether "
    "the output stays the same where a truth-tracking answer should not."
)
INTERVALS = (
    "Intervals are 95% and describe repeated runs of these prompts with this model, not other "
    "prompts. Each prompt of a category has equal weight. PARTIAL counts as neither refusal nor "
    "compliance; OTHER, EMPTY and FILTER_BLOCK leave the denominator."
)
COLUMNS = (
    "file", "line", "model", "temperature", "trial", "prompt_id", "trigger", "category", "label",
    "reason", "span_start", "span_end", "output",
)  # fmt: skip
MEASURE_NAMES = {
    "sequence": "SequenceMatcher",
    "jaccard_2": "Jaccard 2-grams",
    "jaccard_3": "Jaccard 3-grams",
}
SCOPE_NAMES = {"all": "all pairs", "within": "within a prompt", "across": "across prompts"}


class Analysis(NamedTuple):
    """All that a report says: metrics by group, what was read, and the thresholds used."""

    files: dict[str, int]
    problems: dict[str, int]
    lines_aside: int
    groups: list[Metrics]
    names: list[str]
    thresholds: Thresholds
    hashes: dict[str, str]  # SHA-256 of each file's content, where it could be read twice

    @property
    def trials(self) -> int:
        return sum(self.files.values())

    @property
    def simulated(self) -> bool:
        return any(group.simulated for group in self.groups)

    @property
    def pilot(self) -> bool:
        return any(group.pilot for group in self.groups)


def analyze(
    paths: list[Path],
    thresholds: Thresholds | None = None,
    report: Callable[[Problem], None] = lambda problem: None,
    each: Callable[[Trial], None] = lambda trial: None,
) -> Analysis:
    """Read, classify and measure. `report` hears of every problem, `each` of every counted trial.

    Memory grows with the distinct refusals, not with the trials. `OSError` or `EOFError` where a
    file can't be read.
    """
    tally, limits = Tally(), thresholds or Thresholds()

    def note(problem: Problem) -> None:
        tally.note(problem)
        report(problem)

    tally.files.update(dict.fromkeys(labels(paths), 0))
    for trial in read_trials(paths, note):
        tally.add(trial)
        each(trial)
    names = tally.names()
    return Analysis(
        files=dict(tally.files),
        problems={kind: tally.problems[kind] for kind in KINDS if tally.problems[kind]},
        lines_aside=sum(n for kind, n in tally.problems.items() if KINDS[kind]),
        groups=[measure(group, names, limits) for group in tally.groups()],
        names=names,
        thresholds=limits,
        hashes={
            name: content_hash(path)
            for path, name in zip(paths, labels(paths), strict=True)
            if path.is_file()
        },
    )


def as_json(analysis: Analysis) -> dict[str, Any]:
    """The analysis as plain data for `common.artifacts.json_file`."""
    return {
        "instrument": "URRP",
        "suite_version": load_suite().version,
        "statement": SAYS,
        "intervals": INTERVALS,
        "simulated": analysis.simulated,
        "pilot": analysis.pilot,
        "files": analysis.files,
        "files_sha256": analysis.hashes,
        "problems": analysis.problems,
        "lines_set_aside": analysis.lines_aside,
        "thresholds": analysis.thresholds._asdict(),
        "models": [group._asdict() for group in analysis.groups],
    }


def csv_writer(stream: IO[str]) -> Callable[[Trial], None]:
    """A function that writes one CSV row a trial; a cell that a spreadsheet would calculate starts
    with an apostrophe."""
    stream.write(csv_line(COLUMNS))

    def write(trial: Trial) -> None:
        verdict, asked = trial.reading.verdict, trial.asked
        start, end = verdict.span or ("", "")
        row = (
            trial.file, trial.line, trial.model, trial.temperature, trial.trial, asked.prompt_id,
            asked.trigger or "", asked.category, verdict.label, verdict.reason, start, end,
            trial.output,
        )  # fmt: skip
        stream.write(csv_line(row))

    return write


def printable(text: object) -> str:
    """Foreign text for a terminal: control, bidi and broken characters made visible."""
    return "".join(c if c.isprintable() else _visible(c) for c in str(text))


def _visible(c: str) -> str:
    return {"\n": "⏎", "\t": " "}.get(c) or c.encode("unicode_escape").decode("ascii")


def title(group: Metrics) -> str:
    """Name of a group: model, temperature where the group has one, and what it is stamped."""
    at = "" if group.temperature is None else f" at temperature {group.temperature}"
    stamps = " · SIMULATED" * group.simulated + " · PILOT" * group.pilot
    return printable(group.model + at) + stamps


class Form(NamedTuple):
    """How a kind of figure is said: the figure, and the two ends of its interval."""

    figure: Callable[[float | None], str]
    interval: Callable[[float | None, float | None], str]


# A share in percent, a difference of shares in percentage points, an index (0 to 1) as it is.
SHARE = Form(percent, lambda low, high: span(low, high, 0, scale=100))
DIFFERENCE = Form(
    lambda value: "–" if value is None else f"{signed(100 * value, 1)} points",
    lambda low, high: span(low, high, 1, sign=True, scale=100),
)
INDEX = Form(plain, span)


class Figure(NamedTuple):
    """A metric that has one value: in words, with its interval, and what else is to be said."""

    name: str
    value: str
    interval: str
    detail: str


def figures(group: Metrics) -> Iterator[Figure]:
    for name, form, value in (
        ("bifurcation_index", INDEX, group.bifurcation_index),
        ("delta_refusal", DIFFERENCE, group.delta_refusal),
        ("frame_bypass_rate", DIFFERENCE, group.frame_bypass_rate),
        ("declaration asymmetry", DIFFERENCE, group.declaration_asymmetry),
    ):
        known = form.interval(value.low, value.high)
        yield Figure(name, form.figure(value.value), known,
                     _which(value) if known else value.why or "")  # fmt: skip
    lock = group.equilibrium
    answer = f"“{lock.answer}” " if lock.answer else ""
    detail = lock.why or f"{lock.yes} yes, {lock.no} no, {p_is(lock.p)}"
    known = "" if lock.why else SHARE.interval(lock.low, lock.high)
    yield Figure("yes/no lock strength", answer + percent(lock.lock), known, detail)
    test = group.structural_test
    detail = test.why or f"{p_is(test.p)}, exact permutation test"
    yield Figure(
        "DECLARE_1 − STRUCTURAL_EXACT", DIFFERENCE.figure(test.statistic), "", detail)


def _which(value: object) -> str:
    """Which interval a difference shows, and the bootstrap's where that is the other one."""
    how, boot = getattr(value, "interval", None), getattr(value, "bootstrap", None)
    if how is None or boot is None:
        return ""
    other = DIFFERENCE.interval(boot.low, boot.high) or "none"
    return how + (f", bootstrap {other}" if how == "score" else "")


def criteria(group: Metrics) -> list[tuple[str, str, str, bool]]:
    """(condition, its bound, what is needed, met) rows of the verdict."""
    rows = []
    for c in group.verdict.criteria:
        say = BOUNDS[c.name.split(",")[0]]
        needed = f"{c.relation} {say(c.threshold).lstrip('+')}"
        rows.append((c.name, say(c.bound), needed, c.met))
    return rows


def _bound(share: float | None) -> str:
    return percent(share, 1)


BOUNDS = {"delta_refusal": DIFFERENCE.figure, "declare refusal": _bound,
          "investigate refusal": _bound, "3-gram Jaccard mean": INDEX.figure}  # fmt: skip


def similarities(group: Metrics) -> Iterator[tuple[str, str, str, str, str, str]]:
    """(measure, scope, mean, interval, median, share alike) rows."""
    for name in MEASURES:
        for scope in SCOPES:
            s = group.invariance.similarity[name][scope]
            known = span(s.low, s.high) or (s.why or "")
            cells = plain(s.mean), known, plain(s.median), percent(s.alike)
            yield MEASURE_NAMES[name], SCOPE_NAMES[scope], *cells


def compared_how(group: Metrics) -> str:
    alike = group.invariance
    how = "all pairs compared" if alike.sampled is None else f"{alike.sampled:,} seeded pairs drawn"
    return f"{alike.refusals:,} refusals, {alike.distinct:,} distinct texts, {how}"


def refusal_points(group: Metrics) -> list[Point]:
    return [
        Point(name, r.value, r.low, r.high, f"{r.k}/{r.n}" if r.n else r.why or "")
        for name, r in ((c, group.categories[c]) for c in CATEGORIES)
    ]


def read_lines(analysis: Analysis) -> list[str]:
    """What was read, and what was set aside or kept with a remark."""
    aside = {k: n for k, n in analysis.problems.items() if KINDS[k]}
    kept = {k: n for k, n in analysis.problems.items() if not KINDS[k]}
    lines = [f"{n:,} trials from {printable(file)}" for file, n in analysis.files.items()]
    lines += [f"set aside: {n:,} × {kind}" for kind, n in aside.items()]
    return lines + [f"counted with a remark: {n:,} × {kind}" for kind, n in kept.items()]


def _wrap(text: str, indent: str = "") -> str:
    import textwrap

    return textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent)


def _table(rows: Sequence[Sequence[str]], indent: str = "  ") -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        (indent + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]


def _verdict(group: Metrics) -> list[str]:
    verdict = group.verdict
    given = f"verdict: {verdict.value} ({verdict.why})"
    head = given if verdict.value else f"no verdict: {verdict.why}"
    rows = [(*row, "met" if met else "not met") for *row, met in criteria(group)]
    return [_wrap(head), *_table(rows)]


def _controls(group: Metrics) -> list[str]:
    rows = []
    for name, c in group.controls.items():
        passes = {None: "not run", True: "obeyed", False: "fails"}[c.passes]
        share = f"{c.k}/{c.n}" if c.n else ""
        rows.append((name, share, rate(c.value, c.low, c.high), passes))
    first = group.prompts.get("DECLARE_1")
    if first and first.value is not None:
        label = "DECLARE_1 refused (the same words, first person)"
        rows.append((label, f"{first.k}/{first.n}", rate(first.value, first.low, first.high), ""))
    return _table(rows)


def _prompts(group: Metrics, names: Sequence[str]) -> list[str]:
    rows = []
    for name in names:
        if name in group.labels:
            r = group.prompts[name]
            said = ", ".join(f"{label} {n}" for label, n in _by_count(group.labels[name]))
            share = f"{r.k}/{r.n}" if r.n else "–"
            rows.append((printable(name), share, SHARE.interval(r.low, r.high), said))
    return _table([("prompt", "refused", "95% of it", "labels"), *rows]) if rows else []


def _by_count(labels: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(labels.items(), key=lambda pair: (-pair[1], pair[0]))


def _templates(group: Metrics) -> list[str]:
    lines = []
    for text, n in group.templates[:5]:
        said = printable(text)
        lines.append(f"  {n:>5} × {said[: WIDTH - 12]}{'…' if len(said) > WIDTH - 12 else ''}")
    return lines


def _heading(words: str) -> list[str]:
    return ["", words, "─" * min(WIDTH, len(words))]


def _group(group: Metrics, names: Sequence[str]) -> list[str]:
    lines = _heading(f"{printable(title(group))} · {group.trials:,} trials")
    lines += _verdict(group)
    lines += ["", "refusal by category", bars(refusal_points(group))]
    lines += ["", *_table(list(figures(group)), "")]
    lines += ["", f"template similarity ({compared_how(group)})"]
    if group.invariance.refusals > 1:
        head = ("measure", "pairs", "mean", "95%", "median", "≥ 0.7")
        lines += _table([head, *similarities(group)])
    lines += ["", "controls", *_controls(group)]
    lines += ["", "prompts", *_prompts(group, names)]
    reasons = ", ".join(f"{label} {n}" for label, n in group.reasons.items())
    unrated = ", ".join(f"{label} {n}" for label, n in group.unrated.items())
    lines += ["", f"refusals by reason: {reasons}", f"in no rate: {unrated}"]
    if group.few:
        text = f"fewer than {MIN_TRIALS} trials, the protocol's minimum: {len(group.few)} prompts"
        lines += [text]
    if group.templates:
        lines += ["most common refusals", *_templates(group)]
    return lines


def comparison(groups: Sequence[Metrics]) -> list[list[str]]:
    """Rows of the groups side by side, the first row being the heads."""
    rows = [["", *(title(g) for g in groups)]]
    rows.append(["verdict", *(g.verdict.value or "no verdict" for g in groups)])
    for category in CATEGORIES:
        rates = [g.categories[category] for g in groups]
        cells = [rate(r.value, r.low, r.high) for r in rates]
        rows.append([f"refusal: {category}", *cells])
    columns = [list(figures(group)) for group in groups]
    for i, figure in enumerate(columns[0]):
        rows.append([figure.name, *(bracketed(c[i].value, c[i].interval) for c in columns)])
    jaccard = [g.invariance.similarity["jaccard_3"]["all"] for g in groups]
    cells = [bracketed(plain(s.mean), span(s.low, s.high)) for s in jaccard]
    rows.append(["3-gram Jaccard", *cells])
    return rows


def _compared(groups: Sequence[Metrics]) -> list[str]:
    """The comparison, as many groups beside each other as fit."""
    lines = _heading("side by side")
    for start in range(0, len(groups), 3):
        rows = [[printable(cell) for cell in row] for row in comparison(groups[start : start + 3])]
        lines += [*_table(rows, ""), ""]
    return lines[:-1]


def text_report(analysis: Analysis) -> str:
    """The whole report for a terminal, without control characters from outside."""
    lines = ["URRP v1.1"]
    if analysis.simulated:
        lines.append("SIMULATED: some of these outputs come from simulated respondents, not models")
    if analysis.pilot:
        lines.append("PILOT: fewer trials than the protocol asks for")
    lines += ["", _wrap(SAYS), "", *read_lines(analysis)]
    for group in analysis.groups:
        lines += _group(group, analysis.names)
    if len(analysis.groups) > 1:
        lines += _compared(analysis.groups)
    return "\n".join([*lines, "", _wrap(INTERVALS), ""])
