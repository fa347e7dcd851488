"""Makes the reports of one-shot studies of every design.

    files(out, rows, prompts, hashes)     {"pilot-summary.md": …, "report.html": …}
    read(folder / "pilot-analysis.json")  a document, which `show.document` can print
    together({"mechanism-s42": out, "twin-s42": out})     several studies on one page

`out` is an analysis, as pilot-analysis.json has it. Reports name cells in words; their
codes (HP, LA, …) occur only in data files.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cirrus.ask.oneshot import DESIGNS
from cirrus.ask.prompts import LEVERS
from cirrus.judge.accounts import ACCOUNTS
from cirrus.judge.accounts import CELL_WORDS as WORDS
from cirrus.judge.contrasts import CONTRASTS
from cirrus.judge.extras import half_open
from cirrus.judge.mirror import CONTRASTED
from cirrus.judge.oneshot import called
from common import VERSION
from show import document as doc
from show.figures import (
    NONE,
    STAMP,
    bracketed,
    cost,
    count,
    counted,
    estimate,
    interval,
    percent,
    plain,
    points,
    rate,
)
from show.page import page
from show.plots import Dots, Intervals, Lines, Point

SHOWN = 1_000  # a page shows about so many trials, in whole runs
LENGTH = 20_000  # characters of an answer that are shown; trials.jsonl.gz has all
TITLES = {
    "2x2": "CIRRUS-24 pilot",
    "lever": "CIRRUS-24 lever study",
    "mechanism": "CIRRUS-24 mechanism study",
    "mirror": "CIRRUS-24 mirror study",
    "twin": "CIRRUS-24 twin control",
}
MOST = 2  # a figure prints numbers for up to so many models
SCHEMES = {"L1": "words", "L2": "letters", "L3": "letters exchanged"}
POOLED = "all {}s"
# The tags have no colour of praise or blame: an excluded account is no success.
EXCLUDED = {True: doc.Tag("excluded", "plain"), False: doc.Tag("open")}
MET = {
    True: doc.Tag("met", "plain"),
    False: doc.Tag("not met"),
    None: doc.Tag("unknown"),
}
UNSUPPORTED = doc.Tag("met on the estimate, not established")
ALWAYS = ("Always open", "Denied the highest word")
ACTS = {None: "maybe", 1: "cooperate", 0: "defect"}
# (probe, what its share says of the model, the contrast whose two cells it compares)
PROBES = (
    ("payoffs", "orders the outcomes as meant", "HP-LA"),
    ("peer", "orders the counterpart's outcomes as meant", "HP-LA"),
    ("entry", "knows what the counterpart had read", "HP-UP"),
    ("entry", "knows whether its entry is known", "HP-KP"),
    ("beliefs", "expects the late entry", "HP-UP"),
    ("purpose", "takes the text for a test", "HP-LA"),
)
GIVEN = {
    "late": ", having entered late",
    "early": ", having entered early",
    "any": "",
    "": "",
}
METHODS = (
    "A contrast is averaged inside bulletins and wordings, then over them. The table says which "
    "rule set its interval, and the level: the models of a study share 5% of error. Worst case: "
    "with every missing decision counted against the contrast on that side.",
    "An account is excluded only by an effect that it cannot produce, established at that level, "
    "also in the worst case of its own contrasts. Absence of an effect excludes nothing; differences "
    "between labels can only withhold an exclusion and count as observed.",
)
OF_HALVES = (
    "Beside an early entry of the other's a late one costs 8 to 10 times what it costs beside a late "
    "one in the high half of the bulletins, 1/8 to 1/10 in the low half."
)


# {runs in a cell: for each of these effects the share of pilots in which a model, one of four in
# the pilot, earns its verdict}. SIMULATED, from 2,000 pilots each, with SDs in log-odds of .8 over bulletins, .4 over
# cells and .25 over sentences, and no missing answers.
EFFECTS = ("40 → 80%", "40 → 95%")
POWER = {
    10: (0.12, 0.39),
    20: (0.30, 0.80),
    40: (0.53, 0.96),
    80: (0.79, 1.00),
    160: (0.94, 1.00),
}


def files(
    out: Mapping[str, Any],
    rows: Sequence[Mapping],
    prompts: Mapping[str, tuple[str, ...]],
    hashes: Mapping[str, str],
) -> dict[str, str]:
    """Return {file name: content} of a study's reports.

    `prompts` is {trial id: (system, user)} of the trials that were sent; `hashes` of
    design and trials go into the page's foot.
    """
    report = document(out, hashes, trials(rows, prompts))
    summed = doc.markdown(summary(out, hashes))
    return {"pilot-summary.md": summed, "report.html": page(report)}


def read(analysis: Path) -> doc.Document:
    """Return the report of an analysis file, without its trials."""
    return document(json.loads(Path(analysis).read_bytes()), {})


def document(
    out: Mapping[str, Any],
    hashes: Mapping[str, str],
    shown: doc.TrialTable | None = None,
) -> doc.Document:
    """Return the report of one study."""
    design, whole = out["design"], finished(out)
    name = design["design"]
    facts = {"seed": str(design["seed"])}
    for file, digest in hashes.items():
        facts[file] = digest[:12]
    figure = verdicts = None
    gist: list[Any] = [_all_cells(out)]
    if whole:
        verdicts = _verdicts(out)
        gist = [verdicts]
        shares = [part for part in (_forest(out), _accounts(out)) if part]
        if shares:
            gist.append(doc.Columns([[part] for part in shares]))
    if whole and out["outcomes"]["read"] and name in FIGURES:
        figure = FIGURES[name](out)
    return doc.Document(
        title=TITLES[name],
        question=_question(out),
        answer=out["verdict"]["sentence"],
        foot=doc.Foot(VERSION, facts, "python3 analyze.py FOLDER"),
        figure=figure,
        gist=gist,
        sections=[
            doc.Section("Claims", [*_claims(out), *_success(out)]),
            doc.Section("Details", list(_details(out))),
        ],
        trials=shown,
        stamps=list(_stamps(out)),
        verdicts=verdicts,
        alarms=[
            *_set_aside(out),
            *_served_by(out, "models", "served_model"),
            *out["losses"].values(),
        ],
        note=out["first_line"]["sentence"],
        last=power(out) if name == "2x2" else "",
    )


def power(out: Mapping[str, Any]) -> str:
    """Say how often a pilot of this size (or the next smaller one in POWER) finds an
    effect; "" below the smallest."""
    sizes = [size for size in POWER if size <= _runs(out)]
    if not sizes:
        return ""
    size = max(sizes)
    found = []
    for effect, share in zip(EFFECTS, POWER[size], strict=True):
        found.append(f"{effect} in {percent(share)}")
    told = f"{size} runs, four models: one earns its word for {' and '.join(found)}"
    return f"{told} of pilots (SIMULATED)."


def summary(out: Mapping[str, Any], hashes: Mapping[str, str]) -> doc.Document:
    """Return the document of pilot-summary.md: cells, accounts, criteria and claims."""
    report = document(out, hashes)
    gist: list[Any] = [_all_cells(out), *_success(out)]
    if report.verdicts:
        gist.insert(0, report.verdicts)
    if _accounts(out):
        gist.append(_accounts(out))
    gist += _differences(out)
    sections = [doc.Section("Claims", list(_claims(out)))]
    return report._replace(gist=gist, sections=sections)


def together(
    outs: Mapping[str, Mapping[str, Any]],
) -> tuple[doc.Document, dict[str, str]]:
    """Return (document, {file name: content}) of several studies on one page, each in a
    section.

    `outs` is {run: its analysis}.
    """
    report = _together(outs, document)
    return report, {
        "pilot-summary.md": doc.markdown(_together(outs, summary)),
        "report.html": page(report),
    }


def _together(outs: Mapping[str, Mapping], form: Callable) -> doc.Document:
    """Join the reports that `form` makes of each study into one document."""
    reports = {run: form(out, {}) for run, out in outs.items()}
    first = next(iter(reports.values()))
    answers, sections, stamps, seeds = [], [], [], {}
    for run, report in reports.items():
        answers.append(f"{run}: {report.answer}")
        parts: list[Any] = [doc.Words(report.answer)]
        parts.append(doc.Words(report.question, "dim"))
        if report is not first:
            parts.append(report.figure)
        parts += [*report.gist, *_claims(outs[run])]
        sections.append(doc.Section(run, parts))
        stamps += [*report.alarms, *report.stamps]
        seeds[run] = f"seed {outs[run]['design']['seed']}"
    return doc.Document(
        title="CIRRUS-24, one-shot studies together",
        question="Each is analysed by itself.",
        answer=" ".join(answers),
        foot=doc.Foot(VERSION, seeds, "python3 analyze.py RUN… --out DIR"),
        figure=first.figure,
        sections=sections,
        stamps=list(dict.fromkeys(stamps)),
    )


def finished(out: Mapping[str, Any]) -> bool:
    """Whether every trial has an answer; before that a report has counts only."""
    return out["outcomes"]["answered"] == out["design"]["trials"]


def _models(out: Mapping) -> dict[str, Mapping]:
    """Return {model: its part of the analysis}, in the order in which models were
    named."""
    by_model = out[out["design"]["design"]]["by_model"]
    return {model: by_model[model] for model in out["design"]["models"]}


def _parts(out: Mapping) -> dict[str, Mapping]:
    """Return {name: part} of all models, preceded by the pooled part of a pilot with
    several."""
    part, models = out[out["design"]["design"]], _models(out)
    if "pooled" in part and len(models) > 1:
        return {POOLED.format(called(out)): part["pooled"]} | models
    return models


def _stamps(out: Mapping) -> Iterator[str]:
    """Yield the warnings that stand above everything: SIMULATED, INCOMPLETE."""
    trials = out["design"]["trials"]
    if out["simulated"]:
        yield STAMP
    if not finished(out):
        left = f"{trials - out['outcomes']['answered']} of {trials} trials"
        yield f"INCOMPLETE: {left} have no answer yet. The same command resumes the run."


def _question(out: Mapping) -> str:
    """Return the study's question with its sizes."""
    design = out["design"]
    models = count(len(design["models"]), called(out))
    bulletins = count(design["bulletins"], "bulletin")
    sizes = f"{design['trials']:,} decisions, {models}, {bulletins}"
    question = DESIGNS[design["design"]].question
    return f"{question} {sizes}. {out['first_line']['sentence']}"


