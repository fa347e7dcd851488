"""From a configuration to the objects that play: tables of names, no class tree."""

from collections.abc import Sequence
from functools import cache

from pdbench.agents.base import Agent
from pdbench.agents.llm import LLMAgent
from pdbench.agents.policy import PolicyAgent
from pdbench.config.load import Condition
from pdbench.config.schema import LLMSpec, PolicySpec, Provider
from pdbench.core.payoff import trps
from pdbench.core.rng import derive_seed
from pdbench.core.types import Action, Seat
from pdbench.providers.base import ProviderClient
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


CLIENTS = {"litellm": _litellm, "openai": _openai, "anthropic": _anthropic}


@cache
def client(provider: Provider) -> ProviderClient:
    """The one client of a real provider; ConfigError where its package or key is missing."""
    return CLIENTS[provider.name](provider)


def check_clients(conditions: Sequence[Condition]) -> None:
    """Raise ConfigError before anything is played where a provider can't be set up."""
    for condition in conditions:
        for agent in condition.agents:
            if isinstance(agent.spec, LLMSpec) and agent.spec.provider.name != "mock":
                client(agent.spec.provider)


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
            MockProvider(spec.mock, spec.output.format, derive_seed(seed, "mock", seat), calls)
            if spec.provider.name == "mock"
            else client(spec.provider)
        )
        agent = LLMAgent(
            spec, loaded.prompts, provider, condition.game, condition.horizon, seat, recorded
        )
    agent.reset(derive_seed(seed, seat))
    return agent
