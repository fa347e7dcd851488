"""Analyses a tournament: makes the whole of acausal-analysis.json from the runs of a
study.

    out = analyse(read_study(find_runs(["results/acausal/confirmatory-s42"])))

Files are read one round at a time, so that memory grows with round 1 and the policies,
not with the number of games.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from cirrus.ask.design import HOME, part_of, titles
from cirrus.ask.oneshot import DESIGNS
from cirrus.judge import accounts, contrasts
from cirrus.judge.endpoint import endpoint, models
from cirrus.judge.gates import PASS, Evidence, gates, settle
from cirrus.judge.oneshot import part_of as shown_by
from cirrus.judge.prereg import registration
from cirrus.judge.readings import ELSEWHERE, Endings, first_line
from cirrus.judge.rows import (
    Decision,
    SavedRun,
    Study,
    artifact,
    decisions,
    policies,
)
from cirrus.judge.tripwires import NO_POLICY, convergence, tripwires
from cirrus.markers import agreement
from cirrus.markers.ratings import Policy, Rater, readable
from common.artifacts import sha256
from common.cli import TYPED
from show.figures import count, sentence
from stats.results import Count

HISTORY_OFF = "history-off"  # the role of runs without history
CELL_TITLES = {cell.name: cell.words for cell in DESIGNS["2x2"].cells}
NO_MAIN = (
    "No main runs (standard tells, main variants, standard history): the endpoint has no "
    "data."
)
# Accounts that no cell of a tournament can exclude.
BEYOND = ("surface", "conditional", "adding_up")
PARTS = {"HP-LP": "symmetry", "HP-HA": "cue"}  # {contrast: what it is the effect of}
COURSE = ("role", "domain", "round", "encounter")
# The counts that are copied from a run's manifest.
COUNTED = ("outcomes", "statuses", "served", "upstreams", "cost", "tokens")


class Collected:
    """Collects all that the analysis needs, in one pass over the files of the runs.

    A decision counts as missing where the agent's own policy was refused or cut off,
    since the agent then decided by no policy.
    """

    def __init__(self, study: Study) -> None:
        # {part of the study: its primary decisions}, {part: counts of its first encounters} and
        # {part: counts of all its encounters}.
        self.rows: dict[str, list[Decision]] = {}
        self.tables: dict[str, dict[contrasts.Slot, Count]] = {}
        self.every: dict[str, dict[contrasts.Slot, Count]] = {}
        self.ended = Endings()
        self.course: dict[tuple, Count] = {}  # keys are values of COURSE
        # {(seed, domain, round): {cell: policies}}.
        self.texts: dict[tuple, dict[str, list[str]]] = {}
        self.policies: list[Policy] = []  # those of round 1 of main runs
        for run in study.runs:
            self._run(run)

    def _run(self, run: SavedRun) -> None:
        """Read a run's policies and decisions."""
        no_history = run.config["history_mode"] == "off"
        lost = {}
        for policy in policies(run):
            status = policy["policy_status"]
            if status in NO_POLICY:
                lost[policy["policy_id"]] = policy
            if run.role == "main" and readable(status):
                self._text(run, policy)
        for row in decisions(run):
            status, text = row.status, row.text
            if row.policy in lost:
                policy = lost[row.policy]
                text, ended = policy["policy"], policy["policy_status"]
                status = f"no policy by {policy['model_strategy']} ({ended})"
                row = row._replace(cooperates=None, first_taken=None)
            self.ended.add(row.model, status, text)
            if not row.baseline:
                self._decision(row, no_history)

    def _decision(self, row: Decision, no_history: bool) -> None:
        """Count a decision. In a run without history every encounter counts as a first
        one."""
        at = row.role, row.domain, row.round, row.encounter
        contrasts.add(self.course, at, row.cooperates)
        part = part_of(row.role, row.domain)
        if part is None:
            return
        slot = slot_of(row)
        contrasts.add(self.every.setdefault(part, {}), slot, row.cooperates)
        if row.encounter == 1 or no_history:
            contrasts.add(self.tables.setdefault(part, {}), slot, row.cooperates)
            if row.round == 1:
                self.rows.setdefault(part, []).append(row)

    def _text(self, run: SavedRun, policy: Mapping) -> None:
        """Keep a policy's text for the tripwires and, if it is of round 1, for the
        markers."""
        number, text = policy["round"], policy["policy"]
        cells = self.texts.setdefault((run.seed, run.domain, number), {})
        cells.setdefault(run.words, []).append(text)
        if number == 1:
            name, weak = policy["policy_id"], policy["markers"]
            self.policies.append(Policy(name, run.words, text, weak))


