"""A one-shot study to read: one document for all four designs.

    files(out, rows, prompts, hashes)     {"pilot-summary.md": …, "report.html": …}
    terminal(read(folder / "pilot-analysis.json"))
    together({"mechanism-s42": out, "twin-s42": out})     several studies on one page

`out` is an analysis, as pilot-analysis.json has it. Codes of cells are only in data files.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cirrus.ask.oneshot import DESIGNS
from cirrus.ask.prompts import LEVERS
from cirrus.judge.accounts import ACCOUNTS
from cirrus.judge.contrasts import CONTRASTS
from common import VERSION
from show.document import (
    Bullets,
    Columns,
    Document,
    Fold,
    Foot,
    Line,
    Plot,
    Section,
    Table,
    Tag,
    TrialRow,
    TrialTable,
    Verbatim,
    Words,
    markdown,
)
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

SHOWN = 1_000    # trials on a page, where that is a whole run
LENGTH = 20_000  # characters of an answer; the whole of it is in trials.jsonl.gz
TITLES = {"2x2": "CIRRUS-24 pilot", "lever": "CIRRUS-24 lever study",
          "mechanism": "CIRRUS-24 mechanism study", "twin": "CIRRUS-24 twin control"}
WORDS = {cell.name: cell.words for design in DESIGNS.values() for cell in design.cells}
MOST = 2   # models in a figure that has room for digits
SCHEMES = {"L1": "words", "L2": "letters", "L3": "letters exchanged"}
POOLED = "all models"
# No colour of praise or blame: to be excluded is no success.
EXCLUDED = {True: Tag("excluded", "plain"), False: Tag("open", "dim")}
MET = {True: Tag("met", "plain"), False: Tag("not met"), None: Tag("unknown")}
UNSUPPORTED = Tag("met on the estimate, not established")
ACTS = {None: "maybe", 1: "cooperate", 0: "defect"}
# {probe: (what is shared, the contrast it is a check of)}
PROBES = {
    "payoffs": ("orders the outcomes as meant", "HP-LA"),
    "similar": ("sees both in like circumstances", "HP-LA"),
    "entry": ("knows how the entry is made", "HP-EP"),
    "beliefs": ("expects the late entry", "HP-EP"),
    "influence": ("thinks that its entry changes the other", "HP-EP")}
GIVEN = {"joint": ", having entered late", "other": ", having entered early", "any": "", "": ""}
METHODS = (
    "A contrast is averaged inside bulletins and wordings, then over them. The table says which "
    "rule set its interval, and the level: the models of a study share 5% of error. Worst case: "
    "with every missing decision counted against the contrast on that side.",
    "An account is excluded only by an effect that it cannot produce, established at that level, "
    "also in the worst case. Absence of an effect excludes nothing.")


def files(out: Mapping[str, Any], rows: Sequence[Mapping], prompts: Mapping[str, tuple[str, ...]],
          hashes: Mapping[str, str]) -> dict[str, str]:
    """{file name: content}. `prompts`: {trial id: (system, user)} of the trials that
    were asked. `hashes`: of design and trials, for the foot."""
    return {"pilot-summary.md": markdown(summary(out, hashes)),
            "report.html": page(document(out, hashes, trials(rows, prompts)))}


def read(analysis: Path) -> Document:
    """The report of an analysis file, without its trials."""
    return document(json.loads(Path(analysis).read_bytes()), {})


def answer(out: Mapping[str, Any]) -> str:
    """The sentence that stands first everywhere."""
    return out["verdict"]["sentence"]


def document(out: Mapping[str, Any], hashes: Mapping[str, str],
             shown: TrialTable | None = None) -> Document:
    """The report of one study."""
    design = out["design"]
    verdicts = _verdicts(out) if finished(out) else None
    gist = list(filter(None, [list(_forest(out)), list(_accounts(out))]))
    facts = {"seed": str(design["seed"])} | {name: digest[:12] for name, digest in hashes.items()}
    return Document(
        TITLES[_name(out)], _question(out), answer(out),
        Foot(VERSION, facts, "python3 analyze.py FOLDER"),
        FIGURES[_name(out)](out) if finished(out) else None,
        [verdicts, *[Columns(gist)] * bool(gist)] if verdicts else [_all_cells(out)],
        [Section("Claims", [*_claims(out), *_success(out)]),
         Section("Details", list(_details(out)))], shown, list(_stamps(out)), verdicts)


def summary(out: Mapping[str, Any], hashes: Mapping[str, str]) -> Document:
    """What pilot-summary.md holds: cells, accounts, the specification's criteria, claims."""
    report = document(out, hashes)
    return report._replace(
        gist=[*[report.verdicts] * finished(out), _all_cells(out), *_success(out),
              *_accounts(out)],
        sections=[Section("Claims", list(_claims(out)))])


