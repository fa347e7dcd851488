"""The tournament's design: agents, rounds, pairs, labels; a pure function of configuration.

    t = design(load_domain("cvd"), config)
    t.rounds[0].pairs[0].labels        # [(label scheme, option order)] of its encounters

What each agent is asked in it stands in `encounters.py`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import gcd
from pathlib import Path
from typing import Any, NamedTuple

from cirrus.ask import game
from cirrus.ask.bulletins import LEVELS, TELLS
from cirrus.ask.game import BASELINES
from cirrus.ask.prompts import (
    LABEL_SCHEMES,
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
from common import UsageError
from common import config as c
from common.rng import SeededRandom
from common.runs import check_run_id
from common.shape import (
    NAME,
    either,
    enum,
    maybe,
    nearest,
    options,
    plain,
    record,
    several,
    sometimes,
    whole,
)

# --- What a run is for, by what it does otherwise than usual: its role, its part in the analysi ---

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
VARIANTS = ("main", "holdout")
Pools = Mapping[tuple[str, str], int]  # bulletins by (domain, one of VARIANTS)


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


# --- The tournament's configuration file, checked, and the identity of a run made of it ---

DEFAULT = Path(__file__).resolve().parents[2] / "config" / "experiment.config.json"
MAX_OUT = {"strategy": 384, "decision": 96}
# Below these the form itself does not fit: every answer would be cut off.
LEAST_OUT = {"strategy": 64, "decision": 32}
MODEL = record(name=NAME, max_out=sometimes(c.MAX_OUT), reasoning_effort=sometimes(c.EFFORT))
MODELS = either(MODEL, several(MODEL, once=False))

# A folder of prompts that is not called as a part of the main domain.
DOMAIN = plain("a domain's name", lambda name: isinstance(name, str) and (
    name == REPLICATION or name not in PARTS))

# What a run of a plan may set for itself.
RUN = {
    "agents": whole(2, 1000), "rounds": whole(1, 1000), "domain": DOMAIN,
    "toggles": options(**{factor: enum(*levels) for factor, levels in LEVELS.items()},
                       effort=c.EFFORT),
    "games_per_pair": whole(1, 100), "baselines": several(enum(*BASELINES), least=0),
    "tells": enum(*TELLS), "variants": enum(*VARIANTS)}
RANDOMIZATION = {
    "label_schemes": several(enum(*LABEL_SCHEMES)), "option_order": enum("random", *ORDERS),
    "history_mode": enum("standard", "off")}
SETTINGS = options(
    **RUN, **c.SHARED, randomization=options(**RANDOMIZATION, seeds=several(c.SEED)),
    models=options(strategy=MODELS, decision=MODELS), temperature=maybe(c.TEMPERATURE),
    cost=options(limit_usd=c.LIMIT_USD, plan_limit_usd=c.number(0, 1e7)),
    concurrency=options(strategy=c.CALLS, decision=c.CALLS), effort=c.EFFORT)


def load(path: Path = DEFAULT) -> dict[str, Any]:
    """The project's configuration, under the file at `path`."""
    return c.configuration([DEFAULT, path], SETTINGS, {})


def run_config(settings: Mapping[str, Any], seed: int, models: Mapping[str, list[dict]],
               **changes: Any) -> dict[str, Any]:
    """Everything that was chosen for one run, flat; `changes` override, for a run of a plan.

    The reasoning effort is a factor where it stands among the toggles; else the models have it.
    """
    random, toggles = settings["randomization"], changes.pop("toggles", settings["toggles"])
    effort = {"effort": toggles["effort"]} if toggles.get("effort") else {}
    return {
        **{key: (settings | random)[key] for key in (*CHOSEN, *NAMED)},
        "toggles": {factor: toggles[factor] for factor in LEVELS}, **effort,
        "seed": seed, "models": {stage: list(listed) for stage, listed in models.items()},
        **changes}


