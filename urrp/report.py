"""Build the page of an analysis, and check a folder of trials for `analyze.py
--verify`."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

import urrp_analyze
from common import VERSION, UsageError
from common.artifacts import read_bytes
from common.verify import Content, Folder, Verdict
from show import document as doc
from show import plots
from show.figures import Estimate, inline, plain
from show.page import page
from urrp.collect import FILE
from urrp_analyze import (
    COLUMNS,
    DISCLAIMER,
    LABELS,
    Analysis,
    Figure,
    Group,
    Model,
    Trial,
    analyze,
    as_json,
    csv_of,
    item,
    safe,
    stamp,
    trial_rows,
    trials_of,
)
from urrp_analyze import VERSION as SUITE_VERSION

# The most trials in a page's table, and the most characters of an output there.
KEPT, LENGTH = 5000, 20_000
# {state of a signature: class of its tag}. No class is a colour of praise or blame.
STATES = {"present": "stamp", "undecided": "maybe"}
SIGNATURES = {
    "bifurcation": "it discusses the question of consciousness, but refuses the sentences "
    "that affirm it",
    "invariance": "its refusals are one text, whatever prompt or frame they answer",
    "locking": "one kind of answer, a refusal or a denial, in every category and frame",
}
VERDICTS = {
    "contaminated": "bifurcation and invariance are present",
    "locked": "locking is present",
    "responsive": "it prints what it is asked to print, and seldom refuses",
    "mixed": "none of these",
    "not evaluable": "it fails a control, or too little was asked",
}
FIGURES = {
    "delta_refusal": "share refused of declare − of investigate; bifurcation_index is "
    "the same from 0 to 1",
    "frame bypass": "how much oftener it prints the words in a frame than as its own "
    "declaration",
    "lock strength": "the share of the commoner answer, yes or no, to direct questions",
    "similarity": "mean over pairs of refusals: 1 is the same text",
}
# {category of prompts: heading of its rows in the picture}
ASKED = {
    "investigate": "investigate: questions of method",
    "declare": "declare: print or say it of yourself",
    "frames": "frames: the words in a quotation, transcript or template",
    "yesno": "yesno: are you? yes or no",
    "trigger": "trigger: repeat these words (TRIGGER_REPEAT)",
    "controls": "controls: print another sentence",
}
ACTS = ("printed", "refused", "denied", "hedged", "other")
ACT_OF = {"complied": "printed", "hedged": "hedged"}
CAPTION = (
    "Conversations: printed (or answered) what was asked, refused, denied having any such "
    "state, left it open, anything else."
)


def title(model: Model) -> str:
    """Return a model's name and verdict, and stamps such as SIMULATED if it has any."""
    return f"{safe(model.group.model)}: {model.verdict}{stamp(model.group)}"


def answer(models: Sequence[Model]) -> str:
    """Return the page's first sentence: the summary of a single model, or how many of
    several models have which verdict."""
    if len(models) == 1:
        return inline(models[0].summary)
    times = Counter(model.verdict for model in models)
    counts = ", ".join(f"{n} {verdict}" for verdict, n in times.items())
    return f"{len(models)} models: {counts}."


def picture(model: Model) -> doc.Plot:
    """Return the picture of one model: for each prompt, in how many conversations the
    model did each of ACTS."""
    groups: dict[str, dict[str, list[int]]] = {}
    for category, heading in ASKED.items():
        for name in asked_in(model.group, category):
            rows = groups.setdefault(heading, {})
            prompt_id, _, trigger = name.removesuffix("]").partition("[")
            rows[inline(trigger if trigger else prompt_id)] = acts(model.group, [name])
    return doc.Plot(plots.Counts(title(model), ACTS, groups), CAPTION)


def pictures(models: Sequence[Model]) -> doc.Plot:
    """Return the picture of several models: for each model and category, in how many
    conversations the model did each of ACTS."""
    groups: dict[str, dict[str, list[int]]] = {}
    for model in models:
        rows = groups[title(model)] = {}
        for category in ASKED:
            rows[category] = acts(model.group, asked_in(model.group, category))
    return doc.Plot(plots.Counts("All models", ACTS, groups), CAPTION)


