"""A calibration to read: calibration.md, report.html with power curves, a few lines of terminal.

Every table is made once, as rows of plain words, and shown in both.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cirrus.calibrate.table import POPULATIONS, POWER
from cirrus.judge.gates import GATES
from cirrus.judge.tripwires import TITLES
from cirrus.reports.words import count, md_bullets, md_table
from common.artifacts import canonical_json, sha256
from show import old_plots as plots
from show import page
from show.figures import NONE, percent, plain, rate, signed
from show.old_plots import Point
from show.page import Heat, text

LEAD = ("Populations whose behaviour is known are put through the real prompts, parser and "
        "analysis, many times over. What the gates say of them is what the gates are worth.")
MET = {True: "met", False: "NOT MET", None: "too few"}
TAG = {True: "yes", False: "no", None: "dim"}
CURVE_NAMES = {"labels": "labels", "first_encounter": "first encounter",
               "cross_domain": "cross-domain", "ablation": "ablation", "holdout": "holdout",
               "effect_size": "effect size"}
NOTES = [
    "Shares stand with their 95% Wilson interval over replications: the Monte Carlo error. A "
    "claim is met where its figure is within that error of what is asked.",
    "A replication is round 1 of every run, first encounters only: the primary data. The "
    "unreadable tripwire compares a rate with 3%, so with the few answers of one round it trips "
    "by chance; a whole tournament has thirty times as many.",
    "One seed deals one bulletin to each domain. Where bulletins differ in how the cues work, a "
    "test over agents takes that one bulletin's effect for the effect: its result is about that "
    "bulletin. Only a test over six seeds or more speaks of bulletins at large.",
    "The mixed model is fitted in the first replications of small studies; where it is not, the "
    "first-encounter gate is evaluated only if the design-based test decides against it.",
]


class Table(NamedTuple):
    """`numeric`: columns of figures."""

    title: str
    head: list[str]
    rows: list[list[str]]
    numeric: tuple[int, ...] = ()
    note: str = ""


def share(figure: Mapping[str, Any] | None, digits: int = 1) -> str:
    """ "4.8% (3.6 to 6.3), 1,000", or a dash."""
    if figure is None or figure["share"] is None:
        return NONE
    return f"{rate(figure['share'], figure['low'], figure['high'], digits)}, {figure['n']:,}"


def held(out: Mapping[str, Any]) -> str:
    """How many of the claims are met, in a sentence."""
    known = [claim["met"] for claim in out["expectations"] if claim["met"] is not None]
    return f"{sum(known)} of {count(len(known), 'claim')} met"


# --- tables ------------------------------------------------------------------------------------

def claims_table(out: Mapping[str, Any]) -> Table:
    rows = [[claim["what"], claim["population"], claim["size"], share(claim["figure"]),
             MET[claim["met"]]] for claim in out["expectations"]]
    return Table("What must come out", ["claim", "population", "size", "share, of", "verdict"],
                 rows, (3,))


def sizes_table(out: Mapping[str, Any]) -> Table:
    rows = []
    for gate in GATES:
        own = out["minimum_sizes"][gate]
        rows.append([GATES[gate][0], own["size"] or own["why"], share(own["passed"]),
                     ", ".join(own["tried"]) or NONE])
    return Table("Sizes that are enough", ["gate", "smallest size tried that passes",
                                           "passes there, of", "sizes tried"], rows, (2,),
                 f"A size is agents × seeds; enough is a pass in {percent(POWER)} of replications "
                 "under “superrational”.")


def gate_table(rows: Sequence[Mapping], size: str) -> Table:
    """How often each population passes each gate, as established."""
    body = [[row["population"], *(share(row["gates"][gate]["established"], 0) for gate in GATES)]
            for row in rows if row["size"] == size]
    return Table(f"Gates passed at {size}", ["population", *(GATES[g][0] for g in GATES)], body,
                 tuple(range(1, len(GATES) + 1)))


def wire_table(rows: Sequence[Mapping], size: str) -> Table:
    body = [[row["population"], *(share(row["tripwires"][wire], 0) for wire in TITLES)]
            for row in rows if row["size"] == size]
    return Table(f"Tripwires tripped at {size}", ["population", *TITLES], body,
                 tuple(range(1, len(TITLES) + 1)))


def contrast_table(rows: Iterable[Mapping]) -> Table:
    body = [[row["population"], row["size"], signed(row["truth"]), signed(row["mean"]),
             share(row["covered"]), share(row["rejected"]),
             share(row.get("delta_covered")), share(row.get("rejected_by_seed"))]
            for row in rows]
    return Table("The primary contrast, by design",
                 ["population", "size", "true", "mean estimate", "95% interval covers",
                  "p < .05 over units", "Cliff's δ covers", "p < .05 over seeds"], body,
                 tuple(range(2, 8)))


def model_table(rows: Iterable[Mapping]) -> Table:
    body = [[row["population"], row["size"],
             *(share(row["model"][name][term]) for term in ("SxC", "primary")
               for name in ("as_specified", "with_policy")), share(row["met"])]
            for row in rows if row["model"]]
    return Table("By mixed model: p < .05", [
        "population", "size", "S×C as specified", "S×C with (1|policy)",
        "primary as specified", "primary with (1|policy)", "endpoint met"], body,
        tuple(range(2, 7)))


def pilot_table(rows: Iterable[Mapping]) -> Table:
    body = [[row["population"], row["size"], signed(row["truth"]), signed(row["mean"]),
             share(row["covered"]), share(row["bootstrap_covered"]),
             share(row["rejected"]), share(row["interaction_rejected"])] for row in rows]
    return Table("Pilots", ["population", "runs", "true", "mean estimate", "t interval covers",
                            "bootstrap covers", "p < .05", "S×C p < .05"],
                 body, tuple(range(2, 8)))


def sizes_of(rows: Iterable[Mapping]) -> list[str]:
    return list(dict.fromkeys(row["size"] for row in rows))


def tables(out: Mapping[str, Any]) -> list[Table]:
    """All tables in the order of the summary."""
    rows = out["tournaments"]
    found = [claims_table(out), sizes_table(out)]
    found += [make(rows, size) for make in (gate_table, wire_table) for size in sizes_of(rows)]
    found += [contrast_table(rows), model_table(rows), pilot_table(out["pilots"])]
    return [table for table in found if table.rows]


# --- Markdown and terminal ---------------------------------------------------------------------

def summary(out: Mapping[str, Any]) -> str:
    """calibration.md."""
    parts = ["# Calibration: what the analysis says of populations that are known",
             f"**SIMULATED.** {LEAD}",
             f"{out['replications']:,} replications, seed {out['seed']}: {held(out)}.",
             md_bullets(NOTES)]
    for table in tables(out):
        parts += [f"## {table.title}", *([table.note] if table.note else []),
                  md_table(table.head, table.rows)]
    parts += ["## Populations", md_table(["population", "what it does"], [
        [name, does] for name, (does, _) in POPULATIONS.items()]),
        f"prompts `{out['prompts_sha256'][:12]}`, code `{code_sha256(out)[:12]}`"]
    return "\n\n".join(parts) + "\n"


def code_sha256(out: Mapping[str, Any]) -> str:
    """One hash of all the code that the replications passed through."""
    return sha256(canonical_json(out["code_sha256"]))


def terminal(out: Mapping[str, Any]) -> str:
    """The gist: what is not met, and the sizes that are enough."""
    lines = [f"SIMULATED calibration: {out['replications']:,} replications, {held(out)}"]
    lines += [f"  not met: {claim['what']}: {share(claim['figure'])} ({claim['population']} "
              f"{claim['size']})" for claim in out["expectations"] if claim["met"] is False]
    rows = [row for row in sizes_table(out).rows if row[1] != "not tried"]
    wide = max((len(row[0]) for row in rows), default=0)
    lines += [f"  {row[0]:<{wide}}  {row[1]:<14}  passes {row[2]}" for row in rows]
    return "\n".join(lines)


# --- HTML --------------------------------------------------------------------------------------

def report(out: Mapping[str, Any]) -> str:
    """report.html."""
    rows, pilots = out["tournaments"], out["pilots"]
    sizes = sizes_of(rows)
    enough = [own["size"] for own in out["minimum_sizes"].values() if own["size"]]
    body = [
        page.tiles({"replications": f"{out['replications']:,}", "what must come out": held(out),
                    "gates with a size that is enough": f"{len(enough)} of {len(GATES)}"}),
        page.section("How to read this", page.bullets(NOTES)),
        page.section("What must come out", _claims(out)),
        page.section("Sizes that are enough", *_power(out))]
    if rows:
        body += [page.section("Gates passed", *(_heat(rows, size, _gate_cell, GATES, {
                     gate: title for gate, (title, *_) in GATES.items()}) for size in sizes)),
                 page.section("Tripwires tripped", *(_heat(rows, size, _wire_cell, TITLES, TITLES)
                                                     for size in sizes)),
                 *map(_section, (contrast_table(rows), model_table(rows)))]
    if pilots:
        body.append(_section(pilot_table(pilots)))
    body.append(page.section("Populations", page.table(
        ["population", "what it does"],
        [[text(name), text(does)] for name, (does, _) in POPULATIONS.items()])))
    return page.page(
        "Calibration", LEAD, [part for part in body if part],
        {"seed": str(out["seed"]), "prompts": out["prompts_sha256"][:12],
         "code": code_sha256(out)[:12]},
        simulated=True, again="python3 calibrate.py --reps N --sizes … --out DIR (the same flags)")


def _section(table: Table) -> str:
    if not table.rows:
        return ""
    return page.section(table.title, page.table(
        table.head, [[_whole(row[0]), *map(text, row[1:])] for row in table.rows], table.numeric))


def _whole(name: str) -> str:
    """A population's name in one piece, however narrow its column."""
    return f'<span class="pair">{text(name)}</span>'