def model_settings(settings: Mapping[str, Any], simulated: bool, names: list[str] | None,
           ) -> tuple[dict[str, list[dict]], list[str]]:
    """({stage: models}, warnings). `names`: decision models (all respondents if simulated)."""
    if names is not None and (not names or len(set(names)) < len(names)):
        raise UsageError("--models: give at least one name, each once")
    out, warnings = {}, []
    for stage, usual in MAX_OUT.items():
        given = settings["models"][stage]
        listed = given if isinstance(given, list) else [given]
        replaced = (names or settings["respondents"] if simulated else
                    names if stage == "decision" else None)
        if replaced:
            listed = [listed[0] | {"name": name} for name in replaced]
        out[stage] = [_settings_of(model, stage, usual, settings.get("effort"))
                      for model in listed]
        if (first := out[stage][0])["max_out"] != first["max_out_configured"]:
            warnings.append(f"models.{stage}.max_out: {first['max_out_configured']} tokens are too "
                            f"small for the answer that is asked for; {first['max_out']} are used")
    return out, warnings


def _settings_of(model: Mapping[str, Any], stage: str, usual: int,
                 effort: str | None) -> dict[str, Any]:
    wanted = model.get("max_out", usual)
    return {"name": model["name"], "max_out": wanted if wanted >= LEAST_OUT[stage] else usual,
            "max_out_configured": wanted, "effort": effort or model.get("reasoning_effort")}


# --- Plans: tables of runs. A built-in one by name, or a JSON file ---

NEW_SEEDS = 1000  # added to the usual seeds where a plan wants others than were used before
CELLS = [{"S": s, "C": cue, "H": h}
         for s, cue, h in product(("high", "low"), ("present", "absent"), ("high", "low"))]
EXTREMES = [{"S": "high", "C": "present", "H": "low"}, {"S": "low", "C": "absent", "H": "low"}]


class Run(NamedTuple):
    """One run of a plan: its folder below --out, its name, and everything that was chosen."""

    folder: str
    run_id: str
    config: dict[str, Any]


class Plan(NamedTuple):
    """`repeats`: seeds a plan brings of itself; `new`: not those of the other plans."""

    runs: Sequence[Mapping[str, Any]]
    repeats: int = 1
    new: bool = False


def _in(domain: str, cells: Iterable[Mapping], **changes: Any) -> list[dict[str, Any]]:
    return [{"domain": domain, "toggles": dict(cell), **changes} for cell in cells]


MAIN = _in("cvd", CELLS) + _in("hospital", EXTREMES)
OTHER_WORDS = [run for tells in ABLATION for run in _in("cvd", CELLS, tells=tells)]
HELD_OUT = _in("cvd", CELLS, variants="holdout")
SMALL = [run for run in _in("cvd", CELLS) if run["toggles"]["H"] == "low"]
PLANS: dict[str, Plan] = {
    "2x2": Plan(SMALL),   # symmetry and cue alone: what `make tournament` shows
    "confirmatory": Plan(MAIN),
    "exploratory": Plan(_in("cvd", CELLS) + _in("hospital", CELLS), repeats=3),
    "holdout": Plan(HELD_OUT, new=True),
    "ablation": Plan(OTHER_WORDS),
    "history-off": Plan(_in("cvd", CELLS, history_mode="off")),
    # All that the six gates ask for, as one registered study.
    "study": Plan([*MAIN, *OTHER_WORDS, *(run | {"new": True} for run in HELD_OUT)]),
}
FILE = record(name=sometimes(NAME),
              runs=several(options(**RUN, **RANDOMIZATION, seed=c.SEED), once=False))


def seeds_of(plan: Plan, usual: Sequence[int], given: Sequence[int] | None) -> list[int]:
    """The seeds of a plan: those given by hand, else the configuration's, repeated or renewed."""
    if given:
        return list(given)
    repeated = (seed + step for step in range(plan.repeats) for seed in usual)
    return [seed + NEW_SEEDS * plan.new for seed in dict.fromkeys(repeated)]


