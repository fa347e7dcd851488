"""An experiment file with everything it refers to, resolved and checked."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, model_validator

from pdbench.agents.prompting import Prompts, check_prompts
from pdbench.config.overrides import apply, flatten, leaves
from pdbench.config.schema import (
    AgentSpec,
    ConditionSettings,
    Game,
    Horizon,
    LLMSpec,
    Metrics,
    Name,
    PolicySpec,
    RunSettings,
    Strict,
)
from pdbench.config.yamlfile import brief, check, read_mapping, read_text, shown
from pdbench.core.payoff import dilemma_problems
from pdbench.core.types import SEATS, ConfigError

KINDS = {"policy": PolicySpec, "llm": LLMSpec}
PATH_KEYS = ("system_prompt", "round_prompt", "personas_dir")
NOT_PLAY = {  # may change between a run's start and its resumption
    "provider": {"timeout_s", "connection_retries", "api_key_env"},
    "prompting": set(PATH_KEYS),
}


class ConditionFile(Strict):
    """A matchup as written; agents are resolved apart, since they may be references."""

    name: Name
    agent_a: dict
    agent_b: dict
    overrides: dict = Field(default_factory=dict)


class ExperimentFile(Strict):
    """An experiment as written."""

    run: RunSettings
    game: Game
    horizon: Horizon
    metrics: Metrics = Metrics()
    conditions: list[ConditionFile] = Field(default_factory=list)
    round_robin: list[dict] = Field(default_factory=list)

    @model_validator(mode="after")
    def _something_to_play(self) -> "ExperimentFile":
        if not self.conditions and not self.round_robin:
            raise ValueError(
                "conditions or round_robin: at least one has to say who plays"
            )
        return self


@dataclass(frozen=True)
class LoadedAgent:
    """An agent, its name in tables, and its prompts' texts (None for policies)."""

    spec: AgentSpec
    label: str
    prompts: Prompts | None

    def snapshot(self) -> dict:
        """Everything that decides how the agent plays; paths give way to the texts."""
        data = self.spec.model_dump(exclude=NOT_PLAY) | {"label": self.label}
        if self.prompts is not None:
            data["prompting"]["texts"] = self.prompts._asdict()
        return data


@dataclass(frozen=True)
class Condition:
    """A matchup, ready to play."""

    name: str
    game: Game
    horizon: Horizon
    agent_a: LoadedAgent
    agent_b: LoadedAgent

    @property
    def agents(self) -> tuple[LoadedAgent, LoadedAgent]:
        """Both agents, A first."""
        return self.agent_a, self.agent_b

    @property
    def simulated(self) -> bool:
        """Does the mock provider take part?"""
        return any(
            isinstance(a.spec, LLMSpec) and a.spec.provider.name == "mock"
            for a in self.agents
        )

    @property
    def asks_models(self) -> bool:
        """Does an agent call a provider (the mock included)?"""
        return any(isinstance(a.spec, LLMSpec) for a in self.agents)


@dataclass(frozen=True)
class Experiment:
    """A whole experiment, with the warnings found on the way."""

    path: Path
    run: RunSettings
    metrics: Metrics
    conditions: tuple[Condition, ...]
    warnings: tuple[str, ...]

    @property
    def run_dir(self) -> Path:
        """The run's folder."""
        return Path(self.run.output_dir.replace("{run_id}", self.run.run_id))

    def snapshot(self) -> dict:
        """Everything that decides what is played and recorded: not the number of replicates."""
        return _snapshot(self.run, self.metrics, self.conditions)


def _snapshot(
    run: RunSettings, metrics: Metrics, conditions: Sequence[Condition]
) -> dict:
    return {
        "run": run.model_dump(exclude={"output_dir", "replicates"}),
        "metrics": metrics.model_dump(),
        "conditions": {
            c.name: {
                "game": c.game.model_dump(),
                "horizon": c.horizon.model_dump(),
                "agent_a": c.agent_a.snapshot(),
                "agent_b": c.agent_b.snapshot(),
            }
            for c in conditions
        },
    }


def snapshot_of(data: dict) -> dict:
    """What a snapshot read from a file gives when it is taken again: itself, if it is one."""
    again = _snapshot(
        RunSettings.model_validate(data["run"]),
        Metrics.model_validate(data["metrics"]),
        conditions_of(data),
    )
    return json.loads(json.dumps(again))


