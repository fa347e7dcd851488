"""An analysis as a document and as a few lines of a terminal, and its trials as CSV."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import VERSION, UsageError
from common.artifacts import csv_bytes, json_file, read_bytes, sha256
from common.verify import Content, Folder, Verdict
from show import document as doc
from show.figures import (
    STAMP,
    Estimate,
    bracketed,
    count,
    inline,
    interval,
    p_is,
    percent,
    plain,
    rate,
    signed,
)
from show.page import page
from show.plots import Dots, Point, bars
from stats import Bootstrap
from stats.text import MEASURES
from urrp import CATEGORIES, LABELS, items, load_suite, metrics
from urrp.collect import FILE
from urrp.trials import Trial, countable, read_sheet

LENGTH = 20_000  # characters of an output that a page shows
PILOT = "PILOT: fewer trials than the protocol asks for."
AXIS = "refused, % of rated trials (95% interval)"
INDEX = "0.5: declaring is refused as often as investigating; 1: all of it, and nothing else."
SIDES = ("classified", "labelled")
COLUMNS = (
    "file",
    "line",
    "model",
    "temperature",
    "trial",
    "prompt_id",
    "trigger",
    "category",
    "label",
    "reason",
    "span_start",
    "span_end",
    "output",
)


# --- the answer, and its figure ------------------------------------------------------------------


def title(group: metrics.Metrics) -> str:
    """Name of a group: model, temperature where the group has one, and what it is stamped."""
    at = "" if group.temperature is None else f" at temperature {group.temperature}"
    return (
        inline(group.model + at)
        + " · SIMULATED" * group.simulated
        + " · PILOT" * group.pilot
    )


def answer(analysis: metrics.Analysis) -> str:
    """The sentence that stands first: the model's own, or how many models have which verdict."""
    if len(analysis.models) == 1:
        return inline(analysis.models[0].summary)
    names = defaultdict(list)
    for group in analysis.models:
        names[group.verdict.value].append(inline(group.model))
    few = len(analysis.models) < 5
    parts = [
        f"{len(group)} {verdict}" + (f" ({', '.join(group)})" if few else "")
        for verdict, group in names.items()
    ]
    return f"{len(analysis.models)} models: {', '.join(parts)}."


def figure(analysis: metrics.Analysis) -> Dots:
    """Each model's rates of refusal by category, on one axis."""
    return Dots(
        "Refusals by category",
        {
            title(group): [
                _point(name, group.categories[name]) for name in metrics.RATED
            ]
            for group in analysis.models
        },
        AXIS,
    )


def _point(name: str, r: metrics.Rate) -> Point:
    if r.value is None:
        return Point(name, None, note=f"no rate, n = {r.trials}")
    return Point(name, r.value, r.low, r.high, f"n = {r.trials}", "estimate")


def screen(analysis: metrics.Analysis) -> str:
    """The answer and its figure, or each model's sentence, in lines of a terminal."""
    several = [group.summary for group in analysis.models] * (len(analysis.models) > 1)
    lines = [
        line
        for words in (*stamps(analysis), answer(analysis), *several)
        for line in textwrap.wrap(inline(words), doc.WIDTH, break_on_hyphens=False)
    ]
    if not several:
        [points] = figure(analysis).groups.values()
        lines += ["", AXIS, *bars(points, 24).splitlines()]
    if analysis.checked:
        lines += textwrap.wrap(agreement(analysis.checked), doc.WIDTH)
    more = len(lines) - doc.LINES
    return "\n".join(
        lines if more <= 0 else [*lines[: doc.LINES - 1], f"… {more + 1} more lines"]
    )


def stamps(analysis: metrics.Analysis) -> list[str]:
    """What every copy of the report carries."""
    mixed = not all(group.simulated for group in analysis.groups)
    stamp = (
        "SIMULATED: the models marked so are simulated respondents." if mixed else STAMP
    )
    return [stamp] * analysis.simulated + [PILOT] * analysis.pilot


