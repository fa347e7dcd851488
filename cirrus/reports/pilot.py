"""A one-shot study to read: one document for all four designs.

    files(out, rows, prompts, hashes)     {"pilot-summary.md": …, "report.html": …}
    terminal(read(folder / "pilot-analysis.json"))
    together({"mechanism-s42": out, "twin-s42": out})     several studies on one page

`out` is an analysis, as pilot-analysis.json has it. Codes of cells are only in data files.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cirrus.ask.oneshot import DESIGNS
from cirrus.ask.prompts import LEVERS
from cirrus.judge.accounts import ACCOUNTS
from cirrus.judge.contrasts import CONTRASTS
from common import VERSION
from show import document as doc
from show.figures import (
    NONE,
    STAMP,
    cost,
    count,
    counted,
    estimate,
    interval,
    percent,
    plain,
    rate,
)
from show.html import page
from show.plots import Dots, Intervals, Lines, Point

SHOWN = 1_000  # trials on a page, where that is a whole run
LENGTH = 20_000  # characters of an answer; the whole of it is in trials.jsonl.gz
TITLES = {
    "2x2": "CIRRUS-24 pilot",
    "lever": "CIRRUS-24 lever study",
    "mechanism": "CIRRUS-24 mechanism study",
    "twin": "CIRRUS-24 twin control",
}
WORDS = {cell.name: cell.words for design in DESIGNS.values() for cell in design.cells}
MOST = 2  # models in a figure that has room for digits
SCHEMES = {"L1": "words", "L2": "letters", "L3": "letters exchanged"}
POOLED = "all models"
# No colour of praise or blame: to be excluded is no success.
EXCLUDED = {True: doc.Tag("excluded", "plain"), False: doc.Tag("open")}
MET = {
    True: doc.Tag("met", "plain"),
    False: doc.Tag("not met"),
    None: doc.Tag("unknown"),
}
UNSUPPORTED = doc.Tag("met on the estimate, not established")
ACTS = {None: "maybe", 1: "cooperate", 0: "defect"}
# probe, what is shared, a contrast that it is a check of
PROBES = (
    ("payoffs", "orders the outcomes as meant", "HP-LA"),
    ("similar", "sees both in like circumstances", "HP-LA"),
    ("entry", "knows how the entry is made", "HP-EP"),
    ("entry", "knows how the entry is made", "HP-KP"),
    ("beliefs", "expects the late entry", "HP-EP"),
    ("influence", "thinks that its entry changes the other", "HP-EP"),
)
GIVEN = {
    "joint": ", having entered late",
    "other": ", having entered early",
    "any": "",
    "": "",
}
METHODS = (
    "A contrast is averaged inside bulletins and wordings, then over them. The table says which "
    "rule set its interval, and the level: the models of a study share 5% of error. Worst case: "
    "with every missing decision counted against the contrast on that side.",
    "An account is excluded only by an effect that it cannot produce, established at that level, "
    "also in the worst case of its own contrasts. Absence of an effect excludes nothing; what can "
    "only withhold an exclusion counts as observed.",
)


def files(
    out: Mapping[str, Any],
    rows: Sequence[Mapping],
    prompts: Mapping[str, tuple[str, ...]],
    hashes: Mapping[str, str],
) -> dict[str, str]:
    """{file name: content}. `prompts`: {trial id: (system, user)} of the trials that were sent.
    `hashes`: of design and trials, for the foot."""
    return {
        "pilot-summary.md": doc.markdown(summary(out, hashes)),
        "report.html": page(document(out, hashes, trials(rows, prompts))),
    }


def read(analysis: Path) -> doc.Document:
    """The report of an analysis file, without its trials."""
    return document(json.loads(Path(analysis).read_bytes()), {})


def document(
    out: Mapping[str, Any],
    hashes: Mapping[str, str],
    shown: doc.TrialTable | None = None,
) -> doc.Document:
    """The report of one study."""
    design, verdicts = out["design"], _verdicts(out) if finished(out) else None
    drawn = verdicts and out["outcomes"]["read"]
    gist = list(filter(None, [list(_forest(out)), list(_accounts(out))]))
    facts = {"seed": str(design["seed"])} | {
        name: digest[:12] for name, digest in hashes.items()
    }
    return doc.Document(
        TITLES[design["design"]],
        _question(out),
        out["verdict"]["sentence"],
        doc.Foot(VERSION, facts, "python3 analyze.py FOLDER"),
        FIGURES[design["design"]](out) if drawn else None,
        [verdicts, *[doc.Columns(gist)] * bool(gist)]
        if verdicts
        else [_all_cells(out)],
        [
            doc.Section("Claims", [*_claims(out), *_success(out)]),
            doc.Section("Details", list(_details(out))),
        ],
        shown,
        list(_stamps(out)),
        verdicts,
        [*_set_aside(out), *out["losses"].values()],
        out["first_line"]["sentence"],
    )


def summary(out: Mapping[str, Any], hashes: Mapping[str, str]) -> doc.Document:
    """What pilot-summary.md holds: cells, accounts, the specification's criteria, claims."""
    report = document(out, hashes)
    return report._replace(
        gist=[
            *report.gist[: finished(out)],
            _all_cells(out),
            *_success(out),
            *_accounts(out),
        ],
        sections=[doc.Section("Claims", list(_claims(out)))],
    )