# --- the figure that answers -------------------------------------------------------------------

UP = "share cooperating"
# {line of a figure: the cells at its two ends}
CROSSED = {"cue present": ("LP", "HP"), "cue absent": ("LA", "HA")}
BY_READING = {"notice read": ("MN", "HP"), "notice unread": ("ME", "UP")}
BY_GAME = {
    "lines as usual": ("PD2", "PD18"),
    "the other's entries exchanged": ("M2", "M18"),
}
RATES = ("2 of 20 alike", "18 of 20 alike")
RECORD = "earlier cases of the class that applies"
BY_EVIDENCE = (
    "Who takes its own entry as evidence of the other's goes up as usual and down where the other's "
    "entries are exchanged; who likes the number goes up, or down, in both. 95% intervals."
)
BOTH = "symmetry + cue"
NO_SUM = "Lines cross for no sum of symmetry, cue, reading and payoff."
PARALLEL = "Parallel lines: no interaction on this scale."


def point(part: Mapping[str, Any], cell: str) -> Point:
    """Return a cell of a finished study as a point of a figure."""
    share = part["cells"][cell]
    low, high = share["low"], share["high"]
    told = counted(share["k"], share["n"])
    return Point(WORDS[cell], share["mean"], low, high, told)


def _panels(out: Mapping, rows: Mapping[str, Sequence[str]]) -> dict[str, dict]:
    """Return {model: {line: points of its cells}}."""
    panels = {}
    for name, part in _parts(out).items():
        points = {}
        for row, cells in rows.items():
            points[row] = [point(part, cell) for cell in cells]
        panels[name] = points
    return panels