def snapshot_sha256(snapshot: dict) -> str:
    """Hash of a snapshot's canonical JSON."""
    text = json.dumps(snapshot, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def conditions_of(snapshot: dict) -> tuple[Condition, ...]:
    """The conditions that `Experiment.snapshot` was taken of; raises where it holds none."""
    return tuple(
        Condition(
            name,
            Game.model_validate(c["game"]),
            Horizon.model_validate(c["horizon"]),
            _agent_of(c["agent_a"]),
            _agent_of(c["agent_b"]),
        )
        for name, c in snapshot["conditions"].items()
    )


def _agent_of(data: dict) -> LoadedAgent:
    if "prompting" not in data:
        return LoadedAgent(PolicySpec.model_validate(data), data["label"], None)
    texts = data["prompting"]["texts"]
    prompting = {
        name: value for name, value in data["prompting"].items() if name != "texts"
    }
    paths = dict.fromkeys(("system_prompt", "round_prompt"), "")
    spec = LLMSpec.model_validate(data | {"prompting": prompting | paths})
    return LoadedAgent(spec, data["label"], Prompts(**texts))


def load_experiment(path: Path) -> Experiment:
    """Read, resolve and check an experiment file; raise ConfigError on the first problem."""
    path = path.resolve()
    data = read_mapping(path, "CONFIG_PATH")
    written = check(ExperimentFile, data, path)
    base = {"game": data["game"], "horizon": data["horizon"]}
    conditions = (*_round_robin(written, path), *(
        _condition(item, base, path, f"conditions[{i}]")
        for i, item in enumerate(written.conditions)
    ))  # fmt: skip
    _names_once(conditions, path)
    _labels_mean_one_agent(conditions, path)
    return Experiment(
        path, written.run, written.metrics, conditions, _warnings(conditions, path)
    )


def _round_robin(written: ExperimentFile, path: Path) -> list[Condition]:
    """Every pair of the agents listed, each against itself too."""
    agents = [
        _agent(node, path, f"round_robin[{i}]")
        for i, node in enumerate(written.round_robin)
    ]
    names = [
        re.sub(r"[^a-z0-9._]+", "-", a.label.lower()).strip("-._") or "agent"
        for a in agents
    ]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ConfigError(
                f"{shown(path)}: round_robin[{i}]: is called {agents[i].label!r}, as"
                f" round_robin[{names.index(name)}] is; override its label"
            )
    return [
        Condition(f"{names[i][:38]}-vs-{names[j][:38]}", written.game, written.horizon, agents[i],
                  agents[j])
        for i in range(len(agents)) for j in range(i, len(agents))
    ]  # fmt: skip


def _condition(item: ConditionFile, base: dict, path: Path, key: str) -> Condition:
    where = f"{shown(path)}: {key}.overrides"
    flat = flatten(item.overrides, leaves(ConditionSettings), where)
    if "horizon.type" in flat:
        base = base | {"horizon": {}}
    settings = check(ConditionSettings, apply(base, flat), path, f"{key}.overrides")
    agents = [_agent(getattr(item, seat), path, f"{key}.{seat}") for seat in SEATS]
    return Condition(item.name, settings.game, settings.horizon, *agents)


def _agent(node: dict, path: Path, key: str) -> LoadedAgent:
    data, origin = _resolve(node, path, key, (path,))
    model = KINDS[data["type"]]
    prefix = key if origin == path else ""
    spec = check(model, data, origin, prefix)
    if isinstance(spec, PolicySpec):
        return LoadedAgent(spec, spec.label or _policy_label(spec), None)
    prompts = _prompts(spec, f"{shown(path)}: {key}")
    persona = f" ({spec.prompting.persona})" if spec.prompting.persona else ""
    return LoadedAgent(spec, spec.label or spec.provider.model + persona, prompts)


def _policy_label(spec: PolicySpec) -> str:
    default = PolicySpec.model_fields
    if spec.policy == "GTFT" and spec.generous_prob != default["generous_prob"].default:
        return f"GTFT({spec.generous_prob:g})"
    if spec.policy == "WSLS" and spec.win_threshold is not None:
        return f"WSLS({spec.win_threshold:g})"
    return spec.policy


def _resolve(
    node: dict, path: Path, key: str, chain: tuple[Path, ...]
) -> tuple[dict, Path]:
    """The agent's data with overrides applied, and the file to name in a complaint about it."""
    where = f"{shown(path)}: {key}." if key else f"{shown(path)}: "
    if "ref" not in node:
        if node.get("type") not in KINDS:
            raise ConfigError(
                f"{where}type: should be policy or llm (or give ref: FILE), found"
                f" {brief(node.get('type'))}"
            )
        return _anchored(node, path.parent), path
    if extra := sorted(map(str, node.keys() - {"ref", "overrides"})):
        raise ConfigError(
            f"{where}{extra[0]}: unknown key beside ref; put it under overrides"
        )
    ref, overrides = node["ref"], node.get("overrides") or {}
    if not isinstance(ref, str) or not isinstance(overrides, dict):
        raise ConfigError(f"{where}ref: should be a file name and overrides a mapping")
    target = (path.parent / ref).resolve()
    if target in chain:
        names = " -> ".join(shown(p) for p in (*chain[chain.index(target) :], target))
        raise ConfigError(f"{where}ref: cyclic reference: {names}")
    data, origin = _resolve(
        read_mapping(target, f"{where}ref"), target, "", (*chain, target)
    )
    flat = flatten(overrides, leaves(KINDS[data["type"]]), f"{where}overrides")
    own = _anchored(apply({}, flat), path.parent)
    merged = apply(data, {k: _at(own, k) for k in flat})
    _blame_the_override(
        data, merged, flat, path, f"{key}.overrides" if key else "overrides"
    )
    return merged, origin


def _blame_the_override(
    before: dict, after: dict, flat: dict, path: Path, key: str
) -> None:
    """Where the referred file is sound and the overrides spoil it, name the overrides."""
    model = KINDS[before["type"]]
    if flat and _is_valid(model, before):
        check(model, after, path, key)


def _is_valid(model: type, data: dict) -> bool:
    try:
        model.model_validate(data)
    except ValueError:
        return False
    return True


def _at(data: dict, key: str) -> object:
    for part in key.split("."):
        data = data[part]
    return data


def _anchored(data: dict, folder: Path) -> dict:
    """Prompt paths made absolute, as seen from the file that names them."""
    section = data.get("prompting")
    if not isinstance(section, dict):
        return data
    paths = {
        k: str((folder / section[k]).resolve())
        for k in PATH_KEYS
        if isinstance(section.get(k), str)
    }
    return data | {"prompting": section | paths}


def _prompts(spec: LLMSpec, where: str) -> Prompts:
    p = spec.prompting
    system, per_round = Path(p.system_prompt), Path(p.round_prompt)
    prompts = Prompts(
        read_text(system, f"{where}: prompting.system_prompt"),
        read_text(per_round, f"{where}: prompting.round_prompt"),
        _persona(spec, where),
    )
    check_prompts(prompts, spec, shown(system), shown(per_round))
    return prompts


def _persona(spec: LLMSpec, where: str) -> str:
    p = spec.prompting
    if p.persona is None:
        return ""
    if p.personas_dir is None:
        raise ConfigError(
            f"{where}: prompting.personas_dir: missing, but persona is {p.persona!r}"
        )
    folder = Path(p.personas_dir)
    known = sorted(f.stem for f in folder.glob("*.md"))
    if p.persona not in known:
        raise ConfigError(
            f"{where}: prompting.persona: no persona {p.persona!r} in"
            f" {shown(folder)}; known: {', '.join(known) or 'none'}"
        )
    return read_text(folder / f"{p.persona}.md", f"{where}: prompting.persona")


def _names_once(conditions: tuple[Condition, ...], path: Path) -> None:
    seen: set[str] = set()
    for i, condition in enumerate(conditions):
        if condition.name in seen:
            raise ConfigError(
                f"{shown(path)}: conditions[{i}].name: {condition.name!r} stands"
                " twice; names tell conditions apart"
            )
        seen.add(condition.name)


def _labels_mean_one_agent(conditions: tuple[Condition, ...], path: Path) -> None:
    first: dict[str, tuple[LoadedAgent, str]] = {}
    for i, condition in enumerate(conditions):
        for seat, agent in zip(SEATS, condition.agents, strict=True):
            key = f"conditions[{i}].{seat}"
            known, known_key = first.setdefault(agent.label, (agent, key))
            if known.snapshot() != agent.snapshot():
                raise ConfigError(
                    f"{shown(path)}: {key}: differs from {known_key} but is also"
                    f" called {agent.label!r}; override its label"
                )


def _warnings(conditions: tuple[Condition, ...], path: Path) -> tuple[str, ...]:
    found = [
        f"{shown(path)}: conditions[{i}] ({c.name}): no prisoner's dilemma: {problem}"
        for i, c in enumerate(conditions)
        for problem in dilemma_problems(c.game.payoffs.matrix())
    ]
    return tuple(found)
