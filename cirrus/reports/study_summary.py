"""acausal-summary.md, and what the terminal shows. A pure function of the analysis.

The tables here are rows of plain words: the report shows the same ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cirrus.ask.design import PARTS, part_of
from cirrus.judge.endpoint import FIXED, SECONDARY
from cirrus.reports.markers import (
    AGREEMENT_NOTE,
    CELLS_NOTE,
    agreement_table,
    cell_table,
    raters_sentence,
    status_sentence,
    validity_sentence,
)
from cirrus.reports.words import (
    STAMP,
    bracket,
    count,
    dollars,
    harmless,
    md_bullets,
    md_code,
    md_table,
    number,
    p_is,
    p_value,
    points,
    span,
)
from common import VERSION
from common.artifacts import canonical_json, sha256
from common.cli import printable
from show import figures
from show import old_plots as plots
from show.figures import percent
from show.old_plots import Point

TRIPPED = {True: "TRIPPED", False: "quiet", None: "not checked"}
EFFECTS_NOTE = (
    "Mean over units (an agent under a seed) of the difference inside each, with 95% t interval "
    "and two-sided sign-flip test (exact, or 100,000 random signs where the analysis names "
    "resamples). “–”: can't be computed; acausal-analysis.json says why.")
Table = tuple[list[str], list[list[str]]]


def main_part(out: Mapping[str, Any]) -> str:
    """The part that holds the primary data."""
    return part_of("main", out["design"]["domain"])


def parts(out: Mapping[str, Any]) -> dict[str, Mapping]:
    """What was run beside the primary data, in one order."""
    return {name: out["parts"][name] for name in PARTS if name in out["parts"]}


def main_cells(out: Mapping[str, Any]) -> list[Mapping]:
    return out["parts"].get(main_part(out), {"cells": []})["cells"]


def summary(out: Mapping[str, Any]) -> str:
    """The Markdown file."""
    said = [
        "# CIRRUS-24 tournament", f"**{STAMP}**" if out["simulated"] else "",
        f"**{harmless(out['claims']['headline'])}**", design_sentence(out),
        registration_sentence(out), md_bullets(out["registration"]["deviations"]),
        "## What was found", md_bullets(out["claims"]["may"]),
        "## What may not be claimed", md_bullets(out["claims"]["may_not"]),
        "## Credibility gates", md_table(*gate_table(out)),
        "“As specified” is the rule on the estimate; “established” asks whether the data exclude "
        "the alternative, and decides. “Enough” is the smallest size tried at which a calibration "
        "with a planted effect passes it in 80% of replications.",
        "## Cooperation on first encounters of round 1", _bars(out),
        "## Symmetry and coupling cue", *_interactions(out),
        "## Primary endpoint and secondary contrasts", md_table(*effect_table(out)), EFFECTS_NOTE,
        *model_sentences(out), *_model_table(out),
        "## The same contrast elsewhere", md_table(*part_table(out)),
        "## Missing decisions", md_table(*missing_table(out)), bounds_sentence(out),
        "## Tripwires", md_table(*tripwire_table(out)),
        "## Later encounters", md_table(*course_table(out)),
        "## Policies", md_table(*convergence_table(out)),
        "## Markers in policies", *_markers(out["markers"]),
        "## Runs and cost", md_table(*run_table(out)), f"Cost: {dollars(out['cost'])}.",
        " · ".join([f"cirrus-bench {VERSION}", *(
            f"{name} {value}" for name, value in identity(out).items())])]
    return "\n\n".join(part for part in said if part) + "\n"


def identity(out: Mapping[str, Any]) -> dict[str, str]:
    """What the foot of the summary and of the page names; `journals`: of all runs' last lines."""
    heads = canonical_json([[run["run"], run["journal"]] for run in out["runs"]])
    return {"seed": ", ".join(map(str, out["design"]["seeds"])),
            "prompts": out["design"]["prompts_sha256"][:12], "journals": sha256(heads)[:12],
            "analysis": out["registration"]["kind"]}


# --- sentences ---------------------------------------------------------------------------------

def design_sentence(out: Mapping[str, Any]) -> str:
    design = out["design"]
    asked = ", ".join(dict.fromkeys(name for own in design["models"].values() for name in own))
    return harmless(
        f"{count(design['runs'], 'run')}, {design['agents']} agents, "
        f"{count(len(design['seeds']), 'seed')}; {asked}. Primary data: {design['decisions']} "
        f"decisions of {count(design['units'], 'unit')}, {design['read']} of them readable, on "
        f"{count(design['bulletins'], 'bulletin')}.")