def _runs(out: Mapping) -> int:
    """Return the number of decisions of one model in one cell."""
    design = out["design"]
    return design["trials"] // len(design["cells"]) // len(design["models"])


def _each(out: Mapping) -> str:
    return f"{_runs(out)} decisions per {called(out)} and point, 95% intervals."


def _cross(out: Mapping) -> doc.Plot:
    """Draw a pilot's cells by symmetry and cue."""
    title, axes = "Cooperation by symmetry and cue", ("symmetry", UP)
    figure = Lines(title, ("low", "high"), _panels(out, CROSSED), axes)
    return doc.Plot(figure, f"{PARALLEL} {_each(out)}")


def _curve(out: Mapping) -> doc.Plot:
    """Draw a lever study's cooperation as the joint outcome rises, and where it
    meets symmetry + cue."""
    places = (0, *LEVERS)
    names = [cell for cell in out["design"]["cells"] if cell != "HP"]
    levels = {}
    for name, part in _models(out).items():
        levels[name] = point(part, "HP"), _meeting(part["meets"])
    figure = Lines(
        "Cooperation as the joint outcome rises",
        [f"{place:g}" for place in places],
        _panels(out, {"neither symmetry nor cue": names}),
        places=places,
        levels=levels,
        axes=("joint outcome raised by, in units of the temptation", UP),
    )
    return doc.Plot(
        figure,
        "Dashed, with a band: symmetry + cue, outcome not raised. The mark on it: the rise that "
        f"does as much, with its interval, cut at the ends of the scale. {_each(out)}",
    )