def _claims(out: Mapping[str, Any]) -> str:
    table = claims_table(out)
    rows = [[*map(text, row[:-1]), page.tag(row[-1], TAG[claim["met"]])]
            for row, claim in zip(table.rows, out["expectations"], strict=True)]
    return page.table(table.head, rows, table.numeric)


def _power(out: Mapping[str, Any]) -> list[str]:
    """The table of sizes, and what “superrational” passes at each size."""
    table = sizes_table(out)
    parts = [page.paragraph(table.note, "dim"), page.table(
        table.head, [[text(cell) for cell in row] for row in table.rows], table.numeric)]
    own = [row for row in out["tournaments"] if row["population"] == "superrational"]
    tried = [gate for gate in GATES if sum(
        row["gates"][gate]["established"]["n"] > 0 for row in own) > 1]
    if tried:
        parts.append(page.columns(*(page.figure(
            plots.lines(_curves(own, tried[at:at + 3]), sizes_of(own), "Power by size"),
            "Share of replications that pass, with 95% Monte Carlo intervals. Gates that were "
            "tried at one size only are in the table.") for at in range(0, len(tried), 3))))
    levels = [row for row in out["pilots"] if row["population"] in ("superrational", "coin")]
    runs = sizes_of(levels)
    if len(runs) > 1:
        curves = {name: [_point(next((row["rejected"] for row in levels if row["size"] == size
                                      and row["population"] == name), None)) for size in runs]
                  for name in ("superrational", "coin")}
        parts.append(page.figure(plots.lines(curves, [f"{size} runs" for size in runs],
                                             "The pilot's primary contrast by size"),
                                 "How often the pilot's primary contrast has p < .05: power under "
                                 "“superrational”, level under “coin”."))
    return parts


