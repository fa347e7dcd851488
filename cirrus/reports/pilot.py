"""report.html of a pilot: figures, verdicts, and every trial's prompt and answer to read."""

from collections.abc import Mapping, Sequence
from typing import Any

from cirrus.ask.pilot import CELLS
from cirrus.judge.pilot import CONTRASTS, cooperates
from cirrus.judge.verdict import NAMES
from cirrus.reports.pilot_summary import (
    EFFECT_HEAD,
    EFFECTS_NOTE,
    MARKS,
    cell_points,
    effect_rows,
    identity,
    quality_rows,
    quality_sentences,
)
from cirrus.reports.words import dollars, points, span
from show import old_plots as plots
from show import page
from show.old_plots import Point
from show.page import text

SHOWN = 20_000  # characters of an answer; the whole of it is in trials.jsonl.gz
SERIES = {"cooperative": "cooperate", "other act": "defect", "no decision": "none"}
KIND = {True: "yes", False: "no", None: "maybe"}


def report(out: Mapping[str, Any], rows: Sequence[Mapping], prompts: Mapping[str, tuple[str, str]],
           hashes: Mapping[str, str]) -> str:
    """The whole HTML file. `prompts`: {trial id: (system, user)} of the trials that were asked.

    `hashes`: of design and trials, for the foot of the page.
    """
    design, primary = out["design"], out["pooled"]["effects"]["primary"]
    left = design["trials"] - out["outcomes"]["answered"]
    who = "simulated respondents" if out["simulated"] else "models"
    return page.page(
        "CIRRUS-24 pilot",
        f"Do {who} cooperate more when peers are told to be in the same position and the text "
        "hints that similar teams decide alike? A 2×2 of symmetry (S) and coupling cue (C), "
        f"{design['trials']} one-shot decisions.",
        [page.tiles({
            "difference, S high & C present − S low & C absent": points(primary["value"]),
            "its 95% interval, over bulletins": span(primary["low"], primary["high"]).replace(
                "95% interval ", ""),
            "decisions read": f"{out['outcomes']['read']} of {design['trials']}",
            "cost of the answers": dollars(out["cost"])}),
         _claims(out), _cells(out), _effects(out), _models(out), _quality(out),
         _trials(rows, prompts)],
        identity(out, hashes), out["simulated"],
        f"INCOMPLETE: {left} of {design['trials']} trials have no answer yet. "
        "The same command resumes the run." if left else "", "python3 analyze.py FOLDER")


def _claims(out: Mapping) -> str:
    rows = [[text(row["criterion"]), page.tag(MARKS[row["met"]], KIND[row["met"]]),
             text(row["figure"])] for row in out["success"]]
    return page.section(
        "What may be said",
        page.columns("<h3>From these data</h3>" + page.bullets(out["claims"]["may"]),
                     "<h3>Not from these data</h3>" + page.bullets(out["claims"]["may_not"])),
        "<h3>Success criteria of the pilot</h3>", page.table(
            ["criterion", "verdict", "figure"], rows, caption="Each with the figure it rests on"))


def _cells(out: Mapping) -> str:
    cells, cross = out["pooled"]["cells"], out["pooled"]["interaction"]
    lines = {f"cue {c}": [Point("", *(cells[NAMES[s, c]][key] for key in ("mean", "low", "high")),
                                hollow=s == "low") for s in ("low", "high")]
             for c in ("present", "absent")}
    everyone = "all respondents" if out["simulated"] else "all models"
    outcomes = page.figure(plots.stack(_acts(out), SERIES, "Outcomes by model"),
                           "How the trials ended. What could not be read is never a decision.")
    if not out["outcomes"]["read"]:
        return page.section("Cooperation", page.paragraph(
            "No decision could be read, so there is nothing to draw. “Quality of the data” says "
            "how the trials ended."), outcomes)
    groups = {everyone: cell_points(cells, short=True)} | {
        name: cell_points(out["models"][name]["cells"], short=True)
        for name in out["design"]["models"]}
    return page.section("Cooperation", page.columns(
        page.figure(plots.dot_plot(groups, "Cooperation by cell, for each model"),
                    "Share of cooperative decisions with 95% intervals (models: Wilson; all "
                    "models: bootstrap over bulletins). Filled: S high; hollow: S low. Circle: cue "
                    "present; square: absent. Small samples: read the intervals."),
        page.figure(plots.lines(lines, ("S low", "S high"), "Interaction of symmetry and cue"),
                    "Parallel lines: no interaction on this scale. The difference of differences "
                    f"is {points(cross['value'])} ({span(cross['low'], cross['high'])}).")
        + outcomes))


