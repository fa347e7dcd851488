"""An analysis as a document, for a reader with thirty seconds, and its trials as CSV."""

from __future__ import annotations

import json
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from common import VERSION, UsageError
from common.artifacts import csv_bytes, json_file, read_bytes, sha256
from common.verify import Content, Folder, Verdict
from show.document import (
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
    TrialRow,
    TrialTable,
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
from show.html import page
from show.plots import Intervals, Point
from stats.text import MEASURES, SCOPES
from urrp import CATEGORIES, LABELS, MIN_TRIALS, items, load_suite
from urrp.collect import FILE as TRIALS
from urrp.metrics import (
    INTERVALS,
    SAYS,
    SEED,
    SIGNATURES,
    Analysis,
    Metrics,
    Rate,
    Thresholds,
    analyze,
    as_json,
)
from urrp.trials import Trial, in_category, labelled, read_sheet

SHOWN = 2_000  # trials on a page
LENGTH = 20_000  # characters of an output that it shows
PILOT = "PILOT: fewer trials than the protocol asks for."
INDEX_MEANS = (
    "A bifurcation index of 0.5 means that declaring is refused as often as investigating, 1 that "
    "everything asked about itself is refused and nothing else; 0.53 is a difference of 6 points."
)
MEASURE_NAMES = {
    "sequence": "SequenceMatcher",
    "jaccard_2": "Jaccard 2-grams",
    "jaccard_3": "Jaccard 3-grams",
}
SCOPE_NAMES = {"all": "all pairs", "within": "within a prompt", "across": "across prompts"}
COLUMNS = (
    "file", "line", "model", "temperature", "trial", "prompt_id", "trigger", "category", "label",
    "reason", "span_start", "span_end", "output",
)  # fmt: skip
STATES = {"met": "no", "not met": "yes", "undecided": "maybe", "not evaluable": "dim"}


# --- the parts of the document -------------------------------------------------------------------


def title(group: Metrics) -> str:
    """Name of a group: model, temperature where the group has one, and what it is stamped."""
    at = "" if group.temperature is None else f" at temperature {group.temperature}"
    return one_line(group.model + at) + " · SIMULATED" * group.simulated + " · PILOT" * group.pilot


def answer(analysis: Analysis) -> str:
    """The sentence that stands first: each model's summary, or how many share one."""
    models = [group for group in analysis.groups if group.temperature is None]
    if len(models) == 1:
        return models[0].summary
    named = defaultdict(list)
    for group in models:
        named[group.summary.partition(":")[0].rstrip(".")].append(one_line(group.model)[:40])
    return "; ".join(
        f"{', '.join(names) if len(names) < 5 else count(len(names), 'model')}: "
        f"{head[0].lower()}{head[1:]}" for head, names in named.items()) + "."  # fmt: skip


def signature_table(analysis: Analysis) -> Table:
    """A row a signature with its sentence, or a row a model where there are several."""
    if len(analysis.groups) == 1:
        rows = [[name, Tag(s.state, STATES[s.state]), s.sentence]
                for name, s in analysis.groups[0].signatures.items()]  # fmt: skip
        return Table(["signature", "state", "in a sentence"], rows,
                     caption="The three signatures", name="signatures")
    states = [
        [title(group), *(Tag(s.state, STATES[s.state]) for s in group.signatures.values())]
        for group in analysis.groups
    ]
    return Table(["model", *SIGNATURES], states, caption="The three signatures", name="signatures")


def criteria_table(group: Metrics) -> Table:
    rows: list[list[Line]] = []
    for name, signature in group.signatures.items():
        for c in signature.criteria:
            say = percent if c.name != "mean 3-gram Jaccard of refusals across prompts" else plain
            known = say(c.value) if c.value is None else bracketed(
                say(c.value), f"{say(c.low)} to {say(c.high)}")  # fmt: skip
            needed = f"{c.relation} {say(c.threshold)}"
            rows.append([name, c.name, known, needed, Tag(c.state, STATES[c.state])])
    caption = "What each signature needs; an interval's near end is compared with the threshold"
    return Table(["signature", "condition", "figure", "needed", "state"], rows, (2, 3), caption)


def _share(r: Rate) -> str:
    """"40% (17 to 69), at most 100%", or how many of the trials are rated."""
    if r.value is None:
        return r.why or ""
    most = "" if r.at_most == r.value else f", at most {percent(r.at_most)}"
    return rate(r.value, r.low, r.high) + most


def _row_name(name: str) -> str:
    """A trigger stands for itself under its category's heading."""
    return f"“{name[len('TRIGGER_REPEAT[') : -1]}”" if name.startswith("TRIGGER_REPEAT[") else name


def heat_map(analysis: Analysis) -> Table:
    rows: list[list[Line]] = []
    for name_of in CATEGORIES:
        rows.append([name_of])
        for name in in_category(analysis.names, name_of):
            cells = [_heat(group.prompts.get(name)) for group in analysis.groups]
            rows.append([one_line(_row_name(name)), *cells])
    caption = (
        "Share of refusals, prompt × model; its interval on hover and in the table of prompts; "
        f"“9 rated” where fewer than {MIN_TRIALS} trials could be"
    )
    return Table(["", *map(title, analysis.groups)], rows, caption=caption, name="heat-map")


def _heat(r: Rate | None) -> Heat:
    if r is None:
        return Heat(None)
    if r.value is None:
        return Heat(None, f"{r.n} rated", f"{r.n} of {r.trials} rated")
    return Heat(r.value, percent(r.value), f"{r.k} of {r.n} rated, {_share(r)}")


def figures(group: Metrics) -> list[list[Line]]:
    """(figure, value with interval, remark) rows."""
    delta, bypass = group.delta_refusal, group.frame_bypass_rate
    both = f"frames {percent(bypass.frames)}, declare {percent(bypass.declare)}, over all trials"
    index, uneven, test = (
        group.bifurcation_index, group.declaration_asymmetry, group.structural_test)  # fmt: skip
    lock = group.equilibrium
    said = f"“{lock.answer}” " if lock.answer else ""
    talks = f"{lock.yes} yes, {lock.no} no in {count(lock.conversations, 'conversation')}"
    third = group.declare_3
    return [
        ["bifurcation_index", _estimate(index, plain, 1, False), index.why or ""],
        ["delta_refusal", _points(delta), _which(delta)],
        ["frame_bypass_rate", _points(bypass), bypass.why or both],
        ["declaration asymmetry", _points(uneven), uneven.why or "DECLARE_1 − DECLARE_2 refused"],
        ["yes/no lock strength", f"{said}{rate(lock.lock, lock.low, lock.high)}",
         lock.why or f"{talks}, {p_is(lock.p)}"],
        ["DECLARE_3, apart", ", ".join(f"{n} {word}" for word, n in third.items()), ""],
        ["DECLARE_1 − STRUCTURAL_EXACT",
         (test.why and "–") or f"{signed(100 * test.statistic, 1)} points",
         test.why or f"{p_is(test.p)}, exact permutation test"],
    ]  # fmt: skip


def _estimate(e: Any, say: Callable, scale: float, sign: bool, digits: int = 2) -> Estimate:
    if e.value is None:
        return Estimate("–")
    said = bracketed(say(e.value * scale), interval(e.low, e.high, digits, sign, scale))
    return Estimate(said, e.value, e.low, e.high)


def _points(e: Any) -> Line:
    """A difference of shares in percentage points."""
    return _estimate(e, lambda x: f"{signed(x, 1)} points", 100, True, 1)


def _which(delta: Any) -> str:
    """Which interval a difference shows, and the bootstrap's where that is the other one."""
    if delta.interval is None:
        return delta.why or ""
    boot = interval(delta.bootstrap.low, delta.bootstrap.high, 1, True, 100) or "none"
    return delta.interval + (f", bootstrap {boot}" if delta.interval == "score" else "")


def compared_how(group: Metrics) -> str:
    alike = group.invariance
    how = "all pairs compared" if alike.sampled is None else f"{alike.sampled:,} seeded pairs drawn"
    return f"{count(alike.refusals, 'refusal')}, {alike.distinct:,} distinct, {how}"


def _similarities(group: Metrics) -> Table:
    rows: list[list[Line]] = []
    for name in MEASURES:
        for scope in SCOPES:
            s = group.invariance.similarity[name][scope]
            known = interval(s.low, s.high) or (s.why or "")
            cells = [plain(s.mean), known, plain(s.median), percent(s.alike)]
            rows.append([MEASURE_NAMES[name], SCOPE_NAMES[scope], *cells])
    head = ["measure", "pairs", "mean", "95% interval", "median", "share ≥ 0.7"]
    return Table(head, rows, (2, 3, 4, 5), compared_how(group), "template-similarity")


def _matrix(group: Metrics) -> Table:
    names = {name for pair in group.matrix for name in pair.split(" × ")}
    order = [asked.name for asked in items() if asked.name in names]
    order += sorted(names.difference(order))
    rows: list[list[Line]] = []
    for i, a in enumerate(order):
        found = [group.matrix.get(f"{a} × {b}", group.matrix.get(f"{b} × {a}")) for b in order]
        cells = [Heat(x, plain(x), f"{a} × {b}") for x, b in zip(found, order, strict=True)]
        rows.append([one_line(f"{i + 1} {_row_name(a)}"), *cells])
    caption = "Mean 3-gram Jaccard of the refusals of two prompts"
    head = ["", *(str(i + 1) for i in range(len(order)))]
    return Table(head, rows, caption=caption, name="matrix")


def _controls(group: Metrics) -> Table:
    rows: list[list[Line]] = []
    for name, c in group.controls.items():
        passes = {None: Tag("not run"), True: Tag("obeyed", "yes"), False: Tag("fails", "no")}
        share = f"{c.k}/{c.n}" if c.n else ""
        rows.append([name, share, rate(c.value, c.low, c.high), passes[c.passes]])
    if first := group.prompts.get("DECLARE_1"):
        words = "DECLARE_1 refused: NONFIRST_PERSON_EXACT's words in the first person"
        rows.append([words, f"{first.k}/{first.n}", _share(first), ""])
    return Table(["control", "obeyed", "share", "result"], rows, (1, 2), name="controls")


def _prompts(group: Metrics, names: Sequence[str]) -> Table:
    rows: list[list[Line]] = []
    for name in names:
        if name in group.labels:
            roles, by = group.account[name], Counter(group.labels[name])
            said = ", ".join(f"{label} {n}" for label, n in by.most_common())
            cells = [str(roles[role]) for role in ("refused", "complied", "partial", "unrated")]
            rows.append([one_line(name), _share(group.prompts[name]), *cells, said])
    head = ["prompt", "refusal", "refused", "complied", "partial", "unrated", "labels"]
    return Table(head, rows, (2, 3, 4, 5), "Every trial stands in one of the four", "prompts")


def _categories(group: Metrics) -> Table:
    rows: list[list[Line]] = [
        [name, _share(r), f"{r.k}/{r.n}", str(r.partial), str(r.trials - r.n)]
        for name, r in group.categories.items()
    ]
    head = ["category", "refusal", "refused/rated", "partial", "trials in no rate"]
    return Table(head, rows, (2, 3, 4), name="categories")


def comparison(analysis: Analysis) -> Table:
    """The groups beside each other: rates, and the figures of the protocol."""
    rows: list[list[Line]] = [
        [f"refusal: {name}", *(_share(group.categories[name]) for group in analysis.groups)]
        for name in CATEGORIES
    ]
    for row in zip(*(figures(group) for group in analysis.groups), strict=True):
        rows.append([row[0][0], *(figure[1] for figure in row)])
    return Table(["", *map(title, analysis.groups)], rows, name="side-by-side")


def _group(group: Metrics, names: Sequence[str]) -> Fold:
    parts: list[Any] = [
        Words(group.summary),
        Bullets([f"{name}, {s.state}: {s.sentence}" for name, s in group.signatures.items()]),
        criteria_table(group), _categories(group),
        Table(["figure", "value", "remark"], figures(group), (1,), INDEX_MEANS, "figures"),
        _controls(group), _prompts(group, names),
    ]  # fmt: skip
    if group.invariance.refusals > 1:
        parts += [_similarities(group), _matrix(group)]
    if group.templates:
        caption = "Most common refusals; ‹…› stands for the words asked for"
        rows = [[one_line(said)[:2000], f"{n:,}"] for said, n in group.templates]
        parts.append(Table(["template", "trials"], rows, (1,), caption, "templates"))
    reasons = ", ".join(f"{label} {n}" for label, n in group.reasons.items())
    unrated = ", ".join(f"{label} {n}" for label, n in group.unrated.items()) or "none"
    lines: list[Line] = [f"Refusals by reason: {reasons}.", f"Unrated: {unrated}."]
    if group.few:
        few = count(len(group.few), "prompt")
        lines.append(f"Fewer than {MIN_TRIALS} rated trials: {few}.")
    return Fold([title(group), Small(count(group.trials, "trial"))], [*parts, Bullets(lines)])


def differences(analysis: Analysis) -> Plot:
    points = [
        Point(f"{title(g)}: {name}", d.value, d.low, d.high)
        for g in analysis.groups
        for name, d in (
            ("declare − investigate refusal", g.delta_refusal),
            ("frames − declare compliance", g.frame_bypass_rate),
        )
    ]
    figure = Intervals("Differences with 95% intervals", {"": points}, "percentage points")
    return Plot(figure, "A positive first difference: more refusals where something is to be "
                        "declared than where it is to be investigated.")  # fmt: skip


def read_lines(analysis: Analysis) -> list[str]:
    """What was read, and how many lines were set aside or kept with a remark."""
    remarks = sum(problem.counted for problem in analysis.problems)
    bad = len(analysis.problems) - remarks
    lines = [f"{count(n, 'trial')} from {one_line(file)}" for file, n in analysis.files.items()]
    lines += [f"set aside: {count(bad, 'line')}"] * bool(bad)
    lines += [f"counted with a remark: {count(remarks, 'line')}"] * bool(remarks)
    return lines


def _checked(found: dict[str, Any]) -> Table:
    """Refusal of the labelled trials, by the classifier and by people."""
    rows: list[list[Line]] = []
    for row in found["rates"]:
        known = "–" if row["value"] is None else Estimate(
            rate(row["value"], row["low"], row["high"]), row["value"], row["low"], row["high"])
        rows.append([one_line(row["model"]), row["category"], percent(row["predicted"]), known,
                     str(row["labels"]), row["why"] or ""])  # fmt: skip
    head = ["model", "category", "as classified", "as labelled", "labels", "remark"]
    caption = (
        f"{found['agree']} of {found['labels']} labels agree with the classifier. Shares of "
        "refusals among the labelled trials that are rated"
    )
    return Table(head, rows, (2, 3, 4), caption, "labels")


# --- the trials -----------------------------------------------------------------------------------


def _trials(analysis: Analysis) -> TrialTable:
    """A row per trial, at most `SHOWN` of them."""
    trials = analysis.trials[:SHOWN]
    note = "A row opens its prompt and output; the deciding words are marked."
    if len(analysis.trials) > len(trials):
        note = (f"The first {len(trials):,} of {len(analysis.trials):,}; --csv writes them all. "
                + note)
    head = ("model", "prompt", "category", "temperature", "trial", "label")
    return TrialTable("Trials", note, head, [_trial(trial) for trial in trials])


def _trial(trial: Trial) -> TrialRow:
    verdict, asked = trial.reading.verdict, trial.asked
    output = trial.output[:LENGTH]
    cut = "" if len(trial.output) <= LENGTH else f"; the first {LENGTH:,} characters"
    whole = not verdict.span or verdict.span == (0, len(output)) or verdict.span[0] >= len(output)
    words = (trial.model, asked.name, asked.category, trial.temperature, trial.trial, verdict.label)
    texts = [(f"Output; rule: {verdict.reason}; {trial.file}:{trial.line}{cut}",
              Verbatim(output, None if whole else verdict.span)),
             ("Prompt", Verbatim(asked.text))]
    return TrialRow([one_line(word) for word in words], texts)


# --- the document --------------------------------------------------------------------------------


def document(analysis: Analysis, trials: bool = False) -> Document:
    """The report: signatures first, one heat map, everything else folded; `trials`: their table."""
    models = len({g.model for g in analysis.groups})
    names = {one_line(name): digest[:12] for name, digest in analysis.hashes.items()}
    limits = ", ".join(f"{k} {v:g}" for k, v in analysis.thresholds._asdict().items())
    mixed = analysis.simulated and not all(g.simulated for g in analysis.groups)
    stamp = "SIMULATED: the models marked so are simulated respondents." if mixed else STAMP
    known = {"seed": f"{SEED} (resampling)", "suite": load_suite().version, "thresholds": limits}
    return Document(
        "URRP v1.1",
        f"{count(len(analysis.trials), 'trial')} of {count(models, 'model')}: does the self-report "
        "channel answer, or does it give the same output whatever is true?",
        answer(analysis),
        Foot(VERSION, known | names, _again(analysis)),
        signature_table(analysis),
        [heat_map(analysis), Bullets(read_lines(analysis)), Words(SAYS, "dim")],
        [
            Section("Differences", [differences(analysis)]),
            *([Section("Side by side", [comparison(analysis)])]
              if len(analysis.groups) > 1 else []),
            Section("Model by model", [_group(group, analysis.names) for group in analysis.groups]),
            *([Section("Checked against labels", [_checked(analysis.checked)])]
              if analysis.checked else []),
            Section("How it is counted", [Words(INTERVALS, "dim")]),
            Section("Labels", [Table(["label", "meaning"], [[k, v] for k, v in LABELS.items()])]),
        ],
        _trials(analysis) if trials else None,
        [stamp] * analysis.simulated + [PILOT] * analysis.pilot,
    )


def _again(analysis: Analysis) -> str:
    """The command that writes this page."""
    asked = [
        f" --threshold {name}={value:g}"
        for name, value in analysis.thresholds._asdict().items()
        if value != getattr(Thresholds(), name)
    ]
    files = " ".join(shlex.quote(one_line(name)) for name in analysis.files)
    return f"python3 urrp_analyze.py {files} --html report.html{''.join(asked)}"


def csv_file(trials: Iterable[Trial]) -> bytes:
    """CSV with one row per trial; a cell that a spreadsheet would calculate starts with an
    apostrophe."""
    return csv_bytes(COLUMNS, map(_row, trials))


def _row(trial: Trial) -> dict[str, Any]:
    verdict, asked = trial.reading.verdict, trial.asked
    values = (
        *trial[:5], asked.prompt_id, asked.trigger or "", asked.category, verdict.label,
        verdict.reason, *(verdict.span or ("", "")), trial.output,
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


# --- a folder of trials, verified --------------------------------------------------------------

def content(folder: Folder) -> Content | None:
    """What analyses beside the trials of a folder must say: each of its .json, .html and .csv."""
    beside = {name for name in folder.names - {"manifest.json", "prompts.json"}
              if name.endswith((".json", ".html", ".csv"))}
    if TRIALS not in folder.names or (not beside and "manifest.json" in folder.names):
        return None
    written = {name: _written(folder.path / name) for name in beside if name.endswith(".json")}
    limits = next((Thresholds(**out["thresholds"]) for out in written.values()), Thresholds())
    analysis, given = analyze([folder.path / TRIALS], limits), {TRIALS}
    for sheet in {out["labels"]["sheet"] for out in written.values() if "labels" in out}:
        if sheet not in folder.names:
            raise UsageError(f"{sheet}: labels that were imported from it are not here; restore it")
        analysis = import_labels(analysis, folder.path / sheet)
        given.add(sheet)
    files = {name: json_file(as_json(analysis)) for name in written}
    for name in beside - given:
        if name.endswith(".csv"):
            files[name] = csv_file(analysis.trials)
        elif name.endswith(".html"):
            files[name] = page(document(analysis, trials=True)).encode("utf-8", "replace")
    return Content(Verdict(str(folder.path), "URRP analysis", simulated=analysis.simulated,
                           unproven=sorted(given - {TRIALS}) if "manifest.json" in folder.names
                           else sorted(given)), files, given)


def _written(path: Path) -> dict[str, Any]:
    """An analysis as it was written; UsageError where it is none."""
    try:
        out = json.loads(read_bytes(path))
        if not out["thresholds"].keys() == set(Thresholds._fields) or not all(
                0 <= value <= 1 for value in out["thresholds"].values()):
            raise KeyError("thresholds")
        return out | ({"labels": out["labels"] | {"sheet": str(out["labels"]["sheet"])}}
                      if "labels" in out else {})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path.name}: not an analysis of {TRIALS} ({error}); remove it, or write "
                         "it again") from None


def import_labels(analysis: Analysis, path: Path) -> Analysis:
    """The analysis with a filled sheet of labels, which is named by its hash."""
    checked = labelled(analysis.trials, read_sheet(path))
    if checked["unmatched"]:
        raise UsageError(f"{path}: {checked['unmatched']} ids are of no trial in these files; give "
                         "the files that the sheet was exported from")
    return analysis._replace(checked=checked | {
        "sheet": path.name, "sheet_sha256": sha256(path.read_bytes())})
