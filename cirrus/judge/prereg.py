"""Writes and checks preregistrations: what will be run, read and tested, hashed before
the first call.

    write(folder, document("confirmatory", runs))     # prereg.json in a plan's folder
    registration(study)["kind"]                       # "confirmatory" or "exploratory", and why
    write(folder, one_shot("mechanism", run_id, config))     # in the folder of the run itself
    registration_of(folder, manifest)["kind"]

Every run made under a preregistration carries its hash.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cirrus.ask.bulletins import PROMPTS
from cirrus.judge.rows import SavedRun, Study, plan_folders
from common import UsageError
from common.artifacts import canonical_json, json_file, read_bytes, sha256, write_atomic
from common.runs import RESTORE, code_hashes
from common.shape import OBJECT, TEXT, enum, list_of, map_of, read, record, whole
from common.wire import UNREAD_FORM
from show.figures import count

FILE = "prereg.json"
POST = "post the hash where a third party stamps the time; runs made in this folder carry it"
LISTED = 4  # a deviation names at most so many runs
PRIMARY = {
    "endpoint": "P(cooperate | S high, C present) - P(cooperate | S low, C absent), averaged over "
    "H; first encounters of all rounds, no baselines; averaged inside each bulletin, "
    "95% interval over bulletins and wordings, no narrower than Newcombe's",
    "word": "at most cue-responsive: at least six bulletins and wordings, every run complete, at "
    "most 10% missing in either cell of the contrast, 10 points or more, and the interval above 0, "
    "also with what is missing counted against it",
    "as_specified": "round 1, p < .05 in the predicted direction of both: sign flips of agents "
    "under a seed, and the likelihood ratio of the mixed model with (1|policy)",
    "secondary": "S, C, S x C, H: Holm-adjusted as specified; intervals as established",
    "gates": "the specification's six, each as established; all must pass",
}
EXCLUSIONS = [
    "games of baselines",
    "decisions without exactly one readable option: counted by cell, bounded worst-case, never "
    "imputed in the primary test",
    "nothing else: no run, agent or model is dropped after its answers are seen",
]
# What a one-shot study of each design tests. Models are always judged one by one, and
# share 5% of error.
ONE_SHOT = {
    "2x2": {
        "endpoint": "HP - LA: the share of cooperative decisions with high symmetry and the cue, "
        "less that with neither; averaged inside bulletins and wordings, interval over both",
        "word": "at most cue-responsive: nothing and missing excluded (docs/mechanism.md)",
        "as_specified": "the specification's success criteria, on point estimates",
    },
    "mechanism": {
        "endpoint": "HP - LA, and the contrasts of six accounts (docs/mechanism.md): HP - UP, "
        "HP - UP - MN + ME, HP - KP, HP - QL, HP - LA - 2 (KP - KL), HP - MN and ME - UP; averaged "
        "inside bulletins and wordings, interval over both",
        "word": "the highest whose accounts are all excluded, each also with what is missing "
        "counted against it",
    },
    "mirror": {
        "endpoint": "PD18 - PD2 and M2 - M18, in all and in each half of the bulletins; near - far; "
        "averaged inside bulletins and wordings, interval over both",
        "word": "record-sensitive, evidence-sensitive or evidence-weighing (docs/mechanism.md)",
    },
    "lever": {
        "endpoint": "the share of cooperative decisions at each strength of the joint outcome, and "
        "the strength that does as much as symmetry with the cue",
        "word": "none by the lever",
    },
    "twin": {
        "endpoint": "TS - TU: an instance of the same model that read the notice, less one that did "
        "not; TS - TO: less another model; averaged inside bulletins, interval over them",
        "word": "none",
    },
}
ONE_SHOT_EXCLUSIONS = [
    "answers without exactly one readable option: counted by cell, set against each contrast",
    "a model whose warm-up answers cannot be read is set aside, by name, before its first trial",
    "nothing else: no trial, bulletin or model is dropped after its answers are seen",
]
ONE_SHOT_STOPPING = (
    "All trials of the design are asked; none is added or repeated. A run that a budget, an outage "
    "or a kill has stopped is resumed, and a question that was answered is never asked again."
)
STOPPING = (
    "All runs of the plan are completed; none is added or repeated. A run that a budget, "
    "an outage or a kill has stopped is resumed under the same identity, and a question "
    "that was answered is never asked again."
)


KIND = record(
    artifact=enum("prereg"),
    plan=TEXT,
    models=list_of(TEXT),
    seeds=list_of(whole(0)),
    runs=list_of(record(folder=TEXT, run_id=TEXT, config=OBJECT)),
    plan_sha256=TEXT,
    files=map_of(TEXT, "file"),
    tree_sha256=TEXT,
    primary=OBJECT,
    exclusions=list_of(TEXT),
    stopping_rule=TEXT,
)


def hashes() -> dict[str, str]:
    """Return {file: SHA-256} of the project's code and prompts as they are now."""
    files = dict(code_hashes())
    for path in sorted(PROMPTS.rglob("*")):
        if path.is_file():
            name = path.relative_to(PROMPTS).as_posix()
            files[f"prompts/{name}"] = sha256(path.read_bytes())
    return files


