"""The whole of acausal-analysis.json, from the runs of a study.

    out = analyse(read_study(find_runs(["results/acausal/confirmatory-s42"])))

Files are read one round at a time: memory grows with round 1 and the policies, not with games.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import stats
from cirrus.ask.bulletins import FOLDERS
from cirrus.ask.design import HOME, PARTS, part_of
from cirrus.judge import prereg
from cirrus.judge.effects import (
    ALPHA,
    CONTRASTS,
    HP,
    LA,
    MIN_BULLETINS,
    Slot,
    Slots,
    above,
    below,
    by,
    corner,
    count_in,
    label_rule,
    tested,
    units_of,
    where,
)
from cirrus.judge.endpoint import (
    SECONDARY,
    cells_table,
    endpoint,
    models,
    secondary,
)
from cirrus.judge.gates import PASS, Evidence, gates
from cirrus.judge.rows import (
    Decision,
    Run,
    Study,
    artifact,
    decisions,
    plan_folders,
    policies,
)
from cirrus.judge.tripwires import NO_POLICY, by_cell, cell_of, convergence, tripwires
from cirrus.judge.verdict import (
    CUE_RESPONSIVE,
    NOT_EVALUABLE,
    SCALE,
    Corner,
    Findings,
    if_missing,
    left_open,
    verdict,
)
from cirrus.markers import agreement
from cirrus.markers.ratings import Policy, Rater, policy_of, readable
from cirrus.markers.ratings import cell_of as run_cell
from common.artifacts import read_bytes, sha256
from common.cli import TYPED
from common.openrouter import fixed
from common.wire import UNANSWERED
from show.figures import count, p_is, points, span
from stats.results import Count


class Collected:
    """What one pass over all files keeps. A decision whose own policy was refused or cut off is a
    missing one."""

    def __init__(self, study: Study) -> None:
        self.primary: list[Decision] = []
        self.tables: dict[str, dict[Slot, Count]] = {}   # of first encounters, by part
        self.statuses: dict[str, Counter] = {}
        self.written: dict[str, Counter] = {}
        self.course: dict[tuple, list[int]] = {}   # (role, domain, round, encounter): k, n, all
        self.texts: dict[tuple, dict[str, list[str]]] = {}
        self.first: dict[str, dict[str, list[str]]] = {}
        self.policies: list[Policy] = []   # of round 1 of main runs
        self.served: dict[str, dict[str, set]] = {}
        for run in study.runs:
            lost = {policy["policy_id"] for policy in policies(run) if self._policy(run, policy)}
            for row in decisions(run):
                self._decision(row._replace(cooperates=None, first_taken=None)
                               if row.policy in lost else row)

    def _decision(self, row: Decision) -> None:
        self._served(row.model, row.status, row.served_model, row.provider)
        if row.primary:
            self.primary.append(row)
        if row.baseline:
            return
        if row.role == "main":
            self.statuses.setdefault(cell_of(row), Counter())[row.status] += 1
        if row.encounter == 1 and (part := part_of(row.role, row.domain)) is not None:
            count_in(self.tables.setdefault(part, {}), slot_of(row), row.cooperates)
        told = self.course.setdefault((row.role, row.domain, row.round, row.encounter), [0, 0, 0])
        told[0] += row.cooperates or 0
        told[1] += row.cooperates is not None
        told[2] += 1

    def _policy(self, run: Run, policy: Mapping) -> bool:
        """Note a policy; whether it is none to decide by."""
        status = policy["policy_status"]
        self._served(policy["model_strategy"], status, policy["served_model"], policy["provider"])
        cell = run_cell(run)
        if run.role == "main":
            self.written.setdefault(cell, Counter())[status] += 1
        if readable(status):
            self._text(run, policy, cell)
        return status in NO_POLICY

    def _text(self, run: Run, policy: Mapping, cell: str) -> None:
        if run.role != "main":
            return
        self.texts.setdefault((run.seed, run.domain, policy["round"]), {}).setdefault(
            cell, []).append(policy["policy"])
        if policy["round"] == 1:
            self.policies.append(policy_of(policy, cell))
            self.first.setdefault(cell, {}).setdefault(run.name, []).append(policy["policy"])

    def _served(self, model: str, status: str, served: str | None, provider: str | None) -> None:
        if status in UNANSWERED:
            return
        names = self.served.setdefault(model, {"models": set(), "providers": set()})
        names["models"].add(str(served))
        names["providers"].add(str(provider))


def slot_of(row: Decision) -> Slot:
    """Where a decision stands: on its bulletin, in its cell, of its model, under its label."""
    return Slot(row.bulletin, row.S, row.C, row.H, row.model, row.label_scheme, row.option_order,
                row.round)


def analyse(study: Study, raters: Sequence[Rater] = ()) -> dict[str, Any]:
    """Everything that summary, report and a reader's own programme need. `raters`: who labelled
    policies by the codebook."""
    data = Collected(study)
    parts = parts_of(data.primary)
    domain = next((name for name in FOLDERS if parts[part_of("main", name)]), HOME)
    home = part_of("main", domain)
    main, table = parts[home], data.tables.get(home, {})
    usual = [row for row in data.primary if row.role == "main"]
    point = endpoint(main, models(usual))
    # A domain can't replicate itself where it is all there is.
    evidence = Evidence(point, parts | {home: []} | {"main": main},
                        data.tables | {home: {}} | {"main": table})
    out = {
        "artifact": "acausal-analysis", "schema": 2, "simulated": study.simulated,
        "stamp": "SIMULATED" if study.simulated else None,
        "design": _design(study, data.primary, domain), "registration": registration(study),
        "limits": study.limits + _limits(main, table),
        "established": established(table), "primary": point, "secondary": secondary(main),
        "gates": gates(evidence),
        "parts": {name: {"cells": cells_table(rows), "effect": tested(data.tables[name])}
                  for name, rows in parts.items() if rows},
        "tripwires": tripwires(usual, _ordered(data.statuses), data.first, data.served,
                               _ordered(data.written)),
        "course": _course(data.course), "convergence": convergence(data.texts),
        "similarity": by_cell(data.texts),
        "markers": agreement.block(data.policies, usual, raters, study.simulated),
        "runs": [_run(run) for run in study.runs],
    }
    out["cost"] = _cost(out["runs"])
    plans = {gate["next"] for gate in out["gates"]} - {None}
    out["next"] = _command(out["design"], plans.pop() if len(plans) == 1 else "study") if (
        plans) else None
    for gate in out["gates"]:
        gate["next"] = gate["next"] and _command(out["design"], gate["next"])
    out["verdict"] = verdict(findings(out, table))
    out["verdict"]["sentence"] += gates_sentence(out)
    out["claims"] = study_claims(out)
    return out


def gates_sentence(out: Mapping[str, Any]) -> str:
    """What the headline says of the gates, where each of them is established."""
    passed = all(gate["established"]["verdict"] == PASS for gate in out["gates"])
    return (" It passes all credibility gates of the specification."
            if passed and out["verdict"]["word"] == CUE_RESPONSIVE else "")


def established(table: Slots) -> dict[str, Any]:
    """Every contrast over bulletins, on the first encounters of all rounds: the whole, by model,
    by round, by label; the four secondary ones Holm-adjusted together."""
    effects = {name: tested(table, name) for name in CONTRASTS}
    adjusted = stats.holm([effects[name]["p"] for name in SECONDARY])
    for name, p in zip(SECONDARY, adjusted, strict=True):
        effects[name]["p_holm"] = p
    levels = {f"H_{level}": one for level, one in by(table, "H", tested).items()}
    return {"effects": effects | levels, "by_model": by(table, "model", tested),
            "by_round": by(table, "round", tested), "labels": label_rule(table),
            "decisions": sum(one.n for one in table.values())}


def findings(out: Mapping[str, Any], table: Slots) -> Findings:
    """What the ladder needs of an analysis."""
    effects, names = out["established"]["effects"], out["established"]["by_model"]
    unfinished = [run["run"] for run in out["runs"] if run["state"] != "complete"]
    quiet = effects.get("H_low", effects.get("H_omit"))
    return Findings(
        effects | {"labels": out["established"]["labels"]["holds"], "H_low": quiet},
        _corners(table), {name: {"primary": one} for name, one in names.items()},
        {name: _corners(where(table, model=name)) for name in names},
        f"{count(len(units_of(table)), 'bulletin')} of one domain",
        [f"{count(len(unfinished), 'run')} unfinished ({', '.join(unfinished[:3])}"
         f"{', …' * (len(unfinished) > 3)}); the same command resumes them"] if unfinished else [])


def _corners(table: Slots) -> dict[str, Corner]:
    return {name: Corner(*corner(table, cell)) for name, cell in (("HP", HP), ("LA", LA))}


def _command(design: Mapping[str, Any], plan: str) -> str:
    """The command that brings what a gate lacks, of this study's size."""
    return (f"python3 run_tournament.py --plan {plan} --agents {design['agents']} --rounds "
            f"{max(MIN_BULLETINS, design['rounds'])} --seeds "
            f"{','.join(map(str, design['seeds']))} --models "
            f"{','.join(filter(TYPED, design['models']['decision']))}")


