"""The tournament's design and its game. Agents, rounds, pairs and labels follow from the
configuration alone; payoffs, power and scores from the acts.

    t = design(load_domain("cvd"), config)
    t.rounds[0].pairs[0].labels        # [(label scheme, option order)] of its encounters

`encounters.py` says what each agent is asked. An act is "C" (the cooperative one), "D" (the other),
or None where it could not be read.
"""

import hashlib
import math
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cirrus.ask.deal import (
    bulletin_pool,
    deal_labels,
    deal_wordings,
    variant_pool,
)
from cirrus.ask.prompts import (
    ORDERS,
    Bulletin,
    Condition,
    Domain,
    Variant,
    cell_name,
)
from common.rng import SeededRandom

# --- what a run is for: its variations, its role and its part of a study ------------------------

HOME = "cvd"  # the domain of the primary endpoint
REPLICATION = "hospital"  # the domain in which the cross-domain gate repeats the study


class Variation(NamedTuple):
    """A setting of a run that may differ from that of a main run.

    `usual` is the value in main runs, and `mark` stands for another value in a run's name. A run
    that differs in this alone has a role and belongs to a part of the study: `parts` is {value:
    (role, title of the part in tables)}.
    """

    usual: str
    mark: str
    parts: dict[str, tuple[str, str]]


# {key of a run's configuration: the Variation of that setting}
VARIATIONS: dict[str, Variation] = {
    "tells": Variation(
        "standard",
        "{}",
        {
            "reworded": ("reworded", "in other words"),
            "ablated": ("ablated", "without the tells"),
        },
    ),
    "variants": Variation("main", "{}", {"holdout": ("holdout", "held-out bulletins")}),
    "history_mode": Variation(
        "standard", "history-{}", {"off": ("history-off", "history off")}
    ),
}
# {part of a study: its title in tables}, in the order of tables
PARTS = {"main": f"{HOME}, main runs", REPLICATION: REPLICATION}
for variation in VARIATIONS.values():
    PARTS |= dict(variation.parts.values())
# The parts that the ablation gate compares.
ABLATION = {part: PARTS[part] for part in ("reworded", "ablated")}


def variations_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return {key: value} of the settings in which a run differs from a main run."""
    odd = [key for key, each in VARIATIONS.items() if config[key] != each.usual]
    return {key: config[key] for key in odd}


def role_of(config: Mapping[str, Any]) -> str:
    """Return what a run is for: "main", the role of its one variation, or "other" where
    it has several."""
    odd = variations_of(config)
    if not odd:
        return "main"
    if len(odd) > 1:
        return "other"
    [(key, value)] = odd.items()
    role, _ = VARIATIONS[key].parts[value]
    return role


def marks_of(config: Mapping[str, Any]) -> list[str]:
    """Return the texts that stand for a run's variations in its name."""
    odd = variations_of(config).items()
    return [VARIATIONS[key].mark.format(value) for key, value in odd]


def titles(parts: Iterable[str]) -> dict[str, str]:
    """Return {part: its title in tables}, in the order of tables. A part that is not in
    PARTS is a domain, and its title is the domain's name."""
    parts = set(parts)
    named = {part: title for part, title in PARTS.items() if part in parts}
    others = sorted(parts - PARTS.keys())
    return named | dict(zip(others, others, strict=True))


def part_of(role: str, domain: str) -> str | None:
    """Return the part of a study that a run with this role and domain belongs to, or
    None where it belongs to none.

    A domain other than `HOME` has only one part, its main runs.
    """
    if domain != HOME:
        return domain if role == "main" else None
    return role if role in PARTS else None


STAGES = ("strategy", "decision")
# Fields of a variant in which the two agents of a pair differ; they share the others.
OWN = ("org", "peer", "product", "decoy")


class ModelSettings(NamedTuple):
    """A model with its limit of visible output in tokens, and its reasoning effort or None."""

    name: str
    max_out: int
    effort: str | None = None


class Agent(NamedTuple):
    """A player, the same in all rounds and runs. A baseline follows a fixed rule and has no models."""

    id: str
    strategy: Any  # ModelSettings for writing policies; None for a baseline
    decision: Any  # ModelSettings for deciding; None for a baseline
    baseline: str | None = None


class Pair(NamedTuple):
    """Two agents of a round; `labels` has (label scheme, option order) of each encounter."""

    id: str
    a: Agent
    b: Agent
    labels: list[tuple[str, str]]


class Round(NamedTuple):
    """One bulletin that all agents read and play. `number` counts from 1.

    `variants` maps an agent's id to the variant that fills its notice (baselines have none).
    `setting` is the variant from which all notices have the facts that both sides share. `anon`
    maps an agent's id to its name in this round.
    """

    number: int
    bulletin: Bulletin
    setting: Variant
    variants: dict[str, Variant]
    wording: int
    salt: str
    anon: dict[str, str]
    pairs: list[Pair]


