"""A tournament to read: one document, whose trials are the policies with their decisions.

files(out, study)           {"acausal-summary.md": …, "report.html": …}
terminal(document(out))     the answer
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from cirrus.ask.bulletins import CELL
from cirrus.ask.design import part_of, titles
from cirrus.ask.oneshot import DESIGNS
from cirrus.judge.contrasts import CONTRASTS
from cirrus.judge.endpoint import FIXED, SECONDARY
from cirrus.judge.rows import (
    RUNS_FILE,
    Run,
    Study,
    decisions,
    policies,
    rounds,
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
    estimate,
    p_is,
    p_value,
    percent,
    plain,
    points,
    sentence,
    signed,
)
from show.html import page
from show.plots import Intervals, Lines, Point

MOST = 1_000  # policies on the page
SHOWN = 20_000  # characters of a text
RATIONALES = 12  # decisions shown of a policy
EXCERPT = 500  # characters of a policy that is quoted
CELLS = DESIGNS["2x2"].cells
# No colour of praise or blame: a gate that passes is no success.
TAGS = {"pass": "plain", "fail": "plain", "undecided": "dim", "not evaluable": "dim"}
WIRES = {
    True: doc.Tag("TRIPPED", "stamp"),
    False: doc.Tag("quiet"),
    None: doc.Tag("not checked"),
}
EFFECTS_NOTE = (
    "First encounters of all rounds: mean over bulletins of the difference inside each; the 95% "
    "interval covers the drawing of bulletins and of wordings, and is no narrower than Newcombe's "
    "score interval; models share the 5%. No interval: one bulletin only."
)
SPECIFIED_NOTE = (
    "Mean over agents; p: two-sided sign flips over agents. This test has no interval: that of the "
    "primary contrast, over bulletins, is another rule, and decides. Agents of a seed share a "
    "bulletin, so what stands here speaks of these bulletins only."
)
GATES_NOTE = (
    "“As specified” is the rule on the estimate; “established” asks whether the data exclude the "
    "alternative, and decides."
)


def files(out: Mapping[str, Any], study: Study) -> dict[str, str]:
    """{file name: content}; policies and answers are read from the runs again."""
    report = document(out, study)
    tables = (
        [_effects("contrast", _rows(out), "effects"), _specified(out)]
        if _shown(out)
        else []
    )
    summary = report._replace(
        gist=_gist(out),
        sections=[
            _claims(out),
            doc.Section("Tables", [*tables, _gates(out)]),
            doc.Section("Markers in policies", list(markers.blocks(out["markers"]))),
        ],
    )
    return {"acausal-summary.md": doc.markdown(summary), "report.html": page(report)}


def document(out: Mapping[str, Any], study: Study | None = None) -> doc.Document:
    """The report of an analysis; with its texts where the study is given."""
    unfinished = [run["run"] for run in out["runs"] if run["state"] != "complete"]
    gist, details = _gist(out), doc.Section("Details", list(_details(out, study)))
    return doc.Document(
        "CIRRUS-24 tournament",
        _question(out),
        out["verdict"]["sentence"],
        doc.Foot(VERSION, _identity(out), "python3 analyze.py FOLDER"),
        _interaction(out),
        [doc.Columns([[_intervals(out)], gist])] if _shown(out) else gist,
        [_claims(out), details],
        study and _trials(study),
        [STAMP] * out["simulated"]
        + [f"INCOMPLETE: {', '.join(unfinished)}."] * bool(unfinished),
        alarms=list(out["losses"].values()),
        note=out["first_line"]["sentence"],
    )


def _identity(out: Mapping[str, Any]) -> dict[str, str]:
    """`answers`: of the roots over the answers of all runs."""
    roots = canonical_json([[run["run"], run["merkle_root"]] for run in out["runs"]])
    return {
        "seed": ", ".join(map(str, out["design"]["seeds"])),
        "prompts": out["design"]["prompts_sha256"][:12],
        "answers": sha256(roots)[:12],
        "analysis": out["registration"]["kind"],
    }


def _question(out: Mapping[str, Any]) -> str:
    design = out["design"]
    models = ", ".join(
        dict.fromkeys(name for names in design["models"].values() for name in names)
    )
    return (
        "Do agents cooperate on a first encounter because they take their peers for alike? "
        f"{count(design['runs'], 'run')}, {count(design['agents'], 'agent')}, "
        f"{count(len(design['seeds']), 'seed')}; {models}. "
        f"{out['established']['decisions']:,} readable first decisions. "
        f"{out['first_line']['sentence']}"
    )


def _gist(out: Mapping[str, Any]) -> list[doc.Table | doc.Words]:
    tripped = [wire for wire in out["tripwires"] if wire["tripped"]]
    rows = [
        [_verdict(gate["established"]), gate["title"], gate["established"]["figure"]]
        for gate in out["gates"]
    ]
    return [
        doc.Table(
            ["established", "gate", "rests on"],
            rows,
            caption="Credibility gates",
            name="gates",
        ),
        *[
            doc.Words(
                ["What brings the data that gates lack: ", doc.Code(out["next"] or "")]
            )
        ]
        * bool(out["next"]),
        *[_wires(tripped, "Tripwires that ring", "tripped")] * bool(tripped),
    ]


def _verdict(entry: Mapping) -> doc.Tag:
    return doc.Tag(entry["verdict"], TAGS[entry["verdict"]])


def _wires(wires: Sequence[Mapping], caption: str, name: str) -> doc.Table:
    rows = [[WIRES[wire["tripped"]], wire["title"], wire["figure"]] for wire in wires]
    return doc.Table(["state", "tripwire", "figure"], rows, caption=caption, name=name)


def _claims(out: Mapping[str, Any]) -> doc.Section:
    entry, (may_not, always) = out["registration"], not_supported(out)
    heads = ", ".join(f"{name} {head[:12]}" for name, head in entry["heads"].items())
    registered = (
        f"{entry['kind']} analysis"
        + (f": {entry['why']}" if entry["why"] else "")
        + (f" (preregistration {heads})" if heads else "")
    )
    return doc.Section(
        "What may be said",
        [
            doc.Words(sentence(registered), "dim"),
            doc.Bullets(entry["deviations"]),
            doc.Columns(
                [
                    [
                        doc.Section(
                            "From these data", [doc.Bullets(out["claims"]["may"])]
                        )
                    ],
                    [doc.Section("Not from these data", [doc.Bullets(may_not)])],
                ]
            ),
            always,
        ],
    )


def _details(out: Mapping[str, Any], study: Study | None) -> Iterator[doc.Fold]:
    if _shown(out):
        delta, models = (
            out["as_specified"]["delta"],
            _models(out["as_specified"]["model"]),
        )
        yield doc.Fold(
            "Cooperation and effects",
            [
                _effects("contrast", _rows(out), "effects"),
                _by(out),
                doc.Words(EFFECTS_NOTE, "dim"),
            ],
        )
        yield doc.Fold(
            "As specified: round 1, agents of a seed as units",
            [
                _specified(out),
                doc.Words(
                    f"Cliff's δ (−1 to 1) of the two cells: {estimate(delta).words}; interval by "
                    f"Student's t over {count(delta['units'], 'agent')}, no narrower than Newcombe's."
                ),
                doc.Words(SPECIFIED_NOTE, "dim"),
                *_bounds(out),
                *models,
            ],
        )
    yield doc.Fold("How the gates judge", [_gates(out), doc.Words(GATES_NOTE, "dim")])
    yield doc.Fold("Quality of the data", list(_quality(out)))
    yield doc.Fold(
        "Later encounters and policies",
        [_course(out["course"]), *_convergence(out["convergence"])],
    )
    yield doc.Fold(
        "Markers in policies", [*markers.blocks(out["markers"]), *_excerpts(study)]
    )
    yield doc.Fold(
        f"{count(len(out['runs']), 'run')}, {cost(out['cost'])}", [_runs(out["runs"])]
    )


def _runs(runs: Sequence[Mapping]) -> doc.Table:
    """Runs of one role and domain together: acausal-analysis.json names each."""
    groups: dict[str, list[Mapping]] = {}
    for run in runs:
        groups.setdefault(f"{run['role']}, {run['domain']}", []).append(run)
    return doc.Table(
        ["runs", "complete", "calls", "unanswered"],
        [
            [
                name,
                f"{sum(run['state'] == 'complete' for run in held)} of {len(held)}",
                *map(str, _calls(held)),
            ]
            for name, held in groups.items()
        ],
        (1, 2, 3),
        name="runs",
    )


def _shown(out: Mapping[str, Any]) -> bool:
    """Whether there is anything to draw: of an unfinished study there are only counts."""
    return bool(out["established"]["contrasts"] and out["established"]["decisions"])


# --- figures -----------------------------------------------------------------------------------


def _interaction(out: Mapping[str, Any]) -> doc.Plot | None:
    """A panel for each level of H that has any cell."""
    panels, parts = {}, out["established"]["by_H"] if _shown(out) else {}
    for h in ("low", "high", "omit"):
        if h in parts and any(cell["n"] for cell in parts[h]["cells"].values()):
            panels[f"compliance pressure {h}"] = {
                row: [point(parts[h], low)._replace(hollow=True), point(parts[h], high)]
                for row, (low, high) in CROSSED.items()
            }
    caption = (
        f"First encounters of all rounds, {out['established']['decisions']:,} decisions; "
        f"95% intervals over bulletins and wordings. {PARALLEL}"
    )
    return (
        doc.Plot(
            Lines(
                "Cooperation by symmetry and cue",
                ("symmetry low", "symmetry high"),
                panels,
                ("", UP),
            ),
            caption,
        )
        if panels
        else None
    )


def _primary(out: Mapping[str, Any]) -> list[tuple[str, Mapping]]:
    """The primary contrast, and the same elsewhere."""
    contrast = out["established"]["contrasts"]["HP-LA"]
    main = part_of("main", out["design"]["domain"])
    rows = [(contrast["label"], contrast)]
    rows += [
        (f"the same, compliance pressure {h}", part["HP-LA"])
        for h, part in out["established"]["by_H"].items()
    ]
    return rows + [
        (f"the same, {title}", out["parts"][name]["HP-LA"])
        for name, title in titles(out["parts"]).items()
        if name != main
    ]


def _rows(out: Mapping[str, Any]) -> list[tuple[str, Mapping]]:
    """Every contrast over bulletins and wordings."""
    contrasts = out["established"]["contrasts"]
    return _primary(out) + [
        (contrasts[name]["label"], contrasts[name])
        for name in list(CONTRASTS)[1:]
        if name in contrasts
    ]


def _intervals(out: Mapping[str, Any]) -> doc.Plot:
    rows = [
        Point(
            label,
            contrast["value"],
            contrast["low"],
            contrast["high"],
            count(contrast["units"], "bulletin"),
            units=list(contrast["by_bulletin"].values()),
        )
        for label, contrast in _primary(out)
    ]
    return doc.Plot(
        Intervals(
            "Symmetry + cue against neither", {"": rows}, "points of cooperation"
        ),
        "Mean over bulletins, a dot each, with 95% intervals; first encounters of all rounds.",
    )


# --- tables ------------------------------------------------------------------------------------


def _effects(head: str, rows: Iterable[tuple[str, Mapping]], name: str) -> doc.Table:
    """Of each contrast its estimate, or why it has none, and the bulletins that point the other
    way."""

    def against(entry: Mapping) -> str:
        values = entry.get("by_bulletin", {}).values()
        return f"{sum(value * entry['value'] < 0 for value in values)} of {len(values)}"

    return doc.Table(
        [head, "points (interval)", "bulletins against"],
        [
            [
                label,
                doc.Small(entry["why"])
                if entry["value"] is None
                else estimate(entry, 100, 1),
                against(entry),
            ]
            for label, entry in rows
        ],
        (1, 2),
        name=name,
    )


def _by(out: Mapping[str, Any]) -> doc.Table:
    """The primary contrast one model and round at a time."""
    known = out["established"]
    rows = [
        (name, part["contrasts"]["HP-LA"]) for name, part in known["by_model"].items()
    ]
    rows += [
        (f"round {number}", contrast) for number, contrast in known["by_round"].items()
    ]
    return _effects("primary contrast", rows, "by-model")


def _specified(out: Mapping[str, Any]) -> doc.Table:
    """As the specification has it: round 1, agents of a seed as units."""
    point = out["as_specified"]
    entries = [point["design"], *(point["secondary"][name] for name in SECONDARY)]
    return doc.Table(
        ["contrast, as specified", "points", "p", "agents"],
        [
            [
                entry["label"],
                signed(None if entry["value"] is None else 100 * entry["value"], 1),
                p_value(entry["p"]),
                str(entry["units"]),
            ]
            for entry in entries
        ],
        (1, 2, 3),
        name="as-specified",
    )


def _gates(out: Mapping[str, Any]) -> doc.Table:
    return doc.Table(
        ["gate", "asks", "as specified", "figure"],
        [
            [
                gate["title"],
                gate["asks"],
                _verdict(gate["as_specified"]),
                gate["as_specified"]["figure"],
            ]
            for gate in out["gates"]
        ],
        name="gates-as-specified",
    )


def _models(model: Mapping[str, Any]) -> Iterator[doc.Bullets | doc.Table]:
    """What the two mixed models are, what was left out of them, and tests of their terms."""
    left = "; ".join(
        f"{name} ({why})" for name, why in sorted(model["left_out"].items())
    )
    names = {"as_specified": "as specified", "with_policy": "with (1|policy)"}
    yield doc.Bullets(
        [
            *([f"Left out of the models: {left}."] if left else []),
            *(
                [
                    f"{sentence(title).removesuffix('.')},",
                    doc.Code(model[name]["formula"]),
                    _fit(model[name]),
                ]
                for name, title in names.items()
            ),
        ]
    )
    columns = [model[name]["tests"] or {} for name in names]
    rows = [
        [term, *(cell for tests in columns for cell in _test(tests.get(term)))]
        for term in FIXED
        if any(term in tests for tests in columns)
    ]
    if rows:
        heads = [
            head
            for title in names.values()
            for head in (f"{title}: χ² (df)", f"p {title}")
        ]
        yield doc.Table(
            ["term", *heads],
            rows,
            (1, 2, 3, 4),
            "Likelihood-ratio tests of the terms",
            "model-terms",
        )


def _fit(model: Mapping[str, Any]) -> str:
    if model["primary"] is None:
        return f": no test ({model['why']})."
    why = f" {sentence(model['why'])}" if model["why"] else ""
    return (
        f": symmetry + cue − neither {signed(model['primary']['estimate'])} log odds, "
        f"likelihood ratio {p_is(model['primary']['p'])}.{why}"
    )


def _test(test: Mapping | None) -> list[str]:
    if test is None or test["chi2"] is None:
        return [NONE, NONE]
    return [f"{plain(test['chi2'])} ({test['df']})", p_value(test["p"])]


def _bounds(out: Mapping[str, Any]) -> Iterator[doc.Words]:
    bounds = out["as_specified"]["bounds"]
    if bounds["lowest"] is not None:
        yield doc.Words(
            "With every missing decision filled in: all cooperative "
            f"{points(bounds['all_cooperative'])}, none "
            f"{points(bounds['none_cooperative'])}; worst cases "
            f"{points(bounds['lowest'])} to {points(bounds['highest'])}."
        )


def _quality(out: Mapping[str, Any]) -> Iterator[doc.Table]:
    yield _wires(out["tripwires"], "Tripwires", "tripwires")
    cells = {
        title: [out["parts"][name]["cells"][cell.name] for cell in CELLS]
        for name, title in titles(out["parts"]).items()
    }
    yield doc.Table(
        ["data", *(cell.words for cell in CELLS)],
        [
            [
                title,
                *(
                    f"{cell['missing']} of {cell['n'] + cell['missing']}"
                    for cell in part
                ),
            ]
            for title, part in cells.items()
        ],
        (1, 2, 3, 4),
        "Missing decisions by cell",
        "missing",
    )


def _course(course: Sequence[Mapping]) -> doc.Table:
    """The main runs: later encounters see history."""
    held = {
        (row["domain"], row["round"], row["encounter"]): row
        for row in course
        if row["role"] == "main"
    }
    last = range(1, max((key[2] for key in held), default=0) + 1)
    return doc.Table(
        ["data", *(f"encounter {at}" for at in last)],
        [
            [
                f"{domain}, round {number}",
                *(_share(held.get((domain, number, at))) for at in last),
            ]
            for domain, number in sorted({key[:2] for key in held})
        ],
        name="course",
    )


def _share(row: Mapping | None) -> str:
    return (
        NONE
        if row is None or row["mean"] is None
        else f"{percent(row['mean'])} of {plain(row['n'], 0)}"
    )


def _convergence(rounds: Sequence[Mapping]) -> Iterator[doc.Table | doc.Words]:
    rows = [
        [
            f"round {row['round']}",
            plain(row["within"], 3),
            plain(row["between"], 3),
            signed(row["difference"], 3),
        ]
        for row in rounds
    ]
    yield doc.Table(
        ["policies of", "similarity within cells", "between cells", "difference"],
        rows,
        (1, 2, 3),
        name="convergence",
    )
    yield doc.Words(
        "Mean TF-IDF cosine (characters, 3 to 5) over all pairs of policies that "
        "answer one bulletin.",
        "dim",
    )


def _calls(runs: Sequence[Mapping]) -> tuple[int, int]:
    """(calls, those without an answer)."""
    ends = sum(
        (Counter(n) for run in runs for n in run["outcomes"].values()), Counter()
    )
    return ends.total(), ends["provider_error"] + ends["not_run"]


# --- texts -------------------------------------------------------------------------------------


def _excerpts(study: Study | None) -> list[doc.Fold]:
    """The first policy of each extreme cell by agent: chosen by place, not by what it says."""
    quotes: dict[str, doc.Section] = {}
    for run in study.runs if study else ():
        extreme = run.cell[:2] in (("high", "present"), ("low", "absent"))
        sound = (
            policy
            for policy in policies(run, checked=False)
            if policy["round"] == 1
            and policy["policy_status"] == "ok"
            and not policy["markers"]["benchmark_terms"]
        )
        if (
            run.role == "main"
            and extreme
            and run.words not in quotes
            and (policy := next(sound, None))
        ):
            quotes[run.words] = doc.Section(
                f"{run.words}, {policy['agent']}",
                [doc.Verbatim(policy["policy"][:EXCERPT])],
            )
    note = (
        f"The first {EXCERPT} characters of one policy of round 1 in each of the two cells "
        "that are compared, by agent id: taken by place, not by what they say; those with "
        "benchmark terms are passed over."
    )
    quoted = [doc.Words(note, "dim"), *quotes.values()]
    return [doc.Fold("In their own words", quoted)] if quotes else []


def _scope(study: Study) -> tuple[str, Sequence[Run], int]:
    """What the page has room for: (in words, runs, rounds)."""
    main = [run for run in study.runs if run.role == "main"]
    scopes = (
        ("", study.runs, sys.maxsize),
        ("round 1 only", study.runs, 1),
        ("round 1 of the main runs only", main, 1),
    )
    return next(
        (
            scope
            for scope in scopes
            if sum(
                run.config["agents"] * min(scope[2], run.config["rounds"])
                for run in scope[1]
            )
            <= MOST
        ),
        scopes[-1],
    )


def _trials(study: Study) -> doc.TrialTable:
    words, runs, rounds = _scope(study)
    return doc.TrialTable(
        "Policies and decisions",
        "A row opens a policy and decisions that rest on it; exports/ "
        "and transcripts/ hold all."
        + (f" There are too many here: {words}." if words else ""),
        ("role", "cell", "round", "agent", "bulletin", "markers", "policy"),
        list(islice((trial for run in runs for trial in _of_run(run, rounds)), MOST)),
    )


def _of_run(run: Run, rounds: int) -> Iterator[doc.TrialRow]:
    answers: dict[str, list[str]] = {}
    for row in decisions(run, checked=False):
        if row.round <= rounds:
            answer = " ".join(row.text[:SHOWN].split())
            answers.setdefault(row.policy, []).append(
                f"{row.encounter}. with {row.opponent}: {row.decision or row.status} · {answer}"
            )
    for policy in policies(run, checked=False):
        if policy["round"] <= rounds:
            yield _trial(run, policy, answers.get(policy["policy_id"], []))


def _trial(run: Run, policy: Mapping, answers: Sequence[str]) -> doc.TrialRow:
    status = policy["policy_status"]
    marked = ", ".join(
        name.replace("_", " ")
        for name, there in policy["markers"].items()
        if there and readable(status)
    )
    more = len(answers) - RATIONALES
    rest = [*answers[:RATIONALES], *([f"… {more} more"] if more > 0 else [])]
    return doc.TrialRow(
        [
            run.role,
            run.words,
            str(policy["round"]),
            policy["agent"],
            f"{policy['bulletin']} {policy['variant']}",
            marked or NONE,
            status,
        ],
        [
            (
                f"Policy {policy['policy_id']}, served by {policy['served_model']}",
                doc.Verbatim(policy["policy"][:SHOWN]),
            ),
            *([("Decisions", doc.Verbatim("\n".join(rest)))] if rest else []),
        ],
    )


# --- exports and the written analysis ----------------------------------------------------------

SHARED = ("run", "role", "seed", "domain", *CELL, "round")
TOKENS = ("prompt_tokens", "output_tokens", "reasoning_tokens", "cost_usd")
SERVED = ("served_model", "provider")
# file → its columns; docs/exports.md says what they hold
COLUMNS = {
    "decisions.csv": (
        "id",
        *SHARED,
        "encounter",
        "primary",
        "baseline",
        "agent",
        "opponent",
        "policy",
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
    ),
    "policies.csv": (
        "id",
        *SHARED,
        "agent",
        "bulletin",
        "variant",
        "model",
        *SERVED,
        "status",
        "truncated",
        "item",
        *(f"marker_{name}" for name in FAMILIES),
        *TOKENS,
        "text",
    ),
    "games.csv": (
        "id",
        *SHARED,
        "encounter",
        "baseline",
        "agent_a",
        "agent_b",
        "label_scheme",
        "option_order",
        "decision_a",
        "decision_b",
        "payoff_a",
        "payoff_b",
        "power_a",
        "power_b",
        "status",
    ),
}


def exports(study: Study) -> dict[str, bytes]:
    """{file name below the analysis' folder: content}. The files were checked when the analysis
    read them."""
    tables = {
        "decisions.csv": _decisions,
        "games.csv": _games,
        "policies.csv": _policies,
    }
    return {
        f"exports/{name}": csv_bytes(
            COLUMNS[name], chain.from_iterable(map(rows, study.runs))
        )
        for name, rows in tables.items()
    }


def analysed(
    study: Study, where: Sequence[Path]
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """(what was found, {file name: content}) of a study. `where`: folders that may hold ratings;
    the first takes the files. What was imported into it is named by its hash; the runs are, in
    runs.json, by their paths."""
    imported = {
        path.relative_to(where[0]).as_posix(): sha256(read_bytes(path))
        for path in sorted((where[0] / PEOPLE).glob("*.json"))
    }
    found = analyse(study, raters(where))
    if imported:
        found["imported"] = imported
    # Read back from its own JSON: what is shown then has the digits that the file has.
    out = json.loads(canonical_json(found))
    texts = {name: text.encode() for name, text in files(out, study).items()}
    folders = [run.folder for run in study.runs]
    texts[RUNS_FILE] = runs_file(where[0], folders)
    return out, {"acausal-analysis.json": json_file(out), **texts, **exports(study)}


def write_analysis(
    study: Study, where: Sequence[Path]
) -> tuple[Path, list[str], dict[str, Any]]:
    """Analyse the study and write every file: (folder, names of the files, what was found)."""
    out, made = analysed(study, where)
    (where[0] / "exports").mkdir(parents=True, exist_ok=True)
    for name, content in made.items():
        write_atomic(where[0] / name, content)
    target, here = where[0], Path.cwd()
    return (
        target.relative_to(here) if target.is_relative_to(here) else target,
        list(made),
        out,
    )


def noticed(out: Mapping[str, Any]) -> list[str]:
    """What stands against a plain reading: limits, and where runs left their registration."""
    return [*out["limits"], *out["registration"]["deviations"]]


def gist(out: Mapping[str, Any], target: Path, *beside: str) -> str:
    """What a terminal shows of an analysis in `target`: its report, `beside`, what to open."""
    lacking = ", ".join(gate["title"].lower() for gate in out["gates"] if gate["next"])
    further = (
        [f"Gates without data: {lacking}; {_make(out['next'])}"] if lacking else []
    )
    return "\n".join(
        [
            doc.terminal(document(out)),
            *further,
            *beside,
            f"open {target / 'report.html'}",
        ]
    )


def _make(command: str) -> str:
    """The target of the Makefile whose plan a command names; the page has the whole command."""
    plan = command.partition("--plan ")[2].split()[0]
    return "make study" if plan == "study" else f"make tournament PLAN={plan}"


def _decisions(run: Run) -> Iterable[dict[str, Any]]:
    return (
        row._asdict() | {"primary": row.primary}
        for row in decisions(run, checked=False)
    )


def _shared(run: Run, number: int) -> dict[str, Any]:
    return dict(
        zip(
            SHARED,
            (run.name, run.role, run.seed, run.domain, *run.cell, number),
            strict=True,
        )
    )


def _policies(run: Run) -> Iterator[dict[str, Any]]:
    for policy in policies(run, checked=False):
        tokens, there = policy["tokens"], readable(policy["policy_status"])
        yield _shared(run, policy["round"]) | {
            "id": policy["policy_id"],
            "model": policy["model_strategy"],
            "status": policy["policy_status"],
            "truncated": tokens["truncated"],
            "text": policy["policy"],
            "prompt_tokens": tokens["prompt"],
            "output_tokens": tokens["output"],
            "reasoning_tokens": tokens["reasoning"],
            "item": item_id(policy["policy"]) if there else None,
            **{f"marker_{name}": policy["markers"][name] for name in FAMILIES},
            **{
                key: policy[key]
                for key in ("agent", "bulletin", "variant", "cost_usd", *SERVED)
            },
        }


def _games(run: Run) -> Iterator[dict[str, Any]]:
    for data in rounds(run, checked=False):
        for game in data["games"]:
            row = _shared(run, data["round"]) | {
                "option_order": game["order"],
                "status": game["parse_status"],
                **{
                    key: game[key]
                    for key in ("id", "encounter", "baseline", "label_scheme")
                },
            }
            for side, agent in zip("ab", game["pair"], strict=True):
                row |= {
                    f"agent_{side}": data["agents"][agent]["id"],
                    f"decision_{side}": game["decision"][agent],
                    f"payoff_{side}": (game["raw_payoffs"] or {}).get(agent),
                    f"power_{side}": game["power_after"][agent],
                }
            yield row
