"""The tournament's design: agents, rounds, pairs, labels; a pure function of configuration.

    t = design(load_domain("cvd"), config)
    t.rounds[0].pairs[0].labels        # [(label scheme, option order)] of its encounters

What each agent is asked in it stands in `encounters.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cirrus import game
from cirrus.parts import marks_of
from cirrus.scenario import (
    ORDERS,
    Bulletin,
    Condition,
    Domain,
    Variant,
    cell_name,
    deal_bulletins,
    deal_labels,
    make_condition,
)
from common.rng import SeededRandom

STAGES = ("strategy", "decision")


class Voice(NamedTuple):
    """A model and how it is asked: visible output in tokens, reasoning effort or None."""

    name: str
    max_out: int
    effort: str | None = None


class Agent(NamedTuple):
    """Stable over rounds and runs. A baseline has a rule and no voices."""

    id: str
    strategy: Voice | None
    decision: Voice | None
    baseline: str | None = None


class Pair(NamedTuple):
    """Two agents of a round and, for each encounter, (label scheme, option order)."""

    id: str
    a: Agent
    b: Agent
    labels: list[tuple[str, str]]


class Round(NamedTuple):
    """`number` from 1; `anon`: agent id → its name in this round."""

    number: int
    bulletin: Bulletin
    variant: Variant
    salt: str
    anon: dict[str, str]
    pairs: list[Pair]


class Tournament(NamedTuple):
    """One run. `name` begins every request id; `config` is the run's identity."""

    name: str
    config: dict[str, Any]
    domain: Domain
    condition: Condition
    agents: list[Agent]
    rounds: list[Round]


# --- design ------------------------------------------------------------------------------------

def run_name(config: Mapping[str, Any]) -> str:
    """ "cvd-S.high-C.present-H.low-s42", with what is not the default before the seed."""
    cell = cell_name(make_condition(config["toggles"]))
    return "-".join([config["domain"], cell, *marks_of(config), f"s{config['seed']}"])


def design(domain: Domain, config: Mapping[str, Any]) -> Tournament:
    """The whole run. Everything but the condition follows from seed and sizes alone, so runs of
    one seed share bulletins, variants, schedule, label schemes, orders and names."""
    rng = SeededRandom(config["seed"], "tournament")
    agents = make_agents(config)
    dealt = deal_bulletins(rng.stream("bulletins"), domain, config["rounds"],
                           holdout=config["variants"] == "holdout")
    orders = ORDERS if config["option_order"] == "random" else (config["option_order"],)
    per_wave = len(agents) * (len(agents) - 1) // 2
    waves = config["games_per_pair"]
    # One deal over the whole run: every prefix is balanced, the first wave among them.
    labels = deal_labels(rng.stream("labels"), config["rounds"] * waves * per_wave,
                         config["label_schemes"], orders)
    rounds = []
    for number, (bulletin, variant) in enumerate(dealt, 1):
        start = (number - 1) * waves * per_wave
        rounds.append(_round(rng, number, bulletin, variant, agents,
                             labels[start:start + waves * per_wave]))
    return Tournament(run_name(config), dict(config), domain,
                      make_condition(config["toggles"]), agents, rounds)


def make_agents(config: Mapping[str, Any]) -> list[Agent]:
    """Models are dealt to the agents in turn; baselines follow."""
    voices = {stage: [Voice(v["name"], v["max_out"], v["effort"])
                      for v in config["models"][stage]] for stage in STAGES}
    agents = [Agent(f"agent-{n + 1:02d}", *(voices[s][n % len(voices[s])] for s in STAGES))
              for n in range(config["agents"])]
    return agents + [Agent(f"baseline-{name}", None, None, name) for name in config["baselines"]]


def _round(rng: SeededRandom, number: int, bulletin: Bulletin, variant: Variant,
           agents: Sequence[Agent], labels: Sequence[tuple[str, str]]) -> Round:
    known = {agent.id: agent for agent in agents}
    schedule = game.round_robin(rng.stream("schedule", number), list(known))
    salt = f"{rng.stream('salt', number).getrandbits(128):032x}"
    pairs = [Pair(f"p{at + 1:02d}", known[a], known[b], list(labels[at::len(schedule)]))
             for at, (a, b) in enumerate(schedule)]
    return Round(number, bulletin, variant, salt,
                 {name: game.anonymous_id(salt, name) for name in known}, pairs)


def writers(t: Tournament) -> list[Agent]:
    """The agents that are asked for policies."""
    return [agent for agent in t.agents if agent.baseline is None]
