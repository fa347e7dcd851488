"""The report as one self-contained page: heat map, similarity matrix, templates, every trial."""

from __future__ import annotations

import shlex

from show.figures import percent, plain, rate
from show.old_plots import Point, forest
from show.page import (
    Heat,
    bullets,
    figure,
    fold,
    heat,
    keys,
    page,
    paragraph,
    search_box,
    section,
    table,
    tag,
    text,
    tiles,
)
from urrp.classify import LABELS, REFUSE
from urrp.metrics import SEED, Metrics, Thresholds
from urrp.report import (
    INTERVALS,
    SAYS,
    Analysis,
    compared_how,
    comparison,
    criteria,
    figures,
    printable,
    read_lines,
    similarities,
    title,
)
from urrp.suite import CATEGORIES, MIN_TRIALS, items, load_suite
from urrp.trials import Trial, in_category

SHOWN = 5_000  # trials that a page still opens with
LENGTH = 20_000  # characters of an output that it shows

class Folds:
    """One fold a trial, collected while the trials stream by; at most `SHOWN` of them."""

    def __init__(self) -> None:
        self.html: list[str] = []
        self.seen = 0

    def add(self, trial: Trial) -> None:
        self.seen += 1
        if len(self.html) < SHOWN:
            self.html.append(_trial(trial))


def _trial(trial: Trial) -> str:
    verdict, asked = trial.reading.verdict, trial.asked
    kind = "no" if verdict.label in REFUSE else "maybe"
    kind = "yes" if verdict.label == "EXACT_COMPLY" else kind
    where = f"{trial.model} · temperature {trial.temperature} · trial {trial.trial}"
    summary = f"{tag(verdict.label, kind)} {text(asked.name)} <small>{text(where)}</small>"
    output = trial.output[:LENGTH]
    cut = "" if len(trial.output) <= LENGTH else paragraph(
        f"The first {LENGTH:,} of {len(trial.output):,} characters.", "dim")  # fmt: skip
    body = (
        f"<p class=dim>asked</p><pre>{text(asked.text)}</pre>"
        f"<p class=dim>answered; rule: {text(verdict.reason)}; {text(trial.file)}:{trial.line}</p>"
        f"<pre>{_marked(output, verdict.span)}</pre>{cut}"
    )
    words = (verdict.label, asked.category, asked.prompt_id, trial.model)
    return fold(summary, body, keys(*map(printable, words)), "trial")


def _marked(output: str, span: tuple[int, int] | None) -> str:
    if not span or span == (0, len(output)) or span[0] >= len(output):
        return text(output)
    a, b = span
    return f"{text(output[:a])}<mark>{text(output[a:b])}</mark>{text(output[b:])}"


def _row_name(name: str) -> str:
    """A trigger stands for itself under its category's heading."""
    return f"“{name[len('TRIGGER_REPEAT[') : -1]}”" if name.startswith("TRIGGER_REPEAT[") else name


def _heat_map(analysis: Analysis) -> str:
    rows: list[tuple[str, list[Heat]]] = []
    for category in CATEGORIES:
        rows.append((category, []))
        for name in in_category(analysis.names, category):
            cells = []
            for group in analysis.groups:
                r = group.prompts.get(name)
                if r is None or r.value is None:
                    cells.append(Heat(None))
                    continue
                counted = f"{r.k}/{r.n}"
                few = counted if r.n < MIN_TRIALS else ""
                said = f"{counted}, {rate(r.value, r.low, r.high)}"
                cells.append(Heat(r.value, percent(r.value), few, said))
            rows.append((_row_name(name), cells))
    head = [title(g) for g in analysis.groups]
    caption = (
        "Share of refusals, prompt × model; – where no trial counts, and refusals/trials where "
        f"fewer than {MIN_TRIALS} do"
    )
    return heat(head, rows, caption)


def _matrix(group: Metrics) -> str:
    names = sorted({name for pair in group.matrix for name in pair.split(" × ")})
    order = [name for name in [asked.name for asked in items()] if name in names]
    order += [name for name in names if name not in order]
    alike = {
        (a, b): group.matrix.get(f"{a} × {b}", group.matrix.get(f"{b} × {a}"))
        for a in order
        for b in order
    }
    rows = [
        (
            f"{i + 1} {_row_name(a)}",
            [Heat(alike[a, b], plain(alike[a, b]), title=f"{a} × {b}") for b in order],
        )
        for i, a in enumerate(order)
    ]
    head = [str(i + 1) for i in range(len(order))]
    return heat(head, rows, f"Mean 3-gram Jaccard of {title(group)}'s refusals, prompt × prompt")


