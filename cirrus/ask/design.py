"""The tournament's design: agents, rounds, pairs, labels; a pure function of configuration.

    t = design(load_domain("cvd"), config)
    t.rounds[0].pairs[0].labels        # [(label scheme, option order)] of its encounters

What each agent is asked in it stands in `encounters.py`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import gcd
from typing import Any, NamedTuple

from cirrus.ask import game
from cirrus.ask.prompts import (
    ORDERS,
    Bulletin,
    Condition,
    Domain,
    Variant,
    bulletin_pool,
    cell_name,
    deal_labels,
    deal_wordings,
    variant_pool,
)
from common.rng import SeededRandom

# --- what a run is for: by what it does otherwise than usual, its role and its part -------------

HOME = "cvd"              # the domain of the primary endpoint
REPLICATION = "hospital"  # where the cross-domain gate asks again


class Variation(NamedTuple):
    """`usual`: the value in main runs; `mark`: how another stands in a run's name; `parts`: {value,
    None for any other: (role of a run that differs in this alone, its part's title in tables)}."""

    usual: str
    mark: str
    parts: dict[str | None, tuple[str, str]]


# Key of a run's configuration, or factor among its toggles.
VARIATIONS: dict[str, Variation] = {
    "tells": Variation("standard", "{}", {
        "reworded": ("reworded", "in other words"),
        "ablated": ("ablated", "without the tells")}),
    "variants": Variation("main", "{}", {"holdout": ("holdout", "held-out bulletins")}),
    "history_mode": Variation("standard", "history-{}", {"off": ("history-off", "history off")}),
    "effort": Variation("", "effort-{}", {None: ("effort", "another effort")}),
}
# part → how tables name it, in their order
PARTS: dict[str, str] = (
    {"main": f"{HOME}, main runs", REPLICATION: REPLICATION} | dict(
        part for variation in VARIATIONS.values() for part in variation.parts.values()))
ABLATION = {part: PARTS[part] for part in ("reworded", "ablated")}  # the arms of the ablation gate


def variations_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """What a run does otherwise than usual, {key: value}."""
    chosen = {**config, **config["toggles"]}
    return {key: chosen[key] for key, variation in VARIATIONS.items()
            if chosen.get(key, variation.usual) != variation.usual}


def role_of(config: Mapping[str, Any]) -> str:
    """What a run is for."""
    odd = [(parts.get(value) or parts[None])[0] for key, value in variations_of(config).items()
           if (parts := VARIATIONS[key].parts)]
    return "main" if not odd else odd[0] if len(odd) == 1 else "other"


def marks_of(config: Mapping[str, Any]) -> list[str]:
    """What a run's name says of its variations."""
    return [VARIATIONS[key].mark.format(value) for key, value in variations_of(config).items()]


def titles(parts: Iterable[str]) -> dict[str, str]:
    """{part: how tables name it}, in their order; the part of a domain has the domain's name."""
    parts = set(parts)
    return {part: PARTS.get(part, part) for part in (*PARTS, *sorted(parts - PARTS.keys()))
            if part in parts}


def part_of(role: str, domain: str) -> str | None:
    """The part that a run's primary data belong to; None where they have none.

    Another domain's part is its main runs; its other roles have no name here.
    """
    if domain != HOME:
        return domain if role == "main" else None
    return role if role in PARTS else None


STAGES = ("strategy", "decision")


class ModelSettings(NamedTuple):
    """A model and its settings: visible output in tokens, reasoning effort or None."""

    name: str
    max_out: int
    effort: str | None = None


class Agent(NamedTuple):
    """Stable over rounds and runs. A baseline has a rule and no models."""

    id: str
    strategy: ModelSettings | None
    decision: ModelSettings | None
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
    wording: int
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

def condition_of(config: Mapping[str, Any]) -> Condition:
    """The cell of a run."""
    return Condition(**config["toggles"])


def run_name(config: Mapping[str, Any]) -> str:
    """ "cvd-S.high-C.present-H.low-s42", with what is not the default before the seed."""
    cell = cell_name(condition_of(config))
    return "-".join([config["domain"], cell, *marks_of(config), f"s{config['seed']}"])


def design(domain: Domain, config: Mapping[str, Any]) -> Tournament:
    """The whole run. Everything but the condition follows from seed and sizes alone, so runs of
    one seed share bulletins, variants, schedule, label schemes, orders and names."""
    rng = SeededRandom(config["seed"], "tournament")
    agents = make_agents(config)
    dealt = _bulletins(rng, domain, config)
    orders = ORDERS if config["option_order"] == "random" else (config["option_order"],)
    per_wave = len(agents) * (len(agents) - 1) // 2
    waves = config["games_per_pair"]
    # One deal over the whole run: every prefix is balanced, the first wave among them.
    labels = deal_labels(rng.stream("labels"), config["rounds"] * waves * per_wave,
                         config["label_schemes"], orders)
    rounds = []
    for number, stimuli in enumerate(dealt, 1):
        start = (number - 1) * waves * per_wave
        rounds.append(_round(rng, number, stimuli, agents,
                             labels[start:start + waves * per_wave]))
    return Tournament(run_name(config), dict(config), domain,
                      condition_of(config), agents, rounds)


def _bulletins(rng: SeededRandom, domain: Domain, config: Mapping[str, Any],
               ) -> list[tuple[Bulletin, Variant, int]]:
    """(bulletin, variant, wording) of each round, from the main pool or the held-out one. A
    bulletin has the same wording in all runs of a plan."""
    holdout = config["variants"] == "holdout"
    pool = bulletin_pool(domain, holdout)
    shuffled = SeededRandom(0, "order of bulletins").sample(pool, len(pool))
    variants = variant_pool(rng.stream("variants"), domain, holdout)
    wordings = deal_wordings(SeededRandom(config.get("plan_seed", config["seed"]), "wordings"),
                             domain, shuffled)
    return [(shuffled[at], variants[number % len(variants)], wordings[shuffled[at].id])
            for number, at in enumerate(places(config["turn"], config["rounds"], len(pool)))]


def places(position: int, rounds: int, pool: int) -> list[int]:
    """Where each round of a run stands on a circle of bulletins.

    Runs of consecutive positions take up where the one before left off: together they meet every
    bulletin as often as any other, or once more. Where a run would begin where one began
    before, its rounds begin one place on: in every round, runs stand on different bulletins
    until all are used.
    """
    shared = gcd(rounds, pool)
    later = position // (pool // shared) % shared
    return [(position * rounds + (number + later) % rounds) % pool for number in range(rounds)]


def positions(seeds: Iterable[int]) -> dict[int, int]:
    """{seed: its position}: consecutive from the first seed on, so that a seed has the same one
    alone and before its neighbours."""
    listed = list(dict.fromkeys(seeds))
    return {seed: listed[0] + at for at, seed in enumerate(listed)}


def make_agents(config: Mapping[str, Any]) -> list[Agent]:
    """Models are dealt to the agents in turn; baselines follow."""
    models = [[ModelSettings(v["name"], v["max_out"], config.get("effort") or v["effort"])
               for v in config["models"][stage]] for stage in STAGES]
    agents = [Agent(f"agent-{n + 1:02d}", *(listed[n % len(listed)] for listed in models))
              for n in range(config["agents"])]
    return agents + [Agent(f"baseline-{name}", None, None, name) for name in config["baselines"]]


def _round(rng: SeededRandom, number: int, stimuli: tuple[Bulletin, Variant, int],
           agents: Sequence[Agent], labels: Sequence[tuple[str, str]]) -> Round:
    known = {agent.id: agent for agent in agents}
    schedule = game.round_robin(rng.stream("schedule", number), list(known))
    salt = f"{rng.stream('salt', number).getrandbits(128):032x}"
    pairs = [Pair(f"p{at + 1:02d}", known[a], known[b], list(labels[at::len(schedule)]))
             for at, (a, b) in enumerate(schedule)]
    return Round(number, *stimuli, salt,
                 {name: game.anonymous_id(salt, name) for name in known}, pairs)


def writers(t: Tournament) -> list[Agent]:
    """The agents that are asked for policies."""
    return [agent for agent in t.agents if agent.baseline is None]


# --- runs of a plan ------------------------------------------------------------------------------

class Run(NamedTuple):
    """One run of a plan: its folder below --out, its name, and everything that was chosen."""

    folder: str
    run_id: str
    config: dict[str, Any]


def by_folder(runs: Iterable[Run]) -> Iterator[tuple[str, list[Run]]]:
    """(folder, its runs) in order."""
    folders: dict[str, list[Run]] = {}
    for run in runs:
        folders.setdefault(run.folder, []).append(run)
    yield from folders.items()
