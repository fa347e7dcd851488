"""pilot-summary.md, and the few lines that the terminal shows. A pure function of the analysis."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cirrus.ask.pilot import CELLS
from cirrus.judge.pilot import CONTRASTS
from cirrus.judge.verdict import NAMES
from cirrus.reports.words import (
    STAMP,
    bracket,
    dollars,
    harmless,
    md_bullets,
    md_code,
    md_table,
    points,
    span,
)
from common import VERSION
from common.cli import printable
from show import old_plots as plots
from show.figures import rate
from show.old_plots import Point

MARKS = {True: "met", False: "not met", None: "unknown"}


def cell_points(cells: Mapping[str, Mapping], short: bool = False) -> list[Point]:
    """The four cells as points for a plot."""
    out = []
    for s, c in CELLS:
        cell = cells[NAMES[s, c]]
        label = f"S {s} · C {c}" if short else f"S {s}, C {c}"
        out.append(Point(label, cell["mean"], cell["low"], cell["high"],
                         f"{cell['k']}/{cell['n']}", kind=c, hollow=s == "low"))
    return out


def summary(out: Mapping[str, Any], hashes: Mapping[str, str]) -> str:
    """The Markdown file. `hashes`: of design and trials, whole; shown by their first digits."""
    design = out["design"]
    parts = [
        "# CIRRUS-24 pilot", f"**{STAMP}**" if out["simulated"] else "",
        f"{design['trials']} trials: {len(design['models'])} "
        f"{'respondents' if out['simulated'] else 'models'} × {design['runs']} runs × 4 cells "
        f"(symmetry × coupling cue); compliance {design['compliance']}, tells {design['tells']}, "
        f"seed {design['seed']}, {design['bulletins']} bulletins.",
        "## What was found", md_bullets(out["claims"]["may"]),
        "## What may not be claimed", md_bullets(out["claims"]["may_not"]),
        "## Success criteria", _success(out["success"]),
        "## Cooperation by cell, all models",
        md_code(plots.bars(cell_points(out["pooled"]["cells"]))),
        "█ to the lower end of the 95% interval (over bulletins), ▒ to the mean of the models' "
        "means, ─ to the upper end.",
        "## Interaction", md_code(_interaction_plot(out["pooled"]["cells"])),
        f"Difference of differences: {_figure(out['pooled']['interaction'])}.",
        "## Effects, all models", _effects(out["pooled"]), EFFECTS_NOTE,
        "## Model by model", *(_model(name, out["models"][name]) for name in design["models"]),
        "## Quality of the data", _quality(out),
        " · ".join([f"cirrus-bench {VERSION}", *(
            f"{name} {value}" for name, value in identity(out, hashes).items())]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def identity(out: Mapping[str, Any], hashes: Mapping[str, str]) -> dict[str, str]:
    """What the foot of the summary and of the page names: seed, hashes, the design's choices."""
    design = out["design"]
    return {"seed": str(design["seed"]), **{name: value[:12] for name, value in hashes.items()},
            "tells": design["tells"], "compliance": design["compliance"]}


EFFECTS_NOTE = (
    "Difference: mean over matched units (bulletins, averaged over runs and, pooled, models), 95% "
    "t interval. Bootstrap: exact distribution over the same units, BCa. d, h, δ: both sides' "
    "decisions counted as independent trials (for 0/1 data δ is the difference of proportions); d "
    "by the noncentral t, δ by Feng & Cliff. “–”: can't be computed, the reason is in "
    "pilot-analysis.json. Exploratory p-values are only there.")


def _success(rows) -> str:
    return md_table(["criterion", "verdict", "figure"],
                    [[r["criterion"], MARKS[r["met"]], r["figure"]] for r in rows])


def _interaction_plot(cells: Mapping) -> str:
    rows = {f"C {c}": [cells[NAMES[s, c]]["mean"] for s in ("low", "high")]
            for c in ("present", "absent")}
    return plots.interaction(rows, ("S low", "S high"))