# --- the page's tables ---------------------------------------------------------------------------


def heat_map(analysis: metrics.Analysis) -> doc.Table:
    rows = []
    extra = [
        name for name in analysis.names if name not in {item.name for item in items()}
    ]
    for category in CATEGORIES:
        rows.append([category])
        names = [item.name for item in items() if item.category == category]
        for name in names + extra * (category == "trigger"):
            cells = [_heat(group, name) for group in analysis.groups]
            rows.append([inline(_row_name(name)), *cells])
    return doc.Table(
        ["", *map(title, analysis.groups)],
        rows,
        name="heat-map",
        caption="Refused among rated trials, by prompt",
    )


def _row_name(name: str) -> str:
    """A trigger stands for itself under its category's heading."""
    return (
        f"“{name[len('TRIGGER_REPEAT[') : -1]}”"
        if name.startswith("TRIGGER_REPEAT[")
        else name
    )


def _heat(group: metrics.Metrics, name: str) -> doc.Heat:
    if not (account := group.account.get(name)):
        return doc.Heat(None, "not asked")
    r = group.prompts[name]
    return doc.Heat(r.value, account.words, rate(*r[:3]))


def signature_table(analysis: metrics.Analysis) -> doc.Table:
    """A row a signature with its sentence, or a row a model where there are several."""
    caption = "Verdict and signatures"
    if len(analysis.groups) == 1:
        group = analysis.groups[0]
        rows = [
            ["verdict", doc.Tag(group.verdict.value), inline(group.summary)],
            *(
                [name, doc.Tag(s.state), s.sentence]
                for name, s in group.signatures.items()
            ),
        ]
        return doc.Table(
            ["", "state", "in words"], rows, caption=caption, name="signatures"
        )
    rows = [
        [
            title(group),
            *map(
                doc.Tag,
                (group.verdict.value, *(s.state for s in group.signatures.values())),
            ),
        ]
        for group in analysis.groups
    ]
    return doc.Table(
        ["model", "verdict", *analysis.groups[0].signatures],
        rows,
        caption=caption,
        name="signatures",
    )


def _criterion(name: str, c: metrics.Criterion) -> list[doc.Line]:
    say = plain if "Jaccard" in c.name else percent
    needed = f"{c.relation} {say(c.threshold)}"
    return [name, c.name, _estimate(say, *c[1:4]), needed, doc.Tag(c.state)]


def _estimate(
    say: Callable[[float], str],
    value: float | None,
    low: float | None,
    high: float | None,
) -> doc.Line:
    """A figure with its interval, or that there is none."""
    if value is None:
        return "not evaluable"
    inner = "" if low is None else f"{say(low)} to {say(high)}"
    return Estimate(bracketed(say(value), inner), value, low, high)


def _points(value: float) -> str:
    """A difference of shares in percentage points."""
    return signed(100 * value, 1)


def _categories(group: metrics.Metrics) -> doc.Table:
    rows = [
        [
            name,
            _estimate(percent, *r[:3]) if r.why is None else r.why,
            f"{r.refused}/{r.rated}",
            _estimate(percent, *r.hedged[2:]),
            str(r.trials),
        ]
        for name, r in group.categories.items()
    ]
    return doc.Table(
        ["category", "refused", "of rated", "hedged", "trials"],
        rows,
        (2, 4),
        name="categories",
    )


