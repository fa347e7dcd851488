"""The whole of acausal-analysis.json, from the runs of a study.

    out = analyse(read_study(find_runs(["results/acausal/confirmatory-s42"])))

Files are read one round at a time: memory grows with round 1 and the policies, not with games.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from cirrus.ask.bulletins import FOLDERS
from cirrus.ask.design import HOME, PARTS, part_of
from cirrus.judge import prereg
from cirrus.judge.endpoint import cells_table, effect, endpoint, models, secondary
from cirrus.judge.gates import all_pass, gates
from cirrus.judge.rows import Decision, Run, Study, artifact, decisions, plan_folders, policies
from cirrus.judge.tripwires import by_cell, cell_of, convergence, tripwires
from cirrus.judge.verdict import absent_at_low, beyond_bulletins, enough, study_claims
from cirrus.markers.agreement import block, validity
from cirrus.markers.ratings import Policy, Rater, readable
from cirrus.markers.ratings import cell_of as run_cell
from common.artifacts import read_bytes, sha256
from common.preflight import fixed
from common.wire import UNANSWERED
from show.figures import count

MIN_BULLETINS = 6


class Collected:
    """What one pass over all files keeps."""

    def __init__(self, study: Study) -> None:
        self.primary: list[Decision] = []
        self.statuses: dict[str, Counter] = {}
        self.course: dict[tuple, list[int]] = {}   # (role, domain, round, encounter): k, n, all
        self.texts: dict[tuple, dict[str, list[str]]] = {}
        self.first: dict[str, dict[str, list[str]]] = {}
        self.policies: list[Policy] = []
        self.served: dict[str, dict[str, set]] = {}
        for run in study.runs:
            for row in decisions(run):
                self._decision(row)
            for policy in policies(run):
                self._policy(run, policy)

    def _decision(self, row: Decision) -> None:
        self._served(row.model, row.status, row.served_model, row.provider)
        if row.primary:
            self.primary.append(row)
        if row.role == "main" and not row.baseline:
            self.statuses.setdefault(cell_of(row), Counter())[row.status] += 1
        if not row.baseline:
            own = self.course.setdefault((row.role, row.domain, row.round, row.encounter),
                                         [0, 0, 0])
            own[0] += row.cooperates or 0
            own[1] += row.cooperates is not None
            own[2] += 1

    def _policy(self, run: Run, policy: Mapping) -> None:
        status = policy["policy_status"]
        self._served(policy["model_strategy"], status, policy["served_model"], policy["provider"])
        if not readable(status):
            return
        cell = run_cell(run)
        self.policies.append(Policy(policy["policy_id"], run.role, policy["round"], cell,
                                    policy["policy"]))
        if run.role != "main":
            return
        self.texts.setdefault((run.seed, run.domain, policy["round"]), {}).setdefault(
            cell, []).append(policy["policy"])
        if policy["round"] == 1:
            self.first.setdefault(cell, {}).setdefault(run.name, []).append(policy["policy"])

    def _served(self, model: str, status: str, served: str | None, provider: str | None) -> None:
        if status in UNANSWERED:
            return
        own = self.served.setdefault(model, {"models": set(), "providers": set()})
        own["models"].add(str(served))
        own["providers"].add(str(provider))


def analyse(study: Study, raters: Sequence[Rater] = ()) -> dict[str, Any]:
    """Everything that summary, report and a reader's own programme need. `raters`: who labelled
    policies by the codebook."""
    held = Collected(study)
    parts = parts_of(held.primary)
    domain = next((name for name in FOLDERS if parts[part_of("main", name)]), HOME)
    own = part_of("main", domain)
    main = parts[own]
    point = endpoint(main, models([row for row in held.primary if row.role == "main"]))
    # A domain can't replicate itself where it is all there is.
    board = gates(point, parts | {own: []} | {"main": main})
    out = {
        "artifact": "acausal-analysis", "schema": 1, "simulated": study.simulated,
        "stamp": "SIMULATED" if study.simulated else None,
        "design": _design(study, held.primary, domain), "registration": registration(study),
        "limits": study.limits + _limits(held.primary, main),
        "primary": point, "secondary": secondary(main),
        "gates": [gate | {"enough": enough(gate["gate"])} for gate in board],
        "superrational": (all_pass(board) and not absent_at_low(point)
                          and beyond_bulletins(point)),
        "parts": {name: {"cells": cells_table(rows), "effect": effect(rows)}
                  for name, rows in parts.items() if rows},
        "tripwires": tripwires([row for row in held.primary if row.role == "main"],
                               _ordered(held.statuses), held.first, held.served),
        "course": _course(held.course), "convergence": convergence(held.texts),
        "similarity": by_cell(held.texts),
        "markers": block(held.policies, [row for row in held.primary if row.role == "main"],
                         raters, study.simulated, validity),
        "runs": [_run(run) for run in study.runs],
    }
    out["cost"] = _cost(out["runs"])
    out["claims"] = study_claims(out)
    return out


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


def _limits(primary: Sequence[Decision], main: Sequence[Decision]) -> list[str]:
    """What these data can't show, whatever they show."""
    said = []
    values = [row.cooperates for row in main if row.cooperates is not None]
    if not main:
        return ["No main runs (standard tells, main variants, standard history): the primary "
                "endpoint has no data."]
    if not values:
        return ["No decision of the primary data could be read."]
    if len(set(values)) == 1:
        said.append(f"Every readable decision is {'' if values[0] else 'not '}cooperative: nothing "
                    "can be compared.")
    if len({row.unit for row in main}) == 1:
        said.append("One agent only: no interval and no test.")
    if len({row.label_scheme for row in main}) == 1:
        said.append("One label scheme only: act and label can't be told apart.")
    bulletins = len({row.bulletin for row in main})
    if bulletins < MIN_BULLETINS:
        said.append(f"{count(bulletins, 'bulletin')} in the primary data: the result is about "
                    "these stimuli.")
    return said


def registration(study: Study) -> dict[str, Any]:
    """Confirmatory where every run stands under a preregistration that nothing has left."""
    found = {folder: data for folder in plan_folders(study.runs)
             if (data := prereg.load(folder)) is not None}
    heads = {folder.name: sha256(read_bytes(folder / prereg.FILE)) for folder in found}
    deviations = [line for folder, data in found.items()
                  for line in _deviations(folder.name, data, heads[folder.name],
                                          {run.name: run for run in study.runs
                                           if run.folder.parent == folder})]
    loose = [run.name for run in study.runs if run.folder.parent not in found]
    if not found:
        why = "not preregistered"
    elif loose:
        why = f"{count(len(loose), 'run')} of {len(study.runs)} under no preregistration"
    else:
        said = count(len(deviations), "deviation")
        why = f"{said} from the preregistration" if deviations else ""
    return {"kind": "exploratory" if why else "confirmatory", "why": why, "heads": heads,
            "deviations": deviations}


def _deviations(folder: str, data: Mapping, head: str, runs: Mapping[str, Run]) -> Iterator[str]:
    listed = [run["run_id"] for run in data["runs"]]
    order = [name for name in listed if name in runs] + [n for n in runs if n not in listed]
    now = [{"run_id": name, "config": runs[name].config} for name in order]
    yield from (f"{folder}: {line}" for line in prereg.deviations(data, now))
    for name, run in runs.items():
        if run.manifest["identity"].get("prereg_sha256") != head:
            yield f"{folder}: {name} was not made under this registration"
        if not run.complete:
            yield f"{folder}: {name} is unfinished"
        if not fixed(run.manifest):
            yield f"{folder}: {name} was asked of any upstream; --pin auto keeps a run to one"


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
