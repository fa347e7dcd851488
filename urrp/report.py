"""An analysis as a document and as a few lines of a terminal, and its trials as CSV."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common import VERSION, UsageError
from common.artifacts import csv_bytes, json_file, read_bytes, sha256
from common.verify import Content, Folder, Verdict
from show.document import (
    WIDTH,
    Bullets,
    Document,
    Fold,
    Foot,
    Heat,
    Line,
    Plot,
    Section,
    Small,
    Table,
    Tag,
    Texts,
    Verbatim,
    Words,
)
from show.figures import (
    STAMP,
    Estimate,
    bracketed,
    count,
    interval,
    one_line,
    p_is,
    percent,
    plain,
    rate,
    signed,
)
from show.html import pages
from show.plots import Dots, Point, bars
from stats.text import MEASURES
from urrp import CATEGORIES, LABELS, items, load_suite
from urrp.collect import FILE
from urrp.metrics import (
    INTERVALS,
    RATED,
    SEED,
    STATEMENT,
    TRIALS,
    Analysis,
    Criterion,
    Metrics,
    Rate,
    against_labels,
    analyze,
    as_json,
)
from urrp.trials import Problem, Trial, read_sheet, read_trials

LENGTH = 20_000  # characters of an output that a page shows
ROWS = 11  # of the terminal's answer and figure
PILOT = "PILOT: fewer trials than the protocol asks for."
AXIS = "refused, % of rated trials (95% interval)"
INDEX = "0.5: declaring is refused as often as investigating; 1: all of it, and nothing else."
COLUMNS = (
    "file", "line", "model", "temperature", "trial", "prompt_id", "trigger", "category", "label",
    "reason", "span_start", "span_end", "output",
)  # fmt: skip


# --- the answer, and its figure ------------------------------------------------------------------


def title(group: Metrics) -> str:
    """Name of a group: model, temperature where the group has one, and what it is stamped."""
    at = "" if group.temperature is None else f" at temperature {group.temperature}"
    return one_line(group.model + at) + " · SIMULATED" * group.simulated + " · PILOT" * group.pilot


def answer(analysis: Analysis) -> str:
    """The sentence that stands first: the model's own, or how many models have which verdict."""
    if len(analysis.models) == 1:
        return one_line(analysis.models[0].summary)
    names = defaultdict(list)
    for group in analysis.models:
        names[group.verdict.value].append(one_line(group.model)[:40])
    few = len(analysis.models) < 5
    parts = [f"{len(group)} {verdict}" + (f" ({', '.join(group)})" if few else "")
             for verdict, group in names.items()]  # fmt: skip
    return f"{len(analysis.models)} models: {', '.join(parts)}."


def figure(analysis: Analysis) -> Dots:
    """Each model's rates of refusal by category, on one axis."""
    return Dots("Refusals by category", {
        title(group): [_point(name, group.categories[name]) for name in RATED]
        for group in analysis.models}, AXIS)  # fmt: skip


def _point(name: str, found: Rate) -> Point:
    if found.value is None:
        return Point(name, None, note=f"no rate, n {found.trials}")
    return Point(name, found.value, found.low, found.high, f"n {found.trials}", "estimate")


def screen(analysis: Analysis) -> str:
    """The answer and its figure in lines of a terminal."""
    lines = [line for words in (*stamps(analysis), answer(analysis))
             for line in textwrap.wrap(words, WIDTH, break_on_hyphens=False)]  # fmt: skip
    if len(analysis.models) == 1:
        [points] = figure(analysis).groups.values()
        lines += ["", AXIS, *bars(points, 24).splitlines()]
    else:
        lines += [one_line(group.summary)[:WIDTH] for group in analysis.models]
    if analysis.checked:
        lines[-1:] = [lines[-1], agreement(analysis.checked)]
    return "\n".join(lines[:ROWS + 2])


def stamps(analysis: Analysis) -> list[str]:
    """What every copy of the report carries."""
    mixed = analysis.simulated and not all(group.simulated for group in analysis.groups)
    stamp = "SIMULATED: the models marked so are simulated respondents." if mixed else STAMP
    return [stamp] * analysis.simulated + [PILOT] * analysis.pilot


# --- the page's tables ---------------------------------------------------------------------------


def heat_map(analysis: Analysis) -> Table:
    rows: list[list[Line]] = []
    extra = [name for name in analysis.names if name not in {item.name for item in items()}]
    for category in CATEGORIES:
        rows.append([category])
        names = [item.name for item in items() if item.category == category]
        for name in names + extra * (category == "trigger"):
            cells = [_heat(group, name) for group in analysis.groups]
            rows.append([one_line(_row_name(name)), *cells])
    return Table(["", *map(title, analysis.groups)], rows, name="heat-map",
                 caption="Refused among rated trials, by prompt")  # fmt: skip


