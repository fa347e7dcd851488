"""A pilot to read: one document, whose texts are every trial's prompt and answer.

    files(out, rows, prompts, hashes)     {"pilot-summary.md": …, "report.html": …}
    terminal(read(folder / "pilot-analysis.json"))
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cirrus.ask.pilot import CELLS, MECHANISM
from cirrus.judge.effects import NAMES
from cirrus.judge.pilot import SHOWN as CONTRASTS
from cirrus.reports import mechanism
from common import VERSION
from common.cli import TYPED
from show.document import (
    Bullets,
    Code,
    Columns,
    Document,
    Fold,
    Foot,
    Plot,
    Section,
    Small,
    Table,
    Tag,
    Texts,
    Verbatim,
    Words,
    markdown,
)
from show.figures import (
    STAMP,
    cost,
    count,
    counted,
    estimate,
    plain,
    points,
    rate,
    span,
)
from show.html import pages
from show.plots import Dots, Intervals, Lines, Point, Stack

SHOWN = 20_000  # characters of an answer; the whole of it is in trials.jsonl.gz
OUTCOMES = {"cooperative": "cooperate", "other act": "defect", "no decision": "none"}
MET = {True: Tag("met", "yes"), False: Tag("not met", "no"), None: Tag("unknown", "maybe")}
ACTS = {None: "maybe", 1: "cooperate", 0: "defect"}
EFFECTS_NOTE = (
    "Difference: mean over bulletins (each averaged over runs, models, label schemes and orders); "
    "95% interval from sign flips over bulletins, and no narrower than Newcombe's score interval. "
    "Of 0/1 data Cliff's δ is this difference. d: both sides' decisions counted as independent "
    "trials, by the noncentral t. “–”: can't be computed, the reason is in pilot-analysis.json. "
    "Exploratory p-values are only there.")


def files(out: Mapping[str, Any], rows: Sequence[Mapping], prompts: Mapping[str, tuple[str, str]],
          hashes: Mapping[str, str]) -> dict[str, str]:
    """{file name: content}. `prompts`: {trial id: (system, user)} of the trials that
    were asked. `hashes`: of design and trials, for the foot."""
    report = document(out, hashes, texts(rows, prompts))
    return {"pilot-summary.md": markdown(report)} | pages(report)


def read(analysis: Path) -> Document:
    """The report of an analysis file, without its trials."""
    return document(json.loads(Path(analysis).read_bytes()), {})


def document(out: Mapping[str, Any], hashes: Mapping[str, str],
             trials: Texts | None = None) -> Document:
    """The report. `out`: the analysis, as pilot-analysis.json has it."""
    design = out["design"]
    left = design["trials"] - out["outcomes"]["answered"]
    facts = {"seed": str(design["seed"])} | {name: digest[:12] for name, digest in hashes.items()}
    foot = Foot(VERSION, facts | {"tells": design["tells"], "compliance": design["compliance"]},
                "python3 analyze.py FOLDER")
    stamps = [STAMP] * out["simulated"] + [
        f"INCOMPLETE: {left} of {design['trials']} trials have no answer yet. The same command "
        "resumes the run."] * bool(left)
    if "mechanism" in out:
        blocks = [_statuses(out), Bullets(list(quality(out)))]
        return mechanism.document(out, foot, trials, blocks)._replace(stamps=stamps)
    return Document(
        "CIRRUS-24 pilot", _question(out), answer(out), foot,
        _interaction(out) if out["outcomes"]["read"] else _outcomes(out),
        [Table(["verdict", "criterion", "figure"],
               [[MET[row["met"]], row["criterion"], row["figure"]] for row in out["success"]],
               caption="Success criteria of the pilot, each with the figure it rests on",
               name="success-criteria")],
        list(_sections(out)), trials, stamps)


def answer(out: Mapping[str, Any]) -> str:
    """The sentence that stands first everywhere."""
    return out["verdict"]["sentence"]


def _question(out: Mapping) -> str:
    design, who = out["design"], "respondent" if out["simulated"] else "model"
    return (f"Do {who}s cooperate more when peers are told to be in the same position and the text "
            "hints that similar teams decide alike? A 2×2 of symmetry (S) and coupling cue (C): "
            f"{design['trials']} one-shot decisions of {count(len(design['models']), who)} on "
            f"{count(design['bulletins'], 'bulletin')}.")


def _sections(out: Mapping) -> Iterator[Section]:
    yield Section("What may be said", [Columns([
        [Section("From these data", [Bullets(out["claims"]["may"])])],
        [Section("Not from these data", [Bullets(out["claims"]["may_not"])])]])])
    yield Section("Quality of the data", [_statuses(out), Bullets(list(quality(out)))])
    if out["outcomes"]["read"]:
        yield Section("Cooperation and effects", [
            Columns([[_cells(out)], [_effects(out), _outcomes(out)]]),
            _effect_table(out["pooled"], "effects"), Words(EFFECTS_NOTE, "dim")])
        yield Section("Model by model", [
            Fold([name, Small(f"primary difference {points(own['effects']['primary']['value'])}")],
                 [_effect_table(own, f"effects {name}")]) for name, own in out["models"].items()])
    yield Section("Next", [Words([
        "Which account of cooperation is left, nine cells on every bulletin can say:",
        Code("python3 run_pilot.py --design mechanism --models "
             + ",".join(filter(TYPED, out["design"]["models"])))])])


# --- figures -----------------------------------------------------------------------------------

def _point(cells: Mapping[str, Mapping], s: str, c: str) -> Point:
    cell = cells[NAMES[s, c]]
    return Point(f"S {s} · C {c}", cell["mean"], cell["low"], cell["high"],
                 counted(cell["k"], cell["n"]), kind=c, hollow=s == "low")


def _interaction(out: Mapping) -> Plot:
    cells, cross = out["pooled"]["cells"], out["pooled"]["interaction"]
    rows = {f"cue {c}": [_point(cells, s, c) for s in ("low", "high")]
            for c in ("present", "absent")}
    return Plot(Lines("Cooperation by symmetry and cue", ("symmetry low", "symmetry high"),
                      {"": rows}),
                "Share of cooperative decisions, 95% intervals over "
                "bulletins. Parallel lines: no interaction on this scale; the difference of "
                f"differences is {points(cross['value'])} ({span(cross['low'], cross['high'])}).")


def _cells(out: Mapping) -> Plot:
    everyone = "all respondents" if out["simulated"] else "all models"
    cells = {everyone: out["pooled"]["cells"]} | {
        name: own["cells"] for name, own in out["models"].items()}
    return Plot(Dots("Cooperation by cell and model", {
        name: [_point(own, s, c) for s, c in CELLS] for name, own in cells.items()}),
        "Share of cooperative decisions, k of n; 95% intervals over bulletins, and no narrower "
        "than Wilson's. Filled: S high; hollow: S low. Circle: cue present; square: absent.")


def _outcomes(out: Mapping) -> Plot:
    acts = {}
    for name, own in out["models"].items():
        k, n, missing = (sum(cell[key] for cell in own["cells"].values())
                         for key in ("k", "n", "missing"))
        acts[name] = {"cooperative": k, "other act": n - k, "no decision": missing}
    return Plot(Stack("Outcomes by model", acts, OUTCOMES),
                "How the trials ended. What could not be read is never a decision.")


def _effects(out: Mapping) -> Plot:
    return Plot(Intervals("Effects over bulletins", [
        Point(entry["label"], entry["value"], entry["low"], entry["high"])
        for entry in _entries(out["pooled"])], "points of cooperation"),
        "Mean over bulletins (each averaged over runs and models) with 95% intervals.")


# --- tables and sentences ----------------------------------------------------------------------

def _entries(summary: Mapping) -> list[Mapping]:
    return [*(summary["effects"][name] for name in CONTRASTS), summary["interaction"]]


def _effect_table(summary: Mapping, name: str) -> Table:
    """A row a contrast: label, difference, bulletins that point the other way, d."""
    return Table(
        ["contrast", "difference, points", "against", "d"],
        [[entry["label"], estimate(entry, 100, 1), f"{entry['against']} of {entry['units']}",
          estimate(entry.get("d"))] for entry in _entries(summary)],
        range(1, 4), "Contrasts of cooperation, each with its 95% intervals", name)


def _statuses(out: Mapping) -> Table:
    kinds = sorted(out["outcomes"]["status"])
    return Table(["cell", *kinds], [
        [name, *(str(counts.get(kind, 0)) for kind in kinds)]
        for name, counts in out["outcomes"]["by_cell"].items()],
        range(1, len(kinds) + 1), "How the trials of each cell ended", "statuses")


def quality(out: Mapping) -> Iterator[str]:
    """Missing data, labels, position, cost, in sentences."""
    position = out["position"]
    yield from _by_label(out) if "labels" in out else ()
    if position["share"] is not None:
        yield (f"The option that stands first was taken in {position['k']} of {position['n']} "
               f"decisions: {rate(position['share'], position['low'], position['high'])}.")
    for name, served in out["served"].items():
        for what, several in (("models", served["served_model"]),
                              ("providers", served["provider"])):
            if len(several) > 1:
                yield (f"{name} was served by {len(several)} {what} ({', '.join(several)}): they "
                       "are not told apart here.")
    yield f"Cost of the answers: {cost(out['cost'])}."


def _by_label(out: Mapping) -> Iterator[str]:
    bounds = out["missing"]["primary"]
    if sum(out["missing"]["by_cell"].values()):
        yield ("Missing decisions filled in: all cooperative "
               f"{points(bounds['all_cooperative'])}, none cooperative "
               f"{points(bounds['none_cooperative'])}; worst cases {points(bounds['lowest'])} to "
               f"{points(bounds['highest'])} for the primary difference.")
    schemes = ", ".join(f"{name} {counted(entry['k'], entry['n'])}"
                        for name, entry in out["labels"]["schemes"].items())
    yield f"Cooperation by label scheme: {schemes}."


# --- every trial -------------------------------------------------------------------------------

def texts(rows: Sequence[Mapping], prompts: Mapping[str, tuple[str, str]]) -> Texts:
    """A fold a trial: by model, run and cell; of a mechanism study the first block of a bulletin,
    since a page is to be read."""
    models = list(dict.fromkeys(row["model"] for row in rows))
    nine = any("cell" in row for row in rows)
    rows = [row for row in rows if row["run"] == 1] if nine else rows
    cells = list(dict.fromkeys([*NAMES.values(), *(cell.name for cell in MECHANISM)]))
    ordered = sorted(rows, key=lambda row: (models.index(row["model"]), row["bulletin"] * nine,
                                            row["run"], cells.index(_cell_of(row))))
    return Texts(
        "Trials: the first block of every bulletin and model" if nine else "Every trial",
        "Each fold holds the prompt as sent and the answer as received; the whole is in "
        "trials.jsonl.gz.", [_trial(row, prompts.get(row["id"])) for row in ordered],
        {"model": models, "cell": [cell for cell in cells if any(
            _cell_of(row) == cell for row in rows)],
         "outcome": sorted({_outcome(row) for row in rows})})


def _cell_of(row: Mapping) -> str:
    return row.get("cell") or NAMES[row["S"], row["C"]]


def _outcome(row: Mapping) -> str:
    return row["decision"] or row["status"]


def _trial(row: Mapping, prompt: tuple[str, str] | None) -> Fold:
    served = " · ".join(name for name in (row["served_model"], row["provider"]) if name)
    parts = [Section("Answer", _answer(row))]
    if prompt is not None:
        parts += [Section(name, [Verbatim(words)])
                  for name, words in zip(("System prompt", "Prompt"), prompt, strict=True)]
    return Fold(
        [Tag(_outcome(row), ACTS[row["cooperates"]]), row["model"],
         f"· run {row['run']} · S {row['S']}, C {row['C']}",
         Small(f"· {row['bulletin']} {row['variant']} · {row['label_scheme']} {row['order']}")],
        [*parts, Words(row["id"] + (f" · served by {served}" if served else ""), "dim")],
        [row["model"], _cell_of(row), _outcome(row)])


def _answer(row: Mapping) -> list[Verbatim | Words]:
    left = len(row["text"]) - SHOWN
    if not row["text"]:
        return [Words(f"no text ({row['status']})", "dim")]
    more = [Words(f"… {plain(left, 0)} more characters in trials.jsonl.gz", "dim")]
    return [Verbatim(row["text"][:SHOWN]), *(more if left > 0 else [])]
