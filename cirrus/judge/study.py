"""The whole of acausal-analysis.json, from the runs of a study.

    out = analyse(read_study(find_runs(["results/acausal/confirmatory-s42"])))

Files are read one round at a time: memory grows with round 1 and the policies, not with games.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cirrus.ask.design import HOME, part_of, titles
from cirrus.ask.oneshot import DESIGNS
from cirrus.judge import accounts, contrasts
from cirrus.judge.endpoint import endpoint, models
from cirrus.judge.gates import PASS, Evidence, gates, settle
from cirrus.judge.oneshot import part_of as shown_by
from cirrus.judge.prereg import registration
from cirrus.judge.readings import ELSEWHERE, Ended, first_line
from cirrus.judge.rows import (
    Decision,
    Run,
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
BEYOND = (
    "blind",
    "conditional",
    "adding_up",
)  # accounts that a tournament has no cells for


class Collected:
    """What one pass over all files keeps. A decision whose own policy was refused or cut off is a
    missing one."""

    def __init__(self, study: Study) -> None:
        self.rows: dict[str, list[Decision]] = {}  # primary ones, by part
        self.tables: dict[
            str, dict[contrasts.Slot, Count]
        ] = {}  # first encounters, by part
        self.every: dict[str, dict[contrasts.Slot, Count]] = {}  # all encounters
        self.ended = Ended()
        self.course: dict[tuple, Count] = {}  # by (role, domain, round, encounter)
        self.texts: dict[
            tuple, dict[str, list[str]]
        ] = {}  # (seed, domain, round): by cell
        self.policies: list[Policy] = []  # of round 1 of main runs
        for run in study.runs:
            written = list(policies(run))
            for policy in written if run.role == "main" else ():
                self._text(run, policy)
            lost = {
                policy["policy_id"]: (policy["policy_status"], policy["policy"])
                for policy in written
                if policy["policy_status"] in NO_POLICY
            }
            for row in decisions(run):
                status, text = row.status, row.text
                if row.policy in lost:
                    status, text = lost[row.policy]
                    row = row._replace(cooperates=None, first_taken=None)
                self.ended.add(row.model, status, text)
                if not row.baseline:
                    self._decision(row, run.config["history_mode"] == "off")

    def _decision(self, row: Decision, no_history: bool) -> None:
        """Where no history is shown every encounter is a first one."""
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

    def _text(self, run: Run, policy: Mapping) -> None:
        if not readable(policy["policy_status"]):
            return
        self.texts.setdefault((run.seed, run.domain, policy["round"]), {}).setdefault(
            run.words, []
        ).append(policy["policy"])
        if policy["round"] == 1:
            self.policies.append(
                Policy(
                    policy["policy_id"], run.words, policy["policy"], policy["markers"]
                )
            )


def slot_of(row: Decision) -> contrasts.Slot:
    """Where a decision stands: on its bulletin, in its cell, of its model, under its label."""
    return contrasts.Slot(
        row.bulletin,
        row.wording,
        *row.cell,
        row.model,
        row.label_scheme,
        row.option_order,
        row.round,
        row.read_from == "line",
    )


def analyse(study: Study, raters: Sequence[Rater] = ()) -> dict[str, Any]:
    """Everything that summary, report and a reader's own programme need; of an unfinished study no
    estimate. `raters`: who labelled policies by the codebook."""
    study = _readable_alone(study)
    data, left = Collected(study), sum(not run.complete for run in study.runs)
    whole, unfinished = not left, []  # why nothing may be said yet
    if left:
        of = count(len(study.runs), "run")
        unfinished = [f"{left} of {of} unfinished; the same command resumes them"]
    domain = next(
        (
            name
            for name in (HOME, *sorted({run.domain for run in study.runs}))
            if data.rows.get(part_of("main", name))
        ),
        HOME,
    )
    home = part_of("main", domain)
    main, table = data.rows.get(home, []), data.tables.get(home, {})
    usual = [row for rows in data.rows.values() for row in rows if row.role == "main"]
    point = endpoint(main, models(usual)) if whole else endpoint([], models([]))
    # A domain can't replicate itself where it is all there is.
    tables = data.tables | {home: {}} | {"main": table}
    evidence = Evidence(point, data.rows | {home: []} | {"main": main}, tables)
    runs = [_run(run) for run in study.runs]
    known = established(table, whole)
    out = {
        "artifact": "acausal-analysis",
        "schema": 5,
        "simulated": study.simulated,
        "stamp": "SIMULATED" if study.simulated else None,
        "design": _design(study, main, domain),
        "registration": registration(study),
        "limits": study.limits + [NO_MAIN] * (not main),
        "losses": data.ended.losses(ELSEWHERE),
        "first_line": first_line(table, "HP-LA", known["level"], whole),
        "established": known,
        "as_specified": point,
        "gates": gates(evidence, unfinished),
        "parts": {name: _part(data.tables[name], whole) for name in titles(data.rows)},
        "tripwires": tripwires(usual, runs, data.texts),
        "history": history(data.every, home) if whole else {},
        "course": _course(data.course),
        "convergence": convergence(data.texts),
        "markers": agreement.analyse(
            data.policies, usual if whole else [], raters, study.simulated
        ),
        "runs": runs,
        "cost": _cost(runs),
    }
    out["next"] = settle(out["gates"], tables, out["design"], _command(out["design"]))
    bulletins = count(len({slot.bulletin for slot in table}), "bulletin")
    out["verdict"] = accounts.verdict(
        out["established"],
        f"{bulletins} of one domain",
        unfinished,
        out["established"]["by_model"],
    )
    if out["verdict"]["word"] == accounts.CUE:
        out["verdict"]["sentence"] = headline(out)
    out["claims"] = {
        "headline": out["verdict"]["sentence"],
        "may": list(_may(out)),
        "may_not": list(_may_not(out)),
    }
    return out


def established(table: contrasts.Table, whole: bool) -> dict[str, Any]:
    """What the first encounters of all rounds show: together, by model at a level that all models
    share, by round, and by level of H."""
    by_model, by_h = (
        {
            level: contrasts.where(table, **{factor: level})
            for level in contrasts.levels_of(table, factor)
        }
        for factor in ("model", "H")
    )
    shared = 1 - contrasts.ALPHA / max(len(by_model), 1)
    return judged(table, whole) | {
        "level": shared,
        "by_model": {
            name: judged(part, whole, shared) for name, part in by_model.items()
        },
        "by_round": contrasts.by(table, "round") if whole else {},
        "by_H": {h: _part(part, whole) for h, part in by_h.items()},
        "decisions": contrasts.total(table.values()).n,
    }


def judged(
    table: contrasts.Table, whole: bool, level: float = contrasts.LEVEL
) -> dict[str, Any]:
    """Cells, contrasts, labels and accounts of one set of answers."""
    part = shown_by(table, contrasts.CELLS.values(), level, whole)
    part["contrasts"] |= (
        contrasts.effects(contrasts.tally(table), ["H"], level) if whole else {}
    )
    return part


def _part(table: contrasts.Table, whole: bool) -> dict[str, Any]:
    """Cells and the primary contrast of a part of a study."""
    part = judged(table, whole)
    return {"cells": part["cells"], "HP-LA": part["contrasts"].get("HP-LA")}


def responds(out: Mapping[str, Any]) -> tuple[list[str], bool | None]:
    """(to which of the two it responds, whether also where compliance pressure is low)."""
    known = out["established"]["contrasts"]
    low = out["established"]["by_H"].get("low")
    return (
        [
            what
            for what, name in (("symmetry", "HP-LP"), ("cue", "HP-HA"))
            if contrasts.certain(known[name])
        ],
        low and contrasts.certain(low["HP-LA"]),
    )


def headline(out: Mapping[str, Any]) -> str:
    """The sentence of a study that is cue-responsive, in 20 words."""
    to, at_low = responds(out)
    alone = {2: "both parts", 0: "neither alone"}.get(len(to)) or f"{to[0]} alone"
    pressed = {
        None: "",
        True: ", also at low pressure",
        False: ", not at low pressure",
    }[at_low]
    extent = accounts.extent(out["established"]["contrasts"]["HP-LA"])
    left = accounts.remainder(out["verdict"]["open"])
    return f"Cue-responsive, {alone}: {extent}{pressed}.{left}"


def _command(design: Mapping[str, Any]) -> Callable[[str, Sequence[int]], str]:
    """Commands of this study's size: of a plan, with these seeds."""

    def command(plan: str, seeds: Sequence[int]) -> str:
        rounds = max(contrasts.MIN_UNITS, design["rounds"])
        models = ",".join(filter(TYPED, design["models"]["decision"]))
        return (
            f"python3 run_tournament.py --plan {plan} --agents {design['agents']} "
            f"--rounds {rounds} --seeds {','.join(map(str, seeds))} --models {models}"
        )

    return command