def _curves(rows: Sequence[Mapping], gates: Iterable[str]) -> dict[str, list[Point]]:
    return {CURVE_NAMES[gate]: [_point(row["gates"][gate]["established"]) for row in rows]
            for gate in gates}


def _point(figure: Mapping[str, Any] | None) -> Point:
    if figure is None or figure["share"] is None:
        return Point("", None)
    return Point("", figure["share"], figure["low"], figure["high"], plain(figure["n"], 0))


def _heat(rows: Sequence[Mapping], size: str, cell, columns: Iterable[str],
          titles: Mapping[str, str]) -> str:
    body = [(row["population"], [_tinted(cell(row, name)) for name in columns])
            for row in rows if row["size"] == size]
    reps = max((row["reps"] for row in rows if row["size"] == size), default=0)
    head = [titles[name] if len(titles[name]) < 24 else name for name in columns]
    what = "gates" if cell is _gate_cell else "tripwires"
    return page.heat(head, body, f"{size}, {what}, up to {count(reps, 'replication')}")


def _gate_cell(row: Mapping, gate: str) -> Mapping:
    return row["gates"][gate]["established"]


def _wire_cell(row: Mapping, wire: str) -> Mapping:
    return row["tripwires"][wire]


def _tinted(figure: Mapping[str, Any]) -> Heat:
    if figure["share"] is None:
        return Heat(None)
    return Heat(figure["share"], percent(figure["share"]),
                title=f"{figure['k']:,} of {figure['n']:,}")