def _meeting(meets: Mapping) -> Point:
    """Return the point where a curve meets a level; its interval is cut at the ends
    of the scale."""
    low, high = meets["low"], meets["high"]
    if low is None:
        low = 0
    if high is None:
        high = LEVERS[-1]
    return Point("", meets["value"], low, high)


def _crossing(out: Mapping) -> doc.Plot:
    """Draw a mechanism study's cells by what the counterpart had read."""
    title, ends = (
        "Cooperation by what the counterpart had read",
        ("raised outcome", BOTH),
    )
    figure = Lines(title, ends, _panels(out, BY_READING), ("", UP))
    return doc.Plot(figure, f"{NO_SUM} {_each(out)}")


def _cells(out: Mapping) -> doc.Plot:
    """Draw a twin control's cells by counterpart."""
    groups = {}
    for name, part in _parts(out).items():
        groups[name] = [point(part, cell) for cell in out["design"]["cells"]]
    return doc.Plot(Dots("Cooperation by counterpart", groups, UP), _each(out))


def _games(out: Mapping) -> doc.Plot:
    """Draw a mirror study's four games by the share of earlier pairs that acted alike."""
    title, axes = "Late entries by record and game", (RECORD, "share late")
    figure = Lines(title, RATES, _panels(out, BY_GAME), axes)
    return doc.Plot(figure, BY_EVIDENCE)


FIGURES = {
    "2x2": _cross,
    "mechanism": _crossing,
    "mirror": _games,
    "lever": _curve,
    "twin": _cells,
}


# --- accounts ----------------------------------------------------------------------------------


def _verdicts(out: Mapping) -> doc.Table:
    """Return the table of verdicts, a row for each model."""
    titles, cells = VERDICTS[out["design"]["design"]]
    rows = [[name, *cells(part)] for name, part in _models(out).items()]
    head = [called(out), *titles]
    return doc.Table(head, rows, caption="Verdicts", name="verdicts")


def _effect(part: Mapping) -> list[doc.Line]:
    """Return a model's verdict, its primary contrast and the number of bulletins."""
    contrast, word = part["contrasts"]["HP-LA"], part["verdict"]["word"]
    return [word, estimate(contrast, 100, 1), str(contrast["units"])]


def _worth(part: Mapping) -> list[doc.Line]:
    """Return a model's verdict, and what symmetry and cue are worth in units of the
    temptation."""
    meets, word = part["meets"], part["verdict"]["word"]
    told = meets["why"] or plain(meets["value"], 1)
    return [word, bracketed(told, half_open(meets))]