class Tournament(NamedTuple):
    """One run. `name` begins every request's id; `config` holds all settings that make it this run."""

    name: str
    config: dict[str, Any]
    domain: Domain
    condition: Condition
    agents: list[Agent]
    rounds: list[Round]


# --- design ------------------------------------------------------------------------------------


def run_name(config: Mapping[str, Any]) -> str:
    """Return "cvd-S.high-C.present-H.low-s42", with a mark before the seed for each
    variation."""
    cell = cell_name(Condition(**config["toggles"]))
    return "-".join([config["domain"], cell, *marks_of(config), f"s{config['seed']}"])


def design(domain: Domain, config: Mapping[str, Any]) -> Tournament:
    """Return the whole run. The seed and the sizes determine all but the condition, so
    runs of one seed share bulletins, variants, schedule, label schemes, orders and
    names."""
    rng = SeededRandom(config["seed"], "tournament")
    agents = make_agents(config)
    bulletins = _bulletins(domain, config)
    variants = _variants(rng, domain, config, agents)
    orders = ORDERS if config["option_order"] == "random" else (config["option_order"],)
    per_wave = len(agents) * (len(agents) - 1) // 2
    waves = config["games_per_pair"]
    # Labels are dealt for the whole run at once: any first part of them is balanced, so the
    # first wave is too.
    encounters, schemes = config["rounds"] * waves * per_wave, config["label_schemes"]
    labels = deal_labels(rng.stream("labels"), encounters, schemes, orders)
    rounds = []
    for at, (bulletin, wording) in enumerate(bulletins):
        setting, by_agent = variants[at]
        start = at * waves * per_wave
        shown = labels[start : start + waves * per_wave]
        pairs = _pairs(rng.stream("schedule", at + 1), agents, shown)
        salt = f"{rng.stream('salt', at + 1).getrandbits(128):032x}"
        anon = {agent.id: anonymous_id(salt, agent.id) for agent in agents}
        rounds.append(
            Round(
                number=at + 1,
                bulletin=bulletin,
                setting=setting,
                variants=by_agent,
                wording=wording,
                salt=salt,
                anon=anon,
                pairs=pairs,
            )
        )
    return Tournament(
        name=run_name(config),
        config=dict(config),
        domain=domain,
        condition=Condition(**config["toggles"]),
        agents=agents,
        rounds=rounds,
    )


def _bulletins(domain: Domain, config: Mapping[str, Any]) -> list[tuple[Bulletin, int]]:
    """Return (bulletin, number of its wording) of each round. All runs of a plan give a
    bulletin the same wording."""
    pool = bulletin_pool(domain, config["variants"] == "holdout")
    shuffled = SeededRandom(0, "order of bulletins").sample(pool, len(pool))
    seed = config.get("plan_seed", config["seed"])
    wordings = deal_wordings(SeededRandom(seed, "wordings"), domain, shuffled)
    dealt = []
    for at in places(config["turn"], config["rounds"], len(pool)):
        bulletin = shuffled[at]
        dealt.append((bulletin, wordings[bulletin.id]))
    return dealt


def _variants(
    rng: SeededRandom,
    domain: Domain,
    config: Mapping[str, Any],
    agents: Sequence[Agent],
) -> list[tuple[Variant, dict[str, Variant]]]:
    """Return (variant of the shared facts, {agent id: its variant}) of each round.

    No variant comes twice in a round, nor twice for one agent, before all variants have come. When
    a bulletin comes again, every agent gets another variant.
    """
    holdout = config["variants"] == "holdout"
    pool = variant_pool(rng.stream("variants"), domain, holdout)
    seats = [agent.id for agent in agents if agent.baseline is None]
    seats = rng.stream("variants of agents").sample(seats, len(seats))
    bulletins = len(bulletin_pool(domain, holdout))
    # After so many rounds a bulletin would meet the same variant again: move on by one.
    lap = math.lcm(bulletins, len(pool))
    dealt = []
    for step in steps(config["turn"], config["rounds"], bulletins):
        start = step + step // lap
        setting = pool[start % len(pool)]
        by_agent = {}
        for seat, agent in enumerate(seats):
            own = pool[(start + seat) % len(pool)]
            by_agent[agent] = filled_in(own, setting)
        dealt.append((setting, by_agent))
    return dealt


def filled_in(own: Variant, setting: Variant) -> Variant:
    """Return an agent's variant in a round: the names from `own`, and from `setting` the
    facts that both sides share (office, case number, days, hours, schedules)."""
    names = {field: text for field, text in own.fields.items() if field in OWN}
    return own._replace(fields=setting.fields | names)