def slot_of(row: Decision) -> contrasts.Slot:
    """Return the conditions under which a decision was made; tables count by them."""
    cell, pressure = row.cell
    return contrasts.Slot(
        bulletin=row.bulletin,
        wording=row.wording,
        cell=cell,
        H=pressure,
        model=row.model,
        scheme=row.label_scheme,
        order=row.option_order,
        round=row.round,
        first_line=row.read_from == "line",
    )


def analyse(study: Study, raters: Sequence[Rater] = ()) -> dict[str, Any]:
    """Return the whole analysis; that of an unfinished study has no estimates.

    `raters` labelled the policies by the codebook.
    """
    study = _readable_alone(study)
    data, unfinished = Collected(study), _unfinished(study)
    whole, domain = not unfinished, _domain(study, data)
    home = str(part_of("main", domain))
    main, table = data.rows.get(home, []), data.tables.get(home, {})
    decided = chain.from_iterable(data.rows.values())
    usual = [row for row in decided if row.role == "main"]
    # In an unfinished study the endpoint and the markers are given no decisions.
    primary, every = (main, usual) if whole else ([], [])
    point = endpoint(primary, models(every))
    # Gates read the home domain as "main". Its own part is emptied, so that a study of that domain
    # alone can't replicate itself.
    tables = data.tables | {home: {}, "main": table}
    rows = data.rows | {home: [], "main": main}
    board = gates(Evidence(point, rows, tables), unfinished)
    runs, design = [_run(run) for run in study.runs], _design(study, main, domain)
    known = established(table, whole)
    bulletins = count(len(contrasts.levels_of(table, "bulletin")), "bulletin")
    scope = f"{bulletins} of one domain"
    by_model = known["by_model"] or {"": known}
    called = "respondent" if study.simulated else "model"
    out: dict[str, Any] = {
        "artifact": "acausal-analysis",
        "schema": 5,
        "simulated": study.simulated,
        "stamp": "SIMULATED" if study.simulated else None,
        "design": design,
        "registration": registration(study),
        "limits": study.limits if main else [*study.limits, NO_MAIN],
        "losses": data.ended.losses(ELSEWHERE),
        "first_line": first_line(table, "HP-LA", known["level"], whole),
        "established": known,
        "as_specified": point,
        "gates": board,
        "next": settle(board, tables, design, partial(_command, design)),
        "parts": {name: _part(data.tables[name], whole) for name in titles(data.rows)},
        "tripwires": tripwires(usual, runs, data.texts),
        "history": history(data.every, home) if whole else {},
        "course": _course(data.course),
        "convergence": convergence(data.texts),
        "markers": agreement.analyse(data.policies, every, raters, study.simulated),
        "runs": runs,
        "cost": _cost(runs),
        "verdict": accounts.overall(by_model, scope, unfinished, called),
    }
    if out["verdict"]["word"] == accounts.CUE and len(by_model) == 1:
        out["verdict"]["sentence"] = headline(out)
    out["claims"] = {
        "headline": out["verdict"]["sentence"],
        "may": list(_may(out)),
        "may_not": list(_may_not(out)),
    }
    return out


def _unfinished(study: Study) -> list[str]:
    """List why nothing may be said yet."""
    left = sum(not run.complete for run in study.runs)
    if not left:
        return []
    of = count(len(study.runs), "run")
    return [f"{left} of {of} unfinished; the same command resumes them"]


def _domain(study: Study, data: Collected) -> str:
    """Return the domain in which the endpoint is judged: `HOME`, or the first domain
    with primary decisions where `HOME` has none."""
    for name in (HOME, *sorted({run.domain for run in study.runs})):
        if data.rows.get(str(part_of("main", name))):
            return name
    return HOME


def established(table: contrasts.Table, whole: bool) -> dict[str, Any]:
    """Return what the first encounters of all rounds show: all together, by model (at
    a level that all models share), by round, and by level of H."""
    by_model, by_h = {}, {}
    models = contrasts.levels_of(table, "model")
    shared = 1 - contrasts.ALPHA / max(len(models), 1)
    for name in models:
        by_model[name] = judged(contrasts.where(table, model=name), whole, shared)
    for h in contrasts.levels_of(table, "H"):
        by_h[h] = _part(contrasts.where(table, H=h), whole)
    return judged(table, whole) | {
        "level": shared,
        "by_model": by_model,
        "by_round": contrasts.by(table, "round") if whole else {},
        "by_H": by_h,
        "decisions": contrasts.total(table.values()).n,
    }


