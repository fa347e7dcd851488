"""An experiment file with everything it refers to, resolved and checked."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from pdbench.agents.prompting import Prompts, check_prompts
from pdbench.config.overrides import apply, flatten, leaves
from pdbench.config.read import brief, check, read_mapping, read_text, shown
from pdbench.config.schema import (
    OWN_POLICY,
    AgentSpec,
    ConditionFile,
    ConditionSettings,
    ExperimentFile,
    Game,
    Horizon,
    LLMSpec,
    Metrics,
    PolicySpec,
    RunSettings,
)
from pdbench.core.payoff import dilemma_problems
from pdbench.core.types import SEATS, ConfigError, Seat

KINDS: dict[str, type[PolicySpec] | type[LLMSpec]] = {
    "policy": PolicySpec,
    "llm": LLMSpec,
}
PATHS = ("system_prompt", "round_prompt", "personas_dir")
MAY_CHANGE = {  # between a run's start and its resumption: none of it decides what is played
    "provider": {
        "timeout_s",
        "connection_retries",
        "api_key_env",
        "usd_per_million_tokens",
    },
    "prompting": set(PATHS),
}


@dataclass(frozen=True)
class LoadedAgent:
    """An agent and its name in tables; a model has prompts, a policy of one's own its code."""

    spec: AgentSpec
    label: str
    prompts: Prompts | None = None
    code: str | None = None

    @property
    def simulated(self) -> bool:
        """Does the mock provider answer for it?"""
        return isinstance(self.spec, LLMSpec) and self.spec.mocked

    def snapshot(self) -> dict:
        """Everything that decides how the agent plays; paths give way to what they lead to."""
        data = self.spec.model_dump(exclude=MAY_CHANGE) | {"label": self.label}
        if self.prompts:
            data["prompting"]["texts"] = self.prompts._asdict()
        if isinstance(self.spec, PolicySpec) and self.code is not None:
            data["policy"] = Path(self.spec.policy).name
            data["code_sha256"] = hashlib.sha256(self.code.encode()).hexdigest()
        return data


@dataclass(frozen=True)
class Condition:
    """A matchup, ready to play."""

    name: str
    game: Game
    horizon: Horizon
    agents: dict[Seat, LoadedAgent]

    @property
    def simulated(self) -> bool:
        """Does the mock provider take part?"""
        return any(agent.simulated for agent in self.agents.values())

    @property
    def versus(self) -> str:
        """Both agents' names, A's first."""
        return " / ".join(agent.label for agent in self.agents.values())

    def snapshot(self) -> dict:
        """Everything that decides what is played."""
        data = {"game": self.game.model_dump(), "horizon": self.horizon.model_dump()}
        for seat, agent in self.agents.items():
            data[seat] = agent.snapshot()
        return data


@dataclass(frozen=True)
class Experiment:
    """A whole experiment, with the warnings found on the way."""

    run: RunSettings
    metrics: Metrics
    conditions: tuple[Condition, ...]
    warnings: tuple[str, ...]

    @property
    def run_dir(self) -> Path:
        """The run's folder."""
        return Path(self.run.output_dir.replace("{run_id}", self.run.run_id))

    @property
    def simulated(self) -> bool:
        """Does the mock provider take part anywhere?"""
        return any(each.simulated for each in self.conditions)

    def snapshot(self) -> dict:
        """What is played and recorded: not where, how often, or for how much at most."""
        beside = {"output_dir", "replicates", "limit_usd"}
        data = {
            "run": self.run.model_dump(exclude=beside),
            "metrics": self.metrics.model_dump(),
            "conditions": {each.name: each.snapshot() for each in self.conditions},
        }
        return json.loads(json.dumps(data))  # as a manifest gives it back