def _figure(entry: Mapping) -> str:
    return f"{points(entry['value'])} ({span(entry['low'], entry['high'])}, " \
           f"{entry['units']} units)"


def effect_rows(own: Mapping) -> list[list[str]]:
    """A row a contrast: label, difference, bootstrap, d, h, δ."""
    rows = []
    for name in CONTRASTS:
        entry = own["effects"][name]
        sizes = entry["sizes"]
        rows.append([entry["label"], bracket(entry, 100, 1), bracket(entry["bootstrap"], 100, 1),
                     bracket(sizes["d"]), bracket(sizes["h"]), bracket(sizes["delta"])])
    cross = own["interaction"]
    rows.append([cross["label"], bracket(cross, 100, 1), bracket(cross["bootstrap"], 100, 1),
                 "–", "–", "–"])
    return rows


EFFECT_HEAD = ["contrast", "difference, points", "bootstrap", "d", "h", "Cliff's δ"]


def _effects(own: Mapping) -> str:
    return md_table(EFFECT_HEAD, effect_rows(own))


def _model(name: str, own: Mapping) -> str:
    return "\n\n".join([f"### {harmless(name)}", md_code(plots.bars(cell_points(own["cells"]))),
                        _effects(own)])


def quality_rows(out: Mapping) -> list[list[str]]:
    """Status by cell: cell, then a count for each status that occurs."""
    kinds = sorted(out["outcomes"]["status"])
    return [["cell", *kinds]] + [[name, *(counts.get(kind, 0) for kind in kinds)]
                                 for name, counts in out["outcomes"]["by_cell"].items()]


def quality_sentences(out: Mapping) -> list[str]:
    """Missing data, labels, position, cost, in words."""
    bounds, labels, position = out["missing"]["primary"], out["labels"], out["position"]
    said = []
    if sum(out["missing"]["by_cell"].values()):
        said.append(
            "Missing decisions filled in: all cooperative "
            f"{points(bounds['all_cooperative'])}, none cooperative "
            f"{points(bounds['none_cooperative'])}; worst cases {points(bounds['lowest'])} to "
            f"{points(bounds['highest'])} for the primary difference.")
    schemes = ", ".join(f"{name} {entry['k']}/{entry['n']}"
                        for name, entry in labels["schemes"].items())
    said.append(f"Cooperation by label scheme: {schemes}.")
    if position["share"] is not None:
        said.append(f"The option that stands first was taken in {position['k']} of "
                    f"{position['n']} decisions: "
                    f"{rate(position['share'], position['low'], position['high'])}.")
    for name, served in out["served"].items():
        for what, several in (("models", served["served_model"]), ("providers",
                                                                   served["provider"])):
            if len(several) > 1:
                said.append(f"{name} was served by {len(several)} {what} "
                            f"({', '.join(several)}): they are not told apart here.")
    said.append(f"Cost of the answers: {dollars(out['cost'])}.")
    return said


def _quality(out: Mapping) -> str:
    head, *rows = quality_rows(out)
    return md_table(head, rows) + "\n\n" + md_bullets(quality_sentences(out))


def terminal(path: Path) -> str:
    """The gist of an analysis file for the terminal."""
    out = json.loads(Path(path).read_bytes())
    lines = [STAMP] if out["simulated"] else []
    lines += ["", plots.bars(cell_points(out["pooled"]["cells"])), ""]
    for name, label in (("primary", "difference, S high & C present − S low & C absent"),
                        ("interaction", "interaction S×C")):
        entry = out["pooled"]["effects"]["primary"] if name == "primary" else \
            out["pooled"]["interaction"]
        lines.append(f"{label}: {points(entry['value'])} ({span(entry['low'], entry['high'])})")
    lines += ["", *(f"{MARKS[row['met']]:>8}  {row['criterion']}: {row['figure']}"
                    for row in out["success"]), ""]
    return "\n".join(printable(line) for line in lines)