def judged(
    table: contrasts.Table, whole: bool, level: float = contrasts.LEVEL
) -> dict[str, Any]:
    """Return cells, contrasts, labels and accounts of one set of answers."""
    part = shown_by(table, list(contrasts.CELLS.values()), level, whole)
    if whole:
        counts = contrasts.tally(table)
        part["contrasts"]["H"] = contrasts.effect(counts, "H", level)
    return part


def _part(table: contrasts.Table, whole: bool) -> dict[str, Any]:
    """Return the cells and the primary contrast of one part of a study."""
    part = judged(table, whole)
    return {"cells": part["cells"], "HP-LA": part["contrasts"].get("HP-LA")}


def responds(out: Mapping[str, Any]) -> tuple[list[str], bool | None]:
    """Return (what the models respond to, whether they respond under low compliance
    pressure too).

    The first is a list of "symmetry", "cue", both or neither. The second is None where
    low pressure was not run.
    """
    known = out["established"]
    parts = known["contrasts"]
    to = [what for name, what in PARTS.items() if contrasts.certain(parts[name])]
    if "low" not in known["by_H"]:
        return to, None
    return to, contrasts.certain(known["by_H"]["low"]["HP-LA"])


ALSO = {None: "", True: ", also at low pressure", False: ", not at low pressure"}
SHOWN = {
    None: "",
    True: ", shown where compliance pressure is low",
    False: ", not shown where compliance pressure is low",
}


def headline(out: Mapping[str, Any]) -> str:
    """Return the verdict's sentence for a cue-responsive study, in about 20 words."""
    to, at_low = responds(out)
    alone = f"{to[0]} alone" if to else "neither alone"
    if len(to) == 2:
        alone = "both parts"
    extent = accounts.extent(out["established"]["contrasts"]["HP-LA"])
    left = accounts.remainder(out["verdict"]["open"])
    return f"Cue-responsive, {alone}: {extent}{ALSO[at_low]}.{left}"


def _command(design: Mapping[str, Any], plan: str, seeds: Sequence[int]) -> str:
    """Return the command that runs a plan at this study's size with these seeds."""
    rounds = max(contrasts.MIN_UNITS, design["rounds"])
    models = ",".join(filter(TYPED, design["models"]["decision"]))
    return (
        f"python3 run_tournament.py --plan {plan} --agents {design['agents']} "
        f"--rounds {rounds} --seeds {','.join(map(str, seeds))} --models {models}"
    )


def _readable_alone(study: Study) -> Study:
    """Return the study. Where it has no main runs, its runs without history get the
    role "main"."""
    if any(run.role == "main" for run in study.runs):
        return study
    runs = []
    for run in study.runs:
        runs.append(run._replace(role="main") if run.role == HISTORY_OFF else run)
    return study._replace(runs=runs)


def history(
    every: Mapping[str, contrasts.Table], home: str
) -> dict[str, dict[str, Any]]:
    """Return {cell: contrast of cooperation with history − without}, over all
    encounters.

    It is empty where one of the two was not run.
    """
    on, off = every.get(home, {}), every.get(HISTORY_OFF, {})
    if not (on and off):
        return {}
    table = _renamed(on, "on") | _renamed(off, "off")
    counts = contrasts.tally(table)
    held = set().union(*counts.values())
    found = {}
    for cell in contrasts.CELLS.values():
        label = f"history on − off, {CELL_TITLES[cell]}"
        pair = contrasts.Contrast(label, {f"on {cell}": 1, f"off {cell}": -1})
        weights = contrasts.weights_of(pair, held)
        found[cell] = contrasts.compared(label, counts, weights)
    return found


def _renamed(table: contrasts.Table, word: str) -> dict[contrasts.Slot, Count]:
    """Return the table with `word` put before the cell of every slot."""
    return {slot._replace(cell=f"{word} {slot.cell}"): n for slot, n in table.items()}


# --- design, and tables ------------------------------------------------------------------------


def _design(study: Study, main: Sequence[Decision], domain: str) -> dict[str, Any]:
    """Return the study's design: its domain, sizes, models and prompts."""
    config = study.runs[0].config
    models = {}
    for stage, listed in config["models"].items():
        models[stage] = [model["name"] for model in listed]
    each = [run.manifest["identity"]["prompts"].values() for run in study.runs]
    return {
        "domain": domain,
        "history": _has_history(study),
        "runs": len(study.runs),
        "agents": config["agents"],
        "rounds": max(run.config["rounds"] for run in study.runs),
        "seeds": sorted({run.seed for run in study.runs}),
        "models": models,
        "bulletins": len({row.bulletin for row in main}),
        "variants": len({row.variant for row in main}),
        "units": len({row.unit for row in main}),
        "decisions": len(main),
        "read": sum(row.cooperates is not None for row in main),
        "prompts_sha256": sha256("".join(sorted(set().union(*each)))),
    }