def _hash(value: Any) -> str:
    return sha256(canonical_json(value))


def document(plan: str, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the preregistration of a study with all its seeds and models; each of its
    `runs` has folder, run_id and config."""
    files = hashes()
    models: set[str] = set()
    for run in runs:
        models.update(_models(run["config"]["models"]))
    return {
        "artifact": "prereg",
        "plan": plan,
        "runs": list(runs),
        "models": sorted(models),
        "seeds": sorted({run["config"]["seed"] for run in runs}),
        "plan_sha256": _hash(list(runs)),
        "files": files,
        "tree_sha256": _hash(files),
        "primary": PRIMARY,
        "exclusions": EXCLUSIONS,
        "stopping_rule": STOPPING,
    }


def _models(configured: Any) -> list[str]:
    """List the model names in a configuration's `models`: those of a tournament are
    by stage, those of a one-shot run in a list."""
    if not isinstance(configured, dict):
        return list(configured)
    return [model["name"] for models in configured.values() for model in models]


def one_shot(design: str, run_id: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the preregistration of a one-shot study, a single run that keeps it in
    its own folder."""
    study = document(design, [{"folder": "", "run_id": run_id, "config": dict(config)}])
    study["primary"] = ONE_SHOT[design]
    study["exclusions"] = ONE_SHOT_EXCLUSIONS
    study["stopping_rule"] = ONE_SHOT_STOPPING
    return study


def write(folder: Path, data: Mapping[str, Any]) -> str:
    """Write prereg.json into the folder of a plan or a run, and return the file's hash.

    It raises UsageError where a run has begun or another preregistration is there.
    """
    path, content = folder / FILE, json_file(data)
    if path.exists():
        if path.read_bytes() != content:
            raise UsageError(
                f"{path}: another preregistration is here; use another --out"
            )
        return sha256(content)
    manifests = [*folder.glob("manifest.json"), *folder.glob("*/manifest.json")]
    for manifest in sorted(manifests):
        raise UsageError(
            f"{folder}: {manifest.parent.name} has begun already; a preregistration "
            "comes before the first call: use another --out"
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(path, content)
    return sha256(content)


def load(folder: Path) -> dict[str, Any] | None:
    """Read the preregistration in a folder; None where there is none."""
    path = folder / FILE
    return read(path, KIND, RESTORE) if path.is_file() else None


def is_one_shot(folder: Path) -> bool:
    """Whether a folder holds the preregistration of a one-shot run."""
    data = load(folder)
    return data is not None and [run["folder"] for run in data["runs"]] == [""]


# --- what has changed since, and whether the analysis is confirmatory -----------------------------


def changed_files(data: Mapping[str, Any]) -> list[str]:
    """List the files that changed since `data` was written, such as
    "cirrus/families.py changed"."""
    then, now, found = data["files"], hashes(), []
    for name in sorted(then.keys() | now.keys()):
        if name not in now:
            found.append(f"{name} removed")
        elif name not in then:
            found.append(f"{name} added")
        elif then[name] != now[name]:
            found.append(f"{name} changed")
    return found


def changed_runs(
    data: Mapping[str, Any], runs: Mapping[tuple[str, str], Mapping]
) -> Iterator[str]:
    """Yield how the analysed runs, {(folder, run_id): config}, differ from the
    registered ones.

    A run may have another configuration, be unregistered, or be left out.
    """
    listed = {(run["folder"], run["run_id"]): run["config"] for run in data["runs"]}
    for place, config in runs.items():
        if place not in listed:
            yield f"plan: {'/'.join(place)} was not registered"
        elif listed[place] != config:
            yield f"plan: {'/'.join(place)} has another configuration"
    left = ["/".join(place) for place in listed if place not in runs]
    if left:
        share = f"{len(left)} of {len(listed)} registered runs are left out"
        named = ", ".join(left[:LISTED])
        more = ", …" if len(left) > LISTED else ""
        yield f"plan: {share}: {named}{more}"


def registration(study: Study) -> dict[str, Any]:
    """Return whether a tournament's analysis is confirmatory or exploratory, and why.

    It is confirmatory where the runs are all those of one registered study, and nothing
    deviates from its preregistration.
    """
    registered, heads = {}, {}
    for folder in plan_folders(study.runs):
        data = load(folder)
        if data is not None:
            registered[folder] = data
            heads[folder.name] = sha256(read_bytes(folder / FILE))
    covered = [run for run in study.runs if run.folder.parent in registered]
    loose, studies = len(study.runs) - len(covered), len(set(heads.values()))
    deviations: list[str] = []
    if studies == 1:
        data = next(iter(registered.values()))
        deviations += _deviations(covered, data, heads)
    why = ""
    if not studies:
        why = "not preregistered"
    elif loose:
        why = f"{count(loose, 'run')} of {len(study.runs)} under no preregistration"
    elif studies > 1:
        why = f"registered as {studies} studies ({', '.join(heads)}), not as one"
    return _registration(why, heads, deviations)


def _registration(
    why: str, heads: Mapping[str, str], deviations: Sequence[str]
) -> dict[str, Any]:
    """Return an analysis's `registration`: exploratory where there is a reason (`why`)
    or a deviation, else confirmatory. `heads` is {folder: hash of its prereg.json}."""
    if deviations and not why:
        why = f"{count(len(deviations), 'deviation')} from the preregistration"
    kind = "exploratory" if why else "confirmatory"
    return {"kind": kind, "why": why, "heads": heads, "deviations": deviations}


def _deviations(
    runs: Sequence[SavedRun], data: Mapping, heads: Mapping[str, str]
) -> Iterator[str]:
    """Yield every deviation from the registration `data`: changed files, and runs that
    are changed, unregistered, unfinished or left out."""
    configs = {(run.folder.parent.name, run.name): run.config for run in runs}
    for line in (*changed_files(data), *changed_runs(data, configs)):
        yield f"{', '.join(heads)}: {line}"
    for run in runs:
        name = f"{run.folder.parent.name}: {run.name}"
        yield from _of_run(name, run.manifest, heads)


def _of_run(
    name: str, manifest: Mapping[str, Any], heads: Mapping[str, str]
) -> Iterator[str]:
    """Yield how one run deviates from its registration."""
    if manifest["identity"].get("prereg_sha256") not in heads.values():
        yield f"{name} was not made under this registration"
    if manifest["state"] != "complete":
        yield f"{name} is unfinished"
    for model, aside in manifest.get("set_aside", {}).items():
        if not aside.startswith(UNREAD_FORM) or manifest["served"].get(model):
            yield f"{name}: {model} was set aside: {aside}"
    for model, served in manifest["served"].items():
        if len(served) > 1:
            yield f"{name}: {model} was served by the models {', '.join(served)}"
    for model, upstreams in manifest["upstreams"].items():
        if len(upstreams) > 1:
            yield (
                f"{name}: {model} was answered by {', '.join(upstreams)}; --upstream "
                "keeps a run to one"
            )


def registration_of(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return whether the analysis of a one-shot run is confirmatory, and why; None
    where its folder holds no preregistration."""
    data = load(folder)
    if data is None:
        return None
    name = folder.resolve().name
    heads = {name: sha256(read_bytes(folder / FILE))}
    [registered] = data["runs"]
    deviations = [*changed_files(data), *_of_run(name, manifest, heads)]
    if registered["config"] != manifest["identity"]["config"]:
        deviations.append(f"{name} has another configuration")
    return _registration("", heads, deviations)