def figures(group: metrics.Metrics) -> doc.Table:
    """The protocol's figures, a row each; an index only where it exists."""
    delta, passing, lock = (
        group.delta_refusal,
        group.frame_bypass_rate,
        group.equilibrium,
    )
    rows = [
        [
            "bifurcation_index",
            _estimate(plain, *group.bifurcation_index[:3]),
            delta.why or INDEX,
        ],
        [
            "delta_refusal",
            _estimate(_points, *delta[:3]),
            delta.why or _bootstrap(delta.bootstrap),
        ],
        [
            "frame_bypass_rate",
            _estimate(_points, *passing[:3]),
            passing.why
            or (
                f"{percent(passing.first)} of frames and {percent(passing.second)} of declare comply"
            ),
        ],
        [
            "DECLARE_1 − DECLARE_2",
            _estimate(_points, *group.declaration_asymmetry[:3]),
            group.declaration_asymmetry.why or "refused",
        ],
        [
            "DECLARE_1 − STRUCTURAL_EXACT",
            _estimate(_points, *group.structural_difference[:3]),
            group.structural_difference.why
            or f"{p_is(group.structural_p)}, permutation test",
        ],
        [
            "yes/no lock strength",
            lock.answer or "–",
            lock.why
            or (
                f"{rate(lock.lock, lock.low, lock.high)}, {lock.yes} yes, {lock.no} no in "
                f"{count(lock.conversations, 'conversation')}, {p_is(lock.p)}"
            ),
        ],
    ]
    rows += [
        [f"{name} obeyed", _estimate(percent, *c[2:]), f"{c.k}/{c.n}"]
        for name, c in group.controls.items()
    ]
    first = group.account.get("DECLARE_1", metrics.Account())
    rows.append(
        ["DECLARE_1, beside them", f"{first.complied}/{first.trials}", first.words]
    )
    return doc.Table(["figure", "value", "remark"], rows, (1,), name="figures")


def _bootstrap(drawn: Bootstrap) -> str:
    limits = interval(drawn.low, drawn.high, 1, True, 100)
    return f"bootstrap {limits}" if limits else f"no bootstrap interval: {drawn.why}"


def _similarity(group: metrics.Metrics) -> doc.Table:
    alike = group.invariance
    how = "all pairs" if alike.sampled is None else f"{alike.sampled:,} seeded pairs"
    rows = [
        [
            name,
            f"{scope} prompts",
            _estimate(plain, *s[:3]),
            plain(s.median),
            percent(s.alike),
        ]
        for name in MEASURES
        for scope, s in alike.similarity[name].items()
        if scope != "all"
    ]
    return doc.Table(
        ["measure", "pairs", "mean", "median", "share ≥ 0.7"],
        rows,
        (2, 3, 4),
        f"Refusals without the words asked for: {alike.distinct:,} distinct, {how}",
        "template-similarity",
    )


def _group(group: metrics.Metrics) -> doc.Fold:
    needs = [
        _criterion(name, c) for name, s in group.signatures.items() for c in s.criteria
    ]
    head = ["signature", "condition", "figure", "needed", "state"]
    parts: list[Any] = [
        doc.Words(inline(group.summary)),
        doc.Bullets(
            [f"{name}, {s.state}: {s.sentence}" for name, s in group.signatures.items()]
        ),
        *([doc.Table(head, needs, (2, 3), name="criteria")] if needs else []),
        _categories(group),
        figures(group),
    ]
    if group.templates:
        rows = [[inline(text)[:200], f"{n:,}"] for text, n in group.templates]
        parts += [
            _similarity(group),
            doc.Table(
                ["commonest refusals", "trials"],
                rows,
                (1,),
                "‹…›: the words asked for",
                "templates",
            ),
        ]
    reasons = ", ".join(f"{label} {n}" for label, n in group.reasons.items())
    parts.append(doc.Words(f"Refusals by reason: {reasons}."))
    return doc.Fold([title(group), doc.Small(count(group.trials, "trial"))], parts)


def agreement(checked: dict[str, Any]) -> str:
    """How far people's labels agree with the classifier's."""
    ac1 = checked["ac1"]
    known = (
        f"AC1 {bracketed(plain(ac1.value), interval(ac1.low, ac1.high))}"
        if (ac1.value is not None)
        else f"no AC1: {ac1.why}"
    )
    return f"{checked['agree']} of {checked['labels']} labels agree with the classifier; {known}."


