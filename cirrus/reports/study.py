"""Makes the report of a tournament, whose trials are the policies with their decisions.

files(out, study)           {"acausal-summary.md": …, "report.html": …}
terminal(document(out))     the answer, as a terminal shows it
"""

import json
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from cirrus.ask.bulletins import CELL
from cirrus.ask.design import part_of, titles
from cirrus.judge.contrasts import CONTRASTS
from cirrus.judge.endpoint import SECONDARY, STATES
from cirrus.judge.gates import PASS
from cirrus.judge.rows import (
    RUNS_FILE,
    SavedRun,
    Study,
    decisions,
    policies,
    runs_file,
)
from cirrus.judge.study import analyse
from cirrus.markers import agreement as markers
from cirrus.markers.patterns import FAMILIES
from cirrus.markers.ratings import PEOPLE, item_id, raters, readable
from cirrus.reports.pilot import CROSSED, PARALLEL, UP, not_supported, point
from common import VERSION
from common.artifacts import (
    canonical_json,
    csv_bytes,
    json_file,
    read_bytes,
    sha256,
    write_atomic,
)
from show import document as doc
from show.figures import (
    NONE,
    STAMP,
    cost,
    count,
    counted,
    estimate,
    interval,
    p_is,
    p_value,
    percent,
    plain,
    points,
    sentence,
    signed,
)
from show.page import page
from show.plots import Intervals, Lines, Point

MOST = 1_000  # policies on the page, at most
SHOWN = 20_000  # characters of a text that are shown
RATIONALES = 12  # decisions that are shown with a policy
EXCERPT = 200  # characters of a policy that are quoted
EXCERPTS = f"The first by agent id, {EXCERPT} characters; a stroke is a new line"
QUOTED = 2  # policies quoted from each cell
LINES = 22  # lines of a terminal, before what a script adds
# The tags have no colour of praise or blame: a gate that passes is no success.
TAGS = {"pass": "plain", "fail": "plain", "undecided": "dim", "not evaluable": "dim"}
ALERTS = {True: doc.Tag("alert", "plain"), False: doc.Tag("quiet"), None: doc.Tag("–")}
RINGS = {True: doc.Tag("rings", "stamp"), False: doc.Tag("quiet"), None: doc.Tag("–")}
# {key of a gate's verdict: its heading}
RULES = {"as_specified": "as specified", "established": "established"}
EFFECTS_NOTE = (
    "First encounters of all rounds: mean over bulletins of the difference inside each; the 95% "
    "interval covers the drawing of bulletins and of wordings, and is no narrower than Newcombe's "
    "score interval; models share the 5%. No interval: one bulletin only."
)
SPECIFIED_NOTE = (
    "Mean over agents; two-sided p over all assignments of signs to agents. A cell is one run of a "
    "seed, and these runs share bulletins, pairs and labels. In the models S and C are tested "
    "without their product; the coefficients are those beside it."
)
GATES_NOTE = (
    "“As specified” is the rule on the estimate of round 1; “established” asks whether the data "
    "exclude the alternative, over the first encounters of all rounds, and decides."
)
COURSE_NOTE = (
    "Encounter: share of cooperation at a pair's meetings of the round, {history}. Similarity: "
    "mean TF-IDF cosine (characters, 3 to 5) over pairs of policies."
)
SHOWN_HISTORY = {True: "with history from the second on", False: "none with history"}
HISTORY_OFF = " History is off, so every encounter counts as a first one."
NO_ROUND = {"value": None, "low": None, "high": None}


def files(out: Mapping[str, Any], study: Study) -> dict[str, str]:
    """Return {file name: content} of a study's reports; texts are read from the runs
    again."""
    report = document(out, study)
    # The summary leaves out the second figure, since its table of effects says the same.
    sections = list(_sections(out, study, on_page=False))
    summary = report._replace(trials=None, gist=report.gist[:1], sections=sections)
    return {"acausal-summary.md": doc.markdown(summary), "report.html": page(report)}