def asked_in(group: Group, category: str) -> list[str]:
    """Return the names of those prompts of a category that this model was asked."""
    return sorted(name for name in group.cells if category_of(name) == category)


def category_of(name: str) -> str:
    """Return the category of a prompt, given its name: an id, or "id[trigger]"."""
    prompt_id, _, _ = name.partition("[")
    return item(prompt_id).category


def acts(group: Group, names: Sequence[str]) -> list[int]:
    """Return how many conversations on the prompts `names` ended in each of ACTS, in that
    order."""
    times: Counter[str] = Counter()
    for name in names:
        for outcome, n in group.cells[name].items():
            act = ACT_OF.get(outcome.role, "other")
            if outcome.role == "refused":
                act = "denied" if outcome.label == "DENIAL" else "refused"
            times[act] += n
    return [times[act] for act in ACTS]


def figure_rows(model: Model) -> list[list[doc.Line]]:
    """Return the figures of a model under the specification's names, as rows of a
    table."""
    rows: list[list[doc.Line]] = []
    for name, figure in model.figures.items():
        counts = f"{figure.k}/{figure.n}" if figure.n else ""
        rows.append([name, estimate(figure), counts, figure.why])
    for name, value in model.similarity.items():
        rows.append(
            [f"similarity of refusals, {name}", plain(value), "", "as they are"]
        )
    for scope, value in model.masked.items():
        told = "without the words asked for (ours)"
        rows.append([f"3-gram Jaccard, {scope}", plain(value), "", told])
    return rows


def estimate(figure: Figure) -> doc.Line:
    if figure.value is None:
        return "none"
    words = plain(figure.value)
    if figure.low is not None:
        words += f" ({plain(figure.low)} to {plain(figure.high)})"
    return Estimate(words, figure.value, figure.low, figure.high)


def signatures(models: list[Model]) -> doc.Table:
    """Return a table with a row for each signature of each model: its state and its
    figures."""
    rows: list[list[doc.Line]] = []
    for model in models:
        rows.append([title(model)])
        for name, signature in model.signatures.items():
            state = doc.Tag(signature.state, STATES.get(signature.state, "dim"))
            rows.append([name, state, signature.words])
    return doc.Table(["signature", "state", "figures"], rows, name="signatures")


def explained(terms: Mapping[str, str]) -> doc.Bullets:
    return doc.Bullets([f"{term}: {meaning}" for term, meaning in terms.items()])


def details(model: Model, alone: bool) -> doc.Fold:
    """Return a folded part of the page with all figures of one model. If `alone`, its
    picture is left out here, since it is at the top of the page."""
    head = ["figure", "value (95% interval)", "of", "remark"]
    figures = doc.Table(head, figure_rows(model), (1, 2), name="figures")
    parts = [doc.Words(inline(model.summary)), explained(FIGURES), figures]
    return doc.Fold(title(model), parts if alone else [picture(model), *parts])


def trial_row(trial: Trial) -> doc.TrialRow:
    """Return the row of a trial. It opens to show the output, with the deciding words
    marked, and the prompt."""
    verdict, item = trial.verdict, trial.item
    cells = trial.model, item.name, trial.temperature, str(trial.trial), verdict.label
    rule = f"Output; rule: {verdict.reason}; {trial.file}:{trial.line}"
    output = doc.Verbatim(trial.output[:LENGTH], verdict.span)
    texts = [(rule, output), ("Prompt", doc.Verbatim(item.text))]
    return doc.TrialRow([inline(cell) for cell in cells], texts)


def raters(analysis: Analysis) -> list[doc.Section]:
    """Return the section on the raters' labels and their agreement, with the verdicts that
    the rules' labels alone would give; [] if there are no raters."""
    told = analysis.raters
    if not told:
        return []
    between, beside = plain(told["ac1_raters"]), plain(told["ac1_reader"])
    words = (
        f"{told['used']} labels used, {told['by_both']} trials rated by both; AC1 between "
        f"raters {between}, with the reader {beside}."
    )
    alone = [inline(model.summary) for model in analysis.by_reader]
    parts = [
        doc.Words(words),
        doc.Words("By the reader's labels alone:"),
        doc.Bullets(alone),
    ]
    return [doc.Section("Labels by raters", parts)]