def _copies(part: Mapping) -> list[doc.Line]:
    """Return how often a model cooperates with its own copy and with a person, and how
    much more with the copy than with an unread copy and with another model."""
    row: list[doc.Line] = []
    for cell in ("TS", "TP"):  # the table has room for two; the figure shows all four
        row.append(counted(part[cell]["k"], part[cell]["n"]))
    for name in ("TS-TU", "TS-TO"):
        row.append(estimate(part["contrasts"][name], 100, 1))
    return row


def _verdict_row(part: Mapping) -> list[doc.Line]:
    """Return a model's verdict in a mirror study, and its contrasts without
    intervals."""
    row: list[doc.Line] = [part["verdict"]["word"]]
    for name in CONTRASTED:  # without intervals, which the details show
        contrast = part["contrasts"].get(name, {})
        row.append(points(contrast.get("value")))
    return row


POINTS = (("verdict", "points (interval)", "bulletins"), _effect)
GAMES = ("as usual", "exchanged", "enough − too few")
COPIES = ("own copy", "person", "copy − unread", "copy − other")
VERDICTS = {
    "2x2": POINTS,
    "mechanism": POINTS,
    "mirror": (("verdict", *GAMES), _verdict_row),
    "lever": (("verdict", "worth, × the temptation"), _worth),
    "twin": (COPIES, _copies),
}


def _accounts(out: Mapping) -> doc.Table | None:
    """Return the table of accounts, excluded or open, by model; None where the
    design judges none."""
    models, rows = _models(out), []
    for account in ACCOUNTS:
        row: list[doc.Line] = [account.short]
        for part in models.values():
            if "HP-LA" not in part["contrasts"]:
                return None
            row.append(EXCLUDED[part["accounts"][account.name]["excluded"]])
        rows.append(row)
    head, caption = ["account", *models], "Accounts of an effect"
    return doc.Table(head, rows, caption=caption, name="accounts")


def _forest(out: Mapping) -> doc.Plot | None:
    """Draw, by model, the contrasts that each account could not produce; None where
    there are none."""
    groups, models, drawn = {}, _models(out), set()
    for account in ACCOUNTS:
        for key in account.contrasts:
            rows = _rows(models, key, account.name)
            if rows and key not in drawn:
                groups[f"{account.short}: {CONTRASTS[key].label}"] = rows
            drawn.add(key)
    sizes = set()
    for rows in groups.values():
        sizes |= {len(point.units) for point in rows if point.value is not None}
    if not sizes:
        return None
    ends = str(max(sizes))
    if len(sizes) > 1:
        ends = f"{min(sizes)} to {ends}"
    title, axis = "Contrasts that an account cannot produce", "points of cooperation"
    figure = Intervals(title, groups, axis, len(models) <= MOST)
    dots = f"Dots: n = {ends} bulletins per row; ticks: wordings."
    return doc.Plot(figure, f"Filled: excluded; hollow: open. {dots}")


def _rows(models: Mapping[str, Mapping], key: str, account: str) -> list[Point]:
    """Return this contrast of each model that has it, filled where its account is
    excluded."""
    rows = []
    for name, part in models.items():
        if key not in part["contrasts"]:
            continue
        contrast, judged = part["contrasts"][key], part["accounts"][account]
        row = Point(
            label=name,
            value=contrast["value"],
            low=contrast["low"],
            high=contrast["high"],
            hollow=not judged["excluded"],
            units=list(contrast["by_bulletin"].values()),
            ticks=list(contrast["by_wording"].values()),
        )
        rows.append(row)
    return rows


# --- claims and criteria -----------------------------------------------------------------------


def not_supported(out: Mapping[str, Any]) -> tuple[list[str], doc.Fold]:
    """Split what may not be said: (sentences about these data, a fold of what no
    such data exclude)."""
    these: list[str] = []
    always: list[str] = []
    for words in out["claims"]["may_not"]:
        some = always if words.startswith(ALWAYS) else these
        some.append(words)
    return these, doc.Fold(
        "What no data of these cells can exclude", [doc.Bullets(always)]
    )