def together(
    outs: Mapping[str, Mapping[str, Any]],
) -> tuple[doc.Document, dict[str, str]]:
    """Several studies on one page, a section for each: (document, {file name: content}). `outs`:
    {run: its analysis}."""
    report = _together(outs, document)
    return report, {
        "pilot-summary.md": doc.markdown(_together(outs, summary)),
        "report.html": page(report),
    }


def _together(outs: Mapping[str, Mapping], form: Callable) -> doc.Document:
    reports = {run: form(out, {}) for run, out in outs.items()}
    first, *rest = reports.values()
    stamps = []
    for report in reports.values():
        stamps += [*report.alarms, *report.stamps]
    return doc.Document(
        "CIRRUS-24, one-shot studies together",
        "Each is analysed by itself.",
        " ".join(f"{run}: {report.answer}" for run, report in reports.items()),
        doc.Foot(
            VERSION,
            {run: f"seed {out['design']['seed']}" for run, out in outs.items()},
            "python3 analyze.py RUN… --out DIR",
        ),
        first.figure,
        sections=[
            doc.Section(
                run,
                [
                    doc.Words(report.answer),
                    doc.Words(report.question, "dim"),
                    *[report.figure] * (report in rest),
                    *report.gist,
                    *_claims(outs[run]),
                ],
            )
            for run, report in reports.items()
        ],
        stamps=list(dict.fromkeys(stamps)),
    )


def finished(out: Mapping[str, Any]) -> bool:
    """Whether every trial has an answer: before, there are counts alone."""
    return out["outcomes"]["answered"] == out["design"]["trials"]


def _models(out: Mapping) -> dict[str, Mapping]:
    by_model = out[out["design"]["design"]]["by_model"]
    return {model: by_model[model] for model in out["design"]["models"]}


def _parts(out: Mapping) -> dict[str, Mapping]:
    """What each model shows, in the order in which they were named; the whole of a pilot first."""
    part, models = out[out["design"]["design"]], _models(out)
    return (
        {POOLED: part["pooled"], **models}
        if "pooled" in part and len(models) > 1
        else models
    )


def _stamps(out: Mapping) -> Iterator[str]:
    trials = out["design"]["trials"]
    if out["simulated"]:
        yield STAMP
    if not finished(out):
        yield (
            f"INCOMPLETE: {trials - out['outcomes']['answered']} of {trials} trials have no "
            "answer yet. The same command resumes the run."
        )


def _who(out: Mapping) -> str:
    return "respondent" if out["simulated"] else "model"


def _question(out: Mapping) -> str:
    design = out["design"]
    return (
        f"{DESIGNS[design['design']].question} {design['trials']:,} decisions, "
        f"{count(len(design['models']), _who(out))}, {count(design['bulletins'], 'bulletin')}. "
        f"{out['first_line']['sentence']}"
    )