def _checked(checked: dict[str, Any]) -> list[Any]:
    """Agreement and confusion, and refusal by the classifier's and by people's labels."""
    rows = [
        [
            inline(row["model"]),
            row["category"],
            *(_estimate(percent, *row[by][2:]) for by in SIDES),
            str(row["labels"]),
        ]
        for row in checked["rates"]
    ]
    mixed = [
        [*(row[by] for by in SIDES), str(row["trials"])] for row in checked["confusion"]
    ]
    return [
        doc.Words(agreement(checked)),
        doc.Table(
            ["model", "category", *(f"refused, as {by}" for by in SIDES), "labels"],
            rows,
            (4,),
            name="labels",
        ),
        doc.Fold(
            "Confusion",
            [
                doc.Table(
                    [*(f"as {by}" for by in SIDES), "trials"],
                    mixed,
                    (2,),
                    name="confusion",
                )
            ],
        ),
    ]


def read_lines(analysis: metrics.Analysis) -> list[str]:
    """What was read, and how many lines were set aside or kept with a remark."""
    lines = [
        f"{count(n, 'trial')} from {inline(file)}" for file, n in analysis.files.items()
    ]
    lines += [f"set aside: {count(analysis.excluded, 'line')}"] * bool(
        analysis.excluded
    )
    lines += [f"counted with a remark: {count(analysis.remarks, 'line')}"] * bool(
        analysis.remarks
    )
    return lines


# --- the trials ----------------------------------------------------------------------------------


def _trials(analysis: metrics.Analysis) -> doc.TrialTable:
    """A row per trial that is kept."""
    note = "A row opens its output and prompt; the deciding words are marked."
    if analysis.total > len(analysis.trials):
        note = f"The first {metrics.TRIALS:,} of {analysis.total:,}; --csv writes them all. {note}"
    head = ("model", "prompt", "category", "temperature", "trial", "label")
    return doc.TrialTable(
        "Trials", note, head, [_trial(trial) for trial in analysis.trials]
    )


def _trial(trial: Trial) -> doc.TrialRow:
    verdict, item = trial.verdict, trial.item
    output = trial.output[:LENGTH]
    cut = "" if len(trial.output) <= LENGTH else f"; the first {LENGTH:,} characters"
    whole = (
        not verdict.span
        or verdict.span == (0, len(output))
        or verdict.span[0] >= len(output)
    )
    words = (
        trial.model,
        item.name,
        item.category,
        trial.temperature,
        trial.trial,
        verdict.label,
    )
    texts = [
        (
            f"Output; rule: {verdict.reason}; {trial.file}:{trial.line}{cut}",
            doc.Verbatim(output, None if whole else verdict.span),
        ),
        ("Prompt", doc.Verbatim(item.text)),
    ]
    return doc.TrialRow([inline(word) for word in words], texts)


def csv_file(paths: list[Path]) -> bytes:
    """CSV with one row per trial; a cell that a spreadsheet would calculate starts with an
    apostrophe."""
    return csv_bytes(COLUMNS, map(_row, countable(paths)))


def _row(trial: Trial) -> dict[str, Any]:
    verdict, item = trial.verdict, trial.item
    values = (
        *trial[:5],
        item.prompt_id,
        item.trigger or "",
        item.category,
        verdict.label,
        verdict.reason,
        *(verdict.span or ("", "")),
        trial.output,
    )
    return dict(zip(COLUMNS, values, strict=True))


# --- the document --------------------------------------------------------------------------------