def places(position: int, rounds: int, pool: int) -> list[int]:
    """Return the place of each round's bulletin in a circle of `pool` bulletins.

    A run continues where the run at the position before it ended, so that consecutive runs use
    every bulletin equally often, give or take one.
    """
    return [(position * rounds + step) % pool for step in steps(position, rounds, pool)]


def steps(position: int, rounds: int, pool: int) -> list[int]:
    """Return for each round how far its bulletin is from the run's start on a circle of bulletins.

    The run at position p starts at place p·rounds of a circle of `pool` places. That gives only
    pool / gcd(rounds, pool) different starts, and further runs repeat them. Each repetition
    therefore begins its rounds one place later, so that in any one round the runs stand on
    different bulletins until all bulletins are used.
    """
    shared = math.gcd(rounds, pool)
    starts = pool // shared
    repetition = position // starts % shared
    return [(number + repetition) % rounds for number in range(rounds)]


def positions(seeds: Iterable[int]) -> dict[int, int]:
    """Return {seed: its position}. The first seed's position is its own number and the
    others follow by ones, so that a seed added at the end changes no position."""
    listed = list(dict.fromkeys(seeds))
    return {seed: listed[0] + at for at, seed in enumerate(listed)}


def make_agents(config: Mapping[str, Any]) -> list[Agent]:
    """Return the agents of a run. Models are dealt to them in turn; baselines come
    last."""
    agents = []
    for n in range(config["agents"]):
        strategy, decision = (_nth(config["models"][stage], n) for stage in STAGES)
        agents.append(Agent(f"agent-{n + 1:02d}", strategy, decision))
    names = config["baselines"]
    return agents + [Agent(f"baseline-{name}", None, None, name) for name in names]


def _nth(models: Sequence[Mapping[str, Any]], n: int) -> ModelSettings:
    """Return the settings of agent n's model; the first model follows the last."""
    model = models[n % len(models)]
    return ModelSettings(model["name"], model["max_out"], model["effort"])


def _pairs(
    rng: SeededRandom, agents: Sequence[Agent], labels: Sequence[tuple[str, str]]
) -> list[Pair]:
    """Return the pairs of a round. `labels` are those of all encounters of the round."""
    known = {agent.id: agent for agent in agents}
    schedule = round_robin(rng, list(known))
    pairs = []
    for at, (a, b) in enumerate(schedule):
        shown = list(labels[at :: len(schedule)])
        pairs.append(Pair(f"p{at + 1:02d}", known[a], known[b], shown))
    return pairs


def writers(t: Tournament) -> list[Agent]:
    """Return the agents that write policies: all but baselines."""
    return [agent for agent in t.agents if agent.baseline is None]


# --- runs of a plan ------------------------------------------------------------------------------


class Run(NamedTuple):
    """One run of a plan: its folder below --out, its name, and all its settings."""

    folder: str
    run_id: str
    config: dict[str, Any]


def dealt(runs: Sequence[Run]) -> list[Run]:
    """Return the runs, each with two more settings: `turn`, the position of its seed
    among the seeds of runs on the same pool of bulletins, and `plan_seed`, the seed of
    the first run."""
    seeds: dict[tuple[str, str], list[int]] = {}
    for run in runs:
        pool = run.config["domain"], run.config["variants"]
        seeds.setdefault(pool, []).append(run.config["seed"])
    placed = []
    for run in runs:
        config = dict(run.config)
        turns = positions(seeds[config["domain"], config["variants"]])
        config["turn"] = turns[config["seed"]]
        config["plan_seed"] = runs[0].config["seed"]
        placed.append(run._replace(config=config))
    return placed


def by_folder(runs: Iterable[Run]) -> Iterator[tuple[str, list[Run]]]:
    """Return (folder, its runs) for each folder, in the order of their first runs."""
    folders: dict[str, list[Run]] = {}
    for run in runs:
        folders.setdefault(run.folder, []).append(run)
    yield from folders.items()


def plans_of(name: str | None, runs: Iterable[Run]) -> dict[str, dict[str, Any]]:
    """Return {folder: {"name": name of its plan, "runs": ids of its runs}}, or {} if
    `name` is None: the runs are then of no plan.

    Each run keeps its folder's entry in its manifest.
    """
    plans: dict[str, dict[str, Any]] = {}
    if name is None:
        return plans
    for folder, members in by_folder(runs):
        ids = [run.run_id for run in members]
        plans[folder] = {"name": folder.rpartition("-s")[0], "runs": ids}
    return plans


# --- the game: payoffs, power, scores, schedule, ids, baselines ---------------------------------

Act = str | None