def document(out: Mapping[str, Any], study: Study | None = None) -> doc.Document:
    """Return the report of an analysis; it quotes policies and answers where `study`
    is given."""
    unfinished = [run["run"] for run in out["runs"] if run["state"] != "complete"]
    stamps = [STAMP] if out["simulated"] else []
    if unfinished:
        stamps.append(f"INCOMPLETE: {', '.join(unfinished)}.")
    figure = None
    beside: list[list[Any]] = [[_short(out)]]
    if _shown(out):
        figure = _interaction(out)
        beside.insert(0, [_intervals(out)])
    return doc.Document(
        title="CIRRUS-24 tournament",
        question=_question(out),
        answer=out["as_specified"]["sentence"],
        foot=doc.Foot(VERSION, _identity(out), "python3 analyze.py FOLDER"),
        figure=figure,
        gist=[doc.Words(_established(out)), doc.Columns(beside)],
        sections=list(_sections(out, study)),
        trials=None if study is None else _trials(study),
        stamps=stamps,
        verdicts=_short(out),
        alarms=list(out["losses"].values()),
        note=_established(out),
    )


def _sections(
    out: Mapping[str, Any], study: Study | None, on_page: bool = True
) -> Iterator[doc.Section]:
    """Yield the sections below the first screen; on a page, figures are folded below
    their verdicts."""

    def folded(title: str, parts: list) -> list:
        return [doc.Fold(title, parts)] if on_page else parts

    if _shown(out):
        first, *rest = _endpoint(out)
        title = "Coefficients of the mixed models, and the exact test"
        parts = [first, *folded(title, rest)]
        yield doc.Section("Primary endpoint, as specified: round 1", parts)
    gates = [_gates(out), doc.Words(GATES_NOTE, "dim")]
    wires: list[Any] = [
        _wires(out),
        doc.Words(out["first_line"]["sentence"]),
        _answers(out),
    ]
    if on_page:
        gates = folded("What the gates rest on", gates)
        wires = [_brief(wires[0]), *folded("Figures, and by cell", wires)]
    yield doc.Section("Credibility gates", gates)
    yield doc.Section("Tripwires", wires)
    if _shown(out):
        tables = folded("Tables", list(_effects(out)))
        yield doc.Section("Effects, established", tables)
    marks = folded("Tables", list(markers.blocks(out["markers"])))
    yield doc.Section("Markers in policies", marks)
    quotes = "\n".join(_excerpts(study)) if study else ""
    if quotes:
        title = "Two policies of each cell, as they were written"
        parts = [doc.Words(EXCERPTS, "dim"), doc.Verbatim(quotes)]
        yield doc.Section(title, folded("The first by agent id", parts))
    yield _claims(out)
    runs = f"{count(len(out['runs']), 'run')}, {cost(out['cost'])}"
    title = "Runs" if on_page else f"Runs: {runs}"
    yield doc.Section(title, folded(runs, [_runs(out["runs"])]))