def _has_history(study: Study) -> bool:
    """Whether an agent of a main run is shown its earlier encounters with a peer."""
    modes = [run.config["history_mode"] for run in study.runs if run.role == "main"]
    return not modes or "standard" in modes


def _course(course: Mapping[tuple, Count]) -> list[dict[str, Any]]:
    """Return a row of counts and mean for each role, domain, round and encounter; they
    show how cooperation changes with history."""
    rows = []
    for at, counted in sorted(course.items()):
        row = dict(zip(COURSE, at, strict=True)) | counted._asdict()
        row["mean"] = counted.k / counted.n if counted.n else None
        rows.append(row)
    return rows


def _run(run: SavedRun) -> dict[str, Any]:
    """Return a run's entry in the analysis."""
    facts = artifact(run, "acausal_manifest.json")
    entry = {
        "run": run.name,
        "role": run.role,
        "domain": run.domain,
        "cell": run.words,
        "seed": run.seed,
        "state": run.manifest["state"],
        "rounds": run.config["rounds"],
        "merkle_root": run.manifest.get("merkle_root"),
    }
    entry |= zip("SCH", run.cell, strict=True)
    return entry | {name: facts[name] for name in COUNTED}


def _cost(runs: Sequence[Mapping]) -> dict[str, Any]:
    """Add up the dollars of all runs."""
    total = {}
    for name in ("usd", "charged_usd"):
        total[name] = math.fsum(run["cost"][name] for run in runs)
    unknown = sum(run["cost"]["unknown"] for run in runs)
    why = f"{unknown} answers came without a cost" if unknown else None
    return total | {"unknown": unknown, "why": why}


# --- what may be said --------------------------------------------------------------------------


def _may(out: Mapping[str, Any]) -> Iterator[str]:
    """Yield the positive sentences that the data allow; none where no effect is
    established."""
    if out["verdict"]["word"] != accounts.CUE:
        return
    known, (to, at_low) = out["established"], responds(out)
    what = " and ".join(to) or "the two together; to which is not shown"
    yield f"It responds to {what}{SHOWN[at_low]}."
    yield " ".join(account.excluded for account in _accounts(out, excluded=True))
    for name in (*PARTS, "SxC", "H"):
        contrast = known["contrasts"][name]
        if contrasts.certain(contrast) or contrasts.below(contrast):
            label = sentence(contrast["label"]).removesuffix(".")
            yield f"{label}: {accounts.extent(contrast)}."
    if not _open_gates(out):
        yield "It passes all credibility gates of the specification."
    yield from agreement.may(out["markers"])


def _accounts(out: Mapping[str, Any], *, excluded: bool) -> list[accounts.Account]:
    """List the accounts that are excluded, or those that are not."""
    known = out["established"]["accounts"]
    every = accounts.ACCOUNTS
    return [account for account in every if known[account.name]["excluded"] == excluded]


def _open_gates(out: Mapping[str, Any]) -> list[str]:
    """List the gates that are not passed, each with its verdict."""
    named = []
    for gate in out["gates"]:
        verdict = gate["established"]["verdict"]
        if verdict != PASS:
            named.append(f"{gate['title']} ({verdict})")
    return named


def _may_not(out: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the data do not allow anyone to say."""
    point, register = out["as_specified"], out["registration"]
    left = _accounts(out, excluded=False)
    if out["verdict"]["word"] == accounts.NOT_EVALUABLE:
        left = []
    open_ = [account.open for account in left if account.name not in BEYOND]
    yield from accounts.unsaid(out, open_)
    beyond = ", ".join(accounts.SHORT[name] for name in BEYOND)
    yield (
        f"A word above “cue-responsive”, or {beyond} excluded: that needs a mechanism study "
        "(run_pilot.py --design mechanism)."
    )
    if register["kind"] != "confirmatory":
        yield f"“Confirmatory”: {register['why']}."
    yield from out["limits"]
    if not point["met"] and point["design"]["value"] is not None:
        yield f"That the endpoint is met as specified: {point['why']}."
    failed = ", ".join(_open_gates(out))
    if failed:
        yield f"Credibility gates not established: {failed}."
    for wire in out["tripwires"]:
        if wire["tripped"]:
            told = f"{wire['title'].lower()}: {wire['figure']}"
            yield f"That the instrument played no part: {told}."
    yield from agreement.may_not(out["markers"])