def together(outs: Mapping[str, Mapping[str, Any]], form: Any = document) -> Document:
    """Several studies on one page, a section for each; the first one's figure at the top. `outs`:
    {run: its analysis}; `form`: document or summary."""
    reports = {run: form(out, {}) for run, out in outs.items()}
    first, *rest = reports.values()
    return Document(
        "CIRRUS-24, one-shot studies together", "Each is analysed by itself.",
        " ".join(f"{run}: {report.answer}" for run, report in reports.items()),
        Foot(VERSION, {run: f"seed {out['design']['seed']}" for run, out in outs.items()},
             "python3 analyze.py RUN… --out DIR"), first.figure,
        sections=[Section(run, [
            Words(report.answer), Words(report.question, "dim"),
            *[report.figure] * (report in rest), *report.gist, *_claims(outs[run])])
            for run, report in reports.items()],
        stamps=list(dict.fromkeys(words for report in reports.values() for words in report.stamps)))


def _name(out: Mapping) -> str:
    return out["design"]["design"]


def finished(out: Mapping[str, Any]) -> bool:
    """Whether every trial has an answer: before, there are counts alone."""
    return out["outcomes"]["answered"] == out["design"]["trials"]


def _models(out: Mapping) -> dict[str, Mapping]:
    by_model = out[_name(out)]["by_model"]
    return {model: by_model[model] for model in out["design"]["models"]}


def _parts(out: Mapping) -> dict[str, Mapping]:
    """What each model shows, in the order in which they were named; the whole of a pilot first."""
    part, models = out[_name(out)], _models(out)
    return {POOLED: part["pooled"], **models} if "pooled" in part and len(models) > 1 else models


def _stamps(out: Mapping) -> Iterator[str]:
    design, answered = out["design"], out["outcomes"]["answered"]
    if out["simulated"]:
        yield STAMP
    if not finished(out):
        yield (f"INCOMPLETE: {design['trials'] - answered} of {design['trials']} trials have no "
               "answer yet. The same command resumes the run.")


def _question(out: Mapping) -> str:
    design, who = out["design"], "respondent" if out["simulated"] else "model"
    return (f"{DESIGNS[_name(out)].question} {design['trials']:,} decisions, "
            f"{count(len(design['models']), who)}, {count(design['bulletins'], 'bulletin')}.")


# --- the figure that answers -------------------------------------------------------------------

AXES = ("", "share cooperating")


def _point(part: Mapping, cell: str) -> Point:
    one = part["cells"][cell]
    return Point(WORDS[cell], one["mean"], one["low"], one["high"], counted(one["k"], one["n"]))


def _panels(out: Mapping, rows: Mapping[str, Sequence[str]]) -> dict[str, dict]:
    """{model: {row: points of its cells}}."""
    return {name: {row: [_point(part, cell) for cell in cells] for row, cells in rows.items()}
            for name, part in _parts(out).items()}


def _each(out: Mapping) -> str:
    design = out["design"]
    n = design["trials"] // len(design["cells"]) // len(design["models"])
    return f"{n} decisions per model and point, 95% intervals."


def _cross(out: Mapping) -> Plot:
    return Plot(Lines("Cooperation by symmetry and cue", ("low", "high"),
                      _panels(out, {"cue present": ("LP", "HP"), "cue absent": ("LA", "HA")}),
                      axes=("symmetry", AXES[1])),
                f"Parallel lines: no interaction on this scale. {_each(out)}")