def _identity(out: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts in the page's foot; `answers` is a hash over the Merkle roots
    of all runs."""
    roots = canonical_json([[run["run"], run["merkle_root"]] for run in out["runs"]])
    return {
        "seed": ", ".join(map(str, out["design"]["seeds"])),
        "prompts": out["design"]["prompts_sha256"][:12],
        "answers": sha256(roots)[:12],
        "analysis": out["registration"]["kind"],
    }


def _question(out: Mapping[str, Any]) -> str:
    """Return the study's question with its sizes."""
    design = out["design"]
    models = dict.fromkeys(chain.from_iterable(design["models"].values()))
    return (
        "Do agents cooperate on a first encounter because they take their peers for alike? "
        f"{count(design['runs'], 'run')}, {count(design['agents'], 'agent')}, "
        f"{count(len(design['seeds']), 'seed')}; {', '.join(models)}. "
        f"{out['established']['decisions']:,} readable first decisions."
        f"{'' if design['history'] else HISTORY_OFF}"
    )


def _established(out: Mapping[str, Any]) -> str:
    """Return the second line of every report: the verdict, and how many gates are
    passed."""
    passed = []
    for rule in RULES:
        verdicts = [gate[rule]["verdict"] for gate in out["gates"]]
        passed.append(verdicts.count(PASS))
    return (
        f"Established, all rounds: {out['verdict']['sentence']} Credibility gates passed: "
        f"{passed[0]} of {len(out['gates'])} as specified, {passed[1]} established."
    )


def _shown(out: Mapping[str, Any]) -> bool:
    """Whether there are contrasts to draw; an unfinished study has counts only."""
    return bool(out["established"]["contrasts"] and out["established"]["decisions"])


# --- the endpoint as specified -----------------------------------------------------------------


def _endpoint(out: Mapping[str, Any]) -> Iterator[doc.Table | doc.Words | doc.Bullets]:
    """Yield the blocks on the primary endpoint: δ, both tests, and missing decisions
    filled in."""
    point = out["as_specified"]
    delta, model = point["delta"], point["model"]
    over = delta["clustered"]
    limits = interval(over["low"], over["high"], sign=True) or NONE
    yield doc.Words(
        f"Cliff's δ of the two cells: {estimate(delta).words} (decisions taken for "
        f"independent); over {count(over['units'], 'agent')} {limits}."
    )
    met = STATES[point["met"]].capitalize()
    yield doc.Words(f"{met}: {point['why']}.")
    yield _coefficients(model)
    yield doc.Bullets(list(_formulas(model)))
    yield _specified(out)
    yield doc.Words(SPECIFIED_NOTE, "dim")
    yield from _bounds(out)


def _coefficients(model: Mapping[str, Any]) -> doc.Table:
    """Return the table of both mixed models: terms in log odds, then SDs of random
    intercepts."""
    both = model["as_specified"], model["with_policy"]
    terms = [_by_name(each["coefficients"]) for each in both]
    rows: list[list[doc.Line]] = []
    for name in terms[0]:
        row: list[doc.Line] = [name]
        for held in terms:
            row += _coefficient(held.get(name))
        rows.append(row)
    fits = [each["fit"] or {"random_sd": {}, "groups": {}} for each in both]
    for name in fits[1]["random_sd"]:
        sds = [plain(fit["random_sd"].get(name)) for fit in fits]
        groups = count(fits[1]["groups"][name], "group")
        rows.append([f"SD of (1|{name}), {groups}", sds[0], "", "", sds[1], "", ""])
    heads = [
        "term",
        "log odds (95%), as specified",
        "p",
        "Holm",
        "with (1|policy)",
        "p",
        "Holm",
    ]
    decisions = count(model.get("rows", 0), "decision")
    return doc.Table(
        head=heads,
        rows=rows or [[both[1]["why"] or NONE]],
        numeric=range(1, 7),
        caption="Mixed logistic regression: round 1, first encounters, "
        f"{decisions}; p by likelihood ratio",
        name="coefficients",
    )


def _by_name(rows: Iterable[Mapping]) -> dict[str, Mapping]:
    """Return {term: its row in the table of coefficients}."""
    return {row["name"]: row for row in rows}


def _coefficient(row: Mapping[str, Any] | None) -> list[doc.Line]:
    """Return a term's estimate, p and Holm's p, dashes where a model lacks it."""
    if row is None:
        return [NONE, NONE, NONE]
    p = p_value(row["p"])
    if row["test"] == "Wald":
        p += " (Wald)"
    effect = estimate({**row, "value": row["estimate"]})._replace(unit="log odds")
    return [effect, p, p_value(row["p_holm"])]


def _formulas(model: Mapping[str, Any]) -> Iterator[doc.Line]:
    """Yield up to three lines: the terms left out, then each model with its test."""
    left_out = []
    for term, why in sorted(model["left_out"].items()):
        left_out.append(f"{term} ({why})")
    if left_out:
        yield f"Left out of the models: {'; '.join(left_out)}."
    specified, with_policy = model["as_specified"], model["with_policy"]
    yield ["As specified,", doc.Code(specified["formula"]), _fit(specified)]
    yield f"With (1|policy) beside it{_fit(with_policy)}"


def _fit(model: Mapping[str, Any]) -> str:
    """Return a model's test of the primary contrast as text, or why there is none."""
    if model["primary"] is None:
        return f": no test ({model['why']})."
    why = f" {sentence(model['why'])}" if model["why"] else ""
    return (
        f": symmetry + cue − neither {signed(model['primary']['estimate'])} log odds, "
        f"likelihood ratio {p_is(model['primary']['p'])}.{why}"
    )


def _specified(out: Mapping[str, Any]) -> doc.Table:
    """Return the table of exact tests: round 1, with agents under a seed as units."""
    point, rows = out["as_specified"], []
    for entry in [point["design"], *map(point["secondary"].get, SECONDARY)]:
        value = None if entry["value"] is None else 100 * entry["value"]
        both = [p_value(entry["p"]), p_value(entry.get("p_holm"))]
        rows.append([entry["label"], signed(value, 1), *both, str(entry["units"])])
    heads = ["contrast, as specified", "points", "p, exact sign flips"]
    heads += ["p, Holm", "agents"]
    return doc.Table(heads, rows, (1, 2, 3, 4), name="as-specified")


def _bounds(out: Mapping[str, Any]) -> Iterator[doc.Words]:
    """Say how the contrast would come out with every missing decision filled in."""
    bounds = out["as_specified"]["bounds"]
    if bounds["lowest"] is None:
        return
    said = {name: points(value) for name, value in bounds.items()}
    yield doc.Words(
        "With every missing decision filled in: all cooperative "
        f"{said['all_cooperative']}, none {said['none_cooperative']}; worst cases "
        f"{said['lowest']} to {said['highest']}."
    )


# --- gates and tripwires -----------------------------------------------------------------------


def _gates(out: Mapping[str, Any]) -> doc.Table:
    """Return the table of gates: both verdicts, and what would decide each."""
    rows = []
    for gate in out["gates"]:
        decides = gate["decides"] or NONE
        if gate["next"]:
            decides = [f"{decides}:", doc.Code(gate["next"])]
        both = [_ruled(gate[rule]) for rule in RULES]
        rows.append([gate["title"], *both, decides])
    heads = ["gate", *RULES.values(), "what would decide it"]
    return doc.Table(heads, rows, name="gates")


def _ruled(entry: Mapping[str, Any]) -> doc.Line:
    """Return a gate's verdict by one rule, with its figure."""
    return [_verdict(entry), doc.Small(entry["figure"])]


def _verdict(entry: Mapping[str, Any]) -> doc.Tag:
    return doc.Tag(entry["verdict"], TAGS[entry["verdict"]])


def _brief(wires: doc.Table) -> doc.Table:
    """Return the table of tripwires without its figures."""
    rows = [row[:4] for row in wires.rows]
    return wires._replace(head=wires.head[:4], rows=rows, name="board")


def _short(out: Mapping[str, Any]) -> doc.Table:
    """Return the table of gates in a form short enough for a terminal."""
    rows = []
    for gate in out["gates"]:
        decides = (gate["decides"] or NONE).partition(" (")[0]
        both = [_verdict(gate[rule]) for rule in RULES]
        rows.append([gate["title"], *both, decides])
    heads = ["gate", *RULES.values(), "would decide it"]
    return doc.Table(heads, rows, name="gates-in-short")


def _wires(out: Mapping[str, Any]) -> doc.Table:
    """Return the table of tripwires."""
    rows = []
    for wire in out["tripwires"]:
        states = ALERTS[wire["alert"]], RINGS[wire["tripped"]]
        rows.append([wire["title"], wire["limit"], *states, wire["figure"]])
    heads = ["tripwire", "alert if", *RULES.values(), "figure"]
    return doc.Table(heads, rows, name="tripwires")


def _answers(out: Mapping[str, Any]) -> doc.Table:
    """Return the table of how decisions ended in each main run: read, refused, cut
    off, other."""
    rows, several = [], len(out["design"]["seeds"]) > 1
    for run in out["runs"]:
        if run["role"] != "main":
            continue
        ended = run["statuses"]["decision"]
        total = sum(ended.values())
        three = [ended.get(status, 0) for status in ("ok", "refused", "truncated")]
        cell = run["cell"].replace("compliance ", "")
        if several:
            cell += f", seed {run['seed']}"
        shown = [counted(n, total) for n in three]
        rows.append([cell, *shown, str(total - sum(three))])
    heads = ["cell", "readable", "refused", "cut off", "other"]
    caption = "Decisions of the main runs, all rounds and encounters"
    return doc.Table(heads, rows, (1, 2, 3, 4), caption, "answers")


# --- effects -----------------------------------------------------------------------------------


def _interaction(out: Mapping[str, Any]) -> doc.Plot | None:
    """Draw the cells by symmetry and cue, in a panel for each level of compliance
    pressure."""
    parts = out["established"]["by_H"]
    panels: dict[str, dict] = {}
    for h in ("low", "high", "omit"):
        cells = parts[h]["cells"].values() if h in parts else ()
        if any(cell["n"] for cell in cells):
            panel = panels[f"compliance pressure {h}"] = {}
            for row, (low, high) in CROSSED.items():
                panel[row] = [point(parts[h], low), point(parts[h], high)]
    if not panels:
        return None
    ends = ("symmetry low", "symmetry high")
    lines = Lines("Cooperation by symmetry and cue", ends, panels, ("", UP))
    return doc.Plot(
        lines,
        f"First encounters of all rounds, {out['established']['decisions']:,} decisions; "
        f"95% intervals over bulletins and wordings. {PARALLEL}",
    )


def _primary(out: Mapping[str, Any]) -> list[tuple[str, Mapping]]:
    """List (label, contrast): the primary contrast of all main runs, then at each level
    of compliance pressure, then in each further part of the study."""
    contrast = out["established"]["contrasts"]["HP-LA"]
    main = part_of("main", out["design"]["domain"])
    rows = [(contrast["label"], contrast)]
    for h, part in out["established"]["by_H"].items():
        rows.append((f"the same, compliance pressure {h}", part["HP-LA"]))
    for name, title in titles(out["parts"]).items():
        if name != main:
            rows.append((f"the same, {title}", out["parts"][name]["HP-LA"]))
    return rows


def _rows(out: Mapping[str, Any]) -> list[tuple[str, Mapping]]:
    """List (label, contrast) of every contrast over bulletins and wordings."""
    contrasts, rows = out["established"]["contrasts"], _primary(out)
    for name in list(CONTRASTS)[1:]:
        if name in contrasts:
            rows.append((contrasts[name]["label"], contrasts[name]))
    rows += [(entry["label"], entry) for entry in out["history"].values()]
    return rows


def _intervals(out: Mapping[str, Any]) -> doc.Plot:
    """Draw the primary contrast with a dot for each bulletin."""
    rows = []
    for label, contrast in _primary(out):
        limits = contrast["value"], contrast["low"], contrast["high"]
        n = count(contrast["units"], "bulletin")
        dots = list(contrast["by_bulletin"].values())
        rows.append(Point(label, *limits, n, units=dots))
    title = "Symmetry + cue against neither"
    return doc.Plot(
        Intervals(title, {"": rows}, "points of cooperation"),
        "Mean over bulletins, a dot each, with 95% intervals; first encounters of all rounds.",
    )


def _effects(out: Mapping[str, Any]) -> Iterator[doc.Table | doc.Words]:
    """Yield the tables of contrasts and of the course over rounds."""
    yield _contrasts("contrast", _rows(out), "effects")
    yield doc.Words(EFFECTS_NOTE, "dim")
    parts = out["established"]["by_model"]
    if len(parts) > 1:
        by = [(name, part["contrasts"]["HP-LA"]) for name, part in parts.items()]
        yield _contrasts("primary contrast", by, "by-model")
    yield _course(out)
    history = SHOWN_HISTORY[out["design"]["history"]]
    yield doc.Words(COURSE_NOTE.format(history=history), "dim")


def _contrasts(head: str, rows: Iterable[tuple[str, Mapping]], name: str) -> doc.Table:
    """Return a table of contrasts: the estimate, or why there is none, and how many
    bulletins oppose it."""
    lines: list[list[doc.Line]] = []
    for label, entry in rows:
        shown: doc.Line = estimate(entry, 100, 1)
        if entry["value"] is None:
            shown = doc.Small(entry["why"])
        values = list(entry.get("by_bulletin", {}).values())
        against = sum(value * entry["value"] < 0 for value in values)
        lines.append([label, shown, f"{against} of {len(values)}"])
    head_row = [head, "points (interval)", "bulletins against"]
    return doc.Table(head_row, lines, (1, 2), name=name)


def _course(out: Mapping[str, Any]) -> doc.Table:
    """Return the main runs by round: cooperation at each encounter, effect,
    similarity of policies."""
    held, last, domain = {}, 0, out["design"]["domain"]
    for row in out["course"]:
        if (row["role"], row["domain"]) == ("main", domain):
            held[row["round"], row["encounter"]] = row
            last = max(last, row["encounter"])
    alike = {row["round"]: row for row in out["convergence"]}
    rows: list[list[doc.Line]] = []
    for number in sorted({number for number, _ in held}):
        shares = [_share(held.get((number, at + 1))) for at in range(last)]
        near = alike.get(number, {})
        both = [plain(near.get("within"), 3), plain(near.get("between"), 3)]
        contrast = out["established"]["by_round"].get(number, NO_ROUND)
        effect = estimate(contrast, 100, 1)
        rows.append([f"round {number}", *shares, effect, *both])
    encounters = [f"encounter {at + 1}" for at in range(last)]
    heads = ["main runs", *encounters, "symmetry + cue − neither"]
    heads += ["similarity within cells", "between"]
    return doc.Table(heads, rows, name="course")


def _share(row: Mapping | None) -> str:
    """Return the share of cooperation in a row of the course, such as "62% of 240"."""
    if row is None or row["mean"] is None:
        return NONE
    return f"{percent(row['mean'])} of {plain(row['n'], 0)}"


# --- what may be said, and the runs ------------------------------------------------------------


def _claims(out: Mapping[str, Any]) -> doc.Section:
    """Return the section on what may be said, and whether the analysis was
    preregistered."""
    entry, (may_not, always) = out["registration"], not_supported(out)
    heads = ", ".join(f"{name} {head[:12]}" for name, head in entry["heads"].items())
    registered = f"{entry['kind']} analysis"
    if entry["why"]:
        registered += f": {entry['why']}"
    if heads:
        registered += f" (preregistration {heads})"
    may = doc.Section("From these data", [doc.Bullets(out["claims"]["may"])])
    cannot = doc.Section("Not from these data", [doc.Bullets(may_not)])
    parts = [
        doc.Words(sentence(registered), "dim"),
        doc.Bullets(entry["deviations"]),
        doc.Columns([[may], [cannot]]),
        always,
    ]
    return doc.Section("What may be said", parts)


def _runs(runs: Sequence[Mapping]) -> doc.Table:
    """Return a table of the runs, grouped by role and domain."""
    groups: dict[str, list[Mapping]] = {}
    for run in runs:
        groups.setdefault(f"{run['role']}, {run['domain']}", []).append(run)
    rows = []
    for name, held in groups.items():
        complete = sum(run["state"] == "complete" for run in held)
        calls: Counter = Counter()
        for run in held:
            for ended in run["outcomes"].values():
                calls.update(ended)
        lost = calls["provider_error"] + calls["not_run"]
        whole = f"{complete} of {len(held)}"
        rows.append([name, whole, str(calls.total()), str(lost)])
    heads = ["runs", "complete", "calls", "unanswered"]
    return doc.Table(heads, rows, (1, 2, 3), name="runs")


# --- texts -------------------------------------------------------------------------------------


def _excerpts(study: Study) -> Iterator[str]:
    """Yield the first policies of round 1 in each main cell, chosen by agent, not by
    what they say."""
    seen: set[tuple[str, str]] = set()
    for run in study.runs:
        cell = run.cell[:2]
        if run.role != "main" or cell in seen:
            continue
        lines = []
        for policy in policies(run, checked=False):
            if policy["round"] == 1 and readable(policy["policy_status"]):
                text = " / ".join(policy["policy"][:EXCERPT].splitlines())
                text = " ".join(text.split())
                lines.append(f"  {policy['agent']}: {text}")
        if lines:
            seen.add(cell)
            yield from (run.words, *lines[:QUOTED])


TRIALS = "A row opens a policy and decisions that rest on it; exports/ and transcripts/ hold all."
COLUMN_NAMES = ("role", "cell", "round", "agent", "bulletin", "markers", "policy")


def _trials(study: Study) -> doc.TrialTable:
    """Return the table of policies and decisions, as many as a page has room for."""
    main = [run for run in study.runs if run.role == "main"]
    note, runs, rounds = TRIALS, study.runs, sys.maxsize
    if _many(runs, rounds) > MOST:
        words, rounds = "round 1 only", 1
        if _many(runs, rounds) > MOST:
            words, runs = "round 1 of the main runs only", main
        note += f" There are too many here: {words}."
    rows: list[doc.TrialRow] = []
    for run in runs:
        rows += islice(_of_run(run, rounds), MOST - len(rows))
    return doc.TrialTable("Policies and decisions", note, COLUMN_NAMES, rows)


def _many(runs: Sequence[SavedRun], rounds: int) -> int:
    """Return the number of policies in the first `rounds` rounds."""
    sizes = [run.config for run in runs]
    return sum(size["agents"] * min(rounds, size["rounds"]) for size in sizes)


def _of_run(run: SavedRun, rounds: int) -> Iterator[doc.TrialRow]:
    """Yield a row for each policy of a run's first `rounds` rounds."""
    answers: dict[str, list[str]] = {}
    for row in decisions(run, checked=False):
        if row.round <= rounds:
            said = row.status if row.decision is None else row.decision
            text = " ".join(row.text[:SHOWN].split())
            line = f"{row.encounter}. with {row.opponent}: {said} · {text}"
            answers.setdefault(row.policy, []).append(line)
    for policy in policies(run, checked=False):
        if policy["round"] <= rounds:
            yield _trial(run, policy, answers.get(policy["policy_id"], []))


def _trial(run: SavedRun, policy: Mapping, answers: Sequence[str]) -> doc.TrialRow:
    """Return a policy's row; opened, it shows its text and its first decisions."""
    status, marked = policy["policy_status"], []
    if readable(status):
        marked = [name for name, there in policy["markers"].items() if there]
    where = [run.role, run.words, str(policy["round"]), policy["agent"]]
    where.append(f"{policy['bulletin']} {policy['variant']}")
    named = ", ".join(marked).replace("_", " ")
    who = f"Policy {policy['policy_id']}, served by {policy['served_model']}"
    parts = [(who, doc.Verbatim(policy["policy"][:SHOWN]))]
    rest = [*answers[:RATIONALES]]
    more = len(answers) - RATIONALES
    if more > 0:
        rest.append(f"… {more} more")
    if rest:
        parts.append(("Decisions", doc.Verbatim("\n".join(rest))))
    return doc.TrialRow([*where, named or NONE, status], parts)


# --- exports and the written analysis ----------------------------------------------------------

SHARED = ("run", "role", "seed", "domain", *CELL, "round")
TOKENS = ("prompt_tokens", "output_tokens", "reasoning_tokens", "cost_usd")
SERVED = ("served_model", "provider")
EXPORT = "exports/decisions.csv"
# docs/exports.md explains the columns.
COLUMNS = (
    "id",
    *SHARED,
    "encounter",
    "primary",
    "baseline",
    "agent",
    "opponent",
    "policy",
    "item",
    *(f"weak_{name}" for name in FAMILIES),
    *(f"marker_{name}" for name in FAMILIES),
    "bulletin",
    "variant",
    "wording",
    "label_scheme",
    "option_order",
    "option_first",
    "decision",
    "cooperates",
    "first_taken",
    "status",
    "read_from",
    "truncated",
    "payoff",
    "power_after",
    "model",
    *SERVED,
    *TOKENS,
    "text",
)


def _decisions(
    run: SavedRun, agreed: Mapping[str, Mapping]
) -> Iterator[dict[str, Any]]:
    """Yield a row of exports/decisions.csv for each decision, with the labels of its
    policy.

    `weak_` columns hold labels by patterns, `marker_` columns the raters' consensus
    (empty where there is none). The files were checked when the analysis read them.
    """
    marks = {}
    for policy in policies(run, checked=False):
        if readable(policy["policy_status"]):
            item = item_id(policy["policy"])
            row = {f"weak_{name}": policy["markers"][name] for name in FAMILIES}
            for name, label in agreed.get(item, {}).items():
                row[f"marker_{name}"] = label
            marks[policy["policy_id"]] = row | {"item": item}
    nothing = dict.fromkeys(COLUMNS)
    for decided in decisions(run, checked=False):
        known = decided._asdict() | marks.get(decided.policy, {})
        yield nothing | known | {"primary": decided.primary}


def analysed(
    study: Study, where: Sequence[Path]
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return (analysis, {file name: content}) of a study.

    `where` are the folders that may hold ratings; the files go into the first. Imported
    ratings are recorded by hash, and runs.json records the runs by path.
    """
    imported = {}
    for path in sorted((where[0] / PEOPLE).glob("*.json")):
        imported[path.relative_to(where[0]).as_posix()] = sha256(read_bytes(path))
    who = raters(where)
    found = analyse(study, who)
    agreed = markers.labels_of(who, found["markers"]["adjudicated"])
    if imported:
        found["imported"] = imported
    # The analysis is read back from its JSON, so that reports show the digits that the file has.
    out = json.loads(canonical_json(found))
    texts = {name: text.encode() for name, text in files(out, study).items()}
    folders = [run.folder for run in study.runs]
    texts[RUNS_FILE] = runs_file(where[0], folders)
    rows = chain.from_iterable(_decisions(run, agreed) for run in study.runs)
    texts[EXPORT] = csv_bytes(COLUMNS, rows)
    return out, {"acausal-analysis.json": json_file(out), **texts}


def write_analysis(
    study: Study, where: Sequence[Path]
) -> tuple[Path, list[str], dict[str, Any]]:
    """Analyse the study and write its files; return (folder, file names, analysis)."""
    out, made = analysed(study, where)
    (where[0] / "exports").mkdir(parents=True, exist_ok=True)
    for name, content in made.items():
        write_atomic(where[0] / name, content)
    target, here = where[0], Path.cwd()
    if target.is_relative_to(here):
        target = target.relative_to(here)
    return target, list(made), out


def noticed(out: Mapping[str, Any]) -> list[str]:
    """List the study's limits, and where runs deviate from their registration."""
    return [*out["limits"], *out["registration"]["deviations"]]


def gist(out: Mapping[str, Any], target: Path, *beside: str) -> str:
    """Return what a terminal shows of an analysis: its report, the lines `beside`,
    and what to open."""
    lines = [doc.terminal(document(out), LINES), *_rest(out), *beside]
    return "\n".join([*lines, f"open {target / 'report.html'}"])


def _rest(out: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a terminal shows below the report: how much was read on the first
    line, the tripwires, the markers, and the command that brings missing data."""
    wires = out["tripwires"]
    alerts = [wire["tripwire"] for wire in wires if wire["alert"]] or ["quiet"]
    rings = [wire["tripwire"] for wire in wires if wire["tripped"]] or ["quiet"]
    yield from textwrap.wrap(out["first_line"]["sentence"], doc.WIDTH)
    told = f"as specified {', '.join(alerts)}; established {', '.join(rings)}"
    yield f"tripwires: {told}"
    yield f"markers: {out['markers']['status']}"
    if out["next"]:
        yield f"gates without data: {_make(out['next'])}"


def _make(command: str) -> str:
    """Return the Makefile target that runs the plan in a command."""
    plan = command.partition("--plan ")[2].split()[0]
    return "make study" if plan == "study" else f"make tournament PLAN={plan}"