def registration_sentence(out: Mapping[str, Any]) -> str:
    found = out["registration"]
    heads = ", ".join(f"{name} {head[:12]}" for name, head in found["heads"].items())
    said = f"{found['kind'].capitalize()} analysis" + (f": {found['why']}" if found["why"] else "")
    return said + (f" (preregistration {heads})." if heads else ".")


def bounds_sentence(out: Mapping[str, Any]) -> str:
    bounds = out["primary"]["bounds"]
    if bounds["lowest"] is None:
        return ""
    return (f"With every missing decision filled in: all cooperative "
            f"{points(bounds['all_cooperative'])}, none {points(bounds['none_cooperative'])}; "
            f"worst cases {points(bounds['lowest'])} to {points(bounds['highest'])}.")


def model_sentences(out: Mapping[str, Any]) -> list[str]:
    """What the two mixed models are, and what was left out of them."""
    model = out["primary"]["model"]
    left = "; ".join(f"{name} ({why})" for name, why in sorted(model["left_out"].items()))
    said = [f"Left out of the models: {left}."] if left else []
    for name, title in (("as_specified", "As specified"), ("with_policy", "With (1|policy)")):
        own = model[name]
        if own["primary"] is None:
            said.append(f"{title}, `{own['formula']}`: no test ({harmless(own['why'])}).")
            continue
        said.append(
            f"{title}, `{own['formula']}`: primary contrast {number(own['primary']['estimate'])} "
            f"log odds, likelihood ratio {p_is(own['primary']['p'])}."
            + (f" {own['why'][0].upper()}{own['why'][1:]}." if own["why"] else ""))
    return said


# --- tables, for Markdown and for the page -----------------------------------------------------

def gate_table(out: Mapping[str, Any]) -> Table:
    return (["gate", "as specified", "figure", "established", "rests on", "enough for it"],
            [[gate["title"], gate["as_specified"]["verdict"], gate["as_specified"]["figure"],
              gate["established"]["verdict"], gate["established"]["figure"], gate["enough"]]
             for gate in out["gates"]])


def _effect_row(entry: Mapping[str, Any], label: str, p: str = "p") -> list[str]:
    return [label, bracket(entry, 100, 1), p_value(entry[p]), str(entry["units"])]


def effect_table(out: Mapping[str, Any]) -> Table:
    point = out["primary"]
    rows = [[*_effect_row(point["design"], f"primary: {point['label']}"), "–"]]
    if point["design"]["by_seed"]:
        rows.append([*_effect_row(point["design"]["by_seed"], "the same, seeds as units"), "–"])
    rows += [[*_effect_row(entry, f"primary where H is {h}"), "–"]
             for h, entry in point["at_h"].items()]
    rows += [[*_effect_row(entry, entry["label"]), p_value(entry["p_holm"])]
             for entry in (out["secondary"][name] for name in SECONDARY)]
    delta = point["delta"]
    rows.append(["Cliff's δ (−1 to 1), primary cells, interval over units", bracket(delta), "–",
                 str(delta["units"]), "–"])
    return ["contrast", "points (95% interval)", "p", "units", "p, Holm"], rows


def model_table(out: Mapping[str, Any]) -> Table:
    """Likelihood-ratio tests of both models' terms."""
    model = out["primary"]["model"]
    columns = [model[name]["tests"] or {} for name in ("as_specified", "with_policy")]
    terms = [term for term in FIXED if any(term in tests for tests in columns)]
    return (["term", "as specified: χ² (df)", "p", "with (1|policy): χ² (df)", "p with (1|policy)"],
            [[term, *(cell for tests in columns for cell in _test_cells(tests.get(term)))]
             for term in terms])


def _test_cells(test: Mapping | None) -> list[str]:
    if test is None or test["chi2"] is None:
        return ["–", "–"]
    return [f"{test['chi2']:.2f} ({test['df']})", p_value(test["p"])]


def _model_table(out: Mapping[str, Any]) -> Iterator[str]:
    head, rows = model_table(out)
    if rows:
        yield md_table(head, rows)


def part_table(out: Mapping[str, Any]) -> Table:
    return (["data", "points (95% interval)", "p", "units", "remark"],
            [[*_effect_row(part["effect"], PARTS[name]), part["effect"]["why"] or ""]
             for name, part in parts(out).items()])


def missing_table(out: Mapping[str, Any]) -> Table:
    return (["data", "cell", "readable", "missing"],
            [[PARTS[name], cell["cell"], str(cell["n"]), str(cell["missing"])]
             for name, part in parts(out).items() for cell in part["cells"]])