def read_plan(name: str | None) -> tuple[str, Plan, bool]:
    """(name, plan, whether it is built in); no plan: one run, as configured. UsageError where there
    is none such."""
    if name is None:
        return "", Plan([{}]), False
    if name in PLANS:
        return name, PLANS[name], True
    path = Path(name)
    if not name.endswith(".json"):
        raise UsageError(f"--plan: no plan {name!r}; {nearest(name, PLANS)} (or give a .json file)")
    data = c.load(path, FILE)
    return check_run_id(data.get("name", path.stem), f"{path}: name"), Plan(data["runs"]), False


def runs_of_plan(name: str | None, settings: Mapping[str, Any], models: Mapping[str, list[dict]],
                 given: Sequence[int] | None, bulletins: Pools) -> list[Run]:
    """Every run of a plan, seed by seed. `bulletins`: see `pools`.

    The runs of one seed lie in one folder, <plan>-s<seed>, those of no plan in none. A
    built-in plan has no more rounds than there are bulletins; a file is taken at its word.
    """
    name, plan, built_in = read_plan(name)
    runs = []
    for seed in seeds_of(plan, settings["randomization"]["seeds"], given):
        for changes in plan.runs:
            config = _config(settings, models, seed, **changes)
            if built_in:
                config["rounds"] = min(config["rounds"], bulletins[pool_of(config)])
            runs.append(Run(f"{name}-s{seed}" if name else "", run_name(config), config))
    return checked(dealt(runs), bulletins)


def domains_of(plan: str | None, settings: Mapping[str, Any]) -> list[str]:
    """The domains that runs of a plan are about."""
    return list(dict.fromkeys(changes.get("domain", settings["domain"])
                              for changes in read_plan(plan)[1].runs))


def pools(domains: Iterable[Domain]) -> Pools:
    """How many bulletins main and held-out runs of each domain have; 0 of another domain."""
    return Counter({(domain.name, variants): len(bulletin_pool(domain, variants == "holdout"))
                    for domain in domains for variants in VARIANTS})


def pool_of(config: Mapping[str, Any]) -> tuple[str, str]:
    return config["domain"], config["variants"]


def dealt(runs: Sequence[Run]) -> list[Run]:
    """The runs with their positions among the seeds of their pool, and the plan's seed."""
    seeds: dict[tuple[str, str], list[int]] = {}
    for run in runs:
        seeds.setdefault(pool_of(run.config), []).append(run.config["seed"])
    each = {pool: positions(listed) for pool, listed in seeds.items()}
    return [run._replace(config=run.config | {
        "turn": each[pool_of(run.config)][run.config["seed"]],
        "plan_seed": runs[0].config["seed"]}) for run in runs]


def _config(settings: Mapping, models: Mapping, plan_seed: int, seed: int | None = None,
            new: bool = False, toggles: Mapping = {}, **changes: Any) -> dict[str, Any]:
    seed = plan_seed + NEW_SEEDS * new if seed is None else seed
    return run_config(settings, seed, models, toggles=settings["toggles"] | toggles, **changes)


# What the name of a run tells; what else may be chosen for it.
NAMED = ("domain", "toggles", "tells", "variants", "history_mode")
CHOSEN = ("agents", "rounds", "games_per_pair", "baselines", "temperature", "label_schemes",
          "option_order")


def checked(runs: list[Run], bulletins: Pools) -> list[Run]:
    """`runs` where none is named twice and each is possible; UsageError otherwise."""
    seen: set[str] = set()
    for run in runs:
        rounds, most = run.config["rounds"], bulletins[pool_of(run.config)]
        if rounds > most:
            raise UsageError(f"rounds: {rounds}, but domain {run.config['domain']!r} has {most} "
                             f"bulletins; give --rounds {most} or fewer")
        if run.run_id in seen:
            raise UsageError(f"plan: the run {run.run_id} is named twice; runs need to differ in "
                             "domain, toggles, tells, variants, history_mode or seed")
        seen.add(run.run_id)
    return runs


def by_folder(runs: Iterable[Run]) -> Iterator[tuple[str, list[Run]]]:
    """(folder, its runs) in order."""
    folders: dict[str, list[Run]] = {}
    for run in runs:
        folders.setdefault(run.folder, []).append(run)
    yield from folders.items()
