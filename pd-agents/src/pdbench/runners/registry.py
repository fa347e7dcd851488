"""From a configuration to the objects that play: tables of names, no class tree."""

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec

from pdbench.agents.base import Agent
from pdbench.agents.llm import LLMAgent
from pdbench.agents.policy import PolicyAgent
from pdbench.config.load import Condition
from pdbench.config.schema import LLMSpec, PolicySpec, Provider
from pdbench.core.payoff import trps
from pdbench.core.rng import derive_seed
from pdbench.core.types import SEATS, Action, ConfigError, PdbenchError, Seat
from pdbench.providers.base import ProviderClient, api_key, package_missing
from pdbench.providers.mock import MockProvider


def _litellm(provider: Provider) -> ProviderClient:
    from pdbench.providers.litellm import LiteLLMProvider

    return LiteLLMProvider(provider)


def _openai(provider: Provider) -> ProviderClient:
    from pdbench.providers.openai import OpenAIProvider

    return OpenAIProvider(provider)


def _anthropic(provider: Provider) -> ProviderClient:
    from pdbench.providers.anthropic import AnthropicProvider

    return AnthropicProvider(provider)


EXTRAS = ("litellm",)  # the others need nothing that is not always there
CLIENTS = {"litellm": _litellm, "openai": _openai, "anthropic": _anthropic}


@cache
def client(provider: Provider) -> ProviderClient:
    """The one client of a real provider; ConfigError where its package or key is missing."""
    return CLIENTS[provider.name](provider)


def _real_providers(conditions: Sequence[Condition]) -> Iterator[tuple[str, Provider]]:
    for condition in conditions:
        for seat, agent in zip(SEATS, condition.agents, strict=True):
            if isinstance(agent.spec, LLMSpec) and agent.spec.provider.name != "mock":
                yield f"condition {condition.name!r} {seat}", agent.spec.provider


def check_clients(conditions: Sequence[Condition]) -> None:
    """Raise ConfigError before anything is played where a provider can't be set up."""
    for where, provider in _real_providers(conditions):
        try:
            client(provider)
        except PdbenchError as error:
            raise ConfigError(f"{where}: {error}") from None


def not_ready(conditions: Sequence[Condition]) -> list[str]:
    """What is still missing for `run`, without loading anything: packages and keys."""
    notes = []
    for where, provider in _real_providers(conditions):
        if provider.name in EXTRAS and find_spec(provider.name) is None:
            notes.append(f"{where}: {package_missing(provider.name)}")
        try:
            api_key(provider)
        except ConfigError as error:
            notes.append(f"{where}: {error}")
    return notes


def build_agent(
    condition: Condition,
    seat: Seat,
    seed: int,
    recorded: Sequence[Action] = (),
    calls: int = 0,
) -> Agent:
    """The agent of one seat of a match seeded with `seed`.

    A resumed match passes the actions its model chose so far and the calls that took.
    """
    loaded = getattr(condition, seat)
    spec = loaded.spec
    if isinstance(spec, PolicySpec):
        threshold = spec.win_threshold
        if threshold is None:
            threshold = trps(condition.game.payoffs.matrix(), seat)[1]
        agent = PolicyAgent(
            spec.policy, win_threshold=threshold, generous_prob=spec.generous_prob
        )
    else:
        provider = (
            MockProvider(
                spec.mock, spec.output.format, derive_seed(seed, "mock", seat), calls
            )
            if spec.provider.name == "mock"
            else client(spec.provider)
        )
        agent = LLMAgent(
            spec,
            loaded.prompts,
            provider,
            condition.game,
            condition.horizon,
            seat,
            recorded,
        )
    agent.reset(derive_seed(seed, seat))
    return agent