def _readable_alone(study: Study) -> Study:
    """Runs without history, where a study has no main runs, are its main runs."""
    roles = {run.role for run in study.runs}
    if "main" in roles or HISTORY_OFF not in roles:
        return study
    runs = []
    for run in study.runs:
        runs.append(run._replace(role="main") if run.role == HISTORY_OFF else run)
    return study._replace(runs=runs)


def history(
    every: Mapping[str, contrasts.Table], home: str | None
) -> dict[str, dict[str, Any]]:
    """{cell: cooperation with history − without}, all encounters, over bulletins and wordings;
    empty where one of the two was not run."""
    on, off = every.get(home, {}), every.get(HISTORY_OFF, {})
    if not (on and off):
        return {}
    table = {slot._replace(cell=f"on {slot.cell}"): n for slot, n in on.items()}
    table |= {slot._replace(cell=f"off {slot.cell}"): n for slot, n in off.items()}
    counts = contrasts.tally(table)
    held = {cell for cells in counts.values() for cell in cells}
    found = {}
    for cell in contrasts.CELLS.values():
        label = f"history on − off, {CELL_TITLES[cell]}"
        pair = contrasts.Contrast(label, {f"on {cell}": 1, f"off {cell}": -1})
        weights = contrasts.weights_of(pair, held)
        found[cell] = contrasts.compared(label, counts, weights)
    return found