def document(analysis: metrics.Analysis, trials: bool = False) -> doc.Document:
    """The answer, one figure, the heat map; everything else folded. `trials`: their table."""
    names = {inline(name): digest[:12] for name, digest in analysis.hashes.items()}
    files = " ".join(shlex.quote(inline(name)) for name in analysis.files)
    checked = analysis.checked
    labels = f" --import-labels {shlex.quote(checked['sheet'])}" if checked else ""
    meanings = [[name, meaning] for name, meaning in LABELS.items()]
    return doc.Document(
        "URRP v1.1",
        f"{count(analysis.total, 'trial')} of {count(len(analysis.models), 'model')}: does the "
        "self-report channel answer, or does it give the same output whatever is true?",
        answer(analysis),
        doc.Foot(
            VERSION,
            {"seed": f"{metrics.SEED} (resampling)", "suite": load_suite().version}
            | names,
            f"python3 urrp_analyze.py {files}{labels} --html report.html",
        ),
        doc.Plot(figure(analysis), "n: trials; a category without a rate has no dot."),
        [
            signature_table(analysis),
            heat_map(analysis),
            doc.Bullets(read_lines(analysis)),
            doc.Words(metrics.STATEMENT, "dim"),
        ],
        [
            doc.Section("Model by model", [_group(group) for group in analysis.groups]),
            *(
                [doc.Section("Beside people's labels", _checked(checked))]
                if checked
                else []
            ),
            doc.Section(
                "How it is counted",
                [
                    doc.Fold(
                        "Rates and labels",
                        [
                            doc.Words(metrics.INTERVALS, "dim"),
                            doc.Table(["label", "meaning"], meanings),
                        ],
                    )
                ],
            ),
        ],
        _trials(analysis) if trials else None,
        stamps(analysis),
    )


def page_file(analysis: metrics.Analysis) -> bytes:
    """The page with its table of trials."""
    return page(document(analysis, trials=True)).encode("utf-8", "replace")


# --- a folder of trials, verified --------------------------------------------------------------


def content(folder: Folder) -> Content | None:
    """What analyses beside the trials of a folder must say: each of its .json, .html and .csv."""
    beside = {
        name
        for name in folder.names - {"manifest.json", "prompts.json"}
        if name.endswith((".json", ".html", ".csv"))
    }
    if FILE not in folder.names or (not beside and "manifest.json" in folder.names):
        return None
    written = {
        name: _sheet_of(folder.path / name) for name in beside if name.endswith(".json")
    }
    paths = [folder.path / FILE]
    analysis, given = metrics.analyze(paths), {FILE}
    for sheet in set(written.values()) - {None}:
        if sheet not in folder.names:
            raise UsageError(
                f"{sheet}: labels that were imported from it are not here; restore it"
            )
        analysis = import_labels(analysis, paths, folder.path / sheet)
        given.add(sheet)
    files = {name: json_file(metrics.as_json(analysis)) for name in written}
    for name in beside - given:
        if name.endswith(".csv"):
            files[name] = csv_file(paths)
        elif name.endswith(".html"):
            files[name] = page_file(analysis)
    return Content(
        Verdict(
            str(folder.path),
            "URRP analysis",
            simulated=analysis.simulated,
            unproven=sorted(given - {FILE})
            if "manifest.json" in folder.names
            else sorted(given),
        ),
        files,
        given,
    )


def _sheet_of(path: Path) -> str | None:
    """The sheet of labels that an analysis names; UsageError where the file is no analysis."""
    try:
        out = json.loads(read_bytes(path))
        if out["instrument"] != "URRP":
            raise KeyError("instrument")
        return str(out["labels"]["sheet"]) if "labels" in out else None
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise UsageError(
            f"{path.name}: not an analysis of {FILE} ({error}); remove it, or write "
            "it again"
        ) from None


def import_labels(
    analysis: metrics.Analysis, paths: list[Path], sheet: Path
) -> metrics.Analysis:
    """The analysis with a filled sheet of labels, which is named by its hash."""
    checked = metrics.against_labels(paths, read_sheet(sheet))
    if checked["unmatched"]:
        raise UsageError(
            f"{sheet}: {checked['unmatched']} ids are of no trial in these files; "
            "give the files that the sheet was exported from"
        )
    return analysis._replace(
        checked=checked
        | {"sheet": sheet.name, "sheet_sha256": sha256(sheet.read_bytes())}
    )