# --- design ------------------------------------------------------------------------------------

def parts_of(primary: Iterable[Decision]) -> dict[str, list[Decision]]:
    """Primary data by what they are for."""
    out: dict[str, list[Decision]] = {name: [] for name in PARTS}
    for row in primary:
        if (name := part_of(row.role, row.domain)) is not None:
            out[name].append(row)
    return out


def _design(study: Study, primary: Sequence[Decision], domain: str) -> dict[str, Any]:
    config = study.runs[0].config
    main = [row for row in primary if row.role == "main" and row.domain == domain]
    return {
        "domain": domain, "runs": len(study.runs), "agents": config["agents"],
        "rounds": max(run.config["rounds"] for run in study.runs),
        "seeds": sorted({run.seed for run in study.runs}),
        "models": {stage: [voice["name"] for voice in config["models"][stage]]
                   for stage in ("strategy", "decision")},
        "bulletins": len({row.bulletin for row in main}),
        "variants": len({row.variant for row in main}),
        "units": len({row.unit for row in main}), "decisions": len(main),
        "read": sum(row.cooperates is not None for row in main),
        "prompts_sha256": sha256("".join(sorted({
            digest for run in study.runs
            for digest in run.manifest["identity"]["prompts"].values()})))}


def _limits(main: Sequence[Decision], table: Slots) -> list[str]:
    """What these data can't show, whatever they show."""
    said = []
    values = [row.cooperates for row in main if row.cooperates is not None]
    if not main:
        return ["No main runs (standard tells, main variants, standard history): the primary "
                "endpoint has no data."]
    if not values:
        return ["No decision of the primary data could be read."]
    if set(values) in ({0}, {1}):
        said.append(f"Every readable decision is {'' if values[0] else 'not '}cooperative: nothing "
                    "can be compared.")
    if len({row.unit for row in main}) == 1:
        said.append("One agent only: no interval and no test.")
    if len({row.label_scheme for row in main}) == 1:
        said.append("One label scheme only: act and label can't be told apart.")
    bulletins = len(units_of(table))
    if bulletins < MIN_BULLETINS:
        said.append(f"{count(bulletins, 'bulletin')} in the first encounters: the result is about "
                    "these stimuli.")
    return said