# --- the figure that answers -------------------------------------------------------------------

UP = "share cooperating"
# {row of a crossed figure: its cells}
CROSSED = {"cue present": ("LP", "HP"), "cue absent": ("LA", "HA")}
PARALLEL = "Parallel lines: no interaction on this scale."


def point(part: Mapping[str, Any], cell: str) -> Point:
    """A cell of a finished study in a figure."""
    share = part["cells"][cell]
    return Point(
        WORDS[cell],
        share["mean"],
        share["low"],
        share["high"],
        counted(share["k"], share["n"]),
    )


def _panels(out: Mapping, rows: Mapping[str, Sequence[str]]) -> dict[str, dict]:
    """{model: {row: points of its cells}}."""
    return {
        name: {
            row: [point(part, cell) for cell in cells] for row, cells in rows.items()
        }
        for name, part in _parts(out).items()
    }


def _each(out: Mapping) -> str:
    design = out["design"]
    n = design["trials"] // len(design["cells"]) // len(design["models"])
    return f"{n} decisions per model and point, 95% intervals."


def _cross(out: Mapping) -> doc.Plot:
    return doc.Plot(
        Lines(
            "Cooperation by symmetry and cue",
            ("low", "high"),
            _panels(out, CROSSED),
            ("symmetry", UP),
        ),
        f"{PARALLEL} {_each(out)}",
    )


def _slopes(out: Mapping) -> doc.Plot:
    rows = {
        "made now": ("LA", "HP"),
        "made earlier": ("EL", "EP"),
        "known": ("KL", "KP"),
    }
    return doc.Plot(
        Lines(
            "Cooperation by how the other entry is made",
            ("neither", "symmetry + cue"),
            _panels(out, rows),
            ("", UP),
        ),
        f"Inference from likeness raises only symmetry + cue, made now. {_each(out)}",
    )


def _curve(out: Mapping) -> doc.Plot:
    places = (0, *LEVERS)
    names = [cell for cell in out["design"]["cells"] if cell != "HP"]
    return doc.Plot(
        Lines(
            "Cooperation as the joint outcome rises",
            [f"{place:g}" for place in places],
            _panels(out, {"neither symmetry nor cue": names}),
            places=places,
            levels={
                name: (point(part, "HP"), _meeting(part["meets"]))
                for name, part in _models(out).items()
            },
            axes=("joint outcome raised by, in units of the temptation", UP),
        ),
        "Dashed, with a band: symmetry + cue, outcome not raised. The mark on it: the rise that "
        f"does as much, with its interval, cut at the ends of the scale. {_each(out)}",
    )


def _meeting(meets: Mapping) -> Point:
    """Where a curve meets the level, its interval cut at the ends of the scale."""
    return Point("", meets["value"], meets["low"] or 0, meets["high"] or LEVERS[-1])


def _twins(out: Mapping) -> doc.Plot:
    return doc.Plot(
        Dots(
            "Cooperation by counterpart",
            {
                name: [point(part, cell) for cell in out["design"]["cells"]]
                for name, part in _parts(out).items()
            },
            UP,
        ),
        _each(out),
    )


FIGURES = {"2x2": _cross, "mechanism": _slopes, "lever": _curve, "twin": _twins}


# --- accounts ----------------------------------------------------------------------------------


def _verdicts(out: Mapping) -> doc.Table:
    """What each model shows, a row each."""
    titles, cells = VERDICTS[out["design"]["design"]]
    rows = [[name, *cells(part)] for name, part in _models(out).items()]
    return doc.Table([_who(out), *titles], rows, caption="Verdicts", name="verdicts")


def _effect(part: Mapping) -> list[doc.Line]:
    contrast = part["contrasts"]["HP-LA"]
    return [part["verdict"]["word"], estimate(contrast, 100, 1), str(contrast["units"])]