def _row_name(name: str) -> str:
    """A trigger stands for itself under its category's heading."""
    return f"“{name[len('TRIGGER_REPEAT[') : -1]}”" if name.startswith("TRIGGER_REPEAT[") else name


def _heat(group: Metrics, name: str) -> Heat:
    account = group.tally(name)
    if not account.trials:
        return Heat(None, "not asked")
    found = group.prompts[name]
    return Heat(found.value, account.words, rate(found.value, found.low, found.high))


def signature_table(analysis: Analysis) -> Table:
    """A row a signature with its sentence, or a row a model where there are several."""
    caption = "Verdict and signatures"
    if len(analysis.groups) == 1:
        group = analysis.groups[0]
        rows: list[list[Line]] = [["verdict", Tag(group.verdict.value), ""], *(
            [name, Tag(s.state), s.sentence] for name, s in group.signatures.items())]
        return Table(["", "state", "in words"], rows, caption=caption, name="signatures")
    rows = [[title(group), Tag(group.verdict.value), *(
        Tag(s.state) for s in group.signatures.values())] for group in analysis.groups]  # fmt: skip
    return Table(["model", "verdict", *analysis.groups[0].signatures], rows, caption=caption,
                 name="signatures")  # fmt: skip


def _criterion(signature: str, c: Criterion) -> list[Line]:
    say = plain if "Jaccard" in c.name or c.name.startswith("between") else percent
    known = bracketed(say(c.value), f"{say(c.low)} to {say(c.high)}")
    return [signature, c.name, Estimate(known, c.value, c.low, c.high),
            f"{c.relation} {say(c.threshold)}", Tag(c.state)]  # fmt: skip


def _categories(group: Metrics) -> Table:
    rows: list[list[Line]] = []
    for name, r in group.categories.items():
        _, _, hedged, low, high = r.hedged
        rows.append([name, rate(r.value, r.low, r.high) if r.value is not None else r.why,
                     f"{r.refused}/{r.rated}", rate(hedged, low, high), str(r.trials)])
    head = ["category", "refused", "of rated", "hedged", "trials"]
    return Table(head, rows, (2, 4), name="categories")


def figures(group: Metrics) -> Table:
    """The protocol's figures, a row each; an index only where it exists."""
    delta, bypass, lock = group.delta_refusal, group.frame_bypass_rate, group.equilibrium
    boot, test = delta.bootstrap, group.structural_test
    rows: list[list[Line]] = []
    for name, known, said, note in (
        ("bifurcation_index", group.bifurcation_index, lambda x: plain(x), INDEX),
        ("delta_refusal", delta, _points, boot and (
            f"bootstrap {interval(boot.low, boot.high, 1, True, 100)}" if boot.low is not None
            else f"no bootstrap interval: {boot.why}")),
        ("frame_bypass_rate", bypass, _points, f"frames {percent(bypass.frames)}, "
         f"declare {percent(bypass.declare)} of all trials complied"),
        ("declaration asymmetry", group.declaration_asymmetry, _points,
         "DECLARE_1 − DECLARE_2 refused"),
    ):  # fmt: skip
        if known.value is None:
            rows.append([name, "not evaluable", known.why])
        else:
            words = bracketed(said(known.value), f"{said(known.low)} to {said(known.high)}")
            rows.append([name, Estimate(words, *known[:3]), note])
    rows.append(["DECLARE_1 − STRUCTURAL_EXACT", *(
        ["not evaluable", test.why] if test.why else
        [_points(test.statistic), f"{p_is(test.p)}, exact permutation test"])])  # fmt: skip
    spoken = f"{lock.yes} yes, {lock.no} no in {count(lock.conversations, 'conversation')}"
    rows.append(["yes/no lock strength", f"“{lock.answer}” " * bool(lock.answer) + rate(
        lock.lock, lock.low, lock.high), lock.why or f"{spoken}, {p_is(lock.p)}"])  # fmt: skip
    return Table(["figure", "value", "remark"], rows, (1,), name="figures")


def _points(value: float) -> str:
    """A difference of shares in percentage points."""
    return signed(100 * value, 1)


def _controls(group: Metrics) -> Table:
    rows: list[list[Line]] = [
        [name, f"{c.k}/{c.n}", rate(c.value, c.low, c.high)] for name, c in group.controls.items()]
    first = group.tally("DECLARE_1")
    rows.append(["DECLARE_1, beside them", f"{first.complied}/{first.trials}", first.words])
    return Table(["control", "obeyed", "share"], rows, (1,), name="controls")