def registration(study: Study) -> dict[str, Any]:
    """Confirmatory where every run of one registered study is here, and nothing has left it."""
    registered = {folder: data for folder in plan_folders(study.runs)
                  if (data := prereg.load(folder)) is not None}
    heads = {folder.name: sha256(read_bytes(folder / prereg.FILE)) for folder in registered}
    loose = [run.name for run in study.runs if run.folder.parent not in registered]
    deviations = list(_deviations(study, registered, heads)) if registered else []
    if not registered:
        why = "not preregistered"
    elif loose:
        why = f"{count(len(loose), 'run')} of {len(study.runs)} under no preregistration"
    elif len(set(heads.values())) > 1:
        why = f"registered as {len(set(heads.values()))} studies ({', '.join(heads)}), not as one"
    else:
        many = count(len(deviations), "deviation")
        why = f"{many} from the preregistration" if deviations else ""
    return {"kind": "exploratory" if why else "confirmatory", "why": why, "heads": heads,
            "deviations": deviations}


def _deviations(study: Study, registered: Mapping[Path, Mapping],
                heads: Mapping[str, str]) -> Iterator[str]:
    """Of each registration: files that changed, runs that did, what is left out."""
    for head in dict.fromkeys(heads.values()):
        folders = {folder: data for folder, data in registered.items()
                   if heads[folder.name] == head}
        runs = [run for run in study.runs if run.folder.parent in folders]
        data = next(iter(folders.values()))
        names = ", ".join(folder.name for folder in folders)
        changed = prereg.deviations(data) + prereg.plan_deviations(
            data, {(run.folder.parent.name, run.name): run.config for run in runs})
        yield from (f"{names}: {line}" for line in changed)
        for run in runs:
            if run.manifest["identity"].get("prereg_sha256") != head:
                yield f"{run.folder.parent.name}: {run.name} was not made under this registration"
            if not run.complete:
                yield f"{run.folder.parent.name}: {run.name} is unfinished"
            if not fixed(run.manifest | run.manifest["unproven"]):
                yield (f"{run.folder.parent.name}: {run.name} was asked of any upstream; --pin "
                       "auto keeps a run to one")