def _claims(out: Mapping) -> Iterator[doc.Columns | doc.Fold]:
    """Yield the claims that the data support, and those that they don't."""
    may = out["claims"]["may"] or ["Nothing positive."]
    may_not, always = not_supported(out)
    supported = [doc.Words("Supported:", "dim"), doc.Bullets(may)]
    not_so = [doc.Words("Not supported:", "dim"), doc.Bullets(may_not)]
    yield doc.Columns([supported, not_so])
    yield always


def _success(out: Mapping) -> Iterator[doc.Table]:
    """Yield the table of the specification's success criteria; nothing for a design
    without them."""
    if "success" not in out:
        return
    rows = []
    for row in out["success"]:
        met = MET[row["met"]]
        if row["met"] and row["established"] is False:
            met = UNSUPPORTED
        rows.append([row["criterion"], met, row["figure"]])
    title = "Success criteria, as specified"
    head = ["criterion", "met", "figure"]
    yield doc.Table(head, rows, caption=title, name="success-criteria")


# --- details -----------------------------------------------------------------------------------


def _details(out: Mapping) -> Iterator[doc.Fold]:
    """Yield the folds below the answer: cells, contrasts, probes, quality of the
    data, methods."""
    if finished(out):
        yield doc.Fold("Cells", [_all_cells(out)])
    for name, part in _parts(out).items():
        if part["contrasts"]:
            yield doc.Fold(name, list(_detail(name, part)))
    if any("probes" in part for part in _models(out).values()):
        yield doc.Fold("Probes", [_probes(out)])
    quality = doc.Bullets(list(_quality(out)))
    yield doc.Fold("Data", [_statuses(out), quality])
    design = out["design"]
    tells, pressure = design["tells"], design["compliance"]
    told = [*METHODS, f"Tells: {tells}; compliance pressure: {pressure}."]
    if design["design"] == "mirror":
        told.append(OF_HALVES)
    yield doc.Fold("Methods", [doc.Bullets(told)])


def _differences(out: Mapping) -> Iterator[doc.Table]:
    """Yield the contrasts of a twin control, which has no other table for them."""
    if out["design"]["design"] == "twin":
        for name, part in _models(out).items():
            yield from _detail(name, part)


def _detail(name: str, part: Mapping) -> Iterator[doc.Table]:
    """Yield a model's table of contrasts, and the reasons for its accounts."""
    rows = []
    for key in CONTRASTS:
        for held, contrast in part["contrasts"].items():
            # Such as "HP-LA", or "HP-LA, " and the part of the data that it is from.
            base, _, _ = held.partition(", ")
            if base == key:
                rows.append(_contrast(contrast))
    head, title = ["contrast", "points", "worst case", "limits by"], "Contrasts"
    named = f"contrasts {name}"
    yield doc.Table(head, rows, (1, 2), f"{title}, {name}", named)
    if "HP-LA" not in part["contrasts"]:
        return
    whys = []
    for account in ACCOUNTS:
        whys.append([account.short, part["accounts"][account.name]["why"]])
    head = ["account", "why it is excluded or open"]
    yield doc.Table(head, whys, name=f"reasons {name}")


def _contrast(contrast: Mapping) -> list[doc.Line]:
    """Return a contrast's table row: label, figure, worst case, and the rule that
    set its limits."""
    bounds, level = contrast["bounds"], f"{100 * contrast['level']:.4g}"
    worst = interval(bounds["low"], bounds["high"], 1, sign=True, scale=100)
    rule = contrast["why"] or f"{contrast['limit_by']}, {level}%"
    return [contrast["label"], estimate(contrast, 100, 1), worst, rule]