def _slopes(out: Mapping) -> Plot:
    rows = {"made now": ("LA", "HP"), "made earlier": ("EL", "EP"), "known": ("KL", "KP")}
    return Plot(Lines("Cooperation by how the other entry is made",
                      ("neither", "symmetry + cue"), _panels(out, rows), axes=AXES),
                "Inference from likeness raises the first line alone. "
                + _each(out))


def _curve(out: Mapping) -> Plot:
    places = (0, *LEVERS)
    names = [cell for cell in out["design"]["cells"] if cell != "HP"]
    return Plot(Lines(
        "Cooperation as the joint outcome rises", [f"{place:g}" for place in places],
        _panels(out, {"neither symmetry nor cue": names}), places=places,
        levels={name: (_point(part, "HP"), _meeting(part["meets"]))
                for name, part in _models(out).items()},
        axes=("joint outcome raised by, in units of the temptation", AXES[1])),
        "Dashed, with a band: symmetry + cue, outcome not raised. The mark on it: the rise that "
        f"does as much, with its interval, cut at the ends of the scale. {_each(out)}")


def _meeting(meets: Mapping) -> Point:
    """Where a curve meets the level, its interval cut at the ends of the scale."""
    return Point("", meets["value"], meets["low"] or 0, meets["high"] or LEVERS[-1])


def _twins(out: Mapping) -> Plot:
    return Plot(Dots("Cooperation by counterpart", {
        name: [_point(part, cell) for cell in out["design"]["cells"]]
        for name, part in _parts(out).items()}, AXES[1]), _each(out))


FIGURES = {"2x2": _cross, "mechanism": _slopes, "lever": _curve, "twin": _twins}


# --- accounts ----------------------------------------------------------------------------------

def _verdicts(out: Mapping) -> Table:
    """What each model shows, a row each."""
    titles, cells = VERDICTS[_name(out)]
    who = "respondent" if out["simulated"] else "model"
    return Table([who, *titles], [[name, *cells(part)] for name, part in _models(out).items()],
                 caption="Verdicts", name="verdicts")


def _effect(part: Mapping) -> list[Line]:
    contrast = part["contrasts"]["HP-LA"]
    return [part["verdict"]["word"], estimate(contrast, 100, 1), str(contrast["units"])]


def _worth(part: Mapping) -> list[Line]:
    meets = part["meets"]
    low, high = (plain(meets[side], 1) for side in ("low", "high"))
    limits = (f"{low} to {high}" if None not in (meets["low"], meets["high"]) else
              f"{low} or more" if meets["low"] is not None else f"at most {high}")
    return [part["verdict"]["word"], meets["why"] or f"{plain(meets['value'], 1)} ({limits})"]


def _twin(part: Mapping) -> list[Line]:
    return [counted(part[cell]["k"], part[cell]["n"]) for cell in ("TS", "TO", "TP")]


POINTS = (("verdict", "points (interval)", "bulletins"), _effect)
VERDICTS = {"2x2": POINTS, "mechanism": POINTS,
            "lever": (("verdict", "worth, × the temptation"), _worth),
            "twin": (("with its own copy", "with another model", "with a person"), _twin)}


def _accounts(out: Mapping) -> Iterator[Table]:
    """Each account once per model, excluded or open, where a study has cells for accounts."""
    models = _models(out)
    if any("HP-LA" in part["contrasts"] for part in models.values()):
        yield Table(["account", *models], [
            [account.short, *(EXCLUDED[part["accounts"][account.name]["excluded"]]
                              for part in models.values())] for account in ACCOUNTS],
            caption="Accounts of an effect", name="accounts")


def _forest(out: Mapping) -> Iterator[Plot]:
    """The contrasts that each account cannot produce, model by model."""
    groups = {f"{account.short}: {CONTRASTS[key].label}": [
        _row(name, part["contrasts"][key], part["accounts"][account.name]["excluded"])
        for name, part in _models(out).items() if key in part["contrasts"]]
        for account in ACCOUNTS for key in account.plot}
    groups = {title: rows for title, rows in groups.items() if rows}
    if any(point.value is not None for rows in groups.values() for point in rows):
        yield Plot(Intervals("Contrasts that an account cannot produce", groups,
                             "points of cooperation", len(_models(out)) <= MOST),
                   f"Filled: excluded; hollow: open. Dots: {_bulletins(groups)}; ticks: wordings.")