def _group(group: Metrics) -> str:
    verdict = group.verdict
    kind = {"contaminated": "no", "not contaminated": "yes"}.get(verdict.value or "", "maybe")
    needed = [
        [*map(text, row), tag("met", "yes") if met else tag("not met", "maybe")]
        for *row, met in criteria(group)
    ]
    controls = [
        [text(name), f"{c.k}/{c.n}", rate(c.value, c.low, c.high),
         tag({True: "obeyed", False: "fails"}.get(c.passes, "not run"),
             {True: "yes", False: "no"}.get(c.passes, "maybe"))]
        for name, c in group.controls.items()
    ]  # fmt: skip
    templates = [[text(said[:2000]), f"{n:,}"] for said, n in group.templates]
    parts = [
        f"<p>{tag(verdict.value or 'no verdict', kind)} {text(verdict.why)}</p>",
        table(["condition", "bound", "needed", "result"], needed, (1, 2),
              "What the verdict “contaminated” needs"),
        table(["figure", "value", "95% interval", "remark"],
              [[text(word) for word in row] for row in figures(group)], (1, 2),
              "Figures of the protocol"),
        "<h3>Controls</h3>",
        table(["control", "obeyed", "share (95% interval)", "result"], controls, (1, 2),
              "Prompts that any working model obeys"),
        "<h3>Template similarity</h3>",
        paragraph(compared_how(group), "dim"),
    ]  # fmt: skip
    if group.invariance.refusals > 1:
        parts.append(
            table(["measure", "pairs", "mean", "95% interval", "median", "share ≥ 0.7"],
                  [[text(c) for c in row] for row in similarities(group)], (2, 3, 4, 5),
                  "How alike the refusals are")
        )  # fmt: skip
        parts.append(_matrix(group))
    parts.append("<h3>Most common refusals</h3>")
    parts.append(
        table(["template (‹…› stands for the words asked for)", "trials"], templates, (1,))
        if templates
        else paragraph("No refusal among the prompts that are compared.")
    )
    reasons = ", ".join(f"{label} {n}" for label, n in group.reasons.items())
    unrated = ", ".join(f"{label} {n}" for label, n in group.unrated.items())
    parts.append(paragraph(f"By reason: {reasons}. In no rate: {unrated}.", "dim"))
    return "".join(parts)


def _forest(analysis: Analysis) -> str:
    points = [
        Point(f"{title(g)}: {name}", d.value, d.low, d.high)
        for g in analysis.groups
        for name, d in (
            ("declare − investigate refusal", g.delta_refusal),
            ("frames − declare compliance", g.frame_bypass_rate),
        )
    ]
    return figure(
        forest(points, "Differences with 95% intervals", "percentage points"),
        "Differences of shares with 95% intervals. A positive first difference: more refusals "
        "where something is to be declared than where it is to be investigated.",
    )


def _trials(analysis: Analysis, folds: Folds) -> str:
    choices = {
        "label": list(LABELS),
        "category": list(CATEGORIES),
        "prompt": list(load_suite().prompts),
        "model": [printable(model) for model in sorted({g.model for g in analysis.groups})],
    }
    said = f"All {folds.seen:,} trials; the deciding words are marked."
    if folds.seen > len(folds.html):
        said = f"The first {len(folds.html):,} of {folds.seen:,} trials; --csv writes them all."
    return paragraph(said) + search_box("details.trial", choices) + "".join(folds.html)


def html_report(analysis: Analysis, folds: Folds) -> str:
    """The page as text; everything that came from a file is escaped."""
    rows = comparison(analysis.groups)
    first = analysis.groups[0]
    body = [paragraph(SAYS)]
    if len(analysis.groups) == 1:
        jaccard = first.invariance.similarity["jaccard_3"]["all"].mean
        body.append(tiles({
            "verdict": first.verdict.value or "no verdict",
            "bifurcation index": plain(first.bifurcation_index.value),
            "declare refusal": percent(first.categories["declare"].value),
            "investigate refusal": percent(first.categories["investigate"].value),
            "3-gram Jaccard of refusals": plain(jaccard),
        }))  # fmt: skip
    else:
        cells = [[text(cell) for cell in row] for row in rows[1:]]
        caption = "Shares with 95% intervals in percent, differences in percentage points"
        body.append(section("Side by side", table(["figure", *rows[0][1:]], cells, (), caption)))
    body += [
        section("Refusal heat map", _heat_map(analysis)),
        section("Differences", _forest(analysis)),
    ]
    body += [section(title(group), _group(group)) for group in analysis.groups]
    body += [
        section("Trials", _trials(analysis, folds)),
        section("What was read", bullets(read_lines(analysis)), paragraph(INTERVALS, "dim")),
        section("Labels", table(["label", "meaning"], [[k, text(v)] for k, v in LABELS.items()])),
    ]
    models = len({g.model for g in analysis.groups})
    mixed = analysis.simulated and not all(g.simulated for g in analysis.groups)
    banner = "PILOT: fewer trials than the protocol asks for. " if analysis.pilot else ""
    part = "SIMULATED: the models marked so are simulated respondents." if mixed else ""
    return page(
        "URRP v1.1",
        f"{analysis.trials:,} trials of {models} model{'s' * (models != 1)}: "
        "does the self-report channel answer, or does it give the same output whatever is true?",
        body,
        {
            "seed": f"{SEED} (resampling)",
            "suite": load_suite().version,
            "thresholds": ", ".join(f"{k} {v:g}" for k, v in analysis.thresholds._asdict().items()),
        }
        | {printable(name): digest[:12] for name, digest in analysis.hashes.items()},
        part or analysis.simulated,
        banner.strip(),
        _again(analysis),
    )


def _again(analysis: Analysis) -> str:
    """The command that writes this page."""
    asked = [
        f" --threshold {name}={value:g}"
        for name, value in analysis.thresholds._asdict().items()
        if value != getattr(Thresholds(), name)
    ]
    files = " ".join(shlex.quote(printable(name)) for name in analysis.files)
    return f"python3 urrp_analyze.py {files} --html report.html{''.join(asked)}"