def _probes(out: Mapping) -> doc.Table:
    """Return the table of probes: each model's answers in the two cells of a
    contrast."""
    models, rows = _models(out), []
    for kind, what, contrast in PROBES:
        for given, when in GIVEN.items():
            name = f"{kind}/{given}".rstrip("/")
            found = [part.get("probes", {}).get(name) for part in models.values()]
            if any(found):
                said = [_probe(probe, contrast) for probe in found]
                rows.append([what + when, CONTRASTS[contrast].label, *said])
    title = "Share in the first cell/in the second, difference in points (interval)"
    head = ["probe", "contrast", *models]
    return doc.Table(head, rows, caption=title, name="probes")


def _probe(probe: Mapping | None, contrast: str) -> str:
    """Return a probe's shares in both cells and their difference."""
    if probe is None:
        return NONE
    shares = []
    for cell in contrast.split("-"):
        shares.append(percent(probe["cells"].get(cell, {}).get("mean")))
    difference = estimate(probe["contrasts"].get(contrast), 100, 1)
    return f"{'/'.join(shares)}, {difference.words}"


def _share(share: Mapping) -> str:
    """Return a share as "16/40, 40%, SE 7.6 (23 to 57)", or "16/40" where it has no
    estimate."""
    words = counted(share["k"], share["n"])
    if share["mean"] is None:
        return words
    words += f", {percent(share['mean'])}"
    if share["se"] is not None:
        words += f", SE {plain(100 * share['se'], 1)}"
    return bracketed(words, interval(share["low"], share["high"], 0, scale=100))


def _all_cells(out: Mapping) -> doc.Table:
    """Return the table of shares by cell."""
    parts = _parts(out)
    rows = []
    for cell in out["design"]["cells"]:
        shares = [part["cells"][cell] for part in parts.values()]
        rows.append([WORDS[cell], *map(_share, shares)])
    title = "Cooperative of the readable decisions, by cell"
    if finished(out):
        title += ": share, standard error in points, 95% interval"
    head, columns = ["cell", *parts], range(1, 1 + len(parts))
    return doc.Table(head, rows, columns, title, "cells")


def _statuses(out: Mapping) -> doc.Table:
    """Return the table of how the trials of each cell ended."""
    ended, rows = out["outcomes"], []
    kinds = sorted(ended["status"])
    for cell in out["design"]["cells"]:
        counts = ended["by_cell"][cell]
        rows.append([WORDS[cell], *[str(counts.get(kind, 0)) for kind in kinds]])
    title, head = "How the trials of each cell ended", ["cell", *kinds]
    return doc.Table(head, rows, range(1, len(head)), title, "statuses")


def _set_aside(out: Mapping) -> Iterator[str]:
    """Yield a sentence on each model that was left out because its warm-up answers
    were unreadable."""
    for model, why in out["asked"]["set_aside"].items():
        yield f"{model} was set aside and is no part of this: {why}."


def _adapted(out: Mapping) -> Iterator[str]:
    """Yield a sentence for each model and stage at which it was asked otherwise than by
    default; the warm-up found this necessary."""
    for model, stages in out["asked"]["adapted"].items():
        for stage, ways in stages.items():
            parts = [f"without {name}" for name in ways.get("left_out", ())]
            if "limit" in ways:
                parts.append(f"the output limit as {ways['limit']}")
            if "room" in ways:
                parts.append(f"room for {ways['room']:,} tokens")
            yield f"{model} was asked ({stage}): {', '.join(parts)}."


def _quality(out: Mapping) -> Iterator[str]:
    """Yield sentences on labels, position, who answered, and cost."""
    shares = []
    for name, share in out["labels"].items():
        shares.append(f"{SCHEMES[name]} {counted(share['k'], share['n'])}")
    yield f"Cooperation by labels: {', '.join(shares)}."
    if out["position"]["n"]:
        yield f"The option that stands first was taken in {_taken(out)}."
    yield from _served_by(out, "providers", "provider")
    for entry in out["upstreams"].values():
        yield entry["sentence"]
    yield from _adapted(out)
    yield f"Cost of the answers: {cost(out['cost'])}."


def _served_by(out: Mapping, what: str, key: str) -> Iterator[str]:
    """Yield a sentence on each model that several models, or providers, answered for;
    `key` is the column of the trials that names them."""
    for name, served in out["served"].items():
        names = served[key]
        if len(names) > 1:
            told = f"{len(names)} {what} ({', '.join(names)})"
            yield f"{name} was served by {told}: they are not told apart here."


