"""report.html of a tournament: verdicts, figures, and every policy with its decisions to read."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cirrus.ask.design import PARTS
from cirrus.judge.endpoint import SECONDARY
from cirrus.judge.rows import Decision, Run, Study, decisions, policies
from cirrus.markers.agreement import weights_of
from cirrus.markers.labels import Weights, labels
from cirrus.markers.ratings import readable
from cirrus.reports.markers import (
    AGREEMENT_NOTE,
    CELLS_NOTE,
    agreement_table,
    cell_table,
    function_table,
    raters_sentence,
    status_sentence,
    validity_sentence,
)
from cirrus.reports.study_summary import (
    EFFECTS_NOTE,
    TRIPPED,
    Table,
    bounds_sentence,
    convergence_table,
    course_table,
    design_sentence,
    effect_table,
    identity,
    interaction_rows,
    main_cells,
    main_part,
    missing_table,
    model_sentences,
    model_table,
    part_table,
    parts,
    registration_sentence,
    run_table,
)
from cirrus.reports.words import dollars, in_words, points, span
from show import old_plots as plots
from show import page
from show.old_plots import Point
from show.page import text

ALL = 1_000_000
MOST = 40_000      # decisions on the page: some 10 MB
SHOWN = 20_000     # characters of a text
EXCERPTS = 2       # policies a cell
KIND = {"pass": "yes", "fail": "no", "undecided": "maybe", "not evaluable": "dim"}
WIRE_KIND = {True: "no", False: "yes", None: "dim"}


def report(out: Mapping[str, Any], study: Study) -> str:
    """The whole HTML file; policies and answers are read from the runs again."""
    design, point = out["design"], out["primary"]
    passed = sum(gate["established"]["verdict"] == "pass" for gate in out["gates"])
    unfinished = [run["run"] for run in out["runs"] if run["state"] != "complete"]
    return page.page(
        "CIRRUS-24 tournament",
        "Do agents cooperate on a first encounter because they take their peers for alike? "
        + design_sentence(out),
        [page.tiles({
            "difference, S high & C present − S low & C absent": points(point["design"]["value"]),
            "its 95% interval, over units": span(
                point["design"]["low"], point["design"]["high"]).replace("95% interval ", ""),
            "gates established": f"{passed} of {len(out['gates'])}",
            "decisions read": f"{design['read']:,} of {design['decisions']:,}",
            "cost of the answers": dollars(out["cost"])}),
         _claims(out), _gates(out), _cooperation(out), _effects(out), _tripwires(out),
         _later(out), _markers(out["markers"]), _excerpts(study), _runs(out),
         _policies(study, weights_of(out))],
        identity(out), out["simulated"],
        f"INCOMPLETE: {', '.join(unfinished)}." if unfinished else "",
        "python3 analyze.py FOLDER")


def _table(table: Table, numeric: Sequence[int] = (), caption: str = "") -> str:
    head, rows = table
    return page.table(head, [[text(cell) for cell in row] for row in rows], numeric, caption)


def _claims(out: Mapping) -> str:
    found = out["registration"]
    return page.section(
        "What may be said", f'<p class="lead">{text(out["claims"]["headline"])}</p>',
        page.paragraph(registration_sentence(out), "dim"),
        page.bullets(found["deviations"]) if found["deviations"] else "",
        page.columns("<h3>From these data</h3>" + page.bullets(out["claims"]["may"]),
                     "<h3>Not from these data</h3>" + page.bullets(out["claims"]["may_not"])))


def _gates(out: Mapping) -> str:
    rows = [[f"<b>{text(gate['title'])}</b><br><small>{text(gate['asks'])} Enough in calibration: "
             f"{text(gate['enough'])}.</small>",
             *(f"{page.tag(own['verdict'], KIND[own['verdict']])}<br>"
               f"<small>{text(own['figure'])}</small>"
               for own in (gate["established"], gate["as_specified"]))] for gate in out["gates"]]
    return page.section(
        "Credibility gates", page.table(["gate", "established", "as specified"], rows, (),
                                        "Each gate with two verdicts"),
        page.paragraph("Established: the data exclude the alternative; this verdict decides, and "
                       f"all {in_words(len(out['gates']))} must pass. As specified: the rule on "
                       "the estimate.", "dim"))


def _cooperation(out: Mapping) -> str:
    cells = main_cells(out)
    if not any(cell["n"] for cell in cells):
        return page.section("Cooperation", page.paragraph("No readable decision to draw."))
    groups = {f"H {h}": [_point(c) for c in cells if c["H"] == h]
              for h in dict.fromkeys(c["H"] for c in reversed(cells))}
    drawn = [page.figure(plots.lines(
        {name: [_corner(cell) for cell in own] for name, own in lines.items()},
        ("S low", "S high"), f"Symmetry and cue where H is {h}"),
        f"Compliance pressure {h}. Parallel lines: no interaction on this scale.")
        for h, lines in interaction_rows(cells).items()]
    return page.section("Cooperation on first encounters of round 1", page.columns(
        page.figure(plots.dot_plot(groups, "Cooperation by cell"),
                    "Share of cooperative decisions with 95% Wilson intervals over decisions. "
                    "Filled: S high; hollow: S low. Circle: cue present; square: absent. Decisions "
                    "of one agent rest on one policy: for reading, not for testing."),
        "".join(drawn)))


def _point(cell: Mapping) -> Point:
    return Point(f"S {cell['S']} · C {cell['C']}", cell["mean"], cell["low"], cell["high"],
                 f"{cell['k']}/{cell['n']}", cell["C"], cell["S"] == "low")


def _corner(cell: Mapping | None) -> Point:
    return Point("", None) if cell is None else _point(cell)._replace(label="")


def _effects(out: Mapping) -> str:
    point = out["primary"]
    entries = [("primary contrast", point["design"])]
    entries += [(f"primary where H is {h}", entry) for h, entry in point["at_h"].items()]
    entries += [(PARTS[name], part["effect"]) for name, part in parts(out).items()
                if name != main_part(out)]
    entries += [(out["secondary"][name]["label"], out["secondary"][name]) for name in SECONDARY]
    spots = [Point(label, e["value"], e["low"], e["high"]) for label, e in entries]
    head, rows = model_table(out)
    return page.section(
        "Effects", page.columns(
            page.figure(plots.forest(spots, "Effects over units", "points of cooperation"),
                        "Mean over units with 95% t intervals."),
            "<h3>The primary contrast in each part of the data</h3>"
            + _table(part_table(out), (1, 2, 3))),
        _table(effect_table(out), (1, 2, 3, 4), "Contrasts of cooperation"),
        page.paragraph(EFFECTS_NOTE, "dim"),
        "<h3>Mixed-effects logistic regression</h3>",
        page.bullets([line.replace("`", "") for line in model_sentences(out)]),
        _table((head, rows), (1, 2, 3, 4), "Likelihood-ratio tests of the terms") if rows else "")


def _tripwires(out: Mapping) -> str:
    rows = [[text(wire["title"]), page.tag(TRIPPED[wire["tripped"]], WIRE_KIND[wire["tripped"]]),
             text(wire["figure"])] for wire in out["tripwires"]]
    return page.section(
        "Quality of the data", page.table(["tripwire", "state", "figure"], rows, (), "Tripwires"),
        page.fold("Missing decisions by cell", _table(missing_table(out), (2, 3))
                  + page.paragraph(bounds_sentence(out))))


def _later(out: Mapping) -> str:
    return page.section(
        "Later encounters and policies",
        page.columns("<h3>Cooperation by round and encounter</h3>" + _table(course_table(out)),
                     "<h3>Do policies converge?</h3>"
                     + _table(convergence_table(out), (1, 2, 3))
                     + page.paragraph("Mean TF-IDF cosine (characters, 3 to 5) over all pairs of "
                                      "policies that answer one bulletin.", "dim")))


def _markers(markers: Mapping) -> str:
    """Shares by cell, who agreed with whom, and whether the marker predicts anything."""
    table = cell_table(markers)
    rated = (_agreement(markers)
             + page.paragraph(AGREEMENT_NOTE.format(bar=markers["bar"]), "dim")
             if markers["raters"] else "")
    return page.section(
        "Markers in policies", page.paragraph(status_sentence(markers)),
        _table(table, range(1, len(table[0])), "Share of policies by cell")
        + page.paragraph(CELLS_NOTE, "dim")
        if markers["cells"] else "",
        page.paragraph(raters_sentence(markers)), rated,
        page.paragraph(validity_sentence(markers).replace("`", "")),
        page.fold("What each labelling function is worth",
                  _table(function_table(markers), range(2, 7))))


def _agreement(markers: Mapping) -> str:
    head, rows = agreement_table(markers)
    marked = [[*map(text, row[:-1]), page.tag(row[-1], row[-1]) if row[-1] in ("yes", "no")
               else f"<small>{text(row[-1])}</small>"] for row in rows]
    return page.table(head, marked, (2, 3, 4, 5), "Who agrees with whom, by marker")


def _runs(out: Mapping) -> str:
    return page.section("Runs and cost", _table(run_table(out), (3, 4, 5)))


# --- texts -------------------------------------------------------------------------------------

def _excerpts(study: Study) -> str:
    """The first policies of each extreme cell by agent: chosen by place, not by what they say."""
    quotes = []
    for run in study.runs:
        if run.role == "main" and run.cell[:2] in (("high", "present"), ("low", "absent")):
            found = [policy for policy in policies(run, checked=False) if policy["round"] == 1
                     and policy["policy_status"] == "ok"
                     and not policy["markers"]["benchmark_terms"]][:EXCERPTS]
            quotes += [f"<h3>{text(_cell(run))}, {text(policy['agent'])}</h3>"
                       f"<pre>{text(policy['policy'][:SHOWN])}</pre>" for policy in found]
    if not quotes:
        return ""
    return page.section(
        "In their own words", page.paragraph(
            f"The first {EXCERPTS} policies of round 1 in each of the two cells that the primary "
            "contrast compares, by agent id: taken by place, not by what they say; those with "
            "benchmark terms are passed over.", "dim"),
        page.columns("".join(quotes[::2]), "".join(quotes[1::2])))


def _cell(run: Run) -> str:
    s, c, h = run.cell
    return f"{run.domain} S {s}, C {c}, H {h}"


class Scope(NamedTuple):
    """What the page has room for: the first `rounds` and `encounters`, all runs or the main."""

    words: str
    rounds: int = ALL
    encounters: int = ALL
    main_only: bool = False

    def holds(self, run: Run) -> bool:
        return run.role == "main" or not self.main_only

    def decisions(self, run: Run) -> int:
        n, each = run.config["agents"], run.config["games_per_pair"]
        return (self.holds(run) * n * (n - 1) * min(self.rounds, run.config["rounds"])
                * min(self.encounters, each))


SCOPES = (Scope(""), Scope("round 1 only", 1), Scope("first encounters of round 1 only", 1, 1),
          Scope("first encounters of round 1 in the main runs only", 1, 1, True),
          Scope("the main runs' policies of round 1, without decisions", 1, 0, True))


def scope_of(study: Study) -> Scope:
    """The widest scope with at most MOST decisions."""
    return next(scope for scope in SCOPES
                if sum(map(scope.decisions, study.runs)) <= MOST)


def _policies(study: Study, weights: Weights) -> str:
    scope = scope_of(study)
    runs = [run for run in study.runs if scope.holds(run)]
    most = max((run.config["agents"] for run in runs), default=0)
    choices = {"role": list(dict.fromkeys(run.role for run in runs)),
               "cell": list(dict.fromkeys(_cell(run) for run in runs)),
               "agent": [f"agent-{n + 1:02d}" for n in range(most)]}
    note = ("Each fold holds a policy and the decisions that rest on it, as answered."
            + (f" There are too many for one page: {scope.words}; exports/ and transcripts/ hold "
               "all." if scope.words else ""))
    return page.section(
        "Every policy and rationale" if not scope.words else "Policies and rationales",
        page.paragraph(note, "dim"), page.search_box("details.policy", choices),
        *(fold for run in runs for fold in _folds(run, scope, weights)))


def _folds(run: Run, scope: Scope, weights: Weights) -> Iterator[str]:
    said: dict[str, list[str]] = {}
    for row in decisions(run, checked=False):
        if row.round <= scope.rounds and row.encounter <= scope.encounters:
            said.setdefault(row.policy, []).append(_line(row))
    for policy in policies(run, checked=False):
        if policy["round"] <= scope.rounds:
            yield _fold(run, policy, said.get(policy["policy_id"], []), weights)


def _line(row: Decision) -> str:
    answer = " ".join(row.text[:SHOWN].split())
    return f"{row.encounter}. with {row.opponent}: {row.decision or row.status} · {answer}"


def _fold(run: Run, policy: Mapping, said: Sequence[str], weights: Weights) -> str:
    status = policy["policy_status"]
    marked = [name.replace("_", " ") for name, found in labels(weights, policy["policy"]).items()
              if found and readable(status)]
    head = (f"{page.tag(status, 'yes' if status == 'ok' else 'maybe')} {text(_cell(run))} · round "
            f"{policy['round']} · {text(policy['agent'])} <small>· {text(policy['bulletin'])} "
            f"{text(policy['variant'])}{' · ' + text(', '.join(marked)) if marked else ''}</small>")
    answers = text("\n".join(said))
    body = (f"<pre>{text(policy['policy'][:SHOWN])}</pre>"
            + (f"<h3>Decisions</h3><pre>{answers}</pre>" if said else "")
            + f'<p class="dim">{text(policy["policy_id"])} · served by '
            f"{text(policy['served_model'])}</p>")
    return page.fold(head, body, page.keys(run.role, _cell(run), policy["agent"]), "policy")