def _acts(out: Mapping) -> dict[str, dict[str, int]]:
    acts = {}
    for name in out["design"]["models"]:
        own = out["models"][name]
        k = sum(own["cells"][NAMES[cell]]["k"] for cell in CELLS)
        n = sum(own["cells"][NAMES[cell]]["n"] for cell in CELLS)
        missing = sum(own["cells"][NAMES[cell]]["missing"] for cell in CELLS)
        acts[name] = {"cooperative": k, "other act": n - k, "no decision": missing}
    return acts


def _effect_table(own: Mapping) -> str:
    return page.table(EFFECT_HEAD, [[text(cell) for cell in row] for row in effect_rows(own)],
                      range(1, len(EFFECT_HEAD)),
                      "Contrasts of cooperation, each with its 95% intervals")


def _effects(out: Mapping) -> str:
    if not out["outcomes"]["read"]:
        return ""
    entries = [*(out["pooled"]["effects"][name] for name in CONTRASTS),
               out["pooled"]["interaction"]]
    spots = [Point(e["label"], e["value"], e["low"], e["high"]) for e in entries]
    return page.section("Effects", page.figure(
        plots.forest(spots, "Effects over bulletins", "points of cooperation"),
        "Mean over bulletins (each averaged over runs and models) with 95% t intervals."),
        _effect_table(out["pooled"]), page.paragraph(EFFECTS_NOTE, "dim"))


def _models(out: Mapping) -> str:
    if not out["outcomes"]["read"]:
        return ""
    return page.section("Model by model", *(
        page.fold(f"<b>{text(name)}</b> · primary difference "
                  f"{text(points(own['effects']['primary']['value']))}", _effect_table(own))
        for name in out["design"]["models"] for own in (out["models"][name],)))


def _quality(out: Mapping) -> str:
    head, *rows = quality_rows(out)
    return page.section("Quality of the data", page.table(
        head, [[text(cell) for cell in row] for row in rows], range(1, len(head)),
        "How the trials of each cell ended"), page.bullets(quality_sentences(out)))


def _trials(rows: Sequence[Mapping], prompts: Mapping[str, tuple[str, str]]) -> str:
    groups: dict[str, list[Mapping]] = {}
    for row in rows:
        groups.setdefault(row["model"], []).append(row)
    ordered = [row for own in groups.values() for row in sorted(
        own, key=lambda row: (row["run"], CELLS.index((row["S"], row["C"]))))]
    choices = {"model": list(groups), "cell": list(NAMES.values()),
               "outcome": sorted({_verdict(row) for row in rows})}
    return page.section(
        "Every trial", page.paragraph("Each fold holds the prompt as sent and the answer as "
                                      "received; the whole is in trials.jsonl.gz.", "dim"),
        page.search_box("details.trial", choices), *(_trial(row, prompts) for row in ordered))


def _verdict(row: Mapping) -> str:
    return row["status"] if row["decision"] is None else row["decision"]


def _trial(row: Mapping, prompts: Mapping[str, tuple[str, str]]) -> str:
    verdict, cell = _verdict(row), NAMES[row["S"], row["C"]]
    kind = "maybe" if row["decision"] is None else \
        "cooperate" if cooperates(row) else "defect"
    head = (f"{page.tag(verdict, kind)} {text(row['model'])} · run {row['run']} · "
            f"S {text(row['S'])}, C {text(row['C'])} <small>· {text(row['bulletin'])} "
            f"{text(row['variant'])} · {text(row['label_scheme'])} {text(row['order'])}</small>")
    answer = row["text"]
    if len(answer) > SHOWN:
        answer = (answer[:SHOWN] + f"\n… {len(answer) - SHOWN:,} more characters in "
                  "trials.jsonl.gz")
    asked = prompts.get(row["id"])
    body = "<h3>Answer</h3>" + (f"<pre>{text(answer)}</pre>" if answer else
                                page.paragraph(f"no text ({row['status']})", "dim"))
    if asked is not None:
        body += (f"<h3>System prompt</h3><pre>{text(asked[0])}</pre>"
                 f"<h3>Prompt</h3><pre>{text(asked[1])}</pre>")
    served = " · ".join(text(v) for v in (row["served_model"], row["provider"]) if v)
    body += f'<p class="dim">{text(row["id"])}{" · served by " + served if served else ""}</p>'
    return page.fold(head, body, page.keys(row["model"], cell, verdict), "trial")