# --- design, and tables ------------------------------------------------------------------------


def _design(study: Study, main: Sequence[Decision], domain: str) -> dict[str, Any]:
    config = study.runs[0].config
    return {
        "domain": domain,
        "runs": len(study.runs),
        "agents": config["agents"],
        "rounds": max(run.config["rounds"] for run in study.runs),
        "seeds": sorted({run.seed for run in study.runs}),
        "models": {
            stage: [model["name"] for model in config["models"][stage]]
            for stage in ("strategy", "decision")
        },
        "bulletins": len({row.bulletin for row in main}),
        "variants": len({row.variant for row in main}),
        "units": len({row.unit for row in main}),
        "decisions": len(main),
        "read": sum(row.cooperates is not None for row in main),
        "prompts_sha256": sha256(
            "".join(
                sorted(
                    {
                        digest
                        for run in study.runs
                        for digest in run.manifest["identity"]["prompts"].values()
                    }
                )
            )
        ),
    }


def _course(course: Mapping[tuple, Count]) -> list[dict[str, Any]]:
    """Cooperation by round and encounter: what history and reciprocity do later on."""
    return [
        {
            **dict(zip(("role", "domain", "round", "encounter"), key, strict=True)),
            **counted._asdict(),
            "mean": counted.k / counted.n if counted.n else None,
        }
        for key, counted in sorted(course.items())
    ]


def _run(run: Run) -> dict[str, Any]:
    facts = artifact(run, "acausal_manifest.json")
    return {
        "run": run.name,
        "role": run.role,
        "domain": run.domain,
        **dict(zip("SCH", run.cell, strict=True)),
        "cell": run.words,
        "seed": run.seed,
        "state": run.manifest["state"],
        "rounds": run.config["rounds"],
        **{
            name: facts[name]
            for name in (
                "outcomes",
                "statuses",
                "served",
                "upstreams",
                "cost",
                "tokens",
            )
        },
        "merkle_root": run.manifest.get("merkle_root"),
    }


def _cost(runs: Sequence[Mapping]) -> dict[str, Any]:
    unknown = sum(run["cost"]["unknown"] for run in runs)
    return {
        "usd": math.fsum(run["cost"]["usd"] for run in runs),
        "charged_usd": math.fsum(run["cost"]["charged_usd"] for run in runs),
        "unknown": unknown,
        "why": f"{unknown} answers came without a cost" if unknown else None,
    }


# --- what may be said --------------------------------------------------------------------------


def _may(out: Mapping[str, Any]) -> Iterator[str]:
    """Positive sentences: none unless an effect is established."""
    if out["verdict"]["word"] != accounts.CUE:
        return
    known, (to, at_low) = out["established"], responds(out)
    what = f"It responds to {' and '.join(to) or 'the two together; to which is not shown'}"
    yield (
        what
        + {
            None: "",
            True: ", shown where compliance pressure is low",
            False: ", not shown where compliance pressure is low",
        }[at_low]
        + "."
    )
    excluded = [
        account.excluded
        for account in accounts.ACCOUNTS
        if known["accounts"][account.name]["excluded"]
    ]
    yield " ".join(excluded)
    for name in ("HP-LP", "HP-HA", "SxC", "H"):
        contrast = known["contrasts"][name]
        if contrasts.certain(contrast) or contrasts.below(contrast):
            yield f"{sentence(contrast['label'])[:-1]}: {accounts.extent(contrast)}."
    if all(gate["established"]["verdict"] == PASS for gate in out["gates"]):
        yield "It passes all credibility gates of the specification."
    yield from agreement.may(out["markers"])


def _may_not(out: Mapping[str, Any]) -> Iterator[str]:
    point, register, known = (
        out["as_specified"],
        out["registration"],
        out["established"]["accounts"],
    )
    yield from accounts.unsaid(
        out,
        [
            account.open
            for account in accounts.ACCOUNTS
            if not (
                known[account.name]["excluded"]
                or account.name in BEYOND
                or out["verdict"]["word"] == accounts.NOT_EVALUABLE
            )
        ],
    )
    beyond = ", ".join(map(accounts.SHORT.get, BEYOND))
    yield (
        f"A word above “cue-responsive”, or {beyond} excluded: that needs a mechanism study "
        "(run_pilot.py --design mechanism)."
    )
    if register["kind"] != "confirmatory":
        yield f"“Confirmatory”: {register['why']}."
    yield from out["limits"]
    if not point["met"] and point["design"]["value"] is not None:
        yield f"That the endpoint is met as specified: {point['why']}."
    if failed := [
        f"{gate['title']} ({gate['established']['verdict']})"
        for gate in out["gates"]
        if gate["established"]["verdict"] != PASS
    ]:
        yield f"Credibility gates not established: {', '.join(failed)}."
    for wire in out["tripwires"]:
        if wire["tripped"]:
            yield f"That the instrument played no part: {wire['title'].lower()}: {wire['figure']}."
    yield from agreement.may_not(out["markers"])