def snapshot_sha256(snapshot: dict) -> str:
    """Hash of a snapshot's canonical JSON."""
    text = json.dumps(snapshot, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def load_experiment(path: Path) -> Experiment:
    """Read, resolve and check an experiment file; raise ConfigError on the first problem."""
    path = path.resolve()
    written = check(ExperimentFile, read_mapping(path, "CONFIG_PATH"), path)
    conditions = []
    for i, each in enumerate(written.conditions):
        conditions.append(_condition(each, written, path, f"conditions[{i}]"))
    _names_stand_once(conditions, path)
    warnings = _warnings(conditions, path)
    return Experiment(written.run, written.metrics, tuple(conditions), warnings)


def _condition(
    item: ConditionFile, written: ExperimentFile, path: Path, key: str
) -> Condition:
    where = f"{key}.overrides"
    flat = flatten(item.overrides, leaves(ConditionSettings), f"{shown(path)}: {where}")
    base = {"game": written.game.model_dump(), "horizon": written.horizon.model_dump()}
    if "horizon.type" in flat:
        base["horizon"] = {}
    settings = check(ConditionSettings, apply(base, flat), path, where)
    agents = {}
    for seat in SEATS:
        agents[seat] = _agent(getattr(item, seat), path, f"{key}.{seat}")
    return Condition(item.name, settings.game, settings.horizon, agents)


def _agent(node: dict, path: Path, key: str) -> LoadedAgent:
    data = _resolve(node, path, key, ())
    spec = KINDS[data["type"]].model_validate(data)
    where = f"{shown(path)}: {key}"
    if isinstance(spec, LLMSpec):
        label = spec.label or _model_label(spec)
        return LoadedAgent(spec, label, prompts=_prompts(spec, where))
    label = spec.label or _policy_label(spec)
    if OWN_POLICY not in spec.policy:
        return LoadedAgent(spec, label)
    file = Path(spec.policy.rpartition(":")[0])
    return LoadedAgent(spec, label, code=read_text(file, f"{where}: policy"))


def _model_label(spec: LLMSpec) -> str:
    if spec.prompting.persona:
        return f"{spec.provider.model} ({spec.prompting.persona})"
    return spec.provider.model


def _policy_label(spec: PolicySpec) -> str:
    default = PolicySpec.model_fields["generous_prob"].default
    if spec.policy == "GTFT" and spec.generous_prob != default:
        return f"GTFT({spec.generous_prob:g})"
    if spec.policy == "WSLS" and spec.win_threshold is not None:
        return f"WSLS({spec.win_threshold:g})"
    return spec.policy.rpartition(":")[2]


def _resolve(node: dict, path: Path, key: str, chain: tuple[Path, ...]) -> dict:
    """An agent's data with references followed and overrides applied, valid at every step."""
    where = f"{shown(path)}: {key}".rstrip(": ")
    if "ref" not in node:
        kind = node.get("type")
        if kind not in KINDS:
            found = brief(kind)
            raise ConfigError(
                f"{where}: type should be policy or llm (or give ref: FILE), found {found}"
            )
        check(KINDS[kind], node, path, key)
        return _anchored(node, path.parent)
    beside = sorted(node.keys() - {"ref", "overrides"})
    if beside:
        raise ConfigError(
            f"{where}: unknown key {beside[0]} beside ref; put it under overrides"
        )
    ref, overrides = node["ref"], node.get("overrides", {})
    if not isinstance(ref, str) or not isinstance(overrides, dict):
        raise ConfigError(f"{where}: ref should be a file name and overrides a mapping")
    target = (path.parent / ref).resolve()
    if target in chain:
        raise ConfigError(f"{where}: ref: {shown(target)} refers to itself")
    data = read_mapping(target, f"{where}: ref")
    resolved = _resolve(data, target, "", (*chain, target))
    return _overridden(resolved, overrides, path, f"{key}.overrides".lstrip("."))


def _overridden(data: dict, overrides: dict, path: Path, key: str) -> dict:
    """`data` with overrides that `path` holds under `key`."""
    kind = KINDS[data["type"]]
    known = [leaf for leaf in leaves(kind) if leaf != "type"]
    flat = flatten(overrides, known, f"{shown(path)}: {key}")
    check(kind, apply(data, flat), path, key)
    own = _anchored(apply({}, flat), path.parent)
    for dotted in flat:
        flat[dotted] = _at(own, dotted)
    return apply(data, flat)


def _at(data: dict, dotted: str) -> object:
    for part in dotted.split("."):
        data = data[part]
    return data


def _anchored(data: dict, folder: Path) -> dict:
    """The paths in `data` made absolute, as seen from the folder of the file that names them."""
    data = dict(data)
    if OWN_POLICY in str(data.get("policy")):
        file, _, name = data["policy"].rpartition(":")
        data["policy"] = f"{(folder / file).resolve()}:{name}"
    if "prompting" in data:
        section = dict(data["prompting"])
        for name in PATHS:
            if section.get(name):
                section[name] = str((folder / section[name]).resolve())
        data["prompting"] = section
    return data


def _prompts(spec: LLMSpec, where: str) -> Prompts:
    section = spec.prompting
    system, per_round = Path(section.system_prompt), Path(section.round_prompt)
    prompts = Prompts(
        read_text(system, f"{where}: prompting.system_prompt"),
        read_text(per_round, f"{where}: prompting.round_prompt"),
        _persona(spec, where),
    )
    check_prompts(prompts, spec, shown(system), shown(per_round))
    return prompts


def _persona(spec: LLMSpec, where: str) -> str:
    section, key = spec.prompting, f"{where}: prompting.persona"
    if section.persona is None:
        return ""
    if section.personas_dir is None:
        raise ConfigError(f"{key}: {section.persona!r} needs prompting.personas_dir")
    folder = Path(section.personas_dir)
    known = sorted(file.stem for file in folder.glob("*.md"))
    if section.persona not in known:
        names = ", ".join(known)
        raise ConfigError(
            f"{key}: no persona {section.persona!r} in {shown(folder)}; known: {names}"
        )
    return read_text(folder / f"{section.persona}.md", key)


def _names_stand_once(conditions: list[Condition], path: Path) -> None:
    seen: set[str] = set()
    for i, condition in enumerate(conditions):
        if condition.name in seen:
            raise ConfigError(
                f"{shown(path)}: conditions[{i}].name: {condition.name!r} stands twice;"
                " names tell conditions apart"
            )
        seen.add(condition.name)


def _warnings(conditions: list[Condition], path: Path) -> tuple[str, ...]:
    found = []
    for i, condition in enumerate(conditions):
        where = f"{shown(path)}: conditions[{i}] ({condition.name})"
        for problem in dilemma_problems(condition.game.payoffs.matrix()):
            found.append(f"{where}: no prisoner's dilemma: {problem}")
    return tuple(found)