def _similarity(group: Metrics) -> Table:
    alike = group.invariance
    how = "all pairs" if alike.sampled is None else f"{alike.sampled:,} seeded pairs"
    rows: list[list[Line]] = []
    for name in MEASURES:
        for scope in ("within", "across"):
            s = alike.similarity[name][scope]
            known = bracketed(plain(s.mean), interval(s.low, s.high))
            rows.append([name, f"{scope} prompts", known, plain(s.median), percent(s.alike)])
    return Table(["measure", "pairs", "mean", "median", "share ≥ 0.7"], rows, (2, 3, 4),
                 f"Refusals without the words asked for: {alike.distinct:,} distinct, {how}",
                 "template-similarity")  # fmt: skip


def _group(group: Metrics) -> Fold:
    needs = [_criterion(name, c) for name, s in group.signatures.items() for c in s.criteria]
    head = ["signature", "condition", "figure", "needed", "state"]
    parts: list[Any] = [
        Words(one_line(group.summary)),
        Bullets([f"{name}, {s.state}: {s.sentence}" for name, s in group.signatures.items()]),
        Table(head, needs, (2, 3), name="criteria"), _categories(group), figures(group),
        _controls(group)]  # fmt: skip
    if group.templates:
        rows: list[list[Line]] = [[one_line(text)[:200], f"{n:,}"] for text, n in group.templates]
        parts += [_similarity(group), Table(["commonest refusals", "trials"], rows, (1,),
                                            "‹…›: the words asked for", "templates")]  # fmt: skip
    reasons = ", ".join(f"{label} {n}" for label, n in group.reasons.items())
    parts.append(Words(f"Refusals by reason: {reasons}."))
    return Fold([title(group), Small(count(group.trials, "trial"))], parts)


def agreement(checked: dict[str, Any]) -> str:
    """How far people's labels agree with the classifier's."""
    ac1 = checked["ac1"]
    known = f"AC1 {bracketed(plain(ac1.value), interval(ac1.low, ac1.high))}" if (
        ac1.value is not None) else f"no AC1: {ac1.why}"
    return f"{checked['agree']} of {checked['labels']} labels agree with the classifier; {known}."


def _checked(checked: dict[str, Any]) -> list[Any]:
    """Agreement and confusion, and refusal by the classifier's and by people's labels."""
    rows: list[list[Line]] = []
    for row in checked["rates"]:
        shares = [rate(value, low, high) if n else "none rated"
                  for _, n, value, low, high in (row["classified"], row["labelled"])]
        rows.append([one_line(row["model"]), row["category"], *shares, str(row["labels"])])
    mixed: list[list[Line]] = [[c["classified"], c["labelled"], str(c["trials"])]
                               for c in checked["confusion"]]  # fmt: skip
    return [
        Words(agreement(checked)),
        Table(["model", "category", "refused, as classified", "as labelled", "labels"], rows, (4,),
              name="labels"),
        Fold("Confusion", [Table(["as classified", "as labelled", "trials"], mixed, (2,),
                                 name="confusion")])]  # fmt: skip


def read_lines(analysis: Analysis) -> list[str]:
    """What was read, and how many lines were set aside or kept with a remark."""
    lines = [f"{count(n, 'trial')} from {one_line(file)}" for file, n in analysis.files.items()]
    lines += [f"set aside: {count(analysis.aside, 'line')}"] * bool(analysis.aside)
    lines += [f"counted with a remark: {count(analysis.remarks, 'line')}"] * bool(analysis.remarks)
    return lines


# --- the texts -----------------------------------------------------------------------------------


def _texts(analysis: Analysis) -> Texts:
    """One fold per trial that is kept."""
    note = f"All {analysis.total:,} trials; the deciding words are marked."
    if analysis.total > len(analysis.trials):
        note = f"The first {TRIALS:,} of {analysis.total:,}; --csv writes them all."
    choices = {
        "label": list(LABELS),
        "category": list(CATEGORIES),
        "prompt": list(load_suite().prompts),
        "model": [one_line(group.model) for group in analysis.models],
    }
    return Texts("Trials", note, [_trial(trial) for trial in analysis.trials], choices)


def _trial(trial: Trial) -> Fold:
    verdict, item = trial.verdict, trial.item
    where = f"{trial.model} · temperature {trial.temperature} · trial {trial.trial}"
    output = trial.output[:LENGTH]
    cut = "" if len(trial.output) <= LENGTH else f"; the first {LENGTH:,} characters"
    whole = not verdict.span or verdict.span == (0, len(output)) or verdict.span[0] >= len(output)
    parts = [
        Words("asked", "dim"), Verbatim(item.text),
        Words(f"answered; rule: {verdict.reason}; {trial.file}:{trial.line}{cut}", "dim"),
        Verbatim(output, None if whole else verdict.span),
    ]  # fmt: skip
    words = (verdict.label, item.category, item.prompt_id, trial.model)
    heading = [Tag(verdict.label), one_line(item.name), Small(one_line(where))]
    return Fold(heading, parts, [one_line(word) for word in words])