def _worth(part: Mapping) -> list[doc.Line]:
    meets = part["meets"]
    low, high = (plain(meets[side], 1) for side in ("low", "high"))
    limits = (
        f"at most {high}"
        if meets["low"] is None
        else f"{low} or more"
        if meets["high"] is None
        else f"{low} to {high}"
    )
    return [
        part["verdict"]["word"],
        meets["why"] or f"{plain(meets['value'], 1)} ({limits})",
    ]


POINTS = (("verdict", "points (interval)", "bulletins"), _effect)
VERDICTS = {
    "2x2": POINTS,
    "mechanism": POINTS,
    "lever": (("verdict", "worth, × the temptation"), _worth),
    "twin": (
        ("with its own copy", "with another model", "with a person"),
        lambda part: [
            counted(part[cell]["k"], part[cell]["n"]) for cell in ("TS", "TO", "TP")
        ],
    ),
}


def _accounts(out: Mapping) -> Iterator[doc.Table]:
    """Each account once per model, excluded or open, where a study has cells for accounts."""
    models = _models(out)
    if any("HP-LA" in part["contrasts"] for part in models.values()):
        yield doc.Table(
            ["account", *models],
            [
                [
                    account.short,
                    *(
                        EXCLUDED[part["accounts"][account.name]["excluded"]]
                        for part in models.values()
                    ),
                ]
                for account in ACCOUNTS
            ],
            caption="Accounts of an effect",
            name="accounts",
        )


def _forest(out: Mapping) -> Iterator[doc.Plot]:
    """The contrasts that each account cannot produce, model by model."""
    groups = {
        f"{account.short}: {CONTRASTS[key].label}": [
            _row(
                name, part["contrasts"][key], part["accounts"][account.name]["excluded"]
            )
            for name, part in _models(out).items()
            if key in part["contrasts"]
        ]
        for account in ACCOUNTS
        for key in account.plot
    }
    groups = {title: rows for title, rows in groups.items() if rows}
    every = [point for rows in groups.values() for point in rows]
    if any(point.value is not None for point in every):
        many = sorted({len(point.units) for point in every})
        ends = " to ".join(map(str, dict.fromkeys((many[0], many[-1]))))
        yield doc.Plot(
            Intervals(
                "Contrasts that an account cannot produce",
                groups,
                "points of cooperation",
                len(_models(out)) <= MOST,
            ),
            f"Filled: excluded; hollow: open. Dots: n = {ends} bulletins per row; "
            "ticks: wordings.",
        )


def _row(name: str, contrast: Mapping, excluded: bool) -> Point:
    units, ticks = (
        [value for value in contrast[by].values() if value is not None]
        for by in ("by_bulletin", "by_wording")
    )
    return Point(
        name,
        contrast["value"],
        contrast["low"],
        contrast["high"],
        hollow=not excluded,
        units=units,
        ticks=ticks,
    )


# --- claims and criteria -----------------------------------------------------------------------


def not_supported(out: Mapping[str, Any]) -> tuple[list[str], doc.Fold]:
    """What may not be said: of these data, and, in a fold, of any data of these cells."""
    may_not = out["claims"]["may_not"]
    always = [words for words in may_not if words.startswith("Always open")]
    return (
        [words for words in may_not if words not in always],
        doc.Fold("What no data of these cells can exclude", [doc.Bullets(always)]),
    )


def _claims(out: Mapping) -> Iterator[doc.Columns | doc.Fold]:
    may, (may_not, always) = (
        out["claims"]["may"] or ["Nothing positive."],
        not_supported(out),
    )
    yield doc.Columns(
        [
            [doc.Words("Supported:", "dim"), doc.Bullets(may)],
            [doc.Words("Not supported:", "dim"), doc.Bullets(may_not)],
        ]
    )
    yield always


def _success(out: Mapping) -> Iterator[doc.Table]:
    if "success" in out:
        yield doc.Table(
            ["criterion", "met", "figure"],
            [
                [
                    row["criterion"],
                    UNSUPPORTED
                    if row["met"] and row["established"] is False
                    else MET[row["met"]],
                    row["figure"],
                ]
                for row in out["success"]
            ],
            caption="Success criteria, as specified",
            name="success-criteria",
        )