def _taken(out: Mapping) -> str:
    """Return how often the option shown first was chosen."""
    position = out["position"]
    told = f"{position['k']} of {position['n']} decisions"
    if not finished(out):
        return told
    return f"{told}: {rate(position['share'], position['low'], position['high'])}"


# --- every trial -------------------------------------------------------------------------------


def trials(
    rows: Sequence[Mapping], prompts: Mapping[str, tuple[str, ...]]
) -> doc.TrialTable:
    """Return the table of trials: a row for each cell of a bulletin and run, with all
    models' decisions.

    A large study shows its first runs only, so that the page can be read.
    """
    models, cells = list(dict.fromkeys(row["model"] for row in rows)), list(WORDS)
    runs = max((row["run"] for row in rows), default=1)
    last = max(1, SHOWN * runs // max(1, len(rows)))
    asked: dict[tuple, dict[str, Mapping]] = {}
    for row in rows:
        if row["run"] <= last:
            place = row["bulletin"], row["run"], cells.index(row["cell"])
            asked.setdefault(place, {})[row["model"]] = row
    part = f"Up to run {last} of {runs}. " if last < runs else ""
    note = f"{part}A row opens its prompts and answers; trials.jsonl.gz has all."
    head = ("cell", *models, "bulletin", "run")
    opened = [_trial(asked[place], models, prompts) for place in sorted(asked)]
    return doc.TrialTable("Trials", note, head, opened)


def _trial(
    answers: Mapping[str, Mapping], models: Sequence[str], prompts: Mapping[str, tuple]
) -> doc.TrialRow:
    """Return one row; `answers` is {model: its trial} in one cell of a bulletin and
    run."""
    decisions: list[doc.Line] = []
    texts: list[tuple[str, doc.Verbatim]] = []
    sent: dict[tuple, list[Mapping]] = {}
    for model in models:
        if model not in answers:
            decisions.append(NONE)
            continue
        row = answers[model]
        decisions.append(_decision(row))
        texts.append(_answer(row))
        sent.setdefault(prompts.get(row["id"], ()), []).append(row)
    for prompt, rows in sent.items():
        titles = _titles(prompt, rows, len(sent) > 1)
        texts += zip(titles, map(doc.Verbatim, prompt), strict=False)
    cells = [WORDS[row["cell"]], *decisions, row["bulletin"], str(row["run"])]
    return doc.TrialRow(cells, texts)


def _titles(prompt: Sequence[str], rows: Sequence[Mapping], several: bool) -> list[str]:
    """Return the titles of a prompt's parts.

    `rows` are the trials that were sent this prompt; the titles name their models where
    a row has `several` prompts.
    """
    row, whose = rows[0], ""
    if several:
        whose = f" of {', '.join(row['model'] for row in rows)}"
    titles = [f"System prompt{whose}"]
    if len(prompt) > 2:
        titles.append("Worked examples")
    titles.append(f"Prompt{whose}, {row['variant']}, wording {row['wording']}")
    return titles


def _decision(row: Mapping) -> doc.Tag:
    kind = ACTS[row["cooperates"]]
    if row["decision"] is None:
        return doc.Tag(row["status"], kind)
    return doc.Tag(row["decision"], kind)


def _answer(row: Mapping) -> tuple[str, doc.Verbatim]:
    """Return (title, text) of an answer; the title says whose it is and under which
    labels."""
    served = [name for name in (row["served_model"], row["provider"]) if name]
    who = " · ".join(served) or "nobody"
    left = len(row["text"]) - LENGTH
    more = f"; {plain(left, 0)} more characters in trials.jsonl.gz" if left > 0 else ""
    shown = f"{SCHEMES[row['label_scheme']]}, {row['order']}"
    title = f"{row['model']} ({row['status']}): {shown}; served by {who}{more}"
    return title, doc.Verbatim(row["text"][:LENGTH])