def _bulletins(groups: Mapping[str, Sequence[Point]]) -> str:
    many = sorted({len(point.units) for points in groups.values() for point in points})
    return f"n = {' to '.join(map(str, dict.fromkeys((many[0], many[-1]))))} bulletins per row"


def _row(name: str, contrast: Mapping, excluded: bool) -> Point:
    units, ticks = ([value for value in contrast[by].values() if value is not None]
                    for by in ("by_bulletin", "by_wording"))
    return Point(name, contrast["value"], contrast["low"], contrast["high"],
                 hollow=not excluded, units=units, ticks=ticks)


# --- claims and criteria -----------------------------------------------------------------------

def _claims(out: Mapping) -> Iterator[Columns | Fold]:
    always = [words for words in out["claims"]["may_not"] if words.startswith("Always open")]
    may_not = [words for words in out["claims"]["may_not"] if words not in always]
    yield Columns([
        [Words("Supported:", "dim"), Bullets(out["claims"]["may"] or ["Nothing positive."])],
        [Words("Not supported:", "dim"), Bullets(may_not)]])
    yield Fold("What no data of these cells can exclude", [Bullets(always)])


def _success(out: Mapping) -> Iterator[Table]:
    if "success" in out:
        yield Table(["criterion", "met", "figure"], [
            [row["criterion"], UNSUPPORTED if row["met"] and row["established"] is False else
             MET[row["met"]], row["figure"]] for row in out["success"]],
            caption="Success criteria, as specified",
            name="success-criteria")


# --- details -----------------------------------------------------------------------------------

def _details(out: Mapping) -> Iterator[Fold]:
    if finished(out):
        yield Fold("Cells", [_all_cells(out)])
    for name, part in _parts(out).items():
        if part["contrasts"]:
            yield Fold(name, list(_detail(name, part)))
    if any("probes" in part for part in _models(out).values()):
        yield Fold("Probes", [_probes(out)])
    yield Fold("Data", [_statuses(out), Bullets(list(_quality(out)))])
    asked = "Tells: {tells}; compliance pressure: {compliance}.".format_map(out["design"])
    yield Fold("Methods", [Bullets([*METHODS, asked])])


def _detail(name: str, part: Mapping) -> Iterator[Table]:
    yield Table(
        ["contrast", "points", "worst case", "limits by"],
        [[one["label"], estimate(one, 100, 1), _worst(**one["bounds"]),
          one["why"] or f"{one['limit_by']}, {100 * one['level']:.4g}%"]
         for _, one in _ordered(part["contrasts"], CONTRASTS)],
        (1, 2), f"Contrasts, {name}", f"contrasts {name}")
    if "HP-LA" in part["contrasts"]:
        yield Table(["account", "why it is excluded or open"], [
            [account.short, part["accounts"][account.name]["why"]] for account in ACCOUNTS],
            name=f"reasons {name}")


def _probes(out: Mapping) -> Table:
    """What each model was asked beside its decisions, in the two cells of a contrast."""
    models = {name: part.get("probes", {}) for name, part in _models(out).items()}
    kinds = [f"{kind}/{given}".rstrip("/") for kind in PROBES for given in GIVEN]
    return Table(["probe", "contrast", *models], [
        [PROBES[kind.split("/")[0]][0] + GIVEN[kind.partition("/")[2]],
         CONTRASTS[PROBES[kind.split("/")[0]][1]].label,
         *(_probe(probes.get(kind), PROBES[kind.split("/")[0]][1]) for probes in models.values())]
        for kind in kinds if any(kind in probes for probes in models.values())],
        caption="Share in the first cell/in the second, difference in points (interval)",
        name="probes")


def _probe(probe: Mapping | None, contrast: str) -> str:
    if probe is None:
        return NONE
    cells = (percent(probe["cells"].get(cell, {}).get("mean")) for cell in contrast.split("-"))
    return f"{'/'.join(cells)}, {estimate(probe['contrasts'].get(contrast), 100, 1).words}"