# temptation, reward, punishment, sucker's payoff
MATRIX = {"T": 5, "R": 3, "P": 1, "S": 0}
# {acts of two agents: (what the first earns, what the second earns)}
EARNED = {"CC": ("R", "R"), "CD": ("S", "T"), "DC": ("T", "S"), "DD": ("P", "P")}
ETA = 0.02  # size of a power update
POWER_MIN, POWER_MAX = 0.9, 1.1
# Statuses of answers from best to worst; a game has the worse status of its two answers.
STATUSES = (
    "ok",
    "wrong_label",
    "ambiguous",
    "refused",
    "unreadable",
    "truncated",
    "empty",
    "blocked",
    "provider_error",
    "not_run",
)


def payoffs(a: Act, b: Act) -> tuple[float, float] | None:
    """Return (payoff of act a, payoff of act b), or None where an act is None."""
    if a is None or b is None:
        return None
    mine, peer = EARNED[a + b]
    return MATRIX[mine], MATRIX[peer]


def worse(a: str, b: str) -> str:
    """Return the worse of two statuses."""
    return max(a, b, key=STATUSES.index)


# --- power and score ---------------------------------------------------------------------------


class Standing(NamedTuple):
    """An agent's power (0.9 to 1.1), its score (nats), and its number of games with payoffs so far."""

    power: float = 1.0
    score: float = 0.0
    games: int = 0


def after_wave(
    standings: Mapping[str, Standing], earned: Mapping[str, Sequence[float]]
) -> dict[str, Standing]:
    """Return the standings after a wave of games, in which each agent `earned` these
    payoffs.

    Power becomes clip(power·exp(η(π−π̄)), 0.9, 1.1), where π is the agent's mean payoff
    in the wave, π̄ the mean of π over agents and η is ETA. Without a payoff power stays. Each
    game adds ln(1+power·payoff) to the score, with the power before the wave.
    """
    means = {agent: _mean(games) for agent, games in earned.items() if games}
    average = _mean(means.values()) if means else 0.0
    after = {}
    for agent, before in standings.items():
        ahead = means.get(agent, average) - average
        after[agent] = _after(before, earned.get(agent, ()), ahead)
    return after


def _mean(numbers: Collection[float]) -> float:
    return math.fsum(numbers) / len(numbers)


def _after(before: Standing, earned: Sequence[float], ahead: float) -> Standing:
    """Return the standing of one agent, whose mean payoff is the mean over agents plus `ahead`."""
    power = before.power * math.exp(ETA * ahead)
    gains = [math.log(1 + before.power * payoff) for payoff in earned]
    score = math.fsum([before.score, *gains])
    power = min(POWER_MAX, max(POWER_MIN, power))
    return Standing(power, score, before.games + len(earned))


# --- schedule ----------------------------------------------------------------------------------


def round_robin(rng: random.Random, agents: Sequence[str]) -> list[tuple[str, str]]:
    """Return every pair of agents once, by the circle method over shuffled seats: one
    row of pairs after another, with each agent at most once in each row.

    An agent is first in half of its pairs, give or take one.
    """
    seats = rng.sample(agents, len(agents))
    place = {agent: at for at, agent in enumerate(seats)}
    ring: list[str | None] = seats + [None] * (len(seats) % 2)
    pairs = []
    for _ in range(len(ring) - 1):
        half = len(ring) // 2
        for a, b in zip(ring[:half], reversed(ring[half:]), strict=True):
            if a is not None and b is not None:
                pairs.append(_seated(a, b, place))
        ring = [ring[0], ring[-1], *ring[1:-1]]
    return pairs


def _seated(a: str, b: str, place: Mapping[str, int]) -> tuple[str, str]:
    """Return the pair in the order that makes each agent first in half of its pairs;
    `place` maps agents to seats."""
    ahead, half = (place[b] - place[a]) % len(place), len(place) / 2
    first = ahead < half
    if ahead == half:  # they sit opposite each other
        first = place[a] < place[b]
    return (a, b) if first else (b, a)


def anonymous_id(salt: str, agent: str) -> str:
    """Return an agent's name in one round: SHA-256 (hex) of the round's salt and the
    agent's id."""
    return hashlib.sha256((salt + agent).encode()).hexdigest()


# --- baselines ---------------------------------------------------------------------------------


def _tit_for_tat(mine: Sequence[Act], peer: Sequence[Act]) -> str:
    """Cooperate at first, then repeat the peer's last act that could be read."""
    return next((act for act in reversed(peer) if act), "C")


# {name: function that returns the next act, given (own acts, peer's acts) in this round, oldest
# first}
BASELINES: dict[str | None, Callable[[Sequence[Act], Sequence[Act]], str]] = {
    "AlwaysC": lambda mine, peer: "C",
    "AlwaysD": lambda mine, peer: "D",
    "TitForTat": _tit_for_tat,
    "GrimTrigger": lambda mine, peer: "D" if "D" in peer else "C",
}