# --- details -----------------------------------------------------------------------------------


def _details(out: Mapping) -> Iterator[doc.Fold]:
    if finished(out):
        yield doc.Fold("Cells", [_all_cells(out)])
    for name, part in _parts(out).items():
        if part["contrasts"]:
            yield doc.Fold(name, list(_detail(name, part)))
    if finished(out) and any("probes" in part for part in _models(out).values()):
        yield doc.Fold("Probes", [_probes(out)])
    yield doc.Fold("Data", [_statuses(out), doc.Bullets(list(_quality(out)))])
    setting = "Tells: {tells}; compliance pressure: {compliance}.".format_map(
        out["design"]
    )
    yield doc.Fold("Methods", [doc.Bullets([*METHODS, setting])])


def _detail(name: str, part: Mapping) -> Iterator[doc.Table]:
    yield doc.Table(
        ["contrast", "points", "worst case", "limits by"],
        [
            [
                contrast["label"],
                estimate(contrast, 100, 1),
                interval(
                    contrast["bounds"]["low"],
                    contrast["bounds"]["high"],
                    1,
                    sign=True,
                    scale=100,
                ),
                contrast["why"]
                or f"{contrast['limit_by']}, {100 * contrast['level']:.4g}%",
            ]
            for contrast in (
                part["contrasts"][key] for key in CONTRASTS if key in part["contrasts"]
            )
        ],
        (1, 2),
        f"Contrasts, {name}",
        f"contrasts {name}",
    )
    if "HP-LA" in part["contrasts"]:
        yield doc.Table(
            ["account", "why it is excluded or open"],
            [
                [account.short, part["accounts"][account.name]["why"]]
                for account in ACCOUNTS
            ],
            name=f"reasons {name}",
        )


def _probes(out: Mapping) -> doc.Table:
    """What each model answered beside its decisions, in the two cells of a contrast."""
    models = {name: part.get("probes", {}) for name, part in _models(out).items()}
    rows = [
        [
            what + when,
            CONTRASTS[contrast].label,
            *(_probe(probes.get(key), contrast) for probes in models.values()),
        ]
        for kind, what, contrast in PROBES
        for given, when in GIVEN.items()
        if any(
            (key := f"{kind}/{given}".rstrip("/")) in probes
            for probes in models.values()
        )
    ]
    return doc.Table(
        ["probe", "contrast", *models],
        rows,
        caption="Share in the first cell/in the "
        "second, difference in points (interval)",
        name="probes",
    )


def _probe(probe: Mapping | None, contrast: str) -> str:
    if probe is None:
        return NONE
    cells = (
        percent(probe["cells"].get(cell, {}).get("mean"))
        for cell in contrast.split("-")
    )
    return (
        f"{'/'.join(cells)}, {estimate(probe['contrasts'].get(contrast), 100, 1).words}"
    )


def _share(share: Mapping) -> str:
    """ "5/10, 50% (24 to 76), SE 17"."""
    said = counted(share["k"], share["n"])
    if share["mean"] is not None:
        said += f", {rate(share['mean'], share['low'], share['high'])}"
    if share.get("se") is not None:
        said += f", SE {plain(100 * share['se'], 1)}"
    return said


def _all_cells(out: Mapping) -> doc.Table:
    parts = _parts(out)
    return doc.Table(
        ["cell", *parts],
        [
            [WORDS[cell], *(_share(part["cells"][cell]) for part in parts.values())]
            for cell in out["design"]["cells"]
        ],
        range(1, 1 + len(parts)),
        "Cooperative of the readable decisions, by cell"
        + ", with 95% intervals and standard errors" * finished(out),
        "cells",
    )


def _statuses(out: Mapping) -> doc.Table:
    kinds, cells = sorted(out["outcomes"]["status"]), out["outcomes"]["by_cell"]
    rows = [
        [WORDS[cell], *(str(cells[cell].get(kind, 0)) for kind in kinds)]
        for cell in WORDS
        if cell in cells
    ]
    return doc.Table(
        ["cell", *kinds],
        rows,
        range(1, len(kinds) + 1),
        "How the trials of each cell ended",
        "statuses",
    )