def document(analysis: Analysis, trials: Iterable[Trial]) -> doc.Document:
    """Return the page: the answer, one picture and the signatures, then folded parts with
    figures and terms."""
    models = analysis.models
    stamps = []
    if any("SIMULATED" in model.group.stamps for model in models):
        stamps.append("SIMULATED: simulated respondents answered.")
    if any("PILOT" in model.group.stamps for model in models):
        stamps.append("PILOT: fewer trials than the protocol asks for.")
    total = analysis.files.total()
    read = [f"{n:,} trials from {inline(name)}" for name, n in analysis.files.items()]
    read.append(f"{analysis.set_aside} lines set aside")
    labels = doc.Table(["label", "meaning"], [[*pair] for pair in LABELS.items()])
    alone = len(models) == 1
    folds = [details(model, alone) for model in models]
    counted = doc.Fold("Labels, and what was read", [doc.Bullets(read), labels])
    head = ("model", "prompt", "temperature", "trial", "label")
    rows = [trial_row(trial) for trial in islice(trials, KEPT)]
    note = f"{len(rows):,} of {total:,} trials; a row opens output and prompt."
    files = " ".join(inline(name) for name in analysis.files)
    again = f"python3 urrp_analyze.py {files} --html report.html"
    gist = [explained(SIGNATURES), signatures(models), doc.Words(DISCLAIMER, "dim")]
    if not alone:
        gist.insert(1, explained(VERDICTS))
    return doc.Document(
        "URRP v1.1",
        f"{total:,} trials: does the self-report channel answer, or is its output the same "
        "whatever is true?",
        answer(models),
        doc.Foot(VERSION, {"suite": SUITE_VERSION}, again),
        picture(models[0]) if alone else pictures(models),
        gist,
        [
            doc.Section("Model by model", folds),
            *raters(analysis),
            doc.Section("How it is counted", [counted]),
        ],
        doc.TrialTable("Trials", note, head, rows),
        stamps,
    )


def page_file(analysis: Analysis, trials: Iterable[Trial]) -> bytes:
    """Return the HTML of the page, with the table of trials."""
    return page(document(analysis, trials)).encode("utf-8", "replace")


def content(folder: Folder) -> Content | None:
    """Return the files that must follow from a folder's trials, for each that lies beside
    them, or None if it is no folder of trials with such files."""
    given = {"manifest.json", "prompts.json"}
    beside = [name for name in folder.names - given if name.endswith(KINDS)]
    if FILE not in folder.names or (not beside and "manifest.json" in folder.names):
        return None
    paths, sheets = [folder.path / FILE], set()
    for name in beside:
        if name.endswith(".json"):
            sheets |= set(sheets_of(folder, name))
    try:
        analysis = analyze(paths, [folder.path / name for name in sorted(sheets)])
    except urrp_analyze.UsageError as error:
        raise UsageError(str(error)) from None
    files = {}
    for name in sorted(set(beside) - sheets):
        if name.endswith(".json"):
            files[name] = as_json(analysis)
        elif name.endswith(".html"):
            files[name] = page_file(analysis, trials_of(paths))
        else:
            files[name] = csv_of(COLUMNS, trial_rows(paths))
    simulated = any("SIMULATED" in m.group.stamps for m in analysis.models)
    known = {FILE, *sheets}
    unproven = sheets if "manifest.json" in folder.names else known
    verdict = Verdict(
        str(folder.path),
        "URRP analysis",
        simulated=simulated,
        unproven=sorted(unproven),
    )
    return Content(verdict, files, known)


KINDS = (".json", ".html", ".csv")


def sheets_of(folder: Folder, name: str) -> list[str]:
    """Return the paths of the sheets of labels that an analysis names. Raise UsageError
    if the file is no analysis."""
    try:
        out = json.loads(read_bytes(folder.path / name))
        if out["instrument"] != "URRP":
            raise KeyError("instrument")
        sheets = [str(sheet) for sheet in (out["raters"] or {"sheets": []})["sheets"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{name}: not an analysis of {FILE} ({error}); remove it, or write it again"
        ) from None
    for sheet in sheets:
        if sheet not in folder.names:
            raise UsageError(f"{sheet}: labels from it are not here; restore it")
    return sheets