# --- tables ------------------------------------------------------------------------------------

def _ordered(counts: Mapping[str, Counter]) -> dict[str, dict[str, int]]:
    return {cell: dict(sorted(counts[cell].items())) for cell in sorted(counts)}


def _course(course: Mapping[tuple, Sequence[int]]) -> list[dict[str, Any]]:
    """Cooperation by round and encounter: what history and reciprocity do later on."""
    out = []
    for key in sorted(course):
        k, n, asked = course[key]
        out.append({**dict(zip(("role", "domain", "round", "encounter"), key, strict=True)),
                    "k": k, "n": n, "missing": asked - n, "mean": k / n if n else None})
    return out


def _run(run: Run) -> dict[str, Any]:
    facts = artifact(run, "acausal_manifest.json")
    return {"run": run.name, "plan": run.folder.parent.name if plan_folders([run]) else None,
            "role": run.role, "domain": run.domain, "S": run.cell[0], "C": run.cell[1],
            "H": run.cell[2], "seed": run.seed, "state": run.manifest["state"],
            "rounds": run.config["rounds"], "outcomes": facts["outcomes"],
            "statuses": facts["statuses"], "cost": facts["cost"], "tokens": facts["tokens"],
            "journal": run.manifest.get("journal", {}).get("head_sha256")}


def _cost(runs: Sequence[Mapping]) -> dict[str, Any]:
    unknown = sum(run["cost"]["unknown"] for run in runs)
    return {"usd": math.fsum(run["cost"]["usd"] for run in runs),
            "charged_usd": math.fsum(run["cost"]["charged_usd"] for run in runs),
            "unknown": unknown, "why": f"{unknown} answers came without a cost" if unknown else
            None}


# --- what may be said --------------------------------------------------------------------------

def study_claims(out: Mapping[str, Any]) -> dict[str, Any]:
    """{"headline": …, "may": […], "may_not": […]} of an analysis with its verdict."""
    return {"headline": out["verdict"]["sentence"], "may": list(_study_may(out)),
            "may_not": list(_study_may_not(out))}


def _study_may(out: Mapping[str, Any]) -> Iterator[str]:
    if out["verdict"]["word"] == NOT_EVALUABLE:
        return
    effects = out["established"]["effects"]
    for one in (effects[name] for name in SECONDARY):
        if one["p_holm"] is not None and one["p_holm"] < ALPHA and (above(one) or below(one)):
            yield (f"{one['label'][0].upper()}{one['label'][1:]}: {points(one['value'])} "
                   f"({span(one['low'], one['high'])} over {count(one['units'], 'bulletin')}, "
                   f"{p_is(one['p_holm'])} after Holm).")
    for gate in out["gates"]:
        if gate["established"]["verdict"] == "pass":
            yield f"Gate “{gate['title']}” is established: {gate['established']['figure']}."
    yield from agreement.may(out["markers"])


def _study_may_not(out: Mapping[str, Any]) -> Iterator[str]:
    point, register = out["primary"], out["registration"]
    if out["simulated"]:
        yield "Anything about any model: these answers are SIMULATED."
    yield from left_open(out["verdict"])
    if register["kind"] != "confirmatory":
        yield f"“Confirmatory”: {register['why']}."
    yield from out["limits"]
    if not point["met"] and point["design"]["value"] is not None:
        yield f"That the endpoint is met as specified: {point['why']}."
    for gate in out["gates"]:
        if gate["established"]["verdict"] != "pass":
            yield (f"{gate['title']}: {gate['established']['verdict']} "
                   f"({gate['established']['figure']})."
                   + (f" Next: {gate['next']}" if gate["next"] else ""))
    for wire in out["tripwires"]:
        if wire["tripped"]:
            yield f"That the instrument played no part: {wire['title'].lower()}: {wire['figure']}."
    yield from if_missing(out["established"]["effects"]["primary"]["bounds"], "low", "high")
    if not out["established"]["labels"]["holds"]:
        yield ("That the effect hangs on neither word, letter nor place: "
               f"{out['established']['labels']['why']}.")
    yield from agreement.may_not(out["markers"])
    yield SCALE