def _set_aside(out: Mapping) -> Iterator[str]:
    """The models that are no part of what is shown."""
    for model, why in out["asked"]["set_aside"].items():
        yield f"{model} was set aside and is no part of this: {why}."


def _adapted(out: Mapping) -> Iterator[str]:
    """What the warm-up found: how a model was asked otherwise than by default."""
    for model, stages in out["asked"]["adapted"].items():
        for stage, ways in stages.items():
            parts = [f"without {name}" for name in ways.get("left_out", ())]
            if "limit" in ways:
                parts.append(f"the output limit as {ways['limit']}")
            if "room" in ways:
                parts.append(f"room for {ways['room']:,} tokens")
            yield f"{model} was asked ({stage}): {', '.join(parts)}."


def _quality(out: Mapping) -> Iterator[str]:
    """Labels, position, who answered, cost, in sentences."""
    position = out["position"]
    shares = ", ".join(
        f"{SCHEMES[name]} {counted(share['k'], share['n'])}"
        for name, share in out["labels"].items()
    )
    yield f"Cooperation by labels: {shares}."
    if position["n"]:
        share = (
            f": {rate(position['share'], position['low'], position['high'])}"
            * finished(out)
        )
        yield (
            f"The option that stands first was taken in {position['k']} of {position['n']} "
            f"decisions{share}."
        )
    several = [
        (name, what, served[key])
        for name, served in out["served"].items()
        for what, key in (("models", "served_model"), ("providers", "provider"))
    ]
    yield from (
        f"{name} was served by {len(names)} {what} ({', '.join(names)}): they are not "
        "told apart here."
        for name, what, names in several
        if len(names) > 1
    )
    yield from (entry["sentence"] for entry in out["upstreams"].values())
    yield from _adapted(out)
    yield f"Cost of the answers: {cost(out['cost'])}."


# --- every trial -------------------------------------------------------------------------------


def trials(
    rows: Sequence[Mapping], prompts: Mapping[str, tuple[str, ...]]
) -> doc.TrialTable:
    """A row for each trial; of a large study the first runs alone, since a page is to be read."""
    models, cells = list(dict.fromkeys(row["model"] for row in rows)), list(WORDS)
    runs = max((row["run"] for row in rows), default=1)
    last = max(1, SHOWN * runs // max(1, len(rows)))
    shown = sorted(
        (row for row in rows if row["run"] <= last),
        key=lambda row: (
            models.index(row["model"]),
            row["bulletin"],
            row["run"],
            cells.index(row["cell"]),
        ),
    )
    part = f"Up to run {last} of {runs}. " if last < runs else ""
    return doc.TrialTable(
        "Trials",
        f"{part}A row opens its prompt and answer; trials.jsonl.gz has all.",
        ("model", "cell", "bulletin", "labels", "order", "run", "decision"),
        [_trial(row, prompts.get(row["id"], ())) for row in shown],
    )


def _trial(row: Mapping, prompt: Sequence[str]) -> doc.TrialRow:
    served = " · ".join(name for name in (row["served_model"], row["provider"]) if name)
    left, outcome = len(row["text"]) - LENGTH, row["decision"] or row["status"]
    titles = (
        "System prompt",
        *["Worked examples"] * (len(prompt) > 2),
        f"Prompt, {row['variant']}, wording {row['wording']}",
    )
    more = f"; {plain(left, 0)} more characters in trials.jsonl.gz" if left > 0 else ""
    return doc.TrialRow(
        [
            row["model"],
            WORDS[row["cell"]],
            row["bulletin"],
            SCHEMES[row["label_scheme"]],
            row["order"],
            str(row["run"]),
            doc.Tag(outcome, ACTS[row["cooperates"]]),
        ],
        [
            (
                f"Answer ({row['status']}), served by {served or 'nobody'}{more}",
                doc.Verbatim(row["text"][:LENGTH]),
            ),
            *zip(titles, map(doc.Verbatim, prompt), strict=False),
        ],
    )