def tripwire_table(out: Mapping[str, Any]) -> Table:
    return (["tripwire", "state", "figure"],
            [[wire["title"], TRIPPED[wire["tripped"]], wire["figure"]]
             for wire in out["tripwires"]])


def course_table(out: Mapping[str, Any]) -> Table:
    """Cooperation by round and encounter of the main runs: later ones see history."""
    held = {(row["domain"], row["round"], row["encounter"]): row for row in out["course"]
            if row["role"] == "main"}
    last = max((key[2] for key in held), default=0)
    rows = [[f"{domain}, round {number_}", *(_share(held.get((domain, number_, e)))
                                     for e in range(1, last + 1))]
            for domain, number_ in sorted({key[:2] for key in held})]
    return ["data", *(f"encounter {e}" for e in range(1, last + 1))], rows


def _share(row: Mapping | None) -> str:
    return "–" if row is None or row["mean"] is None else f"{percent(row['mean'])} of {row['n']:,}"


def convergence_table(out: Mapping[str, Any]) -> Table:
    return (["policies of", "similarity within cells", "between cells", "difference"],
            [[f"round {row['round']}", figures.plain(row["within"], 3),
              figures.plain(row["between"], 3), number(row["difference"], 3)]
             for row in out["convergence"]])


def _markers(markers: Mapping[str, Any]) -> Iterator[str]:
    yield status_sentence(markers)
    if markers["cells"]:
        yield from (md_table(*cell_table(markers)), CELLS_NOTE)
    yield harmless(raters_sentence(markers))
    head, rows = agreement_table(markers)
    if markers["raters"]:
        yield from (md_table(head, rows), AGREEMENT_NOTE.format(bar=markers["bar"]))
    yield validity_sentence(markers)


def run_table(out: Mapping[str, Any]) -> Table:
    return (["run", "role", "state", "calls", "unanswered", "cost"],
            [[run["run"], run["role"], run["state"], *_calls(run["outcomes"]),
              figures.dollars(run["cost"]["usd"])] for run in out["runs"]])


def _calls(outcomes: Mapping[str, Mapping[str, int]]) -> list[str]:
    every = sum(n for counts in outcomes.values() for n in counts.values())
    left = sum(counts.get(name, 0) for counts in outcomes.values()
               for name in ("provider_error", "not_run"))
    return [str(every), str(left)]


# --- plots -------------------------------------------------------------------------------------

def cell_points(cells: Sequence[Mapping]) -> list[Point]:
    return [Point(f"S {c['S']}, C {c['C']}, H {c['H']}", c["mean"], c["low"], c["high"],
                  f"{c['k']}/{c['n']}") for c in cells]


def _bars(out: Mapping[str, Any]) -> str:
    cells = main_cells(out)
    if not cells:
        return "No main runs."
    return md_code(plots.bars(cell_points(cells))) + (
        "\n\n█ to the lower end of the 95% Wilson interval (over decisions, which an agent's "
        "policy ties together: for reading, not for testing), ▒ to the share, ─ to the upper end.")


def interaction_rows(cells: Sequence[Mapping]) -> dict[str, dict[str, list[Mapping | None]]]:
    """{H: {"C present": [cell at S low, cell at S high], …}} for levels of H with any cell."""
    held = {(c["S"], c["C"], c["H"]): c for c in cells}
    return {h: {f"C {c}": [held.get((s, c, h)) for s in ("low", "high")]
                for c in ("present", "absent")}
            for h in ("low", "high", "omit") if any(key[2] == h for key in held)}


def _interactions(out: Mapping[str, Any]) -> Iterator[str]:
    for h, lines in interaction_rows(main_cells(out)).items():
        rows = {name: [cell and cell["mean"] for cell in own] for name, own in lines.items()}
        yield f"H {h}:"
        yield md_code(plots.interaction(rows, ("S low", "S high")))


def terminal(out: Mapping[str, Any]) -> str:
    """The gist for the terminal."""
    point = out["primary"]
    lines = [STAMP] if out["simulated"] else []
    if main_cells(out):
        lines += ["", plots.bars(cell_points(main_cells(out))), ""]
    design = point["design"]
    lines += [f"{point['label']}: {points(design['value'])} ({span(design['low'], design['high'])}"
              f", {p_is(design['p'])} over {design['units']} units)", ""]
    lines += [f"{gate['established']['verdict']:>13}  {gate['title']}: "
              f"{gate['established']['figure']}" for gate in out["gates"]]
    lines += [f"{'TRIPPED':>13}  {wire['title']}: {wire['figure']}"
              for wire in out["tripwires"] if wire["tripped"]]
    lines += ["", out["claims"]["headline"]]
    return "\n".join(printable(line) for line in lines)