def _ordered(by: Mapping[str, Any], names: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """A file has its keys by the alphabet."""
    return [(name, by[name]) for name in names if name in by]


def _share(one: Mapping) -> str:
    return counted(one["k"], one["n"]) + (f", {_mean(one)}" if one["mean"] is not None else "")


def _mean(one: Mapping) -> str:
    return rate(*map(one.get, ("mean", "low", "high")))


def _worst(low: float | None, high: float | None) -> str:
    return interval(low, high, 1, sign=True, scale=100)


def _all_cells(out: Mapping) -> Table:
    parts = _parts(out)
    return Table(["cell", *parts], [
        [WORDS[cell], *(_share(part["cells"][cell]) for part in parts.values())]
        for cell in out["design"]["cells"]], range(1, 1 + len(parts)),
        "Cooperative of the readable decisions, by cell, with 95% intervals", "cells")


def _statuses(out: Mapping) -> Table:
    kinds = sorted(out["outcomes"]["status"])
    return Table(["cell", *kinds], [
        [WORDS[name], *(str(counts.get(kind, 0)) for kind in kinds)]
        for name, counts in _ordered(out["outcomes"]["by_cell"], WORDS)],
        range(1, len(kinds) + 1), "How the trials of each cell ended", "statuses")


def _quality(out: Mapping) -> Iterator[str]:
    """Labels, position, who answered, cost, in sentences."""
    position = out["position"]
    shares = ", ".join(f"{SCHEMES[name]} {counted(one['k'], one['n'])}"
                       for name, one in out["labels"].items())
    yield f"Cooperation by labels: {shares}."
    if position["share"] is not None:
        yield (f"The option that stands first was taken in {position['k']} of {position['n']} "
               f"decisions: {rate(position['share'], position['low'], position['high'])}.")
    several = [(name, what, served[key]) for name, served in out["served"].items()
               for what, key in (("models", "served_model"), ("providers", "provider"))]
    yield from (f"{name} was served by {len(names)} {what} ({', '.join(names)}): they are not "
                "told apart here." for name, what, names in several if len(names) > 1)
    yield f"Cost of the answers: {cost(out['cost'])}."


# --- every trial -------------------------------------------------------------------------------

def trials(rows: Sequence[Mapping], prompts: Mapping[str, tuple[str, ...]]) -> TrialTable:
    """A row for each trial; of a large study the first runs alone, since a page is to be read."""
    models, cells = list(dict.fromkeys(row["model"] for row in rows)), list(WORDS)
    runs = max((row["run"] for row in rows), default=1)
    last = max(1, SHOWN * runs // max(1, len(rows)))
    shown = sorted((row for row in rows if row["run"] <= last), key=lambda row: (
        models.index(row["model"]), row["bulletin"], row["run"], cells.index(row["cell"])))
    part = f"Up to run {last} of {runs}. " if last < runs else ""
    return TrialTable(
        "Trials", f"{part}A row opens its prompt and answer; trials.jsonl.gz has all.",
        ("model", "cell", "bulletin", "labels", "order", "run", "decision"),
        [_trial(row, prompts.get(row["id"], ())) for row in shown])


def _trial(row: Mapping, prompt: Sequence[str]) -> TrialRow:
    served = " · ".join(name for name in (row["served_model"], row["provider"]) if name)
    left, outcome = len(row["text"]) - LENGTH, row["decision"] or row["status"]
    titles = ("System prompt", *["Worked examples"] * (len(prompt) > 2),
              f"Prompt, {row['variant']}, wording {row['wording']}")
    more = f"; {plain(left, 0)} more characters in trials.jsonl.gz" if left > 0 else ""
    return TrialRow(
        [row["model"], WORDS[row["cell"]], row["bulletin"],
         SCHEMES[row["label_scheme"]], row["order"], str(row["run"]),
         Tag(outcome, ACTS[row["cooperates"]])],
        [(f"Answer ({row['status']}), served by {served or 'nobody'}{more}",
          Verbatim(row["text"][:LENGTH])),
         *zip(titles, map(Verbatim, prompt), strict=False)])