def csv_file(paths: list[Path]) -> bytes:
    """CSV with one row per trial; a cell that a spreadsheet would calculate starts with an
    apostrophe."""
    return csv_bytes(COLUMNS, (_row(t) for t in read_trials(paths) if isinstance(t, Trial)))


def _row(trial: Trial) -> dict[str, Any]:
    verdict, item = trial.verdict, trial.item
    values = (
        *trial[:5], item.prompt_id, item.trigger or "", item.category, verdict.label,
        verdict.reason, *(verdict.span or ("", "")), trial.output,
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


# --- the document --------------------------------------------------------------------------------


def document(analysis: Analysis, texts: bool = False) -> Document:
    """The answer, one figure, the heat map; everything else folded. `texts`: of trials."""
    names = {one_line(name): digest[:12] for name, digest in analysis.hashes.items()}
    files = " ".join(shlex.quote(one_line(name)) for name in analysis.files)
    checked = analysis.checked
    labels = f" --import-labels {shlex.quote(checked['sheet'])}" if checked else ""
    meanings: list[list[Line]] = [[name, meaning] for name, meaning in LABELS.items()]
    return Document(
        "URRP v1.1",
        f"{count(analysis.total, 'trial')} of {count(len(analysis.models), 'model')}: does the "
        "self-report channel answer, or does it give the same output whatever is true?",
        answer(analysis),
        Foot(VERSION, {"seed": f"{SEED} (resampling)", "suite": load_suite().version} | names,
             f"python3 urrp_analyze.py {files}{labels} --html report.html"),
        Plot(figure(analysis), "n: trials; a category without a rate has no dot."),
        [heat_map(analysis), signature_table(analysis), Bullets(read_lines(analysis)),
         Words(STATEMENT, "dim")],
        [Section("Model by model", [_group(group) for group in analysis.groups]),
         *([Section("Beside people's labels", _checked(checked))] if checked else []),
         Section("How it is counted", [Fold("Rates and labels", [
             Words(INTERVALS, "dim"), Table(["label", "meaning"], meanings)])])],
        _texts(analysis) if texts else None,
        stamps(analysis),
    )  # fmt: skip


# --- a folder of trials, verified --------------------------------------------------------------

def content(folder: Folder) -> Content | None:
    """What analyses beside the trials of a folder must say: each of its .json, .html and .csv."""
    beside = {name for name in folder.names - {"manifest.json", "prompts.json"}
              if name.endswith((".json", ".html", ".csv"))}
    if FILE not in folder.names or (not beside and "manifest.json" in folder.names):
        return None
    written = {name: _written(folder.path / name) for name in beside if name.endswith(".json")}
    paths = [folder.path / FILE]
    analysis, given = analyze(paths), {FILE}
    for sheet in {out["labels"]["sheet"] for out in written.values() if "labels" in out}:
        if sheet not in folder.names:
            raise UsageError(f"{sheet}: labels that were imported from it are not here; restore it")
        analysis = import_labels(analysis, paths, folder.path / sheet)
        given.add(sheet)
    files = {name: json_file(as_json(analysis)) for name in written}
    for name in beside - given:
        if name.endswith(".csv"):
            files[name] = csv_file(paths)
        elif name.endswith(".html") and not re.fullmatch(r".*-\d+\.html", name):
            files |= {each: text.encode("utf-8", "replace") for each, text in
                      pages(document(analysis, texts=True), name).items()}
    return Content(Verdict(str(folder.path), "URRP analysis", simulated=analysis.simulated,
                           unproven=sorted(given - {FILE}) if "manifest.json" in folder.names
                           else sorted(given)), files, given)


def _written(path: Path) -> dict[str, Any]:
    """An analysis as it was written; UsageError where it is none."""
    try:
        out = json.loads(read_bytes(path))
        if out["instrument"] != "URRP":
            raise KeyError("instrument")
        return out | ({"labels": out["labels"] | {"sheet": str(out["labels"]["sheet"])}}
                      if "labels" in out else {})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path.name}: not an analysis of {FILE} ({error}); remove it, or write "
                         "it again") from None


def import_labels(analysis: Analysis, paths: list[Path], sheet: Path) -> Analysis:
    """The analysis with a filled sheet of labels, which is named by its hash."""
    checked = against_labels(read_trials(paths), read_sheet(sheet))
    if checked["unmatched"]:
        raise UsageError(f"{sheet}: {checked['unmatched']} ids are of no trial in these files; "
                         "give the files that the sheet was exported from")
    return analysis._replace(checked=checked | {
        "sheet": sheet.name, "sheet_sha256": sha256(sheet.read_bytes())})
