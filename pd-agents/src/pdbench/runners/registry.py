"""From a configuration to the objects that play: policies by name, models by provider."""

import importlib.util
import inspect
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

from pdbench.agents.base import Agent
from pdbench.agents.llm import LLMAgent
from pdbench.agents.policy import POLICIES, OwnPolicy
from pdbench.config.load import Condition, Experiment
from pdbench.config.read import shown
from pdbench.config.schema import OWN_POLICY, LLMSpec, PolicySpec, Provider
from pdbench.core.payoff import DEFAULT_MATRIX, reward
from pdbench.core.rng import derive_seed
from pdbench.core.transcript import Transcript
from pdbench.core.types import Action, ConfigError, Seat
from pdbench.providers import litellm
from pdbench.providers.mock import MockProvider

TRIAL_ROUNDS = 50


def build_agent(condition: Condition, seat: Seat, seed: int, charge: Callable) -> Agent:
    """The agent of one seat of a match seeded with `seed`; `charge` hears of a call's dollars."""
    loaded = condition.agents[seat]
    agent: Agent
    if isinstance(loaded.spec, LLMSpec):
        spec = loaded.spec
        assert loaded.prompts
        provider = _provider(spec, derive_seed(seed, "mock", seat))
        agent = LLMAgent(
            spec,
            loaded.prompts,
            provider,
            condition.game,
            condition.horizon,
            seat,
            charge,
        )
    else:
        agent = build_policy(loaded.spec, condition, seat)
    agent.reset(derive_seed(seed, seat))
    return agent


def _provider(spec: LLMSpec, seed: int):
    if spec.mocked:
        return MockProvider(spec.mock, spec.output.format, seed)
    return litellm.LiteLLMProvider(spec.provider)


def build_policy(spec: PolicySpec, condition: Condition, seat: Seat) -> Agent:
    """A classic policy, or one of the user's own."""
    if OWN_POLICY in spec.policy:
        return OwnPolicy(own_class(spec.policy))
    threshold = spec.win_threshold
    if threshold is None:
        threshold = reward(condition.game.payoffs.matrix(), seat)
    return POLICIES[spec.policy](spec.generous_prob, threshold)


def own_class(policy: str) -> Callable[[], object]:
    """The class that `FILE.py:NAME` names; ConfigError where there is none that can act."""
    file, _, name = policy.rpartition(":")
    path = Path(file)
    spec = importlib.util.spec_from_file_location(f"own_policy_{path.stem}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise ConfigError(f"{shown(path)} line {error.lineno}: {error.msg}") from None
    except Exception as error:
        raise ConfigError(own_trouble(policy, error)) from None
    kind = getattr(module, name, None)
    if not inspect.isclass(kind):
        raise ConfigError(f"{shown(path)}: holds no class {name}")
    if not callable(getattr(kind, "act", None)):
        raise ConfigError(f"{shown(path)}: class {name} has no method act(self, obs)")
    return kind


def check_policies(experiment: Experiment) -> None:
    """Import every policy of the user's own and let it play; ConfigError where it can't."""
    for condition in experiment.conditions:
        for seat, agent in condition.agents.items():
            spec = agent.spec
            if isinstance(spec, PolicySpec) and OWN_POLICY in spec.policy:
                _check_own(spec, f"condition {condition.name!r} {seat}")


def _check_own(spec: PolicySpec, where: str) -> None:
    """Two trial matches of one seed must give the same actions, as every resumed match must."""
    try:
        first, second = _trial(spec), _trial(spec)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    except Exception as error:
        problem = own_trouble(spec.policy, error)
        raise ConfigError(f"{where}: {problem}") from None
    if first != second:
        raise ConfigError(
            f"{where}: {_own_name(spec.policy)}: plays differently from the same seed;"
            " draw from random.Random(seed) with the seed that reset(seed) gets"
        )


def _trial(spec: PolicySpec) -> list[Action]:
    agent = OwnPolicy(own_class(spec.policy))
    agent.reset(1)
    opponent, transcript = Random(1), Transcript()
    for _ in range(TRIAL_ROUNDS):
        a, b = agent.act(transcript.seen_by("agent_a")), opponent.choice("CD")
        transcript.add((a, b), DEFAULT_MATRIX[a + b])
    return transcript.sides["agent_a"].actions


def own_trouble(policy: str, error: Exception) -> str:
    """What went wrong in a policy of the user's own, and in which of its lines."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    at = f"{Path(last.filename).name} line {last.lineno}"
    return f"{_own_name(policy)}: {error!r} ({at})"


def _own_name(policy: str) -> str:
    file, _, name = policy.rpartition(":")
    return f"{shown(Path(file))}:{name}"


def real_providers(conditions: Sequence[Condition]) -> Iterator[tuple[str, Provider]]:
    """Every model that is really asked, with where the configuration names it."""
    for condition in conditions:
        for seat, agent in condition.agents.items():
            spec = agent.spec
            if isinstance(spec, LLMSpec) and not spec.mocked:
                yield f"condition {condition.name!r} {seat}", spec.provider


def not_ready(experiment: Experiment) -> list[str]:
    """What is still missing for `run`: packages and keys."""
    notes = []
    for where, provider in real_providers(experiment.conditions):
        missing = litellm.missing(provider)
        if missing:
            notes.append(f"{where}: {missing}")
    return notes


def check_ready(experiment: Experiment) -> None:
    """Raise ConfigError before anything is played where a model can't be asked or paid for."""
    missing = not_ready(experiment)
    if missing:
        raise ConfigError(missing[0])
    if experiment.run.limit_usd is None:
        return
    for where, provider in real_providers(experiment.conditions):
        if litellm.price_of(provider) is None:
            raise ConfigError(
                f"{where}: run.limit_usd needs a price, and none is known of"
                f" {provider.model!r}; set provider.usd_per_million_tokens to"
                " [prompt, answer], [0, 0] where it is free"
            )
